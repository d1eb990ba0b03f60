"""What does not run on a device says so, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from messages import ON_A_DEVICE

from autograd_frontend import DeviceUnavailable, RecordError, check_grads, grad, record
from tests.cuda.host import host_session, installed
from tests.cuda.interim import Interim

X = np.array([0.3, 0.9])


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Any]:
    with installed(host_session(Interim())) as session:
        yield session


def f(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


def test_graphs_and_checks_are_for_the_host_only(session: Any) -> None:
    x = session.to_cupy(session.array(X))
    with pytest.raises(DeviceUnavailable, match=r"does not run on a GPU, where an argument is: pass x.get\(\)$"):
        check_grads(f, x)
    with pytest.raises(TypeError, match=re.escape(f"an argument is on gpu, {ON_A_DEVICE[0]}")):
        record(lambda y, x: np.sum(y))(X, [[[[[[[x]]]]]]])  # nobody looks that deep for a device
    with pytest.raises(TypeError, match="^argument x is a cupy.ndarray: a graph takes NumPy's arrays$"):
        record(f).graph(x)
    with pytest.raises(DeviceUnavailable) as error:
        check_grads(record(f).on("gpu"), X)
    assert str(error.value) == 'check_grads does not run on gpu: write check_grads(f.on("cpu"), ...)'


def test_second_derivatives_of_a_lifted_function() -> None:
    @record
    def g(x: float) -> float:
        return x * x * x

    slope = record(lambda x: np.sum(grad(lambda x: np.sum(g.elementwise(x).value))(x) ** 2)).on("gpu")
    with pytest.raises(RecordError) as error:
        slope(X)
    assert error.value.reason == "elementwise on a GPU has first derivatives only"


def test_a_graph_of_a_function_for_a_device() -> None:
    with pytest.raises(DeviceUnavailable) as error:
        record(f).on("gpu").graph(X)
    assert str(error.value) == 'a graph does not run on gpu: write f.on("cpu").graph(...)'
