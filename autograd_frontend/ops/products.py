"""Products of matrices in the public operations: the scaled batched product, and one layer of a network."""

from __future__ import annotations

import numpy as np

from .block import Like, operation
from .interface import ranked, shaped
from .linalg import STACK, A, B, U, kind_of


def exponents(ops, x):
    """The power of two just above every entry; a very low one for zeros, which decide nothing, 0 for infinities."""
    return ops.where(x == 0, -100_000, ops.where(ops.isfinite(x), ops.frexp(ops.detach(x))[1], 0))


def highest(ops, e, axis):
    """The largest exponent along an axis, kept; 0 where there are only zeros."""
    e = ops.largest(e, axis=axis, keepdims=True)
    return ops.where(e < -50_000, 0, e)


def scaled(ops, a, b, scale):
    """`(a @ b)*scale` where neither `a @ b` nor a product of two entries has to fit, only the scaled ones.

    Every entry is multiplied by an exact power of two before the product, and the result divided by it. The powers
    are those of a row of `a`, of a column of `b`, and, taken out of one and put into the other, of every `k` of
    `sum_k a[i,k]*b[k,j]`: of entries at the two ends of the range that meet, none becomes subnormal."""
    if scale is None or not a.size or not b.size:
        return a @ b
    kind = kind_of(a, b)
    if kind.kind != "f":
        a, b, kind = a * 1.0, b * 1.0, np.dtype(float)
    scale, limits = weak(scale, kind), np.finfo(kind)
    reach = a.shape[-1] * float(ops.largest(abs(a), axis=None)) * float(ops.largest(abs(b), axis=None))
    if weak(limits.tiny, kind) <= abs(scale) <= 1 and reach < weak(limits.max, kind) / 2:
        return (a @ b) * scale  # no sum overflows, and no digit of one is lost that the result would have
    ea, eb = exponents(ops, a), exponents(ops, b)
    k = (ops.swapaxes(highest(ops, eb, -1), -1, -2) - highest(ops, ea, -2)) // 2
    rows = highest(ops, ea + k, -1)
    columns = highest(ops, eb - ops.swapaxes(k, -1, -2), -2)
    mantissa, e = ops.frexp(scale)
    d = ops.ldexp(a, k - rows) @ ops.ldexp(b, -(ops.swapaxes(k, -1, -2) + columns))
    return ops.ldexp(d * weak(mantissa, kind), rows + columns + e)


def weak(x, kind):
    """A setting as a number that leaves the element type of a result as it is."""
    return x if kind == np.longdouble else float(x)


@operation()
class matmul:
    """`matmul(a, b, scale=None)`: `A + (m, n)`, `B + (n, p)`, stacks that broadcast -> `Z + (m, p)`. `(a @ b)*scale`
    with the scale inside the sum: finite and accurate whenever the products `a[i,k]*b[k,j]*scale` are, even if
    `a @ b` overflows or underflows. Pullback `(g @ bT)*scale`, `(aT @ g)*scale` in the same way, summed over stretched
    axes. `n = 0` gives zeros. ValueError: fewer than two axes, inner extents that differ, stacks that do not
    broadcast. TypeError: a scale that is not a number."""

    complex = "conjugated"
    key = "ops.matmul"

    def value(ops, a, b, scale=None):
        matrices(a, b)
        if scale is not None and not isinstance(scale, (int, float, np.integer, np.floating)):
            raise TypeError(f"matmul: scale is {scale!r}, expected a number")
        return scaled(ops, a, b, scale)

    def shape(a, b, scale):
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        kind = kind_of(a, b)
        return Like((*batch, a.shape[-2], b.shape[-1]), kind if scale is None else np.result_type(kind, 1.0))

    def pull_a(ops, g, b, scale):
        return ops.bilinear(lambda g, b: scaled(ops, g, b.mT, scale), g, b)

    def pull_b(ops, g, a, scale):
        return ops.bilinear(lambda g, a: scaled(ops, a.mT, g, scale), g, a)

    def push_a(ops, t, b, scale):
        return scaled(ops, t, b, scale)

    def push_b(ops, t, a, scale):
        return scaled(ops, a, t, scale)

    samples = (
        (A, B), (A, B, {"scale": 0.125}), (STACK, STACK[0].T, {"scale": -3.0}), (STACK[:1], STACK.mT, {"scale": 0.3}),
        (STACK[:, None], np.cos(STACK.mT), {"scale": 0.5}),
    )  # fmt: skip


def matrices(a, b):
    """The operands of a product of stacks of matrices."""
    for name, x in (("a", a), ("b", b)):
        if np.ndim(x) < 2:
            raise ValueError(f"matmul: {name} has shape {np.shape(x)}, expected at least two axes")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"matmul: b has shape {b.shape}, expected {a.shape[-1]} rows, as many as a of shape {a.shape} has columns"
        )
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(f"matmul: stacks {a.shape[:-2]} of a and {b.shape[:-2]} of b do not broadcast") from None


@operation()
class linear:
    """`linear(w, b, x)`: `[out, in]`, `[out]`, `[in]` -> `[out]`. `w @ x + b`, of one vector. Pullback `outer(g, x)`,
    `g`, `wT @ g`. Other shapes: ValueError."""

    def value(ops, w, b, x):
        ranked("linear", "w", w, 2, "[out, in]")
        shaped("linear", "b", b, w.shape[:1], "one entry for each row of w")
        shaped("linear", "x", x, w.shape[1:], "one entry for each column of w")
        return w @ x + b

    def shape(w, b, x):
        return Like(b.shape, kind_of(w, b, x))

    def pull_w(ops, g, x):
        return ops.times(g[:, None], x)

    def pull_b(ops, g):
        return g

    def pull_x(ops, g, w):
        return ops.bilinear(lambda g, w: w.T @ g, g, w)

    def push_w(ops, t, x):
        return t @ x

    def push_b(ops, t):
        return t

    def push_x(ops, t, w):
        return w @ t

    samples = ((A, np.array([0.5, -1.0]), U), (B.T, B[0], U))
