"""The derivative of a graph as another graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import RecordError, an
from ..recording import refuse
from ..transforms import vjp
from .arguments import Fields
from .build import build
from .lower import restored
from .nodes import IGNORED, Graph, Link, Spec


def gradient(graph: Graph) -> Graph:
    """The graph of `(*arguments, cotangent) -> (value, gradient)`."""
    fn, count = graph.function(), len(graph.args)

    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, pull = vjp(fn, *args[:count], **kwargs)
        return value, pull(args[count])

    differentiated.__name__ = f"gradient_of_{graph.name}"
    names = [*graph.signature, "cotangent"]
    args = [like(graph, form, False) for form in graph.args]
    kwargs = {k: like(graph, form, False) for k, form in graph.kwargs.items()}
    try:
        return build(differentiated, (*args, like(graph, graph.result, True)), kwargs, lambda i: names[i])
    except RecordError:
        raise
    except Exception as error:  # of a rule, on stand-ins: the graph itself has been checked
        reason = f"the gradient of {graph.name} is no graph: a rule does not go without values ({error})"
        raise RecordError(reason, None, "Use graph.vjp.") from error


def like(graph: Graph, form: Any, cotangent: bool) -> Any:
    """What a form is built for; of a cotangent, anything where the value is data."""
    if type(form) is Link:
        n = graph.nodes[form.number]
        if n.type == "number":
            example: Any = {"float": 1.0}.get(n.dtype)
            if example is None and not (cotangent and n.data):
                raise refuse(f"the gradient of {an(n.dtype)} is no graph yet", "Use floats.")
        else:
            example = Spec(n.shape, np.dtype(n.dtype)) if n.type == "array" and n.shape else blank_of(n)
        return IGNORED if cotangent and n.data else example
    if type(form) is Fields:
        if cotangent:
            raise refuse("the gradient of a dataclass that is returned is no graph yet", "Return a tuple or a dict.")
        return restored(form.kind, {k: like(graph, e, cotangent) for k, e in form.fields.items()})
    if isinstance(form, (list, tuple)) and type(form) not in (list, tuple) and not hasattr(form, "_fields"):
        raise refuse(f"the gradient of {an(type(form).__name__)} is no graph yet", "Use a tuple or a dict.")
    if isinstance(form, dict):
        return {k: like(graph, e, cotangent) for k, e in form.items()}
    if isinstance(form, tuple) and hasattr(form, "_fields"):
        return type(form)(*[like(graph, e, cotangent) for e in form])
    if isinstance(form, (list, tuple)):
        return type(form)([like(graph, e, cotangent) for e in form])
    return IGNORED if cotangent else form


def blank_of(n: Any) -> Any:
    return np.zeros((), n.dtype) if n.type == "array" else np.dtype(n.dtype).type(1)
