"""Writes into arrays: what becomes of plain memory that a recorded value is stored into, and what goes on the tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import ARRAYS, address, layout_of, owner_of
from .cotangents import fit_of, fitted, repeats, winners
from .errors import RecordError
from .memory import frozen, note_memory, plain_key
from .ops.block import Operation
from .recording import ACTIVE, BUILDING, edges_of, lifted, mine, on_complex, refuse, settle, short, tape_of
from .tape import Node, Ref, Scalar, Tape, Tensor, View, add_to, duplicate, made, node, tensor

ndarray = np.ndarray
float64 = np.float64
RESULT_TO_COME = object()


class Store:
    """A write `container[key] = value`: entries overwritten pass their cotangent to the value and keep none. `simple`:
    the index is made of integers and slices, so that no entry occurs twice."""

    __slots__ = ("place", "key", "value", "fit", "simple", "s")

    place: Any
    key: Any
    value: Any
    fit: Any
    simple: bool
    s: Any
    op = "store"

    def sweep(self) -> None:
        place = self.place
        if place.own == 2:
            m = place.g
            if m is None:
                return
        elif place.silent():
            return
        else:
            m = place.mirror()
        key, value = self.key, self.value
        g = m[key]
        if type(g) not in ARRAYS:
            m[key] = 0
            if value is None:
                return
            if self.fit is None and type(value) is Scalar:
                value.g += g
                return
        elif value is None:
            m[key] = 0
            return
        else:
            if g.base is not None:
                g = g.copy()
            if not self.simple and repeats(key) and not (last := winners(m.shape, key)).all():
                g = np.where(last, g, 0)
            m[key] = 0
        fit = self.fit
        if fit is not None and not (g.shape == fit[0] and g.dtype == fit[1]):
            add_to(value, fitted(g, g, fit))
        else:
            add_to(value, g, type(g) is ndarray)


class Scatter:
    """`place[key] += value` (`sign` -1: `-=`): the array keeps its cotangent, the value gets that of its entries."""

    __slots__ = ("place", "key", "value", "fit", "sign", "s", "op")

    def __init__(self, op: str, place: Any, key: Any, value: Any, fit: Any, sign: int, s: Any) -> None:
        self.op, self.place, self.key, self.value, self.fit, self.sign, self.s = op, place, key, value, fit, sign, s

    def sweep(self) -> None:
        if self.place.silent():
            return
        g = self.place.mirror()[self.key]
        g = -g if self.sign < 0 else g.copy() if type(g) in ARRAYS else g
        add_to(self.value, fitted(g, g, self.fit))


def stored(t: Tape, place: Node | View, key: Any, value: Any, fit: Any, s: Any, simple: bool = False) -> None:
    """Put a write on the tape. `value` None: what was written is not recorded."""
    n = Store()
    n.place = place
    n.key = key
    n.value = value
    n.fit = fit
    n.simple = simple
    n.s = s
    t.append(n)
    if t.dual:
        written(t, place, key, value)


def written(t: Any, place: Any, key: Any, value: Any, sign: int = 0) -> None:
    """The same write of tangents."""
    from .forward import Written

    t.done(Written(place, key, value, sign))


def adopt_new(x: ndarray, t: Tape, s: Any) -> Any:
    """`adopt` for the common case, an array fresh from `np.zeros`: its node; None where more has to be looked at."""
    if x.base is not None or x.dtype is not FLOAT64 or len(ACTIVE) != 1 or id(x) in t.adopted or id(x) in t.owners:
        return None
    t.quiet = True
    n: Any = node("memory", [], s)
    n.like = (x.shape, FLOAT64, x.strides)
    if t.kept:
        t.append(n)  # the sweep takes out what arrived for the plain values before
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
    if x.dtype.kind not in "fcO":
        raise refuse(
            f"a recorded value is stored into an array of {x.dtype}, where it would lose its derivative",
            "Make the array a float array, or store int(value).",
            s,
        )
    if x.dtype.kind == "O":
        raise refuse("recorded values cannot be kept in an object array", "Use a list.", s)
    if id(owner) in t.owners:
        raise shared_memory(s)
    if type(owner) in ARRAYS and owner.dtype.kind == "c" and x.dtype == owner.dtype.type(0).real.dtype:
        adopt(owner, t, s)
        return lifted(x)  # type: ignore[no-any-return]
    if type(owner) not in ARRAYS or owner.dtype != x.dtype:
        raise refuse(
            f"a recorded value is stored into a {short(x)} whose memory is shared with something that is not recorded",
            "Store into an array of its own, for instance a copy.",
            s,
        )
    t.quiet = True
    if x.dtype.kind == "c":
        t.has_complex()
    n = made("memory", [], s, t)
    n.like = layout_of(owner if t.device is None else t.place_of(owner))  # type: ignore[attr-defined]
    if t.kept:
        t.append(n)
    if t.dual:
        from .forward import Fresh

        t.done(Fresh(n))  # type: ignore[attr-defined]
    t.adopted[id(owner)] = (owner, n)
    if t.graph is not None:
        t.graph.memory(owner, n, s)
    return tensor(x, n, t, True) if x is owner and t.device is None else lifted(x)


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
    if BUILDING and any(t.graph is not None for t in mine()):
        return refuse("an array is written that exists before the run: a graph keeps no state", "Write into a copy.", s)
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
        if type(owner) in ARRAYS:  # other names of the memory are recorded from here on, or refused
            t.adopted[id(owner)] = (owner, x.n if x.v is owner else None)
    if t.device is not None:
        t.written.add(id(owner))  # type: ignore[attr-defined]
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
    if type(key) is int:
        if x.ndim != 1:
            return False
    elif not (type(key) is tuple and len(key) == 2 and type(key[0]) is type(key[1]) is int and x.ndim == 2):
        return False
    if not t.live or t.spread or len(ACTIVE) != 1:
        return False
    found = t.adopted.get(id(x))
    place = adopt_new(x, t, s) if found is None else found[1]
    if place is None or place.like[0] != x.shape or x.dtype is not FLOAT64:  # x.shape may have been set since
        return False
    if t.unseen:
        t.catch_up()
    if id(x) in t.saves:
        t.protect(x)
    x[key] = v.v
    n = Store()  # `stored`, written out: it happens often
    n.place, n.key, n.value, n.fit, n.simple, n.s = place, key, v, None, True, s
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
    stored(t, place, key, v.n, (w.shape, w.dtype, False), s, True)
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
    stored(t, x.n, key, v.n, (w.shape, w.dtype, False), s, True)
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
    if BUILDING and x.t.graph is not None and not x.t.graph.inside:
        x.t.graph.store(v, x, key, s)
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
    if type(w) in ARRAYS and type(region) in ARRAYS and same_memory(region, w):
        return  # A[i] += v stores the view it has just changed
    number = type(region) is float64
    del region  # of a device it would wait, and be kept before the write
    before_write(x, s)
    x.v[key] = w
    fit: Any = None
    if type(v) is Tensor:
        place: Any = v.n
        fit = fit_of(w)
    else:
        place = v
        if not number:
            fit = (None, None, False)
    stored(x.t, x.n, frozen(key), place, fit, s)


def same_memory(a: ndarray, b: ndarray) -> bool:
    return (
        a.shape == b.shape
        and a.strides == b.strides
        and a.base is not None
        and owner_of(a) is owner_of(b)
        and address(a) == address(b)
    )


def accumulate(op: Operation, call: Callable[[], Any], x: Tensor, b: Any, s: Any) -> None:
    """`x += b` or `x -= b`, done by `call`: what arrives at `x` stays there, and `b` gets it too."""
    if x.v.flags.writeable:  # otherwise NumPy says so itself
        before_write(x, s)
    call()
    if type(b) is Scalar:
        x.t.append(Scatter(op.name, x.n, Ellipsis, b, (None, None, False), op.accumulates, s))
    elif type(b) is Tensor:
        x.t.append(Scatter(op.name, x.n, Ellipsis, b.n, fit_of(b.v), op.accumulates, s))
        if x.t.dual:
            written(x.t, x.n, Ellipsis, b.n, op.accumulates)


def overwrite(call: Callable[[], Any], x: Tensor, s: Any) -> None:
    """`call` writes plain data over the whole of the recorded array `x`."""
    if x.v.flags.writeable:  # otherwise NumPy says so itself
        before_write(x, s)
    call()
    stored(x.t, x.n, Ellipsis, None, None, s)


def as_it_is(x: Any) -> Any:
    """An operand in memory of its own, before `call` writes."""
    if type(x) in ARRAYS:
        return x.copy()
    return duplicate(x) if type(x) is Tensor and type(x.v) in ARRAYS else x


def into(op: Operation, call: Callable[[], Any], operands: Any, attributes: Any, x: Any, s: Any) -> None:
    """An operation whose result is written into the recorded array `x` (`a *= b`, `out=`): `call` does it."""
    t = x.t
    result: Any = x.v
    if not result.flags.writeable:
        raise ValueError("output array is read-only")
    if t.complex or result.dtype.kind == "c":
        op = on_complex(op, result, operands, s, t)
    if any(-1 in rule.needs for rule in op.pulls):  # stands for the result until there is one
        result = np.broadcast_to(np.empty((), x.v.dtype), x.v.shape)
    edges = edges_of(op, result, operands, attributes, t)
    for edge in edges:
        t.note(edge[3])
    if t.dual:
        if op.linear and not op.elementwise:
            raise refuse(f"{op.name} in place or with out= has no tangent", "Write its result: x[...] = y.", s)
        operands = [as_it_is(o) for o in operands]
    if t.deep:
        from .nested import deep_node

        n: Any = deep_node(op, result, RESULT_TO_COME, operands, edges, {}, s, t)
        t.note(n.refs)
    else:
        n = made(op.name, edges, s, t)
    before_write(x, s)
    call()
    for edge in edges:
        saved = edge[3]
        for i, y in enumerate(saved):
            if y is result and result is not x.v:
                saved[i] = x.v
                if x.e:
                    t.exposed.append(saved)
    if t.deep:
        n.refs = [[x if y is RESULT_TO_COME else y for y in refs] for refs in n.refs]
    t.append(n)
    t.unseen.append(n)
    if t.dual:
        from .forward import push

        push(op, x.v, n, operands, attributes, None, t)
    stored(t, x.n, Ellipsis, n, None, s)
