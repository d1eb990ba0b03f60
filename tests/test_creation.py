"""Arrays of recorded numbers, copies, casts, and functions that write into arrays."""

from __future__ import annotations

import copy
from collections import namedtuple

import numpy as np
import oracle
import pytest

from autograd_frontend import RecordError, grad, record

Point = namedtuple("Point", "a b")
X = np.array([1.0, -2.0, 3.0])
M = np.array([[0.5, 1.5, -1.0], [2.0, -0.5, 1.0], [3.0, 0.25, -2.0]])


def check(f, *args):
    """Value bit for bit, arguments left as the plain call leaves them, gradient against differences."""
    plain, own = copy.deepcopy(args), copy.deepcopy(args)
    want = f(*plain)
    r = record(f)(*own)
    assert oracle.same_bits(r.value, want)
    assert oracle.same_bits(own, plain)
    weights = oracle.random_like(want, 0)
    got = r.pullback(weights)
    values, error = oracle.gradient(f, args, weights)
    assert error < 1e-6
    np.testing.assert_allclose(oracle.entries(got), values, rtol=1e-7, atol=1e-7)


def test_array_of_numbers():
    check(lambda a, b: np.array([a, 2.0, b * a]), 1.5, -0.5)
    check(lambda a, b: np.array(((a, 2), [b, a * b])), 1.5, -0.5)
    check(lambda a: np.array(a) * 2.0, 1.5)


def test_array_of_arrays_and_numbers():
    check(lambda a, x: np.array([x, [a, 0.0, a], x * a]), 1.5, X)
    check(lambda x: np.array([[v * i for v in x] for i in range(3)]), X)
    check(lambda x: np.array([x[:2], (x[2], 1.0)]), X)


def test_array_of_a_list_or_tuple_of_arguments():
    check(lambda v: np.array(v) ** 2, [1.0, 2.0, 3.0])
    check(lambda v: np.asarray(v)[:, 0], ((1.0, 2.0), (3.0, 4.0)))


def test_array_with_settings():
    check(lambda a, b: np.array([a, b], ndmin=3) * 2.0, 1.5, 2.5)
    check(lambda x: np.array(x, ndmin=2, copy=False) * x, X)
    assert record(lambda a: np.array([a, 1.0], dtype=np.float32))(1.5).value.dtype == np.float32
    assert record(lambda a: np.array([a, 1.0], dtype=int))(1.5).value.dtype == int


def test_arrays_in_fortran_order():
    check(lambda m: np.asfortranarray(m)[:, 0] * 2.0, M)
    check(lambda m: np.ascontiguousarray(m.T) * np.array(m, order="F"), M)
    check(lambda m: np.array([m.T, m * 2.0])[:, 1], M)


def test_recorded_values_in_an_object_array_are_refused():
    with pytest.raises(RecordError, match="object array"):
        record(lambda a: np.array([a, 1.0], dtype=object))(1.5)


def test_ragged_lists_raise_as_without_recording():
    with pytest.raises(ValueError, match="inhomogeneous"):
        record(lambda a: np.array([a, [a, a]]))(1.5)


def test_asarray_of_an_array_is_the_array():
    def f(x):
        y = np.asarray(x)
        assert y is x and np.asarray(x, np.float64) is x and np.array(x, copy=None) is x
        y[0] = 2.0 * x[1]
        return x * y

    check(f, X)


def test_an_array_is_a_copy():
    def f(x):
        y, z, w = np.array(x), x.copy(), np.copy(x)
        y[0] = 5.0 * x[2]
        z[1], w[2] = x[0], 0.0
        return x * y * z + w

    check(f, X)


def test_a_cast_casts_the_gradient_back():
    x = X.astype(np.float32)
    r = record(lambda x: (x.astype(np.float64) ** 2).astype(np.float16))(x)
    assert r.value.dtype == np.float16
    g = r.pullback(np.ones(3))
    assert g.dtype == np.float32 and np.array_equal(g, 2 * x)


def test_a_cast_to_integers_is_plain_data():
    same = record(lambda x: x.astype(int).astype(float) + x)(np.array([1.5, 2.5]))
    assert np.array_equal(same.value, [2.5, 4.5]) and np.array_equal(same.backward(), [1, 1])


def test_astype_without_a_copy_is_the_array():
    def f(x):
        y = x.astype(float, copy=False)
        y[0] = 7.0 * y[1]
        return x * 1.0

    check(f, X)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.longdouble])
def test_numbers_of_numpy(kind):
    r = record(lambda a: kind(a) * kind(2))(1.5)
    assert type(r.value) is kind and r.value == 3
    g = r.backward()
    assert type(g) is float and g == 2.0
    r = record(lambda x: kind(x).sum())(X)
    assert r.backward().dtype == float


def test_item_and_tolist():
    check(lambda m: m.item(2) * m.item(1, 1) + m[:1, :1].item(), M)
    check(lambda x: [v * i for i, v in enumerate(x.tolist())], X)
    check(lambda m: [float(row[0]) * row[1] for row in m.tolist()], M)
    assert type(record(lambda x: x.tolist()[0])(X.astype(np.float32)).value) is float
    check(lambda m: float(m[0, 1]) * float(np.array(m[0, 0])), M)


def test_full():
    check(lambda a: np.full(3, a) * np.full((2, 3), 2.0), 1.5)
    check(lambda x: np.full((2, 3), x), X)
    check(lambda x: np.full_like(M, x[0]) * np.full_like(x, 3.0), X)


def test_linspace():
    check(lambda a, b: np.linspace(a, b, 5) ** 2, 0.5, 2.0)
    check(lambda x: np.linspace(x, 2.0 * x + 1.0, 3, axis=-1), X)
    check(lambda a: np.linspace(a, stop=3.0, num=4, endpoint=False), 0.5)
    with pytest.raises(RecordError, match="linspace"):
        record(lambda a: np.linspace(a, 1.0, 3, retstep=True))(0.5)
    check(lambda a: a * np.linspace(0.0, 1.0, 3, retstep=True)[1], 0.5)


def test_atleast():
    check(lambda a, x: np.atleast_1d(a) * np.atleast_2d(x) * np.atleast_3d(x), 1.5, X)
    check(lambda a, x: [v * 2.0 for v in np.atleast_1d(a, x)], 1.5, X)


def test_select_and_choose():
    check(lambda x: np.select([x > 2, x > 0], [x * x, 3.0 * x], x[0]), X)
    check(lambda x: np.choose([0, 1, 0], [x, x * x]) + np.choose([5, -1, 0], (x, 2.0 * x), mode="wrap"), X)


def test_piecewise():
    check(lambda x: np.piecewise(x, [x < 0, x > 2], [lambda t: -t * x[0], lambda t: t**3, 0.5]), X)
    check(lambda x: np.piecewise(x, x > 0, [lambda t, k: t * k, 0.0], 3.0), X)


def test_flat():
    def f(m, x):
        m.flat[2] = x[0] * 2.0
        m.flat[[0, 4]] = x[1:]
        m.flat[6:] = 7.0
        y = m.T.flat[1:4]
        m[0] = x
        return y * m[0] * sum(v for v in m.flat)

    check(f, M, X)


def test_sequences_of_other_classes():
    check(lambda x: np.array(Point(x[0], 2.0 * x[1])) * x[2], X)
    check(lambda x: np.add(x[:2], Point(x[0], 1.0)), X)


def test_choices_are_kept_as_they_were():
    def f(x):
        mask = x > 0
        y, z = np.select([mask], [x * x], 0.0), np.where(mask, x, 2.0 * x)
        mask[:] = False
        return y + z

    check(f, X)


def test_copyto_and_fill():
    def f(x, a):
        y = np.zeros(3)
        np.copyto(y, x)
        z = np.ones((2, 3))
        np.copyto(z, y * 2.0, where=np.array([True, False, True]))
        x.fill(a)
        return z * x + y

    check(f, X, 1.5)


def test_put_place_and_putmask():
    def f(x, m):
        y = np.zeros(5)
        np.put(y, [0, -1], x[:2])
        y.put([1, 2], x[2])
        np.put(m, [0, 4, 8, 0], [x[0], x[1]], mode="wrap")
        np.place(y, y == 0, x * 10.0)
        np.putmask(m, m > 1.9, x * 3.0)
        return y, m * 1.0

    check(f, X, M)


def test_fill_diagonal_and_put_along_axis():
    def f(x, m):
        np.fill_diagonal(m, x)
        y = np.zeros((3, 3))
        np.fill_diagonal(y, x[1])
        np.put_along_axis(m, np.array([[1], [0], [2]]), x[:, None] * 7.0, 1)
        np.put_along_axis(y, np.array([1, 5]), x[0], None)
        return m * y + m

    check(f, X, M)


def test_add_at_accumulates():
    def f(x, m):
        y = np.zeros(4)
        np.add.at(y, [0, 0, 3], x)
        np.subtract.at(y, np.array([1, 1]), x[0])
        np.add.at(m, (slice(None), 1), x)
        np.add.at(m, (0, 0), 2.0)
        return y * y, m * m

    check(f, X, M)


def test_nan_to_num_in_place():
    def f(x):
        y = x * 2.0
        z = np.nan_to_num(y, copy=False)
        assert z is y
        y[0] = x[1]
        return z * x

    check(f, X)


def test_out_of_an_elementwise_operation():
    def f(x):
        y = np.empty(3)
        np.exp(x, out=y)
        np.multiply(y, x, y)
        np.clip(x, -1.0, 1.5, out=x)
        return x + y

    check(f, X)


def test_what_cannot_be_recorded_is_refused_by_name():
    for f, name in ((lambda x: x.resize(1), "resize"), (lambda x: np.multiply.at(x, 0, 2.0), "at"),
                    (lambda x: np.exp(x, where=x > 0), "where")):  # fmt: skip
        with pytest.raises(RecordError, match=name):
            record(f)(X.copy())


def test_a_large_list_of_numbers_takes_linear_time():
    n = 3000
    g = grad(lambda x: np.array([v * 2.0 for v in x]).reshape(3, -1).T.sum())(np.ones(n))
    assert np.array_equal(g, np.full(n, 2))
