"""Recorded values, their nodes, and the tape that these are recorded on.

Two kinds of handle stand for values in a running program:

- `Scalar`: a Python float or a float64 scalar. It is its own tape node, so that scalar code makes one
  object per operation.
- `Tensor`: an array, or a number of another type (float32, Fraction, ...). Its cotangent lives in a `Node`.

Arrays have memory, and so do cotangents: the cotangent of an array that was written into or looked at
through a view is kept in a *mirror* with the same layout. A view of the array is the same view of the
mirror, a write hands over and clears the mirror's entries, a read adds to them. Reads and writes of one
entry therefore cost one entry, forward and backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import get_ident
from typing import Any

import numpy as np

from .arrays import ARRAYS, owner_of
from .cotangents import fitted, mirror_like, strong_zero
from .ops.plain import PLAIN

ndarray = np.ndarray
vdot, add = np.vdot, np.add


class Tape(list[Any]):
    """The nodes of one recording, in the order they were recorded."""

    __slots__ = (
        "live", "fast", "deep", "dual", "kept", "steps", "refused", "complex", "thread", "quiet", "texts",
        "saves", "unseen", "exposed", "ours", "adopted", "leaves", "owners", "shared", "spread", "library", "refusals",
    )  # fmt: skip
    graph: Any = None  # what the nodes of a graph are put into, while one is built (graph/build.py)
    kind: Any = None  # what its nodes are
    device: Any = None  # the session of another device that its arrays live on (remote.py)
    __eq__ = object.__eq__  # a tape is itself: `ACTIVE.remove(tape)` is one step, also between threads
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self) -> None:
        self.library: Any = None  # what makes arrays of the library of the arguments, if it is not NumPy
        self.refusals: tuple[Any, ...] = ()  # the function may catch one, and go on as the plain one would not
        self.live = True  # the recorded function is still running
        self.deep = 0  # derivatives are being taken inside it (nested.py), so many one in another
        self.dual = False  # tangents are carried (forward.py)
        self.kept = False  # it is swept more than once: a sweep leaves it as it was
        self.refused: Any = None  # what a conversion to plain numbers was refused with, which C code may swallow
        self.complex = False  # there are complex numbers on it
        self.fast = True  # live, not deep, and all numbers are real
        self.thread = get_ident()
        self.texts: set[str] | None = None  # what recorded values were shown as
        self.quiet = False  # NumPy takes part: the sweep silences its warnings
        self.saves: dict[int, Any] = {}  # owner of memory (id) -> saved operands that lie in it, or a lone Pair
        self.unseen: list[Any] = []  # nodes whose saved operands are not in `saves` yet
        self.exposed: list[Any] = []  # saved operands in memory that the caller can write into
        self.ours: dict[int, Any] = {}  # memory (by id) that operations made for their rules: nobody else sees it
        self.adopted: dict[int, tuple[ndarray, Any]] = {}  # plain arrays that hold recorded values
        self.leaves: list[Any] = []
        self.owners: set[int] = set()  # memory of the arguments
        self.shared: set[int] = set()  # memory that two arguments share
        self.spread: dict[int, list[Any]] = {}  # owner of memory (id) -> weak references to broadcast views of it

    def catch_up(self) -> None:
        """Note which memory the operands saved since the last time lie in. Only writes need to know."""
        saves = self.saves
        for n in self.unseen:
            if type(n) is Pair:
                for x in (n.x, n.y, n.v):
                    if type(x) is ndarray:
                        b = x.base
                        if b is None:
                            owner = id(x)
                        else:
                            owner = id(b if type(b) is ndarray and b.base is None else owner_of(b))
                        if owner not in saves:
                            saves[owner] = n  # most often the only one
                        else:
                            held(saves, owner).append(n)
            else:
                for edge in n.a if type(n) is Scalar else n.edges:
                    self.note(edge[3])
                if type(n) is Deep:
                    for refs in n.refs:
                        self.note(refs)
        self.unseen.clear()

    def has_complex(self) -> None:
        """From here on there are complex numbers: the general path looks which operations meet them."""
        self.complex, self.fast = True, False

    def note(self, saved: Any) -> None:
        saves = self.saves
        for x in saved:
            if type(x) in ARRAYS:
                held(saves, id(x if x.base is None else owner_of(x))).append(saved)
            elif type(x) is list:
                self.note(x)
            elif type(x) is Tensor and type(x.v) in ARRAYS:
                held(saves, id(owner_of(x.v))).append(saved)

    def protect(self, x: ndarray) -> None:
        """The memory of `x` is about to be written: what was saved from it is copied first, once."""
        if self.unseen:
            self.catch_up()
        if not self.saves:
            return
        owner = owner_of(x)
        every = self.saves.pop(id(owner), ())
        for saved in (every,) if type(every) is Pair else every:
            for y, put in saved_arrays(saved):
                if type(y) is Tensor:
                    if owner_of(y.v) is owner:
                        put(duplicate(y))
                elif owner_of(y) is owner:
                    put(y.copy("K"))

    def shield(self) -> None:
        """The caller is about to run: copy what was saved from memory within its reach (each array once)."""
        self.catch_up()
        copies: dict[int, tuple[ndarray, ndarray]] = {}
        for saved in self.exposed:
            for x, put in saved_arrays(saved):
                owner = 0 if type(x) is Tensor else id(owner_of(x))
                if owner in self.saves and owner not in self.ours:
                    if id(x) not in copies:
                        copies[id(x)] = (x, x.copy("K"))  # laid out alike: BLAS adds in the same order
                    put(copies[id(x)][1])
        self.exposed.clear()

    def finish(self) -> None:
        """The recorded function has returned: its memory is nobody's any more."""
        self.live = self.fast = False
        if self.quiet:  # arrays take part
            self.adopted.clear()
            self.saves.clear()
            self.ours.clear()
            self.unseen.clear()
            self.leaves.clear()
        self.__class__ = Over

    def release(self) -> None:
        if self.live:
            self.finish()
        if self.quiet:
            self.exposed.clear()
        self.clear()


class Inside(Tape):
    """Stands in the list of active tapes beside one that needs it: the fast paths leave the way to the general ones."""

    __slots__ = ()


class Over(Tape):
    """The tape of a function that has returned: what is still computed from its values is not recorded."""

    __slots__ = ()

    def append(self, n: Any) -> None:
        pass


def held(saves: dict[int, Any], owner: int) -> list[Any]:
    """The saved operands in the memory of `owner`, as a list."""
    found = saves.get(owner)
    if type(found) is not list:
        found = saves[owner] = [] if found is None else [found]
    return found


class Ref:
    """A recorded value. It shows itself as the value it stands for."""

    __slots__ = ()
    v: Any
    t: Tape
    __class__ = property(lambda self: self.v.__class__)  # isinstance sees the value's type


class Scalar(Ref):
    """A recorded float or float64, and its node.

    `v` value, `g` cotangent, `t` tape, `s` site. With `f` None the derivative is `pa` for operand `a` and `pb`
    for operand `b`; otherwise `f(self, g)` hands the cotangent on, and the other slots are its own.
    """

    __slots__ = ("v", "g", "a", "pa", "b", "pb", "f", "s", "t")
    g: Any
    a: Any
    pa: Any
    b: Any
    pb: Any
    f: Any
    s: Any


class Tensor(Ref):
    """A recorded array (or a number of another type). `n` holds its cotangent; `e`: the caller can see its memory."""

    __slots__ = ("v", "n", "t", "e")
    n: Any
    e: bool


def tensor(v: Any, n: Any, t: Tape, e: bool = False) -> Tensor:
    x = Tensor()
    x.v = v
    x.n = n
    x.t = t
    x.e = e
    return x


class Node:
    """An operation that made a `Tensor`.

    `g` cotangent, or None; `own` 0: somebody else may hold `g`, 1: ours, 2: ours and a mirror;
    `edges` a list of (input, rule, fit, saved operands); `like` (shape, dtype, strides) once memory matters.
    """

    __slots__ = ("g", "own", "edges", "s", "op", "like")

    g: Any
    own: int
    edges: Any
    s: Any
    op: Any
    like: Any

    def sweep(self) -> None:
        g = self.g
        if g is not None:
            self.g = None
            pass_on(self.edges, g)
        self.edges = None

    def hand_on(self, g: Any) -> None:
        """Hand a cotangent to the inputs."""
        pass_on(self.edges, g)

    def mirror(self) -> Any:
        """The cotangent as writable memory laid out as the value is."""
        if self.own != 2:
            m = mirror_like(*self.like)
            if self.g is not None:
                m[...] = self.g
            self.g, self.own = m, 2
        return self.g

    def silent(self) -> bool:
        """Nothing has arrived, so there is nothing to hand on or to clear."""
        return self.g is None

    def arrived(self) -> Any:
        """The cotangent, which is taken out: another one can arrive. For tapes that are kept."""
        g = self.g
        if self.own == 2:
            g = g.copy()
            self.g[...] = 0
        else:
            self.g, self.own = None, 0
        return g


Tape.kind = Node


def node(op: str, edges: list[Any], s: Any, kind: type[Node] = Node) -> Node:
    n = kind()
    n.g = None
    n.own = 0
    n.op = op
    n.edges = edges
    n.s = s
    n.like = None
    return n


def made(op: str, edges: list[Any], s: Any, t: Tape) -> Node:
    """A node of the kind that a tape has."""
    n = node(op, edges, s, t.kind)
    if t.device is not None:
        n.session = t.device  # type: ignore[attr-defined]
    return n


class Deep(Node):
    """An operation inside a derivative that is taken in the recorded function: `refs` are, for every edge, the saved
    operands as recorded values, so that its rule can be recorded; `floats` says that the rule is one of floats. It is
    swept as the other nodes of its tape are, which are of this `kind`."""

    __slots__ = ("refs", "floats", "kind", "session")
    refs: Any
    floats: bool
    kind: type[Node]
    session: Any

    def sweep(self) -> None:
        self.kind.sweep(self)
        self.refs = None

    def hand_on(self, g: Any) -> None:
        self.kind.hand_on(self, g)


def deep(op: str, edges: list[Any], s: Any, t: Tape) -> Any:
    n: Any = node(op, edges, s, Deep)
    n.refs, n.floats = [[] for _ in edges], False
    n.kind, n.session = t.kind, t.device
    return n


class Pair(Node):
    """An elementwise operation of one or two operands: places `a`, `b`, saved operands `x`, `y` and result `v`."""

    __slots__ = ("a", "b", "x", "y", "v", "fa", "fb")
    a: Any
    b: Any
    x: Any
    y: Any
    v: Any
    fa: Any
    fb: Any

    def sweep(self) -> None:
        g = self.g
        if g is not None:
            self.g = None
            self.op.back(self, g)
        self.a = self.b = self.x = self.y = self.v = None


def duplicate(x: Tensor) -> Any:
    """A recorded copy of a recorded array."""
    from .callables import of

    return of(np.copy)(x)


def saved_arrays(saved: Any) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """The arrays that a node saved (a list, or a Pair), each with what puts another one in its place."""
    if type(saved) is Pair:
        for name in ("x", "y", "v"):
            x = getattr(saved, name)
            if type(x) in ARRAYS:
                yield x, partial(setattr, saved, name)
    else:
        for i, x in enumerate(saved):
            if type(x) in ARRAYS or (type(x) is Tensor and type(x.v) in ARRAYS):
                yield x, partial(saved.__setitem__, i)
            elif type(x) is list:
                yield from saved_arrays(x)


def take(m: Any, key: Any) -> Any:
    return m[key]


class View:
    """The place of a view: `parent`'s mirror looked at in the same way. It is on no tape."""

    __slots__ = ("parent", "call", "args", "kwargs", "m")
    own = 0  # its mirror is the parent's

    parent: Any
    call: Callable[..., Any]
    args: Any
    kwargs: Any
    m: Any

    def mirror(self) -> Any:
        m: Any = self.m
        if m is None:
            n: Any = self.parent
            if self.call is take and type(n) is not View:  # by far the most common
                self.m = m = (n.g if n.own == 2 else n.mirror())[self.args[0]]
                return m
            chain = [self]  # no recursion: `x = x[1:]` in a loop makes a long one
            while type(n) is View and n.m is None:
                chain.append(n)
                n = n.parent
            m = n.m if type(n) is View else n.mirror()
            while chain:
                n = chain.pop()
                m = n.call(m, *n.args, **(n.kwargs or {}))
                if not m.flags.writeable:  # np.diagonal hands out a read-only view of memory that is ours
                    m.flags.writeable = True
                n.m = m
        return m

    def silent(self) -> bool:
        n = self.parent
        while type(n) is View:
            n = n.parent
        return bool(n.g is None)


def view(parent: Any, call: Callable[..., Any], args: Any, kwargs: Any = None) -> View:
    n = View()
    n.parent = parent
    n.call = call
    n.args = args
    n.kwargs = kwargs
    n.m = None
    return n


def add_to(place: Any, d: Any, own: bool = False) -> None:
    """Add a cotangent to what has arrived. In place only in arrays the sweep made; `own`: nobody else holds `d`."""
    kind = type(place)
    if kind is Scalar:
        place.g = place.g + d
    elif kind is View:
        m = place.mirror()
        add(m, d, m)
    else:
        g = place.g
        if g is None:
            place.g = d
            if own:
                place.own = 1
        elif place.own:
            add(g, d, g)
        else:
            place.g = g = g + d
            place.own = type(g) is ndarray


def is_fresh(d: Any, g: Any, saved: Any) -> bool:
    """Whether a rule has made the array `d`: it is not the cotangent, nothing that was saved, and no view."""
    if type(d) is not ndarray or d.base is not None or d is g:
        return False
    for x in saved:
        if x is d or type(x) is list:
            return False
    return True


def pass_on(edges: Any, g: Any) -> None:
    """Hand the cotangent `g` of an operation to its inputs by the operation's rules."""
    for place, rule, fit, saved in edges:
        d = rule(PLAIN, g, *saved)
        if fit is True:  # the operand has the shape and dtype of the result
            check = d.dot(d) if d.ndim == 1 else vdot(d, d)
            if check != check:
                d = strong_zero(d, g)
        elif fit is not None:
            d = fitted(d, g, fit)
        if type(d) is int and d == 0:  # a rule's exact zero: `0 / 2` on its way down would make a fraction a float
            continue
        add_to(place, d, is_fresh(d, g, saved))
