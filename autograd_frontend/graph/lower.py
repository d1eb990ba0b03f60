"""Lowering: every kind of node becomes a line of Python, by a function of its own; the lines run as one function."""

from __future__ import annotations

import keyword
import linecache
import operator
import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..arrays import owner_of
from ..ops.block import OPERATIONS
from . import helpers
from .arguments import Fields, fitting, leaves_of
from .calls import IN_PLACE, OPERATORS, callable_at, ready
from .nodes import Graph, Link, Node, Part, links

ndarray = np.ndarray
FRESH = {"operator", "memory", "rand_uniform", "bernoulli_mask", "detach"}  # kinds whose arrays are nobody else's
BROADCASTS = ("broadcast_to", "broadcast_arrays")
SIMPLE = (int, bool, str, type(None), type(Ellipsis))


class Writer:
    """Lines of Python in the making. `space` holds what they name."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self.space: dict[str, Any] = {"ndarray": ndarray}
        self.kept: dict[int, str] = {}
        self.followed = False  # the lines are going to be recorded
        self.mark = ""  # what names end with, so that no parameter has one of them

    def put(self, line: str) -> None:
        self.lines.append(line)

    def hold(self, x: Any, prefix: str = "k") -> str:
        """The name of a thing that is not written out."""
        name = self.kept.get(id(x))
        if name is None:
            name = self.kept[id(x)] = f"{prefix}{len(self.kept)}{self.mark}"
            self.space[name] = x
        return name

    def name(self, number: int) -> str:
        return f"v{number}{self.mark}"

    def form(self, form: Any) -> str:
        """An argument as Python text."""
        kind = type(form)
        if kind is Link:
            return self.name(form.number)
        if kind is Part:
            return f"{self.form(form.link)}[{form.which!r}]"
        if kind is slice:
            return f"{self.hold(slice)}({', '.join(self.form(e) for e in (form.start, form.stop, form.step))})"
        if kind is list:
            return f"[{', '.join(map(self.form, form))}]"
        if kind is tuple:
            return f"({''.join(self.form(e) + ', ' for e in form)})"
        if kind is Fields:
            return f"{self.hold(restored)}({self.hold(form.kind)}, {self.form(form.fields)})"
        if isinstance(form, tuple) and self.followed:
            return f"{self.hold(tupled)}({self.hold(kind)}, [{', '.join(map(self.form, form))}])"
        if isinstance(form, tuple):
            return f"{self.hold(form.__class__)}({', '.join(map(self.form, form))})"
        if kind is dict:
            return f"{{{', '.join(f'{self.form(k)}: {self.form(e)}' for k, e in form.items())}}}"
        if kind is float and form == form and abs(form) != float("inf") or kind in SIMPLE:
            text = repr(form)
            return f"({text})" if text.startswith("-") else text  # (-2) ** x
        return self.hold(form)

    def arguments(self, n: Node, skip: int = 0) -> str:
        given = [self.form(x) for x in n.args[skip:]]
        return ", ".join([*given, *[f"{k}={self.form(x)}" for k, x in n.kwargs.items()]])

    def function(self, n: Node) -> str:
        """The name of the callable of a node."""
        return self.hold(n.function or callable_at(n.target), "f")


def tupled(kind: Any, parts: list[Any]) -> Any:
    """A named tuple, whose class may be one of this package, which programs do not go into."""
    return kind(*parts)


def restored(kind: Any, fields: dict[str, Any]) -> Any:
    """A dataclass, made without its constructor."""
    x = object.__new__(kind)
    for k, v in fields.items():
        object.__setattr__(x, k, v)
    return x


# One small function for every kind of node


def lower_input(n: Node, w: Writer) -> None:
    """Bound before the first line."""


def lower_const(n: Node, w: Writer) -> None:
    w.put(f"{w.name(n.number)} = {w.hold(n.payload)}")


def lower_memory(n: Node, w: Writer) -> None:
    if n.operation == "zeros":
        shape, dtype, order = n.args
        w.put(f"{w.name(n.number)} = {w.hold(np.zeros, 'f')}({w.form(shape)}, {w.hold(np.dtype(dtype))}, {order!r})")
    else:
        w.put(f"{w.name(n.number)} = {w.hold(n.payload)}.copy('K')")


def lower_view(n: Node, w: Writer) -> None:
    link, shape, dtype, offset, strides = n.args
    memory = f"{w.name(link.number)}.ravel('K')"
    look = f"{w.form(shape)}, {w.hold(np.dtype(dtype))}, {memory}, {w.form(offset)}, {w.form(strides)}"
    w.put(f"{w.name(n.number)} = {w.hold(ndarray)}({look})")


def lower_detach(n: Node, w: Writer) -> None:
    # A copy would do for the value; when the lines are recorded, only the operation stops derivatives.
    w.put(f"{w.name(n.number)} = {w.hold(OPERATIONS['detach'].function, 'f')}({w.arguments(n)})")


def lower_rand_uniform(n: Node, w: Writer) -> None:
    w.put(f"{w.name(n.number)} = {w.hold(OPERATIONS['rand_uniform'].function, 'f')}({w.arguments(n)})")


def lower_bernoulli_mask(n: Node, w: Writer) -> None:
    w.put(f"{w.name(n.number)} = {w.hold(OPERATIONS['bernoulli_mask'].function, 'f')}({w.arguments(n)})")


def lower_operator(n: Node, w: Writer) -> None:
    w.put(f"{w.name(n.number)} = {OPERATORS[n.target].format(*map(w.form, n.args))}")


def lower_getitem(n: Node, w: Writer) -> None:
    x, key = n.args
    w.put(f"{w.name(n.number)} = {w.form(x)}[{w.form(key)}]")


def lower_setitem(n: Node, w: Writer) -> None:
    x, key, v = n.args
    w.put(f"{w.form(x)}[{w.form(key)}] = {w.form(v)}")


def lower_inplace(n: Node, w: Writer) -> None:
    x, b = n.args
    w.put(f"{w.name(n.number)} = {w.form(x)}")
    w.put(f"{w.name(n.number)} {IN_PLACE[n.target]} {w.form(b)}")


def lower_call(n: Node, w: Writer) -> None:
    w.put(f"{w.name(n.number)} = {w.function(n)}({w.arguments(n)})")


def lower_method(n: Node, w: Writer) -> None:
    w.put(f"{w.name(n.number)} = {w.form(n.args[0])}.{n.target}({w.arguments(n, 1)})")


def lower_attribute(n: Node, w: Writer) -> None:
    w.put(f"{w.name(n.number)} = {w.form(n.args[0])}.{n.target}")


def lower_bilinear(n: Node, w: Writer) -> None:
    run = n.payload.function() if w.followed else n.payload.run
    w.put(f"{w.name(n.number)} = {w.hold(helpers.bilinear, 'f')}({w.hold(run)}, {w.arguments(n)})")


def lower_pullback(n: Node, w: Writer) -> None:
    key, i, floats, fit, g, refs = n.args
    rule = w.hold(OPERATIONS[key].pulls[i].function, "r")
    given = f"{floats!r}, {w.form(fit)}, {w.form(g)}, {w.form(refs)}, {n.dtype if n.type != 'array' else ''!r}"
    w.put(f"{w.name(n.number)} = {w.hold(helpers.pulled, 'f')}({rule}, {given})")


def lower_byproducts(n: Node, w: Writer) -> None:
    key, operands, settings = n.args
    given = [w.form(x) for x in operands] + [f"{k}={w.form(x)}" for k, x in settings.items()]
    w.put(f"{w.name(n.number)} = {w.hold(OPERATIONS[key].function.compute, 'f')}({', '.join(given)})[1:]")


def lower_part(n: Node, w: Writer) -> None:
    x, i = n.args
    w.put(f"{w.name(n.number)} = {w.form(x)}[{i!r}]")


LOWER: dict[str, Callable[[Node, Writer], None]] = {
    name[6:]: f for name, f in list(globals().items()) if name.startswith("lower_")
}


def lower(n: Node, w: Writer) -> None:
    """The lines of a node, by its kind."""
    LOWER[n.kind](n, w)


# The whole function


def last_uses(graph: Graph) -> list[list[int]]:
    """For every node, those whose value is used there for the last time."""
    last = {n.number: n.number for n in graph.nodes}
    for n in graph.nodes:
        for i in n.parents:
            last[i] = n.number
    for link in links_of(graph.result):
        last.pop(link.number, None)
    found: list[list[int]] = [[] for _ in graph.nodes]
    for i, at in last.items():
        found[at].append(i)
    return found


def links_of(form: Any) -> list[Link]:
    """The nodes of a result."""
    if type(form) is Fields:
        return links_of(form.fields)
    if isinstance(form, dict):
        return [x for e in form.values() for x in links_of(e)]
    if isinstance(form, (list, tuple)) and type(form) is not Link:
        return [x for e in form for x in links_of(e)]
    return list(links(form))


def body(graph: Graph, w: Writer, first: int) -> None:
    """The lines of the nodes after the inputs, each value dropped after its last use."""
    drops = last_uses(graph)
    for n in graph.nodes[first:]:
        lower(n, w)
        dropped = [w.name(i) for i in drops[n.number] if graph.nodes[i].type != "none"]
        if dropped and n.number < len(graph.nodes) - 1:
            w.put(f"del {', '.join(dropped)}")


def returned(graph: Graph, w: Writer, start: int) -> None:
    """The line with the result: its arrays are nobody else's. What is nobody's is known from the line `start`."""
    found = links_of(graph.result)
    arrays = [i.number for i in found if graph.nodes[i.number].type == "array"]
    kept = any(not fresh(graph.nodes[i], graph) for i in arrays) or len(arrays) > 1
    if kept:
        held = [w.name(n.number) for n in graph.inputs if n.type == "array"]
        payloads = [n.payload for n in graph.nodes if n.kind == "const"]
        w.lines.insert(start, f"own = {w.hold(Own, 'f')}([{', '.join(held)}], {w.hold(payloads)})")
        for i in arrays:
            w.put(f"{w.name(i)} = own({w.name(i)})")
    w.put(f"return {w.form(graph.result)}")


class Own:
    """Makes copies of arrays whose memory somebody else holds."""

    __slots__ = ("seen",)

    def __init__(self, inputs: list[Any], constants: list[Any]) -> None:
        self.seen = {id(owner_of(x)) for x in (*inputs, *constants)}

    def __call__(self, v: Any) -> Any:
        owner = id(owner_of(v))
        if owner in self.seen:
            return v.copy(order="K")
        self.seen.add(owner)
        return v


def fresh(n: Node, graph: Graph) -> bool:
    """Whether it is known that the array of a node is nobody else's."""
    if n.kind in FRESH:
        return n.target != "pos"
    if n.kind == "call":
        f = n.function or callable_at(n.target)
        return isinstance(f, np.ufunc) and "out" not in n.kwargs
    return False


def compiled(graph: Graph) -> Callable[..., Any]:
    """The graph as a function: it checks its arguments and runs the nodes one after the other."""
    w = Writer(graph)
    inputs = graph.inputs
    if not graph.kwargs and len(inputs) == len(graph.args) and all(type(form) is Link for form in graph.args):
        names = [w.name(form.number) for form in graph.args]
        head = f"def run({', '.join(names)}, /):"
        for i, n in enumerate(inputs):
            w.put(checked(n, w, i, graph.parameters.get(n.number, "")))
    else:
        head = "def run(*args, **kwargs):"
        into = "".join(f"{w.name(n.number)}, " for n in inputs)
        w.put(f"{into}= {w.hold(leaves_of, 'f')}({w.hold(graph)}, args, kwargs)")
    start = len(w.lines)
    body(graph, w, len(inputs))
    returned(graph, w, start)
    text = "\n    ".join([head, *w.lines])
    return made(text, w.space, graph)


def checked(n: Node, w: Writer, i: int, name: str) -> str:
    """The line that looks whether an argument fits."""
    x, where = w.name(n.number), f"argument {i}"
    wrong = f"{w.hold(fitting, 'f')}({w.hold(n)}, {x}, {where!r}, {name!r})"
    if n.type != "array":
        return f"{x} = {wrong}"
    dtype = w.hold(np.dtype(n.dtype))
    return f"if type({x}) is not ndarray or {x}.shape != {n.shape!r} or {x}.dtype is not {dtype}: {wrong}"


COUNT = [0]


def made(text: str, space: dict[str, Any], graph: Graph) -> Callable[..., Any]:
    """The function whose source is `text`."""
    COUNT[0] += 1
    filename = f"<graph of {graph.name}, {COUNT[0]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space["__name__"] = "graph"
    exec(compile(text, filename, "exec"), space)  # noqa: S102
    run: Callable[..., Any] = space["run"]
    return run


def ordinary(graph: Graph) -> Callable[..., Any]:
    """The graph as a function that can be recorded: it takes the arguments as they are, without looking at them."""
    ready()
    w = Writer(graph)
    w.followed = True
    head = entrance(graph, w)
    over = outlived(graph)
    for n in graph.nodes[len(graph.inputs) :]:
        if n.kind != "view":
            lower(n, w)
        if n.kind == "memory":  # at once: later it may hold recorded values
            for look in graph.nodes:
                if look.kind == "view" and look.parents[0] == n.number:
                    lower(look, w)
        if n.number in over:
            w.put(f"del {', '.join(map(w.name, over[n.number]))}")
    w.put(f"return {w.form(graph.result)}")
    text = "\n    ".join([f"def run({head}):", *w.lines])
    return made(text + "\n", w.space, graph)


def outlived(graph: Graph) -> dict[int, list[int]]:
    """Broadcast arrays and what is made of them, by the node that reads them last: while a broadcast view is held, what
    it shows cannot be written, and the function itself holds none of its temporaries."""
    last: dict[int, int] = {}
    wide: set[int] = set()
    for n in graph.nodes:
        last |= dict.fromkeys([link.number for link in links((n.args, n.kwargs))], n.number)
        if n.type in ("array", "tuple") and (n.operation in BROADCASTS or wide.intersection(n.parents)):
            wide.add(n.number)
    over: dict[int, list[int]] = {}
    for number in sorted(wide.difference([link.number for link in links(graph.result)])):
        over.setdefault(last.get(number, number), []).append(number)
    return over


def entrance(graph: Graph, w: Writer, words: Collection[str] = ()) -> str:
    """The parameters as text, and lines that take the inputs out of them. None is one of `words`: where the function
    has one so called, the positional ones get other names, and those by keyword are taken from a dict."""
    names, named = graph.signature, list(graph.kwargs)
    w.mark = ""
    while any(re.fullmatch(rf"([a-z][0-9]+|inner_[0-9]+|given){w.mark}", x) for x in (*names, *named)):
        w.mark += "_"
    usable = all(x.isidentifier() and not keyword.iskeyword(x) and x not in words for x in names)
    if not usable or len({*names, *named}) < len(names) + len(named):
        names = [f"a{i}{w.mark}" for i in range(len(names))]
    by_name = not any(k in words for k in named)
    for form, name in zip(graph.args, names, strict=True):
        unpack(form, name, w)
    for k, form in graph.kwargs.items():
        unpack(form, k if by_name else f"given{w.mark}[{k!r}]", w)
    rest = ["*" if by_name else f"**given{w.mark}", *(named if by_name else ())] if named else []
    return ", ".join([*names, *rest])


def unpack(form: Any, text: str, w: Writer) -> None:
    """Lines that take the inputs out of an argument."""
    if type(form) is Link:
        w.put(f"{w.name(form.number)} = {text}")
    elif type(form) is Fields:
        for k, e in form.fields.items():
            unpack(e, f"{text}.{k}", w)
    elif isinstance(form, dict):
        for k, e in form.items():
            unpack(e, f"{text}[{w.form(k)}]", w)
    elif isinstance(form, (list, tuple)):
        for i, e in enumerate(form):
            unpack(e, f"{text}[{i}]", w)


__all__ = ["compiled", "lower", "operator", "ordinary"]
