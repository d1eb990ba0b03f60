"""Derivatives taken inside a recorded function, of any order.

The inner function is recorded on the tape of the outer one, its nodes keeping their operands as recorded values
(`Deep`). The inner sweep is then a program like any other: the rules of the operations are recorded functions, the
cotangents recorded values, and their memory plain arrays that recorded values are written into. So what it computes
has a derivative, and the sweep of the outer function differentiates it. One more level is one more inner sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .arrays import ARRAYS, is_array, zeros
from .callables import of
from .errors import RecordingClosed
from .forward import Sum, dual_handle, push
from .nested_results import places_of, recorded_seed, value_of
from .nested_sweep import Sweep, reached, root_of, rule_functions
from .ops.block import LIKE, RESULT, Operation
from .recording import ACTIVE, depends, mine, recordable, refuse, settle, site, value, whole
from .seeds import ones, seed
from .stores import Scatter, Store
from .tape import Inside, Ref, Scalar, Tape, Tensor, deep, made, tensor
from .trees import Box, enter, entries_of, holds_recorded

ndarray = np.ndarray
float64 = np.float64
NUMBERS = (float, int, float64)
FLOATING = (float, float64)


def outer_tape(fn: Any, args: Any, kwargs: Any) -> Tape | None:
    """The tape of the recording whose values a derivative depends on, through its arguments or what `fn` captures."""
    tapes = mine()
    if not tapes or not (depends(args) or depends(kwargs) or holds_recorded((fn, args, kwargs))):
        return None
    found = [x.t for x in (*args, *kwargs.values()) if isinstance(x, Ref) and x.t.live]
    return found[0] if found else [t for t in tapes if type(t) is not Inside][-1]


def inner_handle(
    op: Operation, v: Any, operands: Any, attributes: Any, edges: list[Any], s: Any, t: Any, again: Any
) -> Any:
    """A value made while a derivative is taken inside, or with its tangent, or both."""
    v = v if t.device is None or type(v) is not ndarray else t.device.array(v)
    if not recordable(v, s):
        return v
    r = deep_handle(op, v, operands, attributes, edges, s, t) if t.deep else dual_handle(op.name, v, s, t)
    if t.dual:
        t.quiet = True
        push(op, v, r.n, operands, attributes, again, t)
    return r


def sum_handle(name: str, v: Any, edges: list[Any], s: Any, t: Any) -> Any:
    """A sum with its tangent."""
    if not recordable(v, s):
        return v
    n = made(name, edges if t.deep else [], s, t)
    t.append(n)
    t.done(Sum(n, v, [edge[0] for edge in edges]))
    return tensor(v, n, t)


def deep_handle(op: Operation, v: Any, operands: Any, attributes: Any, edges: list[Any], s: Any, t: Tape) -> Any:
    """A value with its node, which keeps the operands as they are recorded."""
    kept = {}
    needed = {name for rule in op.pulls for name in rule.needs}
    if not needed.isdisjoint(op.keeps):
        settings = {k: x for k, x in attributes.items() if k not in op.keeps}
        if t.graph is not None:
            rest = t.graph.kept(op, operands, settings)
        else:
            _, *rest = of(op.value)(rule_functions(t.device), *operands, **settings)
        kept = dict(zip(op.keeps, rest, strict=True))
    r = tensor(v, None, t)
    r.n = n = deep_node(op, v, r, operands, edges, kept, s, t)
    t.quiet = True
    t.append(n)
    t.unseen.append(n)
    return r


def deep_node(op: Operation, v: Any, result: Any, operands: Any, edges: list[Any], kept: Any, s: Any, t: Tape) -> Any:
    """The node of an operation that made `v`; `result` stands for it in what the rules need."""
    n = deep(op.name, edges, s, t)
    rules = {rule.function: rule.needs for rule in op.pulls}
    kept = {**kept, "memo": []}  # what rules tell each other: not what they tell each other of plain values
    n.refs = [references(rules[e[1]], e[3], result, operands, kept, op.variadic) for e in edges]
    elementary = op.elementwise and op.bind is None and (type(v) is float or type(v) is float64)
    n.floats = elementary and all(type(value(x)) in NUMBERS for x in operands)
    return n


def references(needs: Any, saved: list[Any], result: Any, operands: Any, kept: Any, variadic: bool) -> list[Any]:
    """What a rule needs, as recorded values where they are recorded."""
    refs = list(saved)
    for k, name in enumerate(needs, int(variadic)):
        x: Any = None
        if type(name) is int:
            x = result if name == RESULT else operands[name] if 0 <= name < LIKE else None
        elif name == "memo":
            refs[k] = kept[name]
        elif name in kept:
            x = refs[k] = kept[name]
        elif name == "operands":
            refs[k] = [converted(x, y) if isinstance(x, Ref) else y for x, y in zip(operands, saved[k], strict=True)]
        elif name == "operand":
            x = operands[saved[0]]
        if isinstance(x, Ref):
            refs[k] = converted(x, saved[k])
        elif type(name) is int and name == RESULT:
            refs[k] = x
    return refs


def converted(x: Any, saved: Any) -> Any:
    """`x`, as the number that was saved of it."""
    return of(float)(x) if type(saved) is float and type(x.v) in (Fraction, Decimal) else x


class Inner:
    """A differentiable number or array among the arguments of the inner function."""

    __slots__ = ("given", "ref", "sweep")

    def __init__(self, given: Any, ref: Any) -> None:
        self.given, self.ref = given, ref
        self.sweep: Any = None

    def built(self, of_leaf: Callable[[Any], Any]) -> Any:
        return of_leaf(self)

    def gradient(self, sweep: Sweep | None = None) -> Any:
        """What arrived, in the type, shape and dtype of the argument, in memory of its own."""
        x = value(self.given)
        g = (self.sweep if sweep is None else sweep).arrived(self.ref.n)
        if is_array(x):
            return zeros(x) if g is None else of(np.array)(g, dtype=x.dtype)
        if g is None:
            return x.__class__(0)
        g = of(np.ndarray.item)(g) if is_array(value(g)) else g
        return g if value(g).__class__ is x.__class__ else of(x.__class__)(g)


def alias(x: Any, t: Tape) -> Any:
    """An argument of the inner function: the same value, with a cotangent of its own."""
    x = settle(x) if type(x) in ARRAYS else x
    v = value(x)
    edges = []
    if isinstance(x, Ref):
        place: Any = x if type(x) is Scalar else x.n  # type: ignore[attr-defined]
        edges = [[place, whole, None, []]]
    n = deep("input", edges, site(), t)
    t.quiet = True
    t.append(n)
    if t.dual and edges:
        t.done(Sum(n, v, [place]))  # type: ignore[attr-defined]
    r = tensor(v.copy(order="K") if is_array(v) else v, n, t)
    if t.graph is not None:
        t.graph.alias(x, r)
    return r


def differentiable(v: Any) -> bool:
    if type(v) in ARRAYS or isinstance(v, np.floating):
        return bool(v.dtype.kind == "f")
    return type(v) in (float, Fraction, Decimal)


def enter_inside(x: Any, t: Tape) -> tuple[Any, Any] | None:
    """A number or array as the inner function gets it, and its part; None for a container or plain data."""
    if not differentiable(value(x)):
        return None
    ref = alias(x, t)
    return ref, Inner(x, ref)


class Nested:
    """The recording of an inner function: `value`, its `parts`, and `pull`, its derivative as recorded values."""

    def __init__(self, fn: Any, args: Any, kwargs: Any, places: Any, t: Tape) -> None:
        self.tape, self.parts, self.used = t, [], False
        entered, named, marker = list(args), dict(kwargs), Inside()
        t.deep, t.fast = t.deep + 1, False
        ACTIVE.append(marker)
        start = len(t)
        try:
            for k in places:
                target: Any = entered if type(k) is int else named
                target[k], part = enter(target[k], t)
                if part is not None:
                    self.parts.append((k, part))
            self.leaves = leaves_of(self.parts)
            self.value = of(fn)(*entered, **named)
        finally:
            ACTIVE.remove(marker)
            t.deep -= 1
            t.fast = t.live and not (t.deep or t.dual or t.complex)
        self.nodes = t[start:]
        self.reached = reached(self.nodes, self.leaves)
        self.unchanged()

    def unchanged(self) -> None:
        """What the inner function writes into its arguments would have to reach the caller's."""
        inputs = {id(leaf.ref.n) for leaf in self.leaves}
        written = any(type(n) in (Store, Scatter) and id(root_of(n.place)) in inputs for n in self.nodes)
        for box in [part for _, part in self.parts if type(part) is Box]:
            now = entries_of(box.copied)
            written |= len(now) != len(box.entries) or any(a is not b for a, b in zip(now, box.entries, strict=True))
        if written:
            raise refuse(
                "a function whose derivative is taken inside a recorded function writes into its argument",
                "Let it write into a copy.",
            )

    def choose_first(self) -> None:
        """Only the first of two results is differentiated."""
        self.value = self.value[0]

    def release(self) -> None:
        self.nodes = []

    def places(self) -> Any:
        """Where the cotangents of the value go; None for what does not depend on the arguments."""
        return places_of(self.value, lambda x: type(x) is Tensor and id(root_of(x.n)) in self.reached)

    def pull_once(self, cotangent: Any) -> list[Any]:
        if self.used:
            raise RecordingClosed("this recording was used up by its pullback; call vjp again")
        gradients = self.pull(cotangent)
        self.used = True
        return gradients

    def pull(self, cotangent: Any, given: bool = True) -> list[Any]:
        """The gradients of the parts, from a cotangent of the value (ones unless `given`)."""
        place, plain = self.places(), value_of(self.value)
        c = cotangent if given else ones(place, plain)
        sweep = self.swept(recorded_seed(place, plain, c) if depends(c) else seed(place, plain, c))
        for leaf in self.leaves:
            leaf.sweep = sweep
        return [part.gradient() for _, part in self.parts]

    def swept(self, seeds: list[tuple[Any, Any]]) -> Sweep:
        """The inner sweep, from cotangents at recorded values."""
        sweep = Sweep(self.nodes, self.reached, self.tape)
        with np.errstate(all="ignore"):
            for ref, g in seeds:
                sweep.add(ref.n if type(ref) is Tensor else ref, g)
            sweep.run()
        return sweep


def leaves_of(parts: Any) -> list[Inner]:
    found: list[Inner] = []
    for _, part in parts:
        found += leaves_of(part.parts) if type(part) is Box else [part]
    return found
