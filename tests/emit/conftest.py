"""Lets the tests of this folder import their own modules and `nvrtc`, and has work on few elements recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]


@pytest.fixture(autouse=True)
def _recorded() -> Iterator[None]:
    """Work on few elements is done at once until a process has a tree; what is planned here must not depend on that."""
    from numloom.graph.node import register

    before = register.trees
    register.trees = True
    yield
    register.trees = before
