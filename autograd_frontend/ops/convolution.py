"""Convolution and its transpose, in any number of dimensions. Both are one matrix product with the windows of an array;
what one of them does is the pullback of the other."""

from __future__ import annotations

from math import prod

import numpy as np

from .block import Like, operation
from .interface import shaped, sizes
from .windows import conv_counts, transposed_extents


def correlate(ops, weight, x, counts, stride, padding, strict=False):
    """`y[o, q] = sum over i, j of weight[o, i, j]*x[i, q*stride + j - padding]`, with so many windows. `x` may have a
    batch in front. `strict`: it is a cotangent or tangent, of which an exact zero contributes exactly zero; "weight":
    the weight is."""
    kernel = weight.shape[2:]
    lead = x.shape[: x.ndim - len(kernel) - 1]
    y = multiply(ops, as_matrix(ops, weight), opened(ops, x, counts, kernel, stride, padding), strict)
    return ops.reshape(y, (*lead, weight.shape[0], *counts))


def spread(ops, weight, y, extents, stride, padding, strict=False):
    """The transpose of `correlate` for `x`, whose extents are given."""
    kernel = weight.shape[2:]
    n = len(kernel)
    lead, counts = y.shape[: y.ndim - n - 1], y.shape[y.ndim - n :]
    w = multiply(ops, ops.swapaxes(as_matrix(ops, weight), 0, 1), flat(ops, y, n), strict)
    w = ops.reshape(w, (*lead, weight.shape[1], *kernel, *counts))
    return ops.fold(w, extents, kernel, stride, padding)


def between(ops, y, x, like, stride, padding, of_y):
    """The transpose of `correlate` for the weight, which is like `like`, summed over the batch. The cotangent is `y`
    (`of_y`) or `x`."""
    kernel = like.shape[2:]
    n = len(kernel)
    y, w = flat(ops, y, n), opened(ops, x, y.shape[y.ndim - n :], kernel, stride, padding)
    if of_y:
        d = ops.bilinear(lambda y, w: ops.matmul(y, ops.swapaxes(w, -1, -2)), y, w)
    else:
        d = ops.bilinear(lambda w, y: ops.matmul(y, ops.swapaxes(w, -1, -2)), w, y)
    return ops.reshape(ops.sum(d, axis=0) if d.ndim == 3 else d, like.shape)


def multiply(ops, a, b, strict):
    if strict == "weight":
        return ops.bilinear(lambda a, b: ops.matmul(a, b), a, b)
    return ops.bilinear(lambda b, a: ops.matmul(a, b), b, a) if strict else ops.matmul(a, b)


def as_matrix(ops, weight):
    return ops.reshape(weight, (weight.shape[0], prod(weight.shape[1:])))


def flat(ops, y, n):
    """The positions along one axis."""
    return ops.reshape(y, y.shape[: y.ndim - n] + (prod(y.shape[y.ndim - n :]),))


def opened(ops, x, counts, kernel, stride, padding):
    """The windows of `x` as a matrix of a row for each channel and cell, or a batch of them."""
    at = x.ndim - len(kernel) - 1
    w = ops.windows(x, counts, kernel, stride, padding)
    return ops.reshape(w, x.shape[:at] + (x.shape[at] * prod(kernel), prod(counts)))


def along_channels(ops, bias, n):
    return ops.reshape(bias, bias.shape + (1,) * n)


def bias_pullback(ops, g, weight_like):
    channels = g.ndim - weight_like.ndim + 1
    return ops.sum(g, axis=tuple([k for k in range(g.ndim) if k != channels]))


def bias_tangent(ops, t, weight_like, y_like):
    return ops.broadcast_to(along_channels(ops, t, weight_like.ndim - 2), y_like.shape)


def settings(name, weight, stride, padding):
    n = len(weight.shape) - 2
    return sizes(name, "stride", stride, n, 1), sizes(name, "padding", padding, n, 0)


def checked(name, weight, bias, x, source, result):
    """Raise unless the operands fit. Axis `source` of the weight is for the channels of `x`, axis `result` for those
    of the result."""
    shape, given = np.shape(weight), np.shape(x)
    n = len(shape) - 2
    if n < 1 or min(shape[2:]) < 1:
        order = "[out, in, *kernel]" if result == 0 else "[in, out, *kernel]"
        raise ValueError(f"{name}: weight has shape {shape}, expected {order} with kernel extents, all at least 1")
    if len(given) not in (n + 1, n + 2):
        raise ValueError(
            f"{name}: input has shape {given}, expected {n + 1} axes, [channels, *spatial], or {n + 2} with a batch in "
            f"front, as the weight of shape {shape} has {n} spatial"
        )
    if given[-n - 1] != shape[source]:
        raise ValueError(
            f"{name}: input of shape {given} has {given[-n - 1]} channels, expected {shape[source]}, "
            f"as the weight has shape {shape}"
        )
    shaped(name, "bias", bias, (shape[result],), f"one entry for each output channel of the weight of shape {shape}")


X = np.linspace(-1.0, 1.5, 24) ** 3 - 0.3
W = np.array([0.3, -1.0, 0.7, 0.2, 1.1, -0.4, 0.9, -0.6, 0.5, -0.8, 0.4, 1.2, -0.1, 0.6, -0.9, 0.8])


@operation()
class conv:
    """`conv(weight, bias, input, stride=1, padding=0)`: `[o, i, *k]`, `[o]`, `[i, *n]` -> `[o, *m]`,
    `m = (n + 2*padding - k)//stride + 1`, 0 where no window fits. One sample, or a batch `[b, i, *n]` -> `[b, o, *m]`;
    any number of spatial axes.
    `y[o, q] = bias[o] + sum over i, j of weight[o, i, j]*input[i, q*stride + j - padding]`, the input being 0 outside;
    the kernel is not flipped. `stride` and `padding` are an int or one for each spatial axis. Pullback: `weight` gets
    `sum over q of g[o, q]*input[i, q*stride + j - padding]`, `bias` `sum over q of g[o, q]`, `input` what
    `conv_transpose` without a bias makes of `g`. Dtype: NumPy's of all three. ValueError: channels or bias that do not
    fit, no spatial axis, kernel or stride below 1, negative padding."""

    def value(ops, weight, bias, input, stride=1, padding=0):
        checked("conv", weight, bias, input, 1, 0)
        stride, padding = settings("conv", weight, stride, padding)
        kernel = weight.shape[2:]
        n = len(kernel)
        counts = conv_counts(input.shape[input.ndim - n :], kernel, stride, padding)
        return correlate(ops, weight, input, counts, stride, padding) + along_channels(ops, bias, n)

    def shape(weight, bias, input, stride, padding):
        stride, padding = settings("conv", weight, stride, padding)
        at = input.ndim - len(stride)
        counts = conv_counts(input.shape[at:], weight.shape[2:], stride, padding)
        dtype = np.result_type(weight.dtype, bias.dtype, input.dtype)
        return Like((*input.shape[: at - 1], weight.shape[0], *counts), dtype)

    def pull_weight(ops, g, input, weight_like, stride, padding):
        return between(ops, g, input, weight_like, *settings("conv", weight_like, stride, padding), True)

    pull_bias = bias_pullback

    def pull_input(ops, g, weight, input_like, stride, padding):
        extents = input_like.shape[input_like.ndim - weight.ndim + 2 :]
        return spread(ops, weight, g, extents, *settings("conv", weight, stride, padding), True)

    def push_weight(ops, t, input, y_like, stride, padding):
        counts = y_like.shape[y_like.ndim - t.ndim + 2 :]
        return correlate(ops, t, input, counts, *settings("conv", t, stride, padding), "weight")

    push_bias = bias_tangent

    def push_input(ops, t, weight, y_like, stride, padding):
        counts = y_like.shape[y_like.ndim - weight.ndim + 2 :]
        return correlate(ops, weight, t, counts, *settings("conv", weight, stride, padding), True)

    samples = (
        (W[:12].reshape(2, 2, 3), W[:2], X[:12].reshape(2, 6)),
        (W[:4].reshape(2, 1, 2), W[:2], X[:7].reshape(1, 7), 2, 1),
        (W[:12].reshape(1, 2, 2, 3), W[:1], X.reshape(2, 3, 4), {"stride": (1, 2), "padding": [1, 0]}),
        (W[:8].reshape(1, 1, 2, 2, 2), W[:1], X.reshape(1, 2, 3, 4)),
        (W[:12].reshape(2, 3, 1, 2), W[:2], X.reshape(2, 3, 2, 2), 1, (0, 2)),
        (W[:8].reshape(2, 1, 4), W[:2], X[:3].reshape(1, 3)),
    )


@operation()
class conv_transpose:
    """`conv_transpose(weight, bias, input, stride=1, padding=0)`: `[i, o, *k]`, `[o]`, `[i, *n]` -> `[o, *m]`,
    `m = (n - 1)*stride + k - 2*padding`, at least 0, and 0 where `n` is. One sample, or a batch `[b, i, *n]` ->
    `[b, o, *m]`; any number of spatial axes. `y[o, m] = bias[o] +` the sum of `weight[i, o, j]*input[i, q]` over all
    `q*stride + j - padding == m`: the transpose of `conv` with the same weight. `stride` and `padding` are an int or
    one for each spatial axis. Pullback: `input` gets `conv` of `g` without a bias, `weight` gets
    `sum over q of input[i, q]*g[o, q*stride + j - padding]`, `bias` the sum of `g` over the positions. Dtype: NumPy's
    of all three. ValueError: channels or bias that do not fit, no spatial axis, kernel or stride below 1, negative
    padding."""

    def value(ops, weight, bias, input, stride=1, padding=0):
        checked("conv_transpose", weight, bias, input, 0, 1)
        stride, padding = settings("conv_transpose", weight, stride, padding)
        kernel = weight.shape[2:]
        n = len(kernel)
        extents = transposed_extents(input.shape[input.ndim - n :], kernel, stride, padding)
        return spread(ops, weight, input, extents, stride, padding) + along_channels(ops, bias, n)

    def shape(weight, bias, input, stride, padding):
        stride, padding = settings("conv_transpose", weight, stride, padding)
        at = input.ndim - len(stride)
        extents = transposed_extents(input.shape[at:], weight.shape[2:], stride, padding)
        dtype = np.result_type(weight.dtype, bias.dtype, input.dtype)
        return Like((*input.shape[: at - 1], weight.shape[1], *extents), dtype)

    def pull_weight(ops, g, input, weight_like, stride, padding):
        return between(ops, input, g, weight_like, *settings("conv_transpose", weight_like, stride, padding), False)

    pull_bias = bias_pullback

    def pull_input(ops, g, weight, input_like, stride, padding):
        counts = input_like.shape[input_like.ndim - weight.ndim + 2 :]
        return correlate(ops, weight, g, counts, *settings("conv_transpose", weight, stride, padding), True)

    def push_weight(ops, t, input, y_like, stride, padding):
        extents = y_like.shape[y_like.ndim - t.ndim + 2 :]
        return spread(ops, t, input, extents, *settings("conv_transpose", t, stride, padding), "weight")

    push_bias = bias_tangent

    def push_input(ops, t, weight, y_like, stride, padding):
        extents = y_like.shape[y_like.ndim - weight.ndim + 2 :]
        return spread(ops, weight, t, extents, *settings("conv_transpose", weight, stride, padding), True)

    samples = (
        (W[:12].reshape(2, 2, 3), W[:2], X[:8].reshape(2, 4)),
        (W[:4].reshape(2, 1, 2), W[:1], X[:6].reshape(2, 3), 2),
        (W[:12].reshape(1, 2, 2, 3), W[:2], X[:6].reshape(1, 2, 3), {"stride": (2, 1), "padding": [0, 1]}),
        (W[:4].reshape(1, 1, 1, 2, 2), W[:1], X[:8].reshape(1, 2, 2, 2), 3),
        (W[:6].reshape(2, 3, 1), W[:3], X[:8].reshape(2, 2, 2)),
        (W[:2].reshape(1, 1, 2), W[:1], X[:1].reshape(1, 1), 1, 2),
    )
