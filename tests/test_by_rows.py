"""Rules that run with a buffer as long as their rows, and by-products that are not copied: nothing else changes."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import oracle
import pytest

from autograd_frontend import hvp, ops, record
from autograd_frontend.ops.plain import PLAIN

RNG = np.random.default_rng(11)
SHAPES = [(64, 300), (9, 1000), (3, 5, 999), (2, 4096), (2, 5000)]


def layer_norm(x):
    m = x.reshape(-1, x.shape[-1])
    return ops.layer_norm(m, m[0], m[1])


def batch_norm(x):
    m = x.reshape(len(x), -1)
    return ops.batch_norm(x, m[:, 0], m[:, 1])


CALLS = {
    "softmax_last": ops.softmax_last,
    "log_softmax_last": ops.log_softmax_last,
    "cross_entropy": lambda x: ops.cross_entropy(x, x * 0.5, axis=-1),
    "distill": lambda x: ops.distill(x, x * 0.5, axis=-1),
    "layer_norm": layer_norm,
    "batch_norm": batch_norm,
}


def bits(f, x):
    """Value and gradient of a recorded call."""
    r = record(lambda x: f(x))(x)
    assert oracle.same_bits(r.value, f(x))
    v = np.array(r.value)
    return v.tobytes(), r.pullback(np.cos(np.arange(v.size, dtype=v.dtype)).reshape(v.shape)).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_the_buffer_changes_no_bit(name, shape, dtype, monkeypatch):
    x = RNG.normal(size=shape).astype(dtype)
    with_buffer = bits(CALLS[name], x)
    monkeypatch.setattr("autograd_frontend.ops.plain.SMALL", 2**60)
    assert bits(CALLS[name], x) == with_buffer


def test_rows_get_a_buffer_of_their_length_and_it_is_put_back():
    before, seen = np.getbufsize(), []
    PLAIN.by_rows(lambda ops, x: seen.append(np.getbufsize()), np.ones((64, 300)))
    PLAIN.by_rows(lambda ops, x: seen.append(np.getbufsize()), np.ones((640, 30)))
    assert seen == [304, before]
    assert np.getbufsize() == before
    with pytest.raises(ZeroDivisionError):
        PLAIN.by_rows(lambda ops, x: 1 // 0, np.ones((64, 300)))
    assert np.getbufsize() == before


def test_warnings_and_errors_of_numpy_are_the_callers():
    x = RNG.normal(size=(64, 300))
    x[7, 3] = np.inf
    with pytest.warns(RuntimeWarning, match="invalid value"):
        ops.softmax_last(x)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        ops.softmax_last(x)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        y = ops.softmax_last(x)
    assert np.isnan(y[7]).all()
    assert np.isfinite(np.delete(y, 7, 0)).all()


@pytest.mark.parametrize("name", ["softmax_last", "log_softmax_last", "layer_norm"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_without_a_cotangent_stay_zero_beside_infinities(name):
    x = RNG.normal(size=(64, 300))
    x[7, 3] = np.inf
    g = RNG.normal(size=x.shape)
    g[7] = 0
    f = CALLS[name] if name != "layer_norm" else lambda x: ops.layer_norm(x, np.ones(300), np.zeros(300))
    d = record(lambda x: f(x))(x).pullback(g)
    assert not d[7].any()
    assert np.isfinite(d).all()


@pytest.mark.parametrize("name", ["softmax_last", "cross_entropy", "layer_norm", "batch_norm"])
def test_wide_rows_have_second_derivatives(name):
    x, v = RNG.normal(size=(30, 300)), RNG.normal(size=(30, 300))
    c = RNG.normal(size=np.shape(CALLS[name](x)))
    gradient, e = lambda x: record(lambda x: CALLS[name](x))(x).pullback(c), 1e-5
    got = hvp(lambda x: np.sum(CALLS[name](x) * c))(x, v)
    want = (gradient(x + e * v) - gradient(x - e * v)) / (2 * e)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def test_what_the_caller_writes_after_the_call_changes_no_gradient():
    x, w = RNG.normal(size=(64, 300)), RNG.normal(size=(64, 300))
    gamma, beta = RNG.normal(size=300), RNG.normal(size=300)
    for f, given in (
        (lambda x: ops.cross_entropy(x, w, axis=1), (x,)),
        (lambda x, gamma, beta: ops.layer_norm(x, gamma, beta) * w, (x, gamma, beta)),
    ):
        g = np.ones(np.shape(f(*given)))[()]
        want, r = record(f)(*given).pullback(g), record(f)(*given)
        for a in (*given, w, *([r.value] if r.value.shape else [])):
            a *= 3.0
        got = r.pullback(g)
        for a, b in zip(got, want) if len(given) > 1 else ((got, want),):
            assert a.tobytes() == b.tobytes()


def test_by_products_that_nobody_else_sees_are_not_copied():
    x, gamma = RNG.normal(size=(256, 1000)), RNG.normal(size=1000)
    f = record(lambda x, gamma, beta: ops.layer_norm(x, gamma, beta))
    f(x, gamma, gamma).close()
    tracemalloc.start()
    try:
        r = f(x, gamma, gamma)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    r.close()
    assert held < 2.2 * x.nbytes  # the value, and the normalized rows
