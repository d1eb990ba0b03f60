"""Primitives whose call or rule is refused; test_messages.py has the whole message of each."""

from __future__ import annotations

import numpy as np
from messages import called, recorded, swept
from primitives import X, own

from autograd_frontend import jvp
from autograd_frontend.ops.block import Like


class Holder:
    def __init__(self, x):
        self.x = x


def seven(x, k=1):
    return x * 7.0


def twice(x, k):
    return x * k


def identity(p):
    return p


def square(x):
    return x**2


BARE = own(seven)
WITHOUT_TANGENT = own(square, lambda g, y, x: 2.0 * g * x)
ONE_OF_TWO = own(lambda x: (x * 2.0, x), lambda g, y, x: 2.0 * g[0] + g[1], tangent=lambda t, y, x: 2.0 * t)
TWO = own(lambda x: (x * 2.0, 1), lambda g, y, x: 2.0 * g[0])
TWICE = own(twice, lambda g, y, x, k: (g * k, None))
FIRST = own(lambda x, y: x * y, lambda g, z, x, y: g * y, wrt="x")
KEYWORD = own(lambda x, *, k: x * k, lambda g, y, x, k: g * k)
PAIR = own(lambda p: p[0] * p[1], lambda g, y, p: g)
DICT = own(lambda p: {"a": p}, lambda g, y, p: g)
NESTED = own(lambda p: (p, [p]), lambda g, y, p: g)
WRITES = own(lambda x, out: np.multiply(x, 2.0, out=out), lambda g, y, x, out: (2.0 * g, None))
COMPLEX = own(lambda x: x * 1j, lambda g, y, x: g)
SUMMED = own(twice, lambda g, y, x, k: (g.sum(), None))
NOTHING = own(twice, lambda g, y, x, k: (None, g))
THREE = own(twice, lambda g, y, x, k: (g, g, g))
BROADCAST = own(lambda x, y: x * y, lambda g, z, x, y: (g * y, g * x))
NO_ENTRY = own(lambda x: x[:2] * 1.0, lambda g, y, x: g, elementwise=True)
SEVERAL = own(lambda x: (x * 1.0, x * 2.0), lambda g, y, x: g[0], elementwise=True)
SHAPE = own(lambda x: x[:2] * 1.0, lambda g, y, x: g, shape=lambda x: (x.shape, x.dtype))
RANDOM = own(lambda x: x * np.random.default_rng().random(), lambda g, y, x: g, check=True)
WRONG = own(square, lambda g, y, x: g * x, check=True)
FLAT = own(square, lambda g, y, x: 2 * g * x, tangent=lambda t, y, x: t.sum(), check=True)
TANGENT = own(square, lambda g, y, x: 2 * g * x, tangent=lambda t, y, x: t * x, check=True)


def without_a_pullback(x):
    return BARE(x) * 2.0  # here


def outside_wrt(x):
    return FIRST(x, x[0])  # here


def recorded_keyword(x):
    return KEYWORD(x, k=x[0])  # here


def object_with_values(x):
    return TWICE(Holder(x), 2.0)  # here


def captured_values(x):
    inner = own(lambda y: y * x, lambda g, y, z: g)
    return inner(x * 2.0)  # here


def gives_a_dict(x):
    return DICT(x)  # here


def gives_a_nested_list(x):
    return NESTED(x)  # here


def writes_into_its_argument(x):
    return WRITES(x, np.zeros(3))  # here


def gives_complex_numbers(x):
    return COMPLEX(x)  # here


def sums_its_gradient(x):
    return SUMMED(x, 2.0)  # here


def gives_no_gradient(x):
    return NOTHING(x, 2.0)  # here


def gives_three_gradients(x):
    return THREE(x, 2.0)  # here


def broadcasts(x):
    return BROADCAST(x, x[0])  # here


def container_gradient(x):
    return PAIR([x, x])  # here


def of_other_entries(x):
    return NO_ENTRY(x)  # here


def of_several_results(x):
    return SEVERAL(x)  # here


def of_another_shape(x):
    return SHAPE(x)  # here


def random(x):
    return RANDOM(x)  # here


def wrong_pullback(x):
    return WRONG(x)  # here


def flat_tangent(x):
    return FLAT(x)  # here


def wrong_tangent(x):
    return TANGENT(x)  # here


def without_a_tangent_rule():
    return jvp(lambda x: WITHOUT_TANGENT(x), (X,), (X,))  # here


def without_a_tangent_rule_of_two():
    return jvp(lambda x: TWO(x), (X,), (X,))  # here


def one_tangent_of_two():
    return jvp(lambda x: ONE_OF_TWO(x), (X,), (X,))  # here


def without_a_shape_rule():
    return BARE.operation.shape(Like((3,), np.dtype(float)))  # here


ARRAY = "a float64 array of shape (3,)"
STRUCTURE = "Make numbers, arrays, or lists, tuples and dicts of them the arguments."
RESULT = "Return a number, an array, or a tuple of these."
CASES = [
    (recorded, without_a_pullback, "seven is given a recorded value, and it has no pullback",
     "Register one: @seven.pullback on a function of (g, y, x, k), or primitive(..., pullback=...)."),
    (called, without_a_shape_rule, "seven is given a recorded value, and it has no shape",
     "Register one: @seven.shape on a function of (x, k), or primitive(..., shape=...)."),
    (called, without_a_tangent_rule, "square is given a recorded value, and it has no tangent",
     "Register one: @square.tangent on a function of (t, y, x), or primitive(..., tangent=...)."),
    (called, without_a_tangent_rule_of_two, "local is given a recorded value, and it has no tangent",
     "Register one: @local.tangent on a function of (t, y, x), or primitive(..., tangent=...)."),
    (called, one_tangent_of_two, f"the tangent of local gives {ARRAY[2:]}, expected a tuple of 2",
     "Return the tangent of each result, None for plain data."),
    (recorded, outside_wrt, "y of local is recorded, and local has a gradient for x only",
     "Give it plain data there, or extend wrt and the pullback."),
    (recorded, recorded_keyword, "k of local is recorded, but a keyword-only argument is plain data",
     "Make it a positional one."),
    (recorded, object_with_values, "x of twice is a Holder that holds recorded values", STRUCTURE),
    (recorded, captured_values, "local uses recorded values that are not among its arguments",
     "A rule knows the arguments only: make them arguments."),
    (recorded, gives_a_dict, "local gives a dict", RESULT),
    (recorded, gives_a_nested_list, "local gives a list in a tuple", RESULT),
    (recorded, writes_into_its_argument, "local writes into its argument out", "Let it write into a copy."),
    (recorded, gives_complex_numbers, "local of complex numbers cannot be recorded", "Use real and imaginary parts."),
    (swept, sums_its_gradient, f"the pullback of twice gives float64 for x, expected {ARRAY}",
     "Return the gradient of <g, y> for each argument, in the shape of the argument."),
    (swept, gives_no_gradient, f"the pullback of twice gives no gradient for x, which is recorded; expected {ARRAY}",
     "Return a tuple with a gradient for each argument, or give it plain data there."),
    (swept, gives_three_gradients, "the pullback of twice gives 3 gradients, expected 2, for x, k",
     "Return a tuple with None for plain data."),
    (swept, broadcasts, f"the pullback of local gives {ARRAY[2:]} for y, expected a float64",
     "Sum it to the shape of the argument, or pass elementwise=True if arguments broadcast."),
    (swept, container_gradient, f"the pullback of local gives {ARRAY[2:]} for p, expected a list of 2",
     "Return the gradient of a container in its structure."),
    (recorded, of_other_entries,
     "local is elementwise, and gives a float64 array of shape (2,) for arguments of shapes [(3,)]",
     "Pass elementwise=False."),
    (recorded, of_several_results, "local is elementwise, and gives several results", "Pass elementwise=False."),
    (recorded, of_another_shape,
     "the shape rule of local gives ((3,), dtype('float64')), and what comes is a float64 array of shape (2,)",
     "Return (shape, dtype) of the result."),
    (recorded, random, "local gives another result when it is called again", "Pass random numbers as arguments."),
    (recorded, wrong_pullback,
     "the pullback of square is wrong for x[0]: it gives -1.13696, differences give -2.27392", "Correct the pullback."),
    (recorded, flat_tangent, "the tangent of square gives float64, expected a float64 array of shape (3,)",
     "Return the tangent of the result, in its shape."),
    (recorded, wrong_tangent,
     "the tangent of square is wrong for x, in entry [0] of the result: it gives 1.10664, differences give 2.21327",
     "Correct the tangent."),
]  # fmt: skip
