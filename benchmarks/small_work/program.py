"""What a program is, and how its results are compared with NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Host = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Program:
    """A program over an array namespace: ``program(xp, n, seed)`` gives an array, a number or a tuple of them.

    Attributes
    ----------
    run : callable
        The function.
    tiny : int
        A size for tests.
    sizes : tuple of int
        Sizes that NumPy takes about 0.3 to 100 ms for, ascending.
    rtol : float
        Results may differ from NumPy's by so much of the largest element; 0 asks for the same bits.
    """

    run: Callable[[Any, int, int], Any]
    tiny: int
    sizes: tuple[int, ...]
    rtol: float

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.run.__name__

    @property
    def field(self) -> str:
        """The module that the program stands in."""
        return self.run.__module__.rpartition(".")[2]

    def __call__(self, xp: Any, n: int, seed: int = 0) -> Any:
        """Run it on the data of a seed."""
        return self.run(xp, n, seed)


def program(tiny: int, sizes: tuple[int, ...], rtol: float = 0.0) -> Callable[[Callable[..., Any]], Program]:
    """Make a function a program."""
    return lambda run: Program(run, tiny, sizes, rtol)


def leaves(result: Any) -> Iterator[Any]:
    """The arrays and numbers of a result, in order."""
    if isinstance(result, tuple | list):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def difference(found: Iterable[Host], expected: Iterable[Host], rtol: float) -> str | None:
    """How results differ from NumPy's beyond a tolerance; None where they agree.

    Sums of other orders differ by parts of what was summed, so the tolerance is one of an array's largest element.
    """
    found, expected = list(found), list(expected)
    if len(found) != len(expected):
        return f"{len(found)} results for {len(expected)}"
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
            return f"result {number}: {ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}"
        same = same_bits(ours, theirs)
        room = rtol * float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0))
        if same.all() or (rtol and np.allclose(ours, theirs, rtol=0, atol=room, equal_nan=True)):
            continue
        where = tuple(int(i) for i in np.argwhere(~same)[0])
        with np.errstate(invalid="ignore"):
            apart = np.abs(ours.astype(complex) - theirs)[~same]
        worst = float(np.max(apart[~np.isnan(apart)], initial=0))
        return f"result {number}: {ours[where]} for {theirs[where]} at {where}, {worst:.3g} apart at most"
    return None


def same_bits(ours: Host, theirs: Host) -> Host:
    """Where two arrays of one shape and dtype hold the same bits (any NaN is as good as another)."""
    same = ours == theirs
    if theirs.dtype.kind == "f":
        same &= np.signbit(ours) == np.signbit(theirs)
    return np.asarray(same | ((ours != ours) & (theirs != theirs)))
