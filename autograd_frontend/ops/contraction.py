"""`np.einsum`: the subscripts are read once per form, every pullback is an einsum again."""

from __future__ import annotations

import functools

import numpy as np

from .block import Like, operation
from .linalg import STACK, A, B, U, V, kind_of

BLAS_FROM = 20_000  # entries of all operands from which planning a contraction pays


def as_text(args):
    """The operands of the list form `einsum(a, [0, 1], b, [1, 2], [0, 2])`, and its subscripts as text."""
    operands, rest = args[: len(args) // 2 * 2 : 2], args[1 : len(args) // 2 * 2 : 2]
    terms = [letters(labels) for labels in rest]
    output = "->" + letters(args[-1]) if len(args) % 2 else ""
    return operands, ",".join(terms) + output


def letters(labels):
    return "".join(["..." if k is Ellipsis else chr(65 + k) if k < 26 else chr(71 + k) for k in labels])


@functools.lru_cache(maxsize=512)
def parsed(subscripts, ranks):
    """The letters of every operand and of the output, the axes of an ellipsis named too (aligned at the last)."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    free = [chr(k) for k in range(192, 192 + 64)]  # not letters of NumPy: they are translated when it is called
    extra = [n - len(term.replace("...", "")) for term, n in zip(terms, ranks, strict=True)]
    most = max([n for term, n in zip(terms, extra, strict=True) if "..." in term], default=0)
    terms = [term.replace("...", "".join(free[most - n : most])) for term, n in zip(terms, extra, strict=True)]
    if not arrow:
        every = "".join(terms)
        output = "..." + "".join(sorted(k for k in set(every) if every.count(k) == 1 and k not in free))
    return terms, output.replace("...", "".join(free[:most]))


def contract(ops, terms, operands, output):
    """`einsum` over any letters."""
    names: dict[str, int] = {}
    given = []
    for term, x in zip(terms, operands, strict=True):
        given += [x, [names.setdefault(k, len(names)) for k in term]]
    big = sum(getattr(x, "size", 1) for x in operands) >= BLAS_FROM
    return ops.einsum(*given, [names[k] for k in output], optimize=big)


@operation("numpy.einsum")
class einsum:
    """`np.einsum(subscripts, *operands)` in all its forms: explicit, implicit, ellipsis, list of labels, letters
    repeated in an operand, letters that are summed. Pullback for operand `i`: the einsum of `g` and the other
    operands with the letters of `i` as output; a letter only `i` has is repeated, a diagonal goes back to its place."""

    views = True
    linear = True

    def bind(*args, out=None, optimize=False, dtype=None, order="K", casting="safe"):
        if isinstance(args[0], str):
            return args[1:], {"subscripts": args[0]}
        operands, subscripts = as_text(args)
        return operands, {"subscripts": subscripts}

    def shape(*likes, subscripts):
        terms, output = parsed(subscripts, tuple(x.ndim for x in likes))
        sizes: dict[str, int] = {}
        for term, x in zip(terms, likes, strict=True):
            for k, n in zip(term, x.shape, strict=True):
                sizes[k] = n if sizes.get(k, 1) == 1 else sizes[k]
        return Like(tuple(sizes[k] for k in output), kind_of(*likes))

    def pull_each(ops, g, i, operands, subscripts):
        terms, output = parsed(subscripts, tuple([getattr(x, "ndim", 0) for x in operands]))
        mine, shape = terms[i], np.shape(operands[i])
        others = [j for j in range(len(terms)) if j != i]
        known = set(output).union(*[terms[j] for j in others])
        own = list(dict.fromkeys(mine))
        kept = [k for k in own if k in known]
        d = contract(ops, [output, *[terms[j] for j in others]], [g, *[operands[j] for j in others]], kept)
        if len(kept) < len(own):  # summed over in this operand alone
            sizes = dict(zip(mine, shape, strict=True))
            alone = dict(zip(kept, np.shape(d), strict=True))
            d = ops.reshape(d, [alone.get(k, 1) for k in own])
            d = ops.broadcast_to(d, [alone.get(k, sizes[k]) for k in own])
        return d if len(own) == len(mine) else on_diagonal(ops, d, mine, own, shape)

    samples = (
        ("ij,jk->ik", A, B), ("ij,jk", A, B), ("abcb->ac", np.cos(np.arange(24.0)).reshape(2, 2, 3, 2)),
        ("ii", A[:, :2]), ("ii->i", A[:, 1:]), ("ij->", A), ("ij->j", A), ("ba", A), ("i->i", U), (",i->i", 2.0, U),
        ("...i,i->...", STACK, np.arange(4.0)), ("ij...,jk->...ik", STACK, B), ("...ij->...ji", STACK),
        ("i,j,k->kj", U, V, A[0]), ("i,i,i", U, V, A[0]), ("ij,ij->i", A, U[None]), ("iij->j", STACK[:, :2]),
        (A, [0, 1], B, [1, 2]), (STACK, [0, Ellipsis], [Ellipsis, 0]), (A, [1, 0]),
    )  # fmt: skip


def on_diagonal(ops, d, mine, letters, shape):
    """The entries of `d` where the axes of an array of this shape that have one letter have one index."""
    sizes = dict(zip(letters, np.shape(d), strict=True))
    sizes = {k: max(n for j, n in zip(mine, shape, strict=True) if j == k) for k in sizes}
    index = np.ogrid[tuple([slice(sizes[k]) for k in letters])]
    places = 0
    for k, n in zip(mine, shape, strict=True):
        places = places * n + (index[letters.index(k)] if n > 1 else 0)
    full = tuple(sizes[k] for k in letters)
    return ops.scatter(ops.broadcast_to(d, full), np.broadcast_to(places, full), shape)
