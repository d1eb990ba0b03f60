"""Operations of the user's own: what is recorded, and for which callables."""

from __future__ import annotations

import copy
import ctypes
import ctypes.util
import functools
import inspect
import math
import pickle
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import oracle
import pytest
import scipy.special
from checking import faithful
from primitives import W, X, cube, own, refused, refused_back, scaled

from autograd_frontend import grad, primitive, record
from autograd_frontend.callables import OWN, TABLE, of

# What it computes


POINTS = [X, 2.0, np.float64(1.5), np.array(3.0), W, W.T, X[::2], np.zeros(0), np.zeros((2, 0))]
OTHERS = [np.float32(1.5), X.astype(np.float32), X.astype(np.longdouble), np.float16(2.0)]


@pytest.mark.parametrize("x", POINTS, ids=repr)
def test_value_and_gradient_of_a_decorated_function(x):
    faithful(lambda x: cube(x) * 2, x)


@pytest.mark.parametrize("x", OTHERS, ids=repr)
def test_other_element_types_keep_their_own(x):
    r = record(cube)(x)
    assert oracle.same_bits(r.value, x**3)
    g = r.backward()
    assert type(g) is type(x) and g.dtype == x.dtype
    np.testing.assert_allclose(np.asarray(g, float), 3 * np.asarray(x, float) ** 2, rtol=1e-3)


def test_exact_numbers():
    assert record(cube)(Fraction(1, 3)).backward() == Fraction(1, 3)
    assert record(cube)(Decimal("0.5")).backward() == Decimal("0.75")
    rounded = own(lambda x: x * x, lambda g, y, x: 2.0 * float(x))
    assert record(lambda x: rounded(x))(Fraction(1, 4)).backward() == Fraction(1, 2)
    assert record(lambda x: rounded(x))(Decimal("0.25")).backward() == Decimal("0.5")


def test_outside_of_a_recording_it_is_the_function():
    assert cube(2.0) == 8.0 and cube(3) == 27 and type(cube(3)) is int
    assert cube.__name__ == "cube" and cube.__wrapped__(2.0) == 8.0
    assert repr(cube) == "<primitive cube: pullback>"
    assert copy.deepcopy(cube) is cube and copy.copy(cube) is cube and pickle.loads(pickle.dumps(cube)) is cube


def test_an_integer_is_plain_data():
    assert record(lambda x: cube(3) * x)(2.0).backward() == 27.0


def test_one_gradient_is_that_of_the_first_argument():
    assert record(lambda x: scaled(x, 3))(2.0).backward() == 3.0
    assert record(lambda x: scaled(k=3.0, x=x))(2.0).backward() == 3.0
    error = refused_back(lambda x, k: scaled(x, k), 2.0, 3.0)
    assert error.reason == "the pullback of scaled gives no gradient for k, which is recorded; expected a float"
    assert refused_back(lambda k: scaled(2.0, k), 3.0).reason == error.reason


def test_several_arguments_have_a_tuple_of_gradients():
    calls = []
    product = own(lambda a, b, label: a @ b, lambda g, y, a, b, label: calls.append(1) or (g @ b.T, a.T @ g, None))
    faithful(lambda a, b: np.sin(product(a, b, "label")), W, W.T)
    assert len(calls) == 1  # for both arguments
    faithful(lambda a: product(a, W.T, 3), W)
    faithful(lambda a: product(a, a.T, None), W)
    faithful(lambda a: (product(a, a.T, None) * product(a, W.T, None)).sum(), W)


def test_keyword_only_arguments_and_defaults():
    @own
    def power(x, base=2.0, *, n, m=1):
        return base * x ** (n * m)

    @power.pullback
    def _(g, y, x, base, *, n, m):
        return g * base * n * m * x ** (n * m - 1), g * y / base

    faithful(lambda x: power(x, n=2), X)
    faithful(lambda x, b: power(x, b, n=2, m=2), X[0], 3.0)
    faithful(lambda x: power(base=x, x=1.5, n=3), 2.0)
    error = refused(lambda x: power(1.0, n=x), 2.0)
    assert error.reason == "n of power is recorded, but a keyword-only argument is plain data"
    assert error.remedy == "Make it a positional one."


def test_any_number_of_arguments():
    @own
    def total(*xs, **weights):
        return sum(x * weights.get("w", 1) for x in xs)

    @total.pullback
    def _(g, y, *xs, **weights):
        return tuple(g * weights.get("w", 1) for _ in xs)

    faithful(lambda x, y: total(x, y, x, 2, w=3), 1.5, 0.5)
    faithful(lambda x: total(x), 1.5)
    assert record(lambda *xs: total(*xs))(*[float(i) for i in range(150)]).backward() == (1.0,) * 150


def test_several_results():
    Pair = namedtuple("Pair", "norm direction count")

    @own
    def polar(x):
        r = np.sqrt(x @ x)
        return Pair(r, x / r, len(x))

    @polar.pullback
    def _(g, y, x):
        gr, gd, gc = g
        assert gc is None and type(gr) is np.float64 and gd.shape == x.shape
        return gr * y.direction + (gd - y.direction * (gd @ y.direction)) / y.norm

    faithful(lambda x: polar(x).norm, X)
    faithful(lambda x: polar(x).direction[1:] * 2, X)
    faithful(lambda x: polar(x), X)

    def both(x):
        r, d, n = polar(x)
        return r * np.sin(d) * n + np.sin(d)

    faithful(both, X)
    listed = own(lambda x: [x * x, x * 2.0], lambda g, y, x: 2 * x * g[0] + 2 * g[1])
    faithful(lambda x: listed(x), 1.5)
    assert type(record(lambda x: listed(x))(1.5).value) is list


def test_results_without_a_derivative_are_plain_data():
    rank = own(lambda x: int(np.argmax(x)), lambda g, y, x: None)
    assert record(lambda x: x[rank(x)] * 2)(X).backward().tolist() == [0, 0, 2]
    mask = own(lambda x: (x > 0, "text", None), lambda g, y, x: None)
    assert record(lambda x: x[mask(x)[0]].sum())(X).backward().tolist() == [1, 0, 1]


def test_containers_are_arguments():
    @own
    def network(layers, x):
        for layer in layers:
            x = np.tanh(layer["w"] @ x + layer["b"])
        return x

    @network.pullback
    def _(g, y, layers, x):
        xs = [x]
        for layer in layers:
            xs.append(np.tanh(layer["w"] @ xs[-1] + layer["b"]))
        found = []
        for layer, x, y in zip(layers[::-1], xs[-2::-1], xs[::-1]):
            g = g * (1 - y * y)
            found.append({"w": np.outer(g, x), "b": g, "name": None})
            g = layer["w"].T @ g
        return found[::-1], g

    layers = [{"w": W, "b": X[:2], "name": "first"}, {"w": W.T, "b": X, "name": "second"}]
    faithful(lambda layers, x: network(layers, x), layers, X)
    faithful(lambda x: network([{"w": W * x[0], "b": X[:2], "name": "n"}], x), X)
    pair = own(lambda p: p[0] * p[1], lambda g, y, p: (g * p[1], g * p[0]))
    faithful(lambda p: pair(p), (2.0, 3.0))
    faithful(lambda p: pair([p, X]), X)


def test_methods():
    class Model:
        scale = 3.0

        @primitive
        def apply(self, x):
            return self.scale * x

        @apply.pullback
        def _(g, y, self, x):
            return None, g * self.scale

    model = Model()
    faithful(lambda x: model.apply(x) + Model.apply(model, x), X)
    model.scale = 2.0
    error = refused(lambda x: setattr(model, "scale", x) or model.apply(1.0 * x), 2.0)
    assert error.reason == "self of apply is a Model that holds recorded values"


def test_only_the_arguments_that_wrt_names_have_gradients():
    @own(wrt="b")
    def product(a, b):
        return a * b

    @product.pullback
    def _(g, y, a, b):
        return g * a

    faithful(lambda b: product(3.0, b), X)
    assert refused(lambda a: product(a, 2.0), 3.0).reason == (
        "a of product is recorded, and product has a gradient for b only"
    )
    two = own(lambda k, a, b: a * b * k, lambda g, y, k, a, b: (g * b * k, g * a * k), wrt=("a", 2))
    faithful(lambda a, b: two(2, a, b), 1.5, 2.5)
    for wrong in ("c", 7, -1, 1.0):
        with pytest.raises(ValueError, match=r"wrt=.*: product has the parameters a, b"):
            primitive(product.__wrapped__, wrt=wrong, replace=True)


# Callables of others


def test_a_callable_of_somebody_else():
    zeta = primitive(
        scipy.special.zeta, pullback=lambda g, y, x, q: (None, g * -x * scipy.special.zeta(x + 1, q)), check=True
    )
    try:
        faithful(lambda q: scipy.special.zeta(3.0, q), np.array([1.5, 2.5]))
        faithful(lambda q: zeta(3.0, q), 1.5)
        assert "no gradient for x" in refused(lambda x: scipy.special.zeta(x, 1.0), 3.0).reason
        error = refused(lambda q: scipy.special.zeta(3.0, q, np.zeros(2)), X[::2])
        assert "this form of zeta cannot be recorded" in error.reason
        with pytest.raises(ValueError, match="zeta has a rule already; pass replace=True to use yours in its place"):
            primitive(scipy.special.zeta, pullback=lambda g, y, x, q: (None, g))
    finally:
        del TABLE[scipy.special.zeta], TABLE[zeta]


def test_a_ufunc_is_elementwise():
    jv = primitive(scipy.special.spence, pullback=lambda g, y, z: -g * np.log(z) / (z - 1))
    try:
        assert jv.elementwise and str(inspect.signature(jv)) == "(z, /)"
        faithful(lambda z: scipy.special.spence(z), np.array([0.5, 2.0]))
        faithful(jv, 2.5)
        r = record(lambda z: np.where(z > 0, scipy.special.spence(z), 0.0))(np.array([0.0, 2.0]))
        assert r.backward()[0] == 0.0  # -log(0) is multiplied by an exact zero
        error = refused(lambda z: scipy.special.spence(z, dtype=np.float32), X)
        assert "this form of spence cannot be recorded" in error.reason
    finally:
        del TABLE[scipy.special.spence], TABLE[jv]


def test_a_builtin_rule_is_replaced_only_when_asked():
    before = of(np.sinc)
    for fn in (np.sin, math.sin, np.sum, len, np.meshgrid):
        with pytest.raises(ValueError, match="has a rule already"):
            primitive(fn, pullback=lambda g, y, *x: g)
    try:
        mine = primitive(np.sinc, pullback=lambda g, y, x: g * 100.0, replace=True)
        assert record(lambda x: np.sinc(x))(0.5).backward() == 100.0
    finally:
        TABLE[np.sinc] = before
        del TABLE[mine]
    assert record(lambda x: np.sinc(x))(0.5).backward() != 100.0


def test_a_function_that_was_refused_or_followed_before():
    def followed(x):
        return x * x

    def f(x):
        return followed(x)

    assert record(f)(3.0).backward() == 6.0
    primitive(followed, pullback=lambda g, y, x: g * 100)
    assert record(f)(3.0).backward() == 100.0
    assert "there is no derivative rule" in refused(lambda x: scipy.special.wofz(x).sum(), X).reason
    wofz = primitive(scipy.special.wofz, pullback=lambda g, y, z: g)
    try:
        assert refused(lambda x: scipy.special.wofz(x), X).reason == "wofz of complex numbers cannot be recorded"
    finally:
        del TABLE[scipy.special.wofz], TABLE[wofz]


def test_local_primitives_leave_nothing_behind():
    def once():
        p = own(lambda x: x * x, lambda g, y, x: 2 * g * x)
        return record(lambda x: p(x))(2.0).backward()

    once()
    size = len(TABLE)
    assert once() == 4.0 and len(TABLE) == size


def test_a_wrapper_is_not_what_it_wraps():
    inner = own(lambda x: x * x, lambda g, y, x: g * 100)

    @functools.wraps(inner.__wrapped__)
    def wrapper(x):
        return 2 * inner(x)

    assert record(lambda x: wrapper(x))(1.0).backward() == 200.0


def test_where_programs_meet_it():
    faithful(lambda x: sum(map(cube, x)), [1.0, 2.0])
    faithful(lambda x: sorted(x, key=cube)[0] * 1.0, [2.0, 1.0])
    faithful(lambda x: functools.partial(cube)(x), X)
    faithful(functools.partial(cube), X)
    assert record(cube)(2.0).backward() == 12.0 == grad(cube)(2.0)
    text = repr(record(lambda x: cube(x) * 2)(X).tape)
    assert "cube" in text


# Derivatives of derivatives


def test_rules_are_recorded_for_the_second_derivative():
    assert grad(grad(cube))(2.0) == 12.0
    assert grad(grad(grad(cube)))(2.0) == 6.0
    second = grad(lambda x: (grad(lambda x: cube(x).sum())(x) ** 2).sum())
    np.testing.assert_allclose(second(X), 36 * X**3)
    several = own(lambda a, b: (a * b, np.sin(a)), lambda g, y, a, b: (g[0] * b + g[1] * np.cos(a), g[0] * a))

    def f(a, b):
        u, v = several(a, b)
        return (u * u * v).sum()

    def plain(a, b):
        return (a * b * a * b * np.sin(a)).sum()

    for k in (0, 1):
        first = [grad(lambda a, b, h=h: (grad(h, k)(a, b) ** 2).sum(), 0)(X, X[::-1]) for h in (f, plain)]
        np.testing.assert_allclose(*first, rtol=1e-12)


def test_a_function_of_a_c_library():
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    for f in (library.j0, library.j1):
        f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double]
    assert "there is no derivative rule" in refused(lambda x: library.j0(x), 1.5).reason
    j0 = primitive(library.j0, pullback=lambda g, y, x: -g * library.j1(x), check=True)
    try:
        for f in (lambda x: library.j0(x) * 2, lambda x: j0(x) * 2):
            faithful(f, 1.5)
        with pytest.raises(ValueError, match="j0 has a rule already"):
            primitive(library.j0, pullback=lambda g, y, x: g)
    finally:
        del OWN[id(library.j0)], TABLE[j0]


def test_what_it_gives_may_be_written_into():
    def f(x):
        y = cube(x)
        y[0] = 3.0
        z = cube(y)
        y[1] *= 2
        return z * y

    faithful(f, X)
    two = own(lambda a: (a * a, np.sin(a)), lambda g, y, a: 2 * a * g[0] + np.cos(a) * g[1])

    def parts(x):
        u, v = two(x)
        u[0] = v[1]
        v *= u
        return u + v, v[::2]

    faithful(parts, X)
