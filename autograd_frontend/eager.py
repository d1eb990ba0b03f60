"""`EAGER`: the operations that a program calls when it runs now and records a tape.

The operators have a fast path for recorded floats, written out from the blocks by a template: a scalar program
makes one object per operation and calls nothing else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from .arrays import ARRAYS, REMOTE, on_host
from .callables import of
from .iteration import manager, steps, unfold, unfolded
from .memory import plain_key, read, read_plain
from .objects import assign, attribute, overloaded
from .operators import prefix, two_operands
from .ops.block import OPERATIONS, Operation
from .recording import (
    ACTIVE,
    BUILDING,
    GENERATED,
    builder_of,
    depends,
    emit,
    lent,
    lifted,
    refuse,
    refuse_value,
    settle,
    site,
    tape_of,
    value,
)  # fmt: skip
from .stores import accumulate, adopt, before_plain_write, into, overwrite, put, put_array, write
from .tape import Ref, Scalar, Tensor

ndarray = np.ndarray
float64 = np.float64
NUMBERS = frozenset({
    int, bool, float, complex, Fraction, Decimal, ndarray, list, tuple, dict, set, frozenset, str, bytes, type(None),
})  # fmt: skip

COMPARE = """
def {name}(a, b):
    if type(a) is Scalar:
        k = type(b)
        if k is float or k is int or k is float64:
            return a.v {sign} b
        if k is Scalar:
            return a.v {sign} b.v
    elif type(a) in NUMERIC and type(b) in NUMERIC:
        return a {sign} b
    return compare(call, a, b)
"""


def binary(op: Operation | None, call: Callable[[Any, Any], Any], a: Any, b: Any, s: Any = 0) -> Any:
    """A two-operand operation on anything. `op` None: it has no derivative, the result is plain data."""
    if type(a) in SIMPLE and type(b) in SIMPLE and (not ACTIVE or (len(ACTIVE) == 1 and not ACTIVE[0].adopted)):
        return call(a, b)
    if type(a) is str or type(a) is bytes:  # formatting with %
        return text_of(call(a, formatted(b)), b)
    a, b = operand(a, b, call), operand(b, a, call)
    t = tape_of((a, b))
    if foreign(a) or foreign(b):
        done, r = overloaded(call, a, b)
        if done:
            return r
    if t is None:
        return call(a, b)
    if t.graph is not None:
        return t.graph.operation(op, call, (a, b), {}, s) if op else t.graph.data_operator(call, (a, b), s)
    v = call(a.v if isinstance(a, Ref) else a, b.v if isinstance(b, Ref) else b)
    return v if op is None else emit(op, v, (a, b), None, s, t, (call, (a, b), {}))


def foreign(x: Any) -> bool:
    """Whether the class of an operand may be the user's (a list's subclass, say), with operators of its own."""
    kind = type(x)
    return kind not in NUMBERS and kind not in ARRAYS and not isinstance(x, Ref) and not issubclass(kind, np.generic)


def operand(x: Any, other: Any, call: Callable[[Any, Any], Any]) -> Any:
    """An operand as the recording sees it. A list or tuple is an array only where NumPy takes part."""
    if issubclass(type(x), (list, tuple)):
        numpy = isinstance(other, (ndarray, np.generic))
        repeat = call is operator.mul and isinstance(other, (np.integer, np.floating))  # NumPy repeats, or raises
        return settle(x) if numpy and not repeat else x
    return settle(x)


def formatted(x: Any) -> Any:
    """What is shown by `text % x`: values."""
    if type(x) is tuple:
        return tuple([v.v if isinstance(v, Ref) else v for v in x])
    if type(x) is dict:
        return {k: v.v if isinstance(v, Ref) else v for k, v in x.items()}
    return x.v if isinstance(x, Ref) else x


def text_of(shown: Any, x: Any) -> Any:
    """The text made by `%`: it is remembered by the recorded values it shows."""
    for v in x if type(x) is tuple else x.values() if type(x) is dict else (x,):
        refuse_value(v, "a text", "Leave it out.")
        if isinstance(v, Ref) and v.t.live:
            if v.t.texts is None:
                v.t.texts = set()
            v.t.texts.add(str(shown).strip())
    return shown


def unary(op: Operation, call: Callable[[Any], Any], x: Any, s: Any = 0) -> Any:
    x = x if issubclass(type(x), (list, tuple)) else settle(x)
    if isinstance(x, Ref):
        if x.t.graph is not None and x.t.live:
            return x.t.graph.operation(op, call, (x,), {}, s)
        return emit(op, call(x.v), (x,), None, s, x.t)
    return overloaded_unary(call, x)


def overloaded_unary(call: Callable[[Any], Any], x: Any) -> Any:
    if type(x) in ARRAYS:
        return call(x)
    method = getattr(type(x), f"__{call.__name__}__", None)
    return of(method)(x) if hasattr(method, "__code__") else call(x)


def invert(x: Any, s: Any = 0) -> Any:
    if BUILDING and (builder := builder_of(x)) is not None:
        return builder.data_operator(operator.invert, (x,), s)
    x = lent(x) if REMOTE else x
    return overloaded_unary(operator.invert, x) if not isinstance(x, Ref) else ~x.v


def generic(op: Operation | None, call: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def operate(a: Any, b: Any, s: Any = 0) -> Any:
        return binary(op, call, a, b, s)

    operate.__name__ = call.__name__
    return operate


def compare(call: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """A comparison of anything: plain data, unless the user's class says otherwise."""
    if REMOTE:
        a, b = lent(a), lent(b)
    if foreign(a) or foreign(b):
        done, r = overloaded(call, a, b)
        if done:
            return r
    if not isinstance(a, (Ref, ndarray, np.generic)) and not isinstance(b, (Ref, ndarray, np.generic)):
        return call(a, b)
    if BUILDING and (builder := builder_of((a, b))) is not None:
        return builder.data_operator(call, (a, b))
    return call(a.v if isinstance(a, Ref) else value(a), b.v if isinstance(b, Ref) else value(b))


def comparison(call: Callable[[Any, Any], Any], sign: str) -> Callable[[Any, Any], Any]:
    space: dict[str, Any] = {"Scalar": Scalar, "NUMERIC": NUMERIC, "compare": compare, "call": call, "float64": float64}
    exec(compile(COMPARE.format(name=call.__name__, sign=sign), GENERATED, "exec"), space)  # noqa: S102
    return space[call.__name__]  # type: ignore[no-any-return]


NUMERIC = frozenset({int, float, bool, float64})
SIMPLE = NUMERIC | {ndarray}


def inplace(op: Operation | None, call: Callable[[Any, Any], Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """`a op= b`: arrays change in place, numbers do not."""

    def operate(a: Any, b: Any, s: Any = 0) -> Any:
        kind = type(a)
        if kind is Scalar or kind is float or kind is int:
            return plain(a, b, s)
        if kind is ndarray or (kind in ARRAYS and isinstance(a, ndarray)):
            b = settle(b)
            x = settle(a)
            if isinstance(b, Ref) and x is a and op is not None:
                if a.dtype.kind in "iub":
                    call(a.copy(), value(b))  # which raises, in most cases
                x = adopt(a, b.t, s)
            if x is a:
                if ACTIVE:
                    before_plain_write(a, s)
                return call(a, on_host(value(b)) if kind is ndarray else value(b))
        elif kind is Tensor and a.t.live and isinstance(a.v, ndarray):
            b = settle(b)
            x = a
        else:
            return overloaded_inplace(call, plain, a, b, s)
        t = tape_of((x, b))
        if t is not None and t.graph is not None:
            t.graph.inplace(op, call, x, b, s)
            return a
        if op is None:  # constant between jumps: what is written is plain data
            overwrite(lambda: call(x.v, value(b)), x, s)
            return a
        if op.accumulates:
            accumulate(op, lambda: call(x.v, b.v if isinstance(b, Ref) else b), x, b, s)
            return a
        into(op, lambda: call(x.v, b.v if isinstance(b, Ref) else b), (x, b), None, x, s)
        return a

    operate.__name__ = call.__name__
    return operate


def augmented(op: Operation, expression: str, call: Callable[[Any, Any], Any], plain: Any) -> Callable[..., Any]:
    """`inplace` behind the fast path for recorded floats."""
    change = inplace(op, call, plain)
    return two_operands(op, expression, call, binary, True, change)  # type: ignore[no-any-return]


def overloaded_inplace(call: Callable[..., Any], plain: Callable[..., Any], a: Any, b: Any, s: Any) -> Any:
    if isinstance(a, Ref) or type(a) in ARRAYS:  # a number
        return plain(a, b, s)
    if REMOTE and (x := lent(a)) is not a:
        inplace(INPLACE.get(call), call, plain)(x, b, s)
        return a
    method = getattr(type(a), f"__{call.__name__}__", None)
    if hasattr(method, "__code__"):
        r = of(method)(a, b)
        if r is not NotImplemented:
            return r
    if method is None or hasattr(method, "__code__"):
        return plain(a, b, s)
    return call(a, iterate(b))


def getitem(x: Any, i: Any, s: Any = 0) -> Any:
    """`x[i]`."""
    kind = type(x)
    if kind is list or kind is tuple:
        return x[number_in(i) if isinstance(i, Ref) else i]
    if kind is Tensor and x.t.live and type(x.v) in ARRAYS:
        return read(x, i, s)
    if kind in ARRAYS:
        if ACTIVE and (len(ACTIVE) != 1 or ACTIVE[0].adopted):
            return read_plain(x, i, s)
        if type(i) is int:
            return x[i]
    elif kind is Tensor or kind is Scalar:
        if x.t.live and isinstance(x.v, np.generic):  # a number of NumPy's can be looked at like an array
            return read(of(np.array)(x), i, s)
        x = x.v
    if isinstance(i, (Ref, tuple)) and (kind in ARRAYS or kind is Tensor):
        return x[plain_key(i)]
    if kind is np.flatiter and lifted(x.base) is not x.base:
        return getitem(of(np.ravel)(x.base), i, s)
    if kind is memoryview:
        guarded(x)
    if REMOTE and (y := lent(x)) is not x:
        return getitem(y, lent(i), s)
    method = getattr(kind, "__getitem__", None)
    return of(method)(x, i) if hasattr(method, "__code__") else x[i]


def number_in(i: Any) -> Any:
    """An index of a list that was recorded."""
    refuse_value(i, "an entry of a list", "Make it an array: np.array(items)[i].")
    return i.v


def store(v: Any, x: Any, i: Any, s: Any = 0) -> None:
    """`x[i] = v`."""
    kind = type(x)
    if kind is Tensor and x.t.live and type(x.v) in ARRAYS:
        write(v, x, i, s)
    elif kind in ARRAYS:
        if type(v) is Scalar:
            if put(v, x, i, s):
                return
        elif type(v) is Tensor and put_array(v, x, i, s):
            return
        y = lifted(x)
        if y is x and x.dtype != object:
            v = settle(v)
            if isinstance(v, Ref):
                y = adopt(x, v.t, s)
        elif y is x and depends(v):
            raise refuse("recorded values cannot be kept in an object array", "Use a list.")
        if y is x and BUILDING and (builder := builder_of(i)) is not None:
            builder.store(v, x, i, s)
            return
        if y is not x:
            write(v, y, i, s)
        else:
            if ACTIVE:
                before_plain_write(x, s)
            x[plain_key(i)] = on_host(v) if kind is ndarray else v
    elif kind is np.flatiter and ACTIVE:
        from .writes import write_flat

        if depends(v) or depends(x.base):
            write_flat(x.base, np.arange(x.base.size)[plain_key(i)], v)
        else:
            before_plain_write(x.base, s)
            x[plain_key(i)] = v
    elif isinstance(x, Ref):  # a number, or an array of a recording that is over
        x.v[plain_key(i)] = v.v if isinstance(v, Ref) else v
    elif REMOTE and (y := lent(x)) is not x:
        store(v, y, lent(i), s)
    else:
        method = getattr(kind, "__setitem__", None)
        if hasattr(method, "__code__"):
            of(method)(x, i, v)
        else:
            x[i] = iterate(v) if kind is list and type(i) is slice else v


def iterate(x: Any) -> Any:
    """What a loop, an unpacking or a starred argument runs over."""
    kind = type(x)
    if kind is list or kind is tuple or kind is range:
        return x
    if kind is Scalar:
        return x.v  # which cannot be iterated over, and says so
    if kind is np.flatiter:
        if lifted(x.base) is not x.base:
            return of(np.ravel)(x.base)
        return following(x.base.reshape(-1)) if x.base.flags.c_contiguous and not x.index else x
    if kind is memoryview:
        guarded(x)
    if REMOTE and (y := lent(x)) is not x:
        return iterate(y)
    return following(settle(x)) if kind in ARRAYS else steps(x)


def following(x: Any) -> Any:
    """An array as a loop sees it: entries of a plain one may become recorded while the loop is running."""
    return Entries(x) if ACTIVE and type(x) in ARRAYS and x.ndim == 1 and x.dtype.kind in "fc" else x


class Entries:
    """The entries of a plain array of rank 1."""

    __slots__ = ("x",)

    def __init__(self, x: ndarray) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: Any) -> Any:
        return getitem(self.x, i, site())

    def __iter__(self) -> Any:
        x = self.x
        for i in range(len(x)):
            yield getitem(x, i, site()) if len(ACTIVE) != 1 or ACTIVE[0].adopted else x[i]


def guarded(x: memoryview) -> None:
    """What is read through a memoryview is not recorded."""
    if ACTIVE and depends(x.obj):
        raise refuse("an array that holds recorded values is looked at through a memoryview", "Use the array.")


def truth(x: Any) -> bool:
    """A truth test looks at the current value; it has no derivative."""
    if x is True or x is False:
        return x
    if isinstance(x, Ref):
        refuse_value(x, *TEST)
        return bool(x.v)
    method = getattr(type(x), "__bool__", None)
    if not hasattr(method, "__code__") or type(x) in ARRAYS:
        if type(x) in ARRAYS:
            refuse_value(x, *TEST)
        return bool(value(x))
    r = of(method)(x)
    if r is not True and r is not False:
        raise TypeError(f"__bool__ should return bool, returned {type(r.v if isinstance(r, Ref) else r).__name__}")
    return r


TEST = ("a truth test", "Write np.where(condition, x, y), or build one graph for each case.")


INPLACE = {  # what `a op= b` is an operation of
    getattr(operator, f): OPERATIONS[name]
    for f, name in (
        ("iadd", "add"), ("isub", "sub"), ("imul", "mul"), ("itruediv", "div"), ("ipow", "pow"), ("imod", "mod"),
        ("imatmul", "matmul"),
    )
}  # fmt: skip


class Index:
    """`index[a:b, c]` is the index itself."""

    def __getitem__(self, key: Any) -> Any:
        return key


class Eager:
    """The namespace a program is given as `ops`. It has no state: what is recorded where is in the values."""

    of = staticmethod(of)
    getitem = staticmethod(getitem)
    store = staticmethod(store)
    iter = staticmethod(iterate)
    truth = staticmethod(truth)
    attribute = staticmethod(attribute)
    assign = staticmethod(assign)
    manager = staticmethod(manager)
    unfold = staticmethod(unfold)
    unfolded = staticmethod(unfolded)
    index = Index()
    invert = staticmethod(invert)
    neg = staticmethod(prefix(OPERATIONS["neg"], operator.neg, partial(unary, OPERATIONS["neg"], operator.neg)))
    pos = staticmethod(prefix(OPERATIONS["pos"], operator.pos, partial(unary, OPERATIONS["pos"], operator.pos)))
    add = staticmethod(two_operands(OPERATIONS["add"], "x + y", operator.add, binary, True))
    sub = staticmethod(two_operands(OPERATIONS["sub"], "x - y", operator.sub, binary, True))
    mul = staticmethod(two_operands(OPERATIONS["mul"], "x * y", operator.mul, binary, True))
    div = staticmethod(two_operands(OPERATIONS["div"], "x / y", operator.truediv, binary, True))
    pow = staticmethod(two_operands(OPERATIONS["pow"], "x ** y", operator.pow, binary, True))
    mod = staticmethod(two_operands(OPERATIONS["mod"], "x % y", operator.mod, binary, True))
    matmul = staticmethod(two_operands(OPERATIONS["matmul"], "x @ y", operator.matmul, binary, True))
    floordiv = staticmethod(generic(None, operator.floordiv))
    lshift, rshift, bitand, bitor, bitxor = (
        staticmethod(generic(None, f))
        for f in (operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor)
    )
    lt, le, gt, ge, eq, ne = (
        staticmethod(comparison(getattr(operator, f), sign))
        for f, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!="))
    )
    iadd = staticmethod(augmented(OPERATIONS["add"], "x + y", operator.iadd, add))
    isub = staticmethod(augmented(OPERATIONS["sub"], "x - y", operator.isub, sub))
    imul = staticmethod(augmented(OPERATIONS["mul"], "x * y", operator.imul, mul))
    idiv = staticmethod(augmented(OPERATIONS["div"], "x / y", operator.itruediv, div))
    ipow = staticmethod(augmented(OPERATIONS["pow"], "x ** y", operator.ipow, pow))
    imod = staticmethod(augmented(OPERATIONS["mod"], "x % y", operator.imod, mod))
    imatmul = staticmethod(inplace(OPERATIONS["matmul"], operator.imatmul, matmul))
    ifloordiv = staticmethod(inplace(None, operator.ifloordiv, floordiv))
    ilshift = staticmethod(inplace(None, operator.ilshift, lshift))
    irshift = staticmethod(inplace(None, operator.irshift, rshift))
    iand = staticmethod(inplace(None, operator.iand, bitand))
    ior = staticmethod(inplace(None, operator.ior, bitor))
    ixor = staticmethod(inplace(None, operator.ixor, bitxor))


EAGER: Any = ModuleType("ops")  # a module: Python finds its attributes fastest
for name in [name for name in vars(Eager) if not name.startswith("__")]:
    setattr(EAGER, name, getattr(Eager, name))


def current(x: Any) -> Any:
    """A value of a recording that is over is plain."""
    return x.v if isinstance(x, Ref) and not x.t.live else x


def dunders() -> None:
    """Recorded values met by code that was not rewritten (sum, reduce, sorted, ...) record through their operators."""

    def direct(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, other: f(current(self), current(other), site())

    def reflected(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, other: f(current(other), current(self), site())

    pairs = {
        "add": EAGER.add, "sub": EAGER.sub, "mul": EAGER.mul, "truediv": EAGER.div, "pow": EAGER.pow,
        "mod": EAGER.mod, "floordiv": EAGER.floordiv, "matmul": EAGER.matmul,
    }  # fmt: skip
    for name, f in pairs.items():
        setattr(Ref, f"__{name}__", direct(f))
        setattr(Ref, f"__r{name}__", reflected(f))
    for name in ("iadd", "isub", "imul", "ipow", "imod", "imatmul", "ifloordiv"):
        setattr(Tensor, f"__{name}__", direct(getattr(EAGER, name)))
    setattr(Tensor, "__itruediv__", direct(EAGER.idiv))  # noqa: B010
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        f = getattr(EAGER, name)
        setattr(Ref, f"__{name}__", lambda self, other, f=f: f(self, other))
    setattr(Ref, "__neg__", lambda self: EAGER.neg(self, site()))  # noqa: B010
    setattr(Ref, "__pos__", lambda self: EAGER.pos(self, site()))  # noqa: B010
    setattr(Ref, "__getitem__", lambda self, i: getitem(self, i, site()))  # noqa: B010
    setattr(Ref, "__setitem__", lambda self, i, v: store(v, self, i, site()))  # noqa: B010
