"""The rows of a Jacobian come from one recording: what one row leaves behind is not part of the next."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autograd_frontend import jacfwd, jacrev, record

X = np.array([1.0, 2.0, 3.0])


def used_three_times(x):
    return x + x * x + x


def handed_on_first(x):
    return np.concatenate([x, x]) * np.concatenate([x, 2.0 * x])


def written_twice(x):
    out = np.zeros(4)
    out[:3] += x
    out[1:] += x * x
    out[1:3] += x[:2]
    return out


def read_as_a_view(x):
    part = x[1:]
    return part + part * part + x[:2] + x[[0, 0]]


def reshaped(x):
    square = np.outer(x, x).reshape(9)
    return square[::2] + square[:5] + square[:5] * square[4:]


def entries(x):
    total = x[0] * x[1]
    return np.array([total + total, total * x[2] + x[2], x[0] + x[0]])


FUNCTIONS = [used_three_times, handed_on_first, written_twice, read_as_a_view, reshaped, entries]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_row_is_the_pullback_of_a_unit_vector(f):
    units = np.eye(f(X).size)
    want = np.array([record(f)(X).pullback(unit) for unit in units])
    assert_allclose(jacrev(f)(X), want, rtol=1e-13)
    assert_allclose(jacfwd(f)(X), want, rtol=1e-13)
