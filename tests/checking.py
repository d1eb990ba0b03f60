"""One question, asked by many tests: does a function record faithfully?"""

from __future__ import annotations

import copy

import numpy as np
import oracle

from autograd_frontend import record


def faithful(f, *args, rtol=1e-7):
    """Value and arguments as without recording, bit for bit, and the gradient that differences have. The gradient."""
    plain, given = copy.deepcopy(args), copy.deepcopy(args)
    want = f(*plain)
    result = record(f)(*given)
    assert oracle.same_bits(result.value, want), (result.value, want)
    assert all(oracle.same_bits(a, b) for a, b in zip(given, plain)), "arguments are not left as in plain NumPy"
    weights = oracle.random_like(want, 3)
    got = result.pullback(weights)
    expected, error = oracle.gradient(f, args, weights)
    assert error < 1e-5, "not smooth here"
    found = oracle.entries(got)
    assert found.shape == expected.shape
    assert np.all(np.abs(found - expected) <= (rtol + 2 * error) * (1 + np.max(np.abs(expected), initial=0))), (
        found,
        expected,
    )
    return got
