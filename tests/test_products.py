"""Products: exact zeros through contractions, the scaled product of matrices, a layer, attention."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from autograd_frontend import ops, record
from autograd_frontend.ops.plain import PLAIN

inf, nan = np.inf, np.nan
ENTRIES = [0.0, -0.0, 1.0, -2.0, 3.0, inf, -inf, nan]
RNG = np.random.default_rng(7)


def gradients(f, cotangent, *args):
    got = record(f)(*args).pullback(cotangent)
    return got if isinstance(got, tuple) else (got,)


def same(a, b):
    return np.array_equal(a, b, equal_nan=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
def test_a_zero_adds_exactly_nothing_to_a_sum_of_products(dtype):
    for _ in range(300):
        g = RNG.choice(ENTRIES, (3, 4), p=[0.35, 0.1, 0.2, 0.15, 0.1, 0.04, 0.03, 0.03]).astype(dtype)
        x = RNG.choice(ENTRIES, (4, 2), p=[0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1]).astype(dtype)
        products = np.where(g[:, :, None] == 0, 0, g[:, :, None] * x)
        got = PLAIN.bilinear(lambda g, x: g @ x, g, x)
        assert got.dtype == dtype and same(got, products.sum(1))


S = np.arange(24.0).reshape(2, 3, 4)
SPOILED = (3.0, inf, -inf, nan)
PRODUCTS = {
    "matmul": (lambda a, b: a @ b, (2, 3), (3, 4)),
    "matrix_vector": (lambda a, b: a @ b, (2, 3), (3,)),
    "vector_matrix": (lambda a, b: a @ b, (3,), (3, 4)),
    "stack_vector": (lambda a, b: a @ b, (2, 3, 4), (4,)),
    "vector_stack": (lambda a, b: a @ b, (3,), (2, 3, 4)),
    "stacks": (lambda a, b: a @ b, (2, 3, 4), (1, 4, 2)),
    "dot_stack": (lambda a, b: np.dot(a, b), (2, 3), (2, 3, 4)),
    "stack_dot": (lambda a, b: np.dot(a, b), (2, 3, 4), (4, 2)),
    "stack_dot_vector": (lambda a, b: np.dot(a, b), (2, 3, 4), (4,)),
    "scalar_dot": (lambda a, b: np.dot(a, b), (), (3,)),
    "inner": (lambda a, b: np.inner(a, b), (2, 3), (4, 3)),
    "outer": (lambda a, b: np.outer(a, b), (3,), (4,)),
    "vecdot": (lambda a, b: np.vecdot(a, b), (2, 3), (2, 3)),
    "matvec": (lambda a, b: np.matvec(a, b), (4, 2, 3), (3,)),
    "vecmat": (lambda a, b: np.vecmat(a, b), (4, 3), (3, 2)),
    "tensordot": (lambda a, b: np.tensordot(a, b, ([2, 0], [0, 1])), (2, 3, 4), (4, 2, 3)),
    "einsum": (lambda a, b: np.einsum("ij,jk->ik", a, b), (2, 3), (3, 4)),
    "einsum_three": (lambda a, b: np.einsum("ij,jk,k->ki", a, b, np.array([1.0, 2.0])), (2, 3), (3, 2)),
    "einsum_diagonal": (lambda a, b: np.einsum("ii,ij->j", a, b), (3, 3), (3, 2)),
    "kron": (lambda a, b: np.kron(a, b), (2, 3), (3, 2)),
    "cross": (lambda a, b: np.cross(a, b), (2, 3), (2, 3)),
    "multi_dot": (lambda a, b: np.linalg.multi_dot([a, b]), (2, 3), (3, 4)),
    "ops.matmul": (lambda a, b: ops.matmul(a, b), (2, 3), (3, 4)),
    "ops.matmul scaled": (lambda a, b: ops.matmul(a, b, scale=-0.5), (2, 3), (3, 4)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_zero_cotangent_is_zero_beside_infinities(name):
    """Against every entry of the result on its own: what it hands to an operand is infinite or not, but a result whose
    cotangent is zero hands over nothing."""
    f, *shapes = PRODUCTS[name]
    for place in range(2):
        args = [RNG.choice([1.0, -2.0, 0.5], shape) for shape in shapes]
        at = RNG.random(shapes[place]) < 0.5
        args[place] = np.where(at, RNG.choice(SPOILED, shapes[place]), args[place])
        y = f(*args)
        zeros = np.zeros(np.shape(y))
        for d, x in zip(gradients(f, zeros if np.shape(y) else 0.0, *args), args, strict=True):
            assert np.shape(d) == np.shape(x) and not np.any(d)
        if np.ndim(y):  # one entry passes something, the others nothing
            g = zeros.copy()
            g.flat[0] = 1.0
            one = [np.where(np.isfinite(x), x, 1.0) for x in args]
            touched = [d != 0 for d in gradients(f, g, *one)]
            for d, t in zip(gradients(f, g, *args), touched, strict=True):
                assert not np.any(d[~t])


def test_finite_contributions_beside_skipped_infinities_are_exact():
    a, x = np.array([[1.0, 2.0], [inf, 3.0]]), np.array([0.5, -1.0])
    (d,) = gradients(lambda x: a @ x, np.array([2.0, 0.0]), x)
    assert same(d, [2.0, 4.0])
    (d,) = gradients(lambda x: a @ x, np.array([2.0, -1.0]), x)
    assert same(d, [-inf, 1.0])
    y, z = np.array([[inf], [2.0]]), np.array([[3.0], [5.0]])
    (d,) = gradients(lambda x: np.einsum("i,ik,ik->ik", x, y, z), np.array([[0.0], [1.0]]), x)
    assert same(d, [0.0, 10.0])


# The scaled product


def exact(a, b, scale):
    """With every exponent there is."""
    s = mpmath.mpf(float(scale))
    rows = [[mpmath.fsum(mpmath.mpf(float(p)) * float(q) for p, q in zip(r, c)) * s for c in b.T] for r in a]
    return np.array([[float(x) for x in row] for row in rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("powers", [(1, 1, -1), (-1, -1, 1), (1, -1, 0), (0.6, 0.6, -0.9), (-0.7, -0.6, 0.9)])
def test_the_scale_is_inside_the_product(dtype, powers):
    """Operands and scale at the ends of the range, products in the middle of it, also for the gradients."""
    top = np.log2(np.finfo(dtype).max) * 0.95
    p, q, s = (2.0 ** (top * k) for k in powers)
    a = (p * RNG.uniform(0.5, 1.0, (3, 5))).astype(dtype)
    b = (q * RNG.uniform(0.5, 1.0, (5, 2))).astype(dtype)
    s = -0.3 * s
    r = record(lambda a, b: ops.matmul(a, b, scale=s))(a, b)
    with mpmath.workdps(30):
        want = exact(a, b, s)
        assert r.value.dtype == dtype and same(r.value, ops.matmul(a, b, scale=s))
        np.testing.assert_allclose(r.value, want, rtol=8 * np.finfo(dtype).eps)
        g = (RNG.uniform(0.5, 1.0, (3, 2)) / (p * s)).astype(dtype)  # the gradient of b fits, that of a may not
        da, db = r.pullback(g)
        assert da.dtype == db.dtype == dtype
        np.testing.assert_allclose(db, exact(a.T, g, s), rtol=8 * np.finfo(dtype).eps)


def test_entries_at_both_ends_of_the_range_that_meet_lose_nothing():
    big, small = 2.0**1020, 2.0**-1020
    a, b = np.array([[big, small], [small, 0.0]]), np.array([[small], [big]])
    assert same(ops.matmul(a, b, scale=2.0), [[4.0], [2.0**-2039 * 0.0]])
    a, b = np.array([[big, 0.0], [small, small]]), np.array([[small, 0.0], [small, big]])
    assert same(ops.matmul(a, b, scale=0.5), [[0.5, 0.0], [0.0, 0.5]])


def test_scales_and_shapes_of_the_scaled_product():
    a, b = RNG.standard_normal((2, 1, 3, 4)), RNG.standard_normal((5, 4, 2))
    assert same(ops.matmul(a, b), a @ b)
    np.testing.assert_allclose(ops.matmul(a, b, scale=3), a @ b * 3, rtol=1e-14)
    da, db = gradients(lambda a, b: ops.matmul(a, b, scale=0.25), np.ones((2, 5, 3, 2)), a, b)
    assert da.shape == a.shape and db.shape == b.shape
    np.testing.assert_allclose(da[:, 0], (np.ones((5, 3, 2)) @ b.mT).sum(0) / 4 + 0 * a[:, 0], rtol=1e-13)
    assert same(ops.matmul(np.zeros((2, 0)), np.zeros((0, 3)), scale=2.0), np.zeros((2, 3)))
    da, db = gradients(lambda a, b: ops.matmul(a, b, scale=2.0), np.ones((2, 3)), np.zeros((2, 0)), np.zeros((0, 3)))
    assert da.shape == (2, 0) and db.shape == (0, 3)
    assert same(ops.matmul(np.zeros((2, 2)), a[0, 0, :2], scale=7.0), np.zeros((2, 4)))
    assert same(ops.matmul([[1, 2]], [[3], [4]], scale=0.5), [[5.5]])
    assert same(ops.matmul(np.array([[inf, 1.0]]), np.array([[1.0], [2.0]]), scale=-2), [[-inf]])
    assert np.isnan(ops.matmul(np.array([[nan, 1.0]]), np.array([[1.0], [2.0]]), scale=2)).all()
    x = np.float32([[0.3, 0.7]])
    assert ops.matmul(x, x.T, scale=np.float64(0.1)).dtype == np.float32
    third = np.longdouble(1) / 3
    assert ops.matmul(np.longdouble([[3]]), np.longdouble([[1]]), scale=third)[0, 0] == 3 * third


def test_a_layer():
    w, b, x = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]), np.array([1.0, 0.0, -1.0]), np.array([2.0, -1.0])
    g = np.array([1.0, 0.0, -2.0])
    r = record(ops.linear)(w, b, x)
    assert same(r.value, [1.0, 7.0, 0.0]) and same(r.value, ops.linear(w.tolist(), b.tolist(), x.tolist()))
    dw, db, dx = r.pullback(g)
    assert same(dw, np.outer(g, x)) and same(db, g) and same(dx, [0.0, 2.0])
    dw, _, dx = gradients(ops.linear, g, np.where(w == 3.0, inf, w), b, np.array([2.0, 5.0]))
    assert same(dx, [0.0, 2.0]) and same(dw[1], [0.0, 0.0])
    dw, db, dx = gradients(ops.linear, np.zeros(0), np.zeros((0, 2)), np.zeros(0), x)
    assert dw.shape == (0, 2) and db.shape == (0,) and same(dx, [0.0, 0.0])


ONES = np.ones
REFUSED = [
    (lambda: ops.matmul(ONES(3), ONES((3, 2))), ValueError, "matmul: a has shape (3,), expected at least two axes"),
    (lambda: ops.matmul(ONES((2, 3)), 1.0), ValueError, "matmul: b has shape (), expected at least two axes"),
    (
        lambda: ops.matmul(ONES((2, 3)), ONES((2, 2))), ValueError,
        "matmul: b has shape (2, 2), expected 3 rows, as many as a of shape (2, 3) has columns",
    ),
    (
        lambda: ops.matmul(ONES((2, 2, 3)), ONES((3, 3, 2))), ValueError,
        "matmul: stacks (2,) of a and (3,) of b do not broadcast",
    ),
    (lambda: ops.matmul(ONES((1, 1)), ONES((1, 1)), scale="2"), TypeError, "matmul: scale is '2', expected a number"),
    (lambda: ops.linear(ONES(3), ONES(1), ONES(3)), ValueError, "linear: w has shape (3,), expected 2 axes, [out, in]"),
    (
        lambda: ops.linear(ONES((2, 3)), ONES(3), ONES(3)), ValueError,
        "linear: b has shape (3,), expected (2,), one entry for each row of w",
    ),
    (
        lambda: ops.linear(ONES((2, 3)), ONES(2), ONES((3, 1))), ValueError,
        "linear: x has shape (3, 1), expected (3,), one entry for each column of w",
    ),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, message", REFUSED, ids=[r[2] for r in REFUSED])
def test_refused(call, kind, message):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message
