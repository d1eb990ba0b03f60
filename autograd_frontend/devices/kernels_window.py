"""Sliding windows and their transpose, a thread for each entry that comes out; and products of matrices repaired."""

from __future__ import annotations

import math
from typing import Any

from .expressions import Launch
from .kernels import BITS, NAMES, PAIR, Sizes, Writer, collapsed, is_wide, offset, prelude, steps, unravel
from .plans import remembered


def settings(w: Writer, **values: Sizes) -> dict[str, list[str]]:
    return {name: w.numbers(name, each) for name, each in values.items()}


def windows(x: Any, out: Any, kernel: Sizes, stride: Sizes, padding: Sizes) -> Launch:
    """`ops.strided.windows` into a contiguous `out`, `[..., *kernel, *counts]`: cells outside `x` are 0."""
    n = len(kernel)
    s, lead = steps(x), x.ndim - n
    counts, extents = out.shape[lead + n :], x.shape[lead:]
    outside, (xs,) = collapsed(x.shape[:lead], s[:lead])
    w = Writer("windows", is_wide(x, out))
    element = BITS[out.dtype.itemsize]
    w.pointer("out", element, out, True)
    w.pointer("x", element, x)
    a = settings(w, e=outside, xs=xs, kernel=kernel, counts=counts, extents=extents, inner=s[lead:], stride=stride,
                 padding=padding)  # fmt: skip
    w.number("each", math.prod(counts))
    w.number("cells", math.prod(kernel))

    def text() -> tuple[str, str]:
        body = unravel("i % each", a["counts"], "q") + unravel("i / each % cells", a["kernel"], "j")
        body += unravel("i / each / cells", a["e"], "c") + f"    I at = {offset('c', a['xs'])};\n    bool in = true;\n"
        for k in range(n):
            body += f"    const I p{k} = q{k} * stride{k} + j{k} - padding{k};\n"
            body += f"    in = in && p{k} >= 0 && p{k} < extents{k}; at += p{k} * inner{k};\n"
        return PAIR, body + f"    const {element} nothing{{}};\n    out[i] = in ? x[at] : nothing;\n"

    return w.loop(text, out.size)


def fold(x: Any, out: Any, kernel: Sizes, stride: Sizes, padding: Sizes) -> Launch:
    """`ops.strided.fold` of `x`, `[..., *kernel, *counts]`, into a contiguous `out`, `[..., *extents]`. Every entry
    adds up its cells in the order of their places in the window, as NumPy's does."""
    n = len(kernel)
    s, lead = steps(x), out.ndim - n
    outside, (xs,) = collapsed(x.shape[:lead], s[:lead])
    w = Writer("fold", is_wide(x, out))
    element = NAMES[out.dtype.name]
    w.pointer("out", element, out, True)
    w.pointer("x", element, x)
    a = settings(w, e=outside, xs=xs, kernel=kernel, counts=x.shape[lead + n :], extents=out.shape[lead:],
                 js=s[lead : lead + n], qs=s[lead + n :], stride=stride, padding=padding)  # fmt: skip
    w.number("each", math.prod(out.shape[lead:]))

    def text() -> tuple[str, str]:
        body = unravel("i % each", a["extents"], "p") + unravel("i / each", a["e"], "c")
        body += f"    {element} acc = As<{element}>::whole(0);\n"
        at = offset("c", a["xs"])
        for k in range(n):
            body += f"    const I b{k} = p{k} + padding{k};\n"
        for k in range(n):
            body += f"    for (I j{k} = b{k} % stride{k}; j{k} < kernel{k} && j{k} <= b{k}; j{k} += stride{k}) {{\n"
            body += f"    const I q{k} = (b{k} - j{k}) / stride{k};\n    if (q{k} >= counts{k}) continue;\n"
            at += f" + j{k} * js{k} + q{k} * qs{k}"
        body += f"    acc = acc + x[{at}];\n{'    }' * n}\n    out[i] = acc;\n"
        return prelude(out.dtype), body

    return w.loop(text, out.size)


FINITE = """
template <class T> __device__ __forceinline__ bool is_finite(T x) { return x - x == 0; }
template <class T> __device__ __forceinline__ bool is_zero(T x) { return x == 0; }
"""
FINITE_HALF = """
__device__ __forceinline__ bool is_finite(f16 x) { return wide(x) - wide(x) == 0; }
__device__ __forceinline__ bool is_zero(f16 x) { return wide(x) == 0; }
"""
FINITE_COMPLEX = """
template <class R> __device__ __forceinline__ bool is_finite(cplx<R> x) {
  return x.re - x.re + (x.im - x.im) == 0; }
template <class R> __device__ __forceinline__ bool is_zero(cplx<R> x) { return x.re == 0 && x.im == 0; }
"""


@remembered
def repaired(d: Any, a: Any, b: Any, cotangent: str) -> Launch:
    """The entries of `d = a @ b` that are not finite again, of products that a zero of the cotangent is not in: that is
    the "first" operand, the "second", or "both". All have one batch shape, their strides there may be 0. Nobody has to
    ask whether there is one: where all are finite, this is one look at each."""
    lead = d.ndim - 2
    sd, sa, sb = steps(d), steps(a), steps(b)
    batch, (db, ab, bb) = collapsed(d.shape[:lead], sd[:lead], sa[:lead], sb[:lead])
    w = Writer("repaired", is_wide(d, a, b))
    kind = d.dtype.name
    element, sums = NAMES[kind], "float" if kind == "float16" else NAMES[kind]
    w.pointer("d", element, d, True)
    w.pointer("left", element, a)
    w.pointer("right", element, b)
    names = settings(w, e=batch, db=db, ab=ab, bb=bb)
    for name, value in (("rows", d.shape[-2]), ("columns", d.shape[-1]), ("inner", a.shape[-1]), ("dr", sd[-2]),
                        ("dc", sd[-1]), ("ar", sa[-2]), ("ac", sa[-1]), ("br", sb[-2]), ("bc", sb[-1])):  # fmt: skip
        w.number(name, value)

    def text() -> tuple[str, str]:
        body = "    const I column = i % columns, row = i / columns % rows;\n"
        body += unravel("i / columns / rows", names["e"], "c")
        body += f"    const I at = {offset('c', names['db'])} + row * dr + column * dc;\n"
        body += "    if (is_finite(d[at])) continue;\n"
        body += f"    const I ia = {offset('c', names['ab'])} + row * ar;\n"
        body += f"    const I ib = {offset('c', names['bb'])} + column * bc;\n"
        body += f"    {sums} acc = As<{sums}>::whole(0);\n    for (I k = 0; k < inner; ++k) {{\n"
        body += f"      const {element} x = left[ia + k * ac], y = right[ib + k * br];\n"
        product = "wide(x) * wide(y)" if kind == "float16" else "x * y"
        nonzero = {"first": "!is_zero(x)", "second": "!is_zero(y)", "both": "!is_zero(x) && !is_zero(y)"}[cotangent]
        body += f"      if ({nonzero}) acc = acc + {product};\n    }}\n"
        body += f"    d[at] = {'narrow(acc)' if kind == 'float16' else 'acc'};\n"
        extra = FINITE + FINITE_HALF * (kind == "float16") + FINITE_COMPLEX * kind.startswith("complex")
        return prelude(d.dtype) + extra, body

    return w.loop(text, d.size, cotangent)
