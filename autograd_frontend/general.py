"""Calls of operations that are not elementwise: operands by the block's `bind`, views, `out=`, several results."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from .arrays import ARRAYS, REMOTE, STRIDED, on_host, plainly
from .devices.table import Unsupported
from .errors import RecordError
from .memory import read, remember_spread, shares, view_of
from .ops.block import OPERATIONS, Operation
from .ops.interface import done
from .recording import (
    ACTIVE,
    BUILDING,
    HARMLESS,
    builder_of,
    depends,
    emit,
    mine,
    overlaps,
    refuse,
    settle,
    site,
    tape_of,
    value,
)  # fmt: skip
from .stores import adopt, before_plain_write, into
from .tape import Ref, Scalar, Tensor

ndarray = np.ndarray
COMMON = frozenset({float, int, bool, list, tuple, ndarray, np.float64, Scalar, Tensor, type(None), str})
NO_OUT = 1000


def any_operation(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    """What a program calls in place of `call`, for a block that has a `bind`."""
    bind = op.bind
    assert bind is not None
    compute = call.compute if op.keeps else call  # type: ignore[attr-defined]
    names = bind.__code__.co_varnames[: bind.__code__.co_argcount]
    out_at = names.index("out") if "out" in names else NO_OUT

    def handle(*args: Any, **kwargs: Any) -> Any:
        if BUILDING and (builder := builder_of((args, kwargs))) is not None:
            return builder.operation(op, call, args, kwargs, None)
        try:
            given, attributes = bind(*args, **kwargs)
        except Exception as error:
            return unbound(op, call, args, kwargs, error)
        t, operands = recorded(given)
        for name, x in attributes.items():
            if type(x) not in HARMLESS:
                if name in op.reads:
                    x = current(x)
                elif depends(x):
                    if op.value is None:
                        tried(call, args, kwargs)
                    raise not_plain(op, name, x)
                attributes[name] = kept(x)
        out = kwargs.get("out") if len(args) <= out_at else args[out_at]
        if out is not None:
            out = out[0] if type(out) is tuple else out
            return write_out(op, call, operands, attributes, args, kwargs, out, t)
        if t is None:
            given, named = [value(x) for x in args], {k: value(x) for k, x in kwargs.items()}
            if not REMOTE:
                return call(*given, **named)
            return plainly(lambda *args, **kwargs: computed(call, list(args), kwargs), given, named)
        if t.device is not None:
            return on_device(op, call, args, kwargs, given[0] if given else None, operands, attributes, t)
        if op.views and type(operands[0]) is Tensor:
            return viewed(op, call, args, kwargs, given[0], operands, attributes, t)
        if kwargs:
            v = compute(*[value(x) for x in args], **{k: value(x) for k, x in kwargs.items()})
        else:
            v = compute(*[value(x) for x in args])
        return finished(op, v, operands, attributes, t, (call, args, kwargs))

    handle.__name__ = op.name
    return handle


def on_device(
    op: Operation, call: Any, args: Any, kwargs: Any, first: Any, operands: Any, attributes: Any, t: Any
) -> Any:
    """The same on another device; what NumPy does not hand over to its arrays is handed over here. Settings that a
    block takes as they are it looks at, so they come to the host."""
    given = {id(x) for x in (*args, *kwargs.values())}
    home = {id(x): x.get() for x in attributes.values() if type(x) in REMOTE and id(x) in given}
    if home:
        args, kwargs = [home.get(id(x), x) for x in args], {k: home.get(id(x), x) for k, x in kwargs.items()}
        attributes.update({k: home[id(x)] for k, x in attributes.items() if id(x) in home})
    if op.views and type(operands[0]) is Tensor:
        return viewed(op, t.device.counterpart(call), args, kwargs, first, operands, attributes, t)
    v = computed(getattr(call, "compute", call), [value(x) for x in args], {k: value(x) for k, x in kwargs.items()})
    return finished(op, v, operands, attributes, t, (call, args, kwargs))


def computed(call: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A call of plain values, some of which may live on another device."""
    if REMOTE and (here := session_in([*args, *kwargs.values()])) is not None:
        args = here.listed(call, args)
        call = here.counterpart(call)
        if hasattr(call, "method") and type(args[0]) is ndarray:
            args[0] = here.array(args[0])
    return call(*args, **kwargs)


def session_in(items: Any, depth: int = 4) -> Any:
    """The session of the device that one of these values lives on."""
    for x in items:
        if type(x) in REMOTE:
            return x.session
        if depth and type(x) in (list, tuple) and (found := session_in(x, depth - 1)) is not None:
            return found
    return None


def finished(op: Operation, v: Any, operands: Any, attributes: Any, t: Any, again: Any) -> Any:
    """The handles of what a call gave."""
    if op.parts:
        return several(op, v, operands, attributes, t)
    if op.keeps:
        v, *kept_values = v
        v = done(v)
        attributes.update(zip(op.keeps, kept_values, strict=True))
    return emit(op, v, operands, attributes, site(), t, again)


def data_operation(op: Operation, call: Callable[..., Any]) -> Callable[..., Any]:
    """What a program calls in place of `call`, whose result is plain data."""
    bind = op.bind
    assert bind is not None

    names = [x for x in bind.__code__.co_varnames[: bind.__code__.co_argcount] if x in op.reads]

    def handle(*args: Any, **kwargs: Any) -> Any:
        if BUILDING and (builder := builder_of((args, kwargs)) or drawing(op)) is not None:
            return builder.operation(op, call, args, kwargs, None)
        given, settings = bind(*args, **kwargs)
        for name, x in settings.items():
            if type(x) not in HARMLESS:
                if depends(x):
                    raise not_plain(op, name, x)
                settings[name] = pure(op, name, x) if callable(x) else value(x)
        for name in op.writes:
            for x in settings[name] if isinstance(settings[name], (list, tuple)) else ():
                if type(x) in ARRAYS:
                    before_plain_write(x)
        now = [current(x) for x in given]
        if op.writes:  # into storage of the host's
            now = [on_host(x) for x in now]
        v = call(**dict(zip(names, now, strict=True)), **settings)
        return v.copy() if type(v) in ARRAYS and depends(v) else v  # in recorded memory it would be recorded

    handle.__name__ = op.name
    return handle


def drawing(op: Operation) -> Any:
    """A keyed draw is a node of the graph that is built, though it depends on no input."""
    found = [t for t in mine() if t.graph is not None] if op.name == "rand_uniform" else []
    return found[-1].graph if found else None


def current(x: Any) -> Any:
    """What an operand is now, as plain data."""
    x = value(settle(x))
    return current(x) if isinstance(x, Ref) else x  # a derivative is taken inside another one


def not_plain(op: Operation, name: str, x: Any) -> RecordError:
    """The refusal of a recorded value as a setting."""
    if name in op.writes:
        remedy = f"Give it arrays that are not differentiated: {op.name} writes into storage that is not trained."
    elif name in op.instead:
        remedy = f"Write {op.instead[name]}."
    else:
        scalar = not isinstance(x, (list, tuple)) and getattr(x, "ndim", 0) == 0
        remedy = f"Write ops.{'observe' if scalar else 'detach'}({name}), which has no derivative."
        if scalar and op.value is None:
            remedy = f"Write int({name}) for an integer, ops.observe({name}) for a float: neither has a derivative."
    return refuse(f"{name} of {op.name} is recorded, but it has to be plain data", remedy)


def pure(op: Operation, name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of plain data, which must not use recorded values: they would be constants without a word."""

    def call(*args: Any) -> Any:
        tapes = mine()
        before = [len(t) for t in tapes]
        result = None if uses_recorded(f) else f(*args)
        if uses_recorded(f) or depends(result) or [len(t) for t in tapes] != before:
            raise refuse(
                f"{name} of {op.name} uses a recorded value, but it has to be a function of plain data",
                "Compute what it needs before the call, with ops.detach.",
            )
        return result

    return call


def uses_recorded(f: Any) -> bool:
    """Whether a variable that a function is written with is recorded."""
    while isinstance(f, (partial, MethodType)):
        if depends([*f.args, *f.keywords.values()] if isinstance(f, partial) else [f.__self__]):
            return True
        f = f.func if isinstance(f, partial) else f.__func__
    if type(f) is not FunctionType:
        return False
    found = [f.__globals__.get(x) for x in f.__code__.co_names]
    found += [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    for cell in f.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # empty
            continue
    return depends(found)


def recorded(given: Any) -> tuple[Any, Any]:
    """The tape that operands are on (None: nothing is recorded), and the operands as the recording sees them."""
    t = None
    for x in given:
        kind = type(x)
        if kind is Tensor or kind is Scalar:
            if t is not x.t and (t is not None or not x.t.live):
                break
            t = x.t
        elif kind is not float and kind is not int and (kind is not ndarray or len(ACTIVE) != 1 or ACTIVE[0].adopted):
            break
    else:
        return t, given
    operands = tuple([settle(x) for x in given])
    for x in operands:
        unseen_by_numpy(x)
    return tape_of(operands), operands


def unseen_by_numpy(x: Any) -> None:
    """NumPy makes an array of an object by methods of its class, which are not recorded there."""
    kind = type(x)
    if kind in COMMON or issubclass(kind, (ndarray, np.generic)):
        return
    makes = [getattr(kind, name, None) for name in ("__array__", "__getitem__")]
    if any(isinstance(m, FunctionType) for m in makes):
        from .trees import holds_recorded

        if holds_recorded(x):
            raise refuse(
                f"NumPy would make an array of an object of class {kind.__name__} that holds recorded values",
                "Give it the array, or a list.",
            )


def unbound(op: Operation, call: Callable[..., Any], args: Any, kwargs: Any, error: Exception) -> Any:
    """A call that the block does not take: wrong, and then it raises NumPy's own error, or one without a rule."""
    if depends(args) or depends(kwargs):
        tried(call, args, kwargs)
        raise refuse(f"this form of {op.name} cannot be recorded: {error}", "Write it with functions that have a rule.")
    for x in (*args, *kwargs.values()):
        if type(x) in ARRAYS:  # it may be written into
            if kwargs.get("overwrite_input"):
                before_plain_write(x)
            for t in mine():
                t.protect(x)
    return computed(call, [value(x) for x in args], {k: value(x) for k, x in kwargs.items()})


def tried(call: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """A call that will be refused: where the plain function raises, that error comes first."""
    with suppress(Unsupported):
        call(*[scratch(x) for x in args], **{k: scratch(x) for k, x in kwargs.items()})


def scratch(x: Any) -> Any:
    """The plain value of an argument, which the call may overwrite."""
    x = value(x)
    return x.copy() if type(x) in ARRAYS else x


def viewed(
    op: Operation, call: Callable[..., Any], args: Any, kwargs: Any, first: Any, operands: Any, attributes: Any, t: Any
) -> Any:
    """A call whose result may be a view of its first operand, which was handed in as `first`."""
    x = operands[0]
    u = x.v
    given = [u if e is first else value(e) for e in args]
    named = {k: u if e is first else value(e) for k, e in kwargs.items()} if kwargs else kwargs
    call = getattr(call, "compute", call)
    v = call(*given, **named)
    if v is u:
        return x
    if not shares(v, u):
        return emit(op, done(v) if op.value else v, operands, attributes, site(), t, (call, args, kwargs))
    if overlaps(v) or type(v.base) is STRIDED:  # as a view of the cotangent, its entries would not be independent
        remember_spread(v, t)
        r = emit(op, v, operands, attributes, site(), t, (call, args, kwargs))
        r.e = x.e
        return r
    rest = [e if e is u else fixed(e) for e in given[1:]]
    named = {k: e if e is u else fixed(e) for k, e in named.items()} if named else named
    if args and args[0] is first:
        r = view_of(x, v, call, rest, named)
        return read(r, (), site()) if op.value and v.ndim == 0 else r  # one entry: a scalar
    given[1:] = rest

    def again(m: ndarray) -> Any:
        return call(*[m if e is u else e for e in given], **{k: m if e is u else e for k, e in named.items()})

    return view_of(x, v, again, ())


def fixed(x: Any) -> Any:
    """An argument that later writes do not change (x itself, the array looked at, stays)."""
    if type(x) in ARRAYS:
        return x.copy()
    return tuple([fixed(e) for e in x]) if type(x) is list else x


def kept(x: Any) -> Any:
    """A setting as it is now: the caller may change a list later. (Arrays that rules need are copied first.)"""
    if type(x) is list or (type(x) is tuple and any(type(e) not in HARMLESS for e in x)):
        return type(x)([e.copy() if type(e) in ARRAYS else kept(e) for e in x])
    return x


def write_out(op: Any, call: Any, operands: Any, attributes: Any, args: Any, kwargs: Any, out: Any, t: Any) -> Any:
    """A call with `out=`."""
    s = site()
    x = settle(out)
    if t is not None and x is out and not isinstance(x, Ref):
        if type(out) not in ARRAYS or out.dtype.kind not in "fc":
            tried(call, args, kwargs)
        x = adopt(out, t, s)
    plain = {k: value(v) for k, v in kwargs.items()}
    if "out" in plain:
        plain["out"] = value(out)
    given = [value(e) for e in args]
    if isinstance(x, Tensor):
        if op.elementwise and plain.get("where", True) is not True:
            name = f"np.{call.__name__}" if type(call).__name__ == "ufunc" else op.name
            raise refuse(f"{name} cannot be recorded with out= and where= together", "Use np.where.", s)
        tape_of((*operands, x))
        into(op, lambda: call(*given, **plain), operands, attributes, x, s)
    else:
        before_plain_write(out, s)
        call(*given, **plain)
    return out


def several(op: Operation, v: Any, operands: Any, attributes: Any, t: Any) -> Any:
    """A tuple of results, each an operation of its own; its rules may ask for all `results`."""
    s = site()
    if type(v) in ARRAYS:  # np.linalg.svd(x, compute_uv=False)
        return emit(OPERATIONS[op.alone], v, operands, attributes, s, t)
    attributes = {**attributes, "results": list(v)}
    parts = [emit(OPERATIONS[p], r, operands, attributes, s, t) if p else r for p, r in zip(op.parts, v, strict=True)]
    if t.deep:
        for n in [r.n for r in parts if type(r) is Tensor]:
            n.refs = [[parts if x is attributes["results"] else x for x in refs] for refs in n.refs]
    return type(v)(*parts) if hasattr(v, "_fields") else tuple(parts)


def composition(recorded: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """What a program calls in place of `call`, which is recorded as the operations it is made of."""
    from .callables import of

    def handle(*args: Any, **kwargs: Any) -> Any:
        if depends(args) or depends(kwargs):
            args = tuple([settle(x) if type(x) in ARRAYS else x for x in args])  # a plain `x[i]` would not be recorded
            return recorded(of, *args, **{k: settle(x) if type(x) in ARRAYS else x for k, x in kwargs.items()})
        return call(*[settle(x) for x in args], **{k: settle(x) for k, x in kwargs.items()})

    handle.__name__ = getattr(call, "__name__", recorded.__name__)
    return handle
