"""Does what a page of docs/ tells contributors to write, in a copy of the tree: ``python tools/howtos.py PAGE``.

Commands on a page (blocks marked ``sh``) are run, in their order. The line before any other block says where its text
goes::

    At the end of `FILE`:
    In `FILE`, after the line `LINE`:
    In `FILE`, before the line `LINE`:
    In `FILE`, instead of the line `LINE`:

LINE stands once in the file, and may be a beginning that ends in ``...``. The text is indented as it is; functions have
empty lines around them. Indented blocks are for the reader alone.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"At the end of `([^`]+)`:|In `([^`]+)`, (after|before|instead of) the line `(.+)`:")
BUILT = shutil.ignore_patterns(".*", "*.so", "*.so.*", "__pycache__", "build", "dist", "_build", "*.egg-info")
SECONDS = 280


class HowtoError(Exception):
    """A page says what cannot be done, or what it has one run fails."""


@dataclass(frozen=True)
class Step:
    """Text for a file; or commands, where `file` is empty."""

    text: str
    file: str = ""
    how: str = ""
    line: str = ""


def steps(page: str) -> Iterator[Step]:
    """What a page has one do."""
    end = 0
    for fence in BLOCK.finditer(page):
        before, end = page[end : fence.start()].strip().rpartition("\n")[2], fence.end()
        language, text = fence.groups()
        if language == "sh":
            yield Step(text)
        elif place := PLACE.fullmatch(before):
            last, file, how, line = place.groups()
            yield Step(text, last, "end") if last else Step(text, file, how, line)
        else:
            raise HowtoError(f"no line says where this block goes, but {before!r} stands before it:\n{text}")


def changed(step: Step, old: str) -> str:
    """A file's text with the step's."""
    if step.how == "end":
        return f"{old.rstrip()}\n\n\n{step.text}"
    lines = old.splitlines()
    start = step.line.removesuffix("...")
    wanted = re.compile(rf"\s*{re.escape(start)}{'.*' if start != step.line else ''}\s*")
    found = [at for at, line in enumerate(lines) if wanted.fullmatch(line)]
    if len(found) != 1:
        raise HowtoError(f"{step.file} has {len(found) or 'no'} line{'s' if found else ''} `{step.line}`")
    (at,) = found
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    new = textwrap.indent(step.text, indent).splitlines()
    first, last = at + (step.how == "after"), at + (step.how != "before")
    above, below = lines[:first], lines[last:]
    if step.how == "before" and step.text.startswith(("def ", "@", "class ")):
        return "\n".join(above).rstrip() + "\n\n\n" + step.text + "\n\n" + "\n".join([*below, ""])
    return "\n".join([*above, *new, *below, ""])


def write(step: Step, tree: Path) -> None:
    """Put a step's text where it belongs."""
    path = tree / step.file
    if not path.is_file():
        raise HowtoError(f"there is no file {step.file}")
    path.write_text(changed(step, path.read_text(encoding="utf-8")), encoding="utf-8")


def run(commands: str, tree: Path) -> str:
    """Run commands in the tree until one fails, with this Python; gives what they print."""
    # Settings of who runs this would change what a page shows; kernels that are compiled already save time.
    others = ("NUMLOOM_", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    cache = os.environ.get("NUMLOOM_CACHE_DIR", str(tree / ".cache"))
    ours = {"PYTHONPATH": str(tree / "src"), "NUMLOOM_CACHE_DIR": cache, "NUMLOOM_DEVICE": "cpu"}
    # Of pytest's plugins what the tests need: others take seconds to load.
    ours |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_timeout"}
    script = f'set -e\npython() {{ {shlex.quote(sys.executable)} "$@"; }}\n{commands}'
    done = subprocess.run(
        ["sh", "-c", script], cwd=tree, env=kept | ours, timeout=SECONDS, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise HowtoError(f"exit status {done.returncode} of\n{commands}\n{done.stdout}")
    return done.stdout


def follow(page: str, tree: Path) -> str:
    """Do all that a page says in a tree; gives what its commands print."""
    printed = ""
    for step in list(steps(page)):
        if step.file:
            write(step, tree)
        else:
            printed += run(step.text, tree)
    return printed


def copy(tree: Path) -> None:
    """Copy our files, without what was built: those that git knows or would take, or all where there is no git."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        shutil.copytree(ROOT, tree, ignore=BUILT, dirs_exist_ok=True)
        return
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():  # One that was deleted is listed until that is committed.
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        copy(Path(folder))
        print(follow(Path(sys.argv[1]).read_text(encoding="utf-8"), Path(folder)))
