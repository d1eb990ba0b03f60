"""What does not run on a device says so, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from messages import ON_A_DEVICE

from autograd_frontend import DeviceUnavailable, RecordError, grad, hessian, hvp, jacfwd, jacrev, jvp, record
from tests.cuda.host import host_session, installed
from tests.cuda.interim import Interim

X = np.array([0.3, 0.9])


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Any]:
    with installed(host_session(Interim())) as session:
        yield session


def f(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


def test_a_derivative_inside() -> None:
    with pytest.raises(RecordError) as error:
        record(lambda x: np.sum(grad(f)(x) ** 2)).on("gpu")(X)  # here
    assert error.value.reason == ON_A_DEVICE[0]
    assert "# here" in error.value.place.text
    assert error.value.remedy == 'Take it outside, or run the function on the CPU: f.on("cpu").'


@pytest.mark.parametrize("transform", [jacfwd, jacrev, hessian])
def test_derivatives_for_the_host_only(session: Any, transform: Any) -> None:
    x = session.to_cupy(session.array(X))
    with pytest.raises(TypeError, match=f"^an argument is on gpu, {ON_A_DEVICE[1]}$"):
        transform(f)(x)
    with pytest.raises(TypeError, match=ON_A_DEVICE[1]):
        jvp(f, (x,), (x,))
    with pytest.raises(TypeError, match=ON_A_DEVICE[1]):
        hvp(f)(x, x)


def test_a_graph_of_a_function_for_a_device() -> None:
    with pytest.raises(DeviceUnavailable) as error:
        record(f).on("gpu").graph(X)
    assert str(error.value) == 'a graph does not run on gpu: write f.on("cpu").graph(...)'
