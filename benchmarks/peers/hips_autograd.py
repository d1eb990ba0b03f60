"""HIPS autograd. It knows no writes into arrays, so these ports build theirs with stack and concatenate."""

from __future__ import annotations

import math

import autograd.numpy as anp
import numpy as np
from autograd import value_and_grad
from autograd.scipy.special import logsumexp

from tests.adbench import objectives

NAME = "HIPS autograd"


def build(function, arguments, count):
    """Value and gradient with respect to the first `count` arguments."""
    differentiate = value_and_grad(function, argnum=tuple(range(count)))
    return lambda: differentiate(*arguments)


def scalar(x, y):
    """The same lines as the plain function, with this library's functions."""
    total = 0.0
    for _ in range(5):
        if x > y:
            x = x * 0.9 - anp.sin(y)
        else:
            y = y * 0.8 - anp.exp(-x)
        total = total + x * y
    return total


def gmm(alphas, means, icf, x, gamma, m):
    """The mixture, vectorised over its components."""
    n, d = x.shape
    q = anp.exp(icf[:, :d])
    sums = anp.sum(icf[:, :d], axis=1)
    rows, place = np.zeros((d, d), int), np.zeros((d, d))
    cols, below = np.nonzero(np.triu(np.ones((d, d)), 1))
    rows[below, cols], place[below, cols] = d + np.arange(len(cols)), 1.0
    lower = icf[:, rows] * place
    centred = x[None] - means[:, None]
    z = q[:, None] * centred + centred @ anp.swapaxes(lower, 1, 2)
    main = alphas + sums - 0.5 * anp.sum(z * z, axis=2).T
    k, dof = len(alphas), d + m + 1
    prior = anp.sum(0.5 * gamma**2 * (anp.sum(q**2, axis=1) + anp.sum(icf[:, d:] ** 2, axis=1)) - m * sums)
    c = dof * d * math.log(gamma / math.sqrt(2))
    prior = prior - k * (c - objectives.log_gamma_distribution(0.5 * dof, d))
    constant = -n * d * 0.5 * math.log(2 * math.pi)
    return constant + anp.sum(logsumexp(main, axis=1)) - n * logsumexp(alphas) + prior


def sigmoid(x):
    """The logistic function."""
    return 1.0 / (1.0 + anp.exp(-x))


def cell(weight, bias, hidden, state, inp):
    """One LSTM cell: its new hidden vector and state."""
    gates = anp.concatenate((inp, hidden, inp, hidden)) * weight + bias
    h = hidden.shape[0]
    state = state * sigmoid(gates[:h]) + sigmoid(gates[h : 2 * h]) * anp.tanh(gates[3 * h :])
    return sigmoid(gates[2 * h : 3 * h]) * anp.tanh(state), state


def lstm(main, extra, state, sequence):
    """The LSTM with its state in a list, not written into an array."""
    total, count, inp, state = 0.0, 0, sequence[0], list(state)
    for target in sequence[1:]:
        x, new = inp * extra[0], []
        for i in range(0, len(state), 2):
            hidden, carried = cell(main[i], main[i + 1], state[i], state[i + 1], x)
            new += [hidden, carried]
            x = hidden
        state = new
        out = x * extra[1] + extra[2]
        out = out - anp.log(anp.sum(anp.exp(out)) + 2)
        total = total + anp.sum(target * out)
        count += target.shape[0]
        inp = target
    return -total / count


CASES = {
    "scalar": lambda arguments: build(scalar, arguments, 2),
    "gmm": lambda arguments: build(gmm, arguments, 3),
    "lstm": lambda arguments: build(lstm, arguments, 2),
}
