"""Elementwise expressions that have not been computed: what one kernel is made from."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


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


class Expr:
    """A value of every entry of a shape.

    `kind` "leaf": the entries of the array `leaf`, which broadcasts to the shape.
    `kind` "scalar": the number `value`, a parameter of the kernel, in `dtype`.
    `kind` "call": the elementwise function `name` of `args`. They have one dtype (conversions are calls of "cast"), but
    for "where", whose first is a bool.
    `kind` "row": `name` ("sum", "prod", "max", "min") of `args[0]` along the last axis, which stays with extent 1.
    `holder` is the array that stands for the value, while somebody has it.
    """

    __slots__ = ("kind", "name", "args", "dtype", "shape", "leaf", "value", "size", "_holder")

    def __init__(self, kind: str, name: str, args: tuple[Expr, ...], dtype: Any, shape: tuple[int, ...]) -> None:
        self.kind, self.name, self.args, self.dtype, self.shape = kind, name, args, np.dtype(dtype), shape
        self.leaf: Any = None
        self.value: Any = None
        self.size: int = 1 + sum(e.size for e in args)  # how many nodes there are below it, shared ones counted again
        self._holder: Any = None

    @property
    def holder(self) -> Any:
        return None if self._holder is None else self._holder()

    @holder.setter
    def holder(self, x: Any) -> None:
        self._holder = None if x is None else weakref.ref(x)

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


def cast(e: Expr, dtype: Any) -> Expr:
    """`e` in another dtype, as `astype` converts."""
    if e.dtype == dtype:
        return e
    if e.kind == "scalar" and not isinstance(e.value, np.generic):
        return scalar(e.value, dtype)
    return Expr("call", "cast", (e,), dtype, e.shape)


def call(name: str, args: tuple[Expr, ...], dtype: Any) -> Expr:
    """An elementwise function of arguments that broadcast."""
    return Expr("call", name, args, dtype, np.broadcast_shapes(*[e.shape for e in args]))


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


def leaves(*roots: Expr) -> list[Expr]:
    """The arrays that are read, each view once for each expression that names it."""
    return [e for e in nodes(*roots) if e.kind == "leaf"]
