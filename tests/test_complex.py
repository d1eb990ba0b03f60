"""Complex numbers inside a recorded function: real numbers go in, and their gradients are those of differences."""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pytest
from checking import faithful

from autograd_frontend import grad, record, value_and_grad
from autograd_frontend.ops.block import OPERATIONS

X = np.array([0.7, -1.3, 2.1, 0.4, -0.6])
EVEN = np.array([0.7, -1.3, 2.1, 0.4, -0.6, 1.1])
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.9, -0.6], [1.2, 0.3, -0.8], [-0.5, 0.9, 1.4]])
W = np.array([0.5 - 1.0j, 1.5 + 0.3j, -0.7 + 0.2j, 0.1 + 0.9j, 2.0 - 0.4j])


def seen(z):
    """Real numbers that show every part of complex ones."""
    return np.real(z) * 1.5 + z.imag**2 + np.abs(z) ** 3


# Transforms

LENGTHS = (None, 1, 2, 3, 4, 5, 8)
SETTINGS = list(itertools.product(LENGTHS, (None, "backward", "ortho", "forward")))


@pytest.mark.parametrize("x", [X, EVEN, M], ids=["odd", "even", "rows"])
@pytest.mark.parametrize("n, norm", SETTINGS)
def test_transforms_of_real_numbers(x, n, norm):
    faithful(lambda x: seen(np.fft.rfft(x, n, norm=norm)), x)
    faithful(lambda x: seen(np.fft.fft(x, n=n, axis=-1, norm=norm)), x)
    faithful(lambda x: seen(np.fft.ifft(x, n, 0, norm)), x)
    faithful(lambda x: np.fft.irfft(x, n, 0, norm) ** 2, x)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n, norm", SETTINGS)
def test_transforms_of_complex_numbers(axis, n, norm):
    def f(x, y):
        z = x + 1j * y
        a, b, c = np.fft.fft(z, n, axis, norm), np.fft.ifft(z, n, axis, norm), np.fft.irfft(z, n, axis, norm)
        return seen(a), seen(b), c**2

    faithful(f, M, M[::-1] * 0.7)


def test_there_and_back():
    def smoothed(x):
        return np.fft.irfft(np.fft.rfft(x) * np.linspace(1.0, 0.0, x.size // 2 + 1), x.size)

    faithful(smoothed, X)
    faithful(smoothed, EVEN)
    faithful(lambda x, k: np.fft.ifft(np.fft.fft(x) * np.fft.fft(k)).real, X, X[::-1].copy())
    g = record(lambda x: np.fft.irfft(np.fft.rfft(x), 5))(X).pullback(X)
    assert np.allclose(g, X, rtol=0, atol=1e-15)


def test_imaginary_parts_that_a_transform_ignores_get_exactly_zero():
    for n in (1, 2, 5, 6):
        m = n // 2 + 1
        r = record(lambda x, y, n=n: np.fft.irfft(x + 1j * y, n))(np.linspace(1.0, 2.0, m), np.linspace(-1.0, 1.0, m))
        g = r.pullback(np.arange(1.0, n + 1))
        ignored = {0, n // 2} if n % 2 == 0 else {0}
        assert all((g.y[k] == 0) == (k in ignored) for k in range(m))


# Arithmetic

PROGRAMS = [
    lambda x: seen(x * W + W / (x + 3.0) - W),
    lambda x: seen((x + 1j) * (x - W) / (x * x + 2j)),
    lambda x: seen(-(x * W) + +(W * x) * 2.0),
    lambda x: seen(np.multiply(x, W) / np.add(W, x) - np.subtract(2.0, 1j * x)),
    lambda x: seen((x + W) ** 2 + (x * W) ** 3 - (x + W) ** -1 + (x + W) ** 2.0 + (x + W) ** np.int64(2)),
    lambda x: seen((x + W) ** np.array([0, 1, 2, -2, 3]) + np.square(W * x) + np.power(x + W, 2)),
    lambda x: seen((x + W).conj() * np.conj(W / x) + np.conjugate(x * W) + (x * 1j).conjugate()),
    lambda x: np.angle(x * W) + np.angle(x + W, deg=True),
    lambda x: (np.sum(x * W) * (x * W).sum()).imag + np.mean(x * W).real + abs((x + W).mean()),
    lambda x: np.sum(x * W, dtype=complex).real + np.sum(x, dtype=complex).real,
    lambda x: seen(np.sum((x * W).reshape(5, 1) * x, axis=1, keepdims=True)),
    lambda x: seen(np.mean((x * W)[:, None] * x, axis=1, where=x > 0)),
    lambda x: seen((x * W)[:, None] * x + W[:, None]),
    lambda x: (x[0] * W[1] / (x[1] + 2j)).real + abs(x[2] * 1j - x[3]) + (x[0] * 1j).imag,
    lambda x: abs(x[0] * W) * x[1],
    lambda x: sum(list(x * W)).imag + sum([x[0] * 1j, x[1], 2.0, 1j]).real + sum([x[0], 1j * x[1]]).imag,
    lambda x: seen(np.array([x[0] * 1j, x[1], 2.0]) + np.asarray(x[:3] * W[:3])),
    lambda x: seen(x.astype(complex) * (W * x).copy() + np.copy(x * W)),
    lambda x: (x * W).real ** 2 + np.imag(x * x) + x.imag + np.angle(x),
    lambda x: seen(np.where(x > 0, x * W, x)) + np.where(x > 0, x, abs(x * W)),
    lambda x: seen(np.concatenate([x[:2], W[2:] * x[2:]])),
    lambda x: abs(x * W) * np.absolute(x + W) + (x * W).imag * np.real(x),
]


@pytest.mark.parametrize("i", range(len(PROGRAMS)))
def test_arithmetic(i):
    faithful(PROGRAMS[i], X)


def test_numbers():
    def gain(frequency, damping):
        z = np.float64(frequency) * 1j
        h = 1.0 / (z * z + 2.0 * damping * z + 1.0)
        return abs(h), np.angle(h), h.real, h.imag, (h * h.conjugate()).real

    def pythons(x, y):
        z = x + 1j * y
        w = (z * z - 2j / z) ** 3 + z.conjugate() * x
        a = np.zeros(3, complex)
        a[0], a[1:] = z, w
        a += z * y
        a *= z
        return abs(w), w.real, w.imag, np.angle(z), seen(a), seen(np.array([z, x])), seen(z * W), sum([z, x]).imag

    faithful(pythons, 0.8, 0.25)
    faithful(gain, 0.8, 0.25)
    faithful(gain, np.float64(0.8), np.float64(0.25))


def test_slopes_at_zero_are_zero():
    def f(x):
        z = x * (1.0 + 2.0j)
        return abs(z).sum() + np.angle(z).sum()

    with np.errstate(all="raise"):
        assert record(f)(np.zeros(3)).backward().tolist() == [0.0, 0.0, 0.0]


def test_a_transform_is_the_users_own_call():
    for f in (lambda x: np.fft.rfft(x, norm="ortho"), lambda x: np.fft.fft(x, 7), lambda x: np.fft.ifft(x * 1j)):
        assert oracle.same_bits(record(f)(X).value, f(X))


def test_the_shape_rules():
    for name, a in itertools.product(("fft", "ifft", "rfft", "irfft"), (M, M.astype(np.float32), M[:, :2])):
        for n, axis in itertools.product((None, 1, 4, 5), (0, -1)):
            like = OPERATIONS[name].shape(a, n, axis, None)
            v = getattr(np.fft, name)(a, n, axis)
            assert like == (v.shape, v.dtype)


def test_an_exact_zero_of_the_cotangent_stays_zero():
    def f(x):
        return (x * np.array([1j * np.inf, 2j])).imag

    with np.errstate(all="ignore"):
        assert record(f)(np.ones(2)).pullback(np.array([0.0, 1.0])).tolist() == [0.0, 2.0]


# Memory


def through_views(x):
    z = x * W
    a, b = z.real, z.imag
    c = z[::2].T.ravel()[1:]
    return a * b, abs(c), z.reshape(5, 1)[:, 0].imag[::-1] * x, np.real(z[1:4])


def picked(x):
    z = x * W
    return seen(z[[0, 0, 3]]), seen(z[x > 0]), z[2].real * z[-1].imag, [abs(e) for e in z], z[None, 1:].T.real


def written(x):
    z = x * W
    z[0] = x[1]
    z[1] = z[2] * x[0]
    z[2:] *= x[2:]
    z[3] += 1j * x[0]
    z[[0, 4]] = z[1:3]
    z -= W * x[0]
    z /= 2.0 + x
    z **= 2
    return seen(z)


def filled(x):
    z = np.zeros(5, complex)
    z[1:] = x[1:] * W[1:]
    z[0] = x[0]
    w = np.empty((2, 5), np.complex128)
    w[0], w[1] = z * 2, x
    w[1, 2] = x[0] * 1j
    return seen(w), z.real * 2


def in_parts(x):
    z = np.zeros(5, complex)
    z.real = x
    z.imag[1:] = x[1:] ** 2
    z.imag[0] = x[0]
    w = x * W
    w.imag = z.real * 2
    w.real[1:] *= 3.0
    part = w.imag
    part += x
    w.real = 2.0
    return seen(z), seen(w), part


def into_others(x):
    z = np.zeros(5, complex)
    np.multiply(x, W, out=z)
    np.add.at(z, [0, 0, 1], x[:3] * 1j)
    y = np.zeros(5)
    np.abs(z, out=y)
    np.copyto(z, W, where=x > 0)
    return y * x, seen(z)


@pytest.mark.parametrize("f", [through_views, picked, written, filled, in_parts, into_others])
def test_memory(f):
    faithful(f, X)


def test_what_was_saved_before_a_write_stays():
    def f(x):
        z = x * W
        y = z * z
        r = z.real * x
        z[...] = 0
        z.real = 1.0
        return seen(y) + r + z.real

    faithful(f, X)


def test_a_real_part_of_plain_memory_is_followed():
    def f(x):
        y = x * 2
        z = x.copy()
        w = y * z
        z.real = 5.0
        y.real = x
        return w + z + y

    faithful(f, X)


# Types and results


@pytest.mark.parametrize("dtype, wide", [(np.float32, np.complex64), (np.longdouble, np.clongdouble)])
def test_other_precisions_keep_their_own(dtype, wide):
    def f(x):
        z = np.fft.rfft(x)
        assert z.dtype == wide
        z = z * (2 + 1j) / (z + 3.0)
        assert z.dtype == wide
        return abs(z) ** 2 + np.angle(z) + z.imag + z.conj().real + np.mean(z).real

    x = EVEN.astype(dtype)
    r = record(f)(x)
    assert r.value.dtype == dtype and oracle.same_bits(r.value, f(x))
    weights = np.linspace(1.0, 2.0, 4).astype(dtype)
    g = r.pullback(weights)
    assert g.dtype == dtype
    assert np.allclose(g.astype(float), record(wide_f)(EVEN).pullback(weights.astype(float)), rtol=1e-4)


def wide_f(x):
    z = np.fft.rfft(x)
    z = z * (2 + 1j) / (z + 3.0)
    return abs(z) ** 2 + np.angle(z) + z.imag + z.conj().real + np.mean(z).real


def test_a_complex_value_takes_a_complex_cotangent():
    r = record(lambda x: x * W)(X)
    assert oracle.same_bits(r.value, X * W)
    g = np.array([1.0, 1j, 2.0 - 1j, 0.0, -1j])
    assert np.allclose(r.pullback(g), (np.conj(g) * W).real, rtol=1e-15)
    assert np.allclose(record(lambda x: x * W)(X).pullback(np.ones(5)), W.real, rtol=1e-15)
    s = record(lambda x: np.sum(x * W))(X)
    assert type(s.value) is np.complex128 and np.allclose(s.pullback(1j), W.imag, rtol=1e-15)


def test_a_complex_value_has_no_gradient_of_its_own():
    with pytest.raises(TypeError) as error:
        record(lambda x: x * W)(X).backward()
    assert str(error.value) == (
        "the value is complex: its pullback needs a cotangent, dL/dRe + 1j*dL/dIm of a real L"
    )
    with pytest.raises(TypeError) as error:
        grad(lambda x: np.sum(x * W))(X)
    assert str(error.value) == (
        "grad needs a function with a scalar value, not a complex one; return a sum, or use "
        "record(f)(...).pullback(cotangent)"
    )


def test_a_real_value_takes_no_complex_cotangent():
    with pytest.raises(TypeError, match="the cotangent of the value is complex128, expected real numbers"):
        record(lambda x: abs(x * W))(X).pullback(W)


def test_derivatives_of_derivatives():
    def energy(x):
        z = np.fft.rfft(x * x) * (1 + 0.5j)
        return np.sum(np.abs(z) ** 2 * np.arange(len(z))) + np.sum(z.imag**3) + np.sum((z / (3.0 + x[0])).real)

    faithful(lambda x: np.sum(grad(energy)(x) ** 2), EVEN, rtol=1e-6)
    faithful(lambda x: value_and_grad(lambda y: np.fft.irfft(np.fft.rfft(y) ** 2, 5)[1])(x)[1], X, rtol=1e-6)
