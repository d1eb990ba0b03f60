"""CUDA text of elementwise expressions.

A kernel is one loop over the entries of the outputs. Each value is a variable that is computed once: an expression
that is reached twice, and two that do the same to the same. Sizes, strides and numbers are parameters, so one text
serves all of them: it depends on what is computed, on element types, on how many axes are left once those that lie
behind each other in all arrays are joined, and on which strides are 0 or 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from .cuda_functions import ROUNDED_ALREADY, definition
from .cuda_layout import BLOCKS, THREADS, Memory, Steps, fits, joined, offset, owner, place, steps_along
from .cuda_types import MEMORY, identifier, memory, prelude, read, register, written
from .expressions import Expr, Kernel, Launch, nodes, number

KERNELS: dict[Any, Kernel] = {}  # by what a text depends on: to write one takes 1 ms, to find one 0.1 ms
MOST = 4096


class Text:
    """A kernel as it is written: parameters with their arguments, functions, and variables of values.

    Expressions that are the same of the same have one number: `same[id(e)]`. `known` has the variable of each number
    that has one, `memory` the arrays by what tells them apart, `sources` that of each leaf, `given` the
    numbers given by value, `scalars` their parameters. `signature` is what the text will depend on.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.declared: list[str] = []
        self.kinds: list[str] = []
        self.arguments: list[Any] = []
        self.functions: dict[str, str] = {}
        self.memory: dict[Any, Memory] = {}
        self.sources: dict[int, Any] = {}
        self.given: list[Expr] = []
        self.scalars: dict[int, str] = {}
        self.same: dict[int, int] = {}
        self.numbers: dict[Any, int] = {}
        self.signature: list[Any] = [title]
        self.known: dict[int, str] = {}
        self.variables = 0
        self.barriers = False
        self.index = "int"

    def parameter(self, kind: str, name: str, value: Any) -> str:
        if kind == "index":
            kind, value = ("int32", np.int32(value)) if self.index == "int" else ("int64", np.int64(value))
        self.declared.append(f"{MEMORY[kind]} {name}")
        self.kinds.append(kind)
        self.arguments.append(value)
        return name

    def collect(self, roots: Iterable[Expr], shape: tuple[int, ...]) -> None:
        """Number the expressions, and find the arrays that they read."""
        for e in nodes(*roots):
            about: tuple[Any, ...] = (e.kind, e.name, e.dtype.char)
            if e.kind == "leaf":
                key = self.sources[id(e)] = place(e.leaf)
                if key not in self.memory:
                    self.memory[key] = Memory(f"p{len(self.memory)}", e.leaf, steps_along(e.leaf, shape), False)
            elif e.kind == "scalar":
                key = id(e)
                self.given.append(e)
            else:
                key = about = (*about, *[self.same[id(a)] for a in e.args])
            number = self.same[id(e)] = self.numbers.setdefault(key, len(self.numbers))
            if number == len(self.signature) - 1:
                self.signature.append(about)
        self.signature += [self.same[id(e)] for e in roots]

    def output(self, array: Any, steps: Steps) -> None:
        """An array that is written: `q0`, `q1`, ..."""
        k = sum(m.output for m in self.memory.values())
        self.memory["output", k] = Memory(f"q{k}", array, steps, True)

    def declare(self) -> None:
        """The parameters for arrays and numbers. `__restrict__`, where no output shares memory with another array."""
        outputs = [owner(m.array) for m in self.memory.values() if m.output]
        inputs = {owner(m.array) for m in self.memory.values() if not m.output}
        alone = len(set(outputs)) == len(outputs) and not inputs.intersection(outputs)
        self.signature += [alone, self.index]
        for m in self.memory.values():
            self.pointer(f"{'' if m.output else 'const '}{memory(m.dtype)}*", m.name, m.array, alone)
        for e in self.given:
            self.scalars[id(e)] = self.parameter(identifier(e.dtype), f"c{len(self.scalars)}", number(e))

    def pointer(self, declared: str, name: str, array: Any, alone: bool = True) -> None:
        self.declared.append(f"{declared} __restrict__ {name}" if alone else f"{declared} {name}")
        self.kinds.append("pointer")
        self.arguments.append(array)

    def kernel(self, write: Callable[[], tuple[Sequence[str], str]]) -> Kernel:
        """The kernel, found, or written by `write`, which gives statements, and definitions that go before."""
        key = tuple(self.signature)
        found = KERNELS.get(key)
        if found is None:
            if len(KERNELS) >= MOST:
                KERNELS.clear()
            found = KERNELS[key] = self.written(*write())
        return found

    def values(self, roots: Sequence[Expr], where: dict[Any, str], lines: list[str]) -> None:
        """Statements for everything below that has no variable yet. `where`: the index of the entry of each array."""
        todo = [(e, False) for e in reversed(roots)]
        while todo:
            e, ready = todo.pop()
            if self.same[id(e)] in self.known:
                continue
            if not ready:
                todo += [(e, True), *[(a, False) for a in reversed(e.args)]]
            elif e.kind == "scalar":
                self.variable(e, read(self.scalars[id(e)], e.dtype), lines)
            elif e.kind == "leaf":
                key = self.sources[id(e)]
                self.variable(e, read(f"{self.memory[key].name}[{where[key]}]", e.dtype), lines)
            else:
                self.variable(e, self.called(e), lines)

    def called(self, e: Expr) -> str:
        title, text = definition(e.name, tuple([a.dtype for a in e.args]), e.dtype)
        self.functions[title] = text
        value = f"{title}({', '.join([self.of(a) for a in e.args])})"
        return value if e.dtype != np.float16 or e.name in ROUNDED_ALREADY else f"half_precision({value})"

    def variable(self, e: Expr, text: str, lines: list[str]) -> None:
        name = self.known[self.same[id(e)]] = f"v{self.variables}"
        self.variables += 1
        lines.append(f"const {register(e.dtype)} {name} = {text};")

    def of(self, e: Expr) -> str:
        """The variable of an expression."""
        return self.known[self.same[id(e)]]

    def written(self, lines: Sequence[str], definitions: str) -> Kernel:
        """The whole text. The name says what it is, and tells texts apart."""
        functions = "".join(self.functions.values()) + definitions
        head = f'extern "C" __global__ void NAME({", ".join(self.declared)}) {{\n'
        body = "".join([f"{line}\n" for line in indented([f"using I = {self.index};", *lines])])
        text = prelude(functions + head + body) + functions + head + body + "}\n"
        name = f"{self.title}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        return Kernel(text.replace("NAME(", f"{name}(", 1), name, tuple(self.kinds), self.barriers)


def indented(lines: Iterable[str]) -> list[str]:
    """Statements indented by their braces."""
    depth, found = 1, []
    for line in lines:
        depth -= line.startswith("}")
        found.append("    " * depth + line)
        depth += line.endswith("{")
    return found


def named(text: Text, m: Memory, steps: Steps) -> list[Any]:
    """The steps of an array in the text: 0 and 1 as they are, others as parameters."""
    text.signature.append(tuple([s if s in (0, 1) else 2 for s in steps]))
    return [s if s in (0, 1) else text.parameter("index", f"{m.name}s{k}", s) for k, s in enumerate(steps)]


def unravel(text: Text, index: str, extents: Sequence[int]) -> tuple[list[str], list[str]]:
    """Statements that take an index apart, and the indices along the axes, outermost first."""
    text.signature.append(len(extents))
    if len(extents) <= 1:
        return [], [index] * len(extents)
    lines, names, rest = list[str](), [""] * len(extents), index
    for k in range(len(extents) - 1, 0, -1):
        n, quotient = text.parameter("index", f"{index}n{k}", extents[k]), f"{index}q{k}"
        lines.append(f"const I {quotient} = {rest} / {n}, {index}{k} = {rest} - {quotient} * {n};")
        names[k], rest = f"{index}{k}", quotient
    names[0] = rest
    return lines, names


def elementwise(outputs: Sequence[tuple[Expr, Any]]) -> Launch:
    """One kernel that stores each expression in its array. The arrays have the shape to which everything broadcasts."""
    shape = outputs[0][1].shape
    if any(out.shape != shape for _, out in outputs):
        raise ValueError(f"outputs of one kernel have the shapes {sorted({out.shape for _, out in outputs})}")
    text, roots = Text("elementwise"), [converted_to(e, out.dtype) for e, out in outputs]
    text.collect(roots, shape)
    for _, out in outputs:
        text.output(out, steps_along(out, shape))
    extents, steps = joined(shape, [m.steps for m in text.memory.values()])
    text.index = "int" if fits(extents, steps) else "long long"
    text.declare()
    n = prod(extents)
    text.parameter("index", "n", n)
    lines, indices = unravel(text, "i", extents)
    where = {key: offset(indices, named(text, m, s)) for (key, m), s in zip(text.memory.items(), steps, strict=True)}

    def write() -> tuple[list[str], str]:
        text.values(roots, where, lines)
        stores = [f"q{k}[{where['output', k]}] = {written(text.of(e), e.dtype)};" for k, e in enumerate(roots)]
        loop = "for (I i = (I)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (I)gridDim.x * blockDim.x) {"
        return [loop, *lines, *stores, "}"], ""

    return Launch(text.kernel(write), max(1, min(BLOCKS, -(-n // THREADS))), THREADS, tuple(text.arguments))


def converted_to(e: Expr, dtype: Any) -> Expr:
    """An expression in the element type of its output."""
    return e if e.dtype == dtype else Expr("call", "cast", (e,), dtype, e.shape)
