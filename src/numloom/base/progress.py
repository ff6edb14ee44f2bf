"""A line that says what a program waits for: on stderr in a terminal, below the cell in a notebook, after two seconds.

Work that takes long says so itself as it goes on (`Line.advance`, `look`), so no thread is needed. The line is gone
when the wait ends; where nobody looks at stderr (a file, a pipe) there is none.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from numloom.base import later
from numloom.base.config import config

Item = TypeVar("Item")
COMPILING = "compiling kernels"
"""What is said of every wait for a compiler, so that they are told as one."""
QUIET = 2.0
"""Seconds without a line."""
AGAIN = 0.2
"""Seconds between two texts of a line."""
TOGETHER = 1.0
"""Seconds between two waits for the same thing that are told as one."""

_here = threading.local()
_earlier: dict[str, tuple[float, float, int]] = {}  # when the last wait for it ended; seconds and waits until then


class _Terminal:
    """The last line of a terminal."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.width = 0

    def show(self, text: str) -> None:
        text = text[: later.load("shutil").get_terminal_size().columns - 1]  # A longer one would begin another line.
        try:
            self.stream.write("\r" + text.ljust(self.width))
            self.stream.flush()
        except (OSError, ValueError):  # It was closed.
            pass
        self.width = len(text)

    def clear(self) -> None:
        self.show("")
        self.show("")


class _Cell:
    """A line below a notebook's cell."""

    def __init__(self, display: Any) -> None:
        self.display = display
        self.handle: Any = None

    def show(self, text: str) -> None:
        content = {"text/plain": text}
        if self.handle is None:
            self.handle = self.display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)

    def clear(self) -> None:
        if self.handle is not None:
            self.handle.update({"text/plain": ""}, raw=True)


def place() -> Any:
    """Where a line can be shown now, or None."""
    if not config.progress or threading.current_thread() is not threading.main_thread():
        return None
    shell = sys.modules.get("IPython.core.interactiveshell")
    known = shell is not None and shell.InteractiveShell.initialized()
    if known and hasattr(shell.InteractiveShell.instance(), "kernel"):  # type: ignore[union-attr]
        return _Cell(sys.modules["IPython.display"].display) if "IPython.display" in sys.modules else None
    stream = sys.stderr
    try:
        return _Terminal(stream) if stream is not None and stream.isatty() else None
    except (AttributeError, ValueError):  # It is no stream, or was closed.
        return None


class Line:
    """What is waited for while a ``with`` block runs.

    Parameters
    ----------
    what : str
        What is done, as in "reading data.txt".
    total : float, optional
        How much there is to do, of what `advance` is told.
    gather : bool
        Whether waits for the same that follow each other are one, as when many kernels are compiled.

    Notes
    -----
    Of lines within lines the outermost is shown.
    """

    def __init__(self, what: str, total: float = 0, gather: bool = False) -> None:
        self.what = what
        self.total = total
        self.gather = gather
        self.done = 0.0
        self.waits = 1
        self.place: Any = None

    def __enter__(self) -> Line:
        self.outer: Line | None = getattr(_here, "line", None)
        if self.outer is not None:
            return self
        _here.line = self
        self.begin = self.last = time.monotonic()
        self.before = 0.0
        if self.gather:
            ended, seconds, waits = _earlier.get(self.what, (0.0, 0.0, 0))
            if self.begin - ended < TOGETHER:
                self.before = seconds + self.begin - ended
                self.waits = waits + 1
        if self.before > QUIET:
            self.look(at_once=True)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.outer is not None:
            return
        _here.line = None
        if self.place is not None:
            self.place.clear()
        if self.gather:
            now = time.monotonic()
            _earlier[self.what] = (now, self.before + now - self.begin, self.waits)

    def advance(self, amount: float = 1) -> None:
        """Some more is done."""
        self.done += amount
        if self.outer is None:
            self.look()

    def look(self, at_once: bool = False) -> None:
        """Show how far it is, if it is time to."""
        now = time.monotonic()
        seconds = self.before + now - self.begin
        if seconds < QUIET or (now - self.last < AGAIN and not at_once):
            return
        self.last = now
        if self.place is None:
            self.place = place()
        if self.place is not None:
            self.place.show(self.text(seconds))

    def text(self, seconds: float) -> str:
        """The line."""
        parts = [f"numloom: {self.what}"]
        if self.total:
            parts.append(f"{min(1.0, self.done / self.total):.0%}")
        if self.gather:
            parts.append(f"{self.waits} so far")
        return ", ".join([*parts, f"{seconds:.0f} s"]) + "  (config.progress = False hides this)"


def look() -> None:
    """Of whoever waits in a loop: show the line of the work that this thread is in, if there is one and it is time."""
    line = getattr(_here, "line", None)
    if line is not None:
        line.look()


def track(items: Iterable[Item], what: str, total: float = 0) -> Iterator[Item]:
    """The items, with a line while they are gone through."""
    with Line(what, total) as line:
        for item in items:
            yield item
            line.advance()


__all__ = ["COMPILING", "Line", "look", "place", "track"]
