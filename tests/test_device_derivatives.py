"""Derivatives on a device beyond the gradient: CuPy's arrays in and out, memory, what waits, and what is refused."""

from __future__ import annotations

import gc
from typing import Any

import cupy
import numpy as np
import oracle
import pytest
from device_owners import fetched, session, there

from autograd_frontend import grad, hessian, hvp, jacfwd, jacrev, jvp, record, vjp
from autograd_frontend.remote import mapped

assert session  # the fixture
W, DATA = np.sin(np.arange(12.0)).reshape(3, 4), np.cos(np.arange(15.0)).reshape(5, 3)


def model(w: Any, x: Any) -> Any:
    h = np.tanh(x @ w)
    h[0] *= 2.0
    return np.sum(np.log(np.sum(np.exp(h), axis=1))) + w[0, 0] ** 3


def inside(w: Any, x: Any) -> Any:
    """A gradient taken inside."""
    return np.sum(grad(model)(w, x) ** 2)


DERIVATIVES = {
    "jvp": lambda f, w, x: jvp(f, (w, x), (w, None)),
    "vjp": lambda f, w, x: vjp(f, w, x)[1](1.0),
    "jacfwd": lambda f, w, x: jacfwd(f)(w, x),
    "jacrev": lambda f, w, x: jacrev(f, (0, 1))(w, x),
    "hessian": lambda f, w, x: hessian(f)(w, x),
    "hvp": lambda f, w, x: hvp(f)(w, w, x),
    "jacrev of grad": lambda f, w, x: jacrev(grad(f))(w, x),
}


@pytest.mark.parametrize("f", [model, inside])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_numpys_arrays(session: Any, name: str, f: Any) -> None:
    expected, found = DERIVATIVES[name](f, W, DATA), DERIVATIVES[name](record(f).on("gpu"), W, DATA)
    assert oracle.same_bits(oracle.random_like(found, 0), oracle.random_like(expected, 0))
    np.testing.assert_allclose(oracle.entries(found), oracle.entries(expected), 1e-9, 1e-10)


@pytest.mark.parametrize("f", [model, inside])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_cupys_arrays_stay_there(session: Any, name: str, f: Any) -> None:
    expected = DERIVATIVES[name](f, W, DATA)
    w, x = there(session, W), there(session, DATA)
    found = DERIVATIVES[name](f, w, x)
    assert {type(e) for e in oracle.flatten(found)} == {cupy.ndarray}
    back = mapped(found, lambda e: fetched(session, e))
    np.testing.assert_allclose(oracle.entries(back), oracle.entries(expected), 1e-9, 1e-10)
    del found, back, w, x
    gc.collect()


def test_only_the_results_wait(session: Any) -> None:
    for f in (model, inside):
        bound = record(f).on("gpu")
        session.driver.reset()
        jvp(bound, (W, DATA), (W, None))
        assert session.driver.synchronizations == 2  # value and tangent
        session.driver.reset()
        jacfwd(bound)(W, DATA)
        assert session.driver.synchronizations == 1
        session.driver.reset()
        hvp(bound)(W, W, DATA)
        assert session.driver.synchronizations == 1


def test_an_error_inside_gives_the_memory_back(session: Any) -> None:
    def f(w: Any) -> Any:
        v = np.sum(grad(lambda w: np.sum(np.sin(w) ** 2))(w))
        raise ZeroDivisionError(str(v.shape))

    for call in (lambda g: g(W), lambda g: jvp(g, (W,), (W,)), lambda g: jacrev(g)(W)):
        with pytest.raises(ZeroDivisionError):
            call(record(f).on("gpu"))


def test_derivatives_run_where_their_function_does(session: Any) -> None:
    session.driver.reset()
    assert hessian(grad(lambda w: w**3 * 2.0), 0) is not None and session.driver.launches == 0
    bound = record(lambda w: np.sum(w**3)).on("gpu")
    assert np.allclose(jacfwd(grad(bound))(np.array([1.0, 2.0])), np.diag([6.0, 12.0]))
    assert session.driver.launches > 0


def test_what_was_saved_of_a_plain_array_is_not_what_is_written_into_it_later(session: Any) -> None:
    def f(y: Any) -> Any:
        b = np.ones((2, 3))
        b[0] = 0.125 * (np.full((3, 2), y) @ b[:, 0])
        return np.sum(b)

    slope = record(lambda y: grad(f)(y) ** 2).on("gpu")
    assert grad(f)(0.5) == 0.75 and slope(0.5).value == 0.5625
    assert grad(slope)(0.5) == 0.0


def in_parts(x: Any) -> Any:
    z = np.zeros(3, complex)
    z.real[:] = x
    z.imag[0] = x[1]
    z.real[1] *= x[2]
    w = z * 1j + x
    return np.sum(np.abs(w) ** 2 + w.real * w.imag)


def by_keywords(x: Any) -> Any:
    y = np.take(x, indices=np.argsort(x)) * x + np.roll(x**2, shift=np.argmax(x))
    return np.sum(y * np.repeat(x[:1], repeats=np.argsort(x)[:1] + 3)[:3])


def in_place(x: Any) -> Any:
    """The plain array is an operand of the call that first writes recorded values into it."""
    b = np.ones((2, 2))
    np.multiply(b, x[0], out=b)
    np.multiply(b, x[1] * x[2], out=b)
    return b[0, 0] ** 2


@pytest.mark.parametrize("f", [in_parts, by_keywords, in_place])
def test_second_derivatives_of_what_is_written_and_of_settings(session: Any, f: Any) -> None:
    x = np.array([-1.2, 0.5, 2.0])
    there = record(f).on("gpu")
    for d in (grad, hessian, lambda f: jacrev(grad(f)), lambda f: lambda x: jvp(f, (x,), (x * x,))[1]):
        np.testing.assert_allclose(d(there)(x), d(f)(x), 1e-11, 1e-12)
