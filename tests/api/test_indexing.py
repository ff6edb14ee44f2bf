"""Reading and writing through index arrays and masks, and NumPy's functions that choose elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import matches_numpy

MASK = np.arange(12).reshape(3, 4) % 3 == 0

INDICES = {
    "list": ([0, 2],),
    "repeated": ([2, 0, 2, 2],),
    "negative": ([-1, -3],),
    "array": (np.array([[0, 1], [2, 0]]),),
    "empty list": ([],),
    "empty array": (np.zeros((2, 0), int),),
    "0-d": (np.array(1),),
    "numpy integer": (np.int8(1),),
    "pair": ([0, 2], [1, 3]),
    "pair broadcast": (np.array([[0], [2]]), np.array([1, 3])),
    "with slice": (slice(None), [3, 0]),
    "slice last": ([2, 0], slice(1, 3)),
    "with step": (slice(None, None, -1), [1, 1]),
    "with integer": (1, [2, 0]),
    "integer behind": ([2, 0], -1),
    "with newaxis": (None, [0, 2]),
    "newaxis between": ([0, 2], None, [1, 1]),
    "ellipsis": (..., [1, 2]),
    "ellipsis first": ([1, 2], ...),
    "mask": (MASK,),
    "row mask": (np.array([True, False, True]),),
    "column mask": (slice(None), np.array([True, False, True, False])),
    "mask list": ([True, False, True],),
    "mask behind ellipsis": (..., np.array([True, False, True, False])),
    "mask and integers": (np.array([True, False, True]), [1, 2]),
    "mask and integer": (np.array([True, False, True]), 1),
    "no mask": (np.zeros((3, 4), bool),),
    "true": (True,),
    "false": (False,),
    "0-d mask": (np.array(True),),
    "uint": (np.array([1, 0], "u1"),),
    "out of bounds": ([0, 3],),
    "far negative": ([-4],),
    "mask too long": (np.ones(4, bool),),
    "mask wrong": (np.ones((3, 3), bool),),
    "float": (np.array([0.0, 1]),),
    "float list": ([0.5],),
    "text": ("a",),
    "no broadcast": ([0, 1], [0, 1, 2]),
    "too many": ([0], [0], [0]),
    "mask too many": (np.ones((3, 4, 1), bool),),
}


def key_of(case: str, on_device: bool = False) -> Any:
    key = tuple(nl.asarray(k) if on_device and isinstance(k, np.ndarray) else k for k in INDICES[case])
    return key[0] if len(key) == 1 else key


@pytest.mark.parametrize("case", INDICES)
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_read(case: str, on_device: bool) -> None:
    @matches_numpy
    def check(xp: Any) -> Any:
        x = xp.arange(12).reshape(3, 4)
        key = key_of(case, on_device and xp is nl)
        return x[key], x.T.copy().T[key], (x * 2)[key]

    check()


VALUES = {
    "number": lambda xp, shape: 7,
    "float": lambda xp, shape: 2.9,
    "0-d": lambda xp, shape: xp.asarray(-3),
    "array": lambda xp, shape: xp.arange(100, 100 + int(np.prod(shape))).reshape(shape),
    "row": lambda xp, shape: xp.arange(50, 50 + shape[-1]) if shape else 5,
    "other dtype": lambda xp, shape: xp.full(shape, 3.7, "f4"),
    "list": lambda xp, shape: np.full(shape, 8).tolist(),
    "one": lambda xp, shape: [6],
    "wrong": lambda xp, shape: xp.zeros(17),
}


@pytest.mark.parametrize("case", INDICES)
@pytest.mark.parametrize("value", VALUES)
def test_write(case: str, value: str) -> None:
    try:
        shape = np.arange(12).reshape(3, 4)[key_of(case)].shape
    except IndexError:
        if value == "wrong":
            pytest.skip("which of two mistakes is told first is not promised")
        shape = (1,)

    @matches_numpy
    def check(xp: Any) -> Any:
        x = xp.arange(12).reshape(3, 4)
        y = xp.zeros((4, 3)).T
        before = x + 0
        for target in (x, y):
            target[key_of(case, on_device=xp is nl)] = VALUES[value](xp, shape)
        return x, y, before

    check()


@matches_numpy
def test_in_place_operators_at_indices(xp: Any) -> Any:
    x = xp.arange(12.0).reshape(3, 4)
    x[[0, 2]] += 10
    x[x > 12] *= 2
    x[:, [0, 0]] += 1
    x[1, [0, 3]] -= 5
    v = x[::2, ::-1]
    v[[0], [1]] = 99
    v[v < 3] = -1
    return x, v


@matches_numpy
def test_three_axes(xp: Any) -> Any:
    x = xp.arange(60).reshape(3, 4, 5)
    a, b = xp.asarray([0, 2]), xp.asarray([1, 3])
    m = xp.asarray(np.arange(20).reshape(4, 5) % 4 == 1)
    results = [
        x[:, a, b], x[a, :, b], x[a, b], x[..., a], x[a, ..., b], x[0, :, b], x[:, a, 0], x[a, 0, b],
        x[:, a[:, None], b], x[:, m], x[m[:3, 0]], x[0, m], x[m[:3, 0], :, 1], x[None, :, a, b],
    ]  # fmt: skip
    y = x.copy()
    y[:, m] = 0
    y[m[:3, 0], 1:3] = -1
    y[a, :, b] = xp.arange(8).reshape(2, 4)
    y[1, m] = xp.arange(5)
    return [*results, y]


def test_of_repeated_indices_the_last_wins() -> None:
    x = nl.zeros(4, "i8")
    x[nl.asarray([1, 2, 1, 1])] = nl.asarray([5, 6, 7, 8])
    assert x.tolist() == [0, 8, 6, 0]
    y = nl.zeros((2, 3))
    y[[0, 0], :2] = nl.asarray([[1, 2], [3, 4]])
    assert y.tolist() == [[3, 4, 0], [0, 0, 0]]


def test_index_of_the_device_out_of_bounds_is_found_when_looked_at() -> None:
    x = nl.arange(5)
    with pytest.raises(IndexError):
        x[nl.asarray([1, 7])].get()
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_a_full_index_gives_a_scalar_with_a_life_of_its_own() -> None:
    x = nl.arange(4)
    x[0], x[1] = x[1], x[0]
    assert x.tolist() == [1, 0, 2, 3]
    t = s = x[3]
    s += 1
    assert (int(t), int(s), x[3].item()) == (3, 4, 3)
    assert x[nl.asarray(2)].is_scalar


CASES = {
    "take": lambda xp: xp.take(xp.arange(12).reshape(3, 4), [0, 5, -1]),
    "take axis": lambda xp: xp.take(xp.arange(12).reshape(3, 4), xp.asarray([[0, 1], [2, 2]]), axis=0),
    "take one": lambda xp: xp.take(xp.arange(12).reshape(3, 4), 2, axis=1),
    "take wrap": lambda xp: xp.take(xp.arange(5), [7, -8], mode="wrap"),
    "take clip": lambda xp: xp.take(xp.arange(5), [7, -8], mode="clip"),
    "take bad mode": lambda xp: xp.take(xp.arange(5), [7, -8], mode="no"),
    "take out": lambda xp: xp.take(xp.arange(5), [3, 1], out=xp.zeros(2, "i8")),
    "take bounds": lambda xp: xp.take(xp.arange(5), [5]),
    "take float": lambda xp: xp.take(xp.arange(5), [0.5]),
    "take of nothing": lambda xp: xp.take(xp.zeros(0), [0]),
    "take method": lambda xp: xp.arange(12).reshape(3, 4).take([1, 2], 1),
    "compress": lambda xp: xp.compress([False, True, True], xp.arange(12).reshape(3, 4), axis=0),
    "compress flat": lambda xp: xp.compress([0, 1, 0, 1], xp.arange(12).reshape(3, 4)),
    "compress method": lambda xp: xp.arange(4).compress([True, False, True]),
    "extract": lambda xp: xp.extract(xp.arange(6).reshape(2, 3) % 2 == 0, xp.arange(6).reshape(2, 3)),
    "choose": lambda xp: xp.choose(xp.asarray([2, 0, 1]), [xp.arange(3), xp.arange(3) + 10, 5.5]),
    "choose broadcast": lambda xp: xp.choose(xp.asarray([[1], [0]]), [xp.arange(3), -1]),
    "choose wrap": lambda xp: xp.choose(xp.asarray([4, -1]), [1, 2, 3], mode="wrap"),
    "choose clip": lambda xp: xp.choose(xp.asarray([4, -1]), [1, 2, 3], mode="clip"),
    "choose bounds": lambda xp: xp.choose(xp.asarray([4, -1]), [1, 2, 3]),
    "select": lambda xp: xp.select([xp.arange(6) < 2, xp.arange(6) > 4], [xp.arange(6), xp.arange(6) ** 2], 42),
    "take_along_axis": lambda xp: xp.take_along_axis(xp.asarray([[3, 1], [2, 9]]), xp.asarray([[1, 0], [0, 0]]), 1),
    "take_along none": lambda xp: xp.take_along_axis(xp.asarray([[3, 1], [2, 9]]), xp.asarray([3, 0]), None),
    "take_along bad": lambda xp: xp.take_along_axis(xp.ones((2, 2)), xp.asarray([0]), 1),
    "diagonal": lambda xp: xp.diagonal(xp.arange(12).reshape(3, 4), 1),
    "diagonal axes": lambda xp: xp.arange(24).reshape(2, 3, 4).diagonal(-1, 2, 1),
    "nonzero": lambda xp: xp.nonzero(xp.asarray([[0, 3], [4, 0]])),
    "argwhere": lambda xp: xp.argwhere(xp.asarray([[0, 3], [4, 0]])),
    "flatnonzero": lambda xp: xp.flatnonzero(xp.asarray([[0, 3], [4, 0]])),
    "ix_": lambda xp: xp.ix_([0, 2], xp.asarray([True, False, True])),
    "unravel": lambda xp: xp.unravel_index(xp.asarray([5, 11]), (3, 4)),
    "unravel F": lambda xp: xp.unravel_index(7, (3, 4), order="F"),
    "unravel bounds": lambda xp: xp.unravel_index(12, (3, 4)),
    "ravel_multi": lambda xp: xp.ravel_multi_index((xp.asarray([1, 2]), [3, 0]), (3, 4)),
    "ravel_multi bounds": lambda xp: xp.ravel_multi_index(([1, 3], [3, 0]), (3, 4)),
    "ravel_multi clip": lambda xp: xp.ravel_multi_index(([1, 3], [3, 0]), (3, 4), mode="clip"),
    "ravel_multi modes": lambda xp: xp.ravel_multi_index(
        (xp.asarray([3, 6, -1]), xp.asarray([4, 5, 1], "u1")), (4, 4), mode=("clip", "wrap"), order="F"
    ),
    "ravel_multi device bounds": lambda xp: xp.ravel_multi_index((xp.asarray([1, 3]), xp.asarray([3, 0])), (3, 4)),
    "ravel_multi broadcast": lambda xp: xp.ravel_multi_index((xp.asarray([[1], [2]]), xp.asarray([0, 1])), (3, 4)),
    "ravel_multi float": lambda xp: xp.ravel_multi_index((xp.asarray([1.0]), xp.asarray([3])), (3, 4)),
    "ravel_multi count": lambda xp: xp.ravel_multi_index((xp.asarray([1]),), (3, 4)),
    "ravel_multi order": lambda xp: xp.ravel_multi_index((xp.asarray([1]), xp.asarray([1])), (3, 4), order="Z"),
    "unravel 2-d F": lambda xp: xp.unravel_index(xp.asarray([[5, 11], [0, 3]]), (3, 2, 2), order="F"),
    "unravel device bounds": lambda xp: xp.unravel_index(xp.asarray([5, 12]), (3, 4)),
    "unravel negative": lambda xp: xp.unravel_index(xp.asarray([-1]), (3, 4)),
    "unravel float": lambda xp: xp.unravel_index(xp.asarray([1.0]), (3, 4)),
    "take out cast": lambda xp: xp.take(xp.arange(5.5), [3, 1], out=xp.zeros(2, "i8")),
    "take_along bad shapes": lambda xp: xp.take_along_axis(xp.ones((3, 2)), xp.asarray([[0], [1]]), 1),
    "bincount": lambda xp: xp.bincount(xp.asarray([0, 3, 3]), xp.asarray([0.5, 1, 2]), minlength=6),
    "bincount words": lambda xp: xp.bincount(xp.asarray([0, 3], "u8")),
    "bincount nothing": lambda xp: xp.bincount([], []),
    "diag_indices": lambda xp: xp.diag_indices(3, 2),
    "diag_indices_from": lambda xp: xp.diag_indices_from(xp.ones((2, 2, 2))),
    "tril_indices": lambda xp: xp.tril_indices(3, 1, 4),
    "triu_indices_from": lambda xp: xp.triu_indices_from(xp.ones((3, 2))),
}


@pytest.mark.parametrize("case", CASES)
def test_functions(case: str) -> None:
    matches_numpy(lambda xp: CASES[case](xp))()


def changed(change: Any, make: Any) -> Any:
    def run(xp: Any) -> Any:
        x = make(xp)
        change(xp, x)
        return x

    return run


WRITES = {
    "put": lambda xp, x: xp.put(x, [0, -1, 5], [10, 20, 30]),
    "put repeated": lambda xp, x: xp.put(x, [0, 1, 2], [10, 20]),
    "put wrap": lambda xp, x: xp.put(x, [13, -14], 7, mode="wrap"),
    "put clip": lambda xp, x: x.put([100], -5, mode="clip"),
    "put bounds": lambda xp, x: xp.put(x, [100], -5),
    "put far back": lambda xp, x: xp.put(x, xp.asarray([-13]), -5),
    "put of the device": lambda xp, x: xp.put(x, xp.asarray([[1, 1], [-2, 1]]), xp.asarray([7, 8])),
    "place size": lambda xp, x: xp.place(x, [True], 9),
    "flat mask": lambda xp, x: x.flat.__setitem__(x.flat > 5, [1, 2]),
    "put nothing": lambda xp, x: xp.put(x, [], -5),
    "place": lambda xp, x: xp.place(x, x > 5, [1, 2, 3]),
    "place nothing": lambda xp, x: xp.place(x, x > 5, []),
    "putmask": lambda xp, x: xp.putmask(x, x > 5, x**2),
    "putmask repeated": lambda xp, x: xp.putmask(x, x % 2 == 0, [-1, -2, -3]),
    "putmask number": lambda xp, x: xp.putmask(x, x % 2 == 0, 9),
    "putmask size": lambda xp, x: xp.putmask(x, [True], 9),
    "put_along_axis": lambda xp, x: xp.put_along_axis(x, xp.asarray([[1], [0], [3]]), 99, axis=1),
    "put_along array": lambda xp, x: xp.put_along_axis(x, xp.asarray([[1, 2, 0, 2]]), xp.asarray([[7, 8, 9, 6]]), 0),
    "fill_diagonal": lambda xp, x: xp.fill_diagonal(x, 7),
    "fill_diagonal values": lambda xp, x: xp.fill_diagonal(x, [1, 2]),
    "fill_diagonal tall": lambda xp, x: xp.fill_diagonal(x.T, 5),
    "flat all": lambda xp, x: setattr(x, "flat", [1, 2, 3, 4, 5]),
    "flat one": lambda xp, x: x.flat.__setitem__(5, -1),
    "flat slice": lambda xp, x: x.flat.__setitem__(slice(1, 9, 2), [7, 8]),
    "flat list": lambda xp, x: x.flat.__setitem__([0, 11], 3),
    "flat bounds": lambda xp, x: x.flat.__setitem__(12, 3),
}


@pytest.mark.parametrize("case", WRITES)
def test_writes(case: str) -> None:
    for make in (
        lambda xp: xp.arange(12).reshape(3, 4),
        lambda xp: xp.arange(12.0).reshape(4, 3).T,
        lambda xp: xp.arange(48, dtype="i4").reshape(6, 8)[::2, ::-2],
    ):
        matches_numpy(lambda xp, make=make: changed(WRITES[case], make)(xp))()


def test_put_along_the_flattened_array() -> None:
    x = nl.arange(6).reshape(3, 2).T
    nl.put_along_axis(x, nl.asarray([1, 2]), 50, axis=None)
    assert x.tolist() == [[0, 50, 50], [1, 3, 5]]


def test_wrapped_diagonal() -> None:
    change = changed(lambda xp, x: xp.fill_diagonal(x, 4, wrap=True), lambda xp: xp.zeros((7, 3)))
    matches_numpy(lambda xp: change(xp))()


def test_flat() -> None:
    x = nl.arange(6).reshape(2, 3).T
    assert [int(v) for v in x.flat] == [0, 3, 1, 4, 2, 5]
    assert len(x.flat) == 6 and x.flat[3].item() == 4
    assert x.flat[1:4].tolist() == [3, 1, 4] and x.flat[[0, 5]].tolist() == [0, 5]
    flat = x.flat
    assert flat.coords == (0, 0)
    next(flat)
    assert (flat.index, flat.coords) == (1, (0, 1))
    assert flat.copy().tolist() == np.asarray(x.flat).tolist()
    assert flat.base is x


def test_diagonal_is_a_read_only_view() -> None:
    x = nl.arange(9).reshape(3, 3)
    d = x.diagonal()
    x[1, 1] = 50
    assert d.tolist() == [0, 50, 8]
    with pytest.raises(ValueError):
        d[0] = 1


@pytest.mark.parametrize("char", "fd?eD")
def test_rows_taken_whole(char: str) -> None:
    # Long rows are read many elements at a time, from places that are computed once a row.
    host = (np.random.default_rng(0).random((40, 32)) * 9).astype(char)
    i, j = np.random.default_rng(1).integers(-39, 40, (2, 25))
    x = nl.asarray(host)
    weights = np.arange(32.0)
    for take in (
        lambda x, i, j: x[i],
        lambda x, i, j: x[i] * 1 + x[j - i // 40],
        lambda x, i, j: x[:, :16][abs(i) // 2] * weights[:16],
        lambda x, i, j: x.reshape(8, 5, 32)[i % 8, j % 5],
        lambda x, i, j: (x.reshape(8, 5, 32)[:, abs(j) % 5, 4:20] > 3).sum(),
    ):
        got, expected = np.asarray(take(x, nl.asarray(i), nl.asarray(j)).get()), take(host, i, j)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(IndexError):
        x[nl.asarray([1, 40])].get()


@pytest.mark.parametrize("name", ["place", "putmask"])
@pytest.mark.parametrize(("dtype", "value"), [("f4", "u8"), ("i4", "f8"), ("u1", "i8")])
def test_a_result_that_numpy_has_a_scalar_for_is_cut(name: str, dtype: str, value: str) -> None:
    found = []
    for xp in (np, nl):
        x, values = xp.zeros(4, dtype), xp.asarray([3, 2]).astype(value) * 1.5 if value == "f8" else xp.ones(2, value)
        getattr(xp, name)(x, x == 0, values.max())
        found.append(x.tolist())
        with pytest.raises(TypeError, match="according to the rule 'safe'"):
            getattr(xp, name)(x, x == 0, values)
    assert found[0] == found[1]


NOTHING_THERE = {
    "read": lambda x, i: x[i],
    "take": lambda x, i: nl.take(x, i, axis=0),
    "take_along_axis": lambda x, i: nl.take_along_axis(x, i[:, None] + nl.zeros((1, 3), int), 0),
    "store": lambda x, i: x.__setitem__(i, 1),
    "put": lambda x, i: nl.put(x, i, 1),
    "put_along_axis": lambda x, i: nl.put_along_axis(x, i[:, None] + nl.zeros((1, 3), int), 1, 0),
    "add.at": lambda x, i: nl.add.at(x, i, 1),
    "multiply.at": lambda x, i: nl.multiply.at(x, i, 1),
}


@pytest.mark.parametrize("name", NOTHING_THERE)
@pytest.mark.parametrize("dtype", ["?", "i4", "f8", "c16"])
def test_an_axis_without_elements_has_no_place_for_an_index(name: str, dtype: str) -> None:
    x = nl.zeros((0, 3), dtype) + nl.zeros((0, 3), dtype)
    i = nl.asarray(np.array([0, 2])) + 0
    with pytest.raises(IndexError):
        found = NOTHING_THERE[name](x, i)
        nl.synchronize()
        found.get() if found is not None else x.get()
    nl.synchronize()  # Told once.
    assert x.shape == (0, 3)
    assert (nl.ones(3) + x.shape[0]).tolist() == [1, 1, 1]
