"""Tests of the option ``--budget``, in sessions of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import budgets

CONFTEST = """
import sys
sys.path.insert(0, {tests!r})
import budgets
from pathlib import Path

budgets.BUDGETS = Path(__file__).with_name("budgets.toml")
def pytest_configure(config):
    leads = not hasattr(config, "workerinput")
    if leads:
        config.pluginmanager.register(budgets.Budgets())
    if not leads or not config.getoption("numprocesses", None):
        config.pluginmanager.register(budgets.Measured())
"""
TEST = """
import subprocess, sys, time
def test_works():
    end = time.process_time() + 0.3
    while time.process_time() < end: pass
def test_has_it_done():
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
def test_waits():
    time.sleep(0.5)
"""


def session(folder: Path, seconds: str, *options: str) -> tuple[int, str]:
    """Exit status and text of a session whose folder `room` may take these seconds."""
    room = folder / "tests" / "room"
    room.mkdir(parents=True)
    (folder / "conftest.py").write_text(CONFTEST.format(tests=str(Path(budgets.__file__).parent)))
    (room / "test_it.py").write_text(TEST)
    (folder / "budgets.toml").write_text(f"work = {budgets.work()}\n[seconds]\n{seconds}\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Others take longer to load than the session.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_folder_within_its_budget(options: tuple[str, ...], tmp_path: Path) -> None:
    code, text = session(tmp_path, "room = 30", *options)
    assert code == 0, text
    lines = {line.split()[-1]: float(line.split()[0]) for line in text.splitlines() if "::" in line}
    assert lines["tests/room/test_it.py::test_waits"] < min(
        lines[f"tests/room/test_it.py::{name}"] for name in ("test_works", "test_has_it_done")
    )


def test_a_folder_beyond_its_budget_says_what_to_do(tmp_path: Path) -> None:
    code, text = session(tmp_path, "room = 0.1")
    assert code == 1 and "3 passed" in text
    assert "tests/room took" in text and "its budget is 0 s" in text and budgets.CURE in text


def test_a_folder_without_a_budget(tmp_path: Path) -> None:
    code, text = session(tmp_path, "other = 5")
    assert code == 1 and "tests/room has no budget" in text


def test_every_folder_has_a_budget() -> None:
    tests = Path(budgets.__file__).parent
    stated = tomllib.loads(budgets.BUDGETS.read_text(encoding="utf-8"))["seconds"]
    folders = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py") if path.parent != tests}
    assert set(stated) == folders | {"."}
