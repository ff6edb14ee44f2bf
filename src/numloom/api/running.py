"""Running recorded work: when the user says so, and where a result may not wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numloom.array.ndarray import ndarray, storage_of, wrap
from numloom.array.ndarray import pinned as is_pinned
from numloom.base.tracebacks import waits
from numloom.engine.evaluate import after_record, synchronize
from numloom.engine.evaluate import evaluate as evaluate_values
from numloom.graph.node import VIEW, Node, live_nodes, register

_NOTHING: list[Node] = []
_ALL: Any = object()


def evaluate(array: Any = _ALL, /, *arrays: Any) -> None:
    """Run what arrays have recorded, and what else is pending in live arrays; do not wait for the device.

    Parameters
    ----------
    array, *arrays : ndarray
        Arrays whose values are wanted; without any, everything that is pending runs.

    Raises
    ------
    Exception
        Why one of these arrays cannot be computed (`MemoryError`, say). Other arrays are not disturbed by that.
    """
    if arrays:
        evaluate_values([node for given in (array, *arrays) for node in waiting(given)])
        for given in (array, *arrays):
            insist(given)
    elif array is _ALL:
        evaluate_values(live_nodes())
    elif register.oldest is not None or not is_computed(array):  # It has a name so that there is no tuple of it.
        evaluate_values(waiting(array))
        insist(array)


def is_computed(given: Any) -> bool:
    """Whether this is an array with a value that is computed."""
    return type(given) is ndarray and storage_of(given).value.buffer is not None


def waiting(given: Any) -> list[Node]:
    """What has to be asked for so that an array's value runs: all else that arrays hold runs anyway."""
    if type(given) is not ndarray:
        what = "a tree without numbers, which a call of a function gives" if waits(given) else type(given).__name__
        raise TypeError(f"evaluate takes numloom arrays, got {what}")
    value = storage_of(given).value
    return [value] if value.kind < VIEW and value.buffer is None else _NOTHING


def insist(given: Any) -> None:
    """Raise why an array's value was not computed, if it was not."""
    value = storage_of(given).value
    if value.buffer is None:
        evaluate_values([value])


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
