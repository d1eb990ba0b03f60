"""The rules of derivatives on arrays of a device, and what they rely on, against the plain ones: every rule of every
operation, what is launched, and that nobody waits."""

from __future__ import annotations

from functools import cache

import blocks
import numpy as np
import pytest
from device_help import A, device, fetched, same, sent

from autograd_frontend.devices import functions
from autograd_frontend.devices.table import Unsupported
from autograd_frontend.ops.block import LIKE, OPERATIONS, RESULT, like
from autograd_frontend.ops.plain import PLAIN
from tests.cuda.host import host_session
from tests.cuda.interim import Interim

assert device  # the fixture
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def rules_of(op, operands):
    pulls = [op.pulls[0]] * len(operands) if op.variadic else op.pulls
    pushes = [op.pushes[0]] * len(operands) if op.variadic and op.pushes else op.pushes
    return [("pull", i, r) for i, r in enumerate(pulls)] + [("push", i, r) for i, r in enumerate(pushes)]


def given(c, operands, attributes, y, i, need, send):
    """What a rule asks for, plain or on the device."""
    if need in ("operands", "likes", "recorded", "operand", "operand_like"):
        values = tuple([send(x) for x in operands])
        likes = tuple([like(x) for x in operands])
        return {"operands": values, "likes": likes, "recorded": (True,) * len(operands), "operand": values[i],
                "operand_like": likes[i]}[need]  # fmt: skip
    if isinstance(need, str):
        return send(attributes[need]) if need in c.op.keeps else [] if need == "memo" else attributes[need]
    if need in (RESULT, LIKE + RESULT):
        return (send(y) if np.ndim(y) else y) if need == RESULT else like(y)
    return like(operands[need - LIKE]) if need >= LIKE else send(operands[need])


def applied(c, operands, attributes, y, kind, i, rule, ops, send):
    shape = np.shape(y if kind == "pull" else operands[i])
    g = np.random.default_rng(5).normal(size=shape) if shape else np.float64(0.7)
    args = [given(c, operands, attributes, y, i, need, send) for need in rule.needs]
    return rule.function(ops, send(g), *((i,) if c.op.variadic else ()), *args)


@cache
def recorded():
    """key of an operation -> its samples, each with one callable."""
    found = {}
    for c in blocks.cases():
        if c.path == c.op.calls[0] and not c.op.parts and any(type(x) is np.ndarray for x in c.operands()):
            found.setdefault(c.op.key, []).append(c)
    return found


RULES_REFUSED = {"bessel"}  # of orders other than those of j0 and j1


@pytest.mark.parametrize("key", sorted(recorded()))
def test_a_rule_on_the_device_is_the_plain_one(device, key):
    for c in recorded()[key]:
        if c.path == "numpy.longdouble":
            continue
        operands = [np.array(x, float) if isinstance(x, list) else x for x in c.operands()]
        with np.errstate(all="ignore"):
            attributes, y = c.attributes(), c.plain()
        for kind, i, rule in rules_of(c.op, operands):
            if i >= len(operands) or operands[i] is None:
                continue
            with np.errstate(all="ignore"):
                try:
                    expected = applied(c, operands, attributes, y, kind, i, rule, PLAIN, lambda x: x)
                except (TypeError, AttributeError):  # a rule for an operand that is not given as an array
                    continue
            try:
                d = fetched(applied(c, operands, attributes, y, kind, i, rule, device.ops, lambda x: sent(device, x)))
            except Unsupported:
                assert key in RULES_REFUSED
                continue
            assert np.shape(d) == np.shape(expected)
            assert np.allclose(d, expected, rtol=1e-11, atol=1e-12, equal_nan=True), (c, kind, i)


def test_the_namespace_for_rules_has_every_name_of_the_plain_one(device):
    names = {name for name in vars(PLAIN) if not name.startswith("__")}
    assert names <= set(vars(functions.DEVICE)) and names <= set(vars(device.ops))
    assert device.ops is device.ops and device.ops.zeros((2,), float).session is device


# What rules rely on


def test_draws_are_numpys(device):
    for dtype in (np.float64, np.float32):
        y = device.ops.uniform((3, 5), 7, 9, dtype)
        assert np.array_equal(y.get(), PLAIN.uniform((3, 5), 7, 9, dtype)) and y.dtype == dtype
    assert device.driver.launches == 2


def test_scatter_has_the_bits_of_the_cpu(device):
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=500), rng.integers(0, 12, 500)
    for p in (places, device.array(places)):
        assert np.array_equal(device.ops.scatter(device.array(x), p, (3, 4)).get(), PLAIN.scatter(x, places, (3, 4)))
        base = rng.normal(size=(3, 4)).astype(np.float32)
        y = device.ops.added(device.array(base), p, device.array(x))
        assert np.array_equal(y.get(), PLAIN.added(base, places, x)) and y.dtype == np.float64
    device.driver.reset()
    device.ops.scatter(device.array(x), device.array(places), (3, 4)).get()
    assert device.driver.launches == 3 and device.driver.library_calls == 1  # zeros, places, sums; a sort


BILINEAR = [
    (lambda ops, g, x: g @ x.T, (3, 4), (5, 4)), (lambda ops, g, x: x.T @ g, (3, 4), (3, 5)),
    (lambda ops, g, x: g @ x.mT, (2, 3, 4), (2, 5, 4)), (lambda ops, g, x: ops.matmul(x, g), (2, 4, 3), (5, 4)),
    (lambda ops, g, x: ops.tensordot(g, x, ([0, 2], [1, 0])), (3, 2, 4), (4, 3, 5)),
    (lambda ops, g, x: ops.einsum("ij,ij->j", g, x), (3, 4), (3, 4)),
    (lambda ops, g, x: ops.row_dots(g, x), (3, 4), (3, 4)),
    (lambda ops, g, x: ops.einsum("bij,bkj->bik", g, x), (2, 3, 4), (2, 5, 4)), (lambda ops, g, x: g @ x, (4,), (4, 3)),
    (lambda ops, g, x: ops.einsum("ij,jk->ki", x, g), (4, 5), (3, 4)), (lambda ops, g, x: x @ g, (4,), (4,)),
]  # fmt: skip


@pytest.mark.parametrize("n", range(len(BILINEAR)))
def test_a_zero_of_the_cotangent_adds_nothing_and_nobody_waits(device, n):
    f, of_g, of_x = BILINEAR[n]
    rng = np.random.default_rng(n)
    g, x = rng.normal(size=of_g), rng.normal(size=of_x)
    g[rng.random(of_g) < 0.5] = 0
    for bad in (None, np.inf, np.nan):
        if bad is not None:
            x[rng.random(of_x) < 0.2] = bad
        expected = PLAIN.bilinear(lambda g, x: f(PLAIN, g, x), g, x)
        dg, dx = device.array(g), device.array(x)
        device.driver.reset()
        y = device.ops.bilinear(lambda g, x: f(device.ops, g, x), dg, dx)
        assert device.driver.synchronizations == 0
        assert np.allclose(y.get(), expected, equal_nan=True) and np.isnan(y.get()).sum() == np.isnan(expected).sum()
    same(dg @ (dg.mT if g.ndim > 1 else dg), g @ (g.mT if g.ndim > 1 else g))  # outside, a product is NumPy's


def test_rules_do_not_wait(device):
    """The pullbacks of products, norms of rows and windows read nothing back."""
    x, y = device.array(A), device.array(np.ones((2, 4, 3)))
    g, ops = device.array(np.ones((2, 3, 3))), device.ops
    softmax, layer = OPERATIONS["softmax_last"], OPERATIONS["layer_norm"]
    device.driver.reset()
    OPERATIONS["matmul"].pulls[0].function(ops, g, y)
    OPERATIONS["matmul"].pulls[1].function(ops, g, x)
    p = softmax.value(ops, x)
    softmax.pulls[0].function(ops, x, p).get if True else None
    value, xh, r = layer.value(ops, x[0], y[0, :, 0], y[0, :, 0])
    layer.pulls[0].function(ops, value, y[0, :, 0], xh, r)
    windows = ops.windows(x, (2,), (3,), (1,), (0,))
    ops.fold(windows, (4,), (3,), (1,), (0,))
    ops.where(ops.finite(x), x, 0)
    assert device.driver.synchronizations == 0


def test_a_recurrence_is_one_launch(device):
    a, b, h = A[0], A[1], A[0, 0]
    device.driver.reset()
    da, db, dh = sent(device, [a, b, h])
    y, z = device.ops.recurrence(da, db), device.ops.scan(da, db, dh)
    assert device.driver.launches == 2
    same(y, PLAIN.recurrence(a, b))
    expected, state = [], h
    for k in range(len(a)):
        state = state * a[k] + b[k]
        expected.append(state)
    same(z, np.array(expected))


def test_the_same_bits_every_time():
    """No order of threads changes a result."""
    found = []
    for order in (0, 1, 2):
        s = host_session(Interim(), order)
        x, i = s.array(np.sin(np.arange(5000.0))), s.array(np.arange(5000) % 7)
        d = s.zeros((7,), float)
        np.add.at(d, i, x)
        found.append(np.concatenate([d.get(), np.cumsum(x).get(), np.argmax(x).get().reshape(1)]))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
