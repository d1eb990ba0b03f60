"""CUDA text of reductions over any axes of an elementwise expression, which is computed as it is read.

Two ways: "along", a block for an output, its threads along the reduced entries; and "across", a thread for an output,
its neighbours the next outputs, where those lie beside each other in memory, or where there is little to reduce. Where
that gives too few threads, the reduced entries are cut into pieces, whose accumulators a second kernel puts together.
No atomics: the same shapes give the same order of operations, and so the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .cuda_layout import BLOCKS, THREADS, Memory, Steps, fits, joined, offset, steps_along
from .cuda_text import Text, converted_to, elementwise, named, unravel
from .cuda_trees import Tree, definitions, tree
from .cuda_types import written
from .expressions import Expr, Launch, cast, scalar

MANY = 4096  # outputs from which a thread each puts pieces together, not a block each
SHORT = 32  # entries that one thread reduces even where they lie side by side
RESIDENT = BLOCKS * THREADS  # threads that an H200 holds at once
EMPTY = {"sum": 0, "prod": 1, "any": False, "all": True}
PLACES = ("argmax", "argmin")


class Task(NamedTuple):
    """A reduction: `length` entries for an output, `outputs` of them, cut into `pieces`; `across` as above."""

    tree: Tree
    length: int
    outputs: int
    pieces: int
    across: bool

    def grid(self) -> tuple[int, int]:
        """Blocks and threads of a block."""
        work = self.outputs * self.pieces
        if self.across:
            return max(1, min(BLOCKS, -(-work // THREADS))), THREADS
        block = threads(-(-self.length // self.pieces))
        return max(1, min(work, RESIDENT // block)), block


def threads(n: int) -> int:
    """Threads of a block for so many entries: a power of two, with four entries each or more."""
    block = 32
    while block < THREADS and block * 4 < n:
        block *= 2
    return block


def reduction(name: str, e: Expr, axes: tuple[int, ...], out: Any, empty: Callable[[Any, Any], Any]) -> list[Launch]:
    """The launches that reduce an expression over some axes. `name`: sum, prod, max, min, any, all, argmax, argmin (the
    place among the reduced entries, counted in C order). `out` has the other axes, or all with extent 1. `empty` gives
    memory for what lies between two launches."""
    axes = tuple(sorted([k % len(e.shape) for k in axes]))
    kept = tuple([k for k in range(len(e.shape)) if k not in axes])
    e = cast(e, np.dtype(bool)) if name in ("any", "all") else e if name in PLACES else converted_to(e, out.dtype)
    length, count = prod(pick(e.shape, axes)), prod(pick(e.shape, kept))
    if not count:
        return []
    if not length:
        if name not in EMPTY:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        return [elementwise([(scalar(EMPTY[name], out.dtype), out)])]
    if len(out.shape) == len(e.shape):
        steps = pick(steps_along(out, tuple([1 if k in axes else n for k, n in enumerate(e.shape)])), kept)
    else:
        steps = steps_along(out, pick(e.shape, kept))
    target = Memory("q0", out, steps, True)
    result = np.dtype(np.int64) if name in PLACES else e.dtype
    if out.dtype != result:
        raise TypeError(f"{name} gives {result}, not {out.dtype}")
    task = planned(tree(name, e.dtype, result), e, axes, length, count)
    if task.pieces == 1:
        return [first(name, e, axes, kept, target, None, task, False)]
    between = empty((count * task.pieces * task.tree.size,), np.dtype(np.uint8))
    follow = task._replace(length=task.pieces, pieces=1, across=count > MANY)
    return [
        first(name, e, axes, kept, target, between, task, follow.across),
        second(name, pick(e.shape, kept), target, between, follow),
    ]


def planned(t: Tree, e: Expr, axes: tuple[int, ...], length: int, count: int) -> Task:
    """How the work is divided."""
    across = beside(e, axes) or (length <= SHORT and count > THREADS)
    if across:
        pieces = min(-(-length // 16), max(1, RESIDENT // count), 512)
    else:
        pieces = min(-(-length // 2048), max(1, BLOCKS // count))
    return Task(t, length, count, pieces, across)


def beside(e: Expr, axes: tuple[int, ...]) -> bool:
    """Whether neighbours in memory belong to different outputs, in the largest array that is read."""
    largest, found = 0, False
    todo = [e]
    while todo:
        x = todo.pop()
        todo += x.args
        if x.kind == "leaf" and prod(x.leaf.shape) > largest:
            largest = prod(x.leaf.shape)
            steps = [(abs(s), k) for k, s in enumerate(steps_along(x.leaf, e.shape)) if s]
            found = bool(steps) and min(steps)[1] not in axes
    return found


def first(
    name: str, e: Expr, axes: Steps, kept: Steps, target: Memory, between: Any, task: Task, turned: bool
) -> Launch:
    """The kernel that reads the entries. It stores results, or accumulators of pieces (`turned`: the outputs of one
    piece side by side)."""
    text = Text(f"{name}_first")
    text.collect([e], e.shape)
    sources = list(text.memory.items())
    outer, outer_steps = joined(pick(e.shape, kept), [*[pick(m.steps, kept) for _, m in sources], target.steps])
    inner, inner_steps = joined(pick(e.shape, axes), [pick(m.steps, axes) for _, m in sources], name not in PLACES)
    inner_steps.append((0,) * len(inner))
    every = [a + b for a, b in zip(outer_steps, inner_steps, strict=True)]
    text.index = "int" if fits([*outer, *inner], every) else "long long"
    if between is None:
        text.memory["output", 0] = target
    text.declare()
    if between is not None:
        text.pointer(f"{task.tree.name}*", "parts", between)
    for what, n in (("count", task.outputs), ("length", task.length), ("pieces", task.pieces)):
        text.parameter("index", what, n)
    text.parameter("index", "piece", -(-task.length // task.pieces))
    head, indices = unravel(text, "o", outer)
    lines, along = unravel(text, "r", inner)
    where = {key: offset([*indices, *along], named(text, m, s)) for (key, m), s in zip(sources, every, strict=False)}
    stored = f"parts[{'k * count + o' if turned else 'o * pieces + k'}] = acc;"
    if between is None:
        stored = result(text, target, indices, outer_steps[-1])
    end = "const I start = k * piece, end = start + piece < length ? start + piece : length;"
    split = "const I o = w / pieces, k = w - o * pieces;"
    if task.across:
        split = "const I k = w / count, o = w - k * count;"
    text.signature += [between is None, turned]

    def inside() -> list[str]:
        text.values([e], where, lines)
        return [*lines, f"acc.add({text.of(e)}, r);"]

    return launched(text, task, "count * pieces", [split, *head, end], inside, stored)


def second(name: str, kept: Steps, target: Memory, between: Any, task: Task) -> Launch:
    """The kernel that puts the accumulators of the pieces together."""
    text = Text(f"{name}_second")
    outer, steps = joined(kept, [target.steps])
    text.index = "int" if fits([*outer, task.length], [(*steps[0], 0)]) else "long long"
    text.memory["output", 0] = target
    text.declare()
    text.pointer(f"const {task.tree.name}*", "parts", between)
    text.parameter("index", "count", task.outputs)
    text.parameter("index", "length", task.length)
    head, indices = unravel(text, "o", outer)
    stored = result(text, target, indices, steps[0])
    line = f"acc.merge(parts[{'r * count + o' if task.across else 'o * length + r'}]);"
    head = ["const I o = w, start = 0, end = length;", *head]
    return launched(text, task, "count", head, lambda: [line], stored)


def result(text: Text, target: Memory, indices: Sequence[str], steps: Steps) -> str:
    return f"q0[{offset(indices, named(text, target, steps))}] = {written('acc.result()', target.dtype)};"


def pick(values: Sequence[int], axes: Sequence[int]) -> Steps:
    return tuple([values[k] for k in axes])


def launched(
    text: Text, task: Task, work: str, head: Sequence[str], inside: Callable[[], list[str]], stored: str
) -> Launch:
    """The loops around. A thread, or a block, does the piece `k` of the output `o`; `r` runs over its entries."""
    text.barriers = not task.across
    text.signature += [task.across, task.tree.name]

    def write() -> tuple[list[str], str]:
        begin, step = "(I)blockIdx.x * blockDim.x + threadIdx.x", "(I)gridDim.x * blockDim.x"
        if not task.across:
            begin, step = "blockIdx.x", "gridDim.x"
        body = [f"for (I w = {begin}; w < {work}; w += {step}) {{", *head, f"{task.tree.name} acc;", "acc.start();"]
        if task.across:
            body += ["for (I r = start; r < end; ++r) {", *inside(), "}", stored, "}"]
        else:
            body += ["for (I r = start + threadIdx.x; r < end; r += blockDim.x) {", *inside(), "}"]
            body += ["acc = block_tree(acc);", "if (threadIdx.x == 0) {", stored, "}", "}"]
        return body, definitions([task.tree.text])

    return Launch(text.kernel(write), *task.grid(), tuple(text.arguments))
