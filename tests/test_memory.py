"""Memory that is written: what was saved from it, other names and views of it, arguments and captured arrays."""

from __future__ import annotations

import time

import numpy as np
import pytest
from checking import faithful

from autograd_frontend import RecordError, record

X = np.cos(np.arange(24.0)).reshape(2, 3, 4)
V = np.array([0.5, -1.0, 2.0, 3.0, -0.5, 1.5])


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


def test_setting_the_shape_in_place():
    def plain(x):
        a = np.zeros(6)
        a[:] = x
        a.shape = (2, 3)
        a[1, 0] = x[5]
        return a[0] * a[1]

    def recorded(x):
        y = x * 2.0
        y.shape = (2, 3)
        return y

    faithful(lambda x: plain(x) * 1.0, V)
    with pytest.raises(RecordError, match="shape of a recorded array is set"):
        record(recorded)(V)


def test_memory_seen_through_a_buffer():
    def f(x):
        a = np.zeros(6)
        b = np.frombuffer(a.data)
        a[:] = x
        return b * b

    faithful(f, V)


def test_entries_one_after_the_other():
    def f(x):
        y = x.reshape(2, 3) * 1.0
        total = 0.0
        for (i, j), v in np.ndenumerate(y):
            total = total + v * v * (i + 2.0 * j)
            y[i, j] = total
        for v in y.flat:
            total = total * v
        for row in y.T:
            total = total + row[0]
        y.T.flat[1] = x[0]
        return total, y

    faithful(f, V)


def test_methods_that_write():
    def f(x):
        y = x * 2.0
        before = y * y
        y.fill(x[0])
        y.put([1, 1], [x[1], x[2]])
        np.put(y, [2], x[3])
        np.copyto(y[3:], x[:3])
        z = np.ones(3)
        w = z * x[:3]
        z.fill(3.0)
        z.sort()
        return before, y * x, w, z * x[:3]

    faithful(f, V)
