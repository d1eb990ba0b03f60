"""Every elementwise function with every element type: kernels, arguments, and what NumPy or SciPy gives."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from autograd_frontend import ops
from autograd_frontend.devices import cuda_functions, cuda_text
from autograd_frontend.devices.cuda_types import MEMORY
from autograd_frontend.devices.expressions import Launch, call, leaf

DTYPES = [np.dtype(name) for name in MEMORY]
GROUP = 8  # functions of a kernel
TWO_PARTS = {  # of a ufunc with two results: which one
    "frexp_mantissa": (np.frexp, 0), "frexp_exponent": (np.frexp, 1),
    "modf_fraction": (np.modf, 0), "modf_whole": (np.modf, 1),
}  # fmt: skip


def put_together(a: Any, b: Any) -> Any:
    z = np.empty(a.shape, np.result_type(a, np.complex64))
    z.real, z.imag = a, b
    return z


COMPOSED = {"complex": put_together, "where": np.where, "clip": np.clip, "sinc": np.sinc, "angle": np.angle}
ALIASES = set(cuda_functions.NAMES) | {"mod", "true_divide", "conj", "radians", "degrees", "float_power"}
ALIASES |= {"jn", "zeta"}  # whose loops are as long as an argument is large: in test_device_rough_edges.py


class Case(NamedTuple):
    """A function of entries of some types."""

    name: str
    arguments: tuple[np.dtype, ...]
    result: np.dtype


def reference(name: str) -> Any:
    """What the function is on the CPU."""
    if name in TWO_PARTS:
        ufunc, part = TWO_PARTS[name]
        return lambda x: ufunc(x)[part]
    other = {"lgamma": "gammaln", "sigmoid": "expit", "digamma": "psi"}.get(name, name)
    for space in (COMPOSED.get, lambda n: getattr(np, n, None), lambda n: getattr(scipy.special, n, None)):
        if space(other) is not None:
            return space(other)
    return getattr(ops, name)


@cache
def names() -> tuple[str, ...]:
    """The functions that have a text, each once."""
    cuda_functions.block("sin")
    tables = (cuda_functions.FLOATS, cuda_functions.SIGNED, cuda_functions.BOOLEANS, cuda_functions.COMPLEXES)
    found = set(cuda_functions.BLOCKS).union(*tables) - ALIASES
    return tuple(sorted(found | {"divide", "power", "fabs", "remainder"}))


def arity(name: str, dtype: np.dtype) -> int:
    """How many arguments there are; 0 where there is no text for this type."""
    if name == "where":
        return 3
    for n in (1, 2, 3):
        if cuda_functions.find(name, (dtype,) * n, dtype) is not None:
            return n
    return 0


def case_of(name: str, dtype: np.dtype) -> Case | None:
    """The function of one type, with the type of NumPy's result; None where NumPy computes it in another type."""
    n = arity(name, dtype)
    if not n:
        return None
    arguments = (np.dtype(bool),) + (dtype,) * (n - 1) if name == "where" else (dtype,) * n
    if name == "ldexp":
        arguments = (dtype, np.dtype(np.int64))
    f = reference(name)
    if isinstance(f, np.ufunc) and f.nout == 1 and name not in COMPOSED and getattr(np, name, None) is f:
        try:
            found = f.resolve_dtypes((*arguments, None))
        except TypeError:
            return None
        return Case(name, arguments, found[-1]) if found[:-1] == arguments else None
    result = {"frexp_exponent": np.dtype(np.int32), "complex": np.result_type(dtype, np.complex64)}.get(name, dtype)
    if name in ("real", "imag", "angle") and dtype.kind == "c":
        result = np.dtype(f"f{dtype.itemsize // 2}")
    if name == "complex" and dtype == np.float16:
        return None
    return Case(name, arguments, result)


@cache
def cases(dtype_name: str) -> tuple[Case, ...]:
    found = [case_of(name, np.dtype(dtype_name)) for name in names()]
    return tuple([c for c in found if c is not None])


@cache
def values(dtype_name: str, n: int) -> tuple[np.ndarray, ...]:
    """Arguments: special values in all combinations, and random ones over the whole range and near 1."""
    dtype, rng = np.dtype(dtype_name), np.random.default_rng(5)
    special = specials(dtype)
    if n < 3:
        columns = [np.array(c, dtype) for c in zip(*itertools.product(special, repeat=n))]
    else:
        columns = [rng.choice(np.array(special, dtype), 300) for _ in range(n)]
    return tuple([np.concatenate((c, randoms(dtype, rng, 600))) for c in columns])


def specials(dtype: np.dtype) -> list[Any]:
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
        return near + ([-1, -2, -3, -7, -8] if info.min else [])
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan, 1e-3]
        return [complex(a, b) for a in parts for b in parts]
    info = np.finfo(dtype)
    near = [0.0, 1.0, 2.0, 0.5, 2.5, 3.0, 1.5, 0.3, 10.0, 1e-3, info.max, info.tiny, info.smallest_subnormal, np.inf]
    return [s * float(x) for x in near for s in (1, -1)] + [np.nan]


def randoms(dtype: np.dtype, rng: Any, n: int) -> np.ndarray:
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        whole = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        return np.where(rng.random(n) < 0.5, whole, (whole % 40).astype(dtype)).astype(dtype)
    if dtype.kind == "c":
        return (randoms(np.dtype("f8"), rng, n) % 30 + 1j * rng.normal(size=n)).astype(dtype)
    reach = {2: 3, 4: 12, 8: 60}[dtype.itemsize]
    scale = np.where(rng.random(n) < 0.6, 1.0, 10.0 ** rng.uniform(-reach, reach, n))
    return (rng.normal(size=n) * 2 * scale).astype(dtype)


def arguments(case: Case) -> list[np.ndarray]:
    given = [values(d.name, len(case.arguments))[k] for k, d in enumerate(case.arguments)]
    n = min(map(len, given))
    given = [x if len(x) == n else x[-n:] for x in given]
    if case.name == "power" and case.arguments[1].kind == "i":
        given[1] = np.abs(given[1] % 40).astype(case.arguments[1])  # NumPy raises for negative ones
    if case.name == "ldexp":
        given[1] = given[1] % np.int64(3000) - 1500
    return given


class Group(NamedTuple):
    """A kernel of some functions: of each the arguments, and the array that it fills."""

    launch: Launch
    cases: tuple[tuple[Case, list[np.ndarray], np.ndarray], ...]


@cache
def groups(dtype_name: str, size: int = GROUP) -> tuple[Group, ...]:
    """Kernels of all functions of a type."""
    found = []
    by_size: dict[int, list[Any]] = {}
    for case in cases(dtype_name):
        given = arguments(case)
        by_size.setdefault(len(given[0]), []).append((case, given, np.empty(len(given[0]), case.result)))
    for several in by_size.values():
        for k in range(0, len(several), size):
            part = tuple(several[k : k + size])
            leaves: dict[int, Any] = {}
            outputs = []
            for case, given, out in part:
                args = tuple([leaves.setdefault(id(x), leaf(x)) for x in given])
                outputs.append((call(case.name, args, case.result), out))
            found.append(Group(cuda_text.elementwise(outputs), part))
    return tuple(found)


@cache
def casts(dtype_name: str) -> Group:
    """A kernel of all conversions of a type."""
    x = values(dtype_name, 1)[0]
    part, outputs = [], []
    for target in DTYPES:
        out = np.empty(len(x), target)
        part.append((Case("cast", (x.dtype,), target), [x], out))
        outputs.append((leaf(x), out))
    return Group(cuda_text.elementwise(outputs), tuple(part))
