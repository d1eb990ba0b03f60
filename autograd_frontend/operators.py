"""The fast paths of elementwise operations, written out from their blocks by templates.

For every two-operand operation one function that handles recorded floats and one that handles recorded arrays, for
every one-operand operation likewise, and one that hands the cotangent on. What a template does not cover goes to the
general path (`recording.emit`), which does the same without assumptions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .cotangents import fitted, strong_zero
from .ops.block import RESULT, Operation
from .ops.plain import FLOATS, PLAIN
from .recording import ACTIVE, GENERATED, emit, lifted, site
from .tape import Node, Pair, Ref, Scalar, Tape, Tensor, View, add_to, tensor


def quiet(t: Tape) -> bool:
    """A float64 takes part."""
    t.quiet = True
    return True


def noted(a: Any, b: Any, v: Any) -> Any:
    """The result of a callable, which may be a float64 though the operands are floats."""
    (a if isinstance(a, Ref) else b).t.quiet = True
    return v


SPACE: dict[str, Any] = {
    "Scalar": Scalar, "Tensor": Tensor, "Pair": Pair, "Node": Node, "View": View, "quiet": quiet, "noted": noted,
    "ndarray": np.ndarray, "float64": np.float64, "ACTIVE": ACTIVE, "PLAIN": PLAIN, "FLOATS": FLOATS,
    "emit": emit, "tensor": tensor, "site": site, "lifted": lifted, "fitted": fitted, "strong_zero": strong_zero,
    "add_to": add_to, "vdot": np.vdot, "add": np.add, "_getframe": sys._getframe, "errstate": np.errstate,
}  # fmt: skip

TWO = """
def {name}(a, b, s={site}):
    k = type(b)
    if type(a) is Scalar:
        if k is Scalar:
            t = a.t
            if b.t is t:
                x = a.v
                y = b.v
                n = Scalar()
                n.v = {expression}
                n.g = 0.0
                n.a = a
                n.b = b
                n.f = {both}
                n.s = {s}
                n.t = t
                {both_factors}
                t.append(n)
                return n
        elif k is float or k is int or (k is float64 and quiet(a.t)):
            x = a.v
            y = b
            n = Scalar()
            n.v = {expression}
            n.g = 0.0
            n.a = a
            n.b = None
            n.f = {left}
            n.s = {s}
            n.t = t = a.t
            {left_factor}
            t.append(n)
            return n
    elif k is Scalar:
        k = type(a)
        if k is float or k is int or (k is float64 and quiet(b.t)):
            x = a
            y = b.v
            n = Scalar()
            n.v = {expression}
            n.g = 0.0
            n.a = {right_a}
            n.b = {right_b}
            n.f = {right}
            n.s = {s}
            n.t = t = b.t
            {right_factor}
            t.append(n)
            return n
    elif k is float or k is int:
        k = type(a)
        if k is float or k is int:
            x = a
            y = b
            return {plain}
    return {arrays}(a, b, {s})


def {name}_of_arrays(a, b, s):
    if len(ACTIVE) != 1:
        return general(op, call, a, b, s)
    k = type(b)
    if ACTIVE[0].adopted:
        if k is ndarray:
            b = lifted(b)
            k = type(b)
        if type(a) is ndarray:
            a = lifted(a)
    if type(a) is Tensor:
        t = a.t
        x = a.v
        pa = a.n
        e = a.e
        if k is Tensor:
            if b.t is not t:
                return general(op, call, a, b, s)
            y = b.v
            pb = b.n
            e = e or b.e
        elif k is Scalar:
            if b.t is not t:
                return general(op, call, a, b, s)
            y = b.v
            pb = b
        elif k is float or k is int or k is float64:
            y = b
            pb = None
        elif k is ndarray:
            y = b
            pb = None
            e = True
        else:
            return general(op, call, a, b, s)
    elif k is Tensor:
        t = b.t
        y = b.v
        pb = b.n
        e = b.e
        k = type(a)
        if k is float or k is int or k is float64:
            x = a
            pa = None
        elif k is Scalar:
            if a.t is not t:
                return general(op, call, a, b, s)
            x = a.v
            pa = a
        elif k is ndarray:
            x = a
            pa = None
            e = True
        else:
            return general(op, call, a, b, s)
    else:
        return general(op, call, a, b, s)
    if not t.fast:
        return general(op, call, a, b, s)
    v = {expression}
    if type(v) is not ndarray or v.dtype.kind != "f" or not (type(x) is ndarray or type(y) is ndarray):
        return emit(op, v, (a, b), None, s, t)
    n = Pair()
    n.g = None
    n.own = 0
    n.like = None
    n.op = op
    n.s = s
    n.edges = None
    shape = v.shape
    dtype = v.dtype
    if pa is None:
        n.fa = None
    elif type(pa) is Scalar:
        n.fa = {scalar_a}
    elif type(x) is ndarray and x.shape == shape and x.dtype is dtype:
        n.fa = {same_a}
    else:
        n.fa = (None, None, {strict_a}) if type(x) is float else (x.shape, x.dtype, {strict_a})
    if pb is None:
        n.fb = None
    elif type(pb) is Scalar:
        n.fb = {scalar_b}
    elif type(y) is ndarray and y.shape == shape and y.dtype is dtype:
        n.fb = {same_b}
    else:
        n.fb = (None, None, {strict_b}) if type(y) is float else (y.shape, y.dtype, {strict_b})
    n.a = pa
    n.b = pb
    n.x = {save_x}
    n.y = {save_y}
    n.v = {save_v}
    if {saves}:
        t.unseen.append(n)
        if e:
            t.exposed.append(n)
    t.append(n)
    r = Tensor()
    r.v = v
    r.n = n
    r.t = t
    r.e = False
    return r
"""

ONE_CALL = """
def {name}(x, %s*rest, **settings):
    if rest or settings:
        return general(x, *rest, **settings)
"""
ONE = """
    if type(x) is Scalar:
        u = x.v
        v = call(u)
        if type(v) is not float and not (type(v) is float64 and quiet(x.t)):
            return general(x)
        n = Scalar()
        n.v = v
        n.g = 0.0
        n.a = x
        n.b = None
        n.pa = u
        n.pb = None
        n.f = scalar
        {where}
        n.t = t = x.t
        t.append(n)
        return n
    if type(x) is not Tensor or not x.t.fast or type(x.v) is not ndarray:
        return general(x)
    t = x.t
    u = x.v
    v = call(u)
    if type(v) is not ndarray or v.dtype is not u.dtype:
        return emit(op, v, (x,), None, {s}, t)
    n = Pair()
    n.g = None
    n.own = 0
    n.like = None
    n.op = op
    n.s = {s}
    n.edges = None
    n.a = x.n
    n.b = None
    n.fa = {same_a}
    n.fb = None
    n.x = {save_x}
    n.y = None
    n.v = {save_v}
    if {saves}:
        t.unseen.append(n)
        if x.e:
            t.exposed.append(n)
    t.append(n)
    r = Tensor()
    r.v = v
    r.n = n
    r.t = t
    r.e = False
    return r
"""

BACK = """
def back(n, g):
"""
BACK_ONE = """
    p = n.{place}
    if p is not None:
        d = rule{i}(PLAIN, g{args})
        f = n.f{place}
        if f is True:
            c = d.dot(d) if d.ndim == 1 else vdot(d, d)
            if c != c:
                d = strong_zero(d, g)
        elif f is not None:
            d = fitted(d, g, f)
        if type(p) is View:
            m = p.m
            if m is None:
                m = p.mirror()
            add(m, d, m)
        elif type(p) is Scalar:
            p.g = p.g + d
        else:
            h = p.g
            if h is None:
                p.g = d
                {owned}
            elif p.own:
                add(h, d, h)
            else:
                p.g = h = h + d
                p.own = type(h) is ndarray
"""


def scalar_sweep(op: Operation, *on: bool) -> Callable[[Scalar, Any], None]:
    """The `f` of a scalar node: the rules of the operands that are `on`, on the values `pa` and `pb`.

    Python arithmetic raises where IEEE has an answer; the rule is then repeated on float64 scalars.
    """
    names = {0: "x", 1: "y", RESULT: "v"}
    lines = ["def f(n, g):", " x = n.pa; y = n.pb; v = n.v", " try:"]
    again = [
        " except (ArithmeticError, ValueError):",
        "  x, y, v = float64(x), y if y is None else float64(y), float64(v)",
        "  with errstate(all='ignore'):",
    ]
    for i, used in enumerate(on):
        if used:
            args = ", ".join(names[k] for k in op.pulls[i].needs)
            lines.append(f"  d{i} = rule{i}(FLOATS, g, {args})")
            again.append(f"   d{i} = rule{i}(PLAIN, g, {args})")
    ends = [f" n.{'ab'[i]}.g += d{i}" for i, used in enumerate(on) if used]
    space = SPACE | {f"rule{i}": rule.function for i, rule in enumerate(op.pulls)}
    exec(compile("\n".join(lines + again + ends), GENERATED, "exec"), space)  # noqa: S102
    f = space["f"]
    f.op = op.name
    return f  # type: ignore[no-any-return]


def back_of(op: Operation) -> Callable[[Any, Any], None]:
    """What a `Pair` of this operation does with its cotangent."""
    names = {0: "n.x", 1: "n.y", RESULT: "n.v"}
    text = BACK
    for i, rule in enumerate(op.pulls):
        args = "".join(f", {names[k]}" for k in rule.needs)
        owned = "p.own = type(d) is ndarray" if rule.always_new() else "pass"
        text += BACK_ONE.format(place="ab"[i], i=i, args=args, owned=owned)
    space = SPACE | {f"rule{i}": rule.function for i, rule in enumerate(op.pulls)}
    exec(compile(text, GENERATED, "exec"), space)  # noqa: S102
    return space["back"]  # type: ignore[no-any-return]


def saving(op: Operation) -> dict[str, str]:
    """For the templates: which values the rules need, and where the cotangent has to be watched for zeros."""
    parts: dict[str, str] = {}
    every = [set(rule.needs) for rule in op.pulls] + [set()]
    both = len(op.pulls) == 2
    for name, k in (("x", 0), ("y", 1), ("v", RESULT)):
        when = [place for place, needs in zip(("pa", "pb"), every, strict=False) if k in needs]
        if not when:
            parts[f"save_{name}"] = "None"
        elif not both or len(when) == 2:
            parts[f"save_{name}"] = name if both or name == "v" else "u"
        else:
            parts[f"save_{name}"] = f"{name} if {when[0]} is not None else None"
    parts["saves"] = str(bool(every[0] | every[1]))
    for place, rule in zip("ab", op.pulls, strict=False):
        parts[f"strict_{place}"] = str(rule.strict)
        parts[f"same_{place}"] = "True" if rule.strict else "None"
        parts[f"scalar_{place}"] = f"(None, None, {rule.strict})"
    return parts


def two_operands(
    op: Operation, expression: str, call: Callable[..., Any], general: Any, operator: bool, inplace: Any = None
) -> Any:
    """An operation of two operands. As an operator it is handed its site, as a callable it looks for it. `inplace`
    takes what can change in place, for augmented assignment."""
    parts = saving(op) | {"name": op.name + "_", "expression": expression, "plain": expression}
    parts["arrays"] = "inplace" if inplace else op.name + "__of_arrays"
    parts |= {"site": "0", "s": "s"} if operator else {"site": "None", "s": "site()"}
    if not operator:
        parts["expression"] = f"noted(a, b, {expression})"
    space = SPACE | {"op": op, "call": call, "general": general, "inplace": inplace}
    if op.scalars:
        da, db = op.scalars
        parts |= {"both": "None", "left": "None", "right": "None", "right_a": "b", "right_b": "None"}
        parts |= {"both_factors": f"n.pa = {da}; n.pb = {db}", "left_factor": f"n.pa = {da}; n.pb = None"}
        parts["right_factor"] = f"n.pa = {db}; n.pb = None"
    else:
        space |= {"both": scalar_sweep(op, True, True), "left": scalar_sweep(op, True, False)}
        space["right"] = scalar_sweep(op, False, True)
        parts |= {"both": "both", "left": "left", "right": "right", "right_a": "None", "right_b": "b"}
        keep = "n.pa = x; n.pb = y\n            if type(n.v) is not float and type(n.v) is not float64: "
        keep += f"return general(op, call, a, b, {parts['s']})"
        parts |= {"both_factors": keep.replace("\n", "\n    "), "left_factor": keep, "right_factor": keep}
    if op.back is None:
        op.back = back_of(op)
    exec(compile(TWO.format(**parts), GENERATED, "exec"), space)  # noqa: S102
    return space[op.name + "_"]


def one_operand(op: Operation, call: Callable[..., Any], general: Callable[..., Any]) -> Any:
    """An operation of one recorded number or array; `general` takes every other form of the call."""
    head = ONE_CALL % ("" if call is op.function else "/, ")  # only what is written in Python takes its operand by name
    return from_template(op, call, general, head, "site()", "f = _getframe(1); n.s = (f.f_code, f.f_lasti)")


def prefix(op: Operation, call: Callable[..., Any], general: Callable[..., Any]) -> Any:
    """The same as an operator, which is handed its site."""
    return from_template(op, call, general, "\ndef {name}(x, s=0):\n", "s", "n.s = s")


def from_template(op: Operation, call: Any, general: Any, head: str, s: str, where: str) -> Any:
    parts = saving(op) | {"name": op.name + "_", "s": s, "where": where}
    if op.back is None:
        op.back = back_of(op)
        op.sweeps["scalar"] = scalar_sweep(op, True)
    space = SPACE | {"op": op, "call": call, "general": general, "scalar": op.sweeps["scalar"]}
    exec(compile((head + ONE).format(**parts), GENERATED, "exec"), space)  # noqa: S102
    return space[op.name + "_"]
