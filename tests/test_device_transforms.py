"""Tangents, Jacobians and derivatives of derivatives on a device: those of the CPU, for every operation and sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import blocks
import numpy as np
import oracle
import pytest
from test_second_order import coarse, product, slope_of

from autograd_frontend import RecordError, grad, jvp, record
from tests.cuda.host import host_session, installed
from tests.cuda.interim import Interim

CASES = [c for c in blocks.cases() if oracle.entries(c.plain()).size]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Any]:
    with installed(host_session(Interim())) as session:
        yield session


def agree(here: Any, there: Any, rtol: float) -> None:
    """The same structure, types, shapes and dtypes; values within a tolerance."""
    assert oracle.same_bits(oracle.random_like(there, 0), oracle.random_like(here, 0))
    a, b = oracle.entries(there), oracle.entries(here)
    np.testing.assert_allclose(a, b, rtol, rtol * (1.0 + float(np.max(np.abs(b), initial=0.0))), equal_nan=True)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_tangents_are_those_of_the_cpu(c: Any) -> None:
    f, inputs = blocks.function_of(c), c.inputs()
    along = oracle.random_like(inputs, 1)
    try:
        here = jvp(f, (inputs,), (along,))
    except RecordError:  # complex numbers
        with pytest.raises(RecordError):
            jvp(record(f).on("gpu"), (inputs,), (along,))
        return
    there = jvp(record(f).on("gpu"), (inputs,), (along,))
    agree(here, there, 1e-4 if coarse(c) else 1e-11)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_second_derivatives_are_those_of_the_cpu(c: Any) -> None:
    weights, inputs = oracle.random_like(c.plain(), 0), c.inputs()
    slope = slope_of(c, weights, oracle.random_like(inputs, 1))
    here, there = grad(slope)(inputs), grad(record(slope).on("gpu"))(inputs)
    agree(here, there, 1e-3 if coarse(c) else 1e-9)


assert product
