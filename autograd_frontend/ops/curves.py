"""Interpolation, convolution, polynomials, gradients of samples."""

from __future__ import annotations

import numpy as np

from ..errors import RecordError
from .block import Like, operation
from .reductions import CUBE, MATRIX, VECTOR

# interpolation


class Table:
    """Where each place lies in the table: `k` the knot to its left, `w` how far it is on the way to the next."""

    def __init__(self, ops, x, xp, fp, period):
        self.x, self.order = ops.asarray(x), None
        xp, fp = ops.asarray(xp), ops.asarray(fp)
        self.size = n = len(xp)
        if period is not None:
            self.x, xp = self.x % abs(period), xp % abs(period)
            order = ops.argsort(xp)
            self.order = order = ops.concatenate((order[-1:], order, order[:1]))
            xp, fp = ops.take(xp, order), ops.take(fp, order)
            xp = ops.concatenate((xp[:1] - abs(period), xp[1:-1], xp[-1:] + abs(period)))
            n += 2
        if n > 1 and np.any(xp[1:] < xp[:-1]):  # what NumPy gives then means nothing
            raise RecordError("the places of the table given to np.interp do not increase", None, "Sort them first.")
        self.below, self.above = self.x < xp[0], self.x > xp[-1]
        self.k = k = np.clip(ops.searchsorted(xp, self.x, side="right") - 1, 0, max(n - 2, 0))
        self.next = k + (n > 1)
        left = ops.take(xp, k)  # the tables may be NumPy's beside places of a device
        gap = ops.take(xp, self.next) - left if n > 1 else 1.0
        self.slope = (ops.take(fp, self.next) - ops.take(fp, k)) / gap
        self.w = (self.x - left) / gap
        self.inside = ops.invert(ops.either(self.below, self.above))

    def add(self, ops, at_k, at_next):
        """Contributions to the knots."""
        k, following = self.k, self.next
        if self.order is not None:
            k, following = ops.take(self.order, k), ops.take(self.order, following)
        d = ops.add_along((self.size,), ops.reshape(k, -1), ops.reshape(at_k, -1), 0)
        return d + ops.add_along((self.size,), ops.reshape(following, -1), ops.reshape(at_next, -1), 0)


def ends(ops, p, values, left, right):
    """At every place 0, below the table `values[0]` unless `left` is given, above it `values[1]` unless `right` is."""
    low = ops.where(p.below, 0 if left is not None else values[0], 0)
    return ops.where(p.above, 0 if right is not None else values[1], low)


@operation("numpy.interp")
class interp:
    """Linear interpolation at `x` in the table `fp` over `xp`; all three, `left` and `right` may be recorded. Pullback:
    `x` the slope of its piece (the one to the right at a knot, 0 outside), `fp` the weights of the two knots (or of the
    end that holds outside), `xp` minus the slope times these. A NaN place: nan."""

    def bind(x, xp, fp, left=None, right=None, period=None):
        ends = (left, right) if period is None else (None, None)
        return (x, xp, fp, *ends), {"period": period}

    def shape(x, xp, fp, left, right, period):
        return Like(x.shape, np.dtype(float))

    def pull_x(ops, g, x, xp, fp, period):
        p = Table(ops, x, xp, fp, period)
        return ops.where(ops.asarray(p.inside), ops.times(g, p.slope), 0)

    def pull_xp(ops, g, x, xp, fp, period):
        p = Table(ops, x, xp, fp, period)
        d = ops.where(ops.asarray(p.inside), ops.times(g, -p.slope), 0)
        return p.add(ops, ops.times(d, 1 - p.w), ops.times(d, p.w))

    def pull_fp(ops, g, x, xp, fp, left, right, period):
        p = Table(ops, x, xp, fp, period)
        inside = ops.asarray(p.inside)
        lone = p.next is p.k or p.size == 1 and p.order is None  # one knot: all of it
        first = ops.where(inside, g if lone else ops.times(g, 1 - p.w), ends(ops, p, (g, 0), left, right))
        last = ops.where(inside, 0 if lone else ops.times(g, p.w), ends(ops, p, (0, g), left, right))
        return p.add(ops, first, last)

    def pull_left(ops, g, x, xp, fp, period):
        return ops.where(ops.asarray(Table(ops, x, xp, fp, period).below), g, 0)

    def pull_right(ops, g, x, xp, fp, period):
        return ops.where(ops.asarray(Table(ops, x, xp, fp, period).above), g, 0)

    def push_x(ops, t, x, xp, fp, period):
        p = Table(ops, x, xp, fp, period)
        return ops.where(p.inside, t * p.slope, 0)

    def push_xp(ops, t, x, xp, fp, period):
        p = Table(ops, x, xp, fp, period)
        t = t if p.order is None else t[p.order]
        return ops.where(p.inside, -p.slope * (t[p.k] * (1 - p.w) + t[p.next] * p.w), 0)

    def push_fp(ops, t, x, xp, fp, left, right, period):
        p = Table(ops, x, xp, fp, period)
        t = t if p.order is None else t[p.order]
        return ops.where(p.inside, t[p.k] * (1 - p.w) + t[p.next] * p.w, ends(ops, p, (t[0], t[-1]), left, right))

    def push_left(ops, t, x, xp, fp, period):
        return ops.where(Table(ops, x, xp, fp, period).below, t, 0)

    def push_right(ops, t, x, xp, fp, period):
        return ops.where(Table(ops, x, xp, fp, period).above, t, 0)

    samples = (
        (np.array([-1.0, 0.3, 1.9, 3.9, 7.0]), np.array([0.0, 1.0, 2.5, 4.0]), VECTOR),
        (np.array([[0.3, -1.0], [9.0, 2.0]]), np.array([0.0, 1.0, 2.5, 4.0]), VECTOR, 0.5, -0.5),
        (np.array([-1.0, 0.3, 1.9, 3.9, 7.1]), np.array([0.2, 3.5, 1.0, 2.5]), VECTOR, {"period": 4.0}),
        (0.4, [0.0, 1.0], [2.0, 5.0]),
    )  # fmt: skip


# convolution


def whole(ops, g, n, m, mode):
    """The cotangent of the full convolution of `n` and `m` entries, of which the result was the middle."""
    full, short = n + m - 1, min(n, m)
    start = {"full": 0, "same": (short - 1) // 2, "valid": short - 1}[mode]
    return ops.pad(g, [(start, full - start - len(g))])


PAIRS = tuple(
    [
        (a, v, mode)
        for a, v in ((VECTOR, VECTOR[:3] + 1.0), (VECTOR[:2], VECTOR), (VECTOR[:3], VECTOR), (VECTOR[:1], VECTOR[:2]))
        for mode in ("full", "same", "valid")
    ]
)


@operation("numpy.convolve")
class convolve:
    """Convolution of two vectors. Pullback: the correlation of `g` with the other one."""

    linear = True

    def bind(a, v, mode="full"):
        return (a, v), {"mode": mode}

    def shape(a, v, mode):
        n, m = max(a.size, v.size), min(a.size, v.size)
        size = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
        return Like((size,), np.result_type(a.dtype or float, v.dtype or float))

    def pull_a(ops, g, a_like, v, mode):
        v = ops.reshape(v, -1)
        return ops.reshape(ops.correlate(whole(ops, g, a_like.size, v.size, mode), v, "valid"), a_like.shape)

    def pull_v(ops, g, a, v_like, mode):
        a = ops.reshape(a, -1)
        return ops.reshape(ops.correlate(whole(ops, g, a.size, v_like.size, mode), a, "valid"), v_like.shape)

    samples = PAIRS


@operation("numpy.correlate")
class correlate:
    """Cross-correlation of two vectors: the convolution with the second one reversed."""

    linear = True

    def bind(a, v, mode="valid"):
        return (a, v), {"mode": mode}

    shape = convolve.shape

    def pull_a(ops, g, a_like, v, mode):
        v = ops.reshape(v, -1)[::-1]
        return ops.reshape(ops.correlate(middle(ops, g, a_like.size, v.size, mode), v, "valid"), a_like.shape)

    def pull_v(ops, g, a, v_like, mode):
        a = ops.reshape(a, -1)
        d = ops.correlate(middle(ops, g, a.size, v_like.size, mode), a, "valid")
        return ops.reshape(d[::-1], v_like.shape)

    samples = PAIRS


def middle(ops, g, n, m, mode):
    """As `whole`, where NumPy exchanges the two and turns the result round if the second one is longer."""
    return whole(ops, g, n, m, mode) if n >= m else whole(ops, g[::-1], n, m, mode)[::-1]


# polynomials


@operation("numpy.polyval")
class polyval:
    """The polynomial with coefficients `p`, highest first, at `x`; both may be recorded. Pullback: `p` sums of
    `g*x**k`, `x` `g` times the derivative's value. `np.poly1d` objects are refused."""

    complex = "conjugated"

    def bind(p, x):
        if isinstance(p, np.poly1d) or isinstance(x, np.poly1d):
            raise TypeError("np.poly1d; give the coefficients")
        return (p, x), {}

    def shape(p, x):
        return Like(x.shape, np.result_type(p.dtype or float, x.dtype or float))

    def pull_p(ops, g, p_like, x):
        x = ops.reshape(ops.asarray(x), -1)
        return ops.times(ops.reshape(ops.asarray(g), -1), powers(ops, x, p_like.shape[0])).sum(-1)

    def pull_x(ops, g, p, x):
        return ops.times(g, slope(ops, p, x))

    def push_p(ops, t, x):
        return sum([t[k] * x ** (len(t) - 1 - k) for k in range(len(t))], 0 * x)

    def push_x(ops, t, p, x):
        return t * slope(ops, p, x)

    samples = ((VECTOR, 0.5), (VECTOR, MATRIX), ([1.0, -2.0], np.array([0.5, 1.5])), (np.array([2.5]), 1.5))


def powers(ops, x, n):
    """`x**(n-1)` to `x**0`, a row each, by multiplication."""
    rows = [0 * x + 1]
    for _ in range(n - 1):
        rows.append(rows[-1] * x)
    return ops.asarray(rows[::-1])


def slope(ops, p, x):
    d = 0 * x
    n = len(p) - 1
    for k in range(n):
        d = d * x + (n - k) * p[k]
    return d


# gradients of samples


@operation("numpy.gradient")
class gradient:
    """Differences of samples along one axis, their spacing plain data. Pullback: the transposed matrix, whose rows have
    entries at most two places off the diagonal. Several axes, which give several results, are refused: call it once
    for each `axis=`."""

    def bind(f, *spacing, axis=None, edge_order=1):
        if len(np.shape(getattr(f, "v", f))) != 1 and not isinstance(axis, (int, np.integer)):
            raise TypeError("several axes; call it once for each axis=")
        spacing = tuple([np.array(h) for h in spacing])
        return (f,), {"spacing": spacing, "axis": axis, "edge_order": edge_order}

    def shape(f, spacing, axis, edge_order):
        return f

    def pull_f(ops, g, f_like, spacing, axis, edge_order):
        axis = 0 if axis is None else axis
        n = f_like.shape[axis]
        g = ops.moveaxis(g, axis, -1)
        d = ops.zeros(g.shape, g.dtype)
        rows = np.arange(n)
        for c in range(5):  # the columns c, c + 5, ... of the matrix do not meet in a row
            column = ops.gradient((rows % 5 == c) * 1.0, *spacing, edge_order=edge_order)
            at = rows + (c - rows + 2) % 5 - 2  # the one of them within two places
            on = (at >= 0) & (at < n)
            np.add.at(d, (..., at[on]), (g * column)[..., on])
        return ops.moveaxis(d, -1, axis)

    def push_f(ops, t, spacing, axis, edge_order):
        return ops.gradient(t, *spacing, axis=axis, edge_order=edge_order)

    samples = (
        (VECTOR,), (np.linspace(0.0, 2.0, 13) ** 3, 2), (VECTOR, np.array([0, 1, 3, 4])),
        (CUBE, {"axis": 1, "edge_order": 2}), (MATRIX, 2, {"axis": -1}),
    )  # fmt: skip
