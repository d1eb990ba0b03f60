"""Stand-ins: what has the type, shape and dtype of a value that is not computed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import an
from ..ops.block import Like, Operation, like
from ..recording import refuse, value

ndarray = np.ndarray
ONES: dict[Any, Any] = {float: 1.0, int: 1, bool: True, complex: 1 + 0j, Fraction: Fraction(1), Decimal: Decimal(1)}
TRIES: tuple[Any, ...] = (1.0, 0.5, 2.0, 0.0, 3.0)
# of rank 0 these give arrays, not scalars
ALSO_ARRAYS = frozenset({"where", "copy", "array", "nan_to_num", "tensordot", "cov", "corrcoef", "polygamma"})


def described(v: Any) -> tuple[str, tuple[int, ...], str]:
    """Type, shape and dtype of a value."""
    if type(v) is ndarray:
        return "array", v.shape, str(v.dtype)
    if isinstance(v, np.generic):
        return "scalar", (), str(v.dtype)
    if type(v) in ONES:
        return "number", (), type(v).__name__
    if isinstance(v, tuple):
        return "tuple", (len(v),), ""
    if v is None:
        return "none", (), ""
    raise refuse(f"{an(type(v).__name__)} cannot be the value of a node of a graph", "Use numbers and arrays.")


def blank(type_: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """A stand-in: memory that nobody touches, or a one. Data is zero, an index within every bound."""
    if type_ == "array":
        kind = np.dtype(dtype)
        try:
            return (np.empty if kind.kind in "fc" else np.zeros)(shape, kind)
        except MemoryError:
            return np.broadcast_to(np.zeros((), kind), shape)
    if type_ == "scalar":
        kind = np.dtype(dtype)
        return kind.type(kind.kind in "fc")
    return next(kind(0) if kind in (int, bool) else one for kind, one in ONES.items() if kind.__name__ == dtype)


def of_like(x: Like, op: Operation) -> Any:
    """The stand-in of what a shape rule describes."""
    if x.dtype is None:
        return np.empty(x.shape) if x.shape else 1.0
    if x.dtype is complex:  # a Python number
        return ONES[complex]
    if x.shape or op.views or op.name in ALSO_ARRAYS:
        return blank("array", x.shape, x.dtype)
    return blank("scalar", (), x.dtype)


def by_rule(op: Operation, operands: Any, attributes: dict[str, Any]) -> Any:
    """The result of an operation by the shape rule of its block."""
    assert op.shape is not None
    return of_like(op.shape(*[like(value(x)) for x in operands], **attributes), op)


def by_broadcasting(call: Any, operands: Any, rest: Any = (), settings: Any = None) -> Any:
    """The result of an elementwise call: shapes broadcast, and the type is what the call gives without entries."""
    values = [np.array(x) if isinstance(x, (list, tuple)) else x for x in map(value, operands)]
    arrays = [x for x in values if type(x) is ndarray]
    settings = settings or {}
    if not arrays:
        return of_numbers(call, values, rest, settings)
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    few = [np.ones(tiny(x.shape), x.dtype) if type(x) is ndarray else x for x in values]
    with np.errstate(all="ignore"):
        r = call(*few, *rest, **settings)
    return blank("array", shape, r.dtype) if type(r) is ndarray else blank(*described(r))


def tiny(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape of the same rank with few entries."""
    return tuple([min(n, 2 if len(shape) < 16 else 1) for n in shape])


def of_numbers(call: Any, values: list[Any], rest: Any, settings: Any) -> Any:
    """The result for numbers: what the call gives at a point where it does not raise."""
    error: Exception | None = None
    for start in TRIES:
        try:
            with np.errstate(all="ignore"):
                r = call(*[at(x, start) for x in values], *rest, **settings)
        except (ArithmeticError, ValueError) as raised:
            error = raised
            continue
        return blank(*described(r))
    assert error is not None
    raise error


def at(x: Any, start: float) -> Any:
    """A number of the type of `x`."""
    return type(x)(start) if type(x) in ONES or isinstance(x, np.generic) else x


def axes_of(x: Any) -> tuple[int, ...]:
    """The axes of an array, from the one along which entries lie farthest apart to that of neighbours."""
    return tuple(sorted(range(x.ndim), key=lambda i: -x.strides[i]))


def assignable(v: Any, region: Any) -> None:
    """Raise what NumPy raises where `v` cannot be stored into the part of an array."""
    given = np.shape(v)
    shape = np.shape(region)
    short = given
    while len(short) > len(shape) and short and short[0] == 1:
        short = short[1:]
    fits = len(short) <= len(shape) and all(n in (1, m) for n, m in zip(short[::-1], shape[::-1], strict=False))
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {given} into shape {shape}")
