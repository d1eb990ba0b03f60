"""Views of arrays of a device, and writes through them, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.test_device_array import A, B, U, close, same

pytest_plugins = "tests.cuda.fixtures"


VIEWS = [
    lambda x: x[1],
    lambda x: x[:, 1],
    lambda x: x[..., ::-1],
    lambda x: x[None, 0],
    lambda x: x[:, None, ::2],
    lambda x: x.T,
    lambda x: x.transpose(1, 0, 2),
    lambda x: x.swapaxes(0, 2),
    lambda x: x.reshape(6, 4),
    lambda x: x.reshape(-1),
    lambda x: x.T.reshape(4, 6),
    lambda x: x.ravel(),
    lambda x: x[:, 1:2].squeeze(),
    lambda x: x[0].diagonal(),
    lambda x: np.broadcast_to(x[0], (5, 3, 4)),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.expand_dims(x, 1),
    lambda x: np.flip(x, 1),
    lambda x: np.rot90(x[0]),
    lambda x: np.atleast_3d(x[0]),
    lambda x: x[0, 0, 0, ...],
    lambda x: x[1, ..., -1],
    lambda x: x[:0],
    lambda x: np.split(x, 2, -1)[1],
    lambda x: x.view(),
    lambda x: x[-1:][::-1],
    lambda x: np.atleast_1d(x),
    lambda x: x[()],
    lambda x: x[...],
    lambda x: np.linalg.matrix_transpose(x),
    lambda x: x.mT,
]


@pytest.mark.parametrize("n", range(len(VIEWS)))
def test_views_are_views(device, n):
    here, there = A.copy(), device.array(A)
    v, w = VIEWS[n](here), VIEWS[n](there)
    same(w, v)
    assert w.strides == v.strides and (w.base is None) == (v.base is None)
    assert w.flags.c_contiguous == v.flags.c_contiguous and w.flags.f_contiguous == v.flags.f_contiguous
    assert w.flags.writeable == v.flags.writeable
    assert np.shares_memory(w, there) == np.shares_memory(v, here)
    if v.flags.writeable:
        v[...] = 5
        w[...] = 5
        same(there, here)
        v += 1
        w += 1
        same(there, here)


def test_order_of_results_and_copies(device):
    for f in (
        lambda x: x + 1,
        lambda x: x.copy(),
        lambda x: np.copy(x),
        lambda x: x.copy("F"),
        lambda x: x.astype(int),
        lambda x: np.zeros_like(x),
        lambda x: x.flatten(),
        lambda x: x.flatten("F"),
        lambda x: np.empty_like(x),
        lambda x: x * x[..., :1],
    ):
        for x in (A, A.T, A.transpose(1, 0, 2), A[:, ::2].T):
            here, there = f(x), f(device.array(x))
            assert there.strides == here.strides or here.size < 2, (there.strides, here.strides)
            assert there.dtype == here.dtype


def test_order_of_results_of_several_operands(device):
    layouts = [
        A,
        A.T.copy().T,
        np.ascontiguousarray(A.transpose(1, 0, 2)).transpose(1, 0, 2),
        A[:, :1],
        A[..., :1].T.copy().T,
    ]
    layouts += [
        np.ascontiguousarray(A[0].T).T,
        A[::-1, :, ::-1],
        np.ascontiguousarray(A.transpose(0, 2, 1)).transpose(0, 2, 1),
    ]
    for x in layouts:
        for y in layouts:
            here, there = x + y, device.array(x) + device.array(y)
            seen = [k for k in range(here.ndim) if here.shape[k] > 1]
            assert all(there.strides[k] == here.strides[k] for k in seen), (
                x.strides,
                y.strides,
                there.strides,
                here.strides,
            )


def test_read_only(device):
    x = device.array(A)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    y = x[0]
    assert not y.flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        y.flags.writeable = True
    x.flags.writeable = True
    x[0] = 1
    with pytest.raises(ValueError):
        np.broadcast_to(x, (2, 2, 3, 4))[...] = 1


def test_errors_of_indices_and_shapes_are_numpys(device):
    x = device.array(A)
    for f in (
        lambda x: x[5],
        lambda x: x[0, 0, 0, 0],
        lambda x: x[0, :, 9],
        lambda x: x.reshape(5, 5),
        lambda x: x.transpose(0, 0, 1),
        lambda x: x + np.zeros((2, 2)),
        lambda x: x.squeeze(0),
        lambda x: np.sum(x, 5),
        lambda x: np.concatenate([x, x[0]]),
        lambda x: x.__setitem__(0, np.zeros(7)),
        lambda x: bool(x),
        lambda x: float(x),
        lambda x: iter(x[0, 0, 0, ...]),
        lambda x: len(x[0, 0, 0, ...]),
    ):
        with pytest.raises(Exception) as here:
            f(A.copy())
        with pytest.raises(here.type if here.type is not np.exceptions.AxisError else (ValueError, IndexError)):
            f(x)


# Writes


def test_writes_through_overlapping_views(device):
    for f in (
        lambda x: x.__setitem__(slice(1, None), x[:-1]),
        lambda x: x.__setitem__(slice(None), x[::-1]),
        lambda x: np.add(x[1:], x[:-1], out=x[:-1]),
        lambda x: x.__iadd__(x[::-1]),
        lambda x: x.__imul__(x),
        lambda x: x.__setitem__((slice(None), 0), x[0, :5]),
        lambda x: x.__isub__(x.mean(-1, keepdims=True)),
        lambda x: x.T.__iadd__(x) if x.shape[0] == x.shape[1] else x[:5, :5].T.__iadd__(x[:5, :5]),
    ):
        x = np.arange(25.0).reshape(5, 5) + 1
        y = device.array(x)
        f(x), f(y)
        close(y, x)


def test_values_that_wait_keep_what_they_were_made_from(device):
    x = device.array(A)
    y, z, w = x * 2, x[0] + 1, x.copy()
    x[0] = 9
    x += 1
    same(y, A * 2), same(z, A[0] + 1), same(w, A)


def test_writes_into_what_waits_make_no_memory(device):
    x = device.array(A)
    device.driver.reset()
    y = x * 2
    v = y[0]
    y += x
    y[...] = y * 2
    assert device.driver.launches == 0
    same(v, (A * 6)[0])
    assert device.driver.launches == 1


def test_reading_and_clearing_is_one_kernel(device):
    x = device.array(A)
    device.driver.reset()
    y, z, w = x[0, 0, 0], x[1] * 2, x[0, 1:] + 1
    x[0, 0, 0] = 0
    x[1] = 0
    assert device.driver.launches == 2
    x[0, :2] = 0
    same(y, A[0, 0, 0]), same(z, A[1] * 2), same(w, A[0, 1:] + 1)
    assert device.driver.launches == 4


def test_setting_items(device):
    x, y = A.copy(), device.array(A)
    for f in (
        lambda x: x.__setitem__(0, 5),
        lambda x: x.__setitem__((0, 1, 2), 2.5),
        lambda x: x.__setitem__((..., 0), B[:, 0]),
        lambda x: x.__setitem__(slice(None), B),
        lambda x: x.__setitem__((slice(None), 1), [1, 2, 3, 4]),
        lambda x: x.fill(3),
        lambda x: x.__setitem__(x > 0, -1),
        lambda x: x.__setitem__(0, B[None, None]),
    ):
        f(x), f(y)
        same(y, x)
    k = device.array(U)
    with pytest.raises(OverflowError):
        k[0] = 300
    k[0] = 1.75
    assert k.get()[0, 0] == 1
    with pytest.raises(ValueError, match="could not broadcast input array from shape"):
        y[0] = np.zeros(3)
