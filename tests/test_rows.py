"""Softmax and its logarithm, and losses: tails against exact arithmetic, special rows, every error."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import oracle
import pytest
from mpmath import mp, mpf

from autograd_frontend import grad, ops, record

INF, NAN = np.inf, np.nan
TYPES = [np.float32, np.float64]
RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4))
W = RNG.normal(size=(3, 4))


def pull(f, g, *args):
    """Value and gradients of a recorded call."""
    r = record(f)(*args)
    plain = f(*args)
    assert oracle.same_bits(r.value, plain)
    return r.value, r.pullback(g)


def softmax_of(row):
    with mp.workdps(900):
        e = [mp.exp(mpf(float(x))) for x in row]
        return [x / sum(e) for x in e]


def log_softmax_of(row, g):
    """The log-softmax of a row and its pullback, exactly; and how large the terms of the pullback are."""
    with mp.workdps(900):
        p, g = softmax_of(row), [mpf(float(x)) for x in g]
        total, size = sum(g), sum(abs(x) for x in g)
        value = [mp.log(x) for x in p]
        d = [x * (1 - q) - q * (total - x) for q, x in zip(p, g)]
        return value, d, [abs(x) * (1 - q) + q * (size - abs(x)) for q, x in zip(p, g)]


def near(got, want, scale, rounding):
    """Within so many roundings of what was added up, and of the smallest numbers."""
    eps, least = np.finfo(got.dtype).eps, np.finfo(got.dtype).smallest_subnormal
    for a, b, s in zip(got.ravel().tolist(), want, scale, strict=True):
        assert abs(a - b) <= rounding * float(eps) * s + 2 * mpf(float(least)), (a, b)


def second_derivatives(f, x, u, e=1e-5):
    """The derivative of the gradient along `u` agrees with differences of gradients."""
    got = grad(lambda x: np.sum(grad(f)(x) * u))(x)
    want = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = e
        want[i] = np.sum((grad(f)(x + step) - grad(f)(x - step)) * u) / (2 * e)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


# softmax


@pytest.mark.parametrize("dtype", TYPES)
def test_log_softmax_keeps_its_digits_where_one_entry_has_nearly_all_the_weight(dtype):
    gaps = [1e-3, 0.5, 1.0, 5.0, 17.0, 40.0, 60.0, 85.0] + [200.0, 700.0] * (dtype == np.float64)
    for gap in gaps:
        for row, g in [([0, -gap], [1, 0]), ([-gap, 0, -gap], [0, 1, 0]), ([0, -gap], [0, 1]), ([3, 3 - gap], [1, 1])]:
            x, g = np.array(row, dtype), np.array(g, dtype)
            y, d = pull(ops.log_softmax_last, g, x)
            value, want, scale = log_softmax_of(x, g)
            near(y, value, map(abs, value), 8)
            near(d, want, scale, 8)
            assert d.dtype == dtype


@pytest.mark.parametrize("dtype", TYPES)
def test_small_cotangents_beside_a_large_one_count(dtype):
    for gap, small in [(30.0, 1e-14), (50.0, 1e-22), (10.0, 1e-6), (80.0, 1e-35)]:
        x = np.array([[0, -gap, -gap - 1], [1, 2, 3]], dtype)
        g = np.array([[1, small, -2 * small], [small, 1, -small]], dtype)
        _, d = pull(ops.log_softmax_last, g, x)
        for k in range(2):
            _, want, scale = log_softmax_of(x[k], g[k])
            near(d[k], want, scale, 8)


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_of_all_magnitudes(dtype):
    top = float(np.finfo(dtype).max) / 4
    for size in (1e-30, 1e-3, 1.0, 50.0, 1e4, top):
        x = (RNG.uniform(-1, 1, (2, 5)) * size).astype(dtype)
        g = RNG.normal(size=(2, 5)).astype(dtype)
        y, d = pull(ops.log_softmax_last, g, x)
        p, e = pull(ops.softmax_last, g, x)
        for k in range(2):
            value, want, scale = log_softmax_of(x[k], g[k])
            near(y[k], value, [abs(v) + 1 for v in value], 8)
            distance = 1 + min(2 * size, 1e3)  # a rounded distance to the largest entry is rounded in exp too
            near(d[k], want, [s + 1 for s in scale], 8 * distance)
            near(p[k], softmax_of(x[k]), [1] * 5, 8 * distance)
        near(e, (p * (g - (g * p).sum(-1, keepdims=True))).ravel().tolist(), [1] * 10, 16)


def test_entries_of_minus_infinity_have_no_weight():
    x, g = np.array([-INF, 0.0, 1.0, -INF]), np.array([0.5, 1.0, 2.0, 3.0])
    y, d = pull(ops.softmax_last, g, x)
    assert y[0] == y[3] == d[0] == d[3] == 0
    np.testing.assert_allclose(y[1:3], [1 / (1 + np.e), np.e / (1 + np.e)], rtol=1e-15)
    y, d = pull(ops.log_softmax_last, g, x)
    assert y[0] == y[3] == -INF and d[0] == 0.5 and d[3] == 3.0
    np.testing.assert_allclose(d[1:3], g[1:3] - np.exp(y[1:3]) * g.sum(), rtol=1e-14)


WITHOUT = [[NAN, 1, 2], [1, NAN, -INF], [INF, 0, 1], [0, INF, INF], [-INF, -INF, -INF], [NAN] * 3]


@pytest.mark.parametrize("row", WITHOUT)
@pytest.mark.parametrize("f", [ops.softmax_last, ops.log_softmax_last])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_row_without_a_softmax_is_nan_and_spares_the_others(row, f):
    y, d = pull(f, np.ones((2, 3)), np.array([row, [0.5, 1.0, -1.0]]))
    assert np.isnan(y[0]).all() and np.isnan(d[0]).all()
    assert np.isfinite(y[1]).all() and np.isfinite(d[1]).all()
    assert np.isnan(f(np.array(row))).all()


def test_a_scalar_is_a_row_of_one():
    for x in (1.7, np.float32(1.7), np.float64(-3.0), 2, True, np.longdouble(0.1)):
        a, b = ops.softmax_last(x), ops.log_softmax_last(x)
        assert (a, b) == (1, 0) and a.dtype == b.dtype == (x.dtype if isinstance(x, np.floating) else np.float64)
    for f in (ops.softmax_last, ops.log_softmax_last):
        assert pull(f, 2.5, 1.7)[1] == 0
        d = pull(f, np.array(2.5), np.array(1.7))[1]
        assert d == 0 and d.shape == ()
        assert np.isnan(f(NAN))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_rows_without_entries(shape):
    x, g = np.zeros(shape, np.float32), np.ones(shape, np.float32)
    for f in (ops.softmax_last, ops.log_softmax_last):
        y, d = pull(f, g, x)
        assert y.shape == d.shape == shape and y.dtype == d.dtype == np.float32
        assert y is not x and not np.shares_memory(y, x)


def test_lists_integers_and_strides():
    for f in (ops.softmax_last, ops.log_softmax_last):
        y = f([[1, 2], [3, 5]])
        assert y.dtype == np.float64 and oracle.same_bits(y, f(np.array([[1.0, 2.0], [3.0, 5.0]])))
        assert f(np.array([1, 2], np.int8)).dtype == np.float64
        for x in (X.T, X[::-1, ::-1], np.asfortranarray(X), X[None, :, ::2]):
            g = np.asfortranarray(RNG.normal(size=x.shape))
            y, d = pull(f, g, x)
            want, e = pull(f, np.array(g), np.array(x))
            np.testing.assert_allclose(y, want, rtol=1e-15)
            np.testing.assert_allclose(d, e, rtol=1e-13, atol=1e-15)


def test_the_operands_stay_as_they_are():
    x, g, t = X.copy(), W.copy(), abs(W)
    gamma = np.ones(4)
    for f in (ops.softmax_last, ops.log_softmax_last, lambda x: ops.layer_norm(x, gamma, gamma)):
        pull(f, g, x)
    pull(lambda x, t: ops.cross_entropy(x, t, axis=0), 2.0, x, t)
    assert np.array_equal(x, X) and np.array_equal(g, W) and np.array_equal(t, abs(W))


def test_sums_of_long_rows_keep_their_digits():
    x = np.full((2, 1_000_000), 0.1, np.float32)
    assert abs(ops.softmax_last(x) * 1e6 - 1).max() < 1e-6
    d = record(lambda x: ops.softmax_last(x))(x).pullback(x)
    assert abs(d).max() < 1e-13  # a constant cotangent
    y = ops.layer_norm(x, x[0], x[0])
    assert np.array_equal(y, x)


def test_wide_types_stay_wide():
    for dtype in (np.float16, np.longdouble):
        x, g = X.astype(dtype), W.astype(dtype)
        for f in (ops.softmax_last, ops.log_softmax_last):
            y, d = pull(f, g, x)
            assert y.dtype == d.dtype == dtype
            np.testing.assert_allclose(y.astype(float), f(X), rtol=0.01 if dtype == np.float16 else 1e-14)
    x = np.array([0, -40], np.longdouble)
    d = record(lambda x: ops.log_softmax_last(x))(x).pullback(np.array([1, 0], np.longdouble))
    with mp.workdps(40):
        want = np.longdouble(mp.nstr(1 / (1 + mp.exp(40)), 30))
    assert abs(d[0] - want) < 1e-18 * want


# losses


@pytest.mark.parametrize("dtype", TYPES)
def test_cross_entropy_of_large_logits(dtype):
    for size in (1.0, 30.0, 80.0, 1e4, 1e30):
        x = np.array([[1, -1, 0.5], [-0.25, 1, 1]], dtype) * dtype(size)
        t = np.array([[0.7, 0.2, 0.1], [1, 0, 0]], dtype)
        y, d = pull(lambda x: ops.cross_entropy(x, t, axis=1), dtype(1), x)
        total = mpf(0)
        for k in range(2):
            value, want, scale = log_softmax_of(x[k], -t[k] / 2)
            total -= sum(mpf(float(a)) * b for a, b in zip(t[k], value)) / 2
            near(d[k], want, scale, 8 * (1 + min(size, 100)))
        assert abs(float(y) - total) <= 8 * np.finfo(dtype).eps * total
        assert y.dtype == d.dtype == dtype


@pytest.mark.parametrize("dtype", TYPES)
def test_the_gradient_of_a_confident_prediction_is_its_small_error(dtype):
    x, t = np.array([[50, 0], [0, 30]], dtype), np.array([[1, 0], [0, 1]], dtype)
    _, d = pull(lambda x: ops.cross_entropy(x, t, axis=1, mean=False), dtype(1), x)
    a, b = np.exp(-50.0), np.exp(-30.0) / (1 + np.exp(-30.0))
    np.testing.assert_allclose(d, [[-a, a], [b, -b]], rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("mean", [True, False])
def test_cross_entropy_along_every_axis(axis, mean):
    x, t, u = RNG.normal(size=(3, 2, 3, 4))
    y, (dx, dt) = pull(lambda x, t: ops.cross_entropy(x, t, axis=axis, mean=mean), 1.5, x, t)
    n = x.size // x.shape[axis] if mean else 1
    logs = x - np.log(np.exp(x).sum(axis, keepdims=True))
    np.testing.assert_allclose(y, -(t * logs).sum() / n, rtol=1e-13)
    np.testing.assert_allclose(dt, -logs * 1.5 / n, rtol=1e-13)
    np.testing.assert_allclose(dx, (np.exp(logs) * t.sum(axis, keepdims=True) - t) * 1.5 / n, rtol=1e-12, atol=1e-14)
    y, d = pull(lambda x: ops.distill(x, u, axis=axis), 1.5, x)
    p = np.exp(u) / np.exp(u).sum(axis, keepdims=True)
    n = x.size // x.shape[axis]
    np.testing.assert_allclose(y, -(p * logs).sum() / n, rtol=1e-13)
    np.testing.assert_allclose(d, (np.exp(logs) - p) * 1.5 / n, rtol=1e-12, atol=1e-14)


def test_a_scaled_target_scales_the_loss():
    t = abs(W)
    a, b = ops.cross_entropy(X, t, axis=1), ops.cross_entropy(X, 3 * t, axis=1)
    np.testing.assert_allclose(b, 3 * a, rtol=1e-14)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_weight_of_zero_on_an_infinite_logarithm_is_nan():
    x = np.array([0.0, -INF])
    assert np.isnan(ops.cross_entropy(x, np.array([1.0, 0.0]), axis=0))
    y, (dx, dt) = pull(lambda x, t: ops.cross_entropy(x, t, axis=0), 1.0, x, np.array([1.0, 0.5]))
    assert y == INF and np.array_equal(dt, [0, INF]) and np.array_equal(dx, [0.5, -0.5])


def test_losses_of_nothing():
    for shape, axis in [((0, 3), 1), ((3, 0), 1), ((3, 0), 0), ((0,), 0)]:
        x, t = np.zeros(shape, np.float32), np.ones(shape, np.float32)
        y, (dx, dt) = pull(lambda x, t: ops.cross_entropy(x, t, axis=axis), 1.0, x, t)
        assert y == 0 and y.dtype == np.float32 and dx.shape == dt.shape == shape
        y, d = pull(lambda x: ops.distill(x, t, axis=axis), 1.0, x)
        assert y == 0 and d.shape == shape
        y, (dx, dt) = pull(ops.mse_loss, 1.0, x, t)
        assert y == 0 and dx.shape == dt.shape == shape and dx.dtype == np.float32


def test_types_of_losses():
    x, t = X.astype(np.float32), abs(W)
    y, (dx, dt) = pull(lambda x, t: ops.cross_entropy(x, t, axis=1), 1.0, x, t)
    assert (y.dtype, dx.dtype, dt.dtype) == (np.float64, np.float32, np.float64)
    one_hot = np.eye(4, dtype=int)[:3]
    y, d = pull(lambda x: ops.cross_entropy(x, one_hot, axis=1), 1.0, X)
    assert oracle.same_bits(d, pull(lambda x: ops.cross_entropy(x, one_hot * 1.0, axis=1), 1.0, X)[1])
    assert oracle.same_bits(ops.cross_entropy(X.tolist(), one_hot.tolist(), axis=1), y)
    y, (dx, dt) = pull(ops.mse_loss, np.float32(1), x, t.astype(np.float32))
    assert y.dtype == dx.dtype == dt.dtype == np.float32
    assert ops.mse_loss([1, 2], [2, 4]) == 2.5


def test_mean_squares_stay_exact_where_they_can():
    y, (a, b) = pull(ops.mse_loss, Fraction(1), Fraction(1, 3), Fraction(1, 2))
    assert (y, a, b) == (Fraction(1, 36), Fraction(-1, 3), Fraction(1, 3)) and type(a) is Fraction
    assert ops.mse_loss(Decimal("1.5"), Decimal("1")) == Decimal("0.25")
    assert pull(lambda x: ops.mse_loss(x, x), 1.0, X)[1].any() == False  # noqa: E712
    x = np.array([255, 0], np.uint8)
    assert ops.mse_loss(x, x[::-1]) == 255.0**2


def test_the_teacher_gets_nothing():
    f = record(lambda student, teacher: ops.distill(student, teacher, axis=1))
    student, teacher = f(X, W).pullback(1.0)
    assert not teacher.any() and student.any()
    alone = record(lambda student: ops.distill(student, W, axis=1))(X).pullback(1.0)
    assert oracle.same_bits(student, alone)
    both = record(lambda x: ops.distill(x, x * 2.0, axis=1))(X)
    assert oracle.same_bits(both.pullback(1.0), record(lambda x: ops.distill(x, X * 2.0, axis=1))(X).pullback(1.0))
    assert [n for n in ops.distill.operation.operands] == ["student"]


def test_a_teacher_at_an_infinite_slope_is_harmless():
    x = np.array([[0.0, 1.0], [4.0, 9.0]])
    d = record(lambda x: ops.distill(x, np.cbrt(x), axis=1))(x).pullback(1.0)
    assert np.isfinite(d).all() and d.any()


def test_a_teacher_of_recorded_numbers():
    def loss(x):
        return ops.distill(x, [2.0 * x[1], x[0]], axis=0)

    d = record(loss)(np.array([0.5, 1.0])).pullback(1.0)
    p, q = ops.softmax_last([0.5, 1.0]), ops.softmax_last([2.0, 0.5])
    np.testing.assert_allclose(d, p - q, rtol=1e-14)


def test_second_derivatives():
    t, u = abs(W), RNG.normal(size=X.shape)
    for f in (
        lambda x: np.sum(ops.softmax_last(x) * W), lambda x: np.sum(ops.log_softmax_last(x) * W),
        lambda x: np.sum(ops.log_softmax_last(x[0]) * W[0]), lambda x: ops.cross_entropy(x, t, axis=0),
        lambda x: ops.cross_entropy(x, x * x, axis=1), lambda x: ops.distill(x, W, axis=1),
        lambda x: ops.mse_loss(x * x, t),
    ):  # fmt: skip
        second_derivatives(f, X, u)
    teacher = 2.0 * X
    own, other = (grad(lambda x, f=f: np.sum(grad(f)(x) * u))(X) for f in (
        lambda x: ops.distill(x, 2.0 * x, axis=1), lambda x: ops.distill(x, teacher, axis=1)))  # fmt: skip
    assert oracle.same_bits(own, other)


# errors

ONE = np.ones(3)
ERRORS = [
    (lambda: ops.mse_loss(X, ONE), ValueError, "mse_loss: target has shape (3,), expected (3, 4), the shape of yhat"),
    (lambda: ops.mse_loss(1.0, [1.0]), ValueError, "mse_loss: target has shape (1,), expected (), the shape of yhat"),
    (lambda: ops.cross_entropy(X, ONE, axis=1), ValueError,
     "cross_entropy: target has shape (3,), expected (3, 4), the shape of logits"),
    (lambda: ops.cross_entropy(X, X, axis=2), np.exceptions.AxisError, "cross_entropy: axis is 2, expected -2 to 1"),
    (lambda: ops.cross_entropy(1.0, 1.0, axis=0), np.exceptions.AxisError,
     "cross_entropy: axis is 0, and a scalar has none"),
    (lambda: ops.cross_entropy(X, X, axis=1.0), TypeError, "cross_entropy: axis is 1.0, expected a whole number"),
    (lambda: ops.cross_entropy(X, X, axis=1, mean=2), TypeError, "cross_entropy: mean is 2, expected True or False"),
    (lambda: ops.distill(X, ONE, axis=1), ValueError,
     "distill: teacher has shape (3,), expected (3, 4), the shape of student"),
    (lambda: ops.distill(X, X, axis=-3), np.exceptions.AxisError, "distill: axis is -3, expected -2 to 1"),
    (lambda: ops.softmax_last("text"), TypeError, "softmax_last: x is a str, expected an array or a number"),
    (lambda: ops.distill(X, None, axis=1), TypeError, "distill: teacher is a NoneType, expected an array or a number"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_errors_say_what_came_and_what_is_allowed(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message
