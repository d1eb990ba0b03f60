"""Whole numbers that depend on an input: a graph takes them as values, not where they decide about shapes or axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import RecordError
from ..recording import refuse, settle
from ..tape import Ref
from . import results
from .shapes import described

ndarray = np.ndarray
GENERATORS = (np.random.Generator, np.random.RandomState)
STATIC_SHAPES = "Give it plain data, or choose entries with np.where or by multiplying with a mask."


class Steady:
    """The part of a `Builder` that finds stand-ins of results."""

    stand_in: Any
    seeded: list[Any]

    def drawn(self, f: Any, given: Any, v: Any) -> None:
        """A call that is not recorded: a generator is a constant only where the function itself has seeded it."""
        owner = given[0] if given else getattr(f, "__self__", None)
        if isinstance(v, GENERATORS):
            if any(x is not None for x in given):
                self.seeded.append(v)
        elif f is np.random.seed and given:
            self.seeded.append(getattr(np.random.normal, "__self__", None))
        elif isinstance(owner, GENERATORS) and not any(owner is x for x in self.seeded):
            reason = f"{f.__name__} draws numbers, which a graph would give again at every run"
            raise refuse(reason, "Draw them outside and make them an argument, or write ops.rand_uniform(shape, seed).")

    def steady(self, name: str, rule: Any, args: Any, kwargs: Any) -> Any:
        """The stand-in of a result. Where its shape or type depends on the whole numbers that the call is given, and
        these on an input, no graph knows it."""
        whole, reason = self.whole((args, kwargs)), f"the shape or the axes of what {name} gives depend on an input"
        with np.errstate(all="ignore"):
            try:
                v = rule(self.stand_in(args), self.stand_in(kwargs))
                others = [self.tried(rule, args, kwargs, x, v) for x in results.OTHERS] if whole else []
            except RecordError:
                raise
            except Exception:
                if not whole:
                    raise
                raise refuse(reason, STATIC_SHAPES) from None
        if any(described(x) != described(v) for x in others):
            raise refuse(reason, STATIC_SHAPES)
        return v

    def tried(self, rule: Any, args: Any, kwargs: Any, other: Any, v: Any) -> Any:
        """The result with other whole numbers; `v` where there are not so many entries."""
        try:
            return rule(*self.replaced((args, kwargs), other))
        except np.exceptions.AxisError:
            raise
        except (IndexError, ValueError):
            return v

    def whole(self, x: Any) -> bool:
        """Whether there are whole numbers in `x` that depend on an input."""
        kind = type(x)
        if kind is list or kind is tuple:
            return any(map(self.whole, x))
        if kind is dict:
            return any(map(self.whole, x.values()))
        x = settle(x) if kind is ndarray else x
        return isinstance(x, Ref) and results.is_index(x.v)

    def replaced(self, x: Any, f: Any) -> Any:
        """`x` with other stand-ins of whole numbers."""
        kind = type(x)
        if kind is list or kind is tuple:
            return kind([self.replaced(e, f) for e in x])
        if kind is dict:
            return {k: self.replaced(e, f) for k, e in x.items()}
        return f(self.stand_in(x)) if self.whole(x) else self.stand_in(x)
