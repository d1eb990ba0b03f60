"""What a function gives whose derivative is taken inside a recorded function: its plain value, where the cotangents of
its numbers go, and cotangents and tangents that are recorded themselves."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .arrays import ARRAYS, is_array
from .callables import of
from .errors import an
from .recording import settle, value
from .seeds import checked
from .tape import Ref
from .trees import is_record, like, rebuilt

ndarray = np.ndarray


def places_of(x: Any, counts: Callable[[Any], bool]) -> Any:
    """The recorded values that count in a result, in its structure; None where there is none."""
    x = settle(x) if type(x) in ARRAYS else x
    if isinstance(x, Ref):
        return x if counts(x) else None
    if isinstance(x, (list, tuple)):
        found = [places_of(e, counts) for e in x]
        return found if any(p is not None for p in found) else None
    if isinstance(x, dict):
        named = {k: places_of(e, counts) for k, e in x.items()}
    elif is_record(x):
        named = {f.name: places_of(getattr(x, f.name, None), counts) for f in dataclasses.fields(x)}
    else:
        return None
    return named if any(p is not None for p in named.values()) else None


def replaced(x: Any, leaf: Callable[[Any], Any]) -> Any:
    """The same structure with what `leaf` makes of everything in it that is no container."""
    if isinstance(x, Ref):
        return leaf(x)
    if isinstance(x, (list, tuple)):
        return like(x, [replaced(e, leaf) for e in x])
    if isinstance(x, dict):
        found = {k: replaced(e, leaf) for k, e in x.items()}
        return found if type(x) is dict else rebuilt(x, found)
    if is_record(x):
        y = copy.copy(x)
        for f in dataclasses.fields(x):
            object.__setattr__(y, f.name, replaced(getattr(x, f.name, None), leaf))
        return y
    return leaf(x)


def value_of(x: Any) -> Any:
    """A result without handles."""
    return replaced(x, lambda e: e.v if isinstance(e, Ref) else e)


def held(x: Any) -> Any:
    """A tangent in memory of its own: the function may write into what it was made of."""
    return replaced(x, lambda e: of(np.copy)(e) if is_array(value(e)) else e)


def entry_of(x: Any, k: Any) -> Any:
    return x[k] if isinstance(x, (dict, list, tuple)) else getattr(x, k)


def recorded_seed(place: Any, x: Any, c: Any, where: str = "the value") -> list[tuple[Any, Any]]:
    """Cotangents that are recorded themselves, of the shape of the value."""
    if place is None:
        return []
    if isinstance(place, Ref):
        return [(place, fitting(x, c, where, "cotangent"))]
    keys = range(len(place)) if isinstance(place, list) else place
    if isinstance(place, list) and len(c) != len(place):
        raise ValueError(f"the cotangent of {where} has {len(c)} entries, expected {len(place)}")
    found = []
    for k in keys:
        try:
            e = entry_of(c, k)
        except (KeyError, AttributeError, TypeError, IndexError):
            raise ValueError(f"the cotangent of {where} lacks {k!r}") from None
        found += recorded_seed(place[k], entry_of(x, k), e, f"{where}[{k!r}]")
    return found


def fitting(x: Any, c: Any, where: str, what: str) -> Any:
    """A cotangent or tangent in the shape and type of the value `x`, recorded or not."""
    c = settle(c)
    if not isinstance(c, Ref):
        return checked(x, c, where, what)
    v: Any = value(c)
    if np.shape(v) != np.shape(x):
        raise ValueError(f"the {what} of {where} has shape {np.shape(v)}, expected {np.shape(x)}")
    if is_array(x):
        return c if is_array(v) and v.dtype == x.dtype else of(np.array)(c, dtype=x.dtype)
    if isinstance(x, (Fraction, Decimal)) and type(v) is not type(x):
        raise TypeError(f"the {what} of {where} is {an(type(v).__name__)}, expected {an(type(x).__name__)}")
    c = of(np.ndarray.item)(c) if is_array(v) else c
    return c if value(c).__class__ is x.__class__ else of(x.__class__)(c)
