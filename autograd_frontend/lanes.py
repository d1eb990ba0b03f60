"""One number for each of many entries of an array, and which entries are being looked at.

A scalar function runs once for all entries that take the same way through it. Its numbers are `Lanes`, one for each
entry. Where entries differ in a decision, the run goes on with most of them; for the others it is done again up to
there, without computing anything: what was computed for all is in the `log`, and is narrowed to them where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .callables import of
from .ops.lanes import picked
from .recording import value

ndarray = np.ndarray
FEW = 8  # ways to go on, which are looked for one by one


class Unliftable(BaseException):
    """The function does something that cannot be done for many entries at once. No handler of the user's sees it."""


class Part:
    """Some of the entries, in order: those at `positions` of the `parent`."""

    __slots__ = ("size", "parent", "positions")

    def __init__(self, size: int, parent: Part | None = None, positions: Any = None) -> None:
        self.size, self.parent, self.positions = size, parent, positions

    def entries(self) -> Any:
        """The positions among all entries."""
        positions, part = None, self
        while part.parent is not None:
            positions = part.positions if positions is None else part.positions[positions]
            part = part.parent
        return np.arange(self.size) if positions is None else positions

    def subset(self, positions: Any) -> Part:
        return Part(len(positions), self, positions)


class Lanes:
    """A number for each entry of a part. `kind`: their type; `known`: arrays of them, recorded or not, for this part
    and parts of it."""

    __slots__ = ("run", "kind", "known")
    __class__ = property(lambda self: self.kind)  # isinstance sees the numbers' type

    run: Any
    kind: Any
    known: dict[Part, Any]

    def now(self) -> Any:
        """The array for the part that is being run, narrowed step by step: so cotangents are added up, for each entry,
        in the order in which they are for one."""
        part, positions = self.run.part, None
        known = self.known
        v = known.get(part)
        while v is None:
            if part.parent is None:
                self.run.give_up("a value of other entries")
            positions = part.positions if positions is None else part.positions[positions]
            part = part.parent
            v = known.get(part)
        if positions is not None:
            v = known[self.run.part] = of(picked)(v, positions)
        return v

    def first(self) -> Any:
        """The number of the first entry."""
        x = value(self.now())[0]
        return x if issubclass(self.kind, np.generic) else x.item()

    def __bool__(self) -> bool:
        return bool(self.run.truth(self))

    def __getattr__(self, name: str) -> Any:
        return self.run.give_up(f"the attribute {name}")


def lanes(run: Any, v: Any, kind: Any) -> Lanes:
    x = Lanes()
    x.run, x.kind, x.known = run, kind, {run.part: v}
    return x


def has_lanes(x: Any, depth: int = 6) -> bool:
    """Whether there are such numbers in containers."""
    if type(x) is Lanes:
        return True
    if type(x) in (list, tuple, set, frozenset, dict) or isinstance(x, (list, tuple, dict)):
        inside = [*x, *x.values()] if isinstance(x, dict) else x
        return not depth or any(has_lanes(e, depth - 1) for e in inside)
    return type(x) is slice and has_lanes((x.start, x.stop, x.step))


class Core:
    """The state of a run: the `part` that is run, what was computed and decided (`log`), and the other parts that are
    still to be run, each with its log."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.log: list[tuple[Any, Any]] = []
        self.at = 0
        self.pending: list[tuple[Part, list[tuple[Any, Any]]]] = []
        self.dead = ""

    def give_up(self, reason: str) -> Any:
        self.dead = reason
        raise Unliftable(reason)

    def start(self, part: Part, log: list[tuple[Any, Any]]) -> None:
        self.part, self.log, self.at = part, log, 0

    def alive(self) -> None:
        if self.dead:  # a handler of the user's has swallowed it
            raise Unliftable(self.dead)

    def event(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What was computed at this point already, or `compute()`, which may decide first what to go on with."""
        self.alive()
        log = self.log
        while self.at < len(log):
            known, r = log[self.at]
            self.at += 1
            if known is key:
                if type(r) is Raised:
                    raise r.error.with_traceback(None)
                return r
            if known is not decision:
                self.give_up("it does not do the same when it is run again")
        try:
            r = compute()
        except Exception as error:
            self.log.append((key, Raised(error)))
            self.at = len(self.log)
            raise
        self.log.append((key, r))
        self.at = len(self.log)
        return r

    def decide(self, find: Callable[[], Any]) -> int:
        """The label that the entries have which the run goes on with. `find()`: a small number for each entry, or
        whether."""
        self.alive()
        if self.at < len(self.log):
            known, r = self.log[self.at]
            if known is not decision:
                self.give_up("it does not do the same when it is run again")
            self.at += 1
            return int(r)
        labels = find()
        if labels.dtype == bool:
            n = int(np.count_nonzero(labels))
            counts = np.array([labels.size - n, n])
        else:
            counts = np.bincount(labels)
        chosen = int(counts.argmax())
        if counts[chosen] != self.part.size:
            self.divide(labels, counts, chosen)
        self.log.append((decision, chosen))
        self.at = len(self.log)
        return chosen

    def divide(self, labels: Any, counts: Any, chosen: int) -> None:
        """Go on with the chosen ones, and put the others aside."""
        whole, found = self.part, np.flatnonzero(counts)
        if len(found) > FEW:
            order, ends = np.argsort(labels, kind="stable"), np.cumsum(counts)
        for label in found:
            if len(found) > FEW:
                positions = order[ends[label] - counts[label] : ends[label]]
            else:
                positions = np.flatnonzero(labels == label)
            if label == chosen:
                self.part = whole.subset(positions)
            else:
                self.pending.append((whole.subset(positions), [*self.log, (decision, int(label))]))


class Raised:
    """In a log: this was raised."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def decision() -> None:
    """The key of decisions in a log."""


def refuses(name: str) -> Any:
    def method(self: Lanes, *args: Any, **kwargs: Any) -> Any:
        return self.run.give_up(name)

    return method


def install() -> None:
    """Where Python handles such numbers itself, they compute through the run; what needs one number gives up."""
    pairs = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "mod": "mod",
             "floordiv": "floordiv", "and": "bitand", "or": "bitor", "xor": "bitxor"}  # fmt: skip
    for name, operation in pairs.items():
        setattr(Lanes, f"__{name}__", lambda a, b, f=operation: getattr(a.run, f)(a, b))
        setattr(Lanes, f"__r{name}__", lambda a, b, f=operation: getattr(a.run, f)(b, a))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Lanes, f"__{name}__", lambda a, b, f=name: getattr(a.run, f)(a, b))
    for name in ("neg", "pos", "invert"):
        setattr(Lanes, f"__{name}__", lambda a, f=name: getattr(a.run, f)(a))
    for name in ("float", "int", "index", "hash", "repr", "str", "format", "len", "iter", "getitem", "contains",
                 "array", "array_ufunc", "array_function", "complex", "abs", "round", "floor", "ceil", "trunc",
                 "divmod", "rdivmod", "matmul", "rmatmul", "copy", "deepcopy", "reduce_ex"):  # fmt: skip
        setattr(Lanes, f"__{name}__", refuses(name))


install()
