"""Kernels along lines: running sums, linear recurrences, the places of extremes. A line is read in its order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .expressions import Launch
from .kernels import BLOCKS, NAMES, THREADS, Sizes, Writer, collapsed, is_wide, offset, prelude, steps, unravel

LONG = 4096  # entries from which a line is cut into pieces, unless there are as many lines
SHORT = 32  # entries up to which one thread looks through a line
UFUNCS = {
    "add": "acc + it", "multiply": "acc * it", "maximum": "(acc > it || acc != acc) ? acc : it",
    "minimum": "(acc < it || acc != acc) ? acc : it",
}  # fmt: skip


def without(values: Sizes, axis: int) -> Sizes:
    return values[:axis] + values[axis + 1 :]


def accumulate(x: Any, out: Any, axis: int, ufunc: str, empty: Callable[[Sizes, Any], Any]) -> list[Launch]:
    """`ufunc.accumulate(x, axis)` into `out`, of the shape and type of `x`.

    One thread goes along a line, in NumPy's order and with its bits. A few long lines are cut into pieces of about
    sqrt(n): the totals of these are accumulated first, so their sums are rounded otherwise than NumPy's."""
    n = x.shape[axis]
    lines = x.size // n if n else 0
    if n <= LONG or lines >= LONG:
        return [running(x, out, axis, ufunc, n, None)]
    length = max(THREADS, math.isqrt(n))
    shape = (-(-n // length), lines)
    totals, sums = empty(shape, x.dtype), empty(shape, x.dtype)
    first = running(x, totals, axis, ufunc, length, None, totals_only=True)
    return [first, running(totals, sums, 0, ufunc, shape[0], None), running(x, out, axis, ufunc, length, sums)]


def running(x: Any, out: Any, axis: int, ufunc: str, length: int, carried: Any, totals_only: bool = False) -> Launch:
    """Pieces of lines, `length` entries each. `carried`, `[pieces, lines]`: what all up to each piece come to;
    `totals_only`: only the last value of every piece, into `out`, `[pieces, lines]`."""
    sx, so = steps(x), steps(x if totals_only else out)
    shape, (line, into) = collapsed(without(x.shape, axis), without(sx, axis), without(so, axis))
    n, lines = x.shape[axis], math.prod(shape)
    w = Writer("running", is_wide(x, out))
    element = NAMES[x.dtype.name]
    w.pointer("out", element, out, True)
    w.pointer("x", element, x)
    if carried is not None:
        w.pointer("carried", element, carried)
    extents, xs, os = w.numbers("e", shape), w.numbers("xs", line), w.numbers("os", into)
    for name, value in (("step", sx[axis]), ("stride", so[axis]), ("rows", n), ("length", length), ("lines", lines)):
        w.number(name, value)

    def text() -> tuple[str, str]:
        body = "    const I piece = i / lines;\n" + unravel("i % lines", extents, "c")
        body += f"    const I at = {offset('c', xs)};\n    I k = piece * length;\n"
        body += "" if totals_only else f"    const I to = {offset('c', os)};\n"
        body += "    const I end = rows - k < length ? rows : k + length;\n"
        put = "" if totals_only else "out[to + k * stride] = acc; "
        if carried is None:
            body += f"    {element} acc = x[at + k * step];\n    {put}++k;\n"
        else:
            body += f"    {element} acc = piece ? carried[i - lines] : x[at];\n    if (!piece) {{ {put}++k; }}\n"
        body += f"    for (; k < end; ++k) {{ const {element} it = x[at + k * step]; acc = {UFUNCS[ufunc]}; {put}}}\n"
        body += "    out[i] = acc;\n" if totals_only else ""
        return prelude(x.dtype), body

    return w.loop(text, lines * -(-n // length), ufunc, totals_only)


def recurrence(a: Any, b: Any, out: Any, initial: Any = None, strict: bool = False) -> Launch:
    """`y[k] = y[k-1]*a[k] + b[k]` along the first axis of arrays of one shape and type. Before the first is `initial`;
    None: `y[0] = b[0]`. `strict`: a product with a `y` that is exactly zero is zero."""
    strides = [steps(v)[1:] for v in (a, b, out)]
    if initial is not None:
        strides.append(steps(initial))
    shape, found = collapsed(out.shape[1:], *strides)
    w = Writer("recurrence", is_wide(a, b, out))
    element = NAMES[out.dtype.name]
    w.pointer("out", element, out, True)
    w.pointer("factors", element, a)
    w.pointer("rest", element, b)
    if initial is not None:
        w.pointer("initial", element, initial)
    extents = w.numbers("e", shape)
    names = [w.numbers(name, each) for name, each in zip(("as", "bs", "os", "ins"), found, strict=False)]
    for name, v in (("sa", a), ("sb", b), ("so", out)):
        w.number(name, steps(v)[0])
    w.number("rows", out.shape[0])

    def text() -> tuple[str, str]:
        body = unravel("i", extents, "c")
        for v, s in zip(("ia", "ib", "io"), names, strict=False):
            body += f"    const I {v} = {offset('c', s)};\n"
        if initial is None:
            body += f"    {element} y = rest[ib];\n    out[io] = y;\n    for (I k = 1; k < rows; ++k) {{\n"
        else:
            body += f"    {element} y = initial[{offset('c', names[3])}];\n    for (I k = 0; k < rows; ++k) {{\n"
        zero = f"As<{element}>::whole(0)"
        product = f"(y == {zero} ? {zero} : y * factors[ia + k * sa])" if strict else "y * factors[ia + k * sa]"
        body += f"      y = {product} + rest[ib + k * sb];\n      out[io + k * so] = y;\n    }}\n"
        return prelude(out.dtype), body

    return w.loop(text, math.prod(shape), strict)


BETTER = """
template <class T> __device__ __forceinline__ bool better(T a, T b) { return a @ b || (a != a && b == b); }
"""


def extreme(x: Any, out: Any, axes: Sizes, largest: bool) -> Launch:
    """Where the extreme entry over the axes is, counted in row-major order of these: int64 into a contiguous `out`. The
    first of several; a NaN is more extreme than any number. A block goes through a line, a thread through a short
    one."""
    kept = [k for k in range(len(x.shape)) if k not in axes]
    s = steps(x)
    lines, (line,) = collapsed([x.shape[k] for k in kept], [s[k] for k in kept])
    inside, (within,) = collapsed([x.shape[k] for k in axes], [s[k] for k in axes])
    n = math.prod(inside)
    w = Writer("extreme", is_wide(x))
    element = NAMES[x.dtype.name]
    w.pointer("out", "long long", out, True)
    w.pointer("x", element, x)
    extents, ls = w.numbers("e", lines), w.numbers("ls", line)
    sizes, rs = w.numbers("re", inside), w.numbers("rs", within)
    w.number("rows", n)
    short = n <= SHORT

    def text() -> tuple[str, str]:
        head = prelude(x.dtype) + BETTER.replace("@", ">" if largest else "<")
        begin = unravel("i", extents, "c") + f"    const I at = {offset('c', ls)};\n"
        begin += f"    {element} value = As<{element}>::whole(0); long long where = -1;\n"
        look = unravel("k", sizes, "r") + f"    const {element} it = x[at + {offset('r', rs)}];\n"
        look += "    if (where < 0 || better(it, value)) { value = it; where = k; }\n    }\n"
        if short:
            return head, begin + "    for (I k = 0; k < rows; ++k) {\n" + look + "    out[i] = where;\n"
        body = f"  __shared__ {element} values[{THREADS}];\n  __shared__ long long places[{THREADS}];\n"
        body += "  for (I i = blockIdx.x; i < n; i += gridDim.x) {\n" + begin
        return head, body + "    for (I k = threadIdx.x; k < rows; k += blockDim.x) {\n" + look + TREE

    count = math.prod(lines)
    if short:
        return w.loop(text, count, largest, short)
    w.number("n", count)
    kernel = w.kernel(text, (largest, short), barriers=True)
    return Launch(kernel, min(BLOCKS, count), THREADS, tuple(w.arguments))


TREE = """    values[threadIdx.x] = value; places[threadIdx.x] = where;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half && places[threadIdx.x + half] >= 0) {
        const int b = threadIdx.x + half;
        if (places[threadIdx.x] < 0 || better(values[b], values[threadIdx.x]) ||
            (!better(values[threadIdx.x], values[b]) && places[b] < places[threadIdx.x])) {
          values[threadIdx.x] = values[b]; places[threadIdx.x] = places[b];
        }
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) out[i] = places[0];
    __syncthreads();
  }
"""
