"""Slices that are written and read at once: whoever read before keeps the old values, as in NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import for_all_dtypes

TARGETS: list[Any] = [
    (slice(3, 6), slice(None)), (slice(None), 2), (1,), (Ellipsis, 0), (slice(None, None, -1), slice(1, None, 2)),
    (slice(2, 2),), (Ellipsis,), (None, 3), (slice(None), None, 4), (0, 0), (Ellipsis, 1, 1), slice(1, 3), (2, None),
]  # fmt: skip


@pytest.mark.parametrize("index", TARGETS, ids=str)
@for_all_dtypes()
def test_numbers_in_slices(index: Any, dtype: np.dtype[Any]) -> None:
    start = (np.arange(42) % 5).astype(dtype).reshape(6, 7)
    for value in (0, 1, True, 2.0 if dtype.kind in "fc" else 3):
        host, ours = start.copy(), nl.asarray(start)
        nl.evaluate(ours)
        before, view, seen = ours.copy(), ours[1:, ::2], ours + 0
        host[index] = value
        ours[index] = value
        np.testing.assert_array_equal(nl.asnumpy(ours), host)
        np.testing.assert_array_equal(nl.asnumpy(view), host[1:, ::2])
        np.testing.assert_array_equal(nl.asnumpy(seen), start + 0)
        np.testing.assert_array_equal(nl.asnumpy(before), start)


@pytest.mark.parametrize("index", TARGETS, ids=str)
def test_arrays_in_slices(index: Any) -> None:
    start = np.arange(42.0).reshape(6, 7)
    other = np.arange(100.0, 142).reshape(6, 7)
    for value in (
        lambda a: a[index], lambda a: a[index][::-1], lambda a: a[index][..., :1], lambda a: a[0, 0],
        lambda a: a[index][None],
        lambda a: a[index].astype("f4"), lambda a: a[index].astype(int),
    ):  # fmt: skip
        host, ours, given = start.copy(), nl.asarray(start), nl.asarray(other)
        nl.evaluate(ours, given)
        try:
            wanted = value(other)
            host[index] = wanted
        except (ValueError, IndexError):
            continue
        seen = ours * 1
        ours[index] = value(given)
        np.testing.assert_array_equal(nl.asnumpy(ours), host)
        np.testing.assert_array_equal(nl.asnumpy(seen), start)
        np.testing.assert_array_equal(nl.asnumpy(given), other)


def test_memory_that_is_read_and_written() -> None:
    for width in (1, 2, 7):
        for to, source in (
            (slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)), (slice(None), slice(None, None, -1)),
            (slice(0, 5), slice(5, 10)), (slice(0, 6, 2), slice(1, 4)), (slice(3, 0, -1), slice(2, 5)),
        ):  # fmt: skip
            host = np.arange(10.0 * width).reshape(10, width)
            ours = nl.asarray(host)
            host[to] = host[source]
            ours[to] = ours[source]
            np.testing.assert_array_equal(nl.asnumpy(ours), host)
    square = np.arange(9.0).reshape(3, 3)
    ours = nl.asarray(square)
    square[...] = square.T.copy()
    ours[...] = ours.T
    np.testing.assert_array_equal(nl.asnumpy(ours), square)


def test_windows_keep_what_is_written_last() -> None:
    host, ours = np.zeros(6), nl.zeros(6)
    values = np.arange(12.0).reshape(4, 3)
    for xp, memory in ((np, host), (nl, ours)):
        windows = xp.lib.stride_tricks.as_strided(memory, (4, 3), (8, 8))
        windows[...] = xp.asarray(values)
        repeated = xp.lib.stride_tricks.as_strided(memory, (2, 2), (0, 8))
        repeated[...] = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(nl.asnumpy(ours), host)


def test_what_may_not_be_written() -> None:
    x = nl.zeros(5)
    x.flags.writeable = False
    for write in (lambda: x.__setitem__(slice(1, 3), 1.0), lambda: x.fill(2.0), lambda: x[1:].fill(2.0)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    y = nl.zeros((2, 3))
    with pytest.raises(ValueError, match="broadcast"):
        y[:, :2] = nl.ones(3)
    with pytest.raises(ValueError, match="sequence"):
        y[0, 0] = nl.ones(3)
    small = nl.zeros(4, "u1")
    for value in (256, -1):
        with pytest.raises(OverflowError):
            small[1:3] = value
        with pytest.raises(OverflowError):
            small.fill(value)
    assert not small.any() and not x.any()


def test_exported_memory_is_written() -> None:
    x = nl.zeros(6)
    if not hasattr(x, "__array_interface__"):
        pytest.skip("memory of a GPU")
    seen = np.from_dlpack(x)
    x[1:3] = 2.0
    x[3:] = nl.ones(3)
    assert seen.tolist() == [0, 2, 2, 1, 1, 1] == x.tolist()
    seen[0] = 7
    assert x[:2].copy().tolist() == [7, 2] and x.tolist()[0] == 7


def test_fill() -> None:
    for dtype in ("?", "i2", "u8", "f2", "f4", "f8", "c16"):
        for part in (lambda a: a, lambda a: a[::2], lambda a: a[1:1], lambda a: a.reshape(2, 5).T):
            for value in (0, 1, 1.0, True, np.float64(1)):
                host, ours = np.arange(10).astype(dtype), nl.asarray(np.arange(10).astype(dtype))
                part(host).fill(value)
                part(ours).fill(value)
                np.testing.assert_array_equal(nl.asnumpy(ours), host)
    with pytest.raises(ValueError, match="sequence"):
        nl.zeros(3).fill(np.ones(2))
    with pytest.raises(TypeError):
        nl.zeros(3, int).fill([1, 2])


def test_lists_of_parts() -> None:
    host = np.arange(24).reshape(2, 3, 4)
    for dtype in ("i8", "f4", "?", "c8", "f2", "u1"):
        values = host.astype(dtype)
        ours = nl.asarray(values)
        for part in (
            lambda a: a, lambda a: a.T, lambda a: a[1], lambda a: a[..., ::-2], lambda a: a[:, :0],
            lambda a: a[0, 0, 0], lambda a: a[None, :, 1],
        ):  # fmt: skip
            found, wanted = part(ours).tolist(), part(values).tolist()
            assert found == wanted and repr(found) == repr(wanted)
    pending = nl.asarray(np.arange(3.0)) + 1
    assert pending.tolist() == [1.0, 2.0, 3.0]
    pending[1:] = 0
    assert pending.tolist() == [1.0, 0.0, 0.0]


@for_all_dtypes()
def test_elements_one_after_the_other(dtype: np.dtype[Any]) -> None:
    for count in (0, 1, 5, 16, 17, 40):
        host = (np.arange(2 * count) % 7).astype(dtype)[::-2]
        ours = nl.asarray(host[::-1])[::-1]
        found = list(ours)
        assert [one.item() for one in found] == host.tolist() and all(one.dtype == dtype for one in found)
        assert [one.item() for one in (ours + ours)] == (host + host).tolist()
    assert [row.tolist() for row in nl.asarray(np.arange(4)).reshape(2, 2)] == [[0, 1], [2, 3]]
    first, *rest = nl.asarray(np.arange(3.0))
    first += 1
    assert (first.item(), rest[1].item()) == (1.0, 2.0)


SEEN: list[Any] = [
    lambda xp, a: a[None], lambda xp, a: a[:, None], lambda xp, a: a[..., None], lambda xp, a: a[None, ..., 1:, None],
    lambda xp, a: a[..., 0], lambda xp, a: a[1, ...], lambda xp, a: a[...], lambda xp, a: a[None, 1, None, :2],
    lambda xp, a: a[0, ..., 0], lambda xp, a: a[..., -1, :], lambda xp, a: a[()], lambda xp, a: a[..., :, :, :],
    lambda xp, a: a.ravel(), lambda xp, a: a.T.ravel(), lambda xp, a: a.ravel("F"), lambda xp, a: a.ravel("K"),
    lambda xp, a: a.reshape(-1), lambda xp, a: a.reshape(2, -1), lambda xp, a: a.reshape((3, 8)),
    lambda xp, a: a.reshape(4, 1, 6),
    lambda xp, a: a.T.reshape(4, 6), lambda xp, a: a[:, ::2].reshape(-1), lambda xp, a: a[:, :0].reshape(0, 5),
    lambda xp, a: a.reshape([np.int64(6), 4]), lambda xp, a: a.reshape(8, 3, order="F"),
    lambda xp, a: a[1, 1, 1:2].reshape(()),
    lambda xp, a: xp.squeeze(a[:, :1]), lambda xp, a: xp.squeeze(a), lambda xp, a: xp.squeeze(a[:1, :1, :1]),
    lambda xp, a: xp.squeeze(a[None], 0), lambda xp, a: a[:1].squeeze(),
]  # fmt: skip


@pytest.mark.parametrize("see", SEEN)
def test_views(see: Any) -> None:
    host = np.arange(24.0).reshape(2, 3, 4)
    ours = nl.asarray(host)
    wanted, found = see(np, host), see(nl, ours)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_array_equal(nl.asnumpy(found), wanted)
    shares = np.shares_memory(wanted, host)
    if wanted.size:
        host[...] = ours[...] = -1
        assert bool((nl.asnumpy(found) == -1).all()) == shares


def test_wrong_views() -> None:
    x = nl.zeros((2, 3))
    for index in ((0, 0, 0), (Ellipsis, Ellipsis), (None, 0, 0, 0), (Ellipsis, 5), (2, Ellipsis)):
        with pytest.raises(IndexError):
            x[index]
        with pytest.raises(IndexError):
            x[index] = 1
    for shape in ((4,), (-1, -1), (-1, 4), (7, -1), (2**70, 1), (0, -1), (2, 0)):
        with pytest.raises((ValueError, OverflowError)):
            x.reshape(shape)
    with pytest.raises(TypeError):
        x.reshape(True, 6)
    with pytest.raises(TypeError):
        x.reshape(2.0, 3)


def test_random_programs() -> None:
    """Writes and reads in any order, with copies and pending work between them."""
    for seed in range(60):
        choose = random.Random(seed)
        hosts = [np.arange(12.0) + k for k in range(3)]
        ours = [nl.asarray(host) for host in hosts]
        later: list[tuple[Any, Any]] = []
        for _ in range(25):
            a, b = choose.randrange(3), choose.randrange(3)
            low = choose.randrange(10)
            high = low + choose.randrange(1, 12 - low + 1)
            step = choose.choice([1, 1, -1, 2])
            to = slice(low, high)
            what = choose.randrange(8)
            for arrays, xp, kept in ((hosts, np, 0), (ours, nl, 1)):
                x, y = arrays[a], arrays[b]
                if what == 0:
                    x[to] = float(low)
                elif what == 1:
                    x[to] = y[12 - (high - low) :][::step] if step != 2 else y[12 - (high - low) :]
                elif what == 2:
                    x[low] = y[high - 1]
                elif what == 3:
                    arrays[a] = y.copy()
                elif what == 4:
                    x[to] += y[to]
                elif what == 5:
                    arrays[a] = y * 0.5 + 1
                elif what == 6:
                    x.reshape(3, 4)[:, 1] = float(high)
                elif kept:
                    later[-1] = (later[-1][0], x[to] + 0)
                else:
                    later.append((x[to] + 0, None))
            if choose.random() < 0.2:
                assert ours[a].tolist() == hosts[a].tolist(), seed
        for mine, host in zip(ours, hosts, strict=True):
            np.testing.assert_array_equal(nl.asnumpy(mine), host, err_msg=str(seed))
        for wanted, found in later:
            np.testing.assert_array_equal(nl.asnumpy(found), wanted, err_msg=str(seed))


@pytest.mark.parametrize(("offset", "step"), [(2, -1), (3, 2), (0, 0), (8, 4), (1, 8), (24, -8)])
def test_a_number_in_elements_that_lie_over_each_other(offset: int, step: int) -> None:
    """In part: of bytes that two elements have, those of the last one stay, and elements may begin anywhere."""
    start = np.arange(12.0) / 3
    host, ours = start.copy(), nl.asarray(start)
    nl.evaluate(ours)
    for base, xp in ((host, np), (ours, nl)):
        xp.ndarray((3,), "f8", base, offset, (step,))[...] = 1
        xp.ndarray((2, 2), "f4", base, 40, (4, -2))[...] = 2.5
    assert nl.asnumpy(ours).tobytes() == host.tobytes()
