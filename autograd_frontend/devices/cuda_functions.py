"""CUDA texts of elementwise functions.

A function that has a block under `ops` is computed by the `cuda` of its block: an expression in its operands, or
statements that end in `return`. `T` is the type of an entry, `W` the type in which whole numbers of it wrap. The
tables here have the functions without a block (operands `x`, or `a` and `b`), and the texts for element types of which
NumPy computes something else: whole numbers, booleans, halves, complex numbers.

A name is NumPy's, SciPy's, or that of a block. Parts of what gives two results: "frexp_mantissa", "frexp_exponent",
"modf_fraction", "modf_whole"; "complex" puts two parts together.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..ops.block import OPERATIONS
from .cuda_complex import COMPLEXES
from .cuda_types import converted, identifier, register, wide

COMPARISONS = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip

OUTSIDE = "a != a || b != b ? a + b : a < 0 || b < 0 || a > b && b == 0 ? INF"  # the domain of relative entropies
ENTROPY = "a * (fabs(a / b) < INF && a / b > 0 ? log(a / b) : log(a) - log(b))"
FLOATS = {
    **{name: f"a {sign} b" for name, sign in COMPARISONS.items()},
    "logical_and": "a != T(0) && b != T(0)",
    "logical_or": "a != T(0) || b != T(0)",
    "logical_xor": "(a != T(0)) != (b != T(0))",
    "logical_not": "x == T(0)",
    "isnan": "x != x",
    "isinf": "fabs(x) == INF",
    "isfinite": "fabs(x) < INF",
    "signbit": "copysign(T(1), x) < 0",
    "sign": "x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x",
    "floor": "floor(x)",
    "ceil": "ceil(x)",
    "trunc": "trunc(x)",
    "rint": "rint(x)",
    "floor_divide": """
        T r = fmod(a, b), q = (a - r) / b;
        if (b == 0) return a / b;
        if (r != 0 && (b < 0) != (r < 0)) q -= 1;
        if (q == 0) return copysign(T(0), a / b);
        T w = floor(q);
        return q - w > T(0.5) ? w + 1 : w;""",
    "nextafter": "nextafter(a, b)",
    "spacing": "fabs(x) < INF ? nextafter(x, x < 0 ? -INF : INF) - x : INF - INF",
    "frexp_mantissa": "int e; return fabs(x) < INF ? frexp(x, &e) : x;",
    "frexp_exponent": "int e = 0; if (fabs(x) < INF) frexp(x, &e); return e;",
    "modf_fraction": "copysign(fabs(x) == INF ? T(0) : x - trunc(x), x)",
    "modf_whole": "trunc(x)",
    "complex": "Complex<T>(a, b)",
    "erfinv": "erfinv(x)",
    "erfcinv": "erfcinv(x)",
    "erfcx": "erfcx(x)",
    "ndtri": "normcdfinv(x)",
    "i0": "cyl_bessel_i0(x)",
    "i1": "cyl_bessel_i1(x)",
    "y0": "y0(x)",
    "y1": "y1(x)",
    "entr": "x > 0 ? -x * log(x) : x == 0 ? T(0) : x < 0 ? -INF : x",
    "rel_entr": f"return {OUTSIDE} : a == 0 ? T(0) : {ENTROPY};",
    "kl_div": f"return {OUTSIDE} : a == 0 ? b : {ENTROPY} - a + b;",
    "exprel": "fabs(x) < T(1e-16) ? T(1) : x > T(717) ? INF : expm1(x) / x",
    "huber": "a < 0 ? INF : fabs(b) <= a ? T(0.5) * b * b : a * (fabs(b) - T(0.5) * a)",
    "boxcox": "fabs(b) < T(1e-19) ? log(a) : expm1(b * log(a)) / b",
    "boxcox1p": "fabs(b) < T(1e-19) ? log1p(a) : expm1(b * log1p(a)) / b",
    "inv_boxcox": "b == 0 ? exp(a) : exp(log1p(b * a) / b)",
    "inv_boxcox1p": "b == 0 ? expm1(a) : expm1(log1p(b * a) / b)",
    # Of whole order: up from the first two where b is larger, else down from far above (Miller).
    "jn": """
        T m = fabs(a), y = fabs(b), two = 2;
        T sign = fmod(m, two) == 1 && (a < 0) != (b < 0) ? T(-1) : T(1);
        if (!(y < INF && m <= T(10000) && m == floor(m))) return INF - INF;
        if (m == 0) return j0(y);
        if (m < y || m == 1) {
            T p = j0(y), q = j1(y);
            for (T k = 1; k < m; k += 1) { T r = two * k / y * q - p; p = q; q = r; }
            return sign * q;
        }
        if (y == 0) return T(0);
        T p = 0, q = T(1e-30), total = 0, found = 0;
        for (T k = two * floor((m + sqrt(T(160) * m)) / 2 + 8); k > 0; k -= 1) {
            T r = two * k / y * q - p;
            p = q; q = r;
            if (fabs(q) > T(1e15)) { p *= T(1e-15); q *= T(1e-15); total *= T(1e-15); found *= T(1e-15); }
            if (k - 1 == m) found = q;
            if (fmod(k, two) == 1) total += k == 1 ? q / 2 : q;
        }
        return sign * found / (two * total);""",
    # Hurwitz's, of order a > 1: the first terms, then Euler and Maclaurin's rest.
    "zeta": """
        if (!(a > 1)) return a == 1 ? INF : INF - INF;
        if (b <= 0 && (b == floor(b) || a != floor(a))) return b == floor(b) ? INF : INF - INF;
        T w = b, y = pow(w, -a);
        for (int k = 1; k < 10 || w <= 9; ++k) { w += 1; y += pow(w, -a); }
        T p = pow(w, -a), rising = a, total = p * w / (a - 1) - p / 2;
        const T even[] = {T(1.0 / 12), T(-1.0 / 720), T(1.0 / 30240), T(-1.0 / 1209600), T(1.0 / 47900160),
                          T(-691.0 / 1307674368000.0), T(1.0 / 74724249600.0), T(-3617.0 / 10670622842880000.0)};
        for (int k = 0; k < 8; ++k) {
            p /= w;
            total += even[k] * rising * p;
            p /= w;
            rising *= (a + 2 * k + 1) * (a + 2 * k + 2);
        }
        return y + total;""",
    # By reflection below 1/2, by recurrence to 10 or more, where the series leaves 3e-18.
    "digamma": """
        T z = x < T(0.5) ? T(1) - x : x, y = 0;
        for (; z < T(10); z += T(1)) y -= T(1) / z;
        T s = T(1) / (z * z), p = T(-3617.0 / 8160);
        p = p * s + T(1.0 / 12);
        p = p * s + T(-691.0 / 32760);
        p = p * s + T(1.0 / 132);
        p = p * s + T(-1.0 / 240);
        p = p * s + T(1.0 / 252);
        p = p * s + T(-1.0 / 120);
        p = p * s + T(1.0 / 12);
        y += log(z) - T(0.5) / z - p * s;
        if (!(x < T(0.5))) return y;
        T r = x - rint(x), pi = T(3.141592653589793);
        if (r == 0) return x < 0 ? INF - INF : copysign(INF, -x);
        return y - pi / tan(pi * r);""",
}  # fmt: skip

HALVES = {  # NumPy's order of comparison, seen in which of two zeros it takes
    "maximum": "a >= b || a != a ? a : b",
    "minimum": "a <= b || a != a ? a : b",
    "fmax": "a >= b || b != b ? a : b",
    "fmin": "a <= b || b != b ? a : b",
    "clip": "T m = x >= low || x != x ? x : low; return m <= high || m != m ? m : high;",
    "nextafter": "next_half(a, b)",
    "spacing": "fabs(x) < INF ? next_half(x, INF) - x : INF - INF",
}

UNSIGNED = {
    **{name: f"a {sign} b" for name, sign in COMPARISONS.items()},
    **{name: FLOATS[name] for name in ("logical_and", "logical_or", "logical_xor", "logical_not")},
    "isnan": "false",
    "isinf": "false",
    "isfinite": "true",
    "add": "T(W(a) + W(b))",
    "subtract": "T(W(a) - W(b))",
    "multiply": "T(W(a) * W(b))",
    "negative": "T(W(0) - W(x))",
    "positive": "x",
    "absolute": "x",
    "conjugate": "x",
    "floor": "x",
    "ceil": "x",
    "trunc": "x",
    "rint": "x",
    "square": "T(W(x) * W(x))",
    "sign": "T(x != 0)",
    "reciprocal": "T(x == 1)",
    "maximum": "a > b ? a : b",
    "minimum": "a < b ? a : b",
    "fmax": "a > b ? a : b",
    "fmin": "a < b ? a : b",
    "clip": "T m = x > low ? x : low; return m < high ? m : high;",
    "where": "condition ? x : y",
    "floor_divide": "b == 0 ? T(0) : T(a / b)",
    "remainder": "b == 0 ? T(0) : T(a % b)",
    "fmod": "b == 0 ? T(0) : T(a % b)",
    "power": """
        W p = 1, s = W(a);
        for (T n = b; n != 0; n >>= 1) {
            if (n & 1) p *= s;
            s *= s;
        }
        return T(p);""",
    "bitwise_and": "T(a & b)",
    "bitwise_or": "T(a | b)",
    "bitwise_xor": "T(a ^ b)",
    "invert": "T(~W(x))",
    "left_shift": "W(b) < 8 * sizeof(T) ? T(W(a) << W(b)) : T(0)",
    "right_shift": "W(b) < 8 * sizeof(T) ? T(a >> b) : T(0)",
    "bitwise_count": "(unsigned char)__popcll((unsigned long long)x)",
    "gcd": """
        W p = W(a), q = W(b);
        while (p != 0) { W r = q % p; q = p; p = r; }
        return T(q);""",
    "lcm": """
        W p = W(a), q = W(b);
        while (p != 0) { W r = q % p; q = p; p = r; }
        return q == 0 ? T(0) : T(W(a) / q * W(b));""",
}

MAGNITUDES = "W p = a < 0 ? W(0) - W(a) : W(a), q = b < 0 ? W(0) - W(b) : W(b)"
SIGNED = UNSIGNED | {
    "absolute": "x < 0 ? T(W(0) - W(x)) : x",
    "sign": "T((x > 0) - (x < 0))",
    # 1.0/0 as a whole number: the lowest int, of which a short has the low bits.
    "reciprocal": "x == 0 ? T(sizeof(T) > 2 ? W(1) << (8 * sizeof(T) - 1) : W(0)) : x == 1 || x == -1 ? x : T(0)",
    "floor_divide": """
        if (b == 0) return T(0);
        if (b == -1) return T(W(0) - W(a));
        T q = T(a / b);
        return a % b != 0 && (a < 0) != (b < 0) ? T(q - 1) : q;""",
    "remainder": """
        if (b == 0 || b == -1) return T(0);
        T r = T(a % b);
        return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;""",
    "fmod": "b == 0 || b == -1 ? T(0) : T(a % b)",
    "power": "if (b < 0) return T(a == 1 ? 1 : a != -1 ? 0 : b & 1 ? -1 : 1);" + UNSIGNED["power"],
    "right_shift": "W(b) < 8 * sizeof(T) ? T(a >> b) : T(a < 0 ? -1 : 0)",
    "bitwise_count": "(unsigned char)__popcll((unsigned long long)(x < 0 ? W(0) - W(x) : W(x)))",
    "gcd": f"{MAGNITUDES}; while (p != 0) {{ W r = q % p; q = p; p = r; }} return T(q);",
    "lcm": f"""
        {MAGNITUDES}, m = p, n = q;
        while (p != 0) {{ W r = q % p; q = p; p = r; }}
        return q == 0 ? T(0) : T(m / q * n);""",
}

BOOLEANS = {
    **{name: UNSIGNED[name] for name in COMPARISONS},
    **{name: UNSIGNED[name] for name in ("isnan", "isinf", "isfinite", "absolute", "conjugate", "where")},
    **{name: UNSIGNED[name] for name in ("floor", "ceil", "trunc", "bitwise_and", "bitwise_or", "bitwise_xor")},
    "logical_and": "a && b",
    "logical_or": "a || b",
    "logical_xor": "a != b",
    "logical_not": "!x",
    "add": "a || b",
    "multiply": "a && b",
    "maximum": "a || b",
    "minimum": "a && b",
    "fmax": "a || b",
    "fmin": "a && b",
    "clip": "(x || low) && high",
    "invert": "!x",
}

ROUNDED_ALREADY = set(
    "where negative positive absolute fabs maximum minimum fmax fmin copysign floor ceil trunc rint sign clip relu "
    "cast heaviside nextafter modf_whole modf_fraction frexp_mantissa conjugate remainder fmod".split()
)
OF_RESULT = {"where", "cast"}  # whose `T` is the type of the result, not of the first argument


OPERANDS = {"where": ("condition", "x", "y"), "clip": ("x", "low", "high")}


class Text(NamedTuple):
    """The names of the operands, and what is computed of them."""

    operands: tuple[str, ...]
    body: str


BLOCKS: dict[str, Any] = {}  # every name of a block that has a `cuda` -> the block
COUNTED = 0  # how many operations there were when BLOCKS was made


def block(name: str) -> Any:
    """The block that computes the function of this name, or None."""
    global COUNTED
    if COUNTED != len(OPERATIONS):
        for op in list(OPERATIONS.values()):
            paths = [path.rpartition(".") for path in op.calls]
            names = [last for module, _, last in paths if module in ("numpy", "scipy.special")]
            if op.cuda:
                BLOCKS.update(dict.fromkeys([op.key, *names], op))
        COUNTED = len(OPERATIONS)
    return BLOCKS.get(name)


NAMES = {  # other names of what the tables have
    "abs": "absolute", "fabs": "absolute", "sub": "subtract", "mul": "multiply", "neg": "negative",
    "pos": "positive", "mod": "remainder", "div": "divide", "true_divide": "divide", "inv": "reciprocal",
    "pow": "power", "conj": "conjugate", "bitwise_not": "invert", "psi": "digamma", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip


def table(dtype: np.dtype[Any]) -> dict[str, str]:
    """The texts that entries of this type have for themselves."""
    if dtype == np.float16:
        return HALVES
    return {"b": BOOLEANS, "u": UNSIGNED, "i": SIGNED, "c": COMPLEXES}.get(dtype.kind, {})


def find(name: str, arguments: tuple[np.dtype[Any], ...], result: np.dtype[Any]) -> Text | None:
    """What computes a function of entries of these types, or None where nothing does."""
    if name == "cast":
        return Text(("x",), converted(arguments[0], result))
    usual, dtype = NAMES.get(name, name), result if name in OF_RESULT else arguments[0]
    if {d.name for d in arguments} == {"int64", "uint64"}:
        return mixed(usual, arguments)
    text = table(dtype).get(usual)
    if text is None and dtype.kind == "f":
        op = block(name)
        if op:
            return Text(op.operands, op.cuda) if len(op.operands) == len(arguments) else None
        text = FLOATS.get(usual)
    if text is None:
        return None
    operands = OPERANDS.get(usual, ("a", "b") if re.search(r"\bb\b", text) else ("x",))
    return Text(operands, text) if len(operands) == len(arguments) else None


def mixed(name: str, arguments: tuple[np.dtype[Any], ...]) -> Text | None:
    """Comparison of int64 with uint64, of which neither type has all numbers."""
    if name not in COMPARISONS:
        return None
    signed, unsigned, order = ("a", "b", "order") if arguments[0].kind == "i" else ("b", "a", "-order")
    exact = f"(unsigned long long){signed}"
    three = f"{signed} < 0 || {exact} < {unsigned} ? -1 : {exact} > {unsigned} ? 1 : 0"
    return Text(("a", "b"), f"int order = {three}; return {order} {COMPARISONS[name]} 0;")


def has(name: str, argument: np.dtype[Any], result: np.dtype[Any]) -> bool:
    """Whether there is a text for a function whose first argument is of this type."""
    if name == "where" or name == "cast":
        return True
    return any(find(name, (argument,) * n, result) is not None for n in (1, 2, 3))


@cache
def definition(name: str, arguments: tuple[np.dtype[Any], ...], result: np.dtype[Any]) -> tuple[str, str]:
    """The name and the text of a function of entries; NotImplementedError where there is none."""
    found = find(name, arguments, result)
    if found is None:
        raise NotImplementedError(f"the GPU has no {name} of {', '.join(map(str, arguments))}")
    entry = result if name in OF_RESULT else arguments[0]
    title = "_".join([name, *map(identifier, arguments), *[identifier(result)] * (result != arguments[0])])
    parameters = ", ".join([f"{register(d)} {x}" for d, x in zip(arguments, found.operands, strict=True)])
    body = found.body if ";" in found.body else f"return {found.body};"
    if re.search(r"\bINF\b", body):
        body = f"const {real(entry)} INF = {real(entry)}(__int_as_float(0x7f800000)); {body}"
    for short, long in (("W", wide(entry)), ("T", register(entry))):
        if re.search(rf"\b{short}\b", body):
            body = f"using {short} = {long}; {body}"
    return title, f"__device__ __forceinline__ {register(result)} {title}({parameters}) {{ {body} }}\n"


def real(dtype: np.dtype[Any]) -> str:
    """The type of a part of an entry."""
    return {"complex64": "float", "complex128": "double"}.get(dtype.name, register(dtype))
