"""Running recorded work: when the user says so, and where a result may not wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numloom.array.ndarray import ndarray, wrap
from numloom.array.ndarray import pinned as is_pinned
from numloom.engine.evaluate import after_record, synchronize
from numloom.engine.evaluate import evaluate as evaluate_values
from numloom.graph.node import VIEW, Node

_NOTHING: list[Node] = []


def evaluate(*arrays: Any) -> None:
    """Run what `arrays` have recorded, and what else is pending in live arrays; do not wait for the device.

    Parameters
    ----------
    *arrays : ndarray
        Arrays whose values are wanted; without any, everything that is pending runs.
    """
    evaluate_arrays(arrays)


def evaluate_arrays(arrays: tuple[Any, ...]) -> None:
    """Run what these arrays have recorded."""
    values = _NOTHING
    for given in arrays:
        if type(given) is not ndarray:
            raise TypeError(f"evaluate takes numloom arrays, got {type(given).__name__}")
        array = given
        value = array.cell.value
        if value.kind < VIEW and value.buffer is None:  # All else that arrays hold runs anyway.
            values = [*values, value]
    evaluate_values(values)


def pinned(operands: Sequence[Any]) -> bool:
    """Whether an operand's memory is exported, so that what reads it must run now."""
    for operand in operands:  # noqa: SIM110 (a generator takes five times as long)
        if is_pinned(operand):
            return True
    return False


def deliver(node: Node, operands: Sequence[Any] = ()) -> Any:
    """A value as a new array; computed at once if it read pinned memory."""
    result = wrap(node)
    if pinned(operands):
        after_record(node, now=True)
    return result


__all__ = ["deliver", "evaluate", "pinned", "synchronize"]
