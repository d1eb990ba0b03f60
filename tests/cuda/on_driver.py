"""Launches on NumPy arrays through a driver of a device: what they look at is copied there, and back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from autograd_frontend.devices.expressions import Launch


def block(x: np.ndarray) -> np.ndarray:
    """The bytes of the memory that an array is a view of."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return np.ctypeslib.as_array((ctypes.c_uint8 * max(x.nbytes, 1)).from_address(x.ctypes.data))


def run(driver: Any, launch: Launch) -> None:
    """Run a launch, with its arrays copied to the device before and back afterwards."""
    there: dict[int, tuple[np.ndarray, Any]] = {}
    arguments = []
    for x in launch.arguments:
        if isinstance(x, np.ndarray):
            raw = block(x)
            memory = there.setdefault(raw.ctypes.data, (raw, driver.from_host(raw)))[1]
            x = int(memory.data.ptr + x.ctypes.data - raw.ctypes.data)
        arguments.append(x)
    driver.launch(driver.function(launch.kernel), launch, arguments)
    for raw, memory in there.values():
        raw[...] = driver.to_host(memory)
