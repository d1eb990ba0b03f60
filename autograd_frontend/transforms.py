"""Derivatives of plain or recorded functions, as functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .errors import an
from .leftovers import leaves_nothing
from .recording import ACTIVE, is_complex
from .remote import host_value, tape_for
from .running import calm, not_differentiable, resume, run, run_floats
from .tape import Ref, Scalar
from .trace import Recorded, by_name, check_source

Wrt = int | str | tuple[int | str, ...]


def plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return f.__wrapped__ if isinstance(f, Recorded) else f


def device_of(f: Callable[..., Any]) -> str:
    """Where a function is bound to run: a recorded one, or a derivative of one."""
    return f._device if isinstance(f, Recorded) else getattr(f, "_device", "cpu")


SMALL = 300  # nodes


class Chosen:
    """The arguments that `wrt` names, found again at each call."""

    __slots__ = ("fn", "device", "wrt", "names", "fixed", "cached", "checked", "large", "floats", "several")

    def __init__(self, f: Callable[..., Any], wrt: Wrt) -> None:
        if not callable(f):
            raise TypeError(f"grad takes a function, not {type(f).__name__}")
        self.fn = plain(f)
        self.device = device_of(f)
        self.several = isinstance(wrt, (tuple, list))
        given = tuple(wrt) if isinstance(wrt, (tuple, list)) else (wrt,)
        self.wrt = tuple([int(w) if isinstance(w, np.integer) else w for w in given])
        if not self.wrt or not all(isinstance(w, (int, str)) and not isinstance(w, bool) for w in self.wrt):
            raise TypeError(f"wrt={wrt!r} has to be a position, a parameter name, or a tuple of them")
        self.names: list[str] | None = None
        self.checked = False
        self.floats = False  # the last recording met nothing but Python floats, and left nothing anywhere
        self.large = True  # how the last recording was: the collector is only asked to wait for large ones
        self.cached: tuple[int, tuple[int | str, ...], bool] = (-1, (), False)
        # positions in increasing order need no look-up
        self.fixed = all(type(w) is int and w >= 0 for w in self.wrt) and sorted(set(self.wrt)) == list(self.wrt)

    def places(self, args: Any, kwargs: dict[str, Any]) -> tuple[tuple[int | str, ...], bool]:
        """Each chosen argument as the position or keyword it was given by; whether they are in the call's order."""
        if self.fixed and self.wrt[-1] < len(args):  # type: ignore[operator]
            return self.wrt, True
        if not kwargs and self.cached[0] == len(args):
            return self.cached[1:]
        found: list[int | str] = []
        for w in self.wrt:
            if isinstance(w, str):
                if w in kwargs:
                    found.append(w)
                    continue
                w = self.position(w)
            if not -len(args) <= w < len(args):
                found.append(self.named(w, args, kwargs))
                continue
            found.append(w + len(args) if w < 0 else w)
        ordered = all(type(w) is int for w in found) and found == sorted(set(found), key=int)
        if not kwargs:
            self.cached = len(args), tuple(found), ordered
        return tuple(found), ordered

    def named(self, w: int, args: Any, kwargs: dict[str, Any]) -> str:
        """The parameter at a position beyond those of the call, which may be given by its name."""
        try:
            names = list(inspect.signature(self.fn).parameters)
        except (TypeError, ValueError):
            names = []
        name = names[w] if 0 <= w < len(names) else ""
        if name in kwargs:
            return name
        asked = repr(self.wrt[0] if len(self.wrt) == 1 and not self.several else self.wrt)
        count = f"{len(args)} positional argument{'' if len(args) == 1 else 's'}"
        what = f"the call does not give {name!r}: pass it" if name else f"the call has only {count}"
        raise ValueError(f"wrt={asked}: {what}")

    def completed(self, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The keywords of a call, and the defaults of chosen parameters that it leaves out."""
        if (self.fixed and self.wrt[-1] < len(args)) or (not kwargs and self.cached[0] == len(args)):  # type: ignore[operator]
            return kwargs
        try:
            every = list(inspect.signature(self.fn).parameters.values())
        except (TypeError, ValueError):
            return kwargs
        found = dict(kwargs)
        for i, p in enumerate(every):
            chosen = p.name in self.wrt or i in self.wrt
            by_name = p.kind is p.KEYWORD_ONLY or (p.kind is p.POSITIONAL_OR_KEYWORD and i >= len(args))
            if chosen and by_name and p.default is not p.empty:
                found.setdefault(p.name, p.default)
        return found

    def position(self, name: str) -> int:
        if self.names is None:
            self.names = list(inspect.signature(self.fn).parameters)
        if name not in self.names:
            function = getattr(self.fn, "__name__", "the function")
            raise ValueError(f"wrt={name!r}: {function} has no parameter of that name, only {', '.join(self.names)}")
        return self.names.index(name)

    def record(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run and record; the parts of the recording are the chosen arguments, in their order. For floats alone it may
        also be what `run_floats` gives, the value and the gradients."""
        fn = self.fn
        if self.floats and not kwargs and not ACTIVE and self.device == "cpu":
            done = run_floats(fn, args, self.places(args, kwargs)[0])
            if done is not None:
                return done
            self.floats = False
        if not self.checked:
            check_source(fn)
            self.checked = True
        places: Any
        places, ordered = self.places(args, kwargs)
        recording = run(fn, None, args, kwargs, places, tape_for(self.device, args, kwargs))
        self.large = len(recording.tape) > SMALL
        self.floats = not recording.tape.quiet and not kwargs and ordered and leaves_nothing(fn)
        recording.tape.finish()
        if len(recording.parts) != len(places) or not ordered:
            recording.parts = self.in_order(recording, places, args, kwargs)
        return recording

    def in_order(self, recording: Any, places: Any, args: Any, kwargs: Any) -> list[Any]:
        """The parts of a recording that are the chosen arguments, in their order."""
        order = dict(recording.parts)
        for place in places:
            if place not in order:
                recording.release()
                given = args[place] if isinstance(place, int) else kwargs[place]
                raise TypeError(not_differentiable(self.fn, place, given))
        return [(place, order[place]) for place in places]

    def inside(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """The same inside a recorded function whose values it depends on (otherwise None): a `Nested`."""
        from .nested import Nested, outer_tape

        tape = outer_tape(self.fn, args, kwargs)
        if tape is None:
            return None
        check_source(self.fn)
        places = self.places(args, kwargs)[0]
        nested = Nested(self.fn, args, kwargs, places, tape)
        self.in_order(nested, places, args, kwargs)
        return nested


def value_and_grad(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function `(*args) -> (value, gradient)` of a scalar-valued `f`; fits `scipy.optimize.minimize(jac=True)`.

    `wrt`: a position, a parameter name, or a tuple of them (then the gradient is a tuple). The gradient has the type,
    shape and dtype of the argument. With `has_aux`, `f` returns `(value, aux)` and so is `((value, aux), gradient)`
    what comes out; `aux` is plain. TypeError if the value is not a real scalar or the argument not differentiable.
    """

    chosen = Chosen(f, wrt)

    @functools.wraps(chosen.fn)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        kwargs = chosen.completed(args, kwargs)
        if ACTIVE and (nested := chosen.inside(args, kwargs)) is not None:
            value = nested.value
            check_scalar(nested, has_aux)
            gradients = nested.pull(None, False)
            return value, (tuple(gradients) if chosen.several else gradients[0])
        calm(chosen.large)
        try:
            recording = chosen.record(args, kwargs)
            if type(recording) is tuple:
                value, gradients = recording
                return value, (tuple(gradients) if chosen.several else gradients[0])
            value = recording.value
            if type(recording.place) is not Scalar or has_aux:
                check_scalar(recording, has_aux)
            gradients = recording.gradients(None, False)
        finally:
            resume()
        if recording.tape.device is not None:
            value = host_value(value, recording.tape.to_host)
        return value, (tuple(gradients) if chosen.several else gradients[0])

    return bound(differentiated, chosen.device)


def bound(f: Callable[..., Any], device: str) -> Callable[..., Any]:
    """A derivative, which runs where its function does, and so do its own derivatives."""
    f._device = device  # type: ignore[attr-defined]
    return f


def check_scalar(recording: Any, has_aux: bool) -> None:
    """Only a scalar has a gradient; with `has_aux` it is the first of two results. Of a recording, or of a `Nested`."""
    problem = ""
    if has_aux:
        aux_of(recording)
    if not is_scalar(recording.value):
        problem = (
            f"grad needs a function with a scalar value, not {described(recording.value)}; "
            "return a sum, or use record(f)(...).pullback(cotangent)"
        )
    if problem:
        recording.release()
        raise TypeError(problem)


def aux_of(recording: Any) -> Any:
    """The second of the two results of a function; from here on the first is its value."""
    if not (isinstance(recording.value, tuple) and len(recording.value) == 2):
        recording.release()
        raise TypeError("with has_aux=True the function has to return (value, aux)")
    aux = recording.value[1]
    recording.choose_first()
    return aux


def is_scalar(value: Any) -> bool:
    value = value.v if isinstance(value, Ref) else value
    if isinstance(value, (float, np.floating, Fraction, Decimal)):
        return True
    return getattr(value, "shape", None) == () and not is_complex(value)


def described(value: Any) -> str:
    value = value.v if isinstance(value, Ref) else value
    if is_complex(value) and not getattr(value, "ndim", 0):
        return "a complex one"
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else f"{an(type(value).__name__)}"


def grad(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar-valued `f` as a function; `wrt` and `has_aux` as in `value_and_grad`."""
    both = value_and_grad(f, wrt, has_aux)

    @functools.wraps(plain(f))
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return bound(differentiated, device_of(f))


def vjp(f: Callable[..., Any], *args: Any, has_aux: bool = False, **kwargs: Any) -> Any:
    """`value, pull = vjp(f, *args)`: `pull(cotangent)` is the gradient as `Result.pullback` gives it, once; a cotangent
    that does not fit the value does not count. With `has_aux`, `f` returns `(value, aux)`, and `value, pull, aux` is
    what comes out."""
    recorded = f if isinstance(f, Recorded) else Recorded(f)
    if ACTIVE:
        from .nested import Nested, outer_tape

        tape = outer_tape(plain(f), args, kwargs)
        if tape is not None:
            nested = Nested(plain(f), args, kwargs, [*range(len(args)), *kwargs], tape)
            named = [(recorded.name_of(k) if type(k) is int else k, part) for k, part in nested.parts]
            nested.parts = recorded.merged(named)
            aux = (aux_of(nested),) if has_aux else ()
            return nested.value, lambda cotangent: by_name(nested.parts, nested.pull_once(cotangent)), *aux
    result = recorded(*args, **kwargs)
    value = result.value
    if has_aux and result._recording is not None:
        aux_of(result._recording)

    def pull(cotangent: Any) -> Any:
        result.check(cotangent)
        return result.pullback(cotangent)

    return (value[0], pull, value[1]) if has_aux else (value, pull)
