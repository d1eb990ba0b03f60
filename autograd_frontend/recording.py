"""Recording one operation: value, node, what is saved, and the memory of arrays."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from .errors import Place, RecordError
from .ops.block import LIKE, RESULT, Like, Operation, like
from .rewrite import is_program, place_of
from .tape import (
    Node,
    Ref,
    Scalar,
    Tape,
    Tensor,
    View,
    node,
    owner_of,
    repeats,
    stored,
    sweep_edges,
    tensor,
    view,
)  # fmt: skip

ndarray = np.ndarray
float64, _getframe = np.float64, sys._getframe
HERE = str(Path(__file__).parent)
GENERATED = f"{HERE}/<generated>"  # where code that is written out says it comes from
ACTIVE: list[Tape] = []  # tapes whose function is running, of all threads

OPERANDS = frozenset({float, int, bool, float64, ndarray, Scalar, Tensor, complex, Fraction, Decimal, np.float32})


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
    if is_program(code):
        THEIRS[id(code)] = code
        return False
    return bool(code.co_filename.startswith(HERE))


def refuse(reason: str, remedy: str = "", s: Any = None) -> RecordError:
    """A `RecordError` about the line of the user's that is being run."""
    place: Place | None = place_of(s or site())
    return RecordError(reason, place, remedy)


def short(x: Any) -> str:
    """A value in a message: its type and, for an array, its shape."""
    x = x.v if isinstance(x, Ref) else x
    return f"{x.dtype} array of shape {x.shape}" if type(x) is ndarray else type(x).__name__


def lifted(x: Any) -> Any:
    """The recorded array behind a plain one that holds recorded values; otherwise `x` itself."""
    for t in ACTIVE:
        if t.adopted:
            found = t.adopted.get(id(owner_of(x)))
            if found is not None:
                owner, n = found
                if n is None:
                    raise refuse(
                        "an array is used whose memory was written through an argument that is a view of it",
                        "Pass the whole array, or a copy of the part.",
                    )
                if x is owner and (n.like is None or n.like[0] == x.shape):  # else: x.shape = (m, n)
                    return tensor(x, n, t, True)
                return spread(x, n, owner, t) if overlaps(x) else tensor(x, place_in(n, owner, x), t, True)
    return x


def place_in(n: Node, owner: ndarray, x: ndarray) -> View:
    """The place of a plain view in the mirror of the array that owns the memory."""
    offset = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]

    def look(m: ndarray) -> ndarray:
        buffer = m if m.base is None else m.base  # a mirror lies at the start of its buffer
        return ndarray(x.shape, x.dtype, buffer, offset, x.strides)

    return view(n, look, ())


def overlaps(x: ndarray) -> bool:
    """Whether entries of a broadcast array are the same memory."""
    strides = x.strides
    return 0 in strides and any(s == 0 and n > 1 for s, n in zip(strides, x.shape, strict=True))


def spread(x: ndarray, n: Node, owner: ndarray, t: Tape) -> Tensor:
    """A plain broadcast view of memory that holds recorded values, as it is now."""
    part = x[tuple([slice(0, 1) if s == 0 else slice(None) for s in x.strides])]
    edge = [place_in(n, owner, part), whole, (part.shape, part.dtype, False), []]
    t.append(node("broadcast_to", [edge], site()))
    return tensor(x, t[-1], t, True)


def whole(ops: Any, g: Any) -> Any:
    return g


HARMLESS = frozenset({int, float, str, bool, type(None), slice, float64, type, np.dtype, range})


def settle(x: Any) -> Any:
    """An operand as the recording sees it: recorded where it depends on an input, plain otherwise."""
    kind = type(x)
    if kind is ndarray:
        return lifted(x) if ACTIVE else x
    if kind is Scalar or kind is Tensor:
        return x if x.t.live else x.v
    if (kind is list or kind is tuple) and depends(x):
        from .callables import of

        return of(np.array)(x)
    if kind not in HARMLESS and issubclass(kind, (list, tuple)) and depends(x):
        return settle(list(x))
    return x


def depends(x: Any, depth: int = 6) -> bool:
    """Whether `x`, or something in the containers it is made of, is recorded."""
    kind = type(x)
    if kind in HARMLESS:
        return False
    if kind is Scalar or kind is Tensor:
        return bool(x.t.live)
    if kind is ndarray:
        if x.dtype == object:
            return any(depends(e, depth - 1) for e in x.flat)
        return lifted(x) is not x
    if depth:
        inside = x if isinstance(x, (list, tuple, set, frozenset)) else x.values() if isinstance(x, dict) else ()
        for e in inside:
            if type(e) not in HARMLESS and depends(e, depth - 1):
                return True
    return False


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
    if kind not in HARMLESS and issubclass(kind, (list, tuple)) and depends(x):  # NumPy sees a sequence
        return [value(e) for e in x]
    return x


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
                    "Call the inner function itself there; derivatives of derivatives are not recorded yet.",
                )
    return t


def emit(op: Operation, v: Any, operands: Any, attributes: dict[str, Any] | None, s: Any, t: Tape) -> Any:
    """Record that `op` made `v` from `operands`, and return the handle of `v`."""
    edges = edges_of(op, v, operands, attributes, t)
    return handle(op.name, v, edges, s, t) if edges else v


def handle(name: str, v: Any, edges: list[Any], s: Any, t: Tape) -> Any:
    """A value with its node on the tape."""
    t.quiet = True
    kind = type(v)
    if kind is float or kind is float64:
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
    """Whether a value of this kind carries a derivative. Complex values and exotic arrays are refused."""
    kind = type(v)
    if kind is ndarray:
        c = v.dtype.kind
        if c == "f":
            return True
    elif isinstance(v, np.floating) or kind is Fraction or kind is Decimal or kind is float:
        return True
    elif kind is complex or isinstance(v, np.complexfloating):
        c = "c"
    elif isinstance(v, ndarray):
        raise refuse(f"a {kind.__name__} cannot be recorded", "Use a plain np.ndarray.", s)
    elif (kind is tuple or kind is list) and any(recordable(e, s) for e in v):
        raise refuse("this call gives several results, and the rule knows one", "Call it for one result at a time.", s)
    else:
        return False
    if c == "c":
        raise refuse("a recorded value became complex; complex numbers are not recorded yet", "Use real arithmetic.", s)
    if c == "O":
        raise refuse("recorded values cannot be kept in an object array", "Use a list.", s)
    return False


def edges_of(op: Operation, v: Any, operands: Any, attributes: Any, t: Tape) -> list[Any]:
    """For every recorded operand: where its cotangent goes, by which rule, and what the rule needs."""
    edges = []
    each = op.variadic
    shape, dtype = (v.shape, v.dtype) if type(v) is ndarray else (None, None)
    for i, x in enumerate(operands):
        kind = type(x)
        if (kind is Scalar or kind is Tensor) and x.t is t:
            rule = op.pulls[0 if each else i]
            saved: list[Any] = [i] if each else []
            if rule.simple:
                for name in rule.needs:
                    saved.append(attributes[name])
                    if type(saved[-1]) is ndarray:  # an index, a mask: the caller may write into it
                        t.exposed.append(saved)
            else:
                gather(rule.needs, saved, v, operands, attributes, t)
            if kind is Scalar:
                same = (type(v) is float or type(v) is float64) and (op.elementwise or each)
                edges.append([x, rule.function, None if same else (None, None, rule.strict), saved])
            else:
                xv = x.v
                fit: Any = None
                if type(xv) is ndarray or isinstance(xv, np.generic):
                    if not op.elementwise or xv.shape != shape or xv.dtype != dtype:
                        fit = (xv.shape, xv.dtype, rule.strict)
                    elif rule.strict:
                        fit = True
                edges.append([x.n, rule.function, fit, saved])
    return edges


def gather(needs: Any, saved: list[Any], v: Any, operands: Any, attributes: Any, t: Tape) -> None:
    """Save what a rule needs."""
    arrays = exposed = False
    for name in needs:
        if type(name) is int and name >= LIKE + RESULT:
            x = v if name == LIKE + RESULT else operands[name - LIKE]
            x = x.v if type(x) is Tensor else x
            x = Like(x.shape, x.dtype) if type(x) is ndarray else like(value(x))
        elif type(name) is int:
            x = v if name < 0 else operands[name]
            kind = type(x)
            if kind is Scalar:
                x = x.v
            elif kind is Tensor:
                exposed |= x.e
                x = x.v
            elif name >= 0:
                exposed = True
                if kind is list or kind is tuple:
                    x = np.array(x)
            arrays |= type(x) is ndarray
            if type(v) is float and (type(x) is Fraction or type(x) is Decimal):  # math.sin of a Fraction is a float
                x = float(x)
        elif name == "operands":
            x = [e.v if isinstance(e, Ref) else e for e in operands]
            arrays = True
            exposed |= any(type(e) is ndarray or (type(e) is Tensor and e.e) for e in operands)
        elif name == "likes":
            x = [like(value(e)) for e in operands]
        elif name == "recorded":
            x = [isinstance(e, Ref) for e in operands]
        elif name == "operand_like":
            x = like(value(operands[saved[0]]))
        elif name == "operand":
            x = value(operands[saved[0]])
            arrays = exposed = True
        else:
            x = attributes[name]
            if type(x) is ndarray:  # an index, a mask: the caller may write into it
                arrays = exposed = True
        saved.append(x)
    if arrays and exposed:
        t.exposed.append(saved)


def note_memory(x: Tensor) -> None:
    """The array is about to be looked at through a view or written: its node must know the layout."""
    n = x.n
    if type(n) is not View and n.like is None:
        n.like = (x.v.shape, x.v.dtype, x.v.strides)


def view_of(x: Tensor, v: ndarray, call: Callable[..., Any], args: Any, kwargs: Any = None) -> Tensor:
    """The handle of a view `v = call(x.v, *args)`; it shares memory and cotangent with `x`."""
    note_memory(x)
    return tensor(v, view(x.n, call, args, kwargs), x.t, x.e)


def shares(v: Any, x: Any) -> bool:
    """Whether `v` is `x` or a view of the same memory."""
    return type(v) is ndarray and type(x) is ndarray and (v is x or v.base is not None) and owner_of(v) is owner_of(x)


class Gather(Node):
    """A read through an index that copies: its cotangent is added to the entries that were read."""

    __slots__ = ("place", "key")
    place: Any
    key: Any

    def sweep(self) -> None:
        if self.g is not None:
            gather_back(self.place, self.key, self.g)
            self.g = None


def gather_back(place: Any, key: Any, g: Any) -> None:
    m = place.mirror()
    if repeats(key):
        np.add.at(m, key, g)
    else:
        m[key] += g


def sweep_read(n: Scalar, g: Any) -> None:
    """The `f` of a scalar read from an array: one entry of the mirror."""
    n.a.mirror()[n.pa] += g


def frozen(key: Any) -> Any:
    """An index that later writes to its parts do not change."""
    if type(key) is tuple:
        for k in key:
            if type(k) is ndarray or type(k) is list:
                return tuple([frozen(k) for k in key])
        return key
    if type(key) is ndarray:
        return key.copy()
    return np.array(key) if type(key) is list else key


def read(x: Tensor, key: Any, s: Any) -> Any:
    """`x[key]`."""
    key = plain_key(key)
    v = x.v[key]
    kind = type(v)
    if kind is float64:
        note_memory(x)
        return entry(v, x.n, key if type(key) is int else frozen(key), s, x.t)
    if kind is ndarray and v.base is not None and (type(key) is slice or shares(v, x.v)):
        if not overlaps(x.v):
            n = x.n
            if type(n) is not View and n.like is None:
                note_memory(x)
            return tensor(v, view(n, take, (key,)), x.t, x.e)
        remember_spread(v, x.t)
    note_memory(x)
    g: Any = node("getitem", [], s, Gather)
    g.place, g.key = x.n, frozen(key)
    x.t.append(g)
    return tensor(v, g, x.t, x.e)  # a part of a broadcast array is memory of the caller still


def entry(v: Any, place: Any, key: Any, s: Any, t: Tape) -> Scalar:
    """The handle of one entry `v` of an array."""
    n = Scalar()
    n.v = v
    n.g = 0.0
    n.a = place
    n.pa = key
    n.b = None
    n.pb = "getitem"
    n.f = sweep_read
    n.s = s
    n.t = t
    t.append(n)
    return n


def read_plain(x: ndarray, key: Any, s: Any) -> Any:
    """`x[key]` of a plain array, which may hold recorded values."""
    t = ACTIVE[0]
    found = t.adopted.get(id(x)) if len(ACTIVE) == 1 else None
    if found is not None and found[1] is not None and is_entry(key):
        v = x[key]
        if type(v) is float64:
            return entry(v, found[1], key, s, t)
    y = lifted(x)
    return x[plain_key(key)] if y is x else read(y, key, s)


def is_entry(key: Any) -> bool:
    """Whether an index is made of integers only."""
    if type(key) is tuple:
        for k in key:
            if type(k) is not int:
                return False
        return True
    return type(key) is int


def take(m: Any, key: Any) -> Any:
    return m[key]


def remember_spread(v: ndarray, t: Tape) -> None:
    """A recorded array was broadcast without a copy: while `v` is in use, its memory must not change."""
    t.spread.setdefault(id(owner_of(v)), []).append(weakref.ref(v))


def plain_key(key: Any) -> Any:
    if type(key) is tuple:
        for k in key:
            if type(k) is not int and type(k) is not slice:
                return tuple([plain_key(k) for k in key])
        return key
    return key.v if isinstance(key, Ref) else key


def adopt(x: Any, t: Tape, s: Any) -> Tensor:
    """A recorded value is about to be stored into a plain array: from here on its memory is recorded."""
    if t.adopted or len(ACTIVE) != 1:
        found: Tensor = lifted(x)
        if found is not x:
            return found
    owner = owner_of(x)
    if x.dtype.kind in "iub":
        raise refuse(
            f"a recorded value is stored into an array of {x.dtype}, where it would lose its derivative",
            "Make the array a float array, or store int(value).",
            s,
        )
    if id(owner) in t.owners:
        raise shared_memory(s)
    if type(owner) is not ndarray or owner.dtype != x.dtype or x.dtype.kind != "f":
        raise refuse(
            f"a recorded value is stored into {short(x)} whose memory is shared with something that is not recorded",
            "Store into an array of its own, for instance a copy.",
            s,
        )
    t.quiet = True
    n = node("memory", [], s)
    n.like = (owner.shape, owner.dtype, owner.strides)
    t.adopted[id(owner)] = (owner, n)
    return tensor(x, n, t, True) if x is owner else lifted(x)


def protect(x: ndarray) -> None:
    """The memory of `x` is about to be written: recordings that saved it keep what it was."""
    for t in ACTIVE:
        t.protect(x)


def before_plain_write(x: ndarray, s: Any = None) -> None:
    """Memory that holds nothing recorded is about to be written."""
    owner = owner_of(x)
    for t in ACTIVE:
        t.protect(x)
        if id(owner) in t.owners:
            raise shared_memory(s)


def shared_memory(s: Any = None) -> RecordError:
    return refuse(
        "an array is written here that shares its memory with an argument",
        "Write through the argument, or write into a copy.",
        s,
    )


def before_write(x: Tensor, s: Any) -> None:
    """Everything that must hold before the memory of a recorded array changes."""
    v = x.v
    if not v.flags.writeable:
        raise ValueError("assignment destination is read-only")  # as NumPy says
    owner = v if v.base is None else owner_of(v)
    t = x.t
    if x.e and id(owner) not in t.adopted:
        if id(owner) in t.shared:
            raise refuse("two arguments share the memory that is written here", "Pass a copy of one of them.", s)
        if type(owner) is ndarray:  # other names of the memory are recorded from here on, or refused
            t.adopted[id(owner)] = (owner, x.n if x.v is owner else None)
    note_memory(x)
    if len(ACTIVE) != 1:
        protect(v)
    elif t.unseen or t.saves:
        t.protect(v)
    if t.spread and id(owner) in t.spread and any(view() is not None for view in t.spread[id(owner)]):
        raise refuse(
            "an array is written of which a broadcast view is in use: every entry it shows would change",
            "Broadcast a copy, or broadcast again after the write.",
            s,
        )


def put(v: Scalar, x: ndarray, n: Any, key: Any, t: Tape, s: Any) -> bool:
    """The common case of a write: a recorded number into an entry of an array that owns its memory and is recorded."""
    if not is_entry(key) or t.spread or len(ACTIVE) != 1 or type(x[key]) is not float64:
        return False
    if t.unseen:
        t.catch_up()
    if id(x) in t.saves:
        t.protect(x)
    x[key] = v.v
    stored(t, n, key, v, None, s)
    return True


def write(v: Any, x: Tensor, key: Any, s: Any) -> None:
    """`x[key] = v`."""
    key = plain_key(key)
    v = settle(v)
    if not (isinstance(v, Ref) and v.t is x.t):
        tape_of((v, x))
        before_write(x, s)
        x.v[key] = v
        stored(x.t, x.n, frozen(key), None, None, s)
        return
    region = x.v[key]
    w = v.v
    if type(w) is ndarray and type(region) is ndarray and same_memory(region, w):
        return  # A[i] += v stores the view it has just changed
    before_write(x, s)
    x.v[key] = w
    fit: Any = None
    if type(v) is Tensor:
        place: Any = v.n
        fit = (w.shape, w.dtype, False) if hasattr(w, "dtype") else ((), None, False)
    else:
        place = v
        if type(region) is not float64:
            fit = (None, None, False)
    stored(x.t, x.n, frozen(key), place, fit, s)


def same_memory(a: ndarray, b: ndarray) -> bool:
    return (
        a.shape == b.shape
        and a.strides == b.strides
        and a.base is not None
        and owner_of(a) is owner_of(b)
        and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    )


def into(op: Operation, call: Callable[[], Any], operands: Any, attributes: Any, x: Any, s: Any) -> None:
    """An operation whose result is written into the recorded array `x` (`a += b`, `out=`): `call` does it."""
    t = x.t
    result: Any = x.v
    if not result.flags.writeable:
        raise ValueError("output array is read-only")
    if any(-1 in rule.needs for rule in op.pulls):  # stands for the result until there is one
        result = np.broadcast_to(np.empty((), x.v.dtype), x.v.shape)
    edges = edges_of(op, result, operands, attributes, t)
    for edge in edges:
        t.note(edge[3])
    before_write(x, s)
    call()
    for edge in edges:
        saved = edge[3]
        for i, y in enumerate(saved):
            if y is result and result is not x.v:
                saved[i] = x.v
                if x.e:
                    t.exposed.append(saved)
    n = node(op.name, edges, s)
    t.append(n)
    t.unseen.append(n)
    stored(t, x.n, Ellipsis, n, None, s)
