"""The arguments and the result of a graph: which of their numbers and arrays are inputs, and what is fixed."""

from __future__ import annotations

import copy
import dataclasses
import gc
import types
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..arrays import owner_of
from ..devices import session_of
from ..errors import an
from ..foreign import lends
from ..leftovers import codes
from ..recording import depends, refuse, settle
from ..tape import Ref
from ..trees import entries_of, holds_recorded, is_record, like, rebuilt
from .nodes import Ignored, Link, Node, Spec
from .shapes import blank

ndarray = np.ndarray
REACHED = 100_000


class Fields(NamedTuple):
    """A dataclass among the arguments or results: its class, and what is in its fields."""

    kind: Any
    fields: dict[str, Any]


class Arguments:
    """The arguments that a graph is built with."""

    def __init__(self, builder: Any, name_of: Callable[[int], str]) -> None:
        self.builder, self.name_of = builder, name_of
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.names: dict[int, str] = {}  # what inputs are called
        self.containers: list[tuple[Any, list[Any]]] = []

    def entered(self, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        """What the program is given."""
        pairs = [self.enter(x, self.name_of(i)) for i, x in enumerate(args)]
        named = {k: self.enter(x, k) for k, x in kwargs.items()}
        self.args = tuple([form for _, form in pairs])
        self.kwargs = {k: form for k, (_, form) in named.items()}
        if all(n.data for n in self.builder.nodes):
            raise TypeError("f.graph was called with nothing to differentiate: give it a float or an array of floats")
        return [x for x, _ in pairs], {k: x for k, (x, _) in named.items()}

    def enter(self, x: Any, name: str) -> tuple[Any, Any]:
        """An argument as the program gets it, and its form."""
        kind = type(x)
        if kind is Ignored:
            return x, x
        if kind is Spec:
            dtype = "float" if x.dtype is float else str(x.dtype)
            type_ = "array" if x.shape or np.dtype(dtype).kind != "f" else "scalar"
            return self.leaf(blank("number" if x.dtype is float else type_, x.shape, dtype), name)
        if kind is ndarray and x.dtype.kind in "fiub":
            return self.leaf(blank("array", x.shape, x.dtype), name)
        if kind is float or kind is Fraction or kind is Decimal:
            return self.leaf(kind(1), name)
        if isinstance(x, np.floating):
            return self.leaf(type(x)(1), name)
        if isinstance(x, (list, tuple)):
            pairs = [self.enter(e, f"{name}[{i}]") for i, e in enumerate(x)]
            if all(a is b for (a, _), b in zip(pairs, x, strict=True)):
                return x, like(x, [form for _, form in pairs])  # the caller may change it later
            return self.container(like(x, [e for e, _ in pairs]), like(x, [form for _, form in pairs]))
        if isinstance(x, dict):
            named = {k: self.enter(e, f"{name}[{k!r}]") for k, e in x.items()}
            inside, forms = {k: e for k, (e, _) in named.items()}, {k: form for k, (_, form) in named.items()}
            if all(inside[k] is x[k] for k in x):
                return x, forms
            return self.container(inside if kind is dict else rebuilt(x, inside), forms)
        if is_record(x):
            return self.dataclass(x, name)
        if isinstance(x, ndarray):
            raise TypeError(f"argument {name} is {an(x.dtype)} {kind.__name__}: a graph takes real and boolean arrays")
        if session_of(x) is not None or lends(x):  # it would be a constant without a word
            raise TypeError(f"argument {name} is a {kind.__module__}.{kind.__name__}: a graph takes NumPy's arrays")
        return x, x

    def dataclass(self, x: Any, name: str) -> tuple[Any, Any]:
        y, forms = copy.copy(x), {}
        for k in dict.fromkeys([*[f.name for f in dataclasses.fields(x)], *getattr(x, "__dict__", ())]):
            e, forms[k] = self.enter(getattr(x, k, None), f"{name}.{k}")
            object.__setattr__(y, k, e)
        form = Fields(type(x), forms)
        return (x, form) if all(getattr(y, k) is getattr(x, k, None) for k in forms) else self.container(y, form)

    def container(self, x: Any, form: Any) -> tuple[Any, Any]:
        self.containers.append((x, entries_of(x)))
        return x, form

    def leaf(self, v: Any, name: str) -> tuple[Any, Link]:
        n: Node = self.builder.add("input", "input", "", (), {}, v, False)
        n.data = n.type == "array" and np.dtype(n.dtype).kind not in "f"
        self.names[n.number] = name
        return self.builder.value(v, n), Link(n.number)

    def unchanged(self) -> None:
        """A graph leaves the containers among its arguments as they are."""
        for x, before in self.containers:
            now = entries_of(x)
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
                raise refuse(f"{an(type(x).__name__)} among the arguments is changed", "Return what is new in a graph.")

    def result(self, x: Any, s: Any) -> Any:
        """The form of what the function returns."""
        x = settle(x) if type(x) is ndarray else x
        if isinstance(x, Ref) or type(x) is ndarray:
            return self.builder.form(x)
        plain = type(x) in (list, tuple, dict) or hasattr(x, "_fields")
        if isinstance(x, (list, tuple, dict)) and not plain and (depends(x) or not isinstance(x, tuple)):
            raise refuse(f"the function returns {an(type(x).__name__)}", "Return a tuple, a list or a dict.", s)
        if isinstance(x, (list, tuple)) and plain:
            return like(x, [self.result(e, s) for e in x])
        if isinstance(x, dict):
            if any(isinstance(k, Ref) for k in x):
                raise refuse("a key of a dict that is returned depends on an input", "Return it as an entry.", s)
            return {k: self.result(e, s) for k, e in x.items()}
        if is_record(x) and holds_recorded(x):
            return Fields(type(x), {f.name: self.result(getattr(x, f.name), s) for f in dataclasses.fields(x)})
        if depends(x) or holds_recorded(x) or hasattr(x, "__next__"):
            raise refuse(f"the function returns {an(type(x).__name__)}", "Return a tuple, a list or a dict.", s)
        return x


class Borrowed:
    """Memory that exists before the run: what the function can reach. Looked for when something is written."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.found: set[int] | None = None
        self.kept: list[Any] = []

    def __contains__(self, key: int) -> bool:
        if self.found is None:
            self.found = set(self.arrays())
        return key in self.found

    def add(self, key: int) -> None:
        """As of a set."""

    def arrays(self) -> Iterator[int]:
        todo, seen = [self.fn], {id(self.fn)}
        for x in todo:
            if type(x) is ndarray:
                self.kept.append(owner_of(x))
                yield id(owner_of(x))
            if len(todo) > REACHED:
                return
            inside: list[Any] = []
            if isinstance(x, types.FunctionType):
                inside = [x.__closure__, x.__defaults__, x.__kwdefaults__]
                names = {name for code in codes(x.__code__) for name in code.co_names}
                inside += [x.__globals__[name] for name in names if name in x.__globals__]
            elif type(x).__module__ != "builtins" or isinstance(x, (list, tuple, dict, set, types.CellType, type)):
                inside = gc.get_referents(x)
            elif isinstance(x, types.MethodType):
                inside = [x.__func__, x.__self__]
            for y in inside:
                if id(y) not in seen and not isinstance(y, (types.ModuleType, Ref)) and not known(y):
                    seen.add(id(y))
                    todo.append(y)


def known(x: Any) -> bool:
    """Whether there is nothing of the user's in it."""
    module = x.__module__ if isinstance(x, (type, types.FunctionType)) else type(x).__module__
    return (module or "").partition(".")[0] in ("numpy", "scipy", "autograd_frontend") and type(x) is not ndarray


# Running


def check_arguments(graph: Any, args: Any, kwargs: Any) -> None:
    """TypeError or ValueError unless these are arguments like those the graph was built for."""
    leaves_of(graph, args, kwargs)


def arranged(graph: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A call's arguments as the graph was built for them: by position or by keyword, they may be given either way."""
    if len(args) == len(graph.args) and kwargs.keys() == graph.kwargs.keys():
        return args, kwargs
    names, own = [*graph.signature, *graph.kwargs], graph.signature
    takes = f"the graph of {graph.name} takes {', '.join(names) or 'no arguments'}"
    if len(args) > len(names):
        raise TypeError(f"{takes}; it was given {len(args)} positional arguments")
    given = dict(zip(names, args, strict=False))
    if len(set(names)) < len(names) or given.keys() & kwargs.keys():
        raise TypeError(f"{takes}; it was given {len(args)} by position, and {', '.join(kwargs) or 'none'} by keyword")
    given |= kwargs
    for problem, found in (("without", set(names) - given.keys()), ("with", given.keys() - set(names))):
        if found:
            raise TypeError(f"{takes}; it was called {problem} {', '.join(sorted(found))}")
    return tuple([given[k] for k in own]), {k: given[k] for k in graph.kwargs}


def leaves_of(graph: Any, args: Any, kwargs: Any) -> list[Any]:
    """The values of the inputs, in order."""
    args, kwargs = arranged(graph, args, kwargs)
    found: dict[int, Any] = {}
    for i, (form, x) in enumerate(zip(graph.args, args, strict=True)):
        collect(graph, form, x, f"argument {i}", found)
    for name, form in graph.kwargs.items():
        collect(graph, form, kwargs[name], f"argument {name}", found)
    return [found[n.number] for n in graph.inputs]


def collect(graph: Any, form: Any, x: Any, where: str, found: dict[int, Any]) -> None:
    """Match an argument with its form."""
    if type(form) is Link:
        n = graph.nodes[form.number]
        found[form.number] = fitting(n, x, where, graph.parameters.get(n.number, ""))
    elif type(form) is Ignored:
        return
    elif type(form) is Fields:
        if type(x) is not form.kind:
            raise TypeError(f"{where} is {an(type(x).__name__)}, expected {an(form.kind.__name__)}")
        for k, e in form.fields.items():
            collect(graph, e, getattr(x, k, None), f"{where}.{k}", found)
    elif isinstance(form, (list, tuple, dict)):
        alike = type(x) is type(form) or (isinstance(form, dict) and isinstance(x, dict)) or renewed(form, x)
        if not alike:
            raise TypeError(f"{where} is {an(type(x).__name__)}, expected {an(type(form).__name__)}")
        if len(x) != len(form) or (isinstance(form, dict) and set(x) != set(form)):
            raise ValueError(f"{where} has {len(x)} entries, expected {len(form)}, those the graph was built for")
        keys: Any = form if isinstance(form, dict) else range(len(form))
        for k in keys:
            collect(graph, form[k], x[k], f"{where}[{k!r}]", found)
    elif x is not form and not same(x, form):
        raise ValueError(f"{where} is {x!r}; the graph was built for {form!r}, which is fixed. Build another one")


def renewed(form: Any, x: Any) -> bool:
    """Whether a named tuple of a file, whose class was made anew, is like one of the caller's."""
    kind = type(form)
    alike = getattr(x, "_fields", ()) == getattr(form, "_fields", None) and type(x).__name__ == kind.__name__
    return alike and isinstance(x, tuple) and kind.__module__ == "graph_of_a_file"


def same(x: Any, form: Any) -> bool:
    """Whether fixed data is what it was."""
    try:
        return type(x) is type(form) and bool(x == form)
    except Exception:
        return False


def fitting(n: Node, x: Any, where: str, name: str = "") -> Any:
    """The value of an input, which has to have its type, shape and dtype; a cotangent may be any number."""
    if n.type != "array" and name.startswith("cotangent") and type(x) in (float, int) and n.dtype.startswith("float"):
        return float(x) if n.type == "number" else np.dtype(n.dtype).type(x)
    if n.type == "array":
        if type(x) is ndarray and x.shape == n.shape and x.dtype == n.dtype:
            return x
        expected = f"{an(n.dtype)} array of shape {n.shape}"
    else:
        if n.type == "scalar" and isinstance(x, np.generic) and str(x.dtype) == n.dtype:
            return x
        if n.type == "number" and type(x).__name__ == n.dtype and not isinstance(x, np.generic):
            return x
        expected = f"{an(n.dtype)}" if n.type == "number" else f"a numpy.{n.dtype}"
    kind = f"{an(x.dtype)} array of shape {x.shape}" if type(x) is ndarray else f"{an(type(x).__name__)}"
    error = ValueError if type(x) is ndarray and n.type == "array" and x.dtype == n.dtype else TypeError
    raise error(f"{where} is {kind}, expected {expected}")


__all__ = ["Arguments", "Borrowed", "Fields", "check_arguments", "leaves_of"]
