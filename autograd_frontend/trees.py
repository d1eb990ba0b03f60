"""Arguments and results: finding the numbers in containers, and putting gradients back in their shape."""

from __future__ import annotations

import copy
import dataclasses
import gc
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .arrays import ARRAYS, overlapping, owner_of, remote
from .devices import session_of
from .errors import an
from .foreign import borrowed, lends, library_of
from .recording import refuse, settle
from .tape import Ref, Scalar, Tape, Tensor, node, tensor

ndarray = np.ndarray
float64 = np.float64


class Leaf:
    """One differentiable number or array of an argument."""

    __slots__ = ("given", "ref")

    def __init__(self, given: Any, ref: Any) -> None:
        self.given, self.ref = given, ref

    def built(self, of_leaf: Callable[[Any], Any]) -> Any:
        return of_leaf(self)

    def gradient(self) -> Any:
        """What arrived, in the type, shape and dtype of the argument, in memory of its own."""
        x, ref = self.given, self.ref
        if type(ref) is Scalar:
            return type(x)(ref.g)
        n = ref.n
        if type(x) is not ndarray:
            g = 0 if n.g is None else n.g.item() if n.g.__class__ is ndarray else n.g
            return type(x)(float(g) if isinstance(g, np.generic) and not isinstance(x, np.generic) else g)
        if n.g is None:
            return np.zeros(x.shape, x.dtype)
        if n.own and type(n.g) is ndarray and n.g.base is None and n.g.dtype == x.dtype:
            return n.g
        return np.array(n.g, dtype=x.dtype)

    def arrived(self) -> Any:
        """The same where the recording has it."""
        return self.gradient()


class Box:
    """A container argument: the program got a copy that holds recorded values; `parts` are (key, Leaf or Box).
    `first` is the container as it was when the function was called."""

    __slots__ = ("given", "copied", "parts", "entries", "first")

    def __init__(self, given: Any, copied: Any, parts: list[tuple[Any, Any]]) -> None:
        self.given, self.copied, self.parts = given, copied, parts
        self.entries = entries_of(copied)
        self.first = given if isinstance(given, tuple) else copy.copy(given)

    def gradient(self) -> Any:
        """The same container with gradients, and None in place of what is not differentiable."""
        return self.built(lambda leaf: leaf.gradient())

    def built(self, of_leaf: Callable[[Any], Any]) -> Any:
        """The same container with what is made of each of its numbers and arrays."""
        x: Any = self.first
        found = {key: part.built(of_leaf) for key, part in self.parts}
        if isinstance(x, dict):
            r = {key: found.get(key) for key in x}
            return r if type(x) is dict else rebuilt(x, r)
        if isinstance(x, (list, tuple)):
            items = [found.get(i) for i in range(len(x))]
            return like(x, items)
        r = copy.copy(x)
        for field in dataclasses.fields(x):
            object.__setattr__(r, field.name, found.get(field.name))
        return r

    def sync(self, boxes: list[Box], t: Tape) -> None:
        """What the program did to its copy is done to the caller's container, one of `boxes`."""
        now, before = entries_of(self.copied), self.entries
        if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
            return
        if sum([box.given is self.given for box in boxes]) > 1:
            raise refuse(
                f"{an(type(self.given).__name__)} is changed that is in the arguments twice",
                "Pass a copy in one of the places.",
            )
        originals = {id(part.copied if type(part) is Box else part.ref): part.given for _, part in self.parts}

        def back(v: Any) -> Any:
            return originals[id(v)] if id(v) in originals else outside(v, t)

        x = self.given
        if isinstance(x, dict):
            items = {k: back(v) for k, v in self.copied.items()}
            x.clear()
            x.update(items)
        elif isinstance(x, list):
            x[:] = [back(v) for v in self.copied]
        elif not isinstance(x, tuple):
            attributes = state(self.copied)
            for k, v in attributes.items():
                object.__setattr__(x, k, back(v))
            for k in [k for k in state(x) if k not in attributes]:
                object.__delattr__(x, k)


def boxes_in(parts: Any) -> list[Box]:
    """The containers among the arguments, the inner ones first."""
    found = []
    for _, part in parts:
        if type(part) is Box:
            found += [*boxes_in(part.parts), part]
    return found


def entries_of(x: Any) -> list[Any]:
    """Everything in a container, keys included, in order."""
    if isinstance(x, dict):
        return [e for pair in x.items() for e in pair]
    if isinstance(x, (list, tuple)):
        return list(x)
    return [e for pair in sorted(state(x).items()) for e in pair]


def is_record(x: Any) -> bool:
    """Whether `x` is an instance of a dataclass."""
    return dataclasses.is_dataclass(x) and not isinstance(x, type)


def with_fields(x: Any, found: dict[str, Any]) -> Any:
    """The dataclass `x` with these fields."""
    y = copy.copy(x)
    for k, v in found.items():
        object.__setattr__(y, k, v)
    return y


def state(x: Any) -> dict[str, Any]:
    """The attributes of a dataclass, with slots or without."""
    if hasattr(x, "__dict__"):
        found: dict[str, Any] = vars(x)
        return found
    return {f.name: getattr(x, f.name) for f in dataclasses.fields(x) if hasattr(x, f.name)}


def outside(v: Any, t: Tape, depth: int = 6) -> Any:
    """What the recorded function left in a place of the caller's, without handles. Lists and dicts stay the same
    objects; an array that the recording needs as it is becomes a copy."""
    if isinstance(v, Ref):
        a = v.v
        if v.t.graph is not None and v.t.live:
            raise v.t.graph.left()
        if remote(a):
            there: Any = v.t
            return there.returned(a)
        if type(a) in ARRAYS and not v.e:  # type: ignore[attr-defined]
            t.catch_up()
            return a.copy(order="K") if id(owner_of(a)) in t.saves else a
        return a
    if remote(v):
        here: Any = t
        return v if t.device is None else here.returned(v)
    kind = type(v)
    if not depth or kind not in HELD:
        return v
    if kind is tuple:
        return tuple([outside(e, t, depth - 1) for e in v]) if any(isinstance(e, HELD) or remote(e) for e in v) else v
    for k, e in list(enumerate(v) if kind is list else v.items()):
        if isinstance(e, HELD) or remote(e):
            v[k] = outside(e, t, depth - 1)
    return v


HELD = (Ref, list, dict, tuple)


def like(x: Any, items: list[Any]) -> Any:
    """A list or tuple of the kind of `x` with other entries, whatever its constructor takes."""
    kind = type(x)
    if kind is list:
        return items
    if isinstance(x, tuple):
        r = tuple.__new__(kind, items)
        if hasattr(x, "__dict__"):
            vars(r).update(vars(x))
        return r
    r = copy.copy(x)
    list.__setitem__(r, slice(None), items)
    return r


def rebuilt(x: Any, r: dict[Any, Any]) -> Any:
    y = copy.copy(x)
    y.clear()
    y.update(r)
    return y


def enter(x: Any, t: Tape) -> tuple[Any, Any]:
    """An argument as the program gets it, and its Leaf or Box (None: nothing differentiable in it)."""
    if t.deep:
        from .nested import enter_inside

        found = enter_inside(x, t)
        if found is not None:
            return found
    elif t.device is not None:
        from .remote import enter as enter_remote

        there: tuple[Any, Any] | None = enter_remote(x, t)
        if there is not None:
            return there
    elif t.dual and type(x) in (float, float64):
        number = tensor(x, node("input", [], 0), t)
        t.quiet = True
        return number, Leaf(x, number)
    kind = type(x)
    if kind is float or kind is float64:
        n: Any = Scalar()
        n.v = x
        n.g = 0.0
        n.t = t
        if kind is float64:
            t.quiet = True
        return n, Leaf(x, n)
    t.quiet = True
    if kind in ARRAYS:
        if x.dtype.kind == "c":
            raise TypeError("a complex argument: pass its real and its imaginary part")
        if x.dtype.kind != "f":
            return x, None
        return leaf(x, t)
    if isinstance(x, np.floating) or kind is Fraction or kind is Decimal:
        n = tensor(x, node("input", [], 0), t)
        return n, Leaf(x, n)
    if isinstance(x, (list, tuple)):
        return enter_sequence(x, t)
    if isinstance(x, dict):
        pairs = {key: enter(v, t) for key, v in x.items()}
        parts = [(key, part) for key, (_, part) in pairs.items() if part is not None]
        if not parts:
            return x, None
        new = {key: v for key, (v, _) in pairs.items()}
        copied: Any = new if kind is dict else rebuilt(x, new)
        return copied, Box(x, copied, parts)
    if is_record(x):
        return enter_dataclass(x, t)
    return enter_other(x, t)


def enter_other(x: Any, t: Tape) -> tuple[Any, Any]:
    """Plain data, unless its type is derived from one that is differentiable."""
    kind = type(x)
    if isinstance(x, ndarray) and x.dtype.kind in "fc":
        raise TypeError(f"an argument is {an(kind.__name__)}; pass a plain np.ndarray")
    for plain in (float, Fraction, Decimal):
        if isinstance(x, plain):
            raise TypeError(f"an argument is {an(kind.__name__)}; pass a plain {plain.__name__}")
    if (there := session_of(x)) is not None:
        raise TypeError(f"an argument is on {there.name}, and this recording runs on the CPU: pass x.get()")
    if lends(x):
        a = borrowed(x)
        if a.dtype.kind != "f":
            return a, None
        ref, part = leaf(a, t)
        t.library = t.library or library_of(x)
        return ref, Borrowed(part, library_of(x))
    return x, None


class Borrowed(Leaf):
    """An array of another library, whose gradient is one of that library too."""

    __slots__ = ("library",)

    def __init__(self, leaf: Leaf, library: Callable[[Any], Any]) -> None:
        super().__init__(leaf.given, leaf.ref)
        self.library = library

    def gradient(self) -> Any:
        return self.library(super().gradient())


def leaf(x: ndarray, t: Tape) -> tuple[Any, Any]:
    v = x
    if overlapping(x):  # entries share memory, cotangents must not
        v = x.copy()
        v.flags.writeable = False
    ref = tensor(v, node("input", [], 0), t, True)
    owner = id(owner_of(x))
    if owner in t.owners:
        t.shared.add(owner)
    t.owners.add(owner)
    t.leaves.append(x)
    return ref, Leaf(x, ref)


def enter_sequence(x: Any, t: Tape) -> tuple[Any, Any]:
    pairs = [enter(v, t) for v in x]
    parts = [(i, part) for i, (_, part) in enumerate(pairs) if part is not None]
    if not parts:
        return x, None
    items = [v for v, _ in pairs]
    copied = like(x, items)
    return copied, Box(x, copied, parts)


def enter_dataclass(x: Any, t: Tape) -> tuple[Any, Any]:
    copied = copy.copy(x)
    parts = []
    for field in dataclasses.fields(x):
        v, part = enter(getattr(x, field.name, None), t)
        if part is not None:
            object.__setattr__(copied, field.name, v)
            parts.append((field.name, part))
    return (copied, Box(x, copied, parts)) if parts else (x, None)


def leave(x: Any, t: Tape, s: Any, seen: set[int] | None = None) -> tuple[Any, Any]:
    """A result of the function at the site `s` as the caller gets it, and where the cotangents of its numbers go (None:
    nothing recorded in it)."""
    if type(x) is Scalar and x.t is t:
        return x.v, x
    x = settle(x) if type(x) in ARRAYS else x
    if isinstance(x, Ref):
        v = x.v
        if type(v) in ARRAYS:
            seen = set() if seen is None else seen
            owner = id(owner_of(v))
            t.catch_up()
            if (type(x) is Tensor and x.e) or owner in t.saves or owner in seen:
                v = v.copy(order="K")
            seen.add(owner)
        if x.t is not t and x.t.live:
            raise refuse(
                "a derivative is taken inside a recorded function, of a function that returns a value of the outer one",
                "Hand the outer value to the inner function as an argument.",
                s,
            )
        return v, (x if x.t is t else None)
    seen = set() if seen is None else seen
    if isinstance(x, (list, tuple)):
        pairs = [leave(v, t, s, seen) for v in x]
        if all(a is b for (a, _), b in zip(pairs, x, strict=True)):
            return x, None
        items = [v for v, _ in pairs]
        y = like(x, items)
        return y, [place for _, place in pairs]
    if isinstance(x, dict):
        found = {k: leave(v, t, s, seen) for k, v in x.items()}
        if all(found[k][0] is x[k] and not isinstance(k, Ref) for k in x):
            return x, None
        found = {k.v if isinstance(k, Ref) else k: pair for k, pair in found.items()}
        plain = {k: v for k, (v, _) in found.items()}
        return (plain if type(x) is dict else rebuilt(x, plain)), {k: place for k, (_, place) in found.items()}
    if is_record(x):
        return leave_dataclass(x, t, s, seen)
    return leave_other(x, t, s)


def leave_dataclass(x: Any, t: Tape, s: Any, seen: set[int]) -> tuple[Any, Any]:
    found = {k: leave(v, t, s, seen) for k, v in ((f.name, getattr(x, f.name, None)) for f in dataclasses.fields(x))}
    if all(found[k][0] is getattr(x, k, None) for k in found):
        return x, None
    return with_fields(x, {k: v for k, (v, _) in found.items()}), {k: place for k, (_, place) in found.items()}


def leave_other(x: Any, t: Tape, s: Any) -> tuple[Any, Any]:
    if hasattr(x, "__next__"):
        raise refuse("the function returns an iterator, which would run after the recording", "Return a list.", s)
    if type(x) not in ATOMS and holds_recorded(x):
        raise refuse(
            f"the function returns {an(type(x).__name__)} that holds recorded values",
            "Return its numbers in a tuple, a dict or a dataclass.",
            s,
        )
    return x, None


ATOMS = frozenset({float, int, bool, str, bytes, type(None), type, float64, ndarray, types.ModuleType})
LOOKED_AT = 10_000


def holds_recorded(x: Any) -> bool:
    """Whether a recorded value can be reached from an object, among the first so many things in it."""
    todo, seen = [x], {id(x)}
    for y in todo:
        if isinstance(y, Ref) or (type(y) in ARRAYS and settle(y) is not y):
            return True
        if len(todo) > LOOKED_AT:
            return False
        inside: Any = ()
        if isinstance(y, types.FunctionType):
            inside = (y.__closure__, y.__defaults__, y.__kwdefaults__)
        elif type(y) not in ATOMS and not isinstance(y, type):
            inside = gc.get_referents(y)
        todo += [z for z in inside if type(z) not in SEALED and id(z) not in seen]
        seen.update(map(id, inside))
    return False


SEALED = ATOMS - {ndarray}
