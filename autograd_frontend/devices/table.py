"""What is done on a device for a NumPy function, method of a ufunc, or method of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # NumPy function -> the same on arrays of a device
METHODS: dict[tuple[str, str], Callable[..., Any]] = {}  # (ufunc, method), such as ("add", "accumulate")


class Unsupported(TypeError):
    """NumPy has it, the device does not."""


NOT_THERE = "has no GPU version; run it on the CPU, or write it with functions that have one"


class NoAttribute(Unsupported, AttributeError):
    """The same of an attribute: `hasattr` says that it is not there."""


def unsupported(what: str) -> Unsupported:
    return Unsupported(f"{what} {NOT_THERE}")


def implements(*functions: Any) -> Callable[[Any], Any]:
    """Put a function into the table for NumPy's functions of the same parameters."""

    def put(f: Any) -> Any:
        for function in functions:
            FUNCTIONS[function] = f
        return f

    return put


def method(*names: str) -> Callable[[Any], Any]:
    """The same for methods of ufuncs, written "add.accumulate"."""

    def put(f: Any) -> Any:
        for name in names:
            ufunc, _, which = name.partition(".")
            METHODS[ufunc, which] = f
        return f

    return put


def name_of(function: Any) -> str:
    module = (getattr(function, "__module__", "") or "").replace("numpy", "np")
    name: str = getattr(function, "__name__", str(function))
    return f"np.{name}" if module in ("", "np") or isinstance(function, np.ufunc) else f"{module}.{name}"


def implementation(function: Any) -> Callable[..., Any]:
    """What stands in the table for a function; refused by name where nothing does."""
    found = FUNCTIONS.get(function)
    if found is None:
        raise unsupported(name_of(function))
    return found
