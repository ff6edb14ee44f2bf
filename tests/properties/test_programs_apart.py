"""The random programs where the host does not see the memory of arrays: elements, looks and errors as on a GPU.

Kernels are the host's, interpreted, so that thousands of programs need no compiler.
"""

from __future__ import annotations

import random

import pytest
from test_programs import SOUND, check
from worlds import PROGRAMS, load_loops

import numloom as nl
from apart import apart
from numloom.device import registry

pytestmark = pytest.mark.skipif(
    registry.current().discrete or nl.config.executor == "reference", reason="a GPU is one, the reference has none"
)

PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part: int) -> None:
    """The same answers as NumPy's, however they are evaluated, and however often."""
    generator = random.Random(1000 + part)
    with apart() as device:
        device.discrete = part % 2 == 0  # What a GPU refuses, and what it leaves for the next look.
        load_loops()
        for _ in range(max(PROGRAMS // PARTS // 20, 1)):
            check(generator.randbytes(generator.randrange(20, 160)), steps=SOUND)
