"""The cases of users, one test each: `cases/README.md` says what a case is. Run one with `-k NAME`."""

from __future__ import annotations

import pytest

from .cases import run_cases

# Cases of what is still to come. A test that passes and stands here is a failure: take it out.
TO_COME = set()
CASES = {f"{case['file']}/{case['name']}": case for case in run_cases.load()}


def marked(name):
    return pytest.param(name, marks=pytest.mark.xfail(strict=True)) if name in TO_COME else name


@pytest.mark.parametrize("name", [marked(name) for name in CASES])
def test_case(name):
    status, detail = run_cases.run(CASES[name])
    if status == "skipped":
        pytest.skip(detail or "not here")
    assert status == "pass", f"{status}: {detail} [{CASES[name]['why']}]"


def test_every_case_to_come_exists():
    assert set(CASES) >= TO_COME
