"""Arrays of ours that a function of another library is to fill: it gets NumPy's, and ours get what these then hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray
from numloom.base.nesting import deeper

FILLED = ("output", "out", "distances", "indices")
"""Parameters of SciPy's that take an array for the results."""


class Filling:
    """One call's arrays that are filled.

    Examples
    --------
    >>> import numloom as nl
    >>> x, filling = nl.zeros(3), Filling()
    >>> filling.lend(x)[1:] = 5
    >>> filling.finish()
    >>> x
    array([0., 5., 5.])
    """

    def __init__(self) -> None:
        self._lent: list[tuple[ndarray, np.ndarray[Any, Any]]] = []

    def lend(self, value: Any, depth: int = 0) -> Any:
        """NumPy's array to fill in place of ours, also within a tuple; anything else as it is."""
        if isinstance(value, tuple):
            depth = deeper(depth)
            return tuple([self.lend(one, depth) for one in value])
        if not isinstance(value, ndarray):
            return value
        self._lent.append((value, np.array(value.get())))
        return self._lent[-1][1]

    def finish(self) -> None:
        """Write what was filled into ours."""
        for ours, host in self._lent:
            ours[...] = asarray(host)

    def given(self, value: Any) -> Any:
        """Our array for the one that was lent in its place, or a view of all of it; anything else as it is."""
        return next((ours for ours, host in self._lent if host is value or _is_whole(value, host)), value)

    def __bool__(self) -> bool:
        return bool(self._lent)


def _is_whole(value: Any, host: np.ndarray[Any, Any]) -> bool:
    """Whether this is a view of the whole array, element by element."""
    of_it = isinstance(value, np.ndarray) and value.base is host and value.dtype == host.dtype
    return of_it and value.shape == host.shape and value.strides == host.strides


__all__ = ["FILLED", "Filling"]
