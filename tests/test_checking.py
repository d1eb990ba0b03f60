"""`check_grads` accepts right derivatives, and names what is wrong with others."""

from __future__ import annotations

import dataclasses
import math

import blocks
import numpy as np
import pytest

from autograd_frontend import check_grads, ops, primitive, record

X = np.array([0.3, -1.2, 2.0])


def test_right_derivatives_pass_and_are_shown(capsys):
    check_grads(lambda x, k: np.sum(np.exp(x) * k) + np.outer(x, x), X, 2.0, order=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["order", "mode", "argument", "entries", "largest", "error", "at"]
    assert [line.split()[:3] for line in lines[1:]] == [
        [str(k), *line] for k in (1, 2, 3) for line in (["reverse", "x"], ["reverse", "k"], ["forward", "x,"])
    ]


def test_containers_names_and_plain_data(capsys):
    @dataclasses.dataclass
    class Model:
        w: np.ndarray
        name: str

    def f(model, p, n):
        return {"a": np.sum(model.w**n) * p["k"], "b": [p["list"][0] * model.w, "text"]}

    check_grads(f, Model(X, "m"), {"k": 1.5, "list": [X, 3], "flag": True}, 3)
    shown = capsys.readouterr().out
    assert "model.w" in shown and "p['k']" in shown and "p['list'][0]" in shown
    check_grads(record(lambda x: math.sin(x)), 0.5, show=False)
    assert capsys.readouterr().out == ""


def test_writes_do_not_reach_the_arguments():
    x = X.copy()

    def f(x):
        x[0] = x[1] * 2.0
        return x * x

    check_grads(f, x, order=1)
    assert np.array_equal(x, X)


def test_a_wrong_pullback_is_named():
    @primitive
    def cube(x):
        return x**3

    @cube.pullback
    def _(g, y, x):
        return g * np.where(x > 1.0, 2.0, 3.0) * x**2

    with pytest.raises(AssertionError, match=r"in reverse mode is wrong for x\[2\]: .*, differences give"):
        check_grads(lambda x: cube(x), X, order=1)


def test_a_wrong_second_derivative_is_named():
    @primitive
    def square(x):
        return x * x

    @square.pullback
    def _(g, y, x):
        return g * 2.0 * ops.detach(x)  # right, but a constant to whoever differentiates it

    @square.tangent
    def _(t, y, x):
        return t * 2.0 * ops.detach(x)

    check_grads(lambda x: square(x), X, order=1)
    with pytest.raises(AssertionError, match=r"the derivative of order 2 in reverse mode is wrong for x\[0\]: 0, "):
        check_grads(lambda x: square(x), X, order=2)


def test_kinks_are_not_compared():
    check_grads(lambda x: np.abs(x), np.array([0.0, 1.0]))
    check_grads(lambda x: np.maximum(x, 0.0) ** 2, np.array([0.0, 1.0, -1.0]))


def test_misuse():
    with pytest.raises(TypeError, match="nothing to differentiate"):
        check_grads(lambda x: x, 3)
    with pytest.raises(ValueError, match="order is 0"):
        check_grads(lambda x: x, 3.0, order=0)
    with pytest.raises(ValueError, match="modes is 'both', expected some of"):
        check_grads(lambda x: x, 3.0, modes="both")


def test_one_mode_alone(capsys):
    @primitive
    def square(x):
        return x * x

    @square.pullback
    def _(g, y, x):
        return 2.0 * g * x

    check_grads(lambda x: square(x), X, modes=["reverse"])
    assert "forward" not in capsys.readouterr().out


def test_narrow_types_are_compared_coarsely():
    check_grads(lambda x: np.sum(np.sin(x)), X.astype(np.float32), order=1)


PUBLIC = [c for c in blocks.cases() if c.op.function is not None and c.call is c.op.function]
CASES = {c.op.function.__name__: c for c in reversed(PUBLIC)}


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_operation_of_the_interface(name):
    c = CASES[name]
    check_grads(blocks.function_of(c), c.inputs(), order=2, show=False)
