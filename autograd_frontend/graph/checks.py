"""What must hold of a graph. A node that does not is named, with what was expected."""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GraphError, RecordError, an
from ..ops.block import OPERATIONS
from . import calls, results
from .arguments import fitting
from .builder import is_mask
from .nodes import NUMBERS, TYPES, Graph, Link, Node, Part, links, replaced
from .shapes import ONES, assignable, blank, described

ndarray = np.ndarray


def wrong(n: Node, reason: str) -> GraphError:
    return GraphError(f"node {n.number} ({n.kind}): {reason}", n.place, "This is no graph that can be run.")


def check(graph: Graph) -> None:
    """Raise GraphError unless every node is what it says, and refers to earlier nodes only."""
    stand_ins: list[Any] = []
    inputs = 0
    for i, n in enumerate(graph.nodes):
        if n.number != i:
            raise wrong(n, f"its number is {n.number}, expected {i}: nodes are numbered in their order")
        typed(n)
        for p in n.parents:
            if not isinstance(p, int) or isinstance(p, bool) or not 0 <= p < len(graph.nodes):
                raise wrong(n, f"its parent {p!r} does not exist, expected 0 to {i - 1}")
            if p >= i:
                raise wrong(n, f"its parent {p} is not an earlier node, expected less than {i}: no cycles")
            if graph.nodes[p].type == "none":
                raise wrong(n, f"its parent {p} has no value")
        if n.kind == "input":
            if inputs != i:
                raise wrong(n, "an input after another node, expected the inputs first")
            inputs += 1
        stand_ins.append(checked(n, stand_ins, graph))
        flagged(n, graph)
    arguments(graph, inputs)


def typed(n: Node) -> None:
    """The declared type, shape and dtype are possible."""
    if n.kind not in CHECKS:
        raise wrong(n, f"an unknown kind of node, expected one of {', '.join(CHECKS)}")
    if n.type not in TYPES:
        raise wrong(n, f"its type is {n.type!r}, expected one of {', '.join(TYPES)}")
    if not isinstance(n.shape, tuple) or not all(type(k) is int and k >= 0 for k in n.shape):
        raise wrong(n, f"its shape is {n.shape!r}, expected whole numbers from 0 up")
    if n.type in ("array", "scalar"):
        try:
            kind = np.dtype(n.dtype)
        except (TypeError, ValueError, SyntaxError):
            kind = np.dtype(object)
        if kind.kind not in "fciub" or str(kind) != n.dtype:
            raise wrong(n, f"its dtype is {n.dtype!r}, expected a number type of NumPy's")
    elif n.type == "number" and n.dtype not in NUMBERS:
        raise wrong(n, f"its dtype is {n.dtype!r}, expected one of {', '.join(NUMBERS)}")
    if n.type != "array" and n.type != "tuple" and n.shape:
        raise wrong(n, f"its shape is {n.shape}, expected () of a {n.type}")
    if type(n.args) is not tuple or type(n.kwargs) is not dict or not all(type(k) is str for k in n.kwargs):
        raise wrong(n, "its arguments are no tuple and dict")
    for part in parts_in((n.args, n.kwargs)):
        if type(part.link) is not Link or type(part.which) is not int:
            raise wrong(n, f"it has a part {part.which!r:.50}, expected the number of one")
    for k in n.kwargs:
        if not k.isidentifier() or keyword.iskeyword(k):
            raise wrong(n, f"{k!r} is no name of an argument")


def parts_in(form: Any) -> list[Part]:
    """The by-products that a form names."""
    if type(form) is Part:
        return [form]
    inside = form.values() if isinstance(form, dict) else form if isinstance(form, (list, tuple)) else ()
    return [part for e in inside for part in parts_in(e)]


def flagged(n: Node, graph: Graph) -> None:
    """What is differentiable cannot be made of data only, nor be of whole numbers."""
    if n.type in ("none", "tuple") or n.kind in ("memory", "view"):
        return
    whole = n.dtype in ("int", "bool") or (n.type in ("array", "scalar") and np.dtype(n.dtype).kind not in "fc")
    if not n.data and (whole or (n.kind in ("const", "detach", "rand_uniform", "bernoulli_mask"))):
        raise wrong(n, f"it is declared differentiable, but a {n.kind} of {n.dtype} is data")


def arguments(graph: Graph, inputs: int) -> None:
    """The arguments are made of the inputs, each once; the result of nodes."""
    for k in graph.kwargs:
        if type(k) is not str or not k.isidentifier() or keyword.iskeyword(k):
            raise GraphError(f"{k!r} is no name of an argument", None, "")
    if len(graph.signature) != len(graph.args):
        raise GraphError(f"there are {len(graph.signature)} names for {len(graph.args)} arguments", None, "")
    found = [x.number for form in (graph.args, graph.kwargs) for x in all_links(form)]
    if sorted(found) != list(range(inputs)):
        raise GraphError(f"the arguments name the nodes {found}, expected each of the {inputs} inputs once", None, "")
    for x in all_links(graph.result):
        if not isinstance(x.number, int) or not 0 <= x.number < len(graph.nodes):
            raise GraphError(f"the result names the node {x.number}, which does not exist", None, "")
        if graph.nodes[x.number].type == "none":
            raise GraphError(f"the result names the node {x.number}, which has no value", None, "")


def all_links(form: Any) -> list[Link]:
    from .lower import links_of

    return links_of(form)


def checked(n: Node, stand_ins: list[Any], graph: Graph) -> Any:
    """The stand-in of a node whose declaration is what its operation gives."""
    def of(form: Any) -> Any:
        return replaced(form, lambda link: stand_ins[link.number])

    try:
        args, kwargs = of(n.args), of(n.kwargs)
        with np.errstate(all="ignore"):
            v = CHECKS[n.kind](n, args, kwargs, graph)
        now = described(v)
    except GraphError:
        raise
    except RecordError as error:
        raise wrong(n, error.reason) from None
    except Exception as error:
        raise wrong(n, f"{n.operation or n.kind} does not take what it is given: {error}") from None
    if now != (n.type, n.shape, n.dtype):
        given = " ".join(map(str, now))
        raise wrong(n, f"declared {n.type} {n.shape} {n.dtype}, expected {given}")
    return v


def counted(n: Node, count: int) -> None:
    if len(n.parents) != count:
        raise wrong(n, f"it has {len(n.parents)} parents, expected {count}")


def bare(n: Node, args: int, *kwargs: str) -> None:
    if len(n.args) != args or not set(n.kwargs) <= set(kwargs):
        raise wrong(n, f"it has {len(n.args)} arguments and {sorted(n.kwargs)}, expected {args}")


def check_input(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 0)
    if n.type not in ("array", "scalar", "number") or (n.type != "array" and n.data):
        raise wrong(n, f"it is a {n.type}, expected a differentiable number, or an array")
    return blank(n.type, n.shape, n.dtype)


def check_const(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 0)
    if type(n.payload) is not ndarray:
        raise wrong(n, f"its payload is {an(type(n.payload).__name__)}, expected an array: there is none for this node")
    if n.payload.shape != n.shape:
        raise wrong(n, f"its payload has shape {n.payload.shape}, expected {n.shape}")
    if str(n.payload.dtype) != n.dtype:
        raise wrong(n, f"its payload is {n.payload.dtype}, expected {n.dtype}")
    return n.payload


def check_memory(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    if n.operation != "zeros":
        return check_const(n, args, kwargs, graph).copy("K")
    bare(n, 3)
    shape, dtype, order = args
    if order not in ("C", "F"):
        raise wrong(n, f"its order is {order!r}, expected 'C' or 'F'")
    return np.zeros(shape, dtype, order)


def check_view(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 5)
    counted(n, 1)
    memory, shape, dtype, offset, strides = args
    if graph.nodes[n.parents[0]].kind != "memory":
        raise wrong(n, "its parent is no memory")
    return ndarray(shape, dtype, memory.ravel("K"), offset, strides)


def check_detach(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 1)
    counted(n, 1)
    parent = graph.nodes[n.parents[0]]
    dtype = "float64" if parent.dtype == "float" else parent.dtype
    if n.shape != parent.shape or n.dtype != dtype:
        raise wrong(n, f"it is {n.dtype} of shape {n.shape}, expected {dtype} of shape {parent.shape}")
    return results.of_data_operation(OPERATIONS["detach"], args, kwargs)


def check_rand_uniform(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    counted(n, 0)
    named = {k: 0 if k == "shape" else x for k, x in kwargs.items()}
    OPERATIONS["rand_uniform"].function(*((0, *args[1:]) if args else ()), **named)
    return results.of_data_operation(OPERATIONS["rand_uniform"], args, kwargs)


def check_bernoulli_mask(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    counted(n, 1)
    if graph.nodes[n.parents[0]].shape:
        raise wrong(n, f"its parent has shape {graph.nodes[n.parents[0]].shape}, expected rank 0")
    short = [0 if i == 1 else x for i, x in enumerate(args)]
    OPERATIONS["bernoulli_mask"].function(*short, **{k: 0 if k == "shape" else x for k, x in kwargs.items()})
    return results.of_data_operation(OPERATIONS["bernoulli_mask"], args, kwargs)


def check_operator(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    if n.target not in calls.OPERATORS:
        raise wrong(n, f"an unknown operator {n.target!r}, expected one of {', '.join(calls.OPERATORS)}")
    bare(n, calls.OPERATORS[n.target].count("{}"))
    return results.of_operator(n.target, args)


def check_getitem(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 2)
    for k in args[1] if type(args[1]) is tuple else (args[1],):
        if is_mask(k) and next(links(n.args[1]), None) is not None:
            if not any(k is m.payload for m in graph.nodes):
                raise wrong(n, "a read through a mask, whose shape is not known, expected indices")
    return args[0][args[1]]


def check_setitem(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 3)
    writable(n, n.args[0], graph)
    key = args[1]
    if not any(is_mask(k) for k in (key if type(key) is tuple else (key,))):
        assignable(args[2], args[0][key])
    return None


def writable(n: Node, target: Any, graph: Graph) -> None:
    """What is written is an array that the graph made, or an input."""
    if type(target) is not Link or graph.nodes[target.number].type != "array":
        raise wrong(n, "it writes into something that is no array")
    if graph.nodes[target.number].kind == "const":
        raise wrong(n, f"it writes into the constant {target.number}, expected memory")


def check_inplace(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 2)
    if n.target not in calls.IN_PLACE:
        raise wrong(n, f"an unknown operator {n.target!r}, expected one of {', '.join(calls.IN_PLACE)}")
    writable(n, n.args[0], graph)
    return results.changed_in_place(n.target, args)


def check_call(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    if n.function is not None:  # the user's own
        return blank(n.type, n.shape, n.dtype)
    call = calls.callable_at(n.target)
    if call is None:
        raise wrong(n, f"an unknown operation {n.target!r}, expected one of the table of operations")
    if n.target.startswith("autograd_frontend.graph.helpers."):
        return results.helped(n.target, args, kwargs)
    return called(n, calls.PATHS.get(n.target), n.operation, call, args, kwargs, graph)


def check_method(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    op = calls.callables_of_method(n.target)
    known = op is not None or n.target in calls.DATA_METHODS or n.target in ("fill", "put")
    if not known or not args or not isinstance(args[0], (ndarray, np.generic, *ONES)):
        raise wrong(n, f"an unknown method {n.target!r}, expected one of the table of operations")
    from ..callables import method_call

    call = method_call(n.target) if op is not None else getattr(np, n.target, None)
    return called(n, op, n.target, call, args, kwargs, graph)


def called(n: Node, op: Any, name: str, call: Any, args: Any, kwargs: Any, graph: Graph) -> Any:
    if n.target.rpartition(".")[2] in calls.WRITERS or n.target in ("fill", "numpy.add.at", "numpy.subtract.at"):
        writable(n, n.args[0], graph)
        return None
    if "out" in n.kwargs:
        writable(n, n.kwargs["out"][0] if type(n.kwargs["out"]) is tuple else n.kwargs["out"], graph)
    if op is not None:
        return results.given_by(op, call, args, kwargs)
    return results.given_by_name(n.target, name, call, args, kwargs)


def check_attribute(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 1)
    if n.target not in ("T", "mT", "real", "imag"):
        raise wrong(n, f"an unknown attribute {n.target!r}, expected T, mT, real or imag")
    return getattr(args[0], n.target)


def check_bilinear(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 2)
    if not isinstance(n.payload, Graph) or len(n.payload.args) != 2 or n.payload.kwargs:
        raise wrong(n, "its payload is no graph of two arguments")
    n.payload.check()
    if type(n.payload.result) is not Link:
        raise wrong(n, "its payload gives more than one result")
    for form, x in zip(n.payload.args, args, strict=True):
        if type(form) is Link:
            fitting(n.payload.nodes[form.number], x, "an argument")
    last = n.payload.nodes[n.payload.result.number]
    return blank(last.type, last.shape, last.dtype)


def check_pullback(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 6)
    key, i, floats, fit, _, refs = args
    op = OPERATIONS.get(key) if type(key) is str else None
    if op is None or type(i) is not int or not 0 <= i < len(op.pulls):
        raise wrong(n, f"an unknown rule {key!r}, {i!r}, expected one of the table of operations")
    if type(floats) is not bool or type(refs) is not list or len(refs) != len(op.pulls[i].needs) + op.variadic:
        raise wrong(n, f"the rule of {key} needs {len(op.pulls[i].needs)} values")
    if not (fit is None or fit is True or (type(fit) is tuple and len(fit) == 3)):
        raise wrong(n, f"its fit is {fit!r}")
    return blank(n.type, n.shape, n.dtype)


def check_byproducts(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 3)
    key, operands, settings = args
    op = OPERATIONS.get(key) if type(key) is str else None
    if op is None or not op.keeps or type(operands) is not tuple or type(settings) is not dict:
        raise wrong(n, f"an unknown operation {key!r}, expected one that keeps something")
    if len(operands) != len(op.operands) or not all(type(k) is str and k.isidentifier() for k in settings):
        raise wrong(n, f"{key} has {len(op.operands)} operands")
    return (0,) * len(op.keeps)


def check_part(n: Node, args: Any, kwargs: Any, graph: Graph) -> Any:
    bare(n, 2)
    counted(n, 1)
    if graph.nodes[n.parents[0]].type != "tuple" or type(args[1]) is not int:
        raise wrong(n, "its parent has no parts")
    return args[0][args[1]]


CHECKS: dict[str, Callable[[Node, Any, Any, Graph], Any]] = {
    name[6:]: f for name, f in list(globals().items()) if name.startswith("check_")
}
