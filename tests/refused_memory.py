"""Functions whose write is refused; test_messages.py has the whole message of each."""

from __future__ import annotations

import numpy as np
from messages import X, called, recorded

from autograd_frontend import record


def into_integers(x):
    counts = np.zeros(3, int)
    counts[0] = x[0]  # here
    return counts.sum()


def into_text(x):
    words = np.zeros(3, "U5")
    words[0] = x[0]  # here
    return x


def into_integers_in_place():
    def f(x):
        counts = np.zeros(3, int)
        np.add(x, x, out=counts, casting="unsafe")  # here
        return counts

    return record(f)(X.copy())


def into_borrowed_memory(x):
    out = np.frombuffer(bytearray(24))
    out[0] = x[0]  # here
    return out


def under_its_outer_name():
    a = X.copy()

    def f(x):
        a[0] = 5.0  # here
        return x * 2.0

    return record(f)(a)


def recorded_under_its_outer_name():
    a = X.copy()

    def f(x):
        a[0] = x[1]  # here
        return x * 2.0

    return record(f)(a)


def through_a_part():
    whole = np.arange(6.0)

    def f(x):
        x[0] = x[1] * 2.0
        return x * whole[2]  # here

    return record(f)(whole[2:4])


def two_arguments_in_one_memory():
    def f(x, y):
        x[0] = 1.0  # here
        return x * y

    a = X.copy()
    return record(f)(a, a)


def broadcast_view(x):
    y = x * 2.0
    wide = np.broadcast_to(y, (2, 3))
    y[0] = 1.0  # here
    return wide.sum()


def windows_before_a_write(x):
    y = np.zeros(3)
    windows = np.lib.stride_tricks.sliding_window_view(y, 2)
    y[0] = x[0]
    return np.sum(windows)  # here


def graph_with_a_state():
    kept = np.zeros(3)

    def f(x):
        kept[0] = x[0]  # here
        return x * kept

    return record(f).graph(X)


def list_given_twice():
    def f(a, b):
        a.append(a[0])
        return a[0] * b[0]

    both = [2.0, 3.0]
    return record(f)(both, both)  # here


OWN_MEMORY = "an array is written here that shares its memory with an argument"
THROUGH = "Write through the argument, or write into a copy."
LOST = "where it would lose its derivative"
FLOATS = "Make the array a float array, or store int(value)."
CASES = [
    (recorded, into_integers, f"a recorded value is stored into an array of int64, {LOST}", FLOATS),
    (recorded, into_text, f"a recorded value is stored into an array of <U5, {LOST}", FLOATS),
    (called, into_integers_in_place, f"a recorded value is stored into an array of int64, {LOST}", FLOATS),
    (recorded, into_borrowed_memory,
     "a recorded value is stored into a float64 array of shape (3,) whose memory is shared with something that is not "
     "recorded", "Store into an array of its own, for instance a copy."),
    (called, under_its_outer_name, OWN_MEMORY, THROUGH),
    (called, recorded_under_its_outer_name, OWN_MEMORY, THROUGH),
    (called, through_a_part, "an array is used whose memory was written through an argument that is a view of it",
     "Pass the whole array, or a copy of the part."),
    (called, two_arguments_in_one_memory, "two arguments share the memory that is written here",
     "Pass a copy of one of them."),
    (recorded, windows_before_a_write,
     "windows of an array, which share memory, are used after a write into it", "Make them after it."),
    (recorded, broadcast_view,
     "an array is written of which a broadcast view is in use: every entry it shows would change",
     "Broadcast a copy, or broadcast again after the write."),
    (called, graph_with_a_state, "an array is written that exists before the run: a graph keeps no state",
     "Write into a copy."),
    (called, list_given_twice, "a list is changed that is in the arguments twice", "Pass a copy in one of the places."),
]  # fmt: skip
