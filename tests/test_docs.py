"""docs/operations.md is what the blocks say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from autograd_frontend import ops
from autograd_frontend.ops.__main__ import FILE, document, shown
from autograd_frontend.ops.block import OPERATIONS

ROOT = Path(__file__).parents[1]


def test_the_file_is_current():
    assert FILE == ROOT / "docs" / "operations.md"
    assert FILE.read_text() == document(), "write it again: python -m autograd_frontend.ops --write"


def test_every_public_operation_is_in_it_once():
    calls = re.findall(r"^#### `(\w+)\(", document(), re.MULTILINE)
    public = [op.function.__name__ for op in OPERATIONS.values() if op.function is not None]
    assert sorted(calls) == sorted(public) and len(calls) > 5
    assert all(getattr(ops, name).operation.doc for name in calls)


def test_every_ordinary_callable_is_in_it():
    text = document()
    ordinary = text[text.index("## Ordinary functions") :]
    missing = [path for op in OPERATIONS.values() for path in shown(op) if f"`{path}`" not in ordinary]
    assert not missing


def test_the_command_prints_it():
    done = subprocess.run([sys.executable, "-m", "autograd_frontend.ops"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0 and done.stdout == document(), done.stderr


def test_readme_leads_to_it():
    assert "(docs/operations.md)" in (ROOT / "README.md").read_text()
