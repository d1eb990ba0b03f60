"""Reductions on the CPU: rows inside an expression (softmax, layer normalization), and over any axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from autograd_frontend.devices import cuda_layout, cuda_reduce, cuda_rows, cuda_text, cuda_trees
from autograd_frontend.devices.expressions import Expr, Kernel, Launch, call, cast, leaf, row, scalar
from tests.cuda import on_cpu, on_driver

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
LENGTHS = (1, 31, 32, 33, 1000, 5000)


def entries(*shape: int, dtype: Any = "d", seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=shape)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return (x * 50).astype(np.int64).astype(dtype)
    if dtype.kind == "c":
        return (x + 1j * x[::-1]).astype(dtype)
    return x > 0.5 if dtype.kind == "b" else x.astype(dtype)


def binary(name: str, a: Expr, b: Any) -> Expr:
    return call(name, (a, b if isinstance(b, Expr) else scalar(b, a.dtype)), a.dtype)


def softmax(x: np.ndarray) -> tuple[Expr, Expr]:
    """Of rows, and the logarithm of the sum."""
    e = leaf(x)
    top = row("max", e, x.dtype)
    w = call("exp", (binary("subtract", e, top),), x.dtype)
    total = row("sum", w, x.dtype)
    return binary("divide", w, total), binary("add", call("log", (total,), x.dtype), top)


def normalized(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> list[Expr]:
    """Layer normalization, with the mean and the reciprocal deviation."""
    e, n = leaf(x), float(x.shape[-1])
    mean = binary("divide", row("sum", e, x.dtype), n)
    centered = binary("subtract", e, mean)
    variance = binary("divide", row("sum", binary("multiply", centered, centered), x.dtype), n)
    deviation = call("sqrt", (binary("add", variance, 1e-5),), x.dtype)
    y = binary("add", binary("multiply", binary("divide", centered, deviation), leaf(weight)), leaf(bias))
    return [y, mean, deviation]


class Job(NamedTuple):
    """Launches in order, what they write, and what that should be, with the error allowed."""

    launches: list[Launch]
    outputs: list[np.ndarray]
    expected: list[Any]
    bounds: list[Any]


def run(job: Job, library: on_cpu.Library) -> None:
    repeat(job, [lambda launch, k=order: library.run(launch, k) for order in on_cpu.ORDERS])


def repeat(job: Job, ways: list[Callable[[Launch], None]]) -> None:
    """Run a job in several ways, which have to give the same bits, and look at the result."""
    first: list[bytes] = []
    for way in ways:
        for out in job.outputs:
            out[...] = 7
        for launch in job.launches:
            way(launch)
        bits = [out.tobytes() for out in job.outputs]
        first = first or bits
        assert bits == first, f"not the same bits each time\n{job.launches[0].kernel.text}"
    for out, expected, bound in zip(job.outputs, job.expected, job.bounds):  # none where the caller compares
        expected = np.asarray(expected)
        assert out.shape == expected.shape
        same = (out == expected) | ((out != out) & (expected != expected))
        wrong = ~same
        if expected.dtype.kind in "fc":
            wrong &= ~(np.abs(out - expected) <= bound)
        assert not wrong.any(), (out[wrong][:4], expected[wrong][:4], job.launches[0].kernel.text)


# Rows


@cache
def row_jobs() -> dict[tuple[str, int], list[Job]]:
    found: dict[tuple[str, int], list[Job]] = {}
    for dtype in ("f", "d"):
        for n in LENGTHS:
            eps = float(np.finfo(dtype).eps)
            x = entries(5, n, dtype=dtype, seed=n)
            y, z = np.empty((5, n), dtype), np.empty((5, 1), dtype)
            a, b = softmax(x)
            exact = x.astype(np.longdouble)
            w = np.exp(exact - exact.max(-1, keepdims=True))
            expected = [w / w.sum(-1, keepdims=True), np.log(w.sum(-1, keepdims=True)) + exact.max(-1, keepdims=True)]
            bounds = [20 * eps * expected[0], 8 * eps * (1 + np.abs(expected[1]))]
            jobs = [Job([cuda_rows.rows([(a, y), (b, z)])], [y, z], expected, bounds)]
            weight, bias = entries(n, dtype=dtype, seed=1), entries(n, dtype=dtype, seed=2)
            outs = [np.empty((5, n), dtype), np.empty((5, 1), dtype), np.empty(5, dtype)]
            mean = exact.mean(-1, keepdims=True)
            deviation = np.sqrt(((exact - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
            expected = [(exact - mean) / deviation * weight + bias, mean, deviation[:, 0]]
            first = 40 * eps * (1 + np.abs((exact - mean) / deviation * weight)) * (1 + np.abs(mean / deviation))
            bounds = [first, 4 * eps, 4 * eps * (1 + deviation[:, 0])]
            jobs.append(Job([cuda_rows.rows(list(zip(normalized(x, weight, bias), outs)))], outs, expected, bounds))
            found[dtype, n] = jobs
    return found


@cache
def row_library() -> on_cpu.Library:
    return on_cpu.build([k for jobs in row_jobs().values() for job in jobs for k in kernels(job)])


def kernels(job: Job) -> list[Kernel]:
    return [launch.kernel for launch in job.launches]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_rows(dtype: str, n: int) -> None:
    for job in row_jobs()[dtype, n]:
        run(job, row_library())


def test_one_text_for_all_lengths() -> None:
    texts = {job.launches[0].kernel.name for jobs in row_jobs().values() for job in jobs if len(job.outputs[0][0]) > 1}
    assert len(texts) == 4  # two operations in two element types


def test_rows_of_other_layouts() -> None:
    """A transposed, reversed region of three axes; an expression of rows that is shared; a second output."""
    x = entries(6, 40, 5).transpose(2, 0, 1)[::-1, 1::2]
    b = entries(3, 1)
    e = binary("add", leaf(x), leaf(b))
    low, total = row("min", e, "d"), row("prod", binary("divide", e, 50.0), "d")
    y = np.zeros((40, 3, 5)).transpose(2, 1, 0)
    z, w = np.zeros((5, 3)), np.zeros((5, 3, 1), "f")
    outs = [(binary("subtract", binary("multiply", e, low), low), y), (total, z), (cast(low, "f"), w)]
    full = x + b
    least = full.min(-1, keepdims=True)
    expected = [full * least - least, (full / 50.0).prod(-1), least.astype("f")]
    job = Job([cuda_rows.rows(outs)], [y, z, w], expected, [0, 1e-13 * np.abs(expected[1]), 0])
    run(job, on_cpu.single(job.launches[0].kernel))


def test_rows_in_place_and_nan() -> None:
    x = entries(4, 50)
    x[1, 7], x[2, 3] = np.nan, -np.inf
    expected = x / np.max(x, -1, keepdims=True)
    e = leaf(x)
    launch = cuda_rows.rows([(binary("divide", e, row("max", e, "d")), x)])
    assert "__restrict__" not in launch.kernel.text
    on_cpu.run(launch)
    np.testing.assert_array_equal(x, expected)


def test_rows_of_whole_numbers_and_halves() -> None:
    k, h = entries(3, 70, dtype="h"), entries(3, 70, dtype="e")
    outs = [np.empty((3, 1), "q"), np.empty((3, 1), "h"), np.empty((3, 1), "e"), np.empty((3, 70), "e")]
    total = row("sum", leaf(h), "e")
    exprs = [row("sum", leaf(k), "q"), row("min", leaf(k), "h"), total, binary("subtract", leaf(h), total)]
    job = Job([cuda_rows.rows(list(zip(exprs, outs)))], outs, [], [])
    run(job, on_cpu.single(job.launches[0].kernel))
    np.testing.assert_array_equal(outs[0], k.sum(-1, keepdims=True, dtype="q"))
    np.testing.assert_array_equal(outs[1], k.min(-1, keepdims=True))
    np.testing.assert_array_equal(outs[2], h.astype("d").sum(-1, keepdims=True).astype("e"))
    np.testing.assert_array_equal(outs[3], h - outs[2])


def test_rows_of_one_length_only() -> None:
    a, b = row("sum", leaf(entries(2, 3)), "d"), row("sum", leaf(entries(2, 4)), "d")
    with pytest.raises(ValueError, match="rows of one length"):
        cuda_rows.rows([(binary("add", a, b), np.empty((2, 1)))])


@pytest.mark.gpu
def test_rows_and_reductions_on_a_gpu() -> None:
    """In the same bounds, and with the same bits each time."""
    from autograd_frontend.devices.gpu import Driver

    driver = Driver(0)
    for several in (*row_jobs().values(), *jobs().values()):
        for job in several:
            repeat(job, [partial(on_driver.run, driver)] * 2)


# Over any axes


def scratch(shape: Any, dtype: Any) -> np.ndarray:
    return np.full(shape, 0xFF, dtype)


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((1,), (0,)), ((70_000,), (0,)), ((3, 4, 5), (1,)), ((3, 4, 5), (0, 2)), ((3, 1, 4), (0, 1, 2)),
    ((900, 7), (0,)), ((7, 2500), (1,)), ((300, 33), (0,)), ((600, 2), (1,)), ((5000, 3), (0,)), ((60, 9, 8), (1,)),
]  # fmt: skip
NUMPY = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all,
         "argmax": np.argmax, "argmin": np.argmin}  # fmt: skip
TYPES = ("d", "f", "e", "q", "b", "H", "?", "F", "D")


def reduced(name: str, dtype: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> Job | None:
    x = entries(*shape, dtype=dtype, seed=len(name))
    if dtype in "FD" and name not in ("sum", "prod", "any", "all"):
        return None
    if name in ("any", "all"):
        x = (x if name == "any" else ~x) if dtype == "?" else x * (np.abs(x) > 0.01).astype(x.dtype)
    elif name == "prod" and dtype in "defFD":
        x = (1 + x / 100).astype(dtype)
    axis: Any = axes
    if name.startswith("arg"):
        if len(axes) not in (1, len(shape)):
            return None
        axis = None if len(axes) == len(shape) else axes[0]
        x[x == x.ravel()[0]] = x.max()  # the extreme entry more than once
    wide = {"f": "d", "e": "d", "F": "D", "d": np.longdouble, "D": np.clongdouble}.get(dtype, dtype)
    expected = NUMPY[name](x.astype(wide) if name in ("sum", "prod") else x, axis=axis)
    result = {"any": "?", "all": "?", "argmax": "q", "argmin": "q"}.get(name, dtype)
    if name in ("sum", "prod") and dtype in "bH?":
        result = np.sum(np.zeros(1, dtype)).dtype.char
    out = np.empty(np.shape(expected), result)
    bound: Any = 0
    if name in ("sum", "prod") and dtype in "defFD":
        size = NUMPY["sum"](np.abs(x.astype(wide)), axis=axis) if name == "sum" else np.abs(expected) * 100
        bound = np.finfo(dtype).eps * np.abs(expected) + 8 * np.finfo("d").eps * size
    return Job(cuda_reduce.reduction(name, leaf(x), axes, out, scratch), [out], [expected], [bound])


@cache
def jobs() -> dict[str, list[Job]]:
    """Each way for the types whose accumulators differ; for the rest one."""
    found: dict[str, list[Job]] = {}
    for name in NUMPY:
        made = []
        for dtype in TYPES:
            for shape, axes in SHAPES if dtype in "dq" else SHAPES[2:4] + SHAPES[5:6]:
                made.append(reduced(name, dtype, shape, axes))
        found[name] = [job for job in made if job is not None]
    return found


@cache
def library() -> on_cpu.Library:
    return on_cpu.build([k for several in jobs().values() for job in several for k in kernels(job)])


@pytest.mark.parametrize("name", NUMPY)
def test_reductions(name: str) -> None:
    for job in jobs()[name]:
        run(job, library())


def test_each_way_is_taken() -> None:
    every = [job.launches for several in jobs().values() for job in several]
    ways = {(len(launches), launches[0].kernel.barriers, launches[-1].kernel.barriers) for launches in every}
    assert ways == {(1, True, True), (1, False, False), (2, True, True), (2, False, True)}


def test_many_outputs_in_pieces() -> None:
    """A second launch with a thread for an output."""
    x = np.lib.stride_tricks.as_strided(entries(60), (40, 5000), (8, 0)) + np.arange(5000)
    out = np.empty(5000)
    job = Job(cuda_reduce.reduction("sum", leaf(x), (0,), out, scratch), [out], [x.sum(0)], [1e-9])
    assert [k.barriers for k in kernels(job)] == [False, False]
    run(job, on_cpu.build(kernels(job)))


def test_sums_are_nearly_exact() -> None:
    """Where a running sum in float64 loses six digits."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=40_000) * 10.0 ** rng.uniform(-8, 8, 40_000)
    x = np.concatenate((x, -x[::-1], rng.normal(size=100)))
    rng.shuffle(x)
    out, single = np.empty(()), np.empty((), "f")
    f = x.astype("f")
    parts = cuda_reduce.reduction("sum", leaf(x), (0,), out, scratch)
    others = cuda_reduce.reduction("sum", leaf(f), (0,), single, scratch)
    both = on_cpu.build([launch.kernel for launch in (*parts, *others)])
    for launch in (*parts, *others):
        both.run(launch)
    assert abs(out - math.fsum(x)) <= np.spacing(abs(math.fsum(x))) + 1e-30 * np.abs(x).sum()
    bound = np.spacing(np.float32(abs(math.fsum(f)))) + 8 * 2.2e-16 * np.abs(f.astype("d")).sum()
    assert abs(single - math.fsum(f)) <= bound
    line = np.empty((1, 1))
    on_cpu.run(cuda_rows.rows([(row("sum", leaf(x[None, :]), "d"), line)]))
    assert abs(line[0, 0] - math.fsum(x)) <= np.spacing(abs(math.fsum(x))) + 1e-30 * np.abs(x).sum()


def test_special_numbers() -> None:
    inf, nan = np.inf, np.nan
    lines = np.array([[inf, 1, 1e308], [inf, -inf, 1], [nan, 1, 2], [-0.0, -0.0, -0.0], [1e308, 1e308, 1], [1, 2, -3]])
    expected = lines.sum(1)
    out, places, top = np.empty(6), np.empty(6, "q"), np.empty(6)
    for launch in (
        *cuda_reduce.reduction("sum", leaf(lines), (1,), out, scratch),
        *cuda_reduce.reduction("argmax", leaf(lines), (1,), places, scratch),
        *cuda_reduce.reduction("min", leaf(lines), (1,), top, scratch),
    ):
        on_cpu.run(launch)
    np.testing.assert_array_equal(out, expected)
    assert np.signbit(out[3]) == np.signbit(expected[3])
    np.testing.assert_array_equal(places, lines.argmax(1))
    np.testing.assert_array_equal(top, lines.min(1))


def test_expression_is_computed_as_it_is_read() -> None:
    """A sum of products of broadcast, strided arrays: one launch, with kept and with dropped axes, into any memory."""
    x, y = entries(8, 30, 6)[::2, ::-1], entries(30, 1)
    e = binary("multiply", leaf(x), leaf(y))
    expected = (x * y).sum((0, 2))
    for out in (np.zeros((1, 30, 1)), np.zeros(60)[::2], np.zeros((30,))[::-1]):
        (launch,) = cuda_reduce.reduction("sum", e, (0, -1), out, scratch)
        on_cpu.run(launch)
        np.testing.assert_allclose(out.reshape(30), expected, rtol=1e-14, atol=1e-14)


def test_nothing_to_reduce() -> None:
    for name, value in (("sum", 0.0), ("prod", 1.0)):
        out = np.full((3,), 9.0)
        (launch,) = cuda_reduce.reduction(name, leaf(np.empty((3, 0))), (1,), out, scratch)
        on_cpu.run(launch)
        np.testing.assert_array_equal(out, value)
    assert cuda_reduce.reduction("sum", leaf(np.empty((0, 3))), (1,), np.empty(0), scratch) == []
    with pytest.raises(ValueError, match="zero-size array to reduction operation max"):
        cuda_reduce.reduction("max", leaf(np.empty((3, 0))), (1,), np.empty(3), scratch)
    with pytest.raises(NotImplementedError, match="no max of complex128"):
        cuda_reduce.reduction("max", leaf(np.ones(3, complex)), (0,), np.empty((), complex), scratch)


def test_reduction_text_knows_no_sizes() -> None:
    def text(*shape: int) -> list[str]:
        out = np.empty(shape[:1])
        return [k.kernel.name for k in cuda_reduce.reduction("sum", leaf(entries(*shape)), (1,), out, scratch)]

    assert text(3, 5000) == text(5, 9000)
    assert text(2000, 100) == text(3000, 64)


def test_a_found_text_is_the_one_that_would_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def launches() -> list[Launch]:
        made = [cuda_rows.rows(list(zip(softmax(entries(5, n, dtype=d)), (entries(5, n), entries(5, 1)))))
                for n in LENGTHS for d in "fd"]  # fmt: skip
        for name in NUMPY:
            for dtype in "dq?":
                for shape, axes in SHAPES:
                    job = reduced(name, dtype, shape, axes)
                    made += job.launches if job else []
        return made

    found = [launch.kernel for launch in launches()]
    monkeypatch.setattr(cuda_text.Text, "kernel", lambda text, write: text.written(*write()))
    assert [launch.kernel for launch in launches()] == found


def test_wide_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_layout, "NARROW", 0)
    x = entries(4, 3000)
    out, y = np.empty(4), np.empty_like(x)
    launches = cuda_reduce.reduction("sum", leaf(x), (1,), out, scratch)
    launches.append(cuda_rows.rows([(binary("subtract", leaf(x), row("max", leaf(x), "d")), y)]))
    assert all("int64" in launch.kernel.parameters for launch in launches)
    for launch in launches:
        on_cpu.run(launch)
    np.testing.assert_allclose(out, x.sum(1), rtol=1e-13)
    np.testing.assert_array_equal(y, x - x.max(1, keepdims=True))


def test_sizes_of_accumulators() -> None:
    """What the host reserves is what the compiler lays out."""
    trees = [cuda_trees.tree(n, np.dtype(d), np.dtype("q") if n.startswith("arg") else np.dtype(d))
             for n in NUMPY for d in TYPES if d not in "FD" or n in ("sum", "prod")]  # fmt: skip
    asserts = "".join([f'static_assert(sizeof({t.name}) == {t.size}, "");\n' for t in trees])
    every = cuda_trees.definitions({t.name: t.text for t in trees}.values()) + asserts
    from autograd_frontend.devices.cuda_types import prelude

    text = prelude(every) + every + 'extern "C" __global__ void sizes() {}\n'
    on_cpu.run(Launch(Kernel(text, "sizes", ()), 1, 1, ()))
