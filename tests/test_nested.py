"""Derivatives taken inside recorded functions: gradients of gradients, of closures, of what writes into arrays."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose

from autograd_frontend import RecordError, grad, record, value_and_grad, vjp

X = np.array([0.3, -1.2, 2.0])
U = np.array([1.0, -2.0, 0.5])


def check(f, x=X, u=U, rtol=1e-6):
    """The gradient of <grad f, u> against differences of grad f; and that of the gradient of that, once more."""

    def slope(x):
        return np.sum(grad(f)(x) * u)

    def curvature(x):
        return np.sum(grad(slope)(x) * u)

    for g in (slope, curvature):
        got = grad(g)(x)
        want = [oracle.directional(g, (x,), (unit,), 1.0) for (unit,) in oracle.units((x,))]
        size = max(1.0, max(abs(e.value) for e in want))
        assert all(e.error < 1e-3 * size for e in want)
        assert_allclose(np.ravel(got), [e.value for e in want], rtol=0, atol=(rtol + 1e-6) * size)


def test_powers_to_order_five():
    f = lambda x: x**6
    wants = [6 * 2.0**5, 30 * 2.0**4, 120 * 2.0**3, 360 * 2.0**2, 720 * 2.0]
    for want in wants:
        f = grad(f)
        assert f(2.0) == want


def test_scalars_through_math():
    f = lambda x: math.sin(x) * math.exp(-x) + x**3 / (1.0 + x)
    second, third = grad(grad(f)), grad(grad(grad(f)))
    x = 0.7
    s, c, e = math.sin(x), math.cos(x), math.exp(-x)
    assert_allclose(second(x), -2 * c * e + 2 - 2 / (1 + x) ** 3, rtol=1e-13)
    assert_allclose(third(x), 2 * e * (s + c) + 6 / (1 + x) ** 4, rtol=1e-13)
    assert type(second(x)) is float and type(second(np.float64(x))) is np.float64


def test_a_zero_cotangent_still_has_a_derivative():
    assert grad(grad(lambda x: (x - 1.0) ** 2))(1.0) == 2.0
    assert grad(grad(lambda x: (x - 1.0) * (x - 1.0)))(1.0) == 2.0
    h = lambda x: np.sum(grad(lambda x: np.sum((x - X) ** 2))(x) * U)
    assert_allclose(grad(h)(X.copy()), 2 * U)


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y * y)(3.0))(1.0) == 12.0
    assert grad(lambda x: grad(lambda y: grad(lambda z: x * y * z)(x) * y)(x))(2.0) == 8.0
    f = lambda x: np.sum(x * grad(lambda y: np.sum(x * y**2))(x))
    assert_allclose(grad(f)(X), 6 * X**2)


def test_the_inner_argument_is_not_the_outer_one():
    """What the inner function captures is a constant of the inner derivative."""

    def f(x):
        return grad(lambda y: x * y + x * x)(x) + 0.0 * x

    assert f(3.0) == 3.0
    assert record(f)(3.0).value == 3.0
    assert grad(f)(3.0) == 1.0


def test_arrays_operations():
    check(lambda x: np.sum(np.exp(x) * x**2))
    check(lambda x: np.log(np.sum(np.exp(x))) + np.linalg.norm(x))
    check(lambda x: np.sum(np.outer(x, x) @ np.sin(x)) / (1.0 + x @ x))


def test_loops_branches_and_helpers():
    def helper(a, b):
        return a * b if a > b else np.sin(a) + b

    def f(x):
        total = 0.0
        for k in range(4):
            for e in x:
                if e > 0.13 * k:
                    total = total + helper(e, total) ** 2
                else:
                    total = total - e * e * e
        while total > 5.0:
            total = total / 2.0
        return total

    check(f)


def test_writes_into_arrays():
    def f(x):
        a = np.zeros(3)
        for i in range(3):
            a[i] = x[i] ** 3
        a[1:] *= a[:-1]
        b = a[::-1]
        b[0] += x[0]
        a[[0, 1]] = a[[1, 0]] * x[:2]
        np.add.at(a, [0, 0, 2], x)
        c = np.stack([a, b])
        c[:, 1:] = c[:, :-1] ** 2
        return np.sum(c * c.T[:, ::-1].T)

    check(f, rtol=1e-5)


def test_saved_then_written():
    def f(x):
        y = x * x
        z = y * y
        y[0] = 7.0
        y *= x
        w = np.exp(-y)
        y[...] = 0.0
        return np.sum(z * w)

    check(f)


def test_written_between_the_inner_run_and_its_pullback():
    def outer(x):
        y = x * 1.0
        value, pull = vjp(lambda z: np.sum(z**3 * y), y)
        y[:] = 0.0
        return np.sum(pull(1.0) * U) + value

    def want(x):
        return np.sum(3 * x**3 * U) + np.sum(x**4)

    r = record(outer)(X.copy())
    assert_allclose(r.value, want(X))
    assert_allclose(r.backward(), 9 * X**2 * U + 4 * X**3)


def test_a_function_that_writes_into_its_argument_is_refused_inside():
    def f(x):
        x[0] = x[1] * 2.0
        return np.sum(x * x)

    with pytest.raises(RecordError, match="writes into its argument"):
        record(lambda x: np.sum(grad(f)(x * 1.0)))(X.copy())

    def g(p):
        p["a"] = 2.0 * p["a"]
        return p["a"] ** 2

    with pytest.raises(RecordError, match="writes into its argument"):
        record(lambda x: grad(g)({"a": x})["a"])(1.0)


def test_captured_arrays_of_the_outer_function_are_written_inside():
    def outer(x):
        kept = np.zeros(2)

        def inner(y):
            kept[0] = y * x[0]
            kept[1] = kept[0] ** 2
            return kept[1] * y

        slope = grad(inner)(x[1])
        return slope + kept[0]

    # kept[1]*y = (y*a)**2*y; derivative 3*a*a*y*y; plus kept[0] = y*a
    r = record(outer)(np.array([2.0, 3.0]))
    assert r.value == 3 * 4 * 9 + 6
    assert_allclose(r.backward(), [6 * 2 * 9 + 3, 6 * 4 * 3 + 2])


def test_pullbacks_with_recorded_cotangents():
    def f(x):
        return np.sin(x) * x

    def outer(x):
        y, pull = vjp(f, x)
        return np.sum(pull(y * y))

    def plain(x):
        return np.sum((np.sin(x) * x) ** 2 * (np.cos(x) * x + np.sin(x)))

    assert_allclose(grad(outer)(X), grad(plain)(X), rtol=1e-12)
    with pytest.raises(ValueError, match="shape"):
        record(lambda x: np.sum(vjp(f, x)[1](x[:2])))(X)


def test_containers_names_and_aux():
    @dataclasses.dataclass
    class Model:
        weights: np.ndarray
        scale: float

    def loss(model, data):
        return np.sum((model.weights * data["x"]) ** 2) * model.scale

    def outer(w, s):
        g = grad(loss)(Model(w, s), {"x": X})
        return np.sum(g.weights * U) + g.scale

    g = grad(outer, wrt=("w", "s"))(U, 2.0)
    assert_allclose(g[0], 2 * 2.0 * X**2 * U + 2 * U * X**2)
    assert_allclose(g[1], 2 * np.sum(U * X**2 * U))

    def with_aux(a, b):
        (value, aux), (da, db) = value_and_grad(lambda a, b: (a * a * b, a + b), wrt=("a", "b"), has_aux=True)(a, b)
        return value + aux * da + db

    # a²b + (a + b)·2ab + a²
    r = record(with_aux)(3.0, 2.0)
    assert r.value == 9 * 2 + 5 * 12 + 9
    assert tuple(r.backward()) == (12 + (12 + 5 * 4) + 6, 9 + (12 + 5 * 6))


def test_exact_types():
    f = lambda x: x * x * x / (x + 1)
    x = Fraction(2, 3)
    second = grad(grad(f))(x)
    assert type(second) is Fraction and second == 2 - 2 / (x + 1) ** 3
    assert type(grad(grad(f))(Decimal("0.5"))) is Decimal
    g = grad(lambda x: np.sum(grad(lambda x: np.sum(x**3))(x)))(X.astype(np.float32))
    assert g.dtype == np.float32
    assert_allclose(g, 6 * X, rtol=1e-6)
    narrow = grad(grad(lambda x: x**3))(np.float32(2.0))
    assert type(narrow) is np.float32 and narrow == 12.0


def test_what_does_not_depend_on_the_outer_function_stays_plain():
    seen = []

    def outer(x):
        g = grad(lambda y: y**3)(2.0)
        seen.append(g)
        return g * x

    r = record(outer)(3.0)
    assert type(seen[0]) is float and r.value == 36.0 and r.backward() == 12.0


def test_values_are_those_of_the_plain_call_bit_for_bit():
    def step(x):
        return x - 0.1 * grad(lambda x: np.sum(np.tanh(x) ** 2) + np.prod(x))(x)

    def outer(x):
        for _ in range(3):
            x = step(x)
        return x

    assert oracle.same_bits(record(outer)(X).value, outer(X))
    scalar = lambda x: x - grad(lambda y: math.tanh(y) * math.log1p(y * y) / y)(x)
    assert oracle.same_bits(record(scalar)(0.37).value, scalar(0.37))


def test_learning_to_learn():
    """The derivative of the result of gradient descent with respect to its step size."""
    a, b = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([1.0, -1.0])
    loss = lambda w: 0.5 * w @ a @ w - b @ w

    def trained(step):
        w = np.zeros(2)
        for _ in range(5):
            w = w - step * grad(loss)(w)
        return loss(w)

    estimate = oracle.directional(trained, (0.2,), (1.0,), 1.0)
    assert_allclose(grad(trained)(0.2), estimate.value, rtol=1e-8)


def test_exceptions_leave_the_recording_as_it_was():
    def bad(y):
        if y > 0:
            raise KeyError("inner")
        return y

    def outer(x):
        try:
            grad(bad)(x)
        except KeyError:
            return x * x
        return x

    r = record(outer)(3.0)
    assert r.value == 9.0 and r.backward() == 6.0
    with pytest.raises(TypeError, match="scalar value"):
        record(lambda x: grad(lambda y: y * 2.0)(x))(X)
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_special_points_keep_their_zero():
    f = lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)) * np.log(np.abs(x)), x * x))
    h = lambda x: np.sum(grad(f)(x))
    x = np.array([0.0, -1.0, 4.0])
    with np.errstate(all="ignore"):
        got = grad(h)(x)
    assert np.all(np.isfinite(got)) and got[0] == 2.0 and got[1] == 2.0
