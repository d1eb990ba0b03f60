"""The last step of a rewrite: attributes, `with` blocks and the inner parts of targets, which the text of a program
leaves as they are, ask `ops`.

An attribute may be a property of the user's, a context manager has methods, and what is unpacked may be an array that
holds recorded values: all that has to be recorded too.
"""

from __future__ import annotations

import ast
import types
from typing import Any

COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}


class Reach(ast.NodeTransformer):
    """`a.b` becomes `ops.attribute(a, "b")`, `a.b = v` becomes `ops.assign(v, a, "b")`, `with a` `with ops.manager(a)`;
    what is unpacked into a target within a target passes through `ops.unfold` or, in a loop, `ops.unfolded`.

    ops: the name of the program's first parameter. modules: names that are modules, whose attributes are plain.
    """

    def __init__(self, ops: str, modules: set[str]) -> None:
        self.ops, self.modules = ops, modules

    def call(self, name: str, args: list[Any], at: Any) -> ast.Call:
        func = ast.Attribute(ast.Name(self.ops, ast.Load()), name, ast.Load())
        for part in (func, func.value):  # of no width: the carets of a traceback belong to the call
            part.lineno = part.end_lineno = at.lineno
            part.col_offset = part.end_col_offset = at.col_offset
        return ast.copy_location(ast.Call(func, args, []), at)

    def plain(self, node: ast.Attribute) -> bool:
        """Whether the attribute is read as it is: of a module, of `ops`, with a name that classes mangle."""
        owner = node.value
        if node.attr.startswith("__"):
            return True
        return isinstance(owner, ast.Name) and (owner.id in self.modules or owner.id == self.ops)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load) or self.plain(node):
            return node
        name = ast.copy_location(ast.Constant(node.attr), node)
        return self.call("attribute", [node.value, name], node)

    def visit_Call(self, node: ast.Call) -> Any:
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == self.ops:
            if func.attr == "of" and isinstance(node.args[0], ast.Attribute):  # a method, about to be called
                node.args[0].value = self.visit(node.args[0].value)
                return node
            if func.attr == "truth" and self.compares(node.args[0]):  # which gives a bool, or what Python asks itself
                return self.visit(node.args[0])
        self.generic_visit(node)
        return node

    def compares(self, node: ast.expr) -> bool:
        func = node.func if isinstance(node, ast.Call) else None
        return isinstance(func, ast.Attribute) and func.attr in COMPARISONS and self.plain_ops(func.value)

    def plain_ops(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.ops

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        nested = [s for s in map(shape, node.targets) if s and any(part not in (None, ...) for part in s)]
        if nested:
            self.generic_visit(node)
            node.value = self.call("unfold", [node.value, self.constant(nested[0], node.value)], node.value)
            return node
        if len(node.targets) > 1 or not isinstance(target, ast.Attribute) or target.attr.startswith("__"):
            self.generic_visit(node)
            return node
        name = ast.copy_location(ast.Constant(target.attr), target)
        call = self.call("assign", [self.visit(node.value), self.visit(target.value), name], target)
        return ast.copy_location(ast.Expr(call), node)

    def visit_withitem(self, node: ast.withitem) -> Any:
        self.generic_visit(node)
        args: list[Any] = [node.context_expr]
        inner = shape(node.optional_vars)
        if inner:
            args.append(self.constant(inner, node.context_expr))
        node.context_expr = self.call("manager", args, node.context_expr)
        return node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        self.items(node)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        self.items(node)
        return node

    def items(self, node: Any) -> None:
        inner = shape(node.target)
        if inner:
            node.iter = self.call("unfolded", [node.iter, self.constant(inner, node.iter)], node.iter)

    def constant(self, value: Any, at: Any) -> Any:
        return ast.copy_location(ast.Constant(value), at)

    def visit_match_case(self, node: ast.match_case) -> Any:
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = [self.visit(part) for part in node.body]
        return node


def shape(target: Any) -> Any:
    """The form of a target: None for one that is bound, else a tuple of the forms of its parts. A star is `...`, and
    `("*", form)` where it is taken apart again."""
    if isinstance(target, ast.Starred):
        inner = shape(target.value)
        return ("*", inner) if inner else ...
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    return tuple([shape(part) for part in target.elts])


def reach(tree: Any, ops: str, fn: types.FunctionType, local: set[str]) -> Any:
    """The tree of a program with the last step done (in place)."""
    modules = {name for name, x in fn.__globals__.items() if isinstance(x, types.ModuleType)} - local
    transformer = Reach(ops, modules)
    if isinstance(tree, ast.Lambda):
        tree.body = transformer.visit(tree.body)
    else:
        tree.body = [transformer.visit(part) for part in tree.body]
    return tree
