"""What has no rule for complex numbers is refused by name; what is not refused has the right derivative."""

from __future__ import annotations

import cmath
import warnings
from fractions import Fraction

import blocks
import numpy as np
import pytest

from autograd_frontend import RecordError, record
from autograd_frontend.ops.block import COMPOSED
from autograd_frontend.python import DATA

X = np.array([0.7, -1.3, 2.1, 0.4, -0.6])
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.9, -0.6], [1.2, 0.3, -0.8], [-0.5, 0.9, 1.4]])
W = np.array([0.5 - 1.0j, 1.5 + 0.3j, -0.7 + 0.2j, 0.1 + 0.9j, 2.0 - 0.4j])


def test_functions_without_a_rule_and_conversions_are_refused():
    assert "cmath.exp" in refused(lambda x: cmath.exp(x[0] * 1j).real).reason
    assert "hfft" in refused(lambda x: np.fft.hfft(x * 1j)).reason
    assert "the bits as another type" in refused(lambda x: (x * 1j).view(float)).reason
    for power in (0.5, 1j, np.array([1.0, 2.0, 0.5, 1.0, 1.0])):
        assert refused(lambda x, power=power: abs((x * W) ** power)).reason == NO_POWER
    assert refused(lambda x: abs((x * W) ** x)).reason == NO_POWER
    assert refused(lambda x: abs(2.0 ** (x * 1j))).reason == NO_POWER
    assert refused(lambda x: abs(x * 1j) ** 1j).reason == NO_POWER
    assert refused(lambda x: abs(Fraction(1, 2) * 1j * x), Fraction(1, 3)).reason.startswith("mul of complex")


NO_POWER = "pow of complex numbers cannot be recorded"


def refused(f, x=X):
    with pytest.raises(RecordError) as error:
        record(f)(x)
    return error.value


NAMED = {
    "pow": lambda z: z**0.5, "var": lambda z: np.var(z), "std": lambda z: np.std(z), "sort": lambda z: np.sort(z),
    "maximum": lambda z: np.maximum(z, 0), "max": lambda z: z.max(), "sign": lambda z: np.sign(z),
    "round": lambda z: np.round(z, 1), "clip": lambda z: np.clip(z, 0, 1), "norm": lambda z: np.linalg.norm(z),
    "nan_to_num": lambda z: np.nan_to_num(z), "arcsin": lambda z: np.arcsin(z), "exp2": lambda z: np.exp2(z),
    "det": lambda z: np.linalg.det(np.outer(z, z) + np.eye(5)), "convolve": lambda z: np.convolve(z, z),
    "correlate": lambda z: np.correlate(z, z), "cholesky": lambda z: np.linalg.cholesky(np.diag(abs(z)) * (1 + 0j)),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_what_has_no_rule_for_complex_numbers_is_refused_by_name(name):
    f = NAMED[name]
    error = refused(lambda x: abs(f(x * W)))
    assert error.reason == f"{name} of complex numbers cannot be recorded"
    assert error.remedy == "Use real and imaginary parts."
    assert f(X * W) is not None


def weigh(v):
    """A real number that depends on all parts of a result."""
    total = 0.0
    for e in v if isinstance(v, (tuple, list)) else [v]:
        total = total + np.sum(np.real(e) * 1.3) + np.sum(np.imag(e) * 0.7)
    return total


def calls():
    """Every callable that has a rule or gives plain data, with arguments that work for real numbers."""
    found = {}
    for c in blocks.cases():
        arrays = [i for i, x in enumerate(c.args) if isinstance(x, np.ndarray) and x.dtype == float]
        if arrays and c.path not in found and c.op.name not in COARSE:
            found[c.path] = c.call, c.args, c.kwargs, arrays
    for path in (*COMPOSED, *DATA.replace("numpy.empty_like", "").split()):
        for k, args in enumerate([(M,), (M, 2), (M, M), (M, 3, 1)]):
            arrays = [i for i, x in enumerate(args) if x is M]
            found[f"{path} {k}"] = blocks.callable_of(path), args, {}, arrays
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {path: c for path, c in found.items() if c[0] is not None and takes_complex(*c)}


def takes_complex(call, args, kwargs, arrays):
    """Whether NumPy has it for complex numbers, with numbers as the result."""
    try:
        weigh(call(*[x * (1.0 + 0.5j) if i in arrays else x for i, x in enumerate(args)], **kwargs))
    except Exception:
        return False
    return True


COARSE = {"astype", "cast", "distill"}  # to float32; the teacher is data
CALLS = calls()


@pytest.mark.parametrize("path", CALLS)
def test_every_callable_refuses_complex_numbers_or_has_the_right_derivative(path):
    call, args, kwargs, arrays = CALLS[path]

    def f(s):
        z = s * (1.0 + 0.5j)
        return weigh(call(*[x * z if i in arrays else x for i, x in enumerate(args)], **kwargs))

    h = 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            g = record(f)(np.float64(1.0)).backward()
        except RecordError as error:
            assert "of complex numbers" in error.reason or "out=" in error.reason, error.reason
            return
        want = (f(np.float64(1.0 + h)) - f(np.float64(1.0 - h))) / (2 * h)
    assert np.isclose(g, want, rtol=1e-4, atol=1e-5)
