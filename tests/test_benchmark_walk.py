"""The walk's calls give NumPy's results under numloom; its report holds together."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.walk import CALLS, DTYPES, SHAPES, Line, measured, summary, table, values

import numloom as nl

INDEX = np.array([3, 0, 7, 7, 1, 2, 6, 5])


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_numpys(name: str) -> None:
    call = CALLS[name]
    for char in DTYPES:
        for order in "CF":
            host = values((8, 8), char, order)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = call(np, host, INDEX)
                except TypeError:
                    assert measured(name, char, order, "square", 8, 0) is None
                    continue
            found = call(nl, nl.asarray(host), nl.asarray(INDEX))
            assert found.dtype == expected.dtype, char
            assert found.shape == expected.shape, char
            places = nl.asnumpy(found)
            if name.startswith("argsort"):  # NumPy's own order of equal elements is another one on each processor.
                places, expected = (np.take_along_axis(host, order, 1) for order in (places, expected))
            np.testing.assert_allclose(places, expected, rtol=1e-3 if char in "hfF?B" else 1e-9)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_line(kind: str) -> None:
    found = measured("a + 1", "d", "F", kind, 8, 0.001)
    assert found is not None
    assert found.shape == {"square": (8, 8), "deep": (1, 8, 8), "points": (21, 3)}[kind]
    assert found.ours > 0
    assert found.numpy > 0


def test_the_report() -> None:
    lines = [Line("a + 1", "d", "C", (64, 64), 64, 1.0, 2.0), Line("a * a", "d", "C", (64, 64), 64, 8.0, 1.0)]
    assert summary(lines) == "2 lines, geometric mean 2.00; 1 above 1.2, 1 above 2, 1 above 5"
    assert table(lines, 1).row_count == 1
    assert [str(cell) for cell in table(lines, 1).columns[0].cells] == ["a * a"]
