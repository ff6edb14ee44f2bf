"""One program in processes of its own: under NumPy, and under ``python -m numloom run``."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"
RTOL = 1e-7
"""Sums in another order differ in the last digits, and programs that go step by step make more of it."""


@dataclasses.dataclass
class Row:
    """What was found of a program.

    Attributes
    ----------
    name : str
        Which program it is.
    numpy, ours : list of float
        Seconds of each run, from the start of the process to its end; of ours, the first is not among them.
    first : float
        Seconds of our first run, which compiles and fills the cache.
    start : float
        Seconds of our start: an empty script that imports NumPy.
    elsewhere : float
        The share of our time that the report names no cause for.
    causes : dict
        Shares of our time by the report's causes.
    wrong : str
        How the answer differs from NumPy's; empty if it does not.
    """

    name: str
    numpy: list[float] = dataclasses.field(default_factory=list)
    ours: list[float] = dataclasses.field(default_factory=list)
    first: float = 0.0
    start: float = 0.0
    elsewhere: float = 0.0
    causes: dict[str, float] = dataclasses.field(default_factory=dict)
    wrong: str = ""

    @property
    def ratio(self) -> float:
        """Our best time over NumPy's."""
        return min(self.ours) / min(self.numpy)


def command(script: Path, *arguments: str, report: Path | None = None, plain: bool = False) -> list[str]:
    """The command line of a program: plain NumPy's, or ours with a report in a file."""
    if plain:
        return [sys.executable, str(script), *arguments]
    told = ["--report", "none"] if report is None else ["--report", "json", "--report-file", str(report)]
    return [sys.executable, "-m", "numloom", "run", *told, str(script), *arguments]


def seconds_of(line: list[str], cache: Path) -> float:
    """Seconds that a command takes, kernels being kept in a folder."""
    environment = {**os.environ, "NUMLOOM_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # Python compiles its modules anew each time where it is set.
    begin = time.perf_counter()
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"{' '.join(line)} failed: {done.stderr.strip()[-500:]}")
    return seconds


def wait_for_compilers(cache: Path) -> None:
    """Wait for what a first run has left to be compiled after its end."""
    folder = os.open(cache, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
    finally:
        os.close(folder)


def start_up(folder: Path, runs: int) -> tuple[float, float]:
    """The best seconds of an empty script that imports NumPy, under NumPy and under ours."""
    script = folder / "empty.py"
    script.write_text("import numpy\n", encoding="utf-8")
    both = [(seconds_of(command(script, plain=True), folder), seconds_of(command(script), folder)) for _ in range(runs)]
    return min(plain for plain, _ in both), min(ours for _, ours in both)


def measure(script: Path, folder: Path, runs: int, start: float) -> Row:
    """Run a program under both in turns, after a first run of ours, and compare the answers.

    Parameters
    ----------
    script : Path
        A program that saves its answer in the file that its first argument names.
    folder : Path
        Where answers, reports and compiled kernels go.
    runs : int
        How often each is run.
    start : float
        Seconds of our start.
    """
    row = Row(script.stem, start=start)
    answer, expected, report = (folder / f"{script.stem}{end}" for end in (".ours.npy", ".numpy.npy", ".json"))
    row.first = seconds_of(command(script, str(answer), report=report), folder)
    wait_for_compilers(folder)
    for _ in range(runs):
        row.numpy.append(seconds_of(command(script, str(expected), plain=True), folder))
        row.ours.append(seconds_of(command(script, str(answer), report=report), folder))
    told = json.loads(report.read_text(encoding="utf-8"))
    seconds = told["seconds"]
    whole = seconds["start"] + seconds["total"]
    row.elsewhere = seconds["elsewhere"] / whole
    row.causes = {name: value / whole for name, value in {"start": seconds["start"], **told["causes"]}.items()}
    row.wrong = difference(np.load(answer), np.load(expected))
    return row


def difference(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> str:
    """In what an answer is not NumPy's; empty if it is the same."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
    largest = float(np.nanmax(np.abs(expected.astype(float)), initial=0.0))
    far = ~np.isclose(found, expected, rtol=RTOL, atol=RTOL * largest, equal_nan=True)
    return f"{np.count_nonzero(far)} of {far.size} elements differ" if far.any() else ""
