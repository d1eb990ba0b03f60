"""Sessions: where arrays live and operations run."""

from __future__ import annotations

import re
import sys
from typing import Any

from .cpu import CPU, Session
from .table import Unsupported

__all__ = ["CPU", "SESSIONS", "Session", "Unsupported", "session", "session_of"]

SESSIONS: dict[int, Any] = {}  # number of a GPU -> its session


def session(device: str) -> Any:
    """The session of a device name. An unavailable device is an error, never a switch to another one."""
    if device == "cpu":
        return CPU
    if not isinstance(device, str) or not re.fullmatch(r"gpu(:\d+)?", device):
        raise ValueError(f'there is no device {device!r}; write "cpu", "gpu" (CuPy\'s current one) or "gpu:1"')
    return numbered(int(device[4:]) if device[3:] else None)


def numbered(number: int | None) -> Any:
    """The session of a GPU; None: CuPy's current one."""
    if number is None:
        number = current_gpu() if "cupy" in sys.modules else 0
    if number not in SESSIONS:
        from .gpu import Driver
        from .sessions import Session as DeviceSession

        SESSIONS[number] = DeviceSession(Driver(number))
    return SESSIONS[number]


def current_gpu() -> int:
    """The number of CuPy's current device, 0 where that cannot be said."""
    from .gpu import current

    try:
        return current()
    except (ImportError, RuntimeError):
        return 0


PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})


def session_of(x: Any) -> Any:
    """The session that an array lives on; None for what is on the host."""
    kind = type(x)
    if kind in PLAIN or kind.__module__ in ("numpy", "builtins"):
        return None
    if kind.__module__.startswith(__name__) and hasattr(x, "layout"):
        return x.session
    if kind.__module__.partition(".")[0] == "cupy" and hasattr(x, "data"):
        return numbered(x.data.device_id)
    if hasattr(kind, "__dlpack_device__"):  # PyTorch has the other protocol too, of arrays on the host
        where, number = x.__dlpack_device__()
        return numbered(int(number)) if int(where) in (2, 13) else None  # CUDA, and its managed memory
    return numbered(None) if hasattr(kind, "__cuda_array_interface__") else None
