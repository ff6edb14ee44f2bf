"""``python -m numloom run``: an existing NumPy program, with ``import numpy`` served by numloom."""

from __future__ import annotations

import gc
import importlib.util
import io
import os
import runpy
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType, TracebackType
from typing import Any

from numloom.base import later
from numloom.command.serve.namespace import Server
from numloom.command.serve.program import ServedProgram, is_ours
from numloom.engine.evaluate import synchronize

REPORTS = ("text", "json", "html", "none")
_PAGE, _CUPY = "numloom.command.serve.annotated", "numloom.command.serve.cupy"
traceback = later.Later("traceback")
_LEFTOVER = "numloom.device.cpu.leftover"
PAGE = ".html"
"""How a report's name ends that is a file: ``--report FILE.html``."""
INTERRUPTED = 130
"""The exit status of a shell's command that was stopped by Ctrl-C."""


def run(
    arguments: list[str],
    *,
    kind: str = "script",
    report: str = "text",
    report_file: str | None = None,
    fallback: str = "quiet",
    also: tuple[str, ...] = (),
    keep: tuple[str, ...] = (),
    cupy: bool = False,
) -> int:
    """Run a program as Python would, with NumPy served by numloom; its exit status.

    Parameters
    ----------
    arguments : list of str
        The script's path (the module's name, the code), and what the program gets as ``sys.argv[1:]``.
    kind : {"script", "module", "code"}
        What the first argument is.
    report : {"text", "json", "html", "none"} or str
        What is written at the end, to standard error or to `report_file`; a name that ends in ".html" is a file for
        the annotated source, and the text is written too.
    report_file : str, optional
        Where the report is written.
    fallback : {"quiet", "warn", "error"}
        What is done where NumPy answers instead of numloom.
    also, keep : tuple of str
        Installed packages that are served numloom, too; packages of the program that keep NumPy.
    cupy : bool
        Serve ``import cupy`` and ``import cupyx`` instead; NumPy stays NumPy, and there is no report.

    Raises
    ------
    SystemExit
        If the program raises it.
    """
    target = arguments[0]
    start, folders, also = _PREPARE[kind](target, also)
    program = ServedProgram(folders, also, keep)
    server: Any = later.load(_CUPY).CupyServer(program) if cupy else Server(program, fallback)
    before = sys.argv, sys.path[:], sys.modules.get("__main__")
    is_whole = getattr(before[2], "__package__", None) == __name__.partition(".")[0]  # And no part of a process.
    if not cupy and is_whole:
        gc.freeze()  # What is imported stays: looking through it costs a tenth of the start, most of it at the end.
        server.ledger.start = age()
    sys.argv = ["-c" if kind == "code" else target, *arguments[1:]]
    try:
        with server, nullcontext() if cupy or report == "none" else server.ledger.lines:
            try:
                start()
                synchronize()  # an index out of range that nobody has looked at is an error still
            except SystemExit:
                raise
            except BaseException as error:
                return _failed(error)
            finally:
                sys.stdout.flush()
    finally:
        sys.argv, sys.path[:] = before[0], before[1]
        if before[2] is not None:
            sys.modules["__main__"] = before[2]
        if not cupy:
            _write(server, report, report_file, target)
        if is_whole:
            later.load(_LEFTOVER).leave()
    return 0


# ---------------------------------------------------------------- starting


def age() -> float:
    """Seconds since this process began, to a hundredth; 0 where the system does not tell."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            begun = int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - begun, 0.0)
    except (OSError, AttributeError, IndexError, ValueError):
        return 0.0


def _main_module(path: str | None) -> ModuleType:
    """A fresh ``__main__``."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=sys.modules["builtins"], __spec__=None, __cached__=None)
    if path is not None:
        module.__file__ = path
    sys.modules["__main__"] = module
    return module


def _script(path: str, also: tuple[str, ...]) -> Any:
    if not os.path.exists(path):
        raise FileNotFoundError(f"can't open file {path!r}: no such file")
    if not os.path.isfile(path) or path.endswith((".zip", ".pyz", ".pyc")):
        sys.path[0] = path
        return lambda: runpy.run_path(path, run_name="__main__"), (path,), also
    folder = os.path.dirname(os.path.realpath(path))

    def start() -> None:
        sys.path[0] = folder
        with io.open_code(path) as file:
            source = file.read()
        exec(compile(source, path, "exec", dont_inherit=True), _main_module(path).__dict__)

    return start, (folder,), also


def _module(name: str, also: tuple[str, ...]) -> Any:
    sys.path[0] = os.getcwd()
    top = name.partition(".")[0]
    if importlib.util.find_spec(top) is None:
        raise FileNotFoundError(f"no module named {top!r}")
    return lambda: runpy.run_module(name, run_name="__main__", alter_sys=True), (os.getcwd(),), (*also, top)


def _code(text: str, also: tuple[str, ...]) -> Any:
    def start() -> None:
        sys.path[0] = ""
        exec(compile(text, "<string>", "exec", dont_inherit=True), _main_module(None).__dict__)

    return start, (os.getcwd(),), also


_PREPARE: dict[str, Callable[[str, tuple[str, ...]], Any]] = {"script": _script, "module": _module, "code": _code}


# ---------------------------------------------------------------- ending


def _failed(error: BaseException) -> int:
    """Show what the program raised, as Python would; the exit status."""
    error.__traceback__ = _of_program(error.__traceback__)
    if sys.excepthook is sys.__excepthook__:
        sys.stderr.write(as_text(error))
    else:
        sys.excepthook(type(error), error, error.__traceback__)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


def _is_machinery(file: str) -> bool:
    return is_ours(file) or file.startswith("<frozen ") or file == runpy.__file__


def _of_program(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that started the program."""
    while trace is not None and _is_machinery(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def as_text(error: BaseException) -> str:
    """A traceback as Python prints it, without frames of numloom."""
    shown = traceback.TracebackException.from_exception(error)
    pending = [shown]
    while pending:
        one = pending.pop()
        one.stack = traceback.StackSummary.from_list(
            [frame for frame in one.stack if not _is_machinery(frame.filename)]
        )
        pending += [other for other in (one.__cause__, one.__context__) if other is not None]
        pending += getattr(one, "exceptions", None) or []
    return "".join(shown.format())


def _write(server: Server, report: str, file: str | None, title: str) -> None:
    if report == "none":
        return
    if report.endswith(PAGE):
        with open(report, "w", encoding="utf-8") as out:
            out.write(later.load(_PAGE).page(server.ledger.as_dict(), title))
        report = "text"
    if report == "html":
        text = later.load(_PAGE).page(server.ledger.as_dict(), title)
    else:
        text = server.ledger.as_json() + "\n" if report == "json" else server.ledger.as_text()
    if file is None:
        sys.stderr.write(text)
        sys.stderr.flush()
    else:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
