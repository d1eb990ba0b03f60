"""Functions of NumPy that are made of its ufuncs, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from .functions_take import result
from .table import implements


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


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    y = x.view_of(np.lib.stride_tricks.sliding_window_view(x.layout, window_shape, axis, writeable=True))
    y.flags.writeable = writeable
    return y
