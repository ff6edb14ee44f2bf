"""Blocks of memory that are stored at once, and what must not be: values that are not there yet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.storage import pin, unpin
from numloom.base.config import config
from numloom.testing import assert_bits_equal

SOURCES: dict[str, Any] = {
    "computed": lambda xp, x: x * 1,
    "of another dtype": lambda xp, x: x.astype("f4"),
    "whole numbers": lambda xp, x: xp.arange(len(x)),
    "filled": lambda xp, x: xp.full(len(x), 2.5),
    "joined": lambda xp, x: xp.concatenate((x[:2], x[1:-1])),
    "backwards": lambda xp, x: x[::-1],
    "one": lambda xp, x: x[1:2] + 1,
    "a total": lambda xp, x: x.sum(keepdims=True),
}


@pytest.mark.parametrize("pending", [True, False])
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("pinned", [False, True])
def test_what_is_stored_is_there_whatever_it_waits_for(name: str, pending: bool, pinned: bool) -> None:
    """Values that are written to a part, computed by then or not, of memory that others see or not."""
    for count in (6, 300):
        host, given = np.zeros((3, count)), np.arange(float(count)) + 1
        mine, ours = nl.asarray(host), nl.asarray(given.copy())
        if pinned:
            pin(ours.storage)
        kept = mine[1:].copy()
        for turn in range(2):
            for lib, to, x in ((np, host, given), (nl, mine, ours)):
                with config(unplanned=0 if pending else config.unplanned):
                    line, half = SOURCES[name](lib, x), SOURCES[name](lib, x[: (count + 1) // 2])
                to[turn] = line
                to[2, ::2] = half
                x += 1
        assert_bits_equal(mine, host)
        assert not kept.get().any()
        if pinned:
            unpin(ours.storage)
