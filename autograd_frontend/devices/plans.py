"""Launches made from expressions, remembered by what they are made of.

Writing a text takes milliseconds, launching it microseconds, and a program does the same to the same shapes again and
again. A plan is what was launched before for the same expressions over arrays of the same shapes, strides and sharing;
the arrays and numbers of today go in the places of those of then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .expressions import CODES, Expr, Launch, nodes, number

MOST = 4096  # plans that are kept
Outputs = Sequence[tuple[Expr, Any]]


class Subject:
    """What a launch is made from: `key` says all that its text and its sizes depend on; `spots` (read, then written)
    and `numbers` are the rest, in the order in which they are met; `places` has those that are read, by place.

    The key is a prefix notation of the expressions. A code says how many arguments or further entries follow it; an
    expression met before is its number there, negative.
    """

    __slots__ = ("key", "spots", "numbers", "places")

    def __init__(self, outputs: Outputs, more: Any) -> None:
        key: list[Any] = [more, len(outputs)]
        self.spots: list[Any] = []
        self.numbers: list[Expr] = []
        self.places: dict[Any, int] = {}
        buffers: dict[int, int] = {}
        seen: dict[Expr, int] = {}
        todo = [e for e, _ in outputs]
        while todo:
            e = todo.pop()
            if e in seen:
                key.append(~seen[e])
                continue
            seen[e] = len(seen)
            if e.args:
                key.append(CODES[e.kind, e.name, e.dtype.char, len(e.args)])
                todo += e.args
            elif e.kind == "leaf":
                spot = e.leaf
                place = (spot.address, spot.code)
                which = self.places.get(place)
                if which is None:
                    which = self.places[place] = len(self.spots)
                    self.spots.append(spot)
                key += (spot.code, which, buffers.setdefault(id(spot.buffer), len(buffers)))
            else:
                self.numbers.append(e)
                key.append(CODES[e.kind, e.dtype.char])
        for _, out in outputs:
            key += (out.code, buffers.setdefault(id(out.buffer), len(buffers)))
            self.spots.append(out)
        self.key = tuple(key)


class Plan:
    """Launches without arguments, each with the places of its arguments among the spots, numbers, memory between and
    constants."""

    __slots__ = ("launches", "empties", "constants")

    def __init__(self, launches: list[tuple[Launch, list[int]]], empties: list[Any], constants: list[Any]) -> None:
        self.launches, self.empties, self.constants = launches, empties, constants

    def ready(self, subject: Subject, empty: Any) -> list[Launch]:
        given = subject.spots
        if subject.numbers:
            given = [*given, *[number(e) for e in subject.numbers]]
        if self.empties:
            given = [*given, *[empty(*about) for about in self.empties]]
        given = given + self.constants
        return [
            Launch(launch.kernel, launch.grid, launch.block, tuple([given[k] for k in places]))
            for launch, places in self.launches
        ]


class Plans:
    """What was launched before."""

    def __init__(self) -> None:
        self.plans: dict[Any, Plan] = {}

    def launches(
        self, outputs: Outputs, more: Any, make: Callable[[Any, Any], list[Launch]], empty: Any = None
    ) -> list[Launch]:
        """The launches that `make(outputs, empty)` gives; `empty` is memory for what lies between two of them."""
        subject = Subject(outputs, more)
        plan = self.plans.get(subject.key)
        if plan is not None:
            return plan.ready(subject, empty)
        empties: list[Any] = []

        def noted(shape: Any, dtype: Any) -> Any:
            empties.append((shape, dtype, empty(shape, dtype)))
            return empties[-1][2]

        launches = make(outputs, noted)
        plan = planned(launches, subject, outputs, empties)
        if plan is not None:
            if len(self.plans) >= MOST:
                self.plans.clear()
            self.plans[subject.key] = plan
        return launches


def planned(launches: list[Launch], subject: Subject, outputs: Outputs, empties: list[Any]) -> Plan | None:
    """What can be done again of launches: None where it is not clear what an argument is."""
    written, read = len(subject.spots) - len(outputs), subject.places
    wheres = {id(out): written + k for k, (_, out) in enumerate(outputs)}
    if len(wheres) < len(outputs) or any(id(x) in wheres for x in subject.spots[:written]):
        return None
    first = len(subject.spots) + len(subject.numbers)
    wheres |= {id(x): first + k for k, (_, _, x) in enumerate(empties)}
    numbers = [e for e in nodes(*[e for e, _ in outputs]) if e.kind == "scalar"]  # as they are in a text
    constants: list[Any] = []
    found = []
    for n, launch in enumerate(launches):
        left = list(numbers) if n == 0 else []
        places = []
        for kind, x in zip(launch.kernel.parameters, launch.arguments, strict=True):
            if kind == "pointer":
                where = wheres.get(id(x))
                if where is None and hasattr(x, "code"):
                    where = read.get((x.address, x.code))
            elif left:  # they follow the first pointers
                e = left.pop(0)
                where = len(subject.spots) + subject.numbers.index(e) if kind == e.dtype.name else None
            else:
                where = first + len(empties) + len(constants)
                constants.append(x)
            if where is None:
                return None
            places.append(where)
        if left:
            return None
        found.append((launch._replace(arguments=()), places))
    return Plan(found, [(shape, dtype) for shape, dtype, _ in empties], constants)


def remembered(make: Callable[..., Launch]) -> Callable[..., Launch]:
    """A function of views of memory and of settings that gives a launch: what it gave for views of the same shapes,
    strides and element types, with those of today as arguments."""
    plans: dict[Any, tuple[Launch, list[int], list[Any]]] = {}

    def made(*given: Any) -> Launch:
        views = [x for x in given if hasattr(x, "code")]
        if not views:
            return make(*given)
        key = tuple([x.code if hasattr(x, "code") else (type(x), x) for x in given])
        found = plans.get(key)
        if found is not None:
            launch, places, constants = found
            every = views + constants
            return Launch(launch.kernel, launch.grid, launch.block, tuple([every[k] for k in places]))
        launch = make(*given)
        wheres = {id(x): k for k, x in enumerate(views)}
        if len(wheres) == len(views) and len(views) == len([x for x in launch.arguments if id(x) in wheres]):
            constants = [x for x in launch.arguments if id(x) not in wheres]
            places, k = [], len(views)
            for x in launch.arguments:
                places.append(wheres.get(id(x), k))
                k += id(x) not in wheres
            if len(plans) >= MOST:
                plans.clear()
            plans[key] = launch._replace(arguments=()), places, constants
        return launch

    made.__wrapped__ = make  # type: ignore[attr-defined]
    return made
