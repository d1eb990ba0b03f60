"""Primitives whose rules are compared with what the function does."""

from __future__ import annotations

import numpy as np
import pytest
from checking import faithful
from primitives import W, X, line_of, own, refused

from autograd_frontend import RecordError, record
from autograd_frontend.ops.block import Like

# Checking against differences


POINTS = [X, 2.0, np.float64(0.3), X.astype(np.float32), np.linspace(-2, 2, 100), np.zeros(0)]


@pytest.mark.parametrize("x", POINTS, ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
def test_right_rules_pass(x):
    p = own(np.exp, lambda g, y, x: g * y, tangent=lambda t, y, x: t * y, check=True)
    record(lambda x: p(x))(x).backward()
    assert len(p.seen) == 1
    record(lambda x: p(x))(x).backward()
    assert len(p.seen) == 1


def test_rules_of_many_forms_pass():
    dot = own(lambda a, b, n: (a @ b, a.sum() * n, n), check=True)
    dot.pullback(lambda g, y, a, b, n: (g[0] * b + g[1] * n, g[0] * a, None))
    dot.tangent(lambda t, y, a, b, n: (t[0] @ b + a @ t[1], t[0].sum() * n, None))
    record(lambda a, b: dot(a, b, 3)[:2])(X, X[::-1]).backward()
    wide = own(np.multiply, lambda g, y, a, b: (g * b, g * a), elementwise=True, check=True)
    record(lambda a, b: wide(a, b))(X, W).backward()
    record(lambda a, b: wide(a, b))(2.0, W[:, :1]).backward()
    record(lambda p: own(lambda p: p["a"] * p["b"], lambda g, y, p: {"a": g * p["b"], "b": g * p["a"]}, check=True)(p))(
        {"a": X, "b": 2 * X}
    )
    kink = own(abs, lambda g, y, x: g * np.sign(x), check=True)
    record(lambda x: kink(x))(np.array([0.0, 1.0]))
    edge = own(np.sqrt, lambda g, y, x: g / (2 * y), check=True)
    record(lambda x: edge(x))(np.array([1e-9, 1e9, 0.0]))
    constant = own(lambda x: 3.0 + 0 * x, lambda g, y, x: 0, check=True)
    record(lambda x: constant(x))(1.5)


@pytest.mark.parametrize("size", [3, 100, 5000])
@pytest.mark.parametrize("entry", [0, 1, -1])
def test_a_wrong_entry_is_found(size, entry):
    def rule(g, y, x):
        d = g * np.cos(x)
        d[entry] += 0.5
        return d

    sine = own(np.sin, rule, check=True)

    def f(x):
        return sine(x)  # here

    error = refused(f, np.linspace(0.1, 3.0, size))
    assert f"the pullback of local is wrong for x[{entry % size}]: it gives " in error.reason
    assert error.place.line == line_of(f)


def test_wrong_derivatives_are_named():
    x = np.array([[0.5, 1.0], [2.0, 3.0]])
    p = own(lambda x: x**2, lambda g, y, x: g * x, check=True)
    assert "wrong for x[0, 0]: it gives" in refused(lambda x: p(x), x).reason
    assert p.seen == set()
    scalar = own(lambda k, x: x**2 * k, lambda g, y, k, x: (None, g * x), check=True)
    error = refused(lambda x: scalar(1.0, x), 3.0)
    assert "the pullback of local is wrong for x: it gives " in error.reason
    nan = own(lambda x: x**2, lambda g, y, x: g * np.nan, check=True)
    assert "it gives nan" in refused(lambda x: nan(x), 3.0).reason
    ignored = own(lambda x: x**2, lambda g, y, x: 0, check=True)
    assert "it gives 0, differences give" in refused(lambda x: ignored(x), 3.0).reason
    tangent = own(lambda x: x**2, lambda g, y, x: 2 * g * x, tangent=lambda t, y, x: t * x, check=True)
    error = refused(lambda x: tangent(x), X)
    assert "the tangent of local is wrong for x, in entry [0] of the result: it gives" in error.reason
    flat = own(lambda x: x**2, lambda g, y, x: 2 * g * x, tangent=lambda t, y, x: t.sum(), check=True)
    want = "the tangent of local gives float64, expected a float64 array of shape (3,)"
    assert refused(lambda x: flat(x), X).reason == want
    boxed = own(lambda p: p[0] * p[1], lambda g, y, p: [g * p[1], g], check=True)
    assert "wrong for p[1]: it gives" in refused(lambda x: boxed([x, x]), 3.0).reason
    half = own(np.sin, lambda g, y, x: g * np.cos(x) * 1.01, check=True)
    assert "wrong for x[0]" in refused(lambda x: half(x), X.astype(np.float32)).reason


def test_random_functions_cannot_be_checked():
    rng = np.random.default_rng(0)
    p = own(lambda x: x * rng.random(), lambda g, y, x: g, check=True)
    assert refused(lambda x: p(x), 1.5).reason == "local gives another result when it is called again"


def test_a_checked_function_that_takes_one_element_type():
    def single(x):
        if x.dtype != np.float32:
            raise TypeError("float32 only")
        return np.sin(x)

    right = own(single, lambda g, y, x: g * np.cos(x), check=True)
    record(lambda x: right(x))(X.astype(np.float32)).backward()
    wrong = own(single, lambda g, y, x: g * np.sin(x), check=True)
    assert "is wrong for x[0]" in refused(lambda x: wrong(x), X.astype(np.float32)).reason


def test_the_shape_rule_is_compared_at_the_first_call():
    right = own(lambda x, k: np.tile(x, k), lambda g, y, x, k: (g.reshape(k, -1).sum(0), None))
    right.shape(lambda x, k: ((x.size * k,), x.dtype))
    faithful(lambda x: right(x, 2), X)
    assert right.operation.shape(Like((3,), np.dtype(float)), 2) == ((6,), np.dtype(float))
    wrong = own(lambda x: x[:2] * 1.0, lambda g, y, x: g, shape=lambda x: (x.shape, x.dtype))
    error = refused(lambda x: wrong(x), X)
    assert error.reason == (
        "the shape rule of local gives ((3,), dtype('float64')), and what comes is a float64 array of shape (2,)"
    )


def test_the_rest_is_kept_for_later():
    p = own(lambda x: np.exp(x), lambda g, y, x: g * y, cuda="exp(x)", tangent=lambda t, y, x: t * y)
    assert p.cuda == "exp(x)" and p.elementwise and set(p.rules) == {"pullback", "tangent"}
    assert p.rules["pullback"].function(2.0, 3.0, None) == 6.0
    with pytest.raises(RecordError, match="it has no shape"):
        p.operation.shape(Like((3,), float))
