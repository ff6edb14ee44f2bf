"""One element as a Python number: always what NumPy has at that moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import for_all_dtypes


@for_all_dtypes()
def test_elements_follow_writes(dtype: np.dtype[Any]) -> None:
    host = (np.arange(12) * 7 % 5).astype(dtype).reshape(3, 4)
    x = nl.asarray(host)
    for row, column in ((0, 0), (2, 3), (-1, 1)):
        assert x[row, column].item() == host[row, column].item()
        host[row, column] = host[1, 2]
        x[row, column] = x[1, 2]
        assert x[row, column].item() == host[row, column].item()
        host[:, 1:][row] = host[0, 0]
        x[:, 1:][row] = x[0, 0]
        assert [v.item() for v in x[row]] == host[row].tolist()
    assert x.T[::-1][1, 2].item() == host.T[::-1][1, 2].item()


def test_an_element_taken_before_a_write_stays() -> None:
    x = nl.arange(5.0)
    nl.evaluate(x)
    before = x[2]
    x[2] = 7
    after = x[2]
    assert (float(before), float(after), float(x[2])) == (2.0, 7.0, 7.0)
    x *= 2
    assert (float(before), float(after), float(x[2])) == (2.0, 7.0, 14.0)


def test_elements_of_what_is_pending() -> None:
    x = nl.arange(4.0)
    y = x * 2 + 1
    assert float(y[3]) == 7 and int(y[0]) == 1 and bool(y[1])
    total = (y * y).sum()
    assert float(total) == float(total) == 84
    y += 1
    assert float(y[3]) == 8 and float(total) == 84


def test_parts_and_other_dtypes_of_an_element() -> None:
    z = nl.asarray(np.array([1 + 2j, 3 - 4j]))
    nl.evaluate(z)
    assert (complex(z[1]), float(z.real[1]), float(z.imag[1])) == (3 - 4j, 3.0, -4.0)
    z.imag[1] = 9
    assert complex(z[1]) == 3 + 9j
    bits = nl.asarray(np.array([1.5, -2.5])).view(np.int64)
    assert int(bits[1]) == np.array([-2.5]).view(np.int64)[0]


def test_exported_memory_is_read_anew() -> None:
    x = nl.arange(3.0)
    assert float(x[1]) == 1
    if x.device != "cpu":
        pytest.skip("the memory of the device is not the host's")
    shared = np.from_dlpack(x)
    shared[1] = 5
    assert float(x[1]) == 5
    shared[1] = 6
    assert float(x[1]) == 6
    x[1] = 7
    assert shared[1] == 7 and float(x[1]) == 7


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_what_is_no_single_number(shape: tuple[int, ...]) -> None:
    value = nl.asarray(np.full(shape, 3.0))
    assert float(value.reshape(())) == float(value.item())
    with pytest.raises(TypeError, match="only 0-dimensional"):
        float(nl.arange(2))
    with pytest.raises(TypeError, match="only 0-dimensional"):
        float(nl.arange(0))


def test_negative_zeros_stay() -> None:
    for dtype in ("f2", "f4", "f8", "c8", "c16"):
        host = np.array([-0.0, 1, -0.0], dtype)
        if host.dtype.kind == "c":
            host = host.conj()
        x = nl.asarray(host)
        nl.evaluate(x)
        x[1] = x[0]
        host[1] = host[0]
        for ours, theirs in ((x, host), (x[:1] + x[2], host[:1] + host[2]), (x[0], host[0])):
            assert str(ours.get()) == str(np.asarray(theirs)), dtype
        assert str(x.item(1)) == str(host.item(1))


def test_an_element_seen_as_another_dtype_that_is_yet_to_be_converted() -> None:
    for pending in (512, 4, 3):
        with nl.config(max_pending=pending, cpu_compile="never", eager=False):
            x = nl.asarray(np.array(5, "u4"))
            nl.evaluate(x)
            seen = x.view("f4")
            flat = seen.ravel()
            x[...] = flat
            assert seen.item() == 0.0 == float(seen.get())
            x[...] = nl.asarray(np.array([2.5], "f4"))[0]
            assert int(seen.get().view("u4")) == 2 and seen.item() == float(np.array(2, "u4").view("f4"))


def test_elements_at_our_integers():
    """An integer that an array gave leads where Python's would; a 0-d array and a bool are index arrays."""
    x, host = nl.asarray(np.arange(12.0)), np.arange(12.0)
    for dtype in ("i8", "u8", "i4", "u1", "i1"):
        places = nl.asarray(np.array([3, 0, 11, 7], dtype))
        for place in places:
            assert float(x[place]) == host[int(place)] and type(x[place]) is nl.ndarray
            x[place] += 1
            host[int(place)] += 1
            x[place] = x[place] * 2
            host[int(place)] *= 2
    np.testing.assert_array_equal(x.get(), host)
    minus = nl.asarray([-1, -12])
    assert [float(x[k]) for k in minus] == [host[-1], host[-12]]
    for beyond in nl.asarray([12, -13]):
        with pytest.raises(IndexError):
            x[beyond]
        with pytest.raises(IndexError):
            x[beyond] = 1.0
    with pytest.raises(IndexError):
        x[nl.asarray([1.0])[0]]
    assert x[nl.asarray([True])[0]].shape == (1, 12) and x[nl.asarray(3)].shape == ()
    matrix = nl.asarray(np.arange(6.0).reshape(2, 3))
    row = matrix[nl.asarray([1])[0]]
    row[0] = 50  # a view
    assert float(matrix[1, 0]) == 50
    copy = matrix[nl.asarray(1)]  # a 0-d array is an index array
    copy[0] = 60
    assert float(matrix[1, 0]) == 50
    matrix[nl.asarray([0])[0]] = 7
    np.testing.assert_array_equal(matrix.get(), [[7, 7, 7], [50, 4, 5]])
    changed = nl.asarray([1, 2])
    at, changed[0] = changed[0], 5
    assert float(x[at]) == host[1]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_elements_at_numpys_integers(kind: Any) -> None:
    host = np.arange(24.0).reshape(4, 6)
    for make in (lambda: nl.asarray(host), lambda: nl.asarray(host)[::-1], lambda: nl.asarray(host) + 1):
        ours, expected = make(), nl.asnumpy(make())
        places: list[Any] = [
            (kind(2), kind(3)),
            (kind(1), 4),
            (0, kind(5)),
            kind(3),
            (slice(1, 3), kind(0)),
            (None, kind(1)),
        ]
        if np.dtype(kind).kind == "i":
            places += [(kind(-1), kind(-6)), kind(-4), (..., kind(-2))]
        for place in places:
            np.testing.assert_array_equal(nl.asnumpy(ours[place]), expected[place])
            ours[place] = 50
            expected[place] = 50
            np.testing.assert_array_equal(nl.asnumpy(ours), expected)
            ours[place] += 1
            expected[place] += 1
        np.testing.assert_array_equal(nl.asnumpy(ours), expected)
    vector = nl.arange(5)
    for beyond in (kind(5), kind(100)):
        with pytest.raises(IndexError, match="out of bounds"):
            vector[beyond]
        with pytest.raises(IndexError, match="out of bounds"):
            vector[beyond] = 1
    mask = np.bool_(True)
    assert vector[mask].shape == np.arange(5)[mask].shape
