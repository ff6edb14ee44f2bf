"""How deep lists may be nested: as deep as an array has axes. What goes through them counts, and ends there."""

from __future__ import annotations

DEEPEST = 64
"""Levels of lists in lists: the most axes that an array has."""


def deeper(depth: int) -> int:
    """Count one level more of what is nested, from 0 on.

    Raises
    ------
    ValueError
        As NumPy, beyond the deepest level: a list that holds itself gets there, too.

    Examples
    --------
    >>> deeper(0), deeper(63)
    (1, 64)
    """
    if depth >= DEEPEST:
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the maximum number of "
            f"dimension of {DEEPEST}: lists are nested deeper than that, or one holds itself"
        )
    return depth + 1


__all__ = ["DEEPEST", "deeper"]
