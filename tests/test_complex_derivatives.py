"""Complex numbers in every mode: what takes them has the gradient, tangent and second derivative of differences."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_complex_refusals import CALLS, weigh

from autograd_frontend import RecordError, grad, hessian, hvp, jacfwd, jacrev, jvp, record

AT = np.float64(0.1)


def along_a_line(path):
    """A real function of a number that moves complex arguments of a callable, each entry in a direction of its own."""
    call, args, kwargs, arrays = CALLS[path]
    rng = np.random.default_rng(0)
    parts = {i: [rng.normal(size=np.shape(args[i])) for _ in range(4)] for i in arrays}

    def f(s):
        given = list(args)
        for i, (a, b, u, v) in parts.items():
            given[i] = a + s * u + 1j * (b + s * v)
        return weigh(call(*given, **kwargs))

    return f


@pytest.mark.parametrize("path", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_gradients_tangents_and_second_derivatives(path):
    f = along_a_line(path)
    try:
        middle = f(AT)
        g = record(f)(AT).backward()
    except Exception as error:
        if isinstance(error, RecordError):
            assert "of complex numbers" in error.reason or "out=" in error.reason
        return  # NumPy does not have it for such arguments
    h = 1e-5
    slope = (f(AT + h) - f(AT - h)) / (2 * h)
    assert np.isclose(g, slope, rtol=1e-4, atol=1e-5)
    assert np.isclose(jvp(f, (AT,), (np.float64(1.0),))[1], g, rtol=1e-10, atol=1e-10)
    h = 1e-4
    curvature = (f(AT + h) - 2 * middle + f(AT - h)) / h**2
    over = grad(grad(f))(AT)
    assert np.isclose(over, curvature, rtol=1e-3, atol=1e-3 * max(1.0, abs(curvature)))
    assert np.isclose(jacfwd(grad(f))(AT), over, rtol=1e-8, atol=1e-8)


X = np.array([0.5, -1.2, 2.0, 0.3])
PROGRAMS = [
    lambda x: np.abs(np.fft.rfft(x)) ** 2,
    lambda x: np.fft.fft(x * np.exp(1j * x)).imag,
    lambda x: np.angle(x + 2j * x[::-1]),
    lambda x: (1 / (x + 1j)).real,
    lambda x: np.where(x > 0, x * 1j, x).imag,
    lambda x: np.log(np.abs(np.mean(np.exp(x * 1j) + 1))),
    lambda x: np.fft.irfft(np.fft.rfft(x) * np.exp(1j * np.arange(3))),
    lambda x: (lambda z: z.real**2 + z.imag)(x * (1 + 2j)),
    lambda x: abs(complex(x[0], x[1])) + abs(np.complex128(x[2]) + complex(x[3]) * 2j),
    lambda x: np.linalg.solve(np.diag(x * 1j + 2) + np.outer(x, x), x * (1 - 1j)).imag,
    lambda x: np.vdot(x * (1j + x), np.sqrt(x + 2j)).real,
    lambda x: filled(x),
]


def filled(x):
    """Real and imaginary parts are written through views."""
    z = np.zeros(4, complex)
    z.real[:] = x
    z.imag[0] = x[1]
    z.real[1] *= x[2]
    return np.abs(z) ** 2 + z.imag


@pytest.mark.parametrize("i", range(len(PROGRAMS)))
def test_programs_in_every_mode(i):
    f, t = PROGRAMS[i], np.cos(X)
    h = 1e-6
    want = (np.asarray(f(X + h * t)) - np.asarray(f(X - h * t))) / (2 * h)
    np.testing.assert_allclose(jvp(f, (X,), (t,))[1], want, 1e-6, 1e-8)
    np.testing.assert_allclose(jacfwd(f)(X), jacrev(f)(X), 1e-10, 1e-12)
    s = lambda x: np.sum(np.sin(f(x)))
    second = hessian(s)(X)
    numerical = np.array([(grad(s)(X + h * e) - grad(s)(X - h * e)) / (2 * h) for e in np.eye(4)])
    np.testing.assert_allclose(second, numerical, 1e-5, 1e-6)
    np.testing.assert_allclose(jacrev(grad(s))(X), second, 1e-10, 1e-11)
    np.testing.assert_allclose(hvp(s)(X, t), second @ t, 1e-10, 1e-11)


def test_a_complex_value_has_a_complex_tangent():
    f = lambda x: np.exp(1j * x) * x
    value, tangent = jvp(f, (X,), (np.ones(4),))
    np.testing.assert_allclose(tangent, np.exp(1j * X) * (1 + 1j * X))
    np.testing.assert_allclose(jacfwd(f)(X), np.diag(tangent))
    assert value.dtype == tangent.dtype == complex


def test_numbers_made_of_two():
    for x in (0.7, np.float64(0.7)):
        f = lambda x: abs(complex(x, x * x)) ** 2 + (complex(x) * 2j).imag
        assert record(f)(x).value == f(x)
        assert np.isclose(grad(f)(x), 2 * x + 4 * x**3 + 2)
        assert np.isclose(grad(grad(f))(x), 2 + 12 * x**2)
    with pytest.raises(TypeError) as error:
        record(lambda x: complex("1", x))(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError) as plain:
            complex("1", 0.5)
    assert str(error.value) == str(plain.value)
