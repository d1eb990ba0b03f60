"""Cotangents of results: checked against the value that they belong to."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .arrays import ARRAYS, remote
from .errors import RecordError, an
from .recording import is_complex
from .tape import Ref

ndarray = np.ndarray


def seed(place: Any, x: Any, cotangent: Any, where: str = "the value") -> list[tuple[Any, Any]]:
    """Check a cotangent against the value it belongs to; pairs of (recorded value, cotangent)."""
    if place is None:
        return []
    if isinstance(place, Ref):
        return [(place, checked(x, cotangent, where))]
    if isinstance(place, list):
        if not isinstance(cotangent, (list, tuple)) or len(cotangent) != len(place):
            raise ValueError(f"the cotangent of {where} has to be a sequence of {len(place)} entries")
        return [
            pair
            for i, (p, v, c) in enumerate(zip(place, x, cotangent, strict=True))
            for pair in seed(p, v, c, f"{where}[{i}]")
        ]
    pairs = []
    inside = isinstance(x, dict)
    for k in cotangent if inside and isinstance(cotangent, dict) else ():
        if k not in place:
            raise ValueError(f"the cotangent of {where} has an entry {k!r}, which the value has not")
    for k, p in place.items():
        try:
            c = cotangent[k] if inside else getattr(cotangent, k)
        except (KeyError, AttributeError, TypeError, IndexError):
            raise ValueError(f"the cotangent of {where} lacks {k!r}") from None
        pairs += seed(p, x[k] if inside else getattr(x, k), c, f"{where}[{k!r}]" if inside else f"{where}.{k}")
    return pairs


def checked(x: Any, cotangent: Any, where: str, what: str = "cotangent") -> Any:
    """A cotangent in the shape and dtype of the value `x`."""
    if remote(x):
        return x.session.cotangent(x, cotangent, where, what)
    if type(x) in ARRAYS or isinstance(x, np.generic) or type(x) in (float, complex):
        try:
            c = np.asarray(cotangent)
        except RecordError:
            raise
        except Exception as error:
            raise ValueError(f"the {what} of {where} cannot be read as an array: {error}") from None
        shape = getattr(x, "shape", ())
        if c.dtype.kind not in ("fiubc" if is_complex(x) else "fiub"):
            raise TypeError(f"the {what} of {where} is {c.dtype}, expected real numbers")
        if c.shape != shape:
            raise ValueError(f"the {what} of {where} has shape {c.shape}, expected {shape}")
        if type(x) in ARRAYS:
            return c.astype(x.dtype, copy=False)  # nobody writes into it
        return type(x)(c.item() if c.dtype.char not in "gG" else c[()])
    if isinstance(cotangent, (int, type(x))):
        return type(x)(cotangent)
    raise TypeError(f"the {what} of {where} is {an(type(cotangent).__name__)}, expected {an(type(x).__name__)}")


def ones(place: Any, x: Any) -> Any:
    """The default seed: ones in the structure of the value."""
    if isinstance(place, Ref):
        if is_complex(x):
            raise TypeError("the value is complex: its pullback needs a cotangent, dL/dRe + 1j*dL/dIm of a real L")
        return np.ones_like(x) if type(x) in ARRAYS else type(x)(1)
    if isinstance(place, list):
        return [ones(p, v) for p, v in zip(place, x, strict=True)]
    if isinstance(place, dict):
        if isinstance(x, dict):
            return {k: ones(p, x[k]) for k, p in place.items()}
        y = copy.copy(x)
        for k, p in place.items():
            object.__setattr__(y, k, ones(p, getattr(x, k)))
        return y
    return None
