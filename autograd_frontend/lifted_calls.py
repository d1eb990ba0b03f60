"""What a call means when a program runs once for many entries."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import sys
import types
from typing import Any

import numpy as np

from . import rewrite
from .callables import METHODS, TABLE, fill, library, standard, standard_file
from .eager import EAGER
from .entrywise import whole_numbers
from .lanes import Core, Lanes, has_lanes, lanes
from .lifted import Lifted
from .ops.block import OPERATIONS, Operation, find
from .outside import active, effects, reachable
from .recording import HERE, value
from .tape import Ref, Scalar, Tensor

ndarray = np.ndarray
OVER = frozenset({
    list, tuple, set, frozenset, dict, zip, enumerate, map, filter, reversed, sorted, any, all, max, min,
    functools.reduce, itertools.accumulate, itertools.starmap, itertools.chain, itertools.islice, itertools.product,
    itertools.repeat, itertools.pairwise, itertools.takewhile, itertools.dropwhile,
})  # fmt: skip
PURE = frozenset({
    len, issubclass, callable, range, slice, type(None), math.factorial, math.comb, math.perm, math.gcd,
    math.lcm, math.isqrt, np.zeros, np.ones, np.empty, np.eye, np.dtype, np.finfo, np.iinfo, np.errstate, np.float64,
    np.float32, np.float16, np.longdouble, str, repr, chr, ord, hash, complex,
})  # fmt: skip
READING = frozenset(
    "index count get keys values items copy union intersection difference issubset issuperset isdisjoint upper lower "
    "strip split join startswith endswith format replace __getitem__ __len__ __contains__".split()
)
CHANGING = frozenset(
    "append extend pop insert remove clear sort reverse add update setdefault discard popitem __setitem__".split()
)
OF_ARRAYS = frozenset(
    "sum mean prod min max dot copy reshape astype item tolist ravel flatten transpose take argmax argmin all any "
    "cumsum trace std var round conj clip".split()
)
DATA = """numpy.isnan numpy.isinf numpy.isfinite numpy.sign numpy.floor numpy.ceil numpy.trunc numpy.rint numpy.signbit
numpy.floor_divide numpy.greater numpy.greater_equal numpy.less numpy.less_equal numpy.equal numpy.not_equal
numpy.logical_and numpy.logical_or numpy.logical_not numpy.logical_xor numpy.isposinf numpy.isneginf
math.isnan math.isinf math.isfinite math.isclose operator.floordiv operator.lt operator.le operator.gt operator.ge
operator.eq operator.ne operator.not_ operator.truth"""
EFFECTS = ("numpy.random.", "numpy.ndarray.", "numpy.put", "numpy.copyto", "numpy.place", "numpy.fill")


NUMBERS = frozenset({Lanes, Scalar, Tensor})


@functools.cache
def elementwise() -> dict[Any, list[Operation]]:
    """Functions of numbers, and what they are recorded as, for each number of operands; empty: the result is plain."""
    found: dict[Any, list[Operation]] = {}
    for op in OPERATIONS.values():
        if op.elementwise and not op.data and (op.bind is None or op.variadic):
            for path in op.calls:
                f = find(path)
                if f is not None and not path.startswith("numpy.ndarray.") and not isinstance(f, type):
                    found.setdefault(f, []).append(op)
    return found | {find(path): [] for path in DATA.split()}


@functools.cache
def pure() -> frozenset[Any]:
    """Functions of NumPy and the like that change nothing: what operations are recorded of."""
    paths = [path for op in OPERATIONS.values() if not op.writes for path in op.calls]
    return frozenset([f for path in paths if not path.startswith(EFFECTS) and (f := find(path)) is not None])


def overwrites(f: Any, args: Any, kwargs: Any, most: int) -> bool:
    """Whether a function of NumPy or SciPy may write into one of its arguments. `most`: those that it only reads."""
    if len(args) > most or any(name in ("out", "copy") or name.startswith("overwrite") for name in kwargs):
        return True
    is_method = isinstance(getattr(f, "__self__", None), (ndarray, Ref))
    return any(isinstance(value(x), ndarray) for x in args[1 if is_method else 2 :])


def is_namespace(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is EAGER or isinstance(cell.cell_contents, Core)
    except ValueError:  # empty
        return False


def inputs(f: Any) -> int:
    return 1 if f in (np.nan_to_num, np.isposinf, np.isneginf, np.fix) else getattr(f, "nin", 99)


class Calls(Lifted):
    """`Lifted` with its calls. `entered`: the functions that were called, which say what there was before."""

    def __init__(self, part: Any, args: Any) -> None:
        super().__init__(part)
        self.args = args
        self.entered: list[Any] = []
        self.handlers: dict[Any, Any] = {}
        self.seen: tuple[int, set[int]] = (-1, set())
        if active(list(args)):
            self.give_up("an object runs code of its own")

    def own(self, x: Any) -> None:
        """The container is about to be changed, which nobody else may see."""
        if type(x) not in (list, dict, set) and not hasattr(x, "__next__"):
            self.give_up("a write")
        if self.seen[0] != len(self.entered):
            found = reachable([self.args, *self.entered])
            self.seen = len(self.entered), found if found is not None else self.give_up("too much to look through")
        if id(x) in self.seen[1]:
            self.give_up("a write into what was there before")

    def of(self, f: Any) -> Any:
        """The counterpart of a callable."""
        self.alive()
        try:
            h = self.handlers.get(f)
            if h is None:
                h = self.handlers[f] = self.resolve(f)
        except TypeError:  # unhashable
            h = self.resolve(f)
        return h

    def resolve(self, f: Any) -> Any:
        if not TABLE:
            fill()
        named = NAMED.get(f) if isinstance(f, (types.BuiltinFunctionType, type)) else None
        if named is not None:
            return types.MethodType(named, self)
        kind = type(f)
        if kind is types.FunctionType and rewrite.is_program(f.__code__):
            return self.of_program(f)
        if f in elementwise():
            return self.mapped(f, elementwise()[f])
        if f in OVER:
            return self.iterating(f)
        if f in PURE or f in pure():
            return self.plain(TABLE.get(f, f), inputs(f))
        if kind is types.FunctionType:
            return self.function(f)
        if kind is types.MethodType:
            return self.method(f)
        if kind is functools.partial:
            return functools.partial(self.of(f.func), *f.args, **f.keywords)
        if getattr(kind, "__recorded__", None):
            return self.of(f.__wrapped__)
        if kind is types.BuiltinFunctionType:
            return self.builtin(f)
        if isinstance(f, type) and issubclass(f, BaseException) and type(f.__init__) is not types.FunctionType:
            return self.plain(f)
        return self.unknown(f)

    def unknown(self, f: Any) -> Any:
        return lambda *args, **kwargs: self.give_up(f"a call of {getattr(f, '__name__', f)}")

    def function(self, f: Any) -> Any:
        ours = f.__code__.co_filename.startswith(HERE) or getattr(f, "__primitive__", None)
        theirs = library(f.__module__) or standard(f.__module__) or standard_file(f.__code__.co_filename)
        if ours or theirs or effects(f) or active([f]):
            return self.unknown(f)
        self.entered.append(f)
        return rewrite.bind(f, self)

    def of_program(self, f: Any) -> Any:
        """A function that a program has made: this one, or one around it, whose `ops` know nothing of this run."""
        cells = f.__closure__ or ()
        known = [is_namespace(cell) for cell in cells]
        if any(k and cell.cell_contents is self for k, cell in zip(known, cells, strict=True)):
            return f
        if effects(f) or active([f]):
            return self.unknown(f)
        if not any(known):
            return f
        self.entered.append(f)
        cells = tuple([types.CellType(self) if k else cell for k, cell in zip(known, cells, strict=True)])
        new = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, cells)
        new.__kwdefaults__, new.__qualname__, new.__module__ = f.__kwdefaults__, f.__qualname__, f.__module__
        return new

    def method(self, f: Any) -> Any:
        owner = f.__self__
        if isinstance(owner, Ref):
            return self.plain(f) if getattr(f.__func__, "__name__", "") in OF_ARRAYS else self.unknown(f)
        return types.MethodType(self.of(f.__func__), owner)

    def builtin(self, f: Any) -> Any:
        owner, name = f.__self__, f.__name__
        if isinstance(owner, ndarray):
            return self.plain(types.MethodType(METHODS[name], owner)) if name in OF_ARRAYS else self.unknown(f)
        if type(owner) not in (list, dict, set, tuple, str, frozenset):
            return self.unknown(f)
        if name in READING:
            return self.reading(f)
        return self.changing(f) if name in CHANGING else self.unknown(f)

    def reading(self, f: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return f(*args, **kwargs) if not has_lanes(args) else self.give_up(f.__name__)

        return call

    def changing(self, f: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.own(f.__self__)
            return f(*[self.ready(x) for x in args], **{k: self.ready(x) for k, x in kwargs.items()})

        return call

    def plain(self, f: Any, most: int = 99) -> Any:
        """A function of plain data, or of what is recorded and the same for all entries."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self.alive()
            if has_lanes(args) or (kwargs and has_lanes(kwargs)) or overwrites(f, args, kwargs, most):
                self.give_up(f"a call of {getattr(f, '__name__', f)}")
            return f(*args, **kwargs)

        return call

    def mapped(self, f: Any, known: list[Operation]) -> Any:
        """A function of numbers."""
        record = TABLE.get(f, f)
        plain = self.plain(record, inputs(f))

        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs or not any(type(x) is Lanes for x in args):
                return plain(*args, **kwargs)
            op = next((op for op in known if op.variadic or len(op.operands) == len(args)), None)
            if known and op is None:
                self.give_up(f"another form of {f.__name__}")
            if has_lanes([x for x in args if type(x) is not Lanes]) or any(isinstance(value(x), ndarray) for x in args):
                self.give_up(f"a call of {f.__name__} with an array")
            return self.operate(op, f, args, record)

        return call

    def ready(self, x: Any) -> Any:
        """An argument of a function that runs over it or calls it."""
        if isinstance(x, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, type)):
            return self.of(x)
        return x

    def iterating(self, f: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.alive()
            for x in args:
                if hasattr(type(x), "__iter__") and type(x) not in NUMBERS and not isinstance(x, type):
                    self.iter(x)
            return f(*[self.ready(x) for x in args], **{k: self.ready(x) for k, x in kwargs.items()})

        return call

    # Builtins of numbers

    def to_float(self, x: Any = 0.0) -> Any:
        if type(x) is not Lanes:
            return TABLE[float](x)
        if x.kind is float:
            return x
        return self.event(float, lambda: lanes(self, METHODS["astype"](x.now(), float), float))

    def to_int(self, x: Any = 0, *base: Any) -> Any:
        return self.rounding(int, x) if type(x) is Lanes else TABLE[int](x, *base)

    def to_bool(self, x: Any = False) -> bool:
        return self.truth(x)

    def rounded(self, x: Any, n: Any = None) -> Any:
        if type(x) is not Lanes and type(n) is not Lanes:
            return TABLE[round](x, n)
        return self.rounding(round, x) if n is None else self.operate(None, round, (x, n))

    def rounding(self, call: Any, x: Any) -> Any:
        """To an integer, which is plain data."""
        if type(x) is not Lanes:
            return TABLE[call](x)
        return self.event(call, lambda: self.whole(call, x))

    def whole(self, call: Any, x: Lanes) -> Any:
        v = value(x.now())
        if v.dtype.kind != "f" or not np.all(np.abs(v) < 2.0**62):
            return self.compute(None, call, (x,), None)
        return lanes(self, whole_numbers(call)(v).astype(np.int64), type(self.sample(call, (x,))))

    def power(self, base: Any, exp: Any, mod: Any = None) -> Any:
        return self.pow(base, exp) if mod is None else self.plain(pow)(base, exp, mod)  # type: ignore[attr-defined]

    def div_mod(self, x: Any, y: Any) -> Any:
        if not has_lanes((x, y)):
            return TABLE[divmod](x, y)
        return self.floordiv(x, y), self.mod(x, y)  # type: ignore[attr-defined]

    def total(self, items: Any, start: Any = 0) -> Any:
        items = list(self.iter(items))
        if not has_lanes(items) and not has_lanes(start):
            return TABLE[sum](items, start)
        if sys.version_info >= (3, 12) and any(self.kind(x) is float for x in (start, *items)):
            self.give_up("sum, which compensates")
        return functools.reduce(self.add, items, start)  # type: ignore[attr-defined]

    def kind_of(self, x: Any, *rest: Any) -> Any:
        return x.kind if type(x) is Lanes else TABLE[type](x, *rest)

    def steps(self, *args: Any) -> Any:
        return range(*[self.by_value(x) for x in args])

    def abs_(self, x: Any) -> Any:
        return self.operate(OPERATIONS["abs"], abs, (x,), TABLE[abs]) if type(x) is Lanes else self.plain(TABLE[abs])(x)


NAMED: dict[Any, Any] = {
    float: Calls.to_float, int: Calls.to_int, bool: Calls.to_bool, round: Calls.rounded, pow: Calls.power,
    divmod: Calls.div_mod, sum: Calls.total, builtins.type: Calls.kind_of,
    range: Calls.steps, isinstance: lambda self, x, kinds: isinstance(x, kinds),
    abs: Calls.abs_, operator.abs: Calls.abs_,
    math.floor: lambda self, x: self.rounding(math.floor, x), math.ceil: lambda self, x: self.rounding(math.ceil, x),
    math.trunc: lambda self, x: self.rounding(math.trunc, x),
    operator.add: Calls.add, operator.sub: Calls.sub, operator.mul: Calls.mul,  # type: ignore[attr-defined]
    operator.truediv: Calls.div, operator.pow: Calls.pow, operator.mod: Calls.mod,  # type: ignore[attr-defined]
    operator.neg: Calls.neg, operator.pos: Calls.pos, operator.getitem: Calls.getitem,  # type: ignore[attr-defined]
}  # fmt: skip
