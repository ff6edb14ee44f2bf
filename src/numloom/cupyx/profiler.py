"""``cupyx.profiler``: times of calls, and what a profiler is to record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numloom.cuda import nvtx
from numloom.cuda.devices import flush, wait
from numloom.cuda.profiler import PerfCaseResult, benchmark
from numloom.cuda.runtime import profilerStart, profilerStop


@contextmanager
def profile() -> Iterator[None]:
    """Have a profiler (Nsight) record a ``with`` block; nothing without a GPU."""
    profilerStart()
    try:
        yield
    finally:
        profilerStop()


@contextmanager
def time_range(
    message: str, color_id: int | None = None, argb_color: int | None = None, sync: bool = False
) -> Iterator[None]:
    """A range in a profiler's picture for a ``with`` block or a function; work that the block records is started in it.

    Examples
    --------
    >>> import numloom as np
    >>> from numloom.cupyx.profiler import time_range
    >>> with time_range("sums", sync=True):
    ...     x = np.arange(5).sum()
    """
    end = wait if sync else flush
    end()
    if argb_color is not None:
        nvtx.RangePushC(message, argb_color)
    else:
        nvtx.RangePush(message, -1 if color_id is None else color_id)
    try:
        yield
        end()
    finally:
        nvtx.RangePop()


__all__ = ["PerfCaseResult", "benchmark", "profile", "time_range"]
