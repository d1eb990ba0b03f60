"""Products of matrices."""

from __future__ import annotations

import numpy as np

from .block import Like, operation


def matmul_likes(a, b):
    return Like(np.matmul(np.broadcast_to(0, a.shape), np.broadcast_to(0, b.shape)).shape, np.result_type(a.dtype, b.dtype))


@operation("operator.matmul numpy.matmul")
class matmul:
    """`a @ b` in every rank: vectors, matrices, stacks of matrices that broadcast."""

    linear = True

    def bind(a, b, out=None):
        return (a, b), {}

    shape = matmul_likes

    def pull_a(ops, g, a_like, b):
        if a_like.ndim == 1:
            return b @ g if b.ndim > 1 else g * b
        if b.ndim == 1:
            return ops.expand_dims(g, -1) * b
        return g @ ops.swapaxes(b, -1, -2)

    def pull_b(ops, g, a, b_like):
        if b_like.ndim == 1:
            return g @ a if a.ndim > 1 else g * a
        if a.ndim == 1:
            return ops.expand_dims(a, -1) * g
        return ops.swapaxes(a, -1, -2) @ g
