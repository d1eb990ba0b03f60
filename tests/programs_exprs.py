"""Random expressions with a scalar value, and random conditions."""

from __future__ import annotations

from collections.abc import Callable

from . import programs_arrays as arrays
from .programs_scope import Expr, Func, Gen, Scope, bare, fit

# Text with a hole, and a bound of the value for operands of ordinary size. Smooth and defined everywhere.
MATH = (
    ("math.sin({})", 1.0),
    ("math.tanh({})", 1.0),
    ("math.cos({})", 1.0),
    ("math.exp(-0.5 * {} ** 2)", 1.0),
    ("math.sqrt(1.0 + {} ** 2)", 4.0),
    ("math.log1p({} ** 2)", 2.5),
    ("math.log(1.5 + {} ** 2)", 2.5),
    ("math.atan({})", 1.6),
    ("math.atan2({}, 1.5)", 1.6),
    ("math.hypot({}, 1.0)", 4.0),
    ("math.asinh({})", 2.0),
    ("math.expm1(math.sin({}))", 1.8),
    ("math.cosh(math.tanh({}))", 1.6),
    ("math.sinh(math.sin({}))", 1.2),
    ("math.pow(2.0 + math.sin({}), 1.5)", 5.2),
    ("(2.0 + math.cos({})) ** -0.5", 1.0),
    ("1.0 / (1.0 + math.exp(-{}))", 1.0),
    ("math.fabs({})", 3.0),
    ("math.acos(0.8 * math.sin({}))", 2.5),
)
NUMPY = (
    ("np.sin({})", 1.0),
    ("np.tanh({})", 1.0),
    ("np.exp(-np.square({}))", 1.0),
    ("np.sqrt(1.0 + {} ** 2)", 4.0),
    ("np.log1p(np.square({}))", 2.5),
    ("np.cos({})", 1.0),
    ("np.arctan({})", 1.6),
    ("np.arcsinh({})", 2.0),
    ("np.expm1(np.sin({}))", 1.8),
    ("np.logaddexp({}, 0.5)", 4.0),
    ("np.hypot({}, 1.0)", 4.0),
    ("np.power(1.5 + {} ** 2, 0.5)", 4.0),
    ("np.reciprocal(2.0 + np.sin({}))", 1.0),
    ("np.arctan2({}, 1.5)", 1.6),
    ("np.exp2(np.tanh({}))", 2.0),
    ("np.log2(1.5 + {} ** 2)", 3.5),
    ("np.arcsin(0.9 * np.sin({}))", 1.2),
    ("np.arctanh(0.5 * np.tanh({}))", 0.6),
    ("np.abs({})", 3.0),
    ("np.negative({})", 3.0),
    ("np.sinh(np.sin({}))", 1.2),
)


def scalar(gen: Gen, scope: Scope, depth: int) -> Expr:
    """An expression whose value is a float or a NumPy scalar, at most about LIMIT in size."""
    if depth <= 0 or not gen.spend():
        return scalar_leaf(gen, scope)
    table = (STEADY if gen.steady else SCALAR) + gen.scalar_productions
    return gen.expression(lambda: fit(gen, gen.pick(table)(gen, scope, depth - 1)))


def scalar_leaf(gen: Gen, scope: Scope, depth: int = 0) -> Expr:
    choices = [Expr(v.name) for v in reversed(scope.of("scalar"))]
    choices += [Expr(f"{v.name}[{{}}]") for v in reversed(scope.of("array", ndim=1) + scope.of("list"))]
    choices += [Expr(f"{v.name}[{{}}, {{}}]") for v in scope.of("array", ndim=2)]
    expr = gen.pick(choices) if choices and not gen.chance(6) else gen.constant()
    if "{}" not in expr.text:
        return expr
    shape = next(v.shape for v in scope.variables if v.name == expr.text.split("[")[0])
    gen.mark("element read")
    return Expr(expr.text.format(*(gen.index(length) for length in shape)))


def binary(gen: Gen, scope: Scope, depth: int) -> Expr:
    left, right = scalar(gen, scope, depth), scalar(gen, scope, depth)
    operator = gen.pick("+*-")
    size = left.bound * right.bound if operator == "*" else left.bound + right.bound
    return Expr(f"({left.text} {operator} {right.text})", size)


def with_integer(gen: Gen, scope: Scope, depth: int) -> Expr:
    inner = scalar(gen, scope, depth)
    counts = [v.name for v in scope.of("int")] + ["2"]
    count = gen.pick(counts)
    form = gen.pick(("({0} * {1})", "({1} / (1 + {0}))", "({1} ** 2 / 2)", "({1} ** {0})", "pow({1}, 2)"))
    gen.mark("integer operand")
    return Expr(form.format(count, inner.text), max(3 * inner.bound, inner.bound**2))


def divide(gen: Gen, scope: Scope, depth: int) -> Expr:
    top, bottom = scalar(gen, scope, depth), scalar(gen, scope, depth)
    return Expr(f"({top.text} / (1.5 + {bottom.text} ** 2))", top.bound)


def unary(table: tuple[tuple[str, float], ...]) -> Callable[[Gen, Scope, int], Expr]:
    def draw(gen: Gen, scope: Scope, depth: int) -> Expr:
        form, bound = gen.pick(table)
        inner = scalar(gen, scope, depth).text
        gen.mark(form.split("(")[0] if form[0] in "mn" else "operator form")
        text = form.format(inner)
        return Expr(text if form[0] in "mn" else f"({text})", bound)

    return draw


def builtin(gen: Gen, scope: Scope, depth: int) -> Expr:
    a = scalar(gen, scope, depth).text
    form = gen.pick(("abs({0})", "float({0})", "max({0}, {1})", "min({0}, {1}, 0.4321)", "sum([{0}, {1}])", "(-{0})"))
    gen.mark("builtin " + form.split("(")[0])
    if "{1}" not in form:
        return Expr(form.format(bare(a) if form[0] != "(" else a))
    return Expr(form.format(a, scalar(gen, scope, depth).text), 6.0)


def conditional(gen: Gen, scope: Scope, depth: int) -> Expr:
    test = condition(gen, scope, depth)
    yes, no = scalar(gen, scope, depth), scalar(gen, scope, depth)
    gen.mark("conditional expression")
    text = f"({gen.probed(yes.text)} if {bare(test)} else {gen.probed(no.text)})"
    return Expr(text, max(yes.bound, no.bound))


def and_or(gen: Gen, scope: Scope, depth: int) -> Expr:
    left, right = scalar(gen, scope, depth), scalar(gen, scope, depth)
    gen.mark("and/or value")
    return Expr(f"({left.text} {gen.pick(('or', 'and'))} {gen.probed(right.text)})")


def reduction(gen: Gen, scope: Scope, depth: int) -> Expr:
    shape = arrays.some_shape(gen, scope)
    inner = arrays.array(gen, scope, shape, depth)
    forms = ("np.sum({})", "np.mean({})", "{}.sum()", "{}.mean()", "np.max({})", "{}.min()", "np.prod(np.tanh({}))")
    form = gen.pick((*forms, "np.var({})", "float(np.sum({}))"))
    gen.mark("reduction")
    return Expr(form.format(inner.text), inner.bound * (9 if "sum" in form or "var" in form else 1))


def contraction(gen: Gen, scope: Scope, depth: int) -> Expr:
    n = gen.dims[0]
    a, b = arrays.array(gen, scope, (n,), depth), arrays.array(gen, scope, (n,), depth)
    forms = ("({} @ {})", "np.dot({}, {})", "{}.dot({})", "np.inner({}, {})", 'np.einsum("i,i->", {}, {})')
    form = gen.pick(forms)
    gen.mark("einsum" if "einsum" in form else "inner product")
    return Expr(form.format(a.text, b.text), n * a.bound * b.bound)


def over_entries(gen: Gen, scope: Scope, depth: int) -> Expr:
    """A builtin sum of a generator expression or list comprehension, perhaps filtered, over a vector or list."""
    sources = [v.name for v in scope.of("list") + scope.of("array", ndim=1)]
    source = gen.pick([*sources, "range(1, 3)"])
    t = gen.name("t")
    inside = scope.child()
    inside.variables = [v for v in scope.variables if v.kind in ("scalar", "array", "list")]
    factor = scalar(gen, inside, depth)
    filtered = f" if {t} > {gen.threshold()}" if gen.chance(2) else ""
    term = gen.probed(f"{t} * {factor.text}")
    gen.mark("generator expression" if gen.pick("gl") == "g" else "list comprehension")
    comprehension = f"{term} for {t} in {source}{filtered}"
    form = gen.pick(("sum({}, 0.0)", "sum([{}], 0.0)"))
    return Expr(form.format(f"({comprehension})" if form == "sum({}, 0.0)" else comprehension), 20.0)


def call(gen: Gen, scope: Scope, depth: int) -> Expr:
    usable = [f for f in scope.funcs if not f.shape]
    if not usable:
        return lambda_call(gen, scope, depth)
    return call_of(gen, scope, gen.pick(usable), depth)


def call_of(gen: Gen, scope: Scope, func: Func, depth: int) -> Expr:
    gen.mark("helper call")
    if func.takes == "box":
        gen.mark("class")
        return Expr(f"{func.name}({scalar(gen, scope, depth).text}).at({scalar(gen, scope, depth).text})", 4.0)
    first = bare(scalar(gen, scope, depth).text)
    if not func.keyword:
        return Expr(f"{func.name}({first})")
    form = gen.pick(
        ("{0}({1})", "{0}({1}, {3})", "{0}({1}, {2}={3})", "{0}(*({1}, {3}))", "{0}(**{{'{2}': {3}}}, u={1})")
    )
    if "u=" in form and not func.name.startswith("h"):
        form = "{0}({1}, {3})"
    gen.mark("call " + form)
    return Expr(form.format(func.name, first, func.keyword, bare(scalar(gen, scope, depth).text)))


def lambda_call(gen: Gen, scope: Scope, depth: int) -> Expr:
    t = gen.name("t")
    body = f"{t} * {scalar(gen, scope, depth).text}"
    gen.mark("lambda")
    return Expr(f"(lambda {t}: {body})({bare(scalar(gen, scope, depth).text)})", 9.0)


SCALAR: tuple[Callable[[Gen, Scope, int], Expr], ...] = (
    scalar_leaf,
    binary,
    binary,
    unary(MATH),
    unary(MATH),
    divide,
    unary(NUMPY),
    with_integer,
    builtin,
    conditional,
    reduction,
    contraction,
    over_entries,
    call,
    call,
    lambda_call,
    and_or,
)


STEADY = tuple([f for f in SCALAR if f not in (builtin, and_or)])


def condition(gen: Gen, scope: Scope, depth: int) -> str:
    """The text of a truth test, in parentheses where it needs them."""
    if gen.steady:
        scope, depth = Scope(scope.of("int")), 0
    kinds = ["<", "chain", "and", "or", "not", "two values", "parity"]
    vectors = [v.name for v in scope.of("array")]
    kind = gen.pick(kinds + ["any"] if vectors else kinds)
    value = scalar(gen, scope, min(depth, 1)).text
    if kind == "parity":
        counts = [v.name for v in scope.of("int")]
        return f"({gen.pick(counts)} % 2 == 0)" if counts else f"({value} < 0.4517)"
    if kind == "<":
        return f"({value} {gen.pick('><')} {gen.threshold()})"
    if kind == "any":
        gen.mark("any/all")
        return f"{gen.pick(('np.any', 'np.all'))}({gen.pick(vectors)} > {gen.threshold()})"
    gen.mark("condition " + kind)
    if kind == "two values":
        return f"({value} >= {scalar(gen, scope, 1).text} + 0.1013)"
    if kind == "chain":
        upper = scalar(gen, scope, 0).text
        return f"({gen.threshold()} < {value} <= {gen.probed(f'({upper} + 0.7013)')})"
    if kind == "not" or depth <= 0:
        return f"(not {value} < {gen.threshold()})"
    return f"({condition(gen, scope, 0)} {kind} {gen.probed_test(condition(gen, scope, depth - 1))})"
