"""The second driver: a session without a GPU.

Its memory is the host's inside real `cupy.ndarray` objects, poisoned so that what no kernel wrote reads as NaN. Kernels
are compiled by g++ and run one thread after the other. A function of a library is CuPy's: its name must be there, its
signature must take the arguments, and NumPy computes it.

    session = host_session()            # devices.session("gpu") gives it too, while `installed(session)` is open
    x = session.array(np.arange(3.0))
    (x * 2).get(); session.driver.launches
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
from typing import Any, Iterator

import cupy
import numpy as np
from cupy.cuda import memory

from autograd_frontend import devices
from autograd_frontend.devices.expressions import Kernel, Launch
from autograd_frontend.devices.sessions import Session

from . import on_cpu


def allocate(nbytes: int) -> Any:
    block = np.full(max(nbytes, 1) + 64, 0xFF, np.uint8)
    start = -block.ctypes.data % 64
    return memory.MemoryPointer(memory.UnownedMemory(block.ctypes.data + start, nbytes, block, 0), 0)


def cupy_empty(shape: Any, dtype: Any) -> Any:
    with cupy.cuda.using_allocator(allocate):
        return cupy.empty(shape, dtype)


def host(a: Any) -> np.ndarray:
    """The memory of a `cupy.ndarray` as NumPy's."""
    return at(a.data.ptr, a.shape, a.dtype, a.strides)


def at(address: int, shape: Any, dtype: Any, strides: Any) -> np.ndarray:
    dtype = np.dtype(dtype)
    if 0 in shape:
        return np.empty(shape, dtype)
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides))
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides)) + dtype.itemsize
    raw = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(address + low))
    return np.ndarray(shape, dtype, raw, -low, strides)


class Library:
    """CuPy's functions over host memory. `path`: the module or class they are in."""

    PLAIN = ("ndarray", "cuda", "float32", "float64", "uint8", "dtype", "newaxis", "inf", "nan", "pi")

    def __init__(self, driver: Any, theirs: Any = cupy, ours: Any = np) -> None:
        self._driver, self._theirs, self._ours = driver, theirs, ours

    def __getattr__(self, name: str) -> Any:
        theirs = getattr(self._theirs, name)  # AttributeError where CuPy does not have it
        if name in self.PLAIN:
            return theirs
        ours = getattr(self._ours, name)
        if inspect.ismodule(theirs):
            return Library(self._driver, theirs, ours)

        def call(*args: Any, **kwargs: Any) -> Any:
            check(theirs, args, kwargs)
            self._driver.library_calls += 1
            out = ours(*map(to_numpy, args), **{k: to_numpy(v) for k, v in kwargs.items()})
            return to_cupy(out)

        return call


def check(function: Any, args: Any, kwargs: Any) -> None:
    """Whether CuPy's function takes these arguments."""
    if isinstance(function, cupy.ufunc):
        assert set(kwargs) <= {"out", "dtype", "casting"}, kwargs
    else:
        inspect.signature(function).bind(*args, **kwargs)
    for x in (*args, *kwargs.values()):
        for e in x if isinstance(x, (list, tuple)) else (x,):
            assert not isinstance(e, (np.ndarray, np.generic)), f"CuPy's {function} is given an array of the host's"


def to_numpy(x: Any) -> Any:
    if type(x) is cupy.ndarray:
        return host(x)
    return type(x)(map(to_numpy, x)) if type(x) in (list, tuple) else x


def to_cupy(x: Any) -> Any:
    if isinstance(x, tuple):
        parts = [to_cupy(e) for e in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if not isinstance(x, (np.ndarray, np.generic)):
        return x
    y = cupy_empty(x.shape, x.dtype)
    host(y)[...] = x
    return y


class HostDriver:
    """What `devices/gpu.py` is for a GPU. `order`: in which the threads of a block run."""

    def __init__(self, name: str = "gpu", order: int = 0) -> None:
        self.name, self.number, self.order = name, 0, order
        self.xp: Any = Library(self)
        self.reset()

    def reset(self) -> None:
        self.launches = self.synchronizations = self.to_host_copies = self.to_device_copies = self.library_calls = 0
        self.kernels: list[str] = []  # the names of what was launched

    def empty(self, nbytes: int) -> Any:
        return cupy_empty((nbytes,), np.uint8)

    def view(self, whole: Any, offset: int, shape: Any, dtype: Any, strides: Any) -> Any:
        return cupy.ndarray(shape, dtype, whole.data + offset, strides)

    def function(self, kernel: Kernel) -> Any:
        return None if callable(kernel.text) else on_cpu.single(kernel)

    def launch(self, function: Any, launch: Launch, arguments: list[Any]) -> None:
        assert launch.grid > 0 and 0 < launch.block <= 1024, launch
        self.launches += 1
        self.kernels.append(launch.kernel.name)
        if function is None:
            launch.kernel.text(*launch.arguments)
        else:
            function.call(launch.kernel, launch.grid, launch.block, arguments, self.order)

    def to_host(self, x: Any) -> np.ndarray:
        assert x.flags.c_contiguous
        self.synchronizations += 1
        self.to_host_copies += 1
        return host(x).copy()

    def from_host(self, x: np.ndarray) -> Any:
        assert x.flags.c_contiguous
        self.to_device_copies += 1
        return to_cupy(x)

    def raising(self) -> Any:
        self.synchronizations += 1
        return contextlib.nullcontext()

    def foreign(self, x: Any) -> Any:
        raise TypeError("there is no other library's memory here")

    def synchronize(self) -> None:
        self.synchronizations += 1


def host_session(texts: Any = None, order: int = 0) -> Session:
    return Session(HostDriver(order=order), texts)


@contextlib.contextmanager
def installed(session: Session) -> Iterator[Session]:
    """`devices.session("gpu")` gives this session."""
    before = dict(devices.SESSIONS)
    devices.SESSIONS.clear()
    devices.SESSIONS[0] = session
    try:
        yield session
    finally:
        devices.SESSIONS.clear()
        devices.SESSIONS.update(before)
