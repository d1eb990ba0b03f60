"""The samples of the blocks as calls, for the tests that run over all operations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import oracle

from autograd_frontend import ops
from autograd_frontend.ops.block import OPERATIONS, Operation, find
from autograd_frontend.ops.plain import PLAIN
from autograd_frontend.recording import ACTIVE, gather, settle
from autograd_frontend.running import run
from autograd_frontend.tape import Tape
from autograd_frontend.trees import enter

assert ops
try:
    import scipy.special  # noqa: F401
except ImportError:
    pass


class Case(NamedTuple):
    """A call of one of the callables of an operation."""

    op: Operation
    path: str
    call: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.path}-{self.op.name}"

    def plain(self, *args: Any) -> Any:
        """The call itself, of these arguments or of its own."""
        with np.errstate(all="ignore"):
            return self.call(*(args or self.args), **self.kwargs)

    def operands(self) -> list[Any]:
        return list(self.op.bind(*self.args, **self.kwargs)[0] if self.op.bind else self.args)

    def settings(self) -> dict[str, Any]:
        return self.op.bind(*self.args, **self.kwargs)[1] if self.op.bind else {}

    def attributes(self) -> dict[str, Any]:
        """The settings, and what the operation keeps for its rules."""
        found = self.settings()
        if self.op.keeps:
            found |= zip(self.op.keeps, self.op.function.compute(*self.args, **self.kwargs)[1:])
        return found

    def places(self) -> list[Any]:
        """The positions and keywords of the arguments that hold operands."""
        ids = {id(x) for x in self.operands()}

        def holds(x: Any) -> bool:
            return id(x) in ids or (isinstance(x, (list, tuple)) and any(holds(e) for e in x))

        return [i for i, x in enumerate(self.args) if holds(x)] + [k for k, x in self.kwargs.items() if holds(x)]

    def inputs(self) -> list[Any]:
        """The arguments at these places."""
        return [self.args[k] if type(k) is int else self.kwargs[k] for k in self.places()]

    def given(self, inputs: Any) -> Case:
        """The same call with other arguments at these places."""
        new = dict(zip(self.places(), inputs))
        args = tuple([new.get(i, x) for i, x in enumerate(self.args)])
        return self._replace(args=args, kwargs={k: new.get(k, x) for k, x in self.kwargs.items()})

    def record(self) -> Any:
        """The recording of the call."""
        with np.errstate(all="ignore"):
            return run(self.call, str, self.args, self.kwargs, set(self.places()))

    def gradient(self, weights: Any) -> list[Any]:
        return self.record().gradients(weights, True)

    def function(self, *inputs: Any) -> Any:
        return self.given(inputs).plain()


def fresh(x: Any, lists: bool) -> Any:
    """A copy in which every number is an object of its own (operands are found by identity)."""
    if type(x) is list and lists:
        return np.array(x, np.float64)
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)([fresh(e, lists) for e in x])
    if type(x) is float:
        return x * 1.0
    return np.array(x) if type(x) is np.ndarray else x


def callable_of(path: str) -> Any:
    return method(path[14:]) if path.startswith("numpy.ndarray.") else find(path)


def method(name: str) -> Any:
    """A method or an attribute of arrays as a function, one that can be recorded."""

    def attribute(x):
        return getattr(x, name)

    def call(x, *args, **kwargs):
        return getattr(x, name)(*args, **kwargs)

    return attribute if name in ("T", "real", "imag", "mT", "flat") else call


def case(op: Operation, path: str, sample: tuple[Any, ...]) -> Case:
    kwargs = sample[-1] if sample and type(sample[-1]) is dict else {}
    args = sample[: len(sample) - bool(kwargs)]
    lists = op.elementwise
    new = {k: fresh(x, lists) for k, x in kwargs.items()}
    return Case(op, path, callable_of(path), tuple([fresh(x, lists) for x in args]), new)


def takes(c: Case) -> bool:
    """Whether this callable takes this sample (`math` takes no arrays)."""
    if c.call is None:
        return False
    try:
        c.plain()
    except (TypeError, AttributeError, ValueError):
        return False
    return True


def cases() -> list[Case]:
    """Every sample of every operation, with its first callable, and with the others that take it."""
    found = []
    for op in OPERATIONS.values():
        for path in op.calls:
            every = [case(op, path, sample) for sample in op.samples]
            found += [c for c in every if takes(c) and (c.inputs() and oracle.entries(c.inputs()).size)]
    return found


def tangents_for(c: Case, seed: int) -> list[Any]:
    """A tangent for every operand that is handed in with the call (not for defaults), None for plain data."""

    def inside(x: Any) -> set[int]:
        return {id(x)}.union(*[inside(e) for e in x]) if isinstance(x, (list, tuple)) else {id(x)}

    ids = inside(c.inputs())
    given = [x if id(x) in ids and oracle.entries(x).size else None for x in c.operands()]
    return [None if x is None else oracle.random_like(x, seed + i) for i, x in enumerate(given)]


def tangent_of(c: Case, tangents: list[Any]) -> Any:
    """The tangent of the result by the rules of the block, for a tangent of each operand."""
    op, attributes, v = c.op, c.attributes(), c.plain()
    if op.linear:
        return linear_tangent(c, tangents)
    tape = Tape()
    ACTIVE.append(tape)
    try:
        refs = [settle(enter(x, tape)[0]) for x in c.operands()]
        total: Any = 0
        for i, t in enumerate(tangents):
            if t is None:
                continue
            rules = op.pulls if op.elementwise else op.pushes
            rule = rules[0 if op.variadic else i]
            saved: list[Any] = [i] if op.variadic else []
            gather(rule.needs, saved, v, refs, attributes, tape)
            if op.elementwise and np.shape(v):
                t = np.broadcast_to(t, np.shape(v))
            with np.errstate(all="ignore"):
                total = total + np.broadcast_to(rule.function(PLAIN, t, *saved), np.shape(v))
    finally:
        ACTIVE.remove(tape)
    return total


def linear_tangent(c: Case, tangents: list[Any]) -> Any:
    """The operation applied to tangents. Where its rules look at other operands (a product) it is linear in each
    operand alone, otherwise in all of them together."""
    operands = c.operands()
    each = any(type(n) is int and 0 <= n < 100 or n == "operands" for rule in c.op.pulls for n in rule.needs)
    if not each:
        others = [0 if t is None and type(x) is int else t for x, t in zip(operands, tangents)]
        return replaced(c, operands, others).plain()
    total: Any = 0
    for i, t in enumerate(tangents):
        if t is not None:
            total = total + replaced(c, operands, [t if k == i else x for k, x in enumerate(operands)]).plain()
    return total


def replaced(c: Case, operands: list[Any], others: list[Any]) -> Case:
    """The call with its operands replaced."""
    new = {id(x): y for x, y in zip(operands, others) if y is not None}

    def put(x: Any) -> Any:
        if id(x) in new:
            return new[id(x)]
        return type(x)([put(e) for e in x]) if type(x) in (list, tuple) else x

    return c._replace(args=tuple([put(x) for x in c.args]), kwargs={k: put(x) for k, x in c.kwargs.items()})


def retyped(x: Any, dtype: Any) -> Any:
    """Float arrays in another element type; numbers too, if they are NumPy's."""
    if isinstance(x, (np.ndarray, np.floating)) and np.dtype(x.dtype).kind == "f":
        return x.astype(dtype)
    return type(x)([retyped(e, dtype) for e in x]) if type(x) in (list, tuple) else x


def function_of(c: Case) -> Any:
    """The call as a function of the list of its operands, one that can be recorded."""
    places = c.places()

    def f(inputs):
        args, kwargs = list(c.args), dict(c.kwargs)
        for k, x in zip(places, inputs):
            if type(k) is int:
                args[k] = x
            else:
                kwargs[k] = x
        return c.call(*args, **kwargs)

    return f
