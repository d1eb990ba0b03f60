"""Derivatives taken in a function whose graph is built: what the inner sweep will need is noted beside the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import memory, stores
from ..callables import of
from ..general import viewed
from ..recording import HARMLESS, depends, emit, is_complex, refuse, settle, tape_of
from ..tape import Ref, Tensor
from .builder import is_mask
from .nodes import Link
from .results import looks

ndarray = np.ndarray


def recorded(b: Any, op: Any, call: Any, args: Any, kwargs: Any, v: Any, target: Any, s: Any) -> Any:
    """The handle of a call inside."""
    n = b.node(target, op.name, call, args, kwargs, v, s)
    if op.name == "pow" and type(v) is float:  # of a negative number it may be complex
        n = b.add("call", "real", "autograd_frontend.graph.helpers.real", (Link(n.number),), {}, v, n.data, None, s)
    if n.data or op.data:
        n.data = True
        return b.value(v, n)
    operands, attributes, first = bound(b, op, args, kwargs)
    if op.parts:
        raise refuse(f"{op.name} has several results, whose derivative a graph does not hold", "Take it outside.", s)
    if is_complex(v) or any(is_complex(b.stand_in(x)) for x in operands):
        raise refuse("the derivative of complex numbers is no graph yet", "Use real and imaginary parts.", s)
    t = tape_of([x for x in operands if isinstance(x, Ref)])
    if op.views and type(operands[0]) is Tensor and looks(op, operands, attributes):
        if any(type(x) not in HARMLESS and depends(x) for x in attributes.values()):
            raise refuse(f"a setting of {op.name} depends on an input; the derivative is a graph", "Use plain data.")
        r = viewed(op, call, args, kwargs, first, operands, attributes, t)
        if r is operands[0]:
            return r
    else:
        assert t is not None
        r = emit(op, v, operands, attributes, s, t, (call, args, kwargs))
    return b.named(r, n) if isinstance(r, Ref) else b.value(v, n)


def bound(b: Any, op: Any, args: Any, kwargs: Any) -> Any:
    """The operands and settings of a call, as they are recorded."""
    if op.bind is None:
        given: Any = args[: len(op.operands)]
        attributes: dict[str, Any] = {}
    else:
        given, attributes = op.bind(*args, **kwargs)
    for name, x in attributes.items():
        if type(x) not in HARMLESS and depends(x) and not is_data(b, x):
            raise refuse(f"{name} of {op.name} depends on an input, but it has to be plain data", "Use np.where.")
    attributes |= dict.fromkeys(op.keeps)  # they are recorded when the rules ask for them
    return tuple([settle(x) for x in given]), attributes, given[0] if given else None


def is_data(b: Any, x: Any) -> bool:
    """Whether a setting is a node of data."""
    return isinstance(x, Ref) and b.plain(x)


def plainly(b: Any, f: Any, *args: Any) -> Any:
    """What the recording itself does with a read or a write."""
    b.inside = True
    try:
        return f(*args)
    finally:
        b.inside = False


def read(b: Any, x: Any, key: Any, plain: Any, s: Any) -> Any:
    """`x[key]`."""
    v = (x.v if isinstance(x, Ref) else x)[plain]
    n = b.add("getitem", "getitem", "", (b.form(x), b.form(key)), {}, v, None, None, s)
    if not isinstance(x, Ref) or n.data:
        return b.value(v, n)
    r = plainly(b, memory.read, x, plain, s)
    if any(isinstance(k, Ref) for k in parts(key)):
        if type(r.n) is not memory.Gather:
            raise refuse("an array is read at a place that depends on an input", "Use an array of indices.", s)
        r.n.key = key
    return b.named(r, n)


def parts(key: Any) -> Any:
    return key if type(key) is tuple else (key,)


def store(b: Any, v: Any, x: Any, key: Any, plain: Any, s: Any) -> None:
    """`x[key] = v`."""
    before = len(b.t)
    looked = any(isinstance(k, Ref) for k in parts(key))
    if looked and isinstance(v, Ref) and is_mask(plain) and not np.ndim(b.stand_in(v)) and plain.shape == x.v.shape:
        v = of(np.where)(key, v, x)
        key, plain, looked = ..., ..., False
    if looked and isinstance(v, Ref):
        raise refuse(
            "a value is stored at places that depend on an input, and the derivative is a graph",
            "Write x = np.where(mask, v, x).",
            s,
        )
    plainly(b, quietly, v, x, plain, s)
    if looked and len(b.t) > before:
        b.t[-1].key = key


def quietly(v: Any, x: Any, plain: Any, s: Any) -> None:
    with np.errstate(all="ignore"):
        stores.write(v, x, plain, s)


def nothing() -> None:
    """What is done when the graph is run."""


def inplace(b: Any, op: Any, call: Any, x: Any, other: Any, s: Any) -> None:
    """`x op= other`."""
    x = settle(x)
    if op is None:
        stores.overwrite(nothing, x, s)
    elif op.accumulates:
        stores.accumulate(op, nothing, x, other, s)
    else:
        stores.into(op, nothing, (x, other), None, x, s)
