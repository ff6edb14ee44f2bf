"""All steps of a loop as one launch: what `run_stepped` launches, captured once by the device."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from numloom.base.config import config
from numloom.base.dtypes import ITEMSIZES
from numloom.device.memory import Buffer
from numloom.engine.prepared import Prepared, Stacked, is_capturable, run_stepped
from numloom.engine.state import counters
from numloom.graph.node import Node

LEAST, MOST = 8, 4096
"""Launches that are captured: for fewer it is no gain, and more take long to capture."""
AT_ONCE = 256
MEMORY = 512 << 20
"""How many loops are captured at a time, and the most bytes of memory that is theirs alone."""

_all: weakref.WeakSet[CapturedSteps] = weakref.WeakSet()


class CapturedSteps:
    """Steps of a loop from the first to the last, as one launch.

    Parameters
    ----------
    prepared : Prepared
        What one step runs.
    run : callable
        What was captured (`numloom.device.interface.Captured`).
    given : list of int
        Places of the memory that a run is given, before that of the results.
    counts : tuple of int
        Kernels, routines and copies.
    """

    def __init__(self, prepared: Prepared, run: Any, given: list[int], counts: tuple[int, int, int]) -> None:
        self.prepared = prepared
        self.tf32 = config.tf32  # Which routines ask for when they are launched.
        self.captured = run
        self.given = given
        self.counts = counts

    def is_for(self, prepared: Prepared) -> bool:
        """Whether it is what these steps launch now."""
        return self.prepared is prepared and self.tf32 == config.tf32

    def run(self, memory: Sequence[Any], packed: Any) -> bool:
        """Run them; False, with nothing done, where they must run step by step."""
        if not self.captured([*[memory[place].ptr for place in self.given], packed.ptr]):
            return False
        kernels, calls, copies = self.counts
        counters.kernels += kernels
        counters.library_calls += calls
        counters.copies += copies
        return True


def capture_steps(
    prepared: Prepared, nodes: Sequence[Node], rows: dict[int, int], begins: Sequence[int], strides: Sequence[int],
    states: list[int], steps: int, stacked: list[Stacked], last: list[Stacked], nbytes: int,
) -> CapturedSteps | None:  # fmt: skip
    """Steps as one launch; None where they cannot be.

    Parameters
    ----------
    prepared, begins, strides, states, steps, stacked, last
        As of `run_stepped`, from the first step on.
    nodes : sequence of Node
        Whose memory it has.
    rows : dict
        Which of its places are memory of earlier ones, and of which.
    nbytes : int
        Bytes of the results.
    """
    device = prepared.device
    launches = steps * len(prepared.steps)
    held = sum([one.captured.pool.used + one.captured.pool.cached for one in _all])
    if not LEAST <= launches <= MOST or len(_all) >= AT_ONCE or held >= MEMORY or not is_capturable(prepared):
        return None
    if device.discrete and any([expected > 0 for expected in prepared.past]):
        return None  # What runs are given is copied to memory that begins elsewhere.
    read = {rows.get(place, place) for place, expected in enumerate(prepared.past) if expected >= 0}
    given = sorted(read)

    def run(capture: Any) -> None:
        memory: list[Buffer | None] = []
        for place, node in enumerate(nodes):
            if place in rows:
                memory.append(memory[rows[place]])
            else:
                memory.append(capture.operand(_bytes(node)) if place in read else None)
        packed = capture.result(nbytes)
        run_stepped(prepared, memory, [*begins], [*strides], states, 0, steps, stacked, last, packed, _go_on, capture)

    before = counters.kernels, counters.library_calls, counters.copies
    try:
        captured = device.captured(run)
        after = counters.kernels, counters.library_calls, counters.copies
    finally:
        counters.kernels, counters.library_calls, counters.copies = before
    if captured is None:
        return None
    kernels, calls, copies = [one - other for one, other in zip(after, before, strict=True)]
    found = CapturedSteps(prepared, captured, given, (kernels, calls, copies))
    _all.add(found)
    return found


def _bytes(node: Node) -> int:
    """Bytes from a value's first element to its last one's end."""
    if not node.size:
        return 0
    last = sum([(extent - 1) * stride for extent, stride in zip(node.shape, node.strides, strict=True)])
    return last + ITEMSIZES[node.code]


def _go_on() -> None:
    """Nothing has run."""


__all__ = ["CapturedSteps", "capture_steps"]
