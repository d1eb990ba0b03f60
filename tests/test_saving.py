"""What recordings keep in memory: the buffers alive are those that the rules need, and the sweep lets go of them."""

from __future__ import annotations

import tracemalloc

import blocks
import numpy as np
import oracle
import pytest

from autograd_frontend import ops, record
from autograd_frontend.tape import owner_of, saved_arrays

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
    return [leaf for leaf in oracle.flatten(x) if type(leaf) is np.ndarray]


def saved(tape):
    """The arrays that the nodes of a tape keep."""
    found = []
    for n in tape:
        for part in [n] if hasattr(n, "fa") else [edge[3] for edge in getattr(n, "edges", None) or ()]:
            found += [x for x, _ in saved_arrays(part)]
        if type(edges := getattr(n, "a", None)) is list:
            found += [x for edge in edges for x, _ in saved_arrays(edge[3])]
        key = getattr(n, "key", None)
        found += arrays(list(key) if type(key) is tuple else key)
    return found


def size(found, given):
    """Bytes of the memory that arrays lie in, each counted once, without that of the arguments."""
    known = {id(owner_of(x)) for x in arrays(given)}
    owners = {id(owner_of(x)): owner_of(x) for x in found}
    return sum(x.nbytes for key, x in owners.items() if key not in known)


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
KEPT = {  # bytes beside the arguments and the value
    "relu": (lambda x: ops.relu(x), 0),
    "gelu": (lambda x: ops.gelu(x), 0),
    "exp": (lambda x: ops.exp(x), 0),
    "softmax_last": (lambda x: ops.softmax_last(x), 0),
    "log_softmax_last": (lambda x: ops.log_softmax_last(x), 0),
    "layer_norm": (lambda x: ops.layer_norm(x, VECTOR, VECTOR), N + 64 * 8),
    "sum": (lambda x: ops.sum(x), 0),
    "add": (lambda x: ops.add(x, 1.0), 0),
    "matmul": (lambda x: ops.matmul(x, x.T), 0),
    "reshape": (lambda x: ops.reshape(x, (32, 64)), 0),
    "mse_loss": (lambda x: ops.mse_loss(x, 0.5 * ROWS), 2 * N),
    "max_pool": (lambda x: ops.max_pool(x, 2), N // 2),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_an_operation_saves(name):
    f, expected = KEPT[name]
    recorded = record(f)
    recorded(ROWS).close()
    with Buffers() as buffers:
        result = recorded(ROWS)
        value = 0 if np.ndim(result.value) == 0 else owner_of(result.value).nbytes
        shielded = N if name not in ("sum", "add", "reshape", "layer_norm", "softmax_last") else 0
        assert buffers.alive() - value <= expected + shielded + 64
        result.close()
        assert buffers.alive() <= value
