"""Builtins, and functions whose results are plain data."""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import gc
import inspect
import itertools
import math
import operator
import sys
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from . import protocols
from .arrays import ARRAYS, REMOTE, plainly
from .eager import EAGER, following, foreign, iterate, truth
from .general import NO_OUT
from .objects import overloaded
from .ops import reductions
from .ops.block import OPERATIONS
from .ops.complex_parts import complex_number
from .ops.plain import once
from .recording import (
    BUILDING,
    HERE,
    builder_of,
    depends,
    emit,
    handle,
    is_complex,
    lent,
    mine,
    recordable,
    refuse,
    refuse_value,
    settle,
    site,
    tape_of,
    value,
)  # fmt: skip
from .stores import before_plain_write
from .tape import Ref, Scalar, Tensor

ndarray = np.ndarray

# Looked up and called as they are: they neither compute with a value nor run over an array.
AS_IS: tuple[Any, ...] = (
    range, len, isinstance, issubclass, callable, hasattr, getattr, setattr, delattr, id, hash, repr, str, print,
    format, slice, next, object, property, staticmethod, classmethod, super, bytes, input, chr, ord, dict,
    type(None), Exception, ValueError, RuntimeError, ArithmeticError, ZeroDivisionError, KeyError,
    IndexError, TypeError, AssertionError, StopIteration, OverflowError, NotImplementedError, AttributeError,
    functools.partial, collections.defaultdict, collections.OrderedDict, collections.namedtuple,
    operator.itemgetter, operator.attrgetter, np.errstate, np.dtype, np.finfo, np.iinfo, np.random.default_rng,
    np.zeros, np.ones, np.empty, np.eye, np.identity,
    math.factorial, math.comb, math.perm, math.gcd, math.lcm, math.isqrt,
)  # fmt: skip

# These run over their arguments and may call functions among them.
OVER: tuple[Any, ...] = (
    sorted, list, tuple, set, frozenset, iter, zip, enumerate, map, filter, reversed, any, all, functools.reduce,
    itertools.accumulate, itertools.starmap, itertools.chain, itertools.islice, itertools.product, itertools.repeat,
    itertools.combinations, itertools.permutations, itertools.takewhile, itertools.dropwhile, itertools.groupby,
    itertools.zip_longest, itertools.cycle, itertools.count, itertools.pairwise, itertools.tee, itertools.compress,
    itertools.combinations_with_replacement, itertools.filterfalse, itertools.chain.from_iterable,
    collections.deque, collections.Counter,
)  # fmt: skip

LAZY: tuple[Any, ...] = (iter, zip, enumerate, map, filter, reversed, itertools.chain.from_iterable)  # one at a time

# Results that have no derivative: shapes, orders, decisions, roundings.
DATA = """
numpy.shape numpy.ndim numpy.size numpy.argmax numpy.argmin numpy.argsort numpy.nonzero numpy.flatnonzero
numpy.argwhere numpy.count_nonzero numpy.isnan numpy.isinf numpy.isfinite numpy.isposinf numpy.isneginf numpy.any
numpy.all numpy.allclose numpy.isclose numpy.array_equal numpy.sign numpy.floor numpy.ceil numpy.trunc numpy.rint
numpy.round numpy.around numpy.fix numpy.searchsorted numpy.digitize numpy.greater numpy.greater_equal
numpy.less numpy.less_equal numpy.equal numpy.not_equal numpy.logical_and numpy.logical_or numpy.logical_not
numpy.logical_xor numpy.signbit numpy.floor_divide numpy.zeros_like numpy.ones_like numpy.empty_like numpy.isscalar
numpy.iscomplexobj numpy.isrealobj numpy.result_type numpy.argpartition numpy.nanargmax numpy.nanargmin
numpy.lexsort numpy.diag_indices_from numpy.tril_indices_from numpy.triu_indices_from
numpy.may_share_memory numpy.shares_memory numpy.broadcast_shapes numpy.can_cast
math.floor math.ceil math.trunc math.isnan math.isinf math.isfinite math.isclose
operator.floordiv operator.not_ operator.truth operator.lt operator.le operator.gt operator.ge operator.eq operator.ne
"""
DATA_METHODS = (
    "argmax argmin argsort argpartition any all nonzero searchsorted round is_integer __len__ "
    "__array_interface__"
)


FUNCTIONS = frozenset({
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType, np.ufunc,
    functools.partial, operator.itemgetter, operator.attrgetter, operator.methodcaller,
})  # fmt: skip


def iterating(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs over its arguments: arrays that hold recorded values and functions are replaced."""
    from .callables import of

    lazy = f in LAZY or getattr(f, "__module__", "") == "itertools"
    makes = not isinstance(f, types.FunctionType)  # what is written in Python may ask a class what it is

    def ready(x: Any) -> Any:
        kind = type(x)
        if kind in ARRAYS:
            return following(settle(x)) if lazy else settle(x)
        if kind is np.flatiter:
            return iterate(x)
        if REMOTE and (y := lent(x)) is not x:
            return y
        return of(x) if kind in FUNCTIONS or (makes and isinstance(x, type)) else x

    def call(*args: Any, **kwargs: Any) -> Any:
        return f(*[ready(x) for x in args], **{k: ready(x) for k, x in kwargs.items()})

    call.__name__ = f.__name__
    return call


def getter(f: Any) -> Callable[..., Any]:
    """An `operator.itemgetter`, `attrgetter` or `methodcaller`."""
    if type(f) is not operator.methodcaller:
        return lambda x: f(settle(x) if type(x) in ARRAYS else x)
    from .callables import of

    reduced: Any = f.__reduce__()
    make, (name, *args) = reduced  # keywords are in a partial
    kwargs = getattr(make, "keywords", {})
    if not isinstance(name, str):
        name, *args = make.args
    return lambda x: of(getattr(x, name))(*args, **kwargs)


def copied(x: Any) -> Any:
    """`copy.copy(x)`."""
    return copy.copy(settle(x) if type(x) in ARRAYS else x)


def copied_deeply(x: Any, memo: Any = None) -> Any:
    """`copy.deepcopy(x)`: arrays that hold recorded values are copied as such, wherever they are in `x`."""
    memo = {} if memo is None else memo
    if any(t.adopted for t in mine()):
        for found in arrays_in(x):
            y = settle(found)
            if y is not found:
                memo[id(found)] = copy.copy(y)
    return copy.deepcopy(x, memo)


def arrays_in(x: Any) -> list[Any]:
    """Every array that can be reached from `x`."""
    found, todo, seen = [], [x], {id(x)}
    while todo:
        y = todo.pop()
        if type(y) in ARRAYS:
            found.append(y)
        elif not isinstance(y, Ref):
            for z in gc.get_referents(y):
                if id(z) not in seen and not isinstance(z, (type, types.ModuleType, types.FunctionType)):
                    seen.add(id(z))
                    todo.append(z)
    return found


def data(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result is plain data."""
    at = out_place(f)

    def call(*args: Any, **kwargs: Any) -> Any:
        if BUILDING and (builder := builder_of((args, kwargs))) is not None:
            return builder.data(f.__name__, f, args, kwargs)
        before_out(f.__name__, args, kwargs, at)
        v = plainly(f, [value(x) for x in args], {k: value(x) for k, x in kwargs.items()})
        return constant(f.__name__, v, args)

    call.__name__ = f.__name__
    return call


def _named(name: str) -> Callable[..., Any]:
    """The same as a method of arrays."""
    at = OUT_OF_METHODS.get(name, NO_OUT)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if BUILDING and (builder := builder_of((x, args, kwargs))) is not None:
            return builder.data(name, None, (x, *args), kwargs, True)
        before_out(name, (x, *args), kwargs, at)
        v = getattr(value(x), name)(*[value(a) for a in args], **{k: value(v) for k, v in kwargs.items()})
        return constant(name, v, (x,))

    call.__name__ = name
    return call


def constant(name: str, v: Any, args: Any) -> Any:
    """The result `v` of a function that is constant between jumps. Of complex ones it is not: their sign is `z/|z|`."""
    if is_complex(v) and not name.endswith("_like") and depends(args):
        raise refuse(f"{name} of complex numbers cannot be recorded", "Use real and imaginary parts.")
    return v


OUT_OF_METHODS = dict.fromkeys(("argmax", "argmin", "any", "all", "round"), 2)  # x.round(decimals, out)


def out_place(f: Callable[..., Any]) -> int:
    """The position of the parameter `out` of a function."""
    if isinstance(f, np.ufunc):
        return f.nin
    try:
        return list(inspect.signature(f).parameters).index("out")
    except (ValueError, TypeError):  # there is none
        return NO_OUT


def before_out(name: str, args: Any, kwargs: Any, at: int) -> None:
    """Plain data may be written into plain memory; into recorded memory it would have to be followed."""
    out = kwargs.get("out") if len(args) <= at else args[at]
    if out is None:
        return
    if depends(out):
        raise refuse(f"{name} cannot be recorded with out=", "Use its result.")
    for x in out if type(out) is tuple else (out,):
        if type(x) in ARRAYS:
            before_plain_write(x, site())


def kind_of(x: Any, *rest: Any) -> Any:
    """`type(x)`."""
    return type(x, *rest) if rest else x.__class__ if isinstance(x, Ref) or type(x) in REMOTE else type(x)


def to_float(x: Any = 0.0, /) -> Any:
    """`float(x)` keeps the recording."""
    x = settle(x)
    if BUILDING and (builder := builder_of(x)) is not None:
        if not sys._getframe(1).f_code.co_filename.startswith(HERE):  # it is the user's, not a rule's
            raise builder.refused("float()", "Leave it out, or write x.item().")
        return builder.numbers(float, (x,), 1.0)
    if not isinstance(x, Ref):
        method = getattr(type(x), "__float__", None)
        if hasattr(method, "__code__") and not isinstance(x, (Fraction, Decimal)):
            from .callables import of

            return of(method)(x)
        if type(x) is str:
            not_shown(x)
        return float(x)
    if type(x) is Scalar and type(x.v) is float:
        return x
    return emit(OPERATIONS["item"], float(x.v), (x,), {"index": ()}, site(), x.t, (float, (x,), {}))


def not_shown(text: str) -> None:
    """A number is read from a text: not from one that shows a recorded value."""
    if any(t.texts and text.strip() in t.texts for t in mine()):
        raise refuse(
            "a number is read from the text of a recorded value, which loses its derivative",
            "Use the value itself.",
        )


def to_int(x: Any = 0, /, *base: Any, **kwargs: Any) -> Any:
    """`int(x)` is plain data."""
    refuse_value(x, "int()", "Keep it as an array of whole numbers: np.floor(x), np.argmax(x), x.astype(int).")
    return int(value(x), *base, **kwargs)


def to_complex(*args: Any, **kwargs: Any) -> Any:
    if not depends((args, kwargs)):
        return complex(*args, **kwargs)
    if kwargs:
        complex(*map(value, args), **{k: value(x) for k, x in kwargs.items()})  # its own errors
        args = (*(args or (kwargs.get("real", 0),)), *[kwargs[k] for k in kwargs if k == "imag"])
    from .callables import of

    return of(complex_number)(*args)


def total(items: Any, /, start: Any = 0) -> Any:
    """`sum(items, start)`: Python's own sum of the values (newer Pythons compensate), one node with a derivative
    of one for every item; arrays are added one after the other."""
    items = [x for x in iterate(items)]  # noqa: C416  (list() would ask for a length)
    everything = (start, *items)
    recorded = [x for x in map(settle, everything) if isinstance(x, Ref)]
    if not recorded:
        return sum(items, start)
    real = not any(is_complex(value(x)) for x in recorded)
    numbers = (Ref, int, float, np.floating)
    if real and all(isinstance(x, numbers) and not isinstance(value(x), ndarray) for x in everything):
        t = tape_of(recorded)
        assert t is not None
        if t.graph is not None:
            return t.graph.numbers(sum, (items, start), *summed(items, start, recorded, t))
        v = sum([value(x) for x in items], value(start))
        edges: list[Any] = [[x.n if type(x) is Tensor else x, one, None, []] for x in recorded]
        return handle("sum", v, edges, site(), t) if recordable(v) else v
    return functools.reduce(EAGER.add, items, start)


def summed(items: Any, start: Any, recorded: Any, t: Any) -> tuple[Any, Callable[[], Any]]:
    """The sum of stand-ins, and what records it."""
    v = sum([value(x) for x in items], value(start))
    return v, lambda: handle("sum", v, [[x.n, one, None, []] for x in recorded], site(), t)


def one(ops: Any, g: Any) -> Any:
    return g


def over(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an iterable of numbers, recorded as the operation `f` of that many operands."""

    def call(items: Any, /, **kwargs: Any) -> Any:
        from .callables import of

        return of(f)(*(iterate(items)), **kwargs)

    call.__name__ = f.__name__
    return call


def sort_in_place(x: Any, axis: Any = -1, *args: Any, **kwargs: Any) -> None:
    """`x.sort()` writes what `np.sort` gives into `x`."""
    from .callables import of

    EAGER.store(of(np.sort)(x, axis, *args, **kwargs), x, Ellipsis, site())


def rounded(x: Any, n: Any = None) -> Any:
    """`round(x)` is an integer, plain data; `round(x, n)` a constant float."""
    if n is None or builder_of(n) is not None:
        refuse_value((x, n), "round()", "Write np.round(x).")
    elif BUILDING and (builder := builder_of(x)) is not None:
        return builder.data("round", round, (x, n), {})
    if n is None:
        return round(value(x))
    return round(value(x), value(n))


def power(base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is not None:
        refuse_value((base, exp, mod), "pow() with three arguments", "Leave it out.")
    return EAGER.pow(base, exp, site()) if mod is None else pow(value(base), value(exp), value(mod))


def exact(number: Any) -> Callable[..., Any]:
    """`Fraction(x)` and `Decimal(x)` of a recorded one, and the ratio of two fractions."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not depends(args) and not depends(kwargs):
            if args and type(args[0]) is str:
                not_shown(args[0])
            return number(*args, **kwargs)
        if len(args) == 1 and type(value(args[0])) is number:
            return args[0]
        if number is Fraction and len(args) == 2 and all(type(value(x)) in (int, Fraction) for x in args):
            return EAGER.div(args[0], args[1], site())
        number(*[value(x) for x in args], **{k: value(x) for k, x in kwargs.items()})  # its own error comes first
        reason = f"{number.__name__}() is given a recorded number of another type, which would lose its derivative"
        raise refuse(reason, f"Make the argument of the function a {number.__name__}.")

    call.__name__ = number.__name__
    return call


def operating(f: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`operator.add` and the like: what the operator does, also to lists."""
    return lambda a, b, /: f(a, b, site())


def div_mod(x: Any, y: Any) -> Any:
    x, y = (lent(x), lent(y)) if REMOTE else (x, y)
    if foreign(x) or foreign(y):
        done, r = overloaded(divmod, x, y)
        if done:
            return r
        if not depends(x) and not depends(y):
            return divmod(x, y)
    return (EAGER.floordiv(x, y), EAGER.mod(x, y, site()))


def only_once(x: Any) -> Any:
    """What a rule computes with here is not to be differentiated again."""
    if depends(x):
        raise refuse(
            "the derivative of a product is taken again where it has infinite or NaN entries",
            "Take them out before the product.",
        )
    return x


def from_iterator(iter: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """`np.fromiter` stores into memory that nothing is recorded of, so it may only meet plain numbers."""
    items = list(itertools.islice(iterate(iter), None if count < 0 else count))
    if depends(items):
        raise refuse("fromiter cannot be recorded", "Write np.array([...]).")
    return np.fromiter(items, dtype, count, **kwargs)


def fill(table: dict[Any, Any], methods: dict[str, Any]) -> None:
    from .ops.block import find

    for f in AS_IS:
        table.setdefault(f, f)
    for f in OVER:
        table[f] = iterating(f)
    for path in DATA.split():
        f = find(path)
        if f is not None and f not in table:
            table[f] = data(f)
    for name in DATA_METHODS.split():
        if name not in methods:
            methods[name] = _named(name)
    operators = {
        operator.getitem: EAGER.getitem, operator.iadd: EAGER.iadd, operator.isub: EAGER.isub,
        operator.imul: EAGER.imul, operator.itruediv: EAGER.idiv, operator.ipow: EAGER.ipow,
        operator.imod: EAGER.imod, operator.imatmul: EAGER.imatmul, operator.ifloordiv: EAGER.ifloordiv,
        operator.setitem: lambda x, i, v: EAGER.store(v, x, i, site()),
    }  # fmt: skip
    table.update(operators)
    pairs = (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow"), ("mod", "mod"),
             ("matmul", "matmul"))  # fmt: skip
    table.update({getattr(operator, f): operating(getattr(EAGER, name)) for f, name in pairs})
    table.update({
        Fraction: exact(Fraction), Decimal: exact(Decimal), copy.copy: copied, copy.deepcopy: copied_deeply,
        float: to_float, int: to_int, bool: truth, complex: to_complex, builtins.type: kind_of, sum: total,
        math.fsum: over(reductions.exact_sum), math.prod: over(reductions.exact_product),
        round: rounded, pow: power, divmod: div_mod, min: iterating(min), max: iterating(max),
        np.fromiter: from_iterator, once: only_once,
    })  # fmt: skip
    methods["sort"] = table[ndarray.sort] = sort_in_place
    protocols.fill(table)


__all__ = ["Tensor", "fill", "iterating"]
