"""Losses: a number for two operands of equal shape."""

from __future__ import annotations

import math

import numpy as np

from .axes import rows, unrows
from .block import Like, like, operation
from .interface import axis_of, shaped
from .rows import even, logs, logs_pull, logs_push

LOGITS = np.array([[0.7, -1.3, 2.1, 0.4], [0.4, 1.9, -0.6, -2.0]])
WEIGHTS = np.array([[0.2, 0.3, 0.4, 0.1], [1.5, -0.5, 0.0, 0.7]])


def scalar(*operands):
    """The shape rule: one number, in the type of the operands."""
    dtype = np.result_type(*[1.0 if x.dtype is None else x.dtype for x in operands])
    return Like((), dtype if dtype.kind == "f" else np.dtype(float))


def error_pull(ops, g, d):
    n = like(d).size
    return d * (2 / n if n > 1 else 2) * g  # a whole number: a Fraction stays one


def error_push(ops, t, d):
    n = like(d).size
    return ops.sum(d * t) * (2 / n if n > 1 else 2)


@operation()
class mse_loss:
    """`sum((yhat - target)**2)/N`, `N` the number of entries; no entries give 0.0. Pullback, with `d = yhat - target`:
    `d*(2/N)*g` and its negative. Shapes that are not equal: ValueError."""

    keeps = ("d",)

    def value(ops, yhat, target):
        shaped("mse_loss", "target", target, like(yhat).shape, "the shape of yhat")
        d = ops.floating(yhat) - target
        return ops.sum(d * d) / max(like(d).size, 1), d

    shape = scalar
    pull_yhat, push_yhat = error_pull, error_push

    def pull_target(ops, g, d):
        return -error_pull(ops, g, d)

    def push_target(ops, t, d):
        return -error_push(ops, t, d)

    samples = (
        (np.array([[0.5, -1.0], [2.0, 0.3]]), np.array([[1.0, 0.2], [-0.5, 0.3]])),
        (np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 1.5])), (0.7, -1.1),
    )  # fmt: skip


def checked(operation, first, x, second, other, axis):
    """The axis of two operands of equal shape."""
    shaped(operation, second, other, like(x).shape, f"the shape of {first}")
    return axis_of(operation, axis, like(x).ndim)


def slices(shape, axis):
    """The number of rows: the product of the other extents."""
    return max(math.prod(n for k, n in enumerate(shape) if k != axis % len(shape)), 1)


def entropy(ops, x, weights, n):
    """`-sum(weights*L)/n` over rows, `L` the log-softmax of `x`; and `L` with what its derivative needs."""
    dots, *kept = ops.by_rows(entropy_rows, x, weights)
    return -ops.sum(dots) / n, *kept


def entropy_rows(ops, x, weights):
    y, *kept = logs(ops, x)
    return ops.row_dots(weights, y), y, *kept


def entropy_pull(ops, g, weights, e, rest, largest):
    """The cotangent of `x` for that of every product `weights*L`."""
    return ops.by_rows(entropy_pull_rows, weights, e, rest, largest, g=g)


def entropy_pull_rows(ops, weights, e, rest, largest, g):
    return logs_pull(ops, weights * g, e, rest, largest)


def entropy_push(ops, t, weights, e, rest, largest):
    """The tangent of `sum(weights*L)` for that of `x`."""
    return ops.sum(ops.row_dots(weights, logs_push(ops, t, e, rest, largest)))


@operation()
class cross_entropy:
    """`cross_entropy(logits, target, axis, mean=True)`: `-sum(target*L)/N`, `L` the log-softmax of `logits` along
    `axis` and `N` the number of slices along it (`mean=False`: 1). `target` may be any weights; a weight 0 on an
    infinite `L` is NaN. Pullback: that of log-softmax for `-target*(g/N)`, without cancellation near one; target:
    `-L*(g/N)`. Shapes that are not equal: ValueError. An axis out of range: AxisError. A `mean` that is no bool:
    TypeError."""

    keeps = ("logs", "e", "rest", "largest", "n")

    def value(ops, logits, target, axis, mean=True):
        axis = checked("cross_entropy", "logits", logits, "target", target, axis)
        if not isinstance(mean, (bool, np.bool_)):
            raise TypeError(f"cross_entropy: mean is {mean!r}, expected True or False")
        n = slices(logits.shape, axis) if mean else 1
        return *entropy(ops, rows(ops, ops.floating(logits), axis), rows(ops, target, axis), n), n

    def shape(logits, target, axis, mean):
        return scalar(logits, target)

    def pull_logits(ops, g, target, axis, e, rest, largest, n):
        return unrows(ops, entropy_pull(ops, -(g / n), rows(ops, target, axis), e, rest, largest), target, axis)

    def pull_target(ops, g, target_like, axis, logs, n):
        return unrows(ops, logs * -(g / n), target_like, axis)

    def push_logits(ops, t, target, axis, e, rest, largest, n):
        return -entropy_push(ops, rows(ops, t, axis), rows(ops, target, axis), e, rest, largest) / n

    def push_target(ops, t, axis, logs, n):
        return -ops.sum(ops.row_dots(rows(ops, t, axis), logs)) / n

    samples = (
        (LOGITS, WEIGHTS, {"axis": 1}), (LOGITS, WEIGHTS, {"axis": 0, "mean": False}),
        (LOGITS.reshape(2, 2, 2), WEIGHTS.reshape(2, 2, 2), {"axis": -2}), (LOGITS[0], WEIGHTS[0], {"axis": 0}),
    )  # fmt: skip


@operation()
class distill:
    """`distill(student, teacher, axis)`: the cross entropy of `student` and softmax of `teacher` along `axis`, the mean
    over the slices along it. The teacher is detached: it gets no gradient and has no tangent. Shapes that are not
    equal: ValueError. An axis out of range: AxisError."""

    keeps = ("weights", "e", "rest", "largest", "n")
    reads = ("teacher",)

    def value(ops, student, teacher, axis):
        axis = checked("distill", "student", student, "teacher", teacher, axis)
        weights, n = even(ops, rows(ops, ops.floating(teacher), axis)), slices(student.shape, axis)
        loss, _, *kept = entropy(ops, rows(ops, ops.floating(student), axis), weights, n)
        return loss, weights, *kept, n

    def shape(student, teacher, axis):
        return scalar(student, like(teacher))

    def pull_student(ops, g, student_like, axis, weights, e, rest, largest, n):
        return unrows(ops, entropy_pull(ops, -(g / n), weights, e, rest, largest), student_like, axis)

    def push_student(ops, t, axis, weights, e, rest, largest, n):
        return -entropy_push(ops, rows(ops, t, axis), weights, e, rest, largest) / n

    samples = (
        (LOGITS, LOGITS[::-1] * 1.5, {"axis": 1}), (LOGITS, LOGITS[::-1] * 1.5, {"axis": 0}),
        (LOGITS[0], LOGITS[1], {"axis": -1}),
    )  # fmt: skip
