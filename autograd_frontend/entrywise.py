"""Functions of numbers on arrays of them, with the bits that they have one by one.

NumPy's functions give an entry of an array the bits that they give it alone; that is looked at before it is relied on
(`proven`). Python's own (`math.sin`, `**`) are called for one entry after the other.

Rules of derivatives likewise: those of floats are written with `math` (`FLOATS`), so on arrays of floats they run with
`Entrywise`, whose functions are `math`'s for every entry.
"""

from __future__ import annotations

import copy
import dis
import functools
import math
import operator
from collections.abc import Callable, Iterable
from itertools import repeat
from types import CodeType
from typing import Any

import numpy as np

from .ops.block import Operation
from .ops.plain import FLOATS, PLAIN, namespace

ndarray = np.ndarray
DTYPES: dict[Any, Any] = {float: np.float64, int: np.int64, bool: np.bool_}
EXACT = 2**53  # up to here an integer is a float


def dtype_of(kind: Any) -> Any:
    """What an array of numbers of this type is made of; None where there is none."""
    if kind in DTYPES:
        return np.dtype(DTYPES[kind])
    return np.dtype(kind) if issubclass(kind, np.generic) and np.dtype(kind).kind in "fiub" else None


def column(x: Any, kind: Any, python: bool) -> Iterable[Any]:
    """The entries of an array as numbers of their type; of Python's where that makes no difference."""
    return x.tolist() if python or kind in DTYPES else x  # type: ignore[no-any-return]


def each(call: Callable[..., Any], columns: Any, dtype: Any, n: int) -> ndarray:
    return np.fromiter(map(call, *columns), dtype, n)


def same_bits(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f")) and (
        a.dtype.kind != "f" or bool(np.array_equal(np.signbit(a) & (a == 0), np.signbit(b) & (b == 0)))
    )


@functools.lru_cache(1000)
def proven(call: Callable[..., Any], types: tuple[str, ...], numbers: tuple[Any, ...]) -> bool:
    """Whether a function gives an entry of an array the bits that it gives it alone, for operands of these dtypes; but
    `numbers` that are not None are the same for all entries."""
    with np.errstate(all="ignore"):  # whatever the user has set
        return same_alone(call, types, numbers)


def same_alone(call: Callable[..., Any], types: tuple[str, ...], numbers: tuple[Any, ...]) -> bool:
    rng = np.random.default_rng(len(types))
    n = 1500
    samples: list[Any] = []
    for char, number in zip(types, numbers, strict=True):
        if number is not None:
            samples.append(number)
            continue
        x = rng.standard_normal(n) * 10.0 ** rng.integers(-2, 3, n)
        x[: n // 2] = rng.uniform(-1, 1, n // 2)
        x[-6:] = [0.0, -0.0, 1.0, -1.0, np.inf, np.nan] if char in "efdg" else [0, 0, 1, 2, 3, 4]
        samples.append((np.abs(x) if char in "BHILQ" else x).astype(char))
    try:
        v = call(*samples)
        columns = [x if type(x) is ndarray else repeat(x) for x in samples]
        alone = [call(*entries) for entries in zip(*columns, strict=False)]
        return type(v) is ndarray and v.shape == (n,) and same_bits(v, np.array(alone, v.dtype))
    except Exception:
        return False


# Rules of derivatives


class Numbers:
    """An array of numbers in a rule. `bad`, shared by all in the rule: where Python would have raised; None where these
    are NumPy's numbers, which do not."""

    __slots__ = ("v", "bad")

    def __init__(self, v: Any, bad: Any) -> None:
        self.v, self.bad = v, bad


def bare(x: Any) -> Any:
    return x.v if type(x) is Numbers else x


def one_by_one(call: Callable[..., Any], by_numpy: Callable[..., Any], *operands: Any) -> Any:
    """A function of floats for every entry. Where it raises, the whole rule is NumPy's for that entry."""
    some = next((x for x in operands if type(x) is Numbers), None)
    if some is None:
        return call(*operands)
    values = [bare(x) for x in operands]
    if some.bad is None:
        return Numbers(by_numpy(*values), None)
    bad, n = some.bad, some.bad.size
    columns = [x.tolist() if type(x) is ndarray else repeat(x, n) for x in values]
    try:
        return Numbers(each(call, columns, float, n), bad)
    except (ArithmeticError, ValueError, TypeError):  # a complex power is a TypeError
        pass
    columns = [x.tolist() if type(x) is ndarray else repeat(x, n) for x in values]
    out = np.zeros(n)
    for i, entries in enumerate(zip(*columns, strict=False)):
        try:
            out[i] = call(*entries)
        except (ArithmeticError, ValueError, TypeError):
            bad[i] = True
    return Numbers(out, bad)


def whole(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function that has the same bits on arrays."""

    def operate(*operands: Any) -> Any:
        some = next((x for x in operands if type(x) is Numbers), None)
        v = call(*[bare(x) for x in operands])
        return v if some is None else Numbers(v, some.bad)

    return operate


def power(a: Any, b: Any) -> Any:
    return one_by_one(operator.pow, power_of_numbers, a, b)


def power_of_numbers(a: Any, b: Any) -> Any:
    """`a ** b` for NumPy's numbers one by one."""
    n = a.size if type(a) is ndarray else b.size
    columns = [x if type(x) is ndarray else repeat(x, n) for x in (a, b)]
    return np.array(list(map(operator.pow, *columns)))


for _name in ("add", "sub", "mul", "truediv"):
    _f = whole(getattr(operator, _name))
    setattr(Numbers, f"__{_name}__", _f)
    setattr(Numbers, f"__r{_name}__", lambda a, b, f=_f: f(b, a))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "abs"):
    setattr(Numbers, f"__{_name}__", whole(getattr(operator, _name)))
setattr(Numbers, "__pow__", power)  # noqa: B010
setattr(Numbers, "__rpow__", lambda a, b: power(b, a))  # noqa: B010

SAME = {
    "where", "both", "either", "invert", "abs", "sign", "isnan", "isfinite", "zeros_like", "constant", "sqrt",
    "maximum", "minimum", "truth", "signbit",
}  # fmt: skip
ENTRYWISE: Any = namespace(type("Entrywise", (), {}))
NUMBERWISE: Any = namespace(type("Numberwise", (), {}))
for _name, _plain in vars(PLAIN).items():
    if not _name.startswith("__"):
        setattr(NUMBERWISE, _name, whole(_plain) if callable(_plain) else _plain)
    if not _name.startswith("__") and hasattr(FLOATS, _name):
        _f = getattr(FLOATS, _name)
        setattr(ENTRYWISE, _name, whole(_plain) if _name in SAME else functools.partial(one_by_one, _f, _plain))


def entrywise(rule: Callable[..., Any], ops: Any, g: Any, *saved: Any) -> Any:
    """A rule on arrays of floats, with the bits that it gives floats one by one."""
    bad = np.zeros(g.size, bool)
    try:
        d = bare(rule(ENTRYWISE, Numbers(g, bad), *[Numbers(x, bad) if type(x) is ndarray else x for x in saved]))
    except (ArithmeticError, ValueError):  # of numbers that are the same for all
        return rule(PLAIN, g, *saved)
    return np.where(bad, rule(PLAIN, g, *saved), d) if bad.any() else d


def numberwise(rule: Callable[..., Any], ops: Any, g: Any, *saved: Any) -> Any:
    """The same for NumPy's numbers of other types."""
    return bare(rule(NUMBERWISE, Numbers(g, None), *[Numbers(x, None) if type(x) is ndarray else x for x in saved]))


@functools.cache
def twin(op: Operation, floats: bool) -> Operation:
    """An operation on arrays, with rules that give the bits of numbers one by one; itself where they do anyway."""
    known = SAME if floats else set(vars(PLAIN))
    if all(arithmetic(rule.function.__code__, known) for rule in op.pulls):
        return op
    other, by = copy.copy(op), entrywise if floats else numberwise
    other.pulls = tuple([r._replace(function=functools.partial(by, r.function)) for r in op.pulls])
    return other


def arithmetic(code: CodeType, known: set[str]) -> bool:
    """Whether a rule has nothing but arithmetic and functions that are the same one by one."""
    power = any(i.opname == "BINARY_OP" and i.argrepr.startswith("**") for i in dis.get_instructions(code))
    return not power and set(code.co_names) <= known | {"np", "inf"}


def whole_numbers(call: Any) -> Any:
    """NumPy's function for one of Python's that rounds to an integer, or None."""
    return {math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc, int: np.trunc, round: np.rint}.get(call)
