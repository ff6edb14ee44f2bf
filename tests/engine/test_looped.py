"""Programs by ready-made loops give the bits of the interpreter, and write no memory but their results'."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from interpreted import Host
from programs import Case, describe, random_map, random_reduction, random_rows, same, words_of

from numloom.device import registry
from numloom.emit import emit
from numloom.engine import link, tape
from numloom.engine.interpret import can_interpret, interpret
from numloom.engine.words import words_of as block_of

pytestmark = pytest.mark.skipif(
    tape.looped is None or registry.current().discrete, reason="a part of the compiled core, for the host"
)


@pytest.fixture(scope="module")
def loops() -> Any:
    device: Any = registry.current()
    device.load_loops(link._loops_text, wait=True)
    return device.loops


def ran_by_loops(case: Case, loops: Any) -> bool:
    """Whether loops ran a case: its memory is then what the interpreter makes of it."""
    if not can_interpret(case.program, loops) or not all(case.program.shape):
        return False
    source = emit.emit(case.program, False)
    found = tape.looped(case.program, source, loops)
    if found is None:
        return False
    memory, other = case.fresh(), case.fresh()
    host = Host()
    host.loops = loops
    interpret(case.program, case.pointers(other), case.params, case.iota_offsets, host)
    for _ in range(2):  # Scratch memory has the first run's values by then.
        memory = case.fresh()
        assert found.run(block_of(words_of(case, source, memory, 0, 0)))
        assert same(memory, other), describe(case)
    return True


def check(make: Callable[[Random], Case], count: int, least: int, loops: Any) -> None:
    ran = [ran_by_loops(make(Random(seed)), loops) for seed in range(count)]
    assert sum(ran) >= least, f"{sum(ran)} of {count} ran by loops"


def test_random_maps(loops: Any) -> None:
    check(lambda random: random_map(random, budget=3000, any_casts=True), 300, 100, loops)


def test_random_maps_in_parts(loops: Any) -> None:
    check(lambda random: random_map(random, budget=200_000, any_casts=True), 40, 10, loops)


def test_random_reductions(loops: Any) -> None:
    check(lambda random: random_reduction(random, budget=6000, any_casts=True), 200, 20, loops)


def test_random_reductions_in_parts(loops: Any) -> None:
    check(lambda random: random_reduction(random, budget=200_000, any_casts=True), 40, 4, loops)


def test_random_rows(loops: Any) -> None:
    def make(random: Random) -> Case:
        shape = (random.choice([1, 3, 40]), random.choice([1, 7, 16, 33, 1000]))
        return random_rows(random, shape, kept=1, any_casts=True)

    check(make, 100, 10, loops)
