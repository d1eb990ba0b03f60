"""The functions of rules that are recorded themselves, on arrays of another device: as `PLAIN`, but nothing is looked
at, and so nothing waits for the device. Where a rule would ask whether all entries are finite it goes the careful way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import remote
from .callables import TABLE
from .devices import strict
from .general import composition
from .ops.plain import PLAIN, namespace
from .recording import value


class Careful:
    """What differs."""

    quick = indexed = False

    @staticmethod
    def finite(x: Any) -> bool:
        return False

    @staticmethod
    def possible(x: Any) -> bool:
        return True

    @staticmethod
    def times(g: Any, x: Any) -> Any:
        """`g * x`, exactly zero where `g` is."""
        return np.where(np.equal(g, 0), 0, g * x)

    bilinear = staticmethod(strict.bilinear)

    @staticmethod
    def row_dots(a: Any, b: Any) -> Any:
        return np.add.reduce(a * b, axis=-1, keepdims=True)

    @staticmethod
    def row_sums(x: Any) -> Any:
        return np.add.reduce(x, axis=-1, keepdims=True)

    @staticmethod
    def by_rows(rule: Callable[..., Any], *arrays: Any, **settings: Any) -> Any:
        return rule(CAREFUL, *arrays, **settings)


def bilinear(of: Callable[..., Any], f: Callable[..., Any], g: Any, x: Any) -> Any:
    """Products that are recorded while the device knows which of their operands is the cotangent."""
    return strict.bilinear(lambda *_: of(f)(g, x), value(g), value(x))


def is_remote(of: Callable[..., Any], x: Any) -> bool:
    """Where a recorded value lives."""
    return remote(value(x))


# What a program calls in place of these; the table is filled when this file is first wanted.
TABLE[strict.bilinear] = composition(bilinear, strict.bilinear)
TABLE[remote] = composition(is_remote, remote)

CAREFUL = namespace(Careful)
for name, function in vars(PLAIN).items():
    if not hasattr(CAREFUL, name):
        setattr(CAREFUL, name, function)
