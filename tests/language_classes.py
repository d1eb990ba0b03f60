"""Classes that run code of their own wherever Python lets them; test_breaking_language.py records it."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np


class Vector(NamedTuple):
    x: Any
    y: Any

    def __add__(self, other):
        return Vector(self.x + other.x, math.sin(self.y) + other.y)

    def __neg__(self):
        return Vector(-self.x, self.y * 2.0)

    def __rmul__(self, k):
        return Vector(self.x * k, self.y)

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __abs__(self):
        return math.hypot(*self)

    def __lt__(self, other):
        return math.sin(self.x) < other.y


class Row(list):
    def __add__(self, other):
        return Row(a * b for a, b in zip(self, other))

    def __invert__(self):
        return Row(math.cos(a) for a in self)


Pair = collections.namedtuple("Pair", "a b")


class Grid:
    """Every way for a class to run code, around an array that is plain until something recorded is stored in it."""

    def __init__(self, x):
        self.cells = np.zeros(3)
        self.cells[0] = x
        self.cells[2] = x * x

    @property
    def total(self):
        return self.cells.sum()

    @total.setter
    def total(self, v):
        self.cells[1] = math.exp(v) * self.cells[0]

    @functools.cached_property
    def energy(self):
        return float((self.cells**2).sum())

    def __getattr__(self, name):
        if name != "last":
            raise AttributeError(name)
        return self.cells[-1] * 3.0

    def __enter__(self):
        return self.cells[0] * 2.0

    def __exit__(self, *error):
        self.cells[0] *= self.cells[2]
        return True

    def __iter__(self):
        return iter([c * 2.0 for c in self.cells])

    def __call__(self, v):
        return math.sin(v) * self.cells[0]

    def __abs__(self):
        return math.sqrt(self.cells[2])

    def __round__(self, digits=0):
        return self.cells[0] * digits

    def __reversed__(self):
        return iter([self.cells[2], self.cells[0]])

    def __divmod__(self, other):
        return self.cells[0] * other, other


class Finer(Grid):
    @property
    def total(self):
        return super().total * self.energy


class Countdown:
    def __init__(self, x):
        self.left, self.cells = 3, np.zeros(1)
        self.cells[0] = x

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return self.cells[0] ** self.left


class Sequence:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return math.sin(self.x) * i


class Doubled:
    def __get__(self, instance, owner):
        return instance.cells[0] * 2.0

    def __set__(self, instance, v):
        instance.cells[0] = math.sin(v) * instance.cells[1]


class Described:
    value = Doubled()

    def __init__(self, x):
        self.cells = np.array([x, x * x])

    def __setattr__(self, name, v):
        object.__setattr__(self, name, v)


@dataclasses.dataclass(order=True)
class Measured:
    cells: Any
    scale: Any = 2.0

    def __post_init__(self):
        self.norm = math.sqrt(self.scale) * self.cells


class Kept:
    def __new__(cls, x):
        self = super().__new__(cls)
        self.root = math.sqrt(x)
        return self
