"""Derivatives of plain or recorded functions, as functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .recording import ACTIVE, depends, refuse
from .trace import Recorded, Recording, check_source, positional, run

Wrt = int | str | tuple[int | str, ...]


def plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return f.__wrapped__ if isinstance(f, Recorded) else f


@functools.lru_cache(maxsize=1024)
def names_of(code_holder: Any) -> tuple[list[str], str]:
    return positional(code_holder)


def chosen(fn: Callable[..., Any], wrt: Wrt, args: Any, kwargs: dict[str, Any]) -> list[int | str]:
    """The arguments that `wrt` names, each as the position or keyword it was given by."""
    found: list[int | str] = []
    names: list[str] | None = None
    for w in wrt if isinstance(wrt, tuple) else (wrt,):
        if isinstance(w, str):
            if w not in kwargs:
                names = names if names is not None else list(inspect.signature(fn).parameters)
                if w not in names:
                    raise ValueError(f"wrt={w!r}: {fn.__name__} has no parameter of that name, only {', '.join(names)}")
                w = names.index(w)
        if isinstance(w, int) and not -len(args) <= w < len(args):
            raise ValueError(f"wrt={wrt!r}: there are only {len(args)} positional arguments")
        found.append(w + len(args) if isinstance(w, int) and w < 0 else w)
    return found


def recording_of(f: Callable[..., Any], wrt: Wrt, args: Any, kwargs: dict[str, Any]) -> tuple[Recording, list[Any]]:
    fn = plain(f)
    if ACTIVE and (depends(args) or depends(kwargs)):
        raise refuse(
            "a derivative is taken inside a recorded function",
            "Derivatives of derivatives are not recorded yet: write the inner derivative out.",
        )
    check_source(fn)
    places = chosen(fn, wrt, args, kwargs)
    recording = run(fn, str, args, kwargs, places)
    order = {name: i for i, (name, _) in enumerate(recording.parts)}
    for place in places:
        if str(place) not in order:
            given = args[place] if isinstance(place, int) else kwargs[place]
            recording.tape.release()
            raise TypeError(
                f"argument {place} of {fn.__name__} is {type(given).__name__}, which is not differentiable"
                + (f"; write {float(given)!r}" if type(given) is int else "")
            )
    recording.parts = [recording.parts[order[str(place)]] for place in places]
    return recording, places


def value_and_grad(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function `(*args) -> (value, gradient)` of a scalar-valued `f`; fits `scipy.optimize.minimize(jac=True)`.

    `wrt`: a position, a parameter name, or a tuple of them (then the gradient is a tuple). The gradient has the type,
    shape and dtype of the argument. With `has_aux`, `f` returns `(value, aux)` and so is `((value, aux), gradient)`
    what comes out; `aux` is plain. TypeError if the value is not a real scalar or the argument not differentiable.
    """

    @functools.wraps(plain(f))
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        recording, _ = recording_of(f, wrt, args, kwargs)
        value = recording.value
        if has_aux:
            if not isinstance(value, tuple) or len(value) != 2:
                recording.tape.release()
                raise TypeError("with has_aux=True the function has to return (value, aux)")
            recording.place = recording.place and recording.place[0]
            recording.value = value[0]
        if getattr(recording.value, "shape", ()) != () or isinstance(recording.value, (list, tuple, dict)):
            recording.tape.release()
            raise TypeError(
                f"grad needs a function with a scalar value, not {described(recording.value)}; "
                "return a sum, or use record(f)(...).pullback(cotangent)"
            )
        gradients = recording.gradients(None, False)
        return value, (tuple(gradients) if isinstance(wrt, tuple) else gradients[0])

    return differentiated


def described(value: Any) -> str:
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"


def grad(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar-valued `f` as a function; `wrt` and `has_aux` as in `value_and_grad`."""
    both = value_and_grad(f, wrt, has_aux)

    @functools.wraps(plain(f))
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


def vjp(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], Any]]:
    """`value, pull = vjp(f, *args)`: `pull(cotangent)` is the gradient as `Result.pullback` gives it, once."""
    result = (f if isinstance(f, Recorded) else Recorded(f))(*args, **kwargs)
    return result.value, result.pullback
