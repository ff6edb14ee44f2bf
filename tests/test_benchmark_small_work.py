"""Programs of much small work give NumPy's results under numloom, with other data each time; their table stands."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.small_work.__main__ import chosen
from benchmarks.small_work.catalogue import FIELDS, PROGRAMS
from benchmarks.small_work.program import Program, difference
from benchmarks.small_work.report import first_ratio, mean_ratio, save_json, summary, table, third_ratio, worst
from benchmarks.small_work.timing import FIRST_GOAL, THIRD_GOAL, Row, on_host, read_findings, run_apart
from rich.console import Console

import numloom as nl


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_results_are_numpys(program: Program) -> None:
    # What is remembered of one run must not show in the next, with other data or another size.
    for n, seed in ((program.tiny, 0), (program.tiny, 1), (program.tiny + 1, 2)):
        found, expected = on_host(nl, program(nl, n, seed)), on_host(np, program(np, n, seed))
        assert difference(found, expected, program.rtol) is None, f"size {n}, seed {seed}"


def test_programs_are_told_apart() -> None:
    defined = [value for field in FIELDS for value in vars(field).values() if isinstance(value, Program)]
    assert len(defined) == len(PROGRAMS), "two programs have one name"
    for program in defined:
        assert program.tiny < program.sizes[0] and program.sizes == tuple(sorted(set(program.sizes)))
    assert {program.name for program, _ in chosen("thom, BITS.crc", quick=True)} == {"thomas", "crc_table", "crc_bits"}
    assert len(chosen("thomas", quick=False)) == len(PROGRAMS["thomas"].sizes)


@pytest.mark.slow
def test_other_data_give_other_results() -> None:
    # Else a result that is remembered would go unseen.
    for program in PROGRAMS.values():
        one, other = (on_host(np, program(np, program.sizes[0], seed)) for seed in (0, 1))
        assert difference(one, other, program.rtol) is not None, program.name


def test_differences_are_found() -> None:
    x = np.array([1.0, -2.0, np.nan, np.inf])
    assert difference([x], [x.copy()], 0) is None
    assert difference([x + 1e-12], [x], 1e-11) is None
    assert "at (0,)" in str(difference([x + 1e-12], [x], 0))
    assert "0.1 apart" in str(difference([x + [0.1, 0, 0, 0]], [x], 1e-9))
    assert difference([x], [np.where(np.isinf(x), 0, x)], 1e-9) and difference([x[:2]], [x], 1e-9)
    assert difference([np.float32([1])], [np.float64([1])], 1e-9) and difference([], [x], 1e-9)
    assert difference([np.array([-0.0])], [np.array([0.0])], 0)


def test_a_program_runs_in_a_process_of_its_own() -> None:
    row = run_apart(PROGRAMS["thomas"], 12, limit=100)
    assert row.numpy and len(row.runs) == 3 and row.agrees in ("bits", "1e-12") and not row.note
    assert run_apart(PROGRAMS["thomas"], 12, limit=0.01).note == "over 0.01 s"
    assert "IndexError" in run_apart(PROGRAMS["thomas"], 0, limit=100).note


def test_findings_are_reported(tmp_path: Path) -> None:
    good, bad, over = Row("good", "a", 10), Row("bad", "b", 10), Row("late", "b", 20, note="over 20 s")
    times = [json.dumps({"seconds": seconds, "same": True, "wrong": ""}) for seconds in (0.06, 0.02, 0.012)]
    read_findings(good, "\n".join(['{"numpy": 0.01}', *times, '{"seco']), 1e-9)
    assert (good.numpy, good.first, good.third, good.agrees) == (0.01, 0.06, 0.012, "bits")
    assert good.reaches(good.first, FIRST_GOAL) and good.reaches(good.third, THIRD_GOAL)
    wrong = '{"numpy": 0.001}\n' + '{"seconds": 1.0, "same": false, "wrong": "run 1, 3 for 4"}\n' * 3
    read_findings(bad, wrong, 1e-9)
    read_findings(over, '{"numpy": 0.01}\n{"seconds": 0.09, "same": false, "wrong": ""}\n', 1e-9)
    assert (bad.agrees, over.agrees, over.third) == ("no", "1e-09", None)
    rows = [good, bad, over]
    assert not bad.reaches(bad.third, THIRD_GOAL) and not over.reaches(over.third, THIRD_GOAL)
    assert mean_ratio(rows, first_ratio) == pytest.approx((6 * 1000 * 9) ** (1 / 3))
    assert mean_ratio(rows, third_ratio) == pytest.approx((1.2 * 1000) ** 0.5)
    assert [line.split(" ")[0] for line in worst(rows, 2)] == ["late", "bad"]
    console = Console(width=150, record=True, file=io.StringIO())
    console.print(table(rows, "here", on_gpu=False), summary(rows, on_gpu=False))
    text = console.export_text()
    assert " 1.20 " in text and "! 1,000" in text and "over 20 s" in text
    save_json(rows, "CPU", {}, tmp_path / "rows.json")
    assert json.loads((tmp_path / "rows.json").read_text())["rows"][0]["third_ratio"] == pytest.approx(1.2)
