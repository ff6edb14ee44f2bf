"""Which of CuPy's names numloom has: ``python tools/cupy_names.py`` writes docs/cupy-names.md.

CuPy's names come from tests/cupy_names/names.txt (made by tools/cupy_gather.py), what numloom has is looked at: whether
a name is there, and whether it takes CuPy's parameters in their order and by their names. The tables of
tools/cupy_differs.py say how a name differs and why one is not there; a line that no longer holds is an error.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import inspect
import itertools
import sys
from collections.abc import Iterator
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
from numloom.cupyx.scipy.host import Held  # noqa: E402

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
    """Whether an object, or its class, has a name; one that raises another error when read is there."""
    try:
        return hasattr(type(space), name) or hasattr(space, name)
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
        mine = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ""
    mine.pop("self", None)  # Of a class's own function.
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
            if name[:2] != "**" and name != "*" and not takes_more and theirs[-1][:2] != "**":
                found.append(f"no {name}")
            continue
        if number >= only and name not in named and not takes_all:
            found.append(f"no {name}")
        elif by_place and not takes_more and (place >= len(places) or (number >= only and places[place] != name)):
            found.append(f"{name} is not in place {place + 1}")
        place += by_place
    return ", ".join(found)


def differing(name: Name, space: Any) -> str:
    """How the parameters of a name that is there differ from CuPy's; empty if they do not."""
    if name.parameters is None:
        return ""
    try:
        found = getattr(space, name.name)
    except Exception:
        return ""
    if isinstance(found, type) and issubclass(found, Held):
        found = found._of  # Ours passes on what SciPy's takes.
    return unlike(name.parameters, found) if callable(found) else ""


def state(name: Name, space: Any) -> tuple[str, str]:
    """Whether a name is the same, better, differs or is missing, and how or why."""
    if space is None or not has(space, name.name):
        return "missing", by_pattern(NOT, name.full)
    if name.full in BETTER:
        return "better", BETTER[name.full]
    said = by_pattern(DIFFERS, name.full)
    if not said and name.full.startswith(COUNTED_ALONE):
        said = differing(name, space)
    return ("differs", said) if said else ("same", "")


COUNTED_ALONE = "cupyx."
"""Names whose parameters are compared for the page alone: what differs is SciPy's older form or CuPy's own."""


def by_pattern(table: dict[str, str], full: str) -> str:
    """What a table says of a name: in its own line, or in the first line whose pattern fits."""
    if full in table:
        return table[full]
    return next((said for pattern, said in table.items() if "*" in pattern and fnmatch.fnmatchcase(full, pattern)), "")


@dataclass(frozen=True)
class Found:
    """A module or class of CuPy's: its names by state, each with how or why."""

    title: str
    states: dict[str, list[tuple[str, str]]]

    def count(self, state: str) -> int:
        """How many names are so."""
        return len(self.states[state])


STATES = ("same", "better", "differs", "missing")


def look() -> tuple[str, list[Found], list[str]]:
    """CuPy's release, what was found, and what the tables do not say or say wrongly."""
    release, spaces = listed()
    found, wrong = [], []
    exact = {*NOT, *DIFFERS, *BETTER}
    with numloom.cupy.members():
        for title, names in spaces.items():
            space = ours(title)
            states: dict[str, list[tuple[str, str]]] = {kind: [] for kind in STATES}
            for name in names:
                kind, said = state(name, space)
                states[kind].append((name.name, said))
                if kind == "missing" and not said:
                    wrong.append(f"{name.full} is not there: tools/cupy_differs.py must say why")
                if kind != "missing" and name.full in NOT:
                    wrong.append(f"{name.full} is said not to be there, but is")
                if kind == "missing" and (name.full in DIFFERS or name.full in BETTER):
                    wrong.append(f"{name.full} is said to be there, but is not")
                if kind in ("same", "better") and (how := differing(name, space)):
                    wrong.append(f"{name.full}({name.parameters}): {how}; tools/cupy_differs.py must say so")
                exact.discard(name.full)
            found.append(Found(title, states))
    wrong += [f"{name} is in the tables, but CuPy has no such name" for name in sorted(exact) if "*" not in name]
    return release, found, wrong


def page(release: str, found: list[Found]) -> str:
    """The page."""
    lines = [
        "# CuPy's names",
        "",
        f"Written by `python tools/cupy_names.py` from the names of CuPy {release}; a test fails when it is out of",
        "date.",
        "What stands for `cupy` is `numloom.cupy`, for `cupyx` `numloom.cupyx`, also under",
        "`python -m numloom run --cupy` ([coming from CuPy](howto-cupy.md)).",
        "",
        "A name is *the same* if it is there and takes CuPy's parameters, by name and by place; a test looks at each.",
        "It is *better* if it does more or refuses less, it *differs* if a line says how, else a line says why it is",
        "missing. What differs for all names (when work runs, elements that are scalars) is on the page of CuPy.",
        "Members of arrays are those of `run --cupy`.",
        "",
        "Many names of `cupyx.scipy` are SciPy's, on the host: [the page of them](howto-cupyx-scipy.md) says which.",
        "",
        "| | the same | better | differs | missing | of |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in found:
        counts = [one.count(kind) for kind in STATES]
        lines.append(f"| `{one.title}` | {' | '.join(map(str, counts))} | {sum(counts)} |")
    totals = [sum(one.count(kind) for one in found) for kind in STATES]
    lines.append(f"| all | {' | '.join(map(str, totals))} | {sum(totals)} |")
    for one in found:
        lines += ["", f"## {one.title}", "", *_section(one)]
    return "\n".join(lines).rstrip() + "\n"


def _section(one: Found) -> Iterator[str]:
    if one.states["same"]:
        yield from ("| the same | |", "| --- | --- |")
        names = sorted((name for name, _ in one.states["same"]), key=lambda name: (name.lower(), name))
        for letter, group in itertools.groupby(names, key=lambda name: name[0].lower()):
            yield f"| {letter.upper()} | {' '.join(f'`{name}`' for name in group)} |"
        yield ""
    for kind, title in (
        ("better", "| better | how |"),
        ("differs", "| differs | how |"),
        ("missing", "| missing | why |"),
    ):
        if one.states[kind]:
            yield from (title, "| --- | --- |")
            shared: dict[str, list[str]] = {}
            for name, said in one.states[kind]:
                shared.setdefault(said, []).append(f"`{name}`")
            yield from (f"| {' '.join(names)} | {said.replace('*', chr(92) + '*')} |" for said, names in shared.items())
            yield ""


def main() -> int:
    """Write the page, or with --check say whether it is what it would be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="status 1, and the difference, if the page is out of date")
    check = parser.parse_args().check
    release, found, wrong = look()
    text = page(release, found)
    if check:
        have = TARGET.read_text(encoding="utf-8")
        wrong += difflib.unified_diff(
            have.splitlines(), text.splitlines(), "the page", "what it would be", "", "", 0, ""
        )
    else:
        TARGET.write_text(text, encoding="utf-8")
        print(f"wrote {TARGET.name}")
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
