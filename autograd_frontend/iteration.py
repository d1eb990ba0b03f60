"""What loops, unpacking and `with` blocks run of the user's classes, and the arrays that they take apart."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Iterator
from typing import Any

from .arrays import ARRAYS
from .callables import library, of, standard
from .objects import is_function
from .recording import settle
from .tape import Scalar


def steps(x: Any) -> Any:
    """What a loop runs over: an object whose class is written in Python gives its items by rewritten methods."""
    cls = type(x)
    each = getattr(cls, "__iter__", None)
    size = getattr(cls, "__len__", None)
    if is_function(size) and not library(cls.__module__) and not standard(cls.__module__):
        if is_function(each) or (each is None and is_function(getattr(cls, "__getitem__", None))):
            return Sized(iter(of(each)(x) if each else items(x)), types.MethodType(of(size), x))
    if each is None and is_function(getattr(cls, "__getitem__", None)):
        return items(x)
    if is_function(each) and not library(cls.__module__) and not standard(cls.__module__):
        x = of(each)(x)
        cls = type(x)
    step = getattr(cls, "__next__", None)
    if each is not None and is_function(step) and not library(cls.__module__) and not standard(cls.__module__):
        return Steps(x, of(step))
    return x


def items(x: Any) -> Iterator[Any]:
    """The items of an object that has only `__getitem__`."""
    get, i = of(type(x).__getitem__), 0
    while True:
        try:
            item = get(x, i)
        except IndexError:
            return
        yield item
        i += 1


class Steps:
    """An iterator of the user's, each step of which is recorded."""

    __slots__ = ("of", "step")

    def __init__(self, x: Any, step: Any) -> None:
        self.of, self.step = x, step

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        return self.step(self.of)


class Sized:
    """The items of an object that has a length: `list` asks for it."""

    __slots__ = ("items", "size", "step")

    def __init__(self, items: Any, size: Any) -> None:
        self.items, self.size = items, size
        self.step = steps(items).__next__

    def __iter__(self) -> Sized:
        return self

    def __next__(self) -> Any:
        return self.step()

    def __length_hint__(self) -> int:
        return int(self.size())


def manager(x: Any, form: Any = None) -> Any:
    """What a `with` block enters and leaves; `form` is that of its target."""
    cls = type(x)
    enter, leave = getattr(cls, "__enter__", None), getattr(cls, "__exit__", None)
    if form and enter and leave:
        return Manager(x, lambda obj: unfold(of(enter)(obj), form), leave)
    if library(cls.__module__) or standard(cls.__module__):
        return x
    return Manager(x, enter, leave) if enter and leave and (is_function(enter) or is_function(leave)) else x


class Manager:
    """A context manager of the user's, whose methods are recorded."""

    __slots__ = ("of", "enter", "leave")

    def __init__(self, x: Any, enter: Any, leave: Any) -> None:
        self.of, self.enter, self.leave = x, enter, leave

    def __enter__(self) -> Any:
        return of(self.enter)(self.of)

    def __exit__(self, *error: Any) -> Any:
        return of(self.leave)(self.of, *error)


TUPLES: tuple[Any, ...] = (enumerate, zip, type({}.items()))


def deep(form: Any) -> bool:
    """Whether parts of what is unpacked are unpacked in turn."""
    return any(type(part) is tuple for part in form)


def unfold(x: Any, form: Any) -> Any:
    """What is about to be unpacked into a target of this form: a tuple of None, of forms, and for a star of `...` or
    `("*", form)`."""
    kind = type(x)
    if kind in ARRAYS:
        x = settle(x)
    elif kind is Scalar:
        return x.v  # which cannot be unpacked, and says so
    elif kind is not tuple and kind is not list:
        x = steps(x)
    if not deep(form) or not (hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")):
        return x
    n = len(form)
    star = next((i for i, part in enumerate(form) if part is ... or (part and part[0] == "*")), n)
    items = list(itertools.islice(x, n + 1) if star == n else x)
    if len(items) < n - (star < n) or (star == n and len(items) > n):
        return items  # the unpacking raises
    end = len(items) - (n - star - 1)
    for i, part in [*enumerate(form[:star]), *enumerate(form[star + 1 :], end)]:
        if part is not None:
            items[i] = unfold(items[i], part)
    if star < n and form[star] is not ...:
        items[star:end] = unfold(items[star:end], form[star][1])
    return items


def unfolded(items: Any, form: Any) -> Any:
    """The items of a loop whose target has this form."""
    if type(items) in TUPLES and not deep(form):
        return items  # they are tuples
    return map(functools.partial(unfold, form=form), items)
