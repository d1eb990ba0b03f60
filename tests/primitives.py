"""What the tests of primitives share."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

from autograd_frontend import RecordError, primitive, record

X = np.array([0.5, -1.0, 2.0])
W = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 1.5]])


def own(fn=None, pullback=None, **options):
    """A primitive that goes away with the test."""
    if fn is None:
        return lambda fn: own(fn, pullback, **options)

    @functools.wraps(fn)
    def local(*args, **kwargs):
        return fn(*args, **kwargs)

    local.__name__ = "local" if fn.__name__ in ("<lambda>", "sin") else fn.__name__
    return primitive(local, pullback=pullback, **options)


@primitive
def cube(x):
    return x**3


@cube.pullback
def _(g, y, x):
    return g * 3 * x**2


@own
def scaled(x, k):
    return x * k


@scaled.pullback
def _(g, y, x, k):
    return g * k


def refused(f, *args):
    with pytest.raises(RecordError) as caught:
        record(f)(*args)
    return caught.value


def refused_back(f, *args):
    with pytest.raises(RecordError) as caught:
        record(f)(*args).backward()
    return caught.value


def line_of(f, text="# here"):
    lines, first = inspect.getsourcelines(f)
    return first + next(i for i, line in enumerate(lines) if text in line)
