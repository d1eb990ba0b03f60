"""Tangents through primitives: those of the rule, for one result and several, and never zero for want of a rule."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from primitives import X, own

from autograd_frontend import RecordError, hessian, hvp, jacfwd, jacrev, jvp

V = np.array([0.3, -0.2, 0.7])
BY_RESULT = own(np.exp, lambda g, y, x: g * y, tangent=lambda t, y, x: t * np.exp(x))
BY_ARGUMENT = own(np.exp, lambda g, y, x: g * np.exp(x), tangent=lambda t, y, x: t * y)
SUM = own(lambda a, b: a + b, lambda g, y, a, b: (g, g), tangent=lambda t, y, a, b: t[0] + t[1])
DATA = own(lambda x, k: x * k, lambda g, y, x, k: (g * k, None), tangent=lambda t, y, x, k: t[0] * k)
CHOSEN = own(lambda k, x: x * k, lambda g, y, k, x: g * k, wrt="x", tangent=lambda t, y, k, x: t * k)
ENTRYWISE = own(lambda a, b: a * b, lambda g, y, a, b: (g * b, g * a), elementwise=True)
PAIR = own(
    lambda p: p["a"] * p["b"],
    lambda g, y, p: {"a": g * p["b"], "b": g * p["a"]},
    tangent=lambda t, y, p: t["a"] * p["b"] + p["a"] * t["b"],
)
TWO = own(
    lambda x: (np.exp(x), 7, x @ x),
    lambda g, y, x: g[0] * y[0] + 2.0 * g[2] * x,
    tangent=lambda t, y, x: (t * y[0], None, 2.0 * x @ t),
)
FIRST = own(lambda x: (x * 2.0, x * 3.0), lambda g, y, x: 2.0 * g[0] + 3.0 * g[1], tangent=lambda t, y, x: (2.0 * t, 0))


def buffered(x):
    y = x * 2.0
    a, _, b = TWO(y)
    y[0] = 5.0
    return a * y + b


FUNCTIONS = {
    "by_result": lambda x: BY_RESULT(x), "by_argument": lambda x: BY_ARGUMENT(x), "number": lambda x: BY_RESULT(x[1]),
    "sum": lambda x: SUM(x, x * x), "sum_with_data": lambda x: SUM(2.0, x), "data": lambda x: DATA(x, 3.0),
    "chosen": lambda x: CHOSEN(4.0, x), "entrywise": lambda x: ENTRYWISE(x, np.sin(x)),
    "broadcast": lambda x: ENTRYWISE(x, x[0]), "pair": lambda x: PAIR({"a": x, "b": x * x}),
    "two": lambda x: TWO(x)[0] * TWO(x)[2], "second": lambda x: TWO(x * x)[2] * x, "written": buffered,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_modes_agree(name):
    f = FUNCTIONS[name]
    want = jacrev(f)(X)
    assert np.abs(want).max() > 0
    assert_allclose(jacfwd(f)(X), want, rtol=1e-12, atol=1e-14)
    value, tangent = jvp(f, (X,), (V,))
    np.testing.assert_array_equal(value, f(X.copy()))
    assert_allclose(tangent, want @ V, rtol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_are_those_of_the_gradient(name):
    f = FUNCTIONS[name]

    def loss(x):
        y = f(x)
        return np.sum(y * y)

    step = 1e-5
    gradient = jacrev(loss)
    want = (gradient(X + step * V) - gradient(X - step * V)) / (2.0 * step)
    assert_allclose(hvp(loss)(X, V), want, rtol=1e-6, atol=1e-8)
    assert_allclose(hessian(loss)(X) @ V, want, rtol=1e-6, atol=1e-8)


def test_zero_may_be_written_as_zero():
    value, tangent = jvp(lambda x: FIRST(x), (X,), (V,))
    assert_allclose(tangent[0], 2.0 * V)
    assert tangent[1].tolist() == [0.0, 0.0, 0.0]


GIVEN = {"none": None, "text": "a", "column": X[:, None], "short": X[:2], "complex": X * 1j, "number": 1.0}


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_tangent_rule_gives_is_checked(name):
    given = GIVEN[name]
    p = own(lambda x: x * 2.0, lambda g, y, x: 2.0 * g, tangent=lambda t, y, x: given)
    with pytest.raises(RecordError, match="the tangent of local gives .*, expected a float64 array of shape"):
        jvp(lambda x: p(x), (X,), (V,))
    with pytest.raises(RecordError, match="for result 1, expected a float64 array of shape"):
        q = own(lambda x: (x, x), lambda g, y, x: g[0], tangent=lambda t, y, x: (t, given))
        jvp(lambda x: q(x), (X,), (V,))
