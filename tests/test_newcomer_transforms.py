"""What a newcomer ran into, by family: exact zeros of tangents, equal eigenvalues, endpoints, dataclasses, options."""

from __future__ import annotations

import dataclasses
import math

import blocks
import numpy as np
import oracle
import pytest
import scipy.linalg
import scipy.special

from autograd_frontend import (
    RecordError,
    RecordingClosed,
    check_grads,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    record,
    vjp,
)

X, V = np.array([0.3, -0.7]), np.array([1.0, 2.0])
SECOND = (hessian, lambda f: jacrev(grad(f)), lambda f: jacfwd(jacfwd(f)))
sliding = np.lib.stride_tricks.sliding_window_view


# Exact zeros of tangents


def joined(f):
    return lambda x: f(np.append(x, -np.inf))


@pytest.mark.parametrize("f", [scipy.special.logsumexp, scipy.special.softmax, scipy.special.log_softmax])
def test_a_constant_infinity_beside_what_moves(f):
    g = lambda x: np.sum(joined(f)(x)[:2] * V if f is not scipy.special.logsumexp else joined(f)(x))
    h = lambda x: np.sum(f(x) * V if f is not scipy.special.logsumexp else f(x))
    np.testing.assert_allclose(jacfwd(g)(X), grad(h)(X), rtol=1e-14)
    for second in SECOND[:2]:
        np.testing.assert_allclose(second(g)(X), second(h)(X), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(hvp(g)(X, V), hessian(h)(X) @ V, rtol=1e-12)


def test_a_hidden_markov_model_that_only_moves_on():
    observed = np.array([0.5, 1.0, -0.3, 2.0])

    def score(x):
        moves = np.array([[np.log(0.7), np.log(0.3)], [-np.inf, 0.0]])
        a = np.array([0.0, -np.inf]) - (observed[0] - x) ** 2
        for o in observed[1:]:
            a = scipy.special.logsumexp(a[:, None] + moves, axis=0) - (o - x) ** 2
        return scipy.special.logsumexp(a)

    np.testing.assert_allclose(jacfwd(score)(X), grad(score)(X), rtol=1e-13)
    np.testing.assert_allclose(hessian(score)(X), jacrev(grad(score))(X), rtol=1e-11)
    check_grads(score, X, show=False)


def at_infinity(c):
    """The inputs with an infinity at the first entry of each of their arrays in turn, and tangents that are 0 there."""
    inputs = c.inputs()
    for i, x in enumerate(inputs):
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            for end in (np.inf, -np.inf):
                y, t = x.copy(), oracle.random_like(inputs, 1)
                y.flat[0], t[i].flat[0] = end, 0.0
                yield [*inputs[:i], y, *inputs[i + 1 :]], t


PRODUCTS = """matmul dot inner outer vdot vecdot matvec vecmat cross kron tensordot einsum convolve correlate append
concatenate conv conv_transpose prod cumprod logsumexp""".split()


@pytest.mark.parametrize("c", [c for c in blocks.cases() if c.op.name in PRODUCTS and c.path == c.op.calls[0]], ids=str)
def test_a_tangent_of_zero_contributes_zero_as_a_cotangent_does(c):
    f = blocks.function_of(c)
    for x, t in at_infinity(c):
        with np.errstate(all="ignore"):
            v, pushed = jvp(f, (x,), (t,))
            pushed = oracle.entries(pushed)
            for j in np.flatnonzero(np.isnan(pushed))[:3]:
                w = np.zeros(pushed.size)
                w[j] = 1.0
                g = vjp(f, x)[1](w.reshape(np.shape(v)) if np.ndim(v) else 1.0)
                g, moved = oracle.entries(g), oracle.entries(t)
                assert np.isnan(np.sum(np.where(moved == 0, 0, moved * g))), (x, j)


def test_products_with_infinities():
    a = np.array([[np.inf, 1.0], [2.0, 3.0]])
    f = lambda x: np.append(x, 5.0) @ a
    assert np.array_equal(jacfwd(f)(np.array([2.0])), [[np.inf], [1.0]])
    f = lambda x: np.array([5.0, x]) @ a
    assert np.array_equal(jacfwd(f)(2.0), [2.0, 3.0])
    f = lambda x: np.einsum("i,i,ij->j", np.append(1.0, x), np.ones(2), a)
    assert np.array_equal(jacfwd(f)(np.array([2.0])), [[2.0], [3.0]])
    f = lambda x: np.cross(np.append(x, [1.0, 1.0]), [1.0, np.inf, 2.0])
    assert np.array_equal(jacfwd(f)(np.array([2.0]))[:, 0], [0.0, -2.0, np.inf])


LISTS = [
    lambda x: np.append(x, [1.0, 1.0]), lambda x: np.concatenate([x, [1.0, 3.0]]), lambda x: np.stack([x, [1.0, 2.0]]),
    lambda x: np.append(x, [x[0], 1.0]), lambda x: np.concatenate([x, [x[0], 1.0]]), lambda x: np.insert(x, 0, [4, 5]),
    lambda x: np.hstack([x, 1.0, [2]]), lambda x: np.select([x > 5.0], [x], [7.0, 8.0]),
    lambda x: np.choose([0, 1], [x, [1.0, 2.0]]),
    lambda x: np.append(x[None], [[1, 1]], axis=1), lambda x: np.linspace(x, [3.0, 4.0], 3),
    lambda x: np.dot(np.append(x, 0.0), [3.0, 1.0, np.inf]), lambda x: np.column_stack([x, [1.0, 1.0]]),
]  # fmt: skip


@pytest.mark.parametrize("f", LISTS)
def test_lists_of_numbers_among_operands_have_no_tangent(f):
    """They went into the tangent as they are: `jacfwd` of `np.append(x, [1.0])` had a row of ones."""
    with np.errstate(all="ignore"):
        assert np.array_equal(jacfwd(f)(X), jacrev(f)(X))


# Equal eigenvalues and singular values


SMOOTH = [
    (lambda x: np.sum(np.linalg.eigvalsh(np.diag(x)) ** 2), 2.0),
    (lambda x: np.sum(np.linalg.eigh(np.diag(x))[0] ** 3), 6.0),
    (lambda x: np.sum(np.linalg.svd(np.diag(x))[1] ** 2), 2.0),
    (lambda x: np.sum(np.linalg.svd(np.diag(x), compute_uv=False) ** 3), 6.0),
    (lambda x: np.linalg.norm(np.diag(x), "nuc"), 0.0),
]


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("f, curvature", SMOOTH)
def test_second_derivatives_at_equal_eigenvalues(f, curvature, second):
    np.testing.assert_allclose(second(f)(np.ones(2)), curvature * np.eye(2), atol=1e-14)


def test_what_equal_eigenvalues_leave_open_is_not_zero():
    """The derivative of `(v*w) @ v.T` is not known from equal eigenvalues; it was given as that of the diagonal."""
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])

    def rebuilt(x):
        w, v = np.linalg.eigh(x)
        return np.sum((v * w) @ v.T * weights)

    np.testing.assert_allclose(grad(rebuilt)(np.diag([1.0, 2.0])), [[1.0, 0.0], [5.0, 4.0]])
    assert np.isnan(grad(rebuilt)(np.eye(2))[1, 0])
    squares = lambda x: np.sum(np.linalg.eigvalsh(x) ** 2)
    for second in SECOND:
        assert np.isnan(second(squares)(np.eye(2))[1, 0, 1, 0])  # it is 4, and was 0
        np.testing.assert_allclose(second(squares)(np.diag([1.0, 2.0]))[1, 0, 1, 0], 4.0)


def test_the_sum_of_eigenvalues_and_the_first_derivative_are_as_before():
    assert np.array_equal(grad(lambda x: np.sum(np.linalg.eigh(x)[0]))(np.eye(3)), np.eye(3))
    assert np.array_equal(grad(lambda x: np.sum(np.linalg.svd(x)[1]))(np.eye(3)), np.eye(3))


# Endpoints


@pytest.mark.parametrize("f, end", [(np.arccos, -np.inf), (np.arcsin, np.inf), (np.arccosh, -np.inf),
                                    (math.acos, -np.inf), (math.asin, np.inf), (math.acosh, -np.inf)])  # fmt: skip
def test_curvature_at_the_ends_is_infinite(f, end):
    assert hessian(lambda x: f(x))(1.0) == end
    assert np.array_equal(hessian(lambda x: f(x))(np.float64(1.0)), end)
    with np.errstate(all="ignore"):
        assert np.isnan(grad(lambda x: np.arcsin(x) + 0.0 * f(1.0))(2.0))


def test_the_mixed_derivative_of_xlogy_where_the_factor_is_zero():
    assert hessian(lambda a: scipy.special.xlogy(a[0], a[1]))(np.array([0.0, 2.0]))[1, 0] == 0.5


# check_grads


def test_what_is_not_compared_is_said(capsys):
    with pytest.raises(AssertionError, match="could compare nothing"), np.errstate(all="ignore"):
        check_grads(lambda x: np.sum(np.log(x)), -np.ones(2), order=1)
    assert capsys.readouterr().out.count("not compared") == 2
    check_grads(lambda x: np.abs(x) + x**2, np.array([0.0, 1.0]))
    shown = capsys.readouterr().out
    assert "2 (1 not compared)" in shown and "1.0e+00" not in shown
    check_grads(lambda x, b=2.0: x * b, 3.0, b=4.0, order=1)


# Dataclasses


@dataclasses.dataclass
class Model:
    a: float
    b: np.ndarray
    name: str = "n"


def loss(p):
    return p.a * np.sum(p.b**2)


def test_derivatives_of_dataclasses():
    p = Model(2.0, np.array([1.0, 2.0]))
    for h in (hessian(loss)(p), jacrev(grad(loss))(p)):
        assert h.a.a == 0.0 and h.a.name is None and h.name is None
        assert np.array_equal(h.a.b, [2.0, 4.0]) and np.array_equal(h.b.a, [2.0, 4.0])
        assert np.array_equal(h.b.b, 4.0 * np.eye(2))
    v = hvp(loss)(p, Model(1.0, np.array([1.0, 0.0])))
    assert type(v) is Model and v.a == 2.0 and np.array_equal(v.b, [6.0, 4.0])
    value, t = jvp(lambda x: (Model(x, X), [Model(1.0, V)]), (2.0,), (3.0,))
    assert (value[0].a, t[0].a, t[1][0].a) == (2.0, 3.0, 0.0) and not t[0].b.any() and t[0].name is None
    assert grad(lambda p: jvp(grad(loss), (p,), (p,))[1].a)(p).b.tolist() == [4.0, 8.0]


# Options and callables


def test_functions_written_in_c_with_a_rule():
    assert grad(np.exp)(2.0) == math.exp(2.0) and grad(math.sin)(2.0) == math.cos(2.0)
    np.testing.assert_allclose(jacfwd(np.tanh)(X), np.diag(1 - np.tanh(X) ** 2))
    np.testing.assert_allclose(grad(scipy.special.gammaln)(2.5), scipy.special.digamma(2.5), rtol=1e-14)
    assert record(np.hypot)(3.0, 4.0).backward() == (0.6, 0.8) and hessian(np.exp)(2.0) == math.exp(2.0)
    with pytest.raises(RecordError, match="scipy.special.zetac is given a recorded value, and there is no derivative"):
        grad(scipy.special.zetac)(2.5)


def test_options_of_transforms():
    f = lambda a, x, b=1.0: np.sum(a * x**3) * b
    np.testing.assert_allclose(hvp(f)(X, V, V, b=3.0), 0.0)
    np.testing.assert_allclose(hvp(f, wrt=1)(X, V, V, b=2.0), 12.0 * X * V * V)
    for_both = hvp(f, wrt=("a", "x"))(X, (V, V), V)
    np.testing.assert_allclose(for_both, (3 * V**3, 3 * V**3 + 6.0 * X * V * V))

    def damped(x, lam=0.5):
        return x * lam

    assert grad(damped, wrt="lam")(2.0) == 2.0 and grad(damped, wrt=("lam", 0))(2.0) == (2.0, 0.5)
    assert jacrev(damped, wrt="lam")(2.0) == jacfwd(damped, wrt=1)(2.0) == 2.0
    assert grad(lambda x: grad(damped, wrt="lam")(x * x))(3.0) == 6.0


def test_auxiliary_results():
    f = lambda x: (np.sum(x**3), {"twice": 2.0 * x})
    value, pull, aux = vjp(f, X, has_aux=True)
    assert value == np.sum(X**3) and np.array_equal(aux["twice"], 2.0 * X)
    np.testing.assert_allclose(pull(1.0), 3 * X**2)
    for transform, want in ((jacfwd, 3 * X**2), (jacrev, 3 * X**2), (hessian, np.diag(6 * X))):
        got, aux = transform(f, has_aux=True)(X)
        np.testing.assert_allclose(got, want)
        assert np.array_equal(aux["twice"], 2.0 * X)
    inside = lambda x: np.sum(jacrev(f, has_aux=True)(x)[0] + vjp(f, x, has_aux=True)[2]["twice"])
    np.testing.assert_allclose(grad(inside)(X), 6 * X + 2.0)


def test_a_cotangent_that_does_not_fit_uses_nothing_up():
    f = lambda x: np.sum(x * x)
    _, pull = vjp(f, X)
    with pytest.raises(ValueError, match="has shape"):
        pull(X)
    assert np.array_equal(pull(1.0), 2 * X)
    with pytest.raises(RecordingClosed):
        pull(1.0)

    def inside(x):
        _, pull = vjp(f, x)
        try:
            pull(np.ones(3))
        except ValueError:
            return np.sum(pull(1.0))
        return 0.0

    assert np.array_equal(grad(inside)(X), [2.0, 2.0])


def test_a_result_has_no_truth():
    with pytest.raises(TypeError, match="write `if f"):
        bool(record(lambda x: x * 0.0)(2.0))


# Operations


def test_a_gaussian_process():
    rng = np.random.default_rng(0)
    points, seen = rng.normal(size=(6, 2)), rng.normal(size=6)

    def likelihood(theta, by):
        d = np.sum((points[:, None] - points[None]) ** 2, -1)
        k = np.exp(theta[0] - d / np.exp(theta[1])) + np.exp(theta[2]) * np.eye(6)
        return by(k)

    def factor(k):
        low = scipy.linalg.cholesky(k, lower=True)
        z = scipy.linalg.solve_triangular(low, seen, lower=True)
        return z @ z + 2 * np.sum(np.log(np.diag(low)))

    def factors(k):
        c = scipy.linalg.cho_factor(k)
        return seen @ scipy.linalg.cho_solve(c, seen) + 2 * np.sum(np.log(np.diag(c[0])))

    plain = lambda k: seen @ np.linalg.solve(k, seen) + np.linalg.slogdet(k)[1]
    solved = lambda k: seen @ scipy.linalg.solve(k, seen, assume_a="pos") + np.log(scipy.linalg.det(k))
    theta = np.array([0.1, 0.2, -1.0])
    want = hessian(likelihood)(theta, plain)
    for by in (factor, factors, solved):
        assert record(lambda t, by=by: likelihood(t, by))(theta).value == likelihood(theta, by)
        np.testing.assert_allclose(grad(likelihood)(theta, by), grad(likelihood)(theta, plain), rtol=1e-10)
        np.testing.assert_allclose(hessian(likelihood)(theta, by), want, rtol=1e-9)
        check_grads(lambda t, by=by: likelihood(t, by), theta, show=False)


@pytest.mark.parametrize("trans", [0, 1, "N", "T", "C"])
def test_triangular_systems(trans):
    a = np.random.default_rng(1).normal(size=(3, 3)) + 2.5 * np.eye(3)
    b = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]])
    for lower in (False, True):
        for unit in (False, True):
            check_grads(lambda a, b: scipy.linalg.solve_triangular(a, b, trans, lower, unit), a, b, show=False)


def test_writes_of_scipy_are_refused():
    for call in (
        lambda x: scipy.linalg.cholesky(x, overwrite_a=True),
        lambda x: scipy.linalg.solve(x, X, overwrite_b=True),
        lambda x: scipy.linalg.cho_solve((x, True), X, overwrite_b=True),
        lambda x: scipy.linalg.solve(x, X, assume_a="diagonal"),
    ):
        with pytest.raises(RecordError, match="cannot be recorded"):
            record(call)(np.eye(2))


def test_sliding_windows_share_memory():
    x, w = np.arange(1.0, 7.0), np.arange(12.0).reshape(4, 3)
    r = record(lambda x: sliding(x, 3))(x)
    assert np.array_equal(r.value, sliding(x, 3))
    for f in (
        lambda x: np.sum(sliding(x, 3) ** 2 * w),
        lambda x: np.sum(sliding(x, 3)[:, ::-1] * w) + sliding(x, 3)[0, 1] ** 2,
        lambda x: np.sum([np.sum(row**2) for row in sliding(x, 2)]),
        lambda x: np.sin(sliding(x, 1)).ravel() * sliding(x.reshape(2, 3), (2, 2))[0, 0, 0, 0],
    ):
        check_grads(f, x, show=False)

    def written_later(x):
        y = x * 1.0
        v = sliding(y, 2)
        y[0] = 5.0
        return np.sum(v)

    def made_before(x):
        z = np.zeros(4)
        v = sliding(z, 2)
        z[1] = x[0]
        return np.sum(v)

    for f in (written_later, made_before):
        with pytest.raises(RecordError):
            grad(f)(x)


def test_transforms_along_two_axes_and_special_functions():
    a = np.random.default_rng(2).normal(size=(4, 6))
    for f in (
        lambda a: np.abs(np.fft.fft2(a)) ** 2,
        lambda a: np.fft.irfft2(np.fft.rfft2(a, norm="ortho") * 2.0),
        lambda a: np.real(np.fft.ifftn(np.fft.fftn(a, axes=(0,)) * 1j, axes=(0,))),
        lambda a: np.fft.irfftn(np.fft.rfftn(a, s=(3, 4), axes=(0, 1))),
    ):
        assert np.array_equal(record(f)(a).value, f(a))
        check_grads(f, a, order=1, modes=["reverse"], show=False)
    sp = scipy.special
    f = lambda x: sp.digamma(x) * sp.polygamma(2, x) + sp.j0(x) * sp.j1(x) * sp.jv(1.5, x)
    check_grads(f, X**2 + 1, show=False)
