"""Who owns what on a device: memory goes back, nothing is aliased.

Everything goes through `record(f).on("gpu")`. With "numpy" NumPy stands in for the kernels; "gpu" is a real one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_owners import X, fetched, session, steps, there

from autograd_frontend import RecordError, RecordingClosed, primitive, record
from tests import test_ownership as plain
from tests.cuda.host import host

assert session  # the fixture

# Memory


@pytest.mark.parametrize("use", ["backward", "pullback", "close", "with", "del", "misfit", "type", "exception"])
def test_a_recording_that_is_over_holds_its_value_alone(session: Any, use: str) -> None:
    result = record(steps).on("gpu")(X)
    assert session.live_bytes() >= 5 * X.nbytes
    if use == "backward":
        result.backward()
    elif use == "pullback":
        result.pullback(np.ones(1000))
    elif use == "close":
        result.close()
    elif use == "with":
        with result:
            pass
    elif use == "del":
        del result
        assert session.live_bytes() == 0
        return
    elif use in ("misfit", "type"):
        with pytest.raises((ValueError, TypeError)):
            result.pullback(np.ones(3) if use == "misfit" else np.ones(1000) * 1j)
        gc.collect()  # the frames of the exception
    else:
        with pytest.raises(KeyError), result:
            raise KeyError
    assert session.live_bytes() <= X.nbytes
    with pytest.raises(RecordingClosed):
        result.backward()
    np.testing.assert_allclose(result.value, steps(X), 1e-13)
    assert session.live_bytes() == 0


@primitive
def fragile(x):
    return np.exp(x)


@fragile.pullback
def _(g, y, x):
    raise ArithmeticError("of the rule")


def test_a_rule_that_raises_releases_everything(session: Any) -> None:
    result = record(lambda x: np.sum(fragile(steps(x)) * x)).on("gpu")(X)
    with pytest.raises(ArithmeticError, match="of the rule"):
        result.backward()
    gc.collect()
    assert session.live_bytes() <= 8
    result.close()
    assert result.value > 0


@pytest.mark.parametrize("error", [KeyError, RecordError])
def test_an_exception_half_way_leaves_nothing(session: Any, error: Any) -> None:
    seen = []

    def f(x: Any) -> Any:
        y = steps(x)
        if float(y[0]) > -1.0:
            seen.append(session.live_bytes())
        if error is KeyError:
            raise KeyError(len(y))
        return np.linalg.eig(np.outer(y, y))[0]  # a device has none

    for k in range(2):
        with pytest.raises(error):
            record(f).on("gpu")(X)
        gc.collect()
        assert session.live_bytes() == 0 and seen[k] >= 5 * X.nbytes


def test_the_level_is_the_same_after_a_hundred_calls(session: Any) -> None:
    f = record(lambda x, w: np.sum(np.tanh(x * w) ** 2)).on("gpu")
    for _ in range(100):
        f(X, X).backward()
        assert session.live_bytes() == 0
    assert len(session.regions) < 10


def test_the_sweep_frees_as_it_passes(session: Any) -> None:
    """More than the forward pass held is never held: a few cotangents, while what was saved goes."""
    most, launch = [0], session.driver.launch

    def watched(*given: Any) -> None:
        most[0] = max(most[0], session.live_bytes())
        launch(*given)

    session.driver.launch = watched
    result = record(steps).on("gpu")(X)
    before = most[0]
    most[0] = 0
    result.backward()
    assert most[0] <= before + 16 * X.nbytes  # what waits for one kernel, and is stored by it
    result.close()


# Aliases


def ranges(session: Any, tree: Any) -> list[tuple[int, int]]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [r for e in tree for r in ranges(session, e)]
    if isinstance(tree, np.ndarray):  # nothing recorded went into it
        return []
    return [(tree.data.ptr, tree.data.ptr + tree.nbytes)]


def apart(groups: list[list[tuple[int, int]]]) -> bool:
    pairs = [(a, b) for i, one in enumerate(groups) for other in groups[i + 1 :] for a in one for b in other]
    return all(a[1] <= b[0] or b[1] <= a[0] for a, b in pairs)


def seeds(tree: Any, of: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return {k: seeds(v, of) for k, v in tree.items()}
    return type(tree)([seeds(v, of) for v in tree]) if isinstance(tree, (list, tuple)) else of(np.ones(tree.shape))


@pytest.mark.parametrize("f", plain.IDENTITIES.values(), ids=plain.IDENTITIES)
@pytest.mark.parametrize("where", ["host", "device"])
def test_inputs_values_seeds_and_gradients_never_share_memory(session: Any, f: Any, where: str) -> None:
    send = (lambda x: x) if where == "host" else lambda x: there(session, x)
    x = send(np.array([1.0, 2.0]))
    result = record(f).on("gpu")(x)
    value = result.value
    seed = seeds(value, send)
    gradient = result.pullback(seed)
    if where == "device":
        values = [[r] for r in ranges(session, value)]
        seed = [c for c in plain_arrays(seed) if type(c) is type(x)]
        groups = [ranges(session, x), ranges(session, seed), ranges(session, gradient), *values]
        assert type(gradient) is type(x) and apart(groups)
        return
    arrays = [[x], plain.arrays(seed), [gradient], *[[v] for v in plain.arrays(value)]]
    for i, group in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for other in arrays[i + 1 :] for a in group for b in other)


@pytest.mark.parametrize("f", plain.IDENTITIES.values(), ids=plain.IDENTITIES)
def test_writing_into_a_value_on_the_device_changes_no_gradient(session: Any, f: Any) -> None:
    expected = record(f)(np.array([1.0, 2.0])).backward()
    x = there(session, np.array([1.0, 2.0]))
    result = record(f).on("gpu")(x)
    if session.host_driver:
        for v in plain_arrays(result.value):
            if type(v) is type(x):
                host(v)[...] = 100.0
        host(x)[...] = -3.0
    np.testing.assert_array_equal(fetched(session, result.backward()), expected)


def plain_arrays(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [a for e in tree for a in plain_arrays(e)] if isinstance(tree, (list, tuple)) else [tree]


@pytest.mark.parametrize("name", plain.WRITES)
def test_writing_between_call_and_backward_changes_nothing(session: Any, name: str) -> None:
    f, x = plain.WRITES[name], np.array([[1.0, 0.7], [2.0, 3.0]])
    expected = record(f)(x.copy()).backward()
    before = plain.CAPTURED.copy()
    try:
        given = x.copy()
        result = record(f).on("gpu")(given)
        given[0] = 100.0
        plain.CAPTURED[:] = 7.0
        np.testing.assert_allclose(result.backward(), expected, 1e-12, 1e-12)
        result.close()
    finally:
        plain.CAPTURED[:] = before


def test_gradients_of_several_arguments_never_share_memory(session: Any) -> None:
    a, b = there(session, X), there(session, X)
    gradient = record(lambda a, b: a + b).on("gpu")(a, b).pullback(there(session, X))
    assert apart([ranges(session, gradient.a), ranges(session, gradient.b), ranges(session, a), ranges(session, b)])
    gradient = record(lambda a, b: a + b).on("gpu")(X, X.copy()).pullback(X)
    assert not np.shares_memory(gradient.a, gradient.b) and not np.shares_memory(gradient.a, X)


NO_COPY = {
    "asarray": np.asarray, "asanyarray": np.asanyarray, "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray, "array": lambda x: np.array(x, copy=None), "view": lambda x: x.view(),
    "astype": lambda x: x.astype(float, copy=False), "atleast_2d": lambda x: np.atleast_2d(x)[0],
    "array of one type": lambda x: np.array(x), "copy": np.copy,
}  # fmt: skip


@pytest.mark.parametrize("name", NO_COPY)
def test_what_copies_nothing_is_the_same_memory(session: Any, name: str) -> None:
    """A write through one name is a write through the other, on a device as on the CPU."""
    other = NO_COPY[name]

    def through_the_view(x: Any) -> Any:
        y = x * 1.0
        z = other(y)
        z[0] = 5.0
        return np.sum(y * y) + z[1]

    def through_the_owner(x: Any) -> Any:
        z = other(x)
        x[0] = x[1] * 2.0
        return np.sum(z * z)

    for f in (through_the_view, through_the_owner):
        here, gone = np.arange(1.0, 4.0), np.arange(1.0, 4.0)
        expected, result = record(f)(here), record(f).on("gpu")(gone)
        assert result.value == expected.value
        np.testing.assert_array_equal(result.backward(), expected.backward())
        np.testing.assert_array_equal(gone, here)


def by_method(x: Any) -> Any:
    y = np.zeros_like(x)  # plain, and on the device
    y[0] = x[1]
    return y.sum() + y.T @ y.reshape(3) + y.max()


def by_name(x: Any) -> Any:
    y = np.floor(x)
    np.add(x, x, out=y)
    y += x
    return y.mean() + y.clip(0.0, 4.0).sum()


def by_view(x: Any) -> Any:
    y = np.zeros_like(x)
    z = y[::-1]
    y[...] = x
    z[0] = x[0] * 2.0
    return z.cumsum().sum()


def of_plain(x: Any) -> Any:
    y = np.floor(x)
    y.fill(x[1])
    return y.dot(x) + np.floor(x).dot(x) + np.sign(x).sum()


def beside_recorded(x: Any) -> Any:
    y = np.floor(x)
    numbers = [x[0] * 1.0, y[1] * 0.5, x[2]]  # the second is plain: code in C adds and compares them
    return sorted(numbers)[1] * max(numbers) + sum(numbers)


@pytest.mark.parametrize("f", [by_method, by_name, by_view, of_plain, beside_recorded], ids=lambda f: f.__name__)
def test_plain_arrays_that_the_device_made_take_recorded_values(session: Any, f: Any) -> None:
    x = np.array([1.5, 2.5, -0.5])
    result = record(f).on("gpu")(x)
    assert result.value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(result.backward(), record(f)(x).backward(), 1e-14)


def test_windows_add_up_in_the_gradient(session: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        w = np.lib.stride_tricks.sliding_window_view(y, 2)
        return np.sum(w * w) + y[0]

    np.testing.assert_array_equal(record(f).on("gpu")(X[:3]).backward(), record(f)(X[:3]).backward())

    def g(x: Any) -> Any:
        y = x * 1.0
        w = np.lib.stride_tricks.sliding_window_view(y, 2)
        y[1] = 0.0
        return np.sum(w)

    for device in ("cpu", "gpu"):
        with pytest.raises(RecordError, match="windows|shared|view"):
            record(g).on(device)(X[:3])
    gc.collect()
