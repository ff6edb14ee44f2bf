"""Counting the kernels that a piece of program runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from numloom.base.config import config
from numloom.base.wording import counted as number_of
from numloom.engine.evaluate import evaluate
from numloom.engine.state import counters


@dataclass(slots=True)
class KernelCount:
    """What ran inside a `count_kernels` block; filled in when the block ends.

    Attributes
    ----------
    kernels : int
        Fused kernels that plans ran, whichever tier ran them.
    library_calls : int
        Vendor routines and device-wide primitives.
    """

    kernels: int = 0
    library_calls: int = 0


@contextmanager
def count_kernels() -> Iterator[KernelCount]:
    """Count what runs inside a ``with`` block.

    Small work is planned as large work is (`config.unplanned` is 0 meanwhile).
    What is pending at the start runs before and does not count; what live arrays still wait for
    at the end runs then and counts.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.arange(10.0)
    >>> with count_kernels() as counted:
    ...     y = np.exp(x) + 1
    >>> counted.kernels
    1
    """
    evaluate([])
    kernels, library_calls = counters.kernels, counters.library_calls
    counted = KernelCount()
    try:
        with config(unplanned=0):
            yield counted
            evaluate([])
    finally:
        counted.kernels = counters.kernels - kernels
        counted.library_calls = counters.library_calls - library_calls


@contextmanager
def assert_kernels(expected: int, *, library_calls: int | None = None) -> Iterator[KernelCount]:
    """Fail unless exactly `expected` fused kernels run inside the ``with`` block.

    Small work is planned as large work is (`config.unplanned` is 0 meanwhile).
    What is pending at the start runs before and does not count; what live arrays still wait for
    at the end runs then and counts. In eager mode and under the reference executor nothing is
    fused: there it counts, and asserts nothing.

    Parameters
    ----------
    expected : int
        Number of fused kernels.
    library_calls : int, optional
        Number of library calls, if it is to be asserted too.

    Raises
    ------
    AssertionError
        If another number ran.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.linspace(-1, 1, 1000)
    >>> with assert_kernels(1):
    ...     y = np.maximum(0, x) + np.log1p(np.exp(-abs(x)))
    """
    with count_kernels() as counted:
        yield counted
    if config.eager or config.executor == "reference":
        return
    if counted.kernels != expected:
        raise AssertionError(f"expected {number_of(expected, 'kernel')}, {counted.kernels} ran")
    if library_calls is not None and counted.library_calls != library_calls:
        raise AssertionError(f"expected {library_calls} library calls, {counted.library_calls} ran")
