"""Walking a function and its program together: state, positions, Ops calls and refusals. recipe.py has the rules."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

from .errors import Place, RecordError

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "bitand",
    ast.BitOr: "bitor", ast.BitXor: "bitxor",
}  # fmt: skip
INPLACE: dict[type[ast.operator], str] = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "idiv", ast.FloorDiv: "ifloordiv", ast.Mod: "imod",
    ast.Pow: "ipow", ast.MatMult: "imatmul", ast.LShift: "ilshift", ast.RShift: "irshift", ast.BitAnd: "iand",
    ast.BitOr: "ior", ast.BitXor: "ixor",
}  # fmt: skip
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
# Calls that are recorded, and so know where they stand.
SITED = frozenset([*BINARY.values(), *INPLACE.values(), *UNARY.values(), "getitem", "store"])

# Refusals: the reason, and what to write instead.
ASYNC = "a coroutine cannot be recorded", "Write it as a plain function and await outside of it."
GLOBAL = "a recorded value would stay behind in a global variable", "Return it, and assign it outside."
LOCALS = "locals(), vars() and dir() show local variables that recording adds", "Name the variables you need."
IN_COMPREHENSION = (
    "a subscript as the target of a comprehension cannot be recorded", "Write a for loop, or assign to a name.",
)  # fmt: skip
IN_ITERABLE = (
    "a chained comparison in the iterable of a comprehension cannot be recorded",
    "Compute the iterable in a line before.",
)
IN_CLASS = "a temporary variable for this would become an attribute of the class", "Move it out of the class body."
IN_ANNOTATED = "an annotation on a subscript cannot be recorded", "Leave out the annotation."
IN_WITH = (
    "a subscript as a target before the last item of a with statement cannot be recorded",
    "Nest two with statements.",
)

# line, function, target (a tree, turned into text when asked for)
Site = tuple[int, str, ast.AST | None, str]  # line, function, what it is bound to, operation
Span = tuple[int, int | None, int, int | None]


def span(node: Any) -> Span:
    """The position of a node, in the order of co_positions."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def locate(node: Any, at: Any) -> None:
    """Gives a node the position of another."""
    node.lineno, node.end_lineno = at.lineno, at.end_lineno
    node.col_offset, node.end_col_offset = at.col_offset, at.end_col_offset


Rule = Callable[[Any, Any, Any], None]  # (the walk, node of the function, node of the program)
Statement = Callable[[Any, Any, Iterator[Any]], None]  # the same with the program's statements still to be read


def stores(target: Any) -> bool:
    """Whether there is a subscript among these targets."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(map(stores, target.elts))
    return isinstance(target, ast.Subscript) or (isinstance(target, ast.Starred) and stores(target.value))


def signed(node: Any) -> bool:
    """-1 and +1.5: signed literals, which stay."""
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, (ast.USub, ast.UAdd)):
        return False
    return isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float, complex)


class Walk:
    """State:

    ops, temporaries: the names the program added. filename: of the function. first_site: id of the first site.
    sites: what is known of each recording call. targets: what each expression is bound to, by id of its node in the
    function. names: the same by position. function, first, in_class, in_iterable,
    globals: where we are; first is the first parameter.
    rules, statements, fields_of: how nodes, statements and fields are read that are not the same in both.
    """

    rules: ClassVar[dict[type[ast.AST], Rule]] = {}
    statements: ClassVar[dict[type[ast.AST], Statement]] = {}
    fields_of: ClassVar[dict[type[ast.AST], dict[str, Rule]]] = {}

    def __init__(self, filename: str, ops: str, temporaries: frozenset[str], first_site: int) -> None:
        self.filename, self.ops, self.temporaries, self.first_site = filename, ops, temporaries, first_site
        self.sites: list[Site] = []
        self.targets: dict[int, ast.AST] = {}
        self.names: dict[Span, ast.AST] = {}
        self.function, self.first, self.in_class, self.in_iterable = "", "", False, 0
        self.globals: set[str] = set()

    def refuse(self, why: tuple[str, str], at: Any) -> NoReturn:
        text = linecache.getline(self.filename, at.lineno)
        raise RecordError(why[0], Place(self.filename, at.lineno, self.function, text), why[1])

    def differ(self, old: Any) -> NoReturn:
        why = f"internal error: the program does not read back as the function ({type(old).__name__})"
        self.refuse((why, "Please report this function. Writing the line another way will help for now."), old)

    # Walking

    def read(self, old: Any, new: Any) -> None:
        """The whole function; `new` has `ops` as its first parameter."""
        group = new.args.posonlyargs or new.args.args
        if not group or group[0].arg != self.ops or type(old) is not type(new):
            self.differ(old)
        ops = group.pop(0)
        first = [*old.args.posonlyargs, *old.args.args][:1]
        self.first = first[0].arg if first else ""
        locate(new, old)
        locate(ops, old)
        self.native(old.args, new.args)
        group.insert(0, ops)
        if isinstance(old, ast.AsyncFunctionDef):
            self.function = old.name
            self.refuse(ASYNC, old)
        if isinstance(old, ast.Lambda):
            self.function = "<lambda>"
            self.node(old.body, new.body)
            return
        self.function = old.name
        self.same(old, old.name, new.name)
        new.decorator_list = [ast.copy_location(ast.Constant(None), one) for one in old.decorator_list]
        self.body(old.body, new.body)

    def node(self, old: Any, new: Any) -> None:
        rule = self.rules.get(type(old))
        if rule is None:
            self.fields(old, new)
        else:
            rule(self, old, new)

    def native(self, old: Any, new: Any) -> None:
        """What is left as it is: annotations, patterns, parameters."""
        self.fields(old, new, Walk.native)

    def fields(self, old: Any, new: Any, each: Rule | None = None) -> None:
        """The same node in both; `each` reads its fields where the table does not say how."""
        kind = type(old)
        if kind is not type(new):
            self.differ(old)
        if "lineno" in kind._attributes:
            locate(new, old)
        special = {} if each else self.fields_of.get(kind, {})
        each = each or Walk.node
        for field in kind._fields:
            self.field(old, getattr(old, field, None), getattr(new, field, None), special.get(field, each))

    def field(self, parent: Any, old: Any, new: Any, each: Rule) -> None:
        if isinstance(old, ast.AST):
            if old._fields:
                each(self, old, new)
            elif type(old) is not type(new):
                self.differ(parent)
        elif not isinstance(old, list):
            self.same(parent, old, new)
        elif old and isinstance(old[0], ast.stmt):
            self.body(old, new)
        else:
            if len(old) != len(new):
                self.differ(parent)
            for a, b in zip(old, new, strict=True):
                self.field(parent, a, b, each)

    def same(self, at: Any, old: object, new: object) -> None:
        if type(old) is not type(new) or (old is not new and repr(old) != repr(new)):  # -0.0 and nan
            self.differ(at)

    def body(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt], first: Iterator[ast.stmt] | None = None) -> None:
        """Statements: one of the function may be several of the program."""
        rest = iter(new) if first is None else first
        for statement in old:
            rule = self.statements.get(type(statement))
            if rule is None:
                self.node(statement, self.next(statement, rest))
            else:
                rule(self, statement, rest)
        if next(rest, None) is not None:
            self.differ(old[-1])

    def next(self, at: Any, rest: Iterator[Any]) -> Any:
        statement = next(rest, None)
        if statement is None:
            self.differ(at)
        return statement

    # Ops calls

    def op(self, new: Any, name: str, at: Any, count: int) -> list[Any]:
        """The arguments of `ops.name(...)`, which `new` must be. Recording calls get their site as a last one."""
        fits = isinstance(new, ast.Call) and len(new.args) == count and not new.keywords
        if not fits or not self.is_ops(new.func, name, at):
            self.differ(at)
        locate(new, at)
        args = list(new.args)
        if name in SITED:
            site = ast.copy_location(ast.Constant(self.first_site + len(self.sites)), at)
            new.args.append(site)
            self.sites.append((at.lineno, self.function, self.targets.get(id(at)), name))
        return args

    def is_ops(self, new: Any, name: str, at: Any) -> bool:
        if not isinstance(new, ast.Attribute) or new.attr != name:
            return False
        for part in (new, new.value):  # of no width: the carets of a traceback belong to the call
            part.lineno = part.end_lineno = at.lineno
            part.col_offset = part.end_col_offset = at.col_offset
        return isinstance(new.value, ast.Name) and new.value.id == self.ops

    def temporary(self, new: Any, at: Any) -> str:
        if self.in_class:
            self.refuse(IN_CLASS, at)
        if not isinstance(new, ast.Name) or new.id not in self.temporaries:
            self.differ(at)
        locate(new, at)
        return new.id

    def again(self, new: Any, name: str, at: Any) -> None:
        if self.temporary(new, at) != name:
            self.differ(at)

    def bind(self, target: Any, value: Any) -> None:
        self.targets[id(value)] = target
        self.names[span(value)] = target

    def bind_all(self, old: ast.Assign) -> None:
        target, value = old.targets[0], old.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for one, part in pairs:
            if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)):
                self.bind(one, part)
