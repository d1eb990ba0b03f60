"""Source to program: the same Python with every operation a call on `ops`, the first parameter of the new function.

Which `ops` is bound decides what the program does. See writer.py for the table of constructs, recipe.py for the check
that each rewrite reads back as the function, source.py for where functions come from.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import re
import threading
import types
from collections.abc import Iterator

from . import reading, recipe, source
from .errors import Place, RecordError
from .reach import reach


class Program:
    """A rewritten function. source: its text; code: of the function; reaching: the same, where attributes and `with`
    blocks ask `ops` too; filename, line: of the original."""

    __slots__ = ("code", "filename", "line", "original", "reaching", "source")

    def __init__(
        self, text: str, code: types.CodeType, reaching: types.CodeType, original: types.CodeType
    ) -> None:
        self.source, self.code, self.original = text, code, original  # kept alive: both are known by their id
        self.reaching = reaching
        self.filename, self.line = original.co_filename, original.co_firstlineno

    def __repr__(self) -> str:
        return f"<program of {self.original.co_qualname}, {self.filename}:{self.line}>"


_PROGRAMS: dict[int, Program] = {}  # by id of the original code
_NAMES: dict[int, tuple[types.CodeType, dict[reading.Span, ast.AST]]] = {}  # by id of each code object of a program
_SITES: list[tuple[str, reading.Site]] = [("", (0, "", None, ""))]
_LOCK = threading.Lock()


def program_of(fn: types.FunctionType) -> Program:
    """The program of a function, made at the first call for its code. RecordError where there can be none."""
    if not isinstance(fn, types.FunctionType):
        name = getattr(fn, "__qualname__", repr(fn))
        raise RecordError(f"{name} has no Python source to rewrite", None, "Wrap it in a Python function.")
    program = _PROGRAMS.get(id(fn.__code__))
    if program is None:
        with _LOCK:
            program = _PROGRAMS.get(id(fn.__code__))
            if program is None:
                program = _PROGRAMS[id(fn.__code__)] = _rewrite(fn)
    return program


def bind(fn: types.FunctionType, ops: object) -> types.MethodType:
    """The program of `fn` run under `ops`: with the globals, cells and defaults of `fn` themselves."""
    program = program_of(fn)
    code = program.reaching if hasattr(ops, "attribute") else program.code
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    new = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    new.__kwdefaults__ = fn.__kwdefaults__
    new.__qualname__, new.__doc__, new.__module__ = fn.__qualname__, fn.__doc__, fn.__module__
    return types.MethodType(new, ops)


def is_program(code: types.CodeType) -> bool:
    """Whether this is the code of a program or of a function inside one."""
    return id(code) in _NAMES


def place_of(site: int | tuple[types.CodeType, int]) -> Place:
    """Where a recorded operation stands: by its site, or by a code object and the offset of an instruction in it."""
    if isinstance(site, int):
        filename, (line, function, target, operation) = _SITES[site]
        return Place(filename, line, function, linecache.getline(filename, line), _text(target), operation)
    code, offset = site
    position = next(itertools.islice(code.co_positions(), max(offset, 0) // 2, None), (None, None, None, None))
    first, end, column, last = position
    line = first or code.co_firstlineno
    _, names = _NAMES.get(id(code), (code, {}))
    return source.place(code, line, _text(names.get((line, end, column or 0, last))))


def _text(target: ast.AST | None) -> str:
    return "" if target is None else ast.unparse(target)


def _rewrite(fn: types.FunctionType) -> Program:
    found = source.find(fn)
    try:
        text, tree, reader = _write(fn.__code__, found.text, found)
    except RecordError:
        raise
    except Exception:  # `return-x` has no room for a name after `return`; the normal form has
        try:
            text, tree, reader = _write(fn.__code__, _normal(found.node), found)
        except RecordError:
            raise
        except Exception as error:
            where = source.place(fn.__code__, fn.__code__.co_firstlineno)
            if isinstance(error, (RecursionError, MemoryError)) or "too many nested" in str(error):
                deep = "an expression is nested too deeply to be rewritten"
                raise RecordError(deep, where, "Split it into several statements.") from error
            remedy = "Please report this function."
            raise RecordError(f"internal error: it cannot be rewritten ({error})", where, remedy) from error
    code = source.compile_like(fn.__code__, tree)
    code = source.requalified(code, code.co_qualname, fn.__code__.co_qualname)
    local = {name for c in _codes(code) for name in (*c.co_varnames, *c.co_cellvars, *c.co_freevars)}
    reaching = source.compile_like(fn.__code__, reach(tree, reader.ops, fn, local))
    reaching = source.requalified(reaching, reaching.co_qualname, fn.__code__.co_qualname)
    _SITES.extend((found.filename, site) for site in reader.sites)
    for inner in (*_codes(code), *_codes(reaching)):
        _NAMES[id(inner)] = inner, reader.names
    return Program(text, code, reaching, fn.__code__)


def _write(code: types.CodeType, text: str, found: source.Source) -> tuple[str, source.Function, recipe.Reader]:
    """The text of the program and its tree, read back and with the positions and sites of the function."""
    from .writer import write

    words = set(re.findall(r"\w+", text))
    ops = next(name for name in _candidates() if name not in words or name not in _identifiers(found.node))
    written, temporaries = write(text, ops, words, _steady(code))
    parsed = ast.parse(written.strip()).body[0]
    tree = parsed.value if isinstance(parsed, ast.Expr) else parsed
    assert isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    reader = recipe.Reader(found.filename, ops, temporaries, len(_SITES))
    reader.read(found.node, tree)
    return written, tree, reader


def _normal(node: source.Function) -> str:
    return f"({ast.unparse(node)})" if isinstance(node, ast.Lambda) else ast.unparse(node)


def _candidates() -> Iterator[str]:
    yield "ops"
    yield from (f"ops_{number}" for number in itertools.count(1))


def _identifiers(node: ast.AST) -> set[str]:
    """Every name in a function: fields that are text and not a constant's value, alone or in lists."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Constant):
            for _, value in ast.iter_fields(inner):
                found.update(part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str))
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _codes(value)


def _steady(code: types.CodeType) -> set[str]:
    """Names that are plain local variables wherever they occur: no call can rebind them."""
    local: set[str] = set()
    shared: set[str] = set()
    for inner in _codes(code):
        local.update(inner.co_varnames)
        shared.update(inner.co_cellvars, inner.co_freevars, inner.co_names)
    return local - shared
