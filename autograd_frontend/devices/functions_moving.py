"""Entries chosen, left out, repeated and padded: NumPy says of positions on the host where each entry comes from."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .functions_index import gather, put
from .functions_take import result, take
from .table import implements, unsupported
from .views import arrays, device_of

Array = Any  # one of a device: NumPy's stubs know only their own


def on_host(x: Any) -> Any:
    """Plain data that decides on shapes: read back if it is on the device."""
    return x.get() if hasattr(x, "layout") else x


def along(a: Any, positions: Any, axis: Any) -> Array:
    """The entries, or slices, at what `positions(n)` gives for the extent `n`."""
    a, axis = (a.reshape(-1), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))
    y: Array = gather(a, (*(slice(None),) * axis, np.asarray(positions(a.shape[axis]), np.int64)))
    return y


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    (a,) = arrays(device_of(a, out, condition), [a])
    condition = np.asarray(on_host(condition))
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return result(along(a, lambda n: np.nonzero(condition)[0], axis), out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    (arr,) = arrays(device_of(arr, condition), [arr])
    condition = np.ravel(np.asarray(on_host(condition)))
    return take(arr, np.nonzero(condition)[0])


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    return along(arr, lambda n: np.delete(np.arange(n), on_host(obj)), axis)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """One take from the entries of both, one after the other."""
    arr, values = arrays(device_of(arr, values), [arr, values])
    values = values.astype(arr.dtype, copy=False)
    mine = np.arange(arr.size).reshape(arr.shape)
    its = arr.size + np.arange(values.size).reshape(values.shape)
    source = np.insert(mine, on_host(obj), its, axis)
    return take(np.concatenate((arr.reshape(-1), values.reshape(-1))), source)


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    (a,) = arrays(device_of(a, repeats), [a])
    repeats = np.asarray(on_host(repeats))
    if repeats.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {repeats.dtype!r} to dtype('int64') according to the rule 'safe'")
    if repeats.size != 1 or repeats.min() < 0:
        return along(a, lambda n: np.repeat(np.arange(n), repeats), axis)
    a, axis = (a.reshape(-1), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))
    k = int(repeats.reshape(()))
    before, n, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
    spread = np.broadcast_to(a.reshape((*before, n, 1, *after)), (*before, n, k, *after))
    return spread.copy("C").reshape((*before, n * k, *after))


MOVING = ("edge", "wrap", "reflect", "symmetric")


def pairs(x: Any, ndim: int) -> Any:
    return np.broadcast_to(np.asarray(x), (ndim, 2)).tolist()


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    width = pairs(pad_width, array.ndim)
    if any(type(n) is not int for pair in width for n in pair):
        raise TypeError("`pad_width` must be of integral type.")
    if any(n < 0 for pair in width for n in pair):
        raise ValueError("index can't contain negative values")
    if mode in MOVING and kwargs.get("reflect_type", "even") == "even":
        axes = [np.pad(np.arange(n), pair, mode) for n, pair in zip(array.shape, width, strict=True)]
        moved = [k for k, pair in enumerate(width) if pair != [0, 0]]
        if not moved:
            return array.copy()
        key: list[Any] = [slice(None)] * array.ndim
        for i, k in enumerate(moved):  # between two of them no axis is kept, or NumPy would put the result in front
            key[k] = axes[k].reshape((-1,) + (1,) * (len(moved) - 1 - i))
        if moved[-1] - moved[0] + 1 != len(moved):
            key = list(np.ix_(*axes))
        return gather(array, tuple(key))
    if mode not in ("constant", "empty"):
        raise unsupported(f"np.pad with mode={mode!r}")
    return framed(array, width, None if mode == "empty" else pairs(kwargs.get("constant_values", 0), array.ndim))


def framed(x: Array, width: Any, values: Any) -> Array:
    """`x` inside a frame, whose values are given for both sides of each axis."""
    shape = tuple([n + a + b for n, (a, b) in zip(x.shape, width, strict=True)])
    inside = tuple([slice(a, a + n) for n, (a, _) in zip(x.shape, width, strict=True)])
    if values is None:
        y: Array = x.session.empty(shape, x.dtype)
        y[inside] = x
        return y
    first = values[0][0] if values else 0
    y = x.session.full(shape, first, x.dtype)
    if any(v != first for pair in values for v in pair):
        for axis, ((a, b), (low, high)) in enumerate(zip(width, values, strict=True)):
            rest = (slice(None),) * axis, inside[axis + 1 :]
            if a:
                y[(*rest[0], slice(0, a), *rest[1])] = low
            if b:
                y[(*rest[0], slice(shape[axis] - b, None), *rest[1])] = high
    y[inside] = x
    return y


# Choices


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    for i, c in enumerate(condlist):
        if (c.dtype if hasattr(c, "dtype") else np.asarray(c).dtype) != np.dtype(bool):
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    dtype = np.result_type(*choicelist, default)
    y = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        y = np.where(condition, choice, y)
    return y.astype(dtype, copy=False)


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    session = device_of(a, choices, out)
    choices = [x if hasattr(x, "layout") or np.ndim(x) == 0 else session.array(x) for x in choices]
    n = len(choices)
    index = a if hasattr(a, "layout") else np.asarray(a)
    if mode == "wrap":
        index = np.remainder(index, n)
    elif mode == "clip":
        index = np.clip(index, 0, n - 1)
    elif bool(np.any((index < 0) | (index >= n))):  # of one on the device a flag is read back
        raise ValueError("invalid entry in choice array")
    dtype = np.result_type(*choices)
    y = choices[-1]
    for k in reversed(range(n - 1)):
        y = np.where(index == k, choices[k], y)
    shape = np.broadcast_shapes(np.shape(index), *[np.shape(x) for x in choices])
    (y,) = arrays(session, [y])
    return result(np.broadcast_to(y, shape).astype(dtype) if y.shape != shape else y.astype(dtype, copy=False), out)


@implements(np.nonzero)
def nonzero(a: Any) -> tuple[Any, ...]:
    """Read back: how many there are decides on the shape."""
    return tuple([a.session.array(k) for k in np.nonzero((a != 0).get())])


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return nonzero(a.reshape(-1))[0]


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    return a.session.array(np.argwhere((a != 0).get()))


@implements(np.put)
def put_flat(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if not a.flags.c_contiguous:
        raise unsupported("np.put into an array that is not contiguous")
    if mode == "wrap":
        ind = np.remainder(ind, a.size)
    elif mode == "clip":
        ind = np.clip(ind, 0, a.size - 1)
    ind = ind if hasattr(ind, "layout") else np.asarray(ind)
    v = v if hasattr(v, "layout") else np.asarray(v)
    n = prod(ind.shape)
    if n and v.size != n:
        v = take(v, np.arange(n) % v.size) if hasattr(v, "layout") else np.ravel(v)[np.arange(n) % v.size]
    put(a.reshape(-1), ind.reshape(-1), v.reshape(-1))


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    values = values if hasattr(values, "layout") else np.asarray(values)
    if values.size == 1:
        a[mask] = values.reshape(())
    elif values.shape == a.shape:
        a[...] = np.where(mask, values, a)
    else:
        raise unsupported("np.putmask with values that are repeated")


@implements(np.block)
def block(arrays_: Any) -> Any:
    """As NumPy does it: lists inside are joined along the last axis, those around them along the axes before."""
    depth, inner = 0, arrays_
    while isinstance(inner, list):
        depth, inner = depth + 1, inner[0]
    y = joined(device_of(arrays_), arrays_, -depth, max(depth, most_axes(arrays_)))
    return y.copy() if depth == 0 else y


def most_axes(x: Any) -> int:
    return max(map(most_axes, x)) if isinstance(x, list) else np.ndim(x)


def joined(session: Any, x: Any, axis: int, rank: int) -> Any:
    if isinstance(x, list):
        return np.concatenate([joined(session, e, axis + 1, rank) for e in x], axis=axis)
    (x,) = arrays(session, [x])
    return x if x.ndim == rank else x[(None,) * (rank - x.ndim)]
