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


def test_lists_are_arrays():
    def f(x, s):
        return (
            np.reshape([s, s * s, x[0], 1.0], (2, 2)),
            np.array_split([s, x[1], s], 2)[0],
            np.flip([s, 2.0]),
            np.diag([s, s]),
            np.tile([x[0], s], (2, 1)),
            np.moveaxis([[s, x[2]]], 0, 1),
            np.roll([s, x[2], 1.0], 1),
            np.repeat([s, x[3]], [2, 1]),
            np.atleast_2d([s, s]),
        )

    faithful(f, V, 0.7)


def test_joining():
    def f(x, m, s):
        return (
            np.concatenate([x, x, x[:2]]),
            np.concatenate([m, m.T[:3, :3]], axis=1),
            np.concatenate((m, x), axis=None),
            np.concatenate([[s, 1.0], x, [x[0]]]),
            np.concatenate(m),
            np.concatenate([m[0], np.arange(3), np.float32([1.5])]),
            np.stack([x, x * s], axis=-1),
            np.stack(m, axis=1),
            np.vstack([x[:4], m, [s, 1.0, s, 2.0]]),
            np.vstack([s, 2.0]),
            np.hstack([x, s, [1.0]]),
            np.hstack([m, m]),
            np.dstack([x, x]),
            np.dstack([m, m]),
            np.column_stack([x[:3], m, x[3:]]),
            np.append(x, s),
            np.append(m, m, axis=0),
            np.append(m, [[s, s, s, s]], 0),
        )

    faithful(f, V, M, 0.7)


def test_block():
    def f(x, m, s):
        return (
            np.block([[m, m[:, :1]], [x[:5]], [np.zeros((1, 5))]]),
            np.block([x, s, 1.0]),
            np.block(m),
            np.block([[[m]], [[m * s]]]),
        )

    faithful(f, V, M, 0.7)


def test_meshgrid():
    def f(x, s):
        a, b = np.meshgrid(x[:3], x[3:] * s)
        c, d, e = np.meshgrid(x[:2], [s, 1.0], np.arange(2.0), indexing="ij")
        g, h = np.meshgrid(x[:3], x[3:], sparse=True)
        (k,) = np.meshgrid(x)
        a[0] = s
        return a * b, c * d * e, g * h, k

    faithful(f, V, 0.7)


def test_parts_and_types():
    plain = np.split(V, 3), np.array_split(V, 4), np.hsplit(V, 2), np.unstack(M), np.meshgrid(V, V), np.split(V, [2, 9, 4])

    def f(x, m):
        return (np.split(x, 3), np.array_split(x, 4), np.hsplit(x, 2), np.unstack(m), np.meshgrid(x, x),
                np.split(x, [2, 9, 4]))  # fmt: skip

    assert oracle.same_bits(record(f)(V, M).value, plain)
    faithful(f, V, M)


def test_moving_entries():
    def f(x, m, s):
        return (
            np.take(m, [0, 0, 5]) * x[:3],
            m.take([[1, -1]], axis=1) * s,
            np.take(x, 7, mode="wrap") * s,
            np.repeat(m, 2) * s,
            m.repeat([0, 1, 2], axis=0) * s,
            np.tile(m, (2, 1)) * s,
            np.roll(m, (1, -1), (0, 1)) * m,
            np.delete(x, [0, 2]) * s,
            np.delete(m, 1, axis=1) * s,
            np.insert(x, [1, 4], x[:2] * s) ** 2,
            np.insert(m, 1, x[:4], axis=0) ** 2,
            np.insert(m, 1, s, axis=1) ** 2,
            np.compress([True, False, True], m, axis=0) * s,
            m.compress([False, True, True], axis=0) * s,
            np.extract(m > 0.3, m) * s,
            np.pad(m, 1) * s,
            np.pad(m, ((1, 0), (0, 2)), mode="edge") ** 2,
            np.pad(x, 3, mode="wrap") ** 2,
            np.pad(x, (2, 1), "reflect") ** 2,
            np.tril(m) + np.triu(m, 2) * s,
            np.diag(x, -1) @ np.diag(x, 1),
            np.diagflat(m[:2, :2]) * s,
        )

    faithful(f, V, M, 0.7)


def test_results_written_into_buffers():
    def f(x, m):
        out = np.empty((2, 6))
        np.stack([x, x * x], out=out)
        first = out * 2.0
        np.concatenate([x, x[:6]], out=out.reshape(-1))
        np.take(m, [0, 1, 2], out=out[0, :3])
        return first, out * out

    faithful(f, V, M)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_operands_of_several_types(dtype):
    def f(a, b, i):
        return np.concatenate([a, b, i]) * 2.0

    g = record(f)(V[:2].astype(dtype), V, np.arange(3)).backward()
    assert g.a.dtype == dtype and g.b.dtype == np.float64
    assert g.a.tolist() == [2.0] * 2 and g.b.tolist() == [2.0] * 6
    h = record(lambda a, b: np.hstack([a, b]) * np.stack([b, a]).ravel())(V[:2].astype(dtype), V[:2]).backward()
    assert h.a.dtype == dtype and np.allclose(np.float64(h.a), 2 * V[:2], rtol=1e-3)


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
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2),
        lambda x: np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)),
    ],
)
def test_what_has_no_rule_is_refused(call):
    with pytest.raises(RecordError, match="cannot be recorded|has to be plain|no derivative rule"):
        record(call)(V)


def test_empty_arrays():
    def f(x):
        e = x[:0]
        return (np.concatenate([e, x]), e.reshape(3, 0), np.tile(e, 2), np.repeat(e, 2), np.stack([e, e]), np.roll(e, 1),
                np.pad(e, 1) * 1.0, np.split(e, 1), np.broadcast_to(e[None], (2, 0)))  # fmt: skip

    faithful(f, V)
