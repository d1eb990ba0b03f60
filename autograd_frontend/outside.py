"""What a function can do to the world around it: whether its effects can be seen by another call of it."""

from __future__ import annotations

import dis
import gc
import types
from typing import Any

from .callables import library, standard
from .leftovers import codes

EFFECTS = frozenset({
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "DELETE_SUBSCR", "LOAD_BUILD_CLASS", "IMPORT_STAR",
})  # fmt: skip
LOOKED_AT = 20_000
ATOMS = (int, float, complex, str, bytes, type(None), types.BuiltinFunctionType, types.CodeType)
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
    seen = {id(x) for x in roots}
    todo = list(roots)
    for x in todo:
        if len(todo) > LOOKED_AT:
            return None
        inside: list[Any]
        if isinstance(x, types.FunctionType):
            names = {name for code in codes(x.__code__) for name in code.co_names}
            inside = [x.__closure__, x.__defaults__, x.__kwdefaults__, vars(x)]
            inside += [x.__globals__[name] for name in names if name in x.__globals__]
        elif isinstance(x, types.ModuleType):
            inside = [] if library(x.__name__) or standard(x.__name__) else list(vars(x).values())
        elif isinstance(x, type):
            inside = [] if library(x.__module__) or standard(x.__module__) else list(vars(x).values())
        else:
            inside = gc.get_referents(x)
        for y in inside:
            if not isinstance(y, ATOMS) and id(y) not in seen:
                seen.add(id(y))
                todo.append(y)
    return seen
