"""One side of a comparison: the texts that some source tree writes, collected in a process of its own.

Nothing here imports numloom before `write` runs, which is what that process does.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FORMAT = 1
"""Of the file that `write` makes: a commit's own script is asked for it, too, where today's cannot run there."""
PREFIX = "benchmarks.texts: "
"""Of messages on the standard error output, with status `ASKED_WRONG`."""
ASKED_WRONG = 2
LIMIT = 600
"""Seconds after which a process is given up."""

Key = tuple[str, str, str]
"""Family, name and target of a program."""

_HASHED = re.compile(r"\bk_[0-9a-f]{20}")


class Incomparable(Exception):
    """A tree gives no texts; the message says why."""


class Unknown(Exception):
    """What was asked for is not there; the message says what was given and what was expected."""


@dataclass(frozen=True)
class Found:
    """What one program came to: its texts, or why there are none."""

    texts: tuple[str, ...] = ()
    refused: str = ""

    def document(self) -> str:
        """All texts as one."""
        return "\n".join(f"// kernel {number}\n{text}" for number, text in enumerate(self.texts, 1))


@dataclass(frozen=True)
class Side:
    """All programs of one tree."""

    programs: dict[Key, Found]
    seconds: float
    note: str = ""

    def digest(self, keys: Sequence[Key]) -> str:
        """One for the texts of these programs."""
        lines = [f"{key}\0{self.programs[key].document()}" for key in keys]
        return hashlib.sha256("\0".join(lines).encode()).hexdigest()[:12]


def anonymous(text: str) -> str:
    """A text without names that are hashes of it: one changed line would change those, too."""
    return _HASHED.sub("k_entry", text)


# ---------------------------------------------------------------- in the process of a tree


def write(path: Path, only: tuple[str, ...]) -> None:
    """Collect the texts of the numloom that Python finds, and write them to a file.

    It is found where ``PYTHONPATH`` says, also where an editable install has its own way of finding one.
    """
    begun = time.perf_counter()
    sys.meta_path.sort(key=lambda finder: finder is not PathFinder)
    for name in [name for name in os.environ if name.startswith("NUMLOOM_")]:
        del os.environ[name]
    os.environ["NUMLOOM_DEVICE"] = "null"
    import numloom

    content: dict[str, Any] = {
        "format": FORMAT,
        "numloom": numloom.__file__,
        "refused": "",
        "programs": [],
        "texts": {},
    }
    try:
        from benchmarks.texts.programs import programs
    except (ImportError, AttributeError) as error:
        content["refused"] = said(error)
    else:
        # Nothing runs while a program is recorded, however much was recorded before.
        with numloom.config(eager=False, max_pending=1 << 30, orphan_bytes=1 << 50):
            collect(programs(only), content)
    content["seconds"] = time.perf_counter() - begun
    path.write_text(json.dumps(content), encoding="utf-8")


def collect(programs: Iterator[Any], content: dict[str, Any]) -> None:
    """Plan and emit programs; a text that several have is kept once."""
    from benchmarks.texts.inside import texts_of

    for program in programs:
        for target in program.targets:
            digests, refused = [], ""
            try:
                for text in texts_of(program, target):
                    digest = hashlib.sha256(text.encode()).hexdigest()
                    content["texts"][digest] = text
                    digests.append(digest)
            except Exception as error:
                refused = said(error)
            content["programs"].append([program.family, program.name, target, digests, refused])


def said(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]


# ---------------------------------------------------------------- in the process of the command


def run_side(tree: Path, only: tuple[str, ...] = (), script: Path = ROOT) -> Side:
    """The texts that the sources of a tree write, uncompiled, by the programs of the tree `script`.

    Raises
    ------
    Incomparable
        If there are none.
    Unknown
        If there is no such family.
    """
    if not (tree / "src" / "numloom" / "__init__.py").is_file():
        raise Incomparable("it has no src/numloom")
    with uncompiled(tree) as plain, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        command = [sys.executable, "-m", "benchmarks.texts", "--write", str(file)]
        if only:
            command += ["--only", ",".join(only)]
        path = os.pathsep.join(filter(None, [str(plain / "src"), os.environ.get("PYTHONPATH", "")]))
        try:
            done = subprocess.run(
                command, cwd=script, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
                timeout=LIMIT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Incomparable(f"its process took longer than {LIMIT} s") from None
        if done.returncode == ASKED_WRONG and script == ROOT:
            raise Unknown(done.stderr.strip().removeprefix(PREFIX))
        if done.returncode or not file.is_file():
            last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise Incomparable(f"its process ended with status {done.returncode}: {last[0]}")
        return read(json.loads(file.read_text(encoding="utf-8")), plain / "src")


def read(content: dict[str, Any], sources: Path) -> Side:
    """What `write` wrote, if it is of these sources and has texts."""
    if content.get("format") != FORMAT:
        raise Incomparable(f"its script writes format {content.get('format')}, this one reads {FORMAT}")
    if content["refused"]:
        raise Incomparable(content["refused"])
    if sources.resolve() not in Path(content["numloom"]).resolve().parents:
        raise Incomparable(f"Python found numloom at {content['numloom']}, expected it in {sources}")
    texts = {digest: anonymous(text) for digest, text in content["texts"].items()}
    programs = {
        (family, name, target): Found(tuple(texts[digest] for digest in digests), refused)
        for family, name, target, digests, refused in content["programs"]
    }
    if programs and not texts:
        raise Incomparable(f"it refused every program, the first with {next(iter(programs.values())).refused}")
    return Side(programs, content["seconds"])


def run_either(tree: Path, only: tuple[str, ...]) -> Side:
    """The texts of an older tree: by today's programs, or where these cannot run, by its own script if it has one."""
    try:
        return run_side(tree, only)
    except Incomparable as error:
        if not any((tree / "benchmarks" / name).is_file() for name in ("texts/__main__.py", "texts.py")):
            raise Incomparable(f"{error}; and it has no benchmarks/texts of its own") from None
        try:
            found = run_side(tree, only, script=tree)
        except Incomparable as own:
            raise Incomparable(f"{error}; by its own script: {own}") from None
        return Side(found.programs, found.seconds, f"by its own script, since today's cannot run there: {error}")


@contextmanager
def uncompiled(tree: Path) -> Iterator[Path]:
    """The tree, or where its core is compiled in place a copy of its sources: an old build hides what changed."""
    if not any((tree / "src" / "numloom").rglob("*.so")):
        yield tree
        return
    with tempfile.TemporaryDirectory() as folder:
        copy_sources(tree, Path(folder))
        yield Path(folder)


def copy_sources(tree: Path, folder: Path) -> None:
    """The package without what was built of it."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(tree / "src", folder / "src", ignore=ignored)


@contextmanager
def committed(commit: str, repository: Path = ROOT) -> Iterator[Path]:
    """A commit's sources and benchmarks, in a folder that goes afterwards.

    Raises
    ------
    Unknown
        If there is no git, no repository or no such commit.
    """
    asked = f"--against {commit!r}"
    if shutil.which("git") is None:
        raise Unknown(f"{asked} needs git, which is not installed (expected a program `git` on the PATH)")
    if git(repository, "rev-parse", "--git-dir") is None:
        raise Unknown(f"{asked}: {repository} is no git repository (expected a clone made by `git clone`)")
    name = git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    if name is None:
        raise Unknown(
            f"{asked}: this repository has no such commit (expected a hash, branch or tag of it, or one like HEAD~1; "
            "a shallow clone has only its last commits)"
        )
    # Only what is needed, and is there.
    parts = (git(repository, "ls-tree", "--name-only", name, "src", "benchmarks") or "").split()
    with tempfile.TemporaryDirectory() as folder:
        archive, tree = Path(folder) / "archive.tar", Path(folder) / "tree"
        if parts:
            if git(repository, "archive", f"--output={archive}", name, *parts) is None:
                raise Unknown(f"{asked}: git could not take {name} out of {repository} (expected a whole clone)")
            with tarfile.open(archive) as file:
                file.extractall(tree, filter="data")
        yield tree


def git(repository: Path, *arguments: str) -> str | None:
    """What git says, or None where it fails."""
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None
