"""Small random changes of a function's syntax tree: the mutants of test_mutants.py."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from typing import Any

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
COMPARISONS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE)
FAMILIES = (
    ("sin", "cos", "tanh", "exp", "sqrt", "log1p", "square", "abs", "negative", "atan", "arctan"),
    ("sum", "mean", "max", "min", "prod", "std", "var", "cumsum", "sort", "median", "ptp"),
    ("zeros", "ones", "zeros_like", "ones_like"),
    ("maximum", "minimum", "add", "multiply", "hypot", "subtract", "fmax", "arctan2"),
    ("array", "asarray", "copy", "ravel", "atleast_1d", "asfortranarray"),
    ("vstack", "hstack", "stack", "concatenate", "column_stack"),
    ("append", "insert", "extend", "remove"),
)
WRAPS = (
    "wrapped({})", "(lambda q: q)({})", "(lambda: {})()", "[{}][0]", "{{'k': {}}}['k']", "({},)[0]", "(1.0 * {})",
    "float({})", "np.asarray({})", "({}).copy()", "({})[::-1]", "({}).T", "np.array({})", "next(iter([{}]))",
    "(0.5 + {})", "(-{})", "list({})", "tuple({})", "Held({}).value", "abs({})", "(lambda *q, **k: q[-1])(1, {})",
    "({}).astype(float)", "np.float64({})", "({}).item()", "({}).tolist()", "({}).ravel()", "sum([{}])", "max([{}])",
    "(q9 := {})", "np.where(True, {}, 0.0)", "({} if 1.0 else None)", "({} or 0.0)", "sorted({})", "[*{}]",
    "functools.reduce(lambda p, q: q, [0, {}])", "functools.partial(wrapped, {})()", "[q for q in [{}]][0]",
    "np.squeeze({})", "np.ascontiguousarray({})", "({}).reshape(-1)", "np.broadcast_to({}, np.shape({}))",
    "copy.deepcopy({})", "copy.copy({})", "operator.mul({}, 1.5)", "({})[...]", "np.stack([{}])[0]",
)  # fmt: skip
WRITES = (
    "{0}[0] = {0}[-1] * 0.5", "{0}[...] = 0.7", "{0} *= 1.1", "{0}[::-1] += {0}", "np.add.at({0}, [0, 0], 0.3)",
    "tmp = {0}; tmp[...] = tmp * 0.8", "tmp = {0}; tmp += 0.3", "tmp = {0}[1:]; tmp[...] = {0}[:-1]",
    "{0}[1:] = {0}[:-1]", "{0}[-1] = {1}", "{0} += {1}", "{0}.sort()", "{0}.append({0}[0])", "{0}.reverse()",
    "tmp = {0}.T; tmp *= 0.9", "tmp = {0}.reshape(-1); tmp[0] = 0.3", "tmp = {0}.copy(); tmp[0] = 1.0; {0} = tmp",
    "np.multiply({0}, 0.7, out={0})", "np.copyto({0}, {0} * 0.6)", "{0}[{0} > 0.4] *= 0.5", "{0}.fill(0.6)",
    "tmp = [{0}]; tmp[0] *= 0.9", "tmp = Held({0}); tmp.value += 0.2", "{0}, tmp = {1}, {0}", "del {0}[0]",
    "{0} = {0} if len({0}) > 1 else {1}", "for tmp in {0}: tmp *= 0.9", "{0}[[0, 0]] = {0}[[0, -1]]",
    "np.exp({0}, out={0})", "{0}.flat[0] = 0.4", "tmp = {0}; {0} = {0} * 1.0; tmp[0] = 9.0", "{0}.clip(-1, 1, out={0})",
    "{0} = np.append({0}, 0.4)", "np.put({0}, 0, 0.7)", "{0}.pop()", "{0} = list({0})", "{0} = float({0})",
    "tmp = {0}[None]; tmp[0, 0] = 0.3", "tmp = iter({0}); {0} = [*tmp]", "{0} /= 1.0 + {0} ** 2",
)  # fmt: skip
BLOCKS = (
    "if True:\n    pass", "for _ in range(2):\n    pass", "try:\n    pass\nfinally:\n    tmp = 1",
    "with contextlib.nullcontext() as tmp:\n    pass", "try:\n    pass\nexcept ZeroDivisionError:\n    tmp = 0.0",
    "while True:\n    pass\n    break",
    "match 1:\n    case 1:\n        pass", "with np.errstate(all='ignore'):\n    pass",
)  # fmt: skip
KEYS = ("0", "-1", "1", "::-1", "1:", ":-1", "[0, -1]", "[0, 0]", "...", "None", "::2", "(Ellipsis, 0)")
HELPERS = """
import contextlib, copy, functools, itertools, math, operator
import numpy as np
class Held:
    def __init__(self, value):
        self.value = value
def wrapped(value):
    result = value
    return result
"""

Function = ast.FunctionDef
Change = Callable[[random.Random, "Sites"], bool]


class Sites:
    """Where a tree can be changed: the nodes in its functions, with the field each of them is in."""

    def __init__(self, tree: ast.Module) -> None:
        self.slots: list[tuple[Any, str, int | None]] = []
        self.bodies: list[list[ast.stmt]] = []
        self.names: list[str] = []
        for top in tree.body:
            if isinstance(top, (ast.FunctionDef, ast.ClassDef)) and top.name not in ("Held", "wrapped"):
                self.walk(top, isinstance(top, ast.FunctionDef))

    def walk(self, node: ast.AST, inside: bool) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("decorator_list", "returns", "annotation", "type_comment", "format_spec"):
                continue
            if isinstance(value, list):
                if inside and value and isinstance(value[0], ast.stmt):
                    self.bodies.append(value)
                for place, item in enumerate(value):
                    self.visit(node, name, place, item, inside)
            else:
                self.visit(node, name, None, value, inside)

    def visit(self, parent: ast.AST, name: str, place: int | None, node: Any, inside: bool) -> None:
        if not isinstance(node, ast.AST):
            return
        inside = inside or isinstance(node, ast.FunctionDef)
        if inside:
            self.slots.append((parent, name, place))
            if isinstance(node, ast.arg):
                self.names.append(node.arg)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.names.append(node.id)
        self.walk(node, inside)

    def of(self, *kinds: type) -> list[tuple[Any, str, int | None]]:
        return [slot for slot in self.slots if isinstance(get(slot), kinds)]

    def values(self) -> Iterator[tuple[Any, str, int | None]]:
        """Expressions that are read, not the parts of targets, keywords or patterns."""
        for slot in self.slots:
            node, parent = get(slot), slot[0]
            if (
                not isinstance(node, ast.expr)
                or isinstance(node, (ast.Starred, ast.Slice, ast.JoinedStr))
                or has_slice(node)
            ):
                continue
            if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)) or isinstance(parent, PATTERNS):
                continue
            if not (slot[1] in ("func", "bases") or (isinstance(node, ast.Constant) and isinstance(node.value, str))):
                yield slot


PATTERNS = (
    ast.pattern,
    ast.match_case,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.ExceptHandler,
    ast.AugAssign,
    ast.arguments,
)


def has_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and any(isinstance(e, (ast.Slice, ast.Starred)) for e in node.elts)


def get(slot: tuple[Any, str, int | None]) -> Any:
    parent, name, place = slot
    value = getattr(parent, name)
    return value if place is None else value[place]


def put(slot: tuple[Any, str, int | None], node: Any) -> None:
    parent, name, place = slot
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def operator(rng: random.Random, sites: Sites) -> bool:
    slots = [s for s in sites.of(ast.BinOp, ast.AugAssign) if isinstance(get(s).op, OPERATORS)]
    if not slots:
        return False
    get(rng.choice(slots)).op = rng.choice(OPERATORS)()
    return True


def constant(rng: random.Random, sites: Sites) -> bool:
    slots = [
        s
        for s in sites.of(ast.Constant)
        if isinstance(get(s).value, (bool, int, float)) and not isinstance(s[0], ast.pattern)
    ]
    if not slots:
        return False
    slot = rng.choice(slots)
    old = get(slot).value
    if isinstance(old, bool):
        new: Any = not old
    elif isinstance(old, int):
        new = rng.choice((0, 1, 2, 3, old + 1, 0.5))
    else:
        new = rng.choice((0.0, 0.5, 1.0, 1.3, 2.0, old / 2, 1))
    put(slot, ast.Constant(new))
    return True


def duplicated(rng: random.Random, sites: Sites) -> bool:
    body = rng.choice(sites.bodies)
    place = rng.randrange(len(body))
    body.insert(place, ast.parse(ast.unparse(body[place])).body[0] if not has_return(body[place]) else ast.Pass())
    return True


def has_return(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Nonlocal, ast.Global)) or any(
        isinstance(n, (ast.Nonlocal, ast.Global, ast.Return, ast.Break, ast.Continue)) for n in ast.walk(node)
    )


def deleted(rng: random.Random, sites: Sites) -> bool:
    body = rng.choice(sites.bodies)
    place = rng.randrange(len(body))
    if len(body) < 2 or isinstance(body[place], (ast.Return, ast.Break)):
        return False
    del body[place]
    return True


def swapped(rng: random.Random, sites: Sites) -> bool:
    body = rng.choice(sites.bodies)
    if len(body) < 2:
        return False
    place = rng.randrange(len(body) - 1)
    if has_return(body[place]) or has_return(body[place + 1]):
        return False
    body[place], body[place + 1] = body[place + 1], body[place]
    return True


def augmented(rng: random.Random, sites: Sites) -> bool:
    """`a = a + b` to `a += b` and back."""
    changes: list[tuple[list[ast.stmt], int, ast.stmt]] = []
    for body in sites.bodies:
        for place, node in enumerate(body):
            if isinstance(node, ast.AugAssign):
                text = f"{ast.unparse(node.target)} = {ast.unparse(node.target)} + {ast.unparse(node.value)}"
                new = statements(text)[0]
                new.value.op = node.op  # type: ignore[attr-defined]
                changes.append((body, place, new))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and len(node.targets) == 1:
                target = ast.unparse(node.targets[0])
                if not isinstance(node.targets[0], (ast.Name, ast.Subscript, ast.Attribute)):
                    continue
                if ast.unparse(node.value.left) == target:
                    changes.append((body, place, ast.AugAssign(node.targets[0], node.value.op, node.value.right)))
    if not changes:
        return False
    body, place, new = rng.choice(changes)
    body[place] = new
    return True


def wrapped(rng: random.Random, sites: Sites) -> bool:
    slots = list(sites.values())
    if not slots:
        return False
    slot = rng.choice(slots)
    text = ast.unparse(get(slot))
    form = rng.choice(WRAPS)
    put(slot, expression(form.format(*[f"({text})"] * form.count("{}"))))
    return True


def renamed(rng: random.Random, sites: Sites) -> bool:
    slots = [s for s in sites.of(ast.Name) if isinstance(get(s).ctx, ast.Load) and get(s).id in sites.names]
    if not slots:
        return False
    put(rng.choice(slots), ast.Name(rng.choice(sites.names), ast.Load()))
    return True


def written(rng: random.Random, sites: Sites) -> bool:
    """A write into something that a statement, or one after it, reads."""
    body = rng.choice(sites.bodies)
    place = rng.randrange(len(body))
    names = [n.id for n in ast.walk(body[place]) if isinstance(n, ast.Name) and n.id in sites.names] or sites.names
    if not names:
        return False
    text = rng.choice(WRITES).format(rng.choice(names), rng.choice(names))
    body[place:place] = statements(text)
    return True


def negated(rng: random.Random, sites: Sites) -> bool:
    slots = [s for s in sites.of(ast.expr) if s[1] == "test" and not isinstance(s[0], ast.While)]
    slots += [s for s in sites.of(ast.Compare)]
    if not slots:
        return False
    slot = rng.choice(slots)
    node = get(slot)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], COMPARISONS) and rng.random() < 0.5:
        node.ops[0] = rng.choice(COMPARISONS)()
    else:
        put(slot, ast.UnaryOp(ast.Not(), node))
    return True


def reordered(rng: random.Random, sites: Sites) -> bool:
    calls = [get(s) for s in sites.of(ast.Call) if len(get(s).args) > 1]
    if not calls:
        return False
    rng.shuffle(rng.choice(calls).args)
    return True


def blocked(rng: random.Random, sites: Sites) -> bool:
    """A statement inside a block of its own."""
    body = rng.choice(sites.bodies)
    place = rng.randrange(len(body))
    block = statements(rng.choice(BLOCKS))[0]
    for node in ast.walk(block):
        inside = getattr(node, "body", None)
        if isinstance(inside, list) and inside and isinstance(inside[0], ast.Pass):
            inside[0] = body[place]
            body[place] = block
            return True
    return False


def related(rng: random.Random, sites: Sites) -> bool:
    """Another function of the same family."""
    found = []
    for slot in sites.of(ast.Attribute):
        found += [(get(slot), family) for family in FAMILIES if get(slot).attr in family]
    if not found:
        return False
    node, family = rng.choice(found)
    node.attr = rng.choice(family)
    return True


def looked_up(rng: random.Random, sites: Sites) -> bool:
    slots = sites.of(ast.Subscript)
    if not slots:
        return False
    get(rng.choice(slots)).slice = expression(f"x[{rng.choice(KEYS)}]").slice  # type: ignore[attr-defined]
    return True


def returned(rng: random.Random, sites: Sites) -> bool:
    slots = [s for s in sites.slots if isinstance(get(s), ast.Return) and get(s).value is not None]
    if not slots:
        return False
    node = get(rng.choice(slots))
    form = rng.choice(("({0}, {0})", "[{0}]", "{0} * 1.5", "{{'a': {0}, 'b': 2.0}}", "Held({0}).value", "wrapped({0})"))
    node.value = expression(form.format(f"({ast.unparse(node.value)})"))
    return True


CHANGES: tuple[Change, ...] = (
    operator, constant, duplicated, deleted, swapped, augmented, wrapped, wrapped, wrapped, renamed, written, written,
    written, negated, reordered, blocked, related, looked_up, returned,
)  # fmt: skip


def mutate(tree: ast.Module, seed: int, steps: int) -> tuple[ast.Module, list[str]]:
    """`tree` with `steps` changes drawn from `seed`, in place; and what was done."""
    rng = random.Random(seed)
    done: list[str] = []
    for _ in range(20 * steps):
        sites = Sites(tree)
        if len(done) == steps or not sites.bodies:
            break
        change = rng.choice(CHANGES)
        if change(rng, sites):
            done.append(change.__name__)
    return ast.fix_missing_locations(tree), done
