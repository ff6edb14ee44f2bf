"""Marks for profilers, and the driver's own pool."""

from __future__ import annotations

import pytest

import numloom as np
from numloom.cuda import nvtx
from numloom.cupyx.profiler import time_range


class Recorded:
    """What the package nvtx would be told."""

    def __init__(self):
        self.told = []

    def mark(self, message, color):
        self.told.append(("mark", message, color))

    def push_range(self, message, color):
        self.told.append(("push", message, color))

    def pop_range(self):
        self.told.append(("pop",))


def test_ranges(monkeypatch):
    found = Recorded()
    monkeypatch.setattr(nvtx, "package", lambda: found)
    with time_range("outer", 1):
        x = np.arange(4) + 1
        with pytest.raises(KeyError), time_range("inner", argb_color=0xFF102030, sync=True):
            raise KeyError

    @time_range("call")
    def call():
        return int(x.sum())

    assert call() == call() == 10
    nvtx.Mark("here")
    calls = [("push", "call", None), ("pop",)] * 2
    inner = [("push", "inner", 0x102030), ("pop",)]
    assert found.told == [("push", "outer", "green"), *inner, ("pop",), *calls, ("mark", "here", None)]


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(nvtx, "package", lambda: None)
    with time_range("nothing"):
        nvtx.Mark("m")
        nvtx.MarkC("m", 1)
        nvtx.RangePushC("r", 2)
        nvtx.RangePop()


def test_the_drivers_pool():
    pool = np.cuda.MemoryAsyncPool()
    with np.config(placement="device"), np.cuda.using_allocator(pool.malloc):
        x = np.arange(100_000.0) + 1
        np.evaluate(x)
        assert pool.total_bytes() >= pool.used_bytes() >= (x.nbytes if np.cuda.device.on_gpu() else 0)
        assert float(x.sum()) == 100_000 * 100_001 / 2
    del x
    pool.free_all_blocks()
    assert pool.free_bytes() >= 0
    with pytest.raises(NotImplementedError, match="default"):
        np.cuda.MemoryAsyncPool([3])
