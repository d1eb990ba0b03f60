"""Laws of recording, on random programs: value, gradient, branches, sharing, memory.

`HYPOTHESIS_PROFILE=thorough` tries fifty times as many programs; `ci` draws the same ones at each run.
"""

from __future__ import annotations

import gc
import os
import tracemalloc
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, reject, settings
from hypothesis import strategies as st

from autograd_frontend import RecordError, jvp, record, vjp

from . import oracle
from .programs import Program, branch_probe_programs, programs
from .programs_rational import as_decimals, as_floats, scalar_programs

TIMES = 50 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1
FIXED = os.environ.get("HYPOTHESIS_PROFILE") == "ci"
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
SMALL = Fraction(1, 10**15)
seeds = st.integers(0, 2**16)


def tries(count: int) -> settings:
    """`count` programs, times the factor of the profile."""
    return settings(
        max_examples=count * TIMES,
        deadline=None,
        derandomize=FIXED,
        report_multiple_bugs=False,
        suppress_health_check=SLOW,
    )


def recorded(program: Program, args: tuple[Any, ...] | None = None) -> Any:
    """The result of recording `program`; a refusal to write into an argument is allowed, and not looked at."""
    try:
        return record(program.function())(*(program.fresh() if args is None else args))
    except RecordError:
        assume(not program.mutates)
        raise


def plain(program: Program) -> Any:
    return program.function()(*program.fresh())


def precision(program: Program) -> float:
    """Relative tolerance: float32 arguments, or none."""
    return 2e-3 if "float32" in program.features else 2e-6


def reference(program: Program, weights: Any) -> Any:
    """The gradient by differences; a program near a kink, a jump or with wild derivatives is dropped."""
    values, error = oracle.gradient(program.wide(), program.args, weights)
    assume(error < 1e-6 and np.max(np.abs(values), initial=0.0) < 1e4)
    if "float32" in program.features:
        narrow, wide = oracle.entries(plain(program)), oracle.entries(program.wide()(*oracle.widened(program.args)))
        assume(narrow.shape == wide.shape and np.allclose(narrow, wide, rtol=1e-3, atol=1e-4))
    return values


@tries(100)
@given(programs())
def test_value_is_the_plain_functions_bit_for_bit(program: Program) -> None:
    args, plain_args = program.fresh(), program.fresh()
    expected = program.function()(*plain_args)
    with recorded(program, args) as result:
        assert oracle.same_bits(result.value, expected), f"{result.value!r} instead of {expected!r}"
        assert oracle.same_bits(args, plain_args), f"arguments left as {args!r} instead of {plain_args!r}"


@tries(100)
@given(programs(), seeds)
def test_gradient_agrees_with_differences(program: Program, seed: int) -> None:
    weights = oracle.random_like(plain(program), seed)
    expected = reference(program, weights)
    gradient = recorded(program).pullback(weights)
    scale = 1.0 + float(np.max(np.abs(expected), initial=0.0))
    note(f"gradient {gradient!r}\nexpected {expected!r}")
    np.testing.assert_allclose(oracle.entries(gradient), expected, rtol=0, atol=precision(program) * scale)


@tries(40)
@given(programs(), seeds)
def test_gradient_has_the_types_of_the_arguments(program: Program, seed: int) -> None:
    gradient = recorded(program).pullback(oracle.random_like(plain(program), seed))
    differentiable = [arg for arg in program.args if all(map(oracle.is_differentiable, oracle.flatten(arg)))]
    parts = list(gradient) if len(differentiable) > 1 else [gradient]
    assert len(parts) == len(differentiable)
    for part, arg in zip(parts, differentiable):
        assert oracle.same_bits(oracle.random_like(part, 0), oracle.random_like(arg, 0)), f"{part!r} for {arg!r}"


@tries(30)
@given(programs(), seeds)
def test_pullback_is_linear(program: Program, seed: int) -> None:
    value = plain(program)
    u, v = oracle.random_like(value, seed), oracle.random_like(value, seed + 1)
    leaves = [2 * a - b if oracle.is_differentiable(a) else a for a, b in zip(oracle.flatten(u), oracle.flatten(v))]
    combined = oracle.like(
        value, iter([type(a)(c) if isinstance(a, float) else c for a, c in zip(oracle.flatten(u), leaves)])
    )
    at_u, at_v, at_both = (oracle.entries(recorded(program).pullback(w)) for w in (u, v, combined))
    tolerance = 1e-3 if "float32" in program.features else 1e-10
    scale = 1.0 + float(np.max(np.abs(at_u), initial=0.0) + np.max(np.abs(at_v), initial=0.0))
    np.testing.assert_allclose(at_both, 2 * at_u - at_v, rtol=0, atol=tolerance * scale)


@tries(50)
@given(programs(), seeds)
def test_adjoint_identity(program: Program, seed: int) -> None:
    """<J v, w> by differences along v equals <v, J'w> by the pullback."""
    weights = oracle.random_like(plain(program), seed)
    direction = oracle.random_like(program.args, seed + 1)
    reference(program, weights)
    pushed = oracle.directional(program.wide(), program.args, direction, weights)
    pulled = oracle.entries(recorded(program).pullback(weights))
    along = oracle.entries(direction)
    scale = 1.0 + float(np.abs(along) @ np.abs(pulled))
    assert abs(pushed.value - along @ pulled) < precision(program) * scale


@tries(40)
@given(programs(), seeds)
def test_tangents_are_the_adjoint_of_the_pullback(program: Program, seed: int) -> None:
    """<J v, w> in forward mode is <v, J'w> in reverse mode, and the value the plain function's, bit for bit."""
    direction = oracle.random_like(program.args, seed + 1)
    args, plain_args = program.fresh(), program.fresh()
    expected = program.function()(*plain_args)
    weights = oracle.random_like(expected, seed)
    try:
        value, pushed = jvp(program.function(), args, moving(direction))
    except RecordError:
        assume(not program.mutates)
        raise
    assert oracle.same_bits(value, expected) and oracle.same_bits(args, plain_args)
    pulled = oracle.entries(recorded(program).pullback(weights)) @ oracle.entries(direction)
    pairs = zip(flat(pushed), oracle.flatten(weights))
    a = sum(oracle.dot(t, w) for t, w in pairs if t is not None)
    size = 1.0 + float(np.abs(oracle.entries(direction)).sum()) * abs(pulled) + abs(a)
    assume(size < 1e6)
    assert abs(a - pulled) <= (1e-3 if "float32" in program.features else 1e-9) * size, (a, pulled)


def moving(direction: Any) -> Any:
    """None for arguments that are plain data."""
    return tuple([d if oracle.entries(d).size else None for d in direction])


@tries(20)
@given(programs(), seeds)
def test_second_derivatives_agree_with_differences_of_the_gradient(program: Program, seed: int) -> None:
    """The gradient taken inside a recorded function is that of the plain call, and has a gradient."""
    assume("float32" not in program.features and not program.mutates)
    weights = oracle.random_like(plain(program), seed)
    direction = oracle.random_like(program.args, seed + 1)
    reference(program, weights)
    function = program.function()

    def slope(*args: Any) -> Any:
        _, pull = vjp(function, *args)
        gradient = pull(weights)
        return gradient, product(gradient, direction)

    result = record(slope)(*program.fresh())
    first = recorded(program).pullback(weights)
    # Not bit for bit: where BLAS sums depends on where arrays lie in memory.
    np.testing.assert_allclose(oracle.entries(result.value[0]), oracle.entries(first), rtol=1e-12, atol=1e-14)

    def gradient_at(*args: Any) -> Any:
        return recorded(program, args).pullback(weights)

    second = oracle.entries(result.pullback((zeros(result.value[0]), 1.0)))
    for k in (2, 3):
        along = oracle.random_like(program.args, seed + k)
        estimate = oracle.directional(gradient_at, program.args, along, matched(direction, first))
        size = 1.0 + abs(estimate.value)
        assume(estimate.error < 1e-5 * size and size < 1e5)
        note(f"{second @ oracle.entries(along)} instead of {estimate}")
        assert abs(second @ oracle.entries(along) - estimate.value) <= 2e-5 * size


def product(gradient: Any, direction: Any) -> Any:
    """The inner product of a gradient with a direction, entry by entry in the order of the arguments."""
    total = 0.0
    parts = [x for x in flat(direction) if oracle.is_differentiable(x)]
    for g, u in zip([x for x in flat(gradient) if x is not None], parts):
        total = total + np.sum(g * u)
    return total


def flat(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [leaf for item in x.values() for leaf in flat(item)]
    return [leaf for item in x for leaf in flat(item)] if isinstance(x, (list, tuple)) else [x]


def zeros(x: Any) -> Any:
    return oracle.like(x, iter([0 * leaf if oracle.is_differentiable(leaf) else leaf for leaf in oracle.flatten(x)]))


def matched(direction: Any, gradient: Any) -> Any:
    """The differentiable entries of a direction in the structure of the gradient."""
    parts = iter([x for x in oracle.flatten(direction) if oracle.is_differentiable(x)])
    leaves = [next(parts) if oracle.is_differentiable(x) else x for x in oracle.flatten(gradient)]
    return oracle.like(gradient, iter(leaves))


@tries(80)
@given(scalar_programs())
def test_fractions_give_the_exact_gradient(program: Program) -> None:
    assume(oracle.affordable(program.function(), program.args))
    value = plain(program)
    leaves = oracle.flatten(value)
    weights = [Fraction(place + 1, 2) for place in range(len(leaves))]
    result = recorded(program)
    assert oracle.same_bits(result.value, value)
    gradient = oracle.flatten(result.pullback(oracle.like(value, iter(weights))))
    assert all(type(g) is Fraction for g in gradient), f"not fractions: {gradient!r}"
    assert gradient == oracle.exact_gradient(program.function(), program.args, weights)


@tries(40)
@given(scalar_programs())
def test_decimals_give_the_gradient_of_fractions(program: Program) -> None:
    assume(oracle.affordable(program.function(), program.args))
    decimals, exact = as_decimals(program), oracle.flatten(plain(program))
    try:
        value = oracle.flatten(plain(decimals))
    except ArithmeticError:  # Decimal has no 0**0
        reject()
    assume(len(value) == len(exact) and all(abs(Fraction(v) - e) < SMALL for v, e in zip(value, exact)))
    weights = [Fraction(place + 1, 2) for place in range(len(value))]
    expected = oracle.exact_gradient(program.function(), program.args, weights)
    result = recorded(decimals)
    assert oracle.same_bits(oracle.flatten(result.value), value)
    given = oracle.like(plain(decimals), iter([Decimal(w.numerator) / w.denominator for w in weights]))
    gradient = oracle.flatten(result.pullback(given))
    assert all(type(g) is Decimal for g in gradient), f"not decimals: {gradient!r}"
    assert all(abs(Fraction(g) - e) <= SMALL * (1 + abs(e)) for g, e in zip(gradient, expected)), (gradient, expected)


@tries(40)
@given(scalar_programs(), seeds)
def test_rational_programs_on_floats(program: Program, seed: int) -> None:
    program = as_floats(program)
    try:
        value = plain(program)
    except OverflowError:
        reject()
    assume(all(isinstance(leaf, float) for leaf in oracle.flatten(value)))  # not a fraction that is written in it
    assume(oracle.finite(value) and np.max(np.abs(oracle.entries(value))) < 1e3)
    weights = oracle.random_like(value, seed)
    expected = reference(program, weights)
    result = recorded(program)
    assert oracle.same_bits(result.value, value)
    scale = 1.0 + float(np.max(np.abs(expected)))
    np.testing.assert_allclose(oracle.entries(result.pullback(weights)), expected, rtol=0, atol=1e-5 * scale)


@tries(80)
@given(branch_probe_programs())
def test_what_is_evaluated_and_in_which_order(program: Program) -> None:
    """A path not taken raises when evaluated; the rest runs as often and in the order of the plain run."""
    function = program.function()
    function(*program.fresh())
    trace = function.__globals__["TRACE"]
    expected = list(trace)
    trace.clear()
    try:
        result = record(function)(*program.fresh())
    except RecordError:
        assume(not program.mutates)
        raise
    assert trace == expected
    result.backward()
    assert trace == expected, "backward evaluated user code again"


@tries(25)
@given(programs(), seeds)
def test_two_recordings_do_not_disturb_each_other(program: Program, seed: int) -> None:
    function = record(program.function())
    others = oracle.shifted(program.args, oracle.random_like(program.args, seed), 0.3)
    others = oracle.like(
        others, iter([cast(a, b) for a, b in zip(oracle.flatten(others), oracle.flatten(program.args))])
    )
    other = Program(program.text, program.name, others, program.features, program.mutates)
    weights = oracle.random_like(plain(program), seed)
    other_weights = oracle.random_like(plain(other), seed)
    alone, other_alone = recorded(program).pullback(weights), recorded(other).pullback(other_weights)
    first, second = recorded_by(function, program), recorded_by(function, other)
    assert oracle.same_bits(second.pullback(other_weights), other_alone)
    assert oracle.same_bits(first.pullback(weights), alone)


def cast(leaf: Any, like: Any) -> Any:
    return leaf.astype(like.dtype) if isinstance(leaf, np.ndarray) else leaf


def recorded_by(function: Any, program: Program) -> Any:
    try:
        return function(*program.fresh())
    except RecordError:
        assume(not program.mutates)
        raise


@tries(40)
@given(programs(), seeds)
def test_later_writes_change_nothing(program: Program, seed: int) -> None:
    """Inputs and value overwritten between the call and the pullback; a gradient overwritten after it."""
    weights = oracle.random_like(plain(program), seed)
    expected = recorded(program).pullback(weights)
    args = program.fresh()
    result = recorded(program, args)
    for leaf in oracle.flatten((args, result.value)):
        if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
            leaf[...] = np.nan
    gradient = result.pullback(weights)
    assert oracle.same_bits(gradient, expected)
    kept = [leaf.copy() for leaf in oracle.flatten(weights) if isinstance(leaf, np.ndarray)]
    for leaf in oracle.flatten(gradient):
        if isinstance(leaf, np.ndarray):
            leaf[...] = 7.0
    assert oracle.same_bits(kept, [leaf for leaf in oracle.flatten(weights) if isinstance(leaf, np.ndarray)])


@settings(max_examples=2 * TIMES, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=SLOW)
@given(programs())
def test_memory_does_not_grow(program: Program) -> None:
    assume(len(program.features) > 12 and not program.mutates)
    function = record(program.function())

    def rounds(count: int) -> None:
        for place in range(count):
            result = function(*program.args)
            result.backward() if place % 2 else result.close()

    def held() -> tuple[int, int]:
        gc.collect()
        return len(gc.get_objects()), tracemalloc.get_traced_memory()[0]

    rounds(30)
    tracemalloc.start()
    try:
        marks = []
        for count in (10, 120, 120, 120):
            rounds(count)
            marks.append(held())
    finally:
        tracemalloc.stop()
    # A leak grows in every window; a cache or a table that is enlarged once does not.
    objects, size = (min(b - a for a, b in zip(series, series[1:])) for series in zip(*marks))
    assert objects < 40, f"{objects} more objects after 120 recordings"
    assert size < 6_000, f"{size} more bytes after 120 recordings"


def test_few_draws_are_unusable() -> None:
    """The generator itself: programs run, finite and alike each time, and differences are good at most points."""
    counts = {"all": 0, "poor": 0, "features": 0}

    @settings(max_examples=150, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    @given(programs())
    def draw(program: Program) -> None:
        value = plain(program)
        assert oracle.finite(value) and oracle.same_bits(value, plain(program))
        _, error = oracle.gradient(program.wide(), program.args, oracle.random_like(value, 1))
        counts["all"] += 1
        counts["poor"] += not error < 1e-6
        counts["features"] += len(program.features)

    draw()
    assert counts["poor"] <= 0.1 * counts["all"]
    assert counts["features"] >= 10 * counts["all"]


@pytest.mark.parametrize("function", [abs, lambda x: float(x > 0.0), lambda x: max(x, -2 * x)])
def test_differences_notice_kinks_and_jumps(function: Any) -> None:
    assert oracle.directional(function, (0.0,), (1.0,), 1.0).error > 0.1
    assert oracle.directional(function, (0.7,), (1.0,), 1.0).error < 1e-8
