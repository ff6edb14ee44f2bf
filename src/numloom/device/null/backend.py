"""The null device: buffers have addresses but no memory, launches do nothing.

What remains is the host's own time, which `benchmarks/host_time.py` measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from numloom.base.lasting import Lasting
from numloom.device.capture import LiveCapture
from numloom.device.complaints import Found
from numloom.device.memory import Buffer, Pool

KEPT = 1024
"""Kernels that are there though nobody has them."""


class NullKernel:
    """A kernel that is always ready and does nothing."""

    __slots__ = ("__weakref__", "entry", "text")

    ready = True

    def __init__(self, text: str, entry: str) -> None:
        self.text = text
        self.entry = entry


class NullCapture(LiveCapture):
    """Launches that are counted at once."""

    def __call__(self, addresses: Sequence[int]) -> bool:
        self.device.launches += len(self.launches)
        return True


class NullDevice:
    """A device without memory or work; downloads give zeros.

    Attributes
    ----------
    launches : int
        Launches asked for.
    """

    name = "null"
    discrete = False
    dlpack = (1, 0)
    interprets = False
    fast_math = False
    short_rows = False
    low_products = False
    tiny_product = 4096
    cluster = 1
    finishes = True

    def __init__(self) -> None:
        self._end = 1 << 20
        self.pool = Pool("null", self._take, lambda address, nbytes: None)
        self.allocate: Any = self.pool.allocate
        self.launches = 0
        self._scratch = Buffer(1 << 16, 0)
        self._kernels: Lasting[tuple[str, str], NullKernel] = Lasting(KEPT)

    @classmethod
    def missing(cls) -> str | None:
        """None: it needs nothing."""
        return None

    def _take(self, nbytes: int) -> int:
        """Return the address of so many bytes that nobody had: pools know blocks by their addresses."""
        address = self._end
        self._end += max(-(-nbytes >> 20), 1) << 20
        return address

    def upload(self, host: np.ndarray[Any, Any]) -> Buffer:
        """A new buffer of the array's size."""
        return self.pool.allocate(host.nbytes)

    def download(self, buffer: Any, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        """Zeros."""
        return np.zeros(nbytes, np.uint8)

    def make_current(self) -> None:
        """Nothing: the host is where every thread is."""

    def holds(self, address: int) -> bool:
        """False: memory of no device is the host's."""
        return False

    def view(self, buffer: Any) -> np.ndarray[Any, Any] | None:
        """None: there is no memory to see."""
        return None

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        """Nothing."""

    def kernel(self, text: str, entry: str, *, wait: bool) -> NullKernel:
        """A ready kernel."""
        kernel = self._kernels.get((text, entry))
        return self._kernels.keep((text, entry), NullKernel(text, entry)) if kernel is None else kernel

    def crowded(self) -> bool:
        """As of kernels that are loaded, though here nothing is."""
        return self._kernels.crowded()

    def expect(self, texts: Sequence[str]) -> None:
        """Nothing is compiled."""

    def launch(self, kernel: Any, params: Any, geometry: Any) -> None:
        """Count the launch."""
        self.launches += 1

    def bound(self, kernel: Any, params: Any, geometry: Any) -> Callable[[], None]:
        """A launch that counts."""
        return partial(self.launch, kernel, params, geometry)

    def enter(self) -> bool:
        """True: any thread may launch."""
        return True

    def captured(self, calls: Any) -> Any:
        """Launches that are counted at once, where there is nothing else."""
        return NullCapture(self).captured(calls)

    def module(
        self, sources: Mapping[str, str], *, options: tuple[str, ...] = (), names: tuple[str, ...] = ()
    ) -> NoReturn:
        """Refused: functions of a module have attributes that nobody here could tell."""
        raise NotImplementedError("the null device has no compiler for raw kernels: use the device 'cpu' or 'cuda'")

    def image(self, texels: Any, flags: int) -> NoReturn:
        """Refused, since no raw kernel runs here."""
        raise NotImplementedError("the null device has no textures: use the device 'cpu' or 'cuda'")

    def texture(self, memory: Any, texels: Any, sampling: Any) -> NoReturn:
        """Refused."""
        raise NotImplementedError("the null device has no textures: use the device 'cpu' or 'cuda'")

    def surface(self, image: Any) -> NoReturn:
        """Refused."""
        raise NotImplementedError("the null device has no surfaces: use the device 'cpu' or 'cuda'")

    def workspace(self, nbytes: int, counters: int) -> Buffer:
        """A buffer."""
        return self._scratch

    def clear(self, buffer: Any, nbytes: int) -> None:
        """Nothing."""

    def error_address(self) -> int:
        """An address."""
        return 1 << 12

    def take_complaints(self) -> list[Found]:
        """Nothing happened."""
        return []

    def synchronize(self) -> None:
        """Nothing is under way."""

    def routine(self, name: str) -> Callable[..., Any]:
        """A routine that does nothing."""
        return _nothing

    def bound_routine(self, name: str, *operands: Any, **options: Any) -> Callable[..., None]:
        """Likewise."""
        return _nothing


def _nothing(*operands: Any, **options: Any) -> None:
    return None
