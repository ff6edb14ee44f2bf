"""Arrays print as NumPy's do; of large ones only the edges are fetched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.convert import asarray

SHAPES = [
    (), (0,), (3,), (2, 3), (2, 0, 3), (1000,), (1001,), (5000,), (40, 50), (3, 2000), (2000, 2), (20, 30, 4),
    (7, 7, 7, 7),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("char", "?bHidefFD")
def test_as_numpy(shape: tuple[int, ...], char: str) -> None:
    host = np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 1234 * 1.5).astype(char)
    mine = asarray(host)
    assert repr(mine) == repr(host)
    assert str(mine) == str(host)
    assert repr(mine.T) == repr(host.T)
    assert nl.array_repr(mine) == np.array_repr(host)
    assert nl.array_str(mine) == np.array_str(host)
    assert nl.array2string(mine, separator=",") == np.array2string(host, separator=",")


@pytest.mark.parametrize("options", [
    {"precision": 3}, {"threshold": 5}, {"edgeitems": 1, "threshold": 10}, {"linewidth": 40}, {"suppress": True},
    {"floatmode": "fixed"}, {"sign": "+"}, {"nanstr": "none"}, {"threshold": 0, "edgeitems": 2},
], ids=str)  # fmt: skip
def test_print_options(options: Any) -> None:
    host = np.arange(60.0).reshape(6, 10) / 7
    host[0, 0] = np.nan
    with np.printoptions(**options):
        assert repr(nl.asarray(host)) == repr(host)
        assert str(nl.asarray(host)) == str(host)


def test_summaries_of_recorded_arrays() -> None:
    x = nl.arange(100_000).reshape(100, 1000)
    y = x * 2
    assert "..." in repr(y) and "shape=(100, 1000)" in repr(y)


def test_format() -> None:
    assert f"{nl.asarray(1.25):.1f}" == f"{1.25:.1f}"
    assert f"{nl.arange(3)}" == "[0 1 2]"
