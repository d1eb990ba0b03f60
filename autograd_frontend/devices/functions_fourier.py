"""Fourier transforms by cuFFT, of dense rows and without a factor: cutting, filling up and scaling are our own."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .functions_moving import framed
from .functions_numbers import iota
from .functions_sort import dense
from .functions_take import result
from .table import implements

Array = Any  # one of a device: NumPy's stubs know only their own

NORMS = (None, "backward", "ortho", "forward")


def factor(norm: Any, n: int, forward: bool) -> float:
    if norm not in NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        return 1 / sqrt(n)
    return 1.0 if (norm == "forward") != forward else 1 / n


def sized(x: Array, n: int) -> Array:
    """The last axis cut off, or filled up with zeros."""
    m = x.shape[-1]
    if m >= n:
        return x if m == n else x[..., :n]
    return framed(x, [(0, 0)] * (x.ndim - 1) + [(0, n - m)], [(0, 0)] * x.ndim)


def single(x: Array) -> bool:
    return x.dtype in (np.float16, np.float32, np.complex64)


def transformed(name: str, a: Any, n: Any, axis: int, norm: Any, out: Any) -> Any:
    axis = normalize_axis_index(axis, a.ndim)
    real = name == "rfft"
    kind: Any = (np.float32 if single(a) else np.float64) if real else (np.complex64 if single(a) else np.complex128)
    m = a.shape[axis]
    n = (2 * (m - 1) if name == "irfft" else m) if n is None else n
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    x = sized(np.moveaxis(a.astype(kind, copy=False), axis, -1), n // 2 + 1 if name == "irfft" else n)
    session = x.session
    if name == "irfft":  # what stands for itself has no imaginary part, whatever is given there
        k = iota(session, n // 2 + 1)
        x = np.where((k == 0) | (2 * k == n), x.real, x)
    f = factor(norm, n, name in ("fft", "rfft"))
    if x.size:
        args = {"axis": -1, "norm": "backward" if name in ("fft", "rfft") else "forward"}
        if name == "irfft":
            args["n"] = n
        y = session.wrap(getattr(session.xp.fft, name)(dense(x, -1).library(), **args))
    else:
        shape = (*x.shape[:-1], {"rfft": n // 2 + 1}.get(name, n))
        y = session.zeros(shape, kind if name in ("fft", "ifft") else np.result_type(kind, np.complex64))
    y = y * y.dtype.type(f) if f != 1 else y
    return result(np.moveaxis(y, -1, axis), out)


def one_axis(name: str) -> None:
    @implements(getattr(np.fft, name))
    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        return transformed(name, a, n, axis, norm, out)


for _name in ("fft", "ifft", "rfft", "irfft"):
    one_axis(_name)


def several(name: str, default: Any) -> None:
    """Transforms over several axes: one after the other, of real numbers over the last axis first (or back last)."""
    inner = "ifft" if name.startswith("i") else "fft"
    real = name.strip("i2n") == "rfft"

    @implements(getattr(np.fft, name))
    def transform(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Any:
        if axes is None:
            axes = tuple(range(-len(s) if s is not None else -a.ndim, 0))
        sizes = [None] * len(axes) if s is None else list(s)
        steps = [(inner, k, n) for k, n in zip(axes, sizes, strict=True)]
        if real:
            steps[-1] = ("irfft" if inner == "ifft" else "rfft", *steps[-1][1:])
        for function, k, n in steps if real and inner == "ifft" else reversed(steps):
            a = transformed(function, a, n, k, norm, None)
        return result(a, out)


for _name in ("fft2", "ifft2", "rfft2", "irfft2"):
    several(_name, (-2, -1))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    several(_name, None)


def shifted(function: Any, sign: int) -> None:
    @implements(function)
    def shift(x: Any, axes: Any = None) -> Any:
        axes = tuple(range(x.ndim)) if axes is None else (axes,) if np.ndim(axes) == 0 else tuple(axes)
        by = [x.shape[k] // 2 if sign > 0 else -(x.shape[k] // 2) for k in axes]
        return np.roll(x, by, axes)


shifted(np.fft.fftshift, 1)
shifted(np.fft.ifftshift, -1)
