"""Kernels of whole numbers shorter than a word: what is computed just before a comparison is not lost in it.

A GPU's assembler gets the largest and the smallest of 16-bit numbers wrong after a negation and the like, so that none
may be in the PTX of ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planning import planned

import numloom as nl
from folded import ptx_of
from numloom.emit.emit import emit
from nvrtc import miscompiled, need_nvrtc

BEFORE: dict[str, Callable[..., Any]] = {
    "negative": lambda xp, x: -x,
    "invert": lambda xp, x: ~x,
    "chosen": lambda xp, x: -xp.where(x > 0, x, 2),
    "chosen again": lambda xp, x: ~xp.where(~xp.where(x > 0, x, 2) > 0, x, 2),
    "absolute": lambda xp, x: abs(x) - 3,
    "product": lambda xp, x: x * 77,
    "clipped": lambda xp, x: xp.clip(-x, 1, 5),
    "larger": lambda xp, x: xp.where(~x > x, ~x, x),
    "smaller": lambda xp, x: xp.minimum(-x, x[::-1]),
}
OVER: dict[str, Callable[..., Any]] = {
    "max": lambda xp, x: x.max(),
    "min": lambda xp, x: x.min(),
    "argmax": lambda xp, x: x.argmax(),
    "argmin": lambda xp, x: x.argmin(),
    "ptp": lambda xp, x: xp.ptp(x),
    "accumulate": lambda xp, x: xp.maximum.accumulate(x),
    "rows": lambda xp, x: xp.stack([x, -x]).argmin(axis=1),
    "columns": lambda xp, x: xp.stack([x, -x]).max(axis=0),
    "nothing": lambda xp, x: x,
}
DTYPES = ("i1", "u1", "i2", "u2")


def both(xp: Any, x: Any, before: str, over: str) -> list[Any]:
    """What comes before, what is made of it, and the same once more of the former."""
    with np.errstate(all="ignore"):
        once = BEFORE[before](xp, x)
        again = BEFORE[before](xp, once)
        return [once, OVER[over](xp, once), OVER[over](xp, again), OVER[over](xp, x)]


@functools.cache
def wrong_in(text: str) -> str:
    """What assemblers would get wrong; nothing is assembled, and a text that several programs have is compiled once."""
    return miscompiled(ptx_of(text, "compute_90"), own=True)


def numbers(dtype: str, count: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0 if dtype[0] == "u" else -8, 8, count).astype(dtype)


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype: str, before: str, over: str) -> None:
    with nl.config(unplanned=0):
        for count in (8, 5, 40):
            for seed in range(6):
                host = numbers(dtype, count, seed)
                found = both(nl, nl.asarray(host), before, over)
                nl.evaluate(*found)
                for one, want in zip(found, both(np, host, before, over), strict=True):
                    np.testing.assert_array_equal(one.get(), want, err_msg=f"{host.tolist()}")


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("dtype", DTYPES)
def test_texts_hold_nothing_that_assemblers_get_wrong(dtype: str, over: str) -> None:
    need_nvrtc()
    for before in ("negative", "chosen again", "larger"):
        for count in (8, 300):
            plan, _ = planned(both(nl, nl.asarray(numbers(dtype, count, 0)), before, over))
            for step in plan.steps:
                if step.program is not None:
                    assert not wrong_in(emit(step.program).text)
