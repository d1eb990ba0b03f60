"""Entries picked, repeated and moved. The general pullback runs NumPy's own function over the positions of the
entries, which says where each entry of the result came from."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .linalg import STACK, A, B, U, dummy


def positions(shape):
    """The positions of the entries of an array in row-major order, as an array of its shape."""
    n = 1
    for k in shape:
        n *= k
    return np.arange(n).reshape(shape)


def untaken(ops, g, shape, indices, axis, mode="raise"):
    """Zeros to which `g` is added at what `np.take` takes."""
    return ops.scatter(g, np.take(positions(shape), indices, axis, mode=mode), shape)


@operation("numpy.diagonal numpy.ndarray.diagonal")
class diagonal:
    """`np.diagonal(x, offset=0, axis1=0, axis2=1)`: a read-only view, the diagonal the last axis. Pullback: zeros
    with `g` there."""

    complex = True
    views = linear = True

    def bind(a, offset=0, axis1=0, axis2=1):
        return (a,), {"offset": offset, "axis1": axis1, "axis2": axis2}

    def shape(x, offset, axis1, axis2):
        return Like(dummy(x).diagonal(offset, axis1, axis2).shape, x.dtype)

    def pull_x(ops, g, x_like, offset, axis1, axis2):
        return ops.scatter(g, positions(x_like.shape).diagonal(offset, axis1, axis2), x_like.shape)

    samples = ((A,), (A, 1), (STACK, -1, 1, 2))


@operation("numpy.diag")
class diag:
    """`np.diag(v, k=0)`: a matrix with the vector `v` on a diagonal, or a view of a diagonal of the matrix `v`."""

    complex = True
    views = linear = True

    def bind(v, k=0):
        return (v,), {"k": k}

    def shape(x, k):
        return Like(np.diag(dummy(x), k).shape, x.dtype)

    def pull_x(ops, g, x_like, k):
        if x_like.ndim == 1:
            return ops.diagonal(g, k)
        return ops.scatter(g, positions(x_like.shape).diagonal(k), x_like.shape)

    samples = ((U,), (U, -1), (A,), (A, 2))


@operation("numpy.diagflat")
class diagflat:
    """`np.diagflat(v, k=0)`: a matrix with all entries of `v` on a diagonal. Pullback: that diagonal of `g`."""

    linear = complex = True

    def bind(v, k=0):
        return (v,), {"k": k}

    def shape(x, k):
        return Like((x.size + abs(k),) * 2, x.dtype)

    def pull_x(ops, g, x_like, k):
        return ops.reshape(ops.diagonal(g, k), x_like.shape)

    samples = ((A,), (U, 1))


@operation("numpy.tril")
class tril:
    """`np.tril(x, k=0)`: zeros above diagonal `k`, a copy. Pullback: the same of `g`."""

    linear = complex = True

    def bind(m, k=0):
        return (m,), {"k": k}

    def shape(x, k):
        return Like(x.shape if x.ndim > 1 else x.shape * 2, x.dtype)

    def pull_x(ops, g, k):
        return ops.tril(g, k)

    samples = ((A,), (STACK, -1), (U, 1))


@operation("numpy.triu")
class triu:
    """`np.triu(x, k=0)`: zeros below diagonal `k`, a copy. Pullback: the same of `g`."""

    linear = complex = True

    def bind(m, k=0):
        return (m,), {"k": k}

    def shape(x, k):
        return Like(x.shape if x.ndim > 1 else x.shape * 2, x.dtype)

    def pull_x(ops, g, k):
        return ops.triu(g, k)

    samples = ((A,), (STACK, 1), (U, -1))


@operation("numpy.take numpy.ndarray.take")
class take:
    """`np.take(x, indices, axis=None, mode="raise")`: the entries, or slices, at integer indices. Pullback: zeros to
    which `g` is added there; repeated indices add up."""

    linear = complex = True

    def bind(a, indices, axis=None, out=None, mode="raise"):
        return (a,), {"indices": indices, "axis": axis, "mode": mode}

    def shape(x, indices, axis, mode):
        return Like(np.take(dummy(x), indices, axis, mode=mode).shape, x.dtype)

    def pull_x(ops, g, x_like, indices, axis, mode):
        return untaken(ops, g, x_like.shape, indices, axis, mode)

    samples = ((A, [0, 0, 5]), (A, 1), (A, np.array([[2, 0], [0, 1]]), 1), (STACK, -1, {"axis": 2}),
               (A, [5, -1], {"axis": 0, "mode": "wrap"}), (A, [9, -3], {"mode": "clip"}))  # fmt: skip


@operation("numpy.compress")
class compress:
    """`np.compress(condition, x, axis=None)`: the entries, or slices, where the condition holds."""

    linear = complex = True

    def bind(condition, a, axis=None, out=None):
        return (a,), {"condition": condition, "axis": axis}

    def shape(x, condition, axis):
        return Like(np.compress(condition, dummy(x), axis).shape, x.dtype)

    def pull_x(ops, g, x_like, condition, axis):
        return ops.scatter(g, np.compress(condition, positions(x_like.shape), axis), x_like.shape)

    samples = (([True, False, True], A, 1), ([0, 1, 1, 0, 1], A))


@operation("numpy.ndarray.compress")
class compress_method:
    """`x.compress(condition, axis=None)`: the entries, or slices, where the condition holds."""

    linear = complex = True

    def bind(a, condition, axis=None, out=None):
        return (a,), {"condition": condition, "axis": axis}

    def shape(x, condition, axis):
        return Like(np.compress(condition, dummy(x), axis).shape, x.dtype)

    def pull_x(ops, g, x_like, condition, axis):
        return ops.scatter(g, np.compress(condition, positions(x_like.shape), axis), x_like.shape)

    samples = ((A, [True, False, True], 1), (A, [0, 1, 1, 0, 1]))


@operation("numpy.extract")
class extract:
    """`np.extract(condition, x)`: the entries where the condition is not zero, in row-major order."""

    linear = complex = True

    def bind(condition, arr):
        return (arr,), {"condition": condition}

    def shape(x, condition):
        return Like((np.count_nonzero(condition),), x.dtype)

    def pull_x(ops, g, x_like, condition):
        return ops.scatter(g, np.extract(condition, positions(x_like.shape)), x_like.shape)

    samples = ((A > 0.0, A), ([1, 0, 1], U))


@operation("numpy.repeat numpy.ndarray.repeat")
class repeat:
    """`np.repeat(x, repeats, axis=None)`: every entry, or slice, several times. Pullback: the sum over its copies."""

    linear = complex = True

    def bind(a, repeats, axis=None):
        return (a,), {"repeats": repeats, "axis": axis}

    def shape(x, repeats, axis):
        return Like(np.repeat(dummy(x), repeats, axis).shape, x.dtype)

    def pull_x(ops, g, x_like, repeats, axis):
        if not isinstance(repeats, (int, np.integer)) or not repeats or not x_like.size:
            return ops.scatter(g, np.repeat(positions(x_like.shape), repeats, axis), x_like.shape)
        if axis is None:
            return ops.total(g.reshape(*x_like.shape, repeats), -1)
        axis %= x_like.ndim
        shape = x_like.shape[: axis + 1] + (repeats,) + x_like.shape[axis + 1 :]
        return ops.total(g.reshape(shape), axis + 1)

    samples = ((A, 2), (A, 3, 1), (A, [1, 0, 2], {"axis": 1}), (U, [2, 1, 3]), (A, 2, {"axis": -2}))


@operation("numpy.tile")
class tile:
    """`np.tile(x, reps)`: copies side by side. Pullback: the sum over the copies."""

    linear = complex = True

    def bind(A, reps):
        return (A,), {"reps": reps}

    def shape(x, reps):
        return Like(np.tile(dummy(x), reps).shape, x.dtype)

    def pull_x(ops, g, x_like, reps):
        reps = tuple(np.atleast_1d(reps).tolist())
        n = max(len(reps), x_like.ndim)
        reps, shape = (1,) * (n - len(reps)) + reps, (1,) * (n - x_like.ndim) + x_like.shape
        both = [k for pair in zip(reps, shape, strict=True) for k in pair]
        return ops.total(g.reshape(both), tuple(range(0, 2 * n, 2))).reshape(x_like.shape)

    samples = ((A, 2), (A, (2, 1)), (U, (2, 2)), (A, (3, 1, 2)), (STACK, 2), (2.0, 3))


@operation("numpy.roll")
class roll:
    """`np.roll(x, shift, axis=None)`: entries moved cyclically. Pullback: moved back."""

    linear = complex = True

    def bind(a, shift, axis=None):
        for k in shift if isinstance(shift, (list, tuple)) else (shift,):
            if isinstance(k, float):
                raise TypeError(f"shift is {k!r}, not an integer")
        return (a,), {"shift": shift, "axis": axis}

    def shape(x, shift, axis):
        return x

    def pull_x(ops, g, shift, axis):
        return ops.roll(g, -shift if isinstance(shift, (int, np.integer)) else [-k for k in shift], axis)

    samples = ((A, 2), (A, -1, 1), (A, (1, 2), (0, 1)), (U, 4))


@operation("numpy.delete")
class delete:
    """`np.delete(x, obj, axis=None)`: the entries, or slices, that are left. Pullback: `g` there, zeros elsewhere."""

    linear = complex = True

    def bind(arr, obj, axis=None):
        return (arr,), {"obj": obj, "axis": axis}

    def shape(x, obj, axis):
        return Like(np.delete(dummy(x), obj, axis).shape, x.dtype)

    def pull_x(ops, g, x_like, obj, axis):
        return ops.scatter(g, np.delete(positions(x_like.shape), obj, axis), x_like.shape)

    samples = ((A, 1), (A, [0, 2], 1), (U, slice(None, None, 2)), (A, [True, False], {"axis": 0}))


def inserted(a, b, obj, axis):
    """Where the entries of `np.insert` come from: positions in `a`, or minus one and minus positions in `b`."""
    return np.insert(positions(a.shape), obj, -1 - positions(b.shape), axis)


@operation("numpy.insert")
class insert:
    """`np.insert(a, obj, b, axis=None)`: `b`, cast to the type of `a`, put before positions of `a`. Pullback: each
    the entries of `g` that came from it; values that were repeated add up. Linear in both together."""

    linear = complex = True

    def bind(arr, obj, values, axis=None):
        return (arr, values), {"obj": obj, "axis": axis}

    def shape(a, b, obj, axis):
        return Like(np.insert(dummy(a), obj, np.zeros(b.shape), axis).shape, a.dtype)

    def pull_a(ops, g, a_like, b_like, obj, axis):
        source = inserted(a_like, b_like, obj, axis)
        return ops.scatter(g[source >= 0], source[source >= 0], a_like.shape)

    def pull_b(ops, g, a_like, b_like, obj, axis):
        source = inserted(a_like, b_like, obj, axis)
        return ops.scatter(g[source < 0], -1 - source[source < 0], b_like.shape)

    samples = ((U, 1, 2.5), (A, 1, U, 0), (U, [0, 2], U[:2]), (A, [1, 2], B[:2, :2], {"axis": 1}), (A, 2, 1.5))


MOVING = ("edge", "wrap", "reflect", "symmetric", "empty")


@operation("numpy.pad")
class pad:
    """`np.pad(x, pad_width, mode="constant")`, with the modes `edge wrap reflect symmetric empty` too. Pullback: every
    entry of `g` goes to the entry it repeats; padded constants have none."""

    complex = True

    def bind(array, pad_width, mode="constant", *, constant_values=0, reflect_type="even"):
        if mode != "constant" and mode not in MOVING or reflect_type != "even":
            raise NotImplementedError(f"mode {mode!r}" if reflect_type == "even" else "an odd reflection")
        return (array,), {"pad_width": pad_width, "mode": mode, "constant_values": constant_values}

    def shape(x, pad_width, mode, constant_values):
        return Like(np.pad(dummy(x), pad_width).shape, x.dtype)

    def pull_x(ops, g, x_like, pad_width, mode):
        source = positions(x_like.shape)
        if mode not in ("constant", "empty"):
            return ops.scatter(g, np.pad(source, pad_width, mode), x_like.shape)
        return g[np.pad(source, pad_width, constant_values=-1) >= 0].reshape(x_like.shape)

    def push_x(ops, t, pad_width, mode):
        return ops.pad(t, pad_width, mode)

    samples = ((U, 2), (A, ((1, 0), (0, 2))), (U, 1, "edge"), (A, 1, "wrap"), (A, (1, 1), {"mode": "reflect"}),
               (U, (3, 2), "symmetric"), (A, 1, {"constant_values": 3.0}))  # fmt: skip
