"""Activations of neural networks. Every pullback uses the saved input, so that tails keep their digits."""

from __future__ import annotations

import numpy as np

from .block import elementwise, span
from .elementwise import magnitude, sigmoid_times
from .interface import real

# Constants as (float, longdouble): `ops.constant(C, x)` has the precision of x.
C = (0.7978845608028654, np.longdouble("0.797884560802865355879892"))  # sqrt(2/pi)
K = (0.044715, np.longdouble("0.044715"))


@elementwise()
class relu:
    """`x` where positive, else +0.0 (also for -0.0); nan stays. Pullback: `g` where `x > 0`, else exactly 0."""

    cuda = "x <= 0 ? T(0) : x"

    def value(ops, x):
        return ops.where(x <= 0, 0, x)

    def pull_x(ops, g, x):
        return ops.where(x > 0, g, 0)

    strict = False
    samples = span(-2.0, 2.5, 8)


@elementwise("scipy.special.expit")
class sigmoid:
    """`1/(1 + exp(-x))`, with `w = exp(-|x|)` as `1/(1 + w)` for `x >= 0` and `w/(1 + w)` below: no overflow, and
    small values down to the last subnormal. Pullback `((g*h)/(1 + w)**2)*h`, `h = exp(-|x|/2)`: correct wherever it is
    representable (`y*(1 - y)` is 0 from 37 on)."""

    cuda = "T w = exp(-fabs(x)); return (x >= 0 ? T(1) : w) / (1 + w);"

    def value(ops, x):
        x = ops.floating(x)
        w = ops.exp(-magnitude(ops, x))
        return ops.where(x >= 0, 1, w) / (1 + w)

    def pull_x(ops, g, x):
        a = magnitude(ops, x)
        w, h = ops.exp(-a), ops.exp(-a / 2)
        return ((g * h) / ((1 + w) * (1 + w))) * h

    samples = (*span(-5.0, 5.0), ([-40.0, 40.0],))


@elementwise()
class silu:
    """`x*sigmoid(x)`. With `w = exp(-|x|)`, `h = exp(-|x|/2)`: `x/(1 + w)` for `x >= 0`, `((x*h)*h)/(1 + w)` below,
    which keeps small values down to the last subnormal. Pullback `g*((1/(1 + w))*(1 + x*(w/(1 + w))))` for `x >= 0`,
    `((g*h)*((1 + w + x)/(1 + w)**2))*h` below: correct wherever it is representable. Unspecified at infinities."""

    cuda = "T a = fabs(x), s = x >= 0 ? T(1) : exp(-a / 2); return ((x * s) * s) / (1 + exp(-a));"

    def value(ops, x):
        x = ops.floating(x)
        a = magnitude(ops, x)
        s = ops.where(x >= 0, 1, ops.exp(-a / 2))
        return ((x * s) * s) / (1 + ops.exp(-a))

    def pull_x(ops, g, x):
        a = magnitude(ops, x)
        w, h = ops.exp(-a), ops.exp(-a / 2)
        d = 1 + w
        return ops.where(x >= 0, g * ((1 / d) * (1 + x * (w / d))), ((g * h) * ((d + x) / (d * d))) * h)

    samples = (*span(-5.0, 5.0), ([-40.0, 40.0],))


@elementwise()
class gelu:
    """`0.5*x*(1 + T)`, `T = tanh(sqrt(2/pi)*(x + 0.044715*x**3))`, the tanh form of `x` times the normal distribution
    function. Multiplied by 0.5 first: 1e308 stays finite. Pullback
    `g*(0.5*(1 + T + x*q*(sqrt(2/pi)*(1 + 3*0.044715*x*x))))`, `q = 1 - T*T`; where `q` is 0 the derivative is 1 or 0.
    Absolute accuracy only: the negative tail rounds to 0. Unspecified at -inf."""

    cuda = "T u = T(0.7978845608028654) * (x + T(0.044715) * (x * x * x)); return T(0.5) * x * (1 + tanh(u));"

    def value(ops, x):
        x = ops.floating(x)
        return 0.5 * x * (1 + bend(ops, x))

    def pull_x(ops, g, x):
        t = bend(ops, x)
        q = 1 - t * t
        slope = ops.constant(C, x) * (1 + 3 * ops.constant(K, x) * x * x)
        return g * (0.5 * (1 + t + ops.where(q == 0, 0, x * q * slope)))

    samples = span(-3.0, 3.0)


def bend(ops, x):
    """The `T` of gelu. (`x*x*x`: `x**3` takes ten times as long, and raises for a Python float that overflows.)"""
    return ops.tanh(ops.constant(C, x) * (x + ops.constant(K, x) * (x * x * x)))


@elementwise("scipy.special.softplus")
class softplus:
    """`log(1 + exp(x))` as `maximum(x, 0) + log1p(exp(-|x|))`: no overflow, no linear cut-off, and small values down to
    the last subnormal. Pullback `g*sigmoid(x)`: `g/(1 + w)` for `x >= 0`, `((g*h)/(1 + w))*h` below, with
    `w = exp(-|x|)`, `h = exp(-|x|/2)`: correct wherever it is representable."""

    cuda = "(x >= 0 ? x : T(0)) + log1p(exp(-fabs(x)))"

    def value(ops, x):
        return softened(ops, ops.floating(x))

    def pull_x(ops, g, x):
        return sigmoid_times(ops, g, x, ops.exp)

    samples = (*span(-5.0, 5.0), ([-40.0, 40.0],))


def softened(ops, x):
    """The value of softplus. At 0 its parts are of one side, as in `magnitude`: `maximum` would take half of each."""
    return ops.where(x >= 0, x, 0) + ops.log1p(ops.exp(-magnitude(ops, x)))


@elementwise()
class safe_log:
    """`log(softplus(x) + epsilon)`. Pullback as of softplus, divided by `softplus(x) + epsilon` before the last factor.
    `epsilon` is taken as it is: where it is 0 in the element type of `x`, the far negative tail is IEEE's -inf or nan.
    It is no number: TypeError."""

    instead = {"epsilon": "ops.log(ops.add(ops.softplus(x), epsilon))"}

    def value(ops, x, epsilon=1e-6):
        real("safe_log", "epsilon", epsilon)
        x = ops.floating(x)
        return ops.log(softened(ops, x) + ops.beside(epsilon, x))

    def pull_x(ops, g, x, epsilon):
        return sigmoid_times(ops, g, x, ops.exp, softened(ops, x) + ops.beside(epsilon, x))

    samples = (
        *span(-5.0, 5.0),
        ([-40.0, -0.3, 40.0], {"epsilon": 1e-300}),
        ([[-14.0], [2.0]], {"epsilon": np.float64(0.01)}),
    )
