"""The report is printed whatever is missing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from numloom.command import info as module
from numloom.command.main import main


def report() -> str:
    out = io.StringIO()
    assert module.info(Console(file=out, width=120)) == 0
    return out.getvalue()


def test_report_names_what_is_here() -> None:
    text = report()
    for word in ("numloom", "devices", "cpu", "compilers", "kernel cache", "numpy", "current"):
        assert word in text


def test_a_failing_section_does_not_fail_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(cures: list[str]):
        raise OSError("no such thing")
        yield

    monkeypatch.setattr(module, "_devices", broken)
    assert "OSError: no such thing" in report()


def test_missing_libraries_come_with_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIBRARIES", (("surely-not-installed", "nothing", "cuda13"),))
    text = report()
    assert "surely-not-installed" in text
    assert "pip install 'numloom[cuda13]'" in text


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    assert "devices" in capsys.readouterr().out


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(SystemExit) as stop:
        main(["sing"])
    assert stop.value.code == 2
