"""Attention: weights that a softmax gives to the allowed keys, times the values of these keys."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .interface import ranked, shaped, whole
from .linalg import kind_of
from .rows import even, softmax_pull

SCORES = np.array([[0.5, -1.0, 2.0], [0.3, 0.1, -0.4]])
VALUES = np.array([[1.0, -0.5], [0.25, 2.0], [-1.5, 0.75]])
KEPT = np.array([[1.0, 0.5, 2.0], [0.0, -1.0, 1.25]])
TRIANGLE = np.tril(np.ones((3, 3), bool))


def masked(operation, mask, shape):
    """A mask as an array, or None."""
    if mask is not None:
        mask = np.asarray(mask)
        shaped(operation, "mask", mask, shape, "one entry for each query and key")
        if mask.dtype != bool and mask.size:
            raise TypeError(f"{operation}: mask has type {mask.dtype}, expected booleans, True for an allowed key")
    return mask


def masked_softmax(ops, s, mask):
    """The softmax of every row over its allowed keys; exactly 0 elsewhere, where no score is read."""
    if mask is None:
        return even(ops, s)
    some = ops.any(mask, axis=-1, keepdims=True)
    blocked = ops.astype(ops.where(some, -np.inf, 0), s.dtype)
    return ops.where(mask, even(ops, ops.where(mask, s, blocked)), 0)


def pushed_softmax(ops, t, p):
    """The tangent of the weights for that of the scores, which is not read where there is no weight."""
    return softmax_pull(ops, ops.where(p == 0, 0, t), p)


def by_columns(ops, p, g, factor):
    """`sum_c p[i,j]*g[i,c]*factor(c)[i,j]`, product by product: `p` is small where the other two overflow."""
    d = ops.zeros_like(p)
    for c in range(g.shape[-1]):
        d = d + ops.times(ops.times(g[..., c, None], p), factor(c))
    return d


@operation()
class softmax_matmul:
    """`softmax_matmul(scores, values, multiplier, mask=None)`: `Z + (r, k)`, `Z + (k, c)` and `Z + (r, k)` give `Y`,
    `Z + (r, c)`, which is `(P*multiplier) @ values`; `P` is the softmax of every row of scores over the keys that
    `mask`, booleans `(r, k)`, allows, and exactly 0 elsewhere, where no score is read. A row without keys is 0. Rows
    are not normalized again after the multiplier. Pullback `(P*multiplier)T @ g` of the values,
    `sum_c P[i,j]*g[i,c]*(multiplier[i,j]*values[j,c] - Y[i,c])` of the scores, `sum_c P[i,j]*g[i,c]*values[j,c]` of the
    multiplier, the last two finite where these products are, and exactly 0 at blocked keys. Other shapes: ValueError.
    A mask that is not boolean: TypeError."""

    keeps = ("p",)

    def value(ops, scores, values, multiplier, mask=None):
        if np.ndim(scores) < 2:
            raise ValueError(f"softmax_matmul: scores has shape {np.shape(scores)}, expected at least two axes")
        keys = scores.shape[:-2] + scores.shape[-1:]
        if np.ndim(values) < 2 or values.shape[:-1] != keys:
            raise ValueError(
                f"softmax_matmul: values has shape {np.shape(values)}, expected {keys} and a last axis, "
                f"one row for each key of scores of shape {scores.shape}"
            )
        shaped("softmax_matmul", "multiplier", multiplier, scores.shape, "that of scores")
        p = masked_softmax(ops, ops.floating(scores), masked("softmax_matmul", mask, scores.shape[-2:]))
        return (p * multiplier) @ values, p

    def shape(scores, values, multiplier, mask):
        return Like((*scores.shape[:-1], values.shape[-1]), np.result_type(kind_of(scores, values, multiplier), 1.0))

    def pull_scores(ops, g, values, multiplier, p, mask, y):
        d = ops.bilinear(lambda g, values: g @ values.mT, g, values)
        d = ops.times(d, multiplier) - ops.sum(ops.times(g, y), axis=-1, keepdims=True)
        d = ops.times(d, p)
        if not ops.known_finite(d):
            d = by_columns(ops, p, g, lambda c: multiplier * values[..., None, :, c] - y[..., c, None])
        return allowed(ops, d, mask)

    def pull_values(ops, g, multiplier, p):
        return ops.bilinear(lambda g, w: w.mT @ g, g, p * multiplier)

    def pull_multiplier(ops, g, values, p, mask):
        d = ops.times(ops.bilinear(lambda g, values: g @ values.mT, g, values), p)
        if not ops.known_finite(d):
            d = by_columns(ops, p, g, lambda c: values[..., None, :, c])
        return allowed(ops, d, mask)

    def push_scores(ops, t, values, multiplier, p):
        return (pushed_softmax(ops, t, p) * multiplier) @ values

    def push_values(ops, t, multiplier, p):
        return (p * multiplier) @ t

    def push_multiplier(ops, t, values, p):
        return (p * t) @ values

    samples = (
        (SCORES, VALUES, KEPT), (SCORES, VALUES, KEPT, {"mask": [[True, False, True], [False, False, False]]}),
        (np.stack([SCORES, -SCORES]), np.stack([VALUES, VALUES - 1.0]), np.stack([KEPT, KEPT * KEPT])),
    )  # fmt: skip


def allowed(ops, d, mask):
    return d if mask is None else ops.where(ops.asarray(mask), d, 0)


def split(ops, x, heads):
    """`[..., n, H*h]` as `[..., H, n, h]`."""
    return ops.swapaxes(ops.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads)), -2, -3)


def join(ops, x):
    """`[..., H, n, h]` as `[..., n, H*h]`."""
    x = ops.swapaxes(x, -2, -3)
    return ops.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def root(x):
    """The square root of the width of a head; 1 for a head without coordinates."""
    return max(x.shape[-1], 1) ** 0.5


def projections_pull(ops, g, wo, q, k, v, p, memo):
    """The cotangents of the three projections `x @ wq`, `x @ wk`, `x @ wv`. They are computed for the first operand
    that asks, and kept in `memo` for the others."""
    if not memo or memo[0] is not g:
        d = split(ops, ops.bilinear(lambda g, wo: g @ wo.T, g, wo), p.shape[-3])
        dv = join(ops, ops.bilinear(lambda d, p: p.mT @ d, d, p))
        d = softmax_pull(ops, ops.bilinear(lambda d, v: d @ v.mT, d, v), p)
        dq = join(ops, ops.bilinear(lambda d, k: d @ k, d, k)) / root(k)
        memo[:] = g, dq, join(ops, ops.bilinear(lambda d, q: d.mT @ q, d, q)), dv
    return memo[1:]


def weight_pull(ops, d, x):
    """`xT @ d`, summed over the batch."""
    rows = int(np.prod(x.shape[:-1]))
    x, d = ops.reshape(x, (rows, x.shape[-1])), ops.reshape(d, (rows, d.shape[-1]))
    return ops.bilinear(lambda d, x: x.T @ d, d, x)


def project_pull(ops, d, w):
    return ops.bilinear(lambda d, w: d @ w.T, d, w)


def attended(ops, t, v, wo, p):
    """The tangent of the result for that of the scores."""
    return join(ops, pushed_softmax(ops, t, p) @ v) @ wo


def check_attention(wq, wk, wv, wo, x, num_heads):
    ranked("attention", "wq", wq, 2, "[d, heads * width]")
    if np.ndim(x) not in (2, 3) or 0 in x.shape[:-1]:
        raise ValueError(f"attention: x has shape {np.shape(x)}, expected [n, d] or [b, n, d], n and b at least 1")
    d, width = wq.shape
    whole("attention", "num_heads", num_heads, 1)
    if width % num_heads:
        raise ValueError(f"attention: num_heads is {num_heads}, expected a divisor of the {width} columns of wq")
    shaped("attention", "wk", wk, (d, width), "that of wq")
    shaped("attention", "wv", wv, (d, width), "that of wq")
    shaped("attention", "wo", wo, (width, d), "that of wq transposed")
    shaped("attention", "x", x, (*x.shape[:-1], d), "one column for each row of wq")


@operation()
class attention:
    """`attention(wq, wk, wv, wo, x, num_heads, mask=None)`: `[d, H*h]` three times, `[H*h, d]`, and `[n, d]` or
    `[b, n, d]` -> the shape of `x`. In every head, `P = softmax((q @ kT)/sqrt(h))` over the keys that `mask`, booleans
    `[n, n]` (row = query) for all heads and samples, allows; the result is `join(P @ v) @ wo` with `q, k, v` the heads
    of `x @ wq`, `x @ wk`, `x @ wv`. A query without keys gives zeros. Pullback: the chain rule with
    `dS = P*(dP - sum(dP*P))`, the gradients of the weights summed over the batch. No sample, no token, num_heads < 1 or
    not a divisor of H*h, other shapes: ValueError. A mask that is not boolean: TypeError."""

    keeps = ("q", "k", "v", "p", "o", "memo")

    def value(ops, wq, wk, wv, wo, x, num_heads, mask=None):
        check_attention(wq, wk, wv, wo, x, num_heads)
        mask = masked("attention", mask, (x.shape[-2], x.shape[-2]))
        q, k, v = (split(ops, x @ w, num_heads) for w in (wq, wk, wv))
        q = q / root(k)
        p = masked_softmax(ops, q @ k.mT, mask)
        o = join(ops, p @ v)
        return o @ wo, q, k, v, p, o, []

    def shape(wq, wk, wv, wo, x, num_heads, mask):
        return Like(x.shape, np.result_type(kind_of(wq, wk, wv, wo, x), 1.0))

    def pull_wq(ops, g, wo, x, q, k, v, p, memo):
        return weight_pull(ops, projections_pull(ops, g, wo, q, k, v, p, memo)[0], x)

    def pull_wk(ops, g, wo, x, q, k, v, p, memo):
        return weight_pull(ops, projections_pull(ops, g, wo, q, k, v, p, memo)[1], x)

    def pull_wv(ops, g, wo, x, q, k, v, p, memo):
        return weight_pull(ops, projections_pull(ops, g, wo, q, k, v, p, memo)[2], x)

    def pull_wo(ops, g, o):
        return weight_pull(ops, g, o)

    def pull_x(ops, g, wq, wk, wv, wo, q, k, v, p, memo):
        dq, dk, dv = projections_pull(ops, g, wo, q, k, v, p, memo)
        return project_pull(ops, dq, wq) + project_pull(ops, dk, wk) + project_pull(ops, dv, wv)

    def push_wq(ops, t, wo, x, k, v, p):
        return attended(ops, split(ops, x @ t, p.shape[-3]) @ k.mT / root(k), v, wo, p)

    def push_wk(ops, t, wo, x, q, v, p):
        return attended(ops, q @ split(ops, x @ t, p.shape[-3]).mT, v, wo, p)

    def push_wv(ops, t, wo, x, p):
        return join(ops, p @ split(ops, x @ t, p.shape[-3])) @ wo

    def push_wo(ops, t, o):
        return o @ t

    def push_x(ops, t, wq, wk, wv, wo, q, k, v, p):
        tq, tk, tv = (split(ops, t @ w, p.shape[-3]) for w in (wq, wk, wv))
        scores = tq @ k.mT / root(k) + q @ tk.mT
        return attended(ops, scores, v, wo, p) + join(ops, p @ tv) @ wo

    samples = (
        (*(np.sin(np.arange(8.0) * (i + 2)).reshape(2, 4) for i in range(3)), VALUES[[0, 1, 2, 0]], VALUES, 2),
        (*(np.cos(np.arange(4.0) * (i + 2)).reshape(2, 2) for i in range(4)), np.stack([VALUES, -VALUES[::-1]]), 1,
         {"mask": TRIANGLE}),
    )  # fmt: skip
