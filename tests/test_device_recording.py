"""Recording on a device: generated programs give the values and gradients that they give on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from autograd_frontend import RecordError, record
from tests.cases.devices import X, model
from tests.cuda.host import host, host_session, installed
from tests.cuda.interim import Interim

from . import oracle
from .programs import Program, programs
from .test_generated import tries


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Any]:
    """NumPy in place of kernels: what is tested here is the recording."""
    with installed(host_session(Interim())) as session:
        yield session


def agree(program: Program, device: str = "gpu") -> None:
    """Arguments, value and gradient on the device are those of the CPU, but for the order of sums."""
    f, args, plain = program.function(), program.fresh(), program.fresh()
    try:
        here = record(f)(*plain)
    except RecordError:
        return
    there = record(f).on(device)(*args)
    assert there.device.startswith("gpu")
    rtol = 1e-5 if "float32" in program.features else 1e-11
    for a, b in ((args, plain), (there.value, here.value)):
        assert oracle.same_bits(oracle.random_like(a, 0), oracle.random_like(b, 0))  # types, shapes, dtypes
        np.testing.assert_allclose(oracle.entries(a), oracle.entries(b), rtol, rtol)
    weights = oracle.random_like(here.value, 1)
    ours, theirs = there.pullback(weights), here.pullback(weights)
    assert oracle.same_bits(oracle.random_like(ours, 0), oracle.random_like(theirs, 0))
    expected = oracle.entries(theirs)
    scale = 1.0 + float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(oracle.entries(ours), expected, 0, 100 * rtol * scale)


@tries(120)
@given(programs())
def test_generated_programs_agree_with_the_cpu(program: Program) -> None:
    agree(program)


def views(x: Any) -> Any:
    y = x * 2
    y[1:] += x[:-1]
    z = y[0]
    y[0] = 5.0
    v = y.T
    v[2] *= z
    return np.sum(y * y) + z


def indexed(x: Any) -> Any:
    y = x[np.argsort(x)] * np.arange(3)
    return np.where(x > 0, np.log(np.abs(x)), 0.0).sum() + y.sum() + x[x > 0].sum()


def left_outside(x: Any) -> Any:
    kept = np.zeros(3)
    box = {"kept": kept}
    kept[1:] = x[1:] * 2
    return box["kept"].sum() + box["kept"][2] * x[0]


@pytest.mark.parametrize("f", [model, views, indexed, left_outside], ids=lambda f: f.__name__)
def test_memory_of_the_host_and_of_the_device(f: Any) -> None:
    here, there = record(f)(X.copy()), record(f).on("gpu")(X.copy())
    np.testing.assert_allclose(there.value, here.value, 1e-14)
    assert type(there.value) is type(here.value)
    gradient = there.backward()
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, here.backward(), 1e-13)


def test_what_is_written_into_an_argument_is_there() -> None:
    def f(x: Any, c: Any) -> Any:
        x[0] = x[1] * 2
        c["a"][1] = x[0]
        return x * x + c["a"]

    x, c = X.copy(), {"a": X.copy()}
    here, hc = X.copy(), {"a": X.copy()}
    plain = record(f)(here, hc).backward()
    ours = record(f).on("gpu")(x, c).backward()
    np.testing.assert_array_equal(x, here)
    np.testing.assert_array_equal(c["a"], hc["a"])
    np.testing.assert_array_equal(ours.x, plain.x)
    np.testing.assert_array_equal(ours.c["a"], plain.c["a"])


def test_what_was_saved_survives_a_write_back() -> None:
    def f(x: Any) -> Any:
        w = np.ones(3)
        y = np.sin(x @ w)
        w[::-1] = y * 2.0
        return w[0] + y

    x = np.arange(9.0).reshape(3, 3) / 10
    np.testing.assert_allclose(record(f).on("gpu")(x).backward(), record(f)(x).backward(), 1e-13)


def test_memory_that_is_lent_may_change_after_the_call(session: Any) -> None:
    """CuPy's arrays are not copied; what was saved of them is."""
    x, c = session.to_cupy(session.array(X)), session.to_cupy(session.array(X + 1))
    result = record(lambda x: np.multiply(c, x) * x)(x)
    host(x)[...] = 0.0
    host(c)[...] = 0.0
    np.testing.assert_allclose(host(result.value), (X + 1) * X * X, 1e-15)
    np.testing.assert_allclose(host(result.pullback(np.ones(3))), 2 * (X + 1) * X, 1e-15)


def test_what_a_device_has_not_is_refused_by_line() -> None:
    def f(x: Any) -> Any:
        return np.linalg.eig(np.outer(x, x))[0].real.sum()

    def g(x: Any) -> Any:
        return np.histogram(x)[0].sum() * x

    for h in (f, g):
        with pytest.raises(RecordError) as error:
            record(h).on("gpu")(X)
        assert str(error.value.place).startswith(f'  File "{__file__}", line ')


def test_without_a_gradient_it_runs_there_too() -> None:
    result = record(model).on("gpu", grad=False)(X.copy())
    assert result.device == "gpu"
    np.testing.assert_allclose(result.value, model(X.copy()), 1e-14)
    with pytest.raises(RuntimeError, match="grad=False"):
        result.backward()
