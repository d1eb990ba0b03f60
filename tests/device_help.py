"""What the tests of functions on a device share: a session without a GPU, and comparisons with NumPy's results."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tests.cuda.host import host_session
from tests.cuda.interim import Interim

A, B = np.sin(np.arange(24.0)).reshape(2, 3, 4), np.cos(np.arange(12.0)).reshape(3, 4).astype(np.float32)
V = np.array([0.5, -1.0, 2.0, 2.0, -3.5, 0.0])


@pytest.fixture
def device():
    """Expressions computed by NumPy, kernels written by hand by g++; all memory is given back."""
    session = host_session(Interim())
    yield session
    if session.live_bytes():
        gc.collect()  # an exception that was raised keeps its frames
    assert session.live_bytes() == 0


def sent(session, x):
    if type(x) is np.ndarray and x.dtype.kind in "biufc":
        return session.array(x)
    if type(x) in (list, tuple):
        return type(x)([sent(session, e) for e in x])
    return {k: sent(session, v) for k, v in x.items()} if type(x) is dict else x


def fetched(x):
    if hasattr(x, "layout"):
        return x.get()
    return [fetched(e) for e in x] if isinstance(x, (list, tuple)) else x


def same(y, expected, rtol=1e-12, atol=1e-13):
    """Values within a tolerance; shapes, dtypes, and whether it is a scalar, exactly."""
    y = fetched(y)
    if isinstance(expected, (list, tuple)):
        assert len(y) == len(expected)
        for a, b in zip(y, expected):
            same(a, b, rtol, atol)
        return
    assert np.shape(y) == np.shape(expected) and np.asarray(y).dtype == np.asarray(expected).dtype
    assert isinstance(y, np.ndarray) == isinstance(expected, np.ndarray)
    assert np.allclose(y, expected, rtol, atol, equal_nan=True)


def both(session, f, *xs, rtol=1e-12, atol=1e-13):
    same(f(*sent(session, xs)), f(*xs), rtol, atol)
