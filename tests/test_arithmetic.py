"""Elementwise arithmetic of the interface: `ops.add` to `ops.cos`. Reference values are in `golden.json`; here are the
conventions that it does not reach: element types, exact numbers, exact zeros, settings, messages."""

from __future__ import annotations

import math
from copy import copy
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from autograd_frontend import RecordError, grad, ops, record

inf, nan = math.inf, math.nan
TWO = ["add", "sub", "mul", "div", "max", "min"]
ONE = ["neg", "inv", "abs", "sqrt", "exp", "log", "sin", "cos"]
SET = {"scale": {"c": 2.5}, "clamp": {"lo": -0.5, "hi": 1.25}}
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values warn as NumPy does


def call(name, *operands):
    return getattr(ops, name)(*operands, **SET.get(name, {}))


def pull(f, *args, seed=None):
    r = record(f)(*args)
    return r.backward() if seed is None else r.pullback(seed)


def same(got, want):
    np.testing.assert_array_equal(got, want)
    assert np.array_equal(np.signbit(got), np.signbit(want))


# values, types and shapes


@pytest.mark.parametrize("name", [*ONE, *SET, *TWO])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_values_and_gradients_keep_the_element_type(name, dtype):
    x, y = np.array([0.5, 1.5, 3.0], dtype), np.array([[2.0], [0.25]], dtype)
    operands = (x, y) if name in TWO else (x,)
    v = call(name, *operands)
    r = record(lambda *operands: call(name, *operands))(*operands)
    assert v.dtype == r.value.dtype == dtype
    same(r.value, v)
    got = r.backward()
    for g, z in zip(got if name in TWO else (got,), operands):
        assert g.dtype == dtype and g.shape == z.shape
    scalar = call(name, *[z.flat[0] for z in operands])
    assert type(scalar) is dtype


@pytest.mark.parametrize("name", [*ONE, *SET, *TWO])
def test_lists_numbers_and_empty_arrays(name):
    given = [[0.5, 2.0], [1.0, 1.0]][: 2 if name in TWO else 1]
    same(call(name, *given), call(name, *[np.array(x) for x in given]))
    for x in (1.5, np.float64(1.5), np.array(1.5)):
        operands = [copy(x) for _ in given]
        r = record(lambda *z: call(name, *z))(*operands)
        assert type(call(name, *operands)) is np.float64 and type(r.value) is np.float64
        g = r.backward()
        assert all(type(d) is type(x) for d in (g if name in TWO else (g,)))
    empty = [np.zeros((0, 2))] * len(given)
    assert call(name, *empty).shape == (0, 2)
    g = record(lambda *z: call(name, *z))(*empty).backward()
    assert all(d.shape == (0, 2) for d in (g if name in TWO else (g,)))


def test_integers_are_plain_data_of_numpys_result_type():
    n = np.array([1, 2, 3], np.int32)
    assert ops.add(n, 1).dtype == ops.clamp(n, 0, 2).dtype == ops.abs(n).dtype == np.int32
    assert ops.div(n, n).dtype == ops.inv(n).dtype == ops.sqrt(n).dtype == ops.scale(n, 0.5).dtype == np.float64
    assert ops.sqrt(np.array([-4, 4])).tolist() == [0.0, 2.0]
    g = record(lambda x: ops.mul(x, n))(np.ones(3, np.float32)).backward()
    assert g.dtype == np.float32 and g.tolist() == [1, 2, 3]


def test_gradients_of_two_types_are_each_of_their_operands():
    g = pull(lambda a, b: ops.div(a, b), np.ones(3, np.float32), np.full((2, 1), 2.0))
    assert (g.a.dtype, g.a.shape, g.b.dtype, g.b.shape) == (np.float32, (3,), np.float64, (2, 1))
    assert g.a.tolist() == [1, 1, 1] and g.b.tolist() == [[-0.75], [-0.75]]


def test_a_setting_does_not_widen_the_element_type():
    x = np.array([0.1, 0.5, 3.0], np.float32)
    c = np.float64(0.1)
    assert ops.scale(x, c).dtype == ops.clamp(x, c, np.float64(1)).dtype == np.float32
    assert pull(lambda x: ops.scale(x, np.array(0.1)), x).dtype == np.float32
    g = pull(lambda x: ops.clamp(x, c, np.float64(1)), x)
    same(g, np.array([0, 1, 0], np.float32))  # 0.1 is the float32 bound itself


# exact numbers


@pytest.mark.parametrize("Number", [Fraction, Decimal])
def test_exact_numbers_stay_exact(Number):
    x, y = Number(3), Number(-8)
    third = Number(1) / Number(3)
    expected = {
        "add": (x + y, 1, 1), "sub": (x - y, 1, -1), "mul": (x * y, y, x), "div": (y / x, third, -(y / x / x)),
        "max": (x, 1, 0), "min": (y, 0, 1),
    }  # fmt: skip
    for name, (v, da, db) in expected.items():
        a, b = (y, x) if name == "div" else (x, y)
        assert call(name, a, b) == v and type(call(name, a, b)) is Number
        g = pull(lambda a, b: call(name, a, b), a, b)
        assert (g.a, g.b) == (da, db) and type(g.a) is type(g.b) is Number
    for name, z, v, d in (
        ("neg", x, -x, -1), ("scale", x, x * Number(2.5), 2.5), ("inv", x, third, -(third * third)),
        ("abs", y, -y, -1), ("clamp", x, 1.25, 0), ("clamp", third, third, 1), ("clamp", y, -0.5, 0),
    ):  # fmt: skip
        assert call(name, z) == v and type(call(name, z)) is Number
        g = pull(lambda z: call(name, z), z)
        assert g == d and type(g) is Number
    assert ops.clamp(x, -inf, inf) == x
    assert pull(lambda x: ops.max(x, x), x) == 1


def test_exact_numbers_have_no_function_that_is_not_rational():
    assert ops.sqrt(Decimal(2)) == Decimal(2).sqrt() and ops.exp(Decimal(1)) == Decimal(1).exp()
    assert pull(lambda x: ops.sqrt(x), Decimal(4)) == Decimal("0.25")
    for name in ("sqrt", "exp", "log", "sin", "cos"):
        with pytest.raises(TypeError, match=f"^{name}: .*Fraction"):
            call(name, Fraction(1, 2))
        with pytest.raises(TypeError, match=f"^{name}: .*Fraction"):
            record(lambda x: call(name, x))(Fraction(1, 2))


# special points


@quiet
def test_quotients_by_zero_follow_ieee_also_for_python_numbers():
    assert ops.div(1.0, 0.0) == inf and ops.div(-1.0, 0.0) == -inf and math.isnan(ops.div(0.0, 0.0))
    assert ops.inv(0.0) == inf and ops.inv(-0.0) == -inf and ops.inv(0) == inf
    g = pull(lambda a, b: ops.div(a, b), 1.0, 0.0)
    assert (g.a, g.b) == (inf, -inf)
    assert pull(lambda x: ops.inv(x), 0.0, seed=-2.0) == inf


def test_quotients_do_not_square_their_denominator():
    g = pull(lambda a, b: ops.div(a, b), np.array([1e250, 1e-200]), np.array([1e200, 1e-170]))
    np.testing.assert_allclose(g.b, [-1e-150, -1e140], rtol=1e-15)
    got = pull(lambda x: ops.inv(x), np.array([1e200, -1e-150]), seed=np.array([1e300, 1e-200]))
    np.testing.assert_allclose(got, [-1e-100, -1e100], rtol=1e-15)


def test_sqrt_is_zero_at_and_below_zero():
    x = np.array([-4.0, -0.0, 0.0, nan, inf, 4.0, -inf])
    same(ops.sqrt(x), np.array([0.0, 0.0, 0.0, nan, inf, 2.0, 0.0]))
    same(pull(lambda x: ops.sqrt(x), x), np.array([0, 0, 0, 0, 0, 0.25, 0]))
    got = pull(lambda x: ops.sqrt(x), x, seed=np.array([inf, nan, inf, inf, 1, inf, nan]))
    same(got, np.array([0, 0, 0, 0, 0, inf, 0]))
    assert ops.sqrt(-1.0) == 0.0 and pull(lambda x: ops.sqrt(x), -1.0) == pull(lambda x: ops.sqrt(x), 0.0) == 0.0


def test_abs_selects():
    x = np.array([0.0, -0.0, nan, 2.0, -2.0])
    same(pull(lambda x: ops.abs(x), x, seed=np.full(5, inf)), np.array([0, 0, 0, inf, -inf]))
    same(ops.abs(np.array([-0.0, -inf])), np.array([0.0, inf]))
    assert pull(lambda x: ops.abs(x), -0.0) == 0.0


def test_neg_of_zero_is_minus_zero():
    same(ops.neg(np.array([0.0, -0.0, inf])), np.array([-0.0, 0.0, -inf]))
    assert np.signbit(ops.neg(0.0))


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_and_unordered_pairs_share_by_halves(name):
    a = np.array([1.0, 0.0, -0.0, nan, 1.0, nan, inf, 2.0])
    b = np.array([1.0, -0.0, 0.0, 1.0, nan, nan, inf, 3.0])
    g = pull(lambda a, b: call(name, a, b), a, b)
    first = 0.0 if name == "max" else 1.0
    same(g.a, np.array([0.5] * 7 + [first]))
    same(g.b, np.array([0.5] * 7 + [1 - first]))
    np.testing.assert_array_equal(np.isnan(call(name, a, b)), np.isnan(a) | np.isnan(b))
    g = pull(lambda a, b: call(name, a, b), a, b, seed=np.full(8, inf))
    same(g.a, np.array([inf] * 7 + [inf if first else 0.0]))


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_reference_twice_gets_all_once(name, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    x = np.array([1.0, -2.0, nan, inf, 0.0], dtype)
    seed = np.array([tiny, 3 * tiny, -1.3, inf, nan], dtype)
    same(pull(lambda x: call(name, x, x), x, seed=seed), seed)
    assert pull(lambda x: call(name, x, x), 2.0, seed=5e-324) == 5e-324


def test_clamp_is_flat_at_its_ends_and_beyond():
    x = np.array([-0.5, 1.25, nan, -inf, inf, 0.0])
    seed = np.array([inf, inf, inf, nan, nan, -2.0])
    same(call("clamp", x), np.array([-0.5, 1.25, nan, -0.5, 1.25, 0.0]))
    same(pull(lambda x: call("clamp", x), x, seed=seed), np.array([0, 0, 0, 0, 0, -2.0]))
    same(ops.clamp(x, 2.0, -2.0), np.array([-2.0, -2.0, nan, -2.0, -2.0, -2.0]))
    same(pull(lambda x: ops.clamp(x, 2.0, -2.0), x), np.zeros(6))
    same(pull(lambda x: ops.clamp(x, nan, 1.0), x[3:]), np.zeros(3))
    same(pull(lambda x: ops.clamp(x, -inf, inf), x), np.array([1.0, 1, 0, 0, 0, 1]))


@quiet
def test_exact_zeros_stay_zero_beside_infinite_factors():
    zero = np.zeros(3)
    for f in (
        lambda x: ops.scale(x, inf), lambda x: ops.scale(x, nan), lambda x: ops.log(x), lambda x: ops.inv(x),
        lambda x: ops.exp(x), lambda x: ops.cos(x), lambda x: ops.mul(x, np.array([inf, nan, 1.0])),
        lambda x: ops.div(x, np.array([0.0, nan, 1.0])),
    ):  # fmt: skip
        same(abs(pull(f, np.array([0.0, inf, nan]), seed=zero)), zero)
        assert pull(lambda x: ops.log(x), 0.0, seed=0.0) == 0.0


@quiet
def test_log_outside_its_domain_follows_ieee():
    x = np.array([0.0, -0.0, -1.0, inf])
    np.testing.assert_array_equal(ops.log(x), [-inf, -inf, nan, inf])
    same(pull(lambda x: ops.log(x), x), np.array([inf, -inf, -1.0, 0.0]))
    assert pull(lambda x: ops.log(x), 0.0) == inf and pull(lambda x: ops.exp(x), 1000.0) == inf


def test_values_warn_as_numpy_does_and_pullbacks_do_not():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        r = record(lambda x: ops.log(x))(np.array([0.0]))
    assert r.backward() == [inf]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert ops.div(1.0, 0.0) == inf


def test_second_derivatives():
    for f, x, want in (
        (lambda x: ops.inv(x), 2.0, 0.25), (lambda x: ops.div(1.0, x), 2.0, 0.25),
        (lambda x: ops.sqrt(x), 4.0, -1 / 32), (lambda x: ops.exp(x), 1.0, math.e),
        (lambda x: ops.scale(ops.mul(x, x), 3.0), 1.5, 6.0), (lambda x: ops.clamp(ops.mul(x, x), 0.0, 9.0), 1.5, 2.0),
        (lambda x: ops.abs(ops.mul(x, x)), -1.5, 2.0), (lambda x: ops.max(ops.mul(x, x), x), 1.5, 2.0),
        (lambda x: ops.log(x), 2.0, -0.25), (lambda x: ops.sin(x), 2.0, -math.sin(2.0)),
        (lambda x: np.logaddexp(x, 0.0), 0.0, 0.25), (lambda x: np.logaddexp2(x, x * x), 1.0, 1 + math.log(2) / 4),
    ):  # fmt: skip
        assert grad(lambda x: grad(f)(x))(x) == pytest.approx(want, rel=1e-14)


# messages


@pytest.mark.parametrize("name", TWO)
def test_shapes_that_do_not_broadcast(name):
    a, b = np.ones(2), np.ones(3)
    for f in (lambda: call(name, a, b), lambda: record(lambda a, b: call(name, a, b))(a, b)):
        with pytest.raises(ValueError) as caught:
            f()
        assert str(caught.value) == f"{name}: operands could not be broadcast together with shapes (2,) (3,)"
        assert "call(name, a, b)" in caught.value.__notes__[0] or "getattr(ops, name)" in caught.value.__notes__[0]


@pytest.mark.parametrize("text, f", [
    ("add: b is a str, expected an array or a number", lambda: ops.add(1.0, "2")),
    ("sin: x is a dict, expected an array or a number", lambda: ops.sin({})),
    ("cos: x is a <U1 array, expected real numbers", lambda: ops.cos(["a"])),
    ("scale: c is '2', expected a number", lambda: ops.scale(1.0, "2")),
    ("scale: c is 2j, expected a number", lambda: ops.scale(1.0, 2j)),
    ("scale: c is array([2.]), expected a number", lambda: ops.scale(np.ones(3), np.array([2.0]))),
    ("clamp: lo is None, expected a number", lambda: ops.clamp(1.0, None, 2.0)),
    ("clamp: hi is [1.0], expected a number", lambda: ops.clamp(1.0, 0.0, [1.0])),
])  # fmt: skip
def test_arguments_of_the_wrong_kind(text, f):
    with pytest.raises(TypeError) as caught:
        f()
    assert str(caught.value) == text


@pytest.mark.parametrize("text, remedy, f", [
    ("c of scale", "ops.mul(x, c)", lambda x: ops.scale(x, x[0])),
    ("c of scale", "ops.mul(x, c)", lambda x: ops.scale(np.ones(2), c=x[0])),
    ("lo of clamp", "ops.min(ops.max(x, lo), hi)", lambda x: ops.clamp(x, x[0], 1.0)),
    ("hi of clamp", "ops.min(ops.max(x, lo), hi)", lambda x: ops.clamp(x, lo=0.0, hi=x)),
])  # fmt: skip
def test_a_recorded_setting_is_refused_with_what_to_write(text, remedy, f):
    with pytest.raises(RecordError) as caught:
        record(f)(np.array([1.0, 2.0]))
    assert str(caught.value).splitlines()[0] == f"{text} is recorded, but it has to be plain data"
    assert str(caught.value).splitlines()[-1] == f"  Write {remedy}."
