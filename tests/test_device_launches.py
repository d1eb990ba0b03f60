"""What arrays of a device cost: how many kernels, how much memory, which read-backs."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from autograd_frontend.devices.table import Unsupported
from tests.test_device_array import A, B, both, close, same

pytest_plugins = "tests.cuda.fixtures"


def test_a_chain_of_twelve_is_one_kernel(device):
    x = device.array(A)
    device.driver.reset()
    y = x
    for k in range(4):
        y = np.sqrt(abs(y * 1.5 + k))
    y.get()
    assert device.driver.launches == 1 and device.driver.synchronizations == 1


def test_a_chain_and_what_is_kept_of_it_is_one_kernel(device):
    x = device.array(A)
    device.driver.reset()
    a = x * 2
    b = abs(a + 1)
    c = np.sqrt(b)
    d = c * a
    before = device.live_bytes()
    d.get()
    assert device.live_bytes() - before == 4 * A.nbytes
    for there, here in ((a, A * 2), (b, abs(A * 2 + 1)), (c, np.sqrt(abs(A * 2 + 1)))):
        same(there, here)
    assert device.driver.launches == 1


def test_what_nobody_holds_is_not_stored(device):
    x = device.array(A)
    before = device.live_bytes()
    y = np.sqrt(abs(x * 2 + 1)) * x
    y.get()
    assert device.live_bytes() - before == A.nbytes


def softmax(x):
    e = np.exp(x - np.max(x, -1, keepdims=True))
    return e / np.sum(e, -1, keepdims=True)


def standardized(x):
    d = x - np.mean(x, -1)[..., None]
    return d / np.sqrt(np.mean(d * d, -1)[..., None] + 1e-5)


def cross_entropy(x):
    m = np.max(x, -1)
    return np.log(np.sum(np.exp(x - m[..., None]), -1)) + m


@pytest.mark.parametrize("f", [softmax, standardized, cross_entropy])
def test_functions_of_rows_are_one_kernel(device, f):
    x = device.array(A)
    device.driver.reset()
    y = f(x)
    assert device.driver.launches == 0
    close(y, f(A))
    assert device.driver.launches == 1


def test_rows_that_do_not_fit_together(device):
    both(device, lambda x: softmax(softmax(x).T), B, exact=False)
    both(device, lambda x: softmax(x) * np.sum(x, 0), B, exact=False)
    both(device, lambda x: np.sum(np.sum(x, -1), -1), A, exact=False)
    both(device, lambda x: np.sum(x, -1, keepdims=True) + np.sum(x[0], -1, keepdims=True), A, exact=False)
    both(device, lambda x: np.sum(x, -1) * np.arange(3.0), A, exact=False)
    both(device, lambda x: np.sum(x, -1)[0] + x[0, 0], A, exact=False)
    both(device, lambda x: np.max(x.sum(-1)[:, None] * x, -1), B, exact=False)


def test_a_sum_reads_its_operands_once(device):
    x = device.array(np.arange(200000.0))
    before = device.live_bytes()
    device.driver.reset()
    s = np.sum(x * x)
    assert device.live_bytes() - before < x.nbytes / 10 and device.driver.launches <= 2
    close(s, np.sum(np.arange(200000.0) ** 2))


def test_a_long_chain_is_cut_into_kernels(device):
    x = device.array(A)
    device.driver.reset()
    y, z = x, A
    for k in range(200):
        y, z = y * 0.5 + k, z * 0.5 + k
    same(y, z)
    assert 2 <= device.driver.launches <= 12


def test_many_operands_are_cut_into_kernels(device):
    xs = [device.array(A + k) for k in range(40)]
    same(sum(xs), sum([A + k for k in range(40)]))


def test_a_kernel_is_used_again_with_other_arrays_and_numbers(device):
    for k in range(1, 4):
        x = np.arange(6.0 * k).reshape(2, 3 * k) * k
        there = device.array(x)
        same(there * k + (k + 1), x * k + (k + 1))
        same(there[:, ::k] - there[0, 0], x[:, ::k] - x[0, 0])
        close(np.sum(there * k, 0), np.sum(x * k, 0))
        close(np.max(there * 2.0 - k, (0, 1)), np.max(x * 2.0 - k, (0, 1)))
        close(softmax(there * (k / 10)), softmax(x * (k / 10)))
        there *= k
        there += there
        same(there, x * k + x * k)
        both(device, lambda a, b: (a + b) * a, x, x), both(device, lambda a: (a + a) * a, x)


def test_joining_small_parts_takes_few_kernels(device):
    x = device.array(A)
    device.driver.reset()
    y = device.made[np.array]([[x[0, 0, k] * 2, x[1, 0, k]] for k in range(4)])
    same(y, np.array([[A[0, 0, k] * 2, A[1, 0, k]] for k in range(4)]))
    assert device.driver.launches <= 5


def test_only_read_backs_wait(device):
    x = device.array(A)
    device.driver.reset()
    y = np.sum(softmax(x) @ device.array(B.T.astype(float)), 0)
    y[0] = y[1]
    assert device.driver.synchronizations == 0
    assert bool(y[0, 0] > -100) and float(y[0, 0]) and int(y[0, 0]) is not None and y.tolist()
    assert device.driver.synchronizations == 4


def test_memory_goes_back_at_once(device):
    gc.disable()
    try:
        x = device.array(A)
        before = device.live_bytes()
        y = softmax(x)
        z = y.T @ y.reshape(4, 6)[:3] if False else y[0].T @ y[0]
        z.get(), y.get()
        y[0] = 1
        del y, z
        assert device.live_bytes() == before
    finally:
        gc.enable()


def test_nothing_is_copied_to_the_host_unasked(device):
    x = device.array(A)
    for f in (
        np.asarray,
        np.array,
        list,
        lambda x: np.array([x, x]),
        lambda x: np.zeros(24).__setitem__(slice(None), x),
    ):
        if f is list:
            assert all(type(e) is type(x) for e in f(x))
            continue
        with pytest.raises(TypeError, match="unasked"):
            f(x)


def test_what_is_not_there_is_refused_by_name(device):
    x = device.array(A)
    with pytest.raises(Unsupported, match="np.unwrap has no GPU version"):
        np.unwrap(x)
    with pytest.raises(Unsupported, match="longdouble|float128"):
        x + np.longdouble(1)
    with pytest.raises(Unsupported):
        device.array(np.array(["a"]))


def test_unwritten_memory_is_poisoned(device):
    if not hasattr(device.driver, "kernels"):
        pytest.skip("only the driver without a GPU poisons its memory")
    assert np.isnan(device.empty((3,)).get()).all()
