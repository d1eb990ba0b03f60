"""Cases: builtins, itertools, functools, operator, math, and NumPy called in ordinary ways."""

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator

import numpy as np

from .language import VECTOR, case
from .language_data import Point


@case(VECTOR)
def sorted_min_max_with_keys(x):
    items = list(x)
    down = sorted(items, key=lambda v: -v)
    items.sort(reverse=True)
    pairs = sorted(zip(x, range(4)))
    swapped = sorted([(1, x[0]), (0, x[1])])
    return (
        down[0] * down[1] + sorted(x)[0] * 2.0 + items[1] * 5.0 + max(x, key=lambda v: (v - 2.0) ** 2) * min(items)
        + max(x[0] * 2.0, x[1], 7.0 * x[2]) + min(items, key=abs) + pairs[0][0] * 3.0 + swapped[0][1] * 11.0
        + max([], default=x[0]) + min(x[0], 5)
    )  # fmt: skip


@case(VECTOR)
def map_filter_zip_enumerate_reversed(x):
    mapped = list(map(lambda v: v * v, x))
    kept = list(filter(lambda v: v > 1.0, x))
    return (
        mapped[0] + kept[1] + sum(u * v for u, v in zip(x, reversed(x))) + sum(i * v for i, v in enumerate(x, 1))
        + sum(map(operator.mul, x, x)) + sum(map(pow, x, [2, 2, 2, 2])) + sum(filter(None, [x[0], 0.0]))
        + sum(map(abs, -x)) + list(zip(*[x, x * x]))[1][1] + next(iter(x)) + next(iter([]), x[1])
    )  # fmt: skip


@case(VECTOR)
def sums(x):
    lists = sum([x, x]).sum() + sum([x[0], 2, x[1]]) + sum([])
    return sum(x) + sum(x * x, start=x[0]) + lists + sum((v for v in x), 1.5)


@case(VECTOR)
def any_all_and_truth(x):
    return x[0] * any(v > 2.0 for v in x) + x[1] * all(x > 0.0) + x[2] * bool(x[0]) + x[3] * all(map(float, x))


@case(1.7)
def numbers(x):
    return (
        abs(-x) + pow(x, 2) + pow(x, 3.0) + round(x) * x + round(x, 1) * x + divmod(x, 0.7)[1] + x // 0.4 * x + x % 0.4
        + float(x) * 2.0 + int(x) * x + (x if isinstance(x, float) else 0.0) + (x if type(x) is float else 0.0)
        + bool(x) * x + -x * +x + x.real + x.imag + x.conjugate() + x.is_integer()
    )  # fmt: skip


@case(VECTOR)
def functools_(x):
    def f(a, b, *, c):
        return np.sin(a) * b + c

    given = functools.partial(f, x[0], c=x[1])
    again = functools.partial(given, 2.0)
    return (
        given(x[2]) + again() + again(c=x[3]) + functools.partial(np.add, x[0])(x[1])
        + functools.reduce(lambda u, v: u * v, x, 2.0) + functools.reduce(operator.mul, x)
        + sum(map(functools.partial(f, b=x[0], c=1.0), x))
    )  # fmt: skip


@functools.lru_cache
def cached_constant(n):
    return n * 1.5


@case(1.7)
def cached_plain_values(x):
    @functools.cache
    def local(n):
        return 1.0 if n == 0 else local(n - 1) * x

    return cached_constant(2) * x + cached_constant(2) + local(5)


@case(VECTOR)
def itertools_(x):
    total = sum(u * v for u, v in itertools.combinations(x, 2)) + list(itertools.accumulate(x))[-1]
    total += list(itertools.accumulate(x, operator.mul))[-1] + sum(itertools.chain(x, [x[0] * x[0]]))
    total += sum(u * v for u, v in itertools.product(x, repeat=2)) + list(itertools.islice(x, 1, 3))[0]
    total += sum(itertools.starmap(lambda u, v: np.sin(u) * v**2, zip(x, x[1:])))
    total += sum(u * v for u, v in itertools.pairwise(x)) + next(itertools.cycle(x))
    total += list(itertools.repeat(x[0], 3))[1]
    total += sum(itertools.takewhile(lambda v: v > 1.0, x)) + sum(itertools.dropwhile(lambda v: v > 1.0, x))
    total += [list(group)[0] for _, group in itertools.groupby(x)][0] + sum(itertools.compress(x, [1, 0, 1]))
    total += [u for u, v in itertools.zip_longest(x, x[:1], fillvalue=x[2])][-1]
    total += sum(itertools.filterfalse(lambda v: v > 2.0, x)) + sum(itertools.chain.from_iterable([x, x]))
    return total + sum(u[0] * 0.5 for u in itertools.permutations(x, 2))


@case(0.6, 0.3)
def operator_functions(x, y):
    o, items = operator, [x, y]
    return (
        o.add(x, y) + o.sub(x, y) * o.mul(x, y) + o.truediv(x, y) + o.pow(x, y) + o.mod(x, y * 1.1) + o.neg(x)
        + o.pos(x) + o.abs(-x) + o.itemgetter(1)(items) + sum(o.itemgetter(0, 1)(items)) + o.getitem(items, 0) * 2.0
        + (x if o.gt(x, y) else y) + o.iadd(x, y) + o.attrgetter("a")(Point(x)) + o.methodcaller("norm")(Point(x, y))
        + o.methodcaller("get", "k", x)({}) + (x if o.truth(x) else 0.0)
    )  # fmt: skip


@case(VECTOR)
def operator_functions_as_keys(x):
    pairs = list(enumerate(x))
    highest = sorted(pairs, key=operator.itemgetter(1), reverse=True)
    point = max([Point(v) for v in x], key=operator.attrgetter("a"))
    return (
        highest[0][1] * highest[1][1] + point.a**2 + sum(map(operator.itemgetter(0), [(v, 1) for v in x]))
        + sum(map(Point.norm, [Point(v, v) for v in x]))
        + sum(map(operator.methodcaller("norm"), [Point(v) for v in x]))
    )  # fmt: skip


@case(0.6, 0.3)
def math_functions(x, y):
    m = math
    return [
        m.sin(x), m.cos(x), m.tan(y), m.exp(x), m.log(x), m.log(x, 2), m.log(x, y + 2.0), m.log2(x), m.log10(x),
        m.sqrt(x), m.pow(x, y), m.hypot(x, y), m.atan2(x, y), m.asin(x), m.acos(x), m.atan(x),
        m.sinh(x), m.cosh(x), m.tanh(x), m.asinh(x), m.acosh(1.0 + x), m.atanh(x), m.expm1(x), m.log1p(x),
        m.erf(x), m.erfc(x), m.gamma(x), m.lgamma(x),
        m.degrees(x), m.radians(x), m.fabs(-x), m.copysign(x, -y), m.fmod(x, y * 1.1), m.fsum([x, y, x * y]),
        m.prod([x, y, 2.0]), m.dist([x, y], [1.0, 2.0]), m.cbrt(x), m.exp2(x), m.floor(x), m.ceil(x), m.trunc(x),
        m.isfinite(x), m.isclose(x, y), m.pi * x,
    ]  # fmt: skip


@case(VECTOR)
def numpy_called_over_containers(x):
    return (
        sum(map(np.sin, x)) + sum(map(math.exp, x)) + np.array([x[0], 1, 2.0 * x[1]]).sum() + np.array([x, x * x]).sum()
        + np.stack(list(x)).sum() + np.sum([v * v for v in x]) + np.float64(x[0]) * 2.0 + np.asarray(x)[1]
        + np.array([[float(v), v] for v in x])[1, 0] + np.concatenate([x[:1], [x[1], 2.0]])[1] + np.dot(list(x), x)
    )  # fmt: skip


@case(VECTOR)
def array_methods_and_attributes(x):
    m = x.reshape(2, 2)
    return (
        x.sum() * x.size + x.T @ x * x.ndim + x.shape[0] * x.mean() + x.max() * x.dot(x) + x[0].item() * 2.0 + x.item(1)
        + float(x[1]) * 3.0 + x.real.sum() + len(x) * x[-1] + m.T[0, 1] * m.trace() + m.ravel()[1] + m.flatten()[2]
        + x.astype(float)[0] + x.tolist()[2] + x.argmax() * x[0] + x.copy()[1] + x.__len__() + (x + 1).__mul__(2.0)[0]
    )  # fmt: skip


@case(VECTOR)
def random_numbers_are_constants(x):
    noise = np.random.default_rng(1).normal(size=4)
    return (x * noise).sum() + np.random.default_rng(2).integers(3) * x[0]


@case(VECTOR)
def standard_library_code_runs_on_recorded_values(x):
    window = collections.deque(maxlen=2)
    smooth = []
    for v in x:
        window.append(v)
        smooth.append(sum(window) / len(window))
    return sum(a * b for a, b in zip(smooth, x, strict=True))
