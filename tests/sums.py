"""The sums over windows that define convolution and pooling, entry by entry, for the tests."""

from __future__ import annotations

from itertools import product

import numpy as np


def each(x, n):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,) * n


def pairs(kernel, extents, counts, stride, padding):
    """Cell, window and entry, as indices; only the entries that there are."""
    n = len(kernel)
    stride, padding = each(stride, n), each(padding, n)
    for q in product(*map(range, counts)):
        for j in product(*map(range, kernel)):
            m = tuple(a * s + b - p for a, s, b, p in zip(q, stride, j, padding))
            if all(0 <= a < e for a, e in zip(m, extents)):
                yield j, q, m


def counts_of(extents, kernel, stride, padding):
    n = len(kernel)
    return [max((e + 2 * p - k) // s + 1, 0) for e, k, s, p in zip(extents, kernel, each(stride, n), each(padding, n))]


def random(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-2.0, 2.0, shape)


def close(a, b, tolerance=1e-13):
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
