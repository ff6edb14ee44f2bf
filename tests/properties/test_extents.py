"""Random programs over symbols with unknown extents (`extents.py`): the bits of known ones, call after call."""

from __future__ import annotations

import pytest
from extents import check
from functions import MODES
from worlds import PROGRAMS, load_loops

import numloom as nl
from numloom.device import registry

pytestmark = pytest.mark.skipif(
    registry.current().discrete or nl.config.executor == "reference",
    reason="each program needs kernels of its own there",
)


@pytest.fixture(scope="module", autouse=True)
def loops() -> None:
    """Nothing is compiled for a program, but in the mode that is called so."""
    load_loops()


@pytest.mark.parametrize("mode", MODES)
def test_unknown_extents(mode: str) -> None:
    for seed in range(8 if mode == "compiled" else max(PROGRAMS // (800 if mode == "verified" else 200), 4)):
        check(seed, mode)
