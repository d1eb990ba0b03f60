"""`f.elementwise` on another device: the function becomes one kernel, in which each thread goes its own way.

The kernel writes the values and, for each differentiable argument, the derivative of every entry; the recorded
operation multiplies its cotangent by these. Where a thread would raise, the function is called on the host for the
first such entry, and raises there.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

import numpy as np

from . import source
from .arrays import remote
from .devices.lifting import Input, number_type, resolved, table_type, translated
from .devices.lifting_kernel import kernel
from .devices.lifting_types import WEAK, Thing, Type, Untranslatable, Value
from .errors import RecordError
from .forward import Push
from .recording import depends, handle, refuse, settle, site, value
from .rewrite import is_program
from .tape import Ref, Scalar, made, tensor

NEVER = np.uint64(2**64 - 1)


def device_of(given: Any) -> Any:
    """The session that a call belongs to; None on the CPU."""
    for x in given:
        if isinstance(x, Ref) and x.t.device is not None:
            return x.t.device
        if remote(value(x)):
            return value(x).session
    return None


def evaluate(session: Any, fn: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The array of the values of `fn` for the entries of the arrays among its arguments."""
    fn, args = function(fn, args)
    bound = inspect.signature(fn).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    for name, x in given.items():
        given[name] = settle(x) if remote(x) or type(x) is np.ndarray else x
    shape = np.broadcast_shapes(*[value(x).shape for x in given.values() if is_array(value(x))])
    if 0 in shape:
        dtypes = [value(x).dtype for x in given.values() if is_array(value(x))]
        return session.empty(shape, np.result_type(*dtypes))
    call = Call(session, fn, bound, shape)
    try:
        return call.run()
    except Untranslatable as error:
        raise refused(error) from None


def is_array(x: Any) -> bool:
    return type(x) is np.ndarray or (remote(x) and not x.scalar)


def function(fn: Any, args: Any) -> Any:
    """A Python function with its arguments."""
    if isinstance(fn, types.MethodType):
        fn, args = fn.__func__, (fn.__self__, *args)
    if hasattr(type(fn), "__recorded__"):
        fn = fn.__wrapped__
    if not isinstance(fn, types.FunctionType):
        name = getattr(fn, "__name__", type(fn).__name__)
        raise refuse(f"elementwise: {name} has no Python source to compile", "Wrap it in a Python function.")
    return fn, args


def refused(error: Untranslatable) -> RecordError:
    """The refusal, at the line of the function that cannot be translated."""
    fn, node = error.fn, error.node
    if fn is None:
        return refuse(error.reason, error.remedy)
    line = node.lineno if node is not None else fn.__code__.co_firstlineno
    return RecordError(error.reason, source.place(fn.__code__, line), error.remedy)


def look(x: Any) -> tuple[Any, bool]:
    """A plain value, and whether it is recorded."""
    return value(settle(x)), depends(x)


def tree(fn: Any) -> Any:
    node = source.written(fn.__code__) if is_program(fn.__code__) else source.find(fn).node
    if node is None:
        raise Untranslatable(f"the source of {fn.__name__} is not there any more", "Define it in a file.")
    return node


class Call:
    """One call: its inputs as the kernel gets them, and what comes out of it."""

    def __init__(self, session: Any, fn: Any, bound: inspect.BoundArguments, shape: tuple[int, ...]) -> None:
        self.session, self.fn, self.bound, self.shape = session, fn, bound, shape
        self.given = bound.arguments
        self.inputs: list[tuple[Input, Any]] = []
        self.values: dict[str, Any] = {}
        self.recorded: dict[int, Any] = {}  # by number: what is differentiable
        for name, x in self.given.items():
            self.values[name] = self.argument(name, x)

    def argument(self, name: str, x: Any) -> Any:
        """An argument as the translation has it."""
        plain = value(x)
        if is_array(plain):
            kind = Type("numpy", plain.dtype) if plain.dtype.kind in "fiub" else None
        else:
            kind = number_type(plain)
        if kind is None:
            if is_array(plain) or depends(x):
                what = f"{plain.dtype} entries" if is_array(plain) else "a recorded container"
                raise refuse(f"elementwise: {what} cannot be handed to a function of numbers on a GPU", "Use floats.")
            return Thing(plain, (("argument", name),))
        index = -1
        if isinstance(x, Ref) and kind.dtype.kind == "f":
            index = len(self.recorded)
            self.recorded[index] = x
            kind = kind._replace(active=frozenset([index]))
        self.inputs.append((Input(name, kind, (), False, index), self.operand(plain)))
        return Value(kind, "", dict.fromkeys(kind.active, ""))

    def operand(self, x: Any) -> Any:
        """Memory on the device, or a number."""
        if type(x) is np.ndarray:
            x = self.session.array(x)
        return self.session.readable(x) if remote(x) else x

    def run(self) -> Any:
        t = translated(self.fn, self.given, self.values, len(self.recorded), tree, look)
        for about in t.inputs:
            found = settle(resolved(self.fn, about.path, self.given))
            if about.recorded >= 0:
                self.recorded[about.recorded] = found
            self.inputs.append((about, self.table(found) if about.table else self.operand(value(found))))
        kind, active = t.main.result, sorted(t.main.result.active - {WEAK})
        outputs = [self.session.empty(self.shape, kind.stored) for _ in range(1 + len(active))]
        flags = self.session.array(np.full(2, NEVER)) if t.flagged else None
        spots = [self.session.spot(x) for x in outputs]
        self.session.launch(kernel(t, self.inputs, spots, flags))
        if flags is not None:
            first, weak = flags.get()
            if first != NEVER:
                self.raise_for(int(first))
            if kind.kind == "mixed" and weak == NEVER:  # no entry is a number of Python's
                outputs = [x.astype(kind.dtype) for x in outputs]
        return self.node(outputs, active)

    def table(self, x: Any) -> Any:
        x = value(x)
        kind = table_type(x)
        assert kind is not None
        if not remote(x):
            x = self.session.array(np.array(x, kind.dtype))
        return self.session.spot(x.copy() if not x.flags.c_contiguous else x)

    def node(self, outputs: list[Any], active: list[int]) -> Any:
        """The recorded value, whose rule multiplies by the derivatives."""
        found = {k: self.recorded[k] for k in active if self.recorded[k].t.live}
        tapes = list({id(x.t): x.t for x in found.values()}.values())
        if not tapes:
            return outputs[0]
        t = tapes[0]
        if len(tapes) > 1 or t.deep:
            reason = "elementwise on a GPU has first derivatives only"
            raise refuse(reason, 'Take derivatives of derivatives on the CPU: record(f).on("cpu").')
        if t.dual:
            places = [[found[k].n, weighted, True, [p]] for k, p in zip(active, outputs[1:], strict=True) if k in found]
            n = made("elementwise", [], site(), t)
            t.done(Push(n, outputs[0], places, t))
            return tensor(outputs[0], n, t)
        edges = []
        for k, partial in zip(active, outputs[1:], strict=True):
            if k in found:
                x, xv = found[k], value(found[k])
                fit = (xv.shape, xv.dtype, True) if hasattr(xv, "dtype") else (None, None, True)
                edges.append([x if type(x) is Scalar else x.n, weighted, fit, [partial]])
        return handle("elementwise", outputs[0], edges, site(), t)

    def raise_for(self, i: int) -> None:
        """Call the function on the host for the entry at which it raises."""
        at = np.unravel_index(i, self.shape)

        def entry(x: Any) -> Any:
            x = value(x)
            if not is_array(x):
                return x.get() if remote(x) else x
            own = np.broadcast_to(x, self.shape)[at]
            return own.get() if remote(own) else own

        for name, x in self.given.items():
            self.bound.arguments[name] = entry(x)
        with np.errstate(all="ignore"):
            self.fn(*self.bound.args, **self.bound.kwargs)
        raise refuse(
            f"elementwise: entry {list(map(int, at))} needs a number that a GPU does not have, such as an integer"
            " beyond 64 bits or a complex power",
            "Call it on the CPU, or keep the numbers smaller.",
        )


def weighted(ops: Any, g: Any, partial: Any) -> Any:
    return g * partial

