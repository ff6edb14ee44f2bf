"""What a routine queued is queued again, with other addresses and without Python.

It follows from dtypes, shapes, strides and options of the operands, from how these are aligned, and from the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numloom.base.memo import Memo
from numloom.device.cuda.routines.kernels import address
from numloom.device.cuda.routines.recording import ALIGNED, BasePointer, PlannedBuffer, ScriptRecorder, Unrecorded
from numloom.device.interface import Strided

try:
    from numloom.device.cuda._launch import Launch, Script  # type: ignore[import-not-found]
except ImportError:
    Launch = Script = None

MOST = 16
"""Most numbers that a script is called with."""
CHANGES: Any = ...
"""Stands for an option that is another number in each call."""
_ONCE, _NEVER = object(), object()
"""What is known of a form that was met once, and of one that there is no script of."""


def can_queue(device: Any) -> bool:
    """Whether scripts can launch on a device."""
    return Script is not None and type(device.launch) is Launch


def script(recorder: ScriptRecorder, given: int, residues: list[int]) -> Callable[..., bool]:
    """What queues what was written down, called with `given` numbers; the first are addresses with these residues."""
    device = recorder.device
    made: Callable[..., bool] = Script(
        device, residues, given, recorder.scratch, recorder.flag_words, recorder.commands, device.address_of
    )
    return made


def recorded(
    routine: Callable[..., Any], device: Any, *operands: Strided, out: Strided, **options: Any
) -> Callable[..., bool] | None:
    """What queues a routine again; None where it takes more than addresses.

    It is called with the addresses of the first elements of operands and result, and then with the options that are
    `CHANGES`. It gives False, and does nothing, where memory is aligned in another way than that of `operands`.
    """
    return _recorded(routine, device, [*operands, out], options, "out")


def recorded_in_place(
    routine: Callable[..., Any], device: Any, *operands: Strided, **options: Any
) -> Callable[..., bool] | None:
    """`recorded` of a routine that changes its first operand."""
    return _recorded(routine, device, operands, options)


def _recorded(
    routine: Callable[..., Any], device: Any, operands: Sequence[Strided], options: dict[str, Any], named: str = ""
) -> Callable[..., bool] | None:
    if not can_queue(device):
        return None
    changing = [name for name, value in options.items() if value is CHANGES]
    return script_of(routine, device, operands, options, changing, named)


def script_of(
    routine: Callable[..., Any], device: Any, operands: Sequence[Strided | None], options: dict[str, Any],
    changing: Sequence[str], named: str = "",
) -> Callable[..., bool] | None:  # fmt: skip
    """The script of a routine for operands (the last one by name, if `named`) and options, of which some change."""
    there = [x for x in operands if x is not None]
    residues = [address(x) % ALIGNED for x in there]
    given = len(there) + len(changing)
    if given > MOST:
        return None
    recorder = ScriptRecorder(device, given)
    memory: Any = iter([PlannedBuffer(BasePointer(number, 0, residue), 0) for number, residue in enumerate(residues)])
    placed = [None if x is None else Strided(next(memory), 0, x.shape, x.strides, x.dtype) for x in operands]
    options = {**options, **{name: BasePointer(len(there) + number) for number, name in enumerate(changing)}}
    if named:
        options[named] = placed.pop()
    try:
        routine(recorder, *placed, **options)
    except Unrecorded:
        return None
    return script(recorder, given, residues)


class Remembered:
    """A routine that does nothing but queue, of operands alone (some may be None) and options by name.

    From the third time on that it is called with operands that lie alike, it is a script.

    Parameters
    ----------
    routine : callable
        ``routine(device, *operands, **options)``.
    changing : str
        Names of options that are other numbers in each call.
    """

    def __init__(self, routine: Callable[..., None], *changing: str) -> None:
        self.routine = routine
        self.changing = changing
        self.known = Memo(1024)

    def __call__(self, device: Any, *operands: Strided | None, **options: Any) -> None:
        if type(device) is ScriptRecorder or not can_queue(device):
            self.routine(device, *operands, **options)
            return
        numbers: list[int] = []
        forms: list[Any] = [device]
        for x in operands:
            if x is None:
                forms.append(None)
                continue
            at = address(x)
            numbers.append(at)
            forms += (x.shape, x.strides, x.dtype.char, at % ALIGNED)
        given = options.copy()
        for name in self.changing:
            numbers.append(given.pop(name))
        forms += given.items()
        key = tuple(forms)
        found = self.known.entries.get(key)
        if found is not None and found is not _ONCE and found is not _NEVER:
            found(*numbers)
            return
        self.routine(device, *operands, **options)
        if found is _ONCE:
            self.known.keep(key, script_of(self.routine, device, operands, given, self.changing) or _NEVER)
        elif found is None:
            self.known.keep(key, _ONCE)
