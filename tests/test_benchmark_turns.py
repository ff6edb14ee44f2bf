"""Lines of `benchmarks.turns` are the same work under NumPy and numloom."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import turns

import numloom as nl


@pytest.mark.parametrize("line", turns.LINES, ids=lambda line: line.name)
def test_lines_are_the_same_work(line: turns.Line) -> None:
    ours, plain = turns.arrays(nl), turns.arrays(np)
    for _ in range(3):
        np.testing.assert_allclose(nl.asnumpy(line.work(nl, ours)), line.work(np, plain), rtol=1e-9, atol=1e-12)


def test_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert turns.main(["--rounds", "1", "--warm", "1", "--only", "10 elements"]) == 0
    assert "x + 1, 10 elements" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        turns.main(["--only", "no such line"])
