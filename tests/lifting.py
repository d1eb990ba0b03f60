"""The reference of `f.elementwise`: the plain function, and its derivative, for one entry after the other."""

from __future__ import annotations

import copy

import numpy as np
import oracle

from autograd_frontend import RecordError, lifting, record


def rows(args):
    """The arguments of the function for every entry, in order, and the shape of all."""
    shape = np.broadcast_shapes(*[x.shape for x in args if isinstance(x, np.ndarray)])
    every = [np.broadcast_to(x, shape).ravel() if isinstance(x, np.ndarray) else None for x in args]
    n = int(np.prod(shape))
    return [tuple(x if e is None else e[i] for x, e in zip(args, every)) for i in range(n)], shape


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def mapped(f, args):
    entries, shape = rows(args)
    with np.errstate(all="ignore"):
        return np.array([f(*copy.deepcopy(row)) for row in entries]).reshape(shape)


def gradients(f, args, weights):
    """For every argument: the gradient by entries of an array, the sum for anything else; None for plain data."""
    entries, _ = rows(args)
    found = []
    for row, w in zip(entries, weights.ravel(), strict=True):
        with np.errstate(all="ignore"):
            result = record(f)(*row)
        w = np.asarray(w) if isinstance(result.value, np.ndarray) else type(result.value)(w)
        found.append(result.pullback(w))
    differentiable = [i for i, x in enumerate(args) if isinstance(x, list) or oracle.is_differentiable(x)]
    if len(differentiable) == 1:
        found = [(g,) for g in found]
    every = []
    for k, i in enumerate(differentiable):
        column = [row[k] for row in found]
        every.append(np.array(column) if not isinstance(args[i], np.ndarray) else by_entry(args[i], column))
    return every


def by_entry(x, column):
    _, shape = rows([x])
    column = np.array(column, x.dtype)
    return column.reshape(x.shape) if column.size == x.size else column


def check(f, *args, lifted=True, rtol=0.0):
    """`f.elementwise` does what mapping does: values and gradients bit for bit, or the same error. `lifted`: the
    function runs on whole arrays."""
    wanted = outcome(lambda: mapped(f, args))
    given = copy.deepcopy(args)
    with np.errstate(all="ignore"), only_at_once(lifted):
        result = outcome(lambda: record(f).elementwise(*given))
        if isinstance(result, tuple) and result[0] is RecordError:
            raise RecordError(result[1])
        if isinstance(wanted, tuple):
            assert result == wanted, (result, wanted)
            return None
        assert not isinstance(result, tuple), result
        alone = record(f).on("cpu", grad=False).elementwise(*given).value
    for value in (result.value, alone):
        assert oracle.same_bits(canonical(value), canonical(wanted)), (value, wanted)
    weights = np.random.default_rng(5).standard_normal(wanted.shape)
    if wanted.dtype.kind != "f":
        return None if wanted.dtype.kind == "c" else result.backward()
    weights = weights.astype(wanted.dtype)
    got = result.pullback(weights)
    found = list(got) if isinstance(got, tuple) and hasattr(got, "_fields") else [got]
    for g, want, x in zip(found, gradients(f, args, weights), [x for x in args if differentiable(x)], strict=True):
        if isinstance(x, np.ndarray) and want.shape == x.shape:
            assert type(g) is np.ndarray and g.dtype == x.dtype and g.shape == x.shape
            np.testing.assert_allclose(g, want, rtol=rtol)
        elif not isinstance(x, np.ndarray):
            np.testing.assert_allclose(np.array(g), want.sum(axis=0), rtol=1e-9, atol=1e-9)
    return got


def canonical(x):
    """With one NaN for all: which one arithmetic gives, IEEE leaves open."""
    return np.where(np.isnan(x), np.array(np.nan, x.dtype), x) if x.dtype.kind == "f" else x


def differentiable(x):
    return isinstance(x, list) or oracle.is_differentiable(x)


class only_at_once:
    """Within: a function that is called for one entry after the other is a failure."""

    def __init__(self, on):
        self.on, self.before = on, lifting.one_by_one

    def __enter__(self):
        if self.on:
            lifting.one_by_one = self.failure

    def __exit__(self, *_):
        lifting.one_by_one = self.before

    def failure(self, *_):
        raise AssertionError("called for one entry after the other")
