"""Whether a process grows, by what tests/faults/growing.py tells of it."""

from __future__ import annotations

from collections.abc import Sequence

MANY = 2048
"""Kernels from which on memory is looked at, too: tables that are bounded have filled by then."""


def grown(lines: Sequence[Sequence[int]], room: int, memory: bool) -> list[str]:
    """What was more in the second half of the lines than in the first one, where `room` libraries are kept."""
    half = len(lines) // 2
    most = {"memory maps": (1, 5 * 2 * room), "open files": (3, 2), "threads": (4, 1)}
    if memory:
        most["kilobytes"] = (2, 30_000)
    found = []
    for name, (place, more) in most.items():
        earlier, later = (max(line[place] for line in part) for part in (lines[:half], lines[half:]))
        if later > earlier + more:
            found.append(f"{name} grew from {earlier} to {later}")
    return found
