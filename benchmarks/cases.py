"""The functions measured, as their users write them, with their arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.adbench import objectives


def scalar(x, y):
    """Some 30 operations on Python floats: a loop with a branch on the values."""
    total = 0.0
    for _ in range(5):
        if x > y:
            x = x * 0.9 - math.sin(y)
        else:
            y = y * 0.8 - math.exp(-x)
        total += x * y
    return total


def recurrence(x, steps):
    """A damped logistic map: five operations a step."""
    y = 0.1
    for _ in range(steps):
        y = 0.5 * y + x * y * (1.0 - y)
    return y


def three_branches(x):
    """A function of a number."""
    if x > 1.0:
        return np.log(x) * x
    if x < -1.0:
        return x * x + 1.0
    return 0.5 * x * np.exp(x)


def three_branches_by_masks(x, gradient=False):
    """The same for an array, and its derivative."""
    y, g = np.empty_like(x), np.empty_like(x) if gradient else None
    high, low = x > 1.0, x < -1.0
    middle = ~(high | low)
    a, b, c = x[high], x[low], x[middle]
    log, exp = np.log(a), np.exp(c)
    y[high], y[low], y[middle] = log * a, b * b + 1.0, 0.5 * c * exp
    if gradient:
        g[high], g[low], g[middle] = log + 1.0, 2.0 * b, 0.5 * exp + 0.5 * c * exp
    return y, g


def hand_loss(theta, model, correspondences, points):
    """Half the sum of the hand's squared residuals."""
    residual = objectives.hand(theta, model, correspondences, points)
    return 0.5 * np.sum(residual**2)


@dataclass(frozen=True)
class Case:
    """One line of the table: a function, its arguments, what to differentiate, the ratio aimed at."""

    label: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    wrt: tuple[str, ...]
    goal: float


def cases() -> dict[str, Case]:
    """Every case by name, its data read afresh."""
    return {
        "scalar": Case("scalar, 30 operations on floats", scalar, (0.7, 1.1), ("x", "y"), 30.0),
        "hand": Case("hand, 26 parameters", hand_loss, objectives.read_hand(), ("theta",), 7.0),
        "lstm": Case("lstm, 1024 characters", objectives.lstm, objectives.read_lstm(), ("main", "extra"), 11.0),
        "gmm": Case("gmm, d10 K25 n1000", objectives.gmm, objectives.read_gmm(), ("alphas", "means", "icf"), 4.5),
    }
