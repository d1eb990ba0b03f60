"""What the gradients of eigenvalues and singular values are made of: operations of their own, whose derivatives need no
derivative of the vectors, which equal values leave undetermined."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .solving import S, folded, gaps, mirrored, result

A = np.array([[3.0, 1.0, 0.2], [0.5, 2.0, -0.3], [0.1, 0.4, 1.5]])
WIDE = np.array([[2.0, -0.3, 0.4], [0.5, 1.0, 0.7]])
G = np.array([1.0, -0.5, 2.0])


def eigen_turned(ops, x, g, t, upper):
    """The change of `V @ diag(g) @ VT` when the symmetric matrix changes by `t`. Where both the eigenvalues and `g` are
    equal it is 0/0: it depends on how `g` came from the eigenvalues; entries that `t` does not mix are 0."""
    w, v = ops.eigh(x, "U" if upper else "L")
    d = (g[..., None, :] - g[..., :, None]) * gaps(w)
    return v @ ops.times(v.mT @ t @ v, d) @ v.mT


@operation("autograd_frontend.ops.plain.PLAIN.spectral")
class spectral:
    """`spectral(x, g, upper, v)`: `V @ diag(g) @ VT` with the eigenvectors `v` of the symmetric `x`. Pullback for `x`:
    `V @ (D*(VT @ c @ V)) @ VT`, `D[i, j] = (g[j] - g[i])/(w[j] - w[i])`; for `g` the diagonal of `VT @ c @ V`."""

    def bind(x, g, upper=False, v=None):
        return (x, g), {"upper": upper}

    def shape(x, g, upper):
        return Like(x.shape, result(x))

    def pull_x(ops, c, x, g, upper):
        return folded(ops, eigen_turned(ops, x, g, (c + c.mT) / 2, upper), upper)

    def pull_g(ops, c, x, upper):
        _, v = ops.eigh(x, "U" if upper else "L")
        return ops.total(v * (c @ v), -2)

    def push_x(ops, t, x, g, upper):
        return eigen_turned(ops, x, g, mirrored(ops, t, upper), upper)

    def push_g(ops, t, x, upper):
        return ops.spectral(x, t, upper)

    samples = ((S, G), (S, G, True), (np.stack([S, 2.0 * S]), np.stack([G, G[::-1]])))


def singular_turned(ops, x, g, t):
    """The change of `U @ diag(g) @ VT` when `x` changes by `t`: of the symmetric part of `UT @ t @ V` as for
    eigenvalues, of the other part with `(g[i] + g[j])/(s[i] + s[j])`, and beyond the shorter side with `g/s`."""
    u, s, vt = ops.svd(x, full_matrices=False)
    p = u.mT @ t @ vt.mT
    even = (g[..., None, :] - g[..., :, None]) * gaps(s)
    odd = (g[..., None, :] + g[..., :, None]) / (s[..., None, :] + s[..., :, None])
    d = u @ (ops.times((p + p.mT) / 2, even) + ops.times((p - p.mT) / 2, odd)) @ vt
    rows, columns = x.shape[-2:]
    if rows > columns:
        d = d + ops.times(t @ vt.mT - u @ p, (g / s)[..., None, :]) @ vt
    if rows < columns:
        d = d + u @ ops.times(u.mT @ t - p @ vt, (g / s)[..., :, None])
    return d


@operation("autograd_frontend.ops.plain.PLAIN.singular")
class singular:
    """`singular(x, g, u, vt)`: `U @ diag(g) @ VT` with the singular vectors `u` and `vt` of `x`. Pullback for `x`: what
    `c` would change there; for `g` the diagonal of `UT @ c @ V`."""

    def bind(x, g, u=None, vt=None):
        return (x, g), {}

    def shape(x, g):
        return Like(x.shape, result(x))

    def pull_x(ops, c, x, g):
        return singular_turned(ops, x, g, c)

    def pull_g(ops, c, x):
        u, _, vt = ops.svd(x, full_matrices=False)
        return ops.total((u.mT @ c) * vt, -1)

    push_x = pull_x

    def push_g(ops, t, x):
        return ops.singular(x, t)

    samples = (
        (A, G), (WIDE, G[:2]), (WIDE.T, G[:2]), (np.stack([WIDE, 0.5 * WIDE[::-1] + 0.1]), np.stack([G, -G])[:, :2]),
    )  # fmt: skip
