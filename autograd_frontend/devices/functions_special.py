"""Functions of NumPy that are made of its ufuncs, entry by entry; and those of SciPy, which has no table of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .functions_take import result
from .table import implements

BY_PATH: dict[str, Any] = {}  # path of a callable -> what it is on arrays of a device


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    y = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0.0, z)
    return y * (180 / np.pi) if deg else y


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind == "c":
        y = x.copy()
        y.real, y.imag = nan_to_num(x.real, True, nan, posinf, neginf), nan_to_num(x.imag, True, nan, posinf, neginf)
    elif x.dtype.kind == "f":
        limits = np.finfo(x.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        y = np.where(np.isnan(x), nan, np.where(x == np.inf, high, np.where(x == -np.inf, low, x)))
        y = y.astype(x.dtype, copy=False)
    else:
        y = x.copy()
    if copy:
        y.scalar = x.scalar
        return y
    x[...] = y
    return x


@implements(np.sinc)
def sinc(x: Any) -> Any:
    t = np.pi * np.where(x == 0, 1.0e-20, x)
    y: Any = np.sin(t) / t
    y.scalar = x.scalar
    return y


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    return result(np.trunc(x), out)


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    return result(x == np.inf, out)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    return result(x == -np.inf, out)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return x.imag != 0


@implements(np.isreal)
def isreal(x: Any) -> Any:
    return x.imag == 0


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    if a.dtype.kind != "c":
        return a
    tol = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return a.real if bool(np.all(np.abs(a.imag) < tol)) else a


def by_path(path: str) -> Callable[[Any], Any]:
    def put(f: Any) -> Any:
        BY_PATH[path] = f
        return f

    return put


@by_path("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@by_path("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    y = x - np.max(x, axis=axis, keepdims=True)
    return y - np.log(np.sum(np.exp(y), axis=axis, keepdims=True))


@by_path("scipy.special.logsumexp")
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    if return_sign:
        raise TypeError("return_sign=True")
    if b is not None:
        a = np.where(np.equal(b, 0), -np.inf, a)
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(a - top)
    e = e if b is None else b * e
    y = np.log(np.sum(e, axis=axis, keepdims=keepdims))
    return y + (top if keepdims else np.sum(top, axis=axis))


@by_path("scipy.integrate.trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return np.trapezoid(y, x, dx, axis)


@by_path("scipy.linalg.norm")
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.norm(a, ord, axis, keepdims)
