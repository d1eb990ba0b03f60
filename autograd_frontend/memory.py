"""The memory of recorded arrays: reading, and views."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import ARRAYS, layout_of, owner_of, remote
from .cotangents import repeats
from .recording import ACTIVE, BUILDING, builder_of, lifted, overlaps, refuse_value
from .tape import Node, Ref, Scalar, Tape, Tensor, View, node, take, tensor, view

ndarray = np.ndarray
float64 = np.float64


def note_memory(x: Tensor) -> None:
    """The array is about to be looked at through a view or written: its node must know the layout."""
    n = x.n
    if type(n) is not View and n.like is None:
        n.like = layout_of(x.v)


def view_of(x: Tensor, v: ndarray, call: Callable[..., Any], args: Any, kwargs: Any = None) -> Tensor:
    """The handle of a view `v = call(x.v, *args)`; it shares memory and cotangent with `x`."""
    note_memory(x)
    return tensor(v, view(x.n, call, args, kwargs), x.t, x.e)


def shares(v: Any, x: Any) -> bool:
    """Whether `v` is `x` or a view of the same memory."""
    return type(v) in ARRAYS and type(x) in ARRAYS and (v is x or v.base is not None) and owner_of(v) is owner_of(x)


class Gather(Node):
    """A read through an index that copies: its cotangent is added to the entries that were read."""

    __slots__ = ("place", "key")
    place: Any
    key: Any

    def sweep(self) -> None:
        if self.g is not None:
            gather_back(self.place, self.key, self.g)
            self.g = None


def gather_back(place: Any, key: Any, g: Any) -> None:
    m = place.mirror()
    if repeats(key):
        np.add.at(m, key, g)
    else:
        m[key] = m[key] + g


def sweep_read(n: Scalar, g: Any) -> None:
    """The `f` of a scalar read from an array: one entry of the mirror."""
    place = n.a
    m = place.g if place.own == 2 else place.mirror()
    m[n.pa] += g


FIXED = frozenset({int, slice, type(None), type(Ellipsis)})


def frozen(key: Any) -> Any:
    """An index that later writes to its parts do not change, and in which an index array is an array."""
    if isinstance(key, tuple):
        for k in key:
            if type(k) not in FIXED:
                return tuple([frozen_part(k) for k in key])
        return key if type(key) is tuple else tuple(key)
    return key if type(key) in FIXED else frozen_part(key)


def frozen_part(k: Any) -> Any:
    if not hasattr(k, "__len__"):
        return k
    if remote(k):
        return k.get()
    a = np.array(k)  # of a list, but also of a tuple or a range
    return a if a.size or type(k) in ARRAYS else a.astype(np.intp)


def read(x: Tensor, key: Any, s: Any) -> Any:
    """`x[key]`."""
    if BUILDING and x.t.graph is not None and not x.t.graph.inside:
        return x.t.graph.read(x, key, s)
    if type(key) is slice or type(key) is int:
        v = x.v[key]
        n = x.n
        if type(v) is ndarray and (type(n) is View or n.like is not None) and not overlaps(x.v):
            place = View()  # written out: it happens often
            place.parent, place.call, place.args, place.kwargs, place.m = n, take, (key,), None, None
            r = Tensor()
            r.v, r.n, r.t, r.e = v, place, x.t, x.e
            return r
    else:
        key = plain_key(key)
        v = x.v[key]
    kind = type(v)
    if kind is float64 and not x.t.deep and not x.t.dual:
        note_memory(x)
        return entry(v, x.n, key if type(key) is int else frozen(key), s, x.t)
    if kind in ARRAYS and v.base is not None and (type(key) is slice or shares(v, x.v)):
        if not overlaps(x.v):
            n = x.n
            if type(n) is not View and n.like is None:
                note_memory(x)
            return tensor(v, view(n, take, (key,)), x.t, x.e)
        remember_spread(v, x.t)
    note_memory(x)
    g: Any = node("getitem", [], s, Gather)
    g.place, g.key = x.n, frozen(key)
    x.t.append(g)
    if x.t.dual:
        from .forward import Read

        x.t.done(Read(g, v, x.n, g.key))  # type: ignore[attr-defined]
    return tensor(v, g, x.t, x.e)  # a part of a broadcast array is memory of the caller still


def entry(v: Any, place: Any, key: Any, s: Any, t: Tape) -> Scalar:
    """The handle of one entry `v` of an array."""
    n = Scalar()
    n.v = v
    n.g = 0.0
    n.a = place
    n.pa = key
    n.b = None
    n.pb = "getitem"
    n.f = sweep_read
    n.s = s
    n.t = t
    t.append(n)
    return n


def read_plain(x: ndarray, key: Any, s: Any) -> Any:
    """`x[key]` of a plain array, which may hold recorded values."""
    if len(ACTIVE) == 1:
        t = ACTIVE[0]
        found = t.adopted.get(id(x))
        if found is not None and (place := found[1]) is not None and place.like[0] == x.shape and is_entry(key):
            v = x[key]
            if type(v) is float64:
                return entry(v, place, key, s, t)
    y = lifted(x)
    if y is x and BUILDING and (builder := builder_of(key)) is not None:
        return builder.read(x, key, s)
    return x[plain_key(key)] if y is x else read(y, key, s)


def is_entry(key: Any) -> bool:
    """Whether an index is made of integers only."""
    if type(key) is tuple:
        for k in key:
            if type(k) is not int:
                return False
        return True
    return type(key) is int


def remember_spread(v: ndarray, t: Tape) -> None:
    """A recorded array was broadcast without a copy: while `v` is in use, its memory must not change."""
    t.spread.setdefault(id(owner_of(v)), []).append(weakref.ref(v))


def plain_key(key: Any) -> Any:
    if type(key) is tuple:
        for k in key:
            if type(k) is not int and type(k) is not slice:
                return tuple([plain_key(k) for k in key])
        return key
    if type(key) is list and any(map(remote, key)):
        return [plain_key(k) for k in key]
    if isinstance(key, Ref):
        refuse_value(key, "an index", "Read through an array of indices, or write with np.where.")
        return plain_key(key.v)
    return key.get() if remote(key) else key
