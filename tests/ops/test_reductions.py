"""The table of reductions: serial trees of each entry against NumPy, identities, merges of moments."""

from __future__ import annotations

import ctypes
import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single_loops import CTYPE, DTYPE, INCLUDE, load, random_values, same_bits, special_values, store, value_type

from compilers import needed
from numloom.base.dtypes import NUMPY_CHARS as CHARS
from numloom.ops.definitions import ReductionDef
from numloom.ops.elementwise import ELEMENTWISE, header_order
from numloom.ops.reductions import REDUCTIONS, reduction_headers, reduction_of

pytestmark = pytest.mark.optimized

INTEGER_ONLY = {"bitwise_and", "bitwise_or", "bitwise_xor"}
FLOAT_ONLY = {"mean", "m2", "var"}
DERIVED = [
    ("subtract", "bhiqBHIQefdFD"), ("divide", "efdFD"), ("power", "f"), ("hypot", "fd"), ("logaddexp", "fd"),
    ("gcd", "bBiIqQ"), ("lcm", "iI"), ("left_shift", "i"), ("arctan2", "d"), ("remainder", "id"), ("maximum", "fD"),
]  # fmt: skip


def accepts(name: str, char: str) -> bool:
    kind = DTYPE[char].kind
    if name in INTEGER_ONLY:
        return kind in "biu"
    return kind in "fc" if name in FLOAT_ONLY else True


CASES = [(name, char) for name in REDUCTIONS for char in CHARS if accepts(name, char)]


def reduction_text(op_def: ReductionDef, char: str, entry: str) -> str:
    """A function that reduces from left to right, an identity between any two values."""
    out = op_def.out_char(char)
    accumulator, value = op_def.accumulator(char), value_type(char)
    mapped = op_def.map.format(x="x", index="i")
    combine = op_def.combine.replace("{a}", "a").replace("{b}", "b")
    finalized = op_def.finalize.replace("{a}", "a").replace("{n}", "n").replace("{T}", value_type(out))
    return (
        f'extern "C" void {entry}(const {CTYPE[char]}* p, {CTYPE[out]}* q, i64 n) {{\n'
        f"{accumulator} a = {op_def.identity(char)};\n"
        f"for (i64 i = 0; i < n; ++i) {{ {value} x = {load(char, 'p')}; {accumulator} b = {mapped}; a = {combine};\n"
        f"b = {op_def.identity(char)}; a = {combine}; }}\n"
        f"{value_type(out)} r = {finalized}; {'r = nl::round_f16(r);' if out == 'e' else ''} "
        f"*q = {store(out, 'r')}; }}\n"
    )


@functools.cache
def compiled() -> dict[tuple[str, str], Any]:
    op_defs = {(name, char): REDUCTIONS[name] for name, char in CASES}
    op_defs |= {
        ("ufunc " + name, char): reduction_of(ELEMENTWISE[name], char) for name, chars in DERIVED for char in chars
    }
    headers = {header for (_, char), op_def in op_defs.items() for header in reduction_headers(op_def, char)} | {"half"}
    text = "\n".join((INCLUDE / f"{name}.hpp").read_text() for name in header_order(headers))
    text += "".join(reduction_text(op_def, key[1], f"reduce{k}") for k, (key, op_def) in enumerate(op_defs.items()))
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        Path(file.name).write_bytes(needed().compile(text))
        library = ctypes.CDLL(file.name)

    def runner(function: Any, op_def: ReductionDef, char: str) -> Any:
        def run(x: Any) -> Any:
            x, out = np.ascontiguousarray(x), np.empty(1, DTYPE[op_def.out_char(char)])
            function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_longlong(x.size))
            return out[0]

        return run

    return {
        key: runner(getattr(library, f"reduce{k}"), op_def, key[1]) for k, (key, op_def) in enumerate(op_defs.items())
    }


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def close(got: Any, want: Any, char: str, count: int) -> bool:
    if got.dtype.kind not in "fc" or DTYPE[char].kind not in "fc":
        return bool(got == want)
    epsilon = max(np.finfo(got.dtype).eps, np.finfo(DTYPE[char]).eps)
    return np.allclose(got, want, rtol=4 * count * epsilon, atol=0, equal_nan=True)


@pytest.mark.parametrize(("name", "char"), CASES)
def test_rows_agree_with_numpy(name: str, char: str) -> None:
    rng = np.random.default_rng(3)
    op_def = REDUCTIONS[name]
    for count in (1, 2, 17, 100):
        x = random_values(char, count, rng)
        if DTYPE[char].kind in "fc":
            x = (rng.standard_normal(count) + (1j * rng.standard_normal(count) if char in "FD" else 0)).astype(char)
        got, want = compiled()[name, char](x), op_def.numpy(x)
        assert got.dtype == DTYPE[op_def.out_char(char)]
        assert close(got, want, char, count), (x, got, want)


@pytest.mark.parametrize("name", ["max", "min", "fmax", "fmin", "argmax", "argmin", "any", "all"])
@pytest.mark.parametrize("char", CHARS)
def test_choices_are_exact_among_special_values(name: str, char: str) -> None:
    rng = np.random.default_rng(7)
    special = special_values(char)
    for _ in range(60):
        x = special[rng.integers(0, special.size, rng.integers(1, 6))]
        got, want = np.atleast_1d(compiled()[name, char](x)), np.atleast_1d(REDUCTIONS[name].numpy(x))
        # The sign of a zero and the other part of a NaN depend on NumPy's order of evaluation.
        assert got[0] == want[0] or (got[0] != got[0] and want[0] != want[0]), (x, got, want)


@pytest.mark.parametrize("char", "efdFD")
def test_sums_keep_negative_zero(char: str) -> None:
    x = np.full(3, -0.0, DTYPE[char])
    if char in "FD":
        x.imag = -0.0
    assert same_bits(np.atleast_1d(compiled()["sum", char](x)), x[:1]).all()


def test_half_sums_are_carried_in_float() -> None:
    assert compiled()["sum", "e"](np.ones(5000, np.float16)) == 5000


@pytest.mark.parametrize(("name", "char"), [(name, char) for name, chars in DERIVED for char in chars])
def test_derived_rows_agree_with_the_ufunc(name: str, char: str) -> None:
    rng = np.random.default_rng(5)
    ufunc = getattr(np, name)
    for count in (1, 2, 3, 8):
        x = np.abs(rng.standard_normal(count) * 3 + 1).astype(DTYPE[char])
        got = compiled()["ufunc " + name, char](x)
        want = functools.reduce(ufunc, x)  # NumPy's own reduce of arctan2 and power skips elements here
        assert close(got, want, char, 4 * count), (x, got, want)


def test_var_of_numbers_far_from_zero() -> None:
    rng = np.random.default_rng(1)
    x = (1e4 + rng.standard_normal(4096)).astype(np.float32)
    assert np.isclose(compiled()["m2", "f"](x), np.var(x.astype(float)) * x.size, rtol=1e-10)
    assert np.isnan(compiled()["var", "f"](np.array([1, np.inf], np.float32)))


def test_derived_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="binary"):
        reduction_of(ELEMENTWISE["sin"], "f")
    with pytest.raises(TypeError):
        reduction_of(ELEMENTWISE["less"], "f")


@pytest.mark.parametrize("char", "efdFD")
def test_runs_of_moments(char: str) -> None:
    accumulator, identity = REDUCTIONS["m2"].accumulator(char), REDUCTIONS["m2"].identity(char)
    headers = header_order([*reduction_headers(REDUCTIONS["m2"], char), "half"])
    text = "\n".join((INCLUDE / f"{name}.hpp").read_text() for name in headers) + (
        f'extern "C" double run(const {value_type(char)}* p, i64 n) {{ {accumulator} a = {identity};\n'
        "for (i64 i = 0; i < n; i += 16) a = nl::merge(a, nl::moments_run(p + i, (int)(n - i < 16 ? n - i : 16)));\n"
        "return a.m2; }\n"
    )
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        Path(file.name).write_bytes(needed().compile(text))
        run = ctypes.CDLL(file.name).run
    run.restype = ctypes.c_double
    rng = np.random.default_rng(2)
    for count in (1, 2, 3, 15, 16, 17, 1000):
        for mean in (0, 1e4):
            x = (mean + rng.standard_normal(count) + (1j * rng.standard_normal(count) if char in "FD" else 0)).astype(
                char
            )
            x = x.astype(np.float32) if char == "e" else x
            want = REDUCTIONS["m2"].numpy(x)
            got = run(ctypes.c_void_p(x.ctypes.data), ctypes.c_longlong(count))
            assert np.isclose(got, want, rtol=2e-6 if char in "efF" else 1e-11, atol=0), (count, mean, got, want)
