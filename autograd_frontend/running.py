"""Running a program on recorded arguments: what a recording is, and what surrounds the call."""

from __future__ import annotations

import gc
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from . import handles
from .callables import of
from .devices.table import Unsupported
from .errors import RecordError
from .leftovers import in_objects, tidy
from .recording import ACTIVE, HERE, LIBRARIES, is_ours, lent
from .remote import mapped, unsupported, write_back
from .seeds import ones, seed
from .sweep import sweep
from .tape import Inside, Scalar, Tape, add_to
from .trees import Box, Leaf, boxes_in, enter, leave

LOCK = threading.Lock()
CALM: list[Any] = [0, 0, (0, 0, 0)]  # how many are recording; recursion limit and collector's thresholds before
PATIENCE, UNCHANGED = 2_000_000, (0, 0, 0)
HEADROOM = 50  # frames of ours at the deepest point of a recursion
TRACEBACK = "AUTOGRAD_FRONTEND_TRACEBACK"

# glibc gives the memory of a freed array of 128 kB or more back at once, and the next array of that size is paid for
# page by page: layer norm of 256 x 1000 float64 numbers took 8.8 ms with its gradients, and 2.2 ms where memory is
# kept. Once a larger block has been freed, the allocator keeps up to twice its size. This one is never touched.
np.empty(2**25 - 2**16, np.uint8)


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
        except BaseException:
            if self.tape.device is not None:
                self.tape.device.flush()  # a value that waits would keep what it is made of
            raise
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
    if tape.device is not None and wrt is not None:
        entered = [mapped(x, lent) if i not in wrt else x for i, x in enumerate(entered)]
        named = {k: mapped(x, lent) if k not in wrt else x for k, x in named.items()}
    if before is not None:
        before(parts)
    others = [] if tape.fast else [Inside()]  # there are several: the fast paths leave the way to the general
    ACTIVE.extend([tape, *others])
    try:
        value = (program or of(fn))(*entered, **named)
        if tape.refusals:
            swallowed(tape)
        if type(value) is Scalar and value.t is tape:
            value, place = value.v, value
        else:
            value, place = leave(value, tape, definition(fn))
        give_back(fn, args, parts, tape, value)
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
        if tape.refusals:
            swallowed(tape)
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


def swallowed(tape: Tape) -> None:
    """A refusal that the function has caught is raised: the plain function would not have gone that way."""
    for error in tape.refusals:
        if error.__traceback__ is not None:
            raise error


def failed(error: BaseException, fn: Any, args: Any, parts: Any, tape: Tape) -> None:
    """The recorded function has raised: the tape is released, and the error shows the user's values and lines."""
    if isinstance(error, Unsupported):
        error.__cause__ = unsupported(error, user_site(error))
    if not isinstance(error, RecordError):
        give_back(fn, args, parts, tape)
    elif tape.device is not None:  # on the CPU what was written before is there as it is
        tidy(fn, args, tape)
        write_back([part for _, part in parts], tape)
    handles.disguise(error, "numpy.float64" if tape.quiet else "float")
    tape.release()
    trim(error)
    if isinstance(error, Unsupported):
        raise error.__cause__ from None  # type: ignore[misc]
    if isinstance(error.__cause__, RecordError) and str(error).startswith("setting an array element"):
        trim(error.__cause__)  # NumPy says so for every error in __float__
        raise error.__cause__ from None


def user_site(error: BaseException) -> Any:
    """Where the user's own code stood when an error was raised."""
    found, tb = None, error.__traceback__
    while tb is not None:
        if not is_ours(tb.tb_frame.f_code) and not tb.tb_frame.f_code.co_filename.startswith(LIBRARIES):
            found = (tb.tb_frame.f_code, tb.tb_lasti)
        tb = tb.tb_next
    return found


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


def give_back(fn: Any, args: Any, parts: Any, tape: Tape, value: Any = None) -> None:
    """What the function did to its arguments is done to the caller's. Recorded values that it left in attributes of
    theirs, or in the variables of the function around it, become plain values."""
    for _, part in parts:
        if type(part) is Box:
            boxes = boxes_in(parts)
            for box in boxes:
                box.sync(boxes, tape)
            break
    tidy(fn, args, tape)
    if tape.device is not None:
        in_objects(value, tape)
        write_back([part for _, part in parts], tape)


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
    text = f"argument {place!r} of {getattr(fn, '__name__', 'the function')} is {kind_of(given)}"
    if type(given) is np.ndarray and given.dtype.kind in "iub":
        return f"{text}, which is not differentiable; write x.astype(float)"
    if type(given) is list and given and type(given[0]) is int:
        return f"{text} of integers, which is not differentiable; write {[float(given[0])]!r}"
    return f"{text}, which is not differentiable" + (f"; write {float(given)!r}" if type(given) is int else "")
