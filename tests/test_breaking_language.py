"""Ordinary Python around numbers: objects of the user's classes, what they leave behind, and what they raise."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import heapq
import json
import math
import operator
import pickle
from typing import Any

import numpy as np
import oracle
import pytest
from checking import faithful

from autograd_frontend import RecordError, record
from autograd_frontend.tape import Ref

from .language_classes import Countdown, Described, Finer, Grid, Kept, Measured, Pair, Row, Sequence, Vector


@contextlib.contextmanager
def opened(x):
    yield math.sin(x)


def within(x):
    grid = Grid(x)
    with grid as v:
        raise ValueError
    return v * grid.cells[0]


def bound_by_setter(x):
    grid = Grid(x)
    grid.total = x
    grid.total += 0.5
    return grid.cells.sum()


def through_setattr(x):
    box = Described(x)
    box.value = x
    box.value *= 1.5
    return box.value * box.cells[1]


def decorated_context(x):
    with opened(x) as v:
        return v * x


OBJECTS = {
    "a property": lambda x: Grid(x).total,
    "a property of the base": lambda x: Finer(x).total,
    "a cached property": lambda x: Grid(x).energy,
    "getattr": lambda x: getattr(Grid(x), "total") * getattr(Grid(x), "missing", x),
    "attrgetter": lambda x: operator.attrgetter("total")(Grid(x)),
    "__getattr__": lambda x: Grid(x).last,
    "a setter": bound_by_setter,
    "a descriptor behind __setattr__": through_setattr,
    "with": within,
    "a decorated context": decorated_context,
    "a loop": lambda x: sum([c * c for c in Grid(x)]),
    "unpacking": lambda x: (lambda a, b, c: a * c)(*Grid(x)),
    "list, zip and max": lambda x: list(Grid(x))[0] + sum(a * b for a, b in zip(Grid(x), Grid(x))) + max(Grid(x)),
    "an iterator": lambda x: sum(Countdown(x)),
    "items by number": lambda x: list(Sequence(x))[2] + sum(v for v in Sequence(x)),
    "a callable in map": lambda x: sum(map(Grid(x), [x, 2.0])),
    "abs, round, reversed": lambda x: abs(Grid(x)) + round(Grid(x), 3) + sum(reversed(Grid(x))),
    "divmod": lambda x: divmod(Grid(x), x)[0],
    "__post_init__": lambda x: Measured(x * x, x).norm,
    "__new__": lambda x: Kept(x).root,
}


@pytest.mark.parametrize("f", OBJECTS.values(), ids=OBJECTS)
def test_code_of_a_class_is_recorded_wherever_python_runs_it(f):
    faithful(f, 1.3)


OPERATORS = {
    "+": lambda x: (Vector(x, x) + Vector(2.0, x)).y,
    "-": lambda x: (-Vector(x, x)).y,
    "number *": lambda x: (x * Vector(x, 2.0)).x,
    "@": lambda x: Vector(x, 2.0) @ Vector(x, x),
    "abs": lambda x: abs(Vector(x, 2.0 * x)),
    "<": lambda x: x if Vector(x, x) < Vector(x, x) else x * x,
    "sum": lambda x: sum([Vector(x, x), Vector(x, 1.0)], Vector(0.0, 0.0)).y,
    "list +": lambda x: (Row([x, 2.0]) + Row([x, x]))[0],
    "~ list": lambda x: (~Row([x]))[0],
    "joined": lambda x: (Pair(x, 2.0) + Pair(x * x, 3.0))[2],
    "repeated": lambda x: (Pair(x, 2.0) * 2)[2] * x,
}


@pytest.mark.parametrize("f", OPERATORS.values(), ids=OPERATORS)
def test_operators_of_tuples_and_lists_are_those_of_their_class(f):
    faithful(f, 1.3)


def test_attributes_of_handles_are_not_attributes_of_values():
    def f(x):
        try:
            return x.v * x
        except AttributeError:
            return x * getattr(x, "t", x) * (2.0 if hasattr(x, "g") else 3.0)

    faithful(f, 2.0)


def buffer(x):
    """An array that is plain until a recorded value is stored into it."""
    a = np.zeros(2)
    a[0] = x
    a[1] = x * x
    return a


def in_a_with(x):
    with contextlib.nullcontext((buffer(x), 1.0)) as ((a, b), c):
        return a * b * c


def in_an_assignment(x):
    (a, b), c = [*d, e] = buffer(x), buffer(x * x)
    return a * b * c[0] * d[0][0] * e[1]


def starred_inside(x):
    a, *((b, c), (d, *e)) = x, buffer(x), buffer(x)
    return a * b * c * d * e[0]


def in_loops(x):
    total = 0.0
    for a, b in [buffer(x), buffer(x * x)]:
        total += a * b
    for i, (a, b) in enumerate([buffer(x), buffer(x)]):
        total += i * a * b
    for _, (a, *b) in {"k": buffer(x)}.items():
        total *= a * b[0]
    return total + sum(a * b for a, b in [buffer(x)])


@pytest.mark.parametrize("f", [in_a_with, in_an_assignment, starred_inside, in_loops])
def test_an_array_is_unpacked_with_its_recording_inside_any_target(f):
    faithful(f, 1.3)


@pytest.mark.parametrize("items, form", [([(1.0, [2.0])], "a, (b, c)"), ([1.0], "a, b"), ([(1.0, 2.0, 3.0)], "a, b"),
                                         ([(1.0, (2.0, 3.0)), 5.0], "a, (b, *c)")])  # fmt: skip
def test_unpacking_fails_as_without_recording(items, form, tmp_path):
    path = tmp_path / "unpacking.py"
    path.write_text(f"def f(x, items):\n    for {form} in items: pass\n    return x\n")
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    seen = []
    for call in (space["f"], record(space["f"])):
        with pytest.raises((TypeError, ValueError)) as error:
            call(1.0, items)
        seen.append((type(error.value), str(error.value)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("write", [json.dumps, pickle.dumps])
def test_recorded_values_are_not_written_down_unseen(write):
    with pytest.raises(RecordError, match=f"{write.__name__} is given a recorded value"):
        record(lambda x: len(write({"x": [x]})) * x)(1.5)


class Refusing:
    calls: list[str] = []

    def __add__(self, other):
        self.calls.append("add")
        return NotImplemented

    def __lt__(self, other):
        self.calls.append("lt")
        return NotImplemented

    def __radd__(self, other):
        self.calls.append("radd")
        return NotImplemented


@pytest.mark.parametrize("f", [
    lambda x: Refusing() + x, lambda x: Refusing() + "a", lambda x: Refusing() + Refusing(), lambda x: Refusing() < x,
    lambda x: x + Refusing(),
])  # fmt: skip
def test_an_operator_that_gives_up_is_asked_once(f):
    seen = []
    for call in (f, record(f)):
        Refusing.calls.clear()
        with pytest.raises(TypeError) as error:
            call(1.5)
        seen.append((list(Refusing.calls), str(error.value)))
    assert seen[0] == seen[1]


class Heard:
    def __init__(self, x):
        self.x = x

    def __rmul__(self, other):
        return math.sin(self.x) * other

    def __radd__(self, items):
        return [*items, self.x]


def test_a_reflected_operator_gets_what_numpy_hands_over():
    faithful(lambda x: np.sin(x) * Heard(x), 1.3)
    faithful(lambda x: ([x] + Heard(x))[1], 1.3)
    with pytest.raises(RecordError, match="for every entry of a recorded array"):
        record(lambda x: x * Heard(2.0))(np.ones(2))


def test_an_object_is_no_array_for_numpy_without_its_recording():
    class Arrayed:
        def __init__(self, x):
            self.cells = np.zeros(2)
            self.cells[0] = x

        def __array__(self, *args, **kwargs):
            return self.cells

    for f in (lambda x: np.sum(Arrayed(x)), lambda x: np.sin(Arrayed(x))[0]):
        with pytest.raises(RecordError, match="NumPy would make an array of an object of class Arrayed"):
            record(f)(1.5)


def test_dataclasses_are_compared_and_their_fields_listed():
    def f(x):
        a, b = Measured(x), Measured(x * x)
        low = a if a < b else b
        assert a == Measured(x) and a != b and len(dataclasses.fields(Measured)) == 2
        return low.norm * max(a, b).norm

    faithful(f, 1.3)


def test_heaps_and_bisection_move_recorded_values():
    def f(x):
        heap = [x * 3.0]
        heapq.heappush(heap, x)
        heapq.heappush(heap, x * x)
        return heapq.heappop(heap) * heap[0] + operator.concat([x], heap)[0]

    faithful(f, 1.3)


class Listed:
    def __init__(self, x):
        self.x, self.asked = x, []

    def __len__(self):
        self.asked.append("len")
        return 2

    def __getitem__(self, i):
        self.asked.append(i)
        return math.sin(self.x) if i == 1 else [self.x][i]


def test_items_and_length_are_asked_for_as_often_as_without_recording():
    def f(x):
        listed = Listed(x)
        found = list(listed)
        a, b = listed
        c = sum(listed)
        return (found[0] * a + b * c, str(listed.asked))

    assert record(f)(1.3).value == f(1.3)
    faithful(lambda x: f(x)[0], 1.3)


def plain(x):
    """Whether there are no handles in something."""
    if isinstance(x, Ref) or type(x).__name__ in ("Scalar", "Tensor"):
        return False
    if isinstance(x, dict):
        return all(plain(k) and plain(v) for k, v in x.items())
    if isinstance(x, (list, tuple, set, collections.deque)):
        return all(map(plain, list(x)))
    inside = [vars(x)] if hasattr(x, "__dict__") and not isinstance(x, type) else []
    if isinstance(x, functools.partial):
        inside += [x.args, x.keywords]
    return all(map(plain, inside))


LOG: list[Any] = []
TABLE: dict[Any, Any] = {}
GROUPS: Any = collections.defaultdict(list)
QUEUE: Any = collections.deque()
SEEN: set[Any] = set()


class Model:
    history: list[Any] = []

    def __init__(self):
        self.last, self.notes, self.inner = 0.0, {"k": [1.0]}, []

    def step(self, x):
        self.last = x * x
        self.notes["k"].insert(0, (x, [x]))
        self.inner.append(Grid(x))
        type(self).history.append(x * 2.0)
        return self.last


class Slotted:
    __slots__ = ("state",)


MODEL, SLOTTED = Model(), Slotted()


def leave_it_everywhere(x, kept=[], *, table={}):
    LOG[:] = [x * 2.0, 1.0, [x, (x, {"a": x})]]
    TABLE[x] = x * 3.0
    TABLE["f"], TABLE["p"] = (lambda v: v * x), functools.partial(operator.mul, x)
    GROUPS["a"].append(x)
    QUEUE.append((x, 1))
    SEEN.add(x * x)
    SLOTTED.state = x
    kept.append(x)
    table["k"] = [x]
    leave_it_everywhere.last = x
    return MODEL.step(x) + helper(x)


def helper(x, kept=[]):
    kept.append(x * 2.0)
    return kept[-1]


def test_no_handle_stays_behind_in_globals_defaults_classes_and_containers():
    result = record(leave_it_everywhere)(1.5)
    f = leave_it_everywhere
    left = [LOG, TABLE, GROUPS, QUEUE, SEEN, vars(MODEL), Model.history, SLOTTED.state, vars(f)]
    assert plain([*left, f.__defaults__, f.__kwdefaults__, helper.__defaults__])
    assert plain([c.cell_contents for c in TABLE["f"].__closure__]) and LOG == [3.0, 1.0, [1.5, (1.5, {"a": 1.5})]]
    assert TABLE["p"](2.0) == 3.0 and type(LOG[0]) is float
    assert result.backward() == 3.0 + 2.0


class Failure(Exception):
    def __init__(self, x):
        super().__init__("failed")
        self.state = {"x": x, "all": [x]}


def chained(x):
    try:
        raise Failure(x)
    except Failure as error:
        raise ValueError([x, {"a": (x, 1)}]) from error


def grouped(x):
    raise ExceptionGroup("both", [ValueError(x), KeyError((x, x))])


def exits(x):
    raise SystemExit(x * 2.0)


@pytest.mark.parametrize("f", [chained, grouped, exits])
def test_no_handle_is_in_an_exception_or_in_those_it_came_from(f):
    with pytest.raises(BaseException) as info:
        record(f)(1.5)
    error: Any = info.value
    while error is not None:
        group = [e.args for e in getattr(error, "exceptions", ())]
        assert plain([error.args, vars(error), getattr(error, "code", None), group])
        error = error.__cause__ or error.__context__


def test_an_expression_nested_too_deeply_says_what_to_do(tmp_path):
    path = tmp_path / "deep.py"
    path.write_text("def f(x):\n    return x" + " + x" * 900 + "\n")
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert space["f"](1.0) == 901.0
    with pytest.raises(RecordError, match="nested too deeply") as error:
        record(space["f"])(1.0)
    assert error.value.remedy == "Split it into several statements."
    assert oracle.same_bits(record(lambda x: x + x)(1.0).backward(), 2.0)
