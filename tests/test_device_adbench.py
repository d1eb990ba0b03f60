"""The four ADBench objectives on a device: value and gradients, and what they cost in launches and read-backs.

Launches and synchronizations are upper bounds: what was counted in August 2026 and a little more. One observation of
`ba` takes six and a half kernels forward and 27 back; a read-back each is its truth test. The full data, against the
values that other libraries agree on, runs here for `gmm` and `hand`; `lstm` and `ba` run on a part, against the CPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from autograd_frontend import record, value_and_grad
from tests.adbench import objectives
from tests.cuda.host import installed
from tests.cuda.sessions import SESSIONS
from tests.test_adbench import CASES, EXPECTED, check_gradients


class Cost(NamedTuple):
    """Upper bounds: launches forward, launches in all, read-backs forward, gradients that come back."""

    forward: int
    total: int
    waits: int
    gradients: int


SMALL = {
    "lstm": lambda: objectives.read_lstm(chars=9),
    "ba": lambda: objectives.read_ba(count=20),
}
BOUNDS = {  # of the data that runs here
    "gmm": Cost(320, 1150, 0, 5),
    "lstm": Cost(110, 430, 0, 4),
    "ba": Cost(140, 830, 20, 4),
    "hand": Cost(360, 1500, 1, 6),
}


@pytest.fixture(scope="module", params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def session(request: Any) -> Iterator[Any]:
    with installed(SESSIONS[request.param]()) as s:
        yield s


def chosen(name: str, gradients: Any, arguments: Any) -> tuple[list[Any], list[Any]]:
    """The gradients that ADBench asks for, and their arguments."""
    function, _, wrt = CASES[name]
    names = function.__code__.co_varnames
    found = [getattr(gradients, w) for w in wrt]
    return found, [arguments[names.index(w)] for w in wrt]


@pytest.mark.parametrize("name", CASES)
def test_value_gradients_and_their_cost(session: Any, name: str) -> None:
    function, read, wrt = CASES[name]
    arguments, driver, bound = SMALL.get(name, read)(), session.driver, BOUNDS[name]
    driver.reset()
    result = record(function).on("gpu")(*arguments)
    forward = driver.launches
    assert forward <= bound.forward and driver.synchronizations <= bound.waits
    value = result.value
    assert driver.synchronizations <= bound.waits + 1
    gradients, inputs = chosen(name, result.backward(), arguments)
    assert driver.launches <= bound.total
    assert driver.synchronizations <= bound.waits + 1 + bound.gradients
    print(f"{name}: {forward} launches forward, {driver.launches} in all, {driver.synchronizations} read-backs")
    if name in SMALL:
        plain, expected = value_and_grad(function, wrt=wrt)(*arguments)
        assert value == pytest.approx(plain, rel=1e-9)
        for g, e in zip(gradients, expected, strict=True):
            assert g.dtype == e.dtype and g.shape == e.shape
            np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-12 * np.linalg.norm(e))
    else:
        assert float(value) == pytest.approx(EXPECTED[name]["value"], rel=1e-9)
        check_gradients(name, gradients, inputs)
    del result
    assert session.live_bytes() == 0


@pytest.mark.gpu
@pytest.mark.parametrize("name", SMALL)
def test_the_full_data_on_a_gpu(name: str) -> None:
    function, read, _ = CASES[name]
    arguments = read()
    with installed(SESSIONS["gpu"]()) as session:
        result = record(function).on("gpu")(*arguments)
        assert float(result.value) == pytest.approx(EXPECTED[name]["value"], rel=1e-9)
        check_gradients(name, *chosen(name, result.backward(), arguments))
        del result
        assert session.live_bytes() == 0


KERNELS = ["gmm", "hand"] if os.environ.get("GOLDEN_KERNELS") == "all" else ["gmm"]  # the second compiles for 20 s


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_as_gcc_compiles_them(name: str) -> None:
    """Real kernels, on the data of a few components and bones."""
    function, read, wrt = CASES[name]
    arguments = read()
    if name == "gmm":
        alphas, means, icf, x, gamma, m = arguments
        arguments = (alphas[:3], means[:3], icf[:3], x[:50], gamma, m)
    expected = value_and_grad(function, wrt=wrt)(*arguments)
    with installed(SESSIONS["g++"]()) as session:
        result = record(function).on("gpu")(*arguments)
        assert float(result.value) == pytest.approx(float(expected[0]), rel=1e-9)
        gradients, _ = chosen(name, result.backward(), arguments)
        for g, e in zip(gradients, expected[1], strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-12 * np.linalg.norm(e))
        del result
        assert session.live_bytes() == 0
