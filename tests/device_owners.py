"""What tests of ownership on a device share: a session whose memory must be back where it was, and where arrays are."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.cuda.host import host, installed, to_cupy
from tests.cuda.sessions import SESSIONS

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
