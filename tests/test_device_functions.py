"""NumPy's functions on arrays of a device, against NumPy: every sample of every operation, every kind of index, what is
refused, and errors."""

from __future__ import annotations

from functools import cache

import blocks
import numpy as np
import pytest
from device_help import A, B, V, both, device, same, sent
from numpy.linalg import LinAlgError

from autograd_frontend.devices import functions
from autograd_frontend.devices.functions import BY_PATH
from autograd_frontend.devices.table import Unsupported
from autograd_frontend.ops.block import COMPOSED, OPERATIONS, find
from tests.cuda.host import host_session
from tests.cuda.interim import Interim

assert device  # the fixture
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


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


# Callables of the table that a device has not, or not with all that they take: several orders at once.
REFUSED = {"numpy.longdouble", "scipy.special.polygamma", "scipy.special.jv"}
OTHERWISE = {"numpy.partition"}  # sorted here, which is partitioned too


@pytest.mark.parametrize("path", sorted(samples()))
def test_a_function_is_numpys_on_every_sample(device, path):
    for c in samples()[path]:
        call = BY_PATH.get(path) or device.counterpart(c.call)
        args, kwargs = sent(device, c.args), sent(device, c.kwargs)
        try:
            y, expected = call(*args, **kwargs), c.plain()
        except TypeError as e:
            assert path in REFUSED and (type(e) is Unsupported or "not copied to the host unasked" in str(e))
            continue
        if path in OTHERWISE:
            y, expected = np.sort(y.get(), axis=None), np.sort(expected, axis=None)
        if path in ("scipy.linalg.norm", "scipy.linalg.det"):  # Python's floats
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
