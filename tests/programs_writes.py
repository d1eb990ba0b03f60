"""Random statements that write into arrays: entries, slices, masks, views, aliases, `out=`."""

from __future__ import annotations

from collections.abc import Callable

from . import programs_arrays as arrays
from . import programs_exprs as exprs
from .programs_scope import Gen, Scope, Var, bare

Lines = list[str]

# {b} the vector, {s} a scalar, {a} a vector of its length, {i} {j} indices, {c} a threshold, {n} its length
VECTOR_FORMS = (
    "{b}[{i}] = {s}",
    "{b}[{i}] += {s}",
    "{b}[{i}] *= 0.5 + {b}[{j}]",
    "{b}[1:] += 0.5 * {b}[:-1]",
    "{b}[:-1] = {b}[1:]",
    "{b}[1:] = {b}[:-1]",
    "{b}[::-1] = {a}",
    "{b}[::-1] += 0.25 * {b}",
    "{b}[{n1}:0:-1] = {s}",
    "{b}[::2] -= {s}",
    "{b}[{b} > {c}] = {s}",
    "{b}[{b} > {c}] *= 0.5",
    "{b}[{a} > {c}] += {a}[{a} > {c}]",
    "{b}[{idx}] = {three}",
    "{b}[{idx}] += {three}",
    "np.add.at({b}, {idx}, {three})",
    "np.subtract.at({b}, {idx}, {s})",
    "{b}[...] = {a}",
    "{b}[:] = {s}",
    "{b} += {a}",
    "{b} *= 0.5 + {s} / 4.0",
    "{b} -= {b}[::-1]",
    "np.multiply({b}, {a}, out={b})",
    "np.tanh({b}, out={b})",
    "np.add({a}, {s}, out={b})",
    "{b}[{i}], {b}[{j}] = {b}[{j}], {b}[{i}]",
    "{b}[{i}] = {b}[{j}] = {s}",
    "{b}[1:][0] = {s}",
    "{b}[1:][::-1] *= {s}",
    "{b}[-1:] = [{s}]",
    "{b}.fill({s})",
    "{b}[{idx}] = {b}[::-1][{idx}]",
)
MATRIX_FORMS = (
    "{b}[{i}] = {row}",
    "{b}[:, {j}] = {column}",
    "{b}[{i}, {j}] = {s}",
    "{b}[{i}, {j}] += {s}",
    "{b}[:, {j}] += {s}",
    "{b}[{i}] *= {row}",
    "{b}[::-1, {j}] = {column}",
    "{b}[{i}, ::-1] += {row}",
    "{b}[{b} > {c}] = {s}",
    "{b}[{b} < {c}] *= 0.5",
    "{b}[[0, 1]] = {b}[[1, 0]]",
    "{b}[:, [0, 1]] = {b}[:, [1, 0]]",
    "{b}[0], {b}[1] = {b}[1].copy(), {b}[0].copy()",
    "{b}[0], {b}[1] = {b}[1], {b}[0]",
    "{b}[[0, 1, 0], [1, 0, 1]] += {three}",
    "np.add.at({b}, ([0, 1, 0], [1, 1, 1]), {three})",
    "np.add.at({b}, [0, -1, 0], {row})",
    "{b}[1:] += 0.5 * {b}[:-1]",
    "{b}[:, 1:] = {b}[:, :-1]",
    "{b}.T[{j}] = {column}",
    "{b}.T[{j}][::-1] += {s}",
    "{b} += {column}[:, None]",
    "{b} *= {row}",
    "{b}[..., {j}] -= {s}",
    "{b}[np.newaxis][0, {i}] = {row}",
    "{b}.ravel()[1] = {s}",
    "{b}.reshape(-1)[1::2] *= {s}",
    "{b}[{i}][{j}] = {s}",
    "np.multiply({b}, {s}, out={b})",
    "np.add({b}[{i}], {row}, out={b}[{i}])",
    "{b}[({row} > {c}).nonzero()[0] * 0] = {s}",
    "{b}[:, {row} > {c}] = {s}",
)


def target(gen: Gen, scope: Scope, ndim: int) -> tuple[Lines, Var]:
    """An array that may be written into, with the line that makes it where none is in reach."""
    known = [v for v in scope.of("array", ndim=ndim, owned=True) if min(v.shape) >= 2]
    if known and not gen.chance(5):
        return [], gen.pick(known[::-1])
    return new_array(gen, scope, arrays.some_shape(gen, scope, ndim))


def new_array(gen: Gen, scope: Scope, shape: tuple[int, ...]) -> tuple[Lines, Var]:
    var = Var(gen.name("b"), "array", shape)
    form = gen.pick(("expression", "np.zeros({})", "np.ones({})", "copy", "np.zeros_like({})", "np.full_like({}, 0.5)"))
    source = arrays.leaf(gen, scope, shape).text
    gen.mark("array from " + form.split("(")[0])
    if form == "expression":
        text = bare(arrays.fresh(gen, scope, shape, 1).text)
    elif form == "copy":
        text = f"{source}.copy()"
    else:
        text = form.format(source if "like" in form else shape)
    scope.variables.append(var)
    return [f"{var.name} = {text}"], var


def write(gen: Gen, scope: Scope) -> Lines:
    """One write of the table into an array, perhaps followed by a read of what was written."""
    ndim = gen.number(1, 2)
    lines, var = target(gen, scope, ndim)
    form = gen.pick(VECTOR_FORMS if ndim == 1 else MATRIX_FORMS)
    gen.mark("write " + form)
    if scope.loops:
        gen.mark("write in a loop")
    lines += fill(gen, scope, var, form)
    if gen.chance(3):
        lines += read_back(gen, scope, var)
    return lines


def fill(gen: Gen, scope: Scope, var: Var, form: str) -> Lines:
    shape = var.shape
    parts: dict[str, str] = {"b": var.name, "n1": str(shape[0] - 1), "c": gen.threshold()}
    parts |= {"i": gen.index(shape[0]), "j": gen.index(shape[-1])}
    if "{s}" in form:
        parts["s"] = exprs.scalar(gen, scope, 1).text
    if "{a}" in form:
        parts["a"] = arrays.array(gen, scope, shape, 1).text
    if "{idx}" in form:
        parts["idx"] = gen.indices(3, shape[0])
    if "{three}" in form:
        parts["three"] = arrays.array(gen, scope, (3,), 1).text
    if "{row}" in form:
        parts["row"] = arrays.array(gen, scope, shape[1:], 1).text
    if "{column}" in form:
        parts["column"] = arrays.array(gen, scope, shape[:1], 1).text
    return [form.format(**parts)]


def read_back(gen: Gen, scope: Scope, var: Var) -> Lines:
    name = gen.name("v")
    gen.mark("read after write")
    places = ", ".join(gen.index(length) for length in var.shape)
    text = gen.pick((f"{var.name}[{places}]", f"0.5 * {var.name}.sum()", f"np.mean({var.name} * {var.name})"))
    scope.variables.append(Var(name, "scalar"))
    return [f"{name} = {text}"]


def through_view(gen: Gen, scope: Scope) -> Lines:
    """A view, a view of it perhaps, written through under its own name."""
    lines, base = target(gen, scope, gen.number(1, 2))
    var = base
    for _ in range(gen.number(1, 2)):
        var, line = view_of(gen, var)
        lines.append(line)
        scope.variables.append(var)
    gen.mark("view written through")
    if lines and gen.chance(3):
        lines.append(f"{base.name}[{gen.index(base.shape[0])}] = {exprs.scalar(gen, scope, 0).text}")
    form = gen.pick(VECTOR_FORMS if len(var.shape) == 1 else MATRIX_FORMS)
    if fits(form, var):
        lines += fill(gen, scope, var, form)
    else:
        lines.append(f"{var.name} *= {exprs.scalar(gen, scope, 0).text}")
    return lines + read_back(gen, scope, base)


def fits(form: str, var: Var) -> bool:
    """Whether the lengths allow the form: views may be a single row or entry."""
    return all(length >= 2 for length in var.shape)


def view_of(gen: Gen, var: Var) -> tuple[Var, str]:
    name = gen.name("w")
    n = var.shape[0]
    choices = [("{}", var.shape), ("{}[::-1]", var.shape), ("{}[1:]", (n - 1, *var.shape[1:])), ("{}[...]", var.shape)]
    if len(var.shape) == 2:
        m = var.shape[1]
        choices += [("{}.T", (m, n)), (f"{{}}[{gen.index(n)}]", (m,)), (f"{{}}[:, {gen.index(m)}]", (n,))]
        choices += [("{}.ravel()", (n * m,)), (f"{{}}.reshape({m}, {n})", (m, n)), ("{}[:, ::-1]", (n, m))]
        choices += [("np.transpose({})", (m, n)), ("{}.swapaxes(0, 1)", (m, n))]
    else:
        choices += [("{}.reshape(-1)", var.shape), ("{}.ravel()", var.shape), ("np.asarray({})", var.shape)]
    usable = [(form, shape) for form, shape in choices if all(length > 0 for length in shape)]
    form, shape = gen.pick(usable)
    gen.mark("alias" if form == "{}" else "view " + form.split("[")[0])
    return Var(name, "array", shape, var.owned), f"{name} = {form.format(var.name)}"


def saved_then_written(gen: Gen, scope: Scope) -> Lines:
    """`y = a * a; a[0] = 5.0`: the derivative needs what was overwritten."""
    lines, var = target(gen, scope, gen.number(1, 2))
    name = gen.name("y")
    form = gen.pick(("{0} * {0}", "np.sin({0})", "{0} ** 2 + 1.0", "np.exp({0} / 4.0)", "{0} / (1.0 + {0} * {0})"))
    lines.append(f"{name} = {form.format(var.name)}")
    value = exprs.scalar(gen, scope, 0).text
    form = gen.pick(("{0}[0] = 5.0", "{0}[...] = 0.0", "{0} += {1}", "{0}[{2}] *= {1}", "{0} *= {0}", "{0}[:1] = {1}"))
    lines.append(form.format(var.name, value, gen.index(var.shape[0])))
    scope.variables.append(Var(name, "array", var.shape))
    gen.mark("saved then overwritten")
    return lines


def filled(gen: Gen, scope: Scope) -> Lines:
    """An empty array, filled in a loop from what was filled before."""
    shape = arrays.some_shape(gen, scope)
    name, k = gen.name("e"), gen.name("k")
    source = arrays.leaf(gen, scope, shape).text
    made = gen.pick((f"np.empty({shape})", f"np.empty_like({source})", f"np.zeros({shape})"))
    inside = scope.child(loop=True)
    length = shape[0]
    if len(shape) == 1:
        later, first = exprs.scalar(gen, inside, 1).text, exprs.scalar(gen, inside, 0).text
        value = f"{later} + 0.5 * {name}[{k} - 1] if {k} > 0 else {first}"
    else:
        value = bare(arrays.array(gen, inside, shape[1:], 1).text)
    order = gen.pick((f"range({length})", f"range({length})", f"[*range({length})]"))
    scope.variables.append(Var(name, "array", shape))
    gen.mark("empty filled in a loop")
    return [f"{name} = {made}", f"for {k} in {order}:", f"    {name}[{k}] = {value}"]


def rows_in_loop(gen: Gen, scope: Scope) -> Lines:
    """Rows of a matrix are views: written through in a loop over them."""
    lines, var = target(gen, scope, 2)
    row, k = gen.name("r"), gen.name("k")
    value = exprs.scalar(gen, scope, 0).text
    head = gen.pick(
        (f"for {row} in {var.name}:", f"for {k}, {row} in enumerate({var.name}):", f"for {row} in {var.name}.T:")
    )
    body = gen.pick((f"{row} += {value}", f"{row}[0] = {value} * {row}[-1]", f"{row}[::-1] *= 0.5", f"{row} *= {row}"))
    gen.mark("rows written in a loop")
    return [*lines, head, "    " + body]


def boxed(gen: Gen, scope: Scope) -> Lines:
    """An array reached through a list or dict and written there."""
    lines, var = target(gen, scope, 1)
    box = gen.name("box")
    form = gen.pick(("[{0}, 1.5]|{1}[0]", "{{'a': {0}}}|{1}['a']", "(0.5, {0})|{1}[1]"))
    made, place = (part.format(var.name, box) for part in form.split("|"))
    value = exprs.scalar(gen, scope, 1).text
    if "(" == made[0]:
        write_line = f"{place}[{gen.index(var.shape[0])}] = {value}"
    else:
        write_line = gen.pick((f"{place} += {value}", f"{place}[{gen.index(var.shape[0])}] *= {value}"))
    gen.mark("array in a container")
    return [*lines, f"{box} = {made}", write_line, *read_back(gen, scope, var)]


WRITES: tuple[Callable[[Gen, Scope], Lines], ...] = (
    write,
    write,
    write,
    write,
    write,
    saved_then_written,
    through_view,
    filled,
    rows_in_loop,
    boxed,
)
