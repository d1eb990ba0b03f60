"""A representative set of kernels under the address sanitizer: `python -m tests.cuda.sanitized good|bad`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autograd_frontend.devices import cuda_reduce, cuda_rows, cuda_text
from autograd_frontend.devices.expressions import Kernel, Launch, call, leaf, row, scalar

from . import on_cpu

BEYOND = """extern "C" __global__ void beyond(const double* x, double* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) y[i] = x[i];
}
"""


def launches() -> list[Launch]:
    rng = np.random.default_rng(0)

    def array(*shape: int, dtype: str = "d") -> Any:
        return rng.normal(size=shape).astype(dtype)

    found = []
    for dtype in ("f", "d", "e", "F"):
        x, y = array(13, 7, dtype=dtype), array(7, dtype=dtype)
        e = call("divide", (call("add", (leaf(x[::-2]), leaf(y)), dtype), scalar(2.0, dtype)), dtype)
        found.append(cuda_text.elementwise([(e, np.empty((7, 7), dtype)[:, ::-1])]))
    whole = rng.integers(-9, 9, (5, 4))
    quotient = call("floor_divide", (leaf(whole), leaf(whole[:, ::-1])), "q")
    found.append(cuda_text.elementwise([(quotient, whole.copy())]))
    found.append(cuda_text.elementwise([(leaf(array(9) * 1e300), np.empty(9, np.int8))]))
    for n in (1, 33, 1000):
        x = leaf(array(3, n, dtype="f"))
        e = call("exp", (call("subtract", (x, row("max", x, "f")), "f"),), "f")
        s = row("sum", e, "f")
        found.append(cuda_rows.rows([(call("divide", (e, s), "f"), np.empty((3, n), "f")), (s, np.empty(3, "f"))]))
    for name in ("sum", "max", "argmin"):
        for shape, axes in (((5000,), (0,)), ((40, 3, 7), (0, 1)), ((300, 5), (0,)), ((70, 3), (1,))):
            e = leaf(array(*shape))
            kept = tuple([n for k, n in enumerate(shape) if k not in axes])
            out = np.empty(kept, "q" if name == "argmin" else "d")
            found += cuda_reduce.reduction(name, e, axes, out, np.empty)
    return found


def main(which: str) -> None:
    if which == "bad":
        x, y = np.zeros(100), np.zeros(100)
        kernel = Kernel(BEYOND, "beyond", ("pointer", "pointer", "int32"))
        every = [Launch(kernel, 1, 256, (x, y, np.int32(100)))]
    else:
        every = launches()
    library = on_cpu.build([k.kernel for k in every], sanitize=True)
    for order in on_cpu.ORDERS:
        for launch in every:
            library.run(launch, order)
    print("all ran")


if __name__ == "__main__":
    main(sys.argv[1])
