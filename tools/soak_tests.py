"""Run every test with every parameter, without a time limit: ``python tools/soak_tests.py [ARGUMENTS OF PYTEST]``.

CI leaves parameters out that reach what others reach (tests/telling.py), has most kernels compiled without much
optimizing (tests/levels.py), and runs few random programs and faults; here all run and all are compiled as users get
them, with forty times as many programs, three times as many faults and 20,000 different kernels in one process.
``build/soak-tests.md`` is the page of results: by folder, what failed, what took longest.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "build" / "soak-tests.md"
MORE = {"NUMLOOM_PROGRAMS": "80000", "NUMLOOM_TEST_FAULTS": "15", "NUMLOOM_TEST_KERNELS": "20000"}
SLOWEST = 20


class Result(NamedTuple):
    """One test: its folder below tests/, name, outcome, seconds, and what it said where it failed."""

    folder: str
    name: str
    outcome: str
    seconds: float
    said: str


def results(report: Path) -> list[Result]:
    """Tests of a report in JUnit's form."""
    found = []
    for case in xml.parse(report).iter("testcase"):
        parts = case.get("classname", "").split(".")
        folder = parts[1] if len(parts) > 2 else "."
        wrong = next((child for child in case if child.tag in ("failure", "error")), None)
        skipped = any(child.tag == "skipped" for child in case)
        outcome = "failed" if wrong is not None else "skipped" if skipped else "passed"
        said = "" if wrong is None else (wrong.get("message") or wrong.text or "").strip()
        name = f"{'/'.join(parts)}::{case.get('name')}"
        found.append(Result(folder, name, outcome, float(case.get("time", 0)), said))
    return found


def page(tests: list[Result], commit: str, day: str) -> str:
    """The page of results in Markdown."""
    rows: dict[str, list[float]] = {}
    for test in tests:
        for folder in (test.folder, "all"):
            row = rows.setdefault(folder, [0, 0, 0, 0.0])
            row[("passed", "failed", "skipped").index(test.outcome)] += 1
            row[3] += test.seconds
    lines = [f"# Every test with every parameter, {day}, commit {commit}", ""]
    lines += ["| folder | passed | failed | skipped | seconds |", "|---|---|---|---|---|"]
    for folder, (passed, failed, skipped, seconds) in sorted(rows.items(), key=lambda row: (row[0] == "all", row[0])):
        lines.append(f"| {folder} | {passed:.0f} | {failed:.0f} | {skipped:.0f} | {seconds:.0f} |")
    failures = [test for test in tests if test.outcome == "failed"]
    lines += ["", "## What failed", ""] + [f"- `{test.name}`: {test.said.splitlines()[0][:300]}" for test in failures]
    lines += [] if failures else ["Nothing."]
    lines += ["", f"## The slowest {SLOWEST}", "", "| seconds | test |", "|---|---|"]
    slowest = sorted(tests, key=lambda test: -test.seconds)[:SLOWEST]
    return "\n".join(lines + [f"| {test.seconds:.1f} | `{test.name}` |" for test in slowest]) + "\n"


def main() -> int:
    """Run, write the page, and give pytest's exit status."""
    PAGE.parent.mkdir(exist_ok=True)
    report = PAGE.with_suffix(".xml")
    report.unlink(missing_ok=True)
    given = sys.argv[1:] or ["-n", str(os.cpu_count()), "tests"]
    command = [sys.executable, "-m", "pytest", "-q", "-o", "timeout=0", f"--junitxml={report}", *given]
    code = subprocess.run(command, cwd=ROOT, env={**MORE, **os.environ}, check=False).returncode
    if not report.exists():
        return code
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    PAGE.write_text(page(results(report), commit, f"{datetime.date.today()}"), encoding="utf-8")
    print(f"the results stand in {PAGE.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
