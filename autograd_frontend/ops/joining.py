"""Arrays joined into one, and taken apart. Parts are views, as NumPy's are."""

from __future__ import annotations

import operator

import numpy as np

from .block import Like, composed, operation
from .linalg import STACK, A, B, U, V, kind_of
from .shapes import array


class Layout:
    """Where the operands lie in the result: along `axis`, operand `i` from `starts[i]` on, in the given shapes."""

    __slots__ = ("axis", "starts")

    def __init__(self, axis, extents):
        self.axis, self.starts, n = axis, [0], 0
        for k in extents:
            n += k
            self.starts.append(n)

    def part(self, g, i):
        axis, key = self.axis, slice(self.starts[i], self.starts[i + 1])
        if axis == 0:
            return g[key]
        return g[(slice(None),) * axis + (key,)] if axis > 0 else g[(..., key) + (slice(None),) * (-1 - axis)]


def shape_of(x):
    """The shape of an operand as it is handed in: an array, a number, a list of them."""
    shape = getattr(x, "shape", None)
    if shape is None:
        return (len(x), *shape_of(x[0])) if isinstance(x, (list, tuple)) and len(x) else ()
    return shape


def joined(ops, g, i, layout):
    return layout.part(g, i)  # the engine gives it the shape of the operand


def ones_along(shapes, axis, rank):
    """The extents along `axis` of arrays brought to a rank by axes of 1 in front."""
    return [shape[axis - rank] if len(shape) >= rank - axis else 1 for shape in shapes]


def total_shape(likes, axis, layout):
    first = list(likes[0].shape)
    first[axis] = layout.starts[-1]
    return Like(tuple(first), kind_of(*likes))


@operation("numpy.concatenate")
class concatenate:
    """`np.concatenate(arrays, axis=0)`; `axis=None` joins all entries. Pullback: each its part of `g`. Linear in all
    operands together."""

    linear = complex = True

    def bind(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
        arrays = tuple(arrays)
        if axis is None:
            return arrays, {"layout": Layout(0, [int(np.prod(shape_of(x), dtype=int)) for x in arrays])}
        axis = operator.index(axis)
        return arrays, {"layout": Layout(axis, [shape_of(x)[axis] for x in arrays])}

    def shape(*likes, layout):
        if any(x.ndim != likes[0].ndim for x in likes):
            return Like((layout.starts[-1],), kind_of(*likes))
        return total_shape(likes, layout.axis, layout)

    pull_each = joined
    samples = (([U, V, U],), ([A, A, B[:, :3]],), ([A, B[:2]], {"axis": 1}), ([A, B[:2]], -1), ([STACK, STACK], 1),
               ((A, U), {"axis": None}))  # fmt: skip


@operation("numpy.stack")
class stack:
    """`np.stack(arrays, axis=0)`: arrays of one shape along a new axis. Pullback: each its slice of `g`. Linear in all
    operands together."""

    linear = complex = True

    def bind(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
        axis = operator.index(axis)
        return tuple(arrays), {"before": (slice(None),) * axis if axis >= 0 else axis}

    def shape(*likes, before):
        shape = list(likes[0].shape)
        shape.insert(len(shape) + 1 + before if isinstance(before, int) else len(before), len(likes))
        return Like(tuple(shape), kind_of(*likes))

    def pull_each(ops, g, i, before):
        if before == ():
            return g[i]
        return g[(..., i) + (slice(None),) * (-1 - before) if isinstance(before, int) else (*before, i)]

    samples = (([U, V],), ([A, A + 1.0], 1), ([A, A, A], {"axis": -1}), ([A, A], {"axis": -2}), ([1.0, 2.0],))


@operation("numpy.vstack")
class vstack:
    """`np.vstack(arrays)`: rows, or stacks of them, under each other. Pullback: each its rows of `g`. Linear in all
    operands together."""

    linear = complex = True

    def bind(tup, *, dtype=None, casting="same_kind"):
        tup = tuple(tup)
        shapes = [shape_of(x) for x in tup]
        return tup, {"layout": Layout(0, ones_along(shapes, 0, max(2, max(map(len, shapes)))))}

    def shape(*likes, layout):
        last = likes[0].shape if likes[0].ndim > 1 else (1, *(likes[0].shape or (1,)))
        return Like((layout.starts[-1], *last[1:]), kind_of(*likes))

    pull_each = joined
    samples = (([U, V],), ([A, U],), ([STACK, STACK[:1]],), ([1.0, 2.0],))


@operation("numpy.hstack")
class hstack:
    """`np.hstack(arrays)`: vectors after each other, other arrays along the second axis. Linear in all together."""

    linear = complex = True

    def bind(tup, *, dtype=None, casting="same_kind"):
        tup = tuple(tup)
        shapes = [shape_of(x) or (1,) for x in tup]
        axis = 0 if len(shapes[0]) == 1 else 1
        return tup, {"layout": Layout(axis, [shape[axis] for shape in shapes])}

    def shape(*likes, layout):
        shape = list(likes[0].shape or (1,))
        shape[layout.axis] = layout.starts[-1]
        return Like(tuple(shape), kind_of(*likes))

    pull_each = joined
    samples = (([U, V, U],), ([A, B[:2]],), ([STACK, STACK[:, :1]],), ([1.0, U],))


@operation("numpy.dstack")
class dstack:
    """`np.dstack(arrays)`: along the third axis; a vector is a row. Linear in all operands together."""

    linear = complex = True

    def bind(tup, *, dtype=None, casting=None):
        tup = tuple(tup)
        return tup, {"layout": Layout(2, [shape[2] if len(shape) > 2 else 1 for shape in map(shape_of, tup)])}

    def shape(*likes, layout):
        shape = list(np.atleast_3d(np.empty(likes[0].shape)).shape)
        shape[2] = layout.starts[-1]
        return Like(tuple(shape), kind_of(*likes))

    pull_each = joined
    samples = (([U, V],), ([A, A + 1.0],), ([STACK, STACK[:, :, :1]],))


@operation("numpy.column_stack")
class column_stack:
    """`np.column_stack(arrays)`: vectors as columns, matrices as they are. Linear in all operands together."""

    linear = complex = True

    def bind(tup):
        tup = tuple(tup)
        return tup, {"layout": Layout(1, [shape[1] if len(shape) > 1 else 1 for shape in map(shape_of, tup)])}

    def shape(*likes, layout):
        rows = likes[0].shape[:1] or (1,)
        return Like((*rows, layout.starts[-1], *likes[0].shape[2:]), kind_of(*likes))

    pull_each = joined
    samples = (([U, V],), ([A.T, U],))


@operation("numpy.append")
class append:
    """`np.append(arr, values, axis=None)`: joined along an axis, by default all entries. Linear in both together."""

    linear = complex = True

    def bind(arr, values, axis=None):
        shapes = [shape_of(arr), shape_of(values)]
        if axis is None:
            return (arr, values), {"layout": Layout(0, [int(np.prod(shape, dtype=int)) for shape in shapes])}
        return (arr, values), {"layout": Layout(operator.index(axis), [shape[axis] for shape in shapes])}

    def shape(*likes, layout):
        return concatenate.shape(*likes, layout=layout)

    pull_each = joined
    samples = ((U, 2.0), (U, V), (A, A, 0), (A, B[:2], {"axis": 1}))


def look(x, depth, depths, ranks):
    """The depths (None: empty) at which nested lists hold arrays, and the ranks of these."""
    if isinstance(x, list):
        depths |= set() if x else {None}
        for e in x:
            look(e, depth + 1, depths, ranks)
    elif isinstance(x, tuple):
        depths.add(None)
    else:
        depths.add(depth)
        ranks.append(len(shape_of(x)))


def ghost(x):
    """The same nesting of lists with plain numbers."""
    return type(x)([ghost(e) for e in x]) if isinstance(x, (list, tuple)) else 0.0


@composed("numpy.block")
def block(of, arrays):
    """As NumPy does it: lists inside are joined along the last axis, those around them along the axes before."""
    depths, ranks = set(), []
    look(arrays, 0, depths, ranks)
    if len(depths) != 1 or None in depths:
        return np.block(ghost(arrays))  # raises NumPy's own error about depths
    depth = depths.pop()
    rank = max([depth, *ranks])

    def join(x, axis):
        if isinstance(x, list):
            return of(np.concatenate)([join(e, axis + 1) for e in x], axis=axis)
        x = array(of, x)
        return x if x.ndim == rank else x[(None,) * (rank - x.ndim)]

    result = join(arrays, -depth)
    return of(np.copy)(result) if depth == 0 else result


def parts(x, sections, axis, cut):
    """The parts of `x` that the NumPy function `cut` makes along an axis."""
    sections = np.asarray(sections)  # plain data, or it is refused
    cut(np.broadcast_to(0.0, x.shape), sections, axis)  # raises what NumPy raises
    before = (slice(None),) * (axis % x.ndim)
    runs = cut(np.arange(x.shape[axis]), sections, 0)
    return [x[(*before, slice(run[0], run[-1] + 1) if run.size else slice(0, 0))] for run in runs]


@composed("numpy.split")
def split(of, ary, indices_or_sections, axis=0):
    return parts(ary, indices_or_sections, axis, np.split)


@composed("numpy.array_split")
def array_split(of, ary, indices_or_sections, axis=0):
    return parts(array(of, ary), indices_or_sections, axis, np.array_split)


@composed("numpy.vsplit")
def vsplit(of, ary, indices_or_sections):
    np.vsplit(np.broadcast_to(0.0, ary.shape), np.asarray(indices_or_sections))
    return parts(ary, indices_or_sections, 0, np.split)


@composed("numpy.hsplit")
def hsplit(of, ary, indices_or_sections):
    np.hsplit(np.broadcast_to(0.0, ary.shape), np.asarray(indices_or_sections))
    return parts(ary, indices_or_sections, 0 if ary.ndim == 1 else 1, np.split)


@composed("numpy.dsplit")
def dsplit(of, ary, indices_or_sections):
    np.dsplit(np.broadcast_to(0.0, ary.shape), np.asarray(indices_or_sections))
    return parts(ary, indices_or_sections, 2, np.split)


@composed("numpy.unstack")
def unstack(of, x, /, *, axis=0):
    x = array(of, x)
    np.unstack(np.broadcast_to(0.0, x.shape), axis=axis)
    before = (slice(None),) * (axis % x.ndim)
    return tuple([x[(*before, i)] for i in range(x.shape[axis])])


@composed("numpy.meshgrid")
def meshgrid(of, *xi, copy=True, sparse=False, indexing="xy"):
    """As NumPy does it: every vector along its axis, the first two swapped for "xy", then broadcast."""
    n = len(xi)
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    output = []
    for i, x in enumerate(xi):
        place = 1 - i if indexing == "xy" and n > 1 and i < 2 else i
        output.append(of(np.reshape)(array(of, x), (1,) * place + (-1,) + (1,) * (n - 1 - place)))
    if not sparse:
        output = of(np.broadcast_arrays)(*output)
    return tuple([of(np.copy)(x) for x in output] if copy else output)
