"""Products of matrices and vectors: cuBLAS for floats; sums of products, of our own, for vectors and whole numbers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import strict
from .layouts import laid_out
from .reductions import reduced
from .table import implements, unsupported
from .ufuncs import loop
from .views import arrays, broadcast_to, device_of


def gufunc(ufunc: Any, operands: Any, out: Any, dtype: Any, **kwargs: Any) -> Any:
    """`matmul`, `vecdot`, `matvec`, `vecmat`."""
    out = out[0] if type(out) is tuple else out
    a, b = arrays(device_of(*operands, out), operands)
    found = GUFUNCS.get(ufunc.__name__)
    if found is None:
        raise unsupported(f"np.{ufunc.__name__}")
    y = found(a, b, **kwargs)
    y = y if dtype is None else y.astype(dtype, copy=False)
    if out is None:
        return y
    if out.shape != y.shape:
        raise ValueError(f"the result of shape {y.shape} does not fit into out of shape {out.shape}")
    out[...] = y
    return out


def common(a: Any, b: Any) -> tuple[Any, Any, np.dtype]:
    """Two operands in the dtype of their product."""
    dtype = loop(np.multiply, (a.dtype, b.dtype), None, "same_kind")[-1]
    return a.astype(dtype, copy=False), b.astype(dtype, copy=False), dtype


def matmul(a: Any, b: Any) -> Any:
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: Input operand does not have enough dimensions (has 0, gufunc core needs at least 1)")
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature"
            f" (n?,k),(k,m?)->(n?,m?) (size {inner} is different from {a.shape[-1]})"
        )
    sides = strict.sides(a, b)
    a, b, dtype = common(a, b)
    if a.ndim == 1 and b.ndim == 1:
        with strict.side(*sides):
            return sum_of_products(a, b, -1)
    rows, columns = a.ndim > 1, b.ndim > 1
    a2 = a if rows else a[None]
    b2 = b if columns else b[:, None]
    batch = np.broadcast_shapes(a2.shape[:-2], b2.shape[:-2])
    shape = (*batch, a2.shape[-2], b2.shape[-1])
    with strict.side(*sides):
        y = product(a2, b2, batch, shape, dtype)
    if not rows:
        y = y[..., 0, :]
    return y if columns else y[..., 0]


def product(a: Any, b: Any, batch: Any, shape: Any, dtype: np.dtype) -> Any:
    """A product of matrices, or of stacks of them."""
    session = a.session
    if 0 in shape or a.shape[-1] == 0:
        return session.zeros(shape, dtype)
    if dtype.kind not in "fc":
        x, y = a[..., :, None, :], np.swapaxes(b, -1, -2)[..., None, :, :]
        return sum_of_products(x, y, -1)
    if batch and b.ndim == 2:  # one matrix for all: one product of taller matrices
        return product(a.reshape(-1, a.shape[-1]), b, (), (prod(shape[:-1]), shape[-1]), dtype).reshape(shape)
    x = session.cupy(blas(a, batch))
    y = session.cupy(blas(b, batch))
    found = session.wrap(session.xp.matmul(x, y))
    strict.matmul_done(found, a, b)
    return found


def blas(x: Any, batch: Any) -> Any:
    """Memory that cuBLAS reads without a copy: rows or columns that lie dense, and stacks without gaps."""
    session = x.session
    if batch and x.shape[:-2] != batch:
        x = broadcast_to(x, (*batch, *x.shape[-2:]))
    spot = session.readable(x)
    layout = spot.layout
    if layout.flags.c_contiguous or np.swapaxes(layout, -1, -2).flags.c_contiguous:
        return spot
    if layout.ndim == 2:
        (m, n), (s, t), size = layout.shape, layout.strides, layout.itemsize
        if (t == size and s >= n * size and s % size == 0) or (s == size and t >= m * size and t % size == 0):
            return spot
    return session.spot(x.copy("C"))


def sum_of_products(a: Any, b: Any, axis: int) -> Any:
    """Sums of products of entries, read once: the product is not stored."""
    if a.dtype == bool:
        return np.any(np.logical_and(a, b), axis=axis)
    return reduced("add", strict.times(a, b), axis, np.result_type(a.dtype, b.dtype))


def vecdot(a: Any, b: Any, axis: int = -1, **kwargs: Any) -> Any:
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("vecdot: Input operand does not have enough dimensions (has 0, gufunc core needs at least 1)")
    if axis != -1:
        a, b = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            "vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n),(n)->()"
            f" (size {b.shape[-1]} is different from {a.shape[-1]})"
        )
    return sum_of_products(np.conjugate(a), b, -1)


def matvec(a: Any, b: Any, **kwargs: Any) -> Any:
    return matmul(a, b[..., None])[..., 0]


def vecmat(a: Any, b: Any, **kwargs: Any) -> Any:
    return matmul(np.conjugate(a)[..., None, :], b)[..., 0, :]


GUFUNCS: dict[str, Any] = {"matmul": matmul, "vecdot": vecdot, "matvec": matvec, "vecmat": vecmat}


def into(out: Any, y: Any) -> Any:
    if out is None:
        return y
    out[...] = y
    return out


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = arrays(device_of(a, b), (a, b))
    if a.ndim == 0 or b.ndim == 0:
        return into(out, np.multiply(a, b))
    if b.ndim <= 2:
        if a.shape[-1] != b.shape[0]:
            raise ValueError(
                f"shapes {a.shape} and {b.shape} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != {b.shape[0]} (dim 0)"
            )
        return into(out, matmul(a, b))
    return into(out, tensordot(a, b, ((a.ndim - 1,), (b.ndim - 2,))))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    a, b = arrays(device_of(a, b), (a, b))
    a, b = a.reshape(-1), b.reshape(-1)
    if a.shape != b.shape:
        raise ValueError("cannot reshape array of different sizes: vdot needs as many entries in both")
    a, b, _ = common(a, b)
    return sum_of_products(np.conjugate(a) if a.dtype.kind == "c" else a, b, -1)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    a, b = arrays(device_of(a, b), (a, b))
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    y = tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))
    return y if y.ndim else y[()]


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = arrays(device_of(a, b), (a, b))
    return into(out, np.multiply(a.reshape(-1, 1), b.reshape(1, -1)))


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = arrays(device_of(a, b), (a, b))
    if hasattr(axes, "__index__"):
        n = axes.__index__()
        first, second = list(range(a.ndim - n, a.ndim)), list(range(n))
    else:
        first, second = [list(k) if np.ndim(k) else [k] for k in axes]
    first, second = list(normalize_axis_tuple(first, a.ndim)), list(normalize_axis_tuple(second, b.ndim))
    if [a.shape[k] for k in first] != [b.shape[k] for k in second]:
        raise ValueError("shape-mismatch for sum")
    kept_a = [k for k in range(a.ndim) if k not in first]
    kept_b = [k for k in range(b.ndim) if k not in second]
    shape = [*[a.shape[k] for k in kept_a], *[b.shape[k] for k in kept_b]]
    n = prod([a.shape[k] for k in first])
    x = a.transpose(kept_a + first).reshape(prod([a.shape[k] for k in kept_a]), n)
    y = b.transpose(second + kept_b).reshape(n, prod([b.shape[k] for k in kept_b]))
    if not shape:
        return sum_of_products(*common(x.reshape(-1), y.reshape(-1))[:2], -1).reshape(())
    return matmul(x, y).reshape(shape)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    a, b = arrays(device_of(x1, x2), (x1, x2))
    return vecdot(a, b, axis)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return matmul(*arrays(device_of(x1, x2), (x1, x2)))


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    return outer(x1, x2)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    a, b = arrays(device_of(a, b), (a, b))
    n = max(a.ndim, b.ndim)
    sa, sb = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    x = a.reshape([m for k in sa for m in (k, 1)])
    y = b.reshape([m for k in sb for m in (1, k)])
    return np.multiply(x, y).reshape([p * q for p, q in zip(sa, sb, strict=True)])


__all__ = ["gufunc", "laid_out", "normalize_axis_index"]
