"""Tangents, Jacobians and derivatives of derivatives on a device: those of the CPU, for every operation and sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import blocks
import numpy as np
import oracle
import pytest
from hypothesis import given
from test_second_order import coarse, product, slope_of

from autograd_frontend import RecordError, grad, jacrev, jvp, record, vjp
from autograd_frontend.remote import mapped
from tests.cuda.host import host_session, installed
from tests.cuda.interim import Interim

from .programs import Program, programs
from .test_generated import moving, tries

REFUSED = {"numpy.longdouble", "scipy.special.jv", "autograd_frontend.ops.plain.PLAIN.jv"}  # by name, at its line
CASES = [c for c in blocks.cases() if oracle.entries(c.plain()).size and c.path not in REFUSED]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Any]:
    with installed(host_session(Interim())) as session:
        yield session


def agree(here: Any, there: Any, rtol: float) -> None:
    """The same structure, types, shapes and dtypes; values within a tolerance. A number that SciPy makes a float of is
    a float64 on a device."""
    here, there = [mapped(x, lambda e: np.float64(e) if type(e) is float else e) for x in (here, there)]
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




# Special points: what is singular, and exact zeros beside it

FAR = np.array([[np.inf, 1.0], [2.0, np.nan]])
SPECIAL = {
    "where": (lambda x: np.where(x > 0.5, np.log(x), 0.0), [0.0, 1.0, 2.0, 0.5], [1.0, 0.0, 2.0, 3.0]),
    "sqrt": (lambda x: np.sqrt(x) + np.arccos(x), [0.0, 1.0, 0.25, 0.5], [0.0, 0.0, 1.0, 0.0]),
    "matmul": (lambda x: x @ FAR, [[0.5, 1.0], [2.0, 0.3]], [[0.0, 1.0], [1.0, 0.0]]),
    "einsum": (lambda x: np.einsum("i,ij->j", x, FAR), [1.0, 1.0], [0.0, 2.0]),
    "prod": (lambda x: np.prod(x), [0.0, 2.0, 0.0, 3.0], [1.0, 0.0, 1.0, 0.0]),
    "power": (lambda x: x**0.5 * x**3, [0.0, 2.0, 4.0], [0.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_points(name: str) -> None:
    f, *given = SPECIAL[name]
    x, t = map(np.array, given)
    here, there = jvp(f, (x,), (t,)), jvp(record(f).on("gpu"), (x,), (t,))
    agree(here, there, 1e-12)
    np.testing.assert_allclose(jacrev(record(f).on("gpu"))(x), jacrev(f)(x), 1e-12)


# Programs


@tries(60)
@given(programs())
def test_tangents_of_generated_programs(program: Program) -> None:
    f, args, plain = program.function(), program.fresh(), program.fresh()
    tangents = tuple(moving(oracle.random_like(args, 1)))
    try:
        here = jvp(f, tuple(plain), tangents)
    except RecordError:
        return
    agree(here, jvp(record(f).on("gpu"), tuple(args), tangents), 1e-4 if "float32" in program.features else 1e-10)


@tries(60)
@given(programs())
def test_second_derivatives_of_generated_programs(program: Program) -> None:
    f, args, plain = program.function(), program.fresh(), program.fresh()
    w = oracle.random_like(f(*program.fresh()), 0)
    along = [d for d in moving(oracle.random_like(args, 1)) if d is not None]

    def slope(args: Any) -> Any:
        gradients = vjp(f, *args)[1](w)
        return product(gradients if isinstance(gradients, tuple) else (gradients,), along)

    try:
        here = grad(slope)(plain)
    except RecordError:
        return
    agree(here, grad(record(slope).on("gpu"))(args), 1e-3 if "float32" in program.features else 1e-8)
