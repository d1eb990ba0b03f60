"""A graph as NumPy source that runs by itself."""

from __future__ import annotations

import base64
import builtins
import keyword
import re
import sys
from collections.abc import Hashable
from typing import Any

import numpy as np

from ..recording import refuse
from . import helpers
from .calls import NAMES
from .lower import Own, Writer, entrance, fresh, links_of, lower
from .nodes import Graph, Node
from .preamble import PREAMBLE
from .shapes import axes_of
from .text import typed

ndarray = np.ndarray
INLINE = 64  # entries of an array that are written out
WORDS = {"np", "scipy", "autograd_frontend", *PREAMBLE, *dir(builtins), *sys.stdlib_module_names}


def source(graph: Graph, gradient: bool = False) -> str:
    """The text of a module with one function, named as the graph is; with `gradient` that of value and gradient."""
    made = graph.gradient() if gradient else graph
    w = Source(made)
    text = w.function_of(made, identifier(made.name))
    heads = ["import numpy as np", *sorted(f"import {m}" for m in w.modules)]
    used = [PREAMBLE[name] for name in PREAMBLE if name in w.used]
    return "\n\n\n".join(["\n".join(heads), *used, *w.inner, text]) + "\n"


def identifier(name: str) -> str:
    word = re.sub(r"\W", "_", name)
    word = word if word.isidentifier() and not keyword.iskeyword(word) else "graph"
    return f"{word}_" if word in WORDS else word


class Source(Writer):
    """Lines that name nothing but modules, functions of the preamble and literals."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.modules: set[str] = set()
        self.used: set[str] = set()
        self.inner: list[str] = []

    def function_of(self, graph: Graph, name: str) -> str:
        outer, self.graph, self.lines, mark = (self.graph, self.lines), graph, [], self.mark
        head = entrance(graph, self, WORDS)
        for n in graph.nodes[len(graph.inputs) :]:
            start = len(self.lines)
            lower(n, self)
            self.comment(n, start)
        for link in links_of(graph.result):
            n = graph.nodes[link.number]
            if n.type == "array" and not fresh(n, graph):
                self.put(f"{self.name(n.number)} = {self.name(n.number)}.copy('K')")
        lines = [f"def {name}({head}):", *self.lines, f"return {self.form(graph.result)}"]
        (self.graph, self.lines), self.mark = outer, mark
        return "\n    ".join(lines)

    def comment(self, n: Node, start: int) -> None:
        """What the value is, and where it comes from."""
        where = f", line {n.line}" if n.line else ""
        name = f" {n.name}" if n.name.isidentifier() else ""
        if len(self.lines) > start and n.type != "none":
            self.lines[-1] += f"  # {typed(n)}{name}{where}"

    def hold(self, x: Any, prefix: str = "k") -> str:
        """The text of a thing."""
        if type(x) is ndarray:
            return self.array(x)
        if isinstance(x, np.dtype):
            return f"np.dtype({str(x)!r})"
        if isinstance(x, np.generic):
            text = str(x) if np.isfinite(x) else f"float('{x}')"
            return f"np.{type(x).__name__}({text if x.dtype.kind != 'f' or x.itemsize <= 8 else repr(text)})"
        if isinstance(x, (float, complex)):
            return f"float('{x}')" if isinstance(x, float) else f"complex({self.form(x.real)}, {self.form(x.imag)})"
        if type(x).__name__ in ("Fraction", "Decimal"):
            module = type(x).__module__
            self.modules.add(module)
            return f"{module}.{type(x).__name__}({str(x)!r})"
        if isinstance(x, (range, bytes)):
            return repr(x)
        return self.callable(x)

    def array(self, x: ndarray) -> str:
        axes = axes_of(x)
        x = x.transpose(axes)
        back = "" if axes == (*range(x.ndim),) else f".transpose({np.argsort(axes).tolist()!r})"
        if x.size > INLINE or not x.size or x.dtype.kind == "c" or x.dtype.itemsize > 8:
            self.modules.add("base64")
            text = base64.b64encode(x.tobytes()).decode()
            return f"np.frombuffer(base64.b64decode({text!r}), {str(x.dtype)!r}).reshape({x.shape!r}){back}"
        text = repr(x.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({text}, {str(x.dtype)!r}){back}"

    def callable(self, f: Any) -> str:
        name = getattr(f, "__name__", "")
        if getattr(getattr(f, "__self__", None), "payload_of", None) or isinstance(getattr(f, "__self__", None), Graph):
            return self.sub(f.__self__)
        if isinstance(f, type) and issubclass(f, np.generic):
            return f"np.{name}"
        if f is ndarray:
            return "np.ndarray"
        if isinstance(f, type) and f in (float, int, bool, complex, slice):
            return name
        if isinstance(f, type) and hasattr(f, "_fields"):
            return self.namedtuple(f)
        if name in PREAMBLE and getattr(helpers, name, None) is f:
            self.needs(name)
            return name
        path = "numpy.zeros" if f is np.zeros else NAMES.get(f, "") if isinstance(f, Hashable) else ""
        if not path or f is Own:
            raise refuse(f"{name or type(f).__name__} cannot be written as NumPy source", "Use functions of NumPy's.")
        module, _, last = path.rpartition(".")
        if module == "builtins":
            return last
        if path.startswith("numpy."):
            return f"np.{path[6:]}"
        while module not in sys.modules:
            module = module.rpartition(".")[0]
        self.modules.add(module)
        return path

    def needs(self, name: str) -> None:
        self.used.add(name)
        for other in PREAMBLE:
            if other != name and re.search(rf"\b{other}\(", PREAMBLE[name]) and other not in self.used:
                self.needs(other)

    def namedtuple(self, kind: Any) -> str:
        self.modules.add("collections")
        return f"collections.namedtuple({kind.__name__!r}, {kind._fields!r})"

    def sub(self, graph: Graph) -> str:
        """The name of a function written before this one."""
        name = f"inner_{len(self.inner)}"
        self.inner.append("")
        self.inner[int(name[6:])] = self.function_of(graph, name)
        return name
