"""Kernels that reduce: host text and emulated CUDA threads give the same bits, NumPy the same numbers."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import (
    Case,
    describe,
    expected,
    random_reduction,
    reduction_of_memory,
    run_emulated,
    run_host,
    same,
)

from numloom.base.dtypes import BOOL, C64, C128, DTYPES, F16, F32, F64, I8, I16, I32, I64, U8, U32, U64
from numloom.emit import elements, reducing, reducing_host
from numloom.emit.emit import emit
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reduction_tree import reduce_axes
from numloom.ops.reductions import REDUCTIONS
from numloom.plan.program import Instr, Operand, Program, Reduce, Store

ROUNDED = ("sum", "prod", "mean", "m2", "var")
"""Reductions of floating point numbers that NumPy rounds in another order."""


def check(case: Case, backwards: bool) -> None:
    host, emulated, want = run_host(case), run_emulated(case, backwards), expected(case)
    assert same(host.memory, emulated.memory), describe(case)
    assert host.error == emulated.error == want.error
    program = case.program
    rounded = {
        store.operand: k
        for k, (store, r) in enumerate(zip(program.post_stores, program.reductions, strict=False))
        if r.op_def.name in ROUNDED and want.reduced[k].dtype.kind in "fc"
    }
    for number, exact in enumerate(want.memory):
        if number in rounded:
            values = want.reduced[rounded[number]]
            name = program.reductions[rounded[number]].op_def.name
            close_to(case.view(host.memory, number), case.view(want.memory, number), values, name, program.kept)
        elif not rounded or not program.operands[number].post:
            assert same([host.memory[number]], [exact]), f"operand {number}\n{describe(case)}"


def close_to(got: np.ndarray, want: np.ndarray, values: np.ndarray, name: str, kept: int) -> None:
    """Compare rounded results with an error that grows with what was added."""
    axes = tuple(range(kept, values.ndim))
    wide = values.astype("c16" if values.dtype.kind == "c" else "f8")
    with np.errstate(all="ignore"):
        size = np.abs(wide) ** 2 if name in ("m2", "var") else np.abs(wide)
        scale = (np.prod if name == "prod" else np.sum if name in ("sum", "m2") else np.mean)(size, axis=axes)
        # Overflow on the way depends on the order.
        ordinary = np.isfinite(wide).all(axis=axes) & (np.sum(size, axis=axes) < 1e30) & (scale < 6e4)
        if name == "prod":
            ordinary &= np.sum(np.log2(np.maximum(size, 1)), axis=axes) < 15
        epsilon = float(np.finfo(values.dtype).eps) + float(np.finfo(got.dtype).eps)
        error = np.abs(got.astype("c16") - want.astype("c16"))
        few = 40 + (values.size if name == "prod" else 0)
        tiny = float(np.finfo(got.dtype).tiny) + (1e-30 if name == "prod" else 0)
        assert (~ordinary | (error <= few * epsilon * scale + tiny)).all(), (name, error, scale)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_random_reductions(seed: int) -> None:
    check(random_reduction(Random(seed)), backwards=bool(seed & 1))


@pytest.mark.parametrize("seed", range(24))
def test_many_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is chosen where there are more rows than a test has memory for."""
    monkeypatch.setattr(reducing, "FULL", 1)
    check(random_reduction(Random(500 + seed), budget=1500), backwards=bool(seed & 1))


@pytest.mark.parametrize("code", [F32, F64, I32, F16])
@pytest.mark.parametrize(
    ("down", "across", "count"),
    [(9, 40, 2), (9, 40, 3), (17, 33, 7), (9, 40, 8), (17, 33, 12), (35, 32, 32), (9, 64, 30)],
)
@pytest.mark.parametrize("outer", [1, 2])
def test_tables_of_distances(
    outer: int, down: int, across: int, count: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums over rows of two matrices, every row of one with every row of the other."""
    monkeypatch.setattr(reducing, "FULL", 1)
    shape = (outer, down, across, count)
    body = (
        Instr("load", code, operand=0), Instr("load", code, operand=1),
        Instr("op", code, (0, 1), op_def=ELEMENTWISE["subtract"]),
        Instr("op", code, (2, 2), op_def=ELEMENTWISE["multiply"]),
    )  # fmt: skip
    operands = (
        Operand(code, (down * count, count, 0, 1)),
        Operand(code, (across * count, 0, count, 1), word=16 if count % 4 == 0 else 0),
        Operand(code, (down * across, across, 1), written=True, post=True),
    )
    program = Program(
        shape, 3, body, (), operands, reductions=(Reduce(REDUCTIONS["sum"], 3, code),),
        post=(Instr("reduced", code, index=0),), post_stores=(Store(0, 2),),
    )  # fmt: skip
    random = np.random.default_rng(count)
    sizes = outer * down * count, outer * across * count, outer * down * across
    memory = [random.integers(-5, 5, size).astype(DTYPES[code]) for size in sizes]
    assert reducing.ReductionText(program).together > 1
    check(Case(program, memory, [0, 0, 0]), backwards=bool(outer & 1))


@pytest.mark.parametrize(("code", "names"), [
    (F32, ("argmin",)), (F32, ("sum", "max")), (I32, ("argmax", "argmin")), (F64, ("min",)), (I64, ("sum",)),
])  # fmt: skip
@pytest.mark.parametrize(
    ("outer", "points", "many", "count"), [(2, 40, 4, 129), (1, 6, 2, 1024), (1, 14, 2, 2500), (2, 12, 4, 16384)]
)
def test_rows_that_share_what_lies_along_them(
    outer: int, points: int, many: int, count: int, code: int, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distances of points on a line to centres: a warp or block takes some points together."""
    monkeypatch.setattr(reducing, "FULL", 1)
    body = (
        Instr("load", code, operand=0), Instr("load", code, operand=1),
        Instr("op", code, (0, 1), op_def=ELEMENTWISE["subtract"]),
        Instr("op", code, (2, 2), op_def=ELEMENTWISE["multiply"]),
        Instr("iota", I64, index=0, strides=(0, 1, 1)), Instr("cast", code, (4,)),
        Instr("op", code, (3, 5), op_def=ELEMENTWISE["add"]),
    )  # fmt: skip
    positions = names[0].startswith("arg")
    results = tuple(Operand(I64 if positions else code, (points, 1), written=True, post=True) for _ in names)
    operands = (Operand(code, (points, 1, 0)), Operand(code, (count, 0, 1)), *results)
    program = Program(
        (outer, points, count), 2, body, (), operands,
        reductions=tuple(Reduce(REDUCTIONS[name], 6, I64 if positions else code) for name in names),
        post=tuple(Instr("reduced", I64 if positions else code, index=k) for k in range(len(names))),
        post_stores=tuple(Store(k, 2 + k) for k in range(len(names))),
    )  # fmt: skip
    random = np.random.default_rng(count)
    memory = [random.integers(-50, 50, size).astype(DTYPES[code]) for size in (outer * points, outer * count)]
    if code == F32:
        memory[1][count // 2 :: 77] = np.nan
    memory += [np.zeros(outer * points, np.int64 if positions else DTYPES[code]) for _ in names]
    assert reducing.ReductionText(program).unrolled == many
    check(Case(program, memory, [0] * len(operands), [], [3]), backwards=bool(outer & 1))


@pytest.mark.parametrize("code", [F32, I64, I32])
@pytest.mark.parametrize(("outer", "width", "count"), [(40, 3, 70), (5, 2, 3000), (1, 4, 500), (300, 3, 33)])
def test_columns_abreast(outer: int, width: int, count: int, code: int) -> None:
    """Forces: columns of a few neighbours that share what is computed for all of them."""
    body = (
        Instr("load", code, operand=0), Instr("load", code, operand=1), Instr("load", code, operand=2),
        Instr("iota", I64, index=0, strides=(width, 1, 0)), Instr("cast", code, (3,)),
        Instr("op", code, (0, 1), op_def=ELEMENTWISE["subtract"]),
        Instr("op", code, (5, 2), op_def=ELEMENTWISE["multiply"]),
        Instr("op", code, (6, 4), op_def=ELEMENTWISE["add"]),
    )  # fmt: skip
    operands = (
        Operand(code, (0, 1, width), 0), Operand(code, (width, 1, 0), 0), Operand(code, (count, 0, 1), 0),
        Operand(code, (width, 1), 0, written=True, post=True),
        Operand(code, (width, 1), 0, written=True, post=True),
    )  # fmt: skip
    program = Program(
        (outer, width, count), 2, body, (), operands,
        reductions=(Reduce(REDUCTIONS["sum"], 7, code), Reduce(REDUCTIONS["max"], 6, code)),
        post=(Instr("reduced", code, index=0), Instr("reduced", code, index=1)), post_stores=(Store(0, 3), Store(1, 4)),
        fast=False,
    )  # fmt: skip
    random = np.random.default_rng(count)
    sizes = count * width, outer * width, outer * count, outer * width, outer * width
    memory = [random.integers(-9, 9, size).astype(DTYPES[code]) for size in sizes]
    assert reducing.ReductionText(program).outputs_per_thread == width
    check(Case(program, memory, [0] * 5, iota_offsets=[3]), backwards=bool(outer & 1))


@pytest.mark.parametrize("seed", range(8))
def test_wide_indices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "index_type", lambda program: "i64")
    check(random_reduction(Random(1000 + seed)), backwards=False)


FAST = [(16,), (17,), (2048,), (2049,), (16384,), (16385,), (100001,), (700000,), (4_300_000,), (3, 40000), (5, 2049),
        (4, 16, 33), (2, 100, 333), (0, 5)]  # fmt: skip
SLOW = [(7, 5000), (300, 700), (2, 33, 4100), (1, 9999), (3, 100000), (65, 40, 50), (5, 130), (17, 3000),
        (1, 40), (2, 9000), (12, 5000), (4, 3, 20_000), (33, 20)]  # fmt: skip


@pytest.mark.parametrize("shape", [*((s, True) for s in FAST), *((s, False) for s in SLOW)], ids=str)
def test_every_strategy(shape: tuple[tuple[int, ...], bool]) -> None:
    extents, fast = shape
    kept = max(len(extents) - 1, 0 if fast else 1) if extents != (2, 100, 333) else 1
    kinds = (F32, ("sum", "argmax")), (F64, ("var", "min")), (F16, ("mean", "argmin")), (F32, ("argmin", "argmax"))
    for code, names in kinds:
        check(reduction_of_memory(extents, kept, fast, names, code), backwards=bool(kept))


SHORT_ROWS = (
    (F32, ("var", "sum")),
    (F64, ("m2", "argmax")),
    (F32, ("argmin", "argmax")),
    (I32, ("argmax",)),
    (C64, ("var",)),
)
"""Reductions whose threads go by what is known of a row's length."""


@pytest.mark.parametrize("count", [129, 300, 1024, 2047])
def test_a_warp_a_row(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text knows how many elements a lane has, of moments exactly."""
    monkeypatch.setattr(reducing, "FULL", 1)
    for code, names in SHORT_ROWS:
        case = reduction_of_memory((9, count), 1, True, names, code)
        assert reducing.ReductionText(case.program).strategy == "warp"
        check(case, backwards=bool(count & 1))


@pytest.mark.parametrize("count", [17, 40, 64, 127])
@pytest.mark.parametrize("rows", [7, 70])
def test_some_threads_a_row(rows: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducing, "FULL", 1 if rows > 9 else 1 << 20)
    for code, names in SHORT_ROWS:
        case = reduction_of_memory((rows, count), 1, True, names, code)
        kernel = reducing.ReductionText(case.program)
        assert kernel.strategy == "line"
        assert (kernel.line < 32) == (rows > 9)
        check(case, backwards=bool(count & 1))


@pytest.mark.parametrize("count", [1, 2, 7, 10, 16])
def test_a_thread_a_row(count: int) -> None:
    for code, names in SHORT_ROWS:
        case = reduction_of_memory((70, count), 1, True, names, code)
        assert reducing.ReductionText(case.program).strategy == "thread"
        check(case, backwards=bool(count & 1))


def test_moments_of_other_lengths_share_a_text() -> None:
    """What is known of rows of up to 128 elements are numbers beside the text."""
    texts = {emit(reduction_of_memory((70, count), 1, True, ("var",), F32).program).text for count in (33, 40, 63)}
    assert len(texts) == 1


@pytest.mark.parametrize("shape", [(176,), (3, 2048), (2, 5008), (70_016,)])
def test_neighbours_where_no_order_counts(shape: tuple[int, ...]) -> None:
    """Whole numbers and truth values are read 16 bytes at a time."""
    kinds = ((BOOL, ("any", "all")), (I32, ("sum", "max")), (I64, ("bitwise_xor", "min")))
    for code, names in kinds:
        case = reduction_of_memory(shape, len(shape) - 1, True, names, code)
        program = case.program
        operands = (replace(program.operands[0], word=16), *program.operands[1:])
        case = replace(case, program=replace(program, operands=operands))
        assert reducing.ReductionText(case.program).vector == 16 // DTYPES[code].itemsize
        check(case, backwards=bool(shape[0] & 1))
        assert reducing.ReductionText(program).vector == 1  # rows that begin anywhere


@pytest.mark.parametrize(("shape", "fast"), [((40, 5), True), ((40, 100), True), ((3, 20000), True), ((40, 50), False)])
def test_complex_products_of_special_values(shape: tuple[int, int], fast: bool) -> None:
    # One times infinity is not infinity here, so absent elements must not take part as ones.
    case = reduction_of_memory(shape, 1, fast, ("prod", "sum", "max"), C64)
    values = case.memory[0]
    values.imag = np.random.default_rng(0).standard_normal(values.size)
    values[::7] = complex(np.inf, 1)
    values[3::11] = complex(-0.0, 0)
    host, emulated = run_host(case), run_emulated(case)
    assert same(host.memory, emulated.memory)
    one = reduction_of_memory((2, 1), 1, fast, ("prod",), C64)
    one.memory[0][:] = [complex(np.inf, 1), complex(-0.0, -0.0)]
    assert same([run_host(one).memory[1]], [np.array([complex(np.inf, 1), complex(-0.0, -0.0)], "F")])


@pytest.mark.parametrize("fast", [True, False])
def test_nothing_to_reduce(fast: bool) -> None:
    check(reduction_of_memory((5, 0), 1, fast, ("sum", "prod", "any"), F32), backwards=False)


def test_what_comes_late_in_long_rows() -> None:
    """Positions of extremes at the borders of blocks, of ties and of NaN; truth values that end a search."""
    case = reduction_of_memory((6, 40_000), 1, True, ("argmax", "argmin"), F32)
    rows = case.memory[0].reshape(6, -1)
    rows[0], rows[1], rows[2] = np.arange(40_000), 5, -np.arange(40_000)
    rows[3, [20_000, 39_999]] = np.nan
    rows[4, [1023, 1024, 16_384]] = 99
    rows[5, 39_999], rows[5, 0] = np.inf, -np.inf
    check(case, backwards=False)
    case = reduction_of_memory((4, 70_000), 1, True, ("any", "all"), BOOL)
    truths = case.memory[0].reshape(4, -1)
    truths[:2], truths[2:] = False, True
    truths[1, [17_000, 69_999]], truths[2, 50_000] = True, False
    check(case, backwards=False)


@pytest.mark.parametrize(("rows", "count"), [(70, 3), (9, 8), (5, 1)])
def test_short_rows_beside_each_other(rows: int, count: int) -> None:
    """A loop over rows of a few elements, where much is computed from their sums."""
    divide, multiply = ELEMENTWISE["divide"], ELEMENTWISE["multiply"]
    post = [Instr("reduced", F32, index=0), Instr("op", F32, (0, 0), op_def=multiply)]
    post += [Instr("op", F32, (k, 1), op_def=divide) for k in range(3)]
    operands = (Operand(F32, (count, 1), False), Operand(F32, (1,), False, written=True, post=True))
    program = Program(
        (rows, count), 1, (Instr("load", F32, operand=0),), (), operands,
        reductions=(Reduce(REDUCTIONS["sum"], 0, F32),), post=tuple(post), post_stores=(Store(4, 1),),
    )  # fmt: skip
    assert reducing_host.HostReductionText(program)._unrolling_pays()
    values = np.random.default_rng(count).integers(1, 4, rows * count).astype("f4")  # whose sums are exact
    case = Case(program, [values, np.zeros(rows, "f4")], [0, 0])
    for found in (run_host(case), run_emulated(case)):
        assert same(found.memory, expected(case).memory)


def test_split_rows_have_enough_blocks() -> None:
    kernel = reducing_host.emit_reduction(reduction_of_memory((700000,), 0, True, ("sum",), F32).program, "k")
    assert kernel.geometry.blocks == -(-700000 // 16384)
    columns = reducing_host.emit_reduction(reduction_of_memory((3, 500_000), 1, False, ("sum",), F32).program, "k")
    assert columns.geometry.blocks * columns.geometry.blocks_y >= 132


@pytest.mark.parametrize(("code", "name"), [(F16, "var"), (F32, "var"), (F32, "m2"), (F64, "var")])
def test_moments_of_rows_have_the_bits_of_their_tree(code: int, name: str) -> None:
    """Rows of one line of lanes and less, of full runs and others, of a counter's levels, and of several chunks."""
    rng = np.random.default_rng(7)
    counts = [17, 32, 50, 127, 128, 129, 256, 300, 2047, 2048, 2049, 2100, 6144, 6145, 16_384, 18_500]
    if (code, name) != (F32, "var"):
        counts = counts[::5]  # each is a kernel that takes seconds to compile
    for count in counts:
        case = reduction_of_memory((9, count), 1, True, (name,), code)
        rows = case.memory[0].reshape(9, count)
        rows[:] = rng.normal(3, 2, rows.shape)
        with np.errstate(over="ignore"):
            rows[1] = rng.normal(1, 1e-4, count)
            rows[2, count // 2], rows[3, count - 1], rows[4, 0] = np.nan, np.inf, -np.inf
            rows[5] = 0
            rows[6, [0, count - 1]] = 60_000  # beside others, of which none is large
            rows[7] = rng.normal(0, 1, count) * float(np.finfo(rows.dtype).max) / 8
            rows[8] = rng.normal(0, 1, count) * float(np.finfo(rows.dtype).tiny)
            tree = reduce_axes(REDUCTIONS[name], rows, (1,), (1,), True, False)
        assert same(run_host(case).memory[1:], [tree]), count


@pytest.mark.parametrize("code", [BOOL, I8, U8, I16, F16, I32, U32, F32, I64, U64, F64])
def test_positions_in_rows(code: int) -> None:
    """The first extreme, or NaN, of rows of one vector and less, of several, of pieces and of blocks of them."""
    rng = np.random.default_rng(code)
    for count in (17, 31, 65, 129, 300, 1027):
        case = reduction_of_memory((20, count), 1, True, ("argmax", "argmin"), code)
        rows = case.memory[0].reshape(20, count)
        rows[:] = rng.permuted(np.tile(np.arange(count) % 100, (20, 1)), axis=1) > (50 if code == BOOL else -1)
        if code != BOOL:
            rows[:10] = rng.permuted(np.tile(np.arange(count) % 100, (10, 1)), axis=1)
        for row in range(5):  # one that is last, in the middle, first, or all of them
            rows[row, [count - 1, count // 2, 16, 0, slice(None)][row]] = 1 if code == BOOL else 101
        if DTYPES[code].kind == "f":
            rows[5, [count - 1, count - 2]] = np.nan
            rows[6, [0, 20 % count]] = np.nan
            rows[7] = np.nan
            rows[8, [3, count - 4]] = np.inf, -np.inf
            rows[9, ::2], rows[10, [5, 9]], rows[11] = -0.0, (np.inf, np.nan), -np.inf
        for found, wanted in zip(run_host(case).memory[1:], expected(case).memory[1:], strict=True):
            assert found.tolist() == wanted.tolist(), count


@pytest.mark.parametrize(
    ("code", "names"),
    [(BOOL, ("any", "all")), (F32, ("any", "all")), (I8, ("max", "min")), (I64, ("bitwise_and", "bitwise_or"))],
)
def test_rows_whose_elements_may_be_taken_twice(code: int, names: tuple[str, ...]) -> None:
    """One element that differs from all others, at every place of a row."""
    for count in (17, 32, 50, 128, 129, 200, 300, 700):
        case = reduction_of_memory((2 * count, count), 1, True, names, code)
        rows = case.memory[0].reshape(2, count, count)
        rows[0], rows[1] = np.eye(count), 1 - np.eye(count)
        for found, wanted in zip(run_host(case).memory[1:], expected(case).memory[1:], strict=True):
            assert found.tolist() == wanted.tolist(), count


@pytest.mark.parametrize("code", [C64, C128])
def test_positions_of_complex_numbers_in_rows(code: int) -> None:
    """Equal real parts, equal numbers, NaN in either part, also where the others there are no extremes, infinities."""
    rng = np.random.default_rng(code)
    for count in (17, 64, 65, 129, 300, 1100):
        case = reduction_of_memory((11, count), 1, True, ("argmax", "argmin"), code)
        rows = case.memory[0].reshape(11, count)
        rows[:] = rng.integers(-3, 4, rows.shape) + 1j * rng.integers(-3, 4, rows.shape)
        rows[0] = 1 + 2j
        rows[1] = rng.normal(size=count) + 1j * rng.normal(size=count)
        rows[2, [0, count - 1]], rows[3, count - 1] = complex(5, -9), complex(3, 99)
        rows[4, [count // 2, count - 1]] = complex(1, np.nan), complex(np.nan, 1)
        rows[5, 0], rows[6, 3], rows[7, count - 2] = complex(np.nan, 0), complex(np.inf, 1), complex(-np.inf, 1)
        rows[8:, [0, 1]] = 1000, -1000
        rows[8, count - 1], rows[9, count - 2], rows[10, [2, count - 3]] = complex(1, np.nan), complex(np.nan, 1), 7
        for found, wanted in zip(run_host(case).memory[1:], expected(case).memory[1:], strict=True):
            assert found.tolist() == wanted.tolist(), count


@pytest.mark.parametrize(
    ("code", "width", "rows", "gap"),
    [(F32, 3, 2500, 0), (F64, 10, 700, 2), (I64, 30, 300, 0), (BOOL, 7, 500, 0), (I8, 64, 130, 0), (U8, 33, 200, 3)],
)
def test_positions_in_few_columns(code: int, width: int, rows: int, gap: int) -> None:
    """The first extreme, or NaN, of each column: rows that are compared together, and rows with gaps between them."""
    case = reduction_of_memory((width + gap, rows), 1, False, ("argmax", "argmin"), code)
    case = replace(case, program=replace(case.program, shape=(width, rows)))
    values = case.memory[0].reshape(rows, width + gap)
    values[[rows // 2, rows - 1], 0] = True if code == BOOL else min(int(values[:, 0].max()), 100) + 1
    values[1:, 1] = values[0, 1]
    if code in (F32, F64):
        values[[rows // 3, rows - 1], 2] = np.nan
    assert "nl::find_extremes<" in reducing_host.emit_reduction(case.program, "k").text
    host, want = run_host(case), expected(case)
    for found, wanted in zip(host.memory[1:], want.memory[1:], strict=True):
        assert found[:width].tolist() == wanted[:width].tolist()


def test_chunks_of_a_row_are_one_item_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, name in ((F32, "sum"), (I32, "argmax"), (BOOL, "any")):
        case = reduction_of_memory((2, 20_000), 1, True, (name,), code)
        if code == BOOL:
            case.memory[0][:20_000] = False
        whole = run_host(case)
        with monkeypatch.context() as patch:
            patch.setattr(reducing_host, "SHARED_PIECES", 0)
            assert reducing_host.emit_reduction(case.program, "k").geometry.finish_items == 2
            assert same(whole.memory, run_host(case).memory)


SEVERAL_DIMENSIONS = [
    (3, 5, 300),
    (2, 40, 7),
    (4, 3, 5),
    (3, 9, 9),
    (2, 3, 4, 50),
    (1, 30, 700),
    (2, 1, 130),
    (2, 0, 5),
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", SEVERAL_DIMENSIONS)
def test_rows_of_several_dimensions(shape: tuple[int, ...], turned: bool) -> None:
    """Reduced dimensions around a kept one in memory: the host goes along the last of them, forwards or backwards."""
    kinds = ((F32, ("mean", "max")), (F16, ("sum",)), (F64, ("var",)), (I32, ("sum", "min")), (F32, ("argmin",)))
    count = int(np.prod(shape[1:]))
    memory_shape = (shape[1], shape[0], *shape[2:])
    for code, names in kinds:
        if not count and code != F16:
            continue
        case = reduction_of_memory(shape, 1, True, names, code)
        memory = case.memory[0][: shape[0] * count].reshape(memory_shape)
        if count and DTYPES[code].kind == "f":
            memory[0, 0].flat[:1], memory[-1, -1].flat[-1:] = np.nan, -np.inf
        strides = [step // memory.itemsize for step in np.moveaxis(memory, 1, 0).strides]
        rows, start = np.moveaxis(memory, 1, 0), 0
        if turned and count:
            rows, start, strides[-1] = rows[..., ::-1], shape[-1] - 1, -strides[-1]
        operands = (replace(case.program.operands[0], strides=tuple(strides)), *case.program.operands[1:])
        case = replace(case, program=replace(case.program, operands=operands), starts=[start, *case.starts[1:]])
        axes = tuple(range(1, len(shape)))
        found = run_host(case).memory[1:]
        for name, got in zip(names, found, strict=True):
            with np.errstate(all="ignore"):
                want = reduce_axes(REDUCTIONS[name], rows, axes, axes, True, False)
            assert same([got], [want]), (name, shape)


@pytest.mark.parametrize(("down", "across", "count"), [(3, 700, 3), (5, 40, 16), (2, 9, 7), (300, 20, 2), (4, 0, 5)])
@pytest.mark.parametrize("code", [F16, F32, F64, I16, I64])
def test_short_rows_wherever_they_lie(down: int, across: int, count: int, code: int) -> None:
    """Tables of sums over what two arrays have in rows: loops over their columns read turned copies of the second."""
    subtract, multiply = ELEMENTWISE["subtract"], ELEMENTWISE["multiply"]
    body = (
        Instr("load", code, operand=0),
        Instr("load", code, operand=1),
        Instr("op", code, (0, 1), op_def=subtract),
        Instr("op", code, (2, 2), op_def=multiply),
    )
    names = ("sum", "max") if code == F64 else ("argmax",) if code == I64 else ("sum",)
    out = [I64 if name == "argmax" else code for name in names]
    operands = [Operand(code, (count, 0, 1)), Operand(code, (0, count, -1))]
    operands += [Operand(each, (across, 1, 0), written=True, post=True) for each in out]
    program = Program(
        (down, across, count), 2, body, (), tuple(operands),
        reductions=tuple(Reduce(REDUCTIONS[n], 3, o) for n, o in zip(names, out, strict=True)),
        post=tuple(Instr("reduced", o, index=k) for k, o in enumerate(out)),
        post_stores=tuple(Store(k, 2 + k) for k in range(len(out))),
    )  # fmt: skip
    rng = np.random.default_rng(count)
    one, other = ((rng.standard_normal((n, count)) * 3).astype(DTYPES[code]) for n in (down, across))
    if DTYPES[code].kind == "f" and across:
        one[0, 0], other[-1, -1] = np.nan, np.inf
    results = [np.zeros(down * across, DTYPES[o.code]) for o in program.operands[2:]]
    starts = [0, count - 1 if across else 0, *(0 for _ in results)]
    case = Case(program, [one.reshape(-1), other.reshape(-1), *results], starts)
    with np.errstate(all="ignore"):
        apart = one[:, None] - other[None, :, ::-1]
        squares = apart * apart
        tree = [reduce_axes(REDUCTIONS[n], squares, (2,), (2,), True, False) for n in names]
    assert reducing_host.HostReductionText(program)._turned() == [1]
    assert same(run_host(case).memory[2:], [each.reshape(-1) for each in tree])


@pytest.mark.parametrize("kept", [(150,), (3, 70), (5, 1), (1, 130)])
@pytest.mark.parametrize(
    ("count", "fast"), [(3, True), (40, True), (100, True), (300, True), (5000, True), (40, False)]
)
@pytest.mark.parametrize("code", [F32, F64])
def test_what_is_computed_of_many_totals(kept: tuple[int, ...], count: int, fast: bool, code: int) -> None:
    """The host computes it for neighbouring rows together, of operands and into results that lie anyhow."""
    outputs, rank = int(np.prod(kept)), len(kept) + 1
    steps = tuple(int(np.prod(kept[d + 1 :])) for d in range(len(kept)))
    along = (*(step * count for step in steps), 1) if fast else (*steps, outputs)
    backwards = tuple(-2 * step for step in steps)
    name = "exp" if code == F64 else "square"  # of which both targets have the bits
    program = Program(
        (*kept, count), len(kept), (Instr("load", code, operand=0),), (),
        (
            Operand(code, along), Operand(code, (*backwards, 0), post=True),
            Operand(code, (*(3 * step for step in steps), 0), written=True, post=True),
        ),
        reductions=(Reduce(REDUCTIONS["sum"], 0, code),),
        post=(
            Instr("reduced", code, index=0),
            Instr("op", code, (0,), op_def=ELEMENTWISE[name]),
            Instr("load", code, operand=1),
            Instr("op", code, (1, 2), op_def=ELEMENTWISE["divide"]),
        ),
        post_stores=(Store(3, 2),), fast=fast,
    )  # fmt: skip
    rng, dtype = np.random.default_rng(count), DTYPES[code]
    values = (rng.standard_normal((*kept, count)) / count * 4).astype(dtype)
    memory = values if fast else np.ascontiguousarray(np.moveaxis(values, -1, 0))
    divisors = rng.standard_normal(2 * outputs).astype(dtype)
    case = Case(program, [memory.reshape(-1), divisors, np.zeros(3 * outputs, dtype)], [0, 2 * (outputs - 1), 0])
    found = run_host(case).memory[2]
    axes = (rank - 1,)
    total = reduce_axes(REDUCTIONS["sum"], values, axes, axes, fast, False).reshape(-1)
    np.testing.assert_allclose(
        found[::3], getattr(np, name)(total) / divisors[-2::-2], rtol=1e-5 if code == F32 else 1e-13
    )
    assert not found[1::3].any() and not found[2::3].any()
    if outputs * count < 100_000:
        assert same([found], [run_emulated(case, False).memory[2]])
