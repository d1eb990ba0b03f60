"""How much value and gradient cost against the plain function: one command, one table, ratios of one run.

    python benchmarks/run.py [scalar hand lstm gmm recurrence elementwise import rewrite] [--repeats 15] [--no-peers]

Every contestant of a line is timed in turn, several rounds long, and its best round counts, so that a busy machine
disturbs all of them alike. Peers that are not installed are left out. Nothing is asserted: goals are printed beside
what was measured.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from autograd_frontend import record, value_and_grad  # noqa: E402
from benchmarks.cases import (  # noqa: E402
    Case,
    cases,
    recurrence,
    three_branches,
    three_branches_by_masks,
)

ROUND = 0.02  # seconds a contestant runs in each round
OTHERS = ("recurrence", "elementwise", "graph", "import", "rewrite")


def best_of_rounds(contestants: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Seconds per call, the best of `repeats` interleaved rounds."""
    loops, best = {}, {}
    for name, call in contestants.items():
        call()  # the first call rewrites, compiles, fills caches
        start = time.perf_counter()
        call()
        loops[name] = max(1, round(ROUND / max(time.perf_counter() - start, 1e-7)))
        best[name] = float("inf")
    for _ in range(repeats):
        for name, call in contestants.items():
            many = range(loops[name])
            start = time.perf_counter()
            for _ in many:
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / loops[name])
    return best


def peers() -> dict[str, dict[str, Any]]:
    """The peers installed here, by name."""
    found = {}
    for module in ("torch_eager", "hips_autograd", "jax_jit"):
        try:
            peer = importlib.import_module(f"benchmarks.peers.{module}")
        except ImportError:
            continue
        found[peer.NAME] = peer.CASES
    return found


def agrees(ours: Any, theirs: Any) -> bool:
    """Whether a peer's (value, gradients) are ours, so that the same work is timed."""
    pairs = zip([ours[0], *ours[1]], [theirs[0], *theirs[1]], strict=True)
    return all(np.allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-9) for a, b in pairs)


def measure(name: str, case: Case, found: dict[str, dict[str, Any]], repeats: int) -> list[str]:
    """One line of the table."""
    differentiate = value_and_grad(case.function, wrt=case.wrt)
    contestants = {
        "plain": lambda: case.function(*case.arguments),
        "ours": lambda: differentiate(*case.arguments),
    }
    wrong = set()
    for peer, builders in found.items():
        if name in builders:
            contestants[peer] = builders[name](case.arguments)
            if not agrees(differentiate(*case.arguments), contestants[peer]()):
                wrong.add(peer)
    seconds = best_of_rounds(contestants, repeats)
    ratio = {who: f"{took / seconds['plain']:.1f}x{' (wrong)' * (who in wrong)}" for who, took in seconds.items()}
    plain = show(seconds["plain"])
    return [case.label, plain, f"<= {case.goal:g}x", ratio["ours"], *(ratio.get(peer, "-") for peer in found)]


def show(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def measure_recurrence(repeats: int) -> list[list[str]]:
    """Time per step of a short and of a long scalar recurrence: the same where recording is linear."""
    differentiate = value_and_grad(recurrence)
    lines = []
    for steps in (10_000, 100_000):
        contestants = {
            "plain": lambda steps=steps: recurrence(0.8, steps),
            "ours": lambda steps=steps: differentiate(0.8, steps),
        }
        seconds = best_of_rounds(contestants, min(repeats, 5))
        per_step = f"{show(seconds['ours'] / steps)} a step ({seconds['ours'] / seconds['plain']:.1f}x)"
        lines.append([f"recurrence, {steps:,} steps", show(seconds["plain"]), "linear", per_step])
    return lines


def measure_elementwise(repeats: int) -> list[list[str]]:
    """A function of three branches for a million entries, against the same with masks written by hand."""
    x = np.random.default_rng(0).standard_normal(1_000_000)
    recorded = record(three_branches)
    plain = recorded.on("cpu", grad=False)
    lines = []
    for what, by_hand, ours in (
        ("value", lambda: three_branches_by_masks(x)[0], lambda: plain.elementwise(x)),
        ("value and gradient", lambda: three_branches_by_masks(x, True), lambda: recorded.elementwise(x).backward()),
    ):
        seconds = best_of_rounds({"masks": by_hand, "ours": ours}, min(repeats, 7))
        ratio = f"{seconds['ours'] / seconds['masks']:.1f}x"
        lines.append([f"elementwise, {what}", f"{show(seconds['masks'])} (masks)", "<= 10x", ratio])
    return lines


def fresh_process(code: str) -> float:
    """Seconds printed by a program in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def chain(x: Any) -> Any:
    """Twelve operations on every entry."""
    y = np.sin(x) * 1.5
    y = np.exp(y) + x
    y = np.tanh(y) - 0.3
    y = np.cos(y) * x
    y = np.sqrt(y * y + 1.0)
    return np.log(y)


def measure_graph(repeats: int) -> list[str]:
    """A chain of twelve operations at 100 entries: its graph, run, against the function."""
    x = np.linspace(0.1, 1.0, 100)
    graph = record(chain).graph(x)
    seconds = best_of_rounds({"plain": lambda: chain(x), "ours": lambda: graph.run(x)}, repeats)
    ratio = f"{seconds['ours'] / seconds['plain']:.2f}x to run"
    return ["graph of 12 operations, 100 entries", show(seconds["plain"]), "<= 1.6x", ratio]


def measure_import(repeats: int) -> list[str]:
    """Seconds `import` takes in a fresh process, beside NumPy's own share of it."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    numpy, ours = float("inf"), float("inf")
    for _ in range(repeats):
        numpy = min(numpy, fresh_process(code.format("numpy")))
        ours = min(ours, fresh_process(code.format("autograd_frontend")))
    return ["import, fresh process", f"{show(numpy)} (numpy)", "<= 250 ms", show(ours)]


TWENTY_LINES = '''
def model_{i}(x, weights, limit={i}.5):
    total = 0.0
    state = np.zeros(3)
    for j, w in enumerate(weights):
        y = w * x[j % 3] + {i}.25
        if y > limit:
            y = np.log(y)
        elif y < -limit:
            continue
        else:
            y = np.sin(y) * np.exp(-y * y)
        state[j % 3] += y
        total = total + 0.5 * y ** 2
    while total > 10.0:
        total = total / 2.0
    scale = np.sqrt(state @ state + 1.0)
    parts = [s / scale for s in state]
    best = max(parts) if len(parts) > 1 else parts[0]
    assert scale > 0.0, "never"
    return total / scale - best
'''


def fresh_functions(folder: str, count: int) -> Iterable[Callable[..., Any]]:
    """Functions of 20 lines never seen before, each in a file of its own."""
    sys.path.insert(0, folder)
    for i in range(count):
        Path(folder, f"fresh_{i}.py").write_text("import numpy as np\n" + TWENTY_LINES.format(i=i))
        importlib.invalidate_caches()
        yield getattr(importlib.import_module(f"fresh_{i}"), f"model_{i}")
    sys.path.remove(folder)


def measure_rewrite(repeats: int) -> list[str]:
    """The time one function of 20 lines takes to rewrite, the first one of the process left out."""
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        for i, function in enumerate(fresh_functions(folder, repeats + 1)):
            start = time.perf_counter()
            text = record(function).source
            took = time.perf_counter() - start
            best = min(best, took) if i and text else best
    return ["rewriting 20 lines", "-", "<= 10 ms", show(best)]


def print_table(header: list[str], lines: Iterable[list[str]]) -> None:
    """A Markdown table, each line printed as soon as it is measured."""
    widths = [33, 15, 9, 24, *(14 for _ in header[4:])]

    def line(cells: list[str]) -> str:
        filled = cells + ["-"] * (len(header) - len(cells))
        return "| " + " | ".join(f"{cell:<{width}}" for cell, width in zip(filled, widths, strict=True)) + " |"

    print(line(header))
    print(line(["-" * width for width in widths]))
    for cells in lines:
        print(line(cells), flush=True)


def main() -> None:
    """Measure what was asked for, everything by default."""
    table = cases()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join([*table, *OTHERS])} (default: all)")
    parser.add_argument("--repeats", type=int, default=15, help="interleaved rounds (default: 15)")
    parser.add_argument("--no-peers", action="store_true", help="leave the other libraries out")
    options = parser.parse_args()
    names = options.names or [*table, *OTHERS]
    if unknown := set(names) - set(table) - set(OTHERS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    found = {} if options.no_peers else peers()

    def lines() -> Iterable[list[str]]:
        for name in names:
            if name in table:
                yield measure(name, table[name], found, options.repeats)
            elif name in ("recurrence", "elementwise"):
                yield from {"recurrence": measure_recurrence, "elementwise": measure_elementwise}[name](options.repeats)
            else:
                measured = {"graph": measure_graph, "import": measure_import, "rewrite": measure_rewrite}
                yield measured[name](options.repeats)

    print_table(["value and gradient", "plain", "goal", "autograd_frontend", *found], lines())


if __name__ == "__main__":
    main()
