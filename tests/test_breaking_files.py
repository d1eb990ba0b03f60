"""Files of graphs that were made up: their hashes are right, what they say is not."""

from __future__ import annotations

import hashlib
import json
from collections import namedtuple

import numpy as np
import pytest

from autograd_frontend import Graph, GraphError, record
from autograd_frontend.graph import files

from . import oracle

X = np.array([0.3, 0.5, 0.7])
Y = np.array([-1.0, 2.0, 0.0])
M = np.arange(9.0).reshape(3, 3) / 7 + np.eye(3)
Pair = namedtuple("Pair", "a b")


def loaded(path, change):
    """The file with a header that `change` has changed, its hash being right."""
    data = path.read_bytes()
    _, _, length, _ = files.FIXED.unpack(data[: files.FIXED.size])
    header = json.loads(data[files.FIXED.size : files.FIXED.size + length])
    change(header)
    text = json.dumps(header).encode()
    head = files.FIXED.pack(files.MAGIC, files.VERSION, len(text), hashlib.sha256(text).digest())
    path.write_bytes(head + text + data[files.FIXED.size + length :])
    return Graph.load(path)


def test_named_tuples_are_those_of_the_caller(tmp_path):
    graph = record(lambda p: Pair(p.a * p.b, p.a)).graph(Pair(X, 2.0))
    graph.save(tmp_path / "g")
    value = Graph.load(tmp_path / "g").run(Pair(Y, 3.0))
    assert oracle.same_bits(tuple(value), (Y * 3.0, Y)) and value._fields == ("a", "b")
    with pytest.raises(TypeError):
        Graph.load(tmp_path / "g").run((Y, 3.0))


def at(*keys):
    """What puts `value` at a place of a header."""

    def put(value):
        def change(header):
            for k in keys[:-1]:
                header = header[k]
            header[keys[-1]] = value

        return change

    return put


total, first = at("nodes", 4, "args", "tuple", 0), at("nodes", 1, "args", "tuple", 0)
FAULTS = [
    (total("builtins.eval"), "unknown method"), (total(None), "unknown method"),
    (at("nodes", 4, "args")({"named": ["A", ["a"], [1]]}), "its arguments are no tuple"),
    (first({"fraction": "1/0"}), "the fraction '1/0'"), (first({"range": [0, 10**12, 1]}), "oversized"),
    (at("result")({"dict": [[{"node": 0}, 1]]}), "a dict with the key"),
    (at("arrays", 0, "order")([0, 0]), "has the order"), (at("arrays", 0, "order")([1.0, 0]), "has the order"),
    (at("arrays", 0, "order")("K"), "has the order"), (at("arrays", 0, "order")([0, 1, 2]), "has the order"),
]  # fmt: skip


@pytest.mark.parametrize("change, reason", FAULTS)
def test_a_made_up_file_is_refused(change, reason, tmp_path):
    graph = record(lambda x: (0.5 * x * M).sum()).graph(X)
    assert [n.operation for n in graph.nodes] == ["input", "mul", "const", "mul", "sum"]
    graph.save(tmp_path / "g")
    with pytest.raises(GraphError) as caught:
        loaded(tmp_path / "g", change)
    assert reason in caught.value.reason, caught.value


def test_many_axes_are_no_way_to_fill_the_memory(tmp_path):
    graph = record(lambda x: x + 1.0).graph(np.zeros((1,) * 30))
    graph.save(tmp_path / "g")

    def change(header):
        for n in header["nodes"]:
            n["shape"] = [2] * 30

    assert loaded(tmp_path / "g", change).nodes[1].shape == (2,) * 30
