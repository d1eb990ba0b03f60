"""The functions that rules of derivatives use, on plain arrays and on Python floats.

A rule is a function `rule(ops, g, ...)` written with Python's operators and the functions of `ops`. `PLAIN` serves
arrays (and numbers of every type), `FLOATS` Python floats without touching NumPy. Where Python arithmetic raises
(1.0/0.0, math.exp(1000.0)) the caller repeats the rule with float64 scalars under `PLAIN`, which follow IEEE.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

EXACT = (Fraction, Decimal)


class Plain:
    """Arrays. Every function is NumPy's, but for numbers NumPy does not know."""

    sin, cos, tan, sinh, cosh, tanh, exp, log, sqrt = (
        np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.exp, np.log, np.sqrt,
    )  # fmt: skip
    log1p, expm1, floor, trunc, sign, abs, maximum, minimum = (
        np.log1p, np.expm1, np.floor, np.trunc, np.sign, np.abs, np.maximum, np.minimum,
    )  # fmt: skip
    isnan, isfinite, floor_divide = np.isnan, np.isfinite, np.floor_divide
    matmul, einsum, tensordot, outer = np.matmul, np.einsum, np.tensordot, np.outer
    solve, inv, swapaxes = np.linalg.solve, np.linalg.inv, np.swapaxes
    broadcast_to, reshape, transpose, moveaxis, expand_dims = (
        np.broadcast_to, np.reshape, np.transpose, np.moveaxis, np.expand_dims,
    )  # fmt: skip
    sum, cumsum, flip, roll, concatenate, take, squeeze = (
        np.sum, np.cumsum, np.flip, np.roll, np.concatenate, np.take, np.squeeze,
    )  # fmt: skip
    both, either, invert = np.logical_and, np.logical_or, np.logical_not

    @staticmethod
    def where(condition: Any, x: Any, y: Any) -> Any:
        """Entries of `x` where the condition holds, else of `y`; a plain choice for a plain condition."""
        if condition is True or condition is np.True_:
            return x
        if condition is False or condition is np.False_:
            return y
        return np.where(condition, x, y)

    @staticmethod
    def astype(x: Any, dtype: Any) -> Any:
        return x.astype(dtype)

    @staticmethod
    def zeros(shape: Any, dtype: Any) -> Any:
        return np.zeros(shape, dtype)


class Floats:
    """Python floats."""

    sin, cos, tan, sinh, cosh, tanh, exp, log, sqrt = (
        math.sin, math.cos, math.tan, math.sinh, math.cosh, math.tanh, math.exp, math.log, math.sqrt,
    )  # fmt: skip
    log1p, expm1, floor, trunc, abs, isnan, isfinite = (
        math.log1p, math.expm1, math.floor, math.trunc, abs, math.isnan, math.isfinite,
    )  # fmt: skip
    maximum, minimum = np.maximum, np.minimum

    @staticmethod
    def sign(x: float) -> float:
        return 1.0 if x > 0 else -1.0 if x < 0 else x

    @staticmethod
    def where(condition: bool, x: Any, y: Any) -> Any:
        return x if condition else y

    @staticmethod
    def both(a: bool, b: bool) -> bool:
        return a and b

    @staticmethod
    def either(a: bool, b: bool) -> bool:
        return a or b

    @staticmethod
    def invert(a: bool) -> bool:
        return not a

    @staticmethod
    def floor_divide(a: float, b: float) -> float:
        return a // b




def namespace(functions: type) -> Any:
    """The functions as a module: Python finds its attributes fastest, and binds none of them to it."""
    module = ModuleType(functions.__name__.lower())
    for name in vars(functions):
        if not name.startswith("__"):
            setattr(module, name, getattr(functions, name))
    return module


PLAIN, FLOATS = namespace(Plain), namespace(Floats)


def quiet_sum(d: Any) -> Any:
    """The sum of all entries of a cotangent, as a scalar."""
    return np.add.reduce(d, axis=None) if type(d) is np.ndarray else d
