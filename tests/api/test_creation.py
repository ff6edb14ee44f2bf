"""New arrays: the bits, dtypes, shapes, orders and errors of NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numloom as nl
from numloom.api import creation, indexing
from numloom.device import registry
from numloom.testing import assert_bits_equal, assert_kernels, for_all_dtypes, matches_numpy


def bits(call: Any) -> None:
    """The same call gives the same bits, or the same kind of error."""
    try:
        with np.errstate(all="ignore"):
            theirs = call(np)
    except Exception as error:
        kinds = tuple(k for k in type(error).__mro__ if k.__module__ == "builtins")[:1]
        with pytest.raises(kinds):
            call(nl)
        return
    ours = call(nl)
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
    else:
        ours, theirs = (ours,), (theirs,)
    for x, y in zip(ours, theirs, strict=True):
        assert_bits_equal(x, y)
        if isinstance(x, nl.ndarray):
            assert not x.is_scalar
            assert x.flags.c_contiguous == y.flags.c_contiguous
            assert x.flags.f_contiguous == y.flags.f_contiguous


CASES = {
    "zeros": lambda xp: xp.zeros((2, 3)),
    "zeros order": lambda xp: xp.zeros((2, 3), "i2", "F"),
    "zeros number": lambda xp: xp.zeros(4, bool),
    "zeros 0-d": lambda xp: xp.zeros(()),
    "zeros negative": lambda xp: xp.zeros(-1),
    "zeros float shape": lambda xp: xp.zeros(2.5),
    "zeros order bad": lambda xp: xp.zeros((2, 3), order="X"),
    "zeros dtype bad": lambda xp: xp.zeros(3, "nothing"),
    "ones": lambda xp: xp.ones((3, 2), "F"),
    "ones bool": lambda xp: xp.ones(3, "?"),
    "full": lambda xp: xp.full((2, 2), 7),
    "full nan": lambda xp: xp.full((2, 2), np.nan, "f4"),
    "full complex": lambda xp: xp.full(3, 1 + 2j),
    "full bool": lambda xp: xp.full(3, True),
    "full array": lambda xp: xp.full((2, 3), [1, 2, 3]),
    "full cut": lambda xp: xp.full(2, 2.7, "i4"),
    "full too large": lambda xp: xp.full(2, 300, "u1"),
    "full scalar": lambda xp: xp.full(2, np.float32(0.1)),
    "zeros_like": lambda xp: xp.zeros_like(xp.ones((2, 3), "i4").T),
    "zeros_like order": lambda xp: xp.zeros_like(xp.ones((2, 3), "i4").T, order="C"),
    "ones_like shape": lambda xp: xp.ones_like(xp.ones((2, 3), "i4"), shape=(4,)),
    "ones_like same ndim": lambda xp: xp.ones_like(xp.ones((2, 3)).T, "f4", shape=(4, 5)),
    "full_like": lambda xp: xp.full_like(xp.ones((2, 3), "f4"), 3),
    "full_like array": lambda xp: xp.full_like(xp.ones((2, 3), "f4"), [1, 2, 3]),
    "full_like list": lambda xp: xp.full_like([1, 2], 2.7),
    "like 3-d": lambda xp: xp.zeros_like(xp.ones((2, 3, 4)).transpose(1, 2, 0)),
    "eye": lambda xp: xp.eye(3),
    "eye shifted": lambda xp: xp.eye(3, 5, k=1, dtype="i4"),
    "eye below": lambda xp: xp.eye(4, 2, k=-2),
    "eye far": lambda xp: xp.eye(2, k=9),
    "eye F": lambda xp: xp.eye(3, 2, order="F"),
    "eye empty": lambda xp: xp.eye(0, 3),
    "identity": lambda xp: xp.identity(3, "c8"),
    "tri": lambda xp: xp.tri(3, 4, 1, "i2"),
    "tril": lambda xp: xp.tril(xp.arange(12).reshape(3, 4), -1),
    "triu": lambda xp: xp.triu(xp.arange(24).reshape(2, 3, 4), 1),
    "tril vector": lambda xp: xp.tril(xp.arange(3)),
    "diag": lambda xp: xp.diag([1, 2, 3]),
    "diag above": lambda xp: xp.diag(xp.asarray([1.5, 2]), 2),
    "diag below": lambda xp: xp.diag([1, 2], -1),
    "diag of matrix": lambda xp: xp.diag(xp.arange(12).reshape(3, 4), 1),
    "diag 3-d": lambda xp: xp.diag(xp.zeros((1, 1, 1))),
    "diagflat": lambda xp: xp.diagflat([[1, 2], [3, 4]], 1),
    "vander": lambda xp: xp.vander([1, 2, 3], 4),
    "vander increasing": lambda xp: xp.vander(xp.asarray([1.5, 2]), increasing=True),
    "arange": lambda xp: xp.arange(5),
    "arange float": lambda xp: xp.arange(5.0),
    "arange two": lambda xp: xp.arange(2, 7),
    "arange step": lambda xp: xp.arange(2, 17, 3),
    "arange down": lambda xp: xp.arange(5, -3, -2),
    "arange tenth": lambda xp: xp.arange(0, 1, 0.1),
    "arange third": lambda xp: xp.arange(-1, 2, 1 / 3),
    "arange f4": lambda xp: xp.arange(0.1, 5, 0.3, dtype="f4"),
    "arange f2": lambda xp: xp.arange(0.1, 5, 0.3, dtype="f2"),
    "arange long f2": lambda xp: xp.arange(3000, dtype="f2"),
    "arange i1": lambda xp: xp.arange(-5, 5, dtype="i1"),
    "arange u8": lambda xp: xp.arange(3, dtype="u8"),
    "arange float to int": lambda xp: xp.arange(0.5, 5, 1, dtype="i4"),
    "arange complex": lambda xp: xp.arange(3, dtype="c8"),
    "arange bool": lambda xp: xp.arange(2, dtype="?"),
    "arange bool long": lambda xp: xp.arange(5, dtype="?"),
    "arange empty": lambda xp: xp.arange(5, 2),
    "arange zero step": lambda xp: xp.arange(1, 5, 0),
    "arange nan": lambda xp: xp.arange(0, np.nan),
    "arange inf": lambda xp: xp.arange(0, np.inf),
    "arange nothing": lambda xp: xp.arange(),
    "arange scalar": lambda xp: xp.arange(np.float32(3)),
    "arange i1 scalar": lambda xp: xp.arange(np.int8(3)),
    "arange one": lambda xp: xp.arange(0.25, 0.5),
    "arange down float": lambda xp: xp.arange(0.0, -3.0, -1.0),
    "arange keyword": lambda xp: xp.arange(start=1, stop=9, step=2),
    "linspace": lambda xp: xp.linspace(0, 1, 7),
    "linspace default": lambda xp: xp.linspace(2, 3),
    "linspace open": lambda xp: xp.linspace(0, 1, 7, endpoint=False),
    "linspace f4": lambda xp: xp.linspace(0, 1, 9, dtype="f4"),
    "linspace scalars": lambda xp: xp.linspace(np.float32(0.1), np.float32(3), 11),
    "linspace int": lambda xp: xp.linspace(-5, 5, 7, dtype=int),
    "linspace one": lambda xp: xp.linspace(2, 3, 1),
    "linspace none": lambda xp: xp.linspace(2, 3, 0),
    "linspace equal": lambda xp: xp.linspace(2, 2, 4),
    "linspace tiny": lambda xp: xp.linspace(0, 5e-324, 4),
    "linspace negative": lambda xp: xp.linspace(2, 3, -1),
    "linspace step": lambda xp: xp.linspace(2, 3, 5, retstep=True),
    "linspace complex": lambda xp: xp.linspace(0, 1 + 2j, 5),
    "linspace arrays": lambda xp: xp.linspace(xp.asarray([0, 1]), xp.asarray([2.5, 5]), 5),
    "linspace arrays axis": lambda xp: xp.linspace(xp.asarray([0, 1]), 3, 5, axis=-1),
    "linspace arrays open": lambda xp: xp.linspace([0, 1], [3, 4], 4, endpoint=False, retstep=True),
    "linspace arrays int": lambda xp: xp.linspace(xp.asarray([0, 1]), 3, 4, dtype="i4"),
    "indices": lambda xp: xp.indices((2, 3)),
    "indices dtype": lambda xp: xp.indices((2, 3), "f4"),
    "indices sparse": lambda xp: xp.indices((2, 3), sparse=True),
    "meshgrid": lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2.0)),
    "meshgrid ij": lambda xp: xp.meshgrid([1, 2], [3, 4, 5], [6], indexing="ij"),
    "meshgrid sparse": lambda xp: xp.meshgrid([1, 2], [3, 4, 5], sparse=True),
    "meshgrid one": lambda xp: xp.meshgrid([1, 2]),
    "meshgrid bad": lambda xp: xp.meshgrid([1], indexing="no"),
    "fromfunction": lambda xp: xp.fromfunction(lambda i, j: i * 10 + j, (2, 3)),
    "frombuffer": lambda xp: xp.frombuffer(b"\x01\x02\x03\x04", "u2"),
    "fromiter": lambda xp: xp.fromiter((x * x for x in range(5)), "i8"),
    "fromstring": lambda xp: xp.fromstring("1 2 3", sep=" "),
    "mgrid": lambda xp: xp.mgrid[0:3, 1:2:3j],
    "mgrid one": lambda xp: xp.mgrid[0:5:2],
    "ogrid": lambda xp: xp.ogrid[0:3, 1:7:2],
    "array list": lambda xp: xp.array([[1, 2], [3, 4.5]]),
    "array number": lambda xp: xp.array(3),
    "array dtype": lambda xp: xp.array([1, 2, 3], "f4"),
    "array ndmin": lambda xp: xp.array([1, 2], ndmin=3),
    "array order": lambda xp: xp.array([[1, 2], [3, 4]], order="F"),
    "array empty": lambda xp: xp.array([]),
    "array nested": lambda xp: xp.array([xp.arange(3), xp.arange(3.0), [1, 2, 3]]),
    "array scalars": lambda xp: xp.array([xp.arange(3).sum(), 2.5]),
    "array ragged": lambda xp: xp.array([[1, 2], [3]]),
    "array big": lambda xp: xp.array([2**63]),
    "array mixed": lambda xp: xp.array([True, 2, 3.5, 1j]),
    "array negative unsigned": lambda xp: xp.array(-1, "u1"),
    "array view": lambda xp: xp.array(xp.arange(12).reshape(3, 4)[::2, ::-1]),
    "array K": lambda xp: xp.array(xp.ones((2, 3)).T),
    "array C": lambda xp: xp.array(xp.ones((2, 3)).T, order="C"),
    "ascontiguous": lambda xp: xp.ascontiguousarray(xp.ones((2, 3)).T),
    "ascontiguous 0-d": lambda xp: xp.ascontiguousarray(3),
    "asfortran": lambda xp: xp.asfortranarray(xp.ones((2, 3))),
    "copy": lambda xp: xp.copy(xp.ones((2, 3)).T),
    "require": lambda xp: xp.require(xp.ones((2, 3)).T, "f4", ["C"]),
    "chkfinite": lambda xp: xp.asarray_chkfinite([1.0, np.nan]),
}


@pytest.mark.parametrize("case", CASES)
def test_bits(case: str) -> None:
    bits(CASES[case])


numbers = st.one_of(st.integers(-1000, 1000), st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3))


@given(numbers, numbers, numbers.filter(bool), st.sampled_from([None, "f4", "f8", "i4", "f2"]))
def test_arange_has_the_bits_of_numpy(start: Any, span: Any, step: Any, dtype: Any) -> None:
    if abs(span / step) > 500:
        step = span / 100
    bits(lambda xp: xp.arange(start, start + span, step, dtype))


@given(numbers, numbers, st.integers(0, 60), st.booleans(), st.sampled_from([None, "f4", "i4", "f2"]))
def test_linspace_has_the_bits_of_numpy(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any) -> None:
    bits(lambda xp: xp.linspace(start, stop, num, endpoint, dtype=dtype))


@for_all_dtypes()
def test_empty(dtype: np.dtype[Any]) -> None:
    x = nl.empty((2, 3), dtype, order="F")
    assert (x.shape, x.dtype, x.strides) == ((2, 3), dtype, (dtype.itemsize, 2 * dtype.itemsize))
    y = nl.empty_like(x)
    assert (y.strides, y.dtype) == (x.strides, dtype)
    y[...] = 1
    assert nl.asnumpy(y).all()
    assert nl.empty(3, None).dtype == np.float64


def test_what_a_gpu_computes_of_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (creation, indexing):
        monkeypatch.setattr(module, "numpy_is_near", lambda: False)
    for name, *args in (
        ("logspace", 0, 3, 7), ("logspace", -1, 2, 4, False, 2.5), ("logspace", [0, 1], 2, 3), ("logspace", 0, 2, 0),
        ("geomspace", 1, 1000, 4), ("geomspace", -8, -1, 4, False), ("geomspace", [1, 2], [16, 2j], 5, True, None, 1),
        ("geomspace", 1, 256, 9, True, int), ("tril_indices", 4, 1, 5), ("triu_indices", 3, -1), ("triu_indices", 0),
        ("tril_indices", -1),
    ):  # fmt: skip
        found, expected = getattr(nl, name)(*args), getattr(np, name)(*args)
        assert type(found) is type(expected) or type(found) is nl.ndarray
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(nl.asnumpy(a), b, rtol=1e-14)


def test_generated_values_need_one_kernel() -> None:
    with assert_kernels(1):
        x = nl.arange(1000).reshape(10, -1).T * 2
        nl.evaluate(x)
    del x
    with assert_kernels(1):
        y = nl.eye(20, k=2) * 3 + nl.ones((20, 20))
        nl.evaluate(y)
    del y
    with assert_kernels(1):
        z = nl.linspace(0, 1, 100) ** 2
        nl.evaluate(z)


def test_array_copies_and_asarray_does_not() -> None:
    x = nl.arange(4)
    assert nl.asarray(x) is x and nl.asanyarray(x) is x
    assert nl.asarray(x, "i8") is x
    y = nl.array(x)
    y[0] = 9
    assert x.tolist() == [0, 1, 2, 3]
    assert nl.array(x, copy=False) is x
    assert nl.array(x, copy=None) is x
    with pytest.raises(ValueError):
        nl.array([1, 2], copy=False)
    with pytest.raises(ValueError):
        nl.asarray(x, "f4", copy=False)
    with pytest.raises(ValueError):
        nl.zeros(3, device="elsewhere")
    assert nl.zeros(3, device=x.device).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "bad",
    [object(), "text", ["a"], np.array(["x"]), np.array([object()])],
    ids=["object", "text", "list", "strings", "objects"],
)
def test_what_is_no_number_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match="not supported on the device"):
        nl.asarray(bad)
    with pytest.raises(OverflowError, match="too large"):
        nl.asarray(2**70)


@matches_numpy
def test_big_endian_and_unaligned_arrays(xp: Any) -> Any:
    raw = np.frombuffer(b"\0" + np.arange(4.0).tobytes(), "u1")[1:].view("f8")
    return xp.asarray(np.arange(3, dtype=">i4")) + 1, xp.asarray(raw) * 2


@pytest.mark.parametrize("count", [1 << 61, 1 << 62, 1 << 63, 1 << 70], ids=["61", "62", "63", "70"])
@pytest.mark.parametrize("make", [
    lambda xp, n: xp.empty(n, "f4"), lambda xp, n: xp.zeros((2, n), "f4"), lambda xp, n: xp.ones((n, 0, 2)),
    lambda xp, n: xp.full((n, n), 1), lambda xp, n: xp.empty((n, n), order="F"),
], ids=["empty", "zeros", "ones", "full", "order"])  # fmt: skip
def test_more_than_an_address_can_count(make, count):
    with pytest.raises(ValueError) as expected:
        make(np, count)
    with pytest.raises(ValueError) as raised:
        make(nl, count)
    assert str(raised.value) == str(expected.value)


def test_results_that_are_too_big():
    with pytest.raises(ValueError, match="too big"):
        nl.arange(1 << 62)
    column = nl.broadcast_to(nl.ones(()), (1 << 31, 1))
    with pytest.raises((ValueError, MemoryError)):
        nl.evaluate(column + column.T)


@pytest.mark.parametrize("name", ["zeros", "empty", "ones"])
def test_what_equals_a_known_shape_is_still_looked_at(name: str) -> None:
    for shape in (2, (2,), (2, 3), [2, 3], (), 0, (0, 3), np.int64(2), (np.int64(2), 3)):
        for dtype in (None, float, "f4", np.dtype("D"), np.uint8, bool):
            for order in "CF":
                for _ in range(2):
                    ours = getattr(nl, name)(shape, dtype, order)
                    theirs = getattr(np, name)(shape, dtype, order)
                    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
                    if theirs.size > 1:
                        assert ours.strides == theirs.strides
                    if name != "empty":
                        assert_bits_equal(ours, theirs.astype(ours.dtype))
    for shape in (2.0, (2.0,), (2, 3.0), -1, (2, -3), 2j):
        with pytest.raises((TypeError, ValueError)):
            getattr(nl, name)(shape)
    for order in ("K", "X"):
        with pytest.raises(ValueError, match="order"):
            getattr(nl, name)(2, float, order)
    with pytest.raises(TypeError):
        getattr(nl, name)(2, "O")


class Row(list):  # type: ignore[type-arg]
    """A list of another class."""


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: [a, b],
        lambda a, b: ([a], [b]),
        lambda a, b: [[1.5, [a, 2][1], 3], b],
        lambda a, b: Row([Row([a, b]), Row([b, a])]),
        lambda a, b: [Row([1.0, 2.0, 3.0]), (4, 5, 6)],
        lambda a, b: [[0, 0, 0], b],
        lambda a, b: [[[0, 0, 0], [1, 1, 1]], [[2, 2, 2], b]],
        lambda a, b: [],
        lambda a, b: [[], []],
        lambda a, b: [True, 2, 3.5],
        lambda a, b: [np.float32(1), 2],
        lambda a, b: [a[0], 2, b[1]],
    ],
)
def test_lists_of_any_depth_with_arrays_among_them(build: Any) -> None:
    host = np.array([1.0, 2.5, -3.0]), np.array([4, 5, 6])
    assert_bits_equal(nl.array(build(*map(nl.array, host))), np.array(build(*host)))


@pytest.mark.parametrize("ends", [(0, 300000, 100000), (1, 70000, 70000), (-70000, 0, 70000), (0, 1e5, 2e4)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_steps_that_are_no_number_of_the_dtype(ends: tuple[float, ...], dtype: str) -> None:
    """The first values are what they are: nothing times infinity is NaN."""
    scale = {"f2": 1.0, "f4": 1e34, "f8": 1e300}[dtype]
    start, stop, step = (end * scale for end in ends)
    with np.errstate(all="ignore"):
        assert_bits_equal(nl.arange(start, stop, step, dtype), np.arange(start, stop, step, dtype))  # type: ignore[call-overload]


def test_a_buffer_is_shared_as_numpy_shares_it() -> None:
    memory = bytearray(8)
    array = nl.frombuffer(memory, np.uint8, 4, 2)
    assert array.flags.writeable
    array[0] = 7
    nl.evaluate(array)
    if not registry.current().discrete:
        assert memory[2] == 7
        memory[3] = 9
        assert (array + 0).tolist() == [7, 9, 0, 0]
    else:
        assert array.tolist() == [7, 0, 0, 0]
    for unchanging in (b"abcdefgh", memoryview(b"abcdefgh"), bytes(8)):
        array = nl.frombuffer(unchanging, "<i2")
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        assert (array * 2).tolist() == (np.frombuffer(unchanging, "<i2") * 2).tolist()
    np.testing.assert_array_equal(nl.frombuffer(memory, ">i2").get(), np.frombuffer(memory, ">i2"))
    assert nl.frombuffer(b"a" + np.arange(3.0).tobytes(), "f8", 3, 1).tolist() == [0.0, 1.0, 2.0]


def test_diagonals_of_triangles_are_whole_numbers() -> None:
    """Floats, too, since NumPy computes with them; of fractions it makes steps of 0."""
    host = np.arange(12.0).reshape(3, 4)
    k: Any
    for k in (1.0, -1.0, np.float64(1), np.float32(0), True, nl.array([1.0]).sum(), nl.array([3, -1]).sum()):
        number = k.item() if isinstance(k, nl.ndarray) else k
        for name in ("tril", "triu"):
            assert_bits_equal(getattr(nl, name)(nl.asarray(host), k), getattr(np, name)(host, number))
        assert_bits_equal(nl.tri(3, 4, k), np.tri(3, 4, number))
    for k in (0.5, np.inf, np.nan, nl.array([0.25, 0.25]).sum(), "1"):
        with pytest.raises(TypeError):
            nl.tril(host, k)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.arange(7), lambda xp: xp.arange(0), lambda xp: xp.arange(1), lambda xp: xp.arange(-3),
        lambda xp: xp.arange(3, 9), lambda xp: xp.arange(9, 3), lambda xp: xp.arange(-4, 5, None),
        lambda xp: xp.arange(5, None), lambda xp: xp.arange(True), lambda xp: xp.arange(False, 5),
        lambda xp: xp.arange(2, 9, True), lambda xp: xp.arange(2, 9, 1.0), lambda xp: xp.arange(2, 5, dtype="f4"),
        lambda xp: xp.arange((1 << 53) - 2, (1 << 53) + 2), lambda xp: xp.arange(-(1 << 53) - 2, -(1 << 53) + 2),
        lambda xp: xp.arange(stop=4), lambda xp: xp.arange(2, stop=9, step=2),
        lambda xp: xp.full(5, True), lambda xp: xp.full(5, 3), lambda xp: xp.full(5, -(1 << 53) - 1),
        lambda xp: xp.full(5, (1 << 63) - 1), lambda xp: xp.full(5, 1 << 63), lambda xp: xp.full(5, 2.5),
        lambda xp: xp.full(5, 2j), lambda xp: xp.full(0, 3), lambda xp: xp.full((), 3), lambda xp: xp.full((2, 3), 3),
        lambda xp: xp.full(5, 300, "u1"), lambda xp: xp.full((5,), 3, order="F"), lambda xp: xp.full(5, 3, order="K"),
        lambda xp: xp.zeros(0), lambda xp: xp.zeros(5, "i2"), lambda xp: xp.zeros(5, order="F"),
        lambda xp: xp.zeros(-1), lambda xp: xp.zeros(1 << 62), lambda xp: xp.full(1 << 62, 3),
        lambda xp: xp.zeros(1 << 63),
        lambda xp: xp.ones(3), lambda xp: xp.zeros(True), lambda xp: xp.zeros(2.0), lambda xp: xp.zeros(5, order="X"),
        lambda xp: xp.arange(None), lambda xp: xp.zeros(4, "c8") * 0, lambda xp: xp.ones(4, bool),
    ],
)  # fmt: skip
def test_lengths_that_never_came_before(call: Any) -> None:
    wanted = error = None
    try:
        wanted = call(np)
    except (TypeError, ValueError, OverflowError) as raised:
        error = raised
    if error is not None:
        with pytest.raises(type(error)):
            call(nl)
        return
    for _ in range(3):  # What is recorded anew, learned and replayed.
        found = call(nl)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        assert not wanted.size or found.strides == wanted.strides
        assert found.get().tobytes() == wanted.tobytes()
