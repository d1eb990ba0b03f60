"""Random statements: bindings, branches, loops, nested functions, containers."""

from __future__ import annotations

from collections.abc import Callable

from . import programs_arrays as arrays
from . import programs_exprs as exprs
from . import programs_snippets as snippets
from .programs_aliases import ALIASES
from .programs_containers import CONTAINERS
from .programs_flow import FLOW
from .programs_loops import LOOPS
from .programs_objects import OBJECTS
from .programs_scope import Func, Gen, Scope, Var, bare, fit, indent
from .programs_writes import WRITES

Lines = list[str]


def assign_scalar(gen: Gen, scope: Scope) -> Lines:
    text = bare(exprs.scalar(gen, scope, gen.number(1, 3)).text)
    name = gen.name("v")
    scope.variables.append(Var(name, "scalar"))
    return [f"{name} = {text}"]


def assign_array(gen: Gen, scope: Scope) -> Lines:
    shape = arrays.some_shape(gen, scope)
    expr = arrays.array(gen, scope, shape, gen.number(1, 3))
    name = gen.name("a")
    scope.variables.append(Var(name, "array", shape, expr.owner is None or expr.owner.owned))
    return [f"{name} = {bare(expr.text)}"]


def rebind(gen: Gen, scope: Scope) -> Lines:
    """A name in reach bound again, to a value of the same kind."""
    known = [v for v in scope.of("scalar") + scope.of("array") if v.name not in ("C", "W")]
    if not known:
        return assign_scalar(gen, scope)
    var = gen.pick(known[::-1])
    gen.mark("rebinding")
    if var.kind == "array":
        return [f"{var.name} = {bare(arrays.fresh(gen, scope, var.shape, 2).text)}"]
    return [f"{var.name} = {bare(exprs.scalar(gen, scope, 2).text)}"]


def augment(gen: Gen, scope: Scope) -> Lines:
    known = [v for v in scope.of("scalar") + scope.of("array", owned=True) if v.name not in ("C", "W")]
    if not known:
        return assign_scalar(gen, scope)
    var = gen.pick(known[::-1])
    form = gen.pick(("{} += 0.3 * {}", "{} -= 0.25 * {}", "{} *= 1.0 + 0.2 * {}", "{} /= 1.5 + {} ** 2"))
    gen.mark(f"augmented {var.kind}")
    array = var.kind == "array"
    value = arrays.operand(gen, scope, var.shape, 1) if array else exprs.scalar(gen, scope, 2)
    return [form.format(var.name, fit(gen, value, array=array).text)]


def unpack(gen: Gen, scope: Scope) -> Lines:
    """Tuple unpacking: of expressions, of a vector, starred, nested, or a swap."""
    kind = gen.pick(("pair", "swap", "vector", "starred", "nested"))
    gen.mark("unpack " + kind)
    scalars = [v for v in scope.of("scalar") if v.name != "C"]
    if kind == "swap" and len(scalars) >= 2:
        a, b = gen.pick(scalars), gen.pick(scalars)
        return [f"{a.name}, {b.name} = {b.name}, {a.name}"]
    p, q, r = gen.name("p"), gen.name("q"), gen.name("r")
    n = gen.dims[0]
    if kind in ("vector", "starred"):
        source = arrays.leaf(gen, scope, (n,)).text
        lines = [f"{p}, *{q} = {source}"] if kind == "starred" else [f"{', '.join([p, q, '_', '_'][:n])} = {source}"]
        scope.variables.append(Var(p, "scalar"))
        scope.variables.append(Var(q, "list", (n - 1,)) if kind == "starred" else Var(q, "scalar"))
        return lines
    left, right = exprs.scalar(gen, scope, 2).text, exprs.scalar(gen, scope, 2).text
    scope.variables += [Var(p, "scalar"), Var(q, "scalar")]
    if kind == "nested":
        scope.variables.append(Var(r, "scalar"))
        return [f"{p}, ({q}, {r}) = {left}, [{right}, {left}]"]
    return [f"{p}, {q} = {bare(left)}, {bare(right)}"]


def branch(gen: Gen, scope: Scope) -> Lines:
    """if / elif / else; a name bound on every path stays in reach."""
    if scope.blocks >= 3:
        return augment(gen, scope)
    name = gen.name("v")
    test = bare(exprs.condition(gen, scope, 2))
    gen.mark("if")
    if gen.chance(4):
        test = f"({name} := {bare(exprs.scalar(gen, scope, 1).text)}) > {gen.threshold()}"
        gen.mark("walrus")
    arms = [f"if {test}:"]
    if gen.chance(3):
        arms.append(f"elif {bare(exprs.condition(gen, scope, 1))}:")
        gen.mark("elif")
    arms.append("else:")
    lines: Lines = []
    for head in arms:
        inner = scope.child()
        body = gen.probe_lines() + block(gen, inner, 2)
        lines += [head, *indent([*body, f"{name} = {bare(exprs.scalar(gen, inner, 1).text)}"])]
    scope.variables.append(Var(name, "scalar"))
    return lines


def branch_alone(gen: Gen, scope: Scope) -> Lines:
    """An `if` without else, which changes names that exist."""
    if scope.blocks >= 3:
        return augment(gen, scope)
    inner = scope.child()
    gen.mark("if without else")
    test = bare(exprs.condition(gen, scope, 2))
    body = gen.probe_lines() + block(gen, inner, 1) + gen.pick((rebind, augment))(gen, inner)
    return [f"if {test}:", *indent(body)]


def nested_function(gen: Gen, scope: Scope) -> Lines:
    """A closure over the names in reach, or a lambda under a name."""
    if scope.nested or scope.loops:
        return assign_scalar(gen, scope)
    name, t = gen.name("f"), gen.name("t")
    inner = scope.child()
    inner.variables.append(Var(t, "scalar"))
    inner.nested = True
    if gen.chance(3):
        gen.mark("named lambda")
        lines = [f"{name} = lambda {t}, w={gen.constant().text}: {bare(exprs.scalar(gen, inner, 2).text)}"]
    else:
        gen.mark("closure")
        inner.variables.append(Var("w", "scalar"))
        body = [*block(gen, inner, 1), f"return {bare(exprs.scalar(gen, inner, 2).text)}"]
        lines = [f"def {name}({t}, w={gen.constant().text}):", *indent(localised(body, scope))]
    scope.funcs.append(Func(name, "scalars", "w"))
    return lines


def localised(body: Lines, scope: Scope) -> Lines:
    """`body` with a nonlocal statement for the outer names that it binds."""
    outer = {v.name for v in scope.variables if "." not in v.name} - {"C", "W"}
    bound: set[str] = set()
    for line in body:
        left = line.strip().split(" = ")[0] if " = " in line else line.strip().split(" ")[0]
        bound |= {part.strip(" *()") for part in left.split(",")} & outer
    return [f"nonlocal {', '.join(sorted(bound))}", *body] if bound else body


def listed(gen: Gen, scope: Scope) -> Lines:
    """A list of scalars: literal, comprehension, appended to, written into, sorted, zipped."""
    name, t = gen.name("items"), gen.name("t")
    known = scope.of("list", owned=True)
    if known and not scope.nested and gen.chance(2):
        var = gen.pick(known[::-1])
        form = gen.pick(
            ("{0}.append({1})", "{0}[{2}] = {1}", "{0}[{2}] += {1}", "{0} = {0} + [{1}]", "{0} = sorted({0})")
        )
        gen.mark("list " + form[3:9])
        return [form.format(var.name, exprs.scalar(gen, scope, 1).text, gen.index(var.shape[0]))]
    inner = scope.child()
    inner.variables.append(Var(t, "scalar"))
    sources = [v for v in scope.variables if v.kind in ("list", "array") and len(v.shape) == 1]
    if not sources or gen.chance(2):
        items = [exprs.scalar(gen, scope, 1).text for _ in range(2)]
        scope.variables.append(Var(name, "list", (2,)))
        return [f"{name} = [{', '.join(items)}]"]
    source = gen.pick(sources)
    scope.variables.append(Var(name, "list", source.shape))
    gen.mark("list comprehension")
    if gen.chance(2):
        gen.mark("zip/map")
        form = gen.pick(("[{1} * r for {1}, r in zip({0}, reversed({0}))]", "list(map(lambda {1}: {2}, {0}))"))
        return [f"{name} = " + form.format(source.name, t, bare(exprs.scalar(gen, inner, 1).text))]
    return [f"{name} = [{bare(exprs.scalar(gen, inner, 2).text)} for {t} in {source.name}]"]


def dictionary(gen: Gen, scope: Scope) -> Lines:
    d, name, k = gen.name("d"), gen.name("v"), gen.name("k")
    a, b = exprs.scalar(gen, scope, 2).text, exprs.scalar(gen, scope, 1).text
    scope.variables.append(Var(name, "scalar"))
    gen.mark("dict")
    lines = [f"{d} = {{'p': {a}, 'q': {b}}}"]
    if gen.chance(2):
        lines.append(f"{d}['p'] {gen.pick(('=', '+=', '*='))} {b}")
    uses = ("{0}['p'] * {0}['q']", "sum({0}.values())", "sum([{1} * 0.5 for {1} in {0}.values()])", "{0}.get('q', 1.0)")
    return [*lines, f"{name} = " + gen.pick(uses).format(d, k)]


def guarded(gen: Gen, scope: Scope) -> Lines:
    """try / except / finally around statements, one of which may raise."""
    if scope.blocks >= 2:
        return augment(gen, scope)
    name = gen.name("v")
    inner = scope.child()
    gen.mark("try")
    body = [*block(gen, inner, 1), f"{name} = {bare(exprs.scalar(gen, inner, 1).text)}"]
    other = bare(exprs.scalar(gen, scope, 1).text)
    test = bare(exprs.condition(gen, scope, 1))
    if gen.chance(2):
        body += [f"if {test}:", *indent([*gen.probe_lines(), "raise ValueError('out of range')"])]
    tail = ["except ValueError:", *indent([*gen.probe_lines(), f"{name} = {other}"])]
    if gen.chance(2):
        tail += ["finally:", *indent(augment(gen, scope))]
    scope.variables.append(Var(name, "scalar"))
    return ["try:", *indent(body), *tail]


def call_writer(gen: Gen, scope: Scope) -> Lines:
    """A helper that writes into the array it is given, or gives a pair."""
    writers = [f for f in scope.funcs if f.takes in ("writes", "pair")]
    known = scope.of("array", owned=True)
    if not writers:
        return augment(gen, scope)
    func = gen.pick(writers)
    gen.mark("helper that " + ("writes into its argument" if func.takes == "writes" else "returns a pair"))
    value = bare(exprs.scalar(gen, scope, 1).text)
    if func.takes == "pair":
        p, q = gen.name("p"), gen.name("q")
        scope.variables += [Var(p, "scalar"), Var(q, "scalar")]
        return [f"{p}, {q} = {func.name}({value})"]
    if not known:
        return augment(gen, scope)
    return [f"{func.name}({gen.pick(known[::-1]).name}, {value})"]


def early_return(gen: Gen, scope: Scope) -> Lines:
    if not scope.main or scope.nested:
        return augment(gen, scope)
    gen.mark("early return in a loop" if scope.loops else "early return")
    test = bare(exprs.condition(gen, scope, 1))
    return [f"if {test}:", *indent([*gen.probe_lines(), "return " + returned(gen, scope)])]


def returned(gen: Gen, scope: Scope, depth: int = 0) -> str:
    """What a function hands back: a scalar, an array, or a structure of them."""
    kind = gen.pick(
        ("scalar", "array", "tuple", "triple", "list", "dict", "nested") if depth == 0 else ("scalar", "array")
    )
    if depth == 0:
        gen.mark("returns " + kind)
    if kind in ("scalar", "array"):
        recent = [v for v in scope.of(kind) if v.name not in ("C", "W")][-5:]
        if recent and not gen.chance(4):
            return gen.pick(recent[::-1]).name
        if kind == "scalar":
            return bare(exprs.scalar(gen, scope, 2).text)
        return bare(arrays.array(gen, scope, arrays.some_shape(gen, scope), 2).text)
    a, b = returned(gen, scope, 1), returned(gen, scope, 1)
    if kind == "triple":
        return f"({a}, {b}, {returned(gen, scope, 1)})"
    forms = {
        "tuple": "({}, {})",
        "list": "[{}, {}]",
        "dict": "{{'first': {}, 'second': {}}}",
        "nested": "({}, [{}, 1.5])",
    }
    return forms[kind].format(a, b)


def statement(gen: Gen, scope: Scope) -> Lines:
    """One statement, or a few that belong together."""
    family = gen.pick((SIMPLE, WRITES, SNIPPETS, CONTROL, SNIPPETS, WRITES, OTHER, SNIPPETS))
    if family is CONTROL and gen.fuel <= 0:
        family = SIMPLE
    return gen.pick(family)(gen, scope)


def block(gen: Gen, scope: Scope, most: int) -> Lines:
    return gen.repeat(lambda: statement(gen, scope), most)


def loop(gen: Gen, scope: Scope) -> Lines:
    if scope.loops >= 2 or scope.blocks >= 3:
        return augment(gen, scope)

    def body(inner: Scope) -> Lines:
        change = augment(gen, inner.child())
        return [*gen.probe_lines(), *block(gen, inner, 2), *change]

    return gen.pick(LOOPS)(gen, scope, body)


def inside(gen: Gen, scope: Scope, outer: Scope | None) -> Lines:
    """Statements in a hole of a snippet; those of a nested function may bind names of the one around it."""
    body = block(gen, scope, 1)
    return body if outer is None else localised(body, outer)


Statement = Callable[[Gen, Scope], Lines]
SIMPLE: tuple[Statement, ...] = (assign_scalar, assign_array, rebind, augment, unpack)
CONTROL: tuple[Statement, ...] = (branch, loop, branch_alone, loop, early_return, nested_function)
OTHER: tuple[Statement, ...] = (listed, dictionary, call_writer, guarded, nested_function, call_writer)
SNIPPETS: tuple[Statement, ...] = tuple(
    snippets.statement(table, inside) for table in (CONTAINERS, FLOW, OBJECTS, ALIASES)
)
