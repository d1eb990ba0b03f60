"""Functions of numbers, for the tests of `f.elementwise`."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

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


def integers(x, y):
    n, m = int(x), int(y * 3) - 4
    k = n * m - 2 * n + m % 3
    p = 2**m
    q = n / 4 + (n > m) * y + (not n) + abs(n)
    return x * k + p * y - q + float(n) * x + functools.reduce(operator.add, [1, n], n) + (n if n > 1 else m)


def constant(x):
    return 2.0 if x > 0 else 1


def divmods(x, y):
    q, r = divmod(x, y)
    return q + r * 2


def floats(x, y):
    z = float(x)
    try:
        return 1.0 / (float(int(z)) * y)
    except ZeroDivisionError:
        return z
    finally:
        z = 2.0
