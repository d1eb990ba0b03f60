"""Every test leaves the package as it found it: nothing is recording, Python's recursion limit is what it was."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from autograd_frontend import recording


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    yield
    left = list(recording.ACTIVE)
    recording.ACTIVE.clear()
    assert not left, f"{len(left)} recordings are still running"
    assert sys.getrecursionlimit() == limit, "the recursion limit was changed"
