"""The functions that `autograd_frontend.ops` exports, made from the blocks."""

from __future__ import annotations

import linecache
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import REMOTE
from ..errors import an
from .plain import PLAIN

if TYPE_CHECKING:
    from .block import Operation

HERE = str(Path(__file__).parent.parent)
NUMBERS = (float, int, np.number, np.bool_, Fraction, Decimal)

OPERAND = "{x} = {x} if type({x}) is NDARRAY and {x}.dtype.kind in 'fiub' else GIVEN({x}, {name!r}, {x!r})"

FUNCTION = """
def {name}({parameters}):
    try:
        {operands}
        return DONE(VALUE({space}, {arguments}){result})
    except (ValueError, TypeError, IndexError) as error:
        raise LOCATED(error, {name!r})

def compute({parameters}):
    try:
        {operands}
        return VALUE({space}, {arguments})
    except (ValueError, TypeError, IndexError) as error:
        raise LOCATED(error, {name!r})

def bind({parameters}):
    return ({tuple}), {{{settings}}}
"""


def publish(op: Operation, name: str) -> None:
    """Make the public function of an operation, and read off its `value` which parameters are operands."""
    value: Any = op.value
    code = value.__code__
    names = code.co_varnames[1 : code.co_argcount]
    operands = [x for x in names if x in (op.reads if op.data else op.operands)]
    settings = [x for x in names if x not in operands]
    if not op.data and tuple(operands) != op.operands:
        raise TypeError(f"operation {name}: it has pullbacks for {op.operands}, but its value takes {names}")
    arrays = operands if op.data else [x for x in names if x in operands or x in op.reads]
    text = FUNCTION.format(
        name=name,
        parameters=", ".join(names),
        arguments=", ".join(names),
        operands="; ".join(OPERAND.format(x=x, name=name) for x in arrays) or "pass",
        result="[0]" if op.keeps else "",
        space=f"PLAIN if not REMOTE else FOR({', '.join(arrays)})" if arrays else "PLAIN",
        tuple="".join(f"{x}, " for x in operands),
        settings=", ".join(f"{x!r}: {x}" for x in settings),
    )
    space: dict[str, Any] = {
        "VALUE": value, "PLAIN": PLAIN, "DONE": number if op.number else done, "GIVEN": given, "LOCATED": located,
        "NDARRAY": np.ndarray, "REMOTE": REMOTE, "FOR": functions_for,
    }  # fmt: skip
    exec(compile(text, f"{HERE}/<generated>", "exec"), space)  # noqa: S102
    function, compute, bind = space[name], space["compute"], space["bind"]
    for f in (function, compute, bind):
        f.__defaults__ = value.__defaults__
    function.__doc__, function.__module__ = op.doc, "autograd_frontend.ops"
    function.operation = op
    op.function = function
    bind.__qualname__ = name  # as errors call it
    if op.keeps or op.views:
        function.compute = compute
    op.calls.append(f"autograd_frontend.ops.{name}")
    if op.bind is None and (settings or not op.elementwise):
        op.bind = bind


def functions_for(*operands: Any) -> Any:
    """The functions that serve these operands: those of another device where one of them lives there."""
    for x in operands:
        if type(x) in REMOTE:
            return x.session.ops
    return PLAIN


def given(x: Any, operation: str, name: str) -> Any:
    """An operand as it is computed with: lists become arrays, numbers stay."""
    if type(x) in REMOTE or isinstance(x, NUMBERS):
        return x
    if isinstance(x, (list, tuple)):
        x = np.array(x)
    if not hasattr(x, "dtype"):
        raise TypeError(f"{operation}: {name} is {an(type(x).__name__)}, expected an array or a number")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{operation}: {name} is {an(x.dtype)} array, expected real numbers")
    return x


def done(x: Any) -> Any:
    """A result: of rank 0 it is a NumPy scalar."""
    if isinstance(x, np.ndarray):
        return x[()] if x.ndim == 0 else x
    if type(x) is float:
        return np.float64(x)
    if type(x) is int:
        return np.int64(x)
    return x


def number(x: Any) -> Any:
    """A result that is a Python number."""
    return x


def located(error: Exception, operation: str) -> Exception:
    """An error about a call, which names the operation (NumPy's do not), with a note that shows its line."""
    kind: Any = TypeError if isinstance(error, TypeError) else type(error)
    if not str(error).startswith(operation) and kind in (TypeError, ValueError, IndexError):
        error = kind(f"{operation}: {str(error).strip()}")
        error.__suppress_context__ = True
    f: Any = sys._getframe(1)
    while f is not None and f.f_code.co_filename.startswith(HERE):
        f = f.f_back
    if f is not None and not getattr(error, "__notes__", None):
        text = linecache.getline(f.f_code.co_filename, f.f_lineno, f.f_globals).strip()
        error.add_note(f'  File "{f.f_code.co_filename}", line {f.f_lineno}{f":    {text}" if text else ""}')
    return error


def whole(operation: str, name: str, x: Any, least: int) -> int:
    """A setting that is a whole number, at least `least`."""
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, np.integer)):
        raise TypeError(f"{operation}: {name} is {x!r}, expected a whole number")
    if x < least:
        raise ValueError(f"{operation}: {name} is {x}, expected at least {least}")
    return int(x)


def real(operation: str, name: str, x: Any) -> None:
    """A setting that is a real number, which does not decide on the type of the result."""
    fits = x.dtype.kind in "fiub" and x.ndim == 0 if hasattr(x, "dtype") else isinstance(x, NUMBERS)
    if not fits:
        raise TypeError(f"{operation}: {name} is {x!r}, expected a number")


def sizes(operation: str, name: str, x: Any, count: int, least: int) -> tuple[int, ...]:
    """A setting that is one whole number for all of `count` axes, or one for each."""
    if not isinstance(x, (tuple, list)):
        return (whole(operation, name, x, least),) * count
    if len(x) != count:
        raise ValueError(f"{operation}: {name} has {len(x)} entries, expected {count}, one for each spatial axis")
    return tuple([whole(operation, name, n, least) for n in x])


def axis_of(operation: str, axis: Any, ndim: int) -> int:
    """An axis, counted from the front."""
    if isinstance(axis, (bool, np.bool_)) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"{operation}: axis is {axis!r}, expected a whole number")
    if not -ndim <= axis < ndim:
        allowed = f"expected {-ndim} to {ndim - 1}" if ndim else "and a scalar has none"
        raise np.exceptions.AxisError(f"{operation}: axis is {axis}, {allowed}")
    return int(axis) % ndim


def ranked(operation: str, name: str, x: Any, ndim: int, means: str) -> None:
    """An operand that has to have so many axes; `means` says which."""
    if np.ndim(x) != ndim:
        raise ValueError(f"{operation}: {name} has shape {np.shape(x)}, expected {ndim} axes, {means}")


def shaped(operation: str, name: str, x: Any, shape: tuple[int, ...], means: str) -> None:
    """An operand that has to have a shape; `means` says why."""
    if np.shape(x) != shape:
        raise ValueError(f"{operation}: {name} has shape {np.shape(x)}, expected {shape}, {means}")
