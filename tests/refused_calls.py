"""Functions with a call, an operator or a result that is refused; test_messages.py has the whole message of each."""

from __future__ import annotations

import math
import statistics
import types
import warnings
from array import array
from fractions import Fraction

import numpy as np
from messages import X, called, recorded
from scipy import special

from autograd_frontend import grad, jvp, ops, record, value_and_grad

NO_RULE = "Use functions that have one, give it plain data, or register a rule: help(primitive)."
PARTS = "Use real and imaginary parts."
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
OUTER = {}
BY_MODULE = np.vectorize(math.sin)


class Weight:
    def __init__(self, value):
        self.value = value

    def __rmul__(self, other):
        return other * self.value


class Table:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


def function_without_a_rule(x):
    return np.unwrap(x).sum()  # here


def function_of_scipy(x):
    return special.sici(x)[0].sum()  # here


def method_of_a_plain_array(x):
    out = np.zeros(3)
    out[0] = x[0]
    return out.tobytes()  # here


def slot_of_a_plain_array(x):
    out = np.zeros(3)
    out[0] = x[0]
    return out.__and__(1)  # here


def method_of_a_float(x):
    return float.hex(x[0])  # here


def tangent_of_a_product_in_place():
    def f(x):
        out = np.zeros(3)
        np.matmul(np.outer(x, x), x, out=out)  # here
        return out

    return jvp(f, (X,), (X,))


def derivative_of_an_infinite_product():
    def f(x):
        return jvp(lambda x: np.outer(x, x), (x,), (X,))[1]  # here

    return record(f)(np.array([1.0, np.inf, 2.0]))


def two_numbers_for_an_entry():
    return record(lambda v: (v, v)).elementwise(X)  # here


def an_integer_too_large_for_an_entry():
    return record(lambda v: 10**19 if v > 0 else v).elementwise(np.array([1.0, -1.0]))  # here


def recorded_cotangent_of_an_earlier_recording():
    earlier = record(lambda x: x * x)(X)
    return record(lambda c: earlier.pullback(c).sum())(X)  # here


def library_in_c(x):
    return array("d", [1.0]).index(x[0])  # here


def vectorized(x):
    return np.vectorize(math.sin)(x).sum()  # here


def vectorized_elsewhere(x):
    return BY_MODULE(x).sum()  # here


def compiled(x):
    return compile("x", "file", "eval")  # here


def with_a_mask(x):
    return np.exp(x, where=x > 1.0)  # here


def through_a_memoryview(x):
    out = np.zeros(3)
    looked = memoryview(out)
    out[:] = x
    return looked[0]  # here


def looped_memoryview(x):
    out = np.zeros(3)
    looked = memoryview(out)
    out[:] = x
    return [v for v in looked]  # here


def kept_in_an_object_array(x):
    kept = np.empty(3, object)
    kept[0] = x[0]  # here
    return kept[0]


def added_to_an_object_array(x):
    kept = np.zeros(3, object)
    kept += x  # here
    return kept[0]


def times_an_object_array(x):
    return (x * np.array([1.0, 2.0, 3.0], object)).sum()  # here


def order_of_a_norm(x):
    return np.linalg.norm(x, ord=x[1] + 1.0)  # here


def indices_of_a_selection(x):
    return ops.index_select(x, [0, x[0]], 0)  # here


def scale_of_a_layer(x):
    return ops.layer_norm(np.outer(x, x), x, x, x[0]).sum()  # here


def uses_a_recorded_value(x):
    return ops.map_data(lambda v: v * x[0], np.arange(3.0)).sum()  # here


def overwriting(x):
    return np.median(x, overwrite_input=True)  # here


def object_of_a_class(x):
    return np.sum(Table([x[0], x[1]]))  # here


def output_through_a_mask(x):
    out = np.zeros(3)
    return np.exp(x, out=out, where=x > 1.0)  # here


def output_of_a_rounding(x):
    out = x * 1.5
    return np.floor(x, out=out)  # here


def raw_memory(x):
    return x.ctypes  # here


def attribute_of_a_number(x):
    return float(x[0]).as_integer_ratio  # here


def shape_is_set(x):
    y = x * 2.0
    y.shape = (3, 1)  # here
    return y.sum()


def dtype_of_a_result_is_set(x):
    y = x * 2.0
    y.dtype = np.int64  # here
    return y.sum()


def dtype_is_set(x):
    out = np.zeros(3)
    out[:] = x
    out.dtype = np.int64  # here
    return out


def array_made_in_c(x):
    return np.piecewise(np.arange(3.0), [np.arange(3.0) < 1.0], [lambda v: v * x[0], 2.0]).sum()  # here


def float_made_in_c(x):
    return statistics.fmean([x[0], x[1]])  # here


def median_of_fractions():
    return record(lambda y: statistics.median([Fraction(1, 3), y]))(Fraction(1, 2))  # here


def entry_by_entry(x):
    return (x * Weight(2.0)).sum()  # here


def sign_of_a_complex_number(x):
    return np.sign(x * 1j).real.sum()  # here


def a_complex_number_as_a_real_one(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return math.fabs(np.complex128(x[0] * 1j))  # here


def masked(x):
    return np.add(x, MASKED).sum()  # here


def read_back_from_text(x):
    shown = str(x[0])
    return float(shown) * x[0]  # here


def fraction_of_a_float(x):
    return Fraction(float(x[0]))  # here


def from_an_iterator(x):
    return np.fromiter(x, float).sum()  # here


def meets_the_outer_value(x):
    OUTER["x"] = x[0]
    return grad(lambda v: v * OUTER["x"])(2.0)  # here


def returns_the_outer_value(x):
    OUTER["x"] = x[0] * 2.0

    def inner(v):  # here
        return OUTER["x"]

    return value_and_grad(inner)(2.0)[0]


def writes_inside(x):
    def f(v):
        v[0] = 0.0
        return v @ v

    return grad(f)(x).sum()  # here


def returns_an_iterator(x):  # here
    return (v * v for v in x)


def returns_an_object(x):  # here
    return Weight(x * x)


def returns_a_lock(x):  # here
    return types.SimpleNamespace(x=x * x)


def outside(reason, remedy):
    return f"{reason} is given a recorded value, and there is no derivative rule for it", remedy


SETTING = "Write int(ord) for an integer, ops.observe(ord) for a float: neither has a derivative."
INNER = "Hand the outer value to the inner function as an argument."
STRUCTURE = "Return its numbers in a tuple, a dict or a dataclass."
VECTORIZE = "np.vectorize cannot be recorded", "Write a loop, or np.array([f(v) for v in x])."
OBJECTS = "recorded values cannot be kept in an object array", "Use a list."
MEMORYVIEW = "an array that holds recorded values is looked at through a memoryview", "Use the array."
CASES = [
    (recorded, function_without_a_rule, *outside("numpy.unwrap", NO_RULE)),
    (recorded, function_of_scipy, *outside("scipy.special.sici", NO_RULE)),
    (recorded, method_of_a_plain_array, *outside("numpy.ndarray.tobytes", NO_RULE)),
    (recorded, slot_of_a_plain_array, *outside("numpy.ndarray.__and__", NO_RULE)),
    (recorded, method_of_a_float, *outside("float.hex", NO_RULE)),
    (called, tangent_of_a_product_in_place, "matmul in place or with out= has no tangent",
     "Write its result: x[...] = y."),
    (called, derivative_of_an_infinite_product,
     "the derivative of a product is taken again where it has infinite or NaN entries",
     "Take them out before the product."),
    (called, two_numbers_for_an_entry, "elementwise: the function gives tuple for an entry, expected one number",
     "Call it for one number of the result at a time."),
    (called, an_integer_too_large_for_an_entry,
     "elementwise: the function gives an integer that does not fit an array of int64",
     "Write float(n) for the number it gives."),
    (called, recorded_cotangent_of_an_earlier_recording,
     "a pullback of what is not part of this recording is given a recorded cotangent",
     "Write grad(lambda x: np.sum(f(x) * c))(x)."),
    (recorded, library_in_c, *outside("array.array.index", NO_RULE)),
    (recorded, vectorized, *VECTORIZE),
    (recorded, vectorized_elsewhere, *VECTORIZE),
    (recorded, compiled, "compile() looks at the function's own frame, which recording changes", "Write it without."),
    (recorded, with_a_mask, "exp cannot be recorded with where=", "Leave it out; np.where chooses by a mask."),
    (recorded, through_a_memoryview, *MEMORYVIEW),
    (recorded, looped_memoryview, *MEMORYVIEW),
    (recorded, kept_in_an_object_array, *OBJECTS),
    (recorded, added_to_an_object_array, *OBJECTS),
    (recorded, times_an_object_array, *OBJECTS),
    (recorded, order_of_a_norm, "ord of norm is recorded, but it has to be plain data", SETTING),
    (recorded, indices_of_a_selection, "indices of index_select is recorded, but it has to be plain data",
     "Write ops.detach(indices), which has no derivative."),
    (recorded, scale_of_a_layer, "epsilon of layer_norm is recorded, but it has to be plain data",
     "Write ops.observe(epsilon), which has no derivative."),
    (recorded, uses_a_recorded_value, "f of map_data uses a recorded value, but it has to be a function of plain data",
     "Compute what it needs before the call, with ops.detach."),
    (recorded, overwriting,
     "this form of median cannot be recorded: only method='linear' without weights and overwrite_input",
     "Write it with functions that have a rule."),
    (recorded, object_of_a_class, "NumPy would make an array of an object of class Table that holds recorded values",
     "Give it the array, or a list."),
    (recorded, output_through_a_mask, "np.exp cannot be recorded with out= and where= together", "Use np.where."),
    (recorded, output_of_a_rounding, "floor cannot be recorded with out=", "Use its result."),
    (recorded, raw_memory, "the attribute ctypes of numpy.ndarray cannot be recorded",
     "Use a NumPy function with a rule, or plain data."),
    (recorded, attribute_of_a_number, "the attribute as_integer_ratio of float cannot be recorded",
     "Use a NumPy function with a rule, or plain data."),
    (recorded, shape_is_set, "shape of a recorded array is set", "Write x = x.reshape(shape) instead."),
    (recorded, dtype_of_a_result_is_set, "dtype of a recorded array is set", "Write x.astype(dtype) instead."),
    (recorded, dtype_is_set, "dtype of an array that holds recorded values is set",
     "Write x = x.astype(dtype) instead."),
    (recorded, array_made_in_c, "a recorded value is turned into a plain array by code that is not recorded",
     "Call NumPy functions in the recorded function itself."),
    (recorded, float_made_in_c, "a recorded value is turned into a plain float by code that is not recorded",
     "Call float(), math or NumPy functions in the recorded function itself."),
    (called, median_of_fractions, "a plain Fraction meets a recorded one in code that is not recorded",
     "Write what that code does in the recorded function itself."),
    (recorded, entry_by_entry, "an operator of Weight would be called for every entry of a recorded array",
     "Put the array on the right, or give the class an __array_priority__."),
    (recorded, sign_of_a_complex_number, "sign of complex numbers cannot be recorded", PARTS),
    (recorded, a_complex_number_as_a_real_one,
     "abs of complex numbers that drops imaginary parts cannot be recorded", "Write z.real."),
    (recorded, masked, "a MaskedArray cannot be recorded", "Use a plain np.ndarray."),
    (recorded, read_back_from_text, "a number is read from the text of a recorded value, which loses its derivative",
     "Use the value itself."),
    (recorded, fraction_of_a_float,
     "Fraction() is given a recorded number of another type, which would lose its derivative",
     "Make the argument of the function a Fraction."),
    (recorded, from_an_iterator, "fromiter cannot be recorded", "Write np.array([...])."),
    (recorded, meets_the_outer_value,
     "values of two recordings meet in one operation: a derivative is taken inside a recorded function", INNER),
    (recorded, returns_the_outer_value,
     "a derivative is taken inside a recorded function, of a function that returns a value of the outer one", INNER),
    (recorded, writes_inside,
     "a function whose derivative is taken inside a recorded function writes into its argument",
     "Let it write into a copy."),
    (recorded, returns_an_iterator, "the function returns an iterator, which would run after the recording",
     "Return a list."),
    (recorded, returns_an_object, "the function returns a Weight that holds recorded values", STRUCTURE),
    (recorded, returns_a_lock, "the function returns a SimpleNamespace that holds recorded values", STRUCTURE),
]  # fmt: skip
