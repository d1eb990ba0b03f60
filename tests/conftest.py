"""Every test leaves the package as it found it: nothing is recording, Python's recursion limit is what it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from autograd_frontend import recording
from autograd_frontend.devices.gpu import why_unavailable


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a GPU; skipped where there is none, unless REQUIRE_GPU=1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = why_unavailable() if marked else None
    if reason is None:
        return
    if os.environ.get("REQUIRE_GPU") == "1":
        raise pytest.UsageError(f"REQUIRE_GPU=1, and there is no GPU: {reason}")
    for item in marked:
        item.add_marker(pytest.mark.skip(reason=f"no GPU: {reason}"))


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    yield
    left = list(recording.ACTIVE)
    recording.ACTIVE.clear()
    assert not left, f"{len(left)} recordings are still running"
    assert sys.getrecursionlimit() == limit, "the recursion limit was changed"
