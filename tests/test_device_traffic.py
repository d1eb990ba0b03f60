"""What goes between host and device: what waits, what is copied, what the caller finds; launches of rows.

Everything goes through `record(f).on("gpu")`, as in test_device_ownership.py.
"""

from __future__ import annotations

import gc
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from device_owners import X, fetched, session, steps, there

from autograd_frontend import DeviceUnavailable, RecordError, devices, grad, ops, record, vjp
from autograd_frontend.devices.gpu import why_unavailable
from tests.cuda.host import host

assert session  # the fixture

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


def test_other_arrays_of_cupys_are_computed_with_here(session: Any) -> None:
    """No kernel of CuPy's computes a value: not with other arguments of the call, nor with captured arrays."""
    table = np.arange(6.0).reshape(2, 3) + 1.0

    def f(x: Any, w: Any, box: Any) -> Any:
        return np.sum((w - x) * (x + box["w"]) + (w @ x[0] @ box["w"]) / (box["w"] - x))

    def captured(x: Any) -> Any:
        return f(x, kept, {"w": kept})

    expected = grad(lambda x: f(x, table, {"w": table}))(table * 0.3)
    kept = there(session, table)
    x = there(session, table * 0.3)
    session.driver.reset()
    for gradient in (grad(f)(x, kept, {"w": kept}), grad(captured)(x), grad(record(f).on("gpu"))(x, kept, {"w": kept})):
        np.testing.assert_allclose(fetched(session, gradient), expected, 1e-13)
    assert session.driver.to_device_copies == 0
    session.driver.reset()


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
            del error
        gc.collect()
        assert messages[0] == messages[1]
    x = there(session, X)
    with pytest.raises(RecordError):
        record(f).on("gpu")(x, x)
    gc.collect()


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


# Rows: launches forward and back

RNG = np.random.default_rng(0)
ROWS, OTHER, GAMMA, BETA = RNG.normal(size=(6, 10)), RNG.normal(size=(6, 10)), RNG.normal(size=10), RNG.normal(size=10)
LAUNCHES = {  # operation, arguments, launches forward, launches back with all gradients
    "softmax_last": (ops.softmax_last, (ROWS,), 1, 1),
    "log_softmax_last": (ops.log_softmax_last, (ROWS,), 1, 1),
    "layer_norm": (ops.layer_norm, (ROWS, GAMMA, BETA), 1, 3),  # a gradient each: rows, and two sums along columns
    "batch_norm": (ops.batch_norm, (ROWS, GAMMA[:6], BETA[:6]), 1, 1),
    "cross_entropy": (lambda x, t: ops.cross_entropy(x, t, axis=1), (ROWS, OTHER), 3, 1),  # rows, their sum, over n
    "distill": (lambda s, t: ops.distill(s, t, axis=1), (ROWS, OTHER), 3, 2),  # zeros for the teacher
    "mse_loss": (ops.mse_loss, (ROWS, OTHER), 2, 1),  # a sum, over n
    "top_k_mask": (lambda x: ops.top_k_mask(x, 3) * x, (ROWS,), 5, 1),  # a sort, and what is written in its order
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_operations_on_rows_take_few_launches(session: Any, name: str) -> None:
    f, arguments, forward, back = LAUNCHES[name]
    here = record(f)(*arguments)
    session.driver.reset()
    result = record(f).on("gpu")(*arguments)
    np.testing.assert_allclose(result.value, here.value, 1e-13, 1e-15)
    assert session.driver.launches <= forward and session.driver.synchronizations == 1
    session.driver.reset()
    weights = np.cos(np.arange(60.0)).reshape(6, 10) if np.ndim(here.value) else 0.7
    gradients, expected = result.pullback(weights), here.pullback(weights)
    assert session.driver.launches <= back and session.driver.synchronizations == len(arguments)
    for g, e in zip(*[x if isinstance(x, tuple) else (x,) for x in (gradients, expected)], strict=True):
        np.testing.assert_allclose(g, e, 1e-12, 1e-14)


ODD_ROWS = np.array([
    [1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0], [50.0, 0.0, -50.0, 1.0], [0.0, -800.0, 1.0, 1.0],
    [5.0, -1.0, 0.0, 800.0], [np.inf, 1.0, 0.0, 2.0], [-np.inf, 0.0, 1.0, 0.0], [np.nan, 1.0, 2.0, 3.0],
    [-np.inf] * 4, [0.0, -1e-17, -1.0, -2.0],
])  # fmt: skip
COTANGENTS = [
    np.sin(np.arange(40.0)).reshape(10, 4),
    np.where(np.arange(40).reshape(10, 4) % 3 == 0, 1e307, 0.0),
    np.where(np.arange(40).reshape(10, 4) == 8, np.inf, 0.0),
    np.zeros((10, 4)),
]


@pytest.mark.parametrize("g", COTANGENTS, ids=["waves", "huge", "infinite", "zero"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_log_softmax_by_selection_is_that_by_index(session: Any, g: Any) -> None:
    """On a device the largest entry of a row is selected, all of several equal ones at once."""
    here, gone = record(ops.log_softmax_last)(ODD_ROWS), record(ops.log_softmax_last).on("gpu")(ODD_ROWS)
    np.testing.assert_allclose(gone.value, here.value, 1e-15, 1e-300)
    np.testing.assert_allclose(gone.pullback(g), here.pullback(g), 1e-13, 1e-300)
    session.driver.reset()


def test_a_few_indices_of_the_host_are_no_copy_to_the_device(session: Any) -> None:
    def f(x: Any) -> Any:
        z = x * 1.0
        z[[0, 3, 5]] = np.cross(x[[0, 1, 2]], x[1:4])
        return np.sum(z * z) + x[[2, -1]] @ x[[1, 0]]

    def twice(x: Any) -> Any:
        z = x * 1.0
        z[[0, 3, 0]] = x[[1, 1, 2]]
        return np.sum(z * z)

    session.driver.reset()
    gradient = record(f).on("gpu")(X[:6]).backward()
    assert session.driver.to_device_copies == 1  # the argument
    np.testing.assert_allclose(gradient, record(f)(X[:6]).backward(), 1e-13)
    np.testing.assert_allclose(record(twice).on("gpu")(X[:6]).backward(), record(twice)(X[:6]).backward(), 1e-13)
    for key in ([6], [-7]):
        with pytest.raises(IndexError, match=f"index {key[0]} is out of bounds for axis 0 with size 6"):
            record(lambda x: x[key]).on("gpu")(X[:6])
    gc.collect()
