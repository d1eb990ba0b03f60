"""The reverse sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tape import Scalar, Tape, pass_on

float64 = np.float64


def sweep_edges(n: Scalar, g: Any) -> None:
    """The `f` of a scalar that was made from arrays or several numbers: `a` holds its edges."""
    if type(g) is float and type(n.v) is float64:  # rules of arrays ask a number for its shape, too
        g = float64(g)
    for edge in n.a:
        try:
            pass_on((edge,), g)
        except ArithmeticError:  # where IEEE has an answer; nothing has been added yet
            edge[3][:] = [float64(x) if type(x) is float else x for x in edge[3]]
            pass_on((edge,), float64(g))


def sweep(tape: Tape) -> None:
    """Run the tape backwards. Each node, and what it saved, dies as it is passed."""
    if tape.quiet:
        with np.errstate(all="ignore"):
            run_back(tape)
    else:
        run_floats_back(tape)


def run_floats_back(tape: Tape) -> None:
    """The same for Python floats alone, whose nodes hold nothing worth releasing early."""
    for n in reversed(tape):
        g = n.g
        if g:
            f = n.f
            if f is None:
                a = n.a
                a.g += g * n.pa
                b = n.b
                if b is not None:
                    b.g += g * n.pb
            else:
                f(n, g)
        n.a = n.b = None  # a handle that the function left somewhere does not keep the others
    tape.clear()


def run_back(tape: Tape) -> None:
    pop = tape.pop
    while tape:
        n = pop()
        if type(n) is Scalar:
            g = n.g
            if g:  # an exact zero contributes exactly zero
                f = n.f
                if f is None:
                    a = n.a
                    a.g += g * n.pa
                    b = n.b
                    if b is not None:
                        b.g += g * n.pb
                else:
                    f(n, g)
            n.a = n.b = None  # a handle that the function left somewhere does not keep the others
        else:
            n.sweep()
