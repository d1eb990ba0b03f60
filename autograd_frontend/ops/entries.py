"""Shapes, and entries picked and put: the operations of the interface. Reshapes, swaps, selections and slices are
views where NumPy's are: a write through one reaches the other."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ..arrays import on_host
from ..errors import an
from .axes import widened
from .block import Like, operation
from .interface import axis_of, shaped, whole
from .linalg import STACK, A, B, U, V, dummy, kind_of
from .moving import positions, untaken

ANY = -math.inf  # the least whole number, where the range is checked afterwards


def array(ops, operation, x, name="x"):
    if isinstance(x, (Fraction, Decimal)):
        raise TypeError(f"{operation}: {name} is {an(type(x).__name__)}, expected an array or a float")
    return ops.asarray(x)


def extents(operation, shape, least):
    """A shape: whole numbers, each at least `least`."""
    if isinstance(shape, np.ndarray):
        shape = shape.tolist()
    shape = shape if isinstance(shape, (tuple, list)) else [shape]
    return tuple([whole(operation, "shape", n, least) for n in shape])


def one_index(operation, index, n):
    """An index along an axis of extent `n`."""
    index = whole(operation, "index", index, ANY)
    if not -n <= index < n:
        allowed = f"expected {-n} to {n - 1}" if n else "and the axis is empty"
        raise IndexError(f"{operation}: index is {index}, {allowed}")
    return index


def many_indices(operation, indices, n):
    """A list of indices along an axis of extent `n`, as an array."""
    at = np.asarray(on_host(indices))  # of a device too: they are looked at
    if at.ndim == 1 and not at.size:
        return np.zeros(0, np.intp)
    if at.dtype.kind not in "iu":
        raise TypeError(f"{operation}: indices are {at.dtype}, expected whole numbers")
    if at.ndim != 1:
        raise ValueError(f"{operation}: indices have shape {at.shape}, expected one axis")
    low, high = int(at.min()), int(at.max())
    if low < -n or high >= n:
        allowed = f"expected {-n} to {n - 1}" if n else "and the axis is empty"
        raise IndexError(f"{operation}: indices contain {low if low < -n else high}, {allowed}")
    return at.astype(np.intp, copy=False)


@operation()
class broadcast_to:
    """`broadcast_to(x, shape)`: `x` repeated to a shape, aligned at the last axis, without a copy. Pullback: `g` summed
    over the axes that were added or stretched. An extent may become 0. A shape that does not fit: ValueError."""

    key = "ops.broadcast_to"
    views = linear = True

    def value(ops, x, shape):
        x, shape = array(ops, "broadcast_to", x), extents("broadcast_to", shape, 0)
        pairs = zip(x.shape[::-1], shape[::-1], strict=False)
        if x.ndim > len(shape) or any(n not in (1, m) for n, m in pairs):
            raise ValueError(f"broadcast_to: x has shape {x.shape}, which does not broadcast to {shape}")
        return ops.broadcast_to(x, shape)

    def shape(x, shape):
        return Like(np.broadcast_to(dummy(x), shape).shape, kind_of(x))

    def pull_x(ops, g):
        return g  # the engine adds up what was stretched

    samples = ((U, (2, 3)), (A[:, :1], (2, 4)), (2.0, [2, 2]), (U, 3), (A, {"shape": (2, 3)}))


def reshaped(ops, g, x_like):
    return ops.reshape(g, x_like.shape)


@operation()
class reshape:
    """`reshape(x, shape)`: the same entries in the same (row-major) order; one extent may be -1. A view where the
    memory allows it. Pullback: `g` in the shape of `x`. Another number of entries: ValueError."""

    key = "ops.reshape"
    views = linear = True

    def value(ops, x, shape):
        x, shape = array(ops, "reshape", x), extents("reshape", shape, -1)
        open_, rest = shape.count(-1), math.prod([n for n in shape if n != -1])
        if open_ > 1 or (x.size != rest if not open_ else not rest or x.size % rest):
            raise ValueError(f"reshape: x has {x.size} entries, in shape {x.shape}, which do not fill shape {shape}")
        return ops.reshape(x, shape)

    def shape(x, shape):
        return Like(dummy(x).reshape(shape).shape, kind_of(x))

    pull_x = reshaped
    samples = ((A, (3, 2)), (A, -1), (A.T, [3, -1]), (STACK, (2, 12)), (2.0, (1, 1)), (U[:1], ()))


@operation()
class flatten:
    """`flatten(x)`: `reshape(x, (x.size,))`; a scalar gives shape (1,). Pullback: `g` in the shape of `x`."""

    key = "ops.flatten"
    views = linear = True

    def value(ops, x):
        return ops.reshape(array(ops, "flatten", x), (-1,) if np.size(x) else (0,))

    def shape(x):
        return Like((x.size,), kind_of(x))

    pull_x = reshaped
    samples = ((A,), (A.T,), (STACK,), (2.0,))


@operation()
class swap_adjacent_at_depth:
    """`swap_adjacent_at_depth(x, depth)`: axes `depth` and `depth + 1` swapped, a view. Pullback: the same swap. Every
    transpose is a chain of these. A negative depth, or one without two axes: AxisError."""

    views = linear = True

    def value(ops, x, depth):
        depth, ndim = whole("swap_adjacent_at_depth", "depth", depth, ANY), np.ndim(x)
        if not 0 <= depth < ndim - 1:
            allowed = f"expected 0 to {ndim - 2}" if ndim > 1 else f"and x has {ndim} axes, expected two or more"
            raise np.exceptions.AxisError(f"swap_adjacent_at_depth: depth is {depth}, {allowed}")
        return ops.swapaxes(x, depth, depth + 1)

    def shape(x, depth):
        return Like(dummy(x).swapaxes(depth, depth + 1).shape, x.dtype)

    def pull_x(ops, g, depth):
        return ops.swapaxes(g, depth, depth + 1)

    samples = ((A, 0), (STACK, 0), (STACK, {"depth": 1}))


@operation()
class select:
    """`select(x, index, axis)`: the entries at one index of an axis, which goes away; a view. Pullback: zeros with `g`
    there. Index and axis may be negative; out of range they are an IndexError and an AxisError."""

    complex = True
    key = "ops.select"
    views = linear = True

    def value(ops, x, index, axis):
        axis = axis_of("select", axis, np.ndim(x))
        return x[(slice(None),) * axis + (one_index("select", index, x.shape[axis]), ...)]

    def shape(x, index, axis):
        return Like(np.take(dummy(x), index, axis).shape, x.dtype)

    def pull_x(ops, g, x_like, index, axis):
        return untaken(ops, g, x_like.shape, index, axis)

    samples = ((A, 1, 0), (A, 2, 1), (STACK, -1, -2), (U, 0, 0), (STACK, {"index": 1, "axis": 2}))


@operation()
class index_select:
    """`index_select(x, indices, axis)`: the entries at the indices, a list of whole numbers, in their order, as often
    as they are given. Pullback: zeros to which `g` is added there; repeats add up. Indices and axis may be negative;
    out of range they are an IndexError and an AxisError. No indices give extent 0."""

    linear = True

    def value(ops, x, indices, axis):
        axis = axis_of("index_select", axis, np.ndim(x))
        return ops.take(x, many_indices("index_select", indices, x.shape[axis]), axis)

    def shape(x, indices, axis):
        return Like(np.take(dummy(x), indices, axis).shape, x.dtype)

    def pull_x(ops, g, x_like, indices, axis):
        return untaken(ops, g, x_like.shape, ops.asarray(indices, np.intp), axis)

    samples = ((A, [1, 0, 1, 1], 0), (A, np.array([2, -3]), 1), (STACK, (0, 0, -1), -1), (U, [2], {"axis": 0}))


@operation()
class scatter_add:
    """`scatter_add(base, source, indices, axis)`: a copy of `base` to which slice `j` of `source` is added at
    `indices[j]`, in order; repeats add up. Linear in both together. Pullback `g`, `take(g, indices, axis)`. `source`
    has the shape of `base` with `len(indices)` on the axis, otherwise ValueError; indices out of range: IndexError."""

    linear = True

    def value(ops, base, source, indices, axis):
        axis = axis_of("scatter_add", axis, np.ndim(base))
        at = many_indices("scatter_add", indices, base.shape[axis])
        shape = base.shape[:axis] + at.shape + base.shape[axis + 1 :]
        shaped("scatter_add", "source", source, shape, "that of base with one slice for each index")
        return ops.added(base, np.take(positions(base.shape), at, axis), source)

    def shape(base, source, indices, axis):
        return Like(base.shape, kind_of(base, source))

    def pull_base(ops, g):
        return g

    def pull_source(ops, g, indices, axis):
        return ops.take(g, ops.asarray(indices, np.intp), axis)

    samples = (
        (A, B[:2, :3] + 1.0, [1, 1], 0), (A, B.reshape(2, 6)[:, :4].copy(), [2, 0, -1, 2], 1),
        (U, V, np.array([1, 1, 0]), {"axis": -1}),
    )  # fmt: skip


@operation()
class concat:
    """`concat(a, b)`: joined along the first axis. Linear in both together. Pullback `g[:n]`, `g[n:]`, `n` the extent
    of `a`. A scalar, or other extents after the first: ValueError."""

    linear = True

    def value(ops, a, b):
        for name, x in (("a", a), ("b", b)):
            if not np.ndim(x):
                raise ValueError(f"concat: {name} is a scalar, expected at least one axis")
        shaped("concat", "b", b, (len(b), *a.shape[1:]), "that of a but for the first extent")
        return ops.concatenate((a, b))

    def shape(a, b):
        return Like((a.shape[0] + b.shape[0], *a.shape[1:]), kind_of(a, b))

    def pull_a(ops, g, a_like):
        return g[: a_like.shape[0]]

    def pull_b(ops, g, a_like):
        return g[a_like.shape[0] :]

    samples = ((U, V[:2]), (A, B[:, :3]), (STACK, STACK[:1] + 1.0))


@operation()
class slice_:
    """`slice(x, start, length)`: `x[start:start + length]` along the first axis, a view. Pullback: zeros with `g` in
    place. A length may be 0. A negative start or length, or an end past the end of `x`: IndexError."""

    views = linear = True

    def value(ops, x, start, length):
        axis_of("slice", 0, np.ndim(x))
        start, length = whole("slice", "start", start, ANY), whole("slice", "length", length, ANY)
        if start < 0 or length < 0 or start + length > len(x):
            raise IndexError(f"slice: start is {start} and length {length}, expected to lie within 0 to {len(x)}")
        return x[start : start + length]

    def shape(x, start, length):
        return Like((length, *x.shape[1:]), x.dtype)

    def pull_x(ops, g, x_like, start, length):
        return untaken(ops, g, x_like.shape, np.arange(start, start + length), 0)

    samples = ((U, 1, 2), (A, 1, 1), (STACK, 0, 2), (B, {"start": 0, "length": 2}))


@operation()
class top_k_mask:
    """`top_k_mask(x, k)`: 1 for the `k` largest entries of each row (along the last axis), else 0, in the type of `x`;
    of equal entries the first ones. `k >= n` keeps all. NaN is neither larger nor smaller than anything: it is kept
    when `k > 0` and takes no place from others. A scalar gives 1 if `k > 0`. Constant: no gradient, no tangent. A
    negative `k`: ValueError."""

    data = True
    reads = ("x",)

    def value(ops, x, k):
        k = whole("top_k_mask", "k", k, 0)
        if not np.ndim(x):
            return type(x)(k > 0) if not isinstance(x, np.ndarray) else np.asarray(k > 0, x.dtype)
        n = x.shape[-1]
        # Backwards in and out of a stable sort: the largest first, of equal ones the first. NaN comes before all.
        order = ops.flip(n - 1 - ops.argsort(ops.flip(x, -1), axis=-1, kind="stable"), -1)
        unordered = ops.count_nonzero(ops.isnan(x), axis=-1, keepdims=True)
        kept = ops.broadcast_to(np.arange(n) < (unordered + min(k, n) if k else 0), x.shape)
        return ops.put_along(order, ops.astype(kept, x.dtype), -1)


@operation()
class sum_:
    """`sum(x)`: the sum of all entries, a scalar; 0.0 of nothing. Pullback: `g` in every entry."""

    key = "ops.sum"
    linear = True

    def value(ops, x):
        return ops.total(x, axis=None) if hasattr(x, "dtype") else x

    def shape(x):
        return Like((), kind_of(x))

    def pull_x(ops, g):
        return g  # the engine repeats it

    samples = ((A,), (STACK,), (U,), (2.0,))


@operation()
class reduce_sum:
    """`reduce_sum(x, axis)`: the sum along an axis, which goes away; 0 along an empty one. Pullback: `g` repeated along
    the axis. An axis out of range, and any of a scalar: AxisError."""

    linear = True

    def value(ops, x, axis):
        return ops.total(x, axis=axis_of("reduce_sum", axis, np.ndim(x)))

    def shape(x, axis):
        return Like(np.take(dummy(x), 0, axis).shape, x.dtype)

    def pull_x(ops, g, axis):
        return widened(ops, g, axis, False)  # the engine repeats it

    samples = ((A, 0), (A, 1), (STACK, -2), (U, 0), (STACK, {"axis": -1}))


@operation()
class reduce_mean:
    """`reduce_mean(x, axis)`: the sum along an axis, which goes away, divided by its extent `n`. Pullback: `g/n`
    repeated along the axis. An empty axis: ValueError; others may be empty. An axis out of range, and any of a scalar:
    AxisError."""

    linear = True

    def value(ops, x, axis):
        axis = axis_of("reduce_mean", axis, np.ndim(x))
        if not x.shape[axis]:
            raise ValueError(f"reduce_mean: x has shape {x.shape}, expected at least one entry along axis {axis}")
        return ops.total(x, axis=axis) / x.shape[axis]

    def shape(x, axis):
        return Like(np.take(dummy(x), 0, axis).shape, x.dtype)

    def pull_x(ops, g, x_like, axis):
        return widened(ops, g / x_like.shape[axis], axis, False)

    samples = ((A, 0), (A, 1), (STACK, -2), (U, 0), (STACK, {"axis": -1}))
