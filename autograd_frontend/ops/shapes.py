"""The same entries in another shape or order. Where NumPy returns a view, writes reach the array and back."""

from __future__ import annotations

import numpy as np

from .block import Like, composed, operation
from .linalg import STACK, A, U, dummy


def order_of(x, order):
    """How the entries are read: "C", "F", or the order of the axes in which memory runs."""
    if order in ("C", "F") or not hasattr(x, "flags"):
        return "F" if order == "F" else "C"
    if order == "A":
        return "F" if x.flags.fnc else "C"
    strides = [abs(s) for s in x.strides]
    return tuple(sorted(range(len(strides)), key=lambda k: -strides[k]))


def read_back(ops, g, shape, order):
    """The entries of `g` put back in the order they were read in."""
    if order == "C":
        return g.reshape(shape)
    if order == "F":
        return ops.reshape(g, shape, order="F")
    return ops.transpose(g.reshape([shape[k] for k in order]), np.argsort(order))


@operation("numpy.reshape numpy.ndarray.reshape")
class reshape:
    """`np.reshape(x, shape, order="C")`, `x.reshape(...)`: a view where NumPy makes one, else a copy. Pullback: `g`
    in the shape of `x`. Another number of entries is a ValueError."""

    views = linear = complex = True

    def bind(a, /, *shape, order="C", copy=None, **named):
        if shape and isinstance(shape[-1], str):
            *shape, order = shape
        shape = named.pop("shape") if named else shape[0] if len(shape) == 1 else tuple(shape)
        return (a,), {"shape": shape, "order": order_of(a, order), **named}

    def shape(x, shape, order):
        return Like(dummy(x).reshape(shape).shape, x.dtype)

    def pull_x(ops, g, x_like, order):
        return g.reshape(x_like.shape) if order == "C" else read_back(ops, g, x_like.shape, order)

    samples = ((A, (3, 2)), (A, -1), (A, (3, -1), {"order": "F"}), (STACK, (2, 12), {"order": "A"}), (2.0, (1, 1)))


@operation("numpy.ravel numpy.ndarray.ravel")
class ravel:
    """`np.ravel(x, order="C")`: all entries along one axis; a view of a contiguous array. Pullback: `g` in the shape
    of `x`."""

    views = linear = complex = True

    def bind(a, order="C"):
        return (a,), {"order": order_of(a, order)}

    def shape(x, order):
        return Like((x.size,), x.dtype)

    def pull_x(ops, g, x_like, order):
        return read_back(ops, g, x_like.shape, order)

    samples = ((A,), (A.T,), (A, {"order": "F"}), (STACK, {"order": "K"}), (2.0,))


@operation("numpy.ndarray.flatten")
class flatten:
    """`x.flatten(order="C")`: all entries along one axis, always a copy. Pullback: `g` in the shape of `x`."""

    linear = complex = True

    def bind(a, order="C"):
        return (a,), {"order": order_of(a, order)}

    def shape(x, order):
        return Like((x.size,), x.dtype)

    def pull_x(ops, g, x_like, order):
        return read_back(ops, g, x_like.shape, order)

    samples = ((A,), (A.T,), (STACK, {"order": "F"}), (STACK, {"order": "K"}))


@operation("numpy.transpose numpy.ndarray.transpose")
class transpose:
    """`np.transpose(x, axes=None)`, `x.transpose(...)`: a view with its axes reversed or in the order `axes`.
    Pullback: the inverse permutation."""

    views = linear = complex = True

    def bind(a, *given, axes=None):
        if given:
            axes = given[0] if len(given) == 1 and not isinstance(given[0], (int, np.integer)) else given
        return (a,), {"axes": axes}

    def shape(x, axes):
        return Like(x.shape[::-1] if axes is None else tuple(x.shape[k] for k in axes), x.dtype)

    def pull_x(ops, g, axes):
        return g.T if axes is None else ops.transpose(g, np.argsort([k % len(axes) for k in axes]))

    samples = ((A,), (STACK, (1, 2, 0)), (STACK, {"axes": (0, -1, 1)}), (U,))


@operation("numpy.ndarray.T")
class T:
    """`x.T`: a view with the axes reversed. Pullback `g.T`."""

    views = linear = complex = True

    def bind(a):
        return (a,), {}

    def shape(x):
        return Like(x.shape[::-1], x.dtype)

    def pull_x(ops, g):
        return g.T

    samples = ((A,), (STACK,), (U,))


@operation("numpy.ndarray.mT numpy.matrix_transpose numpy.linalg.matrix_transpose")
class mT:
    """`x.mT`: a view with the last two axes swapped. Pullback `g.mT`."""

    views = linear = complex = True

    def bind(a):
        return (a,), {}

    def shape(x):
        return Like(x.shape[:-2] + x.shape[:-3:-1], x.dtype)

    def pull_x(ops, g):
        return g.mT

    samples = ((A,), (STACK,))


@operation("numpy.swapaxes numpy.ndarray.swapaxes")
class swapaxes:
    """`np.swapaxes(x, axis1, axis2)`, a view. Pullback: the same swap."""

    views = linear = complex = True

    def bind(a, axis1, axis2):
        return (a,), {"axis1": axis1, "axis2": axis2}

    def shape(x, axis1, axis2):
        return Like(dummy(x).swapaxes(axis1, axis2).shape, x.dtype)

    def pull_x(ops, g, axis1, axis2):
        return g.swapaxes(axis1, axis2)

    samples = ((A, 0, 1), (STACK, -1, 0))


@operation("numpy.moveaxis")
class moveaxis:
    """`np.moveaxis(x, source, destination)`, a view. Pullback: the axes moved back."""

    views = linear = complex = True

    def bind(a, source, destination):
        return (a,), {"source": source, "destination": destination}

    def shape(x, source, destination):
        return Like(np.moveaxis(dummy(x), source, destination).shape, x.dtype)

    def pull_x(ops, g, source, destination):
        return ops.moveaxis(g, destination, source)

    samples = ((STACK, 0, -1), (STACK, [0, 1], [-1, 0]))


@operation("numpy.rollaxis")
class rollaxis:
    """`np.rollaxis(x, axis, start=0)`: a view with the axis before the one that was at `start`. Pullback: back."""

    views = linear = complex = True

    def bind(a, axis, start=0):
        return (a,), {"axis": axis, "start": start}

    def shape(x, axis, start):
        return Like(np.rollaxis(dummy(x), axis, start).shape, x.dtype)

    def pull_x(ops, g, axis, start):
        axis, start = axis % g.ndim, start + g.ndim if start < 0 else start
        return ops.moveaxis(g, start - (axis < start), axis)

    samples = ((STACK, 2), (STACK, 0, 2), (STACK, 1, -1), (STACK, 0, 3))


@operation("numpy.expand_dims")
class expand_dims:
    """`np.expand_dims(x, axis)`: a view with axes of extent 1 added. Pullback: `g` without them."""

    views = linear = complex = True

    def bind(a, axis):
        return (a,), {"axis": axis}

    def shape(x, axis):
        return Like(np.expand_dims(dummy(x), axis).shape, x.dtype)

    def pull_x(ops, g, x_like):
        return g.reshape(x_like.shape)

    samples = ((A, 0), (A, (0, -1)), (2.0, 0))


@operation("numpy.squeeze numpy.ndarray.squeeze")
class squeeze:
    """`np.squeeze(x, axis=None)`: a view without axes of extent 1. Pullback: `g` in the shape of `x`."""

    views = linear = complex = True

    def bind(a, axis=None):
        return (a,), {"axis": axis}

    def shape(x, axis):
        return Like(dummy(x).squeeze(axis).shape, x.dtype)

    def pull_x(ops, g, x_like):
        return g.reshape(x_like.shape)

    samples = ((A[None, :, None],), (A[None, :, None], 0), (A[None, :, None], {"axis": (0, 2)}))


@operation("numpy.broadcast_to")
class broadcast_to:
    """`np.broadcast_to(x, shape)`: entries repeated without a copy. Pullback: `g` summed over what was stretched.
    While the result is in use, a write into `x` is refused."""

    views = linear = complex = True

    def bind(array, shape, subok=False):
        return (array,), {"shape": shape}

    def shape(x, shape):
        return Like(np.broadcast_to(dummy(x), shape).shape, x.dtype)

    def pull_x(ops, g):
        return g

    samples = ((U, (2, 3)), (A[:, :1], (2, 4)), (2.0, (2, 2)), (U, 3))


@operation("numpy.flip")
class flip:
    """`np.flip(x, axis=None)`: a view with the axes (all of them) backwards. Pullback: the same."""

    views = linear = complex = True

    def bind(m, axis=None):
        return (m,), {"axis": axis}

    def shape(x, axis):
        return Like(x.shape, x.dtype)

    def pull_x(ops, g, axis):
        return ops.flip(g, axis)

    samples = ((A,), (A, 1), (STACK, {"axis": (0, 2)}))


@operation("numpy.fliplr")
class fliplr:
    """`np.fliplr(x)`: a view with the second axis backwards. Pullback: the same."""

    views = linear = complex = True

    def bind(m):
        return (m,), {}

    def shape(x):
        return Like(x.shape, x.dtype)

    def pull_x(ops, g):
        return g[:, ::-1]

    samples = ((A,), (STACK,))


@operation("numpy.flipud")
class flipud:
    """`np.flipud(x)`: a view with the first axis backwards. Pullback: the same."""

    views = linear = complex = True

    def bind(m):
        return (m,), {}

    def shape(x):
        return Like(x.shape, x.dtype)

    def pull_x(ops, g):
        return g[::-1]

    samples = ((A,), (U,))


@operation("numpy.rot90")
class rot90:
    """`np.rot90(x, k=1, axes=(0, 1))`: a view turned `k` times by 90 degrees. Pullback: turned back."""

    views = linear = complex = True

    def bind(m, k=1, axes=(0, 1)):
        return (m,), {"k": k, "axes": axes}

    def shape(x, k, axes):
        return Like(np.rot90(dummy(x), k, axes).shape, x.dtype)

    def pull_x(ops, g, k, axes):
        return ops.rot90(g, -k, axes)

    samples = ((A,), (A, 2), (STACK, 3, (1, 2)))


@operation("numpy.ndarray.view")
class view:
    """`x.view()`, the same entries in the same memory; as another type it reinterprets bits and has no derivative."""

    views = linear = complex = True

    def bind(a, dtype=None, type=None):
        if dtype is not None or type is not None:
            raise TypeError("it looks at the bits as another type; use x.astype(dtype)")
        return (a,), {}

    def shape(x):
        return x

    def pull_x(ops, g):
        return g

    samples = ((A,),)


def array(of, x):
    return x if isinstance(x, np.ndarray) else of(np.asarray)(x)


@composed("numpy.broadcast_arrays")
def broadcast_arrays(of, *args, subok=False):
    args = tuple([array(of, x) for x in args])
    shape = np.broadcast_shapes(*[x.shape for x in args])
    if all(x.shape == shape for x in args):
        return args
    return tuple([x[...] if x.shape == shape else of(np.broadcast_to)(x, shape) for x in args])


@composed("numpy.linalg.diagonal")
def linalg_diagonal(of, x, /, *, offset=0):
    return of(np.diagonal)(x, offset, axis1=-2, axis2=-1)


@composed("numpy.ndenumerate")
def ndenumerate(of, arr):
    x = array(of, arr)
    return ((index, x[index]) for index in np.ndindex(x.shape))
