"""Random programs run under NumPy and under numloom: lazily, eagerly, with evaluation forced at random, and again.

A program is a list of Python lines over arrays `a0`, `a1`, ... It is made from a string of bytes, each byte a choice,
while it runs under NumPy (`author.py`): a line that NumPy refuses, or whose answer the platform is free to choose, is
left out. What is read is compared: between NumPy and numloom to the bit (reductions of floats, which may add in another
order, within a tolerance), between numloom's ways of evaluating to the bit. Then the same program runs `ROUNDS` times
more in this process, each time with other numbers, other draws and other data of the same form (`worlds.py`), since
what is remembered of a call must not depend on those.

Run more of them with ``NUMLOOM_PROGRAMS=20000``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import statements_of_looks as looks
import statements_of_memory as memory
import statements_of_values as values
from author import Author
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import PROGRAMS, LoomWorld, Rehearsal, close, load_loops, perform, rehearse, same_bits

import numloom as nl
from numloom.base.errors import MissingDependencyError
from numloom.device import registry

PARTS = 40
ROUNDS = 5

Step = Callable[[Author], None]

SOUND: list[Step] = [
    memory.make_fresh, memory.make_number, memory.make_view, memory.make_view, memory.make_turned, memory.make_copy,
    memory.update, memory.update, memory.update, memory.assign, memory.assign, memory.assign, memory.assign_self,
    memory.assign_self, memory.assign_window, memory.assign_window, memory.loop, memory.scatter, memory.export,
    memory.forget, values.binary, values.binary, values.binary, values.unary, values.choice, values.cast, values.call,
    values.reduce, values.reduce, values.near, values.order, values.scan, values.gather, values.gather, values.join,
    values.product, looks.read, looks.look, looks.look, looks.decide,
]  # fmt: skip
"""Lines that NumPy takes."""

STEPS = [*SOUND, looks.wrong]


def author_of(choices: bytes, steps: list[Step] = STEPS) -> Author:
    author = Author(choices)
    author.write(steps + [memory.make_bits] * 6 if author.bits else steps, memory.make_fresh)
    return author


def modes() -> list[tuple[str, dict[str, Any], bool]]:
    """Ways of running: name, settings, whether evaluation is forced at random.

    Without small work (`unplanned`) nothing is done at once: numbers, elements and arrays at indices are recorded.
    """
    found = [("lazy", {"eager": False}, False), ("eager", {"eager": True}, False), ("forced", {"eager": False}, True),
             ("short", {"eager": False, "max_pending": 3}, False),
             ("recorded", {"eager": False, "unplanned": 0}, False)]  # fmt: skip
    result = [(name, {**kw, "executor": nl.config.executor}, forced) for name, kw, forced in found]
    if nl.config.executor != "reference":
        result.append(("reference", {"eager": False, "executor": "reference"}, False))
    return result


def check(choices: bytes, cpu_compile: str = "never", rounds: int = ROUNDS, steps: list[Step] = STEPS) -> None:
    """Write a program, run it in every way, and again with other data; compare what was read."""
    author = author_of(choices, steps)
    rehearsal = rehearse(author.statements, 0)
    results = []
    for name, changes, forced in modes():
        world = LoomWorld(0, len(choices) if forced else None)
        results.append((name, run(author, rehearsal, world, name, {"cpu_compile": cpu_compile, **changes})))
    lengths = [len(reads) for _, reads in results]
    for at, line in enumerate(rehearsal.lines[: min(lengths)]):
        for name, reads in results[1:]:
            assert same_bits(results[0][1][at][1], reads[at][1]), (
                f"lazily {results[0][1][at][1]!r}, {name} {reads[at][1]!r}, line {line + 1}\n{author.shown()}"
            )
    for again in range(1, 1 + rounds):
        rehearsal = rehearse(author.statements, again)
        # Every other time by plans, of which those that come again run by shorter ways.
        changes = {"cpu_compile": cpu_compile, "eager": False, **({"unplanned": 0} if again % 2 else {})}
        run(author, rehearsal, LoomWorld(again), f"round {again}", changes)


def run(
    author: Author, rehearsal: Rehearsal, world: LoomWorld, name: str, changes: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Run a program under numloom; what it read, which is NumPy's."""
    with nl.config(**changes):
        try:
            perform(author.statements, rehearsal, world)
        except MissingDependencyError:  # A kernel that has no loop; what was read before counts.
            pass
        except Exception as error:
            error.add_note(f"{name}, in the program:\n{author.shown()}")
            raise
    # Which of two zeros is the larger one depends on NumPy's vectors.
    signed = not any("max" in statement.text or "min" in statement.text for statement in author.statements)
    for (kind, want), (_, have), line in zip(rehearsal.reads, world.reads, rehearsal.lines, strict=False):
        fine = same_bits(want, have, signed) if kind == "exact" else close(want, have)
        assert fine, f"NumPy has {want!r}, numloom {have!r}: {name}, line {line + 1} of\n{author.shown()}"
    return world.reads


@pytest.fixture(scope="module", autouse=True)
def loops() -> None:
    """Nothing is compiled for a program."""
    load_loops()


@pytest.mark.parametrize("part", range(PARTS))
def test_programs(part: int) -> None:
    """The same answers however it is evaluated, and however often."""
    generator = random.Random(part)
    for _ in range(max(PROGRAMS // PARTS // (3 if registry.current().discrete else 1), 1)):
        check(generator.randbytes(generator.randrange(20, 160)))


@settings(max_examples=max(PROGRAMS // 40, 20))
@given(st.binary(min_size=8, max_size=160))
def test_small_programs(choices: bytes) -> None:
    """As above; a failure is made as small as hypothesis can."""
    check(choices)


@pytest.mark.slow
def test_compiled_programs() -> None:
    """Fused kernels from the host's compiler, waited for."""
    if nl.config.executor == "reference":
        pytest.skip("the reference executor compiles nothing")
    generator = random.Random(99)
    for _ in range(max(PROGRAMS // 400, 4)):
        check(generator.randbytes(60), cpu_compile="wait")
