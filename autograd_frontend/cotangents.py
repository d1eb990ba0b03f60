"""Arrays of cotangents: laid out as a value is, brought to an operand's shape and dtype, with exact zeros."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .arrays import REMOTE, meeting, remote
from .ops.plain import PLAIN, quiet_sum

ndarray = np.ndarray
float64, vdot = np.float64, np.vdot
COMPLEX128 = np.dtype(complex)


def repeats(key: Any) -> bool:
    """Whether a write through `key` may hit an entry twice."""
    for p in key if type(key) is tuple else (key,):
        if type(p) is list or (isinstance(p, ndarray) and p.dtype != bool and p.size > 1):
            return True
    return False


def winners(shape: tuple[int, ...], key: Any) -> Any:
    """For a write with repeated indices: True where a value was the last one written to its entry."""
    order = np.empty(shape, np.intp)
    picked = order[key]
    rank = np.arange(picked.size).reshape(picked.shape)
    order[key] = rank
    return order[key] == rank


def mirror_like(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...], session: Any = None) -> Any:
    """Zeros with the given strides; of their own where the entries overlap (a broadcast result has no views)."""
    if session is not None:
        dense = meeting(shape, strides, dtype.itemsize)
        return session.zeros(shape, dtype) if dense else session.mirror(shape, dtype, strides)
    m = np.zeros(shape, dtype)
    if m.strides == strides or 0 in shape or meeting(shape, strides, dtype.itemsize):
        return m
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    buffer = np.zeros(-(-(high - low) // dtype.itemsize) + 1, dtype)
    return ndarray(shape, dtype, buffer, -low, strides)


def strong_zero(d: Any, g: Any) -> Any:
    """`d` with exact zeros where the cotangent `g` is zero, if it has a NaN there. On another device nothing is looked
    at: there they are put in place of each NaN."""
    if REMOTE and (remote(d) or remote(g)):
        return np.where(np.logical_and(np.equal(g, 0), np.isnan(d)), 0, d)
    return PLAIN.where(g == 0, 0, d) if has_nan(d) else d


def fitted(d: Any, g: Any, fit: Any) -> Any:
    """`d` with exact zeros where `g` is zero (strong zero), summed to the operand's shape, in its dtype."""
    shape, dtype, strict = fit
    far = REMOTE and (remote(d) or remote(g))
    if strict:
        d = strong_zero(d, g)
    if far:
        d = d if remote(d) else np.asarray(d)
    if shape is None:  # the operand is a Scalar, or a number of the host's
        if far:
            return np.add.reduce(d, axis=None) if d.ndim else d
        return float(quiet_sum(d).real)  # a float32 cotangent must not make the sum of all narrower
    if far or type(d) is ndarray or type(d) is float64:
        if d.shape != shape:
            d = unbroadcast(d, shape)
        if dtype is not None and d.dtype != dtype:
            d = (d if d.dtype.kind != "c" or dtype.kind == "c" else d.real).astype(dtype)
    elif dtype is not None:
        d = d.real if dtype.kind != "c" else d
        d = filled(d, shape, dtype) if shape else dtype.type(d)
    return d


def fit_of(v: Any) -> Any:
    """How a cotangent is fitted to the value `v`, which is no recorded float."""
    return (getattr(v, "shape", ()), COMPLEX128 if type(v) is complex else getattr(v, "dtype", None), False)


def filled(d: Any, shape: tuple[int, ...], dtype: Any) -> ndarray:
    """`d` repeated to this shape. In memory of its own: BLAS does not take arrays without strides."""
    if REMOTE and remote(d):
        return np.copy(np.broadcast_to(d, shape)).astype(dtype, copy=False)
    m = np.empty(shape, dtype)
    m[...] = d
    return m


def has_nan(d: Any) -> bool:
    """Whether there is a NaN, at the cost of one pass and no temporary where BLAS can do it."""
    if type(d) is ndarray:
        return bool(np.isnan(vdot(d, d)) and np.isnan(d).any()) if d.dtype != object else False
    return bool(d != d)


def unbroadcast(d: Any, shape: tuple[int, ...]) -> Any:
    """Sum `d` over the axes that broadcasting added to, or stretched in, an operand of this shape."""
    if d.size == prod(shape):
        return d.reshape(shape)
    extra = d.ndim - len(shape)
    if d.ndim == 0:
        return filled(d, shape, d.dtype)
    if extra < 0:
        d = d.reshape((1,) * -extra + d.shape)
        extra = 0
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and d.shape[i + extra] != 1)
    flat = axes == (0,) and d.ndim == 2 and type(d) is ndarray and d.dtype.char in "df"
    if flat:  # a product with ones: 4 us for 16 at (1000, 10)
        d = (np.ones(d.shape[0], d.dtype) @ d)[None]
    elif axes:
        d = np.add.reduce(d, axis=axes, keepdims=True)
    if extra:
        d = d.reshape(d.shape[extra:])
    return d if d.shape == shape else filled(d, shape, d.dtype)
