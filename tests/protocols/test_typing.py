"""Annotations: what a program may write with our types, when it runs and when mypy checks it."""

from __future__ import annotations

import runpy
import subprocess
import sys
import typing
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import numloom as nl

PROGRAM = Path(__file__).with_name("typed_program.py")
WRONG = """import numloom as np
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
def f(x: Matrix) -> None: ...
def g(x: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None: f(x)
bad: np.ndarray[int, str]
"""


def test_subscripts_when_a_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    kind = nl.ndarray[tuple[int, int], np.dtype[np.float64]]
    assert typing.get_origin(kind) is nl.ndarray
    assert typing.get_args(kind) == (tuple[int, int], np.dtype[np.float64])
    assert nl.typing.NDArray[nl.float32].__args__[1] == np.dtype[np.float32]
    runpy.run_path(str(PROGRAM))
    assert capsys.readouterr().out == "0.0 (2, 3) (2, 2) True\n"


@pytest.mark.slow
def test_mypy_takes_the_program_and_finds_wrong_ones(tmp_path: Path) -> None:
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG, encoding="utf-8")
    command = [
        sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any", "--follow-imports=silent",
        "--ignore-missing-imports", "--cache-dir", str(tmp_path), str(PROGRAM), str(wrong),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    told = done.stdout.replace(str(tmp_path), "")
    assert "typed_program" not in told, told
    assert "wrong.py:4" in told and 'Type argument "int" of "Array"' in told and 'argument "str"' in told, told
