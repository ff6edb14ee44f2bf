"""Kernels without reductions: host text, emulated CUDA threads and plain NumPy give the same bits."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Case, describe, expected, random_map, run_emulated, run_host, same

import numloom as nl
from numloom import config
from numloom.base.dtypes import BOOL, C128, DTYPES, F16, F32, F64, I8, I64, U8, U32, U64
from numloom.emit import mapping, maps
from numloom.emit.emit import emit
from numloom.ops.elementwise import ELEMENTWISE
from numloom.plan.program import Box, Instr, Operand, Program, Store


def check(case: Case, backwards: bool) -> None:
    host, emulated, want = run_host(case), run_emulated(case, backwards), expected(case)
    assert same(host.memory, want.memory), describe(case)
    assert same(emulated.memory, want.memory), describe(case)
    assert host.error == emulated.error == want.error


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_random_maps(seed: int) -> None:
    check(random_map(Random(seed)), backwards=bool(seed & 1))


@pytest.mark.parametrize("seed", range(12))
def test_wide_indices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Spaces beyond 2^31 points need more memory than a test has: their index arithmetic on small ones.
    monkeypatch.setattr(mapping, "index_type", lambda program: "i64")
    check(random_map(Random(1000 + seed)), backwards=False)


@pytest.mark.parametrize("shape", [(4, 256), (7, 255), (2, 8, 250), (9, 517), (3, 2, 4, 253)], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_stencils(seed: int, shape: tuple[int, ...]) -> None:
    """Long rows that cannot be read 16 bytes at a time, boxes among them."""
    case = random_map(Random(seed), shape=shape)
    assert "column" in emit(case.program).text or maps._Map(case.program).wide or not _has_stencil(case.program)
    check(case, backwards=bool(seed & 1))


def _has_stencil(program: Program) -> bool:
    return (
        4 <= max(DTYPES[operand.code].itemsize for operand in program.operands) <= 8
        and not any(instr.kind == "gather" for instr in program.body)
        and "tile" not in emit(program).text
    )


@pytest.mark.parametrize("code", [F32, F64])
@pytest.mark.parametrize("shape", [(16, 128), (30, 124), (2, 15, 252)], ids=str)
@pytest.mark.parametrize("inside", [None, "part", "all"])
def test_rows_that_begin_anywhere(code: int, shape: tuple[int, ...], inside: str | None) -> None:
    """A stencil: what begins past a multiple of 16 bytes is read by the words that hold it."""
    rank, each = len(shape), 16 // DTYPES[code].itemsize
    pitch = shape[-1] + 3 * each
    strides = tuple(prod(shape[d + 1 : -1]) * pitch for d in range(rank - 1)) + (1,)
    dense = tuple(prod(shape[d + 1 :]) for d in range(rank))
    shifts = range(each)
    operands = [Operand(code, strides, past=shift * DTYPES[code].itemsize) for shift in shifts]
    operands.append(Operand(code, (*(0 for _ in shape[1:]), 0), 0))
    operands += [Operand(code, dense), Operand(code, dense, written=True)]
    add = ELEMENTWISE["add"]
    body = [Instr("load", code, operand=k) for k in range(each + 1)]
    for k in range(each):
        body.append(Instr("op", code, (k, len(body) - 1 if k else each), op_def=add))
    box = None
    if inside:
        starts = (1,) * rank if inside == "part" else (0,) * rank
        counts = tuple(e - 2 for e in shape) if inside == "part" else shape
        box = Box(each + 1, starts, (1,) * rank, counts)
    program = Program(shape, rank, tuple(body), (Store(len(body) - 1, each + 2),), tuple(operands), box=box)
    rng = np.random.default_rng(each)
    lengths = [prod(shape[:-1]) * pitch + each] * each + [1, prod(shape), prod(shape)]
    memory = [rng.normal(size=length).astype(DTYPES[code]) for length in lengths]
    stencil = maps._Map(program).stencil
    assert stencil is not None and stencil.word == 16
    check(Case(program, memory, [*shifts, 0, 0, 0]), backwards=bool(inside))


@pytest.mark.parametrize(
    ("shape", "pitch", "past", "code", "inside", "reach"),
    [
        ((61,), 0, 1, F32, None, 5),
        ((4099,), 0, 0, F64, (2, 0), 1),
        ((30, 124), 128, 0, F32, None, 1),
        ((30, 124), 128, 0, F16, (0, 3), 5),
        ((17, 126), 134, 3, F32, (1, 1), 5),
        ((17, 126), 130, 1, F64, None, 1),
        ((9, 127), 131, 2, F32, (2, 0), 1),
        ((3, 15, 252), 256, 1, F32, None, 5),
        ((3, 15, 252), 256, 1, F32, (0, 0), 1),
        ((13, 15, 250), 0, 0, F64, (1, 2), 5),
    ],
    ids=str,
)
def test_one_array_seen_from_several_places(
    shape: tuple[int, ...], pitch: int, past: int, code: int, inside: tuple[int, int] | None, reach: int
) -> None:
    """A stencil whose operands are known to be one array: words are shared."""
    rank, itemsize = len(shape), DTYPES[code].itemsize
    margin = 0 if inside else reach
    strides = tuple(prod(e + 2 * margin for e in shape[d + 1 : -1]) * pitch for d in range(rank - 1)) + (1,)
    if inside:
        strides = tuple(prod(shape[d + 1 :]) for d in range(rank))
        past = 0
    steps = [(0,) * rank] + [tuple(by * (d == e) for e in range(rank)) for d in range(rank) for by in (-reach, reach)]
    steps.append(tuple(-1 if d == rank - 1 else 0 for d in range(rank)))
    # What is read outside of the box does not matter; the test's own views need it to be there.
    around = 16 * reach * strides[0]
    center = around + sum(margin * stride for stride in strides) + past
    places = [center + sum(s * by for s, by in zip(strides, step, strict=True)) for step in steps]
    word = next((w for w in (16, 8) if all(s * itemsize % w == 0 for s in strides[:-1])), 0)
    operands = [
        Operand(
            code, strides, word, place * itemsize % word if word else 0, beside=0 if k else -1, by=step if k else ()
        )
        for k, (step, place) in enumerate(zip(steps, places, strict=True))
    ]
    dense = tuple(prod(shape[d + 1 :]) for d in range(rank))
    word = next((w for w in (16, 8) if all(s * itemsize % w == 0 for s in dense[:-1])), 0)
    operands.append(Operand(code, dense, word, written=True))
    body = [Instr("load", code, operand=k) for k in range(len(steps))]
    for k in range(1, len(steps)):
        body.append(Instr("op", code, (k, len(body) - 1 if k > 1 else 0), op_def=ELEMENTWISE["add"]))
    box = None
    if inside:
        starts = tuple(reach + inside[0] for _ in shape)
        counts = tuple(max(e - 2 * reach - inside[0] - inside[1], 1) for e in shape)
        box = Box(0, starts, (1,) * rank, counts)
    program = Program(shape, rank, tuple(body), (Store(len(body) - 1, len(steps)),), tuple(operands), box=box)
    length = 2 * around + sum((e + 2 * margin - 1) * s for e, s in zip(shape, strides, strict=True)) + 1 + past
    memory = np.random.default_rng(0).normal(size=length).astype(DTYPES[code])
    memories = [*([memory] * len(steps)), np.zeros(prod(shape), DTYPES[code])]
    check(Case(program, memories, [*places, 0], share=dict.fromkeys(range(1, len(steps)), 0)), backwards=bool(inside))


@pytest.mark.parametrize("code", [F32, F64, I8, C128, F16])
@pytest.mark.parametrize(
    ("shape", "across", "steps"),
    [
        ((32, 32), 0, 1),
        ((33, 100), 0, 1),
        ((70, 129), 0, 2),
        ((3, 40, 65), 1, 1),
        ((40, 3, 50), 0, 3),
        ((2, 2, 33, 64), 2, 1),
    ],
)
def test_operands_that_lie_across(code: int, shape: tuple[int, ...], across: int, steps: int) -> None:
    """A matrix beside its transpose, with gaps between the rows in memory, a repeated column and a counter."""
    rank, last = len(shape), len(shape) - 1
    dense = tuple(prod(shape[d + 1 :]) for d in range(rank))
    # Contiguous along `across`; the others follow, the last one with gaps.
    turned, step = [0] * rank, 1
    for d in (across, last, *(d for d in range(rank) if d not in (across, last))):
        turned[d], step = step, step * shape[d] * (steps if d == across else 1)
    column = tuple(0 if d == last else dense[d] for d in range(rank))
    body = (
        Instr("load", code, operand=0),
        Instr("load", code, operand=1),
        Instr("op", code, (0, 1), op_def=ELEMENTWISE["add"]),
        Instr("load", code, operand=2),
        Instr("op", code, (2, 3), op_def=ELEMENTWISE["multiply"]),
    )
    operands = (
        Operand(code, dense),
        Operand(code, tuple(turned)),
        Operand(code, column),
        Operand(code, dense, written=True),
    )
    program = Program(shape, rank, body, (Store(4, 3),), operands)
    random = np.random.default_rng(0)
    sizes = [1 + sum((e - 1) * s for e, s in zip(shape, o.strides, strict=True)) for o in operands]
    memory = [random.integers(-5, 5, size + 3).astype(DTYPES[code]) for size in sizes]
    case = Case(program, memory, [0, 0, 0, 0])
    assert "__shared__" in emit(program).text
    check(case, backwards=False)
    check(case, backwards=True)


@pytest.mark.parametrize("char", ["?", "B", "h", "f", "d", "D"])
@pytest.mark.parametrize("count", [0, 3, 150, 4200])
def test_rows_that_all_read_the_same_elements(char: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements that are no neighbours are brought together first, whatever row reads them."""
    monkeypatch.setattr(config, "unplanned", 0)
    monkeypatch.setattr(config, "cpu_compile", "wait")
    made = np.random.default_rng(count).integers(0, 9, (3, count, 2)) / 4
    both = (made > 1) if char == "?" else (made * 4 + (1j if char == "D" else 0)).astype(char)
    x, y = both[1, :, 1], both[2, ::-1, 0]
    ours = nl.asarray(both)
    a, b = ours[1, :, 1], ours[2, ::-1, 0]
    column, block = ours[0, :3, :1], ours[:, :1]
    works: list[Any] = (
        [
            (nl.outer(a[:5], b), np.outer(x[:5], y)),
            (b * column + a, y * both[0, :3, :1] + x),
            (nl.where(block[..., :1] > a, b, a), np.where((both[:, :1, :1] > x), y, x)),
            (nl.maximum(a, ours[:, 0][:, None, :1]) > b, np.maximum(x, both[:, 0][:, None, :1]) > y),
        ]
        if count
        else [(nl.outer(a, b), np.outer(x, y)), (a + ours[1].T, x + both[1].T)]
    )
    if char in "fd":  # A function that loops first take to be of ordinary arguments.
        wide = nl.asarray(np.ones((4, count), char))
        works.append((wide + nl.exp(a), np.ones((4, 1), char) + np.exp(x)))
    for found, wanted in works:
        got = nl.asnumpy(found)
        assert got.dtype == wanted.dtype
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
        else:
            np.testing.assert_array_equal(got, wanted)


def test_a_write_to_what_all_rows_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "unplanned", 0)
    monkeypatch.setattr(config, "cpu_compile", "wait")
    host = np.arange(60.0).reshape(6, 10, order="F")
    array = nl.asarray(host)
    array += array[2]
    np.testing.assert_array_equal(nl.asnumpy(array), host + host[2])
    array[1:4] = array[5] * 2
    host = host + host[2]
    host[1:4] = host[5] * 2
    np.testing.assert_array_equal(nl.asnumpy(array), host)


def test_the_text_brings_them_together() -> None:
    operands = (Operand(F32, (0, 7)), Operand(F32, (1, 0)), Operand(F32, (300, 1), written=True))
    body = (
        Instr("load", F32, operand=0), Instr("load", F32, operand=1),
        Instr("op", F32, (0, 1), op_def=ELEMENTWISE["multiply"]),
    )  # fmt: skip
    text = emit(Program((20, 300), 2, body, (Store(2, 2),), operands)).text
    assert "brought0[i - from] = p.x0[i * " in text
    assert "brought1" not in text


@pytest.mark.parametrize("char", ["?", "B", "h", "f", "d", "D"])
def test_rows_that_are_read_backwards(char: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "unplanned", 0)
    monkeypatch.setattr(config, "cpu_compile", "wait")
    for shape in ((1,), (100,), (5, 67), (3, 4, 300), (0, 5)):
        host = (np.random.default_rng(7).random(shape) * (1.5 if char == "?" else 90)).astype(char)
        for laid in (host, np.asfortranarray(host)):
            array = nl.asarray(laid)
            for found, wanted in (
                (array[..., ::-1].copy(), laid[..., ::-1]),
                (array[::-1] == array, laid[::-1] == laid),
                (nl.exp(array[..., ::-1] * 0) + array, np.exp(laid * 0) + laid),
            ):
                np.testing.assert_array_equal(nl.asnumpy(found), wanted)
    operands = (Operand(F32, (300, -1)), Operand(F32, (300, 1), written=True))
    text = emit(Program((20, 300), 2, (Instr("load", F32, operand=0),), (Store(0, 1),), operands)).text
    assert "y0[-i]" in text


def test_a_truth_value_is_a_byte_among_the_parameters() -> None:
    """Of a field that is a bool GCC makes no vectors, so that filling memory took fifty times as long."""
    program = Program((300,), 1, (Instr("param", BOOL, index=0),), (Store(0, 0),), (Operand(BOOL, (1,), written=True),))
    assert "bool8 c0;" in emit(program).text
    for value in (False, True):
        filled = nl.full((513, 515), value)
        np.testing.assert_array_equal(nl.asnumpy(filled), np.full((513, 515), value))
        host = np.arange(70001) % 3 == 0
        np.testing.assert_array_equal(nl.asnumpy(nl.asarray(host) ^ value), host ^ value)
        np.testing.assert_array_equal(nl.asnumpy(nl.where(nl.asarray(host), value, host)), np.where(host, value, host))


@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_division_by_multiplication(kind: str) -> None:
    limit = 2**31 if kind == "i32" else 2**62
    random = Random(5)
    divisors = [1, 2, 3, 7, 10, 641, 2**16, 2**16 + 1, 2**30 - 1]
    divisors += [random.randrange(1, limit // 2) for _ in range(200)]
    for divisor in divisors:
        multiplier, shift = mapping.magic(divisor, kind)
        for n in [0, 1, divisor - 1, divisor, divisor + 1, limit - 1, *(random.randrange(limit) for _ in range(20))]:
            if kind == "i32":
                quotient = (n * multiplier) >> shift
                assert multiplier < 2**32
            else:
                quotient = ((2 * n * (multiplier % 2**64)) >> 64) >> shift
            assert quotient == n // divisor, (n, divisor)


@pytest.mark.parametrize(
    ("name", "code", "store", "shape", "offset"),
    [
        ("random_uniform32", F32, F32, (103,), 8), ("random_bits32", U32, U8, (5, 32), 4),
        ("random_normal64", F64, F64, (5, 32), 3),
    ],
)  # fmt: skip
def test_neighbours_of_a_draw(name: str, code: int, store: int, shape: tuple[int, ...], offset: int) -> None:
    """A thread's 2, 4 or 16 neighbours, alone and in rows, beginning at a multiple of four and elsewhere."""
    rows = len(shape) > 1
    iota = Instr("iota", I64, index=0, strides=(48, 1) if rows else (1,), by_four=offset % 4 == 0)
    body = [Instr("param", U64, index=0), Instr("param", U64, index=1), iota, Instr("cast", U64, (2,))]
    body.append(Instr("op", code, (3, 0, 1), op_def=ELEMENTWISE[name]))
    if store != code:
        body.append(Instr("cast", store, (4,)))
    operands = (Operand(store, (shape[1], 1) if rows else (1,), written=True),)
    program = Program(shape, len(shape), tuple(body), (Store(len(body) - 1, 0),), operands, (U64, U64))
    params = [np.uint64(2**64 - 7), np.uint64(12345)]
    assert ("& -4" in emit(program).text) == iota.by_four
    check(Case(program, [np.zeros(prod(shape), DTYPES[store])], [0], params, [offset]), backwards=False)
