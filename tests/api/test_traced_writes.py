"""Writes at lists and arrays that are replayed do what they did the first time, whatever changes between them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api.calling import replayed
from numloom.device import registry

WRITES = {
    "lines": "x[i] = y",
    "one number": "x[i] = 2",
    "another number": "x[i] = t",
    "a float": "x[i] = 1.5",
    "lines of itself": "x[i] = x[j]",
    "its own front": "x[i] = x[:4]",
    "what is pending": "x[i] = y * 2 + 1",
    "what it leads to": "x[i] = (x + x)[j]",
    "columns": "x[:, i] = z",
    "columns by an ellipsis": "x[..., i] = 1",
    "at a list": "x[[0, 2, 0, -1]] = y",
    "at lists": "x[[0, 1], [1, 0]] = 3",
    "places": "x[i, j] = y[0, 0]",
    "a line's places": "x[1, i] = y[:, 0]",
    "a part": "x[1:][i % 3] = y",
    "backwards": "x[::-1, 1:][i] = y[:, 1:]",
    "turned": "x.T[i] = y",
    "added": "x[i] += 1",
    "a number by a mask": "x[m] = 3",
    "a number by its own mask": "x[x > 1] = 0",
    "lines by a mask": "x[k] = y[0]",
    "values by a mask": "x[m] = x[m]",
    "add": "xp.add.at(x, i, 1)",
    "add lines": "xp.add.at(x, i, y)",
    "largest": "xp.maximum.at(x, (i, j), y[0, 0])",
    "negative": "xp.negative.at(x, [0, 1, 0])",
    "put": "xp.put(x, i, y[0])",
    "put around": "xp.put(x, i + 40, 1, mode='wrap')",
    "put along an axis": "xp.put_along_axis(x, p, 2, 1)",
    "put along an axis of itself": "xp.put_along_axis(x, p, x[:, :1], axis=1)",
}
LAYOUTS: dict[str, Any] = {
    "C": lambda x: x,
    "F": lambda x: x.T.copy("C").T,
    "of more": lambda x: (x.repeat(2, 1).copy())[:, ::2],
    "pending": lambda x: x + x,
}


def whole(shape: tuple[int, ...], dtype: Any, start: int) -> np.ndarray[Any, Any]:
    return ((np.arange(np.prod(shape)) * 7 + start) % 4).reshape(shape).astype(dtype)


def operands(dtype: Any, start: int) -> dict[str, Any]:
    return {
        "x": whole((4, 4), dtype, start), "y": whole((4, 4), dtype, start + 1), "z": whole((4, 1), dtype, start + 2),
        "i": np.array([2, 0, -1, start % 3]), "j": np.array([start % 2, 1, 2, 0]), "t": start,
        "m": whole((4, 4), "?", start), "k": np.array([True, start % 2 == 0, False, True]),
        "p": whole((4, 2), "i8", start),
    }  # fmt: skip


def agree(write: str, layout: str, dtype: Any, start: int) -> None:
    made = operands(dtype, start)
    ours = {name: nl.asarray(x) if isinstance(x, np.ndarray) else x for name, x in made.items()}
    theirs, ours = ({**given, "x": LAYOUTS[layout](given["x"]), "xp": xp} for given, xp in ((made, np), (ours, nl)))
    # A view sees what is written; what was read before, and copies, do not.
    others = [(given["x"][1:3], given["x"] * 1, given["x"].copy()) for given in (theirs, ours)]
    exec(write, theirs)
    exec(write, ours)
    np.testing.assert_array_equal(ours["x"].get(), theirs["x"], err_msg=f"{write} {layout} {dtype}")
    for expected, got in zip(*others, strict=True):
        np.testing.assert_array_equal(got.get(), expected)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_again(write: str) -> None:
    """Each form is met four times, others in between."""
    for turn, layout, dtype in itertools.product(range(4), LAYOUTS, "ifF" if ">" not in write else "id"):
        if dtype == "F" and "maximum" in write:
            continue
        agree(write, layout, dtype, turn)


def test_writes_to_parts_and_the_whole_are_told_apart() -> None:
    for turn in range(5):
        for part in (np.s_[:], np.s_[1:4], np.s_[2:5], np.s_[::2]):
            host, x = np.zeros(6), nl.zeros(6)
            index = np.array([0, 2, turn % 2])
            host[part][index] = turn
            x[part][nl.asarray(index)] = turn
            np.testing.assert_array_equal(x.get(), host)


def test_numbers_of_different_kinds_are_told_apart() -> None:
    for _ in range(4):
        for number in (1, 1.0, True, -0.0, 0.0, 1.5, float("nan"), 2**31, np.float32(2.5)):
            host, x = np.zeros(4), nl.zeros(4)
            host[np.array([1, 2])] = number
            x[nl.asarray(np.array([1, 2]))] = number
            np.testing.assert_array_equal(x.get(), host)
            np.testing.assert_array_equal(np.signbit(x.get()), np.signbit(host))


def test_an_index_out_of_bounds_is_found_each_time() -> None:
    x, y = nl.asarray(np.zeros(3)), nl.ones(2)

    def written(last: int) -> Any:
        x[nl.asarray(np.array([0, last]))] = y
        return x.get()

    for turn in range(6):
        if turn % 2:
            with pytest.raises(IndexError, match="out of bounds"):
                written(3)
        else:
            np.testing.assert_array_equal(written(2), [1, 0, 1])
    for _ in range(4):
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            x[[0, 3]] = y


def test_shapes_that_do_not_fit_are_found_each_time() -> None:
    for _ in range(4):
        with pytest.raises(ValueError, match="shape mismatch"):
            nl.zeros(4)[nl.asarray(np.array([1, 2]))] = nl.ones(3)


def test_exported_memory_changes_where_it_lies() -> None:
    x, i = nl.zeros(5), nl.asarray(np.array([3, 1]))
    for turn in range(4):
        x[i] = turn
    seen = np.from_dlpack(x) if registry.current().name == "cpu" else None
    address = x.__array_interface__["data"][0] if hasattr(x, "__array_interface__") else None
    for turn in range(4):
        x[i] = 10.0 + turn
        if seen is not None:
            nl.evaluate(x)
            np.testing.assert_array_equal(seen, [0, 10 + turn, 0, 10 + turn, 0])
    assert address is None or x.__array_interface__["data"][0] == address
    np.testing.assert_array_equal(x.get(), [0, 13, 0, 13, 0])


def test_read_only_arrays_are_never_written() -> None:
    x, i = nl.zeros(5), nl.asarray(np.array([3, 1]))
    for _ in range(4):
        x[i] = 1
    x.flags.writeable = False
    for write in (lambda: x.__setitem__(i, 1), lambda: nl.put(x, i, 1), lambda: nl.add.at(x, i, 1)):
        with pytest.raises(ValueError, match="read-only"):
            write()


def test_at_once_when_eager() -> None:
    i = nl.asarray(np.array([0, 2]))
    for eager in (False, True, False, True):
        with nl.config(eager=eager):
            for _ in range(4):
                x = nl.zeros(3)
                x[i] = 2
                x[nl.asarray(np.array([False, True, False]))] = 3
                np.testing.assert_array_equal(x.get(), [2, 3, 2])


def test_settings_and_devices_change_between_calls() -> None:
    host, places, mask = np.arange(12.0), np.array([3, -1, 3, 0]), np.arange(12) % 3 == 0
    for turn in range(3):
        for settings in ({}, {"eager": True}, {"executor": "reference"}, {"max_pending": 1}, {"fast_math": True}):
            with nl.config(**settings):
                x, expected = nl.asarray(host) + turn, host + turn
                x[nl.asarray(places)] = 2.5
                nl.add.at(x, nl.asarray(places), x[:4] * 2)
                x[nl.asarray(mask)] = turn
                expected[places] = 2.5
                np.add.at(expected, places, expected[:4] * 2)
                expected[mask] = turn
                np.testing.assert_array_equal(x.get(), expected)
                np.testing.assert_array_equal(x[[1, 5, -1]].get(), expected[[1, 5, -1]])
        with registry.use("null"):
            x = nl.asarray(host) + turn
            x[nl.asarray(places)] = 2.5
            x[[1, 2]] = 1
            nl.add.at(x, nl.asarray(places), 1.0)
            nl.evaluate(x)


def test_what_looks_at_values_is_not_recalled() -> None:
    calls = []

    @replayed(in_place=True)
    def doubled(target: Any, other: Any) -> None:
        calls.append(other)
        target[:] = float(other[0]) * 2

    for turn in range(5):
        x = nl.asarray(np.zeros(3))
        doubled(x, nl.full(3, float(turn)) + 0)
        np.testing.assert_array_equal(x.get(), [2.0 * turn] * 3)
    assert len(calls) == 5


def test_what_follows_is_recalled() -> None:
    calls = []

    @replayed(in_place=True)
    def moved(target: Any, other: Any, *, by: int) -> None:
        calls.append(by)
        target[nl.asarray(np.array([0, 2]))] = other[by : by + 2]

    for turn in range(6):
        x = nl.asarray(np.zeros(3))
        moved(x, nl.arange(4) + turn, by=2)
        np.testing.assert_array_equal(x.get(), [2 + turn, 0, 3 + turn])
    assert len(calls) == 2


def test_the_array_that_is_written_to_may_be_named() -> None:
    for xp in (nl, np):
        for turn in range(4):
            x, table = xp.asarray(np.zeros(4)), xp.asarray(np.zeros((2, 3)))
            xp.put(a=x, ind=[1, 3], v=[2.0, float(turn)])
            assert x.tolist() == [0, 2, 0, turn]
            xp.put_along_axis(arr=table, indices=xp.asarray([[0], [2]]), values=1.0 + turn, axis=1)
            assert table.tolist() == [[1 + turn, 0, 0], [0, 0, 1 + turn]]
