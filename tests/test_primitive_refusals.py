"""Primitives: what is missing or wrong is refused by name, and memory is nobody else's."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
import oracle
import pytest
import scipy.special
from checking import faithful
from primitives import W, X, cube, line_of, own, refused, refused_back, scaled

from autograd_frontend import RecordError, primitive, record

# What is missing or wrong


def test_a_missing_pullback_is_named():
    @own
    def bare(x, k=1):
        return x

    def f(x):
        return bare(x) * 2  # here

    error = refused(f, X)
    assert error.reason == "bare is given a recorded value, and it has no pullback"
    assert error.remedy == (
        "Register one: @bare.pullback on a function of (g, y, x, k), or primitive(..., pullback=...)."
    )
    assert error.place.line == line_of(f)
    assert record(lambda x: bare(2.0) * x)(1.0).backward() == 2.0


def test_rules_with_other_parameters_are_refused_at_once():
    def f(x, k, *, n):
        return x

    p = own()(f)
    with pytest.raises(TypeError) as caught:
        p.pullback(lambda g, x: g)
    assert str(caught.value) == "the pullback of f has the parameters (g, x), expected (g, y, x, k, *, n)"
    with pytest.raises(TypeError, match=r"the tangent of f has the parameters \(t\), expected \(t, y, x, k, \*, n\)"):
        p.tangent(lambda t: t)
    with pytest.raises(TypeError, match=r"the shape of f has the parameters \(x\), expected \(x, k, \*, n\)"):
        p.shape(lambda x: x)
    with pytest.raises(TypeError, match="the pullback of f has to be a function, not float"):
        p.pullback(1.0)
    p.pullback(lambda g, y, x, k, n: g)
    with pytest.raises(ValueError, match="f has a pullback already"):
        p.pullback(lambda g, y, x, k, n: g)
    with pytest.raises(TypeError, match=r"the pullback of wofz has .* \(g, y, a, b\), expected \(g, y, x1\)"):
        primitive(scipy.special.wofz, pullback=lambda g, y, a, b: g)
    with pytest.raises(TypeError, match="primitive takes a function, not int"):
        primitive(3)
    with pytest.raises(TypeError, match="primitive takes a plain function, not <recorded function"):
        primitive(record(f))
    with pytest.raises(TypeError, match="ndarray.sum is a method of a type; write a function"):
        primitive(np.ndarray.sum)
    with pytest.raises(TypeError, match="cuda is the value of one entry"):
        primitive(f, cuda="x", elementwise=False)
    with pytest.raises(TypeError, match="cuda has to be a CUDA expression as text, not int"):
        primitive(f, cuda=3)


ARRAY = "a float64 array of shape (3,)"
SHAPE = "Return the gradient of <g, y> for each argument, in the shape of the argument."
WRONG = {
    "sum": (lambda g, y, x, k: (g.sum(), None), f"gives float64 for x, expected {ARRAY}"),
    "shape": (lambda g, y, x, k: (g[:2], None), f"gives float64 array of shape (2,) for x, expected {ARRAY}"),
    "column": (lambda g, y, x, k: (g[:, None], None), f"gives float64 array of shape (3, 1) for x, expected {ARRAY}"),
    "complex": (lambda g, y, x, k: (g * 1j, None), f"gives complex128 array of shape (3,) for x, expected {ARRAY}"),
    "bool": (lambda g, y, x, k: (x > 0, None), f"gives bool array of shape (3,) for x, expected {ARRAY}"),
    "object": (lambda g, y, x, k: (g.astype("O"), None), f"gives object array of shape (3,) for x, expected {ARRAY}"),
    "list": (lambda g, y, x, k: (list(g), None), f"gives list of 3 for x, expected {ARRAY}"),
    "none": (lambda g, y, x, k: None, f"gives no gradient for x, which is recorded; expected {ARRAY}"),
    "data": (lambda g, y, x, k: (None, g), f"gives no gradient for x, which is recorded; expected {ARRAY}"),
    "text": (lambda g, y, x, k: ("g", None), f"gives str for x, expected {ARRAY}"),
    "count": (lambda g, y, x, k: (g, g, g), "gives 3 gradients, expected 2, for x, k"),
    "one": (lambda g, y, x, k: (g,), "gives 1 gradients, expected 2, for x, k"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_pullback_gives_is_checked(name):
    rule, said = WRONG[name]
    mine = own(lambda x, k: x * k, rule)
    mine.name = "mine"

    def f(x):
        return mine(x, 2.0)  # here

    error = refused_back(f, X)
    assert error.reason == f"the pullback of mine {said}"
    assert error.place.line == line_of(f) and error.place.filename == __file__
    if name in ("sum", "shape", "complex", "text"):
        assert error.remedy == SHAPE


def test_gradients_of_numbers_are_checked():
    vector = own(lambda x: x * 2.0, lambda g, y, x: np.array([2.0, 3.0]))
    error = refused_back(lambda x: vector(x), 1.5)
    assert error.reason.endswith("gives float64 array of shape (2,) for x, expected a float")
    flag = own(lambda x: x * 2.0, lambda g, y, x: True)
    assert refused_back(lambda x: flag(x), 1.5).reason.endswith("gives bool for x, expected a float")
    exact = own(lambda x: x * 2.0, lambda g, y, x: Fraction(1, 2))
    assert refused_back(lambda x: exact(x), 1.5).reason.endswith("gives Fraction for x, expected a float")


TWOS = [2, 2.0, np.float32(2.0), np.array(2.0), np.int64(2), (2.0,), np.longdouble(2)]


@pytest.mark.parametrize("given", TWOS, ids=repr)
def test_numbers_of_any_kind_become_the_arguments_own(given):
    double = own(lambda x: x * 2.0, lambda g, y, x: given)
    for x in (1.5, np.float64(1.5), np.float32(1.5), np.array(1.5)):
        g = record(lambda x: double(x))(x).backward()
        assert type(g) is type(x) and g == 2.0


def test_zero_may_be_written_as_zero():
    stop = own(lambda x, y: x * y, lambda g, y, a, b: (0, g * a))
    got = record(lambda a, b: stop(a, b))(X, W)
    with pytest.raises(RecordError, match="elementwise=True"):
        record(lambda b: stop(W, b))(X).backward()
    got = got.backward()
    assert oracle.same_bits(got.a, np.zeros(3)) and np.array_equal(got.b, np.broadcast_to(X, (2, 3)))


def test_elementwise_rules_broadcast():
    @own(elementwise=True)
    def product(a, b):
        return a * b

    @product.pullback
    def _(g, y, a, b):
        return g * b, g * a

    faithful(lambda a, b: product(a, b), X, W)
    faithful(lambda a, b: product(a, b), 2.0, W)
    faithful(lambda a, b: product(a, b), W[:, :1], X)
    faithful(lambda a, b: product(a, b), 2.0, np.float64(3.0))
    notso = own(lambda a: np.cumsum(a)[:2], lambda g, y, a: g, elementwise=True)
    assert "is elementwise, and gives a float64 array of shape (2,)" in refused(lambda a: notso(a), X).reason


def test_containers_and_objects_with_recorded_values_are_refused_by_name():
    f = own(lambda p: p[0] * 1.0, lambda g, y, p: [g])

    class Holder:
        def __init__(self, x):
            self.x = x

    assert refused(lambda x: f(Holder(x)), 1.5).reason == "p of local is a Holder that holds recorded values"
    assert refused(lambda x: f({x}), 1.5).reason == "p of local is a set that holds recorded values"
    assert refused(lambda x: f(lambda: x), 1.5).reason == "p of local is a function that holds recorded values"
    error = refused_back(lambda x: f([x, x]), 1.5)
    assert error.reason == "the pullback of local gives list for p, expected a list of 2"
    table = own(lambda p: {"a": p}, lambda g, y, p: g)
    error = refused(lambda x: table(x), 1.5)
    assert error.reason == "local gives a dict"
    assert error.remedy == "Return a number, an array, or a tuple of these."
    nested = own(lambda p: (p, [p]), lambda g, y, p: g)
    assert refused(lambda x: nested(x), 1.5).reason == "local gives a list in a tuple"


def test_recorded_values_that_are_not_arguments_are_refused():
    def f(x):
        inner = primitive(lambda y: y * x, pullback=lambda g, y, z: g)
        return inner(x * 2.0)

    error = refused(f, 2.0)
    assert "uses recorded values that are not among its arguments" in error.reason
    constant = 3.0
    faithful(lambda x: primitive(lambda y: y * constant, pullback=lambda g, y, z: g * constant)(x * 2.0), 2.0)


def test_errors_of_the_function_and_of_its_rules_come_out_as_they_are():
    def fails(x):
        raise KeyError("mine")

    p = own(fails, lambda g, y, x: g)
    with pytest.raises(KeyError, match="mine"):
        record(lambda x: p(x))(1.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        record(lambda x: scaled(x))(1.0)
    broken = own(lambda x: x, lambda g, y, x: {}["no"])
    with pytest.raises(KeyError, match="no"):
        record(lambda x: broken(x))(1.0).backward()


# Memory


def test_a_pullback_cannot_write_into_what_the_recording_holds():
    for rule in (lambda g, y, x: g.__imul__(2), lambda g, y, x: x.__imul__(2), lambda g, y, x: y.__imul__(2)):
        p = own(lambda x: x * 2.0, rule)
        with pytest.raises(ValueError, match="read-only") as caught:
            record(lambda x: p(x) + np.sin(x))(X).backward()
        assert caught.value.__notes__ == ["  The rules of local get read-only arrays: write into a copy."]


def test_a_function_that_writes_into_its_arguments_is_refused():
    def doubled(x, out):
        out[...] = 2 * x
        return out * 1.0

    p = own(doubled, lambda g, y, x, out: (2 * g, None))
    error = refused(lambda x: p(x, np.zeros(3)), X)
    assert error.reason == "doubled writes into its argument out" and error.remedy == "Let it write into a copy."


def test_what_was_saved_survives_later_writes():
    def f(x, a):
        a = a * 1.0
        y = cube(a)
        a[0] = 5.0
        b = np.array([1.0, 2.0, 3.0])
        y = y * scaled(x, b)
        b[:] = 0.0
        return y.sum()

    faithful(f, X, X[::-1].copy())
    x = X.copy()
    r = record(lambda x: cube(x))(x)
    x[:] = 0.0
    r.value[:] = 0.0
    assert np.array_equal(r.backward(), 3 * X**2)


def test_a_result_may_be_the_argument_itself_or_a_view_of_it():
    reverse = own(lambda x: x, lambda g, y, x: -g)
    x = X.copy()
    r = record(lambda x: reverse(x) * 1.0)(x)
    assert np.array_equal(r.backward(), -np.ones(3))
    r = record(lambda x: reverse(x))(x)
    assert r.value is not x and np.array_equal(r.value, x)
    x[:] = 7.0
    assert np.array_equal(r.value, X)
    part = own(lambda x: x[::2], lambda g, y, x: np.array([g[0], 0.0, g[1]]))
    faithful(lambda x: part(x) * part(x), X)

    def written(x):
        x = x * 1.0
        y = reverse(x)
        x[0] = 3.0
        return y.sum() + x.sum()

    refused(written, X)


def test_buffers_that_are_used_again():
    buffer, slopes = np.zeros(3), np.zeros(3)

    def square(x):
        np.multiply(x, x, out=buffer)
        return buffer

    def rule(g, y, x):
        np.multiply(g, 2 * x, out=slopes)
        return slopes

    p = own(square, rule)

    def f(x):
        a, b = p(x), p(x + 1.0)
        return a * a + a * b

    x = record(f)(X)
    assert np.array_equal(x.value, X**4 + X**2 * (X + 1) ** 2)
    np.testing.assert_allclose(x.backward(), 4 * X**3 + 2 * X * (X + 1) ** 2 + X**2 * 2 * (X + 1))


def test_only_what_the_pullback_uses_is_saved():
    import gc
    import weakref

    seen = []
    scale = own(lambda x: seen.append(weakref.ref(x)) or x * 2.0, lambda g, y, x: g * 2.0)

    def f(x):
        return scale(scale(np.ones(1000) * x)).sum()

    r = record(f)(2.0)
    gc.collect()
    assert [x() for x in seen] == [None, None]
    assert r.backward() == 4000.0
    assert cube.rules["pullback"].needs == (0,)
    assert scale.rules["pullback"].needs == ()
    looks = own(lambda x: x, lambda g, y, x: g * locals()["x"])
    assert record(lambda x: looks(x))(3.0).backward() == 3.0
    inner = own(lambda x: x, lambda g, y, x: g * (lambda: x)())
    assert record(lambda x: inner(x))(3.0).backward() == 3.0


def test_arrays_handed_on_are_not_added_into():
    both = own(lambda a, b: a + b, lambda g, y, a, b: (g, g))
    faithful(lambda a: both(a, a) + both(a, 2.0 * a) + a, X)


def test_python_arithmetic_that_raises_follows_ieee():
    root = own(lambda x: math.sqrt(x), lambda g, y, x: g * 0.5 / y)
    factor = own(lambda x: math.sqrt(x), lambda g, y, x: g * (0.5 / y))
    for p in (root, factor):
        assert record(lambda x: p(x))(0.0).backward() == math.inf


def test_threads():
    errors = []

    def work(k):
        try:
            for _ in range(20):
                p = own(lambda x: x * k, lambda g, y, x: g * k)
                assert record(lambda x: cube(p(x)))(2.0).backward() == 3 * (2.0 * k) ** 2 * k
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
