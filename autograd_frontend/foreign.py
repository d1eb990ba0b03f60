"""Arrays of other libraries, which lend their memory by DLPack: torch's tensors, jax's arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def lends(x: Any) -> bool:
    """Whether `x` is an array of a library that is not NumPy."""
    return hasattr(type(x), "__dlpack__") and not isinstance(x, (np.ndarray, np.generic))


def borrowed(x: Any, name: str = "an argument") -> np.ndarray:
    """The memory of an array of the host, as a NumPy array: no copy."""
    try:
        return np.from_dlpack(x)
    except (RuntimeError, BufferError, TypeError, ValueError) as error:
        kind = f"{type(x).__module__}.{type(x).__name__}"
        raise TypeError(f"{name} is a {kind}, whose memory cannot be used as it is: {error}") from None


def library_of(x: Any) -> Callable[[Any], Any]:
    """What makes an array of the library of `x` of memory that another one lends."""
    space = x.__array_namespace__() if hasattr(x, "__array_namespace__") else None
    if not hasattr(space, "from_dlpack"):
        space = sys.modules[type(x).__module__.partition(".")[0]]
    return space.from_dlpack  # type: ignore[no-any-return, union-attr]
