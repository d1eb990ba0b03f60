"""How recorded values behave where Python, not a program, handles them: attributes, iteration, conversion, text."""

from __future__ import annotations

import fractions
import functools
import math
import operator
import sys
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from . import eager, python, writes
from .arrays import ARRAYS, REMOTE, on_host
from .callables import METHODS, TABLE, fill, of
from .recording import GENERATED, depends, is_complex, refuse, refuse_value, site
from .tape import Ref, Scalar, Tensor

PLAIN_ATTRIBUTES = frozenset("shape ndim size dtype itemsize nbytes strides flags numerator denominator".split())


def attribute(self: Ref, name: str) -> Any:
    """An attribute of the value: shapes are plain data, methods of arrays and floats have rules."""
    v = self.v
    if not self.t.live or name in PLAIN_ATTRIBUTES:
        return getattr(v, name)
    if not TABLE:
        fill()
    h = METHODS.get(name)
    if h is not None and (hasattr(v, name)):
        return h(self) if name in ("T", "real", "imag", "mT", "flat") else types.MethodType(h, self)
    if type(v) not in REMOTE or not hasattr(v.__class__, name):
        getattr(v, name)  # AttributeError, as without recording
    if name == "real":
        return self
    if name == "imag":
        return v.imag  # exactly zero
    if name == "conjugate":
        return lambda: self
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "as_integer_ratio" and compared():
        return v.as_integer_ratio
    raise refuse(
        f"the attribute {name} of {named(v)} cannot be recorded",
        "Use a NumPy function with a rule, or plain data.",
    )


IN_PLACE = {"shape": "x = x.reshape(shape)", "dtype": "x.astype(dtype)", "strides": "a view"}


def changed(name: str, self: Ref, value: Any) -> None:
    """`x.name = value`."""
    if self.t.live and type(self.v) in ARRAYS:
        if name == "real" or (name == "imag" and is_complex(self.v)):
            return eager.store(value, attribute(self, name), Ellipsis, site())
        if name == "flat":
            return writes.write_flat(self, np.arange(self.v.size), value)
        if name in IN_PLACE:
            raise refuse(f"{name} of a recorded array is set", f"Write {IN_PLACE[name]} instead.")
    return setattr(self.v, name, value)  # AttributeError, as without recording


def iterate(self: Ref) -> Iterator[Any]:
    if not isinstance(self.v, np.ndarray) or self.v.ndim == 0:
        return iter(self.v)  # TypeError, as without recording
    s = site()
    return (eager.getitem(self, i, s) for i in range(len(self.v)))  # lazily: NumPy's loop sees later writes


def to_array(self: Ref, *args: Any, **kwargs: Any) -> Any:
    if not self.t.live:
        return np.asarray(self.v)
    self.t.refused = refuse(
        "a recorded value is turned into a plain array by code that is not recorded",
        "Call NumPy functions in the recorded function itself.",
    )
    raise self.t.refused


def compared() -> bool:
    """Whether a plain Fraction is being compared with a recorded float: the outcome is plain data."""
    f = sys._getframe(2)
    if f.f_code.co_name == "from_float" and f.f_back is not None:
        f = f.f_back
    return f.f_code.co_filename == fractions.__file__ and f.f_code.co_name in ("_richcmp", "__eq__")


def looked_at(f: Callable[..., Any], what: str, remedy: str) -> Callable[..., Any]:
    """A method that needs the value, which a graph that is built has not."""

    def method(self: Ref, *args: Any) -> Any:
        refuse_value(self, what, remedy)
        return f(self.v, *[x.v if isinstance(x, Ref) else x for x in args])

    return method


INTEGER = "Keep it as an array of whole numbers, or make it plain data."


def to_float(self: Ref) -> float:
    if not self.t.live or compared():
        return float(self.v)
    self.t.refused = refuse(
        "a recorded value is turned into a plain float by code that is not recorded",
        "Call float(), math or NumPy functions in the recorded function itself.",
    )
    raise self.t.refused


def ufunc(self: Ref, f: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A NumPy ufunc, called by code that is not recorded: a property, `__lt__` of a list being sorted."""
    return function(self, f if method == "__call__" else getattr(f, method), None, inputs, kwargs)


def function(self: Ref, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if self.t.live or depends(args) or depends(kwargs):
        return of(f)(*args, **kwargs)
    return f(*[bare(x) for x in args], **{k: bare(x) for k, x in kwargs.items()})


def bare(x: Any) -> Any:
    """Without handles, in containers too; on the host."""
    kind = type(x)
    if isinstance(x, Ref) or kind in REMOTE:
        return on_host(x.v if isinstance(x, Ref) else x)
    if kind is list or kind is tuple or kind is set:
        new = [bare(e) for e in x]
        return x if all(a is b for a, b in zip(x, new, strict=True)) else kind(new)
    if kind is dict:
        items = {bare(k): bare(e) for k, e in x.items()}
        return x if all(a is b for a, b in zip([*x, *x.values()], [*items, *items.values()], strict=True)) else items
    return x


def disguise(error: BaseException, floats: str) -> None:
    """An error of the recorded function shows values, not handles: in its message, arguments and attributes. `floats`
    is what recorded floats are."""
    if isinstance(error, AttributeError) and isinstance(error.obj, Ref):
        floats = named(error.obj.v)
        error.obj = error.obj.v
    todo: list[BaseException] = [error]
    for e in todo:  # and those it came from
        shown = bare(e.args)
        if shown is not e.args:
            e.args = shown
        for key, x in [*vars(e).items(), *[(k, getattr(e, k, None)) for k in ("value", "code", "obj")]]:
            if (new := bare(x)) is not x:
                setattr(e, key, new)
        others = (e.__cause__, e.__context__, *getattr(e, "exceptions", ()))
        todo += [x for x in others if isinstance(x, BaseException) and not any(x is y for y in todo)]
    if type(error) in (TypeError, AttributeError) and error.args and isinstance(error.args[0], str):
        text = error.args[0].replace("'Scalar' object", f"'{floats}' object")
        arrays = floats if error.__class__ is AttributeError else "numpy.ndarray"
        text = text.replace("'Tensor' object", f"'{arrays}' object")
        error.args = (text, *error.args[1:])


def named(x: Any) -> str:
    """The type of a value as Python's messages call it."""
    kind = x.__class__ if type(x) in REMOTE else type(x)
    return f"numpy.{kind.__name__}" if isinstance(x, (np.ndarray, np.generic)) else kind.__name__


def text(self: Ref, shown: str) -> str:
    """What a value is shown as. A number read back from it would have lost its derivative."""
    t = self.t
    if t.live:
        refuse_value(self, "a text", "Leave it out; print what the graph gives when it is run.")
        if t.texts is None:
            t.texts = set()
        t.texts.add(shown.strip())
    return shown


def plain_property(name: str) -> property:
    """Shapes and the like are plain data, and asked for often."""
    space: dict[str, Any] = {}
    exec(compile(f"def get(self):\n    return self.v.{name}", GENERATED, "exec"), space)  # noqa: S102
    return property(space["get"])


def part_of_fraction(name: str, self: Ref) -> Any:
    """Plain data, but not where the arithmetic of a plain Fraction takes a recorded one apart."""
    code = sys._getframe(1).f_code
    if self.t.live and code.co_filename == fractions.__file__ and code.co_name not in ("_richcmp", "__eq__"):
        raise refuse(
            "a plain Fraction meets a recorded one in code that is not recorded",
            "Write what that code does in the recorded function itself.",
        )
    return getattr(self.v, name)


def layout(name: str, self: Ref) -> Any:
    """How the entries lie in memory."""
    refuse_value(self, name, "Leave it out: where entries lie is known when the graph is run.")
    return getattr(self.v, name)


def install() -> None:
    given: dict[str, Any] = {
        "__iter__": iterate, "__array__": to_array, "__float__": to_float,
        "__array_ufunc__": ufunc, "__array_function__": function, "__bool__": looked_at(bool, *eager.TEST),
        "__hash__": looked_at(hash, "a hash", "Use plain data as keys of dicts and entries of sets."),
        "__repr__": lambda self: text(self, repr(self.v)),
        "__str__": lambda self: text(self, str(self.v)),
        "__format__": lambda self, spec: text(self, format(self.v, spec)),
        "__int__": looked_at(int, "int()", INTEGER), "__len__": lambda self: len(self.v),
        "__index__": looked_at(operator.index, "an index or a length", INTEGER),
        "__round__": looked_at(round, "round()", "Write np.round(x)."), "__abs__": lambda self: of(abs)(self),
        "__divmod__": lambda self, other: python.div_mod(self, other),
        "__rdivmod__": lambda self, other: python.div_mod(other, self),
        "__contains__": looked_at(operator.contains, "`in`", "Write np.any(x == v)."),
        "__delitem__": lambda self, i: operator.delitem(self.v, i),  # which raises
        "__copy__": lambda self: of(np.copy)(self) if type(self.v) in ARRAYS else self,
        "__deepcopy__": lambda self, memo: of(np.copy)(self) if type(self.v) in ARRAYS else self,
        "__floor__": looked_at(math.floor, "math.floor", INTEGER),
        "__ceil__": looked_at(math.ceil, "math.ceil", INTEGER),
        "__trunc__": looked_at(math.trunc, "math.trunc", INTEGER),
    }  # fmt: skip
    for name, f in given.items():
        setattr(Ref, name, f)
    # One property per name: a __getattr__ would slow down every access to a slot.
    for kind in (np.ndarray, np.float64, float, Fraction, Decimal):
        for name in dir(kind):
            if not name.startswith("_"):
                change = functools.partial(changed, name)
                setattr(Ref, name, property(functools.partial(attribute, name=name), change))
    for name in PLAIN_ATTRIBUTES:
        setattr(Ref, name, plain_property(name).setter(functools.partial(changed, name)))
    for name in ("strides", "flags"):
        setattr(Ref, name, property(functools.partial(layout, name)).setter(functools.partial(changed, name)))
    for name in ("numerator", "denominator"):
        setattr(Ref, name, property(functools.partial(part_of_fraction, name)))
    eager.dunders()


install()

__all__ = ["Scalar", "Tensor"]
