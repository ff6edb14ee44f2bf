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
    for array in arrays:
        if not isinstance(array, ndarray):
            raise TypeError(f"evaluate takes numloom arrays, got {type(array).__name__}")
    evaluate_values([array.cell.value for array in arrays])


__all__ = ["evaluate", "synchronize"]
