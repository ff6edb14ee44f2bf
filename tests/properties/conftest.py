"""Lets the tests of this folder import their own modules; what they run needs no compiler while they run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def loops() -> None:
    """The single-operation loops, where the package was built without them: nothing is compiled for a program."""
    import numloom as nl
    from numloom.device import registry
    from numloom.emit.loops import loops_text

    device: Any = registry.current()
    if device.name == "cpu" and nl.config.executor != "reference":
        device.load_loops(loops_text, wait=True)
