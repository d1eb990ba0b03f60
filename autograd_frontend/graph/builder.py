"""What puts the operations of a program that runs on stand-ins into a graph, node by node."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import owner_of
from ..errors import RecordError, an
from ..general import NO_OUT
from ..ops.block import Like
from ..python import OUT_OF_METHODS, out_place
from ..recording import HERE, builder_of, lifted, line, refuse, settle, site, value
from ..rewrite import place_of
from ..tape import Ref, Scalar, Tape, Tensor, View, node, tensor
from . import calls, results
from .layouts import LAYOUT, VIEW, Layouts, root_of, within
from .nodes import Link, Node, Part
from .rules import REMEDY, Rules
from .shapes import assignable, axes_of, blank, described
from .steady import STATIC_SHAPES, Steady

ndarray = np.ndarray
LITERALS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), np.generic, np.dtype, Fraction, Decimal,
            range)  # fmt: skip
FRESH = "Write into an array made with np.zeros."


class Builder(Rules, Steady, Layouts):
    """The nodes of a graph in the making, and which of them the values of the program are."""

    def __init__(self, t: Tape) -> None:
        self.t = t
        self.nodes: list[Node] = []
        self.places: dict[int, tuple[Any, int]] = {}  # id of the place of a handle -> that place, the node
        self.constants: dict[int, list[tuple[ndarray, int]]] = {}  # id of an array -> it, the nodes that hold it
        self.looks: dict[Any, int] = {}  # views of memory that was plain
        self.inside = False  # the recording is doing what it does of its own
        self.refusals: list[RecordError] = []  # the function may have caught them: then it went on without the value
        self.unsure: dict[int, Any] = {}  # places whose memory may be that of another array, or not
        self.like: dict[int, Any] = {}  # arrays that lie in memory as an input does: np.zeros_like(x)
        self.seeded: list[Any] = []  # generators of random numbers that are the same at every run
        self.raising = np.geterr()  # what NumPy raises anyway

    # Nodes

    def add(
        self, kind: str, operation: str, target: str, args: Any, kwargs: Any, v: Any, data: bool | None = None,
        payload: Any = None, s: Any = None, function: Any = None,
    ) -> Node:  # fmt: skip
        """A new node with the value of the stand-in `v`."""
        type_, shape, dtype = described(v)
        if "raise" in (now := np.geterr()).values() and now != self.raising:
            raise refuse("np.errstate with 'raise' asks for values, which a graph does not have", "Leave it out.")
        n = Node(len(self.nodes), kind, operation, target, args, kwargs, type_, shape, dtype, False, payload, None)
        n.function = function
        n.data = self.is_data(n) if data is None else data
        n.place = self.place(s) if s else None
        self.nodes.append(n)
        return n

    def place(self, s: Any) -> Any:
        """The line of the user's, also of what a rule of this package does there."""
        place = place_of(s)
        return place_of(line()) if place.filename.startswith(HERE) else place

    def is_data(self, n: Node) -> bool:
        """Whether no derivative goes through a node."""
        if n.type in ("array", "scalar") and np.dtype(n.dtype).kind not in "fc":
            return True
        if n.type == "number" and n.dtype in ("int", "bool"):
            return True
        return all(self.nodes[i].data for i in n.parents)

    def value(self, v: Any, n: Node) -> Any:
        """What the program gets for the node with the stand-in `v`."""
        if n.type == "none":
            return None
        if n.type == "tuple":
            parts = [
                e if type(e) is bool else self.value(e, self.add("part", "part", "", (Link(n.number), i), {}, e))
                for i, e in enumerate(v)
            ]  # a setting that is handed on, as that of cho_factor, is what it is
            return type(v)(*parts) if hasattr(v, "_fields") else tuple(parts)
        self.t.quiet = True
        if self.t.deep and not n.data:
            raise refuse(f"{n.operation} is used in a function whose derivative is a graph", REMEDY)
        return self.named(tensor(v, node(n.operation, [], 0), self.t), n)

    def named(self, x: Any, n: Node) -> Any:
        """Say that the handle `x` is this node."""
        self.places[id(x.n)] = (x.n, n.number)
        return x

    def number(self, x: Any) -> int:
        """The node of a handle."""
        found = self.places.get(id(x.n))
        if found is not None:
            return found[1]
        place = x.n
        while type(place) is View:
            place = place.parent
        found = self.places.get(id(place))
        if found is None or self.nodes[found[1]].kind != "memory":
            raise refuse(f"{getattr(x.n, 'op', 'this')} cannot be part of a graph", "Write it with other operations.")
        return self.look(x.v, found[1])

    def plain(self, x: Any) -> bool:
        """Whether a handle is that of data."""
        return self.nodes[self.number(x)].data

    def look(self, v: ndarray, memory: int) -> int:
        """The node of a view of memory that was plain when the view was made."""
        owner = owner_of(v)
        offset = v.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        key = (memory, v.shape, str(v.dtype), offset, v.strides)
        if any(owner is x for x in self.like.values()) and not within(v, owner):
            raise refuse(LAYOUT, VIEW)
        if key not in self.looks:
            args = (Link(memory), v.shape, str(v.dtype), offset, v.strides)
            self.looks[key] = self.add("view", "view", "", args, {}, v, False).number
        return self.looks[key]

    # Forms

    def form(self, x: Any) -> Any:
        """An argument of a call as the graph keeps it."""
        kind = type(x)
        if kind is Tensor or kind is Scalar:
            if x.t is self.t:
                return Link(self.number(x))
            if x.t.live:
                raise refuse("a value of another recording is used while a graph is built", "Make it an argument.")
            x = x.v
            kind = type(x)
        if kind is ndarray:
            y = lifted(x)
            return Link(self.number(y)) if y is not x else Link(self.constant(x))
        if kind is slice:
            return slice(*[self.form(e) for e in (x.start, x.stop, x.step)])
        if kind is list or kind is tuple:
            return kind([self.form(e) for e in x])
        if kind is Like or kind is Part:
            return x
        if issubclass(kind, (list, tuple)):
            return tuple([self.form(e) for e in x]) if issubclass(kind, tuple) else [self.form(e) for e in x]
        if kind is dict:
            return {k: self.form(e) for k, e in x.items()}
        if isinstance(x, LITERALS) or isinstance(x, type):
            return x
        what = an(kind.__name__)
        raise refuse(f"{what} is an argument of an operation, which a graph cannot keep", "Use plain data.")

    def constant(self, x: ndarray) -> int:
        """The node of a plain array, which is copied as it is now."""
        if x.dtype.kind not in "fciub" or type(x) is not ndarray:
            raise refuse(f"{an(x.dtype)} array cannot be a constant of a graph", "Use numbers.")
        for _, number in self.constants.get(id(x), ()):
            held = self.nodes[number].payload
            if held.shape == x.shape and held.dtype == x.dtype and held.tobytes() == x.tobytes():
                return number
        held = x.copy(order="K")
        held.flags.writeable = False
        n = self.add("const", "const", "", (), {}, held, True, held)
        self.constants.setdefault(id(x), []).append((x, n.number))
        return n.number

    def memory(self, owner: ndarray, n: Any, s: Any) -> None:
        """Plain memory, about to hold recorded values: every run has its own, which begins as it is now."""
        if not owner.transpose(axes_of(owner)).flags.c_contiguous:
            raise refuse("an array is written whose entries do not lie side by side", FRESH, s)
        order = "C" if owner.flags.c_contiguous else "F" if owner.flags.f_contiguous else ""
        if order and not owner.any() and not (owner.dtype.kind in "fc" and np.signbit(owner.real).any()):
            made = self.add("memory", "zeros", "", (owner.shape, str(owner.dtype), order), {}, owner, False, None, s)
        else:
            held = owner.copy(order="K")
            made = self.add("memory", "memory", "", (), {}, owner, False, held, s)
        self.places[id(n)] = (n, made.number)

    # Operations

    def operation(self, op: Any, call: Any, args: Any, kwargs: Any, s: Any = None) -> Any:
        """A call that has a block."""
        target = calls.target_of(call)
        args, kwargs = with_out(args, kwargs, out_of(op, target))
        s = s or site()
        if kwargs.get("out") is not None and self.t.deep:
            return self.stored(op, args, kwargs, lambda rest: self.operation(op, call, args, rest, s), s)
        given, named = self.stand_in(args), self.stand_in(kwargs)
        if op.bind is not None and not op.data and self.shapes_only(op, args, kwargs):
            return self.laid_out(call(*given, **named))
        if target.kind == "operator" or (op.elementwise and op.bind is None):
            if kwargs.get("out") is None and kwargs.get("where", True) is not True:
                raise refuse(f"{op.name} with where= leaves entries unset", "Use np.where(mask, y, 0.0).", s)
            with np.errstate(all="ignore"):
                v = (results.of_operator(target.name, given) if target.kind == "operator"
                     else results.given_by(op, call, given, named))
        else:
            v = self.steady(op.name, lambda args, kwargs: results.given_by(op, call, args, kwargs), args, kwargs)
        if kwargs.get("out") is not None:
            return self.written(target, op.name, call, args, kwargs, s)
        if self.t.deep:
            from .derived import recorded

            return self.looked(op, args, recorded(self, op, call, args, kwargs, v, target, s))
        n = self.node(target, op.name, call, args, kwargs, v, s)
        n.data = n.data or op.data
        return self.looked(op, args, self.value(v, n))

    def shapes_only(self, op: Any, args: Any, kwargs: Any) -> bool:
        """Whether a call looks at shapes of what depends on an input only: `np.full_like(x, 0.5)`."""
        refusals = len(self.refusals)
        try:
            operands, attributes = op.bind(*args, **kwargs)
        except Exception:  # it is looked at again, with stand-ins
            del self.refusals[refusals:]
            return False
        return builder_of([*operands, *attributes.values()]) is None and kwargs.get("out") is None

    def node(self, target: Any, name: str, call: Any, args: Any, kwargs: Any, v: Any, s: Any) -> Node:
        kind = target.kind
        alone = name != "detach" or (len(args) == 1 and not isinstance(args[0], (list, tuple)))
        if kind == "call" and name in ("detach", "rand_uniform", "bernoulli_mask") and alone:
            kind = name
        function = call if kind == "call" and not target.name else None
        return self.add(kind, name, target.name, self.form(args), self.form(kwargs), v, None, None, s, function)

    def stored(self, op: Any, args: Any, kwargs: Any, made: Any, s: Any) -> Any:
        """A call with `out=` where the derivative is a graph: what it gives without, stored."""
        out = settle(kwargs["out"][0] if type(kwargs["out"]) is tuple else kwargs["out"])
        if kwargs.get("where", True) is not True:
            raise refuse("out= with where= is used in a function whose derivative is a graph", "Use np.where.", s)
        r = made({k: x for k, x in kwargs.items() if k != "out"})
        other = op is not None and not op.elementwise and str(value(out).dtype) != described(value(settle(r)))[2]
        if other:
            reason = "out= of another type is used in a function whose derivative is a graph"
            raise refuse(reason, "Write x[...] = y instead.", s)
        self.store(r, out, ..., s)
        return kwargs["out"][0] if type(kwargs["out"]) is tuple else kwargs["out"]

    def written(self, target: Any, name: str, call: Any, args: Any, kwargs: Any, s: Any) -> Any:
        """A call with `out=`."""
        out = kwargs["out"]
        first = out[0] if type(out) is tuple else out
        self.target_array(first, s)
        self.add(target.kind, name, target.name, self.form(args), self.form(kwargs), settle(first).v, None, None, s)
        return first

    def target_array(self, x: Any, s: Any) -> Any:
        """An array that is written: recorded from here on."""
        from ..stores import adopt

        y = settle(x)
        if y is x and type(x) is ndarray:
            y = adopt(x, self.t, s)
        if not isinstance(y, Tensor):
            raise refuse(f"{an(type(x).__name__)} is written in a graph", "Write into an array.", s)
        if id(root_of(y.n)) in self.unsure:
            raise refuse(LAYOUT, VIEW, s)
        n = self.nodes[self.number(y)]
        if n.data and np.dtype(n.dtype).kind in "fc":
            if self.t.deep:  # views of it have been followed as data
                raise refuse(f"the result of {n.operation} is written in a function whose derivative is a graph", FRESH)
            n.data = False
        return y

    def data(self, name: str, call: Any, args: Any, kwargs: Any, method: bool = False) -> Any:
        """A call whose result is plain data."""
        if not method and name in calls.OPERATORS and calls.target_of(call).kind == "operator":
            return self.data_operator(call, args)
        given, named = self.stand_in(args), self.stand_in(kwargs)
        if name in calls.STATIC:
            if self.whole((args[1:], kwargs)):
                raise refuse(f"a setting of {name} depends on an input: it decides about a shape", STATIC_SHAPES)
            return self.laid_out(call(*given, **named) if not method else getattr(given[0], name)(*given[1:], **named))
        f = getattr(np, name, call) if method else call
        args, kwargs = with_out(args, kwargs, OUT_OF_METHODS.get(name, NO_OUT) if method else out_place(call))
        s = site()
        if kwargs.get("out") is not None and self.t.deep:
            return self.stored(None, args, kwargs, lambda rest: self.data(name, call, args, rest, method), s)
        v = self.steady(name, lambda args, kwargs: results.given_by_data(name, f, args, kwargs), args, kwargs)
        target = calls.Target("method", name, None) if method else calls.target_of(call)
        if kwargs.get("out") is not None:
            return self.written(target, name, call, args, kwargs, s)
        n = self.node(target, name, call, args, kwargs, v, s)
        n.data = True
        return self.value(v, n)

    def data_operator(self, call: Any, args: Any, s: Any = None) -> Any:
        """A comparison, `//`, `&`: no derivative."""
        target = calls.target_of(call)
        v = results.of_operator(target.name, self.stand_in(args))
        n = self.node(target, call.__name__.strip("_"), call, args, {}, v, s or site())
        n.data = True
        return self.value(v, n)

    def numbers(self, call: Any, args: Any, v: Any, made: Any = None) -> Any:
        """A builtin of numbers (`sum`, `float`); `made` records it, where a derivative is taken inside."""
        n = self.node(calls.target_of(call), call.__name__, call, args, {}, v, site())
        return self.named(made(), n) if made and self.t.deep else self.value(v, n)

    def primitive(self, p: Any, given: Any, args: Any, kwargs: Any) -> Any:
        """A call of a `primitive`: by its own shape rule."""
        from ..primitive_rules import shape_of

        shape, dtype = shape_of(p, [results.like_in(self.stand_in(x)) for x in given], kwargs_of(p, kwargs))
        v = blank("array" if shape else "scalar", tuple(shape), dtype) if dtype is not None else 1.0
        s = site()
        n = self.add("call", p.name, "", self.form(args), self.form(kwargs), v, None, None, s, p)
        return self.value(v, n)

    # Memory

    def read(self, x: Any, key: Any, s: Any) -> Any:
        """`x[key]`."""
        plain = self.index(key)
        v = settle_value(x)[plain]
        if self.t.deep:
            from .derived import read

            return read(self, x, key, plain, s)
        return self.value(v, self.add("getitem", "getitem", "", (self.form(x), self.form(key)), {}, v, None, None, s))

    def index(self, key: Any) -> Any:
        """A key with stand-ins in place of data; refused where the shape of the result depends on it."""
        for k in key if type(key) is tuple else (key,):
            k = settle(k) if type(k) is ndarray else k
            if isinstance(k, Ref) and is_mask(k.v):
                raise refuse(
                    "an array is read through a mask that depends on an input: how many entries there are is not known",
                    "Write np.where(mask, x, 0.0), or multiply by the mask.",
                )
        return self.stand_in(key)

    def store(self, v: Any, x: Any, key: Any, s: Any) -> None:
        """`x[key] = v`."""
        x = self.target_array(x, s)
        form, plain = self.form(key), self.stand_in(key)
        v = settle(v)
        masked = any(is_mask(k) for k in (plain if type(plain) is tuple else (plain,)))
        if not masked:
            assignable(self.stand_in(v), x.v[plain])
        if self.t.deep:
            from .derived import store

            store(self, v, x, key, plain, s)
        self.add("setitem", "setitem", "", (Link(self.number(x)), form, self.form(v)), {}, None, False, None, s)

    def inplace(self, op: Any, call: Any, x: Any, b: Any, s: Any) -> None:
        """`x op= b`."""
        results.changed_in_place(call.__name__, (x.v, self.stand_in(b)))
        self.target_array(x, s)
        if self.t.deep:
            from .derived import inplace

            inplace(self, op, call, x, b, s)
        args = (Link(self.number(x)), self.form(b))
        self.add("inplace", call.__name__, call.__name__, args, {}, x.v, None, None, s)

    def writing(self, f: Any, args: Any, kwargs: Any, noted: bool = False) -> None:
        """A function that writes into its first argument; `noted`: for a derivative it has been recorded."""
        s = site()
        if self.t.deep and not noted and len(args) == 2 and not kwargs and f.__name__ in ("copyto", "fill"):
            self.store(args[1], args[0], ..., s)
            return
        if self.t.deep and not noted:
            raise refuse(f"{f.__name__} is used in a function whose derivative is a graph", "Write x[i] = v instead.")
        x = args[0] if args else next(iter(kwargs.values()))
        self.target_array(x, s)
        method = getattr(ndarray, f.__name__, None) is f
        target = calls.Target("method", f.__name__, None) if method else calls.target_of(f)
        self.add(target.kind, f.__name__, target.name, self.form(args), self.form(kwargs), None, False, None, s)

    def stand_in(self, x: Any) -> Any:
        """`x` with stand-ins in place of recorded values."""
        kind = type(x)
        if kind is Tensor or kind is Scalar:
            return x.v
        if kind is list or kind is tuple:
            return kind([self.stand_in(e) for e in x])
        if kind is dict:
            return {k: self.stand_in(e) for k, e in x.items()}
        return x

    def refused(self, what: str, remedy: str) -> RecordError:
        """What needs a value that a graph does not have."""
        return refuse(f"{what} needs the value of something that depends on an input; a graph has none", remedy)

    def left(self) -> RecordError:
        return refuse("a value is left outside of the function while a graph is built", "Return it instead.")


def kwargs_of(p: Any, kwargs: Any) -> dict[str, Any]:
    """The keyword-only arguments of a call of a primitive."""
    return {k: x for k, x in kwargs.items() if k in p.arguments.keywords or k not in p.arguments.names}


def out_of(op: Any, target: Any) -> int:
    """The position of the argument `out` of a call."""
    if target.kind == "operator" or op.data:
        return NO_OUT
    if op.elementwise and op.bind is None:
        return len(op.operands)
    names = op.bind.__code__.co_varnames[: op.bind.__code__.co_argcount]
    return names.index("out") if "out" in names else NO_OUT


def with_out(args: Any, kwargs: Any, at: int) -> tuple[Any, Any]:
    """The arguments of a call with `out` by its name."""
    return (args, kwargs) if len(args) <= at else ((*args[:at], *args[at + 1 :]), {**kwargs, "out": args[at]})


def is_mask(x: Any) -> bool:
    """Whether an index chooses entries by truth."""
    return getattr(x, "dtype", None) == np.dtype(bool)


def settle_value(x: Any) -> Any:
    x = settle(x)
    return x.v if isinstance(x, Ref) else x
