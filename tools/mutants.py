"""Whether the tests notice small changes of the sources: ``python tools/mutants.py --count 60 --seed 1``.

Changes (`mutations.py`) are chosen by chance and tried one by one in a copy of the tree, each with the tests that stand
near the changed file, then with those of the room (the folder that mirrors it) that name the changed function, with
random programs and calls again, all of the room, and at last with more parameters of these. What ``make soak-tests``
alone runs is left out: a change that it notices survives. A test that fails catches the change, as do a crash and a
run without end. A module that others are not compiled against runs uncompiled; others are compiled anew, without
optimisation. Where a header of kernels is changed there are no loops that were built before.

Results are kept in ``build/mutants``, so that a second call goes on. What survives needs a test, or it is told in
``tools/mutants_equal.txt`` why it changes nothing that a test can see.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutations import ROOMS, SUFFIXES, Mutant, applied, choose, mutants_of

ROOT = Path(__file__).resolve().parent.parent
EQUAL = ROOT / "tools" / "mutants_equal.txt"
WORK = ROOT / "build" / "mutants"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")

CAUGHT, HANGS, SURVIVED, NOT_COMPILED, EQUAL_ONE = "caught", "hangs", "survived", "not compiled", "equal"
NEAR = 4
"""So many files of tests, at most, stand near a source."""
PATIENCE = 3.0
"""So many times longer than unchanged may tests take."""
START = 60.0
"""Seconds that tests may take beside."""
BUSY = 4
"""So many times as long may tests take where they mostly wait for others on the machine."""
PROGRAMS = 60
"""Random programs."""
MORE = {"plan": 1, "graph": 1, "array": 1, "api": 2}
"""Of the other parameters of a room's tests one in so many is tried at last; those of other rooms take too long."""
MEMORY = 16 << 30
"""Bytes of addresses that tests may have; the emulator of ``tests/emit`` reserves more than it uses."""
LIMITED = f"""
import resource, runpy
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
runpy.run_module("pytest", run_name="__main__", alter_sys=True)
"""
"""Pytest with that limit, which a process that has more addresses itself cannot set for one that it starts."""
GENERAL = ["tests/properties/test_programs.py", "tests/properties/test_functions.py", "tests/api/test_again.py"]
LOOPS = ("src/numloom/device/cpu/_loops.so", "src/numloom/device/cpu/_loops_wide.so")
"""What is compiled of all headers when the package is built."""
BESIDE = {
    "emit": ["tests/special", "tests/random"],
    "engine": ["tests/array", "tests/compiled"],
    "graph": ["tests/array"],
}
"""What tests of a room stand elsewhere."""
FAILED = r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$"
"""How pytest tells of a test, whose name may have spaces."""
REBUILD = """
import sys
sys.path.insert(0, "tools")
from pathlib import Path
import build_inplace
for name in sys.argv[1:]:
    build_inplace.compile_module(Path(name).resolve(), True)
"""


@dataclass(frozen=True)
class Stage:
    """One session of tests."""

    name: str
    tests: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a session ended: `failed` names the first test that did, or says how the process ended."""

    verdict: str
    failed: str
    seconds: float


@dataclass(frozen=True)
class Result:
    """What became of a change."""

    id: str
    key: str
    room: str
    kind: str
    place: str
    before: str
    after: str
    verdict: str
    by: str = ""
    seconds: float = 0.0


def result_of(mutant: Mutant, verdict: str, by: str = "", seconds: float = 0.0) -> Result:
    """A result."""
    place = f"{mutant.path}:{mutant.line}"
    return Result(
        mutant.id,
        mutant.key,
        mutant.room,
        mutant.kind,
        place,
        mutant.before,
        mutant.after,
        verdict,
        by,
        round(seconds, 1),
    )


def stages(mutant: Mutant, near: Sequence[str], quick: bool, function: str = "") -> list[Stage]:
    """The sessions that try a change, quickest first; `quick`: without whole folders.

    Of the room's tests those with the name of the changed `function` in theirs run with all parameters.
    """
    every = [Stage("near", tuple(near), ("--part=0",))] if near else []
    folders = tuple(dict.fromkeys((f"tests/{mutant.room}", *BESIDE.get(mutant.room, ()), "tests/api")))
    if len(name := function.strip("_")) > 3 and not function.startswith("__"):
        every.append(Stage("named", folders, ("-k", name)))
    every += stages_of(mutant.room)
    return [stage for stage in every if not quick or stage.name in ("near", "named", "general")]


def stages_of(room: str) -> list[Stage]:
    """The sessions that all changes of a room have."""
    folder = f"tests/{room}"
    first = Stage(room, (folder, *BESIDE.get(room, ())), ("--part=0",))
    general = Stage("general", tuple(GENERAL), ("--part=0",))
    return [general, first, *([Stage(f"{room}, more", (folder,), (f"--part={MORE[room]}",))] if room in MORE else [])]


def around(source: str, line: int) -> str:
    """The name of the function or class that a line stands in."""
    lines = source.split("\n")
    depth = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    pattern = re.compile(r"\s*(?:(?:async )?def|class|cp?def|template|inline|static|NL_\w+)\b.*?(\w+)\(?[(:]")
    for above in reversed(lines[: line - 1]):
        indent = len(above) - len(above.lstrip())
        if above.strip() and indent < depth and not above.lstrip().startswith((")", "#")):
            if found := pattern.match(above):
                return found[1]
            depth = indent  # Functions beside it, within the same one, are not around it.
    return ""


def tests_near(root: Path, mutant: Mutant) -> list[str]:
    """Files of tests by how likely they notice the change: those named like the source, those that name it."""
    path = Path(mutant.path)
    stem = path.stem.strip("_")
    function = around((root / path).read_text(encoding="utf-8"), mutant.line).strip("_")
    module = rf"\bnumloom\.{mutant.room}\.{path.stem}\b|\bfrom numloom\.{mutant.room} import [^\n]*\b{path.stem}\b"
    scores: dict[str, int] = {}
    for test in sorted((root / "tests").rglob("test_*.py")):
        folder = test.relative_to(root / "tests").parts[0]
        if folder not in (*ROOMS, "ops", "special", "properties"):
            continue
        text = test.read_text(encoding="utf-8")
        score = 8 * (folder == mutant.room and test.stem.startswith(f"test_{stem}"))
        score += 4 * bool(re.search(module, text))
        for name in {function, stem}:
            score += min(len(re.findall(rf"\b{name}\b", text)), 3) if len(name) > 3 else 0
        if score:
            scores[str(test.relative_to(root))] = score + (folder == mutant.room)
    return sorted(scores, key=lambda name: (-scores[name], name))[:NEAR]


# ------------------------------------------------------------------------------------------------ copies of the tree


def wanted(root: Path) -> list[str]:
    """Files that a copy has: those of git and those that were built."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    built = (str(path.relative_to(root)) for path in (root / "src").rglob("*.so"))
    return [name for name in {*names, *built} - {""} if (root / name).is_file()]


def copy_tree(root: Path, tree: Path) -> None:
    """Make a copy of the tree, or bring it up to date."""
    names = wanted(root)
    for folder in ("src", "tests"):
        for path in (tree / folder).rglob("*") if (tree / folder).exists() else ():
            if path.is_file() and "__pycache__" not in path.parts and str(path.relative_to(tree)) not in set(names):
                path.unlink()
    for name in names:
        bring(root, tree, name)


def bring(root: Path, tree: Path, name: str) -> None:
    """Copy a file if the copy is not of the same time and size."""
    source, target = root / name, tree / name
    old, new = source.stat(), target.stat() if target.exists() else None
    if new is None or (old.st_mtime_ns, old.st_size) != (new.st_mtime_ns, new.st_size):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def needs_building(root: Path, path: str) -> list[str]:
    """Modules to compile for a change of this file; a module that may run uncompiled beside the others is none."""
    file = Path(path)
    if file.suffix == ".hpp":
        return including(root, file) if (root / file).with_name("include").name != file.parent.name else []
    if not (root / file).with_name(file.stem + SUFFIX).exists():
        return []
    module = ".".join(file.relative_to("src").with_suffix("").parts)
    against = file.suffix == ".pyx" or any(
        re.search(rf"\b{re.escape(module)} cimport\b", other.read_text(encoding="utf-8"))
        for other in sources(root, (".pxd", ".pyx"))
        if other.with_suffix("") != (root / file).with_suffix("")
    )
    return [path] if against else []


def including(root: Path, header: Path) -> list[str]:
    """Modules whose text has this header, at first or second hand."""
    texts = {path: path.read_text(encoding="utf-8") for path in sources(root, (".pxd", ".pyx", ".hpp"))}
    having = {header.name}
    seen: set[str] = set()
    modules: set[Path] = set()
    while having - seen:
        name = (having - seen).pop()
        seen.add(name)
        for path, text in texts.items():
            if f'"{name}"' in text or re.search(rf"\b{re.escape(name)} cimport\b", text):
                if path.suffix == ".hpp":
                    having.add(path.name)
                    continue
                if path.suffix == ".pxd":
                    having.add(".".join(path.relative_to(root / "src").with_suffix("").parts))
                modules |= {made for made in (path.with_suffix(".pyx"), path.with_suffix(".py")) if made.exists()}
    return sorted(str(path.relative_to(root)) for path in modules)


def sources(root: Path, suffixes: Sequence[str]) -> list[Path]:
    """Files of the package by their endings."""
    return sorted(path for path in (root / "src").rglob("*") if path.suffix in suffixes)


@dataclass
class Copy:
    """A copy of the tree in which changes are tried, one after the other."""

    tree: Path
    limit: float
    quick: bool = False
    root: Path = ROOT
    known: dict[str, bool] = field(default_factory=dict)
    """Which tests pass unchanged."""
    known_otherwise: dict[str, bool] = field(default_factory=dict)
    """The same without the loops, or with them."""
    turns: int = 0
    with_loops: bool = True

    def keep_loops(self, keep: bool) -> None:
        """Have the loops that the package is built with, or do all by kernels: loops would need the changed header."""
        if keep == self.with_loops:
            return
        self.with_loops = keep
        self.known, self.known_otherwise = self.known_otherwise, self.known
        for name in LOOPS:
            (self.tree / name).unlink(missing_ok=True)
            if keep and (self.root / name).exists():
                bring(self.root, self.tree, name)

    def start(self, stage: Stage, cache: Path, more: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Begin a session of tests; without plugins but that which ends a test, since some take seconds to import."""
        started = ["-m", "pytest"] if any(test.startswith("tests/emit") for test in stage.tests) else ["-c", LIMITED]
        command = [sys.executable, *started, "-q", "-rfE", "--tb=no", "--no-header", "-p", "no:cacheprovider"]
        command += ["-p", "pytest_timeout", "--timeout=100", "--telling", *more, *stage.options, *stage.tests]
        environment = {
            **os.environ, "PYTHONPATH": str(self.tree / "src"), "NUMLOOM_CACHE_DIR": str(cache), "CI": "1",
            "NUMLOOM_TEST_AGAIN": "2", "NUMLOOM_PROGRAMS": str(PROGRAMS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }  # fmt: skip
        return subprocess.Popen(
            command, cwd=self.tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True,
        )  # fmt: skip

    def session(self, stage: Stage, limit: float, leave: Iterable[str] = ()) -> Outcome:
        """Run tests until one fails."""
        begin = time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix="cache-", dir=self.tree.parent))
        if self.warm.exists():  # Links, since entries are named by all that they depend on.
            shutil.copytree(self.warm, folder / "cache", copy_function=os.link)
        deselect = [word for name in leave for word in ("--deselect", name)]
        process = self.start(stage, folder / "cache", ("-x", *deselect))
        try:
            printed = printed_by(process, limit)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        seconds = time.monotonic() - begin
        if printed is None:
            return Outcome(HANGS, f"no end after {limit:.0f} s", seconds)
        return Outcome(*read_session(process.returncode, printed), seconds)

    def unchanged(self, stage: Stage) -> Outcome:
        """Run tests of the unchanged tree to their end, note those that fail, and keep what was compiled."""
        begin = time.monotonic()
        process = self.start(stage, self.warm)
        printed, _ = process.communicate()
        for name in re.findall(FAILED, printed, re.MULTILINE):
            self.known[name] = False
        return Outcome(*read_session(process.returncode, printed), time.monotonic() - begin)

    @property
    def warm(self) -> Path:
        """What the unchanged tree compiled."""
        return self.tree.parent / "warm"

    def passes(self, test: str) -> bool:
        """Whether a test passes unchanged."""
        if test not in self.known and "::" in test:
            self.known[test] = self.session(Stage("alone", (test,), ()), self.limit).verdict == SURVIVED
        return self.known.get(test, True)

    def change(self, mutant: Mutant) -> bool:
        """Write the change and build what needs it; false if that fails."""
        path = self.tree / mutant.path
        text = applied(path.read_text(encoding="utf-8"), mutant)
        if path.suffix == ".py":
            try:
                compile(text, mutant.path, "exec")
            except SyntaxError:
                return False
        path.write_text(text, encoding="utf-8")
        self.turns += 1
        os.utime(path, (time.time() + self.turns,) * 2)  # Bytecode is known by its source's time.
        if not (modules := needs_building(self.tree, mutant.path)):
            path.with_name(path.stem + SUFFIX).unlink(missing_ok=True)
            return True
        environment = {**os.environ, "CFLAGS": "-O0", "CXXFLAGS": "-O0"}
        command = [sys.executable, "-c", REBUILD, *modules]
        return subprocess.run(command, cwd=self.tree, env=environment, capture_output=True, check=False).returncode == 0

    def restore(self, mutant: Mutant) -> None:
        """Take the change back."""
        for name in (mutant.path, *needs_building(self.root, mutant.path)):
            built = Path(name).with_name(Path(name).stem + SUFFIX)
            for file in (name, str(built)):
                if (self.root / file).exists():
                    (self.tree / file).unlink(missing_ok=True)
                    bring(self.root, self.tree, file)

    def attempt(self, mutant: Mutant, seconds: dict[str, float]) -> Result:
        """Try a change; `seconds` are those that sessions take unchanged."""
        begin = time.monotonic()
        near = tests_near(self.tree, mutant)
        self.keep_loops(Path(mutant.path).parent.name != "include")
        function = around((self.tree / mutant.path).read_text(encoding="utf-8"), mutant.line)
        try:
            if not self.change(mutant):
                return result_of(mutant, NOT_COMPILED, "", time.monotonic() - begin)
            for asked in stages(mutant, near, self.quick, function):
                there = tuple(test for test in asked.tests if (self.tree / test).exists())
                if not there:
                    continue
                stage = Stage(asked.name, there, asked.options)
                limit = min(self.limit, PATIENCE * seconds.get(stage.name, self.limit) + START)
                leave = [test for test, passes in self.known.items() if not passes]
                outcome = self.session(stage, limit, leave)
                while outcome.verdict == CAUGHT and "::" in outcome.failed:
                    self.restore(mutant)
                    if self.passes(outcome.failed):
                        break
                    self.change(mutant)
                    leave.append(outcome.failed)
                    outcome = self.session(stage, limit, leave)
                if outcome.verdict == HANGS and stage.name not in seconds:
                    self.restore(mutant)
                    slow = self.session(stage, limit, leave).verdict == HANGS
                    self.change(mutant)
                    if slow:  # Unchanged it takes as long, which tells nothing.
                        continue
                if outcome.verdict != SURVIVED:
                    return result_of(mutant, outcome.verdict, outcome.failed, time.monotonic() - begin)
            return result_of(mutant, SURVIVED, "", time.monotonic() - begin)
        finally:
            self.restore(mutant)


def printed_by(process: subprocess.Popen[str], limit: float) -> str | None:
    """Text that a session prints; None, and its end, if it takes longer than so many seconds, half of them at work.

    On a busy machine it may wait for others, but not for ever.
    """
    for _ in range(BUSY):
        try:
            return process.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            if worked(process.pid) > limit / 2:
                break
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return None


def worked(pid: int) -> float:
    """Seconds that a process and those that it started have worked."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():  # There are systems that have none.
        return float("inf")
    times = path.read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def read_session(code: int, printed: str) -> tuple[str, str]:
    """Verdict of a session, and the first test that failed or how the process ended."""
    failed = re.search(FAILED, printed, re.MULTILINE)
    if failed:
        return CAUGHT, failed[1]
    if code in (0, 5):  # all passed, or there is none
        return SURVIVED, ""
    return CAUGHT, f"exit {code}"


# ------------------------------------------------------------------------------------------------ what is tried


def changed_lines(root: Path, since: str) -> dict[str, set[int]]:
    """Lines of files that are new or otherwise since a commit."""
    command = ["git", "diff", "--unified=0", "--no-color", since, "--", "src/numloom"]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return read_diff(printed)


def read_diff(printed: str) -> dict[str, set[int]]:
    """Lines that a diff without context adds, by file."""
    lines: dict[str, set[int]] = {}
    path = ""
    for line in printed.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ ").removeprefix("b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(path, set()).update(range(first, first + count))
    return lines


def all_mutants(root: Path, rooms: Sequence[str], since: str | None) -> list[Mutant]:
    """Every change of the rooms, or of the lines that are new there."""
    lines = changed_lines(root, since) if since else None
    found = []
    for room in rooms:
        for path in sorted((root / "src" / "numloom" / room).rglob("*")):
            name = str(path.relative_to(root))
            if path.suffix in SUFFIXES and (lines is None or name in lines):
                mutants = mutants_of(name, path.read_text(encoding="utf-8"))
                found += [one for one in mutants if lines is None or one.line in lines[name]]
    return found


def read_equal(text: str) -> dict[tuple[str, str, str], str]:
    """Reasons why changes are none, by file, line and changed line.

    A file's name begins a line; below it stand, after ``-``, ``+`` and ``=``, the line, the changed one and the reason.
    """
    reasons = {}
    path = before = after = ""
    for line in text.splitlines():
        mark, rest = line[:4], line[4:]
        if mark == "  - ":
            before = rest
        elif mark == "  + ":
            after = rest
        elif mark == "  = ":
            reasons[path, before, after] = rest
        elif line and not line.startswith("#"):
            path = line
    return reasons


def read_results(path: Path) -> dict[str, Result]:
    """The last result of each change."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {result.key: result for result in (Result(**json.loads(line)) for line in lines)}


def keep(path: Path, result: Result) -> None:
    """Add a result to those that are kept."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def table(results: Iterable[Result]) -> str:
    """Results by room, and what survived."""
    results = list(results)
    verdicts = (CAUGHT, HANGS, SURVIVED, NOT_COMPILED, EQUAL_ONE)
    rows = ["| room | tried | caught | of them hang | survived | not compiled | equal |"]
    rows.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for room in (*ROOMS, ""):
        some = [result for result in results if room in ("", result.room)]
        counts = {verdict: sum(result.verdict == verdict for result in some) for verdict in verdicts}
        caught = counts[CAUGHT] + counts[HANGS]
        tried = caught + counts[SURVIVED]
        share = f" ({caught / tried:.0%})" if tried else ""
        if some:
            numbers = (f"{caught}{share}", counts[HANGS], counts[SURVIVED], counts[NOT_COMPILED], counts[EQUAL_ONE])
            rows.append(f"| {room or 'all'} | {tried} | " + " | ".join(map(str, numbers)) + " |")
    for result in results:
        if result.verdict == SURVIVED:
            rows += ["", f"{result.id} survived: {result.place} ({result.kind})", f"  - {result.before}"]
            rows.append(f"  + {result.after}")
    return "\n".join(rows)


def time_unchanged(copy: Copy, rooms: Iterable[str]) -> dict[str, float]:
    """Seconds that the sessions of the rooms take unchanged; what fails then is left out.

    A quick copy runs none of whole folders.
    """
    kept = copy.tree.parent / "unchanged.json"
    seconds: dict[str, float]
    seconds, failing = json.loads(kept.read_text()) if kept.exists() else ({}, [])
    copy.known |= dict.fromkeys(failing, False)
    for stage in dict.fromkeys(stage for room in rooms for stage in stages_of(room)):
        if stage.name not in seconds and (stage.name == "general" or not copy.quick):
            first = copy.unchanged(stage)
            if first.verdict == CAUGHT and "::" not in first.failed:
                sys.exit(f"{stage.name}: the tests end with {first.failed} though nothing is changed")
            seconds[stage.name] = first.seconds
            failing = [test for test, passes in copy.known.items() if not passes]
            kept.write_text(json.dumps([seconds, failing]))
            tell = f", but for {first.failed} and others" if first.verdict != SURVIVED else ""
            print(f"unchanged, {stage.name}: {first.seconds:.0f} s{tell}", flush=True)
    return seconds


def run(mutants: Sequence[Mutant], jobs: int, limit: float, quick: bool, results: Path) -> None:
    """Try changes, and keep what became of each."""
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    seconds: dict[str, float] = {}
    for number in range(jobs):
        copy = Copy(WORK / f"{number}" / "tree", limit, quick)
        copy_tree(ROOT, copy.tree)
        seconds = time_unchanged(copy, dict.fromkeys(mutant.room for mutant in mutants))
        copies.put(copy)

    def attempt(mutant: Mutant) -> Result:
        copy = copies.get()
        try:
            return copy.attempt(mutant, seconds)
        finally:
            copies.put(copy)

    with concurrent.futures.ThreadPoolExecutor(jobs) as executor:
        waiting = [executor.submit(attempt, mutant) for mutant in mutants]
        for number, done in enumerate(concurrent.futures.as_completed(waiting), 1):
            result = done.result()
            keep(results, result)
            by = f" by {result.by}" if result.by else ""
            print(f"{number}/{len(mutants)} {result.id} {result.verdict} in {result.seconds:.0f} s{by}: {result.place}")
            sys.stdout.flush()


def main() -> None:
    """Read the command line, try what is chosen, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200, help="how many changes, evenly over rooms and kinds")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--rooms", default=",".join(ROOMS), help="folders of the package, with commas between")
    parser.add_argument("--since", metavar="COMMIT", help="only lines that are new since then")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time, each in a copy of its own")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a session of tests may take")
    parser.add_argument("--quick", action="store_true", help="without the tests of whole folders; --again has the rest")
    parser.add_argument("--list", action="store_true", help="print what is chosen and try nothing")
    parser.add_argument("--only", metavar="ID", help="try this one, whatever became of it before")
    parser.add_argument("--again", action="store_true", help="try once more what survived")
    options = parser.parse_args()
    rooms = options.rooms.split(",")
    if unknown := set(rooms) - set(ROOMS):
        parser.error(f"no such room: {', '.join(sorted(unknown))}")
    found = all_mutants(ROOT, rooms, options.since)
    equal = read_equal(EQUAL.read_text(encoding="utf-8"))
    if options.only:
        chosen = [mutant for mutant in found if mutant.id == options.only]
        equal = {}
    else:
        chosen = choose(found, options.count, options.seed)
    if options.list:
        for mutant in chosen:
            print(f"{mutant.id} {mutant.path}:{mutant.line} ({mutant.kind})\n  - {mutant.before}\n  + {mutant.after}")
        return
    WORK.mkdir(parents=True, exist_ok=True)
    kept = WORK / "results.jsonl"
    results = read_results(kept)
    is_equal = {mutant.key: (mutant.path, mutant.before, mutant.after) in equal for mutant in chosen}
    open_again = {key for key, one in results.items() if options.again and one.verdict == SURVIVED}
    done = set() if options.only else results.keys() - open_again
    rest = [one for one in chosen if one.key not in done and not is_equal[one.key]]
    run(rest, options.jobs, options.limit, options.quick, kept)
    results = read_results(kept)
    print(table(result_of(one, EQUAL_ONE) if is_equal[one.key] else results[one.key] for one in chosen))


if __name__ == "__main__":
    main()
