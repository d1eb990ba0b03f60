"""The singular value decomposition; stacks of matrices throughout."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .solving import asked, gaps, result

A = np.array([[3.0, 1.0, 0.2], [0.5, 2.0, -0.3], [0.1, 0.4, 1.5]])
TALL = np.array([[2.0, 0.5], [-0.3, 1.0], [0.4, 0.7]])
STACK = np.stack([TALL, 0.5 * TALL[::-1] + 0.1])


def bind(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular vectors beyond the shorter side are not determined, and symmetric matrices need another rule."""
    rows, columns = np.shape(a)[-2:]
    if full_matrices and compute_uv and rows != columns:
        raise TypeError("of a matrix that is not square, write full_matrices=False")
    if hermitian:
        raise TypeError("hermitian=True; use np.linalg.eigh")
    return (a,), {}


def sides(x):
    """The shapes of the three results."""
    n = min(x.shape[-2:])
    return (*x.shape[:-1], n), (*x.shape[:-2], n), (*x.shape[:-2], n, x.shape[-1])


def weighted(ops, u, g, vt):
    """`U @ diag(g) @ VT`."""
    return (u * g[..., None, :]) @ vt


def turned(ops, m, s, g):
    """`(M - MT)/(s[j]**2 - s[i]**2)`: how a change of the matrix turns its singular vectors. `g`: their cotangents."""
    return ops.times(asked(ops, g), (m - m.mT) * gaps(s * s))


@operation("numpy.linalg.svdvals")
class svdvals:
    """Singular values, descending. Pullback `U @ diag(g) @ VT`."""

    def bind(x):
        return (x,), {}

    def shape(x):
        return Like(sides(x)[1], result(x))

    def pull_x(ops, g, x):
        return ops.singular(x, g)

    def push_x(ops, t, x):
        u, _, vt = ops.svd(x, full_matrices=False)
        return ops.total((u.mT @ t) * vt, -1)

    samples = ((A,), (TALL,), (TALL.T,), (STACK,))


@operation()
class svd_left:
    """The first result of `svd`. With `M = UT @ g` the pullback is `U @ ((M - MT)*F) @ S @ VT`,
    `F[i, j] = 1/(s[j]**2 - s[i]**2)`, plus `(g - U @ M) @ inv(S) @ VT` of a tall matrix."""

    bind = bind

    def shape(x):
        return Like(sides(x)[0], result(x))

    def pull_x(ops, g, results):
        u, s, vt = results
        m = u.mT @ g
        d = weighted(ops, u @ turned(ops, m, s, g), s, vt)
        return d + weighted(ops, g - u @ m, 1 / s, vt) if u.shape[-2] > u.shape[-1] else d

    def push_x(ops, t, results):
        u, s, vt = results
        p = u.mT @ t @ vt.mT
        d = u @ ops.times(p * s[..., None, :] + s[..., :, None] * p.mT, gaps(s * s))
        return d + ((t @ vt.mT - u @ p) / s[..., None, :] if u.shape[-2] > u.shape[-1] else 0)


@operation()
class svd_values:
    """The second result of `svd`. Pullback `U @ diag(g) @ VT`."""

    bind = bind

    def shape(x):
        return Like(sides(x)[1], result(x))

    def pull_x(ops, g, x, results):
        return ops.singular(x, g, ops.detach(results[0]), ops.detach(results[2]))

    def push_x(ops, t, results):
        return ops.total((results[0].mT @ t) * results[2], -1)


@operation()
class svd_right:
    """The third result of `svd`, `VT`. With `M = VT @ gT` the pullback is `U @ S @ ((M - MT)*F) @ VT`, plus
    `U @ inv(S) @ (g - MT @ VT)` of a wide matrix."""

    bind = bind

    def shape(x):
        return Like(sides(x)[2], result(x))

    def pull_x(ops, g, results):
        u, s, vt = results
        m = vt @ g.mT
        d = weighted(ops, u, s, turned(ops, m, s, g.mT) @ vt)
        return d + weighted(ops, u, 1 / s, g - m.mT @ vt) if vt.shape[-1] > vt.shape[-2] else d

    def push_x(ops, t, results):
        u, s, vt = results
        p = u.mT @ t @ vt.mT
        d = ops.times(s[..., :, None] * p + p.mT * s[..., None, :], gaps(s * s)).mT @ vt
        return d + ((u.mT @ t - p @ vt) / s[..., :, None] if vt.shape[-1] > vt.shape[-2] else 0)


@operation("numpy.linalg.svd")
class svd:
    """`(U, S, VT)`, or `S` alone with `compute_uv=False`. A matrix that is not square needs `full_matrices=False`.
    Pullbacks are infinite for equal singular values, whose vectors are not determined, and, of the vectors of a matrix
    that is not square, for zero ones."""

    parts = ("svd_left", "svd_values", "svd_right")
    alone = "svdvals"
    bind = bind

    def shape(x):
        return Like(sides(x)[1], result(x))

    samples = ((A,), (TALL, False), (TALL.T, {"full_matrices": False}), (STACK, False), (TALL, {"compute_uv": False}))
