"""The functions that rules of derivatives use, on arrays of a device: the counterpart of `PLAIN` in ops/plain.py.

NumPy's own functions serve where they find their way to the device by themselves. What has no array among its arguments
(`zeros`, `indices`, ...) belongs to a session: `session.ops` has those of that session.

No rule is asked to wait for the device. A rule that asks `finite(x)` wants to know whether a product may be taken
without care: the answer is False, so it takes the careful way, which here is one more selection in the same kernel.
`known_finite(x)` is for ways that cost more than an answer: it reads back.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..ops.plain import PLAIN
from . import functions_scipy, kernels_scan, kernels_window, making, strict
from .functions_index import combine_at, gather
from .functions_key import known, source
from .functions_numbers import grid, iota, uniform
from .functions_reduce import NO, extreme, flag
from .functions_scan import accumulated
from .functions_sort import along
from .functions_take import add_along, put_along, take_along_axis
from .views import device_of

Array = Any  # one of a device: NumPy's stubs know only their own


def on_device(*xs: Any) -> bool:
    return any(hasattr(x, "layout") for x in xs)


class Device:
    """What needs another way than NumPy's function of that name."""

    quick = False  # whether a way that has to be checked afterwards is worth trying first
    indexed = False  # an index costs kernels of its own, a selection none
    once: Any = staticmethod(lambda x: x)

    @staticmethod
    def finite(x: Any) -> bool:
        """By design False for an array of the device: see the top of this file."""
        return False if on_device(x) else bool(PLAIN.finite(x))

    @staticmethod
    def possible(x: Any) -> Any:
        """By design True for an array of the device."""
        return True if on_device(x) else PLAIN.possible(x)

    @staticmethod
    def known_finite(x: Any) -> bool:
        return bool(np.all(np.isfinite(x)))

    bilinear = staticmethod(strict.bilinear)

    @staticmethod
    def times(g: Any, x: Any) -> Any:
        """`g * x`, exactly zero where `g` is."""
        return np.where(np.equal(g, 0), 0, np.multiply(g, x)) if on_device(g, x) else PLAIN.times(g, x)

    @staticmethod
    def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
        with strict.side(*strict.sides(a, b)):
            return np.tensordot(a, b, axes)

    @staticmethod
    def row_dots(a: Any, b: Any) -> Any:
        return np.add.reduce(strict.times(a, b) if on_device(a, b) else a * b, axis=-1, keepdims=True)

    @staticmethod
    def row_sums(x: Any) -> Any:
        return np.add.reduce(x, axis=-1, keepdims=True)

    @staticmethod
    def scatter(x: Any, places: Any, shape: Any) -> Any:
        """Zeros of this shape to which the entries of `x` were added at `places`, positions in row-major order."""
        session = device_of(x, places)
        if session is None:
            return PLAIN.scatter(x, places, shape)
        x = making.asarray(x)
        d = session.zeros((prod(shape),), x.dtype)
        if np.size(places):
            combine_at("add", d, np.reshape(places, -1), np.reshape(x, -1), False)
        return d.reshape(shape)

    @staticmethod
    def added(base: Any, places: Any, x: Any) -> Any:
        """A copy of `base` to which the entries of `x` were added, in order, at positions in row-major order."""
        session = device_of(base, places, x)
        if session is None:
            return PLAIN.added(base, places, x)
        dtype = np.result_type(base, x)
        d = (base if on_device(base) else session.array(base)).astype(dtype, order="C")
        if np.size(places):
            combine_at("add", d.reshape(-1), np.reshape(places, -1), np.reshape(x, -1), False)
        return d

    @staticmethod
    def recurrence(a: Any, b: Any) -> Any:
        """`y[0] = b[0]`, `y[k] = a[k]*y[k-1] + b[k]` along the first axis."""
        return ordered(a, b, None, False) if on_device(a, b) else PLAIN.recurrence(a, b)

    @staticmethod
    def scan(a: Any, rows: Any, h: Any, exact: bool = False) -> Any:
        """`h[t] = a[t]*h[t-1] + rows[t]` for all `t`, where `h` comes before the first. `exact`: what is zero stays so
        beside an infinite factor."""
        return ordered(a, rows, h, exact)

    @staticmethod
    def others(reduce: Any, x: Any) -> Any:
        """For every entry along the last axis, the others added or multiplied: those before and those after it."""
        if not on_device(x):
            return PLAIN.others(reduce, x)
        combine, name = reduce.__self__, reduce.__self__.__name__
        before, after = np.full_like(x, combine.identity), np.full_like(x, combine.identity)
        if x.shape[-1] > 1:
            before[..., 1:] = accumulated(name, x[..., :-1], -1, x.dtype)
            after[..., -2::-1] = accumulated(name, x[..., :0:-1], -1, x.dtype)
        return combine(before, after)

    @staticmethod
    def put_along(indices: Any, x: Any, axis: int) -> Any:
        """An array with `x` at the indices along an axis, each of which occurs once."""
        session = device_of(indices, x)
        if session is None:
            return PLAIN.put_along(indices, x, axis)
        return put_along(indices, x if on_device(x) else session.array(x), axis)

    @staticmethod
    def add_along(shape: Any, indices: Any, x: Any, axis: int) -> Any:
        """Zeros to which `x` was added at the indices along an axis."""
        session = device_of(indices, x)
        if session is None:
            return PLAIN.add_along(shape, indices, x, axis)
        return add_along(tuple(shape), indices, x if on_device(x) else session.array(x), axis)

    @staticmethod
    def take(x: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
        """Indices on the device that a rule made itself are in bounds."""
        if not hasattr(indices, "layout") or mode != "raise":
            return PLAIN.take(x, indices, axis, mode=mode)
        x = x if on_device(x) else indices.session.array(x)
        x, axis = (x.reshape(-1), 0) if axis is None else (x, normalize_axis_index(axis, x.ndim))
        return gather(x, (*(slice(None),) * axis, indices), False)

    @staticmethod
    def take_along(x: Any, indices: Any, axis: Any) -> Any:
        """Indices that a rule made itself are in bounds."""
        if not on_device(x, indices):
            return PLAIN.take_along(x, indices, axis)
        return take_along_axis(x, indices, axis, False)

    @staticmethod
    def argsort(x: Any, axis: int = -1, kind: Any = None) -> Any:
        if not on_device(x):
            return np.argsort(x, axis=axis, kind=kind)
        return known(along(x, axis, "argsort"), x.shape[normalize_axis_index(axis, x.ndim)])

    @staticmethod
    def argmax(x: Any, axis: Any = None, keepdims: Any = NO) -> Any:
        if not on_device(x):
            return np.argmax(x, axis=axis, keepdims=flag(keepdims))
        return known(extreme(x, axis, flag(keepdims), True), x.size if axis is None else x.shape[axis])

    @staticmethod
    def windows(x: Any, counts: Any, kernel: Any, stride: Any, padding: Any) -> Any:
        if not on_device(x):
            return PLAIN.windows(x, counts, kernel, stride, padding)
        lead = x.ndim - len(kernel)
        out = x.session.empty((*x.shape[:lead], *kernel, *counts), x.dtype)
        if out.size:
            x.session.launch(kernels_window.windows(source(x), x.session.spot(out), kernel, stride, padding))
        return out

    @staticmethod
    def fold(w: Any, extents: Any, kernel: Any, stride: Any, padding: Any) -> Any:
        if not on_device(w):
            return PLAIN.fold(w, extents, kernel, stride, padding)
        out = w.session.empty((*w.shape[: w.ndim - 2 * len(kernel)], *extents), w.dtype)
        if out.size:
            w.session.launch(kernels_window.fold(source(w), w.session.spot(out), kernel, stride, padding))
        return out

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        """Entries of `x` where the condition holds, else of `y`; a plain choice for a plain condition."""
        plain = condition is True or condition is np.True_ or condition is False or condition is np.False_
        if not on_device(condition, x, y):
            return PLAIN.where(condition, x, y)
        if not plain:
            return np.where(condition, x, y)
        chosen, other = (x, y) if condition else (y, x)
        return np.full_like(other, chosen) if type(chosen) is int and on_device(other) else chosen

    @staticmethod
    def truth(x: Any) -> Any:
        return x != 0 if on_device(x) else PLAIN.truth(x)

    @staticmethod
    def zeros_like(x: Any) -> Any:
        return np.zeros_like(x) if on_device(x) else PLAIN.zeros_like(x)

    @staticmethod
    def imaginary(x: Any) -> Any:
        """`1j*x` without what 0*inf would make of the real part."""
        if not on_device(x):
            return PLAIN.imaginary(x)
        z = x.session.zeros(x.shape, np.result_type(x.dtype, np.complex64))
        z.imag = x
        return z

    @staticmethod
    def solve_triangular(a: Any, b: Any, trans: int = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
        f = functions_scipy.solve_triangular if on_device(a, b) else PLAIN.solve_triangular
        return f(a, b, trans, lower, unit_diagonal)

    @staticmethod
    def expm(a: Any) -> Any:
        return functions_scipy.expm(a) if on_device(a) else PLAIN.expm(a)

    @staticmethod
    def polygamma(n: Any, x: Any) -> Any:
        return functions_scipy.polygamma(n, x) if on_device(x) else PLAIN.polygamma(n, x)

    @staticmethod
    def jv(v: Any, x: Any) -> Any:
        return functions_scipy.jv(v, x) if on_device(x) else PLAIN.jv(v, x)

    asarray = staticmethod(lambda x, dtype=None: making.asarray(x, dtype) if device_of(x) else np.asarray(x, dtype))


def ordered(a: Any, b: Any, initial: Any, exact: bool) -> Any:
    """A linear recurrence along the first axis, a thread for each line."""
    session = device_of(a, b, initial)
    arrays = [x if on_device(x) else session.array(x) for x in ((a, b) if initial is None else (a, b, initial))]
    dtype = np.result_type(*[x.dtype for x in arrays])
    a, b, *rest = [x.astype(dtype, copy=False) for x in arrays]
    shape = b.shape
    out: Array = session.empty(shape, dtype)
    if out.size:
        a = a if a.shape == shape else np.broadcast_to(a, shape)
        rest = [x if x.shape == shape[1:] else np.broadcast_to(x, shape[1:]) for x in rest]
        first = source(rest[0]) if rest else None
        session.launch(kernels_scan.recurrence(source(a), source(b), session.spot(out), first, exact))
    return out


def bound(session: Any, ops: Any) -> dict[str, Callable[..., Any]]:
    """The functions that make something of nothing, for one session."""

    def zeros(shape: Any, dtype: Any) -> Any:
        return session.zeros(shape, dtype)

    def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
        if stop is None:
            start, stop = 0, start
        if any(type(v) is not int for v in (start, stop, step)) or (dtype is not None and np.dtype(dtype).kind == "f"):
            return session.array(PLAIN.arange(start, stop, step, dtype))
        return iota(session, len(range(start, stop, step)), np.int64 if dtype is None else dtype, start, step)

    def indices(shape: Any) -> Any:
        return grid(session, tuple(shape))

    def draws(shape: Any, seed: int, node: int, dtype: Any) -> Any:
        return uniform(session, shape, seed, node, np.dtype(dtype))

    def by_rows(rule: Any, *arrays: Any, **settings: Any) -> Any:
        return rule(ops, *arrays, **settings)

    return {"zeros": zeros, "arange": arange, "indices": indices, "uniform": draws, "by_rows": by_rows}


def namespace(session: Any) -> Any:
    """The functions as a module: NumPy's, those of `Device`, those of the session."""
    module = ModuleType("device")
    for name, function in vars(PLAIN).items():
        if not name.startswith("__"):
            setattr(module, name, function)
    for name in vars(Device):
        if not name.startswith("__"):
            setattr(module, name, getattr(Device, name))
    for name, function in bound(session, module).items():
        setattr(module, name, function)
    module.session = session  # type: ignore[attr-defined]
    return module
