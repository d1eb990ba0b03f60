"""Arrays of other libraries as arguments: memory lent by DLPack, gradients in the library of the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from autograd_frontend import grad, record, value_and_grad


def model(x: Any, w: Any) -> Any:
    y = np.tanh(x) * w
    y[0] = w * 3.0
    return np.sum(y * y), y


def test_gradients_are_tensors_with_the_numbers_of_numpy() -> None:
    x = np.array([0.3, -0.7, 1.2])
    plain = record(model)(x, 2.0)
    lent = record(model)(torch.from_numpy(x.copy()), 2.0)
    total, y = lent.value
    assert total == plain.value[0]
    assert type(y) is torch.Tensor
    np.testing.assert_array_equal(y.numpy(), plain.value[1])
    ours = lent.pullback((1.0, torch.ones(3, dtype=torch.float64)))
    theirs = plain.pullback((1.0, np.ones(3)))
    assert type(ours.x) is torch.Tensor and ours.x.dtype == torch.float64
    assert type(ours.w) is float
    np.testing.assert_array_equal(ours.x.numpy(), theirs.x)
    assert ours.w == theirs.w


def test_nothing_is_copied_on_the_way_in() -> None:
    def written(x: Any) -> Any:
        x[0] = 7.0
        return np.sum(x * x)

    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    gradient = record(written)(x).backward()
    assert x.tolist() == [7.0, 2.0, 3.0]
    assert gradient.tolist() == [0.0, 4.0, 6.0]


def test_gradients_are_in_memory_of_their_own() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float32)
    result = record(lambda x: x * 3.0)(x)
    result.value[0] = -1.0
    gradient = result.backward()
    gradient[1] = 5.0
    assert x.tolist() == [1.0, 2.0]
    assert gradient.dtype == torch.float32 and gradient.tolist() == [3.0, 5.0]


def test_containers_and_transforms() -> None:
    p = {"a": torch.tensor([1.0, 2.0]), "b": [np.array([3.0, 4.0], np.float32)]}
    g = record(lambda p: np.sum(p["a"] * p["b"][0]))(p).backward()
    assert type(g["a"]) is torch.Tensor and g["a"].tolist() == [3.0, 4.0]
    assert type(g["b"][0]) is np.ndarray and g["b"][0].tolist() == [1.0, 2.0]
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert grad(lambda x: np.sum(x**3))(x).tolist() == [3.0, 12.0]
    value, gradient = value_and_grad(lambda x: np.sum(x**3))(x)
    assert value == 9.0 and type(gradient) is torch.Tensor


def test_integers_are_plain_data() -> None:
    gradient = record(lambda x, i: np.sum(x[i] ** 2))(np.array([1.0, 2.0, 3.0]), torch.tensor([2, 0, 2])).backward()
    np.testing.assert_array_equal(gradient, [2.0, 0.0, 12.0])


def test_a_tensor_that_torch_follows_is_refused() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match=r"argument is a torch.Tensor, whose memory cannot be used as it is: .*detach"):
        record(lambda x: np.sum(x))(x)


def test_a_torch_function_of_ours() -> None:
    """What the exchange is for: a NumPy model as a function of torch's, with our gradient."""
    f = record(lambda x: np.sum(np.sin(x) * x))

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.result = f(x.detach())
            return torch.tensor(ctx.result.value)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.result.pullback(g)

    x = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64, requires_grad=True)
    (2.0 * Sum.apply(x)).backward()  # type: ignore[no-untyped-call]
    y = x.detach().numpy()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * (np.cos(y) * y + np.sin(y)), rtol=1e-15)
