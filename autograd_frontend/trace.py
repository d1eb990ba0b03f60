"""`record`, and what comes out of a recorded call."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from . import rewrite
from .callables import no_rule, of
from .devices import session
from .errors import DeviceUnavailable, RecordError, RecordingClosed
from .recording import ACTIVE, depends, refuse, refuse_value
from .remote import host_value, mapped, tape_for
from .running import LOCK, Recording, calm, resume, run
from .seeds import seed
from .trees import Box


class Result:
    """The value of a recorded call, and its derivative.

    `value` is what the plain function returns, `device` where it ran, `tape` what was recorded. `pullback` and
    `backward` use the recording up. As a context manager it closes the recording at the end of the block.
    """

    __slots__ = ("value", "device", "_recording", "_why")

    def __init__(self, value: Any, device: str, recording: Recording | None, why: str) -> None:
        self.value, self.device, self._recording, self._why = value, device, recording, why

    def pullback(self, cotangent: Any) -> Any:
        """The gradient of <cotangent, value> for every differentiable argument.

        `cotangent` has the structure and shapes of `value` (otherwise ValueError or TypeError). The gradient has the
        type, shape and dtype of the argument; several arguments give a namedtuple by parameter name. A second use
        raises RecordingClosed.
        """
        return self._differentiate(cotangent, True)

    def backward(self, seed: Any = None) -> Any:
        """`pullback(seed)`; by default with ones, which differentiates the sum of the entries of the value."""
        return self._differentiate(seed, seed is not None)

    def _differentiate(self, cotangent: Any, given: bool) -> Any:
        if ACTIVE and depends(cotangent):
            raise refuse(
                "a pullback of what is not part of this recording is given a recorded cotangent",
                "Write grad(lambda x: np.sum(f(x) * c))(x).",
            )
        with LOCK:  # once, whatever other threads do
            recording, self._recording = self._recording, None
        if recording is None:
            raise RecordingClosed(self._why)
        self._why = "this recording was used up by pullback or backward; call the function again"
        return by_name(recording.parts, recording.gradients(cotangent, given))

    def check(self, cotangent: Any) -> None:
        """Raise ValueError or TypeError where `pullback(cotangent)` would, and use nothing up."""
        recording = self._recording
        if recording is not None and not (ACTIVE and depends(cotangent)):  # that is refused
            seed(recording.place, recording.value, cotangent)

    def close(self) -> None:
        """Release the recording without differentiating. Any number of times; `value` stays usable."""
        if self._recording is not None:
            self._recording.tape.release()
            self._recording, self._why = None, "this recording was closed; call the function again"

    @property
    def tape(self) -> Any:
        """What was recorded, to look at."""
        from .display import TapeView

        if self._recording is None:
            raise RecordingClosed(self._why)
        return TapeView(self._recording.tape, [(n, p) for n, p in self._recording.parts])

    def __bool__(self) -> bool:
        raise TypeError("a Result has no truth value: write `if f(x).value:`, or look at what you need of it")

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _nodes(self) -> int | None:
        return None if self._recording is None else len(self._recording.tape)

    def __repr__(self) -> str:
        from .display import result_text

        return result_text(self.value, self.device, self._nodes())

    def _repr_html_(self) -> str:
        from .display import result_html

        return result_html(self.value, self.device, self._nodes())


def by_name(parts: list[tuple[str, Any]], gradients: list[Any]) -> Any:
    """The gradient of the only part, or a namedtuple of them."""
    names = [name for name, _ in parts]
    return gradients[0] if len(gradients) == 1 else gradient_type(tuple(names))(*gradients)


@functools.cache
def gradient_type(names: tuple[str, ...]) -> Any:
    return namedtuple("Gradient", names, rename=True)


class RemoteResult(Result):
    """The same on another device: its value comes to the host when it is asked for."""

    __slots__ = ("_there", "_to_host")
    _there: Any
    _to_host: bool

    @property
    def value(self) -> Any:
        found = self._there
        self._there = found = host_value(found, self._to_host)
        return found


def remote_result(recording: Recording, grad: bool) -> Result:
    """The result of a call that ran on the device of its tape; without its derivative unless `grad`."""
    result = RemoteResult.__new__(RemoteResult)
    tape: Any = recording.tape
    result._there, result._to_host = recording.value, tape.to_host
    result.device, result._recording, result._why = tape.device.name, recording, ""
    if not grad:
        result.close()
        result._why = NOTHING
    return result


NOTHING = "nothing was recorded: this function was bound with grad=False"


class Recorded:
    """A function that records. Calling it runs the function and returns a `Result`."""

    __slots__ = ("__wrapped__", "_device", "_grad", "_names", "__dict__", "__weakref__")
    __recorded__ = True
    __wrapped__: Callable[..., Any]

    def __init__(self, fn: Callable[..., Any], device: str = "cpu", grad: bool = True) -> None:
        session(device)
        self._device, self._grad = device, grad
        self._names: Any = None
        functools.update_wrapper(self, fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fn = self.__wrapped__
        if not self._grad and self._device == "cpu":
            return Result(fn(*args, **kwargs), self._device, None, NOTHING)
        if ACTIVE and (depends(args) or depends(kwargs)):  # called by code that runs inside a recording
            return of(fn)(*args, **kwargs)
        return self._record(args, kwargs)

    def elementwise(self, *args: Any, **kwargs: Any) -> Any:
        """The function of numbers, for every entry of the arrays among the arguments, which broadcast.

        An entry `x[i]` is what NumPy gives, a number of the array's dtype. Each takes its own way through the function,
        and has the bits that `f(x[i])` has; nothing is evaluated for it that it does not take. Everything else in the
        call is handed on as it is. Gives a `Result` as a call does, its value an array of the broadcast shape, in the
        dtype of `np.array([f(x[i]), ...])`; an empty one without a call of the function. Inside a recorded function it
        gives the array. On a GPU the source of the function becomes one kernel; RecordError, with the line, where it
        cannot. TypeError where nothing is differentiable, RecordError where a value is not one number.
        """
        evaluate = functools.partial(inside, self)
        if not self._grad and self._device == "cpu":
            return Result(evaluate(*args, **kwargs), self._device, None, NOTHING)
        if ACTIVE and (depends(args) or depends(kwargs)):
            return evaluate(*args, **kwargs)
        return self._record(args, kwargs, evaluate)

    def graph(self, *args: Any, **kwargs: Any) -> Any:
        """The function as a typed graph, for arguments like these: examples, or `spec(shape, dtype)` in their place.

        Nothing is computed. Numbers and arrays among the arguments are inputs, everything else is fixed. RecordError
        for what needs a value that depends on an input (a truth test, `int()`, a shape), with its line.
        """
        from .graph.build import build

        if self._device != "cpu":
            raise DeviceUnavailable(f'a graph does not run on {self._device}: write f.on("cpu").graph(...)')

        return build(self.__wrapped__, args, kwargs, self.name_of)

    def _record(self, args: Any, kwargs: Any, program: Any = None) -> Result:
        fn = self.__wrapped__
        check_source(fn)
        calm()
        try:
            tape = tape_for(self._device, args, kwargs)
            recording = run(fn, self.name_of, args, kwargs, program=program, tape=tape)
        except RecordError as error:
            raise error.with_traceback(error.__traceback__) from None
        finally:
            resume()
        recording.parts = self.merged(recording.parts)
        recording.tape.shield()
        recording.tape.finish()
        if tape.device is not None:
            return remote_result(recording, self._grad)
        value = recording.value
        if tape.library is not None:
            value = mapped(value, lambda x: tape.library(x) if type(x) is np.ndarray else x)
        return Result(value, "cpu", recording, "")

    def name_of(self, i: int) -> str:
        """The parameter that the positional argument `i` goes to."""
        if self._names is None:
            self._names = positional(self.__wrapped__)
        names, rest = self._names
        name: str = names[i] if i < len(names) else rest
        return name

    def merged(self, parts: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Arguments collected by one starred parameter are one tuple."""
        names = [name for name, _ in parts]
        if len(set(names)) == len(names):
            return parts
        merged: dict[str, Any] = {}
        for name, part in parts:
            merged.setdefault(name, []).append(part)
        rest = self._names[1]
        return [
            (name, Box(tuple(p.given for p in found), (), list(enumerate(found))) if name == rest else found[0])
            for name, found in merged.items()
        ]

    def on(self, device: str, grad: bool = True) -> Recorded:
        """The same function bound to a device ("cpu"), or to no gradient (`grad=False`: nothing is recorded)."""
        return Recorded(self.__wrapped__, device, grad)

    @property
    def source(self) -> str:
        """The program as Python text, one call on `ops` per operation."""
        fn = self.__wrapped__
        while isinstance(fn, (types.MethodType, functools.partial)):
            fn = fn.__func__ if isinstance(fn, types.MethodType) else fn.func
        check_source(fn, False)
        function: Any = fn if isinstance(fn, types.FunctionType) else type(fn).__call__
        return rewrite.program_of(function).source

    def __get__(self, instance: Any, owner: Any = None) -> Recorded:
        fn: Any = self.__wrapped__
        if not hasattr(fn, "__get__") or (instance is None and not isinstance(fn, classmethod)):
            return self
        return Recorded(fn.__get__(instance, owner), self._device, self._grad)

    def __reduce__(self) -> Any:
        """Pickled by its name, where that is what it is found by, as functions are; otherwise as its function."""
        fn = self.__wrapped__
        found: Any = sys.modules.get(getattr(fn, "__module__", ""))
        for part in getattr(fn, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        return fn.__qualname__ if found is self else (Recorded, (fn, self._device, self._grad))

    def __repr__(self) -> str:
        from .display import recorded_text

        return recorded_text(self)

    def _repr_html_(self) -> str:
        from .display import recorded_html

        return recorded_html(self)


def inside(f: Recorded, *args: Any, **kwargs: Any) -> Any:
    """`f.elementwise(x)` in a recorded function: the array."""
    from .lifting import evaluate

    refuse_value((args, kwargs), "a function that is taken entry by entry", "Write it for arrays, with np.where.")
    return evaluate(f.__wrapped__, args, kwargs)


Recorded.elementwise.__primitive__ = (Recorded.elementwise, inside)  # type: ignore[attr-defined]  # what a program calls


def positional(fn: Any) -> tuple[list[str], str]:
    """The names of the positional parameters, and of the starred one."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # of a function written in C
        n = getattr(fn, "nin", 1)
        return [f"x{i + 1}" for i in range(n)] if n > 1 else ["x"], "args"
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names, next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")


def check_source(fn: Any, ruled: bool = True) -> None:
    """A C function has no source to rewrite; with `ruled`, it may have a rule instead."""
    if isinstance(fn, (types.BuiltinFunctionType, type)) or type(fn).__name__ == "ufunc":
        if ruled and not isinstance(fn, type):
            from .primitives import has_rule

            of(fn)
            if not has_rule(fn):
                raise no_rule(fn)
            return
        name = getattr(fn, "__name__", str(fn))
        module = "np" if vars(np).get(name) is fn else getattr(fn, "__module__", None) or "scipy.special"
        name = f"{module}.{name}" if module != "builtins" else name
        raise RecordError(
            f"{name} has no Python source to record", None, f"Record a function that calls it: lambda x: {name}(x)."
        )


@overload
def record(fn: Callable[..., Any], *, device: str = ...) -> Recorded: ...
@overload
def record(*, device: str = ...) -> Callable[[Callable[..., Any]], Recorded]: ...
def record(fn: Callable[..., Any] | None = None, *, device: str = "cpu") -> Any:
    """Make a function record. `@record`, `record(fn)` or `@record(device="cpu")`.

    The function stays what it is (`f.__wrapped__`). A call gives a `Result` with the value of the plain function,
    bit for bit, and its derivative; a call inside another recorded function gives the plain value, on the tape of that
    one. Differentiable arguments: floats, NumPy floating arrays and scalars, Fraction,
    Decimal, and lists, tuples, dicts, named tuples and dataclasses of them; everything else is plain data.

    Raises TypeError where nothing is differentiable or `fn` is not callable, RecordError (at the call) for what
    cannot be recorded faithfully, DeviceUnavailable for a device that cannot be used.
    """
    if fn is None:
        return functools.partial(record, device=device)
    if isinstance(fn, Recorded):
        return fn.on(device)
    if isinstance(fn, staticmethod):
        return staticmethod(record(fn.__func__, device=device))
    if not callable(fn) and not isinstance(fn, classmethod):
        raise TypeError(f"record takes a function, not {type(fn).__name__}")
    return Recorded(fn, device)
