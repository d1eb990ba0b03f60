"""What calls are given, as JSON: every value that JSON does not have is an object with one key, its kind."""

from __future__ import annotations

import collections
import keyword
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import GraphError
from ..ops.block import Like
from .arguments import Fields
from .nodes import IGNORED, Ignored, Link, Part

DEEP, DIGITS, LONG = 100, 10_000, 1 << 24  # how deep containers may nest, how long a number and a range may be
TYPES: dict[str, Any] = {x.__name__: x for x in (float, int, bool, complex)}
TYPES |= {f"numpy.{x.__name__}": x for x in np.sctypeDict.values() if np.dtype(x).kind in "fciub"}


def dtype_of(name: Any) -> np.dtype[Any]:
    """A dtype of numbers."""
    if type(name) is not str or len(name) > 20:
        raise GraphError(f"a dtype in the file is {name!r:.50}")
    kind = np.dtype(name)
    if kind.kind not in "fciub" or str(kind) != name:
        raise GraphError(f"a dtype in the file is {name!r}, expected a number type of NumPy's")
    return kind


def encoded(x: Any) -> Any:
    """A form as JSON."""
    kind = type(x)
    if x is None or kind is bool or kind is str or kind is int:
        return x
    if kind in WRITE:
        tag, write = WRITE[kind]
        return {tag: write(x)}
    if isinstance(x, np.dtype):
        return {"dtype": str(x)}
    if isinstance(x, np.generic) and x.dtype.kind in "fciub":
        return {"scalar": [str(x.dtype), np.asarray(x, x.dtype.newbyteorder("<")).tobytes().hex()]}
    if isinstance(x, type):
        for name, t in TYPES.items():
            if t is x:
                return {"type": name}
    if isinstance(x, tuple) and hasattr(x, "_fields") and kind is not Fields:
        return {"named": [kind.__name__, list(x._fields), [encoded(e) for e in x]]}
    what = x.kind.__name__ if kind is Fields else kind.__name__
    raise GraphError(f"the graph has a {what} in it, which a file cannot hold", None, "Use lists, tuples and dicts.")


def items(x: Any) -> list[Any]:
    return [encoded(e) for e in x]


WRITE: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    Link: ("node", lambda x: x.number),
    Ignored: ("any", lambda x: 0),
    float: ("float", lambda x: x.hex()),
    complex: ("complex", lambda x: [x.real.hex(), x.imag.hex()]),
    list: ("list", items),
    tuple: ("tuple", items),
    dict: ("dict", lambda x: [[encoded(k), encoded(e)] for k, e in x.items()]),
    slice: ("slice", lambda x: items((x.start, x.stop, x.step))),
    type(Ellipsis): ("ellipsis", lambda x: 0),
    Fraction: ("fraction", str),
    Decimal: ("decimal", str),
    range: ("range", lambda x: [x.start, x.stop, x.step]),
    bytes: ("bytes", lambda x: x.hex()),
}


def decoded(x: Any, depth: int = 0) -> Any:
    """The form that JSON stands for."""
    if x is None or type(x) in (bool, str, int):
        return x
    if depth > DEEP:
        raise GraphError(f"the file has containers in it that are nested more than {DEEP} deep")
    if type(x) is not dict or len(x) != 1:
        raise GraphError(f"the file has {x!r:.50} in it, which stands for nothing")
    ((tag, given),) = x.items()
    if tag not in READ:
        raise GraphError(f"the file has a {tag!r:.50} in it, which stands for nothing")
    return READ[tag](given, depth + 1)


def each(given: Any, depth: int) -> list[Any]:
    if type(given) is not list:
        raise GraphError(f"the file has {given!r:.50} in it, expected a list")
    return [decoded(e, depth) for e in given]


def link(given: Any, depth: int) -> Link:
    if type(given) is not int:
        raise GraphError(f"the file names the node {given!r:.50}")
    return Link(given)


def short(given: Any) -> str:
    if type(given) is not str or len(given) > DIGITS:
        raise GraphError(f"the file has the number {given!r:.50} in it")
    if "e" in given.lower() and "x" not in given.lower():
        raise GraphError(f"the file has the number {given!r:.50} in it, which may be huge")
    return given


def fraction(given: Any, depth: int) -> Fraction:
    try:
        return Fraction(short(given))
    except ZeroDivisionError:
        raise GraphError(f"the file has the fraction {given!r:.50} in it") from None


def named(given: Any, depth: int) -> Any:
    """A named tuple; its class is made anew."""
    name, fields, values = given
    for word in (name, *fields):
        if type(word) is not str or not word.isidentifier() or keyword.iskeyword(word):
            raise GraphError(f"the file has a named tuple with {word!r:.50} in it")
    if name == "Gradient":
        from ..trace import gradient_type

        return gradient_type(tuple(fields))(*each(values, depth))
    if name == "Like":
        return Like(*each(values, depth))
    if name == "Part":
        whole, which = each(values, depth)
        if type(whole) is not Link or type(which) is not int:
            raise GraphError(f"the file has a part {which!r:.50} in it")
        return Part(whole, which)
    kind: Any = collections.namedtuple(name, fields, module="graph_of_a_file")  # type: ignore[misc]
    return kind(*each(values, depth))


def scalar(given: Any, depth: int) -> Any:
    name, text = given
    kind = dtype_of(name)
    data = bytes.fromhex(text)
    if len(data) != kind.itemsize:
        raise GraphError(f"the file has a {name} of {len(data)} bytes in it")
    return np.frombuffer(data, kind.newbyteorder("<")).astype(kind)[0]


def pairs(given: Any, depth: int) -> dict[Any, Any]:
    found = [(decoded(k, depth), decoded(e, depth)) for k, e in given]
    for k, _ in found:
        if type(k) in (Link, list, dict, slice):
            raise GraphError(f"the file has a dict with the key {k!r:.50} in it")
    return dict(found)


def numbers(given: Any, depth: int) -> range:
    if type(given) is not list or len(given) != 3 or any(type(e) is not int for e in given):
        raise GraphError(f"the file has the range {given!r:.50} in it")
    if len(range(*given)) > LONG:
        raise GraphError(f"the file has the range {given!r:.50} in it, which is oversized")
    return range(*given)


def type_of(given: Any, depth: int) -> Any:
    if given not in TYPES:
        raise GraphError(f"the file has the type {given!r:.50} in it")
    return TYPES[given]


READ: dict[str, Callable[[Any, int], Any]] = {
    "node": link,
    "any": lambda x, depth: IGNORED,
    "float": lambda x, depth: float.fromhex(x),
    "complex": lambda x, depth: complex(float.fromhex(x[0]), float.fromhex(x[1])),
    "list": each,
    "tuple": lambda x, depth: tuple(each(x, depth)),
    "dict": pairs,
    "slice": lambda x, depth: slice(*each(x, depth)),
    "ellipsis": lambda x, depth: Ellipsis,
    "fraction": fraction,
    "decimal": lambda x, depth: Decimal(x) if len(x) < DIGITS else short(x * 2),
    "range": numbers,
    "bytes": lambda x, depth: bytes.fromhex(x),
    "dtype": lambda x, depth: dtype_of(x),
    "scalar": scalar,
    "type": type_of,
    "named": named,
}
