"""`np.einsum`: operands two by two, each pair a product of matrices where letters are summed, else one expression."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..ops.contraction import as_text, parsed
from . import strict
from .products import matmul
from .table import implements
from .views import arrays, device_of

Array = Any  # one of a device: NumPy's stubs know only their own


def mismatch(k: str, m: int, n: int) -> ValueError:
    return ValueError(f"operands could not be broadcast together: the letter '{k}' stands for {m} and {n} entries")


class Term:
    """An operand with a letter for each axis, none twice."""

    def __init__(self, letters: str, x: Array, cotangent: bool = False) -> None:
        own = "".join(dict.fromkeys(letters))
        if len(own) < len(letters):  # a diagonal is a view: its strides are the sums of those that move together
            sizes, steps = dict.fromkeys(own, 1), dict.fromkeys(own, 0)
            for k, n, s in zip(letters, x.shape, x.strides, strict=True):
                if n > 1:
                    if sizes[k] not in (1, n):
                        raise mismatch(k, sizes[k], n)
                    sizes[k], steps[k] = n, steps[k] + s
            layout = np.lib.stride_tricks.as_strided(
                x.layout, tuple(sizes[k] for k in own), tuple(steps[k] for k in own)
            )
            x = x.view_of(layout)
        self.letters, self.x, self.cotangent = own, x, cotangent

    def sizes(self) -> dict[str, int]:
        return dict(zip(self.letters, self.x.shape, strict=True))

    def ordered(self, letters: str) -> Array:
        """Its axes in the order of these letters, of extent 1 where it has none."""
        mine = [k for k in letters if k in self.letters]
        y = self.x.transpose([self.letters.index(k) for k in mine])
        return y.reshape([y.shape[mine.index(k)] if k in mine else 1 for k in letters])

    def summed(self, keep: set[str]) -> Term:
        """Without the letters that nobody else needs."""
        gone = [i for i, k in enumerate(self.letters) if k not in keep]
        if not gone:
            return self
        kept = "".join(k for k in self.letters if k in keep)
        return Term(kept, np.sum(self.x, axis=tuple(gone), dtype=self.x.dtype), self.cotangent)


def checked(terms: list[Term]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for t in terms:
        for k, n in t.sizes().items():
            if sizes.get(k, 1) not in (1, n) and n != 1:
                raise mismatch(k, sizes[k], n)
            sizes[k] = max(sizes.get(k, 1), n) if n else 0
    return sizes


def pair(a: Term, b: Term, keep: set[str]) -> Term:
    """The product of two, summed over the letters that nobody else needs."""
    every = "".join(dict.fromkeys(a.letters + b.letters))
    na, nb = a.sizes(), b.sizes()
    both = [k for k in every if k in a.letters and k in b.letters]
    over = [k for k in both if k not in keep]
    free_a, free_b = [k for k in a.letters if k not in both], [k for k in b.letters if k not in both]
    even = all(na[k] == nb[k] for k in both)
    kept = "".join(k for k in every if k in keep)
    if not over or not even or not (free_a and free_b) or a.x.dtype.kind not in "fc":
        order = kept + "".join(k for k in every if k not in keep)
        x, y = a.ordered(order), b.ordered(order)
        product = strict.times_of(x, y, a.cotangent, b.cotangent)
        n = len(order) - len(kept)
        dtype = np.result_type(x.dtype, y.dtype)
        z = np.sum(product, axis=tuple(range(-n, 0)), dtype=dtype) if n else product
        return Term(kept, z, a.cotangent or b.cotangent)
    batch = [k for k in both if k in keep]
    x = a.ordered("".join(batch + free_a + over)).reshape(
        [na[k] for k in batch] + [prod(na[k] for k in free_a), prod(na[k] for k in over)]
    )
    y = b.ordered("".join(batch + over + free_b)).reshape(
        [nb[k] for k in batch] + [prod(nb[k] for k in over), prod(nb[k] for k in free_b)]
    )
    with strict.side(a.cotangent, b.cotangent):
        z = matmul(x, y)
    letters = "".join(batch + free_a + free_b)
    z = z.reshape([{**nb, **na}[k] for k in letters])
    return Term(letters, z, a.cotangent or b.cotangent)


def contracted(terms: list[Term], output: str) -> Any:
    sizes = checked(terms)
    first = terms[0]
    for i, following in enumerate(terms[1:], 1):
        later = set(output).union(*[t.letters for t in terms[i + 1 :]])
        first = first.summed(later | set(following.letters))
        following = following.summed(later | set(first.letters))
        first = pair(first, following, later)
    first = first.summed(set(output))
    y = first.ordered(output)
    shape = tuple(sizes[k] for k in output)
    return y if y.shape == shape else np.broadcast_to(y, shape)


@implements(np.einsum)
def einsum(
    *args: Any, out: Any = None, optimize: Any = False, dtype: Any = None, order: str = "K", casting: str = "safe"
) -> Any:
    if isinstance(args[0], str):
        subscripts, operands = args[0], args[1:]
    else:
        operands, subscripts = as_text(args)  # type: ignore[no-untyped-call]
    xs = arrays(device_of(operands, out), operands)
    terms, output = parsed(subscripts, tuple([x.ndim for x in xs]))
    if len(terms) != len(xs) or any(len(t) != x.ndim for t, x in zip(terms, xs, strict=True)):
        raise ValueError("einstein sum subscripts string contains a wrong number of operands or letters")
    kind = np.result_type(*[x.dtype for x in xs]) if dtype is None else np.dtype(dtype)
    mine = [strict.is_cotangent(x) for x in xs]
    given = [Term(t, x.astype(kind, copy=False), m) for t, x, m in zip(terms, xs, mine, strict=True)]
    y = contracted(given, output)
    if out is not None:
        out[...] = y
        return out
    if not y.ndim:
        return y[()]
    return y if y.flags.writeable or len(xs) == 1 else y.copy()
