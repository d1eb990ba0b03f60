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

from .arrays import ARRAYS, is_array, remote, zeros
from .callables import of
from .cotangents import fitted, has_nan, mirror_like, repeats, winners
from .eager import EAGER
from .errors import RecordingClosed
from .forward import Sum, dual_handle, push
from .memory import Gather
from .nested_results import places_of, recorded_seed, value_of
from .ops.block import LIKE, RESULT, Operation
from .ops.plain import FLOATS, PLAIN
from .recording import ACTIVE, BUILDING, builder_of, depends, mine, recordable, refuse, settle, site, value, whole
from .seeds import ones, seed
from .stores import Scatter, Store
from .tape import Deep, Inside, Node, Pair, Ref, Scalar, Tape, Tensor, View, deep, made, tensor
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


# Recording the inner function


def inner_handle(
    op: Operation, v: Any, operands: Any, attributes: Any, edges: list[Any], s: Any, t: Any, again: Any
) -> Any:
    """A value made while a derivative is taken inside, or with its tangent, or both."""
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
    r = tensor(v if t.device is None or type(v) is not ndarray else t.device.array(v), None, t)
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
        sweep = Sweep(self.nodes, self.reached)
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


# The inner sweep


def root_of(place: Any) -> Any:
    while type(place) is View:
        place = place.parent
    return place


def reached(nodes: list[Any], leaves: list[Inner]) -> set[int]:
    """The ids of the nodes that depend on the arguments, and of the memory into which such a value was written."""
    found = {id(leaf.ref.n) for leaf in leaves}
    for n in nodes:
        if type(n) is Store or type(n) is Scatter:
            if n.value is not None and id(root_of(n.value)) in found:
                found.add(id(root_of(n.place)))
        elif type(n) is Gather:
            if id(root_of(n.place)) in found:
                found.add(id(n))
        elif isinstance(n, Node) and type(n) is not Pair and any(id(root_of(edge[0])) in found for edge in n.edges):
            found.add(id(n))
    return found


class Sweep:
    """Cotangents on their way back through the nodes of the inner function.

    `values`: of nodes, by id; `memory`: of those that were looked at through views or written, plain arrays laid out as
    the value is; `looks`: the same views of that memory.
    """

    def __init__(self, nodes: list[Any], inside: set[int]) -> None:
        self.nodes, self.inside = nodes, inside
        self.values: dict[int, Any] = {}
        self.memory: dict[int, ndarray] = {}
        self.looks: dict[int, ndarray] = {}

    def arrived(self, n: Any) -> Any:
        """The cotangent of a node, or None."""
        m = self.memory.get(id(n))
        return self.values.get(id(n)) if m is None else settle(m)

    def mirror(self, place: Any) -> ndarray:
        """The cotangent of a place as memory that is laid out as the value is."""
        if type(place) is not View:
            m = self.memory.get(id(place))
            if m is None:
                m = self.memory[id(place)] = mirror_like(*place.like)
                if (g := self.values.pop(id(place), None)) is not None:
                    EAGER.store(g, m, Ellipsis, site())
            return m
        chain = [place]
        while type(place := chain[-1].parent) is View and id(place) not in self.looks:
            chain.append(place)
        m = self.looks[id(place)] if type(place) is View else self.mirror(place)
        for look in reversed(chain):
            m = self.looks[id(look)] = look.call(m, *look.args, **(look.kwargs or {}))
            if not m.flags.writeable:
                m.flags.writeable = True
        return m

    def silent(self, place: Any) -> bool:
        root = id(root_of(place))
        return root not in self.values and root not in self.memory

    def add(self, place: Any, d: Any) -> None:
        """Add a cotangent to what has arrived."""
        if type(place) is Scalar or id(root_of(place)) not in self.inside:
            return  # it does not depend on the arguments
        if type(place) is View or id(place) in self.memory:
            EAGER.iadd(self.mirror(place), d, site())
        else:
            g = self.values.get(id(place))
            if g is None and type(v := value(d)) in FLOATING and (v == 0 or builder_in(d) is not None):
                g = 0.0  # as the cotangents of floats begin: the sum of 0.0 and -0.0 is 0.0
            self.values[id(place)] = d if g is None else EAGER.add(g, d, site())

    def run(self) -> None:
        for n in reversed(self.nodes):
            kind = type(n)
            if kind is Deep or kind is Node:
                if n.edges and (g := self.arrived(n)) is not None:
                    self.pass_on(n, g)
            elif kind is Store:
                self.store(n)
            elif kind is Scatter:
                if not self.silent(n.place):
                    g = copied(EAGER.getitem(self.mirror(n.place), n.key, site()))
                    self.add(n.value, fit_to(EAGER.neg(g, site()) if n.sign < 0 else g, g, n.fit))
            elif kind is Gather:
                if (g := self.arrived(n)) is not None:
                    self.gather(n, g)
            else:
                assert kind is Pair or kind is Scalar, kind  # made by fast paths, of values from outside

    def pass_on(self, n: Any, g: Any) -> None:
        """Hand the cotangent of an operation to its inputs by the operation's rules."""
        each = n.refs if type(n) is Deep else [edge[3] for edge in n.edges]
        for (place, rule, fit, _), refs in zip(n.edges, each, strict=True):
            if type(place) is Scalar or id(root_of(place)) not in self.inside:
                continue
            floats = type(n) is Deep and n.floats
            if (builder := builder_in((g, refs))) is not None:  # it has to look when it runs
                self.add(place, builder.pulled(rule, floats, g, refs, fit, place))
                continue
            d = applied(rule, FLOATS if floats else rule_functions(n.session), g, refs)
            strict = fit is None or fit is True or fit[2]  # an elementwise operation
            self.add(place, fit_to(watched(d, g) if strict and n.op != "input" else d, g, fit))

    def store(self, n: Store) -> None:
        """A write: the entries hand over their cotangent and keep none."""
        if self.silent(n.place):
            return
        m = self.mirror(n.place)
        if n.value is None:
            EAGER.store(0, m, n.key, site())
            return
        g = copied(EAGER.getitem(m, n.key, site()))
        if repeats(n.key):
            g = of(np.where)(winners(m.shape, n.key), g, 0)
        EAGER.store(0, m, n.key, site())
        self.add(n.value, fit_to(g, g, n.fit))

    def gather(self, n: Gather, g: Any) -> None:
        """A read through an index that copied."""
        m = self.mirror(n.place)
        if repeats(n.key):
            of(np.add.at)(m, n.key, g)
        else:
            EAGER.store(EAGER.add(EAGER.getitem(m, n.key, site()), g, site()), m, n.key, site())


def rule_functions(session: Any) -> Any:
    """What rules that are recorded themselves use, on the arrays of a device."""
    if session is None:
        return PLAIN
    from .careful import CAREFUL

    return CAREFUL


def builder_in(x: Any) -> Any:
    """What builds a graph that `x` is part of."""
    return builder_of(x) if BUILDING else None


def copied(g: Any) -> Any:
    return of(np.copy)(g) if is_array(value(g)) else g


def applied(rule: Callable[..., Any], ops: Any, g: Any, refs: Any) -> Any:
    """A rule; where Python's floats raise and IEEE has an answer, it is repeated with float64."""
    try:
        return of(rule)(ops, g, *refs)
    except (ArithmeticError, ValueError):
        kinds: tuple[type, ...] = (int, float) if ops is FLOATS else (float,)
        return of(rule)(PLAIN if ops is FLOATS else ops, *[wide(x, kinds) for x in (g, *refs)])


def wide(x: Any, kinds: tuple[type, ...]) -> Any:
    if type(x) is list:
        return [wide(e, kinds) for e in x]
    return of(float64)(x) if type(value(x)) in kinds else x


def watched(d: Any, g: Any) -> Any:
    """`d` with exact zeros where the cotangent is zero, if it has a NaN there."""
    v = value(d)
    if remote(v) or remote(value(g)):
        return of(np.where)(np.logical_and(np.equal(value(g), 0), np.isnan(v)), 0, d)  # nothing is looked at
    if isinstance(v, (float, ndarray, np.floating)) and has_nan(v):
        zero = np.equal(value(g), 0)
        if zero.any() if isinstance(zero, ndarray) else zero:
            return of(np.where)(zero, 0, d) if isinstance(v, (ndarray, np.generic)) else 0.0
    return d


def fit_to(d: Any, g: Any, fit: Any) -> Any:
    """`d` summed to the operand's shape, in its dtype."""
    if (builder := builder_in((d, g))) is not None:
        return builder.fitted(d, g, fit)
    return d if fit is None or fit is True else of(fitted)(d, g, (fit[0], fit[1], False))
