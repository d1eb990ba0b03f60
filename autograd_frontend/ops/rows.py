"""The softmax family. What is computed here runs along rows: the last axis, where `rows` brings the axes of a call."""

from __future__ import annotations

import numpy as np

from .axes import reduced, rows, unrows, widened
from .block import Like, composed, operation
from .plain import PLAIN
from .reductions import CUBE, MATRIX, SAMPLES, VECTOR


@composed("autograd_frontend.ops.plain.PLAIN.by_rows")
def by_rows(of, rule, *arrays, **settings):
    """Recorded, it is what the rule is made of."""
    return of(rule)(PLAIN, *arrays, **settings)


def even(ops, x):
    """Softmax of every row; NaN for one with a NaN or +inf, or of only -inf."""
    return ops.by_rows(even_rows, x) if x.size else ops.copy(x)


def even_rows(ops, x):
    e = x - ops.largest(x, axis=-1, keepdims=True)
    ops.exp(e, out=e)
    e /= ops.row_sums(e)
    return e


def softmax_pull(ops, g, y):
    return ops.by_rows(softmax_pull_rows, g, y)


def softmax_pull_rows(ops, g, y):
    dots = ops.row_dots(g, y)
    if not ops.finite(dots):  # otherwise all entries of both are
        d = ops.times(g, y)
        return d - ops.times(ops.total(d, axis=-1, keepdims=True), y)
    d = g - dots
    d *= y
    return d


def logs(ops, x):
    """Log-softmax of every row; and what its derivative needs: the weights of all entries but the largest when that
    weighs 1 (its own left out, 0), their sum, and where the largest is."""
    return ops.by_rows(logs_rows, x) if x.size else (ops.copy(x), x, x, x)


def logs_rows(ops, x):
    if not ops.indexed:
        return logs_selected(ops, x)
    largest = ops.argmax(x, axis=-1, keepdims=True)
    at = place(ops, largest)
    y = x - ops.reshape(x[at], largest.shape)
    e = ops.exp(y)
    e[at] = y[at]  # 0, but NaN beside +inf or where all are -inf, and then the whole row is
    rest = ops.row_sums(e)
    y -= ops.log1p(rest)
    return y, e, rest, largest


def logs_selected(ops, x):
    """The same where entries are selected, not indexed: all whose weight is that of the largest are left out, and all
    but one of them come back into the sum. In place of an index stands which they are."""
    y = x - ops.largest(x, axis=-1, keepdims=True)
    e = ops.exp(y)
    top = e == 1
    e = ops.where(top, 0, e)
    rest = ops.row_sums(e) + (ops.row_sums(ops.astype(top, e.dtype)) - 1)
    return y - ops.log1p(rest), e, rest, top


def is_selected(largest):
    return largest.dtype.kind == "b"


def split(ops, g, largest):
    """The sum of `g` over what is selected, and for every entry of that the sum over the others."""
    top, others = ops.row_sums(ops.where(largest, g, 0)), ops.row_sums(ops.where(largest, 0, g))
    return top, others, ops.where(top == g, 0, top - g)


def place(ops, largest):
    """The index of one entry in every row."""
    return (*ops.indices(largest.shape[:-1]), largest[..., 0])


def without(ops, x, at):
    """Sums of rows, and the entries `at` that were left out of them."""
    x, left_out = ops.copy(x), x[at]
    x[at] = 0
    s = ops.row_sums(x)
    return s, ops.reshape(left_out, s.shape)


def logs_pull(ops, g, e, rest, largest):
    return ops.by_rows(logs_pull_rows, g, e, rest, largest) if g.size else g


def logs_pull_rows(ops, g, e, rest, largest):
    """`g*(1 - p) - p*(sum of the other g)`, `p` being softmax. Only for the largest entry is `1 - p` below 1/2, where
    `rest/(1 + rest)` keeps all its digits; for the others `g - p*(sum of every g)` is just as accurate."""
    if is_selected(largest):
        return logs_pull_selected(ops, g, e, rest, largest)
    at = place(ops, largest)
    others, top = without(ops, g, at)
    total = 1 + rest
    mean = (others + top) / total
    d = e * -mean
    d += g
    d[at] = ops.reshape(top * (rest / total) - others / total, at[-1].shape)
    return d if ops.finite(mean) else ops.where(ops.all(g == 0, axis=-1, keepdims=True), 0, d)


def logs_pull_selected(ops, g, e, rest, largest):
    """The same with what `logs_selected` gives."""
    top, others, beside = split(ops, g, largest)
    total = 1 + rest
    p = ops.where(largest, 1, e) / total
    d = ops.where(largest, g * (rest / total) - (others + beside) / total, g - p * (others + top))
    return ops.where(ops.all(g == 0, axis=-1, keepdims=True), 0, d)


def logs_push(ops, t, e, rest, largest):
    return ops.by_rows(logs_push_rows, t, e, rest, largest) if t.size else t


def logs_push_rows(ops, t, e, rest, largest):
    """`t - sum(p*t)`, for the largest entry as in the pullback."""
    if is_selected(largest):
        top, _, beside = split(ops, t, largest)
        others, total = ops.row_dots(e, t), 1 + rest
        d = t * (rest / total) - (others + beside) / total
        return ops.where(largest, d, t - (others + top) / total)
    at = place(ops, largest)
    top, total = ops.reshape(t[at], rest.shape), 1 + rest
    others = ops.row_dots(e, t)
    d = t - (others + top) / total
    d[at] = ops.reshape(top * (rest / total) - others / total, at[-1].shape)
    return d


def floats(x, axis=-1):
    """The shape rule: as the operand, integers as float64."""
    return Like(x.shape, x.dtype if getattr(x.dtype, "kind", "") == "f" else np.dtype(float))


def checked(ops, operation, x):
    """An operand as an array of floats."""
    a = ops.asarray(ops.floating(x))
    if a.dtype.kind != "f":
        raise TypeError(f"{operation}: x is a {type(x).__name__}, expected floats")
    return a


LAST = ((VECTOR,), (MATRIX,), (CUBE,), (0.7,), (np.array([[50.0, 0.0], [-1.0, 0.5]]),))


@operation()
class softmax_last:
    """`exp(x)/sum(exp(x))` along the last axis, from the distances to the largest entry. A scalar is a row of one and
    gives 1. A row with a NaN or +inf, or of only -inf, is NaN. Pullback `y*(g - sum(g*y))`."""

    def value(ops, x):
        x = checked(ops, "softmax_last", x)
        return unrows(ops, even(ops, rows(ops, x, -1)), x, -1)

    shape = floats

    def pull_x(ops, g, y):
        return unrows(ops, softmax_pull(ops, rows(ops, g, -1), rows(ops, y, -1)), y, -1)

    push_x = pull_x
    samples = LAST


@operation()
class log_softmax_last:
    """Logarithm of softmax along the last axis, `(x - m) - log1p(sum of the other exp(x[j] - m))` with `m` the (first)
    largest entry. A scalar is a row of one and gives 0. A row with a NaN or +inf, or of only -inf, is NaN. Pullback
    `g*(1 - p) - p*(sum of the other g)`, `p = exp(y)`; `1 - p` keeps its digits where `p` is near one."""

    keeps = ("e", "rest", "largest")

    def value(ops, x):
        x = checked(ops, "log_softmax_last", x)
        y, e, rest, largest = logs(ops, rows(ops, x, -1))
        return unrows(ops, y, x, -1), e, rest, largest

    shape = floats

    def pull_x(ops, g, x_like, e, rest, largest):
        return unrows(ops, logs_pull(ops, rows(ops, g, -1), e, rest, largest), x_like, -1)

    def push_x(ops, t, x_like, e, rest, largest):
        return unrows(ops, logs_push(ops, rows(ops, t, -1), e, rest, largest), x_like, -1)

    samples = LAST


def rowwise_bind(x, axis=None):
    return (x,), {"axis": axis}


ROWWISE = ((VECTOR,), (MATRIX, 1), (MATRIX, {"axis": 0}), (CUBE, (0, 2)))


@operation("scipy.special.softmax")
class softmax:
    """`exp(x)/sum(exp(x))` over the axes (all of them for None). Pullback `y*(g - sum(g*y))`."""

    bind, shape = rowwise_bind, floats

    def pull_x(ops, g, y, axis):
        return unrows(ops, softmax_pull(ops, rows(ops, g, axis), rows(ops, y, axis)), y, axis)

    push_x = pull_x
    samples = ROWWISE


@operation("scipy.special.log_softmax")
class log_softmax:
    """Logarithm of softmax `p` over the axes (all of them for None). Pullback `g*(1 - p) - p*(sum of the other g)`;
    where one entry has nearly all the weight, nothing cancels."""

    bind, shape = rowwise_bind, floats

    def pull_x(ops, g, x, axis):
        _, e, rest, largest = logs(ops, rows(ops, x, axis))  # again: its own value is 0 near one
        return unrows(ops, logs_pull(ops, rows(ops, g, axis), e, rest, largest), g, axis)

    def push_x(ops, t, x, axis):
        _, e, rest, largest = logs(ops, rows(ops, x, axis))
        return unrows(ops, logs_push(ops, rows(ops, t, axis), e, rest, largest), t, axis)

    samples = ROWWISE


@operation("scipy.special.logsumexp")
class logsumexp:
    """`log(sum(b*exp(a)))`. Pullback `g*softmax(a)`, with weights `g*b*exp(a)/sum(b*exp(a))`; weights
    `g*exp(a)/sum(b*exp(a))`. Rows with +inf, or of only -inf: nan. `return_sign=True` is refused."""

    def bind(a, axis=None, b=None, keepdims=False, return_sign=False):
        if return_sign:
            raise TypeError("return_sign=True")
        return (a, b), {"axis": axis, "keepdims": keepdims}

    def shape(a, b, axis, keepdims):
        shape = np.broadcast_shapes(a.shape, b.shape)
        dtype = np.result_type(a.dtype or float, b.dtype) if b.dtype else a.dtype
        return reduced(Like(shape, dtype), axis=axis, keepdims=keepdims)

    def pull_a(ops, g, a, b, axis, keepdims):
        return ops.times(widened(ops, g, axis, keepdims), slope_of_logsumexp(ops, a, b, axis))

    def pull_b(ops, g, a, b, axis, keepdims):
        return ops.times(widened(ops, g, axis, keepdims), slope_of_logsumexp(ops, a, b, axis, False))

    def push_a(ops, t, a, b, axis, keepdims):
        return ops.total(t * slope_of_logsumexp(ops, a, b, axis), axis=axis, keepdims=keepdims)

    def push_b(ops, t, a, b, axis, keepdims):
        return ops.total(t * slope_of_logsumexp(ops, a, b, axis, False), axis=axis, keepdims=keepdims)

    samples = (*SAMPLES, (MATRIX, 1, np.array([1.0, 2.0, 0.5])), (VECTOR, None, 2.5))


def slope_of_logsumexp(ops, a, b, axis, of_a=True):
    a = ops.asarray(a)
    if b is None:
        return unrows(ops, even(ops, rows(ops, a, axis)), a, axis)
    b = ops.asarray(b)
    top = ops.largest(ops.where(b == 0, -np.inf, a), axis=axis, keepdims=True)
    e = ops.exp(a - top)
    weighted = ops.where(ops.asarray(b == 0), 0, b * e)
    return (weighted if of_a else e) / ops.total(weighted, axis=axis, keepdims=True)
