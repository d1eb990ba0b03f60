"""Blocks: the one place where an operation is described.

    @elementwise("numpy.sin math.sin")
    class sin:
        '''Sine, entry by entry. x: radians, ...'''
        def pull_x(ops, g, x): return g * ops.cos(x)
        samples = span(-10.0, 10.0)

`pull_<operand>(ops, g, ...)` is the vector-Jacobian product for that operand: `ops` has the functions, `g` is the
cotangent of the result, and every further parameter names what the rule needs, which is what a recording saves:

    x, a, b, ...   the value of an operand (named as in `pull_x`)
    x_like         only its shape, dtype, ndim and size (`Like`)
    y, y_like      the result
    anything else  an attribute that `bind` returned (axis, keepdims, ...)

An elementwise block needs nothing more: its tangent is the same rule applied to the tangent, its shape rule is
broadcasting. Other blocks give `bind(call's parameters) -> (operands, attributes)`, `shape(likes, **attributes) ->
Like`, and `push_<operand>(ops, t, ...)`, the contribution of the operand's tangent `t`, unless `linear` is set:
then the operation itself is applied to the tangent. `pull_each(ops, g, i, ...)` serves a variable number of
operands; it may ask for `operands` (all values) or `likes` (all shapes).

A block with `value(ops, operands..., settings...)` is public: `autograd_frontend.ops` exports a function of its name
(`public` names another one), made by `interface.py`. Its `bind` is read off the signature. `keeps` names by-products
that its rules need: `value` then returns `(result, *by-products)`, and what is kept is saved in place of operands.
A by-product or setting named `memo` is a list in which the rules of the
operands leave for each other what they have computed of one `g`.
`reads` names what may be recorded there although it has no derivative. A public block without rules gives plain data,
which `data = True` says; `writes` names the settings whose memory it changes. `number = True`: a Python number.
`instead` says for a setting what to write where it would be recorded.
`cuda` is what a GPU computes of the operands of an elementwise operation: a CUDA expression, or statements that end in
`return`, with `T` as the type of an entry (`T(0.5)`: a bare 0.5 is a double). Without it a GPU refuses the operation.

Cotangents of complex numbers are `dL/dRe + 1j*dL/dIm`. An operation that takes or gives complex numbers is refused
unless its block says how: `complex = True` (its rules hold for them as they are), `complex = "conjugated"` (they hold
with the conjugate of every factor: the operation is holomorphic), `complex = "sesquilinear"` (a product that takes the
conjugate of its first operand), or the name of another operation that it is then.
`complex` may also be a function of the values of the operands, and of which are recorded, that answers so or False.

Blocks are never instantiated. Names of callables are text, so nothing is imported for them before it is used.
"""

from __future__ import annotations

import copy
import dis
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .interface import publish

OPERATIONS: dict[str, Operation] = {}
COMPOSED: dict[str, Callable[..., Any]] = {}  # path of a callable -> what it is recorded as
SPECIAL = {"operands", "likes", "recorded", "operand_like", "operand"}  # of all operands of a variadic operation
RESULT, LIKE = -1, 100  # what a rule needs: operand i is i, the result -1, only the shape of either 100 more


class Like(NamedTuple):
    """Shape and dtype of a value that was not saved. A Python number has dtype None, or that of complex numbers."""

    shape: tuple[int, ...]
    dtype: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:
            n *= k
        return n


def like(x: Any) -> Like:
    if isinstance(x, (list, tuple)):
        x = np.array(x)
    return Like(getattr(x, "shape", ()), getattr(x, "dtype", np.dtype(complex) if type(x) is complex else None))


class Rule(NamedTuple):
    """A pullback or tangent rule and what it needs. `strict`: it multiplies, so exact zeros have to be watched."""

    function: Callable[..., Any]
    needs: tuple[Any, ...]
    strict: bool
    simple: bool  # only attributes

    def always_new(self) -> bool:
        """Whether the rule returns the result of an arithmetic operator, which is a new array."""
        last = ""
        for instruction in dis.get_instructions(self.function):
            if instruction.opname.startswith("RETURN") and not last.startswith(("BINARY_OP", "UNARY_NEGATIVE")):
                return False
            last = instruction.opname
        return True


class Operation:
    """What a block says, checked and ready to use."""

    __slots__ = (
        "name", "doc", "calls", "operands", "pulls", "pushes", "bind", "shape", "elementwise", "linear", "views",
        "samples", "sweeps", "variadic", "rtol", "scalars", "parts", "alone", "back", "low_rank",
        "accumulates", "complex", "twin", "value", "function", "keeps", "data", "number", "reads", "writes", "key",
        "instead", "cuda",
    )  # fmt: skip

    def __init__(self, block: type, calls: str, kind: str) -> None:
        given = vars(block)
        self.name, self.doc = block.__name__.rstrip("_"), block.__doc__ or ""
        self.calls = calls.split()
        self.elementwise = kind == "elementwise"
        self.operands = tuple(name[5:] for name in given if name.startswith("pull_") and name != "pull_each")
        self.variadic = "pull_each" in given
        self.linear = bool(given.get("linear", False))
        self.views = bool(given.get("views", False))
        self.samples = given.get("samples", ())
        self.rtol = given.get("rtol", 1e-6)
        self.bind = given.get("bind")
        self.shape = given.get("shape")
        self.alone = given.get("alone", "")  # what a tuple of results is where the call gives only one
        self.parts = given.get("parts", ())  # for a tuple of results: the operation of each, None for plain data
        self.scalars = given.get("scalars")  # (factor of a, factor of b) as text, where the rule is g times a factor
        self.sweeps: dict[Any, Any] = {}
        self.back: Any = None
        self.accumulates = given.get("accumulates", 0)  # how often `a op= b` gives `b` the cotangent that `a` keeps
        self.low_rank = given.get("low_rank", "")  # for vectors and matrices it is this operation, on a fast path
        self.complex: Any = given.get("complex", False)
        self.twin: Any = None  # the operation on complex numbers, where its rules are conjugated
        self.value = given.get("value")  # of a public operation: computes it, `value(ops, operands..., settings...)`
        self.function: Any = None  # the public function
        self.keeps: tuple[str, ...] = given.get("keeps", ())
        self.data = bool(given.get("data", False))
        self.number = bool(given.get("number", False))  # its result is a Python number, not NumPy's
        self.reads: tuple[str, ...] = given.get("reads", ())
        self.writes: tuple[str, ...] = given.get("writes", ())
        self.instead: dict[str, str] = given.get("instead", {})  # setting -> what to write where it is recorded
        self.cuda: str = given.get("cuda", "")  # of an entrywise operation: what a GPU computes, CUDA text
        self.key = given.get("key", self.name)  # among all operations, where NumPy has one of the same name
        if self.value is not None:
            publish(self, given.get("public", self.name))
        strict = given.get("strict", self.elementwise)
        if self.variadic:
            self.pulls: tuple[Rule, ...] = (self.rule(given["pull_each"], 3, strict),)
        else:
            self.pulls = tuple(self.rule(given["pull_" + x], 2, strict) for x in self.operands)
        self.pushes = tuple(self.rule(given["push_" + x], 2, False) for x in self.operands if "push_" + x in given)
        if "push_each" in given:
            self.pushes = (self.rule(given["push_each"], 3, False),)
        self.check()

    def rule(self, function: Callable[..., Any], skip: int, strict: bool) -> Rule:
        code = function.__code__
        names = code.co_varnames[skip : code.co_argcount]
        places = {name: i for i, name in enumerate(self.operands)}
        places |= {f"{name}_like": LIKE + i for i, name in enumerate(self.operands)}
        places |= {"y": RESULT, "y_like": LIKE + RESULT}
        needs = tuple(places.get(name, name) for name in names)
        simple = all(type(n) is str and n not in SPECIAL for n in needs)
        return Rule(function, needs, strict and any(type(n) is int and n < LIKE + RESULT for n in needs), simple)

    def check(self) -> None:
        """An incomplete block does not import: a missing rule never means zero."""
        missing = []
        if not self.doc and sys.flags.optimize < 2:  # python -OO strips them
            missing.append("a docstring")
        if not self.pulls and not self.parts and not self.data:
            missing.append("a pullback")
        if not self.elementwise and not self.data:
            missing += [what for what in ("bind", "shape") if getattr(self, what) is None]
            if not self.linear and not self.parts and len(self.pushes) != len(self.pulls):
                missing.append("a tangent for every operand (or `linear = True`)")
        if missing:
            raise TypeError(f"operation {self.name} lacks {', '.join(missing)}")

    def on_complex(self, values: Any, recorded: Any) -> Operation | None:
        """What this operation is on complex numbers; None where there is no rule for it."""
        how = self.complex
        if callable(how):
            how = how(values, recorded)
        if how is True:
            return self
        form = {"conjugated": (conjugated, conjugated), "sesquilinear": (antilinear, None)}.get(how)
        if form is None:
            return OPERATIONS[how] if how else None
        if self.twin is None:
            self.twin = copy.copy(self)
            forms = [form[min(i, 1)] for i in range(len(self.pulls))]
            pairs = zip(self.pulls, forms, strict=True)
            self.twin.pulls = tuple([r._replace(function=partial(f, r.function)) if f else r for r, f in pairs])
        return self.twin  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


def conjugated(rule: Callable[..., Any], ops: Any, g: Any, *saved: Any) -> Any:
    """A rule that multiplies `g` by a factor, with the conjugate of the factor instead."""
    return ops.conj(rule(ops, ops.conj(g), *saved))


def antilinear(rule: Callable[..., Any], ops: Any, g: Any, *saved: Any) -> Any:
    """A rule of an operand of which the operation takes the conjugate."""
    return rule(ops, ops.conj(g), *saved)


def elementwise(calls: str = "") -> Callable[[type], Any]:
    """An operation on entries: operands broadcast, the result has NumPy's result type."""
    return lambda block: register(Operation(block, calls, "elementwise"))


def operation(calls: str = "") -> Callable[[type], Any]:
    """Any other operation."""
    return lambda block: register(Operation(block, calls, "operation"))


def composed(calls: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A call that is recorded as the operations it is made of: `f(of, ...)` with NumPy's parameters, where
    `of(np.reshape)(x, ...)` is a recorded call. Its value must be the one NumPy's own function computes."""

    def put(f: Callable[..., Any]) -> Callable[..., Any]:
        COMPOSED.update(dict.fromkeys(calls.split(), f))
        return f

    return put


def register(op: Operation) -> Any:
    """Put an operation in the table; its public function, or itself where it has none."""
    if op.key in OPERATIONS:
        raise TypeError(f"two operations are named {op.key}")
    OPERATIONS[op.key] = op
    return op.function or op


def find(path: str) -> Any:
    """The callable called `module.attribute...`, or None where the module is not imported (nobody can hold it)."""
    parts = path.split(".")
    for n in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:n]))
        if module is not None:
            thing: Any = module
            for part in parts[n:]:
                thing = getattr(thing, part, None)
            return thing
    return None


def span(low: float, high: float, n: int = 7) -> tuple[Any, ...]:
    """A sample of points for the tests of a one-operand operation: an array and its two ends as floats."""
    x = np.linspace(low, high, n)
    return ((x,), (float(x[1]),), (x.reshape(n, 1) * np.ones(2),))
