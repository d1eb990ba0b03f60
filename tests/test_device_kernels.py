"""Kernels written by hand, run on the CPU against NumPy: strides, element types, orders of threads; and every text that
runs here is compiled by NVRTC."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_frontend.devices import kernels, kernels_index, kernels_lu, kernels_scan, kernels_window, nvrtc
from autograd_frontend.devices.kernels_index import Picked
from autograd_frontend.ops import strided
from autograd_frontend.ops.plain import PLAIN
from tests.cuda import on_cpu

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
SEEN: set[str] = set()
FLOATS = ("float16", "float32", "float64")


def run(launch, order=0):
    """Every text also compiles for the GPU, without a warning and without registers spilled."""
    name, text = launch.kernel.name, launch.kernel.text
    if name not in SEEN:
        SEEN.add(name)
        cubin, log = nvrtc.compile_text(text, "sm_90", "--ptxas-options=-v")
        assert cubin and "warning" not in log, f"{name}: {log}\n{text}"
        assert log.count("0 bytes spill stores, 0 bytes spill loads") == log.count("spill stores") > 0, f"{name}: {log}"
    on_cpu.run(launch, order)


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", *FLOATS])
def test_iota_counts_in_any_stride(dtype):
    out = np.empty(20, dtype)[::2]
    run(kernels.iota(out, 3, -1 if np.dtype(dtype).kind != "u" else 1))
    step = -1 if np.dtype(dtype).kind != "u" else 1
    assert np.array_equal(out, (3 + step * np.arange(10)).astype(dtype))


@pytest.mark.parametrize("n", [1, 3, 4, 9, 2000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_draws_have_the_bits_of_numpy(n, dtype):
    out = np.empty(n, dtype)
    run(kernels.uniform(out, 5, 2**64 - 9), 1)
    key = np.array([5, 2**64 - 9], np.uint64)
    assert np.array_equal(out, np.random.Generator(np.random.Philox(key=key)).random(n, dtype))


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "bool"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searched_finds_the_place(dtype, side):
    rng = np.random.default_rng(0)
    table = np.sort(rng.integers(0, 20, 60)).astype(dtype)[::2]
    x = rng.integers(-3, 25, (4, 6)).astype(dtype)[:, ::-1].T
    if dtype.startswith("f"):
        table[-2:], x[0, 0] = np.nan, np.nan
    table = np.sort(table)
    out = np.empty(x.shape, np.int64)
    run(kernels.searched(table, x, out, side == "right"))
    assert np.array_equal(out, np.searchsorted(table, x, side))


# Index arrays

I, J = np.array([[0], [-2], [4]]), np.array([1, -7, 3, 1], np.int32)


def picked(x, axes, front):
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    return Picked(x, axes, tuple(np.broadcast_arrays(I, J)), (3, 4), kept, front)


@pytest.mark.parametrize("dtype", ["complex128", "float64", "float16", "bool"])
def test_gather_reads_what_numpy_reads(dtype):
    x = normal(0, 6, 5, 7).astype(dtype)[::-1]
    flag = np.zeros(1, np.int32)
    for axes, front, key in (((1, 2), 1, np.s_[:, I, J]), ((1, 2), 0, None), ((0, 2), 0, np.s_[I, :, J])):
        p = picked(x, axes, front)
        out = np.empty(p.result, dtype)
        run(kernels_index.gather(p, out, flag))
        assert np.array_equal(out, x[key] if key else np.moveaxis(x[:, I, J], 0, -1)) and not flag


def test_an_index_out_of_bounds_sets_the_flag_and_reads_nothing():
    x, flag = normal(0, 4, 5, 3), np.zeros(1, np.int32)
    p = picked(x, (1, 2), 1)
    out = np.full(p.result, 7.0)
    run(kernels_index.gather(p, out, flag))
    assert flag[0] == 1 and np.array_equal(out[:, :, 1], np.full((4, 3), 7.0))


@pytest.mark.parametrize("order", on_cpu.ORDERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64", "bool", "int8"])
def test_store_and_segments_go_through_the_values_in_order(dtype, order):
    x = np.asarray(normal(1, 5, 7, 6).astype(dtype).transpose(2, 0, 1))
    v = normal(2, 4, 3, 6).astype(dtype).T
    y, flag, at = x.copy(), np.zeros(1, np.int32), np.empty(12, np.int64)
    p = picked(x, (1, 2), 1)
    run(kernels_index.places(p, at, flag), order)
    by = np.argsort(at, kind="stable")
    run(kernels_index.store(p, v, at, by), order)
    y[:, I, J] = v
    assert np.array_equal(x, y)
    ufuncs = ["add"] if dtype == "complex64" else ["add", "maximum"]
    for name in ufuncs if dtype == "bool" else [*ufuncs, "multiply"]:
        run(kernels_index.segments(p, v, at, by, name), order)
        getattr(np, name).at(y, np.s_[:, I, J], v)
        assert np.array_equal(x, y), name


def test_an_index_may_go_along_with_its_place():
    x, k = normal(3, 4, 5, 6), np.random.default_rng(0).integers(0, 5, (4, 2, 6))
    steps = kernels.steps(x)
    p = Picked(x, (1,), (k,), k.shape, (), 0, (steps[0], 0, steps[2]))
    out = np.empty(k.shape)
    run(kernels_index.gather(p, out, None))
    assert np.array_equal(out, np.take_along_axis(x, k, 1))


def test_sums_between_are_those_of_reduceat():
    x, starts = normal(4, 9, 2), np.array([2, 0, 0, 5])
    out = np.empty((4, 2))
    run(kernels_index.sums_between(x, starts, out))
    assert np.allclose(out, np.add.reduceat(x, starts, 0), rtol=1e-15)


# Lines


def accumulated(x, axis, name, order=0):
    out = np.empty(x.shape, x.dtype)
    launches = kernels_scan.accumulate(x, out, axis, name, np.empty)
    for launch in launches:
        run(launch, order)
    return out, len(launches)


REAL = [(dtype, name) for dtype in (*FLOATS, "int64") for name in ("add", "multiply", "maximum", "minimum")]


@pytest.mark.parametrize("dtype, name", [*REAL, ("complex64", "add")])  # NumPy may fuse products of complex numbers
def test_accumulate_has_the_bits_of_numpy(dtype, name):
    x = (normal(5, 3, 20, 4) * 1.5).astype(dtype).transpose(2, 0, 1)
    if dtype in FLOATS and name.startswith("m") and name != "multiply":
        x[0, 0, 7] = np.nan
    for axis in range(3):
        expected = getattr(np, name).accumulate(x, axis=axis)
        assert np.array_equal(accumulated(x, axis, name)[0], expected, equal_nan=True)


def test_a_long_line_is_cut_into_pieces():
    x = normal(6, 100_000)
    y, launches = accumulated(x, 0, "add", 2)
    assert launches == 3 and np.allclose(y, np.cumsum(x), rtol=0, atol=1e-10)
    assert np.array_equal(accumulated(x, 0, "maximum")[0], np.maximum.accumulate(x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_recurrence_goes_step_by_step(dtype):
    a, b, h = normal(7, 9, 3).astype(dtype), normal(8, 3, 9).astype(dtype).T, normal(9, 3).astype(dtype)
    out = np.empty((9, 3), dtype)
    run(kernels_scan.recurrence(a, b, out))
    assert np.array_equal(out, PLAIN.recurrence(a, b))
    h[0], a[0, 0] = 0, np.inf
    run(kernels_scan.recurrence(a, b, out, h, True))
    expected = []
    for k in range(9):
        h = np.where(h == 0, np.zeros(3, dtype), h * a[k]) + b[k]
        expected.append(h)
    assert np.array_equal(out, np.array(expected))


@pytest.mark.parametrize("order", on_cpu.ORDERS)
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool"])
def test_extreme_finds_the_first(dtype, order):
    for n in (5, 33, 700):
        x = np.random.default_rng(n).integers(-5, 9, (3, n, 2)).astype(dtype)
        if dtype in FLOATS:
            x[0, n // 2 :, 0] = np.nan
        for largest, f in ((True, np.argmax), (False, np.argmin)):
            out = np.empty((3, 2), np.int64)
            run(kernels_scan.extreme(x, out, (1,), largest), order)
            assert np.array_equal(out, f(x, 1))
            out = np.empty((), np.int64)
            run(kernels_scan.extreme(x.T, out, (0, 1, 2), largest), order)
            assert out == f(x.T)


# Windows

SETTINGS = (
    ((3, 2), (3, 2), (2, 3), (0, 0)), ((4, 6), (3, 2), (2, 1), (1, 1)), ((7, 8), (1, 3), (1, 1), (0, 2)),
    ((2, 2), (2, 2), (3, 4), (0, 0)), ((4, 1), (6, 6), (1, 1), (1, 0)),
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex128"])
@pytest.mark.parametrize("counts, kernel, stride, padding", SETTINGS)
def test_windows_and_fold_have_the_bits_of_the_cpu(dtype, counts, kernel, stride, padding):
    x = normal(10, 3, 2, 7, 6).astype(dtype).transpose(1, 0, 2, 3)
    expected = strided.windows(x, counts, kernel, stride, padding)
    out = np.empty(expected.shape, dtype)
    run(kernels_window.windows(x, out, kernel, stride, padding), 2)
    assert np.array_equal(out, expected)
    w = expected + normal(11, *expected.shape).astype(dtype)
    expected = strided.fold(w, (7, 6), kernel, stride, padding)
    out = np.empty(expected.shape, dtype)
    run(kernels_window.fold(w, out, kernel, stride, padding), 2)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_product_is_repaired_as_the_cpu_repairs_it(dtype):
    g, x = normal(12, 2, 3, 4).astype(dtype), normal(13, 4, 5).astype(dtype)
    x[1, 2], x[2, 3], x[0, 2], g[:, 1, :3] = np.inf, np.nan, -np.inf, 0
    expected = PLAIN.bilinear(lambda g, x: g @ x, g, x)
    stack = np.broadcast_to(x, (2, 4, 5))
    for d, a, b, which in ((g @ x, g, stack, "first"), (stack.mT @ g.mT, stack.mT, g.mT, "second")):
        assert np.isnan(d).sum() > np.isnan(expected).sum()
        d = np.array(d)
        run(kernels_window.repaired(d, a, b, which))
        d = d if which == "first" else d.mT
        assert np.allclose(d, expected, rtol=1e-2 if dtype == "float16" else 1e-5, equal_nan=True)


@pytest.mark.parametrize("order", on_cpu.ORDERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_determinants_are_those_of_lapack(dtype, n, order):
    a = normal(14, 3, n, n).astype(dtype)
    if n < 40:  # of large ones it depends on rounding whether a pivot is exactly zero
        a[1] = 2.0
        a[1, 0] = 0 if n == 1 else 2
    if n == 3:
        a[2] = [[0, 1, 0], [0, 0, 2], [3, 0, 0]]
    sign, logarithm, scratch = np.empty(3, dtype), np.empty(3, dtype), a.copy()
    run(kernels_lu.slogdet(scratch, sign, logarithm), order)
    expected = np.linalg.slogdet(a)
    assert np.array_equal(sign, expected.sign)
    assert np.allclose(logarithm, expected.logabsdet, rtol=1e-4 if dtype == "float32" else 1e-12)


def test_numbers_of_entries_that_need_64_bits_get_another_text():
    class Large:
        shape, dtype, size, ndim = (2**31,), np.dtype(np.int8), 2**31, 1
        strides = (1,)

    assert kernels.iota(Large()).kernel.parameters[1] == "int64"
    assert kernels.iota(np.empty(3, np.int8)).kernel.parameters[1] == "int32"


def test_a_text_depends_on_no_size_and_no_value():
    first, second = kernels.iota(np.empty(3)), kernels.iota(np.empty(30), 4, 2)
    assert first.kernel == second.kernel and first.arguments[1:] != second.arguments[1:]
