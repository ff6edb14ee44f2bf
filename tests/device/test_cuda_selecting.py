"""Masks computed by the kernel that selects by them, emulated on the host, and on the GPU where there is one."""

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.device.cuda.routines.compaction import Chosen
from numloom.emit.selecting import selectable
from numloom.engine import selecting
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.ops.elementwise import ELEMENTWISE


class Engine:
    """What the engine asks of a device, from an emulated one."""

    def __init__(self, emulated):
        self.emulated = emulated
        self.name = "cuda"

    def __getattr__(self, name):
        return getattr(self.emulated, name)

    def error_address(self):
        return 0

    def select(self, blocks, a):
        return Chosen(self.emulated, blocks, a)


def value(device, host):
    """A computed value in the device's memory."""
    code = nl.asarray(host[:0]).code
    return build.leaf(device.upload(host), code, host.shape, c_strides(host.shape, host.itemsize))


def host_of(device, node, dtype):
    return device.download(node.buffer, 0, node.size * np.dtype(dtype).itemsize).view(dtype)


@pytest.mark.parametrize("n", [1, 31, 4096, 9001])
@pytest.mark.parametrize("char", "?hfdD")
def test_one_kernel(emulated, n, char):
    device = Engine(emulated)
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal(n).astype(np.float32), rng.integers(0, 100, n).astype(char)
    for level in (-9.0, 0.3, 9.0):
        left, array = value(device, x), value(device, y)
        mask = build.binary_scalar(ELEMENTWISE["greater"], left, level)
        got = selecting._fused(array, mask, device)
        np.testing.assert_array_equal(host_of(device, got, y.dtype), y[x > np.float32(level)])
        assert mask.buffer is None


def test_what_is_not_simple_is_left(emulated):
    device = Engine(emulated)
    x = value(device, np.arange(12.0).reshape(3, 4))
    row = value(device, np.arange(4.0))
    assert selecting._fused(x, build.binary(ELEMENTWISE["greater"], x, row), device) is None
    assert selectable is not None


def check(x, mask, y, expected):
    got = y[mask]
    np.testing.assert_array_equal(got.get(), expected)
    np.testing.assert_array_equal(mask.get(), expected_mask(x))


def expected_mask(x):
    return x.get() > 0


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
