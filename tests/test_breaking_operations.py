"""Attacks on the public operations and on `primitive` that found something."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autograd_frontend import RecordError, grad, hessian, hvp, jacfwd, jacrev, jvp, ops, primitive, record

X = np.array([[0.5, -1.2, 0.8], [1.1, 0.3, -0.7]])
W = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
V = np.array([[0.3, -0.2, 0.9], [-1.1, 0.4, 0.6]])


@primitive
def cube_by_rows(x):
    return x * x * x


@cube_by_rows.pullback
def _(g, y, x):
    out = np.zeros(x.shape)
    for i in range(len(x)):
        out[i] = g[i] * 3 * x[i] * x[i]
    return out


BUFFER = np.zeros((2, 3))


@primitive
def square_by_buffer(x):
    return x * x


@square_by_buffer.pullback
def _(g, y, x):
    np.multiply(g, 2 * x, out=BUFFER)
    return BUFFER


@primitive
def product_in_containers(d, pair):
    return d["a"] * pair[0] + pair[1]


@product_in_containers.pullback
def _(g, y, d, pair):
    a, b = np.zeros(g.shape), np.empty(g.shape)
    a += g * pair[0]
    b[...] = g * d["a"]
    return {"a": a}, [b, g]


FILLING = {
    "rows": (lambda x: (cube_by_rows(x) * W).sum(), 6 * X * W * V),
    "buffer": (lambda x: (square_by_buffer(x) * W).sum(), 2 * W * V),
    "containers": (lambda x: (product_in_containers({"a": x}, [x * x, x]) * W).sum(), 6 * X * W * V),
}


@pytest.mark.parametrize("name", FILLING)
def test_a_rule_that_fills_an_array_has_derivatives_of_its_own(name):
    f, want = FILLING[name]
    along = lambda x: (grad(f)(x) * V).sum()
    assert_allclose(grad(along)(X), want, rtol=1e-12)
    assert_allclose(record(along)(X).backward(), want, rtol=1e-12)


def test_an_elementwise_rule_that_sums_is_no_tangent():
    @primitive(elementwise=True)
    def f(a, b):
        return a * b * b

    @f.pullback
    def _(g, y, a, b):
        d = g * 2 * a * b
        return g * b * b, d.sum(0) if np.ndim(b) < np.ndim(a) else d

    assert_allclose(jvp(lambda x: f(x, x), (X,), (V,))[1], 3 * X * X * V)
    with pytest.raises(RecordError, match="has no tangent"):
        jvp(lambda x: f(x, x[0]), (X,), (V,))


def test_an_elementwise_rule_gets_tangents_of_the_shape_of_the_result():
    @primitive(elementwise=True)
    def f(a, b):
        return a * b

    @f.pullback
    def _(g, y, a, b):
        d = np.zeros(y.shape)
        d += g * a
        return g * b, d

    assert_allclose(jvp(lambda x: f(x, x[0]), (X,), (V,))[1], V * X[0] + X * V[0])


INF, NAN = np.inf, np.nan
ROWS = {
    "log_softmax_last": lambda x: ops.log_softmax_last(x),
    "layer_norm": lambda x: ops.layer_norm(x, W[0], W[1]),
    "batch_norm": lambda x: ops.batch_norm(x, W[0, :2], W[1, :2]),
}


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
@pytest.mark.parametrize("name", ROWS)
def test_rows_whose_cotangent_is_zero_get_exact_zeros(name, bad):
    x = X.copy()
    x[0, 1] = bad
    with np.errstate(invalid="ignore"):
        r = record(ROWS[name])(x)
    g = r.pullback(np.stack([np.zeros(3), W[1]]))
    assert not g[0].any()
    assert_allclose(g[1], record(ROWS[name])(X).pullback(W)[1])


@pytest.mark.parametrize("f", [ops.layer_norm, lambda x, a, b: ops.batch_norm(x.T, a, b).T], ids=["layer", "batch"])
def test_an_infinite_scale_beside_a_zero_cotangent_adds_nothing(f):
    gamma = np.array([INF, 1.0, 2.0])
    g = W * [0.0, 1.0, 1.0]
    with np.errstate(invalid="ignore"):
        r = record(lambda x, gamma, beta: f(x, gamma, beta))(X, gamma, W[1])
    x, _, _ = r.pullback(g)
    want, _, _ = record(lambda x, gamma, beta: f(x, gamma, beta))(X, W[0] * [1.0, 0.5, 2 / 3], W[1]).pullback(g)
    assert_allclose(x, want)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_scores_of_whole_numbers(dtype):
    scores = np.array([[0, 1, 1], [1, 0, 1]])
    f = lambda s: record(lambda v: ops.softmax_matmul(s, v, W) ** 2)(V.T.copy())
    got, want = f(scores.astype(dtype)), f(scores.astype(float))
    assert np.array_equal(got.value, want.value)
    assert np.array_equal(got.backward(), want.backward())


def test_forward_over_reverse_of_packed_fourier_transforms():
    f = lambda x: (ops.rfft1d(x) ** 2 * np.arange(8.0).reshape(2, 2, 2)).sum()
    g = lambda z: (ops.irfft1d(z, 4) ** 3).sum()
    z = np.linspace(-1.0, 1.0, 12).reshape(2, 3, 2)
    for function, x in ((f, X), (g, z)):
        h = hessian(function)(x)
        assert_allclose(h, jacrev(grad(function))(x), atol=1e-13)
        step = 1e-6 * np.ones(x.shape)
        want = (grad(function)(x + step) - grad(function)(x - step)) / 2e-6
        assert_allclose(hvp(function)(x, np.ones(x.shape)), want, atol=1e-7)


Point = namedtuple("Point", "x y")


def test_a_constant_gradient_has_the_derivative_zero():
    f = lambda x: (x * W).sum()
    assert np.array_equal(hvp(f)(X, V), np.zeros((2, 3)))
    assert np.array_equal(hessian(f)(X), np.zeros((2, 3, 2, 3)))
    assert hvp(lambda p: p.x * 2 + p.y)(Point(1.0, 2.0), Point(1.0, 1.0)) == (0.0, 0.0)
    h = hessian(lambda a, b: a * 2 + b * b, wrt=(0, 1))(1.0, 2.0)
    assert h == ((0.0, 0.0), (0.0, 2.0))
    for jacobian in (jacfwd, jacrev):
        a, b, c = jacobian(lambda x: (W, 2.0, 3))(X)
        assert not a.any() and a.shape == (2, 3, 2, 3) and np.array_equal(b, np.zeros((2, 3))) and c is None
    inside = lambda x: (hvp(f)(x, x) * x).sum() + hessian(f)(x).sum() + (x * x).sum()
    assert_allclose(record(inside)(X).backward(), 2 * X)


def test_results_that_share_memory_are_not_written():
    @primitive
    def twice(x):
        y = x * 2
        return y, y

    @twice.pullback
    def _(g, y, x):
        return 2 * (g[0] + g[1])

    @primitive
    def halves(x):
        y = x * 2
        return y[:1], y[1:]

    @halves.pullback
    def _(g, y, x):
        return 2 * np.concatenate(g)

    def f(x):
        a, b = twice(x)
        return (a * W * b).sum()

    def written(x):
        a, b = twice(x)
        a[0] = 0.0
        return (a * W * b).sum()

    def apart(x):
        a, b = halves(x)
        a[0] = 0.0
        return (a * W * b).sum() + (b * b).sum()

    assert_allclose(record(f)(X).backward(), 8 * X * W)
    with pytest.raises(RecordError, match="an array is written"):
        record(written)(X)
    assert_allclose(record(apart)(X).backward(), [np.zeros(3), 8 * X[1]])


def test_softmax_takes_floats_only():
    from decimal import Decimal

    for f in (ops.softmax_last, ops.log_softmax_last):
        for call in (f, record(lambda x: f(x))):
            with pytest.raises(TypeError, match="x is a Decimal, expected floats"):
                call(Decimal("1.5"))
