"""Division with remainder has NumPy's bits: of floats wherever the quotient lies, of bytes by an inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl

LIMIT = {"e": 23, "f": 23, "d": 52}
"""Quotients from two to this power on take the long way."""


def bits(x: Any) -> Any:
    """The bits of an array's numbers, where all NaN are one."""
    found = x.view(f"u{x.itemsize}").copy()
    found[np.isnan(x)] = 0x7E00
    return found


def pairs(char: str) -> tuple[Any, Any]:
    """Numbers out of the ordinary, any bits, multiples and their neighbours, quotients around the limit."""
    rng = np.random.default_rng(5)
    info = np.finfo(char)
    numbers = [0.0, -0.0, 1, -1, 2, 3, -3, 0.5, 1.5, 7, 1e-3, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny]
    special = np.array([*numbers, info.smallest_subnormal, info.eps, 1 - info.epsneg, 1 + info.eps, 1e4], char)
    n = 5000
    any_bits = rng.integers(0, 1 << 63, n, dtype="u8").astype(f"u{special.itemsize}").view(char)
    divisor = (rng.random(n) * 10 - 5).astype(char)
    multiple = (rng.integers(-2000, 2000, n).astype(char) * divisor).astype(char)
    beside = np.nextafter(multiple, rng.choice([-np.inf, np.inf], n).astype(char))
    far = (divisor * rng.uniform(0.9, 1.1, n) * 2.0 ** rng.integers(LIMIT[char] - 1, LIMIT[char] + 2, n)).astype(char)
    a = [np.repeat(special, special.size), any_bits, multiple, beside, divisor, far, any_bits]
    b = [np.tile(special, special.size), rng.permutation(any_bits), divisor, divisor, beside, divisor, divisor]
    return np.concatenate(a), np.concatenate(b)


@pytest.mark.parametrize("unplanned", [0, 1 << 40], ids=["planned", "by loops"])
@pytest.mark.parametrize("char", LIMIT)
@pytest.mark.parametrize("name", ["remainder", "floor_divide", "fmod"])
def test_bits(name: str, char: str, unplanned: int) -> None:
    with np.errstate(all="ignore"):
        a, b = pairs(char)
        x, y = nl.asarray(a), nl.asarray(b)
        ours, numpys = getattr(nl, name), getattr(np, name)
        with nl.config(unplanned=unplanned, cpu_compile="wait"):
            np.testing.assert_array_equal(bits(ours(x, y).get()), bits(numpys(a, b)))
            for stride, divisor in ((1, 0.3), (-3, -7.0), (2, 1.0)):  # One divisor, and other layouts.
                expected = numpys(a[::stride], a.dtype.type(divisor))
                np.testing.assert_array_equal(bits(ours(x[::stride], divisor).get()), bits(expected))
            ours(x, y, out=x)
            np.testing.assert_array_equal(bits(x.get()), bits(numpys(a, b)))


@pytest.mark.parametrize("char", LIMIT)
def test_both_at_once(char: str) -> None:
    with np.errstate(all="ignore"):
        a, b = pairs(char)
        for ours, numpys in zip(nl.divmod(nl.asarray(a), nl.asarray(b)), np.divmod(a, b), strict=True):
            np.testing.assert_array_equal(bits(ours.get()), bits(numpys))


@pytest.mark.parametrize("name", ["remainder", "floor_divide", "fmod"])
def test_few_and_none(name: str) -> None:
    for shape in ((), (0,), (1,), (3, 0), (3, 5)):
        a = np.arange(np.prod(shape, dtype=int), dtype="d").reshape(shape) - 4
        np.testing.assert_array_equal(getattr(nl, name)(nl.asarray(a), 2.5).get(), getattr(np, name)(a, 2.5))


@pytest.mark.parametrize("char", ["b", "B"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_bytes_are_divided_as_numpy_does(name: str, char: str) -> None:
    """All pairs of bytes, with divisors of an array and with a single number."""
    ours, theirs, every = getattr(nl, name), getattr(np, name), np.arange(256).astype("u1").view(char)
    with np.errstate(all="ignore"), nl.config(unplanned=0, cpu_compile="wait"):
        x, y = np.meshgrid(every, every)
        np.testing.assert_array_equal(nl.asnumpy(ours(nl.asarray(x), nl.asarray(y))), theirs(x, y))
        for divisor in every:
            found = nl.asnumpy(ours(nl.asarray(every), int(divisor)))
            np.testing.assert_array_equal(found, theirs(every, divisor))


@pytest.mark.parametrize("char", "iI")
def test_whole_numbers_are_divided_exactly(char: str) -> None:
    """Multiples of small and of large divisors, and what lies beside them: no quotient is rounded up."""
    info, rng = np.iinfo(char), np.random.default_rng(7)
    divisor = rng.integers(info.min, info.max, 4000) >> rng.integers(0, info.bits, 4000)
    divisor[divisor == 0] = info.max
    multiple = rng.integers(0, info.max, 4000) // divisor * divisor
    a = np.concatenate([multiple - 1, multiple, multiple + 1]).clip(info.min, info.max).astype(char)
    b = np.tile(divisor, 3).astype(char)
    names = ("floor_divide", "remainder", "fmod")
    with nl.config(unplanned=0, cpu_compile="wait"):
        found = [getattr(nl, name)(nl.asarray(a), nl.asarray(b)) for name in names]
        nl.evaluate(*found)
    for name, value in zip(names, found, strict=True):
        np.testing.assert_array_equal(value.get(), getattr(np, name)(a, b))
