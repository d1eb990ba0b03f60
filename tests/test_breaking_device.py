"""What was wrong on a device: values and gradients there are those of the CPU, and so is what raises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograd_frontend import record

from .cuda.host import host_session, installed
from .cuda.interim import Interim

windows = np.lib.stride_tricks.sliding_window_view


def compared(f: Any) -> None:
    """The value and the gradient of `f` on both, with a cotangent that tells entries apart."""
    got = []
    for device in ("cpu", "gpu"):
        result = record(f).on(device)(np.array([0.5, -1.0, 2.0, 3.0, -0.25, 1.5]))
        value = result.value
        seed = np.reshape(np.arange(1.0, np.size(value) + 1), np.shape(value))
        got.append((value, result.pullback(seed if np.ndim(value) else 1.0)))
    for here, there in zip(*got, strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-12)


def one_window(x: Any) -> Any:
    return windows(x, 3)[2]


def some_windows(x: Any) -> Any:
    return windows(np.concatenate([x, x]), 4)[::2].sum(0)


def parts_of_windows(x: Any) -> Any:
    w = windows(x * 1, 3)
    return w[2].sum() + w[0, 0] + w[1:3, 1] @ w[0, :2]


@pytest.mark.parametrize("f", [one_window, some_windows, parts_of_windows])
def test_slices_of_windows_do_not_share_their_cotangents(f: Any) -> None:
    with installed(host_session(Interim())):
        compared(f)


def raveled(x: Any) -> Any:
    y, z = x * 1, np.zeros(6)
    z[::2] += x[:3]
    for v in (y[::2], y[::-1], y.reshape(2, 3)[:, :1], z[::2], x[::2]):
        w = v.ravel()
        w += 1
        w = np.ravel(v, "K")
        w += 1
    w = y.reshape(2, 3).T.ravel("F")
    w *= 2
    return y * z * x


def test_ravel_copies_what_is_not_contiguous() -> None:
    with installed(host_session(Interim())):
        compared(raveled)


def test_the_gradient_of_an_array_without_axes_is_one() -> None:
    with installed(host_session(Interim())):
        for dtype in (np.float64, np.float32):
            x = np.array(1.5, dtype)
            g = record(lambda x: x * x).on("gpu")(x).pullback(dtype(1))
            assert type(g) is np.ndarray and g.shape == () and g.dtype == dtype and g == 3


def broadcast_view(x: Any) -> Any:
    y = np.zeros(6)
    v = np.broadcast_to(y, (2, 6))
    v += x
    return y


def locked_view(x: Any) -> Any:
    y = np.zeros(6)
    v = y[:]
    v.flags.writeable = False
    v[0] = x[0]
    return y


def locked(x: Any) -> Any:
    y = np.zeros(6)
    y.flags.writeable = False
    y[0] = x[0]
    return y


def locked_later(x: Any) -> Any:
    y = np.zeros(6)
    y += x
    y.flags.writeable = False
    y[0] = 3.0
    return y


@pytest.mark.parametrize("f", [broadcast_view, locked_view, locked, locked_later])
def test_writes_into_read_only_arrays_of_the_host_raise(f: Any) -> None:
    for device in ("cpu", "gpu"):
        with installed(host_session(Interim())), pytest.raises(ValueError, match="read-only"):
            record(f).on(device)(np.ones(6))


def locked_and_caught(x: Any) -> Any:
    y = np.zeros(6)
    v = y[:3]
    y.flags.writeable = False
    try:
        y[0] = x[0]
    except ValueError:
        v[:] = x[3:]
    y.flags.writeable = True
    y[5] = x[0]
    return y * x


def test_a_view_from_before_still_writes() -> None:
    with installed(host_session(Interim())):
        compared(locked_and_caught)
