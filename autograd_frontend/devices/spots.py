"""Memory of a device, views of it, and the values that wait to be computed into some."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .expressions import CODES, Expr, Launch
from .layouts import offset_of, overlap, same
from .plans import Plans
from .table import Unsupported

if TYPE_CHECKING:
    from .sessions import Session

NODES, LEAVES, OUTPUTS = 60, 16, 12  # of one kernel at most: beyond, registers spill
KINDS = frozenset("?bhilqBHILQefdFD")  # characters of the dtypes that a device computes with


class Buffer:
    """Memory of a device. It goes back to the pool with the last array that looks at it."""

    __slots__ = ("memory", "address", "nbytes", "readers", "session", "lent", "__weakref__")

    def __init__(self, session: Session, memory: Any, nbytes: int) -> None:
        self.session, self.memory, self.nbytes = session, memory, nbytes
        self.address: int = memory.data.ptr if nbytes else 0
        self.readers: list[Any] = []  # regions in which a value that waits may read it
        self.lent: Any = None  # memory of CuPy's: its layout, and a reference to the array that owns it here
        session.live += nbytes

    @property
    def read(self) -> bool:
        """Whether a value that waits may read it."""
        for region in self.readers:
            if not region.over:
                return True
        return False

    def __del__(self) -> None:
        self.session.live -= self.nbytes


class Spot:
    """A view of a buffer: what kernels are given."""

    __slots__ = ("buffer", "layout", "shape", "dtype", "strides", "_address", "_code")

    def __init__(self, buffer: Buffer, layout: np.ndarray, address: int = 0) -> None:
        self.buffer, self.layout = buffer, layout
        self.shape, self.dtype, self.strides = layout.shape, layout.dtype, layout.strides
        self._address, self._code = address, -1

    @property
    def code(self) -> int:
        """The number of its element type, shape and strides."""
        if self._code < 0:
            self._code = CODES[self.dtype.char, self.shape, self.strides]
        return self._code

    @property
    def address(self) -> int:
        if not self._address:
            self._address = self.buffer.address + offset_of(self.layout)
        return self._address

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)


class Texts:
    """The kernels that are made from expressions. Tests put others in their place."""

    def __init__(self) -> None:
        self.plans = Plans()

    def elementwise(self, outputs: Any) -> Launch:
        return self.plans.launches(outputs, "elementwise", elementwise_of)[0]

    def rows(self, outputs: Any) -> Launch:
        return self.plans.launches(outputs, "rows", rows_of)[0]

    def reduction(self, name: str, e: Expr, axes: tuple[int, ...], out: Spot, empty: Any) -> list[Launch]:
        def make(outputs: Any, empty: Any) -> list[Launch]:
            from .cuda_reduce import reduction

            return reduction(name, e, axes, out, empty)

        if 0 in e.shape:
            return make(None, empty)
        return self.plans.launches([(e, out)], ("reduction", name, axes), make, empty)

    def has(self, name: str, argument: Any, result: Any) -> bool:
        from . import cuda_functions

        return cuda_functions.has(name, argument, result)


def elementwise_of(outputs: Any, empty: Any) -> list[Launch]:
    from .cuda_text import elementwise

    return [elementwise(outputs)]


def rows_of(outputs: Any, empty: Any) -> list[Launch]:
    from .cuda_rows import rows

    return [rows(outputs)]


def crosses(read: Spot, target: Spot) -> bool:
    """Whether a kernel that writes `target` entry by entry could read from `read` what it has written already."""
    if read.buffer is not target.buffer or same(read.layout, target.layout):
        return False
    return overlap(read.layout, target.layout)


def axes_of(shape: Any) -> tuple[int, ...]:
    return (shape.__index__(),) if hasattr(shape, "__index__") else tuple([n.__index__() for n in shape])


def dtype_of(dtype: Any) -> np.dtype:
    found: np.dtype[Any] = np.dtype(dtype)
    if found.char not in KINDS or not found.isnative:
        raise Unsupported(f"a GPU keeps no {found}; it has bool, integers, float16 to float64, complex64 and 128")
    return found


def on_device(x: Any) -> bool:
    """Whether an object is CuPy's array, or another library's on a CUDA device."""
    kind = type(x)
    if kind.__module__.partition(".")[0] == "cupy":
        return True
    if kind is np.ndarray or not hasattr(kind, "__dlpack_device__"):
        return hasattr(kind, "__cuda_array_interface__")
    return int(x.__dlpack_device__()[0]) in (2, 13)
