"""Linear recurrences along the first axis, for many independent entries at a time.

Rows follow each other in a loop: a parallel prefix multiplies factors first, which overflows, and orders nonfinite
numbers otherwise.
"""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .interface import ranked, shaped


def exact(ops, a, rows, h):
    """The states of a recurrence, for derivatives: what is zero stays so also beside an infinite factor."""
    if ops.quick and not ops.possible(ops.isnan(y := ops.scan(a, rows, h))):
        return y
    return ops.scan(a, rows, h, True)


def adjoint(ops, g, a):
    """What arrives at each row: `q[t] = g[t] + a[t+1]*q[t+1]`, zero past the end."""
    a = ops.broadcast_to(a, g.shape)
    factors = ops.concatenate([ops.zeros(a[:1].shape, a.dtype), a[:0:-1]])
    return exact(ops, factors, g[::-1], ops.zeros(g.shape[1:], g.dtype))[::-1]


def driven(ops, a, rows):
    """The tangent for what is added in each row."""
    return exact(ops, ops.broadcast_to(a, rows.shape), rows, ops.zeros(rows.shape[1:], rows.dtype))


def before(ops, initial, y):
    """The state before each row."""
    return ops.concatenate([initial[None], y])[:-1]


def checked(operation, a, b, x, initial, varying):
    ranked(operation, "x", x, 2, "[steps, states]")
    means = "the shape of x" if varying else "one entry for each state of x"
    shaped(operation, "a", a, x.shape if varying else x.shape[1:], means)
    shaped(operation, "b", b, x.shape if varying else x.shape[1:], means)
    shaped(operation, "initial", initial, x.shape[1:], "one entry for each state of x")


def shape_of_states(a, b, x, initial):
    return Like(x.shape, np.result_type(a.dtype, b.dtype, x.dtype, initial.dtype))


def pull_x(ops, g, a, b):
    return ops.times(adjoint(ops, g, a), b)


def pull_initial(ops, g, a):
    q = adjoint(ops, g, a)
    return ops.times(q[0], ops.broadcast_to(a, g.shape)[0]) if len(q) else ops.zeros(g.shape[1:], g.dtype)


def push_a(ops, t, a, initial, y):
    return driven(ops, a, t * before(ops, initial, y))


def push_b(ops, t, a, x):
    return driven(ops, a, t * x)


def push_x(ops, t, a, b):
    return driven(ops, a, b * t)


def push_initial(ops, t, a, y):
    return exact(ops, ops.broadcast_to(a, y.shape), ops.zeros(y.shape, y.dtype), t)


X = np.array([[0.5, -1.0, 2.0], [1.5, 0.2, -0.7], [0.3, 1.1, -0.4], [-0.9, 0.8, 0.6]])


@operation()
class selective_scan_diag:
    """`selective_scan_diag(a, b, x, initial)`: `[s]`, `[s]`, `[T, s]`, `[s]` -> `[T, s]`, the states
    `H[t] = a*H[t-1] + b*x[t]` with `H[-1] = initial`, in this order also for nonfinite numbers. Pullback, with
    `Q[t] = g[t] + a*Q[t+1]` from 0 past the end: `sum_t Q*H[t-1]`, `sum_t Q*x`, `b*Q`, `a*Q[0]`; an exact zero of `g`
    or `Q` gives exact zeros. `T = 0`: no states, zero gradients. Other shapes: ValueError."""

    def value(ops, a, b, x, initial):
        checked("selective_scan_diag", a, b, x, initial, False)
        return ops.scan(ops.broadcast_to(a, x.shape), b * x, initial)

    shape = shape_of_states

    def pull_a(ops, g, a, initial, y):
        return ops.sum(ops.times(adjoint(ops, g, a), before(ops, initial, y)), axis=0)

    def pull_b(ops, g, a, x):
        return ops.sum(ops.times(adjoint(ops, g, a), x), axis=0)

    pull_x, pull_initial = pull_x, pull_initial
    push_a, push_b, push_x, push_initial = push_a, push_b, push_x, push_initial
    samples = (
        (np.array([0.5, -0.8, 1.2]), np.array([1.0, 0.7, -0.3]), X, np.array([0.4, -0.6, 1.3])),
        (np.array([0.5, 2.0]), np.array([1.0, 0.7]), np.array([[0.5, -1.0]]), np.array([0.4, 1.3])),
    )


@operation()
class selective_scan_diag_var:
    """`selective_scan_diag_var(a, b, x, initial)`: `[T, s]`, `[T, s]`, `[T, s]`, `[s]` -> `[T, s]`. This is
    `selective_scan_diag` with factors of their own for every step, `H[t] = a[t]*H[t-1] + b[t]*x[t]`. Pullback, with
    `Q[t] = g[t] + a[t+1]*Q[t+1]`: `Q*H[t-1]`, `Q*x`, `b*Q`, `a[0]*Q[0]`. Other shapes: ValueError."""

    def value(ops, a, b, x, initial):
        checked("selective_scan_diag_var", a, b, x, initial, True)
        return ops.scan(a, b * x, initial)

    shape = shape_of_states

    def pull_a(ops, g, a, initial, y):
        return ops.times(adjoint(ops, g, a), before(ops, initial, y))

    def pull_b(ops, g, a, x):
        return ops.times(adjoint(ops, g, a), x)

    pull_x, pull_initial = pull_x, pull_initial
    push_a, push_b, push_x, push_initial = push_a, push_b, push_x, push_initial
    samples = (
        (0.3 * X + 0.6, 0.5 - X, X[::-1].copy(), np.array([0.4, -0.6, 1.3])),
        (np.array([[0.5, 2.0]]), np.array([[1.0, 0.7]]), np.array([[0.5, -1.0]]), np.array([0.4, 1.3])),
    )
