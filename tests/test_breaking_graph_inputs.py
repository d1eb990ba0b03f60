"""Random numbers, dataclasses and layouts in graphs: what is the same at every run, and what is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from autograd_frontend import RecordError, record

from .test_breaking_graph import M, X, Y, agrees

NOISE = np.random.default_rng(0)


@pytest.mark.parametrize("f", [
    lambda x: x * np.random.normal(size=3), lambda x: x * NOISE.random(3),
    lambda x: x * np.random.default_rng().random(3),
])  # fmt: skip
def test_draws_that_differ_at_every_run_are_refused(f):
    with pytest.raises(RecordError, match="draws numbers"):
        record(f).graph(X)


def seeded(x):
    np.random.seed(3)
    return x * np.random.normal(size=3)


@pytest.mark.parametrize("f", [
    seeded, lambda x: x * np.random.default_rng(3).random(3), lambda x: x * np.random.RandomState(3).normal(size=3),
])  # fmt: skip
def test_draws_that_the_function_seeds_are_constants(f):
    agrees(f, (X,), (X,), (Y,))


@dataclass
class Model:
    w: object
    b: float = 2.0
    n: int = 3

    def __post_init__(self):
        self.shift = 1.0


def test_dataclasses_are_arguments_with_what_else_they_hold():
    graph = record(lambda m, x: m.w * x * m.b * m.n + m.shift).graph(Model(X), X)
    other = Model(Y, 4.0)
    other.shift = 7.0
    np.testing.assert_array_equal(graph.run(other, X), Y * X * 4.0 * 3 + 7.0)
    _, got = graph.gradient().run(other, X, np.ones(3))
    np.testing.assert_allclose(got.m.w, X * 12.0)
    np.testing.assert_allclose([got.m.b, got.x[1]], [(Y * X).sum() * 3, 24.0])
    with pytest.raises(ValueError, match="built for 3"):
        graph.run(Model(X, n=4), X)


def test_a_fixed_dataclass_is_as_it_was():
    m = Model(None, n=2)
    graph = record(lambda x, m: x * m.n).graph(X, m)
    m.n = 5
    with pytest.raises(ValueError, match="built for 2"):
        graph.run(X, m)


# Layouts: whether a reshaped array is a view depends on how an input lies in memory


def ravelled(x):
    z = x * 2
    v = z.ravel()
    v[1] = 5.0
    return z * z


def turned(x):
    z = x + 1
    w = z.T.reshape(9)
    w[1] = 7.0
    return z * w[1]


def read_before(x):
    z = x * 2
    v = z.reshape(9) + 1
    z[0] = 5.0
    return v.reshape(3, 3) * z


@pytest.mark.parametrize("f", [ravelled, turned, read_before])
def test_writes_into_what_may_be_a_view_have_no_gradient(f):
    graph = record(f).graph(M)
    for x in (M, np.asfortranarray(M)):
        np.testing.assert_array_equal(graph.run(x), f(x))
        np.testing.assert_array_equal(graph.vjp(x)[1](M), record(f)(x).pullback(M))
    with pytest.raises(RecordError, match="a view of another one or not"):
        graph.gradient()


def zeros_like(x):
    z = np.zeros_like(x)
    v = z.reshape(-1)
    v[1] = x[0, 0]
    return z * x


def empty_like(x):
    z = np.empty_like(x)
    z[...] = x
    v = z.ravel()
    v[1] = x[0, 0]
    return z * x


def as_it_lies(x):
    z = np.zeros_like(x)
    z[...] = x
    return z.ravel("K") * np.arange(9.0)


@pytest.mark.parametrize("f", [zeros_like, empty_like, as_it_lies])
def test_what_lies_in_memory_as_an_input_does_is_refused(f):
    with pytest.raises(RecordError, match="in memory"):
        record(f).graph(M)


def sure(x):
    z, y = np.zeros_like(x), np.zeros((3, 3))
    z[0][:] = x[1]
    z[1:, ::2][...] = x[1:, :2]
    z.T[2, 0] = x[0, 0]
    y[...] = x * x
    y.reshape(9)[2:] *= x[0, 0]
    return z * x, y * x


def test_views_that_are_sure_are_written():
    agrees(sure, (M,), (M,), (np.asfortranarray(M),))
