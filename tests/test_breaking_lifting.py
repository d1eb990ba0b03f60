"""Functions that look the same for all entries and are not: what `f.elementwise` must notice, or call one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
from lifting import check, only_at_once
from lifting_functions import X

from autograd_frontend import RecordError, grad, record

SOME = np.linspace(-2.0, 2.5, 12)


def with_scipy(x):
    return scipy.special.expit(x) + scipy.special.erf(x) * x


def test_functions_of_scipy():
    check(with_scipy, SOME)


def test_an_array_for_an_entry_is_refused():
    for x in (np.array([1.0, 2.0, 3.0]), SOME):
        with pytest.raises(RecordError, match="expected one number"):
            record(lambda v: np.ones(2) * v).elementwise(x)


def test_an_integer_that_does_not_fit_is_refused():
    for x in (SOME, SOME[:3]):
        with pytest.raises(RecordError, match="does not fit"):
            record(lambda v: 10**19 if v > -5 else v).elementwise(x)


def overflows(x):
    with np.errstate(all="raise"):
        return np.exp(x * 400)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_errors_that_numpy_is_told_to_raise(dtype):
    check(overflows, (SOME[::-1] + 0.5).astype(dtype))


class Counting:
    """Changes when it is compared, added, printed, ..."""

    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1
        return self.n

    def __eq__(self, other):
        return self.count() % 3 == 0

    __hash__ = None

    def __add__(self, other):
        return float(self.count())

    def __bool__(self):
        return self.count() % 2 == 0

    def __len__(self):
        return self.count()

    def __str__(self):
        return str(self.count())

    def __float__(self):
        return float(self.count())

    def __index__(self):
        return self.count() % 2


OBJECTS = [
    lambda x, s: x * (s == 1), lambda x, s: x * (s + 1.0), lambda x, s: x if s else -x, lambda x, s: x * len(s),
    lambda x, s: x * len([0] * int(str(s))), lambda x, s: x * math.sqrt(s), lambda x, s: x * [1.0, 2.0][s],
    lambda x, s: x * int(f"{s}"), lambda x, s: x * ([s] == [1]), lambda x, s: x * any([s, 0]),
]  # fmt: skip


def same(f, make, x=SOME):
    """A function of a number and of what each call may change."""
    state, other, third = make(), make(), make()
    want = np.array([f(v, state) for v in x])
    slopes = np.array([record(lambda u: f(u, other) * 1.0)(v).backward() for v in x])
    np.testing.assert_array_equal(record(lambda v: f(v, third)).on("cpu", grad=False).elementwise(x).value, want)
    state = make()
    result = record(lambda v: f(v, state) * 1.0).elementwise(x)
    np.testing.assert_array_equal(result.value, want)
    np.testing.assert_array_equal(result.pullback(np.ones(len(x))), slopes)


@pytest.mark.parametrize("f", OBJECTS)
def test_objects_that_run_code_of_their_own(f):
    same(f, Counting)


ITERATORS = [
    lambda x, s: x * (1.0 if 3.0 in s else 2.0), lambda x, s: x * len(set().union(s)), lambda x, s: x * len([*s]),
    lambda x, s: x * next(s, 0.0), lambda x, s: x * (lambda a: [a.extend(s), len(a)][1])([]),
    lambda x, s: x * len(dict.fromkeys(s)), lambda x, s: x * (lambda *a: len(a))(*s), lambda x, s: x * sum(s),
]  # fmt: skip


@pytest.mark.parametrize("f", ITERATORS)
def test_iterators_are_used_up_once(f):
    same(f, lambda: iter([float(i) for i in range(30)]))


WRITES = [
    lambda x, a: np.sum(np.add(a, 1.0, a)) * x, lambda x, a: np.sum(np.exp(a * 0.1, a)) * x,
    lambda x, a: np.sum(np.cumsum(a, 0, None, a)) * x, lambda x, a: np.sum(a.cumsum(0, None, a)) * x,
    lambda x, a: np.take(a, [1, 2, 3, 0], 0, a)[0] * x, lambda x, a: a.take([1, 2, 3, 0], 0, a)[0] * x,
    lambda x, a: (np.isnan(a).sum() + np.sum(np.nan_to_num(a, False))) * x,
    lambda x, a: (np.isnan(a).sum() + np.sum(np.nan_to_num(a, copy=False))) * x,
]  # fmt: skip


@pytest.mark.parametrize("f", WRITES)
def test_outputs_among_the_positional_arguments(f):
    same(f, lambda: np.array([0.5, 1.0, 1.5, 2.0]))
    if "isnan" in f.__code__.co_names:
        same(f, lambda: np.array([0.5, np.nan, 1.5, 2.0]))


def counts_in_a_list(x):
    seen = []

    def h(v):
        seen.append(1)
        return v * len(seen)

    return record(h).elementwise(x).sum()


def counts_in_a_helper(x):
    seen = {"n": 0.0}

    def count():
        seen["n"] += 1.0
        return seen["n"]

    return record(lambda v: v * count()).elementwise(x).sum()


def counts_in_a_cell(x):
    n = 0.0

    def h(v):
        nonlocal n
        n += 1.0
        return v * n

    return record(h).elementwise(x).sum()


def counts_in_a_cell_alone(x):
    n = 0.0
    steps = iter(range(100))

    def count():
        return 1 if 5 in steps else 2

    return record(lambda v: v * count()).elementwise(x).sum()


@pytest.mark.parametrize("f", [counts_in_a_list, counts_in_a_helper, counts_in_a_cell])
def test_effects_of_functions_made_inside_a_recorded_one(f):
    np.testing.assert_array_equal(grad(f)(SOME), np.arange(1.0, 13.0))


def test_an_iterator_of_a_recorded_function():
    np.testing.assert_array_equal(grad(counts_in_a_cell_alone)(SOME), [1.0] + [2.0] * 11)


def keeps_what_it_saw(x):
    seen = []

    def h(v):
        seen.append(v)
        return v * seen[0]

    return record(h).elementwise(x).sum() * sum(seen)


def test_numbers_kept_by_a_function_made_inside_a_recorded_one():
    def plain(x):
        return sum(v * x[0] for v in x) * sum(x)

    np.testing.assert_allclose(grad(keeps_what_it_saw)(SOME), grad(plain)(SOME), rtol=1e-12)


def test_pure_functions_made_inside_a_recorded_one_run_at_once():
    def outer(x):
        import numpy as also_numpy

        k = x.sum()

        def helper(v):
            return also_numpy.sin(v) * k

        def h(v):
            mine = [v]
            mine.append(v * v)
            return helper(v) + mine[1] if v > 0 else v

        return record(h).elementwise(x).sum()

    def plain(x):
        return np.where(x > 0, np.sin(x) * x.sum() + x * x, x).sum()

    with only_at_once(True):
        found = grad(outer)(SOME)
    np.testing.assert_allclose(found, grad(plain)(SOME), rtol=1e-12)


def test_special_values_of_all_kinds():
    check(lambda x: scipy.special.xlogy(abs(x), 2.0) if x == x else x, X)


def test_powers_have_the_bits_of_one_entry():
    base, exponent = np.array([0.1, 0.3, 1.1, 0.7] * 4), np.repeat([2.0, 0.5, 3.0, -1.0], 4)
    check(lambda a, b: np.power(a, b), base, exponent)
    check(lambda a, b: np.power(float(a), float(b)), base, exponent)
