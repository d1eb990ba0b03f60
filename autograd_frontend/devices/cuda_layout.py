"""Where the entries of arrays lie, seen from the loops of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

THREADS = 256
BLOCKS = 132 * 8  # of an H200: 8 blocks of 256 threads on each of its 132 multiprocessors
NARROW = 2**31 - THREADS * BLOCKS  # up to here an int index does not overflow when the loop steps past the end

Steps = tuple[int, ...]


class Memory:
    """An array of a kernel: `name` of its pointer, element type, and its steps along the axes of the loop."""

    __slots__ = ("name", "array", "dtype", "steps", "output")

    def __init__(self, name: str, array: Any, steps: Steps, output: bool) -> None:
        self.name, self.array, self.dtype, self.steps, self.output = name, array, array.dtype, steps, output


def steps_along(array: Any, shape: tuple[int, ...]) -> Steps:
    """How many entries apart neighbours along each axis of `shape` are; 0 where the array is broadcast."""
    size, missing = array.dtype.itemsize, len(shape) - len(array.shape)
    steps = [0] * missing
    for n, stride, full in zip(array.shape, array.strides, shape[missing:], strict=True):
        if n != full and n != 1:
            raise ValueError(f"an array of shape {array.shape} in a kernel over {shape}")
        if n > 1 and stride % size:
            raise ValueError(f"an array whose entries of {size} bytes lie {stride} bytes apart")
        steps.append(stride // size if n > 1 else 0)
    return tuple(steps)


def joined(shape: Sequence[int], arrays: Sequence[Steps], sort: bool = True) -> tuple[list[int], list[Steps]]:
    """Extents and steps with fewer axes: without those of one entry, and with neighbours joined where every array
    steps through both evenly. Sorted by the steps of the last array, largest first."""
    axes = [k for k, n in enumerate(shape) if n != 1]
    if sort and arrays:
        axes.sort(key=lambda k: -abs(arrays[-1][k]))
    extents: list[int] = []
    steps: list[list[int]] = []
    for k in axes:
        here = [s[k] for s in arrays]
        if extents and all(a == b * shape[k] for a, b in zip(steps[-1], here, strict=True)):
            extents[-1] *= shape[k]
            steps[-1] = here
        else:
            extents.append(shape[k])
            steps.append(here)
    return extents, [tuple([s[i] for s in steps]) for i in range(len(arrays))]


def fits(extents: Iterable[int], arrays: Iterable[Steps]) -> bool:
    """Whether int indices reach everything."""
    extents = list(extents)
    reach = [sum(abs(s) * (n - 1) for s, n in zip(steps, extents, strict=True)) for steps in arrays]
    return max([prod(extents), *reach]) < NARROW


def place(array: Any) -> Any:
    """What tells the memory that a view reads from that of others."""
    address = getattr(array, "address", None)
    return id(array) if address is None else (address, array.dtype.char, array.shape, array.strides)


def owner(array: Any) -> int:
    """What views of one memory have in common."""
    base = getattr(array, "base", None)
    return id(getattr(array, "buffer", array if base is None else base))


def offset(indices: Sequence[str], steps: Sequence[Any]) -> str:
    """The place of an entry: a step is 0, 1, or the name of a parameter."""
    terms = [i if s == 1 else f"{i} * {s}" for i, s in zip(indices, steps, strict=True) if s != 0]
    return " + ".join(terms) or "0"
