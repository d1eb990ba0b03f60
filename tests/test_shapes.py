"""Views share memory as NumPy's do, for values and cotangents; joining and taking apart."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from checking import faithful

from autograd_frontend import RecordError, record

X = np.cos(np.arange(24.0)).reshape(2, 3, 4)
M = np.sin(np.arange(12.0)).reshape(3, 4)
V = np.array([0.5, -1.0, 2.0, 3.0, -0.5, 1.5])

VIEWS = {
    "reshape": lambda x: np.reshape(x, (6, 4)),
    "reshape_keywords": lambda x: np.reshape(a=x, shape=(6, -1)) if False else np.reshape(x, shape=[6, -1]),
    "reshape_method": lambda x: x.reshape(4, -1),
    "reshape_tuple": lambda x: x.reshape((4, 6)),
    "reshape_of_a_view": lambda x: x[:, :, ::2].reshape(2, 3, 1, 2),
    "reshape_fortran": lambda x: x.T.reshape(4, 6, order="F"),
    "ravel": lambda x: np.ravel(x),
    "ravel_method": lambda x: x.ravel(),
    "ravel_of_transposed": lambda x: x.T.ravel(order="K"),
    "transpose": lambda x: np.transpose(x),
    "transpose_axes": lambda x: np.transpose(x, (1, 2, 0)),
    "transpose_keyword": lambda x: np.transpose(axes=[1, 0, 2], a=x),
    "transpose_method": lambda x: x.transpose(1, 0, 2),
    "permute_dims": lambda x: np.permute_dims(x, (2, 0, 1)),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "swapaxes": lambda x: np.swapaxes(x, 0, 2),
    "swapaxes_method": lambda x: x.swapaxes(-1, 1),
    "moveaxis": lambda x: np.moveaxis(x, [0, 1], [-1, 0]),
    "rollaxis": lambda x: np.rollaxis(x, 2),
    "expand_dims": lambda x: np.expand_dims(x, (0, -1)),
    "squeeze": lambda x: np.squeeze(x[:, :1]),
    "squeeze_method": lambda x: x[:1].squeeze(0),
    "atleast_1d": lambda x: np.atleast_1d(x[0, 0]),
    "atleast_2d": lambda x: np.atleast_2d(x[0, 0]),
    "atleast_3d": lambda x: np.atleast_3d(x[0]),
    "flip": lambda x: np.flip(x),
    "flip_axis": lambda x: np.flip(x, axis=(0, 2)),
    "fliplr": lambda x: np.fliplr(x),
    "flipud": lambda x: np.flipud(x),
    "rot90": lambda x: np.rot90(x, 3, (0, 2)),
    "einsum": lambda x: np.einsum("iij->ij", x[:, :2]),
    "real": lambda x: x.real[1:],
    "view": lambda x: x.view(),
    "split": lambda x: np.split(x, 2)[1],
    "split_at": lambda x: np.split(x, [1, 3], axis=2)[1],
    "array_split": lambda x: np.array_split(x, 3, axis=-1)[0],
    "hsplit": lambda x: np.hsplit(x, 3)[2],
    "vsplit": lambda x: np.vsplit(x, [1])[0],
    "dsplit": lambda x: np.dsplit(x, 2)[1],
    "unstack": lambda x: np.unstack(x, axis=1)[2],
    "sliced": lambda x: x[1:, ::-2, 1:3],
    "chain": lambda x: x.T[1:3].swapaxes(0, 1)[::-1].reshape(3, 2, 2)[1],
    "iteration": lambda x: [row for row in x][1],
    "asarray": lambda x: np.asarray(x)[0],
}
COPIES = {
    "flatten": lambda x: x.flatten(),
    "flatten_fortran": lambda x: x.flatten(order="F"),
    "flatten_memory": lambda x: x.transpose(2, 0, 1).flatten("K"),
    "ravel_of_view": lambda x: x.T.ravel(),
    "ravel_any": lambda x: x.T.ravel("A"),
    "reshape_that_copies": lambda x: x.T.reshape(6, 4),
    "reshape_any": lambda x: x.transpose(1, 0, 2).reshape((12, 2), order="A"),
    "reshape_copy": lambda x: np.reshape(x, (6, 4), copy=True),
    "concatenate": lambda x: np.concatenate((x, x[:1] * 2.0)),
    "array": lambda x: np.array(x),
    "fancy": lambda x: x[:, [0, 0, 1]],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_writes_through_a_view_reach_the_array(view):
    def f(x):
        base = np.sin(x)
        v = view(base)
        before = v * v
        v[0] = v[0] * 2.0 + base[0, 0, 0]
        v += 1.0
        v *= x[1, 1, 1]
        return base * base, v, before

    faithful(f, X)


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_writes_to_the_array_show_in_a_view(view):
    def f(x):
        v = view(x)
        before = np.exp(v)
        x *= x
        x[1] = x[0] + x[1, 0, 0]
        return v * v, before

    faithful(f, X)


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_views_of_a_plain_array_that_becomes_recorded(view):
    def f(x):
        base = np.zeros((2, 3, 4))
        early = view(base)
        base[...] = 0.5
        base[1] = x[0]
        late = view(base)
        early[...] = early * 2.0
        early[0] = x[1, 0, 0]
        return base, early * late

    faithful(f, X)


@pytest.mark.parametrize("copy", COPIES.values(), ids=list(COPIES))
def test_copies_are_their_own(copy):
    def f(x):
        base = np.sin(x)
        c = copy(base)
        base[0] = 2.0
        c *= 3.0
        c[0] = c[-1] + base[1, 1, 1]
        return base * base, c * c

    faithful(f, X)


def test_a_diagonal_is_a_view_that_is_read():
    def f(x):
        d = np.diagonal(x, 1, 0, 2)
        e = x[0].diagonal()
        k = np.diag(x[1], 1)
        before = d * d
        x[:] = x * x
        return d * 2.0, e, k * k, before

    faithful(f, X)
    with pytest.raises(ValueError, match="read-only"):
        record(lambda x: np.diagonal(x).__setitem__(0, x[0, 0]))(M)


def test_fill_diagonal():
    def f(x, s):
        y = x * 2.0
        np.fill_diagonal(y, s)
        z = np.zeros((3, 3))
        np.fill_diagonal(z, x[0, :3])
        return y * y, z

    faithful(f, M, 0.3)


def test_a_list_of_views_survives_its_shape_argument():
    def f(x):
        shape = [4, 6]
        v = x.reshape(shape)
        shape[0] = 24
        v *= 2.0
        return x * v[0, 0]

    faithful(f, X)


def test_broadcast_results_are_read():
    def f(x, s):
        b = np.broadcast_to(x[:3], (2, 3))
        a, c = np.broadcast_arrays(x[:, None], x[:2])
        return b * b, b[0] * b[:, 1:].T[0, 0], b.T.reshape(6) * s, (a * c).T, np.broadcast_to(s, (2,)) * x[:2]

    faithful(f, V, 0.7)


def test_a_write_below_a_broadcast_view_is_refused():
    def kept(x):
        b = np.broadcast_to(x, (2, 6))
        row = b[0]
        x[0] = 1.0
        return row

    def gone(x):
        y = np.broadcast_to(x, (2, 6)) * np.broadcast_to(x, (3, 2, 6))[0]
        x[0] = 1.0
        return y * x

    with pytest.raises(RecordError, match="broadcast view"):
        record(kept)(V)
    faithful(gone, V)


def test_a_broadcast_argument_is_saved_from_later_writes():
    def f(x):
        b = np.broadcast_to(x, (2, 6))
        return b * b + b[0] * np.exp(b[1:, :]) + b.T[:, 0] * b[:, ::2][1, 0]

    x = V.copy()
    want = record(f)(x).backward()
    result = record(f)(x)
    x[:] = 9.0
    assert oracle.same_bits(result.backward(), want)


def test_a_broadcast_view_of_a_plain_array_that_becomes_recorded():
    def f(x):
        a = np.zeros(6)
        b = np.broadcast_to(a, (2, 6))
        a[:] = x
        first = b * b
        a[1] = x[0] * x[0]
        return first, b * 3.0

    faithful(f, V)


def test_a_view_of_a_number():
    def f(s):
        return np.reshape(s, (1, 1)) * 2.0, np.expand_dims(s, 0), np.ravel(s), np.transpose(s), np.tile(s, 2)

    faithful(f, 0.7)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.reshape(x, (5, 5)),
        lambda x: np.transpose(x, (0, 5)),
        lambda x: np.concatenate([x, x[0]]),
        lambda x: np.stack([x, x[:1]]),
        lambda x: np.split(x, 5),
        lambda x: np.expand_dims(x, 9),
        lambda x: np.squeeze(x, 0),
        lambda x: np.moveaxis(x, 0, 9),
        lambda x: np.take(x, 99),
        lambda x: np.broadcast_to(x, (7, 7)),
        lambda x: np.pad(x, -1),
        lambda x: np.flip(x, 4),
        lambda x: np.concatenate(3.0 * x[0, 0]),
        lambda x: np.hstack([x, x[:2]]),
        lambda x: np.block([[x], x]),
        lambda x: x.reshape(2.5),
    ],
)
def test_a_wrong_call_raises_what_numpy_raises(call):
    with pytest.raises(Exception) as plain:
        call(M)
    with pytest.raises(plain.type) as recorded:
        record(call)(M)
    assert str(recorded.value) == str(plain.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.pad(x, 1, mode="mean"),
        lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"),
        lambda x: np.pad(x, 1, constant_values=x[0]),
        lambda x: np.resize(x, (3, 3)),
        lambda x: x.view(np.int64),
        lambda x: x.resize(3),
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
    ],
)
def test_what_has_no_rule_is_refused(call):
    with pytest.raises(RecordError, match="cannot be recorded|has to be plain|no derivative rule"):
        record(call)(V)


def test_empty_arrays():
    def f(x):
        e = x[:0]
        return (
            np.concatenate([e, x]),
            e.reshape(3, 0),
            np.tile(e, 2),
            np.repeat(e, 2),
            np.stack([e, e]),
            np.roll(e, 1),
            np.pad(e, 1) * 1.0,
            np.split(e, 1),
            np.broadcast_to(e[None], (2, 0)),
        )

    faithful(f, V)
