"""What a node may run, and what that gives: operators, functions with a rule, methods of arrays."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import callables, python, rewrite
from ..eager import EAGER
from ..ops import linalg, plain
from ..ops.block import OPERATIONS, Operation, find
from ..recording import BUILDING, builder_of, mine, value

ndarray = np.ndarray
OPERATORS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "pow": "{} ** {}", "mod": "{} % {}",
    "floordiv": "{} // {}", "matmul": "{} @ {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}",
    "or_": "{} | {}", "xor": "{} ^ {}", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}",
    "eq": "{} == {}", "ne": "{} != {}", "neg": "-{}", "pos": "+{}", "invert": "~{}",
}  # fmt: skip
IN_PLACE = {
    "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "ipow": "**=", "imod": "%=", "ifloordiv": "//=",
    "imatmul": "@=", "ilshift": "<<=", "irshift": ">>=", "iand": "&=", "ior": "|=", "ixor": "^=",
}  # fmt: skip
STATIC = set(
    "shape ndim size isscalar iscomplexobj isrealobj result_type can_cast broadcast_shapes diag_indices_from "
    "tril_indices_from triu_indices_from zeros_like ones_like empty_like __len__".split()
)
WRITERS = ("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis")
EXTRA = {
    "builtins.sum": sum, "builtins.float": float, "builtins.round": round, "builtins.pow": pow,
    "numpy.add.at": np.add.at, "numpy.subtract.at": np.subtract.at,
    **{f"numpy.{name}": getattr(np, name) for name in WRITERS},
}  # fmt: skip
HELPERS = ("strong_zero", "fitted", "times", "where", "number", "real", "both", "either", "invert")
PATHS: dict[str, Any] = {}  # path of a callable -> its operation, or None
NAMES: dict[Any, str] = {}  # a callable -> its path


class Target(NamedTuple):
    """What a node runs: its kind, the path or name, and the operation that it is."""

    kind: str
    name: str
    op: Any


def fill() -> None:
    """Read the table of operations once."""
    callables.of(np.sin)  # which fills the table
    if not PATHS:
        for op in OPERATIONS.values():
            for path in op.calls:
                if not path.startswith("numpy.ndarray."):
                    PATHS[path] = op
        for path in python.DATA.split():
            PATHS.setdefault(path, None)
        PATHS.update(dict.fromkeys(EXTRA))
        PATHS.update({f"autograd_frontend.graph.helpers.{name}": None for name in HELPERS})
        install()
    for path in PATHS:
        f = EXTRA.get(path) or find(path)
        if f is not None:
            NAMES.setdefault(f, path)


def ready() -> None:
    """See that programs know what `install` puts in."""
    if not PATHS:
        fill()


def install() -> None:
    """The functions of rules that choose by a value are nodes while a graph is built."""
    for cls, names in ((plain.Plain, ("times", "where", "bilinear")), (plain.Floats, ("where", *HELPERS[-3:]))):
        for name in names:
            f = getattr(cls, name)
            callables.TABLE[f] = choosing(f, name)
    from . import helpers

    callables.TABLE[helpers.strong_zero] = callables.function(helpers.followed_zero)
    for f in (helpers.fitted, helpers.pulled, helpers.by_rule):  # derivatives go through them
        callables.TABLE[f] = rewrite.bind(f, EAGER)  # type: ignore[arg-type]
    callables.TABLE[np.random.default_rng] = generator
    callables.TABLE[linalg.multiple] = choosing(linalg.multiple, "times", 1)


def generator(*args: Any, **kwargs: Any) -> Any:
    """`np.random.default_rng`, of which a graph that is built wants to know."""
    v = np.random.default_rng(*args, **kwargs)
    for t in mine():
        if t.graph is not None:
            t.graph.drawn(np.random.default_rng, (*args, *kwargs.values()), v)
    return v


def choosing(f: Any, name: str, first: int = 0) -> Callable[..., Any]:
    """What a rule calls in place of `f`; so many arguments are not handed on."""
    program = callables.function(f)

    def call(*args: Any) -> Any:
        if BUILDING and (builder := builder_of(args)) is not None:
            if name == "bilinear":
                return builder.bilinear(*args)
            if name != "where" or (builder_of(args[0]) is not None and not np.ndim(value(args[0]))):
                return builder.helper(name, args[first:])
        return program(*args)

    call.__name__ = name
    return call


RULES: dict[Any, tuple[str, int]] = {}


def rule_named(rule: Any) -> tuple[str, int] | None:
    """The operation that a pullback rule is of, and which of its rules it is."""
    if not RULES:
        for key, op in OPERATIONS.items():
            for i, r in enumerate(op.pulls):
                RULES.setdefault(r.function, (key, i))
    return RULES.get(rule)


def target_of(call: Any) -> Target:
    """What a callable is called in a graph."""
    if type(call) is operator.attrgetter:
        reduced: Any = call.__reduce__()
        name = reduced[1][0]
        return Target("attribute", name, callables_of_method(name))
    method = getattr(call, "method", None)
    if method is not None:
        return Target("method", method, callables_of_method(method))
    name = getattr(call, "__name__", "")
    if (name in OPERATORS or name in IN_PLACE) and getattr(operator, name, None) is call:
        return Target("inplace" if name in IN_PLACE else "operator", name, None)
    path = NAMES.get(call)
    if path is None:
        fill()
        path = NAMES.get(call, "")
    return Target("call", path, PATHS.get(path))


DATA_METHODS = set(python.DATA_METHODS.split())
METHOD_OPERATIONS: dict[str, Operation] = {}


def callables_of_method(name: str) -> Operation | None:
    """The operation that a method of arrays is."""
    if not METHOD_OPERATIONS:
        for op in OPERATIONS.values():
            for path in op.calls:
                if path.startswith("numpy.ndarray."):
                    METHOD_OPERATIONS[path[14:]] = op
    return METHOD_OPERATIONS.get(name)


def callable_at(path: str) -> Any:
    """The callable of a path of the table; None where there is none."""
    if path in EXTRA:
        return EXTRA[path]
    if path not in PATHS:
        fill()
    if path not in PATHS:
        return None
    if find(path) is None:  # of a module that is not imported yet
        module = path.rpartition(".")[0]
        while module:
            try:
                importlib.import_module(module)
                break
            except ImportError:
                module = module.rpartition(".")[0]
    return find(path)
