"""Which of NumPy's names numloom has, by looking: ``python tools/numpy_coverage.py`` writes docs/numpy-coverage.md."""

from __future__ import annotations

import argparse
import inspect
import types
from pathlib import Path
from typing import Any

import numpy as np

import numloom

TARGET = Path(__file__).resolve().parent.parent / "docs" / "numpy-coverage.md"
SPACES = ("", "linalg", "fft", "random")
# Not functions of arrays: types of scalars and of things that stay on the host, settings of NumPy itself.
ELSEWHERE = {
    "test", "show_config", "show_runtime", "get_include", "info", "errstate", "seterr", "geterr", "seterrcall",
    "geterrcall", "setbufsize", "getbufsize", "set_printoptions", "get_printoptions", "printoptions", "nditer",
    "ndenumerate", "ndindex", "nested_iters", "busday_count", "busday_offset", "busdaycalendar", "is_busday",
    "datetime_as_string", "datetime_data", "recarray", "record", "matrix", "bmat", "asmatrix", "char", "rec", "ma",
    "memmap", "fromfile", "fromregex", "fromstring", "frombuffer", "fromiter", "genfromtxt", "loadtxt", "savetxt",
    "save", "savez", "savez_compressed", "load", "flatiter", "broadcast", "ufunc", "vectorize", "frompyfunc",
}  # fmt: skip


def names(space: Any) -> list[str]:
    """Functions and ufuncs of a namespace of NumPy, apart from those that are not about arrays."""
    found = []
    for name in sorted(dir(space)):
        value = getattr(space, name)
        if name.startswith("_") or name in ELSEWHERE or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, np.ufunc) or (callable(value) and not inspect.isclass(value)):
            found.append(name)
    return found


def methods() -> list[str]:
    """Public attributes of NumPy's array."""
    return sorted(name for name in dir(np.ndarray) if not name.startswith("_"))


def has(space: Any, name: str) -> bool:
    """Whether a namespace or a class of ours has a name."""
    try:
        return hasattr(space, name)
    except Exception:
        return True


def page() -> str:
    """The page."""
    sections = []
    for space in SPACES:
        theirs = getattr(np, space) if space else np
        ours = getattr(numloom, space, None) if space else numloom
        sections.append((f"numpy.{space}" if space else "numpy", names(theirs), ours))
    array = numloom.zeros(2)
    sections.append(("numpy.ndarray", methods(), array))
    release = ".".join(np.__version__.split(".")[:2])
    lines = [
        "# NumPy's names",
        "",
        f"Written by `tools/numpy_coverage.py` from NumPy {release}: functions on arrays, and the array's own names.",
        "A name that is there takes NumPy's arguments; how far it is tested, tests/ says.",
        "",
        "| | there | of |",
        "| --- | ---: | ---: |",
    ]
    for title, theirs, ours in sections:
        lines.append(f"| `{title}` | {sum(has(ours, name) for name in theirs)} | {len(theirs)} |")
    for title, theirs, ours in sections:
        there = [name for name in theirs if has(ours, name)]
        lacking = [name for name in theirs if not has(ours, name)]
        lines += ["", f"## {title}", ""]
        if there:
            lines += ["There: " + ", ".join(f"`{name}`" for name in there) + ".", ""]
        if lacking:
            lines += ["Not yet: " + ", ".join(f"`{name}`" for name in lacking) + "."]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Write the page, or with --check say whether it is what it would be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="status 1 if the page is out of date")
    if parser.parse_args().check:
        return 0 if TARGET.read_text(encoding="utf-8") == page() else 1
    TARGET.write_text(page(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
