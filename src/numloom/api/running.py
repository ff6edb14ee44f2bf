"""Running recorded work when the user says so."""

from __future__ import annotations

from typing import Any

from numloom.array.ndarray import ndarray
from numloom.engine.evaluate import evaluate as evaluate_values
from numloom.engine.evaluate import synchronize


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
    values = []
    for given in arrays:
        if not isinstance(given, ndarray):
            raise TypeError(f"evaluate takes numloom arrays, got {type(given).__name__}")
        array = given
        values.append(array.cell.value)
    evaluate_values(values)


__all__ = ["evaluate", "synchronize"]
