"""Arrays of a device against NumPy's: the same calls give the same shapes, dtypes and bits."""

from __future__ import annotations

import numpy as np
import pytest

pytest_plugins = "tests.cuda.fixtures"
ndarray = np.ndarray
A = np.arange(24.0).reshape(2, 3, 4) - 7.5
B = np.linspace(-3, 5, 12, dtype=np.float32).reshape(3, 4)
I = np.arange(-6, 6).reshape(3, 4)
U = np.arange(12, dtype=np.uint8).reshape(3, 4) * 21
C = B[:2] + 1j * B[1:]
M = I % 3 == 0
H = B.astype(np.float16)


def same(there, here, exact=True):
    """The same type of array, shape, dtype and bits."""
    there_type = there.dtype.type if there.scalar else ndarray
    assert there_type is type(here), (there, type(here))
    got = there.get()
    assert got.dtype == here.dtype and got.shape == here.shape, (got.dtype, got.shape, here.dtype, here.shape)
    if exact:
        np.testing.assert_array_equal(got, here)
    else:
        np.testing.assert_allclose(
            got,
            here,
            rtol=1e-6 if here.dtype in (np.float32, np.complex64) else 1e-3 if here.dtype == np.float16 else 1e-13,
        )


def close(there, here):
    same(there, here, False)


def both(device, f, *xs, exact=True):
    with np.errstate(all="ignore"):
        try:
            here = f(*xs)
        except Exception as e:
            with pytest.raises(type(e)):
                f(*[device.array(x) if isinstance(x, ndarray) else x for x in xs])
            return
    there = f(*[device.array(x) if isinstance(x, ndarray) else x for x in xs])
    for t, h in zip(there, here) if isinstance(here, (tuple, list)) else [(there, here)]:
        same(t, h, exact)


# Elementwise

ARITHMETIC = [
    lambda x: x + 1,
    lambda x: 2.5 - x,
    lambda x: x * x,
    lambda x: x / 3,
    lambda x: -x,
    lambda x: abs(x),
    lambda x: x**2,
    lambda x: 1 / (x * x + 1),
    lambda x: x // 2,
    lambda x: x % 3,
    lambda x: x > 1,
    lambda x: x == x,
    lambda x: x != 2,
    lambda x: np.maximum(x, 1),
    lambda x: np.minimum(x, x + 1),
    lambda x: np.sqrt(abs(x)),
    lambda x: np.sign(x),
    lambda x: np.where(x > 0, x, -1),
    lambda x: np.clip(x, -1, 2),
    lambda x: np.isnan(x),
    lambda x: np.square(x),
    lambda x: np.floor(x),
    lambda x: np.add(x, np.float64(1)),
    lambda x: np.add(x, np.float32(0.5)),
    lambda x: np.multiply(x, 2, dtype=np.float64),
    lambda x: divmod(x, 2)[1],
    lambda x: x**1,
    lambda x: x.astype(np.int32),
    lambda x: x.astype(np.float16),
    lambda x: x.astype(bool),
    lambda x: np.logical_not(x),
    lambda x: np.rad2deg(x),
]


@pytest.mark.parametrize("x", [A, B, I, U, H, A.T, B[::-1, ::2]], ids=str)
@pytest.mark.parametrize("n", range(len(ARITHMETIC)))
def test_arithmetic_is_numpys(device, n, x):
    if x.dtype.kind in "iu" and n == 27:
        return
    both(device, ARITHMETIC[n], x)


@pytest.mark.parametrize("f", [np.sin, np.exp, np.tanh, np.log1p, np.cbrt, np.arctan, np.expm1, np.cosh], ids=str)
@pytest.mark.parametrize("x", [A / 9, abs(B), I % 4], ids=str)
def test_transcendental_functions_are_close(device, f, x):
    both(device, f, x, exact=False)


def test_two_operands_broadcast_and_promote(device):
    for x, y in [
        (A, B),
        (B, I),
        (I, U),
        (U, 3),
        (B, 2.0),
        (B, np.float64(2)),
        (H, B),
        (A, A[0, 0]),
        (M, 1),
        (A, A[:, :1]),
    ]:
        both(device, np.add, x, y)
        both(device, np.multiply, x, y)
        both(device, np.less, x, y)


def test_complex_numbers(device):
    for f in (
        lambda z: z * z,
        lambda z: z + 1j,
        lambda z: np.conj(z),
        lambda z: z.real,
        lambda z: z.imag,
        lambda z: -z,
    ):
        both(device, f, C, exact=False)  # NumPy's product may be fused
    z, w = device.array(C), C.copy()
    z.real[0] = 5
    w.real[0] = 5
    z.imag = 2
    w.imag = 2
    same(z, w)


def test_python_numbers_are_weak_and_checked(device):
    assert (device.array(B) + 1.0).dtype == np.float32
    with pytest.raises(OverflowError):
        device.array(U) + 300
    assert (device.array(U) < 300).get().all()
    with pytest.raises(ValueError, match="negative integer powers"):
        device.array(I) ** -1


def test_host_operands_on_either_side(device):
    both(device, lambda x: A[0] + x, B)
    x = device.array(B)
    same(B + x, B + B)
    same(np.float64(2) * x, np.float64(2) * B)
    same([1.0, 2.0, 3.0, 4.0] * x, [1.0, 2.0, 3.0, 4.0] * B)


def test_zero_dimensional_results_are_scalars(device):
    x = device.array(A)
    assert x[0, 0, 0].scalar and x.sum().scalar and (x.sum() * 2).scalar and np.sin(x[0, 0, 0]).scalar
    assert not x[0, 0].scalar and not x[0, 0, 0, ...].scalar and not device.zeros(()).scalar
    assert isinstance(x.sum(), np.float64) and isinstance(x, ndarray) and not isinstance(x.sum(), ndarray)
    with pytest.raises(TypeError, match="item assignment"):
        x.sum()[...] = 1


def test_an_entry_is_what_it_was(device):
    x = device.array(A)
    y = x[0, 0, 0]
    x[...] = 0
    assert float(y) == A[0, 0, 0] and y.base is None


def test_out_where_and_casting(device):
    x, y = device.array(A), device.zeros(A.shape)
    assert np.multiply(x, 2, out=y) is y
    same(y, A * 2)
    np.add(x, 1, out=y, where=x > 0)
    same(y, np.add(A, 1, out=A * 2, where=A > 0))
    with pytest.raises(TypeError, match="Cannot cast"):
        np.add(x, 1.5, out=device.zeros(A.shape, int))
    with pytest.raises(ValueError, match="broadcast"):
        np.add(x, 1, out=device.zeros((3, 4)))
    k = device.array(I)
    with pytest.raises(TypeError):
        k += 0.5


# Reductions and products

AXES = [None, 0, 1, -1, (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize(
    "x", [A, A.T, (A * 4).astype(int), A.astype(np.float32), A > 0, A[:, ::2]], ids=lambda x: f"{x.dtype}{x.shape}"
)
def test_reductions(device, x, axis):
    for f in (np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean):
        for keepdims in (False, True):
            both(device, lambda x: f(x, axis=axis, keepdims=keepdims), x, exact=x.dtype.kind != "f")
    both(device, lambda x: x.sum(axis) + np.max(x), x, exact=False)


def test_reductions_with_initial_where_dtype_and_nothing(device):
    both(device, lambda x: np.sum(x, 1, initial=3.0), A, exact=False)
    both(device, lambda x: np.max(x, 1, initial=3.0), A)
    both(device, lambda x: np.sum(x, -1, where=x > 0), A, exact=False)
    both(device, lambda x: np.add.reduce(x, dtype=np.float64), B, exact=False)
    both(device, lambda x: np.sum(x, 0), np.zeros((0, 3)))
    both(device, lambda x: np.prod(x), np.zeros((0, 3)))
    both(device, lambda x: np.all(x, 1), np.zeros((3, 0)))
    with pytest.raises(ValueError, match="no identity"):
        np.max(device.zeros((0, 2)), 0)
    both(device, lambda x: np.sum(x, 0), A[:1, :1])
    both(device, lambda x: np.sum(x, -1), A[..., :1])


@pytest.mark.parametrize(
    "a, b",
    [
        (A, B.T),
        (B, B.T),
        (A[0], A[0].T),
        (A, A.swapaxes(1, 2)),
        (A[0, 0], A[1, 2]),
        (A[0], A[0, 0]),
        (A[0, :, 0], A[0]),
        (I, I.T),
        (A[:, ::2], A[:, ::2].swapaxes(1, 2)),
        (np.zeros((2, 0)), np.zeros((0, 3))),
        (C, C.T),
        (A[::-1, 0], A[0].T),
    ],
    ids=lambda x: f"{x.dtype}{x.shape}",
)
def test_products(device, a, b):
    both(device, lambda a, b: a @ b, a, b, exact=False)
    both(device, np.dot, a, b, exact=False) if a.ndim < 3 else None
    both(device, lambda a: np.tensordot(a, a, 1) if a.shape[-1] == a.shape[0] else a.copy(), a, exact=False)


def test_products_of_vectors(device):
    for f in (np.vdot, np.inner, np.outer, np.vecdot, np.dot):
        both(device, f, A[0, 0], A[1, 1], exact=False)
    both(device, np.vecdot, A, B.astype(float), exact=False)
    both(device, np.vdot, C[0], C[1], exact=False)
    both(device, lambda a: np.tensordot(a, a, ((0, 2), (0, 2))), A, exact=False)
    both(device, lambda a, b: np.multiply.outer(a, b), A[0], B)
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        device.array(A) @ device.array(B)


# CuPy


def test_cupy_arrays_in_and_out_share_memory(device):
    x = device.array(A)
    theirs = x[:, 1].library()
    assert type(theirs).__module__ == "cupy" and theirs.strides == A[:, 1].strides
    y = device.adopt(theirs)
    y[...] = 3
    assert (x.get()[:, 1] == 3).all()
    z = device.adopt(theirs[::-1])
    z[0] = 4
    assert x.get()[1, 1, 0] == 4
    from autograd_frontend import devices

    assert devices.session_of(theirs) is device and devices.session_of(x) is device
    assert devices.session_of(A) is devices.session_of(1.0) is devices.session_of([1]) is None


def test_joining_and_repeating(device):
    for f in (
        lambda x: np.concatenate([x, x * 2], 1),
        lambda x: np.stack([x, x], -1),
        lambda x: np.vstack([x[0], x[1]]),
        lambda x: np.hstack([x, x]),
        lambda x: np.roll(x, 2, 1),
        lambda x: np.roll(x, (1, 2), (0, 2)),
        lambda x: np.roll(x, -3),
        lambda x: np.tile(x, (2, 1, 3)),
        lambda x: np.append(x, 1.0),
        lambda x: np.concatenate([x, x], None),
        lambda x: np.column_stack([x[0, 0], x[1, 0]]),
        lambda x: np.dstack([x[0], x[1]]),
        lambda x: np.kron(x[0], x[1]),
        lambda x: np.round(x / 3, 1),
        lambda x: np.round(x),
        lambda x: np.full_like(x, 2),
        lambda x: np.ones_like(x, dtype=int),
        lambda x: np.broadcast_arrays(x, x[0])[1],
        lambda x: np.unstack(x, axis=1)[2],
    ):
        both(device, f, A)
