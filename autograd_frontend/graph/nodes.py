"""What a graph is made of: inputs, nodes, and the forms that calls, arguments and results have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import GraphError, Place

ndarray = np.ndarray
TYPES = ("array", "scalar", "number", "tuple", "none")  # NumPy's arrays and scalars, Python's numbers, several results
NUMBERS = ("float", "int", "bool", "complex", "Fraction", "Decimal")  # what the dtype of a number may be


class Link(NamedTuple):
    """A node, where a call names it."""

    number: int


class Part(NamedTuple):
    """One of the by-products of an operation, which only the rules of its derivative read."""

    link: Link
    which: int


class Ignored(NamedTuple):
    """An argument that may be anything: the cotangent of data."""


IGNORED = Ignored()


@dataclass(frozen=True)
class Spec:
    """Shape and dtype of an argument that is not at hand; without `dtype` a Python float."""

    shape: tuple[int, ...]
    dtype: Any


def spec(shape: Any = (), dtype: Any = np.float64) -> Spec:
    """What an argument of `f.graph` will be: an array of this shape and dtype. Floating arrays are differentiable,
    integers and booleans are data. `spec((), float)` is a Python float, `spec((), np.float64)` NumPy's."""
    extents = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in extents):
        raise TypeError(f"spec: shape is {shape!r}, expected whole numbers from 0 up")
    if dtype is float and not extents:
        return Spec((), float)
    kind = np.dtype(dtype)
    if kind.kind not in "fiub":
        raise TypeError(f"spec: dtype is {kind}, expected a floating, integer or boolean type")
    return Spec(tuple(int(n) for n in extents), kind)


@dataclass(slots=True)
class Node:
    """One step of a graph.

    `kind` says how it is lowered, `operation` what it is called, `target` what runs: the path of a callable, the name
    of a method or an attribute, an operator. `args` and `kwargs` are what it is given: `Link`s to earlier nodes, and
    settings. `type`, `shape` and `dtype` describe the result; `data` says that no derivative goes through it.
    """

    number: int
    kind: str
    operation: str
    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    type: str
    shape: tuple[int, ...]
    dtype: str
    data: bool = False
    payload: Any = None
    place: Place | None = None
    function: Callable[..., Any] | None = field(default=None, compare=False)  # of the user's, which has no path

    @property
    def parents(self) -> tuple[int, ...]:
        """The nodes whose values it is given, in order."""
        return tuple([link.number for link in links((self.args, self.kwargs))])

    @property
    def attributes(self) -> dict[str, Any]:
        """The settings: what the call is given that is no node, by position or keyword."""
        found = {str(i): x for i, x in enumerate(self.args) if next(links(x), None) is None}
        return found | {k: x for k, x in self.kwargs.items() if next(links(x), None) is None}

    @property
    def name(self) -> str:
        """The name that the value is bound to in the source."""
        return self.place.name if self.place else ""

    @property
    def line(self) -> int:
        """The line of the source, 0 where there is none."""
        return self.place.line if self.place else 0

    def __repr__(self) -> str:
        from .text import line_of

        return line_of(self)


def links(form: Any) -> Iterator[Link]:
    """The nodes named in a form, in order."""
    if type(form) is Link:
        yield form
    elif isinstance(form, (tuple, list)):
        for e in form:
            yield from links(e)
    elif isinstance(form, dict):
        for e in form.values():
            yield from links(e)
    elif type(form) is slice:
        yield from links((form.start, form.stop, form.step))


def replaced(form: Any, f: Callable[[Link], Any]) -> Any:
    """A form with `f(link)` in place of its links."""
    kind = type(form)
    if kind is Link:
        return f(form)
    if kind is list:
        return [replaced(e, f) for e in form]
    if kind is tuple:
        return tuple([replaced(e, f) for e in form])
    if isinstance(form, tuple) and hasattr(form, "_fields"):
        return kind(*[replaced(e, f) for e in form])
    if kind is dict:
        return {k: replaced(e, f) for k, e in form.items()}
    return form


class Graph:
    """A function as typed nodes.

    `nodes`: the inputs first. `args` and `kwargs` are the arguments of the function, `Link`s where an input goes;
    everything else in them is fixed. `result` is what it returns.
    """

    __slots__ = ("nodes", "args", "kwargs", "result", "name", "parameters", "signature", "_made")

    def __init__(
        self, nodes: list[Node], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, name: str,
        parameters: dict[int, str], signature: list[str],
    ) -> None:  # fmt: skip
        self.nodes, self.args, self.kwargs, self.result = nodes, args, kwargs, result
        self.name = name
        self.parameters = parameters  # what the inputs are called
        self.signature = signature  # what the positional arguments are called
        self._made: dict[str, Any] = {}

    @property
    def inputs(self) -> list[Node]:
        return [n for n in self.nodes if n.kind == "input"]

    def check(self) -> None:
        """Raise GraphError, with the node and what was expected, unless this is a graph that can be run."""
        from .checks import check

        check(self)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The value of the function. The arguments have the structure, shapes and dtypes the graph was built for."""
        run = self._made.get("run")
        if run is None:
            run = self._made["run"] = self.compiled()
        if kwargs or len(args) != len(self.args):
            args, kwargs = self.arranged(args, kwargs)
        return run(*args, **kwargs)

    def arranged(self, args: Any, kwargs: Any) -> Any:
        from .arguments import arranged

        return arranged(self, args, kwargs)

    def compiled(self) -> Callable[..., Any]:
        from .lower import compiled

        return compiled(self)

    def function(self) -> Callable[..., Any]:
        """The graph as an ordinary function, whose source is that of its nodes."""
        f: Callable[..., Any] | None = self._made.get("function")
        if f is None:
            from .lower import ordinary

            f = self._made["function"] = ordinary(self)
        return f

    def vjp(self, *args: Any, **kwargs: Any) -> Any:
        """`value, pull = graph.vjp(*args)`, as `vjp(f, *args)`."""
        from ..transforms import vjp

        args, kwargs = self.arranged(args, kwargs)
        self.fitting(args, kwargs)
        return vjp(self.function(), *args, **kwargs)

    def jvp(self, args: Any, tangents: Any) -> tuple[Any, Any]:
        """`value, tangent = graph.jvp(args, tangents)`, as `jvp(f, args, tangents)`. Of a graph built with keywords,
        these arguments come after the others, in the order they were given in."""
        from ..jacobians import jvp, sequence

        self.fitting(*self.arranged(sequence("args", args), {}))
        return jvp(self.positional().function(), args, tangents)

    def positional(self) -> Graph:
        """The same graph, with all arguments by position."""
        if not self.kwargs:
            return self
        args, signature = (*self.args, *self.kwargs.values()), [*self.signature, *self.kwargs]
        return Graph(self.nodes, args, {}, self.result, self.name, self.parameters, signature)

    def fitting(self, args: Any, kwargs: Any) -> None:
        """Raise TypeError or ValueError unless these are arguments that the graph was built for."""
        from .arguments import check_arguments

        check_arguments(self, args, kwargs)

    def gradient(self) -> Graph:
        """The graph of value and gradient: of the same arguments, and a cotangent of the value as the last one."""
        from .gradient import gradient

        return gradient(self)

    def to_python(self, gradient: bool = False) -> str:
        """The graph as NumPy source that runs by itself; with `gradient` that of value and gradient."""
        from .source import source

        return source(self, gradient)

    def save(self, path: Any) -> None:
        """Write the graph to a file. No code is in it, and nothing of pickle's."""
        from .files import save

        save(self, path)

    @staticmethod
    def load(path: Any) -> Graph:
        """Read a graph that was saved. A file that is damaged, too large or made up raises GraphError."""
        from .files import load

        return load(path)

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        from .text import text

        return text(self)

    def __repr__(self) -> str:
        return f"<graph of {self.name}, {len(self.nodes)} nodes, {len(self.inputs)} of them inputs>"


__all__ = ["Graph", "GraphError", "Link", "Node", "Spec", "spec"]
