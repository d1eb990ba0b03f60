"""Recording one operation: its operands, its value and node, and what is saved."""

from __future__ import annotations

import inspect
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np

from .arrays import ARRAYS, REMOTE, STRIDED, TWINNED, address, overlapping, owner_of
from .cotangents import COMPLEX128
from .devices import session_of
from .errors import WATCHING, Place, RecordError, an
from .ops.block import LIKE, RESULT, SPECIAL, Like, Operation, like
from .rewrite import is_program, place_of
from .sweep import sweep_edges
from .tape import Inside, Node, Ref, Scalar, Tape, Tensor, View, made, node, tensor, view

ndarray = np.ndarray
float64, _getframe = np.float64, sys._getframe
HERE = str(Path(__file__).parent)
LIBRARIES = (str(Path(inspect.__file__).parent), str(Path(np.__file__).parent.parent))
GENERATED = f"{HERE}/<generated>"  # where code that is written out says it comes from
ACTIVE: list[Tape] = []  # tapes whose function is running, of all threads
BUILDING: list[Tape] = []  # those of them that a graph is built on


def site() -> Any:
    """Where the caller of a handler stands: the innermost frame outside this package."""
    f: Any = _getframe(2)
    code = f.f_code
    if THEIRS.get(id(code)) is code:
        return (code, f.f_lasti)
    while is_ours(code) and f.f_back is not None:
        f = f.f_back
        code = f.f_code
    return (code, f.f_lasti)


THEIRS: dict[int, Any] = {}  # code of programs, by id


def is_ours(code: Any) -> bool:
    """Whether this is code of the package itself."""
    if is_program(code) and not code.co_filename.startswith(HERE):
        THEIRS[id(code)] = code
        return False
    return bool(code.co_filename.startswith(HERE))


def refuse(reason: str, remedy: str = "", s: Any = None) -> RecordError:
    """A `RecordError` about the line of the user's that is being run."""
    place: Place | None = place_of(s or line())
    return RecordError(reason, place, remedy)


def noted(error: Any) -> None:
    """Keep a refusal: the recorded function may catch it, and go on as the plain one would not."""
    if ACTIVE and type(error) is RecordError:
        tapes = [t for t in mine() if type(t) is not Inside]
        for t in tapes[-1:]:
            t.refusals = (*t.refusals, error)
        for t in tapes if BUILDING else ():
            if t.graph is not None:
                t.graph.refusals.append(error)


WATCHING.append(noted)


def line() -> Any:
    """Where the user's own code stands: the innermost frame outside this package and the libraries."""
    found = None
    f: Any = _getframe(2)
    while f is not None:
        code = f.f_code
        if not is_ours(code):
            found = found or (code, f.f_lasti)
            if is_program(code) or not code.co_filename.startswith(LIBRARIES):
                return (code, f.f_lasti)
        f = f.f_back
    return found


def short(x: Any) -> str:
    """A value in a message: its type and, for an array, its shape."""
    x = x.v if isinstance(x, Ref) else x
    return f"{x.dtype} array of shape {x.shape}" if type(x) in ARRAYS else type(x).__name__


def mine() -> tuple[Tape, ...]:
    """The tapes of this thread. Those of others are none of its business: their memory is their own."""
    tapes = tuple(ACTIVE)  # as it is now: another thread may begin to record in between
    if len(tapes) == 1:
        return tapes
    thread = get_ident()
    return tuple([t for t in tapes if t.thread == thread])


def lifted(x: Any) -> Any:
    """The recorded array behind a plain one that holds recorded values; otherwise `x` itself."""
    if len(ACTIVE) == 1 and type(x) is ndarray and x.base is None:  # by far the most common
        found = ACTIVE[0].adopted.get(id(x))
        if found is None:
            return x
        n = found[1]
        if n is not None and n.like is not None and n.like[0] == x.shape:
            r = Tensor()
            r.v, r.n, r.t, r.e = x, n, ACTIVE[0], True
            return r
    for t in ACTIVE if len(ACTIVE) == 1 else mine():
        if t.adopted:
            found = t.adopted.get(id(x) if type(x) in ARRAYS and x.base is None else id(owner_of(x)))
            if found is not None:
                owner, n = found
                if n is None:
                    raise refuse(
                        "an array is used whose memory was written through an argument that is a view of it",
                        "Pass the whole array, or a copy of the part.",
                    )
                if t.device is not None:
                    return t.device_view(x, owner, n)  # type: ignore[attr-defined]
                if x is owner and (n.like is None or n.like[0] == x.shape):  # else: x.shape = (m, n)
                    return tensor(x, n, t, True)
                return spread(x, n, owner, t) if overlaps(x) else tensor(x, place_in(n, owner, x), t, True)
    return x


def place_in(n: Node, owner: ndarray, x: ndarray) -> View:
    """The place of a plain view in the mirror of the array that owns the memory."""
    offset = address(x) - address(owner)
    shape, dtype, strides = x.shape, x.dtype, x.strides  # now: x.shape = (m, n) may change them

    def look(m: Any) -> Any:
        if type(m) in REMOTE:
            return m.relaid(shape, dtype, offset, strides)
        if 0 in shape:  # the imaginary part of nothing would begin after its end
            return np.zeros(shape, dtype)
        buffer = m if m.base is None else m.base  # a mirror lies at the start of its buffer
        return ndarray(shape, dtype, buffer, offset, strides)

    return view(n, look, ())


def overlaps(x: ndarray) -> bool:
    """Whether entries of a broadcast array, or of one made by strides, are the same memory."""
    strides = x.strides
    if 0 in strides and any(s == 0 and n > 1 for s, n in zip(strides, x.shape, strict=True)):
        return True
    b: Any = x.base
    while type(b) is ndarray:
        b = b.base
    if b is None and type(x) is ndarray:  # by far the most common
        return False
    return (type(b) is STRIDED or type(x) in REMOTE) and overlapping(x)


def spread(x: ndarray, n: Node, owner: ndarray, t: Tape) -> Tensor:
    """A plain broadcast view of memory that holds recorded values, as it is now."""
    if 0 not in x.strides:
        raise refuse("windows of an array, which share memory, are used after a write into it", "Make them after it.")
    part = x[tuple([slice(0, 1) if s == 0 else slice(None) for s in x.strides])]
    edge = [place_in(n, owner, part), whole, (part.shape, part.dtype, False), []]
    n = made("broadcast_to", [edge], site(), t)
    t.append(n)
    if t.dual:
        from .forward import Sum

        t.done(Sum(n, x, [edge[0]]))  # type: ignore[attr-defined]
    return tensor(x, n, t, True)


def whole(ops: Any, g: Any) -> Any:
    return g


def builder_of(x: Any, depth: int = 6) -> Any:
    """What builds the graph that `x`, or something in it, is a stand-in of; None where there is none. Asked only while
    some graph is built."""
    kind = type(x)
    if kind in HARMLESS:
        return None
    if kind is Tensor:
        return x.t.graph if x.t.live else None
    if kind in ARRAYS:
        return builder_of(y) if x.dtype != object and (y := lifted(x)) is not x else None
    if depth:
        for e in x if isinstance(x, (list, tuple, set, frozenset)) else x.values() if isinstance(x, dict) else ():
            if type(e) not in HARMLESS and (found := builder_of(e, depth - 1)) is not None:
                return found
    return None


def refuse_value(x: Any, what: str, remedy: str) -> None:
    """Refuse what needs the value of a stand-in."""
    if BUILDING and (builder := builder_of(x)) is not None:
        raise builder.refused(what, remedy)


HARMLESS = frozenset({int, float, str, bool, type(None), slice, float64, type, np.dtype, range})


def settle(x: Any) -> Any:
    """An operand as the recording sees it: recorded where it depends on an input, plain otherwise."""
    kind = type(x)
    if kind in ARRAYS:
        return lifted(x) if ACTIVE else x
    if kind is Scalar or kind is Tensor:
        return x if x.t.live else x.v
    if (kind is list or kind is tuple) and depends(x):
        from .callables import of

        return of(np.array)(x)
    if kind not in HARMLESS and issubclass(kind, (list, tuple)) and depends(x):
        return settle(list(x))
    if REMOTE and kind not in HARMLESS and (y := lent(x)) is not x:
        return lifted(y) if ACTIVE else y
    return x


def lent(x: Any) -> Any:
    """An array of another library that lives on a device, as an array of the device; otherwise `x` itself."""
    here = None if type(x) in ARRAYS else session_of(x)
    return x if here is None else here.adopt(x)


def depends(x: Any, depth: int = 6) -> bool:
    """Whether `x`, or something in the containers it is made of, is recorded."""
    kind = type(x)
    if kind in HARMLESS:
        return False
    if kind is Scalar or kind is Tensor:
        return bool(x.t.live)
    if kind in ARRAYS:
        if x.dtype == object:
            return any(depends(e, depth - 1) for e in x.flat)
        return lifted(x) is not x
    if depth:
        inside = x if isinstance(x, (list, tuple, set, frozenset)) else x.values() if isinstance(x, dict) else ()
        for e in inside:
            if type(e) not in HARMLESS and depends(e, depth - 1):
                return True
    return bool(REMOTE) and (y := lent(x)) is not x and lifted(y) is not y


def value(x: Any) -> Any:
    """The plain value of an operand or of a container of operands."""
    kind = type(x)
    if kind is Scalar or kind is Tensor:
        return x.v
    if kind is list or kind is tuple:
        changed = None
        for i, e in enumerate(x):
            v = value(e)
            if v is not e:
                if changed is None:
                    changed = list(x)
                changed[i] = v
        return x if changed is None else kind(changed)
    if kind is ndarray:
        return x if not TWINNED or (y := lifted(x)) is x else y.v
    if kind not in HARMLESS and issubclass(kind, (list, tuple)) and depends(x):  # NumPy sees a sequence
        return [value(e) for e in x]
    return lent(x) if REMOTE and kind not in HARMLESS else x


def tape_of(operands: Any) -> Tape | None:
    """The tape the recorded ones among the operands are on."""
    t = None
    for x in operands:
        if type(x) is Scalar or type(x) is Tensor:
            if t is None:
                t = x.t
            elif x.t is not t:
                raise refuse(
                    "values of two recordings meet in one operation: a derivative is taken inside a recorded function",
                    "Hand the outer value to the inner function as an argument.",
                )
    return t


def emit(
    op: Operation, v: Any, operands: Any, attributes: dict[str, Any] | None, s: Any, t: Tape, again: Any = None
) -> Any:
    """Record that `op` made `v` from `operands`, and return the handle of `v`. `again`: (function, args, kwargs) of a
    call that is linear in its operands."""
    if t.complex or (v.dtype.kind == "c" if type(v) in ARRAYS else type(v) in COMPLEX):
        op = on_complex(op, v, operands, s, t)
    edges = edges_of(op, v, operands, attributes, t)
    if (t.deep or t.dual) and edges:
        from .nested import inner_handle

        return inner_handle(op, v, operands, attributes, edges, s, t, again)
    return handle(op.name, v, edges, s, t) if edges else v


COMPLEX = frozenset({complex, np.complex64, np.complex128, np.clongdouble})


def is_complex(v: Any) -> bool:
    """Whether a value is made of complex numbers."""
    return v.dtype.kind == "c" if type(v) in ARRAYS else type(v) in COMPLEX


def on_complex(op: Operation, v: Any, operands: Any, s: Any, t: Tape) -> Operation:
    """The operation as it is on complex numbers, if there are any; refused where there is no rule for them."""
    values = [value(x) for x in operands]
    if not is_complex(v) and not any(map(is_complex, values)):
        return op
    recorded = [isinstance(x, Ref) for x in operands]
    form = op.on_complex(values, recorded)
    if form is None or any(r and type(x) in (Fraction, Decimal) for r, x in zip(recorded, values, strict=True)):
        raise refuse(f"{op.name} of complex numbers cannot be recorded", "Use real and imaginary parts.", s)
    by_math = op.elementwise and type(v) is float and any(isinstance(x, np.complexfloating) for x in values)
    if by_math or (form is op.twin and not is_complex(v)):  # or by out=, dtype=
        raise refuse(f"{op.name} of complex numbers that drops imaginary parts cannot be recorded", "Write z.real.", s)
    t.has_complex()
    return form


def handle(name: str, v: Any, edges: list[Any], s: Any, t: Tape) -> Any:
    """A value with its node on the tape."""
    t.quiet = True
    kind = type(v)
    if t.dual:
        from .nested import sum_handle

        return sum_handle(name, v, edges, s, t)
    if t.device is not None:
        return t.handle(name, v, edges, s)  # type: ignore[attr-defined]
    if (kind is float or kind is float64) and not t.deep:
        n: Any = Scalar()
        n.v = v
        n.g = 0.0
        n.a = edges
        n.b = n.pa = None
        n.pb = name
        n.f = sweep_edges
        n.s = s
        n.t = t
        t.append(n)
        t.unseen.append(n)
        return n
    if recordable(v, s):
        n = node(name, edges, s)
        t.append(n)
        t.unseen.append(n)
        return tensor(v, n, t)
    return v


def recordable(v: Any, s: Any = None) -> bool:
    """Whether a value of this kind carries a derivative. Exotic arrays are refused."""
    kind = type(v)
    if kind in ARRAYS:
        c = v.dtype.kind
        if c == "f" or c == "c":
            return True
    elif isinstance(v, np.floating) or kind is Fraction or kind is Decimal or kind is float or kind in COMPLEX:
        return True
    elif isinstance(v, ndarray):
        raise refuse(f"{an(kind.__name__)} cannot be recorded", "Use a plain np.ndarray.", s)
    else:
        assert kind is not tuple and kind is not list, "an operation with several results has parts"
        assert not REMOTE or session_of(v) is None, "computed by another library"
        return False
    if c == "O":
        raise refuse("recorded values cannot be kept in an object array", "Use a list.", s)
    return False


def edges_of(op: Operation, v: Any, operands: Any, attributes: Any, t: Tape) -> list[Any]:
    """For every recorded operand: where its cotangent goes, by which rule, and what the rule needs."""
    edges = []
    each = op.variadic
    shape, dtype = (v.shape, v.dtype) if type(v) in ARRAYS else (None, None)
    for i, x in enumerate(operands):
        kind = type(x)
        if (kind is Scalar or kind is Tensor) and x.t is t:
            rule = op.pulls[0 if each else i]
            saved: list[Any] = [i] if each else []
            if rule.simple:
                for name in rule.needs:
                    saved.append(attributes[name])
                    if type(saved[-1]) is ndarray and name not in op.keeps:  # a mask: the caller may write into it
                        t.exposed.append(saved)
            else:
                gather(rule.needs, saved, v, operands, attributes, t, op.keeps)
            if kind is Scalar:
                same = (type(v) is float or type(v) is float64) and (op.elementwise or each)
                edges.append([x, rule.function, None if same else (None, None, rule.strict), saved])
            else:
                xv = x.v
                fit: Any = None
                if type(xv) is float:  # a number in a derivative that is taken inside
                    same = (type(v) is float or type(v) is float64) and (op.elementwise or each)
                    fit = None if same else (None, None, rule.strict)
                elif type(xv) in ARRAYS or isinstance(xv, np.generic):
                    if not op.elementwise or xv.shape != shape or xv.dtype != dtype:
                        fit = (xv.shape, xv.dtype, rule.strict)
                    elif rule.strict:
                        fit = True
                elif type(xv) is complex:
                    fit = ((), COMPLEX128, rule.strict)
                edges.append([x.n, rule.function, fit, saved])
    return edges


def gather(
    needs: Any, saved: list[Any], v: Any, operands: Any, attributes: Any, t: Tape, kept: tuple[str, ...] = ()
) -> None:
    """Save what a rule needs. `kept` are attributes that nobody else holds."""
    arrays = exposed = False
    for name in needs:
        if type(name) is int and name >= LIKE + RESULT:
            x = v if name == LIKE + RESULT else operands[name - LIKE]
            x = x.v if type(x) is Tensor else x
            x = Like(x.shape, x.dtype) if type(x) in ARRAYS else like(value(x))
        elif type(name) is int:
            x = v if name < 0 else operands[name]
            kind = type(x)
            if kind is Scalar:
                x = x.v
            elif kind is Tensor:
                exposed |= x.e
                x = np.complex128(x.v) if type(x.v) is complex else x.v  # NumPy's does not raise
            elif name >= 0:
                exposed = True
                if kind is list or kind is tuple:
                    x = np.array(x)
            arrays |= type(x) in ARRAYS
            if type(v) is float and (type(x) is Fraction or type(x) is Decimal):  # math.sin of a Fraction is a float
                x = float(x)
        elif name in SPECIAL:
            x = of_variadic(name, operands, saved)
            if name == "operands":
                if type(v) is float:  # math.hypot of Decimals is a float
                    x = [float(e) if type(e) is Fraction or type(e) is Decimal else e for e in x]
                arrays = True
                exposed |= any(type(e) in ARRAYS or (type(e) is Tensor and e.e) for e in operands)
            elif name == "operand":
                if type(v) is float and (type(x) is Fraction or type(x) is Decimal):
                    x = float(x)
                arrays = exposed = True
        else:
            x = attributes[name]
            if type(x) in ARRAYS:
                if name not in kept:  # an index, a mask: the caller may write into it
                    arrays = exposed = True
                elif is_own(x, operands, attributes, kept):
                    t.ours[id(owner_of(x))] = owner_of(x)
        saved.append(x)
    if arrays and exposed:
        t.exposed.append(saved)


def is_own(x: Any, operands: Any, attributes: Any, kept: tuple[str, ...]) -> bool:
    """Whether a by-product lies in memory of its own, not in that of what the operation was given."""
    owner = owner_of(x)
    given = (*operands, *[a for name, a in attributes.items() if name not in kept])
    return all(owner_of(value(e)) is not owner for e in given)


def of_variadic(name: str, operands: Any, saved: list[Any]) -> Any:
    """What a rule of a variadic operation asks for: of all operands, or of its own, whose number comes first."""
    if name == "operands":
        return [e.v if isinstance(e, Ref) else np.array(e) if isinstance(e, (list, tuple)) else e for e in operands]
    if name == "likes":
        return [like(value(e)) for e in operands]
    if name == "recorded":
        return [isinstance(e, Ref) and not (e.t.graph is not None and e.t.graph.plain(e)) for e in operands]
    x = value(operands[saved[0]])
    return like(x) if name == "operand_like" else np.array(x) if isinstance(x, (list, tuple)) else x
