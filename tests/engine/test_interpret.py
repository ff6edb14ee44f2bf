"""The interpreter gives the bits of the compiled kernel, for any program that it takes."""

from __future__ import annotations

import tracemalloc
import warnings
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreted import run_interpreted
from programs import (
    Case,
    describe,
    expected,
    random_map,
    random_reduction,
    random_rows,
    reduction_of_memory,
    run_host,
    same,
)

import numloom as nl
from compilers import needed
from numloom.base.dtypes import C64, C128, CHARS, F16, F32, F64, I16
from numloom.device import registry
from numloom.engine import interpret, link, tape
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import reduction_of
from numloom.plan.program import Instr, Operand, Program, Store


def check(case: Case) -> None:
    host = run_host(case)
    # Elements of what is reduced, and bytes of a value, that are there at once.
    for full, block in ((interpret.FULL, interpret.BLOCK), (64, 1 << 12)):
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("error")
            patch.setattr(interpret, "FULL", full)
            patch.setattr(interpret, "BLOCK", block)
            interpreted = run_interpreted(case)
        assert interpreted is not None, describe(case)
        assert same(host.memory, interpreted.memory), describe(case)
        assert host.error == interpreted.error


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_random_maps(seed: int) -> None:
    # Now and then a space of several blocks.
    check(random_map(Random(seed), budget=3000 if seed % 10 else 200_000, any_casts=True))


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_random_reductions(seed: int) -> None:
    check(random_reduction(Random(seed), budget=6000 if seed % 10 else 200_000, any_casts=True))


@pytest.mark.optimized
@pytest.mark.parametrize("seed", [
    4837818,  # A number of float16 as a whole number, and as float32 again: 0.0, not -0.0.
    97,  # The greatest of truth values, of which GCC 12 made 255.
])  # fmt: skip
def test_reductions_that_compilers_got_wrong(seed: int) -> None:
    check(random_reduction(Random(seed), budget=6000, any_casts=True))


@pytest.mark.parametrize("seed", range(12))
def test_random_rows(seed: int) -> None:
    random = Random(seed)
    shape = random.choice(((70,), (20, 7), (3, 2000), (2, 40_000), (3, 4, 50), (300, 400)))
    check(random_rows(random, shape, len(shape) - 1, any_casts=True))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("shape", [(1,), (3, 129), (2, 100, 333), (3, 16385), (300, 700), (5, 0), (0, 5), (100001,),
                                   (4_300_000,)])  # fmt: skip
def test_tree(shape: tuple[int, ...], fast: bool) -> None:
    kept = min(1, len(shape) - 1)
    if not kept and not fast:
        pytest.skip("one row lies along the fast axis")
    for code, names in ((F32, ("sum", "var", "prod")), (F64, ("m2", "mean")), (F16, ("mean", "sum", "var"))):
        if 0 in shape:
            names = ("sum", "prod")
        check(reduction_of_memory(shape, kept, fast, names, code))


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("names", [
    ("prod", "max", "min", "fmax", "fmin", "argmax", "argmin", "any", "all"), ("sum", "mean", "var", "m2"),
])  # fmt: skip
@pytest.mark.parametrize("code", [C64, C128])
def test_trees_of_complex_numbers(code: int, names: tuple[str, ...], fast: bool) -> None:
    case = reduction_of_memory((6, 2500), 1, fast, names, code)
    rows = case.view(case.memory, 0)
    random = Random(names[0])
    for op_def in (1, 2, 3):  # some special numbers, one of many kinds in a row, or nothing else
        for _ in range((3, 40, 40_000)[op_def - 1]):
            value = complex(random.choice(SPECIAL), random.choice(SPECIAL))
            rows[op_def, random.randrange(2500)] = value
    rows[4] = rows[4].round()  # of which many are equal
    check(case)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("code", [F16, F32, F64])
def test_trees_of_operations(code: int, fast: bool) -> None:
    """Reductions that combine by a function whose bits NumPy does not give."""
    rows = tuple([reduction_of(ELEMENTWISE[name], CHARS[code]) for name in ("logaddexp", "logaddexp2", "hypot")])
    case = reduction_of_memory((5, 1234), 1, fast, rows, code)
    given = case.view(case.memory, 0)
    given[1, ::7], given[2, 5], given[3, 100:], given[4, 0] = -0.0, np.inf, -np.inf, np.nan
    check(case)


@pytest.mark.skipif(registry.current().discrete, reason="only the host interprets")
def test_much_work_waits_for_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes less time than so many operations one by one."""
    needed()
    waits: list[bool] = []
    device = registry.current()
    kernel = device.kernel
    monkeypatch.setattr(device, "kernel", lambda *text, wait: waits.append(wait) or kernel(*text, wait=wait))
    monkeypatch.setattr(link, "SOON", 10_000)
    with nl.config(cpu_compile="background", unplanned=0):
        for rows, work in ((3, lambda x: x * 3 - x / 7 + x), (1_001, lambda x: x * 3 - x / 9 - x)):
            assert np.isfinite(work(nl.ones((rows, 11)) * 1.25).sum(1).get()).all()
    assert waits == [False, True]


def test_a_long_chain_takes_little_memory() -> None:
    """A value is dropped behind its last use: what is computed next finds its memory in the cache."""
    body = [Instr("load", F64, operand=0)]
    for _ in range(100):
        body.append(Instr("op", F64, (len(body) - 1, 0), op_def=ELEMENTWISE["add"]))
    operands = (Operand(F64, (1,)), Operand(F64, (1,), written=True))
    program = Program((1 << 20,), 1, tuple(body), (Store(100, 1),), operands)
    x, y = np.ones(1 << 20), np.empty(1 << 20)
    tracemalloc.start()
    interpret.interpret(program, [x.ctypes.data, y.ctypes.data], [], [], registry.get("cpu"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (y == 101).all()
    assert peak < 8 * interpret.BLOCK


def test_a_later_store_sees_what_was_read() -> None:
    # x += 1 in place, and the old x elsewhere.
    add = Instr("op", F32, (0, 1), op_def=ELEMENTWISE["add"])
    body = (Instr("load", F32, operand=0), Instr("param", F32, index=0), add)
    operands = (
        Operand(F32, (1,), in_place=True),
        Operand(F32, (1,), written=True, in_place=True),
        Operand(F32, (1,), written=True),
    )
    x = np.arange(100, dtype="f4")
    program = Program((100,), 1, body, (Store(2, 1), Store(0, 2)), operands, (F32,))
    case = Case(program, [x, x, np.zeros(100, "f4")], [0, 0, 0], [np.float32(1)], share={1: 0})
    check(case)
    got = run_interpreted(case)
    assert got is not None
    assert (got.memory[0] == x + 1).all()
    assert (got.memory[2] == x).all()
    assert same(expected(case).memory, got.memory)


def test_casts_do_not_depend_on_the_place() -> None:
    # NumPy's answer for numbers out of range depends on whether a vector or the rest of one holds them.
    values = np.full(37, 1e10)
    operands = (Operand(F64, (1,)), Operand(I16, (1,), written=True))
    body = (Instr("load", F64, operand=0), Instr("cast", I16, (0,)))
    program = Program((37,), 1, body, (Store(1, 1),), operands)
    got = run_interpreted(Case(program, [values, np.zeros(37, "i2")], [0, 0]))
    assert got is not None
    assert len(set(got.memory[1].tolist())) == 1


@pytest.mark.skipif(registry.current().discrete, reason="only the host interprets")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_ends_a_store_in_place_has_stored_nothing(error: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what is stored when somebody looks again would be computed from what was stored."""
    host = np.arange(float(3 * interpret.BLOCK // 8))
    calls = 0
    apply = interpret.apply

    def failing(*args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise error
        return apply(*args)  # type: ignore[arg-type]

    with nl.config(cpu_compile="never", unplanned=0):
        x = nl.asarray(host.copy())
        x[1:] *= 2
        monkeypatch.setattr(interpret, "apply", failing)
        monkeypatch.setattr(tape, "run_by_loops", lambda *_: False)  # Which would hear of nothing.
        if error is MemoryError:  # It is done block by block then.
            nl.evaluate(x)
        else:
            with pytest.raises(error):
                nl.evaluate(x)
        host[1:] *= 2
        assert (x.get() == host).all()
