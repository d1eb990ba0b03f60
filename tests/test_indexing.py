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


def test_swaps():
    def f(x, i, j):
        x[[i, j]] = x[[j, i]]
        x[0], x[1] = x[1] * 2.0, x[0] * 1.0
        x[2], x[3] = x[3], x[2]
        x[::2], x[1::2] = x[1::2], x[::2].copy()
        return x * x

    faithful(f, V, 0, 4)


def test_swap_of_row_views_leaves_both_equal():
    def f(x):
        y = x * 1.0
        y[0], y[1] = y[1], y[0]
        return y * y

    faithful(f, X)


def test_overlapping_slices():
    def f(x):
        x[1:] += x[:-1]
        x[:-2] = x[2:]
        x[1:] = x[:-1]
        x[::-1] -= x
        return x * x

    faithful(f, V)


def test_stencil_in_a_loop():
    def f(x, k):
        for _ in range(5):
            x[1:-1] = x[1:-1] + k * (x[2:] - 2.0 * x[1:-1] + x[:-2])
            x[0] = x[1]
            x[-1] *= x[0]
        return x * x

    faithful(f, V, 0.2)


def test_saved_then_written():
    def f(x):
        y = np.exp(x)
        z = y * y
        w = z[2:] * y[:-2]
        y[1] = 5.0
        z[...] = y
        y += z
        return w * y[2:], z

    faithful(f, V)


def test_rows_kept_in_lists():
    def f(x):
        a = np.zeros((3, 4))
        rows = [a[i] for i in range(3)]
        early = a[:, 1]
        rows[1][:] = x[:4]
        rows[0][2] = x[5]
        a[2] = rows[1] * rows[0][2]
        late = a[:, 2]
        early *= 2.0
        return rows[2] * a[1] + early[2] + late[0]

    faithful(f, V)


def test_lists_with_recorded_entries():
    def f(x):
        a = np.zeros((2, 3))
        a[0] = [x[0], 2.0, x[1] * x[2]]
        a[1] = x[3:].tolist() if False else (x[3], 0.0, x[4])
        a[:, 1] = [x[5], [1.0][0]]
        a[0, :2] += [x[0], x[0]]
        return a * a

    faithful(f, V)


def test_entry_by_entry():
    def f(x):
        y = np.empty(6)
        y[0] = x[0]
        for i in range(1, 6):
            y[i] = y[i - 1] * x[i] + y[0]
            y[0] += 0.1 * x[i]
        return y[-1] * y[0], y

    faithful(f, V)


def test_captured_array():
    table = np.array([1.0, 2.0, 3.0])

    def f(x):
        y = table * x[:3]
        z = table.copy()
        z[1] = x[4]
        return y @ z

    faithful(f, V)
    assert table.tolist() == [1.0, 2.0, 3.0]


def test_captured_buffer_is_written():
    buffer = np.zeros(3)

    def f(x):
        buffer[:] = 1.0
        first = buffer * x[:3]
        buffer[1] = x[0]
        buffer[2] = buffer[1] * x[1]
        return buffer * first

    faithful(f, V)
    assert buffer.tolist() == [1.0, 0.5, -0.5]


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


def test_two_names_of_one_argument_are_not_written():
    def f(x, y):
        x[0] = 1.0
        return x * y

    a = V.copy()
    with pytest.raises(RecordError, match="share the memory"):
        record(f)(a, a)
    with pytest.raises(RecordError, match="share the memory"):
        record(f)(a[:4], a[2:])


def test_an_argument_under_its_outer_name_is_not_written():
    a = V.copy()

    def plain(x):
        a[0] = 5.0
        return x * 2.0

    def recorded(x):
        a[0] = x[1]
        return x * 2.0

    for f in (plain, recorded):
        with pytest.raises(RecordError, match="shares its memory with an argument"):
            record(f)(a)


def test_a_part_of_an_outer_array_is_written_as_an_argument():
    whole = V.copy()

    def f(x):
        x[0] = x[1] * 2.0
        return x * x

    def g(x):
        x[0] = x[1] * 2.0
        return x * whole[2]

    assert record(f)(whole[2:4]).backward().tolist() == [0.0, 8 * 3.0 + 6.0 + 0.0 * 24]
    with pytest.raises(RecordError, match="written through an argument"):
        record(g)(whole[2:4])


def test_an_argument_with_overlapping_entries():
    windows = np.lib.stride_tricks.sliding_window_view(V, 3)
    g = record(lambda x: x[0] * x[1])(windows).backward()
    assert g[0].tolist() == V[1:4].tolist() and g[1].tolist() == V[:3].tolist() and not g[2:].any()


def test_a_long_chain_of_views():
    def f(x):
        rest, total = x, 0.0
        while len(rest):
            total = total + rest[0] * rest[-1]
            rest = rest[1:]
        y = x * 1.0
        for _ in range(5000):
            y = y.T[::-1]
        y[0] = total
        return y

    x = np.cos(np.arange(3000.0))
    g = record(f)(x).backward()
    assert np.allclose(g[1:-1], 1.0 + x[-1]) and np.isclose(g[-1], 1.0 + x.sum() + x[-1])


def test_writes_cost_what_they_write():
    import time

    def f(x):
        for i in range(2000):
            x[i] = x[i - 1] * 0.5
        return x[7]

    def seconds(n):
        x = np.ones(n)
        start = time.perf_counter()
        record(f)(x).backward()
        return time.perf_counter() - start

    seconds(3000)
    assert min(seconds(1_000_000) for _ in range(3)) < 10 * min(seconds(3000) for _ in range(3)) + 0.05
