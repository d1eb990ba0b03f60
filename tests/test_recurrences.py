"""Linear recurrences against the loops that the contract writes out."""

from __future__ import annotations

import numpy as np
import oracle
import pytest

from autograd_frontend import ops, record
from autograd_frontend.ops.block import OPERATIONS
from autograd_frontend.ops.plain import PLAIN

inf, nan = np.inf, np.nan


def diag(a, b, x, h):
    return ops.selective_scan_diag(a, b, x, h)


def var(a, b, x, h):
    return ops.selective_scan_diag_var(a, b, x, h)


def operands(steps, states, varying, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    shape = (steps, states) if varying else (states,)
    return [rng.uniform(-1.2, 1.2, s).astype(dtype) for s in (shape, shape, (steps, states), (states,))]


def by_hand(a, b, x, h, g):
    """States and gradients as the contract defines them, with factors for every step."""
    before, after = [], []
    for t in range(len(x)):
        before.append(h)
        h = a[t] * h + b[t] * x[t]
        after.append(h)
    q = [np.zeros_like(h)] * (len(x) + 1)
    for t in reversed(range(len(x))):
        q[t] = g[t] + (a[t + 1] * q[t + 1] if t + 1 < len(x) else 0)
    q, before = np.array(q[:-1]), np.array(before)
    return np.array(after), (q * before, q * x, b * q, a[0] * q[0])


@pytest.mark.parametrize("steps, states", [(1, 1), (1, 3), (7, 1), (7, 4), (300, 2)])
def test_states_and_gradients_are_those_of_the_loop(steps, states):
    a, b, x, h = operands(steps, states, True)
    g = np.random.default_rng(1).normal(size=x.shape)
    want, gradients = by_hand(a, b, x, h, g)
    r = record(var)(a, b, x, h)
    assert oracle.same_bits(r.value, want) and oracle.same_bits(var(a, b, x, h), want)
    for got, expected in zip(r.pullback(g), gradients):
        assert np.allclose(got, expected, rtol=1e-13, atol=1e-13)

    a, b, x, h = operands(steps, states, False)
    want, (da, db, dx, dh) = by_hand(*np.broadcast_arrays(a, b, x)[:2], x, h, g)
    r = record(diag)(a, b, x, h)
    assert oracle.same_bits(r.value, want)
    for got, expected in zip(r.pullback(g), (da.sum(0), db.sum(0), dx, dh)):
        assert got.shape == expected.shape and np.allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_nonfinite_numbers_follow_the_order_of_the_loop():
    a = np.array([[2.0, inf], [1e300, 0.0], [1e300, 2.0], [0.5, nan]])
    b = np.array([[1.0, 1.0], [inf, 1.0], [1.0, 1.0], [1.0, 0.0]])
    x, h, g = np.ones((4, 2)), np.array([1.0, 1.0]), np.ones((4, 2))
    with np.errstate(all="ignore"):
        want, gradients = by_hand(a, b, x, h, g)
        r = record(var)(a, b, x, h)
    assert np.array_equal(r.value, want, equal_nan=True)
    for got, expected in zip(r.pullback(g), gradients):
        assert np.array_equal(got, expected, equal_nan=True)


def test_a_prefix_of_products_would_overflow():
    a, x = np.full((400, 1), 1e-10), np.ones((400, 1))
    a[:40] = 1e10
    with np.errstate(all="ignore"):
        r = record(var)(a, np.ones_like(x), x, np.zeros(1))
        want, gradients = by_hand(a, np.ones_like(x), x, np.zeros(1), x)
    assert oracle.same_bits(r.value, want)
    assert all(np.allclose(p, q, rtol=1e-12, equal_nan=True) for p, q in zip(r.pullback(x), gradients))


def test_an_exact_zero_of_the_cotangent_stays_zero():
    a, b, x, h = np.array([inf, 2.0]), np.array([nan, 1.0]), np.array([[inf, 1.0], [1.0, 1.0]]), np.array([inf, 3.0])
    with np.errstate(all="ignore"):
        r = record(diag)(a, b, x, h)
    got = r.pullback(np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert [g.tolist() for g in got] == [[0.0, 16.0], [0.0, 4.0], [[0.0, 3.0], [0.0, 1.0]], [0.0, 6.0]]


@pytest.mark.parametrize("f, varying", [(diag, False), (var, True)])
@pytest.mark.parametrize("steps, states", [(0, 2), (3, 0), (0, 0)])
def test_no_steps_and_no_states(f, varying, steps, states):
    given = operands(steps, states, varying)
    r = record(f)(*given)
    assert r.value.shape == (steps, states) and r.value.dtype == float
    for g, x in zip(r.pullback(np.zeros((steps, states))), given):
        assert g.shape == x.shape and not g.any()


@pytest.mark.parametrize("f, varying", [(diag, False), (var, True)])
@pytest.mark.parametrize("dtype", [np.float32, np.longdouble])
def test_element_types(f, varying, dtype):
    given = operands(5, 3, varying, dtype)
    r = record(f)(*given)
    assert r.value.dtype == dtype and oracle.same_bits(r.value, f(*given))
    assert all(g.dtype == dtype for g in r.pullback(np.ones((5, 3), dtype)))
    wide = f(given[0], given[1], given[2], given[3].astype(np.longdouble))
    assert wide.dtype == np.longdouble


def test_lists_are_arrays_and_integers_data():
    y = ops.selective_scan_diag([0.5], [2.0], [[1.0], [3.0]], [4])
    assert y.tolist() == [[4.0], [8.0]]
    r = record(lambda a: ops.selective_scan_diag(a, np.array([2]), np.array([[1], [3]]), [4]))(np.array([0.5]))
    assert r.pullback(np.ones((2, 1))).tolist() == [4.0 + 4.0 + 0.5 * 4.0]


@pytest.mark.parametrize("f, varying", [(diag, False), (var, True)])
def test_tangents_agree_with_differences(f, varying):
    given = operands(6, 3, varying)
    op = OPERATIONS[f.__code__.co_names[1]]
    y, e = f(*given), 1e-6
    named = dict(zip(op.operands, given)) | {"y": y}
    for i, (name, push) in enumerate(zip(op.operands, op.pushes)):
        t = np.random.default_rng(i).normal(size=named[name].shape)
        moved = [[x + s * e * t if k == i else x for k, x in enumerate(given)] for s in (1, -1)]
        want = (f(*moved[0]) - f(*moved[1])) / (2 * e)
        got = push.function(PLAIN, t, *[named[op.operands[k] if k >= 0 else "y"] for k in push.needs])
        assert np.allclose(got, want, rtol=1e-7, atol=1e-8)


def test_what_was_returned_may_be_written():
    given = operands(5, 3, False)
    want = record(diag)(*given).pullback(np.ones((5, 3)))
    r = record(diag)(*given)
    r.value[...] = 9.0
    assert all(np.array_equal(p, q) for p, q in zip(r.pullback(np.ones((5, 3))), want))


ERRORS = [
    (diag, (2,), (2,), (2,), (2,), "selective_scan_diag: x has shape (2,), expected 2 axes, [steps, states]"),
    (diag, (3,), (2,), (4, 2), (2,),
     "selective_scan_diag: a has shape (3,), expected (2,), one entry for each state of x"),
    (diag, (2,), (4, 2), (4, 2), (2,),
     "selective_scan_diag: b has shape (4, 2), expected (2,), one entry for each state of x"),
    (diag, (2,), (2,), (4, 2), (1, 2),
     "selective_scan_diag: initial has shape (1, 2), expected (2,), one entry for each state of x"),
    (var, (2,), (4, 2), (4, 2), (2,), "selective_scan_diag_var: a has shape (2,), expected (4, 2), the shape of x"),
    (var, (4, 2), (3, 2), (4, 2), (2,), "selective_scan_diag_var: b has shape (3, 2), expected (4, 2), the shape of x"),
    (var, (4, 2), (4, 2), (4, 2), (3,),
     "selective_scan_diag_var: initial has shape (3,), expected (2,), one entry for each state of x"),
]  # fmt: skip


@pytest.mark.parametrize("f, a, b, x, h, message", ERRORS)
def test_errors(f, a, b, x, h, message):
    given = [np.ones(shape) for shape in (a, b, x, h)]
    for call in (f, record(f)):
        with pytest.raises(ValueError) as error:
            call(*given)
        assert str(error.value) == message
