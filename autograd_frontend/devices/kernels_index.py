"""Entries at integer indices: read, written, added to. No atomics: where several meet, they meet in their order.

The axes of an array that is indexed so are those that the index arrays pick from, and the rest, which is taken as it
is. `Picked` says which are which.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .expressions import Launch
from .kernels import (
    BITS,
    NAMES,
    PAIR,
    Sizes,
    Text,
    Writer,
    collapsed,
    is_wide,
    offset,
    prelude,
    steps,
    unravel,
)

GONE = "(-9223372036854775807ll - 1)"  # the place of an index that is out of bounds


class Picked(NamedTuple):
    """An array `x` and index arrays, int32 or int64, of one shape `shape` (strides may be 0), one for each axis in
    `axes`. The result has the extents `before` in front of `shape` and `after` behind it: axes of `x` that are kept
    (`kept`, in this order). `drift`: by how many elements `x` is moved along each axis of `shape` besides."""

    x: Any
    axes: Sizes
    indices: tuple[Any, ...]
    shape: Sizes
    kept: Sizes
    front: int  # how many of the kept axes stand before those of the indices
    drift: Sizes = ()

    @property
    def result(self) -> Sizes:
        kept = [self.x.shape[k] for k in self.kept]
        return (*kept[: self.front], *self.shape, *kept[self.front :])


def declared(w: Writer, p: Picked) -> tuple[Sizes, list[str]]:
    """The index arrays as parameters: their common extents, and the names of these."""
    shape, strides = collapsed(p.shape, p.drift or (0,) * len(p.shape), *[steps(i) for i in p.indices])
    extents = w.numbers("e", shape)
    w.numbers("d", strides.pop(0))
    for k, (axis, index) in enumerate(zip(p.axes, p.indices, strict=True)):
        w.pointer(f"i{k}", NAMES[index.dtype.name], index)
        w.numbers(f"i{k}s", strides[k])
        w.number(f"m{k}", p.x.shape[axis])
        w.number(f"t{k}", steps(p.x)[axis])
    return shape, extents


def looked_up(p: Picked, rank: int, out_of_bounds: str) -> str:
    """Statements that make `at` of coordinates `c0, c1, ...`: where in `x` the indices point."""
    body = f"    long long at = {offset('c', [f'd{k}' for k in range(rank)])};\n"
    for k in range(len(p.indices)):
        where = offset("c", [f"i{k}s{d}" for d in range(rank)])
        body += f"    long long j{k} = i{k}[{where}];\n    if (j{k} < 0) j{k} += m{k};\n"
        body += f"    if (j{k} < 0 || j{k} >= m{k}) {{ {out_of_bounds} }}\n    at += j{k} * (long long)t{k};\n"
    return body


def gather(p: Picked, out: Any, flag: Any) -> Launch:
    """The entries into a contiguous `out` of the shape `p.result`. An index out of bounds sets `flag`, an int32, and
    its entry is not written; None: there is none."""
    shape, strides, counts = p.x.shape, steps(p.x), []
    w = Writer("gather", is_wide(p.x, out, *p.indices))
    element = BITS[out.dtype.itemsize]
    w.pointer("out", element, out, True)
    w.pointer("x", element, p.x)
    if flag is not None:
        w.pointer("flag", "int", flag, True)
    extents, names = [], []
    rank, (middle, middle_names) = 0, declared(w, p)
    for part, axes in (("f", p.kept[: p.front]), ("b", p.kept[p.front :])):
        sizes, (kept,) = collapsed([shape[k] for k in axes], [strides[k] for k in axes])
        extents.append(w.numbers(f"{part}e", sizes))
        names.append(w.numbers(f"{part}s", kept))
        counts.append(math.prod(sizes))
    rank = len(middle)
    w.number("inner", counts[1])
    w.number("between", math.prod(middle))

    def text() -> tuple[str, str]:
        body = "    const I q = i / inner;\n" + unravel("i % inner", extents[1], "b")
        body += unravel("q / between", extents[0], "f") + unravel("q % between", middle_names, "c")
        body += looked_up(p, rank, "*flag = 1; continue;" if flag is not None else "continue;")
        body += f"    out[i] = x[at + {offset('f', names[0])} + {offset('b', names[1])}];\n"
        return PAIR, body

    return w.loop(text, math.prod(p.result))


def places(p: Picked, out: Any, flag: Any) -> Launch:
    """Where in `x`, counted in elements from its first entry, the index arrays point: int64, one after the other."""
    w = Writer("places", is_wide(p.x, out, *p.indices))
    w.pointer("out", "long long", out, True)
    if flag is not None:
        w.pointer("flag", "int", flag, True)
    shape, extents = declared(w, p)

    def text() -> tuple[str, str]:
        out_of_bounds = f"{'*flag = 1; ' if flag is not None else ''}out[i] = {GONE}; continue;"
        body = unravel("i", extents, "c") + looked_up(p, len(shape), out_of_bounds) + "    out[i] = at;\n"
        return "", body

    return w.loop(text, math.prod(p.shape))


def arranged(w: Writer, p: Picked, v: Any) -> tuple[Sizes, list[str], Sizes, list[str], list[str]]:
    """Parameters of what is written, `v` of the shape `p.result`: the extents along the index arrays and `v`'s steps
    there, and the kept extents with the steps of `v` and of `x`."""
    s, t = steps(v), steps(p.x)
    inside = slice(p.front, p.front + len(p.shape))
    kept_v = s[: p.front] + s[p.front + len(p.shape) :]
    shape, (sv,) = collapsed(p.shape, s[inside])
    kept, (kv, kx) = collapsed([p.x.shape[k] for k in p.kept], kept_v, [t[k] for k in p.kept])
    return shape, w.numbers("vs", sv), kept, w.numbers("kv", kv), w.numbers("kx", kx)


def begun(name: str, p: Picked, v: Any, at: Any, order: Any, element: str) -> tuple[Writer, Text, int]:
    """What the two kernels that write share. Thread `i` has entry `t` in the order of places, and kept coordinates,
    which lie at `to` in `x`, at `from` in `v`. The text: that, and what finds `of`, where in `v` index `j` stands."""
    w = Writer(name, is_wide(p.x, v, at, size=math.prod(p.result)))
    w.pointer("x", element, p.x, True)
    w.pointer("v", element, v)
    w.pointer("at", "long long", at)
    if order is not None:
        w.pointer("sorted", "long long", order)
    shape, vs, kept, kv, kx = arranged(w, p, v)
    extents, inner = w.numbers("e", shape), w.numbers("k_", kept)
    w.number("m", math.prod(shape))
    w.number("each", math.prod(kept))

    def text() -> tuple[str, str]:
        body = "    const I t = i / each;\n" + unravel("i % each", inner, "k")
        body += f"    const I to = {offset('k', kx)}, from = {offset('k', kv)};\n"
        return body, unravel("j", extents, "c") + f"    const I of = from + {offset('c', vs)};\n"

    return w, text, math.prod(shape) * math.prod(kept)


def store(p: Picked, v: Any, at: Any, order: Any) -> Launch:
    """`v`, of the shape `p.result`, into `x` at the places `at`. With `order`, which sorts the places stably, the last
    entry for a place is the one that stays; None: no two have the same place."""
    w, begin, n = begun("store", p, v, at, order, BITS[v.dtype.itemsize])

    def text() -> tuple[str, str]:
        body, value = begin()
        if order is not None:
            body += "    const I j = sorted[t];\n    if (t + 1 < m && at[sorted[t + 1]] == at[j]) continue;\n"
        else:
            body += "    const I j = t;\n"
        return PAIR, body + f"    if (at[j] == {GONE}) continue;\n{value}    x[at[j] + to] = v[of];\n"

    return w.loop(text, n)


COMBINE = {
    "add": "acc + it", "multiply": "acc * it", "maximum": "(acc > it || acc != acc) ? acc : it",
    "minimum": "(acc < it || acc != acc) ? acc : it",
}  # fmt: skip


def segments(p: Picked, v: Any, at: Any, order: Any, ufunc: str = "add") -> Launch:
    """`ufunc.at(x, indices, v)`: the first of the entries for a place, in the order of places, takes in all of them
    one after the other. The bits are those of NumPy, which goes through `v` in order."""
    element = NAMES[v.dtype.name]
    w, begin, n = begun("segments", p, v, at, order, element)

    def text() -> tuple[str, str]:
        body, value = begin()
        body += f"    const long long place = at[sorted[t]];\n    if (place == {GONE}) continue;\n"
        body += "    if (t > 0 && at[sorted[t - 1]] == place) continue;\n"
        body += f"    {element} acc = x[place + to];\n    for (I u = t; u < m; ++u) {{\n    const I j = sorted[u];\n"
        body += f"    if (at[j] != place) break;\n{value}    const {element} it = v[of];\n"
        body += f"    acc = {COMBINE[ufunc]};\n    }}\n"
        return prelude(v.dtype), body + "    x[place + to] = acc;\n"

    return w.loop(text, n, ufunc)


def sums_between(x: Any, starts: Any, out: Any) -> Launch:
    """`np.add.reduceat` along the first axis of `x`: `out[k]` is the sum of the rows from `starts[k]` to the next
    start, or that one row where the next is not larger. `starts` are int64 and right."""
    lines, (xs,) = collapsed(x.shape[1:], steps(x)[1:])
    w = Writer("sums_between", is_wide(x, out))
    element = NAMES[x.dtype.name]
    w.pointer("out", element, out, True)
    w.pointer("x", element, x)
    w.pointer("starts", "long long", starts)
    extents, names = w.numbers("e", lines), w.numbers("s", xs)
    w.number("step", steps(x)[0])
    w.number("rows", x.shape[0])
    w.number("m", out.shape[0])
    w.number("each", math.prod(lines))

    def text() -> tuple[str, str]:
        body = "    const I t = i / each;\n" + unravel("i % each", extents, "c")
        body += f"    const I at = {offset('c', names)};\n    I k = starts[t];\n"
        body += "    const I end = t + 1 < m ? (I)starts[t + 1] : rows;\n"
        body += f"    {element} acc = x[at + k * step];\n    for (++k; k < end; ++k) acc = acc + x[at + k * step];\n"
        return prelude(x.dtype), body + "    out[i] = acc;\n"

    return w.loop(text, out.size)
