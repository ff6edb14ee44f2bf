"""The line that says what a program waits for."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.base import progress
from numloom.base.progress import COMPILING, Line, look, place, track
from numloom.device.cache import DiskCache


class Screen(io.StringIO):
    """A terminal that keeps what is written."""

    terminal = True

    def isatty(self) -> bool:
        return self.terminal

    @property
    def texts(self) -> list[str]:
        """What was shown, one after another."""
        return [text.strip() for text in self.getvalue().split("\r")[1:]]


@pytest.fixture
def screen(monkeypatch: Any) -> Screen:
    """A terminal in which every wait is a long one."""
    found = Screen()
    # pytest puts its own stderr back between fixture and test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found, modules=sys.modules))
    monkeypatch.setattr(progress, "QUIET", 0.0)
    monkeypatch.setattr(progress, "AGAIN", 0.0)
    monkeypatch.setattr(progress, "_earlier", {})
    monkeypatch.setenv("COLUMNS", "120")
    return found


def test_a_line_is_shown_and_gone(screen: Screen) -> None:
    assert list(track("abcd", "counting", 4)) == list("abcd")
    assert [text.partition(", 0 s")[0] for text in screen.texts[:4]] == [
        f"numloom: counting, {n}%" for n in (25, 50, 75, 100)
    ]
    assert screen.texts[-1] == "" and screen.getvalue().endswith(" \r") and "\n" not in screen.getvalue()


def test_nothing_before_two_seconds(screen: Screen, monkeypatch: Any) -> None:
    monkeypatch.setattr(progress, "QUIET", 2.0)
    clock = iter([0.0, 1.0, 1.9, 2.1, 2.2, 2.4])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress, "AGAIN", 0.2)
    with Line("waiting") as line:
        for _ in range(5):
            line.advance()
    assert [text.partition(" s ")[0] for text in screen.texts if text] == ["numloom: waiting, 2"] * 2


@pytest.mark.parametrize("why", ["file", "setting", "thread", "closed", "none"])
def test_nothing_where_nobody_looks(screen: Screen, why: str, monkeypatch: Any) -> None:
    def work() -> None:
        assert list(track(range(3), "counting")) == [0, 1, 2]

    screen.terminal = why != "file"
    if why == "thread":
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    elif why == "closed":
        closed = Screen()
        closed.close()
        monkeypatch.setattr(progress.sys, "stderr", closed)
        work()
    else:
        if why == "none":
            monkeypatch.setattr(progress.sys, "stderr", None)
        with nl.config(progress=why != "setting"):
            work()
    assert screen.getvalue() == ""


def test_of_lines_within_lines_the_outermost_is_shown(screen: Screen) -> None:
    look()
    assert screen.getvalue() == ""
    with Line("outer") as outer:
        for _ in track(range(2), "inner"):
            look()
    assert outer.place is not None and {text.partition(",")[0] for text in screen.texts} == {"numloom: outer", ""}
    with pytest.raises(ValueError, match="this"), Line("failing"):
        raise ValueError("this")
    assert getattr(progress._here, "line", None) is None


def test_waits_that_follow_each_other_are_one(screen: Screen, monkeypatch: Any) -> None:
    monkeypatch.setattr(progress, "QUIET", 1.0)
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    for pause in (0.1, 0.1, 5.0, 0.1):
        with Line("cooking", gather=True):
            clock[0] += 0.6
            look()
        clock[0] += pause
    # The third one begins after 1.4 s; the fourth stands alone.
    assert [text[:29] for text in screen.texts if text] == [
        "numloom: cooking, 2 so far, 1", "numloom: cooking, 3 so far, 1", "numloom: cooking, 3 so far, 2",
    ]  # fmt: skip


def test_a_line_fits_the_terminal(screen: Screen, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    list(track("a", "counting a great many things"))
    assert max(map(len, screen.getvalue().split("\r"))) == 29


def test_a_notebook_shows_it_below_the_cell(screen: Screen, monkeypatch: Any) -> None:
    screen.terminal = False
    shown: list[str] = []

    class Handle:
        def update(self, content: Any, raw: bool) -> None:
            assert raw
            shown.append(content["text/plain"])

    def display(content: Any, raw: bool, display_id: bool) -> Handle:
        assert raw and display_id
        shown.append(content["text/plain"])
        return Handle()

    shell = SimpleNamespace(initialized=lambda: True, instance=lambda: SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython.core.interactiveshell", SimpleNamespace(InteractiveShell=shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    list(track("ab", "counting", 2))
    assert [text.partition("%")[0] for text in shown] == ["numloom: counting, 50", "numloom: counting, 100", ""]
    with nl.config(progress=False):
        assert place() is None


def test_who_waits_for_kernels_is_told(screen: Screen, tmp_path: Path) -> None:
    if nl.config.cpu_compile == "never" or nl.config.device not in ("auto", "cpu"):
        pytest.skip("kernels for the CPU are compiled here")
    with nl.config(cpu_compile="wait", unplanned=0, cache_dir=str(tmp_path), cache_bytes=0):
        x = nl.arange(1009.0)
        (nl.sin(x) * 3.25 + nl.cos(x) * 1.75 + nl.tanh(x) * 0.625).get()
    assert any(text.startswith(f"numloom: {COMPILING}") for text in screen.texts)


def test_reading_and_comparing_are_told(screen: Screen, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("numloom.api.io._LARGE", 100)
    path = tmp_path / "numbers.txt"
    values = np.arange(40_000.0).reshape(10_000, 4)
    np.savetxt(path, values)
    for read in (nl.loadtxt, nl.genfromtxt):
        before = len(screen.texts)
        np.testing.assert_array_equal(read(path).get(), np.loadtxt(path))
        assert any(text.startswith("numloom: reading numbers.txt, ") for text in screen.texts[before:])
    assert nl.compare(nl.arange(5.0) * 2).equal
    assert any("computing the reference" in text for text in screen.texts)
    for wrong in (path.with_name("nothing.txt"), str(path) + ".gz"):
        with pytest.raises(FileNotFoundError):
            nl.loadtxt(wrong)


def test_the_kernel_cache_is_told(screen: Screen, tmp_path: Path) -> None:
    kept = DiskCache(os.fspath(tmp_path / "cache"), 1 << 20)
    for key in ("a" * 64, "b" * 64):
        kept.put(key, b"content", "origin")
    assert len(kept.entries()) == 2 and any("reading the kernel cache, 100%" in text for text in screen.texts)
