"""NumPy's functions that put several arrays together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .expressions import cast
from .table import implements
from .views import arrays, broadcast_to, device_of

if TYPE_CHECKING:
    from .array import DeviceArray


@implements(np.concatenate)
def concatenate(
    xs: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> DeviceArray:
    session = device_of(xs, out)
    parts = arrays(session, list(xs))
    if axis is None:
        parts, axis = [x.reshape(-1) for x in parts], 0
    axis = normalize_axis_index(axis, parts[0].ndim)
    for k, x in enumerate(parts):
        if x.ndim != parts[0].ndim or any(
            a != b for d, (a, b) in enumerate(zip(x.shape, parts[0].shape, strict=True)) if d != axis
        ):
            raise ValueError(
                f"all the input array dimensions except for the concatenation axis must match exactly: shapes"
                f" {parts[0].shape} and {x.shape} (array {k})"
            )
    shape = list(parts[0].shape)
    shape[axis] = sum([x.shape[axis] for x in parts])
    result = np.result_type(*[x.dtype for x in parts]) if dtype is None else np.dtype(dtype)
    y = session.empty(tuple(shape), result, [x.layout for x in parts]) if out is None else out
    start, pieces = 0, []
    for x in parts:
        stop = start + x.shape[axis]
        pieces.append((y[(slice(None),) * axis + (slice(start, stop),)], x))
        start = stop
    if out is None:
        session.fill([(session.spot(piece), cast(x.operand(), result)) for piece, x in pieces])
    else:
        for piece, x in pieces:
            piece[...] = x
    return y  # type: ignore[no-any-return]


@implements(np.stack)
def stack(xs: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> DeviceArray:
    parts = arrays(device_of(xs, out), list(xs))
    if len({x.shape for x in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis_index(axis, parts[0].ndim + 1)
    look = [x.view_of(np.expand_dims(x.layout, axis)) for x in parts]
    return concatenate(look, axis, out, dtype=dtype, casting=casting)  # type: ignore[no-any-return]


def joined(function: Any, least: Any, axis: Any) -> None:
    """A function that joins along an axis what first gets as many axes as `least` gives."""

    @implements(function)
    def join(xs: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
        parts = arrays(device_of(xs), list(xs))
        look = [x.view_of(least(x.layout)) for x in parts]
        return concatenate(look, axis(look), dtype=dtype, casting=casting)


joined(np.vstack, np.atleast_2d, lambda xs: 0)
joined(np.hstack, np.atleast_1d, lambda xs: 0 if xs[0].ndim == 1 else 1)
joined(np.dstack, np.atleast_3d, lambda xs: 2)
joined(np.column_stack, lambda x: x[:, None] if x.ndim == 1 else x.reshape(1, 1) if x.ndim == 0 else x, lambda xs: 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return concatenate((arr, values), axis)


@implements(np.roll)
def roll(a: DeviceArray, shift: Any, axis: Any = None) -> DeviceArray:
    if axis is None:
        return roll(a.reshape(-1), shift, 0).reshape(a.shape)  # type: ignore[no-any-return]
    axes = normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)
    shifts = np.broadcast_to(np.asarray(shift), (len(axes),)).tolist() if np.ndim(shift) == 0 else list(shift)
    if len(axes) == 1:
        axes = axes * len(shifts)
    for k, s in zip(axes, shifts, strict=True):
        n = a.shape[k]
        s = int(s) % n if n else 0
        before = (slice(None),) * k
        if s:
            a = concatenate([a[(*before, slice(n - s, None))], a[(*before, slice(None, n - s))]], k)
    return a.copy() if a.base is not None else a


@implements(np.tile)
def tile(A: DeviceArray, reps: Any) -> DeviceArray:
    reps = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    d = max(len(reps), A.ndim)
    reps, shape = (1,) * (d - len(reps)) + reps, (1,) * (d - A.ndim) + A.shape
    pairs = tuple([n for pair in zip(reps, shape, strict=True) for n in pair])
    spread = tuple([n for pair in zip((1,) * d, shape, strict=True) for n in pair])
    y = A.session.empty(pairs, A.dtype)
    y[...] = broadcast_to(A.reshape(spread), pairs)
    return y.reshape([m * n for m, n in zip(reps, shape, strict=True)])
