"""Launches made from expressions, remembered by what they are made of.

Writing a text takes milliseconds, launching it microseconds, and a program does the same to the same shapes again and
again. A plan is what was launched before for the same expressions over arrays of the same shapes, strides and sharing;
the arrays and numbers of today go in the places of those of then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .expressions import Expr, Launch, nodes

MOST = 4096  # plans that are kept


class Subject:
    """What a launch is made from: `key` says all that its text and its sizes depend on; `spots` and `numbers` are the
    rest, in the order in which they are met."""

    __slots__ = ("key", "spots", "numbers")

    def __init__(self, outputs: Sequence[tuple[Expr, Any]], more: tuple[Any, ...]) -> None:
        self.spots: list[Any] = []
        self.numbers: list[Expr] = []
        places: dict[Any, int] = {}
        buffers: dict[int, int] = {}
        seen: dict[int, int] = {}
        key: list[Any] = [more]
        for e in nodes(*[e for e, _ in outputs]):
            seen[id(e)] = len(seen)
            if e.kind == "leaf":
                key.append(self.place(e.leaf, places, buffers))
            elif e.kind == "scalar":
                self.numbers.append(e)
                key.append(e.dtype.char)
            else:
                key += [e.name, e.kind, e.dtype.char, *[seen[id(a)] for a in e.args]]
                if e.kind == "row":
                    key.append(e.args[0].shape)
        for e, out in outputs:
            key += [seen[id(e)], e.shape, self.place(out, {}, buffers)]
        self.key = tuple(key)

    def place(self, spot: Any, places: dict[Any, int], buffers: dict[int, int]) -> Any:
        about = (spot.dtype.char, spot.shape, spot.strides)
        which = places.setdefault((spot.address, about), len(self.spots))
        if which == len(self.spots):
            self.spots.append(spot)
        return (about, which, buffers.setdefault(id(spot.buffer), len(buffers)))


class Plan:
    """Launches, with where arguments come from: ("spot", k), ("empty", k), ("number", k), or ("", the argument)."""

    __slots__ = ("launches", "empties")

    def __init__(self, launches: list[Any], empties: list[Any]) -> None:
        self.launches, self.empties = launches, empties

    def ready(self, subject: Subject, empty: Any) -> list[Launch]:
        given = {"spot": subject.spots, "empty": [empty(*about) for about in self.empties]}
        found = []
        for launch, sources in self.launches:
            arguments = []
            for kind, x in sources:
                if kind == "number":
                    e = subject.numbers[x]
                    arguments.append(e.value if getattr(e.value, "dtype", None) == e.dtype else e.dtype.type(e.value))
                else:
                    arguments.append(given[kind][x] if kind else x)
            found.append(launch._replace(arguments=tuple(arguments)))
        return found


class Plans:
    """What was launched before."""

    def __init__(self) -> None:
        self.plans: dict[Any, Plan] = {}

    def launches(
        self,
        outputs: Sequence[tuple[Expr, Any]],
        more: tuple[Any, ...],
        make: Callable[[Any], list[Launch]],
        empty: Any = None,
    ) -> list[Launch]:
        """The launches that `make(empty)` gives for these outputs, of which it gets memory for what lies between."""
        subject = Subject(outputs, more)
        plan = self.plans.get(subject.key)
        if plan is not None:
            return plan.ready(subject, empty)
        empties: list[Any] = []

        def noted(shape: Any, dtype: Any) -> Any:
            empties.append((shape, dtype, empty(shape, dtype)))
            return empties[-1][2]

        launches = make(noted)
        plan = planned(launches, subject, empties)
        if plan is not None:
            if len(self.plans) >= MOST:
                self.plans.clear()
            self.plans[subject.key] = plan
        return launches


def planned(launches: list[Launch], subject: Subject, empties: list[Any]) -> Plan | None:
    """What can be done again of launches: None where an argument is not found."""
    found = []
    spots = {id(x): ("spot", k) for k, x in enumerate(subject.spots)}
    spots |= {id(x): ("empty", k) for k, (_, _, x) in enumerate(empties)}
    for n, launch in enumerate(launches):
        numbers = subject.numbers if n == 0 else []
        first = next((k for k, kind in enumerate(launch.kernel.parameters) if kind != "pointer"), 0)
        sources: list[Any] = []
        for k, (kind, x) in enumerate(zip(launch.kernel.parameters, launch.arguments, strict=True)):
            if kind == "pointer":
                if id(x) not in spots:
                    return None
                sources.append(spots[id(x)])
            elif 0 <= k - first < len(numbers):  # they follow the first pointers
                if kind != numbers[k - first].dtype.name:
                    return None
                sources.append(("number", k - first))
            else:
                sources.append(("", x))
        found.append((launch._replace(arguments=()), sources))
    return Plan(found, [(shape, dtype) for shape, dtype, _ in empties])
