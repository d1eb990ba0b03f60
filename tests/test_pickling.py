"""Recorded functions are pickled as functions are, by their name."""

from __future__ import annotations

import pickle

import numpy as np

from autograd_frontend import record


@record
def square(x):
    return x * x


def cube(x):
    return x**3


recorded_cube = record(cube)


class Model:
    @record
    def loss(self, x):
        return x * 2.0


def test_a_decorated_function_is_found_by_its_name():
    assert pickle.loads(pickle.dumps(square)) is square
    assert pickle.loads(pickle.dumps(Model.loss)).__wrapped__ is Model.loss.__wrapped__


def test_another_one_by_its_function():
    again = pickle.loads(pickle.dumps(recorded_cube.on("cpu", grad=True)))
    assert again.__wrapped__ is cube
    assert again(np.array([2.0])).backward()[0] == 12.0
