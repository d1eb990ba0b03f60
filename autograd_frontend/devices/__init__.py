"""Sessions: where arrays live and operations run."""

from __future__ import annotations

import re
from typing import Any

from ..errors import DeviceUnavailable
from .cpu import CPU, Session

__all__ = ["CPU", "Session", "session", "session_of"]


def session(device: str) -> Session:
    """The session of a device name. An unavailable device is an error, never a switch to another one."""
    if device == "cpu":
        return CPU
    if isinstance(device, str) and re.fullmatch(r"gpu(:\d+)?", device):
        raise DeviceUnavailable(f'this version has no GPU session, so device "{device}" cannot be used; use "cpu"')
    raise ValueError(f'there is no device {device!r}; write "cpu"')


def session_of(x: Any) -> Any:
    """The session of the device that an array is on; None for what is not on one."""
    return getattr(x, "session", None)
