"""Gathers that read runs of memory on the host: kernels beside NumPy, wherever their places are cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planning import planned

import numloom as nl
from numloom import config
from numloom.emit.cost import nanoseconds
from numloom.emit.emit import emit
from numloom.emit.runs import LONG_ROW, gathers_in_runs
from numloom.plan.program import Program

MOST = 2**63 - 1
Work = Callable[[Any, Any], Any]

WORKS: dict[str, Work] = {
    "roll": lambda xp, a: xp.roll(a, 3, -1),
    "roll backwards": lambda xp, a: xp.roll(a, -70, -1),
    "roll rows": lambda xp, a: xp.roll(a, 1, 0),
    "roll all": lambda xp, a: xp.roll(a, 5),
    "edge": lambda xp, a: xp.pad(a, 2, "edge"),
    "reflect": lambda xp, a: xp.pad(a, 2, "reflect"),
    "reflect far": lambda xp, a: xp.pad(a, [(0, 0)] * (a.ndim - 1) + [(150, 90)], "reflect"),
    "symmetric": lambda xp, a: xp.pad(a, 3, "symmetric"),
    "wrap": lambda xp, a: xp.pad(a, 1, "wrap"),
    "wrap far": lambda xp, a: xp.pad(a, [(0, 0)] * (a.ndim - 1) + [(201, 333)], "wrap"),
    "backwards": lambda xp, a: a[..., a.shape[-1] - 1 - xp.arange(a.shape[-1])],
    "every third": lambda xp, a: a[..., 3 * xp.arange(a.shape[-1] // 3)],
    "there and back": lambda xp, a: a[
        ..., xp.minimum(xp.arange(a.shape[-1]), a.shape[-1] - xp.arange(a.shape[-1]) - 1)
    ],
    "from the end": lambda xp, a: a[..., -1 - xp.arange(a.shape[-1])],
    "beyond all numbers": lambda xp, a: a[..., (xp.arange(a.shape[-1]) + MOST) - MOST],
    "chosen far away": lambda xp, a: a[..., xp.where(xp.arange(a.shape[-1]) - 3 > -MOST, xp.arange(a.shape[-1]), 0)],
    "chain": lambda xp, a: xp.roll(a, 1, -1) + a - xp.roll(a, -1, -1),
    "into a part": lambda xp, a: _into_a_part(xp, a),
}


def _into_a_part(xp: Any, a: Any) -> Any:
    made = xp.zeros_like(a)
    made[..., 2:] = xp.roll(a, 7, -1)[..., 2:]
    return made


def matrix(shape: tuple[int, ...], char: str) -> np.ndarray[Any, Any]:
    made = np.random.default_rng(sum(shape)).integers(0, 120, shape)
    return (made % 2 == 0) if char == "?" else made.astype(char)


def layouts(host: np.ndarray[Any, Any]) -> list[Any]:
    """The same elements in C and Fortran order, with gaps, and backwards."""
    wide = np.zeros((*host.shape[:-1], 2 * host.shape[-1]), host.dtype)
    wide[..., ::2] = host
    back = np.ascontiguousarray(host[..., ::-1])
    return [
        nl.asarray(host), nl.asarray(np.asfortranarray(host)), nl.asarray(wide)[..., ::2], nl.asarray(back)[..., ::-1],
    ]  # fmt: skip


@pytest.mark.parametrize("char", ["?", "B", "h", "f", "D"])
@pytest.mark.parametrize("shape", [(200,), (5, 130), (2, 3, 64), (4, 6)], ids=str)
@pytest.mark.parametrize("name", WORKS)
def test_kernels_are_numpys(name: str, shape: tuple[int, ...], char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "unplanned", 0)
    monkeypatch.setattr(config, "cpu_compile", "wait")
    work, host = WORKS[name], matrix(shape, char)
    if char == "?" and name == "chain":
        pytest.skip("NumPy subtracts no truth values")
    expected = work(np, host)
    for array in layouts(host):
        np.testing.assert_array_equal(nl.asnumpy(work(nl, array)), expected)


def test_an_index_beyond_is_found_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "unplanned", 0)
    array = nl.asarray(matrix((5, 130), "f"))
    for low, high in ((1, 131), (-131, -1), (0, 131)):
        with pytest.raises(IndexError):
            nl.asnumpy(array[:, nl.arange(low, high)] + 1)
    assert nl.asnumpy(array[:, nl.arange(-130, 0)] + 1).shape == (5, 130)


def program_of(array: Any) -> Program:
    plan, _ = planned([array])
    assert len(plan.steps) == 1
    program = plan.steps[0].program
    assert program is not None
    return program


def test_which_gathers_are_runs() -> None:
    table = nl.asarray(matrix((8, LONG_ROW), "f"))
    index = nl.asarray(np.arange(LONG_ROW))
    nl.evaluate(table, index)
    rolled = program_of(nl.roll(table, 1, 1) * 2)
    assert len(gathers_in_runs(rolled)) == 1
    assert "nl::run_from_end" in emit(rolled).text
    taken = program_of(nl.take(table, index, 1) * 2)
    assert gathers_in_runs(taken) == []
    assert nanoseconds(rolled) < nanoseconds(taken)
    assert gathers_in_runs(program_of(nl.roll(table, 1, 1).sum(1))) == []
    short = nl.asarray(matrix((8, LONG_ROW - 1), "f"))
    nl.evaluate(short)
    assert gathers_in_runs(program_of(nl.roll(short, 1, 1) * 2)) == []
    assert gathers_in_runs(program_of(nl.roll(table[:, ::2], 1, 0) * 2)) == []  # whose elements lie apart


def test_whole_rows_are_runs_however_short() -> None:
    table = nl.asarray(matrix((8, 5), "f"))
    nl.evaluate(table)
    assert len(gathers_in_runs(program_of(nl.roll(table, 1, 0) * 2))) == 1
