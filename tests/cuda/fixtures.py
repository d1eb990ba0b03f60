"""The fixture `device`: a session whose memory must be back where it was when the test ends."""

from __future__ import annotations

import gc
from typing import Any, Iterator

import pytest

from autograd_frontend.devices.sessions import Session

from .host import installed
from .sessions import SESSIONS


@pytest.fixture(params=["numpy", "g++", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: Any) -> Iterator[Session]:
    """Expressions computed by NumPy, by kernels as g++ compiles them, and by a GPU if there is one."""
    with installed(SESSIONS[request.param]()) as session:
        yield session
        gc.collect()  # of an exception that was expected, with its frames
        assert session.live_bytes() == 0, "memory is held when nobody holds an array"
