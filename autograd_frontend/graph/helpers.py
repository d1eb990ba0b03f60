"""Steps of derivatives that look at values when they run."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import cotangents
from ..ops.plain import FLOATS, PLAIN

times, bilinear, invert = PLAIN.times, PLAIN.bilinear, FLOATS.invert


def strong_zero(d: Any, g: Any) -> Any:
    """`d` with exact zeros where the cotangent `g` is zero, if it has a NaN there."""
    if isinstance(d, (np.ndarray, np.generic)):
        return cotangents.strong_zero(d, g)
    return type(d)(0) if g == 0 and d != d else d


def followed_zero(d: Any, g: Any) -> Any:
    """`strong_zero` where a derivative is taken through it: no look at a value decides what is done."""
    if isinstance(d, (np.ndarray, np.generic)):
        r = np.where(np.logical_and(np.isnan(d).any(), np.equal(g, 0)), 0, d)
        return r if np.ndim(d) else r[()]
    return type(d)(0) if g == 0 and d != d else d


def fitted(d: Any, g: Any, shape: Any, dtype: Any, strict: bool) -> Any:
    """`d` summed to the shape of an operand, in its dtype."""
    if strict:
        d = strong_zero(d, g)
    return cotangents.fitted(d, g, (shape, dtype and np.dtype(dtype), False))


def pulled(rule: Any, floats: bool, fit: Any, g: Any, saved: list[Any], number: str) -> Any:
    """The cotangent of an operand by a rule, in the operand's shape and dtype; `number` is that of a number."""
    with np.errstate(all="ignore"):
        d = by_rule(rule, floats, g, saved)
        if fit is not None:
            d = strong_zero(d, g) if fit is True else fitted(d, g, *fit)
    if number == "float":
        return float(d)
    return np.dtype(number).type(d) if number.startswith("float") and not isinstance(d, np.generic) else d


def by_rule(rule: Any, floats: bool, g: Any, saved: list[Any]) -> Any:
    """A rule; of floats that raise where IEEE has an answer, with float64."""
    try:
        return rule(FLOATS if floats else PLAIN, g, *saved)
    except (ArithmeticError, ValueError):
        if not floats:
            raise
        return float(rule(PLAIN, *[np.float64(x) if type(x) in (int, float) else x for x in (g, *saved)]))


def where(condition: Any, x: Any, y: Any) -> Any:
    """One or the other; a number of Python's beside one of NumPy's in its type."""
    r = PLAIN.where(bool(condition), x, y)
    other = y if isinstance(y, np.generic) else x
    return type(other)(r) if type(r) is float and isinstance(other, np.generic) else r


def both(a: Any, b: Any) -> bool:
    return bool(a and b)


def either(a: Any, b: Any) -> bool:
    return bool(a or b)


def real(x: Any) -> Any:
    """A power of floats, which is real."""
    if isinstance(x, complex):
        raise TypeError("a power of a negative float is complex, and the derivative of complex numbers is no graph")
    return x


def number(x: Any) -> Any:
    """A number, as it is."""
    return x
