"""All that arrays of a device do for NumPy's functions. Importing this registers the families."""

from __future__ import annotations

from typing import Any

from . import (
    functions_einsum,
    functions_fourier,
    functions_linalg,
    functions_moving,
    functions_numbers,
    functions_reduce,
    functions_scan,
    functions_scipy,
    functions_sort,
    functions_special,
)
from .functions_index import gather, put
from .functions_rules import namespace
from .functions_scipy import BY_PATH
from .table import FUNCTIONS, METHODS, Unsupported

__all__ = ["BY_PATH", "DEVICE", "FUNCTIONS", "METHODS", "Unsupported", "gather", "ops_of", "put"]

FAMILIES = (
    functions_einsum, functions_fourier, functions_linalg, functions_moving, functions_numbers, functions_reduce,
    functions_scan, functions_scipy, functions_sort, functions_special,
)  # fmt: skip
DEVICE = namespace(None)  # of no session: what makes something of nothing cannot be called


def ops_of(session: Any) -> Any:
    """The functions that rules use on arrays of a session."""
    found = vars(session).get("_ops")
    if found is None:
        found = session._ops = namespace(session)
    return found
