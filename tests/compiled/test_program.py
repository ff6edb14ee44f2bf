"""Programs of trees count as readers of what they read, until they end, which no Ctrl-C disturbs."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time

import pytest

import numloom as nl
from numloom.array.storage import Exported
from numloom.compiled.program import TreeProgram
from numloom.compiled.symbols import symbol
from numloom.graph.node import Reader, recording_here
from numloom.graph.tree import recording


def program_of(x: nl.ndarray) -> TreeProgram:
    """A program that reads an array beside what it is given."""
    given = symbol("given", x.shape, x.dtype)
    node = given.storage.value
    return TreeProgram([(given * x + x[1]).storage.value], [node])


def test_what_a_program_reads_has_a_reader_until_the_program_ends() -> None:
    x = nl.asarray([1.0, 2.0, 3.0])
    node = x.storage.value
    before = node.readers
    program = program_of(x)
    assert node.readers > before
    in_a_cycle = [program]
    in_a_cycle.append(in_a_cycle)
    del program
    gc.collect()
    assert node.readers > before
    del in_a_cycle
    gc.collect()
    assert node.readers == before


def test_a_reader_lets_go_of_each_value_it_has_read() -> None:
    x, y = nl.asarray([1.0, 2.0]).storage.value, nl.asarray([3.0]).storage.value
    reader = Reader()
    for node in (x, y, x):
        reader.read(node)
    assert (x.readers, y.readers) == (2, 1)
    del reader
    assert (x.readers, y.readers) == (0, 0)
    Reader()


@pytest.mark.skipif(hasattr(Reader, "__dealloc__"), reason="the core is not compiled")
def test_no_line_of_python_runs_where_a_program_or_an_export_ends() -> None:
    """Where none does, no handler of a signal is called, whose error would be swallowed."""
    x = nl.asarray([1.0, 2.0, 3.0])
    seen: list[str] = []
    for made in (program_of(x), Exported(x.storage)):
        kept = [made]
        del made
        sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
        kept.clear()
        sys.setprofile(None)
    assert seen == [] and x.storage.pins == 0


@pytest.mark.skipif(hasattr(Reader, "__dealloc__"), reason="the core is not compiled")
def test_no_line_of_python_runs_where_a_recording_begins_and_ends() -> None:
    """Interrupted there it would stay open, and all that follows belong to a tree."""
    seen: list[str] = []
    begun = recording(watches="a test")
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    with begun:
        inside = begun.is_open
    sys.setprofile(None)
    assert seen == [] and inside and not begun.is_open and recording_here.get() is None


@pytest.mark.skipif(hasattr(Reader, "__dealloc__"), reason="the core is not compiled")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
def test_ctrl_c_while_programs_end_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    x = nl.asarray([float(k) for k in range(50)])
    node = x.storage.value
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    before, raised, caught = node.readers, 0, 0

    def interrupt(*_: object) -> None:
        nonlocal raised
        raised += 1
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGALRM, interrupt)
    try:
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            programs = [program_of(x) for _ in range(10)]
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5)
                while programs:
                    programs.pop()
                time.sleep(0.01)
            except KeyboardInterrupt:
                caught += 1
            programs.clear()
            assert node.readers == before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)
    assert raised == caught > 0 and not unraisable
