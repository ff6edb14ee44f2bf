"""Views by strides, bounds of memory: what NumPy does not look at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import numloom as nl
from numloom.lib.array_utils import byte_bounds
from numloom.lib.stride_tricks import as_strided, sliding_window_view


def test_windows_are_views_that_a_kernel_reads_without_a_copy() -> None:
    x = nl.arange(10.0)
    windows = sliding_window_view(x, 3)
    assert windows.base is x and windows.strides == (8, 8)
    x[4] = 100
    np.testing.assert_array_equal(windows.max(-1).get(), [2, 3, 100, 100, 100, 7, 8, 9])
    with pytest.raises(ValueError, match="read-only"):
        windows[0, 0] = 1


def test_a_strided_view_writes_through() -> None:
    x = nl.zeros((3, 4))
    as_strided(x, (3,), (x.strides[0] + x.strides[1],))[...] = 5
    np.testing.assert_array_equal(x.get(), 5 * np.eye(3, 4))
    assert not as_strided(x, writeable=False).flags.writeable


@pytest.mark.parametrize(("shape", "strides"), [((6,), (8,)), ((2,), (-8,)), ((2, 2), (40, 8)), ((5,), (9,))])
def test_a_strided_view_stays_in_the_memory(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="leaves the memory"):
        as_strided(nl.arange(5), shape, strides)
    with pytest.raises(ValueError, match="mismatch"):
        as_strided(nl.arange(5), shape, (*strides, 8))


def test_byte_bounds() -> None:
    x = nl.arange(24.0).reshape(4, 6)
    first, last = byte_bounds(x)
    assert last - first == 24 * 8
    assert byte_bounds(x[1:3, ::-2]) == (first + 8 * 7, first + 8 * 18)
    assert byte_bounds(x[:0])[0] == byte_bounds(x[:0])[1]


def test_files_behind_their_headers(tmp_path: Path) -> None:
    """`lib.format` writes what NumPy reads, and the other way round; mapped files are ours."""
    form = nl.lib.format
    path = tmp_path / "mapped.npy"
    made = form.open_memmap(path, "w+", "f4", ((nl.ones(2) > 0).sum(), 3), fortran_order=True)
    assert type(made) is nl.memmap
    made[0] = [1, 2, 3]
    made.flush()
    host = np.load(path)
    assert host.tolist() == [[1, 2, 3], [0, 0, 0]] and host.flags.f_contiguous
    assert (form.open_memmap(path, "r") + 1).tolist() == [[2, 3, 4], [1, 1, 1]]
    with path.open("wb") as file:
        form.write_array(file, nl.arange(3.0), (2, 0))
    with path.open("rb") as file:
        assert form.read_magic(file) == (2, 0)
        assert form.read_array_header_2_0(file) == ((3,), False, np.dtype("f8"))
    with path.open("rb") as file:
        found = form.read_array(file)
    assert type(found) is nl.ndarray and found.tolist() == [0.0, 1.0, 2.0]
    assert form.header_data_from_array_1_0(nl.ones((2, 3))) == np.lib.format.header_data_from_array_1_0(np.ones((2, 3)))
    assert {name for name in dir(np.lib.format) if name[0] != "_"} <= set(dir(form))
