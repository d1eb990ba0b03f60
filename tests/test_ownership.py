"""Who owns what: results that are used up, gradients that are fresh, buffers that are freed."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

from autograd_frontend import RecordingClosed, record

USED = "this recording was used up by pullback or backward; call the function again"
CLOSED = "this recording was closed; call the function again"


@record
def square(x):
    return x * x


def refuse_all(result, message):
    for use in (result.backward, lambda: result.pullback(1.0), lambda: result.tape):
        with pytest.raises(RecordingClosed) as error:
            use()
        assert str(error.value) == message


def test_backward_and_pullback_use_the_recording_up():
    for use in (lambda r: r.backward(), lambda r: r.pullback(2.0), lambda r: r.backward(2.0)):
        result = square(3.0)
        use(result)
        refuse_all(result, USED)
        assert result.value == 9.0


def test_close_releases_any_number_of_times():
    result = square(3.0)
    result.close()
    result.close()
    refuse_all(result, CLOSED)
    assert result.value == 9.0
    used = square(3.0)
    used.backward()
    used.close()
    refuse_all(used, USED)


def test_a_with_block_closes():
    with square(3.0) as result:
        assert result.value == 9.0
    refuse_all(result, CLOSED)
    with square(3.0) as result:
        assert result.backward() == 6.0
    refuse_all(result, USED)
    with pytest.raises(KeyError), square(3.0) as result:
        raise KeyError
    refuse_all(result, CLOSED)


def test_a_cotangent_that_does_not_fit_releases_the_recording():
    result = square(np.ones(2))
    with pytest.raises(ValueError) as error:
        result.pullback(np.ones(3))
    assert str(error.value) == "the cotangent of the value has shape (3,), expected (2,)"
    refuse_all(result, USED)


def test_the_default_seed_is_ones():
    x = np.array([1.0, 2.0])
    assert square(x).backward().tolist() == square(x).pullback(np.ones(2)).tolist() == [2.0, 4.0]
    assert record(lambda x: (x * x, [x * 3.0, "text"]))(2.0).backward() == 7.0


def test_an_unused_argument_has_zeros_of_its_own_type():
    f = record(lambda x, a, b, c: x)
    gradient = f(1.0, np.ones((2, 3), np.float32), np.float16(2.0), [1.0, (np.ones(2),)]).backward()
    assert (gradient.a.dtype, gradient.a.shape, gradient.a.any()) == (np.float32, (2, 3), False)
    assert type(gradient.b) is np.float16 and gradient.b == 0
    assert gradient.c[0] == 0.0 and gradient.c[1][0].tolist() == [0.0, 0.0]


def test_a_constant_function_has_a_zero_gradient():
    for value in (7.5, None, np.ones(3), "text", (1.0, 2)):
        result = record(lambda x: value)(np.ones(2))
        assert result.value is value
        assert result.backward().tolist() == [0.0, 0.0]


OWN = np.array([3.0, 4.0])
IDENTITIES = {
    "identity": lambda x: x,
    "plus zero": lambda x: x + 0,
    "slice": lambda x: x[:],
    "reshaped": lambda x: x.reshape(2, 1),
    "transposed": lambda x: x.T,
    "raveled": lambda x: np.ravel(x),
    "as array": lambda x: np.asarray(x),
    "expanded": lambda x: x[None],
    "twice": lambda x: (x, x),
    "with a view": lambda x: [x, x[::-1], x.reshape(1, 2)],
    "computed twice": lambda x: (lambda y: (y, y))(x * 2.0),
    "computed and view": lambda x: (lambda y: {"a": y, "b": y[1:]})(x * 2.0),
    "captured": lambda x: (x * 1.0, OWN * 1.0),
    "copied": lambda x: x.copy(),
    "broadcast": lambda x: np.broadcast_to(x, (2, 2)),
    "added": lambda x: x + x,
    "saved": lambda x: (lambda y: (y, y * y))(np.exp(x)),
}


def arrays(tree):
    if isinstance(tree, np.ndarray):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [a for e in tree for a in arrays(e)] if isinstance(tree, (list, tuple)) else []


def ones_like(tree):
    if isinstance(tree, dict):
        return {k: ones_like(v) for k, v in tree.items()}
    if isinstance(tree, np.ndarray):
        return np.ones(tree.shape)
    return type(tree)([ones_like(v) for v in tree])


@pytest.mark.parametrize("f", IDENTITIES.values(), ids=IDENTITIES)
def test_inputs_values_seeds_and_gradients_never_share_memory(f):
    x = np.array([1.0, 2.0])
    result = record(f)(x)
    seed = ones_like(result.value)
    gradient = result.pullback(seed)
    values = arrays(result.value)
    groups = [[x], arrays(seed), [gradient], *[[v] for v in values]]
    for i, group in enumerate(groups):
        for other in groups[i + 1 :]:
            assert not any(np.shares_memory(a, b) for a in group for b in other)
    assert all(a.flags.writeable for a in values) or f is IDENTITIES["broadcast"]


@pytest.mark.parametrize("f", IDENTITIES.values(), ids=IDENTITIES)
def test_writing_into_the_value_before_backward_changes_nothing(f):
    x = np.array([1.0, 2.0])
    expected = record(f)(x).backward()
    result = record(f)(x)
    for v in arrays(result.value):
        if v.flags.writeable:
            v[...] = 100.0
    assert result.backward().tolist() == expected.tolist()


def test_gradients_of_several_arguments_never_share_memory():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    gradient = record(lambda a, b: a + b)(x, y).pullback(np.ones(2))
    assert not np.shares_memory(gradient.a, gradient.b)
    gradient = record(lambda a: a[0] + a[1])([x, y]).pullback(np.ones(2))
    gradient[0][:] = 7.0
    assert gradient[1].tolist() == [1.0, 1.0]


CAPTURED = np.array([[1.5, 0.5], [2.5, 3.5]])
WRITES = {
    "mul": lambda x: x * CAPTURED,
    "square": lambda x: x * x,
    "div": lambda x: CAPTURED / x,
    "div below": lambda x: x / CAPTURED,
    "pow": lambda x: x**CAPTURED,
    "pow above": lambda x: CAPTURED**x,
    "matmul": lambda x: x @ CAPTURED,
    "matmul right": lambda x: CAPTURED @ x,
    "dot": lambda x: np.dot(x, CAPTURED),
    "einsum": lambda x: np.einsum("ij,jk->ik", x, CAPTURED),
    "outer": lambda x: np.outer(x, CAPTURED),
    "exp": lambda x: np.exp(x),
    "sin": lambda x: np.sin(x),
    "sqrt": lambda x: np.sqrt(x),
    "tanh": lambda x: np.tanh(x),
    "where": lambda x: np.where(CAPTURED > 1.0, x * x, 3.0 * x),
    "where mask": lambda x: np.where(CAPTURED, x, 3.0 * x),
    "maximum": lambda x: np.maximum(x, CAPTURED),
    "max": lambda x: x.max(axis=0),
    "max of all": lambda x: np.max(x),
    "prod": lambda x: np.prod(x, axis=1),
    "cumprod": lambda x: np.cumprod(x),
    "sort": lambda x: np.sort(x, axis=None),
    "clip": lambda x: np.clip(x, 0.6, 2.0),
    "mask": lambda x: x[CAPTURED > 1.0] ** 2,
    "where sum": lambda x: np.sum(x * x, where=CAPTURED > 1.0),
    "view": lambda x: x[0] * x[1] * x.T[0],
    "saved view": lambda x: (lambda y: y[0] * y[1])(x.reshape(-1)),
    "solve": lambda x: np.linalg.solve(x, CAPTURED),
    "inv": lambda x: np.linalg.inv(x),
    "norm": lambda x: np.linalg.norm(x),
    "hypot": lambda x: np.hypot(x, CAPTURED),
    "var": lambda x: np.var(x),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x * CAPTURED))),
}


@pytest.mark.parametrize("f", WRITES.values(), ids=WRITES)
def test_writing_between_call_and_backward_changes_nothing(f):
    x = np.array([[1.0, 0.7], [2.0, 3.0]])
    expected = record(f)(x.copy()).backward()
    before = CAPTURED.copy()
    try:
        given = x.copy()
        view = given.T
        result = record(f)(given)
        given[0] = 100.0
        view[:, 1] = -50.0
        CAPTURED[:] = 7.0
        if isinstance(result.value, np.ndarray):
            result.value[...] = 9.0
        assert result.backward().tolist() == expected.tolist()
    finally:
        CAPTURED[:] = before


def test_writing_into_an_index_between_call_and_backward_changes_nothing():
    places, mask, slots = np.array([0, 2]), np.array([True, False, True]), [1, 2]

    def f(x):
        y = np.zeros(3)
        y[places] = x[places] * 2.0
        return y.sum() + x[mask].sum() * 3.0 + x[slots].sum() * 5.0 + np.take(x, places).sum() * 7.0

    result = record(f)(np.array([1.0, 2.0, 3.0]))
    places[:], mask[:], slots[:] = 1, False, [0, 0]
    assert result.backward().tolist() == [12.0, 5.0, 17.0]


ENTRIES = 100_000
ARRAY = 8 * ENTRIES


def steps(x):
    """Saves two arrays at every step."""
    for _ in range(5):
        x = np.sin(x) * x
    return x


@pytest.fixture
def held():
    """The bytes allocated since the test began; nothing is left to the collector."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    yield lambda: tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    gc.enable()


@pytest.mark.parametrize("use", ["backward", "pullback", "close", "del", "with", "misfit", "exception"])
def test_a_released_recording_keeps_no_array(use, held):
    f = record(lambda x: steps(x).sum())
    f(np.ones(3)).close()
    result = f(np.ones(ENTRIES))
    assert held() > 5 * ARRAY
    if use == "backward":
        result.backward()
    elif use == "pullback":
        result.pullback(1.0)
    elif use == "close":
        result.close()
    elif use == "del":
        del result
    elif use == "with":
        with result:
            pass
    elif use == "misfit":
        with pytest.raises(ValueError):
            result.pullback(np.ones(3))
    else:
        with pytest.raises(RuntimeError), result:
            raise RuntimeError
    assert held() < ARRAY


def test_a_function_that_raises_half_way_leaves_nothing(held):
    seen = []

    def f(x):
        y = steps(x)
        seen.append(held())
        raise ValueError(len(y))

    try:
        record(f)(np.ones(ENTRIES))
    except ValueError:
        pass
    assert seen[0] > 5 * ARRAY and held() < ARRAY


def test_saved_buffers_are_freed_as_the_sweep_passes(held):
    seen = []
    result = record(lambda x: steps(x).sum())(np.ones(ENTRIES))
    tape = result._recording.tape

    class Slow(list):
        quiet = True

        def pop(self):
            seen.append(held())
            return list.pop(self)

        def release(self):
            tape.release()

    result._recording.tape = Slow(tape)
    tape.clear()
    result.backward()
    assert max(seen) < seen[0] + 3 * ARRAY and seen[-1] < 6 * ARRAY < seen[0] - 3 * ARRAY


@pytest.fixture
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_value_is_not_kept_by_the_recording_nor_the_other_way_round(without_collector):
    result = record(lambda x: x * 2.0)(np.ones(1000))
    value = weakref.ref(result.value)
    result.backward()
    assert value() is not None
    del result
    assert value() is None


def test_an_unreferenced_argument_is_freed(without_collector):
    x = np.ones(1000)
    given = weakref.ref(x)
    result = record(lambda x: (x * 2.0).sum())(x)
    del x
    result.close()
    assert given() is None


def test_a_value_left_elsewhere_keeps_no_array_after_backward(held):
    left = []

    def f(x):
        y = steps(x)
        left.append(y)
        left.append(x[:1] * 2.0)
        return y * y

    record(f)(np.ones(ENTRIES)).backward()
    assert held() < 2 * ARRAY
    assert np.asarray(left[1]).tolist() == [2.0] and float(left[0][0]) > 0.0
