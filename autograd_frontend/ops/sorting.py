"""Sorting, and what is read off sorted entries.

The derivative goes through the stable permutation: equal entries are taken in the order they stand in. NaN sorts last.
"""

from __future__ import annotations

import numpy as np

from ..arrays import held
from .axes import reduced, reduced_shape, rows, unrows
from .block import Like, operation
from .reductions import CUBE, MATRIX, VECTOR


def flat(ops, x, axis):
    """The array and the axis to work along: None flattens."""
    x = ops.asarray(x)
    return (ops.reshape(x, -1), 0) if axis is None else (x, axis)


def sorted_shape(a, axis, **_):
    return Like((a.size,) if axis is None else a.shape, a.dtype)


@operation("numpy.sort")
class sort:
    """Sorted entries along an axis (None: of all). Pullback: `g` back through the stable permutation."""

    def bind(a, axis=-1, kind=None, order=None, *, stable=None):
        return (a,), {"axis": axis}

    shape = sorted_shape

    def pull_a(ops, g, a, axis):
        x, axis = flat(ops, a, axis)
        return ops.reshape(ops.put_along(ops.argsort(x, axis=axis, kind="stable"), g, axis), np.shape(a))

    def push_a(ops, t, a, axis):
        (a, _), (t, axis) = flat(ops, a, axis), flat(ops, t, axis)
        return ops.take_along(t, ops.argsort(a, axis=axis, kind="stable"), axis)

    samples = ((VECTOR,), (MATRIX,), (MATRIX, 0), (CUBE, None))


@operation("numpy.partition")
class partition:
    """Entries partly sorted along an axis. Pullback: `g` through the permutation that takes equal entries in order."""

    def bind(a, kth, axis=-1, kind="introselect", order=None):
        return (a,), {"axis": axis}

    shape = sorted_shape

    def pull_a(ops, g, a, y, axis):
        x, axis = flat(ops, a, axis)
        came, went = (ops.argsort(e, axis=axis, kind="stable") for e in (x, y))
        return ops.reshape(ops.put_along(came, ops.take_along(g, went, axis), axis), np.shape(a))

    def push_a(ops, t, a, y, axis):
        (a, _), (t, axis) = flat(ops, a, axis), flat(ops, t, axis)
        came, went = (ops.argsort(x, axis=axis, kind="stable") for x in (a, y))
        return ops.put_along(went, ops.take_along(t, came, axis), axis)

    samples = ((VECTOR, 2), (MATRIX, 1), (MATRIX, 0, 0), (CUBE, 5, None))


@operation("numpy.take_along_axis")
class take_along_axis:
    """Entries at indices along an axis (None: of the flat array). Pullback: `g` added at those places."""

    def bind(arr, indices, axis=-1):
        return (arr,), {"indices": held(indices), "axis": axis}

    def shape(arr, indices, axis):
        if axis is None:
            return Like(indices.shape, arr.dtype)
        axis %= len(arr.shape)
        shape = list(np.broadcast_shapes(*[[*s[:axis], 1, *s[axis + 1 :]] for s in (arr.shape, indices.shape)]))
        shape[axis] = indices.shape[axis]
        return Like(tuple(shape), arr.dtype)

    def pull_arr(ops, g, arr_like, indices, axis):
        if axis is None:
            return ops.reshape(ops.add_along((arr_like.size,), indices, g, 0), arr_like.shape)
        return ops.add_along(arr_like.shape, indices, g, axis)

    def push_arr(ops, t, indices, axis):
        return ops.take_along(t, indices, axis)

    samples = (
        (MATRIX, np.array([[0, 0], [2, -1]]), 1), (MATRIX, np.array([[1], [1]]), 1), (VECTOR, np.array([3, 3, 0])),
        (MATRIX, np.array([5, 0, 5]), None), (CUBE, np.array([[[2, 0]]]), 1),
    )  # fmt: skip


# quantiles


def quantile_bind(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
                  interpolation=None):  # fmt: skip
    if overwrite_input or method != "linear" or weights is not None or interpolation not in (None, "linear"):
        raise TypeError("only method='linear' without weights and overwrite_input")
    return (a, q), {"axis": tuple(axis) if isinstance(axis, list) else axis, "keepdims": bool(keepdims)}


def median_bind(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return quantile_bind(a, 0.5, axis, out, overwrite_input, keepdims=keepdims)[0][:1], {
        "axis": tuple(axis) if isinstance(axis, list) else axis, "keepdims": bool(keepdims),
    }  # fmt: skip


def quantile_shape(a, q, axis, keepdims):
    dtype = np.result_type(a.dtype or float, q.dtype) if q.dtype else a.dtype or np.dtype(float)
    return Like(q.shape + reduced_shape(a.shape, axis, keepdims), dtype)


class Places:
    """Which sorted entries the quantiles lie between. All arrays have the kept axes first, then one for `q`."""

    def __init__(self, ops, a, q, axis, scale, skip):
        self.a, self.q, self.axis = ops.asarray(a), ops.asarray(q), axis
        self.x = x = rows(ops, a, axis)
        order = ops.argsort(x, axis=-1, kind="stable")
        n = ops.total(ops.invert(ops.isnan(x)), axis=-1, keepdims=True) if skip else x.shape[-1]
        self.last = last = ops.maximum(n - 1, 0)
        place = ops.reshape(self.q / scale, -1) * last
        low = ops.maximum(ops.minimum(ops.floor(place), last), 0).astype(int)
        high = ops.minimum(low + 1, last)
        self.weight = place - low
        shape = x.shape[:-1] + self.weight.shape[-1:]
        self.low, self.high = (ops.take_along(order, ops.broadcast_to(k, shape), -1) for k in (low, high))

    def cotangent(self, ops, g):
        """`g` with the axes of `q` last, as one."""
        return ops.moveaxis(ops.reshape(g, (self.q.size, *self.x.shape[:-1])), 0, -1)


def quantile_pull(ops, g, a, q, axis, scale, skip=False):
    if not np.size(a):
        return 0 * ops.asarray(a)
    p = Places(ops, a, q, axis, scale, skip)
    g, w = p.cotangent(ops, g), p.weight
    d = ops.add_along(p.x.shape, p.low, ops.where(w == 1, 0, g * (1 - w)), -1)
    d = d + ops.add_along(p.x.shape, p.high, ops.where(w == 0, 0, g * w), -1)
    d = unrows(ops, d, p.a, axis)
    return ops.where(ops.isnan(p.a), 0, d) if skip else d


def quantile_push(ops, t, a, q, y_like, axis, scale, skip=False):
    p = Places(ops, a, q, axis, scale, skip)
    t, w = rows(ops, t, axis), p.weight
    t = ops.take_along(t, p.low, -1) * (1 - w) + ops.take_along(t, p.high, -1) * w
    return ops.reshape(ops.moveaxis(t, -1, 0), y_like.shape)


def steps(ops, p, scale):
    """How fast each quantile grows with `q`."""
    return (ops.take_along(p.x, p.high, -1) - ops.take_along(p.x, p.low, -1)) * (p.last / scale)


def place_pull(ops, g, a, q, axis, scale, skip=False):
    p = Places(ops, a, q, axis, scale, skip)
    d = ops.times(p.cotangent(ops, g), steps(ops, p, scale))
    return ops.reshape(ops.total(d, axis=tuple(range(d.ndim - 1))), p.q.shape)


def place_push(ops, t, a, q, y_like, axis, scale, skip=False):
    p = Places(ops, a, q, axis, scale, skip)
    d = ops.reshape(ops.asarray(t), -1) * steps(ops, p, scale)
    return ops.reshape(ops.moveaxis(d, -1, 0), y_like.shape)


TEXT = """The entry, or the weighted mean of the two entries, that a part `q` of the sorted entries lies below (linear
    method; the others are refused). Pullback: `g` to these by their weights; `q` (which may be recorded): `g` times
    the gap times `n - 1`, to the right at a kink. No NaN is left out, but by the nan-functions."""


def quantile_block(scale, skip):
    """The rules of quantiles (`scale` 1) and percentiles (100)."""

    class block:
        __doc__ = TEXT
        bind, shape = quantile_bind, quantile_shape

        def pull_a(ops, g, a, q, axis):
            return quantile_pull(ops, g, a, q, axis, scale, skip)

        def pull_q(ops, g, a, q, axis):
            return place_pull(ops, g, a, q, axis, scale, skip)

        def push_a(ops, t, a, q, y_like, axis):
            return quantile_push(ops, t, a, q, y_like, axis, scale, skip)

        def push_q(ops, t, a, q, y_like, axis):
            return place_push(ops, t, a, q, y_like, axis, scale, skip)

        samples = (
            (VECTOR, 0.3 * scale), (MATRIX, 0.3 * scale, 1), (MATRIX, np.array([0.2, 0.7]) * scale, {"axis": 0}),
            (CUBE, np.array([0.21, 0.72]) * scale, {"axis": (0, 2), "keepdims": True}),
        )  # fmt: skip

    return block


def named(name, block):
    block.__name__ = name
    return block


quantile = operation("numpy.quantile")(named("quantile", quantile_block(1, False)))
percentile = operation("numpy.percentile")(named("percentile", quantile_block(100, False)))
nanquantile = operation("numpy.nanquantile")(named("nanquantile", quantile_block(1, True)))
nanpercentile = operation("numpy.nanpercentile")(named("nanpercentile", quantile_block(100, True)))


@operation("numpy.median")
class median:
    """The middle entry, or the mean of the two in the middle. Pullback: `g` to it, `g/2` to each of the two."""

    bind, shape = median_bind, reduced

    def pull_a(ops, g, a, axis):
        return quantile_pull(ops, g, a, 0.5, axis, 1)

    def push_a(ops, t, a, y_like, axis):
        return quantile_push(ops, t, a, 0.5, y_like, axis, 1)

    samples = ((VECTOR,), (MATRIX,), (MATRIX, 1), (CUBE, {"axis": (0, 1), "keepdims": True}))


@operation("numpy.nanmedian")
class nanmedian:
    """The median of the numbers among the entries: exactly 0 for NaN."""

    bind, shape = median_bind, reduced

    def pull_a(ops, g, a, axis):
        return quantile_pull(ops, g, a, 0.5, axis, 1, True)

    def push_a(ops, t, a, y_like, axis):
        return quantile_push(ops, t, a, 0.5, y_like, axis, 1, True)

    samples = ((VECTOR,), (MATRIX,), (MATRIX, 1), (CUBE, {"axis": (0, 1), "keepdims": True}))
