"""Derivatives of derivatives: all operations to order two against differences of gradients, a few to order three."""

from __future__ import annotations

import blocks
import numpy as np
import oracle
import pytest

from autograd_frontend import grad, record, vjp

CASES = [c for c in blocks.cases() if oracle.entries(c.plain()).size]


def slope_of(c, weights, direction):
    """The derivative of `<weights, call(inputs)>` along `direction`, as a function of the list of operands."""
    f = blocks.function_of(c)

    def slope(inputs):
        _, pull = vjp(f, inputs)
        return product(pull(weights), direction)

    return slope


def product(g, u):
    """The inner product of two values of the same structure; None: plain data."""
    if isinstance(g, (list, tuple)):
        total = 0.0
        for a, b in zip(g, u):
            total = total + product(a, b)
        return total
    return 0.0 if g is None else np.sum(g * u)


def coarse(c):
    return any(np.asarray(x).dtype in (np.float32, np.float16) for x in oracle.flatten([c.plain(), c.inputs()]))


@pytest.mark.parametrize("c", CASES, ids=str)
def test_second_derivatives_agree_with_differences_of_the_gradient(c):
    if coarse(c):
        pytest.skip("too coarse for differences")
    weights = oracle.random_like(c.plain(), 0)
    inputs = c.inputs()
    along = oracle.random_like(inputs, 1)
    with np.errstate(all="ignore"):
        r = record(slope_of(c, weights, along))(inputs)
        got = oracle.entries(r.backward())
    want = oracle.entries(c.gradient(weights)) @ oracle.entries(along)
    assert abs(r.value - want) <= 1e-12 * max(1.0, abs(want))
    for seed in (2, 3):
        v = oracle.random_like(inputs, seed)
        slopes = lambda *xs: moved(c.given(xs).gradient(weights))
        estimate = oracle.directional(slopes, inputs, v, differentiable(along))
        size = max(1.0, abs(estimate.value))
        assert estimate.error < 1e-3 * size, "the sample is at a kink, or badly conditioned"
        have = got @ oracle.entries(v)
        assert abs(have - estimate.value) <= c.op.rtol * size + estimate.error, (have, estimate)


def moved(gradients):
    """The gradients that are none of plain data."""
    return [g for g in oracle.flatten(gradients) if g is not None]


def differentiable(x):
    return [leaf for leaf in oracle.flatten(x) if oracle.is_differentiable(leaf)]


THIRD = """
exp tanh gelu softplus sigmoid silu safe_log softmax_last log_softmax_last layer_norm batch_norm mse_loss cross_entropy
mul div matmul linear softmax_matmul attention conv conv_transpose smooth_max_pool selective_scan_diag max_pool
""".split()


@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives_agree_with_differences_of_the_second(name):
    c = next(c for c in CASES if c.path == f"autograd_frontend.ops.{name}")
    weights, inputs = oracle.random_like(c.plain(), 0), c.inputs()
    slope, along = slope_of(c, weights, oracle.random_like(inputs, 1)), oracle.random_like(inputs, 2)

    def curvature(inputs):
        return product(grad(slope)(inputs), along)

    got = oracle.entries(record(curvature)(inputs).backward())
    v = oracle.random_like(inputs, 3)
    estimate = oracle.directional(lambda *xs: curvature(list(xs)), inputs, v, 1.0)
    size = max(1.0, abs(estimate.value))
    assert estimate.error < 1e-3 * size
    assert abs(got @ oracle.entries(v) - estimate.value) <= 1e-5 * size + estimate.error
