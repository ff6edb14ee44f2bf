"""``python -m benchmarks``: run cases under the installed libraries and compare."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.cases import CASES, Case
from benchmarks.libraries import LIBRARIES, Library
from benchmarks.measure import Measurement, copy_bandwidth, measure, results_agree
from benchmarks.report import Report, markdown, save_json, save_plot, table

# An H200 copies 4.3e12 bytes a second (measured, read plus written) and issues 132 × 128 × 1.98e9 instructions.
GPU_BYTES, GPU_INSTRUCTIONS = 4.3e12, 3.3e13


def main() -> int:
    """Read the command line, run, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--cases", default="", help="only cases whose name has one of these words (comma-separated)")
    parser.add_argument(
        "--libraries", default="", help=f"of {', '.join(LIBRARIES)}; all that are installed if not given"
    )
    parser.add_argument(
        "--sizes", choices=("small", "full"), help="small for a CPU, full for a GPU; by the device found"
    )
    parser.add_argument("--time-budget", type=float, default=300.0, help="seconds for the whole run")
    parser.add_argument("--cap", type=float, default=1.0, help="seconds of measuring a case and library")
    parser.add_argument("--first-cap", type=float, default=30.0, help="seconds after which one of them is given up")
    parser.add_argument("--check", action="store_true", help="also compare each library's results with NumPy's")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()

    words = [word.strip().lower() for word in options.cases.split(",") if word.strip()]
    cases = [case for case in CASES if not words or any(word in case.name.lower() for word in words)]
    if options.list:
        for case in cases:
            print(f"{'small' if case.small else 'full ':5}  {case.name}")
        return 0
    console = Console(width=None if os.isatty(1) else 200)
    libraries = open_libraries(console, options.libraries)
    if not libraries:
        parser.exit(2, "no library to run\n")
    on_gpu = any(library.device == "cuda" for library in libraries)
    if options.sizes is None:
        options.sizes = "full" if on_gpu else "small"
    if not words or options.sizes == "small":
        cases = [case for case in cases if case.small or options.sizes == "full"]

    report = Report(machine(on_gpu), {library.name: library.version for library in libraries})
    console.print(", ".join(f"{library.name} {library.version} on {library.device}" for library in libraries))
    console.print(f"{len(cases)} cases, {options.sizes}, at most {options.time_budget:.0f} s", highlight=False)
    wrong: list[str] = []
    end = time.monotonic() + options.time_budget
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(cases) * len(libraries))
        for number, case in enumerate(cases):
            inputs = case.inputs(np.random.default_rng(number))
            expected = run_numpy(case, inputs) if options.check else None
            found: dict[str, Measurement] = {}
            for index, library in enumerate(libraries):
                progress.update(task, description=escape(f"{case.name}: {library.name}"))
                left = end - time.monotonic()
                pairs = (len(cases) - number) * len(libraries) - index
                if left <= 0:
                    found[library.name] = Measurement(note="the time budget was used up")
                else:
                    # What quick pairs leave over goes to slow ones.
                    cap = min(options.cap, 2 * left / pairs)
                    hard_cap = min(options.first_cap, max(left, 0.1))
                    found[library.name] = measure(case, library, inputs, cap, hard_cap)
                    if options.check and found[library.name].seconds and not agrees(case, library, inputs, expected):
                        wrong.append(f"{case.name}: {library.name} does not agree with NumPy")
                    library.release()
                progress.advance(task)
            report.add(case, found)
    console.print(table(report))
    for line in wrong:
        console.print(line, style="red", markup=False)
    for path, save in ((options.json, save_json), (options.plot, save_plot)):
        if path:
            save(report, path)
            console.print(f"wrote {path}")
    if options.markdown:
        options.markdown.write_text(markdown(report) + "\n", encoding="utf-8")
        console.print(f"wrote {options.markdown}")
    return 1 if wrong else 0


def open_libraries(console: Console, names: str) -> list[Library]:
    """The libraries named (all installed ones, if none are), ready to use; says which are not."""
    wanted = [name.strip() for name in names.split(",") if name.strip()] or list(LIBRARIES)
    opened = []
    for name in wanted:
        if name not in LIBRARIES:
            raise SystemExit(f"there is no library {name!r}; there are {', '.join(LIBRARIES)}")
        if not LIBRARIES[name].installed():
            if names:
                console.print(f"{name} is not installed")
            continue
        try:
            opened.append(LIBRARIES[name]())
        except Exception as error:
            console.print(f"{name} does not start: {type(error).__name__}: {error}", markup=False)
    return opened


def machine(on_gpu: bool) -> dict[str, object]:
    """The machine's name and rates: an H200's for the GPU, measured for a CPU."""
    if on_gpu:
        return {"device": "GPU", "bytes_per_second": GPU_BYTES, "instructions_per_second": GPU_INSTRUCTIONS}
    threads = len(os.sched_getaffinity(0))
    return {
        "device": f"CPU, {threads} threads",
        "bytes_per_second": copy_bandwidth(threads),
        "instructions_per_second": None,
    }


def run_numpy(case: Case, inputs: tuple[np.ndarray, ...]) -> object:
    """The case's result under NumPy, leaving its inputs as they are."""
    with np.errstate(all="ignore"):
        return case.run(np, *(host.copy() for host in inputs))


def agrees(case: Case, library: Library, inputs: tuple[np.ndarray, ...], expected: object) -> bool:
    """Whether a library gives NumPy's result."""
    try:
        return results_agree(case, library, inputs, expected)
    except Exception:
        return False


if __name__ == "__main__":
    raise SystemExit(main())
