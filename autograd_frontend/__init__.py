"""Derivatives of ordinary Python and NumPy functions. See `record`."""

from .checking import check_grads
from .errors import DeviceUnavailable, RecordError, RecordingClosed
from .jacobians import hessian, hvp, jacfwd, jacrev, jvp
from .primitives import primitive
from .trace import Recorded, Result, record
from .transforms import grad, value_and_grad, vjp

__all__ = [
    "DeviceUnavailable",
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
    "value_and_grad",
    "vjp",
]
