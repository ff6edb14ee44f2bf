"""Write docs/performance.md from the JSON of the last full run: ``python -m benchmarks.page``.

``benchmarks/history/last_run.json`` holds the run: the table beside the other libraries as ``python -m benchmarks
--json`` writes it, and tables of other benchmarks as they print them. A new run is taken in by its part's name:

    python -m benchmarks.page --take peers=run.json --take curve=curve.md

``--check`` writes nothing, and fails where the page is not what it would write.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.measure import Measurement
from benchmarks.report import OURS, Report, markdown

ROOT = Path(__file__).resolve().parent.parent
RUN = Path(__file__).resolve().parent / "history" / "last_run.json"
PAGE = ROOT / "docs" / "performance.md"

INTRODUCTION = """\
# Measured performance

Times are µs a call (median). *Floor* is the time to move each input and output once, or to issue the instructions,
whichever is longer. *Best peer ÷ ours* above 1 means that numloom is faster than every other library in the table.
[How to measure](../benchmarks/README.md), [what was measured before](../benchmarks/history/index.md), and
[what was tried and was slower](decisions/index.md) have pages of their own.

This page is written by `python -m benchmarks.page` from `benchmarks/history/last_run.json`.
"""


class Recorded(Report):
    """A report as its JSON has it: ratios and shares are those that were computed from the exact times."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told["machine"], told["versions"])
        self.told = {case["case"]: case for case in told["cases"]}
        for name, case in self.told.items():
            self.cases[name] = {library: Measurement(**item) for library, item in case["libraries"].items()}
            self.floors[name] = case["floor"]

    def ratio(self, name: str) -> float | None:
        found: float | None = self.told[name]["ratio_to_best_peer"]
        return found

    def share(self, name: str) -> float | None:
        found: float | None = self.told[name]["share_of_floor"]
        return found


def behind(report: Report, reasons: dict[str, str]) -> list[str]:
    """A table of the cases in which another library is faster, and why as far as `reasons` know (by their starts)."""
    lines = ["| case | best peer ÷ ours | why |", "| --- | ---: | --- |"]
    for name in report.cases:
        ratio = report.ratio(name)
        if ratio is not None and ratio < 1:
            why = next((text for start, text in reasons.items() if name.startswith(start)), "not looked into")
            lines.append(f"| {name} | {ratio:.2f} | {why} |")
    return lines


def rows(table: list[list[str]]) -> list[str]:
    """A table in Markdown; numbers stand on the right."""
    head, *body = table
    right = [all(row[k][:1].isdigit() or row[k][:1] in "–-" for row in body) for k in range(len(head))]
    return [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join("---:" if each else "---" for each in right) + " |",
        *("| " + " | ".join(row) + " |" for row in body),
    ]


def page(run: dict[str, Any]) -> str:
    """The whole page."""
    peers = Recorded(run["peers"])
    others = ", ".join(f"{library} {version}" for library, version in peers.versions.items() if library != OURS)
    lines = [INTRODUCTION, "## Beside other libraries", "", f"Beside {others}.", *run["peers"]["about"]]
    lines += ["", markdown(peers), "", "### What is behind, and why", ""]
    lines += [*behind(peers, run["reasons"]), ""]
    for part in run["parts"]:
        lines += [f"## {part['title']}", "", *part["about"], "", *rows(part["table"]), ""]
        lines += [*part["notes"], ""] if part["notes"] else []
    return "\n".join(lines).rstrip("\n") + "\n"


def table_of(text: str) -> list[list[str]]:
    """The cells of the first table of a Markdown text."""
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("|"))
    found = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if set("".join(cells)) - set("-: "):
            found.append(cells)
    return found


def take(run: dict[str, Any], name: str, path: Path) -> None:
    """Put a new measurement in the place of a part."""
    text = path.read_text(encoding="utf-8")
    if name == "peers":
        run["peers"].update(json.loads(text))
        return
    part = next((part for part in run["parts"] if part["name"] == name), None)
    if part is None:
        known = ", ".join(["peers", *(part["name"] for part in run["parts"])])
        raise SystemExit(f"there is no part {name!r}; there are {known}")
    part["table"] = table_of(text)


def main() -> None:
    """Read the command line, write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", action="append", default=[], metavar="PART=FILE")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    run = json.loads(RUN.read_text(encoding="utf-8"))
    for given in options.take:
        name, _, file = given.partition("=")
        take(run, name, Path(file))
    if options.take:
        RUN.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print("say in its text when and where that was measured: 'about' in", RUN.name)
    if not options.check:
        PAGE.write_text(page(run), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page(run):
        raise SystemExit("docs/performance.md is not what its run says: python -m benchmarks.page")


if __name__ == "__main__":
    main()
