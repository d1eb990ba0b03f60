"""The functions that rules of derivatives use, on plain arrays and on Python floats.

A rule is a function `rule(ops, g, ...)` written with Python's operators and the functions of `ops`. `PLAIN` serves
arrays (and numbers of every type), `FLOATS` Python floats without touching NumPy. Where Python arithmetic raises
(1.0/0.0, math.exp(1000.0)) the caller repeats the rule with float64 scalars under `PLAIN`, which follow IEEE.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from . import strided

ndarray, vdot, isfinite = np.ndarray, np.vdot, math.isfinite


def finite(x: Any) -> bool:
    """Whether all entries are finite, in one pass without a temporary; that of some huge ones is not seen."""
    if type(x) is not ndarray:
        return bool(x - x == 0)
    return isfinite(vdot(x, x).real)


def once(x: Any) -> Any:
    """A value of which a rule has only the first derivative right. Recorded, it is refused."""
    return x


LONG_ROW = 4096  # entries from which NumPy's pairwise sums are chosen
SLOW_ROWS, SMALL = range(200, LONG_ROW + 1), 2**13  # lengths of rows, and sizes from which their buffer pays


class Plain:
    """Arrays. Every function is NumPy's, but for numbers NumPy does not know."""

    sin, cos, tan, sinh, cosh, tanh, exp, log, sqrt = (
        np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.exp, np.log, np.sqrt,
    )  # fmt: skip
    log1p, expm1, floor, trunc, sign, abs, maximum, minimum = (
        np.log1p, np.expm1, np.floor, np.trunc, np.sign, np.abs, np.maximum, np.minimum,
    )  # fmt: skip
    exp2, hypot, cbrt, deg2rad, rad2deg, rint, ldexp, frexp, signbit = (
        np.exp2, np.hypot, np.cbrt, np.deg2rad, np.rad2deg, np.rint, np.ldexp, np.frexp, np.signbit,
    )  # fmt: skip
    isnan, isfinite, floor_divide, divide = np.isnan, np.isfinite, np.floor_divide, np.divide
    matmul, einsum, tensordot, outer = np.matmul, np.einsum, np.tensordot, np.outer
    solve, inv, swapaxes = np.linalg.solve, np.linalg.inv, np.swapaxes
    broadcast_to, reshape, transpose, moveaxis, expand_dims = (
        np.broadcast_to, np.reshape, np.transpose, np.moveaxis, np.expand_dims,
    )  # fmt: skip
    sum, cumsum, flip, roll, concatenate, take, squeeze = (
        np.sum, np.cumsum, np.flip, np.roll, np.concatenate, np.take, np.squeeze,
    )  # fmt: skip
    both, either, invert = np.logical_and, np.logical_or, np.logical_not

    total, product, largest, smallest = (  # with an axis, always: theirs is the first
        np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce,
    )  # fmt: skip
    running_total, largest_so_far, smallest_so_far = np.add.accumulate, np.maximum.accumulate, np.minimum.accumulate
    asarray, count_nonzero, eye, trace, diff = np.asarray, np.count_nonzero, np.eye, np.trace, np.diff
    running_product, searchsorted, correlate, gradient, pad = (
        np.multiply.accumulate, np.searchsorted, np.correlate, np.gradient, np.pad,
    )  # fmt: skip
    argsort, take_along, svd = np.argsort, np.take_along_axis, np.linalg.svd
    argmax, indices, copy = np.argmax, np.indices, np.copy
    arange, windows, fold, largest_number = np.arange, strided.windows, strided.fold, np.fmax.reduce
    stack, conj, rfft, irfft, fft, ifft = np.stack, np.conj, np.fft.rfft, np.fft.irfft, np.fft.fft, np.fft.ifft

    @staticmethod
    def recurrence(a: Any, b: Any) -> Any:
        """`y[0] = b[0]`, `y[k] = a[k]*y[k-1] + b[k]` along the first axis."""
        if b.ndim == 1 and b.dtype == np.float64:
            a, b = a.tolist(), b.tolist()
        y: list[Any] = list(b[:1])
        for k in range(1, len(b)):
            y.append(a[k] * y[k - 1] + b[k])
        return np.array(y)

    @staticmethod
    def scan(a: Any, rows: Any, h: Any, exact: bool = False) -> Any:
        """`h[t] = a[t]*h[t-1] + rows[t]` for all `t`, where `h` comes before the first. `exact`: what is zero stays so
        beside an infinite factor."""
        out = np.zeros(rows.shape, np.result_type(a.dtype, rows.dtype, h.dtype))
        for t in range(len(rows)):
            h = (PLAIN.times(h, a[t]) if exact else h * a[t]) + rows[t]
            out[t] = h
        return out

    eigh, det, tril, triu, diagonal, rot90, pad, all, any = (
        np.linalg.eigh, np.linalg.det, np.tril, np.triu, np.diagonal, np.rot90, np.pad, np.all, np.any,
    )  # fmt: skip

    @staticmethod
    def scatter(x: Any, places: Any, shape: Any) -> Any:
        """Zeros of this shape to which the entries of `x` were added at `places`, positions in row-major order."""
        x, places, size = np.asarray(x).ravel(), np.asarray(places).ravel(), math.prod(shape)
        if x.dtype == np.float64:
            return np.bincount(places, x, size).reshape(shape)
        d = np.zeros(size, x.dtype)
        np.add.at(d, places, x)
        return d.reshape(shape)

    @staticmethod
    def added(base: Any, places: Any, x: Any) -> Any:
        """A copy of `base` to which the entries of `x` were added, in order, at positions in row-major order."""
        d = np.array(base, np.result_type(base, x), order="C")
        np.add.at(d.reshape(-1), places.ravel(), x.ravel())
        return d

    @staticmethod
    def times(g: Any, x: Any) -> Any:
        """`g * x`, exactly zero where `g` is."""
        d = g * x
        return d if finite(x) else np.where(g == 0, 0, d)

    @staticmethod
    def bilinear(f: Any, g: Any, x: Any) -> Any:
        """`f(g, x)`, sums of products of an entry of `g` and one of `x`, of which those with a zero of `g` are exactly
        zero. What an infinity or NaN in `x` adds is found from how many there are, and with which signs."""
        d = f(g, x)
        if finite(d) or finite(x):
            return d
        once(g), once(x)
        signs = np.where(np.isnan(x), 0, np.sign(x))
        far = ~np.isfinite(x)
        d = f(g, np.where(far, signs, x))
        count, balance = f(abs(np.sign(g)), far.astype(d.dtype)), f(np.sign(g), np.where(far, signs, 0))
        return d + np.where(count == 0, 0, np.where(abs(balance) == abs(count), balance * np.inf, np.nan))

    finite = known_finite = staticmethod(finite)  # a device does not look for the first
    quick = True  # to try the short way first, and look at what it gives
    indexed = True  # one entry of every row is written by its index, not by a selection among all

    @staticmethod
    def possible(x: Any) -> Any:
        """Whether there is a True in it: then more care is taken. A device does not look, and takes it always."""
        return x.any() if type(x) is ndarray else x

    @staticmethod
    def row_dots(a: Any, b: Any) -> Any:
        """Sums of products along the last axis, which stays. BLAS takes no temporary, but its running sum loses digits
        where a row is long."""
        if a.shape[-1] > LONG_ROW:
            return np.add.reduce(a * b, axis=-1, keepdims=True)
        return np.reshape(np.vecdot(a, b), (*a.shape[:-1], 1))

    @staticmethod
    def row_sums(x: Any) -> Any:
        """Sums along the last axis, which stays. A product with ones: 18 us for 44 at (256, 1000) in float32."""
        if x.shape[-1] > LONG_ROW:
            return np.add.reduce(x, axis=-1, keepdims=True)
        return np.reshape(np.vecdot(x, np.ones(x.shape[-1], x.dtype)), (*x.shape[:-1], 1))

    @staticmethod
    def by_rows(rule: Any, *arrays: Any, **settings: Any) -> Any:
        """`rule(ops, *arrays, **settings)`, which combines rows, along the last axis, with a number for each. NumPy
        does so row by row without a detour if no second row fits into the buffer of its iterator: `x - column` takes
        30 us for 80 at (256, 1000) in float32. The bits are the same; `np.errstate` puts the size back."""
        x = arrays[0]
        if type(x) is not ndarray or x.size < SMALL or x.ndim < 2 or x.shape[-1] not in SLOW_ROWS:
            return rule(PLAIN, *arrays, **settings)
        with np.errstate():
            np.setbufsize(-(-x.shape[-1] // 16) * 16)
            return rule(PLAIN, *arrays, **settings)

    @staticmethod
    def spectral(x: Any, g: Any, upper: bool = False, v: Any = None) -> Any:
        """`V @ diag(g) @ VT` with the eigenvectors of a symmetric matrix, `v` where they are at hand."""
        v = np.linalg.eigh(x, "U" if upper else "L")[1] if v is None else v
        return (v * g[..., None, :]) @ v.mT

    @staticmethod
    def singular(x: Any, g: Any, u: Any = None, vt: Any = None) -> Any:
        """`U @ diag(g) @ VT` with the singular vectors of a matrix."""
        if u is None:
            u, _, vt = np.linalg.svd(x, full_matrices=False)
        return (u * g[..., None, :]) @ vt

    @staticmethod
    def solve_triangular(a: Any, b: Any, trans: int = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
        from scipy.linalg import solve_triangular

        return solve_triangular(a, b, trans, lower, unit_diagonal, check_finite=False)

    @staticmethod
    def polygamma(n: Any, x: Any) -> Any:
        from scipy.special import polygamma

        return polygamma(n, x)

    @staticmethod
    def jv(v: Any, x: Any) -> Any:
        from scipy.special import jv

        return jv(v, x)

    @staticmethod
    def expm(a: Any) -> Any:
        from scipy.linalg import expm

        return expm(a)

    @staticmethod
    def others(reduce: Any, x: Any) -> Any:
        """For every entry along the last axis, the others added or multiplied: those before and those after it."""
        combine = reduce.__self__
        before, after = np.full_like(x, combine.identity), np.full_like(x, combine.identity)
        if x.shape[-1] > 1:
            combine.accumulate(x[..., :-1], axis=-1, out=before[..., 1:])
            combine.accumulate(x[..., :0:-1], axis=-1, out=after[..., -2::-1])
        return combine(before, after)

    @staticmethod
    def put_along(indices: Any, x: Any, axis: int) -> Any:
        """An array with `x` at the indices along an axis, each of which occurs once."""
        d = np.empty(x.shape, x.dtype)
        if d.ndim == 1:
            d[indices] = x
        else:
            np.put_along_axis(d, indices, x, axis)
        return d

    @staticmethod
    def add_along(shape: Any, indices: Any, x: Any, axis: int) -> Any:
        """Zeros to which `x` was added at the indices along an axis."""
        d = np.zeros(shape, x.dtype)
        axis %= len(shape)
        key = [np.arange(n).reshape((1,) * k + (n,) + (1,) * (d.ndim - 1 - k)) for k, n in enumerate(shape)]
        key[axis] = indices
        np.add.at(d, tuple(key), x)
        return d

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        """Entries of `x` where the condition holds, else of `y`; a plain choice for a plain condition."""
        if condition is True or condition is np.True_ or condition is False or condition is np.False_:
            chosen, other = (x, y) if condition else (y, x)
            if type(chosen) is int:  # a rule's exact zero, beside an entry of another type
                if hasattr(other, "dtype"):
                    return np.full(other.shape, chosen, other.dtype)[()]
                return type(other)(chosen) if type(other) in (float, Fraction, Decimal) else chosen
            return chosen
        return np.where(condition, x, y)

    @staticmethod
    def ln(x: Any) -> Any:
        """The logarithm of what may be plain: NumPy's of small integers is a float16, of a Decimal it has none."""
        return x.ln() if type(x) is Decimal else np.log(x * 1.0)

    @staticmethod
    def truth(x: Any) -> Any:
        """What `x` means as a condition."""
        return bool(x) if not hasattr(x, "dtype") and not isinstance(x, (list, tuple)) else np.asarray(x) != 0

    @staticmethod
    def zeros_like(x: Any) -> Any:
        return np.zeros(x.shape, x.dtype) if type(x) is np.ndarray else 0

    @staticmethod
    def detach(x: Any) -> Any:
        """`x`; of a recorded value, what it is now, as plain data."""
        return x

    @staticmethod
    def constant(pair: tuple[float, Any], x: Any) -> Any:
        """A constant, given as (float, longdouble), in the precision of `x`; it leaves every other dtype as it is."""
        return pair[1] if getattr(x, "dtype", None) == np.longdouble else pair[0]

    @staticmethod
    def beside(c: Any, x: Any) -> Any:
        """A setting as a number beside which `x` keeps its type."""
        if (type(x) is Fraction or type(x) is Decimal) and math.isfinite(c):
            return type(x)(c)
        if isinstance(c, (np.longdouble, Fraction, Decimal)):
            return float(c) if getattr(x, "dtype", c) != np.longdouble else np.longdouble(c)
        return c.item() if hasattr(c, "dtype") else c

    @staticmethod
    def floating(x: Any) -> Any:
        """Integers and booleans as floats: the negative of an unsigned one is no number of its type."""
        if hasattr(x, "dtype"):
            return x if x.dtype.kind == "f" else x * 1.0
        return x * 1.0 if isinstance(x, int) else x

    @staticmethod
    def astype(x: Any, dtype: Any) -> Any:
        return x.astype(dtype)

    @staticmethod
    def zeros(shape: Any, dtype: Any) -> Any:
        return np.zeros(shape, dtype)

    @staticmethod
    def imaginary(x: Any) -> Any:
        """`1j*x` without what 0*inf would make of the real part."""
        x = np.asarray(x)
        z = np.zeros(x.shape, np.result_type(x.dtype, np.complex64))
        z.imag = x
        return z[()]

    @staticmethod
    def uniform(shape: Any, seed: int, node: int, dtype: Any) -> Any:
        """Draws in [0, 1) from the stream of a key."""
        return np.random.Generator(np.random.Philox(key=np.array([seed, node], np.uint64))).random(shape, dtype)


class Floats:
    """Python floats."""

    sin, cos, tan, sinh, cosh, tanh, exp, log, sqrt = (
        math.sin, math.cos, math.tan, math.sinh, math.cosh, math.tanh, math.exp, math.log, math.sqrt,
    )  # fmt: skip
    log1p, expm1, floor, trunc, abs, isnan, isfinite = (
        math.log1p, math.expm1, math.floor, math.trunc, abs, math.isnan, math.isfinite,
    )  # fmt: skip
    exp2, hypot, cbrt, deg2rad, rad2deg, rint, ldexp, truth = (
        math.exp2, math.hypot, math.cbrt, math.radians, math.degrees, round, math.ldexp, bool,
    )  # fmt: skip
    maximum, minimum, ln = np.maximum, np.minimum, math.log
    polygamma, jv = Plain.polygamma, Plain.jv

    @staticmethod
    def signbit(x: float) -> bool:
        return math.copysign(1.0, x) < 0

    @staticmethod
    def zeros_like(x: float) -> float:
        return 0.0

    @staticmethod
    def constant(pair: tuple[float, Any], x: float) -> float:
        return pair[0]

    @staticmethod
    def sign(x: float) -> float:
        return 1.0 if x > 0 else -1.0 if x < 0 else x

    @staticmethod
    def where(condition: bool, x: Any, y: Any) -> Any:
        return x if condition else y

    @staticmethod
    def both(a: bool, b: bool) -> bool:
        return a and b

    @staticmethod
    def either(a: bool, b: bool) -> bool:
        return a or b

    @staticmethod
    def invert(a: bool) -> bool:
        return not a

    @staticmethod
    def floor_divide(a: float, b: float) -> float:
        return a // b




def namespace(functions: type) -> Any:
    """The functions as a module: Python finds its attributes fastest, and binds none of them to it."""
    module = ModuleType(functions.__name__.lower())
    for name in vars(functions):
        if not name.startswith("__"):
            setattr(module, name, getattr(functions, name))
    return module


PLAIN, FLOATS = namespace(Plain), namespace(Floats)


def quiet_sum(d: Any) -> Any:
    """The sum of all entries of a cotangent, as a scalar."""
    return np.add.reduce(d, axis=None) if type(d) is np.ndarray else d
