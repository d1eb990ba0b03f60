"""The sessions that tests run on, by name: NumPy in place of kernels, kernels as g++ compiles them, a real GPU."""

from __future__ import annotations

from autograd_frontend.devices.sessions import Session

from .host import host_session
from .interim import Interim


def gpu_session() -> Session:
    from autograd_frontend.devices.gpu import Driver

    return Session(Driver(0))


SESSIONS = {"numpy": lambda: host_session(Interim()), "g++": host_session, "gpu": gpu_session}
