"""`f.elementwise`: values and gradients as mapping the plain function over the entries gives them."""

from __future__ import annotations

import math
import operator

import numpy as np
import oracle
import pytest
from lifting import check, mapped, only_at_once
from lifting_functions import (
    SPECIAL,
    TABLE,
    X,
    Y,
    arrays_of_numpy,
    bools,
    caught,
    collatz,
    constant,
    counted,
    divmods,
    early,
    floats,
    halve,
    horner,
    integers,
    local_lists,
    logic,
    mathematics,
    nested_functions,
    newton,
    powers,
    rng,
    rounding,
    table,
    three,
)

from autograd_frontend import RecordingClosed, grad, jvp, record, value_and_grad

UNARY = [three, newton, collatz, table, horner, counted, constant, rounding]
BINARY = [early, logic, local_lists, mathematics, arrays_of_numpy, powers, bools, nested_functions, divmods, integers]


@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_number(f):
    check(f, Y if f is newton else X)


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_functions_of_two_numbers(f):
    check(f, X, Y)


def test_an_error_that_is_caught_parts_the_entries():
    check(caught, X * 2)
    check(lambda x: floats(x, 1.0), X)


def twice_parted(x):
    v = (x + x if x * x > x else -x) / (1 + (x + x) ** 2)
    for _ in range(1 + (v > 0.1)):
        v = v + x * 0.1
    return v + x


def test_cotangents_are_added_up_in_the_order_of_one_entry():
    check(twice_parted, np.random.default_rng(3).standard_normal(1000) * 2)


def test_rules_that_raise_for_floats():
    check(lambda x: 0**x, np.arange(20.0))
    check(lambda x: x**0.5, np.arange(20.0))
    check(lambda x: float(x) ** 3, np.linspace(-1, 1, 21))


def test_results_of_rank_zero():
    check(lambda x: np.where(x > 0, x, -x), X, lifted=False)


def test_recursion():
    check(lambda x: halve(x, int(abs(x))), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [three, mathematics, arrays_of_numpy, powers, rounding, floats, logic, caught])
def test_special_values(f):
    args = (SPECIAL, SPECIAL[::-1].copy()) if f.__code__.co_argcount == 2 else (SPECIAL,)
    small = f not in (rounding, floats)  # integers beyond 64 bits are not put into arrays
    check(f, *args, lifted=small)
    for x in SPECIAL:
        check(f, *[np.full(9, x), np.linspace(0.5, 2.0, 9)][: len(args)], lifted=small)


FIRST = {
    "zero": (lambda x: 1.0 / float(x), np.array([1.0, 2.0, 0.0, 3.0] * 5)),
    "domain": (lambda x: math.sqrt(x) if x < 2 else math.log(x - 5.0), np.array([1.0, 6.0, 3.0, -1.0] * 5)),
    "domain later": (lambda x: math.sqrt(x) if x < 2 else math.log(x - 5.0), np.array([1.0, 6.0, -1.0, 3.0] * 5)),
    "overflow": (lambda x: math.exp(x), np.array([1.0, 1e3] * 8)),
    "power": (lambda x: float(x) ** 400.0, np.array([1.0, 1e3] * 8)),
    "nan": (lambda x: int(x), np.array([1.0, np.inf, np.nan] * 8)),
    "index": (lambda x: TABLE[int(x)] * x, np.array([1.0, 3.0, 4.0] * 8)),
    "own": (lambda x: x if x < 3 else error(x), np.arange(20.0)),
}


def error(x):
    raise KeyError("large")


@pytest.mark.parametrize("name", FIRST)
def test_the_error_is_that_of_the_first_entry_that_has_one(name):
    f, x = FIRST[name]
    check(f, x)


def test_an_error_shows_the_line_and_leaves_nothing_open():
    with pytest.raises(KeyError) as caught:
        record(FIRST["own"][0]).elementwise(np.arange(20.0))
    assert caught.traceback[-1].path.name == "test_lifting.py" and caught.traceback[-1].name == "error"
    from autograd_frontend.recording import ACTIVE

    assert not ACTIVE


def test_what_is_not_taken_is_not_evaluated():
    def never(x):
        raise AssertionError

    def f(x):
        if x > 5.0:
            return never(x)
        y = x if x < 5.0 or never(x) else never(x)
        return y * y if x > 0.0 else (-y if 0.0 >= x > -9.0 else never(x))

    check(f, X.clip(-4, 4))


def test_nothing_is_computed_twice(monkeypatch):
    """Parts that go another way later reuse what was computed for all."""
    sizes = []
    from autograd_frontend.lifted import Arithmetic

    compute = Arithmetic.compute

    def counting(self, op, call, operands, record):
        if call is operator.mul:
            sizes.append(self.part.size)
        return compute(self, op, call, operands, record)

    monkeypatch.setattr(Arithmetic, "compute", counting)

    def f(x):
        y = x * x * x
        if y > 1.0:
            return y * 2.0
        return y * 3.0

    x = np.linspace(-2, 2, 100)
    check(f, x)
    assert sum(sizes) == 2 * 300


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble, np.float64])
def test_entries_keep_their_dtype(dtype):
    x, y = X.astype(dtype), Y.astype(dtype)
    assert record(three).elementwise(x).value.dtype == dtype
    rtol = {np.float16: 1e-2, np.float32: 2e-5}.get(dtype, 0.0)  # arrays add up some gradients in float64
    for f in (early, arrays_of_numpy, local_lists, powers, mathematics, integers):
        check(f, x, y, rtol=rtol)
    check(lambda x, y: math.sin(x) * x + y * float(x), x, y, rtol=rtol)
    check(lambda x: float(x) * 0.1, x, rtol=rtol)


def test_the_dtype_of_the_value_is_that_of_an_array_of_the_entries():
    x = np.array([1.0, -1.0] * 6, np.float32)
    assert record(lambda x: x if x > 0 else 0.0).elementwise(x).value.dtype == np.float64
    assert record(lambda x: x > 0).elementwise(x).value.dtype == bool
    assert record(lambda x: int(x)).elementwise(x).value.dtype == np.int64
    assert record(lambda x: x if x > 0 else np.float32(0)).elementwise(x).value.dtype == np.float32


def test_shapes():
    a, b = rng.standard_normal((4, 1, 3)), rng.standard_normal((5, 1))
    assert record(early).elementwise(a, b).value.shape == (4, 5, 3)
    g = record(early).elementwise(a, b).backward()
    assert g.x.shape == a.shape and g.y.shape == b.shape
    wide = check(early, np.broadcast_to(a, (4, 5, 3)).copy(), np.broadcast_to(b, (4, 5, 3)).copy())
    np.testing.assert_allclose(g.y[:, 0], record(early).elementwise(a, b).backward().y[:, 0])
    assert wide is not None
    check(three, X.reshape(3, 4, 5)[:, ::2].transpose(2, 0, 1))
    check(three, np.array(0.7), lifted=False)
    assert record(three).elementwise(np.array(0.7)).value.shape == ()
    check(three, np.array([0.7]), lifted=False)


def test_an_empty_array_calls_nothing():
    def f(x):
        raise AssertionError

    result = record(f).elementwise(np.zeros((0, 3), np.float32))
    assert result.value.shape == (0, 3) and result.value.dtype == np.float32
    assert result.backward().shape == (0, 3)


def test_other_arguments_are_the_same_for_all():
    def f(x, scale, table, name, *, shift=0.0):
        if name == "a":
            return x * scale + table[0] * shift
        return x * table[1] * scale if x > 0 else shift * x

    for name in "ab":
        result = record(f).elementwise(X, 2.0, [1.5, 2.5], name, shift=0.5)
        assert oracle.same_bits(result.value, np.array([f(x, 2.0, [1.5, 2.5], name, shift=0.5) for x in X]))
        g = result.backward()
        one = [record(f)(x, 2.0, [1.5, 2.5], name, shift=0.5).backward() for x in X]
        np.testing.assert_array_equal(g.x, [o.x for o in one])
        np.testing.assert_allclose(g.scale, sum(o.scale for o in one))
        np.testing.assert_allclose(g.table, np.sum([o.table for o in one], axis=0))
        np.testing.assert_allclose(g.shift, sum(o.shift for o in one))
    by_name = record(f).elementwise(x=X, scale=2.0, table=[1.0, 2.0], name="b")
    assert by_name.value.shape == X.shape


def test_integer_arrays_are_plain_data():
    n = np.arange(60) % 4
    check(lambda x, n: x**2 if n == 0 else halve(x, int(n)) * n, X, n)
    with pytest.raises(TypeError, match="nothing to differentiate"):
        record(three).elementwise(n)
    plain = record(lambda n: n * 2 if n > 1 else -n).on("cpu", grad=False).elementwise(n)
    assert oracle.same_bits(plain.value, np.where(n > 1, n * 2, -n))


def test_without_arrays_it_is_a_call():
    assert record(three).elementwise(2.0).value == three(2.0)
    assert record(three).elementwise(2.0).backward() == record(three)(2.0).backward()


def test_without_gradient():
    result = record(three).on("cpu", grad=False).elementwise(X)
    assert oracle.same_bits(result.value, mapped(three, (X,)))
    with pytest.raises(RecordingClosed):
        result.backward()


def test_arguments_and_gradients_are_left_alone():
    x = X.copy()
    result = record(lambda x: x).elementwise(x)
    result.value[:] = 7.0
    assert np.array_equal(x, X)
    record(lambda x: x).on("cpu", grad=False).elementwise(x).value[:] = 7.0
    assert np.array_equal(x, X)
    result = record(lambda x: x * x).elementwise(x)
    x[:] = 9.0
    np.testing.assert_array_equal(result.backward(), 2 * X)


# Inside other functions


def test_inside_a_recorded_function_it_gives_an_array():
    lifted = record(three)

    def f(x):
        y = lifted.elementwise(x * 2.0)
        return (y * x).sum() + lifted.elementwise(np.arange(3.0))[2]

    def by_loop(x):
        return sum(three(2.0 * e) * e for e in x) + three(2.0)

    value, g = value_and_grad(f)(X)
    assert value == pytest.approx(by_loop(X))
    np.testing.assert_allclose(g, grad(by_loop)(X))


def test_derivatives_of_derivatives():
    lifted = record(three)

    def f(x):
        return (grad(lambda z: lifted.elementwise(z).sum())(x) * x).sum()

    def second(x):
        return grad(lambda z: grad(three)(z) * z)(x)

    np.testing.assert_allclose(grad(f)(X), [second(x) for x in X])
    lifted = record(mathematics)
    got = grad(lambda x: (grad(lambda z: lifted.elementwise(z, Y).sum())(x) * x).sum())(X)
    np.testing.assert_allclose(got, [grad(lambda a: grad(mathematics)(a, y) * a)(x) for x, y in zip(X, Y)])


@pytest.mark.parametrize("f", [three, mathematics, powers, nested_functions], ids=lambda f: f.__name__)
def test_tangents(f):
    lifted, args = record(f), (X, Y)[: f.__code__.co_argcount]
    tangents = tuple(np.random.default_rng(k).standard_normal(60) for k in range(len(args)))
    _, got = jvp(lambda *given: lifted.elementwise(*given), args, tangents)
    want = [jvp(f, a, t)[1] for a, t in zip(zip(*args), zip(*tangents))]
    np.testing.assert_allclose(got, want)


def test_of_what_was_written_before():
    lifted = record(three)

    def f(x):
        a = np.zeros(20)
        for k in range(20):
            a[k] = x * k - 3.0
        return lifted.elementwise(a).sum()

    value, g = value_and_grad(f)(0.4)
    assert value == pytest.approx(sum(three(0.4 * k - 3.0) for k in range(20)))
    assert g == pytest.approx(grad(lambda x: sum(three(x * k - 3.0) for k in range(20)))(0.4))


def test_a_million_entries():
    x = rng.standard_normal(1_000_000)
    with only_at_once(True):
        result = record(three).elementwise(x)
    some = rng.integers(0, x.size, 2000)
    g = None
    assert oracle.same_bits(result.value[some], np.array([three(e) for e in x[some]]))
    assert len(result.tape) < 40
    g = result.backward()
    assert g[some].tolist() == [record(three)(e).backward() for e in x[some]]
