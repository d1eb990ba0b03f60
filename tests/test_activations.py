"""Activations of the interface against mpmath over the whole range of an element type, and at their special points."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from autograd_frontend import RecordError, grad, ops, record

inf, nan = math.inf, math.nan
NAMES = ["relu", "sigmoid", "silu", "tanh", "gelu", "softplus", "safe_log"]
SMOOTH = ["sigmoid", "silu", "tanh", "softplus"]
DTYPES = [np.float32, np.float64]
EPSILON = 1e-6


def same(got, want):
    np.testing.assert_array_equal(got, want)
    assert np.array_equal(np.signbit(got), np.signbit(want))


def pull(name, x, seed=None, **settings):
    r = record(lambda x: getattr(ops, name)(x, **settings))(x)
    return r.backward() if seed is None else r.pullback(seed)


def points(dtype):
    """Of both signs, from the smallest subnormal to the largest number, most of them where exponentials end."""
    info = np.finfo(dtype)
    top = 1.05 * 2 * math.log(float(info.max))
    ends = [0.0, float(info.smallest_subnormal), float(info.tiny), 1e5, float(info.max)]
    x = np.concatenate([np.geomspace(1e-30, top, 60), np.linspace(0, top, 90), ends])
    return np.unique(np.concatenate([x, -x]).astype(dtype))


def exact(name, x, epsilon=EPSILON):
    """Value and derivative at a float, as numbers of mpmath."""
    mp = pytest.importorskip("mpmath")
    x = mp.mpf(x)
    if abs(x) > 1e5 and name != "safe_log":  # exp(-1e5) is nothing in any element type
        up = mp.mpf(int(x > 0))
        return {"sigmoid": (up, mp.mpf(0)), "tanh": (mp.sign(x), mp.mpf(0))}.get(name, (up * x, up))
    sigmoid = 1 / (1 + mp.exp(-max(x, -1e5)))
    other = 1 / (1 + mp.exp(max(x, -1e5))) if x < 1e5 else mp.mpf(0)
    softplus = max(x, mp.mpf(0)) + mp.log1p(mp.exp(-min(abs(x), mp.mpf(1e5))))
    if name == "sigmoid":
        return sigmoid, sigmoid * other
    if name == "silu":
        return x * sigmoid, sigmoid * (1 + x * other)
    if name == "tanh":
        return mp.tanh(x), mp.sech(x) ** 2
    if name == "softplus":
        return softplus, sigmoid
    if name == "safe_log":
        return mp.log(softplus + epsilon), sigmoid / (softplus + epsilon)
    c, k = mp.sqrt(2 / mp.pi), mp.mpf("0.044715")
    t = mp.tanh(c * (x + k * x**3))
    return x / 2 * (1 + t), (1 + t + x * (1 - t * t) * c * (1 + 3 * k * x * x)) / 2


def errors(got, want, least):
    """In units of the last place: relative where the number is normal, one subnormal step below."""
    import mpmath as mp

    eps = mp.mpf(float(np.finfo(got.dtype).eps))
    return [float(abs(mp.mpf(float(a)) - w) / max(abs(w) * eps, mp.mpf(least))) for a, w in zip(got, want, strict=True)]


@pytest.fixture(autouse=True)
def digits():
    mp = pytest.importorskip("mpmath")
    with mp.workdps(60):
        yield


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SMOOTH)
def test_value_and_derivative_keep_their_digits_down_to_the_last_subnormal(name, dtype):
    x = points(dtype)
    least = float(np.finfo(dtype).smallest_subnormal)
    value, slope = zip(*[exact(name, float(e)) for e in x], strict=True)
    y = getattr(ops, name)(x)
    assert y.dtype == dtype and max(errors(y, value, least)) < 3
    if name == "silu":  # relative but for its zero, at -1.278
        x, slope = x[abs(x + 1.3) > 0.2], [d for e, d in zip(x, slope, strict=True) if abs(e + 1.3) > 0.2]
    for g in (1.0, -float(np.finfo(dtype).max * np.finfo(dtype).eps)):  # the factor itself underflows under a large one
        d = pull(name, x, np.full(x.shape, g, dtype))
        assert d.dtype == dtype and max(errors(d, [g * s for s in slope], least)) < 10


@pytest.mark.parametrize("dtype", DTYPES)
def test_silu_is_flat_at_its_minimum(dtype):
    x = np.linspace(-1.5, -1.1, 41, dtype=dtype)
    d = pull("silu", x)
    want = np.array([float(exact("silu", float(e))[1]) for e in x])
    assert np.max(abs(d - want)) < 2 * np.finfo(dtype).eps


@pytest.mark.filterwarnings("ignore:overflow")  # of x*x*x
@pytest.mark.parametrize("dtype", DTYPES)
def test_gelu_is_accurate_to_an_absolute_rounding_error(dtype):
    x = points(dtype)
    eps = float(np.finfo(dtype).eps)
    for got, want in zip((ops.gelu(x), pull("gelu", x)), zip(*[exact("gelu", float(e)) for e in x]), strict=True):
        assert got.dtype == dtype and np.all(np.isfinite(got))
        size = np.maximum(1, abs(x.astype(float)))
        assert np.max(abs(got.astype(float) - np.array([float(w) for w in want])) / size) < 4 * eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-36, 1e-300])
def test_safe_log_keeps_its_digits(dtype, epsilon):
    if dtype(epsilon) == 0:
        pytest.skip("vanishes in this element type")
    x = points(dtype)
    x = x[abs(x) <= float(np.finfo(dtype).max) / 2]
    least = float(np.finfo(dtype).smallest_subnormal)
    value, slope = zip(*[exact("safe_log", float(e), float(dtype(epsilon))) for e in x], strict=True)
    y = ops.safe_log(x, epsilon=epsilon)
    assert y.dtype == dtype
    eps = float(np.finfo(dtype).eps)
    assert all(abs(float(a) - float(w)) <= 3 * eps * max(1, abs(float(w))) for a, w in zip(y, value, strict=True))
    for g in (1.0, float(np.finfo(dtype).max) * float(dtype(epsilon)) / 4):
        d = pull("safe_log", x, np.full(x.shape, g, dtype), epsilon=epsilon)
        assert d.dtype == dtype and max(errors(d, [g * s for s in slope], least)) < 12


# special points


def test_relu_at_zero_and_nan():
    x = np.array([-0.0, 0.0, nan, -inf, inf, 5e-324])
    same(ops.relu(x), np.array([0.0, 0.0, nan, 0.0, inf, 5e-324]))
    same(pull("relu", x, np.array([inf, nan, inf, nan, -2.0, inf])), np.array([0, 0, 0, 0, -2.0, inf]))
    assert ops.relu(-0.0) == 0.0 and not np.signbit(ops.relu(-0.0)) and pull("relu", -0.0) == 0.0


def test_relu_of_exact_numbers_is_exact():
    for Number in (Fraction, Decimal):
        for x, v, d in ((Number(3) / 4, Number(3) / 4, 1), (Number(-3), 0, 0), (Number(0), 0, 0)):
            assert ops.relu(x) == v and type(ops.relu(x)) is Number
            assert pull("relu", x) == d and type(pull("relu", x)) is Number


def test_decimals_have_what_needs_only_exp():
    x = Decimal(-2)
    want = 1 / (1 + x.copy_negate().exp())
    assert abs(ops.sigmoid(x) - want) < Decimal("1e-26") and abs(ops.silu(x) - x * want) < Decimal("1e-26")
    assert abs(pull("sigmoid", x) - want * (1 - want)) < Decimal("1e-26")
    for name in ("tanh", "gelu", "softplus", "safe_log"):
        with pytest.raises(TypeError, match=f"^{name}: "):
            getattr(ops, name)(x)
    with pytest.raises(TypeError, match="^sigmoid: .*Fraction"):
        ops.sigmoid(Fraction(1, 2))


@pytest.mark.parametrize("name, at_inf, at_minus_inf, slopes", [
    ("sigmoid", 1.0, 0.0, (0.0, 0.0)), ("tanh", 1.0, -1.0, (0.0, 0.0)), ("softplus", inf, 0.0, (1.0, 0.0)),
    ("safe_log", inf, math.log(EPSILON), (0.0, 0.0)),
])  # fmt: skip
def test_infinities_and_nan(name, at_inf, at_minus_inf, slopes):
    x = np.array([inf, -inf, nan])
    np.testing.assert_array_equal(getattr(ops, name)(x), [at_inf, at_minus_inf, nan])
    np.testing.assert_array_equal(pull(name, x), [*slopes, nan])
    assert (pull(name, inf), pull(name, -inf)) == slopes


def test_silu_and_gelu_do_not_overflow_before_their_result():
    assert ops.silu(np.array([-800.0]))[0] == 0.0 and np.signbit(ops.silu(-800.0))
    assert ops.silu(-750.0) == -1.5e-323 and ops.silu(inf) == inf
    with np.errstate(over="ignore"):
        assert ops.gelu(1e308) == 1e308 and ops.gelu(np.array([-1e200])) == 0.0
        same(pull("gelu", np.array([1e308, -1e308, 1e160, -1e160])), np.array([1.0, 0, 1, 0]))
    assert pull("gelu", 1e200) == 1.0 and pull("gelu", -1e200) == 0.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_exactly_zero_cotangent_gives_exactly_zero(name):
    for dtype in (np.float32, np.float64, np.longdouble):
        x = np.array([0.0, -0.0, inf, -inf, nan, 1e30, -1e30, 3.0], dtype)
        r = record(lambda x: getattr(ops, name)(x))(x)
        with np.errstate(all="raise"):
            d = r.pullback(np.zeros(8, dtype))
        assert d.dtype == dtype and not d.any()


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_an_epsilon_that_vanishes_in_the_element_type_follows_ieee():
    x = np.array([-200.0], np.float32)
    assert ops.safe_log(x, epsilon=1e-300) == -inf and pull("safe_log", x, epsilon=1e-300) == inf
    assert ops.safe_log(np.array([-745.0]), epsilon=0.0) == math.log(5e-324)


@pytest.mark.parametrize("name, want", [
    ("softplus", 0.25), ("silu", 0.5), ("sigmoid", 0.0), ("tanh", 0.0), ("gelu", math.sqrt(2 / math.pi)), ("relu", 0.0),
])  # fmt: skip
def test_second_derivatives_at_zero_are_those_of_the_function(name, want):
    f = getattr(ops, name)
    assert grad(lambda x: grad(lambda x: f(x))(x))(0.0) == pytest.approx(want, rel=1e-15)
    x = np.array([0.0, -0.0])
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(lambda x: np.sum(f(x)))(x)))(x), [want, want], rtol=1e-15)


def test_the_second_derivative_of_safe_log():
    s, p = 0.5, math.log(2) + 0.01
    got = grad(lambda x: grad(lambda x: ops.safe_log(x, epsilon=0.01))(x))(0.0)
    assert got == pytest.approx((0.25 * p - s * s) / (p * p), rel=1e-14)


# types, shapes, settings


@pytest.mark.parametrize("name", NAMES)
def test_types_shapes_and_recorded_values(name):
    f = getattr(ops, name)
    for dtype in (np.float16, np.float32, np.float64, np.longdouble):
        x = np.array([[-1.5, 0.25], [3.0, -0.0]], dtype)
        r = record(lambda x: f(x))(x)
        assert f(x).dtype == r.value.dtype == dtype and r.value.shape == (2, 2)
        same(r.value, f(x))
        g = r.backward()
        assert g.dtype == dtype and g.shape == (2, 2)
        assert type(f(x[0, 0])) is dtype and type(f(np.array(0.5, dtype))) is dtype
    same(f([[-1.5, 2.0]]), f(np.array([[-1.5, 2.0]])))
    assert f(np.zeros((0, 3))).shape == pull(name, np.zeros((0, 3))).shape == (0, 3)
    assert type(f(0.5)) is np.float64 and type(pull(name, 0.5)) is float


@pytest.mark.parametrize("name", NAMES)
def test_longdouble_has_more_digits(name):
    x = np.linspace(-3, 3, 13).astype(np.longdouble) / 3
    y, d = getattr(ops, name)(x), pull(name, x)
    for got, want in zip((y, d), zip(*[longdoubles(name, e) for e in x]), strict=True):
        assert np.max(abs(got - np.array(want, np.longdouble))) < 10 * np.finfo(np.longdouble).eps


def longdoubles(name, x):
    import mpmath as mp

    high = float(x)
    exact_x = mp.mpf(high) + mp.mpf(float(x - np.longdouble(high)))
    if name == "relu":
        return np.longdouble(max(x, 0)), np.longdouble(x > 0)
    return [np.longdouble(mp.nstr(v, 30)) for v in exact(name, exact_x)]


@pytest.mark.parametrize("name", NAMES)
def test_integers_and_booleans_are_taken_as_floats(name):
    f = getattr(ops, name)
    for n in (np.array([3, 100], np.uint8), np.array([-3, 100], np.int8), np.array([True, False])):
        np.testing.assert_allclose(f(n), f(n.astype(float)), rtol=1e-3 if name == "tanh" else 1e-15)
    assert f(3) == f(3.0)


def test_epsilon_does_not_widen_the_element_type():
    x = np.array([0.5], np.float32)
    assert ops.safe_log(x, np.float64(0.5)).dtype == pull("safe_log", x, epsilon=np.float64(0.5)).dtype == np.float32


def test_arguments_of_the_wrong_kind():
    for name in NAMES:
        with pytest.raises(TypeError) as caught:
            getattr(ops, name)("1")
        assert str(caught.value) == f"{name}: x is a str, expected an array or a number"
    with pytest.raises(TypeError) as caught:
        ops.safe_log(1.0, epsilon="1e-6")
    assert str(caught.value) == "safe_log: epsilon is '1e-6', expected a number"


def test_a_recorded_epsilon_is_refused_with_what_to_write():
    with pytest.raises(RecordError) as caught:
        record(lambda x: ops.safe_log(x, epsilon=x))(0.5)
    assert str(caught.value).startswith("epsilon of safe_log is recorded, but it has to be plain data\n")
    assert str(caught.value).endswith("  Write ops.log(ops.add(ops.softplus(x), epsilon)).")


def test_the_callables_of_scipy_are_the_same_operations():
    special = pytest.importorskip("scipy.special")
    x = np.array([-800.0, -745.0, -40.0, 0.0, 40.0, 745.0])
    same(record(lambda x: special.expit(x))(x).backward(), pull("sigmoid", x))
    same(record(lambda x: np.tanh(x))(x).backward(), pull("tanh", x))
