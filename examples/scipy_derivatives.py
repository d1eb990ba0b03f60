"""Exact derivatives for SciPy: a minimum with Hessian products, a fit with a Jacobian, a boundary value problem.

    python examples/scipy_derivatives.py

The models are plain NumPy. Each solver is given its derivative in one line, and says how far it got.
"""

from __future__ import annotations

import numpy as np
import scipy.integrate
import scipy.optimize

from autograd_frontend import hvp, jacfwd, jacrev, value_and_grad


def rosenbrock(x):
    """A bent valley; its minimum is at ones."""
    total = 0.0
    for a, b in zip(x[:-1], x[1:], strict=True):
        total += 100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2
    return total


def decay(p, t):
    """Two decaying exponentials."""
    return p[0] * np.exp(-p[1] * t) + p[2] * np.exp(-p[3] * t)


def bratu(y):
    """The right-hand side of y'' = -exp(y) as a system of first order."""
    return np.stack([y[1], -np.exp(y[0])])


def minimum() -> scipy.optimize.OptimizeResult:
    """Newton's method with gradients and Hessian products."""
    start = np.linspace(-1.0, 1.0, 10)
    return scipy.optimize.minimize(
        value_and_grad(rosenbrock), start, jac=True, hessp=hvp(rosenbrock), method="trust-krylov"
    )


def fit() -> scipy.optimize.OptimizeResult:
    """Least squares with the Jacobian of the residuals."""
    t = np.linspace(0.0, 4.0, 60)
    data = decay(np.array([2.0, 0.5, 1.0, 3.0]), t) + 0.01 * np.sin(40.0 * t)

    def residuals(p):
        return decay(p, t) - data

    return scipy.optimize.least_squares(residuals, [1.0, 0.3, 1.5, 2.0], jac=jacfwd(residuals))


def boundary() -> scipy.integrate._bvp.BVPResult:
    """A boundary value problem with the Jacobian of its right-hand side, at every point of the mesh."""
    slope = jacrev(bratu)
    mesh = np.linspace(0.0, 1.0, 11)
    return scipy.integrate.solve_bvp(
        lambda x, y: bratu(y),
        lambda left, right: np.array([left[0], right[0]]),
        mesh,
        np.zeros((2, mesh.size)),
        fun_jac=lambda x, y: np.stack([slope(column) for column in y.T], axis=-1),
    )


def main() -> None:
    """Solve the three, and print what came out."""
    found = minimum()
    error = abs(found.x - 1.0).max()
    print(f"minimum: {found.nit} iterations, {found.nhev} Hessian products, largest error {error:.1e}")
    found = fit()
    print(f"fit: {found.nfev} evaluations, {found.njev} Jacobians, parameters {np.round(found.x, 2)}")
    found = boundary()
    print(f"boundary: {found.message} y(0.5) = {found.sol(0.5)[0]:.6f}")


if __name__ == "__main__":
    main()
