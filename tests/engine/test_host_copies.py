"""What came from the host and is small is known there: it is not fetched from a device that the host cannot see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.engine import evaluate
from numloom.kernels.arguments import Signature
from numloom.kernels.parameters import Reader
from numloom.testing import assert_bits_equal


class Distant:
    """A device whose memory the host cannot see; downloads are counted."""

    def __init__(self, device: Any) -> None:
        self.device, self.downloads = device, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)

    def view(self, buffer: Any) -> None:
        return None

    def download(self, *args: Any) -> Any:
        self.downloads += 1
        return self.device.download(*args)


@pytest.fixture(name="distant")
def distant_device(monkeypatch: pytest.MonkeyPatch) -> Distant:
    if not evaluate.__file__.endswith(".py"):
        pytest.skip("the compiled core takes its device without looking here")
    distant = Distant(evaluate.current())
    monkeypatch.setattr(evaluate, "current", lambda: distant)
    monkeypatch.setattr(distant.device.pool, "error_at", 0)
    return distant


def test_small_arrays_from_the_host_are_not_fetched(distant: Distant) -> None:
    host = np.arange(6.0).reshape(2, 3).T
    x = nl.asarray(host)
    for ours, theirs in ((x, host), (x[1:, ::-1], host[1:, ::-1]), (x.view("i8"), host.view("i8")), (x.T, host.T)):
        assert_bits_equal(ours, theirs)
        assert ours.get().flags.f_contiguous == theirs.copy("K").flags.f_contiguous
    series = nl.polynomial.Chebyshev([1, 2, 3])
    theirs = np.polynomial.Chebyshev([1, 2, 3])
    assert (series * series).deriv().coef.tolist() == (theirs * theirs).deriv().coef.tolist()
    assert distant.downloads == 0


def test_what_was_written_is_fetched(distant: Distant) -> None:
    x = nl.asarray([1.0, 2, 3])
    before = x * 1
    x[1] = 9
    assert x.get().tolist() == [1, 9, 3]
    x += 1
    assert x.get().tolist() == [2, 10, 4]
    assert before.get().tolist() == [1, 2, 3]
    source = np.array([1.0, 2])
    y = nl.asarray(source)
    source[0] = 7
    assert y.get().tolist() == [1, 2]
    assert distant.downloads >= 2
    large = np.arange(5000.0)
    assert_bits_equal(nl.asarray(large), large)


def test_what_a_raw_kernel_may_have_written_is_fetched(distant: Distant) -> None:
    signature = Signature("f", Reader(["__global__ void f(double* x) {}"]).parameters("f"), ((0, 8),))
    x = nl.asarray([1.0, 2.0])
    for value in (7.0, 8.0):
        assert float(x[1]) == 2  # kept on the host from here on
        buffer = x.storage.value.buffer
        assert signature.pack((x,), []) == buffer.ptr.to_bytes(8, "little")
        distant.copy(buffer, 0, distant.upload(np.array([value]).view(np.uint8)), 0, 8)
        assert x.tolist() == [value, 2]
