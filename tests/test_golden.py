"""Reference values and gradients, computed elsewhere with mpmath and other libraries, for programs in plain NumPy.

`golden.json` holds the cases of the specification that such programs can answer; its format: args, attrs (settings),
out, cotangent, grads (null: none), tolerance and atol; "repeat": one operand passed twice.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autograd_frontend import record

CASES = json.loads((Path(__file__).parent / "golden.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values warn as NumPy does


def scatter_add(base, source, indices, axis):
    y = base.copy()
    np.add.at(np.moveaxis(y, axis, 0), np.array(indices, int), np.moveaxis(source, axis, 0))
    return y


def matmul(a, b, scale=1.0):
    return (a * scale) @ b


def expit(x):
    import scipy.special

    return scipy.special.expit(x)


def softmax(x):
    import scipy.special

    return scipy.special.softmax(x, axis=-1)


def log_softmax(x):
    import scipy.special

    return scipy.special.log_softmax(x, axis=-1)


def scan(a, b, x, initial):
    h, out = initial, []
    for row in x:
        h = a * h + b * row
        out.append(h)
    return np.array(out)


PROGRAMS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda x: -x,
    "scale": lambda x, c: x * c,
    "inv": lambda x: np.reciprocal(x),
    "abs": lambda x: abs(x),
    "sqrt": lambda x: np.sqrt(x),
    "clamp": lambda x, lo, hi: np.clip(x, lo, hi),
    "max": lambda a, b: np.maximum(a, b),
    "min": lambda a, b: np.minimum(a, b),
    "exp": lambda x: np.exp(x),
    "log": lambda x: np.log(x),
    "sin": lambda x: np.sin(x),
    "cos": lambda x: np.cos(x),
    "tanh": lambda x: np.tanh(x),
    "sigmoid": expit,
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "sum": lambda x: np.sum(x),
    "reduce_sum": lambda x, axis: np.sum(x, axis=axis),
    "reduce_mean": lambda x, axis: x.mean(axis),
    "matmul": matmul,
    "broadcast_to": lambda x, shape: np.broadcast_to(x, shape),
    "reshape": lambda x, shape: np.reshape(x, shape),
    "flatten": lambda x: np.ravel(x),
    "swap_adjacent_at_depth": lambda x, depth: np.swapaxes(x, depth, depth + 1),
    "select": lambda x, index, axis: np.take(x, index, axis),
    "index_select": lambda x, indices, axis: np.take(x, np.array(indices, int), axis),
    "scatter_add": scatter_add,
    "concat": lambda a, b: np.concatenate((a, b)),
    "slice": lambda x, start, length: x[start : start + length],
    "softmax_last": softmax,
    "log_softmax_last": log_softmax,
    "mse_loss": lambda a, b: np.mean((a - b) ** 2) if a.size else 0.0 * np.sum(a) + 0.0 * np.sum(b),
    "selective_scan_diag": scan,
}


def read(x):
    """Nested lists as an array; "nan" and "inf" are numbers, {"empty": shape} an array without entries."""
    if isinstance(x, dict):
        return np.zeros(x["empty"])
    return np.asarray(x if isinstance(x, (int, float)) else np.array(x, dtype=object).astype(float))


def assert_close(got, want, case):
    got, want = np.asarray(got), read(want)
    assert got.shape == want.shape
    with np.errstate(invalid="ignore"):
        near = abs(got - want) <= case["tolerance"] * abs(want) + case.get("atol", 0.0)
    assert np.all((got == want) | (np.isnan(got) & np.isnan(want)) | near), (got, want)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['op']}-{c['case']}")
def test_golden(case):
    if case["op"] in ("sigmoid", "softmax_last", "log_softmax_last"):
        pytest.importorskip("scipy.special")
    program = PROGRAMS[case["op"]]
    settings = {k: float(v) if isinstance(v, str) else v for k, v in case["attrs"].items()}
    args = [read(x) for x in case["args"]]
    if case.get("repeat"):
        r = record(lambda x: program(x, x, **settings))(*args)
    else:
        r = record(lambda *args: program(*args, **settings))(*args)
    if case["op"] != "sqrt":  # NumPy's root of a negative number is nan
        assert_close(r.value, case["out"], case)
    got = r.pullback(read(case["cotangent"]))
    got = got if isinstance(got, tuple) else (got,)
    for g, want in zip(got, case["grads"], strict=True):
        if want is not None:
            assert_close(g, want, case)
