"""The text of kernels: it depends on structure only, and compiles with NVRTC."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from math import prod
from random import Random

import pytest
from programs import Case, describe, random_map, random_reduction, reduction_of_memory

from numloom.base.dtypes import BOOL, F16, F32, F64, I64, ITEMSIZES, U64
from numloom.emit.emit import emit
from numloom.emit.loops import all_loops, loop_source
from numloom.ops.elementwise import ELEMENTWISE
from numloom.plan.program import Box, Instr, Operand, Program, Store
from nvrtc import compile_for_gpu, compile_for_ptx, miscompiled


def softplus(shape: tuple[int, ...], strides: tuple[int, ...]) -> Program:
    """maximum(0, x) + log1p(exp(-abs(x)))."""
    names = ("absolute", "negative", "exp", "log1p")
    body = [Instr("load", F32, operand=0)]
    for name in names:
        body.append(Instr("op", F32, (len(body) - 1,), op_def=ELEMENTWISE[name]))
    body += [Instr("param", F32, index=0), Instr("op", F32, (0, 5), op_def=ELEMENTWISE["maximum"])]
    body.append(Instr("op", F32, (6, 4), op_def=ELEMENTWISE["add"]))
    dense = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
    operands = (Operand(F32, strides), Operand(F32, dense, written=True))
    return Program(shape, len(shape), tuple(body), (Store(7, 1),), operands, (F32,))


def stencil(shape: tuple[int, int], box: Box) -> Program:
    """A box of a plane: the mean of two neighbours; elsewhere the old value."""
    strides = (shape[1], 1)
    body = (
        Instr("load", F32, operand=0),
        Instr("load", F32, operand=1),
        Instr("op", F32, (0, 1), op_def=ELEMENTWISE["add"]),
    )
    operands = (
        Operand(F32, strides, word=0),
        Operand(F32, strides, word=0),
        Operand(F32, strides),
        Operand(F32, strides, written=True),
    )
    return Program(shape, 2, body, (Store(2, 3),), operands, box=box)


def same_text(a: Program, b: Program) -> None:
    first, second = emit(a), emit(b)
    assert first.text == second.text
    assert first.entry == second.entry
    assert [(w.kind, w.index) for w in first.words] == [(w.kind, w.index) for w in second.words]


def test_maps_of_one_structure_share_their_text() -> None:
    same_text(softplus((1000,), (1,)), softplus((10**8,), (1,)))
    same_text(softplus((40, 64), (128, 1)), softplus((1000, 4096), (8192, 1)))
    same_text(softplus((40, 63), (1, 40)), softplus((1001, 99), (1, 1001)))
    for small, large in (
        ((64, 500), (4096, 4096)),
        ((64, 60), (4096, 100)),
    ):  # register-blocked stencils, and rows too short for them
        inside = [Box(2, (1, 1), (1, 1), (n - 2, m - 2)) for n, m in (small, large)]
        same_text(stencil(small, inside[0]), stencil(large, inside[1]))


def test_texts_are_let_go() -> None:
    """Python 3.12 keeps what was interned for good."""
    text = emit(softplus((77, 3), (3, 1)), False).text
    assert sys.intern(text[:1] + text[1:]) is not text


def test_texts_of_other_structures_differ() -> None:
    texts = [
        emit(p).text
        for p in (
            softplus((1000,), (1,)),
            softplus((1000,), (2,)),
            softplus((1000,), (0,)),
            softplus((40, 64), (128, 1)),
            softplus((3 * 10**9,), (1,)),
        )
    ]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("small", "large", "kept", "fast"),
    [
        ((2000, 1100), (9999, 2000), 1, True),  # a warp a row, lanes of up to 16 elements
        ((10, 200), (900, 1500), 1, True),  # few rows: a block each
        ((10, 3000), (4000, 16384), 1, True),
        ((300_000,), (4 * 10**6,), 0, True),  # shorter ones are one item on the host
        ((5 * 10**6,), (10**8,), 0, True),
        ((36000, 100), (40000, 120), 1, False),
        ((64, 100_000), (100, 10**6), 1, False),
    ],
)
def test_reductions_of_one_structure_share_their_text(
    small: tuple[int, ...], large: tuple[int, ...], kept: int, fast: bool
) -> None:
    programs = []
    for shape in (small, large):
        # Strides only, since the larger ones would not fit in a test's memory.
        tiny = reduction_of_memory((2,) * len(shape), kept, fast, ("sum", "max"), F32).program
        order = list(range(len(shape))) if fast else [*range(kept, len(shape)), *range(kept)]
        strides, step = [0] * len(shape), 1
        for d in reversed(order):
            strides[d], step = step, step * shape[d]
        operands = (replace(tiny.operands[0], strides=tuple(strides)), *tiny.operands[1:])
        programs.append(replace(tiny, shape=shape, operands=operands))
    same_text(*programs)


def test_no_text_has_includes_and_small_kernels_have_small_texts() -> None:
    body = (Instr("load", F32, operand=0), Instr("op", F32, (0, 0), op_def=ELEMENTWISE["add"]))
    add = Program((100,), 1, body, (Store(1, 1),), (Operand(F32, (1,)), Operand(F32, (1,), written=True)))
    text = emit(add).text
    assert "#include" not in text
    assert len(text) < 9000
    assert "#include" not in emit(softplus((100,), (1,))).text


def cases() -> list[Case]:
    random = Random(7)
    chosen = [random_map(random, any_casts=True) for _ in range(16)]
    chosen += [random_reduction(random, any_casts=True) for _ in range(10)]
    for shape, kept, fast in (
        ((500, 16), 1, True), ((500, 2000), 1, True), ((500, 9000), 1, True), ((50000,), 0, True),
        ((2, 30, 40), 1, True), ((64, 100), 1, False), ((64, 9000), 1, False), ((3, 50000), 1, False),
    ):  # fmt: skip
        for code, names in ((F32, ("sum", "argmax")), (F64, ("var", "max")), (F16, ("mean", "min")), (BOOL, ("any",))):
            chosen.append(reduction_of_memory(shape, kept, fast, names, code))
    return chosen


@pytest.mark.parametrize("number", range(len(cases())))
def test_texts_compile_for_the_gpu(number: int) -> None:
    case = cases()[number]
    assert compile_for_gpu(emit(case.program).text), describe(case)


def test_known_kernels_compile_for_the_gpu() -> None:
    for program in (
        softplus((1000,), (1,)),
        softplus((40, 63), (1, 40)),
        softplus((3 * 10**9,), (1,)),
        stencil((64, 100), Box(2, (1, 1), (1, 1), (62, 98))),
        stencil((64, 100), Box(2, (1, 1), (2, 3), (3, 4))),
    ):
        assert compile_for_gpu(emit(program).text)


def test_fast_math_is_another_text_but_for_random_numbers() -> None:
    program = softplus((1000,), (1,))
    exact, fast = emit(program), emit(program, fast_math=True)
    first, _, rest = fast.text.partition("\n")
    assert "-use_fast_math" in first
    assert rest.replace(fast.entry, exact.entry) == exact.text
    assert fast.entry != exact.entry
    assert len(compile_for_gpu(fast.text)) < len(compile_for_gpu(exact.text))
    op_def = ELEMENTWISE["random_normal32"]
    numbers = Instr("op", F32, tuple(range(3)), op_def=op_def)
    body = (*(Instr("param", I64, index=k) for k in range(3)), numbers)
    program = Program((1000,), 1, body, (Store(3, 0),), (Operand(F32, (1,), written=True),), (I64,) * 3)
    assert emit(program, fast_math=True).text == emit(program).text


@pytest.mark.parametrize(
    ("name", "code"), [("random_uniform32", F32), ("random_normal64", F64), ("random_below64", U64)]
)
def test_neighbours_share_a_block_of_random_numbers(name: str, code: int) -> None:
    """The compiler finds it: a thread's neighbours multiply ten times, and so do those left at the end, one by one."""
    op_def = ELEMENTWISE[name]
    known = tuple(Instr("param", U64, index=k) for k in range(op_def.nin - 1))
    for by_four, times in ((True, 2), (False, 1 + 16 // ITEMSIZES[code])):
        number = Instr("cast", U64, (op_def.nin - 1,))
        counter = Instr("iota", I64, index=0, strides=(1,), by_four=by_four)
        drawn = Instr("op", code, (op_def.nin, *range(op_def.nin - 1)), op_def=op_def)
        body = (*known, counter, number, drawn)
        operands = (Operand(code, (1,), written=True),)
        program = Program((1000,), 1, body, (Store(len(body) - 1, 0),), operands, (U64,) * (op_def.nin - 1))
        ptx = compile_for_ptx(emit(program).text)
        again = name.startswith("random_below")  # a function of its own
        assert len(re.findall(r"\b(?:3528531795|-766435501)\b", ptx)) // 10 == times + again


def test_loops_are_named_once() -> None:
    names = [loop_source(*loop).entry for loop in all_loops()]
    assert len(names) == len(set(names)) > 100
    assert "loop_exp_f" in names


def test_miscompiled_ptx_is_recognised() -> None:
    begin, compare = "ld.param.u64 %rd1, [a];\n", "setp.lt.s32 \t%p6, %r11, %r12;\n"
    choose, low = "selp.b64 \t%rd15, %rd13, %rd14, %p6;\n", "cvt.u32.u64 \t%r1, %rd15;\n"
    assert miscompiled(begin + compare + choose + low)
    assert not miscompiled(begin + compare + choose)
    assert not miscompiled(begin + compare + low)
    assert not miscompiled(begin + compare.replace("s32", "s64") + choose + low)
    assert not miscompiled(begin + compare + choose + "}\n.visible .entry other(\n" + low)
