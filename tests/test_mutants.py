"""Real functions, changed a little at random: recorded faithfully, or refused; nothing else.

Of a mutant that runs and gives finite values the recording gives the value bit for bit and the derivative that
differences give (where they can be trusted), or a `RecordError`. `HYPOTHESIS_PROFILE=thorough` tries many more;
`MUTANTS_FROM=N` begins at another seed.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import os
import random
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from autograd_frontend import RecordError, record

from . import oracle
from .programs_corpus import Unit, load, units
from .programs_mutate import mutate

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
FIRST = int(os.environ.get("MUTANTS_FROM", "0"))
EACH = 60 if THOROUGH else 2
GROUPS = 20


class TooLong(BaseException):
    """A mutant that may never end."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def children(x: Any) -> Any:
    """The parts of a container or dataclass, by key; None for a leaf."""
    if isinstance(x, dict):
        return x
    if isinstance(x, (list, tuple)):
        return dict(enumerate(x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return {f.name: getattr(x, f.name, None) for f in dataclasses.fields(x)}
    return None


def leaves(x: Any) -> list[Any]:
    inside = children(x)
    return [x] if inside is None else [leaf for part in inside.values() for leaf in leaves(part)]


def alike(a: Any, b: Any, depth: int = 8) -> bool:
    """The same bits; objects of classes that have the same name, attribute by attribute."""
    if type(a).__name__ != type(b).__name__ or depth == 0:
        return depth == 0
    if isinstance(a, (float, np.ndarray, np.generic)):
        if isinstance(a, np.ndarray) and a.dtype == object:
            return a.shape == b.shape and alike(a.tolist(), b.tolist(), depth - 1)
        return oracle.same_bits(a, b) or (isinstance(a, float) and a != a and b != b)
    inside = children(a)
    if inside is not None:
        other = children(b)
        return list(inside) == list(other) and all(alike(inside[k], other[k], depth - 1) for k in inside)
    if isinstance(a, (int, str, bytes, complex, bool, type(None))):
        return bool(a == b)
    if hasattr(a, "__dict__") and not callable(a):
        return alike(vars(a), vars(b), depth - 1)
    return True


class Subject:
    """A module of a mutant, and its call."""

    def __init__(self, text: str, unit: Unit) -> None:
        space = load(text)
        function = space["FUNCTION"]
        self.function = getattr(function, "__wrapped__", function) if hasattr(function, "on") else function
        args = unit.args() if unit.args else space["ARGS"]
        self.args = tuple(copy.deepcopy(args))
        self.kwargs = copy.deepcopy(space["KWARGS"])

    def positional(self, *args: Any) -> Any:
        n = len(self.args)
        return self.function(*args[:n], **dict(zip(self.kwargs, args[n:])))

    def everything(self) -> tuple[Any, ...]:
        return (*self.args, *self.kwargs.values())

    def run(self, call: Any) -> tuple[Any, BaseException | None]:
        try:
            with limited(1.0):
                return call(), None
        except TooLong:
            raise
        except BaseException as error:
            return None, error


def simple(x: Any) -> bool:
    """Whether a value is made of real floating-point numbers and plain data only, in containers that `oracle` knows."""
    return all(
        not (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "cO")
        and (leaf is None or isinstance(leaf, (float, int, bool, str, np.ndarray, np.generic)))
        for leaf in oracle.flatten(x)
    )


def problem(text: str, unit: Unit) -> str | None:
    """What is wrong with a mutant's recording: None, or a description. `skip` where the plain run is of no use."""
    try:
        plain, again, traced = (Subject(text, unit) for _ in range(3))
    except Exception:
        return "skip"  # what the module does when it is loaded has changed
    expected, error = plain.run(lambda: plain.function(*plain.args, **plain.kwargs))
    repeated, _ = again.run(lambda: again.function(*again.args, **again.kwargs))
    if error is None and not (oracle.finite(expected) if simple(expected) else True):
        return "skip"
    if error is None and not alike(expected, repeated):
        return "skip"
    result, own = traced.run(lambda: record(traced.function)(*traced.args, **traced.kwargs))
    if isinstance(own, RecordError):
        return "refused"
    if isinstance(own, TypeError) and "nothing to differentiate" in str(own):
        return "skip"
    if error is not None:
        same = type(own).__name__ == type(error).__name__
        return "raises" if same else f"plain {error!r}, recorded {own or result!r}"
    if own is not None:
        return f"recording raises {own!r}"
    if not alike(result.value, expected):
        return f"value {result.value!r} instead of {expected!r}"
    if not alike(traced.everything(), plain.everything()):
        return f"arguments left as {traced.everything()!r} instead of {plain.everything()!r}"
    return slope(text, unit, expected, result)


def slope(text: str, unit: Unit, expected: Any, result: Any) -> str | None:
    """The derivative along a random direction, against differences."""
    fresh = Subject(text, unit)
    args = fresh.everything()
    if not simple(expected) or not simple(args) or not oracle.entries(expected).size:
        result.close()
        return None
    weights = oracle.random_like(expected, 7)
    gradient, error = fresh.run(lambda: result.pullback(weights))
    if error is not None:
        return "refused" if isinstance(error, RecordError) else f"pullback raises {error!r}"
    found = [leaf for leaf in leaves(gradient) if leaf is not None]
    shapes = [np.shape(leaf) for leaf in leaves(args) if oracle.is_differentiable(leaf)]
    if [np.shape(leaf) for leaf in found] != shapes:
        return f"gradient {gradient!r} for {args!r}"
    if any(isinstance(leaf, float) and 0.0 < abs(leaf) < 1e-100 for leaf in leaves(args)):
        return "untrusted"  # differences of 1e-200 and 1e-100 apart have nothing to say about the slope there
    along = oracle.random_like(args, 11)
    with limited(6.0):
        try:
            estimate = oracle.directional(fresh.positional, args, along, weights)
        except Exception:
            return "untrusted"
    size = 1.0 + abs(estimate.value)
    pulled = float(sum(np.sum(g * u) for g, u in zip(found, (x for x in leaves(along) if oracle.is_differentiable(x)))))
    if not estimate.error < 1e-6 * size or not np.isfinite(pulled):  # 0 ** 0.5, whose slope is infinite
        return "untrusted"
    return None if abs(pulled - estimate.value) <= 2e-5 * size else f"slope {pulled} instead of {estimate}"


def quietly(text: str, unit: Unit) -> str | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return problem(text, unit)
        except TooLong:
            return "skip"
        except SyntaxError:
            return "skip"


def mutant(unit: Unit, seed: int, steps: int) -> tuple[str, list[str]]:
    tree, done = mutate(ast.parse(unit.text), seed, steps)
    text = ast.unparse(tree) + "\n"
    return text.replace("np.empty", "np.zeros"), done  # what a mutant reads unwritten must be the same each time


GOOD = {None, "skip", "raises", "refused", "untrusted"}


@pytest.mark.parametrize("group", range(GROUPS))
def test_mutants_are_recorded_faithfully_or_refused(group: int) -> None:
    everything = units()
    wrong = []
    for place, unit in enumerate(everything[group::GROUPS]):
        for k in range(EACH):
            seed = 7919 * (FIRST + k) + 31 * place + group
            steps = random.Random(seed).choice((1, 1, 2, 3))
            for count in range(1, steps + 1):  # with fewer changes, if that is enough
                text, done = mutant(unit, seed, count)
                found = quietly(text, unit)
                if found not in GOOD:
                    wrong.append(f"{unit.name}, seed {seed}, {done}: {found}\n{text}")
                    break
    assert not wrong, f"{len(wrong)} mutants:\n" + "\n".join(wrong)
