"""Normalization of rows and of channels."""

from __future__ import annotations

import numpy as np

from .block import Like, like, operation
from .interface import ranked, real, shaped


def checked(name, x, gamma, beta, axis, means, epsilon):
    """Refuses what cannot be normalized; `axis` is the one that `gamma` and `beta` go along."""
    if 0 in x.shape:
        raise ValueError(f"{name}: x has shape {x.shape}, expected at least one entry along every axis")
    shaped(name, "gamma", gamma, (x.shape[axis],), means)
    shaped(name, "beta", beta, (x.shape[axis],), means)
    real(name, "epsilon", epsilon)


def normalized(ops, x, gamma, beta, epsilon):
    """The rows of `x` centred (twice: the first mean is rounded) and divided by their deviations, times `gamma`, plus
    `beta`; before these two; and the inverse deviations. A mean of squares is never negative."""
    n = x.shape[-1]
    x = x - ops.row_sums(x) / n
    x -= ops.row_sums(x) / n
    r = 1 / ops.sqrt(ops.row_dots(x, x) / n + ops.beside(epsilon, x))
    x *= r
    return affine(x, gamma, beta), x, r


def affine(xh, gamma, beta):
    """`xh*gamma + beta` with one temporary, where the types allow it."""
    y = xh * gamma
    if y.dtype != np.result_type(y, beta):
        return y + beta
    y += beta
    return y


def means(ops, q, xh):
    return ops.row_sums(q) / xh.shape[-1], ops.row_dots(q, xh) / xh.shape[-1]


def back(q, xh, mean, slope):
    """`q - mean(q) - xh*mean(q*xh)`: times the inverse deviation, the cotangent of the data for that of the normalized
    data, and (the matrix being symmetric) the tangent of the normalized data for that of the data."""
    d = xh * -slope
    d -= mean
    d += q
    return d


def pulled(ops, g, xh, r, gamma):
    """The same of `q = g*(r*gamma)`: an infinity beside a zero of `g` adds nothing, and rows of zeros stay zero."""
    q = g * r
    q *= gamma
    mean, slope = means(ops, q, xh)
    if ops.finite(mean) and ops.finite(slope):  # then all entries of `q` and `xh` are
        return back(q, xh, mean, slope)
    q = ops.times(g, r * gamma)
    return ops.where(ops.all(g == 0, axis=-1, keepdims=True), 0, back(q, xh, *means(ops, q, xh)))


def pushed(ops, t, xh, r, gamma):
    q = t * r
    return back(q, xh, *means(ops, q, xh)) * gamma


def shape(x, gamma, beta, epsilon):
    dtype = np.result_type(x.dtype, gamma.dtype, beta.dtype)
    return Like(x.shape, dtype if dtype.kind == "f" else np.dtype(float))


GAMMA, BETA = np.array([1.0, 0.5, -2.0, 1.5]), np.array([0.1, -0.2, 0.3, 0.0])


@operation()
class layer_norm:
    """`layer_norm(x, gamma, beta, epsilon=1e-5)`: `[n, d]`, `[d]`, `[d]` -> `[n, d]`. Every row of `x` minus its mean,
    divided by `sqrt(variance + epsilon)` (the variance divides by d), times `gamma`, plus `beta`. A constant row gives
    `beta`. With `xh` the normalized row, `r` the inverse deviation and `q = g*gamma`, pullback
    `r*(q - mean(q) - xh*mean(q*xh))`, `sum(g*xh)`, `sum(g)`. No rows or no columns, or another shape of `gamma` or
    `beta`: ValueError. An `epsilon` that is no number: TypeError."""

    keeps = ("xh", "r")

    def value(ops, x, gamma, beta, epsilon=1e-5):
        ranked("layer_norm", "x", x, 2, "[rows, columns]")
        checked("layer_norm", x, gamma, beta, 1, "one entry for each column of x", epsilon)
        return ops.by_rows(normalized, ops.floating(x), gamma=gamma, beta=beta, epsilon=epsilon)

    shape = shape

    def pull_x(ops, g, gamma, xh, r):
        return ops.by_rows(pulled, g, xh, r, gamma=gamma)

    def pull_gamma(ops, g, xh):
        return ops.bilinear(lambda g, xh: ops.einsum("ij,ij->j", g, xh), g, xh)

    def pull_beta(ops, g):
        return ops.sum(g, axis=0)

    def push_x(ops, t, gamma, xh, r):
        return ops.by_rows(pushed, t, xh, r, gamma=gamma)

    def push_gamma(ops, t, xh):
        return xh * t

    def push_beta(ops, t, y_like):
        return ops.broadcast_to(t, y_like.shape)

    samples = (
        (np.array([[0.5, -1.0, 2.0, 0.3], [1.5, 0.2, -0.7, 1.1], [3.0, 3.5, -2.0, 0.1]]), GAMMA, BETA),
        (np.array([[1.0, 2.0, -1.5, 0.0]]), GAMMA, BETA, {"epsilon": 0.1}),
        (np.array([[0.5], [2.0]]), GAMMA[:1], BETA[:1]),
    )


@operation()
class batch_norm:
    """`batch_norm(x, gamma, beta, epsilon=1e-5)`: `[c, *spatial]`, `[c]`, `[c]` -> shape of `x`. Every channel minus
    its mean over all positions, divided by `sqrt(variance + epsilon)` (the variance divides by their number), times
    `gamma`, plus `beta`; one position gives `beta`. This sample only: no running statistics. Pullback as of
    `layer_norm`, the sums over the positions. An extent of 0, or another shape of `gamma` or `beta`: ValueError. An
    `epsilon` that is no number: TypeError."""

    keeps = ("xh", "r")

    def value(ops, x, gamma, beta, epsilon=1e-5):
        if not like(x).shape:
            raise ValueError("batch_norm: x is a scalar, expected [channels, ...]")
        checked("batch_norm", x, gamma, beta, 0, "one entry for each channel of x", epsilon)
        x, shape = ops.reshape(ops.floating(x), (x.shape[0], -1)), x.shape
        y, xh, r = ops.by_rows(normalized, x, gamma[:, None], beta[:, None], epsilon=epsilon)
        return ops.reshape(y, shape), xh, r

    shape = shape

    def pull_x(ops, g, gamma, xh, r):
        return ops.reshape(ops.by_rows(pulled, ops.reshape(g, xh.shape), xh, r, gamma[:, None]), g.shape)

    def pull_gamma(ops, g, xh):
        return ops.bilinear(lambda g, xh: ops.row_dots(g, xh), ops.reshape(g, xh.shape), xh)[:, 0]

    def pull_beta(ops, g, xh):
        return ops.row_sums(ops.reshape(g, xh.shape))[:, 0]

    def push_x(ops, t, gamma, xh, r):
        return ops.reshape(ops.by_rows(pushed, ops.reshape(t, xh.shape), xh, r, gamma[:, None]), t.shape)

    def push_gamma(ops, t, xh, y_like):
        return ops.reshape(xh * t[:, None], y_like.shape)

    def push_beta(ops, t, xh, y_like):
        return ops.reshape(ops.broadcast_to(t[:, None], xh.shape), y_like.shape)

    samples = (
        (np.array([[0.5, -1.0, 2.0, 0.3], [1.5, 0.2, -0.7, 1.1]]), GAMMA[:2], BETA[:2]),
        (np.array([[[0.5, -1.0], [2.0, 0.3]], [[1.5, 0.2], [-0.7, 1.1]]]), GAMMA[1:3], BETA[1:3], {"epsilon": 0.1}),
        (np.array([0.5, 2.0]), GAMMA[:2], BETA[:2]),
    )
