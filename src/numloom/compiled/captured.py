"""All steps of a loop, or all that a compiled function runs, as one launch that the device captures once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.base.config import config
from numloom.base.dtypes import ITEMSIZES
from numloom.device.memory import Buffer
from numloom.engine.state import counters
from numloom.engine.tape import Frame, capture, put
from numloom.engine.tape import run as run_tape
from numloom.engine.taped import CapturedCall, Stacked, TapedCall, is_capturable, run_stepped
from numloom.graph.node import Node

LEAST, MOST = 8, 4096
"""Launches that are captured: for fewer it is no gain, and more take long to capture."""
LEAST_OF_CALL = 3
"""Steps of a call that is captured."""
BYTES = 1 << 20
"""Bytes for each step that a captured call may be given, and give: of more the launches take little of its time."""


class CapturedSteps:
    """Steps of a loop from the first to the last, as one launch.

    Parameters
    ----------
    taped : TapedCall
        What one step runs.
    run : callable
        What was captured (`numloom.device.interface.Captured`).
    given : list of int
        Places of the memory that a run is given, before that of the results.
    counts : tuple of int
        Kernels, routines and copies.
    """

    def __init__(self, taped: TapedCall, run: Any, given: list[int], counts: tuple[int, int, int]) -> None:
        self.taped = taped
        self.tf32 = config.tf32  # Which routines ask for when they are launched.
        self.captured = run
        self.given = given
        self.counts = counts

    def is_for(self, taped: TapedCall) -> bool:
        """Whether it is what these steps launch now."""
        return self.taped is taped and self.tf32 == config.tf32

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
    taped: TapedCall, nodes: Sequence[Node], rows: dict[int, int], begins: Sequence[int], strides: Sequence[int],
    states: list[int], steps: int, stacked: list[Stacked], last: list[Stacked], nbytes: int,
) -> CapturedSteps | None:  # fmt: skip
    """Steps as one launch; None where they cannot be.

    Parameters
    ----------
    taped, begins, strides, states, steps, stacked, last
        As of `run_stepped`, from the first step on.
    nodes : sequence of Node
        Whose memory it has.
    rows : dict
        Which of its places are memory of earlier ones, and of which.
    nbytes : int
        Bytes of the results.
    """
    if not LEAST <= steps * len(taped.tape.steps) <= MOST or not is_capturable(taped):
        return None
    if _begins_elsewhere(taped):
        return None
    read = {rows.get(place, place) for place, expected in enumerate(taped.past) if expected >= 0}
    given = sorted(read)

    def run(capture: Any) -> None:
        memory: list[Buffer | None] = []
        for place, node in enumerate(nodes):
            if place in rows:
                memory.append(memory[rows[place]])
            else:
                memory.append(capture.operand(_bytes(node)) if place in read else None)
        packed = capture.result(nbytes)
        run_stepped(taped, memory, [*begins], [*strides], states, 0, steps, stacked, last, packed, _go_on, capture)

    captured, counts = _captured(taped.tape.device, run)
    return None if captured is None else CapturedSteps(taped, captured, given, counts)


def capture_call(taped: TapedCall, operands: Sequence[Node]) -> CapturedCall | None:
    """Return all that a call runs as one launch; None where it cannot be, or would be no gain.

    Parameters
    ----------
    taped : TapedCall
        What it runs, which has run some times.
    operands : sequence of Node
        What it was given.
    """
    tape = taped.tape
    given = [place for place in range(len(operands)) if taped.past[place] >= 0]
    constants = enumerate(taped.constants, len(operands))
    fixed = [(place, node.buffer) for place, node in constants if taped.past[place] >= 0]
    results = [
        (place, max(_bytes(form), 1))
        for place, form in zip(taped.results, taped.signatures, strict=True)
        if place >= 0 and form is not None
    ]
    moved = sum([_bytes(operands[place]) for place in given]) + sum([nbytes for _, nbytes in results])
    if not LEAST_OF_CALL <= len(tape.steps) <= MOST or moved > BYTES * len(tape.steps):
        return None
    if not is_capturable(taped) or _begins_elsewhere(taped):
        return None

    def run(capture: Any) -> None:
        frame = Frame(tape, capture)
        for place in given:
            put(frame, place, capture.operand(_bytes(operands[place])), 0)
        for place, buffer in fixed:
            put(frame, place, buffer, 0)
        for place, nbytes in results:
            put(frame, place, capture.result(nbytes), 0)
        run_tape(tape, frame, None, None)

    captured, counts = _captured(tape.device, run)
    return None if captured is None else CapturedCall(captured, given, results, fixed, counts)


def _begins_elsewhere(taped: TapedCall) -> bool:
    """Return whether operands that are copied would begin at other bits than a call's do."""
    return taped.tape.device.discrete and any([expected > 0 for expected in taped.past])


def _captured(device: Any, run: Callable[[Any], None]) -> tuple[Any, tuple[int, int, int]]:
    """Return what a device captures of ``run(capture)``, None where it cannot, and kernels, routines and copies."""
    before = counters.kernels, counters.library_calls, counters.copies
    try:
        captured = capture(device, run)
        after = counters.kernels, counters.library_calls, counters.copies
    finally:
        counters.kernels, counters.library_calls, counters.copies = before
    return captured, (after[0] - before[0], after[1] - before[1], after[2] - before[2])


def _bytes(node: Any) -> int:
    """Return the bytes from a value's first element to its last one's end."""
    if not node.size:
        return 0
    last = sum([(extent - 1) * stride for extent, stride in zip(node.shape, node.strides, strict=True)])
    return last + ITEMSIZES[node.code]


def _go_on() -> None:
    """Nothing has run."""


__all__ = ["CapturedSteps", "capture_call", "capture_steps"]
