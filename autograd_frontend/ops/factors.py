"""`scipy.linalg` (never imported before somebody calls it): Cholesky factors, solutions, inverses, the exponential."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .solving import A, S, cofactors, folded, half, mirrored, spread

U = np.triu(A + np.eye(3))
B = np.array([[1.0, -0.5], [0.3, 2.0], [-1.0, 0.7]])
SYMMETRIC = ("sym", "symmetric", "her", "hermitian", "pos", "positive definite")
GENERAL = (None, "gen", "general")


def lapack(*likes):
    """The type that SciPy computes in."""
    kinds = [x.dtype for x in likes]
    return np.dtype(np.float32 if all(k is not None and k.char in "fe" for k in kinds) else np.float64)


def wide(ops, x):
    """A matrix in the type that SciPy computes in."""
    return x if x.dtype.char in "fd" else ops.astype(x, lapack(x))


def alone(a, **overwrites):
    """Only single matrices, and nothing that writes into an argument."""
    for name, on in overwrites.items():
        if on:
            raise TypeError(f"{name}=True writes into an argument; leave it out")
    if np.ndim(a) != 2:
        raise TypeError("a stack of matrices; use np.linalg, or a loop")


def cholesky_bind(a, lower=False, overwrite_a=False, check_finite=True):
    alone(a, overwrite_a=overwrite_a)
    return (a,), {"upper": not lower}


def factor_shape(x, upper):
    return Like(x.shape, lapack(x))


def factor_pull(ops, g, y, upper):
    """With `P` the lower triangle of `LT @ g`, its diagonal halved: `inv(L).T @ P @ inv(L)`, folded."""
    low, g = (y.mT, g.mT) if upper else (y, g)
    p = half(ops, ops.tril(low).mT @ ops.tril(g))
    s = ops.solve_triangular(low, ops.solve_triangular(low, p.mT, 1, True).mT, 1, True)
    return folded(ops, s, upper)


def factor_push(ops, t, y, upper):
    low = y.mT if upper else y
    t = mirrored(ops, t, upper)
    inner = ops.solve_triangular(low, ops.solve_triangular(low, t, 0, True).mT, 0, True)
    d = ops.tril(low) @ half(ops, inner)
    return d.mT if upper else d


@operation("scipy.linalg.cholesky")
class cholesky:
    """`scipy.linalg.cholesky(a, lower=False)`: the upper factor, or the lower one, as `np.linalg.cholesky`. The
    gradient is in the triangle that is read. `overwrite_a=True` and stacks are refused."""

    key = "scipy.cholesky"
    bind, shape, pull_x, push_x = cholesky_bind, factor_shape, factor_pull, factor_push
    samples = ((S,), (S, True), (S, {"lower": True, "check_finite": False}))


def rest(ops, x, upper):
    """The triangle beside the factor, which `cho_factor` leaves as it was."""
    return ops.tril(x, -1) if upper else ops.triu(x, 1)


@operation()
class cho_factor_matrix:
    """The first result of `cho_factor`."""
    bind, shape = cholesky_bind, factor_shape

    def pull_x(ops, g, y, upper):
        return factor_pull(ops, g, y, upper) + rest(ops, g, upper)

    def push_x(ops, t, y, upper):
        return factor_push(ops, t, y, upper) + rest(ops, t, upper)


@operation("scipy.linalg.cho_factor")
class cho_factor:
    """`(c, lower)`: a Cholesky factor in one triangle, the entries of `a` in the other; `lower` is plain data."""

    parts = ("cho_factor_matrix", None)
    bind, shape = cholesky_bind, factor_shape
    samples = ((S,), (S, True))


def inner(ops, t, y):
    """The product of a change of the matrix and a solution."""
    return (t @ y[..., None])[..., 0] if getattr(y, "ndim", 0) == 1 else t @ y


def outer(ops, u, y):
    """`u @ yT`."""
    return u[..., None] * y[..., None, :] if y.ndim == 1 else u @ y.mT


def once(memo, g, compute):
    """What both operands need of one `g`."""
    if not (memo and memo[0] is g):
        memo[:] = g, compute()
    return memo[1]


@operation("scipy.linalg.solve_triangular autograd_frontend.ops.plain.PLAIN.solve_triangular")
class solve_triangular:
    """`scipy.linalg.solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False)`. With `u` the solution of the
    transposed system for `g`: `-u @ yT` for `a`, in its triangle, and `u` for `b`. `overwrite_b=True` is refused."""

    def bind(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
        alone(a, overwrite_b=overwrite_b)
        turned = {"N": 0, "T": 1, "C": 1}.get(trans, int(bool(trans)) if not isinstance(trans, str) else trans)
        return (a, b), {"trans": turned, "lower": bool(lower), "unit": bool(unit_diagonal), "memo": []}

    def shape(a, b, trans, lower, unit, memo):
        return Like(b.shape, lapack(a, b))

    def pull_a(ops, g, a, y, trans, lower, unit, memo):
        u = once(memo, g, lambda: ops.solve_triangular(a, g, 1 - trans, lower, unit))
        return -triangle(ops, outer(ops, y, u) if trans else outer(ops, u, y), lower, unit)

    def pull_b(ops, g, a, trans, lower, unit, memo):
        return once(memo, g, lambda: ops.solve_triangular(a, g, 1 - trans, lower, unit))

    def push_a(ops, t, a, y, trans, lower, unit):
        t = triangle(ops, t, lower, unit)
        return -ops.solve_triangular(a, inner(ops, t.mT if trans else t, y), trans, lower, unit)

    def push_b(ops, t, a, trans, lower, unit):
        return ops.solve_triangular(a, t, trans, lower, unit)

    samples = (
        (U, B), (U.T + 0.0, B[:, 0], 0, True), (U, B, 1), (U.T + 0.0, B, {"trans": "T", "lower": True}),
        (A, B[:, 1]), (A, B, {"lower": True, "unit_diagonal": True}),
    )  # fmt: skip


def triangle(ops, x, lower, unit):
    """The entries that are read."""
    return ops.tril(x, -int(unit)) if lower else ops.triu(x, int(unit))


def by_factor(ops, c, b, lower):
    """`cho_solve`, as two triangular solutions."""
    return ops.solve_triangular(c, ops.solve_triangular(c, b, int(not lower), lower), int(lower), lower)


@operation("scipy.linalg.cho_solve")
class cho_solve:
    """`scipy.linalg.cho_solve((c, lower), b)`. With `u` the solution for `g` and `D = -(u @ yT + y @ uT)`: `D @ L` for
    a lower factor, `U @ D` for an upper one, in its triangle; `u` for `b`. `overwrite_b=True` is refused."""

    def bind(c_and_lower, b, overwrite_b=False, check_finite=True):
        c, lower = c_and_lower
        alone(c, overwrite_b=overwrite_b)
        return (c, b), {"lower": bool(lower), "memo": []}

    def shape(c, b, lower, memo):
        return Like(b.shape, lapack(c, b))

    def pull_c(ops, g, c, y, lower, memo):
        u = once(memo, g, lambda: by_factor(ops, c, g, lower))
        d = outer(ops, u, y)
        d, f = d + d.mT, triangle(ops, c, lower, False)
        return -triangle(ops, d @ f if lower else f @ d, lower, False)

    def pull_b(ops, g, c, lower, memo):
        return once(memo, g, lambda: by_factor(ops, c, g, lower))

    def push_c(ops, t, c, y, lower):
        t, f = triangle(ops, t, lower, False), triangle(ops, c, lower, False)
        d = t @ f.mT if lower else t.mT @ f
        return -by_factor(ops, c, inner(ops, d + d.mT, y), lower)

    def push_b(ops, t, c, lower):
        return by_factor(ops, c, t, lower)

    samples = (((U, False), B), ((U, False), B[:, 0]), ((U.T + 0.0, True), B), ((A, True), B[:, 1]))


def system(ops, a, way):
    """The matrix that is solved with: of a symmetric one, a single triangle is read."""
    return a if way == "general" else mirrored(ops, a, way == "upper")


def other(ops, a, g, way, turned):
    """The solution of the transposed system."""
    a = system(ops, wide(ops, a), way)
    g = wide(ops, g if g.ndim > 1 else g[..., None])
    return ops.solve(a if turned else a.mT, g)


@operation("scipy.linalg.solve")
class solve:
    """`scipy.linalg.solve(a, b, lower=False, assume_a=None, transposed=False)` of one matrix. With `u` the solution of
    the transposed system for `g`: `-u @ yT` for `a` and `u` for `b`; where `assume_a` is "sym", "her" or "pos", in the
    triangle that is read. Other structures and `overwrite_a`, `overwrite_b` are refused."""

    key = "scipy.solve"

    def bind(
        a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False
    ):
        alone(a, overwrite_a=overwrite_a, overwrite_b=overwrite_b)
        if assume_a not in (*GENERAL, *SYMMETRIC) or np.ndim(b) not in (1, 2):
            raise TypeError(f"assume_a={assume_a!r}, or a stack; write it without, or use solve_triangular")
        way = "general" if assume_a in GENERAL else "lower" if lower else "upper"
        return (a, b), {"way": way, "turned": bool(transposed) and way == "general", "memo": []}

    def shape(a, b, way, turned, memo):
        return Like(b.shape, lapack(a, b))

    def pull_a(ops, g, a, y, way, turned, memo):
        u = once(memo, g, lambda: ops.reshape(other(ops, a, g, way, turned), g.shape))
        d = -(outer(ops, y, u) if turned else outer(ops, u, y))
        return d if way == "general" else folded(ops, d, way == "upper")

    def pull_b(ops, g, a, way, turned, memo):
        return once(memo, g, lambda: ops.reshape(other(ops, a, g, way, turned), g.shape))

    def push_a(ops, t, a, y, way, turned):
        t = system(ops, t, way)
        return -ops.reshape(other(ops, a, inner(ops, t.mT if turned else t, y), way, not turned), y.shape)

    def push_b(ops, t, a, way, turned):
        return ops.reshape(other(ops, a, t, way, not turned), t.shape)

    samples = (
        (A, B), (A, B[:, 0]), (A, B, {"transposed": True}), (S, B, {"assume_a": "pos"}),
        (S, B[:, 1], {"assume_a": "sym"}), (S, B, {"assume_a": "pos", "lower": True}),
    )  # fmt: skip


@operation("scipy.linalg.inv")
class inv:
    """`scipy.linalg.inv(a)` of one matrix, as `np.linalg.inv`."""

    complex = "conjugated"
    key = "scipy.inv"

    def bind(a, overwrite_a=False, check_finite=True):
        alone(a, overwrite_a=overwrite_a)
        return (a,), {}

    def shape(x):
        return Like(x.shape, lapack(x))

    def pull_x(ops, g, y):
        return -(y.mT @ g @ y.mT)

    def push_x(ops, t, y):
        return -(y @ t @ y)

    samples = ((A,),)


@operation("scipy.linalg.det")
class det:
    """`scipy.linalg.det(a)` of one matrix, as `np.linalg.det`."""

    key = "scipy.det"

    def bind(a, overwrite_a=False, check_finite=True):
        alone(a, overwrite_a=overwrite_a)
        return (a,), {}

    def shape(x):
        return Like((), np.dtype(float))

    def pull_x(ops, g, x, y):
        return spread(g) * cofactors(ops, wide(ops, x), y)

    def push_x(ops, t, x, y):
        return ops.total(ops.total(t * cofactors(ops, wide(ops, x), y), -1), -1)

    samples = ((A,), (np.array([[1.0, 2.0], [2.0, 4.0]]),))


def exponential_turned(ops, x, t):
    """The change of the exponential of `x` along `t`: a block of that of `[[x, t], [0, x]]`."""
    n, x, t = x.shape[-1], wide(ops, x), wide(ops, t)
    rows = [ops.concatenate([x, t], -1), ops.concatenate([ops.zeros(x.shape, x.dtype), x], -1)]
    return ops.expm(ops.concatenate(rows, -2))[..., :n, n:]


@operation("scipy.linalg.expm autograd_frontend.ops.plain.PLAIN.expm")
class expm:
    """`scipy.linalg.expm(a)`, stacks too. Pullback: the corner block of `expm([[aT, g], [0, aT]])`."""

    def bind(A):
        return (A,), {}

    def shape(x):
        return Like(x.shape, lapack(x))

    def pull_x(ops, g, x):
        return exponential_turned(ops, x.mT, g)

    def push_x(ops, t, x):
        return exponential_turned(ops, x, t)

    samples = ((A / 2,), (np.stack([S, A / 3]),))
