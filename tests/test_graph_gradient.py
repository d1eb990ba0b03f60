"""Derivatives of graphs: by replaying, and as graphs of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from autograd_frontend import RecordError, grad, jacrev, jvp, record, spec, vjp

from . import blocks, oracle
from .programs import Program, programs
from .test_generated import moving, tries
from .test_graph import watched

X = np.array([0.3, 0.5, 0.7])
seeds = st.integers(0, 2**16)


def same(a, b):
    return oracle.same_bits(tuple(oracle.flatten(a)), tuple(oracle.flatten(b)))


def close(a, b):
    return np.allclose(oracle.entries(a), oracle.entries(b), rtol=1e-9, atol=1e-12, equal_nan=True)


@tries(60)
@given(programs(), seeds)
def test_derivatives_of_a_graph_are_those_of_the_function(program: Program, seed: int) -> None:
    function = program.function()
    try:
        graph = record(function).graph(*program.fresh())
        expected = record(function)(*program.fresh())
    except RecordError:
        reject()
    weights = oracle.random_like(expected.value, seed)
    gradient = expected.pullback(weights)
    with np.errstate(all="ignore"):
        value, pull = graph.vjp(*program.fresh())
        assert oracle.same_bits(value, expected.value) and same(pull(weights), gradient)
        direction = moving(oracle.random_like(program.args, seed + 1))
        try:
            pushed = jvp(function, program.fresh(), direction)
        except RecordError:
            assume(program.mutates)
            return
        assert same(graph.jvp(program.fresh(), direction), pushed)


@tries(60)
@given(programs(), seeds)
def test_the_graph_of_the_gradient_gives_the_gradient(program: Program, seed: int) -> None:
    function = program.function()
    try:
        gradient = record(function).graph(*program.fresh()).gradient()
        expected = record(function)(*program.fresh())
    except RecordError as error:
        assert error.remedy
        reject()
    weights = oracle.random_like(expected.value, seed)
    with np.errstate(all="ignore"):
        value, got = gradient.run(*program.fresh(), weights)
        want = expected.pullback(weights)
        assert oracle.same_bits(value, expected.value) and close(got, want), (got, want)
        for ours, theirs in zip(oracle.flatten(got), oracle.flatten(want)):
            assert type(ours) is type(theirs)
        again, got = gradient.run(*program.fresh(), weights)
        assert close(got, want)


CASES = [c for c in blocks.cases() if not c.op.parts]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_gradient_of_every_operation_is_a_graph_or_refused(c, monkeypatch):
    with np.errstate(all="ignore"):
        try:
            graph = record(c.function).graph(*c.inputs()).gradient()
        except RecordError as error:
            assert error.reason and error.remedy
            pytest.skip(error.reason)
        weights = oracle.random_like(c.plain(), 1)
        want = record(c.function)(*c.inputs()).pullback(weights)
        got = watched(graph, monkeypatch)(*c.inputs(), weights)[1]
        assert close(got, want), (got, want, print(graph))


def test_a_derivative_taken_inside_is_part_of_the_graph():
    def f(x, w):
        y = np.tanh(w @ x)
        y[0] *= x[1]
        return (y * np.where(y > 0.1, y, 0.5)).sum()

    w = np.arange(9.0).reshape(3, 3) / 10
    graph = record(lambda x, w: grad(f)(x, w)).graph(spec(3), spec((3, 3)))
    np.testing.assert_array_equal(graph.run(X, w), grad(f)(X, w))
    rows = record(lambda x: jacrev(lambda t: np.sin(t) * t[::-1])(x)).graph(X)
    np.testing.assert_allclose(rows.run(X), jacrev(lambda t: np.sin(t) * t[::-1])(X))


def test_singular_points_have_exact_zeros():
    def f(x):
        return np.where(x > 0, np.log(x), 0.0).sum() + (np.array([np.inf, 1.0, 2.0]) * x)[1:].sum()

    with np.errstate(all="ignore"):
        at = np.array([0.0, 1.0, -1.0])
        graph = record(f).graph(at).gradient()
        np.testing.assert_array_equal(graph.run(at, np.float64(1.0))[1], vjp(f, at)[1](1.0))
        assert np.isfinite(graph.run(at, np.float64(1.0))[1]).all()


def test_infinities_in_products_of_matrices():
    a = np.array([[1.0, np.inf], [2.0, 3.0]])
    f = record(lambda x, a: a @ x)
    graph = f.graph(X[:2], a).gradient()
    g = np.array([0.0, 1.0])
    with np.errstate(all="ignore"):
        want = f(X[:2], a).pullback(g)
        for ours, theirs in zip(graph.run(X[:2], a, g)[1], want):
            np.testing.assert_array_equal(ours, theirs)


def test_an_embedding_has_a_gradient_graph():
    def f(table, rows):
        return np.tanh(table[rows]).sum()

    table, rows = np.arange(10.0).reshape(5, 2) / 10, np.array([4, 0, 4])
    graph = record(f).graph(table, rows).gradient()
    np.testing.assert_array_equal(graph.run(table, rows, np.float64(1.0))[1], vjp(f, table, rows)[1](1.0))
    other = np.array([1, 1, 1])
    np.testing.assert_array_equal(graph.run(table, other, np.float64(1.0))[1], vjp(f, table, other)[1](1.0))


def test_adding_at_indices_inside():
    def f(x):
        out = np.zeros(4)
        np.add.at(out, [0, 2, 2], x * x)
        return out * out

    graph = record(f).graph(X).gradient()
    g = np.arange(4.0)
    value, got = graph.run(X, g)
    np.testing.assert_array_equal(value, f(X))
    np.testing.assert_array_equal(got, vjp(f, X)[1](g))


def stores_by_mask(x):
    y = x * 2.0
    y[y > 1.0] = x[0]
    return y


def writes_out(x):
    y = np.zeros(3)
    np.multiply(x, 2.0, out=y)
    return y


def writes_into_a_floor(x):
    y = np.floor(x)
    part = y[1:]
    part += x[1:]
    return y.sum()


def copies(x):
    y = np.zeros(3)
    np.copyto(y, x)
    return y


@pytest.mark.parametrize("f", [stores_by_mask, writes_out, copies], ids=lambda f: f.__name__)
def test_writes_in_a_gradient_graph(f):
    g = np.arange(3.0) + 1.0
    value, got = record(f).graph(X).gradient().run(X, g)
    assert oracle.same_bits(value, f(X)) and close(got, vjp(f, X)[1](g))


def puts(x):
    y = np.zeros(3)
    np.put(y, [0, 2], x[:2])
    return y


def writes_into_its_argument(x):
    x[0] = 2.0
    return x * x


def adds_at_chosen_places(x):
    y = np.zeros(3)
    np.add.at(y, np.argsort(x), x)
    return y


def second(x):
    return grad(lambda x: (grad(lambda x: np.sin(x).sum())(x) ** 2).sum())(x)


@pytest.mark.parametrize(
    "f",
    [writes_into_a_floor, writes_into_its_argument, adds_at_chosen_places, puts],
    ids=lambda f: f.__name__,
)
def test_what_a_gradient_graph_does_not_hold_is_refused_and_replayed(f):
    graph = record(f).graph(X)
    with pytest.raises(RecordError) as caught:
        graph.gradient()
    assert caught.value.remedy
    value, pull = graph.vjp(X.copy())
    expected = record(f)(X.copy())
    weights = oracle.random_like(expected.value, 1)
    assert oracle.same_bits(value, expected.value) and same(pull(weights), expected.pullback(weights))


def test_second_derivatives_are_graphs():
    graph = record(second).graph(X)
    assert oracle.same_bits(graph.run(X), record(second)(X).value)
    assert close(graph.vjp(X)[1](X), record(second)(X).pullback(X))
