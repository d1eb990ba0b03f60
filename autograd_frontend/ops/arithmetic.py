"""Arithmetic: the operators of Python and their NumPy and `operator` twins."""

from __future__ import annotations

from .block import elementwise, span

PAIRS = (
    ([0.5, -1.5, 2.0], [2.0, 1.5, -0.5]),
    (1.5, 2.5),
    (2.0, [[1.0, 3.0], [0.5, -1.0]]),
    ([[0.5], [1.5]], [2.0, 3.0]),
)


@elementwise("operator.add numpy.add")
class add:
    """`a + b`. Broadcasts. Pullback `g`, `g`."""

    scalars = ("1.0", "1.0")
    accumulates = 1

    def pull_a(ops, g):
        return g

    def pull_b(ops, g):
        return g

    samples = PAIRS


@elementwise("operator.sub numpy.subtract")
class sub:
    """`a - b`. Broadcasts. Pullback `g`, `-g`."""

    scalars = ("1.0", "-1.0")
    accumulates = -1

    def pull_a(ops, g):
        return g

    def pull_b(ops, g):
        return -g

    samples = PAIRS


@elementwise("operator.mul numpy.multiply")
class mul:
    """`a * b`. Broadcasts. Pullback `g*b`, `g*a`; IEEE for 0*inf, but a zero `g` gives exactly zero."""

    scalars = ("y", "x")

    def pull_a(ops, g, b):
        return g * b

    def pull_b(ops, g, a):
        return g * a

    samples = PAIRS


@elementwise("operator.truediv numpy.divide numpy.true_divide")
class div:
    """`a / b`. Broadcasts. Pullback `g/b`, `-(g*((a/b)/b))`: `b*b` is never formed, it overflows first.
    `b == 0`: Python floats raise ZeroDivisionError, NumPy gives inf or nan, in value and gradient."""

    def pull_a(ops, g, b):
        return g / b

    def pull_b(ops, g, a, b):
        return -(g * ((a / b) / b))

    samples = PAIRS


@elementwise("operator.pow numpy.power numpy.float_power math.pow")
class pow_:
    """`a ** b`. Broadcasts. Base: `g*b*a**(b-1)`, exactly 0 for `b == 0`. Exponent: `g*y*log(a)` for `a > 0`,
    0 for `a == 0 < b`, nan for `a < 0`. `x**0.5` is not `sqrt`: its derivative at 0 is inf."""

    def pull_a(ops, g, a, b):
        if type(b) is int and b > 0:  # by far the most common, and without special points
            return g * (b * (a if b == 2 else a ** (b - 1)))
        return ops.where(b == 0, 0, g * (b * a ** ops.where(b == 0, 1, b - 1)))  # 0**-1 is not asked for

    def pull_b(ops, g, a, b, y):
        return ops.where(ops.both(a == 0, b > 0), 0, g * (y * ops.ln(a)))

    samples = (([0.5, 1.5, 2.0], [2.0, -1.5, 0.5]), (1.5, 2.5), (2.0, [[1.0, 2.0], [0.5, -1.0]]))


@elementwise("operator.neg numpy.negative")
class neg:
    """`-x`. Pullback `-g`. `-0.0` for 0.0."""

    scalars = ("-1.0",)

    def pull_x(ops, g):
        return -g

    samples = span(-2.0, 2.5, 8)


@elementwise("operator.pos numpy.positive")
class pos:
    """`+x`, the identity (NumPy copies). Pullback `g`."""

    scalars = ("1.0",)

    def pull_x(ops, g):
        return g

    samples = span(-2.0, 2.5, 8)


@elementwise("operator.mod numpy.remainder numpy.mod")
class mod:
    """`a % b`. Broadcasts. Pullback `g` and `-g*floor(a/b)`."""

    def pull_a(ops, g):
        return g

    def pull_b(ops, g, a, b):
        return -(g * ops.floor_divide(a, b))

    samples = (([5.3, -2.1, 7.7], [2.0, 1.5, -3.0]), (7.3, 2.0))


@elementwise("numpy.fmod math.fmod")
class fmod:
    """Remainder with the sign of `a`. Broadcasts. Pullback `g` and `-g*trunc(a/b)`, the quotient taken from the
    remainder: `a/b` may round up to the next whole number."""

    def pull_a(ops, g):
        return g

    def pull_b(ops, g, a, b, y):
        return -(g * ops.rint((a - y) / b))

    samples = (([5.3, -2.1, 7.7], [2.0, 1.5, -3.0]), (7.3, 2.0))


@elementwise("builtins.abs operator.abs numpy.absolute numpy.fabs math.fabs")
class abs_:
    """`|x|`. Pullback `g` for positive, `-g` for negative entries, exactly 0 at 0, -0.0 and nan."""

    def pull_x(ops, g, x):
        return ops.where(x > 0, g, ops.where(x < 0, -g, 0))

    strict = False
    samples = span(-2.0, 2.5, 8)


@elementwise("numpy.reciprocal")
class inv:
    """`1/x`. Pullback `-((g*y)*y)`, in this order. 0 gives inf."""

    def pull_x(ops, g, y):
        return -((g * y) * y)

    samples = span(-2.0, 2.5, 8)


@elementwise("numpy.square")
class square:
    """`x*x`. Pullback `g*(2*x)`."""

    def pull_x(ops, g, x):
        return g * (2 * x)

    samples = span(-2.0, 2.5, 8)


@elementwise("numpy.copysign math.copysign")
class copysign:
    """`|a|` with the sign of `b`. Broadcasts. Pullback `g` for `a` where the sign was kept, `-g` where it changed, 0 at
    0; `b` has none."""

    def pull_a(ops, g, a, y):
        return ops.where(a == 0, 0, ops.where(a == y, g, -g))

    def pull_b(ops, g):
        return ops.zeros_like(g)

    strict = False

    samples = (([1.0, -2.0, 3.0], [-1.0, -1.0, 2.0]), (1.5, -2.0))
