"""The typed graph of a function: what it computes, what it shows, what is refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, reject

from autograd_frontend import RecordError, record
from autograd_frontend.graph import lower
from autograd_frontend.graph.shapes import described

from . import blocks, oracle
from .programs import Program, programs
from .test_generated import tries

CASES = blocks.cases()


def watched(graph, monkeypatch):
    """`graph.run`, looking whether every node has the type, shape and dtype that it declares."""
    seen = []

    def see(n, v):
        assert described(v) == (n.type, n.shape, n.dtype), (n, v)
        seen.append(n.number)

    plain = lower.lower

    def watch(n, w):
        plain(n, w)
        if n.type != "none":
            w.put(f"{w.hold(see)}({w.hold(n)}, {w.name(n.number)})")

    monkeypatch.setattr(lower, "lower", watch)
    run = graph.compiled()
    monkeypatch.undo()
    return run


def agrees(function, args, monkeypatch):
    """The graph gives what the function gives, bit for bit, and does to the arguments what it does."""
    graph = record(function).graph(*copy.deepcopy(args))
    ours, theirs, mine = copy.deepcopy(args), copy.deepcopy(args), copy.deepcopy(args)
    expected = record(function)(*theirs).value
    with np.errstate(all="ignore"):
        value = graph.run(*ours)
        assert oracle.same_bits(value, expected), (value, expected, print(graph))
        assert oracle.same_bits(ours, theirs)
        assert oracle.same_bits(watched(graph, monkeypatch)(*mine), expected)
        assert oracle.same_bits(graph.run(*copy.deepcopy(args)), expected), "a second run"
    return graph


@tries(150)
@given(programs())
def test_a_graph_computes_what_the_function_does(program: Program) -> None:
    function = program.function()
    try:
        record(function).graph(*program.fresh())
    except RecordError as error:
        assert error.place is not None and error.remedy, error
        reject()
    with pytest.MonkeyPatch.context() as monkeypatch:
        agrees(function, program.args, monkeypatch)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_every_operation_is_a_node_of_the_type_it_declares(c, monkeypatch):
    agrees(c.function, c.inputs(), monkeypatch)
