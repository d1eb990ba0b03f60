"""Graphs: what they show, what is refused while one is built, and what `check` rejects."""

from __future__ import annotations

import copy
import math
import threading

import numpy as np
import pytest

from autograd_frontend import GraphError, RecordError, ops, primitive, record, spec
from autograd_frontend.graph import Node
from autograd_frontend.graph.nodes import Link, Part

X = np.array([0.3, 0.5, 0.7])
W = np.array([1.0, -2.0, 0.5])


@record
def model(x, w=2.0):
    y = np.sin(x) * w
    mask = y > 0.2
    z = np.where(mask, y, 0.5 * x)
    out = np.zeros(4)
    out[0] = z[0]
    row = out[1:]
    row += z.sum(axis=0) + W
    return out, {"mean": z.mean()}, [x @ z]


TEXT = """\
graph of model
  %0 x: float64[3] = input
  %1 w: float = input
  %2: float64[3] = sin(%0)                             # line {0}: y = np.sin(x) * w
  %3 y: float64[3] = mul(%2, %1)                       # line {0}: y = np.sin(x) * w
  %4 mask: data bool[3] = gt(%3, 0.2)                  # line {1}: mask = y > 0.2
  %5: float64[3] = mul(0.5, %0)                        # line {2}: z = np.where(mask, y, 0.5 * x)
  %6 z: float64[3] = where(%4, %3, %5)                 # line {2}: z = np.where(mask, y, 0.5 * x)
  %7 out[0]: float64 = %6[0]                           # line {4}: out[0] = z[0]
  %8 out[0]: float64[4] = zeros((4,), 'float64', 'C')  # line {4}: out[0] = z[0]
  %9 out[0]: %8[0] = %7                                # line {4}: out[0] = z[0]
  %10 row: float64[3] = %8[1:]                         # line {5}: row = out[1:]
  %11: float64 = sum(%6, axis=0)                       # line {6}: row += z.sum(axis=0) + W
  %12: data float64[3] = const [ 1. , -2. ,  0.5]
  %13: float64[3] = add(%11, %12)                      # line {6}: row += z.sum(axis=0) + W
  %14 row: float64[3] = iadd(%10, %13)                 # line {6}: row += z.sum(axis=0) + W
  %15: float64 = mean(%6)                              # line {7}: return out, {{"mean": z.mean()}}, [x @ z]
  %16: float64 = matmul(%0, %6)                        # line {7}: return out, {{"mean": z.mean()}}, [x @ z]
  return (%8, {{'mean': %15}}, [%16])"""


def test_a_graph_shows_its_nodes_with_names_types_and_lines():
    graph = model.graph(spec(3), spec((), float))
    first = model.__wrapped__.__code__.co_firstlineno + 2
    assert str(graph) == TEXT.format(*range(first, first + 8))
    assert repr(graph) == "<graph of model, 17 nodes, 2 of them inputs>" and len(graph) == 17
    assert str(model.graph(X, 1.5)) == str(graph)


def test_nodes_say_what_they_are():
    graph = model.graph(X, 2.0)
    where, total = graph.nodes[6], graph.nodes[11]
    assert (where.operation, where.parents, where.type, where.shape, where.dtype) == (
        "where", (4, 3, 5), "array", (3,), "float64",
    )  # fmt: skip
    assert where.name == "z" and where.place.text.strip() == "z = np.where(mask, y, 0.5 * x)"
    assert total.attributes == {"axis": 0} and graph.nodes[3].attributes == {}
    assert graph.nodes[5].attributes == {"0": 0.5}
    assert [n.kind for n in graph.inputs] == ["input"] * 2 and graph.nodes[4].data and not where.data
    np.testing.assert_array_equal(graph.nodes[12].payload, W)


def test_constants_are_those_of_the_build():
    captured = np.array([1.0, 2.0, 3.0])
    graph = record(lambda x: x * captured).graph(X)
    before = graph.run(X)
    captured[:] = 0.0
    np.testing.assert_array_equal(graph.run(X), before)


def test_data_is_an_input_of_its_own_type():
    graph = record(lambda table, rows: table[rows].sum(axis=0)).graph(spec((5, 2)), spec(3, np.int64))
    assert [n.data for n in graph.inputs] == [False, True]
    table, rows = np.arange(10.0).reshape(5, 2), np.array([4, 0, 4])
    np.testing.assert_array_equal(graph.run(table, rows), table[rows].sum(axis=0))
    with pytest.raises(TypeError):
        graph.run(table, rows.astype(float))


def test_nothing_is_computed():
    graph = record(lambda x: np.linalg.inv(np.tanh(x @ x)) + 1.0).graph(spec((60_000, 60_000)))
    assert graph.nodes[-1].shape == (60_000, 60_000)


def test_draws_are_the_same_at_every_run():
    @record
    def f(p, x):
        return x * ops.bernoulli_mask(p, (3,), 7, 1) + ops.rand_uniform((3,), 5) + ops.detach(x)

    graph = f.graph(0.5, X)
    kinds = [n.kind for n in graph.nodes]
    assert {"bernoulli_mask", "rand_uniform", "detach"} <= set(kinds)
    np.testing.assert_array_equal(graph.run(0.5, X), f(0.5, X).value)
    np.testing.assert_array_equal(graph.run(0.5, X), graph.run(0.5, X))
    np.testing.assert_array_equal(graph.run(1.0, X), f(1.0, X).value)


def test_sharing_stays():
    def f(x):
        y = np.sin(x)
        return y * y + np.sin(x)

    graph = record(f).graph(X)
    assert [n.operation for n in graph.nodes] == ["input", "sin", "mul", "sin", "add"]


def test_results_are_nobody_elses():
    graph = record(lambda x: (x, x[:2], W, x + 1.0)).graph(X)
    given = X.copy()
    values = graph.run(given)
    for v in values:
        v[:] = 9.0
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(graph.run(given)[2], W)


def test_writes_into_arguments_reach_the_caller():
    def f(x):
        x[0] = 5.0
        return x * 2.0

    graph, given = record(f).graph(X), X.copy()
    np.testing.assert_array_equal(graph.run(given), [10.0, 1.0, 1.4])
    assert given[0] == 5.0


def test_out_by_position_is_a_write():
    def f(x):
        b, c, t, d = np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(3)
        b[0] = x[1]
        np.negative(b, b)
        np.add(b, x, b)
        np.multiply(x, 2.0, c)
        np.sum(x.reshape(1, 3), 1, None, t)
        np.clip(x, 0.4, 0.6, c[::-1])
        np.floor(x * 4, d)
        return b, c, t, d

    for ours, theirs in zip(record(f).graph(X).run(X), f(X)):
        np.testing.assert_array_equal(ours, theirs)


def test_runs_do_not_share_memory():
    def f(x):
        total = np.zeros(3)
        total += x
        return total

    graph = record(f).graph(X)
    graph.run(X)
    np.testing.assert_array_equal(graph.run(X), X)


class Box:
    state = np.zeros(3)


LEFT = []


def truth_test(x):
    if x.sum() > 0:  # here
        return x
    return -x


def loop_condition(x):
    while x[0] < 1.0:  # here
        x = x * 2.0
    return x


def integer(x):
    return x[int(x[0])]  # here


def floating(x):
    return float(x.sum()) * x  # here


def masked(x):
    return x[x > 0.4].sum()  # here


def positions(x):
    return x[np.nonzero(x)]  # here


def entry_of_a_list(x):
    return [1.0, 2.0, 3.0][np.argmax(x)] * x  # here


def length(x):
    return sum(x[i] for i in range(np.argmax(x)))  # here


def shown(x):
    return {f"{x[0]}": x}  # here


def printed(x):
    print(x)  # here
    return x


def builtin_maximum(x):
    return max(x[0], x[1])  # here


def key(x):
    return {x[0]: 1.0}[0.3] * x  # here


def state(x):
    Box.state += x  # here
    return Box.state * 2.0


def left_behind(x):
    LEFT.append(x)
    return x  # here


def observed(x):
    return ops.observe(x[0]) * x  # here


def buffers(x):
    ops.update_buffers([Box.state], x, lambda s, v: [v])  # here
    return x


def strides(x):
    return x.strides[0] * x  # here


def by_entry(x):
    return record(lambda t: t if t > 0.4 else -t).elementwise(x)  # here


def iterator(x):
    return (2.0 * t for t in x)


def rounded(x):
    return round(x[0]) * x  # here


def floor(x):
    return math.floor(x[0]) * x  # here


def plain_array_with_recorded_entries(x):
    out = np.zeros(1)
    out[0] = x[0]
    return 1.0 if out > 0.5 else x  # here


REFUSED = [
    (truth_test, "a truth test needs", "np.where"), (loop_condition, "a truth test needs", "np.where"),
    (integer, "int() needs", "np.floor"), (floating, "float() needs", "x.item()"),
    (masked, "through a mask that depends", "np.where"), (positions, "nonzero of a value", "np.where"),
    (entry_of_a_list, "an entry of a list needs", "np.array(items)"),
    (length, "an index or a length needs", "plain data"), (builtin_maximum, "a truth test needs", "np.where"),
    (shown, "a text needs", "run"), (printed, "a text needs", "run"),
    (key, "a hash needs", "plain data"), (state, "a graph keeps no state", "copy"),
    (observed, "observe cannot be", "no current values"), (buffers, "update_buffers cannot be", "outside"),
    (strides, "strides needs", "Leave it out"), (by_entry, "entry by entry needs", "np.where"),
    (rounded, "round() needs", "np.round"), (floor, "floor of a value", "np.where"),
    (plain_array_with_recorded_entries, "a truth test needs", "np.where"),
]  # fmt: skip


@pytest.mark.parametrize("f, reason, remedy", REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_needs_a_value_is_refused_with_its_line(f, reason, remedy):
    import inspect

    lines, first = inspect.getsourcelines(f)
    line = first + next(i for i, text in enumerate(lines) if "# here" in text)
    with pytest.raises(RecordError) as caught:
        record(f).graph(X)
    error = caught.value
    assert reason in error.reason and remedy in error.remedy, error
    assert error.place.line == line and error.place.filename == __file__
    np.testing.assert_array_equal(Box.state, np.zeros(3))


@pytest.mark.parametrize("f", [left_behind, iterator])
def test_what_leaves_the_function_is_refused(f):
    try:
        with pytest.raises(RecordError):
            record(f).graph(X)
    finally:
        LEFT.clear()


def test_a_truth_test_on_constants_is_allowed():
    graph = record(lambda x: x * 2.0 if W.sum() < 1.0 and x.shape == (3,) else -x).graph(X)
    np.testing.assert_array_equal(graph.run(X), X * 2.0)


def test_arguments_have_to_fit():
    graph = record(lambda x, n, pair: x * n + pair[0]).graph(X, 3, [1.0, "a"])
    np.testing.assert_array_equal(graph.run(X, 3, [2.0, "a"]), X * 3 + 2.0)
    for args, kind in [
        ((X[:2], 3, [1.0, "a"]), ValueError), ((X.astype(np.float32), 3, [1.0, "a"]), TypeError),
        ((X, 4, [1.0, "a"]), ValueError), ((X, 3, [1.0]), ValueError), ((X, 3, (1.0, "a")), TypeError),
        ((X, 3, [np.float64(1.0), "a"]), TypeError), ((X, 3), TypeError), ((list(X), 3, [1.0, "a"]), TypeError),
    ]:  # fmt: skip
        for call in (graph.run, graph.vjp, lambda *args: graph.jvp(args, [None] * len(args))):
            with pytest.raises(kind):
                call(*args)
    alone = record(lambda x: x + 1.0).graph(X)
    for wrong in (X[:2], X.astype(np.float32), 1.0, list(X)):
        with pytest.raises((TypeError, ValueError)):
            alone.run(wrong)
    with pytest.raises(TypeError):
        record(lambda n: n).graph(3)
    with pytest.raises(TypeError):
        spec((3,), complex)
    with pytest.raises(TypeError):
        spec(-1)


def test_errors_of_the_function_are_its_own():
    with pytest.raises(ValueError):
        record(lambda x: x + np.ones(2)).graph(X)
    with pytest.raises(ZeroDivisionError):
        record(lambda x: x * (1 // 0)).graph(X)
    with pytest.raises(IndexError):
        record(lambda x: x[7]).graph(X)


@primitive
def cube(x):
    return x * x * x


@cube.pullback
def _(g, y, x):
    return 3.0 * x * x * g


def test_a_primitive_needs_a_shape_rule():
    f = record(lambda x: cube(x) + 1.0)
    with pytest.raises(RecordError, match="it has no shape"):
        f.graph(X)
    cube.shape(lambda x: (x.shape, x.dtype))
    graph = f.graph(X)
    np.testing.assert_array_equal(graph.run(X), f(X).value)
    np.testing.assert_array_equal(graph.vjp(X)[1](X), 3.0 * X * X * X)
    with pytest.raises(GraphError, match="the user's own"):
        graph.save("nowhere")
    with pytest.raises(RecordError):
        graph.gradient()


def test_building_beside_recording_in_another_thread():
    stop, problems = threading.Event(), []

    def work():
        f = record(lambda x: np.sin(x) * x if x.sum() > 0 else x)
        while not stop.is_set():
            gradient = f(X).backward()
            if not np.allclose(gradient, np.cos(X) * X + np.sin(X)):
                problems.append(gradient)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(30):
            np.testing.assert_array_equal(model.graph(X, 2.0).run(X, 2.0)[0], model(X, 2.0).value[0])
    finally:
        stop.set()
        thread.join()
    assert not problems


# What `check` rejects


def changed(change):
    graph = model.graph(X, 2.0)
    graph.nodes = copy.copy(graph.nodes)
    change(graph)
    return graph


def with_(i, **fields):
    def change(graph):
        n = graph.nodes[i]
        new = Node(*[fields.get(k, getattr(n, k)) for k in Node.__dataclass_fields__ if k != "function"])
        graph.nodes[i] = new

    return change


def late_input(graph):
    graph.nodes.append(Node(len(graph.nodes), "input", "input", "", (), {}, "number", (), "float"))


BROKEN = [
    (late_input, "node 17 (input): an input after another node"),
    (with_(5, args=(0.5, Link(99))), "node 5 (operator): its parent 99 does not exist"),
    (with_(5, args=(0.5, Link(-1))), "its parent -1 does not exist"),
    (with_(5, args=(0.5, Link(6))), "its parent 6 is not an earlier node"),
    (with_(5, args=(0.5, Link(5))), "its parent 5 is not an earlier node"),
    (with_(5, args=(0.5, Link(9))), "its parent 9 is not an earlier node"),
    (with_(15, args=(Link(9),)), "its parent 9 has no value"),
    (with_(5, number=7), "its number is 7, expected 5"),
    (with_(12, payload=np.ones(4)), "its payload has shape (4,), expected (3,)"),
    (with_(12, payload=np.ones(3, np.float32)), "its payload is float32, expected float64"),
    (with_(12, payload=None), "there is none for this node"),
    (with_(2, target="os.system"), "an unknown operation 'os.system'"),
    (with_(2, target="builtins.eval"), "an unknown operation"),
    (with_(2, kind="shell"), "an unknown kind of node"),
    (with_(3, target="call"), "an unknown operator 'call'"),
    (with_(11, target="tofile"), "an unknown method 'tofile'"),
    (with_(11, kwargs={"axis": 7}), "does not take what it is given"),
    (with_(11, kwargs={"axis=0)#": 7}), "is no name of an argument"),
    (with_(11, shape=(2,), type="array"), "declared array (2,) float64, expected scalar () float64"),
    (with_(3, dtype="float32"), "declared array (3,) float32, expected array (3,) float64"),
    (with_(3, dtype="object"), "its dtype is 'object'"),
    (with_(3, type="thing"), "its type is 'thing'"),
    (with_(3, shape=(-3,)), "its shape is (-3,)"),
    (with_(4, data=False), "is declared differentiable"),
    (with_(12, data=False), "is declared differentiable"),
    (with_(14, args=(Link(12), Link(13))), "it writes into the constant 12"),
    (with_(9, args=(Link(8), 0)), "it has 2 arguments"),
    (with_(9, args=(Link(8), slice(0, 2), Link(6))), "could not broadcast"),
    (with_(2, args=(Part(Link(0), "0] or exit("),)), "expected the number of one"),
    (lambda g: setattr(g, "result", Link(40)), "the result names the node 40"),
    (lambda g: setattr(g, "result", Link(9)), "the result names the node 9, which has no value"),
    (lambda g: setattr(g, "args", (Link(0), Link(0))), "expected each of the 2 inputs once"),
    (lambda g: setattr(g, "kwargs", {"x, y=1": 3}), "is no name of an argument"),
]


@pytest.mark.parametrize("change, reason", BROKEN)
def test_a_broken_graph_is_rejected_with_the_reason(change, reason):
    with pytest.raises(GraphError) as caught:
        changed(change).check()
    assert reason in caught.value.reason, caught.value
    assert isinstance(caught.value, RecordError)


def test_checks_of_draws_and_detach():
    graph = record(lambda p: ops.detach(p) * ops.bernoulli_mask(p, (2,), 1) * ops.rand_uniform((2,), 3)).graph(0.5)
    graph.check()
    numbers = {n.kind: n.number for n in graph.nodes}
    for kind, fields, reason in [
        ("rand_uniform", {"args": ((2,), -3)}, "does not take"), ("rand_uniform", {"args": (Link(0), 3)}, "1 parents"),
        ("bernoulli_mask", {"args": (0.5, (2,), 1)}, "0 parents"), ("detach", {"dtype": "int64"}, "expected float64"),
        ("detach", {"args": ()}, "0 arguments"),
    ]:  # fmt: skip
        nodes = list(graph.nodes)
        with_(numbers[kind], **fields)(graph)
        with pytest.raises(GraphError) as caught:
            graph.check()
        assert reason in caught.value.reason, caught.value
        graph.nodes = nodes
