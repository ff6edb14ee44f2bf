"""The one count of how deep lists are nested."""

from __future__ import annotations

import numpy as np
import pytest

from numloom.base.nesting import DEEPEST, deeper


def test_counts_to_the_most_axes_of_an_array() -> None:
    depth = 0
    for _ in range(DEEPEST):
        depth = deeper(depth)
    assert depth == DEEPEST == 64
    with pytest.raises(ValueError, match="nested deeper than that, or one holds itself"):
        deeper(depth)


def test_says_what_numpy_says() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError) as numpys:
        np.array(endless)
    with pytest.raises(ValueError) as ours:
        deeper(DEEPEST)
    assert str(ours.value).startswith(str(numpys.value).rstrip("."))
