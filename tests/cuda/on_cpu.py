"""Kernel texts as g++ compiles them, run on the CPU.

    launch = cuda_text.elementwise([(expression, array)])
    run(launch)                      # compiled alone: 0.2 s the first time
    library = build([one.kernel, another.kernel, ...])      # many in one go
    library.run(launch, order=2)

Shared objects stay in pytest's cache, by the digest of what they were made from.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Iterable

import numpy as np

from autograd_frontend.devices.expressions import Kernel, Launch

HEADER = Path(__file__).parent / "cuda_on_cpu.h"
FLAGS = ("-std=c++17", "-O1", "-fwrapv", "-ffp-contract=off", "-fPIC", "-w")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
KEPT = 2000  # shared objects in the cache, and as many locks
ORDERS = (0, 1, 2)  # of threads: upwards, downwards, shuffled


def cache_folder() -> Path:
    folder = Path(__file__).parents[2] / ".pytest_cache" / "d" / "cuda"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compiler(*arguments: Any, text: str | None = None) -> None:
    done = subprocess.run(["g++", *map(str, arguments)], input=text, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"g++: {done.stderr[:3000]}\n{(text or '')[:3000]}")


def made(name: str, make: Any) -> Path:
    """The file of this name, made by `make(path)` if it is not there. Another process may be making it: wait."""
    path = cache_folder() / name
    if not path.exists():
        with open(cache_folder() / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                other = cache_folder() / f"new_{name}"
                make(other)
                os.replace(other, path)
    return path


@cache
def header(flags: tuple[str, ...]) -> Path:
    """A copy of the header beside its precompiled form."""
    digest = hashlib.sha256(HEADER.read_bytes() + repr(flags).encode()).hexdigest()[:16]
    copy = made(f"{digest}.h", lambda path: path.write_bytes(HEADER.read_bytes()))
    made(f"{digest}.h.gch", lambda path: compiler(*flags, "-x", "c++-header", copy, "-o", path))
    return copy


def source(kernels: Iterable[Kernel]) -> str:
    """One unit of all texts, each in a namespace of its own, with a function to launch each."""
    parts = []
    for k in kernels:
        parts.append(f"namespace space_{k.name} {{ {k.text}\n}}\n")
        flat = str(not k.barriers).lower()
        parts.append(
            f'extern "C" int run_{k.name}(unsigned grid, unsigned block, int order, void** arguments) {{\n'
            f"    return sim::run(space_{k.name}::{k.name}, grid, block, order, {flat}, arguments);\n}}\n"
        )
    return "".join(parts)


class Library:
    """A shared object of kernels."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.object = ctypes.CDLL(str(path))

    def call(self, kernel: Kernel, grid: int, block: int, arguments: Iterable[Any], order: int = 0) -> None:
        """Run a kernel. `arguments`: addresses for pointers, NumPy scalars for the rest."""
        values = [memory_of(kind, x) for kind, x in zip(kernel.parameters, arguments, strict=True)]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        if getattr(self.object, f"run_{kernel.name}")(grid, block, order, pointers):
            raise RuntimeError(f"some threads of {kernel.name} never reach a barrier\n{kernel.text}")

    def run(self, launch: Launch, order: int = 0) -> None:
        """Run a launch on NumPy arrays."""
        arguments = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in launch.arguments]
        self.call(launch.kernel, launch.grid, launch.block, arguments, order)


def memory_of(kind: str, value: Any) -> Any:
    """A value where the kernel finds it, aligned to 16 bytes."""
    room = ctypes.create_string_buffer(32)
    start = -ctypes.addressof(room) % 16
    raw = int(value).to_bytes(8, "little") if kind == "pointer" else np.dtype(kind).type(value).tobytes()
    ctypes.memmove(ctypes.addressof(room) + start, raw, len(raw))
    view = (ctypes.c_char * 16).from_buffer(room, start)
    return view


def build(kernels: Iterable[Kernel], sanitize: bool = False) -> Library:
    """All kernels in one shared object."""
    different = {k.name: k for k in kernels}
    text = source(different.values())
    flags = (*FLAGS, *SANITIZE) if sanitize else FLAGS
    digest = hashlib.sha256((text + repr(flags)).encode() + HEADER.read_bytes()).hexdigest()[:32]
    include = header(flags)

    def make(path: Path) -> None:
        compiler(*flags, "-include", include, "-x", "c++", "-", "-shared", "-o", path, text=text)
        prune()

    return Library(made(f"{digest}.so", make))


def prune() -> None:
    """Keep the newest files only. Other processes may do the same."""
    found = []
    for entry in os.scandir(cache_folder()):
        with contextlib.suppress(FileNotFoundError):
            found.append((entry.stat().st_mtime, entry.path))
    for _, path in sorted(found, reverse=True)[2 * KEPT :]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@cache
def single(kernel: Kernel) -> Library:
    return build([kernel])


def run(launch: Launch, order: int = 0) -> None:
    """Compile and run one launch."""
    single(launch.kernel).run(launch, order)
