"""The four ADBench objectives, as their file stands: values bit for bit, gradients as independent libraries agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autograd_frontend import record, value_and_grad
from tests.adbench import objectives

EXPECTED = json.loads((Path(objectives.__file__).parent / "expected.json").read_text())["cases"]


def hand_loss(theta, model, correspondences, points):
    residual = objectives.hand(theta, model, correspondences, points)
    return 0.5 * np.sum(residual**2)


CASES = {
    "gmm": (objectives.gmm, objectives.read_gmm, ("alphas", "means", "icf")),
    "lstm": (objectives.lstm, lambda: objectives.read_lstm(chars=64), ("main", "extra")),
    "ba": (objectives.ba, lambda: objectives.read_ba(count=200), ("cams", "X", "w")),
    "hand": (hand_loss, objectives.read_hand, ("theta",)),
}


def same_bits(value, plain):
    assert type(value) is type(plain)
    assert np.asarray(value).dtype == np.asarray(plain).dtype
    assert np.shape(value) == np.shape(plain)
    assert np.asarray(value).tobytes() == np.asarray(plain).tobytes()


def check_gradients(name, gradients, inputs):
    case = EXPECTED[name]
    assert len(gradients) == len(inputs) == len(case["projection"])
    for i, (gradient, given) in enumerate(zip(gradients, inputs, strict=True)):
        assert gradient.shape == given.shape and gradient.dtype == given.dtype
        flat = gradient.ravel()
        norm = case["gradient_norms"][i]
        direction = np.random.default_rng(7).normal(size=flat.size)
        assert np.linalg.norm(flat) == pytest.approx(norm, rel=1e-9, abs=0)
        np.testing.assert_allclose(flat[:8], case["gradient_head"][i], rtol=1e-9, atol=1e-9 * norm)
        # a dot product rounds on the scale of its factors' norms, whatever cancels in its sum
        scale = norm * np.linalg.norm(direction)
        assert flat @ direction == pytest.approx(case["projection"][i], rel=1e-9, abs=1e-10 * scale)


@pytest.mark.parametrize("name", CASES)
def test_value_is_the_plain_one_bit_for_bit(name):
    function, read, _ = CASES[name]
    plain = function(*read())
    with record(function)(*read()) as result:
        same_bits(result.value, plain)
    assert float(plain) == pytest.approx(EXPECTED[name]["value"], rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_other_libraries_agree_on(name):
    function, read, wrt = CASES[name]
    arguments = read()
    value, gradients = value_and_grad(function, wrt=wrt)(*arguments)
    same_bits(value, function(*read()))
    names = function.__code__.co_varnames
    check_gradients(name, gradients, [arguments[names.index(parameter)] for parameter in wrt])


def test_hand_residuals_record_with_their_value_bit_for_bit():
    arguments = objectives.read_hand()
    with record(objectives.hand)(*arguments) as result:
        same_bits(result.value, objectives.hand(*arguments))


def test_backward_gives_one_gradient_per_floating_argument():
    arguments = objectives.read_gmm()
    gradients = record(objectives.gmm)(*arguments).backward()
    check_gradients("gmm", [gradients.alphas, gradients.means, gradients.icf], arguments[:3])
    assert gradients.x.shape == arguments[3].shape and isinstance(gradients.gamma, float)


def test_a_pullback_of_the_hand_residuals_is_the_gradient_of_half_their_square():
    theta, model, correspondences, points = objectives.read_hand()

    def residuals(theta):
        return objectives.hand(theta, model, correspondences, points)

    result = record(residuals)(theta)
    check_gradients("hand", [result.pullback(result.value)], [theta])


def test_arguments_are_left_as_they_were():
    for function, read, wrt in CASES.values():
        used, fresh = read(), read()
        value_and_grad(function, wrt=wrt)(*used)
        for a, b in zip(used, fresh, strict=True):
            if isinstance(a, np.ndarray):
                assert a.tobytes() == b.tobytes()
