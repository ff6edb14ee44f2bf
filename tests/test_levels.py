"""Tests of the option ``--light``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import levels

TEST = """
from levels import usual
from numloom.device.cpu.compiler import Compiler

def test_flags(tmp_path):
    script = tmp_path / "compiler"
    script.write_text('#!/bin/sh\\nprintf "%s " "$@" > kernel.so\\n')
    script.chmod(0o755)
    compiler = Compiler((str(script),), ("-O3", "-shared"), "it")
    for number in range(40):
        text = f"text {number}"
        flags = compiler.compile(text).decode().split()
        assert ("-O3" in flags, "-O1" in flags) == (usual(text), not usual(text))
        assert "-shared" in flags
    assert compiler.flags == ("-O3", "-shared")
"""


def test_a_sample_is_compiled_as_users_get_it() -> None:
    chosen = [levels.usual(f"text {number}") for number in range(600)]
    assert 30 < sum(chosen) < 90
    assert levels.usual("a", "b") == levels.usual("a", "b")
    assert levels.lighter(("-O3", "-shared")) == ("-O1", "-shared")


def test_the_option_changes_what_is_compiled(tmp_path: Path) -> None:
    tests = Path(levels.__file__).parent
    (tmp_path / "test_it.py").write_text(TEST)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_timeout", "-p", "no:cacheprovider", "--light"]
    command += [f"--confcutdir={tests}", "--rootdir", str(tests.parent), "-p", "tests.conftest", str(tmp_path)]
    done = subprocess.run(command, cwd=tests.parent, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
