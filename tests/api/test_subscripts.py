"""Everything that may stand between brackets, drawn at random, against NumPy: reads and writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numloom as nl
from numloom.testing import assert_kernels

ENDS = st.none() | st.integers(-5, 5)
SLICES = st.builds(slice, ENDS, ENDS, st.sampled_from([None, 1, -1, 2, -2]))


@st.composite
def subscripts(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A tuple of slices, integers, integer arrays, masks, None and one Ellipsis, mostly valid ones."""
    rows = draw(st.sampled_from([(2,), (1,), (3, 2), (0,)]))
    items: list[Any] = []
    axis = 0
    while axis < len(shape) and len(items) < 5:
        extent = shape[axis]
        kind = draw(st.integers(0, 9))
        if kind <= 1:
            items.append(draw(SLICES))
        elif kind == 2:
            items.append(draw(st.integers(-extent, max(extent - 1, 0))))
        elif kind <= 6:
            part = draw(st.sampled_from([rows, rows[1:], (1,) * len(rows)]))
            code = draw(st.sampled_from("bhilBQ"))
            low = 0 if code in "BQ" else -extent
            # Too large by one now and then.
            high = max(extent - 1, 0) + (draw(st.integers(0, 19)) == 0)
            count = int(np.prod(part))
            numbers = draw(st.lists(st.integers(low, high), min_size=count, max_size=count))
            index = np.array(numbers, code).reshape(part)
            items.append(index.tolist() if draw(st.booleans()) and index.size else index)
        elif kind <= 8:
            ndim = min(draw(st.sampled_from([1, 1, 2])), len(shape) - axis)
            bits = draw(st.lists(st.booleans(), min_size=64, max_size=64))
            extents = shape[axis : axis + ndim]
            items.append(np.array(bits[: int(np.prod(extents))]).reshape(extents))
            axis += ndim - 1
        else:
            items.append(draw(st.sampled_from([None, True, np.array(False)])))
            continue
        axis += 1
        if draw(st.integers(0, 5)) == 0:
            break
    if draw(st.booleans()) and Ellipsis not in [item for item in items if not isinstance(item, np.ndarray)]:
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return tuple(items)


def outcome(call: Any) -> Any:
    try:
        result = call()
        return (result.get() if isinstance(result, nl.ndarray) else np.asarray(result)), None
    except Exception as error:
        return None, error


def agree(ours: Any, theirs: Any, key: Any) -> None:
    (mine, raised), (host, expected) = ours, theirs
    if expected is not None or raised is not None:
        assert expected is not None and isinstance(raised, type(expected)), f"{key!r}: {raised!r}, NumPy {expected!r}"
        return
    assert (mine.dtype, mine.shape) == (host.dtype, host.shape), key
    np.testing.assert_array_equal(mine, host, err_msg=repr(key))


@settings(max_examples=70)
@given(st.data())
def test_any_subscript(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    host = np.arange(int(np.prod(shape))).astype(data.draw(st.sampled_from("diF"))).reshape(shape)
    host = host.transpose(data.draw(st.permutations(range(len(shape)))))
    if data.draw(st.booleans()):
        host = host[::-1]
    key = data.draw(subscripts(host.shape))
    on_device = data.draw(st.booleans())
    given_key = tuple(nl.asarray(item) if on_device and isinstance(item, np.ndarray) else item for item in key)
    mine = nl.asarray(host)
    theirs = outcome(lambda: host[key])
    agree(outcome(lambda: mine[given_key]), theirs, key)
    if theirs[1] is not None:
        return
    extents = theirs[0].shape
    cut = data.draw(st.integers(0, len(extents)))
    value = data.draw(st.sampled_from(["number", "array", "same", "more"][: 4 if extents else 3]))
    values: Any = {
        "number": 7, "array": np.arange(100, 100 + int(np.prod(extents[cut:]))).reshape(extents[cut:]), "same": None,
        "more": np.ones((*extents, 5)),
    }[value]  # fmt: skip
    if value == "array" and data.draw(st.booleans()):
        values = nl.asarray(values)

    def write(array: Any) -> Any:
        if values is None:
            array[given_key if isinstance(array, nl.ndarray) else key] += 1
        elif isinstance(array, nl.ndarray):
            array[given_key] = values
        else:
            array[key] = values.get() if isinstance(values, nl.ndarray) else values
        return array

    kept = mine + 0
    agree(outcome(lambda: write(mine)), outcome(lambda: write(host.copy("K"))), (key, value))
    np.testing.assert_array_equal(kept.get(), host)


def test_a_store_reads_what_it_overwrites_first() -> None:
    x = nl.arange(6)
    x[[0, 1, 2]] = x[::-1][:3]
    assert x.tolist() == [5, 4, 3, 3, 4, 5]
    x[[5, 4, 3, 2, 1, 0]] = x
    assert x.tolist() == [5, 4, 3, 3, 4, 5][::-1]
    y = x.copy()
    x[nl.asarray([0, 0])] = x[1:3] + x[2:4]
    assert y.tolist() == [5, 4, 3, 3, 4, 5] and x.tolist() == [6, 4, 3, 3, 4, 5]
    bytes_of = x.view("u1")
    bytes_of[[0, 8]] = 7
    assert x.tolist() == [7, 7, 3, 3, 4, 5]
    wide = nl.broadcast_to(nl.arange(3), (2, 3))
    wide[:, [0, 2]][...] = 1
    assert wide.tolist() == [[0, 1, 2]] * 2


def test_stores_where_values_lie_elsewhere_too() -> None:
    z = nl.zeros(4, "c16")
    z.imag[[1, 1, 3]] = [1, 2, 3]
    nl.add.at(z.real, [0, 0], 5)
    assert z.tolist() == [10, 2j, 0, 3j]


def test_sequences_for_one_element_are_refused() -> None:
    for dtype, error in (("f4", ValueError), ("c8", TypeError)):
        x = nl.zeros((2, 2), dtype)
        with pytest.raises(error, match="sequence"):
            x[0, 0] = [1]
    with pytest.raises(TypeError, match="0 or 1-dimensional"):
        x[nl.ones((2, 2), bool)] = nl.ones((2, 2))
    with pytest.raises(ValueError, match="cannot assign 3 input values to the 4 output values"):
        x[nl.ones((2, 2), bool)] = nl.ones(3)


def test_stores_run_in_place_where_nobody_needs_the_old_value() -> None:
    x = nl.arange(10000.0) * 2  # of which a copy shares the memory
    nl.evaluate(x)
    memory = x.storage.value.buffer
    x[[1, 5, 5]] = [1, 2, 3]
    nl.multiply.at(x, [7], 2)
    x[2:][nl.asarray([0, 1])] = 9
    assert x.storage.value.buffer is memory and x[:8].tolist() == [0, 1, 9, 9, 8, 3, 12, 28]
    later = x + 1
    kept = x.copy()
    x[[0]] = -1
    assert x.storage.value.buffer is not memory
    assert (kept[0].item(), later[0].item(), x[0].item()) == (0, 1, -1)


def test_a_number_where_a_mask_is_true_is_one_kernel() -> None:
    x = nl.arange(100.0)
    nl.evaluate(x)
    with assert_kernels(1, library_calls=0):
        x[x > 50] = -1
        nl.evaluate(x)
    with assert_kernels(0, library_calls=1):
        nl.add.at(x, [0, 0], np.ones(2))
        nl.evaluate(x)
    assert (x[0].item(), x[99].item()) == (2, -1)


@pytest.mark.parametrize(("shape", "at", "value"), [
    ((5,), [0, 1, 2], (0, 3)), ((5,), [0, 1, 2], (1, 0, 3)), ((5, 3), [0, 1], (0, 2, 3)), ((0,), [], (0, 0)),
    ((0,), [], (3, 0)), ((0,), [], (0, 1)), ((0, 3), [], (2, 0, 3)), ((0, 3), [], (2, 1, 3)), ((0, 3), [], (2, 3)),
    ((4, 0), [1], (0, 1, 0)),
])  # fmt: skip
def test_stores_of_nothing_at_indices(shape: tuple[int, ...], at: list[int], value: tuple[int, ...]) -> None:
    said = []
    for xp in (np, nl):
        x = xp.zeros(shape)
        try:
            x[xp.asarray(at, dtype=int)] = xp.ones(value)
            said.append(x.sum())
        except ValueError as error:
            said.append(str(error))
    assert said[0] == said[1]


LAID = {
    "C": lambda x: x, "F": lambda x: x.T, "rows": lambda x: x[::2], "columns": lambda x: x[:, 1:],
    "back": lambda x: x[::-1], "deep": lambda x: x[None], "repeated": lambda x: x[0],
}  # fmt: skip


@pytest.mark.parametrize("laid", LAID)
@pytest.mark.parametrize("masks", ["C", "F", "part", "computed", "all", "none"])
@pytest.mark.parametrize("in_tuple", [False, True])
def test_values_stored_at_a_mask_of_all(laid: str, masks: str, in_tuple: bool) -> None:
    made = []
    for xp in (np, nl):
        x = xp.asarray(np.arange(63.0).reshape(7, 9))
        view = LAID[laid](x)
        m = view % 3 != 0
        if masks == "F":
            m = xp.asarray(np.asfortranarray(nl.asnumpy(m)))
        elif masks == "part":
            m = xp.concatenate([m, m], axis=-1)[..., : m.shape[-1]]
        elif masks in ("all", "none"):
            m = xp.full(view.shape, masks == "all")
        elif masks == "C":
            m = xp.ascontiguousarray(m) | False
        index = (m,) if in_tuple else m
        view[index] = view[index] * 2 + 1
        view[index] = xp.asarray([7.0]) if masks == "none" else -view[index]
        with pytest.raises(ValueError, match=r"cannot assign|could not be broadcast"):
            view[index] = xp.arange(float(view.size) + 5)
        made.append(nl.asnumpy(x))
    np.testing.assert_array_equal(*made)


STEPS = (1 << 62, (1 << 63) - 1, -(1 << 62), -(1 << 63), 1 << 70, -(1 << 70))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("extent", [0, 1, 3])
def test_steps_as_large_as_one_likes(step: int, extent: int) -> None:
    """They take one position at most, beside whatever else stands between the brackets."""
    host = np.arange(4.0 * extent).reshape(extent, 4)
    by = slice(None, None, step)
    for key in (by, (..., by), (by, ...), (None, by), (by, by), (0, by) if extent else by, (by, [0, 1]), ([0], by)):
        if key == ([0], by) and not extent:
            continue
        array = nl.asarray(host)
        np.testing.assert_array_equal(array[key].get(), host[key])
        written = host.copy()
        written[key] = 9
        array[key] = 9
        np.testing.assert_array_equal(array.get(), written)
