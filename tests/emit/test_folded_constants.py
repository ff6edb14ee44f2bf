"""What compilers fold: exact operations of constants give the CPU's bits, whatever architecture they are compiled for.

Kernel texts get the numbers of a program as arguments; what they have as constants are neutral elements of reductions
and what some operations give whatever they are given (the imaginary part of a float is 0). Here all arguments are
such.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compilers import needed
from folded import ARCHITECTURES, calls, functions, ptx_of, stored
from numloom.base.errors import CompileError
from numloom.emit.values import headers_text
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS, reduction_headers
from nvrtc import SAMPLE, SessionTexts, compile_for_ptx, folded_otherwise, need_nvrtc

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))

from single_loops import CTYPE, DTYPE, Loop, expression, headers_of, loops_of, same_bits, value_type

BEGINNINGS = ("sum", "fmax", "max", "min", "prod")
"""Reductions whose neutral elements are -0.0, NaN, the infinities and 1."""
COMBINED = ("sum", "prod", "max", "min", "fmax", "fmin")
"""Reductions that begin with their neutral element."""
FLIPPED = """extern "C" __global__ void flipped(float* q) {
    q[0] = fmaxf(-0.0f, 0.0f);
    q[1] = q[2];
}
"""


def literals(char: str) -> list[str]:
    """-0.0, 0.0, infinities, NaN and 1, as texts have them."""
    if char not in "efd":
        return ["false", "true"] if char == "?" else [f"(({CTYPE[char]}){value})" for value in (0, 1)]
    zero = ELEMENTWISE["imag"].text(char, char).replace("{T}", value_type(char))
    return [zero, *(REDUCTIONS[name].identity(char) for name in BEGINNINGS)]


def exact_loops(char: str) -> list[Loop]:
    """The loops of exact operations that take floats of one dtype, or make them."""
    return [
        loop
        for op in ELEMENTWISE.values()
        if not op.name.startswith("random_")
        for loop in loops_of(op)
        if char in loop[1] + loop[2] and op.is_exact(loop[1]) and not set(loop[1] + loop[2]) & set("FD")
    ]


def chosen(chars: str) -> list[tuple[str, ...]]:
    """All choices of arguments of these dtypes; of three without 1, which makes half as many."""
    return list(itertools.product(*(literals(char)[: 5 if len(chars) == 3 else None] for char in chars)))


def kernel(entry: str, value: str, arguments: list[tuple[str, ...]], chars: str, out: str) -> str:
    """A kernel that stores the value of an expression in ``v0``, ``v1``, ... for each choice of arguments.

    A float16 is stored as the float32 that it travels as, before it is rounded, which no compiler folds.
    """
    lines = []
    for k, each in enumerate(arguments):
        given = " ".join(f"const {value_type(char)} v{n} = {each[n]};" for n, char in enumerate(chars))
        lines.append(f"{{ {given} q[{k}] = {value}; }}\n")
    return (
        f'#ifdef __CUDACC__\nextern "C" __global__ void {entry}({value_type(out)}* q) {{\n#else\n'
        f'extern "C" void {entry}({value_type(out)}* q) {{\n#endif\n{"".join(lines)}}}\n'
    )


def unrounded(loop: Loop) -> str:
    """The expression of a loop, without what rounds it to float16."""
    text = expression(loop, [f"v{n}" for n in range(len(loop[1]))])
    return text.removeprefix("nl::round_f16")


@functools.cache
def folding(char: str) -> tuple[str, dict[str, tuple[np.dtype[Any], int, str]]]:
    """A text of kernels of constants, and of each the dtype and number of its results, and what it computes."""
    kernels = [
        (unrounded(loop), loop[1], loop[2], f"{loop[0]} of {loop[1]}", headers_of(loop)) for loop in exact_loops(char)
    ]
    for name in COMBINED:
        reduction = REDUCTIONS[name]
        value = reduction.combine.format(a=reduction.identity(char), b="v0")
        kernels.append((value, char, char, f"{name} of one {char}", reduction_headers(reduction, char)))
    headers = frozenset(itertools.chain.from_iterable(each[-1] for each in kernels))
    texts, made = [], {}
    for number, (value, chars, out, called, _) in enumerate(kernels):
        arguments = chosen(chars)
        texts.append(kernel(f"folds{number}", value, arguments, chars, out))
        made[f"folds{number}"] = DTYPE["f" if out == "e" else out], len(arguments), called
    return headers_text(headers) + "".join(texts), made


@functools.cache
def computed(char: str) -> dict[str, np.ndarray[Any, Any]]:
    """The CPU's results, by entry."""
    text, made = folding(char)
    results = {}
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        Path(file.name).write_bytes(needed().compile(text))
        library = ctypes.CDLL(file.name)
        for entry, (dtype, count, _) in made.items():
            results[entry] = np.empty(count, dtype)
            getattr(library, entry)(ctypes.c_void_p(results[entry].ctypes.data))
    return results


def folded(body: str, dtype: np.dtype[Any], count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What a kernel stores, and which of it the compiler has computed."""
    places = stored(body)
    assert sorted(places) == list(range(count * dtype.itemsize))
    values = [places[k] for k in range(len(places))]
    known = np.array([value is not None for value in values]).reshape(count, -1).all(1)
    return np.array([value or 0 for value in values], np.uint8).view(dtype), known


def compare(char: str, ptx: str) -> tuple[list[str], float]:
    """Where the PTX of the text of a dtype has other results than the CPU, a line each, and the share that it has."""
    made, bodies = folding(char)[1], dict(functions(ptx))
    wrong, found = [], []
    for entry, expected in computed(char).items():
        dtype, count, called = made[entry]
        values, known = folded(bodies[entry], dtype, count)
        places = np.flatnonzero(known & ~same_bits(values, expected))
        wrong += [f"{called}, number {k}: {values[k]}, on the CPU {expected[k]}" for k in places]
        found.append(known)
    return wrong, float(np.concatenate(found).mean())


@pytest.mark.parametrize("char", "efd")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_folded_is_what_the_cpu_computes(architecture: str, char: str) -> None:
    need_nvrtc()
    text, _ = folding(char)
    assert not calls(text)
    wrong, share = compare(char, ptx_of(text, architecture))
    assert not wrong, "\n".join(wrong)
    assert share > 0.6, "PTX is written otherwise than `stored` reads it"


@pytest.mark.parametrize("architecture", ARCHITECTURES[1:3])
def test_a_maximum_of_cuda_is_told(architecture: str) -> None:
    need_nvrtc()
    wrong, _ = compare("f", ptx_of(folding("f")[0].replace("nl::maximum(", "fmaxf("), architecture))
    assert "maximum of ff, number 1: 0.0, on the CPU -0.0" in wrong


@pytest.mark.parametrize(
    ("text", "told"),
    (
        ("q[0] = fmaxf(-0.0f, 0.0f);", ["-0.0 of float32"]),
        ("q[0] *= fmaxf(-0.0f, 0.0f);", ["-0.0 of float32"]),
        ("double* d = (double*)q; d[0] *= fmax(-0.0, 0.0);", ["-0.0 of float64"]),
        ("q[0] = fmaxf(-0.0f, 0.0f) < 0 ? 1 : copysignf(2, fmaxf(-0.0f, 0.0f));", []),  # by its call alone
        ("q[0] = (-0.0f > 0.0f ? -0.0f : 0.0f) * q[0];", []),
        ("q[0] = fmaxf(q[0], 0.0f);", []),
    ),
)
def test_zeros_that_compilers_see_otherwise_are_told(text: str, told: list[str]) -> None:
    need_nvrtc()
    whole = f'extern "C" __global__ void zeros(float* q) {{\n{text}\n}}\n'
    found = folded_otherwise(whole)
    assert found == folded_otherwise(whole, compile_for_ptx(whole))
    assert [each.partition(":")[0] for each in found] == told
    assert bool(calls(whole)) == ("fm" in text)


def test_a_folded_zero_is_read_from_ptx() -> None:
    need_nvrtc()
    signs = {}
    for architecture in ARCHITECTURES:
        ((_, body),) = functions(ptx_of(FLIPPED, architecture))
        values, known = folded(body, DTYPE["f"], 2)
        assert known.tolist() == [True, False]
        signs[architecture] = bool(np.signbit(values[0]))
    assert len(set(signs.values())) == 2, "NVRTC has one answer, see findings/nvrtc_fmax_of_zeros.sh"


def test_a_session_fails_by_what_is_folded_otherwise() -> None:
    need_nvrtc()
    session = object.__new__(SessionTexts)
    session.users, session.compiled, session.compared = {"k_0000"}, 0, 0
    hidden = FLIPPED.replace("extern", "#define most fmaxf\nextern").replace("fmaxf(", "most(")
    other = f"k_{SAMPLE:04x}"  # which is not compared
    for entry, text in (("k_0000", FLIPPED), (other, hidden), ("k_0000", FLIPPED + "namespace nl_user {}\n")):
        session.check(entry, text)
    session.users = set()
    with pytest.raises(CompileError, match="minimum or maximum"):
        session.check(other, FLIPPED)
    with pytest.raises(CompileError, match=r"-0\.0 of float32: only for compute_75, compute_90"):
        session.check("k_0000", hidden)
    assert (session.compiled, session.compared) == (5, 1)
