"""Objects of the user's classes: what their operators, properties, iteration and `with` blocks do is recorded too.

Python itself would run those methods as they are, and an array that holds recorded values looks plain to them.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import ARRAYS
from .callables import library, of, standard
from .recording import refuse, settle, site, value
from .stores import adopt, before_plain_write, protect
from .tape import Ref, Scalar, Tensor

ndarray = np.ndarray
REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}

# Operators


def overloaded(call: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[bool, Any]:
    """A binary operator on an object of the user's class: its own method, rewritten. (handled, result)"""
    name = call.__name__.strip("_")
    back = REFLECTED.get(name, "r" + name)
    forward, second = method(a, name), method(b, back)
    if not any(hasattr(m, "__code__") for m, x in ((forward, a), (second, b)) if not isinstance(x, Ref)):
        return False, None
    tries = [(forward, a, b), (second, b, a)]
    if type(a) is type(b):
        tries = tries if name in REFLECTED else tries[:1]
    elif issubclass(type(b), type(a)) and second is not method(a, back):
        tries.reverse()
    elif isinstance(a, (list, tuple, str, bytes)) and not hasattr(forward, "__code__"):  # joining is tried last
        tries.reverse()
    if hasattr(second, "__code__") and entrywise(a, b):
        tries = [(second, b, entries(a, b))]
    for m, x, y in tries:
        if isinstance(x, Ref) or m is None:
            continue
        r = of(m)(x, y) if hasattr(m, "__code__") else m(x, y)
        if r is not NotImplemented:
            return True, r
    if name in ("eq", "ne"):
        return True, (a is b) == (name == "eq")
    kinds = [type(value(x)) for x in (a, b)]
    names = [f"numpy.{k.__name__}" if issubclass(k, (np.generic, ndarray)) else k.__name__ for k in kinds]
    return True, call(*[type(k, (), {})() for k in names])  # TypeError: nobody knows what to do


def method(x: Any, name: str) -> Any:
    """The special method of an object's class, if it has one."""
    cls = type(x)
    found = getattr(cls, f"__{name}__", None)
    if name == "ne" and found is object.__ne__ and hasattr(cls.__eq__, "__code__"):
        found = differs
    return found


def differs(x: Any, y: Any) -> Any:
    """What `x != y` is where only `__eq__` is defined."""
    r = of(type(x).__eq__)(x, y)
    return r if r is NotImplemented else not of(bool)(r)


def entrywise(x: Any, y: Any) -> bool:
    """Whether NumPy, on the left with `x`, calls the operator of `y` for every entry: `y` does not ask for all."""
    if not (isinstance(x, np.generic) or isinstance(x, Ref) and type(x.v) in ARRAYS):
        return False
    if hasattr(type(y), "__array_ufunc__"):
        return False
    return not getattr(y, "__array_priority__", -1e6) > (0.0 if isinstance(x, ndarray) else -1e6)


def entries(x: Any, y: Any) -> Any:
    """What an operator of `y` is handed there: a Python number, for a scalar."""
    if isinstance(x, np.generic):
        return of(float)(x) if isinstance(x, Ref) else x.item()
    raise refuse(
        f"an operator of {type(y).__name__} would be called for every entry of a recorded array",
        "Put the array on the right, or give the class an __array_priority__.",
    )


# Attributes

ANY = "*"
GETTERS: dict[int, dict[str, Any]] = {}  # by id of a class: attributes that run code
SETTERS: dict[int, dict[str, Any]] = {}
KNOWN: dict[int, Any] = {}  # weak references to those classes


def attribute(x: Any, name: str) -> Any:
    """`x.name`."""
    found = GETTERS.get(id(type(x)))
    if found is None:
        found = survey(type(x))
    if found:
        get = found.get(name)
        if ANY in found:
            return found[ANY](x, name, get)
        if get is not None:
            return get(x, name)
    return getattr(x, name)


def assign(v: Any, x: Any, name: str) -> None:
    """`x.name = v`."""
    found = SETTERS.get(id(type(x)))
    if found is None:
        survey(type(x))
        found = SETTERS[id(type(x))]
    if found:
        change = found.get(ANY) or found.get(name)
        if change is not None:
            change(x, name, v)
            return
    setattr(x, name, v)


def set_on(x: Any, name: str, v: Any) -> None:
    """`object.__setattr__(x, name, v)`, which a `__setattr__` of the user's ends in."""
    if id(type(x)) not in SETTERS:
        survey(type(x))
    change = SETTERS[id(type(x))].get(name)
    if change is not None:
        change(x, name, v)
    else:
        object.__setattr__(x, name, v)


def survey(cls: type) -> dict[str, Any]:
    """Look through a class once for attributes that run code of the user's."""
    key = id(cls)
    getters: dict[str, Any] = {}
    setters: dict[str, Any] = {}
    if issubclass(cls, Ref):
        getters = dict.fromkeys({*Scalar.__slots__, *Tensor.__slots__}, hidden)
    elif cls in ARRAYS:
        setters = dict.fromkeys(("shape", "strides", "dtype"), relaid) | dict.fromkeys(("real", "imag"), set_part)
        setters["flat"] = set_flat
    elif cls is super:
        getters[ANY] = inherited
    else:
        seen: set[str] = set()
        for base in cls.__mro__:
            if not library(base.__module__) and not standard(base.__module__) and base is not object:
                for name, x in vars(base).items():
                    if name not in seen:
                        look_at(name, x, getters, setters)
            seen.update(vars(base))
    SETTERS[key] = setters
    KNOWN[key] = weakref.ref(cls, lambda _: [table.pop(key, None) for table in (GETTERS, SETTERS, KNOWN)])
    GETTERS[key] = getters
    return getters


def relaid(x: ndarray, name: str, v: Any) -> None:
    """`x.shape = v`: what was saved of `x` stays as it was."""
    if name == "dtype" and settle(x) is not x:
        raise refuse("dtype of an array that holds recorded values is set", "Write x = x.astype(dtype) instead.")
    protect(x)
    setattr(x, name, v)


def set_part(x: ndarray, name: str, v: Any) -> None:
    """`x.real = v`, `x.imag = v`."""
    y, v = settle(x), settle(v)
    if y is x and isinstance(v, Ref):
        y = adopt(x, v.t, site())
    elif y is x:
        before_plain_write(x, site())
    setattr(y, name, v)


def set_flat(x: ndarray, name: str, v: Any) -> None:
    """`x.flat = v`."""
    from .writes import write_flat

    y, v = settle(x), settle(v)
    if isinstance(y, Ref) or isinstance(v, Ref):
        write_flat(y, np.arange(x.size), v)
    else:
        before_plain_write(x, site())
        setattr(x, name, v)


def look_at(name: str, x: Any, getters: dict[str, Any], setters: dict[str, Any]) -> None:
    """Note what an entry of a class does when the attribute is read or bound."""
    kind = type(x)
    if kind is property:
        if is_function(x.fget):
            getters[name] = lambda obj, _: of(x.fget)(obj)
        if is_function(x.fset):
            setters[name] = lambda obj, _, v: of(x.fset)(obj, v)
    elif kind is functools.cached_property:
        getters[name] = functools.partial(cached, x)
    elif name == "__getattr__" and is_function(x):
        getters[ANY] = functools.partial(otherwise, x)
    elif name == "__setattr__" and is_function(x):
        setters[ANY] = lambda obj, key, v: of(x)(obj, key, v)
    elif kind is not types.FunctionType and not isinstance(x, type) and not standard(kind.__module__):
        get, change = getattr(kind, "__get__", None), getattr(kind, "__set__", None)
        if is_function(change):
            setters[name] = lambda obj, _, v: of(change)(x, obj, v)
        if is_function(get):
            getters[name] = lambda obj, key: (
                of(get)(x, obj, type(obj)) if change or key not in getattr(obj, "__dict__", ()) else vars(obj)[key]
            )


def is_function(f: Any) -> bool:
    return isinstance(f, types.FunctionType)


def hidden(x: Any, name: str) -> Any:
    """What a recorded value keeps for itself, its value may not have."""
    return getattr(x.v, name)


def cached(p: Any, x: Any, name: str) -> Any:
    """A `functools.cached_property`."""
    kept = x.__dict__
    if p.attrname not in kept:
        kept[p.attrname] = of(p.func)(x)
    return kept[p.attrname]


def otherwise(f: Any, x: Any, name: str, get: Any) -> Any:
    """An attribute of an object with `__getattr__`."""
    kind: Any = type(x)
    try:
        return kind.__getattribute__(x, name) if get is None else get(x, name)
    except AttributeError:
        return of(f)(x, name)


def inherited(x: Any, name: str, get: Any) -> Any:
    """`super().name`: a property of a base class."""
    mro = x.__self_class__.__mro__
    for base in mro[mro.index(x.__thisclass__) + 1 :]:
        if name in vars(base):
            p = vars(base)[name]
            if type(p) is property and is_function(p.fget):
                return of(p.fget)(x.__self__)
            break
    return getattr(x, name)


def get_attribute(x: Any, name: Any, *default: Any) -> Any:
    """`getattr(x, name, default)`."""
    try:
        return attribute(x, name) if type(name) is str else getattr(x, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def has_attribute(x: Any, name: Any) -> bool:
    try:
        get_attribute(x, name)
    except AttributeError:
        return False
    return True


def set_attribute(x: Any, name: Any, v: Any) -> None:
    assign(v, x, name)


def get_attributes(f: Any) -> Callable[[Any], Any]:
    """An `operator.attrgetter`."""
    _, names = f.__reduce__()

    def call(x: Any) -> Any:
        found = tuple([functools.reduce(attribute, name.split("."), x) for name in names])
        return found if len(names) > 1 else found[0]

    return call


# Instances


def making(cls: Any) -> Any:
    """How an instance is made of a class with a `__new__` of its own, or with a generated `__init__`."""
    new, init = cls.__new__, cls.__init__
    after = getattr(cls, "__post_init__", None)
    if is_function(new) and new.__code__.co_filename != "<string>" and not hasattr(cls, "_fields"):

        def make(*args: Any, **kwargs: Any) -> Any:
            instance = of(new)(cls, *args, **kwargs)
            if isinstance(instance, cls):
                of(type(instance).__init__)(instance, *args, **kwargs) if is_function(init) else None
            return instance

        return make
    if is_function(init) and init.__code__.co_filename == "<string>" and is_function(after) and cls.__dictoffset__:

        def fill_in(*args: Any, **kwargs: Any) -> Any:
            instance = new(cls)
            vars(instance)["__post_init__"] = types.MethodType(of(after), instance)  # found before that of the class
            try:
                init(instance, *args, **kwargs)
            finally:
                vars(instance).pop("__post_init__", None)
            return instance

        return fill_in
    return cls


def decorated(f: Any) -> Any:
    """What a decorator of the standard library (`contextmanager`, ...) made of a function, made of its program."""
    inner = getattr(f, "__wrapped__", None)
    if not is_function(inner) or standard(inner.__module__) or not f.__closure__:
        return f
    cells = [types.CellType(of(inner)) if c.cell_contents is inner else c for c in f.__closure__]
    new = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    new.__kwdefaults__ = f.__kwdefaults__
    return new
