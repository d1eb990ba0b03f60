"""Variances and covariances."""

from __future__ import annotations

import numpy as np

from .axes import count, divided, mask, masked, present, reduced, widened
from .block import Like, like, operation
from .reductions import CUBE, MASKED, MATRIX, SAMPLES, VECTOR

# variance


def var_bind(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    return (a, None if mean is np._NoValue else mean), {
        "axis": axis, "keepdims": keepdims, "where": mask(where), "dtype": dtype,
        "ddof": ddof if correction is None or correction is np._NoValue else correction,
    }  # fmt: skip


def deviation(ops, a, mean, axis, where):
    """Entries minus their mean, the one given as `mean=` or their own."""
    if mean is None:
        mean = divided(
            ops.total(masked(ops, ops.asarray(a), where), axis=axis, keepdims=True), count(ops, like(a), axis, where)
        )
    return a - mean


def freedom(ops, a, axis, where, ddof):
    n = count(ops, like(a), axis, where)
    return max(n - ddof, 0) if where is True else ops.maximum(n - ddof, 0)


def var_pull(ops, g, a, mean, axis, keepdims, where, ddof):
    d = divided(2.0 * deviation(ops, a, mean, axis, where), freedom(ops, a, axis, where, ddof))
    return masked(ops, ops.times(widened(ops, g, axis, keepdims), d), where)


def var_push(ops, t, a, mean, axis, keepdims, where, ddof):
    d = divided(2.0 * deviation(ops, a, mean, axis, where), freedom(ops, a, axis, where, ddof))
    return ops.total(masked(ops, ops.times(t, d), where), axis=axis, keepdims=keepdims)


def over_deviation(ops, g, y):
    """`g/(2*y)`, exactly 0 where the standard deviation `y` is 0."""
    return ops.where(y == 0, 0 * y, g / (2.0 * ops.where(y == 0, 1.0, y)))


def std_pull(ops, g, a, mean, y, axis, keepdims, where, ddof):
    return var_pull(ops, over_deviation(ops, g, y), a, mean, axis, keepdims, where, ddof)


def std_push(ops, t, a, mean, y, axis, keepdims, where, ddof):
    return over_deviation(ops, var_push(ops, t, a, mean, axis, keepdims, where, ddof), y)


SPREAD = (
    *SAMPLES, *MASKED, (MATRIX, {"axis": 1, "ddof": 1}), (VECTOR, {"correction": 1.5}),
    (MATRIX, {"axis": 1, "mean": np.array([[0.4], [0.6]])}),
)  # fmt: skip


@operation("numpy.var numpy.ndarray.var")
class var:
    """Variance with `n - ddof` (or `correction`) degrees of freedom. Pullback `g*2*(a - mean)/(n - ddof)`; no degree
    of freedom left: nan, as the value. `mean=` may be recorded: its pullback is minus the sum of that."""

    bind, shape, pull_a, push_a = var_bind, reduced, var_pull, var_push

    def pull_mean(ops, g, a, mean, axis, keepdims, where, ddof):
        return -var_pull(ops, g, a, mean, axis, keepdims, where, ddof)

    def push_mean(ops, t, a, mean, axis, keepdims, where, ddof):
        return -var_push(ops, t, a, mean, axis, keepdims, where, ddof)

    samples = SPREAD


@operation("numpy.std numpy.ndarray.std")
class std:
    """Standard deviation. Pullback `g*(a - mean)/(y*(n - ddof))`, exactly 0 where the deviation `y` is 0."""

    bind, shape, pull_a, push_a = var_bind, reduced, std_pull, std_push

    def pull_mean(ops, g, a, mean, y, axis, keepdims, where, ddof):
        return -std_pull(ops, g, a, mean, y, axis, keepdims, where, ddof)

    def push_mean(ops, t, a, mean, y, axis, keepdims, where, ddof):
        return -std_push(ops, t, a, mean, y, axis, keepdims, where, ddof)

    samples = SPREAD


def nan_var_bind(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, correction=None):
    operands, attributes = var_bind(a, axis, dtype, out, ddof, keepdims, where=where, correction=correction)
    return operands[:1], attributes


@operation("numpy.nanvar")
class nanvar:
    """Variance of the numbers among the entries: exactly 0 for NaN. `mean=` is refused."""

    bind, shape = nan_var_bind, reduced

    def pull_a(ops, g, a, axis, keepdims, where, ddof):
        return var_pull(ops, g, a, None, axis, keepdims, present(ops, a, where), ddof)

    def push_a(ops, t, a, axis, keepdims, where, ddof):
        return var_push(ops, t, a, None, axis, keepdims, present(ops, a, where), ddof)

    samples = SPREAD[:-1]


@operation("numpy.nanstd")
class nanstd:
    """Standard deviation of the numbers among the entries: exactly 0 for NaN and where it is 0. `mean=` is refused."""

    bind, shape = nan_var_bind, reduced

    def pull_a(ops, g, a, y, axis, keepdims, where, ddof):
        return std_pull(ops, g, a, None, y, axis, keepdims, present(ops, a, where), ddof)

    def push_a(ops, t, a, y, axis, keepdims, where, ddof):
        return std_push(ops, t, a, None, y, axis, keepdims, present(ops, a, where), ddof)

    samples = SPREAD[:-1]


@operation("numpy.cov")
class cov:
    """Covariance of variables in rows (`rowvar=False`: columns). Pullback `(g + g.T) @ X/(n - ddof)`, `X` the centred
    observations. A second set `y` and weights are refused."""

    def bind(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
        if y is not None or fweights is not None or aweights is not None:
            raise TypeError("y, fweights or aweights; np.vstack sets two sets of variables below each other")
        return (m,), {"rowvar": rowvar, "ddof": ddof if ddof is not None else 0 if bias else 1, "dtype": dtype}

    def shape(m, rowvar, ddof, dtype):
        n = 1 if len(m.shape) < 2 else m.shape[0 if rowvar else 1]
        return Like(() if n == 1 else (n, n), np.dtype(dtype or np.result_type(m.dtype, float)))

    def pull_m(ops, g, m, rowvar, ddof):
        x = centred(ops, m, rowvar)
        g = ops.reshape(g, (len(x), len(x)))
        d = ops.matmul(g + g.T, divided(x, max(x.shape[1] - ddof, 0)))
        return d.T if m.ndim == 2 and not rowvar else ops.reshape(d, m.shape)

    def push_m(ops, t, m, rowvar, ddof):
        x, t = centred(ops, m, rowvar), centred(ops, t, rowvar)
        d = divided(ops.matmul(x, t.T), max(x.shape[1] - ddof, 0))
        return ops.reshape(d + d.T, () if len(x) == 1 else d.shape)

    samples = ((MATRIX,), (VECTOR,), (MATRIX, {"rowvar": False}), (CUBE[0], {"bias": True}), (CUBE[1], {"ddof": 0}))


def centred(ops, m, rowvar):
    """Variables in rows, minus their means."""
    x = ops.reshape(m, (1, -1)) if m.ndim < 2 else m if rowvar else m.T
    return x - divided(ops.total(x, axis=1, keepdims=True), x.shape[1])
