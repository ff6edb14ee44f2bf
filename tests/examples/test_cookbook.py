"""The cookbook: each task says the same under NumPy and numloom, and its page has what a page needs."""

from __future__ import annotations

import importlib.util
import io
import json
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import numloom as nl

ROOT = Path(__file__).resolve().parents[2]


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cookbook", ROOT / "tools" / "cookbook.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cookbook = tool()


@pytest.mark.parametrize("name", cookbook.NAMES)
def test_numloom_agrees_with_numpy(name: str) -> None:
    for package in ("matplotlib", "sklearn", "pandas", "PIL"):
        pytest.importorskip(package)
    module = cookbook.task(name)
    given, found = cookbook.results(module, nl, module.SMALL)
    mine = cookbook.on_host(found)
    theirs = cookbook.on_host(cookbook.results(module, np, module.SMALL)[1])
    assert not cookbook.difference(module, mine, theirs)
    picture = io.BytesIO()
    with nl.config(host_copy="allow"):  # pictures are drawn of what lies on a GPU, too
        cookbook.draw(module, given, found, picture, dpi=20)
    assert picture.getvalue()[:2] == b"\xff\xd8"  # a JPEG


def test_a_difference_is_told() -> None:
    module = cookbook.task("kmeans")
    theirs = {"x": np.arange(4.0), "k": np.arange(4)}
    assert not cookbook.difference(module, dict(theirs), theirs)
    assert "differs by 1" in cookbook.difference(module, {**theirs, "x": np.arange(4.0) + 1}, theirs)
    assert "75.00% differ" in cookbook.difference(module, {**theirs, "k": np.zeros(4, int)}, theirs)
    assert "float32" in cookbook.difference(module, {**theirs, "x": np.arange(4, dtype="f4")}, theirs)
    assert cookbook.difference(module, {**theirs, "more": np.ones(1)}, theirs) == "other names"


def test_every_task_has_a_page(tmp_path: Path) -> None:
    assert sorted(cookbook.NAMES) == sorted(path.stem for path in cookbook.TASKS.glob("*.py"))
    assert len(cookbook.NAMES) >= 30
    cookbook.pages(tmp_path)
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    for name in cookbook.NAMES:
        title, text = cookbook.title_of(cookbook.task(name))
        assert re.search(r"^\*\*What fuses\.\*\* ", text, re.MULTILINE), name
        page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {title}\n") and "def compute(np" in page
        assert (ROOT / "docs" / "gallery" / f"{name}.jpg").stat().st_size < 70_000, name
        assert f"({name}.md)" in index


def test_every_task_was_timed() -> None:
    times = json.loads(cookbook.TIMES.read_text(encoding="utf-8"))
    assert set(times["cpu"]["tasks"]) == set(cookbook.NAMES)
    assert all(told.get("agree") is True for told in times["cpu"]["tasks"].values())
