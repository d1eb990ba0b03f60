"""Function text to program text with libcst. Imported at the first rewrite only: libcst takes 0.3 s to import.

Every row shows its construct before and after. Each expression of the source is emitted once; where Python evaluates
something once and the program needs it twice, a temporary holds it (`_t1`), never a lambda.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import libcst as cst

from .nodes import (
    ASIDE,
    BINARY,
    COMPARE,
    DISPLAYS,
    INPLACE,
    OWN_FRAME,
    SCOPES,
    UNARY,
    Expr,
    Small,
    all_names,
    arg,
    assignment,
    has_subscript,
    literal,
    parenthesized,
    subscripts,
)


def write(text: str, ops: str, taken: set[str], steady: set[str]) -> tuple[str, frozenset[str]]:
    """The program's text, and the temporaries it uses.

    text: a def, perhaps under an `if 1:` that carries its indentation, or a lambda in parentheses.
    ops: the name of the new first parameter. taken: names no temporary may have. steady: local variables that only
    statements of their own function can rebind.
    """
    if text.startswith("("):
        module = cst.Module([])
        fn: cst.Lambda | cst.FunctionDef = cst.ensure_type(cst.parse_expression(text), cst.Lambda)
        fn = fn.with_changes(whitespace_after_lambda=cst.SimpleWhitespace(" "))
        if "\n" not in text:
            fn = fn.with_changes(lpar=(), rpar=())
    else:
        module = cst.parse_module(text)
        top: Any = module.body[0]
        fn = cst.ensure_type(top.body.body[0] if isinstance(top, cst.If) else top, cst.FunctionDef)
        fn = fn.with_changes(decorators=(), leading_lines=(), lines_after_decorators=())
    writer = Writer(module, ops, _first(fn.params), taken, steady)
    body = cast(Any, fn.body.visit(writer))
    fn = fn.with_changes(params=_with_ops(fn.params, ops), body=body)
    return module.code_for_node(fn), frozenset(writer.temporaries)


def _first(params: cst.Parameters) -> str:
    for param in (*params.posonly_params, *params.params):
        return param.name.value
    return ""


def _with_ops(params: cst.Parameters, ops: str) -> cst.Parameters:
    # (x, *, y) -> (ops, x, *, y); before **kw as (ops, /, **kw), so that a keyword `ops` still reaches kw
    new = cst.Param(cst.Name(ops))
    if params.posonly_params or params.star_kwarg:
        return params.with_changes(posonly_params=(new, *params.posonly_params))
    return params.with_changes(params=(new, *params.params))


class Writer(cst.CSTTransformer):
    """One function body. State:

    module: prints nodes. ops, first: names of the program's and of the function's first parameter.
    taken, steady: see `write`. temporaries: those made. targets: ids of subscripts and stars that are stored to.
    depth: functions and classes we are inside of. lifted: ids of expressions that run one scope further out.
    """

    def __init__(self, module: cst.Module, ops: str, first: str, taken: set[str], steady: set[str]) -> None:
        super().__init__()
        self.module, self.ops, self.first = module, ops, first
        self.taken, self.steady, self.temporaries = taken, steady, list[str]()
        self.targets, self.depth, self.lifted = set[int](), 0, set[int]()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if type(node) in ASIDE:
            return False
        if id(node) in self.lifted:
            self.depth -= 1
        if type(node) in SCOPES:
            self.depth += 1
            self.lifted.update(map(id, self.outside(node)))
        return super().on_visit(node)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        if type(original_node) in ASIDE:
            return updated_node
        if type(original_node) in SCOPES:
            self.depth -= 1
        if id(original_node) in self.lifted:
            self.depth += 1
        return super().on_leave(original_node, updated_node)

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Not used, and called for every field."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Not used, and called for every field."""

    def outside(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The parts of a scope that run before it is entered: defaults, decorators, the first iterable."""
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            for group in (node.params.posonly_params, node.params.params, node.params.kwonly_params):
                yield from (param.default for param in group if param.default is not None)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            yield from (decorator.decorator for decorator in node.decorators)
        if type(node) in OWN_FRAME:
            yield cast(Any, node).for_in.iter

    def call(self, name: str, *values: Expr, at: Any = None) -> cst.Call:
        """ops.name(*values), in the parentheses of the node it replaces."""
        around = {"lpar": at.lpar, "rpar": at.rpar} if at is not None and at.lpar else {}
        return cst.Call(cst.Attribute(cst.Name(self.ops), cst.Name(name)), [arg(v) for v in values], **around)

    def temporary(self) -> cst.Name:
        number = len(self.temporaries) + 1
        while (name := f"_t{number}") in self.taken:
            number += 1
        self.taken.add(name)
        self.temporaries.append(name)
        return cst.Name(name)

    # Operators, comparisons, tests

    def leave_BinaryOperation(self, original_node: cst.BinaryOperation, updated_node: cst.BinaryOperation) -> Expr:
        # a + b  ->  ops.add(a, b)
        return self.call(BINARY[type(updated_node.operator)], updated_node.left, updated_node.right, at=updated_node)

    def leave_UnaryOperation(self, original_node: cst.UnaryOperation, updated_node: cst.UnaryOperation) -> Expr:
        # -a  ->  ops.neg(a);  -1 and not a stay
        name = UNARY.get(type(updated_node.operator))
        if name is None or literal(updated_node):
            return updated_node
        return self.call(name, updated_node.expression, at=updated_node)

    def leave_Comparison(self, original_node: cst.Comparison, updated_node: cst.Comparison) -> Any:
        # a < b  ->  ops.lt(a, b);  a in b stays;  a < f() < c  ->  (ops.lt(a, (_t1 := f())) and ops.lt(_t1, c))
        *middle, last = updated_node.comparisons
        if not middle:
            return self.compare(updated_node.left, last, at=updated_node)
        left, tests = updated_node.left, list[Expr]()
        for part in middle:
            right = part.comparator
            if not isinstance(right, cst.Name) and not literal(right):
                right = self.temporary()
                part = part.with_changes(comparator=parenthesized(cst.NamedExpr(right, part.comparator)))
            tests.append(self.compare(left, part))
            left = right
        return self.conjunction([*tests, self.compare(left, last)])

    def compare(self, left: Expr, part: cst.ComparisonTarget, at: Any = None) -> Expr:
        name = COMPARE.get(type(part.operator))
        if name is None:
            native = cst.Comparison(left, [part])
            return native if at is None else native.with_changes(lpar=at.lpar, rpar=at.rpar)
        return self.call(name, left, part.comparator, at=at)

    def conjunction(self, tests: Sequence[Expr]) -> Any:
        whole = tests[0]
        for test in tests[1:]:
            whole = cst.BooleanOperation(whole, cst.And(), test)
        return parenthesized(whole)

    def truth(self, original: Expr, updated: Any) -> Any:
        # a and not b  ->  ops.truth(a) and not ops.truth(b);  tests that are plain already stay
        if isinstance(original, cst.BooleanOperation):
            left, right = self.truth(original.left, updated.left), self.truth(original.right, updated.right)
            return updated.with_changes(left=left, right=right)
        if isinstance(original, cst.UnaryOperation) and isinstance(original.operator, cst.Not):
            inner = self.truth(original.expression, updated.expression)
            return updated.with_changes(operator=cst.Not(), expression=inner)
        if isinstance(original, cst.Comparison):
            return self.truths(original.comparisons, updated)
        return updated if literal(original) else self.call("truth", updated)

    def truths(self, parts: Sequence[cst.ComparisonTarget], updated: Any) -> Any:
        """The test of a comparison: of each of its parts where it is a chain."""
        own = updated if len(parts) == 1 else updated.right
        if type(parts[-1].operator) in COMPARE:
            own = self.call("truth", own)
        if len(parts) == 1:
            return own
        return updated.with_changes(left=self.truths(parts[:-1], updated.left), right=own)

    def tested(self, original_node: Any, updated_node: Any) -> Any:
        # if a:  ->  if ops.truth(a):
        return updated_node.with_changes(test=self.truth(original_node.test, updated_node.test))

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> Any:
        updated_node = updated_node.with_changes(whitespace_before_test=cst.SimpleWhitespace(" "))
        return self.tested(original_node, updated_node)

    def leave_While(self, original_node: cst.While, updated_node: cst.While) -> Any:
        updated_node = updated_node.with_changes(whitespace_after_while=cst.SimpleWhitespace(" "))
        return self.tested(original_node, updated_node)

    leave_Assert = leave_IfExp = leave_CompIf = tested  # pyright: ignore[reportAssignmentType]

    def leave_MatchCase(self, original_node: cst.MatchCase, updated_node: cst.MatchCase) -> cst.MatchCase:
        # case p if a:  ->  case p if ops.truth(a):
        if original_node.guard is None:
            return updated_node
        return updated_node.with_changes(guard=self.truth(original_node.guard, updated_node.guard))

    # Calls and subscripts

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> Expr:
        # f(a, *b)  ->  ops.of(f)(a, *ops.iter(b));  super()  ->  super(__class__, self)
        func = updated_node.func
        if isinstance(func, cst.Name) and func.value == "super" and not updated_node.args:
            if self.depth or not self.first:
                return updated_node
            return updated_node.with_changes(args=[cst.Arg(cst.Name("__class__")), cst.Arg(cst.Name(self.first))])
        return updated_node.with_changes(func=self.call("of", func))

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> Expr:
        # a[i]  ->  ops.getitem(a, i)
        if id(original_node) in self.targets:
            return updated_node
        return self.call("getitem", updated_node.value, self.key(updated_node.slice), at=updated_node)

    def key(self, parts: Sequence[cst.SubscriptElement]) -> Expr:
        # [i] -> i;  [i, j] -> (i, j);  [a:b, *c] -> ops.index[a:b, *ops.iter(c)]
        values = [part.slice.value for part in parts if isinstance(part.slice, cst.Index) and not part.slice.star]
        if len(values) < len(parts):
            return cst.Subscript(cst.Attribute(cst.Name(self.ops), cst.Name("index")), parts)
        if len(values) == 1 and not isinstance(parts[0].comma, cst.Comma):
            return values[0]
        return cst.Tuple([cst.Element(value) for value in values])

    # Iteration

    def leave_CompFor(self, original_node: cst.CompFor, updated_node: cst.CompFor) -> cst.CompFor:
        # for a in b  ->  for a in ops.iter(b)
        return updated_node.with_changes(iter=self.call("iter", updated_node.iter))

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        # *a  ->  *ops.iter(a)
        return self.starred(updated_node) if updated_node.star == "*" else updated_node

    def leave_Index(self, original_node: cst.Index, updated_node: cst.Index) -> cst.Index:
        return self.starred(updated_node) if updated_node.star else updated_node

    def leave_StarredElement(self, original_node: cst.StarredElement, updated_node: cst.StarredElement) -> Any:
        return updated_node if id(original_node) in self.targets else self.starred(updated_node)

    def starred(self, updated: Any) -> Any:
        return updated.with_changes(value=self.call("iter", updated.value))

    def leave_Yield(self, original_node: cst.Yield, updated_node: cst.Yield) -> cst.Yield:
        # yield from a  ->  yield from ops.iter(a)
        source = updated_node.value
        if not isinstance(source, cst.From):
            return updated_node
        return updated_node.with_changes(value=source.with_changes(item=self.call("iter", source.item)))

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> bool:
        return node.equal is None  # {a + b=} shows its own text

    # Stores

    def mark(self, *targets: Any) -> None:
        for target in targets:
            self.targets.update(map(id, subscripts(target)))

    def visit_Assign(self, node: cst.Assign) -> None:
        self.mark(*(target.target for target in node.targets))

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self.mark(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self.mark(node.target)

    def visit_Del(self, node: cst.Del) -> None:
        self.mark(node.target)

    def visit_For(self, node: cst.For) -> None:
        self.mark(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self.mark(node.target)

    def visit_With(self, node: cst.With) -> None:
        self.mark(*(item.asname.name for item in node.items if item.asname))

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> Any:
        # A[i] = v  ->  ops.store(v, A, i);  a, b = v  ->  a, b = ops.iter(v)
        # a = A[i] = v  ->  _t1 = v; a = _t1; ops.store(_t1, A, i)
        targets, value = [target.target for target in updated_node.targets], updated_node.value
        display = isinstance(value, DISPLAYS)
        stores = any(map(has_subscript, targets))
        if len(targets) == 1:
            if stores:
                return cst.FlattenSentinel(self.deliver(targets[0], value))
            spread = isinstance(targets[0], DISPLAYS) and not display
            return updated_node.with_changes(value=self.call("iter", value)) if spread else updated_node
        if not stores and (display or not any(isinstance(target, DISPLAYS) for target in targets)):
            return updated_node
        held = self.temporary()
        parts = [part for target in targets for part in self.deliver(target, held)]
        return cst.FlattenSentinel([assignment(held, value), *parts])

    def deliver(self, target: Expr, value: Expr) -> list[Small]:
        """The statements that bind an evaluated value to a target, in Python's order."""
        if isinstance(target, cst.Subscript):
            return [self.store(value, target.value, self.key(target.slice))]
        if not isinstance(target, DISPLAYS):
            return [assignment(target, value)]
        pattern, later = self.pattern(target)
        return [assignment(pattern, value if isinstance(value, DISPLAYS) else self.call("iter", value)), *later]

    def pattern(self, target: Any) -> tuple[Any, list[Small]]:
        # a, A[i], b  ->  a, _t1, _t2  and then  ops.store(_t1, A, i); b = _t2
        if isinstance(target, cst.Subscript):
            held = self.temporary()
            return held, self.deliver(target, held)
        elements, pending = list[Any](), list[tuple[Expr, cst.Name]]()
        for element in target.elements:
            if pending or has_subscript(element.value):
                pending.append((element.value, self.temporary()))
                element = element.with_changes(value=pending[-1][1])
            elements.append(element)
        later = [part for inner, held in pending for part in self.deliver(inner, held)]
        return target.with_changes(elements=elements), later

    def store(self, value: Expr, container: Expr, key: Expr) -> Small:
        return cst.Expr(self.call("store", value, container, key))

    def leave_AugAssign(self, original_node: cst.AugAssign, updated_node: cst.AugAssign) -> Any:
        # a += v  ->  a = ops.iadd(a, v);  o.a += v  ->  o.a = ops.iadd(o.a, v)
        # A[i] += v  ->  ops.store(ops.iadd(ops.getitem(A, i), v), A, i), with temporaries where A or i is no name
        target, value, steps = updated_node.target, updated_node.value, list[Small]()
        name = INPLACE[type(updated_node.operator)]

        def once(part: Expr) -> Expr:
            held = self.temporary()
            steps.append(assignment(held, part))
            return held

        if isinstance(target, cst.Subscript):
            container, key = target.value, self.key(target.slice)
            if not self.repeatable([target.value, *(part.slice for part in target.slice)], original_node.value):
                container, key = once(container), once(key)
            steps.append(self.store(self.call(name, self.call("getitem", container, key), value), container, key))
        else:
            if isinstance(target, cst.Attribute) and not self.repeatable([target.value], original_node.value):
                target = target.with_changes(value=once(target.value))
            steps.append(assignment(target, self.call(name, target, value)))
        return cst.FlattenSentinel(steps)

    def repeatable(self, parts: Sequence[cst.CSTNode], value: Expr) -> bool:
        """Whether the parts of a target can be read again after `value`: nothing in it can rebind their names."""
        names, text = all_names(parts), self.module.code_for_node(value)
        if names is None or ":=" in text:
            return False
        return names <= self.steady or not any(word in text for word in ("(", "yield", "await"))

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        # for A[i] in b: ...  ->  for _t1 in ops.iter(b): ops.store(_t1, A, i); ...
        updated_node = updated_node.with_changes(iter=self.call("iter", updated_node.iter))
        if not has_subscript(updated_node.target):
            return updated_node
        target, first = self.pattern(updated_node.target)
        return updated_node.with_changes(target=target, body=self.before(updated_node.body, first))

    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> cst.With:
        # with a as A[i]: ...  ->  with a as _t1: ops.store(_t1, A, i); ...
        *others, last = updated_node.items
        if last.asname is None or not has_subscript(last.asname.name):
            return updated_node
        target, first = self.pattern(last.asname.name)
        last = last.with_changes(asname=last.asname.with_changes(name=target))
        return updated_node.with_changes(items=[*others, last], body=self.before(updated_node.body, first))

    def before(self, body: cst.BaseSuite, first: list[Small]) -> cst.BaseSuite:
        lines = [cst.SimpleStatementLine(first)] if isinstance(body, cst.IndentedBlock) else first
        return body.with_changes(body=[*lines, *body.body])
