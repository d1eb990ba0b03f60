"""Sums of products, of which those with a zero tangent are exactly zero."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .arrays import ARRAYS, remote
from .ops.plain import finite
from .recording import is_complex


def zeros_of(x: Any) -> Any:
    """Zeros of the shape and type of `x`; `0*x` of an infinity is none."""
    if type(x) in ARRAYS and x.dtype.kind in "fc":
        return np.zeros_like(x)
    return type(x)(0) if isinstance(x, (float, complex, np.inexact, Fraction, Decimal)) else 0 * x


def strong(f: Callable[[list[Any]], Any], factors: list[Any], moves: int) -> Any:
    """`f(factors)`, every entry of which is a sum of products of an entry of each factor. A product with a zero of the
    tangent, `factors[moves]`, is exactly zero; what infinities and NaNs in the others add is found from how many
    products have them, and with which signs; of complex numbers NaN."""
    others = [x for i, x in enumerate(factors) if i != moves]
    if any(map(remote, factors)):  # where nothing is looked at, products take the care
        from .devices.strict import bilinear

        return bilinear(lambda *_: f(factors), factors[moves], next(filter(remote, others), None))
    d = f(factors)
    if finite(d) or all(map(finite, others)):
        return d
    t = np.asarray(factors[moves])

    def of(t: Any, part: Callable[[Any], Any]) -> Any:
        parts = [t if i == moves else part(np.asarray(x)) for i, x in enumerate(factors)]
        return f([y if is_complex(y) else np.asarray(y, t.dtype) for y in parts])

    def ends(x: Any) -> Any:
        return np.where(np.isfinite(x), x, 0)

    def far(t: Any, part: Callable[[Any], Any]) -> Any:
        """Of the products of `part`, those that are not finite."""
        return of(t, part) - of(t, lambda x: np.where(np.isfinite(x), part(x), 0))

    moved = np.asarray(t != 0, t.real.dtype)
    count = far(moved, lambda x: np.ones(x.shape, t.real.dtype))
    if is_complex(d):  # an infinite one has no sign
        return of(t, ends) + np.where(count == 0, 0, complex(np.nan, np.nan))
    infinite = far(moved, lambda x: ~np.isnan(x) & (x != 0))
    balance = far(np.sign(t), lambda x: np.where(np.isnan(x), 0, np.sign(x)))
    clear = (infinite == count) & (abs(balance) == abs(count))
    return of(t, ends) + np.where(count == 0, 0, np.where(clear, balance * np.inf, np.nan))
