"""Linear algebra by cuSOLVER, of dense stacks of matrices. A singular matrix raises, which reads back a flag."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import kernels_lu
from .functions_sort import rows
from .table import implements, unsupported
from .views import arrays, broadcast_to, device_of

Array = Any  # one of a device: NumPy's stubs know only their own

LinAlgError = np.linalg.LinAlgError
FAILED = {
    "inv": "Singular matrix", "solve": "Singular matrix", "cholesky": "Matrix is not positive definite",
    "eigh": "Eigenvalues did not converge", "eigvalsh": "Eigenvalues did not converge", "svd": "SVD did not converge",
}  # fmt: skip


def inexact(*xs: Array) -> list[Array]:
    """The operands in the type that LAPACK computes in."""
    dtype = np.result_type(*[x.dtype for x in xs])
    if dtype == np.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    return [x.astype(dtype, copy=False) for x in xs]


def matrices(*xs: Array, square: bool = True) -> list[Array]:
    for x in xs:
        if x.ndim < 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
        if square and x.shape[-1] != x.shape[-2]:
            raise LinAlgError("Last 2 dimensions of the array must be square")
    return inexact(*xs)


def solved(name: str, *xs: Array, **kwargs: Any) -> Any:
    """A function of `xp.linalg`, on memory that lies dense."""
    session = xs[0].session
    given = [(x if x.flags.c_contiguous else x.copy("C")).library() for x in xs]
    try:
        with session.driver.raising():
            found = getattr(session.xp.linalg, name)(*given, **kwargs)
    except LinAlgError as error:  # cuSOLVER's number, in the words of NumPy
        raise LinAlgError(FAILED.get(name, str(error))) from None
    return tuple(map(session.wrap, found)) if isinstance(found, tuple) else session.wrap(found)


def eye_like(x: Array) -> Array:
    y: Array = x.session.array(np.eye(x.shape[-1], dtype=x.dtype))
    return broadcast_to(y, x.shape).copy("C")


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    (a,) = matrices(a)
    return solved("inv", a) if a.size else a.copy()


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    a, b = arrays(device_of(a, b), [a, b])
    vector = b.ndim == 1
    a, b = matrices(a, b[:, None] if vector else b, square=False)
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            "solve: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m,n)->(m,n)"
            f" (size {b.shape[-2]} is different from {a.shape[-1]})"
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not prod(batch) or not b.shape[-1] or not a.shape[-1]:
        y = a.session.zeros((*batch, *b.shape[-2:]), b.dtype)
    elif not a.ndim > 2 and batch:  # one matrix for all right hand sides: they are columns of one
        columns = np.moveaxis(b, -2, 0)
        flat = solved("solve", a, columns.reshape(a.shape[-1], -1))
        y = np.moveaxis(flat.reshape(columns.shape), 0, -2)
    else:
        a, b = [x if x.shape[:-2] == batch else broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)]
        y = solved("solve", a, b)
    return y[..., 0] if vector else y


def one(y: Array) -> Array:
    """A number as NumPy returns it."""
    y.scalar = not y.ndim
    return y


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """Of small matrices by our own elimination: CuPy takes a stack apart in Python, and its logarithms are its own."""
    (a,) = matrices(a)
    session, batch, n = a.session, a.shape[:-2], a.shape[-1]
    kind = type(np.linalg.slogdet(np.eye(1)))
    if not a.size:
        return kind(one(session.full(batch, 1, a.dtype)), one(session.zeros(batch, a.real.dtype)))
    if n > kernels_lu.LARGEST or a.dtype.kind == "c":
        return kind(*[one(x) for x in solved("slogdet", a)])
    scratch, sign, logarithm = a.copy("C"), session.empty(batch, a.dtype), session.empty(batch, a.dtype)
    session.launch(kernels_lu.slogdet(*map(session.spot, (scratch, sign, logarithm))))
    return kind(one(sign), one(logarithm))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """As NumPy's: the sign times the exponential of the logarithm."""
    sign, logarithm = slogdet(a)
    return sign * np.exp(logarithm)


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    (a,) = matrices(a)
    a = np.swapaxes(a, -1, -2) if upper else a
    y = np.tril(solved("cholesky", a)) if a.size else a.copy()
    return np.conjugate(np.swapaxes(y, -1, -2)) if upper else y


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return solved("eigvalsh", *matrices(a), UPLO=UPLO.upper())


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    found = solved("eigh", *matrices(a), UPLO=UPLO.upper())
    return type(np.linalg.eigh(np.eye(1)))(*found)


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        raise unsupported("np.linalg.svd with hermitian=True")
    (a,) = matrices(a, square=False)
    if not compute_uv:
        return solved("svd", a, compute_uv=False)
    found = solved("svd", a, full_matrices=full_matrices)
    return type(np.linalg.svd(np.eye(1)))(*found)


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return svd(x, compute_uv=False)


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise unsupported(f"np.linalg.qr with mode={mode!r}")
    (a,) = matrices(a, square=False)
    found = solved("qr", a, mode=mode)
    return found if mode == "r" else type(np.linalg.qr(np.eye(1)))(*found)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    (a,) = matrices(a, square=False)
    if rcond is None:
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol in (np._NoValue, None) else rtol
    u, s, vt = svd(np.conjugate(a), full_matrices=False)
    large = s > rcond * np.max(s, axis=-1, keepdims=True)
    s = np.where(large, 1 / np.where(large, s, 1), 0).astype(s.dtype, copy=False)
    return np.swapaxes(vt, -1, -2) @ (s[..., None] * np.swapaxes(u, -1, -2))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if A.ndim < 2:
        return int(bool(np.any(A != 0)))
    s = svd(A, compute_uv=False)
    if tol is None:
        rtol = max(A.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
        tol = np.max(s, axis=-1, keepdims=True) * rtol
    return np.count_nonzero(s > tol, axis=-1)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    n = n.__index__()
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if n == 0:
        return eye_like(a)
    if n < 0:
        a, n = inv(a), -n
    power, y = a, None
    while n:
        if n % 2:
            y = power if y is None else y @ power
        n //= 2
        power = power @ power if n else power
    return y


Plan = dict[tuple[int, int], tuple[int, int]]  # first and last factor -> multiplications, and where to split


def multiplied(xs: list[Any], best: Plan, i: int, j: int) -> Any:
    if i == j:
        return xs[i]
    k = best[i, j][1]
    return multiplied(xs, best, i, k) @ multiplied(xs, best, k + 1, j)


@implements(np.linalg.multi_dot)
def multi_dot(arrays_: Any, *, out: Any = None) -> Any:
    """The product with the fewest multiplications."""
    xs = arrays(device_of(arrays_, out), list(arrays_))
    if len(xs) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = xs[0].ndim == 1, xs[-1].ndim == 1
    xs[0] = xs[0][None] if first else xs[0]
    xs[-1] = xs[-1][:, None] if last else xs[-1]
    p = [xs[0].shape[0], *[x.shape[1] for x in xs]]
    best: Plan = {(i, i): (0, i) for i in range(len(xs))}
    for length in range(1, len(xs)):
        for i in range(len(xs) - length):
            j = i + length
            costs = [(best[i, k][0] + best[k + 1, j][0] + p[i] * p[k + 1] * p[j + 1], k) for k in range(i, j)]
            best[i, j] = min(costs)
    y = multiplied(xs, best, 0, len(xs) - 1)
    y = y[0, 0] if first and last else y[0] if first else y[:, 0] if last else y
    if out is not None:
        out[...] = y
        return out
    return y


# Norms


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    if axis is None and (ord is None or ord in ("f", "fro") and x.ndim == 2 or ord == 2 and x.ndim == 1):
        square = (x * np.conjugate(x)).real if x.dtype.kind == "c" else x * x
        return np.sqrt(np.sum(square, keepdims=keepdims))
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    if len(axes) == 1:
        return of_vectors(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    return of_matrices(x, ord, axes, keepdims)


def of_vectors(x: Array, ord: Any, axes: Any, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        square = (x * np.conjugate(x)).real if x.dtype.kind == "c" else x * x
        return np.sqrt(np.sum(square, axis=axes, keepdims=keepdims))
    if ord == 0:
        return np.sum((x != 0).astype(x.real.dtype), axis=axes, keepdims=keepdims)
    a = np.abs(x)
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(a, axis=axes, keepdims=keepdims)
    if ord == 1:
        return np.sum(a, axis=axes, keepdims=keepdims)
    return np.sum(a**ord, axis=axes, keepdims=keepdims) ** (1.0 / ord)


def of_matrices(x: Array, ord: Any, axes: Any, keepdims: bool) -> Any:
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        return of_vectors(x, 2, axes, keepdims)
    if ord in (2, -2, "nuc"):
        s = svdvals(np.moveaxis(x, axes, (-2, -1)))
        y = np.sum(s, axis=-1) if ord == "nuc" else (np.max if ord > 0 else np.min)(s, axis=-1)
    elif ord in (1, -1, np.inf, -np.inf):
        along, over = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(np.abs(x), axis=along, keepdims=True)
        y = (np.max if ord > 0 else np.min)(np.squeeze(sums, along), axis=over - (over > along))
    else:
        raise ValueError("Invalid norm order for matrices.")
    return np.expand_dims(y, tuple(sorted(axes))) if keepdims else y


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    flat, axes = rows(x, axis)
    y = of_vectors(flat, ord, (flat.ndim - 1,), False)
    return np.expand_dims(y, axes) if keepdims else y


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    return of_matrices(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    if p in (None, 2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


# Products


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa, axisb, axisc = (axis,) * 3
    a, b = arrays(device_of(a, b), [a, b])
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a = np.moveaxis(a, normalize_axis_index(axisa, a.ndim), -1)
    b = np.moveaxis(b, normalize_axis_index(axisb, b.ndim), -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are"
            f" {a.shape[-1]} and {b.shape[-1]} dimensional instead."
        )
    sides: list[list[Any]] = [[v[..., k] if k < v.shape[-1] else None for k in range(3)] for v in (a, b)]
    x, y = sides

    def minor(i: int, j: int) -> Any:
        p: Any = None if x[i] is None or y[j] is None else x[i] * y[j]
        q: Any = None if x[j] is None or y[i] is None else x[j] * y[i]
        return -q if p is None else p if q is None else p - q

    if x[2] is None and y[2] is None:
        return minor(0, 1)
    z = np.stack([minor(1, 2), minor(2, 0), minor(0, 1)], axis=-1)
    return np.moveaxis(z, -1, normalize_axis_index(axisc, z.ndim))


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return cross(x1, x2, axis=axis)

