"""Expressions evaluated by NumPy in place of kernels: a naive twin of the texts, which compiles nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from autograd_frontend.devices.expressions import Expr, Kernel, Launch, nodes
from autograd_frontend.ops.block import OPERATIONS
from autograd_frontend.ops.plain import PLAIN

from .host import at

REDUCE: dict[str, Any] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def memory(spot: Any) -> np.ndarray:
    return at(spot.address, spot.shape, spot.dtype, spot.strides)


def evaluate(e: Expr) -> Any:
    found: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for n in nodes(e):
            args = [found[id(a)] for a in n.args]
            if n.kind == "leaf":
                value = memory(n.leaf)
            elif n.kind == "scalar":
                value = np.asarray(n.value).astype(n.dtype)[()]
            elif n.kind == "row":
                x = np.broadcast_to(args[0], n.args[0].shape)
                ufunc = REDUCE[n.name]
                if n.dtype == bool:
                    ufunc = {np.maximum: np.logical_or, np.minimum: np.logical_and}[ufunc]
                value = ufunc.reduce(x, axis=-1, keepdims=True, dtype=n.dtype)
            elif n.name == "cast":
                value = (
                    np.asarray(args[0]).real.astype(n.dtype)
                    if n.dtype.kind != "c"
                    else np.asarray(args[0]).astype(n.dtype)
                )
            elif n.name in ("real", "imag"):
                value = getattr(args[0], n.name)
            elif n.name in ("frexp_mantissa", "frexp_exponent"):
                value = np.frexp(args[0])[n.name == "frexp_exponent"]
            elif n.name == "modf_fraction":
                value = np.modf(args[0])[0]
            elif n.name == "modf_whole":
                value = np.modf(args[0])[1]
            else:
                value = function(n.name)(*args)
            value = np.asarray(value)
            assert value.dtype == n.dtype, (n, value.dtype)
            assert np.broadcast_shapes(value.shape, n.shape) == n.shape, (n, value.shape)
            found[id(n)] = value
    return found[id(e)]


def function(name: str) -> Any:
    """NumPy's or SciPy's function of this name, or what a block computes."""
    if name == "clip":
        return np._core.umath.clip
    if name == "complex":
        return lambda re, im: re + 1j * im
    if hasattr(np, name):
        return getattr(np, name)
    if hasattr(scipy.special, name):
        return getattr(scipy.special, name)
    op = OPERATIONS[name]
    return lambda *args: op.value(PLAIN, *args)


def run(outputs: Any) -> None:
    values = [np.array(evaluate(e)) for e, _ in outputs]
    for value, (_, out) in zip(values, outputs):
        with np.errstate(all="ignore"):
            memory(out)[...] = value


def run_reduction(name: str, e: Expr, axes: Any, out: Any) -> None:
    x = np.broadcast_to(evaluate(e), e.shape)
    ufunc = REDUCE[name]
    if e.dtype == bool:
        ufunc = {np.maximum: np.logical_or, np.minimum: np.logical_and}[ufunc]
    memory(out)[...] = ufunc.reduce(x, axis=axes, keepdims=True, dtype=e.dtype)


class Interim:
    def elementwise(self, outputs: Any) -> Launch:
        assert len({out.shape for _, out in outputs}) == 1
        assert not any(n.kind == "row" for e, _ in outputs for n in nodes(e))
        return Launch(Kernel(run, "elementwise", ()), 1, 1, (outputs,))  # type: ignore[arg-type]

    def rows(self, outputs: Any) -> Launch:
        assert any(n.kind == "row" for e, _ in outputs for n in nodes(e))
        return Launch(Kernel(run, "rows", ()), 1, 1, (outputs,))  # type: ignore[arg-type]

    def reduction(self, name: str, e: Expr, axes: Any, out: Any, empty: Any) -> list[Launch]:
        return [Launch(Kernel(run_reduction, "reduction", ()), 1, 1, (name, e, axes, out))]  # type: ignore[arg-type]

    def has(self, name: str, argument: Any, result: Any) -> bool:
        return True
