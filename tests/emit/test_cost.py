"""What an element costs on the host, and which loops take several vectors at a time."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from compilers import needed
from numloom.base.dtypes import C64, F32, F64, I64
from numloom.device.cpu.libraries import address_of, load
from numloom.emit.cost import nanoseconds, vectors_unrolled
from numloom.emit.loops import loop_program, loop_source
from numloom.ops.elementwise import ELEMENTWISE
from numloom.plan.program import Instr, Operand, Program, Store


@pytest.mark.parametrize(
    ("name", "code", "many"),
    [
        ("exp", F32, 2), ("sin", F64, 2), ("power", F64, 4), ("logaddexp", F32, 4), ("add", F32, 1), ("exp", C64, 1),
        ("power", I64, 1), ("nextafter", F64, 1), ("fmod", F64, 2),
    ],
)  # fmt: skip
def test_long_functions_without_branches_go_abreast(name: str, code: int, many: int) -> None:
    op = ELEMENTWISE[name]
    codes = (code,) * op.nin
    assert vectors_unrolled(loop_program(op, codes, code)) == many
    assert (f"NL_UNROLL_BY({many})" in loop_source(op, codes, code).text) == (many > 1)


@pytest.mark.parametrize(("times", "many"), [(1, 4), (2, 2), (4, 1)])
def test_very_long_expressions_do_not(times: int, many: int) -> None:
    power = ELEMENTWISE["power"]
    body = [Instr("load", F64, operand=0)]
    body += [Instr("op", F64, (k, 0), op_def=power) for k in range(times)]
    operands = (Operand(F64, (1,)), Operand(F64, (1,), written=True))
    program = Program((64,), 1, tuple(body), (Store(times, 1),), operands)
    assert vectors_unrolled(program) == many
    assert nanoseconds(program) > times


@pytest.mark.parametrize("code", [F32, F64])
def test_elements_have_one_result_wherever_they_stand(code: int) -> None:
    """In the middle of a loop, where several vectors go abreast, or in what is left."""
    op = ELEMENTWISE["log1p"]
    source = loop_source(op, (code,), code)
    library = load(needed().compile(source.text))
    loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_longlong)(
        address_of(library, source.entry)
    )
    x = np.linspace(0, 50, 300).astype("fd"[code == F64])
    whole, parts = np.empty_like(x), np.empty_like(x)
    for found, cuts in ((whole, (0, 300)), (parts, (0, 1, 8, 40, 103, 169, 300))):
        words = np.array([300, x.ctypes.data, found.ctypes.data], np.int64)
        assert [word.kind for word in source.words] == ["constant", "pointer", "pointer"]
        for begin, end in itertools.pairwise(cuts):
            loop(words.ctypes.data, begin, end)
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_allclose(whole, np.log1p(x), rtol=1e-6 if code == F32 else 1e-15)
