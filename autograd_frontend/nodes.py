"""Tables of libcst nodes, and small questions about them. Imported at the first rewrite only."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import libcst as cst

BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "add", cst.Subtract: "sub", cst.Multiply: "mul", cst.Divide: "div", cst.FloorDivide: "floordiv",
    cst.Modulo: "mod", cst.Power: "pow", cst.MatrixMultiply: "matmul", cst.LeftShift: "lshift",
    cst.RightShift: "rshift", cst.BitAnd: "bitand", cst.BitOr: "bitor", cst.BitXor: "bitxor",
}  # fmt: skip
INPLACE: dict[type[cst.CSTNode], str] = {
    cst.AddAssign: "iadd", cst.SubtractAssign: "isub", cst.MultiplyAssign: "imul", cst.DivideAssign: "idiv",
    cst.FloorDivideAssign: "ifloordiv", cst.ModuloAssign: "imod", cst.PowerAssign: "ipow",
    cst.MatrixMultiplyAssign: "imatmul", cst.BitAndAssign: "iand", cst.BitOrAssign: "ior", cst.BitXorAssign: "ixor",
    cst.LeftShiftAssign: "ilshift", cst.RightShiftAssign: "irshift",
}  # fmt: skip
UNARY: dict[type[cst.CSTNode], str] = {cst.Minus: "neg", cst.Plus: "pos", cst.BitInvert: "invert"}
COMPARE: dict[type[cst.CSTNode], str] = {
    cst.LessThan: "lt", cst.LessThanEqual: "le", cst.GreaterThan: "gt", cst.GreaterThanEqual: "ge",
    cst.Equal: "eq", cst.NotEqual: "ne",
}  # fmt: skip

NUMBERS = (cst.Integer, cst.Float, cst.Imaginary)
LITERALS = (*NUMBERS, cst.SimpleString, cst.Ellipsis)
ATOMS = (cst.Call, cst.Name, *NUMBERS)  # parentheses around these say nothing
DISPLAYS = (cst.Tuple, cst.List)
# Nothing under these is rewritten, and not rebuilding them is a third of the time.
ASIDE: frozenset[type[cst.CSTNode]] = frozenset([
    cst.SimpleWhitespace, cst.TrailingWhitespace, cst.ParenthesizedWhitespace, cst.EmptyLine, cst.Newline,
    cst.Comment, cst.Name, *LITERALS, cst.Comma, cst.LeftParen, cst.RightParen, cst.LeftSquareBracket,
    cst.RightSquareBracket, cst.Dot, cst.Annotation, cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal,
    cst.MatchValue, cst.MatchMapping, cst.MatchClass, cst.MatchList, cst.MatchTuple, cst.MatchOr, cst.MatchAs,
    cst.MatchSingleton, *BINARY, *INPLACE, *COMPARE, *UNARY,
])  # fmt: skip
ASIDE |= {getattr(cst, name) for name in ("TypeAlias", "TypeParameters")}  # no exported names
OWN_FRAME: tuple[type[cst.CSTNode], ...] = (cst.GeneratorExp, cst.ListComp, cst.SetComp, cst.DictComp)
if sys.version_info >= (3, 12):
    OWN_FRAME = (cst.GeneratorExp,)  # the others are inlined
SCOPES = frozenset([cst.FunctionDef, cst.Lambda, cst.ClassDef, *OWN_FRAME])

Expr = cst.BaseExpression
Small = cst.BaseSmallStatement


def arg(value: Expr) -> cst.Arg:
    """A positional argument: without the parentheses it no longer needs, with those it needs now."""
    if isinstance(value, ATOMS):
        value = value.with_changes(lpar=(), rpar=()) if value.lpar else value
    elif isinstance(value, (cst.Tuple, cst.Yield, cst.NamedExpr)) and not value.lpar:
        value = parenthesized(value)
    return cst.Arg(value)


def parenthesized(value: Any) -> Any:
    """(value)."""
    return value.with_changes(lpar=(cst.LeftParen(),), rpar=(cst.RightParen(),))


def assignment(target: Any, value: Expr) -> Small:
    """target = value."""
    return cst.Assign([cst.AssignTarget(target)], value)


def subscripts(target: Expr) -> Iterator[cst.CSTNode]:
    """The subscripts (and starred elements) among the targets of an assignment."""
    if isinstance(target, cst.Subscript):
        yield target
    elif isinstance(target, DISPLAYS):
        for element in target.elements:
            if isinstance(element, cst.StarredElement):
                yield element
            yield from subscripts(element.value)


def has_subscript(target: Expr) -> bool:
    """Whether a part of the target is stored through ops."""
    return any(isinstance(node, cst.Subscript) for node in subscripts(target))


def literal(node: Expr) -> bool:
    """Whether the node is a constant, perhaps with a sign."""
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, (cst.Minus, cst.Plus)) and isinstance(node.expression, NUMBERS)
    if isinstance(node, cst.ConcatenatedString):
        return literal(node.left) and literal(node.right)
    return isinstance(node, LITERALS) or (isinstance(node, cst.Name) and node.value in ("True", "False", "None"))


def names_in(node: cst.CSTNode | None) -> set[str] | None:
    """The names in an expression made of names, literals, tuples and slices; None where there is more in it."""
    parts: Iterable[cst.CSTNode | None]
    if node is None or (isinstance(node, Expr) and literal(node)):
        return set()
    if isinstance(node, cst.Name):
        return {node.value}
    if isinstance(node, cst.Slice):
        parts = (node.lower, node.upper, node.step)
    elif isinstance(node, cst.Index) and not node.star:
        parts = (node.value,)
    elif isinstance(node, cst.Tuple) and not any(isinstance(e, cst.StarredElement) for e in node.elements):
        parts = (element.value for element in node.elements)
    else:
        return None
    return all_names(parts)


def all_names(parts: Iterable[cst.CSTNode | None]) -> set[str] | None:
    """The names in all of them, or None where one of them is more than names."""
    found: set[str] = set()
    for part in parts:
        names = names_in(part)
        if names is None:
            return None
        found |= names
    return found
