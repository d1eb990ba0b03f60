"""Shapes, selections and reductions of the interface: as NumPy, in value, memory and gradient."""

from __future__ import annotations

import time

import numpy as np
import oracle
import pytest
from checking import faithful

from autograd_frontend import RecordError, grad, ops, record

M = np.sin(np.arange(12.0)).reshape(3, 4)
S = np.cos(np.arange(24.0)).reshape(2, 3, 4)
V = np.array([0.5, -1.0, 2.0, 3.0, -0.5, 1.5])

CALLS = {
    "broadcast_to": lambda x: ops.broadcast_to(x, (2, *x.shape)),
    "reshape": lambda x: ops.reshape(x, (x.size, 1)),
    "flatten": lambda x: ops.flatten(x),
    "swap_adjacent_at_depth": lambda x: ops.swap_adjacent_at_depth(x, 0),
    "select": lambda x: ops.select(x, -1, 0),
    "index_select": lambda x: ops.index_select(x, [-1, 0, 0], 0),
    "scatter_add": lambda x: ops.scatter_add(x, x, [0] * x.shape[0], 0),
    "concat": lambda x: ops.concat(x, x),
    "slice": lambda x: ops.slice(x, 0, x.shape[0] - 1),
    "top_k_mask": lambda x: ops.top_k_mask(x, 2),
    "sum": lambda x: ops.sum(x),
    "reduce_sum": lambda x: ops.reduce_sum(x, -1),
    "reduce_mean": lambda x: ops.reduce_mean(x, 0),
}
NUMPY = {
    "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "reshape": lambda x: x.reshape(x.size, 1),
    "flatten": lambda x: x.ravel(),
    "swap_adjacent_at_depth": lambda x: x.swapaxes(0, 1),
    "select": lambda x: x[-1],
    "index_select": lambda x: x[[-1, 0, 0]],
    "concat": lambda x: np.concatenate([x, x]),
    "slice": lambda x: x[:-1],
    "sum": lambda x: np.sum(x),
    "reduce_sum": lambda x: x.sum(-1),
    "reduce_mean": lambda x: x.mean(0),
}
every = pytest.mark.parametrize("name", CALLS)


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("x", [M, S, M.T, S[::-1, :, ::2], M.astype(np.float32)], ids=lambda x: str(x.shape))
def test_value_and_gradient_are_those_of_numpy(name, x):
    r, want = record(CALLS[name])(x), record(NUMPY[name])(x)
    assert oracle.same_bits(r.value, NUMPY[name](x)) and oracle.same_bits(CALLS[name](x), NUMPY[name](x))
    w = oracle.random_like(r.value, 1)
    w = w.astype(r.value.dtype) if np.ndim(w) else type(r.value)(w)
    got = r.pullback(w)
    assert oracle.same_bits(got, want.pullback(w))
    assert got.dtype == x.dtype and got.shape == x.shape


@pytest.mark.parametrize("name", NUMPY)
def test_second_derivatives_are_those_of_numpy(name):
    def slope(call):
        g = grad(lambda x: ops.sum(call(x) ** 3))
        return grad(lambda x: ops.sum(g(x) * V.reshape(3, 2)))

    x = M[:, :2].copy()
    got, want = slope(CALLS[name])(x), slope(NUMPY[name])(x)
    assert want.any() and np.allclose(got, want, rtol=1e-13)


@every
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_the_element_type_stays(name, dtype):
    x = M.astype(dtype)
    r = record(CALLS[name])(x)
    assert r.value.dtype == dtype and oracle.same_bits(r.value, CALLS[name](x))
    assert r.backward().dtype == dtype


@every
def test_lists_are_arrays(name):
    def f(s):
        return CALLS[name](np.array([[s, 1.0], [2.0, s]]))

    def g(s):
        return {
            "broadcast_to": lambda x: ops.broadcast_to(x, (2, 2, 2)), "reshape": lambda x: ops.reshape(x, [4, 1]),
            "scatter_add": lambda x: ops.scatter_add(x, x, [0, 0], 0), "slice": lambda x: ops.slice(x, 0, 1),
        }.get(name, CALLS[name])([[s, 1.0], [2.0, s]])  # fmt: skip

    a, b = record(f)(0.5), record(g)(0.5)
    assert oracle.same_bits(a.value, b.value) and oracle.same_bits(b.value, g(0.5))
    assert a.backward() == b.backward()


def test_scalars():
    def f(s):
        return ops.reshape(s, (1, 1)), ops.flatten(s), ops.broadcast_to(s, (2, 3)), ops.sum(s), ops.reshape(s, ())

    for s in (1.5, np.float64(1.5), np.float32(1.5), np.array(1.5)):
        r = record(f)(s)
        assert [np.shape(v) for v in r.value] == [(1, 1), (1,), (2, 3), (), ()]
        assert type(r.value[3]) is type(r.value[4]) is (np.float32 if type(s) is np.float32 else np.float64)
        assert oracle.same_bits(list(r.value), list(f(s)))
        assert r.backward() == 10.0
    assert type(ops.top_k_mask(0.3, 1)) is np.float64 and ops.top_k_mask(np.float32(0.3), 0) == 0.0
    assert type(ops.top_k_mask(np.array(3, np.int32), 2)) is np.int32


def test_rank_0_results_are_numpy_scalars():
    for call in (lambda x: ops.select(x, 1, 0), lambda x: ops.sum(x), lambda x: ops.reduce_mean(x, 0),
                 lambda x: ops.reshape(x[:1], ())):  # fmt: skip
        assert type(call(V)) is np.float64 and type(record(call)(V).value) is np.float64
        assert type(call(V.astype(np.float32))) is type(record(call)(V.astype(np.float32)).value) is np.float32


def test_integers_are_data_and_keep_their_type():
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    for name in CALLS.keys() - {"sum", "reduce_sum", "reduce_mean"}:
        assert CALLS[name](x).dtype == np.int32
    assert ops.sum(x) == 15 and ops.reduce_mean([1, 2], 0) == 1.5
    assert ops.top_k_mask(np.array([0, 255, 3], np.uint8), 1).tolist() == [0, 1, 0]
    assert ops.top_k_mask(np.array([-128, 3, 127], np.int8), 2).tolist() == [0, 1, 1]
    assert ops.top_k_mask(np.array([False, True, True]), 1).tolist() == [False, True, False]


def test_empty_arrays():
    x = np.zeros((0, 3))

    def f(x):
        return (
            ops.broadcast_to(x, (2, 0, 3)), ops.broadcast_to(x[:, :1], (0, 5)), ops.reshape(x, (3, 0)),
            ops.reshape(x, (-1, 3)), ops.flatten(x), ops.swap_adjacent_at_depth(x, 0), ops.select(x, 0, 1),
            ops.index_select(x, [2, 2], 1), ops.index_select(x, [], 0), ops.scatter_add(x, x[:, :1], [1], 1),
            ops.concat(x, x), ops.slice(x, 0, 0), ops.sum(x), ops.reduce_sum(x, 0), ops.reduce_sum(x, 1),
            ops.reduce_mean(x, 1), ops.top_k_mask(x, 1), ops.top_k_mask(x.T, 1),
        )  # fmt: skip

    r = record(f)(x)
    assert [np.shape(v) for v in r.value] == [
        (2, 0, 3), (0, 5), (3, 0), (0, 3), (0,), (3, 0), (0,), (0, 2), (0, 3), (0, 3), (0, 3), (0, 3), (), (3,), (0,),
        (0,), (0, 3), (3, 0),
    ]  # fmt: skip
    assert r.value[12] == 0.0 and not r.value[13].any()
    assert r.backward().shape == (0, 3)
    assert ops.broadcast_to(M[:1], (0, 4)).shape == (0, 4)
    assert not record(lambda m: ops.broadcast_to(m, (0, 4)))(M[:1]).backward().any()


def test_writes_through_views_reach_the_array_and_back():
    def f(x, m, s):
        y = ops.reshape(x, (2, 3))
        y[0] = x[3:] * s
        y[1, 1] *= s
        r = ops.select(m, 1, 0)
        r[:2] += x[:2]
        m[1, 3] = s * s
        t = ops.swap_adjacent_at_depth(m, 0)
        t[0] = r[:3]
        w = ops.slice(m, 1, 2)
        w *= s
        c = ops.select(m, -1, 1)
        c[0] = x[5]
        z = ops.flatten(m)
        z[5] = x[1]
        return x * 1.0, m * 1.0, y, r * t[1, 2], w, c, z, ops.select(x, 2, 0), ops.slice(x, 1, 3)

    faithful(f, V, M, 0.7)


def test_writes_into_copies_stay_there():
    def f(x, m, s):
        a = ops.index_select(x, [0, 0, 3], 0)
        a[0] = s
        b = ops.concat(x, x)
        b[2] *= s
        c = ops.scatter_add(x, x[:2], [5, 5], 0)
        c[5] = s
        d = ops.reshape(m.T, (12,))
        d[3] = s
        x[0] = s * s
        m[0] = x[:4]
        return a, b, c, d, x * 1.0, m * 1.0

    faithful(f, V, M, 0.7)


def test_a_scalar_selected_before_a_write_is_what_it_was():
    def f(x, s):
        a = ops.select(x, 1, 0)
        x[1] = a * s
        b = ops.select(x, 1, 0)
        x[1] = b * b * s
        return a * b * x[1], ops.sum(x)

    faithful(f, V, 0.7)


def test_a_broadcast_array_is_read_only_and_guards_its_memory():
    def f(x):
        y = ops.broadcast_to(x, (2, 6))
        y[0] = 1.0

    def g(x):
        y = ops.broadcast_to(x, (2, 6))
        x[0] = 1.0
        return ops.sum(y)

    def h(x):
        y = ops.broadcast_to(x, x.shape)
        x[0] = x[1] * 2.0
        return y * y, x * y

    for call in (f, record(f)):
        with pytest.raises(ValueError, match="read-only"):
            call(V.copy())
    with pytest.raises(RecordError, match="broadcast view"):
        record(g)(V.copy())
    faithful(h, V)


def test_settings_are_kept_as_they_were():
    def f(x, s):
        shape, at = np.array([2, 3]), [0, 0, 5]
        where = np.array([1, 1, 2])
        y, a, b = ops.reshape(x, shape), ops.index_select(x, at, 0), ops.index_select(x, where, 0)
        c = ops.scatter_add(x, x[:3], where, 0)
        d = np.reshape(x, shape)
        shape[:] = [3, 2]
        where[:] = 4
        at[1] = 3
        return y * s, a * a, b * b, c * c, d * s

    faithful(f, V, 0.7)


def test_repeated_indices_add_up_in_order():
    base, source = np.array([1.0, 1e16]), np.array([1.0, -1e16, 1.0])
    want = base.copy()
    for j, i in enumerate([1, 1, 1]):
        want[i] += source[j]
    assert oracle.same_bits(ops.scatter_add(base, source, [1, 1, 1], 0), want)
    r = record(lambda b, s: ops.scatter_add(b, s, [1, -1, 0], 0))(base.astype(np.float32), source)
    assert r.value.dtype == np.float64
    gb, gs = r.pullback(np.array([2.0, 3.0]))
    assert gb.dtype == np.float32 and gb.tolist() == [2.0, 3.0] and gs.tolist() == [3.0, 3.0, 2.0]
    got = record(lambda x: ops.index_select(x, [1, 1, -2, 0], 1))(M).pullback(np.arange(12.0).reshape(3, 4))
    assert got.tolist() == [[3.0, 1.0, 2.0, 0.0], [7.0, 9.0, 6.0, 0.0], [11.0, 17.0, 10.0, 0.0]]


def test_operands_are_not_written():
    base, source = M.copy(order="F"), M.copy()
    ops.scatter_add(base, source, [0, 0, 1], 0)
    assert np.array_equal(base, M) and np.array_equal(source, M)


def mask_by_definition(row, k):
    n = len(row)
    return [float(sum(row[j] > row[i] or row[j] == row[i] and j < i for j in range(n)) < k) for i in range(n)]


def test_top_k_mask_is_its_definition():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 40):
        x = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 5e-324], (20, n))
        for k in (0, 1, 2, n - 1, n, n + 7, 10**30):
            assert ops.top_k_mask(x, k).tolist() == [mask_by_definition(row, k) for row in x]
    x = rng.normal(size=(3, 4, 7)).round(1)
    assert np.array_equal(ops.top_k_mask(x, 3).reshape(12, 7), ops.top_k_mask(x.reshape(12, 7), 3))


def test_top_k_mask_is_constant():
    r = record(lambda x: ops.top_k_mask(x, 2) * x)(V)
    assert r.value.tolist() == [0.0, -0.0, 2.0, 3.0, -0.0, 0.0]
    assert r.backward().tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    assert not record(lambda x: (ops.top_k_mask(x, 2), x)[0])(V).backward().any()


def test_an_exact_zero_passes_beside_infinities():
    x = np.array([[np.inf, 1.0], [np.nan, 2.0]])
    g = record(lambda x: ops.reduce_mean(x, 1))(x).pullback(np.array([0.0, 3.0]))
    assert g.tolist() == [[0.0, 0.0], [1.5, 1.5]]
    g = record(lambda x: ops.select(x, 1, 0))(x).pullback(np.array([np.inf, 1.0]))
    assert g.tolist() == [[0.0, 0.0], [np.inf, 1.0]]


@pytest.mark.parametrize("name", ["select", "slice"])
def test_reading_entry_by_entry_takes_linear_time(name):
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s = s + (ops.select(x, i, 0) if name == "select" else ops.sum(ops.slice(x, i, 1)))
        return s

    def swept(n):
        r = record(f)(np.ones(n))
        start = time.perf_counter()
        assert r.backward().tolist() == [1.0] * n
        return time.perf_counter() - start

    few, many = min(swept(400) for _ in range(3)), swept(8000)
    assert many < 60 * few + 0.2  # quadratic: 400 times


ERRORS = [
    (lambda: ops.broadcast_to(M, (4, 4)), ValueError,
     "broadcast_to: x has shape (3, 4), which does not broadcast to (4, 4)"),
    (lambda: ops.broadcast_to(M, 4), ValueError, "broadcast_to: x has shape (3, 4), which does not broadcast to (4,)"),
    (lambda: ops.broadcast_to(M, (-1, 4)), ValueError, "broadcast_to: shape is -1, expected at least 0"),
    (lambda: ops.broadcast_to(M, (3.0, 4)), TypeError, "broadcast_to: shape is 3.0, expected a whole number"),
    (lambda: ops.reshape(M, (5, -1)), ValueError,
     "reshape: x has 12 entries, in shape (3, 4), which do not fill shape (5, -1)"),
    (lambda: ops.reshape(M, 11), ValueError,
     "reshape: x has 12 entries, in shape (3, 4), which do not fill shape (11,)"),
    (lambda: ops.reshape(M, (-1, -1)), ValueError,
     "reshape: x has 12 entries, in shape (3, 4), which do not fill shape (-1, -1)"),
    (lambda: ops.reshape(M[:0], (0, -1)), ValueError,
     "reshape: x has 0 entries, in shape (0, 4), which do not fill shape (0, -1)"),
    (lambda: ops.reshape(M, (-2, 6)), ValueError, "reshape: shape is -2, expected at least -1"),
    (lambda: ops.reshape(M, "C"), TypeError, "reshape: shape is 'C', expected a whole number"),
    (lambda: ops.swap_adjacent_at_depth(M, 1), np.exceptions.AxisError,
     "swap_adjacent_at_depth: depth is 1, expected 0 to 0"),
    (lambda: ops.swap_adjacent_at_depth(S, -1), np.exceptions.AxisError,
     "swap_adjacent_at_depth: depth is -1, expected 0 to 1"),
    (lambda: ops.swap_adjacent_at_depth(V, 0), np.exceptions.AxisError,
     "swap_adjacent_at_depth: depth is 0, and x has 1 axes, expected two or more"),
    (lambda: ops.select(M, 3, 0), IndexError, "select: index is 3, expected -3 to 2"),
    (lambda: ops.select(M, -4, 0), IndexError, "select: index is -4, expected -3 to 2"),
    (lambda: ops.select(M[:0], 0, 0), IndexError, "select: index is 0, and the axis is empty"),
    (lambda: ops.select(M, 0, 2), np.exceptions.AxisError, "select: axis is 2, expected -2 to 1"),
    (lambda: ops.select(1.0, 0, 0), np.exceptions.AxisError, "select: axis is 0, and a scalar has none"),
    (lambda: ops.select(M, 1.0, 0), TypeError, "select: index is 1.0, expected a whole number"),
    (lambda: ops.select(M, True, 0), TypeError, "select: index is True, expected a whole number"),
    (lambda: ops.select(M, 0, 1.0), TypeError, "select: axis is 1.0, expected a whole number"),
    (lambda: ops.index_select(M, [0, 4], 1), IndexError, "index_select: indices contain 4, expected -4 to 3"),
    (lambda: ops.index_select(M, [-5, 9], 1), IndexError, "index_select: indices contain -5, expected -4 to 3"),
    (lambda: ops.index_select(M[:0], [0], 0), IndexError, "index_select: indices contain 0, and the axis is empty"),
    (lambda: ops.index_select(M, [0.5], 1), TypeError, "index_select: indices are float64, expected whole numbers"),
    (lambda: ops.index_select(M, [True], 1), TypeError, "index_select: indices are bool, expected whole numbers"),
    (lambda: ops.index_select(M, [[0]], 1), ValueError, "index_select: indices have shape (1, 1), expected one axis"),
    (lambda: ops.index_select(M, 1, 1), ValueError, "index_select: indices have shape (), expected one axis"),
    (lambda: ops.index_select(M, [0], -3), np.exceptions.AxisError, "index_select: axis is -3, expected -2 to 1"),
    (lambda: ops.scatter_add(M, M, [0, 1], 0), ValueError,
     "scatter_add: source has shape (3, 4), expected (2, 4), that of base with one slice for each index"),
    (lambda: ops.scatter_add(M, M, [0, 1, 3], 0), IndexError, "scatter_add: indices contain 3, expected -3 to 2"),
    (lambda: ops.scatter_add(1.0, 1.0, [0], 0), np.exceptions.AxisError,
     "scatter_add: axis is 0, and a scalar has none"),
    (lambda: ops.concat(M, 1.0), ValueError, "concat: b is a scalar, expected at least one axis"),
    (lambda: ops.concat(1.0, M), ValueError, "concat: a is a scalar, expected at least one axis"),
    (lambda: ops.concat(M, S), ValueError,
     "concat: b has shape (2, 3, 4), expected (2, 4), that of a but for the first extent"),
    (lambda: ops.slice(M, 2, 2), IndexError, "slice: start is 2 and length 2, expected to lie within 0 to 3"),
    (lambda: ops.slice(M, -1, 1), IndexError, "slice: start is -1 and length 1, expected to lie within 0 to 3"),
    (lambda: ops.slice(M, 1, -1), IndexError, "slice: start is 1 and length -1, expected to lie within 0 to 3"),
    (lambda: ops.slice(1.0, 0, 0), np.exceptions.AxisError, "slice: axis is 0, and a scalar has none"),
    (lambda: ops.slice(M, 0.0, 1), TypeError, "slice: start is 0.0, expected a whole number"),
    (lambda: ops.top_k_mask(M, -1), ValueError, "top_k_mask: k is -1, expected at least 0"),
    (lambda: ops.top_k_mask(M, 1.0), TypeError, "top_k_mask: k is 1.0, expected a whole number"),
    (lambda: ops.reduce_sum(M, 2), np.exceptions.AxisError, "reduce_sum: axis is 2, expected -2 to 1"),
    (lambda: ops.reduce_sum(M, None), TypeError, "reduce_sum: axis is None, expected a whole number"),
    (lambda: ops.reduce_mean(2.0, -1), np.exceptions.AxisError, "reduce_mean: axis is -1, and a scalar has none"),
    (lambda: ops.reduce_mean(np.zeros((0, 0, 2)), 1), ValueError,
     "reduce_mean: x has shape (0, 0, 2), expected at least one entry along axis 1"),
    (lambda: ops.sum("text"), TypeError, "sum: x is a str, expected an array or a number"),
    (lambda: ops.flatten(["a"]), TypeError, "flatten: x is a <U1 array, expected real numbers"),
]  # fmt: skip


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c[2])
def test_errors(case):
    call, kind, message = case
    with pytest.raises(kind) as plain:
        call()
    assert type(plain.value) is kind and str(plain.value) == message
    with pytest.raises(kind) as recorded:
        record(lambda x: call())(1.0)
    assert str(recorded.value) == message


RECORDED = [
    (lambda x: ops.select(x, x[0], 0), "index of select", "observe(index)"),
    (lambda x: ops.slice(x, 0, x[0]), "length of slice", "observe(length)"),
    (lambda x: ops.index_select(x, [0, x[0]], 0), "indices of index_select", "detach(indices)"),
    (lambda x: ops.index_select(x, x, 0), "indices of index_select", "detach(indices)"),
    (lambda x: ops.reshape(x, (x[0], 1)), "shape of reshape", "detach(shape)"),
    (lambda x: ops.reduce_sum(x, axis=x[0]), "axis of reduce_sum", "observe(axis)"),
    (lambda x: ops.top_k_mask(x, x[0]), "k of top_k_mask", "observe(k)"),
]


@pytest.mark.parametrize("case", RECORDED, ids=lambda c: c[1])
def test_a_recorded_setting_is_refused(case):
    call, what, instead = case
    with pytest.raises(RecordError) as error:
        record(call)(V)
    assert error.value.reason == f"{what} is recorded, but it has to be plain data"
    assert error.value.remedy == f"Write ops.{instead}, which has no derivative."
    assert error.value.place.text
