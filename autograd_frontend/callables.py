"""What a call means: `of(f)` is the recorded counterpart of any callable.

One table maps callables to the handlers of operations. A Python function becomes its program (rewritten on first
use); containers, iterators and other harmless parts of the language run as they are; everything else runs as it is
too, unless something recorded is handed to it: then it is refused by name.
"""

from __future__ import annotations

import collections
import functools
import operator
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import operators, rewrite
from .arrays import ARRAYS, REMOTE, plainly
from .errors import RecordError
from .general import any_operation, composition, computed, data_operation, unseen_by_numpy, write_out
from .ops.block import COMPOSED, OPERATIONS, Operation, find
from .recording import (
    ACTIVE,
    BUILDING,
    HARMLESS,
    HERE,
    builder_of,
    depends,
    emit,
    lent,
    lifted,
    mine,
    refuse,
    settle,
    site,
    tape_of,
    value,
)  # fmt: skip
from .stores import protect
from .tape import Ref, Tensor

ndarray = np.ndarray
TABLE: dict[Any, Any] = {}
METHODS: dict[str, Any] = {}  # of arrays, by name
PROGRAMS: dict[int, tuple[Any, Any]] = {}  # id of a function -> (weak reference to it, its bound program)
OWN: dict[int, tuple[Any, Any]] = {}  # id of a callable that cannot be hashed -> it, and what is called in its place
LATER: dict[str, Operation] = {}  # callables of modules that are not imported yet
# written so that they can be recorded themselves
RULES = (f"{HERE}/ops/", f"{HERE}/cotangents.py", f"{HERE}/careful.py")
STANDARD = str(Path(operator.__file__).parent)
IN_PLACE = {"sort", "partition", "resize", "byteswap", "setfield"}
GENERATED_METHODS = {f"__{name}__" for name in "init repr hash eq lt le gt ge setattr".split()}
SEEN = [0]  # how many modules were imported when LATER was looked through
DIRECT = set(
    "append add get pop keys values items insert setdefault appendleft popleft clear remove copy __setitem__ "
    "__getitem__ __delitem__ __contains__ __len__ __setattr__ __getattribute__ __delattr__ __new__".split()
)
UNBOUND = (types.MethodDescriptorType, types.WrapperDescriptorType)  # list.append, object.__setattr__
CONTAINERS = (object, list, dict, set, frozenset, tuple, collections.deque, collections.OrderedDict)
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
        if type(f.__self__) in REMOTE:
            return builtin(f)
        h = of(f.__func__)
        return f if h is f.__func__ else types.MethodType(h, f.__self__)
    if kind is types.BuiltinFunctionType:
        return builtin(f)
    if not TABLE:
        fill()
        return of(f)
    if kind is types.MethodWrapperType:
        return slot(f)
    if kind is operator.attrgetter:
        from .objects import get_attributes

        return get_attributes(f)
    if kind is operator.itemgetter or kind is operator.methodcaller:
        from .python import getter

        return getter(f)
    if isinstance(f, type):
        return construct(f)
    if kind is functools.partial:
        return functools.partial(of(f.func), *f.args, **f.keywords)
    program = getattr(kind, "__recorded__", None)
    if program is not None:
        return of(f.__wrapped__)
    if late(f):
        return TABLE[f]
    if kind in UNBOUND and f.__objclass__ in CONTAINERS:
        from .python import iterating

        return f if f.__name__ in DIRECT else iterating(f)
    call = getattr(kind, "__call__", None)  # noqa: B004  (the method itself is wanted)
    if type(call) is types.FunctionType and not library(kind.__module__):
        return types.MethodType(of(call), f)
    own = OWN.get(id(f))
    return guard(f) if own is None else own[1]


def function(f: Any) -> Any:
    """A Python function: its program, made once per function object."""
    own = getattr(f, "__primitive__", None)
    if own is not None and own[0] is f:
        return own[1]
    if rewrite.is_program(f.__code__):
        return f
    if not TABLE:
        fill()
        return of(f)
    key = id(f)
    found = PROGRAMS.get(key)
    if found is not None and found[0]() is f:
        return found[1]
    if f.__code__.co_filename == "<string>" and f.__name__ in GENERATED_METHODS:  # of a dataclass
        return f
    rules = f.__code__.co_filename.startswith(RULES)
    if f.__code__.co_filename.startswith(HERE) and not rules:  # what `grad` returns, and the like: they say what to do
        return f
    if late(f) or (library(f.__module__) and not rules):
        if f not in TABLE:
            TABLE[f] = guard(f)
        return TABLE[f]
    if standard(f.__module__) or standard_file(f.__code__.co_filename):
        from .objects import decorated
        from .python import iterating

        f = decorated(f)

        return iterating(f)
    from .eager import EAGER

    program = rewrite.bind(f, EAGER)
    if f.__globals__.get(f.__name__) is f:  # it lives as long as its module: the first look finds it
        TABLE[f] = program
        return program
    PROGRAMS[key] = (weakref.ref(f, lambda _: PROGRAMS.pop(key, None)), program)
    return program


def slot(f: Any) -> Any:
    """A special method of a type written in C, such as `x.__add__` or an exception's `__init__`."""
    from .python import iterating

    owner = f.__self__
    if type(owner) in ARRAYS and lifted(owner) is not owner:
        return getattr(lifted(owner), f.__name__, None) or guard(f)
    if isinstance(owner, (int, float, complex, np.generic, ndarray, np.flatiter)):
        return guard(f)
    if f.__name__ == "__setattr__":
        from .objects import set_on

        return functools.partial(set_on, owner)
    return f if f.__name__ in DIRECT else iterating(f)


def library(module: str | None) -> bool:
    """Whether functions of this module have rules or no meaning here, rather than a source to follow."""
    return (module or "").partition(".")[0] in ("numpy", "scipy", "cupy", "torch", "jax", "autograd_frontend", "math")


def standard(module: str | None) -> bool:
    """Whether this is a module of the standard library: its Python runs as it is, on recorded values."""
    return (module or "").partition(".")[0] in sys.stdlib_module_names and module != "__main__"


def standard_file(filename: str) -> bool:
    return filename.startswith(STANDARD) and "site-packages" not in filename


def builtin(f: Any) -> Any:
    """A function or method written in C."""
    if not TABLE:
        fill()
        return of(f)
    owner = f.__self__
    if type(owner) in ARRAYS or isinstance(owner, np.generic):
        h = METHODS.get(f.__name__)
        x = lifted(owner) if type(owner) in ARRAYS else owner
        if h is not None:
            return types.MethodType(h, x)
        if ACTIVE and type(owner) in ARRAYS and f.__name__ in IN_PLACE:
            protect(owner)
        return guard(f)
    if REMOTE and hasattr(y := lent(owner), "layout") and hasattr(y, f.__name__):  # CuPy's own kernels have other rules
        return of(getattr(y, f.__name__))
    if owner is None or isinstance(owner, types.ModuleType):
        if not late(f):
            TABLE[f] = guard(f)
        return TABLE[f]
    if isinstance(owner, types.GeneratorType):
        return f
    if isinstance(owner, (list, dict, set, tuple, str, bytes)) or type(owner).__module__ == "collections":
        from .python import iterating

        return f if f.__name__ in DIRECT else iterating(f)
    return guard(f)


def construct(cls: Any) -> Any:
    """A class: its `__init__` is rewritten; everything else about making an instance is Python's own."""
    init = cls.__init__
    if cls is memoryview or cls is bytearray or cls.__module__ == "array":
        return guard(cls)
    meta: Any = type(cls)
    if library(cls.__module__) and not cls.__module__.startswith("autograd_frontend.ops."):
        return guard(cls)
    if meta is not type or standard_class(cls):
        return cls
    own = type(init) is types.FunctionType and init.__code__.co_filename != "<string>"
    if not own or cls.__new__ is not object.__new__:
        from .objects import making

        return making(cls)
    if standard(cls.__module__):
        from .python import iterating

        return iterating(cls)

    def make(*args: Any, **kwargs: Any) -> Any:
        instance = cls.__new__(cls)
        of(init)(instance, *args, **kwargs)
        return instance

    return make


def standard_class(cls: Any) -> bool:
    """Whether making an instance runs no code but the standard library's."""
    return standard(cls.__module__) and type(cls.__init__) is not types.FunctionType


def guard(f: Any) -> Any:
    """A callable without a rule: it runs as it is, unless something recorded reaches it."""
    name, owner = getattr(f, "__name__", type(f).__name__), getattr(f, "__self__", None)

    def call(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()) if kwargs else args:
            if type(x) not in HARMLESS:
                if depends(x):
                    raise no_rule(f)
                if type(x) in ARRAYS:
                    protect(x)
        memory: Any = owner.base if type(owner) is np.flatiter else owner
        if type(memory) in ARRAYS:
            if depends(memory):
                raise no_rule(f)
            protect(memory)
        given = [value(x) for x in args]
        return watched(f, given, kwargs) if ACTIVE else f(*given, **kwargs)

    call.__name__ = name
    if name in UNSAFE and getattr(f, "__module__", "") == "builtins":
        raise refuse(f"{name}() looks at the function's own frame, which recording changes", "Write it without.")
    return call


def watched(f: Any, args: Any, kwargs: Any) -> Any:
    """A call of code that is not recorded. If it turned a recorded value into a number, that was refused; code in C may
    have made another error of it, or none."""
    tapes = mine()
    for t in tapes:
        t.refused = None
    try:
        ours = bool(REMOTE) and library(getattr(f, "__module__", None))
        v = plainly(f, args, kwargs) if ours else f(*args, **kwargs)
        for t in tapes if BUILDING else ():
            if t.graph is not None:
                t.graph.drawn(f, (*args, *kwargs.values()), v)
        return v
    finally:
        for t in tapes:
            if t.refused is not None:
                refused, t.refused = t.refused, None
                raise refused from None


def no_rule(f: Any) -> RecordError:
    if type(f) is np.vectorize:
        return refuse("np.vectorize cannot be recorded", "Write a loop, or np.array([f(v) for v in x]).")
    owner = getattr(f, "__self__", None)
    bound = owner is not None and not isinstance(owner, (type, types.ModuleType))
    module = type(owner).__module__ if bound else getattr(f, "__module__", None) or type(f).__module__
    name = str(getattr(f, "__qualname__", None) or getattr(f, "__name__", type(f).__name__))
    if isinstance(f, np.ufunc):  # which does not say where it is from
        known = [m for m in ("numpy", "scipy.special") if vars(sys.modules.get(m, np)).get(name) is f]
        module = known[0] if known else "builtins"
    reason = f"{name} is given a recorded value, and there is no derivative rule for it"
    reason = reason if module == "builtins" else f"{module}.{reason}"
    return refuse(reason, "Use functions that have one, give it plain data, or register a rule: help(primitive).")


def late(f: Any) -> bool:
    """Look again for callables of modules that have been imported since; True if `f` is one of them."""
    if SEEN[0] != len(sys.modules):
        SEEN[0] = len(sys.modules)
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
    from . import ops, python, writes

    assert ops
    for path, recorded in COMPOSED.items():
        thing = find(path)
        TABLE[thing] = composition(recorded, thing)
        if path.startswith("numpy.ndarray."):
            METHODS[path[14:]] = TABLE[thing]
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
    writes.fill(TABLE, METHODS)


def method_call(name: str) -> Callable[..., Any]:
    if isinstance(getattr(ndarray, name), types.GetSetDescriptorType):
        return operator.attrgetter(name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = call.method = name  # type: ignore[attr-defined]
    return call


def handler(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    """What a program calls in place of `call`."""
    if op.data:
        return data_operation(op, call)
    if op.elementwise and op.bind is None:
        make = {1: one_operand, 2: two_operands}.get(len(op.operands), many_operands)
        return make(op, call)
    general = any_operation(op, call)
    return low_rank(OPERATIONS[op.low_rank], call, general) if op.low_rank else general


def low_rank(op: Operation, call: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """A product that for vectors and matrices is `op`."""
    fast = operators.two_operands(op, "call(x, y)", call, lambda op, call, a, b, s: general(a, b), False)

    def handle(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and not kwargs:
            a, b = args
            if type(a) in PRODUCTS and type(b) in PRODUCTS and ranks(a, b):
                return fast(a, b)
        return general(*args, **kwargs)

    return handle


PRODUCTS = frozenset({ndarray, Tensor})


def ranks(a: Any, b: Any) -> bool:
    """Whether both are vectors or matrices."""
    return getattr(a, "ndim", 0) in (1, 2) and getattr(b, "ndim", 0) in (1, 2)


def one_operand(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    return operators.one_operand(op, call, many_operands(op, call))  # type: ignore[no-any-return]


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
    count, own = len(op.operands), getattr(call, "__module__", "") in ("builtins", "math", "_operator")

    def handle(*args: Any, **kwargs: Any) -> Any:
        if BUILDING and (builder := builder_of((args, kwargs))) is not None:
            return builder.operation(op, call, args, kwargs, None)
        operands = tuple([x if own and isinstance(x, (list, tuple)) else settle(x) for x in args[:count]])
        for x in operands:
            unseen_by_numpy(x)
        out = kwargs.get("out", args[count] if len(args) > count else None)
        if type(out) is tuple:
            out = out[0]
        t = tape_of(operands)
        if out is not None:
            return write_out(op, call, operands, None, args, kwargs, out, t)
        if t is None:
            return computed(call, [value(x) for x in args], kwargs)
        plain = [x.v if isinstance(x, Ref) else value(x) for x in operands]
        if kwargs and not SETTINGS.issuperset(kwargs):
            other = ", ".join(sorted(set(kwargs) - SETTINGS))
            if "where" not in kwargs:
                call(*plain, *args[count:], **kwargs)  # its own error comes first
            raise refuse(f"{op.name} cannot be recorded with {other}=", "Leave it out; np.where chooses by a mask.")
        v = call(*plain, *args[count:], **kwargs)
        return emit(op, v, operands, None, site(), t)

    handle.__name__ = op.name
    return handle
