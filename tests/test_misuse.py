"""What is refused, and how it says so; errors of the function come out as they are."""

from __future__ import annotations

import inspect
import json
import linecache
import math
import traceback
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from autograd_frontend import RecordError, RecordingClosed, grad, record

from . import oracle
from .failures import FAILURES, endless, own_exception

X = np.array([1.0, 2.0, 3.0])


class Holder:
    def __init__(self, value):
        self.value = value


def without_a_rule(x):
    return np.unwrap(x).sum()


def integer_array(x):
    a = np.zeros(3, int)
    a[0] = x[0]  # here
    return a.sum()


def object_array(x):
    a = np.empty(3, object)
    a[0] = x[0]  # here
    return a[0]


def array_of_anything(x):
    return np.array([x[0], "text", None])[0]


def float_elsewhere(x):
    return json.JSONEncoder().encode([float.hex(x[0])])


def vectorized(x):
    return np.vectorize(math.sin)(x).sum()


def other_bits(x):
    return x.view(np.int64).sum()


def evaluated(x):
    return eval("x * x")  # noqa: S307


def executed(x):
    exec("y = 1")  # noqa: S102
    return x


def looks_at_locals(x):
    return locals()["x"]


def complex_signs(x):
    return np.sign(x * 1j)


def complex_power(x):
    return (-float(x[0])) ** 0.5


def generator(x):
    yield x * x


def returns_a_generator(x):
    return (v * v for v in x)


def returns_a_map(x):
    return [map(abs, x)]


def returns_an_object(x):
    return Holder(x * x)


def returns_a_nested_object(x):
    return {"h": [Holder([Holder((x,))])]}


def returns_an_object_with_an_array(x):
    out = np.zeros(3)
    out[0] = x[0]
    return Holder(out)


def returns_a_closure(x):
    return lambda y: x * y


def returns_a_set(x):
    return {x[0], x[1]}


def gradient_inside_of_a_writer(x):
    def f(v):
        v[0] = 0.0
        return v @ v

    return grad(f)(x).sum()


def pickled_memory(x):
    out = np.zeros(3)
    out[:] = x
    return memoryview(out)[0]


def from_an_iterator(x):
    out = np.zeros(3)
    out[:] = x
    return np.fromiter(out, float)[0]


def assigned_global(x):
    global LEFT
    LEFT = x[0]
    return x


REFUSALS = [
    (without_a_rule, "numpy.unwrap is given a recorded value, and there is no derivative rule for it",
     "Use functions that have one, give it plain data, or register a rule: help(primitive)."),
    (integer_array, "a recorded value is stored into an array of int64, where it would lose its derivative",
     "Make the array a float array, or store int(value)."),
    (object_array, "recorded values cannot be kept in an object array", "Use a list."),
    (array_of_anything, "recorded values cannot be kept in an object array", "Use a list."),
    (float_elsewhere, "float.hex is given a recorded value, and there is no derivative rule for it",
     "Use functions that have one, give it plain data, or register a rule: help(primitive)."),
    (vectorized, "np.vectorize cannot be recorded", "Write a loop, or np.array([f(v) for v in x])."),
    (other_bits, "this form of view cannot be recorded: it looks at the bits as another type; use x.astype(dtype)",
     "Write it with functions that have a rule."),
    (evaluated, "eval() looks at the function's own frame, which recording changes", "Write it without."),
    (executed, "exec() looks at the function's own frame, which recording changes", "Write it without."),
    (looks_at_locals, "locals(), vars() and dir() show local variables that recording adds",
     "Name the variables you need."),
    (complex_signs, "sign of complex numbers cannot be recorded", "Use real and imaginary parts."),
    (complex_power, "pow of complex numbers cannot be recorded", "Use real and imaginary parts."),
    (generator, "the function returns an iterator, which would run after the recording", "Return a list."),
    (returns_a_generator, "the function returns an iterator, which would run after the recording", "Return a list."),
    (returns_a_map, "the function returns an iterator, which would run after the recording", "Return a list."),
    (returns_an_object, "the function returns a Holder that holds recorded values",
     "Return its numbers in a tuple, a dict or a dataclass."),
    (returns_a_nested_object, "the function returns a Holder that holds recorded values",
     "Return its numbers in a tuple, a dict or a dataclass."),
    (returns_an_object_with_an_array, "the function returns a Holder that holds recorded values",
     "Return its numbers in a tuple, a dict or a dataclass."),
    (returns_a_closure, "the function returns a function that holds recorded values",
     "Return its numbers in a tuple, a dict or a dataclass."),
    (returns_a_set, "the function returns a set that holds recorded values",
     "Return its numbers in a tuple, a dict or a dataclass."),
    (gradient_inside_of_a_writer,
     "a function whose derivative is taken inside a recorded function writes into its argument",
     "Let it write into a copy."),
    (pickled_memory, "memoryview is given a recorded value, and there is no derivative rule for it",
     "Use functions that have one, give it plain data, or register a rule: help(primitive)."),
    (from_an_iterator, "fromiter cannot be recorded", "Write np.array([...])."),
    (assigned_global, "a recorded value would stay behind in a global variable", "Return it, and assign it outside."),
]  # fmt: skip


def expected_line(f):
    """The line a refusal names: the one marked, the only one with a body, or the def."""
    lines, start = inspect.getsourcelines(f)
    marked = [i for i, line in enumerate(lines) if "# here" in line]
    return start + marked[0] if marked else None


@pytest.mark.parametrize("f, reason, remedy", REFUSALS, ids=lambda case: getattr(case, "__name__", ""))
def test_a_refusal_has_reason_place_text_and_remedy(f, reason, remedy):
    with pytest.raises(RecordError) as error:
        record(f)(X.copy())
    place = error.value.place
    lines, start = inspect.getsourcelines(f)
    assert (error.value.reason, error.value.remedy) == (reason, remedy)
    assert place.filename == __file__ and start <= place.line < start + len(lines)
    assert place.line == (expected_line(f) or place.line)
    assert place.function in (f.__name__, "<lambda>")
    first, second, third = str(error.value).splitlines()
    text = linecache.getline(__file__, place.line).strip()
    assert first == reason and third == f"  {remedy}"
    assert second == f'  File "{__file__}", line {place.line}, in {place.function}:    {text}'


def test_a_refused_recording_can_be_tried_again():
    f = record(lambda x, bad: np.unwrap(x).sum() if bad else (x * x).sum())
    for _ in range(2):
        with pytest.raises(RecordError):
            f(X, True)
        assert f(X, False).backward().tolist() == [2.0, 4.0, 6.0]


def raised(call, *args):
    try:
        call(*args)
    except BaseException as error:
        return error
    raise AssertionError("did not raise")


@pytest.mark.parametrize("f", FAILURES, ids=lambda f: f.__name__)
def test_the_same_exception_from_the_same_lines(f):
    plain, recorded = raised(f, X.copy()), raised(record(f), X.copy())
    assert type(recorded) is type(plain) and str(recorded) == str(plain)
    assert repr(recorded.args) == repr(plain.args) and type(recorded.__cause__) is type(plain.__cause__)
    mine, theirs = frames(recorded, f), frames(plain, f)
    assert mine == theirs if f is not endless else mine[:100] == theirs[:100]


def frames(error, f):
    """File, line, function and text of every frame from that of `f` on."""
    found = [(e.filename, e.lineno, e.name, e.line) for e in traceback.extract_tb(error.__traceback__)]
    start = [e[2] for e in found].index(f.__name__)
    return found[start:]


def test_an_exception_carries_plain_values():
    error = raised(record(own_exception), X)
    assert type(error.args[0]) is np.float64 and type(error.value) is np.float64


def test_a_type_error_of_the_call_itself_stays():
    f = record(lambda x, y: x * y)
    for call in (lambda: f(1.0), lambda: f(1.0, 2.0, 3.0), lambda: f(1.0, z=2.0)):
        assert type(raised(call)) is TypeError


STRUCTURED = record(lambda x: {"a": x * 2.0, "b": [x, (x * 3.0, 1)], "c": None})
MISFITS = [
    (record(lambda x: x * x), 2.0, [1.0], ValueError, "the cotangent of the value has shape (1,), expected ()"),
    (record(lambda x: x * x), 2.0, "a", TypeError, "the cotangent of the value is <U1, expected real numbers"),
    (record(lambda x: x * x), 2.0, None, TypeError, "the cotangent of the value is object, expected real numbers"),
    (record(lambda x: x * x), 2.0, 1j, TypeError, "the cotangent of the value is complex128, expected real numbers"),
    (record(lambda x: x * x), X, 1.0, ValueError, "the cotangent of the value has shape (), expected (3,)"),
    (record(lambda x: x * x), X, np.ones((3, 1)), ValueError,
     "the cotangent of the value has shape (3, 1), expected (3,)"),
    (record(lambda x: x * x), X, X * 1j, TypeError, "the cotangent of the value is complex128, expected real numbers"),
    (record(lambda x: x * x), Fraction(1, 2), 0.5, TypeError,
     "the cotangent of the value is a float, expected a Fraction"),
    (record(lambda x: x * x), Decimal(2), 0.5, TypeError, "the cotangent of the value is a float, expected a Decimal"),
    (STRUCTURED, 2.0, 3.0, ValueError, "the cotangent of the value lacks 'a'"),
    (STRUCTURED, 2.0, {"a": 1.0, "c": None}, ValueError, "the cotangent of the value lacks 'b'"),
    (STRUCTURED, 2.0, {"a": 1.0, "b": [1.0], "c": None}, ValueError,
     "the cotangent of the value['b'] has to be a sequence of 2 entries"),
    (STRUCTURED, 2.0, {"a": 1.0, "b": 1.0, "c": None}, ValueError,
     "the cotangent of the value['b'] has to be a sequence of 2 entries"),
    (STRUCTURED, 2.0, {"a": 1.0, "b": [1.0, ("x", 1)], "c": None}, TypeError,
     "the cotangent of the value['b'][1][0] is <U1, expected real numbers"),
    (STRUCTURED, 2.0, {"a": 1.0, "b": [1.0, (1.0, 1)], "c": None, "d": 0}, ValueError,
     "the cotangent of the value has an entry 'd', which the value has not"),
]  # fmt: skip


@pytest.mark.parametrize("f, x, cotangent, kind, message", MISFITS)
def test_a_cotangent_that_does_not_fit(f, x, cotangent, kind, message):
    result = f(x)
    with pytest.raises(kind) as error:
        result.pullback(cotangent)
    assert type(error.value) is kind and str(error.value) == message
    with pytest.raises(RecordingClosed):
        result.backward()


@pytest.mark.parametrize("cotangent", [2, 2.0, True, np.float32(2), np.array(2.0), np.int8(2)])
def test_any_real_number_is_a_cotangent_of_a_float(cotangent):
    gradient = record(lambda x: x * x)(3.0).pullback(cotangent)
    assert oracle.same_bits(gradient, 6.0 * float(cotangent))


def test_a_value_kept_from_an_earlier_call_is_a_constant():
    kept = []

    def f(x):
        kept.append(x * 3.0)
        return x * kept[0] + sum(kept[1:])

    g = record(f)
    assert g(2.0).backward() == 12.0
    result = g(5.0)
    assert result.value == 5.0 * 6.0 + 15.0
    assert result.backward() == 6.0 + 3.0
    assert float(kept[0]) == 6.0 and kept[0] + 1.0 == 7.0 and math.sin(kept[0]) == math.sin(6.0)
    assert oracle.same_bits(np.array(kept), np.array([6.0, 15.0]))


def test_an_array_kept_from_an_earlier_call_is_a_constant():
    kept = {}

    def f(x):
        kept.setdefault("first", x * 2.0)
        out = np.zeros(3)
        out += kept["first"] * x
        out[0] = kept["first"][0]
        return np.sin(kept["first"]) @ out + np.concatenate([kept["first"], x]).sum()

    plain_kept = kept
    record(f)(X).close()
    first = np.array(plain_kept["first"])
    result = record(f)(X * 3.0)
    weights = np.sin(first) * first
    weights[0] = 0.0
    np.testing.assert_allclose(result.backward(), weights + 1.0)
