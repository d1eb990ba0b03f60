"""Arrays joined and taken apart, entries moved: operands in lists, of several types, repeated, recorded or plain."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from checking import faithful

from autograd_frontend import record

M = np.sin(np.arange(12.0)).reshape(3, 4)
V = np.array([0.5, -1.0, 2.0, 3.0, -0.5, 1.5])


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
    plain = (
        np.split(V, 3),
        np.array_split(V, 4),
        np.hsplit(V, 2),
        np.unstack(M),
        np.meshgrid(V, V),
        np.split(V, [2, 9, 4]),
    )

    def f(x, m):
        return (
            np.split(x, 3),
            np.array_split(x, 4),
            np.hsplit(x, 2),
            np.unstack(m),
            np.meshgrid(x, x),
            np.split(x, [2, 9, 4]),
        )

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
