"""Trigonometric and hyperbolic functions, their inverses, angles and distances: NumPy's and `math`'s in one block each.

Squares are not formed where they overflow, and differences not where they cancel.
"""

from __future__ import annotations

import numpy as np

from .block import Like, elementwise, operation, span
from .elementwise import PI, magnitude


@elementwise("numpy.sin math.sin")
class sin:
    """Sine, radians. Pullback `g*cos(x)`. `math` raises ValueError at infinity, NumPy gives nan."""

    complex = "conjugated"
    cuda = "sin(x)"

    def value(ops, x):
        return ops.sin(x)

    def pull_x(ops, g, x):
        return g * ops.cos(x)

    samples = span(-10.0, 10.0)


@elementwise("numpy.cos math.cos")
class cos:
    """Cosine, radians. Pullback `g*(-sin(x))`. `math` raises ValueError at infinity, NumPy gives nan."""

    complex = "conjugated"
    cuda = "cos(x)"

    def value(ops, x):
        return ops.cos(x)

    def pull_x(ops, g, x):
        return g * -ops.sin(x)

    samples = span(-10.0, 10.0)


@elementwise("numpy.tan math.tan")
class tan:
    """Tangent, radians. Pullback `g*(1 + y*y)`."""

    complex = "conjugated"
    cuda = "tan(x)"

    def pull_x(ops, g, y):
        return g * (1 + y * y)

    samples = span(-1.3, 1.3)


def root(ops, x):
    """Square root with the derivative inf at 0, where that of `ops.sqrt` is 0; nan below."""
    return ops.where(x < 0, np.nan, x) ** 0.5


@elementwise("numpy.arcsin math.asin")
class arcsin:
    """Inverse sine. Pullback `g/sqrt((1 - x)*(1 + x))`, inf at both ends: `1 - x*x` loses digits near them."""

    cuda = "asin(x)"

    def pull_x(ops, g, x):
        return g / root(ops, (1 - x) * (1 + x))

    samples = (*span(-0.9, 0.9), ([1.0 - 1e-2, -1.0 + 1e-2],))


@elementwise("numpy.arccos math.acos")
class arccos:
    """Inverse cosine. Pullback `-g/sqrt((1 - x)*(1 + x))`, -inf at both ends."""

    cuda = "acos(x)"

    def pull_x(ops, g, x):
        return -g / root(ops, (1 - x) * (1 + x))

    samples = (*span(-0.9, 0.9), ([1.0 - 1e-2, -1.0 + 1e-2],))


@elementwise("numpy.arctan math.atan")
class arctan:
    """Inverse tangent. Pullback `g/(1 + x*x)`; beyond 1 as `(g/x)/(x + 1/x)`, since `x*x` overflows from 1e154 on."""

    complex = "conjugated"
    cuda = "atan(x)"

    def pull_x(ops, g, x):
        return ops.where(ops.abs(x) > 1, (g / x) / (x + 1 / x), g / (1 + x * x))

    samples = span(-5.0, 5.0, 8)


@elementwise("numpy.arctan2 math.atan2")
class arctan2:
    """Angle of the point with ordinate `a` and abscissa `b`. Broadcasts. Pullback `g*b/r**2`, `-g*a/r**2` with `r` the
    distance to the origin, both exactly 0 there; `r**2` is never formed, it overflows or underflows first."""

    cuda = "atan2(a, b)"

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

    cuda = "hypot(a, b)"

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
        return ops.where(y == 0, ops.zeros_like(ops.asarray(p)), g * (np.subtract(p, q) / y))

    def pull_q(ops, g, p, q, y):
        return ops.where(y == 0, ops.zeros_like(ops.asarray(q)), g * (np.subtract(q, p) / y))

    def push_p(ops, t, p, q, y):
        return ops.sum(ops.where(y == 0, 0, t * (np.subtract(p, q) / y)))

    def push_q(ops, t, p, q, y):
        return ops.sum(ops.where(y == 0, 0, t * (np.subtract(q, p) / y)))

    samples = (((1.0, 2.0), (-0.5, 3.0)), ([1.0], [4.0]))


@elementwise("numpy.sinh math.sinh")
class sinh:
    """Hyperbolic sine. Pullback `g*cosh(x)`."""

    complex = "conjugated"
    cuda = "sinh(x)"

    def pull_x(ops, g, x):
        return g * ops.cosh(x)

    samples = span(-3.0, 3.0)


@elementwise("numpy.cosh math.cosh")
class cosh:
    """Hyperbolic cosine. Pullback `g*sinh(x)`."""

    complex = "conjugated"
    cuda = "cosh(x)"

    def pull_x(ops, g, x):
        return g * ops.sinh(x)

    samples = span(-3.0, 3.0)


@elementwise("numpy.tanh math.tanh")
class tanh:
    """Hyperbolic tangent. Pullback `(g*s)*s` with `s = 2*w/(1 + w*w)`, `w = exp(-|x|)`, the hyperbolic secant:
    `1 - y*y` is 0 from 20 on."""

    complex = "conjugated"
    cuda = "tanh(x)"

    def value(ops, x):
        return ops.tanh(x)

    def pull_x(ops, g, x):
        w = ops.exp(-magnitude(ops, x))
        s = 2 * w / (1 + w * w)
        return (g * s) * s

    samples = (*span(-3.0, 3.0), ([-25.0, 25.0],))


@elementwise("numpy.arcsinh math.asinh")
class arcsinh:
    """Inverse hyperbolic sine. Pullback `g/hypot(x, 1)`."""

    cuda = "asinh(x)"

    def pull_x(ops, g, x):
        return g / ops.hypot(x, 1)

    samples = span(-5.0, 5.0)


@elementwise("numpy.arccosh math.acosh")
class arccosh:
    """Inverse hyperbolic cosine. Pullback `g/(sqrt(x - 1)*sqrt(x + 1))`, inf at 1: `x*x - 1` loses digits near 1 and
    overflows."""

    cuda = "acosh(x)"

    def pull_x(ops, g, x):
        return g / (root(ops, x - 1) * root(ops, x + 1))

    samples = span(1.1, 5.0)


@elementwise("numpy.arctanh math.atanh")
class arctanh:
    """Inverse hyperbolic tangent. Pullback `g/((1 - x)*(1 + x))`, inf at both ends."""

    cuda = "atanh(x)"

    def pull_x(ops, g, x):
        return g / ((1 - x) * (1 + x))

    samples = span(-0.9, 0.9)


@elementwise("numpy.deg2rad numpy.radians math.radians")
class deg2rad:
    """Degrees to radians. Pullback: the same of `g`."""

    complex = True
    cuda = "x * (T(3.141592653589793) / T(180))"

    def pull_x(ops, g):
        return ops.deg2rad(g)

    samples = span(-180.0, 360.0)


@elementwise("numpy.rad2deg numpy.degrees math.degrees")
class rad2deg:
    """Radians to degrees. Pullback: the same of `g`."""

    cuda = "x * (T(180) / T(3.141592653589793))"

    def pull_x(ops, g):
        return ops.rad2deg(g)

    samples = span(-3.0, 6.0)


@elementwise("numpy.sinc")
class sinc:
    """`sin(pi*x)/(pi*x)`. Pullback `g*pi*(u*cos(u) - sin(u))/u**2` with `u = pi*x`, exactly 0 at 0; up to `|u| = 1`,
    where that cancels, by the power series."""

    cuda = "T u = T(3.141592653589793) * x; return u == 0 ? T(1) : sin(u) / u;"

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
