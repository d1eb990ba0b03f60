"""NumPy's functions that look at arrays in another way, make new ones, or put several together."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .expressions import call
from .layouts import laid_out, packed
from .spots import dtype_of
from .table import implements
from .ufuncs import Operands, apply, settled

if TYPE_CHECKING:
    from .array import DeviceArray

umath_clip = np._core.umath.clip  # type: ignore[attr-defined]


def device_of(*xs: Any) -> Any:
    """The session of the first array of a device."""
    for x in xs:
        if hasattr(x, "layout"):
            return x.session
        if isinstance(x, (list, tuple)) and (found := device_of(*x)) is not None:
            return found
    return None


def arrays(session: Any, xs: Any) -> list[DeviceArray]:
    """Operands as arrays of the device; a number waits to be filled in."""
    return [x if hasattr(x, "layout") else of_host(session, np.asarray(x)) for x in xs]


def of_host(session: Any, x: np.ndarray) -> DeviceArray:
    found: DeviceArray = session.full((), x[()], x.dtype) if x.ndim == 0 else session.array(x)
    return found


# Views


def by_layout(function: Any) -> None:
    """A function of which NumPy makes a view, so that its layout says everything."""

    @implements(function)
    def look(x: DeviceArray, *args: Any, **kwargs: Any) -> DeviceArray:
        y = x.view_of(function(x.layout, *args, **kwargs))
        if function is np.diagonal:
            y._writeable = False
        return y


VIEWS: tuple[Any, ...] = (
    np.moveaxis, np.rollaxis, np.swapaxes, np.expand_dims, np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal,
    np.matrix_transpose, np.permute_dims, np.linalg.diagonal, np.linalg.matrix_transpose,
)  # fmt: skip
for _function in VIEWS:
    by_layout(_function)


@implements(np.transpose)
def transpose(a: DeviceArray, axes: Any = None) -> DeviceArray:
    return a.transpose(axes)


@implements(np.squeeze)
def squeeze(a: DeviceArray, axis: Any = None) -> DeviceArray:
    return a.squeeze(axis)


@implements(np.reshape)
def reshape(a: DeviceArray, /, shape: Any, order: Any = "C", *, copy: Any = None) -> DeviceArray:
    return a.reshape(shape, order=order, copy=copy)


@implements(np.ravel)
def ravel(a: DeviceArray, order: Any = "C") -> DeviceArray:
    return a.ravel(order)


@implements(np.broadcast_to)
def broadcast_to(array: DeviceArray, shape: Any, subok: bool = False) -> DeviceArray:
    y = array.view_of(np.broadcast_to(array.layout, shape))
    y._writeable = False
    return y


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[DeviceArray, ...]:
    xs = arrays(device_of(*args), args)
    shape = np.broadcast_shapes(*[x.shape for x in xs])
    return tuple([x if x.shape == shape else broadcast_to(x, shape) for x in xs])


def at_least(n: int, function: Any) -> None:
    @implements(function)
    def one_or_more(*xs: Any) -> Any:
        found = [x.view_of(function(x.layout)) if x.ndim < n else x for x in arrays(device_of(*xs), xs)]
        return found[0] if len(found) == 1 else tuple(found)


at_least(1, np.atleast_1d)
at_least(2, np.atleast_2d)
at_least(3, np.atleast_3d)


def split_by_layout(function: Any) -> None:
    @implements(function)
    def split(x: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        return [x.view_of(part) for part in function(x.layout, *args, **kwargs)]


SPLITS: tuple[Any, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
for _function in SPLITS:
    split_by_layout(_function)


@implements(np.unstack)
def unstack(x: DeviceArray, /, *, axis: int = 0) -> Any:
    layout = np.moveaxis(x.layout, axis, 0)
    return tuple([x.view_of(layout[k, ...]) for k in range(len(layout))])


@implements(np.real)
def real(val: DeviceArray) -> Any:
    return val.real


@implements(np.imag)
def imag(val: DeviceArray) -> Any:
    return val.imag


# What is known without looking


@implements(np.shape)
def shape_of(a: DeviceArray) -> Any:
    return a.shape


@implements(np.ndim)
def ndim(a: DeviceArray) -> int:
    return a.ndim  # type: ignore[no-any-return]


@implements(np.size)
def size(a: DeviceArray, axis: Any = None) -> Any:
    return a.size if axis is None else prod([a.shape[k] for k in normalize_axis_tuple(axis, a.ndim)])


@implements(np.iscomplexobj)
def iscomplexobj(x: DeviceArray) -> bool:
    return x.dtype.kind == "c"  # type: ignore[no-any-return]


@implements(np.isrealobj)
def isrealobj(x: DeviceArray) -> bool:
    return x.dtype.kind != "c"  # type: ignore[no-any-return]


@implements(np.result_type)
def result_type(*xs: Any) -> Any:
    return np.result_type(*[x.dtype if hasattr(x, "layout") else x for x in xs])


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype, to, casting)


@implements(np.min_scalar_type)
def min_scalar_type(a: DeviceArray) -> Any:
    return a.dtype


@implements(np.common_type)
def common_type(*xs: Any) -> Any:
    return np.common_type(*[np.empty((), x.dtype) for x in xs])


def shared(exact: bool) -> Callable[..., bool]:
    def share(a: Any, b: Any, max_work: Any = None) -> bool:
        if not (hasattr(a, "layout") and hasattr(b, "layout")):
            return False
        owners = [x if x.base is None else x.base for x in (a, b)]
        if owners[0] is not owners[1] and (owners[0]._buffer is None or owners[0]._buffer is not owners[1]._buffer):
            return False
        return np.shares_memory(a.layout, b.layout) if exact else np.may_share_memory(a.layout, b.layout)

    return share


implements(np.shares_memory)(shared(True))
implements(np.may_share_memory)(shared(False))

# New arrays


def like(function: Any, value: Any) -> None:
    @implements(function)
    def make(
        a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        return filled_like(a, value, dtype, order, shape)


def filled_like(a: DeviceArray, value: Any, dtype: Any, order: Any, shape: Any) -> Any:
    """An array that waits to be filled, laid out like another one."""
    dtype = dtype_of(a.dtype if dtype is None else dtype)
    layout = laid_out(a.shape if shape is None else shape, dtype) if shape is not None else ordered(a, dtype, order)
    y = a.session.full((), 0 if value is None else value, dtype)
    return a.session.lazy(y.operand(), layout)


def ordered(a: DeviceArray, dtype: Any, order: Any) -> np.ndarray:
    if order == "F" or (order == "A" and a.flags.fnc):
        return laid_out(a.shape[::-1], dtype).T
    return packed(a.shape, dtype, [a.layout] if order == "K" else [])


like(np.zeros_like, 0)
like(np.ones_like, 1)


@implements(np.empty_like)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
) -> Any:
    dtype = dtype_of(prototype.dtype if dtype is None else dtype)
    layout = laid_out(shape, dtype) if shape is not None else ordered(prototype, dtype, order)
    session = prototype.session
    return session.owner(layout, session.buffer(layout.size * layout.itemsize))


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    if not hasattr(a, "layout"):  # the value is an array of the device
        a = device_of(fill_value).zeros(np.shape(a), np.asarray(a).dtype)
    y = filled_like(a, 0, dtype, order, shape)
    if hasattr(fill_value, "layout") or np.ndim(fill_value):
        y[...] = fill_value
        return y
    return filled_like(a, fill_value, dtype, order, shape)


@implements(np.copy)
def copy(a: DeviceArray, order: Any = "K", subok: bool = False) -> DeviceArray:
    y: DeviceArray = a.copy(order)
    y.scalar = False
    return y


@implements(np.astype)
def astype(x: DeviceArray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return x.astype(dtype, copy=copy)


@implements(np.copyto)
def copyto(dst: DeviceArray, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


# Choices


@implements(np.where)
def where(condition: Any, /, *choices: Any) -> Any:
    session = device_of(condition, *choices)
    if not choices:
        return np.nonzero(condition)
    condition, x, y = [settled(session, v) for v in (condition, *choices)]
    dtype = np.result_type(*[v if not hasattr(v, "dtype") else v.dtype for v in (x, y)])
    x, y = [v if hasattr(v, "layout") else np.asarray(v).astype(dtype)[()] for v in (x, y)]  # they may wrap around
    region = Operands(session, [condition, x, y], None)
    args = (region.expression(condition, np.dtype(bool)), region.expression(x, dtype), region.expression(y, dtype))
    return region.result(call("where", args, dtype), False)


@implements(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **kwargs: Any
) -> Any:
    low = a_min if a_min is not None and a_min is not np._NoValue else min
    high = a_max if a_max is not None and a_max is not np._NoValue else max
    low = None if low is np._NoValue else low
    high = None if high is np._NoValue else high
    session = device_of(a, low, high, out)
    if np.dtype(a.dtype).kind in "iu":  # a bound beyond what there is bounds nothing
        low = None if type(low) is int and low <= np.iinfo(a.dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(a.dtype).max else high
    if low is None and high is None:
        return apply(session, np.positive, (a,), out, **kwargs)
    if low is None:
        return apply(session, np.minimum, (a, high), out, **kwargs)
    if high is None:
        return apply(session, np.maximum, (a, low), out, **kwargs)
    return apply(session, umath_clip, (a, low, high), out, **kwargs)


@implements(np.round, np.around)
def round_(a: DeviceArray, decimals: int = 0, out: Any = None) -> Any:
    """As NumPy does it: multiplied, rounded to even, divided."""
    if a.dtype.kind in "iub":
        if decimals >= 0:
            return a.copy() if out is None else apply(a.session, np.positive, (a,), out)
        scaled = apply(a.session, np.rint, (a / 10**-decimals,))
        return apply(a.session, np.multiply, (scaled, 10**-decimals)).astype(a.dtype)
    if a.dtype.kind == "c":
        return apply(a.session, np.add, (round_(a.real, decimals), round_(a.imag, decimals) * 1j), out)
    if decimals == 0:
        return apply(a.session, np.rint, (a,), out)
    first, second = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    factor = 10 ** abs(decimals)
    scaled = apply(a.session, np.rint, (apply(a.session, first, (a, factor)),))
    return apply(a.session, second, (scaled, factor), out)
