"""Programs with arrays that once recorded wrongly, one law per test."""

from __future__ import annotations

import copy
import functools
import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from checking import faithful

from autograd_frontend import RecordError, record

X = np.array([0.5, -1.25, 2.0, 0.75])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.8


@pytest.mark.parametrize(
    "same",
    [
        lambda y: np.float64(y),
        lambda y: y.conj(),
        lambda y: y.conjugate(),
        lambda y: np.linalg.matrix_power(y.reshape(2, 2), 1),
    ],
)
def test_a_call_that_hands_its_array_back_shares_its_cotangent(same):
    def f(x):
        y = x * 1.0
        z = same(y)
        y *= 3.0
        z[0] = 2.0
        return [y * y, z]

    faithful(f, X)


def test_a_tuple_inside_an_index_is_an_index_array_that_may_repeat():
    faithful(lambda x: [x[(0, 0, 1), (1, 1, 2)], x[((0, 0, 2),)], x[range(2), range(2)]], M)

    def f(x):
        y = x * 1.0
        y[(0, 0, 1), (1, 1, 2)] = x[2, :3]
        y[((0, 0),)] *= 2.0
        np.add.at(y, ((0, 0, 1), (1, 1, 2)), x[0, :3])
        return y

    faithful(f, M)


def test_an_empty_list_is_an_index_of_nothing():
    def f(x):
        y = x * 1.0
        y[[]] = 3.0
        y[[], 1] *= 2.0
        y[[]] += x[1]
        np.add.at(y, [], x[0, 0])
        return [y, x[[]], x[:, []], x[[], 1]]

    faithful(f, M)


def test_a_wrong_index_of_add_at_raises_what_numpy_raises():
    def f(x):
        y = x * 1.0
        np.add.at(y, [0.5], x[0])
        return y

    with pytest.raises(IndexError):
        record(f)(X)


def test_functions_made_of_others_see_what_a_plain_array_holds():
    def f(x):
        z = np.zeros(4)
        z[:] = x
        entries = [v for _, v in np.ndenumerate(z)]
        return [*np.unstack(z), entries[0] * entries[1], np.split(z, 2)[1] * 1.0, np.block([z, x])]

    faithful(f, X)


def test_operator_functions_join_and_repeat_sequences():
    faithful(lambda a, b: functools.reduce(operator.add, [a, b, a]), [1.5, 2.5], [0.5])
    faithful(lambda a, b: [operator.add(a, (b,)), operator.mul(a, 2), operator.mul(a[0], b)], (1.5, 2.5), 0.5)


def test_a_numpy_float_times_a_list_raises():
    with pytest.raises(TypeError, match="can't multiply sequence by non-int"):
        record(lambda x: x[0] * list(x))(X)


def test_the_value_of_a_step_at_zero_has_a_derivative():
    z = np.array([-1.0, 0.0, 0.0, 2.0])
    faithful(lambda x, h: [np.heaviside(z, x), np.heaviside(z, h), np.heaviside(x, h)], X, 0.25)


def test_what_is_written_may_be_given_by_keyword():
    def f(x):
        y, z = np.zeros(4), np.zeros((2, 2))
        np.copyto(src=x, dst=y)
        np.put(a=y, ind=[0, 2], v=x[:2])
        np.place(arr=y, mask=X > 1.0, vals=x[:1])
        np.fill_diagonal(a=z, val=x[:2])
        return [y * x, z]

    faithful(f, X)


@pytest.mark.parametrize(
    "use",
    [
        lambda x, k: np.delete(x, k),
        lambda x, k: np.insert(x, k, 1.5),
        lambda x, k: np.take(x, k),
        lambda x, k: x[k],
        lambda x, k: np.einsum("i,i->i", x[:3], k),
        lambda x, k: np.convolve(x, k),
        lambda x, k: np.kron(k, x),
        lambda x, k: np.linalg.multi_dot([[k, k], np.outer(x[:3], x), x]),
        lambda x, k: np.select([[True, False, True]], [x[:3]], k),
    ],
)
def test_a_list_changed_after_use_does_not_change_the_gradient(use):
    def f(x):
        k = [0, 0, 2]
        y = use(x, k)
        k[0] = 3
        k[1] = 1
        return y * y

    faithful(f, X)


@pytest.mark.parametrize("call", [lambda x, k: np.einsum("...,...->...", x, k), lambda x, k: np.insert(x, 1, k)])
def test_a_tuple_of_numbers_is_an_operand(call):
    faithful(lambda x: call(x, (1.0, 2.0, 3.0, 4.0)), X)


def test_an_array_of_rank_0_is_written_through_flat_and_put():
    def f(x, s):
        a = np.array(x)
        a.flat[:] = s * x
        b = np.zeros(())
        np.put(b, [0], s)
        b.flat[0] *= x
        c = np.zeros((2, 2))[0, 0, ...]
        c.flat[-2:] = x
        return [a * a, b, c, a.flat[0] * 2.0]

    faithful(f, np.array(1.5), 0.75)


def test_a_power_in_place_of_rank_0_takes_the_rule_at_zero():
    def f(x):
        a = np.zeros(())
        a **= x
        return a * 2.0

    assert record(f)(np.array(1.5)).backward() == 0.0


@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.float32(1.5), Fraction(3, 2)])
def test_a_number_takes_no_item(x):
    def f(x):
        x[0] = 2.0
        return x

    with pytest.raises(TypeError) as plain:
        f(copy.copy(x))
    with pytest.raises(TypeError) as recorded:
        record(f)(x)
    assert str(recorded.value) == str(plain.value)


def test_fill_takes_one_number():
    def f(x):
        y = np.zeros(4)
        y.fill(x)
        return y

    with pytest.raises(ValueError, match="sequence"):
        record(f)(X)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_shape_of_a_plain_array_may_be_set_after_use():
    def f(x):
        c = np.arange(1.0, 5.0).reshape(4, 1)
        y = x * c * x[:, None]
        c.shape = (1, 4)
        return y * c

    faithful(f, X)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_shape_of_an_array_that_holds_recorded_values_may_be_set_between_its_uses():
    def f(x):
        z, w = np.zeros((2, 2)), np.zeros(4)
        z[...] = x.reshape(2, 2)
        w[:] = x
        y, q, v = z * z, np.exp(z), w[1:3]
        z.shape = (-1,)
        z[1] *= 2.0
        u = v * z[1:3]
        w.shape = (2, 2)
        w[0] += z[:2]
        return [y, q, z, v * v, w * w, u]

    faithful(f, X)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_element_type_of_an_array_that_holds_recorded_values_is_not_set():
    def f(x):
        z = np.zeros(4)
        z[:] = x
        z.dtype = np.int64
        return x * z

    with pytest.raises(RecordError, match="astype"):
        record(f)(X)


@pytest.mark.parametrize("other", [np.float32(0.5), np.longdouble(0.5), 0.5])
@pytest.mark.parametrize("x", [Fraction(3, 2), Decimal("1.5")])
def test_exact_numbers_mix_with_floats_where_python_lets_them(x, other):
    gradient = record(lambda x, y: math.hypot(x, y) + math.pow(x, y))(x, other).backward()
    wanted = record(lambda x, y: math.hypot(x, y) + math.pow(x, y))(1.5, 0.5).backward()
    assert [type(g) for g in gradient] == [type(x), type(other)]
    assert np.allclose([float(g) for g in gradient], wanted, rtol=1e-6)
