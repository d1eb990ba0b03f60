"""`record`: running a program, and what comes out of it."""

from __future__ import annotations

import functools
import gc
import inspect
import os
import sys
import threading
import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from . import handles, rewrite
from .callables import of
from .devices import session
from .errors import RecordError, RecordingClosed
from .leftovers import tidy
from .recording import ACTIVE, HERE, depends, refuse
from .seeds import ones, seed
from .sweep import sweep
from .tape import Inside, Scalar, Tape, add_to
from .trees import Box, Leaf, boxes_in, enter, leave

LOCK = threading.Lock()
CALM: list[Any] = [0, 0, (0, 0, 0)]  # how many are recording; recursion limit and collector's thresholds before
PATIENCE, UNCHANGED = 2_000_000, (0, 0, 0)
HEADROOM = 50  # frames of ours at the deepest point of a recursion
TRACEBACK = "AUTOGRAD_FRONTEND_TRACEBACK"


class Recording:
    """One run of a function: its tape, its value, and where cotangents enter and gradients come out."""

    __slots__ = ("tape", "value", "place", "parts")

    def __init__(self, tape: Tape, value: Any, place: Any, parts: list[tuple[str, Any]]) -> None:
        self.tape, self.value, self.place, self.parts = tape, value, place, parts

    def choose_first(self) -> None:
        """Only the first of two results is differentiated."""
        self.place = self.place and self.place[0]
        self.value = self.value[0]

    def release(self) -> None:
        self.tape.release()

    def gradients(self, cotangent: Any, given: bool) -> list[Any]:
        """Sweep the tape backwards from a cotangent (ones unless `given`); the tape is released whatever happens."""
        place, self.place = self.place, None
        try:
            if type(place) is Scalar and not given:
                place.g += 1.0
            else:
                c = cotangent if given else ones(place, self.value)
                for ref, g in seed(place, self.value, c):
                    add_to(ref if type(ref) is Scalar else ref.n, g)
            ref = place = None  # the last node holds on to all the others
            sweep(self.tape)
            return [part.gradient() for _, part in self.parts]
        finally:
            self.tape.release()


def run(
    fn: Callable[..., Any], name: Any, args: Any, kwargs: dict[str, Any], wrt: Any = None,
    tape: Tape | None = None, before: Callable[[Any], None] | None = None,
    program: Any = None,
) -> Recording:  # fmt: skip
    """Run the program of `fn` on recorded arguments. `wrt`: the positions and names that are differentiable (default:
    all that can be). `name(i)` is what the part of the positional argument `i` is called. `before` gets the parts.
    `program` is called in place of that of `fn`."""
    tape, entered = Tape() if tape is None else tape, list(args)
    parts: list[tuple[Any, Any]] = []
    for i in range(len(args)) if wrt is None else wrt:
        if type(i) is int:
            entered[i], part = enter(args[i], tape)
            if part is not None:
                parts.append((name(i) if name else i, part))
    named = kwargs
    if kwargs:
        named = {}
        for k, x in kwargs.items():
            named[k], part = enter(x, tape) if wrt is None or k in wrt else (x, None)
            if part is not None:
                parts.append((k, part))
    if not parts:
        if wrt:
            raise TypeError(not_differentiable(fn, wrt[0], args[wrt[0]] if type(wrt[0]) is int else kwargs[wrt[0]]))
        raise TypeError(nothing_to_differentiate(fn, args, kwargs))
    if before is not None:
        before(parts)
    others = [] if tape.fast else [Inside()]  # there are several: the fast paths leave the way to the general
    ACTIVE.extend([tape, *others])
    try:
        value = (program or of(fn))(*entered, **named)
        if type(value) is Scalar and value.t is tape:
            value, place = value.v, value
        else:
            value, place = leave(value, tape, definition(fn))
        give_back(fn, args, parts, tape)
    except BaseException as error:
        failed(error, fn, args, parts, tape)
        raise
    finally:
        for t in (tape, *others):
            ACTIVE.remove(t)
    return Recording(tape, value, place, parts)


def run_floats(fn: Callable[..., Any], args: Any, places: Any) -> Any:
    """`run` and the sweep for a function that leaves nothing anywhere, where Python floats are differentiated: a tuple
    of its value and the gradients. A `Recording`, if the value is not a recorded float; None, if the arguments are not
    floats: then nothing has been run."""
    tape, entered, leaves = Tape(), list(args), []
    for i in places:
        x = args[i]
        if type(x) is not float:
            return None
        n: Any = Scalar()
        n.v = x
        n.g = 0.0
        n.t = tape
        entered[i] = n
        leaves.append(n)
    ACTIVE.append(tape)
    try:
        value = of(fn)(*entered)
        if type(value) is not Scalar or value.t is not tape:
            value, place = leave(value, tape, definition(fn))
            parts: list[Any] = [(i, Leaf(args[i], n)) for i, n in zip(places, leaves, strict=True)]
            return Recording(tape, value, place, parts)
    except BaseException as error:
        failed(error, fn, args, [], tape)
        raise
    finally:
        ACTIVE.remove(tape)
    tape.finish()
    value.g += 1.0
    v, value = value.v, None
    sweep(tape)
    return v, [n.g for n in leaves]


def failed(error: BaseException, fn: Any, args: Any, parts: Any, tape: Tape) -> None:
    """The recorded function has raised: the tape is released, and the error shows the user's values and lines."""
    if not isinstance(error, RecordError):
        give_back(fn, args, parts, tape)
    handles.disguise(error, "numpy.float64" if tape.quiet else "float")
    tape.release()
    trim(error)
    if isinstance(error.__cause__, RecordError) and str(error).startswith("setting an array element"):
        trim(error.__cause__)  # NumPy says so for every error in __float__
        raise error.__cause__ from None


def definition(fn: Any) -> Any:
    """The site of the first line of a function."""
    while not hasattr(fn, "__code__"):
        call = getattr(type(fn), "__call__", None)  # noqa: B004  (the method itself is wanted)
        fn = getattr(fn, "__func__", None) or getattr(fn, "func", None) or call
        if fn is None or isinstance(fn, types.WrapperDescriptorType):
            return None
    return (fn.__code__, 0)


def calm(large: bool = True) -> None:
    """Recording begins (calls nest). What runs under Python's recursion limit has to run recorded, so there is some
    more. The nodes of a tape are no garbage: for a large one the cyclic collector waits before it walks over them."""
    LOCK.acquire()
    if not CALM[0]:
        CALM[1], CALM[2] = sys.getrecursionlimit(), gc.get_threshold() if large else UNCHANGED
        sys.setrecursionlimit(CALM[1] + HEADROOM)
        if CALM[2][0]:
            gc.set_threshold(PATIENCE, *CALM[2][1:])
    CALM[0] += 1
    LOCK.release()


def resume() -> None:
    """Recording ends: the interpreter's settings are what they were, unless somebody else has changed them."""
    LOCK.acquire()
    CALM[0] -= 1
    if not CALM[0]:
        _, limit, threshold = CALM
        if sys.getrecursionlimit() == limit + HEADROOM:
            sys.setrecursionlimit(limit)
        if threshold[0] and gc.get_threshold()[0] == PATIENCE:
            gc.set_threshold(*threshold)
    LOCK.release()


def give_back(fn: Any, args: Any, parts: Any, tape: Tape) -> None:
    """What the function did to its arguments is done to the caller's. Recorded values that it left in attributes of
    theirs, or in the variables of the function around it, become plain values."""
    for _, part in parts:
        if type(part) is Box:
            boxes = boxes_in(parts)
            for box in boxes:
                box.sync(boxes, tape)
            break
    tidy(fn, args, tape)


def trim(error: BaseException) -> None:
    """Take this package's own frames out of a traceback: it ends in the user's code."""
    if os.environ.get(TRACEBACK):
        return
    kept = []
    tb = error.__traceback__
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(HERE):
            kept.append(tb)
        tb = tb.tb_next
    new = None
    for tb in reversed(kept):
        new = types.TracebackType(new, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    error.__traceback__ = new


def nothing_to_differentiate(fn: Any, args: Any, kwargs: Any) -> str:
    name = getattr(fn, "__name__", "f")
    given = [*args, *kwargs.values()]
    text = f"{name} was called with nothing to differentiate: {', '.join(map(kind_of, given)) or 'no arguments'}"
    for x in given:
        if type(x) is int:
            return f"{text}. Integers are plain data: write {float(x)!r}"
        if type(x) is np.ndarray and x.dtype.kind in "iub":
            return f"{text}. Integer arrays are plain data: write x.astype(float)"
        if type(x) is list and x and type(x[0]) is int:
            return f"{text}. Integers are plain data: write {[float(x[0])]!r}"
    return f"{text}."


def kind_of(x: Any) -> str:
    return f"{x.dtype} array" if type(x) is np.ndarray else type(x).__name__


def not_differentiable(fn: Any, place: Any, given: Any) -> str:
    text = f"argument {place!r} of {getattr(fn, '__name__', 'the function')} is {type(given).__name__}"
    return f"{text}, which is not differentiable" + (f"; write {float(given)!r}" if type(given) is int else "")


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
        if not self._grad:
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
        gives the array. TypeError where nothing is differentiable, RecordError where a value is not one number.
        """
        evaluate = functools.partial(inside, self)
        if not self._grad:
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

        return build(self.__wrapped__, args, kwargs, self.name_of)

    def _record(self, args: Any, kwargs: Any, program: Any = None) -> Result:
        fn = self.__wrapped__
        check_source(fn)
        calm()
        try:
            recording = run(fn, self.name_of, args, kwargs, program=program)
        except RecordError as error:
            raise error.with_traceback(error.__traceback__) from None
        finally:
            resume()
        recording.parts = self.merged(recording.parts)
        recording.tape.shield()
        recording.tape.finish()
        return Result(recording.value, self._device, recording, "")

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
        check_source(fn)
        while isinstance(fn, (types.MethodType, functools.partial)):
            fn = fn.__func__ if isinstance(fn, types.MethodType) else fn.func
        check_source(fn)
        function: Any = fn if isinstance(fn, types.FunctionType) else type(fn).__call__
        return rewrite.program_of(function).source

    def __get__(self, instance: Any, owner: Any = None) -> Recorded:
        fn: Any = self.__wrapped__
        if not hasattr(fn, "__get__") or (instance is None and not isinstance(fn, classmethod)):
            return self
        return Recorded(fn.__get__(instance, owner), self._device, self._grad)

    def __repr__(self) -> str:
        from .display import recorded_text

        return recorded_text(self)

    def _repr_html_(self) -> str:
        from .display import recorded_html

        return recorded_html(self)


def inside(f: Recorded, *args: Any, **kwargs: Any) -> Any:
    """`f.elementwise(x)` in a recorded function: the array."""
    from .lifting import evaluate

    return evaluate(f.__wrapped__, args, kwargs)


Recorded.elementwise.__primitive__ = (Recorded.elementwise, inside)  # type: ignore[attr-defined]  # what a program calls


def positional(fn: Any) -> tuple[list[str], str]:
    """The names of the positional parameters, and of the starred one."""
    parameters = inspect.signature(fn).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names, next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")


def check_source(fn: Any) -> None:
    """A C function has no source to rewrite."""
    if isinstance(fn, (types.BuiltinFunctionType, type)) or type(fn).__name__ == "ufunc":
        name = getattr(fn, "__name__", str(fn))
        module = "np" if isinstance(fn, np.ufunc) else getattr(fn, "__module__", None)
        name = f"{module}.{name}" if module and module != "builtins" else name
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
    bit for bit, and its derivative. Differentiable arguments: floats, NumPy floating arrays and scalars, Fraction,
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
