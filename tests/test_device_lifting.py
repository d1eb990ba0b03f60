"""`f.elementwise` on a device: one kernel, in which each thread goes the way of its entry."""

from __future__ import annotations

import gc
import math
from typing import Any, Iterator

import lifting_functions as functions
import numpy as np
import pytest
from scipy import special

from autograd_frontend import RecordError, ops, record
from autograd_frontend.devices import nvrtc
from tests.cuda.host import installed
from tests.cuda.sessions import SESSIONS

rng = np.random.default_rng(0)
X = rng.standard_normal(60) * 2
Y = rng.uniform(0.1, 3.0, 60)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e200, -1e200, 0.5, 2.0, 1e-10])
C, N, COEFFICIENTS, ARRAY = 1.7, 3, (0.5, -1.0, 2.0), np.array([1.0, 2.0, 3.0], np.float32)
ARCHITECTURES = ("sm_80", "sm_90")
COMPILED: set[str] = set()


@pytest.fixture(params=["g++", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: Any, monkeypatch: Any) -> Iterator[Any]:
    """A session. Every kernel that it runs compiles without a word for two architectures."""
    with installed(SESSIONS[request.param]()) as session:
        launch = session.driver.launch

        def checked(function: Any, about: Any, arguments: Any) -> None:
            if about.kernel.name.startswith("lifted") and about.kernel.text not in COMPILED:
                COMPILED.add(about.kernel.text)
                for arch in ARCHITECTURES:
                    assert nvrtc.compile_text(about.kernel.text, arch)[1] == ""
            launch(function, about, arguments)

        monkeypatch.setattr(session.driver, "launch", checked)
        yield session
        gc.collect()
        assert session.live_bytes() == 0, "memory is held when nobody holds an array"


def ulps(a: Any, b: Any) -> float:
    if a.dtype.kind != "f" or np.array_equal(a, b, equal_nan=True):
        return 0.0 if np.array_equal(a, b, equal_nan=a.dtype.kind == "f") else np.inf
    assert np.array_equal(np.isfinite(a), np.isfinite(b)), (a, b)
    fine = np.isfinite(a)
    return float(np.max(np.abs(a[fine] - b[fine]) / np.spacing(np.maximum(np.abs(a[fine]), np.abs(b[fine])))))


def check(f: Any, *args: Any, within: float = 0, rtol: float = 1e-12, **kwargs: Any) -> Any:
    """Value, dtype and gradients are those of the CPU."""
    with np.errstate(all="ignore"):
        here = record(f).elementwise(*args, **kwargs)
        there = record(f).on("gpu").elementwise(*args, **kwargs)
        assert type(there.value) is np.ndarray and there.device.startswith("gpu")
        assert (there.value.dtype, there.value.shape) == (here.value.dtype, here.value.shape)
        if there.device == "gpu":
            assert ulps(there.value, here.value) <= within, (there.value, here.value)
        if here.value.dtype.kind != "f":
            return there.value
        weights = np.random.default_rng(5).standard_normal(here.value.shape).astype(here.value.dtype)
        found, expected = there.pullback(weights), here.pullback(weights)
    names = hasattr(found, "_fields")
    for a, b in zip(found if names else [found], expected if names else [expected], strict=True):
        assert type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype
        tolerance = 2e-6 if np.asarray(a).dtype == np.float32 else 2e-3 if np.asarray(a).dtype == np.float16 else rtol
        a = np.where(np.isnan(b), np.nan, a)  # inf*0 on the way: what is exactly zero stays so here
        np.testing.assert_allclose(a, b, tolerance, tolerance * max(1.0, float(np.size(here.value))))
    return there.value


def relu(x: Any) -> Any:
    return x if x > 0 else 0.0


def later(x: Any) -> Any:
    y = 0.0
    if x > 0:
        y = x
    return y


def series(x: Any) -> Any:
    s, term, k = 0.0, 1.0, 0
    while abs(term) > 1e-10 and k < 50:
        s = s + term
        k += 1
        term = term * x / k
    return s


def pair(x: Any, y: Any = 2.0) -> Any:
    if x > 1:
        return x * y, x
    return y, x * x


def outside(x: Any, y: Any) -> Any:
    a, b = pair(x)
    c, d = pair(y, y=C)
    a, b = b, a
    return a * b + c * d + COEFFICIENTS[N - 1] * x + ARRAY[int(x > 0)]


def horner(x: Any) -> Any:
    r = 0.0
    for c in COEFFICIENTS:
        r = r * x + c
    return r


def halved(x: Any) -> Any:
    while (x := x * 0.5) > 0.1:
        pass
    return x


def left(x: Any) -> Any:
    for k in range(5):
        if x * k > 3:
            break
        if k == 2:
            continue
        x = x + 0.125
    else:
        x = -x
    return x


def nested_loops(x: Any) -> Any:
    n = total = 0
    for i in range(4):
        for j in range(i, -3, -1):
            if j * x > 4:
                total += 1.5
                break
            total = total + j * x
        n += i if total > 0 else 1
    while n < 9:
        n += 1
        if x > 1:
            x = x - 1
            break
    else:
        x = 2 * x
    return x * n + total


def choices(x: Any, y: Any) -> Any:
    a = np.where(x > y, x * y, np.clip(x, -1, 1)) + np.maximum(x, y) + np.sign(x) + np.floor(y)
    return a + (0.5 if np.isnan(x) else 1.5) + max(x, y, 0.5) - min(x, y)


def chain(x: Any) -> Any:
    return 1.0 if -1 < x < 1 else x if x < 0 or (x > 3 and x < 4) else x * x


def squares(x: Any) -> Any:
    return (x * 2 + 1) / 3 - x**2 + np.sqrt(abs(x))


def deciding(x: Any, y: Any) -> Any:
    return (x and y) + (x > 0 or y) + (not x) * y


def smallest(x: Any) -> Any:
    best = 1e300
    for k in range(4):
        best = min(best, (x - k) ** 2)
    return best


def defaults(x: Any, n: Any = 3, *, c: Any = 0.5, mode: Any = "up", skip: Any = None) -> Any:
    for _ in range(n):
        x = x * c + 1 if mode == "up" else x * c - 1
    return x if skip is None else skip


def several(x: Any, y: Any, z: Any) -> Any:
    return x * y + z


def angles(x: Any, y: Any) -> Any:
    return np.sin(x) * np.exp(-y) * np.arctan2(x, y) * np.tanh(x)


def whole(x: Any) -> Any:
    n = int(x * 7)
    return n // 3 + n % 4 - (n << 2) + (n & 5) + round(x) + math.floor(x) + (n > 3) + n / 4 + abs(-n) ** 2


def helped(x: Any) -> Any:
    return cubed(x) if x > 0 else cubed(-x) * 2 + (COEFFICIENTS[-1] if isinstance(x, (float, np.float32)) else x)


@record
def cubed(x: Any) -> Any:
    return x**3


def public(x: Any) -> Any:
    return ops.relu(x) * 2 + ops.softplus(x) if x > 0 else ops.sigmoid(x) * special.erf(x)


def grown(x: Any) -> Any:
    y, z = 0.5, 0.25
    if x > 0:
        y = x
    return y + x if x > -1 else y + z


ONE = [
    helped, grown,
    functions.three, functions.newton, functions.collatz, functions.table, functions.counted, functions.constant,
    relu, later, series, horner, halved, left, nested_loops, chain, squares, smallest, defaults, whole,
]  # fmt: skip
TWO = [functions.early, functions.logic, functions.divmods, functions.powers, outside, choices, deciding]


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
def test_functions_of_one_number(device: Any, f: Any) -> None:
    check(f, Y if f is functions.newton else X)


@pytest.mark.parametrize("f", TWO, ids=lambda f: f.__name__)
def test_functions_of_two_numbers(device: Any, f: Any) -> None:
    check(f, X, Y)


def test_transcendental_functions(device: Any) -> None:
    check(functions.mathematics, X, Y, within=4)
    check(angles, X, Y, within=16)
    check(public, X, within=8)
    check(lambda x: np.exp(x), X, within=4)
    check(lambda x: np.tanh(x) if x > 0 else np.log1p(x * x), X.astype(np.float32), within=4)


SINGLE = [
    smallest, whole, series, helped, grown, relu, later, left, nested_loops, chain, squares, defaults, horner,
    functions.three,
]  # fmt: skip


@pytest.mark.parametrize("f", SINGLE, ids=lambda f: f.__name__)
def test_float32_stays_float32_beside_numbers_of_python(device: Any, f: Any) -> None:
    check(f, X.astype(np.float32), within=4 if f is functions.three else 0)


def test_other_dtypes(device: Any) -> None:
    check(squares, X.astype(np.float16))
    check(choices, X.astype(np.float32), Y.astype(np.float32))
    check(choices, X.astype(np.float32), Y)
    check(several, np.arange(60), X, True)
    check(several, np.arange(60, dtype=np.int8), X.astype(np.float32), X > 0)
    assert check(lambda x: x > 0, X).dtype == bool
    assert check(lambda x: int(x), X).dtype == np.int64


def test_arguments_broadcast_and_may_be_numbers(device: Any) -> None:
    check(outside, X, 2.5)
    check(outside, X.reshape(6, 10), Y[:10])
    check(several, X.reshape(60, 1), Y[:5].astype(np.float32), 2.5)
    check(several, X.reshape(6, 10).T, Y[:6], np.float32(2))
    check(several, X[::-2], Y[::2], np.array(3.0))
    check(several, x=X, y=2, z=0.5)
    check(defaults, X, 4, c=0.25)
    check(defaults, X, mode="down")
    check(defaults, X, skip=2.5)
    check(several, np.float64(2), X, np.full(1, 3.0))


def test_arrays_without_entries(device: Any) -> None:
    check(relu, np.empty((0, 3)))
    check(several, np.empty((4, 0), np.float32), 2.0, X[:4, None])


@pytest.mark.parametrize("f", [functions.three, relu, left, choices, deciding, functions.logic, squares])
def test_special_values(device: Any, f: Any) -> None:
    check(f, *[SPECIAL, SPECIAL[::-1].copy()][: f.__code__.co_argcount], within=4)


def test_factors_of_zero_are_strong(device: Any) -> None:
    check(lambda x: np.sqrt(x) * 0.0 + x, np.zeros(9))
    check(lambda x, y: np.log(x) * y, np.zeros(9), np.zeros(9))
    result = record(lambda x: 1 / x if x > 0 else np.log(x)).on("gpu").elementwise(np.zeros(9))
    with np.errstate(all="ignore"):
        assert np.array_equal(result.pullback(np.zeros(9)), np.zeros(9))


def test_one_kernel_and_nothing_is_waited_for(device: Any) -> None:
    driver, x = device.driver, device.array(X)
    f = record(functions.three).on("gpu")
    f.elementwise(X)
    driver.reset()
    result = f.elementwise(X)
    assert (driver.launches, driver.synchronizations) == (1, 0)
    result.value
    assert driver.synchronizations == 1
    driver.reset()
    result.backward()
    assert driver.launches <= 2 and driver.synchronizations == 1
    driver.reset()
    record(lambda x: math.sqrt(x * x)).on("gpu").elementwise(X)
    assert (driver.launches, driver.synchronizations) == (1, 1)  # whether a thread raised
    driver.reset()
    record(relu).on("gpu").elementwise(X.astype(np.float32))
    assert (driver.launches, driver.synchronizations) == (1, 1)  # whether some entry is a number of Python's
    del x


def test_the_dtype_is_that_of_the_ways_that_were_taken(device: Any) -> None:
    assert check(relu, np.abs(X).astype(np.float32)).dtype == np.float32
    assert check(relu, X.astype(np.float32)).dtype == np.float64


def test_a_text_serves_all_numbers(device: Any) -> None:
    device.driver.reset()
    kernels = set()
    for scale in (0.5, 2.0, 3.0):
        result = record(scaled(scale)).on("gpu").elementwise(X)
        assert np.array_equal(result.value, X * scale)
        kernels |= set(getattr(device.driver, "kernels", [])[-1:])
    assert len(kernels) <= 1
    f = scaled(2.0)
    check(f, X)
    f.__closure__[0].cell_contents = 3  # an int now
    check(f, X)


def scaled(c: Any) -> Any:
    return lambda x: x * c


def test_inside_a_recorded_function(device: Any) -> None:
    def f(x: Any, c: Any) -> Any:
        t = np.sum(x)
        y = x * 2
        z = record(lambda v, w: v * c + t * w if v > 0 else v**2).elementwise(y, x[::-1])
        return np.sum(z * z) + record(relu).elementwise(y)[3]

    for _ in range(2):
        here, there = record(f)(X, 1.5), record(f).on("gpu")(X, 1.5)
        np.testing.assert_allclose(there.value, here.value, 1e-12)
        for a, b in zip(there.backward(), here.backward(), strict=True):
            np.testing.assert_allclose(a, b, 1e-11)


def test_without_a_gradient(device: Any) -> None:
    result = record(relu).on("gpu", grad=False).elementwise(X)
    assert result.device.startswith("gpu") and np.array_equal(result.value, X.clip(0))


class Model:
    """Numbers of an object."""

    def __init__(self) -> None:
        self.scale = 2.0

    def apply(self, x: Any) -> Any:
        return x * self.scale if x > 0 else -x


def test_methods_and_attributes(device: Any) -> None:
    model = Model()
    for model.scale in (2.0, 3.0, 4):
        check(model.apply, X)


FIRST = {
    "zero": (lambda x: 1.0 / float(x), np.array([1.0, 2.0, 0.0, 3.0] * 5)),
    "domain": (lambda x: math.sqrt(x) if x < 2 else math.log(x - 5.0), np.array([1.0, 6.0, 3.0, -1.0] * 5)),
    "overflow": (lambda x: math.exp(x), np.array([1.0, 1e3] * 8)),
    "power": (lambda x: float(x) ** 400.0, np.array([1.0, 1e3] * 8)),
    "nan": (lambda x: int(x), np.array([1.0, np.inf, np.nan] * 8)),
    "index": (lambda x: COEFFICIENTS[int(x)] * x, np.array([1.0, 3.0, 4.0] * 8)),
    "own": (lambda x: checked(x), np.array([1.0, 95.0, 200.0] * 8)),
    "assert": (lambda x: checked(x), np.array([1.0, 200.0, 95.0] * 8)),
    "step": (lambda x: sum_to(x, 0), np.ones(9)),
}


def checked(x: Any) -> Any:
    assert x < 100, "large"
    if x > 90:
        raise KeyError("nearly")
    return x


def sum_to(x: Any, step: Any) -> Any:
    for k in range(0, 3, step):
        x = x + k
    return x


@pytest.mark.parametrize("name", FIRST)
def test_the_error_is_that_of_the_first_entry_that_has_one(device: Any, name: str) -> None:
    f, x = FIRST[name]
    with np.errstate(all="ignore"), pytest.raises(Exception) as here:
        record(f).elementwise(x)
    with pytest.raises(type(here.value)) as there:
        record(f).on("gpu").elementwise(x)
    assert str(there.value).splitlines()[:1] == str(here.value).splitlines()[:1]  # pytest adds to those of assert
    del here, there


def test_numbers_that_a_gpu_does_not_have(device: Any) -> None:
    for f in (lambda x: float(3 ** (int(x) * 50)), lambda x: (float(x) - 9.0) ** 0.5):
        with pytest.raises(RecordError, match=r"entry \[0\] needs a number that a GPU does not have"):
            record(f).on("gpu").elementwise(np.full(9, 2.0))


def tried(x):
    try:
        return math.log(x)
    except ValueError:
        return x


def opened(x):
    with open("/dev/null"):
        return x


def text(x):
    return x * "2.0"


def growing(x):
    items = [x]
    items.append(x)
    return items[0]


def recursive(x):
    return x if x < 1 else recursive(x - 1)


def printing(x):
    print(x)
    return x


def unknown(x):
    return np.linalg.norm(x)


def unset(x):
    for k in range(int(x)):
        y = x * k
    return y


def tuples(x):
    return x, x


def nothing(x):
    if x > 0:
        return x


def comprehension(x):
    return sum([x * k for k in range(3)])


def inner(x):
    def g(y):
        return y

    return g(x)


def digamma(x):
    return special.psi(x)


def remainders(x):
    return math.remainder(x, 2.0)


def stored(x):
    x[0] = 1.0
    return x


NUMBERS = "  Use numbers, comparisons, `and`, `or`, `not`, calls of functions of numbers; or call it on the CPU."
STATEMENTS = "  Call it on the CPU, or write it with if, while, for over range, and numbers."
FUNCTIONS = "  Use arithmetic, math, ufuncs of NumPy's, or Python functions made of these; or call it on the CPU."
LOCALS = "  Use local variables, or call it on the CPU."
REFUSED = [
    (tried, "try cannot run on a GPU", 1, "try:", STATEMENTS),
    (opened, "with cannot run on a GPU", 1, 'with open("/dev/null"):', STATEMENTS),
    (text, "str object is used as a number", 1, 'return x * "2.0"', "  Hand in numbers, or arrays of numbers."),
    (growing, "items.append: a list or tuple has no methods on a GPU", 2, "items.append(x)", LOCALS),
    (recursive, "recursive calls itself", 1, "return x if x < 1 else recursive(x - 1)", "  Write a loop."),
    (printing, "print cannot run for one entry on a GPU", 1, "print(x)", LOCALS),
    (unknown, "np.linalg.norm cannot run for one entry on a GPU", 1, "return np.linalg.norm(x)", FUNCTIONS),
    (unset, "y may have no value here", 3, "return y", "  Give y a number before, on every way."),
    (tuples, "elementwise: the function gives a tuple for an entry, expected one number", 0, "def tuples(x):",
     "  Call it for one number of the result at a time."),
    (nothing, "what nothing gives is None on one way through the function and a number on another", 0,
     "def nothing(x):", "  Give a number on every way."),
    (comprehension, "[x * k for k in range(3)] cannot run on a GPU", 1, "return sum([x * k for k in range(3)])",
     NUMBERS),
    (inner, "a function defined inside cannot run on a GPU", 1, "def g(y):", STATEMENTS),
    (digamma, "the derivative of psi cannot run for one entry on a GPU: it needs a polygamma function", 1,
     "return special.psi(x)", "  Call it on the CPU."),
    (remainders, "math.remainder cannot run for one entry on a GPU", 1, "return math.remainder(x, 2.0)",
     "  Call it on the CPU."),
    (stored, "x[0] is written to", 1, "x[0] = 1.0", "  Use local variables."),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0].__name__)
def test_refusals_say_where_and_what_to_write(device: Any, case: Any) -> None:
    f, reason, below, line, remedy = case
    with pytest.raises(RecordError) as caught:
        record(f).on("gpu").elementwise(X)
    number = f.__code__.co_firstlineno + below
    assert str(caught.value) == f'{reason}\n  File "{__file__}", line {number}, in {f.__name__}:    {line}\n{remedy}'
    del caught
