"""`python -m tests [pytest arguments]`: lint, types and tests in turn; fails if any of them does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = (
    ("ruff", ["ruff", "check", "."]),
    ("mypy", ["mypy", "--strict", "autograd_frontend"]),
    ("pytest", ["pytest", "-n", "2", "-q"]),
)


def main(arguments: list[str]) -> int:
    environment = dict(os.environ)
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # pytest already runs one process per core
    outcomes = {}
    for name, command in STEPS:
        extra = arguments if name == "pytest" else []
        print(f"== {' '.join([*command, *extra])}", flush=True)
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", *command, *extra], cwd=ROOT, env=environment)
        outcomes[name] = done.returncode
        print(f"== {name}: exit {done.returncode} after {time.perf_counter() - start:.0f} s", flush=True)
    failed = [name for name, code in outcomes.items() if code]
    print(f"FAILED: {', '.join(failed)}" if failed else "all passed: " + ", ".join(outcomes))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
