"""What a newcomer ran into with graphs: arguments by position or keyword, cotangents, dataclasses, messages."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from autograd_frontend import RecordError, primitive, record, spec

X, W = np.array([1.0, 2.0]), np.array([3.0, 4.0])


def product(x, w):
    return np.sum(x * w)


def built_with_keywords():
    return record(product).graph(x=spec((2,), float), w=spec((2,), float))


def test_a_graph_built_with_keywords():
    g = built_with_keywords()
    assert g.run(x=X, w=W) == g.run(X, w=W) == g.run(X, W) == g.function()(x=X, w=W) == 11.0
    for found in (g.vjp(x=X, w=W)[1](1.0), g.vjp(X, W)[1](1.0), g.gradient().run(1.0, x=X, w=W)[1]):
        assert np.array_equal(found.x, W) and np.array_equal(found.w, X)
    assert g.jvp((X, W), (W, X)) == (11.0, 30.0)
    space = {}
    exec(g.to_python(gradient=True), space)
    value, found = next(f for k, f in space.items() if k.startswith("gradient_of"))(np.float64(1.0), x=X, w=W)
    assert value == 11.0 and np.array_equal(found.x, W)


def test_a_graph_built_by_position_takes_keywords():
    g = record(product).graph(X, W)
    assert g.run(X, w=W) == g.run(w=W, x=X) == 11.0 and g.vjp(x=X, w=W)[1](2.0).x.tolist() == [6.0, 8.0]
    for call, text in (
        (lambda: g.run(), "the graph of product takes x, w; it was called without w, x"),
        (lambda: g.run(X, W, X), "the graph of product takes x, w; it was given 3 positional arguments"),
        (lambda: g.run(X, W, z=1), "the graph of product takes x, w; it was called with z"),
        (lambda: g.run(X, W, x=X), "the graph of product takes x, w; it was given 2 by position, and x by keyword"),
        (lambda: g.run(X, 3), "argument 1 is an int, expected a float64 array of shape (2,)"),
        (lambda: built_with_keywords().jvp((X,), (X,)), "the graph of product takes x, w; it was called without w"),
    ):
        with pytest.raises(TypeError) as error:
            call()
        assert str(error.value) == text


def test_a_cotangent_is_any_number():
    g = record(product).graph(X, W).gradient()
    for c in (2.0, 2, np.float64(2.0)):
        value, found = g.run(X, W, c)
        assert value == 11.0 and type(value) is np.float64 and np.array_equal(found.x, 2 * W)


@dataclasses.dataclass
class Model:
    a: float
    b: np.ndarray


def test_dataclasses_among_the_arguments():
    p = Model(2.0, X)
    value, found = record(lambda p: p.a * np.sum(p.b**2)).graph(p).gradient().run(p, 1.0)
    assert value == 10.0 and found.a == 5.0 and np.array_equal(found.b, 4 * X)


def test_second_derivatives_of_a_graph():
    g = record(lambda x: np.sum(np.exp(x) * x)).graph(X)
    _, first = g.gradient().run(X, 1.0)
    np.testing.assert_allclose(first, np.exp(X) * (X + 1), rtol=1e-14)
    _, (second, _) = g.gradient().gradient().run(X, 1.0, (0.0, np.ones(2)))
    np.testing.assert_allclose(second, np.exp(X) * (X + 2), rtol=1e-14)


def test_messages_name_what_was_written():
    both = lambda x: np.multiply(x, 2.0, out=np.zeros(2), where=np.array([True, False]))
    with pytest.raises(RecordError, match="np.multiply cannot be recorded with out= and where="):
        record(both)(X)

    def scaled(x, by=1.0):
        return x * by

    own = primitive(scaled, pullback=lambda g, y, x: g)
    with pytest.raises(RecordError, match=r"its pullback takes \(g, y, x\): got an unexpected keyword argument 'by'"):
        record(lambda x: own(x, by=2.0))(X)


def test_a_graph_of_a_gaussian_process():
    linalg = pytest.importorskip("scipy.linalg")

    def likelihood(theta):
        k = np.exp(theta[0]) * np.array([[2.0, 0.3], [0.3, 1.0]]) + np.exp(theta[1]) * np.eye(2)
        low, c = linalg.cholesky(k, lower=True), linalg.cho_factor(k)
        return X @ linalg.cho_solve((low, True), X) + 2 * np.sum(np.log(np.diag(low))) + W @ linalg.cho_solve(c, W)

    theta = np.array([0.1, -0.2])
    g = record(likelihood).graph(theta)
    assert g.run(theta) == likelihood(theta)
    np.testing.assert_allclose(g.vjp(theta)[1](1.0), record(likelihood)(theta).backward(), rtol=1e-13)
