"""Regions: the values of one shape that wait for one kernel, how large that has become, and what they read.

A region counts what it would compute as values come, each expression once: those that it has counted know it. So it
never counts too little; what nobody holds any more is found out where a limit seems to be passed.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .expressions import leaves
from .layouts import overlap
from .spots import LEAVES, NODES, OUTPUTS, Buffer, Spot

if TYPE_CHECKING:
    from .array import DeviceArray

Key = tuple[int, ...]


class Region:
    """Arrays that wait: `refs` those that are computed, `plain` copies and fills. `calls` and `spots`: expressions and
    places in memory that they are made from. `over`: another one has taken its place, or none."""

    __slots__ = ("key", "refs", "plain", "calls", "spots", "limit", "over")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.refs: list[Any] = []
        self.plain: list[Any] = []
        self.calls = 0
        self.spots: set[Any] = set()
        self.limit = OUTPUTS  # of both lists, after which the dead are taken out
        self.over = False

    def alive(self) -> list[DeviceArray]:
        found = [x for ref in (*self.plain, *self.refs) if (x := ref()) is not None and x.expr is not None]
        return list({id(x): x for x in found}.values())

    def add(self, x: DeviceArray) -> None:
        """Take an array in. What it is made from is counted, and noted in what is read."""
        e = x.expr
        (self.refs if e.args else self.plain).append(x.ref())
        if e.kind == "scalar":
            return
        todo = [e]
        while todo:
            e = todo.pop()
            if e.args:
                if self not in e.regions:
                    e.regions = (self, *[r for r in e.regions if not r.over]) if e.regions else (self,)
                    self.calls += 1
                    todo += e.args
            elif e.kind == "leaf":
                spot = e.leaf
                if e is not x.expr:  # a copy is not computed with what waits here
                    self.spots.add((spot.address, spot.strides))
                readers = spot.buffer.readers
                if self not in readers:
                    readers[:] = [self, *[r for r in readers if not r.over]]

    def large(self) -> bool:
        """Whether this seems too much for one kernel."""
        return self.calls > NODES or len(self.spots) > LEAVES


class Regions:
    """The regions of a session, by shape."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.regions: dict[Key, Region] = {}

    def compute(self, waiting: list[DeviceArray]) -> None:
        """Give memory to arrays of one region, and put it in the place of their expressions."""
        raise NotImplementedError

    def memory_of(self, x: DeviceArray) -> Buffer:
        """The buffer of an array, computed now if its value waits."""
        owner = x if x.base is None else x.base
        if owner._buffer is None:
            with self.lock:
                if owner.expr is not None:
                    self.now(owner.shape if owner.rows is None else owner.rows, owner)
        buffer: Buffer = owner._buffer  # type: ignore[assignment]
        return buffer

    def wait(self, x: DeviceArray) -> None:
        key = x.layout.shape if x.rows is None else x.rows
        with self.lock:
            region = self.regions.get(key)
            if region is None:
                if len(self.regions) > 100:
                    for k in [k for k, r in self.regions.items() if not r.alive()]:
                        self.again(k, [])
                region = self.regions[key] = Region(key)
            region.add(x)
            if len(region.refs) + len(region.plain) > region.limit or region.large():
                self.count(key, region)

    def count(self, key: Key, region: Region) -> None:
        """Count again what is alive, and compute what is too much for one kernel."""
        alive = region.alive()
        refs = [x.ref() for x in alive if x.expr.args]
        if region.large():
            region = self.again(key, alive)
        else:
            region.refs, region.plain = refs, [x.ref() for x in alive if not x.expr.args]
        region.limit = len(alive) + OUTPUTS - len(refs)
        if region.large() or len(refs) > OUTPUTS:
            self.now(key)

    def again(self, key: Key, alive: list[DeviceArray]) -> Region:
        """A region of these arrays in the place of the one that was there."""
        before = self.regions.pop(key, None)
        if before is not None:
            before.over = True
            before.refs, before.plain, before.spots = [], [], set()
        region = Region(key)
        if alive:
            self.regions[key] = region
            for x in alive:
                region.add(x)
        return region

    def now(self, key: Key, owner: Any = None) -> None:
        """Compute what waits in a region, and `owner`. Other copies and fills stay: they cost nothing to make later."""
        region = self.regions.get(key)
        every = region.alive() if region is not None else []
        if owner is not None and not any(x is owner for x in every):
            every.append(owner)
        waiting, rest = list[Any](), list[Any]()
        for x in every:
            (waiting if x is owner or x.expr.args else rest).append(x)
        self.again(key, rest)
        try:
            self.compute(waiting)
        except BaseException:  # memory is short, or Ctrl-C: they wait on
            self.again(key, [x for x in every if x.expr is not None])
            raise

    def flush(self) -> None:
        """Compute everything that waits and is held."""
        with self.lock:
            for key in list(self.regions):
                region = self.regions[key]
                every = region.alive()
                self.again(key, [])
                self.compute(every)

    def readers(self, target: Spot) -> list[DeviceArray]:
        """What waits and reads entries that are about to change. Regions that read nothing of the memory forget it."""
        buffer, found = target.buffer, []
        for region in [r for r in buffer.readers if not r.over]:
            alive, reads = region.alive(), False
            for x in alive:
                layouts = [e.leaf.layout for e in leaves(x.expr) if e.leaf.buffer is buffer]
                reads = reads or bool(layouts)
                if any(overlap(layout, target.layout) for layout in layouts):
                    found.append(x)
            if not reads:
                self.again(region.key, alive)
        buffer.readers = [r for r in buffer.readers if not r.over]
        return found

    def before_write(self, target: Spot) -> None:
        """Compute what waits and reads entries that are about to change."""
        for x in self.readers(target):
            if x.expr is not None:
                self.memory_of(x)
