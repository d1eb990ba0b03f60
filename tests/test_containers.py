"""Containers as arguments: their gradients, and what the function does to them."""

from __future__ import annotations

import collections
import dataclasses
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from autograd_frontend import RecordError, record

from . import oracle


class Pair(NamedTuple):
    first: Any
    second: Any = 2.0


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 2.0
    label: str = "p"

    def product(self):
        return self.x * self.y


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    inner: Any
    count: int = 3


@dataclasses.dataclass(slots=True)
class Slotted:
    x: float
    y: float


def test_lists_tuples_and_dicts_give_gradients_of_their_kind():
    def f(a, b, c):
        return a[0] * a[1] + b[0] * b[1] * 2.0 + c["u"] * c["v"] * 3.0

    gradient = record(f)([1.0, 2.0], (3.0, 4.0), {"u": 5.0, "v": 6.0}).backward()
    assert oracle.same_bits(gradient.a, [2.0, 1.0])
    assert oracle.same_bits(gradient.b, (8.0, 6.0))
    assert oracle.same_bits(gradient.c, {"u": 18.0, "v": 15.0})


def test_subclasses_of_containers_stay_what_they_are():
    ordered = collections.OrderedDict(b=2.0, a=3.0)
    defaults = collections.defaultdict(float, k=2.0)
    gradient = record(lambda o, d, p: o["a"] * o["b"] * d["k"] * p.first * d["new"])(ordered, defaults, Pair(5.0))
    assert gradient.value == 0.0
    found = gradient.backward()
    assert type(found.o) is collections.OrderedDict and list(found.o.items()) == [("b", 0.0), ("a", 0.0)]
    assert type(found.d) is collections.defaultdict and found.d == {"k": 0.0}
    assert found.p == Pair(0.0, 0.0) and type(found.p) is Pair


class Checked(NamedTuple("Checked", [("p", float), ("q", float)])):
    def __new__(cls, both):
        assert type(both) is float
        return super().__new__(cls, both, both)


class Weights(list):
    def __init__(self, *, size):
        super().__init__([1.5] * size)
        self.size = size


class Marked(tuple):
    pass


def test_containers_with_constructors_of_their_own():
    marked = Marked((2.0, 3.0))
    marked.note = "kept"
    f = record(lambda c, w, m: (c.p * c.q * w[0] * w[1] * m[0] * m[1], m.note))
    gradient = f(Checked(2.0), Weights(size=2), marked).backward()
    assert type(gradient.c) is Checked and type(gradient.w) is Weights and type(gradient.m) is Marked
    assert gradient.c[:] == (27.0, 27.0) and gradient.w[:] == [36.0, 36.0] and gradient.m[:] == (27.0, 18.0)
    assert (gradient.w.size, gradient.m.note) == (2, "kept")
    value = record(lambda c: (c, c._replace(p=c.q * 2.0)))(Checked(2.0)).value
    assert value == ((2.0, 2.0), (4.0, 2.0)) and type(value[0]) is type(value[1]) is Checked


@dataclasses.dataclass
class Lazy:
    x: float
    later: Any = dataclasses.field(init=False)


def test_a_field_that_is_not_set():
    def f(p):
        p.later = p.x * 2.0
        return p.later * p.x

    given = Lazy(3.0)
    gradient = record(f)(given).backward()
    assert gradient.x == 12.0 and gradient.later is None
    assert oracle.same_bits(given.later, 6.0)


class Temperature(float):
    pass


def test_subclasses_of_numbers_are_refused():
    with pytest.raises(TypeError) as error:
        record(lambda x, t: x * t)(1.0, Temperature(2.0))
    assert str(error.value) == "an argument is a Temperature; pass a plain float"
    assert record(lambda x, t: x * t)(1.0, float(Temperature(2.0))).backward() == (2.0, 1.0)


def test_dataclasses_give_gradients_in_their_own_class():
    gradient = record(Point.product)(Point(3.0, np.array([1.0, 2.0]))).backward()
    assert type(gradient) is Point
    assert (gradient.x, gradient.y.tolist(), gradient.label) == (3.0, [3.0, 3.0], None)


def test_frozen_and_slotted_dataclasses():
    frozen = Frozen(2.0, [Fraction(1, 3), "text"])
    gradient = record(lambda p: (p.x * p.count, p.inner[0] * p.inner[0]))(frozen).backward()
    assert gradient == Frozen(3.0, [Fraction(2, 3), None], None)
    assert record(lambda p: p.x * p.y)(Slotted(2.0, 3.0)).backward() == Slotted(3.0, 2.0)


def test_nested_containers_with_plain_data_beside_numbers():
    tree = {
        "layers": [{"w": np.ones((2, 2)), "b": np.zeros(2), "name": "first"}, Point(1.5, (Decimal("0.5"), 7))],
        "n": 3, "flags": [True, None], "rate": np.float32(0.5), "index": np.array([0, 1]),
    }  # fmt: skip

    def f(t):
        layer, point = t["layers"]
        total = (layer["w"] @ np.array([1.0, 2.0]) + layer["b"])[t["index"]].sum() * t["n"]
        return total, point.x * t["rate"], point.y[0] * point.y[0] * point.y[1]

    gradient = record(f)(tree).backward()
    first, point = gradient["layers"]
    assert first["w"].tolist() == [[3.0, 6.0], [3.0, 6.0]] and first["b"].tolist() == [3.0, 3.0]
    assert first["name"] is None and gradient["n"] is None and gradient["flags"] is None and gradient["index"] is None
    assert (point.x, point.y, point.label) == (0.5, (Decimal("7.0"), None), None)
    assert oracle.same_bits(gradient["rate"], np.float32(1.5))


def test_a_container_without_numbers_is_plain_data():
    with pytest.raises(TypeError) as error:
        record(lambda a, b: a)([1, "a"], {"k": None})
    assert str(error.value).endswith(
        "called with nothing to differentiate: list, dict. Integers are plain data: write [1.0]"
    )


def lists(x):
    x.append(x[0] * x[1])
    x[0] = 5.0
    x.insert(1, 7.0)
    del x[2]
    return sum(x)


def dicts(x):
    x["new"] = x["a"] * x["b"]
    del x["a"]
    x["b"] = x["b"] * 2.0
    return x["new"] + x["b"]


def attributes(x):
    x.x = x.x * x.y
    x.y += x.x
    x.label = "changed"
    x.extra = 5
    return x.x * x.y


def inner(x):
    x["list"][0].append(x["list"][1])
    x["list"][1] = 4.0
    return sum(x["list"][0]) * x["list"][1]


def arrays(x):
    x["a"] = x["a"] * 2.0
    x["b"][0] = x["a"][1]
    return (x["a"] * x["b"]).sum()


def nested(x):
    x.append([x[0] * 2.0, (x[1], {"k": x[0]})])
    return x[2][0] * x[2][1][1]["k"]


def slotted(x):
    x.y = x.x * x.y
    return x.y * x.y


MUTATIONS = [
    (lists, lambda: [2.0, 3.0]),
    (nested, lambda: [2.0, 3.0]),
    (slotted, lambda: Slotted(2.0, 3.0)),
    (dicts, lambda: {"a": 2.0, "b": 3.0}),
    (attributes, lambda: Point(2.0, 3.0)),
    (inner, lambda: {"list": [[1.0, 2.0], 3.0]}),
    (arrays, lambda: {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}),
]


def contents(x):
    return {k: getattr(x, k) for k in (*getattr(x, "__slots__", ()), *getattr(x, "__dict__", ()))} or x


@pytest.mark.parametrize("f, make", MUTATIONS, ids=lambda case: getattr(case, "__name__", ""))
def test_a_changed_argument_ends_as_plain_python_leaves_it(f, make):
    plain, recorded = make(), make()
    value = f(plain)
    result = record(f)(recorded)
    assert oracle.same_bits(result.value, value)
    assert oracle.same_bits(contents(recorded), contents(plain))


@pytest.mark.parametrize("f, make", MUTATIONS, ids=lambda case: getattr(case, "__name__", ""))
def test_a_changed_argument_has_the_gradient_of_its_first_state(f, make):
    leaves = oracle.flatten(contents(make()))

    def flat(*numbers):
        x, new = make(), iter(numbers)
        if isinstance(x, (Point, Slotted)):
            return f(type(x)(next(new), next(new)))
        return f(oracle.like(x, new))

    numbers = [leaf for leaf in leaves if not isinstance(leaf, str)]
    expected, _ = oracle.gradient(flat, numbers, 1.0)
    gradient = record(f)(make()).backward()
    np.testing.assert_allclose(oracle.entries(contents(gradient)), expected, rtol=1e-7, atol=1e-9)


def test_an_argument_changed_before_an_error_stays_changed():
    def f(x):
        x.append(x[0] * 2.0)
        raise KeyError("after the change")

    given = [2.0]
    with pytest.raises(KeyError):
        record(f)(given)
    assert oracle.same_bits(given, [2.0, 4.0])


def test_what_the_function_left_in_an_argument_may_be_written_before_backward():
    def f(x):
        x["doubled"] = x["a"] * 2.0
        return (x["doubled"] * x["doubled"]).sum()

    given = {"a": np.array([1.0, 2.0])}
    result = record(f)(given)
    given["doubled"][:] = 100.0
    given["a"][:] = 100.0
    assert result.backward()["a"].tolist() == [8.0, 16.0]


def test_attributes_of_objects_end_as_plain_values():
    class Counter:
        def __init__(self):
            self.last, self.history, self.named = None, ["start"], {}

        def step(self, x):
            self.last = x * 2.0
            self.history.append(self.last)
            self.named["last"] = x
            return self.last

    counter = Counter()
    f = record(counter.step)
    for _ in range(2):
        assert f(3.0).backward() == 2.0
    assert oracle.same_bits(vars(counter), {"last": 6.0, "history": ["start", 6.0, 6.0], "named": {"last": 3.0}})


def test_the_objects_in_a_changed_list_are_the_caller_s_own():
    item, array = object(), np.ones(2)
    given = [1.5, item, array]
    record(lambda x: [x.reverse(), x.append(x[2]), x[-1] * 2.0][-1])(given)
    assert given[0] is array and given[1] is item and given[2:] == [1.5, 1.5]
    assert [type(v) for v in given] == [np.ndarray, object, float, float]


def test_an_array_written_in_place_is_changed_and_has_the_gradient_of_its_first_state():
    def f(x):
        x[0] = x[1] * x[2]
        x[1:] *= 2.0
        return (x * x).sum()

    x, plain = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    result = record(f)(x)
    assert oracle.same_bits(result.value, f(plain)) and oracle.same_bits(x, plain)
    assert result.backward().tolist() == [0.0, 2 * 6.0 * 3.0 + 16.0, 2 * 6.0 * 2.0 + 24.0]


def test_two_arguments_that_share_memory_may_be_read():
    base = np.arange(4.0)
    gradient = record(lambda a, b: (a * b).sum())(base[:3], base[1:]).backward()
    assert gradient.a.tolist() == [1.0, 2.0, 3.0] and gradient.b.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("views", [lambda x: (x, x), lambda x: (x[:2], x[1:]), lambda x: (x, x[::-1])])
def test_two_arguments_that_share_memory_may_not_be_written(views):
    def f(a, b):
        a[0] = b[1] * 2.0
        return (a * b).sum()

    a, b = views(np.array([1.0, 2.0, 3.0]))
    with pytest.raises(RecordError) as error:
        record(f)(a[:2], b[:2])
    assert error.value.reason == "two arguments share the memory that is written here"
    assert error.value.remedy == "Pass a copy of one of them."


def test_a_list_in_two_places_may_be_read_but_not_changed():
    shared = [2.0]

    def f(a, b):
        a.append(b[0] * 3.0)
        return sum(b) * b[0]

    plain = [2.0]
    value = f(plain, plain)
    assert value == f(*[[2.0]] * 2)
    with pytest.raises(RecordError) as error:
        record(f)(shared, shared)
    assert error.value.reason == "a list is changed that is in the arguments twice"
    assert shared == [2.0]
    assert record(lambda a, b: a[0] * b[0])(shared, shared).backward() == ([2.0], [2.0])


def test_starred_and_keyword_arguments_may_be_containers():
    f = record(lambda *rows, **more: sum(row[0] * row[1] for row in rows) * more["scale"][0])
    gradient = f([1.0, 2.0], (3.0, 4.0), scale=[2.0, 1]).backward()
    assert gradient.rows == ([4.0, 2.0], (8.0, 6.0)) and gradient.scale == [14.0, None]
