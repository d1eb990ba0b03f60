"""`primitive`: an operation of the user's own, with the rules that he gives for it."""

from __future__ import annotations

import dis
import functools
import inspect
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .callables import OWN, TABLE, fill, late
from .ops.block import RESULT, Operation, Rule
from .primitive_calls import ALL, WHAT, apply
from .primitive_rules import pull_each, push_each, shape_of
from .recording import GENERATED
from .trace import Recorded

LOCK = threading.RLock()
LOOKS = {"locals", "vars", "eval", "exec", "dir"}  # functions that see every variable


class Arguments(NamedTuple):
    """How a function is called: its positional parameters, `*rest`, keyword-only ones and `**others`; `bind` makes of a
    call the tuple of its positional arguments and the dict of the others."""

    names: tuple[str, ...]
    rest: str
    keywords: tuple[str, ...]
    others: str
    bind: Callable[..., Any]
    seen: list[inspect.Parameter]

    def name(self, i: int) -> str:
        return self.names[i] if i < len(self.names) else f"{self.rest}[{i - len(self.names)}]"

    def least(self) -> int:
        """How many positional arguments there are at least."""
        if self.rest:
            return len(self.names)
        return sum(p.name in self.names and p.default is p.empty for p in self.seen)

    def text(self, what: str) -> str:
        """The parameters of a rule."""
        parts = [*filter(None, [what]), *self.names, *([f"*{self.rest}"] if self.rest else [])]
        parts += ["*"] if self.keywords and not self.rest else []
        parts += [*self.keywords, *([f"**{self.others}"] if self.others else [])]
        return f"({', '.join(parts)})"


class Primitive:
    """A function that is recorded as one operation. It is called as the function is; `pullback`, `tangent` and `shape`
    register its rules, `rules` are those there are."""

    __recorded__ = True  # a program calls what stands for `__wrapped__`
    __wrapped__: Callable[..., Any]
    __name__: str

    def __init__(self, fn: Any, elementwise: bool, wrt: Any, cuda: str, check: bool) -> None:
        functools.update_wrapper(self, fn)
        self.name: str = getattr(fn, "__name__", type(fn).__name__)
        self.elementwise, self.wrt, self.cuda, self.check = elementwise, wrt, cuda, check
        self.rules: dict[str, Rule] = {}
        self.used = False  # a call has been recorded
        self.seen: set[Any] = set()  # kinds of arguments whose gradient was compared with differences
        self.arguments = arguments_of(fn, None)
        self.places: tuple[int, ...] | None = None
        self.operation = operation_of(self)
        self.arranged()

    def arranged(self) -> None:
        """The arguments are known."""
        if self.arguments is not None:
            if self.wrt is not None:
                wrt = self.wrt if isinstance(self.wrt, tuple) else (self.wrt,)
                self.places = tuple([self.place(w) for w in wrt])
            if isinstance(self.__wrapped__, np.ufunc):
                self.__signature__ = inspect.Signature(
                    [inspect.Parameter(x, inspect.Parameter.POSITIONAL_ONLY) for x in self.arguments.names]
                )

    def place(self, w: Any) -> int:
        """The position of a parameter that `wrt` names."""
        assert self.arguments is not None
        names = self.arguments.names
        if isinstance(w, str) and w in names:
            return names.index(w)
        if type(w) is int and 0 <= w < len(names):
            return w
        raise ValueError(f"wrt={self.wrt!r}: {self.name} has the parameters {', '.join(names)}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .recording import ACTIVE, depends

        if ACTIVE and (depends(args) or depends(kwargs)):  # called by code that is not recorded
            return apply(self, args, kwargs)
        return self.__wrapped__(*args, **kwargs)

    def pullback(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register `rule(g, y, *arguments)`: the gradient of <g, y>, the cotangent of the result `y` being `g`."""
        return self.register("pullback", rule)

    def tangent(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register `rule(t, y, *arguments)`: the tangent of the result `y`, those of the arguments being `t`."""
        return self.register("tangent", rule)

    def shape(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Register `rule(*arguments)`: (shape, dtype) of the result. Arrays and numbers come as shape and dtype."""
        return self.register("shape", rule)

    def register(self, kind: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(rule):
            raise TypeError(f"the {kind} of {self.name} has to be a function, not {type(rule).__name__}")
        with LOCK:
            if kind in self.rules:
                raise ValueError(f"{self.name} has a {kind} already")
            arguments = self.arguments
            if kind == "pullback" and (arguments is None or isinstance(self.__wrapped__, np.ufunc)):
                arguments = arguments_of(self.__wrapped__, rule)
            if arguments is not None:
                arguments = accepted(self.name, kind, rule, arguments)
            self.arguments = arguments
            self.arranged()
            self.rules[kind] = Rule(rule, needs_of(rule, kind), self.elementwise, False)
        return rule

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __copy__(self) -> Primitive:
        return self

    def __deepcopy__(self, memo: Any) -> Primitive:
        return self

    def __reduce__(self) -> str:
        return str(self.__dict__["__qualname__"])  # found again in its module

    def __repr__(self) -> str:
        return f"<primitive {self.name}: {', '.join(self.rules) or 'no rules'}>"


def operation_of(p: Primitive) -> Operation:
    """The block of a primitive. A recorded call saves one list for all of its operands, `shared`."""
    block: Any = type(p.name, (), {
        "__doc__": p.__doc__ or p.name, "pull_each": pull_each, "push_each": push_each,
        "bind": lambda *args, **kwargs: p.arguments.bind(*args, **kwargs) if p.arguments else (args, kwargs),
        "shape": lambda *likes, **settings: shape_of(p, likes, settings),
    })  # fmt: skip
    return Operation(block, "", "operation")


def arguments_of(fn: Any, rule: Any) -> Arguments | None:
    """How `fn` is called, as far as one can see: from its signature, else from the parameters of its pullback."""
    Parameter = inspect.Parameter
    try:
        seen = None if isinstance(fn, np.ufunc) else [*inspect.signature(fn).parameters.values()]
    except (ValueError, TypeError):
        seen = None
    if seen is None and rule is not None:
        try:
            seen = [*inspect.signature(rule).parameters.values()][2:]
        except (ValueError, TypeError):
            seen = []
        seen = [p.replace(kind=Parameter.POSITIONAL_ONLY) if p.kind is p.POSITIONAL_OR_KEYWORD else p for p in seen]
    if isinstance(fn, np.ufunc):
        given = [p.name for p in seen or () if p.kind is p.POSITIONAL_ONLY]
        names = given if len(given) == fn.nin else [f"x{i + 1}" for i in range(fn.nin)]
        seen = [Parameter(x, Parameter.POSITIONAL_ONLY) for x in names]
    return None if seen is None else bound(seen)


def bound(seen: list[inspect.Parameter]) -> Arguments:
    """The same of a list of parameters. `bind` is written out: `inspect` takes 10 us to bind a call."""
    kinds: dict[Any, list[str]] = {}
    for p in seen:
        kinds.setdefault(p.kind, []).append(p.name)
    names = [p.name for p in seen if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = "".join(kinds.get(inspect.Parameter.VAR_POSITIONAL, ()))
    others = "".join(kinds.get(inspect.Parameter.VAR_KEYWORD, ()))
    keywords = kinds.get(inspect.Parameter.KEYWORD_ONLY, [])
    head = inspect.Signature([p.replace(annotation=p.empty, default=p.empty) for p in seen])
    positional = "".join(f"{x}, " for x in names) + (f"*{rest}, " if rest else "")
    settings = ", ".join([f"{x!r}: {x}" for x in keywords] + ([f"**{others}"] if others else []))
    space: dict[str, Any] = {}
    exec(compile(f"def bind{head}: return ({positional}), {{{settings}}}", GENERATED, "exec"), space)  # noqa: S102
    bind = space["bind"]
    bind.__defaults__ = tuple([p.default for p in seen if p.name in names and p.default is not p.empty])
    bind.__kwdefaults__ = {p.name: p.default for p in seen if p.name in keywords and p.default is not p.empty}
    return Arguments(tuple(names), rest, tuple(keywords), others, bind, seen)


def accepted(name: str, kind: str, rule: Any, arguments: Arguments) -> Arguments:
    """The arguments that a rule takes: all, or all but some that have defaults (the last, or keyword-only ones), with
    which the function is then not recorded. Any other rule is refused."""
    try:
        signature = inspect.signature(rule)
    except (ValueError, TypeError):
        return arguments
    takes = signature.parameters
    optional = {p.name for p in arguments.seen if p.default is not p.empty}
    anything = any(p.kind is p.VAR_KEYWORD for p in takes.values())
    keywords = [k for k in arguments.keywords if anything or k in takes or k not in optional]
    count = len(WHAT[kind].split())
    for n in range(len(arguments.names), arguments.least() - 1, -1):
        try:
            signature.bind(*range(count + n + 2 * bool(arguments.rest)), **dict.fromkeys(keywords))
        except TypeError:
            continue
        kept = {*arguments.names[:n], *keywords, arguments.rest, arguments.others}
        return bound([p for p in arguments.seen if p.name in kept])
    expected = arguments.text(WHAT[kind])
    raise TypeError(f"the {kind} of {name} has the parameters {signature}, expected {expected}")


def needs_of(rule: Any, kind: str) -> tuple[int, ...]:
    """What a rule uses: the result (RESULT), its arguments by position, or everything (ALL)."""
    first = len(WHAT[kind].split())
    if not isinstance(rule, types.FunctionType) or LOOKS & set(rule.__code__.co_names):
        return (RESULT, ALL)
    code = rule.__code__
    used = set(code.co_cellvars)
    for step in dis.get_instructions(code):
        if "FAST" in step.opname:
            used |= set(step.argval) if isinstance(step.argval, tuple) else {step.argval}
    names = code.co_varnames[: code.co_argcount]
    needs = [i - first for i, x in enumerate(names) if i >= first and x in used]
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[code.co_argcount + code.co_kwonlyargcount] in used:
        return (RESULT, ALL)
    return (RESULT, *needs) if names[1:2] and names[1] in used else tuple(needs)


def has_rule(fn: Any) -> bool:
    """Whether calls of `fn` are recorded by a rule already, rather than followed into its source or refused."""
    late(fn)
    h = TABLE.get(fn) if hashable(fn) else OWN.get(id(fn))
    program = isinstance(h, types.MethodType) and isinstance(h.__self__, types.ModuleType)
    refused = getattr(h, "__qualname__", "").startswith("guard.")
    return h is not None and not program and not refused


def hashable(fn: Any) -> bool:
    """Functions of C libraries (ctypes) are not."""
    try:
        return isinstance(hash(fn), int)
    except TypeError:
        return False


def install(p: Primitive, replace: bool) -> None:
    """From here on recorded calls of the function use the rules of `p`."""
    fn: Any = p.__wrapped__

    def handle(*args: Any, **kwargs: Any) -> Any:
        return apply(p, args, kwargs)

    handle.__name__ = p.name
    if not TABLE:
        fill()
    with LOCK:
        own = getattr(fn, "__primitive__", None)
        there = has_rule(fn) or (own is not None and own[0] is fn)
        if there and not replace:
            raise ValueError(f"{p.name} has a rule already; pass replace=True to use yours in its place")
        if isinstance(fn, types.FunctionType) and "<locals>" in fn.__qualname__:
            fn.__primitive__ = (fn, handle)  # type: ignore[attr-defined]  # it may come and go
        else:
            TABLE[p] = handle
            if hashable(fn):
                TABLE[fn] = handle
            else:
                OWN[id(fn)] = (fn, handle)


def primitive(
    fn: Callable[..., Any] | None = None, *, pullback: Any = None, tangent: Any = None, shape: Any = None,
    cuda: str = "", wrt: int | str | tuple[int | str, ...] | None = None, elementwise: bool | None = None,
    check: bool = False, replace: bool = False,
) -> Any:  # fmt: skip
    """Record a function as one operation, with a pullback of your own. As a decorator of your function,

        @primitive
        def cube(x):
            return x**3

        @cube.pullback
        def _(g, y, x):
            return g * 3 * x**2

    or for one that is not yours, whose recorded calls use the rule from then on:

        primitive(scipy.special.zeta, pullback=lambda g, y, x, q: (None, g * -x * scipy.special.zeta(x + 1, q)))

    Whatever the function does (C code, a solver, a simulation), it is called with plain values. Its arguments are
    numbers, arrays, lists, tuples and dicts of them, and plain data of any kind; keyword-only arguments are plain data.
    It returns a number, an array, or a tuple or list of these, and it leaves its arguments as they are.

    pullback(g, y, *arguments): `g` is the cotangent of the result `y` (a tuple for several results). It returns the
        gradient of <g, y> in the shape of the argument; for several arguments a tuple, None for plain data. One
        gradient alone is that of the first argument. Arrays come read-only.
    tangent(t, y, *arguments): the tangent of `y`, optional. `t` is the tangent of the argument; for several arguments
        a tuple, None for plain data.
    shape(*arguments): (shape, dtype) of the result, optional. Arrays and numbers come as (shape, dtype).
    cuda: the value as a CUDA expression of the arguments, for an elementwise function, optional.
    wrt: the arguments that have gradients, by position or name; the pullback then returns and the tangent gets these
        alone. By default, all positional arguments.
    elementwise: arguments broadcast as in NumPy, and gradients may have the shape of the result: they are summed. By
        default true of NumPy's ufuncs and where `cuda` is given.
    check: compare the gradient (and the tangent) with differences at every call with arguments of a new kind or shape.
    replace: the function has a rule already, which is given up.

    TypeError for a rule with other parameters than these, ValueError for a function that has a rule. Of a recorded
    call, RecordError where a rule is missing or gives something else than it should.
    """
    if fn is None:
        return functools.partial(
            primitive, pullback=pullback, tangent=tangent, shape=shape, cuda=cuda, wrt=wrt, elementwise=elementwise,
            check=check, replace=replace,
        )  # fmt: skip
    checked(fn, cuda, elementwise)
    if elementwise is None:
        elementwise = bool(cuda) or (isinstance(fn, np.ufunc) and fn.signature is None)
    p = Primitive(fn, elementwise, wrt, cuda, check)
    for kind, rule in (("pullback", pullback), ("tangent", tangent), ("shape", shape)):
        if rule is not None:
            p.register(kind, rule)
    install(p, replace)
    return p


def checked(fn: Any, cuda: Any, elementwise: Any) -> None:
    """What `primitive` is given makes sense."""
    if not callable(fn):
        raise TypeError(f"primitive takes a function, not {type(fn).__name__}")
    if isinstance(fn, (Recorded, Primitive)):
        raise TypeError(f"primitive takes a plain function, not {fn!r}")
    if isinstance(fn, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        raise TypeError(f"primitive takes a function, and {fn.__qualname__} is a method of a type; write a function")
    if not isinstance(cuda, str):
        raise TypeError(f"cuda has to be a CUDA expression as text, not {type(cuda).__name__}")
    if cuda and elementwise is False:
        raise TypeError("cuda is the value of one entry; it goes with elementwise functions only")
