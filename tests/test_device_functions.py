"""NumPy's functions on arrays of a device, and the rules of derivatives there, against NumPy: every sample of every
operation, every kind of index, what is refused, what is launched, and what waits."""

from __future__ import annotations

import gc
from functools import cache

import blocks
import numpy as np
import pytest
from numpy.linalg import LinAlgError

from autograd_frontend.devices import functions
from autograd_frontend.devices.functions_special import BY_PATH
from autograd_frontend.devices.table import Unsupported
from autograd_frontend.ops.block import COMPOSED, LIKE, OPERATIONS, RESULT, find, like
from autograd_frontend.ops.plain import PLAIN
from tests.cuda.host import host_session
from tests.cuda.interim import Interim

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
A, B = np.sin(np.arange(24.0)).reshape(2, 3, 4), np.cos(np.arange(12.0)).reshape(3, 4).astype(np.float32)
V = np.array([0.5, -1.0, 2.0, 2.0, -3.5, 0.0])


@pytest.fixture
def device():
    """Expressions computed by NumPy, kernels written by hand by g++; all memory is given back."""
    session = host_session(Interim())
    yield session
    if session.live_bytes():
        gc.collect()  # an exception that was raised keeps its frames
    assert session.live_bytes() == 0


def sent(session, x):
    if type(x) is np.ndarray and x.dtype.kind in "biufc":
        return session.array(x)
    if type(x) in (list, tuple):
        return type(x)([sent(session, e) for e in x])
    return {k: sent(session, v) for k, v in x.items()} if type(x) is dict else x


def fetched(x):
    if hasattr(x, "layout"):
        return x.get()
    return [fetched(e) for e in x] if isinstance(x, (list, tuple)) else x


def same(y, expected, rtol=1e-12, atol=1e-13):
    """Values within a tolerance; shapes, dtypes, and whether it is a scalar, exactly."""
    y = fetched(y)
    if isinstance(expected, (list, tuple)):
        assert len(y) == len(expected)
        for a, b in zip(y, expected):
            same(a, b, rtol, atol)
        return
    assert np.shape(y) == np.shape(expected) and np.asarray(y).dtype == np.asarray(expected).dtype
    assert isinstance(y, np.ndarray) == isinstance(expected, np.ndarray)
    assert np.allclose(y, expected, rtol, atol, equal_nan=True)


def both(session, f, *xs, rtol=1e-12, atol=1e-13):
    same(f(*sent(session, xs)), f(*xs), rtol, atol)


# Every operation


def arrays_in(x):
    if isinstance(x, (list, tuple)):
        return any(map(arrays_in, x))
    return type(x) is np.ndarray


@cache
def samples():
    """path -> its calls that have an array in them."""
    found = {}
    for c in blocks.cases():
        if c.path.startswith(("numpy.", "scipy.", "operator.", "builtins.")):
            if arrays_in(c.args) or arrays_in(list(c.kwargs.values())):
                found.setdefault(c.path, []).append(c)
    return found


REFUSED = {"numpy.longdouble"}  # callables of the table that a device has not, by name
OTHERWISE = {"numpy.partition"}  # sorted here, which is partitioned too


@pytest.mark.parametrize("path", sorted(samples()))
def test_a_function_is_numpys_on_every_sample(device, path):
    for c in samples()[path]:
        call = BY_PATH.get(path) or device.made.get(c.call, c.call)
        args, kwargs = sent(device, c.args), sent(device, c.kwargs)
        if path in REFUSED:
            with pytest.raises((Unsupported, TypeError)):
                call(*args, **kwargs)
            continue
        y, expected = call(*args, **kwargs), c.plain()
        if path in OTHERWISE:
            y, expected = np.sort(y.get(), axis=None), np.sort(expected, axis=None)
        if path == "scipy.linalg.norm":
            expected = np.asarray(expected)[()]
        same(y, expected)


def test_every_function_of_the_table_of_operations_is_there():
    paths = {path for op in OPERATIONS.values() for path in op.calls} | set(COMPOSED)
    session, missing = host_session(Interim()), set()
    for path in paths:
        f = find(path)
        if not path.startswith("numpy.") or f is None or isinstance(f, np.ufunc) or path.startswith("numpy.ndarray."):
            continue
        name, _, method = path[6:].rpartition(".")
        if isinstance(getattr(np, name, None), np.ufunc):
            there = (name, method) in functions.METHODS or ("", method) in functions.METHODS
        else:
            there = f in functions.FUNCTIONS or f in session.made
        if not there:
            missing.add(path)
    # these are composed of other recorded calls, and are not called on arrays of a device
    assert missing <= {"numpy.longdouble", "numpy.ndenumerate", "numpy.piecewise"}, sorted(missing)


# Every rule


def rules_of(op, operands):
    pulls = [op.pulls[0]] * len(operands) if op.variadic else op.pulls
    pushes = [op.pushes[0]] * len(operands) if op.variadic and op.pushes else op.pushes
    return [("pull", i, r) for i, r in enumerate(pulls)] + [("push", i, r) for i, r in enumerate(pushes)]


def given(c, operands, attributes, y, i, need, send):
    """What a rule asks for, plain or on the device."""
    if need in ("operands", "likes", "recorded", "operand", "operand_like"):
        values = tuple([send(x) for x in operands])
        likes = tuple([like(x) for x in operands])
        return {"operands": values, "likes": likes, "recorded": (True,) * len(operands), "operand": values[i],
                "operand_like": likes[i]}[need]  # fmt: skip
    if isinstance(need, str):
        return send(attributes[need]) if need in c.op.keeps else [] if need == "memo" else attributes[need]
    if need in (RESULT, LIKE + RESULT):
        return (send(y) if np.ndim(y) else y) if need == RESULT else like(y)
    return like(operands[need - LIKE]) if need >= LIKE else send(operands[need])


def applied(c, operands, attributes, y, kind, i, rule, ops, send):
    shape = np.shape(y if kind == "pull" else operands[i])
    g = np.random.default_rng(5).normal(size=shape) if shape else np.float64(0.7)
    args = [given(c, operands, attributes, y, i, need, send) for need in rule.needs]
    return rule.function(ops, send(g), *((i,) if c.op.variadic else ()), *args)


@cache
def recorded():
    """key of an operation -> its samples, each with one callable."""
    found = {}
    for c in blocks.cases():
        if c.path == c.op.calls[0] and not c.op.parts and any(type(x) is np.ndarray for x in c.operands()):
            found.setdefault(c.op.key, []).append(c)
    return found


@pytest.mark.parametrize("key", sorted(recorded()))
def test_a_rule_on_the_device_is_the_plain_one(device, key):
    for c in recorded()[key]:
        if c.path == "numpy.longdouble":
            continue
        operands = [np.array(x, float) if isinstance(x, list) else x for x in c.operands()]
        with np.errstate(all="ignore"):
            attributes, y = c.attributes(), c.plain()
        for kind, i, rule in rules_of(c.op, operands):
            if i >= len(operands) or operands[i] is None:
                continue
            with np.errstate(all="ignore"):
                try:
                    expected = applied(c, operands, attributes, y, kind, i, rule, PLAIN, lambda x: x)
                except (TypeError, AttributeError):  # a rule for an operand that is not given as an array
                    continue
            d = fetched(applied(c, operands, attributes, y, kind, i, rule, device.ops, lambda x: sent(device, x)))
            assert np.shape(d) == np.shape(expected)
            assert np.allclose(d, expected, rtol=1e-11, atol=1e-12, equal_nan=True), (c, kind, i)


def test_the_namespace_for_rules_has_every_name_of_the_plain_one(device):
    names = {name for name in vars(PLAIN) if not name.startswith("__")}
    assert names <= set(vars(functions.DEVICE)) and names <= set(vars(device.ops))
    assert device.ops is device.ops and device.ops.zeros((2,), float).session is device


# Indices

KEYS = [
    np.s_[[0, -1]], np.s_[[1], :, [2, -3, 0]], np.s_[:, [0, 2]], np.s_[..., [3, 0]], np.s_[:, None, [1, 1]],
    np.s_[0, [1, 2]], np.s_[[0, 1], 2], np.s_[0, :, [1, 2]], np.s_[[[0], [1]], [0, 2, 1]], np.s_[1, [2, 0], 1:3],
    np.s_[np.array(1), [0, 1]], np.s_[[]], np.s_[:, []], np.s_[np.zeros((0, 2), int)], np.s_[[True, False]],
    np.s_[:, [True, False, True]], np.s_[A > 0], np.s_[A[..., 0] > 0], np.s_[:, A[0] > 0.5], np.s_[True],
    np.s_[False], np.s_[[0, 1], ::-1, ::2], np.s_[np.array([0, 1], np.uint8)], np.s_[np.array([-1], np.int8), 0],
    np.s_[1, [2], [3]], np.s_[[1], [2], [3]],
]  # fmt: skip


def as_device(session, key):
    if type(key) is tuple:
        return tuple(as_device(session, k) for k in key)
    return session.array(np.asarray(key)) if isinstance(key, (list, np.ndarray)) and np.size(key) else key


@pytest.mark.parametrize("key", KEYS, ids=lambda k: str(k).replace("\n", ""))
@pytest.mark.parametrize("x", [A, A[::-1, :, ::-1].astype(np.float32)], ids=["C", "back"])
def test_reads_and_writes_by_index_arrays(device, key, x):
    for k in (key, as_device(device, key)):
        d, y = device.array(x), np.array(x)
        same(d[k], x[key])
        v = np.random.default_rng(1).normal(size=x[key].shape).astype(x.dtype)
        d[k], y[key] = device.array(v), v
        same(d, y)
        d[k], y[key] = 2.5, 2.5
        same(d, y)
        np.add.at(d, k, device.array(v))
        np.add.at(y, key, v)
        assert np.array_equal(d.get(), y)  # the same order, the same bits


def test_views_are_read_and_written_by_index_arrays(device):
    x = A.copy()
    d = device.array(x)
    d.transpose(2, 1, 0)[::-2][:, [2, 0]] = 7.0
    x.transpose(2, 1, 0)[::-2][:, [2, 0]] = 7.0
    same(d, x)
    waiting = d * 2
    d[[0]] = d[[1]]
    same(waiting, x * 2)
    x[[0]] = x[[1]]
    same(d, x)
    d[:, [0, 1]] = d[:, [1, 0]]
    x[:, [0, 1]] = x[:, [1, 0]]
    same(d, x)


def test_the_last_of_several_values_stays(device):
    d, i = device.zeros((5,), float), np.array([1, 3, 1, 1, 0])
    for k in (i, device.array(i)):
        d[k] = np.arange(5.0)
        assert d.get().tolist() == [4, 3, 0, 1, 0]


ERRORS = [
    (np.s_[[0, 5]], "index 5 is out of bounds for axis 0 with size 2"),
    (np.s_[:, [0, -4]], "index -4 is out of bounds for axis 1 with size 3"),
    (np.s_[0, [9]], "index 9 is out of bounds for axis 1 with size 3"),
    (np.s_[[0], 7], "index 7 is out of bounds for axis 1 with size 3"),
    (np.s_[[0], [0], [0], [0]], "too many indices for array: array is 3-dimensional, but 4 were indexed"),
    (np.s_[[0, 1], [0, 1, 2]], "shape mismatch: indexing arrays could not be broadcast together"),
    (np.s_[[0.5]], "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean"),
    (np.s_[np.array([0.5])], "arrays used as indices must be of integer"),
    (np.s_[[True, False, True]], "boolean index did not match indexed array along axis 0; size of axis is 2"),
]


@pytest.mark.parametrize("key, text", ERRORS, ids=str)
def test_a_wrong_index_is_numpys_error(device, key, text):
    d = device.array(A)
    with pytest.raises(IndexError) as theirs:
        A[key]
    assert text in str(theirs.value)
    for k in (key, as_device(device, key)) if "only" not in text else (key,):
        for act in (lambda: d[k], lambda: d.__setitem__(k, 1.0), lambda: np.add.at(d, k, 1.0)):
            with pytest.raises(IndexError) as ours:
                act()
            assert text in str(ours.value)
    same(d, A)


def test_wrong_values_for_an_index(device):
    d = device.array(A)
    with pytest.raises(ValueError, match="shape mismatch: value array of shape"):
        d[[0, 1]] = np.ones((5, 5))
    with pytest.raises(TypeError, match="same_kind"):
        np.add.at(device.array(np.arange(3)), [0, 1], device.array(np.ones(2)))


def test_indices_of_the_host_ask_nothing_and_those_of_the_device_one_flag(device):
    d, i = device.array(V), device.array(np.array([0, 2]))
    device.driver.reset()
    d[[0, 2]]
    assert (device.driver.launches, device.driver.synchronizations) == (1, 0)
    d[i]
    assert (device.driver.launches, device.driver.synchronizations) == (2, 1)
    device.driver.reset()
    device.ops.take_along(d, device.ops.argsort(d), 0)
    assert (device.driver.launches, device.driver.synchronizations) == (1, 0)  # and one sort
    rows = device.array(A[0])
    device.driver.reset()
    at = (*device.ops.indices((3,)), device.ops.argmax(rows, axis=-1))
    y = rows[at]
    rows[at] = 0.0
    assert device.driver.synchronizations == 0 and device.driver.library_calls == 0  # nothing has to be sorted
    assert np.array_equal(y.get(), A[0].max(-1))


# Functions beyond the samples

FUNCTIONS = [
    (lambda x: np.take(x, [0, 7], mode="wrap"), A), (lambda x: np.take(x, [[1, 0]], axis=1), A),
    (lambda x: np.take_along_axis(x, np.array([[[0], [2], [1]]]), 2), A), (lambda x: np.argmax(x), A),
    (lambda x: np.argmin(x, axis=1, keepdims=True), A), (lambda x: np.nanargmax(x, axis=0), B),
    (lambda x: np.sort(x, axis=0), A), (lambda x: np.argsort(x, axis=None), A), (lambda x: np.argpartition(x, 2)[2], V),
    (lambda x: np.count_nonzero(x > 0, axis=1), A), (lambda x: np.std(x, axis=1, ddof=1), B), (np.var, B),
    (lambda x: np.unique(x), V), (lambda x: np.flatnonzero(x), V), (lambda x: np.nonzero(x), A > 0.5),
    (lambda x: np.argwhere(x), V), (lambda x: np.cov(x), B), (lambda x: np.corrcoef(x), A[0]),
    (lambda x: np.cumulative_sum(x, axis=1, include_initial=True), A), (lambda x: np.ediff1d(x), V),
    (lambda x: np.gradient(x), A[0]), (lambda x: np.gradient(x, 2.0, [0, 1, 3, 4]), A[0]),
    (lambda x: np.digitize(x, [-1.0, 0.0, 1.0]), V), (lambda x: np.searchsorted([-1.0, 0.0, 2.0], x, "right"), V),
    (lambda x: np.vander(x, 3), V), (lambda x: np.tril(x), V), (lambda x: np.linalg.qr(x).R, A[0]),
    (lambda x: np.abs(np.linalg.svd(x).U), A[0]), (lambda x: np.linalg.pinv(x), A), (lambda x: np.linalg.cond(x), A),
    (lambda x: np.linalg.matrix_rank(x), A), (lambda x: np.linalg.norm(x, 3, axis=1), A), (np.isclose, V, V + 1e-9),
    (lambda x: np.allclose(x, x), V), (lambda x: np.array_equal(x, x), V), (lambda x: np.fft.fft2(x), A),
    (lambda x: np.fft.rfftn(x), A), (lambda x: np.fft.irfft2(x), A), (lambda x: np.fft.ifftn(x, norm="ortho"), A),
    (lambda x: np.fft.fft(x, 7, axis=1, norm="forward"), A), (lambda x: np.fft.irfft(x, 5), A * 1j),
    (lambda x: np.fft.fftshift(x), A), (lambda x: np.fft.fft(x, axis=0), B), (lambda x: np.nan_to_num(x / x), V),
    (lambda x: np.median(x, axis=0), B), (lambda x: np.quantile(x, [0.1, 0.6], axis=1), B), (np.fix, V),
    (lambda x: np.quantile(np.where(x == 2, np.nan, x), 0.3), V), (lambda x: np.bincount(x), np.array([3, 1, 1])),
    (lambda x: np.choose([[0], [1]], [x, -x]), V), (lambda x: np.select([x > 1, x < 0], [x, 2 * x], 5), V),
    (lambda x: np.linspace(x, x + 1, 4, dtype=int), V), (lambda x: np.linspace(0, x, 3, endpoint=False), B),
    (lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=((1, 2), (3, 4))), B), (lambda x: np.insert(x, 1, 5.0), V),
    (lambda x: np.pad(x, ((1, 2), (0, 0), (2, 1)), "reflect"), A), (lambda x: np.repeat(x, 2, axis=1), A),
    (lambda x: np.einsum("ijk,kl,ml->im", x, B.T.astype(float), np.ones((5, 3))), A), (np.ptp, A),
    (lambda x: np.einsum("ij,jk->", x, x.T), A[0]), (lambda x: np.einsum("ii->i", x), np.eye(3) * 2.0),
    (lambda x: np.einsum("ij,ij->ij", x, x > 0), A[0]), (lambda x: np.interp(x, [-1.0, 0.0, 2.0], [3.0, 1.0, 4.0]), V),
    (lambda x: np.convolve(x, [1, 2, 3j]), V), (lambda x: np.correlate(x, [1j, 2.0, 3.0, 1.0, 0, 2, 1]), V),
    (lambda x: np.average(x, axis=0, weights=[1.0, 3.0]), A), (lambda x: np.cross(x, x[::-1] + 1), A[:, :, :3]),
    (lambda x: np.angle(x), A * 1j + 1), (lambda x: np.sort(x), B.astype(np.float16)), (np.nanmedian, A),
    (lambda x: np.cumsum(x, dtype=np.float64), B), (lambda x: np.cumsum(x), A > 0), (lambda x: np.trace(x), B),
    (lambda x: np.linalg.slogdet(x), A[0, :, :3]), (lambda x: np.linalg.det(x @ x.mT), A),
    (lambda x: np.linalg.solve(x, np.ones(3)), A[0, :, :3]), (lambda x: np.nanstd(x, axis=1, ddof=9), A),
]  # fmt: skip


@pytest.mark.parametrize("n", range(len(FUNCTIONS)))
def test_a_function_is_numpys(device, n):
    f, *xs = FUNCTIONS[n]
    both(device, f, *xs, rtol=2e-6 if any(x.dtype in (np.float32, np.float16) for x in xs) else 1e-11)


def test_functions_that_write(device):
    for act in (
        lambda x: np.fill_diagonal(x, 7.0), lambda x: np.put(x, [0, -1], [5.0, 6.0]),
        lambda x: np.put(x, 1, 2.0, "clip"),
        lambda x: np.putmask(x, x > 0, 0.5), lambda x: np.put_along_axis(x, np.argmax(x, 1, keepdims=True), 9.0, 1),
        lambda x: np.copyto(x, 3.0, where=x > 0), lambda x: np.cumsum(x, axis=1, out=x),
        lambda x: np.maximum.at(x, [0, 0], 0.0),
    ):  # fmt: skip
        x = A[0].copy()
        d = device.array(x)
        act(d), act(x)
        same(d, x)


REFUSED_CALLS = [
    (lambda x: np.histogram(x), "np.histogram"), (lambda x: np.lexsort((x, x)), "np.lexsort"),
    (lambda x: np.apply_along_axis(np.sum, 0, x), "np.apply_along_axis"), (lambda x: np.linalg.eig(x), "np.linalg.eig"),
    (lambda x: np.unique(x, return_index=True), "np.unique"), (lambda x: np.pad(x, 1, "mean"), "np.pad"),
    (lambda x: np.quantile(x, 0.5, method="lower"), "np.quantile"), (lambda x: np.cov(x, aweights=V), "np.cov"),
    (lambda x: np.argmax(x * 1j), "np.argmax"), (lambda x: np.divide.at(x, [0], 1.0), "np.divide.at"),
    (lambda x: np.polyfit(x, x, 1), "np.polyfit"),
]  # fmt: skip


@pytest.mark.parametrize("f, name", REFUSED_CALLS, ids=[name for _, name in REFUSED_CALLS])
def test_what_a_device_has_not_is_refused_by_name(device, f, name):
    with pytest.raises(Unsupported, match=name.replace(".", r"\.")):
        f(device.array(V))


ERROR_CALLS = [
    (lambda x: np.linalg.inv(x * 0), LinAlgError), (lambda x: np.linalg.cholesky(-x @ x.T), LinAlgError),
    (lambda x: np.linalg.solve(x * 0, x), LinAlgError), (lambda x: np.linalg.inv(x[:2]), LinAlgError),
    (lambda x: np.take(x, 99), IndexError), (lambda x: np.take(x, [0], axis=5), np.exceptions.AxisError),
    (lambda x: np.partition(x, 9), ValueError), (lambda x: np.argmax(x[:0]), ValueError),
    (lambda x: np.max(x[:0]), ValueError),
    (lambda x: np.average(x, weights=x * 0), ZeroDivisionError), (lambda x: np.quantile(x, 1.5), ValueError),
    (lambda x: np.choose([0, 1, 2], [x, x]), ValueError),
    (lambda x: np.bincount(x.astype(int)[0] - 99), ValueError), (lambda x: np.convolve(x[0], x[0, :0]), ValueError),
    (lambda x: np.diff(x, -1), ValueError), (lambda x: np.gradient(x[:1]), ValueError),
    (lambda x: np.linalg.matrix_power(x[:2], 2), LinAlgError), (lambda x: np.nanargmax(x * np.nan), ValueError),
    (lambda x: np.fft.fft(x, 0), ValueError), (lambda x: np.einsum("ij,jk->ik", x, x[:2]), ValueError),
    (lambda x: np.repeat(x, [1, 2]), ValueError), (lambda x: np.cross(x[:, :1], x[:, :1]), ValueError),
    (lambda x: np.insert(x, 20, 1.0), IndexError), (lambda x: np.delete(x, 20), IndexError),
]  # fmt: skip


@pytest.mark.parametrize("n", range(len(ERROR_CALLS)))
def test_errors_are_numpys(device, n):
    f, error = ERROR_CALLS[n]
    x = A[0, :, :3] + np.eye(3)
    for y in (x, device.array(x)):
        with pytest.raises(error):
            f(y)


def test_errors_of_methods_of_ufuncs():
    """NumPy keeps a reference when one raises, so memory is not counted."""
    x = host_session(Interim()).array(V)
    with pytest.raises(IndexError, match="index 9 out-of-bounds in add.reduceat"):
        np.add.reduceat(x, [9])
    with pytest.raises(Unsupported, match="np.multiply.reduceat"):
        np.multiply.reduceat(x, [0])


# What rules rely on


def test_draws_are_numpys(device):
    for dtype in (np.float64, np.float32):
        y = device.ops.uniform((3, 5), 7, 9, dtype)
        assert np.array_equal(y.get(), PLAIN.uniform((3, 5), 7, 9, dtype)) and y.dtype == dtype
    assert device.driver.launches == 2


def test_scatter_has_the_bits_of_the_cpu(device):
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=500), rng.integers(0, 12, 500)
    for p in (places, device.array(places)):
        assert np.array_equal(device.ops.scatter(device.array(x), p, (3, 4)).get(), PLAIN.scatter(x, places, (3, 4)))
        base = rng.normal(size=(3, 4)).astype(np.float32)
        y = device.ops.added(device.array(base), p, device.array(x))
        assert np.array_equal(y.get(), PLAIN.added(base, places, x)) and y.dtype == np.float64
    device.driver.reset()
    device.ops.scatter(device.array(x), device.array(places), (3, 4)).get()
    assert device.driver.launches == 3 and device.driver.library_calls == 1  # zeros, places, sums; a sort


BILINEAR = [
    (lambda ops, g, x: g @ x.T, (3, 4), (5, 4)), (lambda ops, g, x: x.T @ g, (3, 4), (3, 5)),
    (lambda ops, g, x: g @ x.mT, (2, 3, 4), (2, 5, 4)), (lambda ops, g, x: ops.matmul(x, g), (2, 4, 3), (5, 4)),
    (lambda ops, g, x: ops.tensordot(g, x, ([0, 2], [1, 0])), (3, 2, 4), (4, 3, 5)),
    (lambda ops, g, x: ops.einsum("ij,ij->j", g, x), (3, 4), (3, 4)),
    (lambda ops, g, x: ops.row_dots(g, x), (3, 4), (3, 4)),
    (lambda ops, g, x: ops.einsum("bij,bkj->bik", g, x), (2, 3, 4), (2, 5, 4)), (lambda ops, g, x: g @ x, (4,), (4, 3)),
    (lambda ops, g, x: ops.einsum("ij,jk->ki", x, g), (4, 5), (3, 4)), (lambda ops, g, x: x @ g, (4,), (4,)),
]  # fmt: skip


@pytest.mark.parametrize("n", range(len(BILINEAR)))
def test_a_zero_of_the_cotangent_adds_nothing_and_nobody_waits(device, n):
    f, of_g, of_x = BILINEAR[n]
    rng = np.random.default_rng(n)
    g, x = rng.normal(size=of_g), rng.normal(size=of_x)
    g[rng.random(of_g) < 0.5] = 0
    for bad in (None, np.inf, np.nan):
        if bad is not None:
            x[rng.random(of_x) < 0.2] = bad
        expected = PLAIN.bilinear(lambda g, x: f(PLAIN, g, x), g, x)
        dg, dx = device.array(g), device.array(x)
        device.driver.reset()
        y = device.ops.bilinear(lambda g, x: f(device.ops, g, x), dg, dx)
        assert device.driver.synchronizations == 0
        assert np.allclose(y.get(), expected, equal_nan=True) and np.isnan(y.get()).sum() == np.isnan(expected).sum()
    same(dg @ (dg.mT if g.ndim > 1 else dg), g @ (g.mT if g.ndim > 1 else g))  # outside, a product is NumPy's


def test_rules_do_not_wait(device):
    """The pullbacks of products, norms of rows and windows read nothing back."""
    x, y = device.array(A), device.array(np.ones((2, 4, 3)))
    g, ops = device.array(np.ones((2, 3, 3))), device.ops
    softmax, layer = OPERATIONS["softmax_last"], OPERATIONS["layer_norm"]
    device.driver.reset()
    OPERATIONS["matmul"].pulls[0].function(ops, g, y)
    OPERATIONS["matmul"].pulls[1].function(ops, g, x)
    p = softmax.value(ops, x)
    softmax.pulls[0].function(ops, x, p).get if True else None
    value, xh, r = layer.value(ops, x[0], y[0, :, 0], y[0, :, 0])
    layer.pulls[0].function(ops, value, y[0, :, 0], xh, r)
    windows = ops.windows(x, (2,), (3,), (1,), (0,))
    ops.fold(windows, (4,), (3,), (1,), (0,))
    ops.where(ops.finite(x), x, 0)
    assert device.driver.synchronizations == 0


def test_a_recurrence_is_one_launch(device):
    a, b, h = A[0], A[1], A[0, 0]
    device.driver.reset()
    da, db, dh = sent(device, [a, b, h])
    y, z = device.ops.recurrence(da, db), device.ops.scan(da, db, dh)
    assert device.driver.launches == 2
    same(y, PLAIN.recurrence(a, b))
    expected, state = [], h
    for k in range(len(a)):
        state = state * a[k] + b[k]
        expected.append(state)
    same(z, np.array(expected))


def test_the_same_bits_every_time():
    """No order of threads changes a result."""
    found = []
    for order in (0, 1, 2):
        s = host_session(Interim(), order)
        x, i = s.array(np.sin(np.arange(5000.0))), s.array(np.arange(5000) % 7)
        d = s.zeros((7,), float)
        np.add.at(d, i, x)
        found.append(np.concatenate([d.get(), np.cumsum(x).get(), np.argmax(x).get().reshape(1)]))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
