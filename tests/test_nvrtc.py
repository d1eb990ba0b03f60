"""What NVRTC makes of every kernel text, without a GPU; and the cache of cubins."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Iterable

import numpy as np
import pytest
import test_cuda_rows

from autograd_frontend.devices import cuda_text, nvrtc
from autograd_frontend.devices.expressions import Kernel, call, leaf, scalar
from tests.cuda import functions, sanitized

WHOLE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64", "complex128")
SETS = {"whole": WHOLE, "float16": ("float16",), "float32": ("float32",), "float64": ("float64",), "reductions": ()}
# What CUDA's own float32 functions compute in float64: the reduction of large arguments by pi.
IN_DOUBLE = {"sin", "cos", "tan", "sinc", "j0", "j1", "y0", "y1", "digamma"}
IN_DOUBLE_OF_COMPLEX = set("exp exp2 expm1 power sin cos tan sinh cosh tanh".split())  # with a sine or cosine inside


@cache
def kernels(name: str) -> tuple[Kernel, ...]:
    found = [g.launch.kernel for d in SETS[name] for g in (*functions.groups(d), functions.casts(d))]
    if name == "reductions":
        found += [launch.kernel for launch in sanitized.launches()]
        some = [job for n in (1, 1000) for d in "fd" for job in test_cuda_rows.row_jobs()[d, n]]
        some += test_cuda_rows.jobs()["sum"][:11]
        found += [k for job in some for k in kernels_of(job)]
        for jobs in test_cuda_rows.jobs().values():  # one of each accumulator, reading entries and reading pieces
            every = [k for job in jobs for k in kernels_of(job)]
            found += {(re.search(r"struct (\w+)", k.text)[1], k.name.split("_")[1]): k for k in every}.values()
    return tuple({k.name: k for k in found}.values())


def kernels_of(job: test_cuda_rows.Job) -> list[Kernel]:
    return test_cuda_rows.kernels(job)


def module(several: Iterable[Kernel]) -> str:
    return "".join([f"namespace space_{k.name} {{\n{k.text}}}\n" for k in several])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", SETS)
def test_every_text_compiles(name: str, arch: str) -> None:
    """Without a warning, and without registers spilled to memory."""
    cubin, log = nvrtc.compile_text(module(kernels(name)), arch, "--ptxas-options=-v")
    assert cubin[:4] == b"\x7fELF"
    strange = [line for line in log.splitlines() if not re.match(r"ptxas (info|  +\.)", line)]
    assert not strange, "\n".join(strange[:20])
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)
    assert len(spills) >= len(kernels(name))
    assert set(spills) == {("0", "0")}


def test_architectures() -> None:
    """NVRTC 13.0 begins with sm_75: it has no sm_70."""
    (kernel, *_) = kernels("float32")
    assert nvrtc.version() == (13, 0)
    assert nvrtc.compile_text(kernel.text, "sm_75")[1] == ""
    with pytest.raises(nvrtc.CompileError, match="sm_70"):
        nvrtc.compile_text(kernel.text, "sm_70")


def ptx(several: list[Kernel]) -> dict[str, str]:
    """The PTX of each kernel, with the functions that it calls."""
    text = nvrtc.compile_text(module(several), "compute_90", kind="PTX")[0].decode()
    parts = re.split(r"(?=\.visible \.entry )", text)[1:]
    return {re.match(r"\.visible \.entry (\w+)", part)[1]: part for part in parts}


def lonely(name: str, arguments: tuple[np.dtype, ...], result: np.dtype) -> Kernel:
    args = tuple([leaf(np.ones(2, d)) for d in arguments])
    return cuda_text.elementwise([(call(name, args, result), np.ones(2, result))]).kernel


@pytest.mark.parametrize("name", ["float16", "float32", "complex64"])
def test_no_hidden_float64(name: str) -> None:
    """A bare literal would turn float32 arithmetic into float64."""
    several = {case.name: lonely(*case) for case in functions.cases(name)}
    texts = ptx(list(several.values()))
    found = {n for n, kernel in several.items() if ".f64" in texts[kernel.name]}
    assert found <= IN_DOUBLE | (IN_DOUBLE_OF_COMPLEX if name == "complex64" else set()), found
    assert {"float32": "sin", "complex64": "exp"}.get(name, "cos") in found


def test_products_and_sums_are_rounded_apart() -> None:
    several = []
    for dtype in ("e", "f", "d", "F", "D"):
        a, b, c = [leaf(np.ones(2, dtype)) for _ in range(3)]
        e = call("add", (call("multiply", (a, b), dtype), c), dtype)
        e = call("subtract", (call("multiply", (e, a), dtype), call("multiply", (b, c), dtype)), dtype)
        several.append(cuda_text.elementwise([(e, np.ones(2, dtype))]).kernel)
    for text in ptx(several).values():
        assert "mul" in text and "fma" not in text
        assert ".ftz" not in text and ".approx" not in text


def test_division_and_roots_are_exact() -> None:
    f = np.dtype("f")
    texts = ptx([lonely("divide", (f, f), f), lonely("sqrt", (f,), f)])
    assert ["div.rn.f32" in t or "sqrt.rn.f32" in t for t in texts.values()] == [True, True]


def test_loads_go_through_the_read_only_cache() -> None:
    x, y = np.ones(4, "f"), np.ones(4, "f")
    (text,) = ptx([cuda_text.elementwise([(call("add", (leaf(x), scalar(1, "f")), "f"), y)]).kernel]).values()
    assert "ld.global.nc.f32" in text or "ld.global.nc.b32" in text


def test_a_wrong_text() -> None:
    with pytest.raises(nvrtc.CompileError, match='NVRTC 13.0 for sm_90: .*identifier "nothing" is undefined'):
        nvrtc.compile_text('extern "C" __global__ void k(int* x) { *x = nothing; }', "sm_90")


# The library


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs", None)
    with pytest.raises(nvrtc.Missing, match=r"NVRTC, which compiles for the GPU, is not there .*cupy-cuda13x\[ctk\]"):
        nvrtc.library.__wrapped__()


def test_library_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import cuda.pathfinder

    def lost(name: str) -> None:
        raise RuntimeError(f"no {name} here")

    monkeypatch.setattr(cuda.pathfinder, "load_nvidia_dynamic_lib", lost)
    with pytest.raises(nvrtc.Missing, match=r"cannot be loaded \(no nvrtc here\); install it with: pip install"):
        nvrtc.library.__wrapped__()


@pytest.mark.skipif(sys.platform != "linux", reason="CuPy's library is found in /proc")
def test_library_through_cupy() -> None:
    assert nvrtc.through_cupy().nvrtcVersion is not None


# The cache

TEXT = 'extern "C" __global__ void k(float* x) { x[0] = 1.0f; }'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUTOGRAD_FRONTEND_CACHE", str(tmp_path / "cubins"))
    return tmp_path / "cubins"


class Compiler:
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, text: str, arch: str) -> bytes:
        self.asked.append((text, arch))
        return f"cubin of {text} for {arch}".encode()


def test_cache_in_memory_and_on_disk(folder: Path) -> None:
    compiler, cache = Compiler(), nvrtc.Cache()
    first = cache.cubin(TEXT, "sm_90", compiler)
    assert cache.cubin(TEXT, "sm_90", compiler) == first
    assert nvrtc.Cache().cubin(TEXT, "sm_90", compiler) == first
    assert len(compiler.asked) == 1 and len(list(folder.iterdir())) == 1
    cache.cubin(TEXT, "sm_80", compiler)
    cache.cubin(TEXT + " ", "sm_90", compiler)
    assert len(compiler.asked) == 3


def test_cubin_of_nvrtc(folder: Path) -> None:
    assert nvrtc.Cache().cubin(TEXT, "sm_90")[:4] == b"\x7fELF"
    assert nvrtc.load(next(folder.iterdir()))[:4] == b"\x7fELF"


@pytest.mark.parametrize("damage", ["", "short", "flipped"])
def test_damaged_file_is_written_anew(folder: Path, damage: str) -> None:
    compiler = Compiler()
    good = nvrtc.Cache().cubin(TEXT, "sm_90", compiler)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes({"": b"", "short": whole[:-1], "flipped": whole[:-1] + bytes([whole[-1] ^ 1])}[damage])
    assert nvrtc.Cache().cubin(TEXT, "sm_90", compiler) == good
    assert len(compiler.asked) == 2 and path.read_bytes() == whole


def test_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("AUTOGRAD_FRONTEND_CACHE", str(path))
        compiler, cache = Compiler(), nvrtc.Cache()
        assert cache.cubin(TEXT, "sm_90", compiler) == cache.cubin(TEXT, "sm_90", compiler)
        assert len(compiler.asked) == 1


def test_cache_is_bounded(folder: Path) -> None:
    cache = nvrtc.Cache(most=10)
    for k in range(130):
        cache.cubin(f"text {k}", "sm_90", Compiler())
    names = {path.name for path in folder.iterdir()}
    assert len(names) <= 10 + 64
    assert nvrtc.key_of("text 129", "sm_90") in names and nvrtc.key_of("text 0", "sm_90") not in names
    for k, path in enumerate(sorted(folder.iterdir())):
        os.utime(path, (k, k))
    nvrtc.prune(folder, largest=10**9, most=3)
    assert sorted(p.name for p in folder.iterdir()) == sorted(names)[-3:]
    nvrtc.prune(folder, largest=1, most=3)
    assert not list(folder.iterdir())


def test_folder_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOGRAD_FRONTEND_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert nvrtc.directory() == Path("/somewhere/autograd_frontend")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert nvrtc.directory() == Path.home() / ".cache" / "autograd_frontend"
