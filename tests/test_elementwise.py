"""Derivatives at special points: one law a test. The table of conventions is `ops.md`, section 15."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from autograd_frontend import RecordError, grad, record

inf, nan = math.inf, math.nan
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the values, which warn as NumPy does


def slope(f, *args, seed=None):
    """The gradient, with a seed of ones or the given one."""
    r = record(f)(*args)
    return r.backward() if seed is None else r.pullback(np.asarray(seed))


def same(got, want):
    np.testing.assert_array_equal(got, np.asarray(want))


def near(got, want, rtol=1e-13):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=0)


# selection


def test_abs_has_slope_zero_at_zero_and_at_nan():
    same(slope(lambda x: np.abs(x), np.array([0.0, -0.0, nan, -2.0, 3.0])), [0, 0, 0, -1, 1])
    assert slope(lambda x: abs(x), 0.0) == 0.0 and slope(lambda x: math.fabs(x), -0.0) == 0.0


def test_abs_selects_zero_under_an_infinite_cotangent():
    same(slope(lambda x: np.abs(x), np.array([0.0, -2.0]), seed=[inf, inf]), [0, -inf])


def test_sqrt_has_slope_zero_at_and_below_zero():
    same(slope(lambda x: np.sqrt(x), np.array([0.0, -0.0, -1.0, nan, inf, 4.0])), [0, 0, 0, 0, 0, 0.25])
    assert slope(lambda x: math.sqrt(x), 0.0) == 0.0


def test_sqrt_selects_zero_under_nonfinite_cotangents():
    same(slope(lambda x: np.sqrt(x), np.array([0.0, -1.0, 1.0]), seed=[inf, nan, inf]), [0, 0, inf])


def test_sqrt_keeps_extreme_slopes():
    near(slope(lambda x: np.sqrt(x), np.array([1e-308, 1e308, 5e-324])), [5e153, 5e-155, 1 / (2 * math.sqrt(5e-324))])


def test_maximum_shares_a_tie_by_halves():
    a, b = np.array([1.0, 0.0, -2.0, 3.0]), np.array([1.0, -0.0, -2.0, 2.0])
    g = slope(lambda a, b: np.maximum(a, b), a, b)
    same(g.a, [0.5, 0.5, 0.5, 1])
    same(g.b, [0.5, 0.5, 0.5, 0])
    g = slope(lambda a, b: np.minimum(a, b), a, b)
    same(g.a, [0.5, 0.5, 0.5, 0])
    same(g.b, [0.5, 0.5, 0.5, 1])


def test_maximum_shares_beside_nan_by_halves():
    g = slope(lambda a, b: np.maximum(a, b), np.array([nan, 1.0, nan]), np.array([1.0, nan, nan]))
    same(g.a, [0.5, 0.5, 0.5])
    same(g.b, [0.5, 0.5, 0.5])


def test_maximum_of_one_operand_with_itself_gives_all_even_of_a_subnormal():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    for f in (lambda x: np.maximum(x, x), lambda x: np.minimum(x, x), lambda x: np.fmax(x, x)):
        same(slope(f, x, seed=[5e-324, 1.5e-323, inf, -1.3]), [5e-324, 1.5e-323, inf, -1.3])
    assert record(lambda x: np.maximum(x, x))(2.0).pullback(5e-324) == 5e-324


def test_fmax_gives_all_to_the_number_beside_nan():
    g = slope(lambda a, b: np.fmax(a, b), np.array([nan, 1.0, nan, 2.0, 5.0]), np.array([1.0, nan, nan, 2.0, 3.0]))
    same(g.a, [0, 1, 0.5, 0.5, 1])
    same(g.b, [1, 0, 0.5, 0.5, 0])
    g = slope(lambda a, b: np.fmin(a, b), nan, 1.0)
    assert (g.a, g.b) == (0.0, 1.0)


def test_clip_has_slope_zero_at_the_end_points_and_beyond():
    x = np.array([-1.0, -0.5, 0.0, 1.0, 2.0, -3.0, nan])
    same(slope(lambda x: np.clip(x, -1.0, 1.0), x), [0, 1, 1, 0, 0, 0, 0])
    same(slope(lambda x: x.clip(-1.0, 1.0), x), [0, 1, 1, 0, 0, 0, 0])
    same(slope(lambda x: np.clip(x, None, 1.0), x), [1, 1, 1, 0, 0, 1, 0])
    same(slope(lambda x: x.clip(min=0.0), x), [0, 0, 0, 1, 1, 0, 0])
    same(slope(lambda x: np.clip(x, 2.0, -2.0), x), np.zeros(7))


def test_clip_with_a_recorded_bound_shares_ties_by_halves():
    g = slope(lambda x, low: np.clip(x, low, 1.0), np.array([0.0, 0.5, -1.0, 1.0, 2.0]), 0.0)
    same(g.x, [0.5, 1, 0, 0.5, 0])
    assert g.low == 1.5
    g = slope(lambda x, high: np.clip(x, None, high), np.array([0.0, 1.0, 2.0]), 1.0)
    same(g.x, [1, 0.5, 0])
    assert g.high == 1.5


def test_clip_of_a_recorded_lower_bound_above_the_upper_one():
    g = slope(lambda x, low, high: np.clip(x, low, high), np.array([0.5]), 3.0, 2.0)
    same(g.x, [0])
    assert (g.low, g.high) == (0.0, 1.0)


def test_where_gives_exactly_zero_to_what_was_not_chosen():
    x = np.array([0.0, -1.0, 4.0])
    same(slope(lambda x: np.where(x > 0, np.log(x), 0.0), x), [0, 0, 0.25])
    g = slope(lambda x, y: np.where(x > 0, x, y), x, x.copy(), seed=[inf, nan, inf])
    same(g.x, [0, 0, inf])
    same(g.y, [inf, nan, 0])


def test_where_of_one_argument_is_plain_data():
    same(slope(lambda x: x[np.where(x > 1)[0]] * 2, np.array([1.0, 2.0, 3.0])), [0, 2, 2])


def test_nan_to_num_gives_zero_to_what_was_replaced():
    same(slope(lambda x: np.nan_to_num(x), np.array([nan, inf, -inf, 2.0])), [0, 0, 0, 1])


def test_copysign_has_slope_zero_at_zero():
    g = slope(lambda a, b: np.copysign(a, b), np.array([0.0, 2.0, -2.0, 2.0]), np.array([-1.0, -1.0, -1.0, 0.0]))
    same(g.a, [0, -1, 1, 1])
    same(g.b, np.zeros(4))


# powers


def test_a_power_zero_has_slope_zero_whatever_the_base():
    x = np.array([0.0, 1.5, -2.0, inf, nan])
    same(slope(lambda x: x**0, x), np.zeros(5))
    same(slope(lambda x: x**0.0, x, seed=[inf, 1, 1, inf, nan]), np.zeros(5))
    assert slope(lambda x: x**0, 0.0) == 0.0 and slope(lambda x: math.pow(x, 0), 0.0) == 0.0


def test_a_square_root_as_a_power_has_slope_inf_at_zero():
    same(slope(lambda x: x**0.5, np.array([0.0, 4.0])), [inf, 0.25])
    assert slope(lambda x: x**0.5, 0.0) == inf


def test_whole_powers_of_negative_numbers_have_their_slopes():
    same(slope(lambda x: x**3, np.array([-2.0, 0.0, 2.0])), [12, 0, 12])
    assert slope(lambda x: x**3, -2.0) == 12.0 and slope(lambda x: x**-1, -2.0) == -0.25


def test_the_exponent_has_slope_zero_at_base_zero_and_nan_below():
    g = slope(lambda p: np.array([0.0, -2.0, 2.0]) ** p, np.array([2.0, 2.0, 2.0]))
    same(g[:2], [0, nan])
    near(g[2], 4 * math.log(2))
    assert slope(lambda p: 0.0**p, 2.0) == 0.0
    assert math.isnan(slope(lambda p: (-2.0) ** p, 2.0))


def test_a_power_that_becomes_complex_is_refused():
    with pytest.raises(RecordError, match="complex"):
        record(lambda x: x**0.5)(-1.0)


def test_integer_arrays_as_exponents_and_bases():
    n = np.array([0, 1, 2], np.uint8)
    same(slope(lambda x: x**n, np.array([3.0, 3.0, 3.0])), [0, 1, 6])
    near(slope(lambda p: n**p, np.array([2.0, 2.0, 2.0])), [0, 0, 4 * math.log(2)])


# quotients and logarithms


def test_log_at_and_below_zero_follows_ieee():
    same(slope(lambda x: np.log(x), np.array([0.0, -0.0, -1.0, inf, nan])), [inf, -inf, -1, 0, nan])
    same(slope(lambda x: np.log2(x), np.array([0.0, inf])), [inf, 0])
    same(slope(lambda x: np.log10(x), np.array([0.0, inf])), [inf, 0])
    same(slope(lambda x: np.log1p(x), np.array([-1.0, inf])), [inf, 0])


def test_math_raises_as_without_recording():
    for f, x in ((math.log, 0.0), (math.sqrt, -1.0), (math.asin, 2.0), (math.lgamma, -1.0)):
        with pytest.raises(ValueError):
            record(lambda x: f(x))(x)
    with pytest.raises(OverflowError):
        record(lambda x: math.exp(x))(1000.0)


def test_a_logarithm_to_a_base_depends_on_both():
    g = slope(lambda x, b: math.log(x, b), 8.0, 2.0)
    near(g.x, 1 / (8 * math.log(2)))
    near(g.b, -3 / (2 * math.log(2)))
    near(slope(lambda x: math.log(x, 10), 8.0), 1 / (8 * math.log(10)))
    near(slope(lambda b: math.log(8.0, b), 2.0), -3 / (2 * math.log(2)))


def test_division_by_zero_follows_ieee_in_numpy_and_raises_in_python():
    g = slope(lambda a, b: a / b, np.array([1.0, 0.0]), np.array([0.0, 0.0]))
    same(g.a, [inf, inf])
    same(g.b, [-inf, nan])
    with pytest.raises(ZeroDivisionError):
        record(lambda a, b: a / b)(1.0, 0.0)


def test_a_quotient_of_huge_numbers_does_not_overflow_in_the_slope():
    near(slope(lambda a, b: a / b, 1e300, 1e200).b, -1e-100)
    near(slope(lambda x: np.reciprocal(x), np.array([1e160, -1e150]), seed=[1e300, 1.0]), [-1e-20, -1e-300])


def test_the_remainder_of_fmod_counts_its_own_quotient():
    a, b = 5.999999999999999, 0.1
    n = round((a - math.fmod(a, b)) / b)
    assert slope(lambda b: math.fmod(a, b), b) == -n
    assert slope(lambda b: math.fmod(-7.5, b), 2.0) == 3.0 and slope(lambda b: -7.5 % b, 2.0) == 4.0


# distances and angles


def test_arctan2_has_slope_zero_at_the_origin():
    g = slope(lambda a, b: np.arctan2(a, b), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    near(g.a, [0, 0.5])
    near(g.b, [0, -0.5])
    g = slope(lambda a, b: math.atan2(a, b), 0.0, 0.0)
    assert (g.a, g.b) == (0.0, 0.0)


def test_arctan2_keeps_its_slope_where_squares_overflow_or_underflow():
    for s in (1e200, 1e-200):
        g = slope(lambda a, b: np.arctan2(a, b), 3 * s, 4 * s)
        near([g.a * s, g.b * s], [0.16, -0.12])


def test_hypot_has_slope_zero_at_the_origin():
    g = slope(lambda a, b: np.hypot(a, b), np.array([0.0, 3.0]), np.array([0.0, -4.0]))
    same(g.a, [0, 0.6])
    same(g.b, [0, -0.8])
    g = slope(lambda a, b, c: math.hypot(a, b, c), 0.0, 0.0, 0.0)
    assert tuple(g) == (0.0, 0.0, 0.0)


def test_hypot_of_subnormal_numbers_keeps_its_slope():
    near(slope(lambda a: math.hypot(a, 3e-310), 4e-310), 0.8, 1e-9)


def test_dist_has_slope_zero_where_the_points_coincide():
    g = slope(lambda p, q: math.dist(p, q), [1.0, 2.0], [1.0, 2.0])
    assert g.p == [0.0, 0.0] and g.q == [0.0, 0.0]
    g = slope(lambda p, q: math.dist(p, q), (0.0, 0.0), (3.0, 4.0))
    near(g.p, (-0.6, -0.8))


def test_arcsin_follows_ieee_at_the_ends():
    same(slope(lambda x: np.arcsin(x), np.array([1.0, -1.0, 2.0])), [inf, inf, nan])
    same(slope(lambda x: np.arccos(x), np.array([1.0, -1.0])), [-inf, -inf])
    assert slope(lambda x: math.asin(x), 1.0) == inf and slope(lambda x: math.acos(x), -1.0) == -inf
    same(slope(lambda x: np.arctanh(x), np.array([1.0, -1.0])), [inf, inf])
    same(slope(lambda x: np.arccosh(x), np.array([1.0, 0.5])), [inf, nan])
    assert slope(lambda x: math.acosh(x), 1.0) == inf


def test_arcsin_keeps_its_digits_near_one():
    x = 1 - 1e-13
    near(slope(lambda x: math.asin(x), x), 1 / math.sqrt((1 - x) * (1 + x)), 1e-15)


def test_inverse_functions_keep_their_slope_at_huge_arguments():
    near(slope(lambda x: np.arctan(x), np.array([1e200, 1.0, 0.0]), seed=[1e300, 1, 1]), [1e-100, 0.5, 1])
    near(slope(lambda x: math.asinh(x), -1e200), 1e-200)
    near(slope(lambda x: np.arccosh(x), np.array([1e200])), [1e-200])


def test_cbrt_has_slope_inf_at_zero():
    same(slope(lambda x: np.cbrt(x), np.array([0.0, -8.0])), [inf, 1 / 12])
    assert slope(lambda x: math.cbrt(x), 0.0) == inf


# tails


def test_tanh_keeps_the_slope_of_its_tails():
    x = np.array([20.0, -20.0, 300.0, 400.0, inf, nan, 0.0])
    near(slope(lambda x: np.tanh(x), x), [1.6993417021166355e-17] * 2 + [1.0601586212017243e-260, 0, 0, nan, 1])
    near(slope(lambda x: np.tanh(x), np.array([400.0]), seed=[1e300]), [1.467149833671075e-47], 1e-12)
    near(slope(lambda x: math.tanh(x), 20.0), 1.6993417021166355e-17)


def test_expit_keeps_the_slope_of_its_tails():
    special = pytest.importorskip("scipy.special")
    x = np.array([0.0, 40.0, -40.0, 700.0, -745.0])
    want = [0.25, 4.248354255291589e-18, 4.248354255291589e-18, 9.859676543759770e-305, 5e-324]
    near(slope(lambda x: special.expit(x), x), want, 1e-12)


def test_expm1_keeps_the_slope_of_its_tail():
    near(slope(lambda x: np.expm1(x), -38.5), 1.9039802832864523e-17)
    near(slope(lambda x: math.expm1(x), -38.5), 1.9039802832864523e-17)


def test_logaddexp_keeps_both_tails():
    g = slope(lambda a, b: np.logaddexp(a, b), np.array([800.0, -800.0, 3.0, -inf]), np.array([100.0, 0.0, 3.0, -inf]))
    near(g.a, [1, math.exp(-700) * math.exp(-100), 0.5, 0.5], 1e-11)
    near(g.b, [math.exp(-700), 1, 0.5, 0.5], 1e-11)
    g = slope(lambda a, b: np.logaddexp2(a, b), np.array([1000.0]), np.array([0.0]))
    near(g.b, [2.0**-1000])


def test_erf_keeps_the_slope_of_its_tails():
    near(slope(lambda x: math.erf(x), 10.0), 1.1283791670955126 * math.exp(-100), 1e-12)
    near(record(lambda x: math.erfc(x))(27.0).pullback(1e20), -2.8299434149777118e-297, 1e-12)


def test_sinc_is_flat_at_zero_and_keeps_its_digits_beside_it():
    x = np.array([0.0, 0.5, 1e-5, -1e-8, 1.0, 0.3])
    want = [0, -1.2732395447351628, -math.pi**2 / 3 * 1e-5, math.pi**2 / 3 * 1e-8, -1]
    g = slope(lambda x: np.sinc(x), x)
    np.testing.assert_allclose(g[:5], want, rtol=1e-9)
    near(g[1], want[1])
    u = 0.3 * math.pi
    near(g[5], math.pi * (u * math.cos(u) - math.sin(u)) / u**2, 1e-14)


def test_lgamma_has_the_digamma_function_as_slope():
    pytest.importorskip("mpmath")
    import mpmath

    x = np.array([1e-8, 0.1, 0.5, 1.0, 1.4616, 2.5, 9.99, 10.5, 1e3, 1e10, -0.5, -2.3, -10.001])
    want = [float(mpmath.digamma(v)) for v in x]
    got = [slope(lambda v: math.lgamma(v), float(v)) for v in x]
    np.testing.assert_allclose(got, want, rtol=2e-14, atol=2e-15)


def test_gamma_at_large_arguments_multiplies_value_and_digamma():
    near(slope(lambda x: math.gamma(x), 5.0), 24 * 1.5061176684318003)


def test_xlogy_has_slope_zero_where_the_factor_is_zero():
    special = pytest.importorskip("scipy.special")
    g = slope(lambda a, b: special.xlogy(a, b), np.array([0.0, 2.0]), np.array([0.0, 3.0]))
    near(g.a, [0, math.log(3)])
    near(g.b, [0, 2 / 3])
    g = slope(lambda a, b: special.xlogy(0.0, b) + a, 1.0, np.array([0.0, 1.0]))
    same(g.b, [0, 0])


# exact numbers


def test_a_decimal_exponent_has_a_slope():
    g = record(lambda x, p: x**p)(Decimal(2), Decimal(3)).pullback(Decimal(1))
    assert g.x == 12 and g.p == 8 * Decimal(2).ln()


@pytest.mark.parametrize("Number", [Fraction, Decimal])
def test_arithmetic_of_exact_numbers_has_exact_slopes(Number):
    def f(x, y):
        return (x * x + 3 * y - x / y) ** 2 - x**-1 + +y - -x + abs(x - y)

    x, y = Number(3), Number(8)
    g = record(f)(x, y).pullback(Number(1))
    inner = x * x + 3 * y - x / y
    assert g.x == 2 * inner * (2 * x - 1 / y) + 1 / (x * x) + 1 - 1
    assert g.y == 2 * inner * (3 + x / (y * y)) + 1 + 1
    assert type(g.x) is Number and type(g.y) is Number


def test_the_zeroth_power_of_an_exact_zero_is_flat():
    assert grad(lambda x: x**0 + x**1 + x**2)(Fraction(0)) == 1


def test_a_float_function_of_an_exact_number_has_a_slope():
    g = grad(lambda x: math.sin(x) * 2)(Fraction(1, 3))
    assert type(g) is Fraction and abs(float(g) - 2 * math.cos(1 / 3)) < 1e-15


def test_a_float32_result_does_not_narrow_the_gradient_of_a_float():
    x = 1.0 + 1e-12
    assert grad(lambda x: float(np.float32(x) * np.float32(0)) + x * (1 + 1e-12))(x) == 1 + 1e-12


def test_a_zeroth_power_leaves_fractions_exact():
    f = record(lambda x: x + (x / 3) ** 0 / 2 + x**2)
    gradient = f(Fraction(1, 3)).backward()
    assert type(gradient) is Fraction and gradient == Fraction(5, 3)
