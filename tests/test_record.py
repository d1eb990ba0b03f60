"""`record`, `Recorded` and their arguments: every way to make one, every way to call it."""

from __future__ import annotations

import functools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from autograd_frontend import DeviceUnavailable, Recorded, RecordError, RecordingClosed, record
from autograd_frontend.devices.gpu import why_unavailable

from . import oracle


def square(x):
    return x * x


@record
def decorated(x):
    return x * x


@record()
def with_parentheses(x):
    return x * x


@record(device="cpu")
def with_a_device(x):
    return x * x


def halved(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs) / 2

    return wrapper


@record
@halved
def decorated_below(x):
    return x * x


@halved
@record
def decorated_above(x):
    return x * x


@record
def factorial_like(x, n):
    return 1.0 if n == 0 else x * factorial_like(x, n - 1) + 0.5


class Model:
    scale = 3.0

    def __init__(self, weight):
        self.weight = weight

    @record
    def bound(self, x):
        return self.weight * x * x

    @record
    @classmethod
    def of_class(cls, x):
        return cls.scale * x * x

    @classmethod
    @record
    def of_class_inside(cls, x):
        return cls.scale * x * x

    @record
    @staticmethod
    def static(x):
        return x * x

    @staticmethod
    @record
    def static_inside(x):
        return x * x

    @record
    @halved
    def below(self, x):
        return self.weight * x * x

    def __call__(self, x):
        return self.weight * x * x

    def plain(self, x):
        return self.weight * x * x


@pytest.mark.parametrize(
    "f", [decorated, with_parentheses, with_a_device, record(square), record(square, device="cpu")]
)
def test_every_way_to_record_gives_a_recorded_function(f):
    assert isinstance(f, Recorded)
    result = f(3.0)
    assert (result.value, result.device, result.backward()) == (9.0, "cpu", 6.0)


def test_recording_a_recorded_function_records_the_plain_one():
    assert record(decorated).__wrapped__ is decorated.__wrapped__
    assert record(decorated)(3.0).backward() == 6.0


def test_the_plain_function_stays():
    assert record(square).__wrapped__ is square
    assert decorated.__wrapped__(3) == 9
    assert (decorated.__name__, decorated.__module__) == ("decorated", __name__)


def test_source_is_the_program():
    assert decorated.source == "def decorated(ops, x):\n    return ops.mul(x, x)\n"


@pytest.mark.parametrize("thing, name", [(3, "int"), ("f", "str"), ([square], "list")])
def test_what_is_not_a_function_is_named(thing, name):
    with pytest.raises(TypeError) as error:
        record(thing)
    assert str(error.value) == f"record takes a function, not {name}"


def test_bound_class_and_static_methods_record():
    model = Model(2.0)
    for method, expected in (
        (model.bound, 12.0), (Model.of_class, 18.0), (model.of_class, 18.0), (Model.of_class_inside, 18.0),
        (model.of_class_inside, 18.0), (Model.static, 6.0), (model.static, 6.0), (Model.static_inside, 6.0),
        (model.below, 6.0), (record(model.plain), 12.0), (record(model), 12.0), (record(Model.of_class), 18.0),
    ):  # fmt: skip
        assert method(3.0).backward() == expected


def test_a_method_called_on_its_class_names_the_instance_too():
    assert Model.bound(Model(2.0), 3.0).backward() == 12.0


def test_decorators_above_and_below():
    assert decorated_below(3.0).value == 4.5
    assert decorated_below(3.0).backward() == 3.0
    with pytest.raises(TypeError):
        decorated_above(3.0)  # halves a Result


def test_lambdas_partials_and_callable_objects_record():
    first, second = record(lambda x: x * x), record(lambda x: x * x * x)
    assert (first(3.0).backward(), second(2.0).backward()) == (6.0, 12.0)
    assert record(functools.partial(pow, exp=2))(3.0).value == 9.0
    assert record(functools.partial(lambda y, x: y * x, 5.0))(3.0).backward() == 5.0
    assert record(functools.partial(np.power, 2.0))(3.0).backward() == pytest.approx(8.0 * math.log(2.0))


def test_recursion_through_the_decorated_name():
    result = factorial_like(2.0, 4)
    assert result.value == factorial_like.__wrapped__.__globals__["factorial_like"](2.0, 4).value == 16 + 7.5
    weights = [4 * 2.0**3, 0.5 * (1 + 2 * 2.0 + 3 * 4.0)]
    assert result.backward() == sum(weights)


def test_a_recorded_function_inside_another_is_on_the_same_tape():
    f = record(lambda x: decorated(x) + decorated(2.0 * x))
    result = f(3.0)
    assert result.value == 45.0
    assert len(result.tape) == 4
    assert result.backward() == 30.0


def test_a_recorded_function_gives_a_value_for_plain_arguments_inside_another():
    seen = []

    def f(x):
        constant = decorated(3.0)
        seen.append(type(constant))
        return constant * x

    assert record(f)(2.0).backward() == 9.0
    assert seen == [float]


def test_devices_are_checked_by_name():
    assert decorated.on("cpu")(3.0).device == "cpu"
    if why_unavailable():
        with pytest.raises(DeviceUnavailable, match='^device "gpu" cannot be used: '):
            decorated.on("gpu")
    with pytest.raises(ValueError) as error:
        record(square, device="tpu")
    assert str(error.value) == "there is no device 'tpu'; write \"cpu\", \"gpu\" (CuPy's current one) or \"gpu:1\""


def test_without_gradient_nothing_is_recorded():
    quiet = decorated.on("cpu", grad=False)
    result = quiet(np.array([1.0, 2.0]))
    assert oracle.same_bits(result.value, np.array([1.0, 4.0]))
    assert quiet(3).value == 9
    for use in (result.backward, lambda: result.pullback(np.ones(2)), lambda: result.tape):
        with pytest.raises(RecordingClosed) as error:
            use()
        assert str(error.value) == "nothing was recorded: this function was bound with grad=False"


def parameters(a, b=2.0, *rest, c=3.0, **more):
    total = a * b * c
    for factor in (*rest, *more.values()):
        total = total * factor
    return total


@pytest.mark.parametrize(
    "args, kwargs, gradient",
    [
        ((1.5,), {}, 6.0),
        ((1.5, 2.5), {}, {"a": 7.5, "b": 4.5}),
        ((), {"b": 1.5, "a": 2.5}, {"b": 7.5, "a": 4.5}),
        ((1.0, 2.0), {"c": 4.0}, {"a": 8.0, "b": 4.0, "c": 2.0}),
        ((1.0, 2.0, 3.0, 4.0), {}, {"a": 72.0, "b": 36.0, "rest": (24.0, 18.0)}),
        ((1.0, 2.0, 5), {}, {"a": 30.0, "b": 15.0}),
        ((1.0,), {"z": 4.0, "y": 5}, {"a": 120.0, "z": 30.0}),
        ((1,), {"b": 4}, None),
    ],
)
def test_gradients_are_named_after_the_parameters(args, kwargs, gradient):
    f = record(parameters)
    if gradient is None:
        with pytest.raises(TypeError) as error:
            f(*args, **kwargs)
        assert str(error.value) == (
            "parameters was called with nothing to differentiate: int, int. Integers are plain data: write 1.0"
        )
        return
    found = f(*args, **kwargs).backward()
    assert (found._asdict() if isinstance(gradient, dict) else found) == gradient


def test_nothing_differentiable_is_a_type_error_that_says_what_to_write():
    for given, message in (
        ((3,), "square was called with nothing to differentiate: int. Integers are plain data: write 3.0"),
        (("a",), "square was called with nothing to differentiate: str."),
        (
            (np.array([1, 2]),),
            "square was called with nothing to differentiate: int64 array. "
            "Integer arrays are plain data: write x.astype(float)",
        ),
        ((), "square was called with nothing to differentiate: no arguments."),
    ):
        with pytest.raises(TypeError) as error:
            record(square)(*given)
        assert str(error.value) == message


NUMBERS = [
    1.5, np.float64(1.5), np.float32(1.5), np.float16(1.5), np.longdouble("1.1"), Fraction(1, 3), Decimal("0.1"),
]  # fmt: skip


@pytest.mark.parametrize("x", NUMBERS, ids=lambda x: type(x).__name__)
def test_numbers_keep_their_type_and_exactness(x):
    result = record(square)(x)
    gradient = result.backward()
    assert oracle.same_bits(result.value, x * x) and type(gradient) is type(x)
    assert gradient == x + x


BASE = np.arange(24.0).reshape(4, 6) + 0.5
ARRAYS = {
    "float64": BASE, "float32": BASE.astype(np.float32), "float16": BASE.astype(np.float16),
    "longdouble": BASE.astype(np.longdouble), "zero-dimensional": np.array(1.5), "empty": np.zeros((0, 3)),
    "fortran": np.asfortranarray(BASE), "strided": BASE[::2, 1::3], "reversed": BASE[::-1, ::-2],
    "transposed": BASE.T, "broadcast": np.broadcast_to(BASE[0], (3, 6)), "single": BASE[:1, :1],
}  # fmt: skip


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
def test_arrays_of_every_layout(x):
    result = record(square)(x)
    assert oracle.same_bits(result.value, x * x)
    gradient = result.pullback(np.ones(x.shape, x.dtype))
    assert oracle.same_bits(np.ascontiguousarray(gradient), np.ascontiguousarray(np.asarray(2 * x)))
    assert gradient.flags.writeable and not np.shares_memory(gradient, x)


def test_a_read_only_array_records_and_its_gradient_is_writable():
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    gradient = record(square)(x).backward()
    gradient[0] = 7.0
    assert gradient.tolist() == [7.0, 4.0]


def test_plain_data_is_plain():
    def f(x, n, name, flag, places, thing):
        return x[places].sum() * n + (len(name) if flag and thing is None else 0.0)

    result = record(f)(np.array([1.0, 2.0, 3.0]), 2, "ab", True, np.array([0, 2]), None)
    assert result.value == 10.0
    assert result.backward().tolist() == [2.0, 0.0, 2.0]


@pytest.mark.parametrize(
    "x, message",
    [
        (np.array([1j]), "a complex argument: pass its real and its imaginary part"),
        (np.ma.array([1.0]), "an argument is a MaskedArray; pass a plain np.ndarray"),
        (np.ones((1, 1)).view(np.matrix), "an argument is a matrix; pass a plain np.ndarray"),
        ([1.0, np.ma.array([1.0])], "an argument is a MaskedArray; pass a plain np.ndarray"),
    ],
)
def test_complex_arguments_and_subclasses_of_arrays_are_refused(x, message):
    with pytest.raises(TypeError) as error:
        record(square)(x)
    assert str(error.value) == message


@pytest.mark.parametrize("x", [1j, np.complex128(1j), np.complex64(1j)])
def test_a_complex_number_is_plain_data_as_an_argument(x):
    result = record(lambda x, y: x * y)(x, 2.0)
    assert result.value == 2j and type(result.value) is type(x * 2.0)
    assert result.pullback(3j) == 3.0


def test_the_same_array_twice_gives_both_gradients():
    x = np.array([2.0, 3.0])
    gradient = record(lambda a, b: a * a * b)(x, x).backward()
    assert gradient.a.tolist() == [8.0, 18.0] and gradient.b.tolist() == [4.0, 9.0]


def test_without_source_there_is_a_reason():
    for f, name in ((np.sin, "np.sin"), (math.sin, "math.sin")):
        assert record(f)(1.0).backward() == math.cos(1.0)
        with pytest.raises(RecordError) as error:
            record(f).source  # noqa: B018
        assert str(error.value) == (
            f"{name} has no Python source to record\n  Record a function that calls it: lambda x: {name}(x)."
        )
    with pytest.raises(RecordError, match="int has no Python source to record"):
        record(int)(1.0)
    with pytest.raises(RecordError, match="math.nextafter is given a recorded value, and there is no"):
        record(math.nextafter)(1.0, 2.0)
