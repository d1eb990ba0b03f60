"""Products in pullbacks: an entry of the cotangent that is exactly zero contributes exactly zero.

While `bilinear(f, g, x)` runs `f`, products know which of their operands is the cotangent `g`: the one that looks at
its memory. Products of entries ask `g == 0` in the same kernel. A product of matrices is cuBLAS's; one kernel then
looks at every entry of the result, and computes those that are not finite again, without the products that a zero of
`g` is in. So nothing is read back, and nothing is asked on the host.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .kernels_window import repaired
from .views import broadcast_to

Array = Any  # one of a device: NumPy's stubs know only their own


class Strict(threading.local):
    """The operands of a bilinear function that runs; `sides`: which operand of the next product is the cotangent."""

    g: Any = None
    x: Any = None
    sides: tuple[bool, bool] | None = None


STATE = Strict()


def owner(x: Array) -> Any:
    return x if x.base is None else x.base


def bilinear(f: Callable[[Any, Any], Any], g: Any, x: Any) -> Any:
    """`f(g, x)`, sums of products of an entry of `g` and one of `x`; those with a zero of `g` are exactly zero."""
    before = STATE.g, STATE.x, STATE.sides
    STATE.g, STATE.x, STATE.sides = g, x, None
    try:
        return f(g, x)
    finally:
        STATE.g, STATE.x, STATE.sides = before


@contextmanager
def side(first: bool, second: bool) -> Iterator[None]:
    """Products inside: which of their operands is the cotangent."""
    before = STATE.sides
    STATE.sides = (first, second) if first or second else before
    try:
        yield
    finally:
        STATE.sides = before


def is_cotangent(x: Any) -> bool:
    """Whether an array looks at the memory of the cotangent, or is it."""
    g = STATE.g
    return g is not None and hasattr(x, "layout") and hasattr(g, "layout") and owner(x) is owner(g)


def sides(a: Any, b: Any) -> tuple[bool, bool]:
    """Which operand is the cotangent. Both, where copies leave it open: a zero of either then makes a zero."""
    if STATE.sides is not None:
        return STATE.sides
    if STATE.g is None:
        return False, False
    first, second = is_cotangent(a), is_cotangent(b)
    if not first and not second:
        other = owner(STATE.x) if hasattr(STATE.x, "layout") else None
        first, second = owner(b) is other, owner(a) is other
        if not first and not second:
            return True, True
    return first, second


def times(a: Array, b: Array) -> Array:
    """`a * b`, entry by entry."""
    return times_of(a, b, *sides(a, b))


def times_of(a: Array, b: Array, first: bool, second: bool) -> Array:
    y: Array = np.multiply(a, b)
    if not first and not second:
        return y
    zero = np.equal(a, 0) | np.equal(b, 0) if first and second else np.equal(a if first else b, 0)
    found: Array = np.where(zero, 0, y)
    return found


def matmul_done(y: Array, a: Array, b: Array) -> None:
    """Called with a product of matrices, or stacks of them, that cuBLAS has computed."""
    first, second = sides(a, b)
    if not (first or second) or y.dtype.kind not in "fc":
        return
    batch = y.shape[:-2]
    a, b = [x if x.shape[:-2] == batch else broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b)]
    session = y.session
    which = "both" if first and second else "first" if first else "second"
    session.launch(repaired(session.spot(y), session.readable(a), session.readable(b), which))
