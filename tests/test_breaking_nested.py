"""Derivatives of derivatives: what was once wrong. Every mode inside every other, types and structures included."""

from __future__ import annotations

import math
from collections import namedtuple
from fractions import Fraction

import numpy as np
import oracle
import pytest
import scipy.special
from numpy.testing import assert_allclose

from autograd_frontend import (
    RecordError,
    RecordingClosed,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    record,
    value_and_grad,
    vjp,
)

X = np.array([0.7, 1.3, 0.4])
U = np.array([1.0, -2.0, 0.5])
Pair = namedtuple("Pair", "a b")


def same_inside(f, *args):
    """The value of a function that takes derivatives is what it is outside, recorded in both modes."""
    want = f(*args)
    assert oracle.same_bits(record(f)(*args).value, want)
    along = oracle.random_like(args, 1) if not isinstance(args[0], Fraction) else args
    assert oracle.same_bits(jvp(f, args, along)[0], want)
    return want


@pytest.mark.parametrize(
    "f",
    [lambda x: x @ x, lambda x: np.matmul(x, np.sin(x)) * x[0], lambda x: np.kron(x, x) @ np.tile(x, 3)],
)
def test_a_tangent_inside_of_a_product_of_vectors(f):
    """The pullback looked whether its cotangent is zero: its transpose was zero."""
    same_inside(lambda x: grad(f)(x), X)
    want = jvp(f, (X,), (U,))[1]
    assert want != 0
    assert_allclose(record(lambda x: jvp(f, (x,), (U,))[1])(X).value, want, rtol=1e-12)
    curvature = hessian(f)(X)
    assert_allclose(grad(lambda x: jvp(f, (x,), (U,))[1])(X), curvature @ U, rtol=1e-12)
    assert_allclose(jvp(lambda x: jvp(f, (x,), (U,))[1], (X,), (U,))[1], U @ curvature @ U, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (lambda x: x**0.5, 0.0, np.inf),
        (np.cbrt, np.float64(0.0), np.inf),
        (np.reciprocal, np.float64(0.0), -np.inf),
        (lambda x: np.arcsin(x), 1.0, np.inf),
        (lambda x: scipy.special.xlogy(x, x), -1.0, np.nan),
        (lambda x: np.exp(x), np.inf, np.inf),
    ],
)
def test_a_tangent_inside_at_a_singular_point(f, x, want):
    """It was pulled at a cotangent of zero, whose exact zeros hid the singularity."""
    g = lambda x: f(x) * 1.0
    with np.errstate(all="ignore"):
        assert_allclose(jvp(g, (x,), (1.0,))[1], want)
        assert_allclose(record(lambda x: jvp(g, (x,), (1.0,))[1])(x).value, want)
        assert_allclose(jvp(lambda x: jvp(g, (x,), (1.0,))[1], (x,), (1.0,))[0], want)


def test_jacobians_of_jacobians():
    """The look for leftovers went through the tape itself, and took its nodes for values."""

    def f(x):
        t = x[0]
        return t * t * x[1] + np.prod(x)

    want = hessian(f)(X)
    for outer in (jacfwd, jacrev):
        for inner in (jacfwd, jacrev, grad):
            assert_allclose(outer(inner(f))(X), want, rtol=1e-12)
    third = jacrev(jacrev(jacrev(f)))(X)
    assert_allclose(third, jacfwd(hessian(f))(X), rtol=1e-12)
    assert third.shape == (3, 3, 3)


LEFT = []


def leaving(x):
    LEFT.append(x * x)
    return x * x * x


def test_what_an_inner_function_leaves_is_plain():
    for second in (jacrev(jacrev(leaving)), grad(grad(leaving)), lambda x: hvp(leaving)(x, 1.0)):
        LEFT.clear()
        assert second(2.0) == 12.0
        assert [type(v) for v in LEFT] == [float]


def jacobians(f, *args, **kwargs):
    return jacfwd(f, **kwargs)(*args), jacrev(f, **kwargs)(*args)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: jacobians(lambda p: {"u": p[0] * p[1], "v": (np.sum(p[0]), p[1] ** 2)}, [x, s]),
        lambda x, s: jacobians(lambda a, b: Pair(a * b, [b]), x, s, wrt=("b", "a")),
        lambda x, s: hessian(lambda a, b: np.sum(a**3) * b**2, wrt=(0, 1))(x, s),
        lambda x, s: hessian(lambda p: np.sum(p["a"] ** 3) * p["b"] ** 2)({"a": x, "b": s}),
        lambda x, s: jvp(lambda a, b: (a * b, b, 3, "t", Pair([a], b)), (x, s), (x * x, None)),
        lambda x, s: jacobians(lambda a: (a * s, s, X), x),
        lambda x, s: jacobians(lambda a, b: a**2 * b, s, s, wrt=(0, 1)),
        lambda x, s: jacobians(lambda a, b: (b**2, a), x, s),
        lambda x, s: jvp(lambda a: X, (x,), (x * s,)),
        lambda x, s: jacobians(lambda a: a[:0] * s, x),
        lambda x, s: jacobians(lambda a: a[:0] * s, x[:0]),
        lambda x, s: jacobians(lambda a: (a.sum() * s, s * np.ones(2)), np.zeros((2, 0)) * s),
        lambda x, s: hessian(lambda a: np.sum(a) * s)(x),
        lambda x, s: value_and_grad(lambda a, k: (np.sum(a) * k, {"aux": a, "n": [1, "t"]}), ("k", 0), True)(x, k=s),
    ],
)
def test_structures_and_types_inside_are_those_outside(f):
    """Tuples became lists, numbers Python floats, empty Jacobians an IndexError, constants a number."""
    same_inside(f, X, 2.0)
    same_inside(f, X.astype(np.float32), 2.0)
    same_inside(f, X, np.float64(2.0))


def test_structures_of_fractions_inside():
    same_inside(lambda x, s: (jacobians(lambda a: (a * a, a * s), x), jvp(lambda a: (a * s,), (x,), (s,))),
                Fraction(2, 3), Fraction(1, 5))  # fmt: skip


def test_a_value_with_the_same_array_twice():
    """Both places were given the unit cotangent of each: the Jacobian inside was doubled."""

    def f(a):
        b = a * 2.0
        return b, b[1:], b, (b,)

    same_inside(lambda x: jacobians(f, x * 1.0), X)
    assert_allclose(record(lambda x: jacrev(f)(x)[2])(X).value, 2.0 * np.eye(3))
    same_inside(lambda x: jvp(f, (x,), (x * x,)), X)


def test_tangents_are_taken_as_they_were_before_the_call():
    def outer(x):
        t = x * 2.0

        def inner(z):
            t[0] = z[1] * z[0]
            return z * t

        value, pushed = jvp(inner, (x,), (t,))
        return np.sum(value * pushed * t)

    want = oracle.gradient(outer, (X,), 1.0)[0]
    assert_allclose(record(outer)(X.copy()).value, outer(X.copy()), rtol=1e-14)
    assert_allclose(grad(outer)(X.copy()), want, rtol=1e-6)


def test_floats_that_raise_in_rules_of_arrays():
    """`math` functions of one-entry arrays, and of several numbers, at points where IEEE has an answer."""
    assert record(lambda x: grad(lambda y: math.sqrt(y))(x))(np.array(0.0)).value == 0.0
    assert record(lambda x: grad(lambda y: math.hypot(y, y))(x))(0.0).value == 0.0


def test_a_pullback_inside_is_used_once():
    def outer(x):
        _, pull = vjp(lambda z: z * z, x)
        return np.sum(pull(x)) + np.sum(pull(x))

    with pytest.raises(RecordingClosed):
        outer(X)
    with pytest.raises(RecordingClosed):
        record(outer)(X)


def test_a_pullback_from_outside_with_a_recorded_cotangent_is_refused():
    with pytest.raises(RecordError, match="recorded cotangent"):
        record(lambda c: np.sum(vjp(lambda z: z * z, X)[1](c)))(U)


@pytest.mark.parametrize(
    "a",
    [np.array([[1.0, 2.0], [2.0, 4.0]]), np.zeros((2, 2)), np.ones((3, 3)), np.zeros((3, 3)), np.zeros((1, 1))],
)
def test_second_derivatives_of_the_determinant_of_a_singular_matrix(a):
    """The gradient came from singular vectors, whose derivatives are lost where singular values are equal."""
    slope, units = grad(lambda a: np.linalg.det(a)), [u for (u,) in oracle.units((a,))]
    want = [[oracle.directional(slope, (a,), (u,), w).value for u in units] for w in units]
    for h in (hessian, lambda f: jacrev(grad(f)), lambda f: jacfwd(jacfwd(f))):
        got = h(lambda a: np.linalg.det(a))(a)
        assert_allclose(got.reshape(a.size, a.size), want, atol=1e-9)


def test_perturbations_in_mixed_modes():
    f = lambda x: x * jvp(lambda y: x * y * grad(lambda z: x * y * z * z)(y), (x,), (x,))[1]
    # grad = 2x y²; x y · 2x y² = 2x² y³; slope 6x² y² at y = x along x: 6x⁵; times x
    assert f(2.0) == 6 * 2.0**6
    for d in (grad, jacfwd, jacrev):
        assert d(f)(2.0) == 36 * 2.0**5
        assert grad(d(f))(2.0) == hessian(f)(2.0) == 180 * 2.0**4


def test_a_nan_among_cotangents_of_a_sum_stays_in_its_row():
    """Zeros of the cotangent, which has other axes than the operand, were put in the wrong places."""
    weights = np.array([np.nan, 0.0])
    inner = grad(lambda x: np.sum(np.sum(x, axis=1) * weights))
    want = np.array([[np.nan, np.nan], [0.0, 0.0]])
    assert_allclose(inner(np.ones((2, 2))), want)
    assert_allclose(record(lambda x: inner(x) + 0.0 * x)(np.ones((2, 2))).value, want)


def test_a_tangent_has_the_methods_of_its_value():
    assert jvp(lambda x: float(np.float64(x).item()), (0.5,), (2.0,)) == (0.5, 2.0)
    assert jvp(lambda x: np.float32(x).astype(np.float64).item(), (0.5,), (2.0,)) == (0.5, 2.0)
