"""The constructors of values: shape, dtype and physical order are NumPy's at once; nothing is computed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numloom.base.dtypes import BOOL, DTYPES, F16, F32, F64, I8, I32, I64, ITEMSIZES, U8, code_of
from numloom.device.memory import Buffer
from numloom.graph import build
from numloom.graph.layout import is_dense_order
from numloom.graph.node import (
    CAST,
    FILL,
    IOTA,
    LEAF,
    OP,
    REDUCE,
    SCALAR,
    UPDATE,
    VIEW,
    Node,
    become_leaf,
    hold,
    live_nodes,
    register,
    unhold,
)
from numloom.ops.elementwise import ELEMENTWISE
from numloom.ops.reductions import REDUCTIONS

ADD, EXP, LESS, WHERE = (ELEMENTWISE[name] for name in ("add", "exp", "less", "where"))


def leaf_of(x: np.ndarray[Any, Any]) -> Node:
    """A computed value of the dtype, shape and order of a dense array."""
    assert is_dense_order(x.shape, x.strides, x.itemsize)
    return build.leaf(Buffer(4096, x.nbytes), code_of(x.dtype), x.shape, x.strides)


def same(node: Node, expected: Any) -> bool:
    """Whether a value has the dtype, shape and order of an array."""
    strides = zip(node.strides, expected.strides, node.shape, strict=True)
    return (
        DTYPES[node.code] == expected.dtype
        and node.shape == expected.shape
        and all(mine == theirs for mine, theirs, extent in strides if extent > 1)
    )


@pytest.fixture(autouse=True)
def counts() -> Iterator[None]:
    """What a test records must not make others run."""
    before = register.recorded
    yield
    register.recorded = before


@pytest.mark.parametrize("name", ["add", "multiply", "true_divide", "power", "maximum", "less", "left_shift", "hypot"])
def test_dtypes_of_pairs_are_numpys(name: str) -> None:
    ufunc = getattr(np, name)
    op_def = ELEMENTWISE["divide" if name == "true_divide" else name]
    for a in DTYPES:
        for b in DTYPES:
            x, y = leaf_of(np.ones((2, 3), a)), leaf_of(np.ones((2, 3), b))
            try:
                with np.errstate(all="ignore"):
                    expected = ufunc(np.ones((2, 3), a), np.ones((2, 3), b))
            except TypeError:
                with pytest.raises(TypeError):
                    build.binary(op_def, x, y)
                continue
            assert same(build.binary(op_def, x, y), expected), (a, b)


@pytest.mark.parametrize("value", [True, 3, 2.5, 1j], ids=str)
def test_python_numbers_take_the_dtype_of_the_array(value: Any) -> None:
    for dtype in DTYPES:
        x = np.ones((3,), dtype)
        for node, expected in (
            (build.binary(ADD, leaf_of(x), value), x + value),
            (build.binary(ADD, value, leaf_of(x)), value + x),
        ):
            assert same(node, expected), dtype
            assert SCALAR in [arg.kind for arg in node.args]


def test_python_integers_that_do_not_fit_are_refused() -> None:
    x = leaf_of(np.ones(3, np.uint8))
    for value in (256, -1):
        with pytest.raises(OverflowError, match=f"Python integer {value} out of bounds for uint8"):
            build.binary(ADD, x, value)


@given(st.data())
def test_results_have_numpys_order(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple))
    arrays = []
    for dtype in data.draw(st.lists(st.sampled_from([np.float32, np.float64, np.int8]), min_size=2, max_size=2)):
        order = data.draw(st.permutations(range(len(shape))))
        memory = np.ones([shape[axis] for axis in order], dtype)
        arrays.append(memory.transpose(np.argsort(order)))
    x, y = arrays
    a, b = map(leaf_of, arrays)
    assert same(build.binary(ADD, a, b), x + y)
    assert same(build.unary(EXP, a), np.exp(x))
    assert same(build.cast(a, F16), x.astype(np.float16))
    assert same(build.elementwise(WHERE, (build.binary(LESS, a, b), a, b)), np.where(x < y, x, y))


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"operands could not be broadcast together with shapes \(2,\) \(3,\)"):
        build.binary(ADD, leaf_of(np.ones(2)), leaf_of(np.ones(3)))


def test_casts_of_known_numbers_are_done_at_once() -> None:
    assert build.cast(build.scalar(2.7, F64), I32).attr == 2
    filled = build.cast(build.full(300, I64, (2, 2)), U8)
    assert (filled.kind, filled.attr, filled.strides) == (FILL, 44, (2, 1))
    x = leaf_of(np.ones(3))
    assert build.cast(x, F64) is x
    assert build.cast(x, F32).kind == CAST


def test_generated_values_cost_no_memory() -> None:
    assert (build.iota(5).kind, build.iota(5).shape, build.iota(5).code) == (IOTA, (5,), I64)
    full = build.full(1.5, F32, (2, 3))
    assert full.buffer is None and full.strides == (12, 4)
    view = build.view(full, F32, 4, (2, 2), (12, 4))
    assert (view.kind, view.attr, view.shape) == (FILL, 1.5, (2, 2))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 1), ()], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_reductions_have_numpys_shape(axis: Any, order: Any, keepdims: bool) -> None:
    x = np.ones((2, 3, 4), order=order)
    node = build.reduce(REDUCTIONS["sum"], leaf_of(x), build.normalize_axes(axis, 3), keepdims, F64)
    expected = np.asarray(np.sum(x, axis=axis, keepdims=keepdims))
    assert (node.kind, node.shape, node.code) == (REDUCE, expected.shape, F64)
    assert is_dense_order(node.shape, node.strides, 8)


def test_nothing_has_no_maximum() -> None:
    empty = build.leaf(Buffer(4096, 0), F64, (0, 3), (24, 8))
    with pytest.raises(ValueError, match="zero-size array to reduction operation"):
        build.reduce(REDUCTIONS["max"], empty, (0,), False, F64)
    assert build.reduce(REDUCTIONS["max"], empty, (1,), False, F64).shape == (0,)
    assert build.reduce(REDUCTIONS["sum"], empty, (0,), False, F64).shape == (3,)


def test_axes_are_checked() -> None:
    assert build.normalize_axes((-1, 0), 3) == (0, 2)
    with pytest.raises(np.exceptions.AxisError, match="axis 3 is out of bounds for array of dimension 3"):
        build.normalize_axes(3, 3)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        build.normalize_axes((0, -3), 3)


@pytest.mark.parametrize(("axes", "position"), [((0,), 0), ((1,), 1), ((0, 1), 0), ((0, 2), 0), ((2,), 2)], ids=str)
def test_gathers_have_numpys_shape(axes: tuple[int, ...], position: int) -> None:
    x = np.ones((3, 4, 5), np.float32)
    index = np.ones((2, 6), np.int32)
    node = build.gather(leaf_of(x), [leaf_of(index)] * len(axes), axes, position)
    expected = x[tuple(index if axis in axes else slice(None) for axis in range(3))]
    assert (node.shape, node.code) == (expected.shape, F32)
    assert all(arg.code == I64 for arg in node.args[1:])


def test_updates_have_the_shape_of_their_base() -> None:
    base = leaf_of(np.ones((3, 4), order="F"))
    value = build.view(base, F64, 0, (3, 2), (8, 48))
    node = build.update(base, value, 8, (3, 2), (8, 48), F64)
    assert (node.kind, node.shape, node.strides, node.args[0]) == (UPDATE, (3, 4), (8, 24), base)
    assert node.args[1].kind != VIEW


def test_readers_are_counted() -> None:
    x = leaf_of(np.ones(3))
    y = build.binary(ADD, x, x)
    z = build.unary(EXP, y)
    assert (x.readers, y.readers) == (2, 1)
    become_leaf(z, Buffer(4096, 24))
    assert (z.kind, z.args, y.readers) == (LEAF, (), 0)
    del y, z
    gc.collect()
    assert x.readers == 0


def test_what_cells_hold_and_is_pending_is_known() -> None:
    y = build.unary(EXP, leaf_of(np.ones(3)))
    hold(y)
    assert y in live_nodes()
    unhold(y)
    assert y not in live_nodes()
    hold(y)
    become_leaf(y, Buffer(4096, 24))
    assert y not in live_nodes() and y.storages == 1


@pytest.mark.parametrize(
    "step",
    [
        lambda x, y: build.binary(ADD, y, 1.0),
        lambda x, y: build.binary(ADD, 1.0, y),
        lambda x, y: build.unary(EXP, y),
        lambda x, y: build.binary(ADD, x, y),
        lambda x, y: build.binary(ADD, y, y),
    ],
)
def test_long_chains_are_freed_without_recursion(step: Any) -> None:
    x = leaf_of(np.ones(3))
    y = x
    for _ in range(100_000):
        y = step(x, y)
    assert y.kind == OP and x.readers > 0
    del y
    assert x.readers == 0


def test_itemsizes_change_with_the_dtype() -> None:
    x = leaf_of(np.ones((2, 3), np.int8, order="F"))
    assert build.cast(x, F64).strides == (8, 16)
    assert (ITEMSIZES[I8], ITEMSIZES[BOOL]) == (1, 1)
