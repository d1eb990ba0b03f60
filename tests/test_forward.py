"""Forward mode: tangents of every operation, of programs that write into arrays, and Jacobians in both modes."""

from __future__ import annotations

import math
from fractions import Fraction

import blocks
import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose
from test_second_order import differentiable, slope_of

from autograd_frontend import grad, hessian, hvp, jacfwd, jacrev, jvp, ops, record, value_and_grad

CASES = [c for c in blocks.cases() if oracle.entries(c.plain()).size]
X = np.array([0.3, -1.2, 2.0])
V = np.array([1.0, 2.0, -0.5])


def flat(x):
    return [leaf for item in x for leaf in flat(item)] if isinstance(x, (list, tuple)) else [x]


def tolerance(c):
    coarse = any(np.asarray(x).dtype in (np.float32, np.float16) for x in oracle.flatten([c.plain(), c.inputs()]))
    return 1e-3 if coarse else 1e-10


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_tangent_is_the_adjoint_of_the_pullback(c):
    inputs, f = c.inputs(), blocks.function_of(c)
    along, weights = oracle.random_like(inputs, 1), oracle.random_like(c.plain(), 2)
    with np.errstate(all="ignore"):
        value, pushed = jvp(f, (inputs,), (along,))
        pulled = c.gradient(weights)
    assert oracle.same_bits(value, c.plain())
    moved = [(t, w) for t, w in zip(flat(pushed), oracle.flatten(weights)) if t is not None]
    a = sum(oracle.dot(t, w) for t, w in moved)
    b = oracle.dot(differentiable(pulled), differentiable(along))
    assert abs(a - b) <= tolerance(c) * max(1.0, abs(a)), (a, b)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_forward_over_reverse_is_reverse_over_reverse(c):
    inputs = c.inputs()
    weights, along = oracle.random_like(c.plain(), 0), oracle.random_like(inputs, 1)
    slope, direction = slope_of(c, weights, along), oracle.random_like(inputs, 2)
    with np.errstate(all="ignore"):
        _, pushed = jvp(slope, (inputs,), (direction,))
        pulled = record(slope)(inputs).backward()
    b = oracle.entries(pulled) @ oracle.entries(direction)
    assert abs((pushed or 0.0) - b) <= 100 * tolerance(c) * max(1.0, abs(b)), (pushed, b)


def written(x):
    a = np.zeros(3)
    for i in range(3):
        a[i] = x[i] ** 3
    a[1:] *= a[:-1]
    b = a[::-1]
    b[0] += x[0]
    a[[0, 1]] = a[[1, 0]] * x[:2]
    np.add.at(a, [0, 0, 2], x)
    y = a * a
    a[...] = 0.0
    c = np.exp(-y, out=np.empty(3))
    return np.stack([y, c]), a, {"sum": y.sum()}


def test_writes_into_arrays():
    value, pushed = jvp(written, (X,), (V,))
    assert oracle.same_bits(value, written(X))
    weights = oracle.random_like(value, 1)
    want = oracle.directional(written, (X,), (V,), weights)
    assert abs(oracle.dot(pushed, weights) - want.value) < 1e-6


def test_both_modes_give_one_jacobian():
    forward, reverse = jacfwd(written)(X), jacrev(written)(X)
    assert [np.shape(leaf) for leaf in oracle.flatten(forward)] == [(2, 3, 3), (3, 3), (3,)]
    assert_allclose(oracle.entries(forward), oracle.entries(reverse), rtol=1e-12, atol=1e-12)
    column = jvp(written, (X,), (np.array([0.0, 1.0, 0.0]),))[1]
    assert_allclose(forward[0][..., 1], column[0])


def test_a_jacobian_runs_the_function_once():
    runs = []

    def f(x):
        runs.append(1)
        return np.sin(x) * x[0]

    for jacobian in (jacfwd, jacrev):
        runs.clear()
        jacobian(f)(X)
        assert len(runs) == 1
    runs.clear()
    hessian(lambda x: np.sum(f(x)))(X)
    assert len(runs) == 1


def test_shapes_names_and_containers():
    def f(a, p, k=2.0):
        return a * p["w"] * k, [p["w"].sum()]

    p = {"w": X, "name": "w"}
    for jacobian in (jacfwd, jacrev):
        (first, (second,)) = jacobian(f, wrt=("p", "k"))(3.0, p, k=2.0)
        assert_allclose(first[0]["w"], 6.0 * np.eye(3))
        assert first[0]["name"] is None
        assert_allclose(first[1], 3.0 * X)
        assert_allclose(second[0]["w"], np.ones(3))
        assert second[1] == 0.0 and np.shape(second[1]) == ()
        assert_allclose(jacobian(lambda x: x.reshape(3, 1) * np.ones(2))(X).shape, (3, 2, 3))
        assert jacobian(lambda x: math.sin(x))(0.5) == math.cos(0.5)
        assert jacobian(lambda x: x * x)(np.zeros((0,))).shape == (0, 0)
        with pytest.raises(TypeError, match="not differentiable"):
            jacobian(f)(3, p)


def test_types_of_tangents():
    value, t = jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, None))
    assert (value, t) == (6.0, 3.0) and type(t) is float
    value, t = jvp(lambda x: np.sin(x), (X.astype(np.float32),), (V,))
    assert value.dtype == t.dtype == np.float32
    value, t = jvp(lambda x: x**3, (Fraction(1, 3),), (Fraction(2),))
    assert t == Fraction(2, 3) and type(t) is Fraction
    value, t = jvp(lambda x: (x, 5, "text", x > 0), (2.0,), (1.0,))
    assert t == (1.0, None, None, None)
    value, t = jvp(lambda x: (X, 3.0, x), (2.0,), (1.0,))
    assert np.array_equal(t[0], np.zeros(3)) and t[1:] == (0.0, 1.0)


def test_tangents_handed_out_are_fresh():
    x, v = X.copy(), V.copy()
    value, t = jvp(lambda x: x, (x,), (v,))
    t[:] = 7.0
    assert_allclose(v, V)
    assert_allclose(x, X)


def test_misuse_of_jvp():
    f = lambda x: x * 2.0
    with pytest.raises(TypeError, match="args is ndarray, expected a tuple"):
        jvp(f, X, (V,))
    with pytest.raises(ValueError, match="1 arguments and 2 tangents"):
        jvp(f, (X,), (V, V))
    with pytest.raises(ValueError, match="no tangent"):
        jvp(f, (X,), (None,))
    with pytest.raises(ValueError, match=r"the tangent of argument 0 has shape \(2,\), expected \(3,\)"):
        jvp(f, (X,), (V[:2],))
    with pytest.raises(ValueError, match="the tangent of argument 0 lacks 'a'"):
        jvp(lambda p: p["a"], ({"a": 1.0},), ({},))
    with pytest.raises(TypeError, match="not differentiable"):
        jvp(f, (3,), (1.0,))
    with pytest.raises(KeyError):
        jvp(lambda x: {}[x], (1.0,), (1.0,))
    assert jvp(f, (1.0,), (1.0,)) == (2.0, 2.0)


def test_strong_zero():
    f = lambda x: np.where(x > 0, np.log(x), x)
    with np.errstate(all="ignore"):
        _, t = jvp(f, (np.array([0.0, 2.0, -1.0]),), (np.array([1.0, 1.0, 1.0]),))
        _, u = jvp(lambda x: np.sqrt(x) * np.log(x), (np.array([0.0, 1.0]),), (np.array([0.0, 1.0]),))
    assert_allclose(t, [1.0, 0.5, 1.0])
    assert_allclose(u, [0.0, 1.0])


def test_detach_stops_tangents():
    assert_allclose(jvp(lambda x: x * ops.detach(x), (X,), (V,))[1], X * V)


def test_a_long_loop_keeps_no_tape():
    def f(x):
        for _ in range(20_000):
            x = 0.5 * x + 0.1
        return x

    value, t = jvp(f, (1.0,), (1.0,))
    assert t == 0.0 or t < 1e-300


def test_nested_modes():
    f = lambda x: np.sum(np.exp(x) * x[0] ** 2)
    h = hessian(f)(X)
    assert_allclose(h, jacrev(grad(f))(X), rtol=1e-12)
    assert_allclose(hvp(f)(X, V), h @ V, rtol=1e-12)
    # reverse over forward, forward over forward
    assert_allclose(grad(lambda x: jvp(f, (x,), (V,))[1])(X), h @ V, rtol=1e-12)
    assert_allclose(jvp(lambda x: jvp(f, (x,), (V,))[1], (X,), (V,))[1], V @ h @ V, rtol=1e-12)
    third = grad(lambda x: np.sum(hessian(f)(x) * h))(X)
    want = [oracle.directional(lambda x: np.sum(hessian(f)(x) * h), (X,), u, 1.0).value for u in oracle.units((X,))]
    assert_allclose(third, want, rtol=1e-5)
    assert_allclose(jacfwd(jacfwd(jacfwd(lambda x: x**4)))(2.0), 48.0)
    assert jvp(lambda x: x * grad(lambda y: x + y)(1.0), (2.0,), (1.0,))[1] == 1.0
    assert jvp(lambda x: x * jvp(lambda y: x * y * y, (3.0,), (1.0,))[1], (1.0,), (1.0,))[1] == 12.0


def test_hvp_takes_further_arguments():
    f = lambda x, a, b: a * np.sum(x**3) + b
    assert_allclose(hvp(f)(X, V, 2.0, 1.0), 12.0 * X * V)


def test_with_scipy():
    optimize = pytest.importorskip("scipy.optimize")
    x0 = np.array([-1.2, 1.0, 0.8])
    both = value_and_grad(rosenbrock)
    for method in ("Newton-CG", "trust-ncg", "trust-krylov"):
        found = optimize.minimize(both, x0, jac=True, hessp=hvp(rosenbrock), method=method)
        assert_allclose(found.x, np.ones(3), rtol=1e-3)
    found = optimize.minimize(both, x0, jac=True, hess=hessian(rosenbrock), method="trust-exact")
    assert_allclose(found.x, np.ones(3), rtol=1e-6)
    t = np.linspace(0.0, 2.0, 20)
    data = 2.5 * np.exp(-1.3 * t)

    def residuals(p):
        return p[0] * np.exp(-p[1] * t) - data

    found = optimize.least_squares(residuals, [1.0, 1.0], jac=jacfwd(residuals))
    assert_allclose(found.x, [2.5, 1.3], rtol=1e-6)
    integrate = pytest.importorskip("scipy.integrate")

    def rhs(y):
        return np.stack([y[1], -np.exp(y[0])])

    slope = jacrev(lambda y: np.stack([y[1], -np.exp(y[0])]))
    mesh = np.linspace(0.0, 1.0, 9)
    found = integrate.solve_bvp(
        lambda x, y: rhs(y), lambda a, b: np.array([a[0], b[0]]), mesh, np.zeros((2, 9)),
        fun_jac=lambda x, y: np.moveaxis([slope(column) for column in y.T], 0, -1),
    )  # fmt: skip
    assert found.success
    assert_allclose(found.sol(0.5)[0], 0.14053921, rtol=1e-4)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
