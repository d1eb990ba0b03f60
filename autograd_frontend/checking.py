"""`check_grads`: derivatives compared with differences of the function, for people."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .devices import session_of
from .differences import LEAST, index, slope
from .errors import DeviceUnavailable
from .jacobians import jvp
from .remote import leaves_in
from .trace import Recorded
from .transforms import device_of, plain, vjp
from .trees import is_record, like, rebuilt

ndarray = np.ndarray
EACH = 32  # entries of an argument that are looked at one by one; of more, a sample
MODES = ("reverse", "forward")
COARSE, NOTHING = 1e-3, "not compared"  # the relative error of differences from which on they tell nothing
HEADER = ("order", "mode", "argument", "entries", "largest error", "at")


def check_grads(
    f: Callable[..., Any], *args: Any, order: int = 2, rtol: float = 1e-6, show: bool = True, modes: Any = MODES,
    **kwargs: Any,
) -> None:  # fmt: skip
    """Compare the derivatives of `f` at `args`, in reverse and in forward mode, with extrapolated differences.

    Order 1 is the gradient of a weighted sum of the entries of the value; order 2 that of a directional derivative, and
    so on. Every entry of the arguments is moved alone (of more than 32, a sample). Prints a table, with `show`, and
    raises AssertionError that names order, mode, argument and entry where they disagree by more than `rtol` of the
    derivative and the differences do not show themselves to be worse. Where they show a kink, are too coarse, or find
    no values, nothing is compared, and the table says so; AssertionError if that is so everywhere. `modes` may leave
    one of the two out, for instance where a primitive has no tangent rule. Arguments are float64, or containers of it;
    what is narrower is compared to 2e-3. Other keywords are handed to `f`, and stay fixed.
    """
    if (device := device_of(f)) != "cpu":
        raise DeviceUnavailable(f'check_grads does not run on {device}: write check_grads(f.on("cpu"), ...)')
    if any(session_of(x) is not None for x in leaves_in((args, kwargs))):
        raise DeviceUnavailable("check_grads does not run on a GPU, where an argument is: pass x.get()")
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ValueError(f"check_grads: order is {order!r}, expected a whole number, at least 1")
    if not modes or not set(modes) <= set(MODES):
        raise ValueError(f"check_grads: modes is {modes!r}, expected some of {MODES}")
    if kwargs:
        f = functools.partial(plain(f), **kwargs)
    recorded = f if isinstance(f, Recorded) else Recorded(plain(f))
    rng, table = np.random.default_rng(0), [HEADER]
    names = [recorded.name_of(i) for i in range(len(args))]
    target: Callable[..., Any] = recorded.__wrapped__
    narrow = any(np.asarray(x).dtype.itemsize < 8 for _, x in numbers(args, ""))
    rtol = max(rtol, 2e-3) if narrow else rtol
    try:
        for k in range(1, order + 1):
            weights = drawn(target(*copy.deepcopy(args)), rng)
            direction = drawn(args, rng)
            if "reverse" in modes:
                reverse(target, args, names, weights, k, rtol, table, rng)
            if "forward" in modes:
                forward(target, args, names, direction, k, rtol, table)
            target = directional(target, weights, direction)
        if all(row[4] == NOTHING for row in table[1:]):
            raise AssertionError("check_grads could compare nothing: everywhere a kink, or no finite values around")
    finally:
        if show:
            print(text_of(table))


def directional(f: Callable[..., Any], weights: Any, direction: Any) -> Callable[..., Any]:
    """The derivative of `<weights, f(*args)>` along a direction, as a function."""

    def along(*args: Any) -> Any:
        _, pull = vjp(f, *args)
        gradient = pull(weights)
        return product((gradient,) if len(moving(direction)) == 1 else gradient, moving(direction))

    return along


def moving(direction: Any) -> list[Any]:
    """The arguments that are differentiable."""
    return [d for d in direction if d is not None]


def product(gradient: Any, direction: Any) -> Any:
    """The inner product of two values of the same structure."""
    if isinstance(direction, dict):
        return product([gradient[k] for k in direction], list(direction.values()))
    if isinstance(direction, (list, tuple)):
        total: Any = 0.0
        for g, d in zip(gradient, direction, strict=True):
            if d is not None:
                total = total + product(g, d)
        return total
    if dataclasses.is_dataclass(direction):
        names = [field.name for field in dataclasses.fields(direction)]
        return product([getattr(gradient, n) for n in names], [getattr(direction, n) for n in names])
    return np.sum(gradient * direction)


def mapped(x: Any, leaf: Callable[[Any], Any]) -> Any:
    """The same structure, with `leaf` of every number and array, and None in place of plain data."""
    if isinstance(x, dict):
        items = {k: mapped(e, leaf) for k, e in x.items()}
        return None if all(e is None for e in items.values()) else items if type(x) is dict else rebuilt(x, items)
    if isinstance(x, (list, tuple)):
        entries = [mapped(e, leaf) for e in x]
        return None if all(e is None for e in entries) else like(x, entries)
    if is_record(x):
        found = {field.name: mapped(getattr(x, field.name), leaf) for field in dataclasses.fields(x)}
        if all(e is None for e in found.values()):
            return None
        y = copy.copy(x)
        for name, e in found.items():
            object.__setattr__(y, name, e)
        return y
    return leaf(x) if is_real(x) else None


def is_real(x: Any) -> bool:
    return isinstance(x, (float, np.floating)) or (isinstance(x, ndarray) and x.dtype.kind == "f")


def numbers(x: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every number and array in a value, with how one writes it."""
    if isinstance(x, dict):
        for k, e in x.items():
            yield from numbers(e, f"{path}[{k!r}]")
    elif isinstance(x, (list, tuple)):
        for i, e in enumerate(x):
            yield from numbers(e, f"{path}[{i}]")
    elif is_record(x):
        for field in dataclasses.fields(x):
            yield from numbers(getattr(x, field.name), f"{path}.{field.name}")
    elif is_real(x):
        yield path, x


def drawn(x: Any, rng: Any) -> Any:
    """Numbers of ordinary size in the structure of a value; None in place of plain data."""

    def one(e: Any) -> Any:
        d = rng.uniform(0.5, 1.5, np.shape(e)) * rng.choice([-1.0, 1.0], np.shape(e))
        return d.astype(e.dtype) if isinstance(e, ndarray) else type(e)(d)

    r = mapped(x, one)
    if r is None:
        raise TypeError("check_grads: there is nothing to differentiate among the arguments, or in the value")
    return r


class Moved:
    """A function along a line: `at(steps)` is the vector of its results where the arguments are moved by `steps[0]`."""

    def __init__(self, f: Callable[..., Any], args: Any, weights: Any) -> None:
        self.f, self.args, self.weights = f, args, weights
        self.value = self.vector(f(*copy.deepcopy(args)))

    def vector(self, value: Any) -> Any:
        if self.weights is not None:
            return np.array([float(product(value, self.weights))])
        return np.concatenate([np.ravel(x).astype(float) for _, x in numbers(value, "")])

    def at(self, steps: dict[int, Any]) -> Any:
        new = shifted(copy.deepcopy(self.args), steps[0])
        try:
            return self.vector(self.f(*new))
        except (ArithmeticError, ValueError):
            return np.full(self.value.shape, np.nan)


class Step:
    """A direction for all arguments, which can be scaled."""

    def __init__(self, parts: Any) -> None:
        self.parts = parts

    def __rmul__(self, h: float) -> Any:
        return mapped(self.parts, lambda d: (h * d).astype(d.dtype) if isinstance(d, ndarray) else type(d)(h * d))


def shifted(x: Any, d: Any) -> Any:
    """A value moved by a step of its structure."""
    if d is None:
        return x
    if isinstance(x, dict):
        items = {k: shifted(e, d[k]) for k, e in x.items()}
        return items if type(x) is dict else rebuilt(x, items)
    if isinstance(x, (list, tuple)):
        return like(x, [shifted(e, s) for e, s in zip(x, d, strict=True)])
    if dataclasses.is_dataclass(x):
        for field in dataclasses.fields(x):
            object.__setattr__(x, field.name, shifted(getattr(x, field.name), getattr(d, field.name)))
        return x
    return x + d if isinstance(x, ndarray) else type(x)(x + d)


def reverse(
    f: Any, args: Any, names: list[str], weights: Any, order: int, rtol: float, table: list[Any], rng: Any
) -> None:
    """Compare the gradient, entry by entry."""
    gradients = vjp(f, *copy.deepcopy(args))[1](weights)
    differentiable = [i for i, x in enumerate(args) if mapped(x, lambda e: e) is not None]
    found = dict(zip(differentiable, (gradients,) if len(differentiable) == 1 else gradients, strict=True))
    moved = Moved(f, args, weights)
    for i in differentiable:
        for (path, x), (_, g) in zip(numbers(args[i], names[i]), numbers(found[i], names[i]), strict=True):
            n, errors = int(np.size(x)), []
            picked = np.arange(n) if n <= EACH else np.sort(rng.choice(n, EACH, replace=False))
            for k in map(int, picked):
                size = max(abs(float(np.ravel(x)[k])), LEAST)
                step = only(args, i, x, k, size)
                want, error = slope(moved, {0: Step(step)}, None)  # type: ignore[arg-type]
                got = float(np.ravel(g)[k])
                where = f"{path}{index(k, np.shape(x))}"
                errors.append((judge(got, want[0] / size, error[0] / size, rtol, order, "reverse", where), where))
            table.append((order, "reverse", path, *summary(errors, n)))


def only(args: Any, i: int, x: Any, k: int, size: float) -> Any:
    """A step of the arguments in which only the entry `k` of `x`, somewhere in argument `i`, moves."""

    def one(e: Any) -> Any:
        if e is not x:
            return np.zeros(e.shape, e.dtype) if isinstance(e, ndarray) else type(e)(0)
        if not isinstance(e, ndarray):
            return type(e)(size)
        d = np.zeros(e.shape, e.dtype)
        d.flat[k] = size
        return d

    return tuple([mapped(a, one) if j == i else None for j, a in enumerate(args)])


def forward(
    f: Any, args: Any, names: list[str], direction: Any, order: int, rtol: float, table: list[Any]
) -> None:
    """Compare the tangent of every entry of the value, for all arguments moving together."""
    value, tangent = jvp(f, copy.deepcopy(args), direction)
    want, error = slope(Moved(f, args, None), {0: Step(direction)}, None)  # type: ignore[arg-type]
    at, errors = 0, []
    for (path, x), t in zip(numbers(value, "value"), aligned(tangent, value), strict=True):
        for k in range(np.size(x)):
            where = f"{path}{index(k, np.shape(x))}"
            got = float(np.ravel(t)[k]) if t is not None else 0.0
            errors.append((judge(got, want[at], error[at], rtol, order, "forward", where), where))
            at += 1
    together = ", ".join(name for name, d in zip(names, direction, strict=True) if d is not None)
    table.append((order, "forward", together, *summary(errors, at)))


def aligned(t: Any, x: Any) -> Iterator[Any]:
    """The tangents of the numbers and arrays of a value, None where nothing reached one."""
    if isinstance(x, dict):
        for k, e in x.items():
            yield from aligned(None if t is None else t[k], e)
    elif isinstance(x, (list, tuple)):
        for i, e in enumerate(x):
            yield from aligned(None if t is None else t[i], e)
    elif is_record(x):
        for field in dataclasses.fields(x):
            yield from aligned(None if t is None else getattr(t, field.name), getattr(x, field.name))
    elif is_real(x):
        yield t


def summary(errors: list[Any], n: int) -> tuple[Any, Any, str]:
    """What the table says of `n` entries: how many, the largest error and where it is."""
    compared = [pair for pair in errors if pair[0] is not None]
    if not compared and errors:
        return n, NOTHING, "(kink, or no values around)"
    left = len(errors) - len(compared)
    return f"{n} ({left} not compared)" if left else n, *max(compared, default=(0.0, ""))


def judge(got: float, want: float, error: float, rtol: float, order: int, mode: str, where: str) -> float | None:
    """The relative error; AssertionError where it cannot be one of the differences, None where they do not tell."""
    if not np.isfinite(error):  # a kink, or no values around
        return None
    off = abs(got - want)
    if not off <= rtol * max(abs(want), abs(got)) + 10 * error + 1e-12:
        what = "derivative" if order == 1 else f"derivative of order {order}"
        shown = f"{got:.10g}, differences give {want:.10g}"
        raise AssertionError(f"the {what} in {mode} mode is wrong for {where}: {shown}")
    return off / max(1.0, abs(want)) if error <= max(COARSE, 10 * rtol) * max(1.0, abs(want), abs(got)) else None


def text_of(table: list[Any]) -> str:
    """The table as text."""
    rows = [[f"{c:.1e}" if isinstance(c, float) else str(c) for c in row] for row in table]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)
