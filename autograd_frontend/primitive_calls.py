"""Recorded calls of a `primitive`: its arguments, its results, and what is saved for the rules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from . import forward
from .arrays import owner_of
from .errors import RecordError, an
from .general import kept, unbound
from .memory import remember_spread
from .ops.block import RESULT
from .recording import (
    ACTIVE,
    HARMLESS,
    depends,
    edges_of,
    emit,
    handle,
    is_complex,
    lifted,
    recordable,
    refuse,
    site,
    tape_of,
    value,
)  # fmt: skip
from .rewrite import place_of
from .stores import protect
from .tape import Ref, Scalar, Tensor, deep, made, tensor
from .trees import holds_recorded, like, rebuilt

ndarray = np.ndarray
ALL = -2  # a rule uses all of its arguments
NUMBERS = (float, np.floating, Fraction, Decimal)
WHAT = {"pullback": "g, y", "tangent": "t, y", "shape": ""}  # what a rule gets before the arguments
DATA = (int, str, bytes, bool, type(None), np.integer, np.bool_)  # results without a derivative


class Kind:
    """What a number or an array is: its type, shape and dtype (None: it has none)."""

    __slots__ = ("type", "shape", "dtype")

    def __init__(self, x: Any) -> None:
        x = x.v if isinstance(x, Ref) else x
        self.type, self.shape, self.dtype = type(x), getattr(x, "shape", ()), getattr(x, "dtype", None)

    def __repr__(self) -> str:
        return f"{an(self.dtype)} array of shape {self.shape}" if self.type is ndarray else f"{an(self.type.__name__)}"

    def zero(self) -> Any:
        return np.zeros(self.shape, self.dtype) if self.type is ndarray else self.type(0)


class Call:
    """One recorded call. `forms`: of each argument, its structure if it is a container; `kinds`: of the recorded
    operands; `results`: of the result, or of each, and `many` is the type that holds several."""

    __slots__ = ("p", "forms", "kinds", "results", "many", "settings", "s")

    def __init__(self, p: Any, forms: list[Any], operands: Any, settings: dict[str, Any], s: Any) -> None:
        self.p, self.forms, self.settings, self.s = p, forms, settings, s
        self.kinds = {j: Kind(x) for j, x in enumerate(operands) if isinstance(x, Ref)}
        self.results: list[Any] = []
        self.many: Any = None

    def paths(self) -> Iterator[tuple[int, str]]:
        """For every operand: the argument it is in, and what it is called."""
        for i, form in enumerate(self.forms):
            name = self.p.arguments.name(i)
            for path in [name] if form is None else named(form, name):
                yield i, path

    def path(self, j: int) -> str:
        return [name for _, name in self.paths()][j]

    def arguments(self, leaves: Any) -> list[Any]:
        """The positional arguments, made of the operands."""
        rest = iter(leaves)
        return [next(rest) if form is None else filled(form, rest) for form in self.forms]

    def error(self, reason: str, remedy: str) -> RecordError:
        return RecordError(reason, place_of(self.s), remedy)

    def y(self, saved: list[Any]) -> Any:
        """The result, made of its parts."""
        return saved[0] if self.many is None else collected(self.many, saved)


def collected(kind: Any, parts: list[Any]) -> Any:
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


# Containers


def leaves_of(x: Any) -> Iterator[Any]:
    if isinstance(x, dict):
        for e in x.values():
            yield from leaves_of(e)
    elif isinstance(x, (list, tuple)):
        for e in x:
            yield from leaves_of(e)
    else:
        yield x


def filled(form: Any, leaves: Iterator[Any]) -> Any:
    """A container of the same structure with other numbers and arrays in it."""
    if isinstance(form, dict):
        new = {k: filled(e, leaves) for k, e in form.items()}
        return new if type(form) is dict else rebuilt(form, new)
    if isinstance(form, (list, tuple)):
        return like(form, [filled(e, leaves) for e in form])
    return next(leaves)


def named(form: Any, name: str) -> Iterator[str]:
    if isinstance(form, (dict, list, tuple)):
        for k, e in form.items() if isinstance(form, dict) else enumerate(form):
            yield from named(e, f"{name}[{k!r}]")
    else:
        yield name


# Recording a call


def apply(p: Any, args: Any, kwargs: Any) -> Any:
    """A call of a primitive in a recorded function."""
    call, arguments = p.__wrapped__, p.arguments
    if arguments is None:
        if depends(args) or depends(kwargs):
            raise missing(p, "pullback")
        return untouched(call, args, kwargs)
    try:
        given, settings = arguments.bind(*args, **kwargs)
    except TypeError as error:
        error.args = (f"its pullback takes {arguments.text('g, y')}: {str(error).replace('bind() ', '')}",)
        return unbound(p.operation, call, args, kwargs, error)
    operands: list[Any] = []
    forms = [entered(p, i, x, operands) for i, x in enumerate(given)]
    for k, x in settings.items():
        if type(x) not in HARMLESS and (depends(x) or holds_recorded(x)):
            raise refuse(
                f"{k} of {p.name} is recorded, but a keyword-only argument is plain data", "Make it a positional one."
            )
    t = tape_of(operands)
    if t is None:
        return untouched(call, args, kwargs)
    if t.graph is not None:
        return t.graph.primitive(p, given, args, kwargs)
    c = Call(p, forms, operands, {k: setting(x) for k, x in settings.items()}, site())
    known(c)
    plain = [x.v if isinstance(x, Ref) else x for x in operands]
    new = {id(x): y for x, y in zip(given, c.arguments(plain), strict=True)}
    before = None if p.used else [x.copy() if type(x) is ndarray else None for x in plain]
    result = [call(*[new[id(x)] for x in args], **{k: new.get(id(x), x) for k, x in kwargs.items()})]
    if depends(result):
        raise refuse(
            f"{p.name} uses recorded values that are not among its arguments",
            "A rule knows the arguments only: make them arguments.",
        )
    if before is not None:
        unwritten(c, plain, before)
    return recorded(c, result, operands, t)


def entered(p: Any, i: int, x: Any, operands: list[Any]) -> Any:
    """Put the numbers and arrays of an argument among the operands; its structure, if it holds recorded values."""
    kind = type(x)
    if kind is Scalar or kind is Tensor:
        operands.append(x if x.t.live else x.v)
    elif kind in HARMLESS:
        operands.append(x)
    elif kind is ndarray and x.dtype != object:
        operands.append(lifted(x) if ACTIVE else x)
    elif isinstance(x, (list, tuple, dict)) and depends(x):
        for e in leaves_of(x):
            entered(p, i, e, operands)
        return filled(x, iter([None] * sum(1 for _ in leaves_of(x))))
    else:
        if not isinstance(x, (*NUMBERS, *DATA)) and holds_recorded(x):
            raise refuse(
                f"{p.arguments.name(i)} of {p.name} is {an(kind.__name__)} that holds recorded values",
                "Make numbers, arrays, or lists, tuples and dicts of them the arguments.",
            )
        operands.append(x)
    return None


def setting(x: Any) -> Any:
    """A keyword-only argument as it is now."""
    return x.copy() if type(x) is ndarray else kept(x)


def untouched(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A call that has nothing recorded to see."""
    from .handles import bare

    for x in (*args, *kwargs.values()):
        if type(x) is ndarray:  # it may be written into
            protect(x)
    return call(*[bare(x) for x in args], **{k: bare(x) for k, x in kwargs.items()})


def known(c: Call) -> None:
    """The rule is there, and it is one for the arguments that are recorded."""
    p = c.p
    if "pullback" not in p.rules:
        raise missing(p, "pullback")
    if p.places is not None:
        for j, (i, path) in enumerate(c.paths()):
            if j in c.kinds and i not in p.places:
                raise c.error(
                    f"{path} of {p.name} is recorded, and {p.name} has a gradient for {chosen(p)} only",
                    "Give it plain data there, or extend wrt and the pullback.",
                )


def chosen(p: Any) -> str:
    return ", ".join(p.arguments.name(i) for i in p.places)


def missing(p: Any, kind: str) -> RecordError:
    what = p.arguments.text(WHAT[kind]) if p.arguments else f"({', '.join(filter(None, [WHAT[kind], '...']))})"
    return refuse(
        f"{p.name} is given a recorded value, and it has no {kind}",
        f"Register one: @{p.name}.{kind} on a function of {what}, or primitive(..., {kind}=...).",
    )


def unwritten(c: Call, plain: list[Any], before: list[Any]) -> None:
    """The function leaves its arguments as they are. Looked at once: it costs a copy of all."""
    for j, (x, y) in enumerate(zip(plain, before, strict=True)):
        if y is not None and x.tobytes() != y.tobytes():
            raise c.error(f"{c.p.name} writes into its argument {c.path(j)}", "Let it write into a copy.")


def recorded(c: Call, box: list[Any], operands: Any, t: Any) -> Any:
    """The handle of the result that is alone in `box`, or those of the parts of a tuple."""
    p, s = c.p, c.s
    if isinstance(box[0], (tuple, list)):
        c.many = type(box[0])
        box = list(box.pop())
    if any(is_complex(x.v if isinstance(x, Ref) else x) for x in (*box, *operands)):
        raise c.error(f"{p.name} of complex numbers cannot be recorded", "Use real and imaginary parts.")
    derivatives = [has_derivative(c, x) for x in box]
    if not any(derivatives):
        return c.y(box)
    twins = overlapping(box) if c.many is not None else ()
    sources = [separate(box, i, operands) for i in range(len(box))]
    for i in twins:
        box[i] = box[i].view()
    c.results = [Kind(x) if has else None for x, has in zip(box, derivatives, strict=True)]
    if not p.used or p.check:
        from .differences import examine

        examine(c, box, [x.v if isinstance(x, Ref) else x for x in operands])
        p.used = True
    shared = saved(c, operands, box, True, t.dual)
    if exposed(c, operands, sources):
        t.exposed.append(shared)
    if c.many is None:
        results = [emit(p.operation, box[0], operands, {"shared": shared}, s, t)]
        if t.deep:
            results[0].n.refs = references(c, results[0].n.edges, operands, results)
    else:
        results = joined(c, box, operands, shared, t)
    for i, (r, source, v) in enumerate(zip(results, sources, box, strict=True)):
        if type(r) is Tensor and (source is not None or i in twins):
            r.e = r.e if source is None else source.e
            remember_spread(v, t)  # a write is refused: it would not reach the other
    return c.y(results)


def references(c: Call, edges: Any, operands: Any, results: list[Any]) -> list[Any]:
    """What the rule gets where it is recorded itself, for every edge."""
    return [[edge[3][0], saved(c, operands, results, False)] for edge in edges]


def joined(c: Call, box: list[Any], operands: Any, shared: list[Any], t: Any) -> list[Any]:
    """The handles of several results. Their cotangents meet in one node, whose cotangent is a `Parts`."""
    op, s = c.p.operation, c.s
    edges = edges_of(op, tuple(box), operands, {"shared": shared}, t)
    joint: Any = deep(op.name, edges, s, t) if t.deep else made(op.name, edges, s, t)
    t.append(joint)
    t.unseen.append(joint)
    one = separate_part if t.dual else handle
    results = [
        x if kind is None else one(op.name, x, [[joint, part(i), None, []]], s, t)
        for i, (x, kind) in enumerate(zip(box, c.results, strict=True))
    ]
    if t.dual:
        rule = op.pushes[0].function
        places: list[Any] = [[operands[i].n, rule, None, [i, shared]] for i in c.kinds]
        nodes = [None if kind is None else r.n for r, kind in zip(results, c.results, strict=True)]
        t.done(forward.Parts(nodes, box, places, t))
    if t.deep:
        joint.refs = references(c, joint.edges, operands, results)
    return results


def separate_part(name: str, v: Any, edges: list[Any], s: Any, t: Any) -> Any:
    """One of several results, whose tangents come together."""
    n = made(name, edges if t.deep else [], s, t)
    t.append(n)
    return tensor(v, n, t)


def has_derivative(c: Call, x: Any) -> bool:
    """Whether a result carries a derivative. One that cannot be followed is refused."""
    if isinstance(x, (tuple, list)) or not (
        recordable(x, c.s) or isinstance(x, DATA) or (isinstance(x, ndarray) and x.dtype.kind in "iubSU")
    ):
        raise c.error(
            f"{c.p.name} gives {an(type(x).__name__)}{'' if c.many is None else f' in a {c.many.__name__}'}",
            "Return a number, an array, or a tuple of these.",
        )
    return recordable(x)


def holders(box: list[Any], i: int) -> int:
    """How many know the memory of an array."""
    x = box[i]
    return sys.getrefcount(x if x.base is None else x.base)


OWN, VIEW = holders([np.zeros(2)], 0), holders([np.zeros(2)[:1]], 0)


def elsewhere(box: list[Any], i: int) -> bool:
    """Whether somebody else holds the array in `box[i]`, and may change it: a cache, a buffer that is used again."""
    base = box[i].base
    if base is None:
        return holders(box, i) > OWN
    return type(base) is not ndarray or holders(box, i) > VIEW + 1  # `base` here


def separate(box: list[Any], i: int, operands: Any) -> Any:
    """Make the result in `box[i]` memory of its own; the recorded operand that it is, or is a view of, else None."""
    if type(box[i]) is not ndarray:
        return None
    if elsewhere(box, i):
        owner = owner_of(box[i])
        for x in operands:
            a = x.v if type(x) is Tensor else x
            if type(a) is ndarray and owner_of(a) is owner and type(x) is Tensor:
                box[i] = box[i].view()
                return x
        box[i] = box[i].copy(order="K")
    return None


def saved(c: Call, operands: Any, results: Any, plain: bool, dual: bool = False) -> list[Any]:
    """What the pullback needs (`dual`: everything, for the tangent rule), in one list for all operands: the call, the
    last cotangent and what it gave, the result, the operands. As plain values, or as they are recorded."""
    needs = (RESULT, ALL) if dual else c.p.rules["pullback"].needs
    used = [ALL in needs or i in needs for i, _ in c.paths()]
    leaves = [(value(x) if plain else x) if use else None for x, use in zip(operands, used, strict=True)]
    return [c, None, None, list(results) if RESULT in needs else [None] * len(results), leaves]


def exposed(c: Call, operands: Any, sources: list[Any]) -> bool:
    """Whether the caller may write into what is saved."""
    return any(type(x) is ndarray or (type(x) is Tensor and x.e) for x in (*operands, *sources))


def overlapping(box: list[Any]) -> set[int]:
    """The results that share memory with other ones: the same array twice, or views of one array."""
    at = [i for i, x in enumerate(box) if type(x) is ndarray]
    return {k for i in at for j in at if i < j and np.may_share_memory(box[i], box[j]) for k in (i, j)}


class Parts(dict[int, Any]):
    """The cotangents of some of several results."""

    def __add__(self, other: Any) -> Parts:
        return Parts(self | other)


def part(i: int) -> Callable[..., Parts]:
    def rule(ops: Any, g: Any) -> Parts:
        return Parts({i: g})

    return rule
