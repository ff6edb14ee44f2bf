"""Which of CuPy's names numloom has: ``python tools/cupy_names.py`` writes docs/cupy-names.md.

CuPy's names come from tests/cupy_names/names.txt (made by tools/cupy_gather.py), what numloom has is looked at: whether
a name is there, and whether it takes CuPy's parameters in their order and by their names. The tables of
tools/cupy_differs.py say how a name differs and why one is not there; a line that no longer holds is an error.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import importlib
import inspect
import itertools
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "cupy-names.md"
NAMES = ROOT / "tests" / "cupy_names" / "names.txt"

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cupy_differs import BETTER, DIFFERS, NOT  # noqa: E402

import numloom.cupy  # noqa: E402
import numloom.cupyx  # noqa: E402

INSTANCES = {
    "cupy.ndarray": lambda: numloom.cupy.zeros(2),
    "cupy.ufunc": lambda: numloom.cupy.add,
    "cupy.poly1d": lambda: numloom.cupy.poly1d([1.0, 2.0]),
    "cupy.ElementwiseKernel": lambda: numloom.cupy.ElementwiseKernel("T x", "T y", "y = x", "same"),
    "cupy.ReductionKernel": lambda: numloom.cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total"),
    "cupy.RawKernel": lambda: numloom.cupy.RawKernel('extern "C" __global__ void f(float* x) { *x = 1; }', "f"),
    "cupy.RawModule": lambda: numloom.cupy.RawModule(code='extern "C" __global__ void f(float* x) { *x = 1; }'),
    "cupy.cuda.Device": lambda: numloom.cuda.Device(),
    "cupy.cuda.Event": lambda: numloom.cuda.Event(),
    "cupy.cuda.ExternalStream": lambda: numloom.cuda.ExternalStream(0),
    "cupy.cuda.Memory": lambda: numloom.cuda.Memory(8),
    "cupy.cuda.MemoryPointer": lambda: numloom.cuda.alloc(8),
    "cupy.cuda.Stream": lambda: numloom.cuda.Stream(),
}
"""Objects of classes whose members are looked at; of the others, the class."""


@dataclass(frozen=True)
class Name:
    """A name of CuPy's and its parameters, None where they are not known."""

    space: str
    name: str
    parameters: str | None

    @property
    def full(self) -> str:
        """The dotted name."""
        return f"{self.space}.{self.name}"


def listed() -> tuple[str, dict[str, list[Name]]]:
    """CuPy's release, and its names by module and class."""
    release, *lines = NAMES.read_text(encoding="utf-8").splitlines()
    found: dict[str, list[Name]] = {}
    space = ""
    for line in lines:
        if line.startswith("["):
            space = line[1:-1]
            found[space] = []
        elif line:
            name, opened, rest = line.partition("(")
            found[space].append(Name(space, name, rest[:-1] if opened else None))
    return release.split()[1].rstrip(":"), found


def ours(space: str) -> Any:
    """What stands for a module or class of CuPy's; None if nothing does."""
    if space in INSTANCES:
        return INSTANCES[space]()
    top, *parts = space.split(".")
    found: Any = getattr(numloom, top)
    for part in parts:
        try:
            found = getattr(found, part)
        except AttributeError:
            return None
    return found


def has(space: Any, name: str) -> bool:
    """Whether an object has a name; one that raises another error when read is there."""
    try:
        return hasattr(space, name)
    except Exception:
        return True


def unlike(parameters: str, function: Any) -> str:
    """How a function's parameters differ from CuPy's; empty if it takes what CuPy's takes.

    >>> unlike("a, axis=, *, out=", lambda a, axis=None, out=None: None)
    ''
    >>> unlike("x, axis=", lambda a, axis=None: None)
    'no x'
    """
    try:
        mine = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ""
    kinds = inspect.Parameter
    takes_all = any(one.kind is kinds.VAR_KEYWORD for one in mine.values())
    takes_more = any(one.kind is kinds.VAR_POSITIONAL for one in mine.values())
    places = [name for name, one in mine.items() if one.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    named = {name for name, one in mine.items() if one.kind in (kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD)}
    found = []
    by_place, place = True, 0
    theirs = [part.rstrip("=") for part in parameters.split(", ") if part]
    only = theirs.index("/") if "/" in theirs else 0
    for number, name in enumerate(theirs):
        if name == "/":
            continue
        if name[0] == "*":
            by_place = False
            if name[:2] != "**" and name != "*" and not takes_more:
                found.append(f"no {name}")
            continue
        if number >= only and name not in named and not takes_all:
            found.append(f"no {name}")
        elif by_place and not takes_more and (place >= len(places) or (number >= only and places[place] != name)):
            found.append(f"{name} is not in place {place + 1}")
        place += by_place
    return ", ".join(found)


def state(name: Name, space: Any) -> tuple[str, str]:
    """Whether a name is the same, better, differs or is missing, and how or why."""
    if space is None or not has(space, name.name):
        return "missing", _by_pattern(NOT, name.full) or UNSAID
    if name.full in BETTER:
        return "better", BETTER[name.full]
    said = _by_pattern(DIFFERS, name.full)
    return ("differs", said) if said else ("same", "")


UNSAID = "?"


def _by_pattern(table: dict[str, str], full: str) -> str:
    if full in table:
        return table[full]
    return next((said for pattern, said in table.items() if "*" in pattern and fnmatch.fnmatchcase(full, pattern)), "")


def wrong(spaces: dict[str, list[Name]]) -> list[str]:
    """What the tables do not say, and what they say that does not hold."""
    found = []
    exact = {*NOT, *DIFFERS, *BETTER}
    for title, names in spaces.items():
        space = ours(title)
        for name in names:
            kind, said = state(name, space)
            if kind == "missing" and said == UNSAID:
                found.append(f"{name.full} is not there: tools/cupy_differs.py must say why")
            if kind != "missing" and name.full in NOT:
                found.append(f"{name.full} is said not to be there, but is")
            if kind == "same" and name.parameters is not None and inspect_it(space, name.name):
                how = unlike(name.parameters, getattr(space, name.name))
                if how:
                    found.append(f"{name.full}({name.parameters}): {how}")
            exact.discard(name.full)
    return found + [f"{name} is in the tables, but CuPy has no such name" for name in sorted(exact) if "*" not in name]


def inspect_it(space: Any, name: str) -> bool:
    """Whether it is something that is called."""
    try:
        return callable(getattr(space, name))
    except Exception:
        return False
