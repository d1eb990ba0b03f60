"""Windows of arrays: two operations that are each other's transpose, and the sizes of what is made of windows."""

from __future__ import annotations

import numpy as np

from .block import Like, operation


@operation("autograd_frontend.ops.plain.PLAIN.windows")
class windows:
    """`windows(x, counts, kernel, stride, padding)`: `[..., *n]` -> `[..., *kernel, *counts]`, the entries
    `x[..., q*stride + j - padding]`, 0 outside `x`. Every setting has one entry for each of the trailing axes `n`.
    Pullback: `fold`."""

    linear = complex = True

    def bind(x, counts, kernel, stride, padding):
        return (x,), {"counts": counts, "kernel": kernel, "stride": stride, "padding": padding}

    def shape(x, counts, kernel, stride, padding):
        return Like(x.shape[: x.ndim - len(kernel)] + kernel + counts, x.dtype)

    def pull_x(ops, g, x_like, kernel, stride, padding):
        return ops.fold(g, x_like.shape[x_like.ndim - len(kernel) :], kernel, stride, padding)

    samples = (
        (np.linspace(-1.0, 2.0, 7), (3,), (3,), (2,), (0,)),
        (np.linspace(-1.0, 2.0, 10).reshape(2, 5), (4,), (2,), (2,), (1,)),
        (np.linspace(-1.0, 2.0, 24).reshape(2, 3, 4), (2, 5), (2, 1), (1, 1), (0, 1)),
        (np.ones((2, 3)), (0,), (4,), (1,), (0,)),
    )


@operation("autograd_frontend.ops.plain.PLAIN.fold")
class fold:
    """`fold(w, extents, kernel, stride, padding)`: `[..., *kernel, *counts]` -> `[..., *extents]`, every
    `w[..., j, q]` added to entry `q*stride + j - padding`, if there is one. Pullback: `windows`."""

    linear = complex = True

    def bind(w, extents, kernel, stride, padding):
        return (w,), {"extents": extents, "kernel": kernel, "stride": stride, "padding": padding}

    def shape(w, extents, kernel, stride, padding):
        return Like(w.shape[: w.ndim - 2 * len(kernel)] + extents, w.dtype)

    def pull_w(ops, g, w_like, kernel, stride, padding):
        return ops.windows(g, w_like.shape[w_like.ndim - len(kernel) :], kernel, stride, padding)

    samples = (
        (np.linspace(-1.0, 2.0, 9).reshape(3, 3), (7,), (3,), (2,), (0,)),
        (np.linspace(-1.0, 2.0, 16).reshape(2, 2, 4), (5,), (2,), (2,), (1,)),
        (np.linspace(-1.0, 2.0, 24).reshape(2, 3, 2, 2), (3, 4), (2, 3), (2, 1), (0, 0)),
        (np.linspace(-1.0, 2.0, 6).reshape(2, 3), (8,), (2,), (3,), (0,)),
    )


@operation("numpy.lib.stride_tricks.sliding_window_view")
class sliding_window_view:
    """`sliding_window_view(x, window_shape, axis=None)`: every window, read-only. Pullback: `g` added to the entries it
    is a view of. While the result is in use, a write into `x` is refused; so is `writeable=True`."""

    complex = True
    views = linear = True

    def bind(x, window_shape, axis=None, *, subok=False, writeable=False):
        if writeable:
            raise TypeError("writeable=True")
        return (x,), {"window_shape": window_shape, "axis": axis}

    def shape(x, window_shape, axis):
        return Like(looked_at(x, window_shape, axis).shape, x.dtype)

    def pull_x(ops, g, x_like, window_shape, axis):
        return ops.scatter(g, looked_at(x_like, window_shape, axis), x_like.shape)

    samples = ((np.linspace(-1.0, 2.0, 7), 3), (np.linspace(-1.0, 2.0, 12).reshape(3, 4), (2, 3)),
               (np.linspace(-1.0, 2.0, 12).reshape(3, 4), 2, 1), (np.linspace(-1.0, 2.0, 3), 1))  # fmt: skip


def looked_at(x, window_shape, axis):
    """The positions, in row-major order, that the windows of an array show."""
    return np.lib.stride_tricks.sliding_window_view(np.arange(x.size).reshape(x.shape), window_shape, axis)


def conv_counts(extents, kernel, stride, padding):
    """How many windows fit on every axis."""
    axes = zip(extents, kernel, stride, padding, strict=True)
    return tuple([max((n + 2 * p - k) // s + 1, 0) for n, k, s, p in axes])


def pool_counts(extents, kernel, stride, padding):
    """The same for pooling: there is none without an entry."""
    counts = conv_counts(extents, kernel, stride, padding)
    return tuple([c if n else 0 for c, n in zip(counts, extents, strict=True)])


def transposed_extents(counts, kernel, stride, padding):
    """The extents over which so many windows spread."""
    axes = zip(counts, kernel, stride, padding, strict=True)
    return tuple([max((n - 1) * s + k - 2 * p, 0) if n else 0 for n, k, s, p in axes])
