"""Nothing is raised where objects end: half made, in a cycle, at the interpreter's end; and no Ctrl-C is lost there."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from finalized import MAKERS

import numloom as nl
from numloom.device import registry

SCRIPT = Path(__file__).with_name("finalized.py")
PACKAGE = Path(nl.__file__).parent
NAMES = ("__del__", "__dealloc__")

REFERENCES = ("weakref.ref", "ref", "Rest", "_Keyed")
"""Weak references, by what makes them."""
CALLBACKS = {
    "base/forking.py": {"_locks.pop"},  # No line of Python runs, and the table that it clears has the reference.
    "base/lasting.py": {"gone.append", "self._dead.append"},  # Lists'.
}
"""What is called when a weak reference's object dies, by file."""


def classes_of(path: Path) -> set[str]:
    """Classes of a file that have a finalizer."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".pyx":
        found, name = set(), ""
        for line in text.splitlines():
            if match := re.match(r"(?:cdef )?class (\w+)", line):
                name = match[1]
            elif re.match(r"    def (__del__|__dealloc__)\(", line):
                found.add(name)
        return found
    return {
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(each, ast.FunctionDef) and each.name in NAMES for each in node.body)
    }


def callbacks_of(path: Path) -> list[str]:
    """What a file has called when objects of weak references die."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (*REFERENCES, "weakref.finalize"):
            found += [ast.unparse(each) for each in node.args[1:]]
    return found


@pytest.mark.skipif(not (PACKAGE / "graph" / "node.pxd").exists(), reason="not in the source tree")
def test_every_finalizer_is_looked_at() -> None:
    """A new one belongs into the table of finalized.py, by which it is tried below."""
    found = {
        (".".join(path.relative_to(PACKAGE).with_suffix("").parts), name)
        for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx")]
        for name in classes_of(path)
    }
    assert found == set(MAKERS)


def test_every_callback_of_a_weak_reference_runs_no_line_of_python() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): set(callbacks_of(path)) for path in PACKAGE.rglob("*.py")}
    assert {file: callbacks for file, callbacks in found.items() if callbacks} == CALLBACKS
    kinds = {
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any("weakref.ref" in ast.unparse(base) for base in node.bases)
    }
    assert kinds <= set(REFERENCES)


def test_no_dictionary_of_weak_values_is_pythons_own() -> None:
    """It has lines of its own that run where a value dies."""
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)}
        assert not {"weakref.WeakValueDictionary", "WeakValueDictionary"} & names, path


@pytest.mark.skipif(registry.current().name != "cpu", reason="objects of the host")
@pytest.mark.parametrize(("how", "least"), [("half", 12), ("cycle", 10), ("end", 10)])
def test_nothing_is_raised_where_objects_end(how: str, least: int) -> None:
    environment = {**os.environ, "NUMLOOM_DEVICE": "cpu", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(SCRIPT), how], capture_output=True, text=True, env=environment,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", f"{done.stdout.splitlines()[-1:]}\n{done.stderr}"
    assert len(done.stdout.split()) >= least
