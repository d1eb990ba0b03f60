"""Fourier transforms of rows against the sums that the contract writes out."""

from __future__ import annotations

import mpmath
import numpy as np
import oracle
import pytest
from checking import faithful

from autograd_frontend import RecordError, ops, record

LENGTHS = [1, 2, 3, 4, 5, 8, 9, 12]
inf, nan = np.inf, np.nan


def angles(n):
    """Cosines and sines of the stored frequencies, exact where the sine is 0."""
    with mpmath.workdps(40):
        turns = [[mpmath.mpf(2 * k * t) / n for t in range(n)] for k in range(n // 2 + 1)]
        return (np.array([[float(f(x)) for x in row] for row in turns]) for f in (mpmath.cospi, mpmath.sinpi))


def data(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("n", LENGTHS)
def test_sums(n):
    c, s = angles(n)
    m = np.array([1.0 if k == 0 or 2 * k == n else 2.0 for k in range(n // 2 + 1)]) / n
    x, z = data(3, n), data(3, n // 2 + 1, 2, seed=1)
    r = record(lambda x: ops.rfft1d(x))(x)
    assert r.value.shape == z.shape and oracle.same_bits(r.value, ops.rfft1d(x))
    assert np.allclose(r.value, np.stack([x @ c.T, -x @ s.T], -1), rtol=0, atol=1e-14)
    assert np.allclose(r.pullback(z), z[..., 0] @ c - z[..., 1] @ s, rtol=0, atol=1e-13)
    r = record(lambda z: ops.irfft1d(z, n))(z)
    assert r.value.shape == x.shape and oracle.same_bits(r.value, ops.irfft1d(z, n=n))
    assert np.allclose(r.value, (z[..., 0] * m) @ c - (z[..., 1] * m) @ s, rtol=0, atol=1e-14)
    g = r.pullback(x)
    assert np.allclose(g, np.stack([m * (x @ c.T), -m * (x @ s.T)], -1), rtol=0, atol=1e-14)
    assert not g[:, m * n == 1.0, 1].any()


@pytest.mark.parametrize("n", LENGTHS)
def test_there_and_back(n):
    x = data(2, n)
    assert np.allclose(ops.irfft1d(ops.rfft1d(x), n), x, rtol=0, atol=1e-15)
    faithful(lambda x: ops.irfft1d(ops.rfft1d(x) * 1.5, n) ** 2, x)
    faithful(lambda z: ops.rfft1d(ops.irfft1d(z, n)) ** 2, data(2, n // 2 + 1, 2))


def test_ignored_imaginary_parts_may_be_anything():
    z = data(1, 4, 2)
    clean = z.copy()
    clean[:, [0, 3], 1] = 0
    for bad in (inf, -inf, nan, 1e308):
        z[:, [0, 3], 1] = bad
        assert np.array_equal(ops.irfft1d(z, 6), ops.irfft1d(clean, 6))
        g = record(lambda x: ops.rfft1d(x))(data(1, 6)).pullback(z)
        assert np.array_equal(g, record(lambda x: ops.rfft1d(x))(data(1, 6)).pullback(clean))
    z[:, 3, 1] = 1.0
    assert not np.array_equal(ops.irfft1d(z, 7), ops.irfft1d(clean, 7))


@pytest.mark.parametrize("dtype, atol", [(np.float16, 1e-2), (np.float32, 1e-6), (np.longdouble, 1e-15)])
def test_element_types(dtype, atol):
    x, z = data(2, 6, dtype=dtype), data(2, 4, 2, dtype=dtype)
    for f, given, g in ((ops.rfft1d, x, z), (lambda z: ops.irfft1d(z, 6), z, x)):
        r = record(f if f is not ops.rfft1d else lambda x: ops.rfft1d(x))(given)
        assert r.value.dtype == dtype and oracle.same_bits(r.value, f(given))
        assert np.allclose(r.value.astype(float), f(given.astype(float)), rtol=0, atol=atol)
        assert r.pullback(g).dtype == dtype


def test_no_rows_lists_and_integers():
    assert ops.rfft1d(np.zeros((0, 5))).shape == (0, 3, 2) and ops.irfft1d(np.zeros((0, 3, 2)), 5).shape == (0, 5)
    assert record(lambda x: ops.rfft1d(x))(np.zeros((0, 5))).pullback(np.zeros((0, 3, 2))).shape == (0, 5)
    assert ops.rfft1d([[1, 2, 3, 4]]).tolist() == [[[10.0, 0.0], [-2.0, 2.0], [-2.0, 0.0]]]


ERRORS = [
    (lambda: ops.rfft1d(np.ones(3)), ValueError, "rfft1d: x has shape (3,), expected 2 axes, [rows, points]"),
    (lambda: ops.rfft1d(np.ones((2, 0))), ValueError,
     "rfft1d: x has shape (2, 0), expected at least one point in a row"),
    (lambda: ops.irfft1d(np.ones((2, 3)), 4), ValueError,
     "irfft1d: z has shape (2, 3), expected 3 axes, [rows, frequencies, 2]"),
    (lambda: ops.irfft1d(np.ones((2, 3, 1)), 4), ValueError,
     "irfft1d: z has shape (2, 3, 1), expected 2 entries last, real and imaginary part"),
    (lambda: ops.irfft1d(np.ones((2, 3, 2)), 6), ValueError, "irfft1d: z has 3 frequencies, expected 4 for n = 6"),
    (lambda: ops.irfft1d(np.ones((2, 3, 2)), 0), ValueError, "irfft1d: n is 0, expected at least 1"),
    (lambda: ops.irfft1d(np.ones((2, 3, 2)), 4.0), TypeError, "irfft1d: n is 4.0, expected a whole number"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message


def test_a_recorded_length_is_refused():
    with pytest.raises(RecordError) as error:
        record(lambda z, n: ops.irfft1d(z, n))(np.ones((1, 3, 2)), 4.0)
    assert error.value.reason == "n of irfft1d is recorded, but it has to be plain data"
