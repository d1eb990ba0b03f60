"""The typed graph: a recorded function as a straight-line program of typed nodes, built without computing anything.

`nodes` what a graph is made of, `build` running a program on stand-ins, `shapes` their types, `checks` what must hold,
`lower` one line of Python for every node, `text` and `source` what people read, `files` saving and loading.
"""

from .nodes import Graph, Node, Spec, spec

__all__ = ["Graph", "Node", "Spec", "spec"]
