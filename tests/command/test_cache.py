"""``python -m numloom cache``: what is kept on disk, all of it gone, what is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

import numloom as nl
from numloom.command.main import main
from numloom.device.cache import shared


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with nl.config(cache_dir=str(tmp_path / "cache")):
        for number in range(3):
            shared().put(f"{number}" * 8, b"code" * 1000, "g++ 12" if number else "nvrtc 13")
        yield tmp_path / "cache"


def test_entries_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    text = capsys.readouterr().out
    assert "3 entries" in text and "g++ 12" in text and "nvrtc 13" in text
    assert len(list(folder.iterdir())) == 3


def test_clearing_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "clear"]) == 0
    assert not list(folder.iterdir()) and "deleted 3 entries" in capsys.readouterr().out
    assert main(["cache", "list"]) == 0 and "0 entries" in capsys.readouterr().out


def test_what_is_damaged_is_found_and_goes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "verify"]) == 0
    assert "3 entries" in capsys.readouterr().out
    path = folder / ("1" * 8)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    (folder / "torn").write_bytes(b"numloom kernel")
    assert [entry.sound for entry in shared().entries()].count(False) == 2
    assert main(["cache", "verify"]) == 1
    text = capsys.readouterr().out
    assert "2 damaged" in text and "11111111" in text
    assert sorted(each.name for each in folder.iterdir()) == ["0" * 8, "2" * 8]


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with nl.config(cache_dir=str(tmp_path / "none")):
        assert main(["cache"]) == main(["cache", "verify"]) == main(["cache", "clear"]) == 0
    assert not (tmp_path / "none").exists() and "0 entries" in capsys.readouterr().out
