"""Members of arrays against NumPy's."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import numloom as nl
from numloom.array.ndarray import view_of
from numloom.device import registry
from numloom.testing import assert_bits_equal, matches_numpy


def array(xp: Any, dtype: Any = "f8") -> Any:
    return xp.array([[5, 4, 3], [2, 1, 0]], dtype)


def does(change: str, dtype: str = "f8") -> Any:
    """A test body that runs a statement on `x` and gives `x`."""

    def run(xp: Any) -> Any:
        names = {"x": array(xp, dtype), "xp": xp, "np": np}
        exec(change, names)
        return names["x"]

    return run


CHANGES = {
    "i4": [
        "x.fill(2.7)", "x.fill([1])", "x.fill(xp.asarray(3))", "x.setfield(3, 'i2', 2)", "x.setfield(3, 'i8')",
        "x.setfield([1, 2, 3], 'i1', 1)", "x //= 2", "x /= 2", "x **= 2", "x <<= 1", "x &= 3", "x += 1.5",
        "x.byteswap(inplace=True)", "x.dtype = 'f4'", "x.dtype = 'u2'", "x.real = 7", "x.imag = 7", "x[0, 0] = None",
    ],
    "?": ["x[0, 0] = xp.zeros(1)", "x[0, 0] = xp.zeros(2)", "x |= True", "x -= x"],
    "u1": ["x -= 300", "x += -1", "x |= 1", "x ^= x"],
    "c8": ["x.imag = 7", "x.real = [1, 2, 3]", "x *= 2j", "x[0, 0] = [1]"],
    "f4": [
        "x *= 2j", "x <<= 1", "x += xp.ones((3, 2, 3))", "x %= 2", "x @= xp.eye(3)", "x @= xp.ones((3, 2))", "x &= 3",
        "x.resize(3, 2)", "x.resize((3, 4))", "x.resize(2)", "x.resize(5, refcheck=False)", "x.resize(-1)",
        "x.resize()", "x.resize(None)", "x.resize((2, 'a'))", "y = x[0]; y.resize(5)", "y = x[0]; x.resize(5)",
        "y = x.T.copy('A'); y.resize((4, 3)); x = y", "x = x.T.copy('A'); x.resize(2, 2)", "x[:, ::2].resize(1)",
        "x.setflags(write=False); x[0] = 1", "x.setflags(uic=True)", "x.setflags(align=True, uic=False)",
        "y = x[0]; x.setflags(write=False); y.setflags(write=True)", "x.shape = 3, 2", "x.shape = -1", "x.shape = 4",
        "x.T.shape = 6", "x.flat[2] = 9", "x.flat[::2] = [9, 8]", "x.T.flat[[1, 2, 1]] = [9, 8, 7]", "x.flat = [1, 2]",
        "x.flat[...] = 5", "x.flat[10] = 5", "x.flat[x.flat > 2] = 5", "x.flat[[7]] = 5", "del x[0]", "x.sort()",
        "x[::-1, ::-1].sort(0)", "x.sort(axis=2)", "x.partition(1, axis=0)", "x[0] = None", "x[0, 0] = [8]",
        "x[0, 0] = xp.ones(1)", "x[0, ...] = xp.ones(1)", "x.T.put([0, 1, 1], [5, 6, 7])",
        "x.put(indices=[0, -1], values=[5, 6])", "x.put([9], [5])", "x.T.put([-9, 9], [5, 6], mode='clip')",
    ],
}  # fmt: skip


@pytest.mark.parametrize("dtype", CHANGES)
def test_changes(dtype: str) -> None:
    for change in CHANGES[dtype]:
        try:
            matches_numpy(does(change, dtype))()
        except AssertionError as error:
            raise AssertionError(f"{change}: {error}") from error


READS = [
    "x == None", "x != None", "x == 'a'", "None == x", "x < None", "x + None", "[1] == x", "3.0 in x", "7 in x",
    "format(x, '.2f')", "format(x[0, 0], '.2f')", "format(xp.asarray(2.5), '.1f')", "float(x)", "float(x[:1, :1])",
    "int(x[:1, 0])", "complex(xp.asarray(2.5))", "int(xp.asarray(2.5j))", "float(xp.asarray(2j))",
    "operator.index(xp.asarray(3))", "operator.index(xp.asarray([3]))", "operator.index(xp.asarray(True))",
    "operator.index(x[0, 0])", "bool(xp.asarray([3]))", "bool(xp.asarray([]))", "bool(x)", "x.item()", "x.item(3)",
    "x.item(-1)", "x.item(6)", "x.item(1, 2)", "x.item((1, -1))", "x.item(1, 3)", "x.item(1, 2, 3)", "x.item('a')",
    "x.item(1.0)", "x.T.item(1)", "xp.asarray(3).item(0)", "x.flat[3]", "x.T.flat[3]", "x.flat[1:4]", "x.flat[[1, 2]]",
    "x.flat[-1]", "x.flat[6]", "x.flat[...]", "x.flat[x.flat > 2]", "x.flat[()]", "x.flat[1, 2]", "x.flat[None]",
    "x.flat < 2", "x.flat == x.flat", "x.flat.copy()", "xp.asarray(x.flat)", "len(x.flat)", "list(x.T.flat)",
    "list(x)", "list(x.ravel())", "list(xp.arange(40)[::-1])", "list(xp.asarray(3))", "len(xp.asarray(3))", "hash(x)",
    "divmod(x, 2)", "divmod(7, x + 1)", "pow(x, 2)", "pow(x, 2, 3)", "operator.invert(x)", "abs(x - 3)", "2 // (x + 1)",
    "x.getfield('f4', 4)", "x.getfield('f4', 5)", "x.getfield('f4', -1)", "x.getfield('c16')", "x.byteswap()",
    "x.T.byteswap()", "x.view('u4')", "x.view('c16')", "x[:, :2].view('c16')", "x.T.view('f4')", "x.T.view('u8')",
    "x.view(dtype='i8')", "x.view(xp.ndarray)", "x.view('i8', type=xp.ndarray)", "xp.asarray(3.0).view('f4')",
    "x[:0].view('i2')", "x.tobytes('F')", "x.T.tobytes('A')", "x[::-1].T.tobytes('A')", "x.tobytes(None)",
    "x.tobytes('Z')", "bytes(x)", "x.copy('Z')", "x.astype('i4', casting='safe')", "x.swapaxes(0, 2)", "x.mT",
    "x[0].mT", "x.transpose(0, 0)", "x.T.ravel('K')", "x.T.ravel('A')", "x.flatten('F')", "x.base is None",
    "x[0][1:].base is x", "x.flags.owndata", "x[0].flags.owndata", "x.flags.num", "x.flags['Z']", "x @ xp.ones(3)",
    "x.__array_priority__ >= 0", "x[0, 0].tolist()", "x.tolist()", "+x", "x.real is x", "x.imag",
]  # fmt: skip


def test_reads() -> None:
    def run(xp: Any, read: str) -> Any:
        result = eval(read, {"x": array(xp), "xp": xp, "operator": operator})
        return result.hex() if isinstance(result, bytes) else result

    for read in READS:
        try:
            matches_numpy(lambda xp, read=read: run(xp, read))()
        except AssertionError as error:
            raise AssertionError(f"{read}: {error}") from error


def test_flat_iterators_know_where_they_are() -> None:
    x = array(nl)
    flat = x.flat
    assert next(flat) == 5 and (flat.index, flat.coords) == (1, (0, 1)) and flat.base is x


def test_iteration_sees_what_is_written_meanwhile() -> None:
    x = nl.arange(40.0)
    seen = []
    for value in x:
        seen.append(float(value))
        x[39] = -1
    assert seen == [*range(39), -1]


def test_members_that_only_make_sense_one_way() -> None:
    x = array(nl)
    assert "resize" in dir(x) and "data" in dir(x)
    assert nl.ndarray[int].__origin__ is nl.ndarray
    with pytest.raises(AttributeError):
        x.strides = (8, 8)
    with pytest.raises(ValueError, match="ALIGNED"):
        x.setflags(align=False)
    with pytest.raises(TypeError, match="subclass"):
        x.view(type=np.matrix)
    fixed = nl.zeros(3)
    fixed.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        fixed.setfield(1, "f4")


def test_the_memory_of_the_host_is_shared() -> None:
    x = array(nl, "i4")
    if registry.current().discrete:
        with pytest.raises(AttributeError, match=r"get\(\)"):
            _ = x.data
        return
    assert x.data.tolist() == x.tolist() and list(x.ctypes.shape) == [2, 3]
    np.asarray(x.data)[0, 0] = 9
    assert x[0, 0] == 9 and x[1:].data.nbytes == 12


# ---------------------------------------------------------------- memory order


def same_view(host: np.ndarray[Any, Any]) -> Any:
    """The same layout over a copy of the same memory on the device."""
    base = host
    while isinstance(base.base, np.ndarray):
        base = base.base
    offset = host.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return view_of(nl.asarray(base.ravel("K")), offset, host.shape, host.strides)


@st.composite
def layouts(draw: Any, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """A permuted, reversed, stepped or repeated array."""
    order = draw(st.permutations(range(len(shape))))
    step = draw(st.sampled_from([1, -1, 2]))
    x = np.arange(np.prod(shape, dtype=int) * abs(step) ** len(shape), dtype=dtype)
    x = x.reshape([shape[k] * abs(step) for k in order]).transpose(np.argsort(order))
    x = x[(slice(None, None, step),) * draw(st.integers(0, len(shape)))][tuple(slice(e) for e in shape)]
    repeated = draw(st.sampled_from([None, None, *range(len(shape))]))
    if repeated is not None:
        x = np.broadcast_to(x[(slice(None),) * repeated + (slice(1),)], shape)
    return x


def assert_order(ours: Any, theirs: Any, what: str) -> None:
    long = [axis for axis, extent in enumerate(theirs.shape) if extent > 1]
    assert ours.shape == theirs.shape, what
    assert [ours.strides[k] for k in long] == [theirs.strides[k] for k in long], what
    np.testing.assert_array_equal(ours.get(), theirs, err_msg=what)


@settings(max_examples=25)
@given(st.data())
def test_results_lie_as_numpy_s(data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=3))
    a, b = data.draw(layouts(shape, "f8")), data.draw(layouts(shape, "f4"))
    x, y = same_view(a), same_view(b)
    assert_order(x + y, a + b, "add")
    assert_order(x > y, a > b, "greater")
    assert_order(-x, -a, "negative")
    assert_order(nl.where(x > y, x, y), np.where(a > b, a, b), "where")
    for order in "CFAK":
        assert_order(x.copy(order), a.copy(order), f"copy {order}")
        assert_order(x.astype("i4", order), a.astype("i4", order), f"astype {order}")
        assert_order(nl.zeros_like(x, order=order), np.zeros_like(a, order=order), f"like {order}")
        assert_order(x.ravel(order), a.ravel(order), f"ravel {order}")
        assert x.tobytes(order) == a.tobytes(order)
    axis = data.draw(st.sampled_from([None, *range(len(shape))]))
    for keepdims in (False, True):
        assert_order(x.max(axis, keepdims=keepdims), a.max(axis, keepdims=keepdims), "max")
    for axis in range(len(shape)):
        assert_order(nl.sort(x, axis), np.sort(a, axis), "sort")
        assert_order(nl.subtract.reduce(x, axis), np.subtract.reduce(a, axis), "reduce")
        assert_order(nl.add.accumulate(x, axis), np.add.accumulate(a, axis), "accumulate")
        assert_order(nl.maximum.reduceat(x, [0], axis), np.maximum.reduceat(a, [0], axis), "reduceat")


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (2, 3), (0, 3), (3, 0, 2), (4, 1, 2)])
def test_ravel_again_is_what_it_was(shape: tuple[int, ...]) -> None:
    host = np.arange(np.prod(shape, dtype=int) * 3.0).reshape(*shape, 3)[..., 1]
    cuts: list[Any] = [lambda a: a, lambda a: a.copy(), lambda a: a.T, lambda a: a[..., None], lambda a: a.copy()[::2]]
    for cut in cuts:
        if shape == () and cut is cuts[-1]:
            continue
        for _ in range(3):
            x, a = cut(nl.array(host.copy())), cut(host.copy())
            for order in "CFAK":
                ours, theirs = x.ravel(order), a.ravel(order)
                assert (ours.shape, ours.strides) == (theirs.shape, theirs.strides) or a.size < 2
                assert_bits_equal(ours, theirs)
                shared = np.shares_memory(a, theirs)
                ours[...] = -1
                if a.size:
                    assert bool((x == -1).all()) == shared
                    x, a = cut(nl.array(host.copy())), cut(host.copy())
