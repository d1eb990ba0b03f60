"""Arithmetic of a function of numbers as CUDA text, each number with its derivatives.

Python's numbers follow Python (whole numbers are exact, errors are errors), NumPy's follow NumPy. What would raise sets
`bad` and leaves the function.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .cuda_functions import ROUNDED_ALREADY, definition
from .cuda_types import register
from .expressions import Expr, call, cast, nodes
from .lifting_rules import DATA, applied, checked, operation, partial, variable
from .lifting_types import BOOL, FLOAT, INT, NOTHING, PYTHON, WEAK, Type, Untranslatable, Value, literal, whole
from .ufuncs import ONE, loop, number

HELPERS = """
#pragma nv_diag_suppress 128, 177, 550
template <class T> __device__ __forceinline__ T product(T t, T p) {
    T d = t * p;
    return d == d ? d : t == 0 || p == 0 ? T(0) : d;
}
typedef unsigned long long Bits;
__device__ __forceinline__ bool beyond_add(long long a, long long b) {
    long long r = (long long)((Bits)a + (Bits)b);
    return ((a ^ r) & (b ^ r)) < 0;
}
__device__ __forceinline__ bool beyond_subtract(long long a, long long b) {
    long long r = (long long)((Bits)a - (Bits)b);
    return ((a ^ b) & (a ^ r)) < 0;
}
__device__ __forceinline__ bool beyond_multiply(long long a, long long b) {
    double p = (double)a * (double)b;
    return !(p > -9.2233720368547e18 && p < 9.2233720368547e18);
}
__device__ __forceinline__ bool beyond_power(long long a, long long b) {
    if (b < 0) return true;
    double p = 1, s = fabs((double)a);
    for (; b != 0 && s > 1; b >>= 1, s *= s) if (b & 1) { p *= s; if (p > 9.2233720368547e18) return true; }
    return false;
}
__device__ __forceinline__ long long trips(long long start, long long stop, long long step) {
    if (step > 0) return start < stop ? (long long)(((Bits)stop - (Bits)start - 1) / (Bits)step + 1) : 0;
    return start > stop && step < 0 ? (long long)(((Bits)start - (Bits)stop - 1) / ((Bits)0 - (Bits)step) + 1) : 0;
}
__device__ __forceinline__ bool is_finite(double x) { return fabs(x) < (double)__int_as_float(0x7f800000); }
"""

BINARY: dict[type, tuple[Any, Any]] = {
    ast.Add: (np.add, operator.add), ast.Sub: (np.subtract, operator.sub), ast.Mult: (np.multiply, operator.mul),
    ast.Div: (np.divide, operator.truediv), ast.FloorDiv: (np.floor_divide, operator.floordiv),
    ast.Mod: (np.remainder, operator.mod), ast.Pow: (np.power, operator.pow),
    ast.BitAnd: (np.bitwise_and, operator.and_), ast.BitOr: (np.bitwise_or, operator.or_),
    ast.BitXor: (np.bitwise_xor, operator.xor),
    ast.LShift: (np.left_shift, operator.lshift), ast.RShift: (np.right_shift, operator.rshift),
}  # fmt: skip
COMPARE: dict[type, tuple[Any, Any]] = {
    ast.Eq: (np.equal, operator.eq), ast.NotEq: (np.not_equal, operator.ne), ast.Lt: (np.less, operator.lt),
    ast.LtE: (np.less_equal, operator.le), ast.Gt: (np.greater, operator.gt), ast.GtE: (np.greater_equal, operator.ge),
}  # fmt: skip


class Numbers:
    """Writes statements. `lines` may hold lists, which are filled later."""

    unit: Any

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def let(self, dtype: np.dtype[Any], text: str) -> str:
        name: str = self.unit.fresh("v")
        self.emit(f"const {register(dtype)} {name} = {text};")
        return name

    def check(self, condition: str) -> None:
        """Leave where Python raises."""
        self.unit.raises = True
        self.emit(f"if ({condition}) {{ bad = true; return; }}")

    def called(self, e: Expr, texts: list[str]) -> str:
        title, text = definition(e.name, tuple([a.dtype for a in e.args]), e.dtype)
        self.unit.functions[title] = text
        value = f"{title}({', '.join(texts)})"
        return value if e.dtype != np.float16 or e.name in ROUNDED_ALREADY else f"half_precision({value})"

    def printed(self, e: Expr) -> str:
        """Statements for an expression, and the text of its value."""
        names: dict[int, str] = {}
        for n in nodes(e):
            if n.kind == "variable":
                names[id(n)] = n.name
            elif n.kind == "scalar":
                names[id(n)] = literal(n.value, n.dtype)
            else:
                names[id(n)] = self.let(n.dtype, self.called(n, [names[id(a)] for a in n.args]))
        return names[id(e)]

    # Values

    def constant(self, x: Any) -> Value:
        kind = PYTHON[type(x)]
        return Value(kind, literal(x, kind.dtype), None, x)

    def cast(self, v: Value, dtype: np.dtype[Any], kind: str = "") -> Value:
        """A value in another dtype, its derivatives with it."""
        new = Type(kind or v.type.kind, dtype, v.type.active if dtype.kind == "f" else frozenset())
        if v.static is not NOTHING:
            return Value(new, literal(v.static, dtype), None, v.static)
        if v.type.stored == new.stored:
            return Value(new, v.text, v.tangents)
        old = v.type.stored
        texts = [self.printed(cast(variable(x, old), new.stored)) for x in v.texts()]
        return Value(new, texts[0], dict(zip(sorted(v.tangents), texts[1:], strict=True)) if new.active else None)

    def narrowed(self, v: Value) -> Value:
        """A mixed number as that of NumPy's that it may be."""
        if v.type.kind != "mixed":
            return v
        return self.cast(self.widened(v), v.dtype)

    def widened(self, v: Value, kind: str = "numpy") -> Value:
        """A mixed number as a double."""
        if v.type.kind != "mixed":
            return v
        tangents = {k: t for k, t in v.tangents.items() if k != WEAK}
        return Value(Type(kind, FLOAT, v.type.active - {WEAK}), v.text, tangents)

    def either_way(self, f: Callable[..., Value], *values: Value) -> Value:
        """A function of numbers of Python and mixed ones, in the way of those that they are."""
        weak = " && ".join([f"{v.tangents[WEAK]} != 0" for v in values if v.type.kind == "mixed"])
        python, numpy = [self.widened(v, "python") for v in values], list(values)
        return self.branches(weak, lambda: f(*python), lambda: f(*[self.narrowed(v) for v in numpy]))

    def branches(self, condition: str, first: Any, second: Any) -> Value:
        raise NotImplementedError

    def converted(self, v: Value, kind: Type) -> Value:
        """A value as a variable of a wider type has it."""
        weak = literal(v.type.kind == "python", kind.stored)
        v = self.cast(v, kind.stored, "numpy")
        zero = literal(0, kind.stored)
        return Value(kind, v.text, {k: v.tangents.get(k, weak if k == WEAK else zero) for k in sorted(kind.active)})

    def as_int(self, v: Value) -> Value:
        return self.cast(v, INT) if v.type.kind == "python" and v.dtype == BOOL else v

    def truth(self, v: Value) -> Any:
        """The text of what a number means as a condition; a bool where that is known."""
        if v.static is not NOTHING:
            return bool(v.static)
        return v.text if v.dtype == BOOL else f"{v.text} != 0"

    def apply(self, f: Any, values: list[Value], kind: str = "numpy", rule: Any = None) -> Value:
        """A ufunc of numbers. `rule`: the callable whose derivative it has, itself if there is none."""
        wide = any(v.type.kind == "numpy" and v.dtype == FLOAT for v in values)
        values = [self.widened(v) if wide else self.narrowed(v) for v in values]
        types = [v.dtype.type(0).item().__class__ if v.type.kind == "python" else v.dtype for v in values]
        if all(v.type.kind == "python" for v in values):
            types = [v.dtype for v in values]
        kinds = tuple([np.dtype(bool) if t is bool else t for t in types])
        try:
            dtypes = loop(f, kinds, None, "same_kind")
        except TypeError as error:
            raise Untranslatable(str(error).partition(",")[0]) from None
        values = [self.fitting(v, d) for v, d in zip(values, dtypes, strict=False)]
        args = [number(v.static, v.dtype) if v.static is not NOTHING else variable(v.text, v.dtype) for v in values]
        name = f.__name__
        e = checked(ONE[name](args, dtypes[-1]) if name in ONE else call(name, tuple(args), dtypes[-1]))
        return self.derived(rule or f, values, args, e, kind)

    def fitting(self, v: Value, dtype: np.dtype[Any]) -> Value:
        """An operand in the dtype that is computed with; a whole number of Python's has to be one of that dtype."""
        if v.type.kind == "python" and v.dtype == INT and v.static is NOTHING and dtype.kind in "iu" and dtype != INT:
            info = np.iinfo(dtype)
            above = f" || {v.text} > {info.max}" if dtype.itemsize < 8 else ""
            self.check(f"{v.text} < {info.min}{above}")
        return self.cast(v, dtype)

    def derived(self, f: Any, values: list[Value], args: list[Expr], e: Expr, kind: str) -> Value:
        """The value of an expression, with the derivatives that the rules of its function give."""
        active = frozenset().union(*[v.type.active for v in values])
        op = operation(f, len(values))
        if e.dtype.kind != "f" or (op is None and getattr(f, "__name__", "") in DATA):
            active = frozenset()
        text = self.printed(e)
        if not active:
            return Value(Type(kind, e.dtype), text)
        if op is None:
            raise Untranslatable(f"{getattr(f, '__name__', f)} has no derivative rule", "Use a function that has one.")
        y = variable(text, e.dtype)
        operands = [v.static if type(v.static) in PYTHON else a for v, a in zip(values, args, strict=True)]
        terms: dict[int, list[str]] = {k: [] for k in sorted(active)}
        for i, v in enumerate(values):
            if v.tangents:
                self.add_terms(terms, v, self.factor(op, i, operands, y), e.dtype)
        tangents = {k: self.summed(found, e.dtype) for k, found in terms.items() if found}
        return Value(Type(kind, e.dtype, frozenset(tangents)), text, tangents)

    def factor(self, op: Any, i: int, operands: list[Any], y: Expr) -> Any:
        """The derivative by operand `i`: 1, -1, 0, or a text."""
        try:
            p = partial(op, i, operands, y)
        except (NotImplementedError, AttributeError, TypeError) as error:
            reason = f"the derivative of {op.name} cannot run for one entry on a GPU: it needs {error}"
            raise Untranslatable(reason, "Call it on the CPU.") from None
        if isinstance(p, Expr):
            return self.printed(cast(p, y.dtype))
        return int(p) if p in (0, 1, -1) else literal(p, y.dtype)

    def add_terms(self, terms: dict[int, list[str]], v: Value, p: Any, dtype: np.dtype[Any]) -> None:
        for k, t in v.tangents.items():
            if p == 1:
                terms[k].append(t)
            elif p != 0:
                product = f"-{t}" if p == -1 else f"product({t}, {p})"
                rounded = f"half_precision({product})" if dtype == np.float16 and p != -1 else product
                terms[k].append(self.let(dtype, rounded))

    def summed(self, terms: list[str], dtype: np.dtype[Any]) -> str:
        total = terms[0]
        for t in terms[1:]:
            total = self.printed(applied(np.add, [variable(total, dtype), variable(t, dtype)]))
        return total

    # Operators

    def binary(self, node: type, a: Value, b: Value) -> Value:
        if node not in BINARY:
            raise Untranslatable("this operator is not one of numbers")
        f, python = BINARY[node]
        if a.static is not NOTHING and b.static is not NOTHING:
            try:
                folded = python(a.static, b.static)
            except Exception:  # it is raised when the kernel gets there
                folded = None
            if type(folded) in (float, bool) or whole(folded):
                return self.constant(folded)
        kinds = {a.type.kind, b.type.kind}
        if "mixed" in kinds and "numpy" not in kinds:
            return self.either_way(lambda a, b: self.binary(node, a, b), a, b)
        if kinds == {"python"}:
            a, b = self.as_int(a), self.as_int(b)
            return self.of_ints(f, a, b) if a.dtype == b.dtype == INT else self.of_floats(f, a, b)
        if f is np.power and a.dtype.kind in "iu" and b.dtype.kind in "iu" and b.static is NOTHING:
            self.check(f"{b.text} < 0" if b.dtype.kind == "i" else "false")
        return self.apply(f, [a, b])

    def of_ints(self, f: Any, a: Value, b: Value) -> Value:
        """Whole numbers of Python, which must fit 64 bits."""
        name = f.__name__
        if f in (np.divide, np.floor_divide, np.remainder):
            if not b.static or b.static is NOTHING:
                self.check(f"{b.text} == 0")
            if f is np.divide:
                return self.apply(f, [self.cast(a, FLOAT), self.cast(b, FLOAT)], "python")
            self.check(f"{b.text} == -1 && beyond_subtract(0, {a.text})") if b.static is NOTHING else None
        elif f in (np.add, np.subtract, np.multiply, np.power):
            self.check(f"beyond_{name}({a.text}, {b.text})")
        elif f in (np.left_shift, np.right_shift):
            self.check(f"{b.text} < 0")
        r = self.apply(f, [a, b], "python")
        if f is np.left_shift:
            self.check(f"{a.text} != 0 && ({b.text} > 62 || {r.text} >> {b.text} != {a.text})")
        return r

    def of_floats(self, f: Any, a: Value, b: Value) -> Value:
        """Numbers of Python of which one is a float."""
        a, b = self.cast(a, FLOAT), self.cast(b, FLOAT)
        if f in (np.divide, np.floor_divide, np.remainder) and (b.static is NOTHING or b.static == 0):
            self.check(f"{b.text} == 0")
        r = self.apply(f, [a, b], "python")
        if f is np.power:
            finite = f"is_finite({a.text}) && is_finite({b.text})"
            self.check(f"{finite} && !is_finite({r.text})")
        return r

    def compare(self, node: type, a: Value, b: Value) -> Value:
        f, python = COMPARE[node]
        if a.static is not NOTHING and b.static is not NOTHING:
            return self.constant(python(a.static, b.static))
        kinds = {a.type.kind, b.type.kind}
        if "mixed" in kinds and "numpy" not in kinds:
            return self.either_way(lambda a, b: self.compare(node, a, b), a, b)
        kind = "python" if kinds == {"python"} else "numpy"
        if kind == "python":
            dtype = INT if {a.dtype, b.dtype} <= {INT, BOOL} else FLOAT
            a, b = self.cast(a, dtype), self.cast(b, dtype)
        return self.apply(f, [a, b], kind)

    def negative(self, v: Value) -> Value:
        if v.static is not NOTHING and (type(v.static) is float or whole(-v.static)):
            return self.constant(-v.static)
        v = self.as_int(v)
        if v.type.kind == "mixed":
            return self.either_way(self.negative, v)
        if v.type.kind == "python" and v.dtype == INT:
            self.check(f"beyond_subtract(0, {v.text})")
        return self.apply(np.negative, [v], "python" if v.type.kind == "python" else "numpy")
