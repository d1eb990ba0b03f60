"""Operations that choose: maximum and minimum, clip, where, and their relatives.

Pullbacks select as well: what was not chosen gets exactly 0, whatever `g` is there.
"""

from __future__ import annotations

import operator

import numpy as np

from ..arrays import held
from .block import Like, composed, elementwise, operation
from .interface import real

PAIRS = (([0.5, 1.5, -2.0], [2.0, -1.5, 0.5]), (1.5, 2.5), (2.0, [[1.0, 3.0], [0.5, -1.0]]))


def first_share(ops, g, more, less):
    """The first operand's share: all where `more`, none where `less`, half at a tie."""
    return ops.where(more, g, ops.where(less, 0, g / 2))


def second_share(ops, g, more, less):
    """The second operand's: at a tie what the first leaves, so that the two add up to `g` also where half of a
    subnormal number rounds (an infinite `g` leaves itself)."""
    rest = g - g / 2
    return ops.where(more, g, ops.where(less, 0, ops.where(rest == rest, rest, g)))


@elementwise("numpy.maximum")
class maximum:
    """The larger entry, nan beside a nan. Broadcasts. Pullback `g` to the larger, exactly 0 to the other; a tie (also
    of 0.0 with -0.0), or nan on a side, gives half to each. Shapes that do not broadcast: ValueError."""

    cuda = "a > b || a != a ? a : b"
    public = "max"

    def value(ops, a, b):
        return ops.maximum(a, b)

    def pull_a(ops, g, a, b):
        return first_share(ops, g, a > b, b > a)

    def pull_b(ops, g, a, b):
        return second_share(ops, g, b > a, a > b)

    strict = False
    samples = PAIRS


@elementwise("numpy.minimum")
class minimum:
    """The smaller entry, nan beside a nan. Broadcasts. Pullback as of the larger. Shapes that do not broadcast:
    ValueError."""

    cuda = "a < b || a != a ? a : b"
    public = "min"

    def value(ops, a, b):
        return ops.minimum(a, b)

    def pull_a(ops, g, a, b):
        return first_share(ops, g, b > a, a > b)

    def pull_b(ops, g, a, b):
        return second_share(ops, g, a > b, b > a)

    strict = False
    samples = PAIRS


@elementwise("numpy.fmax")
class fmax:
    """The larger entry, a number beside a nan. Broadcasts. Pullback as `maximum`; beside a nan the number gets all."""

    cuda = "a > b || b != b ? a : b"

    def pull_a(ops, g, a, b):
        return first_share(ops, g, wins(ops, a > b, a, b), wins(ops, b > a, b, a))

    def pull_b(ops, g, a, b):
        return second_share(ops, g, wins(ops, b > a, b, a), wins(ops, a > b, a, b))

    strict = False
    samples = PAIRS


@elementwise("numpy.fmin")
class fmin:
    """The smaller entry, a number beside a nan. Broadcasts. Pullback as `fmax`."""

    cuda = "a < b || b != b ? a : b"

    def pull_a(ops, g, a, b):
        return first_share(ops, g, wins(ops, a < b, a, b), wins(ops, b < a, b, a))

    def pull_b(ops, g, a, b):
        return second_share(ops, g, wins(ops, b < a, b, a), wins(ops, a < b, a, b))

    strict = False
    samples = PAIRS


def wins(ops, before, a, b):
    return ops.either(before, ops.both(a == a, b != b))


@elementwise("numpy.clip numpy.ndarray.clip")
class clip:
    """`minimum(maximum(x, low), high)`; None is no bound. Broadcasts. Pullback `g` strictly between the bounds, 0 at
    and beyond them and at nan. With a recorded bound all three follow the ties of `maximum` and `minimum`."""

    cuda = "T m = x > low || x != x ? x : low; return m < high || m != m ? m : high;"

    def bind(a, a_min=None, a_max=None, out=None, *, min=None, max=None, dtype=None, casting=None):
        return (a, min if a_min is None else a_min, max if a_max is None else a_max), {}

    def pull_x(ops, g, x, low, high, recorded):
        if recorded[1] or recorded[2]:
            g = below(ops, g, x, low, high)
            return g if low is None else first_share(ops, g, x > low, low > x)
        inside = x == x
        if low is not None:
            inside = ops.both(inside, x > low)
        if high is not None:
            inside = ops.both(inside, x < high)
        return ops.where(inside, g, 0)

    def pull_low(ops, g, x, low, high):
        return second_share(ops, below(ops, g, x, low, high), low > x, x > low)

    def pull_high(ops, g, x, low, high):
        y = x if low is None else ops.maximum(x, low)
        return second_share(ops, g, y > high, high > y)

    strict = False
    samples = (
        ([0.5, 1.5, -2.0, 0.1], -1.0, 1.0),
        ([0.5, 1.5, -2.0], None, 1.0),
        (0.5, -1.0, 1.0),
        ([[0.5, 1.5], [-2.0, 0.1]], [-1.0, -1.5], 1.0),
        ([0.5, 1.5, -2.0], 0.0),
    )


@elementwise()
class clamp:
    """`minimum(maximum(x, lo), hi)` for plain numbers `lo` and `hi`, in the element type of `x`. `lo > hi` gives `hi`
    everywhere; nan stays. Pullback `g` strictly between the bounds, exactly 0 at and beyond them and at nan. A bound
    that is no number: TypeError."""

    instead = dict.fromkeys(("lo", "hi"), "ops.min(ops.max(x, lo), hi)")

    def value(ops, x, lo, hi):
        real("clamp", "lo", lo)
        real("clamp", "hi", hi)
        return ops.minimum(ops.maximum(x, ops.beside(lo, x)), ops.beside(hi, x))

    def pull_x(ops, g, x, lo, hi):
        return ops.where(ops.both(x > ops.beside(lo, x), x < ops.beside(hi, x)), g, 0)

    strict = False
    samples = (
        ([0.5, 1.5, -2.0, 0.1], {"lo": -1.0, "hi": 1.0}),
        (0.5, {"lo": -1.0, "hi": np.float64(1.0)}),
        ([[0.5], [1.5]], {"lo": -np.inf, "hi": 1}),
        ([0.5, 1.5, -2.0], {"lo": 1.0, "hi": -1.0}),
    )


def below(ops, g, x, low, high):
    """What `minimum(maximum(x, low), high)` hands to its inner `maximum`."""
    if high is None:
        return g
    y = x if low is None else ops.maximum(x, low)
    return first_share(ops, g, high > y, y > high)


@elementwise("numpy.where")
class where:
    """`where(condition, x, y)`: entries of `x` where the condition holds, else of `y`. Broadcasts. Pullback `g` where
    chosen, exactly 0 elsewhere; the condition is plain. `where(condition)` alone is plain data."""

    cuda = "condition ? x : y"
    complex = True

    def bind(condition, /, *choices):
        return (condition, *choices), {}

    def pull_condition(ops, g):
        return ops.zeros_like(g)

    def pull_x(ops, g, condition):
        return ops.where(ops.truth(condition), g, 0)

    def pull_y(ops, g, condition):
        return ops.where(ops.truth(condition), 0, g)

    strict = False
    samples = (
        (np.array([True, False, True]), [1.0, 2.0, 3.0], [0.5, -1.0, 2.0]),
        (np.array([[True], [False]]), [1.0, 2.0, 3.0], 0.5),
        (True, 1.5, 2.5),
    )


@elementwise("numpy.nan_to_num")
class nan_to_num:
    """`x` with numbers in place of nan and infinities. Pullback `g` at finite entries, exactly 0 at replaced ones."""

    def bind(x, copy=True, nan=0.0, posinf=None, neginf=None):
        return (x,), {}

    def pull_x(ops, g, x):
        return ops.where(ops.isfinite(x), g, 0)

    strict = False
    samples = (([0.5, -1.5, 3.0],), (1.5,))


def likes_of_choices(*likes, **attributes):
    shapes = [a.shape for a in likes]
    dtypes = [float if a.dtype is None else a.dtype for a in likes]
    return Like(np.broadcast_shapes(*shapes), np.result_type(*dtypes))


@operation("numpy.select")
class select:
    """`select(conditions, choices, default=0)`: for each entry the first choice whose condition holds. Broadcasts.
    Pullback `g` where chosen, exactly 0 elsewhere; the conditions are plain."""

    linear = complex = True

    def bind(condlist, choicelist, default=0):
        return (*choicelist, default), {"conditions": tuple([held(c) for c in condlist])}

    def shape(*likes, conditions):
        like = likes_of_choices(*likes)
        return Like(np.broadcast_shapes(like.shape, *[np.shape(c) for c in conditions]), like.dtype)

    def pull_each(ops, g, i, conditions):
        chosen = ops.broadcast_to(True if i == len(conditions) else conditions[i], g.shape)
        for c in conditions[:i]:
            chosen = ops.both(chosen, ops.invert(c))
        return ops.where(chosen, g, 0)

    samples = (
        (
            [np.array([True, False, False]), np.array([True, True, False])],
            [np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])],
            np.array([7.0, 8.0, 9.0]),
        ),
    )


@operation("numpy.choose numpy.ndarray.choose")
class choose:
    """`choose(index, choices)`: for each entry the choice of that number. Broadcasts. Pullback `g` where chosen,
    exactly 0 elsewhere; the index is plain. `mode` as in NumPy."""

    linear = complex = True

    def bind(a, choices, out=None, mode="raise"):
        return tuple(choices), {"index": held(a), "mode": mode}

    def shape(*likes, index, mode):
        like = likes_of_choices(*likes)
        return Like(np.broadcast_shapes(like.shape, np.shape(index)), like.dtype)

    def pull_each(ops, g, i, index, mode, likes):
        n = len(likes)
        k = ops.asarray(index)
        k = k % n if mode == "wrap" else np.clip(k, 0, n - 1) if mode == "clip" else k
        return ops.where(ops.broadcast_to(k == i, g.shape), g, 0)

    samples = ((np.array([0, 1, 1]), [np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])]),)


@elementwise("numpy.heaviside")
class heaviside:
    """0 where `x` is negative, 1 where it is positive, `h` where it is zero. Pullback: 0 for `x`, also at the jump; for
    `h`, `g` where `x` is zero."""

    cuda = "x != x ? x : x < 0 ? T(0) : x > 0 ? T(1) : h"

    def pull_x(ops, g):
        return ops.zeros_like(g)

    def pull_h(ops, g, x):
        return ops.where(x == 0, g, 0)

    samples = (([-1.5, 0.5, 2.0], 0.5), (np.array([0, 2, -1]), [0.5, -1.0, 2.0]))


@composed("numpy.piecewise")
def piecewise(of, x, condlist, funclist, *args, **kwargs):
    x = of(np.asarray)(x)
    single = np.isscalar(condlist) or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim != 0)
    conditions = of(np.asarray)([condlist] if single else condlist, dtype=bool)
    if len(conditions) == len(funclist) - 1:
        conditions = np.concatenate([conditions, ~np.any(conditions, axis=0, keepdims=True)], axis=0)
    elif len(conditions) != len(funclist):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or one more are expected")
    y = of(np.zeros_like)(x)
    for condition, f in zip(conditions, funclist, strict=True):
        part = x[condition]
        if not callable(f):
            of(operator.setitem)(y, condition, f)
        elif part.size > 0:
            of(operator.setitem)(y, condition, of(f)(part, *args, **kwargs))
    return of(np.asarray)(y)
