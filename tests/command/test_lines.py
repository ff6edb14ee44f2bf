"""The report's lines: what a look charges to which line, and the page of the program's source."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from numloom.command.main import main
from numloom.command.serve.ledger import Ledger
from numloom.command.serve.lines import (
    COMPILING,
    COPIES,
    IMPORTS,
    NUMPY,
    OUTSIDE,
    PYTHON,
    RECORDING,
    RESULTS,
    WAITING,
    LineTimes,
    ran,
    worked,
)
from numloom.command.serve.program import ServedProgram
from numloom.device import registry

PROGRAM = """
import numpy as np

def total(x):
    count = 0.0
    for k in range(400):
        for value in range(4000):
            count += value * 0.5
    return count

x = np.random.default_rng(0).random((300, 300))
print(total(x) > 0)
for k in range(40):
    names = np.sort(np.array(["b", "a"] * 2000))
print(names[0], float((x @ x).sum()) > 0)
"""


def frames(inner: Any) -> Any:
    """The frame of a function of the program that calls `inner`, seen from there."""
    space: dict[str, Any] = {"__name__": "__main__", "inner": inner}
    code = "def work():\n    x = 1\n    return inner()\nframe = work()\n"
    exec(compile(code, "program.py", "exec"), space)
    return space["frame"]


@pytest.fixture
def lines() -> LineTimes:
    return LineTimes(ServedProgram())


def spent(lines: LineTimes) -> dict[str, dict[str, float]]:
    lines._settle()
    return {line: dict(kinds) for line, kinds in lines.seconds.items()}


def test_a_look_charges_the_program_line_that_waits(lines: LineTimes) -> None:
    frame = frames(sys._getframe)
    lines.charge(frame, 0.25)
    assert spent(lines) == {"program.py:3": {PYTHON: 0.25}}


def test_a_long_step_that_ran_work_is_results(lines: LineTimes) -> None:
    frame = frames(sys._getframe)
    for counted in ("", "", RESULTS, ""):
        lines.charge(frame, 0.25, counted)
    assert spent(lines) == {"program.py:3": {RESULTS: 1.0}}


def test_another_step_ends_a_stretch(lines: LineTimes) -> None:
    frame, other = frames(sys._getframe), frames(lambda: sys._getframe().f_back)
    lines.charge(frame, 0.5)
    lines.charge(other, 0.25, RESULTS)
    assert spent(lines) == {"program.py:3": {PYTHON: 0.5, RESULTS: 0.25}} or spent(lines) == {
        "program.py:3": {RESULTS: 0.75}
    }


def test_what_the_line_calls_has_the_last_word(lines: LineTimes) -> None:
    made: dict[str, Any] = {}

    def through(name: str, file: str, function: str = "f") -> Any:
        space: dict[str, Any] = {"__name__": name, "sys": sys}
        exec(compile(f"def {function}(): return sys._getframe()", file, "exec"), space)
        return space[function]

    ours = Path(nl_folder()) / "api" / "some.py"
    made[NUMPY] = through("numpy.core", "numpy/core.py")
    made["scipy"] = through("scipy.fft", "scipy/fft.py")
    made[IMPORTS] = through("importlib._bootstrap", "<frozen importlib._bootstrap>")
    made[RECORDING] = through("numloom.api.some", str(ours))
    made[COMPILING] = through("numloom.emit.rows", str(Path(nl_folder()) / "emit" / "rows.py"))
    for kind, inner in made.items():
        lines = LineTimes(ServedProgram())
        lines.charge(frames(inner), 1.0)
        assert spent(lines) == {"program.py:3": {kind: 1.0}}, kind
    lines = LineTimes(ServedProgram())
    lines.charge(frames(through("numloom.command.serve.dispatch", str(ours), "_through_numpy")), 1.0, RESULTS)
    assert spent(lines) == {"program.py:3": {NUMPY: 1.0}}


def nl_folder() -> str:
    return str(Path(sys.modules["numloom"].__file__ or "").parent)


def test_code_outside_of_the_program_is_charged_to_no_line(lines: LineTimes) -> None:
    def look() -> None:
        lines.charge(sys._getframe(), 1.0, RESULTS)
        lines.charge(sys._getframe(), 0.5)

    thread = threading.Thread(target=look)  # Whose outermost frame is none of a program.
    thread.start()
    thread.join()
    assert set(spent(lines)) == {OUTSIDE} and not lines.largest()
    assert lines.causes() == {RESULTS: 1.5}


def test_an_operator_is_charged_where_nobody_could_look() -> None:
    """Others look when the next function begins: `x[1:] = y` before a call would be the called function's ``def``."""
    text = "def edges(x):\n    pass\n\ndef step(x):\n    y = x + 1\n    x[1:] = y[1:]\n    edges(x)\n    edges(x)\n"
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "program.py", "exec"), space)
    found = []

    def trace(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name == "edges":
            found.append([(where.f_code.co_name, line) for where, line in (worked(frame, True), worked(frame, False))])

    sys.setprofile(trace)
    try:
        space["step"](list(range(3)) and np.arange(3))
    finally:
        sys.setprofile(None)
    assert [each[0] for each in found] == [("step", 6), ("step", 8)]


def test_counters_tell_what_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    for discrete, waited in ((False, COPIES), (True, WAITING)):
        monkeypatch.setattr(registry, "current", lambda discrete=discrete: SimpleNamespace(discrete=discrete))
        assert [ran((0, 0), after) for after in ((0, 0), (1, 0), (0, 1))] == ["", RESULTS, waited]


def test_the_watcher_sees_a_busy_line() -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    lines = LineTimes(ServedProgram())
    with lines:
        begin = time.perf_counter()
        exec(compile("k = 0\nwhile k < 2_000_000:\n    k += 1\n", "busy.py", "exec"), space)
        took = time.perf_counter() - begin
    found = {line: kinds for line, kinds in spent(lines).items() if line.startswith("busy.py")}
    assert set(found) <= {"busy.py:1", "busy.py:2", "busy.py:3"}
    assert 0.3 * took < sum(kinds[PYTHON] for kinds in found.values()) < 1.5 * took


def test_a_report_says_what_to_change() -> None:
    ledger = Ledger(ServedProgram())
    ledger.begin -= 10
    spent = ledger.lines.seconds
    spent["a.py:1"][PYTHON] = 4.0
    spent["a.py:2"][RESULTS] = 3.0
    spent["a.py:3"][NUMPY] = 1.0
    spent["a.py:4"][RECORDING] = 0.5
    spent["a.py:5"]["scipy"] = 0.25
    spent["a.py:6"][RESULTS] = 0.2
    for _ in range(50):
        ledger.downloads["a.py:6"].add(8)
        ledger.uploads["a.py:4"].add(1 << 20)
    calls = ledger.calls["sort"]
    calls.count[NUMPY.lower()], calls.seconds[NUMPY.lower()] = 1, 1.0
    calls.reasons["strings"] += 1
    calls.lines["a.py:3"] += 1
    told = {line["line"]: line for line in ledger.costly()}
    assert list(told) == [f"a.py:{n}" for n in (1, 2, 3, 4, 5, 6)]
    assert told["a.py:1"]["share"] == pytest.approx(0.4, abs=0.01)
    for number, word in enumerate(
        (
            "whole arrays",
            "runs here",
            "numpy.sort runs in NumPy: strings",
            "copies NumPy arrays",
            "scipy works",
            "50 times",
        ),
        1,
    ):
        assert word in told[f"a.py:{number}"]["change"], number
    assert "a.py:1" in ledger.as_text() and "40 %  Python" in ledger.as_text()


def test_a_page_of_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, page = tmp_path / "some <program>.py", tmp_path / "report.html"
    script.write_text(PROGRAM, encoding="utf-8")
    assert main(["run", "--report", str(page), str(script)]) == 0
    told = capsys.readouterr()
    assert told.out == "True\na True\n" and "lines that cost most" in told.err
    text = page.read_text(encoding="utf-8")
    assert "some &lt;program&gt;.py" in text and "<program>" not in text
    assert "count += value * 0.5" in text and "the interpreter&#x27;s own steps" in text
    assert text.count("<table") == text.count("</table>") >= 2  # whoever calls us may have one, too
    main(["run", "--report", "html", "--report-file", str(tmp_path / "other.html"), "-c", "print(1)"])
    assert (tmp_path / "other.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_reports_that_there_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--report", "pdf", "-c", "1"])
    assert "'pdf' is none of text, json, html, none" in capsys.readouterr().err
