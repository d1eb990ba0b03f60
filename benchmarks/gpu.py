"""What value and gradient cost on a GPU: against the device's own copies, and against other libraries on the same one.

    python benchmarks/gpu.py [chain gmm mlp] [--repeats 20] [--size 10000000] [--no-peers]

Arrays are on the device before and after; a round ends when the device has finished. Every contestant is timed in turn,
and its best round counts. PyTorch and JAX take part where they are installed and see the device. Nothing is asserted:
goals are printed beside what was measured. Without a GPU the reason is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from autograd_frontend import record, value_and_grad
from autograd_frontend.devices import session
from autograd_frontend.devices.gpu import why_unavailable
from benchmarks.run import best_of_rounds, print_table, show
from tests.adbench import objectives

HEADER = ["value and gradient", "ours", "goal", "measured", "launches", "waits", "left over"]


class Case(NamedTuple):
    """A function, its arguments on the host, which of them are differentiated, and the goal in words."""

    label: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    wrt: tuple[str, ...]
    goal: str


def chain(x: Any) -> Any:
    """Twelve operations on every entry."""
    y = x * 1.5 + 0.25
    y = np.tanh(y) * x
    y = np.sqrt(y * y + 1.0)
    return np.exp(-y) * x - y / 3.0 + x


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, target: Any) -> Any:
    """The loss of two layers on a batch."""
    h = np.maximum(x @ w1 + b1, 0.0)
    d = h @ w2 + b2 - target
    return np.mean(d * d)


def cases(size: int) -> dict[str, Case]:
    """Every case by name; `size`: entries of the chain, the others grow with it up to their full size."""
    rng = np.random.default_rng(0)
    n = max(min(size // 10_000, 1024), 4)
    layers = ((n, 2 * n), (2 * n,), (2 * n, n), (n,), (4 * n, n), (4 * n, n))
    weights = tuple([(rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for s in layers])
    alphas, means, icf, x, gamma, m = objectives.read_gmm()
    k, points = (len(alphas), len(x)) if n == 1000 or n == 1024 else (3, 20)
    mixture = (alphas[:k], means[:k], icf[:k], x[:points], gamma, m)
    return {
        "chain": Case(f"chain of 12, {size:,} float32", chain, (rng.random(size, np.float32),), ("x",), "80 % of copy"),
        "gmm": Case(f"gmm, d10 K{k} n{points}", objectives.gmm, mixture, ("alphas", "means", "icf"), "-"),
        "mlp": Case(f"MLP step, {n} wide", mlp, weights, ("w1", "b1", "w2", "b2"), "1x of torch"),
    }


def sent(here: Any, x: Any) -> Any:
    """An array of CuPy's with these entries; numbers as they are."""
    return here.to_cupy(here.array(x)) if isinstance(x, np.ndarray) else x


def ours(case: Case, here: Any) -> Callable[[], Any]:
    """Value and gradients by this package."""
    arguments, recorded = [sent(here, x) for x in case.arguments], record(case.function).on(here.name)
    seed = sent(here, np.ones_like(case.arguments[0]))
    differentiated = value_and_grad(recorded, case.wrt)

    def of_array() -> Any:
        result = recorded(*arguments)
        gradient, value = result.pullback(seed), result.value
        here.driver.synchronize()
        return value, [gradient]

    def of_number() -> Any:
        found = differentiated(*arguments)
        here.driver.synchronize()
        return found

    return of_array if case.function is chain else of_number


def copies(here: Any, size: int) -> Callable[[], Any]:
    """The device's own copy of as many bytes as the chain has to move: two arrays read, and two written."""
    xp = here.driver.xp
    a, b = sent(here, np.ones(2 * size, np.float32)), sent(here, np.ones(2 * size, np.float32))

    def run() -> Any:
        xp.copyto(b, a)
        here.driver.synchronize()

    return run


def torch_peer(case: Case, name: str, torch: Any, where: str = "cuda") -> Callable[[], Any]:
    """The same by PyTorch, eager, with its tensors on the device."""
    given = [torch.as_tensor(x).to(where) if isinstance(x, np.ndarray) else x for x in case.arguments]

    def torch_chain(x: Any) -> Any:
        y = torch.tanh(x * 1.5 + 0.25) * x
        y = torch.sqrt(y * y + 1.0)
        return torch.exp(-y) * x - y / 3.0 + x

    def torch_mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, target: Any) -> Any:
        return (torch.relu(x @ w1 + b1) @ w2 + b2 - target).square().mean()

    def torch_gmm(*args: Any) -> Any:
        peer = importlib.import_module("benchmarks.peers.torch_eager")
        with torch.device(where):
            return peer.gmm(*args)

    function = {"chain": torch_chain, "mlp": torch_mlp, "gmm": torch_gmm}[name]

    def run() -> Any:
        leaves = [x.detach().requires_grad_() for x in given[: len(case.wrt)]]
        value = function(*leaves, *given[len(case.wrt) :])
        value.backward(torch.ones_like(value))
        if where == "cuda":
            torch.cuda.synchronize()
        return value.detach(), [x.grad for x in leaves]

    return run


def jax_peer(case: Case, name: str, jax: Any) -> Callable[[], Any]:
    """The same by JAX, compiled."""
    jnp = jax.numpy
    functions = {
        "chain": lambda x: jnp.exp(-(y := jnp.sqrt((jnp.tanh(x * 1.5 + 0.25) * x) ** 2 + 1.0))) * x - y / 3.0 + x,
        "mlp": lambda w1, b1, w2, b2, x, t: ((jax.nn.relu(x @ w1 + b1) @ w2 + b2 - t) ** 2).mean(),
    }
    n = len(case.wrt)
    if name == "gmm":
        loss = importlib.import_module("benchmarks.peers.jax_jit").gmm(case.arguments[-1])
        f: Any = lambda *args: loss(args[:n], *args[n:])  # noqa: E731
        given = [jnp.asarray(x) for x in case.arguments[:-1]]
    else:
        f, given = functions[name], [jnp.asarray(x) for x in case.arguments]

    def both(*args: Any) -> Any:
        value, pull = jax.vjp(lambda *leaves: f(*leaves, *args[n:]), *args[:n])
        return value, pull(jnp.ones_like(value))

    compiled = jax.jit(both)
    return lambda: jax.block_until_ready(compiled(*given))


def peers(name: str, case: Case) -> dict[str, Callable[[], Any]]:
    """The other libraries that are installed and see a GPU."""
    found: dict[str, Callable[[], Any]] = {}
    for library, peer in (("torch", torch_peer), ("jax", jax_peer)):
        try:
            module = importlib.import_module(library)
            there = module.cuda.is_available() if library == "torch" else module.devices("gpu")
        except (ImportError, RuntimeError):
            continue
        if there:
            found[library] = peer(case, name, module)
    return found


def host(x: Any) -> np.ndarray:
    """A result of any of them on the host."""
    if isinstance(x, (np.ndarray, np.generic, float)):
        return np.asarray(x)
    x = x.get() if hasattr(x, "get") else x.cpu() if hasattr(x, "cpu") else x
    return np.asarray(x)


def agrees(a: Any, b: Any, rtol: float) -> bool:
    pairs = zip([a[0], *a[1]], [b[0], *b[1]], strict=True)
    return all(np.allclose(x := host(one), host(other), rtol, rtol * np.abs(x).max()) for one, other in pairs)


def measure(name: str, case: Case, here: Any, repeats: int, others: bool = True) -> list[str]:
    """One line of the table."""
    driver, run = here.driver, ours(case, here)
    run()
    before = here.live_bytes()
    driver.reset()
    result = run()
    counted = [str(driver.launches), str(driver.synchronizations - 1)]  # but for the one that ends a round
    contestants = {"ours": run}
    if name == "chain":
        contestants["copy"] = copies(here, case.arguments[0].size)
    wrong = set()
    for library, call in peers(name, case).items() if others else ():
        contestants[library] = call
        if not agrees(result, call(), 1e-3 if case.arguments[0].dtype == np.float32 else 1e-8):
            wrong.add(library)
    seconds = best_of_rounds(contestants, repeats)
    del result
    parts = [
        f"{seconds['copy'] / seconds['ours']:.0%} of copy" if who == "copy"
        else f"{seconds['ours'] / took:.2f}x of {who}{' (differs)' * (who in wrong)}"
        for who, took in seconds.items() if who != "ours"
    ]  # fmt: skip
    left = f"{here.live_bytes() - before:+d} B"
    return [case.label, show(seconds["ours"]), case.goal, ", ".join(parts) or "-", *counted, left]


def machine(here: Any) -> str:
    """When, where and with what this was measured."""
    versions = [f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    for library in ("cupy", "torch", "jax"):
        if library in sys.modules:
            versions.append(f"{library} {sys.modules[library].__version__}")
    try:
        runtime = here.driver.xp.cuda.runtime
        name = runtime.getDeviceProperties(here.driver.number)["name"].decode()
        versions.append(f"CUDA {runtime.runtimeGetVersion()}, driver {runtime.driverGetVersion()}")
    except RuntimeError:
        name = "no GPU: a driver for tests"
    return f"{datetime.date.today()}, {name}, {', '.join(versions)}"


def table(names: Iterable[str], here: Any, size: int, repeats: int, others: bool = True) -> Iterable[list[str]]:
    """The lines of the table."""
    every = cases(size)
    for name in names:
        yield measure(name, every[name], here, repeats, others)


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for, everything by default."""
    every = ("chain", "gmm", "mlp")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(every)} (default: all)")
    parser.add_argument("--repeats", type=int, default=20, help="interleaved rounds (default: 20)")
    parser.add_argument("--size", type=int, default=10_000_000, help="entries of the chain (default: 10^7)")
    parser.add_argument("--no-peers", action="store_true", help="leave the other libraries out")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(every):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    reason = why_unavailable()
    if reason is not None:
        print(f"no GPU: {reason}")
        return 1
    here = session("gpu")
    lines = table(options.names or every, here, options.size, options.repeats, not options.no_peers)
    print_table(HEADER, lines)
    print(machine(here))
    return 0


if __name__ == "__main__":
    sys.exit(main())
