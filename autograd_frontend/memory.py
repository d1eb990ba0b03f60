"""The memory of recorded arrays: reading, views, and writes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .cotangents import repeats
from .errors import RecordError
from .ops.block import Operation
from .recording import ACTIVE, edges_of, lifted, mine, overlaps, refuse, settle, short, tape_of
from .tape import Node, Ref, Scalar, Scatter, Store, Tape, Tensor, View, node, owner_of, stored, take, tensor, view

ndarray = np.ndarray
float64 = np.float64


def note_memory(x: Tensor) -> None:
    """The array is about to be looked at through a view or written: its node must know the layout."""
    n = x.n
    if type(n) is not View and n.like is None:
        n.like = (x.v.shape, x.v.dtype, x.v.strides)


def view_of(x: Tensor, v: ndarray, call: Callable[..., Any], args: Any, kwargs: Any = None) -> Tensor:
    """The handle of a view `v = call(x.v, *args)`; it shares memory and cotangent with `x`."""
    note_memory(x)
    return tensor(v, view(x.n, call, args, kwargs), x.t, x.e)


def shares(v: Any, x: Any) -> bool:
    """Whether `v` is `x` or a view of the same memory."""
    return type(v) is ndarray and type(x) is ndarray and (v is x or v.base is not None) and owner_of(v) is owner_of(x)


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
        m[key] += g


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
    a = np.array(k)  # of a list, but also of a tuple or a range
    return a if a.size or type(k) is ndarray else a.astype(np.intp)


def read(x: Tensor, key: Any, s: Any) -> Any:
    """`x[key]`."""
    if type(key) is slice or type(key) is int:
        v = x.v[key]
        n = x.n
        if type(v) is ndarray and (type(n) is View or n.like is not None) and not overlaps(x.v):
            return tensor(v, view(n, take, (key,)), x.t, x.e)
    else:
        key = plain_key(key)
        v = x.v[key]
    kind = type(v)
    if kind is float64:
        note_memory(x)
        return entry(v, x.n, key if type(key) is int else frozen(key), s, x.t)
    if kind is ndarray and v.base is not None and (type(key) is slice or shares(v, x.v)):
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
    y = lifted(x)
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
    return key.v if isinstance(key, Ref) else key


def adopt_new(x: ndarray, t: Tape, s: Any) -> Any:
    """`adopt` for the common case, an array fresh from `np.zeros`: its node; None where more has to be looked at."""
    if x.base is not None or x.dtype is not FLOAT64 or len(ACTIVE) != 1 or id(x) in t.adopted or id(x) in t.owners:
        return None
    t.quiet = True
    n: Any = node("memory", [], s)
    n.like = (x.shape, FLOAT64, x.strides)
    t.adopted[id(x)] = (x, n)
    return n


FLOAT64 = np.dtype(np.float64)


def adopt(x: Any, t: Tape, s: Any) -> Tensor:
    """A recorded value is about to be stored into a plain array: from here on its memory is recorded."""
    if t.adopted or len(ACTIVE) != 1:
        found: Tensor = lifted(x)
        if found is not x:
            return found
    owner = owner_of(x)
    if x.dtype.kind in "iub":
        raise refuse(
            f"a recorded value is stored into an array of {x.dtype}, where it would lose its derivative",
            "Make the array a float array, or store int(value).",
            s,
        )
    if id(owner) in t.owners:
        raise shared_memory(s)
    if type(owner) is not ndarray or owner.dtype != x.dtype or x.dtype.kind != "f":
        raise refuse(
            f"a recorded value is stored into {short(x)} whose memory is shared with something that is not recorded",
            "Store into an array of its own, for instance a copy.",
            s,
        )
    t.quiet = True
    n = node("memory", [], s)
    n.like = (owner.shape, owner.dtype, owner.strides)
    t.adopted[id(owner)] = (owner, n)
    return tensor(x, n, t, True) if x is owner else lifted(x)


def protect(x: ndarray) -> None:
    """The memory of `x` is about to be written: recordings that saved it keep what it was."""
    for t in mine():
        t.protect(x)


def before_plain_write(x: ndarray, s: Any = None) -> None:
    """Memory that holds nothing recorded is about to be written."""
    owner = owner_of(x)
    for t in mine():
        t.protect(x)
        if id(owner) in t.owners:
            raise shared_memory(s)


def shared_memory(s: Any = None) -> RecordError:
    return refuse(
        "an array is written here that shares its memory with an argument",
        "Write through the argument, or write into a copy.",
        s,
    )


def before_write(x: Tensor, s: Any) -> None:
    """Everything that must hold before the memory of a recorded array changes."""
    v = x.v
    if not v.flags.writeable:
        raise ValueError("assignment destination is read-only")  # as NumPy says
    owner = v if v.base is None else owner_of(v)
    t = x.t
    if x.e and id(owner) not in t.adopted:
        if id(owner) in t.shared:
            raise refuse("two arguments share the memory that is written here", "Pass a copy of one of them.", s)
        if type(owner) is ndarray:  # other names of the memory are recorded from here on, or refused
            t.adopted[id(owner)] = (owner, x.n if x.v is owner else None)
    note_memory(x)
    if len(ACTIVE) != 1:
        protect(v)
    elif t.unseen or t.saves:
        t.protect(v)
    if t.spread and id(owner) in t.spread and any(view() is not None for view in t.spread[id(owner)]):
        raise refuse(
            "an array is written of which a broadcast view is in use: every entry it shows would change",
            "Broadcast a copy, or broadcast again after the write.",
            s,
        )


def put(v: Scalar, x: ndarray, key: Any, s: Any) -> bool:
    """The common case of a write: a recorded number into an entry of a plain array that owns its memory."""
    t = v.t
    if type(key) is not int and not (type(key) is tuple and len(key) == 2 and type(key[0]) is type(key[1]) is int):
        return False
    if not t.live or t.spread or len(ACTIVE) != 1:
        return False
    found = t.adopted.get(id(x))
    place = adopt_new(x, t, s) if found is None else found[1]
    if place is None or place.like[0] != x.shape or type(x[key]) is not float64:  # x.shape may have been set since
        return False
    if t.unseen:
        t.catch_up()
    if id(x) in t.saves:
        t.protect(x)
    x[key] = v.v
    n = Store()
    n.place = place
    n.key = key
    n.value = v
    n.fit = None
    n.s = s
    t.append(n)
    return True


def put_array(v: Tensor, x: ndarray, key: Any, s: Any) -> bool:
    """The same for a recorded array from other memory, into a part of a plain array that owns its memory."""
    t, w = v.t, v.v
    if not t.live or t.spread or len(ACTIVE) != 1 or type(w) is not ndarray or not is_simple(key):
        return False
    found = t.adopted.get(id(x))
    place = adopt_new(x, t, s) if found is None else found[1]
    if place is None or place.like[0] != x.shape or owner_of(w) is x:
        return False
    if t.unseen:
        t.catch_up()
    if id(x) in t.saves:
        t.protect(x)
    x[key] = w
    stored(t, place, key, v.n, (w.shape, w.dtype, False), s)
    return True


def put_part(v: Tensor, x: Tensor, key: Any, s: Any) -> bool:
    """The same for a recorded array as the target, if it is one that an operation of this recording made."""
    t, w, target = v.t, v.v, x.v
    if t is not x.t or not t.live or t.spread or len(ACTIVE) != 1 or type(w) is not ndarray or not is_simple(key):
        return False
    owner = target if target.base is None else owner_of(target)
    if (w if w.base is None else owner_of(w)) is owner or not target.flags.writeable:
        return False
    note_memory(x)
    if t.unseen:
        t.catch_up()
    if id(owner) in t.saves:
        t.protect(target)
    target[key] = w
    stored(t, x.n, key, v.n, (w.shape, w.dtype, False), s)
    return True


def is_simple(key: Any) -> bool:
    """Whether an index is made of integers and slices only, the entries of which cannot repeat or change."""
    if type(key) is tuple:
        for k in key:
            if type(k) is not int and type(k) is not slice:
                return False
        return True
    return type(key) is int or type(key) is slice


def write(v: Any, x: Tensor, key: Any, s: Any) -> None:
    """`x[key] = v`."""
    if type(v) is Tensor and not x.e and put_part(v, x, key, s):
        return
    key = plain_key(key)
    if type(v) is not Tensor or not v.t.live:
        v = settle(v)
    if not (isinstance(v, Ref) and v.t is x.t):
        tape_of((v, x))
        before_write(x, s)
        x.v[key] = v
        stored(x.t, x.n, frozen(key), None, None, s)
        return
    region = x.v[key]
    w = v.v
    if type(w) is ndarray and type(region) is ndarray and same_memory(region, w):
        return  # A[i] += v stores the view it has just changed
    before_write(x, s)
    x.v[key] = w
    fit: Any = None
    if type(v) is Tensor:
        place: Any = v.n
        fit = (w.shape, w.dtype, False) if hasattr(w, "dtype") else ((), None, False)
    else:
        place = v
        if type(region) is not float64:
            fit = (None, None, False)
    stored(x.t, x.n, frozen(key), place, fit, s)


def same_memory(a: ndarray, b: ndarray) -> bool:
    return (
        a.shape == b.shape
        and a.strides == b.strides
        and a.base is not None
        and owner_of(a) is owner_of(b)
        and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    )


def accumulate(op: Operation, call: Callable[[], Any], x: Tensor, b: Any, s: Any) -> None:
    """`x += b` or `x -= b`, done by `call`: what arrives at `x` stays there, and `b` gets it too."""
    if x.v.flags.writeable:  # otherwise NumPy says so itself
        before_write(x, s)
    call()
    if type(b) is Scalar:
        x.t.append(Scatter(op.name, x.n, Ellipsis, b, (None, None, False), op.accumulates, s))
    elif type(b) is Tensor:
        fit = (getattr(b.v, "shape", ()), getattr(b.v, "dtype", None), False)
        x.t.append(Scatter(op.name, x.n, Ellipsis, b.n, fit, op.accumulates, s))


def into(op: Operation, call: Callable[[], Any], operands: Any, attributes: Any, x: Any, s: Any) -> None:
    """An operation whose result is written into the recorded array `x` (`a += b`, `out=`): `call` does it."""
    t = x.t
    result: Any = x.v
    if not result.flags.writeable:
        raise ValueError("output array is read-only")
    if any(-1 in rule.needs for rule in op.pulls):  # stands for the result until there is one
        result = np.broadcast_to(np.empty((), x.v.dtype), x.v.shape)
    edges = edges_of(op, result, operands, attributes, t)
    for edge in edges:
        t.note(edge[3])
    before_write(x, s)
    call()
    for edge in edges:
        saved = edge[3]
        for i, y in enumerate(saved):
            if y is result and result is not x.v:
                saved[i] = x.v
                if x.e:
                    t.exposed.append(saved)
    n = node(op.name, edges, s)
    t.append(n)
    t.unseen.append(n)
    stored(t, x.n, Ellipsis, n, None, s)
