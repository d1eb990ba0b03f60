"""Calls of the package that make no sense; test_messages.py has the whole message of each."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

import failures
import numpy as np
import torch
from primitives import X, own

from autograd_frontend import (
    RecordError,
    RecordingClosed,
    check_grads,
    grad,
    hvp,
    jacrev,
    jvp,
    primitive,
    record,
    value_and_grad,
    vjp,
)


class Truthy:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return self.x > 1.0 and self.x


NAMESPACE = {}
exec(compile("def typed(x):\n    return x * x\n", "<typed in>", "exec"), NAMESPACE)


def square(x):
    return x * x


def read_only_in_place(x):
    y = np.broadcast_to(x, (2, 3))
    y *= 2.0


def first(x, y):
    return x * 2.0


def product(x, y):
    return x * y


def used(*steps):
    result = record(square)(2.0)
    for step in steps:
        getattr(result, step)()
    return result


class Money(float):
    pass


class Exact(Fraction):
    pass


class Big(Decimal):
    pass


class Listed(np.ndarray):
    pass


@own
def taken(x, k, *, n=1):
    return x * k * n


taken.pullback(lambda g, y, x, k, n: (g * k * n, None))


def register(kind, rule, f=lambda x, k, *, n: x):
    return lambda: getattr(own()(f), kind)(rule)


def recorded_cotangent(c):
    def f(x):
        value, pull = vjp(lambda v: [v * 2.0, v * 3.0] if type(c) is list else v * 2.0, x)
        return pull([x] if type(c) is list else x[:2])

    return lambda: record(f)(X)


def pulled_twice(x):
    value, pull = vjp(square, x)
    return pull(x) + pull(x)


def lacking(x):
    value, pull = vjp(lambda y: {"a": y, "b": y * y}, x)
    return pull({"a": x, "c": x})


def of_a_fraction(x, y):
    value, pull = vjp(lambda v: v * v, x)
    return pull(y)


def integer_inside(x):
    return grad(product, wrt="y")(x, 3)


TYPED = (
    "typed has no source to read, and recording rewrites the source\n"
    '  File "<typed in>", line 1, in typed\n'
    "  Define it in a file or a notebook cell, or register the text given to exec in linecache.cache."
)
C_CALL = "math.sin has no Python source to record\n  Record a function that calls it: lambda x: math.sin(x)."
GETTER = "itemgetter.__call__ has no Python source to rewrite\n  Wrap it in a Python function."
USED = "this recording was used up by pullback or backward; call the function again"
CLOSED = "this recording was closed; call the function again"
SCALAR = "; return a sum, or use record(f)(...).pullback(cotangent)"
NOT_FLOAT = "square was called with nothing to differentiate: "
RULE = "(g, x), expected (g, y, x, k, *, n)"


def message(f, kind, text):
    f.__name__ = "".join(c if c.isalnum() else "_" for c in text[:50])
    return f, kind, text


DEVICES = 'write "cpu", "gpu" (CuPy\'s current one) or "gpu:1"'

CASES = [message(*case) for case in (
    (lambda: record(3), TypeError, "record takes a function, not int"),
    (lambda: record(square).on("tpu"), ValueError, "there is no device 'tpu'; " + DEVICES),
    (lambda: record(NAMESPACE["typed"])(1.0), RecordError, TYPED),
    (lambda: record(math.sin).source, RecordError, C_CALL),
    (lambda: record(operator.itemgetter(0)).source, RecordError, GETTER),
    (lambda: record(square)(), TypeError, NOT_FLOAT + "no arguments."),
    (lambda: record(square)(3), TypeError, NOT_FLOAT + "int. Integers are plain data: write 3.0"),
    (lambda: record(square)("a"), TypeError, NOT_FLOAT + "str."),
    (lambda: record(square)(torch.ones(2, requires_grad=True)), TypeError,
     "an argument is a torch.Tensor, whose memory cannot be used as it is: Can't export tensors that require gradient, "
     "use tensor.detach()"),
    (lambda: record(square)([1, 2]), TypeError, NOT_FLOAT + "list. Integers are plain data: write [1.0]"),
    (lambda: record(square)(np.arange(3)), TypeError,
     NOT_FLOAT + "int64 array. Integer arrays are plain data: write x.astype(float)"),
    (lambda: record(square)(X * 1j), TypeError, "a complex argument: pass its real and its imaginary part"),
    (lambda: record(square)(X.view(Listed)), TypeError, "an argument is a Listed; pass a plain np.ndarray"),
    (lambda: record(square)(Money(2.0)), TypeError, "an argument is a Money; pass a plain float"),
    (lambda: record(square)(Exact(2)), TypeError, "an argument is an Exact; pass a plain Fraction"),
    (lambda: record(square)(Big(2)), TypeError, "an argument is a Big; pass a plain Decimal"),
    (lambda: used("backward").backward(), RecordingClosed, USED),
    (lambda: used("backward").tape, RecordingClosed, USED),
    (lambda: used("close").pullback(1.0), RecordingClosed, CLOSED),
    (lambda: record(square).on("cpu", grad=False)(2.0).backward(), RecordingClosed,
     "nothing was recorded: this function was bound with grad=False"),
    (lambda: record(lambda x: x * 1j)(2.0).backward(), TypeError,
     "the value is complex: its pullback needs a cotangent, dL/dRe + 1j*dL/dIm of a real L"),
    (lambda: record(square)(X).pullback([[1.0], [2.0, 3.0]]), ValueError,
     "the cotangent of the value cannot be read as an array: setting an array element with a sequence. The requested "
     "array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part."),
    (lambda: record(lambda x: 1.0 if Truthy(x) else x)(2.0), TypeError,
     "__bool__ should return bool, returned float"),
    (lambda: record(failures.read_only)(X), ValueError, "assignment destination is read-only"),
    (lambda: record(read_only_in_place)(X), ValueError, "output array is read-only"),
    (lambda: grad(3), TypeError, "grad takes a function, not int"),
    (lambda: grad(square, wrt=1.5), TypeError, "wrt=1.5 has to be a position, a parameter name, or a tuple of them"),
    (lambda: grad(square, wrt=1)(2.0), ValueError, "wrt=1: the call has only 1 positional argument"),
    (lambda: grad(square, wrt="y")(2.0), ValueError, "wrt='y': square has no parameter of that name, only x"),
    (lambda: grad(square)(3), TypeError, "argument 0 of square is int, which is not differentiable; write 3.0"),
    (lambda: grad(first, wrt=("x", "y"))(2.0, "a"), TypeError,
     "argument 1 of first is str, which is not differentiable"),
    (lambda: record(integer_inside)(2.0), TypeError,
     "argument 1 of product is int, which is not differentiable; write 3.0"),
    (lambda: grad(square)(X), TypeError,
     "grad needs a function with a scalar value, not an array of shape (3,)" + SCALAR),
    (lambda: value_and_grad(lambda x: "a")(2.0), TypeError,
     "grad needs a function with a scalar value, not a str" + SCALAR),
    (lambda: grad(lambda x: x * 1j)(2.0), TypeError,
     "grad needs a function with a scalar value, not a complex one" + SCALAR),
    (lambda: grad(square, has_aux=True)(2.0), TypeError, "with has_aux=True the function has to return (value, aux)"),
    (recorded_cotangent(0.0), ValueError, "the cotangent of the value has shape (2,), expected (3,)"),
    (recorded_cotangent([]), ValueError, "the cotangent of the value has 1 entries, expected 2"),
    (lambda: jvp(square, X, (X,)), TypeError,
     "jvp: args is ndarray, expected a tuple with one entry for each argument of f"),
    (lambda: jvp(square, (X,), (X, X)), ValueError,
     "jvp got 1 arguments and 2 tangents; give None for what does not move"),
    (lambda: jvp(square, (X,), (None,)), ValueError, "jvp got no tangent: every entry of tangents is None"),
    (lambda: jvp(lambda x: x["a"], ({"a": 1.0},), ({},)), ValueError, "the tangent of argument 0 lacks 'a'"),
    (lambda: jvp(square, (X,), (X[:2],)), ValueError, "the tangent of argument 0 has shape (2,), expected (3,)"),
    (lambda: hvp(product, wrt=(0, 1))(2.0, (1.0,), 3.0), ValueError,
     "hvp: v has 1 entries, expected 2, those of wrt"),
    (lambda: bool(record(square)(2.0)), TypeError,
     "a Result has no truth value: write `if f(x).value:`, or look at what you need of it"),
    (lambda: check_grads(lambda x: abs(x), 0.0, order=1, show=False), AssertionError,
     "check_grads could compare nothing: everywhere a kink, or no finite values around"),
    (lambda: vjp(square, X, has_aux=True), TypeError, "with has_aux=True the function has to return (value, aux)"),
    (lambda: jacrev(lambda x: x * 1j)(X), TypeError, "jacrev needs a real value: return real and imaginary parts"),
    (lambda: record(lambda x: jvp(lambda y: y["a"] * x, ({"a": x},), ({},)))(2.0), ValueError,
     "the tangent of argument 0 lacks 'a'"),
    (lambda: record(lambda x: jacrev(lambda y: y * x * 1j)(x))(X), TypeError,
     "a Jacobian needs a real value: return real and imaginary parts"),
    (lambda: record(pulled_twice)(2.0), RecordingClosed,
     "this recording was used up by its pullback; call vjp again"),
    (lambda: record(lacking)(2.0), ValueError, "the cotangent of the value lacks 'b'"),
    (lambda: record(of_a_fraction)(Fraction(1, 2), 2.0), TypeError,
     "the cotangent of the value is a float, expected a Fraction"),
    (lambda: check_grads(square, 2.0, order=0), ValueError,
     "check_grads: order is 0, expected a whole number, at least 1"),
    (lambda: check_grads(square, 2.0, modes="both"), ValueError,
     "check_grads: modes is 'both', expected some of ('reverse', 'forward')"),
    (lambda: check_grads(lambda x: None, 2.0, show=False), TypeError,
     "check_grads: there is nothing to differentiate among the arguments, or in the value"),
    (lambda: primitive(3), TypeError, "primitive takes a function, not int"),
    (lambda: primitive(record(square)), TypeError,
     f"primitive takes a plain function, not {record(square)!r}"),
    (lambda: primitive(np.ndarray.sum), TypeError,
     "primitive takes a function, and ndarray.sum is a method of a type; write a function"),
    (lambda: primitive(square, cuda=3), TypeError, "cuda has to be a CUDA expression as text, not int"),
    (lambda: primitive(square, cuda="x", elementwise=False), TypeError,
     "cuda is the value of one entry; it goes with elementwise functions only"),
    (lambda: primitive(np.sin), ValueError, "sin has a rule already; pass replace=True to use yours in its place"),
    (lambda: own(square, wrt="z"), ValueError, "wrt='z': square has the parameters x"),
    (register("pullback", lambda g, x: g), TypeError, f"the pullback of local has the parameters {RULE}"),
    (register("pullback", 1.0), TypeError, "the pullback of local has to be a function, not float"),
    (lambda: taken.pullback(lambda g, y, x, k, n: g), ValueError, "taken has a pullback already"),
)]  # fmt: skip
