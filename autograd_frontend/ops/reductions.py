"""Sums, means, products and extremes over axes.

`axis` None, an integer, negative, or a tuple; `keepdims`; `where` a plain mask; `dtype` and `out` as in NumPy. The
gradient has the operand's shape and dtype. An entry of the cotangent that is exactly zero contributes exactly zero.
"""

from __future__ import annotations

import math

import numpy as np

from .axes import axes_of, count, divided, mask, masked, present, reduced, rows, unrows, widened
from .block import Like, like, operation

VECTOR = np.array([0.7, -1.3, 2.1, 0.4])
MATRIX = np.array([[0.7, -1.3, 2.1], [0.4, 1.9, -0.6]])
CUBE = np.linspace(-1.0, 2.0, 12).reshape(2, 3, 2) ** 3 + 0.1
SOME = np.array([[True, False, True], [True, True, False]])
SAMPLES = (
    (VECTOR,), (MATRIX, {"axis": 0}), (MATRIX, {"axis": -1, "keepdims": True}), (CUBE, {"axis": (0, -1)}),
    (MATRIX, {"keepdims": True}), (CUBE, {"axis": (2, 1), "keepdims": True}),
)  # fmt: skip
MASKED = ((MATRIX, {"where": SOME}), (MATRIX, {"axis": 0, "where": SOME}))


def settings(axis, dtype, keepdims, where):
    return {"axis": axis, "keepdims": keepdims, "where": mask(where), "dtype": dtype}


# sum


def add_bind(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return (a,) if initial is None else (a, initial), settings(axis, dtype, keepdims, where)


def reduce_bind(a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return add_bind(a, axis, dtype, out, keepdims, initial, where)


def add_pull(ops, g, axis, keepdims, where):
    return masked(ops, widened(ops, g, axis, keepdims), where)


def add_pull_initial(ops, g):
    return g


def add_push(ops, t, axis, keepdims, where):
    return ops.total(masked(ops, t, where), axis=axis, keepdims=keepdims)


def add_push_initial(ops, t, y_like):
    return ops.broadcast_to(t, y_like.shape)


@operation("numpy.sum numpy.ndarray.sum")
class sum_:
    """Sum of the entries. Pullback: `g` in every entry that was added, 0 elsewhere. `initial` may be recorded.
    No entries: 0.0."""

    complex = True
    bind, shape = add_bind, reduced
    pull_a, pull_initial, push_a, push_initial = add_pull, add_pull_initial, add_push, add_push_initial
    samples = (*SAMPLES, *MASKED, (MATRIX, {"axis": 1, "initial": 2.0}))


@operation("numpy.add.reduce")
class add_reduce:
    """`np.add.reduce`: `np.sum` along the first axis unless told otherwise."""

    complex = True
    bind, shape = reduce_bind, reduced
    pull_a, pull_initial, push_a, push_initial = add_pull, add_pull_initial, add_push, add_push_initial
    samples = (*SAMPLES, (CUBE, {"axis": None}), *MASKED)


def exact_sum(*items):
    return math.fsum(items)


@operation("autograd_frontend.ops.reductions.exact_sum")
class fsum:
    """`math.fsum`, the correctly rounded sum of floats. Pullback: `g` to each."""

    def bind(*items):
        return items, {}

    def shape(*likes):
        return Like((), None)

    def pull_each(ops, g, i):
        return g

    def push_each(ops, t, i):
        return t

    samples = ((0.7, -1.3, 2.1),)


@operation("numpy.nansum")
class nansum:
    """Sum of the numbers among the entries. Pullback: `g` for numbers, exactly 0 for NaN."""

    bind, shape = add_bind, reduced

    def pull_a(ops, g, a, axis, keepdims, where):
        return add_pull(ops, g, axis, keepdims, present(ops, a, where))

    def push_a(ops, t, a, axis, keepdims, where):
        return add_push(ops, t, axis, keepdims, present(ops, a, where))

    pull_initial, push_initial = add_pull_initial, add_push_initial
    samples = (*SAMPLES, *MASKED)


# mean


def mean_bind(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    return (a,), settings(axis, dtype, keepdims, where)


def mean_pull(ops, g, a_like, axis, keepdims, where):
    return masked(ops, divided(widened(ops, g, axis, keepdims), count(ops, a_like, axis, where)), where)


def mean_push(ops, t, a_like, axis, keepdims, where):
    total = divided(ops.total(masked(ops, t, where), axis=axis, keepdims=True), count(ops, a_like, axis, where))
    return total if keepdims else ops.squeeze(total, axes_of(axis, a_like.ndim))


@operation("numpy.mean numpy.ndarray.mean")
class mean:
    """Arithmetic mean. Pullback: `g/n` in every entry counted. No entries: nan with NumPy's warning."""

    complex = True
    bind, shape, pull_a, push_a = mean_bind, reduced, mean_pull, mean_push
    samples = (*SAMPLES, *MASKED)


@operation("numpy.nanmean")
class nanmean:
    """Mean of the numbers among the entries. Pullback: `g/n` for numbers, exactly 0 for NaN."""

    bind, shape = mean_bind, reduced

    def pull_a(ops, g, a, axis, keepdims, where):
        return mean_pull(ops, g, like(a), axis, keepdims, present(ops, a, where))

    def push_a(ops, t, a, axis, keepdims, where):
        return mean_push(ops, t, like(a), axis, keepdims, present(ops, a, where))

    samples = (*SAMPLES, *MASKED)


def share_of(ops, weights, a_like, axis):
    """Weights against the operand: `np.average` takes them of its shape, or of the shape of its averaged axes."""
    if weights is None:
        return ops.broadcast_to(1.0, a_like.shape)
    w = ops.asarray(weights)
    if w.shape == a_like.shape:
        return w
    axes = axes_of(axis, a_like.ndim)
    shape = tuple([n if k in axes else 1 for k, n in enumerate(a_like.shape)])
    return ops.reshape(ops.transpose(w, tuple(sorted(range(len(axes)), key=axes.__getitem__))), shape)


@operation("numpy.average")
class average:
    """Weighted mean `sum(w*a)/sum(w)`. Pullback `g*w/sum(w)`; weights `g*(a - y)/sum(w)`. Weights that sum to zero:
    NumPy's ZeroDivisionError. `returned=True` is refused: the sum of the weights is `np.sum`'s."""

    def bind(a, axis=None, weights=None, returned=False, *, keepdims=False):
        if returned:
            raise TypeError("returned=True; np.sum adds up the weights")
        return (a, weights), {"axis": axis, "keepdims": keepdims}

    def shape(a, weights, axis, keepdims):
        return reduced(a, axis=axis, keepdims=keepdims, dtype=np.result_type(a.dtype or float, weights.dtype or float))

    def pull_a(ops, g, a_like, weights, axis, keepdims):
        w = share_of(ops, weights, a_like, axis)
        return ops.times(widened(ops, g, axis, keepdims), w / ops.total(w, axis=axis, keepdims=True))

    def pull_weights(ops, g, a, weights, y, axis, keepdims):
        a = ops.asarray(a)
        w = share_of(ops, weights, a, axis)
        d = (a - widened(ops, y, axis, keepdims)) / ops.total(ops.broadcast_to(w, a.shape), axis=axis, keepdims=True)
        d = ops.times(widened(ops, g, axis, keepdims), d)
        if ops.asarray(weights).shape == a.shape:
            return d
        axes = axes_of(axis, a.ndim)
        d = ops.total(d, axis=tuple([k for k in range(a.ndim) if k not in axes]))
        return ops.transpose(d, tuple([sorted(axes).index(k) for k in axes]))

    def push_a(ops, t, a_like, weights, axis, keepdims):
        w = share_of(ops, weights, a_like, axis)
        return ops.total(t * (w / ops.total(w, axis=axis, keepdims=True)), axis=axis, keepdims=keepdims)

    def push_weights(ops, t, a, weights, y, axis, keepdims):
        w, t = share_of(ops, weights, a, axis), share_of(ops, t, a, axis)
        d = (a - widened(ops, y, axis, keepdims)) / ops.total(ops.broadcast_to(w, a.shape), axis=axis, keepdims=True)
        return ops.total(t * d, axis=axis, keepdims=keepdims)

    samples = (
        (VECTOR, None, VECTOR + 3.0), (MATRIX, 0, np.array([1.0, 3.0])), (MATRIX, -1, np.array([1.0, 2.0, 0.5])),
        (MATRIX, {"axis": 1, "keepdims": True}), (MATRIX, 1, MATRIX + 2.0),
    )  # fmt: skip


# product


def prod_bind(a, axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True):
    return (a, 1 if initial is None else initial), settings(axis, dtype, keepdims, where)


def prod_reduce_bind(a, axis=0, dtype=None, out=None, keepdims=False, initial=1, where=True):
    return prod_bind(a, axis, dtype, out, keepdims, initial, where)


def other_factors(ops, a, initial, axis, where, dtype):
    """For every entry the product of the others."""
    a = ops.asarray(a)
    x = a if where is True else ops.where(where, a, 1)
    d = unrows(ops, ops.others(ops.product, rows(ops, x if dtype is None else ops.astype(x, dtype), axis)), a, axis)
    return d if type(initial) is int and initial == 1 else d * initial


def prod_pull(ops, g, a, initial, axis, keepdims, where, dtype):
    d = other_factors(ops, a, initial, axis, where, dtype)
    return masked(ops, ops.times(widened(ops, g, axis, keepdims), d), where)


def prod_pull_initial(ops, g, a, axis, keepdims, where):
    x = a if where is True else ops.where(where, a, 1)
    return ops.times(g, ops.product(x, axis=axis, keepdims=keepdims))


def prod_push(ops, t, a, initial, axis, keepdims, where, dtype):
    d = other_factors(ops, a, initial, axis, where, dtype)
    return ops.total(masked(ops, ops.times(t, d), where), axis=axis, keepdims=keepdims)


@operation("numpy.prod numpy.ndarray.prod")
class prod:
    """Product of the entries. Pullback: `g` times the product of the other entries, formed from both sides and never
    by division, so that zeros are exact. `initial` may be recorded. No entries: 1.0."""

    complex = "conjugated"
    bind, shape = prod_bind, reduced
    pull_a, pull_initial, push_a, push_initial = prod_pull, prod_pull_initial, prod_push, prod_pull_initial
    samples = (*SAMPLES, *MASKED, (MATRIX, {"axis": 1, "initial": 2.0}))


@operation("numpy.multiply.reduce")
class multiply_reduce:
    """`np.multiply.reduce`: `np.prod` along the first axis unless told otherwise."""

    complex = "conjugated"
    bind, shape = prod_reduce_bind, reduced
    pull_a, pull_initial, push_a, push_initial = prod_pull, prod_pull_initial, prod_push, prod_pull_initial
    samples = SAMPLES


@operation("numpy.nanprod")
class nanprod:
    """Product of the numbers among the entries: a NaN counts as 1 and gets exactly 0."""

    bind, shape = prod_bind, reduced

    def pull_a(ops, g, a, initial, axis, keepdims, where, dtype):
        return prod_pull(ops, g, a, initial, axis, keepdims, present(ops, a, where), dtype)

    def pull_initial(ops, g, a, axis, keepdims, where):
        return prod_pull_initial(ops, g, a, axis, keepdims, present(ops, a, where))

    def push_a(ops, t, a, initial, axis, keepdims, where, dtype):
        return prod_push(ops, t, a, initial, axis, keepdims, present(ops, a, where), dtype)

    push_initial = pull_initial
    samples = (*SAMPLES, *MASKED)


def exact_product(*items, start=1):
    return math.prod(items, start=start)


@operation("autograd_frontend.ops.reductions.exact_product")
class product:
    """`math.prod`, the product of numbers, one after the other, from `start`. Pullback: `g` times the product of the
    others. Exact for fractions. Arrays are refused: their product is elementwise."""

    def bind(*items, start=1):
        factors = (start, *items)
        if any(getattr(x, "ndim", 0) for x in factors):
            raise TypeError("math.prod over arrays; functools.reduce(operator.mul, arrays) multiplies them")
        return factors, {"memo": []}

    def shape(*likes, memo):
        return Like((), None)

    def pull_each(ops, g, i, operands, memo):
        if not memo:  # all of them at once, at the first
            memo.extend(ops.others(ops.product, ops.asarray(operands)))
        return ops.times(g, memo[i])

    push_each = pull_each
    samples = ((0.7, -1.3, 2.1), (0.7, 0.0, 2.1, {"start": 1.5}))


# trace


@operation("numpy.trace numpy.ndarray.trace")
class trace:
    """Sum of a diagonal of two axes. Pullback: `g` on that diagonal."""

    complex = True

    def bind(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
        return (a,), {"offset": offset, "axis1": axis1, "axis2": axis2, "dtype": dtype}

    def shape(a, offset, axis1, axis2, dtype):
        return reduced(a, axis=(axis1, axis2), keepdims=False, dtype=dtype)

    def pull_a(ops, g, a_like, offset, axis1, axis2):
        a1, a2 = axes_of((axis1, axis2), a_like.ndim)
        n, m = a_like.shape[a1], a_like.shape[a2]
        on = ops.eye(n, m, offset, dtype=bool)
        on = ops.expand_dims(on if a1 < a2 else on.T, tuple([k for k in range(a_like.ndim) if k not in (a1, a2)]))
        return ops.where(on, widened(ops, g, (axis1, axis2), False), 0)

    def push_a(ops, t, offset, axis1, axis2):
        return ops.trace(t, offset, axis1, axis2)

    samples = ((MATRIX,), (MATRIX, 1), (CUBE, {"axis1": 2, "axis2": 0}), (CUBE, {"axis1": 1, "axis2": 2, "offset": -1}))
