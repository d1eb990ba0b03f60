"""Launches that are remembered: whatever is done again is what would have been made anew."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autograd_frontend import grad, record
from autograd_frontend.devices import cuda_reduce, cuda_rows, cuda_text
from autograd_frontend.devices.expressions import CODES, Codes, Launch, leaf, leaves
from autograd_frontend.devices.kernels_window import repaired
from autograd_frontend.devices.layouts import laid_out
from autograd_frontend.devices.sessions import Session
from autograd_frontend.devices.spots import OUTPUTS, Spot, Texts
from tests.adbench import objectives
from tests.cuda.host import HostDriver, host_session, installed

pytest_plugins = "tests.cuda.fixtures"
A = np.arange(24.0).reshape(4, 6) - 7.5


def shown(launch: Launch) -> Any:
    """A launch as a device sees it."""
    arguments = [x.address if type(x) is Spot else (type(x), x.tobytes()) for x in launch.arguments]
    return launch.kernel, launch.grid, launch.block, arguments


class Checked(Texts):
    """Launches that are compared with those made anew. `done`: how many, `hits`: how many were remembered."""

    done = hits = 0

    def agree(self, make: Callable[[], list[Launch]], again: Callable[[], list[Launch]]) -> list[Launch]:
        before = len(self.plans.plans)
        found = make()
        self.done += 1
        self.hits += len(self.plans.plans) == before
        assert [shown(x) for x in found] == [shown(x) for x in again()]
        return found

    def elementwise(self, outputs: Any) -> Launch:
        return self.agree(
            lambda: [super(Checked, self).elementwise(outputs)], lambda: [cuda_text.elementwise(outputs)]
        )[0]

    def rows(self, outputs: Any) -> Launch:
        return self.agree(lambda: [super(Checked, self).rows(outputs)], lambda: [cuda_rows.rows(outputs)])[0]

    def reduction(self, name: str, e: Any, axes: Any, out: Spot, empty: Any) -> list[Launch]:
        between: list[Any] = []

        def noted(shape: Any, dtype: Any) -> Any:
            between.append(empty(shape, dtype))
            return between[-1]

        return self.agree(
            lambda: super(Checked, self).reduction(name, e, axes, out, noted),
            lambda: cuda_reduce.reduction(name, e, axes, out, lambda shape, dtype: between.pop(0)),
        )


class Still(HostDriver):
    """A driver that computes nothing."""

    def function(self, kernel: Any) -> Any:
        return None

    def launch(self, function: Any, launch: Launch, arguments: list[Any]) -> None:
        self.launches += 1


@pytest.fixture
def still() -> Iterator[Session]:
    with installed(Session(Still(), Checked())) as session:
        yield session


def test_programs_again_launch_what_they_would_anew(still: Session) -> None:
    rng = np.random.default_rng(0)

    def perceptron(w: Any, b: Any, v: Any, x: Any, t: Any) -> Any:
        z = np.tanh(x @ w + b) @ v
        z = z - np.max(z, axis=1, keepdims=True)
        return -np.mean(np.sum((z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))) * t, axis=1))

    def writes(x: Any) -> Any:
        y = np.zeros((4, 6))
        for k in range(4):
            y[k, : k + 1] = x[k, 0] * 2.0
            y[k] += x[k]
            y[:, k] *= 1.5 + k
        x[1:] = y[:-1]
        return np.sum(y * y.T[:4, :4].sum())

    given = [rng.normal(size=s) for s in ((5, 7), (7,), (7, 3), (11, 5), (11, 3))]
    alphas, means, icf, x, gamma, m = objectives.read_gmm()
    mixture = (alphas[:3], means[:3], icf[:3], x[:20], gamma, m)
    for f, arguments in ((perceptron, given), (writes, [A.copy()]), (objectives.gmm, mixture)):
        for _ in range(3):
            with np.errstate(all="ignore"):
                record(f).on("gpu")(*arguments).backward()
    texts: Any = still.texts
    assert texts.hits > texts.done / 2 > 100


OPERANDS = {
    "whole": lambda x: (x, x + 1, x + 2),
    "one array twice": lambda x: (x, x, x + 2),
    "one array thrice": lambda x: (x, x, x),
    "transposed": lambda x: (x, x.T.copy().T, x + 2),
    "every other": lambda x: (x, np.repeat(x, 2, 1)[:, ::2], x + 2),
    "backwards": lambda x: (x, x[::-1], x[:, ::-1]),
    "a row": lambda x: (x, x[0], x + 2),
    "a column": lambda x: (x, x[:, :1], x + 2),
    "an entry": lambda x: (x, x[0, 0], x + 2),
    "a number": lambda x: (x, 3.0, x + 2),
    "another number": lambda x: (x, -0.0, x + 2),
    "numbers": lambda x: (x, 2.0, 5.0),
    "one number twice": lambda x: (x, 2.0, 2.0),
    "float32": lambda x: (x, x.astype(np.float32), x + 2),
    "whole numbers": lambda x: (x, x.astype(np.int32), 2),
    "bool": lambda x: (x, x > 0, x + 2),
    "of two shapes": lambda x: (x[:2], x[0] * 2, x[2:]),
    "overlapping": lambda x: (x[:3], x[1:], x[:3] * 3),
}


def computed(x: Any, a: Any, b: Any, c: Any) -> Any:
    y = a * b + c
    return y, y.sum(), y.sum(0), (y - y.max(-1, keepdims=True)).sum(-1)


def test_one_structure_over_other_operands(device: Session) -> None:
    """Forwards and backwards, so that each comes after each other one, and finds its plans."""
    for name in (*OPERANDS, *reversed(OPERANDS)):
        here = OPERANDS[name](A)
        x = device.array(A)
        for y, expected in zip(computed(x, *OPERANDS[name](x)), computed(A, *here), strict=True):
            assert y.dtype == expected.dtype and y.shape == np.shape(expected), name
            np.testing.assert_allclose(y.get(), expected, 1e-5 if name == "float32" else 1e-13, 1e-12, err_msg=name)


def test_writes_into_what_is_read_and_beside_it(device: Session) -> None:
    """The same expression into memory of its own, into what it reads, into a part that it crosses, and beside it."""
    targets: list[tuple[Any, Any]] = [
        (np.s_[0:3], np.s_[0:3]), (np.s_[0:3], np.s_[1:4]), (np.s_[1:4], np.s_[0:3]), (np.s_[3::-1], np.s_[:]),
        (np.s_[0:2], np.s_[2:4]), (np.s_[2:4], np.s_[0:2]), (np.s_[:, 0:3], np.s_[:, 3:6]),
        (np.s_[:2, :4], np.s_[1:3, 1:5]),
    ]  # fmt: skip
    for _ in range(2):
        for source, target in (*targets, *reversed(targets)):
            for shared in (True, False):
                here = A.copy()
                there = device.array(here)
                x, other = (there, here) if shared else (device.array(A), A.copy())
                waits = there[target] * 2.0
                expected = here[target] * 2.0
                there[target] = x[source] * 0.5 + 1.0
                here[target] = other[source] * 0.5 + 1.0
                np.testing.assert_array_equal(there.get(), here)
                np.testing.assert_array_equal(waits.get(), expected)
                there[source] += x[target]
                here[source] += (here if shared else other)[target]
                np.testing.assert_array_equal(there.get(), here)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_constants_are_those_of_today(device: Session) -> None:
    x = device.array(A)
    for a in (0.0, -0.0, 1.5, np.inf, np.float32(3), 7, True):
        for b in (a, 2.5):
            y, expected = np.copysign(x * a + b, a) * (b + x), np.copysign(A * a + b, a) * (b + A)
            np.testing.assert_array_equal(y.get(), expected)
            np.testing.assert_allclose((x * a + b).sum(0).get(), (A * a + b).sum(0), 1e-13)


def test_a_list_in_the_place_of_an_array_has_its_own_dtype(device: Session) -> None:
    for other in ([1.0] * 6, [1] * 6, [True] * 6, [1j] * 6, 1, 1.0, 1j, np.float32(1), np.int8(1)):
        for x in (A, A.astype(np.float32), (A * 2).astype(np.int16)):
            y, expected = np.add(device.array(x), other), np.add(x, other)
            assert y.dtype == expected.dtype
            np.testing.assert_array_equal(y.get(), expected)
    with pytest.raises(OverflowError):
        device.array(np.ones(3, np.uint8)) + 300
    assert (device.array(np.ones(3, np.uint8)) + 3).get().tolist() == [4, 4, 4]
    with pytest.raises(OverflowError):
        device.array(np.ones(3, np.uint8)) + 300
    assert (device.array(np.ones(3, np.uint8)) < 3).get().all() and (
        device.array(np.ones(3, np.uint8)) < 300
    ).get().all()


def test_products_are_repaired_for_their_own_layout(device: Session) -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum((x @ w) * 0.5)

    for x in (A, A.T.copy().T, np.repeat(A, 2, 1)[:, ::2], A[::-1], A.astype(np.float32)):
        w = np.arange(18.0).reshape(6, 3).astype(x.dtype)
        got, expected = grad(record(f).on("gpu"), wrt=(0, 1))(w, x), grad(f, wrt=(0, 1))(w, x)
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-6)


def test_a_remembered_kernel_gets_the_operands_of_today(still: Session) -> None:
    for x, y in ((A, A.T), (A * 2, A.T), (A.T, A), (A.T.copy(), A), (A.astype(np.float32), A.T.astype(np.float32))):
        a, b = still.array(x), still.array(y)
        d = still.empty((x.shape[0], y.shape[1]), x.dtype)
        for which in ("first", "second", "both"):
            given = still.spot(d), still.spot(a), still.spot(b)
            assert shown(repaired(*given, which)) == shown(repaired.__wrapped__(*given, which))  # type: ignore[attr-defined]


def test_layouts_are_those_of_the_dtype_asked_for() -> None:
    for char in "lqlLQL":
        assert laid_out((3,), np.dtype(char)).dtype.char == char
    assert laid_out((1, 2), np.dtype(np.float32)) is laid_out((1, 2), np.dtype(np.float32))
    x = host_session(Texts()).array(A)
    assert np.zeros_like(x, shape=[2, 3]).shape == (2, 3) and np.zeros_like(x, shape=4).shape == (4,)


def test_codes_are_never_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograd_frontend.devices.expressions.MOST", 8)
    codes = Codes()
    first = [codes[k] for k in range(8)]
    assert first == [codes[k] for k in range(8)]
    later = [codes["other", k] for k in range(20)]
    assert len({*first, *later}) == 28 and len(codes) <= 8
    assert codes[0] not in first + later


def test_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograd_frontend.devices.plans.MOST", 4)
    monkeypatch.setattr("autograd_frontend.devices.layouts.MOST", 4)
    session = Session(Still(), Checked())
    for k in range(1, 12):
        x = session.array(np.arange(float(k)))
        (x * 2 + k).get()
        x.sum().get()
    texts: Any = session.texts
    assert len(texts.plans.plans) <= 4 and len(CODES) > 0


def test_a_region_forgets_what_nobody_holds() -> None:
    session = host_session(Texts())
    x = session.array(A)
    kept = [x * k for k in range(OUTPUTS - 2)]
    for k in range(300):
        np.sqrt(x + k)
    assert session.driver.launches == 0
    kept += [x - 1, x - 2, x - 3]
    assert session.driver.launches == 1
    del kept
    gc.collect()
    assert session.live_bytes() == x.nbytes


def test_what_waits_is_found_by_a_write_wherever_it_waits(device: Session) -> None:
    """Values of several shapes read one memory; some read what has been computed since they were made."""
    for _ in range(2):
        x, here = device.array(A), A.copy()
        whole, row, entry = x * 2.0, x[1] + 1.0, x[1, 2] * 3.0
        spread, beside = entry + x[:2], np.sum(x[1])
        expected = [here * 2.0, here[1] + 1.0, here[1, 2] * 3.0, here[1, 2] * 3.0 + here[:2], np.sum(here[1])]
        device.memory_of(row)
        later = row * 2.0
        expected += [expected[1] * 2.0]
        row[0] = 9.0
        expected[1][0] = 9.0
        x[1] = 0.0
        x[0, 2] = 5.0
        for y, value in zip((whole, row, entry, spread, beside, later), expected, strict=True):
            np.testing.assert_allclose(y.get(), value, 1e-14)
        copy = x.copy()
        x *= 2.0
        here[1], here[0, 2] = 0.0, 5.0
        np.testing.assert_array_equal(copy.get(), here)


def test_leaves_of_an_expression() -> None:
    session = host_session(Texts())
    x, y = session.array(A), session.array(A)
    e = ((x + y) * x - 1.0).operand()
    assert {id(f) for f in leaves(e)} == {id(x.operand()), id(y.operand())} and leaves(leaf(A))[0].leaf is A
