"""The runner of whole programs: its table, its check of answers, and that its programs are complete."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.whole_programs.__main__ import main
from benchmarks.whole_programs.timing import PROGRAMS, difference

SHORT = """
import sys
import numpy as np
import pytest
x = np.linspace(0.0, 1.0, 1000)
np.save(sys.argv[1], np.cumsum(np.sin(x)){end})
"""


@pytest.mark.slow
def test_a_short_program_is_a_row_of_the_table(tmp_path, capsys):
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "short.py").write_text(SHORT.format(end=""))
    assert main(["--programs", str(folder), "--runs", "1", "--json", str(tmp_path / "told.json")]) == 0
    start, head, row = capsys.readouterr().out.splitlines()
    assert start.startswith("start (seconds): NumPy") and head.startswith("program")
    assert row.startswith("short") and "WRONG" not in row
    (told,) = json.loads((tmp_path / "told.json").read_text())["programs"]
    assert told["name"] == "short" and len(told["numpy"]) == len(told["ours"]) == 1
    assert 0 <= told["elsewhere"] <= 1 and told["causes"]


@pytest.mark.slow
def test_another_answer_is_wrong(tmp_path, capsys):
    other = SHORT.format(end=' * (2 if "numloom" in sys.modules else 1)')
    (tmp_path / "other.py").write_text(other)
    assert main(["--programs", str(tmp_path), "--runs", "1", "--only", "other"]) == 1
    assert "WRONG: 999 of 1000 elements differ" in capsys.readouterr().out


def test_answers_are_compared():
    x = np.array([1.0, np.nan, 1e6])
    assert not difference(x, x + [1e-9, 0, 1e-3])
    assert difference(x, x + [0, 0, 1.0]) == "1 of 3 elements differ"
    assert difference(x, x.astype(np.float32)).startswith("float64(3,)")


def test_every_program_saves_its_answer():
    scripts = sorted(PROGRAMS.glob("*.py"))
    assert len(scripts) >= 10
    for script in scripts:
        assert "np.save(sys.argv[1], answer)" in script.read_text(), script
