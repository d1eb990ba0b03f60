"""Recorded values, the tape they are recorded on, and the reverse sweep.

Two kinds of handle stand for values in a running program:

- `Scalar`: a Python float or a float64 scalar. It is its own tape node, so that scalar code makes one
  object per operation.
- `Tensor`: an array, or a number of another type (float32, Fraction, ...). Its cotangent lives in a `Node`.

Arrays have memory, and so do cotangents: the cotangent of an array that was written into or looked at
through a view is kept in a *mirror* with the same layout. A view of the array is the same view of the
mirror, a write hands over and clears the mirror's entries, a read adds to them. Reads and writes of one
entry therefore cost one entry, forward and backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ops.plain import PLAIN, quiet_sum

ndarray, float64 = np.ndarray, np.float64
new = object.__new__


class Tape(list[Any]):
    """The nodes of one recording, in the order they were recorded."""

    __slots__ = ("live", "saves", "exposed", "adopted", "leaves", "shared")

    def __init__(self) -> None:
        self.live = True  # the recorded function is still running
        self.saves: dict[int, list[list[Any]]] = {}  # owner of memory (id) -> saved operands that lie in it
        self.exposed: list[list[Any]] = []  # saved operands in memory that the caller can write into
        self.adopted: dict[int, tuple[ndarray, Node]] = {}  # plain arrays that hold recorded values
        self.leaves: list[Any] = []
        self.shared: set[int] = set()  # memory that two arguments share

    def save(self, operands: list[Any], exposed: bool) -> None:
        """Remember that the arrays among `operands` are needed as they are now."""
        for x in operands:
            if type(x) is ndarray:
                owner = id(owner_of(x))
                found = self.saves.get(owner)
                if found is None:
                    self.saves[owner] = [operands]
                else:
                    found.append(operands)
                if exposed:
                    self.exposed.append(operands)

    def protect(self, x: ndarray) -> None:
        """The memory of `x` is about to be written: what was saved from it is copied first, once."""
        owner = owner_of(x)
        for operands in self.saves.pop(id(owner), ()):
            for i, y in enumerate(operands):
                if type(y) is ndarray and owner_of(y) is owner:
                    operands[i] = y.copy()

    def shield(self) -> None:
        """The caller is about to run: copy what was saved from memory within its reach (each array once)."""
        copies: dict[int, tuple[ndarray, ndarray]] = {}
        for operands in self.exposed:
            for i, x in enumerate(operands):
                if type(x) is ndarray and id(owner_of(x)) in self.saves:
                    if id(x) not in copies:
                        copies[id(x)] = (x, x.copy())
                    operands[i] = copies[id(x)][1]
        self.exposed.clear()

    def finish(self) -> None:
        """The recorded function has returned: its memory is nobody's any more."""
        self.live = False
        self.adopted.clear()
        self.saves.clear()

    def release(self) -> None:
        self.finish()
        self.exposed.clear()
        self.clear()


def owner_of(x: ndarray) -> Any:
    """The array (or foreign buffer) whose memory `x` looks at."""
    while type(x) is ndarray and x.base is not None:
        x = x.base
    return x


class Ref:
    """A recorded value. It shows itself as the value it stands for."""

    __slots__ = ()
    v: Any
    t: Tape
    __class__ = property(lambda self: type(self.v))  # type: ignore[assignment]  # isinstance sees the value's type


class Scalar(Ref):
    """A recorded float or float64, and its node.

    `v` value, `g` cotangent, `t` tape, `s` site. With `f` None the derivative is `pa` for operand `a` and `pb`
    for operand `b`; otherwise `f(self, g)` hands the cotangent on, and the other slots are its own.
    """

    __slots__ = ("v", "g", "a", "pa", "b", "pb", "f", "s", "t")
    g: Any
    a: Any
    pa: Any
    b: Any
    pb: Any
    f: Any
    s: Any


class Tensor(Ref):
    """A recorded array (or a number of another type). `n` holds its cotangent; `e`: the caller can see its memory."""

    __slots__ = ("v", "n", "t", "e")
    n: Any
    e: bool

    def __init__(self, v: Any, n: Any, t: Tape, e: bool = False) -> None:
        self.v, self.n, self.t, self.e = v, n, t, e


class Node:
    """An operation that made a `Tensor`.

    `g` cotangent, or None; `own` 0: somebody else may hold `g`, 1: ours, 2: ours and a mirror;
    `edges` a list of (input, rule, fit, saved operands); `like` (shape, dtype, strides) once memory matters.
    """

    __slots__ = ("g", "own", "edges", "s", "op", "like")

    def __init__(self, op: str, edges: list[Any], s: Any) -> None:
        self.g: Any = None
        self.own = 0
        self.op, self.edges, self.s = op, edges, s
        self.like: Any = None

    def sweep(self) -> None:
        g = self.g
        if g is not None:
            self.g = None
            pass_on(self.edges, g)

    def mirror(self) -> ndarray:
        """The cotangent as writable memory laid out as the value is."""
        if self.own != 2:
            m = mirror_like(*self.like)
            if self.g is not None:
                m[...] = self.g
            self.g, self.own = m, 2
        return self.g

    def silent(self) -> bool:
        """Nothing has arrived, so there is nothing to hand on or to clear."""
        return self.g is None


class View:
    """The place of a view: `parent`'s mirror looked at in the same way. It is on no tape."""

    __slots__ = ("parent", "call", "args", "kwargs", "m")

    def __init__(self, parent: Node | View, call: Callable[..., Any], args: Any, kwargs: Any = None) -> None:
        self.parent, self.call, self.args, self.kwargs = parent, call, args, kwargs
        self.m: Any = None

    def mirror(self) -> ndarray:
        if self.m is None:
            m = self.call(self.parent.mirror(), *self.args, **(self.kwargs or {}))
            if not m.flags.writeable:  # np.diagonal hands out a read-only view of memory that is ours
                m.flags.writeable = True
            self.m = m
        return self.m

    def silent(self) -> bool:
        return self.parent.silent()


class Store:
    """A write `container[key] = value`: entries overwritten pass their cotangent to the value and keep none."""

    __slots__ = ("place", "key", "value", "fit", "s", "op")

    def __init__(self, place: Node | View, key: Any, value: Any, fit: Any, s: Any) -> None:
        self.place, self.key, self.value, self.fit, self.s = place, key, value, fit, s
        self.op = "store"

    def sweep(self) -> None:
        if self.place.silent():
            return
        m, key = self.place.mirror(), self.key
        if self.value is None:
            m[key] = 0
            return
        g = m[key]
        if type(g) is ndarray:
            if g.base is not None:
                g = g.copy()
            if repeats(key):
                g = np.where(winners(m.shape, key), g, 0)
        m[key] = 0
        if self.fit is not None:
            g = fitted(g, g, self.fit)
        add_to(self.value, g)


def repeats(key: Any) -> bool:
    """Whether a write through `key` may hit an entry twice."""
    parts = key if type(key) is tuple else (key,)
    return any(type(p) is list or (type(p) is ndarray and p.dtype != bool and p.size > 1) for p in parts)


def winners(shape: tuple[int, ...], key: Any) -> Any:
    """For a write with repeated indices: True where a value was the last one written to its entry."""
    order = np.empty(shape, np.intp)
    picked = order[key]
    rank = np.arange(picked.size).reshape(picked.shape)
    order[key] = rank
    return order[key] == rank


def mirror_like(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...]) -> ndarray:
    """Zeros with the given strides (which never overlap: overlapping arguments were copied)."""
    m = np.zeros(shape, dtype)
    if m.strides == strides or 0 in shape:
        return m
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    buffer = np.zeros(high - low + dtype.itemsize, np.uint8)
    return ndarray(shape, dtype, buffer, -low, strides)


def add_to(place: Any, d: Any) -> None:
    """Add a cotangent to what has arrived. In place only in arrays the sweep made."""
    kind = type(place)
    if kind is Scalar:
        place.g = place.g + d
    elif kind is Node:
        g = place.g
        if g is None:
            place.g = d
        elif place.own:
            np.add(g, d, out=g)
        else:
            place.g = g = g + d
            place.own = type(g) is ndarray
    else:
        m = place.mirror()
        np.add(m, d, out=m)


def pass_on(edges: Any, g: Any) -> None:
    """Hand the cotangent `g` of an operation to its inputs by the operation's rules."""
    for place, rule, fit, saved in edges:
        d = rule(PLAIN, g, *saved)
        if fit is not None:
            d = fitted(d, g, fit)
        add_to(place, d)


def sweep_edges(n: Scalar, g: Any) -> None:
    """The `f` of a scalar that was made from arrays: `a` holds its edges."""
    pass_on(n.a, g)


def fitted(d: Any, g: Any, fit: Any) -> Any:
    """`d` with exact zeros where `g` is zero (strong zero), summed to the operand's shape, in its dtype."""
    shape, dtype, strict = fit
    if strict and has_nan(d):
        d = PLAIN.where(g == 0, 0, d)
    if shape is None:  # the operand is a Scalar
        return quiet_sum(d)
    if type(d) is ndarray or type(d) is float64:
        if d.shape != shape:
            d = unbroadcast(d, shape)
        if d.dtype != dtype:
            d = d.astype(dtype)
    elif dtype is not None:
        d = dtype.type(d)
    return d


def has_nan(d: Any) -> bool:
    """Whether there is a NaN, at the cost of one pass and no temporary where BLAS can do it."""
    if type(d) is ndarray:
        if d.dtype == float64 or d.dtype == np.float32:
            d = np.vdot(d, d)
        else:
            return bool(np.isnan(d).any()) if d.dtype != object else False
    return d != d


def unbroadcast(d: Any, shape: tuple[int, ...]) -> Any:
    """Sum `d` over the axes that broadcasting added to, or stretched in, an operand of this shape."""
    extra = d.ndim - len(shape)
    if extra < 0 or d.ndim == 0:
        return np.broadcast_to(d, shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and d.shape[i + extra] != 1)
    if axes:
        d = np.add.reduce(d, axis=axes, keepdims=True)
    if extra:
        d = d.reshape(d.shape[extra:])
    return d if d.shape == shape else np.broadcast_to(d, shape)


def sweep(tape: Tape) -> None:
    """Run the tape backwards. Each node, and what it saved, dies as it is passed."""
    pop = tape.pop
    with np.errstate(all="ignore"):
        while tape:
            n = pop()
            if type(n) is Scalar:
                g = n.g
                if g:  # an exact zero contributes exactly zero
                    f = n.f
                    if f is None:
                        a = n.a
                        a.g += g * n.pa
                        b = n.b
                        if b is not None:
                            b.g += g * n.pb
                    else:
                        f(n, g)
            else:
                n.sweep()
