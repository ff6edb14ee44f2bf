"""The whole contract of a backend.

A backend gives memory, moves bytes, compiles kernel text, launches it and waits. It knows
nothing of arrays, graphs or programs. All work is ordered on one stream (the current one), so
`launch` and `copy` may return before they are done; `download` and `synchronize` wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Buffer(Protocol):
    """A block of device memory; given back to its pool when the last reference goes."""

    ptr: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Strided:
    """An array as routines take it: `offset` and `strides` count elements of `dtype` in `buffer`."""

    buffer: Buffer
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


class Kernel(Protocol):
    """A kernel in memory. `ready` is False while a background compile is under way."""

    ready: bool


class Device(Protocol):
    """A backend; `name` is "cpu", "cuda" or "null"."""

    name: str

    @classmethod
    def missing(cls) -> str | None:
        """None where this backend can be used here, else one sentence: what is missing and the cure."""

    def allocate(self, nbytes: int) -> Buffer:
        """Memory of at least `nbytes` bytes, 256-byte aligned, contents undefined.

        Out of memory frees cached blocks and retries once, then raises
        `numloom.base.errors.OutOfMemoryError` saying what was asked, used and cached.
        """

    def upload(self, host: np.ndarray[Any, Any]) -> Buffer:
        """A new buffer with the bytes of a contiguous host array (a copy, complete on return)."""

    def download(self, buffer: Buffer, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        """A fresh host uint8 array with bytes [offset, offset + nbytes) of the buffer; waits."""

    def view(self, buffer: Buffer) -> np.ndarray[Any, Any] | None:
        """The buffer's memory itself as a uint8 host array (CPU), or None where the host cannot see it."""

    def copy(self, target: Buffer, target_offset: int, source: Buffer, source_offset: int, nbytes: int) -> None:
        """Copy bytes between buffers of this device, in stream order."""

    def kernel(self, text: str, entry: str, *, wait: bool) -> Kernel:
        """The kernel of this text, from memory, from the disk cache or compiled now.

        With ``wait=False`` a backend whose compiler is slow may return a kernel that is not yet
        `ready` and compile in the background; the same text gives the same object.
        """

    def launch(self, kernel: Kernel, params: Any, geometry: Any) -> None:
        """Run a ready kernel with a parameter block (`array.array('q')`) and a `plan.program.Geometry`."""

    def workspace(self, nbytes: int, counters: int) -> int:
        """Address of scratch memory for the next launch; its first `counters` bytes are zero."""

    def error_address(self) -> int:
        """Address (as kernels see it) of the int64 error word."""

    def take_error(self) -> int:
        """The error word after waiting for the device, reset to zero; 0 where nothing happened."""

    def synchronize(self) -> None:
        """Wait for all work."""

    def routine(self, name: str) -> Callable[..., Any]:
        """A device-wide routine by name: ``routine(name)(device, *operands, **options)``.

        Names and options are those of the rows in `numloom.ops.routines`. Operands are `Strided`;
        a result of known size is written to the operand called `out`, others come back as fresh,
        dense `Strided`.

        Raises
        ------
        KeyError
            If the backend has none: the row's NumPy twin does it.
        """
