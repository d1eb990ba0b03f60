"""Arithmetic: the operators of Python and their NumPy and `operator` twins."""

from __future__ import annotations

import numpy as np

from .block import elementwise, span
from .interface import real

PAIRS = (
    ([0.5, -1.5, 2.0], [2.0, 1.5, -0.5]),
    (1.5, 2.5),
    (2.0, [[1.0, 3.0], [0.5, -1.0]]),
    ([[0.5], [1.5]], [2.0, 3.0]),
)


@elementwise("operator.add numpy.add")
class add:
    """`a + b`. Broadcasts. Pullback `g`, `g`. Shapes that do not broadcast: ValueError."""

    cuda = "a + b"
    complex = True
    scalars = ("1.0", "1.0")
    accumulates = 1

    def value(ops, a, b):
        return a + b

    def pull_a(ops, g):
        return g

    def pull_b(ops, g):
        return g

    samples = PAIRS


@elementwise("operator.sub numpy.subtract")
class sub:
    """`a - b`. Broadcasts. Pullback `g`, `-g`. Shapes that do not broadcast: ValueError."""

    cuda = "a - b"
    complex = True
    scalars = ("1.0", "-1.0")
    accumulates = -1

    def value(ops, a, b):
        return a - b

    def pull_a(ops, g):
        return g

    def pull_b(ops, g):
        return -g

    samples = PAIRS


@elementwise("operator.mul numpy.multiply")
class mul:
    """`a * b`. Broadcasts. Pullback `g*b`, `g*a`; IEEE for 0*inf, but a zero `g` gives exactly zero. Shapes that do not
    broadcast: ValueError."""

    cuda = "a * b"
    complex = "conjugated"
    scalars = ("y", "x")

    def value(ops, a, b):
        return a * b

    def pull_a(ops, g, b):
        return g * b

    def pull_b(ops, g, a):
        return g * a

    samples = PAIRS


@elementwise("operator.truediv numpy.divide numpy.true_divide")
class div:
    """`a / b`. Broadcasts. Pullback `g/b`, `-(g*((a/b)/b))`: `b*b` is never formed, it overflows first.
    `b == 0`: `ops.div` and NumPy give inf or nan, in value and gradient; the operator raises ZeroDivisionError for
    Python floats. Shapes that do not broadcast: ValueError."""

    cuda = "a / b"
    complex = "conjugated"

    def value(ops, a, b):
        return ops.divide(a, b)

    def pull_a(ops, g, b):
        return g / b

    def pull_b(ops, g, a, b):
        return -(g * ((a / b) / b))

    samples = PAIRS


def whole_powers(values, recorded):
    """Of complex numbers, the powers with a whole and plain exponent."""
    b = np.asarray(values[1])
    return "conjugated" if not recorded[1] and b.dtype.kind in "iuf" and np.all(b == np.rint(b)) else False


@elementwise("operator.pow numpy.power numpy.float_power math.pow")
class pow_:
    """`a ** b`. Broadcasts. Base: `g*b*a**(b-1)`, exactly 0 for `b == 0`. Exponent: `g*y*log(a)` for `a > 0`,
    0 for `a == 0 < b`, nan for `a < 0`. `x**0.5` is not `sqrt`: its derivative at 0 is inf."""

    cuda = "b == T(2) ? a * a : b == T(1) ? a : b == T(-1) ? T(1) / a : pow(a, b)"
    complex = whole_powers

    def pull_a(ops, g, a, b):
        if type(b) is int and b > 0:  # by far the most common, and without special points
            return g * (b * (a if b == 2 else 1 if b == 1 else a ** (b - 1)))  # Decimal has no 0**0
        usual = ops.both(ops.abs(a) > 0, ops.abs(g) < np.inf)
        never = ops.both(b == 0, ops.invert(usual))  # 0**-1 is not asked for, nan**0 is 1, and inf*0 is to be 0
        return ops.where(never, 0, g * (b * ops.where(never, 1, a) ** (b - 1)))

    def pull_b(ops, g, a, b, y):
        return ops.where(ops.both(a == 0, b > 0), 0, g * (y * ops.ln(a)))

    samples = (([0.5, 1.5, 2.0], [2.0, -1.5, 0.5]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


@elementwise("operator.neg numpy.negative")
class neg:
    """`-x`. Pullback `-g`. `-0.0` for 0.0."""

    cuda = "-x"
    complex = True
    scalars = ("-1.0",)

    def value(ops, x):
        return -x

    def pull_x(ops, g):
        return -g

    samples = span(-2.0, 2.5, 8)


@elementwise()
class scale:
    """`x*c` for a plain number `c`, in the element type of `x`. Pullback `g*c`. `c` is no number: TypeError."""

    instead = {"c": "ops.mul(x, c)"}

    def value(ops, x, c):
        real("scale", "c", c)
        return x * ops.beside(c, x)

    def pull_x(ops, g, c):
        return ops.times(g, ops.beside(c, g))

    samples = (
        ([0.5, -1.5, 2.0], {"c": 2.5}),
        (1.5, {"c": np.float64(-0.75)}),
        ([[1.0, 3.0], [0.5, -1.0]], {"c": 3}),
        ([[0.5], [1.5]], {"c": 0.0}),
    )


@elementwise("operator.pos numpy.positive")
class pos:
    """`+x`, the identity (NumPy copies). Pullback `g`."""

    cuda = "x"
    complex = True
    scalars = ("1.0",)

    def pull_x(ops, g):
        return g

    samples = span(-2.0, 2.5, 8)


@elementwise("operator.mod numpy.remainder numpy.mod")
class mod:
    """`a % b`. Broadcasts. Pullback `g` and `-g*floor(a/b)`."""

    cuda = "T r = fmod(a, b); return b == 0 ? r : r == 0 ? copysign(T(0), b) : (b < 0) != (r < 0) ? r + b : r;"

    def pull_a(ops, g):
        return g

    def pull_b(ops, g, a, b):
        return -(g * ops.floor_divide(a, b))

    samples = (([5.3, -2.1, 7.7], [2.0, 1.5, -3.0]), (7.3, 2.0))


@elementwise("numpy.fmod math.fmod")
class fmod:
    """Remainder with the sign of `a`. Broadcasts. Pullback `g` and `-g*trunc(a/b)`, the quotient taken from the
    remainder: `a/b` may round up to the next whole number."""

    cuda = "fmod(a, b)"

    def pull_a(ops, g):
        return g

    def pull_b(ops, g, a, b, y):
        return -(g * ops.rint((a - y) / b))

    samples = (([5.3, -2.1, 7.7], [2.0, 1.5, -3.0]), (7.3, 2.0))


@elementwise("builtins.abs operator.abs numpy.absolute numpy.fabs math.fabs")
class abs_:
    """`|x|`. Pullback `g` for positive, `-g` for negative entries, exactly 0 at 0, -0.0 and nan."""

    cuda = "fabs(x)"
    complex = "modulus"

    def value(ops, x):
        return ops.abs(x)

    def pull_x(ops, g, x):
        return ops.where(x > 0, g, ops.where(x < 0, -g, 0))

    strict = False
    samples = span(-2.0, 2.5, 8)


@elementwise("numpy.reciprocal")
class inv:
    """`1/x`. Pullback `-((g*y)*y)`, in this order: `y*y` may overflow. 0 gives inf, and a gradient of `-inf*g`."""

    complex = "conjugated"
    cuda = "T(1) / x"

    def value(ops, x):
        return ops.divide(1, x)

    def pull_x(ops, g, y):
        return -((g * y) * y)

    samples = span(-2.0, 2.5, 8)


@elementwise("numpy.square")
class square:
    """`x*x`. Pullback `g*(2*x)`."""

    cuda = "x * x"
    complex = "conjugated"

    def pull_x(ops, g, x):
        return g * (2 * x)

    samples = span(-2.0, 2.5, 8)


@elementwise("numpy.copysign math.copysign")
class copysign:
    """`|a|` with the sign of `b`. Broadcasts. Pullback `g` for `a` where the sign was kept, `-g` where it changed, 0 at
    0; `b` has none."""

    cuda = "copysign(a, b)"

    def pull_a(ops, g, a, y):
        return ops.where(a == 0, 0, ops.where(a == y, g, -g))

    def pull_b(ops, g):
        return ops.zeros_like(g)

    strict = False

    samples = (([1.0, -2.0, 3.0], [-1.0, -1.0, 2.0]), (1.5, -2.0))
