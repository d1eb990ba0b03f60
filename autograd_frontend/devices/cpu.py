"""The NumPy session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Session:
    """A device: its name, and the module whose arrays live on it."""

    name: str
    xp: Any


CPU = Session("cpu", np)
