"""Branches, sharing, captured constants, deep recursion, long loops."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc

import numpy as np
import pytest

from autograd_frontend import record

from . import oracle

FACTOR = 2.0
TABLE = np.array([1.0, 2.0])


def forbidden(*_):
    raise AssertionError("evaluated on a path that was not taken")


def test_what_is_not_taken_is_not_evaluated():
    def f(x):
        if x > 1.0:
            y = x * x
        else:
            y = forbidden(x)
        z = y if y > 0.0 else forbidden(y)
        w = x > 5.0 and forbidden(x)
        v = x < 5.0 or forbidden(x)
        while x < 0.0:
            forbidden(x)
        for _ in ():
            forbidden(x)
        try:
            u = x * 3.0
        except ValueError:
            u = forbidden(x)
        match x:
            case float(s) if s < 0.0:
                z = forbidden(s)
        return z + u + (1.0 if v and not w else forbidden(x)) + (0.0 if 9.0 < x < forbidden else 0.0)

    assert record(f)(2.0).backward() == 7.0


def test_a_value_bound_once_is_one_node():
    def shared(x):
        y = x * x
        return y * y + y

    def repeated(x):
        return (x * x) * (x * x) + x * x

    assert len(record(shared)(3.0).tape) == 3
    assert len(record(repeated)(3.0).tape) == 5
    assert record(shared)(3.0).backward() == record(repeated)(3.0).backward() == 114.0


def test_a_helper_called_twice_is_recorded_twice_and_only_what_ran_is():
    def helper(x):
        return x * x * x if x > 2.0 else x * x

    f = record(lambda x: helper(x) + helper(x - 2.0))
    assert [row[1] for row in f(3.0).tape.rows] == ["mul", "mul", "sub", "mul", "add"]
    assert f(3.0).backward() == 29.0


def test_plain_arithmetic_is_not_recorded():
    def f(x):
        n = sum(i * i for i in range(100))
        a = np.ones((3, 3)) @ np.arange(3.0)
        return x * n * a.sum()

    assert len(record(f)(2.0).tape) == 2


def test_each_call_sees_the_captured_values_of_that_moment():
    global FACTOR
    local, box = 5.0, {"k": 1.0}

    def f(x):
        return (x * FACTOR * local * box["k"] * TABLE).sum()

    g = record(f)
    assert g(1.0).backward() == 30.0
    try:
        FACTOR, local = 3.0, 7.0
        box["k"], TABLE[0] = 2.0, 0.0
        assert g(1.0).value == 84.0 and g(1.0).backward() == 84.0
    finally:
        FACTOR, TABLE[0] = 2.0, 1.0


def test_a_captured_value_has_the_state_of_the_call_when_backward_runs():
    scale = np.array([2.0, 3.0])
    result = record(lambda x: x * scale)(np.ones(2))
    scale[:] = 100.0
    assert result.backward().tolist() == [2.0, 3.0]


def test_a_helper_defined_again_is_recorded_again():
    def make(text):
        space = {}
        exec(compile(text, "<helper>", "exec"), space)  # noqa: S102
        return space["h"]

    import linecache

    holder = {}
    f = record(lambda x: holder["h"](x))
    for text, slope in (("def h(x):\n    return x * 2.0\n", 2.0), ("def h(x):\n    return x * 3.0\n", 3.0)):
        linecache.cache["<helper>"] = (len(text), None, text.splitlines(True), "<helper>")
        holder["h"] = make(text)
        assert f(1.0).backward() == slope


def countdown(x, n):
    return x if n == 0 else countdown(x, n - 1) * 1.0


def depth():
    frame, n = sys._getframe(), 0
    while frame is not None:
        frame, n = frame.f_back, n + 1
    return n


def test_a_recursion_that_runs_under_the_limit_runs_recorded():
    deepest = sys.getrecursionlimit() - depth() - 10
    assert countdown(1.0, deepest) == 1.0
    assert record(countdown)(1.0, deepest).backward() == 1.0


def test_a_recursion_beyond_the_limit_fails_and_the_next_call_works():
    with pytest.raises(RecursionError):
        record(countdown)(1.0, 10 * sys.getrecursionlimit())
    assert record(countdown)(2.0, 5).backward() == 1.0


def recurrence(x, steps):
    y = x
    for _ in range(steps):
        y = y * 0.999 + x * 0.001
    return y


def test_a_hundred_thousand_steps_on_floats():
    result = record(recurrence)(1.5, 100_000)
    assert len(result.tape) == 300_000
    assert result.value == recurrence(1.5, 100_000)
    assert result.backward() == pytest.approx(1.0)


def test_a_hundred_thousand_steps_on_arrays():
    def f(x):
        for _ in range(50_000):
            x = x * 0.999
            x = x + 0.001
        return x.sum()

    assert record(f)(np.ones(2)).backward() == pytest.approx(0.999**50_000 * np.ones(2))


def test_a_long_chain_is_released_without_recursion():
    result = record(recurrence)(1.5, 100_000)
    result.close()
    result = record(lambda x: [x := x * 1.0001 for _ in range(100_000)][-1])(1.5)
    del result
    kept = []
    record(lambda x: kept.append(recurrence(x, 100_000)) or x)(1.5).backward()
    kept.clear()


def test_writing_entry_by_entry_takes_time_linear_in_entries():
    def f(x, n):
        out = np.zeros(n)
        for i in range(n):
            out[i] = x * i
        total = 0.0
        for i in range(n):
            total = total + out[i]
        return total

    def seconds(n):
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            record(f)(2.0, n).backward()
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(16_000) < 12 * seconds(4_000)
    assert record(f)(2.0, 100).backward() == 4950.0


def test_memory_is_linear_in_steps():
    def peak(steps):
        gc.collect()
        tracemalloc.start()
        record(recurrence)(1.5, steps).backward()
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    few, many = peak(2_000), peak(8_000)
    assert many < 5 * few and many / (3 * 8_000) < 400


def test_no_warning_is_given_that_the_plain_function_does_not_give():
    def f(x):
        return np.where(x > 0.0, np.sqrt(np.abs(x)), 0.0).sum()

    assert record(f)(np.array([0.0, 4.0])).backward()[1] == 0.25  # warnings are errors here


def test_values_of_numpy_scalars_and_floats_keep_their_types():
    def f(x, y):
        return x * 2, x * 2.0, y * 2, y * 2.0, float(y), x * np.float64(2), np.float64(x), y * np.float32(2), -y, x**2

    args = (1.5, np.float32(2.5))
    assert oracle.same_bits(record(f)(*args).value, f(*args))
