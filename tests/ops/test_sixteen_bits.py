"""All numbers of each 16-bit dtype for every function of one number: compiled, tier 0, reference, against NumPy."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special
from accuracy import LIMITS
from single_loops import same_bits

import numloom as nl
from compilers import found
from numloom.base.dtypes import BF16, DTYPES, F16, I16, U16, limits_of
from numloom.device import registry
from numloom.ops.definitions import is_low, is_rounded

SIXTEEN = {DTYPES[code]: np.arange(1 << 16, dtype=np.uint16).view(DTYPES[code]) for code in (F16, BF16, I16, U16)}
"""The dtypes, and all of their numbers."""

FUNCTIONS = sorted(
    {np.__dict__[name].__name__ for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
    & {name for name in dir(np) if getattr(getattr(np, name), "nin", 0) == 1} - {"isnat"}
)
OTHERS = (
    "real", "imag", "angle", "nan_to_num", "round", "fix", "isposinf", "isneginf", "iscomplex", "isreal",
    "real_if_close", "sinc", "i0", "unwrap",
)  # fmt: skip
MORE = {"i0": 4.0, "sinc": 4.0, "angle": 2.0}
"""Bounds of float32 for functions that `LIMITS` lacks."""
BOUNDS = {name: limit for name, limit in (LIMITS["f"] | MORE).items() if name != "sqrt"}
TOGETHER = 10
"""Functions of one kernel."""

# What is measured in ULP of the result: one rounding more than in float32 (float16, bfloat16), or float32's bounds.
HALF_LIMIT = 0.51
WAYS = ("compiled", "tier 0", "reference")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def takes(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy has the function for a dtype."""
    try:
        getattr(np, name)(np.ones(1, dtype))
    except TypeError:
        return False
    return True


def highest(dtype: np.dtype[Any]) -> float:
    return float(limits_of(dtype).max)


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


@functools.cache
def results(way: str, dtype: np.dtype[Any]) -> dict[str, list[Any]]:
    """What all functions give, some of them at a time in a kernel."""
    if way == "compiled" and nl.config.device == "cpu" and found() is None:
        pytest.skip("needs a C++ compiler")
    names = [name for name in (*FUNCTIONS, *OTHERS) if takes(name, dtype)]
    settings: dict[str, Any] = {
        "compiled": {"cpu_compile": "wait", "executor": "fused"},
        "tier 0": {"cpu_compile": "never", "executor": "fused"},
        "reference": {"executor": "reference"},
    }[way]
    got: dict[str, list[Any]] = {}
    with nl.config(**settings):
        for start in range(0, len(names), TOGETHER):
            x = nl.asarray(SIXTEEN[dtype])
            part = {name: listed(getattr(nl, name)(x)) for name in names[start : start + TOGETHER]}
            nl.evaluate(*[each for arrays in part.values() for each in arrays])
            got |= {name: [nl.asnumpy(each) for each in arrays] for name, arrays in part.items()}
    return got


def ulps(function: Any, x: Any, got: Any) -> tuple[Any, Any]:
    """Errors in units of the last place of the result's dtype, and which special results are wrong."""
    exact = function(x.astype(np.float64))
    rounded = exact.astype(got.dtype)
    finite = np.isfinite(got) & np.isfinite(rounded)
    wrong = ~finite & ~((got == rounded) | (np.isnan(got) & np.isnan(rounded)))
    wrong &= np.abs(exact) < 0.9999 * limits_of(got.dtype).max  # where the nearest may be either side of the end
    wrong |= finite & (got == 0) & (exact == 0) & (np.signbit(got) != np.signbit(rounded))
    place = np.spacing(np.maximum(np.abs(rounded), limits_of(got.dtype).tiny)).astype(np.float64)
    return np.where(finite, np.abs(got.astype(np.float64) - exact) / place, 0), wrong


def unwrapped_apart(x: Any, got: Any, want: Any) -> bool:
    """Whether two sums of the same steps, up to the first large number, differ by more than roundings explain."""
    count = int(np.argmax(~(np.abs(x.astype(float)) < 1e4)))
    # Of which the steps' sums are: from ml_dtypes 0.7 on Python's numbers leave bfloat16 as it is.
    dtype = np.dtype(np.float32) if is_low(x.dtype) and not is_low(want.dtype) else want.dtype
    got, want, x = (each[:count].astype(float) for each in (got, want, x))
    steps, eps = np.abs(np.diff(want - x, prepend=0)), float(limits_of(dtype).eps)
    bound = 2 * eps * np.cumsum(steps > 0) * np.cumsum(steps) + eps * np.abs(want)
    return bool((np.abs(got - want) > bound).any())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", SIXTEEN, ids=str)
def test_every_function_of_one_number(dtype: np.dtype[Any], way: str) -> None:
    x, bad = SIXTEEN[dtype], []
    discrete = registry.current().discrete
    for name, arrays in results(way, dtype).items():
        for k, (got, want) in enumerate(zip(arrays, listed(getattr(np, name)(x)), strict=True)):
            if (got.dtype, got.shape) != (want.dtype, want.shape):
                bad.append((name, k, got.dtype, want.dtype))
            elif name in ("nan_to_num", "sign") and is_low(dtype):
                # As of all other floats; of bfloat16 NumPy leaves NaN and infinities, and the sign of -0.0 is -0.0.
                options = {"posinf": highest(dtype), "neginf": -highest(dtype)} if name == "nan_to_num" else {}
                wide = getattr(np, name)(x.astype(np.float32), **options)
                if not same_bits(got, wide.astype(dtype)).all():
                    bad.append((name, k))
            elif name == "sinc" and is_rounded(dtype):
                # Several functions, whose steps are NumPy's.
                if not np.allclose(got, want, rtol=4e-3, atol=1e-3, equal_nan=True):
                    bad.append((name, k))
            elif name == "unwrap" and (discrete or is_low(want.dtype)):  # Sums of many steps, taken otherwise.
                if unwrapped_apart(x, got, want):
                    bad.append((name, k))
            elif name not in BOUNDS:
                # A GPU gives one NaN.
                differ = np.flatnonzero(~same_bits(got, want) & ~(discrete & (name == "signbit") & (x != x)))
                if differ.size:
                    bad.append((name, k, differ.size, [(x[i], got[i], want[i]) for i in differ[:3]]))
            else:
                error, wrong = ulps(getattr(np, name), x, got)
                limit = HALF_LIMIT if is_rounded(got.dtype) else BOUNDS[name]
                if way == "reference" or discrete:
                    limit = max(limit, 4.0)  # NumPy's own functions, or CUDA's
                if error.max() > limit or wrong.any():
                    at = int(np.argmax(wrong) if wrong.any() else error.argmax())
                    bad.append((name, k, error.max(), int(wrong.sum()), x[at], got[at], want[at]))
    assert not bad, "\n".join(map(str, bad))


@pytest.mark.parametrize("dtype", SIXTEEN, ids=str)
def test_tier_0_has_the_bits_of_kernels(dtype: np.dtype[Any]) -> None:
    kernels, tier = results("compiled", dtype), results("tier 0", dtype)
    assert [name for name in kernels if not all(map(same_all, kernels[name], tier[name]))] == []


def same_all(a: Any, b: Any) -> bool:
    return bool(same_bits(a, b).all())


SPECIAL = (
    "erf", "erfc", "erfcx", "ndtr", "log_ndtr", "gamma", "gammaln", "loggamma", "i0e", "k0", "k1", "expit",
    "log_expit", "logit", "exp10", "exprel", "ellipk", "ellipe",
)  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_of_halves(name: str) -> None:
    """They compute in float32, and float16 gives that."""
    x = SIXTEEN[np.dtype(np.float16)]
    with nl.config(cpu_compile="never"):
        got = nl.asnumpy(getattr(nl.special, name)(nl.asarray(x)))
    assert got.dtype == np.float32
    error, wrong = ulps(getattr(scipy.special, name), x, got)
    assert not wrong.any(), x[wrong][:5]
    # Near a zero between two poles the bound is an absolute one.
    error[np.abs(got - getattr(scipy.special, name)(x.astype(np.float64))) < 1e-5] = 0
    assert error.max() <= 5, x[error.argmax()]
