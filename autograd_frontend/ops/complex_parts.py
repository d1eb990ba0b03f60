"""What takes complex numbers apart. Rules of these are of complex numbers alone: other blocks name them.

For a real loss L the cotangent of z is `dL/dRe(z) + 1j*dL/dIm(z)`; its real inner product with a change of z,
`Re(conj(g)*dz)`, is the change of L.
"""

from __future__ import annotations

import numpy as np

from .block import elementwise


@elementwise()
class imaginary_part:
    """The imaginary part of complex numbers. Pullback `1j*g`."""

    complex = True

    def pull_z(ops, g):
        return ops.imaginary(g)

    strict = False


@elementwise()
class conjugation:
    """The conjugate of complex numbers. Pullback `conj(g)`."""

    complex = True

    def pull_z(ops, g):
        return ops.conj(g)


def complex_number(*parts):
    return complex(*parts)


@elementwise("autograd_frontend.ops.complex_parts.complex_number")
class complex_:
    """`complex(a, b)`, or `complex(a)`. Pullback `g`, `-1j*g`, of which real parts get the real part."""

    complex = True
    strict = False

    def bind(*parts):
        return parts, {}

    def pull_each(ops, g, i):
        return g * -1j if i else g


@elementwise()
class complex_sqrt:
    """Square root of complex numbers. Pullback `g*conj(1/(2*y))`, exactly 0 at 0 and at nan."""

    complex = True

    def pull_z(ops, g, y):
        return ops.where(ops.abs(y) > 0, g * ops.conj(1 / (2 * y)), 0)

    strict = False


def direction(ops, z, y):
    """`z/|z|`, and 0 at 0."""
    return z / ops.where(y > 0, y, 1)


@elementwise()
class modulus:
    """`|z|` of complex numbers. Pullback `g*z/|z|`, exactly 0 at 0 and at nan."""

    complex = True

    def pull_z(ops, g, z, y):
        return ops.where(y > 0, g * direction(ops, z, y), 0)

    strict = False


@elementwise()
class phase:
    """The angle of complex numbers. Pullback `1j*g*z/|z|**2`, exactly 0 at 0 and at nan."""

    complex = True

    def pull_z(ops, g, z, degrees):
        y = ops.abs(z)
        d = ops.imaginary(g / ops.where(y > 0, y, 1)) * direction(ops, z, y)
        return ops.where(y > 0, d * (180 / np.pi) if degrees else d, 0)

    strict = False


@elementwise("numpy.angle")
class angle:
    """`np.angle(z, deg=False)`, the angle of complex numbers, 0 or pi of real ones. Pullback `1j*g*z/|z|**2`, exactly
    0 at 0; of real numbers 0."""

    complex = "phase"

    def bind(z, deg=False):
        return (z,), {"degrees": bool(deg)}

    def pull_z(ops, g):
        return ops.zeros_like(g)

    samples = ((np.array([0.5, 1.5]),), (np.array([-0.5, 1.5]), True))
