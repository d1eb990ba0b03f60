"""Products of vectors and matrices. Shapes of stacks broadcast; the sum over stretched axes is the engine's."""

from __future__ import annotations

import functools

import numpy as np

from .block import Like, operation


def kind_of(*likes):
    return np.result_type(*[x.dtype if x.dtype is not None else float for x in likes])


def dummy(x):
    """An array of this shape and type that takes no memory, to ask NumPy for the shape of a result."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


def core(a, b, lost_a, lost_b, kept):
    """The shape of a stacked operation that drops the last axes of its operands and adds `kept`."""
    batch = np.broadcast_shapes(a.shape[: len(a.shape) - lost_a], b.shape[: len(b.shape) - lost_b])
    return Like(batch + kept, kind_of(a, b))


def as_array(ops, x):
    return x if hasattr(x, "ndim") else ops.reshape(x, ())


def multiple(ops, g, x):
    return g * x if g else ops.times(g, x)  # a zero has a derivative, too


def times_vectors(g, x):
    """Matrices times vectors, in stacks that broadcast."""
    return x @ g if x.ndim == 2 and g.ndim == 1 else (x @ g[..., None])[..., 0]


A, B = np.arange(6.0).reshape(2, 3) - 2.0, np.arange(12.0).reshape(3, 4) / 5.0
STACK = np.sin(np.arange(24.0)).reshape(2, 3, 4)
U, V = np.array([1.0, -2.0, 0.5]), np.array([0.3, 2.0, -1.0])


@operation("operator.matmul numpy.matmul numpy.linalg.matmul")
class matmul:
    """`a @ b` in every rank: vectors, matrices, stacks of matrices that broadcast. Pullback `g @ bT`, `aT @ g`
    (outer products where an operand is a vector). Errors: NumPy's, for inner extents that differ and scalars."""

    complex = "conjugated"
    linear = True

    def bind(a, b, out=None, *, dtype=None, casting=None, order=None):
        return (a, b), {}

    def shape(a, b):
        if a.ndim == 1:
            return Like(b.shape[:-2] + b.shape[-1:] if b.ndim > 1 else (), kind_of(a, b))
        if b.ndim == 1:
            return Like(a.shape[:-1], kind_of(a, b))
        return core(a, b, 2, 2, (a.shape[-2], b.shape[-1]))

    def pull_a(ops, g, b):  # a is a vector where g has one axis less than b
        if ops.quick and b.ndim == 2 and getattr(g, "ndim", 0) == 2 and ops.finite(d := g @ b.T):  # most often
            return d
        if b.ndim == 1:
            return ops.times(g[..., None], b) if getattr(g, "ndim", 0) else multiple(ops, g, b)
        if g.ndim < b.ndim:
            return ops.bilinear(times_vectors, g, b)
        return ops.bilinear(lambda g, b: g @ b.mT, g, b)

    def pull_b(ops, g, a):
        if ops.quick and a.ndim == 2 and getattr(g, "ndim", 0) == 2 and ops.finite(d := a.T @ g):
            return d
        if a.ndim == 1:
            return ops.times(g[..., None, :], a[:, None]) if getattr(g, "ndim", 0) else multiple(ops, g, a)
        if a.ndim > 2 and g.ndim < a.ndim:  # b is a vector
            return ops.bilinear(lambda g, a: g @ a, g.reshape(-1), a.reshape(-1, a.shape[-1]))
        return ops.bilinear(lambda g, a: a.mT @ g, g, a)

    samples = ((A, B), (U, V), (A, V), (U, B), (A, STACK[:, :3]), (STACK, V[:1].repeat(4)), (U, STACK), (STACK, B.T),
               (STACK[:1], STACK.mT))  # fmt: skip


@operation("numpy.dot numpy.ndarray.dot")
class dot:
    """`np.dot(a, b)`: a scalar multiplies; otherwise the sum over the last axis of `a` and the last but one of `b`
    (the only one of a vector). Pullback: the sum over the axes that `g` has from the other operand."""

    complex = "conjugated"
    linear = True
    low_rank = "matmul"

    def bind(a, b, out=None):
        return (a, b), {}

    def shape(a, b):
        if a.ndim == 0 or b.ndim == 0:
            return Like(a.shape + b.shape, kind_of(a, b))
        return Like(a.shape[:-1] + b.shape[:-2] + b.shape[-1:] * (b.ndim > 1), kind_of(a, b))

    def pull_a(ops, g, a_like, b):
        n, m = a_like.ndim, getattr(b, "ndim", 0)
        if n < 2 and m < 2 or m == 0 or n == 0:
            return ops.times(g, b)
        if m == 1:
            return ops.times(g[..., None], b)
        if m == 2:
            return ops.bilinear(lambda g, b: g @ b.T if n > 1 else b @ g, g, b)
        axes = (list(range(n - 1, g.ndim)), [*range(m - 2), m - 1])
        return ops.bilinear(lambda g, b: ops.tensordot(g, b, axes), g, b)

    def pull_b(ops, g, a, b_like):
        n, m = getattr(a, "ndim", 0), b_like.ndim
        if n < 2 and m < 2 or m == 0 or n == 0:
            return ops.times(g, a)
        if n == 1 and m == 2:
            return ops.times(g, a[:, None])
        if n == 2 and m < 3:
            return ops.bilinear(lambda g, a: a.T @ g if m > 1 else g @ a, g, a)
        axes = list(range(n - 1))
        d = ops.bilinear(lambda g, a: ops.tensordot(a, g, (axes, axes)), g, a)
        return d if m == 1 else ops.moveaxis(d, 0, m - 2)

    samples = ((A, B), (U, V), (2.0, V), (A, 1.5), (A, V), (U, B), (STACK, B.T), (A, STACK.mT[:, :3]), (STACK, B[0]),
               (U, STACK[:1]))  # fmt: skip


@operation("numpy.inner")
class inner:
    """`np.inner(a, b)`: the sum over the last axes; a scalar multiplies. Pullback: `g` summed with the other one."""

    complex = "conjugated"
    linear = True

    def bind(a, b):
        return (a, b), {}

    def shape(a, b):
        whole = a.ndim == 0 or b.ndim == 0
        return Like(a.shape + b.shape if whole else a.shape[:-1] + b.shape[:-1], kind_of(a, b))

    def pull_a(ops, g, a_like, b):
        n, m = a_like.ndim, getattr(b, "ndim", 0)
        if n == 0 or m == 0 or (n == 1 and m == 1):
            return ops.times(g, b)
        axes = (list(range(n - 1, n + m - 2)), list(range(m - 1)))
        return ops.bilinear(lambda g, b: ops.tensordot(g, b, axes), g, b)

    def pull_b(ops, g, a, b_like):
        n, m = getattr(a, "ndim", 0), b_like.ndim
        if n == 0 or m == 0 or (n == 1 and m == 1):
            return ops.times(g, a)
        axes = list(range(n - 1))
        return ops.bilinear(lambda g, a: ops.tensordot(g, a, (axes, axes)), g, a)

    samples = ((U, V), (A, V), (U, A), (A, B.T), (2.0, A), (STACK, B.T[:, :1].repeat(4, 1)))


@operation("numpy.outer numpy.linalg.outer")
class outer:
    """`np.outer(a, b)`: all products of the entries, `(a.size, b.size)`. Pullback `g @ b`, `a @ g`."""

    complex = "conjugated"
    linear = True

    def bind(a, b, out=None):
        return (a, b), {}

    def shape(a, b):
        return Like((a.size, b.size), kind_of(a, b))

    def pull_a(ops, g, a_like, b):
        return ops.bilinear(lambda g, b: g @ b, g, ops.reshape(b, (-1,))).reshape(a_like.shape)

    def pull_b(ops, g, a, b_like):
        return ops.bilinear(lambda g, a: a @ g, g, ops.reshape(a, (-1,))).reshape(b_like.shape)

    samples = ((U, B[0]), (A, V), (2.0, V))


@operation("numpy.vdot")
class vdot:
    """`np.vdot(a, b)`: the sum of all products of entries in row-major order. Pullback `g*b`, `g*a`."""

    linear = True
    complex = "sesquilinear"

    def bind(a, b):
        return (a, b), {}

    def shape(a, b):
        return Like((), kind_of(a, b))

    def pull_a(ops, g, a_like, b):
        return ops.reshape(ops.times(g, b), a_like.shape)

    def pull_b(ops, g, a, b_like):
        return ops.reshape(ops.times(g, a), b_like.shape)

    samples = ((U, V), (A, A.T + 1.0), (A, np.arange(6.0)))


@operation("numpy.vecdot numpy.linalg.vecdot")
class vecdot:
    """`np.vecdot(a, b, axis=-1)`: the sum of products along one axis, the others broadcast. Pullback `g*b`, `g*a`."""

    linear = True
    complex = "sesquilinear"

    def bind(a, b, out=None, *, axis=-1):
        return (a, b), {"axis": axis}

    def shape(a, b, axis):
        return Like(np.vecdot(dummy(a), dummy(b), axis=axis).shape, kind_of(a, b))

    def pull_a(ops, g, b, axis):
        return ops.times(ops.expand_dims(g, axis), b)

    def pull_b(ops, g, a, axis):
        return ops.times(ops.expand_dims(g, axis), a)

    samples = ((U, V), (A, V), (STACK, STACK[:1] + 1.0, {"axis": -2}))


@operation("numpy.matvec")
class matvec:
    """`np.matvec(a, b)`: matrices times vectors, stacks broadcast. Pullback `g bT`, `aT @ g`."""

    complex = "conjugated"
    linear = True

    def bind(a, b, out=None):
        return (a, b), {}

    def shape(a, b):
        return core(a, b, 2, 1, a.shape[-2:-1])

    def pull_a(ops, g, b):
        return ops.times(g[..., None], b[..., None, :])

    def pull_b(ops, g, a):
        return ops.bilinear(lambda g, a: times_vectors(g, a.mT), g, a)

    samples = ((A, V), (STACK, STACK[0, :2]))


@operation("numpy.vecmat")
class vecmat:
    """`np.vecmat(a, b)`: vectors times matrices, stacks broadcast. Pullback `b @ g`, `a g`."""

    linear = True
    complex = "sesquilinear"

    def bind(a, b, out=None):
        return (a, b), {}

    def shape(a, b):
        return core(a, b, 1, 2, b.shape[-1:])

    def pull_a(ops, g, b):
        return ops.bilinear(times_vectors, g, b)

    def pull_b(ops, g, a):
        return ops.times(g[..., None, :], a[..., None])

    samples = ((U, B), (A, STACK))


def cross_product(ops, g, v):
    """The cross product of 3-vectors along the last axis, of a cotangent first."""
    return ops.times(g[..., [1, 2, 0]], v[..., [2, 0, 1]]) - ops.times(g[..., [2, 0, 1]], v[..., [1, 2, 0]])


def cross_push(ops, t, other, axis, first):
    """The cross product of a tangent and the other operand (`first`), or the other way round."""
    mine, its, result = axis
    a, b = ops.moveaxis(t, mine, -1), ops.moveaxis(other, its, -1)
    flat = a.shape[-1] == 2 and b.shape[-1] == 2
    a, b = [x if x.shape[-1] == 3 else ops.concatenate([x, np.zeros(x[..., :1].shape, x.dtype)], -1) for x in (a, b)]
    d = cross_product(ops, a, b) if first else -cross_product(ops, a, b)
    return d[..., 2] if flat else ops.moveaxis(d, -1, result)


def cross_pull(ops, g, other, like, axis, first):
    """The pullback of `a` is `b x g`, that of `b` is `g x a`; vectors of two components lie in the plane."""
    mine, its, result = axis
    flat = like.shape[mine] == 2 and other.shape[its] == 2
    g = ops.moveaxis(ops.expand_dims(g, -1) * np.array([0.0, 0.0, 1.0]) if flat else g, -1 if flat else result, -1)
    v = ops.moveaxis(other, its, -1)
    if v.shape[-1] == 2:
        v = ops.concatenate([v, np.zeros(v[..., :1].shape, v.dtype)], -1)
    d = -cross_product(ops, g, v) if first else cross_product(ops, g, v)
    d = d[..., : like.shape[mine]]
    # axes that broadcasting added come first, so a position has to be counted from the end
    return ops.moveaxis(d, -1, mine - like.ndim if mine >= 0 else mine)


@operation("numpy.cross numpy.linalg.cross")
class cross:
    """`np.cross(a, b)` of 2- and 3-vectors, the other axes broadcast; `axis` overrides `axisa`, `axisb`, `axisc`.
    Pullback `b x g`, `g x a`."""

    def bind(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
        return (a, b), {"axes": (axisa, axisb, axisc) if axis is None else (axis,) * 3}

    def shape(a, b, axes):
        return Like(np.cross(dummy(a), dummy(b), *axes).shape, kind_of(a, b))

    def pull_a(ops, g, a_like, b, axes):
        return cross_pull(ops, g, as_array(ops, b), a_like, axes, True)

    def pull_b(ops, g, a, b_like, axes):
        its, mine, result = axes
        return cross_pull(ops, g, as_array(ops, a), b_like, (mine, its, result), False)

    def push_a(ops, t, b, axes):
        return cross_push(ops, t, as_array(ops, b), axes, True)

    def push_b(ops, t, a, axes):
        its, mine, result = axes
        return cross_push(ops, t, as_array(ops, a), (mine, its, result), False)

    samples = ((U, V), (B, U[:, None], {"axisa": 0, "axisb": 0}), (np.cos(B.T), U), (B.T, np.cos(B), {"axisb": 0}))


def kron_axes(a, b):
    n = max(a.ndim, b.ndim)
    shape_a, shape_b = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    both = [k for pair in zip(shape_a, shape_b, strict=True) for k in pair]
    return both, list(range(0, 2 * n, 2)), list(range(1, 2 * n, 2))


@operation("numpy.kron")
class kron:
    """`np.kron(a, b)`: the block matrix of `a[i, j] * b`, any ranks. Pullback: `g` as blocks, summed with the other."""

    complex = "conjugated"
    linear = True

    def bind(a, b):
        return (a, b), {}

    def shape(a, b):
        both, _, _ = kron_axes(a, b)
        return Like(tuple(m * n for m, n in zip(both[::2], both[1::2], strict=True)), kind_of(a, b))

    def pull_a(ops, g, a_like, b):
        b = as_array(ops, b)
        both, _, inner = kron_axes(a_like, b)
        axes = (inner, list(range(len(inner))))
        d = ops.bilinear(lambda g, b: ops.tensordot(g, b, axes), ops.reshape(g, both), ops.reshape(b, both[1::2]))
        return d.reshape(a_like.shape)

    def pull_b(ops, g, a, b_like):
        a = as_array(ops, a)
        both, outside, _ = kron_axes(a, b_like)
        axes = (outside, list(range(len(outside))))
        d = ops.bilinear(lambda g, a: ops.tensordot(g, a, axes), ops.reshape(g, both), ops.reshape(a, both[::2]))
        return d.reshape(b_like.shape)

    samples = ((A, B), (U, V), (U, A), (STACK[:, :2], A), (2.0, A))


@operation("numpy.linalg.multi_dot")
class multi_dot:
    """The product of a list of matrices; the first and the last may be vectors. Pullback: `g` multiplied from the
    left by the transposes before, from the right by those after."""

    complex = "conjugated"
    linear = True

    def bind(arrays, *, out=None):
        return tuple(arrays), {}

    def shape(*likes):
        return functools.reduce(lambda a, b: matmul.shape(a, b), likes)

    def pull_each(ops, g, i, operands):
        first, last = operands[0], operands[-1]
        rows, columns = first.shape[0] if first.ndim > 1 else 1, last.shape[-1] if last.ndim > 1 else 1
        d = ops.reshape(g, (rows, columns))
        for j, x in enumerate(operands[:i]):
            d = ops.bilinear(lambda d, x: x @ d, d, x[:, None] if j == 0 and x.ndim == 1 else x.T)
        for j in range(len(operands) - 1, i, -1):
            x = operands[j]
            d = ops.bilinear(lambda d, x: d @ x, d, x[None] if x.ndim == 1 else x.T)
        return d.reshape(operands[i].shape)

    samples = (([A, B],), ([U, B, B.T, V],), ([A, B, np.cos(B.T)],))
