"""The benchmark's cases give NumPy's results under numloom; its report holds together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import run_numpy
from benchmarks.cases import CASES, Case
from benchmarks.libraries import Library, Numloom
from benchmarks.measure import Measurement, measure, results_agree
from benchmarks.report import Report, markdown, save_json, save_plot, table

SMALL = [case for case in CASES if case.small and "1e7" not in case.name]


@pytest.fixture(scope="module")
def numloom_library():
    import numloom

    with numloom.config(cpu_compile=numloom.config.cpu_compile):
        yield Numloom()


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_results_are_numpys(case: Case, numloom_library: Library) -> None:
    inputs = case.inputs(np.random.default_rng(0))
    assert results_agree(case, numloom_library, inputs, run_numpy(case, inputs))


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_measure_times_and_gives_up() -> None:
    case = Case("wait", lambda rng: (), lambda xp: np.arange(10) + 1)
    found = measure(case, Library(), (), cap=0.05, hard_cap=5)
    assert found.seconds and found.first and found.calls > 1

    def forever(xp):
        while True:
            pass

    found = measure(Case("forever", lambda rng: (), forever), Library(), (), cap=0.05, hard_cap=0.2)
    assert found.seconds is None and "over" in found.note
    found = measure(Case("broken", lambda rng: (), lambda xp: 1 / 0), Library(), (), cap=0.05, hard_cap=5)
    assert found.seconds is None and "ZeroDivisionError" in found.note


def test_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    machine = {"device": "a machine", "bytes_per_second": 1e12, "instructions_per_second": 1e13}
    report = Report(machine, {"numloom": "0", "numpy": "2", "cupy": "14"})
    report.add(
        Case("big[x]", lambda rng: (), abs, bytes=1e8, instructions=1e6),
        {"numloom": Measurement(1.25e-4, 0.1, 10, 9, 1), "numpy": Measurement(1e-2), "cupy": Measurement(5e-4)},
    )
    report.add(Case("failed", lambda rng: (), abs), {"numloom": Measurement(note="no such name")})
    assert report.best_peer("big[x]") == 5e-4
    assert report.ratio("big[x]") == pytest.approx(4)
    assert report.share("big[x]") == pytest.approx(0.8)
    assert report.ratio("failed") is None and report.floors["failed"] is None
    assert "| big[x] | 100 | 125 |" in markdown(report)
    assert "no such name" in str(table(report).caption)
    save_json(report, tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["cases"][0]["ratio_to_best_peer"] == pytest.approx(4)
    save_plot(report, tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 5000
