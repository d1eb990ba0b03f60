"""Sorting by CuPy's stable sort of dense rows, and what is read off sorted entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .functions_index import gather
from .functions_moving import nonzero, on_host
from .functions_reduce import flag
from .functions_take import result, take_along_axis
from .table import implements, unsupported
from .views import arrays, device_of

Array = Any  # one of a device: NumPy's stubs know only their own


def dense(x: Array, axis: int) -> Array:
    """The axis last, and all entries one after the other."""
    x = np.moveaxis(x, axis, -1)
    return x if x.flags.c_contiguous else x.copy("C")


def along(x: Array, axis: Any, function: str) -> Array:
    """`xp.sort` or `xp.argsort` along an axis (None: of all entries)."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, normalize_axis_index(axis, x.ndim))
    if x.size < 2 or x.shape[axis] < 2:
        return x.copy() if function == "sort" else np.zeros_like(x, dtype=np.int64)
    session = x.session
    y = session.wrap(getattr(session.xp, function)(dense(x, axis).library(), axis=-1, kind="stable"))
    found: Array = np.moveaxis(y, -1, axis)
    return found


def refuse(order: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    refuse(order)
    return along(a, axis, "sort")


@implements(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    refuse(order)
    return along(a, axis, "argsort")


def check_kth(a: Any, kth: Any, axis: Any) -> None:
    n = a.size if axis is None else a.shape[normalize_axis_index(axis, a.ndim)]
    for k in np.ravel(kth).tolist():
        if not -n <= k < n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Sorted entries are partitioned at every place."""
    refuse(order)
    check_kth(a, kth, axis)
    return along(a, axis, "sort")


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    refuse(order)
    check_kth(a, kth, axis)
    return along(a, axis, "argsort")


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, *,
    equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """How many there are is read back."""
    if return_index or return_inverse or return_counts or axis is not None or not equal_nan:
        raise unsupported("np.unique with more than the values of all entries")
    x = along(ar, None, "sort")
    if not x.size:
        return x
    new = x[1:] != x[:-1]
    if x.dtype.kind == "f":
        new = new & ~(np.isnan(x[1:]) & np.isnan(x[:-1]))
    where = np.concatenate((x.session.full((1,), True, bool), new))
    return gather(x, nonzero(where)[0])


# Quantiles


def rows(a: Array, axis: Any) -> tuple[Array, tuple[int, ...]]:
    """The axes as one last axis; and which they are."""
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    kept = tuple([k for k in range(a.ndim) if k not in axes])
    x = a.transpose(kept + axes).reshape([a.shape[k] for k in kept] + [-1]) if a.size else a
    return x, axes


def kept_shape(a: Array, axes: Any, keepdims: bool) -> list[int]:
    return [1 if k in axes else n for k, n in enumerate(a.shape) if keepdims or k not in axes]


def quantiles(a: Array, q: Any, axis: Any, skip: bool, keepdims: bool) -> Any:
    """By the linear method. `skip`: NaN is passed over, else a row with one is NaN."""
    (q,) = arrays(a.session, [q])
    a = a if a.dtype.kind == "f" else a.astype(np.float64)
    x, axes = rows(a, axis)
    x = along(x, -1, "sort")
    n = x.shape[-1]
    gone = np.isnan(x)
    there: Any = n - np.sum(gone, axis=-1, keepdims=True) if skip else n
    last = np.maximum(there - 1, 0)
    place = q.reshape(-1) * last
    low = np.clip(np.floor(place), 0, last).astype(np.int64)
    weight = (place - low).astype(np.result_type(a.dtype, q.dtype), copy=False)
    high = np.minimum(low + 1, last)
    shape = (*x.shape[:-1], q.size)
    first, second = (take_along_axis(x, np.broadcast_to(k, shape), -1, False) for k in (low, high))
    gap = second - first
    y = np.where(weight >= 0.5, second - gap * (1 - weight), first + gap * weight)
    y = np.where(first == second, first, y)
    if not skip:
        y = np.where(gone[..., n - 1 :], np.nan, y)  # NaN is sorted last
    y = np.moveaxis(y, -1, 0).reshape([*q.shape, *kept_shape(a, axes, keepdims)])
    y = y.astype(np.result_type(a.dtype, q.dtype), copy=False)
    y.scalar = not y.ndim
    return y


def checked(a: Any, q: Any, scale: float, method: Any, weights: Any, interpolation: Any) -> tuple[Any, Any]:
    if method != "linear" or weights is not None or interpolation not in (None, "linear"):
        raise unsupported(f"np.quantile with method={method!r} or weights")
    session = device_of(a, q)
    (a,) = arrays(session, [a])
    host = on_host(q) if not hasattr(q, "layout") else None
    if host is not None:
        host = np.asarray(host) / scale if scale != 1 else np.asarray(host)
        if not np.all((host >= 0) & (host <= 1)):
            raise ValueError(f"{'Percentiles' if scale == 100 else 'Quantiles'} must be in the range [0, {int(scale)}]")
        if host.ndim == 0 and a.dtype.kind == "f":
            host = host.astype(a.dtype)  # a number decides on no dtype
        return a, host
    return a, q / scale if scale != 1 else q


def quantile(function: Any, scale: float, skip: bool) -> None:
    @implements(function)
    def find(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: Any = False, *, weights: Any = None, interpolation: Any = None,
    ) -> Any:  # fmt: skip
        a, q = checked(a, q, scale, method, weights, interpolation)
        return result(quantiles(a, q, axis, skip, flag(keepdims)), out)


quantile(np.quantile, 1, False)
quantile(np.percentile, 100, False)
quantile(np.nanquantile, 1, True)
quantile(np.nanpercentile, 100, True)


def middle(function: Any, skip: bool) -> None:
    @implements(function)
    def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
        half = np.asarray(0.5, a.dtype if a.dtype.kind == "f" else np.float64)
        if not a.size:
            return result(np.mean(a, axis=axis, keepdims=flag(keepdims)), out)
        return result(quantiles(a, half, axis, skip, flag(keepdims)), out)


middle(np.median, False)
middle(np.nanmedian, True)
