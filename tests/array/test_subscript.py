"""Subscripts give NumPy's layouts and NumPy's errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numloom.array.slicing import bounds
from numloom.array.subscript import Advanced, Basic, simple, subscript, turned

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
ends = st.none() | st.integers(-6, 6)
slices = st.builds(slice, ends, ends, st.none() | st.integers(-4, 4).filter(bool))
items = st.lists(
    slices | slices | st.integers(-5, 4) | st.integers(-2, 1).map(np.int64) | st.none() | st.just(Ellipsis), max_size=5
).map(tuple)


def no_arrays(item: Any, axis: int, shape: tuple[int, ...]) -> Any:
    raise AssertionError(f"{item!r} is no index array")


def index_arrays(item: Any, axis: int, shape: tuple[int, ...]) -> tuple[list[Any], int]:
    """What an index array stands for: itself, or a boolean array's positions."""
    array = np.asarray(item)
    if array.dtype == bool:
        found = array.nonzero() if array.ndim else [np.zeros(int(array), np.int64)]
        return list(found), array.ndim
    return [array], 1


@given(shapes, items)
def test_views_are_numpys(shape: tuple[int, ...], index: tuple[Any, ...]) -> None:
    x = np.empty(shape, order="F")
    try:
        expected = x[index]
    except IndexError as error:
        with pytest.raises(IndexError) as found:
            subscript(0, x.shape, x.strides, index, no_arrays)
        assert str(found.value) == str(error)
        return
    layout = subscript(0, x.shape, x.strides, index, no_arrays)
    assert isinstance(layout, Basic)
    assert layout.scalar == (not isinstance(expected, np.ndarray))
    assert layout.shape == expected.shape
    if expected.size and isinstance(expected, np.ndarray):
        start = expected.__array_interface__["data"][0] - x.__array_interface__["data"][0]
        assert layout.offset == start
        strides = zip(layout.strides, expected.strides, expected.shape, strict=True)
        assert all(mine == theirs for mine, theirs, extent in strides if extent > 1)


@given(slices, st.integers(0, 6))
def test_slices_stay_inside(index: slice, extent: int) -> None:
    expected = list(range(*index.indices(extent)))
    start, count, step = bounds(index, extent)
    assert [start + i * step for i in range(count)] == expected
    for asked in (index, (index,)):  # by the compiled twin where there is one
        found = simple(3, (extent,), (8,), asked)
        assert found is not None and not found.scalar
        assert [found.offset + i * found.strides[0] for i in range(found.shape[0])] == [3 + 8 * k for k in expected]


INDEX = np.array([[0, 1], [1, 0]])
MASK = np.array([True, False, True])


@pytest.mark.parametrize(
    "index",
    [
        (INDEX,),
        (slice(None), INDEX),
        (INDEX, slice(None), INDEX),
        (slice(None), INDEX, INDEX),
        (0, slice(None), INDEX),
        (slice(None), 0, INDEX),
        (Ellipsis, INDEX),
        (None, INDEX, None, INDEX),
        (MASK,),
        (slice(1), slice(None), slice(None, None, -1), MASK[[0, 1]]),
        (True,),
        (True, INDEX),
        (np.ones((3, 2), bool), Ellipsis, 1),
        ([0, 2], 1),
    ],
    ids=lambda index: "-".join(type(item).__name__ for item in index),
)
def test_index_arrays_stand_where_numpy_puts_them(index: tuple[Any, ...]) -> None:
    x = np.arange(3 * 2 * 4 * 2).reshape(3, 2, 4, 2)
    found = subscript(0, x.shape, x.strides, index, index_arrays)
    assert isinstance(found, Advanced)
    # Take by hand what `found` says: index arrays along axes of a view, their shape at one position.
    view = np.lib.stride_tricks.as_strided(x.reshape(-1)[found.offset // 8 :], found.shape, found.strides)
    arrays = np.broadcast_arrays(*found.indices)
    moved = np.moveaxis(view, found.axes, range(len(found.axes)))[tuple(arrays)]
    count = arrays[0].ndim
    result = np.moveaxis(moved, range(count), range(found.position, found.position + count))
    assert np.array_equal(result, x[index])


def test_bounds_that_run_other_subscripts() -> None:
    class Bound:
        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            simple(0, (7, 8, 9), (72, 9, 1), (slice(1, 3), slice(2, 5), slice(None, None, 2)))
            return self.value

    for _ in range(3):
        found = simple(0, (10, 20), (20, 1), (slice(2, 7), slice(Bound(3), Bound(9), Bound(2))))
        assert found is not None
        assert (found.offset, found.shape, found.strides) == (43, (5, 3), (20, 2))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-40, 40)), max_size=10))
def test_turned(axes: list[tuple[int, int]]) -> None:
    shape, strides = tuple(e for e, _ in axes), tuple(s for _, s in axes)
    for _ in range(2):
        found = turned(shape, strides)
        if len(axes) > 8:
            assert found is None
        else:
            assert found is not None
            assert (found.offset, found.shape, found.strides) == (0, shape[::-1], strides[::-1])


def test_equal_layouts_are_one_object() -> None:
    a, b = (simple(0, (10, 20), (20, 1), (slice(start, start + 5), slice(None))) for start in (1, 4))
    assert a is not None and b is not None
    assert a.shape is b.shape
    assert a.strides is b.strides


@pytest.mark.parametrize("extent", [0, 1, 7])
def test_bounds_of_any_integers(extent: int) -> None:
    numbers = [None, 0, 3, -2, True, np.int64(2), 1 << 80, -(1 << 80), (1 << 63) - 1, -(1 << 63)]
    for start, stop, step in itertools.product(numbers, numbers, [None, 1, -1, 2, -(1 << 80), np.int8(3)]):
        item = slice(start, stop, step)
        first, count, by = item.indices(extent)
        begin, found, _ = bounds(item, extent)
        assert found == len(range(first, count, by))
        assert begin == first or not found
    with pytest.raises(TypeError):
        bounds(slice(1.0, None), extent)
