"""What a call means: `of(f)` is the recorded counterpart of any callable.

One table maps callables to the handlers of operations. A Python function becomes its program (rewritten on first
use); containers, iterators and other harmless parts of the language run as they are; everything else runs as it is
too, unless something recorded is handed to it: then it is refused by name.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from . import operators, rewrite
from .errors import RecordError
from .ops.block import OPERATIONS, Operation, find
from .recording import (
    ACTIVE, depends, emit, into, lifted, protect, refuse, settle, shares, short, site, tape_of, value, view_of,
)  # fmt: skip
from .tape import Ref, Scalar, Tensor, pass_on

ndarray, float64 = np.ndarray, np.float64
TABLE: dict[Any, Any] = {}
METHODS: dict[str, Any] = {}  # of arrays, by name
PROGRAMS: dict[int, tuple[Any, Any]] = {}  # id of a function -> (weak reference to it, its bound program)
LATER: dict[str, Operation] = {}  # callables of modules that are not imported yet
UNSAFE = {"eval", "exec", "locals", "vars", "compile", "globals"}


def of(f: Any) -> Any:
    """The recorded counterpart of the callable `f`: looked up here, then called by the program itself."""
    try:
        h = TABLE.get(f)
    except TypeError:  # unhashable
        h = None
    return h if h is not None else resolve(f)


def resolve(f: Any) -> Any:
    kind = type(f)
    if kind is types.FunctionType:
        return function(f)
    if kind is types.MethodType:
        if isinstance(f.__self__, Ref):
            return f
        h = of(f.__func__)
        return h if h is f.__func__ and h is not f else types.MethodType(h, f.__self__) if h is not f.__func__ else f
    if kind is types.BuiltinFunctionType:
        return builtin(f)
    if not TABLE:
        fill()
        return of(f)
    if isinstance(f, type):
        return construct(f)
    if kind is functools.partial:
        return functools.partial(of(f.func), *f.args, **f.keywords)
    program = getattr(kind, "__recorded__", None)
    if program is not None:
        return of(f.__wrapped__)
    if late(f):
        return TABLE[f]
    call = getattr(kind, "__call__", None)
    if type(call) is types.FunctionType and not library(kind.__module__):
        return types.MethodType(of(call), f)
    return guard(f)


def function(f: Any) -> Any:
    """A Python function: its program, made once per function object."""
    if rewrite.is_program(f.__code__):
        return f
    if not TABLE:
        fill()
        return of(f)
    key = id(f)
    found = PROGRAMS.get(key)
    if found is not None and found[0]() is f:
        return found[1]
    if library(f.__module__) or late(f):
        return TABLE[f] if f in TABLE else guard(f)
    from .eager import EAGER

    program = rewrite.bind(f, EAGER)
    PROGRAMS[key] = (weakref.ref(f, lambda _: PROGRAMS.pop(key, None)), program)
    return program


def library(module: str | None) -> bool:
    """Whether functions of this module have rules or no meaning here, rather than a source to follow."""
    return (module or "").partition(".")[0] in ("numpy", "scipy", "cupy", "torch", "jax", "autograd_frontend", "math")


def builtin(f: Any) -> Any:
    """A function or method written in C."""
    if not TABLE:
        fill()
        return of(f)
    owner = f.__self__
    if type(owner) is ndarray or isinstance(owner, np.generic):
        h = METHODS.get(f.__name__)
        x = lifted(owner) if type(owner) is ndarray else owner
        if h is not None:
            return types.MethodType(h, x)
        if x is not owner:
            raise refuse(f"the array method {f.__name__} cannot be recorded")
        return guard(f)
    if owner is None or isinstance(owner, types.ModuleType):
        return TABLE[f] if late(f) else guard(f)
    if isinstance(owner, (list, dict, set, tuple, str, bytes)) or type(owner).__module__ == "collections":
        from .python import iterating

        return iterating(f) if f.__name__ in ("extend", "sort", "update", "join", "extendleft") else f
    return guard(f)


def construct(cls: type) -> Any:
    """A class: its `__init__` is rewritten; everything else about making an instance is Python's own."""
    init = cls.__init__  # type: ignore[misc]
    plain = type(init) is not types.FunctionType or library(cls.__module__)
    if plain or type(cls) is not type or cls.__new__ is not object.__new__ or init.__code__.co_filename == "<string>":
        return cls if not library(cls.__module__) else guard(cls)
    if cls.__module__ in ("contextlib", "functools", "collections", "dataclasses", "typing"):
        return cls

    def make(*args: Any, **kwargs: Any) -> Any:
        instance = cls.__new__(cls)
        of(init)(instance, *args, **kwargs)
        return instance

    return make


def guard(f: Any) -> Any:
    """A callable without a rule: it runs as it is, unless something recorded reaches it."""
    name = getattr(f, "__name__", type(f).__name__)

    def call(*args: Any, **kwargs: Any) -> Any:
        if depends(args) or depends(kwargs):
            raise no_rule(f)
        if ACTIVE:
            for x in (*args, *kwargs.values()):
                if type(x) is ndarray:
                    protect(x)
        return f(*[settle(x) for x in args], **kwargs)

    call.__name__ = name
    if name in UNSAFE and getattr(f, "__module__", "") == "builtins":
        raise refuse(f"{name}() looks at the function's own frame, which recording changes", "Write it without.")
    return call


def no_rule(f: Any) -> RecordError:
    module = getattr(f, "__module__", None) or type(f).__module__
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", type(f).__name__)
    return refuse(
        f"{module}.{name} is given a recorded value, and there is no derivative rule for it",
        "Write it with functions that have one, or give it plain data.",
    )


def overloaded(call: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[bool, Any]:
    """A binary operator on an object of the user's class: its own method, rewritten. (handled, result)"""
    name = call.__name__.strip("_")
    forward, back = f"__{name}__", f"__{REFLECTED.get(name, 'r' + name)}__"
    first, second = getattr(type(a), forward, None), getattr(type(b), back, None)
    tries = [(first, a, b), (second, b, a)]
    if type(b) is not type(a) and issubclass(type(b), type(a)) and second is not getattr(type(a), back, None):
        tries.reverse()
    if not any(hasattr(method, "__code__") for method, *_ in tries if not isinstance(_[0], Ref)):
        return False, None
    for method, x, y in tries:
        if hasattr(method, "__code__") and not isinstance(x, Ref):
            r = of(method)(x, y)
        else:
            plain = getattr(type(x.v if isinstance(x, Ref) else x), method.__name__, None) if method else None
            r = plain(x, y) if plain and not isinstance(x, Ref) else NotImplemented
        if r is not NotImplemented:
            return True, r
    if name in ("eq", "ne"):
        return True, (a is b) == (name == "eq")
    return False, None


REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def late(f: Any) -> bool:
    """Look again for callables of modules that have been imported since; True if `f` is one of them."""
    for path, op in list(LATER.items()):
        thing = find(path)
        if thing is not None:
            del LATER[path]
            TABLE[thing] = handler(op, thing)
    try:
        return f in TABLE
    except TypeError:
        return False


def fill() -> None:
    """Fill the table from the blocks."""
    from . import ops, python

    assert ops
    for op in OPERATIONS.values():
        for path in op.calls:
            if path.startswith("numpy.ndarray."):
                name = path[14:]
                METHODS[name] = TABLE[getattr(ndarray, name)] = handler(op, method_call(name))
                continue
            thing = find(path)
            if thing is None:
                LATER[path] = op
            else:
                TABLE[thing] = handler(op, thing)
    python.fill(TABLE, METHODS)


def method_call(name: str) -> Callable[..., Any]:
    if isinstance(getattr(ndarray, name), types.GetSetDescriptorType):
        return operator.attrgetter(name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = name
    return call


def handler(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    """What a program calls in place of `call`."""
    if op.elementwise and op.bind is None:
        make = {1: one_operand, 2: two_operands}.get(len(op.operands), many_operands)
        return make(op, call)
    return any_operation(op, call)


def one_operand(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    if "scalar" not in op.sweeps:
        op.sweeps["scalar"] = operators.scalar_sweep(op, True)
    f = op.sweeps["scalar"]
    general = many_operands(op, call)
    array = operators.one_operand(op, call, lambda op, call, x, s: general(x))

    def handle(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return general(*args, **kwargs)
        x = args[0]
        if type(x) is not Scalar or not x.t.live:
            return array(x)
        u = x.v
        v = call(u)
        if type(v) is not float and type(v) is not float64:
            return general(x)
        n = Scalar()
        n.v = v
        n.g = 0.0
        n.a = x
        n.b = None
        n.pa = u
        n.pb = None
        n.f = f
        n.s = site()
        n.t = t = x.t
        t.append(n)
        return n

    handle.__name__ = op.name
    return handle


def two_operands(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    general = many_operands(op, call)
    fast = operators.two_operands(op, "call(x, y)", call, lambda op, call, a, b, s: general(a, b), False)

    def handle(*args: Any, **kwargs: Any) -> Any:
        return fast(*args) if len(args) == 2 and not kwargs else general(*args, **kwargs)

    handle.__name__ = op.name
    return handle


SETTINGS = {"dtype", "casting", "order", "subok"}


def many_operands(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    """An elementwise operation: operands by position; `out=` and `dtype=` as in NumPy."""
    count = len(op.operands)

    def handle(*args: Any, **kwargs: Any) -> Any:
        operands = tuple([settle(x) for x in args[:count]])
        out = kwargs.get("out", args[count] if len(args) > count else None)
        if type(out) is tuple:
            out = out[0]
        t = tape_of(operands)
        if out is not None:
            return write_out(op, call, operands, None, args, kwargs, out, t)
        if t is None:
            return call(*[value(x) for x in args], **kwargs)
        if kwargs and not SETTINGS.issuperset(kwargs):
            other = ", ".join(sorted(set(kwargs) - SETTINGS))
            raise refuse(f"{op.name} cannot be recorded with {other}=", "Use np.where for a mask.")
        v = call(*[x.v if isinstance(x, Ref) else value(x) for x in operands], *args[count:], **kwargs)
        return emit(op, v, operands, None, site(), t)

    handle.__name__ = op.name
    return handle


def write_out(op: Any, call: Any, operands: Any, attributes: Any, args: Any, kwargs: Any, out: Any, t: Any) -> Any:
    """A call with `out=`."""
    from .recording import adopt

    s = site()
    x = settle(out)
    if t is not None and x is out and not isinstance(x, Ref):
        x = adopt(out, t, s)
    plain = {k: value(v) for k, v in kwargs.items()}
    if "out" in plain:
        plain["out"] = value(out)
    given = [value(x) for x in args]
    if isinstance(x, Ref):
        if plain.get("where", True) is not True:
            raise refuse(f"{op.name} cannot be recorded with out= and where= together", "Use np.where.", s)
        into(op, lambda: call(*given, **plain), operands, attributes, x, s)
    else:
        protect(out)
        call(*given, **plain)
    return out


def any_operation(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    """An operation whose block has a `bind`."""
    bind = op.bind
    assert bind is not None

    def handle(*args: Any, **kwargs: Any) -> Any:
        operands, attributes = bind(*args, **kwargs)
        operands = tuple([settle(x) for x in operands])
        t = tape_of(operands)
        for name, x in attributes.items():
            if type(x) is not int and depends(x):
                raise refuse(f"{name} of {op.name} is recorded, but it has to be plain data", f"Use int({name}).")
        out = kwargs.get("out")
        if out is not None and (t is not None or settle(out) is not out):
            return write_out(op, call, operands, attributes, args, kwargs, out, t)
        v = call(*[value(x) for x in args], **{k: value(x) for k, x in kwargs.items()})
        if t is None:
            return v
        if op.views and type(v) is ndarray:
            x = operands[0]
            if type(x) is Tensor and shares(v, x.v):
                return x if v is x.v else view_of(x, v, call, args[1:], kwargs)
        if op.parts:
            return several(op, v, operands, attributes, t)
        return emit(op, v, operands, attributes, site(), t)

    handle.__name__ = op.name
    return handle


def several(op: Operation, v: Any, operands: Any, attributes: Any, t: Any) -> Any:
    """A tuple of results, each an operation of its own."""
    s = site()
    parts = [emit(OPERATIONS[p], r, operands, attributes, s, t) if p else r for p, r in zip(op.parts, v, strict=True)]
    return type(v)(*parts) if hasattr(v, "_fields") else tuple(parts)


__all__ = ["of", "pass_on", "short"]
