"""What `print` shows of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import Fields
from .nodes import Graph, Ignored, Link, Node, Part

SHOWN = 60  # characters of a setting


def typed(n: Node) -> str:
    """The type of a value: `float64[3, 2]`, `float64` of a NumPy scalar, `float` of a Python number."""
    if n.type == "array":
        return f"{n.dtype}[{', '.join(map(str, n.shape))}]"
    return n.dtype or {"tuple": f"tuple of {n.shape[0] if n.shape else 0}", "none": "nothing"}[n.type]


def written(form: Any) -> str:
    """A form as it is read."""
    kind = type(form)
    if kind is Link:
        return f"%{form.number}"
    if kind is Part:
        return f"{written(form.link)}[{form.which}]"
    if kind is Ignored:
        return "_"
    if kind is slice:
        parts = ["" if e is None else written(e) for e in (form.start, form.stop, form.step)]
        return ":".join(parts[:2] if not parts[2] else parts)
    if kind is Fields:
        return f"{form.kind.__name__}({', '.join(f'{k}={written(e)}' for k, e in form.fields.items())})"
    if kind is list:
        return f"[{', '.join(map(written, form))}]"
    if isinstance(form, tuple):
        return f"({', '.join(map(written, form))}{',' * (len(form) == 1)})"
    if kind is dict:
        return f"{{{', '.join(f'{k!r}: {written(e)}' for k, e in form.items())}}}"
    if form is Ellipsis:
        return "..."
    text = form.__name__ if isinstance(form, type) else str(form) if isinstance(form, np.generic) else repr(form)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def key(form: Any) -> str:
    return ", ".join(map(written, form)) if type(form) is tuple and form else written(form)


def given(n: Node) -> str:
    """The operation of a node and what it is given."""
    if n.kind == "getitem":
        return f"{written(n.args[0])}[{key(n.args[1])}]"
    if n.kind == "setitem":
        return f"{written(n.args[0])}[{key(n.args[1])}] = {written(n.args[2])}"
    if n.kind == "const":
        return f"const {np.array2string(n.payload, threshold=4, edgeitems=2, separator=', ').replace(chr(10), '')}"
    if n.kind == "part":
        return f"{written(n.args[0])}[{n.args[1]}]"
    arguments = [written(x) for x in n.args] + [f"{k}={written(x)}" for k, x in n.kwargs.items()]
    return f"{n.operation}({', '.join(arguments)})" if n.kind != "input" else "input"


def where(n: Node) -> str:
    """The line of the source that a node is from."""
    if n.place is None or not n.place.line:
        return ""
    text = n.place.text.strip()
    return f"# line {n.place.line}" + (f": {text}" if text else "")


def line_of(n: Node, name: str = "") -> str:
    label = name or n.name
    head = f"%{n.number}" + (f" {label}" if label else "")
    if n.type == "none":
        return f"{head}: {given(n)}"
    return f"{head}: {'data ' if n.data else ''}{typed(n)} = {given(n)}"


def text(graph: Graph) -> str:
    """One line for every node: its number, the name it is bound to, its type, the operation and the source line."""
    rows = [(line_of(n, graph.parameters.get(n.number, "")), where(n)) for n in graph.nodes]
    width = min(max((len(left) for left, _ in rows), default=0), 72)
    lines = [f"  {left.ljust(width)}  {right}".rstrip() for left, right in rows]
    return "\n".join([f"graph of {graph.name}", *lines, f"  return {written(graph.result)}"])
