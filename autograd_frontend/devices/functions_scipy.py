"""Functions of SciPy on arrays of a device. SciPy has no table of its own, so they are found by their paths."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import Any

import numpy as np

from .expressions import call
from .functions_linalg import LinAlgError, eye_like
from .table import unsupported
from .ufuncs import Operands, settled
from .views import arrays, device_of

Array = Any  # one of a device: NumPy's stubs know only their own

BY_PATH: dict[str, Any] = {}  # path of a callable -> what it is on arrays of a device


def by_path(path: str) -> Callable[[Any], Any]:
    def put(f: Any) -> Any:
        BY_PATH[path] = f
        return f

    return put


# Rows


@by_path("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@by_path("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Any:
    y = x - np.max(x, axis=axis, keepdims=True)
    return y - np.log(np.sum(np.exp(y), axis=axis, keepdims=True))


@by_path("scipy.special.logsumexp")
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    if return_sign:
        raise TypeError("return_sign=True")
    if b is not None:
        a = np.where(np.equal(b, 0), -np.inf, a)
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(a - top)
    e = e if b is None else b * e
    y = np.log(np.sum(e, axis=axis, keepdims=keepdims))
    return y + (top if keepdims else np.sum(top, axis=axis))


@by_path("scipy.integrate.trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return np.trapezoid(y, x, dx, axis)


# Matrices


def lapack(*xs: Any) -> list[Any]:
    """Operands in the type that SciPy computes in."""
    xs_ = arrays(device_of(*xs), xs)
    dtype = np.float32 if all(x.dtype.char in "fe" for x in xs_) else np.float64
    if any(x.dtype.kind == "c" for x in xs_):
        raise unsupported("scipy.linalg of complex numbers")
    return [x.astype(dtype, copy=False) for x in xs_]


@by_path("scipy.linalg.norm")
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.norm(a, ord, axis, keepdims)


@by_path("scipy.linalg.inv")
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True, **structure: Any) -> Any:
    return np.linalg.inv(*lapack(a))


@by_path("scipy.linalg.det")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.det(*lapack(a))


@by_path("scipy.linalg.cholesky")
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.cholesky(*lapack(a), upper=not lower)


@by_path("scipy.linalg.cho_factor")
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    (a,) = lapack(a)
    y = np.linalg.cholesky(a, upper=not lower)
    return y + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


def triangle(a: Any, lower: bool, unit: bool = False) -> Any:
    """The matrix of which one triangle is read."""
    a = np.tril(a, -int(unit)) if lower else np.triu(a, int(unit))
    return a + eye_like(a) if unit else a


@by_path("scipy.linalg.solve_triangular")
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Row exchanges change nothing in what is solved."""
    a, b = lapack(a, b)
    a = triangle(a, lower, unit_diagonal)
    return np.linalg.solve(a if trans in (0, "N") else np.swapaxes(a, -1, -2), b)


@by_path("scipy.linalg.cho_solve")
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    c, lower = c_and_lower
    return solve_triangular(c, solve_triangular(c, b, int(not lower), lower), int(lower), lower)


@by_path("scipy.linalg.solve")
def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: Any = None, transposed: bool = False,
) -> Any:  # fmt: skip
    a, b = lapack(a, b)
    if assume_a in ("pos", "positive definite"):
        return cho_solve((cholesky(a, lower), lower), b)
    if assume_a in ("sym", "symmetric", "her", "hermitian"):
        half = triangle(a, lower)
        a = half + np.swapaxes(triangle(a, lower, True) - eye_like(a), -1, -2)
    elif assume_a not in (None, "gen", "general"):
        raise unsupported(f"scipy.linalg.solve with assume_a={assume_a!r}")
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


@by_path("scipy.linalg.expm")
def expm(A: Any) -> Any:
    """Scaling and squaring about the rational approximation of degree 13. The largest norm is read back."""
    (a,) = lapack(A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if not a.size:
        return a.copy()
    size = float(np.max(np.sum(np.abs(a), axis=-2)))
    times = max(0, ceil(log2(size / 5.371920351148152))) if 0 < size < np.inf else 0
    a = a / 2.0**times
    one, a2 = eye_like(a), a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    b = PADE
    u = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one
    v = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    u = a @ u
    y = np.linalg.solve(v - u, v + u)
    for _ in range(times):
        y = y @ y
    return y


# Special functions that rules need


@by_path("scipy.special.polygamma")
def polygamma(n: Any, x: Any) -> Any:
    """The digamma function and its derivatives, as SciPy makes them: in float64, by Hurwitz's zeta function."""
    from scipy.special import digamma, gamma

    if np.ndim(n):
        return np.where(np.equal(n, 0), digamma(x), (-1.0) ** (n + 1) * gamma(n + 1.0) * zeta(n + 1, x))
    n = n.item() if hasattr(n, "item") else n
    with np.errstate(invalid="ignore"):  # of an order that is not whole: NaN
        factor = np.float64(-1.0) ** (n + 1) * gamma(n + 1.0)
    y: Any = digamma(x).astype(np.float64) if n == 0 else factor * zeta(n + 1, x)
    y.scalar = False
    return y


def zeta(s: Any, q: Any) -> Any:
    """The sum of `(q + k)**-s`."""
    session, double = device_of(s, q), np.dtype(np.float64)
    operands = [settled(session, v) for v in (s, q)]
    region = Operands(session, operands)
    args = [region.expression(v, double) for v in operands]
    return region.result(call("zeta", tuple(args), double), True)


def jv(v: Any, x: Any) -> Any:
    from scipy.special import jv

    return jv(v, x)
