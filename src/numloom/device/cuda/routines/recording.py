"""What a routine queues, written down: it runs for a `ScriptRecorder` instead of a device, with addresses to come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

ALIGNED = 16
"""Bytes to which texts ask at most whether memory is aligned."""
_BLOCK = 256


class Unrecorded(AttributeError):
    """A routine asks for what a recorder does not have: it takes more than addresses."""


class BasePointer:
    """A number that is known when a script runs.

    Attributes
    ----------
    base : int
        Which of its numbers: addresses of operands and result, then numbers among the options, then the address of
        scratch memory, the address of inter-block flags and the number of the first launch.
    offset : int
        What is added to it.
    residue : int
        What is left of the base, divided by `ALIGNED`.
    """

    __slots__ = ("base", "offset", "residue")

    def __init__(self, base: int, offset: int = 0, residue: int = 0) -> None:
        self.base = base
        self.offset = offset
        self.residue = residue

    def __add__(self, offset: int) -> BasePointer:
        return BasePointer(self.base, self.offset + offset, self.residue)

    __radd__ = __add__

    def __mod__(self, nbytes: int) -> int:
        if ALIGNED % nbytes:
            raise Unrecorded(f"whether memory is aligned to {nbytes} bytes")
        return (self.residue + self.offset) % nbytes


class PlannedBuffer:
    """A buffer that is still to be allocated."""

    __slots__ = ("nbytes", "ptr")

    def __init__(self, ptr: BasePointer, nbytes: int) -> None:
        self.ptr = ptr
        self.nbytes = nbytes


class ScriptRecorder:
    """Stands in for a device while a routine says what it queues.

    Attributes
    ----------
    device : CudaDevice
        The device, for what lasts: kernels, libraries.
    commands : list of tuple
        ``(kernel, words, grid)`` of launches, ``(function, addresses)`` of calls that queue work of a library,
        ``(address, nbytes)`` to clear, ``(to, from, nbytes)`` to copy.
    scratch : int
        Bytes of scratch memory, all in one piece.
    flag_words : tuple of int or None
        Words of inter-block flags, and launches that have numbers for it.
    """

    def __init__(self, device: Any, given: int) -> None:
        self.device = device
        self._given = given
        self.commands: list[tuple[Any, ...]] = []
        self.scratch = 0
        self.flag_words: tuple[int, int] | None = None
        self.block_flags = self

    def __getattr__(self, name: str) -> Any:
        raise Unrecorded(name)

    def allocate(self, nbytes: int) -> PlannedBuffer:
        memory = PlannedBuffer(BasePointer(self._given, self.scratch), nbytes)
        self.scratch += -(-nbytes // _BLOCK) * _BLOCK
        return memory

    def next(self, device: Any, words: int, launches: int = 1) -> tuple[BasePointer, BasePointer]:
        """As `numloom.device.cuda.routines.kernels.InterBlockFlags.next`, once."""
        if self.flag_words is not None:
            raise Unrecorded("inter-block flags of several kinds")
        self.flag_words = words, launches
        return BasePointer(self._given + 1), BasePointer(self._given + 2)

    def clear(self, buffer: Any, nbytes: int) -> None:
        if nbytes:
            self.commands.append((buffer.ptr, nbytes))

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        if nbytes:
            self.commands.append((target.ptr + target_offset, source.ptr + source_offset, nbytes))

    def kernel(self, text: str, entry: str, *, wait: bool) -> Any:
        return self.device.kernel(text, entry, wait=True)  # the full code, since it runs again and again

    def expect(self, texts: Sequence[str]) -> None:
        """Nothing: what was not there was compiled when the routine ran."""

    def launch(self, kernel: Any, words: Iterable[Any], grid: Any) -> None:
        self.commands.append((kernel, list(words), grid))

    def call(self, function: Callable[..., None], addresses: Sequence[Any]) -> None:
        self.commands.append((function, list(addresses)))

    def error_address(self) -> int:
        address: int = self.device.error_address()
        return address
