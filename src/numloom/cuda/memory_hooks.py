"""Hooks that are there: memory by source line, and a line of text for each allocation."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any, TextIO

from numloom.base.config import config
from numloom.cuda.hooks import MemoryHook

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
Line = tuple[str, int, str]


class Usage:
    """A line of the program in the tree of calls.

    Attributes
    ----------
    line : (str, int, str)
        File, line and function.
    used_bytes, acquired_bytes : int
        What it and the lines that it called took from the pool; what the pool took from the device for it.
    children : dict
        Lines that it called.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self.used_bytes = 0
        self.acquired_bytes = 0
        self.children: dict[Line, Usage] = {}


class LineProfileHook(MemoryHook):
    """Memory by source line, as a tree of calls.

    Parameters
    ----------
    max_depth : int
        Most levels of the tree, of which the root is the first; 0 is no limit.
    each_line : bool
        Run each statement at once, so that memory counts at the line that asks for it. That is more memory than the
        program takes otherwise, since what would be computed together is not. Without it, memory counts at the line
        that made recorded work run.

    Notes
    -----
    Beside a GPU small work runs on the host and takes no memory of the device, unless ``config.placement`` is
    ``"device"``.

    Examples
    --------
    >>> import numloom as np
    >>> def double(x):
    ...     return x * 2
    >>> with np.config(placement="device"), np.cuda.LineProfileHook(each_line=True) as hook:
    ...     y = double(np.arange(1000.0))
    >>> hook.root.used_bytes >= 8000
    True
    >>> hook.print_report()  # doctest: +SKIP
    _root (8.00KB, 8.00KB)
      prog.py:5:<module> (8.00KB, 8.00KB)
        prog.py:3:double (8.00KB, 8.00KB)
    """

    name = "LineProfileHook"

    def __init__(self, max_depth: int = 0, each_line: bool = False) -> None:
        self.max_depth = max_depth
        self.each_line = each_line
        self.root = Usage(("_root", 0, ""))
        self.history: list[tuple[float, int]] = []
        """Seconds and bytes in use that were taken since the beginning, one entry for each change."""
        self._in_use = 0
        self._mine: set[int] = set()
        self._begin = time.perf_counter()
        self._eager: Any = None

    def __enter__(self) -> Any:
        super().__enter__()
        if self.each_line:
            self._eager, config.eager = config.eager, True
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        if self.each_line:
            config.eager = self._eager
        super().__exit__(kind, *error)

    def malloc_postprocess(self, *, device_id: int, size: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
        """Count what the pool gave."""
        self._mine.add(pmem_id)
        self._in_use += mem_size
        self.history.append((time.perf_counter() - self._begin, self._in_use))
        for usage in self._path():
            usage.used_bytes += mem_size

    def alloc_postprocess(self, *, device_id: int, mem_size: int, mem_ptr: int) -> None:
        """Count what the device gave."""
        if mem_ptr:
            for usage in self._path():
                usage.acquired_bytes += mem_size

    def free_postprocess(self, *, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int) -> None:
        """Note that it came back."""
        if pmem_id in self._mine:
            self._mine.discard(pmem_id)
            self._in_use -= mem_size
            self.history.append((time.perf_counter() - self._begin, self._in_use))

    def _path(self) -> list[Usage]:
        """The program's lines that are being executed, from the outermost one, as parts of the tree."""
        lines: list[Line] = []
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if not os.path.realpath(file).startswith(_PACKAGE):
                lines.append((file, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back  # type: ignore[assignment]
        lines.reverse()
        path = [self.root]
        for line in lines[: self.max_depth - 1 if self.max_depth else None]:
            path.append(path[-1].children.setdefault(line, Usage(line)))
        return path

    def report(self) -> str:
        """The tree as text: for each line bytes used from the pool, and acquired from the device."""
        lines = []
        pending = [(self.root, 0)]
        while pending:
            usage, depth = pending.pop()
            file, number, function = usage.line
            place = f"{os.path.relpath(file) if os.path.isabs(file) else file}:{number}:{function}" if number else file
            lines.append(f"{'  ' * depth}{place} ({_shown(usage.used_bytes)}, {_shown(usage.acquired_bytes)})\n")
            pending += [(child, depth + 1) for child in reversed(usage.children.values())]
        return "".join(lines)

    def print_report(self, file: TextIO | None = None) -> None:
        """Print the tree."""
        (file or sys.stdout).write(self.report())

    def plot(self, axes: Any = None) -> Any:
        """Draw memory over time (needs Matplotlib).

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where; new ones by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if axes is None:
            axes = importlib.import_module("matplotlib.pyplot").subplots()[1]
        times, sizes = zip(*self.history, strict=True) if self.history else ((), ())
        axes.step(times, [size / 2**20 for size in sizes], where="post")
        axes.set_xlabel("seconds")
        axes.set_ylabel("MiB in use")
        return axes


class DebugPrintHook(MemoryHook):
    """A line of text for each allocation.

    Parameters
    ----------
    file : file, optional
        Where it is written; standard output by default.
    flush : bool
        Whether each line is there at once.
    """

    name = "DebugPrintHook"

    def __init__(self, file: TextIO | None = None, flush: bool = True) -> None:
        self.file = file
        self.flush = flush

    def _print(self, what: str, **given: Any) -> None:
        fields = ",".join(f'"{name}":{value}' for name, value in given.items())
        print(f'{{"hook":"{what}",{fields}}}', file=self.file or sys.stdout, flush=self.flush)

    def alloc_preprocess(self, **given: Any) -> None:
        """Nothing: what follows says it."""

    def malloc_preprocess(self, **given: Any) -> None:
        """Nothing: what follows says it."""

    def free_preprocess(self, **given: Any) -> None:
        """Nothing: what follows says it."""

    def alloc_postprocess(self, **given: Any) -> None:
        """Print what the device gave."""
        self._print("alloc", **given)

    def malloc_postprocess(self, **given: Any) -> None:
        """Print what the pool gave."""
        self._print("malloc", **given)

    def free_postprocess(self, **given: Any) -> None:
        """Print what came back."""
        self._print("free", **given)


def _shown(nbytes: int) -> str:
    """Bytes for people.

    >>> _shown(0), _shown(8192), _shown(3 << 29)
    ('0.00B', '8.00KB', '1.50GB')
    """
    size = float(nbytes)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:.2f}{unit}"
        size /= 1024
    return f"{size:.2f}TB"


__all__ = ["DebugPrintHook", "LineProfileHook", "Usage"]
