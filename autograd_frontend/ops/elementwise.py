"""Exponentials, logarithms and roots: NumPy's and `math`'s in one block each.

Every rule is written so that it keeps its digits: factors are ordered, differences are not formed where they cancel,
and squares are not formed where they overflow. A comment says where the textbook's formula fails.
"""

from __future__ import annotations

import numpy as np

from .block import elementwise, span

# Constants as (float, longdouble): `ops.constant(LN2, x)` has the precision of x.
LN2 = (0.6931471805599453, np.longdouble("0.693147180559945309417232"))
LN10 = (2.302585092994046, np.longdouble("2.302585092994045684017991"))
PI = (np.pi, np.longdouble("3.141592653589793238462643"))


@elementwise("numpy.exp math.exp")
class exp:
    """`e**x`. Pullback `g*y`. NumPy overflows to inf, `math` raises OverflowError."""

    complex = "conjugated"
    cuda = "exp(x)"

    def value(ops, x):
        return ops.exp(x)

    def pull_x(ops, g, y):
        return g * y

    samples = span(-3.0, 3.0)


@elementwise("numpy.exp2 math.exp2 scipy.special.exp2")
class exp2:
    """`2**x`. Pullback `g*(y*ln 2)`."""

    cuda = "exp2(x)"

    def pull_x(ops, g, y):
        return g * (y * ops.constant(LN2, y))

    samples = span(-3.0, 3.0)


@elementwise("scipy.special.exp10")
class exp10:
    """`10**x`. Pullback `g*(y*ln 10)`."""

    cuda = "exp10(x)"

    def pull_x(ops, g, y):
        return g * (y * ops.constant(LN10, y))

    samples = span(-3.0, 3.0)


@elementwise("numpy.expm1 math.expm1 scipy.special.expm1")
class expm1:
    """`e**x - 1`, exact near 0. Pullback `g*exp(x)`: `y + 1` would be 0 below -37."""

    complex = "conjugated"
    cuda = "expm1(x)"

    def pull_x(ops, g, x):
        return g * ops.exp(x)

    samples = span(-3.0, 3.0)


@elementwise("numpy.log math.log")
class log:
    """Natural logarithm. Pullback `g/x`, IEEE: at 0 NumPy's -inf has the derivative inf, below 0 its nan has `1/x`.
    `math` raises ValueError."""

    complex = "conjugated"
    cuda = "log(x)"

    def value(ops, x):
        return ops.log(x)

    def pull_x(ops, g, x):
        return g / x

    samples = span(0.2, 5.0)


@elementwise("math.log")
class log_base:
    """`math.log(a, b)`, the logarithm of `a` to the base `b`. Pullback `g/(a*log(b))`, `-(g*y)/(b*log(b))`."""

    def pull_a(ops, g, a, b):
        return g / ops.log(b) / a

    def pull_b(ops, g, b, y):
        return -(g * y) / ops.log(b) / b

    samples = ((3.5, 2.0), (0.3, 10.0), (7.0, 0.5))


@elementwise("numpy.log2 math.log2")
class log2:
    """Logarithm to the base 2. Pullback `g/(x*ln 2)`, IEEE."""

    complex = "conjugated"
    cuda = "log2(x)"

    def pull_x(ops, g, x):
        return g / (x * ops.constant(LN2, x))

    samples = span(0.2, 5.0)


@elementwise("numpy.log10 math.log10")
class log10:
    """Logarithm to the base 10. Pullback `g/ln 10/x`, IEEE: `x*ln 10` overflows first."""

    complex = "conjugated"
    cuda = "log10(x)"

    def pull_x(ops, g, x):
        return g / ops.constant(LN10, x) / x

    samples = span(0.2, 5.0)


@elementwise("numpy.log1p math.log1p scipy.special.log1p")
class log1p:
    """`log(1 + x)`, exact near 0. Pullback `g/(1 + x)`, IEEE at -1."""

    complex = "conjugated"
    cuda = "log1p(x)"

    def pull_x(ops, g, x):
        return g / (1 + x)

    samples = span(-0.8, 5.0)


@elementwise("numpy.logaddexp")
class logaddexp:
    """`log(exp(a) + exp(b))`. Broadcasts. Pullback `g*sigmoid(a - b)`, `g*sigmoid(b - a)`, both tails kept; two equal
    infinities share by halves."""

    cuda = (
        "T d = a - b; "
        "return a == b ? a + T(0.6931471805599453) : d > 0 ? a + log1p(exp(-d)) : d < 0 ? b + log1p(exp(d)) : d;"
    )

    def pull_a(ops, g, a, b):
        return sigmoid_times(ops, g, difference(ops, a, b), ops.exp)

    def pull_b(ops, g, a, b):
        return sigmoid_times(ops, g, difference(ops, b, a), ops.exp)

    samples = (([0.5, -1.5, 30.0], [2.0, -1.0, -5.0]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


@elementwise("numpy.logaddexp2")
class logaddexp2:
    """`log2(2**a + 2**b)`. Broadcasts. Pullback as `logaddexp` with powers of 2."""

    cuda = (
        "T d = a - b, c = T(1.4426950408889634); "
        "return a == b ? a + 1 : d > 0 ? a + c * log1p(exp2(-d)) : d < 0 ? b + c * log1p(exp2(d)) : d;"
    )

    def pull_a(ops, g, a, b):
        return sigmoid_times(ops, g, difference(ops, a, b), ops.exp2)

    def pull_b(ops, g, a, b):
        return sigmoid_times(ops, g, difference(ops, b, a), ops.exp2)

    samples = (([0.5, -1.5, 20.0], [2.0, -1.0, -5.0]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


def difference(ops, a, b):
    """`a - b`, of two equal infinities 0; selected only for those, so that it has a slope where `a == b`."""
    return ops.where(ops.both(a == b, ops.invert(ops.isfinite(a))), 0, a - b)


def magnitude(ops, x):
    """`|x|` as a selection: its slope at 0 is that of a side, not 0, and second derivatives there are right."""
    return ops.where(x >= 0, x, -x)


def sigmoid_times(ops, g, x, exp, divisor=None):
    """`g/(1 + exp(-x))/divisor` without overflow, correct as long as it is representable: half of a small exponential
    multiplies before, half after the rest."""
    a = magnitude(ops, x)
    w, h = exp(-a), exp(-a / 2)
    d = 1 + w if divisor is None else (1 + w) * divisor
    return ops.where(x >= 0, g / d, ((g * h) / d) * h)


@elementwise("numpy.sqrt math.sqrt")
class sqrt:
    """Square root. Pullback `g*(1/(2*y))` for positive `x`, exactly 0 at 0, below, at nan and for `g` finite at inf.
    Below 0 `ops.sqrt` is +0.0 (also at -0.0), NumPy nan, and `math` raises ValueError."""

    complex = "complex_sqrt"
    cuda = "sqrt(x)"

    def value(ops, x):
        return ops.sqrt(ops.where(x <= 0, 0, x))

    def pull_x(ops, g, y):
        return ops.where(y > 0, g * (1 / (2 * y)), 0)

    strict = False
    samples = span(0.2, 5.0)


@elementwise("numpy.cbrt math.cbrt scipy.special.cbrt")
class cbrt:
    """Cube root. Pullback `g/(3*y*y)`, IEEE: inf at 0."""

    cuda = "cbrt(x)"

    def pull_x(ops, g, y):
        return g / (3 * y * y)

    samples = (*span(0.2, 5.0), ([-3.0, -0.2, 8.0],))


@elementwise("numpy.ldexp math.ldexp")
class ldexp:
    """`x * 2**n`, `n` whole numbers. Broadcasts. Pullback: the same of `g`; `n` is plain data."""

    cuda = "ldexp(x, int(n > 9999 ? 9999 : n < -9999 ? -9999 : n))"

    def pull_x(ops, g, n):
        return ops.ldexp(g, n)

    def pull_n(ops, g):
        return ops.zeros_like(g)

    samples = (([0.5, -1.5, 3.0], np.array([2, -1, 0])), (1.5, 3))


@elementwise("numpy.conjugate")
class conjugate:
    """The identity of real numbers, as a copy. Pullback `g`."""

    cuda = "x"
    complex = "conjugation"

    def pull_x(ops, g):
        return g

    samples = span(-2.0, 2.0)


@elementwise("numpy.ndarray.conjugate numpy.ndarray.conj")
class conjugate_method:
    """The identity of real numbers; of an array, the array itself. Pullback `g`."""

    complex = "conjugation"
    views = True

    def bind(x, out=None):
        return (x,), {}

    def pull_x(ops, g):
        return g

    samples = span(-2.0, 2.0)
