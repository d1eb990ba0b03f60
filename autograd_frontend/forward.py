"""Forward mode: tangents carried beside values.

A function runs on a `Forward` tape. The node of a recorded value holds its tangent where, in reverse mode, the
cotangent will be; and as a write or a view acts on memory, it acts on the tangent's memory (the node's mirror), at
once. The tangent of an operation comes from its block: by the tangent rules, by the pullback rules of elementwise
operations, by the operation itself where it is linear.

A tape that is `kept` remembers these steps, so that further tangents can be pushed through without running the function
again. Then what the steps need is saved from later writes as in reverse mode.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .arrays import ARRAYS, is_array, remote, zeros
from .cotangents import filled, repeats, strong_zero
from .general import computed
from .multilinear import strong, zeros_of
from .ops.block import Operation
from .ops.plain import PLAIN
from .recording import gather, is_complex, settle, value
from .remote import RemoteTape
from .tape import Node, Ref, Tape, Tensor, View, made, tensor

ndarray = np.ndarray
float64 = np.float64


class Forward(Tape):
    """The tape of a function run with tangents. `steps`: how they move, if it is kept."""

    __slots__ = ()  # the same slots as `Tape`: a tape that is over becomes an `Over`

    def __init__(self, kept: bool) -> None:
        super().__init__()
        self.dual, self.fast, self.kept = True, False, kept
        self.steps: list[Any] = []

    def append(self, n: Any) -> None:
        if self.deep:  # a derivative inside is recorded on it
            super().append(n)

    def done(self, step: Any) -> None:
        """Take a step, and remember it."""
        with np.errstate(all="ignore"):
            step.run()
        if self.kept:
            self.steps.append(step)
            if isinstance(step, Push):
                self.unseen.append(step)

    def again(self) -> None:
        """Push other tangents, those that the inputs hold now, through what was run."""
        with np.errstate(all="ignore"):
            for step in self.steps:
                step.run()

    def release(self) -> None:
        self.steps.clear()
        super().release()


class RemoteForward(Forward, RemoteTape):
    """The same on another device."""

    __slots__ = ()

    def __init__(self, device: Any, kept: bool) -> None:
        RemoteTape.__init__(self, device)
        self.dual, self.kept = True, kept
        self.steps = []


def tangent(place: Any) -> Any:
    """The tangent at a place, or None for zero; in memory that later writes do not change."""
    if type(place) is View:
        return None if place.silent() else copied(place.mirror())
    g = place.g
    return copied(g) if place.own == 2 else g


def copied(t: Any) -> Any:
    return t.copy() if type(t) in ARRAYS else t


def receive(n: Node, t: Any, v: Any) -> None:
    """Set the tangent of the node of `v`."""
    if t is not None and remote(v):
        if not remote(t):
            t = v.session.array(np.broadcast_to(t, v.shape))
        if t.shape != v.shape or t.dtype != v.dtype:
            t = filled(t, v.shape, v.dtype)
    elif t is not None and type(v) is ndarray:
        t = np.asarray(t)
        if t.shape != v.shape or t.dtype != v.dtype:
            t = np.array(np.broadcast_to(t, v.shape), v.dtype)
    elif type(t) is ndarray:
        t = t[()]
    if isinstance(v, np.floating) and type(t) in (float, float64):
        t = type(v)(t)  # a method of NumPy's numbers may be next
    if n.own == 2:
        n.g[...] = 0 if t is None else t
    else:
        n.g = t


class Push:
    """The tangent of an operation with the result `v`, at the node `n`. `edges`: (place, rule, strict, saved); rules
    use the functions `ops`."""

    __slots__ = ("n", "v", "edges", "ops")
    n: Any

    def __init__(self, n: Node, v: Any, edges: list[Any], t: Any) -> None:
        self.n, self.edges, self.ops = n, edges, functions_of(t)
        self.v = hollow(v)

    def run(self) -> None:
        total = None
        for place, rule, strict, saved in self.edges:
            t = tangent(place)
            if t is not None:
                d = rule(self.ops, t, *saved)
                d = watched(d, t) if strict else d
                total = d if total is None else total + d
        receive(self.n, total, self.v)


def functions_of(t: Any) -> Any:
    """What the rules of a tape use."""
    return PLAIN if t.device is None else t.device.ops


def hollow(v: Any) -> Any:
    """A result of which only the shape and the type matter."""
    if not is_array(v):
        return v
    return zeros(v) if remote(v) else np.broadcast_to(np.empty((), v.dtype), v.shape)  # of a device they wait


def watched(d: Any, t: Any) -> Any:
    """`d` with exact zeros where the tangent is zero, if it has a NaN there."""
    return strong_zero(d, t) if isinstance(d, (ndarray, np.generic)) or remote(t) else d


def push(op: Operation, v: Any, n: Node, operands: Any, attributes: Any, again: Any, t: Any) -> None:
    """Give the node of `v`, the result of `op`, its tangent. `again` is the call: (function, args, kwargs)."""
    turns = op.elementwise and (is_complex(v) or any(is_complex(value(x)) for x in operands))
    if op.linear and not op.elementwise:
        step: Push = Joint(n, v, [linear(op, operands, again)], t)
    else:
        rules = op.pulls if op.elementwise else op.pushes
        assert rules, op.name  # a block without them does not import
        edges = []
        for i, x in enumerate(operands):
            if isinstance(x, Ref) and x.t is t:
                rule = rules[0 if op.variadic else i]
                saved: list[Any] = [i] if op.variadic else []
                gather(rule.needs, saved, v, operands, attributes, t, op.keeps)
                function = partial(turned, rule.function, hollow(v)) if turns else rule.function
                edges.append([x.n, function, op.elementwise and rule.strict, wide(saved)])  # type: ignore[attr-defined]
        step = Push(n, v, edges, t)
    t.done(step)


def turned(rule: Any, v: Any, ops: Any, t: Any, *saved: Any) -> Any:
    """The tangent of `v` by a pullback rule of complex numbers: `Re(conj(rule(1))*t)`, and the imaginary part of a
    complex `v` by `rule(1j)`. The pullback is the transpose for the inner product `Re(conj(a)*b)`."""
    one = np.ones_like(v)
    d = inner(ops, rule(ops, one, *saved), t)
    return d + ops.imaginary(inner(ops, rule(ops, 1j * one, *saved), t)) if is_complex(v) else d


def inner(ops: Any, r: Any, t: Any) -> Any:
    """`Re(conj(r)*t)`. What is zero of a part of either is exactly zero: what was not chosen may be infinite."""
    d = watched(ops.times(r.real, t.real), t.real)
    return d + watched(ops.times(r.imag, t.imag), t.imag) if is_complex(r) and is_complex(t) else d


def wide(saved: list[Any]) -> list[Any]:
    """Saved operands, where Python floats follow IEEE."""
    return [float64(x) if type(x) is float else x for x in saved]


class Parts(Push):
    """The tangents of several results of one operation: `n` and `v` are lists (None: a result without a derivative)."""

    __slots__ = ()

    def __init__(self, nodes: list[Any], values: list[Any], edges: list[Any], t: Any) -> None:
        self.n, self.v, self.edges, self.ops = nodes, values, edges, functions_of(t)

    def run(self) -> None:
        totals: list[Any] = [None] * len(self.n)
        for place, rule, _, saved in self.edges:
            t = tangent(place)
            if t is not None:
                for i, d in enumerate(rule(self.ops, t, *saved)):
                    totals[i] = d if totals[i] is None else totals[i] + d if d is not None else totals[i]
        for n, v, total in zip(self.n, self.v, totals, strict=True):
            if n is not None:
                receive(n, total, v)


class Joint(Push):
    """The tangent of a linear operation: the call itself, on tangents. `edges`: one of (places, call, None, saved)."""

    __slots__ = ()

    def run(self) -> None:
        places, call, _, saved = self.edges[0]
        tangents = [tangent(p) for p in places]
        receive(self.n, None if all(t is None for t in tangents) else call(tangents, saved), self.v)


def linear(op: Operation, operands: Any, again: Any) -> Any:
    """The places, the call and the saved values of a linear operation. Where its rules look at other operands (a
    product) it is linear in each of them, otherwise in all of them together."""
    call, args, kwargs = again
    leaves: list[Any] = []
    plain = {id(x) for x in operands if not isinstance(x, Ref)}
    still: set[int] = set()
    form = tuple([form_of(x, leaves, plain, still) for x in args])
    named = {k: form_of(x, leaves, plain, still) for k, x in kwargs.items()}
    at = [i for i, x in enumerate(leaves) if isinstance(x, Ref) and x.t.live]
    values: list[Any] = [value(x) for x in leaves]
    zeros = [zeros_of(v) if i in still else v for i, v in enumerate(values)]
    each: bool = any(type(n) is int and 0 <= n < 100 or n == "operands" for rule in op.pulls for n in rule.needs)

    factors = sorted({*at, *[i for i in still if type(leaves[i]) is not int]})

    def with_leaves(new: list[Any]) -> Any:
        return computed(call, list(completed(form, new)), completed(named, new))

    def with_factors(saved: list[Any]) -> Any:
        """The call as a function of its factors."""

        def f(new: list[Any]) -> Any:
            given = dict(zip(factors, new, strict=True))
            return with_leaves([given.get(i, x) for i, x in enumerate(saved)])

        return f

    def pushed(tangents: list[Any], saved: list[Any]) -> Any:
        if each:
            total: Any = None
            for i, t in zip(at, tangents, strict=True):
                if t is not None:
                    d = strong(with_factors(saved), [saved[k] if k != i else t for k in factors], factors.index(i))
                    total = d if total is None else total + d
            return total
        new = list(saved)
        for i, t in zip(at, tangents, strict=True):
            new[i] = zeros_of(values[i]) if t is None else t
        return with_leaves(new)

    return [leaves[i].n for i in at], pushed, None, values if each else zeros


class Leaf:
    """The place of a value in the arguments of a call."""

    __slots__ = ("i",)

    def __init__(self, i: int) -> None:
        self.i = i


def form_of(x: Any, leaves: list[Any], plain: set[int], still: set[int], inside: bool = False) -> Any:
    """Nested arguments with numbered leaves; what is in them is collected. Those that are plain operands (by their
    ids), or in one, or beside a recorded value in a list, are `still`."""
    inside = inside or id(x) in plain
    if type(x) is list or type(x) is tuple:
        inside = inside or any(isinstance(e, Ref) for e in x)
        return type(x)([form_of(e, leaves, plain, still, inside) for e in x])
    if type(x) is dict:
        return {k: form_of(e, leaves, plain, still, inside) for k, e in x.items()}
    leaves.append(settle(x) if type(x) in ARRAYS else x)  # it may hold recorded values
    if inside and not isinstance(leaves[-1], (Ref, bool, str, type(None))):
        still.add(len(leaves) - 1)
    return Leaf(len(leaves) - 1)


def completed(form: Any, leaves: list[Any]) -> Any:
    if type(form) is Leaf:
        return leaves[form.i]
    if type(form) is dict:
        return {k: completed(e, leaves) for k, e in form.items()}
    return type(form)([completed(e, leaves) for e in form])


def dual_handle(name: str, v: Any, s: Any, t: Any) -> Tensor:
    """A value with a node that will hold its tangent."""
    return tensor(v, made(name, [], s, t), t)


class Read:
    """A read through an index that copies, at the node `n`."""

    __slots__ = ("n", "v", "place", "key")

    def __init__(self, n: Node, v: Any, place: Any, key: Any) -> None:
        self.n, self.v, self.place, self.key = n, v, place, key

    def run(self) -> None:
        receive(self.n, None if self.place.silent() else copied(self.place.mirror()[self.key]), self.v)


class Written:
    """A write `place[key] = value`; with `sign`, `place[key] += sign*value`. `value` None: it has no tangent."""

    __slots__ = ("place", "key", "value", "sign")

    def __init__(self, place: Any, key: Any, value: Any, sign: int = 0) -> None:
        self.place, self.key, self.value, self.sign = place, key, value, sign

    def run(self) -> None:
        t: Any = None if self.value is None else tangent(self.value)
        if t is None and (self.sign or self.place.silent()):
            return
        m = self.place.mirror()
        if not self.sign:
            m[self.key] = 0 if t is None else t
        elif repeats(self.key):
            np.add.at(m, self.key, self.sign * t)
        else:
            m[self.key] += self.sign * t


class Fresh:
    """Plain memory that holds recorded values from here on."""

    __slots__ = ("n",)

    def __init__(self, n: Node) -> None:
        self.n = n

    def run(self) -> None:
        receive(self.n, None, None)


class Sum:
    """The tangent of a sum, at the node `n` of `v`: those of its `places`."""

    __slots__ = ("n", "v", "places")

    def __init__(self, n: Node, v: Any, places: list[Any]) -> None:
        self.n, self.v, self.places = n, v, places

    def run(self) -> None:
        found = [t for t in map(tangent, self.places) if t is not None]
        receive(self.n, sum(found[1:], found[0]) if found else None, self.v)
