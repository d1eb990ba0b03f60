"""`f.elementwise` of random functions of numbers."""

from __future__ import annotations

import linecache
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifting import check
from lifting_functions import SPECIAL

from autograd_frontend import RecordError

from .programs_rational import as_floats, scalar_programs
from .test_generated import tries


def one_result(program):
    """The function of a program, made to give one number."""
    f = program.function()
    names = ", ".join("xyz"[: len(program.args)])
    space = {"f": f}
    text = f"def first({names}):\n    r = f({names})\n    return r[0] if isinstance(r, (list, tuple)) else r\n"
    linecache.cache["<first>" + names] = (len(text), None, text.splitlines(True), "<first>" + names)
    exec(compile(text, "<first>" + names, "exec"), space)
    return space["first"]


@tries(60)
@given(scalar_programs(), st.integers(0, 2**16))
def test_random_programs(program, seed):
    draw = np.random.default_rng(seed)
    args = []
    for a in as_floats(program).args:
        special = draw.choice([0.0, 1.0, -1.0, 2.0, a if isinstance(a, float) else 0.5], 12)
        args.append(a if isinstance(a, list) else np.concatenate([draw.standard_normal(18) * 2, special]))
    if all(isinstance(a, list) for a in args) or "Fraction(" in program.text:
        return
    check(one_result(program), *args, lifted=False)


CALLS = (
    "math.sin({0})", "math.exp({0})", "math.sqrt({0})", "math.log({0})", "np.exp({0})", "np.log({0})", "np.sqrt({0})",
    "abs({0})", "({0} + {1})", "({0} * {1})", "({0} - {1})", "({0} / {1})", "({0} ** 2)", "({0} ** {1})",
    "max({0}, {1})", "np.minimum({0}, {1})", "({0} if {0} > {1} else {1})", "float({0})", "math.tanh({0})",
    "np.cos({0})", "(-{0})", "math.atan2({0}, {1})", "({0} % {1})", "({0} and {1})", "np.float32({0})",
    "(1.0 + ({0} < {1}))", "math.floor({0})", "np.hypot({0}, {1})",
)  # fmt: skip


@st.composite
def expressions(draw, depth=4):
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(["x", "y", "0.5", "2", "x", "y"]))
    form = draw(st.sampled_from(CALLS))
    return form.format(draw(expressions(depth - 1)), draw(expressions(depth - 1)))


@pytest.mark.filterwarnings("ignore")
@settings(parent=tries(150))
@given(expressions(), st.integers(0, 2**16))
def test_random_expressions(text, seed):
    draw = np.random.default_rng(seed)
    source = f"def f(x, y):\n    return 0.0 * x + {text}\n"
    name = f"<expression {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"math": math, "np": np}
    exec(compile(source, name, "exec"), space)
    x, y = (np.concatenate([draw.standard_normal(15) * 3, draw.choice(SPECIAL, 10)]) for _ in "xy")
    try:
        check(space["f"], x, y, lifted=False, rtol=1e-5 if "32" in text else 0.0)
        check(space["f"], np.abs(x[:15]) + 0.1, np.abs(y[:15]) + 0.1, lifted=False, rtol=1e-5 if "32" in text else 0.0)
    except RecordError:  # complex numbers
        assert "**" in text
