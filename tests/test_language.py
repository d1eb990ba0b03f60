"""Every part of the language records: value bit for bit, gradient against differences."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from autograd_frontend import record

from . import language_data, language_flow, language_library, language_objects, oracle
from .language import CASES

assert language_data and language_flow and language_library and language_objects


@pytest.mark.parametrize("f, args", CASES, ids=lambda part: getattr(part, "__name__", ""))
def test_value_and_gradient(f, args):
    plain, given = copy.deepcopy(args), copy.deepcopy(args)
    expected = f(*plain)
    result = record(f)(*given)
    assert oracle.same_bits(result.value, expected)
    assert oracle.same_bits(given, plain)
    weights = oracle.random_like(expected, 7)
    slopes, error = oracle.gradient(f, args, weights)
    assert error < 1e-6, "the case is not smooth at these arguments"
    found = oracle.entries(result.pullback(weights))
    np.testing.assert_allclose(found, slopes, rtol=1e-7, atol=1e-7 * (1.0 + np.max(np.abs(slopes))))


@pytest.mark.parametrize("f, args", CASES[::5], ids=lambda part: getattr(part, "__name__", ""))
def test_a_second_recording_gives_the_same(f, args):
    g = record(f)
    weights = oracle.random_like(f(*copy.deepcopy(args)), 7)
    first, second = (g(*copy.deepcopy(args)).pullback(weights) for _ in range(2))
    assert oracle.same_bits(first, second)
