"""Cases: control flow, functions, closures, errors."""

from __future__ import annotations

import contextlib
import functools

import numpy as np

from .language import VECTOR, case


@case(1.3)
def if_elif_else(x):
    def piece(v):
        if v < 0.0:
            return -v
        elif v < 1.0:
            return v * v
        elif v < 2.0:
            w = v**3
        else:
            w = 7.0 * v
        return w + v

    return piece(x) + piece(-x) + piece(x - 1.0) + piece(x + 1.0)


@case(1.3)
def conditional_expression(x):
    return (x if x > 1.0 else 1 / 0) * (1 / 0 if x > 2.0 else x**2) + [x, 2.0 * x][x > 1.0]


@case(1.3, 0.4)
def and_or_not_return_operands(x, y):
    a = x and y
    b = (x * 0.0) or y
    c = x or 1 / 0
    d = 0.0 and 1 / 0
    e = not x
    return a * x + b * 2.0 + c * 3.0 + d + (1.0 if e else 3.0) * y + (None or x)


@case(1.3)
def chained_comparisons(x):
    n = 0.0
    if 0 < x < 2 < 3:
        n += 1.0
    if 0 < x > 2 < 1 / 0:
        n += 10.0
    if 1.0 <= x <= 1.5 != x:
        n += 100.0
    return x * x * n


@case(0.7)
def for_with_else_break_continue(x):
    s = 0.0
    for i in range(10):
        if i == 2:
            continue
        if i > 5:
            break
        s += x**i
    else:
        s = 100.0
    for _ in range(2):
        s *= x
    else:
        s += x
    return s


@case(0.7)
def while_with_else_break_continue(x):
    s, n = x, 0
    while s < 5.0:
        n += 1
        if n == 2:
            continue
        s = s * 1.5 + x
    else:
        s += x
    while True:
        s = s * x
        if s < 1.0:
            break
    return s


@case(2.0)
def data_dependent_loop(x):
    guess = x
    while abs(guess * guess - x) > 1e-13:
        guess = (guess + x / guess) / 2.0
    return guess


@case(VECTOR)
def early_return_from_nested_loops(x):
    for i, v in enumerate(x):
        for w in x[i + 1 :]:
            if v * w > 2.0:
                return v * w * x[0]
    return 0.0


@case(0.7, 4)
def recursion(x, n):
    return 1.0 if n == 0 else x * recursion(x, n - 1) + x


@case(0.7)
def mutual_recursion(x):
    def even(v, n):
        return v if n == 0 else odd(v * x, n - 1)

    def odd(v, n):
        return v + x if n == 0 else even(v + x, n - 1)

    return even(x, 5) * odd(x, 3)


def helper(a, b=2.0, *rest, c=3.0, **more):
    return a * b + c * more.get("d", 1.0) + sum(rest)


@case(0.7, 1.1)
def helpers_with_every_kind_of_argument(x, y):
    pair, named = [x, y], {"c": y, "d": x}
    return (
        helper(x) + helper(x, y) + helper(b=x, a=y, c=x, d=y) + helper(*pair, **named)
        + helper(x, y, x, *pair, d=y) + helper(*(v * v for v in pair), **{"c": 1.0})
    )  # fmt: skip


@case(0.7)
def keyword_only_and_positional_only(x):
    def f(a, /, b, *, c):
        return a * b - c

    return f(x, 2.0, c=x * x) + f(x, b=x, c=1.0)


@case(0.7)
def defaults_are_evaluated_once(x):
    def f(v, factor=x * x, seen=[]):
        seen.append(v)
        return factor * len(seen) * v

    return f(x) + f(2.0 * x) + f(1.0, x)


@case(0.7)
def nonlocal_variables(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v * x
        return total

    add(1.0)
    add(x)
    return add(x * x) + total


@case(1.7)
def closures_see_the_last_value(x):
    bound = [lambda v, i=i: v * i * x for i in range(3)]
    late = [lambda v: v * j for j in range(3)]
    return sum(f(x) for f in bound) + sum(g(x) for g in late)


@case(1.7)
def counters_in_closures(x):
    def make(start):
        state = [start]

        def step(v):
            state[0] = state[0] * v
            return state[0]

        return step

    a, b = make(x), make(2.0)
    return a(x) + a(x) + b(x) * a(2.0)


@case(1.7)
def lambdas(x):
    return (lambda a, *b, c=x, **d: a * c + sum(b) + d["e"])(x, x, x * x, e=x**3)


@case(VECTOR)
def comprehensions(x):
    squares = [v * v for v in x]
    by_index = {i: v for i, v in enumerate(x)}
    pairs = sum(v * w for v in x for w in x if v > w)
    table = [[i * v for i in range(3)] for v in x]
    kept = {v for v in x if v > 1.0}
    return sum(squares) + by_index[1] * by_index[2] + pairs + table[1][2] + max(kept)


@case(VECTOR)
def generators(x):
    def squares(values):
        for v in values:
            yield v * v
        yield 3.0 * x[0]

    def more(values):
        yield from squares(values)
        yield x[1]

    def echo():
        received = x[2]
        while True:
            received = yield received * 2.0

    s = 0.0
    for v in more(x):
        s = s * 1.1 + v
    machine = echo()
    s += next(machine)
    s += machine.send(s)
    return s + sum(squares(x)) + next(squares(x)) + sum(v * 2.0 for v in x if v > 1.0)


@case(1.3)
def try_except_else_finally(x):
    def attempt(v):
        try:
            y = v * v
            if y > 1.0:
                raise ValueError(y, 2.0 * v)
        except (KeyError, ValueError) as error:
            z = error.args[0] * error.args[1]
        else:
            z = y
        finally:
            w = v * 3.0
        return z * w

    return attempt(x) + attempt(x - 1.0)


@case(1.3)
def return_and_break_through_finally(x):
    def returned(v):
        try:
            return v * v
        finally:
            v = v * 100.0

    def broken(v):
        for i in range(3):
            try:
                if i == 1:
                    break
                continue
            finally:
                v = v * 2.0
        return v

    return returned(x) + broken(x)


@case(1.3)
def errors_raised_from_errors(x):
    y = x
    try:
        try:
            1 / 0  # noqa: B018
        except ZeroDivisionError as error:
            y = y * x
            raise RuntimeError("again") from error
    except RuntimeError as error:
        y = y * (2.0 if isinstance(error.__cause__, ZeroDivisionError) else 1 / 0)
    return y


@case(1.3)
def exception_groups(x):
    try:
        raise ExceptionGroup("two", [ValueError(1), KeyError(2)])
    except* ValueError:
        x = x * x
    except* KeyError:
        x = x + 1.0
    return x


@contextlib.contextmanager
def squared(v):
    yield v * v


@case(1.3)
def with_blocks(x):
    with squared(x) as y, contextlib.suppress(ValueError):
        y = y * x
        raise ValueError
    with squared(y) as (z), np.errstate(all="ignore"):
        pass
    return y + z


@case(1.3)
def walrus(x):
    if (y := x * x) > 1.0:
        z = [w := y * 2.0, w * w]
    while (x := x * 1.5) < 4.0:
        pass
    return z[1] + y + w + x


@case(1.3)
def asserts_and_text(x):
    text = f"{x:.3f} {x * x!r} {x}" + "%.2f %s" % (x, x) + "{:.1f}{a}".format(x, a=x) + str(x) + repr([x])
    assert text.startswith(f"{x:.3f}"), text
    print(x, text, file=None, end="") if x > 100.0 else None
    return x * x


def doubling(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2.0

    return wrapper


def scaled(factor):
    def decorate(f):
        return lambda *args: f(*args) * factor

    return decorate


@doubling
def decorated_helper(v, k=1.0):
    return np.sin(v) * k


@case(1.3)
def decorators(x):
    @scaled(x)
    @doubling
    def inner(v):
        return v * v

    return decorated_helper(x) + decorated_helper(x, k=x) + inner(x)


@case(1.3)
def the_same_name_bound_again(x):
    x = x * x
    x, y = x + 1.0, x
    for x in (x, y):
        y = y * x
    del x
    return y
