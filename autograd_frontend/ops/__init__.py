"""The operations, a file a family. Importing this registers them all, and gives those of the interface by name:
`ops.gelu(x)` evaluates on plain arrays, and is recorded inside a recorded function."""

from . import (
    arithmetic,
    contraction,
    creation,
    curves,
    elementwise,
    extremes,
    joining,
    linalg,
    moving,
    norms,
    reductions,
    scans,
    selection,
    shapes,
    solving,
    sorting,
    special,
    statistics,
    trigonometry,
    ufuncs,
)  # fmt: skip
from .activations import gelu, relu
from .data import const, detach
from .normalization import layer_norm
