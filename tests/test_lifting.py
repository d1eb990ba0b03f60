"""`f.elementwise`: values and gradients as mapping the plain function over the entries gives them."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifting import check, mapped, only_at_once

from autograd_frontend import RecordError, RecordingClosed, grad, record, value_and_grad

from .programs_rational import as_floats, scalar_programs
from .test_generated import tries

rng = np.random.default_rng(0)
X = rng.standard_normal(60) * 2
Y = rng.uniform(0.1, 3.0, 60)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 0.5, 2.0, 1e-10])
TABLE = [0.5, -1.0, 2.0, 3.0]


def three(x):
    if x > 1.0:
        return np.log(x) * x
    elif x < -1.0:
        return x * x + 1.0
    return 0.5 * x * x


def halve(x, n):
    return x if n == 0 else halve(x * 0.5, n - 1)


def newton(x):
    y, n = x, 0
    while abs(y * y - x) > 1e-12 * x and n < 40:
        y = 0.5 * (y + x / y)
        n += 1
    return y


def collatz(x):
    n, steps = int(abs(x) * 10) + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return x * steps


def early(x, y):
    for k in range(4):
        if x * k > y:
            return x - k
        x = x * 1.5
    else:
        y = y + 1.0
    return x * y


def logic(x, y):
    a = x and y
    b = x > 0 or y > 1.0
    c = not b
    d = -1.0 < x <= y < 2.0
    return a + (1.0 if b else x) - (c + d * 1.0) * y


def local_lists(x, y):
    items = [x, y, x * y]
    items.append(x - y)
    items[1] += 2.0
    first, *rest = sorted(items)
    total = 0.0
    for k, item in enumerate(rest):
        total += item * k
    return total * first + sum(t * t for t in items) + max(items) - min(x, y)


def table(x):
    k = int(abs(x)) % 4
    return TABLE[k] * x + (1.0, 2.0, 3.0, 4.0)[k]


def horner(x):
    return functools.reduce(lambda a, c: a * x + c, [1.0, -2.0, 0.5], 0.25)


def caught(x):
    try:
        return math.log(x) + math.sqrt(x - 1.0)
    except ValueError:
        return -x


def mathematics(x, y):
    r = math.sin(x) * math.exp(-y) + math.log(y, 2.0) + math.atan2(x, y) + math.hypot(x, y)
    return r + math.sqrt(y) * math.cosh(x) + math.erf(x) + math.fabs(x) + math.copysign(x, y) + math.pow(y, x)


def arrays_of_numpy(x, y):
    return np.sin(x) * np.exp(-y) + np.log(y) + np.arctan2(x, y) + np.sqrt(y) * np.tanh(x) + np.maximum(x, y) + y**x


def powers(x, y):
    return x**2 + x**3 - x**0 + 2.0**x + y**0.5 + y**-1 + y**x + pow(x, 2) + x ** (1 + (x > 0))


def rounding(x):
    return x - math.floor(x) + round(x) + math.ceil(x) * 0.5 + int(x) + math.trunc(x) + round(x, 1) + x // 0.7 + x % 0.7


def counted(x):
    total = x
    for k in range(int(abs(x)) + 1):
        total = total * x + k
    return total


def bools(x, y):
    a, b = x > 0, y > 1
    return (a & b) * x + (a | b) * y + (a ^ b) + isinstance(x, float) + (x in (1.0, x)) + (x is None)


def nested_functions(x, y):
    scale = y

    def inner(t):
        nonlocal scale
        scale = scale * 0.5
        return t * scale if t > 0 else -t

    return inner(x) + inner(y - 1.0) + (lambda t: t * scale)(x)


def constant(x):
    return 2.0 if x > 0 else 1


def divmods(x, y):
    q, r = divmod(x, y)
    return q + r * 2


UNARY = [three, newton, collatz, table, horner, counted, constant, rounding]
BINARY = [early, logic, local_lists, mathematics, arrays_of_numpy, powers, bools, nested_functions, divmods]


@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_number(f):
    check(f, Y if f is newton else X)


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_functions_of_two_numbers(f):
    check(f, X, Y)


def test_an_error_that_is_caught_parts_the_entries():
    check(caught, X * 2)
    check(lambda x: floats(x, 1.0), X)


def floats(x, y):
    z = float(x)
    try:
        return 1.0 / (float(int(z)) * y)
    except ZeroDivisionError:
        return z
    finally:
        z = 2.0


def test_recursion():
    check(lambda x: halve(x, int(abs(x))), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [three, mathematics, arrays_of_numpy, powers, rounding, floats, logic, caught])
def test_special_values(f):
    args = (SPECIAL, SPECIAL[::-1].copy()) if f.__code__.co_argcount == 2 else (SPECIAL,)
    check(f, *args)
    for x in SPECIAL:
        check(f, *[np.full(9, x), np.linspace(0.5, 2.0, 9)][: len(args)])


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
    for f in (early, arrays_of_numpy, local_lists, powers):
        check(f, x, y, exact=dtype == np.float64)
    check(lambda x, y: math.sin(x) * x + y, x, y, exact=dtype == np.float64)
    check(lambda x: float(x) * 0.1, x, exact=dtype == np.float64)


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


# What cannot run on whole arrays is called for one entry after the other

SEEN = []
COUNT = 0
STATE = [0.0]


def appends(x):
    SEEN.append(float(x) > 0)
    return x * 2.0


def counts(x):
    global COUNT
    if x > 0:
        COUNT += 1
        return x * 1.0
    return x * COUNT


def accumulates(x):
    if x > 0:
        STATE[0] += 1.0
        return x * 1.0
    return x * STATE[0]


class Holder:
    def __init__(self, x):
        self.x = x

    def twice(self):
        return self.x * 2.0


def in_objects(x):
    return Holder(x).twice()


def in_arrays(x):
    a = np.array([x, 2.0, x * x])
    a[1] = x
    return a.sum() if x > 0 else np.dot(a, a)


def prints(x):
    if x > 0:
        print("+")
    return x * x


@pytest.mark.parametrize("f", [in_objects, in_arrays, prints], ids=lambda f: f.__name__)
def test_what_is_not_vectorised_is_right_too(f, capsys):
    check(f, X, lifted=False)


def test_effects_come_once_and_in_order(capsys):
    SEEN.clear()
    record(appends).elementwise(X)
    assert SEEN == [x > 0 for x in X]
    global COUNT
    for f in (counts, accumulates):
        COUNT, STATE[0] = 0, 0.0
        want = np.array([f(x) for x in X])
        COUNT, STATE[0] = 0, 0.0
        assert oracle.same_bits(record(f).elementwise(X).value, want)
    record(prints).elementwise(X)
    assert capsys.readouterr().out == "+\n" * int((X > 0).sum())


def test_effects_on_a_rare_way_are_noticed():
    seen = []

    def f(x):
        if x > 2.0:
            seen.append(float(x))
            return x
        return x * len(seen)

    x = np.linspace(-1.0, 2.1, 100)
    want, first = np.array([f(e) for e in x]), list(seen)
    seen.clear()
    assert oracle.same_bits(record(f).elementwise(x).value, want)
    assert seen == first


def test_a_default_that_is_changed_is_shared():
    def f(x, memory=[]):
        memory.append(1)
        return x * len(memory)

    want = [(k + 1) * x for k, x in enumerate(X)]
    assert record(f).elementwise(X).value.tolist() == want


def test_an_iterator_from_outside_goes_on():
    def make():
        numbers = iter(range(1000))
        return lambda x: x * next(numbers), (k for k in range(1000))

    f, items = make()
    assert record(f).elementwise(X).value.tolist() == [x * k for k, x in enumerate(X)]

    def g(x):
        for k in items:
            return x * k

    # a generator that is left is not run on
    want = [x * k for k, x in enumerate(X)]
    assert record(g).elementwise(X).value.tolist() == want


def test_handlers_of_everything_see_nothing_of_it():
    def f(x):
        try:
            return in_objects(x)
        except:  # noqa: E722
            return 0.0

    check(f, X, lifted=False)


@pytest.mark.parametrize("f", [lambda x: (x, x), lambda x: None, lambda x: [x], lambda x: np.array([x, x])])
def test_what_is_not_one_number_is_refused(f):
    with pytest.raises(RecordError, match="expected one number"):
        record(f).elementwise(X)


# Random functions


def one_result(program):
    """The function of a program, made to give one number."""
    f = program.function()
    names = ", ".join("xyz"[: len(program.args)])
    space = {"f": f}
    text = f"def first({names}):\n    r = f({names})\n    return r[0] if isinstance(r, (list, tuple)) else r\n"
    import linecache

    linecache.cache["<first>" + names] = (len(text), None, text.splitlines(True), "<first>" + names)
    exec(compile(text, "<first>" + names, "exec"), space)
    return space["first"]


@tries(60)
@given(scalar_programs(), st.integers(0, 2**16))
def test_random_programs(program, seed):
    draw = np.random.default_rng(seed)
    args = []
    for a in as_floats(program).args:
        special = draw.choice([0.0, 1.0, -1.0, 2.0, a if isinstance(a, float) else 0.5], 12)
        args.append(a if isinstance(a, list) else np.concatenate([draw.standard_normal(18) * 2, special]))
    if all(isinstance(a, list) for a in args):
        return
    check(one_result(program), *args, lifted=False)


CALLS = (
    "math.sin({0})", "math.exp({0})", "math.sqrt({0})", "math.log({0})", "np.exp({0})", "np.log({0})", "np.sqrt({0})",
    "abs({0})", "({0} + {1})", "({0} * {1})", "({0} - {1})", "({0} / {1})", "({0} ** 2)", "({0} ** {1})",
    "max({0}, {1})", "np.minimum({0}, {1})", "({0} if {0} > {1} else {1})", "float({0})", "math.tanh({0})",
    "np.cos({0})", "(-{0})", "math.atan2({0}, {1})", "({0} % {1})", "({0} and {1})", "np.float32({0})",
    "(1.0 + ({0} < {1}))", "math.floor({0})", "np.hypot({0}, {1})",
)  # fmt: skip


@st.composite
def expressions(draw, depth=4):
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(["x", "y", "0.5", "2", "x", "y"]))
    form = draw(st.sampled_from(CALLS))
    return form.format(draw(expressions(depth - 1)), draw(expressions(depth - 1)))


@pytest.mark.filterwarnings("ignore")
@settings(parent=tries(150))
@given(expressions(), st.integers(0, 2**16))
def test_random_expressions(text, seed):
    import linecache

    draw = np.random.default_rng(seed)
    source = f"def f(x, y):\n    return 0.0 * x + {text}\n"
    name = f"<expression {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"math": math, "np": np}
    exec(compile(source, name, "exec"), space)
    x, y = (np.concatenate([draw.standard_normal(15) * 3, draw.choice(SPECIAL, 10)]) for _ in "xy")
    try:
        check(space["f"], x, y, lifted=False, exact="32" not in text)
        check(space["f"], np.abs(x[:15]) + 0.1, np.abs(y[:15]) + 0.1, lifted=False, exact="32" not in text)
    except RecordError:  # complex numbers
        assert "**" in text


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
