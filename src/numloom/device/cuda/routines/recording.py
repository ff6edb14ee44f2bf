"""What a routine queues, written down once: the same again takes no more than addresses.

A routine runs for a `Recorder` instead of a device, with addresses that are no numbers yet (`Place`). What it queues
follows from dtypes, shapes, strides and options of its operands, from how these are aligned, and from the device; so a
`Script` queues it again with other addresses, without Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numloom.device.cuda import driver
from numloom.device.interface import Strided

try:
    from numloom.device.cuda._launch import Launch, Script  # type: ignore[import-not-found]
except ImportError:
    Launch = Script = None

ALIGNED = 16
"""Bytes to which texts ask at most whether memory is aligned."""
_BLOCK = 256
MOST = 16
"""Most numbers that a script is called with."""


class Unrecorded(AttributeError):
    """A routine asks for what a recorder does not have: it takes more than addresses."""


class Place:
    """A number that is known when a script runs.

    Attributes
    ----------
    base : int
        Which of its numbers: addresses of operands and result, then numbers among the options, then the address of
        scratch memory, the address of mail and the number of the first launch.
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

    def __add__(self, offset: int) -> Place:
        return Place(self.base, self.offset + offset, self.residue)

    __radd__ = __add__

    def __mod__(self, nbytes: int) -> int:
        if ALIGNED % nbytes:
            raise Unrecorded(f"whether memory is aligned to {nbytes} bytes")
        return (self.residue + self.offset) % nbytes


class Memory:
    """A buffer that is still to be allocated."""

    __slots__ = ("nbytes", "ptr")

    def __init__(self, ptr: Place, nbytes: int) -> None:
        self.ptr = ptr
        self.nbytes = nbytes


class Recorder:
    """Stands in for a device while a routine says what it queues.

    Attributes
    ----------
    commands : list of tuple
        ``(kernel, words, grid)`` of launches, ``(address, nbytes)`` to clear, ``(to, from, nbytes)`` to copy.
    scratch : int
        Bytes of scratch memory, all in one piece.
    told : tuple of int or None
        Words of mail, and launches that have numbers for it.
    """

    def __init__(self, device: Any, given: int) -> None:
        self._device = device
        self._given = given
        self.commands: list[tuple[Any, ...]] = []
        self.scratch = 0
        self.told: tuple[int, int] | None = None
        self.mail = self

    def __getattr__(self, name: str) -> Any:
        raise Unrecorded(name)

    def allocate(self, nbytes: int) -> Memory:
        memory = Memory(Place(self._given, self.scratch), nbytes)
        self.scratch += -(-nbytes // _BLOCK) * _BLOCK
        return memory

    def next(self, device: Any, words: int, launches: int = 1) -> tuple[Place, Place]:
        """As `numloom.device.cuda.routines.kernels.Mail.next`, once."""
        if self.told is not None:
            raise Unrecorded("mail of several kinds")
        self.told = words, launches
        return Place(self._given + 1), Place(self._given + 2)

    def clear(self, buffer: Any, nbytes: int) -> None:
        if nbytes:
            self.commands.append((buffer.ptr, nbytes))

    def copy(self, target: Any, target_offset: int, source: Any, source_offset: int, nbytes: int) -> None:
        if nbytes:
            self.commands.append((target.ptr + target_offset, source.ptr + source_offset, nbytes))

    def kernel(self, text: str, entry: str, *, wait: bool) -> Any:
        return self._device.kernel(text, entry, wait=True)  # the full code, since it runs again and again

    def expect(self, texts: Sequence[str]) -> None:
        """Nothing: what was not there was compiled when the routine ran."""

    def launch(self, kernel: Any, words: Iterable[Any], grid: Any) -> None:
        self.commands.append((kernel, list(words), grid))

    def error_address(self) -> int:
        address: int = self._device.error_address()
        return address


def recorded(
    routine: Callable[..., Any], device: Any, *operands: Strided, out: Strided, **options: Any
) -> Callable[..., bool] | None:
    """What queues a routine again; None where it takes more than addresses.

    It is called with the addresses of the first elements of operands and result, and then with the numbers among
    options that differ from call to call (`numloom.graph.place.Place`, passed as their names). It gives False, and does
    nothing, where memory is aligned in another way than that of `operands`.
    """
    if Script is None or type(device.launch) is not Launch:
        return None
    everything = [*operands, out]
    given = len(everything)
    residues = [(x.buffer.ptr + x.offset * x.dtype.itemsize) % ALIGNED for x in everything]
    placed = [
        Strided(Memory(Place(number, 0, residue), 0), 0, x.shape, x.strides, x.dtype)  # type: ignore[arg-type]
        for number, (x, residue) in enumerate(zip(everything, residues, strict=True))
    ]
    changing = [name for name, value in options.items() if value is CHANGES]
    numbers = {name: Place(given + number) for number, name in enumerate(changing)}
    given += len(changing)
    if given > MOST:
        return None
    recorder = Recorder(device, given)
    try:
        routine(recorder, *placed[:-1], out=placed[-1], **{**options, **numbers})
    except Unrecorded:
        return None
    made: Callable[..., bool] = Script(
        device, residues, given, recorder.scratch, recorder.told, recorder.commands, driver.address_of
    )
    return made


CHANGES: Any = ...
"""Stands for an option that is another number in each call."""
