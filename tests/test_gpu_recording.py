"""On a GPU: generated programs give the values and gradients that they give on the CPU."""

from __future__ import annotations

import pytest
from hypothesis import given

from .programs import Program, programs
from .test_device_recording import agree
from .test_generated import tries


@pytest.mark.gpu
@tries(300)
@given(programs())
def test_generated_programs_agree_on_a_gpu(program: Program) -> None:
    agree(program)
