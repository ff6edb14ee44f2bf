"""Measure what each test reaches, and which parameters CI may leave out: ``python tools/reach [ARGUMENTS OF PYTEST]``.

The tree is copied and built by clang so that every edge of the compiled core counts when it is gone along
(``-fsanitize-coverage=inline-8bit-counters``); lines of Python are heard of through the interpreter. For each test
function the parameters are put in order by what they add for their time. Those that add nothing to the ones before them
are left out of CI: they stand in ``tests/soak.txt`` and run in ``make soak-tests``. Only functions that ran are written
anew.

An hour on two cores for the whole suite. ``--results FOLDER`` keeps what was measured, or reads it again where nothing
is to be run (``--read``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests")]
import telling  # noqa: E402

CHEAP = 0.05
"""Functions whose parameters take fewer seconds in all run whole: leaving some out would save nothing."""
FEW = 100
"""Functions that reach fewer places run whole: they read files, or have another process do their work."""
Tests = list[tuple[str, float, int]]
"""Parameters of a function in the order of their worth: name, seconds, places that it adds."""


def results(folder: Path) -> dict[str, Tests]:
    """What was measured, by test function."""
    lines = (line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines())
    found = (json.loads(line) for line in lines)
    return {one["function"]: [tuple(test) for test in one["tests"]] for one in found}


def left_out(tests: Tests) -> list[str]:
    """Parameters that reach nothing that the others of their function do not."""
    if sum(cost for _, cost, _ in tests) < CHEAP or tests[0][2] < FEW:
        return []
    kept = {telling.short(name) for name, _, gain in tests if gain}
    return [name for name, _, gain in tests if not gain and telling.short(name) not in kept]


def table(measured: dict[str, Tests]) -> str:
    """Parameters and seconds that stay and go, by folder of tests."""
    sums: dict[str, list[float]] = {}
    for function, tests in measured.items():
        parts = function.partition("::")[0].split("/")
        out = set(left_out(tests))
        for folder in (parts[1] if len(parts) > 2 else ".", "all"):
            row = sums.setdefault(folder, [0, 0, 0, 0])
            for name, cost, _ in tests:
                row[0] += 1
                row[1] += name not in out
                row[2] += cost
                row[3] += cost * (name not in out)
    head = f"{'folder':16}{'tests':>8}{'in CI':>8}{'seconds':>10}{'in CI':>10}\n"
    rows = sorted(sums.items(), key=lambda item: (item[0] == "all", -item[1][2]))
    return head + "".join(f"{folder:16}{a:8.0f}{b:8.0f}{c:10.1f}{d:10.1f}\n" for folder, (a, b, c, d) in rows)


def measure(folder: Path, arguments: list[str]) -> None:
    """Build a copy of the tree that counts, and run the tests of these arguments there."""
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made)
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["xargs", "-0", "cp", "--parents", "-t", copy], input=files, cwd=ROOT, check=True)
        library, counted = copy / "reach.so", "-O1 -fsanitize-coverage=inline-8bit-counters"
        headers = f"-I{sysconfig.get_path('include')}"
        subprocess.run(["clang", "-O2", "-shared", "-fPIC", headers, HERE / "reach.c", "-o", library], check=True)
        building = {"CC": "clang", "CXX": "clang++", "CFLAGS": counted, "CXXFLAGS": counted}
        command = [sys.executable, "tools/build_inplace.py", "--jobs", str(os.cpu_count())]
        subprocess.run(command, cwd=copy, check=True, env={**os.environ, **building})
        folder.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy / "tools" / "reach")]),
            "LD_PRELOAD": str(library),
            "NUMLOOM_REACH": os.pathsep.join([str(library), str(copy / "src" / "numloom") + "/", str(folder)]),
            "NUMLOOM_CACHE_DIR": str(copy / "cache"),
            "NUMLOOM_TEST_AGAIN": "2",
            "NUMLOOM_PROGRAMS": "800",
        }
        workers = ["-n", str(os.cpu_count()), "--dist", "loadfile"]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", *workers, *arguments]
        subprocess.run(command, cwd=copy, env=environment, check=False)


def main() -> None:
    """Measure, write ``tests/soak.txt`` and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "reach", help="folder of what was measured")
    parser.add_argument("--read", action="store_true", help="measure nothing, read the folder")
    options, arguments = parser.parse_known_args()
    if not options.read:
        for path in options.results.glob("*.jsonl"):
            path.unlink()
        measure(options.results, arguments)
    measured = results(options.results)
    known = telling.read(telling.LEFT_OUT.read_text(encoding="utf-8")) if telling.LEFT_OUT.exists() else {}
    lines = {function: sorted(shorts) for function, shorts in known.items() if function not in measured}
    for function, tests in measured.items():
        # With --telling, what was left out before did not run, and stays out.
        before = known.get(function, ()) if "--telling" in arguments else ()
        if names := {*before, *map(telling.short, left_out(tests))}:
            lines[function] = sorted(names)
    telling.LEFT_OUT.write_text(telling.written(lines), encoding="utf-8")
    print(table(measured))


if __name__ == "__main__":
    main()
