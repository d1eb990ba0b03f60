"""Random programs of arithmetic, views and writes, on NumPy's arrays and on those of a device at once."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cuda.host import host_session
from tests.cuda.interim import Interim
from tests.test_device_array import A, I, same

SHAPES = [(4, 4), (3, 4), (4,), (1, 4), (2, 3, 4)]


def views(draw, x):
    """An index that numpy and the device are given."""
    return tuple(
        draw(st.sampled_from([slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), 0, -1, None]))
        for _ in range(draw(st.integers(0, x.ndim)))
    )


OPERATIONS = [
    "binary",
    "in place",
    "view",
    "write",
    "reshape",
    "transpose",
    "reduce",
    "where",
    "copy",
    "drop",
    "where=",
]


def run(draw, device):
    """A random program on NumPy's arrays and on the device's at once."""
    here = [
        draw(st.sampled_from([A[0, :, :].copy(), np.arange(16.0).reshape(4, 4), np.arange(4.0), I[:1] * 1.0, I.copy()]))
    ]
    there = [device.array(here[0])]
    for _ in range(draw(st.integers(1, 25))):
        k, j = [draw(st.integers(0, len(here) - 1)) for _ in "ab"]
        x, y, u, v = here[k], here[j], there[k], there[j]
        what = draw(st.sampled_from(OPERATIONS))
        f = draw(st.sampled_from([np.add, np.subtract, np.multiply, np.maximum]))
        fits = fit(x, y)
        small = lambda z: np.clip(z, -1000, 1000)
        if what == "binary" and fits:
            new = small(f(x, y)), small(f(u, v))
        elif what == "in place" and fits == x.shape and x.flags.writeable and x.ndim and y.dtype == x.dtype:
            f(x, y, out=x), f(u, v, out=u)
            continue
        elif what == "view":
            key = views(draw, x)
            if (0 in x.shape and any(type(k) is int for k in key)) or sum(k is not None for k in key) > x.ndim:
                continue
            new = x[key], u[key]
        elif what == "write" and x.ndim and x.flags.writeable:
            key = views(draw, x)
            if 0 in x.shape or sum(k is not None for k in key) > x.ndim:
                continue
            value = draw(st.sampled_from([2, "y"]))
            if value == "y" and fit(x[key], y) != np.shape(x[key]):
                continue
            x[key], u[key] = (y, v) if value == "y" else (value, value)
            continue
        elif what == "reshape":
            new = x.reshape(-1), u.reshape(-1)
        elif what == "transpose" and x.ndim:
            new = x.T, u.T
        elif what == "reduce" and x.ndim and x.size:
            axis, keep = draw(st.integers(-1, x.ndim - 1)), draw(st.booleans())
            new = small(np.sum(x, axis, keepdims=keep)), small(np.sum(u, axis, keepdims=keep))
        elif what == "where" and fits:
            new = np.where(x > y, x, y), np.where(u > v, u, v)
        elif what == "where=" and x.ndim and x.flags.writeable:
            np.add(x, 1, out=x, where=x > 2), np.add(u, 1, out=u, where=u > 2)
            continue
        elif what == "copy":
            new = x.copy(), u.copy()
        elif what == "drop" and len(here) > 1:
            del here[k], there[k]
            continue
        else:
            continue
        if new[0].size < 300:
            here.append(new[0])
            there.append(new[1])
    for x, u in zip(here, there):
        same(u, x)


def fit(x, y):
    try:
        return np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return None


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_programs(data):
    session = host_session(Interim())
    run(data.draw, session)
    assert session.live_bytes() == 0
