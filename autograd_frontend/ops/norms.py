"""Norms of vectors and matrices."""

from __future__ import annotations

import numpy as np

from .axes import axes_of, reduced, widened
from .block import Like, operation
from .reductions import CUBE, MATRIX, VECTOR


def settings(ord, axis, keepdims, matrix):
    axis = int(axis) if isinstance(axis, float) else tuple(axis) if isinstance(axis, list) else axis  # as NumPy does
    return {"ord": ord, "axis": axis, "keepdims": keepdims, "matrix": matrix}


def norm_shape(a, ord, axis, keepdims, matrix):
    dtype = a.dtype if a.dtype is not None else np.dtype(float)
    return reduced(Like(a.shape, dtype), axis=axis, keepdims=keepdims)


def form(ndim, ord, axis, matrix):
    """The axes, and whether a matrix is measured."""
    axes = axes_of(axis, ndim)
    if matrix is None:
        matrix = len(axes) == 2 and (ord is not None or axis is not None)
    return axes, matrix and ord not in (None, "fro")


def evenly(ops, x, reduce, axis):
    """The extreme entries along an axis, 1 divided evenly among them, and 0 elsewhere."""
    on = x == reduce(x, axis=axis, keepdims=True)
    return on / ops.total(on, axis=axis, keepdims=True)


def vector_slope(ops, a, y, ord, axes):
    """The derivative of a vector norm `y` (its axes kept) with respect to every entry."""
    if ord in (None, 2, "fro"):
        zero = y == 0
        return ops.where(zero, 0, a / ops.where(zero, 1, y)) if np.any(zero) else a / y
    if ord == 1:
        return ops.sign(a)
    if ord == 0:
        return 0 * ops.sign(a)
    if ord in (np.inf, -np.inf):
        return evenly(ops, ops.abs(a), ops.largest if ord > 0 else ops.smallest, axes) * ops.sign(a)
    return ops.where((a == 0) | (y == 0), 0, ops.sign(a) * (ops.abs(a) / y) ** (ord - 1))


def matrix_slope(ops, a, ord, axes):
    """The derivative of a matrix norm other than Frobenius' with respect to every entry."""
    if ord in (2, -2, "nuc"):
        a = ops.moveaxis(a, axes, (-2, -1))
        u, s, vt = ops.svd(a, full_matrices=False)
        w = s > 0 if ord == "nuc" else evenly(ops, s, ops.largest if ord == 2 else ops.smallest, -1)
        d = ops.singular(a, w * ops.astype(s > 0, s.dtype), ops.detach(u), ops.detach(vt))
        return ops.moveaxis(d, (-2, -1), axes)
    along, over = axes if abs(ord) == 1 else axes[::-1]
    sums = ops.total(ops.abs(a), axis=along, keepdims=True)
    return evenly(ops, sums, ops.largest if ord > 0 else ops.smallest, over) * ops.sign(a)


def slope(ops, a, y, ord, axis, keepdims, matrix):
    axes, matrix = form(a.ndim, ord, axis, matrix)
    if matrix:
        return matrix_slope(ops, a, ord, axes)
    return vector_slope(ops, a, widened(ops, y, axis, keepdims), ord, axes)


def norm_pull(ops, g, x, y, ord, axis, keepdims, matrix):
    x = ops.asarray(x)
    d, g = slope(ops, x, y, ord, axis, keepdims, matrix), widened(ops, g, axis, keepdims)
    return ops.times(g, d) if ord in (None, "fro") else ops.where(d == 0, 0, ops.times(g, d))


def norm_push(ops, t, x, y, ord, axis, keepdims, matrix):
    d = ops.times(t, slope(ops, ops.asarray(x), y, ord, axis, keepdims, matrix))
    return ops.total(d, axis=axis, keepdims=keepdims)


@operation("numpy.linalg.norm scipy.linalg.norm")
class norm:
    """Norms of vectors (`ord` 2, 1, inf, -inf, 0, p) and matrices ('fro', 1, -1, inf, -inf, 2, -2, 'nuc'), along an
    axis or two. 2 and 'fro': `g*x/y`, exactly 0 at the origin, so that `norm(x)**2` is smooth there. p:
    `g*sign(x)*(abs(x)/y)**(p-1)`, 0 where x is. Norms that choose (inf, matrix 1, ...) divide `g` evenly among ties;
    2, -2 and 'nuc' go through the singular vectors, 0 for zero singular values."""

    def bind(x, ord=None, axis=None, keepdims=False, check_finite=True):
        return (x,), settings(ord, axis, keepdims, None)

    shape, pull_x, push_x = norm_shape, norm_pull, norm_push
    samples = (
        (VECTOR,), (MATRIX,), (CUBE,), (VECTOR, 2), (VECTOR, 1), (VECTOR, {"ord": np.inf}), (VECTOR, {"ord": -np.inf}),
        (VECTOR, {"ord": 3.5}),
        (VECTOR, 0), (MATRIX, "fro"), (MATRIX, 1), (MATRIX, -1), (MATRIX, {"ord": np.inf}), (MATRIX, {"ord": -np.inf}),
        (MATRIX, 2),
        (MATRIX, -2), (MATRIX, "nuc"), (MATRIX, {"axis": 1}), (MATRIX, {"axis": -1, "keepdims": True}),
        (MATRIX, {"keepdims": True}), (CUBE, {"axis": (0, 2)}), (CUBE, {"ord": "nuc", "axis": (2, 0)}),
        (CUBE, {"ord": 1, "axis": (2, 0), "keepdims": True}), (MATRIX, {"ord": np.inf, "axis": 0}),
    )  # fmt: skip


@operation("numpy.linalg.vector_norm")
class vector_norm:
    """Norm of all entries, or of those along the axes, as one vector: as `norm` does it for vectors."""

    def bind(x, *, axis=None, keepdims=False, ord=2):
        return (x,), settings(ord, axis, keepdims, False)

    shape, pull_x, push_x = norm_shape, norm_pull, norm_push
    samples = ((VECTOR,), (MATRIX, {"ord": 1}), (CUBE, {"axis": (0, 1), "ord": np.inf}), (CUBE, {"axis": 2, "ord": 3}))


@operation("numpy.linalg.matrix_norm")
class matrix_norm:
    """Norm of the matrices in the last two axes: as `norm` does it for matrices."""

    def bind(x, *, keepdims=False, ord="fro"):
        return (x,), settings(ord, (-2, -1), keepdims, True)

    shape, pull_x, push_x = norm_shape, norm_pull, norm_push
    samples = ((MATRIX,), (CUBE, {"ord": "nuc"}), (CUBE, {"ord": -np.inf, "keepdims": True}))
