"""A primitive's rules compared with what its function does: at its first recorded call, and with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ops.block import like
from .primitive_calls import Call, Kind
from .primitive_rules import gradients, pushed, still

ndarray = np.ndarray
ROWS = 10  # steps, each half of the one before
FIRST = 0.02  # in units of the argument
LEAST = 0.01  # the unit of an argument that is small
EACH = 32  # entries looked at one by one; of more, a sample, and all of them together


def examine(c: Call, results: list[Any], leaves: list[Any]) -> None:
    """The result has the shape that the rules say; with `check`, the derivatives are those of the function."""
    p = c.p
    if p.elementwise:
        broadcasts(c, leaves)
    if "shape" in p.rules:
        shaped(c, leaves)
    if p.check:
        kinds = tuple([(i, k.type, k.shape, str(k.dtype)) for i, k in c.kinds.items()])
        if kinds not in p.seen:
            verify(c, leaves)
            p.seen.add(kinds)


def broadcasts(c: Call, leaves: list[Any]) -> None:
    if c.many is not None:
        raise c.error(f"{c.p.name} is elementwise, and gives several results", "Pass elementwise=False.")
    shapes = [x.shape for x in leaves if isinstance(x, ndarray)]
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        expected = (-1,)
    if c.results[0].shape != expected:
        raise c.error(
            f"{c.p.name} is elementwise, and gives {c.results[0]!r} for arguments of shapes {shapes}",
            "Pass elementwise=False.",
        )


def shaped(c: Call, leaves: list[Any]) -> None:
    """The shape rule says what came."""
    likes = [like(x) if hasattr(x, "dtype") or type(x) is float else x for x in leaves]
    said = c.p.rules["shape"].function(*c.arguments(likes), **c.settings)
    every = [said] if c.many is None else list(said)
    for i, (kind, one) in enumerate(zip(c.results, every, strict=False)):
        fits = isinstance(one, tuple) and len(one) == 2 and kind is not None
        if kind is not None and not (fits and tuple(one[0]) == kind.shape and same(one[1], kind.dtype)):
            which = "" if c.many is None else f" for result {i}"
            raise c.error(
                f"the shape rule of {c.p.name} gives {one!r}{which}, and what comes is {kind!r}",
                "Return (shape, dtype) of the result.",
            )


def same(said: Any, dtype: Any) -> bool:
    return dtype is None or (said is not None and np.dtype(said) == dtype)


# Differences


class Checked:
    """The function of a call on wider numbers: `at(steps)` are its results, one vector, where the recorded operands are
    moved by these steps."""

    def __init__(self, c: Call, leaves: list[Any]) -> None:
        self.c = c
        for widen in (widened, kept):  # a function in C may insist on its own element type
            self.leaves = [widen(x) for x in leaves]
            try:
                self.results = self.call(self.leaves)
            except Exception:
                if widen is kept:
                    raise
                continue
            if [Kind(x).shape for x in self.results] == [k.shape if k else () for k in c.results]:
                break
        self.moved = [i for i in c.kinds if isinstance(self.leaves[i], (float, np.floating, ndarray))]
        wide = [*(self.leaves[i] for i in self.moved), *(x for x, k in zip(self.results, c.results, strict=True) if k)]
        self.tolerance = 1e-6 if all(np.asarray(x).dtype.itemsize >= 8 for x in wide) else 2e-3
        self.value = self.vector(self.results)

    def call(self, leaves: list[Any]) -> list[Any]:
        c = self.c
        r = c.p.__wrapped__(*c.arguments([x.copy() if type(x) is ndarray else x for x in leaves]), **c.settings)
        return [r] if c.many is None else list(r)

    def vector(self, results: list[Any]) -> Any:
        parts = [np.ravel(x).astype(float) for x, kind in zip(results, self.c.results, strict=True) if kind]
        return np.concatenate(parts)

    def at(self, steps: dict[int, Any]) -> Any:
        """NaN where there is no value, or one of another shape."""
        new = list(self.leaves)
        for i, d in steps.items():
            x = new[i]
            new[i] = (x + d).astype(x.dtype) if isinstance(x, ndarray) else type(x)(x + d)
        try:
            v = self.vector(self.call(new))
        except (ArithmeticError, ValueError):
            v = np.zeros(0)
        return v if v.shape == self.value.shape else np.full(self.value.shape, np.nan)


def widened(x: Any) -> Any:
    if isinstance(x, (ndarray, np.floating)) and x.dtype.kind == "f" and x.dtype.itemsize < 8:
        return x.astype(np.float64)
    return x


def kept(x: Any) -> Any:
    return x


def slope(f: Checked, direction: dict[int, Any], weights: Any) -> tuple[Any, Any]:
    """The derivatives of the results (with `weights`, of their weighted sum) along a direction, and how far they may be
    off: central differences at halved steps, extrapolated (Ridders); infinite at a kink."""

    def at(h: float) -> Any:
        v = f.at({i: h * d for i, d in direction.items()})
        return v if weights is None else np.array([v @ weights])

    middle = f.value if weights is None else np.array([f.value @ weights])
    best, error = np.full(middle.shape, np.nan), np.full(middle.shape, np.inf)
    row: list[Any] = []
    gaps = []
    h = FIRST
    for _ in range(ROWS):
        up, down = at(h), at(-h)
        gaps.append(abs(up + down - 2 * middle))
        new = [(up - down) / (2 * h)]
        for k, old in enumerate(row):
            factor = 4.0 ** (k + 1)
            new.append((factor * new[k] - old) / (factor - 1))
            far = np.maximum(abs(new[k + 1] - new[k]), abs(new[k + 1] - old))
            better = far < error
            best, error = np.where(better, new[k + 1], best), np.where(better, far, error)
        row = new
        if len(gaps) > 2 and np.all(error <= 1e-10 * abs(best)):
            break
        h /= 2
    noise = 1e-13 * (abs(middle) + 1e-300)
    kink = (gaps[-1] > 0.35 * gaps[-2]) & (gaps[-1] > 1e3 * noise) & (gaps[-1] > 1e-3 * h * abs(best))
    return best, np.where(kink, np.inf, error + noise / h)


def disagree(f: Checked, got: Any, found: Any, error: Any) -> Any:
    """Where what a rule gives is not what differences show. Where these show nothing, it is not."""
    allowed = f.tolerance * np.maximum(abs(found), abs(got)) + 10 * error
    return np.isfinite(error) & ~(abs(got - found) <= allowed)


def unit(x: Any) -> Any:
    """How far the entries of an argument are moved."""
    return np.maximum(abs(x), LEAST)


def verify(c: Call, leaves: list[Any]) -> None:
    """RecordError where the pullback or the tangent is not the derivative of the function."""
    with np.errstate(all="ignore"):
        f = Checked(c, leaves)
        again = f.vector(f.call(f.leaves))
        if not np.array_equal(again, f.value, equal_nan=True):
            reason = f"{c.p.name} gives another result when it is called again"
            raise c.error(reason, "Pass random numbers as arguments.")
        rng = np.random.default_rng(0)
        weights = rng.uniform(0.5, 1.5, f.value.shape) * rng.choice([-1.0, 1.0], f.value.shape)
        if f.value.size == 1:
            weights = np.ones(1)  # the numbers in a message are those of the function
        found = gradients(c, cotangent(c, f.results, weights), f.results, list(f.leaves))
        for i in f.moved:
            pullback_of(f, i, found[i], weights, rng)
            if "tangent" in c.p.rules:
                tangent_of(f, i, rng)


def cotangent(c: Call, results: list[Any], weights: Any) -> Any:
    """`weights` in the structure of the result."""
    parts, at = {}, 0
    for i, (x, kind) in enumerate(zip(results, c.results, strict=True)):
        if kind is not None:
            n = int(np.size(x))
            w = weights[at : at + n]
            parts[i] = w.reshape(x.shape).astype(x.dtype) if isinstance(x, ndarray) else type(x)(w[0])
            at += n
    return parts[0] if c.many is None else parts


def pullback_of(f: Checked, i: int, got: Any, weights: Any, rng: Any) -> None:
    """Compare the gradient in operand `i`: entry by entry, or as a whole and a sample of its entries."""
    x = f.leaves[i]
    n, shape = int(np.size(x)), np.shape(x)
    g = summed(np.asarray(got, float), shape).ravel()
    units = np.ravel(unit(np.asarray(x, float)))
    signs = rng.choice([-1.0, 1.0], n)

    def wrong(picked: Any) -> Any:
        d = np.zeros(n)
        d[picked] = (signs * units)[picked]
        found, error = slope(f, {i: d.reshape(shape) if shape else float(d[0])}, weights)
        along = float(g[picked] @ d[picked])
        return (along, found[0]) if disagree(f, np.array([along]), found, error)[0] else None

    alone = np.arange(n) if n <= EACH else np.sort(rng.choice(n, EACH, replace=False))
    entry = next((int(k) for k in alone if wrong([k])), None)
    if entry is None and n > EACH and wrong(np.arange(n)):
        entry = searched(wrong, n)
    if entry is not None:
        came, found = wrong([entry])
        scale = signs[entry] * units[entry]
        raise mistaken(f, "pullback", f.c.path(i) + index(entry, shape), came / scale, found / scale)


def searched(wrong: Callable[[Any], Any], n: int) -> int | None:
    """The entry that makes the whole wrong, by halves; None where that cannot be told."""
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if wrong(np.arange(low, middle)):
            high = middle
        else:
            low = middle
    return low if wrong([low]) else None


def summed(g: Any, shape: tuple[int, ...]) -> Any:
    """A gradient in the shape of its operand: an elementwise rule may give that of the result."""
    if g.shape == shape:
        return g
    if g.ndim == 0:
        return np.full(shape, g)
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple([k for k, m in enumerate(shape) if m == 1 and g.shape[k] != 1]), keepdims=True)


def tangent_of(f: Checked, i: int, rng: Any) -> None:
    """Compare the tangent of every entry of the results, for a tangent of operand `i` alone."""
    x = f.leaves[i]
    d = rng.uniform(0.5, 1.5, np.shape(x)) * unit(np.asarray(x, float))
    step = d.astype(x.dtype) if isinstance(x, ndarray) else type(x)(d)
    tangents = [still(x) for x in f.leaves]
    tangents[i] = step
    given = pushed(f.c, tangents, f.results, f.leaves)
    every = [given] if f.c.many is None else list(given)
    found, error = slope(f, {i: step}, None)
    got = f.vector([np.broadcast_to(t, k.shape) if k else t for t, k in zip(every, f.c.results, strict=True)])
    bad = np.flatnonzero(disagree(f, got, found, error))
    if bad.size:
        shape = f.c.results[0].shape if f.c.many is None else got.shape
        where = f"{f.c.path(i)}, in entry {index(int(bad[0]), shape) or '0'} of the result"
        raise mistaken(f, "tangent", where, got[bad[0]], found[bad[0]])


def index(entry: int, shape: tuple[int, ...]) -> str:
    """An entry as one writes it: [2] or [0, 1]."""
    return str([int(k) for k in np.unravel_index(entry, shape)]) if shape else ""


def mistaken(f: Checked, what: str, where: str, got: float, found: float) -> Exception:
    return f.c.error(
        f"the {what} of {f.c.p.name} is wrong for {where}: it gives {got + 0.0:.6g}, differences give {found:.6g}",
        f"Correct the {what}.",
    )
