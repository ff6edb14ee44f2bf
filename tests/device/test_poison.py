"""``config.poison``: memory that nobody wrote holds no zeros, on every device."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry
from numloom.device.memory import POISON, Pool


@pytest.mark.parametrize("nbytes", [1, 255, 256, 4096, 4097, 1 << 16, 3 << 20])
def test_a_buffer_is_filled_each_time_that_it_is_handed_out(nbytes: int) -> None:
    device = registry.current()
    with nl.config(poison=True):
        for _ in range(3):
            buffer = device.pool.allocate(nbytes)
            assert (device.download(buffer, 0, nbytes) == POISON).all()
            device.clear(buffer, nbytes)
            del buffer


def test_without_it_memory_is_left_as_it_was() -> None:
    filled = []
    address = iter(range(1 << 20, 1 << 30, 1 << 10))
    pool = Pool("test", lambda nbytes: next(address), lambda address, nbytes: None)
    pool.poison = lambda address, nbytes: filled.append((address, nbytes))
    with nl.config(poison=False):
        pool.allocate(10)
    with nl.config(poison=True):
        kept = pool.allocate(10)
        pool.held = lambda: None  # Launches that are held back may still use the memory.
        pool.allocate(10)
    assert filled == [(kept.ptr, 256)]


def test_empty_holds_no_zeros() -> None:
    with nl.config(poison=True):
        for dtype in "?bhiqefdFD":
            assert (
                np.asarray(nl.empty((3, 5), dtype).get()).tobytes() == bytes([POISON]) * 15 * np.dtype(dtype).itemsize
            )


def test_threads_may_run_while_memory_is_allocated() -> None:
    """Another thread computes a value that is being computed, since an allocation calls Python (a hook here)."""
    device = registry.current()
    given = nl.asarray(np.arange(12.0).reshape(3, 4))
    errors = []

    def compute(shared: list[nl.ndarray], wanted: list[float]) -> None:
        for one, right in zip(shared, wanted, strict=True):
            try:
                assert float(one) == right
            except Exception as error:
                errors.append(error)

    device.pool.watch(lambda *what: time.sleep(1e-5))
    try:
        for _ in range(30):
            terms = [nl.where(nl.isnan(given), np.inf, given) + k for k in range(6)]
            shared = [nl.argmax(term) + nl.max(term) * 2 for term in terms]
            wanted = [11 + 2 * (11.0 + k) for k in range(6)]
            threads = [threading.Thread(target=compute, args=(shared, wanted)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        device.pool.watch(None)
    assert not errors
