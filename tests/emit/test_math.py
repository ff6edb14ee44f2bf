"""The mathematical functions of the prelude: accuracy, vectors, equal bits of all builds, and NVRTC."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compilers import needed
from numloom.base.dtypes import NUMPY_CHARS as CHARS
from numloom.device.cpu.compiler import EXACT
from numloom.device.cuda.compile import SAME_STACK
from numloom.ops.elementwise import ELEMENTWISE, HEADERS, header_order
from numloom.ops.reductions import REDUCTIONS, reduction_headers

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))

import accuracy
import single_loops
from single_loops import INCLUDE, Loop, build, headers_of, loop_text, loops_of, prelude, same_bits

VECTOR = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "power", "hypot", "ldexp",
    "frexp_mantissa", "frexp_exponent",
)  # fmt: skip
"""Functions of ours that loops take as vectors."""
VECTOR_LOOPS = [
    (name, char + "q" if name == "ldexp" else char * ELEMENTWISE[name].nin, "i" if name == "frexp_exponent" else char)
    for name in VECTOR
    for char in "efd"
]

COMPLEX_LOOPS = [("sign", "F", "F"), ("sign", "D", "D"), ("absolute", "F", "f"), ("absolute", "D", "d")]


@pytest.fixture(scope="module")
def measured() -> Any:
    return accuracy.measure(10_000)


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", accuracy.ONE + accuracy.TWO)
def test_errors_stay_below_the_published_limits(name: str, char: str, measured: Any) -> None:
    error, where, _, wrong = measured[name, char]
    assert wrong == 0
    assert error <= accuracy.LIMITS[char][name], where


def skip_unless_gcc_12(compiler: Any) -> None:
    """The report is GCC's; GCC 13 leaves some of these loops scalar (same bits, less speed)."""
    if "clang" in compiler.name or "zig" in compiler.name:
        pytest.skip("asks for GCC's report")
    version = subprocess.run([*compiler.command, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    if not version.startswith("12"):
        pytest.skip(f"what GCC 12 vectorises is promised, this is {version.strip()}")


def test_vector_functions_vectorise(tmp_path: Path) -> None:
    compiler = needed()
    skip_unless_gcc_12(compiler)
    for loop in VECTOR_LOOPS + COMPLEX_LOOPS:
        source = tmp_path / "loop.cpp"
        before = prelude([loop])
        source.write_text(before + loop_text(loop, "loop"))
        command = [
            *compiler.command,
            *compiler.flags,
            "-c",
            str(source),
            "-o",
            str(tmp_path / "loop.o"),
            "-fopt-info-vec",
        ]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        lines = [line.split(":")[1] for line in report.splitlines() if "loop vectorized" in line]
        assert any(int(line) > before.count("\n") for line in lines), loop


def test_chains_of_functions_vectorise(tmp_path: Path) -> None:
    """Softplus in one loop: selects must stay selects when the compiler sees several at once."""
    compiler = needed()
    skip_unless_gcc_12(compiler)
    text = "\n".join((INCLUDE / f"{name}.hpp").read_text() for name in header_order(["exp", "log", "order"]))
    for ctype in ("f32", "f64"):
        source = tmp_path / "chain.cpp"
        source.write_text(
            f'{text}extern "C" void chain(const {ctype}* __restrict p, {ctype}* __restrict q, i64 n) {{\n'
            f"for (i64 i = 0; i < n; ++i) q[i] = nl::maximum(({ctype})0, p[i])\n"
            "+ nl::log1p(nl::exp(-nl::fabs(p[i]))); }"
        )
        command = [*compiler.command, *compiler.flags, "-c", str(source), "-o", str(tmp_path / "c.o"), "-fopt-info-vec"]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        assert "loop vectorized" in report, ctype


@pytest.mark.optimized
def test_bits_do_not_depend_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = needed()
    loops = tuple(VECTOR_LOOPS)
    native = build(loops)
    plain = ("-O1", "-shared", "-fPIC", *EXACT)
    monkeypatch.setattr(single_loops, "needed", lambda: type(compiler)(compiler.command, plain, "plain"))
    build.cache_clear()
    portable = build(loops)
    build.cache_clear()
    for loop in loops:
        args = accuracy.arguments(loop[0], loop[1][0], 3000)[: len(loop[1])]
        if loop[0] == "ldexp":
            args[1] = np.random.default_rng(0).integers(-2200, 2200, args[0].size)
        assert same_bits(native[loop](*args), portable[loop](*args)).all(), loop


@pytest.mark.optimized
def test_products_of_complex_numbers_are_rounded_before_they_are_added() -> None:
    """GCC from 12 on contracts pairs of a difference and a sum of products, whatever -ffp-contract says."""
    functions = build(tuple((name, char * 2, char) for name in ("multiply", "divide") for char in "FD"))
    rng = np.random.default_rng(0)
    for char in "FD":
        x, y = ((rng.standard_normal(999) + 1j * rng.standard_normal(999)).astype(char) for _ in range(2))
        (a, b), (c, d) = (x.real, x.imag), (y.real, y.imag)
        got = functions["multiply", char * 2, char](x, y)
        np.testing.assert_array_equal(got, (a * c - b * d) + 1j * (a * d + b * c))
        # Smith's quotient, by the larger part of y
        swap = np.abs(c) < np.abs(d)
        p, q = np.where(swap, d, c), np.where(swap, c, d)
        ratio = q / p
        scale = 1 / (p + q * ratio)
        re = np.where(swap, a * ratio + b, a + b * ratio) * scale
        im = np.where(swap, b * ratio - a, b - a * ratio) * scale
        np.testing.assert_array_equal(functions["divide", char * 2, char](x, y), re + 1j * im)


def test_complex_functions_are_accurate() -> None:
    mpmath = pytest.importorskip("mpmath")
    names = {
        "exp": "exp", "expm1": "expm1", "log": "log", "log1p": None, "sqrt": "sqrt", "sin": "sin", "cos": "cos",
        "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh",
        "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    }  # fmt: skip
    functions = build(tuple((name, char, char) for name in names for char in "FD"))
    rng = np.random.default_rng(0)
    z = (rng.standard_normal(150) + 1j * rng.standard_normal(150)) * 10.0 ** rng.uniform(-3, 1, 150)
    z[50:100] /= np.abs(z[50:100])  # the unit circle, where the logarithm cancels
    with mpmath.workprec(200):
        for name, exact in names.items():
            for char in "FD":
                x = z.astype(char)
                got = functions[name, char, char](x)
                function = getattr(mpmath, exact) if exact else lambda v: mpmath.log(1 + v)
                for a, b in zip(x.tolist(), got.tolist(), strict=True):
                    want = function(mpmath.mpc(a))
                    assert abs(mpmath.mpc(b) - want) <= 4 * np.finfo(x.dtype).eps * abs(want), (name, char, a, b)


def special_class(x: Any) -> Any:
    """Zeros with their signs, infinities, NaN, and other numbers, told apart."""
    zero = np.where(np.signbit(x), -0.5, 0.5)
    return np.where(np.isnan(x), 9, np.where(np.isinf(x), 2 * np.sign(x), np.where(x == 0, zero, 1)))


@pytest.mark.parametrize("char", "FD")
def test_complex_special_values_are_numpys(char: str) -> None:
    names = ["sqrt", "exp", "log", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh",
             "arccosh", "arctanh", "log2", "log10", "exp2"]  # fmt: skip
    functions = build(tuple((name, char, char) for name in names))
    z = single_loops.special_values(char)
    with np.errstate(all="ignore"):
        for name in names:
            got, want = functions[name, char, char](z), getattr(np, name)(z)
            same = (special_class(got.real) == special_class(want.real)) & (
                special_class(got.imag) == special_class(want.imag)
            )
            assert same.all(), (name, list(zip(z[~same], got[~same], want[~same], strict=True))[:3])


def compile_for_gpu(text: str) -> None:
    """Compile with NVRTC as kernels are; to PTX, since to assemble it as well takes as long again."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    try:
        _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    except Exception as error:  # the bindings are there, the library is not
        pytest.skip(f"NVRTC does not load: {error}")
    options = [b"--gpu-architecture=compute_90", b"-fmad=false", b"-std=c++17", b"-w", SAME_STACK.encode()]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = b""
    if int(status):
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    assert int(status) == 0, log.decode()[:4000]


def gpu_loops() -> list[Loop]:
    """One loop of each op definition for each kind of number, and every cast."""
    chosen: dict[tuple[str, str], Loop] = {}
    for op in ELEMENTWISE.values():
        for loop in loops_of(op):
            chosen.setdefault((op.name, loop[1] if loop[1][0] in "?efFqQ" else np.dtype(loop[1][0]).kind), loop)
    return list(chosen.values()) + [
        ("cast", source, target) for source in CHARS for target in CHARS if source != target
    ]


@pytest.mark.slow
def test_rows_compile_for_the_gpu() -> None:
    loops = gpu_loops()
    third = -(-len(loops) // 3)
    for start in range(0, len(loops), third):
        part = loops[start : start + third]
        texts = [loop_text(loop, f"loop{k}", 'extern "C" __global__ void') for k, loop in enumerate(part)]
        compile_for_gpu(prelude(part) + "".join(texts))


def test_reductions_compile_for_the_gpu() -> None:
    pieces, headers = [], set()
    for op_def in REDUCTIONS.values():
        for char in "?iQefdFD":
            kind = np.dtype(char).kind
            if (op_def.name.startswith("bitwise") and kind in "fc") or (
                op_def.name in ("mean", "m2", "var") and kind not in "fc"
            ):
                continue
            out = single_loops.value_type(op_def.out_char(char))
            accumulator, value = op_def.accumulator(char), single_loops.value_type(char)
            headers |= set(reduction_headers(op_def, char))
            mapped = op_def.map.format(x="x", index="n")
            finalized = op_def.finalize.replace("{a}", "c").replace("{n}", "n").replace("{T}", out)
            pieces.append(
                f"__device__ {out} reduce{len(pieces)}({value} x, {accumulator} a, i64 n) {{ "
                f"{accumulator} b = {mapped}, d = {op_def.identity(char)}, "
                f"c = {op_def.combine.format(a='a', b='b')}; a = d; return {finalized}; }}\n"
            )
    compile_for_gpu(
        "\n".join((INCLUDE / f"{name}.hpp").read_text() for name in header_order(headers)) + "".join(pieces)
    )


def test_every_header_compiles_with_what_it_names() -> None:
    for name in HEADERS:
        compile_for_gpu("\n".join((INCLUDE / f"{part}.hpp").read_text() for part in header_order([name])))
    assert all(set(headers_of(loop)) <= set(HEADERS) for loop in gpu_loops())
