"""The operations, a file a family. Importing this registers them all."""

from . import arithmetic, linalg
