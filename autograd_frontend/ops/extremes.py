"""Largest and smallest entries.

`g` is divided evenly among the tied entries (those that are NaN when the result is); an `initial` that ties takes its
share. All others get exactly 0, whatever `g` is.
"""

from __future__ import annotations

import numpy as np

from .axes import axes_of, mask, present, reduced, widened
from .block import operation
from .reductions import CUBE, MATRIX, SAMPLES, SOME, VECTOR


def extreme_bind(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    return (a, initial), {"axis": axis, "keepdims": keepdims, "where": mask(where)}


def extreme_reduce_bind(a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return extreme_bind(a, axis, out, keepdims, initial, where)


def found(ops, reduce, worst, a, initial, axis, where):
    """The result with its axes kept."""
    if where is not True:
        return reduce(a, axis=axis, keepdims=True, where=where, initial=worst if initial is None else initial)
    if initial is not None:
        return reduce(a, axis=axis, keepdims=True, initial=initial)
    return reduce(a, axis=axis, keepdims=axis is not None)


def ties(ops, a, top, where):
    """Which entries are the extreme one: equal to it, or NaN as it is."""
    on = a == top
    bad = top != top
    if ops.possible(bad):
        on = ops.either(on, ops.both(a != a, bad))
    return on if where is True else ops.both(on, where)


def shares(ops, g, reduce, worst, a, initial, axis, where):
    """`g` where the extreme entries are, divided among them."""
    top = found(ops, reduce, worst, a, initial, axis, where)
    on = ties(ops, a, top, where)
    if axis is None and initial is None:
        n = ops.count_nonzero(on)
        return ops.where(on, g / n if type(n) is not int or n > 1 else g, 0)
    n = ops.total(on, axis=axis, keepdims=True)
    if initial is not None:
        n = n + ties(ops, ops.asarray(initial), top, True)
    return ops.where(on, g / ops.maximum(n, 1), 0)


def initial_share(ops, g, reduce, worst, a, initial, axis, keepdims, where):
    top = found(ops, reduce, worst, a, initial, axis, where)
    n = ops.total(ties(ops, a, top, where), axis=axis, keepdims=True)
    on = ties(ops, ops.asarray(initial), top, True)
    d = on / (n + on)
    d = d if keepdims else ops.squeeze(d, axes_of(axis, d.ndim))
    return ops.where(ops.asarray(d == 0), 0, g * d)


def largest_pull(ops, g, a, initial, axis, keepdims, where):
    return shares(ops, widened(ops, g, axis, keepdims), ops.largest, -np.inf, a, initial, axis, where)


def smallest_pull(ops, g, a, initial, axis, keepdims, where):
    return shares(ops, widened(ops, g, axis, keepdims), ops.smallest, np.inf, a, initial, axis, where)


def largest_push(ops, t, a, initial, axis, keepdims, where):
    d = shares(ops, t, ops.largest, -np.inf, a, initial, axis, where)
    return ops.total(d, axis=axis, keepdims=keepdims)


def smallest_push(ops, t, a, initial, axis, keepdims, where):
    d = shares(ops, t, ops.smallest, np.inf, a, initial, axis, where)
    return ops.total(d, axis=axis, keepdims=keepdims)


def largest_initial(ops, g, a, initial, axis, keepdims, where):
    return initial_share(ops, g, ops.largest, -np.inf, a, initial, axis, keepdims, where)


def smallest_initial(ops, g, a, initial, axis, keepdims, where):
    return initial_share(ops, g, ops.smallest, np.inf, a, initial, axis, keepdims, where)


LIMITED = ((MATRIX, {"axis": 0, "where": SOME, "initial": 0.5}), (MATRIX, {"axis": 1, "initial": -9.0}))


@operation("numpy.max numpy.amax numpy.ndarray.max")
class max_:
    """Largest entry. Ties and NaN: see the top of this file. No entries: NumPy's ValueError, unless `initial`."""

    bind, shape = extreme_bind, reduced
    pull_a, pull_initial, push_a, push_initial = largest_pull, largest_initial, largest_push, largest_initial
    samples = (*SAMPLES, *LIMITED)


@operation("numpy.maximum.reduce")
class maximum_reduce:
    """`np.maximum.reduce`: `np.max` along the first axis unless told otherwise."""

    bind, shape = extreme_reduce_bind, reduced
    pull_a, pull_initial, push_a, push_initial = largest_pull, largest_initial, largest_push, largest_initial
    samples = SAMPLES


@operation("numpy.min numpy.amin numpy.ndarray.min")
class min_:
    """Smallest entry. Ties and NaN: see the top of this file. No entries: NumPy's ValueError, unless `initial`."""

    bind, shape = extreme_bind, reduced
    pull_a, pull_initial, push_a, push_initial = smallest_pull, smallest_initial, smallest_push, smallest_initial
    samples = (*SAMPLES, (MATRIX, {"axis": 1, "initial": 9.0}))


@operation("numpy.minimum.reduce")
class minimum_reduce:
    """`np.minimum.reduce`: `np.min` along the first axis unless told otherwise."""

    bind, shape = extreme_reduce_bind, reduced
    pull_a, pull_initial, push_a, push_initial = smallest_pull, smallest_initial, smallest_push, smallest_initial
    samples = SAMPLES


@operation("numpy.nanmax")
class nanmax:
    """Largest number among the entries. A NaN gets exactly 0, also where there is nothing else."""

    bind, shape = extreme_bind, reduced

    def pull_a(ops, g, a, initial, axis, keepdims, where):
        return largest_pull(ops, g, a, initial, axis, keepdims, present(ops, a, where))

    def pull_initial(ops, g, a, initial, axis, keepdims, where):
        return largest_initial(ops, g, a, initial, axis, keepdims, present(ops, a, where))

    def push_a(ops, t, a, initial, axis, keepdims, where):
        return largest_push(ops, t, a, initial, axis, keepdims, present(ops, a, where))

    push_initial = pull_initial
    samples = (*SAMPLES, *LIMITED)


@operation("numpy.nanmin")
class nanmin:
    """Smallest number among the entries. A NaN gets exactly 0, also where there is nothing else."""

    bind, shape = extreme_bind, reduced

    def pull_a(ops, g, a, initial, axis, keepdims, where):
        return smallest_pull(ops, g, a, initial, axis, keepdims, present(ops, a, where))

    def pull_initial(ops, g, a, initial, axis, keepdims, where):
        return smallest_initial(ops, g, a, initial, axis, keepdims, present(ops, a, where))

    def push_a(ops, t, a, initial, axis, keepdims, where):
        return smallest_push(ops, t, a, initial, axis, keepdims, present(ops, a, where))

    push_initial = pull_initial
    samples = SAMPLES


@operation("numpy.ptp")
class ptp:
    """Largest minus smallest entry, each as `max` and `min` share `g`: exactly 0 where all entries are equal."""

    def bind(a, axis=None, out=None, keepdims=False):
        return (a,), {"axis": axis, "keepdims": keepdims}

    shape = reduced

    def pull_a(ops, g, a, axis, keepdims):
        g = widened(ops, g, axis, keepdims)
        high = shares(ops, g, ops.largest, -np.inf, a, None, axis, True)
        return high - shares(ops, g, ops.smallest, np.inf, a, None, axis, True)

    def push_a(ops, t, a, axis, keepdims):
        high = shares(ops, t, ops.largest, -np.inf, a, None, axis, True)
        low = shares(ops, t, ops.smallest, np.inf, a, None, axis, True)
        return ops.total(high - low, axis=axis, keepdims=keepdims)

    samples = SAMPLES


# running extremes


def running(ops, pull, g, a, accumulate, axis):
    """Along the axis, backwards: a prefix's extreme is shared among the entries that tie for it so far. With `pull`
    False the tangent, forwards."""
    a = ops.moveaxis(ops.asarray(a), axis, 0)
    g = ops.moveaxis(ops.asarray(g), axis, 0)
    y = accumulate(a, axis=0)
    d, n = ops.zeros(g.shape, g.dtype), 0
    tied, begins, shares = [], [], []
    for k in range(len(a)):
        tied.append(ties(ops, a[k], y[k], True))
        begins.append(ops.asarray(True) if k == 0 else ops.invert(ties(ops, y[k - 1], y[k], True)))
        n = ops.where(ops.asarray(begins[k]), 0, n) + tied[k]
        shares.append(1.0 / n)
    total = 0
    order = range(len(a))
    for k in reversed(order) if pull else order:
        if pull:
            total = total + g[k] * shares[k]
            d[k] = ops.where(ops.asarray(tied[k]), total, 0)
            total = ops.where(ops.asarray(begins[k]), 0, total)
        else:
            total = ops.where(ops.asarray(begins[k]), 0, total) + ops.where(ops.asarray(tied[k]), g[k], 0)
            d[k] = total * shares[k]
    return ops.moveaxis(d, 0, axis)


def accumulate_bind(a, axis=0, dtype=None, out=None):
    return (a,), {"axis": axis, "dtype": dtype}


def same_shape(a, axis, dtype):
    return a if dtype is None else a._replace(dtype=np.dtype(dtype))


@operation("numpy.maximum.accumulate")
class maximum_accumulate:
    """Largest entry so far along an axis. Each result's `g` is divided evenly among the entries that tie for it."""

    bind, shape = accumulate_bind, same_shape

    def pull_a(ops, g, a, axis):
        return running(ops, True, g, a, ops.largest_so_far, axis)

    def push_a(ops, t, a, axis):
        return running(ops, False, t, a, ops.largest_so_far, axis)

    samples = ((VECTOR,), (MATRIX,), (CUBE, -1))


@operation("numpy.minimum.accumulate")
class minimum_accumulate:
    """Smallest entry so far along an axis. Each result's `g` is divided evenly among the entries that tie for it."""

    bind, shape = accumulate_bind, same_shape

    def pull_a(ops, g, a, axis):
        return running(ops, True, g, a, ops.smallest_so_far, axis)

    def push_a(ops, t, a, axis):
        return running(ops, False, t, a, ops.smallest_so_far, axis)

    samples = ((VECTOR,), (MATRIX,), (CUBE, -1))
