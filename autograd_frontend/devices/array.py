"""Arrays of a device. They behave as `np.ndarray` does, but for what would copy them to the host unasked."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from ..arrays import ARRAYS, REMOTE
from . import joining, products, reductions, views
from .expressions import Expr, call, cast, leaf
from .indexing import get_item, set_item
from .layouts import Flags, laid_out, offset_of, packed, repeats, reshaped
from .operators import KNOWN, Operators, known
from .sessions import SMALL, Session
from .spots import Buffer, Spot, dtype_of
from .table import FUNCTIONS, METHODS, Unsupported, implementation, unsupported
from .ufuncs import apply


class DeviceArray(Operators):
    """An array of a device.

    `layout` is how it lies in its memory, `base` the array that owns this, None for itself. The owner has either memory
    or `expr`, from which it is computed when it is needed. `rows`: the shape whose rows that reduces. `scalar`: it
    stands for a NumPy scalar.
    """

    __slots__ = (
        "session", "layout", "base", "_buffer", "expr", "scalar", "rows", "_writeable", "_leaf", "_used",
        "__weakref__",
    )  # fmt: skip
    __array_priority__ = 1000.0  # CuPy's arrays have 100: their operators leave it to ours
    session: Session
    layout: np.ndarray
    base: DeviceArray | None
    _buffer: Buffer | None
    expr: Any

    def __init__(
        self, session: Session, layout: np.ndarray, base: DeviceArray | None, buffer: Buffer | None, e: Expr | None
    ) -> None:
        self.session, self.layout, self.base, self._buffer, self.expr = session, layout, base, buffer, e
        self.scalar, self._writeable, self._used = False, True, False
        self.rows: tuple[int, ...] | None = None
        self._leaf: Expr | None = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self.dtype.type if self.scalar else np.ndarray  # isinstance sees what it stands for

    shape = property(lambda self: self.layout.shape, lambda self, shape: self._set_shape(shape))
    dtype = property(lambda self: self.layout.dtype)
    strides = property(lambda self: self.layout.strides)
    ndim = property(lambda self: self.layout.ndim)
    size = property(lambda self: self.layout.size)
    itemsize = property(lambda self: self.layout.itemsize)
    nbytes = property(lambda self: self.layout.nbytes)
    flags = property(lambda self: Flags(self))
    offset = property(lambda self: 0 if self.base is None else offset_of(self.layout))
    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))
    device = property(lambda self: self.session.name)

    @property
    def buffer(self) -> Buffer | None:
        return (self if self.base is None else self.base)._buffer

    @property
    def address(self) -> int:
        """Where the memory begins that the array looks at."""
        return self.session.memory_of(self).address

    def _set_shape(self, shape: Any) -> None:
        self.session.memory_of(self)
        layout = reshaped(self.layout, shape)
        if layout is None:
            raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy.")
        self.layout, self._leaf = layout, None

    def ref(self) -> Any:
        return weakref.ref(self)

    # As an operand

    def dropped(self) -> bool:
        """Whether its expression has one axis of extent 1 more, at the end."""
        return self.rows is not None and len(self.expr.shape) == self.layout.ndim + 1

    def source(self) -> DeviceArray:
        """The array whose expression this one has: itself, or one that waits of which it is the whole, the entries
        broadcast, or the column of its sums of rows."""
        b = self.base
        if b is None or b.expr is None or self.dtype != b.dtype:
            return self
        if b.rows is None:
            same = repeats(self.layout, b.layout)
        elif b.dropped():
            same = self.shape == b.expr.shape and self.strides[:-1] == b.strides
        else:
            same = self.shape == b.shape and self.strides == b.strides
        return b if same and not self.offset else self

    def operand(self, shape: Any = None, dropped: bool = False) -> Expr:
        """Its expression in a result of a shape, of which the last axis will be dropped or not. Without a shape, one in
        which no rows are reduced. What is long and small is computed, not put into every entry of what is large."""
        if self._leaf is not None and not dropped:
            return self._leaf
        owner = self if self.base is None else self.source()
        e = owner.expr
        if e is not None:
            if owner.rows is not None:
                fits = shape is not None and owner.dropped() == (dropped or owner is not self)
            else:
                fits = not (dropped and self.shape)
                fits = fits and (shape is None or e.size <= SMALL or e.shape == shape or owner.size == prod(shape))
            if fits:
                return e  # type: ignore[no-any-return]
            if e.kind != "leaf" or owner is self:
                self.session.memory_of(self)
        spot = self.session.readable(self)
        if dropped and self.shape:
            spot = Spot(spot.buffer, spot.layout[..., None])
        elif self.buffer is not None:
            if self._leaf is None:
                self._leaf = leaf(spot)
            return self._leaf
        return leaf(spot)

    def consumed(self) -> Expr:
        """Its expression for a kernel that runs now: without sums of rows inside, and of its own shape. Computed within
        that kernel the first time, stored the second."""
        source = self.source()
        e = source.expr
        if e is not None and (source.rows is not None or e.shape != self.shape or (e.kind != "leaf" and source._used)):
            self.session.memory_of(self)
        source._used = True
        return self.operand()

    def target(self, buffer: Buffer) -> Spot:
        """A buffer as its expression fills it."""
        if self.expr is not None and self.dropped():
            return Spot(buffer, self.layout[..., None])
        return Spot(buffer, self.layout, buffer.address)

    def view_of(self, layout: np.ndarray) -> DeviceArray:
        """The view of its memory that a layout is; of a scalar, which no write reaches, that of a copy."""
        owner = self.session.lazy(self.operand(), laid_out((), self.dtype)) if self.scalar else self
        x = DeviceArray(self.session, layout, owner if owner.base is None else owner.base, None, None)
        x._writeable = self._writeable
        return x

    def relaid(self, shape: Any, dtype: Any, offset: int, strides: Any) -> DeviceArray:
        """`np.ndarray(shape, dtype, x, offset, strides)`, offset and strides in bytes."""
        return self.view_of(laid_out(shape, np.dtype(dtype).newbyteorder("="), strides, self.offset + offset))

    def library(self) -> Any:
        """A `cupy.ndarray` over the same memory."""
        return self.session.cupy(self.session.readable(self))

    # To the host

    def get(self) -> Any:
        """The entries as an array of the host's, or as a NumPy scalar. Waits for the device."""
        return self.session.number(self) if self.scalar else self.session.get(self)

    def item(self, *args: Any) -> Any:
        if args:
            return self[args if len(args) > 1 or self.ndim == 1 else np.unravel_index(args[0], self.shape)].item()
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.session.number(self).item()

    def tolist(self) -> Any:
        return self.session.get(self).tolist()

    def __float__(self) -> float:
        self._only()
        return float(self.session.number(self))

    def __int__(self) -> int:
        self._only()
        return int(self.session.number(self))

    def __complex__(self) -> complex:
        self._only()
        return complex(self.session.number(self))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(self.session.number(self))

    def _only(self) -> None:
        if self.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
                if self.size
                else "The truth value of an empty array is ambiguous. Use `array.size > 0` to check it."
            )
        return bool(self.session.number(self))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise Unsupported(
            f"an array on {self.session.name} is not copied to the host unasked, for code that knows NumPy's arrays"
            " only; run it on the CPU, or write it with functions that have a GPU version"
        )

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.item(), digits)

    # As a sequence

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    __getitem__, __setitem__ = get_item, set_item

    # Protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not kwargs and method == "__call__":
            for x in inputs:
                if type(x) not in KNOWN and not known(x):
                    return NotImplemented
            return apply(self.session, ufunc, inputs)
        out = kwargs.get("out", ())
        if type(out) is tuple and len(out) == 1:
            kwargs["out"] = out[0]
        for x in (*inputs, *(out if type(out) is tuple else (out,))):
            if type(x) is not DeviceArray and not known(x):
                return NotImplemented
        if method == "__call__":
            return apply(self.session, ufunc, inputs, **kwargs)
        found = METHODS.get((ufunc.__name__, method)) or later("METHODS").get((method, ufunc))
        if found is None and (found := METHODS.get(("", method))) is not None:
            return found(ufunc, *inputs, **kwargs)
        if found is None:
            raise unsupported(f"np.{ufunc.__name__}.{method}")
        return found(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = FUNCTIONS.get(function) or later("FUNCTIONS").get(function)
        return (found or implementation(function))(*args, **kwargs)

    # Methods that make views or copies

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        dtype = dtype_of(dtype)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}"
            )
        if dtype == self.dtype and not copy:
            return self
        return self._converted(dtype, order)

    def _converted(self, dtype: Any, order: Any) -> DeviceArray:
        if order == "A":
            order = "F" if self.flags.fnc else "C"
        if order == "F":
            layout = laid_out(self.shape[::-1], dtype).T
        else:
            layout = packed(self.shape, dtype, [self.layout] if order == "K" else [])
        source, dropped = self.source(), self.expr is not None and self.dropped()
        e = cast(self.operand(self.shape, dropped), dtype)
        return self.session.lazy(e, layout, source.rows, self.scalar)

    def copy(self, order: Any = "C") -> DeviceArray:
        return self._converted(self.dtype, order)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"an array on {self.session.name} is not pickled; pickle x.get()")

    def __copy__(self) -> DeviceArray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> DeviceArray:
        return self.copy("K")

    def view(self, dtype: Any = None, type: Any = None) -> DeviceArray:
        return self.view_of(self.layout.view() if dtype is None else self.layout.view(dtype_of(dtype)))

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> DeviceArray:
        found = reshaped(self.layout, shape[0] if len(shape) == 1 else shape, order)
        if found is not None and not copy:
            return self.view_of(found)
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while creating an array as requested.")
        y = self.copy("F" if order == "F" else "C")
        y.scalar = False
        return y.view_of(reshaped(y.layout, shape[0] if len(shape) == 1 else shape, order))  # type: ignore[arg-type]

    def ravel(self, order: Any = "C") -> DeviceArray:
        y = self._flat(order)
        return y if y.flags.c_contiguous else y.copy()  # NumPy's is a view of contiguous memory only

    def _flat(self, order: Any) -> DeviceArray:
        if order == "A":
            order = "F" if self.flags.fnc else "C"
        if order == "K":  # as the entries lie in memory
            steps = packed(self.shape, self.dtype, [self.layout]).strides
            return self.transpose(sorted(range(self.ndim), key=lambda k: -steps[k])).reshape(-1)
        return self.reshape(-1, order=order)

    def flatten(self, order: Any = "C") -> DeviceArray:
        return self.session.lazy(self._flat(order).operand(), laid_out((self.size,), self.dtype))

    def transpose(self, *axes: Any) -> DeviceArray:
        return self if self.scalar else self.view_of(self.layout.transpose(*axes))

    def swapaxes(self, a: int, b: int) -> DeviceArray:
        return self.view_of(self.layout.swapaxes(a, b))

    def squeeze(self, axis: Any = None) -> DeviceArray:
        return self if self.scalar else self.view_of(self.layout.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> DeviceArray:
        y = self.view_of(self.layout.diagonal(offset, axis1, axis2))
        y._writeable = False
        return y

    def _part(self, name: str) -> DeviceArray:
        if self.dtype.kind != "c":
            return self if name == "real" else self.session.zeros(self.shape, self.dtype)
        layout = getattr(self.layout, name)
        if self.scalar:
            e = call(name, (self.operand(),), layout.dtype)
            return self.session.lazy(e, laid_out((), layout.dtype), None, True)
        return self.view_of(layout)

    real = property(lambda self: self._part("real"), lambda self, v: set_item(self._part("real"), ..., v))
    imag = property(lambda self: self._part("imag"), lambda self, v: self._set_imag(v))

    def _set_imag(self, v: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        set_item(self._part("imag"), ..., v)

    def fill(self, value: Any) -> None:
        self[...] = value

    def conj(self) -> Any:
        return self if self.dtype.kind != "c" else apply(self.session, np.conjugate, (self,))

    conjugate = conj

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        self.__array_function__(np.put, (), (self, indices, values), {"mode": mode})

    @property
    def flat(self) -> Any:
        from .making import Flat

        return Flat(self)

    @flat.setter
    def flat(self, v: Any) -> None:
        self.flat[:] = v

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        return self.__array_function__(np.compress, (), (condition, self, axis, out), {})

    def setflags(self, write: Any = None, **others: Any) -> None:
        if write is not None:
            self.flags.writeable = write

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = self.__array_function__(np.sort, (), (self, axis), {})

    def __trunc__(self) -> int:
        return int(self)


def later(name: str) -> dict[Any, Callable[..., Any]]:
    """A table of `functions.py`, which needs this module."""
    from . import functions

    found: dict[Any, Callable[..., Any]] = getattr(functions, name)
    return found


FILLED = (joining, products, reductions, views)  # modules that put their functions into the tables
ARRAYS.add(DeviceArray)
KNOWN.add(DeviceArray)
REMOTE.add(DeviceArray)
