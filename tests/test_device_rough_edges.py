"""What was rough at the edges of a device session: it is there as on the CPU, or refused by line."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import io
import re
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.special

from autograd_frontend import RecordError, record
from autograd_frontend.devices import Unsupported, cuda_text, functions_scipy, nvrtc
from autograd_frontend.devices.expressions import call, leaf
from tests.cuda.host import host, host_session, installed
from tests.cuda.interim import Interim

X = np.array([0.5, -1.0, 2.0])
M = np.arange(12.0).reshape(3, 4) + 1
Pair = collections.namedtuple("Pair", "a b")
SESSION: Any = None


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Any]:
    global SESSION
    with installed(host_session(Interim())) as session:
        SESSION = session
        yield session
    SESSION = None


def cupy(x: Any) -> Any:
    return SESSION.to_cupy(SESSION.array(x))


def both(f: Any, *args: Any) -> tuple[Any, Any]:
    """(value, gradient, arguments) on the CPU and on the device."""
    found = []
    for g in (record(f), record(f).on("gpu")):
        given = copy.deepcopy(args)
        result = g(*given)
        v = result.value
        found.append((v, result.pullback(np.ones(np.shape(v), np.asarray(v).dtype)), given))
    return found[0], found[1]


def alike(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            alike(x, y)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for k in a:
            alike(a[k], b[k])
    elif isinstance(a, (np.ndarray, np.generic, float)):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(b, a, 1e-13, 1e-14)


def agree(f: Any, *args: Any) -> None:
    here, there = both(f, *args)
    alike(here, there)


def refused(f: Any, *args: Any) -> RecordError:
    with pytest.raises(RecordError) as error:
        record(f).on("gpu")(*copy.deepcopy(args))
    assert str(error.value.place).startswith(f'  File "{__file__}", line ')
    return error.value


def left(f: Any, device: str, *args: Any) -> Any:
    """What a function leaves in an object. It may raise."""
    o = SimpleNamespace(l=[])
    box = Box(o)
    with contextlib.suppress(ZeroDivisionError, RecordError):
        (record(f).on("gpu") if device == "gpu" else record(f))(box, *args)
    return vars(box)


class Box:
    def __init__(self, o: Any) -> None:
        self.l: list[Any] = []


# Byte order


SWAPPED = X.astype(">f8")


def square(x: Any) -> Any:
    return np.sum(x * x)


def written(x: Any) -> Any:
    x[0] = 3 * x[1]
    return np.sum(x)


def captured(x: Any) -> Any:
    return np.sum(x * SWAPPED)


def into_plain(x: Any) -> Any:
    z = np.zeros(3, ">f8")
    z[1:] = x[1:]
    return z[1:] * x[:2]


@pytest.mark.parametrize("f", [square, written, captured, into_plain], ids=lambda f: f.__name__)
def test_arguments_of_a_foreign_byte_order(f: Any) -> None:
    agree(f, SWAPPED)
    agree(f, X)
    agree(lambda x, i: x[i] * 2, SWAPPED, np.array([0, 2], ">i4"))


# Functions that meet tables, constants, defaults


KNOTS, HEIGHTS = np.array([0.0, 1.0, 2.0]), np.array([1.0, 5.0, 3.0])
FUNCTIONS = [
    lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: -v * v, lambda v: v * 3]),
    lambda x: np.piecewise(x, [x < 0], [-1.0, 2.0]) + x,
    lambda x: np.piecewise(x, x < 0, [lambda v, c: v * c, 0.5], 3.0),
    lambda x: np.interp(np.abs(x), KNOTS, HEIGHTS),
    lambda x: np.interp(np.abs(x), [0.0, 1.0, 2.0], [1.0, 5.0, 3.0], left=x[0]),
    lambda x: np.interp(x, KNOTS, x, right=7.0),
    lambda x: np.interp([0.3, 1.2], KNOTS, x),
    lambda x: np.interp([0.3, 1.2], np.abs(x) * KNOTS, HEIGHTS),
    lambda x: np.interp(x, KNOTS, HEIGHTS, period=2.5),
    lambda x: np.select([x < 0, x > 1], [x * x, x * 3], default=x[0]),
    lambda x: np.select([np.array([True, False, True])], [np.ones(3)], default=x),
    lambda x: np.pad(x, (1, 2), mode="edge"),
    lambda x: np.sum([x[0], x[1]]) * x,
    lambda x: np.linalg.norm([x[0], x[1]]) * x,
    lambda x: np.add.reduce([x, x]),
    lambda x: np.concatenate([np.zeros(2), x, [x[0]]]),
    lambda x: x[list(np.argsort(x))],
    lambda x: np.arange(10.0)[[np.argmax(x), 1]] * x[:2],
    lambda x: np.arange(np.argmax(x)) * x[:2],
    lambda x: np.linspace(0, 1, np.argmax(x) + 1) * x,
    lambda x: np.take(np.arange(3.0), np.argsort(x)) * x,
    lambda x: np.repeat(np.arange(3.0), np.argsort(x)) * x,
    lambda x: np.compress(x > 0, np.arange(3.0)) * x[:2],
    lambda x: np.extract(x > 0, np.arange(3.0)) * x[:2],
    lambda x: np.lexsort((x, x > 0)) * x,
    lambda x: np.packbits(x > 0) * x,
    lambda x: np.setdiff1d([0, 1, 5], np.argsort(x)) * x,
    lambda x: {0: 1.0, 2: 3.0}[np.argmax(x)] * x,  # type: ignore[index]
    lambda x: (type(x > 0) is np.ndarray) * (type((x > 0)[0]) is np.bool_) * x,
]


@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_functions_agree_with_the_cpu(k: int) -> None:
    agree(FUNCTIONS[k], X)


def test_out_of_plain_data() -> None:
    def f(x: Any) -> Any:
        order, positive = np.arange(3), np.empty(3, bool)
        np.add(order, np.argsort(x), out=order)
        np.greater(x, 0, out=positive)
        np.multiply(order, 2, out=order, where=x > 0)
        return order * positive * x

    agree(f, X)


def test_constants_of_pad_are_plain_data() -> None:
    for f in (lambda x: np.pad(x, 2, constant_values=x[0]), lambda x: np.pad(np.zeros(3), 1, constant_values=x[0])):
        assert refused(f, X).reason == "constant_values of pad is recorded, but it has to be plain data"


def test_code_that_knows_numpys_arrays_only() -> None:
    with pytest.raises(Unsupported, match="^an array on gpu is not copied to the host unasked"):
        np.asarray(SESSION.array(X))
    assert refused(lambda x: (x > 0).tobytes() and x, X).reason == "np.ndarray.tobytes has no GPU version"
    with pytest.raises(AttributeError, match="^'numpy.ndarray' object has no attribute 'foo'$"):
        record(lambda x: (x > 0).foo).on("gpu")(X)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        record(lambda x: x + None).on("gpu")(X)
    agree(lambda x: x if not hasattr(x > 0, "tobyte") else -x, X)


# What is left outside


def arrays_of(x: Any) -> list[Any]:
    if isinstance(x, (np.ndarray, np.generic)):
        return [x]
    if isinstance(x, functools.partial):
        return arrays_of(x.args)
    if isinstance(x, dict):
        return [a for e in (*x, *x.values()) for a in arrays_of(e)]
    return [a for e in x for a in arrays_of(e)] if isinstance(x, (list, tuple, collections.deque, frozenset)) else []


def plain_data(o: Any, x: Any) -> Any:
    o.mask, o.order, o.largest, o.whole = x > 0, np.argsort(x), np.argmax(x), np.floor(x)
    o.l.append({"a": [x < 0, (x == 0,)]})
    o.pair, o.queue, o.one = Pair(x > 0, x * 2), collections.deque([x > 1]), frozenset([np.argmax(x)])
    o.partial, o.keys = functools.partial(max, x > 0), {np.argmax(x): 1}
    return np.sum(x)


def views(o: Any, x: Any) -> Any:
    o.a = x * 2
    o.b, o.c = o.a[1:], x[::-1]
    o.d = o.a > 0
    o.e = o.d[:2]
    z = x + 1j * x
    o.re, o.z = z.real, z
    o.twin = np.zeros(3)
    o.twin[1:] = x[1:]
    o.l.append(o.twin[:2])
    return np.sum(x) + o.twin[1]


def of_written(o: Any, x: Any) -> Any:
    x[0] = 3 * x[1]
    o.v, o.t, o.r = x[:2], x.T, x.reshape(-1)
    o.l += [x[1:], x[..., ::2]]
    return np.sum(x)


def raising(o: Any, x: Any) -> Any:
    x[0] = 3 * x[1]
    o.v, o.m, o.p = x[1:], x > 0, x * 2
    o.l.append(o.p[1:])
    return 1 // 0


def refusing(o: Any, x: Any) -> Any:
    x[0] = 3 * x[1]
    o.v, o.m, o.p = x[1:], x > 0, x * 2
    o.l.append(o.p[1:])
    return np.histogram(x)


@pytest.mark.parametrize("f", [plain_data, views, of_written, raising, refusing], ids=lambda f: f.__name__)
@pytest.mark.parametrize("of", [lambda: X.copy(), lambda: M.copy()[:, 0], lambda: M.copy()[::-1, 1:]], ids="abc")
def test_what_is_left_outside_is_numpys(f: Any, of: Any) -> None:
    """Values, types, what shares memory with what, and with the argument; after an error too."""
    found = []
    for device in ("cpu", "gpu"):
        x = of()
        if f in (plain_data, views) and x.ndim > 1:
            return
        o = left(raising if f is refusing and device == "cpu" else f, device, x)  # there, handles stay
        every = [x, x.base if x.base is not None else x, *arrays_of(o)]
        memory = [[np.shares_memory(a, b) for a in every] for b in every]
        found.append((o, x, memory, [a.flags.writeable for a in every]))
    (a, x, *rest), (b, y, *others) = found
    alike({k: v for k, v in a.items() if k != "partial"}, {k: v for k, v in b.items() if k != "partial"})
    alike(arrays_of(a), arrays_of(b))
    np.testing.assert_array_equal(x, y)
    assert rest == others


def test_what_is_left_outside_may_be_written() -> None:
    def f(o: Any, x: Any) -> Any:
        o.y = np.sin(x)
        o.v = o.y[1:]
        return np.sum(np.exp(o.y))

    o = Box(None)
    result = record(f).on("gpu")(o, X)
    o.y[...] = 99.0
    np.testing.assert_array_equal(o.v, [99.0, 99.0])
    np.testing.assert_allclose(result.backward(), np.exp(np.sin(X)) * np.cos(X), 1e-14)


def test_what_is_left_outside_is_cupys_where_the_arguments_are() -> None:
    def f(o: Any, x: Any) -> Any:
        o.a, o.m = x * 2, x > 0
        o.b, o.w = o.a[1:], x[1:]
        return np.sum(x * x)

    o, x = Box(None), cupy(X)
    result = record(f)(o, x)
    assert {type(v).__module__ for k, v in vars(o).items() if k != "l"} == {"cupy"}
    np.testing.assert_array_equal(host(o.m), X > 0)
    assert np.shares_memory(host(o.a), host(o.b)) and np.shares_memory(host(o.w), host(x))
    host(o.a)[...] = host(x)[...] = 0.0
    np.testing.assert_array_equal(host(o.b), [0.0, 0.0])
    np.testing.assert_array_equal(host(result.backward()), 2 * X)


class Held:
    def __init__(self, m: Any) -> None:
        self.m = m


def test_objects_among_the_results() -> None:
    value = record(lambda x: (Held(x > 0), x, {np.argmax(x)})).on("gpu")(X).value
    assert type(value[0].m) is np.ndarray and [type(v) for v in value[2]] == [np.int64]


def test_arguments_and_lists_after_an_error() -> None:
    def f(x: Any, c: Any, p: Any) -> Any:
        x[0] = x[1] * 3
        c["a"][1] = x[0] * 2
        c["l"].append(x[0])
        p[1] = x[0]
        raise KeyError("k", x, x > 0)

    found = []
    for g in (record(f), record(f).on("gpu")):
        x, c, p = X.copy(), {"a": X.copy(), "l": []}, np.zeros(3)
        with pytest.raises(KeyError) as error:
            g(x, c, p)
        found.append((x, c, p, list(error.value.args)))
    alike(*found)


# Text


def texts(x: Any) -> Any:
    print(x, x[0], np.sum(x), repr(x), repr(x[0]), x > 0, np.argmax(x))
    print(f"{x} {x[0]:.3f} {x[0]} {np.sum(x)!r} {x > 0} {np.argmax(x)} {(x > 0)[0]!r} {np.argmax(x):>4}")
    print("%s %r %.2f %d" % (x, x, x[0], x[2]), "{} {:.3e}".format(x, x[0]), str(x), format(x[0], ".2f"))
    print([x, x[0]], {"a": x}, (x > 0,), x.reshape(1, 3)[:, 1:], np.array(x[0]), x[:0], x + 1j * x)
    with np.printoptions(precision=2):
        print(x / 3)
    return np.sum(x)


def spec_of_an_array(x: Any) -> Any:
    return f"{x:.2f}" and x


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_texts_show_the_numbers(dtype: Any) -> None:
    shown = []
    for f in (record(texts), record(texts).on("gpu")):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            f(X.astype(dtype))
        shown.append(out.getvalue())
    assert shown[0] == shown[1] and "DeviceArray" not in shown[1]
    with pytest.raises(TypeError, match=r"^unsupported format string passed to numpy.ndarray.__format__$"):
        record(spec_of_an_array).on("gpu")(X)


# Captured arrays of CuPy's

A = np.array([1.5, -2.0, 3.0])
D = np.array([2.0, 0.0, -1.0])
C: Any
E: Any
V: Any
CAPTURED = [
    lambda x: (C % E) * x,
    lambda x: np.maximum(C, E) * x,
    lambda x: C.sum() * x + C.max() + np.sum(C),
    lambda x: C[[2, 0, 1]] * C[C > 0].sum() * C[0] * x,
    lambda x: np.where(C > E, x, 0) * ~(C == E),
    lambda x: divmod(C, E)[1] * x + C.clip(0, 1),
    lambda x: sum(c * i for i, c in enumerate(C)) * x + max(C) + sum(C),
    lambda x: C.copy() * x.dot(C) + C.dot(x) if C[0] > 1 else x,
    lambda x: C.astype(np.float32) * C.mean() * x[C.argmax()] * x,
    lambda x: (C / E) * x + C // E + -C + abs(C) + C**2 + C @ E,
    lambda x: np.stack([C, E]) @ x * (1.0 if (C > E).any() else 2.0),
]


@pytest.mark.parametrize("k", range(len(CAPTURED)))
def test_captured_arrays_of_cupys_follow_our_rules(k: int) -> None:
    """In the host driver CuPy's own kernels raise: none of them may run."""
    global C, E
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C, E = A, D
        here = record(CAPTURED[k])(X)
        for x in (X, cupy(X)):
            C, E = cupy(A), cupy(D)
            there = record(CAPTURED[k]).on("gpu")(x)
            v, g = there.value, there.pullback(np.ones(np.shape(here.value)))
            v, g = (v, g) if x is X else (host(v), host(g))
            np.testing.assert_allclose(v, here.value, 1e-14)
            again = record(CAPTURED[k])
            C, E = A, D
            np.testing.assert_allclose(g, again(X).pullback(np.ones(np.shape(here.value))), 1e-13)
    C = E = None


def test_writes_into_captured_arrays_of_cupys() -> None:
    global C, V

    def f(x: Any) -> Any:
        y = C + 1.0  # waits, and reads what is written next
        C[1] = x[0] * 2
        V[1] += 1.0
        D = C
        D *= x
        return np.sum(V * V) + np.sum(y)

    def whole(x: Any, c: Any) -> Any:
        y = c + 1.0
        c[1] = x[0] * 2
        c[1:][1] += 1.0
        c *= x
        return np.sum(c[1:] * c[1:]) + np.sum(y)

    C = cupy(A)
    V = C[1:]
    result = record(f).on("gpu")(X)
    c = A.copy()
    expected = record(lambda x: whole(x, c))(X)
    assert result.value == expected.value
    np.testing.assert_array_equal(host(C), c)
    np.testing.assert_allclose(result.backward(), expected.backward(), 1e-14)
    C = V = None


def test_a_captured_array_of_cupys_that_is_an_argument_too() -> None:
    global C

    def reads(x: Any) -> Any:
        x[0] = x[1] * 2
        return np.sum(C * C)

    def writes(x: Any) -> Any:
        C[0] = 7.0
        return np.sum(x * x)

    C = cupy(X)
    np.testing.assert_array_equal(host(record(reads)(C).backward()), [0.0, -10.0, 4.0])
    with pytest.raises(RecordError, match="an array is written here that shares its memory with an argument"):
        record(writes)(C)
    C = cupy(A)
    result = record(lambda x: C * x).on("gpu")(X)
    host(C)[...] = 0.0  # after the call
    np.testing.assert_array_equal(result.value, A * X)
    np.testing.assert_array_equal(result.pullback(np.ones(3)), A)
    C = None


# Functions of complex numbers, and special functions, as g++ compiles the kernels

CIRCULAR = "sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh"
COMPLEX = f"{CIRCULAR} exp exp2 expm1 log log2 log10 log1p sqrt absolute reciprocal rint".split()


@pytest.fixture(scope="module")
def kernels() -> Any:
    return host_session()


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", COMPLEX)
def test_functions_of_complex_numbers(kernels: Any, name: str, dtype: Any) -> None:
    """Within 4 units of the size of the result: small, large, near the unit circle and the branch points."""
    rng, f = np.random.default_rng(0), getattr(np, name)
    disc = rng.standard_normal(200) + 1j * rng.standard_normal(200)
    edge = np.concatenate([c + 1e-6 * disc[:40] for c in (1, -1, 1j, -1j, 0)])
    sizes = [disc * s for s in (1e-9, 1e-3, 1.0, 3.0, 20.0, 200.0)]
    axes = np.array([complex(a, b) for a in (0.0, -0.0, 1.0, -1.0, 2.0, -2.0) for b in (0.0, -0.0, 1.0, -1.0, 0.5)])
    z = np.concatenate([*sizes, edge, np.exp(1j * np.angle(disc)), disc.real + 0j, 1j * disc.real, axes]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = f(z)
        y = f(kernels.array(z)).get()
    assert y.dtype == expected.dtype
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    off = np.abs(y[finite] - expected[finite])
    assert np.all(off <= 4 * np.finfo(dtype).eps * np.abs(expected[finite])), z[finite][np.argmax(off)]
    if expected.dtype.kind == "c":  # on which side of a cut
        at, on = y[-len(axes) :], expected[-len(axes) :]
        sure = np.isfinite(on) & (np.abs(on.real) > 1e-6) & (np.abs(on.imag) > 1e-6)
        np.testing.assert_array_equal(np.sign(at[sure].real), np.sign(on[sure].real))
        np.testing.assert_array_equal(np.sign(at[sure].imag), np.sign(on[sure].imag))


def test_order_of_complex_numbers(kernels: Any) -> None:
    parts = (0.0, 1.0, -1.0, np.nan)
    z = np.array([complex(a, b) for a in parts for b in parts])
    a, b = np.repeat(z, len(z)), np.tile(z, len(z))
    names = "less less_equal greater greater_equal maximum minimum fmax fmin equal not_equal".split()
    for f in [getattr(np, name) for name in names]:
        with np.errstate(invalid="ignore"):
            expected = f(a, b)
        np.testing.assert_array_equal(f(kernels.array(a), kernels.array(b)).get(), expected, f.__name__)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_polygamma(kernels: Any, dtype: Any) -> None:
    x = np.concatenate([np.linspace(0.02, 30, 200), np.linspace(-19.7, -0.1, 80), [0, -1, 1e5]]).astype(dtype)
    with np.errstate(all="ignore"):
        for n in (0, 1, 2, 3, 10, 1.5, -1, np.array([[1], [2], [0]])):
            expected, y = scipy.special.polygamma(n, x), functions_scipy.polygamma(n, kernels.array(x)).get()
            assert y.dtype == expected.dtype
            near = 1e-9 if dtype is np.float64 else 1e-4  # of digamma beside its poles and zeros
            np.testing.assert_allclose(y, expected, near if np.ndim(n) or n == 0 else 2e-15)
    agree(lambda x: scipy.special.polygamma(2, np.abs(x) + 0.1), X)
    agree(lambda x: scipy.special.polygamma(0, np.abs(x) + 0.1), X)


@pytest.mark.parametrize("name", ["jn", "zeta"])
@pytest.mark.parametrize("dtype", ["d", "f"])
def test_texts_with_loops_compile(name: str, dtype: str) -> None:
    places = leaf(np.ones(2, dtype))
    kernel = cuda_text.elementwise([(call(name, (places, places), dtype), np.ones(2, dtype))]).kernel
    cubin, log = nvrtc.compile_text(kernel.text, "sm_90", "--ptxas-options=-v")
    assert cubin[:4] == b"\x7fELF" and "warning" not in log
    assert set(re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", log)) == {("0", "0")}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bessel_functions_of_whole_orders(kernels: Any, dtype: Any) -> None:
    x = np.concatenate([np.linspace(-60, 60, 301), [0, 1e-8, 1e3, np.inf, np.nan]]).astype(dtype)
    for v in (0, 1, -1, 2, -3, 5, 10, 50, 100):
        expected, y = scipy.special.jv(v, x), scipy.special.jv(v, kernels.array(x)).get()
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, 0, 2e-14 if dtype is np.float64 else 5e-7)
    agree(lambda x: scipy.special.jv(3, x) + scipy.special.jv(x.size, x), X)
    error = refused(lambda x: scipy.special.jv(0.5, np.abs(x)), X)
    assert error.reason == "scipy.special.jv has a GPU version for whole orders to 10000 only"
    assert refused(lambda x: scipy.special.gamma(np.array([1j])) * x + scipy.special.iv(1, x), X)
