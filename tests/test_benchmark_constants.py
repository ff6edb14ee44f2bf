"""The statements of constant costs give NumPy's results under numloom; what is looked at, and the report, hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.constants import (
    LINES,
    MAKING,
    SECTIONS,
    Found,
    Line,
    Statement,
    by_ratio,
    by_section,
    chosen,
    looked_at,
    main,
    results,
    summary,
    way_to_look,
)
from benchmarks.small_work.program import difference, leaves
from benchmarks.small_work.timing import on_host

import numloom as nl

HOST = (np.ndarray, np.generic)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.text)
def test_results_are_numpys(line: Line) -> None:
    ours, theirs = results(line, nl), results(line, np)
    assert len(ours) == len(theirs) >= 1
    if isinstance(theirs[0], np.dtype):
        assert ours == theirs
        return
    found, expected = on_host(nl, ours), on_host(np, theirs)
    if line.loose:  # NumPy's own draws are Python's numbers, ours arrays
        assert [(part.shape, part.dtype) for part in found] == [(part.shape, part.dtype) for part in expected]
    else:
        kinds = [[isinstance(part, kind) for part in leaves(of)] for kind, of in ((nl.ndarray, ours), (HOST, theirs))]
        assert kinds[0] == kinds[1]
        single = any(part.dtype == np.float32 for part in expected)
        assert difference(found, expected, 1e-6 if single else 1e-12) is None


def test_lines_are_told_apart() -> None:
    assert len({line.text for line in LINES}) == len(LINES) > 140
    assert {line.section for line in chosen("draws")} == {"draws"}
    assert [line.text for line in chosen("m3 @ x3; x10.fill")] == ["x10.fill(0.5); x10", "m3 @ x3"]
    assert chosen("") == list(LINES) and not chosen("nothing such")


def test_the_last_expression_is_looked_at() -> None:
    assert looked_at("x + 1") == "look(x + 1)"
    assert looked_at("x[3] = 1; x") == "x[3] = 1\nlook(x)"
    assert looked_at("for n in m: x[:n].sum()", "float({})") == "for n in m:\n    float(x[:n].sum())"
    assert looked_at("for n in m: x[n] = 1").endswith("x[n] = 1")


@pytest.mark.parametrize(
    ("given", "way"),
    [
        (np.zeros(3), "look({})"), (np.float64(1), "float({})"), (np.int64(1), "int({})"), (np.bool(1), "bool({})"),
        ((np.zeros(3), np.zeros(2)), "look(*{})"), ([np.float64(1)], "list(map(float, {}))"), (1.5, "id({})"),
        ([1.0, 2.0], "id({})"),
    ],
)  # fmt: skip
def test_ways_to_look(given: Any, way: str) -> None:
    assert way_to_look(given) == way


def test_what_is_timed_is_computed() -> None:
    # Else the time would be that of recording alone.
    seen: list[bool] = []
    statement = Statement(Line("np.exp(x1000) * 2", "ufuncs"), nl)
    assert statement.look is nl.evaluate
    statement.look = lambda array: seen.append(nl.evaluate(array) or array.storage.value.buffer is not None)
    assert statement.seconds(3) > 0
    assert seen == [True] * 3


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "found.json"
    assert main(["--quick", "--only", "np.zeros(10);-s", "--json", str(file)]) == 0
    saved = json.loads(file.read_text())
    assert [row["text"] for row in saved["rows"]] == ["np.zeros(10)", "-s"]
    assert all(row["ours"] > 0 and row["numpy"] > 0 for row in saved["rows"]) and saved["summary"]["lines"] == 2
    assert "-s" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nothing such"])


def test_the_report() -> None:
    found = [Found("np.zeros(10)", MAKING, 19, 10), Found("s + 1", "numbers", 40, 10), Found("x + 1", "ufuncs", 9, 10)]
    assert [one.within for one in found] == [True, False, True]
    own = summary(found)
    assert own["mean"] == pytest.approx((1.9 * 4 * 0.9) ** (1 / 3)) and own["median"] == 1.9 and own["within"] == 2
    assert [str(cell) for cell in by_ratio(found).columns[0].cells] == ["s + 1", "np.zeros(10)", "x + 1"]
    assert [str(cell) for cell in by_ratio(found).columns[4].cells] == ["! 4.00", "1.90", "0.90"]
    assert [str(cell) for cell in by_section(found).columns[1].cells] == ["1", "1", "1", "3"]
    assert MAKING in SECTIONS
