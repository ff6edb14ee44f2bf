"""All steps of a loop, or all that a compiled function runs, as one launch that the device captures once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.base.config import config
from numloom.base.dtypes import ITEMSIZES
from numloom.device.memory import Buffer
from numloom.engine.state import counters
from numloom.engine.tape import Frame, Launch, Step, capture, put
from numloom.engine.tape import run as run_tape
from numloom.engine.taped import A_NUMBER, Captured, RoutineCall, Stacked, TapedCall, is_capturable, run_stepped
from numloom.graph.node import Node

LEAST, MOST = 8, 4096
"""Launches that are captured: for fewer it is no gain, and more take long to capture."""
LEAST_OF_CALL = 3
"""Steps of a call that is captured."""
BYTES = 1 << 20
"""Bytes for each step that may be copied to what was captured, and back: of more the launches take little time."""


class CapturedSteps:
    """Steps of a loop from the first to the last, as one launch.

    Parameters
    ----------
    taped : TapedCall
        What one step runs.
    captured : Captured
        All of them, which a run gives memory, and that of the results.
    """

    def __init__(self, taped: TapedCall, captured: Captured) -> None:
        self.taped = taped
        self.captured = captured

    def is_for(self, taped: TapedCall) -> bool:
        """Return whether it is what these steps launch now."""
        return self.taped is taped and self.captured.tf32 == config.tf32

    def run(self, memory: Sequence[Any], packed: Any) -> bool:
        """Run them; False, with nothing done, where they must run step by step."""
        return self.captured.run([*[memory[place].ptr for place in self.captured.given], packed.ptr])


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
    return None if captured is None else CapturedSteps(taped, Captured(captured, given, counts))


def capture_call(taped: TapedCall, operands: Sequence[Node]) -> Captured | None:
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
    known = _known_to_others(tape.steps)
    copied = sum([_bytes(operands[place]) for place in given if place in known])
    copied += sum([nbytes for place, nbytes in results if place in known])
    if not LEAST_OF_CALL <= len(tape.steps) <= MOST or copied > BYTES * len(tape.steps):
        return None
    if not is_capturable(taped) or _begins_elsewhere(taped):
        return None

    numbers: dict[tuple[int, int], Any] = {}

    def run(capture: Any) -> None:
        frame = Frame(tape, capture, numbers)
        for place, expected in enumerate(taped.past):
            if expected <= A_NUMBER:
                frame.values[place] = operands[place].attr
        for place in given:
            put(frame, place, capture.operand(_bytes(operands[place]), place not in known), 0)
        for place, buffer in fixed:
            put(frame, place, buffer, 0)
        for place, nbytes in results:
            put(frame, place, capture.result(nbytes, place not in known), 0)
        run_tape(tape, frame, None, None)

    captured, counts = _captured(tape.device, run)
    return None if captured is None else Captured(captured, given, counts, results, list(numbers), fixed)


def _known_to_others(steps: Sequence[Step]) -> set[int]:
    """Return the places of memory that others than launches take: routines, and copies."""
    known: set[int] = set()
    for step in steps:
        if isinstance(step, RoutineCall):
            known.update([operand.place for operand in step.operands], step.targets)
        elif isinstance(step, Launch) and step.copied:
            known |= {step.source, step.target}
    return known


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
