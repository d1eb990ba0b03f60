"""Constants, data, observation: plain values that nothing is connected to, and storage that is written in between."""

from __future__ import annotations

import functools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import oracle
import pytest

from autograd_frontend import RecordError, ops, record

V = np.array([0.5, -1.0, 2.0])


def kept(state, x):
    return [0.5 * s + x for s in state]


def scaled(x, by):
    return x * by


class Scaling:
    """A function of plain data with a factor of its own."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor

    def method(self, x):
        return x * self.factor


@pytest.mark.parametrize("call", [ops.const, ops.data_const, lambda x: ops.map_data(lambda v: v, x)])
def test_data_is_copied_and_keeps_its_type(call):
    for dtype in (np.float64, np.float32, np.int8, np.uint64, np.bool_, np.longdouble):
        x = np.ones((2, 2), dtype)
        y = call(x)
        x[0] = 0
        assert y.dtype == dtype and y.all()
        assert type(call(dtype(1))) is dtype
    assert type(call(2.5)) is np.float64 and type(call(3)) is np.int64 and type(call(True)) is np.bool_
    assert call([[1, 2], [3, 4]]).dtype == np.int64
    assert call(Fraction(1, 3)) == Fraction(1, 3) and call(Decimal("0.1")) == Decimal("0.1")


def test_a_constant_stays_what_it_was_while_its_source_is_written():
    def f(x):
        a = np.array([1.0, 2.0, 3.0])
        c = ops.const(a)
        y = x * c
        a[:] = 7.0
        return y * c

    r = record(f)(V)
    assert oracle.same_bits(r.value, f(V))
    assert r.backward().tolist() == [1.0, 4.0, 9.0]


def test_map_data_gives_f_a_copy():
    def f(v):
        v[0] = 9.0
        return v

    x = V.copy()
    assert ops.map_data(f, x).tolist() == [9.0, -1.0, 2.0] and np.array_equal(x, V)
    assert ops.map_data(lambda v: v > 0, x).tolist() == [True, False, True]
    assert ops.map_data(lambda v: type(v) is np.ndarray, [1, 2]) == np.True_
    assert type(ops.map_data(lambda v: v.sum(), x)) is np.float64


def test_map_data_inside_a_recording():
    order = functools.partial(np.argsort, kind="stable")

    def f(x):
        at = ops.map_data(order, [3.0, 1.0, 2.0])
        by = ops.map_data(Scaling(2.0), ops.detach(x))
        return x[at] * by + ops.map_data(Scaling(2.0).method, 1.0)

    r = record(f)(V)
    assert oracle.same_bits(r.value, f(V))
    assert r.backward().tolist() == [4.0, 1.0, -2.0]


def adopted(x):
    held = np.zeros(3)
    held[0] = x[0]
    return ops.map_data(lambda v: v + held, [1.0, 2.0, 3.0])


def remembered(x):
    s = Scaling(x[0])
    return ops.map_data(s, 2.0)


def named(x):
    s = Scaling(x[0])
    return ops.map_data(s.method, 2.0)


def compared(x):
    limit = x[0]
    return ops.map_data(lambda v: v > limit, V)


def given_back(x):
    return ops.map_data(lambda v, x=x: x, V)


def partly(x):
    return ops.map_data(functools.partial(scaled, by=x), 2.0)


def in_a_list(x):
    every = [x]
    return ops.map_data(lambda v: every[0] * v, 2.0)


@pytest.mark.parametrize("f", [adopted, remembered, named, compared, given_back, partly, in_a_list])
def test_map_data_does_not_touch_recorded_values(f):
    f(V)
    with pytest.raises(RecordError) as error:
        record(f)(V)
    assert error.value.reason == "f of map_data uses a recorded value, but it has to be a function of plain data"
    assert error.value.remedy == "Compute what it needs before the call, with ops.detach."
    assert "map_data" in error.value.place.text or f in (remembered, named)


def test_detach_and_observe_read_the_current_value():
    def f(x):
        a = np.zeros(3)
        a[1] = x[1] * x[1]
        d, o = ops.detach(a), ops.observe(a[1])
        a[1] = 7.0
        d[0] = 5.0
        return x * d[1] + o + a[0]

    r = record(f)(V)
    assert oracle.same_bits(r.value, f(V))
    assert r.backward().tolist() == [1.0, 1.0, 1.0]


def test_detach_is_not_connected():
    def f(x, s):
        return x * ops.detach(x) * ops.detach(s * 2.0) * ops.detach([s, s, 1.0])

    r = record(f)(V, 3.0)
    assert oracle.same_bits(r.value, f(V, 3.0))
    gx, gs = r.backward()
    assert gx.tolist() == (V * 6.0 * [3.0, 3.0, 1.0]).tolist() and gs == 0.0
    assert type(ops.detach(1.5)) is type(record(lambda s: ops.detach(s))(1.5).value) is np.float64
    x = V.copy()
    ops.detach(x)[0] = 9.0
    assert np.array_equal(x, V)


def test_observe_gives_python_numbers():
    for x, kind in [(2.5, float), (np.float32(2.5), float), (np.longdouble(2.5), float), (np.array(2.5), float),
                    (3, int), (np.int8(3), int), (np.bool_(True), bool), (Fraction(1, 2), Fraction)]:  # fmt: skip
        assert type(ops.observe(x)) is kind and ops.observe(x) == x
    assert str(ops.observe(-0.0)) == "-0.0"
    seen = []

    def f(x):
        seen.append((ops.observe(x[0]), ops.observe(np.float32(2.0) * x[1].astype(np.float32))))
        return x * 2.0 if ops.observe(ops.sum(x)) > 0.0 else x

    assert record(f)(V).backward().tolist() == [2.0, 2.0, 2.0]
    assert seen == [(0.5, -2.0)] and [type(x) for x in seen[0]] == [float, float]


def test_update_buffers_leaves_what_was_recorded():
    mean, count = np.array([1.0, 2.0, 3.0]), np.array(1.0)

    def f(x):
        y = x * mean
        before = mean[0:2]
        z = before * x[:2] * count
        ops.update_buffers([mean, count], x, lambda state, v: [state[0] + v, state[1] + 1.0])
        return y * y + x * mean, z, before * count

    r = record(f)(V)
    assert mean.tolist() == [1.5, 1.0, 5.0] and count == 2.0
    assert r.value[0].tolist() == ((V * [1.0, 2.0, 3.0]) ** 2 + V * mean).tolist()
    assert r.value[2].tolist() == [3.0, 2.0]
    want = 2 * V * np.array([1.0, 4.0, 9.0]) + mean
    want[:2] += [1.0, 2.0]
    assert np.allclose(r.backward(), want, rtol=1e-15)


def test_update_buffers_copies_what_f_gives():
    a, b = np.zeros(2), np.ones(2)
    assert ops.update_buffers((a, b), 0.0, lambda state, x: [b, a]) is None
    assert a.tolist() == [1.0, 1.0] and b.tolist() == [0.0, 0.0]

    def g(state, x):
        state[0] += x
        x += 1.0
        return state

    x = np.ones(2)
    ops.update_buffers([a], x, g)
    assert a.tolist() == [2.0, 2.0] and x.tolist() == [1.0, 1.0]
    single = np.zeros(2, np.float32)
    ops.update_buffers([single], [1.0, 2.0], kept)
    assert single.tolist() == [1.0, 2.0]
    ops.update_buffers([], 1.0, kept)


FAILING = [
    (kept, lambda a: [a, np.float64(1.0)], TypeError,
     "update_buffers: state[1] is a float64, expected an array to write into"),
    (kept, lambda a: a, TypeError, "update_buffers: state is a ndarray, expected a list of arrays"),
    (3, lambda a: [a], TypeError, "update_buffers: f is an int, expected a function"),
    (lambda s, x: s[:1], lambda a: [a, a], ValueError,
     "update_buffers: f gave 1 arrays, expected 2, one for each buffer"),
    (lambda s, x: [s[0], np.ones(2)], lambda a: [a, a], ValueError,
     "update_buffers: f(state, x)[1] has shape (2,), expected (3,)"),
    (lambda s, x: [7.0], lambda a: [a], ValueError, "update_buffers: f(state, x)[0] has shape (), expected (3,)"),
    (lambda s, x: None, lambda a: [a], TypeError,
     "update_buffers: f gave a NoneType, expected a list, one array for each buffer"),
    (lambda s, x: [s[0], s[1] * 0.5], lambda a: [a, np.arange(3)], TypeError,
     "update_buffers: f(state, x)[1] is float64, which int64 does not hold"),
    (lambda s, x: [s[0] + 1.0, s[1]], lambda a: [a, np.broadcast_to(1.0, (3,))], ValueError,
     "update_buffers: state[1] is read-only, expected an array to write into"),
]  # fmt: skip


@pytest.mark.parametrize("case", FAILING, ids=lambda c: c[3])
def test_a_failed_update_writes_nothing(case):
    f, state_of, kind, message = case
    a = V.copy()
    for call in (ops.update_buffers, record(lambda x: ops.update_buffers(state_of(a), x, f))):
        with pytest.raises(kind) as error:
            call(state_of(a), 1.0, f) if call is ops.update_buffers else call(1.0)
        assert str(error.value) == message
        assert np.array_equal(a, V)


def test_a_buffer_is_not_trained():
    a = V.copy()

    def of_an_argument(x):
        ops.update_buffers([x], 1.0, kept)

    def of_stored(x):
        a[0] = x
        ops.update_buffers([a], 1.0, kept)

    for f, x in ((of_an_argument, V.copy()), (of_stored, 1.0)):
        with pytest.raises(RecordError) as error:
            record(f)(x)
        assert error.value.reason == "state of update_buffers is recorded, but it has to be plain data"
        assert error.value.remedy.startswith("Give it arrays that are not differentiated")
    with pytest.raises(RecordError, match="shares its memory with an argument"):
        record(lambda x: ops.update_buffers([held[0:1]], 1.0, kept))(held)
    with pytest.raises(RecordError, match="f of update_buffers uses a recorded value"):
        record(lambda x: ops.update_buffers([a], 1.0, lambda s, v: [s[0] * x]))(1.0)
    assert a.tolist() == [1.0, -1.0, 2.0] and np.array_equal(held, V)


held = V.copy()

ERRORS = [
    (lambda: ops.const([[1], [1, 2]]), ValueError, "const: value has lists of different lengths, expected an array"),
    (lambda: ops.const("a"), TypeError, "const: value is a str, expected real numbers or booleans"),
    (lambda: ops.data_const(None), TypeError, "data_const: x is a NoneType, expected real numbers or booleans"),
    (lambda: ops.data_const(np.array([1j])), TypeError,
     "data_const: x is a complex128 array, expected real numbers or booleans"),
    (lambda: ops.map_data(3, 1.0), TypeError, "map_data: f is an int, expected a function"),
    (lambda: ops.map_data(str, 1.0), TypeError, "map_data: f(x) is a str, expected real numbers or booleans"),
    (lambda: ops.observe(V), ValueError, "observe: x has shape (3,), expected a scalar"),
    (lambda: ops.observe([1.0]), ValueError, "observe: x has shape (1,), expected a scalar"),
    (lambda: ops.detach("a"), TypeError, "detach: x is a str, expected an array or a number"),
    (lambda: ops.detach(), TypeError, "detach() missing 1 required positional argument: 'x'"),
]  # fmt: skip


@pytest.mark.parametrize("case", ERRORS, ids=lambda c: c[2])
def test_errors(case):
    call, kind, message = case
    for f in (lambda x: call(), record(lambda x: call())):
        with pytest.raises(kind) as error:
            f(1.0)
        assert type(error.value) is kind and str(error.value) == message


@pytest.mark.parametrize("name", ["const", "data_const", "map_data"])
def test_a_recorded_value_is_no_data(name):
    call = {"map_data": lambda x: ops.map_data(np.square, x)}.get(name, getattr(ops, name))
    argument = "value" if name == "const" else "x"
    for f, instead in ((lambda x: call(x), "detach"), (lambda x: call([x[0]]), "detach"),
                       (lambda x: call(x[0]), "observe")):  # fmt: skip
        with pytest.raises(RecordError) as error:
            record(f)(V)
        assert error.value.reason == f"{argument} of {name} is recorded, but it has to be plain data"
        assert error.value.remedy == f"Write ops.{instead}({argument}), which has no derivative."
