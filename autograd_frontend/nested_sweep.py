"""The sweep of a function whose derivative is taken inside a recorded function: a program like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import is_array, remote
from .callables import of
from .cotangents import fitted, has_nan, mirror_like, repeats, strong_zero, winners
from .eager import EAGER
from .memory import Gather
from .ops.plain import FLOATS, PLAIN
from .recording import BUILDING, builder_of, settle, site, value
from .stores import Scatter, Store
from .tape import Deep, Node, Pair, Scalar, Tape, View

ndarray = np.ndarray
float64 = np.float64
FLOATING = (float, float64)


def root_of(place: Any) -> Any:
    while type(place) is View:
        place = place.parent
    return place


def reached(nodes: list[Any], leaves: Any) -> set[int]:
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

    def __init__(self, nodes: list[Any], inside: set[int], t: Tape) -> None:
        self.nodes, self.inside = nodes, inside
        self.kind, self.functions = t.kind, rule_functions(t.device)
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
            if kind is Deep or kind is self.kind:
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
            d = applied(rule, FLOATS if floats else self.functions, g, refs)
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
    """A rule; where Python's numbers raise and IEEE has an answer, it is repeated with NumPy's."""
    try:
        return of(rule)(ops, g, *refs)
    except (ArithmeticError, ValueError):
        kinds: tuple[type, ...] = (int, float) if ops is FLOATS else (float, complex)
        return of(rule)(PLAIN if ops is FLOATS else ops, *[wide(x, kinds) for x in (g, *refs)])


def wide(x: Any, kinds: tuple[type, ...]) -> Any:
    if type(x) is list:
        return [wide(e, kinds) for e in x]
    kind = type(value(x))
    return of(np.complex128 if kind is complex else float64)(x) if kind in kinds else x


def watched(d: Any, g: Any) -> Any:
    """`d` with exact zeros where the cotangent is zero, if it has a NaN there."""
    v = value(d)
    if remote(v) or remote(value(g)):
        return of(strong_zero)(d, g)
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
