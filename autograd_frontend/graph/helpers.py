"""Steps of derivatives that look at values when they run."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import cotangents
from ..ops.plain import FLOATS, PLAIN

times, bilinear, both, either, invert = PLAIN.times, PLAIN.bilinear, FLOATS.both, FLOATS.either, FLOATS.invert


def strong_zero(d: Any, g: Any) -> Any:
    """`d` with exact zeros where the cotangent `g` is zero, if it has a NaN there."""
    if isinstance(d, (np.ndarray, np.generic)):
        return cotangents.strong_zero(d, g)
    return type(d)(0) if g == 0 and d != d else d


def fitted(d: Any, g: Any, shape: Any, dtype: Any, strict: bool) -> Any:
    """`d` summed to the shape of an operand, in its dtype."""
    return cotangents.fitted(d, g, (shape, dtype and np.dtype(dtype), strict))


def where(condition: Any, x: Any, y: Any) -> Any:
    """One or the other."""
    return PLAIN.where(bool(condition), x, y)


def number(x: Any) -> Any:
    """A number, as it is."""
    return x
