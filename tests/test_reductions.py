"""Reductions, scans, sorting and norms: every form against differences, and the law at every special point."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from autograd_frontend import RecordError, grad, record
from autograd_frontend.cotangents import fitted
from autograd_frontend.ops.block import LIKE, OPERATIONS, RESULT, find, like
from autograd_frontend.ops.plain import PLAIN
from tests import oracle

V = np.array([0.7, -1.3, 2.1, 0.4])
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.9, -0.6]])
C = np.linspace(-1.0, 2.0, 12).reshape(2, 3, 2) ** 3 + 0.1
MASK = np.array([[True, False, True], [True, True, False]])
NAN, INF = np.nan, np.inf
MINE = [op for op in OPERATIONS.values() if op.pulls and op.pulls[0].function.__module__.rpartition(".")[2] in (
    "reductions", "extremes", "statistics", "norms", "sorting", "scans", "curves", "ufuncs")]  # fmt: skip


def check(f, *args, tolerance=1e-7):
    """Value bit for bit, gradient in the type of each argument and against differences; returns the gradients."""
    y = f(*args)
    result = record(f)(*args)
    assert oracle.same_bits(result.value, y)
    weights = oracle.random_like(y, 1)
    gradients = result.pullback(weights)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for x, d in zip(args, gradients, strict=True):
        assert type(d) is type(x) and np.shape(d) == np.shape(x)
        assert getattr(d, "dtype", None) == getattr(x, "dtype", None)
    expected, error = oracle.gradient(f, args, weights)
    assert error < 1e-4, "not a smooth point"
    np.testing.assert_allclose(oracle.entries(list(gradients)), expected, rtol=tolerance, atol=tolerance)
    return gradients


def gradient(f, *args):
    d = grad(f, tuple(range(len(args))))(*args)
    return d[0] if len(args) == 1 else d


def same(got, expected):
    np.testing.assert_array_equal(got, np.asarray(expected, dtype=float))


AXES = (None, 0, 1, -1, (0, 1), (-1, 0), (2,), (0, 1, 2), ())
FULL = [np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin]
FULL += [np.nansum, np.nanmean, np.nanprod, np.nanmax, np.nanmin]


def named(f):
    return f.__name__  # without the address that `str` shows: every worker has to find the same tests


SPREAD = [np.var, np.std, np.nanvar, np.nanstd]
OTHERS = [np.ptp, np.median, np.sort, np.cumsum, np.cumprod, np.linalg.norm]
OTHERS += [special.logsumexp, special.softmax, special.log_softmax]
GAPS = [np.nanmax, np.nanmin, np.nansum, np.nanmean, np.nanprod, np.nanvar, np.nanstd]
GAPS += [np.nanmedian, np.nancumsum, np.nancumprod]
REDUCE = [np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("f", [*FULL, *SPREAD, *REDUCE, np.ptp, np.median, np.nanmedian], ids=named)
def test_every_axis(f, axis, keepdims):
    if axis == () and f in (np.var, np.std, np.nanvar, np.nanstd, np.median, np.nanmedian):
        pytest.skip("constant, or refused by NumPy")
    check(lambda x: f(x, axis=axis, keepdims=keepdims), C)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)], ids=str)
def test_methods_are_the_functions(name, axis):
    (d,) = check(lambda x: getattr(x, name)(axis), C)
    (e,) = check(lambda x: getattr(np, name)(x, axis), C)
    same(d, e)


@pytest.mark.parametrize("axis", [None, 0, -1], ids=str)
@pytest.mark.parametrize("f", [np.sum, np.mean, np.prod, np.nansum, np.nanmean, np.nanprod, *SPREAD], ids=named)
def test_where_leaves_the_others_exactly_zero(f, axis):
    (d,) = check(lambda x: f(x, axis=axis, where=MASK), M)
    assert not d[~MASK].any()


@pytest.mark.parametrize("axis", [None, 0, (0, 1)], ids=str)
def test_where_and_initial_of_extremes(axis):
    for f, start in ((np.max, -9.0), (np.min, 9.0), (np.nanmax, -9.0), (np.nanmin, 9.0), (np.maximum.reduce, -9.0)):
        (d,) = check(lambda x: f(x, axis=axis, where=MASK, initial=start), M)
        assert not d[~MASK].any() and d.any()


@pytest.mark.parametrize("axis", [None, 0, 1], ids=str)
@pytest.mark.parametrize("f", [np.sum, np.prod, np.add.reduce, np.multiply.reduce, np.nansum, np.nanprod], ids=named)
def test_initial_may_be_recorded(f, axis):
    check(lambda x, start: f(x, axis=axis, initial=start), M, 1.7)


def test_initial_of_a_maximum_may_be_recorded():
    d, e = check(lambda x, start: np.max(x, axis=1, initial=start), M, 2.0)
    same(d, [[0, 0, oracle.random_like(np.ones(2), 1)[0]], [0, 0, 0]])
    assert e == oracle.random_like(np.ones(2), 1)[1]


def test_a_broadcast_mask_reaches_every_row():
    row = np.array([True, False, True])
    check(lambda x: np.mean(x, axis=1, where=row), M)
    check(lambda x: np.sum(x, where=row), M)


def test_a_mask_changed_later_does_not_change_the_gradient():
    def f(x):
        mask = np.array([True, False])
        y = np.sum(x, where=mask)
        mask[:] = True
        return y

    same(gradient(f, np.ones(2)), [1, 0])


# sums and means


@pytest.mark.parametrize("f", [np.sum, np.mean, np.max, np.prod, np.std, np.median, np.linalg.norm, np.ptp], ids=named)
def test_numbers_and_arrays_without_axes(f):
    for x in (np.array(1.5), 1.5, np.float64(1.5)):
        d = gradient(lambda x: f(x), x)
        assert type(d) is type(x) and np.shape(d) == ()


def test_empty_sums_have_empty_gradients():
    for f, value in ((np.sum, 0.0), (np.prod, 1.0), (np.nansum, 0.0), (np.linalg.norm, 0.0)):
        result = record(lambda x: f(x))(np.zeros((0, 3)))
        assert result.value == value and result.backward().shape == (0, 3)
    with pytest.warns(RuntimeWarning):
        result = record(lambda x: np.mean(x))(np.zeros(0))
    assert np.isnan(result.value) and result.backward().shape == (0,)
    result = record(lambda x: np.sum(x, axis=0))(np.zeros((0, 3)))
    same(result.value, np.zeros(3))
    assert result.backward().shape == (0, 3)
    result = record(lambda x: np.cumsum(x, axis=1) + np.sort(x, axis=0))(np.zeros((2, 0)))
    assert result.backward().shape == (2, 0)
    with pytest.raises(ValueError, match="zero-size"):
        record(lambda x: np.max(x))(np.zeros(0))


@pytest.mark.parametrize("f", [*FULL, *SPREAD, *REDUCE, *OTHERS], ids=named)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_other_floats_keep_their_type(f, dtype):
    if dtype is np.float16 and f is np.linalg.norm:
        pytest.skip("NumPy makes it wider")
    x = V.astype(dtype)
    result = record(lambda x: f(x))(x)
    assert oracle.same_bits(result.value, f(x)) or dtype is np.longdouble
    d = result.backward()
    assert d.dtype == dtype and d.shape == x.shape
    expected = grad(lambda x: np.sum(f(x)))(V)
    np.testing.assert_allclose(d.astype(float), expected, rtol=0.05 if dtype is np.float16 else 1e-5, atol=1e-5)


@pytest.mark.parametrize("f", [np.sum, np.mean, np.prod, np.var, np.std, np.cumsum, np.cumprod, np.nansum], ids=named)
def test_dtype_changes_the_value_and_not_the_gradient_type(f):
    x = V.astype(np.float32)
    result = record(lambda x: f(x, dtype=np.float64))(x)
    assert oracle.same_bits(result.value, f(x, dtype=np.float64))
    assert result.backward().dtype == np.float32


OUTS = [np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.ptp, np.add.reduce, np.nansum, np.median]


@pytest.mark.parametrize("f", OUTS, ids=named)
@pytest.mark.parametrize("recorded", [False, True])
def test_out_is_recorded(f, recorded):
    def by_out(x):
        r = x[0] * 0.0 if recorded else np.zeros(3)
        y = f(x, axis=0, out=r)
        return r * r + y

    check(by_out, M)


def test_out_by_position_is_recorded():
    def by_position(x):
        r = np.zeros(3)
        np.sum(x, 0, None, r)
        return np.cumsum(r, 0, None, r) * 2.0

    check(by_position, M)


def test_out_of_a_ufunc_may_be_a_tuple():
    def f(x):
        r = np.zeros(3)
        np.add.reduce(x, 0, out=(r,))
        return r**2

    check(f, M)


def test_a_narrower_out_does_not_lose_the_largest_entry():
    def f(x):
        r = np.zeros(2, np.float32)
        np.max(x, axis=1, out=r)
        return r.sum()

    same(gradient(f, M), [[0, 0, 1], [0, 1, 0]])


def test_lists_of_recorded_numbers():
    check(lambda a, b: np.sum([a, b, a]) * np.max([a, b]), 1.5, 2.5)
    check(lambda a, b: np.mean([[a, b], [b, 2.0]], axis=0), 1.5, 2.5)


def test_fsum_gives_g_to_each():
    same(gradient(lambda x: math.fsum(x * x), V), 2 * V)
    same(gradient(lambda a, b: math.fsum([a, b, a]), 1.0, 2.0), (2.0, 1.0))
    same(gradient(lambda x: math.fsum(v * v for v in x), V), 2 * V)


def test_average_of_every_form():
    check(lambda x: np.average(x), M)
    check(lambda x, w: np.average(x, weights=w), V, V + 3.0)
    check(lambda x, w: np.average(x, 0, w), M, np.array([1.0, 3.0]))
    check(lambda x, w: np.average(x, axis=-1, weights=w, keepdims=True), M, np.array([1.0, 2.0, 0.5]))
    check(lambda x, w: np.average(x, axis=1, weights=w), M, M + 2.0)
    check(lambda x, w: np.average(x, axis=(2, 0), weights=w), C, np.array([[1.0, 2.0], [0.5, 3.0]]))
    check(lambda x: np.average(x, weights=[1.0, 3.0], axis=0), M)
    with pytest.raises(RecordError, match="returned"):
        record(lambda x: np.average(x, returned=True)[0])(M)


# products


def test_a_product_with_one_zero_is_exact():
    same(gradient(lambda x: np.prod(x), np.array([2.0, 0.0, 3.0, -1.5])), [0, -9, 0, 0])


def test_a_product_with_two_zeros_is_flat():
    same(gradient(lambda x: np.prod(x), np.array([0.0, 5.0, 0.0])), [0, 0, 0])


def test_products_along_axes_with_zeros():
    x = C.copy()
    x[0, 1] = 0.0
    for axis in (None, 0, 1, (0, 2)):
        check(lambda x: np.prod(x, axis=axis), x)


def test_a_zero_cotangent_of_a_product_stays_zero_beside_infinity():
    with np.errstate(invalid="ignore"):
        result = record(lambda x: np.prod(x, axis=1))(np.array([[INF, 0.0, 2.0], [1.0, 2.0, 3.0]]))
    same(result.pullback(np.array([0.0, 1.0])), [[0, 0, 0], [6, 3, 2]])


def test_math_prod_is_exact():
    x = [Fraction(1, 3), Fraction(0), Fraction(2, 7)]
    assert grad(lambda x: math.prod(x))(x) == [0, Fraction(2, 21), 0]
    assert grad(lambda x: math.prod(x, start=2.0))([3.0, 5.0]) == [10.0, 6.0]
    assert grad(lambda x: math.prod(v + 1.0 for v in x))([1.0, 2.0]) == [3.0, 2.0]
    assert grad(lambda s: math.prod([2.0, 3.0], start=s))(1.0) == 6.0
    with pytest.raises(RecordError, match="reduce"):
        record(lambda x: math.prod([x, x]))(V)


# extremes


def test_tied_entries_share_evenly():
    x = np.array([[2.0, 1.0, 2.0], [3.0, 3.0, 3.0]])
    for f in (lambda x: np.max(x, axis=1), lambda x: -np.min(-x, axis=1), lambda x: np.maximum.reduce(x, axis=1)):
        same(record(f)(x).backward(), [[0.5, 0, 0.5], [1 / 3] * 3])
    same(gradient(lambda x: np.max(x), x), [[0, 0, 0], [1 / 3] * 3])


def test_an_initial_that_ties_takes_its_share():
    d, e = gradient(lambda x, s: np.max(x, initial=s), np.array([1.0, 2.0, 2.0]), 2.0)
    same(d, [0, 1 / 3, 1 / 3])
    assert e == 1 / 3


def test_the_entries_that_are_nan_share_when_the_result_is():
    same(gradient(lambda x: np.max(x), np.array([1.0, NAN, 3.0, NAN])), [0, 0.5, 0, 0.5])
    same(record(lambda x: np.min(x, axis=1))(np.array([[1.0, NAN], [2.0, 3.0]])).backward(), [[0, 1], [1, 0]])


def test_an_infinite_cotangent_of_a_maximum_stays_with_it():
    same(record(lambda x: np.max(x))(V).pullback(np.float64(INF)), [0, 0, INF, 0])
    same(record(lambda x: np.max(x, axis=0))(M).pullback(np.array([INF, NAN, 1.0]))[1], [0, NAN, 0])


def test_ptp_of_equal_entries_is_flat():
    same(gradient(lambda x: np.ptp(x), np.ones(3)), [0, 0, 0])


@pytest.mark.parametrize("f", GAPS, ids=named)
@pytest.mark.parametrize("axis", [None, 0, 1], ids=str)
def test_missing_numbers_have_no_influence(f, axis):
    gap = M.copy()
    gap[0, 1] = NAN
    filled = {np.nansum: 0.0, np.nancumsum: 0.0, np.nanprod: 1.0, np.nancumprod: 1.0}.get(f)
    (d,) = check(lambda x: f(np.where(np.isnan(gap), NAN, x), axis=axis), M)
    assert d[0, 1] == 0.0
    if filled is not None:
        plain = getattr(np, f.__name__[3:])
        d = record(lambda x: f(x, axis=axis))(gap).backward()
        e = record(lambda x: plain(x, axis=axis))(np.nan_to_num(gap, nan=filled)).backward()
        same(d, np.where(np.isnan(gap), 0, e))


def test_rows_of_nothing_but_nan_get_zero():
    x = np.array([[NAN, NAN], [1.0, 2.0]])
    for f in (np.nanmax, np.nanmean, np.nanmedian, np.nanstd):
        with pytest.warns(RuntimeWarning):
            result = record(lambda x: f(x, axis=1))(x)
        assert not result.backward()[0].any()


# running extremes


def test_running_maximum_shares_among_ties_so_far():
    f = record(lambda x: np.maximum.accumulate(x))
    same(f(np.array([1.0, 1.0, 0.0, 3.0])).backward(), [1 + 1 / 2 + 1 / 2, 1 / 2 + 1 / 2, 0, 1])
    same(f(np.array([1.0, NAN, NAN, 2.0])).pullback(np.array([1.0, 10.0, 100.0, 8.0])), [1, 64, 54, 0])
    check(lambda x: np.minimum.accumulate(x, axis=-1), C)
    check(lambda x: np.maximum.accumulate(x, axis=1), C)


def test_a_mask_goes_with_out():
    def f(x):
        r = np.zeros(3)
        np.sum(x, axis=0, out=r, where=MASK)
        return r * r

    check(f, M)


# the adjoint identity


def needed(op, names, operands, attributes, y):
    found = []
    for n in names:
        if type(n) is int:
            x = y if n in (RESULT, LIKE + RESULT) else operands[n - LIKE if n >= LIKE else n]
            found.append(like(x) if n >= LIKE + RESULT else x)
        else:
            found.append(operands if n == "operands" else attributes[n])
    return found


@pytest.mark.parametrize("op", MINE, ids=lambda op: op.name)
def test_tangents_are_the_adjoints_of_pullbacks_and_shapes_are_told(op):
    call = find(op.calls[0])
    for sample in op.samples:
        args, kwargs = (sample[:-1], sample[-1]) if type(sample[-1]) is dict else (sample, {})
        y = call(*args, **kwargs)
        operands, attributes = op.bind(*args, **kwargs)
        operands = [np.array(x) if type(x) is list else x for x in operands]
        told = op.shape(*map(like, operands), **attributes)
        assert told.shape == np.shape(y) and told.dtype in (None, getattr(y, "dtype", None))
        g = oracle.random_like(y, 3)
        for i, x in enumerate(operands):
            if op.linear or not oracle.is_differentiable(x):
                continue
            k, first = (0, (i,)) if op.variadic else (i, ())
            pull, push = op.pulls[k], op.pushes[k]
            d = pull.function(PLAIN, g, *first, *needed(op, pull.needs, operands, attributes, y))
            d = fitted(d, g, (np.shape(x), np.asarray(x).dtype, False))
            t = oracle.random_like(x, 5)
            dy = push.function(PLAIN, t, *first, *needed(op, push.needs, operands, attributes, y))
            assert np.shape(dy) == np.shape(y)
            np.testing.assert_allclose(np.vdot(dy, g), np.vdot(d, t), rtol=1e-10, atol=1e-12)
