"""Where memory of a device stands once a recording is over: arrays that looked at the same memory there do so here."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import owner_of

ndarray = np.ndarray


class Homes:
    """What the arrays become that a function left somewhere: NumPy's, or CuPy's where those of the caller are."""

    __slots__ = ("to_host", "memory", "found")

    def __init__(self, to_host: bool = True) -> None:
        self.to_host = to_host
        self.memory: dict[int, tuple[Any, Any]] = {}  # id of an owner -> it, and what has its memory for the caller
        self.found: dict[int, tuple[Any, Any]] = {}  # id of an array -> it, and what became of it

    def of(self, x: Any, given: Any) -> Any:
        """The array that `x` becomes. `given`: the caller's own array, of whose memory it looks at a copy."""
        if x.buffer is not None and x.buffer.lent:  # of the caller's on the device
            return x.session.to_cupy(x)
        if x.scalar and self.to_host:
            return x.get()
        if id(x) not in self.found:
            y = self.on_host(x, given) if self.to_host else self.on_device(x)
            self.found[id(x)] = x, y
        return self.found[id(x)][1]

    def on_host(self, x: Any, given: Any) -> Any:
        owner = owner_of(x)
        home = given
        if home is None:
            home = self.memory.setdefault(id(owner), (owner, np.zeros_like(owner.layout)))[1]
        y = home if x is owner and home.shape == x.shape and home.strides == x.strides else look(home, owner.layout, x)
        if y is None:
            y = x.get()
        elif given is None:  # of others it is written back
            y[...] = x.get()
        if not x.flags.writeable and y is not given:
            y.flags.writeable = False
        return y

    def on_device(self, x: Any) -> Any:
        owner = owner_of(x)
        home = self.memory.setdefault(id(owner), (owner, owner))[1]
        if home is owner:
            home = owner.copy("K")  # the recording may need what is there
            self.memory[id(owner)] = owner, home
        if home.strides != owner.strides:
            return x.session.to_cupy(x.copy())
        return x.session.to_cupy(home if x is owner else home.relaid(x.shape, x.dtype, x.offset, x.strides))


def look(home: ndarray, layout: ndarray, x: Any) -> ndarray | None:
    """What `x` looks at, of memory laid out as `layout`, in an array with the same entries; None if it has other types
    or goes across axes."""
    if not x.size:
        return None
    if home.strides == layout.strides and home.dtype == layout.dtype:
        order = sorted(range(home.ndim), key=lambda k: -home.strides[k])
        return ndarray(x.shape, x.dtype, home.transpose(order), x.offset, x.strides)
    if x.dtype != layout.dtype:
        return None
    axes = sorted([k for k, n in enumerate(layout.shape) if n > 1], key=lambda k: -layout.strides[k])
    start = along(x.offset, layout, axes)
    steps: list[Any] = [along(s, layout, axes) if n > 1 else {} for n, s in zip(x.shape, x.strides, strict=True)]
    if start is None or None in steps:
        return None
    for k in axes:
        reach = [(n - 1) * step.get(k, 0) for n, step in zip(x.shape, steps, strict=True)]
        low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
        if start[k] + low < 0 or start[k] + high >= layout.shape[k]:
            return None
    first = home[tuple([slice(start.get(k, 0), None) for k in range(home.ndim)])]
    strides = [sum(m * home.strides[k] for k, m in step.items()) for step in steps]
    return np.lib.stride_tricks.as_strided(first, x.shape, strides)


def along(distance: int, layout: ndarray, axes: list[int]) -> dict[int, int] | None:
    """A distance in memory as steps along the axes, the longest first."""
    sign, rest = (-1, -distance) if distance < 0 else (1, distance)
    steps = {}
    for k in axes:
        steps[k], rest = sign * (rest // layout.strides[k]), rest % layout.strides[k]
    return None if rest else steps
