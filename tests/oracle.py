"""References for gradients: extrapolated differences with an error estimate, and exact dual numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

STEP = 4e-4
Function = Callable[..., Any]


def flatten(value: Any) -> list[Any]:
    """The scalars and arrays inside nested lists, tuples and dicts, in order."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in flatten(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def like(value: Any, leaves: Iterator[Any]) -> Any:
    """The structure of `value` with its leaves taken from `leaves`."""
    if isinstance(value, dict):
        return {key: like(item, leaves) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[like(item, leaves) for item in value])
    if isinstance(value, (list, tuple)):
        return type(value)([like(item, leaves) for item in value])
    return next(leaves)


def same_bits(a: Any, b: Any) -> bool:
    """Equal structure, types, shapes, dtypes and bits; of named tuples, the names of the fields."""
    if type(a) is not type(b) and not (hasattr(a, "_fields") and getattr(b, "_fields", None) == a._fields):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same_bits(x, y) for x, y in zip(a, b))
    if isinstance(a, (np.ndarray, np.generic)):
        if a.dtype == b.dtype == np.longdouble:  # has padding that means nothing
            a, b = np.atleast_1d(a), np.atleast_1d(b)
            return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    return bool(a == b)


def entries(value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """All differentiable entries of a nested value as one float64 vector; plain data left out."""
    parts = [np.asarray(leaf, dtype=np.float64).ravel() for leaf in flatten(value) if is_differentiable(leaf)]
    return np.concatenate(parts) if parts else np.zeros(0)


def is_differentiable(leaf: Any) -> bool:
    return isinstance(leaf, (float, np.floating)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f")


def dot(a: Any, b: Any) -> float:
    """Inner product of two values of the same structure."""
    return float(entries(a) @ entries(b))


def finite(value: Any) -> bool:
    return bool(np.all(np.isfinite(entries(value))))


def random_like(value: Any, seed: int) -> Any:
    """A value of the same structure, types and dtypes with entries of ordinary size; plain data as it is."""
    rng = np.random.default_rng(seed)

    def draw(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
            drawn = np.empty_like(leaf)
            drawn[...] = rng.uniform(-1.0, 1.0, leaf.shape)
            return drawn
        return type(leaf)(rng.uniform(-1.0, 1.0)) if is_differentiable(leaf) else leaf

    return like(value, iter([draw(leaf) for leaf in flatten(value)]))


def widened(args: Sequence[Any]) -> tuple[Any, ...]:
    """Deep copies of the arguments, float32 arrays as float64."""
    return tuple(
        a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else copy.deepcopy(a) for a in args
    )


def shifted(args: Sequence[Any], direction: Any, step: float) -> tuple[Any, ...]:
    """`args + step * direction` entry by entry, in memory of its own."""

    def move(leaf: Any, along: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return np.add(leaf, step * along, np.empty_like(leaf))  # in the same layout: `order="A"` looks at it
        return type(leaf)(leaf + step * along)

    pairs = zip(flatten(tuple(args)), flatten(tuple(direction)))
    leaves = [move(a, d) if is_differentiable(a) else copy.deepcopy(a) for a, d in pairs]
    moved: tuple[Any, ...] = like(tuple(args), iter(leaves))
    return moved


class Estimate(NamedTuple):
    """A derivative, and how far it may be off: large at a kink, a jump or a point of bad conditioning."""

    value: float
    error: float


def directional(function: Function, args: Sequence[Any], direction: Any, weights: Any) -> Estimate:
    """The derivative of `<weights, function(args)>` along `direction`, with the error it shows.

    Two central differences are extrapolated to order four. One-sided differences must agree as well: their
    gap halves with the step where the function is smooth and stays where it has a kink.
    """
    base = widened(args)
    expected = [np.shape(leaf) for leaf in flatten(weights)]

    def at(step: float) -> float:
        try:
            value = function(*shifted(base, direction, step))
        except OverflowError:
            return np.nan
        if [np.shape(leaf) for leaf in flatten(value)] != expected:
            return np.nan
        if entries(value).size != entries(weights).size:  # a plain Fraction in place of a float
            return np.nan
        return dot(weights, value)

    with np.errstate(all="ignore"):
        middle = at(0.0)
        far, near = (at(STEP), at(-STEP)), (at(STEP / 2), at(-STEP / 2))
    coarse, fine = (far[0] - far[1]) / (2 * STEP), (near[0] - near[1]) / STEP
    gap_coarse, gap_fine = (far[0] + far[1] - 2 * middle) / STEP, (near[0] + near[1] - 2 * middle) / (STEP / 2)
    value = (4.0 * fine - coarse) / 3.0
    scale = 1e-15 / STEP * (abs(middle) + 1.0)
    error = abs(fine - coarse) + abs(2.0 * gap_fine - gap_coarse) + scale
    return Estimate(value, error if np.isfinite(error) else np.inf)


def units(args: Sequence[Any]) -> Iterator[Any]:
    """One direction per differentiable entry of the arguments, in the order of `entries`."""
    base = widened(args)
    leaves = flatten(base)
    for place, leaf in enumerate(leaves):
        if not is_differentiable(leaf):
            continue
        for entry in range(np.size(leaf)):
            zeros = [np.zeros(np.shape(item)) if is_differentiable(item) else item for item in leaves]
            zeros[place].flat[entry] = 1.0
            yield like(
                base,
                iter([z if np.ndim(z) else float(z) if is_differentiable(i) else z for z, i in zip(zeros, leaves)]),
            )


def gradient(function: Function, args: Sequence[Any], weights: Any) -> tuple[Any, float]:
    """Gradient of `<weights, function(args)>` as one vector, and the largest error estimate relative to it."""
    estimates = [directional(function, args, unit, weights) for unit in units(args)]
    values = np.array([e.value for e in estimates])
    errors = [e.error for e in estimates]
    if not np.all(np.isfinite(values)):
        return values, np.inf
    return values, max(errors, default=0.0) / (1.0 + float(np.max(np.abs(values), initial=0.0)))


LARGE = 2000


class TooLarge(Exception):
    """A fraction has grown beyond `LARGE` bits: repeated products in loops would never end."""


@dataclass(frozen=True, eq=False)
class Dual:
    """A number and its derivative in one direction, exact over fractions. Comparisons look at the number."""

    value: Any
    tangent: Any = Fraction(0)

    def __post_init__(self) -> None:
        x = self.value
        if isinstance(x, Fraction) and max(abs(x.numerator), x.denominator).bit_length() > LARGE:
            raise TooLarge

    def __add__(self, other: Any) -> Dual:
        o = lifted(other)
        return Dual(self.value + o.value, self.tangent + o.tangent)

    def __sub__(self, other: Any) -> Dual:
        return self + -lifted(other)

    def __rsub__(self, other: Any) -> Dual:
        return lifted(other) + -self

    def __mul__(self, other: Any) -> Dual:
        o = lifted(other)
        return Dual(self.value * o.value, self.tangent * o.value + self.value * o.tangent)

    def __truediv__(self, other: Any) -> Dual:
        o = lifted(other)
        quotient = self.value / o.value
        return Dual(quotient, (self.tangent - quotient * o.tangent) / o.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return lifted(other) / self

    def __pow__(self, power: int) -> Dual:
        slope = power * self.value ** (power - 1) if power else Fraction(0)
        return Dual(self.value**power, slope * self.tangent)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.tangent)

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Dual:
        sign = (self.value > 0) - (self.value < 0)
        return Dual(abs(self.value), sign * self.tangent)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < lifted(other).value)

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= lifted(other).value)

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > lifted(other).value)

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= lifted(other).value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == lifted(other).value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)


def lifted(value: Any) -> Dual:
    return value if isinstance(value, Dual) else Dual(value)


def exact_gradient(function: Function, args: Sequence[Any], weights: Sequence[Any]) -> list[Fraction]:
    """The exact gradient of `<weights, function(args)>` in every fraction among the arguments, in order."""
    leaves = flatten(tuple(args))
    result = []
    for place, leaf in enumerate(leaves):
        if not isinstance(leaf, Fraction):
            continue
        duals = [Dual(a, Fraction(int(i == place))) if isinstance(a, Fraction) else a for i, a in enumerate(leaves)]
        outputs = flatten(function(*like(tuple(args), iter(duals))))
        result.append(sum((w * lifted(o).tangent for w, o in zip(weights, outputs)), Fraction(0)))
    return result


def affordable(function: Function, args: Sequence[Any]) -> bool:
    """Whether fractions stay small all along the way of a call."""
    duals = iter([Dual(a) if isinstance(a, Fraction) else a for a in flatten(tuple(args))])
    try:
        function(*like(tuple(args), duals))
    except TooLarge:
        return False
    return True
