"""Pooling over windows, in any number of dimensions."""

from __future__ import annotations

from math import prod
from numbers import Real

import numpy as np

from .block import Like, operation
from .interface import sizes as each
from .windows import pool_counts


def settings(name, x, kernel, stride, padding):
    """`counts, kernel, stride, padding`, one entry for each spatial axis of `x`."""
    n = len(kernel) if isinstance(kernel, (tuple, list)) else len(x.shape) - 1
    kernel = each(name, "kernel", kernel, n, 1)
    stride = kernel if stride is None else each(name, "stride", stride, n, 1)
    padding = each(name, "padding", padding, n, 0)
    return pool_counts(x.shape[len(x.shape) - n :], kernel, stride, padding), kernel, stride, padding


def checked(name, x, kernel, stride, padding):
    """The same, once it is clear that they fit."""
    several = isinstance(kernel, (tuple, list))
    n, shape = len(kernel) if several else np.ndim(x) - 1, np.shape(x)
    if n < 1 or len(shape) not in (n + 1, n + 2):
        expected = "[channels, *spatial] with one or more spatial axes"
        if several and n:
            expected = f"{n + 1} axes, [channels, *spatial], or {n + 2} with a batch in front"
        raise ValueError(f"{name}: x has shape {shape} and kernel is {kernel}, expected {expected}")
    found = settings(name, x, kernel, stride, padding)
    for k, p in zip(found[1], found[3], strict=True):
        if p > k // 2:
            raise ValueError(f"{name}: padding is {p}, expected at most {k // 2}, half of kernel {k}")
    return found


def pooled(x, counts, dtype):
    return Like(x.shape[: len(x.shape) - len(counts)] + counts, dtype)


def opened(ops, x, counts, kernel, stride, padding):
    """The windows of `x`, their cells along one axis: `[..., cells, *counts]`."""
    w = ops.windows(x, counts, kernel, stride, padding)
    return ops.reshape(w, w.shape[: x.ndim - len(kernel)] + (prod(kernel),) + counts)


def closed(ops, w, extents, counts, kernel, stride, padding):
    """The transpose of `opened`."""
    w = ops.reshape(w, w.shape[: w.ndim - len(kernel) - 1] + kernel + counts)
    return ops.fold(w, extents, kernel, stride, padding)


def winners(ops, x, counts, kernel, stride, padding):
    """Where in `x`, in row-major order, the chosen entry of every window is: the first of those equal to the largest.

    The padding repeats the edge of the array, which every window there contains, at the place it has in the array:
    that changes nothing. `largest_number` passes over NaN, so one is chosen only where it is the first entry.
    """
    x = ops.detach(x)  # the result has no derivative
    n = len(kernel)
    extents, axis = x.shape[x.ndim - n :], -n - 1
    size = prod(extents)
    here = ops.reshape(ops.arange(size, dtype=np.int32 if size < 2**31 else np.int64), extents)  # int32: less to move
    if any(padding) and x.size:
        edges = [(p, p) for p in padding]
        x, here = ops.pad(x, [(0, 0)] * (x.ndim - n) + edges, "edge"), ops.pad(here, edges, "edge")
    cells, here = (opened(ops, v, counts, kernel, stride, (0,) * n) for v in (x, here))
    largest = ops.expand_dims(ops.largest_number(cells, axis=axis), axis)
    at = ops.smallest(ops.where(cells == largest, here, here.dtype.type(size)), axis=axis)
    at = ops.where(ops.isnan(ops.take(cells, 0, axis)), ops.take(here, 0, axis), at)
    channels = at.shape[: at.ndim - n]
    return at + size * ops.reshape(ops.arange(prod(channels)), channels + (1,) * n)


def entries(ops, x, places):
    return ops.take(ops.reshape(x, (x.size,)), places)


X = np.array([3, -12, 19, 5, -4, 11, -17, 9, -6, 14, -10, 7, 1, 16, -2, -15, 22, -8, 13, 2]) / 10
POOLS = (
    (X[:12].reshape(2, 6), 2),
    (X[:7].reshape(1, 7), 3, 1, 1),
    (X.reshape(1, 4, 5), {"kernel": [2, 3], "stride": (2, 1), "padding": [1, 0]}),
    (X[:18].reshape(1, 2, 3, 3), 2, 1),
    (X[:18].reshape(3, 2, 3), (2,), None, (1,)),
    (X[:2].reshape(1, 2), 3),
)


@operation()
class max_pool:
    """`max_pool(x, kernel, stride=None, padding=0)`: `[c, *n]` -> `[c, *m]`, the largest entry of every window;
    `m = (n + 2*padding - kernel)//stride + 1`, 0 where no window fits or `n` is 0. `kernel`, `stride` and `padding`
    are an int or one for each spatial axis; `stride` is the kernel where it is None. An int kernel makes all axes but
    the first spatial; one of several entries says how many there are, and `x` may then have a batch in front,
    `[b, c, *n]`. A window is scanned in row-major order, moving only to a strictly larger entry: ties go to the first,
    padding never wins, a NaN stays only where it is first. Pullback: `g` to the chosen entry, added up where windows
    overlap; the tangent is that of the chosen entry. ValueError: kernel or stride below 1, negative padding or one
    above `kernel//2`, no spatial axis."""

    keeps = ("places",)

    def value(ops, x, kernel, stride=None, padding=0):
        places = winners(ops, x, *checked("max_pool", x, kernel, stride, padding))
        return entries(ops, x, places), places

    def shape(x, kernel, stride, padding):
        return pooled(x, settings("max_pool", x, kernel, stride, padding)[0], x.dtype)

    def pull_x(ops, g, x_like, places):
        return ops.scatter(g, places, x_like.shape)

    def push_x(ops, t, places):
        return entries(ops, t, places)

    samples = POOLS


@operation()
class avg_pool:
    """`avg_pool(x, kernel, stride=None, padding=0)`: `[c, *n]` -> `[c, *m]`, the sum of every window divided by
    `prod(kernel)`: padding counts as zeros. Sizes, settings, batch and errors as in `max_pool`. Pullback:
    `g/prod(kernel)` to every entry of the window."""

    linear = True

    def value(ops, x, kernel, stride=None, padding=0):
        counts, kernel, stride, padding = checked("avg_pool", x, kernel, stride, padding)
        return ops.sum(opened(ops, x, counts, kernel, stride, padding), axis=-len(kernel) - 1) / prod(kernel)

    def shape(x, kernel, stride, padding):
        dtype = x.dtype if x.dtype.kind == "f" else np.dtype(float)
        return pooled(x, settings("avg_pool", x, kernel, stride, padding)[0], dtype)

    def pull_x(ops, g, x_like, kernel, stride, padding):
        counts, kernel, stride, padding = settings("avg_pool", x_like, kernel, stride, padding)
        at = g.ndim - len(kernel)
        g = ops.reshape(g / prod(kernel), g.shape[:at] + (1,) * len(kernel) + counts)
        w = ops.broadcast_to(g, g.shape[:at] + kernel + counts)
        return ops.fold(w, x_like.shape[at:], kernel, stride, padding)

    samples = POOLS


def factor(x, beta):
    """`beta` in the element type of `x`."""
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(float)
    if isinstance(beta, (bool, np.bool_)) or not isinstance(beta, Real):
        raise TypeError(f"smooth_max_pool: beta is {beta!r}, expected a number")
    with np.errstate(over="ignore", under="ignore"):
        b = dtype.type(beta)
    if not np.isfinite(b) or b == 0:
        raise ValueError(f"smooth_max_pool: beta is {beta}, expected a finite number other than 0 (as {dtype})")
    return b


def shares(ops, x, m, total, beta, *sizes):
    """The weight of every cell in its window."""
    axis = -len(sizes[0]) - 1
    w = opened(ops, x, *sizes)
    return ops.exp((w - ops.expand_dims(m, axis)) * factor(x, beta)) / ops.expand_dims(total, axis)


@operation()
class smooth_max_pool:
    """`smooth_max_pool(x, kernel, beta, stride=None, padding=0)`: `[c, *n]` -> `[c, *m]`,
    `m + log(sum(exp((v - m)*beta)))/beta` over all cells `v` of a window, those in the padding being 0; `m` is the
    largest cell for `beta > 0`, the smallest for `beta < 0` (a smooth minimum). It is subtracted before `beta`
    multiplies, so large entries do not overflow. Sizes, settings, batch and errors as in `max_pool`; `beta` must be
    finite and not 0 in the element type of `x`, else ValueError. Pullback: `g*exp((x - m)*beta)/sum` to every entry of
    the window; the tangent is the sum of the tangents with these weights."""

    keeps = ("m", "total")

    def value(ops, x, kernel, beta, stride=None, padding=0):
        sizes = checked("smooth_max_pool", x, kernel, stride, padding)
        b, axis = factor(x, beta), -len(sizes[0]) - 1
        w = opened(ops, x, *sizes)
        m = ops.largest(w, axis=axis) if b > 0 else ops.smallest(w, axis=axis)
        total = ops.sum(ops.exp((w - ops.expand_dims(m, axis)) * b), axis=axis)
        return m + ops.log(total) / b, m, total

    def shape(x, kernel, beta, stride, padding):
        dtype = x.dtype if x.dtype.kind == "f" else np.dtype(float)
        return pooled(x, settings("smooth_max_pool", x, kernel, stride, padding)[0], dtype)

    def pull_x(ops, g, x, m, total, kernel, beta, stride, padding):
        sizes = settings("smooth_max_pool", x, kernel, stride, padding)
        axis = -len(sizes[0]) - 1
        w = ops.times(ops.expand_dims(g, axis), shares(ops, x, m, total, beta, *sizes))
        return closed(ops, w, x.shape[axis + 1 :], *sizes)

    def push_x(ops, t, x, m, total, kernel, beta, stride, padding):
        sizes = settings("smooth_max_pool", x, kernel, stride, padding)
        return ops.sum(shares(ops, x, m, total, beta, *sizes) * opened(ops, t, *sizes), axis=-len(sizes[0]) - 1)

    samples = (
        (X[:12].reshape(2, 6), 2, 1.5),
        (X[:7].reshape(1, 7), 3, 2.0, 1, 1),
        (X.reshape(1, 4, 5), [2, 3], -0.7, {"stride": (2, 1), "padding": [1, 0]}),
        (X[:18].reshape(1, 2, 3, 3), 2, 3.0, 1),
        (X[:18].reshape(3, 2, 3), (2,), -1.0, None, (1,)),
        (X[:2].reshape(1, 2), 3, 1.0),
    )
