"""Reading and writing of entries: every form of index, repeated ones, masks, overlaps, swaps."""

from __future__ import annotations

import numpy as np
import pytest
from checking import faithful

from autograd_frontend import RecordError, record

X = np.cos(np.arange(24.0)).reshape(2, 3, 4)
V = np.array([0.5, -1.0, 2.0, 3.0, -0.5, 1.5])
MASK = X[0] > 0.0

INDICES = {
    "integer": 1,
    "negative": -1,
    "numpy_integer": np.int64(1),
    "integers": (1, 2, 3),
    "some_integers": (0, -1),
    "slice": slice(1, None),
    "steps": (slice(None), slice(None, None, 2)),
    "backwards": (slice(None, None, -1), slice(2, 0, -1), slice(None, None, -2)),
    "ellipsis": Ellipsis,
    "ellipsis_last": (Ellipsis, 2),
    "ellipsis_between": (0, Ellipsis, slice(1, 3)),
    "newaxis": None,
    "newaxes": (slice(None), None, 1, None),
    "mask": np.cos(X) > 0.6,
    "mask_of_part": MASK.any(axis=1)[:2],
    "mask_behind": (slice(None), MASK),
    "mask_list": [True, False],
    "mask_and_slice": (slice(None), np.array([True, False, True]), slice(1, 3)),
    "nothing_masked": np.zeros((2, 3, 4), bool),
    "mask_of_all": True,
    "mask_of_none": False,
    "array": np.array([1, 0, 1]),
    "list": [0, 0],
    "arrays": ([0, 1, 1], [2, 0, 2]),
    "arrays_that_broadcast": (np.array([[0], [1]]), np.array([2, 0])),
    "array_and_slice": (slice(None), [2, 0, 0], slice(None, 2)),
    "arrays_apart": (np.array([0, 1]), slice(None), np.array([3, 3])),
    "array_and_integer": (np.array([1, 1, 0]), 2),
    "negative_array": np.array([-1, -2]),
    "array_of_rank_0": np.array(1),
    "empty_slice": slice(5, 9),
    "empty_array": np.array([], int),
    "mask_and_array": (np.array([True, False]), slice(None), [0, 0]),
    "ix": np.ix_([0, 1], [2, 0], [1, 1]),
    "empty_tuple": (),
}
every = pytest.mark.parametrize("index", INDICES.values(), ids=list(INDICES))


@every
def test_read(index):
    faithful(lambda x: np.sin(x[index]), X)


@every
def test_read_of_a_view(index):
    faithful(lambda x: np.sin(x.T[::-1].T[index] * 2.0), X)


@every
def test_write_of_a_number(index):
    def f(x, s):
        y = np.sin(x)
        before = y * y
        y[index] = s
        return y * x + before

    faithful(f, X, 0.7)


@every
def test_write_of_an_array(index):
    shape = X[index].shape

    def f(x, w):
        y = x * 2.0
        y[index] = w * w
        return y * x

    faithful(f, X, np.sin(np.arange(np.prod(shape, dtype=int) + 0.0)).reshape(shape) if shape else 0.3)


@every
def test_write_of_plain_numbers(index):
    def f(x):
        y = np.sin(x)
        z = y * y
        y[index] = 2.5
        return y * z

    faithful(f, X)


@every
def test_update(index):
    def f(x, s):
        y = np.sin(x)
        y[index] *= s
        y[index] += x[index]
        return y * y

    faithful(f, X, 0.7)


@every
def test_write_into_a_plain_array(index):
    def f(x):
        y = np.zeros((2, 3, 4))
        part = y[:, 1]
        y[index] = x[index]
        part[...] = part * 2.0
        return y, part

    faithful(f, X)


@every
def test_write_into_an_argument(index):
    def f(x, s):
        x[index] = s * x[index]
        return x * x

    faithful(f, X, 1.3)


@every
def test_write_into_a_view(index):
    def f(x):
        y = x * 1.0
        v = y.transpose(1, 0, 2)[::-1]
        z = np.exp(v)
        y.transpose(1, 0, 2)[::-1].transpose(1, 0, 2)[index] = 0.5
        return v * z + y.transpose(1, 0, 2)

    faithful(f, X)


def test_entries_of_rank_0():
    def f(s):
        y = np.array(s)
        y[()] = y[()] * 2.0
        y[...] = y[...] ** 2 + s
        return y[()] + y

    faithful(f, 0.7)


def test_a_broadcast_write_sums():
    def f(x, row, column):
        y = x * 1.0
        y[0] = row
        y[1] = column
        y[:, :, 1:2] = row[0]
        return y * y

    faithful(f, X, V[:4], V[:3, None])


def test_a_value_with_more_axes_than_the_place():
    def f(x, v):
        x[0, 0] = v
        x[0] = v[None]
        return x * x

    faithful(f, X, V[None, None, :4])


def test_repeated_indices_of_a_write_the_last_wins():
    def f(x, v):
        x[[1, 0, 1, 1]] = v
        return x

    g = faithful(f, np.zeros(3), np.array([1.0, 2.0, 3.0, 4.0]))
    assert g.v.tolist()[0] == g.v.tolist()[2] == 0.0


def test_repeated_indices_of_an_update_count_once():
    def f(x, v):
        x[[1, 0, 1]] += v
        return x

    faithful(f, np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0, 7.0]))


def test_index_changed_after_use():
    def f(x):
        i = np.array([0, 1])
        y = x[i]
        z = x.take(i)
        x[i] = 1.0
        i[:] = 2
        return y * z * x[:2]

    faithful(f, V)


def test_captured_index_changed_after_the_call():
    i = np.array([0, 1])
    result = record(lambda x: x[i] * x.take(i))(V)
    i[:] = 2
    assert result.backward().tolist() == [1.0, -2.0, 0.0, 0.0, 0.0, 0.0]


def test_an_array_that_gathers_nothing_has_no_gradient():
    g = record(lambda x: x[5:] * 2.0)(V[:3]).backward()
    assert g.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_element_types(dtype):
    def f(x, s):
        y = x * 2
        y[1] = s
        y[2:] = s * y[:2]
        return y

    result = record(f)(V[:4].astype(dtype), 0.3)
    g = result.pullback(np.ones(4, dtype))
    assert result.value.dtype == g.x.dtype == dtype
    assert type(g.s) is float
    assert np.allclose(g.s, 1.0 + 0.6 + 1.0 - 0.0, atol=2e-3) or dtype
    assert np.allclose(np.array(g.x, float), [2.0 + 0.6, 0.0, 0.0, 0.0], atol=2e-3)


def test_narrow_reads_do_not_narrow_the_gradient_of_a_float():
    def f(s):
        y = np.zeros(1, np.float32)
        y[0] = s
        return s / 3.0 + 0.0 * float(y[0])

    assert record(f)(1.0).backward() == 1.0 / 3.0


def test_wrong_indices_raise_what_numpy_raises():
    for index in (7, (0, 0, 0, 0), slice(None), "a", 1.5, np.array([9]), np.array([True, False])):
        try:
            X[0, 0][index]
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                record(lambda x: x[0, 0][index])(X)
            assert str(caught.value) == str(error)
    with pytest.raises(ValueError, match="could not broadcast"):
        record(lambda x: x.__setitem__(slice(2), x[:3]) or x)(V)


def test_an_integer_array_does_not_take_a_recorded_value():
    def f(x):
        a = np.zeros(3, int)
        a[0] = x[0]
        return a

    with pytest.raises(RecordError, match="lose its derivative"):
        record(f)(V)
