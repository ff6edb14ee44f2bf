"""Copies between ordinary host memory and the GPU, through a few pinned blocks.

From pages that are not pinned the driver copies with one thread, and a small copy waits for all that runs on the
stream. Here several threads fill one block while the bus empties another, and small copies leave their bytes in a ring
of pinned memory, from which the GPU takes them when it comes to it.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator

from numloom.base.pools import ThreadPoolExecutor, wait
from numloom.device.cuda import driver
from numloom.device.memory import Pool

BLOCK = 16 << 20
BLOCKS = 3
THREADS = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


RING = 1 << 20


class Ring:
    """Pinned memory for small copies to the GPU: nobody waits for what runs before them."""

    def __init__(self, pinned: Pool, stream: int) -> None:
        self.stream = stream
        self._block = pinned.allocate(RING)
        self._events = [driver.call("cuEventCreate", 2, doing="making an event") for _ in range(2)]
        self._left = [False, False]
        self._half = self._at = 0
        self._lock = threading.Lock()

    def upload(self, target: int, source: int, nbytes: int) -> None:
        """Copy at most half of the ring to the GPU; `source` has been read on return, the copy may be under way."""
        with self._lock:
            if self._at + nbytes > RING // 2:
                driver.call("cuEventRecord", self._events[self._half], self.stream, doing="recording an event")
                self._left[self._half] = True
                self._half, self._at = 1 - self._half, 0
                if self._left[self._half]:
                    # What lies there was taken long ago, unless the GPU is far behind.
                    driver.call("cuEventSynchronize", self._events[self._half], doing="copying to the GPU")
            place = self._block.ptr + self._half * (RING // 2) + self._at
            ctypes.memmove(place, source, nbytes)
            driver.call("cuMemcpyHtoDAsync", target, place, nbytes, self.stream, doing="copying to the GPU")
            self._at += (nbytes + 255) & ~255


class StagingBuffers:
    """Pinned blocks and the threads that fill and empty them."""

    def __init__(self, pinned: Pool, stream: int) -> None:
        self.stream = stream
        self._blocks = [pinned.allocate(BLOCK) for _ in range(BLOCKS)]
        self._events = [driver.call("cuEventCreate", 2, doing="making an event") for _ in range(BLOCKS)]
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(THREADS, "numloom-copy")

    def upload(self, target: int, source: int, nbytes: int) -> None:
        """Copy to the GPU; `source` has been read on return, the copy itself may be under way."""
        with self._lock:
            for number, start, size in _parts(nbytes):
                slot = number % BLOCKS
                block = self._blocks[slot].ptr
                self._wait(slot)
                self._move(block, source + start, size)
                driver.call("cuMemcpyHtoDAsync", target + start, block, size, self.stream, doing="copying to the GPU")
                self._record(slot)

    def download(self, target: int, source: int, nbytes: int) -> None:
        """Copy from the GPU; waits."""
        with self._lock:
            under_way: list[tuple[int, int, int]] = []
            for number, start, size in _parts(nbytes):
                if len(under_way) == BLOCKS:
                    self._empty(target, *under_way.pop(0))
                slot = number % BLOCKS
                driver.call(
                    "cuMemcpyDtoHAsync", self._blocks[slot].ptr, source + start, size, self.stream,
                    doing="copying from the GPU",
                )  # fmt: skip
                self._record(slot)
                under_way.append((slot, start, size))
            for part in under_way:
                self._empty(target, *part)

    def _empty(self, target: int, slot: int, start: int, size: int) -> None:
        self._wait(slot)
        self._move(target + start, self._blocks[slot].ptr, size)

    def _record(self, slot: int) -> None:
        driver.call("cuEventRecord", self._events[slot], self.stream, doing="recording an event")

    def _wait(self, slot: int) -> None:
        driver.call("cuEventSynchronize", self._events[slot], doing="copying between host and GPU")

    def _move(self, target: int, source: int, size: int) -> None:
        """Copy host memory by several threads."""
        step = (size // THREADS + 4096) & ~4095
        tasks = [
            self._threads.submit(ctypes.memmove, target + start, source + start, min(step, size - start))
            for start in range(0, size, step)
        ]
        try:
            for task in tasks:
                task.result()
        finally:
            wait(tasks)  # also where Ctrl-C came between: nobody may write to the block later


def _parts(nbytes: int) -> Iterator[tuple[int, int, int]]:
    """Number, start and size of each block's share."""
    for number, start in enumerate(range(0, nbytes, BLOCK)):
        yield number, start, min(BLOCK, nbytes - start)
