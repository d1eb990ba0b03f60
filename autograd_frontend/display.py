"""What print and Jupyter show of recordings."""

from __future__ import annotations

import html
from typing import Any

from .rewrite import place_of
from .tape import Pair, Scalar

SHOWN = 50  # rows of a tape, at its beginning and at its end


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def state_of(nodes: int | None) -> str:
    return "closed" if nodes is None else f"open, {nodes} node{'s' * (nodes != 1)}"


def result_text(value: Any, device: str, nodes: int | None) -> str:
    state = state_of(nodes)
    return f"<Result {shown(value)} on {device}, {state}>"


def table(rows: list[tuple[str, ...]], head: tuple[str, ...]) -> str:
    """A plain HTML table; every cell is escaped."""
    cells = ["<tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in head) + "</tr>"]
    cells += ["<tr>" + "".join(f"<td><code>{html.escape(c)}</code></td>" for c in row) + "</tr>" for row in rows]
    return "<table>" + "".join(cells) + "</table>"


def result_html(value: Any, device: str, nodes: int | None) -> str:
    state = state_of(nodes)
    return table([("value", shown(value)), ("device", device), ("recording", state)], ("Result", ""))


def recorded_text(f: Any) -> str:
    name = getattr(f.__wrapped__, "__qualname__", repr(f.__wrapped__))
    code = getattr(f.__wrapped__, "__code__", None)
    where = f' from "{code.co_filename}", line {code.co_firstlineno}' if code else ""
    return f"<recorded function {name}{where}>"


def recorded_html(f: Any) -> str:
    try:
        source = f.source
    except Exception as error:
        source = f"{type(error).__name__}: {error}"
    return f"<p>{html.escape(recorded_text(f))}</p><pre>{html.escape(source)}</pre>"


class TapeView:
    """The nodes of a recording as a table: number, operation, inputs, name, line and source text."""

    head = ("node", "operation", "inputs", "name", "line", "text")

    def __init__(self, tape: Any, parts: Any) -> None:
        numbers: dict[int, str] = {}
        for name, part in parts:
            name_inputs(numbers, name, part)
        self.rows: list[tuple[str, ...]] = []
        for i, n in enumerate(tape):
            numbers[id(n)] = str(i)
            place = place_of(n.s)
            inputs = ", ".join(numbers.get(id(x), getattr(x, "op", "?")) for x in inputs_of(n))
            line, text = str(place.line or ""), place.text.strip()
            self.rows.append((str(i), operation_of(n, place.operation), inputs, place.name, line, text))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        rows = [self.head, *self.some()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.head))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        return table(self.some(), self.head)

    def some(self) -> list[tuple[str, ...]]:
        """All rows, or of a long tape the first and the last ones."""
        if len(self.rows) <= 2 * SHOWN:
            return self.rows
        left_out = ("...", f"{len(self.rows) - 2 * SHOWN} more", "", "", "", "")
        return [*self.rows[:SHOWN], left_out, *self.rows[-SHOWN:]]


def name_inputs(numbers: dict[int, str], name: str, part: Any) -> None:
    if hasattr(part, "ref"):
        ref = part.ref
        numbers[id(ref if type(ref) is Scalar else ref.n)] = name
    else:
        for key, inner in part.parts:
            name_inputs(numbers, f"{name}[{key!r}]", inner)


def inputs_of(n: Any) -> list[Any]:
    """The nodes that an operation read, views followed to the arrays they look at."""
    if type(n) is Scalar:
        found = [e[0] for e in n.a] if type(n.a) is list else [x for x in (n.a, n.b) if x is not None]
    elif type(n) is Pair:
        found = [x for x in (n.a, n.b) if x is not None]
    elif hasattr(n, "place"):
        found = [n.place] + ([n.value] if getattr(n, "value", None) is not None else [])
    else:
        found = [e[0] for e in n.edges]
    return [root(x) for x in found]


def root(x: Any) -> Any:
    while hasattr(x, "parent"):
        x = x.parent
    return x


def operation_of(n: Any, written: str) -> str:
    """The name of an operation: its own, or what the program calls it."""
    if type(n) is not Scalar:
        name: str = getattr(n.op, "name", n.op)
        return name
    if isinstance(n.pb, str):
        return n.pb
    return getattr(n.f, "op", "") or written or "linear"
