"""Every public operation in random programs, under every reading: plain, recorded, forward, as a graph, and twice.

What `ops.detach` and its like hold still is held still for the differences too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, note

from autograd_frontend import RecordError, grad, jvp, ops, record, vjp
from autograd_frontend.ops.block import OPERATIONS
from autograd_frontend.ops.plain import PLAIN

from . import oracle
from .programs import Program
from .programs_forms import FORMS
from .programs_operations import operation_programs
from .test_generated import flat, moving, precision, product, seeds, tries, zeros

STEP = 2e-3
REFUSED = (  # what a graph does not hold, and nothing else
    "a truth test needs the value",
    "float() needs the value",
    "int() needs the value",
    "an index or a length needs the value",
    "an array is read through a mask",
    "nonzero of a value that depends on an input",
    "an array is written that is a view of another one or not",
    "broadcast_to cannot be part of a graph",  # a plain view of memory that has become recorded
    "observe cannot be part of a graph",
    "update_buffers cannot be part of a graph",
)


class Held:
    """`ops`, where data without a derivative has in every call the values of the first."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.place = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(ops, name)

    def hold(self, x: Any) -> Any:
        if self.place < 0:
            self.values.append(np.array(x))
            return x
        if self.place >= len(self.values):
            raise OverflowError  # another path: differences show nothing
        self.place += 1
        return self.values[self.place - 1]

    def detach(self, x: Any) -> Any:
        return ops.detach(self.hold(x))

    def observe(self, x: Any) -> Any:
        return ops.observe(self.hold(x))

    def update_buffers(self, state: Any, x: Any, f: Any) -> None:
        ops.update_buffers(state, self.hold(x), f)

    def distill(self, student: Any, teacher: Any, axis: int) -> Any:
        return ops.distill(student, self.hold(teacher), axis)


def held(program: Program) -> Callable[..., Any]:
    """The plain function for differences."""
    function, own = program.wide(), Held()
    function.__globals__["ops"] = own
    with np.errstate(all="ignore"):
        function(*oracle.widened(program.args))

    def again(*args: Any) -> Any:
        own.place = 0
        return function(*args)

    return again


def mixed(function: Callable[..., Any], args: Any, u: Any, v: Any, weights: Any) -> oracle.Estimate:
    """The second derivative of `<weights, function(args)>` along `u` and `v`, by differences at two steps."""
    base = oracle.widened(args)

    def at(a: float, b: float) -> float:
        try:
            value = function(*oracle.shifted(oracle.shifted(base, u, a), v, b))
        except OverflowError:
            return np.nan
        same = [np.shape(x) for x in oracle.flatten(value)] == [np.shape(x) for x in oracle.flatten(weights)]
        return oracle.dot(weights, value) if same else np.nan

    with np.errstate(all="ignore"):
        steps = (STEP, STEP / 2)
        far, near = ((at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h) for h in steps)
        # At a kink both are off by a multiple of 1/h, and the extrapolated value by 7/3 of their difference.
        error = 3 * abs(near - far) + 1e-15 / STEP**2 * (1.0 + abs(at(0.0, 0.0)))
    return oracle.Estimate((4 * near - far) / 3, error if np.isfinite(error) else np.inf)


def close(a: Any, b: Any, tolerance: float, what: str) -> None:
    a, b = np.asarray(a), np.asarray(b)
    scale = 1.0 + float(np.max(np.abs(b), initial=0.0))
    assert a.shape == b.shape and np.all(np.abs(a - b) <= tolerance * scale), f"{what}: {a} instead of {b}"


def first_order(program: Program, weights: Any, gradient: Any) -> bool:
    """Whether differences show the gradient to be right; False where they show nothing."""
    function = held(program)
    value = function(*oracle.widened(program.args))
    shown = True
    for seed in (2, 3):
        along = oracle.random_like(program.args, seed)
        estimate = oracle.directional(function, program.args, along, weights)
        size = 1.0 + abs(estimate.value)
        if not (estimate.error < 1e-6 * size and size < 1e4 and oracle.finite(value)):
            shown = False
            continue
        pulled = oracle.entries(along) @ gradient
        close(pulled, estimate.value, precision(program), "gradient")
    return shown


def forward(program: Program, function: Any, value: Any, weights: Any, gradient: Any) -> Any:
    """The tangent, which is the adjoint of the pullback."""
    direction = oracle.random_like(program.args, 5)
    there, pushed = jvp(function, program.fresh(), moving(direction))
    assert oracle.same_bits(there, value), "value in forward mode"
    pairs = zip(flat(pushed), oracle.flatten(weights))
    a = sum(oracle.dot(t, w) for t, w in pairs if t is not None)
    b = float(gradient @ oracle.entries(direction))
    size = 1.0 + float(np.abs(gradient).sum())
    assert abs(a - b) <= (1e-3 if "float32" in program.features else 1e-9) * size, f"tangent: {a} instead of {b}"
    return pushed


def as_graph(program: Program, function: Any, value: Any, weights: Any, gradient: Any, pushed: Any) -> bool:
    """The graph computes the same and has the same derivatives, or is refused for a reason."""
    try:
        graph = record(function).graph(*program.fresh())
    except RecordError as error:
        assert error.place is not None and error.remedy and error.reason.startswith(REFUSED), error
        return False
    assert oracle.same_bits(graph.run(*program.fresh()), value), "value of the graph"
    there, pull = graph.vjp(*program.fresh())
    assert oracle.same_bits(there, value), "value of the graph's vjp"
    tolerance = 1e-4 if "float32" in program.features else 1e-12
    close(oracle.entries(pull(weights)), gradient, tolerance, "gradient of the graph")
    tangent = graph.jvp(program.fresh(), moving(oracle.random_like(program.args, 5)))[1]
    assert [t is None for t in flat(tangent)] == [t is None for t in flat(pushed)]
    for ours, theirs in zip(flat(tangent), flat(pushed)):
        if ours is not None:
            close(ours, theirs, tolerance, "tangent of the graph")
    return True


def second_order(program: Program, function: Any, weights: Any, gradient: Any) -> bool:
    """The gradient's gradient is that of the differences, and is what forward over reverse gives."""
    direction = oracle.random_like(program.args, 7)

    def gradient_at(*args: Any) -> Any:
        _, pull = vjp(function, *args)
        return pull(weights)

    def slope(*args: Any) -> Any:
        gradient = gradient_at(*args)
        return gradient, product(gradient, direction)

    result = record(slope)(*program.fresh())
    close(oracle.entries(result.value[0]), gradient, 1e-12, "gradient inside a recorded function")
    second = oracle.entries(result.pullback((zeros(result.value[0]), 1.0)))
    _, pushed = jvp(gradient_at, program.fresh(), moving(direction))
    tangents = [x for x in flat(pushed) if x is not None]
    if oracle.entries(tangents).shape == second.shape and np.max(np.abs(second), initial=0.0) < 1e6:
        close(oracle.entries(tangents), second, 1e-8, "forward over reverse")
    shown = True
    for seed in (8, 9):
        along = oracle.random_like(program.args, seed)
        estimate = mixed(held(program), program.args, direction, along, weights)
        size = 1.0 + abs(estimate.value)
        if not (estimate.error < 1e-3 * size and size < 1e5):
            shown = False
            continue
        got = second @ oracle.entries(along)
        assert abs(got - estimate.value) <= estimate.error + 1e-6 * size, f"second: {got} instead of {estimate}"
    return shown


def readings(program: Program, seed: int) -> tuple[bool, bool, bool]:
    """All agree; whether differences could tell for the first and the second order, and whether there is a graph."""
    args, plain_args = program.fresh(), program.fresh()
    function = program.function()
    value = function(*plain_args)
    try:
        result = record(function)(*args)
    except RecordError as error:  # `v = ops.broadcast_to(o, shape)`, then a write into `o`
        assume("a broadcast view is in use" not in error.reason)
        raise
    assert oracle.same_bits(result.value, value), f"{result.value!r} instead of {value!r}"
    assert oracle.same_bits(args, plain_args)
    weights = oracle.random_like(value, seed)
    gradient = oracle.entries(result.pullback(weights))
    note(f"weights {weights!r}\ngradient {gradient!r}")
    first = first_order(program, weights, gradient)
    pushed = forward(program, function, value, weights, gradient)
    graph = as_graph(program, function, value, weights, gradient, pushed)
    second = "float32" not in program.features and second_order(program, function, weights, gradient)
    return first, second, graph


def test_every_public_operation_has_a_form() -> None:
    assert {op.function.__name__ for op in OPERATIONS.values() if op.function is not None} == set(FORMS)


@pytest.mark.parametrize("name", FORMS)
def test_all_readings_of_an_operation_agree(name: str) -> None:
    @tries(3)
    @given(operation_programs(name), seeds)
    def agree(program: Program, seed: int) -> None:
        assert f"ops.{name}" in program.text
        with np.errstate(all="ignore"):
            readings(program, seed)

    agree()


# Found by these programs, shrunk


def test_a_graph_detaches_when_it_is_differentiated() -> None:
    """The line of `detach` was a copy, through which the derivatives of the graph went."""

    def f(x):
        return ops.detach(x) * x

    for x in (0.5, np.float64(0.5), np.array([0.5, 2.0]), np.array(0.5)):
        graph = record(f).graph(x)
        value = f(x)
        assert oracle.same_bits(graph.run(x), value)  # of a float it is NumPy's number
        weights = np.ones_like(value)[()]
        pulled = graph.vjp(x)[1](weights)
        assert oracle.same_bits(pulled, record(f)(x).pullback(weights)) and np.array_equal(pulled, x)
        assert np.array_equal(graph.jvp((x,), (x,))[1], np.multiply(x, x))
        assert np.array_equal(graph.gradient().run(x, weights)[1], x)


def test_a_graph_gives_numbers_of_the_types_that_operations_give() -> None:
    def f(x):
        return ops.detach(x), ops.top_k_mask(x, 1), ops.detach([x, 1.0]), ops.detach(x=x), ops.top_k_mask([x, 1.0], 1)

    graph = record(f).graph(0.5)
    graph.check()
    assert oracle.same_bits(graph.run(0.5), f(0.5))
    assert [n.dtype for n in graph.nodes[1:]] == ["float64"] * 5


def test_the_second_derivative_of_a_scaled_product_of_a_broadcast_cotangent() -> None:
    """Its exponents were read off memory that was recorded itself: refused."""
    a = np.array([[1.0, 2.0], [0.5, -1.0]])

    def f(x):
        return np.tanh(ops.sum(ops.matmul(a, x * a, scale=-1.5)))

    def g(x):
        return np.tanh(np.sum((a @ (x * a)) * -1.5))

    np.testing.assert_allclose(grad(grad(f))(0.1), grad(grad(g))(0.1), rtol=1e-12)


def test_what_is_detached_inside_a_rule_is_no_memory_that_is_recorded() -> None:
    def f(x):
        a = np.zeros(2)
        a[0], a[1] = x, x * x
        return np.sum(PLAIN.detach(a[::-1]) * a)

    assert record(f)(0.5).backward() == 0.25 + 0.5


def test_a_graph_holds_no_broadcast_view_longer_than_its_function() -> None:
    def f(x):
        o = np.array(x)
        v = np.tanh(np.broadcast_to(o, (2, 3)).T)
        a, b = np.broadcast_arrays(o, np.zeros((2, 1)))
        w = a * b + a
        del a, b
        o *= 2.0
        return np.sum(v.T * o) + np.sum(w * o)

    x = np.array([0.1, 0.2, 0.3])
    graph = record(f).graph(x)
    assert oracle.same_bits(graph.run(x), f(x))
    assert oracle.same_bits(graph.vjp(x)[1](1.0), record(f)(x).backward())
    assert graph.jvp((x,), (x,))[1] == jvp(f, (x,), (x,))[1]


REFUSALS = [
    (lambda x: x * ops.observe(x), "observe cannot be part of a graph", "a graph has no current values"),
    (
        lambda x: ops.update_buffers([np.zeros(())], x, lambda state, t: [t]),
        "update_buffers cannot be part of a graph",
        "Keep state outside",
    ),
]


@pytest.mark.parametrize("f, reason, remedy", REFUSALS, ids=["observe", "update_buffers"])
def test_a_graph_refuses_current_values(f: Any, reason: str, remedy: str) -> None:
    with pytest.raises(RecordError) as error:
        record(f).graph(0.5)
    assert error.value.reason == reason and remedy in error.value.remedy and error.value.place is not None
