"""Building a graph: the program of a function is run on stand-ins, and every operation becomes a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import handles
from ..callables import of
from ..errors import RecordError
from ..leftovers import tidy
from ..recording import ACTIVE, BUILDING
from ..tape import Inside, Tape
from .arguments import Arguments, Borrowed
from .builder import Builder
from .calls import ready
from .nodes import Graph


class Building(Tape):
    """The tape of a function whose graph is being built. Its recorded values are stand-ins."""

    __slots__ = ("graph",)
    fast = property(lambda self: False, lambda self, _: None)

    def __init__(self) -> None:
        super().__init__()
        self.graph = Builder(self)

    def append(self, n: Any) -> None:
        if self.deep:  # a derivative inside is recorded on it
            super().append(n)

    def finish(self) -> None:
        self.live = False
        for kept in (self.adopted, self.saves, self.unseen, self.leaves):
            kept.clear()

    def release(self) -> None:
        self.finish()
        self.clear()


def build(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any], name_of: Callable[[int], str]) -> Graph:
    """The graph of `fn` for arguments like these."""
    from ..running import calm, definition, failed, resume
    from ..trace import check_source

    check_source(fn)
    ready()
    t, inside = Building(), Inside()
    t.owners = Borrowed(fn)  # type: ignore[assignment]
    given = Arguments(t.graph, name_of)
    entered, named = given.entered(args, kwargs)
    calm()
    ACTIVE.extend([t, inside])
    BUILDING.append(t)
    try:
        value = of(fn)(*entered, **named)
        if t.graph.refusals:
            raise t.graph.refusals[0]
        result = given.result(value, definition(fn))
        given.unchanged()
        tidy(fn, (*args, *kwargs.values()), t)
    except BaseException as error:
        if isinstance(error, RecordError):
            error.__cause__ = None
        handles.disguise(error, "float")
        failed(error, fn, (), [], t) if not isinstance(error, RecordError) else None
        raise
    finally:
        BUILDING.remove(t)
        for tape in (t, inside):
            ACTIVE.remove(tape)
        resume()
        t.release()
    name, signature = getattr(fn, "__name__", "f"), [name_of(i) for i in range(len(args))]
    graph = Graph(t.graph.nodes, given.args, given.kwargs, result, name, given.names, signature)
    graph.check()
    return graph
