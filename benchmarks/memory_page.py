"""Write what was measured into docs/memory.md: ``python -m benchmarks.memory_page``.

``benchmarks/history/memory_run.json`` holds the last runs by their part's name, as the benchmarks write them with
``--json``. A new run is taken in by

    python -m benchmarks.memory_page --take pool_off=pool_off.json --take sizes=sizes.json --take pools=pools.json

Only what stands under the heading "Measured" is written. ``--check`` writes nothing, and fails where the page is not
what it would write.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import pool_off, pools, sizes
from benchmarks.page import ROOT
from benchmarks.page import rows as markdown

RUN = Path(__file__).resolve().parent / "history" / "memory_run.json"
PAGE = ROOT / "docs" / "memory.md"
HEADING = "## Measured\n"
NOTHING = """\
No run has been taken in yet. What was measured before stands in
[coming from CuPy](howto-cupy.md#times-beside-cupys) and in [the page of the pool](design/memory.md)."""


@dataclass(frozen=True)
class Part:
    """One benchmark on the page: what is said of it, its rows and their table, and its picture under docs/."""

    title: str
    about: str
    row: Callable[..., Any]
    table: Callable[[list[Any]], list[list[str]]]
    picture: str = ""


PARTS = {
    "pool_off": Part(
        "What the pool is for",
        """\
`a.T * 2` of a million float32 numbers, 1000 times (`python -m benchmarks.pool_off --cupy`). *Off*: each result's memory
comes from the driver and goes back to it.""",
        pool_off.Row,
        pool_off.table,
    ),
    "sizes": Part(
        "One expression by size",
        """\
The same expression by size, with the default [placement](placement.md)
(`python -m benchmarks.sizes --cupy`). *Of the bandwidth* counts each number as read and written once; up to some ten
megabytes stay in the GPU's cache.""",
        sizes.Row,
        sizes.table,
        "sizes.svg",
    ),
    "pools": Part(
        "Programs whose sizes change",
        """\
Allocations and frees of programs whose batch and sequence lengths change, replayed by several pools
(`python -m benchmarks.pools`). *Fragmentation*: the most bytes held over the most bytes in use. *Blocks*: how often the
device was asked. *ns*: an allocation with its free. The best-fit pool is a simulation in Python, without a driver.""",
        pools.Row,
        pools.table,
        "pools.svg",
    ),
}


def told(run: dict[str, Any]) -> str:
    """When, where and of which versions a run is."""
    about = run["about"]
    versions = ", ".join(f"{library} {version}" for library, version in about["versions"].items())
    return f"{about['date']}, {about['device']}: {versions}."


def table(part: Part, run: dict[str, Any]) -> list[str]:
    """The lines of a part's table."""
    return markdown(part.table([part.row(**row) for row in run["rows"]]))


def measured(runs: dict[str, Any]) -> str:
    """What stands under the heading: the parts of which there is a run."""
    if not runs:
        return NOTHING
    lines = ["Written by `python -m benchmarks.memory_page` from `benchmarks/history/memory_run.json`.", ""]
    for name, part in PARTS.items():
        if name not in runs:
            continue
        run = runs[name]
        lines += [f"### {part.title}", "", part.about, "", told(run), "", *table(part, run), ""]
        if part.picture:
            lines += [f"![{part.title}]({part.picture})", ""]
    return "\n".join(lines)


def page(text: str, runs: dict[str, Any]) -> str:
    """The page with its last part written anew."""
    before, heading, _ = text.partition(HEADING)
    if not heading:
        raise SystemExit(f"{PAGE.name} has no heading {HEADING.strip()!r}")
    return f"{before}{heading}\n{measured(runs).rstrip()}\n"


def take(runs: dict[str, Any], given: list[str]) -> None:
    """Put new runs, as ``PART=FILE``, in the place of their parts."""
    for each in given:
        name, _, file = each.partition("=")
        if name not in PARTS:
            raise SystemExit(f"there is no part {name!r}; there are {', '.join(PARTS)}")
        runs[name] = json.loads(Path(file).read_text(encoding="utf-8"))


def main() -> None:
    """Read the command line, write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", action="append", default=[], metavar="PART=FILE")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    runs = json.loads(RUN.read_text(encoding="utf-8"))
    take(runs, options.take)
    if options.take:
        RUN.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    before = PAGE.read_text(encoding="utf-8")
    after = page(before, runs)
    if not options.check:
        PAGE.write_text(after, encoding="utf-8")
    elif before != after:
        raise SystemExit("docs/memory.md is not what its runs say: python -m benchmarks.memory_page")


if __name__ == "__main__":
    main()
