"""Products of short vectors and lists of numbers, at once: what the full way gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned

pytestmark = pytest.mark.skipif(
    registry.current().name != "cpu" or config.executor == "reference" or unplanned._unplanned is None,
    reason="done at once on the host alone, and by the compiled core",
)
LAYOUTS: list[Any] = [lambda x: x, lambda x: x[::-1], lambda x: x[::3], lambda x: x[1:]]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c16", "f2"])
def test_dot(dtype: str) -> None:
    random = np.random.default_rng(7)
    for count in (1, 2, 3, 8, 15, 16, 17, 31, 33, 100, 127, 128, 129, 500, 1024, 1025, 3000):
        for layout in LAYOUTS:
            host = (random.standard_normal(count) * 100).astype(dtype)
            if count % 2 and dtype != "i4":
                host[count // 2] = [-0.0, np.inf, np.nan, 1e30][count % 4] if dtype != "f2" else -0.0
            x, y = layout(nl.asarray(host)), layout(nl.asarray(host[::-1].copy()))
            found = [nl.dot(x, y), x @ y, nl.dot(x, x)]
            with nl.config(unplanned=0):
                full = [nl.dot(x, y), x @ y, nl.dot(x, x)]
                for one, wanted in zip(found, full, strict=True):
                    assert (one.dtype, one.shape) == (wanted.dtype, wanted.shape)
                    np.testing.assert_array_equal(one.get(), wanted.get())
                    assert np.signbit(one.real.get()) == np.signbit(wanted.real.get()) or np.isnan(one.get())


def test_zeros_keep_their_sign() -> None:
    for values in ([-0.0], [-0.0, 0.0], [-0.0, -0.0, -0.0]):
        x = nl.asarray(values)
        ones = nl.asarray(np.ones(len(values)))
        found = nl.dot(x, ones)
        with nl.config(unplanned=0):
            assert np.signbit(nl.dot(x, ones).get()) == np.signbit(found.get())
    empty = nl.asarray(np.zeros(0))
    assert not np.signbit(nl.dot(empty, empty).get())


def test_lists_of_numbers() -> None:
    for char in "?bBhHiIlLefdFD":
        host = np.array([0, 1, 5, 1], char)
        x = nl.asarray(host)
        for items in ([x[1], x[2]], (x[1], x[2], x[3]), [[x[1]], [x[2]]], [[x[0], x[1]], [x[2], x[3]]]):
            wanted = np.array([[host[0], host[1]], [host[2], host[3]]]) if len(np.shape(items)) == 2 else None
            for made in (nl.array(items), nl.asarray(items)):
                with nl.config(unplanned=0):
                    full = nl.array(items)
                assert made.dtype == full.dtype == host.dtype and made.shape == full.shape
                assert made.tolist() == full.tolist()
                if wanted is not None and made.shape == wanted.shape:
                    assert made.tolist() == wanted.tolist()
    mixed = nl.array([nl.asarray(1)[()], nl.asarray(2.5)[()], 3])
    assert mixed.dtype == np.float64 and mixed.tolist() == [1, 2.5, 3]
    assert nl.array([nl.asarray(1), nl.asarray([2])[0]]).tolist() == [1, 2]


def test_iterating_sees_what_was_written_meanwhile() -> None:
    x = nl.asarray(np.arange(40))
    seen = []
    for place, value in enumerate(x):
        seen.append(int(value))
        if place + 1 < 40:
            x[place + 1] = 100 + place
    assert seen == [0, *[100 + place for place in range(39)]]
