"""Elementwise expressions that have not been computed: what one kernel is made from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

MOST = 1 << 16  # shapes and codes that are remembered


class Kernel(NamedTuple):
    """CUDA text, the name of its kernel, what its parameters are ("pointer", or the name of a dtype), and whether its
    threads meet at barriers."""

    text: str
    name: str
    parameters: tuple[str, ...]
    barriers: bool = False


class Launch(NamedTuple):
    """A kernel with how often it runs and what it is given: arrays for pointers, numbers."""

    kernel: Kernel
    grid: int
    block: int
    arguments: tuple[Any, ...]


class Codes(dict[Any, int]):
    """A number for each thing that it is asked for. One that was forgotten gets a new number, never that of another."""

    def __init__(self) -> None:
        super().__init__()
        self.next = count().__next__

    def __missing__(self, about: Any) -> int:
        if len(self) >= MOST:
            self.clear()
        found = self[about] = self.next()
        return found


CODES = Codes()


class Expr:
    """A value of every entry of a shape.

    `kind` "leaf": the entries of the array `leaf`, which broadcasts to the shape.
    `kind` "scalar": the number `value`, a parameter of the kernel, in `dtype`.
    `kind` "call": the elementwise function `name` of `args`. They have one dtype (conversions are calls of "cast"), but
    for "where", whose first is a bool.
    `kind` "row": `name` ("sum", "prod", "max", "min") of `args[0]` along the last axis, which stays with extent 1.
    `size`: how many nodes there are below it, shared ones counted again. `inner`: the shape of which rows are reduced
    somewhere below, or were before they were computed. `regions`: those that have counted it.
    """

    __slots__ = ("kind", "name", "args", "dtype", "shape", "leaf", "value", "size", "inner", "regions")

    def __init__(self, kind: str, name: str, args: tuple[Expr, ...], dtype: Any, shape: tuple[int, ...]) -> None:
        self.kind, self.name, self.args, self.dtype, self.shape = kind, name, args, np.dtype(dtype), shape
        self.leaf: Any = None
        self.value: Any = None
        self.inner: tuple[int, ...] | None = args[0].shape if kind == "row" else None
        self.regions: tuple[Any, ...] = ()
        size = 1
        for e in args:
            size += e.size
            if e.inner is not None:
                self.inner = e.inner
        self.size: int = size

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.args)) if self.args else repr(self.value) if self.kind == "scalar" else ""
        return f"{self.name or self.kind}({inside}): {self.dtype}{list(self.shape)}"


def leaf(x: Any) -> Expr:
    """The entries of an array that has memory: `x.shape`, `x.dtype`, `x.strides`."""
    e = Expr("leaf", "", (), x.dtype, x.shape)
    e.leaf = x
    return e


def scalar(value: Any, dtype: Any) -> Expr:
    """A number, computed with as `dtype`."""
    e = Expr("scalar", "", (), dtype, ())
    e.value = value
    return e


def number(e: Expr) -> Any:
    """The argument for a scalar, in its dtype."""
    value = e.value
    if type(value) is e.dtype.type:
        return value
    with np.errstate(all="ignore"):
        return value.astype(e.dtype) if isinstance(value, np.generic) else e.dtype.type(value)


def cast(e: Expr, dtype: Any) -> Expr:
    """`e` in another dtype, as `astype` converts."""
    if e.dtype is dtype or e.dtype == dtype:
        return e
    if e.kind == "scalar" and not isinstance(e.value, np.generic):
        return scalar(e.value, dtype)
    return Expr("call", "cast", (e,), dtype, e.shape)


def call(name: str, args: tuple[Expr, ...], dtype: Any) -> Expr:
    """An elementwise function of arguments that broadcast."""
    return Expr("call", name, args, dtype, meet([e.shape for e in args]))


SHAPES: dict[Any, tuple[int, ...]] = {}


def meet(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape to which shapes broadcast."""
    shape: tuple[int, ...] = ()
    for other in shapes:
        if shape == () or shape == other:
            shape = other
        elif other != ():
            break
    else:
        return shape
    key = tuple(shapes)
    found = SHAPES.get(key)
    if found is None:
        if len(SHAPES) >= MOST:
            SHAPES.clear()
        found = SHAPES[key] = np.broadcast_shapes(*shapes)
    return found


def row(name: str, e: Expr, dtype: Any) -> Expr:
    """A reduction along the last axis, which stays with extent 1."""
    return Expr("row", name, (cast(e, dtype),), dtype, (*e.shape[:-1], 1))


def nodes(*roots: Expr) -> Iterator[Expr]:
    """Every expression below, once, arguments first."""
    seen: set[int] = set()
    todo = [(e, False) for e in reversed(roots)]
    while todo:
        e, ready = todo.pop()
        if ready:
            yield e
        elif id(e) not in seen:
            seen.add(id(e))
            todo.append((e, True))
            todo += [(a, False) for a in reversed(e.args)]


def leaves(root: Expr) -> list[Expr]:
    """The arrays that an expression reads, in no order."""
    if not root.args:
        return [root] if root.kind == "leaf" else []
    found, seen, todo = [], {root}, [root]
    while todo:
        for e in todo.pop().args:
            if e not in seen:
                seen.add(e)
                if e.args:
                    todo.append(e)
                elif e.kind == "leaf":
                    found.append(e)
    return found
