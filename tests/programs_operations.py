"""Random programs in which the public operations occur among everything else that programs have.

`operation_programs(name)` draws functions that call `ops.<name>` and return its result: bound, in a loop, in a
container, in a closure, behind a branch, its operands or its result written into afterwards. Of the other expressions
of the program, one in a few is a call of an operation too.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from autograd_frontend import ops

from . import programs, programs_snippets, programs_stmts
from . import programs_arrays as arrays
from . import programs_exprs as exprs
from .programs import Program
from .programs_forms import ELEMENTWISE, FORMS
from .programs_scope import Expr, Gen, Scope, Shape, Var, bare, fit

Lines = list[str]
HOLE = re.compile(r"\{([^{}]*)\}")
KEPT = """
def kept(x):
    state = np.zeros(np.shape(x))
    ops.update_buffers([state], x, lambda state, t: [0.5 * state[0] + np.sin(t)])
    return state * x
"""
NAMES = tuple(FORMS)
LARGE = 9  # entries of an array that the rest of the program may use as it is


@dataclass
class Call:
    """One use of a form while its holes are filled. `bind`: operands may get names, and be written into afterwards."""

    gen: Gen
    scope: Scope
    depth: int
    shape: Shape
    bind: bool = False
    sizes: dict[str, int] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)
    owners: list[Var | None] = field(default_factory=list)
    before: Lines = field(default_factory=list)
    after: Lines = field(default_factory=list)

    def size(self, text: str) -> int:
        for letter in re.findall("[a-z]", text):
            if letter not in self.sizes:
                n, m = self.gen.dims
                self.sizes[letter] = self.gen.pick({"n": (n, m, 1), "m": (m, n, 1)}.get(letter, (2, 1, 3)))
        return int(eval(text, dict(self.sizes)))

    def shape_of(self, text: str) -> Shape:
        return tuple([self.size(part) for part in text.split(",") if part])

    def hole(self, match: re.Match[str]) -> str:
        """The text of a hole; what is not written out is a name of the form `_[i]`, for `filled`."""
        gen, kind, rest = self.gen, match[1][:1], match[1][1:]
        if kind in ("=", "T"):
            return str(self.size(rest)) if kind == "=" else gen.threshold()
        if kind == "@":
            low, high = map(self.size, rest.split(":"))
            return str([*range(max(low, 0), high + 1), *range(low, min(0, high + 1))][gen.number(0, high - low)])
        if kind == "#":
            count, length = map(self.size, rest.split(":"))
            return f"[{', '.join(gen.index(length) for _ in range(count))}]"
        if kind == "!":
            shape = self.shape_of(rest) if rest else self.shape
            return f"np.array({literal(gen, shape, lambda: programs.number(gen))})" if shape else "0.3"
        if kind == "?":
            return literal(gen, self.shape_of(rest), lambda: bool(gen.number(0, 1)))
        shape = {"S": self.shape, "X": ()}.get(match[1])
        self.shapes.append(self.shape_of(match[1]) if shape is None else shape)
        return f"_[{len(self.shapes) - 1}]"

    def operand(self, shape: Shape) -> str:
        expr = tensor(self.gen, self.scope, shape, self.depth)
        self.owners.append(expr.owner)
        if not (self.bind and shape and self.gen.chance(4)):
            return expr.text
        name = self.gen.name("o")
        self.gen.mark("operand written after")
        self.before.append(f"{name} = {self.gen.pick(('np.array({})', '1.0 * {}')).format(expr.text)}")
        form = self.gen.pick(("{0}[0] = {1}", "{0}[...] = {1}", "{0} *= {1}", "{0} += {0}", "{0}[::-1] += {1}"))
        self.after.append(form.format(name, exprs.scalar(self.gen, self.scope, 0).text))
        self.owners[-1] = Var(name, "array", shape)
        return name


def literal(gen: Gen, shape: Shape, draw: Any) -> str:
    """Nested lists of drawn values."""
    values = [draw() for _ in range(int(np.prod(shape)))]
    return str(np.array(values, object).reshape(shape).tolist())


def tensor(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """An expression with an array of any rank, or a scalar."""
    if len(shape) in (1, 2):
        return arrays.array(gen, scope, shape, depth)
    if not shape:
        return exprs.scalar(gen, scope, depth)
    known = [v for v in scope.of("tensor") if v.shape == shape]
    if known and not gen.chance(3):
        return Expr(gen.pick(known[::-1]).name, owner=known[-1])
    size = int(np.prod(shape))
    form = gen.pick(("outer", "stack", "reshape"))
    if form == "stack" and shape[0] <= 3:
        return Expr(f"np.stack([{', '.join(tensor(gen, scope, shape[1:], depth - 1).text for _ in range(shape[0]))}])")
    if form == "outer":
        last, rest = arrays.array(gen, scope, shape[-1:], depth - 1).text, tensor(gen, scope, shape[:-1], 0).text
        return Expr(f"np.tanh({rest}[..., None] * {last} + np.arange({size}.0).reshape({shape}) / {size})")
    return Expr(f"np.sin(np.arange({size}.0) * 0.7 + {exprs.scalar(gen, scope, depth - 1).text}).reshape({shape})")


@functools.lru_cache(maxsize=4000)
def measured(text: str, shapes: tuple[Shape, ...]) -> tuple[Shape, float]:
    """The shape that a form gives for operands of these shapes, and how large its entries are."""
    rng = np.random.default_rng(0)
    space = {"ops": ops, "np": np, "_": [rng.uniform(-2.5, 2.5, shape) for shape in shapes], "kept": np.square}
    with np.errstate(all="ignore"):
        value = eval(text, space)
    return np.shape(value), 1.5 * float(np.max(np.abs(value), initial=0.0))


@dataclass
class Result:
    """The text of a call, the shape and size of what it gives, whose memory that may be."""

    text: str
    shape: Shape
    bound: float
    owner: Var | None
    before: Lines
    after: Lines


def operation(gen: Gen, scope: Scope, depth: int, name: str, shape: Shape | None = None, bind: bool = False) -> Result:
    """A call of an operation, with expressions for its operands."""
    if shape is None:
        shape = arrays.some_shape(gen, scope) if gen.number(0, 3) else gen.pick(((), (2, *gen.dims)))
    call = Call(gen, scope, depth, shape, bind)
    text = HOLE.sub(call.hole, programs_snippets.choose(gen, FORMS[name]))
    found, bound = measured(text, tuple(call.shapes))
    filled = re.sub(r"_\[(\d+)\]", lambda m: call.operand(call.shapes[int(m[1])]), text)
    gen.mark("ops." + name)
    if "kept(" in text and KEPT not in gen.top:
        gen.top.append(KEPT)
    owner = call.owners[0] if call.owners and getattr(ops, name).operation.views else None
    if name == "broadcast_to":
        owner = Var("", "array", found, False)
    return Result(filled, found, bound, owner, call.before, call.after)


def array_operation(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """An operation whose result is an array of `shape`, or brought to it."""
    name = gen.pick(NAMES)
    made = operation(gen, scope, depth, name, shape if name in ELEMENTWISE else None)
    if made.shape == shape:
        return Expr(made.text, made.bound, made.owner)
    if not made.shape or 0 in made.shape:
        return Expr(f"np.full({shape}, ops.sum({made.text}))", made.bound * int(np.prod(made.shape)))
    count, size = int(np.prod(shape)), int(np.prod(made.shape))
    places = [(gen.number(0, size - 1) + k) % size for k in range(count)] if count <= LARGE else [0] * count
    text = f"ops.index_select(ops.flatten({made.text}), {places}, 0)"
    return Expr(text if len(shape) == 1 else f"ops.reshape({text}, {shape})", made.bound)


def scalar_operation(gen: Gen, scope: Scope, depth: int) -> Expr:
    """An operation whose result is a scalar, or reduced to one."""
    name = gen.pick(NAMES)
    made = operation(gen, scope, depth, name, () if name in ELEMENTWISE else None)
    if made.shape == ():
        return Expr(made.text, made.bound)
    return Expr(f"ops.sum({made.text})", made.bound * int(np.prod(made.shape)))


# Where a call stands: `CALL` its text, `BEFORE` and `AFTER` lines that bind operands and write into them.
PLACES = (
    "BEFORE\n~v = CALL\nAFTER",
    "BEFORE\n~v = np.zeros(SHAPE)\nfor ~k in range(«2¦3¦1»):\n    ~v = 0.5 * ~v + CALL\n    AFTER\n    $body",
    "BEFORE\n~l = [CALL for ~k in range(2)]\nAFTER\n~v = ~l[«0¦-1»]«¦ + ~l[1]»",
    "BEFORE\ndef ~f(~t=0.5):\n    return ~t * CALL\nAFTER\n~v = ~f(«¦$s»)",
    "BEFORE\n~d = {'a': CALL, 'b': [$s]}\nAFTER\n~v = ~d['a']«¦ * ~d['b'][0]»",
    "BEFORE\nif $q:\n    ~v = CALL\n    AFTER\nelse:\n    $p\n    ~v = 0.5 * CALL\n~v = ~v * $s",
    "BEFORE\n~v = CALL\n~v = ~v * (0.5 + ~v)\nAFTER\n$body",
    "BEFORE\n~v, (~w, *_) = CALL, [$s, 0.5]\nAFTER",
    "BEFORE\ntry:\n    ~v = CALL\n    $body\nfinally:\n    ~u = 0.5\nAFTER",
    "BEFORE\n~v = (lambda ~t: CALL + ~t)($s)\nAFTER",
    "BEFORE\n~k = 0\nwhile ~k < 2:\n    ~k += 1\n    ~v = 0.5 * CALL\n    $body\nAFTER",
    "BEFORE\n~v = 1.0 * CALL\nAFTER\n~v *= 0.5\n~v[...] += $s\n$body",
    "BEFORE\n~f = OPERATION\n~v = RENAMED\nAFTER",
)


def use(gen: Gen, scope: Scope, name: str) -> tuple[Lines, Var]:
    """Statements with a call of an operation, and the name of what it gave."""
    made = operation(gen, scope, 1, name, bind=True)
    place = gen.pick([p for p in PLACES if made.shape or "[...]" not in p])
    gen.mark("place " + place)
    filling = programs_snippets.Filling(gen, scope, {}, programs_stmts.inside)
    filling.loops = int("for " in place or "while " in place)
    lines: Lines = []
    for line in filling.named(programs_snippets.choose(gen, place)).splitlines():
        space, word = line[: len(line) - len(line.lstrip())], line.strip()
        more = {"BEFORE": made.before, "AFTER": made.after}.get(word)
        lines += filling.line(line) if more is None else [space + text for text in more]
    text = fit(gen, Expr(made.text, made.bound), array=bool(made.shape)).text
    renamed = text.replace(f"ops.{name}(", f"{filling.names.get('f')}(")
    words = {"CALL": text, "OPERATION": f"ops.{name}", "RENAMED": renamed, "SHAPE": str(made.shape)}
    lines = [re.sub("CALL|OPERATION|RENAMED|SHAPE", lambda m: words[m[0]], line) for line in lines]
    fresh = made.owner is None or made.owner.owned or text != made.text
    var = Var(filling.names["v"], kind_of(made.shape), made.shape, fresh)
    return [*filling.before, *lines, *within_reach(gen, scope, var)], var


def kind_of(shape: Shape) -> str:
    if not shape:
        return "scalar"
    small = len(shape) <= 2 and min(shape) >= 2 and int(np.prod(shape)) <= LARGE
    return "array" if small else "tensor"  # of one row the rest of the program would read a second


def within_reach(gen: Gen, scope: Scope, var: Var) -> Lines:
    """Makes the rest of the program know a result; of one with many axes or entries, what it takes from it."""
    if 0 in var.shape:
        return []
    scope.variables.append(var)
    if var.kind != "tensor":
        return []
    name = gen.name("v")
    form = gen.pick(("ops.sum({0})", "ops.flatten({0})[:2]", "0.3 * np.sum({0})", "{0}.ravel()[-2:]"))
    if int(np.prod(var.shape)) < 2 and "2" in form:
        form = "ops.sum({0})"
    scope.variables.append(Var(name, "array", (2,), False) if "2" in form else Var(name, "scalar"))
    return [f"{name} = {form.format(var.name)}"]


def assign_operation(gen: Gen, scope: Scope) -> Lines:
    """A name bound to the result of an operation."""
    made = operation(gen, scope, 1, gen.pick(NAMES), bind=True)
    text = fit(gen, Expr(made.text, made.bound), array=bool(made.shape)).text
    fresh = made.owner is None or made.owner.owned or text != made.text
    var = Var(gen.name("v"), kind_of(made.shape), made.shape, fresh)
    return [*made.before, f"{var.name} = {bare(text)}", *made.after, *within_reach(gen, scope, var)]


def build(gen: Gen, name: str) -> Program:
    gen.scalar_productions, gen.array_productions = (scalar_operation,) * 4, (array_operation,) * 4
    gen.steady = not gen.chance(3)
    variables, values = programs.arguments(gen)
    scope = Scope()
    helpers: Lines = []
    if gen.chance(3):
        helpers = gen.pick((programs.array_helper, programs.plain_helper))(gen, scope)
    scope.variables += variables
    gen.fuel = 30
    gen.top_funcs = list(scope.funcs)

    def statement() -> Lines:
        return gen.pick((programs_stmts.statement, assign_operation))(gen, scope)

    body = gen.repeat(statement, 2)
    used, var = use(gen, scope, name)
    body += [*used, *gen.repeat(statement, 3)]
    body.append(f"return {programs_stmts.returned(gen, scope, 1)}, {var.name}")
    return programs.assembled(gen, helpers, variables, body, values, False)


@st.composite
def operation_programs(draw: Any, name: str) -> Program:
    """Functions that call the operation of that name, and others."""
    return build(Gen(draw), name)
