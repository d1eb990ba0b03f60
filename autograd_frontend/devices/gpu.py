"""The driver of a real GPU: memory, streams and libraries through CuPy, kernels from our own cubins.

CuPy is imported when a GPU is asked for. None of its kernels computes a value: they are compiled with a flag that makes
small float32 numbers zero.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np

from ..errors import DeviceUnavailable
from . import nvrtc
from .expressions import Kernel, Launch

INSTALL = "install it with: pip install 'cupy-cuda13x[ctk]' (CUDA 13), or 'cupy-cuda12x[ctk]' (CUDA 12)"


def why_unavailable(number: int = 0) -> str | None:
    """What is missing for a GPU to be used, and how to get it; None if nothing is."""
    try:
        import cupy
    except ImportError as e:
        return f"CuPy cannot be imported ({e}); {INSTALL}"
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as e:
        if "NoDevice" in str(e):
            return "CUDA reports no device"
        return f"CUDA cannot be used ({e}); an NVIDIA driver for the CUDA version of CuPy is needed"
    if not count:
        return "CUDA reports no device"
    if number >= count:
        return f"there is no GPU {number}: CUDA reports {count}, numbered from 0"
    try:
        nvrtc.version()
    except (nvrtc.Missing, nvrtc.CompileError, RuntimeError, OSError) as e:
        return str(e) if "install" in str(e) else f"NVRTC cannot be loaded ({e}); {INSTALL}"
    if os.environ.get("CUPY_TF32", "0") not in ("", "0"):
        return "CUPY_TF32 is set, with which float32 matrix products keep 10 bits of 23; unset it"
    return None


def current() -> int:
    """The number of CuPy's current device."""
    import cupy

    return int(cupy.cuda.runtime.getDevice())


class Driver:
    """One GPU. Everything runs on the caller's current stream."""

    def __init__(self, number: int) -> None:
        reason = why_unavailable(number)
        self.name = f"gpu:{number}" if number else "gpu"
        if reason is not None:
            raise DeviceUnavailable(f'device "{self.name}" cannot be used: {reason}')
        import cupy

        self.xp: Any = cupy
        self.number, self.device = number, cupy.cuda.Device(number)
        self.arch = f"sm_{self.device.compute_capability}"
        self.functions: dict[str, Any] = {}
        self.stream: Any = None  # the one that was used last
        self.reset()

    def reset(self) -> None:
        """Count from nothing again."""
        self.launches = self.synchronizations = self.to_host_copies = self.to_device_copies = 0

    def inside(self) -> Any:
        """The context in which this is the current device, and the current stream waits for the one before."""
        if self.xp.cuda.runtime.getDevice() != self.number:
            context: Any = self.device
        else:
            context = contextlib.nullcontext()
        stream = self.xp.cuda.get_current_stream(self.number)
        if self.stream is None or stream.ptr != self.stream.ptr:
            if self.stream is not None:
                with self.device:
                    stream.wait_event(self.stream.record())
            self.stream = stream
        return context

    def empty(self, nbytes: int) -> Any:
        with self.inside():
            try:
                return self.xp.empty(nbytes, np.uint8)
            except self.xp.cuda.memory.OutOfMemoryError as e:
                free, total = self.xp.cuda.runtime.memGetInfo()
                pool = self.xp.get_default_memory_pool()
                raise MemoryError(
                    f"{nbytes} bytes do not fit on {self.name}: {free} of {total} are free, and CuPy's pool holds"
                    f" {pool.free_bytes()} more in blocks that are too small"
                ) from e

    def view(self, memory: Any, offset: int, shape: Any, dtype: Any, strides: Any) -> Any:
        """A `cupy.ndarray` over a part of memory."""
        return self.xp.ndarray(shape, dtype, memory.data + offset, strides)

    def function(self, kernel: Kernel) -> Any:
        found = self.functions.get(kernel.text)
        if found is None:
            with self.inside():
                module = self.xp.cuda.function.Module()
                module.load(nvrtc.cubin(kernel.text, self.arch))
                found = self.functions[kernel.text] = module.get_function(kernel.name)
        return found

    def launch(self, function: Any, launch: Launch, arguments: list[Any]) -> None:
        """`arguments`: addresses as Python integers, and NumPy scalars."""
        with self.inside():
            function((launch.grid,), (launch.block,), tuple(map(given, arguments)))
        self.launches += 1

    def to_host(self, x: Any) -> np.ndarray:
        with self.inside():
            host: np.ndarray = x.get()
        self.synchronizations += 1
        self.to_host_copies += 1
        return host

    def from_host(self, x: np.ndarray) -> Any:
        memory = self.empty(x.nbytes)
        there = self.view(memory, 0, x.shape, x.dtype, None)
        if x.size:
            with self.inside():
                there.set(x)
        self.to_device_copies += 1
        return there

    def raising(self) -> Any:
        """The context in which linear algebra raises `LinAlgError` as NumPy's does. It waits for the device."""
        import cupyx  # type: ignore[import-untyped]

        self.synchronizations += 1
        return cupyx.errstate(linalg="raise")

    def foreign(self, x: Any) -> Any:
        """A `cupy.ndarray` over the memory of another library's array."""
        with self.inside():
            return self.xp.asarray(x) if hasattr(x, "__cuda_array_interface__") else self.xp.from_dlpack(x)

    def synchronize(self) -> None:
        with self.inside():
            self.xp.cuda.get_current_stream().synchronize()
        self.synchronizations += 1


def given(x: Any) -> Any:
    """An argument as CuPy hands it on unchanged: an address as 64 bits, a half as the short that kernels take."""
    if type(x) is int:
        return np.uint64(x)
    return x.view(np.uint16) if type(x) is np.float16 else x
