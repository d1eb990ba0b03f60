"""The operations that a program calls when it runs once for many entries: those of `EAGER`, of `Lanes` too.

Everything that is not known to be the same for many entries at once gives up, and the function is called for one entry
after the other instead: effects (writes into what was there before, output), containers of such numbers handed to
functions of NumPy, whatever else is not on the lists here and in `lifted_calls.py`.
"""

from __future__ import annotations

import operator
import types
from itertools import repeat
from typing import Any

import numpy as np

from .callables import METHODS
from .eager import EAGER
from .entrywise import EXACT, column, dtype_of, each, proven, same_bits, twin
from .lanes import Core, Lanes, has_lanes, lanes
from .objects import ANY, GETTERS, survey
from .ops.block import OPERATIONS, Operation
from .recording import emit, site, tape_of, value
from .tape import Ref

ndarray = np.ndarray
WEAK = (float, int, bool)  # beside NumPy's numbers they take their type
FLOAT64 = np.dtype(np.float64)
COMPARISONS = frozenset({operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne})
KEPT = COMPARISONS | {operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, abs,
                      operator.and_, operator.or_, operator.xor, operator.invert}  # fmt: skip
ITERABLE = frozenset({list, tuple, range, str, dict, set, frozenset, type({}.keys()), type({}.values()),
                      type({}.items())})  # fmt: skip
LOCAL = frozenset({zip, enumerate, map, filter, reversed, types.GeneratorType})
SHAPES = frozenset({"shape", "ndim", "size", "dtype"})


class Arithmetic(Core):
    """Operators."""

    def kind(self, x: Any) -> Any:
        return x.kind if type(x) is Lanes else type(value(x))

    def operate(self, op: Operation | None, call: Any, operands: tuple[Any, ...], record: Any = None) -> Any:
        """A function of numbers on `Lanes`. `record`: does it on arrays, recorded; `op`: what it is then."""
        return self.event(call, lambda: self.compute(op, call, operands, record))

    def compute(self, op: Operation | None, call: Any, operands: tuple[Any, ...], record: Any) -> Any:
        while True:
            done = self.at_once(op, call, operands, record)
            if done is None:
                done = self.in_turn(op, call, operands)
            if done is not None:
                return done

    def sample(self, call: Any, operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return call(*[x.first() if type(x) is Lanes else value(x) for x in operands])

    def at_once(self, op: Operation | None, call: Any, operands: tuple[Any, ...], record: Any) -> Any:
        """The same on arrays, where that has the same bits."""
        kinds = [self.kind(x) for x in operands]
        if not self.vectorizes(call, kinds, operands):
            return None
        try:
            raws = self.beside(operands, kinds)
            if call is operator.truediv and all(k in WEAK for k in kinds) and not np.all(value(raws[1])):
                return None
            sample = self.sample(call, operands)
            dtype = dtype_of(type(sample))
            if dtype is None:
                return None
            plain = [value(x) for x in raws]
            if op is None or not any(isinstance(x, Ref) for x in raws):
                r = v = call(*plain)
            elif record is None or twin(op, floats(raws, dtype)) is not op:
                v = call(*plain)
                r = self.recorded(op, v, raws)
            else:
                r = record(*raws)
                v = value(r)
        except Exception:  # an error of one entry, a warning that is an error
            return None
        if type(v) is not ndarray or v.dtype != dtype or not same_bits(v[0], dtype.type(sample)):
            return None
        return lanes(self, r, type(sample))

    def beside(self, operands: Any, kinds: list[Any]) -> list[Any]:
        """The arrays of the operands, Python's numbers in the type that they take beside a float32."""
        raws = [x.now() if type(x) is Lanes else x for x in operands]
        own = [np.dtype(k) for k in kinds if k not in WEAK]
        dtype = np.result_type(*own) if own else FLOAT64
        if dtype.kind == "f":
            for i, k in enumerate(kinds):
                if type(operands[i]) is Lanes and k is not bool and k in WEAK and raws[i].dtype != dtype:
                    raws[i] = METHODS["astype"](raws[i], dtype)
        return raws

    def vectorizes(self, call: Any, kinds: list[Any], operands: Any) -> bool:
        """Whether a call on arrays does what it does on numbers of these types."""
        dtypes = [dtype_of(k) for k in kinds]
        if any(d is None for d in dtypes):  # a dtype equals None where None means float64
            return False
        weak = {k for x, k in zip(operands, kinds, strict=True) if type(x) is Lanes and k in WEAK}
        if int in weak and not all(self.small(x) for x in operands if type(x) is Lanes):
            return False
        if int in weak and all(k is int or k is bool for k in kinds):
            return call in COMPARISONS
        if call in KEPT:
            return True
        if call in (np.power, np.float_power) and type(operands[1]) is Lanes:  # alone, an exponent 2.0 makes a square
            return False
        if getattr(call, "__module__", "") in ("math", "_operator", "builtins"):  # some ufuncs have none
            return False
        numbers = [None if type(x) is Lanes else value(x) for x in operands]
        return proven(call, tuple([d.char for d in dtypes]), tuple(numbers))

    def small(self, x: Lanes) -> bool:
        """Whether integers are small enough to be floats."""
        v = value(x.now())
        return v.dtype.kind != "i" or bool(v.max() <= EXACT and v.min() >= -EXACT)

    def in_turn(self, op: Operation | None, call: Any, operands: tuple[Any, ...]) -> Any:
        """One entry after the other. None: entries differ in what happens, and the run goes on with some of them."""
        raws = [x.now() if type(x) is Lanes else x for x in operands]
        n = self.part.size

        def columns() -> list[Any]:
            python = getattr(call, "__module__", "") == "math"
            return [
                column(value(raw), x.kind, python) if type(x) is Lanes else repeat(value(x), n)
                for x, raw in zip(operands, raws, strict=True)
            ]

        try:
            kind = type(call(*[next(iter(c)) for c in columns()]))
            dtype = dtype_of(kind)
            if dtype is None:
                raise TypeError
            if all(self.kind(x) in (int, bool) for x in operands):  # 2 ** -1 is a float
                if any(type(r) is not kind for r in map(call, *columns())):
                    raise TypeError
            v = each(call, columns(), dtype, n)
        except Exception:
            return self.sorted_out(call, list(zip(*columns(), strict=False)))
        return lanes(self, v if op is None else self.recorded(op, v, raws), kind)

    def sorted_out(self, call: Any, rows: list[Any]) -> None:
        """Go on with entries that all raise the same, or that have results of one type."""
        found: dict[Any, int] = {}
        labels = np.empty(len(rows), np.intp)
        for i, row in enumerate(rows):
            try:
                outcome: Any = type(call(*row))
            except Exception as error:
                outcome = (type(error), str(error))
            labels[i] = found.setdefault(outcome, len(found))
        outcome = list(found)[self.decide(lambda: labels)]
        if type(outcome) is tuple:
            call(*rows[int(np.flatnonzero(labels == found[outcome])[0])])  # raises
        if type(outcome) is tuple or dtype_of(outcome) is None or len(found) == 1:
            self.give_up(f"{getattr(call, '__name__', call)} gives something else than numbers")

    def recorded(self, op: Operation, v: ndarray, raws: Any) -> Any:
        t = tape_of(raws)
        if t is None:
            return v
        if not op.variadic and len(op.operands) <= 2 and not t.deep and not t.dual:
            op = twin(op, floats(raws, v.dtype))
        return emit(op, v, tuple(raws), None, site(), t)

    def by_value(self, x: Any) -> Any:
        """Plain data that differs between entries, as one value: the run goes on with the entries that have it."""
        if type(x) is slice:
            return slice(*map(self.by_value, (x.start, x.stop, x.step)))
        if type(x) is tuple:
            return tuple(map(self.by_value, x))
        if type(x) is not Lanes:
            return x
        if dtype_of(x.kind).kind not in "iub":
            return self.give_up("a number that differs is used as a whole")
        return self.event(self.by_value.__func__, lambda: self.chosen(x))  # type: ignore[attr-defined]

    def chosen(self, x: Lanes) -> Any:
        found, labels = np.unique(value(x.now()), return_inverse=True)
        v = found[self.decide(lambda: labels)]
        return v if issubclass(x.kind, np.generic) else v.item()

    def truth(self, x: Any) -> bool:
        if type(x) is not Lanes:
            return bool(EAGER.truth(x))
        return bool(self.decide(lambda: value(x.now()) != 0))


def floats(raws: Any, dtype: Any) -> bool:
    """Whether an operation is one of floats, whose rules are written with `math`."""
    values = [value(x) for x in raws]
    return dtype == FLOAT64 and all(x.dtype == FLOAT64 for x in values if isinstance(x, (ndarray, np.generic)))


def binary(name: str, call: Any, op: Operation | None, record: Any, inplace: bool = False) -> Any:
    plain = getattr(EAGER, name)

    def operate(self: Any, a: Any, b: Any, s: Any = 0) -> Any:
        if type(a) is Lanes or type(b) is Lanes:
            if dtype_of_any(a) is not None and dtype_of_any(b) is not None:
                return self.operate(op, call, (a, b), record)
            a, b = self.by_value(a), self.by_value(b)  # [0.0] * n
        if inplace and type(value(a)) not in IMMUTABLE and not issubclass(type(value(a)), np.generic):
            self.own(a)
        return plain(a, b, s)

    return operate


IMMUTABLE = frozenset({int, float, bool, complex, str, bytes, tuple, frozenset, type(None)})


def dtype_of_any(x: Any) -> Any:
    return dtype_of(x.kind if type(x) is Lanes else type(value(x)))


def compared(name: str) -> Any:
    call, plain = getattr(operator, name), getattr(EAGER, name)

    def operate(self: Any, a: Any, b: Any) -> Any:
        if type(a) is Lanes or type(b) is Lanes:
            if dtype_of_any(a) is None or dtype_of_any(b) is None:
                return self.give_up("a comparison of a number and something else")
            return self.operate(None, call, (a, b))
        return plain(a, b)

    return operate


def unary(name: str, call: Any, op: Operation | None) -> Any:
    plain = getattr(EAGER, name)

    def operate(self: Any, x: Any, s: Any = 0) -> Any:
        return self.operate(op, call, (x,), plain) if type(x) is Lanes else plain(x, s)

    return operate


class Lifted(Arithmetic):
    """The namespace a program is given as `ops`."""

    index = EAGER.index

    def own(self, x: Any) -> None:
        raise NotImplementedError

    def getitem(self, x: Any, i: Any, s: Any = 0) -> Any:
        if type(x) is Lanes or (type(x) is not dict and hasattr(type(x), "__getitem__") and is_code(x)):
            return self.give_up("a subscript")
        if has_lanes(i):
            if type(x) is dict:
                return self.give_up("a key that differs")
            i = self.by_value(i)
        return EAGER.getitem(x, i, s)

    def store(self, v: Any, x: Any, i: Any, s: Any = 0) -> None:
        if type(x) is not list and type(x) is not dict:
            self.give_up("a write")
        self.own(x)
        if has_lanes(i):
            i = self.by_value(i)
        x[i] = v

    def iter(self, x: Any) -> Any:
        kind = type(x)
        if kind in LOCAL:
            self.own(x)
            return x
        if kind in ITERABLE:
            return x
        return EAGER.iter(x) if isinstance(value(x), ndarray) else self.give_up("a loop over something")

    def unfold(self, x: Any, form: Any) -> Any:
        return EAGER.unfold(self.iter(x), form)

    def unfolded(self, items: Any, form: Any) -> Any:
        return (self.unfold(x, form) for x in items)

    def attribute(self, x: Any, name: str) -> Any:
        if type(x) is Lanes:
            if name in SHAPES and issubclass(x.kind, np.generic):
                return getattr(x.first(), name)
            return self.give_up(f"the attribute {name}")
        if not isinstance(x, Ref):
            found = GETTERS.get(id(type(x)))
            found = survey(type(x)) if found is None else found
            if ANY in found or name in found:
                return self.give_up("a property")
        return EAGER.attribute(x, name)

    def assign(self, v: Any, x: Any, name: str) -> None:
        self.give_up("an attribute is set")

    def manager(self, x: Any, form: Any = None) -> Any:
        return x if type(x) is np.errstate else self.give_up("a with block")


def is_code(x: Any) -> bool:
    return hasattr(type(x).__getitem__, "__code__")


PLAIN_PAIRS = {
    "floordiv": ("ifloordiv", operator.floordiv), "lshift": ("ilshift", operator.lshift),
    "rshift": ("irshift", operator.rshift), "bitand": ("iand", operator.and_), "bitor": ("ior", operator.or_),
    "bitxor": ("ixor", operator.xor), "matmul": ("imatmul", operator.matmul),
}  # fmt: skip
PAIRS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
         "mod": operator.mod}  # fmt: skip


def fill() -> None:
    for name, call in PAIRS.items():
        record = getattr(EAGER, name)
        setattr(Lifted, name, binary(name, call, OPERATIONS[name], record))
        setattr(Lifted, "i" + name, binary("i" + name, call, OPERATIONS[name], record, True))
    for name, (inplace, call) in PLAIN_PAIRS.items():
        setattr(Lifted, name, binary(name, call, None, None))
        setattr(Lifted, inplace, binary(inplace, call, None, None, True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Lifted, name, compared(name))
    for name in ("neg", "pos"):
        setattr(Lifted, name, unary(name, getattr(operator, name), OPERATIONS[name]))
    setattr(Lifted, "invert", unary("invert", operator.invert, None))  # noqa: B010


fill()
