"""Methods of ufuncs that are neither reductions nor scans, and sums over groups of entries."""

from __future__ import annotations

import numpy as np

from ..arrays import held, on_host
from .block import Like, composed, operation
from .reductions import CUBE, MATRIX, VECTOR

OUTER = (
    "add subtract multiply divide true_divide power float_power maximum minimum fmax fmin hypot arctan2 logaddexp mod"
)


def outer(name):
    """`np.<name>.outer(a, b)`: the ufunc on every pair, which is the ufunc on `a` with the axes of `b` added."""
    ufunc = getattr(np, name)

    @composed(f"numpy.{name}.outer")
    def call(of, a, b, /, **settings):
        a, b = of(np.asarray)(a), of(np.asarray)(b)
        return of(ufunc)(of(np.reshape)(a, a.shape + (1,) * b.ndim), b, **settings)


for name in OUTER.split():
    outer(name)


@operation("numpy.add.reduceat")
class add_reduceat:
    """Sums of the entries from each index to the next along an axis (the single entry where the next is not larger).
    Pullback: `g` in every entry that was added."""

    linear = complex = True

    def bind(a, indices, axis=0, dtype=None, out=None):
        return (a,), {"indices": np.array(on_host(indices)), "axis": axis, "dtype": dtype}

    def shape(a, indices, axis, dtype):
        axis %= len(a.shape)
        shape = tuple([len(indices) if k == axis else n for k, n in enumerate(a.shape)])
        return Like(shape, np.dtype(dtype or a.dtype))

    def pull_a(ops, g, a_like, indices, axis):
        n = a_like.shape[axis]
        start = indices % n if n else indices
        stop = np.append(start[1:], n)
        length = np.where(stop > start, stop - start, 1)
        group = np.repeat(np.arange(len(start)), length)
        entry = np.arange(len(group)) - np.repeat(np.cumsum(length) - length, length) + np.repeat(start, length)
        d = ops.zeros((n, *[m for k, m in enumerate(a_like.shape) if k != axis % a_like.ndim]), g.dtype)
        np.add.at(d, entry, ops.moveaxis(g, axis, 0)[group])
        return ops.moveaxis(d, 0, axis)

    samples = ((VECTOR, [0, 2]), (VECTOR, [1, 0, 3]), (MATRIX, [0, 1, 2], -1), (CUBE, [2, 0], 1))


@operation("numpy.bincount")
class bincount:
    """How much weight falls on each integer. Pullback for `weights`: the `g` of the integer an entry falls on."""

    linear = True

    def bind(x, /, weights=None, minlength=0):
        return (weights,), {"x": held(x), "minlength": minlength}

    def shape(weights, x, minlength):
        return Like((max(int(x.max(initial=-1)) + 1, minlength),), np.dtype(float))

    def pull_weights(ops, g, x):
        return g[x]

    samples = ((np.array([0, 2, 2, 1]), VECTOR), (np.array([0, 2, 2, 1]), VECTOR, 5))
