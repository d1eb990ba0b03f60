"""`take` and its relatives: entries at indices along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import kernels
from .functions_index import combine, gather, picked, shaped_like, write
from .functions_key import check_on_host, source, what_is_known
from .kernels_index import Picked
from .table import implements, unsupported
from .views import arrays, broadcast_to, device_of

Array = Any  # one of a device: NumPy's stubs know only their own


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    session = device_of(a, indices, out)
    (a,) = arrays(session, [a])
    a, axis = (a.reshape(-1), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))
    indices = indices if hasattr(indices, "layout") else np.asarray(indices)
    if indices.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {indices.dtype!r} to dtype('int64') according to the rule 'safe'")
    n = a.shape[axis]
    if n == 0 and indices.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if indices.dtype.kind == "b":
        indices = indices.astype(np.int64)
    if mode == "wrap":
        indices = np.remainder(indices, n) if n else indices
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    if not hasattr(indices, "layout"):
        indices = np.asarray(indices)
    return result(gather(a, (*(slice(None),) * axis, indices)), out)


def result(y: Any, out: Any) -> Any:
    """What a function returns: `out` filled, where it is given."""
    if out is None:
        return y
    if out.shape != y.shape:
        raise ValueError(f"output array has shape {out.shape}, expected {y.shape}")
    out[...] = y
    return out


# Along an axis: the other axes go with the place of the index


def along(x: Array, indices: Any, axis: int) -> tuple[Picked, Any, Any]:
    """`take_along_axis` of these as what kernels take, the index array, and a flag."""
    session = x.session
    host = None if hasattr(indices, "layout") else np.asarray(indices)
    indices = indices if host is None else host
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if indices.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    flag, n = None, x.shape[axis]
    if host is not None:
        check_on_host(host, axis, n)
        indices = session.array(host.astype(np.int64, copy=False))
    else:
        k = what_is_known(indices)
        if indices.size and (k is None or k.bound > n):
            flag = session.array(np.zeros(1, np.int32))
        if indices.dtype not in (np.int64, np.int32):
            indices = indices.astype(np.int64)
    rest = [(*s[:axis], 1, *s[axis + 1 :]) for s in (x.shape, indices.shape)]
    shape = list(np.broadcast_shapes(*rest))
    shape[axis] = indices.shape[axis]
    spot, steps = source(x), kernels.steps(x)
    drift = [0 if k == axis or x.shape[k] == 1 else steps[k] for k in range(x.ndim)]
    index = source(indices if indices.shape == tuple(shape) else broadcast_to(indices, tuple(shape)))
    # the axes that drift pick nothing and are not kept: extents of 1 stand for them
    return Picked(spot, (axis,), (index,), tuple(shape), (), 0, tuple(drift)), indices, flag


def check_along(x: Array, indices: Any, axis: int, flag: Any) -> None:
    if flag is not None and flag.get()[0]:
        check_on_host(indices.get(), axis, x.shape[axis])


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1, checked: bool = True) -> Any:
    session = device_of(arr, indices)
    (arr,) = arrays(session, [arr])
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr, axis = arr.reshape(-1), 0
    axis = normalize_axis_index(axis, arr.ndim)
    p, index, flag = along(arr, indices, axis)
    flag = flag if checked else None
    y = picked(session, p, flag, arr.dtype)
    check_along(arr, index, axis, flag)
    return y


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    if not hasattr(arr, "layout"):
        raise TypeError("put_along_axis: arr is an array of the host's, the others are on a device")
    if axis is None:
        if not arr.flags.c_contiguous:
            raise unsupported("np.put_along_axis(axis=None) of an array that is not contiguous")
        arr, axis = arr.reshape(-1), 0
    axis = normalize_axis_index(axis, arr.ndim)
    p, index, flag = along(arr, indices, axis)
    v = shaped_like(p.result, arr, values)
    if v.size:
        write(arr.session, p, arr, v, flag, None, False)
        check_along(arr, index, axis, flag)


def put_along(indices: Any, x: Array, axis: int) -> Array:
    """An array with `x` at indices that occur once each."""
    out: Array = x.session.empty(x.shape, x.dtype)
    if x.size:
        p, _, _ = along(out, indices, normalize_axis_index(axis, x.ndim))
        write(x.session, p, out, x, None, None, True)
    return out


def add_along(shape: Any, indices: Any, x: Array, axis: int) -> Array:
    """Zeros to which `x` is added at indices along an axis."""
    out: Array = x.session.zeros(shape, x.dtype)
    axis = normalize_axis_index(axis, len(shape))
    if hasattr(indices, "layout") and indices.shape != x.shape or np.shape(indices) != x.shape:
        indices = np.broadcast_to(indices, x.shape)
    p, _, _ = along(out, indices, axis)
    if x.size:
        combine("add", x.session, p, out, x, None)
    return out
