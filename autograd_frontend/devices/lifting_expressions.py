"""Expressions of a function of numbers."""

from __future__ import annotations

import ast
import builtins
from typing import Any

import numpy as np

from .lifting_calls import Calls, name_of
from .lifting_numbers import BINARY
from .lifting_types import (
    BOOL,
    INT,
    NOTHING,
    PYTHON,
    Items,
    Missing,
    Thing,
    Untranslatable,
    Value,
    joined_types,
    valued,
    whole,
)

SUPPORTED = "Use numbers, comparisons, `and`, `or`, `not`, calls of functions of numbers; or call it on the CPU."
GROWS = "Use local variables, or call it on the CPU."
FOUND = object()


class Expressions(Calls):
    """`env`: what each local variable is here; None after a return."""

    fn: Any
    path: tuple[Any, ...]
    env: Any
    walrus = False
    conditional = 0

    def visit(self, node: ast.expr) -> Any:
        method = getattr(self, f"of_{type(node).__name__}", None)
        try:
            if method is None:
                raise Untranslatable(f"{ast.unparse(node)} cannot run on a GPU", SUPPORTED)
            return method(node)
        except Untranslatable as error:
            if error.node is None:
                error.node, error.fn = node, self.fn
            raise

    def value(self, node: ast.expr) -> Value:
        x = self.visit(node)
        try:
            return self.number(x)
        except Untranslatable as error:
            error.node, error.fn = error.node or node, error.fn or self.fn
            raise

    def condition(self, node: ast.expr) -> Any:
        """The text of a condition, or a bool where it is known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            c = self.condition(node.operand)
            return not c if isinstance(c, bool) else f"!({c})"
        if isinstance(node, ast.BoolOp):
            return self.both(node.values, isinstance(node.op, ast.And))
        x = self.visit(node)
        if isinstance(x, Thing) and type(x.thing) in (str, type(None)):
            return bool(x.thing)
        if isinstance(x, Items):
            return bool(x.items)
        return self.truth(self.number(x))

    def both(self, nodes: list[ast.expr], wanted: bool) -> Any:
        """Conditions of which each is looked at while those before it are `wanted`."""
        first = self.condition(nodes[0])
        if len(nodes) == 1:
            return first
        if isinstance(first, bool):
            return self.both(nodes[1:], wanted) if first is wanted else first
        name, outer = self.unit.fresh("v"), self.lines
        self.emit(f"bool {name} = {first};")
        inner: list[Any] = []
        self.lines = inner
        self.conditional += 1
        rest = self.both(nodes[1:], wanted)
        self.conditional -= 1
        self.emit(f"{name} = {rest if isinstance(rest, str) else str(rest).lower()};")
        self.lines = outer
        self.lines += [f"if ({'' if wanted else '!'}{name}) {{", inner, "}"]
        return name

    def of_Constant(self, node: ast.Constant) -> Any:
        x = node.value
        return self.constant(x) if type(x) in (bool, float) or whole(x) else Thing(x)

    def of_Name(self, node: ast.Name) -> Any:
        if node.id not in self.locals:
            return self.outside(self.unit.named(self.path, self.fn, node.id))
        x = self.env.get(node.id, Missing("may have no value here"))
        if isinstance(x, Missing):
            raise Untranslatable(f"{node.id} {x.reason}", f"Give {node.id} a number before, on every way.")
        return self.snapshot(x) if self.walrus else x

    locals: frozenset[str]

    def outside(self, x: Thing) -> Any:
        """What is taken from outside: a number is one of the kernel's."""
        return self.unit.captured_number(x) if self.unit.is_number(x.thing) else x

    def snapshot(self, x: Any) -> Any:
        """A value that stays when variables change."""
        if isinstance(x, Value) and x.static is NOTHING:
            texts = [self.let(x.type.stored, t) for t in x.texts()]
            return valued(x.type, texts)
        return Items([self.snapshot(e) for e in x.items]) if isinstance(x, Items) else x

    def of_NamedExpr(self, node: ast.NamedExpr) -> Any:
        if self.conditional:
            raise Untranslatable("a variable is set in a part that may be left out", "Set it in its own statement.")
        self.assign(node.target.id, self.visit(node.value))
        return self.snapshot(self.env[node.target.id])

    def assign(self, name: str, x: Any) -> None:
        raise NotImplementedError

    def of_Tuple(self, node: ast.Tuple | ast.List) -> Items:
        if any(isinstance(e, ast.Starred) for e in node.elts):
            raise Untranslatable("a starred expression cannot run on a GPU", SUPPORTED)
        return Items([self.snapshot(self.visit(e)) for e in node.elts])

    of_List = of_Tuple

    def of_Attribute(self, node: ast.Attribute) -> Any:
        x = self.visit(node.value)
        if isinstance(x, Items):
            raise Untranslatable(f"{ast.unparse(node)}: a list or tuple has no methods on a GPU", GROWS)
        if isinstance(x, Value):
            raise Untranslatable(f"{ast.unparse(node)}: a number has no attributes on a GPU", SUPPORTED)
        if isinstance(x.thing, (list, dict, set, np.ndarray)):
            raise Untranslatable(f"{ast.unparse(node)} cannot run on a GPU", GROWS)
        found = getattr(x.thing, node.attr, FOUND)
        if found is FOUND:
            raise Untranslatable(f"{ast.unparse(node)} is not there", "Call it on the CPU.")
        return self.outside(self.unit.attribute(x, found, node.attr))

    def of_BinOp(self, node: ast.BinOp) -> Value:
        if type(node.op) not in BINARY:
            raise Untranslatable(f"{ast.unparse(node)}: this operator is not one of numbers", SUPPORTED)
        return self.binary(type(node.op), self.value(node.left), self.value(node.right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            c = self.condition(node)
            return self.constant(c) if isinstance(c, bool) else Value(PYTHON[bool], self.let(BOOL, c))
        v = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return self.negative(v)
        kind = "python" if v.type.kind == "python" else "numpy"
        return self.apply(np.positive if isinstance(node.op, ast.UAdd) else np.invert, [self.as_int(v)], kind)

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        """`and` and `or` give the operand that decides."""
        wanted = isinstance(node.op, ast.And)
        found = self.value(node.values[0])
        for k, other in enumerate(node.values[1:], 1):
            c = self.truth(found)
            if isinstance(c, bool):
                if c is not wanted:
                    return found
                found = self.value(other)
                continue
            rest = ast.copy_location(ast.BoolOp(node.op, node.values[k:]), node) if k + 1 < len(node.values) else other
            ways = [lambda rest=rest: self.visit(rest), lambda found=found: found]
            return self.inside(c, *(ways if wanted else ways[::-1]))
        return found

    def inside(self, c: str, first: Any, second: Any) -> Value:
        self.conditional += 1
        r = self.branches(c, first, second)
        self.conditional -= 1
        return r

    def of_IfExp(self, node: ast.IfExp) -> Any:
        c = self.condition(node.test)
        if isinstance(c, bool):
            return self.visit(node.body if c else node.orelse)
        return self.inside(c, lambda: self.value(node.body), lambda: self.value(node.orelse))

    def of_Compare(self, node: ast.Compare) -> Value:
        left, found = self.visit(node.left), None
        kind, name, closing = PYTHON[bool], "", []
        outer = self.lines
        for k, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            other = self.visit(right)
            found = self.compared(op, left, other)
            left = other
            if len(node.ops) == 1:
                return found
            kind = joined_types(kind, found.type) if k else found.type
            if not k:
                name = self.unit.fresh("v")
                self.emit(f"bool {name};")
            self.emit(f"{name} = {found.text};")
            if k + 1 < len(node.ops):
                inner: list[Any] = []
                self.lines += [f"if ({name}) {{", inner, "}"]
                closing.append(inner)
                self.lines = inner
        self.lines = outer
        return Value(kind, name)

    def compared(self, op: ast.cmpop, a: Any, b: Any) -> Value:
        plain = [type(x.thing) in (str, type(None)) for x in (a, b) if isinstance(x, Thing)]
        if isinstance(op, (ast.Is, ast.IsNot)) or any(plain):
            if not (plain or isinstance(op, (ast.Eq, ast.NotEq))):
                raise Untranslatable("numbers are compared by `is`", "Write ==.")
            same = isinstance(a, Thing) and isinstance(b, Thing) and a.thing == b.thing
            return self.constant(same is isinstance(op, (ast.Is, ast.Eq)))
        if isinstance(op, (ast.In, ast.NotIn)):
            if not isinstance(b, Items):
                reason = "`in` looks through something that is not a tuple of numbers"
                raise Untranslatable(reason, "Write x == a or x == b.")
            return self.contained(self.number(a), b, isinstance(op, ast.In))
        return self.compare(type(op), self.number(a), self.number(b))

    def contained(self, x: Value, items: Items, wanted: bool) -> Value:
        texts = [self.compare(ast.Eq, x, self.number(e)).text for e in items.items]
        text = self.let(BOOL, " || ".join(texts) or "false")
        return Value(PYTHON[bool], text if wanted else f"!{text}")

    def of_Subscript(self, node: ast.Subscript) -> Any:
        x, index = self.visit(node.value), node.slice
        if isinstance(index, ast.Slice):
            raise Untranslatable(f"{ast.unparse(node)}: a slice cannot be taken on a GPU", GROWS)
        k = self.value(index)
        if k.dtype.kind not in "iu" and k.dtype != BOOL:
            raise Untranslatable(f"{ast.unparse(node)}: the index is no integer", "Write x[int(k)].")
        if isinstance(x, Items) and k.static is not NOTHING:
            if not -len(x.items) <= k.static < len(x.items):
                raise Untranslatable(f"{ast.unparse(node)} is outside the tuple", "Use an index within it.")
            return x.items[k.static]
        n = self.constant(len(x.items)) if isinstance(x, Items) else self.unit.captured_table(x).length
        i = self.let(INT, f"(long long){k.text}")
        self.check(f"{i} < -{n.text} || {i} >= {n.text}")
        return self.entry(x, self.let(INT, f"{i} < 0 ? {i} + {n.text} : {i}"))

    def entry(self, x: Any, i: str) -> Value:
        """Entry `i`, which is there, of a table or a tuple."""
        if not isinstance(x, Items):
            table = self.unit.captured_table(x)
            return Value(table.type, self.let(table.type.dtype, table.read(i)))
        values = [self.number(e) for e in x.items]
        kind = values[0].type
        for v in values[1:]:
            kind = joined_types(kind, v.type)
        columns = zip(*[self.converted(v, kind).texts() for v in values], strict=True)
        texts = []
        for column in columns:
            text = column[-1]
            for n in range(len(column) - 2, -1, -1):
                text = f"{i} == {n} ? {column[n]} : {text}"
            texts.append(self.let(kind.stored, text))
        return valued(kind, texts)

    def of_Call(self, node: ast.Call) -> Any:
        f = self.visit(node.func)
        if not isinstance(f, Thing):
            raise Untranslatable(f"{ast.unparse(node.func)} is called, which is no function", SUPPORTED)
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise Untranslatable(f"{ast.unparse(node)}: starred arguments cannot be handed on on a GPU", "Write each.")
        if f.thing in (getattr(builtins, n) for n in ("print", "input", "open", "exec", "eval", "list", "dict", "set")):
            raise Untranslatable(f"{name_of(f.thing)} cannot run for one entry on a GPU", GROWS)
        args = [self.snapshot(self.visit(a)) for a in node.args]
        kwargs = {str(k.arg): self.snapshot(self.visit(k.value)) for k in node.keywords}
        return self.call(f, args, kwargs)


def local_names(node: Any) -> frozenset[str]:
    """Parameters and the variables that are set."""
    a = node.args
    names = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *[p for p in (a.vararg, a.kwarg) if p])}
    return frozenset(names | stored(node.body))


def stored(nodes: Any) -> set[str]:
    nodes = nodes if isinstance(nodes, list) else [nodes]
    return {
        n.id for top in nodes for n in ast.walk(top) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    } | {n.name for top in nodes for n in ast.walk(top) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
