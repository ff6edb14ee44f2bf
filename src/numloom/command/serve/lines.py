"""Which lines of the program take the time, and with what: a thread that looks at the program now and then."""

from __future__ import annotations

import dis
import functools
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FrameType

from numloom.command.serve.program import ServedProgram, is_ours
from numloom.device import registry
from numloom.engine.state import counters

RESULTS, RECORDING, NUMPY, PYTHON, IMPORTS = "results", "recording", "NumPy", "Python", "imports"
COMPILING, COPIES, WAITING = "compiling", "copies", "waiting"
"""What a line's time goes to: recorded work that runs; recording in numloom; NumPy; the program's own Python; imports;
planning and compiling; copies from and to NumPy's arrays; waiting for a GPU. A library's name stands for itself."""
EVERY = 0.002
"""Seconds between two looks."""
OUTSIDE = ""
"""The line of what runs outside of the program: its start and its end."""
_THROUGH_NUMPY = "_through_numpy"
_DISPATCH = os.path.join(os.path.dirname(__file__), "dispatch.py")
_IMPORTING = "<frozen importlib._bootstrap>"
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_COMPILERS = (
    *(os.path.join(_OURS, folder, "") for folder in ("plan", "emit")),
    *(os.path.join(_OURS, "device", path) for path in ("cpu/builder.py", "cpu/compiler.py", "cpu/module.py")),
    *(os.path.join(_OURS, "device", path) for path in ("cache.py", "cuda/compile.py", "cuda/module.py")),
)
"""Where our code plans and compiles."""
_WORKING = ("BINARY_", "STORE_S", "UNARY_", "COMPARE_", "CONTAINS_", "LOAD_ATTR")
"""How instructions begin that may run our operators."""
_LOOKING = ("CALL", "RESUME", "JUMP_BACKWARD", "FOR_ITER")
"""How instructions begin at which the interpreter lets other threads look."""


class LineTimes:
    """Seconds by line of the program (``file:line``) and by what they were spent on, while it is active.

    Parameters
    ----------
    program : ServedProgram
        Whose lines they are.

    Attributes
    ----------
    seconds : dict
        By line, a dict by `RESULTS`, `RECORDING`, `NUMPY`, `PYTHON` or a library's name.

    Notes
    -----
    The thread that makes this object is looked at. A look charges the time since the last one to the innermost line of
    the program that is being executed: hundreds of looks a second are enough to find lines that matter, and cost the
    program less than a hundredth of its time.
    """

    def __init__(self, program: ServedProgram) -> None:
        self.seconds: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._program = program
        self._thread = threading.get_ident()
        self._line: tuple[CodeType | None, int] = (None, 0)
        self._stretch: tuple[str, int] | None = None
        self._kinds: list[tuple[str, float]] = []
        self._ran = ""
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="numloom lines", daemon=True)

    def __enter__(self) -> LineTimes:
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        last, before = time.perf_counter(), _counts()
        while not self._ended.wait(EVERY):
            frame = sys._current_frames().get(self._thread)
            now, counts = time.perf_counter(), _counts()
            if frame is not None:
                self.charge(frame, now - last, ran(before, counts))
            del frame
            last, before = now, counts
        self._settle()

    def charge(self, frame: FrameType, seconds: float, ran: str = "") -> None:
        """Charge seconds to the program's line that a frame executes; `ran`: what counters say of them.

        Looks that meet the same instruction one after the other are a stretch: one long step, or a loop of one. If any
        work ran in it, all of it is that, since counters change when a run begins or ends.
        """
        own, kind = None, PYTHON
        for each in _outwards(frame):
            if self._program.owns(each.f_globals):
                own = each
                break
            kind = _called(each, kind)
        if own is None:
            stretch, kind = (OUTSIDE, 0), kind if kind in (COMPILING, IMPORTS) else PYTHON
        else:
            where, known = worked(own, own is frame)
            code = where.f_code
            line = known or (self._line[1] if self._line[0] is code else code.co_firstlineno)
            self._line = code, line
            stretch = f"{code.co_filename}:{line}", own.f_lasti
        if stretch != self._stretch:
            if ran and len(self._kinds) > 1:  # It may have been the end of that one's step as well.
                self._ran = self._ran or ran
            self._settle()
            self._stretch = stretch
        self._ran = ran or self._ran
        self._kinds.append((kind, seconds))

    def _settle(self) -> None:
        """Book the stretch that has ended."""
        if self._stretch is not None:
            spent = self.seconds[self._stretch[0]]
            for kind, seconds in self._kinds:
                spent[self._ran if self._ran and kind in (PYTHON, RECORDING) else kind] += seconds
        self._kinds.clear()
        self._ran = ""

    def causes(self) -> dict[str, float]:
        """Seconds by what they went to, the largest first."""
        found: defaultdict[str, float] = defaultdict(float)
        for spent in list(self.seconds.values()):
            for kind, seconds in list(spent.items()):
                found[kind] += seconds
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def largest(self) -> list[tuple[str, dict[str, float]]]:
        """Lines and what their time went to, the most costly first."""
        lines = [(line, dict(spent)) for line, spent in list(self.seconds.items()) if line != OUTSIDE]
        return sorted(lines, key=lambda one: -total(one[1]))


def total(spent: dict[str, float]) -> float:
    """All seconds of a line."""
    return sum(spent.values())


def _called(frame: FrameType, kind: str) -> str:
    """What time goes to, by one frame inside of the program's line and what the frames inside of that one said.

    The function that the line itself calls has the last word, but for imports and for NumPy that answers for numloom.
    """
    file = frame.f_code.co_filename
    if kind == IMPORTS or file == _IMPORTING:
        return IMPORTS
    if is_ours(file):
        if kind == COMPILING or file.startswith(_COMPILERS):
            return COMPILING
        stands_in = frame.f_code.co_name == _THROUGH_NUMPY or (kind == NUMPY and file == _DISPATCH)
        return NUMPY if stands_in else RECORDING
    name = str(frame.f_globals.get("__name__") or "").partition(".")[0]
    return NUMPY if name == "numpy" else name or PYTHON


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def worked(frame: FrameType, innermost: bool) -> tuple[FrameType, int | None]:
    """The frame and the line that took the time until a look: operators before the instruction that the frame is at.

    Other threads look where a call ends, a function begins or a loop goes round, so not at the end of `x[1:-1] = y`:
    that time would be the line's that follows, or of the ``def`` of the function that is called next.
    """
    at = frame.f_lasti
    if innermost and _opname(frame.f_code, at).startswith("RESUME") and frame.f_back is not None:
        caller = frame.f_back
        if caller.f_code.co_filename == frame.f_code.co_filename:
            return caller, _line_before(caller.f_code, caller.f_lasti) or caller.f_lineno
    elif innermost and _opname(frame.f_code, at).startswith("JUMP_BACKWARD"):
        return frame, _line_before(frame.f_code, at) or frame.f_lineno
    return frame, frame.f_lineno


def _opname(code: CodeType, at: int) -> str:
    return dis.opname[code.co_code[at]] if 0 <= at < len(code.co_code) else ""


@functools.lru_cache(maxsize=1024)
def _line_before(code: CodeType, at: int) -> int:
    """The line of the last operator before an instruction after which nobody could look; 0 if there is none."""
    starts = dict(dis.findlinestarts(code))
    line, found, before = 0, 0, 0
    for each in dis.get_instructions(code):
        if each.offset > at:
            break
        line, before = starts.get(each.offset) or line, found
        if each.opname.startswith(_LOOKING):
            found = 0
        elif each.opname.startswith(_WORKING):
            found = line
    return before


def _counts() -> tuple[int, int]:
    return counters.kernels + counters.library_calls + counters.flushes, counters.waits


def ran(before: tuple[int, int], after: tuple[int, int]) -> str:
    """What counters say of the time between two looks: nothing, work that ran, waiting for a GPU, or a copy."""
    if before[1] != after[1]:
        if registry.current().discrete:
            return WAITING
        if before[0] == after[0]:
            return COPIES
    return RESULTS if before[0] != after[0] else ""


__all__ = [
    "COMPILING",
    "COPIES",
    "EVERY",
    "IMPORTS",
    "NUMPY",
    "OUTSIDE",
    "PYTHON",
    "RECORDING",
    "RESULTS",
    "WAITING",
    "LineTimes",
    "ran",
    "total",
    "worked",
]
