"""Whole NumPy programs under ``python -m numloom run``, beside NumPy: ``python -m benchmarks.whole_programs``.

Each program runs in processes of its own, from their start to their end, under both in turns; the best run counts, and
our first, which compiles, not. The status is 1 if an answer is not NumPy's.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.whole_programs.timing import PROGRAMS, Row, measure, start_up

HEAD = f"{'program':<22}{'NumPy':>8}{'ours':>8}{'ratio':>7}{'first':>8}{'start':>7}{'else':>6}  largest causes"


def line(row: Row) -> str:
    """A row of the table."""
    causes = sorted(row.causes.items(), key=lambda item: -item[1])[:3]
    told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in causes if share >= 0.01)
    return (
        f"{row.name:<22}{min(row.numpy):>8.3f}{min(row.ours):>8.3f}{row.ratio:>7.2f}{row.first:>8.3f}"
        f"{100 * row.start / min(row.ours):>5.0f} %{100 * row.elsewhere:>4.0f} %  {told}"
        + (f"  WRONG: {row.wrong}" if row.wrong else "")
    )


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, run, print and save; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.whole_programs", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="words of names, comma-separated")
    parser.add_argument("--programs", type=Path, default=PROGRAMS, help="a folder of other programs")
    parser.add_argument("--runs", type=int, default=3, help="how often each runs (3)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    words = [word.strip() for word in options.only.split(",") if word.strip()]
    scripts = [
        script
        for script in sorted(options.programs.glob("*.py"))
        if not words or any(word in script.stem for word in words)
    ]
    if not scripts:
        parser.exit(2, "no program has such a name\n")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        plain, start = start_up(Path(folder), options.runs)
        print(f"start (seconds): NumPy {plain:.3f}, ours {start:.3f}, {start - plain:.3f} more")
        print(HEAD)
        for script in scripts:
            rows.append(measure(script, Path(folder), options.runs, start))
            print(line(rows[-1]), flush=True)
    if options.json:
        text = json.dumps({"start": [plain, start], "programs": [asdict(row) for row in rows]}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
