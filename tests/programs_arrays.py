"""Random expressions whose value is a float array of a given shape."""

from __future__ import annotations

from collections.abc import Callable

from . import programs_exprs as exprs
from .programs_scope import Expr, Gen, Scope, Shape, Var, fit


def some_shape(gen: Gen, scope: Scope, ndim: int | None = None) -> Shape:
    """The shape of an array in reach, or a new one."""
    n, m = gen.dims
    known = [v.shape for v in scope.of("array", ndim=ndim)]
    new: list[Shape] = [(n,), (m, n), (n, m), (m,)]
    return gen.pick(known + [shape for shape in new if ndim in (None, len(shape))])


def array(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """An array expression of `shape`, its entries at most about LIMIT in size."""
    if depth <= 0 or not gen.spend():
        return leaf(gen, scope, shape)
    table = COMMON + (VECTOR if len(shape) == 1 else MATRIX) + gen.array_productions
    return gen.expression(lambda: fit(gen, gen.pick(table)(gen, scope, shape, depth - 1), array=True))


def fresh(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """An array expression in memory of its own."""
    expr = array(gen, scope, shape, depth)
    if expr.owner is None:
        return expr
    form = gen.pick(("{}.copy()", "1.0 * {}", "np.array({})", "np.copy({})"))
    return Expr(form.format(expr.text), expr.bound)


def leaf(gen: Gen, scope: Scope, shape: Shape, depth: int = 0) -> Expr:
    """A variable of the shape, a view of one, or something small built from what is in reach."""
    known = [Expr(v.name, owner=v) for v in reversed(scope.shaped(shape))]
    if known and not gen.chance(4):
        return gen.pick(known)
    views = list(vector_views(gen, scope, shape) if len(shape) == 1 else matrix_views(scope, shape))
    if views and not gen.chance(4):
        gen.mark("view read")
        return gen.pick(views)
    return build(gen, scope, shape)


def vector_views(gen: Gen, scope: Scope, shape: Shape) -> list[Expr]:
    (k,) = shape
    views: list[Expr] = []
    for v in scope.of("array", ndim=1):
        if v.shape[0] >= k:
            views += [Expr(f"{v.name}[:{k}]", owner=v), Expr(f"{v.name}[-{k}:]", owner=v)]
        views.append(Expr(f"{v.name}[{gen.indices(k, v.shape[0])}]"))
        if v.shape == shape:
            views += [Expr(f"{v.name}[::-1]", owner=v), Expr(f"np.flip({v.name})", owner=v)]
    for v in scope.of("array", ndim=2):
        rows, columns = v.shape
        if columns == k:
            views += [
                Expr(f"{v.name}[{gen.index(rows)}]", owner=v),
                Expr(f"{v.name}[{gen.index(rows)}, ::-1]", owner=v),
            ]
        if rows == k:
            views.append(Expr(f"{v.name}[:, {gen.index(columns)}]", owner=v))
        if rows * columns == k:
            views.append(Expr(f"{v.name}.ravel()", owner=v))
    return views


def matrix_views(scope: Scope, shape: Shape) -> list[Expr]:
    rows, columns = shape
    views: list[Expr] = []
    for v in scope.of("array"):
        if v.shape == (columns, rows):
            views += [Expr(f"{v.name}.T", owner=v), Expr(f"np.transpose({v.name})", owner=v)]
        if v.shape == shape:
            views += [Expr(f"{v.name}[::-1]", owner=v), Expr(f"{v.name}[:, ::-1]", owner=v)]
        if v.shape == (rows * columns,) or v.shape == (columns, rows):
            views.append(Expr(f"{v.name}.reshape({rows}, {columns})", owner=v))
        if v.shape == (columns,) and rows == 1:
            views.append(Expr(f"{v.name}[np.newaxis, :]", owner=v))
    return views


def build(gen: Gen, scope: Scope, shape: Shape) -> Expr:
    if len(shape) == 1 and gen.chance(2):
        gen.mark("array from scalars")
        return Expr(f"np.array([{', '.join(exprs.scalar(gen, scope, 0).text for _ in range(shape[0]))}])")
    lists = [v for v in scope.of("list") if v.shape == shape]
    if lists:
        gen.mark("array from list")
        return Expr(f"np.array({exactly(gen.pick(lists))})")
    value = exprs.scalar(gen, scope, 1).text
    form = gen.pick(("np.full({0}, {1})", "({1} * np.ones({0}))", "(np.zeros({0}) + {1})", "({1} - np.eye({2}, {3}))"))
    if "eye" in form and len(shape) == 1:
        form = "({1} - np.arange({2}) / 4.0)"
    gen.mark("array from shape")
    return Expr(form.format(shape, value, *shape, *shape))


def exactly(var: Var) -> str:
    """`var`, cut to the length it is known by: a list that the program owns may have grown."""
    return f"{var.name}[:{var.shape[0]}]" if var.kind == "list" and var.owned else var.name


def elementwise(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    form, bound = gen.pick(exprs.NUMPY)
    gen.mark(form.split("(")[0])
    return Expr(form.format(array(gen, scope, shape, depth).text), bound)


def binary(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    left, right = array(gen, scope, shape, depth), operand(gen, scope, shape, depth)
    form = gen.pick(("({0} + {1})", "({0} * {1})", "({1} - {0})", "({0} / (1.5 + {1} ** 2))", "np.multiply({0}, {1})"))
    size = left.bound * right.bound if "*" in form or "mul" in form else left.bound + right.bound
    return Expr(form.format(left.text, right.text), left.bound if "/" in form else size)


def operand(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """Something that broadcasts to `shape`: an array of the shape, a scalar, a row or a column."""
    kind = gen.pick(("same", "scalar", "row", "column"))
    if kind == "scalar":
        gen.mark("broadcast scalar")
        return exprs.scalar(gen, scope, depth)
    if kind == "same" or len(shape) == 1:
        return array(gen, scope, shape, depth)
    gen.mark("broadcast " + kind)
    if kind == "row":
        row = array(gen, scope, shape[1:], depth)
        return Expr(gen.pick(("{}", "{}[np.newaxis, :]", "{}[None]")).format(row.text), row.bound)
    column = array(gen, scope, shape[:1], depth)
    return Expr(
        gen.pick(("{}[:, None]", "{}.reshape(-1, 1)", "np.expand_dims({}, 1)")).format(column.text), column.bound
    )


def choose(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    a, b = array(gen, scope, shape, depth), operand(gen, scope, shape, depth)
    bounds = f"{gen.pick(('-1.0537', '-0.4519'))}, {gen.pick(('0.9531', '1.7519'))}"
    form = gen.pick(
        (
            "np.where({0} > {2}, {0}, {1})",
            "np.maximum({0}, {1} + 0.1039)",
            f"np.clip({{0}}, {bounds})",
            "np.minimum({1}, {0} - 0.2017)",
            f"{{0}}.clip({bounds})",
            "np.where({0} > {2}, np.log(np.where({0} > 0.0013, {0}, 1.0)), {1})",
        )
    )
    gen.mark(form.split("(")[0].replace("{0}", "ndarray"))
    return Expr(form.format(a.text, b.text, gen.threshold()), max(a.bound, b.bound) + 0.2)


def product(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """A matrix product, an outer product or an einsum with a result of `shape`."""
    inner = gen.pick(gen.dims)
    gen.mark("matmul")
    if len(shape) == 1:
        matrix, vector = array(gen, scope, (shape[0], inner), depth), array(gen, scope, (inner,), depth)
        form = gen.pick(("({0} @ {1})", "np.dot({0}, {1})", "({1} @ {0}.T)", 'np.einsum("ij,j->i", {0}, {1})'))
        return Expr(form.format(matrix.text, vector.text), inner * matrix.bound * vector.bound)
    if gen.chance(3):
        gen.mark("outer")
        a, b = array(gen, scope, shape[:1], depth), array(gen, scope, shape[1:], depth)
        form = gen.pick(("np.outer({}, {})", 'np.einsum("i,j->ij", {}, {})'))
        return Expr(form.format(a.text, b.text), a.bound * b.bound)
    left, right = array(gen, scope, (shape[0], inner), depth), array(gen, scope, (inner, shape[1]), depth)
    form = gen.pick(("({0} @ {1})", "np.matmul({0}, {1})", "{0}.dot({1})", 'np.einsum("ij,jk->ik", {0}, {1})'))
    return Expr(form.format(left.text, right.text), inner * left.bound * right.bound)


def called(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    usable = [f for f in scope.funcs if f.shape == shape]
    if not usable:
        return elementwise(gen, scope, shape, depth)
    func = gen.pick(usable)
    gen.mark("array helper call")
    first = array(gen, scope, shape, depth)
    scale = exprs.scalar(gen, scope, depth).text
    form = gen.pick(("{0}({1})", "{0}({1}, {2})", "{0}(a={1}, s={2})", "{0}(s={2}, a={1})"))
    return Expr(form.format(func.name, first.text, scale), owner=first.owner)


def reduced(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """A vector as a matrix reduced along one axis."""
    other = gen.pick(gen.dims)
    axis = gen.number(0, 1)
    matrix = array(gen, scope, (other, shape[0]) if axis == 0 else (shape[0], other), depth)
    axis_text = gen.pick((str(axis), str(axis - 2), f"({axis},)"))
    form = gen.pick(("np.sum({0}, axis={1})", "{0}.mean(axis={1})", "{0}.sum({1})", "np.max({0}, axis={1})"))
    gen.mark("reduction with axis")
    return Expr(form.format(matrix.text, axis_text), matrix.bound * (other if "sum" in form else 1))


def joined(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """Pieces put together along the first axis."""
    first = gen.number(1, shape[0] - 1) if shape[0] > 1 else 1
    gen.mark("concatenate")
    if shape[0] == 1:
        return leaf(gen, scope, shape)
    if len(shape) == 2 and gen.chance(2):
        rows = [array(gen, scope, shape[1:], depth).text for _ in range(shape[0])]
        form = gen.pick(("np.stack([{}])", "np.array([{}])", "np.vstack(({}))"))
        return Expr(form.format(", ".join(rows)))
    head = array(gen, scope, (first, *shape[1:]), depth).text
    tail = array(gen, scope, (shape[0] - first, *shape[1:]), depth).text
    return Expr(f"np.concatenate([{head}, {tail}])")


def comprehended(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """`np.array` of a list comprehension over entries of what has the right length."""
    sources: list[Var] = [v for v in scope.variables if v.kind in ("list", "array") and v.shape[:1] == shape[:1]]
    sources = [v for v in sources if len(v.shape) == 1]
    t = gen.name("t")
    inside = scope.child()
    where = gen.pick([exactly(v) for v in sources] + [f"range({shape[0]})"])
    if where.startswith("range"):
        text = exprs.scalar(gen, inside, depth).text + f" * (0.5 + {t})"
    else:
        inside.variables.append(Var(t, "scalar"))
        text = exprs.scalar(gen, inside, depth + 1).text
    gen.mark("list comprehension")
    return Expr(f"np.array([{text} for {t} in {where}])", 9.0)


def scanned(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    inner = array(gen, scope, shape, depth)
    form = gen.pick(
        (
            "np.cumsum({})",
            "np.roll({}, 1)",
            "np.sort({})",
            "np.ravel({})",
            "np.flip({})",
            "np.squeeze({}[:, None], axis=1)",
        )
    )
    gen.mark(form.split("(")[0])
    return Expr(form.format(inner.text), inner.bound * (shape[0] if "cumsum" in form else 1), inner.owner)


def centred(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    matrix = array(gen, scope, shape, depth)
    other = array(gen, scope, shape, depth)
    axis = gen.number(0, 1)
    function = gen.pick(("mean", "sum", "max", "min"))
    gen.mark("keepdims")
    text = f"({matrix.text} - 0.25 * {other.text}.{function}(axis={axis}, keepdims=True))"
    return Expr(text, matrix.bound + other.bound)


def broadcasted(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    row = array(gen, scope, shape[1:], depth)
    form = gen.pick(("(np.broadcast_to({0}, {1}) * {2})", "(np.tile({0}, ({3}, 1)) + {2})"))
    gen.mark("broadcast_to/tile")
    return Expr(form.format(row.text, shape, exprs.scalar(gen, scope, 0).text, shape[0]), row.bound * 3)


def masked(gen: Gen, scope: Scope, shape: Shape, depth: int) -> Expr:
    """A read by mask, summed: its length depends on the data."""
    a = leaf(gen, scope, shape).text
    gen.mark("mask read")
    return Expr(f"({a} * {a}[{a} > {gen.threshold()}].sum())", 20.0)


Production = Callable[[Gen, Scope, Shape, int], Expr]
COMMON: tuple[Production, ...] = (
    leaf,
    elementwise,
    binary,
    binary,
    elementwise,
    choose,
    product,
    called,
    joined,
    masked,
)
VECTOR: tuple[Production, ...] = (reduced, comprehended, scanned)
MATRIX: tuple[Production, ...] = (centred, broadcasted)
