"""What only a GPU can show: streams, the pool, the same bits twice, and its own checker of memory.

`REQUIRE_GPU=1 python -m pytest -m gpu` selects these with the reference values (test_device_golden.py), generated
programs (test_gpu_recording.py), ADBench, memory, read-backs and launches (test_device_ownership.py, _traffic.py), and
the arrays of the device. None of it has run on one yet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograd_frontend import ops, record
from tests.cuda.host import installed
from tests.cuda.sessions import SESSIONS

X = np.random.default_rng(0).standard_normal((200, 300))
ROOT = Path(__file__).parents[1]
# Where compute-sanitizer is not on the path
TOOLKIT = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "compute-sanitizer"


def model(x: Any, w: Any) -> Any:
    """Kernels of every kind: elementwise, rows, a tree, a product of matrices, a gather with its sorted sums."""
    h = ops.log_softmax_last(np.tanh(x @ w))
    y = h[np.array([3, 1, 3, 0, 7, 7, 7, 2, 9])] * 2.0
    return np.sum(y * y) + np.sum(np.cumsum(h, axis=0)[-1]) + np.max(h)


def differentiated() -> list[Any]:
    result = record(model).on("gpu")(X, X.T[:, :50] / 20)
    return [result.value, *result.backward()]


@pytest.fixture(params=["numpy", pytest.param("gpu", marks=pytest.mark.gpu)])
def session(request: Any) -> Iterator[Any]:
    with installed(SESSIONS[request.param]()) as s:
        yield s


def test_the_model_of_this_file_is_that_of_the_cpu(session: Any) -> None:
    here = record(model)(X, X.T[:, :50] / 20)
    for a, b in zip(differentiated(), [here.value, *here.backward()], strict=True):
        np.testing.assert_allclose(a, b, 1e-10, 1e-10)


def test_the_same_bits_twice(session: Any) -> None:
    for a, b in zip(differentiated(), differentiated(), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.gpu
def test_another_stream_gives_the_same_bits() -> None:
    with installed(SESSIONS["gpu"]()) as session:
        cupy = session.driver.xp
        expected = differentiated()
        with cupy.cuda.Stream(non_blocking=True):
            found = differentiated()
        with cupy.cuda.Stream(non_blocking=True):
            result = record(model).on("gpu")(X, X.T[:, :50] / 20)
        with cupy.cuda.Stream(non_blocking=True):  # the sweep on another one than the run
            across = [result.value, *result.backward()]
        for a, b, c in zip(expected, found, across, strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes() == np.asarray(c).tobytes()


@pytest.mark.gpu
def test_the_pool_is_where_it_was() -> None:
    with installed(SESSIONS["gpu"]()) as session:
        pool = session.driver.xp.get_default_memory_pool()
        differentiated()
        before = pool.used_bytes()
        for _ in range(10):
            differentiated()
        assert pool.used_bytes() == before


@pytest.mark.gpu
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_compute_sanitizer_finds_nothing(tool: str) -> None:
    binary = shutil.which("compute-sanitizer") or (str(TOOLKIT) if TOOLKIT.exists() else None)
    if binary is None:
        pytest.skip("compute-sanitizer is not installed")
    program = "from tests.test_gpu_machine import differentiated; differentiated()"
    command = [binary, "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", program]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
