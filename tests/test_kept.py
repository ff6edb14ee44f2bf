"""Tests of the option ``--kept``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import kept
from compilers import WHY, found, needed
from numloom.device.cpu import compiler as compilers
from numloom.device.cpu.compiler import Compiler


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[bytes]:
    """What was made, in a folder of its own."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(kept, "taken", True)
    monkeypatch.setattr(kept, "watched", False)
    return []


def once(made: list[bytes], *parts: str) -> bytes:
    def make() -> bytes:
        made.append(f"{len(made)} of {parts}".encode())
        return made[-1]

    return kept.once(parts, make)


def test_the_same_is_made_once(made: list[bytes]) -> None:
    assert once(made, "g++", "text") == once(made, "g++", "text") == made[0]
    assert once(made, "g++", "other text") == made[1]
    assert once(made, "g++ -O1", "text") == made[2]
    assert len(made) == 3
    assert len(list(kept.FOLDER.iterdir())) == 3


def test_what_is_damaged_is_made_again(made: list[bytes]) -> None:
    once(made, "text")
    (path,) = kept.FOLDER.iterdir()
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:-1] + b"?", b"?" + whole[1:]):
        path.write_bytes(content)
        assert once(made, "text") == made[-1]
        assert once(made, "text") == made[-1]
    assert len(made) == 5


def test_what_fails_is_tried_again(made: list[bytes]) -> None:
    def fail() -> Any:
        raise OSError("no memory")

    with pytest.raises(OSError, match="no memory"):
        kept.once(("text",), fail)
    assert once(made, "text") == made[0]


def test_nothing_is_kept_for_tests_about_compiling(made: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "watched", True)
    assert once(made, "text") != once(made, "text")
    monkeypatch.setattr(kept, "watched", False)
    monkeypatch.setattr(kept, "taken", False)
    assert once(made, "text") != once(made, "text")
    assert not kept.FOLDER.exists()


def test_what_was_used_longest_ago_goes(made: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {}
    for number, text in enumerate("abcd"):
        once(made, text)
        (paths[text],) = set(kept.FOLDER.iterdir()) - set(paths.values())
        os.utime(paths[text], (number, number))
    once(made, "a")  # Used again.
    kept.prune()
    assert len(list(kept.FOLDER.iterdir())) == 4
    size = paths["a"].stat().st_size
    monkeypatch.setattr(kept, "MOST", 3 * size)
    kept.prune()
    assert set(kept.FOLDER.iterdir()) == {paths["a"]}


def test_a_compiler_in_scripts_clothes_is_asked_each_time(
    made: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A test's script is: what a compiler is told apart by says nothing of what that does next."""
    monkeypatch.setattr(Compiler, "compile", Compiler.compile)
    asked = []
    monkeypatch.setattr(Compiler, "compile", lambda self, *texts: asked.append(texts) or b"library")
    kept.take_kept()
    script = tmp_path / "compiler"
    script.write_text("#!/bin/sh\n")
    own = Compiler((str(script),), (), compilers.identify([str(script)]))
    shell = Compiler(("/bin/sh",), (), compilers.identify(["/bin/sh"]))
    for compiler, times in ((own, 2), (shell, 1)):
        asked.clear()
        assert compiler.compile("text") == compiler.compile("text") == b"library"
        assert len(asked) == times
    asked.clear()
    for _ in range(2):
        Compiler(("/bin/sh",), ("-Ifolder",), compilers.identify(["/bin/sh"])).compile("text")
    assert len(asked) == 2


@pytest.mark.skipif(found() is None, reason=WHY)
def test_the_compiler_that_is_found_is_kept(made: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(Compiler, "compile", lambda self, *texts: asked.append(texts) or b"library")
    kept.take_kept()
    assert needed().compile("text") == needed().compile("text") == b"library"
    assert len(asked) == 1
