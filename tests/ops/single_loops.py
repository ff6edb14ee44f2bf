"""Single-operation loops of op definitions and casts, compiled by the host compiler, many in one text."""

from __future__ import annotations

import ctypes
import functools
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from compilers import needed
from numloom.base.dtypes import CTYPES, kind_of
from numloom.base.dtypes import NUMPY_CHARS as CHARS
from numloom.base.dtypes import NUMPY_DTYPES as DTYPES
from numloom.ops.definitions import OpDef
from numloom.ops.elementwise import ELEMENTWISE, cast_headers, cast_text, header_order, headers_for

INCLUDE = Path(__file__).parents[2] / "src" / "numloom" / "emit" / "include"
CTYPE = dict(zip(CHARS, CTYPES, strict=False))
DTYPE = dict(zip(CHARS, DTYPES, strict=True))
Loop = tuple[str, str, str]
"""Name of an operation (or "cast"), characters of its arguments, character of its result."""


def value_type(char: str) -> str:
    """C++ type in which values of a dtype travel."""
    return "f32" if char == "e" else CTYPE[char]


def loops_of(op: OpDef) -> list[Loop]:
    """Every loop of an op definition that NumPy has and that our dtypes allow."""
    found = []
    if op.ufunc is not None:
        for types in op.ufunc.types:
            ins, out = types.split("->")
            ins, out = (chars.replace("l", "q").replace("L", "Q") for chars in (ins, out))
            if set(ins + out) <= set(CHARS):
                found.append((op.name, ins, out))
        return list(dict.fromkeys(found))
    for char in CHARS:
        try:
            types = op.loops(tuple([DTYPE[char]] * op.nin))
        except TypeError:
            continue
        chars = "".join(CHARS[DTYPES.index(dtype)] for dtype in types)
        found.append((op.name, chars[:-1], chars[-1]))
    return list(dict.fromkeys(found))


def expression(loop: Loop, names: list[str]) -> str:
    """C++ expression of a loop's value, rounded where it is float16."""
    name, ins, out = loop
    template = cast_text(ins, out) if name == "cast" else ELEMENTWISE[name].text(ins, out)
    text = template.replace("{T}", value_type(out))
    for k, argument in enumerate(names):
        text = text.replace(f"{{{k}}}", argument)
    return f"nl::round_f16({text})" if out == "e" else text


def headers_of(loop: Loop) -> tuple[str, ...]:
    name, ins, out = loop
    return cast_headers(ins, out) if name == "cast" else headers_for(ELEMENTWISE[name], ins, out)


def prelude(loops: Iterable[Loop]) -> str:
    """Text of all headers of some loops."""
    names = {header for loop in loops for header in headers_of(loop)}
    return "\n".join((INCLUDE / f"{name}.hpp").read_text() for name in header_order(names))


def load(char: str, pointer: str) -> str:
    return f"nl::f16_to_f32({pointer}[i])" if char == "e" else f"{pointer}[i]"


def store(char: str, value: str) -> str:
    return f"nl::f32_to_f16({value})" if char == "e" else value


def loop_text(loop: Loop, entry: str, qualifier: str = 'extern "C" void') -> str:
    """A function that runs a loop over contiguous arrays."""
    _, ins, out = loop
    names = [f"v{k}" for k in range(len(ins))]
    pointers = ", ".join(f"const {CTYPE[char]}* __restrict p{k}" for k, char in enumerate(ins))
    values = " ".join(f"{value_type(char)} v{k} = {load(char, f'p{k}')};" for k, char in enumerate(ins))
    pragma = "#ifndef __CUDACC__\n#pragma GCC ivdep\n#endif\n"
    return (
        f"{qualifier} {entry}({pointers}, {CTYPE[out]}* __restrict q, i64 n) {{\n{pragma}"
        f"for (i64 i = 0; i < n; ++i) {{ {values} {value_type(out)} r = {expression(loop, names)}; "
        f"q[i] = {store(out, 'r')}; }} }}\n"
    )


@functools.cache
def build(loops: tuple[Loop, ...]) -> dict[Loop, Any]:
    """Compile loops in one text; gives functions of arrays."""
    text = prelude(loops) + "".join(loop_text(loop, f"loop{k}") for k, loop in enumerate(loops))
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        Path(file.name).write_bytes(needed().compile(text))
        library = ctypes.CDLL(file.name)
    return {loop: runner(getattr(library, f"loop{k}"), loop) for k, loop in enumerate(loops)}


def runner(function: Any, loop: Loop) -> Any:
    _, ins, out = loop

    def run(*arrays: np.ndarray[Any, Any], result: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        held = [np.ascontiguousarray(a, DTYPE[char]) for a, char in zip(arrays, ins, strict=True)]
        result = np.empty(held[0].shape, DTYPE[out]) if result is None else result
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (*held, result)), ctypes.c_longlong(result.size))
        return result

    return run


def special_values(char: str) -> np.ndarray[Any, Any]:
    """Zeros, ends of the range, neighbours of one, infinities, NaN."""
    dtype = DTYPE[char]
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.bits, info.bits - 1]
        return np.array(values + ([-1, -2, -7] if dtype.kind == "i" else []), dtype)
    if dtype.kind == "c":
        part = "f" if char == "F" else "d"
        parts = np.array([0.0, -0.0, 1.5, -1.0, np.inf, -np.inf, np.nan, np.finfo(part).max, 1e-3], part)
        out = np.empty((parts.size, parts.size), dtype)
        out.real, out.imag = parts[:, None], parts
        return out.ravel()
    info = np.finfo(dtype)
    values = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, info.max, info.min]
    values += [info.smallest_subnormal, -info.smallest_subnormal, info.tiny, -info.tiny, info.eps]
    values += [1 + info.eps, 1 - info.epsneg, 3, 100.5, 2.0**31, -(2.0**31), 2.0**63]
    with np.errstate(over="ignore"):
        return np.array(values, dtype)


def random_values(char: str, count: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Random bits and ordinary numbers."""
    dtype = DTYPE[char]
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        small = rng.integers(0 if dtype.kind == "u" else -9, 70, count).astype(dtype)
        return np.where(rng.random(count) < 0.5, wide, small)
    if dtype.kind == "c":
        part = "f" if char == "F" else "d"
        out = np.empty(count, dtype)
        out.real, out.imag = random_values(part, count, rng), random_values(part, count, rng)
        return out
    unsigned = DTYPE[{2: "H", 4: "I", 8: "Q"}[dtype.itemsize]]
    anything = rng.integers(0, np.iinfo(unsigned).max, count, unsigned, endpoint=True).view(dtype)
    ordinary = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 3, count)).astype(dtype)
    return np.where(rng.random(count) < 0.3, anything, ordinary)


def samples(chars: str, count: int = 3000, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """One array for each argument: all combinations of special values, special with random, and random ones."""
    rng = np.random.default_rng(seed)
    special = [special_values(char) for char in chars]
    grids = np.meshgrid(*special, indexing="ij")
    random = [random_values(char, count, rng) for char in chars]
    some = [np.resize(rng.permutation(values), count) for values in special]
    half = [np.where(rng.random(count) < 0.5, a, b) for a, b in zip(random, some, strict=True)]
    return [np.concatenate([g.ravel(), r, h]) for g, r, h in zip(grids, random, half, strict=True)]


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where two arrays have the same bits, all NaNs being one."""
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) & same_bits(a.imag, b.imag)
    if kind_of(a.dtype) != "f":
        return a == b
    unsigned = f"u{a.dtype.itemsize}"
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return (a.view(unsigned) == b.view(unsigned)) | (np.isnan(a) & np.isnan(b))
