"""Errors of the library; each says what happened and, where there is one, the cure."""

from __future__ import annotations

import copy
import re
from typing import Any, TypeVar

import numpy as np

from numloom.base.dtypes import DTYPES

Error = TypeVar("Error", bound=BaseException)


class OutOfMemoryError(MemoryError):
    """Device memory ran out, also after every cached block was given back.

    Attributes
    ----------
    device : str
        Whose memory it was.
    asked, used, cached, limit : int
        Bytes asked for, in use, cached before the retry, and allowed (0: no limit of ours).
    """

    def __init__(self, device: str, asked: int, used: int, cached: int, limit: int = 0) -> None:
        self.device = device
        self.asked = asked
        self.used = used
        self.cached = cached
        self.limit = limit
        bound = f", limit {_amount(limit)}" if limit else ""
        super().__init__(
            f"out of memory on {device}: asked for {_amount(asked)}, {_amount(used)} in use, "
            f"{_amount(cached)} cached and given back before the retry{bound}"
        )

    def __reduce__(self) -> tuple[type[OutOfMemoryError], tuple[str, int, int, int, int]]:
        return type(self), (self.device, self.asked, self.used, self.cached, self.limit)


class DeviceError(RuntimeError):
    """The device, its driver or a kernel that ran on it failed."""


class HostCopyWarning(RuntimeWarning):
    """A line of the program has copied much from the GPU to the host, for a library that wants NumPy arrays."""


class MissingDependencyError(RuntimeError):
    """A compiler, driver or library is needed and is not there.

    Parameters
    ----------
    what : str
        What is missing, as the start of a sentence ("no C++ compiler was found").
    cure : str
        What to do about it ("install g++ or run `pip install numloom[zig]`").

    Examples
    --------
    >>> str(MissingDependencyError("no C++ compiler was found", "install g++"))
    'no C++ compiler was found: install g++'
    """

    def __init__(self, what: str, cure: str) -> None:
        self.what = what
        self.cure = cure
        super().__init__(f"{what}: {cure}")

    def __reduce__(self) -> tuple[type[MissingDependencyError], tuple[str, str]]:
        return type(self), (self.what, self.cure)


class CompileError(RuntimeError):
    """Kernel text did not compile; shows the compiler's first complaint beside the line of the text.

    Parameters
    ----------
    compiler : str
        Name of the compiler; all of the message where nothing else is given, as by who raises errors anew from theirs.
    text : str
        The text it was given.
    log : str
        What it said.
    """

    def __init__(self, compiler: str, text: str = "", log: str = "") -> None:
        self.compiler = compiler
        self.text = text
        self.log = log
        super().__init__(f"{compiler} refused the kernel text\n{_excerpt(text, log)}" if text or log else compiler)

    def get_message(self) -> str:
        """What the compiler said, by CuPy's name."""
        return self.log

    def dump(self, f: Any) -> None:
        """Write the text with numbers of lines, and what the compiler said, to a file."""
        for number, line in enumerate(self.text.splitlines(), 1):
            f.write(f"{number:5d} {line}\n")
        f.write(f"{self.log}\n")

    def __reduce__(self) -> tuple[type[CompileError], tuple[str, str, str]]:
        return type(self), (self.compiler, self.text, self.log)


# "file:12:7: error: why" (g++, clang) or "file(12): error: why" (NVRTC)
_COMPLAINT = re.compile(r"^[^\n]*?[:(](\d+)(?::(\d+))?\)?:\s*(?:catastrophic |fatal )?error:?\s*([^\n]*)", re.MULTILINE)


def _excerpt(text: str, log: str) -> str:
    """The complaint with two lines around the place; the log's end where no place is named."""
    found = _COMPLAINT.search(log)
    lines = text.splitlines()
    if found is None or not 1 <= int(found[1]) <= len(lines):
        return log.strip()[-2000:]
    at = int(found[1])
    shown = [
        f"{'>' if number == at else ' '} {number:5d} | {lines[number - 1]}"
        for number in range(max(1, at - 2), min(len(lines), at + 2) + 1)
    ]
    return "\n".join([f"line {at}: {found[3]}", *shown])


def _amount(nbytes: int) -> str:
    """Bytes for people.

    >>> _amount(3 << 20)
    '3.0 MiB'
    """
    if nbytes < 1024:
        return f"{nbytes} B"
    value = float(nbytes)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} TiB"


def untraced(error: Error) -> Error:
    """A copy of an error (and of its cause) without traceback, for who keeps it; who raises it raises a copy again.

    A traceback has the frames of all callers, and these have their arrays.

    Examples
    --------
    >>> untraced(DeviceError("no kernel ran"))
    DeviceError('no kernel ran')
    """
    copied = copy.copy(error)
    if error.__cause__ is not None:
        copied.__cause__ = untraced(error.__cause__)
    return copied


def not_in_place(name: str, other: object, dtype: object) -> TypeError:
    """The error for an operator in place with what the array's memory cannot take, or what is not known yet."""
    if not isinstance(other, np.ndarray):
        return TypeError(f"cannot {name} {other!r} in place: write x = x + y, or nl.compile a Python function")
    return TypeError(f"cannot {name} an array of dtype {other.dtype} in place to one of {dtype}")


def casting_error(name: str, casting: str, code: int, target: int) -> Exception:
    """NumPy's error for a result that does not cast to the dtype of where it goes."""
    function = getattr(np, name, None)
    if not isinstance(function, np.ufunc):
        return TypeError(
            f"Cannot cast array data from {DTYPES[code]!r} to {DTYPES[target]!r} according to the rule '{casting}'"
        )
    error = np._core._exceptions._UFuncOutputCastingError  # type: ignore[attr-defined]
    return error(function, casting, DTYPES[code], DTYPES[target], 0)  # type: ignore[no-any-return]
