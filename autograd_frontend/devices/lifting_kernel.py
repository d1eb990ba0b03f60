"""The kernel that calls a translated function for every entry of arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .cuda_layout import BLOCKS, THREADS, Memory, fits, joined, offset, place, steps_along
from .cuda_text import Text, named, unravel
from .cuda_types import read, register, written
from .expressions import Launch, scalar
from .lifting import Input, Translation
from .lifting_types import literal

FIRST = """
__device__ __forceinline__ void keep_first(unsigned long long* first, unsigned long long i) {
#ifdef CUDA_ON_CPU
    if (i < *first) *first = i;
#else
    atomicMin(first, i);
#endif
}
"""


def kernel(t: Translation, inputs: list[tuple[Input, Any]], outputs: list[Any], flags: Any) -> Launch:
    """`inputs`: views of arrays, and numbers; arguments of the function first. `outputs`: the value, and a derivative
    for each of its arguments that the result depends on. `flags`: the first entry that raises, and 0 where some entry
    of a mixed result is a number of Python's."""
    text, shape = Text("lifted"), outputs[0].shape
    text.signature.append(t.digest)
    sources: list[Any] = []
    for about, x in inputs:
        if about.table:
            sources.append(None)
        elif hasattr(x, "strides") and hasattr(x, "buffer"):
            text.memory.setdefault(place(x), Memory(f"p{len(text.memory)}", x, steps_along(x, shape), False))
            sources.append(place(x))
        else:
            text.given.append(scalar(x, about.type.dtype))
            sources.append(text.given[-1])
    text.signature.append(tuple([None if s is None else s if type(s) is tuple else "number" for s in sources]))
    for out in outputs:
        text.output(out, steps_along(out, shape))
    extents, steps = joined(shape, [m.steps for m in text.memory.values()])
    text.index = "int" if fits(extents, steps) else "long long"
    text.declare()
    for about, x in inputs:
        if about.table:
            text.pointer(f"const {register(about.type.dtype)}*", f"in_{about.text}", x)
            text.parameter("int64", f"in_{about.text}_n", np.int64(x.shape[0]))
    if t.flagged:
        text.pointer("unsigned long long*", "flags", flags)
    n = prod(extents)
    text.parameter("index", "n", n)
    lines, indices = unravel(text, "i", extents)
    where = {key: offset(indices, named(text, m, s)) for (key, m), s in zip(text.memory.items(), steps, strict=True)}
    text.functions = dict(t.functions)
    body = Inside(t, inputs, text, where, sources)
    made = text.kernel(lambda: (body.lines(lines), FIRST + t.text))
    return Launch(made, max(1, min(BLOCKS, -(-n // THREADS))), THREADS, tuple(text.arguments))


class Inside:
    """The loop of the kernel."""

    def __init__(self, t: Translation, inputs: Any, text: Text, where: dict[Any, str], sources: list[Any]) -> None:
        self.t, self.inputs, self.text, self.where, self.sources = t, inputs, text, where, sources

    def value(self, k: int) -> str:
        """An input as it is in memory, or as a parameter."""
        source, about = self.sources[k], self.inputs[k][0]
        if type(source) is tuple:
            return read(f"{self.text.memory[source].name}[{self.where[source]}]", about.type.dtype)
        return read(self.text.scalars[id(source)], about.type.dtype)

    def lines(self, index: list[str]) -> list[str]:
        t, result = self.t, self.t.main.result
        call, setting = ["k"], []
        for k, (about, _) in enumerate(self.inputs):
            if about.path == ():
                call += [self.value(k), *[literal(1, about.type.dtype)] * (about.recorded >= 0)]
            elif about.table:
                setting += [f"k.{about.text} = in_{about.text};", f"k.{about.text}_n = in_{about.text}_n;"]
            else:
                setting.append(f"k.{about.text} = {self.value(k)};")
        names = result.names("r")
        stored = [name for name in names if name != "r_weak"]
        loop = "for (I i = (I)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (I)gridDim.x * blockDim.x) {"
        return [
            loop, *index, "Captured k;", *setting, f"{register(result.stored)} {' = 0, '.join(names)} = 0;",
            "bool bad = false;", f"{t.main.name}({', '.join([*call, *names, 'bad'])});",
            *[f"q{k}[{self.where['output', k]}] = {written(name, result.stored)};" for k, name in enumerate(stored)],
            *["if (bad) keep_first(flags, (unsigned long long)i);"] * t.flagged,
            *["else if (r_weak != 0) flags[1] = 0;"] * (result.kind == "mixed"), "}",
        ]  # fmt: skip
