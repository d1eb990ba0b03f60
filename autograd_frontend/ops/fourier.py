"""Fourier transforms: of real rows with the parts of the complex numbers side by side, and NumPy's own.

The adjoint of a transform without a factor is its inverse without a factor: NumPy names by `norm` which one of the two
has it.
"""

from __future__ import annotations

import numpy as np

from .block import Like, composed, operation
from .interface import ranked, whole

ADJOINT = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def single(n, ndim, axis):
    """Among the `n//2 + 1` stored frequencies of `n` real points those that are their own mirror image: the imaginary
    part is 0 there, and the others stand for two. Along an axis."""
    k = np.arange(n // 2 + 1)
    return np.expand_dims((k == 0) | (2 * k == n), tuple([i for i in range(ndim) if i != axis % ndim]))


def from_half(ops, z, n, axis, norm):
    """The adjoint of a transform of `n` real points, which has no factor if `norm` is "forward"."""
    return ops.irfft(ops.where(single(n, z.ndim, axis), z, 0.5 * z), n, axis=axis, norm=norm)


def to_half(ops, g, axis, norm):
    """The adjoint of a transform to real points."""
    z = ops.rfft(g, axis=axis, norm=norm)
    return ops.where(single(g.shape[axis], g.ndim, axis), z.real, 2 * z)


def joined(ops, z, n):
    """The complex numbers of the pairs along the last axis, for a transform to `n` real points."""
    return z[..., 0] + 1j * ops.where(single(n, 2, 1), 0, z[..., 1])  # not even a NaN counts there


def parted(ops, z, dtype):
    """The pairs of the complex numbers, as real numbers of this type."""
    pairs = ops.stack([z.real, z.imag], axis=-1)
    return pairs if pairs.dtype == dtype else ops.astype(pairs, dtype)


def real_type(x):
    """The element type of a transform of `x`."""
    return x.dtype if x.dtype.kind == "f" else np.dtype(float)


@operation()
class rfft1d:
    """`rfft1d(x)`: `[b, n]` -> `[b, n//2 + 1, 2]`, the discrete Fourier transform of each row, real and imaginary part
    last, not normalized: `re[k] = sum_t x[t]*cos(A)`, `im[k] = -sum_t x[t]*sin(A)`, `A = 2*pi*k*t/n`. Pullback
    `sum_k (g_re[k]*cos(A) - g_im[k]*sin(A))` over the stored `k` only. No points, or another rank: ValueError."""

    linear = True

    def value(ops, x):
        ranked("rfft1d", "x", x, 2, "[rows, points]")
        if not x.shape[1]:
            raise ValueError(f"rfft1d: x has shape {x.shape}, expected at least one point in a row")
        return parted(ops, ops.rfft(x, axis=1), real_type(x))

    def shape(x):
        return Like((x.shape[0], x.shape[1] // 2 + 1, 2), real_type(x))

    def pull_x(ops, g, x_like):
        n = x_like.shape[1]
        half = ops.where(single(n, 2, 1), 1, 0.5)[..., None]
        return irfft1d(g * ops.astype(half, g.dtype), n) * n  # real all the way: it may get a tangent

    samples = (
        (np.array([[0.5, -1.0, 2.0, 0.3], [1.5, 0.2, -0.7, 1.1]]),), (np.array([[0.5, -1.0, 2.0, 0.3, 1.7]]),),
        (np.array([[0.5], [2.0]]),), (np.array([[0.5, -1.5]]),),
    )  # fmt: skip


@operation()
class irfft1d:
    """`irfft1d(z, n)`: `[b, n//2 + 1, 2]` -> `[b, n]`, the inverse of `rfft1d` for `n` points:
    `y[t] = sum_k (M[k]/n)*(re[k]*cos(A) - im[k]*sin(A))`, `A = 2*pi*k*t/n`, `M = 1` at `k = 0` and, for even `n`, at
    `n/2`, else 2. There the imaginary parts are ignored, and their gradient is exactly 0. Pullback
    `d_re[k] = (M[k]/n)*sum_t g[t]*cos(A)`, `d_im[k] = -(M[k]/n)*sum_t g[t]*sin(A)`. `n < 1`, another rank, or a number
    of frequencies other than `n//2 + 1`: ValueError."""

    linear = True

    def value(ops, z, n):
        ranked("irfft1d", "z", z, 3, "[rows, frequencies, 2]")
        if z.shape[2] != 2:
            raise ValueError(f"irfft1d: z has shape {z.shape}, expected 2 entries last, real and imaginary part")
        if whole("irfft1d", "n", n, 1) // 2 + 1 != z.shape[1]:
            raise ValueError(f"irfft1d: z has {z.shape[1]} frequencies, expected {n // 2 + 1} for n = {n}")
        y = ops.irfft(joined(ops, z, n), n, axis=1)
        return y if y.dtype == real_type(z) else ops.astype(y, real_type(z))

    def shape(z, n):
        return Like((z.shape[0], n), real_type(z))

    def pull_z(ops, g):
        n = g.shape[1]
        alone = single(n, 2, 1)[..., None]
        d = rfft1d(g) * ops.astype(ops.where(alone, 1 / n, 2 / n), g.dtype)
        return ops.where(ops.both(alone, np.array([False, True])), 0, d)

    samples = (
        (np.array([[[0.5, 0.1], [-1.0, 0.7], [2.0, -0.3]], [[1.5, 0.2], [0.2, -0.4], [-0.7, 0.9]]]), {"n": 4}),
        (np.array([[[0.5, 0.1], [-1.0, 0.7], [2.0, -0.3]]]), {"n": 5}),
        (np.array([[[0.5, 0.1]], [[2.0, 0.4]]]), {"n": 1}), (np.array([[[0.5, 0.1], [-1.5, 0.2]]]), {"n": 2}),
    )  # fmt: skip


# NumPy's own, to and from complex numbers


def transform_bind(a, n=None, axis=-1, norm=None, out=None):
    return (a,), {"n": n, "axis": axis, "norm": norm}


def resized(ops, d, n, axis):
    """`d` cut off after `n` entries along an axis, or filled up with zeros: what arrives at those that were given."""
    axis, shape = axis % d.ndim, list(d.shape)
    if shape[axis] >= n:
        return d if shape[axis] == n else d[(slice(None),) * axis + (slice(n),)]
    shape[axis] = n - shape[axis]
    return ops.concatenate([d, ops.zeros(tuple(shape), d.dtype)], axis)


def transformed(a, n, axis, dtype):
    shape = list(a.shape)
    shape[axis] = n
    return Like(tuple(shape), dtype)


def complex_type(a):
    return np.result_type(a.dtype, np.complex64)


@operation("numpy.fft.fft")
class fft:
    """`np.fft.fft(a, n=None, axis=-1, norm=None)`. Pullback: the inverse transform of `g`, with the factor that `norm`
    gives to `fft`, cut off or filled up with zeros to the size of `a`; for a real `a` its real part."""

    linear = complex = True
    bind = transform_bind

    def shape(a, n, axis, norm):
        return transformed(a, a.shape[axis] if n is None else n, axis, complex_type(a))

    def pull_a(ops, g, a_like, axis, norm):
        return resized(ops, ops.ifft(g, axis=axis, norm=ADJOINT[norm]), a_like.shape[axis], axis)


@operation("numpy.fft.ifft")
class ifft:
    """`np.fft.ifft(a, n=None, axis=-1, norm=None)`. Pullback: `fft` of `g` with the factor of `ifft`, resized
    as there."""

    linear = complex = True
    bind, shape = transform_bind, fft.shape

    def pull_a(ops, g, a_like, axis, norm):
        return resized(ops, ops.fft(g, axis=axis, norm=ADJOINT[norm]), a_like.shape[axis], axis)


@operation("numpy.fft.rfft")
class rfft:
    """`np.fft.rfft(a, n=None, axis=-1, norm=None)` of real numbers. Pullback: `sum_k Re(g[k]*exp(2j*pi*k*t/n))` over
    the stored frequencies, with the factor of `rfft`, resized as for `fft`."""

    linear = complex = True
    bind = transform_bind

    def shape(a, n, axis, norm):
        return transformed(a, (a.shape[axis] if n is None else n) // 2 + 1, axis, complex_type(a))

    def pull_a(ops, g, a_like, n, axis, norm):
        m = a_like.shape[axis]
        return resized(ops, from_half(ops, g, m if n is None else n, axis, ADJOINT[norm]), m, axis)


@operation("numpy.fft.irfft")
class irfft:
    """`np.fft.irfft(a, n=None, axis=-1, norm=None)`, to real numbers. Pullback: `rfft` of `g` with the factor of
    `irfft`, twice that for the frequencies that stand for two; exactly 0 for imaginary parts that are ignored."""

    linear = complex = True
    bind = transform_bind

    def shape(a, n, axis, norm):
        return transformed(a, 2 * (a.shape[axis] - 1) if n is None else n, axis, complex_type(a).type(0).real.dtype)

    def pull_a(ops, g, a_like, axis, norm):
        return resized(ops, to_half(ops, g, axis, ADJOINT[norm]), a_like.shape[axis], axis)


# Along several axes: NumPy transforms them one after the other, the last one first


def along(a, s, axes):
    """The axes and how many entries are transformed along each (None: as many as there are)."""
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(np.ndim(a))
    found = [None] * len(axes) if s is None else [None if n == -1 else n for n in s]
    return list(zip(found, axes, strict=True))


def one_by_one(of, f, a, pairs, norm, out):
    if out is not None:
        raise TypeError("out= of a Fourier transform along several axes cannot be recorded; write x[...] = y")
    for n, axis in pairs:
        a = of(f)(a, n=n, axis=axis, norm=norm)
    return a


@composed("numpy.fft.fft2")
def fft2(of, a, s=None, axes=(-2, -1), norm=None, out=None):
    return one_by_one(of, np.fft.fft, a, along(a, s, axes)[::-1], norm, out)


@composed("numpy.fft.ifft2")
def ifft2(of, a, s=None, axes=(-2, -1), norm=None, out=None):
    return one_by_one(of, np.fft.ifft, a, along(a, s, axes)[::-1], norm, out)


@composed("numpy.fft.fftn")
def fftn(of, a, s=None, axes=None, norm=None, out=None):
    return one_by_one(of, np.fft.fft, a, along(a, s, axes)[::-1], norm, out)


@composed("numpy.fft.ifftn")
def ifftn(of, a, s=None, axes=None, norm=None, out=None):
    return one_by_one(of, np.fft.ifft, a, along(a, s, axes)[::-1], norm, out)


@composed("numpy.fft.rfft2")
def rfft2(of, a, s=None, axes=(-2, -1), norm=None, out=None):
    return rfftn(of, a, s, axes, norm, out)


@composed("numpy.fft.rfftn")
def rfftn(of, a, s=None, axes=None, norm=None, out=None):
    pairs = along(a, s, axes)
    a = one_by_one(of, np.fft.rfft, a, pairs[-1:], norm, out)
    return one_by_one(of, np.fft.fft, a, pairs[-2::-1] if len(pairs) > 1 else [], norm, out)


@composed("numpy.fft.irfft2")
def irfft2(of, a, s=None, axes=(-2, -1), norm=None, out=None):
    return irfftn(of, a, s, axes, norm, out)


@composed("numpy.fft.irfftn")
def irfftn(of, a, s=None, axes=None, norm=None, out=None):
    pairs = along(a, s, axes)
    a = one_by_one(of, np.fft.ifft, a, pairs[:-1], norm, out)
    return one_by_one(of, np.fft.irfft, a, pairs[-1:], norm, out)
