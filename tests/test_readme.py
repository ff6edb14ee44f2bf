"""What the README and the documentation say is run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ("_build", "reference", "benchmarks")
"""Folders of docs/ that making the site leaves there."""
WRITTEN = [page for page in (ROOT / "docs").rglob("*.md") if page.relative_to(ROOT / "docs").parts[0] not in GENERATED]
PAGES = sorted([ROOT / "README.md", *WRITTEN])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
KERNEL = re.compile(r"(Elementwise|Reduction|Raw)(Kernel|Module)\(|SourceModule\(")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    missing = [
        target for target, _ in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / target).exists()
    ]
    assert not missing


def examples(page: Path) -> Any:
    """A page as a case; users' kernels on it need a compiler."""
    kernels = KERNEL.search("".join(BLOCK.findall(page.read_text(encoding="utf-8"))))
    return pytest.param(page, marks=pytest.mark.compiler if kernels else (), id=page.stem)


@pytest.mark.parametrize("page", [examples(page) for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))])
def test_examples_run(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Blocks of one page run one after another in one namespace, with a user's settings."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        code = "\n" * line + block[1]
        with numloom.config(host_copy="warn"):
            exec(compile(code, str(page), "exec"), namespace)


def test_ci_runs_the_commands_of_the_readme() -> None:
    readme, ci = (ROOT / "README.md").read_text(encoding="utf-8"), (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    starts = re.findall(r'\$\(readme "(.*)"\)', ci)
    assert len(starts) == 2
    for start in starts:
        assert any(line.startswith(f"    {start}") for line in readme.splitlines()), start


PLACE = re.compile(r"`([\w/]+\.py): ([\w.]+)`")


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "walk").glob("*.md")), ids=lambda page: page.stem)
def test_walks_name_what_is_there(page: Path) -> None:
    for path, name in PLACE.findall(page.read_text(encoding="utf-8")):
        source = (ROOT / "src" / "numloom" / path).read_text(encoding="utf-8")
        last = name.rpartition(".")[2]
        assert re.search(rf"^\s*(def|class) {last}\b|^{last}\b.*=", source, re.MULTILINE), f"{path} has no {name}"


def test_coverage_page_is_what_the_tool_writes() -> None:
    page = (ROOT / "docs" / "numpy-coverage.md").read_text(encoding="utf-8")
    if f"NumPy {'.'.join(np.__version__.split('.')[:2])};" not in page or not hasattr(np, "complex256"):
        pytest.skip("the page was written with another NumPy, or on a platform with other numbers")
    tool = [sys.executable, ROOT / "tools" / "numpy_coverage.py", "--check"]
    found = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert not found.returncode, f"run tools/numpy_coverage.py:\n{found.stdout}{found.stderr}"
