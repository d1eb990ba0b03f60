"""Who owns what on a device: memory goes back, nothing is aliased, nothing waits or is copied unasked.

Everything goes through `record(f).on("gpu")`. With "numpy" NumPy stands in for the kernels; "gpu" is a real one.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from autograd_frontend import DeviceUnavailable, RecordError, RecordingClosed, devices, grad, primitive, record, vjp
from autograd_frontend.devices.gpu import why_unavailable
from tests import test_ownership as plain
from tests.cuda.fixtures import SESSIONS
from tests.cuda.host import host, installed, to_cupy

X = np.linspace(0.5, 1.5, 1000)


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def session(request: Any) -> Iterator[Any]:
    """A session whose memory is back at its level when the test ends, with no help from the collector."""
    gc.collect()
    gc.disable()
    try:
        with installed(SESSIONS[request.param]()) as s:
            s.host_driver = request.param == "numpy"
            yield s
            assert s.live_bytes() == 0
    finally:
        gc.enable()


def there(session: Any, x: Any) -> Any:
    """An array of CuPy's with these entries."""
    return to_cupy(np.ascontiguousarray(x)) if session.host_driver else session.driver.from_host(x)


def fetched(session: Any, x: Any) -> Any:
    return host(x).copy() if session.host_driver else x.get()


def steps(x: Any) -> Any:
    """Saves two arrays at every step; more than waits for one kernel."""
    for _ in range(40):
        x = np.sin(x) * x + 0.5
    return x


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
    assert most[0] <= before + 5 * X.nbytes
    result.close()


# Aliases


def ranges(session: Any, tree: Any) -> list[tuple[int, int]]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [r for e in tree for r in ranges(session, e)]
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


# Waiting, and copies


def test_nothing_waits_until_something_is_asked_for(session: Any) -> None:
    driver = session.driver
    driver.reset()
    result = record(lambda x, w: np.sum(np.tanh(x @ w) ** 2)).on("gpu")(X.reshape(10, 100), X.reshape(100, 10))
    assert driver.synchronizations == 0
    assert result.value == result.value  # fetched once
    assert driver.synchronizations == 1
    gradient = result.backward()
    assert driver.synchronizations == 3 and len(gradient) == 2
    assert result.value > 0 and driver.synchronizations == 3


def test_a_truth_test_waits_once(session: Any) -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            if np.sum(x) > 0.0:  # one
                x = x * 0.5
        while x[0] > 0.2:  # another: one
            x = x * 0.1
        return np.sum(x)

    session.driver.reset()
    result = record(f).on("gpu")(np.ones(4) * 8)
    assert session.driver.synchronizations == 3 + 2
    result.backward()
    assert session.driver.synchronizations == 3 + 2 + 1


def test_arrays_of_cupys_stay_there(session: Any) -> None:
    x = there(session, X)
    session.driver.reset()
    f = record(lambda x: (np.sin(x) * x, np.sum(x * x))).on("gpu")
    result = f(x)
    value, total = result.value
    gradient = result.pullback((there(session, X * 0 + 1) if session.host_driver else value, total))
    driver = session.driver
    assert type(value) is type(total) is type(gradient) is type(x)
    assert value.shape == (1000,) and total.shape == ()
    assert driver.to_host_copies == driver.to_device_copies == driver.synchronizations == 0
    if session.host_driver:
        np.testing.assert_allclose(host(value), np.sin(X) * X, 1e-14)
        expected = record(f.__wrapped__)(X).pullback((np.ones(1000), float(host(total))))
        np.testing.assert_allclose(host(gradient), expected, 1e-13)


def test_a_function_of_cupys_arrays_runs_where_they_are(session: Any) -> None:
    """No device is named: the arrays say which. Transforms, too."""
    x, f = there(session, X), lambda x: np.sum(np.exp(x) * x)
    expected = grad(f)(X)
    result = record(f)(x)
    assert result.device == session.name
    pulled = vjp(f, x)[1](1.0)
    for gradient in (result.backward(), grad(f)(x), grad(record(f).on("gpu"))(x), pulled):
        assert type(gradient) is type(x)
        np.testing.assert_allclose(fetched(session, gradient), expected, 1e-13)


def test_a_transform_of_a_bound_function_runs_on_its_device(session: Any) -> None:
    f = record(lambda x: np.sum(np.exp(x) * x)).on("gpu")
    session.driver.reset()
    gradient = grad(f)(X)
    assert session.driver.launches > 0 and type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, grad(f.on("cpu"))(X), 1e-13)


# The caller's arrays


def test_what_is_written_into_an_argument_is_the_callers(session: Any) -> None:
    def f(x: Any, box: Any) -> Any:
        x[0] = x[1] * 2.0
        box["a"] *= x
        return np.sum(x * box["a"])

    x, box = X[:3].copy(), {"a": X[3:6].copy()}
    here, other = X[:3].copy(), {"a": X[3:6].copy()}
    expected = record(f)(here, other).backward()
    gradient = record(f).on("gpu")(x, box).backward()
    np.testing.assert_allclose(x, here, 1e-15)
    np.testing.assert_allclose(box["a"], other["a"], 1e-15)
    np.testing.assert_allclose(gradient.x, expected.x, 1e-14)
    c = there(session, X[:3])
    record(lambda x: f(x, {"a": x * 1.0})).on("gpu")(c).close()
    assert fetched(session, c)[0] == X[1] * 2.0


def test_captured_arrays_follow_and_stay_as_they_are(session: Any) -> None:
    table, kept = np.arange(1000.0), np.zeros(2)

    def f(x: Any) -> Any:
        kept[0] = np.sum(x * table)
        return kept[0] + np.sum(table) * x[0]

    gradient = record(f).on("gpu")(X).backward()
    expected = table.copy()
    expected[0] += table.sum()
    np.testing.assert_allclose(gradient, expected, 1e-14)
    assert type(kept) is np.ndarray and kept[0] == pytest.approx((X * table).sum(), rel=1e-13)
    np.testing.assert_array_equal(table, np.arange(1000.0))


def test_a_write_into_memory_that_arguments_share_is_refused(session: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        x[0] = 5.0
        return np.sum(x * y)

    for start in (0, 1):
        messages = []
        for device in ("cpu", "gpu"):
            x = X.copy()
            with pytest.raises(RecordError) as error:
                record(f).on(device)(x[: 1000 - start], x[start:])
            messages.append(str(error.value).splitlines()[0])
        assert messages[0] == messages[1]
    x = there(session, X)
    with pytest.raises(RecordError):
        record(f).on("gpu")(x, x)


# What a device cannot hold, and no device


@pytest.mark.parametrize(
    "x",
    [np.longdouble(2.0), np.ones(3, np.longdouble), Fraction(1, 3), Decimal("0.5"), [np.ones(2), Fraction(1, 2)]],
    ids=["longdouble", "longdouble array", "Fraction", "Decimal", "in a list"],
)
def test_what_is_exact_runs_on_the_cpu_and_says_so(session: Any, x: Any) -> None:
    session.driver.reset()
    f = record(lambda x: x[0] * 2 if isinstance(x, list) else x * 2)
    with pytest.warns(RuntimeWarning, match="this call runs on the CPU") as caught:
        result = f.on("gpu")(x)
    assert result.device == "cpu" and session.driver.launches == 0 and len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(result.value) is type(f(x).value)


def test_without_a_driver_there_is_an_error_never_a_switch() -> None:
    reason = why_unavailable()
    if reason is None:
        pytest.skip("there is a GPU")
    before = dict(devices.SESSIONS)
    devices.SESSIONS.clear()
    try:
        for attempt in (
            lambda: record(steps, device="gpu"),
            lambda: record(steps).on("gpu"),
            lambda: record(steps).on("gpu", grad=False),
        ):
            with pytest.raises(DeviceUnavailable, match='device "gpu" cannot be used') as error:
                attempt()
            assert reason in str(error.value)
    finally:
        devices.SESSIONS.update(before)
