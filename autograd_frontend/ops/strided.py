"""Sliding windows of an array, and their transpose: what convolution and pooling are made of.

Window `q` of an axis begins at `q*stride - padding`; its cell `j` is entry `q*stride + j - padding`. A cell outside
the array is 0.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Sizes = tuple[int, ...]


def windows(x: Any, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes) -> Any:
    """All cells of so many windows of the trailing axes, `[..., *kernel, *counts]`. A copy: in a view, entries of
    several windows would be one piece of memory, and so would their cotangents."""
    extents = x.shape[x.ndim - len(kernel) :]
    frame = framed(extents, counts, kernel, stride, padding)
    if frame != extents:
        padded = np.zeros(x.shape[: x.ndim - len(kernel)] + frame, x.dtype)
        padded[inside(extents, padding)] = x
        x = padded
    return cells(x, counts, kernel, stride).copy()


def fold(w: Any, extents: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes) -> Any:
    """The transpose of `windows`: every cell `[..., *kernel, *counts]` added to its entry, of zeros with these extents
    of the trailing axes. What lies outside is dropped."""
    n = len(kernel)
    lead, counts = w.shape[: w.ndim - 2 * n], w.shape[w.ndim - n :]
    frame = framed(extents, counts, kernel, stride, padding)
    d = np.zeros(lead + frame, w.dtype)
    for start in product(*[range(0, k, s) for k, s in zip(kernel, stride, strict=True)]):
        # cells of one such block are `stride` wide: no two windows share one, so all are added at once
        block = tuple([slice(a, min(a + s, k)) for a, k, s in zip(start, kernel, stride, strict=True)])
        rest: Any = (..., *[slice(a, None) for a in start])
        into = cells(d[rest], counts, tuple([b.stop - b.start for b in block]), stride)
        into += w[(..., *block, *[slice(None)] * n)]
    return d if frame == extents else d[inside(extents, padding)].copy()


def framed(extents: Sizes, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes) -> Sizes:
    """The extents of what all windows and the whole array lie in."""
    axes = zip(extents, counts, kernel, stride, padding, strict=True)
    return tuple([max(p + n, (c - 1) * s + k if c else 0) for n, c, k, s, p in axes])


def inside(extents: Sizes, padding: Sizes) -> Any:
    return (..., *[slice(p, p + n) for n, p in zip(extents, padding, strict=True)])


def cells(x: Any, counts: Sizes, kernel: Sizes, stride: Sizes) -> Any:
    """The view `[..., *kernel, *counts]` of `x[..., q*stride + j]`."""
    lead = x.ndim - len(kernel)
    steps = x.strides[lead:]
    strides = x.strides[:lead] + steps + tuple([a * s for a, s in zip(steps, stride, strict=True)])
    return as_strided(x, x.shape[:lead] + kernel + counts, strides)
