"""CUDA text of expressions with reductions along the last axis inside, such as softmax: one block a row.

The kernel goes in stages. In each, the threads run along the row, compute what the reductions of the stage are of, and
put their parts together; what depends on the row alone is computed once a row. The last stage stores the outputs. What
a stage needs of the row it reads and computes again: a row stays in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .cuda_layout import BLOCKS, THREADS, fits, joined, offset, steps_along
from .cuda_text import Text, converted_to, named, unravel
from .cuda_trees import definitions, tree
from .cuda_types import written
from .expressions import Expr, Launch, nodes

LARGEST = 512  # threads of a block


class Rows:
    """The stages of a kernel. `level[id(e)]`: the last reductions it needs; `inner`: what changes along a row."""

    def __init__(self, text: Text, roots: Sequence[Expr]) -> None:
        self.text, self.level, self.inner = text, dict[int, int](), set[int]()
        self.stages: list[list[Expr]] = []
        self.per_row: list[list[Expr]] = [[]]
        for e in nodes(*roots):
            level = max([self.level[id(a)] for a in e.args], default=0)
            if e.kind == "row":
                level += 1
                while len(self.stages) < level:
                    self.stages.append([])
                    self.per_row.append([])
                self.stages[level - 1].append(e)
            elif self.moves(e):
                self.inner.add(id(e))
            self.level[id(e)] = level
            if e.kind != "row" and id(e) not in self.inner:
                self.per_row[level].append(e)

    def moves(self, e: Expr) -> bool:
        """Whether a value is another one for each entry of a row."""
        if e.kind == "leaf":
            return self.text.memory[self.text.sources[id(e)]].steps[-1] != 0
        return any(id(a) in self.inner for a in e.args)

    def stage(self, k: int, along: dict[Any, str], trees: dict[str, str]) -> list[str]:
        """The statements of a stage: what is known of the row, one loop along it, the reductions."""
        text, lines, loop = self.text, list[str](), list[str]()
        text.values(self.per_row[k], along, lines)
        new = {text.same[id(e)]: e for e in self.stages[k] if text.same[id(e)] not in text.known}
        before = dict(text.known)
        text.values([e.args[0] for e in new.values()], along, loop)
        after = []
        for name, e in new.items():
            t = tree(e.name, e.dtype, e.dtype)
            trees[t.name] = t.text
            lines.append(f"{t.name} t{name}; t{name}.start();")
            loop.append(f"t{name}.add({text.of(e.args[0])}, j);")
            after.append((e, f"block_tree(t{name}).result()"))
        text.known = before
        lines += ["for (I j = threadIdx.x; j < n; j += blockDim.x) {", *loop, "}"]
        for e, value in after:
            text.variable(e, value, lines)
        return lines

    def last(self, roots: Sequence[Expr], along: dict[Any, str]) -> list[str]:
        """The statements that store the outputs."""
        text, lines, loop = self.text, list[str](), list[str]()
        text.values(self.per_row[-1], along, lines)
        stores = [f"q{k}[{along['output', k]}] = " for k in range(len(roots))]
        wide = [k for k in range(len(roots)) if text.memory["output", k].steps[-1]]
        once = [k for k in range(len(roots)) if k not in wide]
        if once:
            lines.append("if (threadIdx.x == 0) {")
            lines += [stores[k] + f"{written(text.of(roots[k]), roots[k].dtype)};" for k in once] + ["}"]
        if wide:
            text.values([roots[k] for k in wide], along, loop)
            loop += [stores[k] + f"{written(text.of(roots[k]), roots[k].dtype)};" for k in wide]
            lines += ["for (I j = threadIdx.x; j < n; j += blockDim.x) {", *loop, "}"]
        return lines


def rows(outputs: Sequence[tuple[Expr, Any]]) -> Launch:
    """One kernel that stores each expression in its array. An array has the shape of the region, or extent 1 along the
    last axis, or lacks it."""
    roots = [converted_to(e, out.dtype) for e, out in outputs]
    lengths = {e.args[0].shape[-1] for e in nodes(*roots) if e.kind == "row"}
    if len(lengths) != 1:
        raise ValueError(f"one kernel reduces rows of one length, not {sorted(lengths)}")
    n = lengths.pop()
    whole = [e.args[0].shape for e in nodes(*roots) if e.kind == "row"]
    shape = np.broadcast_shapes(*[e.shape for e in roots], *whole)
    text = Text("rows")
    text.collect(roots, shape)
    for e, out in outputs:
        lacks = len(out.shape) < len(shape) and len(out.shape) < len(e.shape)
        text.output(out, (*steps_along(out, shape[:-1]), 0) if lacks else steps_along(out, shape))
    extents, steps = joined(shape[:-1], [m.steps[:-1] for m in text.memory.values()])
    every = [(*s, m.steps[-1]) for s, m in zip(steps, text.memory.values(), strict=True)]
    text.index = "int" if fits([*extents, n], every) else "long long"
    text.barriers = True
    text.declare()
    count, block = prod(extents), threads(n)
    text.parameter("index", "n", n)
    text.parameter("index", "rows", count)
    head, indices = unravel(text, "i", extents)
    along, indices = dict[Any, str](), [*indices, "j"]
    for (key, m), s in zip(text.memory.items(), every, strict=True):
        along[key] = offset(indices, named(text, m, s))
    kernel = text.kernel(lambda: staged(text, roots, head, along))
    return Launch(kernel, max(1, min(count, BLOCKS * THREADS // block)), block, tuple(text.arguments))


def staged(text: Text, roots: Sequence[Expr], head: list[str], along: dict[Any, str]) -> tuple[list[str], str]:
    """The statements of a kernel, and the definitions that they need."""
    plan, trees = Rows(text, roots), dict[str, str]()
    lines = [line for k in range(len(plan.stages)) for line in plan.stage(k, along, trees)]
    loop = "for (I i = blockIdx.x; i < rows; i += gridDim.x) {"
    return [loop, *head, *lines, *plan.last(roots, along), "}"], definitions(trees.values())


def threads(n: int) -> int:
    """Threads of a block for a row: a power of two, four entries each or more."""
    block = 32
    while block < LARGEST and block * 4 < n:
        block *= 2
    return block
