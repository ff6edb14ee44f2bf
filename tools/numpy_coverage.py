"""Which of NumPy's names numloom has: ``python tools/numpy_coverage.py`` writes docs/numpy-coverage.md.

Names come from the installed NumPy, what numloom has is looked at; the tables below say how a name differs and why
one is not there. A line of the tables that no longer holds is an error.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import itertools
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import numloom
from numloom.api.namespace import OF_NUMPY, REFUSED

TARGET = Path(__file__).resolve().parent.parent / "docs" / "numpy-coverage.md"

CONSTANTS = ("e", "euler_gamma", "inf", "nan", "newaxis", "pi")
"""The constants that NumPy documents."""

_ON_HOST = "runs on the host, to which operands are copied once"
_COLUMNS = "a dictionary of columns where NumPy gives an array with fields"

DIFFERS: dict[str, str] = {
    "numpy.fromregex": _COLUMNS,
    "numpy.genfromtxt": _COLUMNS,
    "numpy.loadtxt": _COLUMNS,
    "numpy.memmap": "a file of which parts are brought to the device; what is read is a copy",
    "numpy.ndenumerate": _ON_HOST,
    "numpy.nditer": _ON_HOST,
    "numpy.nested_iters": _ON_HOST,
    "numpy.errstate": "taken as NumPy's; numloom itself gives no warnings",
    "numpy.geterr": "taken as NumPy's; numloom itself gives no warnings",
    "numpy.isnat": "TypeError for all arrays, as none holds dates",
    "numpy.ndarray": "a class of our own; arrays are made by functions, not by calling it",
    "numpy.seterr": "taken as NumPy's; numloom itself gives no warnings",
    "numpy.ufunc": "a class of our own over NumPy's type rules",
    "numpy.vectorize": "the function is compiled where it can be",
    "numpy.emath": "results wait, since their dtype depends on the values",
    "numpy.lib.stride_tricks.as_strided": "ValueError where the view would leave the memory",
    "numpy.lib.array_utils.byte_bounds": "addresses on the device",
    **{f"numpy.{name}": how for name, how in OF_NUMPY.items()},
}
"""How a name that is there differs, beyond what docs/differences.md says of all names."""

NOT: dict[str, str] = {
    **{f"numpy.{name}": why for name, why in REFUSED.items()},
    "numpy.lib.Arrayterator": "it reads files of NumPy part by part: slice the array",
    "numpy.lib.introspect": "it speaks of NumPy's own loops",
    "numpy.lib.npyio": "classes behind numpy.load; numloom.load gives arrays",
    "numpy.lib.tracemalloc_domain": "host memory; numloom.config has the device's",
    "numpy.random.MT19937": "generators here are counter-based (Philox), so that any number of threads share one",
    "numpy.random.PCG64": "as MT19937",
    "numpy.random.PCG64DXSM": "as MT19937",
    "numpy.random.SFC64": "as MT19937",
}
"""Why a name is not there."""

NOT_YET = "not yet"

LATER = (
    "numpy.polynomial.polynomial.polyvalnd",
    "numpy.polynomial.chebyshev.chebvalnd",
    "numpy.polynomial.legendre.legvalnd",
    "numpy.polynomial.hermite.hermvalnd",
    "numpy.polynomial.hermite_e.hermevalnd",
    "numpy.polynomial.laguerre.lagvalnd",
)
"""Names that NumPy 2.5 adds to those counted on the page, which is written from 2.4."""


@dataclass(frozen=True)
class Space:
    """A namespace or class of NumPy, the names counted in it, and what stands for it here."""

    title: str
    names: list[str]
    ours: Any
    text: str = ""

    def state(self, name: str) -> tuple[str, str]:
        """Whether a name is supported, differs or is not there, and how or why."""
        full = f"{self.title}.{name}"
        if self.ours is None or not has(self.ours, name):
            return "not", NOT.get(full, NOT_YET)
        return ("differs", DIFFERS[full]) if full in DIFFERS else ("supported", "")


def has(space: Any, name: str) -> bool:
    """Whether a namespace or an object has a name; one that raises another error when read (on a GPU) is there."""
    try:
        return hasattr(space, name)
    except Exception:
        return True


def public(space: Any) -> Iterator[str]:
    """Names without an underscore before them."""
    return (name for name in sorted(dir(space)) if not name.startswith("_"))


def callables(space: Any, names: Iterable[str]) -> list[str]:
    """Those of names that are functions or classes, but no exceptions."""
    found = []
    for name in names:
        value = getattr(space, name)
        exception = inspect.isclass(value) and issubclass(value, BaseException)
        if callable(value) and not exception and not isinstance(value, types.ModuleType):
            found.append(name)
    return found


def spaces() -> list[Space]:
    """What the page counts."""
    modules = [name for name in public(np) if isinstance(getattr(np, name), types.ModuleType)]
    top = sorted([*callables(np, public(np)), *CONSTANTS])
    rest = [name for name in public(np) if name not in top and name not in modules]

    def part(path: str, names: Iterable[str] | None = None, text: str = "") -> Space:
        theirs, ours = np, numloom
        for name in path.split("."):
            theirs, ours = getattr(theirs, name), getattr(ours, name, None)
        listed = callables(theirs, getattr(theirs, "__all__", None) or public(theirs)) if names is None else names
        return Space(f"numpy.{path}", sorted(listed), ours, text)

    series = ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")
    return [
        Space("numpy", top, numloom, "Public functions, classes and the constants that NumPy documents."),
        Space("numpy", rest, numloom, "Other objects of the main namespace: tables, numbers, index objects."),
        Space("numpy", sorted(modules), numloom, "Modules of the main namespace."),
        part("linalg"),
        part("fft"),
        part("random", text="Functions and classes of the module. Numbers come from another stream than NumPy's."),
        part("random.Generator", public(np.random.Generator), "Members of the generator."),
        part("polynomial", np.polynomial.__all__),
        *(part(f"polynomial.{name}", getattr(np.polynomial, name).__all__) for name in series),
        Space("numpy.ndarray", list(public(np.ndarray)), numloom.zeros(2), "Members of arrays."),
        Space("numpy.ufunc", list(public(np.ufunc)), numloom.add, "Members of universal functions."),
        part("lib", np.lib.__all__),
        part("lib.stride_tricks", ["as_strided", "sliding_window_view"]),
        part("lib.array_utils", ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]),
        part("emath"),
    ]


KIND = {0: "functions, classes, constants", 1: "other objects", 2: "modules"}


def page() -> str:
    """The page."""
    release = ".".join(np.__version__.split(".")[:2])
    parts = spaces()
    lines = [
        "# NumPy's names",
        "",
        f"Written by `python tools/numpy_coverage.py` from NumPy {release}; a test fails when it is out of date.",
        "",
        "A name is *supported* if it takes NumPy's arguments and gives NumPy's results, apart from what",
        "[differences](differences.md) says of all names; it *differs* if a line below says how; else a line says why",
        "it is not there. Asking for a name that is refused raises an `AttributeError` with the cure.",
        "",
        "The main namespace counts the public names of `dir(numpy)` that can be called (functions and classes) and",
        f"the six constants that NumPy documents (`{'`, `'.join(CONSTANTS)}`). Its {len(parts[1].names)} other objects",
        f"and {len(parts[2].names)} modules are counted apart. Modules count what they export (`__all__`), without",
        "exceptions and modules; classes count their public members.",
        "",
        f"NumPy 2.5 adds `{'`, `'.join(name.rpartition('.')[2] for name in LATER)}`, and `descending=` of sorts, which",
        "are here with either release.",
        "",
        "| | supported | differs | not | of |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for k, space in enumerate(parts):
        states = [space.state(name)[0] for name in space.names]
        counts = " | ".join(str(states.count(state)) for state in ("supported", "differs", "not"))
        what = f" ({KIND[k]})" if k in KIND else ""
        lines.append(f"| `{space.title}`{what} | {counts} | {len(states)} |")
    for k, space in enumerate(parts):
        lines += ["", f"## {space.title}" + (f": {KIND[k]}" if k in KIND else ""), ""]
        lines += _section(space)
    return "\n".join(lines).rstrip() + "\n"


def _section(space: Space) -> list[str]:
    by_state: dict[str, list[tuple[str, str]]] = {"supported": [], "differs": [], "not": []}
    for name in space.names:
        state, said = space.state(name)
        by_state[state].append((name, said))
    lines = [space.text, ""] if space.text else []
    if by_state["supported"]:
        lines += ["| supported | |", "| --- | --- |"]
        names = sorted((name for name, _ in by_state["supported"]), key=lambda name: (name.lower(), name))
        for letter, group in itertools.groupby(names, key=lambda name: name[0].lower()):
            lines.append(f"| {letter.upper()} | {' '.join(f'`{name}`' for name in group)} |")
        lines.append("")
    for state, title in (("differs", "| differs | how |"), ("not", "| not | why |")):
        if by_state[state]:
            lines += [title, "| --- | --- |"]
            # Names of which the same is said share a line.
            shared: dict[str, list[str]] = {}
            for name, said in by_state[state]:
                shared.setdefault(said, []).append(f"`{name}`")
            lines += [f"| {' '.join(names)} | {said} |" for said, names in shared.items()]
            lines.append("")
    return lines[:-1]


def stale_lines() -> list[str]:
    """Lines of the tables that do not hold: names that are said not to be there, but are."""
    there = {f"{space.title}.{name}" for space in spaces() for name in space.names if space.state(name)[0] != "not"}
    lost = [f"{name} is said to be there, but is not" for name in LATER if not _resolves(name)]
    return [f"{name} is said not to be there, but is" for name in NOT if name in there] + lost


def _resolves(name: str) -> bool:
    found: Any = numloom
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None


def main() -> int:
    """Write the page, or with --check say whether it is what it would be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="status 1, and the difference, if the page is out of date")
    check = parser.parse_args().check
    wrong = stale_lines()
    found = page()
    if check:
        have = TARGET.read_text(encoding="utf-8")
        wrong += difflib.unified_diff(
            have.splitlines(), found.splitlines(), "the page", "what it would be", "", "", 0, ""
        )
    else:
        TARGET.write_text(found, encoding="utf-8")
        print(f"wrote {TARGET.name}")
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
