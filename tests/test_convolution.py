"""Convolution and its transpose against the sums of their definitions, written as loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sums import close, counts_of, each, pairs, random

from autograd_frontend import ops, record
from autograd_frontend.ops.plain import PLAIN

CONVS = [  # kernel, extents, stride, padding
    ((3,), (7,), 1, 0),
    ((2,), (5,), 3, 2),
    ((1,), (4,), 2, 0),
    ((4,), (2,), 1, 1),
    ((3,), (1,), 1, 4),
    ((2, 3), (4, 5), (2, 1), (0, 1)),
    ((3, 3), (5, 4), [1, 2], 1),
    ((1, 1), (3, 2), 1, 0),
    ((2, 1, 2), (2, 3, 3), 1, (1, 0, 1)),
    ((1, 2, 1, 2), (2, 2, 3, 2), (1, 1, 2, 1), 0),
]


@pytest.mark.parametrize("case", CONVS, ids=str)
@pytest.mark.parametrize("batch", [(), (2,)], ids=["sample", "batch"])
def test_conv_is_its_sum(case, batch):
    kernel, extents, stride, padding = case
    counts = counts_of(extents, kernel, stride, padding)
    w, b, x = random(3, 2, *kernel), random(3, seed=1), random(*batch, 2, *extents, seed=2)
    g = random(*batch, 3, *counts, seed=3)
    dw, dx = np.zeros_like(w), np.zeros_like(x)
    y = np.zeros_like(g) + b.reshape(3, *[1] * len(kernel))
    for j, q, m in pairs(kernel, extents, counts, stride, padding):
        for o, i in product(range(3), range(2)):
            y[(..., o, *q)] += w[(o, i, *j)] * x[(..., i, *m)]
            dw[(o, i, *j)] += np.sum(g[(..., o, *q)] * x[(..., i, *m)])
            dx[(..., i, *m)] += w[(o, i, *j)] * g[(..., o, *q)]
    r = record(lambda w, b, x: ops.conv(w, b, x, stride, padding))(w, b, x)
    close(r.value, y)
    assert np.array_equal(r.value, ops.conv(w, b, x, padding=padding, stride=stride))
    for got, want in zip(r.pullback(g), (dw, np.moveaxis(g, len(batch), 0).reshape(3, -1).sum(1), dx), strict=True):
        close(got, want)


@pytest.mark.parametrize("case", CONVS, ids=str)
@pytest.mark.parametrize("batch", [(), (2,)], ids=["sample", "batch"])
def test_conv_transpose_is_its_sum(case, batch):
    kernel, counts, stride, padding = case
    n = len(kernel)
    sizes = zip(counts, kernel, each(stride, n), each(padding, n))
    extents = [max((c - 1) * s + k - 2 * p, 0) for c, k, s, p in sizes]
    w, b, x = random(2, 3, *kernel), random(3, seed=1), random(*batch, 2, *counts, seed=2)
    g = random(*batch, 3, *extents, seed=3)
    dw, dx = np.zeros_like(w), np.zeros_like(x)
    y = np.zeros_like(g) + b.reshape(3, *[1] * n)
    for j, q, m in pairs(kernel, extents, counts, stride, padding):
        for i, o in product(range(2), range(3)):
            y[(..., o, *m)] += w[(i, o, *j)] * x[(..., i, *q)]
            dw[(i, o, *j)] += np.sum(x[(..., i, *q)] * g[(..., o, *m)])
            dx[(..., i, *q)] += w[(i, o, *j)] * g[(..., o, *m)]
    r = record(lambda w, b, x: ops.conv_transpose(w, b, x, stride, padding))(w, b, x)
    close(r.value, y)
    for got, want in zip(r.pullback(g), (dw, np.moveaxis(g, len(batch), 0).reshape(3, -1).sum(1), dx), strict=True):
        close(got, want)


def test_windows_and_fold_are_transposes():
    """Exactly, in small whole numbers; also where more windows are asked for than fit, or fewer."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = rng.integers(1, 4)
        extents, counts, padding = [tuple(rng.integers(0, 5, n).tolist()) for _ in range(3)]
        kernel, stride = [tuple(rng.integers(1, 5, n).tolist()) for _ in range(2)]
        x = rng.integers(-9, 9, (2, *extents)).astype(float)
        w = rng.integers(-9, 9, (2, *kernel, *counts)).astype(float)
        opened = PLAIN.windows(x, counts, kernel, stride, padding)
        closed = PLAIN.fold(w, extents, kernel, stride, padding)
        assert opened.shape == w.shape and closed.shape == x.shape
        assert np.sum(opened * w) == np.sum(x * closed)
        want = np.zeros_like(w)
        for j, q, m in pairs(kernel, extents, counts, stride, padding):
            want[(slice(None), *j, *q)] = x[(slice(None), *m)]
        assert np.array_equal(opened, want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_zero_cotangent_contributes_zero_beside_infinities():
    w, b, x = random(1, 1, 2), np.zeros(1), random(1, 5)
    w[0, 0, 0] = np.inf
    x[0, 0] = np.nan
    for call, g in ((ops.conv, [[0, 1, 0, 0]]), (ops.conv_transpose, [[0, 0, 1, 0, 0, 0]])):
        dw, _, dx = record(lambda w, b, x: call(w, b, x))(w, b, x).pullback(np.array(g, float))
        assert np.all(np.isfinite(dw)) and np.count_nonzero(dx) == 2 and np.count_nonzero(dx == np.inf) == 1


EMPTY = [  # weight, input
    ((3, 2, 2), (2, 1)),
    ((3, 2, 2), (2, 0)),
    ((3, 2, 2, 2), (2, 0, 4)),
    ((0, 2, 2), (2, 4)),
    ((3, 0, 2), (0, 4)),
    ((3, 2, 2), (0, 2, 4)),
]


@pytest.mark.parametrize("case", EMPTY, ids=str)
def test_empty_convolutions(case):
    weight, given = case
    w, x = random(*weight), random(*given)
    b = random(len(w))
    r = record(lambda w, b, x: ops.conv(w, b, x))(w, b, x)
    assert np.array_equal(r.value, np.zeros(r.value.shape) + b.reshape(-1, *[1] * (w.ndim - 2)))
    for got, like in zip(r.pullback(np.ones(r.value.shape)), (w, b, x), strict=True):
        want = np.full(like.shape, r.value.size / max(b.size, 1) if like is b else 0.0)
        assert np.array_equal(got, want)


NOTHING = [((2, 3, 2), (2, 0)), ((2, 3, 2, 1), (2, 4, 0)), ((2, 0, 2), (2, 4)), ((2, 3, 2), (0, 2, 4))]


@pytest.mark.parametrize("weight, given", NOTHING, ids=str)
def test_empty_transposed_convolutions(weight, given):
    w, x = random(*weight), random(*given)
    b = random(w.shape[1])
    r = record(lambda w, b, x: ops.conv_transpose(w, b, x))(w, b, x)
    assert r.value.size == 0
    for got, like in zip(r.pullback(np.ones(r.value.shape)), (w, b, x), strict=True):
        assert np.array_equal(got, np.zeros(like.shape))


@pytest.mark.parametrize("dtype", [np.float32, np.longdouble])
def test_mixed_types_give_the_widest_and_gradients_their_own(dtype):
    w, b, x = random(2, 1, 2), random(2).astype(dtype), random(1, 4).astype(np.float32)
    for call, weight in ((ops.conv, w), (ops.conv_transpose, w.reshape(1, 2, 2))):
        r = record(lambda w, b, x: call(w, b, x))(weight, b, x)
        assert r.value.dtype == np.result_type(w, b)
        assert [d.dtype for d in r.pullback(np.ones_like(r.value))] == [np.float64, dtype, np.float32]


def test_integers_and_lists_are_operands():
    y = ops.conv([[[1, 2]]], [10], [[1, 2, 3]])
    assert y.dtype == np.int64 and y.tolist() == [[15, 18]]
    assert ops.conv_transpose([[[1, 2]]], [10], [[1, 2]]).tolist() == [[11, 14, 14]]


def test_operands_in_any_layout_are_left_as_they_were():
    w, b, x = random(4, 2, 3)[::2, :, ::-1], random(4)[::2], np.asfortranarray(random(6, 2)).T
    kept = [a.copy() for a in (w, b, x)]
    r = record(lambda w, b, x: ops.max_pool(ops.conv(w, b, x, 1, 1), 2))(w, b, x)
    g = np.ones(r.value.shape)
    same = record(lambda w, b, x: ops.max_pool(ops.conv(w, b, x, 1, 1), 2))(*kept)
    for got, want in zip(r.pullback(g), same.pullback(g), strict=True):
        close(got, want)
    assert all(np.array_equal(a, k) for a, k in zip((w, b, x), kept)) and np.all(g == 1)


ONE, TWO, X = np.ones((2, 3, 2)), np.ones(2), np.ones((3, 5))
MESSAGES = [
    (
        lambda: ops.conv(np.ones((2, 3)), TWO, X), ValueError,
        "conv: weight has shape (2, 3), expected [out, in, *kernel] with kernel extents, all at least 1",
    ),
    (
        lambda: ops.conv(np.ones((2, 3, 0)), TWO, X), ValueError,
        "conv: weight has shape (2, 3, 0), expected [out, in, *kernel] with kernel extents, all at least 1",
    ),
    (
        lambda: ops.conv_transpose(2.0, TWO, X), ValueError,
        "conv_transpose: weight has shape (), expected [in, out, *kernel] with kernel extents, all at least 1",
    ),
    (
        lambda: ops.conv(ONE, TWO, np.ones(3)), ValueError,
        "conv: input has shape (3,), expected 2 axes, [channels, *spatial], or 3 with a batch in front, as the weight "
        "of shape (2, 3, 2) has 1 spatial",
    ),
    (
        lambda: ops.conv(ONE, TWO, np.ones((2, 5))), ValueError,
        "conv: input of shape (2, 5) has 2 channels, expected 3, as the weight has shape (2, 3, 2)",
    ),
    (
        lambda: ops.conv_transpose(ONE, np.ones(3), X), ValueError,
        "conv_transpose: input of shape (3, 5) has 3 channels, expected 2, as the weight has shape (2, 3, 2)",
    ),
    (
        lambda: ops.conv(ONE, np.ones(3), X), ValueError,
        "conv: bias has shape (3,), expected (2,), one entry for each output channel of the weight of shape (2, 3, 2)",
    ),
    (lambda: ops.conv(ONE, TWO, X, stride=0), ValueError, "conv: stride is 0, expected at least 1"),
    (lambda: ops.conv(ONE, TWO, X, padding=-1), ValueError, "conv: padding is -1, expected at least 0"),
    (lambda: ops.conv(ONE, TWO, X, stride=1.0), TypeError, "conv: stride is 1.0, expected a whole number"),
    (
        lambda: ops.conv(ONE, TWO, X, stride=(1, 1)), ValueError,
        "conv: stride has 2 entries, expected 1, one for each spatial axis",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", MESSAGES, ids=lambda c: c[2])
def test_errors(case):
    call, kind, message = case
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message and type(caught.value) is kind
