"""Constants, data and observation: no gradient and no tangent passes through any of these."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from ..errors import an
from .block import operation
from .interface import done


def data(operation, name, x):
    """A copy of plain data: an array or a number."""
    if isinstance(x, (Fraction, Decimal)):
        return x
    try:
        a = np.copy(x)  # on the device where it is
    except ValueError:
        raise ValueError(f"{operation}: {name} has lists of different lengths, expected an array") from None
    if a.dtype.kind not in "fiub":
        kind = f"{a.dtype} array" if isinstance(x, (np.ndarray, list, tuple)) else type(x).__name__
        raise TypeError(f"{operation}: {name} is {an(kind)}, expected real numbers or booleans")
    return done(a)


def function(operation, f):
    if not callable(f):
        raise TypeError(f"{operation}: f is {an(type(f).__name__)}, expected a function")


@operation()
class const:
    """`const(value)`: a fixed array or scalar. It is copied: what the caller writes later does not change it."""

    data = True

    def value(ops, value):
        return data("const", "value", value)


@operation()
class data_const:
    """`data_const(x)`: data without a derivative (integers, booleans, indices, masks), in its own element type. It is
    copied."""

    data = True

    def value(ops, x):
        return data("data_const", "x", x)


@operation()
class map_data:
    """`map_data(f, x)`: `f(x)` for a function of plain data; shape and element type may change. `f` gets a copy of `x`,
    and must neither use recorded values nor return one: RecordError."""

    data = True

    def value(ops, f, x):
        function("map_data", f)
        return data("map_data", "f(x)", f(data("map_data", "x", x)))


@operation("autograd_frontend.ops.plain.PLAIN.detach")
class detach:
    """`detach(x)`: the value of `x` as plain data, a copy. Nothing computed from it is connected to `x`."""

    data = True
    reads = ("x",)

    def value(ops, x):
        return np.copy(x) if hasattr(x, "dtype") else x


@operation()
class observe:
    """`observe(x)`: the current value of a scalar as a Python number, without a derivative. An array with axes:
    ValueError."""

    data = number = True
    reads = ("x",)

    def value(ops, x):
        if np.ndim(x):
            raise ValueError(f"observe: x has shape {np.shape(x)}, expected a scalar")
        x = x.item() if hasattr(x, "dtype") else x
        return float(x) if isinstance(x, np.floating) else x  # of a longdouble


def check_buffers(state):
    """State that can be written, or nothing is."""
    if not isinstance(state, (list, tuple)):
        raise TypeError(f"update_buffers: state is {an(type(state).__name__)}, expected a list of arrays")
    for i, s in enumerate(state):
        if not isinstance(s, np.ndarray):
            raise TypeError(f"update_buffers: state[{i}] is {an(type(s).__name__)}, expected an array to write into")
        if not s.flags.writeable:
            raise ValueError(f"update_buffers: state[{i}] is read-only, expected an array to write into")


def check_new(state, new):
    """Copies of the new values, once all of them fit."""
    if not isinstance(new, (list, tuple)) and not (isinstance(new, np.ndarray) and new.ndim):
        raise TypeError(f"update_buffers: f gave {an(type(new).__name__)}, expected a list, one array for each buffer")
    if len(new) != len(state):
        raise ValueError(f"update_buffers: f gave {len(new)} arrays, expected {len(state)}, one for each buffer")
    new = [data("update_buffers", f"f(state, x)[{i}]", n) for i, n in enumerate(new)]
    for i, (s, n) in enumerate(zip(state, new, strict=True)):
        if np.shape(n) != s.shape:
            raise ValueError(f"update_buffers: f(state, x)[{i}] has shape {np.shape(n)}, expected {s.shape}")
        if not np.can_cast(np.asarray(n).dtype, s.dtype, "same_kind"):
            raise TypeError(f"update_buffers: f(state, x)[{i}] is {np.asarray(n).dtype}, which {s.dtype} does not hold")
    return new


@operation()
class update_buffers:
    """`update_buffers(state, x, f)`: `new = f([copies of the arrays in state], value of x)`, then every `new[i]` is
    written into the array `state[i]`; returns None. What was recorded before keeps the old values. `state` is storage
    that is not trained; `f` must not use recorded values (RecordError). Another number or other shapes of new arrays:
    ValueError; a type that the buffer does not hold: TypeError; nothing is written then."""

    data = True
    reads, writes = ("x",), ("state",)

    def value(ops, state, x, f):
        check_buffers(state)
        function("update_buffers", f)
        new = f([s.copy() for s in state], x.copy() if isinstance(x, np.ndarray) else x)
        for s, n in zip(state, check_new(state, new), strict=True):
            s[...] = n
