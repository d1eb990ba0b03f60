"""Entries of arrays of a device at integer indices and under masks: read, written, added to."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import kernels_index
from .expressions import call
from .functions_key import Key, check_on_host, source, target
from .kernels_index import Picked
from .spots import Spot
from .table import METHODS, unsupported
from .views import broadcast_to

Array = Any  # one of a device: NumPy's stubs know only their own


FEW = 8  # indices of the host's up to which a kernel is given the views they pick: nothing is copied to the device


def few(k: Key) -> list[int] | None:
    """The entries of the only index array of a key, if it is short and the host's; None otherwise."""
    index = k.given[0]
    if len(k.given) > 1 or hasattr(index, "layout") or index.ndim != 1 or not 0 < index.size <= FEW:
        return None
    n = k.view.shape[k.picked[0]]
    check_on_host(index, k.named[0], n)
    return [i % n for i in index.tolist()]


def along(x: Array, axis: int, i: int) -> Array:
    return x[(*(slice(None),) * axis, i, ...)]


def gather_few(k: Key, indices: list[int]) -> Array:
    session, front = k.view.session, max(k.front, 0)
    parts = [along(k.view, k.picked[0], i) for i in indices]
    rest = parts[0].shape
    out: Array = session.empty((*rest[:front], len(indices), *rest[front:]), k.view.dtype)
    session.fill([(session.spot(along(out, front, j)), part.operand()) for j, part in enumerate(parts)])
    return out


def store_few(k: Key, indices: list[int], v: Array, ufunc: str = "") -> None:
    """Write `v` there, or what a ufunc gives with it. The last of several values for one entry stays."""
    view, front = k.view, max(k.front, 0)
    session, rest = view.session, along(view, k.picked[0], 0).shape
    with session.lock:
        v = shaped_like((*rest[:front], len(indices), *rest[front:]), view, v)
        if session.memory_of(v) is target(view).buffer:
            v = v.copy()
        parts = []
        for i, j in {i: j for j, i in enumerate(indices)}.items():
            part, new = along(view, k.picked[0], i), along(v, front, j).operand()
            parts.append((session.spot(part), call(ufunc, (part.operand(), new), view.dtype) if ufunc else new))
        session.fill(parts)


def gather(x: Array, key: Any, checked: bool = True) -> Any:
    """`x[key]` of a key with arrays: a copy."""
    k = Key(x, key)
    if not k.given:
        return k.view
    indices = few(k)
    if indices is not None:
        return gather_few(k, indices)
    p, flag = k.resolved(checked)
    out = picked(x.session, p, flag, x.dtype)
    k.check(flag)
    return out


def picked(session: Any, p: Picked, flag: Any, dtype: Any) -> Array:
    out: Array = session.empty(p.result, dtype)
    if out.size:
        session.launch(kernels_index.gather(p, session.spot(out), None if flag is None else session.spot(flag)))
    out.scalar = not p.result
    return out


def located(session: Any, p: Picked, flag: Any) -> Spot:
    """Where in memory the entries of a key stand."""
    at = session.spot(session.empty((prod(p.shape),), np.int64))
    session.launch(kernels_index.places(p, at, None if flag is None else session.spot(flag)))
    found: Spot = at
    return found


def ordered(session: Any, at: Spot) -> Spot:
    """The stable order of places."""
    order: Spot = source(session.wrap(session.xp.argsort(session.cupy(at), kind="stable")))
    return order


def shaped_like(shape: tuple[int, ...], x: Array, v: Any) -> Array:
    """What is written, in the shape of the entries it is written to."""
    if not hasattr(v, "layout"):
        v = np.asarray(v)
        number = v.ndim == 0 and v.dtype.kind in "biuf"
        v = x.session.full((), v, x.dtype) if number else x.session.array(v)
    v = v.astype(x.dtype, copy=False)
    while v.ndim > len(shape) and v.shape[0] == 1:
        v = v.reshape(v.shape[1:])
    try:
        return v if v.shape == shape else broadcast_to(v, shape)
    except ValueError:
        raise ValueError(
            f"shape mismatch: value array of shape {v.shape} could not be broadcast to indexing result of shape"
            f" {shape}"
        ) from None


def put(x: Array, key: Any, v: Any) -> None:
    """`x[key] = v` of a key with arrays. Where one entry is written more than once, the last value stays."""
    k = Key(x, key)
    if not k.given:
        k.view[...] = v
        return
    indices = few(k)
    if indices is not None:
        store_few(k, indices, v)
        return
    p, flag = k.resolved()
    v = shaped_like(p.result, x, v)
    if not v.size:
        return
    once = k.unique(p)
    write(x.session, p, k.view, v, flag, k, once)


def write(session: Any, p: Picked, view: Array, v: Array, flag: Any, k: Any, once: bool) -> None:
    with session.lock:
        p, values, at = aimed(session, p, view, v, flag, k)
        session.launch(kernels_index.store(p, values, at, None if once else ordered(session, at)))


def aimed(session: Any, p: Picked, view: Array, v: Array, flag: Any, k: Any) -> tuple[Picked, Any, Any]:
    """What a write at picked places needs: where to, which values (a copy, if they are read from there), and the
    places, whose bounds are checked before anything is written."""
    values, to = source(v), target(view)
    if values.buffer is to.buffer:
        values = source(v.copy())
    p = p._replace(x=to)
    at = located(session, p, flag)
    if k is not None:
        k.check(flag)
    return p, values, at


def combine_at(ufunc: str, x: Array, key: Any, v: Any, checked: bool = True) -> None:
    """`ufunc.at(x, key, v)`: every entry of `v` in its order, with NumPy's bits."""
    if not hasattr(x, "layout"):
        raise TypeError("the first operand of at() is an array of the host's, another one is on a device")
    if ufunc not in kernels_index.COMBINE:
        raise unsupported(f"np.{ufunc}.at")
    v = x.session.array(v) if not hasattr(v, "layout") else v
    if not np.can_cast(v.dtype, x.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc}' output from {v.dtype!r} to {x.dtype!r} with casting rule 'same_kind'"
        )
    k = Key(x, key)
    if not k.given:  # no entry twice
        getattr(np, ufunc)(k.view, v, out=k.view)
        return
    indices = few(k) if ufunc == "add" and x.dtype.kind in "fiu" else None
    if indices is not None and len(set(indices)) == len(indices):
        store_few(k, indices, v, ufunc)
        return
    p, flag = k.resolved(checked)
    v = shaped_like(p.result, x, v)
    if v.size:
        combine(ufunc, x.session, p, k.view, v, flag, k)


def combine(ufunc: str, session: Any, p: Picked, view: Array, v: Array, flag: Any, k: Any = None) -> None:
    with session.lock:
        p, values, at = aimed(session, p, view, v, flag, k)
        session.launch(kernels_index.segments(p, values, at, ordered(session, at), ufunc))


for _name in kernels_index.COMBINE:

    def _at(x: Any, key: Any, v: Any, _name: str = _name) -> None:
        combine_at(_name, x, key, v)

    METHODS[_name, "at"] = _at
