"""Element types in CUDA text: their names, half precision, complex numbers, and conversions with NumPy's results.

The text is C++ that NVRTC compiles without a header, and g++ with `tests/cuda/cuda_on_cpu.h`, which defines
CUDA_ON_CPU and writes what is PTX here. A float16 is computed with as a float that is rounded after each operation, as
NumPy does; in memory it is an unsigned short.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

MEMORY = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned", "uint64": "unsigned long long",
    "float16": "unsigned short", "float32": "float", "float64": "double",
    "complex64": "Complex<float>", "complex128": "Complex<double>",
}  # fmt: skip

HALF = """
#ifndef CUDA_ON_CPU
__device__ __forceinline__ float from_half(unsigned short h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
__device__ __forceinline__ unsigned short to_half(float x) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
__device__ __forceinline__ unsigned short to_half(double x) {
    unsigned short h;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(x));
    return h;
}
#endif
template <class R> __device__ __forceinline__ float half_precision(R x) { return from_half(to_half(x)); }
__device__ __forceinline__ float next_half(float x, float y) {
    if (x != x || y != y) return x + y;
    if (x == y) return x;
    if (x == 0) return from_half((unsigned short)(y > 0 ? 0x0001 : 0x8001));
    unsigned short h = to_half(x);
    return from_half((unsigned short)(h + ((x > 0) == (y > x) ? 1 : -1)));
}
"""

# Division is NumPy's: by the larger part, so that squares are not formed.
COMPLEX = """
template <class R> struct Complex {
    R re, im;
    Complex() = default;
    __device__ __forceinline__ Complex(R re, R im = R(0)) : re(re), im(im) {}
};
template <class R> __device__ __forceinline__ Complex<R> operator+(Complex<R> a, Complex<R> b) {
    return Complex<R>(a.re + b.re, a.im + b.im);
}
template <class R> __device__ __forceinline__ Complex<R> operator-(Complex<R> a, Complex<R> b) {
    return Complex<R>(a.re - b.re, a.im - b.im);
}
template <class R> __device__ __forceinline__ Complex<R> operator-(Complex<R> a) { return Complex<R>(-a.re, -a.im); }
template <class R> __device__ __forceinline__ Complex<R> operator*(Complex<R> a, Complex<R> b) {
    return Complex<R>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
template <class R> __device__ __forceinline__ Complex<R> operator/(Complex<R> a, Complex<R> b) {
    R p = fabs(b.re), q = fabs(b.im);
    if (p >= q) {
        if (p == 0 && q == 0) return Complex<R>(a.re / p, a.im / p);
        R t = b.im / b.re, s = R(1) / (b.re + b.im * t);
        return Complex<R>((a.re + a.im * t) * s, (a.im - a.re * t) * s);
    }
    R t = b.re / b.im, s = R(1) / (b.im + b.re * t);
    return Complex<R>((a.re * t + a.im) * s, (a.im * t - a.re) * s);
}
template <class R> __device__ __forceinline__ bool operator==(Complex<R> a, Complex<R> b) {
    return a.re == b.re && a.im == b.im;
}
template <class R> __device__ __forceinline__ bool operator!=(Complex<R> a, Complex<R> b) { return !(a == b); }
"""

# A number outside the target's range becomes what x86 makes of it, and what NumPy gives there; CUDA would saturate.
TO_WHOLE = """
template <class R> __device__ __forceinline__ int to_32(R x) {
    return x >= R(-2147483648.0) && x < R(2147483648.0) ? (int)x : (int)0x80000000u;
}
template <class R> __device__ __forceinline__ long long to_64(R x) {
    return x >= R(-9223372036854775808.0) && x < R(9223372036854775808.0) ? (long long)x
                                                                          : (long long)0x8000000000000000ull;
}
template <class R> __device__ __forceinline__ unsigned long long to_unsigned(R x) {
    if (!(x >= R(9223372036854775808.0))) return (unsigned long long)to_64(x);
    return (unsigned long long)to_64(x - R(9223372036854775808.0)) ^ 0x8000000000000000ull;
}
"""


@cache
def memory(dtype: np.dtype[Any]) -> str:
    """The type of an entry in memory, and of a parameter."""
    if dtype.name not in MEMORY:
        raise TypeError(f"the GPU computes with no {dtype}; it has {', '.join(MEMORY)}")
    return MEMORY[dtype.name]


@cache
def register(dtype: np.dtype[Any]) -> str:
    """The type that a value is computed with."""
    return "float" if dtype == np.float16 else memory(dtype)


@cache
def wide(dtype: np.dtype[Any]) -> str:
    """The type in which `+ - *` of these entries wrap: signed overflow is undefined in C++, that of shorts too."""
    if dtype.kind in "iub":
        return "unsigned long long" if dtype.itemsize == 8 else "unsigned"
    return register(dtype)


def read(text: str, dtype: np.dtype[Any]) -> str:
    """An entry of memory as a value."""
    return f"from_half({text})" if dtype == np.float16 else text


def written(text: str, dtype: np.dtype[Any]) -> str:
    """A value as an entry of memory."""
    return f"to_half({text})" if dtype == np.float16 else text


@cache
def identifier(dtype: np.dtype[Any]) -> str:
    return memory(dtype) and dtype.name


def converted(source: np.dtype[Any], target: np.dtype[Any]) -> str:
    """The text of `x` converted as `astype` does."""
    if source.kind == "c":
        if target.kind == "c":
            part = register(np.dtype(f"f{target.itemsize // 2}"))
            return f"T({part}(x.re), {part}(x.im))"
        if target.kind == "b":
            return "x.re != 0 || x.im != 0"
        return converted(np.dtype(f"f{source.itemsize // 2}"), target).replace("x", "x.re")
    if target.kind == "b":
        return "x != 0"
    if target.kind == "c":
        return f"T({register(np.dtype(f'f{target.itemsize // 2}'))}(x))"
    if target == np.float16:
        return "half_precision(x)" if source == np.float64 else "half_precision(float(x))"
    if source.kind == "f" and target.kind in "iu":
        if target == np.uint64:
            return "to_unsigned(x)"
        return "T(to_64(x))" if target.name in ("int64", "uint32") else "T(to_32(x))"
    return "T(x)"


def prelude(text: str) -> str:
    """The definitions that a text uses."""
    found = ""
    if re.search(r"half", text):
        found += HALF
    if "Complex<" in text:
        found += COMPLEX
    if re.search(r"\bto_(32|64|unsigned)\b", text):
        found += TO_WHOLE
    return found
