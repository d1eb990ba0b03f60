"""Derivatives of ordinary Python and NumPy functions. See `record`."""

from .checking import check_grads
from .errors import DeviceUnavailable, GraphError, RecordError, RecordingClosed
from .graph import Graph, spec
from .jacobians import hessian, hvp, jacfwd, jacrev, jvp
from .primitives import primitive
from .trace import Recorded, Result, record
from .transforms import grad, value_and_grad, vjp

__all__ = [
    "DeviceUnavailable",
    "Graph",
    "GraphError",
    "RecordError",
    "Recorded",
    "RecordingClosed",
    "Result",
    "check_grads",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "primitive",
    "record",
    "spec",
    "value_and_grad",
    "vjp",
]
