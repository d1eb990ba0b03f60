"""Inverses, determinants, solutions and factors of square matrices; stacks of them throughout."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .linalg import kind_of

A = np.array([[3.0, 1.0, 0.2], [0.5, 2.0, -0.3], [0.1, 0.4, 1.5]])
S = np.array([[2.0, 0.5, 0.1], [0.5, 1.5, 0.3], [0.1, 0.3, 1.0]])
STACK = np.stack([A, A.T + 0.1, 2.0 * A])


def result(x):
    """The type that LAPACK computes in."""
    return x.dtype if x.dtype is not None and x.dtype.kind in "fc" else np.dtype(float)


@operation("numpy.linalg.inv")
class linalg_inv:
    """`y = inv(x)`. Pullback `-yT @ g @ yT`. A singular matrix raises LinAlgError."""

    complex = "conjugated"

    def bind(a):
        return (a,), {}

    def shape(x):
        return Like(x.shape, result(x))

    def pull_x(ops, g, y):
        return -(y.mT @ g @ y.mT)

    def push_x(ops, t, y):
        return -(y @ t @ y)

    samples = ((A,), (STACK,), (A[:1, :1],))


FEW = 16  # rows of a singular matrix up to which its minors are taken


def cofactors(ops, x, y):
    """The derivative of the determinant `y` of `x`: `y * inv(x).T`, where that exists."""
    if ops.all(y):
        return y[..., None, None] * ops.inv(x).mT
    n = x.shape[-1]
    if n <= FEW:  # polynomials of the entries, with derivatives of every order; the vectors below have none
        k = np.arange(n)
        others = np.array([np.delete(k, i) for i in k], np.intp).reshape(n, max(n - 1, 0))
        minors = x[..., others[:, None, :, None], others[None, :, None, :]]
        return ops.det(minors) * (1 - 2 * ((k[:, None] + k) % 2)).astype(x.dtype)
    u, s, v = ops.svd(x)
    rest = ops.others(np.multiply.reduce, s)
    return ops.det(u @ v)[..., None, None] * ((u * rest[..., None, :]) @ v)


def spread(g):
    """A cotangent of one number for each matrix, to be multiplied with matrices."""
    return g[..., None, None] if getattr(g, "ndim", 0) else g


@operation("numpy.linalg.det")
class det:
    """`y = det(x)`. Pullback `g*y*inv(x).T`; the cofactors where the matrix is singular."""

    def bind(a):
        return (a,), {}

    def shape(x):
        return Like(x.shape[:-2], result(x))

    def pull_x(ops, g, x, y):
        return spread(g) * cofactors(ops, x, y)

    def push_x(ops, t, x, y):
        return ops.total(ops.total(t * cofactors(ops, x, y), -1), -1)

    samples = ((A,), (STACK,), (np.array([[1.0, 2.0], [2.0, 4.0]]),), (np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0]),))


def log_slope(ops, x):
    """`inv(x).T`, with the signs of the cofactors times infinity where the matrix is singular."""
    y = ops.det(x)
    return ops.inv(x).mT if ops.all(y) else cofactors(ops, x, y) / y[..., None, None]


@operation("")
class logabsdet:
    """The second result of `slogdet`, `log(abs(det(x)))`. Pullback `g*inv(x).T`."""

    def bind(a):
        return (a,), {}

    def shape(x):
        return Like(x.shape[:-2], result(x))

    def pull_x(ops, g, x):
        return spread(g) * log_slope(ops, x)

    def push_x(ops, t, x):
        return ops.total(ops.total(t * log_slope(ops, x), -1), -1)


@operation("numpy.linalg.slogdet")
class slogdet:
    """`(sign, logabsdet)` of a matrix; the sign is plain data."""

    parts = (None, "logabsdet")

    def bind(a):
        return (a,), {}

    def shape(x):
        return Like(x.shape[:-2], result(x))

    samples = ((A,), (STACK,))


def solved(ops, g, a, b_like, memo):
    """`solve(aT, g)`, once for both operands."""
    if memo and memo[0] is g:
        return memo[1]
    u = ops.solve(a.mT, g[..., None])[..., 0] if b_like.ndim == 1 else ops.solve(a.mT, g)
    memo[:] = g, u
    return u


@operation("numpy.linalg.solve")
class solve:
    """`y = solve(a, b)`: a vector only if `b` has one axis, else matrices; stacks broadcast. With `u = solve(aT, g)`
    the pullback is `-u @ yT` for `a` and `u` for `b`. A singular matrix raises LinAlgError."""

    complex = "conjugated"

    def bind(a, b):
        return (a, b), {"memo": []}

    def shape(a, b, memo):
        if b.ndim == 1:
            return Like(a.shape[:-1], kind_of(a, b))
        return Like(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], kind_of(a, b))

    def pull_a(ops, g, a, y, b_like, memo):
        u = solved(ops, g, a, b_like, memo)
        return -(u[..., None] * y[..., None, :] if b_like.ndim == 1 else u @ y.mT)

    def pull_b(ops, g, a, b_like, memo):
        return solved(ops, g, a, b_like, memo)

    def push_a(ops, t, a, y, b_like):
        if b_like.ndim == 1:
            return -ops.solve(a, t @ y[..., None])[..., 0]
        return -ops.solve(a, t @ y)

    def push_b(ops, t, a):
        return ops.solve(a, t)

    samples = ((A, A[0]), (A, STACK[0, :, :2]), (STACK, A[0]), (STACK, A[:, :2]), (A, STACK))


def half(ops, x):
    """The lower triangle, its diagonal halved."""
    return ops.tril(x) - 0.5 * (x * np.eye(x.shape[-1], dtype=x.dtype))


def folded(ops, x, upper):
    """The cotangent of a symmetric matrix of which NumPy reads one triangle only."""
    d = x + x.mT - x * np.eye(x.shape[-1], dtype=x.dtype)
    return ops.triu(d) if upper else ops.tril(d)


def mirrored(ops, t, upper):
    """The symmetric matrix of which one triangle is given."""
    return ops.triu(t) + ops.triu(t, 1).mT if upper else ops.tril(t) + ops.tril(t, -1).mT


@operation("numpy.linalg.cholesky")
class cholesky:
    """`L = cholesky(x)`, `L @ LT = x`; with `upper=True` `LT`. NumPy reads one triangle of `x`, and the gradient is in
    that triangle. With `P` the lower triangle of `LT @ g`, its diagonal halved, and `S = inv(L).T @ P @ inv(L)`:
    `S + ST` there, `S` on the diagonal. LinAlgError if `x` is not positive definite."""

    def bind(a, /, *, upper=False):
        return (a,), {"upper": upper}

    def shape(x, upper):
        return Like(x.shape, result(x))

    def pull_x(ops, g, y, upper):
        low, g = (y.mT, g.mT) if upper else (y, g)
        p = half(ops, low.mT @ g)
        s = ops.solve(low.mT, ops.solve(low.mT, p.mT).mT)
        return folded(ops, s, upper)

    def push_x(ops, t, y, upper):
        low = y.mT if upper else y
        t = mirrored(ops, t, upper)
        d = low @ half(ops, ops.solve(low, ops.solve(low, t).mT))
        return d.mT if upper else d

    samples = ((S,), (np.stack([S, 2.0 * S]),), (S, {"upper": True}))


def gaps(w):
    """`1/(w[j] - w[i])`, infinite for equal eigenvalues, 0 on the diagonal."""
    d = w[..., None, :] - w[..., :, None]
    n = w.shape[-1]
    d[..., range(n), range(n)] = np.inf
    return 1 / d


def asked(ops, g):
    """For every pair of vectors 1 if there is a cotangent of one of them, else 0. That the two cancel is no reason to
    call `0*inf` zero: `(V * w) @ VT` is the matrix, whose derivative is not."""
    on = ops.any(ops.detach(g) != 0, axis=-2)
    return (on[..., None, :] | on[..., :, None]) * 1.0


@operation("numpy.linalg.eigvalsh")
class eigvalsh:
    """Eigenvalues of a symmetric matrix, ascending. Pullback `V @ diag(g) @ VT`, in the triangle that NumPy reads."""

    def bind(a, UPLO="L"):
        return (a,), {"upper": UPLO.upper() == "U"}

    def shape(x, upper):
        return Like(x.shape[:-1], result(x))

    def pull_x(ops, g, x, upper):
        return folded(ops, ops.spectral(x, g, upper), upper)

    def push_x(ops, t, x, upper):
        _, v = ops.eigh(x, "U" if upper else "L")
        return ops.total(v * (mirrored(ops, t, upper) @ v), -2)

    samples = ((S,), (np.stack([S, S + np.diag([0.0, 1.0, 3.0])]),), (S, {"UPLO": "U"}))


@operation("")
class eigh_values:
    """The first result of `eigh`."""

    def bind(a, UPLO="L"):
        return (a,), {"upper": UPLO.upper() == "U"}

    def shape(x, upper):
        return Like(x.shape[:-1], result(x))

    def pull_x(ops, g, x, results, upper):
        return folded(ops, ops.spectral(x, g, upper, ops.detach(results[1])), upper)

    def push_x(ops, t, results, upper):
        v = results[1]
        return ops.total(v * (mirrored(ops, t, upper) @ v), -2)


@operation("")
class eigh_vectors:
    """The second result of `eigh`. With `M = VT @ g` the pullback is `V @ ((M - MT)*F/2) @ VT`,
    `F[i, j] = 1/(w[j] - w[i])`: infinite or nan for equal eigenvalues, whose vectors are not determined, if a cotangent
    arrives at one of them."""

    def bind(a, UPLO="L"):
        return (a,), {"upper": UPLO.upper() == "U"}

    def shape(x, upper):
        return Like(x.shape, result(x))

    def pull_x(ops, g, results, upper):
        w, v = results
        m = v.mT @ g
        m = m - m.mT
        s = ops.times(asked(ops, g), m * gaps(w)) / 2
        return folded(ops, v @ s @ v.mT, upper)

    def push_x(ops, t, results, upper):
        w, v = results
        return v @ ops.times(v.mT @ mirrored(ops, t, upper) @ v, gaps(w))


@operation("numpy.linalg.eigh")
class eigh:
    """`(eigenvalues, eigenvectors)` of a symmetric matrix, of which NumPy reads the triangle `UPLO`."""

    parts = ("eigh_values", "eigh_vectors")

    def bind(a, UPLO="L"):
        return (a,), {"upper": UPLO.upper() == "U"}

    def shape(x, upper):
        return Like(x.shape[:-1], result(x))

    samples = ((S,), (S, {"UPLO": "U"}))


def power_rule(ops, g, x, n):
    """The sum of `x**k @ g @ x**(n-1-k)`."""
    total, power = g, x
    for k in range(1, n):
        total = total @ x + power @ g
        power = power @ x if k < n - 1 else power
    return total if n else 0 * g


@operation("numpy.linalg.matrix_power")
class matrix_power:
    """`x` to an integer power; a negative one is that of the inverse. Pullback: the sum over `k` of
    `(xT)**k @ g @ (xT)**(n-1-k)`. The first power is `x` itself, not a copy."""

    complex = "conjugated"
    views = True

    def bind(a, n):
        return (a,), {"n": n}

    def shape(x, n):
        return Like(x.shape, x.dtype if n >= 0 else result(x))

    def pull_x(ops, g, x, n):
        if n >= 0:
            return power_rule(ops, g, x.mT, n)
        z = ops.inv(x).mT
        return -(z @ power_rule(ops, g, z, -n) @ z)

    def push_x(ops, t, x, n):
        if n >= 0:
            return power_rule(ops, t, x, n)
        z = ops.inv(x)
        return power_rule(ops, -(z @ t @ z), z, -n)

    samples = ((A, 3), (STACK, 2), (A, 1), (A, 0), (A, -2), (A, 5))
