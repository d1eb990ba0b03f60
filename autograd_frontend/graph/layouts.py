"""How arrays lie in memory: as inputs do, which is known when the graph runs, or as the graph itself makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import owner_of
from ..recording import refuse, settle
from ..tape import Tensor, View
from .nodes import Node

ndarray = np.ndarray
LAYOUT = "an array is written that is a view of another one or not, as an input lies in memory"
VIEW = "Write into a copy, or into an array made with np.zeros."


class Layouts:
    """The part of a `Builder` that knows which arrays may be views of others, or not."""

    t: Any
    nodes: list[Node]
    places: dict[int, tuple[Any, int]]
    unsure: dict[int, Any]
    like: dict[int, Any]

    def laid_out(self, v: Any) -> Any:
        """What is made as an input is: it lies in memory as that does."""
        if type(v) is ndarray and sum(k > 1 for k in v.shape) > 1:
            self.like[id(v)] = v
        return v

    def looked(self, op: Any, args: Any, r: Any) -> Any:
        """The result of an operation. What `reshape` gives is a view or a copy, as the array lies in memory: a graph
        knows that only of memory that it makes itself."""
        if op.name not in ("reshape", "ravel", "contiguous") or not args:
            return r
        x = settle(args[0])
        if isinstance(x, Tensor) and isinstance(r, Tensor):
            base = root_of(x.n)
            found = self.nodes[self.places[id(base)][1]] if id(base) in self.places else None
            made = found is not None and found.kind == "memory"
            loose = not made or any(x.v is y or owner_of(x.v) is y for y in self.like.values())
            if made and loose and {"K", "A"}.intersection(e for e in args if type(e) is str):
                raise refuse(f"{op.name} of an array that lies in memory as an input does", "Use the order 'C'.")
            if loose and (made or self.t.deep) and sum(k > 1 for k in x.v.shape) > 1:
                self.unsure.update({id(n): n for n in (base, root_of(r.n))})
        return r


def root_of(place: Any) -> Any:
    """The place that a view is a view of."""
    while type(place) is View:
        place = place.parent
    return place


def within(v: ndarray, owner: ndarray) -> bool:
    """Whether every axis of a view lies within one of the array."""
    axes = list(zip(owner.shape, owner.strides, strict=True))
    return all(
        n < 2 or any(s % abs(t) == 0 and (n - 1) * abs(s) <= (m - 1) * abs(t) for m, t in axes if t)
        for n, s in zip(v.shape, v.strides, strict=True)
    )
