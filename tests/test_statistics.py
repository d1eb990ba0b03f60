"""Variances, covariances, norms and the softmax family: every form, and the law at every special point."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from autograd_frontend import RecordError, record
from tests.test_reductions import INF, MASK, SPREAD, C, M, V, check, gradient, named, same

# variance


def test_standard_deviation_zero_has_derivative_zero():
    same(gradient(lambda x: np.std(x), np.ones(3)), [0, 0, 0])
    same(gradient(lambda x: np.std(x) ** 2, np.ones(3)), [0, 0, 0])
    d = record(lambda x: np.std(x, axis=1))(np.array([[1.0, 1.0], [1.0, 3.0]])).backward()
    same(d, [[0, 0], [-0.5, 0.5]])


@pytest.mark.parametrize("settings", [{"ddof": 1}, {"correction": 1}, {"axis": 1, "ddof": 1.5}])
@pytest.mark.parametrize("f", SPREAD, ids=named)
def test_degrees_of_freedom(f, settings):
    check(lambda x: f(x, **settings), M)
    check(lambda x: f(x, where=MASK, **settings), M)


def test_a_given_mean_is_taken_as_it_is():
    check(lambda x, m: np.var(x, axis=1, mean=m), M, np.array([[0.3], [0.5]]))
    mean = np.mean(M, axis=1, keepdims=True)
    d = record(lambda x: np.std(x, axis=1, mean=mean))(M).backward()
    same(d, record(lambda x: np.std(x, axis=1))(M).backward())


def test_without_freedom_the_derivative_is_nan_as_the_value():
    with pytest.warns(RuntimeWarning):
        result = record(lambda x: np.var(x, ddof=1))(np.array([2.0]))
    assert np.isnan(result.value) and np.isnan(result.backward()).all()


# norms


def test_a_norm_at_the_origin_has_derivative_zero():
    for ord in (None, 2, 1, INF, 3):
        same(gradient(lambda x: np.linalg.norm(x, ord), np.zeros(3)), [0, 0, 0])
    same(gradient(lambda x: np.linalg.norm(x), np.zeros((2, 2))), np.zeros((2, 2)))
    for ord in (1, INF, 2, "nuc", "fro"):
        same(gradient(lambda x: np.linalg.norm(x, ord), np.zeros((2, 2))), np.zeros((2, 2)))


def test_a_squared_norm_is_smooth_at_the_origin():
    same(gradient(lambda x: np.exp(-(np.linalg.norm(x) ** 2)), np.zeros(3)), [0, 0, 0])


def test_a_zero_row_does_not_spoil_the_others():
    x = np.array([[3.0, 4.0], [0.0, 0.0]])
    same(record(lambda x: np.linalg.norm(x, axis=1))(x).backward(), [[0.6, 0.8], [0, 0]])


def test_tied_largest_entries_of_a_norm_share():
    same(gradient(lambda x: np.linalg.norm(x, INF), np.array([2.0, -2.0, 1.0])), [0.5, -0.5, 0])


def test_a_zero_cotangent_of_a_norm_stays_zero_beside_infinity():
    result = record(lambda x: np.linalg.norm(x, axis=1))(np.array([[INF, 1.0], [3.0, 4.0]]))
    same(result.pullback(np.array([0.0, 1.0])), [[0, 0], [0.6, 0.8]])


# softmax family


def test_log_sum_exp_of_large_numbers():
    d = gradient(lambda x: special.logsumexp(x), np.array([1000.0, 1001.0, 999.0]))
    np.testing.assert_allclose(d, [0.24472847105479764, 0.6652409557748219, 0.09003057317038046], rtol=1e-14)
    check(lambda x: special.logsumexp(x, axis=(0, 2), keepdims=True), C)
    check(lambda x, b: special.logsumexp(x, axis=1, b=b), M, np.abs(M))
    with pytest.raises(RecordError, match="return_sign"):
        record(lambda x: special.logsumexp(x, return_sign=True)[0])(V)


def test_log_softmax_does_not_cancel():
    d = record(lambda x: special.log_softmax(x))(np.array([0.0, -40.0])).pullback(np.array([1.0, 0.0]))
    np.testing.assert_allclose(d, [4.248354255291589e-18, -4.248354255291589e-18], rtol=1e-12)


def test_softmax_of_every_axis():
    for axis in (None, 0, -1, (0, 1)):
        check(lambda x: special.softmax(x, axis=axis), C)
        check(lambda x: special.log_softmax(x, axis=axis), C)


def test_covariances_of_every_form():
    check(lambda x: np.cov(x), M)
    check(lambda x: np.cov(x), V)
    check(lambda x: np.cov(x, rowvar=False, bias=True), C[0])
    with pytest.raises(RecordError, match="vstack"):
        record(lambda x: np.cov(x, x)[0, 0])(V)


def test_a_weight_of_zero_leaves_a_term_out_of_log_sum_exp():
    d = gradient(lambda x: special.logsumexp(x, b=np.array([0.0, 1.0])), np.array([1000.0, 0.0]))
    same(d, [0, 1])
