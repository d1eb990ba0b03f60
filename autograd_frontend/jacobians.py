"""Tangents, Jacobians and second derivatives, as functions."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .arrays import ARRAYS, is_array, remote, zeros
from .cotangents import filled
from .forward import Forward, RemoteForward, tangent
from .memory import Gather, gather_back
from .recording import ACTIVE, is_complex
from .remote import host_value, tape_for
from .running import Recording, calm, resume, run
from .seeds import checked
from .tape import Node, Pair, Ref, Scalar, Tape, add_to
from .trace import check_source
from .transforms import Chosen, Wrt, aux_of, bound, device_of, grad, plain
from .trees import Box, is_record, like, rebuilt, with_fields

ndarray = np.ndarray


def jvp(f: Callable[..., Any], args: Any, tangents: Any) -> tuple[Any, Any]:
    """`value, tangent = jvp(f, args, tangents)`: the value of `f(*args)` and its derivative along `tangents`.

    `tangents` has one entry for each argument, in its structure, shapes and types; None where an argument does not
    move (or is plain data). The tangent has the structure of the value: zero for constants, None in place of plain
    data. Raises ValueError or TypeError where they do not fit, RecordError for what cannot be recorded faithfully.
    """
    args, tangents = sequence("args", args), sequence("tangents", tangents)
    if len(args) != len(tangents):
        counts = f"{len(args)} arguments and {len(tangents)} tangents"
        raise ValueError(f"jvp got {counts}; give None for what does not move")
    moving = tuple([i for i, t in enumerate(tangents) if t is not None])
    if not moving:
        raise ValueError("jvp got no tangent: every entry of tangents is None")
    return pushed(plain(f), args, {}, moving, [tangents[i] for i in moving], device_of(f))


def pushed(
    fn: Any, args: Any, kwargs: Any, moving: Any, tangents: Any, device: str, wanted: bool = True
) -> tuple[Any, Any]:
    """The value of a call, if it is `wanted`, and its derivative along tangents of the arguments at these positions and
    keywords."""
    if ACTIVE:
        from .nested_jacobians import push_inside
        from .nested_results import held

        tangents = held(tangents)
        if (nested := inside(fn, args, kwargs, moving, tangents)) is not None:
            return push_inside(nested, tangents)
    tape, recording = forward(fn, args, kwargs, moving, False, lambda parts: move(parts, tangents), device)
    try:
        v, t = recording.value if wanted else None, outgoing(recording.place, recording.value)
        return (v, t) if tape.device is None else (host_value(v, tape.to_host), host_value(t, tape.to_host))
    finally:
        tape.release()


def sequence(name: str, x: Any) -> tuple[Any, ...]:
    if not isinstance(x, (tuple, list)):
        raise TypeError(f"jvp: {name} is {type(x).__name__}, expected a tuple with one entry for each argument of f")
    return tuple(x)


def inside(fn: Any, args: Any, kwargs: Any, places: Any, others: Any = ()) -> Any:
    """The recording of `fn` inside a recorded function whose values it depends on; otherwise None."""
    from .nested import Nested, outer_tape

    tape = outer_tape(fn, (*args, *others), kwargs)
    return None if tape is None else Nested(fn, args, kwargs, list(places), tape)


def jacobian_inside(nested: Any, parts: Any, several: bool) -> Any:
    from .nested_jacobians import rows_inside

    return rows_inside(nested, parts, several)


def forward(
    fn: Any, args: Any, kwargs: Any, places: Any, kept: bool, before: Callable[[Any], None], device: str
) -> tuple[Any, Recording]:
    """Run a function with tangents, those that `before` gives the parts of its arguments."""
    check_source(fn)
    here = tape_for(device, args, kwargs).device
    tape = Forward(kept) if here is None else RemoteForward(here, kept)
    calm()
    try:
        return tape, run(fn, None, args, kwargs, places, tape, before)
    finally:
        resume()


def move(parts: Any, tangents: list[Any]) -> None:
    """Set the tangents of the arguments."""
    for (key, part), t in zip(parts, tangents, strict=True):
        move_part(part, t, f"argument {key!r}")


def move_part(part: Any, t: Any, where: str) -> None:
    if type(part) is not Box:
        part.ref.n.g = None if t is None else checked(primal(part), t, where, "tangent")
        return
    for key, p in part.parts:
        try:
            e = t[key] if isinstance(part.first, (dict, list, tuple)) else getattr(t, key)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ValueError(f"the tangent of {where} lacks {key!r}") from None
        move_part(p, e, f"{where}[{key!r}]")


def primal(leaf: Any) -> Any:
    """The argument where the recording has it."""
    return leaf.ref.v if remote(leaf.ref.v) else leaf.given


def outgoing(place: Any, x: Any) -> Any:
    """The tangents of a result, in its structure."""
    return mapped(place, x, lambda p, v: typed(tangent(p.n), v), still_one)


def still_one(v: Any) -> Any:
    """The tangent of a constant."""
    return typed(None, v)


def typed(t: Any, v: Any) -> Any:
    """A tangent in the type, shape and dtype of its value, in memory of its own."""
    if remote(v):
        t = zeros(v) if t is None else t.astype(v.dtype)
        return t if t.scalar == v.scalar else t[()] if v.scalar else filled(t, v.shape, v.dtype)
    if type(v) is ndarray:
        return np.zeros(v.shape, v.dtype) if t is None else np.array(t, v.dtype)
    t = t.item() if isinstance(t, np.generic) and not isinstance(v, np.generic) else t
    return type(v)(0 if t is None else t)


def mapped(place: Any, x: Any, f: Callable[[Any, Any], Any], rest: Callable[[Any], Any] | None = None) -> Any:
    """`f(place, x)` for every recorded number or array of a result; None for the rest, or `rest(x)` for a number or an
    array that could have been recorded: a constant."""
    if isinstance(place, Ref):
        return f(place, x)
    if isinstance(place, list):
        return like(x, [mapped(p, e, f, rest) for p, e in zip(place, x, strict=True)])
    if isinstance(place, dict):
        if not isinstance(x, dict):
            return with_fields(x, {k: mapped(p, getattr(x, k, None), f, rest) for k, p in place.items()})
        r = {k: mapped(p, x[k], f, rest) for k, p in place.items()}
        return r if type(x) is dict else rebuilt(x, r)
    return None if rest is None else constants(x, rest)


def constants(x: Any, f: Callable[[Any], Any]) -> Any:
    """`f(x)` for every number and array of a result that does not depend on the arguments; None for plain data."""
    if isinstance(x, (list, tuple)):
        return like(x, [constants(e, f) for e in x])
    if type(x) is dict:
        return {k: constants(e, f) for k, e in x.items()}
    if is_record(x):
        return with_fields(x, {e.name: constants(getattr(x, e.name, None), f) for e in dataclasses.fields(x)})
    kinds = (float, complex, np.inexact, Fraction, Decimal)
    return f(x) if (x.dtype.kind in "fc" if type(x) in ARRAYS else isinstance(x, kinds)) else None


def sweep_keeping(tape: Tape) -> None:
    """Run a tape backwards that is kept: nothing is released, and every cotangent is taken out as it is passed."""
    with np.errstate(all="ignore"):
        for n in reversed(tape):
            if type(n) is Scalar:
                g, n.g = n.g, 0.0
                if g:
                    if n.f is None:
                        n.a.g += g * n.pa
                        if n.b is not None:
                            n.b.g += g * n.pb
                    else:
                        n.f(n, g)
            elif isinstance(n, Gather):
                if (g := n.arrived()) is not None:
                    gather_back(n.place, n.key, g)
            elif isinstance(n, Node):
                if (g := n.arrived()) is not None:
                    n.op.back(n, g) if type(n) is Pair else n.hand_on(g)
            else:
                n.sweep()




def leaves_of(parts: Any) -> list[Any]:
    """The numbers and arrays among the arguments."""
    found: list[Any] = []
    for _, part in parts:
        found += leaves_of(part.parts) if type(part) is Box else [part]
    return found


class Blocks:
    """The blocks of a Jacobian: for every number or array of the value and every one of the arguments, by their ids."""

    def __init__(self, tape: Tape) -> None:
        self.blocks: dict[tuple[int, int], Any] = {}
        self.device = tape.device

    def block(self, ref: Any, v: Any, leaf: Any) -> Any:
        """The block of two of them, of the shape of the value followed by that of the argument."""
        key = id(ref), id(leaf)
        if key not in self.blocks:
            x = leaf.given.v if isinstance(leaf.given, Ref) else leaf.given
            dtype = np.result_type(*[e.dtype if hasattr(e, "dtype") else type(e) for e in (v, x)])
            make = np.zeros if self.device is None else self.device.zeros
            self.blocks[key] = make((*np.shape(v), *np.shape(x)), dtype)
        return self.blocks[key]

    def result(self, place: Any, x: Any, parts: Any, several: bool) -> Any:
        """The blocks in the structure of the value, and in it of the arguments."""

        def row(ref: Any, v: Any) -> Any:
            columns = [part.built(lambda leaf: self.block(ref, v, leaf)[()]) for _, part in parts]
            return tuple(columns) if several else columns[0]

        return mapped(place, x, row, lambda v: row(v, v))


def entries(x: Any) -> list[Any]:
    """The indices of the entries of a number or an array."""
    return list(np.ndindex(np.shape(x)))


def unit(x: Any, i: Any) -> Any:
    """A tangent or cotangent of `x` that is 1 at one entry."""
    if not is_array(x):
        return x.__class__(1)
    u = np.zeros(x.shape, x.dtype)
    u[i] = 1
    return x.session.array(u) if remote(x) else u


def refs_of(place: Any, x: Any) -> list[tuple[Any, Any]]:
    """The recorded numbers and arrays of a result, each with its value."""
    found: list[tuple[Any, Any]] = []
    mapped(place, x, lambda ref, v: found.append((ref, v)))
    return found


def jacfwd(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of `f` as a function, in forward mode: one run, then one push for each entry of the arguments.

    `wrt`: a position, a parameter name, or a tuple of them (then a tuple of Jacobians). The Jacobian of an array of
    shape s with respect to one of shape r has shape `s + r`; of containers it has the structure of the value, and in it
    that of the argument. TypeError for arguments that are not differentiable. With `has_aux`, `f` returns
    `(value, aux)`, and `(Jacobian, aux)` is what comes out.
    """
    chosen = Chosen(f, wrt)

    def differentiated(*args: Any, **kwargs: Any) -> Any:
        kwargs = chosen.completed(args, kwargs)
        places = chosen.places(args, kwargs)[0]
        if ACTIVE and (nested := inside(chosen.fn, args, kwargs, places)) is not None:
            aux = aux_of(nested) if has_aux else None
            found = jacobian_inside(nested, chosen.in_order(nested, places, args, kwargs), chosen.several)
            return (found, aux) if has_aux else found

        def first(parts: Any) -> None:
            leaf = leaves_of(parts)[0]
            leaf.ref.n.g = unit(primal(leaf), (entries(leaf.given) or [()])[0]) if np.size(leaf.given) else None

        tape, recording = forward(chosen.fn, args, kwargs, places, True, first, chosen.device)
        parts = chosen.in_order(recording, places, args, kwargs)
        aux = aux_of(recording) if has_aux else None
        try:
            return at_home(columns(tape, recording, parts, chosen.several), aux, has_aux, tape)
        finally:
            tape.release()

    return bound(functools.wraps(chosen.fn)(differentiated), chosen.device)


def at_home(found: Any, aux: Any, has_aux: bool, tape: Any) -> Any:
    """A derivative, and what came with it, where the caller's arrays are."""
    both = (found, aux) if has_aux else found
    return both if tape.device is None else host_value(both, tape.to_host)


def columns(tape: Forward, recording: Recording, parts: Any, several: bool) -> Any:
    """Push a unit tangent for every entry of the arguments. The first has been pushed by the run itself."""
    blocks, results = Blocks(tape), refs_of(recording.place, recording.value)
    leaves, fresh = leaves_of(recording.parts), True
    for leaf in leaves:
        for i in entries(leaf.given):
            if not fresh:
                for other in leaves:
                    still(other.ref.n)
                put(leaf.ref.n, unit(primal(leaf), i))
                tape.again()
            fresh = False
            for ref, v in results:
                t = tangent(ref.n)
                if t is not None:
                    blocks.block(ref, v, leaf)[(..., *i)] = t
    return blocks.result(recording.place, recording.value, parts, several)


def still(n: Any) -> None:
    """Take the tangent of an input out."""
    if n.own == 2:
        n.g[...] = 0
    else:
        n.g, n.own = None, 0  # what arrives next is somebody else's


def put(n: Any, t: Any) -> None:
    if n.own == 2:
        n.g[...] = t
    else:
        n.g, n.own = t, 0


def jacrev(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian of `f` as a function, in reverse mode: one recording, then one sweep for each entry of the value.
    Otherwise as `jacfwd`; it costs less where the value has fewer entries than the arguments."""
    chosen = Chosen(f, wrt)

    def differentiated(*args: Any, **kwargs: Any) -> Any:
        kwargs = chosen.completed(args, kwargs)
        places = chosen.places(args, kwargs)[0]
        if ACTIVE and (nested := inside(chosen.fn, args, kwargs, places)) is not None:
            aux = aux_of(nested) if has_aux else None
            found = jacobian_inside(nested, chosen.in_order(nested, places, args, kwargs), chosen.several)
            return (found, aux) if has_aux else found
        check_source(chosen.fn)
        tape = tape_for(chosen.device, args, kwargs)
        tape.kept = True
        calm()
        try:
            recording = run(chosen.fn, None, args, kwargs, places, tape)
        finally:
            resume()
        parts = chosen.in_order(recording, places, args, kwargs)
        tape.finish()
        aux = aux_of(recording) if has_aux else None
        try:
            return at_home(rows(tape, recording, parts, chosen.several), aux, has_aux, tape)
        finally:
            tape.release()

    return bound(functools.wraps(chosen.fn)(differentiated), chosen.device)


def rows(tape: Tape, recording: Recording, parts: Any, several: bool) -> Any:
    """Sweep back a unit cotangent for every entry of the value."""
    blocks, leaves = Blocks(tape), leaves_of(recording.parts)
    for ref, v in refs_of(recording.place, recording.value):
        if is_complex(v):
            raise TypeError("jacrev needs a real value: return real and imaginary parts")
        for i in entries(v):
            add_to(ref if type(ref) is Scalar else ref.n, unit(v, i))
            sweep_keeping(tape)
            for leaf in leaves:
                blocks.block(ref, v, leaf)[i] = leaf.arrived()
                forget(leaf.ref)
    return blocks.result(recording.place, recording.value, parts, several)


def forget(ref: Any) -> None:
    """Take out what arrived at an argument."""
    if type(ref) is Scalar:
        ref.g = 0.0
    else:
        still(ref.n)


def hessian(f: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The second derivatives of a scalar-valued `f` as a function: the Jacobian of its gradient, forward over reverse.

    For an array of shape s it has shape `s + s`; for a tuple `wrt` it is a tuple of tuples of blocks. With `has_aux`,
    `f` returns `(value, aux)`, and `(Hessian, aux)` is what comes out.
    """
    return bound(functools.wraps(plain(f))(jacfwd(grad(f, wrt, has_aux), wrt, has_aux)), device_of(f))


def hvp(f: Callable[..., Any], wrt: Wrt = 0) -> Callable[..., Any]:
    """`hvp(f)(x, v, *args)`: the derivative of the gradient of the scalar-valued `f(x, *args)` with respect to `x`,
    along `v`, forward over reverse. It fits `scipy.optimize.minimize(hessp=)`. With `wrt`, gradient and `v` are those
    of that argument (for a tuple, tuples); `v` stays the second argument of the call."""
    chosen, gradient = Chosen(f, wrt), grad(f, wrt)

    @functools.wraps(chosen.fn)
    def product(x: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        args, tangents = (x, *args), list(v) if chosen.several else [v]
        kwargs = chosen.completed(args, kwargs)
        places = chosen.places(args, kwargs)[0]
        if len(tangents) != len(places):
            raise ValueError(f"hvp: v has {len(tangents)} entries, expected {len(places)}, those of wrt")
        return pushed(gradient, args, kwargs, places, tangents, chosen.device, False)[1]

    return bound(product, chosen.device)
