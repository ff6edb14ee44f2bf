"""Tests of the option ``--telling``, and of what it leaves out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import telling

TESTS = Path(__file__).parent
ROOT = TESTS.parent


def test_what_is_left_out_is_written_and_read() -> None:
    text = telling.written({"tests/a.py::test_b": [telling.short("x-1"), telling.short("é")]})
    assert text.startswith("#") and telling.written({}).count("\n") == 1
    left_out = telling.read(text)
    for parameters in ("x-1", "é"):
        assert not telling.tells(f"tests/a.py::test_b[{parameters}]", left_out)
    for other in ("a.py::test_b[x-2]", "a.py::test_b", "a.py::test_c[x-1]", "b.py::test_b[x-1]"):
        assert telling.tells(f"tests/{other}", left_out), other
    assert not telling.tells("tests/a.py::test_b[x[1]]", {"tests/a.py::test_b": frozenset([telling.short("x[1]")])})


def test_functions_that_are_thinned_exist() -> None:
    """A name that was changed would keep its old line, and run whole."""
    for function in telling.read(telling.LEFT_OUT.read_text(encoding="utf-8")):
        path, *_, name = function.split("::")
        source = ROOT / path
        assert source.is_file() and re.search(rf"^\s*def {name}\(", source.read_text(encoding="utf-8"), re.M), (
            f"{function} is in tests/soak.txt, and nowhere else: run `python tools/reach {path}`, or take its line out"
        )


def collected(*options: str) -> set[str]:
    """Tests of one file that a session would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    command += ["-p", "pytest_timeout"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Others take longer to load than this takes.
    done = subprocess.run(
        [*command, str(TESTS / "api" / "test_creation.py")], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_ci_leaves_parameters_out_and_no_test() -> None:
    whole, thinned = collected(), collected("--telling")
    assert thinned < whole
    functions = [{test.partition("[")[0] for test in tests} for tests in (whole, thinned)]
    assert functions[0] == functions[1]
