"""Kernel texts of a few hundred fixed programs, and which of them a change changes: ``python -m benchmarks.texts``.

The programs are planned and emitted for GPUs and for the host; nothing is compiled or run, so that it takes seconds and
needs no GPU. With ``--against COMMIT`` the same programs are also planned and emitted by that commit's sources.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.texts.compare import any_change, compare, print_outcomes, print_refused, say, table_of_side
from benchmarks.texts.side import (
    ASKED_WRONG,
    PREFIX,
    ROOT,
    Incomparable,
    Unknown,
    committed,
    run_either,
    run_side,
    write,
)


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(prog="python -m benchmarks.texts", description=__doc__)
    found.add_argument("--against", metavar="COMMIT", help="compare with the texts of this commit's sources")
    found.add_argument("--show", type=int, default=5, metavar="N", help="differences to show (5)")
    found.add_argument("--strict", action="store_true", help="exit with status 1 if a text changed, came or went")
    found.add_argument("--only", default="", metavar="FAMILY,...", help="only these families")
    found.add_argument(
        "--write", type=Path, metavar="FILE",
        help="write the texts of the numloom that Python finds to a JSON file (how each side is run)",
    )  # fmt: skip
    return found


def against(console: Console, commit: str, only: tuple[str, ...], show: int) -> bool:
    """Print what changed since a commit, and say whether anything did, or may have."""
    with committed(commit) as tree:
        here = run_side(ROOT, only)
        try:
            there = run_either(tree, only)
        except Incomparable as error:
            say(console, f"{commit} cannot be compared: {error}")
            return True
    if there.note:
        say(console, f"texts of {commit} {there.note}")
    outcomes = compare(here, there)
    seconds = f"{here.seconds:.1f} s and {there.seconds:.1f} s"
    print_outcomes(console, outcomes, f"texts here and of {commit}, planned and emitted in {seconds}", show)
    return any_change(outcomes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, and give the status."""
    options = parser().parse_args(arguments)
    only = tuple(name.strip() for name in options.only.split(",") if name.strip())
    console = Console(width=150)
    try:
        if options.write is not None:
            write(options.write, only)
            return 0
        if options.against is not None:
            return int(against(console, options.against, only, options.show) and options.strict)
        here = run_side(ROOT, only)
    except (Unknown, Incomparable, ValueError) as error:
        print(f"{PREFIX}{error}", file=sys.stderr)
        return ASKED_WRONG
    console.print(table_of_side(here))
    print_refused(console, here, max(options.show, 5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
