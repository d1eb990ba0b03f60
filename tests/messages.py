"""What tests of messages share: a case is (function, reason, remedy); the line that the message names has `# here`."""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import sys
from pathlib import Path

import numpy as np

from autograd_frontend import RecordError, record
from autograd_frontend.recording import HERE
from autograd_frontend.running import TRACEBACK

X = np.array([1.0, 2.0, 3.0])
MAKERS = {"refuse", "error"}  # functions that make a RecordError
RAISED = {"TypeError", "ValueError", "RecordError", "RecordingClosed", "ImportError"}
# their errors are tested with what they belong to
ELSEWHERE = {"ops", "graph", "devices", "remote.py", "remote_lifting.py"}
CHECKED = sorted(p for p in Path(HERE).rglob("*.py") if not ELSEWHERE.intersection(p.relative_to(HERE).parts))


def called(f):
    return f()


def recorded(f):
    return record(f)(X.copy())


def swept(f):
    return record(f)(X.copy()).backward()


def caught(how, f):
    try:
        how(f)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def names_around(f, line):
    """What the functions and classes around a line are called."""
    lines, start = inspect.getsourcelines(f)
    tree = ast.parse("if 1:\n" + "".join(lines) if lines[0][:1].isspace() else "".join(lines))
    inside = line - start + (2 if lines[0][:1].isspace() else 1)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    around = [n for n in ast.walk(tree) if isinstance(n, kinds) and n.lineno <= inside <= n.end_lineno]
    return {getattr(n, "name", "<lambda>") for n in around}


def marked(f):
    """The line of a function that has `# here`."""
    lines, start = inspect.getsourcelines(f)
    found = [start + i for i, line in enumerate(lines) if line.rstrip().endswith("# here")]
    assert len(found) == 1, f"{f.__name__} needs one line with `# here`"
    return found[0]


def check(how, f, reason, remedy):
    """The whole message: the reason; file, line, function and text of the line; what to write instead."""
    error = caught(how, f)
    assert type(error) is RecordError, repr(error)
    assert (error.reason, error.remedy) == (reason, remedy)
    filename, line, place = f.__code__.co_filename, marked(f), error.place
    assert (place.filename, place.line) == (filename, line)
    assert place.function in names_around(f, line)
    text = linecache.getline(filename, line).strip()
    second = f'  File "{filename}", line {line}, in {place.function}:    {text}'
    assert str(error) == "\n".join([reason, second, f"  {remedy}"])


# Where the package makes its errors


ON_A_DEVICE = (  # in tests/test_device_messages.py, which has one
    "and this recording runs on the CPU: pass x.get()",
)


def sites():
    """(file, first line, last line) of every place where the package makes an error of its own."""
    found = []
    for path in CHECKED:
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and made(node) and not inside_a_maker(tree, node):
                if any(text in ast.unparse(node) for text in ON_A_DEVICE):
                    continue
                found.append((path.relative_to(HERE).as_posix(), node.lineno, node.end_lineno))
    return found


def made(node):
    f = node.func
    name = f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else ""
    return name in MAKERS or (isinstance(f, ast.Name) and name in RAISED)


def inside_a_maker(tree, node):
    """Whether this is the body of `refuse` itself."""
    return any(
        isinstance(f, ast.FunctionDef) and f.name in MAKERS and f.lineno <= node.lineno <= f.end_lineno
        for f in ast.walk(tree)
    )


@contextlib.contextmanager
def watched(monkeypatch):
    """The lines of the package at which a `RecordError` is made in this block, and those in tracebacks, in a set."""
    lines = set()
    make = RecordError.__init__

    def init(self, *args, **kwargs):
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_name in MAKERS:
            frame = frame.f_back
        note(lines, frame)
        make(self, *args, **kwargs)

    monkeypatch.setattr(RecordError, "__init__", init)
    monkeypatch.setenv(TRACEBACK, "1")
    yield lines


def note(lines, frame, line=None):
    filename = frame.f_code.co_filename
    if filename.startswith(HERE):
        lines.add((Path(filename).relative_to(HERE).as_posix(), line or frame.f_lineno))


def raised_at(lines, error):
    """Add the line of the package at which an error was raised."""
    tb = error.__traceback__
    while tb.tb_next is not None:
        tb = tb.tb_next
    note(lines, tb.tb_frame, tb.tb_lineno)
