"""Which lines of the program take the time, and with what: a thread that looks at the program now and then."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FrameType

from numloom.command.serve.program import ServedProgram, is_ours
from numloom.engine.state import counters

RESULTS, RECORDING, NUMPY, PYTHON, IMPORTS = "results", "recording", "NumPy", "Python", "imports"
"""What a line's time goes to: recorded work that runs and values that are looked at; recording in numloom; NumPy;
the program's own Python; imports. A library's name stands for itself."""
EVERY = 0.002
"""Seconds between two looks."""
_THROUGH_NUMPY = "_through_numpy"
_DISPATCH = os.path.join(os.path.dirname(__file__), "dispatch.py")
_IMPORTING = "<frozen importlib._bootstrap>"


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
        self._is_run = False
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="numloom lines", daemon=True)

    def __enter__(self) -> LineTimes:
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        last, ran = time.perf_counter(), _ran()
        while not self._ended.wait(EVERY):
            frame = sys._current_frames().get(self._thread)
            now, runs = time.perf_counter(), _ran()
            if frame is not None:
                self.charge(frame, now - last, runs != ran)
            del frame
            last, ran = now, runs
        self._settle()

    def charge(self, frame: FrameType, seconds: float, ran: bool) -> None:
        """Charge seconds to the program's line that a frame executes; `ran`: recorded work has run meanwhile.

        Looks that meet the same instruction one after the other are a stretch: one long step, or a loop of one. If any
        work ran in it, all of it is `RESULTS`, since counters change when a run begins or ends.
        """
        own, kind = None, PYTHON
        for each in _outwards(frame):
            if self._program.owns(each.f_globals):
                own = each
                break
            kind = _called(each, kind)
        if own is None:
            return
        code = own.f_code
        line = own.f_lineno or (self._line[1] if self._line[0] is code else code.co_firstlineno)
        self._line = code, line
        stretch = (f"{code.co_filename}:{line}", own.f_lasti)
        if stretch != self._stretch:
            if ran:  # It may have been the end of that one's step as well.
                self._is_run = self._is_run or len(self._kinds) > 1
            self._settle()
            self._stretch = stretch
        self._is_run = self._is_run or ran
        self._kinds.append((kind, seconds))

    def _settle(self) -> None:
        """Book the stretch that has ended."""
        if self._stretch is not None:
            spent = self.seconds[self._stretch[0]]
            for kind, seconds in self._kinds:
                spent[RESULTS if self._is_run and kind in (PYTHON, RECORDING) else kind] += seconds
        self._kinds.clear()
        self._is_run = False

    def largest(self) -> list[tuple[str, dict[str, float]]]:
        """Lines and what their time went to, the most costly first."""
        return sorted(((line, dict(spent)) for line, spent in self.seconds.items()), key=lambda one: -total(one[1]))


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
        stands_in = frame.f_code.co_name == _THROUGH_NUMPY or (kind == NUMPY and file == _DISPATCH)
        return NUMPY if stands_in else RECORDING
    name = str(frame.f_globals.get("__name__") or "").partition(".")[0]
    return NUMPY if name == "numpy" else name or PYTHON


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _ran() -> tuple[int, ...]:
    return counters.kernels, counters.library_calls, counters.flushes, counters.waits


__all__ = ["EVERY", "IMPORTS", "NUMPY", "PYTHON", "RECORDING", "RESULTS", "LineTimes", "total"]
