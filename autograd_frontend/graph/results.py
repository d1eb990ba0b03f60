"""What a call gives when its arguments are stand-ins: by the shape rule of its block, or by the rule for its kind."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.block import OPERATIONS, Operation, like
from ..ops.interface import done
from ..recording import refuse, value
from .calls import HELPERS
from .shapes import assignable, blank, by_broadcasting, by_rule, described, of_like, tiny

ndarray = np.ndarray
REDUCED = set("argmax argmin any all count_nonzero nanargmax nanargmin".split())
ORDERED = set("argsort argpartition".split())
ANSWERS = set("allclose array_equal isclose isnan isinf isfinite is_integer".split())  # of numbers: a bool
ENTRYWISE = set("fix round around isposinf isneginf isclose".split())


def given_by(op: Operation, call: Any, args: Any, kwargs: Any) -> Any:
    """The stand-in of what a call of an operation gives, its arguments being stand-ins."""
    if op.data:
        return of_data_operation(op, args, kwargs)
    out = kwargs.get("out")
    if out is not None:
        return out[0] if type(out) is tuple else out
    if op.name == "where" and len(args) == 1:
        raise refuse("where of one argument has a shape that is known only when it runs", "Give it all three.")
    if op.elementwise and op.bind is None:
        count = len(op.operands)
        return by_broadcasting(call, args[:count], args[count:], kwargs)
    operands, attributes = bound(op, args, kwargs)
    if op.views and looks(op, operands, attributes):
        with np.errstate(all="ignore"):
            return exact(call(*args, **kwargs), op, call, args, kwargs)
    if op.parts:
        return several(op, call, operands, attributes, args, kwargs)
    if op.elementwise:
        return of_entries(op, call, operands, args, kwargs)
    possible(op, call, operands, attributes, args, kwargs)
    v = exact(by_rule(op, operands, attributes), op, call, args, kwargs)
    if kwargs.get("dtype") is not None and hasattr(v, "dtype"):
        return blank("array" if type(v) is ndarray else "scalar", v.shape, kwargs["dtype"])
    return widened(v, call, args, kwargs) if any(is_whole(x) for x in operands) else v


def looks(op: Operation, operands: Any, attributes: Any) -> bool:
    """Whether an operation that may give a view does nothing but move entries."""
    if op.name == "einsum":
        return len(operands) == 1
    return op.name not in ("matrix_power", "diff") or attributes.get("n") == (1 if op.name == "matrix_power" else 0)


def bound(op: Operation, args: Any, kwargs: Any) -> Any:
    """Operands and settings of a call."""
    assert op.bind is not None
    try:
        return op.bind(*args, **kwargs)
    except TypeError as error:
        raise refuse(f"this form of {op.name} cannot be part of a graph: {error}", "Write it otherwise.") from None


FITTING = set(
    "matmul dot inner outer tensordot einsum solve inv det slogdet cholesky pinv trace kron concatenate stack "
    "vstack hstack dstack column_stack concat linear mse_loss multi_dot matrix_power vecdot matvec vecmat".split()
)
SMALL, MANY = (2, 3, 5, 7, 11, 13), 1 << 20


def is_whole(x: Any) -> bool:
    """Whether an operand is an array of integers or truth values."""
    return type(x) is ndarray and x.dtype.kind in "iub"


def is_index(x: Any) -> bool:
    """Whether a value is made of whole numbers or truth values."""
    return x.dtype.kind in "iub" if isinstance(x, (ndarray, np.generic)) else isinstance(x, int)


def other(i: int) -> Callable[[Any], Any]:
    """What gives other whole numbers of the same type and shape."""
    def numbers(x: Any) -> Any:
        if type(x) is not ndarray:
            return type(x)(i)
        return (np.full(x.shape, i) if i else np.arange(x.size).reshape(x.shape) % 5).astype(x.dtype)

    return numbers


OTHERS = tuple(other(i) for i in (1, 2, 7, 0))


def widened(v: Any, call: Any, args: Any, kwargs: Any) -> Any:
    """The result for whole numbers, of which sums are wider, in the dtype that a small call gives."""
    try:
        small = call(*[few(x) for x in args], **kwargs)
    except (ValueError, IndexError, TypeError):  # settings that belong to the shape
        return v
    if not hasattr(v, "dtype") or getattr(small, "dtype", v.dtype) == v.dtype:
        return v
    return blank("array" if type(v) is ndarray else "scalar", v.shape, small.dtype)


def few(x: Any) -> Any:
    if type(x) is ndarray:
        return np.ones(tiny(x.shape), x.dtype)
    return type(x)([few(e) for e in x]) if type(x) in (list, tuple) else x


def possible(op: Operation, call: Any, operands: Any, attributes: Any, args: Any, kwargs: Any) -> None:
    """Raise what NumPy raises where shapes or an axis do not fit: of small arrays whose extents are equal where those
    of the operands are."""
    axis = attributes.get("axis")
    if len(operands) == 1 and not op.variadic and isinstance(axis, (int, tuple)) and type(axis) is not bool:
        np.lib.array_utils.normalize_axis_tuple(axis, np.ndim(operands[0]), "axis")
    if op.name not in FITTING and getattr(call, "__name__", "") not in FITTING:
        return
    extents = sorted({n for x in operands for n in np.shape(x) if n > 1})
    if len(extents) > len(SMALL):
        return
    fewer = dict(zip(extents, SMALL, strict=False))
    if any(math.prod([fewer.get(n, n) for n in np.shape(x)]) > MANY for x in operands):
        return

    def shrunk(x: Any) -> Any:
        if type(x) is ndarray:
            return np.ones(tuple([fewer.get(n, n) for n in x.shape]), x.dtype)
        return type(x)([shrunk(e) for e in x]) if type(x) in (list, tuple) else x

    try:
        call(*[shrunk(x) for x in args], **{k: shrunk(x) for k, x in kwargs.items()})
    except np.linalg.LinAlgError as error:
        if "ingular" not in str(error) and "definite" not in str(error):
            raise


def exact(v: Any, op: Operation, call: Any, args: Any, kwargs: Any) -> Any:
    """Rank 0 comes as an array, as NumPy's scalar or as a number of Python's."""
    module = getattr(call, "__module__", None) or ""
    if module.startswith("scipy") and op.name == "norm" and not np.ndim(v):  # some come from BLAS as Python's floats
        given = [np.ones(tiny(x.shape), x.dtype) if type(x) is ndarray else x for x in args]
        return blank(*described(call(*given, **kwargs)))
    scalar = module == "autograd_frontend.ops" or op.name in ("einsum", "matrix_power", "diff")
    return v[()] if type(v) is ndarray and not v.ndim and scalar else v


def of_entries(op: Operation, call: Any, operands: Any, args: Any, kwargs: Any) -> Any:
    """The same where the call has settings."""
    at = {id(x): i for i, x in enumerate(operands)}

    def few(*xs: Any) -> Any:
        def swapped(x: Any) -> Any:
            if id(x) in at:
                return xs[at[id(x)]]
            return type(x)([swapped(e) for e in x]) if type(x) in (list, tuple) else x

        return call(*[swapped(x) for x in args], **{k: swapped(x) for k, x in kwargs.items()})

    return by_broadcasting(few, operands)


def several(op: Operation, call: Any, operands: Any, attributes: Any, args: Any, kwargs: Any) -> Any:
    """A tuple of results, each by its own rule; its class is that of a small call."""
    likes = [like(value(x)) for x in operands]
    small = call(*[np.eye(2, dtype=x.dtype) if type(x) is ndarray and x.ndim >= 2 else x for x in args], **kwargs)
    if type(small) is ndarray:
        return by_rule(OPERATIONS[op.alone], operands, attributes)
    parts = []
    for name, r in zip(op.parts, small, strict=True):
        if type(r) is bool:  # which triangle a factor is in
            parts.append(r)
            continue
        if name is None:  # a sign, beside a number of the same shape
            shape = rule_of(op, likes, attributes).shape
            parts.append(blank("array" if shape else "scalar", shape, r.dtype))
            continue
        rule = OPERATIONS[name]
        assert rule.shape is not None
        parts.append(of_like(rule.shape(*likes, **attributes), rule))
    return type(small)(*parts) if hasattr(small, "_fields") else tuple(parts)


def rule_of(op: Operation, likes: Any, attributes: Any) -> Any:
    """Shape and dtype of the first result that has a rule."""
    rule = OPERATIONS[next(name for name in op.parts if name)]
    assert rule.shape is not None
    return rule.shape(*likes, **attributes)


def of_data_operation(op: Operation, args: Any, kwargs: Any) -> Any:
    assert op.bind is not None
    given, settings = op.bind(*args, **kwargs)
    if op.name in ("detach", "top_k_mask"):
        return blank(*described(done(np.asarray(given[0]))))
    if op.name == "rand_uniform":
        return drawn(settings["shape"], settings["dtype"])
    if op.name == "bernoulli_mask":
        return drawn(settings["shape"], np.asarray(given[0]).dtype)
    raise refuse(f"{op.name} cannot be part of a graph", REMEDIES.get(op.name, "Compute it outside."))


REMEDIES = {
    "observe": "Leave it out: a graph has no current values.",
    "update_buffers": "Keep state outside of the graph: it is the same at every run.",
}


def drawn(shape: Any, dtype: Any) -> Any:
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    return blank("array", extents, dtype) if extents else blank("scalar", (), dtype)


def given_by_data(name: str, call: Any, args: Any, kwargs: Any) -> Any:
    """The stand-in of a result that has no derivative."""
    out = kwargs.get("out")
    if out is not None:
        return out[0] if type(out) is tuple else out
    if isinstance(call, np.ufunc):
        return by_broadcasting(call, args[: call.nin], args[call.nin :], kwargs)
    if name in REDUCED:
        return reduced(name, call, args, kwargs)
    if name in ORDERED:
        at = 2 if name == "argpartition" else 1
        axis = kwargs.get("axis", args[at] if len(args) > at else -1)
        x = np.asarray(args[0])
        return blank("array", (x.size,) if axis is None else x.shape, np.intp)
    if name == "searchsorted" or name == "digitize":
        x = np.asarray(args[1 if name == "searchsorted" else 0])
        return blank("array", x.shape, np.intp) if x.ndim else blank("scalar", (), np.intp)
    if name in ENTRYWISE:
        count = 2 if name == "isclose" and call is not math.isclose else 1
        return by_broadcasting(call, args[:count], args[count:], kwargs)
    if name in ANSWERS:
        return True
    raise refuse(
        f"{name} of a value that depends on an input has a shape or a value that is known only when it runs",
        "Choose entries with np.where or by multiplying with a mask; for order use np.argsort.",
    )


def reduced(name: str, call: Any, args: Any, kwargs: Any) -> Any:
    try:
        bound = inspect.signature(getattr(np, name)).bind(*args, **kwargs).arguments
    except TypeError:
        bound = {"axis": kwargs.get("axis", args[1] if len(args) > 1 else None), **kwargs}
    x, axis = np.asarray(args[0]), bound.get("axis")
    keep = bound.get("keepdims", False) is True
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    shape = tuple([1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes])
    dtype = bool if name in ("any", "all") else np.intp
    if shape or keep:
        return blank("array", shape, dtype)
    return 1 if name == "count_nonzero" and axis is None else blank("scalar", (), dtype)


def given_by_name(path: str, name: str, call: Any, args: Any, kwargs: Any) -> Any:
    """The stand-in of what a callable without a block gives."""
    if path == "builtins.sum":
        ones = [type(x)(1) if not isinstance(x, ndarray) else x for x in args[0]]
        return blank(*described(sum(ones, *args[1:])))
    if path == "builtins.float":
        return 1.0
    if path == "builtins.round":
        return by_broadcasting(round, args[:1], args[1:], kwargs)
    return given_by_data(name.rpartition(".")[2], call, args, kwargs)


def helped(path: str, args: Any, kwargs: Any) -> Any:
    """The stand-in of what a helper of derivatives gives."""
    name = path.rpartition(".")[2]
    if name not in HELPERS:
        raise refuse(f"there is no helper {name}", "")
    if name == "times":
        return by_broadcasting(operator.mul, args)
    if name == "fitted":
        d, _, shape, dtype, _ = args
        if shape is None:
            return 1.0
        if dtype is None:
            return 1.0 if not hasattr(d, "dtype") else blank(*described(d))
        return blank("array" if shape or type(d) is ndarray else "scalar", shape, dtype)
    if name == "where":
        return chosen(*args)
    if name in ("number", "real"):
        return args[0]
    if name in ("both", "either", "invert"):
        return True
    return blank(*described(args[0]))


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """What `where` of a condition that is a number gives: one or the other, which have one type."""
    if type(condition) is ndarray and condition.ndim:
        return by_broadcasting(np.where, (condition, x, y))
    other = y if type(x) is int or hasattr(y, "dtype") else x
    return blank(*described(other))


def like_in(x: Any) -> Any:
    """A number or array as its shape and dtype, in containers too."""
    if isinstance(x, (list, tuple)):
        return type(x)([like_in(e) for e in x])
    return like(x) if isinstance(x, (ndarray, np.generic, float)) else x


def spec_of(v: Any) -> Any:
    """What a graph inside another one is built for."""
    from .nodes import Spec

    if type(v) is ndarray and not v.ndim:
        return v
    return Spec(v.shape, v.dtype) if type(v) is ndarray else v


def of_operator(name: str, args: Any) -> Any:
    """The stand-in of what an operator gives."""
    call = getattr(operator, name)
    if name == "matmul":
        op = OPERATIONS["matmul"]
        assert op.bind is not None
        operands, attributes = op.bind(*args)
        possible(op, call, operands, attributes, args, {})
        return by_rule(op, operands, attributes)
    return by_broadcasting(call, args)


def changed_in_place(name: str, args: Any) -> Any:
    """`a op= b` gives `a`."""
    x, b = args
    r = of_operator(name[1:] + ("_" if name in ("iand", "ior") else ""), (x, b))
    assignable(r, x)
    if not np.can_cast(r.dtype, x.dtype, "same_kind"):
        getattr(operator, name)(np.ones(1, x.dtype), np.ones(1, r.dtype))  # which raises
    return x
