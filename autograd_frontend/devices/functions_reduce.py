"""Statistics over axes, made of sums and extremes; places of extremes; comparisons of whole arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import kernels_scan
from .functions_key import source
from .functions_take import result
from .table import implements, method, unsupported
from .views import arrays, device_of

Array = Any  # one of a device: NumPy's stubs know only their own

NO = np._NoValue


def flag(keepdims: Any) -> bool:
    return keepdims is not NO and bool(keepdims)


def mask_of(where: Any) -> Any:
    return True if where is NO or where is True else where


def chosen(where: Any, x: Any, other: Any) -> Any:
    return x if where is True else np.where(where, x, other)


def extents(a: Any, axis: Any) -> int:
    axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return prod([a.shape[k] for k in axes])


def counted(a: Any, axis: Any, where: Any) -> Any:
    """How many entries are taken: a number, or under a mask an array with the axes kept."""
    if where is True:
        return extents(a, axis)
    return np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=True, dtype=np.int64)


def dropped(y: Any, axis: Any, keepdims: bool) -> Any:
    """The result with or without the axes that were kept so far."""
    if keepdims or not y.ndim:
        return y
    return np.squeeze(y, tuple(range(y.ndim)) if axis is None else normalize_axis_tuple(axis, y.ndim))[()]


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(a != 0, axis=axis, keepdims=keepdims, dtype=np.int64)


@implements(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO, *,
    where: Any = NO, mean: Any = NO, correction: Any = NO,
) -> Any:  # fmt: skip
    """The mean of the squared distances from the mean; of float16 in float32."""
    if correction is not NO:
        ddof = correction
    where = mask_of(where)
    final = np.dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind in "fc" else np.dtype(float)
    x = a.astype(np.float32 if final == np.float16 else final, copy=False)
    n = counted(x, axis, where)
    if mean is NO or mean is None:
        mean = np.sum(chosen(where, x, 0), axis=axis, keepdims=True) / n
    d = x - mean
    square = (d * np.conjugate(d)).real if d.dtype.kind == "c" else d * d
    total = np.sum(chosen(where, square, 0), axis=axis, keepdims=True)
    y = total / (max(n - ddof, 0) if where is True else np.maximum(n - ddof, 0))
    y = dropped(y, axis, flag(keepdims))
    real = final.type(0).real.dtype
    return result(y.astype(real, copy=False), out)


@implements(np.std)
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO, **kw: Any
) -> Any:
    return result(np.sqrt(var(a, axis, dtype, None, ddof, keepdims, **kw)), out)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO) -> Any:
    k = flag(keepdims)
    return result(np.max(a, axis=axis, keepdims=k) - np.min(a, axis=axis, keepdims=k), out)


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO) -> Any:
    k = flag(keepdims)
    (a,) = arrays(device_of(a, weights), [a])
    if weights is None:
        y = np.mean(a, axis=axis, keepdims=k)
        total: Any = np.full_like(y, extents(a, axis))
        return (y, total) if returned else y
    w: Any = arrays(a.session, [weights])[0]
    dtype = np.result_type(a.dtype, w.dtype, *(("f8",) if a.dtype.kind in "biu" else ()))
    if w.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = normalize_axis_tuple(axis, a.ndim)
        if w.shape != tuple([a.shape[n] for n in axes]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = w.transpose(sorted(range(len(axes)), key=axes.__getitem__))
        w = w.reshape([n if d in axes else 1 for d, n in enumerate(a.shape)])
        w = np.broadcast_to(w, a.shape)
    total = np.sum(w, axis=axis, dtype=dtype, keepdims=k)
    if bool(np.any(total == 0)):  # read back: NumPy raises
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    y = np.sum(np.multiply(a, w, dtype=dtype), axis=axis, keepdims=k) / total
    return (y, np.broadcast_to(total, y.shape).copy()) if returned else y


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return result(np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype), out)


@implements(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


# Places of extremes


def extreme(x: Array, axis: Any, keepdims: bool, largest: bool) -> Any:
    if x.dtype.kind == "c":
        raise unsupported(f"np.arg{'max' if largest else 'min'} of complex numbers")
    axes = tuple(range(x.ndim)) if axis is None else (normalize_axis_index(axis, x.ndim),)
    if not prod([x.shape[k] for k in axes]):
        raise ValueError(f"attempt to get arg{'max' if largest else 'min'} of an empty sequence")
    kept = tuple([1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes])
    y = x.session.empty(kept, np.int64)
    if y.size:
        x.session.launch(kernels_scan.extreme(source(x), x.session.spot(y), axes, largest))
    y.scalar = not kept
    return y


@implements(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    return result(extreme(a, axis, flag(keepdims), True), out)


@implements(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    return result(extreme(a, axis, flag(keepdims), False), out)


def nan_place(a: Any, axis: Any, keepdims: Any, largest: bool) -> Any:
    if a.dtype.kind != "f":
        return extreme(a, axis, flag(keepdims), largest)
    gone = np.isnan(a)
    if bool(np.any(np.all(gone, axis=axis))):  # read back: NumPy raises
        raise ValueError("All-NaN slice encountered")
    return extreme(np.where(gone, -np.inf if largest else np.inf, a), axis, flag(keepdims), largest)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    return result(nan_place(a, axis, keepdims, True), out)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NO) -> Any:
    return result(nan_place(a, axis, keepdims, False), out)


# What passes over NaN


def numbers(a: Any, value: Any) -> Any:
    """`a` with a number in place of NaN."""
    return np.where(np.isnan(a), value, a) if a.dtype.kind in "fc" else a


def given(where: Any, initial: Any, keepdims: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"keepdims": flag(keepdims)}
    if initial is not NO:
        found["initial"] = initial
    if where is not NO:
        found["where"] = where
    return found


@implements(np.nansum)
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO, initial: Any = NO, where: Any = NO
) -> Any:
    return np.sum(numbers(a, 0), axis, dtype, out, **given(where, initial, keepdims))


@implements(np.nanprod)
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO, initial: Any = NO, where: Any = NO
) -> Any:
    return np.prod(numbers(a, 1), axis, dtype, out, **given(where, initial, keepdims))


def nan_extreme(ufunc: Any, worst: float, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    if a.dtype.kind != "f":
        return result(ufunc.reduce(a, axis=axis, **given(where, initial, keepdims)), out)
    gone = np.isnan(a)
    settings = given(where, initial, keepdims)
    y = ufunc.reduce(np.where(gone, worst, a), axis=axis, **settings)
    if initial is NO:
        settings.pop("where", None)
        y = np.where(np.all(gone, axis=axis, keepdims=settings["keepdims"]), np.nan, y)
        y = y.astype(a.dtype, copy=False)
    y.scalar = not y.ndim
    return result(y, out)


@implements(np.nanmax)
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO, initial: Any = NO, where: Any = NO) -> Any:
    return nan_extreme(np.maximum, -np.inf, a, axis, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO, initial: Any = NO, where: Any = NO) -> Any:
    return nan_extreme(np.minimum, np.inf, a, axis, out, keepdims, initial, where)


@method("fmax.reduce")
def fmax_reduce(a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **kw: Any) -> Any:
    return nan_extreme(np.maximum, -np.inf, a, axis, out, keepdims, kw.get("initial", NO), kw.get("where", NO))


@method("fmin.reduce")
def fmin_reduce(a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **kw: Any) -> Any:
    return nan_extreme(np.minimum, np.inf, a, axis, out, keepdims, kw.get("initial", NO), kw.get("where", NO))


def present(a: Any, where: Any) -> Any:
    here = ~np.isnan(a) if a.dtype.kind in "fc" else np.full_like(a, True, dtype=bool)
    return here if mask_of(where) is True else here & where


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO, *, where: Any = NO
) -> Any:
    return np.mean(numbers(a, 0), axis, dtype, out, flag(keepdims), where=present(a, where))


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO, *,
    where: Any = NO, mean: Any = NO, correction: Any = NO,
) -> Any:  # fmt: skip
    """As NumPy's: NaN where no degree of freedom is left."""
    here = present(a, where)
    freedom = counted(a, axis, here) - (ddof if correction is NO else correction)
    y = var(numbers(a, 0), axis, dtype, None, ddof, True, where=here, mean=mean, correction=correction)
    y = np.where(freedom <= 0, np.nan, y).astype(y.dtype, copy=False)
    return result(dropped(y, axis, flag(keepdims)), out)


@implements(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = NO, **kw: Any
) -> Any:
    return result(np.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, **kw)), out)


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    if fweights is not None or aweights is not None:
        raise unsupported("np.cov with weights")
    m, *more = arrays(device_of(m, y), [m] if y is None else [m, y])
    sets = []
    for x in (m, *more):
        x = x.astype(dtype or np.result_type(x.dtype, np.float64), copy=False)
        x = x.reshape(1, -1) if x.ndim < 2 else x
        sets.append(x if rowvar or x.shape[0] == 1 and m.ndim < 2 else x.T)
    x = sets[0] if len(sets) == 1 else np.concatenate(sets)
    if ddof is None:
        ddof = 0 if bias else 1
    n = x.shape[1]
    x = x - np.mean(x, axis=1, keepdims=True)
    return np.squeeze((x @ np.conjugate(x).T) * np.true_divide(1, max(n - ddof, 0)))


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    d = np.sqrt(np.diagonal(c).real)
    return np.clip(c / d[:, None] / d, -1, 1)


# Whole arrays compared: read back


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    near = np.less_equal(np.abs(np.subtract(a, b)), atol + rtol * np.abs(b)) & np.isfinite(b) | np.equal(a, b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if np.shape(a1) != np.shape(a2):
        return False
    same = np.equal(a1, a2)
    return bool(np.all(same | (np.isnan(a1) & np.isnan(a2)) if equal_nan else same))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return bool(np.all(np.equal(a1, a2)))
