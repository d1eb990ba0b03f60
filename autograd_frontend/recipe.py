"""Reads a program back, side by side with the function it was made from.

Every Ops call must stand where the syntax it came from stands in the function, and everything else must be equal;
the two trees are walked together, so nothing can be lost, doubled or moved unseen. On the way each node of the program
takes the position of the node it came from: the compiled program shows the user's file, lines and columns.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from .reading import (
    ASYNC,
    BINARY,
    COMPARE,
    GLOBAL,
    IN_ANNOTATED,
    IN_COMPREHENSION,
    IN_ITERABLE,
    IN_WITH,
    INPLACE,
    LOCALS,
    UNARY,
    Walk,
    locate,
    signed,
    stores,
)


class Reader(Walk):
    """The rules: what each construct of the function must be in the program."""

    # Expressions

    def binary(self, old: ast.BinOp, new: Any) -> None:
        left, right = self.op(new, BINARY[type(old.op)], old, 2)
        self.node(old.left, left)
        self.node(old.right, right)

    def unary(self, old: ast.UnaryOp, new: Any) -> None:
        if isinstance(old.op, ast.Not) or signed(old):
            self.fields(old, new)
            return
        (operand,) = self.op(new, UNARY[type(old.op)], old, 1)
        self.node(old.operand, operand)

    def compare(self, old: ast.Compare, new: Any, test: bool = False) -> None:
        tests = [new]
        if len(old.ops) > 1:
            if not isinstance(new, ast.BoolOp) or not isinstance(new.op, ast.And) or len(new.values) != len(old.ops):
                self.differ(old)
            locate(new, old)
            tests = new.values
        left: Callable[[Any], None] = lambda new: self.node(old.left, new)  # noqa: E731
        for number, (op, operand, part) in enumerate(zip(old.ops, old.comparators, tests, strict=True)):
            a, b = self.comparison(old, op, part, test)
            left(a)
            if number == len(tests) - 1:
                self.node(operand, b)
            else:
                left = self.middle(operand, b)

    def comparison(self, old: ast.Compare, op: ast.cmpop, new: Any, test: bool) -> tuple[Any, Any]:
        name = COMPARE.get(type(op))
        if name is not None:
            if test:
                (new,) = self.op(new, "truth", old, 1)
            left, right = self.op(new, name, old, 2)
            return left, right
        if not isinstance(new, ast.Compare) or len(new.ops) != 1 or type(new.ops[0]) is not type(op):
            self.differ(old)
        locate(new, old)
        return new.left, new.comparators[0]

    def middle(self, old: Any, new: Any) -> Callable[[Any], None]:
        """A middle operand of a chain: a name or literal read twice, or evaluated once into a temporary."""
        if isinstance(old, (ast.Name, ast.Constant)) or signed(old):
            self.node(old, new)
            return lambda new: self.node(old, new)
        if self.in_iterable:
            self.refuse(IN_ITERABLE, old)
        if not isinstance(new, ast.NamedExpr):
            self.differ(old)
        locate(new, old)
        name = self.temporary(new.target, old)
        self.node(old, new.value)
        return lambda new: self.again(new, name, old)

    def test(self, old: Any, new: Any) -> None:
        if isinstance(old, ast.BoolOp) or (isinstance(old, ast.UnaryOp) and isinstance(old.op, ast.Not)):
            self.fields(old, new, Reader.test)
        elif isinstance(old, ast.Compare) and (len(old.ops) > 1 or type(old.ops[0]) in COMPARE):
            self.compare(old, new, test=True)
        elif isinstance(old, (ast.Compare, ast.Constant)) or signed(old):
            self.node(old, new)
        else:
            self.node(old, *self.op(new, "truth", old, 1))

    def iterable(self, old: Any, new: Any) -> None:
        self.node(old, *self.op(new, "iter", old, 1))

    def call(self, old: ast.Call, new: Any) -> None:
        if not isinstance(new, ast.Call):
            self.differ(old)
        if isinstance(old.func, ast.Name) and not old.args and not old.keywords:
            if old.func.id in ("locals", "vars", "dir"):
                self.refuse(LOCALS, old)
            if old.func.id == "super":
                self.super(old, new)
                return
        (func,) = self.op(new.func, "of", old, 1)
        new.func, call = func, new.func
        self.fields(old, new)
        new.func = call

    def super(self, old: ast.Call, new: ast.Call) -> None:
        names = [arg.id for arg in new.args if isinstance(arg, ast.Name)]
        if names and names != ["__class__", self.first]:
            self.differ(old)
        for arg in new.args:
            locate(arg, old)
        args, new.args = new.args, []
        self.fields(old, new)
        new.args = args

    def subscript(self, old: ast.Subscript, new: Any) -> None:
        if not isinstance(old.ctx, ast.Load):
            self.fields(old, new)
            return
        value, key = self.op(new, "getitem", old, 2)
        self.node(old.value, value)
        self.key(old.slice, key)

    def key(self, old: Any, new: Any) -> None:
        if isinstance(new, ast.Subscript) and self.is_ops(new.value, "index", old):
            locate(new, old)
            new = new.slice
        self.node(old, new)

    def starred(self, old: ast.Starred, new: Any) -> None:
        self.fields(old, new, Reader.iterable if isinstance(old.ctx, ast.Load) else Reader.node)

    def joined(self, old: ast.JoinedStr, new: Any) -> None:
        # {a + b=} is left alone; in the tree it is the text "a + b=" and then the value
        if not isinstance(new, ast.JoinedStr) or len(old.values) != len(new.values):
            self.differ(old)
        locate(new, old)
        before: Any = None
        for a, b in zip(old.values, new.values, strict=True):
            shown = isinstance(before, ast.Constant) and str(before.value).rstrip().endswith("=")
            each = Reader.native if shown and ast.dump(a) == ast.dump(b) else Reader.node
            each(self, a, b)
            before = a

    def named(self, old: ast.NamedExpr, new: Any) -> None:
        self.bind(old.target, old.value)
        self.fields(old, new)

    def name(self, old: ast.Name, new: Any) -> None:
        if self.globals and old.id in self.globals and isinstance(old.ctx, ast.Store):
            self.refuse(GLOBAL, old)
        self.fields(old, new)

    def comprehension(self, old: ast.comprehension, new: Any) -> None:
        if old.is_async:
            self.refuse(ASYNC, old.target)
        if stores(old.target):
            self.refuse(IN_COMPREHENSION, old.target)
        self.node(old.target, new.target)
        self.in_iterable += 1
        self.iterable(old.iter, new.iter)
        self.in_iterable -= 1
        self.field(old.target, old.ifs, new.ifs, Reader.test)

    # Scopes

    def scope(self, old: Any, new: Any) -> None:
        outer = self.function, self.in_class, self.globals
        self.function, self.in_class = getattr(old, "name", "<lambda>"), isinstance(old, ast.ClassDef)
        self.globals = set()
        self.fields(old, new)
        self.function, self.in_class, self.globals = outer

    def declared(self, old: ast.Global, new: Any) -> None:
        self.globals |= set(old.names)
        self.fields(old, new)

    def coroutine(self, old: Any, new: Any) -> None:
        self.refuse(ASYNC, old)

    # Stores

    def loop(self, old: ast.For, new: Any) -> None:
        if not stores(old.target):
            self.fields(old, new)
            return
        if not isinstance(new, ast.For):
            self.differ(old)
        locate(new, old)
        self.iterable(old.iter, new.iter)
        self.body(old.body, new.body, self.pattern(old.target, new.target, new.body))
        self.field(old, old.orelse, new.orelse, Reader.node)

    def block(self, old: ast.With, new: Any) -> None:
        targets = [item.optional_vars for item in old.items]
        for target in targets[:-1]:
            if stores(target):
                self.refuse(IN_WITH, target)
        if not stores(targets[-1]):
            self.fields(old, new)
            return
        if not isinstance(new, ast.With) or len(old.items) != len(new.items) or new.items[-1].optional_vars is None:
            self.differ(old)
        locate(new, old)
        for a, b in zip(old.items[:-1], new.items[:-1], strict=True):
            self.node(a, b)
        self.node(old.items[-1].context_expr, new.items[-1].context_expr)
        self.body(old.body, new.body, self.pattern(targets[-1], new.items[-1].optional_vars, new.body))

    def pattern(self, old: Any, new: Any, following: Any) -> Iterator[ast.stmt]:
        """A target, of which temporaries hold a part, and the statements that store those; what follows is left."""
        rest: Iterator[ast.stmt] = iter(following)
        if isinstance(old, ast.Subscript):
            self.deliver(old, self.temporary(new, old), rest, old)
            return rest
        if type(old) is not type(new) or len(old.elts) != len(new.elts):
            self.differ(old)
        locate(new, old)
        pending: list[tuple[Any, str]] = []
        for a, b in zip(old.elts, new.elts, strict=True):
            if not pending and not stores(a):
                self.node(a, b)
                continue
            if isinstance(a, ast.Starred):
                locate(b, a)
                a, b = a.value, getattr(b, "value", None)
            pending.append((a, self.temporary(b, a)))
        for inner, name in pending:
            self.deliver(inner, name, rest, inner)
        return rest

    def deliver(self, old: Any, held: str, rest: Iterator[Any], at: Any) -> None:
        """The next statement binds the target `old` to the temporary `held`."""
        new = self.next(at, rest)
        locate(new, at)
        if isinstance(old, ast.Subscript):
            self.again(self.store(old, new), held, old)
            return
        if not isinstance(new, ast.Assign) or len(new.targets) != 1:
            self.differ(at)
        if not isinstance(old, (ast.Tuple, ast.List)):
            self.again(new.value, held, old)
            self.node(old, new.targets[0])
            return
        (source,) = self.op(new.value, "iter", old, 1)
        self.again(source, held, old)
        self.unpack(old, new.targets[0], rest)

    def unpack(self, old: Any, new: Any, rest: Iterator[Any]) -> None:
        if stores(old):
            self.pattern(old, new, rest)
        else:
            self.node(old, new)

    def store(self, target: ast.Subscript, new: Any) -> Any:
        """Reads `ops.store(value, container, key)` and gives the value, still to be read by the caller."""
        if not isinstance(new, ast.Expr):
            self.differ(target)
        self.bind(target, target)
        value, container, key = self.op(new.value, "store", target, 3)
        self.node(target.value, container)
        self.key(target.slice, key)
        return value

    def assign(self, old: ast.Assign, rest: Iterator[Any]) -> None:
        new = self.next(old, rest)
        locate(new, old)
        self.bind_all(old)
        target, display = old.targets[0], isinstance(old.value, (ast.Tuple, ast.List))
        unpacked = any(isinstance(one, (ast.Tuple, ast.List)) for one in old.targets)
        if isinstance(target, ast.Subscript) and len(old.targets) == 1:
            self.node(old.value, self.store(target, new))
            return
        if not isinstance(new, ast.Assign):
            self.differ(old)
        each = Reader.iterable if unpacked and not display else Reader.node
        if len(old.targets) == 1:
            each(self, old.value, new.value)
            self.unpack(target, new.targets[0], rest)
        elif not any(map(stores, old.targets)) and (display or not unpacked):
            self.fields(old, new)
        else:
            self.node(old.value, new.value)
            held = self.temporary(new.targets[0], old.value)
            for one in old.targets:
                self.deliver(one, held, rest, old)

    def augmented(self, old: ast.AugAssign, rest: Iterator[Any]) -> None:
        new, target = self.next(old, rest), old.target
        self.bind(target, old)
        locate(new, old)
        if isinstance(target, ast.Subscript):
            self.augmented_entry(old, target, new, rest)
            return
        held = None
        if isinstance(target, ast.Attribute) and isinstance(new, ast.Assign) and isinstance(new.targets[0], ast.Name):
            held = self.temporary(new.targets[0], target.value)
            self.node(target.value, new.value)
            new = self.next(old, rest)
            locate(new, old)
        if not isinstance(new, ast.Assign) or len(new.targets) != 1:
            self.differ(old)
        current, operand = self.op(new.value, INPLACE[type(old.op)], old, 2)
        self.place(target, new.targets[0], held)
        self.place(target, current, held)
        self.node(old.value, operand)

    def place(self, old: Any, new: Any, held: str | None) -> None:
        """A name or attribute that the program reads and then binds."""
        if type(old) is not type(new):
            self.differ(old)
        locate(new, old)
        if isinstance(old, ast.Name):
            self.name(old, ast.copy_location(ast.Name(new.id, ast.Store()), old))
            return
        self.same(old, old.attr, new.attr)
        if held is None:
            self.node(old.value, new.value)
        else:
            self.again(new.value, held, old.value)

    def augmented_entry(self, old: ast.AugAssign, target: ast.Subscript, new: Any, rest: Iterator[Any]) -> None:
        held: list[str] = []
        if isinstance(new, ast.Assign):
            held.append(self.temporary(new.targets[0], target.value))
            self.node(target.value, new.value)
            new = self.next(old, rest)
            held.append(self.temporary(new.targets[0], target.slice))
            self.key(target.slice, new.value)
            locate(new, old)
            new = self.next(old, rest)
        if not isinstance(new, ast.Expr):
            self.differ(old)
        locate(new, old)
        self.bind(target, target)
        value, *written = self.op(new.value, "store", target, 3)
        current, operand = self.op(value, INPLACE[type(old.op)], old, 2)
        for container, key in (self.op(current, "getitem", target, 2), written):
            if held:
                self.again(container, held[0], target.value)
                self.again(key, held[1], target.slice)
            else:
                self.node(target.value, container)
                self.key(target.slice, key)
        self.node(old.value, operand)

    def annotated(self, old: ast.AnnAssign, new: Any) -> None:
        if old.value is not None:
            if stores(old.target):
                self.refuse(IN_ANNOTATED, old)
            self.bind(old.target, old.value)
        self.fields(old, new)


Reader.rules = {
    ast.BinOp: Reader.binary, ast.UnaryOp: Reader.unary, ast.Compare: Reader.compare, ast.Call: Reader.call,
    ast.Subscript: Reader.subscript, ast.Starred: Reader.starred, ast.JoinedStr: Reader.joined,
    ast.NamedExpr: Reader.named, ast.Name: Reader.name, ast.comprehension: Reader.comprehension,
    ast.FunctionDef: Reader.scope, ast.Lambda: Reader.scope, ast.ClassDef: Reader.scope, ast.Global: Reader.declared,
    ast.For: Reader.loop, ast.With: Reader.block, ast.AnnAssign: Reader.annotated,
    ast.AsyncFunctionDef: Reader.coroutine, ast.AsyncFor: Reader.coroutine, ast.AsyncWith: Reader.coroutine,
    ast.Await: Reader.coroutine,
}  # fmt: skip
if hasattr(ast, "TypeAlias"):
    Reader.rules[getattr(ast, "TypeAlias")] = Reader.native  # noqa: B009  Python 3.12
Reader.statements = {
    ast.Assign: Reader.assign,
    ast.AugAssign: Reader.augmented,
}
Reader.fields_of = {
    ast.If: {"test": Reader.test},
    ast.While: {"test": Reader.test},
    ast.IfExp: {"test": Reader.test},
    ast.Assert: {"test": Reader.test},
    ast.match_case: {"pattern": Reader.native, "guard": Reader.test},
    ast.For: {"iter": Reader.iterable},
    ast.YieldFrom: {"value": Reader.iterable},
    ast.AnnAssign: {"annotation": Reader.native},
    ast.arg: {"annotation": Reader.native},
    ast.FunctionDef: {"returns": Reader.native, "type_params": Reader.native},
}
