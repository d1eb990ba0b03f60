"""Results without a derivative, written in place: what they overwrite has none either, what they leave keeps its own.
And the order of errors: what the plain function raises comes before a refusal."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from checking import faithful

from autograd_frontend import record

X = np.array([1.3, 2.4, 3.6])


def plain_by_recorded(x):
    a = np.full(3, 7.0)
    a //= x
    return a * x


def recorded_by_plain(x):
    y = x * 7.0
    before = y * y
    y //= 2.0
    return y * x + before


def through_a_view(x):
    y = x * 7.0
    part = y[1:]
    part //= x[0]
    return y * x


def plain_array_that_holds_values(x):
    y = np.zeros(3)
    y[0] = x[0] * 3.0
    y[1:] = x[:2]
    y[:2] //= 0.7
    return y * x


def argument(x):
    x //= 0.5
    return x * 1.0


def by_operator(x):
    y = x * 7.0
    y = operator.ifloordiv(y, 2.0)
    y = operator.iadd(y, x)
    y = operator.imod(y, 5.1)
    return operator.ipow(y, 2.0)


def by_method(x):
    y = x * 7.0
    z = y.__ifloordiv__(2.0)
    return z * x + y


def product_by_operator(x):
    y = np.outer(x, x)
    operator.imatmul(y, np.arange(9.0).reshape(3, 3))
    return y


def masks(x):
    chosen = np.zeros(3, bool)
    chosen |= x > 2.0
    chosen ^= x > 3.0
    return x * chosen


def into_plain_buffers(x):
    mask, whole = np.empty(3, bool), np.empty(3)
    np.greater(x, 2.0, out=mask)
    np.floor(x, out=whole)
    return x * mask + whole * x


def vectorized_plain_data(x):
    step = np.vectorize(lambda k: 2.0 * k)
    return x * step(np.arange(3))


FUNCTIONS = [
    plain_by_recorded, recorded_by_plain, through_a_view, plain_array_that_holds_values, argument, by_operator,
    by_method, product_by_operator, masks, into_plain_buffers, vectorized_plain_data,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_value_and_gradient(f):
    faithful(f, X)


def integers_in_place(x):
    a = np.arange(3)
    a += x


def integers_divided(x):
    a = np.arange(3)
    a //= x


def integers_as_output(x):
    np.add(x, x, out=np.arange(3))


def bits(x):
    y = x * 1.0
    y |= True


def read_only(x):
    y = np.broadcast_to(x, (2, 3))
    y //= 2.0


def unknown_keyword(x):
    return np.sin(x, nonsense=1)


def axis_that_is_no_integer(x):
    return np.sum(x, axis=x[0])


def complex_of_an_array(x):
    return complex(x, 1.0)


FAILING = [
    integers_in_place, integers_divided, integers_as_output, bits, read_only, unknown_keyword,
    axis_that_is_no_integer, complex_of_an_array,
]  # fmt: skip


@pytest.mark.parametrize("f", FAILING, ids=lambda f: f.__name__)
def test_the_error_of_the_plain_function_comes_first(f):
    with pytest.raises(Exception) as plain:
        f(X.copy())
    with pytest.raises(plain.type) as recorded:
        record(f)(X.copy())
    assert str(recorded.value) == str(plain.value)
