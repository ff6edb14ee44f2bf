"""Ready-made reductions and copies have the bits of planned kernels and of the tree, and NumPy's special cases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import numloom as nl
from compilers import needed
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.engine.state import counters
from numloom.testing.compare import host

pytestmark = pytest.mark.skipif(
    registry.current().name != "cpu" or config.executor == "reference" or unplanned._unplanned is None,
    reason="only the host runs without plans, and only the compiled core",
)

NAMES = ("sum", "prod", "max", "min", "argmax", "argmin", "mean", "var", "std")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 2.5, -3.0)


def same(a: Any, b: Any) -> bool:
    """The same bits; a part that is NaN is NaN."""
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    if a.dtype.kind == "c":
        return same(a.real, b.real) and same(a.imag, b.imag)
    bits = f"V{a.dtype.itemsize}"
    return a.dtype == b.dtype and bool(((a.copy().view(bits) == b.copy().view(bits)) | ((a != a) & (b != b))).all())


def specials(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Numbers whose parts are special ones here and there."""
    rng = np.random.default_rng(seed)

    def part() -> Any:
        numbers = rng.integers(-4, 5, shape) * 0.5
        return np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), numbers)

    made = part()
    if np.dtype(dtype).kind == "c":
        both = np.empty(shape, "c16")
        both.real, both.imag = made, part()
        made = both
    return (made > 0 if dtype == "?" else made).astype(dtype)


def reduced(name: str, x: Any, axis: int | None, **how: Any) -> Any:
    with nl.config(**how):
        return host(getattr(nl, name)(x, axis=axis))


SHAPES = [(1,), (1, 1), (2, 3), (40, 3), (3, 40), (20, 16), (130, 5), (64, 64), (17, 129), (5, 8, 33)]


@pytest.mark.parametrize("dtype", ["c8", "c16", "f4", "f8", "?", "u1"])
@pytest.mark.parametrize("name", NAMES)
def test_special_numbers_and_short_rows(name: str, dtype: str) -> None:
    """The bits of the tree in NumPy, in every layout; positions and extremes are NumPy's."""
    if name in ("mean", "var", "std") and dtype in "?u1":
        return  # which are reductions of floats
    for seed, shape in enumerate(SHAPES):
        x = specials(shape, dtype, seed) if dtype != "u1" else np.arange(np.prod(shape)).astype("u1").reshape(shape)
        for given in (x, np.asfortranarray(x), x[::-1], x[..., ::2]):
            for axis in (None, *range(x.ndim)):
                found = reduced(name, nl.asarray(given), axis, unplanned=1 << 20)
                assert same(found, reduced(name, nl.asarray(given), axis, executor="reference", unplanned=0))
                if name in ("max", "min", "argmax", "argmin"):
                    right = getattr(np, name)(given, axis=axis)
                    np.testing.assert_array_equal(found, right)
                    assert np.asarray(found).dtype == right.dtype


@pytest.mark.parametrize("dtype", ["c8", "c16", "?"])
@pytest.mark.parametrize("name", ["prod", "max", "argmax", "mean", "std"])
def test_the_bits_of_planned_kernels(name: str, dtype: str) -> None:
    needed()
    if dtype == "?" and name in ("mean", "std"):
        return
    for shape in ((33, 6), (150, 130)):
        x = nl.asarray(specials(shape, dtype, 1) if shape[0] < 99 else (specials(shape, dtype, 2) == 1).astype(dtype))
        for axis in (None, 0, 1):
            found = reduced(name, x, axis, unplanned=1 << 20)
            assert same(found, reduced(name, x, axis, unplanned=0, cpu_compile="wait")), (shape, axis)


@pytest.mark.parametrize("dtype", ["c8", "c16", "?"])
def test_no_elements(dtype: str) -> None:
    x = np.zeros((0, 3), dtype)
    for name in ("sum", "prod"):
        for axis in (None, 0, 1):
            right = getattr(np, name)(x, axis=axis)
            np.testing.assert_array_equal(reduced(name, nl.asarray(x), axis, unplanned=4096), right)
    for name in ("max", "argmin"):
        with pytest.raises(ValueError):
            reduced(name, nl.asarray(x), 0, unplanned=4096)


def test_bools_stop_at_the_first_hit_or_find_none() -> None:
    for count in (1, 7, 8, 9, 63, 64, 65, 200):
        for place in (None, 0, count // 2, count - 1):
            for background in (False, True):
                x = np.full(count, background)
                if place is not None:
                    x[place] = not background
                for name in ("argmax", "argmin", "max", "min", "any", "all"):
                    assert host(getattr(nl, name)(nl.asarray(x))) == getattr(np, name)(x), (name, count, place)


def test_what_loops_do_faster_has_no_plan() -> None:
    """Reductions of complex numbers and of bools in memory, though they are large."""
    x = nl.asarray(np.arange(150_000) * (1 + 0.5j))
    truths = nl.asarray(np.arange(500_000) > 499_990)
    nl.evaluate(x, truths)
    nl.evaluate(nl.asarray([1.0]) + 1)
    before = counters.plans + counters.resized
    for _ in range(3):
        found = []
        for name, given in (("std", x), ("argmax", truths), ("any", truths)):
            found.append(getattr(nl, name)(given))
            nl.evaluate(found[-1])
        np.testing.assert_allclose(host(found[0]), np.std(host(x)), rtol=1e-12)
        assert int(found[1]) == 499_991 and bool(found[2])
    assert counters.plans + counters.resized == before


@pytest.mark.parametrize("char", "?bhefdFD")
def test_copies_that_turn_axes(char: str) -> None:
    """By blocks, with what is left over at their edges, forwards and backwards."""
    for shape in ((1, 1), (16, 16), (17, 33), (3, 40), (64, 2), (5, 8, 19), (4, 5, 16)):
        x = (np.arange(np.prod(shape)) % 251).astype(char).reshape(shape)
        array = nl.asarray(x)
        for axes in itertools.permutations(range(x.ndim)):
            for view in (np.s_[:], np.s_[::-1], np.s_[:, ::-1], np.s_[1:, ::2]):
                with nl.config(unplanned=1 << 16):
                    found = host(array.transpose(axes)[view].copy())
                np.testing.assert_array_equal(found, x.transpose(axes)[view])
