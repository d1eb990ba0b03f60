"""CUDA text of accumulators: what a reduction keeps while it runs, and the tree in which a block puts them together.

The order of additions depends on shapes only, so results are the same in every run. Sums and products of float16 and
float32 are kept as a double and rounded once. A sum of float64 keeps what each addition rounded off beside it, so its
error does not grow with the number of terms. Whole numbers wrap in their own type.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .cuda_types import identifier, register, wide

# x: the accumulator, `merge` takes that of another thread in. Lanes beyond the last keep their own, which lane 0 never
# sees. The result is in every thread.
BLOCK = """
template <class A> __device__ __forceinline__ A warp_tree(A x) {
    for (int d = 16; d > 0; d >>= 1) x.merge(x.down(d));
    return x;
}
template <class A> __device__ __forceinline__ A block_tree(A x) {
    __shared__ A parts[32];
    x = warp_tree(x);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x < blockDim.x / 32) x = parts[threadIdx.x];
        else x.start();
        x = warp_tree(x);
        if (threadIdx.x == 0) parts[0] = x;
    }
    __syncthreads();
    x = parts[0];
    __syncthreads();
    return x;
}
"""

EXACT = """
__device__ __forceinline__ void exact_add(double& s, double& c, double v) {
    double t = s + v, w = t - s;
    c += (s - (t - w)) + (v - w);
    s = t;
}
__device__ __forceinline__ double exact_sum(double s, double c) { return c == 0 || c - c != 0 ? s : s + c; }
"""


class Tree(NamedTuple):
    """An accumulator: the name of its type, its definition, its size in bytes."""

    name: str
    text: str
    size: int


class Plan(NamedTuple):
    """Fields of an accumulator, and statements: to start, to take in a value `v` (the one at `at`) or another one `b`,
    and the expression of the result."""

    fields: dict[str, str]
    start: str
    add: str
    merge: str
    result: str


SIZES = {
    "double": 8, "long long": 8, "unsigned long long": 8, "float": 4, "int": 4, "unsigned": 4, "short": 2,
    "unsigned short": 2, "signed char": 1, "unsigned char": 1,
}  # fmt: skip


def sum_plan(dtype: np.dtype[Any]) -> Plan:
    if dtype.kind == "c":
        make = register(dtype)
        if dtype.itemsize == 8:
            two, result = {"s": "double", "t": "double"}, f"{make}(float(s), float(t))"
            return Plan(two, "s = t = 0;", "s += v.re; t += v.im;", "s += b.s; t += b.t;", result)
        return Plan(
            {"s": "double", "c": "double", "t": "double", "d": "double"},
            "s = t = 0; c = d = 0;",
            "exact_add(s, c, v.re); exact_add(t, d, v.im);",
            "exact_add(s, c, b.s); exact_add(t, d, b.t); c += b.c; d += b.d;",
            f"{make}(exact_sum(s, c), exact_sum(t, d))",
        )
    if dtype == np.float64:
        fields = {"s": "double", "c": "double"}
        return Plan(
            fields, "s = 0; c = 0;", "exact_add(s, c, v);", "exact_add(s, c, b.s); c += b.c;", "exact_sum(s, c)"
        )
    if dtype.kind == "f":
        return Plan({"s": "double"}, "s = 0;", "s += v;", "s += b.s;", rounded("s", dtype))
    w = wide(dtype)
    return Plan({"s": w}, "s = 0;", f"s += ({w})v;", "s += b.s;", f"({register(dtype)})s")


def product_plan(dtype: np.dtype[Any]) -> Plan:
    if dtype.kind == "c":
        part = "float" if dtype.itemsize == 8 else "double"
        times = "const double r = s * {re} - t * {im}; t = s * {im} + t * {re}; s = r;"
        return Plan(
            {"s": "double", "t": "double"},
            "s = 1; t = 0;",
            times.format(re="(double)v.re", im="(double)v.im"),
            times.format(re="b.s", im="b.t"),
            f"{register(dtype)}({part}(s), {part}(t))",
        )
    if dtype.kind == "f":
        return Plan({"s": "double"}, "s = 1;", "s *= v;", "s *= b.s;", rounded("s", dtype))
    w = wide(dtype)
    return Plan({"s": w}, "s = 1;", f"s *= ({w})v;", "s *= b.s;", f"({register(dtype)})s")


def rounded(text: str, dtype: np.dtype[Any]) -> str:
    return {"float16": f"half_precision({text})", "float32": f"float({text})"}.get(dtype.name, text)


def worst(dtype: np.dtype[Any], sign: str) -> str:
    """What every entry is beyond."""
    if dtype.kind == "f":
        return f"{sign}{register(dtype)}(__int_as_float(0x7f800000))"
    info = np.iinfo(dtype)
    if sign:
        return f"({register(dtype)})({info.min + 1}{'ll' * (dtype.itemsize == 8)} - 1)" if info.min else "0"
    return f"({register(dtype)})({info.max}{'u' if dtype.kind == 'u' else ''}{'ll' * (dtype.itemsize == 8)})"


def extreme_plan(name: str, dtype: np.dtype[Any]) -> Plan:
    """NumPy's: a NaN wins."""
    t, order = register(dtype), ">" if name == "max" else "<"
    nan = " || s != s" if dtype.kind == "f" else ""
    take = "s = s {order} {v}{nan} ? s : {v};"
    start = f"s = {worst(dtype, '-' if name == 'max' else '')};"
    of = {"order": order, "nan": nan}
    return Plan({"s": t}, start, take.format(v="v", **of), take.format(v="b.s", **of), "s")


def place_plan(name: str, dtype: np.dtype[Any]) -> Plan:
    """The first place of the extreme entry, or of the first NaN."""
    t, order = "int" if dtype.kind == "b" else register(dtype), ">" if name == "argmax" else "<"
    better = f"{{v}} {order} s || ({{v}} == s && {{i}} < i)"
    if dtype.kind == "f":
        better = f"s != s ? {{v}} != {{v}} && {{i}} < i : {{v}} != {{v}} || {better}"
    take = f"if ({better}) {{{{ s = {{v}}; i = {{i}}; }}}}"
    first = worst(dtype, "-" if name == "argmax" else "") if dtype.kind != "b" else str(int(name == "argmin"))
    start = f"s = {first}; i = 0x7fffffffffffffffll;"
    return Plan(
        {"i": "long long", "s": t}, start, take.format(v="v", i="at"), take.format(v="b.s", i="b.i"), "i"
    )


def truth_plan(name: str) -> Plan:
    sign, start = ("|", 0) if name == "any" else ("&", 1)
    return Plan({"s": "int"}, f"s = {start};", f"s {sign}= (int)v;", f"s {sign}= b.s;", "s != 0")


def plan(name: str, dtype: np.dtype[Any]) -> Plan:
    if dtype.kind == "b":  # as NumPy adds and multiplies booleans
        name = {"sum": "any", "prod": "all", "max": "any", "min": "all"}.get(name, name)
    if name in ("any", "all"):
        return truth_plan(name)
    if dtype.kind == "c" and name not in ("sum", "prod"):
        raise NotImplementedError(f"the GPU has no {name} of {dtype}")
    if name in ("argmax", "argmin"):
        return place_plan(name, dtype)
    if name in ("max", "min"):
        return extreme_plan(name, dtype)
    return sum_plan(dtype) if name == "sum" else product_plan(dtype)


def definitions(texts: Iterable[str]) -> str:
    """The texts of accumulators with what they share."""
    text = "".join(texts)
    return EXACT * ("exact_" in text) + text + BLOCK


@cache
def tree(name: str, dtype: np.dtype[Any], result: np.dtype[Any]) -> Tree:
    """The accumulator of a reduction ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin") of entries of one
    type."""
    p, title = plan(name, dtype), f"{name.capitalize()}_{identifier(dtype)}"
    inline, value = "__device__ __forceinline__", register(dtype)
    fields = " ".join([f"{t} {x};" for x, t in p.fields.items()])
    down = " ".join([f"b.{x} = __shfl_down_sync(0xffffffffu, {x}, lanes);" for x in p.fields])
    text = f"""struct {title} {{
    {fields}
    {inline} void start() {{ {p.start} }}
    {inline} void add({value} v, long long at) {{ {p.add} }}
    {inline} void merge({title} b) {{ {p.merge} }}
    {inline} {title} down(int lanes) const {{ {title} b; {down} return b; }}
    {inline} {register(result)} result() const {{ return {p.result}; }}
}};
"""
    sizes = [SIZES[t] for t in p.fields.values()]
    size = -(-sum(sizes) // max(sizes)) * max(sizes)
    return Tree(title, text, size)
