"""Every error of the package's own: its whole message, and that none is without a test."""

from __future__ import annotations

import misused
import pytest
import refused_calls
import refused_memory
import refused_primitives
import refused_source
from messages import caught, check, raised_at, recorded, sites, watched

from . import test_misuse

TABLES = [refused_calls, refused_memory, refused_primitives, refused_source]
REFUSED = [case for table in TABLES for case in table.CASES]


@pytest.mark.parametrize("how, f, reason, remedy", REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_a_refusal_says_why_where_and_what_to_write(how, f, reason, remedy):
    check(how, f, reason, remedy)


@pytest.mark.parametrize("f, kind, message", misused.CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_an_error_of_use_says_what_is_wrong(f, kind, message):
    error = caught(lambda f: f(), f)
    assert type(error) is kind and str(error) == message


def test_every_message_of_the_package_has_a_test(monkeypatch):
    runs = [(how, f) for how, f, _, _ in REFUSED] + [(recorded, f) for f, _, _ in test_misuse.REFUSALS]
    runs += [(lambda f: f(), f) for f, _, _ in misused.CASES]
    runs += [(lambda case: case[0](case[1]).pullback(case[2]), case) for case in test_misuse.MISFITS]
    with watched(monkeypatch) as lines:
        for how, f in runs:
            raised_at(lines, caught(how, f))
    untested = [
        f"{file}, line {first}"
        for file, first, last in sites()
        if not any((file, line) in lines for line in range(first, last + 1))
    ]
    assert not untested, f"no test has the message made at {untested}: add a case to one of the tables"
