"""Running sums and products, differences, integrals and interpolation along an axis, convolution, polynomials."""

from __future__ import annotations

import numpy as np

from .axes import reduced
from .block import Like, operation
from .reductions import CUBE, MATRIX, VECTOR
from .sorting import flat

# running sums and products


def running_bind(a, axis=None, dtype=None, out=None):
    return (a,), {"axis": axis, "dtype": dtype}


def accumulate_bind(a, axis=0, dtype=None, out=None):
    return (a,), {"axis": axis, "dtype": dtype}


def running_shape(a, axis, dtype):
    return Like((a.size,) if axis is None else a.shape, np.dtype(dtype or a.dtype or float))


def part(axis, key):
    """The index that applies `key` along one axis, which may be negative."""
    return (slice(None),) * axis + (key,) if axis >= 0 else (..., key) + (slice(None),) * (-axis - 1)


def back(x, axis):
    return x[part(axis, slice(None, None, -1))]


def sum_pull(ops, g, a_like, axis):
    k = 0 if axis is None else axis
    return ops.reshape(back(ops.running_total(back(g, k), axis=k), k), a_like.shape)


def sum_push(ops, t, axis):
    t, axis = flat(ops, t, axis)
    return ops.running_total(t, axis=axis)


@operation("numpy.cumsum numpy.ndarray.cumsum")
class cumsum:
    """Running sum along an axis (None: of the flat array). Pullback: the running sum of `g` from the other end."""

    complex = True
    bind, shape, pull_a, push_a = running_bind, running_shape, sum_pull, sum_push
    samples = ((VECTOR,), (MATRIX,), (MATRIX, 0), (CUBE, -1))


@operation("numpy.add.accumulate")
class add_accumulate:
    """`np.add.accumulate`: `np.cumsum` along the first axis unless told otherwise."""

    complex = True
    bind, shape, pull_a, push_a = accumulate_bind, running_shape, sum_pull, sum_push
    samples = ((VECTOR,), (MATRIX,), (CUBE, -1))


@operation("numpy.nancumsum")
class nancumsum:
    """Running sum of the numbers among the entries: exactly 0 for NaN."""

    bind, shape = running_bind, running_shape

    def pull_a(ops, g, a, axis):
        a = ops.asarray(a)
        return ops.where(ops.isnan(a), 0, sum_pull(ops, g, a, axis))

    def push_a(ops, t, a, axis):
        return sum_push(ops, ops.where(ops.isnan(a), 0, t), axis)

    samples = ((VECTOR,), (MATRIX,), (MATRIX, 0))


def product_pull(ops, g, a, axis):
    """The product of the entries before, times what the entries after make of `g`. Nothing is divided."""
    x, k = flat(ops, a, axis)
    if k < 0:
        k += x.ndim
    x, g = ops.moveaxis(x, k, 0), ops.moveaxis(g, k, 0)
    if not len(x):
        return ops.asarray(a)
    before = ops.concatenate((0 * g[:1] + 1, ops.running_product(x[:-1], axis=0)))
    after = ops.recurrence(back(ops.concatenate((x[1:], 0 * x[:1])), 0), back(g, 0))
    return ops.reshape(ops.moveaxis(ops.times(back(after, 0), before), 0, k), np.shape(a))


def product_push(ops, t, a, axis):
    (x, k), (t, _) = flat(ops, a, axis), flat(ops, t, axis)
    if k < 0:
        k += x.ndim
    x, t = ops.moveaxis(x, k, 0), ops.moveaxis(t, k, 0)
    before = ops.concatenate((0 * t[:1] + 1, ops.running_product(x[:-1], axis=0)))
    return ops.moveaxis(ops.recurrence(x, ops.times(t, before)), 0, k)


@operation("numpy.cumprod numpy.ndarray.cumprod")
class cumprod:
    """Running product along an axis (None: of the flat array). Pullback: sums of products of the other entries, by a
    recurrence from the other end, never by division: zeros are exact."""

    complex = "conjugated"
    bind, shape, pull_a, push_a = running_bind, running_shape, product_pull, product_push
    samples = ((VECTOR,), (MATRIX,), (MATRIX, 0), (CUBE, -1), (np.array([0.5, 0.0, 2.0, 0.0, 1.5]),))


@operation("numpy.multiply.accumulate")
class multiply_accumulate:
    """`np.multiply.accumulate`: `np.cumprod` along the first axis unless told otherwise."""

    complex = "conjugated"
    bind, shape, pull_a, push_a = accumulate_bind, running_shape, product_pull, product_push
    samples = ((VECTOR,), (MATRIX,), (CUBE, -1))


@operation("numpy.nancumprod")
class nancumprod:
    """Running product of the numbers among the entries: a NaN counts as 1 and gets exactly 0."""

    bind, shape = running_bind, running_shape

    def pull_a(ops, g, a, axis):
        gone = ops.isnan(a)
        return ops.where(gone, 0, product_pull(ops, g, ops.where(gone, 1, a), axis))

    def push_a(ops, t, a, axis):
        gone = ops.isnan(a)
        return product_push(ops, ops.where(gone, 0, t), ops.where(gone, 1, a), axis)

    samples = ((VECTOR,), (MATRIX,), (MATRIX, 0))


# differences


def length(x, axis):
    """How many entries `prepend=` or `append=` adds: a scalar is one."""
    return x.shape[axis] if x.shape else 1


def undiff(ops, g, n, axis):
    """The adjoint of `n` differences."""
    for _ in range(n):
        zero = 0 * g[part(axis, slice(0, 1))] if g.shape[axis] else None
        if zero is None:
            zero = ops.zeros(tuple([1 if k == axis else m for k, m in enumerate(g.shape)]), g.dtype)
        g = ops.concatenate((zero, g), axis=axis) - ops.concatenate((g, zero), axis=axis)
    return g


@operation("numpy.diff")
class diff:
    """`n` times the differences of neighbours along an axis, after `prepend` and `append`, which may be recorded.
    Pullback: the negative differences of `g` between zeros, `n` times. `n=0` is the array itself."""

    complex = True
    views = True

    def bind(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
        given = (prepend is not np._NoValue, append is not np._NoValue)
        return (a, prepend if given[0] else None, append if given[1] else None), {"n": n, "axis": axis, "given": given}

    def shape(a, prepend, append, n, axis, given):
        axis %= len(a.shape)
        m = a.shape[axis] + sum([length(x, axis) for x, on in zip((prepend, append), given, strict=True) if on])
        beside = [x for x, on in zip((prepend, append), given, strict=True) if on]
        dtype = np.result_type(*[x.dtype or float for x in (a, *beside)])
        return Like(tuple([max(m - n, 0) if k == axis else s for k, s in enumerate(a.shape)]), dtype)

    def pull_a(ops, g, a_like, prepend_like, n, axis, given):
        axis %= a_like.ndim
        start = length(prepend_like, axis) if given[0] else 0
        return undiff(ops, ops.asarray(g), n, axis)[part(axis, slice(start, start + a_like.shape[axis]))]

    def pull_prepend(ops, g, a_like, prepend_like, n, axis, given):
        axis %= a_like.ndim
        return undiff(ops, ops.asarray(g), n, axis)[part(axis, slice(0, length(prepend_like, axis)))]

    def pull_append(ops, g, a_like, append_like, n, axis, given):
        axis %= a_like.ndim
        d = undiff(ops, ops.asarray(g), n, axis)
        return d[part(axis, slice(d.shape[axis] - length(append_like, axis), None))]

    def push_a(ops, t, prepend_like, append_like, n, axis, given):
        axis %= t.ndim
        pre = length(prepend_like, axis) if given[0] else 0
        post = length(append_like, axis) if given[1] else 0
        return ops.diff(padded(ops, t, axis, pre, post), n, axis)

    def push_prepend(ops, t, a_like, append_like, n, axis, given):
        t, axis = beside(ops, t, a_like, axis)
        post = length(append_like, axis) if given[1] else 0
        return ops.diff(padded(ops, t, axis, 0, a_like.shape[axis] + post), n, axis)

    def push_append(ops, t, a_like, prepend_like, n, axis, given):
        t, axis = beside(ops, t, a_like, axis)
        pre = length(prepend_like, axis) if given[0] else 0
        return ops.diff(padded(ops, t, axis, pre + a_like.shape[axis], 0), n, axis)

    samples = (
        (VECTOR,), (MATRIX,), (CUBE, 2, 1), (MATRIX, 1, 0), (VECTOR, 1, -1, 0.5, np.array([0.1, 0.2])),
        (MATRIX, {"n": 2, "axis": 1, "prepend": 0.5}), (MATRIX, {"axis": 0, "append": np.ones((2, 3))}),
    )  # fmt: skip


def padded(ops, t, axis, before, after):
    pads = [(before, after) if k == axis else (0, 0) for k in range(t.ndim)]
    return ops.pad(t, pads)


def beside(ops, t, a, axis):
    """A tangent of `prepend` or `append` as the array that is set beside `a`."""
    axis %= a.ndim
    t = ops.asarray(t)
    return (t if t.ndim else ops.broadcast_to(t, tuple([1 if k == axis else m for k, m in enumerate(a.shape)]))), axis


# integrals


def halves(ops, x, axis):
    """Each two neighbours' mean."""
    return (x[part(axis, slice(1, None))] + x[part(axis, slice(None, -1))]) / 2


def widths(ops, f, x, dx, axis):
    """The distances between samples, so that they broadcast against `f`."""
    if x is None:
        return ops.asarray(dx) if not np.ndim(dx) else dx
    x = ops.asarray(x)
    if x.ndim == 1:
        x = ops.reshape(x, tuple([-1 if k == axis else 1 for k in range(f.ndim)]))
    return ops.diff(x, axis=axis if x.ndim == f.ndim else axis - f.ndim)


@operation("numpy.trapezoid scipy.integrate.trapezoid")
class trapezoid:
    """Integral by the trapezoidal rule along an axis; samples at `x` (recorded too), or `dx` apart. Pullback: `g` times
    the half widths beside a sample; for `x`, `g` times the negative differences of the means of neighbours."""

    def bind(y, x=None, dx=1.0, axis=-1):
        return (y, x, dx if x is None else None), {"axis": axis}

    def shape(f, x, dx, axis):
        dtypes = [e.dtype for e in (f, x, dx) if e.dtype is not None]
        return reduced(f, axis=axis, keepdims=False, dtype=np.result_type(*dtypes) if dtypes else None)

    def pull_f(ops, g, f_like, x, dx, axis):
        axis %= f_like.ndim
        half = ops.expand_dims(g, axis) * widths(ops, f_like, x, dx, axis) / 2
        shape = tuple([m - (k == axis) for k, m in enumerate(f_like.shape)])
        return neighbours(ops, half, shape, axis)

    def pull_x(ops, g, f, x, axis):
        f = ops.asarray(f)
        axis %= f.ndim
        d = undiff(ops, ops.expand_dims(g, axis) * halves(ops, f, axis), 1, axis)
        if np.ndim(x) == 1:
            return ops.total(d, axis=tuple([k for k in range(d.ndim) if k != axis]))
        return d

    def pull_dx(ops, g, f, axis):
        f = ops.asarray(f)
        return ops.expand_dims(g, axis) * halves(ops, f, axis % f.ndim)

    def push_f(ops, t, x, dx, axis):
        axis %= t.ndim
        return ops.total(widths(ops, t, x, dx, axis) * halves(ops, t, axis), axis=axis)

    def push_x(ops, t, f, axis):
        axis %= f.ndim
        return ops.total(widths(ops, f, t, None, axis) * halves(ops, f, axis), axis=axis)

    def push_dx(ops, t, f, axis):
        axis %= f.ndim
        return ops.total(t * halves(ops, f, axis), axis=axis)

    samples = (
        (VECTOR,), (MATRIX,), (MATRIX, {"dx": 0.5, "axis": 0}), (MATRIX, np.array([0.0, 0.3, 1.0])), (CUBE, CUBE + 1.0),
        (CUBE, np.array([0.0, 0.4, 1.0]), {"axis": 1}), (VECTOR, None, 0.25),
    )  # fmt: skip


def neighbours(ops, half, shape, axis):
    """Each interval's part to both its ends."""
    half = ops.broadcast_to(half, shape)
    pads = [(0, 0)] * len(shape)
    left, right = list(pads), list(pads)
    left[axis], right[axis] = (0, 1), (1, 0)
    return ops.pad(half, left) + ops.pad(half, right)
