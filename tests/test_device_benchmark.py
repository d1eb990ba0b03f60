"""`benchmarks/gpu.py` runs: on the driver without a GPU, small; its times mean nothing there."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_frontend import value_and_grad
from autograd_frontend.devices.gpu import why_unavailable
from benchmarks import gpu
from tests.cuda.host import host, installed
from tests.cuda.sessions import SESSIONS


def test_every_line_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(SESSIONS["numpy"]()) as session:
        lines = list(gpu.table(["gmm", "mlp"], session, 50_000, 1, others=False))
        assert [len(line) for line in lines] == [len(gpu.HEADER)] * 2
        for line in lines:
            assert line[-1] == "+0 B" and int(line[4]) > 0 and line[5] == "0"  # nothing left over, nothing waits
        gpu.print_table(gpu.HEADER, lines)
        assert [line.count("|") for line in capsys.readouterr().out.splitlines()] == [len(gpu.HEADER) + 1] * 4
        assert "no GPU" in gpu.machine(session) and "NumPy" in gpu.machine(session)


def test_the_chain_is_a_kernel_each_way_and_one_to_keep() -> None:
    case = gpu.cases(1000)["chain"]
    with installed(SESSIONS["numpy"]()) as session:
        run = gpu.ours(case, session)
        session.driver.reset()
        value, (gradient,) = run()
        # one each way, and one that keeps what was saved: the memory of CuPy's arrays is lent, and may change
        assert session.driver.launches <= 3
        x = case.arguments[0]
        assert value.dtype == gradient.dtype == np.float32
        expected = value_and_grad(lambda x: gpu.chain(x).sum())(x.astype(float))[1]
        np.testing.assert_allclose(host(gradient), expected, 1e-4, 1e-5)
        np.testing.assert_allclose(host(value), gpu.chain(x), 1e-5, 1e-6)


@pytest.mark.parametrize("name", ["chain", "gmm", "mlp"])
def test_peers_compute_the_same(name: str) -> None:
    """They take part where they see a GPU; what they would compute is compared here, on the CPU."""
    case = gpu.cases(50_000)[name]
    assert gpu.peers(name, case) == {} or why_unavailable() is None
    torch = pytest.importorskip("torch")
    with installed(SESSIONS["numpy"]()) as session:
        value, gradients = gpu.ours(case, session)()
        found = host(value), [host(g) for g in gradients]
        rtol = 1e-9 if name == "gmm" else 1e-4
        assert gpu.agrees(found, gpu.torch_peer(case, name, torch, "cpu")(), rtol)


def test_without_a_gpu_it_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    reason = why_unavailable()
    if reason is None:
        pytest.skip("there is a GPU")
    assert gpu.main([]) == 1
    assert reason in capsys.readouterr().out
