"""Python's operators on arrays of a device, and the methods that are NumPy's functions of the same name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .spots import on_device
from .table import NOT_THERE, NoAttribute
from .ufuncs import apply

NUMBERS = (int, float, complex, np.generic, np.ndarray)
KNOWN = {int, float, complex, bool, np.float64, np.float32, np.ndarray}  # and arrays of devices
POWERS = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}  # as NumPy's own operator


def known(x: Any) -> bool:
    """Whether an operand is a number or an array; another class may know what to do with arrays."""
    kind = type(x)  # a recorded value says that it is what it stands for
    if kind in KNOWN:
        return True
    return issubclass(kind, (*NUMBERS, Operators)) or not hasattr(kind, "__array_ufunc__") or on_device(x)


def binary(ufunc: Any) -> tuple[Any, Any, Any]:
    """The operator, its reflection, and the one in place."""

    def plain(self: Any, other: Any) -> Any:
        return apply(self.session, ufunc, (self, other)) if known(other) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return apply(self.session, ufunc, (other, self)) if known(other) else NotImplemented

    def in_place(self: Any, other: Any) -> Any:
        return apply(self.session, ufunc, (self, other), out=None if self.scalar else self)

    return plain, reflected, in_place


def unary(ufunc: Any) -> Any:
    def plain(self: Any) -> Any:
        return apply(self.session, ufunc, (self,))

    return plain


def forwarded(function: Any) -> Any:
    """A method that is NumPy's function of the same name."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, *args), kwargs)

    method.__name__ = function.__name__  # by which a recording finds its rule
    return method


class Operators:
    """What arrays have of Python's operators and of NumPy's methods."""

    __slots__ = ()
    session: Any
    dtype: Any
    scalar: bool
    get: Any

    __add__, __radd__, __iadd__ = binary(np.add)
    __sub__, __rsub__, __isub__ = binary(np.subtract)
    __mul__, __rmul__, __imul__ = binary(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = binary(np.divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = binary(np.floor_divide)
    __mod__, __rmod__, __imod__ = binary(np.remainder)
    __matmul__, __rmatmul__, __imatmul__ = binary(np.matmul)
    __and__, __rand__, __iand__ = binary(np.bitwise_and)
    __or__, __ror__, __ior__ = binary(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = binary(np.bitwise_xor)
    __lshift__, __rlshift__, __ilshift__ = binary(np.left_shift)
    __rshift__, __rrshift__, __irshift__ = binary(np.right_shift)
    __divmod__, __rdivmod__, _ = binary(np.divmod)
    __lt__, __le__, __gt__ = binary(np.less)[0], binary(np.less_equal)[0], binary(np.greater)[0]
    __ge__, __eq__, __ne__ = binary(np.greater_equal)[0], binary(np.equal)[0], binary(np.not_equal)[0]
    __neg__, __pos__, __abs__, __invert__ = (
        unary(np.negative), unary(np.positive), unary(np.absolute), unary(np.invert),
    )  # fmt: skip

    def __hash__(self) -> int:  # of a number, as NumPy's
        if not self.scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self.get())

    # Texts are NumPy's, of the entries: they wait for the device

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __format__(self, spec: str) -> str:
        return format(self.get(), spec)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            raise NoAttribute(f"np.ndarray.{name} {NOT_THERE}")
        raise AttributeError(f"'numpy.{self.__class__.__name__}' object has no attribute {name!r}")

    def __pow__(self, other: Any) -> Any:
        return self._power(other, None) if known(other) else NotImplemented

    def __ipow__(self, other: Any) -> Any:
        return self._power(other, None if self.scalar else self)

    def __rpow__(self, other: Any) -> Any:
        return apply(self.session, np.power, (other, self)) if known(other) else NotImplemented

    def _power(self, other: Any, out: Any) -> Any:
        if type(other) in (int, float) and other in POWERS and self.dtype.kind in "fc":
            return apply(self.session, POWERS[other], (self,), out=out)
        return apply(self.session, np.power, (self, other), out=out)

    sum, prod, max, min, any, all, mean, var, std = map(
        forwarded, (np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std)
    )
    cumsum, cumprod, argmax, argmin, argsort, argpartition, ptp, trace = map(
        forwarded, (np.cumsum, np.cumprod, np.argmax, np.argmin, np.argsort, np.argpartition, np.ptp, np.trace)
    )
    repeat, take, nonzero, searchsorted, round, clip, dot, choose = map(
        forwarded, (np.repeat, np.take, np.nonzero, np.searchsorted, np.round, np.clip, np.dot, np.choose)
    )
