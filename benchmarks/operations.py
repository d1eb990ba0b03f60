"""How much value and gradients of single operations cost against PyTorch's on this processor: ratios of one run.

    python benchmarks/operations.py [layer_norm softmax cross_entropy attention conv] [--repeats 40]

As in run.py every contestant is timed in turn, and its best round counts. A ratio is our time over PyTorch's, which
runs with one thread and with two. Nothing is asserted: goals are printed beside what was measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from autograd_frontend import ops, record
from benchmarks.run import best_of_rounds, print_table, show

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

THREADS = (1, 2)
HEADS = 8


class Case(NamedTuple):
    """One operation: as we call it, as PyTorch does, the shapes of the arguments, how many of them are differentiated,
    and the ratio aimed at."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    wrt: int
    goal: float = 2.0
    size: float = 1.0  # of the largest entries


def torch_layer_norm(x, gamma, beta):
    return torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta)


def torch_softmax(x):
    return torch.softmax(x, -1)


def cross_entropy(logits, target):
    return ops.cross_entropy(logits, target, axis=1)


def torch_cross_entropy(logits, target):
    return torch.nn.functional.cross_entropy(logits, target)


def torch_conv(weight, bias, x):
    return torch.nn.functional.conv2d(x, weight, bias)


def attention(wq, wk, wv, wo, x):
    return ops.attention(wq, wk, wv, wo, x, num_heads=HEADS)


def torch_attention(wq, wk, wv, wo, x):
    q, k, v = ((x @ w).view(1, len(x), HEADS, -1).transpose(1, 2) for w in (wq, wk, wv))
    heads = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return heads.transpose(1, 2).reshape(len(x), -1) @ wo


CASES = {
    "layer_norm": Case(ops.layer_norm, torch_layer_norm, ((256, 1000), (1000,), (1000,)), 3),
    "softmax": Case(ops.softmax_last, torch_softmax, ((256, 1000),), 1),
    "cross_entropy": Case(cross_entropy, torch_cross_entropy, ((256, 1000), (256, 1000)), 1),
    "attention": Case(attention, torch_attention, ((512, 512),) * 4 + ((256, 512),), 5, size=0.06),
    "conv": Case(ops.conv, torch_conv, ((16, 3, 3, 3), (16,), (32, 3, 32, 32)), 3, 3.0),
}


def ours(case: Case, arrays: list[Any], cotangent: Any) -> Callable[[], Any]:
    """Value and gradients by this package."""
    data = arrays[case.wrt :]
    recorded = record(lambda *given: case.ours(*given, *data))

    def run() -> Any:
        result = recorded(*arrays[: case.wrt])
        gradients = result.pullback(cotangent)
        return [result.value, *(gradients if case.wrt > 1 else (gradients,))]

    return run


def theirs(case: Case, arrays: list[Any], cotangent: Any, threads: int) -> Callable[[], Any]:
    """Value and gradients by PyTorch."""
    tensors = [torch.from_numpy(x) for x in arrays]
    g = torch.as_tensor(cotangent)

    def run() -> Any:
        torch.set_num_threads(threads)
        leaves = [x.detach().requires_grad_() for x in tensors[: case.wrt]]
        value = case.theirs(*leaves, *tensors[case.wrt :])
        value.backward(g)
        return [value.detach(), *(x.grad for x in leaves)]

    return run


def measure(name: str, dtype: Any, repeats: int) -> list[str]:
    """One line of the table."""
    case, rng = CASES[name], np.random.default_rng(0)
    arrays = [(case.size * rng.random(shape)).astype(dtype) for shape in case.shapes]
    cotangent = rng.standard_normal(np.shape(case.ours(*arrays))).astype(dtype)[()]
    contestants = {"ours": ours(case, arrays, cotangent)}
    if torch is not None:
        contestants |= {f"{k}": theirs(case, arrays, cotangent, k) for k in THREADS}
    results = [call() for call in contestants.values()]
    wrong = not all(
        np.allclose(a, b, rtol=1e-3, atol=1e-5) for other in results[1:] for a, b in zip(results[0], other, strict=True)
    )
    seconds = best_of_rounds(contestants, repeats)
    ratios = [f"{seconds['ours'] / took:.2f}x{' (differs)' * wrong}" for who, took in seconds.items() if who != "ours"]
    sizes = ", ".join("x".join(map(str, shape)) for shape in case.shapes[:1])
    return [f"{name} {sizes} {np.dtype(dtype).name}", show(seconds["ours"]), f"<= {case.goal:g}x", *ratios]


def main() -> None:
    """Measure what was asked for, everything by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--repeats", type=int, default=40, help="interleaved rounds (default: 40)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    header = ["value and gradients", "ours", "goal", *(f"to torch, {k} thread{'s' * (k > 1)}" for k in THREADS)]
    names = options.names or list(CASES)
    print_table(header, (measure(name, t, options.repeats) for name in names for t in (np.float32, np.float64)))


if __name__ == "__main__":
    main()
