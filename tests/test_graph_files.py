"""Graphs in files and as source: they come back as they were, and a bad file is refused by name."""

from __future__ import annotations

import json
import pickle
import struct
import subprocess
import sys
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from autograd_frontend import Graph, GraphError, RecordError, ops, record, spec
from autograd_frontend.graph import files

from . import blocks, oracle
from .programs import Program, programs
from .test_generated import tries

X = np.array([0.3, 0.5, 0.7])
Pair = namedtuple("Pair", "first second")
TABLE = np.arange(200.0).reshape(2, 100).astype(np.float32, order="F")


@record
def model(x, w, rows):
    y = np.sin(x) * np.float32(1.5) + w[0] @ x
    out = np.full((2, 3), np.nan)
    out[:] = y
    part = out.T[1:]
    part *= 0.5
    picked = TABLE[:, rows].sum(axis=1) * y[0]
    return Pair(np.where(y > 0.5, y, -np.inf), [out, picked]), {"n": 3, "s": slice(1, None), "e": ..., "z": -0.0}


ARGS = (X, {0: np.eye(3) * 0.7, "n": 2.5}, np.array([4, 0, 4]))


def loaded(graph, path):
    graph.save(path)
    return Graph.load(path)


def test_a_graph_comes_back_as_it_was(tmp_path):
    graph = model.graph(*ARGS)
    again = loaded(graph, tmp_path / "model.graph")
    assert str(again) == str(graph)
    value, expected = again.run(*ARGS), model(*ARGS).value
    assert oracle.same_bits(tuple(value[0]), tuple(expected[0])) and value[1] == expected[1]
    assert value[0]._fields == Pair._fields
    weights = oracle.random_like(expected, 1)
    assert oracle.same_bits(
        oracle.flatten(again.vjp(*ARGS)[1](weights)), oracle.flatten(model(*ARGS).pullback(weights))
    )


def test_a_file_works_in_another_process(tmp_path):
    model.graph(*ARGS).gradient().save(tmp_path / "model.graph")
    code = "import sys\nfrom autograd_frontend import Graph\nprint(Graph.load(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.graph")], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("graph of gradient_of_model")


@tries(30)
@given(programs())
def test_programs_come_back_from_files_and_as_source(program: Program) -> None:
    function = program.function()
    try:
        graph = record(function).graph(*program.fresh())
    except RecordError:
        reject()
    with np.errstate(all="ignore"):
        expected = function(*program.fresh())
        path = f"{pytest.graphs}/program.graph"
        assert oracle.same_bits(loaded(graph, path).run(*program.fresh()), expected)
        assert oracle.same_bits(executed(graph.to_python(), graph.name)(*program.fresh()), expected)


@pytest.fixture(autouse=True, scope="module")
def place(tmp_path_factory):
    pytest.graphs = tmp_path_factory.mktemp("graphs")


def executed(text, name):
    space = {}
    exec(compile(text, "<source>", "exec"), space)
    return space[name]


CASES = blocks.cases()[::5]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_every_operation_comes_back(c, tmp_path):
    graph = record(c.function).graph(*c.inputs())
    with np.errstate(all="ignore"):
        expected = graph.run(*c.inputs())
        got = loaded(graph, tmp_path / "graph").run(*c.inputs())
        assert oracle.same_bits(tuple(oracle.flatten([got])), tuple(oracle.flatten([expected])))
        got = executed(graph.to_python(), "function")(*c.inputs())
        assert oracle.same_bits(tuple(oracle.flatten([got])), tuple(oracle.flatten([expected])))


def test_source_runs_without_the_package():
    def f(x, w):
        y = np.tanh(w @ x)
        out = np.zeros(3)
        out[1:] = y[:2] * x[0]
        return (out * np.where(y > 0.1, y, 0.5)).sum()

    w = np.arange(9.0).reshape(3, 3) / 10
    text = record(f).graph(X, w).to_python(gradient=True)
    assert "autograd_frontend" not in text and "  # float64[3] y, line" in record(f).graph(X, w).to_python()
    value, gradient = executed(text, "gradient_of_f")(X, w, np.float64(1.0))
    result = record(f)(X, w)
    assert value == result.value
    for ours, theirs in zip(gradient, result.backward()):
        assert oracle.same_bits(ours, theirs)


def test_what_a_file_cannot_hold_is_refused():
    class Thing:
        pass

    thing = Thing()
    graph = record(lambda x, t: x * 2.0).graph(X, thing)
    with pytest.raises(GraphError, match="a Thing in it"):
        graph.save("nowhere")


def test_fractions_come_back(tmp_path):
    graph = record(lambda x: x * Fraction(1, 3) + 2).graph(Fraction(1, 7))
    assert loaded(graph, tmp_path / "g").run(Fraction(1, 2)) == Fraction(13, 6)


# Bad files


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model.graph"
    model.graph(*ARGS).save(path)
    return path.read_bytes()


def refused(data, path):
    path.write_bytes(data)
    with pytest.raises(GraphError) as caught:
        Graph.load(path)
    return caught.value.reason


def forged(data, change):
    """The file with another header, whose length and hash fit."""
    import hashlib

    length = files.FIXED.unpack(data[: files.FIXED.size])[2]
    header = json.loads(data[files.FIXED.size : files.FIXED.size + length])
    header = change(header) or header
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    fixed = files.FIXED.pack(files.MAGIC, files.VERSION, len(text), hashlib.sha256(text).digest())
    return fixed + text + data[files.FIXED.size + length :]


def test_a_truncated_file_is_refused(good, tmp_path):
    for n in [*range(0, 60), *range(60, len(good) - 1, 211), len(good) - 1]:
        reason = refused(good[:n], tmp_path / "bad")
        assert "truncated" in reason, (n, reason)


def test_an_oversized_file_is_refused(good, tmp_path):
    assert "oversized" in refused(good + b"x", tmp_path / "bad")
    huge = files.FIXED.pack(files.MAGIC, files.VERSION, 1 << 40, b"0" * 32)
    assert "header is oversized" in refused(huge + good[files.FIXED.size :], tmp_path / "bad")
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.write(good)
        file.truncate(files.TOTAL + 1)
    with pytest.raises(GraphError, match="oversized"):
        Graph.load(path)

    def enormous(header):
        header["nodes"][0]["shape"] = [10**9, 10**9]

    assert "oversized" in refused(forged(good, enormous), tmp_path / "bad")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_damaged_file_is_refused(place, change):
    path = pytest.graphs / "damaged"
    if not (pytest.graphs / "whole").exists():
        model.graph(*ARGS).save(pytest.graphs / "whole")
    data = bytearray((pytest.graphs / "whole").read_bytes())
    data[place % len(data)] ^= change
    assert refused(bytes(data), path)


def node(i, **fields):
    return lambda header: header["nodes"][i].update(fields)


def named(operation, **fields):
    def change(header):
        next(n for n in header["nodes"] if n["operation"] == operation).update(fields)

    return change


MADE_UP = [
    (named("sin", target="os.system", args={"tuple": ["true"]}), "unknown operation 'os.system'"),
    (named("sin", target="builtins.exec"), "unknown operation"),
    (named("sin", target="subprocess.call"), "unknown operation"),
    (named("sin", target="numpy.load"), "unknown operation"),
    (named("sum", target="tofile"), "unknown method"),
    (named("sum", kwargs={"dict": [["axis=(print(1))", 1]]}), "is no name of an argument"),
    (named("sum", kwargs={"dict": [[1, 1]]}), "no tuple and dict"),
    (named("sin", args={"code": "print(1)"}), "which stands for nothing"),
    (named("sin", args={"tuple": [{"type": "os.system"}]}), "the type 'os.system'"),
    (named("sin", args={"tuple": [{"dtype": "O"}]}), "expected a number type"),
    (named("sin", args={"tuple": [{"node": 90}]}), "its parent 90 does not exist"),
    (named("sin", args={"tuple": [{"node": "0"}]}), "names the node '0'"),
    (named("sin", payload=5000), "no array of it"),
    (named("sin", payload="x"), "no array of it"),
    (named("sin", data=1), "says data"),
    (named("sin", kind="exec"), "unknown kind"),
    (named("where", shape=[4]), "declared array"),
    (node(0, kind="const"), "there is none for this node"),
    (lambda h: h.update(kwargs={"dict": [["x=1, y", 1]]}), "is no name of an argument"),
    (lambda h: h.update(result={"node": 99}), "which does not exist"),
    (lambda h: h.update(name=["a"]), "a name in it"),
    (lambda h: h.pop("nodes") and None, "says something impossible"),
    (lambda h: h["arrays"][0].update(bytes=1), "expected"),
    (lambda h: h["arrays"][0].update(shape=[-1]), "has the shape"),
    (lambda h: h["arrays"][0].update(dtype="object"), "expected a number type"),
    (lambda h: h["arrays"][0].update(sha256="0"), "is damaged"),
    (lambda h: h["arrays"].clear(), "oversized"),
    (lambda h: b"[" * 100_000, "says something impossible"),
    (lambda h: b"{", "says something impossible"),
    (lambda h: b"\xff\xfe", "says something impossible"),
    (lambda h: h.update(args={"tuple": [{"decimal": "1e999999999"}, {"fraction": "1e999999999"}]}), "may be huge"),
    (named("sin", args={"tuple": [{"named": ["Part", ["link", "which"], [{"node": 0}, "0] or exit("]]}]}), "a part"),
    (lambda h: h.update(args={"tuple": [{"named": ["A", ["__import__('os')"], [1]]}]}), "named tuple"),
]


@pytest.mark.parametrize("change, reason", MADE_UP)
def test_a_made_up_file_is_refused_by_the_name_of_the_fault(change, reason, good, tmp_path):
    assert reason in refused(forged(good, change), tmp_path / "bad")


def test_deep_nesting_is_refused(good, tmp_path):
    def deep(header):
        form = 1
        for _ in range(200):
            form = {"list": [form]}
        header["args"] = form

    assert "nested" in refused(forged(good, deep), tmp_path / "bad")


def test_other_files_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", X)
    for data in (b"", b"AF", pickle.dumps({"a": 1}), (tmp_path / "x.npy").read_bytes(), b"\0" * 100):
        assert refused(data, tmp_path / "bad")
    assert "version" in refused(struct.pack("<8sIQ32s", files.MAGIC, 99, 0, b""), tmp_path / "bad")


def values_in(x):
    """Every place in a header: (container, key)."""
    for k, e in list(x.items()) if isinstance(x, dict) else list(enumerate(x)):
        yield x, k
        if isinstance(e, (dict, list)):
            yield from values_in(e)


OTHERS = [None, True, 0, -1, 10**30, 1e300, "", "x", "numpy.sin", [], {}, [1], {"node": 3}, {"tuple": []}]


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(OTHERS))
def test_a_fuzzed_header_is_refused_or_a_graph(place, other):
    if not (pytest.graphs / "whole").exists():
        model.graph(*ARGS).save(pytest.graphs / "whole")

    def change(header):
        places = list(values_in(header))
        container, key = places[place % len(places)]
        container[key] = other

    path = pytest.graphs / "fuzzed"
    path.write_bytes(forged((pytest.graphs / "whole").read_bytes(), change))
    try:
        graph = Graph.load(path)
    except GraphError as error:
        assert error.reason
        return
    graph.check()
    str(graph)
    graph.compiled()
    graph.function()


def test_draws_come_back(tmp_path):
    graph = record(lambda p: ops.bernoulli_mask(p, (4,), 7, 1) * p + ops.rand_uniform((4,), 3)).graph(spec((), float))
    assert oracle.same_bits(loaded(graph, tmp_path / "g").run(0.5), graph.run(0.5))
