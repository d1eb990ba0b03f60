"""Sorting, quantiles, scans, interpolation, convolution, polynomials: every form, and the law at special points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from autograd_frontend import RecordError, record
from tests.test_reductions import NAN, C, M, V, check, gradient, same

# sorting


def test_equal_entries_are_sorted_in_their_order():
    g = np.array([1.0, 10.0, 100.0, 1000.0])
    same(record(lambda x: np.sort(x))(np.array([2.0, 1.0, 2.0, 1.0])).pullback(g), [100, 1, 1000, 10])


def test_sort_of_every_axis():
    for axis in (0, 1, -1, None):
        check(lambda x: np.sort(x, axis=axis), C)
        check(lambda x: np.partition(x, 1, axis=axis), C)


def test_sort_in_place():
    def f(x):
        y = x * 2.0
        y.sort(axis=0)
        return y[0] * 3.0

    check(f, M)


def test_nan_sorts_last():
    g = np.array([1.0, 10.0, 100.0])
    same(record(lambda x: np.sort(x))(np.array([NAN, 2.0, 1.0])).pullback(g), [100, 10, 1])


def test_take_along_axis_adds_at_repeated_places():
    k = np.array([[0, 0, -1], [1, 1, 1]])
    same(record(lambda x: np.take_along_axis(x, k, axis=1))(M).backward(), [[2, 0, 1], [0, 3, 0]])
    check(lambda x: np.take_along_axis(x, np.argsort(x, axis=0), 0), M)
    check(lambda x: np.take_along_axis(x, np.array([5, 0, 5]), None), M)


def test_quantiles_of_every_form():
    for axis, keepdims in itertools.product((None, 0, -1, (0, 2)), (False, True)):
        check(lambda x: np.quantile(x, 0.3, axis=axis, keepdims=keepdims), C)
        check(lambda x: np.percentile(x, [20.0, 70.0], axis=axis, keepdims=keepdims), C)
        check(lambda x, q: np.quantile(x, q, axis=axis), C, np.array([0.21, 0.72]))
        check(lambda x: np.nanquantile(x, [0.2, 0.7], axis=axis), C)
    gap = M.copy()
    gap[0, 1] = NAN
    for f, q in ((np.nanquantile, 0.3), (np.nanpercentile, 30.0)):
        check(lambda x: f(np.where(np.isnan(gap), NAN, x), q, axis=1), M)
    with pytest.raises(RecordError, match="linear"):
        record(lambda x: np.quantile(x, 0.3, method="hazen"))(V)
    assert record(lambda x: x.sum() + np.quantile(V, 0.3, method="hazen"))(V).backward().shape == V.shape


def test_the_ends_of_a_quantile_are_the_extremes():
    same(gradient(lambda x: np.quantile(x, 0.0), V), [0, 1, 0, 0])
    same(gradient(lambda x: np.quantile(x, 1.0), V), [0, 0, 1, 0])
    same(gradient(lambda x: np.median(x), np.array([1.0, 2.0, 2.0, 5.0])), [0, 0.5, 0.5, 0])


# scans


@pytest.mark.parametrize("axis", [None, 0, 1, -1], ids=str)
def test_running_sums_and_products(axis):
    for f in (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod):
        check(lambda x: f(x, axis=axis), C)
    for name in ("cumsum", "cumprod"):
        check(lambda x: getattr(x, name)(axis), C)
    if axis is not None:
        check(lambda x: np.add.accumulate(x, axis), C)
        check(lambda x: np.multiply.accumulate(x, axis), C)


def test_running_products_with_zeros_are_exact():
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    d = record(lambda x: np.cumprod(x))(x).pullback(np.array([1.0, 10.0, 100.0, 1000.0, 10000.0]))
    same(d, [1, 620, 0, 0, 0])


def test_differences_of_every_form():
    for n, axis in itertools.product((0, 1, 2, 3), (0, 1, -1)):
        check(lambda x: np.diff(x, n, axis), C * 1.0)
    check(lambda x, a, b: np.diff(x, prepend=a, append=b), V, 0.5, np.array([0.1, 0.3]))
    check(lambda x, a, b: np.diff(x, 2, 0, a, b), M, np.ones((1, 3)), np.ones((2, 3)))


def test_integrals_of_every_form():
    check(lambda f: np.trapezoid(f), V)
    check(lambda f, x: np.trapezoid(f, x), M, np.array([0.0, 0.3, 1.0]))
    check(lambda f, x: np.trapezoid(f, x, axis=0), C, C + 1.0)
    check(lambda f, h: np.trapezoid(f, dx=h, axis=1), C, 0.5)


def test_interpolation_with_respect_to_everything():
    x, xp = np.array([-1.0, 0.3, 2.0, 3.9, 7.0]), np.array([0.0, 1.0, 2.5, 4.0])
    check(lambda x, xp, fp: np.interp(x, xp, fp), x, xp, V)
    check(lambda x, xp, fp, a, b: np.interp(x, xp, fp, a, b), x, xp, V, 0.5, -0.5)
    check(lambda x, fp: np.interp(x, xp, fp, period=4.7), x, V)
    check(lambda x, fp: np.interp(x, [0.0, 1.0], fp), 0.3, np.array([1.0, 4.0]))


def test_interpolation_at_the_knots_takes_the_piece_to_the_right():
    d, e = gradient(lambda x, fp: np.interp(x, [0.0, 1.0, 2.0], fp), 1.0, np.array([0.0, 1.0, 5.0]))
    assert d == 4.0
    same(e, [0, 1, 0])
    d, e = gradient(lambda x, fp: np.interp(x, [0.0], fp), 0.0, np.array([3.0]))
    assert d == 0.0
    same(e, [1])


def test_convolutions_of_every_mode():
    for (n, m), mode in itertools.product(((4, 3), (2, 5), (1, 1), (3, 3), (4, 2)), ("full", "same", "valid")):
        check(lambda a, v: np.convolve(a, v, mode), np.arange(n) - 1.3, np.arange(m) * 0.7 + 0.1)
        check(lambda a, v: np.correlate(a, v, mode), np.arange(n) - 1.3, np.arange(m) * 0.7 + 0.1)


def test_polynomials_with_respect_to_both():
    check(lambda p, x: np.polyval(p, x), V, M)
    check(lambda p, x: np.polyval(p, x), V, 0.5)
    check(lambda a, x: np.polyval([a, 1.0, a * a], x), 0.5, V)


def test_traces():
    for offset in (-1, 0, 1, 2):
        check(lambda x: np.trace(x, offset), M)
        check(lambda x: x.trace(offset, 2, 1), C)


def test_gradients_of_samples():
    check(lambda x: np.gradient(x), V)
    check(lambda x: np.gradient(x, 0.5, edge_order=2), V)
    check(lambda x: np.gradient(x, np.array([0.0, 0.5, 2.0, 2.2])), V)
    check(lambda x: np.gradient(x, axis=1), C)
    with pytest.raises(RecordError, match="axis"):
        record(lambda x: np.gradient(x)[0])(M)


def test_ufunc_outer_is_the_ufunc_on_every_pair():
    for f in (np.multiply, np.add, np.subtract, np.divide, np.maximum):
        check(lambda a, b: f.outer(a, b), M, V + 0.05)
    check(lambda a: np.multiply.outer(a, [1.0, 2.0]), V)


def test_sums_over_groups():
    check(lambda x: np.add.reduceat(x, [0, 2, 1]), V)
    check(lambda x: np.add.reduceat(x, [0, 2], axis=1), C)
    same(record(lambda w: np.bincount(np.array([0, 2, 2, 1]), w))(V).pullback(np.array([1.0, 2.0, 3.0])), [1, 3, 3, 2])


def test_a_median_that_overwrites_its_plain_input_leaves_what_was_saved():
    def f(x):
        w = np.array([3.0, 2.0, 1.0])
        y = x * w
        np.median(w, overwrite_input=True)
        return y

    same(record(f)(np.ones(3)).backward(), [3, 2, 1])
    with pytest.raises(RecordError, match="overwrite_input"):
        record(lambda x: np.median(x * 2.0, overwrite_input=True))(V)


def test_writes_and_reads_through_flat_are_recorded():
    def f(x):
        w = np.array([3.0, 2.0, 1.0, 5.0])
        y = (x * w).sum()
        w.flat[0] = 9.0
        r = np.zeros((2, 2))
        r.flat[1] = x[0] * x[1]
        r.flat[[2, 3]] = x[2]
        return y + sum(v * v for v in r.flat) + r.flat[1]

    check(f, V)


def test_fromiter_of_recorded_numbers_is_refused():
    with pytest.raises(RecordError, match="fromiter"):
        record(lambda x: np.fromiter((v * v for v in x), float).sum())(V)
