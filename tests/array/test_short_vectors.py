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


def ours(item):
    return nl.asarray([item, item])[0]


LISTS = {
    "floats": [1, 2.5, -0.0],
    "integers": [3, -4, 2**62],
    "lists": [[1, 2], [3, 4.5]],
    "tuples": ((1, 2), (3, 4)),
    "NumPy's numbers": [np.float64(2.5), 3],
    "NumPy's integers": [np.int64(2), 3],
    "bools": [True, 1],
    "unsigned": [2**63, 1],
    "one": [[1.0]],
    "deep": [[[1.0, 2], [3, 4]]],
    "none": [],
    "no columns": [[], []],
    "numbers that are none": [float("nan"), float("inf"), 1],
    "complex": [1j, 2],
    "many": list(range(1000)),
    "many rows": [[k, 0.5] for k in range(200)],
}


@pytest.mark.parametrize("dtype", [None, "f8", "i8", "f4", "i2", "c16", "?"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_are_what_numpy_makes_of_them(name, dtype):
    items = LISTS[name]
    try:
        expected = np.array(items, dtype)
    except Exception as error:
        with pytest.raises(type(error)):
            nl.array(items, dtype)
        return
    for found in (nl.array(items, dtype), nl.asarray(items, dtype, order="C")):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found.get(), expected)
        np.testing.assert_array_equal(np.signbit(found.get().real), np.signbit(expected.real))
        if found.size:
            found[(0,) * found.ndim] = 1  # memory of its own
            assert found.get().ravel()[0] == 1
    assert items == LISTS[name]


@pytest.mark.parametrize("dtype", [None, "f8", "i8", "f4"])
def test_lists_of_our_numbers(dtype):
    for items in (
        [ours(2.0), 3], [ours(2), 3], [ours(2), 3.5], [[ours(1.0), 1], [0, ours(4)]], [ours(np.float32(1.5)), 2],
        [ours(True), 2], [nl.asarray(2.5), ours(1.0)],
    ):  # fmt: skip
        plain = np.asarray(nl.asarray(items).get()).astype(dtype or nl.asarray(items).dtype)
        found = nl.array(items, dtype)
        assert found.dtype == plain.dtype
        np.testing.assert_array_equal(found.get(), plain)


@pytest.mark.parametrize("items", [[1, 2**70], [1, None], [[1], [2, 3]], [[1, 2], 3], ["a", 1], [1, object()]])
def test_lists_that_are_no_arrays(items):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        nl.array(items)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        nl.array(items, dtype=int)


def test_items_by_one_number():
    x = nl.asarray(np.random.default_rng(0).random((3, 4, 5)))
    for part in (x, x.T, x[:, ::-2], x[1:2]):
        for k in range(-part.size, part.size):
            assert part.item(k) == part.get().item(k)
        for k in (part.size, -part.size - 1):
            with pytest.raises(IndexError):
                part.item(k)
    assert nl.asarray(3.0).item(0) == 3.0
