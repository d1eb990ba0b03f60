"""Recording on another device: the tape of a program whose arrays live there, and the sweep over it.

Arrays among the arguments are copied to the device (or are there already), everything that is recorded is kept there,
and plain arrays follow when a recorded value is stored into them. Python's floats stay where they are.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .arrays import REMOTE, TWINNED, address, owner_of, remote
from .cotangents import fitted, strong_zero
from .devices import session, session_of
from .devices.table import Unsupported
from .errors import RecordError
from .homes import Homes
from .recording import mine, overlaps, place_in, recordable, refuse, spread
from .tape import Deep, Node, Tape, Tensor, add_to, made, tensor
from .trees import Leaf, is_record, like, rebuilt, with_fields

ndarray = np.ndarray
INEXACT = (np.longdouble, np.clongdouble, Fraction, Decimal)  # what a GPU cannot hold exactly


class Remote(Node):
    """An operation on another device."""

    __slots__ = ("session",)
    session: Any

    def sweep(self) -> None:
        g = self.g
        if g is not None:
            self.g = None
            Remote.hand_on(self, g)
        self.edges = None

    def hand_on(self, g: Any) -> None:
        try:
            pass_on(self.edges, self.session.array(g) if type(g) is ndarray else g, self.session.ops)
        except Unsupported as error:
            raise unsupported(error, self.s) from None


class RemoteTape(Tape):
    """The tape of a program on the device of a session."""

    __slots__ = ("device", "hosts", "twins", "written", "homes", "copied")
    fast = property(lambda self: False, lambda self, _: None)
    to_host = property(lambda self: self.homes.to_host)  # the caller's arrays are NumPy's
    kind = Remote

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.device = device
        self.twins: dict[int, Any] = {}  # plain arrays that hold recorded values (id) -> their memory on the device
        self.hosts: dict[int, int] = {}  # and the other way round, by ids
        self.quiet = True
        self.homes = Homes()  # what is left outside
        self.copied: list[tuple[ndarray, Any]] = []  # arrays among the arguments, and what they are on the device
        self.written: set[int] = set()  # memory that was written (id of the owner)

    def handle(self, name: str, v: Any, edges: list[Any], s: Any) -> Any:
        """A value with its node, on the device if it is an array."""
        if type(v) is ndarray:
            v = self.device.array(v)
        elif not isinstance(v, (float, complex)) and not recordable(v, s):
            return v
        n = made(name, edges, s, self)
        self.append(n)
        self.unseen.append(n)
        return tensor(v, n, self)

    def place_of(self, x: Any) -> Any:
        """The memory on the device of a plain array that is about to hold recorded values."""
        if remote(x):
            return x
        self.protect(x)  # what was saved of it stays what it is
        found = self.twins[id(x)] = self.device.array(x)
        self.hosts[id(found)] = id(x)
        TWINNED.add(self)
        return found

    def device_view(self, x: Any, owner: Any, n: Any) -> Tensor:
        """The recorded array behind the plain `x`, which looks at the memory of `owner`."""
        if remote(owner):
            if x is owner:
                return tensor(x, n, self, True)
        else:
            twin = self.twins[id(owner)]
            if x is owner and x.shape == twin.shape:
                twin.flags.writeable = x.flags.writeable
                return tensor(twin, n, self, True)
            offset = address(x) - address(owner)
            look = twin.relaid(x.shape, x.dtype, offset, x.strides)
            look._writeable = x.flags.writeable
            place = place_in(n, owner, x)
            return spread(look, n, twin, self) if overlaps(x) else tensor(look, place, self, True)
        return spread(x, n, owner, self) if overlaps(x) else tensor(x, place_in(n, owner, x), self, True)

    def returned(self, x: Any) -> Any:
        """An array that the function left somewhere, as the caller finds it."""
        if any(t.device is not None and t is not self and t.live for t in mine()):  # it is left to the outer one
            return x.copy("K") if id(owner_of(x)) in self.saves else x
        return self.homes.of(x, self.given(owner_of(x)))

    def given(self, owner: Any) -> Any:
        """The caller's array whose memory the one of an owner is a copy of."""
        for key, twin in self.twins.items():
            if twin is owner and key in self.adopted:
                return self.adopted[key][0]
        return next((x for x, v in self.copied if owner_of(v) is owner), None)

    def append(self, n: Any) -> None:
        if self.live:
            super().append(n)

    def shield(self) -> None:
        """Memory that is lent may change from here on: what waits to read it is computed, saved copies are made."""
        super().shield()
        if self.device.lenders:
            self.device.flush()

    def protect(self, x: Any) -> None:
        """What was saved of a plain array before it had memory on the device was saved of its own."""
        super().protect(x)
        host = self.hosts.get(id(owner_of(x)))
        if host in self.adopted:
            super().protect(self.adopted[host][0])

    def release(self) -> None:
        for n in self:  # such a node is held by its own operands: what they hold is freed at once
            if type(n) is Deep:
                n.edges = n.refs = None
        super().release()

    def finish(self) -> None:
        self.live = False
        TWINNED.discard(self)
        for held in (self.adopted, self.saves, self.unseen, self.leaves, self.twins, self.hosts, self.copied):
            held.clear()
        self.homes = Homes(self.to_host)


def unsupported(error: Unsupported, s: Any) -> RecordError:
    """The refusal of what a device cannot do, at the user's line."""
    reason, _, remedy = str(error).partition("; ")
    return refuse(reason, f"{remedy[:1].upper()}{remedy[1:]}." if remedy else "", s)


def pass_on(edges: Any, g: Any, ops: Any) -> None:
    """Hand the cotangent of an operation to its inputs. What would have to be looked at is done for every entry."""
    for place, rule, fit, saved in edges:
        try:
            d = rule(ops, g, *saved)
        except (ArithmeticError, ValueError):  # of Python's floats, where IEEE has an answer
            d = rule(ops, g, *[np.float64(x) if type(x) is float else x for x in saved])
        if fit is not None:
            if fit is True or fit[2]:
                d = d.session.strong_zero(d, g) if remote(d) and remote(g) else strong_zero(d, g)
            if fit is not True:
                d = fitted(d, g, (*fit[:2], False))
        if type(d) is int and d == 0:
            continue
        add_to(place, d)


class RemoteLeaf(Leaf):
    """One differentiable number or array of an argument, whose `ref` is on the device."""

    __slots__ = ()

    def gradient(self) -> Any:
        """What arrived: where the argument was, in its type, shape and dtype, in memory of its own."""
        x, g = self.given, self.arrived()
        if isinstance(x, (float, np.floating)):
            return type(x)(float(g))
        found = given_back(g, type(x) is ndarray, True)
        return np.asarray(found, x.dtype) if type(x) is ndarray else found  # of an array without axes too

    def arrived(self) -> Any:
        """The same on the device."""
        x, g, here = self.given, self.ref.n.g, self.ref.t.device
        if isinstance(x, (float, np.floating)):
            return 0.0 if g is None else g
        g = here.zeros(x.shape, self.ref.v.dtype) if g is None else g
        if not remote(g):
            g = here.array(np.broadcast_to(g, x.shape))
        dtype = self.ref.v.dtype  # in the byte order of the device
        return g.astype(dtype) if g.dtype != dtype else g


def given_back(x: Any, to_host: bool, fresh: bool = False) -> Any:
    """An array of the device as the caller gets it: NumPy's, or CuPy's in memory that nobody else has."""
    return x.get() if to_host else x.session.to_cupy(x.copy() if fresh else x)


def enter(x: Any, t: Any) -> Any:
    """A number or array as the program gets it, and its leaf; None for what is entered as on the CPU."""
    kind = type(x)
    if kind is float or isinstance(x, np.floating):
        n = input_node(t)
        ref = tensor(x, n, t)
        return ref, RemoteLeaf(x, ref)
    foreign = session_of(x) is not None
    if not foreign and (kind is not ndarray or x.dtype.kind != "f"):
        return (x, None) if kind is ndarray and x.dtype.kind != "c" else None
    t.homes.to_host &= not foreign
    v = t.device.adopt(x) if foreign else t.device.array(x)
    if v.dtype.kind != "f":
        return v, None
    if not foreign:
        t.copied.append((x, v))
    ref = tensor(v, input_node(t), t, True)
    host, owner = id(owner_of(x)) if kind is ndarray else v.address, id(owner_of(v))
    if host in t.owners:
        t.shared |= {id(owner_of(leaf.v)) for leaf in t.leaves} | {owner}
    t.owners |= {owner, host}
    t.leaves.append(ref)
    return ref, RemoteLeaf(x, ref)


def input_node(t: Any) -> Any:
    return made("input", [], 0, t)


def write_back(parts: Any, t: Any) -> None:
    """What the function wrote into arrays of the caller's, and into plain arrays, is there too."""
    for part in parts:
        if type(part) is RemoteLeaf:
            if type(part.given) is ndarray and id(owner_of(part.ref.v)) in t.written:
                part.given[...] = part.ref.v.get()
        elif hasattr(part, "parts"):
            write_back([p for _, p in part.parts], t)
    for key, twin in t.twins.items():
        owner = t.adopted[key][0] if key in t.adopted else None
        if owner is not None:
            t.protect(owner)
        if owner is not None and sys.getrefcount(owner) > HELD_BY_US and id(twin) in t.written:
            owner[...] = twin.get()


HELD_BY_US = 3  # the tape, the variable `owner`, and the argument of getrefcount


def tape_for(device: str, args: Any, kwargs: Any) -> Tape:
    """The tape for a call: of the device that is named, or that an array among the arguments is on."""
    if device == "cpu":
        if "cupy" not in sys.modules and not REMOTE:
            return Tape()
        found = next((s for x in leaves_in((args, kwargs)) if (s := session_of(x)) is not None), None)
        return Tape() if found is None else RemoteTape(found)
    here = session(device)
    for x in leaves_in((args, kwargs)):
        if isinstance(x, INEXACT) or (isinstance(x, ndarray) and x.dtype.char in "gG"):
            kind = str(x.dtype) if isinstance(x, (ndarray, np.generic)) else type(x).__name__
            text = f"a {kind} among the arguments cannot be held exactly on {device}: this call runs on the CPU"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
            return Tape()
    return RemoteTape(here)


def leaves_in(x: Any, depth: int = 6) -> Any:
    """The numbers and arrays among arguments, in containers too."""
    if isinstance(x, dict):
        x = list(x.values())
    elif depth and is_record(x):
        x = [getattr(x, field.name, None) for field in dataclasses.fields(x)]
    if isinstance(x, (list, tuple)) and depth:
        for e in x:
            yield from leaves_in(e, depth - 1)
    else:
        yield x


def host_value(x: Any, to_host: bool) -> Any:
    """A result with arrays where the caller wants them."""

    def back(e: Any) -> Any:
        if not remote(e):
            return e
        v = given_back(e, to_host)
        return v[()] if to_host and e.scalar else v

    return mapped(x, back)


def mapped(x: Any, f: Any) -> Any:
    """A result with `f` of its numbers and arrays, in containers like those it has."""
    if isinstance(x, (list, tuple)):
        items = [mapped(e, f) for e in x]
        return x if all(a is b for a, b in zip(items, x, strict=True)) else like(x, items)
    if type(x) in (set, frozenset):
        entries = [mapped(e, f) for e in x]
        return x if all(a is b for a, b in zip(entries, x, strict=True)) else type(x)(entries)
    if isinstance(x, dict):
        found = {k: mapped(e, f) for k, e in x.items()}
        if all(found[k] is x[k] for k in x):
            return x
        return found if type(x) is dict else rebuilt(x, found)
    if is_record(x):
        names = [field.name for field in dataclasses.fields(x) if hasattr(x, field.name)]
        found = {k: mapped(getattr(x, k), f) for k in names}
        return x if all(found[k] is getattr(x, k) for k in found) else with_fields(x, found)
    return f(x)
