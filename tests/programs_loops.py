"""Random loops around a body: fixed and data-dependent counts, while, break, continue, else."""

from __future__ import annotations

from collections.abc import Callable

from . import programs_exprs as exprs
from .programs_scope import Gen, Scope, Var, bare, indent

Lines = list[str]
Body = Callable[[Scope], Lines]


def counted(gen: Gen, scope: Scope, body: Body) -> Lines:
    """`for` over a range with a fixed count, an int argument, or backwards."""
    k = gen.name("k")
    inner = scope.child(loop=True)
    inner.variables.append(Var(k, "int"))
    counts = [f"range({v.name})" for v in scope.of("int") if not scope.loops]
    head = gen.pick(["range(2)", "range(3)", "range(2, -1, -1)", "range(1, 5, 2)", "reversed(range(2))", *counts])
    gen.mark("for, fixed count")
    return [f"for {k} in {head}:", *indent(body(inner)), *after(gen, scope)]


def data_counted(gen: Gen, scope: Scope, body: Body) -> Lines:
    """The number of rounds depends on a differentiable value."""
    k = gen.name("k")
    value = exprs.scalar(gen, scope, 1).text
    head = gen.pick(
        (
            f"range(int(2.0517 + 2.0 * math.tanh({value})))",
            f"range(1 + ({value} > {gen.threshold()}))",
            f"range(min(3, int(abs({value})) + 1))",
        )
    )
    inner = scope.child(loop=True)
    inner.variables.append(Var(k, "int"))
    gen.mark("for, data-dependent count")
    return [f"for {k} in {head}:", *indent(body(inner)), *after(gen, scope)]


def over_entries(gen: Gen, scope: Scope, body: Body) -> Lines:
    """`for` over the entries of a vector or list, with enumerate, zip or reversed perhaps."""
    sources = [v for v in scope.variables if v.kind in ("array", "list") and len(v.shape) == 1]
    if not sources:
        return counted(gen, scope, body)
    source = gen.pick(sources)
    t, k = gen.name("t"), gen.name("k")
    inner = scope.child(loop=True)
    # The loop reads the object that the name is bound to at its start; entries stay as many.
    inner.variables = [v for v in inner.variables if v is not source or v.kind == "array"]
    inner.variables.append(Var(t, "scalar"))
    form = gen.pick(
        ("{1} in {0}", "{2}, {1} in enumerate({0})", "{2}, {1} in zip(range(2), {0})", "{1} in reversed({0})")
    )
    gen.mark("for over entries")
    head = "for " + form.format(source.name, t, k) + ":"
    return [head, *indent(body(inner)), *after(gen, scope)]


def after(gen: Gen, scope: Scope) -> Lines:
    """An else clause of a loop, perhaps."""
    if not gen.chance(5):
        return []
    gen.mark("loop else")
    scalars = [v for v in scope.of("scalar") if v.name != "C"]
    if not scalars:
        return []
    name = gen.pick(scalars[::-1]).name
    return ["else:", *indent([*gen.probe_lines(), f"{name} = {bare(exprs.scalar(gen, scope, 1).text)}"])]


def interrupted(gen: Gen, scope: Scope, body: Body) -> Lines:
    """A `for` with break or continue under a condition, and perhaps else."""
    k = gen.name("k")
    inner = scope.child(loop=True)
    inner.variables.append(Var(k, "int"))
    word = gen.pick(("break", "continue"))
    gen.mark(word)
    test = bare(exprs.condition(gen, inner, 1))
    lines = body(inner)
    place = gen.pick((0, len(lines)))
    stop = [f"if {test}:", *indent([*gen.probe_lines(), word])]
    lines = stop + lines if place == 0 else lines + stop + gen.probe_lines()
    return [f"for {k} in range(3):", *indent(lines), *after(gen, scope)]


def whiled(gen: Gen, scope: Scope, body: Body) -> Lines:
    """`while` with a test on a differentiable value, bounded by a counter."""
    k, t = gen.name("k"), gen.name("t")
    start = bare(exprs.scalar(gen, scope, 1).text)
    step = exprs.scalar(gen, scope, 0).text
    scope.variables.append(Var(t, "scalar"))
    inner = scope.child(loop=True)
    lines = [f"{k} = 0", f"{t} = {start}", f"while {t} < 1.1519 and {k} < 4:"]
    gen.mark("while")
    lines += indent([f"{k} += 1", f"{t} = {t} + 0.6 + 0.2 * math.sin({bare(step)})", *body(inner)])
    return lines + after(gen, scope)


def endless(gen: Gen, scope: Scope, body: Body) -> Lines:
    """`while True`, left by break; a continue perhaps."""
    k = gen.name("k")
    inner = scope.child(loop=True)
    test = bare(exprs.condition(gen, inner, 1))
    gen.mark("while True")
    lines = [f"{k} += 1", f"if {k} > 3 or {test}:", *indent([*gen.probe_lines(), "break"])]
    if gen.chance(2):
        gen.mark("continue")
        lines += [f"if {bare(exprs.condition(gen, inner, 1))}:", *indent([*gen.probe_lines(), "continue"])]
    return [f"{k} = 0", "while True:", *indent(lines + body(inner))]


LOOPS: tuple[Callable[[Gen, Scope, Body], Lines], ...] = (
    counted,
    over_entries,
    data_counted,
    interrupted,
    whiled,
    endless,
    counted,
)
