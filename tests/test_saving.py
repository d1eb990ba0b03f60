"""What recordings keep in memory: the buffers alive are those that the rules need, and the sweep lets go of them."""

from __future__ import annotations

import tracemalloc

import blocks
import numpy as np
import oracle
import pytest

from autograd_frontend import ops
from autograd_frontend.running import run
from autograd_frontend.tape import Scalar, owner_of

CASES = blocks.cases()


class Buffers:
    """Counts the bytes of NumPy's own buffers made in a block and still alive."""

    def __enter__(self):
        tracemalloc.start()
        return self

    def __exit__(self, *_):
        tracemalloc.stop()

    def alive(self):
        kept = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        return sum(t.size for t in tracemalloc.take_snapshot().filter_traces([kept]).traces)


def arrays(x):
    """The arrays in a nested value; a number of NumPy's has no buffer."""
    return [leaf for leaf in flat(x) if type(leaf) is np.ndarray]


def flat(x):
    return [leaf for item in x for leaf in flat(item)] if isinstance(x, (list, tuple)) else [x]


def saved(tape):
    """The arrays that the nodes of a tape keep."""
    found = []
    for n in tape:
        edges = n.a if type(n) is Scalar else getattr(n, "edges", None)
        found += arrays([getattr(n, name, None) for name in ("x", "y", "v", "key")])
        found += arrays([edge[3] for edge in edges] if type(edges) is list else [])
    return found


def size(found, given):
    """Bytes of the memory that arrays lie in, each counted once, without that of the arguments."""
    known = {id(owner_of(x)) for x in arrays(given)}
    owners = {id(owner_of(x)): owner_of(x) for x in found}
    return sum(max(x.nbytes, 1) for key, x in owners.items() if key not in known and type(x) is np.ndarray)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_nothing_but_the_value_and_what_rules_need_stays_alive(c):
    c.record().tape.release()  # fills caches
    given = [c.args, c.kwargs]
    with Buffers() as buffers:
        recording = c.record()
        made = size(arrays(recording.value) + saved(recording.tape), given)
        alive = buffers.alive()
        assert alive <= made, "a temporary is kept"
        value, weights = recording.value, oracle.random_like(recording.value, 0)
        gradients = recording.gradients(weights, True)
        del recording
        rest = size(arrays([value, weights, gradients]), given)
        assert buffers.alive() <= rest, "a buffer is kept after the sweep"


ROWS = np.random.default_rng(0).normal(size=(64, 32))
VECTOR = np.linspace(0.5, 1.5, 32)
N = ROWS.nbytes
KEPT = {  # bytes beside the argument and the value; a value that is saved is one buffer more, as the value is a copy
    "relu": (lambda x: ops.relu(x), 0),
    "gelu": (lambda x: ops.gelu(x), 0),
    "silu": (lambda x: ops.silu(x), 0),
    "exp": (lambda x: ops.exp(x), N),
    "log": (lambda x: ops.log(ops.abs(x)), N),
    "softmax_last": (lambda x: ops.softmax_last(x), N),
    "log_softmax_last": (lambda x: ops.log_softmax_last(x), 2 * N),
    "layer_norm": (lambda x: ops.layer_norm(x, VECTOR, VECTOR), N + 64 * 8),
    "batch_norm": (lambda x: ops.batch_norm(x, ROWS[:, 0], ROWS[:, 0]), N + 64 * 8),
    "sum": (lambda x: ops.sum(x), 0),
    "reduce_mean": (lambda x: ops.reduce_mean(x, 0), 0),
    "add": (lambda x: ops.add(x, 1.0), 0),
    "mul": (lambda x: ops.mul(x, ROWS), 0),
    "matmul": (lambda x: ops.matmul(x, ROWS.T), 0),
    "mse_loss": (lambda x: ops.mse_loss(x, ROWS), N),
    "cross_entropy": (lambda x: ops.cross_entropy(x, ROWS, 1), 2 * N),
    "max_pool": (lambda x: ops.max_pool(x, 2), N // 2),
    "avg_pool": (lambda x: ops.avg_pool(x, 2), 0),
    "index_select": (lambda x: ops.index_select(x, [0, 2], 0), 64),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_an_operation_saves(name):
    f, expected = KEPT[name]
    run(f, str, (ROWS,), {}).release()
    with Buffers() as buffers, np.errstate(all="ignore"):
        recording = run(f, str, (ROWS,), {})
        value = recording.value
        size_of_value = 0 if np.ndim(value) == 0 else owner_of(value).nbytes
        assert buffers.alive() - size_of_value <= expected
        recording.release()
        del recording
        assert buffers.alive() <= size_of_value
