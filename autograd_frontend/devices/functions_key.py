"""An index with arrays in it, taken apart, and what is known of index arrays.

A mask of the device is read back (how many entries it holds decides on shapes). Indices of the host's are checked
there; for those of the device a kernel sets a flag, which is read back. `KNOWN` has the memory of indices that our own
functions made and no one else writes: they are in bounds, and nothing is asked.
"""

from __future__ import annotations

import weakref
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .kernels_index import Picked
from .spots import Spot
from .views import broadcast_to

Array = Any  # one of a device: NumPy's stubs know only their own

class Known(NamedTuple):
    """Entries from 0 to below `bound`; where `axis` is given, the coordinates along that axis of a grid."""

    bound: int
    axis: int | None = None


KNOWN: weakref.WeakKeyDictionary[Any, Known] = weakref.WeakKeyDictionary()  # memory -> what is in it
HOST_CHECK = 100_000  # indices up to which the host finds out whether one occurs twice


def source(x: Array) -> Spot:
    """The memory that a kernel reads."""
    spot: Spot = x.session.readable(x)
    return spot


def target(x: Array) -> Spot:
    """The memory that a kernel writes; what waits and reads it is computed first."""
    spot: Spot = x.session.spot(x)
    if spot.buffer.read:
        x.session.before_write(spot)
    return spot


def known(x: Array, bound: int, axis: int | None = None) -> Array:
    KNOWN[x.session.memory_of(x)] = Known(bound, axis)
    return x


def what_is_known(index: Any) -> Known | None:
    return KNOWN.get(index.buffer) if index.buffer is not None else None


NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid"
    " indices"
)


class Key:
    """An index with arrays in it: the view that its other parts make, and the arrays with the axes they pick from."""

    def __init__(self, x: Array, key: Any) -> None:
        parts = []
        for part in key if type(key) is tuple else (key,):
            parts += self.opened(part)
        used = sum(n for _, n in parts)
        if used > x.ndim:
            raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed")
        if not any(part is Ellipsis for part, _ in parts):
            parts.append((Ellipsis, 0))
        self.basic: list[Any] = []
        self.given: list[Any] = []  # index arrays
        self.picked: list[int] = []  # the axes of the view they pick from
        self.places: list[int] = []  # where in the key they, and integers, stand
        self.named: list[int] = []  # the axes of `x`, for errors
        self.axis = self.rank = 0
        self.front = -1
        for place, (part, n) in enumerate(parts):
            self.add(x, part, n, place, x.ndim - used)
        self.view = x.view_of(x.layout[tuple(self.basic)])
        if self.places != list(range(self.places[0], self.places[0] + len(self.places))):
            self.front = 0

    @staticmethod
    def opened(part: Any) -> list[tuple[Any, int]]:
        """A part of the key, as indices of one axis each, with how many axes it uses."""
        listed = not hasattr(part, "dtype")
        if part is None or part is Ellipsis:
            return [(part, 0)]
        if isinstance(part, slice):
            return [(part, 1)]
        if hasattr(part, "layout"):
            if part.dtype.kind == "b":
                part = part.get()
        elif hasattr(part, "__index__") and not isinstance(part, (bool, np.bool_, np.ndarray)):
            return [(part.__index__(), 1)]
        else:
            part = np.asarray(part)
            if not part.size and part.dtype == float:
                part = part.astype(np.int64)
        if part.dtype.kind not in "iub":
            raise IndexError(NO_INDEX if listed else "arrays used as indices must be of integer (or boolean) type")
        if part.dtype.kind != "b":
            return [(part, 1)]
        part = np.asarray(part)
        if part.ndim == 0:
            return [(np.zeros(int(part), np.int64), 0)]
        found: list[tuple[Any, int]] = [(where, 1) for where in np.nonzero(part)]
        return [(Mask(where, n), 1) for (where, _), n in zip(found, part.shape, strict=True)]

    def add(self, x: Array, part: Any, n: int, place: int, rest: int) -> None:
        if part is Ellipsis:
            self.basic += [slice(None)] * rest
            self.axis += rest
            self.rank += rest
            return
        if part is None or isinstance(part, slice):
            self.basic.append(part)
            self.axis += n
            self.rank += 1
            return
        if self.front < 0:
            self.front = self.rank - len(self.picked)
        self.places.append(place)
        if isinstance(part, int):
            if not -x.shape[self.axis] <= part < x.shape[self.axis]:
                raise out_of_bounds(part, self.axis, x.shape[self.axis])
            self.basic.append(part)
        else:
            if isinstance(part, Mask):
                part = part.checked(self.axis, x.shape[self.axis])
            self.basic.append(slice(None) if n else None)
            self.given.append(part)
            self.named.append(self.axis)
            self.picked.append(self.rank)
            self.rank += 1
        self.axis += n

    def resolved(self, checked: bool = True) -> tuple[Picked, Any]:
        """The memory of all of it, and a flag for indices out of bounds if one may be."""
        view, session = self.view, self.view.session
        try:
            shape = np.broadcast_shapes(*[i.shape for i in self.given])
        except ValueError:
            shapes = " ".join(str(i.shape) for i in self.given)
            text = f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
            raise IndexError(text) from None
        indices, flag = [], None
        for index, axis, name in zip(self.given, self.picked, self.named, strict=True):
            n = view.shape[axis]
            if not hasattr(index, "layout"):
                check_on_host(index, name, n)
                index = session.array(index.astype(np.int64, copy=False))
            else:
                k = what_is_known(index)
                if checked and flag is None and index.size and (k is None or k.bound > n):
                    flag = session.array(np.zeros(1, np.int32))
                if index.dtype not in (np.int64, np.int32):
                    index = index.astype(np.int64)
            indices.append(source(index if index.shape == shape else broadcast_to(index, shape)))
        kept = tuple([k for k in range(view.ndim) if k not in self.picked])
        return Picked(source(view), tuple(self.picked), tuple(indices), shape, kept, max(self.front, 0)), flag

    def check(self, flag: Any) -> None:
        """Raise as NumPy does if the flag is set: then the indices are read back, too."""
        if flag is None or not flag.get()[0]:
            return
        for index, axis, name in zip(self.given, self.picked, self.named, strict=True):
            check_on_host(index.get() if hasattr(index, "layout") else index, name, self.view.shape[axis])

    def unique(self, p: Picked) -> bool:
        """Whether it is known that no entry is picked twice."""
        if prod(p.shape) < 2:
            return True
        if all(not hasattr(i, "layout") for i in self.given):
            if prod(p.shape) > HOST_CHECK:
                return False
            sizes = [self.view.shape[k] for k in self.picked]
            every = zip(np.broadcast_arrays(*self.given), sizes, strict=True)
            flat = np.ravel_multi_index([i % n for i, n in every], sizes)
            return bool(len(np.unique(flat)) == flat.size)
        found = [what_is_known(i) for i in self.given if hasattr(i, "layout")]
        return {k.axis for k in found if k is not None} >= {k for k in range(len(p.shape)) if p.shape[k] > 1}


class Mask:
    """The coordinates along one axis of what a mask holds, and the extent of the mask there."""

    def __init__(self, where: np.ndarray, extent: int) -> None:
        self.where, self.extent = where, extent

    def checked(self, axis: int, n: int) -> np.ndarray:
        if n != self.extent:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; size of axis is {n}"
                f" but size of corresponding boolean axis is {self.extent}"
            )
        return self.where


def out_of_bounds(index: Any, axis: int, n: int) -> IndexError:
    return IndexError(f"index {index} is out of bounds for axis {axis} with size {n}")


def check_on_host(index: np.ndarray, axis: int, n: int) -> None:
    if index.size and (index.min() < -n or index.max() >= n):
        raise out_of_bounds(index[(index < -n) | (index >= n)].ravel()[0], axis, n)
