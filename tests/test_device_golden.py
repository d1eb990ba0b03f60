"""The reference values of every operation on a device: values and gradients as `tests/test_golden.py` reads them.

In the normal run NumPy stands in for the kernels, and a fixed spread of the cases runs on kernels as g++ compiles them
(all of them with `GOLDEN_KERNELS=all`). On a GPU: `REQUIRE_GPU=1 pytest -m gpu`. Tangents are not there: forward mode
runs on the CPU, which `test_forward_mode_is_refused` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autograd_frontend import RecordError, ops, record
from tests.cuda.host import installed
from tests.cuda.sessions import SESSIONS
from tests.test_golden import CASES, ERRORS, arguments, read

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values warn as NumPy does
EPS = float(np.finfo(float).eps)
TERMS = 8 * EPS  # of a sum, times the sum of the magnitudes of its terms
ULPS = 4 * EPS  # of a function, relative
REFUSED: dict[str, str] = {}  # operation -> part of the message, where a device has no version of it
EVERY = 7  # the g++ driver gets every seventh case
NAMES = [f"{c['op']}-{c['case']}" for c in CASES]
SPREAD = range(len(CASES)) if os.environ.get("GOLDEN_KERNELS") == "all" else range(0, len(CASES), EVERY)


@pytest.fixture(scope="module")
def sessions() -> Iterator[dict[str, Any]]:
    """One session of each kind for the whole file, so that a kernel is compiled once."""
    yield {}


@pytest.fixture
def session(request: Any, sessions: dict[str, Any]) -> Iterator[Any]:
    kind = request.param
    if kind not in sessions:
        sessions[kind] = SESSIONS[kind]()
    with installed(sessions[kind]) as s:
        yield s
    assert s.live_bytes() == 0


def sample(kind: str, indices: Any, *marks: Any) -> list[Any]:
    return [pytest.param(kind, CASES[i], id=f"{kind}-{NAMES[i]}", marks=marks) for i in indices]


RUNS = [
    *sample("numpy", range(len(CASES))),
    *sample("g++", SPREAD),
    *sample("gpu", range(len(CASES)), pytest.mark.gpu),
]


def assert_close(got: Any, want: Any, case: Any, terms: float) -> None:
    """As on the CPU, and what a device may differ by: 4 ulp of a function, and 8 eps of the terms of a sum."""
    got, want = np.asarray(got), np.asarray(read(want))
    assert got.shape == want.shape
    assert (got.dtype == bool) == (want.dtype == bool)
    got, want = got + 0, want + 0
    with np.errstate(invalid="ignore"):
        room = (case["tolerance"] + ULPS) * abs(want) + case.get("atol", 0.0) + TERMS * terms * exact(case)
        near = abs(got - want) <= room
    assert np.all((got == want) | (np.isnan(got) & np.isnan(want)) | near), (got, want)


def exact(case: Any) -> bool:
    """What has no rounding (tolerance 0) has none on a device."""
    return case["tolerance"] > 0


def magnitude(*values: Any) -> float:
    """The sum of the magnitudes of finite entries: no term of a sum in these small cases is above it."""
    found = [np.abs(np.asarray(v, float)) for v in values if isinstance(v, (float, np.ndarray, np.generic))]
    return float(sum(x[np.isfinite(x) & (x < 1e3)].sum() for x in found))


def recorded(case: Any, args: Any, settings: Any) -> Any:
    """The operation on a device. One that takes nothing differentiable runs beside an array that is."""
    call = getattr(ops, case["op"])
    if case.get("repeat"):
        return record(lambda x: call(x, x, **settings)).on("gpu")(*args)
    if not any(isinstance(a, (float, np.ndarray)) for a in args):
        return record(lambda x: (call(*args, **settings), x * 2.0)).on("gpu")(np.ones(2))
    return record(lambda *args: call(*args, **settings)).on("gpu")(*args)


@pytest.mark.parametrize("session, case", RUNS, indirect=["session"])
def test_golden(session: Any, case: Any) -> None:
    args, settings = arguments(case)
    if case.get("raises"):
        with pytest.raises(ERRORS[case["raises"]], match=case["op"]):
            recorded(case, args, settings)
        return
    if case["op"] in REFUSED:
        with pytest.raises(RecordError, match=REFUSED[case["op"]]):
            recorded(case, args, settings)
        return
    if case["op"] == "update_buffers":
        buffers(case, settings)
        return
    result = recorded(case, args, settings)
    assert result.device.startswith("gpu")
    lone = any(isinstance(a, (float, np.ndarray)) for a in args)
    terms = magnitude(*args)
    assert_close(result.value if lone else result.value[0], case["out"], case, terms)
    if case["cotangent"] is None:
        return
    c = read(case["cotangent"])
    got = result.pullback(c)
    for g, want in zip(got if isinstance(got, tuple) else (got,), case["grads"], strict=True):
        if want is None:
            assert g is None or not np.any(g)
        else:
            assert_close(g, want, case, max(terms, 1.0) * magnitude(c))


def buffers(case: Any, settings: Any) -> None:
    """State on the host takes what is computed on the device."""
    state, x = [np.array(read(s)) for s in settings["state"]], np.asarray(settings["x"], float)
    f = lambda x: ops.update_buffers(state, ops.detach(x * 1.0), settings["f"])
    record(f).on("gpu")(x if x.ndim else float(x))
    for s, want in zip(state, case["out"], strict=True):
        assert_close(s, want, case, 0.0)


def test_the_spread_has_every_kind_of_operation() -> None:
    """What g++ runs of the file in a normal run covers most operations."""
    names = {CASES[i]["op"] for i in SPREAD}
    assert len(names) >= 40
