"""Normalization of rows and of channels."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .interface import ranked, shaped


def normalized(ops, x, epsilon, axis):
    """`x` centred (twice: the first mean is rounded) and divided by its deviation along `axis`; and the inverse deviation."""
    n = x.shape[axis]
    centred = x - ops.sum(x, axis=axis, keepdims=True) / n
    centred = centred - ops.sum(centred, axis=axis, keepdims=True) / n
    r = 1 / ops.sqrt(ops.sum(centred * centred, axis=axis, keepdims=True) / n + epsilon)
    return centred * r, r


def back(ops, q, xh, r, axis):
    """The cotangent of the data (and, the matrix being symmetric, its tangent) for that of the normalized data."""
    n = xh.shape[axis]
    return r * (q - ops.sum(q, axis=axis, keepdims=True) / n - xh * (ops.sum(q * xh, axis=axis, keepdims=True) / n))


@operation()
class layer_norm:
    """`layer_norm(x, gamma, beta, epsilon=1e-5)`: `[n, d]`, `[d]`, `[d]` -> `[n, d]`. Every row of `x` minus its mean,
    divided by `sqrt(variance + epsilon)` (the variance divides by d), times `gamma`, plus `beta`. A constant row gives
    `beta`. With `xh` the normalized row, `r` the inverse deviation and `q = g*gamma`, pullback
    `r*(q - mean(q) - xh*mean(q*xh))`, `sum(g*xh)`, `sum(g)`. No rows or no columns, or another shape of `gamma` or
    `beta`: ValueError."""

    keeps = ("xh", "r")

    def value(ops, x, gamma, beta, epsilon=1e-5):
        ranked("layer_norm", "x", x, 2, "[rows, columns]")
        if 0 in x.shape:
            raise ValueError(f"layer_norm: x has shape {x.shape}, expected at least one row and one column")
        shaped("layer_norm", "gamma", gamma, x.shape[1:], "one entry for each column of x")
        shaped("layer_norm", "beta", beta, x.shape[1:], "one entry for each column of x")
        xh, r = normalized(ops, x, epsilon, 1)
        return xh * gamma + beta, xh, r

    def shape(x, gamma, beta, epsilon):
        return Like(x.shape, np.result_type(x.dtype, gamma.dtype, beta.dtype))

    def pull_x(ops, g, gamma, xh, r):
        return back(ops, g * gamma, xh, r, 1)

    def pull_gamma(ops, g, xh):
        return ops.sum(g * xh, axis=0)

    def pull_beta(ops, g):
        return ops.sum(g, axis=0)

    def push_x(ops, t, gamma, xh, r):
        return back(ops, t, xh, r, 1) * gamma

    def push_gamma(ops, t, xh):
        return xh * t

    def push_beta(ops, t, y_like):
        return ops.broadcast_to(t, y_like.shape)

    samples = (
        (
            np.array([[0.5, -1.0, 2.0, 0.3], [1.5, 0.2, -0.7, 1.1], [3.0, 3.5, -2.0, 0.1]]),
            np.array([1.0, 0.5, -2.0, 1.5]), np.array([0.1, -0.2, 0.3, 0.0]),
        ),
    )  # fmt: skip
