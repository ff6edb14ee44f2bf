"""Kernels of bfloat16 and float8: the GPU's texts have the bits of the reference executor, and compile with NVRTC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planning import check_bits

from numloom.base.dtypes import BF16, CTYPES, DTYPES, LOW
from numloom.device.cuda.routines.scattering import combine_text
from numloom.emit.emit import emit
from numloom.emit.folding import fold_text, segments_text
from numloom.emit.values import headers_text
from numloom.ops.elementwise import ELEMENTWISE, header_order
from nvrtc import compile_for_gpu

HARDWARE = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
NAMES = [DTYPES[code].name for code in LOW]


def softmax(xp: Any, x: Any) -> Any:
    raised = xp.exp2(x - x.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


WORKS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "map": (lambda xp, x, y: [x * y - x, xp.where(x < y, x, y), xp.nextafter(x, y)], [(1003,), (1003,)]),
    "broadcast": (lambda xp, x, y: xp.maximum(x, y) / (abs(y) + 1), [(33, 70), (70,)]),
    "transposed": (lambda xp, x, y: x + y.T, [(64, 96), (96, 64)]),
    "casts": (lambda xp, x: [x.astype(dtype) for dtype in ("f4", "f8", "i4", "f2", "?", "c8")], [(515,)]),
    "to float32 and back": (lambda xp, x: (x.astype("f4") / x.astype("f8")).astype(x.dtype), [(515,)]),
    "between": (lambda xp, x: x.astype("bfloat16") + x.astype("float8_e4m3fn").astype("bfloat16"), [(9000,)]),
    "bits": (lambda xp, x: (x * x).view(f"u{x.itemsize}") & (x - x).view(f"u{x.itemsize}"), [(300,)]),
    "strided": (lambda xp, x: x[1::3] - x[::3], [(600,)]),
    "sum": (lambda xp, x: x.sum(), [(5000,)]),
    "rows": (lambda xp, x: x.sum(axis=1), [(70, 300)]),
    "columns": (lambda xp, x: (x * x).mean(axis=0), [(300, 70)]),
    "short rows": (lambda xp, x: x.max(axis=-1), [(400, 5)]),
    "moments": (lambda xp, x: x.var(axis=-1), [(20, 300)]),
    "places": (lambda xp, x: x.argmax(axis=-1), [(20, 300)]),
    "softmax": (softmax, [(20, 300)]),
}


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("name", HARDWARE)
def test_texts_for_the_gpu(name: str, work: str) -> None:
    function, shapes = WORKS[work]
    random = np.random.default_rng(1)
    hosts = [(random.normal(size=shape) * 2).astype(name) for shape in shapes]
    program = check_bits(function, hosts, backwards=True)
    text = emit(program).text
    assert CTYPES[LOW[NAMES.index(name)]] in text
    if work in ("map", "softmax"):
        assert compile_for_gpu(text)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HARDWARE])
def test_texts_of_other_kinds(name: str) -> None:
    x = np.arange(256).astype("u1").view(name)
    x = x[np.isfinite(x)]  # Of NaN the bits may differ.
    for work in (WORKS["map"][0], lambda xp, x, y: (x * y).sum()):
        program = check_bits(work, [x, x[::-1].copy()], backwards=False)
        assert compile_for_gpu(emit(program).text)


@pytest.mark.parametrize("code", LOW, ids=NAMES)
def test_texts_of_routines_compile(code: int) -> None:
    assert compile_for_gpu(combine_text("add", code, (code,) * 3, "u32", 1, 1, 1))
    assert compile_for_gpu(fold_text("subtract", code, 1, True))
    for entry in ("segments", "short_segments"):
        assert compile_for_gpu(segments_text("add", code, 1, True, entry))


def test_every_text_of_bfloat16_compiles() -> None:
    """All functions of one and two bfloat16, in one text."""
    texts, needed = [], {"bfloat16"}
    for number, op_def in enumerate(ELEMENTWISE.values()):
        if op_def.ufunc is None or op_def.nin > 2:
            continue
        try:
            found = op_def.ufunc.resolve_dtypes((DTYPES[BF16],) * op_def.nin + (None,))
        except TypeError:
            continue
        if found[0] != DTYPES[BF16]:
            continue
        needed.update(op_def.headers)
        out = {DTYPES[BF16]: "E", np.dtype(bool): "?"}[found[-1]]
        body = op_def.text("E" * op_def.nin, out).replace("{T}", "f32").replace("{0}", "x").replace("{1}", "y")
        texts.append(f"__device__ f32 function{number}(f32 x, f32 y) {{ return (f32)({body}); }}\n")
    assert len(texts) > 60
    assert compile_for_gpu(headers_text(frozenset(header_order(needed))) + "".join(texts))
