"""Functions that cannot run on whole arrays are called for one entry after the other by `f.elementwise`."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from lifting import check
from lifting_functions import X

from autograd_frontend import RecordError, record

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
        assert oracle.same_bits(record(f).on("cpu", grad=False).elementwise(X).value, want)
    STATE[0] = 0.0
    assert oracle.same_bits(record(accumulates).elementwise(X).value, want)
    with pytest.raises(RecordError, match="global variable"):
        record(counts).elementwise(X)
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


def test_in_a_graph_it_is_refused():
    lifted = record(lambda x: x if x > 0 else -x)
    with pytest.raises(RecordError, match="elementwise"):
        record(lambda x: lifted.elementwise(x)).graph(X)
