"""Arrays of a device made of what is at hand: nested lists, numbers, other arrays."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import numpy as np

from ..ops.plain import PLAIN
from .joining import stack
from .layouts import laid_out, reshaped
from .spots import on_device
from .table import FUNCTIONS, unsupported
from .views import broadcast_to, device_of


def array(
    obj: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """`np.array` of what has an array of a device in it."""
    if hasattr(obj, "layout"):
        y = obj.astype(obj.dtype if dtype is None else dtype, order=order, copy=bool(copy))
        if y.scalar:
            y = obj.session.lazy(y.operand(), laid_out((), y.dtype))
        if order in ("C", "F") and not y.flags[order]:
            y = y.copy(order)
    else:
        y = nested(device_of(obj), obj)
        y = y if dtype is None else y.astype(dtype, copy=False)
    return y if y.ndim >= ndmin else y.reshape((1,) * (ndmin - y.ndim) + y.shape)


def nested(session: Any, obj: Any) -> Any:
    """The array of a list of lists of arrays and numbers."""
    if hasattr(obj, "layout"):
        return obj
    if not isinstance(obj, (list, tuple)) or session is None or device_of(obj) is None:
        return np.asarray(obj)
    outer, parts = regular(obj)
    if parts is None:  # lists beside arrays
        outer, parts = (len(obj),), [nested(session, e) for e in obj]
    parts = [x if hasattr(x, "layout") else np.asarray(x) for x in parts]
    shapes = {x.shape for x in parts}
    if len(shapes) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape:"
            f" its parts have the shapes {sorted(shapes)}"
        )
    y = stack(parts, dtype=np.result_type(*[x.dtype for x in parts]))
    return y if len(outer) == 1 else y.reshape(outer + y.shape[1:])


def regular(obj: Any) -> tuple[tuple[int, ...], Any]:
    """The extents of lists inside each other, and what is in the innermost, None where they are not alike."""
    if not isinstance(obj, (list, tuple)):
        return (), [obj]
    inside = [regular(e) for e in obj]
    if len({shape for shape, _ in inside}) != 1 or any(parts is None for _, parts in inside):
        return (), None
    return (len(obj), *inside[0][0]), [x for _, parts in inside for x in parts]


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, device: Any = None, like: Any = None
) -> Any:
    return array(a, dtype, copy=bool(copy), order=order or "K")


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return array(a, dtype, copy=False, order="C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return array(a, dtype, copy=False, order="F", ndmin=1)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    """`np.full` of an array of the device."""
    value = nested(device_of(fill_value), fill_value)
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    return array(broadcast_to(value, shape), dtype, order="F" if order == "F" else "C")


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Any:  # fmt: skip
    """`np.full_like` where one of the two is on the device; laid out as an array of the host's in C order."""
    if hasattr(a, "layout"):
        return np.full_like(a, fill_value, dtype, order, subok, shape)
    return full(np.shape(a) if shape is None else shape, fill_value, np.asarray(a).dtype if dtype is None else dtype)


def exact(x: Any = 0, /) -> Any:
    if device_of(x) is None:
        return np.longdouble(x)
    raise unsupported("np.longdouble")


def converting(kind: Any) -> Any:
    """`np.float32(x)` and the like."""

    def convert(x: Any = 0, /) -> Any:
        if device_of(x) is None:
            return kind.type(x)
        y = nested(device_of(x), x).astype(kind)
        y.scalar = y.ndim == 0
        return y

    return convert


MADE: dict[Any, Any] = {
    np.array: array,
    np.asarray: asarray,
    np.asanyarray: asarray,
    np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asfortranarray,
    np.full: full,
    np.full_like: full_like,
    np.longdouble: exact,
    **{np.dtype(char).type: converting(np.dtype(char)) for char in "?bhilqBHILQefdFD"},
}


OF_RULES = {f: name for name, f in vars(PLAIN).items() if isinstance(f, FunctionType)}  # recorded, in nested.py


def counterpart(call: Any, session: Any) -> Any:
    """What stands here for a function that NumPy does not hand over; the function itself where there is nothing."""
    if isinstance(call, FunctionType) and (name := OF_RULES.get(call)) is not None:
        return getattr(session.ops, name)
    found = MADE.get(call)
    if found is None and (getattr(call, "__module__", None) or "").startswith("scipy."):
        from .functions import BY_PATH

        for path, f in BY_PATH.items():
            module, _, name = path.rpartition(".")
            if getattr(sys.modules.get(module), name, None) is call:
                found = MADE[call] = f
    return call if found is None else found


SEQUENCES: frozenset[Any] = frozenset({  # which take several arrays as their first argument
    np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.linalg.multi_dot,
})  # fmt: skip


def listed(call: Any, args: list[Any]) -> list[Any]:
    """The arguments of a function that NumPy hands over for arrays, not for lists of them."""
    if not args or type(args[0]) not in (list, tuple) or device_of(args[0]) is None:
        return args
    if call in SEQUENCES:
        first = [array(x) if type(x) in (list, tuple) and device_of(x) is not None else x for x in args[0]]
        return [type(args[0])(first), *args[1:]]
    if isinstance(getattr(call, "__self__", None), np.ufunc) or (call in FUNCTIONS and call not in OTHERS):
        return [array(args[0]), *args[1:]]
    return args


OTHERS: frozenset[Any] = frozenset({np.block, np.select, np.einsum})


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """NumPy does not look at the default for arrays of others."""
    return FUNCTIONS[np.select](condlist, choicelist, default)


MADE[np.select] = select


def cotangent(session: Any, x: Any, given: Any, where: str, what: str) -> Any:
    """A cotangent, from the host or from the device, in the shape and dtype of the value `x`."""
    if hasattr(given, "layout"):
        c = given
    elif on_device(given):
        c = session.adopt(given)
    else:
        try:
            c = np.asarray(given)
        except Exception as error:
            raise ValueError(f"the {what} of {where} cannot be read as an array: {error}") from None
    if c.dtype.kind not in ("fiubc" if x.dtype.kind == "c" else "fiub"):
        raise TypeError(f"the {what} of {where} is {c.dtype}, expected real numbers")
    if c.shape != x.shape:
        raise ValueError(f"the {what} of {where} has shape {c.shape}, expected {x.shape}")
    c = session.array(c.astype(x.dtype, copy=False)) if isinstance(c, np.ndarray) and not hasattr(c, "layout") else c
    c = c.astype(x.dtype, copy=False)
    if x.scalar and not c.scalar:
        return c[()]
    return c


class Flat:
    """`x.flat`: the entries in row-major order."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __len__(self) -> int:
        return int(self._x.size)

    def __iter__(self) -> Any:
        return iter(self._x.reshape(-1))

    def __getitem__(self, key: Any) -> Any:
        y = self._x.reshape(-1)[key]
        return y if y.scalar else y.copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        x = self._x
        look = reshaped(x.layout, -1)
        if look is not None:
            x.view_of(look)[key] = value
        elif isinstance(key, (int, np.integer)):
            x[np.unravel_index(int(key) % x.size if -x.size <= key < x.size else key, x.shape)] = value
        else:
            y = x.reshape(-1)
            y[key] = value
            x[...] = y.reshape(x.shape)
