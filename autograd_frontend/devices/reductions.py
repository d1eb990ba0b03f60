"""Sums, products and extremes over axes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .expressions import Expr, call, cast, scalar
from .layouts import laid_out
from .spots import dtype_of
from .table import implements, method, unsupported
from .ufuncs import Operands, apply, number, settled

if TYPE_CHECKING:
    from .array import DeviceArray

LONG = 32768  # entries of a row from which one block is too few
FEW, SHORT = 32, 2048  # so many rows at least are one kernel, or rows that short
TINY, MANY = 32, 16384  # rows shorter than a warp, of which there are more than this: a block each is too much
NAMES = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "min", "logical_or": "max",
}  # fmt: skip
START = {"add": 0, "multiply": 1, "logical_and": True, "logical_or": False}


def dtype_in(name: str, x: Any, dtype: Any) -> np.dtype:
    """The dtype that NumPy reduces in."""
    if name.startswith("logical"):
        return np.dtype(bool)
    if dtype is not None:
        return dtype_of(dtype)
    if name in ("add", "multiply") and x.dtype.kind in "biu":
        wide: np.dtype = np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64)
        return wide if x.dtype.itemsize < 8 else dtype_of(x.dtype)
    return dtype_of(x.dtype)


def reduced(
    name: str,
    x: DeviceArray,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """`np.<name>.reduce`."""
    dtype = dtype_in(name, x, dtype)
    if dtype.kind == "c" and name in ("maximum", "minimum"):
        raise unsupported(f"np.{name} of complex numbers")
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    start = START.get(name)
    if initial is not np._NoValue and initial is not None:
        start = initial
    shape = tuple([1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes])
    if where is not True:
        x = masked(x, where, start, name)
    if not x.size and 0 in [x.shape[k] for k in axes]:
        if start is None:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        y = x.session.full(shape, start, dtype)
        y.scalar = not shape
    elif not x.size:
        y = x.session.full(shape, 0, dtype)
    elif all(x.shape[k] == 1 for k in axes):
        y = one_each(x, axes, dtype, shape)
    else:
        y = tree(NAMES[name], x, tuple(sorted(axes)), dtype, shape)
    if start is not None and start is not START.get(name):
        y = apply(x.session, getattr(np, name), (y, dtype.type(start)), dtype=None if dtype.kind == "b" else dtype)
    if out is None:
        return y
    if out.shape != y.shape:
        raise ValueError(f"output parameter for reduction operation {name} has the wrong shape {out.shape}")
    out[...] = y
    return out


def masked(x: DeviceArray, where: Any, start: Any, name: str) -> Any:
    """Entries that are not taken replaced by those that change nothing."""
    if start is None:
        raise ValueError(
            f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify"
            " 'initial'"
        )
    return np.where(where, x, x.dtype.type(start) if name not in ("add", "multiply") else START[name])


def one_each(x: DeviceArray, axes: Any, dtype: Any, shape: Any) -> Any:
    """A reduction of single entries: these, in an array of its own."""
    if x.ndim == 0:
        return x.session.lazy(cast(x.operand(), dtype), laid_out((), dtype), x.rows, True)
    look = x.astype(dtype, copy=False) if x.dtype != dtype else x
    y = look.reshape(shape)
    return x.session.lazy(y.operand(), laid_out(shape, dtype), None, not shape)


def tree(name: str, x: DeviceArray, axes: tuple[int, ...], dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    """A reduction by rows, which waits as other expressions do; or one that runs now."""
    session, n = x.session, x.shape[-1]
    count = x.size // n
    by_rows = n <= LONG and (count >= FEW or n <= SHORT) and not (n < TINY and count > MANY)
    if axes == (x.ndim - 1,) and by_rows:
        region = Operands(session, [x])
        e = region.expression(x, x.dtype)
        if e.shape != x.shape or region.dropped or region.rows not in (None, x.shape):
            session.memory_of(x)
            e = x.operand()
        from .expressions import row

        return session.lazy(row(name, e, dtype), laid_out(shape, dtype), x.shape, not shape)
    e = cast(x.consumed(), dtype)
    out = session.empty(shape, dtype)
    kept = [1 if k in axes else m for k, m in enumerate(x.shape)]
    target = session.spot(out if len(shape) == x.ndim else out.reshape(kept))
    with session.lock:
        for launch in session.texts.reduction(name, e, axes, target, lambda s, d: session.spot(session.empty(s, d))):
            session.launch(launch)
    out.scalar = not shape
    return out


for _name in NAMES:

    @method(f"{_name}.reduce")
    def reduce(
        x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
        initial: Any = np._NoValue, where: Any = True, _name: str = _name,
    ) -> Any:  # fmt: skip
        return reduced(_name, x, axis, dtype, out, keepdims, initial, where)


def function(name: str, *functions: Any) -> Any:
    """The functions of NumPy that are reductions by a ufunc."""

    @implements(*functions)
    def call_it(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = np._NoValue, where: Any = True,
    ) -> Any:  # fmt: skip
        if keepdims is np._NoValue:
            keepdims = False
        if where is np._NoValue:
            where = True
        return reduced(name, a, axis, dtype, out, bool(keepdims), initial, where)

    return call_it


def without_dtype(name: str, *functions: Any) -> None:
    """The same for those that have no `dtype`."""
    whole = function(name)

    @implements(*functions)
    def call_it(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = np._NoValue, where: Any = True,
    ) -> Any:  # fmt: skip
        return whole(a, axis, None, out, keepdims, initial, where)


function("add", np.sum)
function("multiply", np.prod)
without_dtype("maximum", np.max, np.amax)
without_dtype("minimum", np.min, np.amin)


@implements(np.any)
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    where = True if where is np._NoValue else where
    return reduced("logical_or", a, axis, None, out, keepdims is True, where=where)


@implements(np.all)
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    where = True if where is np._NoValue else where
    return reduced("logical_and", a, axis, None, out, keepdims is True, where=where)


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """Sums divided by how many there are: of whole numbers in float64, of float16 in float32."""
    keepdims = keepdims is True
    within = dtype
    if dtype is None and a.dtype.kind in "biu":
        within = np.dtype(np.float64)
    elif dtype is None and a.dtype == np.float16:
        within = np.dtype(np.float32)
    if where is True or where is np._NoValue:
        where = True
        axes = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
        count: Any = prod([a.shape[k] for k in axes])
    else:
        count = np.sum(np.broadcast_to(where, a.shape), axis, keepdims=keepdims)
    total = reduced("add", a, axis, within, None, keepdims, where=where)
    result = apply(a.session, np.true_divide, (total, count))
    final = np.dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    result = result.astype(final, copy=False)
    if out is None:
        return result
    out[...] = result
    return out


@method("subtract.at")
def subtract_at(a: Any, indices: Any, b: Any) -> None:
    np.add.at(a, indices, np.negative(b))


@method("add.outer")
def add_outer(a: Any, b: Any, **kwargs: Any) -> Any:
    return outer(np.add, a, b, **kwargs)


@method(".outer")
def outer(ufunc: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    """`ufunc.outer`."""
    a, b = [x if hasattr(x, "layout") else np.asarray(x) for x in (a, b)]
    return ufunc(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)


def sum_of(session: Any, e: Expr, axes: tuple[int, ...], dtype: Any, shape: Any) -> Any:
    """The sum of an expression, whatever it is of."""
    layout = laid_out(e.shape, e.dtype)
    return tree("sum", session.lazy(e, layout), axes, np.dtype(dtype), shape)


__all__ = ["call", "number", "outer", "reduced", "scalar", "settled", "sum_of"]
