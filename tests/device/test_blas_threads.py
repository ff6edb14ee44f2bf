"""Little products take one thread of NumPy's BLAS, and what it takes else is as before."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from numloom.device.cpu import blas_threads

WIDE = 7


@pytest.fixture
def asked(monkeypatch):
    """The numbers of threads that a stand-in for OpenBLAS is told; it begins with `WIDE`."""
    told = [WIDE]
    monkeypatch.setattr(blas_threads, "_openblas", lambda: (lambda: told[-1], told.append))
    return told


def multiply(rows, inner, columns):
    x, y = np.ones((rows, inner), np.float32), np.ones((inner, columns), np.float32)
    out = np.empty((rows, columns), np.float32)
    blas_threads.matmul(x, y, out)
    assert (out == inner).all()


def test_by_the_work(asked):
    multiply(4, 4, 4)
    assert asked == [WIDE]
    multiply(32, 128, 128)
    assert asked == [WIDE, 1, WIDE]
    multiply(128, 128, 128)
    assert asked == [WIDE, 1, WIDE]


def test_after_an_error(asked):
    with pytest.raises(ValueError, match="matmul"):
        blas_threads.matmul(np.ones((64, 64)), np.ones((65, 64)), np.empty((64, 64)))
    assert asked == [WIDE, 1, WIDE]


def test_several_threads(asked):
    threads = [threading.Thread(target=lambda: [multiply(32, 64, 64) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked[-1] == WIDE
    assert set(asked) == {1, WIDE}
    assert blas_threads._running == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_forked_in_the_middle(asked):
    blas_threads._running, blas_threads._before = 1, WIDE
    asked.append(1)
    try:
        blas_threads._whole()
    finally:
        blas_threads._before = 0
    assert blas_threads._running == 0
    assert asked[-1] == WIDE


def test_numpys_own_library():
    """Where it is OpenBLAS it says a number of threads, and says the same after a product."""
    found = blas_threads._openblas()
    if found is None:
        pytest.skip("NumPy has another BLAS here")
    before = found[0]()
    assert before >= 1
    multiply(32, 128, 128)
    assert found[0]() == before
