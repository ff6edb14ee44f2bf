"""Random programs as compiled functions, called until they run by the shortest way (`compiled_programs.py`)."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import pytest
from compiled_programs import Caller, Summary, program_at, run
from worlds import PROGRAMS, load_loops

import numloom as nl
from apart import stand_in
from numloom.device import registry

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(
        registry.current().discrete or nl.config.executor == "reference", reason="each needs kernels of its own there"
    ),
]
FEW = max(PROGRAMS // 40, 16)


@pytest.fixture(autouse=True)
def loops() -> None:
    """The loops that do the work until kernels are compiled."""
    load_loops()


def check(first: int, count: int) -> None:
    """Run some programs: none is wrong, most run as tapes, and some of these captured."""
    found = run(range(first, first + count), Summary())
    assert not found.wrong, "\n".join([str(found), *found.wrong[:3]])
    assert found.taped > count // 2, found
    assert found.captured > count // 20, found


@pytest.mark.parametrize("part", range(2))
def test_compiled_programs(part: int) -> None:
    check(100_000 * part, FEW)


def test_programs_that_were_wrong() -> None:
    """Numbers that a tape gave to a loop were the caller's array, which was memory by then."""
    found = run([8_830_124, 8_830_125, 8_830_127], Summary())
    assert not found.wrong, "\n".join([str(found), *found.wrong[:3]])


def test_beside_a_gpu() -> None:
    """A loop may run on the other side than when its call was recorded (a stand-in refuses memory of the host)."""
    with stand_in():
        found = run(range(8_200_024, 8_200_040), Summary())
    assert not found.wrong, "\n".join([str(found), *found.wrong[:3]])
    assert found.taped > 4, found


@pytest.mark.slow
def test_many_compiled_programs() -> None:
    check(300_000, 10 * FEW)


def test_a_wrong_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """One element of one late call is another one: the program is named, with a text that runs."""
    made = Caller._made

    def broken(self: Caller) -> Any:
        call, calls = made(self), []

        def one(*arrays: Any) -> Any:
            calls.append(1)
            found = call(*arrays)
            if len(calls) == 6 and found[0].size:
                found[0] = nl.where(nl.arange(found[0].size).reshape(found[0].shape) == 0, ~(found[0] != 0), found[0])
            return found

        return one

    monkeypatch.setattr(Caller, "_made", broken)
    monkeypatch.setattr("compiled_programs.states_of", lambda call: [])
    found = run(range(5000, 5016), Summary())
    assert found.wrong
    assert all(["compiled_programs.py 1 50" in text for text in found.wrong])


def test_texts_run() -> None:
    """What is told of a program runs as it stands."""
    texts = []
    for seed in range(7000, 7040):
        program, way, _, _ = program_at(seed)
        if way != "gradient" and program.kinds and not program.drawn:
            texts.append(program.pasted())
    assert texts
    for text in texts[::8]:
        with redirect_stdout(io.StringIO()) as shown:
            exec(compile(text, "<text>", "exec"), {})
        assert shown.getvalue()
