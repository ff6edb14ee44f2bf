"""Times of one program at one size, in a process of its own with an empty cache."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import clock
from benchmarks.small_work.catalogue import PROGRAMS
from benchmarks.small_work.program import Host, Program, difference, leaves

NUMPY_SECONDS, NUMPY_RUNS = 0.2, 20
RUNS = 3
# NumPy's time times the factor, plus seconds.
THIRD_GOAL, FIRST_GOAL = (1.3, 0.0), (2.0, 0.05)
GPU_THIRD_GOAL, GPU_FIRST_GOAL = (1.5, 0.0), (2.0, 0.3)


@dataclasses.dataclass
class Row:
    """What was found of a program at a size.

    Attributes
    ----------
    name, field, size
        Which program it is.
    numpy : float or None
        NumPy's best time in seconds.
    runs : list of float
        Seconds of numloom's first, second and third run, as far as they came.
    agrees : str
        "bits" or the tolerance within which every run gave NumPy's results; "" where no run ended.
    wrong : str
        How a result differs from NumPy's.
    note : str
        Why runs are missing, or that the process did not end after them.
    """

    name: str
    field: str
    size: int
    numpy: float | None = None
    runs: list[float] = dataclasses.field(default_factory=list)
    agrees: str = ""
    wrong: str = ""
    note: str = ""

    @property
    def first(self) -> float | None:
        """Seconds of the first run."""
        return self.runs[0] if self.runs else None

    @property
    def third(self) -> float | None:
        """Seconds of the third run."""
        return self.runs[RUNS - 1] if len(self.runs) >= RUNS else None

    def ratio(self, seconds: float | None) -> float | None:
        """A time over NumPy's."""
        return seconds / self.numpy if seconds is not None and self.numpy else None

    def reaches(self, seconds: float | None, goal: tuple[float, float]) -> bool:
        """Whether a run came, and within the goal."""
        factor, more = goal
        return seconds is not None and self.numpy is not None and seconds <= factor * self.numpy + more


def on_host(namespace: Any, result: Any) -> list[Host]:
    """The parts of a result as NumPy's arrays."""
    return [
        namespace.asnumpy(part) if isinstance(part, namespace.ndarray) and namespace is not np else np.asarray(part)
        for part in leaves(result)
    ]


def timed(program: Program, namespace: Any, size: int) -> tuple[float, list[Host]]:
    """Seconds of a run, until its results are on the host, and the results."""
    begin = clock()
    found = on_host(namespace, program(namespace, size))
    return clock() - begin, found


def run_one(name: str, size: int) -> None:
    """Run a program under NumPy and numloom in this process; print each finding as a line, in case we are stopped."""
    import numloom

    def say(**found: Any) -> None:
        print(json.dumps(found), flush=True)

    program = PROGRAMS[name]
    np.seterr(all="ignore")
    numloom.synchronize()  # the device is open before the clock starts
    begin, (best, expected) = clock(), timed(program, np, size)
    for _ in range(NUMPY_RUNS):
        best = min(best, timed(program, np, size)[0])
        if clock() - begin > NUMPY_SECONDS:
            break
    say(numpy=best)
    for number in range(RUNS):
        seconds, found = timed(program, numloom, size)
        wrong = difference(found, expected, program.rtol)
        same = difference(found, expected, 0) is None
        say(seconds=seconds, same=same, wrong=f"run {number + 1}, {wrong}" if wrong else "")


def run_apart(program: Program, size: int, limit: float) -> Row:
    """`run_one` in a fresh process with an empty kernel cache, stopped after `limit` seconds."""
    row = Row(program.name, program.field, size)
    command = [sys.executable, "-m", "benchmarks.small_work", "--one", program.name, str(size)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Files, not pipes: a compiler that outlives its process would hold a pipe open.
        out, errors = Path(folder, "out"), Path(folder, "errors")
        environment = {**os.environ, "NUMLOOM_CACHE_DIR": str(Path(folder, "cache"))}
        with out.open("w") as out_file, errors.open("w") as error_file:
            try:
                ended = subprocess.run(
                    command, env=environment, stdout=out_file, stderr=error_file, timeout=limit
                ).returncode
            except subprocess.TimeoutExpired:
                row.note = f"over {limit:g} s"
                ended = 0
        if ended:
            said = errors.read_text(errors="replace").strip().split("\n")[-1]
            row.note = (said or f"status {ended}")[:120]
        read_findings(row, out.read_text(), program.rtol)
    if row.note and row.third is not None:
        row.note += " after the third run"
    return row


def read_findings(row: Row, text: str, rtol: float) -> None:
    """Fill a row with the lines that `run_one` printed."""
    same = True
    for line in text.split("\n")[:-1]:  # a line without its end was cut off
        found = json.loads(line)
        if "numpy" in found:
            row.numpy = found["numpy"]
        else:
            row.runs.append(found["seconds"])
            same = same and found["same"]
            row.wrong = row.wrong or found["wrong"]
            row.agrees = "no" if row.wrong else "bits" if same else f"{rtol:g}"
