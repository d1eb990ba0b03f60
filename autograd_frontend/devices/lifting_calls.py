"""Calls in a function of numbers: of Python's own functions, of `math`, of ufuncs, and of other Python functions."""

from __future__ import annotations

import ast
import inspect
import math
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from .cuda_functions import find
from .expressions import call, cast
from .lifting_numbers import Numbers
from .lifting_rules import chosen, operation, variable
from .lifting_types import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    PYTHON,
    Items,
    Thing,
    Type,
    Untranslatable,
    Value,
    joined_types,
    literal,
    valued,
)

SAME = """sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt fmod hypot copysign degrees
radians""".split()
UFUNCS: dict[Any, Any] = {  # functions of `math` that NumPy has too
    **{getattr(math, name): getattr(np, name) for name in SAME if hasattr(math, name)},
    math.asin: np.arcsin, math.acos: np.arccos, math.atan: np.arctan, math.atan2: np.arctan2, math.asinh: np.arcsinh,
    math.acosh: np.arccosh, math.atanh: np.arctanh, math.pow: np.power, math.fabs: np.absolute,
}  # fmt: skip
ROUNDING = {math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc, int: np.trunc, round: np.rint}
TESTS = {math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite}
TOTAL = {math.fabs, math.copysign, math.hypot, math.degrees, math.radians}  # they raise for nothing
CASTS = (np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
         np.uint64, np.bool_)  # fmt: skip


def name_of(f: Any) -> str:
    module = (getattr(f, "__module__", "") or "").replace("numpy", "np")
    name: str = getattr(f, "__qualname__", getattr(f, "__name__", repr(f)))
    if module in ("builtins", "") or type(f) is types.FunctionType:
        return name
    return f"np.{name}" if isinstance(f, np.ufunc) else f"{module}.{name}"


class Calls(Numbers):
    """Numbers with the functions of them."""

    def number(self, x: Any, what: str = "") -> Value:
        """A value that is a number; what is captured becomes a parameter of the kernel."""
        if isinstance(x, Value):
            return x
        if isinstance(x, Thing):
            found: Value = self.unit.captured_number(x)
            return found
        raise Untranslatable("a tuple is used as a number", "Use its entries.")

    def branches(self, condition: str, first: Any, second: Any) -> Value:
        """A number computed in one of two ways. `first` and `second` write it."""
        outer = self.lines
        ways = []
        for way in (first, second):
            self.lines = []
            ways.append((self.number(way()), self.lines))
        self.lines = outer
        (a, left), (b, right) = ways
        kind = joined_types(a.type, b.type)
        names = [self.unit.fresh("v") for _ in range(1 + len(kind.active))]
        for name in names:
            self.emit(f"{self.unit.register(kind)} {name};")
        for v, lines in ways:
            self.lines = lines
            for name, text in zip(names, self.converted(v, kind).texts(), strict=True):
                self.emit(f"{name} = {text};")
        self.lines = outer
        self.lines += [f"if ({condition}) {{", left, "} else {", right, "}"]
        return valued(kind, names)

    def call(self, f: Thing, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a call of something that is known."""
        called = getattr(f.thing, "__wrapped__", f.thing) if hasattr(type(f.thing), "__recorded__") else f.thing
        if isinstance(called, types.FunctionType) and operation(called, len(args)) is None:
            return self.unit.call(self, Thing(called, f.path), args, kwargs)
        if kwargs:
            raise Untranslatable(f"{name_of(called)} is called with keywords", "Hand its arguments over by position.")
        if isinstance(called, np.ufunc) and called.nout == 1 and called.signature is None:
            return self.apply(called, [self.number(x) for x in args])
        found = self.known(called, args) if isinstance(called, Hashable) else None
        if found is not None:
            return found
        raise Untranslatable(
            f"{name_of(called)} cannot run for one entry on a GPU",
            "Use arithmetic, math, ufuncs of NumPy's, or Python functions made of these; or call it on the CPU.",
        )

    def known(self, f: Any, args: list[Any]) -> Any:
        """The result of one of the functions of numbers; None of another one."""
        special = SPECIAL.get(f)
        if special is not None:
            try:
                inspect.signature(special).bind(self, f, *args)
            except TypeError:
                reason = f"{name_of(f)} with {len(args)} arguments cannot run on a GPU"
                raise Untranslatable(reason, "Call it with numbers.") from None
            return special(self, f, *args)
        if getattr(math, getattr(f, "__name__", ""), None) is f:
            return self.mathematics(f, [self.number(x) for x in args])
        return self.of_block(f, [self.number(x) for x in args]) if operation(f, len(args)) is not None else None

    def of_block(self, f: Any, values: list[Value]) -> Value:
        """A public operation of this package with a text for the GPU."""
        op = operation(f, len(values))
        values = [self.narrowed(v) for v in values]
        dtype = np.result_type(*[v.dtype for v in values])
        args = [self.cast(v, dtype, "numpy") for v in values]
        variables = [variable(v.text, dtype) for v in args]
        if op is None or find(op.key, (dtype,) * len(args), dtype) is None:
            raise Untranslatable(f"{name_of(f)} of {dtype} cannot run on a GPU", "Call it on the CPU.")
        kind = "python" if all(v.type.kind == "python" for v in values) else "numpy"
        return self.derived(f, args, variables, call(op.key, tuple(variables), dtype), kind)

    def mathematics(self, f: Any, values: list[Value]) -> Value:
        """A function of `math`: of floats, a float, and an error where the number is none."""
        if f is math.log and len(values) == 2:
            a, b = [self.mathematics(f, [v]) for v in values]
            return self.binary_divide(a, b)
        floats = [self.cast(self.widened(v), FLOAT, "python") for v in values]
        if f in TESTS:
            return self.apply(TESTS[f], floats, "python")
        op = operation(f, len(values))
        ufunc = UFUNCS.get(f)
        if ufunc is not None and ufunc.nin == len(values):
            r = self.apply(ufunc, floats, "python", f if op is not None else None)
        elif op is not None and find(op.key, (FLOAT,) * len(floats), FLOAT) is not None:
            variables = [variable(v.text, FLOAT) for v in floats]
            r = self.derived(f, floats, variables, call(op.key, tuple(variables), FLOAT), "python")
        else:
            raise Untranslatable(f"math.{f.__name__} cannot run for one entry on a GPU", "Call it on the CPU.")
        if f not in TOTAL:
            known = " && ".join([f"is_finite({v.text})" for v in floats])
            number = " && ".join([f"{v.text} == {v.text}" for v in floats])
            self.check(f"({r.text} != {r.text} && {number}) || (!is_finite({r.text}) && {known})")
        return r

    def binary_divide(self, a: Value, b: Value) -> Value:
        self.check(f"{b.text} == 0")
        return self.apply(np.divide, [a, b], "python")

    def to_int(self, f: Any, x: Any) -> Value:
        """A whole number of Python, by truncation or rounding."""
        v = self.number(x)
        if v.static is not NOTHING:
            return self.constant(f(v.static))
        if v.dtype.kind != "f":
            if v.dtype == np.uint64:
                self.check(f"{v.text} >> 63")
            return self.cast(v, INT, "python")
        r = self.apply(ROUNDING[f], [self.cast(self.widened(v), FLOAT, "numpy")])
        self.check(f"!({r.text} >= -9223372036854775808.0 && {r.text} < 9223372036854775808.0)")
        return Value(PYTHON[int], self.printed(cast(variable(r.text, r.dtype), INT)))


def of_abs(self: Calls, f: Any, x: Any) -> Value:
    v = self.number(x)
    if v.static is not NOTHING:
        return self.constant(abs(v.static))
    v = self.as_int(v)
    if v.type.kind == "mixed":
        return self.either_way(lambda v: of_abs(self, f, v), v)
    return self.apply(np.absolute, [v], "python" if v.type.kind == "python" else "numpy", abs)


def of_extreme(self: Calls, f: Any, *args: Any) -> Any:
    """Python's `max` and `min`: the first of the largest, by comparison."""
    items = args[0].items if len(args) == 1 and isinstance(args[0], Items) else list(args)
    best = self.number(items[0])
    for x in items[1:]:
        v, old = self.number(x), best
        condition = self.truth(self.compare(ast.Gt if f is max else ast.Lt, v, old))
        if isinstance(condition, bool):
            best = v if condition else old
        else:
            best = self.branches(condition, lambda v=v: v, lambda old=old: old)
    return best


def of_float(self: Calls, f: Any, x: Any = 0.0) -> Value:
    v = self.widened(self.number(x))
    if v.static is not NOTHING:
        return self.constant(float(v.static))
    return self.cast(v, FLOAT, "python")


def of_bool(self: Calls, f: Any, x: Any = False) -> Value:
    found = self.truth(self.number(x))
    return self.constant(found) if isinstance(found, bool) else Value(PYTHON[bool], self.let(BOOL, found))


def of_int(self: Calls, f: Any, x: Any) -> Value:
    return self.to_int(f, x)


def of_round(self: Calls, f: Any, x: Any, digits: Any = None) -> Value:
    if digits is not None:
        raise Untranslatable("round to a number of digits cannot run on a GPU", "Write round(x * 100) / 100.")
    return self.to_int(f, x)


def of_len(self: Calls, f: Any, x: Any) -> Any:
    if isinstance(x, Items):
        return self.constant(len(x.items))
    return self.unit.captured_table(x).length


def of_divmod(self: Calls, f: Any, x: Any, y: Any) -> Items:
    a, b = self.number(x), self.number(y)
    return Items([self.binary(ast.FloorDiv, a, b), self.binary(ast.Mod, a, b)])


def of_pow(self: Calls, f: Any, x: Any, y: Any) -> Value:
    return self.binary(ast.Pow, self.number(x), self.number(y))


def of_where(self: Calls, f: Any, condition: Any, x: Any, y: Any) -> Value:
    c = self.truth(self.number(condition))
    a, b = self.narrowed(self.number(x)), self.narrowed(self.number(y))
    weak = [v.dtype.type(0).item() if v.type.kind == "python" else v.dtype for v in (a, b)]
    dtype = np.result_type(*weak)
    a, b = self.cast(a, dtype), self.cast(b, dtype)
    c = Value(PYTHON[bool], literal(c, BOOL) if isinstance(c, bool) else self.let(BOOL, c))
    args = [variable(c.text, BOOL), variable(a.text, dtype), variable(b.text, dtype)]
    return self.derived(np.where, [c, a, b], args, chosen(*args), "numpy")


def of_clip(self: Calls, f: Any, x: Any, low: Any, high: Any) -> Value:
    """As the operation, whose ties between numbers count for none."""
    v = self.narrowed(self.number(x))
    bounds = [b for b in (low, high) if not (isinstance(b, Thing) and b.thing is None)]
    if any(self.number(b).type.active for b in bounds):
        raise Untranslatable("np.clip with a recorded bound", "Write np.minimum(np.maximum(x, low), high).")
    r, inside = v, f"{v.text} == {v.text}"
    for b, g, sign in ((low, np.maximum, ">"), (high, np.minimum, "<")):
        if not (isinstance(b, Thing) and b.thing is None):
            bound = self.number(b)
            inside += f" && {v.text} {sign} {bound.text}"
            r = self.apply(g, [Value(r.type._replace(active=frozenset()), r.text, None, r.static), bound])
    zero = literal(0, r.dtype)
    v = self.cast(v, r.dtype, "numpy")
    tangents = {k: self.let(r.dtype, f"{inside} ? {t} : {zero}") for k, t in v.tangents.items()}
    return Value(Type("numpy", r.dtype, frozenset(tangents)), r.text, tangents)


def of_dtype(self: Calls, f: Any, x: Any) -> Value:
    v, dtype = self.widened(self.number(x)), np.dtype(f)
    if dtype.kind in "iu" and not np.can_cast(v.dtype, dtype):
        raise Untranslatable(f"{name_of(f)} of {v.dtype} cannot run for one entry on a GPU", "Write int(x).")
    r = self.cast(v, dtype, "numpy")
    return Value(r.type, r.text, r.tangents)


def of_isinstance(self: Calls, f: Any, x: Any, kinds: Any) -> Value:
    """Known before the kernel runs, but of a number that is Python's on one way and NumPy's on another."""
    wanted = [k.thing if isinstance(k, Thing) else None for k in (kinds.items if isinstance(kinds, Items) else [kinds])]
    if not all(isinstance(k, type) for k in wanted):
        raise Untranslatable("isinstance of what is no type", "Name the types.")
    v = self.number(x)
    if v.type.kind == "mixed":
        raise Untranslatable("a number is Python's on one way and NumPy's on another", "Make it float(x) on both.")
    own = v.dtype.type if v.type.kind == "numpy" else type(v.dtype.type(0).item())
    return self.constant(any(issubclass(own, k) for k in wanted if k is not None))


SPECIAL: dict[Any, Any] = {
    isinstance: of_isinstance,
    abs: of_abs, max: of_extreme, min: of_extreme, float: of_float, int: of_int, bool: of_bool, round: of_round,
    len: of_len, divmod: of_divmod, pow: of_pow, math.floor: of_int, math.ceil: of_int, math.trunc: of_int,
    np.where: of_where, np.clip: of_clip, **dict.fromkeys(CASTS, of_dtype),
}  # fmt: skip
