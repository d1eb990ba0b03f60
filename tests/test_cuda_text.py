"""Elementwise kernels: every function with every element type, run on the CPU against NumPy and SciPy; strides,
broadcasting, several outputs, and what the text depends on."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

from autograd_frontend.devices import cuda_functions, cuda_layout, cuda_text
from autograd_frontend.devices.expressions import call, cast, leaf, scalar
from autograd_frontend.ops.block import OPERATIONS
from tests.cuda import functions, on_cpu, on_driver
from tests.cuda.host import host_session

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
TYPES = [d.name for d in functions.DTYPES]

# What gpu.md promises to be NumPy's, bit for bit; with every function of whole numbers and booleans.
EXACT = set(
    """add subtract multiply divide sqrt negative positive absolute square reciprocal equal not_equal less less_equal
    greater greater_equal logical_and logical_or logical_xor logical_not where clip maximum minimum fmax fmin floor ceil
    trunc rint sign signbit isnan isinf isfinite remainder fmod floor_divide copysign nextafter spacing ldexp
    frexp_mantissa frexp_exponent modf_fraction modf_whole heaviside deg2rad rad2deg relu conjugate real imag complex
    cast""".split()
)
FUSED = {"multiply", "square", "reciprocal", "divide", "power"}  # NumPy fuses their complex products on some processors
LOOSE = {  # SciPy's own error, or what cancels: multiples of eps*max(1, |y|), for arguments between 1e-3 and 30
    **dict.fromkeys("erfinv erfcinv erfcx ndtr ndtri gamma gammaln lgamma digamma i0 i1 j0 j1 y0 y1 erfc".split(), 500),
    **dict.fromkeys("boxcox boxcox1p inv_boxcox inv_boxcox1p kl_div rel_entr huber exprel entr xlog1py".split(), 500),
    **dict.fromkeys("gelu silu sinc exp log sqrt sign softplus".split(), 16),
    "power": 1000,  # of complex numbers: as often as the exponent is large
}


def near(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    return (size > 1e-3) & (size < 30)


def distance(y: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """In units of the last place; 0 for equal numbers and for two NaN, 0.5 for zeros of different sign."""
    same = (y == expected) | (np.isnan(y) & np.isnan(expected))
    unit = np.spacing(np.maximum(np.abs(expected), np.finfo(y.dtype).tiny).astype(y.dtype)).astype(np.longdouble)
    d = np.abs(y.astype(np.longdouble) - expected.astype(np.longdouble)) / unit
    signs = same & (y == 0) & (np.signbit(y) != np.signbit(expected))
    return np.where(signs, 0.5, np.where(same, 0, np.where(np.isnan(d), np.inf, d)))


def check(case: functions.Case, given: list[np.ndarray], y: np.ndarray) -> None:
    f = (lambda x: x.astype(case.result)) if case.name == "cast" else functions.reference(case.name)
    wide = case.result == np.float16 and case.name in LOOSE and case.name != "power"  # NumPy rounds inside
    inputs = [x.astype(np.float64) for x in given] if wide else given
    expected = np.asarray(f(*inputs)).astype(case.result)
    complex_ = case.arguments[-1].kind == "c"
    if case.result.kind in "biu":
        keep = np.full(y.shape, True)
        if case.name == "cast" and case.result == np.uint32 and given[0].dtype.kind in "fc":
            keep = np.abs(given[0].real - 2.0**31) <= 2.0**31 - 1e4  # beyond, NumPy's own depends on the strides
        np.testing.assert_array_equal(y[keep], expected[keep], case.name)
    elif case.name in EXACT and not (complex_ and case.name in (*FUSED, "absolute", "sign", "sqrt")):
        parts = [(y.real, expected.real), (y.imag, expected.imag)] if case.result.kind == "c" else [(y, expected)]
        for a, b in parts:
            at = np.argmax(distance(a, b))
            assert not distance(a, b).any(), (case, [x[at] for x in given], y[at], expected[at])
    elif complex_ or case.name in LOOSE and case.name != "power":
        keep = np.all([near(x) if x.dtype.kind in "fc" else x == x for x in given], axis=0)
        eps = float(np.finfo(case.result).eps)
        bound = LOOSE.get(case.name, 8) * eps * np.maximum(np.abs(expected), 1)
        bad = keep & np.isfinite(expected) & ~(np.abs(y - expected) <= bound)
        bad |= keep & (np.isnan(y) != np.isnan(expected))
        assert not bad.any(), (case, [x[bad][:3] for x in given], y[bad][:3], expected[bad][:3])
    else:
        d = distance(y, expected)
        at = np.argmax(d)
        assert d[at] <= 4, (case, d[at], [x[at] for x in given], y[at], expected[at])


@cache
def library() -> on_cpu.Library:
    """All functions of all types in one shared object."""
    every = [g.launch.kernel for name in TYPES for g in (*functions.groups(name), functions.casts(name))]
    return on_cpu.build(every)


@pytest.mark.parametrize("name", TYPES)
def test_values(name: str) -> None:
    for group in (*functions.groups(name), functions.casts(name)):
        first: list[bytes] = []
        for order in on_cpu.ORDERS:
            for _, _, y in group.cases:
                y.view(np.uint8)[...] = 0xA5 if y.dtype != bool else 1
            library().run(group.launch, order)
            bits = [y.tobytes() for _, _, y in group.cases]
            first = first or bits
            assert bits == first
        for case, given, y in group.cases:
            check(case, given, y)


@pytest.fixture(scope="module")
def gpu() -> Any:
    from autograd_frontend.devices.gpu import Driver

    return Driver(0)


@pytest.mark.gpu
@pytest.mark.parametrize("name", TYPES)
def test_values_on_a_gpu(name: str, gpu: Any) -> None:
    """CUDA's own functions against NumPy's, within the same bounds."""
    for group in (*functions.groups(name), functions.casts(name)):
        on_driver.run(gpu, group.launch)
        for case, given, y in group.cases:
            check(case, given, y)


def test_launches_through_a_driver() -> None:
    """The way to the GPU, with the driver that has none."""
    driver = host_session().driver
    x, out = filled((9, 5))[::-2], np.full((5, 10), 9.0)
    view = out[:, ::-2]
    on_driver.run(driver, cuda_text.elementwise([(call("add", (leaf(x), leaf(filled((5,)))), "d"), view)]))
    np.testing.assert_array_equal(view, x + filled((5,)))
    assert (out[:, ::2] == 9.0).all()


def test_every_half() -> None:
    """Chains in float16 are rounded after every operation, for each of the 65536 numbers."""
    x = np.arange(65536).astype(np.uint16).view(np.float16)
    y = np.roll(x, 12345)
    a, b = leaf(x), leaf(y)
    chain = call("divide", (call("multiply", (call("add", (a, b), "e"), b), "e"), call("subtract", (a, b), "e")), "e")
    out, root = np.empty_like(x), np.empty_like(x)
    on_cpu.run(cuda_text.elementwise([(chain, out), (call("sqrt", (a,), "e"), root)]))
    assert not distance(out, (x + y) * y / (x - y)).any()
    assert not distance(root, np.sqrt(x)).any()


def test_int8_pairs() -> None:
    """Quotients and remainders of all pairs, by zero and -128 // -1 as well."""
    a, b = [x.ravel() for x in np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, 128, dtype=np.int8))]
    names = ("floor_divide", "remainder", "fmod", "gcd", "lcm", "left_shift", "right_shift", "multiply", "maximum")
    outs = [np.empty_like(a) for _ in names]
    e = leaf(a), leaf(b)
    on_cpu.run(cuda_text.elementwise([(call(name, e, "b"), out) for name, out in zip(names, outs)]))
    for name, out in zip(names, outs):
        np.testing.assert_array_equal(out, getattr(np, name)(a, b), name)


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_int64_beside_uint64(name: str) -> None:
    a = np.array([-1, 0, 5, 2**63 - 1, -(2**63), 7], np.int64)
    b = np.array([2**64 - 1, 0, 4, 2**63 - 1, 2**63, 2**63 + 7], np.uint64)
    out, turned = np.empty(6, bool), np.empty(6, bool)
    e, f = call(name, (leaf(a), leaf(b)), "?"), call(name, (leaf(b), leaf(a)), "?")
    on_cpu.run(cuda_text.elementwise([(e, out), (f, turned)]))
    np.testing.assert_array_equal(out, getattr(np, name)(a, b))
    np.testing.assert_array_equal(turned, getattr(np, name)(b, a))


def test_every_ufunc_has_a_text() -> None:
    """Every elementwise ufunc with one result, of every type; and every block."""
    missing = set()
    for name in dir(np):
        f = getattr(np, name)
        if isinstance(f, np.ufunc) and f.signature is None and f.nout == 1:
            for dtype in functions.DTYPES:
                try:
                    found = f.resolve_dtypes((dtype,) * f.nin + (None,))
                except TypeError:
                    continue
                if found[:-1] == (dtype,) * f.nin:
                    if not cuda_functions.has(f.__name__, dtype, found[-1]):
                        missing.add(f.__name__)
    assert missing <= {"float_power"}  # a power, in `ufuncs.py`
    tables = {*cuda_functions.FLOATS, *[k for k, v in cuda_functions.NAMES.items() if v in cuda_functions.FLOATS]}
    without = {op.key for op in OPERATIONS.values() if op.elementwise and not op.cuda} - tables
    assert without == set(  # recorded as others, or with settings
        "scale clamp safe_log nan_to_num astype cast copy angle norm_of_numbers log_base conjugate_method "
        "imaginary_part conjugation modulus phase complex_sqrt".split()
    )


def test_refusal_names_function_and_type() -> None:
    x = np.ones(2, complex)
    with pytest.raises(NotImplementedError, match="the GPU has no gamma of complex128"):
        cuda_text.elementwise([(call("gamma", (leaf(x),), x.dtype), x)])
    with pytest.raises(TypeError, match="computes with no float128"):
        cuda_text.elementwise([(leaf(np.ones(2, np.longdouble)), np.ones(2))])
    with pytest.raises(ValueError, match="outputs of one kernel have the shapes"):
        cuda_text.elementwise([(leaf(np.ones(2)), np.ones(2)), (leaf(np.ones(3)), np.ones(3))])


# Places of entries


def filled(shape: tuple[int, ...], dtype: str = "d") -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


BIG = filled((12, 10, 8))
LAYOUTS = {
    "contiguous": (filled((4, 5)), filled((4, 5)), np.empty((4, 5))),
    "row and column": (filled((4, 1)), filled((5,)), np.empty((4, 5))),
    "transposed": (filled((5, 4)).T, filled((4, 5)), np.empty((5, 4)).T),
    "backwards": (filled((9, 5))[::-2], filled((5, 5))[:, ::-1], np.empty((5, 10))[:, ::-2]),
    "three axes": (BIG[2:10:2, 3:8, ::3], BIG[:4, None, :5:2, 0], np.empty((5, 4, 3)).transpose(1, 0, 2)),
    "number": (np.array(2.5), np.array(-1.5), np.empty(())),
    "number beside array": (np.array(2.5), filled((3,)), np.empty(3)),
    "ones": (filled((1, 3, 1)), filled((3, 1)), np.empty((1, 3, 1))),
    "two wide": (filled((2, 1, 3, 1)), filled((4, 1, 5)), np.empty((2, 4, 3, 5))),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if wide:  # as if nothing fitted int
        monkeypatch.setattr(cuda_layout, "NARROW", 0)
    x, y, out = LAYOUTS[name]
    base = out if out.base is None else out.base
    base[...] = 99.0
    launch = cuda_text.elementwise([(call("subtract", (leaf(x), leaf(y)), "d"), out)])
    assert ("int64" in launch.kernel.parameters) == wide == ("using I = long long" in launch.kernel.text)
    expected = np.full_like(base, 99.0)
    view = np.lib.stride_tricks.as_strided(expected, out.shape, out.strides)
    start = out.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    view = np.ndarray(out.shape, out.dtype, expected.reshape(-1).data, start, out.strides)
    view[...] = x - y
    for order in on_cpu.ORDERS:
        on_cpu.run(launch, order)
        np.testing.assert_array_equal(base, expected)


class Huge:
    """An array that nobody has memory for."""

    shape, dtype, strides = (3 * 2**30,), np.dtype(np.int8), (1,)


def test_index_type_follows_the_size() -> None:
    launch = cuda_text.elementwise([(leaf(Huge()), Huge())])
    assert launch.kernel.parameters[-1] == "int64" and launch.arguments[-1] == 3 * 2**30
    far = np.lib.stride_tricks.as_strided(np.zeros(1), (2, 3), (2**40, 8))
    launch = cuda_text.elementwise([(leaf(far), np.empty((2, 3)))])
    assert "int64" in launch.kernel.parameters
    assert launch.grid == 1


def test_many_blocks() -> None:
    x = np.arange(700_000, dtype=np.float32)
    out = np.empty_like(x)
    launch = cuda_text.elementwise([(call("multiply", (leaf(x), scalar(3, "f")), "f"), out)])
    assert launch.grid == 132 * 8 and launch.block == 256
    for order in (0, 1):
        out[...] = 0
        on_cpu.run(launch, order)
        np.testing.assert_array_equal(out, x * 3)


# What the text depends on


def chain(x: np.ndarray, c: float) -> tuple[object, np.ndarray]:
    e = call("sin", (call("multiply", (leaf(x), scalar(c, x.dtype)), x.dtype),), x.dtype)
    return e, np.empty_like(x)


def test_text_knows_no_sizes_and_no_values() -> None:
    given = (((5,), 2.0), ((7, 3), -1.5), ((900,), 0.0))
    texts = {cuda_text.elementwise([chain(filled(shape), c)]).kernel for shape, c in given}
    assert len(texts) == 1
    rows = {cuda_text.elementwise([chain(filled(s)[:, ::2], 1.0)]).kernel for s in ((5, 8), (70, 32))}
    assert len(rows) == 1 and not rows & texts


def test_a_shared_expression_is_computed_once() -> None:
    x = filled((6,))
    s = call("sin", (leaf(x),), "d")
    again = call("sin", (leaf(x),), "d")
    y, z = np.empty(6), np.empty(6)
    product = call("multiply", (s, call("add", (s, again), "d")), "d")
    launch = cuda_text.elementwise([(product, y), (s, z)])
    assert launch.kernel.text.count("sin_float64(") == 2  # its definition, and one call
    assert len([k for k in launch.kernel.parameters if k == "pointer"]) == 3
    on_cpu.run(launch)
    np.testing.assert_array_equal(z, np.sin(x))
    np.testing.assert_array_equal(y, np.sin(x) * (np.sin(x) + np.sin(x)))


def test_deep_chain() -> None:
    x = filled((4,))
    e = leaf(x)
    for k in range(1500):
        e = call("add", (e, scalar(float(k), "d")), "d")
    assert cuda_text.elementwise([(e, np.empty(4))]).kernel.text.count("add_float64_float64(v") == 1500


def test_memory_shared_with_an_output() -> None:
    x = filled((6,))
    expected = x * x
    launch = cuda_text.elementwise([(call("multiply", (leaf(x), leaf(x)), "d"), x)])
    assert "__restrict__" not in launch.kernel.text
    on_cpu.run(launch)
    np.testing.assert_array_equal(x, expected)
    assert "__restrict__" in cuda_text.elementwise([(leaf(x), np.empty(6))]).kernel.text


def test_numbers_of_every_type() -> None:
    given = [True, -5, 2**40, 200, 2**63 + 1, 1.1, 0.1, 1e-310, 1e6, 1 - 2j, 0.1 + 0.2j]
    dtypes = ["?", "b", "q", "B", "Q", "e", "f", "d", "e", "F", "D"]
    outs = [np.empty(3, dtype) for dtype in dtypes]
    on_cpu.run(cuda_text.elementwise([(scalar(v, d), out) for v, d, out in zip(given, dtypes, outs)]))
    for v, out in zip(given, outs):
        np.testing.assert_array_equal(out, np.full(3, np.array(v).astype(out.dtype)))


def test_output_converts() -> None:
    x, out = filled((5,)) * 100, np.empty(5, np.int16)
    on_cpu.run(cuda_text.elementwise([(leaf(x), out)]))
    np.testing.assert_array_equal(out, x.astype(np.int16))
    assert cast(scalar(2, "q"), "f").kind == "scalar"


def test_a_found_text_is_the_one_that_would_be_written() -> None:
    """Kernels are found by a signature: over many expressions and layouts, it tells apart what the text does."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(300):
        shape = [(4, 3), (4, 1), (12,), (2, 2, 3)][rng.integers(4)]
        arrays = [filled(shape, dtype) for dtype in "ddf"] + [filled(shape[-1:]), filled((*shape[:-1], 1))]
        arrays[0] = arrays[0][::-1] if rng.random() < 0.3 else arrays[0]
        pool = [cast(leaf(x), "d") for x in arrays[: rng.integers(1, 6)]] + [scalar(2.0, "d")]
        for _ in range(rng.integers(1, 5)):
            name = ["add", "multiply", "sin", "maximum"][rng.integers(4)]
            args = tuple([pool[rng.integers(len(pool))] for _ in range(1 if name == "sin" else 2)])
            pool.append(call(name, args, "d"))
        outs = [arrays[0] if rng.random() < 0.2 else np.empty(shape, "df"[rng.integers(2)]) for _ in range(2)]
        made.append([(pool[-1], outs[0]), (pool[-2], outs[1])])
    found = [cuda_text.elementwise(outputs).kernel for outputs in made]
    for outputs, kernel in zip(made, found):
        cuda_text.KERNELS.clear()
        assert cuda_text.elementwise(outputs).kernel == kernel
    assert 100 < len(set(found)) < 300


# The machinery of these tests

RACE = """extern "C" __global__ void race(const double* x, double* y) {
    __shared__ double s[64];
    s[threadIdx.x] = x[threadIdx.x];
    %s
    y[threadIdx.x] = s[(threadIdx.x + 1) %% 64];
}
"""


def race(line: str, order: int) -> np.ndarray:
    kernel = on_cpu.Kernel(RACE % line, "race", ("pointer", "pointer"), True)
    x, y = np.arange(64.0) + order, np.zeros(64)
    on_cpu.run(on_cpu.Launch(kernel, 1, 64, (x, y)), order)
    return y - order


def test_a_forgotten_barrier_is_seen() -> None:
    np.testing.assert_array_equal(race("__syncthreads();", 0), race("__syncthreads();", 1))
    np.testing.assert_array_equal(race("__syncthreads();", 0), race("__syncthreads();", 2))
    assert not np.array_equal(race("", 0), race("", 1))
    with pytest.raises(RuntimeError, match="never reach a barrier"):
        race("if (threadIdx.x < 5) __syncthreads();", 0)


def sanitized(which: str) -> subprocess.CompletedProcess[str]:
    """The module `tests.cuda.sanitized` in a process with the address sanitizer."""
    asan = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    options = "detect_leaks=0:detect_stack_use_after_return=0"
    settings = {"LD_PRELOAD": asan, "ASAN_OPTIONS": options, "PYTHONMALLOC": "malloc"}
    command = [sys.executable, "-m", "tests.cuda.sanitized", which]
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)


def test_addresses() -> None:
    """No kernel of a representative set reads or writes beside its arrays, or does what C++ leaves undefined."""
    done = sanitized("good")
    assert done.returncode == 0 and "all ran" in done.stdout, done.stderr[-3000:]
    done = sanitized("bad")
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr, done.stderr[-3000:]
