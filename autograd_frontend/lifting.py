"""`f.elementwise`: a function of numbers for every entry of arrays.

The function runs once for all entries that take the same way through it (`lanes.py`, `lifted.py`). Where that cannot be
done faithfully it is called for one entry after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .callables import of
from .eager import EAGER
from .entrywise import dtype_of
from .errors import RecordError
from .lanes import Lanes, Part, Unliftable, lanes
from .lifted_calls import Calls
from .memory import shares
from .ops.lanes import picked
from .recording import depends, mine, refuse, refuse_value, settle, short, site, value
from .remote_lifting import device_of
from .remote_lifting import evaluate as compiled
from .tape import Ref

ndarray = np.ndarray
SMALL = 8  # entries, which are faster one by one


def evaluate(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The array of the values of `fn` for the entries of the arrays among its arguments, which broadcast."""
    refuse_value((args, kwargs), "elementwise", "Write np.where(condition, x, y).")
    session = device_of((*args, *kwargs.values()))
    if session is not None:
        return compiled(session, fn, args, kwargs)
    given = [settle(x) if type(x) is ndarray else x for x in (*args, *kwargs.values())]
    names = list(kwargs)
    at = [i for i, x in enumerate(given) if type(value(x)) is ndarray]

    def call(f: Any, numbers: Any) -> Any:
        mine = list(given)
        for i, x in zip(at, numbers, strict=True):
            mine[i] = x
        return f(*mine[: len(args)], **dict(zip(names, mine[len(args) :], strict=True)))

    if not at:
        return of(fn)(*args, **kwargs)
    arrays = [given[i] for i in at]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    if 0 in shape:
        return np.empty(shape, np.result_type(*[x.dtype for x in arrays]))
    flat = [flattened(x, shape) for x in arrays]
    n = value(flat[0]).size
    if all(value(x).dtype.kind in "fiub" and value(x).dtype.isnative for x in flat) and n >= SMALL:
        before = [(t, t.refusals) for t in mine()]
        try:
            r = at_once(fn, call, flat, n, given)
            forget(before)
        except Unliftable:
            forget(before)
            r = one_by_one(fn, call, flat, n)
    else:
        r = one_by_one(fn, call, flat, n)
    return of(np.reshape)(r, shape)


def forget(before: Any) -> None:
    """What was refused while all ways were tried has been done otherwise."""
    for t, refusals in before:
        t.refusals = refusals


def flattened(x: Any, shape: tuple[int, ...]) -> Any:
    x = x if x.shape == shape else of(np.broadcast_to)(x, shape)
    return of(np.reshape)(x, -1)


def at_once(fn: Any, call: Any, flat: Any, n: int, given: Any) -> Any:
    """All ways through the function, each for its entries. Unliftable: it has to be called for one after the other."""
    top = Part(n)
    run = Calls(top, [fn, *[x for x in given if type(value(x)) is not ndarray]])
    try:
        program = run.of(fn)
    except RecordError as error:
        raise Unliftable from error
    columns = [lanes(run, x, value(x).dtype.type) for x in flat]
    run.pending.append((top, []))
    parts: list[tuple[Part, Any]] = []
    failures: list[tuple[int, Exception]] = []
    while run.pending:
        part, log = run.pending.pop()
        if part.size < SMALL:
            alone(run, part, flat, lambda numbers: call(program, numbers), parts, failures)
            continue
        run.start(part, log)
        outcome = attempt(run, partial(call, program, columns))
        if isinstance(outcome, Exception):
            failures.append((int(run.part.entries()[0]), outcome))
        else:
            parts.append((run.part, outcome.now() if type(outcome) is Lanes else number(outcome)))
    if failures:
        raise min(failures, key=lambda pair: pair[0])[1]
    r = joined([(part.entries(), r) for part, r in parts], n)
    return of(np.copy)(r) if any(shares(value(r), value(x)) for x in flat) else r


def attempt(run: Calls, call: Callable[[], Any]) -> Any:
    """What a call gives, or raises."""
    try:
        r: Any = call()
    except (RecordError, RecursionError, MemoryError) as error:
        raise Unliftable from error
    except Exception as error:
        r = error
    run.alive()
    return r


def alone(run: Calls, part: Part, flat: Any, call: Any, parts: list[Any], failures: list[Any]) -> None:
    """A few entries, one by one, but not what could be seen by others."""
    for i in part.entries():
        one = Part(1, root(part), np.array([i]))
        run.start(one, [])
        numbers = [EAGER.getitem(x, int(i), site()) for x in flat]
        r = attempt(run, partial(call, numbers))
        if isinstance(r, Exception):
            failures.append((int(i), r))
        else:
            parts.append((one, number(r)))


def root(part: Part) -> Part:
    while part.parent is not None:
        part = part.parent
    return part


def one_by_one(fn: Any, call: Any, flat: Any, n: int) -> Any:
    """The function called for one entry after the other."""
    f = of(fn) if any(depends(x) for x in flat) else fn
    results = [number(call(f, [EAGER.getitem(x, i, 0) for x in flat])) for i in range(n)]
    return joined([(np.array([i]), r) for i, r in enumerate(results)], n)


def joined(parts: list[tuple[Any, Any]], n: int) -> Any:
    """An array of the values of parts, each with the positions of its entries."""
    kinds = {kind_of(r) for _, r in parts}
    dtype = np.result_type(*kinds)
    if len(parts) == 1 and type(value(parts[0][1])) is ndarray:
        return parts[0][1]
    large = [(p, r) for p, r in parts if type(value(r)) is ndarray]
    small = [(p, r) for p, r in parts if type(value(r)) is not ndarray]
    out = np.empty(n, dtype)
    for positions, r in small:
        for_all = positions if len(positions) > 1 else int(positions[0])
        EAGER.store(r, out, for_all, site()) if isinstance(r, Ref) else out.__setitem__(for_all, r)
    out = settle(out)
    rest = np.concatenate([p for p, _ in small]) if small else np.empty(0, np.intp)
    pieces = [of(ndarray.astype)(r, dtype) if value(r).dtype != dtype else r for _, r in large]
    if not pieces:
        return out
    if small:
        pieces.append(of(picked)(out, rest))
    order = np.empty(n, np.intp)
    order[np.concatenate([*[p for p, _ in large], rest])] = np.arange(n)
    return of(picked)(of(np.concatenate)(pieces), order)


def kind_of(r: Any) -> Any:
    """The dtype of an array of such numbers; None where there is none."""
    v = value(r)
    if isinstance(v, (ndarray, np.generic)):
        return v.dtype if v.dtype.kind in "fiubc" else None
    return np.dtype(complex) if type(v) is complex else dtype_of(type(v))


def number(r: Any) -> Any:
    """What the function gives for an entry, or for several that are alike."""
    if kind_of(r) is None or np.ndim(value(r)):
        raise refuse(
            f"elementwise: the function gives {short(r)} for an entry, expected one number",
            "Call it for one number of the result at a time.",
        )
    if type(r) is int and not -(2**63) <= r < 2**63:
        raise refuse(
            "elementwise: the function gives an integer that does not fit an array of int64",
            "Write float(n) for the number it gives.",
        )
    return EAGER.getitem(r, (), site()) if type(value(r)) is ndarray else r
