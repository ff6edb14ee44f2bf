"""Kernels that go over rows in stages: host text and emulated CUDA threads give the same bits, and NumPy's numbers."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from random import Random

import numpy as np
import pytest
from programs import Case, Maker, describe, random_rows, reduction_of_memory, run_emulated, run_host, same

from numloom.base.dtypes import F16, F32, F64, I8, I64
from numloom.emit import sharing
from numloom.emit.emit import emit
from numloom.emit.sharing import EXCHANGED, column_shape, row_shape
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reduction_tree import CHUNKS, LANES, RUN
from numloom.ops.reductions import REDUCTIONS
from numloom.plan.program import Instr, Operand, Program, Reduce, Store
from nvrtc import compile_for_gpu

ROWS = [(3, 1), (40, 2), (70, 5), (9, 16), (21, 24), (6, 64), (5, 100), (4, 128), (3, 129), (2, 1000), (3, 2048),
        (2, 2049), (1, 5000), (2, 8192), (1, 12000), (2, 17000), (1, 33000), (3, 4, 50), (2, 3, 30, 40), (2, 100, 33),
        (70,), (3000,)]  # fmt: skip
"""Shapes whose last axis, or the last two of four, is reduced; the last two shapes are one row."""


CLUSTERS = [(2, 9000), (1, 12000), (1, 24576), (2, 17000), (1, 33000), (1, 40000), (1, 65536), (1, 3, 100, 90),
            (1, 100000), (130000,), (1, 200000), (1, 262144), (1, 390000)]  # fmt: skip
"""Shapes whose rows the blocks of a cluster share."""


def kept_of(shape: tuple[int, ...]) -> int:
    return {1: 0, 2: 1, 3: 2, 4: 2}[len(shape)] if shape != (2, 100, 33) else 1


def check(case: Case, backwards: bool) -> None:
    assert case.program.by_rows
    host, emulated = run_host(case), run_emulated(case, backwards)
    assert same(host.memory, emulated.memory), describe(case)
    assert host.error == emulated.error


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_random_rows(number: int) -> None:
    shape = ROWS[number % len(ROWS)]
    check(random_rows(Random(number), shape, kept_of(shape)), backwards=number % 2 == 1)


SHORT_ROWS = [(40, 2), (70, 5), (33, 16), (65, 24), (6, 64), (50, 3, 7), (31, 33), (97, 10)]


@pytest.mark.parametrize("number", range(3 * len(SHORT_ROWS)))
def test_random_short_rows(number: int) -> None:
    """The host takes them beside each other, some at a time, with a last few that are fewer."""
    shape = SHORT_ROWS[number % len(SHORT_ROWS)]
    check(random_rows(Random(100 + number), shape, 1), backwards=number % 2 == 1)


def clustered(case: Case, cluster: int = 8) -> Case:
    """The same for a device whose blocks may share rows."""
    return replace(case, program=replace(case.program, cluster=cluster))


@pytest.mark.parametrize("number", range(len(CLUSTERS)))
def test_random_rows_of_clusters(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "ALONE", 0)  # what is short takes less time here
    shape = CLUSTERS[number % len(CLUSTERS)]
    case = clustered(random_rows(Random(number), shape, kept_of(shape)))
    assert "__cluster_dims__" in emit(case.program).text or prod(shape[kept_of(shape) :]) < 16384
    check(case, backwards=number % 2 == 1)


COLUMNS = [(40, 1), (300, 5), (130, 16), (70, 60), (33, 64), (5, 100), (64, 257), (3, 30, 300), (40, 20, 30),
           (32, 1000), (20, 2048), (35, 2500), (16, 5000), (8, 8192), (10, 9000), (1, 20000)]  # fmt: skip
"""Shapes whose last axis, or the last two of `(40, 20, 30)`, is reduced one after the other."""


@pytest.mark.parametrize("number", range(2 * len(COLUMNS)))
def test_random_columns(number: int) -> None:
    shape = COLUMNS[number % len(COLUMNS)]
    kept = 1 if shape == (40, 20, 30) else len(shape) - 1
    case = clustered(random_rows(Random(number), shape, kept))
    case.program.fast = False
    check(case, backwards=number >= len(COLUMNS))


@pytest.mark.parametrize("code", [F32, F64, F16])
@pytest.mark.parametrize(("rows", "count", "fast"), [
    (5, 40, True), (3, 300, True), (2, 1500, True), (2, 3000, True), (2, 10000, True), (2, 32768, True),
    (2, 70001, True), (1, 262144, True), (200, 16, False), (40, 777, False), (33, 4096, False), (17, 8000, False),
])  # fmt: skip
def test_bits_are_those_of_kernels_that_only_reduce(rows: int, count: int, fast: bool, code: int) -> None:
    only = reduction_of_memory((rows, count), 1, fast, ("sum", "var", "max", "prod"), code)
    program = only.program
    value = len(program.body)
    body = (*program.body, Instr("kept", code, index=0), Instr("op", code, (0, value), op_def=ELEMENTWISE["subtract"]))
    written = replace(program.operands[0], written=True)
    both = replace(
        only,
        program=replace(program, body=body, stores=(Store(value + 1, len(program.operands)),),
                        operands=(*program.operands, written), cluster=8),
        memory=[*only.memory, np.zeros(rows * count, only.memory[0].dtype)],
        starts=[*only.starts, 0],
    )  # fmt: skip
    found, want = run_emulated(both).memory, run_host(only).memory
    assert same(found[: len(want)], want)
    x = want[0].reshape(rows, count) if fast else want[0].reshape(count, rows)
    assert same([found[-1]], [(x - (want[1][:, None] if fast else want[1])).ravel()])


@pytest.mark.parametrize(("count", "cluster"), [(131072, 1), (300000, 8)])
def test_more_carriers_than_a_block_has_room_for(count: int, cluster: int) -> None:
    """Rows of narrow elements, several positions and moments of each: shared memory that has to be asked for."""
    only = reduction_of_memory((1, count), 1, True, ("argmax", "argmin"), I8)
    program = only.program
    body = [*program.body, Instr("cast", F64, (0,)), Instr("kept", I64, index=0), Instr("kept", I64, index=1)]
    body += [Instr("op", I64, (2, 3), op_def=ELEMENTWISE["add"]), Instr("cast", F64, (4,))]
    body += [Instr("op", F64, (1, 5), op_def=ELEMENTWISE["subtract"])]
    reductions = (*program.reductions, *(Reduce(REDUCTIONS[name], 1, F64) for name in ("var", "sum", "m2")))
    operands = (*program.operands, Operand(F64, (count, 1), 0, written=True))
    wide = replace(program, body=tuple(body), stores=(Store(6, len(program.operands)),), operands=operands,
                   reductions=reductions, cluster=cluster)  # fmt: skip
    case = replace(only, program=wide, memory=[*only.memory, np.zeros(count)], starts=[*only.starts, 0])
    assert emit(wide).geometry.shared > EXCHANGED
    assert compile_for_gpu(emit(wide).text)
    check(case, backwards=False)
    x = only.memory[0]
    np.testing.assert_array_equal(run_emulated(case).memory[-1], x.astype("d") - (x.argmax() + x.argmin()))


def normalised(shape: tuple[int, int], code: int, bias: bool = True) -> Case:
    """Layer norm: two reductions one after the other, rows of their own and rows that all share."""
    maker = Maker(Random(3), shape, 1)
    body = [Instr("load", code, operand=0), Instr("kept", code, index=0)]
    body.append(Instr("op", code, (0, 1), op_def=ELEMENTWISE["subtract"]))
    body.append(Instr("op", code, (2, 2), op_def=ELEMENTWISE["multiply"]))
    body.append(Instr("kept", code, index=3))
    body.append(Instr("op", code, (2, 4), op_def=ELEMENTWISE["divide"]))
    post = [Instr("reduced", code, index=0), Instr("reduced", code, index=1), Instr("param", code, index=0)]
    post += [Instr("op", code, (1, 2), op_def=ELEMENTWISE["add"])]
    operands = [Operand(code, (shape[1], 1), 0), Operand(code, (shape[1], 1), 0, written=True)]
    if bias:
        body.append(Instr("load", code, operand=2))
        body.append(Instr("op", code, (5, 6), op_def=ELEMENTWISE["add"]))
        operands.append(Operand(code, (0, 1), 0))
    dtype = np.dtype({F16: "e", F32: "f", F64: "d"}[code])
    rng = np.random.default_rng(0)
    memory = [rng.standard_normal(shape).astype(dtype).ravel(), np.zeros(shape, dtype).ravel()]
    memory += [rng.standard_normal(shape[1]).astype(dtype)] if bias else []
    reductions = (Reduce(REDUCTIONS["mean"], 0, code), Reduce(REDUCTIONS["mean"], 3, code))
    program = Program(shape, 1, tuple(body), (Store(len(body) - 1, 1),), tuple(operands), (code,), reductions,
                      tuple(post))  # fmt: skip
    return Case(program, memory, [0] * len(operands), [dtype.type(0.5)], maker.iotas)


@pytest.mark.parametrize("code", [F16, F32, F64])
@pytest.mark.parametrize(
    "shape", [(5, 3), (70, 3), (33, 64), (3, 40), (3, 200), (2, 1537), (2, 4096), (2, 6000), (1, 30000)]
)
def test_two_reductions_and_a_map(shape: tuple[int, int], code: int) -> None:
    case = normalised(shape, code)
    check(case, backwards=False)
    x = case.memory[0].reshape(shape).astype("d")
    centred = x - x.mean(1, keepdims=True)
    want = centred / ((centred * centred).mean(1, keepdims=True) + 0.5) + case.memory[2].astype("d")
    got = run_host(case).memory[1].reshape(shape).astype("d")
    np.testing.assert_allclose(got, want, atol={F16: 2e-2, F32: 1e-5, F64: 1e-13}[code])


@pytest.mark.parametrize("code", [F16, F32, F64])
@pytest.mark.parametrize("shape", [(70, 10), (33, 50), (40, 1), (5, 200), (2, 18000), (40, 3, 5)])
def test_moments_beside_a_mean(shape: tuple[int, ...], code: int) -> None:
    """Standardised rows: of the mean and the moments in one pass, each goes its own way through a row on the host."""
    case = reduction_of_memory(shape, 1, True, ("mean", "var", "max"), code)
    program, count = case.program, len(case.memory[0]) // shape[0]
    if len(shape) == 2 and count > 1:
        case.memory[0][:2] = np.nan, np.inf
    body = (*program.body, Instr("kept", code, index=0), Instr("kept", code, index=1))
    body += (Instr("op", code, (0, 1), op_def=ELEMENTWISE["subtract"]),)
    body += (Instr("op", code, (3, 2), op_def=ELEMENTWISE["divide"]),)
    operands = (*program.operands, replace(program.operands[0], written=True))
    both = replace(
        case,
        program=replace(program, body=body, stores=(Store(4, len(program.operands)),), operands=operands),
        memory=[*case.memory, np.zeros_like(case.memory[0])],
        starts=[*case.starts, 0],
    )
    check(both, backwards=False)
    assert same(run_host(both).memory[: len(case.memory)], run_host(case).memory)


def test_what_a_row_holds_decides_how_threads_share_it() -> None:
    assert row_shape(64, 1).threads == 8
    assert (row_shape(1024, 1).threads, row_shape(1024, 1).lanes) == (32, 4)
    assert row_shape(4096, 1).groups == 1
    assert row_shape(4096, 3).groups == 2
    assert row_shape(32768, 1).groups == 4
    assert row_shape(32768, 1).in_registers and not row_shape(32768, 4).in_registers
    for count in (1, 2, 3, 100, 129, 2047, 2049, 5000, 8192, 10000, 12288, 20000, 65536, 131072):
        for words in (1, 2, 3, 5, 12):
            shape = row_shape(count, words)
            most = (shape.groups - 1) * shape.runs * RUN + shape.elements_per_lane
            assert most * shape.width >= count > (shape.always_valid - 1) * shape.width, (count, words)
            assert shape.block <= 1024
            assert shape.threads * shape.lanes == shape.width, (count, words)


def test_blocks_of_a_cluster_have_whole_subtrees() -> None:
    runs_of_a_chunk = CHUNKS[0] // (RUN * LANES)
    for count in (
        8193,
        12000,
        16384,
        16385,
        32768,
        50000,
        65536,
        65537,
        100000,
        131072,
        200000,
        262144,
        300000,
        393216,
    ):
        for words in (1, 2, 3, 4, 5, 12):
            for nbytes in (16, 24, 40, 56):
                shape = row_shape(count, words, nbytes, 8)
                assert 1 <= shape.cluster <= 8 and shape.block <= 1024
                if shape.cluster == 1:
                    continue
                part = shape.groups * shape.runs
                covered = part * RUN * shape.width
                assert shape.cluster * covered >= count > (shape.cluster - 1) * covered, (count, words)
                assert part % runs_of_a_chunk == 0 or part & (part - 1) == 0
                assert shape.runs & (shape.runs - 1) == 0 and shape.runs <= runs_of_a_chunk
                assert shape.exchanged * nbytes <= EXCHANGED
                assert bool(shape.always_valid) == (shape.cluster * covered == count)
    assert [row_shape(n, 1, 16, 8).cluster for n in (8192, 8193, 32768, 65536, 65537, 262144)] == [1, 1, 1, 4, 5, 8]
    assert row_shape(393216, 1, 16, 8).in_registers and not row_shape(393217, 1, 16, 8).in_registers


def test_threads_that_share_columns() -> None:
    for count in (1, 7, 16, 17, 64, 65, 100, 1000, 2048, 2049, 4097, 8192):
        for words in (1, 2, 3, 5, 12):
            for nbytes, size in ((16, 4), (40, 8), (120, 16), (300, 1)):
                shape = column_shape(count, words, nbytes, size, 8)
                covered = shape.groups * max(shape.elements_per_lane, shape.runs * RUN if count > RUN else 0)
                assert shape.cluster * covered >= count > (shape.cluster - 1) * covered, (count, words)
                assert (
                    shape.cluster <= 8
                    and 128 <= shape.block <= 1024
                    and shape.threads * size >= 128 // (4 // min(4, size))
                )
                assert shape.groups & (shape.groups - 1) == 0 and shape.runs & (shape.runs - 1) == 0
                assert shape.always_valid * shape.groups * shape.cluster <= count
    shapes = [column_shape(n, 1, 16, 4, 8) for n in (16, 64, 256, 2048, 8192)]
    assert [(s.groups, s.threads, s.cluster) for s in shapes] == [
        (1, 128, 1), (1, 128, 1), (4, 32, 1), (4, 32, 8), (16, 32, 8),
    ]  # fmt: skip
    assert all(shape.in_registers for shape in shapes)


@pytest.mark.parametrize("cluster", [1, 8])
@pytest.mark.parametrize(
    "shape", [(64, 64), (1000, 1024), (99, 4096), (40, 12288), (3, 32768), (2, 65536), (9, 200000)]
)
def test_texts_compile_for_the_gpu(shape: tuple[int, int], cluster: int) -> None:
    if (shape[1] < 10000 and cluster > 1) or (shape[1] > 65536 and cluster == 1):
        pytest.skip("short rows: the text of one block; long ones: no block holds them")
    for code in (F16, F32, F64):
        program = normalised((2, 2), code).program
        operands = tuple(Operand(o.code, (shape[1] if o.strides[0] else 0, 1), 0, written=o.written)
                         for o in program.operands)  # fmt: skip
        large = Program(shape, 1, program.body, program.stores, operands, program.params, program.reductions,
                        program.post, cluster=cluster)  # fmt: skip
        assert compile_for_gpu(emit(large).text)


@pytest.mark.parametrize("code", [F16, F32, F64])
@pytest.mark.parametrize("count", [3, 64, 100, 2000, 8192])
def test_texts_of_columns_compile_for_the_gpu(count: int, code: int) -> None:
    program = normalised((2, 2), code).program
    operands = tuple(replace(o, strides=(1, 4096 if o.strides[0] else 0)) for o in program.operands)
    columns = replace(program, shape=(4096, count), operands=operands, fast=False, cluster=8)
    text = emit(columns).text
    assert ("__cluster_dims__" in text) == (count > 256)
    assert compile_for_gpu(text)


def test_moments_of_rows_beyond_the_registers_compile() -> None:
    program = normalised((2, 65536), F64).program
    first, *others = program.reductions
    moments = (Reduce(REDUCTIONS["var"], first.value, first.code), *others)
    both = tuple(Reduce(REDUCTIONS["var"], each.value, each.code) for each in program.reductions)
    assert compile_for_gpu(emit(replace(program, reductions=both)).text)
    changed = Program(program.shape, 1, program.body, program.stores, program.operands, program.params, moments,
                      program.post)  # fmt: skip
    text = emit(changed).text
    assert "stack<4> c;" in text
    assert compile_for_gpu(text)


def test_rows_of_one_structure_share_their_text() -> None:
    for small, large in (((10, 900), (4000, 1000)), ((3, 4000), (8192, 4001)), ((3, 11000), (9, 12287))):
        assert emit(normalised(small, F32).program).text == emit(normalised(large, F32).program).text
