"""Exponentials, logarithms, trigonometric and hyperbolic functions: NumPy's and `math`'s in one block each.

Every rule is written so that it keeps its digits: factors are ordered, differences are not formed where they cancel,
and squares are not formed where they overflow. A comment says where the textbook's formula fails.
"""

from __future__ import annotations

import numpy as np

from .block import Like, elementwise, operation, span

# Constants as (float, longdouble): `ops.constant(LN2, x)` has the precision of x.
LN2 = (0.6931471805599453, np.longdouble("0.693147180559945309417232"))
LN10 = (2.302585092994046, np.longdouble("2.302585092994045684017991"))
PI = (np.pi, np.longdouble("3.141592653589793238462643"))


@elementwise("numpy.exp math.exp")
class exp:
    """`e**x`. Pullback `g*y`. NumPy overflows to inf, `math` raises OverflowError."""

    def pull_x(ops, g, y):
        return g * y

    samples = span(-3.0, 3.0)


@elementwise("numpy.exp2 math.exp2 scipy.special.exp2")
class exp2:
    """`2**x`. Pullback `g*(y*ln 2)`."""

    def pull_x(ops, g, y):
        return g * (y * ops.constant(LN2, y))

    samples = span(-3.0, 3.0)


@elementwise("scipy.special.exp10")
class exp10:
    """`10**x`. Pullback `g*(y*ln 10)`."""

    def pull_x(ops, g, y):
        return g * (y * ops.constant(LN10, y))

    samples = span(-3.0, 3.0)


@elementwise("numpy.expm1 math.expm1 scipy.special.expm1")
class expm1:
    """`e**x - 1`, exact near 0. Pullback `g*exp(x)`: `y + 1` would be 0 below -37."""

    def pull_x(ops, g, x):
        return g * ops.exp(x)

    samples = span(-3.0, 3.0)


@elementwise("numpy.log math.log")
class log:
    """Natural logarithm. Pullback `g/x`, IEEE: at 0 NumPy's -inf has the derivative inf. `math` raises ValueError."""

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

    def pull_x(ops, g, x):
        return g / (x * ops.constant(LN2, x))

    samples = span(0.2, 5.0)


@elementwise("numpy.log10 math.log10")
class log10:
    """Logarithm to the base 10. Pullback `g/ln 10/x`, IEEE: `x*ln 10` overflows first."""

    def pull_x(ops, g, x):
        return g / ops.constant(LN10, x) / x

    samples = span(0.2, 5.0)


@elementwise("numpy.log1p math.log1p scipy.special.log1p")
class log1p:
    """`log(1 + x)`, exact near 0. Pullback `g/(1 + x)`, IEEE at -1."""

    def pull_x(ops, g, x):
        return g / (1 + x)

    samples = span(-0.8, 5.0)


@elementwise("numpy.logaddexp")
class logaddexp:
    """`log(exp(a) + exp(b))`. Broadcasts. Pullback `g*sigmoid(a - b)`, `g*sigmoid(b - a)`, both tails kept; two equal
    infinities share by halves."""

    def pull_a(ops, g, a, b):
        return sigmoid_times(ops, g, ops.where(a == b, 0, a - b), ops.exp)

    def pull_b(ops, g, a, b):
        return sigmoid_times(ops, g, ops.where(a == b, 0, b - a), ops.exp)

    samples = (([0.5, -1.5, 30.0], [2.0, -1.0, -5.0]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


@elementwise("numpy.logaddexp2")
class logaddexp2:
    """`log2(2**a + 2**b)`. Broadcasts. Pullback as `logaddexp` with powers of 2."""

    def pull_a(ops, g, a, b):
        return sigmoid_times(ops, g, ops.where(a == b, 0, a - b), ops.exp2)

    def pull_b(ops, g, a, b):
        return sigmoid_times(ops, g, ops.where(a == b, 0, b - a), ops.exp2)

    samples = (([0.5, -1.5, 20.0], [2.0, -1.0, -5.0]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


def sigmoid_times(ops, g, x, exp):
    """`g/(1 + exp(-x))` without overflow, correct as long as the product is representable: half of a small
    exponential multiplies before, half after the rest."""
    a = ops.where(x >= 0, x, -x)
    w, h = exp(-a), exp(-a / 2)
    return ops.where(x >= 0, g / (1 + w), ((g * h) / (1 + w)) * h)


@elementwise("numpy.sqrt math.sqrt")
class sqrt:
    """Square root. Pullback `g*(1/(2*y))` for positive `x`, exactly 0 at 0, below (NumPy's value is nan there) and
    at nan. `math` raises ValueError below 0."""

    def pull_x(ops, g, y):
        return ops.where(y > 0, g * (1 / (2 * y)), 0)

    strict = False
    samples = span(0.2, 5.0)


@elementwise("numpy.cbrt math.cbrt scipy.special.cbrt")
class cbrt:
    """Cube root. Pullback `g/(3*y*y)`, IEEE: inf at 0."""

    def pull_x(ops, g, y):
        return g / (3 * y * y)

    samples = (*span(0.2, 5.0), ([-3.0, -0.2, 8.0],))


@elementwise("numpy.sin math.sin")
class sin:
    """Sine, radians. Pullback `g*cos(x)`. `math` raises ValueError at infinity, NumPy gives nan."""

    def pull_x(ops, g, x):
        return g * ops.cos(x)

    samples = span(-10.0, 10.0)


@elementwise("numpy.cos math.cos")
class cos:
    """Cosine, radians. Pullback `g*(-sin(x))`."""

    def pull_x(ops, g, x):
        return g * -ops.sin(x)

    samples = span(-10.0, 10.0)


@elementwise("numpy.tan math.tan")
class tan:
    """Tangent, radians. Pullback `g*(1 + y*y)`."""

    def pull_x(ops, g, y):
        return g * (1 + y * y)

    samples = span(-1.3, 1.3)


@elementwise("numpy.arcsin math.asin")
class arcsin:
    """Inverse sine. Pullback `g/sqrt((1 - x)*(1 + x))`, inf at both ends: `1 - x*x` loses digits near them."""

    def pull_x(ops, g, x):
        return g / ops.sqrt((1 - x) * (1 + x))

    samples = (*span(-0.9, 0.9), ([1.0 - 1e-2, -1.0 + 1e-2],))


@elementwise("numpy.arccos math.acos")
class arccos:
    """Inverse cosine. Pullback `-g/sqrt((1 - x)*(1 + x))`, -inf at both ends."""

    def pull_x(ops, g, x):
        return -g / ops.sqrt((1 - x) * (1 + x))

    samples = (*span(-0.9, 0.9), ([1.0 - 1e-2, -1.0 + 1e-2],))


@elementwise("numpy.arctan math.atan")
class arctan:
    """Inverse tangent. Pullback `g/(1 + x*x)`; beyond 1 as `(g/x)/(x + 1/x)`, since `x*x` overflows from 1e154 on."""

    def pull_x(ops, g, x):
        return ops.where(ops.abs(x) > 1, (g / x) / (x + 1 / x), g / (1 + x * x))

    samples = span(-5.0, 5.0, 8)


@elementwise("numpy.arctan2 math.atan2")
class arctan2:
    """Angle of the point with ordinate `a` and abscissa `b`. Broadcasts. Pullback `g*b/r**2`, `-g*a/r**2` with `r` the
    distance to the origin, both exactly 0 there; `r**2` is never formed, it overflows or underflows first."""

    def pull_a(ops, g, a, b):
        r = ops.hypot(a, b)
        return ops.where(r == 0, 0, (g * (b / r)) / r)

    def pull_b(ops, g, a, b):
        r = ops.hypot(a, b)
        return ops.where(r == 0, 0, -((g * (a / r)) / r))

    samples = (([0.5, 1.5, -2.0, -1.0], [2.0, -1.5, 0.5, -1.0]), (1.5, -2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


@elementwise("numpy.hypot")
class hypot:
    """`sqrt(a*a + b*b)` without overflow. Broadcasts. Pullback `g*(a/y)`, `g*(b/y)`, exactly 0 at the origin."""

    def pull_a(ops, g, a, y):
        return ops.where(y == 0, 0, g * (a / y))

    def pull_b(ops, g, b, y):
        return ops.where(y == 0, 0, g * (b / y))

    samples = (([0.5, 1.5, -2.0], [2.0, -1.5, 0.0]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


@elementwise("math.hypot")
class norm_of_numbers:
    """`math.hypot(*coordinates)`. Pullback `g*(coordinate/y)`, exactly 0 at the origin."""

    def bind(*coordinates):
        return coordinates, {}

    def pull_each(ops, g, i, operand, y):
        return ops.where(y == 0, 0, g * (operand / y))

    samples = ((3.0, -4.0), (1.0, 2.0, -2.0), (-1.5,))


@operation("math.dist")
class dist:
    """`math.dist(p, q)`, the distance of two points given as sequences of numbers. Pullback `g*((p - q)/y)` and its
    negative, exactly 0 where the points coincide."""

    def bind(p, q):
        return (p, q), {}

    def shape(p, q):
        return Like((), None)

    def pull_p(ops, g, p, q, y):
        return ops.where(y == 0, ops.zeros_like(np.asarray(p)), g * (np.subtract(p, q) / y))

    def pull_q(ops, g, p, q, y):
        return ops.where(y == 0, ops.zeros_like(np.asarray(q)), g * (np.subtract(q, p) / y))

    def push_p(ops, t, p, q, y):
        return ops.sum(ops.where(y == 0, 0, t * (np.subtract(p, q) / y)))

    def push_q(ops, t, p, q, y):
        return ops.sum(ops.where(y == 0, 0, t * (np.subtract(q, p) / y)))

    samples = (((1.0, 2.0), (-0.5, 3.0)), ([1.0], [4.0]))


@elementwise("numpy.sinh math.sinh")
class sinh:
    """Hyperbolic sine. Pullback `g*cosh(x)`."""

    def pull_x(ops, g, x):
        return g * ops.cosh(x)

    samples = span(-3.0, 3.0)


@elementwise("numpy.cosh math.cosh")
class cosh:
    """Hyperbolic cosine. Pullback `g*sinh(x)`."""

    def pull_x(ops, g, x):
        return g * ops.sinh(x)

    samples = span(-3.0, 3.0)


@elementwise("numpy.tanh math.tanh")
class tanh:
    """Hyperbolic tangent. Pullback `(g*s)*s` with `s = 2*w/(1 + w*w)`, `w = exp(-|x|)`, the hyperbolic secant:
    `1 - y*y` is 0 from 20 on."""

    def pull_x(ops, g, x):
        w = ops.exp(-ops.abs(x))
        s = 2 * w / (1 + w * w)
        return (g * s) * s

    samples = (*span(-3.0, 3.0), ([-25.0, 25.0],))


@elementwise("numpy.arcsinh math.asinh")
class arcsinh:
    """Inverse hyperbolic sine. Pullback `g/hypot(x, 1)`."""

    def pull_x(ops, g, x):
        return g / ops.hypot(x, 1)

    samples = span(-5.0, 5.0)


@elementwise("numpy.arccosh math.acosh")
class arccosh:
    """Inverse hyperbolic cosine. Pullback `g/(sqrt(x - 1)*sqrt(x + 1))`, inf at 1: `x*x - 1` loses digits near 1 and
    overflows."""

    def pull_x(ops, g, x):
        return g / (ops.sqrt(x - 1) * ops.sqrt(x + 1))

    samples = span(1.1, 5.0)


@elementwise("numpy.arctanh math.atanh")
class arctanh:
    """Inverse hyperbolic tangent. Pullback `g/((1 - x)*(1 + x))`, inf at both ends."""

    def pull_x(ops, g, x):
        return g / ((1 - x) * (1 + x))

    samples = span(-0.9, 0.9)


@elementwise("numpy.deg2rad numpy.radians math.radians")
class deg2rad:
    """Degrees to radians. Pullback: the same of `g`."""

    def pull_x(ops, g):
        return ops.deg2rad(g)

    samples = span(-180.0, 360.0)


@elementwise("numpy.rad2deg numpy.degrees math.degrees")
class rad2deg:
    """Radians to degrees. Pullback: the same of `g`."""

    def pull_x(ops, g):
        return ops.rad2deg(g)

    samples = span(-3.0, 6.0)


@elementwise("numpy.ldexp math.ldexp")
class ldexp:
    """`x * 2**n`, `n` whole numbers. Broadcasts. Pullback: the same of `g`; `n` is plain data."""

    def pull_x(ops, g, n):
        return ops.ldexp(g, n)

    def pull_n(ops, g):
        return ops.zeros_like(g)

    samples = (([0.5, -1.5, 3.0], np.array([2, -1, 0])), (1.5, 3))


@elementwise("numpy.sinc")
class sinc:
    """`sin(pi*x)/(pi*x)`. Pullback `g*pi*(u*cos(u) - sin(u))/u**2` with `u = pi*x`, exactly 0 at 0; up to `|u| = 1`,
    where that cancels, by the power series."""

    def pull_x(ops, g, x):
        pi = ops.constant(PI, x)
        u = pi * x
        square = u * u
        series = 0 * u
        for k in range(11, 0, -1):  # 1/1! - u**2/3! + u**4/5! - ..., differentiated
            series = SINC[k] + square * series
        return g * (pi * ops.where(square < 1, u * series, (ops.cos(u) - ops.sin(u) / u) / u))

    samples = (*span(-2.3, 2.3, 8), ([0.01, -0.1, 0.3],))


def sinc_coefficients(n):
    coefficients, factorial = [0.0], 1.0
    for k in range(1, n + 1):
        factorial *= -(2 * k) * (2 * k + 1)
        coefficients.append(2 * k / factorial)
    return coefficients


SINC = sinc_coefficients(11)


@elementwise("numpy.conjugate numpy.ndarray.conjugate numpy.ndarray.conj")
class conjugate:
    """The identity of real numbers, as a copy. Pullback `g`."""

    def pull_x(ops, g):
        return g

    samples = span(-2.0, 2.0)
