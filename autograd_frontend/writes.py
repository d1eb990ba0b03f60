"""Functions that write into an array, or give several results: spelled out with reads, writes and other operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .arrays import ARRAYS, on_host, remote
from .cotangents import fit_of
from .eager import EAGER
from .memory import frozen, plain_key
from .ops.block import OPERATIONS
from .recording import BUILDING, builder_of, depends, settle, site, tape_of, value
from .stores import Scatter, adopt, before_plain_write, before_write, written
from .tape import Ref, Scalar, Tensor

ndarray = np.ndarray


def at(call: Callable[..., Any], sign: int) -> Callable[..., None]:
    """`np.add.at` and `np.subtract.at`."""

    def handle(a: Any, indices: Any, b: Any) -> None:
        s = site()
        builder = builder_of((a, indices, b)) if BUILDING else None
        if builder is not None and not builder.t.deep:
            builder.writing(call, (a, indices, b), {})
            return
        if not isinstance(value(a), ndarray):
            call(value(a), plain_key(indices), value(b))  # which raises
        x, key = settle(a), frozen(plain_key(indices))
        v: Any = settle(b)
        t = tape_of((x, v))
        if t is None:
            before_plain_write(a, s)
            call(a, key, on_host(v) if type(a) is ndarray else v)
            return
        target: Any = adopt(a, t, s) if type(x) in ARRAYS else x
        before_write(target, s)
        if builder is None:
            call(target.v, key, value(v))
        if type(v) is Scalar or type(v) is Tensor:
            w = v.v
            source, fit = (v, (None, None, False)) if type(v) is Scalar else (v.n, fit_of(w))  # type: ignore[union-attr]
            t.append(Scatter("add_at", target.n, key, source, fit, sign, s))
            if t.dual:
                written(t, target.n, key, source, sign)
        if builder is not None:
            builder.writing(call, (a, indices, b), {}, True)

    handle.__name__ = f"{call.__name__}_at"
    return handle


def writing(f: Callable[..., Any], recorded: Callable[..., None]) -> Callable[..., Any]:
    """`f` writes into its first argument: as it is where nothing is recorded, otherwise through `recorded`."""

    first, method = recorded.__code__.co_varnames[0], type(f) is type(ndarray.fill)

    def call(*args: Any, **kwargs: Any) -> Any:
        if BUILDING and (builder := builder_of((args, kwargs))) is not None:
            return builder.writing(f, args, kwargs)
        x: Any = args[0] if args else kwargs.get(first)
        if not isinstance(value(x), ndarray):  # which raises, or does nothing
            g = getattr(np.generic, f.__name__) if method and isinstance(value(x), np.generic) else f
            return g(*map(value, args), **{k: value(v) for k, v in kwargs.items()})
        if remote(x) or depends(args) or depends(kwargs):
            return recorded(*args, **kwargs)
        if type(x) in ARRAYS:
            before_plain_write(x)
        if type(x) is ndarray:
            return f(*map(on_host, args), **{k: on_host(v) for k, v in kwargs.items()})
        return f(*args, **kwargs)

    call.__name__ = f.__name__
    return call


def flattened(x: Any) -> Any:
    """An array of rank 0 as a view of rank 1."""
    from .callables import of

    return of(np.reshape)(x, (1,))


def write_flat(x: Any, positions: Any, v: Any, picks: Any = None) -> None:
    """Entries `positions` (in C order) of `x` become those of `v`, repeated as needed, or the `picks` of it."""
    v, positions, picks = settle(v), on_host(positions), on_host(picks)
    if not value(x).ndim:
        x = flattened(x)
    w = value(v)
    w = w if remote(w) else np.asarray(w)
    if w.size != 1 or w.ndim:
        picks = np.arange(positions.size) if picks is None else picks
        v = EAGER.getitem(v if isinstance(v, Ref) else w, np.unravel_index(picks % w.size, w.shape), site())
    EAGER.store(v, x, np.unravel_index(positions, value(x).shape), site())


class Flat:
    """`x.flat` of a recorded array: its entries in C order, to read and to write."""

    __slots__ = ("base",)

    def __init__(self, base: Any) -> None:
        self.base = base if base.v.ndim else flattened(base)

    def place(self, i: Any) -> Any:
        v = self.base.v
        return np.unravel_index(np.arange(v.size)[plain_key(i)], v.shape)

    def __getitem__(self, i: Any) -> Any:
        return EAGER.getitem(self.base, self.place(i), site())

    def __setitem__(self, i: Any, v: Any) -> None:
        write_flat(self.base, np.arange(self.base.v.size)[plain_key(i)], v)

    def __len__(self) -> int:
        return int(self.base.v.size)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


def flat(x: Any) -> Any:
    return Flat(x) if isinstance(x, Ref) else x.flat


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    from .callables import of

    mask = value(where)
    EAGER.store(src if mask is True else of(np.where)(mask, src, dst), dst, Ellipsis, site())


def fill_with(x: Any, v: Any) -> None:
    np.empty((), value(x).dtype).fill(value(v))  # raises what NumPy raises
    EAGER.store(v, x, Ellipsis, site())


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    positions = np.arange(value(a).size).take(np.ravel(value(ind)), mode=mode)
    write_flat(a, positions, v)


def place(arr: Any, mask: Any, vals: Any) -> None:
    write_flat(arr, np.flatnonzero(value(mask)), vals)


def putmask(a: Any, mask: Any, values: Any) -> None:
    positions = np.flatnonzero(value(mask))
    write_flat(a, positions, values, positions)


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    mask = np.zeros(value(a).shape, bool)
    np.fill_diagonal(mask, True, wrap)
    write_flat(a, np.flatnonzero(mask), val)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    x, indices = value(arr), value(indices)
    if axis is None:
        write_flat(arr, np.arange(x.size)[indices], values)
        return
    grid = list(np.ogrid[tuple([slice(n) for n in x.shape])])
    grid[axis] = indices
    EAGER.store(values, arr, tuple(grid), site())


def separately(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one array that takes several: one after the other."""

    def call(*arrays: Any) -> Any:
        return handler(arrays[0]) if len(arrays) == 1 else tuple([handler(x) for x in arrays])

    return call


def logarithm(natural: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    """`math.log` with one argument and with two."""

    def log(x: Any, *base: Any) -> Any:
        return general(x, *base) if base else natural(x)

    return log


def replacing(handler: Callable[..., Any]) -> Callable[..., Any]:
    """`np.nan_to_num`, with `copy=False` a write."""

    def nan_to_num(x: Any, copy: Any = True, *args: Any, **kwargs: Any) -> Any:
        r = handler(x, True, *args, **kwargs)
        if not copy and isinstance(value(x), ndarray):
            EAGER.store(r, x, Ellipsis, site())
            return x
        return r

    return nan_to_num


def listing(item: Callable[..., Any]) -> Callable[..., Any]:
    """`x.tolist()`: nested lists of recorded Python floats."""

    def tolist(x: Any) -> Any:
        x = settle(x)
        if not isinstance(x, Ref):
            return x.tolist()
        if not isinstance(x.v, ndarray) or x.v.ndim == 0:
            return item(x)
        return [tolist(EAGER.getitem(x, i, site())) for i in range(len(x.v))]

    return tolist


def fill(table: dict[Any, Any], methods: dict[str, Any]) -> None:
    """Enter these functions into the tables."""
    from .callables import handler

    pairs: tuple[tuple[Any, Any], ...] = (
        (np.copyto, copyto), (np.put, put), (np.place, place), (np.putmask, putmask),
        (np.fill_diagonal, fill_diagonal), (np.put_along_axis, put_along_axis),
    )  # fmt: skip
    for f, recorded in pairs:
        table[f] = writing(f, recorded)
    methods["flat"] = flat
    for method in (Flat.__getitem__, Flat.__setitem__):
        table[method] = method
    methods["put"] = table[ndarray.put] = writing(ndarray.put, put)
    methods["fill"] = table[ndarray.fill] = writing(ndarray.fill, fill_with)
    table[np.add.at], table[np.subtract.at] = at(np.add.at, 1), at(np.subtract.at, -1)
    for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        table[f] = separately(table[f])
    table[np.nan_to_num] = replacing(table[np.nan_to_num])
    methods["tolist"] = table[ndarray.tolist] = listing(methods["item"])
    table[math.log] = logarithm(*[handler(OPERATIONS[name], math.log) for name in ("log", "log_base")])
