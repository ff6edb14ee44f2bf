"""The command line itself."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import numloom
from numloom.command import main as main_module
from numloom.command.main import main

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"numloom {numloom.__version__}\n"


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == numloom.__version__


def test_a_process_tells_it() -> None:
    run = subprocess.run([sys.executable, "-m", "numloom", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["numloom", numloom.__version__]


PLAIN = (
    ["script.py"],
    ["script.py", "--report", "none", "-m"],
    ["--report", "none", "script.py", "-h"],
    ["--report", "page.html", "--report-file", "out.txt", "--fallback", "warn", "--device", "cpu", "a.py"],
    ["--also", "one", "--keep", "two", "--also", "three", "--cupy", "-m", "package", "--also", "four"],
    ["-c", "print(1)", "x"],
)
LEFT: tuple[list[str], ...] = (
    [], ["-h"], ["--rep", "none", "a.py"], ["--report=none", "a.py"], ["--report", "colour", "a.py"], ["--report"],
    ["--fallback", "often", "a.py"], ["--nothing", "a.py"], ["-m"], ["--device", "--cupy", "a.py"], ["--", "a.py"],
    ["-mpackage"],
)  # fmt: skip


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_plain_words_of_run_are_read_as_the_parser_reads_them(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("device", "cupy", "report", "report_file", "fallback", "also", "keep", "script", "module", "code")
    told = []

    def note(options: object) -> int:
        told.append({name: getattr(options, name) or None for name in kept})
        return 0

    monkeypatch.setattr(main_module, "_run", note)
    assert main(["run", *words]) == 0
    assert main_module.read_run(words) is not None
    monkeypatch.setattr(main_module, "read_run", lambda words: None)
    assert main(["run", *words]) == 0
    assert told[0] == told[1]


@pytest.mark.parametrize("words", LEFT, ids=" ".join)
def test_all_other_words_of_run_are_left_to_the_parser(words: list[str]) -> None:
    assert main_module.read_run(words) is None
