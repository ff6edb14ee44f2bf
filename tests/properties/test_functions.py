"""Random programs as compiled functions, loops and gradients (`functions.py`): the same as NumPy, call after call."""

from __future__ import annotations

import pytest
from functions import KINDS, MODES, check
from worlds import PROGRAMS, load_loops

import numloom as nl
from numloom.device import registry

pytestmark = pytest.mark.skipif(
    registry.current().discrete or nl.config.executor == "reference",
    reason="each program needs kernels of its own there",
)
PARTS = 2


@pytest.fixture(scope="module", autouse=True)
def loops() -> None:
    """Nothing is compiled for a program, but in the mode that is called so."""
    load_loops()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_functions(kind: str, mode: str, part: int) -> None:
    count = max(PROGRAMS // 2000, 1)
    for number in range(count):
        check(kind, 1000 * part + number, mode)
