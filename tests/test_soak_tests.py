"""The page of results of ``make soak-tests``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent / "tools" / "soak_tests.py"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="not in the source tree")
REPORT = """
<testsuites><testsuite>
<testcase classname="tests.api.test_one" name="test_a[1]" time="2.5"/>
<testcase classname="tests.api.test_one" name="test_a[2]" time="0.5"><failure message="assert 1 == 2&#10;more"/>
</testcase>
<testcase classname="tests.api.deep.test_two.TestClass" name="test_b" time="1">
<skipped message="needs a GPU"/></testcase>
<testcase classname="tests.test_three" name="test_c" time="0.25"><error>no such fixture</error></testcase>
</testsuite></testsuites>"""


def test_a_page_of_results(tmp_path: Path) -> None:
    specification = importlib.util.spec_from_file_location("soak_tests", TOOL)
    assert specification is not None and specification.loader is not None
    soak = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(soak)
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    text = soak.page(soak.results(report), "abc", "2026-11-30")
    assert "| . | 0 | 1 | 0 | 0 |\n| api | 1 | 1 | 1 | 4 |\n| all | 1 | 2 | 1 | 4 |" in text
    assert "- `tests/api/test_one::test_a[2]`: assert 1 == 2\n" in text and "no such fixture" in text
    assert text.index("test_a[1]`") > text.index("## The slowest")
    assert "Nothing." in soak.page([], "abc", "2026-11-30")
