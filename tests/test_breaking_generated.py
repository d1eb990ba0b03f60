"""Defects that random programs and mutants of real functions found, shrunk."""

from __future__ import annotations

import copy
import math
import operator
from fractions import Fraction

import numpy as np
import pytest

from autograd_frontend import RecordError, grad, hvp, record, vjp

from . import oracle
from .checking import faithful

VECTOR = np.array([0.5, -1.2, 2.0])


def same_error(function, *args):
    """What the plain call and the recorded one raise, of the same type."""
    with pytest.raises(Exception) as plain:
        function(*copy.deepcopy(args))
    with pytest.raises(Exception) as recorded:
        record(function)(*copy.deepcopy(args))
    assert recorded.type is plain.type, recorded.value
    return str(recorded.value), str(plain.value)


def delete(x):
    del x[0]
    return x


def copy_to(x):
    np.copyto(x, 1.0)
    return x


def add_at(x):
    np.add.at(x, [0, 0], 0.3)
    return x


@pytest.mark.parametrize("function", [delete, copy_to, add_at])
@pytest.mark.parametrize("x", [1.5, np.float64(1.5)])
def test_writing_into_a_number_raises_what_python_raises(function, x):
    recorded, plain = same_error(function, x)
    assert recorded == plain


def test_deleting_an_entry_of_an_array_raises_what_numpy_raises():
    assert same_error(delete, VECTOR)[1] == "cannot delete array elements"


def test_fill_of_a_numpy_number_does_nothing():
    def f(x):
        y = x[0] * 2.0
        y.fill(9.0)
        return y

    result = record(f)(VECTOR)
    assert result.value == 1.0
    assert result.backward().tolist() == [2.0, 0.0, 0.0]


class Odd:
    def __init__(self, v):
        self.v = v

    def __bool__(self):
        return self.v


def test_a_bool_method_that_gives_something_else():
    def f(x):
        return 1.0 if Odd(x) else x

    assert same_error(f, 0.5)[0] == "__bool__ should return bool, returned float"


class Stepping:
    def __init__(self, v):
        self.v = v

    def __next__(self):
        return self.v


def test_an_iterator_that_is_not_iterable():
    def f(x):
        return sum(t for t in Stepping(x))

    same_error(f, 0.5)


def of_pair(x):
    return abs((x, x))


def negative_of_list(x):
    return operator.neg([x])


def hypot_of_list(x):
    return math.hypot([x], 1.0)


@pytest.mark.parametrize("function", [of_pair, negative_of_list, hypot_of_list])
def test_functions_of_python_take_no_lists(function):
    recorded, plain = same_error(function, 0.5)
    assert recorded == plain


def test_norm_along_an_axis_given_as_a_float():
    def f(x):
        return np.linalg.norm(x[None], axis=1.0)

    np.testing.assert_allclose(record(f)(VECTOR).backward(), VECTOR / np.linalg.norm(VECTOR))


def test_interpolation_in_a_table_that_does_not_increase_is_refused():
    def f(x):
        return np.interp(0.3, np.array([4.0, 1.0, 2.5]), x)

    with pytest.raises(RecordError, match="do not increase"):
        record(f)(VECTOR).backward()


def test_what_is_saved_of_a_transposed_argument_keeps_its_layout():
    def f(x, y):
        return x @ np.sin(x @ y.T)

    def slope(x, y):
        _, pull = vjp(f, x, y)
        return pull(1.0)

    rng = np.random.default_rng(5)
    for _ in range(20):
        x, y = rng.normal(size=3), rng.normal(size=(3, 3))
        inside, outside = record(slope)(x, y).value, record(f)(x, y).pullback(1.0)
        assert oracle.same_bits(tuple(inside), tuple(outside))


def flat_set(x):
    y = x * x
    y.flat = np.sin(y)
    return y


def flat_set_of_a_plain_array(x):
    y = np.zeros(3)
    y[0] = x[0]
    y[1] = x[1]
    y.flat = [0.5 * x[2]]
    return y * x


def flat_set_to_a_constant(x):
    y = np.zeros(3)
    y[0] = x[0]
    y.flat = 0.5
    return y + x


def flat_set_in_a_cycle(x):
    y = np.ones((2, 3)) * x
    y.T.flat = x[:2]
    return y


@pytest.mark.parametrize("function", [flat_set, flat_set_of_a_plain_array, flat_set_to_a_constant, flat_set_in_a_cycle])
def test_setting_flat_writes_every_entry(function):
    expected = function(VECTOR.copy())
    result = record(function)(VECTOR.copy())
    assert oracle.same_bits(result.value, expected)
    weights = oracle.random_like(expected, 3)
    slopes, error = oracle.gradient(function, (VECTOR,), weights)
    assert error < 1e-6
    np.testing.assert_allclose(result.pullback(weights), slopes, atol=1e-6)


def larger_than_a_fraction(x):
    return max(x, Fraction(1, 2)) * 1.5


def sorted_with_a_fraction(x):
    return sorted([x * x, Fraction(1, 3), x])[-1]


def equal_to_a_fraction(x):
    return x * 2.0 if Fraction(1, 2) in [x, 3.0] else x


@pytest.mark.parametrize("function", [larger_than_a_fraction, sorted_with_a_fraction, equal_to_a_fraction])
@pytest.mark.parametrize("x", [0.5, 1.75, Fraction(7, 4)])
def test_a_plain_fraction_is_compared_with_a_recorded_number(function, x):
    result = record(function)(x)
    assert oracle.same_bits(result.value, function(x))
    slope = (function(x + type(x)(1e-6)) - function(x)) / 1e-6
    if x != 0.5:
        assert math.isclose(result.backward(), slope, rel_tol=1e-4)


def squeezed(x):
    return np.sum(x * np.squeeze(np.sum(x * x)))


def reshaped_entry(x):
    return np.sum(x * np.reshape(x[0] * x[1], ()) + np.transpose(x[2]) * x)


def copied_entry(x):
    return np.sum(np.copy(np.sqrt(x @ x)) * x * np.asarray(x[0]))


@pytest.mark.parametrize("function", [squeezed, reshaped_entry, copied_entry])
def test_the_cotangent_of_an_array_operation_that_gives_a_number(function):
    slopes, error = oracle.gradient(function, (VECTOR,), 1.0)
    assert error < 1e-6
    np.testing.assert_allclose(record(function)(VECTOR).backward(), slopes, atol=1e-7)
    step = 1e-5 * np.array([0.3, -1.0, 0.5])
    second = (grad(function)(VECTOR + step) - grad(function)(VECTOR - step)) / 2e-5
    np.testing.assert_allclose(hvp(function)(VECTOR, step * 1e5), second, atol=1e-6)


def looped(how):
    def f(x):
        b = np.array([1.0, 2.0])
        s = 0.0
        for t in how(b):
            b += x
            s = s + (t[1] if isinstance(t, tuple) else t)
        return s

    return f


LOOPS = {
    "plainly": lambda b: b, "enumerate": enumerate, "zip": lambda b: zip(b, b), "reversed": reversed,
    "map": lambda b: map(lambda t: t, b), "flat": lambda b: b.flat,
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_an_array_that_becomes_recorded_while_it_is_looped_over(name):
    faithful(looped(LOOPS[name]), 0.5)
