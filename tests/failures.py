"""Functions that raise; test_misuse.py compares what a recording of them raises."""

from __future__ import annotations

import math

import numpy as np


class Broken(Exception):
    def __init__(self, value, code):
        super().__init__(value, code)
        self.value = value


def domain(x):
    return math.sqrt(x[0] - 5.0)


def logarithm(x):
    return math.log(-x[0])


def overflow(x):
    return math.exp(1000.0 * x[0])


def zero_division(x):
    return 1.0 / (float(x[0]) - 1.0)


def integer_zero_division(x):
    return x[1 // 0]


def index(x):
    return x[7]


def key(x):
    return {"a": x}["b"]


def attribute(x):
    return x.nonsense


def attribute_of_a_number(x):
    return x[0].nonsense


def attribute_of_a_float(x):
    return float(x[0]).nonsense


def not_callable(x):
    return x(3)


def not_iterable(x):
    for _ in x[0]:
        pass


def no_length(x):
    return len(x[0])


def unhashable(x):
    return {x: 1}


def not_an_index(x):
    return [1, 2][x[0]]


def not_a_count(x):
    return range(x[0])


def ambiguous(x):
    return 1.0 if x else 2.0


def misshapen(x):
    return x + np.ones(4)


def misaligned(x):
    return x @ np.ones((2, 2))


def wrong_types(x):
    return float(x[0]) + "a"


def text_first(x):
    return "a" + x[0]


def unordered(x):
    return x[0] < "a"


def too_many(x):
    a, b = x
    return a + b


def undefined(x):
    return x * never_defined  # noqa: F821


def unbound(x):
    if x[0] > 5:
        y = x
    return y


def missing_argument(x):
    def inner(a, b):
        return a + b

    return inner(x)


def read_only(x):
    y = np.broadcast_to(x, (2, 3))
    y[0, 0] = x[1]
    return y


def read_only_in_place(x):
    y = np.broadcast_to(x, (2, 3))
    y += 1.0
    return y


def tuple_assignment(x):
    (1, 2)[0] = x


def assertion(x):
    assert x[0] > 5.0, f"too small: {x[0]:.1f}"


def own_exception(x):
    raise Broken(x[0], 7)


def from_another(x):
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise ValueError("outer") from error


def deep(x):
    def inner(v):
        return [w / zero(w) for w in v]

    def zero(w):
        return 0 if w > 2.0 else {}["deep"]

    return inner(x)


def singular(x):
    return np.linalg.inv(np.outer(x, x) * 0.0)


def indefinite(x):
    return np.linalg.cholesky(-np.eye(3) * x)


def exits(x):
    raise SystemExit(3)


def interrupted(x):
    raise KeyboardInterrupt


def endless(x):
    return endless(x)


FAILURES = [
    domain, logarithm, overflow, zero_division, integer_zero_division, index, key, attribute, attribute_of_a_number,
    attribute_of_a_float, not_callable, not_iterable, no_length, unhashable, not_an_index, not_a_count, ambiguous,
    misshapen, misaligned, wrong_types, text_first, unordered, too_many, undefined, unbound, missing_argument,
    read_only, read_only_in_place, tuple_assignment, assertion, own_exception, from_another, deep, singular,
    indefinite, exits, interrupted, endless,
]  # fmt: skip
