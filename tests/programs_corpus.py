"""Real functions to mutate: each one alone, as a small module of its own with what it needs from its file."""

from __future__ import annotations

import ast
import functools
import hashlib
import linecache
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .programs_mutate import HELPERS

HERE = Path(__file__).parent
CASES = HERE / "cases"
LEFT_OUT = {"run_cases.py", "devices.py", "conftest.py", "__init__.py"}


@dataclass(frozen=True)
class Unit:
    """A function of a file: `text` binds FUNCTION, ARGS and KWARGS; `args` replaces ARGS."""

    name: str
    text: str
    args: Callable[[], tuple[Any, ...]] | None = None

    def __repr__(self) -> str:
        return self.name


def load(text: str) -> dict[str, Any]:
    """The namespace of a module made of `text`, its source where `inspect` finds it."""
    filename = f"<mutant {hashlib.sha1(text.encode()).hexdigest()[:12]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"__name__": "mutant", "__file__": str(HERE / "mutant.py")}
    sys.modules.setdefault("mutant", types.ModuleType("mutant"))  # dataclasses look there
    exec(compile(text, filename, "exec"), space)  # noqa: S102
    return space


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def bound_by(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def needed(body: list[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements that bind `names` or change what they stand for, and what those need in turn."""
    kept: set[int] = set()
    known: set[str] = set()
    while names - known:
        name = min(names - known)
        known.add(name)
        for place, node in enumerate(body):
            changes = isinstance(node, (ast.Assign, ast.Expr, ast.AugAssign, ast.FunctionDef)) and (
                name in names_in(node.targets[0] if isinstance(node, ast.Assign) else node)
                if not isinstance(node, ast.FunctionDef)
                else any(name in names_in(d) for d in node.decorator_list if not is_case(d))
            )
            if place not in kept and (name in bound_by(node) or changes):
                kept.add(place)
                names = names | names_in(node)
    return [body[place] for place in sorted(kept)]


def is_case(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "case"


def module(body: list[ast.stmt], function: str, args: str, kwargs: str = "{}") -> str:
    end = ast.parse(f"FUNCTION = {function}\nARGS = {args}\nKWARGS = {kwargs}").body
    names = set().union(*map(names_in, end))
    kept = needed(body, names)
    return HELPERS + "\n".join(map(ast.unparse, [*kept, *end])) + "\n"


def of_cases(path: Path) -> list[Unit]:
    """The cases of one file in tests/cases."""
    tree = ast.parse(path.read_text())
    found = []
    for node in tree.body:
        if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CASES"):
            continue
        for case in node.value.elts if isinstance(node.value, ast.List) else ():
            if not isinstance(case, ast.Dict):
                continue
            parts = {k.value: v for k, v in zip(case.keys, case.values) if isinstance(k, ast.Constant)}
            if "function" in parts and "args" in parts and "check" not in parts:
                texts = [ast.unparse(parts[k]) for k in ("function", "args")]
                kwargs = ast.unparse(parts["kwargs"]) if "kwargs" in parts else "{}"
                body = [n for n in tree.body if n is not node]
                found.append(Unit(f"{path.stem}/{ast.literal_eval(parts['name'])}", module(body, *texts, kwargs)))
    return found


def of_language(path: Path) -> list[Unit]:
    """The functions decorated with `@case(...)` in tests/language_*.py."""
    tree = ast.parse(path.read_text())
    body = [n for n in tree.body if not (isinstance(n, ast.ImportFrom) and n.level)]
    body.insert(0, ast.parse("VECTOR = np.array([1.3, 0.6, 2.2, 3.1])").body[0])
    cases = []
    for node in body:
        for decorator in getattr(node, "decorator_list", [])[:1]:
            if is_case(decorator):
                node.decorator_list = node.decorator_list[1:]  # type: ignore[attr-defined]
                cases.append((node.name, f"({''.join(ast.unparse(a) + ', ' for a in decorator.args)})"))  # type: ignore[attr-defined]
    return [Unit(f"{path.stem}/{name}", module(body, name, args)) for name, args in cases]


def of_objectives() -> list[Unit]:
    from .adbench import objectives as read

    tree = ast.parse(Path(read.__file__).read_text())
    loaders: dict[str, Callable[[], tuple[Any, ...]]] = {
        "gmm": read.read_gmm,
        "lstm": lambda: read.read_lstm(chars=8),
        "ba": lambda: read.read_ba(count=5),
        "hand": read.read_hand,
    }
    return [Unit(f"adbench/{k}", module(tree.body, k, "()"), functools.cache(f)) for k, f in loaders.items()]


def of_examples() -> list[Unit]:
    path = HERE.parent / "examples" / "digits.py"
    tree = ast.parse(path.read_text())
    rng = np.random.default_rng(3)

    def args() -> tuple[Any, ...]:
        return 0.1 * rng.normal(size=space["SIZE"]), rng.uniform(size=(6, 64)), np.array([0, 3, 9, 1, 1, 7])

    space = load(module(tree.body, "loss", "SIZE"))
    return [Unit("examples/digits", module(tree.body, "loss", "()"), functools.cache(args))]


@functools.cache
def units() -> tuple[Unit, ...]:
    """All functions of the corpus that load and run on their own."""
    found: list[Unit] = []
    for path in sorted(CASES.glob("*.py")):
        if path.name not in LEFT_OUT:
            found += of_cases(path)
    for path in sorted(HERE.glob("language_*.py")):
        found += of_language(path)
    return tuple(found + of_objectives() + of_examples())
