"""``python -m numloom bench``: a table beside NumPy, of programs that give what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.command.bench import PROGRAMS, BenchProgram, bench
from numloom.command.main import main


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_both_compute_the_same(program: BenchProgram) -> None:
    rng = np.random.default_rng(0)
    given = [rng.random(tuple(min(extent, 60) for extent in shape), np.float32) for shape in program.shapes]
    ours = program.run(nl, *map(nl.asarray, given))
    np.testing.assert_allclose(ours.get(), program.run(np, *given), rtol=1e-4, atol=1e-5)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    small = tuple(BenchProgram(each.name, each.run, ((8, 8),) * len(each.shapes)) for each in PROGRAMS[:3])
    assert bench(quick=True, programs=small) == 0
    text = capsys.readouterr().out
    assert all(each.name in text for each in small) and "NumPy" in text and "×" in text


def test_an_unknown_device_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--device", "tpu"])
    assert ended.value.code == 2
