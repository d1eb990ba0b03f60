"""Functions of numbers as expressions, and their partial derivatives: the rules of the blocks, run on symbols."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from ..ops.block import LIKE, OPERATIONS, RESULT, Like, Operation, find
from ..ops.plain import PLAIN
from . import cuda_functions
from .expressions import Expr, call, cast, scalar
from .lifting_types import Untranslatable
from .ufuncs import ONE, loop, number

DATA = frozenset(
    "isnan isinf isfinite sign floor ceil trunc rint signbit floor_divide greater greater_equal less less_equal equal "
    "not_equal logical_and logical_or logical_not logical_xor".split()
)


@cache
def table() -> dict[Any, dict[int, Operation]]:
    """Callables of numbers -> the blocks that say how they are derived, by the number of operands."""
    found: dict[Any, dict[int, Operation]] = {}
    for op in OPERATIONS.values():
        if op.elementwise and not op.data and not op.variadic and (op.bind is None or op.name == "where"):
            calls = [find(path) for path in op.calls]
            for f in [*calls, op.function]:
                if f is not None:
                    found.setdefault(f, {})[len(op.operands)] = op
    return found


def operation(f: Any, operands: int) -> Operation | None:
    return table().get(f, {}).get(operands)


def variable(name: str, dtype: np.dtype[Any]) -> Expr:
    return Expr("variable", name, (), dtype, ())


def applied(ufunc: Any, operands: list[Any]) -> Expr:
    """A ufunc of expressions and numbers, in NumPy's dtypes."""
    kinds = tuple([type(x) if type(x) in (int, float) else np.dtype(bool) if type(x) is bool else x.dtype
                   for x in operands])  # fmt: skip
    dtypes = loop(ufunc, kinds, None, "same_kind")
    args = [cast(x, d) if isinstance(x, Expr) else number(x, d) for x, d in zip(operands, dtypes, strict=False)]
    return checked(ONE[ufunc.__name__](args, dtypes[-1]) if ufunc.__name__ in ONE else
                   call(ufunc.__name__, tuple(args), dtypes[-1]))  # fmt: skip


def checked(e: Expr) -> Expr:
    if e.kind == "call" and e.name not in ("cast", "where"):
        if cuda_functions.find(e.name, tuple([a.dtype for a in e.args]), e.dtype) is None:
            raise Untranslatable(f"{e.name} of {e.args[0].dtype} cannot run on a GPU", "Call it on the CPU.")
    return e


def chosen(condition: Any, x: Any, y: Any) -> Expr:
    """`np.where` of expressions and numbers."""
    kinds = [v.dtype if isinstance(v, (Expr, np.generic)) else v for v in (x, y)]
    dtype = np.result_type(*kinds)
    condition = applied(np.not_equal, [condition, False]) if condition.dtype != bool else condition
    args = [cast(v, dtype) if isinstance(v, Expr) else number(v, dtype) for v in (x, y)]
    return call("where", (condition, *args), dtype)


class Symbol(np.lib.mixins.NDArrayOperatorsMixin):
    """A number of the kernel, to a rule of derivatives."""

    shape, ndim, size = (), 0, 1

    def __init__(self, e: Expr) -> None:
        self.e = e
        self.dtype = e.dtype

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        return Symbol(applied(ufunc, [plain(x) for x in inputs]))

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if f is not np.where:
            return NotImplemented
        condition, x, y = map(plain, args)
        if not isinstance(condition, Expr):
            return args[1] if condition else args[2]
        return Symbol(chosen(condition, x, y))

    def astype(self, dtype: Any) -> Symbol:
        return Symbol(cast(self.e, np.dtype(dtype)))


def plain(x: Any) -> Any:
    return x.e if isinstance(x, Symbol) else x


class Rules:
    """What rules ask for in another way than of plain numbers: nothing can be looked at."""

    quick = False
    finite = known_finite = staticmethod(lambda x: not isinstance(x, Symbol) and PLAIN.finite(x))
    possible = staticmethod(lambda x: isinstance(x, Symbol) or PLAIN.possible(x))
    truth = staticmethod(lambda x: x != 0 if isinstance(x, Symbol) else PLAIN.truth(x))
    zeros_like = staticmethod(lambda x: 0)

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        if not isinstance(condition, Symbol):
            return x if condition else y
        return Symbol(chosen(condition.e, plain(x), plain(y)))

    @staticmethod
    def polygamma(n: Any, x: Any) -> Any:
        raise NotImplementedError("a polygamma function")

    @staticmethod
    def jv(v: Any, x: Any) -> Any:
        raise NotImplementedError("a Bessel function")

    @staticmethod
    def times(g: Any, x: Any) -> Any:
        return Rules.where(np.equal(g, 0), 0, np.multiply(g, x))


def namespace() -> Any:
    module = ModuleType("rules")
    for source in (vars(PLAIN), vars(Rules)):
        for name in source:
            if not name.startswith("__"):
                setattr(module, name, getattr(PLAIN if source is vars(PLAIN) else Rules, name))
    return module


OPS = namespace()


def partial(op: Operation, i: int, operands: list[Any], result: Expr) -> Any:
    """The derivative of a result by operand `i`: an expression, or a number. Operands are expressions, or numbers that
    are written in the source."""
    rule, g = op.pulls[i], Symbol(scalar(result.dtype.type(1), result.dtype))
    saved: list[Any] = []
    for need in rule.needs:
        if type(need) is not int:
            raise NotImplementedError(need)
        x = result if need in (RESULT, LIKE + RESULT) else operands[need - LIKE if need >= LIKE - 1 else need]
        if need >= LIKE - 1:
            saved.append(Like((), x.dtype if isinstance(x, Expr) else None))
        else:
            saved.append(Symbol(x) if isinstance(x, Expr) else x)
    d = rule.function(OPS, g, *saved)
    if d is g:
        return 1
    if isinstance(d, Symbol):
        if d.e.kind == "call" and d.e.name == "negative" and d.e.args[0] is g.e:
            return -1
        return d.e
    return d
