"""The operations, a file a family. Importing this registers them all."""

from . import arithmetic, contraction, creation, elementwise, extremes, linalg, reductions, selection, special
