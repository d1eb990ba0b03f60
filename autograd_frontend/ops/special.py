"""Error functions, gamma functions and the elementwise part of `scipy.special` (never imported here)."""

from __future__ import annotations

import numpy as np

from .block import Like, elementwise, operation, span
from .elementwise import PI, sigmoid_times

SLOPE = (1.1283791670955126, np.longdouble("1.128379167095512573896159"))  # 2/sqrt(pi)


@elementwise("math.erf scipy.special.erf")
class erf:
    """Error function. Pullback `g*2/sqrt(pi)*exp(-x*x)`, the exponential in two halves so that tails are kept."""

    cuda = "erf(x)"

    def pull_x(ops, g, x):
        h = ops.exp(-(x * x) / 2)
        return ((g * ops.constant(SLOPE, x)) * h) * h

    samples = span(-3.0, 3.0)


@elementwise("math.erfc scipy.special.erfc")
class erfc:
    """`1 - erf(x)`. Pullback `-g*2/sqrt(pi)*exp(-x*x)`."""

    cuda = "erfc(x)"

    def pull_x(ops, g, x):
        h = ops.exp(-(x * x) / 2)
        return -(((g * ops.constant(SLOPE, x)) * h) * h)

    samples = span(-3.0, 3.0)


@elementwise("scipy.special.ndtr")
class ndtr:
    """The normal distribution function. Pullback `g*exp(-x*x/2)/sqrt(2*pi)`."""

    cuda = "normcdf(x)"

    def pull_x(ops, g, x):
        h = ops.exp(-(x * x) / 4)
        return ((g / ops.sqrt(2 * ops.constant(PI, x))) * h) * h

    samples = span(-3.0, 3.0)


@elementwise("math.lgamma scipy.special.gammaln")
class lgamma:
    """`log(|gamma(x)|)`. Pullback `g*digamma(x)`, nan at the poles -1, -2, ..."""

    cuda = "lgamma(x)"

    def pull_x(ops, g, x):
        return g * digamma(ops, x)

    samples = (*span(0.2, 12.0), ([-0.5, -2.3, 0.01],))


@elementwise("math.gamma scipy.special.gamma")
class gamma:
    """Gamma function. Pullback `g*(y*digamma(x))`, nan at the poles."""

    cuda = "tgamma(x)"

    def pull_x(ops, g, x, y):
        return g * (y * digamma(ops, x))

    samples = (*span(0.2, 6.0), ([-0.5, -2.3, 0.1],))


STIRLING = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def digamma(ops, x):
    """Derivative of `lgamma`. Below 1/2 by reflection, then by recurrence to at least 10, where eight terms of
    Stirling's series leave an error of 3e-18."""
    low = x < 0.5
    z = ops.where(low, 1 - x, x)
    total = 0 * z
    for _ in range(10):
        small = z < 10
        total = total - ops.where(small, 1 / z, 0)
        z = z + ops.where(small, 1, 0)
    s = 1 / (z * z)
    series = 0 * s
    for c in reversed(STIRLING):
        series = (series + c) * s
    total = total + (ops.log(z) - 0.5 / z - series)
    r = x - ops.rint(x)  # exact, and cot(pi*x) == cot(pi*r) keeps its digits near the poles
    pi = ops.constant(PI, x)
    pole = ops.where(x < 0, np.nan, -1 / x)
    return ops.where(low, ops.where(r == 0, pole, total - pi / ops.tan(pi * ops.where(r == 0, 0.5, r))), total)


@elementwise("scipy.special.psi")
class psi:
    """The digamma function, `scipy.special.digamma`. Pullback `g*polygamma(1, x)`, by reflection below 0; infinite at
    the poles 0, -1, ..."""

    def pull_x(ops, g, x):
        low = x < 0
        r = x - ops.rint(x)
        turned = ops.constant(PI, x) / ops.sin(ops.constant(PI, x) * ops.where(low, r, 0.5))
        return g * ops.where(low, turned * turned - ops.polygamma(1, ops.where(low, 1 - x, 1.0)), trigamma(ops, x, low))

    samples = (*span(0.2, 12.0), ([-0.5, -2.3, 0.1],))


def trigamma(ops, x, low):
    return ops.polygamma(1, ops.where(low, 1.0, x))


def times_next(ops, g, x, n):
    return ops.times(g, ops.polygamma(n + 1, x))


@operation("scipy.special.polygamma autograd_frontend.ops.plain.PLAIN.polygamma")
class polygamma:
    """`polygamma(n, x)`, the derivative of order `n` (plain data) of the digamma function, for positive `x`. Pullback
    `g*polygamma(n + 1, x)`."""

    def bind(n, x):
        return (x,), {"n": n}

    def shape(x, n):
        return Like(np.broadcast_shapes(x.shape, np.shape(n)), np.dtype(float))

    pull_x = push_x = times_next
    samples = ((1, np.linspace(0.3, 5.0, 6)), (0, 2.5), (2, np.array([0.7, 1.5])), (np.array([1, 2]), 1.5))


@operation("scipy.special.jv autograd_frontend.ops.plain.PLAIN.jv")
class bessel:
    """`scipy.special.jv(v, x)`, the Bessel function of the first kind of order `v` (plain data). Pullback
    `g*(jv(v - 1, x) - jv(v + 1, x))/2`."""

    def bind(v, x):
        return (x,), {"v": v}

    def shape(x, v):
        return Like(np.broadcast_shapes(x.shape, np.shape(v)), np.dtype(float))

    def pull_x(ops, g, x, v):
        return ops.times(g, (ops.jv(v - 1, x) - ops.jv(v + 1, x)) / 2)

    push_x = pull_x
    samples = ((1, np.linspace(-3.0, 5.0, 6)), (0, 2.5), (2.5, np.array([0.7, 1.5])), (np.array([1, 2]), 1.5))


@elementwise("scipy.special.j0")
class j0:
    """The Bessel function of order 0. Pullback `-(g*j1(x))`."""

    cuda = "j0(x)"

    def pull_x(ops, g, x):
        return -(g * ops.jv(1, x))

    samples = span(-6.0, 6.0, 8)


@elementwise("scipy.special.j1")
class j1:
    """The Bessel function of order 1. Pullback `g*(j0(x) - jv(2, x))/2`."""

    cuda = "j1(x)"

    def pull_x(ops, g, x):
        return g * ((ops.jv(0, x) - ops.jv(2, x)) / 2)

    samples = span(-6.0, 6.0, 8)


@elementwise("scipy.special.log_expit")
class log_expit:
    """`log(expit(x))`. Pullback `g*expit(-x)`."""

    cuda = "x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x))"

    def pull_x(ops, g, x):
        return sigmoid_times(ops, g, -x, ops.exp)

    samples = span(-5.0, 5.0)


@elementwise("scipy.special.logit")
class logit:
    """`log(x/(1 - x))`. Pullback `g/x/(1 - x)`, inf at both ends."""

    cuda = "T s = 2 * (x - T(0.5)); return x < T(0.3) || x > T(0.65) ? log(x / (1 - x)) : log1p(s) - log1p(-s);"

    def pull_x(ops, g, x):
        return g / x / (1 - x)

    samples = span(0.1, 0.9)


@elementwise("scipy.special.xlogy")
class xlogy:
    """`a*log(b)`, 0 for `a == 0`. Broadcasts. Pullback `g*log(b)` (0 for `a == 0`), `g*(a/b)`."""

    cuda = "a == 0 && b == b ? T(0) : a * log(b)"

    def pull_a(ops, g, a, b):
        return ops.where(a == 0, 0, g * ops.ln(b))

    def pull_b(ops, g, a, b):
        return ops.where(ops.both(a == 0, b == 0), 0, g * (a / b))

    samples = (([0.5, 1.5, -2.0], [2.0, 1.5, 0.5]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, 1.0]]))


@elementwise("scipy.special.xlog1py")
class xlog1py:
    """`a*log(1 + b)`, 0 for `a == 0`. Broadcasts. Pullback `g*log1p(b)` (0 for `a == 0`), `g*(a/(1 + b))`."""

    cuda = "a == 0 && b == b ? T(0) : a * log1p(b)"

    def pull_a(ops, g, a, b):
        return ops.where(a == 0, 0, g * ops.log1p(b * 1.0))

    def pull_b(ops, g, a, b):
        return ops.where(ops.both(a == 0, b == -1), 0, g * (a / (1 + b)))

    samples = (([0.5, 1.5, -2.0], [2.0, 1.5, -0.5]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -0.5]]))
