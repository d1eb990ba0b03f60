"""Reference values and gradients of every operation, computed elsewhere with mpmath and other libraries.

`golden.json` is a list of calls: args, attrs (settings), out, cotangent, grads (null: none), tolerance and atol;
"repeat": one operand passed twice; "raises": the exception expected. Numbers read back as the same float64.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autograd_frontend import ops, record

CASES = json.loads((Path(__file__).parent / "golden.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values warn as NumPy does
ERRORS = {"ValueError": ValueError, "IndexError": IndexError, "AxisError": np.exceptions.AxisError}


def read(x):
    """Nested lists as an array; "nan" and "inf" are numbers, {"empty": shape} an array without entries."""
    if isinstance(x, dict):
        return np.zeros(x["empty"])
    a = np.array(x, dtype=object)
    entries = a.ravel().tolist()
    if all(isinstance(e, bool) for e in entries) and entries:
        return np.array(x)
    return a.astype(float)[()]


def blend(state, x):
    return [0.9 * s + 0.1 * x for s in state]


def setting(name, x):
    if name == "f":
        return blend if x == "blend" else getattr(np, x.removeprefix("numpy."))
    return read(x) if name in ("mask", "value", "x") or isinstance(x, (str, dict)) else x


def assert_close(got, want, case):
    got, want = np.asarray(got), np.asarray(read(want))
    assert got.shape == want.shape
    assert (got.dtype == bool) == (want.dtype == bool)
    got, want = got + 0, want + 0  # booleans as numbers
    with np.errstate(invalid="ignore"):
        near = abs(got - want) <= case["tolerance"] * abs(want) + case.get("atol", 0.0)
    assert np.all((got == want) | (np.isnan(got) & np.isnan(want)) | near), (got, want)


def arguments(case):
    return [read(x) for x in case["args"]], {k: setting(k, v) for k, v in case["attrs"].items()}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['op']}-{c['case']}")
def test_golden(case):
    call = getattr(ops, case["op"])
    args, settings = arguments(case)
    if case.get("raises"):
        with pytest.raises(ERRORS[case["raises"]], match=case["op"]):
            call(*args, **settings)
        return
    twice = args * 2 if case.get("repeat") else args
    if case["op"] == "update_buffers":
        state = [np.array(read(s)) for s in settings.pop("state")]
        assert call(state, **settings) is None
        for s, want in zip(state, case["out"], strict=True):
            assert_close(s, want, case)
        return
    assert_close(call(*twice, **settings), case["out"], case)
    if case["cotangent"] is None:
        return
    if case.get("repeat"):
        r = record(lambda x: call(x, x, **settings))(*args)
    else:
        r = record(lambda *args: call(*args, **settings))(*args)
    assert_close(r.value, case["out"], case)
    got = r.pullback(read(case["cotangent"]))
    got = got if isinstance(got, tuple) else (got,)
    for g, want in zip(got, case["grads"], strict=True):
        if want is not None:
            assert_close(g, want, case)
        else:
            assert g is None or not np.any(g)


def test_every_operation_has_reference_values():
    from autograd_frontend.ops.block import OPERATIONS

    public = {op.function.__name__ for op in OPERATIONS.values() if op.function}
    assert {c["op"] for c in CASES} == public
    for name in public:
        assert getattr(ops, name).__name__ == name
