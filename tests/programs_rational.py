"""Random functions of rational operations only, which run alike on floats and on fractions."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from .programs import Program
from .programs_scope import Func, Gen, Scope, Var, bare, indent

Lines = list[str]
# Every expression holds at least one argument-typed operand: an int divided by an int would be a float.


def value(gen: Gen, scope: Scope, depth: int) -> str:
    """An expression whose value has the type of the arguments."""
    if depth <= 0 or not gen.spend():
        return leaf(gen, scope)
    return gen.expression(lambda: gen.pick(FORMS)(gen, scope, depth - 1))


def leaf(gen: Gen, scope: Scope) -> str:
    names = [v.name for v in reversed(scope.of("scalar"))]
    items = [f"{v.name}[{gen.index(v.shape[0])}]" for v in reversed(scope.of("list"))]
    return gen.pick(names + items)


def arithmetic(gen: Gen, scope: Scope, depth: int) -> str:
    return f"({value(gen, scope, depth)} {gen.pick('+*-')} {value(gen, scope, depth)})"


def with_integer(gen: Gen, scope: Scope, depth: int) -> str:
    form = gen.pick(("({0} * {1})", "({0} / {1})", "({1} - {0})", "({0} + {1})", "({1} * {0})"))
    return form.format(value(gen, scope, depth), gen.number(2, 5))


def with_literal(gen: Gen, scope: Scope, depth: int) -> str:
    """A fraction that is written out, beside one of the arguments' type."""
    form = gen.pick(
        ("({0} * {1})", "({1} - {0})", "({0} / {1})", "({1} * {0})", "({1} / (1 + {0} ** 2))", "max({0}, {1})")
    )
    gen.mark("literal")
    return form.format(value(gen, scope, depth), f"Fraction({gen.number(1, 5)}, {gen.number(2, 7)})")


def quotient(gen: Gen, scope: Scope, depth: int) -> str:
    form = gen.pick(
        ("({0} / (1 + {1} ** 2))", "({0} / (2 + {1} * {1}))", "({0} * (1 + {1} ** 2) ** -1)", "(1 / (1 + {0} ** 2))")
    )
    return form.format(value(gen, scope, depth), value(gen, scope, depth))


def power(gen: Gen, scope: Scope, depth: int) -> str:
    form = gen.pick(("{} ** 2", "{} ** 3", "pow({}, 2)", "{} ** 1", "-{} ** 2", "{} ** 0"))
    gen.mark("power")
    return f"({form.format(value(gen, scope, depth))})"


def builtin(gen: Gen, scope: Scope, depth: int) -> str:
    forms = (
        "(-{0})",
        "abs({0})",
        "max({0}, {1})",
        "min({0}, {1})",
        "sum([{0}, {1}])",
        "(+{0})",
        "sum([{0}, {1}], {1})",
    )
    gen.mark("builtin")
    return gen.pick(forms).format(value(gen, scope, depth), value(gen, scope, depth))


def conditional(gen: Gen, scope: Scope, depth: int) -> str:
    gen.mark("conditional expression")
    return f"({value(gen, scope, depth)} if {condition(gen, scope, depth)} else {value(gen, scope, depth)})"


def called(gen: Gen, scope: Scope, depth: int) -> str:
    if not scope.funcs:
        gen.mark("lambda")
        t = gen.name("t")
        return f"(lambda {t}: {t} * {value(gen, scope, depth)})({bare(value(gen, scope, depth))})"
    gen.mark("helper call")
    name = gen.pick(scope.funcs).name
    form = gen.pick(("{}({}, {})", "{}({}, b={})", "{}(b={}, a={})", "{}(*[{}, {}])"))
    return form.format(name, bare(value(gen, scope, depth)), bare(value(gen, scope, depth)))


def over_items(gen: Gen, scope: Scope, depth: int) -> str:
    t = gen.name("t")
    lists = [v.name for v in scope.of("list")]
    if not lists:
        return arithmetic(gen, scope, depth)
    gen.mark("generator expression")
    return f"sum({t} * {value(gen, scope, depth)} for {t} in {gen.pick(lists)})"


FORMS: tuple[Callable[[Gen, Scope, int], str], ...] = (
    arithmetic,
    with_integer,
    quotient,
    power,
    builtin,
    conditional,
    called,
    over_items,
    with_literal,
)


def condition(gen: Gen, scope: Scope, depth: int) -> str:
    forms = (
        "{0} > {1}",
        "{0} < 1",
        "0 < {0} <= {1}",
        "({0} > 0 and {1} < 2)",
        "({0} < 0 or {1} > 1)",
        "not {0} >= {1}",
    )
    gen.mark("condition")
    return gen.pick((*forms, "{0} == {1}", "{0}")).format(value(gen, scope, min(depth, 1)), value(gen, scope, 0))


def assign(gen: Gen, scope: Scope) -> Lines:
    text = bare(value(gen, scope, gen.number(1, 3)))
    scope.variables.append(Var(gen.name("v"), "scalar"))
    return [f"{scope.variables[-1].name} = {text}"]


def augment(gen: Gen, scope: Scope) -> Lines:
    name = gen.pick(scope.of("scalar")[::-1] or [Var("", "")]).name
    if not name:
        return assign(gen, scope)
    gen.mark("augmented")
    form = gen.pick(("{} += {}", "{} *= {} / 2", "{} -= {}", "{} /= 1 + {} ** 2", "{} = {} - 1"))
    return [form.format(name, value(gen, scope, 1))]


def swap(gen: Gen, scope: Scope) -> Lines:
    scalars = [v.name for v in scope.of("scalar")]
    if len(scalars) < 2:
        return assign(gen, scope)
    a, b = gen.pick(scalars), gen.pick(scalars[::-1])
    gen.mark("swap")
    return [f"{a}, {b} = {bare(value(gen, scope, 1))}, {gen.pick((a, b))}"]


def listed(gen: Gen, scope: Scope) -> Lines:
    owned = scope.of("list", owned=True)
    gen.mark("list")
    if owned and gen.chance(2):
        var = gen.pick(owned[::-1])
        form = gen.pick(
            ("{0}[{1}] = {2}", "{0}[{1}] += {2}", "{0}.append({2})", "{0} = sorted({0})", "{0} = {0}[::-1]")
        )
        return [form.format(var.name, gen.index(var.shape[0]), bare(value(gen, scope, 1)))]
    items = [bare(value(gen, scope, 2)) for _ in range(2)]
    scope.variables.append(Var(gen.name("items"), "list", (2,)))
    return [f"{scope.variables[-1].name} = [{', '.join(items)}]"]


def branch(gen: Gen, scope: Scope) -> Lines:
    if scope.blocks >= 2:
        return augment(gen, scope)
    gen.mark("if")
    lines = [f"if {condition(gen, scope, 1)}:", *indent(block(gen, scope.child()))]
    if gen.chance(2):
        lines += [f"elif {condition(gen, scope, 1)}:", *indent(block(gen, scope.child()))]
    return lines if gen.chance(2) else [*lines, "else:", *indent(block(gen, scope.child()))]


def loop(gen: Gen, scope: Scope) -> Lines:
    if scope.blocks >= 2 or scope.loops:
        return augment(gen, scope)
    inner = scope.child(loop=True)
    k = gen.name("k")
    heads = [f"for {k} in range(2):", f"for {k} in range(1 + ({value(gen, scope, 1)} > 0)):"]
    lists = [v.name for v in scope.of("list", owned=False) if not v.owned]
    if lists:
        t = gen.name("t")
        heads.append(f"for {t} in {gen.pick(lists)}:")
    head = gen.pick([*heads, "while"])
    gen.mark("while" if head == "while" else "for")
    if head.startswith("for t"):
        inner.variables.append(Var(head.split()[1], "scalar"))
    stop = [f"if {condition(gen, inner, 1)}:", "    " + gen.pick(("break", "continue"))] if gen.chance(3) else []
    body = block(gen, inner)
    if head == "while":
        start = [f"{k} = 0"]
        head, body = f"while {k} < 3 and {leaf(gen, scope)} < 2:", [f"{k} += 1", *stop, *body]
        return [*start, head, *indent(body)]
    tail = ["else:", *indent(augment(gen, scope.child()))] if gen.chance(4) else []
    return [head, *indent([*body, *stop]), *tail]


def leave(gen: Gen, scope: Scope) -> Lines:
    if not scope.main:
        return augment(gen, scope)
    gen.mark("early return")
    return [f"if {condition(gen, scope, 1)}:", f"    return {returned(gen, scope)}"]


STATEMENTS: tuple[Callable[[Gen, Scope], Lines], ...] = (assign, augment, branch, loop, swap, listed, leave, assign)


def block(gen: Gen, scope: Scope) -> Lines:
    lines = gen.pick(STATEMENTS)(gen, scope)
    return lines + (augment(gen, scope) if gen.chance(2) else [])


def returned(gen: Gen, scope: Scope) -> str:
    parts = [value(gen, scope, 1) for _ in range(gen.number(1, 3))]
    forms = ("({})", "[{}]") if len(parts) > 1 else ("{}", "[{}]")
    return gen.pick(forms).format(", ".join(map(bare, parts)))


def helper(gen: Gen, scope: Scope) -> Lines:
    name = gen.name("h")
    inner = Scope([Var("a", "scalar"), Var("b", "scalar")], list(scope.funcs), blocks=1, main=False)
    body = block(gen, inner)
    kind = gen.pick(("plain", "early return", "recursive"))
    gen.mark("helper " + kind)
    result = bare(value(gen, inner, 2))
    if kind == "early return":
        body += [f"if {condition(gen, inner, 1)}:", f"    return {bare(value(gen, inner, 1))}"]
    if kind == "recursive":
        body = ["if n <= 0:", "    return a", *body]
        result = f"{bare(value(gen, inner, 1))} + {name}({result}, b, n - 1) / 2"
    scope.funcs.append(Func(name, "scalars"))
    return [f"def {name}(a, b, n=2):", *indent([*body, f"return {result}"]), ""]


def fraction(gen: Gen) -> Fraction:
    return Fraction(gen.number(1, 7) * gen.pick((1, -1)), gen.number(1, 4))


@st.composite
def scalar_programs(draw: Any) -> Program:
    """Rational functions of fractions and lists of fractions; `as_floats` gives the same on floats."""
    gen = Gen(draw)
    gen.fuel = 40
    scope, lines = Scope(), list[str]()
    lines += gen.repeat(lambda: helper(gen, scope), 2)
    args: list[Any] = []
    for name in "xyz"[: gen.number(1, 3)]:
        if gen.chance(3):
            scope.variables.append(Var(name, "list", (3,), False))
            args.append([fraction(gen) for _ in range(3)])
        else:
            scope.variables.append(Var(name, "scalar"))
            args.append(fraction(gen))
    gen.fuel = 50
    body = gen.repeat(lambda: gen.pick(STATEMENTS)(gen, scope), 6, odds=6)
    names = ", ".join("xyz"[: len(args)])
    lines += [f"def f({names}):", *indent([*body, "return " + returned(gen, scope)]), ""]
    text = "\n".join(lines)
    head = "from fractions import Fraction\n\n" if "Fraction(" in text else ""
    return Program(head + text, "f", tuple(args), frozenset(gen.features))


def as_decimals(program: Program) -> Program:
    """The program on decimals, fractions written in it included."""
    args = [[decimal(a) for a in arg] if isinstance(arg, list) else decimal(arg) for arg in program.args]
    text = re.sub(r"Fraction\((\d+), (\d+)\)", r"(Decimal(\1) / \2)", program.text)
    text = text.replace("from fractions import Fraction", "from decimal import Decimal")
    return Program(text, program.name, tuple(args), program.features, program.mutates)


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / x.denominator


def as_floats(program: Program) -> Program:
    """The program on float arguments."""
    args = [[float(a) for a in arg] if isinstance(arg, list) else float(arg) for arg in program.args]
    return Program(program.text, program.name, tuple(args), program.features, program.mutates)
