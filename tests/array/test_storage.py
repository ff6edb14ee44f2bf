"""Cells: who shares memory sees writes, what was read before stays, and writing a part costs its size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.array.storage import pin, unpin
from numloom.base.config import config
from numloom.engine.state import counters
from numloom.graph.node import VIEW
from numloom.testing import assert_bits_equal, assert_kernels


def test_views_share_their_cell_and_copies_do_not() -> None:
    x = nl.arange(12.0).reshape(3, 4)
    assert x[1:].storage is x.storage and x.T.storage is x.storage and x.reshape(-1).storage is x.storage
    assert x.copy().storage is not x.storage and (x + 0).storage is not x.storage


def test_what_was_read_before_stays() -> None:
    x = nl.arange(5.0)
    before = x * 1
    value = x.storage.value
    x[2] = 99
    x += 1
    assert x.storage.value is not value
    assert before.get().tolist() == [0, 1, 2, 3, 4]
    assert x.get().tolist() == [1, 2, 100, 4, 5]


OVERLAPS = {
    "forward": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "backward": lambda x: x.__setitem__(slice(None, -1), x[1:]),
    "reversed": lambda x: x.__setitem__(slice(None), x[::-1]),
    "transposed": lambda x: x.__iadd__(x.T),
    "stencil": lambda x: x[1:-1].__iadd__(x[2:] + x[:-2]),
    "column": lambda x: x.__imul__(x[:, 1:2]),
    "broadcast": lambda x: x.__setitem__(slice(None), x[2]),
    "sum": lambda x: x.__isub__(x.sum(axis=0)),
}


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_writing_what_overlaps_gives_numpys_answer(name: str, order: Any) -> None:
    host = np.arange(36.0).reshape(6, 6, order=order) ** 2
    mine = nl.array(host)
    kept = mine[2:4].copy()
    row, expected_row = mine[3], host[3]
    expected_kept = host[2:4].copy()
    OVERLAPS[name](mine)
    OVERLAPS[name](host)
    assert np.array_equal(mine.get(), host)
    assert np.array_equal(row.get(), expected_row)
    assert np.array_equal(kept.get(), expected_kept)


@pytest.mark.parametrize("pending", [False, True])
def test_writes_through_views_are_seen_by_all(pending: bool) -> None:
    host = np.arange(24).reshape(4, 6)
    mine = nl.arange(24).reshape(4, 6)
    if not pending:
        nl.evaluate(mine)
    for x in (host, mine):
        view = x.T[::2]
        view[...] = -1
        x[2][3] = 5
        x.reshape(-1)[7:9] = 8
        view[0] += 2
    assert np.array_equal(mine.get(), host)
    assert np.array_equal(mine.T[::2].get(), host.T[::2])


def test_empty_writes_check_shapes_and_do_nothing() -> None:
    x = nl.arange(4.0)
    value = x.storage.value
    x[2:2] = 7
    assert x.storage.value is value
    with pytest.raises(ValueError, match="could not broadcast input array"):
        x[1:1] = nl.arange(3.0)


def test_pinned_memory_stays_where_it_is() -> None:
    x = nl.arange(8.0)
    pending = x + 1
    value = pin(x.storage)
    address = value.buffer.ptr
    x[2:4] = -1
    x *= 2
    x[...] = x[::-1] + 0
    nl.evaluate(x)
    assert x.storage.value.buffer.ptr == address
    assert pending.get().tolist() == list(range(1, 9))
    assert x.get().tolist() == [14, 12, 10, 8, -2, -2, 2, 0]
    unpin(x.storage)
    assert x.storage.pins == 0


def test_a_lazy_copy_does_not_follow_pinned_memory() -> None:
    x = nl.arange(4.0)
    y = x.copy()
    pin(x.storage)
    x[0] = 5
    assert y.get().tolist() == [0, 1, 2, 3]
    assert x.get().tolist() == [5, 1, 2, 3]
    unpin(x.storage)


fused = pytest.mark.skipif(config.executor == "reference" or config.eager, reason="nothing runs in place")


@fused
def test_elements_written_one_by_one_stay_in_their_memory() -> None:
    with config(placement="device"):  # Else a GPU's would move to the host.
        x = nl.zeros(100_000)
        nl.evaluate(x)
        address, copies = x.storage.value.buffer.ptr, counters.copies
        for i in range(30):
            x[i] = i
            nl.evaluate(x)
        assert (x.storage.value.buffer.ptr, counters.copies) == (address, copies)
        assert x[:31].get().tolist() == [*range(30), 0]


@fused
def test_a_part_written_in_place_is_one_kernel() -> None:
    x = nl.zeros(100_000)
    nl.evaluate(x)
    with assert_kernels(1):
        x[10:20] += 1
    assert float(x.sum()) == 10


@fused
def test_the_old_is_copied_if_it_is_still_needed() -> None:
    x = nl.arange(1000.0)
    nl.evaluate(x)
    y = x.copy()
    x[3] = -1
    nl.evaluate(x)
    assert float(y[3]) == 3 and float(x[3]) == -1


def test_elements_that_begin_anywhere_are_moved_as_bytes() -> None:
    """A GPU reads and writes elements at multiples of their size alone."""
    memory = np.arange(200, dtype="u1")
    for look in (
        lambda a: a[1:161].view("f8"),
        lambda a: a[3:163].view("i4")[::-2],
        lambda a: a[:198].reshape(22, 9)[:, :8].view("u8"),
        lambda a: a[:198].reshape(11, 18)[:, 1:17].view("F").T,
    ):
        host = memory.copy()
        ours = nl.asarray(host)
        assert_bits_equal(look(ours) * 2, look(host) * 2)
        for x in (ours, host):
            look(x)[...] = 7
            look(x)[1:] += 3
            look(x)[[0, -1]] = 5
        assert_bits_equal(ours, host)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "F", "D"])
def test_memory_of_others_that_begins_anywhere(dtype: str) -> None:
    """Elements are read where they lie if that is a multiple of their size, wherever the memory begins."""
    memory = (np.arange(400) % 251).astype("u1")
    first = -memory.ctypes.data % 16
    for begin in range(16):
        host = memory[first + begin :][:200]
        ours = nl.from_dlpack(host)
        base = ours.storage.value
        start = base.buffer.ptr % 16  # On another device it is a copy's.
        assert start == begin or base.buffer.ptr != host.ctypes.data
        for offset in range(17):
            part = slice(offset, offset + 160)
            value = node_of(ours[part].view(dtype))
            there = value.kind == VIEW and value.args[0] is base
            aligned = (ours.offset + start + offset) % np.dtype(dtype).itemsize == 0
            assert there == aligned, (begin, offset)
            if offset % 5 == 0 and begin % 3 == 0:
                assert_bits_equal(ours[part].view(dtype).copy(), host[part].view(dtype).copy())


def test_one_element_is_written_backwards_and_reduced_in_one_kernel() -> None:
    x = nl.asarray(np.ones(1)) + 1
    other = x.copy()
    back = nl.flip(x)
    back[...] = back.copy()
    x[...] = x + x.max(0)
    assert_bits_equal(x, np.array([4.0]))
    assert_bits_equal(other, np.array([2.0]))
