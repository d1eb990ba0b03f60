"""The rules of a `primitive` as the sweep calls them: what they get is guarded, and what they give is checked."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .cotangents import strong_zero
from .errors import RecordError
from .primitive_calls import NUMBERS, Call, Kind, elsewhere, missing
from .recording import ACTIVE, is_complex, lifted, short, value
from .tape import Ref, Tensor, tensor

ndarray = np.ndarray
REAL = (int, np.integer, *NUMBERS)


def pull_each(ops: Any, g: Any, i: int, shared: list[Any]) -> Any:
    """The cotangent of operand `i`. All are computed together, when the first one is asked for."""
    c, last, found, results, leaves = shared
    if last is not g or i not in found:
        found = gradients(c, g, results, leaves)
        shared[1:3] = g, found
    d = found.pop(i)
    if not found:
        shared[1:3] = None, None
    return d


def gradients(c: Call, g: Any, results: list[Any], leaves: list[Any]) -> dict[int, Any]:
    """What the pullback gives for the recorded operands, checked."""
    if c.many is not None:
        g = tuple([kind and (own_kind(g[i], kind) if i in g else kind.zero()) for i, kind in enumerate(c.results)])
    else:
        g = own_kind(g, c.results[0])
    rule = c.p.rules["pullback"].function
    y = c.y([guarded(x) for x in results])
    given = [guarded(x) for x in leaves]
    g = tuple(map(guarded, g)) if c.many is not None else guarded(g)
    if any(isinstance(x, Ref) for x in (g, *given, *results)):
        from .callables import of

        rule = of(rule)
    box = split(c, [called(c, rule, g, y, given)])
    return {j: fitting(c, box, j, g) for j in c.kinds}


def own_kind(g: Any, kind: Kind) -> Any:
    """A cotangent, in the type of the result that it belongs to: the sweep mixes Python's floats and NumPy's."""
    if type(g) is kind.type or isinstance(g, Ref) or not issubclass(kind.type, (float, np.floating)):
        return g
    return kind.type(g)


def called(c: Call, rule: Any, first: Any, y: Any, given: list[Any]) -> Any:
    """A rule of the user's. Where Python's arithmetic raises and IEEE has an answer, it is repeated with float64."""
    try:
        return rule(first, y, *c.arguments(given), **c.settings)
    except ArithmeticError:
        wide = [np.float64(x) if type(x) is float else x for x in given]
        y = np.float64(y) if type(y) is float else y
        first = np.float64(first) if type(first) is float else first
        with np.errstate(all="ignore"):
            return rule(first, y, *c.arguments(wide), **c.settings)
    except ValueError as error:
        if "read-only" in str(error):
            error.add_note(f"  The rules of {c.p.name} get read-only arrays: write into a copy.")
        raise


def guarded(x: Any) -> Any:
    """An array that cannot be written: it belongs to the recording, or to the caller."""
    if type(x) is ndarray:
        x = x.view()
        x.flags.writeable = False
    elif type(x) is Tensor and type(x.v) is ndarray:
        return tensor(guarded(x.v), x.n, x.t, x.e)
    return x


def split(c: Call, box: list[Any]) -> list[Any]:
    """The gradients that a pullback gave, for every operand (None: nothing)."""
    p, count, result = c.p, len(c.forms), box.pop()
    places = p.places if p.places is not None else tuple(range(count))
    single = isinstance(p.wrt, (int, str)) or (count == 1 and p.wrt is None)
    given: list[Any] = [None] * count
    if single:
        alone = type(result) is tuple and len(result) == 1 and not isinstance(c.forms[places[0]], tuple)
        given[places[0]] = result[0] if alone else result
    elif type(result) is tuple:
        if len(result) != len(places):
            names = ", ".join(p.arguments.name(i) for i in places)
            raise c.error(
                f"the pullback of {p.name} gives {len(result)} gradients, expected {len(places)}, for {names}",
                "Return a tuple with None for plain data.",
            )
        for i, d in zip(places, result, strict=True):
            given[i] = d
    else:
        given[places[0]] = result
    del result
    found: list[Any] = []
    for i, form in enumerate(c.forms):
        d, given[i] = given[i], None
        found += [d] if form is None else matched(c, form, d, p.arguments.name(i))
    return found


def matched(c: Call, form: Any, d: Any, name: str) -> list[Any]:
    """The gradients in a container that has the structure of the argument."""
    if not isinstance(form, (dict, list, tuple)):
        return [d]
    keys = list(form) if isinstance(form, dict) else range(len(form))
    if d is None:
        return [e for k in keys for e in matched(c, form[k], None, f"{name}[{k!r}]")]
    same = isinstance(d, dict) if isinstance(form, dict) else isinstance(d, (list, tuple))
    if not same or len(d) != len(form) or (isinstance(form, dict) and set(d) != set(form)):
        what = f"{type(form).__name__} of {len(form)}"
        raise c.error(
            f"the pullback of {c.p.name} gives {short(d)} for {name}, expected a {what}",
            "Return the gradient of a container in its structure.",
        )
    return [e for k in keys for e in matched(c, form[k], d[k], f"{name}[{k!r}]")]


def fitting(c: Call, box: list[Any], j: int, g: Any) -> Any:
    """The gradient for operand `j`, of a shape that fits it, and in memory that nobody else will change."""
    if ACTIVE and type(box[j]) is ndarray:
        box[j] = lifted(box[j])  # the rule may have filled it with recorded values
    p, kind, d = c.p, c.kinds[j], value(box[j])
    real = d.dtype.kind in "fiu" if type(d) is ndarray else isinstance(d, REAL) and not isinstance(d, bool)
    shape = getattr(d, "shape", ())
    wide = c.results[0].shape if p.elementwise and c.many is None else kind.shape
    if type(d) is int and d == 0:
        return 0
    if not real or (shape != kind.shape and shape != wide) or not suits(d, kind):
        raise unfit(c, j, d)
    d, box[j] = box[j], None
    if isinstance(d, Ref):
        return d
    if type(d) is ndarray and d.flags.writeable:
        box[j] = d
        del d
        if elsewhere(box, j):
            box[j] = box[j].copy()
        d = box[j]
    if p.elementwise and c.many is None and shape == getattr(g, "shape", ()):
        d = strong_zero(d, g)
    if kind.type is ndarray or shape != kind.shape or issubclass(kind.type, np.generic):
        return d
    return d if type(d) is kind.type or (type(d) is int and kind.type is not float) else kind.type(float(d))


def suits(d: Any, kind: Kind) -> bool:
    """Whether a number has a type that becomes the operand's."""
    return kind.type is type(d) or not isinstance(d, (Fraction, Decimal))


def unfit(c: Call, j: int, d: Any) -> RecordError:
    kind, p = c.kinds[j], c.p
    path = c.path(j)
    if d is None:
        reason = f"the pullback of {p.name} gives no gradient for {path}, which is recorded; expected {kind!r}"
        return c.error(reason, "Return a tuple with a gradient for each argument, or give it plain data there.")
    came = short(d) if type(d) is ndarray or not np.shape(d) else f"{type(d).__name__} of {len(d)}"
    remedy = "Return the gradient of <g, y> for each argument, in the shape of the argument."
    if not p.elementwise and c.many is None and kind.shape != getattr(d, "shape", None) == c.results[0].shape:
        remedy = "Sum it to the shape of the argument, or pass elementwise=True if arguments broadcast."
    return c.error(f"the pullback of {p.name} gives {came} for {path}, expected {kind!r}", remedy)


def push_each(ops: Any, t: Any, i: int, shared: list[Any]) -> Any:
    """The contribution of the tangent `t` of operand `i`."""
    c, _, _, results, leaves = shared
    if c.p.elementwise and "tangent" not in c.p.rules and c.many is None:
        return factored(c, t, i, results, leaves)
    tangents = [still(x) for x in leaves]
    tangents[i] = t
    return pushed(c, tangents, results, leaves)


def factored(c: Call, t: Any, i: int, results: list[Any], leaves: list[Any]) -> Any:
    """The tangent of an elementwise result: the factor of the pullback is that of the tangent, unless the rule sums."""
    shape = c.results[0].shape
    wide = t if np.shape(t) == shape else np.broadcast_to(t, shape)
    d = split(c, [called(c, c.p.rules["pullback"].function, guarded(wide), c.y(results), leaves)])[i]
    if (type(d) is int and d == 0) or np.shape(d) == shape:
        return d
    raise missing(c.p, "tangent")


def still(x: Any) -> Any:
    """The tangent of an operand that stays: zero, or None for plain data."""
    x = value(x)
    return Kind(x).zero() if isinstance(x, NUMBERS) or (type(x) is ndarray and x.dtype.kind == "f") else None


def pushed(c: Call, tangents: list[Any], results: list[Any], leaves: list[Any]) -> Any:
    """What the tangent rule gives for tangents of all operands."""
    p = c.p
    if "tangent" not in p.rules:
        raise missing(p, "tangent")
    t = c.arguments(tangents)
    if p.places is not None:
        t = [t[i] for i in p.places]
    single = isinstance(p.wrt, (int, str)) or (len(c.forms) == 1 and p.wrt is None)
    given = called(c, p.rules["tangent"].function, t[0] if single else tuple(t), c.y(results), leaves)
    if c.many is None:
        suitable(c, given, c.results[0], "")
        return given
    if not isinstance(given, (tuple, list)) or len(given) != len(c.results):
        raise c.error(
            f"the tangent of {p.name} gives {short(given)}, expected a {c.many.__name__} of {len(c.results)}",
            "Return the tangent of each result, None for plain data.",
        )
    for i, (d, kind) in enumerate(zip(given, c.results, strict=True)):
        suitable(c, d, kind, f" for result {i}")
    return given


def suitable(c: Call, d: Any, kind: Any, which: str) -> None:
    """A tangent has the shape of its result; zero may be written as 0."""
    v = value(d)
    if kind is None or (type(v) is int and v == 0):
        return
    if v is None or np.shape(v) != kind.shape or is_complex(v):
        raise c.error(
            f"the tangent of {c.p.name} gives {short(v)}{which}, expected {kind!r}",
            "Return the tangent of the result, in its shape.",
        )


def shape_of(p: Any, likes: Any, settings: dict[str, Any]) -> Any:
    if "shape" not in p.rules:
        raise missing(p, "shape")
    return p.rules["shape"].function(*likes, **settings)
