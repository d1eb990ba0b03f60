"""JAX, compiled: vectorised and scanned by hand, since a compiled function cannot hold these loops."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from tests.adbench import objectives

NAME = "jax jit"
jax.config.update("jax_enable_x64", True)


def build(function, parameters, *rest):
    """Value and gradient with respect to `parameters`, compiled; the data are arguments, not constants."""
    differentiate = jax.jit(jax.value_and_grad(function))
    parameters, rest = tuple(map(jnp.asarray, parameters)), tuple(map(jnp.asarray, rest))
    return lambda: jax.block_until_ready(differentiate(parameters, *rest))


def gmm(m):
    """The mixture, vectorised over its components; the prior's degrees of freedom `m` are fixed."""

    def loss(params, x, gamma):
        alphas, means, icf = params
        n, d = x.shape
        q = jnp.exp(icf[:, :d])
        sums = icf[:, :d].sum(1)
        cols, rows = np.nonzero(np.triu(np.ones((d, d)), 1))
        lower = jnp.zeros((len(alphas), d, d)).at[:, rows, cols].set(icf[:, d:])
        centred = x[None] - means[:, None]
        z = q[:, None] * centred + centred @ lower.transpose(0, 2, 1)
        main = alphas + sums - 0.5 * (z * z).sum(2).T
        k, dof = len(alphas), d + m + 1
        prior = (0.5 * gamma**2 * ((q**2).sum(1) + (icf[:, d:] ** 2).sum(1)) - m * sums).sum()
        c = dof * d * jnp.log(gamma / math.sqrt(2))
        prior -= k * (c - objectives.log_gamma_distribution(0.5 * dof, d))
        lse = jax.scipy.special.logsumexp
        return -n * d * 0.5 * math.log(2 * math.pi) + lse(main, axis=1).sum() - n * lse(alphas) + prior

    return loss


def lstm(params, state, sequence):
    """The LSTM as a scan over the characters."""
    main, extra = params

    def step(state, pair):
        inp, target = pair
        x, new = inp * extra[0], []
        for i in range(0, len(state), 2):
            gates = jnp.concatenate((x, state[i], x, state[i])) * main[i] + main[i + 1]
            forget, ingate, outgate, change = jnp.split(gates, 4)
            cell = state[i + 1] * jax.nn.sigmoid(forget) + jax.nn.sigmoid(ingate) * jnp.tanh(change)
            x = jax.nn.sigmoid(outgate) * jnp.tanh(cell)
            new += [x, cell]
        out = x * extra[1] + extra[2]
        out = out - jnp.log(jnp.exp(out).sum() + 2)
        return jnp.stack(new), (target * out).sum()

    _, terms = jax.lax.scan(step, state, (sequence[:-1], sequence[1:]))
    return -terms.sum() / (len(terms) * sequence.shape[1])


def build_gmm(arguments):
    """With respect to alphas, means, icf."""
    alphas, means, icf, x, gamma, m = arguments
    return build(gmm(m), (alphas, means, icf), x, gamma)


def build_lstm(arguments):
    """With respect to main, extra."""
    main, extra, state, sequence = arguments
    return build(lstm, (main, extra), state, sequence)


CASES = {"gmm": build_gmm, "lstm": build_lstm}
