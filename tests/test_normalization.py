"""Normalization of rows and channels: the digits of the data, constant rows, every error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracle
import pytest
from mpmath import mp, mpf
from test_rows import near, pull, second_derivatives

from autograd_frontend import ops

INF, NAN = np.inf, np.nan
TYPES = [np.float32, np.float64]
RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4))
W = RNG.normal(size=(3, 4))


def exact_norm(row, gamma, beta, epsilon, g):
    """A normalized row and the cotangent of the data."""
    with mp.workdps(60):
        row, gamma, beta, g = ([mpf(float(v)) for v in x] for x in (row, gamma, beta, g))
        n = len(row)
        mean = sum(row) / n
        c = [v - mean for v in row]
        r = 1 / mp.sqrt(sum(v * v for v in c) / n + mpf(epsilon))
        xh, q = [v * r for v in c], [a * b for a, b in zip(g, gamma)]
        m, s = sum(q) / n, sum(a * b for a, b in zip(q, xh)) / n
        return [a * b + c for a, b, c in zip(xh, gamma, beta)], [r * (a - m - b * s) for a, b in zip(q, xh)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("offset, size, epsilon", [
    (0, 1, 1e-5), (1000, 1, 1e-5), (0, 1e-10, 1e-5), (0, 1e-10, 1e-30), (0, 1e10, 1e-5), (-5, 0.01, 1e-12),
])  # fmt: skip
def test_normalized_rows_have_the_digits_of_the_data(dtype, offset, size, epsilon):
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(2, 50)) * size + offset).astype(dtype)
    gamma, beta, g = rng.normal(size=50).astype(dtype), np.zeros(50, dtype), rng.normal(size=(2, 50)).astype(dtype)
    y, (d, _, _) = pull(lambda x, a, b: ops.layer_norm(x, a, b, epsilon=epsilon), g, x, gamma, beta)
    z, (e, _, _) = pull(
        lambda x, a, b: ops.batch_norm(x, a, b, epsilon=epsilon), g, x, np.ones(2, dtype), np.zeros(2, dtype)
    )
    for k in range(2):
        rounding = 20 * (1 + abs(x).max() / x[k].std())  # of a mean, beside the distances to it
        value, want = exact_norm(x[k], gamma, beta, epsilon, g[k])
        near(y[k], value, [1 + abs(v) for v in value], rounding)
        near(d[k], want, [max(map(abs, want))] * 50, rounding)
        value, want = exact_norm(x[k], np.ones(50), beta, epsilon, g[k])
        near(z[k], value, [1 + abs(v) for v in value], rounding)
        near(e[k], want, [max(map(abs, want))] * 50, rounding)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000, 5000])
def test_constant_rows_give_exactly_beta(dtype, n):
    x = np.full((2, n), 0.1, dtype)
    x[1] = 12345.678
    gamma, beta, g = RNG.normal(size=n).astype(dtype), RNG.normal(size=n).astype(dtype), np.ones((2, n), dtype)
    y, (dx, dgamma, dbeta) = pull(lambda x, a, b: ops.layer_norm(x, a, b, epsilon=1e-12), g, x, gamma, beta)
    assert np.array_equal(y, np.stack([beta, beta]))
    want = (gamma - gamma.mean(dtype=np.longdouble)) * 1e6
    atol = 1e6 * 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(dx.astype(float), [want.astype(float)] * 2, atol=atol, rtol=1e-5)
    assert not dgamma.any() and (dbeta == 2).all()
    y = ops.batch_norm(x, np.array([2, 3], dtype), np.array([0.3, -1], dtype))
    assert np.array_equal(y, np.array([[0.3] * n, [-1] * n], dtype))


def test_one_position_gives_beta_and_no_gradient():
    for shape in [(3,), (3, 1), (3, 1, 1)]:
        x, g = RNG.normal(size=(2, *shape))
        y, (dx, dgamma, dbeta) = pull(lambda x, a, b: ops.batch_norm(x, a, b), g, x, X[:, 0].copy(), X[:, 1].copy())
        assert np.array_equal(y.ravel(), X[:, 1]) and not dx.any() and not dgamma.any()
        assert np.array_equal(dbeta, g.ravel()) and dx.shape == shape


def test_batch_norm_is_layer_norm_of_the_channels():
    x, g = RNG.normal(size=(2, 3, 2, 5))
    one, zero = np.ones(10), np.zeros(10)
    y, (d, _, _) = pull(lambda x, a, b: ops.batch_norm(x, a, b, epsilon=0.1), g, x, np.ones(3), np.zeros(3))
    want = pull(lambda x: ops.layer_norm(x, one, zero, epsilon=0.1), g.reshape(3, 10), x.reshape(3, 10))
    np.testing.assert_allclose(y.reshape(3, 10), want[0], rtol=1e-14)
    np.testing.assert_allclose(d.reshape(3, 10), want[1], rtol=1e-12, atol=1e-14)


def test_epsilon_does_not_decide_on_the_type():
    x, a, b = X.astype(np.float32), np.ones(4, np.float32), np.zeros(4, np.float32)
    want = ops.layer_norm(x, a, b, epsilon=0.25)
    for epsilon in (np.float64(0.25), np.longdouble(0.25), np.array(0.25), Fraction(1, 4)):
        y, (dx, _, _) = pull(lambda x, a, b, epsilon=epsilon: ops.layer_norm(x, a, b, epsilon), x, x, a, b)
        assert oracle.same_bits(y, want) and dx.dtype == np.float32, epsilon
    y = ops.layer_norm(X.astype(np.longdouble), a, b)
    assert y.dtype == np.longdouble
    assert ops.layer_norm(x, a.astype(float), b).dtype == np.float64
    assert ops.layer_norm(x, a, b.astype(float)).dtype == np.float64
    assert ops.layer_norm([[1, 3]], [1, 1], [0, 0], epsilon=0).tolist() == [[-1.0, 1.0]]
    assert ops.batch_norm(np.array([[1, 3]], np.int8), [1], [0], epsilon=0).tolist() == [[-1.0, 1.0]]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_row_with_nan_or_infinity_spares_the_others():
    for bad in (NAN, INF):
        x = X.copy()
        x[1, 2] = bad
        y, (dx, _, _) = pull(lambda x, a, b: ops.layer_norm(x, a, b), W, x, np.ones(4), np.zeros(4))
        assert np.isnan(y[1]).all() and np.isnan(dx[1]).all()
        assert np.isfinite(y[[0, 2]]).all() and np.isfinite(dx[[0, 2]]).all()


def test_second_derivatives():
    gamma, beta, u = RNG.normal(size=(3, 4))
    for f in (
        lambda x: np.sum(ops.layer_norm(x, gamma, beta) * W),
        lambda x: np.sum(ops.batch_norm(x, gamma[:3], beta[:3], epsilon=0.1) * W),
    ):
        second_derivatives(f, X, np.outer(gamma[:3], u))


ONE = np.ones(3)
ERRORS = [
    (lambda: ops.layer_norm(ONE, ONE, ONE), ValueError,
     "layer_norm: x has shape (3,), expected 2 axes, [rows, columns]"),
    (lambda: ops.layer_norm(X[:, :0], ONE[:0], ONE[:0]), ValueError,
     "layer_norm: x has shape (3, 0), expected at least one entry along every axis"),
    (lambda: ops.layer_norm(X, ONE, np.ones(4)), ValueError,
     "layer_norm: gamma has shape (3,), expected (4,), one entry for each column of x"),
    (lambda: ops.layer_norm(X, np.ones(4), 0.0), ValueError,
     "layer_norm: beta has shape (), expected (4,), one entry for each column of x"),
    (lambda: ops.layer_norm(X, np.ones(4), np.ones(4), epsilon="small"), TypeError,
     "layer_norm: epsilon is 'small', expected a number"),
    (lambda: ops.batch_norm(1.0, ONE, ONE), ValueError, "batch_norm: x is a scalar, expected [channels, ...]"),
    (lambda: ops.batch_norm(X[:, :0], ONE, ONE), ValueError,
     "batch_norm: x has shape (3, 0), expected at least one entry along every axis"),
    (lambda: ops.batch_norm(X, ONE, np.ones(4)), ValueError,
     "batch_norm: beta has shape (4,), expected (3,), one entry for each channel of x"),
    (lambda: ops.batch_norm(X, ONE, ONE, epsilon=[0.1]), TypeError, "batch_norm: epsilon is [0.1], expected a number"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors_say_what_came_and_what_is_allowed(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message
