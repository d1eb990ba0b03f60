"""PyTorch, eager: tensors in place of arrays, vectorised where its users would."""

from __future__ import annotations

import math

import numpy as np
import torch

from tests.adbench import objectives

NAME = "torch eager"


def tensor(array):
    """The same memory as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(array))


def build(function, parameters, *rest):
    """Value and gradient with respect to `parameters`."""

    def run():
        leaves = [p.detach().requires_grad_() for p in parameters]
        value = function(*leaves, *rest)
        value.backward()
        return value.detach(), [leaf.grad for leaf in leaves]

    return run


def scalar(x, y):
    """The same lines as the plain function, with this library's functions."""
    total = 0.0
    for _ in range(5):
        if x > y:
            x = x * 0.9 - torch.sin(y)
        else:
            y = y * 0.8 - torch.exp(-x)
        total = total + x * y
    return total


def gmm(alphas, means, icf, x, gamma, m):
    """The mixture, vectorised over its components."""
    n, d = x.shape
    q = torch.exp(icf[:, :d])
    sums = icf[:, :d].sum(1)
    cols, rows = np.nonzero(np.triu(np.ones((d, d)), 1))
    lower = torch.zeros(len(alphas), d, d, dtype=x.dtype)
    lower[:, rows, cols] = icf[:, d:]
    centred = x[None] - means[:, None]
    z = q[:, None] * centred + centred @ lower.transpose(1, 2)
    main = alphas + sums - 0.5 * (z * z).sum(2).T
    k, dof = len(alphas), d + m + 1
    prior = (0.5 * gamma**2 * ((q**2).sum(1) + (icf[:, d:] ** 2).sum(1)) - m * sums).sum()
    c = dof * d * math.log(gamma / math.sqrt(2))
    prior = prior - k * (c - objectives.log_gamma_distribution(0.5 * dof, d))
    constant = -n * d * 0.5 * math.log(2 * math.pi)
    return constant + torch.logsumexp(main, 1).sum() - n * torch.logsumexp(alphas, 0) + prior


def cell(weight, bias, hidden, state, inp):
    """One LSTM cell: its new hidden vector and state."""
    gates = torch.cat((inp, hidden, inp, hidden)) * weight + bias
    h = hidden.shape[0]
    state = state * torch.sigmoid(gates[:h]) + torch.sigmoid(gates[h : 2 * h]) * torch.tanh(gates[3 * h :])
    return torch.sigmoid(gates[2 * h : 3 * h]) * torch.tanh(state), state


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
        out = out - torch.log(torch.exp(out).sum() + 2)
        total = total + (target * out).sum()
        count += out.shape[0]
        inp = target
    return -total / count


def pose_from(theta, bones):
    """The angles of every bone, (bones + 3, 3)."""
    pose = torch.zeros(bones + 3, 3, dtype=theta.dtype)
    pose[0], pose[1], pose[2] = theta[0:3], 1.0, theta[3:6]
    i, row = 6, 5
    for _ in range(5):
        for joint in (1, 2, 3):
            pose[row, 0] = theta[i]
            i += 1
            if joint == 1:
                pose[row, 1] = theta[i]
                i += 1
            row += 1
        row += 1
    return pose


def euler_rotation(tx, tz, ty):
    """The rotation of three angles, (3, 3)."""
    one, nil = torch.ones((), dtype=tx.dtype), torch.zeros((), dtype=tx.dtype)
    about_x = torch.stack([one, nil, nil, nil, tx.cos(), -tx.sin(), nil, tx.sin(), tx.cos()])
    about_y = torch.stack([ty.cos(), nil, ty.sin(), nil, one, nil, -ty.sin(), nil, ty.cos()])
    about_z = torch.stack([tz.cos(), -tz.sin(), nil, tz.sin(), tz.cos(), nil, nil, nil, one])
    return about_z.view(3, 3) @ about_y.view(3, 3) @ about_x.view(3, 3)


def angle_axis_rotation(aa):
    """The rotation about an axis by its length, (3, 3)."""
    n = torch.sqrt((aa**2).sum())
    x, y, z = aa / n
    s, c = n.sin(), n.cos()
    return torch.stack([
        x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
        x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s,
        x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c,
    ]).view(3, 3)


def hand(theta, parents, relatives, inverses, base, weights, correspondences, points):
    """Half the sum of squared residuals, the skinning vectorised over the bones."""
    pose = pose_from(theta, len(parents))
    absolutes = []
    for b, parent in enumerate(parents):
        local = torch.eye(4, dtype=theta.dtype)
        local[:3, :3] = euler_rotation(*pose[b + 3])
        local = relatives[b] @ local
        absolutes.append(local if parent == -1 else absolutes[parent] @ local)
    transforms = torch.stack(absolutes) @ inverses
    moved = torch.einsum("vj,bij->vbi", base, transforms)[:, :, :3]
    positions = (moved * weights[:, :, None]).sum(1)
    vertices = positions @ (angle_axis_rotation(pose[0]) * pose[1]).T + pose[2]
    return 0.5 * ((points - vertices[correspondences]) ** 2).sum()


def build_scalar(arguments):
    """The two floats as tensors without dimensions."""
    return build(scalar, [torch.tensor(a, dtype=torch.float64) for a in arguments])


def build_gmm(arguments):
    """With respect to alphas, means, icf."""
    *arrays, gamma, m = arguments
    return build(gmm, [tensor(a) for a in arrays[:3]], tensor(arrays[3]), gamma, m)


def build_lstm(arguments):
    """With respect to main, extra."""
    return build(lstm, [tensor(a) for a in arguments[:2]], *(tensor(a) for a in arguments[2:]))


def build_hand(arguments):
    """With respect to theta."""
    theta, model, correspondences, points = arguments
    arrays = (model.base_relatives, model.inverse_base_absolutes, model.base_positions, model.weights)
    rest = [tensor(a) for a in (*arrays, correspondences, points)]
    return build(hand, [tensor(theta)], model.parents.tolist(), *rest)


CASES = {"scalar": build_scalar, "gmm": build_gmm, "lstm": build_lstm, "hand": build_hand}
