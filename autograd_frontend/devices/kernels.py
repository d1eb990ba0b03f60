"""Kernels written by hand: what they share, and those that make numbers.

Each function returns a `Launch`. Arrays are whatever has `shape`, `dtype` and `strides` in bytes; those that are
written into have to have memory of the size that the function names. One kernel text serves every size and value: only
the number of axes, the element types and the width of indices are in it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import cuda_types
from .expressions import Kernel, Launch

THREADS = 256
BLOCKS = 132 * 8  # of an H200: 8 blocks of 256 threads on each of its 132 multiprocessors
NARROW = 2**31 - THREADS * BLOCKS  # up to here a loop over int indices does not overflow when it steps past the end

BITS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long", 16: "pair"}
NAMES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "f16", "float32": "float", "float64": "double", "complex64": "cplx<float>",
    "complex128": "cplx<double>",
}  # fmt: skip

PAIR = "struct alignas(16) pair { unsigned long long a, b; };\n"

# Arithmetic of float16 is that of float32, rounded after every step, as NumPy's is.
HALF = cuda_types.HALF + """
struct f16 { unsigned short bits; };
__device__ __forceinline__ float wide(f16 h) { return from_half(h.bits); }
__device__ __forceinline__ f16 narrow(float f) { f16 h; h.bits = to_half(f); return h; }
__device__ __forceinline__ f16 operator+(f16 a, f16 b) { return narrow(wide(a) + wide(b)); }
__device__ __forceinline__ f16 operator*(f16 a, f16 b) { return narrow(wide(a) * wide(b)); }
__device__ __forceinline__ bool operator<(f16 a, f16 b) { return wide(a) < wide(b); }
__device__ __forceinline__ bool operator>(f16 a, f16 b) { return wide(a) > wide(b); }
__device__ __forceinline__ bool operator==(f16 a, f16 b) { return wide(a) == wide(b); }
__device__ __forceinline__ bool operator!=(f16 a, f16 b) { return wide(a) != wide(b); }
template <> struct As<f16> { static __device__ __forceinline__ f16 whole(int n) { return narrow((float)n); } };
"""
COMPLEX = """
template <class R> struct alignas(2 * sizeof(R)) cplx { R re, im; };
template <class R> __device__ __forceinline__ cplx<R> operator+(cplx<R> a, cplx<R> b) {
  cplx<R> c; c.re = a.re + b.re; c.im = a.im + b.im; return c; }
template <class R> __device__ __forceinline__ cplx<R> operator*(cplx<R> a, cplx<R> b) {
  cplx<R> c; c.re = a.re * b.re - a.im * b.im; c.im = a.re * b.im + a.im * b.re; return c; }
template <class R> __device__ __forceinline__ bool operator==(cplx<R> a, cplx<R> b) {
  return a.re == b.re && a.im == b.im; }
template <class R> __device__ __forceinline__ bool operator!=(cplx<R> a, cplx<R> b) { return !(a == b); }
template <class R> struct As<cplx<R>> {
  static __device__ __forceinline__ cplx<R> whole(int n) { cplx<R> c; c.re = (R)n; c.im = (R)0; return c; } };
"""
PLAIN = "template <class T> struct As { static __device__ __forceinline__ T whole(int n) { return (T)n; } };\n"

Sizes = tuple[int, ...]


def prelude(*dtypes: Any) -> str:
    """What a text that computes with these types has before its kernel; `As<T>::whole(n)` is a whole number as a T."""
    kinds = {np.dtype(d).name for d in dtypes}
    return PLAIN + HALF * ("float16" in kinds) + COMPLEX * any(k.startswith("complex") for k in kinds)


Text = Callable[[], tuple[str, str]]
KERNELS: dict[tuple[Any, ...], Kernel] = {}
LOOP = """  for (I i = blockIdx.x * (I)blockDim.x + threadIdx.x; i < n; i += (I)gridDim.x * blockDim.x) {
%s  }
"""


class Writer:
    """A kernel as it is written: its parameters with their arguments, and the type `I` of indices."""

    def __init__(self, name: str, wide: bool) -> None:
        self.name, self.index = name, "int64" if wide else "int32"
        self.declared: list[str] = []
        self.kinds: list[str] = []
        self.arguments: list[Any] = []

    def pointer(self, name: str, element: str, array: Any, written: bool = False) -> None:
        self.declared.append(f"{element}* {name}" if written else f"const {element}* {name}")
        self.kinds.append("pointer")
        self.arguments.append(array)

    def number(self, name: str, value: Any, kind: str = "") -> None:
        """A number: an index unless `kind` names a dtype."""
        self.declared.append(f"{NAMES[kind] if kind else 'I'} {name}")
        self.kinds.append(kind or self.index)
        self.arguments.append(np.dtype(kind or self.index).type(value))

    def numbers(self, name: str, values: Sequence[int]) -> list[str]:
        """Indices `name0`, `name1`, ...; their names."""
        for k, value in enumerate(values):
            self.number(f"{name}{k}", value)
        return [f"{name}{k}" for k in range(len(values))]

    def kernel(self, text: Text, variant: tuple[Any, ...], around: str = "%s", barriers: bool = False) -> Kernel:
        """The kernel, made once for its parameters and `variant`, all that its text depends on besides."""
        key = (self.name, self.index, *self.declared, variant)
        found = KERNELS.get(key)
        if found is None:
            head, body = text()
            head = f"{head}typedef {NAMES[self.index]} I;\n"
            body = f"({', '.join(self.declared)}) {{\n{around % body}}}\n"
            name = f"{self.name}_{hashlib.sha256((head + body).encode()).hexdigest()[:12]}"
            whole = f'{head}extern "C" __global__ void {name}{body}'
            found = KERNELS[key] = Kernel(whole, name, tuple(self.kinds), barriers)
        return found

    def loop(self, text: Text, n: int, *variant: Any) -> Launch:
        """A thread for each `i` below `n`. `text` makes what stands before the kernel, and what a thread does."""
        self.number("n", n)
        return Launch(self.kernel(text, variant, LOOP), blocks(n), THREADS, tuple(self.arguments))


def blocks(n: int) -> int:
    return max(1, min(BLOCKS, -(-n // THREADS)))


def is_wide(*arrays: Any, size: int = 0) -> bool:
    """Whether indices into these arrays, and a loop of so many steps, need 64 bits."""
    return max([size, *map(reach, arrays)]) >= NARROW


def reach(x: Any) -> int:
    """How many elements lie between the outermost entries of an array."""
    outermost: int = sum((n - 1) * abs(s) for n, s in zip(x.shape, steps(x), strict=True) if n > 1)
    return outermost + 1


def steps(x: Any) -> Sizes:
    """The strides in elements."""
    return tuple([s // x.dtype.itemsize for s in x.strides])


def collapsed(shape: Sequence[int], *strides: Sequence[int]) -> tuple[Sizes, list[Sizes]]:
    """The same entries in the same order with as few axes as the steps of all arrays allow, at least one."""
    kept: list[tuple[int, tuple[int, ...]]] = []
    for k, n in enumerate(shape):
        if n == 1:
            continue
        s = tuple([each[k] for each in strides])
        if kept and all(a == b * n for a, b in zip(kept[-1][1], s, strict=True)):
            kept[-1] = (kept[-1][0] * n, s)
        else:
            kept.append((n, s))
    if not kept:
        kept = [(1, (0,) * len(strides))]
    return tuple([n for n, _ in kept]), [tuple([s[i] for _, s in kept]) for i in range(len(strides))]


def unravel(flat: str, extents: Sequence[str], prefix: str) -> str:
    """Statements that split a position into coordinates `prefix0`, `prefix1`, ...; the first takes what is left."""
    if len(extents) == 1:
        return f"    const I {prefix}0 = {flat};\n"
    lines = [f"    I {prefix}r = {flat};\n"]
    for k in range(len(extents) - 1, 0, -1):
        lines.append(f"    const I {prefix}{k} = {prefix}r % {extents[k]}; {prefix}r /= {extents[k]};\n")
    lines.append(f"    const I {prefix}0 = {prefix}r;\n")
    return "".join(lines)


def offset(prefix: str, steps: Sequence[str]) -> str:
    """Where the entry with these coordinates is."""
    return " + ".join(f"{prefix}{k} * {s}" for k, s in enumerate(steps)) or "0"


def iota(out: Any, start: int = 0, step: int = 1) -> Launch:
    """`start`, `start + step`, ... in a vector of real numbers."""
    w = Writer("iota", is_wide(out, size=out.size))
    element = NAMES[out.dtype.name]
    w.pointer("out", element, out, True)
    w.number("s", steps(out)[0])
    w.number("start", start, "int64")
    w.number("step", step, "int64")

    def text() -> tuple[str, str]:
        value = "(long long)i * step + start"
        value = f"narrow((float)({value}))" if element == "f16" else f"({element})({value})"
        return prelude(out.dtype), f"    out[i * s] = {value};\n"

    return w.loop(text, out.size)


PHILOX = """
__device__ __forceinline__ void philox(unsigned long long c0, unsigned long long k0, unsigned long long k1,
                                       unsigned long long* w) {
  unsigned long long c1 = 0, c2 = 0, c3 = 0;
  for (int round = 0; round < 10; ++round) {
    const unsigned long long h0 = __umul64hi(0xD2E7470EE14C6C93ull, c0), l0 = 0xD2E7470EE14C6C93ull * c0;
    const unsigned long long h1 = __umul64hi(0xCA5A826395121157ull, c2), l1 = 0xCA5A826395121157ull * c2;
    c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
    k0 += 0x9E3779B97F4A7C15ull; k1 += 0xBB67AE8584CAA73Bull;
  }
  w[0] = c0; w[1] = c1; w[2] = c2; w[3] = c3;
}
"""


def uniform(out: Any, seed: int, node: int) -> Launch:
    """Draws in [0, 1) into a contiguous array of float64 or float32: the bits of
    `np.random.Generator(np.random.Philox(key=[seed, node])).random`. A thread makes the four words of one counter."""
    double = out.dtype == np.float64
    each = 4 if double else 8
    w = Writer("uniform", is_wide(size=out.size))
    w.pointer("out", NAMES[out.dtype.name], out, True)
    w.number("size", out.size)
    w.number("seed", seed, "uint64")
    w.number("node", node, "uint64")

    def text() -> tuple[str, str]:
        body = "    unsigned long long w[4];\n    philox((unsigned long long)i + 1, seed, node, w);\n"
        body += f"    for (int k = 0; k < {each}; ++k) if (i * {each} + k < size) out[i * {each} + k] = "
        if double:
            body += "(double)(w[k] >> 11) * (1.0 / 9007199254740992.0);\n"
        else:  # the low half of every word, then its high half
            body += "(float)((unsigned int)(w[k / 2] >> (k % 2 * 32)) >> 8) * (1.0f / 16777216.0f);\n"
        return PHILOX, body

    return w.loop(text, -(-out.size // each))


def searched(table: Any, x: Any, out: Any, right: bool) -> Launch:
    """`np.searchsorted(table, x, side)` of one type, int64 into a contiguous `out` of the shape of `x`. NaN is last."""
    shape, (xs,) = collapsed(x.shape, steps(x))
    w = Writer("searched", is_wide(table, x, out))
    element = NAMES[x.dtype.name]
    w.pointer("out", "long long", out, True)
    w.pointer("table", element, table)
    w.number("ts", steps(table)[0])
    w.number("m", table.shape[0])
    w.pointer("x", element, x)
    extents, names = w.numbers("e", shape), w.numbers("s", xs)

    def text() -> tuple[str, str]:
        less = "template <class T> __device__ __forceinline__ bool less(T a, T b) {\n"
        less += "  return a < b || (b != b && a == a); }\n"
        body = unravel("i", extents, "c") + f"    const {element} v = x[{offset('c', names)}];\n"
        body += "    I low = 0, high = m;\n    while (low < high) {\n      const I at = low + (high - low) / 2;\n"
        before = "!less(v, table[at * ts])" if right else "less(table[at * ts], v)"
        body += f"      if ({before}) low = at + 1; else high = at;\n    }}\n    out[i] = low;\n"
        return prelude(x.dtype) + less, body

    return w.loop(text, math.prod(x.shape), right)
