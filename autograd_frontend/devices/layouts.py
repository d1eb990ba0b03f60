"""Layouts: NumPy arrays over one inaccessible range of addresses, with which NumPy itself computes views.

A view of a layout has the shape, strides and offset that the same view of memory on a device has. Its entries are never
read: there is no memory behind them, and an attempt ends the process.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from math import prod
from typing import Any

import numpy as np

MOST = 4096  # layouts that are kept
SIZE = 1 << 40  # of the range in bytes; no array is larger
HUGE = f"an array of more than {SIZE >> 30} GiB is larger than any device"


@cache
def ground() -> tuple[np.ndarray, int]:
    """The range as an array of bytes, and its address."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    lazily = 0x4000 if sys.platform == "linux" else 0  # MAP_NORESERVE
    address = libc.mmap(None, SIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | lazily, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise MemoryError(f"{SIZE >> 30} GiB of addresses cannot be reserved (is there a limit: ulimit -v?)")
    memory: Any = (ctypes.c_char * SIZE).from_address(address)
    return np.frombuffer(memory, np.uint8), address


DENSE: dict[Any, np.ndarray] = {}  # layouts of rows after each other; nobody changes one


def laid_out(shape: Any, dtype: Any, strides: tuple[int, ...] | None = None, offset: int = 0) -> np.ndarray:
    """A layout; rows after each other where no strides are given."""
    if type(shape) is not tuple:
        shape = tuple(shape) if isinstance(shape, list) else (shape,)
    if strides is not None:
        return np.ndarray(shape, dtype, ground()[0], offset, strides)
    found = DENSE.get((shape, dtype)) if not offset else None
    if found is None or found.dtype is not dtype:  # equal ones may have two names
        if prod(shape) * np.dtype(dtype).itemsize > SIZE:
            raise MemoryError(HUGE)
        if len(DENSE) >= MOST:
            DENSE.clear()
        found = np.ndarray(shape, dtype, ground()[0], offset)
        if not offset:
            DENSE[shape, dtype] = found
    return found


def offset_of(layout: np.ndarray) -> int:
    """Where the first entry of a view lies, in bytes from the start of its memory."""
    start: int = layout.__array_interface__["data"][0]
    origin: int = ground()[1]
    return start - origin


def extent(layout: np.ndarray) -> int:
    """How many bytes a layout that starts at its first entry needs."""
    if layout.flags.c_contiguous or not layout.size:
        return layout.nbytes
    last: int = sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True))
    return last + layout.itemsize


def packed(shape: tuple[int, ...], dtype: Any, likes: list[np.ndarray]) -> np.ndarray:
    """The layout of a result: dense, its axes in the order in which they lie in the operands (NumPy's order "K")."""
    if len(shape) < 2 or all(x.flags.c_contiguous for x in likes):
        return laid_out(shape, dtype)
    steps = [steps_in(x, shape) for x in likes]
    order: list[int] = []  # axes, innermost first
    for axis in reversed(range(len(shape))):
        place = len(order)
        for k in reversed(range(len(order))):
            swap = swaps(steps, axis, order[k])
            if swap is False:
                break
            place = k if swap else place
        order.insert(place, axis)
    strides, step = [0] * len(shape), np.dtype(dtype).itemsize
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], 1)
    return laid_out(shape, dtype, tuple(strides))


def steps_in(x: np.ndarray, shape: tuple[int, ...]) -> list[int]:
    """How far the entries of an operand lie apart along the axes of a result."""
    missing = len(shape) - x.ndim
    return [0] * missing + [abs(s) if n > 1 else 0 for n, s in zip(x.shape, x.strides, strict=True)]


def swaps(steps: list[list[int]], outer: int, inner: int) -> bool | None:
    """Whether an axis belongs inside of another one that comes after it; None where no operand tells. Where operands
    disagree, they stay: as NumPy's iterator does it."""
    found = None
    for s in steps:
        if s[outer] and s[inner]:
            if s[inner] <= s[outer]:
                found = False
            elif found is None:
                found = True
    return found


def reshaped(layout: np.ndarray, shape: Any, order: Any = "C") -> np.ndarray | None:
    """The layout in another shape, None where that needs a copy."""
    try:
        return layout.reshape(shape, order=order, copy=False)
    except ValueError as e:
        if "creating a copy" not in str(e):
            raise
        return None


def full_shape(size: int, shape: Any) -> tuple[int, ...]:
    """A shape in which one extent may be -1, to be found from the size."""
    found: tuple[int, ...] = laid_out((size,), np.bool_).reshape(shape).shape
    return found


def repeats(view: np.ndarray, layout: np.ndarray) -> bool:
    """Whether a view, if it starts where `layout` does, is this or its entries broadcast."""
    if view.shape == layout.shape:
        return view.strides == layout.strides
    extra = view.ndim - layout.ndim
    if extra < 0 or any(view.strides[k] and view.shape[k] > 1 for k in range(extra)):
        return False
    return all(
        (s == t or m == 1) if n == m else (n == 1 and t == 0)
        for n, s, m, t in zip(layout.shape, layout.strides, view.shape[extra:], view.strides[extra:], strict=True)
    )


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two views of one memory share an entry; True where that takes long to find out."""
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two layouts of one memory are the same view."""
    return a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype and offset_of(a) == offset_of(b)


class Flags:
    """Flags of an array of a device, as NumPy shows them."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    @property
    def c_contiguous(self) -> bool:
        return bool(self._x.layout.flags.c_contiguous)

    @property
    def f_contiguous(self) -> bool:
        return bool(self._x.layout.flags.f_contiguous)

    contiguous = c_contiguous

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def owndata(self) -> bool:
        return self._x.base is None

    @property
    def aligned(self) -> bool:
        return True

    @property
    def writeable(self) -> bool:
        return bool(self._x._writeable)

    @writeable.setter
    def writeable(self, value: bool) -> None:
        base = self._x.base
        if value and base is not None and not base._writeable:
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        self._x._writeable = bool(value)

    def __getitem__(self, name: str) -> bool:
        names = {"C": "c_contiguous", "F": "f_contiguous", "W": "writeable", "O": "owndata"}
        found: bool = getattr(self, names.get(name, name.lower()))
        return found

    def __setitem__(self, name: str, value: bool) -> None:
        if name not in ("W", "WRITEABLE"):
            raise ValueError(f"the flag {name} cannot be set")
        self.writeable = value
