"""Activations of neural networks. Every pullback uses the saved input, so that tails keep their digits."""

from __future__ import annotations

import numpy as np

from .block import elementwise, span

C = (0.7978845608028654, np.longdouble("0.797884560802865355879892"))  # sqrt(2/pi)


@elementwise()
class relu:
    """`x` where positive, else 0 (also for -0.0); NaN stays. Pullback: `g` where `x > 0`, else exactly 0."""

    def value(ops, x):
        return ops.where(x > 0, x, ops.where(ops.isnan(x), x, 0))

    def pull_x(ops, g, x):
        return ops.where(x > 0, g, 0)

    strict = False
    samples = span(-2.0, 2.5, 8)


@elementwise()
class gelu:
    """`0.5*x*(1 + T)`, `T = tanh(sqrt(2/pi)*(x + 0.044715*x**3))`, the tanh form of `x` times the normal distribution
    function. Multiplied by 0.5 first: 1e308 stays finite. Pullback `g*0.5*(1 + T + x*q*sqrt(2/pi)*(1 + 3*0.044715*x*x))`,
    `q = 1 - T*T`; where `q` is 0 the derivative is 0 or 1. Absolute accuracy only: the negative tail rounds to 0."""

    def value(ops, x):
        return 0.5 * x * (1 + ops.tanh(ops.constant(C, x) * (x + 0.044715 * x**3)))

    def pull_x(ops, g, x):
        c = ops.constant(C, x)
        t = ops.tanh(c * (x + 0.044715 * x**3))
        q = 1 - t * t
        return g * (0.5 * (1 + t + ops.where(q == 0, 0, x * q * (c * (1 + 0.134145 * x * x)))))

    samples = span(-3.0, 3.0)
