"""Calls of ufuncs on arrays of a device: NumPy's dtypes, an expression that waits, and the memory it may go to."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .expressions import Expr, call, cast, meet, scalar
from .layouts import laid_out, packed
from .spots import on_device
from .table import Unsupported, name_of, unsupported

BOOL = np.dtype(bool)
PYTHON = (int, float, complex)
LOOPED = frozenset({*PYTHON, bool, np.float64, np.float32, np.int64, np.bool_})  # numbers whose type says all
COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})


@cache
def loop(ufunc: Any, kinds: tuple[Any, ...], signature: Any, casting: str) -> tuple[np.dtype, ...]:
    """The dtypes with which NumPy computes: of the operands, then of the results."""
    kinds = (*kinds, *(None,) * ufunc.nout)
    if signature is None:
        found: tuple[np.dtype, ...] = ufunc.resolve_dtypes(kinds, casting=casting)
    else:
        found = ufunc.resolve_dtypes(kinds, signature=signature, casting=casting)
    for dtype in found:
        if dtype.char not in "?bhilqBHILQefdFD":
            raise Unsupported(f"np.{ufunc.__name__} of {', '.join(map(str, kinds))} has no GPU version")
    return found


def kind_of(x: Any) -> Any:
    """What decides about dtypes: the dtype of an operand, or the type of a Python number."""
    if type(x) in PYTHON:
        return type(x)
    return np.dtype(bool) if type(x) is bool else x.dtype


def number(x: Any, dtype: np.dtype) -> Expr:
    """A number of the host's as an expression, converted as NumPy converts it."""
    if type(x) in PYTHON:
        if dtype.kind in "iu" or (dtype.kind != "c" and type(x) is complex):
            return scalar(np.array(x, dtype)[()], dtype)  # raises where it does not fit
        if type(x) is not complex and -60000 < x < 60000:
            return scalar(dtype.type(x), dtype)
        with np.errstate(over="ignore"):
            return scalar(dtype.type(x), dtype)
    return scalar(x if type(x) is dtype.type else np.asarray(x).astype(dtype)[()], dtype)


class Operands:
    """Operands that become one expression: their shape, whose rows are reduced, whether the last axis was dropped."""

    __slots__ = ("session", "shape", "rows", "dropped", "layouts")
    rows: tuple[int, ...] | None

    def __init__(self, session: Any, operands: list[Any], shape: Any = None) -> None:
        self.session = session
        self.layouts: list[np.ndarray] = []
        arrays, waiting, shapes = [], [], []
        for x in operands:
            if type(x) is session.kind:
                if x.session is not session:
                    raise ValueError(f"arrays of {x.session.name} and of {session.name} meet in one operation")
                arrays.append(x)
                self.layouts.append(x.layout)
                shapes.append(x.layout.shape)
                if x.rows is not None or (x.base is not None and x.source().rows is not None):
                    waiting.append(x)
        self.shape: tuple[int, ...] = meet(shapes) if shape is None else shape
        self.rows, self.dropped = None, False
        if waiting:
            self.agree(arrays, waiting)

    def agree(self, arrays: list[Any], waiting: list[Any]) -> None:
        """Find whose rows are reduced. Where the operands do not fit into one kernel, those that wait are computed."""
        rows = waiting[0].source().rows
        kept, dropped = (*rows[:-1], 1), False
        if all(x.source().rows == rows for x in waiting):
            if self.shape in (rows, kept) and not any(x.dropped() for x in waiting):
                self.rows = rows
                return
            dropped = self.shape == rows[:-1] and all(x.dropped() for x in waiting)
            if dropped and all(x.shape in (self.shape, ()) for x in arrays):
                self.rows, self.dropped = rows, True
                return
        for x in waiting:
            self.session.memory_of(x)

    def expression(self, x: Any, dtype: np.dtype) -> Expr:
        if type(x) is not self.session.kind:
            return number(x, dtype)
        e: Expr = x.operand(self.shape, self.dropped)
        return e if e.dtype is dtype else cast(e, dtype)

    def result(self, e: Expr, is_scalar: bool) -> Any:
        """The array of an expression of these operands."""
        layout = packed(self.shape, e.dtype, self.layouts) if self.layouts else laid_out(self.shape, e.dtype)
        return self.session.lazy(e, layout, self.rows, is_scalar and not self.shape)


def settled(session: Any, x: Any) -> Any:
    """An operand: an array of the device, or a number of the host's. Arrays of the host's are copied to the device."""
    if type(x) is session.kind or type(x) in PYTHON or type(x) is bool or hasattr(x, "layout"):
        return x
    if isinstance(x, np.generic) and not isinstance(x, (np.void, np.str_, np.bytes_)):
        return x
    if on_device(x):
        return session.adopt(x)
    from .views import device_of  # which imports this module

    if isinstance(x, (list, tuple)) and device_of(x) is not None:
        from .making import array

        return array(x)
    if x is None or isinstance(x, (str, bytes)):
        raise TypeError(f"unsupported operand type: {type(x).__name__!r}")
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise Unsupported(f"an array of {x.dtype} cannot be kept on a GPU")
    return x[()] if x.ndim == 0 else session.array(x)


def compared(ufunc: Any, operands: list[Any]) -> list[Any]:
    """Operands of a comparison in which no Python integer is too large for the dtype it is compared in."""
    other = [x for x in operands if type(x) is not int]
    if len(other) == 1 and (dtype := kind_of(other[0])) in INTEGERS:
        info = np.iinfo(dtype)
        return [x if type(x) is not int or info.min <= x <= info.max else float(x) for x in operands]
    return operands


INTEGERS = frozenset(map(np.dtype, "bhilqBHILQ"))


def apply(
    session: Any,
    ufunc: Any,
    operands: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    signature: Any = None,
    subok: bool = True,
    **axes: Any,
) -> Any:
    """`ufunc(*operands)`, entry by entry."""
    key: Any = None
    if out is None and where is True and dtype is None and signature is None and casting == "same_kind" and not axes:
        key = (ufunc, *[x.layout.dtype if type(x) is session.kind else type(x) for x in operands])
        found = session.loops.get(key)
        if found is not None:
            name, dtypes, make = found
            region = Operands(session, operands)
            args = [region.expression(x, d) for x, d in zip(operands, dtypes, strict=False)]
            return region.result(make(args, dtypes[-1]) if make else call(name, tuple(args), dtypes[-1]), True)
        if not all(type(x) is session.kind or type(x) in LOOPED for x in operands):
            key = None
    if ufunc.signature is not None:
        from .products import gufunc

        return gufunc(ufunc, operands, out, dtype, **axes)
    name = ufunc.__name__
    operands = [settled(session, x) for x in operands]
    where = where if where is True else settled(session, where)
    if name in COMPARISONS:
        operands = compared(ufunc, operands)
    elif name in ("power", "float_power"):
        check_power(ufunc, operands)
    if dtype is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    dtypes = loop(ufunc, tuple([kind_of(x) for x in operands]), signature, casting)
    others = [] if where is True else [where, out[0] if type(out) is tuple else out]
    region = Operands(session, [*operands, *others])
    args = [region.expression(x, d) for x, d in zip(operands, dtypes, strict=False)]
    outs = out if isinstance(out, tuple) else (out,) * ufunc.nout
    if ufunc.nout > 1:
        parts = PARTS.get(name)
        if parts is None:
            raise unsupported(name_of(ufunc))
        results = [call(part, tuple(args), d) for part, d in zip(parts, dtypes[ufunc.nin :], strict=True)]
    else:
        results = [ONE[name](args, dtypes[-1]) if name in ONE else call(name, tuple(args), dtypes[-1])]
    results = [checked(session, e, ufunc) for e in results]
    if key is not None and ufunc.nout == 1 and name not in ("power", "float_power"):
        if name not in COMPARISONS or int not in key:  # these look at numbers
            session.loops[key] = name, dtypes, ONE.get(name)
    finished = [finish(region, e, o, where, casting) for e, o in zip(results, outs, strict=True)]
    return finished[0] if ufunc.nout == 1 else tuple(finished)


def strong_zero(d: Any, g: Any) -> Any:
    """`d` with exact zeros in place of each NaN where the cotangent `g` is zero."""
    if not (hasattr(d, "layout") and hasattr(g, "layout") and d.dtype.kind == g.dtype.kind == "f"):
        return np.where(np.logical_and(np.equal(g, 0), np.isnan(d)), 0, d)
    region = Operands(d.session, [d, g])
    x, y = region.expression(d, d.dtype), region.expression(g, g.dtype)
    zero, nan = call("equal", (y, number(0, y.dtype)), BOOL), call("isnan", (x,), BOOL)
    both = call("logical_and", (zero, nan), BOOL)
    return region.result(call("where", (both, number(0, x.dtype), x), x.dtype), False)


def finish(region: Operands, e: Expr, out: Any, where: Any, casting: str) -> Any:
    """The result of a call: a new array, or `out` with the expression written into it."""
    if where is not True:
        mask = region.expression(where, np.dtype(bool))
        old = number(0, e.dtype) if out is None else region.expression(settled(region.session, out), e.dtype)
        e = call("where", (mask, e, old), e.dtype)
    if out is None:
        return region.result(e, True)
    if not hasattr(out, "layout"):
        np.copyto(out, region.result(e, False).get(), casting=casting)  # type: ignore[arg-type]
        return out
    if not np.can_cast(e.dtype, out.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast ufunc output from {e.dtype!r} to {out.dtype!r} with casting rule {casting!r}")
    if np.broadcast_shapes(region.shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {region.shape}"
        )
    if not out.flags.writeable:
        raise ValueError("output array is read-only")
    store(region, out, e)
    return out


def store(region: Operands, out: Any, e: Expr) -> None:
    """Write an expression of operands of a region into an array."""
    if region.rows is not None and (region.dropped or region.shape != out.shape):
        y = region.result(e, False)
        out.session.memory_of(y)
        out.session.write(out, cast(y.operand(), out.dtype))
    else:
        out.session.write(out, cast(e, out.dtype), region.rows)


def check_power(ufunc: Any, operands: list[Any]) -> None:
    base, exponent = operands
    whole = ufunc is np.power and kind_of(base) in (int, *INTEGERS) and not hasattr(exponent, "layout")
    if whole and kind_of(exponent) in (int, *INTEGERS) and exponent < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")


def checked(session: Any, e: Expr, ufunc: Any) -> Expr:
    """The expression, if the device has a text for it."""
    if e.kind == "call" and e.name not in ("cast", "where"):
        key = (e.name, e.args[0].dtype, e.dtype)
        found = session.has.get(key)
        if found is None:
            found = session.has[key] = session.texts.has(*key)
        if not found:
            raise unsupported(f"{name_of(ufunc)} of {e.args[0].dtype}")
    return e


# Those that are made of others. x**2 and the like are what NumPy's own operator makes of them.


def float_power(args: list[Expr], dtype: np.dtype) -> Expr:
    return call("power", tuple(args), dtype)


def scaled(above: float, below: float) -> Any:
    """A multiplication by a quotient; that of halves in float32, as NumPy's."""

    def one(args: list[Expr], dtype: np.dtype) -> Expr:
        within = np.dtype(np.float32) if dtype == np.float16 else dtype
        factor = within.type(above) / within.type(below)
        return cast(call("multiply", (cast(args[0], within), scalar(factor, within)), within), dtype)

    return one


degrees, radians = scaled(180.0, np.pi), scaled(np.pi, 180.0)


def positive(args: list[Expr], dtype: np.dtype) -> Expr:
    return args[0]


def same_or_call(name: str) -> Any:
    """Rounding and conjugation: of numbers that they leave as they are, these."""

    def one(args: list[Expr], dtype: np.dtype) -> Expr:
        kinds = "biuf" if name == "conjugate" else "biu"
        return args[0] if dtype.kind in kinds else call(name, (args[0],), dtype)

    return one


def whole_order(args: list[Expr], dtype: np.dtype) -> Expr:
    """Bessel functions, of a whole order that is a number of the host's."""
    order = args[0]
    if order.kind != "scalar" or not abs(order.value) <= 10000 or order.value != int(order.value):
        raise Unsupported(
            "scipy.special.jv has a GPU version for whole orders to 10000 only; write the order as an int, such as"
            " jv(2, x), or run it on the CPU"
        )
    return call("jn", tuple(args), dtype)


ONE: dict[str, Any] = {
    "jv": whole_order,
    "float_power": float_power, "degrees": degrees, "rad2deg": degrees, "radians": radians, "deg2rad": radians,
    "positive": positive,
    **{name: same_or_call(name) for name in ("floor", "ceil", "trunc", "rint", "conjugate")},
}  # fmt: skip


PARTS = {
    "divmod": ("floor_divide", "remainder"), "modf": ("modf_fraction", "modf_whole"),
    "frexp": ("frexp_mantissa", "frexp_exponent"),
}  # fmt: skip
