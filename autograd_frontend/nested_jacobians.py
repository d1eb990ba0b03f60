"""Tangents and Jacobians inside a recorded function, made of pullbacks (nested.py), which are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import is_array
from .callables import of
from .eager import EAGER
from .jacobians import entries, mapped, refs_of, still_one, unit
from .nested import Nested, leaves_of
from .nested_results import fitting, value_of
from .recording import is_complex, settle, site, value
from .tape import Ref
from .trees import Box

ndarray = np.ndarray


def results_of(nested: Nested) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    """The places of a result, its value, and its numbers and arrays, each once: one may be in it several times."""
    place, x = nested.places(), value_of(nested.value)
    return place, x, list({id(ref): (ref, v) for ref, v in refs_of(place, x)}.values())


def push_inside(nested: Nested, tangents: list[Any]) -> tuple[Any, Any]:
    """The tangent inside a recorded function: the pullback is linear in the cotangent, and its transpose is wanted."""
    place, x, results = results_of(nested)
    moved = [pair for (k, part), t in zip(nested.parts, tangents, strict=True) for pair in along(part, t, str(k))]
    if not results:
        return nested.value, mapped(place, x, lambda ref, v: None, still_one)

    def pull(cotangents: Any) -> list[Any]:
        given = iter(cotangents)
        sweep = nested.swept([(ref, joined(v, given)) for ref, v in results])
        return [leaf.gradient(sweep) for leaf, _ in moved]

    # anywhere will do; at zero, exact zeros would hide what is singular
    halves = [h for _, v in results for h in ((v.real, v.imag) if is_complex(v) else (v,))]
    ones = [np.ones_like(h) if is_array(h) else h.__class__(1) for h in halves]
    transpose = Nested(pull, (ones,), {}, [0], nested.tape)
    pulled = [(settle(g), t) for g, (_, t) in zip(transpose.value, moved, strict=True)]
    sweep = transpose.swept([(g, t) for g, t in pulled if isinstance(g, Ref)])
    given = iter([leaf.gradient(sweep) for leaf in transpose.leaves])
    found = {id(ref): joined(v, given) for ref, v in results}
    return nested.value, mapped(place, x, lambda ref, v: found[id(ref)], still_one)


def joined(v: Any, given: Any) -> Any:
    """The next of what is given for a result; for complex numbers the next two, real and imaginary part."""
    x = next(given)
    return EAGER.add(x, EAGER.mul(1j, next(given), site()), site()) if is_complex(v) else x


def along(part: Any, t: Any, where: str) -> list[tuple[Any, Any]]:
    """The numbers and arrays of an argument that move, with their tangents."""
    if type(part) is not Box:
        return [] if t is None else [(part, fitting(value(part.given), t, f"argument {where}", "tangent"))]
    found = []
    for key, p in part.parts:
        try:
            e = t[key] if isinstance(part.first, (dict, list, tuple)) else getattr(t, key)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ValueError(f"the tangent of argument {where} lacks {key!r}") from None
        found += along(p, e, f"{where}[{key!r}]")
    return found


def rows_inside(nested: Nested, parts: Any, several: bool) -> Any:
    """A Jacobian inside a recorded function: rows of recorded gradients, stacked."""
    place, x, results = results_of(nested)
    blocks: dict[tuple[int, int], Any] = {}
    leaves = leaves_of(parts)
    for ref, v in results:
        if is_complex(v):
            raise TypeError("a Jacobian needs a real value: return real and imaginary parts")
        sweeps = [nested.swept([(ref, unit(v, i))]) for i in entries(v)]
        for leaf in leaves:
            blocks[id(ref), id(leaf)] = stacked([leaf.gradient(sweep) for sweep in sweeps], v, value(leaf.given))

    def row(ref: Any, v: Any) -> Any:
        columns = [part.built(lambda leaf: blocks[id(ref), id(leaf)]) for _, part in parts]
        return tuple(columns) if several else columns[0]

    def still(v: Any) -> Any:
        columns = [part.built(lambda leaf: stacked([], v, value(leaf.given))[()]) for _, part in parts]
        return tuple(columns) if several else columns[0]

    return mapped(place, x, row, still)


def stacked(rows: list[Any], v: Any, x: Any) -> Any:
    """The gradients of the entries of `v` with respect to `x` as one block, as it is outside of a recorded function."""
    dtype = np.result_type(*[e.dtype if hasattr(e, "dtype") else type(e) for e in (v, x)])
    shape = (*np.shape(v), *np.shape(x))
    if not rows:
        return np.zeros(shape, dtype)
    if shape:
        block = of(np.reshape)(of(np.stack)(rows), shape)
        return block if value(block).dtype == dtype else of(np.array)(block, dtype=dtype)
    g = EAGER.getitem(rows[0], (), site()) if is_array(value(rows[0])) else rows[0]
    return g if dtype.kind == "O" or isinstance(value(g), dtype.type) else of(dtype.type)(g)
