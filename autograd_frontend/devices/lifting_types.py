"""What a function of numbers works with while it is translated: types, values, and how two ways meet.

"python" numbers are bool, int (64 bits) and float, "numpy" ones the scalars of a dtype. "mixed" is a Python number on
one way and a narrower float of NumPy's on another: a double, and which of the two it is, kept as its derivative `WEAK`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .cuda_types import register

BOOL, INT, FLOAT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)
NOTHING = object()  # the `static` of what is not known before the kernel runs
LOWEST, HIGHEST = -(2**63), 2**63
WEAK = -1


class Untranslatable(Exception):
    """A function that no kernel can be. `node`: what of it; `fn`: the function it is in."""

    def __init__(self, reason: str, remedy: str = "", node: Any = None) -> None:
        super().__init__(reason)
        self.reason, self.remedy, self.node = reason, remedy, node
        self.fn: Any = None


class Type(NamedTuple):
    """`active`: the differentiable arguments that a number may depend on."""

    kind: str
    dtype: np.dtype[Any]
    active: frozenset[int] = frozenset()

    @property
    def stored(self) -> np.dtype[Any]:
        return FLOAT if self.kind == "mixed" else self.dtype

    def names(self, name: str) -> list[str]:
        """Names for a number and its derivatives."""
        return [name, *[f"{name}_d{k}" if k != WEAK else f"{name}_weak" for k in sorted(self.active)]]


PYTHON = {bool: Type("python", BOOL), int: Type("python", INT), float: Type("python", FLOAT)}


class Value:
    """A number: its type, its text in the kernel, and the texts of its derivatives by argument. `static`: the number
    itself, of one written in the source."""

    __slots__ = ("type", "text", "tangents", "static")

    def __init__(self, kind: Type, text: str, tangents: dict[int, str] | None = None, static: Any = NOTHING) -> None:
        self.type, self.text, self.tangents, self.static = kind, text, tangents or {}, static

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype

    def texts(self) -> list[str]:
        return [self.text, *[self.tangents[k] for k in sorted(self.tangents)]]


class Thing:
    """Anything else, known before the kernel runs. `path`: how it is found from the function, step by step."""

    __slots__ = ("thing", "path")

    def __init__(self, thing: Any, path: tuple[Any, ...] | None = None) -> None:
        self.thing, self.path = thing, path


class Items:
    """A tuple of values."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = list(items)


class Missing:
    """A local variable that cannot be used here, and why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


def valued(kind: Type, texts: Sequence[str]) -> Value:
    """A number of several texts: its own, and those of its derivatives."""
    return Value(kind, texts[0], dict(zip(sorted(kind.active), texts[1:], strict=True)))


def literal(x: Any, dtype: np.dtype[Any]) -> str:
    """A number in CUDA text, exactly."""
    if dtype.kind == "b":
        return "true" if x else "false"
    if dtype.kind in "iu":
        n = int(x)
        if dtype.itemsize == 8:
            return "(-9223372036854775807ll - 1)" if n == LOWEST else f"({n}{'ull' if dtype.kind == 'u' else 'll'})"
        return f"({register(dtype)})({n})" if n > -(2**31) else "int(-2147483647 - 1)"
    x = float(dtype.type(x))
    if x != x or x in (np.inf, -np.inf):
        sign, bits = ("-" if x < 0 else ""), "0x7fc00000" if x != x else "0x7f800000"
        return f"({sign}{register(dtype)}(__int_as_float({bits})))"
    return f"{register(dtype)}({x.hex()})"


def joined(a: Any, b: Any) -> Any:
    """What a variable is where two ways meet: a type, a thing, a list of such, or `Missing`."""
    if isinstance(a, Missing) or isinstance(b, Missing):
        return a if isinstance(a, Missing) else b
    if isinstance(a, (Value, Type)) and isinstance(b, (Value, Type)):
        return joined_types(a if isinstance(a, Type) else a.type, b if isinstance(b, Type) else b.type)
    if isinstance(a, Thing) and isinstance(b, Thing) and a.thing is b.thing:
        return a
    if isinstance(a, Items) and isinstance(b, Items) and len(a.items) == len(b.items):
        return Items([joined(x, y) for x, y in zip(a.items, b.items, strict=True)])
    return Missing("is {} on one way through the function and {} on another".format(*sorted([said(a), said(b)])))


def said(x: Any) -> str:
    if isinstance(x, Thing):
        return "None" if x.thing is None else f"a {type(x.thing).__name__}"
    return f"a tuple of {len(x.items)}" if isinstance(x, Items) else "a number"


def joined_types(a: Type, b: Type) -> Type:
    """Python's numbers become the wider of them. Beside one of NumPy's they become its kind, in the dtype of an array
    of both; a narrower float keeps in mind that it may be one of Python's."""
    active = (a.active | b.active) - {WEAK}
    if a.kind == b.kind and a.dtype == b.dtype:
        return a._replace(active=a.active | b.active)
    if a.kind == b.kind == "python":
        return Type("python", np.result_type(a.dtype, b.dtype), active)
    dtype = np.result_type(a.stored, b.stored)
    narrow = [t.dtype for t in (a, b) if t.kind != "python" and t.dtype.kind == "f" and t.dtype != FLOAT]
    weak = all(t.kind == "mixed" or (t.kind == "python" and t.dtype != BOOL) or t.dtype in narrow for t in (a, b))
    if dtype == FLOAT and narrow and weak:
        return Type("mixed", np.result_type(*narrow), active | {WEAK})
    return Type("numpy", dtype, active)


def whole(x: Any) -> bool:
    return type(x) is int and LOWEST <= x < HIGHEST
