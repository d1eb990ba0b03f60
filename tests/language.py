"""Cases for test_language.py: functions that use one part of the language each, with arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

VECTOR = np.array([1.3, 0.6, 2.2, 3.1])
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def case(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put the function among the cases, to be called with these arguments."""

    def put(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((f, args))
        return f

    return put
