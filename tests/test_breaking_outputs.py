"""Functions with plain results, written by position into an array: the write is followed, or refused by name."""

import numpy as np
import pytest

from autograd_frontend import RecordError, record
from tests.checking import faithful

X = np.array([1.5, 2.5, -0.5])


def into_recorded_memory(call):
    def f(x):
        b = np.zeros(3)
        b[:] = x
        call(x, b)
        return b.sum()

    return f


def into_a_saved_array(call):
    def f(x):
        b = np.ones(3)
        y = x * b
        call(x, b)
        return y.sum()

    return f


CALLS = [
    lambda x, b: np.floor(x, b),
    lambda x, b: np.floor(x, out=b),
    lambda x, b: np.sign(x, b),
    lambda x, b: np.rint(x, b),
    lambda x, b: np.floor_divide(x, 2.0, b),
    lambda x, b: np.round(x, 0, b),
    lambda x, b: x.round(0, b),
    lambda x, b: x.round(0, out=b),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_rounding_is_not_written_into_recorded_memory(call):
    with pytest.raises(RecordError, match="out="):
        record(into_recorded_memory(call))(X.copy())


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_rounding_of_recorded_values_is_plain_data_in_plain_memory(call):
    faithful(into_a_saved_array(call), X)


def test_plain_results_written_over_recorded_memory_are_refused():
    with pytest.raises(RecordError, match="out="):
        record(into_recorded_memory(lambda x, b: np.floor(np.ones(3), b)))(X.copy())


def test_plain_data_written_over_a_saved_operand_leaves_what_was_saved():
    def f(x, plain):
        mask, b, where = np.ones(3, bool), np.ones(3), np.zeros(1, int)
        y, z, w = np.where(mask, x, x * x), x * b, x[where]
        np.greater(plain, 0, mask)
        np.floor(plain * 1.5, b)
        np.argmax(plain[None], 1, where)
        return y, z, w

    faithful(f, X, np.array([-1, 2, 3]))
