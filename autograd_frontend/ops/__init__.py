"""The operations, a file a family. Importing this registers them all."""

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
