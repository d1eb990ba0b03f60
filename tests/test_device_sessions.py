"""Sessions: which device a name means, what is said where it is missing, and what stays right when memory is short."""

from __future__ import annotations

import gc
import sys
import threading

import cupy
import numpy as np
import pytest

from autograd_frontend import DeviceUnavailable, devices
from autograd_frontend.devices import gpu
from tests.cuda.host import HostDriver, host_session, installed
from tests.cuda.interim import Interim

runtime = cupy.cuda.runtime


def unavailable(device="gpu"):
    with pytest.raises(DeviceUnavailable) as error:
        devices.session(device)
    return str(error.value)


def test_without_cupy_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert 'device "gpu" cannot be used: CuPy cannot be imported' in unavailable()
    assert "pip install 'cupy-cuda13x[ctk]'" in unavailable()


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: 2)


def test_without_a_device_or_with_too_few(monkeypatch, two_gpus):
    assert "there is no GPU 3: CUDA reports 2, numbered from 0" in unavailable("gpu:3")
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: 0)
    assert "CUDA reports no device" in unavailable()


def test_without_a_driver(monkeypatch):
    def no_driver():
        raise runtime.CUDARuntimeError(35)

    monkeypatch.setattr(runtime, "getDeviceCount", no_driver)
    assert "CUDA cannot be used" in unavailable() and "driver" in unavailable()


def test_without_nvrtc(monkeypatch, two_gpus):
    def missing():
        raise gpu.nvrtc.Missing("NVRTC is not there; install it")

    monkeypatch.setattr(gpu.nvrtc, "version", missing)
    assert "NVRTC is not there" in unavailable()


def test_lowered_precision_is_refused(monkeypatch, two_gpus):
    monkeypatch.setenv("CUPY_TF32", "1")
    assert "CUPY_TF32" in unavailable()


def test_names_of_devices():
    for name in ("gpu:", "gpu:-1", "GPU", "cuda", 0, None, "gpu:1 "):
        with pytest.raises(ValueError, match="there is no device"):
            devices.session(name)
    with installed(host_session(Interim())) as session:
        assert devices.session("gpu") is session and devices.session("gpu:0") is session


def test_the_driver_uses_what_cupy_has():
    """Every name of CuPy's in gpu.py is there; what they do, only a GPU shows."""
    for path in (
        "cuda.Device cuda.get_current_stream cuda.runtime.getDevice cuda.runtime.memGetInfo cuda.function.Module"
        " cuda.Stream.record cuda.Stream.wait_event cuda.Stream.synchronize cuda.memory.OutOfMemoryError ndarray.get"
        " ndarray.set get_default_memory_pool cuda.memory.MemoryPool.free_bytes asarray from_dlpack empty"
        " cuda.Device.compute_capability cuda.function.Module.load cuda.function.Module.get_function"
    ).split():
        found = cupy
        for name in path.split("."):
            found = getattr(found, name)
    real = {name for name in vars(gpu.Driver) if not name.startswith("_")}
    assert real - {"inside"} <= set(dir(HostDriver)), "the driver without a GPU has the same methods"


def test_what_waits_survives_a_lack_of_memory(monkeypatch):
    session = host_session(Interim())
    x = session.array(np.arange(6.0))
    y = x * 2
    z = y + 1

    def full(nbytes):
        raise MemoryError(f"{nbytes} bytes do not fit")

    with monkeypatch.context() as patch:
        patch.setattr(session.driver, "empty", full)
        with pytest.raises(MemoryError, match="48 bytes do not fit"):
            z.get()
    x[...] = 0
    assert z.get().tolist() == [1, 3, 5, 7, 9, 11] and y.get()[2] == 4


def test_threads_share_a_session():
    session = host_session(Interim())
    x = session.array(np.arange(6.0).reshape(2, 3))
    shared = [x * k + 1 for k in range(20)]
    wrong = []

    def work(seed):
        for k in range(60):
            y = shared[(k + seed) % 20] * seed
            z = np.sum(y, k % 2) + y.sum()
            y[0] = 0
            here = (np.arange(6.0).reshape(2, 3) * ((k + seed) % 20) + 1) * seed
            if not np.allclose(z.get(), np.sum(here, k % 2) + here.sum()) or y.get()[0].any():
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    shared.clear()
    del x
    gc.collect()
    assert session.live_bytes() == 0


def test_two_sessions_do_not_mix():
    a, b = host_session(Interim()), host_session(Interim())
    with pytest.raises(ValueError, match="meet in one operation|is used on"):
        a.array(np.ones(3)) + b.array(np.ones(3))


def test_arrays_made_of_lists_and_numbers():
    session = host_session(Interim())
    made, x = session.made, session.array(np.arange(3.0))
    assert made[np.array]([x, [1, 2, 3]]).get().tolist() == [[0, 1, 2], [1, 2, 3]]
    assert made[np.array]([[x[0], 5.0], [x[1], x[2]]]).get().tolist() == [[0, 5], [1, 2]]
    y = made[np.array](x)
    y[0] = 9
    assert x.get()[0] == 0 and made[np.asarray](x) is x
    assert made[np.float32](x[1]).dtype == np.float32 and made[np.float32](x[1]).scalar
    assert made[np.full]((2, 3), x).get().tolist() == [[0, 1, 2]] * 2
    with pytest.raises(ValueError, match="inhomogeneous"):
        made[np.array]([x, x[:2]])


def test_cotangents_are_checked():
    session = host_session(Interim())
    x = session.array(np.arange(3.0))
    c = session.cotangent(x, [1, 2, 3], "the value")
    assert c.dtype == np.float64 and c.get().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"the cotangent of the value has shape \(2,\), expected \(3,\)"):
        session.cotangent(x, np.ones(2), "the value")
    with pytest.raises(TypeError, match="complex128, expected real numbers"):
        session.cotangent(x, np.ones(3) * 1j, "the value")
    assert session.cotangent(x.sum(), 1.0, "the value").scalar


def test_mirrors_have_the_strides_asked_for():
    session = host_session(Interim())
    for x in (np.ones((3, 4)), np.ones((3, 4)).T, np.ones((4, 6))[:, ::2], np.ones((4, 6))[::-1], np.ones(5)[::-2]):
        m = session.mirror(x.shape, x.dtype, x.strides)
        assert m.strides == x.strides and m.shape == x.shape and not m.get().any()
    assert not session.mirror((3, 4), np.dtype(float), (0, 8)).get().any()


def test_views_at_an_offset():
    session = host_session(Interim())
    x = session.array(np.arange(12.0).reshape(3, 4))
    y = x.relaid((2, 2), np.dtype(float), 40, (32, 16))
    assert y.get().tolist() == [[5, 7], [9, 11]] and y.base is x and y.offset == 40
    assert x[1:].relaid((2,), np.dtype(float), 8, (8,)).get().tolist() == [5, 6]
    assert y.address == x.address
