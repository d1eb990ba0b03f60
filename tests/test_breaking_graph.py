"""What once broke graphs: values baked in, wrong signs, names that collide, refusals that the function caught."""

from __future__ import annotations

import contextlib
from collections import OrderedDict

import numpy as np
import pytest

from autograd_frontend import Graph, RecordError, grad, hessian, jvp, record, vjp

from . import oracle

X = np.array([0.3, 0.5, 0.7])
Y = np.array([-1.0, 2.0, 0.0])
M = np.arange(9.0).reshape(3, 3) / 7 + np.eye(3)
N = np.array([1, 2, 0])
ONE = np.array([2])
KEEP = np.array([True, False, True])
BLOCK = np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2).copy("K")


def executed(text):
    space = {}
    exec(compile(text, "<source>", "exec"), space)
    return [f for name, f in space.items() if callable(f) and name != "__builtins__"][-1]


def agrees(f, build, *runs, path=None, **named):
    """Value, derivative, source, file and the graph of the gradient, at other inputs than those of the build."""
    r = record(f)
    graph = r.graph(*build, **named)
    gradient = graph.gradient()
    kept = [graph.run, executed(graph.to_python())]
    if path is not None:
        graph.save(path)
        kept.append(Graph.load(path).run)
    for args in runs:
        with np.errstate(all="ignore"):
            expected = r(*args, **named)
            for run in kept:
                assert oracle.same_bits(run(*args, **named), expected.value)
            weights = oracle.random_like(expected.value, 1)
            want = tuple(oracle.flatten(expected.pullback(weights)))
            assert oracle.same_bits(tuple(oracle.flatten(graph.vjp(*args, **named)[1](weights))), want)
            value, got = gradient.run(*args, weights, **named)
            assert oracle.same_bits(value, r.__wrapped__(*args, **named))
            np.testing.assert_allclose(oracle.entries(got), oracle.entries(want), rtol=1e-9, atol=1e-12)
    return graph


# Values of inputs that decide about shapes and axes


SHAPED = [
    (lambda x, n: np.repeat(x, n).shape[0] * x, X, N), (lambda x, n: x.repeat(n), X, N),
    (lambda x, n: np.repeat(x, n[0]), X, N), (lambda x, n: x * np.compress(n, x).size, X, KEEP),
    (lambda x, n: np.extract(n, x), X, KEEP), (lambda x, n: np.bincount(n, x), X, N),
    (lambda x, n: np.bincount(n).shape[0] * x, X, N), (lambda x, n: np.tile(x, n[0]), X, N),
    (lambda x, n: np.reshape(x, n), np.arange(6.0), np.array([2, 3])), (lambda x, n: np.full(n[0], x[0]), X, N),
    (lambda x, n: np.pad(x, n[0]), X, N), (lambda x, n: np.linspace(x[0], x[1], n[0]), X, N),
    (lambda x, n: np.diag(x, n[0]), M, N), (lambda x, n: np.diagonal(x, n[0]), M, N),
    (lambda x, n: np.moveaxis(x, n[0], 0), M, N), (lambda x, n: np.swapaxes(x, n[0], 0), M, N),
    (lambda x, n: np.rot90(x, n[0]), M[:2], N), (lambda x, n: np.flip(x, n[0]), M, N),
    (lambda x, n: np.transpose(x, n), M, np.array([1, 0])), (lambda x, n: np.expand_dims(x, n[0]), M, N),
    (lambda x, n: np.squeeze(x[None], n[2]), M, N), (lambda x, n: np.diff(x, n[0]), X, N),
    (lambda x, n: np.tensordot(x, x, n[0]), M, N), (lambda x, n: np.split(x, n), X, ONE),
    (lambda x, n: np.hsplit(x, n[:1]), M, N), (lambda x, n: np.zeros_like(x, shape=(n[0],)) + x[0], X, N),
    (lambda x, n: np.delete(x, n), X, N), (lambda x, n: np.broadcast_to(x, (n[1], 3)), X, N),
]  # fmt: skip


@pytest.mark.parametrize("f, x, n", SHAPED)
def test_a_shape_that_depends_on_an_input_is_refused(f, x, n):
    f(x, n)
    with pytest.raises(RecordError) as caught:
        record(f).graph(x, n)
    assert caught.value.place.filename == __file__ and caught.value.remedy


def test_where_of_one_argument_is_refused():
    with pytest.raises(RecordError, match="where of one argument"):
        record(lambda x: np.where(x > 0)[0] * x).graph(X)


FREE = [
    (lambda x, n: np.roll(x, n[0]), X), (lambda x, n: np.take(x, n), X), (lambda x, n: x[n] * x, X),
    (lambda x, n: np.clip(x, 0, n[:1]), Y), (lambda x, n: np.tril(x, n[0]), M), (lambda x, n: x**n, X),
    (lambda x, n: x * n.max() + np.cumsum(n), X), (lambda x, n: np.where(n == 2, x, 2 * x), X),
    (lambda x, n: x * (n + 0.5) // 1 + x, X), (lambda x, n: np.partition(x, n[2]), X),
]  # fmt: skip


@pytest.mark.parametrize("f, x", FREE)
def test_whole_numbers_that_decide_about_values_are_inputs(f, x, tmp_path):
    agrees(f, (x, N), (x, N), (x * 2, N[::-1].copy()), (x, np.array([0, 0, 2])), path=tmp_path / "g")


def test_an_index_that_depends_on_an_input_need_not_be_in_the_bounds_of_its_stand_in():
    f = record(lambda x, n: x[n - 1][n[0] - 2] * x)
    np.testing.assert_array_equal(f.graph(X, ONE).run(X, ONE), X[1] * X)


# Text of lines


@pytest.mark.parametrize("f", [
    lambda x: (-2.0) ** x, lambda x: (-2) ** np.floor(x), lambda x: x * (-1) ** np.array([0, 1, 2]),
    lambda x: -0.0 - x, lambda x: -(-3.0) * x - (-2) % x,
])  # fmt: skip
def test_negative_constants_keep_their_sign(f):
    with np.errstate(all="ignore"):
        for args in (np.array([2.0, 4.0, 3.0]), X):
            for run in (record(f).graph(X).run, executed(record(f).graph(X).to_python())):
                assert oracle.same_bits(run(args), f(args))


def test_a_power_of_minus_one_alternates():
    agrees(lambda x, n: x * (-1) ** n, (X, N), (X, N), (Y, np.array([2, 1, 2])))


def where(x):
    return np.where(x > 0, x * x, -x).sum()


NAMED = [
    (lambda x, v0=1.0: np.sin(x) * v0, {"v0": X}), (lambda x, f0=1.0: np.sin(x) * f0, {"f0": 3.0}),
    (lambda x, k0=1.0: np.sin(x)[1:] * k0, {"k0": 3.0}), (lambda x, slice=1.0: x[1:] * slice, {"slice": 3.0}),
    (lambda x, np=1.0, **k: x * np + k["float"], {"np": 2.0, "float": 3.0}), (where, {}),
    (lambda x, *, a0, v1: x[:2] * a0 * v1, {"a0": 2.0, "v1": 3.0}), (lambda x, abs=1.0: np.abs(x) * abs, {"abs": 3.0}),
    (lambda x, where=1.0: np.where(x > 0, x, where), {"where": 3.0}),
]  # fmt: skip


@pytest.mark.parametrize("f, named", NAMED)
def test_parameters_may_be_called_anything(f, named):
    agrees(f, (X,), (X,), (Y,), **named)


def test_parameters_keep_their_names_in_gradients():
    graph = record(lambda v1, k0: np.sin(v1) * k0).graph(X, 2.0)
    assert graph.vjp(X, 2.0)[1](X)._fields == ("v1", "k0")


def test_a_function_of_keywords_alone():
    f = record(lambda **k: k["a"] * k["b"])
    graph = f.graph(a=X, b=2.0)
    assert oracle.same_bits(executed(graph.to_python())(a=Y, b=3.0), Y * 3.0)
    np.testing.assert_array_equal(graph.vjp(a=Y, b=3.0)[1](X).a, 3.0 * X)
    np.testing.assert_array_equal(graph.gradient().run(X, a=Y, b=3.0)[1].a, 3.0 * X)


# Refusals that the function catches


def caught_test(x):
    try:
        return x * 2 if x[0] > 0 else x * 3
    except Exception:
        return x * 5


def caught_bare(x):
    try:
        return x[int(x[0])]
    except:  # noqa: E722
        return x * 5


def suppressed(x):
    y = x * 5
    with contextlib.suppress(Exception):
        y = np.unique(x)
    return y


def raising(x):
    with np.errstate(divide="raise"):
        try:
            return 1 / x
        except FloatingPointError:
            return x


@pytest.mark.parametrize("f", [caught_test, caught_bare, suppressed, raising])
def test_a_refusal_cannot_be_caught_by_the_function(f):
    with pytest.raises(RecordError):
        record(f).graph(X)


def test_errstate_of_the_caller_is_nobodys_concern():
    with np.errstate(all="raise"):
        graph = record(lambda x: 1 / x).graph(X)
    np.testing.assert_array_equal(graph.run(X), 1 / X)


# Containers


class Items(list):
    pass


class Parts(tuple):
    pass


@pytest.mark.parametrize("f", [
    lambda x: Items([x, 2 * x]), lambda x: Parts([x, 2 * x]), lambda x: OrderedDict(a=x),
])  # fmt: skip
def test_results_in_containers_of_other_classes_are_refused(f):
    with pytest.raises(RecordError, match="the function returns"):
        record(f).graph(X)


def test_containers_of_other_classes_have_no_gradient():
    graph = record(lambda p: p[0] * p[1]).graph(Items([X, 2.0]))
    np.testing.assert_array_equal(graph.run(Items([Y, 3.0])), 3.0 * Y)
    with pytest.raises(RecordError, match="Items"):
        graph.gradient()


def test_fixed_containers_are_as_they_were_when_the_graph_was_built():
    items, table, nested = [2, 3], {"n": 2}, [[2, 3], X]
    for f, given, change in [
        (lambda x, p: x * len(p) * p[0], items, lambda: items.append(5)),
        (lambda x, p: x * p["n"], table, lambda: table.update(n=3)),
        (lambda x, p: x * len(p[0]), nested, lambda: nested[0].append(1)),
    ]:
        graph = record(f).graph(X, given)
        change()
        with pytest.raises(ValueError, match="built for"):
            graph.run(X, given)


# Memory that is neither C- nor Fortran-ordered


def in_a_block(x):
    a = BLOCK.copy("K")
    b = np.zeros((2, 3, 4)).transpose(1, 0, 2).copy("K")
    part, flipped = a[1, :, ::2], b.T
    a[1, 1, 2] = x[0]
    part[0, 1] = x[1]
    b[2, 1, 3] = x[0]
    flipped[0, 0, 0] = x[2]
    return a * 2, part * 3, flipped.ravel("K") * BLOCK.ravel("K"), a.ravel("K")


def test_layouts_of_memory_are_kept_in_files_and_source(tmp_path):
    graph = record(in_a_block).graph(X)
    graph.save(tmp_path / "g")
    for run in (graph.run, Graph.load(tmp_path / "g").run, executed(graph.to_python())):
        assert oracle.same_bits(run(Y), in_a_block(Y))


def test_layouts_of_constants_are_kept_in_files_and_source(tmp_path):
    large = np.asfortranarray(np.arange(200.0).reshape(20, 10))
    graph = record(lambda x: (x[0] * large).ravel("K")).graph(X)
    graph.save(tmp_path / "g")
    for run in (graph.run, Graph.load(tmp_path / "g").run, executed(graph.to_python())):
        assert oracle.same_bits(run(Y), (Y[0] * large).ravel("K"))


# Writes in gradients


def floored(x):
    d = x * 2
    e = d * x
    np.floor(x * 4, out=d)
    return d * e


def signs(x):
    d = np.zeros(3)
    d[:] = x
    np.sign(x[1:], d[1:])
    return d * d


@pytest.mark.parametrize("f, gradient", [(floored, 4 * X * np.floor(4 * X)), (signs, [0.6, 0.0, 0.0])])
def test_what_is_overwritten_with_data_has_no_gradient(f, gradient):
    graph = record(f).graph(X).gradient()
    np.testing.assert_allclose(graph.run(X, np.ones(3))[1], gradient, atol=1e-15)
    np.testing.assert_allclose(executed(graph.to_python())(X, np.ones(3))[1], gradient, atol=1e-15)


def with_out(x):
    d, e = np.zeros(3), np.zeros(())
    np.add(x, x * x, out=d)
    view = d[1:]
    np.exp(x[1:], out=view)
    np.multiply(d, x, d)
    np.sum(d * d, out=e)
    np.cumsum(x, out=d)
    return d * x, e * x, np.maximum(x, 0.4, out=np.zeros(3))


def single(x):
    d = np.zeros(3, np.float32)
    np.add(x, x * x, out=d, casting="same_kind")
    return d * x


def copied(x):
    d, e = np.ones(3), np.ones(4)
    np.copyto(d, x * x)
    e.fill(x[0])
    np.copyto(e[1:], d)
    d[x > 0.4] = x[0]
    d[x < 0.1] = 7.0
    return e * e, d * x


@pytest.mark.parametrize("f", [with_out, single, copied])
def test_gradients_through_writes_are_graphs(f):
    agrees(f, (X,), (X,), (Y,))


def test_what_is_left_unset_is_refused():
    with pytest.raises(RecordError, match="leaves entries unset"):
        record(lambda x: np.sqrt(x, where=x > 0) * x).graph(X)


# Derivatives of derivatives


def written(x):
    out = np.zeros(3)
    out[0] = x[1] ** 2
    out[1:] += x[:2] * x[2]
    return (out * out).sum()


INNER = [
    lambda x: grad(lambda y: (y**3).sum())(x), lambda x: vjp(lambda y: np.exp(y) * y, x)[1](x),
    lambda x: jvp(lambda y: y**3, (x,), (x,))[1], lambda x: grad(written)(x),
    lambda x: grad(lambda y: (y.sum() * M / (y + 3)).sum())(x),
    lambda x: grad(lambda y: (y * grad(lambda z: (z * y * x).sum())(y)).sum())(x),
    lambda x: grad(lambda y: np.where(y > 0, 1 / y, 0.0).sum())(x),
]  # fmt: skip


@pytest.mark.parametrize("f", INNER)
def test_derivatives_through_derivatives(f):
    agrees(f, (X,), (X,), (Y,))


def test_derivatives_through_products():
    def f(x):
        return grad(lambda y: np.tanh(y @ y).sum())(x)

    graph = record(f).graph(M)
    weights = oracle.random_like(M, 2)
    np.testing.assert_allclose(graph.vjp(M / 3)[1](weights), record(f)(M / 3).pullback(weights), rtol=1e-12)


def test_second_derivatives_are_graphs():
    graph = record(lambda x: (x**3 * np.sin(x)).sum()).graph(X)
    expected = hessian(lambda x: (x**3 * np.sin(x)).sum())(Y) @ X
    second = graph.gradient().gradient()
    one, zero = np.float64(1), np.float64(0)
    np.testing.assert_allclose(second.run(Y, one, (zero, X))[1].x, expected, rtol=1e-12)
    np.testing.assert_allclose(graph.gradient().vjp(Y, one)[1]((zero, X)).x, expected, rtol=1e-12)
    np.testing.assert_allclose(record(lambda x: hessian(lambda y: (y**3).sum())(x)).graph(X).run(Y), np.diag(6 * Y))


def test_a_power_that_becomes_complex_has_no_gradient():
    gradient = record(lambda x, a: x * a**0.5).graph(X, 2.0).gradient()
    assert gradient.run(X, 4.0, np.ones(3))[1].a == pytest.approx(X.sum() / 4)
    with pytest.raises(TypeError, match="complex"):
        gradient.run(X, -4.0, np.ones(3))


def test_arguments_that_wrt_cannot_name():
    def f(*xs):
        return sum((x * x).sum() for x in xs)

    np.testing.assert_array_equal(grad(f, wrt=np.int64(1))(X, Y), 2 * Y)
    for wrt in (True, (), (True,), 1.0):
        with pytest.raises(TypeError, match="has to be a position"):
            grad(f, wrt=wrt)
