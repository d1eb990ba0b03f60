"""What a function can do to the world around it: whether its effects can be seen by another call of it."""

from __future__ import annotations

import dis
import gc
import types
from typing import Any

import numpy as np

from .callables import library, standard, standard_file
from .eager import EAGER
from .leftovers import codes

EFFECTS = frozenset({
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "DELETE_SUBSCR", "LOAD_BUILD_CLASS", "IMPORT_STAR",
})  # fmt: skip
LOOKED_AT = 20_000
ATOMS = (int, float, complex, str, bytes, type(None), types.BuiltinFunctionType, types.CodeType, np.generic)
IDLE = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__", "__set_name__"})
KNOWN: dict[int, tuple[Any, bool]] = {}  # by id of a function's code


def effects(fn: types.FunctionType) -> bool:
    """Whether the code of a function sets anything that outlives a call, on any path; whether it is a coroutine."""
    code = fn.__code__
    found = KNOWN.get(id(code))
    if found is None or found[0] is not code:
        found = KNOWN[id(code)] = code, has_effects(code)
    return found[1]


def has_effects(code: types.CodeType) -> bool:
    outer = set(code.co_freevars)
    for c in codes(code):
        if c.co_flags & 0x380:  # coroutines
            return True
        for i in dis.get_instructions(c):
            if i.opname in EFFECTS or (i.opname in ("STORE_DEREF", "DELETE_DEREF") and i.argval in outer):
                return True
    return False


def reachable(roots: list[Any]) -> set[int] | None:
    """The ids of all objects that can be reached from some; None where these are too many to look through."""
    found = everything(roots)
    return None if found is None else {id(x) for x in found}


def everything(roots: list[Any]) -> list[Any] | None:
    seen = {id(x) for x in roots}
    todo = list(roots)
    for x in todo:
        if len(todo) > LOOKED_AT:
            return None
        for y in inside(x):
            if not isinstance(y, ATOMS) and id(y) not in seen:
                seen.add(id(y))
                todo.append(y)
    return todo


def inside(x: Any) -> list[Any]:
    """What an object refers to; nothing where that is not the user's."""
    kind = type(x)
    if issubclass(kind, types.FunctionType):
        if library(x.__module__) or standard(x.__module__):
            return list(x.__closure__ or ())  # a wrapper of the user's function
        names = {name for code in codes(x.__code__) for name in code.co_names}
        found = [x.__closure__, x.__defaults__, x.__kwdefaults__, vars(x)]
        return found + [x.__globals__[name] for name in names if name in x.__globals__]
    if issubclass(kind, types.ModuleType):
        return [] if x is EAGER or library(x.__name__) or standard(x.__name__) else list(vars(x).values())
    if issubclass(kind, type):
        return [] if library(x.__module__) or standard(x.__module__) else list(vars(x).values())
    if kind is np.ndarray:
        return list(x.flat) if x.dtype.hasobject else []
    if kind.__module__.startswith("autograd_frontend"):
        return [x.__wrapped__] if hasattr(kind, "__recorded__") else []
    return gc.get_referents(x)


def active(roots: list[Any]) -> bool:
    """Whether an object that can be reached from some may change by being looked at: an iterator, or one that runs code
    of the user's when it is compared, added, printed, ...; whether these are too many to look through."""
    found = everything(roots)
    return found is None or any(hasattr(kind, "__next__") or runs_code(kind) for kind in {type(x) for x in found})


def runs_code(kind: type) -> bool:
    return any(
        name[:2] == name[-2:] == "__" and name not in IDLE and isinstance(f, types.FunctionType)
        and f.__code__.co_filename != "<string>" and not standard_file(f.__code__.co_filename)  # not a dataclass's
        for base in kind.__mro__ if not library(base.__module__) and not standard(base.__module__)
        for name, f in vars(base).items()
    )  # fmt: skip
