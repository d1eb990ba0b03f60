"""Programs of complex numbers that were wrong once: a slope of zero on a branch cut, imaginary parts lost in tangents,
shape rules that took complex numbers for real ones, zeros beside infinities."""

from __future__ import annotations

import math
import warnings

import numpy as np
import oracle
import pytest

from autograd_frontend import RecordError, grad, hessian, jacfwd, jacrev, jvp, record, vjp

X = np.array([0.7, 1.3, 2.1])
T = np.array([0.3, -1.0, 0.5])
W = np.array([0.5 - 1.0j, 1.5 + 0.3j, -0.7 + 0.2j])


def slope(f, x, t, h=1e-6):
    return (np.asarray(f(x + h * t)) - np.asarray(f(x - h * t))) / (2 * h)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sqrt(-(x + 0j)),
        lambda x: np.sqrt(np.conj(-x + 0j)) * x,
        lambda x: np.array([np.sqrt(complex(-x[0], -0.0)), np.sqrt((-x + 0j)[1])]),
        lambda x: np.log(-(x + 0j)) + np.sqrt(x * 1j),
    ],
)
def test_both_sides_of_a_branch_cut_have_slopes(f):
    want = slope(f, X, T)
    np.testing.assert_allclose(jvp(f, (X,), (T,))[1], want, 1e-6, 1e-9)
    for c in (1.0, 1j):
        pulled = vjp(f, X)[1](np.full(want.shape, c, complex))
        np.testing.assert_allclose(pulled @ T, np.sum((np.conj(c) * want).real), 1e-6)


def test_the_root_of_zero_has_slope_zero():
    f = lambda x: np.sqrt(x * (1 + 1j))
    assert vjp(f, np.zeros(2))[1](np.ones(2)).tolist() == [0.0, 0.0]
    assert jvp(f, (np.zeros(2),), (np.ones(2),))[1].tolist() == [0.0, 0.0]


AT_ZERO = np.array([0.0, 2.0, -0.3])
CHOICES = [
    lambda x: np.where(x != 0, np.log(x + 0j), 0),
    lambda x: np.where(x != 0, 1 / (x + 0j), x),
    lambda x: np.where(x != 0, (x * (1 + 1j)) ** -1, 1j * x),
    lambda x: np.log(x + 0j)[1:] * (1 + 2j),
]


@pytest.mark.parametrize("i", range(len(CHOICES)))
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_chosen_does_not_reach_tangents(i):
    f = CHOICES[i]
    s = lambda x: np.sum(np.sin(np.real(f(x)))) + np.sum(np.imag(f(x)) ** 2)
    g = grad(s)(AT_ZERO)
    assert np.isfinite(g).all()
    np.testing.assert_allclose(jacfwd(s)(AT_ZERO), g, 1e-10)
    np.testing.assert_allclose(hessian(s)(AT_ZERO), jacrev(grad(s))(AT_ZERO), 1e-10)


def test_an_infinite_tangent_of_a_real_part_is_no_nan():
    with np.errstate(all="ignore"):
        assert jvp(lambda x: np.log(x + 0j).real, (np.zeros(1),), (np.ones(1),))[1].tolist() == [math.inf]


FAR = np.outer(X, W) + 1j
FAR[0, 1] = complex(np.inf, 1)
PRODUCTS = [
    lambda x: FAR @ x,
    lambda x: FAR @ (x * W),
    lambda x: np.einsum("i,ij->j", x, FAR),
    lambda x: np.inner(FAR, x),
    lambda x: np.outer(x, FAR[0]),
    lambda x: np.vecdot(FAR, x),
    lambda x: np.vecmat(x, FAR),
]


@pytest.mark.parametrize("i", range(len(PRODUCTS)))
def test_products_with_an_infinity_keep_the_imaginary_parts_of_the_rest(i):
    f = PRODUCTS[i]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        want = slope(f, X, T)
        tangent = jvp(f, (X,), (T,))[1]
        columns = jacfwd(f)(X) @ T
    finite = np.isfinite(want)
    assert finite.any() and not finite.all()
    np.testing.assert_allclose(tangent[finite], want[finite], 1e-6)
    np.testing.assert_allclose(columns[finite], want[finite], 1e-6)
    assert not np.isfinite(tangent[~finite]).any()


def near(x):
    return np.outer(x, x[::-1]) * (1 + 0.3j) + np.diag(W) * 3


NODES = [
    lambda x: np.linalg.inv(near(x))[0],
    lambda x: np.linalg.matrix_power(near(x), -2)[1],
    lambda x: np.dot(x, 2j),
    lambda x: np.outer(x, 1j)[:, 0],
    lambda x: np.kron(2 + 1j, x),
    lambda x: np.einsum(",i->i", 1 + 2j, x),
    lambda x: np.polyval(x, 0.5j) * x,
    lambda x: np.array([(x * W)[1].item(), 1j]) * x[0],
    lambda x: np.diff(x, prepend=1j),
    lambda x: np.select([x > 1, x < 1], [x, 2j], 1.0) * x,
    lambda x: np.stack([x, x * 1j, np.full(3, 2j)])[:, 0] * x,
    lambda x: np.stack([x, 1 / x], dtype=complex)[:, 0] * (x[:2] + 1j),
    lambda x: np.concatenate([x, x], dtype=complex)[2:5] * 1j,
    lambda x: np.matmul(np.outer(x, x), x, dtype=complex) * 1j,
    lambda x: np.einsum("i,j->j", x, x, dtype=complex) * 1j,
    lambda x: np.linspace(x[0], x[1], 3, dtype=complex) * 1j,
]


@pytest.mark.parametrize("i", range(len(NODES)))
def test_the_nodes_of_a_graph_know_that_they_are_complex(i):
    f = NODES[i]
    graph = record(f).graph(X)
    value = f(X)
    assert oracle.same_bits(graph.run(X), value)
    c = (1 + 2j) * np.arange(1, value.size + 1).reshape(value.shape)
    pulled = vjp(f, X)[1](c)
    np.testing.assert_allclose(pulled @ T, np.sum((np.conj(c) * slope(f, X, T)).real), 1e-6)
    np.testing.assert_allclose(graph.vjp(X)[1](c), pulled, 1e-12)
    np.testing.assert_allclose(graph.jvp((X,), (T,))[1], jvp(f, (X,), (T,))[1], 1e-12)
    part = lambda x: np.sum(f(x).imag)
    np.testing.assert_allclose(record(part).graph(X).vjp(X)[1](1.0), grad(part)(X), 1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: math.sin(x[0] * (1 + 1j)),
        lambda x: math.fabs(x[0] * (1 + 1j)),
        lambda x: math.pow(x[0] * (1 + 1j), 2),
        lambda x: np.prod(x * W, dtype=float),
        lambda x: np.exp(x * W, out=np.zeros(3), casting="unsafe"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_drops_imaginary_parts_before_it_computes_is_refused(f):
    f(X)
    with pytest.raises(RecordError, match="that drops imaginary parts cannot be recorded"):
        record(f)(X)


@pytest.mark.filterwarnings("ignore")
def test_what_drops_them_afterwards_has_a_derivative():
    f = lambda x: np.sum(x * W, dtype=float) + (x * W).astype(float)[0] + float((x * W)[1])
    assert np.isclose(grad(f)(X) @ T, slope(f, X, T))


def test_numbers_made_with_keywords():
    f = lambda x: np.array([
        complex(imag=x[0]), complex(real=x[1], imag=3), complex(x[0], imag=x[1]), complex(imag=x[2], real=x[0]),
        complex(real=x[1] * 1j), complex(imag=x[2] * 1j),
    ])  # fmt: skip
    assert oracle.same_bits(record(f)(X).value, f(X))
    np.testing.assert_allclose(jvp(f, (X,), (T,))[1], slope(f, X, T), 1e-6, 1e-9)
    with pytest.raises(TypeError) as error:
        record(lambda x: complex(x, real=x))(0.5)
    with pytest.raises(TypeError) as plain:
        complex(0.5, real=0.5)
    assert str(error.value) == str(plain.value)


def test_complex_constants_have_a_zero_tangent():
    a, b = jvp(lambda x: [W * 2, complex(1, 2)], (0.5,), (1.0,))[1]
    assert oracle.same_bits(a, np.zeros(3, complex)) and oracle.same_bits(b, 0j)


def test_tangents_inside_a_recorded_function_are_complex():
    wave = lambda x: np.exp(1j * x) * x

    def inside(x):
        v, t = jvp(lambda x: [wave(x), complex(x[0], x[1]), x], (x,), (x * T,))
        return np.sum(abs(t[0]) ** 2) + (t[1] * v[1]).imag + t[2] @ x

    def written_out(x):
        d = np.exp(1j * x) * (1 + 1j * x) * x * T
        return np.sum(abs(d) ** 2) + (complex(x[0] * T[0], x[1] * T[1]) * complex(x[0], x[1])).imag + (x * T) @ x

    assert np.isclose(record(inside)(X).value, written_out(X), 1e-12)
    np.testing.assert_allclose(grad(inside)(X), grad(written_out)(X), 1e-10)
    np.testing.assert_allclose(hessian(inside)(X), hessian(written_out)(X), 1e-10)


def test_a_rule_of_pythons_complex_numbers_overflows_as_ieee_does():
    f = lambda x: (complex(x, x) ** -3).real  # the rule of its rule has a power of -5
    assert np.isfinite(grad(f)(1e-70)) and np.isfinite(f(1e-100))
    with np.errstate(all="ignore"):
        assert not np.isfinite(grad(grad(f))(1e-100))
        assert not np.isfinite(hessian(f)(1e-100))


def test_a_complex_value_inside_is_named():
    with pytest.raises(TypeError, match="not a complex one"):
        hessian(lambda x: np.sum(x * W))(X)


def test_parts_of_nothing():
    def f(x):
        z = np.cumsum((x * W)[:0])
        return np.sum(np.sin(z.real)) + np.sum(np.sin(z.imag)) + np.sum(x**2)

    np.testing.assert_allclose(hessian(f)(X), 2 * np.eye(3))
    np.testing.assert_allclose(jacrev(grad(f))(X), 2 * np.eye(3))


def test_the_nodes_of_a_graph_have_the_precision_that_was_asked_for():
    narrow = X.astype(np.float32)
    for f, x in (
        (lambda x: np.diff(x, prepend=0.5) * 1, narrow),
        (lambda x: np.stack([x, x], dtype=np.float32, casting="unsafe") * 1, X),
        (lambda x: np.matmul(x, x, dtype=np.float64) * 1, narrow),
    ):
        graph = record(f).graph(x)
        assert str(f(x).dtype) in str(graph).splitlines()[-2]
        assert oracle.same_bits(graph.run(x), f(x))
