"""Random numbers are tested in many small draws: tier 0 runs them on the CPU, but where a test asks for a compiler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import numloom as nl
from numloom.device import registry
from numloom.emit.loops import loops_text


@pytest.fixture(autouse=True, scope="session")
def loops() -> None:
    """The single-operation loops, where the package was built without them."""
    device = registry.current()
    if device.name == "cpu":
        device.load_loops(loops_text, wait=True)


@pytest.fixture(autouse=True)
def interpreted(loops: None) -> Iterator[None]:
    """A compile for each draw would take longer than all the rest."""
    with nl.config(cpu_compile="never"):
        yield
