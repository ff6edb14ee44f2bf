"""Let random faults happen to random programs, and tell what was lost: ``python tools/soak.py [--minutes 10]``.

Workers (tests/faults/soaked.py) do array work that is compared with NumPy's, each in a folder of its own for temporary
files. What they cannot do to themselves is done from here: signals, kills, compilers that fail. Lost is a wrong value,
a process without an end or ended by a signal that nobody sent, an interrupt that nobody saw, a file that stays, growth
without an end. The exit status is 1 where anything was lost. ``--page`` writes the table into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import functools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
WORKER = TESTS / "faults" / "soaked.py"
GROWING = TESTS / "faults" / "growing.py"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: python tools/soak.py --page -->\n", "<!-- end of the table -->\n"

sys.path.insert(0, str(TESTS / "faults"))
SLICE = 20.0
"""Seconds of a kind before the next one has its turn."""
GRACE = 90.0
"""Seconds that a worker may take beyond its time before it has no end."""
SHOWN = 20
"""Losses that are told in full."""
UNHEARD = re.compile(r"Exception ignored in.*|Fatal Python error.*|Traceback \(most recent call last\)")
"""What a worker must not say by the way."""


@dataclass
class Tally:
    """Faults of a kind: how many were met, and what was lost."""

    tried: int = 0
    lost: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count another one's."""
        self.tried += other.tried
        self.lost += other.lost


class Ended(NamedTuple):
    """A worker that ended: its lines, its exit status (None: it had to be ended), what it said on stderr."""

    lines: list[str]
    status: int | None
    said: str


@dataclass(frozen=True)
class Folder:
    """Where workers live: their temporary files, their cache."""

    path: Path

    @property
    def temporary(self) -> Path:
        """For temporary files."""
        return self.path / "temporary"

    @property
    def cache(self) -> Path:
        """For kernels."""
        return self.path / "cache"

    def environment(self) -> dict[str, str]:
        """What workers find; memory that nobody wrote is no zero."""
        modules = [ROOT / "src", TESTS, TESTS / "faults", TESTS / "properties"]
        return {
            **os.environ, "TMPDIR": str(self.temporary), "NUMLOOM_CACHE_DIR": str(self.cache), "NUMLOOM_POISON": "1",
            "PYTHONPATH": os.pathsep.join(map(str, modules)), "PYTHONFAULTHANDLER": "1", "NUMLOOM_DEVICE": "cpu",
            "NUMLOOM_FULL_TRACEBACKS": "1",
        }  # fmt: skip

    def processes(self) -> list[int]:
        """Processes that live here."""
        mark, found = os.fsencode(self.path), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass  # It ended, or is another user's.
        return found

    def left(self, seconds: float = 10.0) -> list[str]:
        """What workers that are gone have left: processes that do not end, files that nobody removes."""
        until = time.monotonic() + seconds
        while (running := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        found = [f"process {number} goes on" for number in running]
        names = [*self.temporary.iterdir(), *(self.cache.glob(".new-*") if self.cache.exists() else ())]
        return found + [f"{path.relative_to(self.path)} stays" for path in names]


@contextmanager
def new_folder() -> Iterator[Folder]:
    """A folder that goes with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="soak-") as path:
        folder = Folder(Path(path))
        folder.temporary.mkdir()
        yield folder


# ---------------------------------------------------------------- workers


def attend(
    command: list[str], folder: Folder, seconds: float, go: Callable[[subprocess.Popen[str], str], None] | None = None,
    more: dict[str, str] | None = None,
) -> Ended:  # fmt: skip
    """Start a worker and read its lines to the end, which must come within so many seconds; `go` hears each of them."""
    hung = threading.Event()
    lines: list[str] = []
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env={**folder.environment(), **(more or {})}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, start_new_session=True,
        )  # fmt: skip

        def give_up() -> None:
            hung.set()
            process.send_signal(signal.SIGABRT)  # So that it tells where its threads are.
            time.sleep(1)
            process.kill()

        timer = threading.Timer(seconds, give_up)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if go is not None:
                    go(process, lines[-1])
            status = process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.wait()
        said.seek(0)
        return Ended(lines, None if hung.is_set() else status, said.read())


def judge(ended: Ended, killed: bool = False) -> Tally:
    """What a worker's end says: its lines, how it ended, and what it said by the way."""
    verdicts = [line for line in ended.lines if line == "held" or line.startswith("lost")]
    lost = [line[5:] for line in verdicts if line != "held"]
    if ended.status is None:
        lost.append(f"no end after {ended.lines[-1:]}: {tail(ended.said)}")
    elif killed and ended.status == -signal.SIGKILL:
        pass
    elif ended.status < 0:
        lost.append(f"ended by signal {-ended.status} after {ended.lines[-1:]}: {tail(ended.said)}")
    elif ended.status or ended.lines[-1:] != ["end"]:
        lost.append(f"ended with {ended.status} after {ended.lines[-1:]}: {tail(ended.said)}")
    elif found := UNHEARD.search(ended.said):
        lost.append(f"on stderr: {' '.join(ended.said[found.start() :].split())[:600]}")
    return Tally(max(len(verdicts), len(lost)), lost)


def tail(said: str) -> str:
    """The last words, or where the thread stood that ended the process."""
    found = re.search(r"Current thread.*?(?=\n\n|\Z)", said, re.DOTALL)
    return " ".join((found[0] if found else said).split())[slice(None, 900) if found else slice(-600, None)]


def checked(tally: Tally, folder: Folder) -> Tally:
    """A tally, and what was left in the folder."""
    left = folder.left()
    return Tally(max(tally.tried, len(left)), tally.lost + left)


# ---------------------------------------------------------------- kinds of faults


class Turn(NamedTuple):
    """A turn of a kind: its random numbers, seconds, how many faults (0: as many as there is time for), kernels."""

    rng: random.Random
    seconds: float
    count: int
    kernels: int

    def command(self, kind: str) -> list[str]:
        """The worker of a kind."""
        return [str(WORKER), kind, str(self.rng.random()), str(self.seconds), str(self.count)]


def alone(kind: str) -> Callable[[Turn], Tally]:
    """A kind whose workers meet their faults by themselves."""

    def meet(turn: Turn) -> Tally:
        with new_folder() as folder:
            return checked(judge(attend(turn.command(kind), folder, turn.seconds + GRACE)), folder)

    return meet


def interrupts(turn: Turn) -> Tally:
    """SIGINT, some time after the worker asks for it."""

    def go(process: subprocess.Popen[str], line: str) -> None:
        if line.startswith("go "):
            time.sleep(turn.rng.random() * float(line[3:]))
            process.send_signal(signal.SIGINT)

    with new_folder() as folder:
        found = judge(attend(turn.command("interrupts"), folder, turn.seconds + GRACE, go))
        found.lost += afterwards(turn, folder)
        return found


def afterwards(turn: Turn, folder: Folder) -> list[str]:
    """What is lost by then: a next process compiles, which removes what others could not, and nothing stays."""
    command = [str(WORKER), "kernels", str(turn.rng.random()), "0", "1"]
    return judge(attend(command, folder, GRACE)).lost + folder.left()


def forks(turn: Turn) -> Tally:
    """Children that end without cleaning up, as a fork's do."""
    with new_folder() as folder:
        found = judge(attend(turn.command("forks"), folder, turn.seconds + GRACE))
        found.lost += afterwards(turn, folder)
        return found


def kills(turn: Turn) -> Tally:
    """SIGKILL at any moment of workers that compile and keep; who comes next is right, and nothing of them stays."""
    found = Tally()
    with new_folder() as folder:
        until, rounds, lasts = time.monotonic() + turn.seconds, 0, 3.0
        while rounds < turn.count if turn.count else time.monotonic() < until:
            rounds += 1
            seed = str(turn.rng.random())
            command = [str(WORKER), "kernels", seed, "0", "3"]
            for _ in range(min(turn.count or 3, 3)):
                delay = turn.rng.random() * lasts

                def go(process: subprocess.Popen[str], line: str, delay: float = delay) -> None:
                    if line == "ready":
                        threading.Timer(delay, process.kill).start()

                ended = attend(command, folder, GRACE, go)
                found.add(Tally(1, judge(ended, killed=True).lost))
            start = time.monotonic()
            found.lost += judge(attend(command, folder, GRACE)).lost
            found.lost += afterwards(turn, folder)
            lasts = max(time.monotonic() - start, 1.0)
    return found


def compilers(turn: Turn) -> Tally:
    """A compiler that fails as the worker says."""
    real = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++") or "c++"
    with new_folder() as folder:
        script, armed = folder.path / "compiler", folder.path / "armed"
        make = f"import soaked; print(soaked.compiler_script({real!r}, {str(armed)!r}), end='')"
        made = subprocess.run(
            [sys.executable, "-c", make], env=folder.environment(), capture_output=True, text=True, check=True
        )
        script.write_text(made.stdout)
        script.chmod(0o755)
        more = {"CXX": str(script), "SOAK_ARMED": str(armed)}
        return checked(judge(attend(turn.command("compilers"), folder, turn.seconds + GRACE, None, more)), folder)


def entries(turn: Turn) -> Tally:
    """Entries of one cache, damaged again and again."""
    found = Tally()
    with new_folder() as folder:
        until, rounds = time.monotonic() + turn.seconds, 0
        while rounds <= turn.count if turn.count else time.monotonic() < until:
            rounds += 1  # The first one fills the cache.
            found.add(judge(attend([str(WORKER), "entries", str(turn.rng.random()), "0", "4"], folder, GRACE)))
        return checked(found, folder)


def growth(turn: Turn) -> Tally:
    """Kernels and programs in one process, which stays as large; each is one that was tried."""
    from grown import MANY, grown

    found = Tally()
    room = max(min(turn.kernels // 8, 256), 4)
    with new_folder() as folder:
        for kind, count in (("kernels", turn.kernels), ("programs", turn.kernels // 4)):
            ended = attend([str(GROWING), kind, str(count), str(room)], folder, GRACE + count)
            lost = judge(Ended([*ended.lines, "end"], ended.status, ended.said)).lost
            lines = [[int(word) for word in line.split()] for line in ended.lines]
            found.add(Tally(count, lost or grown(lines, room, memory=count >= MANY)))
        return checked(found, folder)


class Kind(NamedTuple):
    """A row of the table: what happens, how, and whether it has one turn alone."""

    fault: str
    meet: Callable[[Turn], Tally]
    once: bool = False


KINDS: dict[str, Kind] = {
    "interrupts": Kind("Ctrl-C at a random moment", interrupts),
    "kills": Kind("SIGKILL while kernels are compiled and kept", kills),
    "memory": Kind("memory that runs out (RLIMIT_AS)", alone("memory")),
    "failures": Kind("an allocation, copy, launch, compilation or file that fails", alone("failures")),
    "compilers": Kind("a compiler that is killed, slow, short of memory or disk, or writes half", compilers),
    "entries": Kind("damaged and crafted entries of the cache", entries),
    "stacks": Kind("threads of 64 KB (products of matrices: 256 KB)", alone("stacks")),
    "growth": Kind("kernels that all differ, in one process", growth, once=True),
    "threads": Kind("many threads at once", alone("threads")),
    "forks": Kind("a fork while threads evaluate", forks),
    "wrong calls": Kind("calls with arguments that make no sense", alone("wrong_calls")),
}


COMPILED = ("interrupts", "growth", "threads", "forks")
"""Kinds that the uncompiled core does not promise to stand."""


@functools.cache
def left_out() -> dict[str, str]:
    """Kinds that cannot be tried here, and why."""
    found = {}
    if not (TESTS / "faults" / "wrong_calls.py").exists():
        found["wrong calls"] = "tests/faults/wrong_calls.py is not there"
    asked = "from numloom.device.cpu import threads; print(threads.compiled is not None)"
    with new_folder() as folder:
        said = subprocess.run(
            [sys.executable, "-c", asked], env=folder.environment(), capture_output=True, text=True, check=True
        )
    if said.stdout.strip() != "True":
        found |= dict.fromkeys(COMPILED, "the core is not compiled")
    return found


# ---------------------------------------------------------------- the run


def in_turn(kinds: dict[str, Kind], once: bool) -> Iterator[str]:
    """Names of kinds, for ever unless `once`."""
    yield from kinds
    again = [name for name, kind in kinds.items() if not kind.once]
    while again and not once:
        yield from again


def soak(kinds: dict[str, Kind], minutes: float, jobs: int, kernels: int, count: int, seed: int) -> dict[str, Tally]:
    """Give the kinds turns until the time is over, `jobs` at once, or with `count` one turn of so many faults each."""
    found = {name: Tally() for name in kinds}
    start, lock = time.monotonic(), threading.Lock()
    until = start + minutes * 60
    seconds = min(SLICE, minutes * 60 * jobs / len(kinds))
    names = enumerate(in_turn(kinds, once=count > 0))

    def work() -> None:
        while True:
            with lock:
                number, name = next(names, (0, None))
            if name is None or (number >= len(kinds) and time.monotonic() + seconds / 2 > until):
                return
            turn = Turn(random.Random(f"{seed} {number}"), seconds, count, kernels)
            tally = kinds[name].meet(turn)
            with lock:
                found[name].add(tally)
                for text in tally.lost[:SHOWN]:
                    print(f"  LOST, {kinds[name].fault} (turn {number} of seed {seed}): {text}")
                passed = int(time.monotonic() - start)
                print(f"{passed // 60:3}:{passed % 60:02} {kinds[name].fault}: {tally.tried} tried, "
                      f"{len(tally.lost)} lost", flush=True)  # fmt: skip

    with concurrent.futures.ThreadPoolExecutor(jobs) as executor:
        for done in [executor.submit(work) for _ in range(jobs)]:
            done.result()
    return found


def table(kinds: dict[str, Kind], found: dict[str, Tally]) -> str:
    """The table in Markdown."""
    rows = [(kinds[name].fault, tally.tried, len(tally.lost)) for name, tally in found.items()]
    rows.append(("all", sum([tried for _, tried, _ in rows]), sum([lost for *_, lost in rows])))
    lines = ["| fault | tried | held | lost |", "|---|---:|---:|---:|"]
    lines += [f"| {fault} | {tried:,} | {max(tried - lost, 0):,} | {lost:,} |" for fault, tried, lost in rows]
    return "\n".join(lines) + "\n"


def heading(minutes: float) -> str:
    """When, where and of what."""
    import numpy

    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    python = ".".join(map(str, sys.version_info[:2]))
    return (
        f"{datetime.date.today()}, commit {commit or 'unknown'}, {minutes:g} minutes on "
        f"{os.cpu_count()} CPU cores, Python {python}, NumPy {numpy.__version__}:\n"
    )


def write_page(text: str) -> None:
    """Put the table between the marks of the page."""
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}{text}{END}{rest.split(END)[1]}", encoding="utf-8")


def main(given: list[str] | None = None) -> int:
    """Read the command line, run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=2, help="workers at once")
    parser.add_argument("--kernels", type=int, help="kernels that all differ (40 a minute)")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), help="these alone")
    parser.add_argument("--count", type=int, default=0, help="one turn of so many faults a kind, whatever it takes")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--page", action="store_true", help="write the table into docs/reliability.md")
    options = parser.parse_args(given)
    if not sys.platform.startswith("linux"):
        parser.error("faults are made and seen by Linux's means")
    missing = left_out()
    asked = options.kinds or list(KINDS)
    kinds = {name: kind for name, kind in KINDS.items() if name in asked and name not in missing}
    for name in missing.keys() & asked:
        print(f"left out: {KINDS[name].fault} ({missing[name]})")
    if not kinds:
        return 0
    kernels = options.kernels or max(int(40 * options.minutes), 16)
    print(f"{len(kinds)} kinds of faults, seed {options.seed}", flush=True)
    found = soak(kinds, options.minutes, options.jobs, kernels, options.count, options.seed)
    text = f"{heading(options.minutes)}\n{table(kinds, found)}"
    print(f"\n{text}")
    if options.page:
        write_page(f"{text}\n")
    return 1 if any(tally.lost for tally in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
