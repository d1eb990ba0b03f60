"""Recorded values that a function left where the caller sees them: in global variables, default arguments, attributes,
containers. When the recording ends they become what they stand for."""

from __future__ import annotations

import collections
import dis
import functools
import itertools
import types
from typing import Any

import numpy as np

from .arrays import REMOTE
from .callables import library, standard, standard_file
from .recording import HERE
from .tape import Ref, Tape
from .trees import is_record, like, outside

ATOMS = frozenset({float, int, bool, str, bytes, type(None), complex, np.float64, np.ndarray, range, slice, np.dtype,
                   types.ModuleType, types.BuiltinFunctionType, np.ufunc})  # fmt: skip
STORES = {"STORE_ATTR", "STORE_GLOBAL", "STORE_SUBSCR", "STORE_DEREF"}
KEEPS = set(
    "append appendleft extend extendleft insert add update setdefault put push heappush heapreplace heappushpop insort "
    "insort_left insort_right __setitem__ setattr __setattr__ send write register info debug warning error".split()
)
PLACES: dict[int, tuple[Any, bool, list[Any], list[tuple[dict[str, Any], str]]]] = {}  # by id of a function's code
ENDS = 256  # of a longer container only so many entries at either end are looked at
LOOKED_AT = 3000  # objects, of one call


def leaves_nothing(fn: Any) -> bool:
    """Whether it is known that a function, and those it names, store nothing anywhere."""
    found = PLACES.get(id(fn.__code__)) if type(fn) is types.FunctionType else None
    return found is not None and not found[1] and found[0] is fn.__code__


def tidy(fn: Any, args: Any, t: Tape) -> None:
    """Look through what `fn`, and the functions it names, can leave values in; not if none of them stores anything."""
    while type(fn) is types.FunctionType and fn.__code__.co_filename.startswith(HERE) and hasattr(fn, "__wrapped__"):
        fn = fn.__wrapped__  # a derivative of the user's function
    if leaves_nothing(fn):
        return
    todo: list[Any] = []
    for x in args:
        if type(x) not in ATOMS:
            todo.append(x)
    while not isinstance(fn, types.FunctionType):
        if isinstance(fn, types.MethodType):
            todo.append(fn.__self__)
            fn = fn.__func__
        elif isinstance(fn, functools.partial):
            todo += [fn.args, fn.keywords]
            fn = fn.func
        else:
            todo.append(fn)
            fn = getattr(type(fn), "__call__", None)  # noqa: B004
            if not isinstance(fn, types.FunctionType):
                break
    else:
        key = id(fn.__code__)
        found = PLACES.get(key)
        if found is None or found[0] is not fn.__code__:
            found = PLACES[key] = (fn.__code__, *places(fn))
        if not found[1]:
            return
        todo += found[2]
        if fn.__closure__ or fn.__defaults__ or fn.__kwdefaults__ or fn.__dict__:
            todo.append(fn)
        for space, name in found[3]:
            x = space.get(name)
            if is_ours(x):
                space[name] = out(x, t)
            elif type(x) not in ATOMS:
                todo.append(x)
    if todo:
        walk(todo, t)


def places(fn: types.FunctionType) -> tuple[bool, list[Any], list[tuple[dict[str, Any], str]]]:
    """Whether `fn`, or a function that it names, directly or through others, stores anything; the functions and classes
    among those with something in them to look through; and the other global variables."""
    keeps = False
    inside: list[Any] = []
    variables: list[tuple[dict[str, Any], str]] = []
    todo, seen = [fn], {id(fn)}
    while todo:
        f = todo.pop()
        if f is not fn and (f.__closure__ or f.__defaults__ or f.__kwdefaults__):
            inside.append(f)
        names = [name for code in codes(f.__code__) for name in code.co_names]
        keeps = keeps or not KEEPS.isdisjoint(names) or any(map(stores, codes(f.__code__)))
        for name in dict.fromkeys(names):
            x = f.__globals__.get(name)
            if id(x) in seen or isinstance(x, types.ModuleType):
                continue
            if isinstance(x, types.FunctionType):
                if mine(x):
                    seen.add(id(x))
                    todo.append(x)
                    variables.append((f.__globals__, name))
            elif isinstance(x, type):
                if not library(x.__module__) and not standard(x.__module__):
                    seen.add(id(x))
                    inside.append(x)
                    methods = [getattr(m, "__func__", m) for m in vars(x).values()]
                    todo += [m for m in methods if isinstance(m, types.FunctionType) and mine(m) and id(m) not in seen]
                    seen.update(map(id, todo))
            elif type(x) not in ATOMS or name in f.__globals__:
                variables.append((f.__globals__, name))
    return keeps, inside, variables


def stores(code: types.CodeType) -> bool:
    return any(i.opname in STORES for i in dis.get_instructions(code))


def codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for c in found:
        found += [x for x in c.co_consts if isinstance(x, types.CodeType)]
    return found


def mine(f: types.FunctionType) -> bool:
    """Whether a function is the user's."""
    return not library(f.__module__) and not standard(f.__module__) and not standard_file(f.__code__.co_filename)


def out(x: Any, t: Tape) -> Any:
    """A recorded value of this recording, or of one that is over, without its handle; an array of its device."""
    if type(x) in REMOTE:
        return x if t.device is None else outside(x, t)
    return outside(x, t) if x.t is t or not x.t.live else x


def is_ours(x: Any) -> bool:
    """Whether this is no value of the user's: a recorded one, or an array of a device."""
    return isinstance(x, Ref) or type(x) in REMOTE


def walk(todo: list[Any], t: Tape) -> None:
    """Replace recorded values in everything that can be reached."""
    seen: set[int] = set()
    for x in todo:
        if id(x) in seen:
            continue
        seen.add(id(x))
        if len(seen) > LOOKED_AT:
            return
        kind = type(x)
        if issubclass(kind, Tape):
            continue
        if issubclass(kind, dict):
            keys = list(x)
            keys = keys if len(keys) <= 2 * ENDS else keys[:ENDS] + keys[-ENDS:]
            for k in keys:
                v = dict.__getitem__(x, k)
                if type(v) not in ATOMS and (new := plain(v, t, todo)) is not v:
                    dict.__setitem__(x, k, new)
            if any(map(is_ours, keys)):
                items = [(plain(k, t, todo), v) for k, v in dict.items(x)]
                dict.clear(x)
                for k, v in items:
                    dict.__setitem__(x, k, v)
        elif issubclass(kind, (list, collections.deque)):
            n = len(x)
            for i in range(n) if n <= 2 * ENDS else itertools.chain(range(ENDS), range(n - ENDS, n)):
                v = x[i]
                if type(v) not in ATOMS and (new := plain(v, t, todo)) is not v:
                    x[i] = new
        elif issubclass(kind, set):
            if any(map(is_ours, x)):
                entries = [plain(v, t, todo) for v in x]
                x.clear()
                x.update(entries)
        elif kind is tuple:
            todo += [v for v in x if type(v) not in ATOMS]
        elif kind is types.FunctionType:
            of_function(x, t, todo)
        elif kind is functools.partial:
            if (new := plain(x.args, t, todo)) is not x.args:
                x.__setstate__((x.func, new, x.keywords, vars(x)))
            todo += [x.args, x.keywords]
        elif kind is types.MethodType:
            todo.append(x.__self__)
        elif not is_ours(x):
            module = x.__module__ if isinstance(x, type) else kind.__module__
            if not library(module) and not standard(module):
                of_object(x, t, todo)


def in_objects(x: Any, t: Tape, depth: int = 6) -> None:
    """Look through objects among the results; what is in containers comes to the host when it is asked for."""
    if isinstance(x, (list, tuple, dict)) and depth:
        for e in x.values() if isinstance(x, dict) else x:
            in_objects(e, t, depth - 1)
    elif type(x) not in ATOMS and not is_ours(x) and not is_record(x):
        walk([x], t)


def plain(v: Any, t: Tape, todo: list[Any]) -> Any:
    """What takes the place of a value; what is in it is looked at later."""
    if is_ours(v):
        return out(v, t)
    if isinstance(v, tuple) and any(is_ours(e) or isinstance(e, tuple) for e in v):
        items = [plain(e, t, todo) for e in v]
        return v if all(a is b for a, b in zip(items, v, strict=True)) else like(v, items)
    if type(v) is frozenset and any(map(is_ours, v)):
        return frozenset([plain(e, t, todo) for e in v])
    if type(v) not in ATOMS:
        todo.append(v)
    return v


def of_function(f: Any, t: Tape, todo: list[Any]) -> None:
    """The variables around a function, its default arguments and attributes."""
    for cell in f.__closure__ or ():
        try:
            v = cell.cell_contents
        except ValueError:  # empty
            continue
        if type(v) not in ATOMS and (new := plain(v, t, todo)) is not v:
            cell.cell_contents = new
    if f.__defaults__ and (new := plain(f.__defaults__, t, todo)) is not f.__defaults__:
        f.__defaults__ = new
    todo += [v for v in (f.__defaults__, f.__kwdefaults__, f.__dict__) if v]


def of_object(x: Any, t: Tape, todo: list[Any]) -> None:
    """The attributes of an object or a class of the user's."""
    held = vars(x) if hasattr(x, "__dict__") else {}
    names: list[str] = []
    if not isinstance(x, type):
        names = [n for cls in type(x).__mro__ for n in slots(cls)]
        todo.append(type(x))
    for name in (*held, *names):
        try:
            v = held[name] if name in held else object.__getattribute__(x, name)
        except AttributeError:
            continue
        if type(v) in ATOMS or (isinstance(x, type) and isinstance(v, (types.FunctionType, property))):
            continue
        new = plain(v, t, todo)
        if new is not v:
            type.__setattr__(x, name, new) if isinstance(x, type) else object.__setattr__(x, name, new)


def slots(cls: type) -> tuple[str, ...]:
    found = vars(cls).get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)
