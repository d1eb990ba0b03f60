"""Functions whose source cannot be rewritten; test_messages.py has the whole message of each."""

from __future__ import annotations

import contextlib
import linecache
from unittest import mock

from messages import called, recorded

from autograd_frontend import nodes, record, writer


async def coroutine(x):  # here
    return x


def inner_coroutine(x):
    async def inner():  # here
        return x

    return x


def asynchronous_comprehension(x):
    inner = (y async for y in x)  # here
    return x


def assigned_global(x):
    global KEPT
    KEPT = x[0]  # here
    return x


def all_variables(x):
    return x * len(vars())  # here


def subscript_in_a_comprehension(x):
    kept = [0.0]
    return [kept[0] for kept[0] in x]  # here


def chain_in_an_iterable(x):
    return [y for y in range(0 < int(x[0]) < 2)]  # here


def chain_in_a_class(x):
    class Inner:
        y = 0 < x.sum() < 7  # here

    return x


def annotated_subscript(x):
    kept = [0.0]
    kept[0]: float = x[0]  # here
    return kept[0]


def subscripts_in_a_with_statement(x):
    kept = [0.0]
    with contextlib.nullcontext(x) as kept[0], contextlib.nullcontext(x) as y:  # here
        return y


def not_read_back():
    def f(x):
        y = 1.0
        return x - y  # here

    minus = next(kind for kind, name in nodes.BINARY.items() if name == "sub")
    with mock.patch.dict(nodes.BINARY, {minus: "add"}):
        return record(f)(1.0)


def not_rewritten():
    def f(x):  # here
        return x

    def write(*_):
        raise KeyError("lost")

    with mock.patch.object(writer, "write", write):
        return record(f)(1.0)


def nested_too_deeply():
    def f(x):  # here
        return x

    def write(*_):
        raise RecursionError("maximum recursion depth exceeded")

    with mock.patch.object(writer, "write", write):
        return record(f)(1.0)


def changed_on_disk():
    def f(x):  # here
        return x

    code = f.__code__
    old = linecache.getlines(code.co_filename)
    new = [line.replace("return x\n", "return x + 1.0\n") for line in old]
    with mock.patch.dict(linecache.cache, {code.co_filename: (0, None, new, code.co_filename)}):
        with mock.patch.object(linecache, "checkcache", lambda *_: None):
            return record(f)(1.0)


INTERNAL = "Please report this function."
CASES = [
    (recorded, coroutine, "a coroutine cannot be recorded", "Write it as a plain function and await outside of it."),
    (recorded, inner_coroutine, "a coroutine cannot be recorded",
     "Write it as a plain function and await outside of it."),
    (recorded, asynchronous_comprehension, "a coroutine cannot be recorded",
     "Write it as a plain function and await outside of it."),
    (recorded, assigned_global, "a recorded value would stay behind in a global variable",
     "Return it, and assign it outside."),
    (recorded, all_variables, "locals(), vars() and dir() show local variables that recording adds",
     "Name the variables you need."),
    (recorded, subscript_in_a_comprehension, "a subscript as the target of a comprehension cannot be recorded",
     "Write a for loop, or assign to a name."),
    (recorded, chain_in_an_iterable, "a chained comparison in the iterable of a comprehension cannot be recorded",
     "Compute the iterable in a line before."),
    (recorded, chain_in_a_class, "a temporary variable for this would become an attribute of the class",
     "Move it out of the class body."),
    (recorded, annotated_subscript, "an annotation on a subscript cannot be recorded", "Leave out the annotation."),
    (recorded, subscripts_in_a_with_statement,
     "a subscript as a target before the last item of a with statement cannot be recorded",
     "Nest two with statements."),
    (called, not_read_back, "internal error: the program does not read back as the function (BinOp)",
     "Please report this function. Writing the line another way will help for now."),
    (called, not_rewritten, "internal error: it cannot be rewritten ('lost')", INTERNAL),
    (called, nested_too_deeply, "an expression is nested too deeply to be rewritten",
     "Split it into several statements."),
    (called, changed_on_disk, "the source of f has changed since it was imported",
     "Import it again (or restart). A tool that alters code while importing has the same effect."),
]  # fmt: skip
