"""Running sums and products, differences, integrals, convolutions, polynomials, tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import kernels, kernels_index, kernels_scan
from .functions_index import gather
from .functions_key import source
from .functions_moving import framed, on_host
from .functions_take import result
from .products import sum_of_products
from .reductions import dtype_in
from .table import METHODS, implements, method, unsupported
from .views import arrays, device_of

Array = Any  # one of a device: NumPy's stubs know only their own


def accumulated(ufunc: str, a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.accumulate`."""
    axis = normalize_axis_index(axis, a.ndim)
    x = a.astype(dtype_in(ufunc, a, dtype), copy=False)
    if x.dtype.kind == "c" and ufunc in ("maximum", "minimum"):
        raise unsupported(f"np.{ufunc}.accumulate of complex numbers")
    y = x.session.empty(x.shape, x.dtype)
    if y.size:
        read, session = source(x), x.session
        for launch in kernels_scan.accumulate(
            read, session.spot(y), axis, ufunc, lambda shape, kind: session.spot(session.empty(shape, kind))
        ):
            session.launch(launch)
    return result(y, out)


for _name in kernels_scan.UFUNCS:

    def _accumulate(a: Any, axis: int = 0, dtype: Any = None, out: Any = None, _name: str = _name) -> Any:
        return accumulated(_name, a, axis, dtype, out)

    METHODS[_name, "accumulate"] = _accumulate


def running(ufunc: str, nan: bool, *functions: Any) -> None:
    @implements(*functions)
    def scan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if nan and a.dtype.kind in "fc":
            a = np.where(np.isnan(a), 0 if ufunc == "add" else 1, a)
        a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
        return accumulated(ufunc, a, axis, dtype, out)


running("add", False, np.cumsum)
running("add", True, np.nancumsum)
running("multiply", False, np.cumprod)
running("multiply", True, np.nancumprod)


def cumulative(ufunc: str, start: int, function: Any) -> None:
    @implements(function)
    def scan(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:  # fmt: skip
        if axis is None and x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0 if axis is None else normalize_axis_index(axis, x.ndim)
        y = accumulated(ufunc, x, axis, dtype)
        if include_initial:
            y = framed(y, [(1, 0) if k == axis else (0, 0) for k in range(y.ndim)], [(start, 0)] * y.ndim)
        return result(y, out)


cumulative("add", 0, np.cumulative_sum)
cumulative("multiply", 1, np.cumulative_prod)


def part(ndim: int, axis: int, key: Any) -> tuple[Any, ...]:
    return tuple([key if k == axis else slice(None) for k in range(ndim)])


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    session = device_of(a, prepend, append)
    (a,) = arrays(session, [a])
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    sides = []
    for x in (prepend, append):
        if x is not np._NoValue:
            (x,) = arrays(session, [x])
            x = np.broadcast_to(x, [1 if k == axis else m for k, m in enumerate(a.shape)]) if x.ndim == 0 else x
        sides.append(x)
    together = [x for x in (sides[0], a, sides[1]) if x is not np._NoValue]
    a = np.concatenate(together, axis) if len(together) > 1 else a
    for _ in range(n):
        high, low = a[part(a.ndim, axis, slice(1, None))], a[part(a.ndim, axis, slice(None, -1))]
        a = np.not_equal(high, low) if a.dtype == bool else np.subtract(high, low)
    return a


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    y = diff(ary.reshape(-1))
    if to_end is None and to_begin is None:
        return y
    ends = [np.ravel(x) if x is not None else None for x in (to_begin, to_end)]
    return np.concatenate([x for x in (ends[0], y, ends[1]) if x is not None])


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    session = device_of(y, x, dx)
    (y,) = arrays(session, [y])
    axis = normalize_axis_index(axis, y.ndim)
    if x is not None:
        (x,) = arrays(session, [x])
        if x.ndim == 1:
            dx = diff(x).reshape([-1 if k == axis else 1 for k in range(y.ndim)])
        else:
            dx = diff(x, axis=axis)
    high, low = y[part(y.ndim, axis, slice(1, None))], y[part(y.ndim, axis, slice(None, -1))]
    return np.sum(dx * (high + low) / 2.0, axis=axis)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    session = device_of(f, *varargs)
    (f,) = arrays(session, [f])
    axes = range(f.ndim) if axis is None else (axis,) if np.ndim(axis) == 0 else axis
    axes = [normalize_axis_index(k, f.ndim) for k in axes]
    steps = list(varargs) or [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        steps = [varargs[0]] * len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    f = f if f.dtype.kind in "fc" else f.astype(np.float64)
    found = [slopes(f, h, k, edge_order) for h, k in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def slopes(f: Array, h: Any, axis: int, edge_order: int) -> Array:
    """The derivative along one axis; `h`, the places or their one distance, is plain data."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are"
            " required."
        )
    gaps = None
    if np.ndim(h):
        if np.shape(h) != (n,):
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        gaps = np.diff(np.asarray(on_host(h)))
        if np.all(gaps == gaps[0]):
            h, gaps = gaps[0], None
    inner, low, high = weights(h, gaps, n, edge_order, [-1 if k == axis else 1 for k in range(f.ndim)])

    def weighted(ws: Any, keys: Any) -> Any:
        parts = [w * f[part(f.ndim, axis, key)] for w, key in zip(ws, keys, strict=True) if w is not None]
        return sum(parts[1:], parts[0])

    y: Array = f.session.empty(f.shape, f.dtype)
    if n > 2:
        y[part(f.ndim, axis, slice(1, -1))] = weighted(inner, [slice(None, -2), slice(1, -1), slice(2, None)])
    y[part(f.ndim, axis, slice(0, 1))] = weighted(low, [slice(k, k + 1) for k in range(len(low))])
    y[part(f.ndim, axis, slice(n - 1, n))] = weighted(high, [slice(n - 1 - k, n - k) for k in range(len(high))])
    return y


def weights(h: Any, gaps: Any, n: int, edge_order: int, shape: list[int]) -> tuple[Any, Any, Any]:
    """The weights of an entry's neighbours and its own (None: no part in it), of the first entries from the first on,
    of the last ones from the last back."""
    if gaps is None:
        low = (-1.5 / h, 2.0 / h, -0.5 / h) if edge_order == 2 else (-1.0 / h, 1.0 / h)
        return (-0.5 / h, None, 0.5 / h), low, tuple([-w for w in low])
    a, b = gaps[:-1], gaps[1:]  # of each two neighbours
    inner = [x.reshape(shape) for x in (-b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b)))]
    if edge_order == 1:
        return inner, (-1 / gaps[0], 1 / gaps[0]), (1 / gaps[-1], -1 / gaps[-1])
    a, b, c, d = gaps[0], gaps[1], gaps[-2], gaps[-1]
    low = (-(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b)))
    return inner, low, ((2.0 * d + c) / (d * (c + d)), -(d + c) / (c * d), d / (c * (c + d)))


# Convolution: every result is a row of products, read once and never stored


def slid(a: Array, v: Array, mode: str) -> Any:
    """`sum_j a[k + j]*v[j]` of vectors, `a` the longer one."""
    m = v.size
    left = {"valid": 0, "same": m // 2, "full": m - 1}[mode]
    right = {"valid": 0, "same": m - m // 2 - 1, "full": m - 1}[mode]
    dtype = np.result_type(a.dtype, v.dtype)
    a, v = a.astype(dtype, copy=False), v.astype(dtype, copy=False)
    if left or right:
        a = framed(a, [(left, right)], [(0, 0)])
    n = a.size - m + 1
    step = a.strides[0]
    return sum_of_products(a.relaid((n, m), dtype, 0, (step, step)), v, -1)


def vectors(a: Any, v: Any, mode: Any) -> tuple[Any, Any, str]:
    a, v = arrays(device_of(a, v), [a, v])
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    mode = {0: "valid", 1: "same", 2: "full"}.get(mode, mode)
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return a.reshape(-1), v.reshape(-1), mode


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    a, v, mode = vectors(a, v, mode)
    for name, x in (("a", a), ("v", v)):
        if not x.size:
            raise ValueError(f"{name} cannot be empty")
    a, v = (v, a) if v.size > a.size else (a, v)
    return slid(a, v[::-1], mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    a, v, mode = vectors(a, v, mode)
    if not a.size or not v.size:
        raise ValueError(f"{'second' if a.size else 'first'} array argument cannot be empty")
    v = np.conjugate(v)
    return slid(v, a, mode)[::-1] if v.size > a.size else slid(a, v, mode)


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    session = device_of(p, x)
    (p,) = arrays(session, [p])
    if not hasattr(x, "layout"):
        x = np.asarray(x)
    y: Any = session.zeros(x.shape, np.result_type(x.dtype, np.int64 if p.dtype.kind in "biu" else x.dtype))
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    n = x.size if N is None else N
    rows = [np.ones_like(x, dtype=np.promote_types(x.dtype, int))]
    for _ in range(n - 1):
        rows.append(rows[-1] * x)
    y = np.stack(rows[:n], axis=-1)
    return y if increasing else y[:, ::-1]


# Tables


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    a, v = arrays(device_of(a, v, sorter), [a, v])
    if a.ndim != 1:
        raise ValueError(f"object {'too deep' if a.ndim else 'of too small depth'} for desired array")
    if sorter is not None:
        a = gather(a, sorter)
    dtype = np.result_type(a.dtype, v.dtype)
    if dtype.kind == "c":
        raise unsupported("np.searchsorted of complex numbers")
    a, x = a.astype(dtype, copy=False), v.astype(dtype, copy=False)
    y = a.session.empty(v.shape, np.int64)
    if y.size:
        a.session.launch(kernels.searched(source(a), source(x), a.session.spot(y), side == "right"))
    y.scalar = not y.shape
    return y


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    bins = np.asarray(on_host(bins))
    if np.all(bins[1:] >= bins[:-1]):
        return searchsorted(bins, x, "left" if right else "right")
    if np.any(bins[1:] > bins[:-1]):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return len(bins) - searchsorted(bins[::-1].copy(), x, "right" if right else "left")


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    session = device_of(x, xp, fp, left, right)
    x, xp, fp = [v.astype(np.result_type(v.dtype, np.float64), copy=False) for v in arrays(session, [x, xp, fp])]
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if not xp.size:
        raise ValueError("array of sample points is empty")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period = abs(period)
        x, xp, left, right = x % period, xp % period, None, None
        order = np.argsort(xp)
        xp, fp = gather(xp, order), gather(fp, order)
        xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = np.concatenate((fp[-1:], fp, fp[:1]))
    n = xp.size
    k = np.clip(searchsorted(xp, x, "right") - 1, 0, max(n - 2, 0))
    j = k + (n > 1)
    x0, y0, x1, y1 = (gather(v, at, False) for v, at in ((xp, k), (fp, k), (xp, j), (fp, j)))
    slope = (y1 - y0) / (x1 - x0)
    y = slope * (x - x0) + y0
    y = np.where(np.isnan(y), slope * (x - x1) + y1, y)  # as NumPy, beside infinite values
    y = np.where(np.isnan(y) & (y0 == y1), y0, y)
    y = np.where(x == x0, y0, y)
    y = np.where(x < xp[0], fp[0] if left is None else left, y)
    y = np.where(x >= xp[n - 1], np.where(x > xp[n - 1], fp[n - 1] if right is None else right, fp[n - 1]), y)
    y = np.where(np.isnan(x), x, y)
    y.scalar = not y.ndim
    return y


@method("add.reduceat")
def add_reduceat(a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    axis = normalize_axis_index(axis, a.ndim)
    starts = np.asarray(on_host(indices), np.int64)
    n = a.shape[axis]
    if starts.size and (starts.min() < 0 or starts.max() >= n):
        wrong = starts[(starts < 0) | (starts >= n)][0]
        raise IndexError(f"index {wrong} out-of-bounds in add.reduceat [0, {n})")
    x = np.moveaxis(a.astype(a.dtype if dtype is None else dtype, copy=False), axis, 0)
    y = a.session.empty((len(starts), *x.shape[1:]), x.dtype)
    if y.size:
        session = a.session
        session.launch(kernels_index.sums_between(source(x), source(session.array(starts)), session.spot(y)))
    return result(np.moveaxis(y, 0, axis), out)


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """The largest integer is read back: it decides on the shape."""
    session = device_of(x, weights)
    low, high = 0, -1
    if np.size(x):
        low, high = int(np.min(x)), int(np.max(x))
    if np.ndim(x) != 1 or low < 0:
        text = "object too deep for desired array"
        raise ValueError(text if np.ndim(x) != 1 else "'list' argument must have no negative elements")
    if weights is not None and np.shape(weights) != np.shape(x):
        raise ValueError("The weights and list don't have the same length.")
    dtype = np.dtype(np.int64 if weights is None else np.float64)
    y = session.zeros((max(high + 1, minlength),), dtype)
    if np.size(x):
        np.add.at(y, x, 1 if weights is None else weights if hasattr(weights, "layout") else np.asarray(weights, dtype))
    return y
