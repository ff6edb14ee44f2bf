"""Masks computed by the kernel that selects by them, emulated on the host, and on the GPU where there is one."""

import gc
from typing import Any

import numpy as np
import pytest
from cuda_emulation import EmulatedDevice

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import BOOL, ITEMSIZES
from numloom.device.cuda.routines import compaction
from numloom.device.cuda.routines.compaction import Chosen
from numloom.device.interface import Strided
from numloom.device.memory import Pool
from numloom.emit import compaction as emit_selecting
from numloom.engine import routines, selecting
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.ops.elementwise import ELEMENTWISE
from numloom.plan.program import Select
from nvrtc import compile_for_gpu


def strided(node: Any) -> Any:
    """A computed value's memory, where it lies."""
    return routines.strided(node, node.buffer)


class Engine:
    """What the engine asks of a device, from an emulated one."""

    def __init__(self, emulated):
        self.emulated = emulated
        self.name = "cuda"

    def __getattr__(self, name):
        return getattr(self.emulated, name)

    def error_address(self):
        return 0

    def select(self, blocks):
        return Chosen(self.emulated, blocks)


def value(device, host):
    """A computed value in the device's memory."""
    code = nl.asarray(host[:0]).code
    return build.leaf(device.upload(host), code, host.shape, c_strides(host.shape, host.itemsize))


def host_of(device, result):
    return device.download(result.buffer, 0, result.shape[0] * result.dtype.itemsize).view(result.dtype)


def elements(device, array, mask):
    """The elements that a mask selects, which is computed on the way."""
    return selecting._selected(
        mask,
        Select(ITEMSIZES[array.code]),
        array,
        lambda chosen, queue: host_of(device, chosen.elements(strided(array), queue)),
        device,
    )


@pytest.mark.parametrize("n", [1, 4096, 9001])
def test_one_kernel(emulated, n, char="h"):
    device = Engine(emulated)
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal(n).astype(np.float32), rng.integers(0, 100, n).astype(char)
    for level in (-9.0, 0.3, 9.0):
        left, array = value(device, x), value(device, y)
        mask = build.binary(ELEMENTWISE["greater"], left, level)
        np.testing.assert_array_equal(elements(device, array, mask), y[x > np.float32(level)])
        np.testing.assert_array_equal(elements(device, left, mask), x[x > np.float32(level)])
        assert mask.buffer is None


def test_views_that_the_mask_reads(emulated):
    device = Engine(emulated)
    x = np.random.default_rng(4).standard_normal(5000).astype(np.float32)
    base = value(device, x)
    for left, right in ((3, 3), (3, 5), (4, 4)):
        seen, array = (build.view(base, base.code, begin * 4, (4000,), (4,)) for begin in (left, right))
        mask = build.binary(ELEMENTWISE["greater"], seen, 0.25)
        expected = x[right : right + 4000][x[left : left + 4000] > 0.25]
        np.testing.assert_array_equal(elements(device, array, mask), expected)
    across = build.view(base, base.code, 8, (1200,), (16,))
    mask = build.binary(ELEMENTWISE["less"], across, 0.25)
    np.testing.assert_array_equal(
        elements(device, value(device, np.arange(1200)), mask), np.flatnonzero(x[2:4802:4] < 0.25)
    )


def test_what_is_not_simple_is_left(emulated):
    device = Engine(emulated)
    x = value(device, np.arange(12.0).reshape(3, 4))
    row = value(device, np.arange(4.0))
    assert elements(device, x, build.binary(ELEMENTWISE["greater"], x, row)) is None


def chosen_by_truth(device, flags, select, take):
    x = value(device, flags)
    chosen, queue = compaction._by(device, strided(x), select)
    return take(chosen, queue)


@pytest.mark.parametrize(("char", "rows"), [("?", "SMALL"), ("d", "SMALL"), ("D", "SMALL"), ("f", "LARGE")])
def test_many_tiles(emulated, monkeypatch, char, rows):
    """Tiles of several groups, blocks whose threads take turns in either order; all, some and none are chosen."""
    monkeypatch.setattr(emit_selecting, "SMALL", getattr(emit_selecting, rows))
    monkeypatch.setattr(compaction, "_by_truth", compaction._by_truth.__wrapped__)
    monkeypatch.setattr(compaction, "group_of", lambda tiles: 4)
    rng = np.random.default_rng(5)
    itemsize = np.dtype(char).itemsize
    tile = 1024 * getattr(emit_selecting, rows)[itemsize].rows
    n = 9 * tile + 77 if rows == "SMALL" else 2 * tile + 77
    y = rng.integers(-100, 100, n).astype(char)
    array = value(emulated, y)
    for density in (0.0, 0.03, 0.6, 1.0):
        monkeypatch.setattr(emulated, "backwards", not emulated.backwards)
        flags = (rng.random(n) < density).astype("?")
        got = chosen_by_truth(
            emulated, flags, Select(itemsize), lambda chosen, queue: chosen.elements(strided(array), queue)
        )
        np.testing.assert_array_equal(host_of(emulated, got), y[flags])
    if char != "d":
        return
    # Unaligned elements, by a mask that is one of many truths.
    some = y[1:]
    part = Strided(array.buffer, 1, some.shape, (1,), some.dtype)
    got = chosen_by_truth(emulated, some, Select(itemsize), lambda chosen, queue: chosen.elements(part, queue))
    np.testing.assert_array_equal(host_of(emulated, got), some[some != 0])


def test_blocks_in_any_order(tmp_path, monkeypatch):
    """Tiles wait for what those before them tell, which here begin after them."""
    monkeypatch.setattr(compaction, "group_of", lambda tiles: 4)
    device = EmulatedDevice(tmp_path, together=True)
    rng = np.random.default_rng(8)
    flags = rng.random(12 * 4096 - 5) < 0.4
    for _ in range(2):
        (got,) = compaction.nonzero(device, strided(value(device, flags)))
        np.testing.assert_array_equal(host_of(device, got), np.flatnonzero(flags))


def test_indices_and_rows(runner, monkeypatch):
    monkeypatch.setattr(compaction, "group_of", lambda tiles: 2)
    rng = np.random.default_rng(6)
    flags = rng.integers(0, 3, (3, 30, 200)).astype(np.float32)
    got = compaction.nonzero(runner, strided(value(runner, flags)))
    for result, expected in zip(got, np.nonzero(flags), strict=True):
        np.testing.assert_array_equal(host_of(runner, result), expected)
    rows = rng.random(3000) < 0.3
    mask = strided(value(runner, rows))
    for char, width in (("f", 10), ("b", 6), ("h", 1)):
        y = rng.integers(0, 100, (3000, width)).astype(char)
        got = compaction.compress(runner, strided(value(runner, y)), mask)
        assert got.shape == (rows.sum(), width)
        np.testing.assert_array_equal(
            runner.download(got.buffer, 0, y[rows].nbytes).view(char).reshape(got.shape), y[rows]
        )


def test_memory(emulated, monkeypatch):
    """What is chosen holds no more memory than it needs; where memory is short, it is counted first."""
    pool = Pool("test", emulated._raw_allocate, lambda address, nbytes: emulated._blocks.pop(address))
    monkeypatch.setattr(emulated, "pool", pool)
    n = 40_000
    y = np.arange(n, dtype=np.float32)
    array = strided(value(emulated, y))

    def pick(count):
        mask = strided(value(emulated, np.arange(n) % n < count))
        return compaction.compress(emulated, array, mask)

    for count, used, parted in ((0, 256, 0), (5000, 20480, 0), (20_000, 81920, 163840), (n, 163840, 0)):
        got = pick(count)
        np.testing.assert_array_equal(host_of(emulated, got), y[:count])
        assert (pool.used, pool.parted) == (used, parted)
        del got
        assert (pool.used, pool.parted) == (0, 0)
    monkeypatch.setattr(emulated, "total_memory", 600_000)
    pool.reset_peak()
    got = pick(20_000)
    np.testing.assert_array_equal(host_of(emulated, got), y[:20_000])
    assert pool.peak == 0


def test_texts_compile():
    for itemsize, axes in ((16, 0), (2, 3)):
        compile_for_gpu(compaction._by_truth(BOOL, 10**8, True, Select(itemsize, axes=axes)).text)


@pytest.mark.cuda
@pytest.mark.parametrize("char", "?hfdD")
def test_many_elements(gpu, monkeypatch, char):
    rng = np.random.default_rng(9)
    n = 4_000_003
    y, z = rng.integers(0, 100, n).astype(char), rng.random(n)
    gc.collect()
    used, parted = gpu.pool.used, gpu.pool.parted
    array = strided(value(gpu, y))
    kept = []
    for density in (0.0, 0.01, 0.3, 0.9, 1.0, 0.3):
        mask = strided(value(gpu, z < density))
        kept.append((z < density, compaction.compress(gpu, array, mask)))
        (places,) = compaction.nonzero(gpu, mask)
        np.testing.assert_array_equal(host_of(gpu, places), np.flatnonzero(z < density))
    monkeypatch.setattr(gpu, "total_memory", 1)
    kept.append((z < 0.5, compaction.compress(gpu, array, strided(value(gpu, z < 0.5)))))
    for mask, got in kept:
        np.testing.assert_array_equal(host_of(gpu, got), y[mask])
    del array, places, got, kept
    mask = None
    assert gpu.pool.parted == parted and gpu.pool.used <= used + (1 << 20)


@pytest.mark.parametrize("n", [0, 1, 1000, 1_000_003])
def test_boolean_index(n):
    host = np.random.default_rng(2).standard_normal(n).astype(np.float32)
    x = nl.asarray(host)
    nl.synchronize() if hasattr(nl, "synchronize") else None
    np.testing.assert_array_equal(x[x > 0].get(), host[host > 0])
    mask = x > 0
    np.testing.assert_array_equal(x[mask].get(), host[host > 0])
    np.testing.assert_array_equal(x[mask].get(), host[host > 0])
    np.testing.assert_array_equal(mask.get(), host > 0)
    np.testing.assert_array_equal(x[1:][x[1:] * 2 < x[:-1] + 0.5].get(), host[1:][host[1:] * 2 < host[:-1] + 0.5])
    np.testing.assert_array_equal(x[::-1][x > 0].get(), host[::-1][host > 0])
    y = x * 2
    np.testing.assert_array_equal(y[y > 3].get(), (host * 2)[host * 2 > 3])
    np.testing.assert_array_equal(y[nl.arange(n) % 3 == 0].get(), (host * 2)[np.arange(n) % 3 == 0])
    np.testing.assert_array_equal(x[x > 9].get(), host[host > 9])


def test_a_mask_of_memory_that_is_written_later():
    host = np.random.default_rng(3).standard_normal(5000)
    x = nl.asarray(host)
    mask = x > 0
    x[:10] = -1
    changed = host.copy()
    changed[:10] = -1
    np.testing.assert_array_equal(x[mask].get(), changed[host > 0])
    np.testing.assert_array_equal(x[x > 0].get(), changed[changed > 0])
    mask = x.reshape(50, 100) > 0
    np.testing.assert_array_equal(x.reshape(50, 100)[mask].get(), changed[changed > 0])
    np.testing.assert_array_equal(
        x.reshape(50, 100).T[mask.T].get(), changed.reshape(50, 100).T[(changed > 0).reshape(50, 100).T]
    )
    assert wrap(node_of(mask)).shape == (50, 100)
