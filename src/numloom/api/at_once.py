"""What NumPy does with the same bits, done at once by NumPy's own function where it is small work of the host.

A call of a routine costs more than NumPy's function takes for few elements: a value is recorded or looked up, its
memory described, a routine found. None of it is needed where the operands lie in memory of the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from numloom.api.verifying import compared
from numloom.base.tracebacks import public

try:
    from numloom.array import _lent  # type: ignore[attr-defined]
except ImportError:
    _lent = None

interpolated: Any = getattr(_lent, "interpolated", None)
"""`np.interp` as it is recorded, of arrays of NumPy's."""
running_sum: Any = getattr(_lent, "running_sum", None)
differences: Any = getattr(_lent, "differences", None)
"""`np.cumsum` and `np.diff` of vectors of NumPy's, without a warning."""
joined: Any = getattr(_lent, "joined", None)
"""`np.concatenate` of few elements of ours, of which nothing is lent."""

Function = TypeVar("Function", bound=Callable[..., Any])

FEW = 4096
"""Elements of an operand up to which the host's routines are NumPy's."""
RECORDED = 256
"""The same of functions that would record, so that larger work fuses with its neighbours."""


def at_once(
    numpys: Callable[..., Any],
    *,
    most: int = FEW,
    others: int | None = None,
    pending: bool = True,
    anywhere: bool = True,
    quick: Callable[..., Any] | None = None,
) -> Callable[[Function], Function]:
    """A function that is `numpys` to the bit, for arrays that are ready on the host.

    Parameters
    ----------
    numpys : callable
        NumPy's function, of those arguments alone that are meant, by the same names. For others, for what raises, and
        where it gives None, the function itself is called.
    most : int
        Elements of the first operand, at most.
    others : int, optional
        The same of those behind it and those by name; by default as many.
    pending : bool
        Whether operands that are not computed yet are computed for it, as the function itself would.
    anywhere : bool
        Whether this has the same bits on a GPU, so that it may be done beside one.
    quick : callable, optional
        A compiled function that is asked first, of the same arguments by their places; None says that it is not for it.

    Examples
    --------
    >>> import numloom as np
    >>> np.sort(np.array([2.0, 3.0, 1.0]))
    array([1., 2., 3.])
    """

    def enter(function: Function) -> Function:
        if _lent is None:
            return function
        names = frozenset(signature(numpys).parameters)
        full = public(function)
        return wraps(function)(
            _lent.entered(
                full, numpys, names, most, most if others is None else others, pending, anywhere, compared, quick
            )
        )  # type: ignore[return-value]

    return enter


__all__ = ["FEW", "RECORDED", "at_once", "differences", "interpolated", "joined", "running_sum"]
