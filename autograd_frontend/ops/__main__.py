"""Print `docs/operations.md`, or write it: `python -m autograd_frontend.ops --write`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from .. import ops
from .block import COMPOSED, OPERATIONS, Operation

FILE = Path(__file__).parents[2] / "docs" / "operations.md"
HEAD = """# Operations

Made from the blocks in `autograd_frontend/ops/` by `python -m autograd_frontend.ops --write`.

`g` is the cotangent of the result; a pullback is what `g` becomes for the operand. An operand is a number, an array or
a list of numbers, recorded or plain; settings, after the operands, are plain data. A rank-0 result is a NumPy scalar.

First the functions of `autograd_frontend.ops`, by family, then the ordinary functions that are recorded.

"""
ORDINARY = """## Ordinary functions

Functions, methods and operators of Python, NumPy and SciPy that have rules. What is not here is followed into its
Python source, if that is yours, or refused by name where a recorded value reaches it.

"""


def family(op: Operation) -> str:
    """The module that a block is in."""
    functions = (op.value, op.bind, *[rule.function for rule in op.pulls])
    return next(f.__module__ for f in functions if f is not None and not f.__module__.endswith(".interface"))


def families() -> dict[str, list[Operation]]:
    """The blocks by module, in the order they are defined in."""
    found: dict[str, list[Operation]] = {}
    for op in OPERATIONS.values():
        found.setdefault(family(op), []).append(op)
    return dict(sorted(found.items()))


def heading(module: str) -> tuple[str, str]:
    """The first sentence of a module's docstring, and the rest of it."""
    text = " ".join((sys.modules[module].__doc__ or module.rpartition(".")[2]).split())
    first, _, rest = text.partition(". ")
    return first.rstrip("."), rest


def call_of(op: Operation) -> str:
    f = op.function
    return f"{f.__name__}{inspect.signature(f)}"


def entry(op: Operation) -> str:
    """A public operation: its call, its docstring, and the ordinary functions that are recorded as it."""
    call = call_of(op)
    doc = inspect.cleandoc(op.doc)
    if doc.startswith(f"`{call}`: "):
        doc = doc[len(call) + 4 :]
    others = [f"`{path}`" for path in shown(op)]
    also = f"\n\nAlso recorded as it: {', '.join(others)}." if others else ""
    return f"#### `{call}`\n\n{doc}{also}\n"


def shown(op: Operation) -> list[str]:
    """The ordinary callables of an operation, as people write them."""
    return [path.removeprefix("builtins.") for path in op.calls if not path.startswith("autograd_frontend.")]


def public() -> str:
    parts = []
    for module, every in families().items():
        entries = [entry(op) for op in every if op.function is not None]
        if entries:
            title, rest = heading(module)
            parts.append(f"### {title}\n\n{rest}{chr(10) * 2 * bool(rest)}" + "\n".join(entries))
    return "\n".join(parts)


def ordinary() -> str:
    rows: dict[str, set[str]] = {}
    for module, every in families().items():
        rows.setdefault(module, set()).update(path for op in every for path in shown(op))
    for path, f in COMPOSED.items():
        if not f.__module__.startswith(ops.__name__):  # of the rules, not of people
            continue
        rows.setdefault(f.__module__, set()).add(path.removeprefix("builtins."))
    lines = ["| family | functions |", "| --- | --- |"]
    for module, paths in sorted(rows.items()):
        if paths:
            lines.append(f"| {heading(module)[0]} | {', '.join(f'`{path}`' for path in sorted(paths))} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    assert ops
    return HEAD + "## The functions of `ops`\n\n" + public() + "\n" + ORDINARY + ordinary()


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(document())
    else:
        print(document(), end="")
