"""Constants, data and observation: no gradient and no tangent passes through any of these."""

from __future__ import annotations

import numpy as np

from .block import operation


@operation()
class const:
    """`const(value)`: a fixed array or scalar. It is copied: what the caller writes later does not change it."""

    data = True

    def value(ops, value):
        return np.array(value)


@operation()
class detach:
    """`detach(x)`: the value of `x` as plain data, a copy. Nothing computed from it is connected to `x`."""

    data = True
    reads = ("x",)

    def value(ops, x):
        return np.array(x) if hasattr(x, "dtype") else x
