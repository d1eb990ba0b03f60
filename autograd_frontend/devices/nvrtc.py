"""From CUDA text to a cubin, by NVRTC, which needs neither a GPU nor a driver; and the cubins of before, on disk.

Flags: the multiplication and addition of `a*b + c` are rounded apart and float32 subnormals stay, as on a CPU.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

FLAGS = ("--std=c++17", "--fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")
INSTALL = "install it with: pip install 'cupy-cuda13x[ctk]' (CUDA 13), or 'cupy-cuda12x[ctk]' (CUDA 12)"
LARGEST, MOST = 256 << 20, 4096  # bytes and files that stay on disk
MAGIC = b"autograd_frontend cubin\n"


class CompileError(RuntimeError):
    """NVRTC refused a text. It is a mistake of this package."""


class Missing(RuntimeError):
    """NVRTC is not installed, or cannot be loaded."""


@cache
def library() -> Any:
    """NVRTC, found where pip or CUDA put it."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError:
        return through_cupy()
    try:
        path = load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception as e:  # its own error types, of which each version has others
        raise Missing(f"NVRTC, which compiles for the GPU, cannot be loaded ({e}); {INSTALL}") from e
    return ctypes.CDLL(path)


def through_cupy() -> Any:
    """NVRTC as CuPy loads it, where `cuda.pathfinder` is missing: the library that is then in this process."""
    try:
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    except (ImportError, RuntimeError) as e:
        raise Missing(f"NVRTC, which compiles for the GPU, is not there ({e}); {INSTALL}") from e
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line[line.find("/") :]
        if "/" in line and Path(path).name.startswith("libnvrtc.so"):
            return ctypes.CDLL(path)
    raise Missing(f"CuPy loads NVRTC from a place that cannot be found; {INSTALL}")


@cache
def version() -> tuple[int, int]:
    """The version of NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
    return major.value, minor.value


def check(status: int, what: str) -> None:
    if status:
        raise CompileError(f"{what} failed with status {status}")


def compile_text(text: str, arch: str, *options: str, kind: str = "CUBIN") -> tuple[bytes, str]:
    """The cubin of a text for an architecture ("sm_90"), and what the compiler had to say. `kind` "PTX" gives PTX, for
    "compute_90"."""
    lib, program = library(), ctypes.c_void_p()
    given = [o.encode() for o in (f"-arch={arch}", *FLAGS, *options)]
    check(lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None), "NVRTC")
    try:
        status = lib.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
        log = taken(lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, program).rstrip(b"\0").decode().strip()
        if status:
            raise CompileError(f"NVRTC {'.'.join(map(str, version()))} for {arch}: {log}\n{text}")
        return taken(getattr(lib, f"nvrtcGet{kind}Size"), getattr(lib, f"nvrtcGet{kind}"), program), log
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))


def taken(size: Any, get: Any, program: Any) -> bytes:
    n = ctypes.c_size_t()
    check(size(program, ctypes.byref(n)), "NVRTC")
    out = ctypes.create_string_buffer(n.value)
    check(get(program, out), "NVRTC")
    return out.raw


# The cache


def directory() -> Path:
    """Where cubins are kept: AUTOGRAD_FRONTEND_CACHE, or a folder in the user's cache."""
    own = os.environ.get("AUTOGRAD_FRONTEND_CACHE")
    if own:
        return Path(own)
    usual = os.environ.get("XDG_CACHE_HOME")
    return (Path(usual) if usual else Path.home() / ".cache") / "autograd_frontend"


def key_of(text: str, arch: str) -> str:
    parts = (text, arch, *FLAGS, *map(str, version()))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Cache:
    """Cubins in memory and on disk. A file is a line that says what it is, the digest of the cubin, the cubin. One that
    is damaged is written anew; a directory that cannot be used is as if it was empty."""

    def __init__(self, largest: int = LARGEST, most: int = MOST) -> None:
        self.largest, self.most = largest, most
        self.memory: dict[str, bytes] = {}
        self.lock = threading.Lock()
        self.written = 0  # since the directory was last looked through
        self.compiled = 0

    def cubin(self, text: str, arch: str, compiler: Callable[[str, str], bytes] | None = None) -> bytes:
        """The cubin of a text, compiled if it is new."""
        key = key_of(text, arch)
        found = self.memory.get(key)
        if found is None:
            found = load(directory() / key)
            if found is None:
                found = compiler(text, arch) if compiler else compile_text(text, arch)[0]
                self.compiled += 1
                self.save(key, found)
            with self.lock:
                if len(self.memory) >= self.most:
                    del self.memory[next(iter(self.memory))]
                self.memory[key] = found
        return found

    def save(self, key: str, cubin: bytes) -> None:
        folder = directory()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(MAGIC + hashlib.sha256(cubin).digest() + cubin)
                os.replace(name, folder / key)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError:
            return
        with self.lock:
            self.written += 1
            due = self.written % 64 == 1
        if due:
            prune(folder, self.largest, self.most)


def load(path: Path) -> bytes | None:
    """What a file of the cache holds, None where it is not there or not whole."""
    try:
        whole = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + 32
    cubin = whole[start:]
    good = whole.startswith(MAGIC) and hashlib.sha256(cubin).digest() == whole[len(MAGIC) : start]
    if not good:
        return None
    try:
        os.utime(path)  # the oldest by use go first
    except OSError:
        pass
    return cubin


def prune(folder: Path, largest: int, most: int) -> None:
    """Remove the files that were not used for longest, until few and small enough ones are left."""
    found = []
    try:
        for entry in os.scandir(folder):
            try:
                about = entry.stat()
                found.append((about.st_mtime, about.st_size, entry.path))
            except OSError:
                continue
    except OSError:
        return
    found.sort(reverse=True)
    kept = 0
    for k, (_, size, path) in enumerate(found):
        kept += size
        if k >= most or kept > largest:
            try:
                os.unlink(path)
            except OSError:
                pass


CACHE = Cache()


def cubin(text: str, arch: str) -> bytes:
    """The cubin of a text for an architecture such as "sm_90"."""
    return CACHE.cubin(text, arch)
