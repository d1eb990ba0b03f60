"""Numbers read back from what a recorded value was shown as: their derivative would be lost."""

from decimal import Decimal

import numpy as np
import pytest

from autograd_frontend import RecordError, grad, record

READ_BACK = [
    lambda x: float(str(x)),
    lambda x: float(repr(x)),
    lambda x: float(f"{x:.12f}"),
    lambda x: float(format(x, ".12f")),
    lambda x: float("{}".format(x)),  # noqa: UP032
    lambda x: float("%.12f" % x),  # noqa: UP031
    lambda x: float(Decimal(str(x))),
]


@pytest.mark.parametrize("f", READ_BACK, ids=range(len(READ_BACK)))
def test_a_number_is_not_read_from_the_text_of_a_recorded_value(f):
    with pytest.raises(RecordError, match="text of a recorded value"):
        record(f)(3.25)


def test_the_bytes_of_a_recorded_array_are_refused():
    with pytest.raises(RecordError, match="tobytes"):
        record(lambda x: float(np.frombuffer(x.tobytes())[0]))(np.array([1.0]))


def test_other_texts_are_read_as_usual():
    def f(x):
        label = f"{x:.1f}"
        return float("3.5") * x + len(label) * 0.0

    assert grad(f)(2.0) == 3.5
