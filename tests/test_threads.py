"""Threads that record at once."""

from __future__ import annotations

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from autograd_frontend import RecordError, grad, record, rewrite, value_and_grad
from autograd_frontend.recording import ACTIVE


def objective(x, n):
    total, out = 0.0, np.zeros(3)
    for i in range(n):
        out[i % 3] = x[i % 3] * total + x[(i + 1) % 3]
        total = total + out[i % 3] * 0.1
    return total + (out * out).sum() + helper(x)


def helper(x):
    return np.sin(x) @ x if x[0] > 0.0 else np.cos(x).sum()


def together(workers, task):
    """Every worker runs `task(i)` after all have arrived; errors come out."""
    barrier = threading.Barrier(workers)

    def run(i):
        barrier.wait(timeout=60)
        return task(i)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(run, range(workers)))
    finally:
        sys.setswitchinterval(interval)


def inputs(i):
    return np.array([0.5 + 0.1 * i, -0.3 * i, 0.7]) * (-1) ** i


@pytest.mark.parametrize("workers", [2, 8])
def test_threads_on_the_same_function_get_their_own_gradients(workers):
    f = record(objective)
    expected = [f(inputs(i), 20 + i).backward() for i in range(workers)]

    def task(i):
        return [f(inputs(i), 20 + i).backward() for _ in range(10)]

    for i, gradients in enumerate(together(workers, task)):
        for gradient in gradients:
            assert gradient.tobytes() == expected[i].tobytes()
    assert not ACTIVE


def test_threads_on_the_transforms():
    f = value_and_grad(objective)
    expected = [f(inputs(i), 30) for i in range(6)]
    for (value, gradient), (want, slope) in zip(together(6, lambda i: f(inputs(i), 30)), expected):
        assert value == want and gradient.tobytes() == slope.tobytes()


def test_threads_reading_the_same_input_and_captured_array():
    x, weights = np.linspace(0.1, 1.0, 50), np.linspace(1.0, 2.0, 50)
    f = record(lambda x: (np.exp(x * weights) * x).sum())
    expected = f(x).backward()
    for gradient in together(6, lambda i: f(x).backward()):
        assert gradient.tobytes() == expected.tobytes()


def test_a_function_is_rewritten_once(monkeypatch):
    def fresh(x):
        return helper(x) * helper(x) + x[0]

    count = []
    rewrite_one = rewrite._rewrite
    monkeypatch.setattr(rewrite, "_rewrite", lambda fn: count.append(fn.__name__) or rewrite_one(fn))
    f = record(fresh)
    together(8, lambda i: f(inputs(i)).backward())
    assert count.count("fresh") == 1 and count.count("helper") <= 1


def test_an_error_in_one_thread_leaves_the_others_alone():
    def sometimes(x, bad):
        y = objective(x, 10)
        if bad:
            raise ValueError("bad")
        return y

    f = record(sometimes)
    expected = [f(inputs(i), False).backward() for i in range(6)]

    def task(i):
        if i % 2:
            with pytest.raises(ValueError, match="^bad$"):
                f(inputs(i), True)
            return expected[i]
        return f(inputs(i), False).backward()

    for gradient, want in zip(together(6, task), expected):
        assert gradient.tobytes() == want.tobytes()


def test_a_recording_may_be_differentiated_in_another_thread():
    results = [record(objective)(inputs(i), 20) for i in range(4)]
    expected = [record(objective)(inputs(i), 20).backward() for i in range(4)]
    for gradient, want in zip(together(4, lambda i: results[i].backward()), expected):
        assert gradient.tobytes() == want.tobytes()


def test_a_result_is_used_up_by_one_thread_only():
    result = record(objective)(inputs(1), 20)

    def task(i):
        try:
            return result.backward()
        except RuntimeError:
            return None

    assert sum(gradient is not None for gradient in together(4, task)) == 1


def test_settings_of_the_interpreter_are_given_back():
    limit, thresholds = sys.getrecursionlimit(), gc.get_threshold()
    together(8, lambda i: [grad(objective)(inputs(i), 5) for _ in range(20)])
    assert (sys.getrecursionlimit(), gc.get_threshold()) == (limit, thresholds)


def test_a_value_of_another_thread_s_recording_is_refused():
    ready, done, box = threading.Event(), threading.Event(), []

    def holding(x):
        box.append(x * 2.0)
        ready.set()
        done.wait(timeout=60)
        return x

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(record(holding), 3.0)
        ready.wait(timeout=60)
        try:
            with pytest.raises(RecordError) as error:
                record(lambda x: x * box[0])(2.0)
        finally:
            done.set()
        assert other.result(timeout=60).backward() == 1.0
    assert error.value.reason.startswith("values of two recordings meet in one operation")
