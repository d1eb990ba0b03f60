"""What reductions share: axes, masks, and the shapes of results."""

from __future__ import annotations

import numpy as np

from ..arrays import held
from .block import Like


def mask(where):
    """`where=` as an attribute: True, or a copy that later writes do not change."""
    return True if where is True or where is np._NoValue else held(where, bool)


def axes_of(axis, ndim):
    """The axes as non-negative numbers."""
    if axis is None:
        return tuple(range(ndim))
    if not ndim:  # NumPy reduces a number along axis 0 and -1
        return ()
    return tuple([k % ndim for k in (axis if isinstance(axis, (tuple, list)) else (axis,))])


def reduced_shape(shape, axis, keepdims):
    axes = axes_of(axis, len(shape))
    if keepdims:
        return tuple([1 if k in axes else n for k, n in enumerate(shape)])
    return tuple([n for k, n in enumerate(shape) if k not in axes])


def reduced(a, *others, axis, keepdims, dtype=None, **_):
    """The shape rule of a reduction over `axis`."""
    return Like(reduced_shape(a.shape, axis, keepdims), np.dtype(dtype or a.dtype or float))


def widened(ops, g, axis, keepdims):
    """The cotangent (or result) of a reduction so that it broadcasts against the operand."""
    if keepdims or axis is None or not getattr(g, "ndim", 0):
        return g
    if axis == -1:
        return g[..., None]
    return g[None] if axis == 0 else ops.expand_dims(g, axis)


def extent(a, axis):
    """How many entries a reduction over `axis` takes in."""
    if axis is None:
        return a.size
    n = 1
    for k in axis if type(axis) is tuple else (axis,):
        n *= a.shape[k]
    return n


def count(ops, a, axis, where):
    """The same under a mask: an array that broadcasts against the operand."""
    if where is True:
        return extent(a, axis)
    return ops.total(ops.broadcast_to(where, a.shape), axis=axis, keepdims=True)


def divided(g, n):
    """`g/n`, infinite where there is nothing to divide by."""
    return g / n if type(n) is not int or n else g * np.inf


def masked(ops, x, where):
    return x if where is True else ops.where(where, x, 0)


def present(ops, a, where):
    """Where there is a number: what the nan-functions look at."""
    known = ops.invert(ops.isnan(a))
    return known if where is True else ops.both(known, where)


def rows(ops, a, axis):
    """The reduced axes as one last axis."""
    a = ops.asarray(a)
    if a.ndim == 1 or (a.ndim and (axis == -1 or axis == a.ndim - 1)):
        return a
    axes = axes_of(axis, a.ndim)
    kept = tuple([k for k in range(a.ndim) if k not in axes])
    return ops.reshape(ops.transpose(a, kept + axes), tuple([a.shape[k] for k in kept]) + (extent(a, axes),))


def unrows(ops, r, a, axis):
    """Back from `rows` to the shape of the operand `a`."""
    ndim = len(a.shape)
    if ndim == 1 or (ndim and (axis == -1 or axis == ndim - 1)):
        return r
    axes = axes_of(axis, ndim)
    order = tuple([k for k in range(ndim) if k not in axes]) + axes
    back = tuple([order.index(k) for k in range(ndim)])
    return ops.transpose(ops.reshape(r, tuple([a.shape[k] for k in order])), back)
