"""Small new arrays that are made at once: what NumPy makes, and what the longer way makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import for_all_dtypes

SHAPES: list[Any] = [0, 1, 7, (), (3,), (2, 3), (0, 4), (1, 1, 1, 2), (2,) * 9, (4096,), (64, 65), np.int64(3), [2, 2]]
MADE: list[Callable[..., Any]] = [
    lambda xp, shape, **options: xp.zeros(shape, **options),
    lambda xp, shape, **options: xp.ones(shape, **options),
    lambda xp, shape, **options: xp.full(shape, 2.5, **options),
    lambda xp, shape, **options: xp.full(shape, 3, **options),
    lambda xp, shape, **options: xp.full(shape, True, **options),
    lambda xp, shape, **options: xp.full(shape, -1.0, **options),
]


def same(found: Any, wanted: Any) -> None:
    """All that can be told of the two is the same."""
    host = nl.asnumpy(found)
    assert (host.dtype, host.shape) == (wanted.dtype, wanted.shape)
    assert type(found) is nl.ndarray and (not wanted.size or found.strides == wanted.strides)
    np.testing.assert_array_equal(host, wanted)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_filled(shape: Any) -> None:
    for make in MADE:
        for options in ({}, {"dtype": None}, {"dtype": "f4"}, {"dtype": np.int16}, {"dtype": bool}, {"order": "F"}):
            with np.errstate(invalid="ignore"):
                wanted = make(np, shape, **options)
            same(make(nl, shape, **options), wanted)
            with nl.config(unplanned=0):
                same(make(nl, shape, **options), wanted)
    for options in ({}, {"dtype": "i4"}, {"order": "F"}):
        found, wanted = nl.empty(shape, **options), np.empty(shape, **options)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        assert not wanted.size or found.strides == wanted.strides


@for_all_dtypes()
def test_of_each_dtype(dtype: np.dtype[Any]) -> None:
    for xp_value in (0, 1, 1.0, True):
        same(nl.full((2, 3), xp_value, dtype), np.full((2, 3), xp_value, dtype))
    same(nl.zeros(5, dtype), np.zeros(5, dtype))
    same(nl.ones(5, dtype.name), np.ones(5, dtype))


def test_what_is_made_is_written_and_kept_apart() -> None:
    x, y = nl.zeros(4), nl.zeros(4)
    x[1] = 2
    assert x.tolist() == [0, 2, 0, 0] and y.tolist() == [0] * 4
    unset = nl.empty(3)
    unset[:] = 1.5
    assert (unset + 1).tolist() == [2.5] * 3
    assert nl.zeros(()).shape == () and not nl.zeros(()).is_scalar


def test_wrong_arguments() -> None:
    for make in (nl.zeros, nl.ones, nl.empty):
        with pytest.raises(ValueError, match="negative"):
            make(-1)
        with pytest.raises(TypeError):
            make("3")
        with pytest.raises(TypeError):
            make((2.0,))
        with pytest.raises(TypeError):
            make(2, "no dtype")
        with pytest.raises(TypeError):
            make(2, nothing=1)
        with pytest.raises(TypeError):
            make()
        with pytest.raises(ValueError, match="order"):
            make(2, order="Q")
    for dtype in ("u1", np.int8):
        with pytest.raises(OverflowError):
            nl.full(3, 300, dtype)


@pytest.mark.parametrize(
    "arguments",
    [
        (5,),
        (0,),
        (-3,),
        (1,),
        (2, 7),
        (-4, 3),
        (7, 2),
        (2, 7, 1),
        (2, 7, 2),
        (5.0,),
        (True,),
        (1, 4, 1, "f4"),
        (4, None, 1, int),
    ],
    ids=str,
)
def test_numbered(arguments: tuple[Any, ...]) -> None:
    same(nl.arange(*arguments), np.arange(*arguments))
    x = nl.arange(*arguments)
    if x.size:
        x[0] = 9
        assert nl.arange(*arguments).tolist() == np.arange(*arguments).tolist()


@pytest.mark.parametrize("arguments", [(3,), (1, 5), (2.5,), (0, 7, 2), (0,)], ids=str)
def test_where_and_like_what(arguments: tuple[Any, ...]) -> None:
    """Neither is overlooked, whether numbers are made at once or not."""
    for device in (None, "auto", nl.zeros(1).device):
        same(nl.arange(*arguments, device=device), np.arange(*arguments))
    same(nl.arange(*arguments, like=np.zeros(2)), np.arange(*arguments))
    with pytest.raises(ValueError, match="no device"):
        nl.arange(*arguments, device="elsewhere")
    for wrong in (5, [1.0], "f8"):
        with pytest.raises(TypeError, match="like"):
            np.arange(*arguments, like=wrong)
        with pytest.raises(TypeError, match="like"):
            nl.arange(*arguments, like=wrong)


def test_numbered_far_away() -> None:
    for first in (2**53 - 2, -(2**53), 2**62, -(2**63)):
        same(nl.arange(first, first + 3), np.arange(first, first + 3))


def test_lists() -> None:
    lists: list[Any] = [
        [1.0, 2.0], [1, 2], (3, 4.5), [[1.0, 2.0], [3.0, 4.0]], [True, 2], [], [1, "2"], [[1], [2]], [1j, 2.0],
    ]  # fmt: skip
    for items in lists:
        for make in (lambda xp, *given: xp.array(*given), lambda xp, *given: xp.asarray(*given)):
            for dtype in (None, float, "f4", int):
                try:
                    wanted = make(np, items, dtype)
                except (TypeError, ValueError) as error:
                    with pytest.raises(type(error)):
                        make(nl, items, dtype)
                    continue
                if wanted.dtype.kind in "biufc":
                    same(make(nl, items, dtype), wanted)
    with pytest.raises(ValueError, match="inhomogeneous"):
        nl.array([[1.0], [2.0, 3.0]])


def test_arrays_are_themselves_where_nothing_changes() -> None:
    x = nl.asarray(np.arange(6.0).reshape(2, 3))
    assert nl.asarray(x) is x and nl.ascontiguousarray(x) is x and nl.array(x) is not x
    assert nl.asarray(x, "f8") is x and nl.asarray(x, "f4") is not x
    turned = nl.ascontiguousarray(x.T)
    assert turned.strides == (16, 8) and turned.tolist() == np.arange(6.0).reshape(2, 3).T.tolist()
    number = x[0, 1]
    made = nl.asarray(number)
    made[...] = 7
    assert made is not number and (number.item(), made.item()) == (1.0, 7.0)
    assert nl.ascontiguousarray(number).shape == (1,)
    with nl.config(unplanned=0):
        assert nl.asarray(x) is x


def test_copies_are_apart() -> None:
    base = np.arange(24.0).reshape(4, 6)
    for part in (lambda a: a, lambda a: a.T, lambda a: a[::-1, 1::2], lambda a: a[:, None, 3], lambda a: a[2:2]):
        for copy in (
            lambda xp, a: a.copy(), lambda xp, a: xp.copy(a), lambda xp, a: xp.array(a), lambda xp, a: a.copy("F"),
            lambda xp, a: a.copy("K"), lambda xp, a: a.flatten(),
        ):  # fmt: skip
            host, ours = base.copy(), nl.asarray(base)
            wanted, found = copy(np, part(host)), copy(nl, part(ours))
            same(found, wanted)
            found[...] = -1
            assert ours.tolist() == base.tolist()
            ours[...] = 5
            assert nl.asnumpy(found).tolist() == np.full(wanted.shape, -1.0).tolist()


def test_a_tree_has_no_memory_of_its_making() -> None:
    @nl.compile
    def stepped(x: Any) -> Any:
        y = nl.zeros(3)
        y[1:] = x[1:]
        z = y.copy()
        z[0] += nl.arange(3)[2]
        return nl.full(3, 2.0) + y + z

    for first in (1.0, 5.0):
        x = nl.asarray(np.array([first, 2.0, 3.0]))
        assert stepped(x).tolist() == [4.0, 6.0, 8.0]


@for_all_dtypes()
def test_of_arrays_of_numpys(dtype: np.dtype[Any]) -> None:
    whole = np.arange(24).astype(dtype).reshape(4, 6)
    sealed = whole.copy()
    sealed.flags.writeable = False
    parts = [whole, whole[0], whole[:, 2], whole[::-1], whole.T, whole[:0], whole[:, :0], whole[1, 1:2], sealed]
    shapes = [np.zeros((), dtype), np.ones((1,) * 9, dtype), np.ones(5000, dtype), whole.reshape(2, 3, 4)]
    if dtype.kind not in "?V" and dtype.isbuiltin == 1 and dtype.itemsize > 1:
        shapes.append(whole.astype(dtype.newbyteorder()))
    for host in parts + shapes:
        native, before = host.astype(dtype), host.tobytes()  # which keeps the order of the axes
        for make in (nl.asarray, nl.array, lambda host: nl.array(host, copy=True)):
            found = make(host)
            same(found, native.copy("K"))
            if make is nl.asarray and not host.dtype.isnative:
                assert not found.flags.writeable, "NumPy's array would be written to, this one is a copy"
            else:
                found[...] = 1
            assert host.tobytes() == before, "the array shares memory with NumPy's"
            with nl.config(unplanned=0):
                same(make(host), native.copy("K"))


def test_classes_of_numpys_arrays_are_looked_at() -> None:
    class Labelled(np.ndarray):
        pass

    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for make in (nl.asarray, nl.array):
        with pytest.raises(TypeError, match="no masks"):
            make(masked)
        same(make(np.array([[1, 2]]).view(Labelled)), np.array([[1, 2]]))
