"""The pages of docs/: what they name is there, links lead somewhere, and the maps stay short."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = ("_build", "reference", "benchmarks", "cookbook")
"""Folders that making the site leaves there."""
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in GENERATED)
HISTORY = sorted((ROOT / "benchmarks" / "history").glob("*.md"))
INSIDE = ("design", "decisions", "walk")
"""Folders whose pages are about the code: there also files without their folder are looked for."""

SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(src|tests|tools|docs|benchmarks|examples)/[\w./-]*\w/?")
FILE = re.compile(r"_?\w+\.(py|pyx|pxd|hpp)")
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
CODE = re.compile(r"`[^`\n]+`")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NAMES = {path.name for folder in ("src", "tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.*")}
MOST_LINES = {"architecture.md": 150, "performance.md": 200}
MOST_OF_A_PARAGRAPH = 6


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def is_map(page: Path) -> bool:
    return page.parent.name in ("design", "decisions") or page.name == "architecture.md"


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_are_named_exist(page: Path) -> None:
    inside = page.parent.name in INSIDE or page.name.startswith(("architecture", "add-", "glossary"))
    missing = []
    for span in SPAN.findall(prose(page)):
        path = PATH.fullmatch(span)
        if (path and not (ROOT / span).exists()) or (inside and FILE.fullmatch(span) and span not in NAMES):
            missing.append(span)
    assert not missing


def anchors(page: Path) -> set[str]:
    """Names of a page's headings, as sites make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *HISTORY, ROOT / "README.md"], ids=name)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    missing = []
    for link in LINK.findall(CODE.sub("", prose(page))):
        target, _, anchor = link.partition("#")
        path = (page.parent / target) if target else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            missing.append(link)
    assert not missing


@pytest.mark.parametrize("page", MOST_LINES)
def test_maps_are_short(page: str) -> None:
    assert len((DOCS / page).read_text(encoding="utf-8").splitlines()) <= MOST_LINES[page]


def paragraphs(page: Path) -> Iterator[list[str]]:
    """Runs of lines of text; an item of a list is one of its own."""
    lines: list[str] = []
    for line in [*prose(page).splitlines(), ""]:
        ends = not line.strip() or line.startswith(("#", "|", "!["))
        if lines and (ends or re.match(r"\s*([-*]|\d+\.) ", line)):
            yield lines
            lines = []
        if not ends:
            lines.append(line)


@pytest.mark.parametrize("page", [page for page in PAGES if is_map(page)], ids=name)
def test_paragraphs_are_short(page: Path) -> None:
    long = [lines[0] for lines in paragraphs(page) if len(lines) > MOST_OF_A_PARAGRAPH]
    assert not long


def test_every_page_can_be_found() -> None:
    """Each page is linked from another one."""
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in [*PAGES, ROOT / "README.md"]
        for link in LINK.findall(prose(page))
    }
    lost = [name(page) for page in PAGES if page.resolve() not in linked and page != DOCS / "index.md"]
    assert not lost


TOOLS = {
    "pictures": ["tools/draw_docs.py"],
    "performance": ["-m", "benchmarks.page"],
    "memory": ["-m", "benchmarks.memory_page"],
}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_what_tools_write_is_what_they_would_write(tool: list[str]) -> None:
    assert not subprocess.run([sys.executable, *tool, "--check"], cwd=ROOT, check=False).returncode
