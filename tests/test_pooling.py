"""Pooling against the scans and sums of its definitions, written as loops."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from sums import close, counts_of, each, pairs, random

from autograd_frontend import RecordError, ops, record

POOLS = [
    (2, (6,), None, 0),
    (3, (7,), 1, 1),
    (2, (1,), 1, 1),
    ((3,), (8,), 4, 0),
    ((2, 3), (4, 5), (2, 1), (1, 0)),
    (3, (5, 5), 2, 1),
    ((5, 4), (5, 6), 1, 2),
    ((2, 1, 2), (3, 2, 4), None, (1, 0, 1)),
]
NAMES = ("max_pool", "avg_pool", "smooth_max_pool")


@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("levels", [1000, 3], ids=["distinct", "ties"])
def test_max_pool_is_its_scan(case, levels):
    kernel, extents, stride, padding = case
    kernel = each(kernel, len(extents))
    counts = counts_of(extents, kernel, kernel if stride is None else stride, padding)
    x = np.round(random(2, *extents) * levels) / levels
    x.ravel()[::5] = np.nan
    x.ravel()[1::7] = -np.inf
    g = random(2, *counts, seed=1)
    y, dx = np.zeros_like(g), np.zeros_like(x)
    for c in range(2):
        chosen = {}
        for _, q, m in pairs(kernel, extents, counts, kernel if stride is None else stride, padding):
            if q not in chosen or x[(c, *m)] > x[(c, *chosen[q])]:
                chosen[q] = m
        for q, m in chosen.items():
            y[(c, *q)] = x[(c, *m)]
            dx[(c, *m)] += g[(c, *q)]
    r = record(lambda x: ops.max_pool(x, kernel, stride, padding))(x)
    assert np.array_equal(r.value, y, equal_nan=True)
    close(r.pullback(g), dx)


@pytest.mark.parametrize("case", POOLS, ids=str)
def test_avg_and_smooth_pooling_are_their_sums(case):
    kernel, extents, stride, padding = case
    size = each(kernel, len(extents))
    step = size if stride is None else stride
    counts = counts_of(extents, size, step, padding)
    x, g = random(2, *extents), random(2, *counts, seed=1)
    total, dx = np.zeros_like(g), np.zeros_like(x)
    smooth = np.full_like(g, np.prod(size))  # exp(0) for every cell, the real ones replaced
    for _, q, m in pairs(size, extents, counts, step, padding):
        total[(slice(None), *q)] += x[(slice(None), *m)]
        smooth[(slice(None), *q)] += np.exp(0.7 * x[(slice(None), *m)]) - 1
        dx[(slice(None), *m)] += g[(slice(None), *q)] / np.prod(size)
    r = record(lambda x: ops.avg_pool(x, kernel, stride, padding))(x)
    close(r.value, total / np.prod(size))
    close(r.pullback(g), dx)
    dx[...] = 0
    for _, q, m in pairs(size, extents, counts, step, padding):
        dx[(slice(None), *m)] += g[(slice(None), *q)] * np.exp(0.7 * x[(slice(None), *m)]) / smooth[(slice(None), *q)]
    r = record(lambda x: ops.smooth_max_pool(x, kernel, 0.7, stride, padding))(x)
    close(r.value, np.log(smooth) / 0.7)
    close(r.pullback(g), dx)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_samples(name):
    x = random(3, 2, 5, 6)
    settings = {"kernel": (3, 2), "stride": (2, 1), "padding": 1}
    if name == "smooth_max_pool":
        settings["beta"] = 2.0
    call = getattr(ops, name)
    r = record(lambda x: call(x, **settings))(x)
    g = random(*r.value.shape, seed=1)
    samples = [record(lambda x: call(x, **settings))(one) for one in x]
    close(r.value, np.stack([s.value for s in samples]), 1e-15)
    close(r.pullback(g), np.stack([s.pullback(e) for s, e in zip(samples, g)]), 1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_an_int_kernel_makes_all_axes_but_the_first_spatial(name):
    x, extra = random(2, 4, 6), (1.5,) if name == "smooth_max_pool" else ()
    call = getattr(ops, name)
    assert call(x, 2, *extra).shape == (2, 2, 3)
    assert np.array_equal(call(x, 2, *extra), call(x, (2, 2), *extra))
    assert call(x, (2,), *extra).shape == (2, 4, 3)


def test_max_pool_at_special_points():
    inf, nan = np.inf, np.nan
    x = [nan, 1, 5, 1, nan, 5, 1, nan, nan, -inf, nan, -inf, nan, inf, 1, -0.0, 0, -1, inf, inf, nan]
    x = np.array([x])
    r = record(lambda x: ops.max_pool(x, 3))(x)
    assert np.array_equal(r.value, [[nan, 5, 1, -inf, nan, -0.0, inf]], equal_nan=True) and np.signbit(r.value[0, 5])
    places = [0, 2, 0, 0, 0, 0, 0]
    want = np.zeros((7, 3))
    want[np.arange(7), places] = 1
    assert np.array_equal(r.pullback(np.ones((1, 7))), want.reshape(1, -1))


def test_max_pool_scans_a_plane_in_row_major_order():
    x = np.array([[[0.0, 7, 7], [7, 7, 7], [7, 0, 1]]])
    r = record(lambda x: ops.max_pool(x, (3, 3)))(x)
    assert np.array_equal(np.flatnonzero(r.pullback(np.ones((1, 1, 1)))), [1])
    x[0, 0] = 0
    r = record(lambda x: ops.max_pool(x, (3, 3)))(x)
    assert np.array_equal(np.flatnonzero(r.pullback(np.ones((1, 1, 1)))), [3])


def test_max_pool_keeps_integers_exact():
    big = 2**53
    y = ops.max_pool(np.array([[big, big + 1, -5, -7]]), 2)
    assert y.dtype == np.int64 and y.tolist() == [[big + 1, -5]]
    assert ops.max_pool([[False, True, False, False]], 2).tolist() == [[True, False]]
    assert ops.max_pool(np.array([[3, 9]], np.uint8), 2, padding=1).tolist() == [[3, 9]]


@pytest.mark.parametrize("name", NAMES)
def test_infinite_cotangents_stay_in_their_window(name):
    x, extra = random(1, 6), (1.5,) if name == "smooth_max_pool" else ()
    g = np.array([[0.0, np.inf, np.nan]])
    d = record(lambda x: getattr(ops, name)(x, 2, *extra))(x).pullback(g)
    assert np.array_equal(d[0, :2], [0, 0])
    if name == "max_pool":
        assert sorted(d[0, 2:4]) == [0, np.inf]
    else:
        assert np.all(d[0, 2:4] == np.inf) and np.all(np.isnan(d[0, 4:]))


def smooth_reference(cells, beta):
    """Value and weights in 60 digits."""
    with mpmath.workdps(60):
        cells = [mpmath.mpf(float(v)) for v in cells]
        m = max(cells, key=lambda v: v * beta)
        e = [mpmath.exp((v - m) * mpmath.mpf(float(beta))) for v in cells]
        total = mpmath.fsum(e)
        return m + mpmath.log(total) / mpmath.mpf(float(beta)), [v / total for v in e]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values warn as NumPy does
def test_smooth_max_pool_over_the_whole_range(dtype):
    info = np.finfo(dtype)
    rng = np.random.default_rng(0)
    for beta in (1.0, -1.0, 0.25, -40.0, 1e-3, float(info.tiny) * 4, float(info.max) / 4):
        scales = [info.max / 8, info.max**0.5, 100.0, 1.0, 1e-3, info.tiny]
        x = np.concatenate([rng.uniform(-1, 1, (1, 6)) * s for s in scales], 1).astype(dtype)
        r = record(lambda x: ops.smooth_max_pool(x, 3, beta))(x)
        d = r.pullback(np.ones_like(r.value))
        assert r.value.dtype == d.dtype == dtype
        for k, y in enumerate(r.value[0]):
            value, weights = smooth_reference(x[0, 3 * k : 3 * k + 3], beta)
            scale = max(abs(value), abs(x[0, 3 * k : 3 * k + 3]).max())
            assert abs(y - value) <= 8 * info.eps * scale + 8 * info.eps * abs(mpmath.log(3) / beta)
            for got, want in zip(d[0, 3 * k : 3 * k + 3], weights):
                spread = 1 + abs(mpmath.log(want)) if want > info.tiny else 1 / info.eps
                assert abs(got - want) <= 8 * info.eps * spread * want + 2 * info.tiny


def test_smooth_max_pool_tends_to_the_largest_and_the_smallest():
    x = np.array([[0.5, -2.0, 1.0, 3.0, 3.0, -1.0]])
    assert ops.smooth_max_pool(x, 3, 1e6).tolist() == [[1.0, 3.0 + np.log(2.0) / 1e6]]
    assert ops.smooth_max_pool(x, 3, -1e6).tolist() == [[-2.0, -1.0]]
    r = record(lambda x: ops.smooth_max_pool(x, 3, 1e6))(x)
    assert r.pullback(np.ones((1, 2))).tolist() == [[0, 0, 1, 0.5, 0.5, 0]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2, 1), (2, 0), (0, 4), (2, 0, 4), (2, 4, 0), (0, 0)], ids=str)
def test_empty_pools(name, shape):
    x, extra = random(*shape), (1.5,) if name == "smooth_max_pool" else ()
    r = record(lambda x: getattr(ops, name)(x, 2, *extra))(x)
    assert r.value.shape == (shape[0], *[n // 2 for n in shape[1:]]) and r.value.size == 0
    assert np.array_equal(r.pullback(np.ones(r.value.shape)), np.zeros(shape))
    padded = getattr(ops, name)(x, 2, *extra, padding=1)
    assert padded.shape == (shape[0], *[n // 2 + 1 if n else 0 for n in shape[1:]])


def test_what_a_pool_saves_is_not_what_the_caller_writes_later():
    def f(x):
        y = ops.max_pool(x, 2) + ops.smooth_max_pool(x, 2, 1.0) + ops.avg_pool(x, 2)
        x[...] = 0.0
        return y

    x = random(1, 6)
    want = record(lambda x: ops.max_pool(x, 2) + ops.smooth_max_pool(x, 2, 1.0) + ops.avg_pool(x, 2))(x.copy())
    assert np.array_equal(record(lambda x: f(x * 1.0))(x).pullback(np.ones((1, 3))), want.pullback(np.ones((1, 3))))


def test_a_zero_cotangent_contributes_zero_beside_a_nan():
    x = np.array([[np.nan, 1.0, 2.0, 3.0]])
    d = record(lambda x: ops.smooth_max_pool(x, 2, 1.0))(x).pullback(np.array([[0.0, 1.0]]))
    assert np.array_equal(d[0, :2], [0, 0]) and np.all(d[0, 2:] > 0)


def test_integers_and_lists_are_operands():
    assert ops.avg_pool([[1, 2, 3, 5]], 2).tolist() == [[1.5, 4.0]]
    assert ops.smooth_max_pool([[0, 0]], 2, 1).tolist() == [[np.log(2.0)]]


def test_a_recorded_setting_is_refused():
    with pytest.raises(RecordError, match="beta of smooth_max_pool is recorded"):
        record(lambda x, beta: ops.smooth_max_pool(x, 2, beta))(random(1, 4), 2.0)


X = np.ones((3, 5))
MESSAGES = [
    (lambda: ops.max_pool(X, 0), ValueError, "max_pool: kernel is 0, expected at least 1"),
    (lambda: ops.avg_pool(X, True), TypeError, "avg_pool: kernel is True, expected a whole number"),
    (lambda: ops.max_pool(X, 2, -1), ValueError, "max_pool: stride is -1, expected at least 1"),
    (
        lambda: ops.avg_pool(X, 3, padding=2), ValueError,
        "avg_pool: padding is 2, expected at most 1, half of kernel 3",
    ),
    (
        lambda: ops.max_pool(np.ones(3), 2), ValueError,
        "max_pool: x has shape (3,) and kernel is 2, expected [channels, *spatial] with one or more spatial axes",
    ),
    (
        lambda: ops.max_pool(X, ()), ValueError,
        "max_pool: x has shape (3, 5) and kernel is (), expected [channels, *spatial] with one or more spatial axes",
    ),
    (
        lambda: ops.avg_pool(X, (2, 2)), ValueError,
        "avg_pool: x has shape (3, 5) and kernel is (2, 2), expected 3 axes, [channels, *spatial], or 4 with a batch "
        "in front",
    ),
    (
        lambda: ops.smooth_max_pool(X, 2, 0.0), ValueError,
        "smooth_max_pool: beta is 0.0, expected a finite number other than 0 (as float64)",
    ),
    (
        lambda: ops.smooth_max_pool(X, 2, np.nan), ValueError,
        "smooth_max_pool: beta is nan, expected a finite number other than 0 (as float64)",
    ),
    (
        lambda: ops.smooth_max_pool(X.astype(np.float32), 2, 1e39), ValueError,
        "smooth_max_pool: beta is 1e+39, expected a finite number other than 0 (as float32)",
    ),
    (lambda: ops.smooth_max_pool(X, 2, "1"), TypeError, "smooth_max_pool: beta is '1', expected a number"),
]  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES, ids=lambda c: c[2])
def test_errors(case):
    call, kind, message = case
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message and type(caught.value) is kind
