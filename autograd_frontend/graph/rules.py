"""What is put into a graph of a derivative that is taken inside: rules of operations, followed or as single nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..callables import of
from ..errors import RecordError
from ..ops.plain import FLOATS, PLAIN
from ..recording import refuse, site
from ..tape import Ref
from . import calls, helpers, results
from .nodes import Link, Node, Part
from .shapes import blank, described

ndarray = np.ndarray
REMEDY = "Write it with operations whose derivative a graph can hold, or use graph.vjp."


class Rules:
    """The part of a `Builder` that the sweep of an inner function asks."""

    t: Any
    nodes: list[Node]
    places: dict[int, tuple[Any, int]]
    constants: dict[int, list[tuple[ndarray, int]]]
    looks: dict[Any, int]
    refusals: list[RecordError]
    add: Any
    form: Any
    named: Any
    number: Any
    stand_in: Any
    value: Any

    def alias(self, x: Any, r: Any) -> None:
        """The argument `r` of an inner function is `x`, in memory of its own."""
        if type(r.v) is ndarray:
            args = (self.form(x),)
            self.named(r, self.add("call", "copy", "numpy.copy", args, {}, r.v, False))
        elif isinstance(x, Ref):
            self.places[id(r.n)] = (r.n, self.number(x))
        else:
            self.named(r, self.add("call", "item", "autograd_frontend.graph.helpers.number", (x,), {}, r.v, False))

    def helper(self, name: str, args: Any) -> Any:
        """A step of a derivative that looks at values when it runs (graph/helpers.py)."""
        if self.t.deep and name in ("strong_zero", "fitted"):
            return of(getattr(helpers, name))(*args)
        path = f"autograd_frontend.graph.helpers.{name}"
        v = results.helped(path, self.stand_in(args), {})
        return self.value(v, self.add("call", name, path, self.form(args), {}, v, None, None, site()))

    def fitted(self, d: Any, g: Any, fit: Any) -> Any:
        """The cotangent `d` of an operand in its shape and dtype, with exact zeros where `g` has them."""
        if fit is None:
            return d
        if fit is True:
            return self.helper("strong_zero", (d, g))
        shape, dtype, strict = fit
        v = self.stand_in(d)
        same = described(v)[1:] == (shape, str(dtype)) or (shape is None and type(v) is float)
        if same:
            return self.helper("strong_zero", (d, g)) if strict else d
        return self.helper("fitted", (d, g, shape, None if dtype is None else str(dtype), strict))

    def pulled(self, rule: Any, floats: bool, g: Any, refs: Any, fit: Any, place: Any) -> Any:
        """The cotangent of an operand by a rule: as the nodes of the rule; where these look at values, as one node."""
        from ..nested_sweep import applied

        before, refusals = len(self.nodes), len(self.refusals)
        which, v = calls.rule_named(rule), self.operand(place)
        try:
            if any(type(x) is Part for x in refs):
                raise refuse("a derivative is taken inside another one", REMEDY)
            return self.fitted(applied(rule, FLOATS if floats else PLAIN, g, refs), g, fit)
        except RecordError:
            if which is None or v is None or self.t.deep:
                raise
            self.forget(before, refusals)
        form = (*which, floats, self.form(fit), self.form(g), self.form(refs))
        return self.value(v, self.add("pullback", f"pull_{which[0]}", "", form, {}, v, None, None, site()))

    def kept(self, op: Any, operands: Any, settings: Any) -> list[Any]:
        """What the rules of an operation need beside its result: as nodes, or where these look at values, as one."""
        before, refusals = len(self.nodes), len(self.refusals)
        try:
            found: list[Any] = list(of(op.value)(PLAIN, *operands, **settings))
            return found[1:]
        except (RecordError, IndexError):  # a stand-in that is an index is zero
            self.forget(before, refusals)
        form = (op.key, self.form(tuple(operands)), self.form(settings))
        v = (0,) * len(op.keeps)
        n = self.add("byproducts", f"by-products of {op.name}", "", form, {}, v, None, None, site())
        return [Part(Link(n.number), i) for i in range(len(v))]

    def operand(self, place: Any) -> Any:
        """What stands for the cotangent of the operand at a place; None where its node is not known."""
        found = self.places.get(id(place))
        if found is None or self.nodes[found[1]].type == "tuple":
            return None
        n = self.nodes[found[1]]
        return blank(n.type, n.shape, n.dtype)

    def forget(self, count: int, refusals: int) -> None:
        """Take back the nodes that were made, and what was refused, since there were so many."""
        del self.nodes[count:], self.refusals[refusals:]
        self.places = {k: e for k, e in self.places.items() if e[1] < count}
        self.constants = {k: [e for e in es if e[1] < count] for k, es in self.constants.items()}
        self.looks = {k: e for k, e in self.looks.items() if e < count}

    def bilinear(self, f: Any, g: Any, x: Any) -> Any:
        """`ops.bilinear(f, g, x)`: `f` is a graph of its own, which is run again where there are infinities."""
        given = [results.spec_of(self.stand_in(e)) for e in (g, x)]
        from .build import build

        inner = build(f, tuple(given), {}, lambda i: "gx"[i])
        last = inner.nodes[inner.result.number]
        v = blank(last.type, last.shape, last.dtype)
        form = (self.form(g), self.form(x))
        return self.value(v, self.add("bilinear", "bilinear", "", form, {}, v, None, inner, site()))
