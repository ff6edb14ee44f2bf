"""The error function, the normal distribution, their inverses: accuracy, special values, vectors, bits of builds."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import numloom as nl
from compilers import needed
from numloom.device.cpu.compiler import EXACT
from numloom.device.registry import current
from numloom.ops.elementwise import header_order

INCLUDE = Path(nl.__file__).parent / "emit" / "include"
NAMES = ("erf", "erfc", "ndtr", "erfinv", "erfcinv", "ndtri")
CUDA = {"erf": 2, "erfc": 4, "erfinv": 2, "erfcinv": 4, "ndtr": 5, "ndtri": 5}
"""Last places by which the functions of float32 may be wrong that come with CUDA (its programming guide)."""
TEXTS = pytest.mark.skipif(nl.config.executor == "reference", reason="the reference is SciPy")


def arguments(name: str, dtype: str) -> np.ndarray[Any, Any]:
    """Numbers of all magnitudes, and those where the function is neither flat nor infinite."""
    rng = np.random.default_rng(3)
    low, high = {"erfinv": (-1, 1), "erfcinv": (0, 2), "ndtri": (0, 1), "erf": (-4, 4)}.get(name, (-6, 6))
    with np.errstate(over="ignore", invalid="ignore"):
        patterns = rng.integers(0, 2**63, 20_000).astype("u8").view("f8" if dtype == "f8" else "f4").astype(dtype)
    return np.concatenate([rng.uniform(low, high, 40_000).astype(dtype), patterns[np.isfinite(patterns)]])


@TEXTS
@pytest.mark.parametrize("name", NAMES)
def test_single_precision_is_within_an_ulp(name: str) -> None:
    """SciPy's float64 is the reference; `ndtr` of SciPy is good to some hundred of its own last places."""
    x = arguments(name, "f4")
    got = getattr(nl.special, name)(nl.asarray(x)).get()
    with np.errstate(all="ignore"):
        want = getattr(special, name)(x.astype("f8"))
        ulp = np.spacing(np.abs(want).astype("f4")).astype("f8")
        errors = np.abs(got.astype("f8") - want) / ulp
    finite = np.isfinite(want) & (np.abs(want) < 3e38)
    assert got.dtype == np.float32
    assert errors[finite].max() <= (CUDA[name] if current().name == "cuda" else 1.15)
    np.testing.assert_array_equal(got[~finite], want[~finite].astype("f4"))


@TEXTS
@pytest.mark.parametrize("name", NAMES)
def test_double_precision_is_within_two_epsilon(name: str) -> None:
    import mpmath as mp

    exact: dict[str, Callable[[Any], Any]] = {"erf": mp.erf, "erfc": mp.erfc, "ndtr": mp.ncdf}
    backwards = {"erfinv": "erf", "erfcinv": "erfc", "ndtri": "ndtr"}
    x = arguments(name, "f8")[:150]
    got = getattr(nl.special, name)(nl.asarray(x)).get()
    with mp.workdps(40):
        for a, b in zip(x, got, strict=True):
            if name in exact:
                want = exact[name](mp.mpf(float(a)))
            else:
                function = exact[backwards[name]]
                want = mp.findroot(lambda z, f=function, a=a: f(z) - mp.mpf(float(a)), mp.mpf(float(b)))
            assert abs(mp.mpf(float(b)) - want) <= 2.5 * 2**-52 * abs(want), (name, a)


@TEXTS
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_special_values(dtype: str) -> None:
    inf, nan, tiny = np.inf, np.nan, float(np.finfo(dtype).smallest_subnormal)
    x = np.array([0.0, -0.0, inf, -inf, nan, tiny, -tiny, 1, -1, 2, 1.5, -1.5], dtype)
    results = {name: getattr(nl.special, name)(nl.asarray(x)).get() for name in NAMES}
    with np.errstate(all="ignore"):
        for name, got in results.items():
            wide = getattr(special, name)(x.astype("f8")).astype(dtype)
            taken_for_zero = (np.abs(x) == tiny) & (name in ("ndtri", "erfcinv"))  # by SciPy
            want = np.where(taken_for_zero, got, wide)
            np.testing.assert_allclose(got, want, rtol=4 * float(np.finfo(dtype).eps), atol=tiny, err_msg=name)
    for name in ("erf", "erfinv"):
        np.testing.assert_array_equal(np.signbit(results[name][[0, 1, 5, 6]]), [False, True, False, True])


def test_views_and_empty_arrays() -> None:
    for dtype in ("f2", "f4", "f8"):
        x = np.linspace(-3, 3, 37).astype(dtype)
        a = nl.asarray(x)
        for part, host in ((a[::-1], x[::-1]), (a[1::3], x[1::3]), (a[:0], x[:0]), (a[5], x[5])):
            want = special.erf(host.astype("f8"))
            np.testing.assert_allclose(nl.special.erf(part).get(), want, rtol=2 * float(np.finfo(dtype).eps))


def library(folder: Path, flags: tuple[str, ...]) -> tuple[ctypes.CDLL, str, int]:
    """A loop over each function; what the compiler says of vectors, and the line from which on loops are."""
    compiler = needed()
    before = "\n".join((INCLUDE / f"{name}.hpp").read_text() for name in header_order(["erf", "erf_inverse"]))
    loops = [
        f'extern "C" void {name}_{ctype}(const {ctype}* __restrict p, {ctype}* __restrict q, i64 n) '
        f"{{ for (i64 i = 0; i < n; ++i) q[i] = nl::{name}(p[i]); }}"
        for name in NAMES
        for ctype in ("f32", "f64")
    ]
    source, target = folder / "loops.cpp", folder / "loops.so"
    source.write_text(before + "\n" + "\n".join(loops) + "\n")
    command = [*compiler.command, *flags, str(source), "-o", str(target)]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return ctypes.CDLL(str(target)), report, before.count("\n") + 2


def test_bits_do_not_depend_on_the_processor(tmp_path: Path) -> None:
    flags = needed().flags
    (tmp_path / "native").mkdir()
    (tmp_path / "plain").mkdir()
    native, report, first = library(tmp_path / "native", (*flags, "-fopt-info-vec") if is_gcc_12() else flags)
    plain, _, _ = library(tmp_path / "plain", ("-O1", "-shared", "-fPIC", *EXACT))
    if is_gcc_12():
        lines = {int(line.split(":")[1]) for line in report.splitlines() if "loop vectorized" in line}
        assert lines >= set(range(first, first + 2 * len(NAMES))), "loops over these become vectors"
    for name in NAMES:
        for ctype, dtype in (("f32", "f4"), ("f64", "f8")):
            x = arguments(name, dtype)[:3000]
            results = []
            for one in (native, plain):
                out = np.empty_like(x)
                getattr(one, f"{name}_{ctype}")(
                    x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_longlong(x.size)
                )
                results.append(out)
            np.testing.assert_array_equal(*results, err_msg=name)


def is_gcc_12() -> bool:
    """What GCC 12 vectorises is promised."""
    compiler = needed()
    if "clang" in compiler.name or "zig" in compiler.name:
        return False
    version = subprocess.run([*compiler.command, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    return version.startswith("12")
