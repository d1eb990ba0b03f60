"""Random numbers that are functions of their arguments: no state, and no gradient."""

from __future__ import annotations

import numpy as np

from ..errors import an
from .block import operation
from .interface import whole


def key_part(operation, name, x):
    """A seed or a node number: 64 bits."""
    if whole(operation, name, x, 0) >= 2**64:
        raise ValueError(f"{operation}: {name} is {x}, expected less than 2**64")
    return int(x)


def draws(ops, operation, shape, seed, node, dtype=np.float64):
    """Uniform in [0, 1), once the settings are right."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    extents = tuple([whole(operation, "a size in shape", n, 0) for n in extents])
    seed, node = key_part(operation, "seed", seed), key_part(operation, "node", node)
    return ops.uniform(extents, seed, node, dtype)


@operation()
class rand_uniform:
    """`rand_uniform(shape, seed, node=0, dtype=float64)`: uniform draws in [0, 1), float64 or float32, a pure function
    of the arguments: NumPy's Philox4x64-10 with the key `(seed, node)`, in row-major order. Different keys are
    independent streams. No gradient. A negative size, or a seed or node outside [0, 2**64): ValueError."""

    data = True

    def value(ops, shape, seed, node=0, dtype=np.float64):
        if np.dtype(dtype) not in (np.float64, np.float32):
            raise TypeError(f"rand_uniform: dtype is {dtype!r}, expected float64 or float32")
        return draws(ops, "rand_uniform", shape, seed, node, np.dtype(dtype))


@operation()
class bernoulli_mask:
    """`bernoulli_mask(keep_prob, shape, seed, node=0)`: 1 where `rand_uniform(shape, seed, node) < keep_prob`, else 0,
    in the element type of the scalar `keep_prob`, which is read when the operation runs. So all 1 from 1 up, all 0 for
    0 and below, and for NaN. No gradient, also none to `keep_prob`. A `keep_prob` with axes: ValueError."""

    data = True
    reads = ("keep_prob",)

    def value(ops, keep_prob, shape, seed, node=0):
        if np.ndim(keep_prob):
            raise ValueError(f"bernoulli_mask: keep_prob has shape {np.shape(keep_prob)}, expected a scalar")
        dtype = np.asarray(keep_prob).dtype
        if dtype.kind == "O":
            raise TypeError(f"bernoulli_mask: keep_prob is {an(type(keep_prob).__name__)}, expected a float")
        return ops.astype(draws(ops, "bernoulli_mask", shape, seed, node) < keep_prob, dtype)
