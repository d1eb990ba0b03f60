"""Reading and writing parts of arrays of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .expressions import call, cast, scalar
from .layouts import laid_out, same
from .ufuncs import PYTHON, Operands, settled, store

if TYPE_CHECKING:
    from .array import DeviceArray

BOOL = np.dtype(bool)
PLAIN = frozenset({int, slice, type(None), type(Ellipsis)})


def is_basic(key: Any) -> bool:
    """Whether an index is made of integers, slices, None and Ellipsis: what it shows is a view."""
    if type(key) in PLAIN:
        return True
    if type(key) is tuple:
        return all(type(k) in PLAIN or is_basic_part(k) for k in key)
    return is_basic_part(key)


def is_basic_part(k: Any) -> bool:
    if type(k) in PLAIN:
        return True
    return isinstance(k, np.integer) and not hasattr(k, "layout") or (hasattr(k, "__index__") and not lists(k))


def lists(k: Any) -> bool:
    """Whether a part of an index picks entries one by one."""
    return hasattr(k, "layout") or isinstance(k, (list, tuple, bool, np.bool_, np.ndarray))


def shown(x: DeviceArray, key: Any) -> tuple[np.ndarray, bool]:
    """The layout of a basic index, and whether it is one entry. An Ellipsis more keeps NumPy from reading it."""
    parts = key if type(key) is tuple else (key,)
    if any(k is Ellipsis for k in parts):
        return x.layout[key], False
    layout = x.layout[(*parts, ...)]
    return layout, layout.ndim == 0


def get_item(x: DeviceArray, key: Any) -> Any:
    if not is_basic(key):
        from . import functions

        return functions.gather(x, key)
    layout, entry = shown(x, key)
    if not entry:
        return x.view_of(layout)
    if x.scalar:
        return x
    y = x.view_of(layout)
    return x.session.lazy(y.operand(), laid_out((), x.dtype), None, True)  # what it is now, whatever is written later


def set_item(x: DeviceArray, key: Any, value: Any) -> None:
    if x.scalar:
        raise TypeError(f"'{x.dtype.type.__module__}.{x.dtype.type.__name__}' object does not support item assignment")
    if not x._writeable:
        raise ValueError("assignment destination is read-only")
    if is_basic(key):
        layout, _ = shown(x, key)
        y = x if same(layout, x.layout) else x.view_of(layout)
        assign(y, value)
        return
    mask = settled(x.session, key) if is_mask(x, key) else None
    if mask is not None and np.size(value) == 1:
        fill_where(x, mask, value)
        return
    from . import functions

    functions.put(x, key, value)


def is_mask(x: DeviceArray, key: Any) -> bool:
    return type(key) is not tuple and getattr(key, "dtype", None) == BOOL and key.shape == x.shape and x.ndim > 0


def assign(y: DeviceArray, value: Any) -> None:
    """Every entry of `y` becomes that of `value`, which broadcasts."""
    value = settled(y.session, value)
    if not hasattr(value, "layout"):
        y.session.write(y, scalar(entry_of(value, y.dtype), y.dtype))
        return
    while value.ndim > y.ndim and value.shape[0] == 1:
        value = value.view_of(value.layout[0, ...])
    try:
        fits = np.broadcast_shapes(value.shape, y.shape) == y.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {y.shape}")
    if value.expr is not None and value.expr.kind == "call":  # computed in the kernel that stores it, but once only
        if value._used and value.rows is None:
            y.session.memory_of(value)
        value._used = True
    region = Operands(y.session, [value], value.shape)
    store(region, y, region.expression(value, value.dtype))


def entry_of(value: Any, dtype: np.dtype) -> Any:
    """A number of the host's as NumPy stores it in an array."""
    place = np.empty((), dtype)
    with np.errstate(all="ignore"):
        place[()] = value if type(value) in PYTHON or type(value) is bool else value.astype(dtype)
    return place[()]


def fill_where(x: DeviceArray, mask: Any, value: Any) -> None:
    """`x[mask] = value` of a mask of the whole and one number: nothing has to be counted."""
    value = settled(x.session, value)
    if hasattr(value, "layout"):
        new = cast(value.reshape(()).operand(), x.dtype)
    else:
        new = scalar(entry_of(value, x.dtype), x.dtype)
    region = Operands(x.session, [x, mask], x.shape)
    e = call("where", (region.expression(mask, np.dtype(bool)), new, region.expression(x, x.dtype)), x.dtype)
    store(region, x, e)
