"""Random small Python functions as source text, for property tests of recording and differentiation.

`programs()` draws functions of floats, arrays and lists; `branch_probe_programs()` the same with a note of
every evaluation, and an error waiting on every path that the plain run does not take; `scalar_programs()`
(in `programs_rational.py`) functions that run on fractions. The text is built from draws whose first
alternative is the simplest, so a failing program shrinks to a short one.
"""

from __future__ import annotations

import copy
import hashlib
import linecache
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from . import programs_arrays as arrays
from . import programs_exprs as exprs
from . import programs_stmts as stmts
from .programs_scope import Func, Gen, Scope, Shape, Var, bare, indent

HEAD = ["import math", "import numpy as np", ""]
MODULES = ("collections", "contextlib", "copy", "dataclasses", "functools", "itertools", "types")
OPERATIONS = "from autograd_frontend import ops\n"
CONSTANTS = {"C": "C = 0.7\n", "W": "W = np.array([0.4, -0.9, 1.3])\n"}
TICKS = ["TRACE = []", "", "def tick(place):", "    TRACE.append(place)", "    return 0", ""]
TICKS += ["def boom(place):", "    raise AssertionError(f'untaken path {place} was evaluated')", ""]


@dataclass(frozen=True, repr=False)
class Program:
    """A function as text, with arguments to call it on."""

    text: str
    name: str
    args: tuple[Any, ...]
    features: frozenset[str] = frozenset()
    mutates: bool = False

    def wide(self) -> Callable[..., Any]:
        """The function with float64 in place of float32, for differences."""
        return replace(self, text=self.text.replace("np.float32", "np.float64")).function()

    def function(self) -> Callable[..., Any]:
        """The function, from a module of its own, its source where `inspect` finds it."""
        filename = f"<program {hashlib.sha1(self.text.encode()).hexdigest()[:12]}>"
        lines = self.text.splitlines(keepends=True)
        linecache.cache[filename] = (len(self.text), None, lines, filename)
        sys.modules.setdefault("generated_program", types.ModuleType("generated_program"))  # dataclasses look there
        namespace: dict[str, Any] = {"__name__": "generated_program"}
        exec(compile(self.text, filename, "exec"), namespace)  # noqa: S102
        function: Callable[..., Any] = namespace[self.name]
        return function

    def fresh(self) -> tuple[Any, ...]:
        """The arguments, as deep copies."""
        return copy.deepcopy(self.args)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        arguments = ", ".join(map(repr, self.args))
        return f"\n{self.text}\n{self.name}({arguments})\n"


def number(gen: Gen) -> float:
    """A float in [-1.5, 1.5], rarely equal to another: 0.5, then a golden-ratio sequence."""
    return round((2.0 + 1.8541 * gen.number(0, 199)) % 3.0 - 1.5, 3)


def argument(gen: Gen, kind: str, name: str) -> tuple[Var, Any]:
    n, m = gen.dims
    if kind == "scalar":
        return Var(name, "scalar"), number(gen)
    if kind == "int":
        return Var(name, "int"), gen.number(1, 3)
    if kind == "list":
        return Var(name, "list", (3,), False), [number(gen) for _ in range(3)]
    shapes: dict[str, Shape] = {"vector": (n,), "matrix": (m, n), "square": (n, n)}
    shape = shapes[kind]
    values = np.array([number(gen) for _ in range(int(np.prod(shape)))]).reshape(shape)
    return Var(name, "array", shape, False), values


def arguments(gen: Gen) -> tuple[list[Var], list[Any]]:
    """One to three arguments, the first of them differentiable."""
    kinds = [gen.pick(("scalar", "vector", "matrix", "vector", "list"))]
    while len(kinds) < 3 and gen.chance(2):
        kinds.append(gen.pick(("scalar", "vector", "matrix", "int", "list", "square")))
    drawn = [argument(gen, kind, name) for kind, name in zip(kinds, "xyz")]
    for kind in kinds:
        gen.mark("argument " + kind)
    variables, values = [v for v, _ in drawn], [value for _, value in drawn]
    if gen.chance(10) and all(v.kind in ("array", "int") for v in variables):
        gen.mark("float32")
        values = [v.astype(np.float32) if isinstance(v, np.ndarray) else v for v in values]
    return variables, values


def plain_helper(gen: Gen, scope: Scope) -> list[str]:
    """Scalars in, a scalar out, with an early return or a recursion perhaps."""
    kind = gen.pick(("plain", "early return", "recursive", "pair", "method"))
    name = gen.name("h")
    inner = Scope([Var("u", "scalar")], list(scope.funcs), blocks=2, main=False, nested=True)
    gen.mark("helper " + kind)
    if kind == "recursive":
        return recursive_helper(gen, scope, inner, name)
    if kind == "method":
        scope.funcs.append(Func(f"Box{name}", "box"))
        body = ["scale = 0.5", "", "def __init__(self, value):", "    self.value = value", "", "def at(self, u):"]
        result = bare(exprs.scalar(gen, inner, 1).text)
        return [f"class Box{name}:", *indent([*body, f"    return self.scale * self.value + {result}"]), ""]
    inner.variables.append(Var("k", "scalar"))
    body = stmts.block(gen, inner, 2)
    if kind == "early return":
        test = bare(exprs.condition(gen, inner, 1))
        body += [f"if {test}:", *indent([*gen.probe_lines(), f"return {bare(exprs.scalar(gen, inner, 1).text)}"])]
    result = bare(exprs.scalar(gen, inner, 2).text)
    if kind == "pair":
        result = f"{result}, {bare(exprs.scalar(gen, inner, 1).text)}"
    scope.funcs.append(Func(name, "pair" if kind == "pair" else "scalars", "k"))
    if kind == "pair":
        scope.funcs[-1].shape = (0,)
    return [f"def {name}(u, k=0.7):", *indent([*body, f"return {result}"]), ""]


def recursive_helper(gen: Gen, scope: Scope, inner: Scope, name: str) -> list[str]:
    stop = gen.pick(("n <= 0", f"n <= 0 or u > {gen.threshold()}"))
    step = bare(exprs.scalar(gen, inner, 2).text)
    scope.funcs.append(Func(name, "scalars"))
    body = [f"if {stop}:", *indent([*gen.probe_lines(), "return u"])]
    body.append(f"return 0.5 * math.tanh({name}({step}, n - 1)) + 0.3 * u")
    return [f"def {name}(u, n={gen.number(1, 4)}):", *indent(body), ""]


def array_helper(gen: Gen, scope: Scope) -> list[str]:
    """An array in, an array out; or a helper that writes into the array it is given."""
    name = gen.name("g")
    shape = gen.pick(((gen.dims[0],), (gen.dims[1], gen.dims[0])))
    if gen.chance(3):
        scope.funcs.append(Func(name, "writes", shape=(0,)))
        line = gen.pick(("a[0] += s", "a *= s", "a[::-1] += 0.5 * a", "a[...] = np.sin(a) + s", "a[a > 0.3541] = s"))
        return [f"def {name}(a, s=0.5):", "    " + line, f"    a[-1] = s * {gen.pick(('1.5', 'a[0]'))}", ""]
    known = [Var("a", "array", shape, False), Var("s", "scalar")]
    inner = Scope(known, list(scope.funcs), blocks=2, main=False, nested=True)
    body = stmts.block(gen, inner, 2)
    made = arrays.array(gen, inner, shape, 2)
    scope.funcs.append(Func(name, "array", "s", shape))
    return [f"def {name}(a, s=0.5):", *indent([*body, f"return {bare(made.text)}"]), ""]


def build(gen: Gen) -> Program:
    """One program: constants, helpers, then the function `f`."""
    variables, values = arguments(gen)
    mutates = gen.chance(20)
    if mutates:
        gen.mark("may write into arguments")
        for var in variables:
            var.owned = True
    scope = Scope()
    lines: list[str] = []
    lines += gen.repeat(lambda: gen.pick((plain_helper, array_helper, plain_helper))(gen, scope), 3, odds=3)
    captured = [v for v in (Var("C", "scalar"), Var("W", "array", (3,), False)) if gen.chance(3)]
    scope.variables += [*captured, *variables]
    gen.fuel = 130
    gen.top_funcs = list(scope.funcs)
    body = gen.repeat(lambda: stmts.statement(gen, scope), 10, odds=10)
    body.append("return " + stmts.returned(gen, scope))
    return assembled(gen, lines, variables, body, values, mutates)


def assembled(
    gen: Gen, helpers: list[str], variables: list[Var], body: list[str], values: list[Any], mutates: bool
) -> Program:
    """The program with what it imports and captures."""
    names = ", ".join(v.name for v in variables)
    lines = [*gen.top, *helpers, f"def f({names}):", *indent(body), ""]
    text = "\n".join(lines)
    if "np.float32" in text:
        gen.mark("float32")
    head = [f"import {name}" for name in MODULES if re.search(rf"\b{name}\.", text)]
    head += HEAD + (TICKS if gen.probe else [])
    head += [OPERATIONS] if re.search(r"\bops\.", text) else []
    head += [line for name, line in CONSTANTS.items() if re.search(rf"\b{name}\b", text)]
    return Program("\n".join([*head, text]), "f", tuple(values), frozenset(gen.features), mutates)


@st.composite
def programs(draw: Any) -> Program:
    """Functions of floats, arrays, lists and ints, with every kind of statement."""
    return build(Gen(draw))


@st.composite
def branch_probe_programs(draw: Any) -> Program:
    """Programs that note each evaluation in `TRACE`, and raise where the plain run never comes."""
    return armed(build(Gen(draw, probe=True)))


def armed(program: Program) -> Program:
    """`program` with `boom` for each `tick` that a plain run does not reach."""
    function = program.function()
    with np.errstate(all="ignore"):
        function(*program.fresh())
    taken = set(function.__globals__["TRACE"])

    def choose(match: re.Match[str]) -> str:
        return match[0] if int(match[1]) in taken else f"boom({match[1]})"

    text = re.sub(r"tick\((\d+)\)", choose, program.text)
    return replace(program, text=text)
