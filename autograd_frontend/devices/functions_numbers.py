"""Numbers that a device makes: ranges, grids, triangles, diagonals, draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import kernels
from .functions_key import known
from .table import implements
from .views import arrays, broadcast_to, device_of

Array = Any  # one of a device: NumPy's stubs know only their own


def iota(session: Any, n: int, dtype: Any = np.int64, start: int = 0, step: int = 1) -> Array:
    out: Array = session.empty((n,), dtype)
    if n:
        session.launch(kernels.iota(session.spot(out), start, step))
    return out


def grid(session: Any, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """`np.indices(shape)`: for each axis an array of the coordinates along it, which takes the memory of a vector."""
    found = []
    for k, n in enumerate(shape):
        x = known(iota(session, n), n, k)
        found.append(broadcast_to(x.reshape((1,) * k + (n,) + (1,) * (len(shape) - 1 - k)), shape))
    return tuple(found)


def uniform(session: Any, shape: tuple[int, ...], seed: int, node: int, dtype: Any) -> Array:
    out: Array = session.empty(shape, dtype)
    if out.size:
        session.launch(kernels.uniform(session.spot(out), seed, node))
    out.scalar = not shape
    return out


def lower(session: Any, rows: int, columns: int, k: int) -> Array:
    """A mask: True at and below diagonal `k`."""
    below: Array = iota(session, rows)[:, None] >= iota(session, columns, start=-k)
    return below


def triangle(m: Any, k: int, below: bool) -> Array:
    (m,) = arrays(device_of(m), [m])
    n = m.shape[-1]
    mask = lower(m.session, m.shape[-2] if m.ndim > 1 else n, n, k if below else k - 1)
    y: Array = np.where(mask, m, 0) if below else np.where(mask, 0, m)
    return y


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Array:
    return triangle(m, k, True)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    return triangle(m, k, False)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Array:
    if v.ndim == 2:
        y: Array = np.diagonal(v, k)
        return y
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    y = v.session.zeros((v.size + abs(k),) * 2, v.dtype)
    y.view_of(y.layout.diagonal(k))[...] = v
    return y


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    (v,) = arrays(device_of(v), [v])
    return diag(v.reshape(-1), k)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if a.ndim < 2 or wrap or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError("fill_diagonal: two axes, or several of one extent, without wrap")
    n = min(a.shape)
    layout = np.lib.stride_tricks.as_strided(a.layout, (n,), (sum(a.strides),))
    a.view_of(layout)[...] = val if hasattr(val, "layout") or np.ndim(val) == 0 else np.ravel(val)[:n]


def listed(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, (list, tuple)) else x


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """As NumPy does it: steps times the distance, plus the start; the last entry is `stop` itself."""
    session = device_of(start, stop)
    num = num.__index__()
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    given = [x if np.ndim(x) == 0 and not hasattr(x, "dtype") else x.dtype for x in map(listed, (start, stop))]
    wide = np.result_type(*given, 1.0)
    start, stop = np.multiply(start, 1.0), np.multiply(stop, 1.0)
    delta = np.subtract(stop, start)
    div = num - 1 if endpoint else num
    shape = (num,) + (1,) * delta.ndim
    y = iota(session, num, np.int64).astype(wide).reshape(shape)
    step = np.divide(delta, div) if div > 0 else delta * np.nan
    if div > 0:
        y = np.where(step == 0, y / div * delta, y * step)
    else:
        y = y * delta
    y = y + start
    if endpoint and num > 1:
        y = np.where(iota(session, num).reshape(shape) == num - 1, stop, y)
    y = np.moveaxis(y, 0, normalize_axis_index(axis, y.ndim)) if axis else y
    whole = dtype is not None and np.dtype(dtype).kind in "iu"
    y = (np.floor(y) if whole else y).astype(wide if dtype is None else dtype, copy=False)
    return (y, step) if retstep else y


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    n = len(xi)
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    output: list[Any] = []
    for i, x in enumerate(arrays(device_of(*xi), xi)):
        place = 1 - i if indexing == "xy" and n > 1 and i < 2 else i
        output.append(x.reshape((1,) * place + (-1,) + (1,) * (n - 1 - place)))
    if not sparse:
        output = list(np.broadcast_arrays(*output))
    return tuple([x.copy() for x in output] if copy else output)


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Any, ...]:
    xs = [np.nonzero(x)[0] if x.dtype == bool else x for x in arrays(device_of(*args), args)]
    return tuple([x.reshape((1,) * k + (-1,) + (1,) * (len(xs) - 1 - k)) for k, x in enumerate(xs)])
