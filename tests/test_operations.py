"""Every block keeps what it says: its samples, called through every callable it stands for."""

from __future__ import annotations

import blocks
import numpy as np
import oracle
import pytest

from autograd_frontend.ops.block import OPERATIONS, like

CASES = blocks.cases()
ELEMENTWISE = [c for c in CASES if c.op.elementwise and c.op.bind is None]
PAIRS = [op for op in OPERATIONS.values() if op.elementwise and op.bind is None and len(op.operands) == 2]
every = pytest.mark.parametrize("c", CASES, ids=str)


def close(a, b, rtol, scale=None):
    a, b = oracle.entries(a), oracle.entries(b)
    assert a.shape == b.shape
    size = max(1.0, np.max(np.abs(b), initial=0.0)) if scale is None else scale
    assert np.all(np.abs(a - b) <= rtol * size), (a, b)


def weights_of(c, seed=0):
    return oracle.random_like(c.plain(), seed)


COMPLEX = "autograd_frontend.ops.complex_parts."


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_block_has_samples(name):
    op = OPERATIONS[name]
    if all(path.startswith(("numpy.fft.", COMPLEX)) for path in op.calls):  # tests/test_complex_derivatives.py
        return
    assert op.data or any(c.op is op for c in CASES), f"{name} has no sample that its callables take"


@every
def test_the_value_is_the_one_of_the_plain_call(c):
    assert oracle.same_bits(c.record().value, c.plain())


@every
def test_pullback_agrees_with_differences(c):
    weights = weights_of(c)
    if not oracle.entries(weights).size:
        pytest.skip("plain data")
    if any(np.asarray(x).dtype in (np.float32, np.float16) for x in oracle.flatten([c.plain(), c.inputs()])):
        pytest.skip("too coarse for differences")
    estimates = [oracle.directional(c.function, c.inputs(), u, weights) for u in oracle.units(c.inputs())]
    want = np.array([e.value for e in estimates])
    size = max(1.0, np.max(np.abs(want)))
    error = max(e.error for e in estimates)
    assert error < 1e-3 * size, "the sample is at a kink, or badly conditioned"
    got = oracle.entries(c.gradient(weights))
    assert np.all(np.abs(got - want) <= c.op.rtol * size + error), (got, want)


@every
def test_pullback_is_the_adjoint_of_the_tangent(c):
    weights = weights_of(c, 1)
    if c.op.parts or not oracle.entries(weights).size:
        pytest.skip("several results, or none with a derivative")
    tangents = blocks.tangents_for(c, 2)
    pushed = blocks.tangent_of(c, tangents)
    named = blocks.replaced(c, c.operands(), tangents).inputs()
    a = oracle.dot(pushed, weights)
    got = c.gradient(weights)
    b = sum(oracle.dot(g, t) for g, t in zip(differentiable(got), differentiable(named)))
    coarse = any(np.asarray(x).dtype == np.float32 for x in oracle.flatten([c.plain(), c.inputs()]))
    assert abs(a - b) <= (1e-5 if coarse else 1e-10) * max(1.0, abs(a)), (a, b)


def differentiable(x):
    return [leaf for leaf in oracle.flatten(x) if oracle.is_differentiable(leaf)]


@every
def test_the_shape_rule_is_right(c):
    v = c.plain()
    if c.op.parts or not oracle.is_differentiable(v):
        pytest.skip("several results, or plain data")
    operands = [np.array(x) if isinstance(x, (list, tuple)) else x for x in c.operands()]
    likes = [like(x) for x in operands]
    if c.op.elementwise:
        assert np.shape(v) == np.broadcast_shapes(*[x.shape for x in likes])
        return
    got = c.op.shape(*likes, **c.settings())
    assert got.shape == np.shape(v)
    assert got.dtype is None or np.dtype(got.dtype) == np.asarray(v).dtype


ROUNDING = {np.float32: 2e-4, np.float16: 0.05, np.longdouble: 1e-12}


@every
@pytest.mark.parametrize("dtype", ROUNDING)
def test_other_element_types_keep_their_own(c, dtype):
    new = [blocks.retyped(x, dtype) for x in c.inputs()]
    if not any(isinstance(x, np.ndarray) and x.dtype == dtype for x in oracle.flatten(new)):
        pytest.skip("no arrays")
    d = c.given(new)
    try:
        v = d.plain()
    except Exception as error:
        if not isinstance(error, TypeError) and type(error).__module__ != "_matfuncs_expm":
            raise
        pytest.skip("NumPy has no such function")
    if not oracle.entries(v).size:
        pytest.skip("plain data")
    weights = weights_of(c)
    own = [retyped_like(w, x) for w, x in zip(oracle.flatten(weights), oracle.flatten(v))]
    r = d.record()
    assert oracle.same_bits(r.value, v)
    got = r.gradients(oracle.like(v, iter(own)), True)
    for x, g in zip(differentiable(new), differentiable(got), strict=True):
        assert type(g) is type(x) and like(g) == like(x)
    if not np.allclose(oracle.entries(v), oracle.entries(c.plain()), rtol=0.01, atol=0.01):
        pytest.skip("NumPy orders the entries otherwise")
    close(got, c.gradient(weights), ROUNDING[dtype])


def retyped_like(w, x):
    if isinstance(x, np.ndarray):
        return w.astype(x.dtype)
    return type(x)(w) if oracle.is_differentiable(x) else x


@pytest.mark.parametrize("c", [c for c in ELEMENTWISE if all(type(x) in (float, int) for x in c.args)], ids=str)
def test_numbers_of_numpy_give_the_same_as_pythons(c):
    w = 0.7
    want = c.gradient(w)
    assert all(type(g) is type(x) for g, x in zip(want, c.args) if type(x) is float)
    d = c.given([np.float64(x) if type(x) is float else x for x in c.inputs()])
    r = d.record()
    assert oracle.same_bits(r.value, d.plain())
    got = r.gradients(w, True)
    assert all(type(g) is np.float64 for g, x in zip(got, d.args) if type(x) is np.float64)
    close(got, want, 1e-14)
    arrays = c.given([np.array(x) if type(x) is float else x for x in c.inputs()])
    if blocks.takes(arrays) and not c.path.startswith(("math", "builtins")):
        got = arrays.gradient(w)
        assert all(g.shape == () and type(g) is np.ndarray for g in got)
        close(got, want, 1e-14)


def sample_pair(op):
    """Two arrays of three entries from the samples of the operation."""
    for c in CASES:
        if c.op is op and all(np.shape(x) and np.size(x) >= 3 for x in c.args) and c.args[0].shape == c.args[1].shape:
            return c, c.args[0].ravel()[:3].copy(), c.args[1].ravel()[:3].copy()
    pytest.skip("takes no arrays")


@pytest.mark.parametrize("op", PAIRS, ids=repr)
def test_the_same_operand_twice_gets_both_contributions(op):
    c, a, b = sample_pair(op)
    if b.dtype.kind != "f":
        pytest.skip("the second operand is plain data")
    x = np.abs(a) + 0.25
    w = np.array([0.5, -1.5, 2.0])
    once = blocks.run(lambda z: c.call(z, z), str, (x,), {}).gradients(w, True)[0]
    twice = c.given([x, x.copy()]).gradient(w)
    close(once, twice[0] + twice[1], 1e-14)


SHAPES = [((3,), (2, 1)), ((1,), (3,)), ((), (3,)), ((2, 3), ()), ((3, 1), (1, 2)), ((0,), (1,)), ((2, 0), (1, 1)),
          ((1, 1), (1,)), ((1, 3), (2, 3))]  # fmt: skip


@pytest.mark.parametrize("op", PAIRS, ids=repr)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_broadcasting_sums_the_gradient(op, shapes):
    c, a, b = sample_pair(op)
    a, b = (np.resize(x, n) if 0 not in n else np.zeros(n, x.dtype) for x, n in zip((a, b), shapes))
    d = c.given([a, b])
    v = d.plain()
    w = oracle.random_like(v, 3)
    r = d.record()
    assert oracle.same_bits(r.value, v)
    got = r.gradients(w, True)
    wide = c.given([np.array(np.broadcast_to(x, v.shape)) for x in (a, b)]).gradient(w)
    for g, x, full in zip(got, (a, b), wide):
        if x.dtype.kind == "f":
            assert g.shape == x.shape and type(g) is np.ndarray
            extra = full.ndim - x.ndim
            axes = (*range(extra), *(i + extra for i, n in enumerate(x.shape) if n == 1))
            close(g, full.sum(axis=axes, keepdims=True).reshape(x.shape), 1e-12)


@pytest.mark.parametrize("c", [c for c in ELEMENTWISE if c.op.samples[0] and np.ndim(c.args[0]) == 1], ids=str)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (1,), (1, 1)], ids=str)
def test_empty_and_single_arrays(c, shape):
    new = [np.resize(x, shape) if 0 not in shape else np.zeros(shape) for x in c.inputs()]
    if any(np.asarray(x).dtype.kind != "f" for x in c.inputs()):
        pytest.skip("plain operands")
    d = c.given(new)
    r = d.record()
    assert oracle.same_bits(r.value, d.plain())
    for g in r.gradients(np.ones(shape), True):
        assert g.shape == shape and np.all(np.isfinite(g))


SINGULAR = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, 3.0, -2.0, 0.5, 1e4])


@pytest.mark.parametrize("op", [op for op in OPERATIONS.values() if op.elementwise and op.bind is None], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.longdouble])
def test_a_zero_cotangent_gives_exactly_zero_everywhere(op, dtype):
    """And the sweep warns of nothing: warnings are errors here."""
    c = next((c for c in CASES if c.op is op and not c.path.startswith(("math", "builtins"))), None)
    if c is None or any(np.asarray(x).dtype.kind != "f" for x in c.inputs()):
        pytest.skip("takes no arrays")
    with np.errstate(all="ignore"):
        grids = np.meshgrid(*[SINGULAR.astype(dtype)] * len(op.operands), indexing="ij")
        try:
            r = c.given(grids).record()
        except TypeError:
            pytest.skip("NumPy has no such function")
    g = np.zeros(grids[0].shape, dtype)
    with np.errstate(all="warn"):
        got = r.gradients(g, True)
    assert all(np.array_equal(d, g) for d in got)


@pytest.mark.parametrize("op", [op for op in OPERATIONS.values() if op.elementwise and op.bind is None], ids=repr)
def test_the_sweep_warns_of_nothing_at_singular_points(op):
    for c in [c for c in CASES if c.op is op and all(type(x) is float for x in c.inputs())]:
        values = [float(x) for x in SINGULAR]
        for args in [(x,) for x in values] if len(op.operands) == 1 else [(x, y) for x in values for y in values]:
            try:
                r = c.given(args).record()
            except (ArithmeticError, ValueError):
                continue
            except Exception as error:
                assert "complex" in str(error)
                continue
            with np.errstate(all="warn"):
                got = r.gradients(1.0, True)
            assert all(type(g) is float for g in got)
