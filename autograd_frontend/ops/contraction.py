"""`np.tensordot` and `np.einsum`, whose subscripts are read once per form; every pullback is one again."""

from __future__ import annotations

import functools

import numpy as np

from .block import Like, operation
from .linalg import STACK, A, B, U, V, as_array, kind_of

BLAS_FROM = 20_000  # entries of all operands from which planning a contraction pays


def contracted(axes, n, m):
    """The axes of two operands that `np.tensordot(a, b, axes)` sums over, as two lists of positions."""
    if isinstance(axes, (int, np.integer)):
        return list(range(n - axes, n)), list(range(axes))
    first, second = ([x] if isinstance(x, (int, np.integer)) else list(x) for x in axes)
    return [i % n for i in first], [i % m for i in second]


def tensordot_pull(ops, g, other, axes, mine, its, n, first):
    """The cotangent of the operand of rank `n` whose axes `mine` meet `its` of `other`."""
    free, rest = [i for i in range(n) if i not in mine], [i for i in range(other.ndim) if i not in its]
    from_other = list(range(len(free), g.ndim) if first else range(len(rest)))
    d = ops.bilinear(lambda g, other: ops.tensordot(g, other, (from_other, rest)), g, other)
    order = free + [mine[its.index(i)] for i in sorted(its)]
    return ops.transpose(d, [order.index(i) for i in range(n)])


@operation("numpy.tensordot numpy.linalg.tensordot")
class tensordot:
    """`np.tensordot(a, b, axes=2)`: the sum over the last axes of `a` and the first of `b`, or over pairs of axes.
    Pullback: `g` contracted with the free axes of the other operand, its axes put back in order."""

    complex = "conjugated"
    linear = True

    def bind(a, b, axes=2):
        return (a, b), {"axes": axes}

    def shape(a, b, axes):
        mine, its = contracted(axes, a.ndim, b.ndim)
        free = [n for i, n in enumerate(a.shape) if i not in mine] + [n for i, n in enumerate(b.shape) if i not in its]
        return Like(tuple(free), kind_of(a, b))

    def pull_a(ops, g, a_like, b, axes):
        mine, its = contracted(axes, a_like.ndim, getattr(b, "ndim", 0))
        return tensordot_pull(ops, g, as_array(ops, b), axes, mine, its, a_like.ndim, True)

    def pull_b(ops, g, a, b_like, axes):
        its, mine = contracted(axes, getattr(a, "ndim", 0), b_like.ndim)
        return tensordot_pull(ops, g, as_array(ops, a), axes, mine, its, b_like.ndim, False)

    samples = ((STACK, B.T, {"axes": 1}), (STACK, np.cos(STACK), {"axes": 3}), (U, V, {"axes": 0}),
               (STACK, np.cos(STACK), {"axes": ([2, 0], [-1, 0])}), (STACK, B, {"axes": (1, 0)}))  # fmt: skip


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


def pulled(ops, g, term, others, kept):
    """The einsum of a cotangent and other operands, exactly zero for a zero of the cotangent: where there is a NaN,
    the others are multiplied to it one by one."""
    if not others or ops.quick:
        d = contract(ops, [term, *[t for t, _ in others]], [g, *[x for _, x in others]], kept)
        if not others or ops.finite(d):
            return d
    for i, (its, x) in enumerate(others):
        later = set(kept).union(*[t for t, _ in others[i + 1 :]])
        mine, term = term, "".join(dict.fromkeys(k for k in [*term, *its] if k in later))
        g = ops.bilinear(lambda g, x, mine=mine, its=its, term=term: contract(ops, [mine, its], [g, x], term), g, x)
    return g if term == "".join(kept) else contract(ops, [term], [g], kept)


@operation("numpy.einsum")
class einsum:
    """`np.einsum(subscripts, *operands)` in all its forms: explicit, implicit, ellipsis, list of labels, letters
    repeated in an operand, letters that are summed. Pullback for operand `i`: the einsum of `g` and the other
    operands with the letters of `i` as output; a letter only `i` has is repeated, a diagonal goes back to its place."""

    complex = "conjugated"
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
        d = pulled(ops, g, output, [(terms[j], operands[j]) for j in others], kept)
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
