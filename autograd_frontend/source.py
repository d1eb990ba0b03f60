"""Finds the source of a function, and proves it is: compiled in the same surroundings it gives the same code."""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import linecache
import os
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from tokenize import TokenError

from .errors import Place, RecordError

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)

FUTURES = 0
for _name in __future__.all_feature_names:
    FUTURES |= getattr(__future__, _name).compiler_flag

WRAPPER = "<wrapper>"  # no user can type this name, so it is found again in qualified names


@dataclass(frozen=True, slots=True)
class Source:
    """Where a function is written.

    text: the def (under an `if 1:` where it is indented, so that columns stay those of the file) or the lambda in
    parentheses. node: its syntax tree, positions those of the file.
    """

    text: str
    node: Function
    filename: str


def find(fn: types.FunctionType) -> Source:
    """The verified source of a function; RecordError where there is none, or none that fits."""
    code = fn.__code__
    if os.path.exists(code.co_filename):  # entries that were registered by hand have no file and must stay
        linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    if not lines:
        raise RecordError(
            f"{code.co_name} has no source to read, and recording rewrites the source",
            place(code, code.co_firstlineno),
            "Define it in a file or a notebook cell, or register the text given to exec in linecache.cache.",
        )
    found = _lambda(code, lines) if code.co_name == "<lambda>" else _def(code, lines)
    for source in found:
        if _same(fn, source, lines):
            return source
    raise RecordError(
        f"the source of {code.co_name} has changed since it was imported",
        place(code, code.co_firstlineno),
        "Import it again (or restart). A tool that alters code while importing has the same effect.",
    )


def written(code: types.CodeType) -> Function | None:
    """The def or lambda behind code that was compiled for a program, which has the positions of its file."""
    lines = linecache.getlines(code.co_filename)
    found = _lambda(code, lines) if code.co_name == "<lambda>" else _def(code, lines)
    return found[0].node if found else None


def place(code: types.CodeType, line: int, name: str = "") -> Place:
    """A line of a function, with its text."""
    return Place(code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line), name)


def _def(code: types.CodeType, lines: list[str]) -> list[Source]:
    start = code.co_firstlineno
    try:
        block = "".join(inspect.getblock(lines[start - 1 :]))
        source = _block(block, start, code.co_filename)
    except (SyntaxError, TokenError, IndexError):  # getblock stumbles over lambdas in decorators
        source = None
    if source is None or getattr(source.node, "name", "") != code.co_name:
        source = _def_in_file(code, lines)
    return [] if source is None else [source]


def _block(block: str, start: int, filename: str) -> Source | None:
    # Blank lines before it give the tree the line numbers of the file at no cost.
    indented = block[:1].isspace()
    text = "if 1:\n" + block if indented else block
    top = ast.parse("\n" * (start - 1 - indented) + text).body
    node = top[0].body[0] if isinstance(top[0], ast.If) and indented else top[0]
    return Source(text, node, filename) if isinstance(node, DEFS) else None


def _def_in_file(code: types.CodeType, lines: list[str]) -> Source | None:
    for node in _parsed(code.co_filename, lines)[1]:
        if not isinstance(node, ast.Lambda) and node.name == code.co_name and _start(node) == code.co_firstlineno:
            block = "".join(lines[_start(node) - 1 : node.end_lineno])
            return _block(block if block.endswith("\n") else block + "\n", _start(node), code.co_filename)
    return None


def _start(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


def _lambda(code: types.CodeType, lines: list[str]) -> list[Source]:
    """The lambdas on the line whose body spans every instruction of the code, innermost first."""
    spans = [(a, b, c, d) for a, c, b, d in code.co_positions() if a and c and b is not None and d]
    found: list[tuple[int, Source]] = []
    for node in _parsed(code.co_filename, lines)[1]:
        if not isinstance(node, ast.Lambda) or node.lineno != code.co_firstlineno:
            continue
        body, end, last = node.body, node.end_lineno or node.lineno, node.end_col_offset or 0
        first, final = (body.lineno, body.col_offset), (end, last)
        if all(first <= (a, b) and (c, d) <= final for a, b, c, d in spans):
            rows = [row.encode() for row in lines[node.lineno - 1 : end]]
            rows[-1] = rows[-1][:last]
            rows[0] = rows[0][node.col_offset :]
            text = b"".join(rows).decode(errors="replace")
            found.append((len(text), Source(f"({text})", node, code.co_filename)))
    return [source for _, source in sorted(found, key=lambda pair: pair[0])]


File = tuple[list[str], list[Function], set[str]]
_FILES: dict[str, File] = {}


def _parsed(filename: str, lines: list[str]) -> File:
    """The lines, every def and lambda, and the names imported at the top; parsed once, as linecache keeps its lists."""
    cached = _FILES.get(filename)
    if cached is None or cached[0] is not lines:
        try:
            tree = ast.parse("".join(lines))
        except SyntaxError:
            return lines, [], set()
        functions = [node for node in ast.walk(tree) if isinstance(node, (*DEFS, ast.Lambda))]
        if len(_FILES) >= 16:  # trees are large
            _FILES.pop(next(iter(_FILES)))
        imported = {(name.asname or name.name).split(".")[0] for node in _top(tree) for name in node.names}
        cached = _FILES[filename] = lines, functions, imported
    return cached


def _top(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif not isinstance(node, (*DEFS, ast.Lambda, ast.ClassDef, ast.expr)):
            yield from _top(node)


# Compiling in the same surroundings


def compile_like(code: types.CodeType, node: Function, imported: Iterable[str] = ()) -> types.CodeType:
    """Compiles a function as `code` was: its free variables are free, its class mangles names and gives `__class__`.

    Defaults, decorators and annotations belong to the function object and are left out.
    """
    free = [name for name in code.co_freevars if name != "__class__" and name.isidentifier()]
    within = _class_name(code)
    lines = [f"import _ as {name}" for name in imported]
    lines += ["def _():", f" {' = '.join([*free, '_____'])} = None", f" class {within}: 0" if within else " if 1: 0"]
    wrapper = ast.parse("\n".join(lines))
    outer, bare = wrapper.body[-1], _bare(node)
    assert isinstance(outer, ast.FunctionDef)
    outer.name, holder = WRAPPER, outer.body[-1]
    assert isinstance(holder, (ast.ClassDef, ast.If))
    holder.body = [bare if isinstance(bare, ast.stmt) else ast.copy_location(ast.Expr(bare), bare)]
    flags = code.co_flags & FUTURES
    compiled: types.CodeType = compile(wrapper, code.co_filename, "exec", flags=flags, dont_inherit=True)
    for _ in range(3 if within else 2):
        compiled = next(inner for inner in compiled.co_consts if isinstance(inner, types.CodeType))
    return compiled.replace(co_name=code.co_name)


def _class_name(code: types.CodeType) -> str:
    """The innermost class around the function, with underscores: they mangle as it does and hide no other name."""
    parts = code.co_qualname.split(".")
    classes = [part for part, after in zip(parts, parts[1:], strict=False) if part != "<locals>" != after]
    if classes and classes[-1].isidentifier():
        return "_____" + classes[-1]
    return "_____" if "__class__" in code.co_freevars else ""


def _bare(node: Function) -> Function:
    bare = copy.copy(node)
    args = bare.args = copy.copy(node.args)
    plain = ast.copy_location(ast.Constant(None), node)
    args.posonlyargs, args.args, args.kwonlyargs = (
        [_unannotated(arg) for arg in group] for group in (args.posonlyargs, args.args, args.kwonlyargs)
    )
    args.vararg, args.kwarg = args.vararg and _unannotated(args.vararg), args.kwarg and _unannotated(args.kwarg)
    args.defaults = [plain for _ in args.defaults]
    args.kw_defaults = [default and plain for default in args.kw_defaults]
    if not isinstance(bare, ast.Lambda):
        bare.name, bare.returns = WRAPPER, None  # a name that hides no global variable
        # one in the place of each decorator: the first one's line is where the code starts
        bare.decorator_list = [ast.copy_location(ast.Constant(None), old) for old in bare.decorator_list]
        if hasattr(bare, "type_params"):
            bare.type_params = []  # pyright: ignore[reportAttributeAccessIssue]
    return bare


def _unannotated(arg: ast.arg) -> ast.arg:
    return ast.copy_location(ast.arg(arg.arg), arg)


# Comparing


def _same(fn: types.FunctionType, source: Source, lines: list[str]) -> bool:
    weak = "@py_builtins" in fn.__globals__ and any(isinstance(node, ast.Assert) for node in ast.walk(source.node))
    equal = _equal_signatures if weak else _equal  # pytest has rewritten the asserts
    try:
        return any(
            equal(fn.__code__, compile_like(fn.__code__, source.node, imported))
            for imported in _imports(fn, source, lines)
        )
    except (SyntaxError, ValueError):
        return False


def _imports(fn: types.FunctionType, source: Source, lines: list[str]) -> Iterator[set[str]]:
    """Guesses at which global names the compiler knew to be imported: it then compiles `np.exp(x)` differently.

    Modules; none (a notebook compiles each statement of a cell alone); what the file itself imports.
    """
    calls = [node.func for node in ast.walk(source.node) if isinstance(node, ast.Call)]
    owners = [func.value for func in calls if isinstance(func, ast.Attribute)]
    names = {owner.id for owner in owners if isinstance(owner, ast.Name)}
    yield {name for name in names if isinstance(fn.__globals__.get(name), types.ModuleType)}
    yield set()
    yield names & _parsed(source.filename, lines)[2]


def _equal_signatures(a: types.CodeType, b: types.CodeType) -> bool:
    return _signature(a) == _signature(b)


def _signature(code: types.CodeType) -> tuple[object, ...]:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    arguments = code.co_varnames[: counts[0] + counts[2]]
    return code.co_name, code.co_firstlineno, counts, arguments, code.co_flags & 0x2C, code.co_freevars


def _equal(a: types.CodeType, b: types.CodeType) -> bool:
    return (
        _signature(a) == _signature(b)
        and (a.co_code, a.co_names, a.co_varnames) == (b.co_code, b.co_names, b.co_varnames)
        and a.co_cellvars == b.co_cellvars
        and len(a.co_consts) == len(b.co_consts)
        and all(map(_equal_constants, a.co_consts, b.co_consts))
    )


def _equal_constants(a: object, b: object) -> bool:
    """Equal with their types: 1, 1.0 and True differ, and so do 0.0 and -0.0. Qualified names may differ."""
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return _equal(a, b)
    if isinstance(b, str) and b.startswith(WRAPPER):
        return isinstance(a, str)
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return sorted(map(repr, _items(a))) == sorted(map(repr, _items(b)))
    return type(a) is type(b) and repr(a) == repr(b)


def _items(values: frozenset[object]) -> Iterator[object]:
    yield from values


def requalified(code: types.CodeType, old: str, new: str) -> types.CodeType:
    """The code and all code in it with qualified names under `new` in place of `old`."""

    def renamed(value: object) -> object:
        if isinstance(value, types.CodeType):
            return requalified(value, old, new)
        return new + value[len(old) :] if isinstance(value, str) and value.startswith(old) else value

    name = code.co_qualname
    return code.replace(
        co_consts=tuple(map(renamed, code.co_consts)),
        co_qualname=new + name[len(old) :] if name.startswith(old) else name,
    )
