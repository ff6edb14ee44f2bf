"""Tests of the options ``--retry``, ``--part`` and ``--nvrtc``, in sessions of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import unstable

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-p", "pytest_timeout", "-p", "no:cacheprovider"]
LEAN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Other plugins take three times as long to load as a session here takes."""

CONFTEST = """
import sys
sys.path.insert(0, {tests!r})
import unstable
from pathlib import Path

def pytest_addoption(parser):
    parser.addoption("--device", default="cpu")
    parser.addoption("--placement", default="device")
    parser.addoption("--retry", action="store_true")

def pytest_configure(config):
    unstable.KNOWN = Path(__file__).with_name("unstable.txt")
    if config.getoption("--retry") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(unstable.Retries(config))
"""
TESTS = """
import os, pathlib, pytest
first = not pathlib.Path(__file__).with_name("second").exists()

def once_only():
    pathlib.Path(__file__).with_name("second").touch()
    assert not first, "the first time"

@pytest.fixture
def broken_once():
    once_only()

def test_fine(): pass
def test_now_and_then(): once_only()
def test_never(): assert False, "always"
def test_ends(): first and (pathlib.Path(__file__).with_name("second").touch(), os._exit(3))
def test_of_setup(broken_once): pass
@pytest.mark.parametrize("k", range(20))
def test_many(k): assert first is None
"""


def session(folder: Path, *chosen: str, listed: str = "", workers: int = 0) -> tuple[int, str, list[str]]:
    """Exit status of a session over these tests, what it printed, and what it noted as unstable."""
    (folder / "conftest.py").write_text(CONFTEST.format(tests=str(Path(unstable.__file__).parent)))
    (folder / "test_it.py").write_text(TESTS)
    (folder / "unstable.txt").write_text(f"# why\n{listed}\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    noted = folder / "noted"
    done = subprocess.run(
        [*PYTEST, "--retry", "-n", str(workers), *(f"test_it.py::{name}" for name in chosen)],
        cwd=folder,
        env={**os.environ, **LEAN, "NUMLOOM_UNSTABLE": str(noted), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout, noted.read_text().splitlines() if noted.exists() else []


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("test", ["test_now_and_then", "test_of_setup"])
def test_what_passes_alone_is_named_and_does_not_fail_the_session(tmp_path: Path, test: str, workers: int) -> None:
    status, printed, noted = session(tmp_path, "test_fine", test, workers=workers)
    assert status == 0, printed
    assert noted == [f"test_it.py::{test}"]
    assert f"unstable: test_it.py::{test}" in printed
    assert "the first time" in printed
    assert "1 passed, 1 unstable" in printed


def test_a_worker_that_ends_is_a_failure_that_is_tried_again(tmp_path: Path) -> None:
    status, printed, noted = session(tmp_path, "test_fine", "test_ends", workers=2)
    assert status == 0, printed
    assert noted == ["test_it.py::test_ends"]


def test_what_fails_again_fails_the_session(tmp_path: Path) -> None:
    status, printed, noted = session(tmp_path, "test_fine", "test_now_and_then", "test_never")
    assert status == 1
    assert noted == ["test_it.py::test_now_and_then"]
    assert "failed again, alone: test_it.py::test_never" in printed
    assert "1 failed, 1 passed, 1 unstable" in printed


def test_what_was_unstable_before_fails_the_session(tmp_path: Path) -> None:
    status, printed, noted = session(tmp_path, "test_now_and_then", listed="test_it.py::test_now_and_then  # why")
    assert status == 1
    assert not noted
    assert "listed in unstable.txt" in printed


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    status, printed, noted = session(tmp_path, "test_now_and_then", "test_many")
    assert status == 1
    assert not noted
    assert "21 tests failed, none was tried again" in printed


@pytest.mark.parametrize("every", [0, 5])
def test_a_part_has_the_first_parameters_of_each_function(every: int) -> None:
    tests = Path(__file__).parent
    command = [*PYTEST, "--collect-only", "tests/test_house.py"]
    listed = []
    for part in (["--part", str(every)], []):
        done = subprocess.run(
            [*command, *part],
            cwd=tests.parent,
            env={**os.environ, **LEAN},
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        listed.append([line for line in done.stdout.splitlines() if "::" in line])
    part, whole = listed
    functions = {name.partition("[")[0] for name in whole}
    assert {name.partition("[")[0] for name in part} == functions
    assert [name for name in whole if name in part] == part
    if every:
        assert len(functions) < len(part) < len(whole) / 2
    else:
        assert len(part) == len(functions)


def test_the_first_part_leaves_out_slow_tests() -> None:
    tests = Path(__file__).parent
    command = [*PYTEST, "--collect-only", "--part=0", "tests/test_mutants.py"]
    done = subprocess.run(
        command, cwd=tests.parent, env={**os.environ, **LEAN}, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout
    assert "tests/test_mutants.py::" in done.stdout
    assert "test_changes_are_tried_in_a_copy" not in done.stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_options_of_the_environment_reach_workers(workers: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    tests = Path(__file__).parent
    test = "tests/emit/test_text.py::test_fast_math_is_another_text_but_for_random_numbers"
    command = [*PYTEST, "-n", str(workers), test]
    done = subprocess.run(
        command,
        cwd=tests.parent,
        env={**os.environ, **LEAN, "PYTEST_ADDOPTS": "--nvrtc=sample"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.partition("nvrtc: ")[2].partition(" texts made")[0]) > 0, done.stdout
