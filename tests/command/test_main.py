"""The command line itself."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import numloom
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
