"""Functions of numbers as kernels: one thread calls the function for one entry, with its derivatives.

Nothing here knows how source is found or what is recorded: `find(fn)` gives the syntax tree of a function, `look(x)`
the plain value of something with whether it is recorded. What a function takes from outside is read at each call.
"""

from __future__ import annotations

import builtins
import hashlib
import inspect
import types
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .cuda_text import indented
from .cuda_types import register
from .lifting_calls import name_of
from .lifting_code import Body
from .lifting_numbers import HELPERS
from .lifting_types import (
    PYTHON,
    Items,
    Missing,
    Thing,
    Type,
    Untranslatable,
    Value,
    joined,
    literal,
    valued,
    whole,
)

EMPTY = inspect.Parameter.empty
MOST = 1000  # translations that are kept


class Input(NamedTuple):
    """A number or table that a kernel gets: its text there, its type, and how it is found."""

    text: str
    type: Type
    path: tuple[Any, ...]
    table: bool = False
    recorded: int = -1  # the number of the differentiable argument that it is


class Table(NamedTuple):
    """Numbers by index."""

    type: Type
    length: Value
    text: str

    def read(self, i: str) -> str:
        return f"{self.text}[{i}]"


class Instance(NamedTuple):
    """A device function: its name, what it gives, and whether it may raise."""

    name: str
    result: Any
    raises: bool


class Translation(NamedTuple):
    """A function for arguments of certain types. `wanted`: what has to be found outside it for this to be right.
    `flagged`: whether the kernel says something that the host has to read."""

    text: str
    functions: dict[str, str]
    inputs: list[Input]
    main: Instance
    wanted: dict[Any, Any]
    flagged: bool
    digest: str


def step(x: Any, how: tuple[str, str], arguments: dict[str, Any]) -> Any:
    """One step on the way to what a function takes from outside."""
    kind, name = how
    if kind == "argument":
        return arguments[name]
    if kind == "attribute":
        return getattr(x, name)
    if hasattr(type(x), "__recorded__"):
        x = x.__wrapped__
    if kind == "default":
        return inspect.signature(x).parameters[name].default
    if name in x.__code__.co_freevars:
        return x.__closure__[x.__code__.co_freevars.index(name)].cell_contents
    return x.__globals__[name] if name in x.__globals__ else getattr(builtins, name)


def resolved(fn: Any, path: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
    return reduce(lambda x, how: step(x, how, arguments), path, fn)


def number_type(x: Any) -> Type | None:
    """The type of a plain number; None for anything else."""
    if type(x) in PYTHON:
        return PYTHON[type(x)] if type(x) is not int or whole(x) else None
    dtype = getattr(x, "dtype", None)
    if dtype is None or getattr(x, "ndim", 1) != 0 or dtype.kind not in "fiub" or dtype.char in "gG":
        return None
    return Type("numpy", np.dtype(dtype))


def table_type(x: Any) -> Type | None:
    """The type of the entries of a list, tuple or array of numbers."""
    if isinstance(x, (list, tuple)):
        found = {number_type(e) for e in x}
        return found.pop() if len(found) == 1 else None
    if getattr(x, "ndim", 0) == 1 and x.dtype.kind in "fiub" and x.dtype.char not in "eg":
        return Type("numpy", x.dtype)
    return None


class Unit:
    """A kernel that is being translated."""

    def __init__(self, find: Callable[[Any], Any], look: Callable[[Any], Any], active: int) -> None:
        self.find, self.look, self.active = find, look, active
        self.count = 0
        self.functions: dict[str, str] = {}
        self.bodies: list[str] = []
        self.instances: dict[Any, Instance] = {}
        self.calling: list[Any] = []
        self.inputs: list[Input] = []
        self.captured: dict[Any, Any] = {}
        self.wanted: dict[Any, Any] = {}
        self.raises = False

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def register(self, kind: Type) -> str:
        return register(kind.stored)

    # What is outside

    def named(self, path: tuple[Any, ...], fn: Any, name: str) -> Thing:
        """A name that is not local."""
        path = (*path, ("name", name))
        try:
            found = step(fn, path[-1], {})
        except (AttributeError, ValueError):
            raise Untranslatable(f"{name} is not defined", "Give it a value before the call.") from None
        self.wanted[path] = description(self.look, found)
        return Thing(found, path)

    def attribute(self, x: Thing, found: Any, name: str) -> Thing:
        if x.path is None:
            return Thing(found)
        path = (*x.path, ("attribute", name))
        self.wanted[path] = description(self.look, found)
        return Thing(found, path)

    def is_number(self, x: Any) -> bool:
        return number_type(self.look(x)[0]) is not None

    def captured_number(self, x: Thing) -> Value:
        found = self.captured.get(x.path)
        if isinstance(found, Value) and x.path is not None:
            return found
        plain, recorded = self.look(x.thing)
        kind = number_type(plain)
        if kind is None:
            what = "None" if x.thing is None else f"{type(plain).__name__} object"
            raise Untranslatable(f"{what} is used as a number", "Hand in numbers, or arrays of numbers.")
        if x.path is None:
            return Value(kind, literal(plain, kind.dtype), None, plain) if type(plain) in PYTHON else no_path()
        field, index = self.fresh("c"), -1
        if recorded and kind.dtype.kind == "f":
            index, self.active = self.active, self.active + 1
            kind = kind._replace(active=frozenset([index]))
        self.inputs.append(Input(field, kind, x.path, False, index))
        tangents = {index: literal(1, kind.dtype)} if index >= 0 else None
        value = self.captured[x.path] = Value(kind, f"k.{field}", tangents)
        self.wanted[x.path] = description(self.look, x.thing)
        return value

    def captured_table(self, x: Any) -> Table:
        if not isinstance(x, Thing) or x.path is None or isinstance(x.thing, (str, bytes)):
            raise Untranslatable("something is used as a table that is none", "Use a tuple, list or array of numbers.")
        key = ("table", x.path)
        if key not in self.captured:
            plain, recorded = self.look(x.thing)
            kind = table_type(plain)
            if recorded:
                raise Untranslatable("a recorded array is indexed for each entry", "Hand the values in as an argument.")
            if kind is None:
                reason = "a table has other entries than numbers of one type along one axis"
                raise Untranslatable(reason, "Use a tuple of floats, or an array with one axis.")
            field = self.fresh("t")
            self.inputs.append(Input(field, kind, x.path, True))
            self.captured[key] = Table(kind, Value(PYTHON[int], f"k.{field}_n"), f"k.{field}")
            self.wanted[x.path] = description(self.look, x.thing)
        found: Table = self.captured[key]
        return found

    # Calls

    def call(self, writer: Any, f: Thing, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a Python function, which becomes a function of the device."""
        try:
            bound = inspect.signature(f.thing).bind(*args, **kwargs).arguments
        except TypeError as error:
            raise Untranslatable(f"{name_of(f.thing)}: {error}", "Call it with the arguments it takes.") from None
        given = self.parameters(f, bound)
        instance = self.instance(f, given)
        results = leaves(instance.result)
        names = [[self.fresh("s") for _ in range(1 + len(kind.active))] for kind in results]
        for kind, row in zip(results, names, strict=True):
            for name in row:
                writer.emit(f"{self.register(kind)} {name} = 0;")
        texts = [t for x in given.values() for v in leaves(x) for t in v.texts()]
        writer.emit(f"{instance.name}({', '.join(['k', *texts, *[n for row in names for n in row], 'bad'])});")
        if instance.raises:
            writer.emit("if (bad) return;")
        values = [valued(t, row) for t, row in zip(results, names, strict=True)]
        return rebuilt(instance.result, iter(values))

    def parameters(self, f: Thing, bound: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, defaults among them."""
        given = {}
        for name, p in inspect.signature(f.thing).parameters.items():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise Untranslatable(f"{name_of(f.thing)} takes starred arguments", "Give it one parameter for each.")
            given[name] = bound.get(name, EMPTY)
            if given[name] is EMPTY:
                given[name] = Thing(p.default, None if f.path is None else (*f.path, ("default", name)))
                if self.is_number(p.default):
                    given[name] = self.captured_number(given[name])
        return given

    def instance(self, f: Thing, given: dict[str, Any]) -> Instance:
        """The device function for arguments of these types."""
        code = f.thing.__code__
        key = (code, f.path, tuple([(name, shape_of(x)) for name, x in given.items()]))
        if key not in self.instances:
            if code in self.calling:
                raise Untranslatable(f"{name_of(f.thing)} calls itself", "Write a loop.")
            if len(self.calling) > 20:
                raise Untranslatable("functions call each other too deeply", "Write fewer functions.")
            self.calling.append(code)
            self.instances[key] = self.body(f, given)
            self.calling.pop()
        return self.instances[key]

    def body(self, f: Thing, given: dict[str, Any]) -> Instance:
        outside, self.raises = self.raises, False
        declared: list[str] = []
        env = {name: self.parameter(x, declared) for name, x in given.items()}
        body = Body(self, f, self.find(f.thing), env)
        result = reduce(joined, [x for x, _ in body.returns]) if body.returns else Missing("is never given")
        if isinstance(result, Missing):
            reason = f"what {f.thing.__name__} gives {result.reason}"
            raise blamed(Untranslatable(reason, "Give a number on every way."), f)
        result = typed(result)
        outputs = []
        for n, kind in enumerate(leaves(result)):
            names = kind.names(f"r{n}")
            outputs += [f"{self.register(kind)}& {name}" for name in names]
            for x, slot in body.returns:
                body.lines = slot
                for name, text in zip(names, body.converted(leaves(x)[n], kind).texts(), strict=True):
                    body.emit(f"{name} = {text};")
                body.lines = []
        return self.defined(f, body, declared + outputs, result, outside)

    def defined(self, f: Thing, body: Body, declared: list[str], result: Any, outside: bool) -> Instance:
        name = self.fresh("".join(c if c.isascii() and c.isalnum() else "_" for c in f.thing.__name__) + "_")
        lines = "".join([f"{line}\n" for line in indented(flat([*body.declared, *body.written]))])
        parameters = ", ".join(["const Captured& k", *declared, "bool& bad"])
        self.bodies.append(f"__device__ __forceinline__ void {name}({parameters}) {{\n{lines}}}\n")
        raises, self.raises = self.raises, self.raises or outside
        return Instance(name, result, raises)

    def parameter(self, x: Any, declared: list[str]) -> Any:
        if isinstance(x, Items):
            return Items([self.parameter(e, declared) for e in x.items])
        if not isinstance(x, Value):
            return x
        name = self.fresh("a")
        value = valued(x.type, x.type.names(name))
        declared += [f"{self.register(x.type)} {t}" for t in value.texts()]
        return value


def no_path() -> Value:
    raise Untranslatable("a number is made in a way that cannot be followed", "Give it a name.")


def blamed(error: Untranslatable, f: Thing) -> Untranslatable:
    error.fn = f.thing
    return error


def flat(lines: Any) -> list[str]:
    return [line for x in lines for line in (flat(x) if isinstance(x, list) else [x])]


def leaves(x: Any) -> list[Any]:
    """The numbers of a value, or their types."""
    if isinstance(x, Items):
        return [v for e in x.items for v in leaves(e)]
    return [x] if isinstance(x, (Value, Type)) else []


def typed(x: Any) -> Any:
    if isinstance(x, Items):
        return Items([typed(e) for e in x.items])
    return x.type if isinstance(x, Value) else x


def rebuilt(x: Any, values: Any) -> Any:
    if isinstance(x, Items):
        return Items([rebuilt(e, values) for e in x.items])
    return next(values) if isinstance(x, Type) else x


def shape_of(x: Any) -> Any:
    """What of an argument decides about the text of a function."""
    if isinstance(x, Items):
        return tuple([shape_of(e) for e in x.items])
    return x.type if isinstance(x, Value) else (id(x.thing), x.path)


def description(look: Callable[[Any], Any], x: Any) -> Any:
    """What must stay as it is for a translation to hold: of numbers their type, of functions their code."""
    plain, recorded = look(x)
    kind = number_type(plain)
    if kind is not None:
        return "number", kind, recorded
    if hasattr(type(x), "__recorded__"):
        x = x.__wrapped__
    if isinstance(x, types.FunctionType):
        return "function", x.__code__
    if isinstance(x, (list, tuple, np.ndarray)) or hasattr(x, "layout"):
        return "table", table_type(plain), len(x) > 0
    if isinstance(x, (str, type(None), type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)):
        return "same", x
    return "object", type(x)  # of which only attributes are used, each of which is wanted too


TRANSLATIONS: dict[Any, list[Translation]] = {}


def translated(fn: Any, arguments: dict[str, Any], values: dict[str, Any], active: int, find: Any, look: Any) -> Any:
    """The translation of a function for `values`, its arguments as the kernel has them; found or made."""
    key = (fn.__code__, tuple([(name, shape_of(x) if isinstance(x, Value) else "") for name, x in values.items()]))
    for t in TRANSLATIONS.get(key, ()):
        try:
            if all(description(look, resolved(fn, path, arguments)) == want for path, want in t.wanted.items()):
                return t
        except (AttributeError, ValueError, KeyError):
            continue
    t = translation(fn, values, Unit(find, look, active))
    if len(TRANSLATIONS) >= MOST:
        TRANSLATIONS.clear()
    TRANSLATIONS.setdefault(key, []).insert(0, t)
    del TRANSLATIONS[key][8:]
    return t


def translation(fn: Any, values: dict[str, Any], unit: Unit) -> Translation:
    """The whole text of a function and what it calls."""
    for x in values.values():
        if isinstance(x, Thing):
            unit.wanted[x.path] = description(unit.look, x.thing)
    f = Thing(fn, ())
    main = unit.instance(f, unit.parameters(f, values))
    if not isinstance(main.result, Type):
        gives = "a tuple" if isinstance(main.result, Items) else "no number"
        reason = f"elementwise: the function gives {gives} for an entry, expected one number"
        raise blamed(Untranslatable(reason, "Call it for one number of the result at a time."), f)
    fields = "".join([
        f"    const {register(i.type.stored)}* {i.text}; long long {i.text}_n;\n" if i.table
        else f"    {register(i.type.stored)} {i.text};\n" for i in unit.inputs
    ])  # fmt: skip
    text = f"{HELPERS}struct Captured {{\n{fields}}};\n" + "".join(unit.bodies)
    digest = hashlib.sha256(text.encode()).hexdigest()
    flagged = unit.raises or main.result.kind == "mixed"
    return Translation(text, unit.functions, unit.inputs, main, unit.wanted, flagged, digest)

