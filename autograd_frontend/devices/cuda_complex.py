"""CUDA texts of functions of complex numbers, `x` or `a` and `b`. `T` is the type of an entry, `R` that of a part."""

from __future__ import annotations

REAL = "using R = decltype(x.re);"
# Products of a hyperbolic and a circular function, exact zeros where one is zero. Beyond what `exp` reaches, `h` is the
# other half of the hyperbolic one.
WAVES = """
    R s = sin(v), c = cos(v), sh = sinh(u), ch = cosh(u), h = 1;
    if (fabs(u) > (sizeof(R) == 4 ? R(80) : R(700))) { h = exp(fabs(u) / 2); ch = h / 2; sh = copysign(ch, u); }
    auto times = [h](R p, R q) { return p == 0 || q == 0 ? copysign(R(0), p) * copysign(R(1), q) : p * q * h; };"""
ALONG, ACROSS = f"{REAL} R u = x.re, v = x.im; {WAVES}", f"{REAL} R u = x.im, v = x.re; {WAVES}"
TANH = """
    if (fabs(u) > (sizeof(R) == 4 ? R(10) : R(20))) {
        R e = exp(-fabs(u));
        T z(copysign(R(1), u), 4 * sin(v) * cos(v) * e * e);
        return RESULT;
    }
    R s = sinh(u), t = tan(v), w = 1 + t * t, d = 1 + w * s * s;
    T z(w * sqrt(1 + s * s) * s / d, t / d);
    return RESULT;"""
EXP = """
    R h = u > (sizeof(R) == 4 ? R(80) : R(700)) ? exp(u / 2) : R(1), r = h == 1 ? exp(u) : h, s = sin(v), c = cos(v);
    return T(r == 0 || c == 0 ? copysign(R(0), c) : r * c * h, r == 0 || s == 0 ? copysign(R(0), s) : r * s * h);"""
# Near the unit circle from |z|^2 - 1 with the rounding errors of its terms, where its logarithm would have few digits.
LOG = f"""{REAL}
    R p = fmax(fabs(x.re), fabs(x.im)), q = fmin(fabs(x.re), fabs(x.im)), r;
    if (2 * p > 1 && p < 2) {{
        R m = p * p, n = q * q, s = m - 1, i = s - m, t = s + n, j = t - s;
        R rest = fma(p, p, -m) + fma(q, q, -n) + (m - (s - i)) + (-1 - i) + (s - (t - j)) + (n - j);
        r = log1p(t + rest) / 2;
    }} else r = log(hypot(p, q));
    T z(r, atan2(x.im, x.re));"""
# Kahan, Branch cuts for complex elementary functions (1987).
ROOT = """auto root = [](R p, R q) {
        R r = hypot(p, q);
        if (fabs(q) == R(__int_as_float(0x7f800000))) return T(fabs(q), q);
        if (r == 0) return T(R(0), q);
        r = sqrt(fabs(p) / 2 + r / 2);
        return p >= 0 ? T(r, q / (2 * r)) : T(fabs(q) / (2 * r), copysign(r, q));
    };"""
ARCSIN = f"""{ROOT}
    T l = root(1 - u, -v), m = root(1 + u, v);
    T z(atan2(u, l.re * m.re - l.im * m.im), asinh(l.re * m.im - l.im * m.re));
    return RESULT;"""
ARCTANH = """
    R far = sizeof(R) == 4 ? R(1e9f) : R(1e18), r = hypot(u, v), p = fabs(u), q = 1 - p;
    T z = r > far ? T(u / r / r, copysign(R(1.5707963267948966), v))
        : T(copysign(log1p(4 * p / (q * q + v * v)) / 4, u), atan2(2 * v, q * (1 + p) - v * v) / 2);
    return RESULT;"""


def turned(body: str, circular: bool) -> str:
    """The function of `u + iv` that a body computes as `z`, of x; or `-i f(ix)`, which is the circular one."""
    if circular:
        return f"{REAL} R u = -x.im, v = x.re; {body.replace('RESULT', 'T(z.im, -z.re)')}"
    return f"{REAL} R u = x.re, v = x.im; {body.replace('RESULT', 'z')}"


AFTER = "(a.re > b.re && a.im == a.im && b.im == b.im || a.re == b.re && a.im"
BEFORE = "(a.re < b.re && a.im == a.im && b.im == b.im || a.re == b.re && a.im"
COMPLEXES = {
    "less": f"{BEFORE} < b.im)",
    "less_equal": f"{BEFORE} <= b.im)",
    "greater": f"{AFTER} > b.im)",
    "greater_equal": f"{AFTER} >= b.im)",
    "maximum": f"a.re != a.re || a.im != a.im || {AFTER} >= b.im) ? a : b",
    "minimum": f"a.re != a.re || a.im != a.im || {BEFORE} <= b.im) ? a : b",
    "fmax": f"b.re != b.re || b.im != b.im || {AFTER} >= b.im) ? a : b",
    "fmin": f"b.re != b.re || b.im != b.im || {BEFORE} <= b.im) ? a : b",
    "rint": "T(rint(x.re), rint(x.im))",
    "sin": f"{ACROSS} return T(times(ch, s), times(sh, c));",
    "cos": f"{ACROSS} return T(times(ch, c), -times(sh, s));",
    "sinh": f"{ALONG} return T(times(sh, c), times(ch, s));",
    "cosh": f"{ALONG} return T(times(ch, c), times(sh, s));",
    "tan": turned(TANH, True),
    "tanh": turned(TANH, False),
    "arcsin": turned(ARCSIN, False),
    "arcsinh": turned(ARCSIN, True),
    "arctan": turned(ARCTANH, True),
    "arctanh": turned(ARCTANH, False),
    "arccos": f"""{REAL} {ROOT}
        T l = root(1 - x.re, -x.im), m = root(1 + x.re, x.im);
        return T(2 * atan2(l.re, m.re), asinh(m.re * l.im - m.im * l.re));""",
    "arccosh": f"""{REAL} {ROOT}
        T l = root(x.re - 1, x.im), m = root(x.re + 1, x.im);
        return T(asinh(l.re * m.re + l.im * m.im), 2 * atan2(l.im, m.re));""",
    "exp2": f"{REAL} R u = x.re * R(0.6931471805599453), v = x.im * R(0.6931471805599453); {EXP}",
    "expm1": """
        auto s = sin(x.im / 2);
        return T(expm1(x.re) * cos(x.im) - 2 * s * s, exp(x.re) * sin(x.im));""",
    "log2": f"{LOG} return T(z.re * R(1.4426950408889634), z.im * R(1.4426950408889634));",
    "log10": f"{LOG} return T(z.re * R(0.4342944819032518), z.im * R(0.4342944819032518));",
    "log1p": "return T(log(hypot(x.re + 1, x.im)), atan2(x.im, x.re + 1));",
    "equal": "a == b",
    "not_equal": "a != b",
    "logical_and": "a != T(0) && b != T(0)",
    "logical_or": "a != T(0) || b != T(0)",
    "logical_xor": "(a != T(0)) != (b != T(0))",
    "logical_not": "x == T(0)",
    "add": "a + b",
    "subtract": "a - b",
    "multiply": "a * b",
    "divide": "a / b",
    "negative": "-x",
    "positive": "x",
    "square": "x * x",
    "reciprocal": """
        if (fabs(x.im) <= fabs(x.re)) {
            auto r = x.im / x.re, d = x.re + x.im * r;
            return T(1 / d, -r / d);
        }
        auto r = x.re / x.im, d = x.re * r + x.im;
        return T(r / d, -1 / d);""",
    "conjugate": "T(x.re, -x.im)",
    "real": "x.re",
    "imag": "x.im",
    "absolute": "hypot(x.re, x.im)",
    "angle": "atan2(x.im, x.re)",
    "sign": """
        auto r = hypot(x.re, x.im), zero = r * 0;
        if (r < INF) return r == 0 ? T(0) : T(x.re / r, x.im / r);
        if (r != r || fabs(x.re) == fabs(x.im)) return T(zero, zero);
        return fabs(x.re) == INF ? T(x.re > 0 ? 1 : -1, 0) : T(0, x.im > 0 ? 1 : -1);""",
    "exp": f"{REAL} R u = x.re, v = x.im; {EXP}",
    "log": f"{LOG} return z;",
    "sqrt": f"{REAL} {ROOT} return root(x.re, x.im);",
    "power": """
        if (b.im == 0 && b.re == rint(b.re) && fabs(b.re) < 100) {
            T p = T(1), s = a;
            for (int n = int(fabs(b.re)); n > 0; n >>= 1) {
                if (n & 1) p = p * s;
                s = s * s;
            }
            return b.re < 0 ? T(1) / p : p;
        }
        if (a == T(0)) return b.re > 0 ? T(0) : T(INF - INF, INF - INF);
        auto r = log(hypot(a.re, a.im)), t = atan2(a.im, a.re), m = exp(b.re * r - b.im * t), w = b.re * t + b.im * r;
        return T(m * cos(w), m * sin(w));""",
    "isnan": "x.re != x.re || x.im != x.im",
    "isinf": "fabs(x.re) == INF || fabs(x.im) == INF",
    "isfinite": "fabs(x.re) < INF && fabs(x.im) < INF",
    "where": "condition ? x : y",
}
