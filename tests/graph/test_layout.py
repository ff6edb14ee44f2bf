"""Layout arithmetic against NumPy, over random layouts."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numloom.graph.layout import (
    Layout,
    broadcast_shapes,
    broadcast_strides,
    c_strides,
    extent_of,
    f_strides,
    factor,
    is_c_contiguous,
    is_dense_order,
    is_f_contiguous,
    k_strides,
    may_overlap,
    may_self_overlap,
    ordered_strides,
    reshape_strides,
    resolve_shape,
    sees_all,
    strides_in_order,
)

Host = np.ndarray[Any, Any]

shapes = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@st.composite
def dense(draw: st.DrawFn, shape: tuple[int, ...] | None = None, dtype: Any = np.int64) -> Host:
    """An array that counts its own memory, its axes in any order."""
    shape = draw(shapes) if shape is None else shape
    order = draw(st.permutations(range(len(shape))))
    memory = np.arange(prod(shape)).astype(dtype).reshape([shape[axis] for axis in order])
    return memory.transpose([order.index(axis) for axis in range(len(shape))])


@st.composite
def subscripts(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A slice (of either sign), an integer or a new axis for each axis."""
    items: list[Any] = []
    for extent in shape:
        if draw(st.integers(0, 5)) == 0:
            items.append(None)
        if draw(st.integers(0, 4)) == 0:
            items.append(draw(st.integers(-extent, extent - 1)))
        else:
            bounds = st.none() | st.integers(-extent, extent)
            items.append(slice(draw(bounds), draw(bounds), draw(st.sampled_from([None, 2, 3, -1, -2]))))
    return tuple(items)


@st.composite
def views(draw: st.DrawFn, base: Host) -> Host:
    """A view of `base`: sliced, transposed, perhaps repeated along a new axis."""
    view = base[(*draw(subscripts(base.shape)), ...)]
    view = view.transpose(draw(st.permutations(range(view.ndim))))
    if draw(st.integers(0, 4)) == 0:
        view = np.broadcast_to(view, (draw(st.integers(1, 3)), *view.shape))
    return view


def offset_in(base: Host, view: Host) -> int:
    """Bytes from the first element of `base`'s memory to the first of `view`."""
    return int(view.__array_interface__["data"][0] - base.__array_interface__["data"][0])


def indices(shape: tuple[int, ...]) -> Any:
    return itertools.product(*map(range, shape))


def touched(layout: Layout, itemsize: int) -> set[int]:
    """Every byte of a layout."""
    return {
        layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True)) + byte
        for index in indices(layout.shape)
        for byte in range(itemsize)
    }


@st.composite
def layouts(draw: st.DrawFn, itemsize: int) -> Layout:
    """Any small layout; it may overlap itself."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3).map(tuple))
    steps = st.integers(-6, 6).map(lambda n: n * itemsize)
    if draw(st.integers(0, 3)) == 0:
        steps = st.integers(-20, 20)
    return Layout(draw(st.integers(0, 8)) * itemsize, shape, tuple(draw(steps) for _ in shape))


@given(dense(), st.sampled_from([1, 2, 8, 16]))
def test_strides_of_dense_arrays(x: Host, itemsize: int) -> None:
    dtype = {1: np.int8, 2: np.float16, 8: np.float64, 16: np.complex128}[itemsize]
    assert c_strides(x.shape, itemsize) == np.empty(x.shape, dtype).strides
    assert f_strides(x.shape, itemsize) == np.empty(x.shape, dtype, order="F").strides
    order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
    mine = ordered_strides(x.shape, order, 8)
    assert all(a == b for a, b, extent in zip(mine, x.strides, x.shape, strict=True) if extent > 1)
    assert is_dense_order(x.shape, x.strides, 8)


@given(st.data())
def test_contiguity_is_numpys(data: st.DataObject) -> None:
    x = data.draw(dense().flatmap(views))
    assert is_c_contiguous(x.shape, x.strides, 8) == x.flags.c_contiguous
    assert is_f_contiguous(x.shape, x.strides, 8) == x.flags.f_contiguous
    assume(x.size)
    filled = sorted(x.reshape(-1).tolist()) == list(range(x.min(), x.min() + x.size))
    if is_dense_order(x.shape, x.strides, 8):
        assert filled
    elif not any(stride <= 0 for stride, extent in zip(x.strides, x.shape, strict=True) if extent > 1):
        assert not filled


@pytest.mark.parametrize("strides", [(0, 0), (0, 8), (-8, 8), (40, 8)])
def test_empty_copies_can_be_cut(strides: tuple[int, int]) -> None:
    """Bases hold no stride of 0 along an axis that can be cut, whatever was copied."""
    for shape in [(0, 5), (5, 0), (2, 0)]:
        kept = strides_in_order(shape, strides, 8, "K")
        assert all(stride > 0 for stride in kept)
        assert factor(0, (0, 0), kept, shape, kept, 8) is not None
        factor(0, (0, 3), (0, 8), shape, (0, 0), 8)  # what indexing gives may have these, or none that is found


@given(st.data())
def test_results_lie_in_numpys_order(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    operands = []
    for _ in range(data.draw(st.integers(1, 3))):
        mine = shape[data.draw(st.integers(0, len(shape))) :]
        mine = tuple(1 if data.draw(st.integers(0, 3)) == 0 else extent for extent in mine)
        steps = [data.draw(st.sampled_from([1, 1, 1, 2, -1, -2])) for _ in mine]
        whole = data.draw(dense(tuple(extent * abs(step) for extent, step in zip(mine, steps, strict=True))))
        operands.append(whole[tuple(slice(None, None, step) for step in steps)])
    result = (np.negative, np.add, np.clip)[len(operands) - 1](*operands)
    known = [broadcast_strides(x.shape, x.strides, result.shape) for x in operands if x.ndim]
    mine = k_strides(result.shape, known, 8)
    assert all(a == b for a, b, extent in zip(mine, result.strides, result.shape, strict=True) if extent > 1)


@given(st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), max_size=4))
def test_broadcasting_is_numpys(given_shapes: list[tuple[int, ...]]) -> None:
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(ValueError, match="operands could not be broadcast together"):
            broadcast_shapes(*given_shapes)
        return
    assert broadcast_shapes(*given_shapes) == expected
    for shape in given_shapes:
        x = np.empty(shape)
        mine = broadcast_strides(shape, x.strides, expected)
        theirs = np.broadcast_to(x, expected).strides
        assert all(a == b for a, b, extent in zip(mine, theirs, expected, strict=True) if extent > 1)


@given(st.data())
def test_views_by_subscripts_factor_over_their_base(data: st.DataObject) -> None:
    base = data.draw(dense())
    view = data.draw(views(base))
    assume(view.size)
    found = factor(offset_in(base, view), view.shape, view.strides, base.shape, base.strides, 8)
    assert found is not None
    starts, coefficients = found
    for index in indices(view.shape):
        at = tuple(s + sum(c * i for c, i in zip(row, index, strict=True)) for s, row in zip(*found, strict=True))
        assert all(0 <= k < extent for k, extent in zip(at, base.shape, strict=True))
        assert base[at] == view[index]
    assert len(starts) == len(coefficients) == base.ndim


@given(st.data())
def test_whatever_factors_reads_the_same_elements(data: st.DataObject) -> None:
    base = data.draw(dense())
    layout = data.draw(layouts(8))
    low, high = extent_of(layout, 8)
    assume(low >= 0 and high <= base.nbytes and prod(layout.shape))
    found = factor(layout.offset, layout.shape, layout.strides, base.shape, base.strides, 8)
    if found is None:
        return
    for index in indices(layout.shape):
        at = tuple(s + sum(c * i for c, i in zip(row, index, strict=True)) for s, row in zip(*found, strict=True))
        assert all(0 <= k < extent for k, extent in zip(at, base.shape, strict=True))
        address = layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True))
        assert base[at] * 8 == address


@given(st.data())
def test_extent_holds_every_byte(data: st.DataObject) -> None:
    itemsize = data.draw(st.sampled_from([1, 4, 8]))
    layout = data.draw(layouts(itemsize))
    low, high = extent_of(layout, itemsize)
    bytes_ = touched(layout, itemsize)
    assert (low, high) == ((min(bytes_), max(bytes_) + 1) if bytes_ else (layout.offset, layout.offset))


@given(st.data())
def test_certainly_apart_is_apart(data: st.DataObject) -> None:
    a_itemsize = data.draw(st.sampled_from([1, 4, 8]))
    b_itemsize = data.draw(st.sampled_from([a_itemsize, a_itemsize, 8]))
    a, b = data.draw(layouts(a_itemsize)), data.draw(layouts(b_itemsize))
    if not may_overlap(a, a_itemsize, b, b_itemsize):
        assert not touched(a, a_itemsize) & touched(b, b_itemsize)
    assert may_overlap(a, a_itemsize, b, b_itemsize) == may_overlap(b, b_itemsize, a, a_itemsize)


@given(st.data())
def test_certainly_without_overlap_is_without(data: st.DataObject) -> None:
    itemsize = data.draw(st.sampled_from([1, 4, 8]))
    layout = data.draw(layouts(itemsize))
    if not may_self_overlap(layout.shape, layout.strides, itemsize):
        assert len(touched(layout, itemsize)) == prod(layout.shape) * itemsize
    base = data.draw(dense())
    sliced = base[(*data.draw(subscripts(base.shape)), ...)]
    assert not may_self_overlap(sliced.shape, sliced.strides, 8)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.s_[:4], np.s_[4:]),
        (np.s_[::2], np.s_[1::2]),
        (np.s_[:, :3], np.s_[:, 3:]),
        (np.s_[:, ::2], np.s_[:, 1::2]),
        (np.s_[1:3, 1:3], np.s_[4:, 1:3]),
        (np.s_[1:3, 1:3], np.s_[1:3, 3:5]),
        (np.s_[::2, ::2], np.s_[1::2, ::2]),
        (np.s_[0], np.s_[1:]),
        (np.s_[:, 0], np.s_[:, 1:]),
    ],
    ids=str,
)
def test_boxes_and_combs_are_seen_apart(a: Any, b: Any) -> None:
    x = np.empty((6, 8))
    first, second = (Layout(offset_in(x, x[key]), x[key].shape, x[key].strides) for key in (a, b))
    assert not may_overlap(first, 8, second, 8)
    assert may_overlap(first, 8, first, 8)


def factorings(size: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of this size."""

    @st.composite
    def shape(draw: st.DrawFn) -> tuple[int, ...]:
        rest, extents = size, []
        while rest > 1:
            extents.append(draw(st.sampled_from([d for d in range(2, rest + 1) if rest % d == 0])))
            rest //= extents[-1]
        for _ in range(draw(st.integers(0, 2))):
            extents.insert(draw(st.integers(0, len(extents))), 1)
        return tuple(extents)

    return shape()


@given(st.data())
def test_reshape_needs_a_copy_where_numpys_does(data: st.DataObject) -> None:
    x = data.draw(dense().flatmap(views))
    assume(x.size)
    new_shape = data.draw(factorings(x.size))
    expected = x.reshape(new_shape)
    strides = reshape_strides(x.shape, x.strides, new_shape, 8)
    if strides is None:
        assert not np.shares_memory(x, expected)
        return
    assert np.array_equal(np.lib.stride_tricks.as_strided(x, new_shape, strides), expected)
    if np.shares_memory(x, expected):
        assert all(a == b for a, b, e in zip(strides, expected.strides, new_shape, strict=True) if e > 1)


@given(st.integers(0, 24), st.lists(st.integers(-1, 6), max_size=4).map(tuple))
def test_unknown_extents_are_numpys(size: int, new_shape: tuple[int, ...]) -> None:
    try:
        expected = np.empty(size).reshape(new_shape).shape
    except ValueError as error:
        with pytest.raises(ValueError, match=r"cannot reshape array|can only specify one") as found:
            resolve_shape(size, new_shape)
        assert str(found.value) == str(error)
        return
    assert resolve_shape(size, new_shape) == expected


def test_copies_of_axes_of_one_element_lie_as_numpys() -> None:
    """Whatever the stride of such an axis is: it says nothing of the order."""
    for shape in itertools.product((1, 2, 3), repeat=3):
        whole = np.zeros(shape)
        for axes in itertools.permutations(range(3)):
            for steps in itertools.product((1, -1, 2), repeat=3):
                a = whole.transpose(axes)[tuple(slice(None, None, step) for step in steps)]
                for order in "KCFA":
                    assert strides_in_order(a.shape, a.strides, 8, order) == a.copy(order).strides


@given(st.data())
def test_a_layout_sees_all_of_a_block_where_numpy_sees_each_element_once(data: st.DataObject) -> None:
    codes = {"f4": 10, "i4": 5, "f8": 11, "i8": 7, "c8": 12}
    held, code = (data.draw(st.sampled_from(sorted(codes))) for _ in range(2))
    base = np.arange(24, dtype=held).reshape(data.draw(st.sampled_from([(24,), (4, 6), (2, 3, 4), (1, 24)])))
    base = base.transpose(data.draw(st.permutations(range(base.ndim))))
    view = base.ravel("K").view(code).reshape(data.draw(st.sampled_from([(-1, 2), (-1,), (2, -1, 3), (4, -1)])))
    view = view[
        tuple(data.draw(st.sampled_from([slice(None), slice(1, None), slice(None, None, 2)])) for _ in view.shape)
    ]
    view = view.transpose(data.draw(st.permutations(range(view.ndim))))
    assume(view.size)
    offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    seen = Layout(offset, view.shape, view.strides)
    numbers = sorted(view.ravel().tolist(), key=str)
    expected = code == held and numbers == sorted(base.ravel().tolist(), key=str)
    assert sees_all(seen, codes[code], base.shape, codes[held]) == expected


def test_what_does_not_see_all_of_a_block() -> None:
    for seen in (Layout(8, (3,), (8,)), Layout(0, (2,), (16,)), Layout(0, (4,), (0,)), Layout(24, (4,), (-8,))):
        assert not sees_all(seen, 11, (4,), 11)
    assert not sees_all(Layout(16, (4,), (4,)), 10, (4,), 11)  # As many elements, of half of the memory.
    assert not sees_all(Layout(0, (4,), (8,)), 7, (4,), 11)  # The same bytes as other numbers.
    assert sees_all(Layout(0, (2, 2), (8, 16)), 11, (4,), 11)


@pytest.mark.parametrize(("first", "second"), [(8, 4), (4, 8), (8, 1)])
def test_parts_one_behind_the_other_are_seen_apart(first: int, second: int) -> None:
    """Of any dtypes, also where they touch: the imaginary parts of numbers and their bytes, say."""
    a, b = Layout(16, (6,), (first,)), Layout(16 + 6 * first, (3, 2), (-2 * second, second))
    b = Layout(b.offset + 4 * second, b.shape, b.strides)
    for one, its, other, others in ((a, first, b, second), (b, second, a, first)):
        assert not may_overlap(one, its, other, others)
    nearer = Layout(b.offset - 1, b.shape, b.strides)
    assert may_overlap(a, first, nearer, second) and may_overlap(nearer, second, a, first)
