"""Attention and the product with a masked softmax: against plain NumPy programs, masks, ends of the range, errors."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from autograd_frontend import ops, record

RNG = np.random.default_rng(11)
nan, inf = np.nan, np.inf
TRIANGLE = np.tril(np.ones((4, 4), bool))


def gradients(f, cotangent, *args, **settings):
    return record(lambda *args: f(*args, **settings))(*args).pullback(cotangent)


def same(a, b):
    return np.array_equal(a, b, equal_nan=True)


def close(got, want, rtol=1e-12):
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.max(np.abs(b), initial=0.0)))


def weights(s, mask):
    """The definition, for scores of moderate size."""
    e = np.exp(s) * (1.0 if mask is None else np.asarray(mask) * 1.0)
    total = np.sum(e, axis=-1, keepdims=True)
    return e / np.where(total == 0, 1.0, total)


def softmax_matmul(scores, values, multiplier, mask):
    return (weights(scores, mask) * multiplier) @ values


def attention(wq, wk, wv, wo, x, heads, mask):
    def split(x):
        return np.swapaxes(x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads), -2, -3)

    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    p = weights(q @ np.swapaxes(k, -1, -2) / np.sqrt(max(k.shape[-1], 1)), mask)
    y = np.swapaxes(p @ v, -2, -3)
    return y.reshape(*y.shape[:-2], wo.shape[0]) @ wo


HOLES = RNG.random((3, 4)) < 0.6
HOLES[1] = False


@pytest.mark.parametrize("mask", [None, HOLES, HOLES.tolist()], ids=["all", "some", "list"])
@pytest.mark.parametrize("stack", [(), (2,), (2, 3)], ids=str)
def test_the_product_is_the_one_of_its_definition(stack, mask):
    scores, multiplier = RNG.standard_normal((2, *stack, 3, 4))
    values, g = RNG.standard_normal((*stack, 4, 2)), RNG.standard_normal((*stack, 3, 2))
    r = record(lambda *args: ops.softmax_matmul(*args, mask=mask))(scores, values, multiplier)
    assert same(r.value, ops.softmax_matmul(scores, values, multiplier, mask=mask))
    close([r.value], [softmax_matmul(scores, values, multiplier, mask)])
    got = r.pullback(g)
    close(got, gradients(softmax_matmul, g, scores, values, multiplier, mask=mask))
    if mask is not None:
        blocked = np.broadcast_to(~np.asarray(mask), scores.shape)
        assert not np.any(got[0][blocked]) and not np.any(got[2][blocked]) and not np.any(r.value[..., 1, :])


def test_a_blocked_score_is_not_read():
    scores, mask = RNG.standard_normal((3, 4)), HOLES
    values, multiplier, g = RNG.standard_normal((4, 2)), RNG.standard_normal((3, 4)), np.ones((3, 2))
    spoiled = np.where(mask, scores, RNG.choice([nan, inf, -inf], (3, 4)))
    r, s = (record(ops.softmax_matmul)(x, values, multiplier, mask) for x in (scores, spoiled))
    assert same(r.value, s.value)
    for a, b in zip(r.pullback(g)[:3], s.pullback(g)[:3], strict=True):
        assert same(a, b) and np.all(np.isfinite(b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_blocked_keys_get_exact_zeros_beside_infinite_values():
    scores, multiplier = RNG.standard_normal((2, 3, 4))
    values = np.where([[True], [False], [False], [True]], inf, RNG.standard_normal((4, 2)))
    ds, _, dm = gradients(ops.softmax_matmul, np.ones((3, 2)), scores, values, multiplier, mask=HOLES)
    assert not np.any(ds[~HOLES]) and not np.any(dm[~HOLES])
    values[:, 1] = [1.0, 2.0, 3.0, 4.0]
    g = np.ones((3, 2)) * [0.0, 1.0]  # the spoiled column has no cotangent
    ds, _, dm = gradients(ops.softmax_matmul, g, scores, values, multiplier)
    want = gradients(ops.softmax_matmul, np.ones((3, 1)), scores, values[:, 1:], multiplier)
    close((ds, dm), want[::2])


def by_mpmath(p, values, multiplier, g):
    """The gradients of scores and multiplier as the contract writes them, with every exponent there is."""
    m = mpmath.mpf
    p, v, w, g = ([[m(float(e)) for e in row] for row in x] for x in (p, values, multiplier, g))
    keys, columns = range(len(v)), range(len(v[0]))
    y = [[mpmath.fsum(p[i][j] * w[i][j] * v[j][c] for j in keys) for c in columns] for i in range(len(p))]
    ds = [[mpmath.fsum(p[i][j] * g[i][c] * (w[i][j] * v[j][c] - y[i][c]) for c in columns) for j in keys]
          for i in range(len(p))]  # fmt: skip
    dm = [[mpmath.fsum(p[i][j] * g[i][c] * v[j][c] for c in columns) for j in keys] for i in range(len(p))]
    return [np.array([[float(e) for e in row] for row in x]) for x in (ds, dm)]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("dtype, far, big", [(np.float64, 600.0, 1e200), (np.float32, 60.0, 1e25)])
def test_the_weights_are_inside_the_sums(dtype, far, big):
    """`g @ valuesT` overflows, the gradients do not."""
    scores = np.array([[0.0, -far, -far - 1.0], [0.5, 1.0, -far]], dtype)
    values = np.array([[1.0, -2.0], [3.0, 0.5], [big, big]], dtype)
    multiplier, g = np.array([[1.0, 0.5, 2.0], [2.0, 1.0, -1.0]], dtype), np.array([[big, 0.0], [-big, big]], dtype)
    ds, _, dm = gradients(ops.softmax_matmul, g, scores, values, multiplier)
    p = ops.softmax_last(scores)
    with mpmath.workdps(60):
        want = by_mpmath(p, values, multiplier, g)
    assert not np.isfinite(g @ values.T).all() and ds.dtype == dm.dtype == dtype
    y = (p * multiplier) @ values
    terms = (p[..., None] * abs(g[:, None])) * (abs(multiplier[..., None] * values) + abs(y[:, None]))
    with np.errstate(over="ignore"):
        largest = np.max(terms, axis=-1)  # of which the gradient of an entry is the sum
    for got, exact in zip((ds, dm), want, strict=True):
        assert np.all(np.isfinite(exact)) and np.all(np.isfinite(largest))
        assert np.all(abs(got - exact) <= 32 * np.finfo(dtype).eps * largest), (got, exact)
    assert np.max(abs(ds)) > big / 100 and np.count_nonzero(ds) >= 4


def test_products_without_keys_columns_or_rows():
    for r, k, c in ((2, 0, 3), (2, 3, 0), (0, 3, 2)):
        args = np.zeros((r, k)), np.ones((k, c)), np.ones((r, k))
        assert same(ops.softmax_matmul(*args), np.zeros((r, c)))
        for d, x in zip(gradients(ops.softmax_matmul, np.ones((r, c)), *args), args, strict=True):
            assert same(d, np.zeros(x.shape))


ATTENTION = [
    ("one head", 1, (4,), None), ("heads", 3, (4,), None), ("causal", 2, (4,), TRIANGLE),
    ("batch", 2, (3, 4), TRIANGLE.tolist()), ("blocked query", 2, (2, 4), TRIANGLE & [[True], [False], [True], [True]]),
]  # fmt: skip


@pytest.mark.parametrize("heads, rows, mask", [a[1:] for a in ATTENTION], ids=[a[0] for a in ATTENTION])
def test_attention_is_the_one_of_its_definition(heads, rows, mask):
    wq, wk, wv = RNG.standard_normal((3, 5, 6))
    wo, x, g = RNG.standard_normal((6, 5)), RNG.standard_normal((*rows, 5)), RNG.standard_normal((*rows, 5))
    args = wq, wk, wv, wo, x
    r = record(lambda *args: ops.attention(*args, num_heads=heads, mask=mask))(*args)
    assert same(r.value, ops.attention(*args, heads, mask)) and r.value.shape == x.shape
    close([r.value], [attention(*args, heads, mask)])
    close(r.pullback(g), gradients(attention, g, *args, heads=heads, mask=mask))


def test_every_sample_of_a_batch_is_on_its_own():
    args = [*RNG.standard_normal((3, 5, 6)), RNG.standard_normal((6, 5))]
    x, g = RNG.standard_normal((2, 3, 4, 5))
    each = [record(lambda *args: ops.attention(*args, num_heads=2))(*args, s) for s in x]
    r = record(lambda *args: ops.attention(*args, num_heads=2))(*args, x)
    close(r.value, [e.value for e in each], 1e-14)
    got, want = r.pullback(g), [e.pullback(s) for e, s in zip(each, g, strict=True)]
    close(got[:4], [sum(d[i] for d in want) for i in range(4)])
    close(got[4], [d[4] for d in want], 1e-13)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_sample_without_cotangent_adds_nothing_even_if_it_is_not_finite():
    args = [*RNG.standard_normal((3, 5, 6)), RNG.standard_normal((6, 5))]
    x, g = RNG.standard_normal((2, 2, 4, 5))
    x[1], g[1] = [[nan], [inf], [1.0], [-inf]], 0.0
    got = gradients(ops.attention, g, *args, x, num_heads=2)
    want = gradients(ops.attention, g[0], *args, x[0], num_heads=2)
    close(got[:4], want[:4])
    close([got[4][0]], [want[4]])
    assert not np.any(got[4][1])


@pytest.mark.parametrize("dtype", [np.float32, np.longdouble])
def test_element_types_of_attention(dtype):
    args = [x.astype(dtype) for x in (*RNG.standard_normal((3, 4, 6)), RNG.standard_normal((6, 4)))]
    x, g = RNG.standard_normal((2, 3, 4)).astype(dtype)
    r = record(lambda *args: ops.attention(*args, num_heads=2, mask=TRIANGLE[:3, :3]))(*args, x)
    got = r.pullback(g)
    assert r.value.dtype == dtype and all(d.dtype == dtype for d in got)
    wide = [a.astype(float) for a in (*args, x)]
    want = gradients(attention, g.astype(float), *wide, heads=2, mask=TRIANGLE[:3, :3])
    close([d.astype(float) for d in got], want, 64 * max(np.finfo(dtype).eps, np.finfo(float).eps))


def test_heads_without_coordinates():
    args = np.zeros((2, 0)), np.zeros((2, 0)), np.zeros((2, 0)), np.zeros((0, 2)), np.ones((3, 2))
    assert same(ops.attention(*args, num_heads=2), np.zeros((3, 2)))
    for d, x in zip(gradients(ops.attention, np.ones((3, 2)), *args, num_heads=2), args, strict=True):
        assert same(d, np.zeros(x.shape))


def test_writing_into_the_mask_later_changes_nothing():
    scores, values, multiplier = np.zeros((2, 2)), np.array([[1.0], [3.0]]), np.ones((2, 2))
    mask = np.array([[True, False], [True, True]])

    def f(scores):
        y = ops.softmax_matmul(scores, values, multiplier, mask=mask)
        mask[:] = False
        return y

    d = record(f)(scores).pullback(np.ones((2, 1)))
    assert same(d, [[0.0, 0.0], [-0.5, 0.5]])


def ones(*shape):
    return np.ones(shape)


W, O, X = ones(2, 4), ones(4, 2), ones(3, 2)
REFUSED = [
    (lambda: ops.softmax_matmul(ones(3), ones(3, 1), ones(3)), ValueError,
     "softmax_matmul: scores has shape (3,), expected at least two axes"),
    (lambda: ops.softmax_matmul(ones(2, 3), ones(2, 1), ones(2, 3)), ValueError,
     "softmax_matmul: values has shape (2, 1), expected (3,) and a last axis, one row for each key of scores of shape "
     "(2, 3)"),
    (lambda: ops.softmax_matmul(ones(2, 3), ones(3, 1), ones(2, 2)), ValueError,
     "softmax_matmul: multiplier has shape (2, 2), expected (2, 3), that of scores"),
    (lambda: ops.softmax_matmul(ones(2, 3), ones(3, 1), ones(2, 3), mask=ones(3, 2) > 0), ValueError,
     "softmax_matmul: mask has shape (3, 2), expected (2, 3), one entry for each query and key"),
    (lambda: ops.softmax_matmul(ones(2, 3), ones(3, 1), ones(2, 3), mask=ones(2, 3)), TypeError,
     "softmax_matmul: mask has type float64, expected booleans, True for an allowed key"),
    (lambda: ops.attention(ones(2), W, W, O, X, 2), ValueError,
     "attention: wq has shape (2,), expected 2 axes, [d, heads * width]"),
    (lambda: ops.attention(W, O, W, O, X, 2), ValueError,
     "attention: wk has shape (4, 2), expected (2, 4), that of wq"),
    (lambda: ops.attention(W, W, O, O, X, 2), ValueError,
     "attention: wv has shape (4, 2), expected (2, 4), that of wq"),
    (lambda: ops.attention(W, W, W, W, X, 2), ValueError,
     "attention: wo has shape (2, 4), expected (4, 2), that of wq transposed"),
    (lambda: ops.attention(W, W, W, O, ones(3, 3), 2), ValueError,
     "attention: x has shape (3, 3), expected (3, 2), one column for each row of wq"),
    (lambda: ops.attention(W, W, W, O, ones(2), 2), ValueError,
     "attention: x has shape (2,), expected [n, d] or [b, n, d], n and b at least 1"),
    (lambda: ops.attention(W, W, W, O, ones(0, 3, 2), 2), ValueError,
     "attention: x has shape (0, 3, 2), expected [n, d] or [b, n, d], n and b at least 1"),
    (lambda: ops.attention(W, W, W, O, ones(0, 2), 2), ValueError,
     "attention: x has shape (0, 2), expected [n, d] or [b, n, d], n and b at least 1"),
    (lambda: ops.attention(W, W, W, O, X, 0), ValueError, "attention: num_heads is 0, expected at least 1"),
    (lambda: ops.attention(W, W, W, O, X, 3), ValueError,
     "attention: num_heads is 3, expected a divisor of the 4 columns of wq"),
    (lambda: ops.attention(W, W, W, O, X, 2.0), TypeError, "attention: num_heads is 2.0, expected a whole number"),
    (lambda: ops.attention(W, W, W, O, X, 2, np.eye(3)), TypeError,
     "attention: mask has type float64, expected booleans, True for an allowed key"),
    (lambda: ops.attention(W, W, W, O, X, 2, TRIANGLE), ValueError,
     "attention: mask has shape (4, 4), expected (3, 3), one entry for each query and key"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", REFUSED, ids=[r[2] for r in REFUSED])
def test_refused(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message
