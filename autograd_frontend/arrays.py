"""The kinds of arrays that can be recorded: NumPy's, and those of another device once one is used."""

from __future__ import annotations

from typing import Any

import numpy as np

STRIDED: Any = type(np.lib.stride_tricks.as_strided(np.zeros(1), (1,)).base)  # what a view made by strides is based on
ARRAYS: set[Any] = {np.ndarray}
TWINNED: set[Any] = set()  # tapes whose recorded values are in plain arrays that have other memory on a device
REMOTE: set[Any] = set()  # those that live on another device; each has a `session`


def remote(x: Any) -> bool:
    """Whether the entries of `x` live on another device."""
    return type(x) in REMOTE


def is_array(x: Any) -> bool:
    """Whether this is an array, and no scalar: one on another device may stand for one."""
    return type(x) is np.ndarray or (type(x) in REMOTE and not x.scalar)


def zeros(x: Any) -> Any:
    """Zeros of the shape and dtype of an array, where it lives."""
    return x.session.zeros(x.shape, x.dtype) if type(x) in REMOTE else np.zeros(x.shape, x.dtype)


def owner_of(x: Any) -> Any:
    """The array (or foreign buffer) whose memory `x` looks at."""
    while type(x) in ARRAYS and x.base is not None:
        x = x.base
    if type(x) is STRIDED:
        return owner_of(x.base)
    if type(x) is memoryview:
        y: Any = x.obj
        return owner_of(y) if type(y) is np.ndarray else x
    return x


def overlapping(x: Any) -> bool:
    """Whether entries of the array may share memory: broadcast arrays, sliding windows."""
    return x.size > 1 and not x.flags.forc and meeting(x.shape, x.strides, x.itemsize)


def meeting(shape: Any, strides: Any, reach: int) -> bool:
    """Whether entries of this layout may be the same memory; `reach` is the size of one."""
    for stride, n in sorted((abs(s), n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach = stride * (n - 1) + reach
    return False


def layout_of(x: Any) -> tuple[Any, ...]:
    """How an array lies in memory: shape, dtype, strides; and the session of one on another device."""
    if type(x) in REMOTE:
        return x.shape, x.dtype, x.strides, x.session
    return x.shape, x.dtype, x.strides


def address(x: Any) -> int:
    """Where the first entry lies; on another device counted from the memory of the array's owner."""
    found: int = x.offset if type(x) in REMOTE else x.__array_interface__["data"][0]
    return found


def on_host(x: Any) -> Any:
    """Plain data as NumPy has it, for plain arrays of the host."""
    return x.get() if type(x) in REMOTE else x


def held(x: Any, dtype: Any = None) -> Any:
    """Plain data as an array in memory of its own, where it lives."""
    return x.astype(x.dtype if dtype is None else dtype) if type(x) in REMOTE else np.array(x, dtype)


def plainly(f: Any, args: Any, kwargs: Any) -> Any:
    """A call of NumPy's or SciPy's with plain data; on the host, where a device of some of it has no such function."""
    from .devices.table import Unsupported

    try:
        return f(*args, **kwargs)
    except Unsupported:
        home, named = [brought(x) for x in args], {k: brought(x) for k, x in kwargs.items()}
        same = all(a is b for a, b in zip((*args, *kwargs.values()), (*home, *named.values()), strict=True))
        if same or any(map(callable, (*args, *kwargs.values()))):
            raise
    return f(*home, **named)


def brought(x: Any) -> Any:
    """Plain data of a device as NumPy has it, in containers too; nobody may write into what is a copy."""
    if type(x) in (list, tuple):
        items = [brought(e) for e in x]
        return x if all(a is b for a, b in zip(items, x, strict=True)) else type(x)(items)
    if type(x) not in REMOTE:
        return x
    y = x.get()
    if isinstance(y, np.ndarray):
        y.flags.writeable = False
    return y
