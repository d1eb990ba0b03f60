"""Entries of a vector, taken out by position: what lifting over entries parts an array with, and puts it together."""

from __future__ import annotations

import numpy as np

from .block import Like, operation


def picked(x, positions):
    return x[positions]


@operation("autograd_frontend.ops.lanes.picked")
class picked_entries:
    """`x[positions]` of a vector, every position at most once. Pullback: `g` at those positions, 0 elsewhere (never
    -0.0, as sums of cotangents begin with 0.0)."""

    linear = complex = True

    def bind(x, positions):
        return (x,), {"positions": positions}

    def shape(x, positions):
        return Like(positions.shape, x.dtype)

    def pull_x(ops, g, x_like, positions):
        d = ops.zeros(x_like.shape, g.dtype)
        d[positions] = g + 0.0
        return d

    samples = (
        (np.array([0.5, -1.5, 2.0, 3.0]), np.array([2, 0])),
        (np.array([0.5, -1.5]), np.array([1, 0])),
    )
