"""Errors that are found only when recorded work runs name the line that recorded it."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl


def test_an_index_out_of_range_names_its_line() -> None:
    x = nl.arange(5.0)
    index = nl.asarray(np.array([1, 9]))
    picked = x[index] + 1  # This is the line.
    with pytest.raises(IndexError) as caught:
        picked.get()
    if nl.config.executor == "fused":
        line = test_an_index_out_of_range_names_its_line.__code__.co_firstlineno + 3
        assert f"{__file__}:{line}" in str(caught.value)


def test_the_library_goes_on_after_an_error() -> None:
    x = nl.arange(5.0)
    with pytest.raises(IndexError):
        x[nl.asarray(np.array([7]))].get()
    assert (x[nl.asarray(np.array([-1]))]).get().tolist() == [4.0]


def test_reading_one_number_is_a_look() -> None:
    x = nl.arange(5.0)
    for look in (lambda y: float(y[0]), lambda y: y.item(1), lambda y: float(y.sum()), lambda y: y.tolist()):
        with pytest.raises(IndexError):
            picked = x[nl.asarray(np.array([1, 9]))]
            nl.evaluate(picked)
            look(picked)
        assert x.item(4) == 4.0
