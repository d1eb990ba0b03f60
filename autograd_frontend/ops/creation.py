"""Making arrays of recorded numbers, copies and casts. All linear; a cast casts the cotangent back."""

from __future__ import annotations

import numpy as np

from .block import Like, elementwise, operation, span


def leaves(x, found):
    """The numbers and arrays in nested lists and tuples, in order; whether all have one size."""
    if isinstance(x, (list, tuple)):
        for e in x:
            leaves(e, found)
    else:
        found.append(x)
    return found


def nesting(x):
    """The lengths of nested lists and tuples."""
    lengths = []
    while isinstance(x, (list, tuple)):
        lengths.append(len(x))
        if not len(x):
            break
        x = x[0]
    return (*lengths, *getattr(x, "shape", ()))


def array_shape(*likes, starts, lengths, dtype, ndmin):
    if dtype is None:
        dtype = np.result_type(*[np.float64 if x.dtype is None else x.dtype for x in likes])
    return Like((1,) * (ndmin - len(lengths)) + lengths, np.dtype(dtype))


def array_pull(ops, g, i, starts, operand_like):
    shape = operand_like.shape
    if g.shape == shape:
        return g if shape else g[()]
    n = operand_like.size
    start = i * n if starts is None else starts[i]
    return g.flat[start] if shape == () else g.flat[start : start + n].reshape(shape)


@operation("numpy.array numpy.asarray numpy.asanyarray")
class array:
    """An array of nested lists and tuples of numbers and arrays, or of one array: the entries in order, each leaf
    gets its part of `g`. `np.asarray(x)` of an array is the array itself, as in NumPy. Recorded values in an object
    array are refused."""

    linear = views = complex = True

    def bind(object=None, dtype=None, order="K", *, a=None, copy=True, subok=False, ndmin=0, like=None, device=None):
        object = a if object is None else object
        found = leaves(object, [])
        sizes = [getattr(x, "size", 1) for x in found]
        starts = None
        if any(size != sizes[0] for size in sizes):
            starts = np.cumsum([0, *sizes])
        return tuple(found), {"starts": starts, "lengths": nesting(object), "dtype": dtype, "ndmin": ndmin}

    shape, pull_each = array_shape, array_pull
    samples = (
        ([1.0, 2.0, 3.0],),
        ([[1.0, 2.0, 3.0], np.array([4.0, 5.0, 6.0])],),
        ([[[1.0], (2.0,)], np.array([[4.0], [5.0]])],),
        (np.array([[1.0, 2.0]]),),
        (1.5,),
        ([1.0, 2.0], {"dtype": np.float32}),
        ([1.0, 2.0], {"ndmin": 3}),
    )


@operation("numpy.ascontiguousarray numpy.asfortranarray")
class contiguous:
    """As `array`, with at least one axis and entries in C or Fortran order; an array that has them is itself."""

    linear = complex = True
    views = True

    def bind(a, dtype=None, *, like=None):
        return array.bind(a, dtype, ndmin=1)

    shape, pull_each = array_shape, array_pull
    samples = ((np.array([[1.0, 2.0], [3.0, 4.0]]).T,), (np.array([1.0, 2.0]),), (1.5,), ([[1.0, 2.0], (3.0, 4.0)],))


@elementwise("numpy.copy numpy.ndarray.copy numpy.ndarray.__copy__ numpy.ndarray.__deepcopy__")
class copy:
    """The same entries in memory of their own. Pullback `g`."""

    complex = True

    def bind(a, *order, **settings):
        return (a,), {}

    def pull_a(ops, g):
        return g

    samples = (*span(-2.0, 2.0), ([1.0, 2.0],))


@elementwise("numpy.ndarray.astype numpy.astype")
class astype:
    """The entries in another element type. Pullback: `g` in the operand's own. Integers and booleans are plain data.
    With `copy=False` an array of that type is itself."""

    views = complex = True

    def bind(x, dtype, *order, **settings):
        return (x,), {}

    def pull_x(ops, g):
        return g

    samples = ((np.array([0.5, 1.5]), np.float32), (np.array([0.5, 1.5]), np.float64, {"copy": False}))


@elementwise("numpy.float64 numpy.float32 numpy.float16 numpy.longdouble numpy.complex128 numpy.complex64")
class cast:
    """A number, or the entries of an array, in the element type that is called; an array that has it already is handed
    back itself. Pullback: `g` in the operand's own."""

    views = complex = True

    def bind(x, /):
        return (x,), {}

    def pull_x(ops, g):
        return g

    samples = span(-2.0, 2.0)


@elementwise("numpy.real numpy.ndarray.real")
class real:
    """The real part: of real numbers themselves; of an array a view. Pullback `g`."""

    cuda = "val"
    views = complex = True

    def bind(val):
        return (val,), {}

    def pull_val(ops, g):
        return g

    samples = ((np.array([0.5, 1.5]),), (1.5,))


@elementwise("numpy.imag numpy.ndarray.imag")
class imag:
    """The imaginary part: of real numbers 0; of a complex array a view. Pullback `1j*g`, 0 for real numbers."""

    cuda = "T(0)"
    views = True
    complex = "imaginary_part"
    bind = real.bind

    def pull_val(ops, g):
        return ops.zeros_like(g)

    samples = ((np.array([0.5, 1.5]),),)


@operation("numpy.ndarray.item")
class item:
    """`x.item(*index)`, an entry as a Python number; also `float(x)`. Pullback: `g` at that entry, else zeros."""

    linear = complex = True

    def bind(x, *index):
        return (x,), {"index": index}

    def shape(x, index=()):
        return Like((), complex if x.dtype is not None and x.dtype.kind == "c" else None)

    def pull_x(ops, g, x_like, index):
        if x_like.dtype is None:
            return g
        m = ops.zeros(x_like.shape, x_like.dtype)
        if len(index) == 1 and type(index[0]) is not tuple:
            m.flat[index[0]] = g
        else:
            m[index[0] if len(index) == 1 else index if index else (0,) * m.ndim] = g
        return m

    samples = ((np.array([[0.5, 1.5]]), 1), (np.array([[0.5, 1.5]]), 0, 1), (np.array([[2.5]]),), (np.array(1.5),))


def atleast_like(x, ndim):
    shape = x.shape
    if len(shape) < ndim:
        shape = {0: (1,) * ndim, 1: (1, *shape, 1)[:ndim] if ndim > 1 else shape, 2: (*shape, 1)}[len(shape)]
    return Like(shape, np.dtype(float) if x.dtype is None else x.dtype)


@operation("numpy.atleast_1d")
class atleast_1d:
    """The array with at least one axis, a view where it has one. Pullback `g` reshaped."""

    linear = complex = views = True

    def bind(x):
        return (x,), {}

    def shape(x):
        return atleast_like(x, 1)

    def pull_x(ops, g, x_like):
        return ops.reshape(g, x_like.shape)

    samples = ((1.5,), (np.array([0.5, 1.5]),), ([0.5, 1.5],))


@operation("numpy.atleast_2d")
class atleast_2d:
    """The array with at least two axes, new ones in front. Pullback `g` reshaped."""

    linear = complex = views = True

    def bind(x):
        return (x,), {}

    def shape(x):
        return atleast_like(x, 2)

    def pull_x(ops, g, x_like):
        return ops.reshape(g, x_like.shape)

    samples = ((1.5,), (np.array([0.5, 1.5]),), (np.array([[0.5, 1.5]]),))


@operation("numpy.atleast_3d")
class atleast_3d:
    """The array with at least three axes: `(n,)` becomes `(1, n, 1)`, `(m, n)` `(m, n, 1)`. Pullback `g` reshaped."""

    linear = complex = views = True

    def bind(x):
        return (x,), {}

    def shape(x):
        return atleast_like(x, 3)

    def pull_x(ops, g, x_like):
        return ops.reshape(g, x_like.shape)

    samples = ((1.5,), (np.array([0.5, 1.5]),), (np.array([[0.5, 1.5]]),))


def extent(shape):
    return tuple([int(n) for n in np.atleast_1d(shape)])


@operation("numpy.full")
class full:
    """`full(shape, fill_value, dtype=None)`: an array filled with a number, or with an array that broadcasts.
    Pullback `g` summed over what the value was repeated along."""

    linear = complex = True

    def bind(shape, fill_value, dtype=None, *order, **settings):
        return (fill_value,), {"extent": extent(shape), "dtype": dtype}

    def shape(x, extent, dtype):
        return Like(extent, np.dtype(dtype or x.dtype or float))

    def pull_fill_value(ops, g):
        return g

    samples = ((3, 1.5), ((2, 2), np.array([0.5, 1.5])), ((2, 2), 1.5, {"dtype": np.float32}))


@operation("numpy.full_like")
class full_like:
    """`full_like(a, fill_value, dtype=None, shape=None)`: as `full`, in the shape and dtype of `a`, which has no
    gradient."""

    linear = complex = True

    def bind(a, fill_value, dtype=None, order="K", subok=True, shape=None, **settings):
        size = np.shape(a) if shape is None else extent(shape)
        return (fill_value,), {"extent": size, "dtype": dtype or getattr(a, "dtype", float)}

    def shape(x, extent, dtype):
        return Like(extent, np.dtype(dtype))

    def pull_fill_value(ops, g):
        return g

    samples = ((np.zeros((2, 3)), 1.5), (np.zeros((2, 2), np.float32), np.array([0.5, 1.5])))


def steps(num, endpoint):
    """How far between the ends each entry of `linspace` lies."""
    return np.arange(num) / max(num - 1 if endpoint else num, 1)


@operation("numpy.linspace")
class linspace:
    """`linspace(start, stop, num=50)`: `num` entries from `start` to `stop` (left out without `endpoint`) along a new
    axis. Broadcasts. Pullback: the sum of `g*(1 - k/n)` for `start`, of `g*(k/n)` for `stop`."""

    linear = complex = True

    def bind(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
        if retstep:
            raise NotImplementedError("np.linspace with retstep=True")
        return (start, stop), {"num": num, "endpoint": bool(endpoint), "axis": axis}

    def shape(start, stop, num, endpoint, axis):
        shape = list(np.broadcast_shapes(start.shape, stop.shape))
        shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, num)
        return Like(tuple(shape), np.result_type(start.dtype or float, stop.dtype or float, float))

    def pull_start(ops, g, num, endpoint, axis):
        return ops.tensordot(1 - steps(num, endpoint), ops.moveaxis(g, axis, 0), 1)

    def pull_stop(ops, g, num, endpoint, axis):
        return ops.tensordot(steps(num, endpoint), ops.moveaxis(g, axis, 0), 1)

    samples = (
        (0.5, 2.0, 4),
        (0.5, 2.0, 4, False),
        (np.array([0.5, 1.0]), 2.0, 3, {"axis": 1}),
        (0.5, 2.0, 1),
    )
