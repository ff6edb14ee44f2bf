"""The host's routines against the NumPy twins of their rows."""

import numpy as np
import pytest

from numloom.device.cpu.backend import CpuDevice
from numloom.device.cpu.hostview import as_array
from numloom.device.cpu.routines import ROUTINES
from numloom.device.interface import Strided
from numloom.ops.routines import ROUTINES as ROWS

DEVICE = CpuDevice()


def operand(host):
    """A host array on the device with its own strides, inside a larger buffer."""
    base = host
    while isinstance(base.base, np.ndarray):
        base = base.base
    itemsize = host.dtype.itemsize
    offset = (host.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // itemsize
    strides = tuple(stride // itemsize for stride in host.strides)
    return Strided(DEVICE.upload(np.ascontiguousarray(base)), offset, host.shape, strides, host.dtype)


def empty(shape, dtype, order="C"):
    return operand(np.empty(shape, dtype, order))


def run(name, *hosts, dtype=None, shape=None, order="C", **options):
    expected = ROWS[name].numpy(*hosts, **options)
    out = empty(expected.shape, expected.dtype, order)
    DEVICE.routine(name)(DEVICE, *map(operand, hosts), out=out, **options)
    np.testing.assert_array_equal(as_array(out), expected)
    return as_array(out)


def random(shape, char, seed=1):
    rng = np.random.default_rng(seed)
    if char == "?":
        return rng.random(shape) < 0.3
    if char in "efd":
        return rng.normal(size=shape).astype(char)
    if char in "FD":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(char)
    return rng.integers(0, 100, shape).astype(char)


def test_every_routine_has_a_row():
    assert set(ROUTINES) <= set(ROWS)
    assert all(ROWS[name].sized for name in ROUTINES)


def test_operands_with_offsets_and_strides_are_seen_as_they_are():
    base = np.arange(60.0).reshape(5, 12)
    for view in (base[1:, 2::3], base.T[::-1], base[::-1, ::-2], base[2], base[2:2], base[None, :, :1]):
        np.testing.assert_array_equal(as_array(operand(view)), view)


@pytest.mark.parametrize("char", "?bBhHiIlLefdFD")
@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 5)), ((40, 50), (50, 60)), ((2, 1, 20, 30), (3, 30, 20)), ((3, 0), (0, 2))]
)
def test_matmul(char, shapes):
    a, b = random(shapes[0], char), random(shapes[1], char, 2)
    expected = ROWS["matmul"].numpy(a, b)
    out = empty(expected.shape, expected.dtype)
    DEVICE.routine("matmul")(DEVICE, operand(a), operand(b), out=out)
    if char in "efdFD":
        np.testing.assert_allclose(as_array(out), expected, rtol=1e-2 if char == "e" else 1e-4, atol=1e-3)
    else:
        np.testing.assert_array_equal(as_array(out), expected)


@pytest.mark.parametrize("char", "bil")
def test_integer_products_wrap_as_numpy_s(char):
    info = np.iinfo(char)
    rng = np.random.default_rng(3)
    run("matmul", *(rng.integers(info.min, info.max, (40, 40), dtype=char) for _ in range(2)))


def test_matmul_of_views_into_a_view():
    a, b = random((50, 40), "d").T, random((100, 60), "d")[::2]
    out = empty((40, 60), "d", "F")
    DEVICE.routine("matmul")(DEVICE, operand(a), operand(b), out=out)
    np.testing.assert_allclose(as_array(out), a @ b)


@pytest.mark.parametrize("char", "?bHilefdFD")
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_order(char, axis):
    a = random((6, 7, 8), char)
    if char in "efd":
        a[2, 3, 4] = np.nan
    for host in (a, a.transpose(2, 0, 1), a[::-1, ::2]):
        run("sort", host, axis=axis)
        run("sort", host, axis=axis, order="F")
        run("argsort", host, axis=axis)
        run("scan", host, op="add" if char != "?" else "logical_or", axis=axis)
        if char not in "FD":
            run("scan", host, op="maximum", axis=axis)


def test_empty_order():
    for shape in ((0,), (3, 0), (0, 3)):
        for axis in range(len(shape)):
            run("sort", np.empty(shape), axis=axis)
            run("scan", np.empty(shape), op="add", axis=axis)
