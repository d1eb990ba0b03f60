"""Builtins that meet objects of the user's classes, and run or ask methods of theirs."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
from collections.abc import Callable
from typing import Any

from .callables import no_rule, of
from .iteration import steps
from .objects import get_attribute, has_attribute, is_function, set_attribute, set_on
from .tape import Ref
from .trees import holds_recorded

ALL = slice(0, None)
LOOPS: tuple[tuple[Any, slice], ...] = (
    *((f, slice(0, 1)) for f in (
        list, tuple, set, frozenset, sorted, any, all, enumerate, collections.deque, itertools.islice,
        itertools.accumulate, itertools.groupby, itertools.cycle, itertools.pairwise, itertools.tee,
        itertools.combinations, itertools.permutations, itertools.combinations_with_replacement,
    )),
    *((f, ALL) for f in (zip, itertools.chain, itertools.product, itertools.zip_longest, itertools.compress)),
    *((f, slice(1, None)) for f in (map, filter, itertools.starmap, itertools.takewhile, itertools.dropwhile,
                                    itertools.filterfalse)),
    (functools.reduce, slice(1, 2)),
)  # fmt: skip
COMPARING = (
    heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop, bisect.bisect_left,
    bisect.bisect_right, bisect.insort_left, bisect.insort_right, operator.contains, operator.indexOf,
    operator.countOf, operator.concat, operator.is_, operator.is_not, operator.delitem, operator.length_hint,
)  # fmt: skip


def looping(call: Callable[..., Any], places: slice, first_is_function: bool) -> Callable[..., Any]:
    """A builtin that runs over some of its arguments, and perhaps calls the first."""

    def handle(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        given[places] = [steps(x) for x in given[places]]
        if first_is_function and given and is_function(getattr(type(given[0]), "__call__", None)):  # noqa: B004
            given[0] = of(given[0])
        return call(*given, **kwargs)

    handle.__name__ = call.__name__
    return handle


def extreme(call: Callable[..., Any]) -> Callable[..., Any]:
    """`min` and `max` of one iterable or of several values."""
    return lambda *args, **kwargs: call(*(map(steps, args) if len(args) == 1 else args), **kwargs)


def by_method(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin that asks a special method of its first argument."""

    def handle(*args: Any, **kwargs: Any) -> Any:
        m = getattr(type(args[0]), name, None) if args and not isinstance(args[0], Ref) else None
        return of(m)(*args, **kwargs) if is_function(m) and m.__module__ != "fractions" else call(*args, **kwargs)

    handle.__name__ = call.__name__
    return handle


def written(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes objects down as they are."""

    def handle(*args: Any, **kwargs: Any) -> Any:
        if holds_recorded((args, kwargs)):
            raise no_rule(f)
        return f(*args, **kwargs)

    handle.__name__ = f.__name__
    return handle


def fill(table: dict[Any, Any]) -> None:
    from .python import iterating

    table[object.__setattr__] = set_on
    table.update({getattr: get_attribute, hasattr: has_attribute, setattr: set_attribute})
    for f, places in LOOPS:
        table[f] = looping(table[f], places, places.start == 1)
    for f in COMPARING:
        table[f] = iterating(f)
    for f in (min, max):
        table[f] = extreme(table[f])
    names = {
        abs: "__abs__", round: "__round__", reversed: "__reversed__", operator.neg: "__neg__",
        operator.pos: "__pos__", operator.abs: "__abs__", operator.invert: "__invert__",
    }  # fmt: skip
    for f, name in names.items():
        table[f] = by_method(name, table.get(f, f))
    import json
    import pickle

    for f in (json.dump, json.dumps, pickle.dump, pickle.dumps):
        table[f] = written(f)
    table[operator.call] = lambda f, /, *args, **kwargs: of(f)(*args, **kwargs)
