"""The host's routines against the NumPy twins of their rows."""

import numpy as np
import pytest

from numloom.base.config import config
from numloom.device import complaints
from numloom.device.cpu import blas_threads
from numloom.device.cpu.backend import CpuDevice
from numloom.device.cpu.hostview import ByAddresses, Product, as_array, compiled
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
    bound = None if compiled is None else DEVICE.bound_routine(name, *map(operand, hosts), out=out, **options)
    if bound is not None:  # By addresses, of other memory that lies likewise.
        given, again = list(map(operand, hosts)), empty(expected.shape, expected.dtype, order)
        at = [each.buffer.ptr + each.offset * each.dtype.itemsize for each in given]
        assert bound(*at, again.buffer.ptr)
        np.testing.assert_array_equal(as_array(again), expected)
    return as_array(out)


@pytest.mark.skipif(compiled is None, reason="compiled code takes addresses")
def test_errors_that_kernels_found_come_before_work_by_addresses():
    x, out = operand(np.array([3, 1, 2])), empty(3, np.int64)
    as_array(out)[...] = 7
    bound = DEVICE.bound_routine("sort", x, out=out, axis=0)
    complaints.put(DEVICE.error_address(), complaints.Found(5, 0, -1))
    assert bound(x.buffer.ptr, out.buffer.ptr) is False and (as_array(out) == 7).all()
    assert DEVICE.take_complaints() == [(5, 0, -1)]
    assert bound(x.buffer.ptr, out.buffer.ptr) is True and as_array(out).tolist() == [1, 2, 3]
    assert DEVICE.bound_routine("matmul", x, x, out=out) is None


@pytest.mark.skipif(compiled is None, reason="compiled code takes addresses")
def test_changes_in_place_by_addresses():
    x, where, value = operand(np.arange(5.0)), operand(np.array([1, 3])), operand(np.array([8.0, 9.0]))
    bound = DEVICE.bound_routine("scatter", x, value, where, axes=(0,), position=0, op="", loop=(), location=...)
    assert bound(x.buffer.ptr, value.buffer.ptr, where.buffer.ptr, 4) is True
    assert as_array(x).tolist() == [0, 8, 2, 9, 4]


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


def by_addresses(x, y, out=None):
    """A bound product of host arrays run once over memory full of 0xFB, what ran, and where all lies."""
    given = [operand(x), operand(y)]
    out = empty((x.shape[0], y.shape[1]), x.dtype) if out is None else out
    as_array(out)[...] = np.frombuffer(b"\xfb" * x.itemsize, x.dtype)[0]
    bound = DEVICE.bound_routine("matmul", *given, out=out)
    at = [each.buffer.ptr + each.offset * each.dtype.itemsize for each in (*given, out)]
    assert bound(*at) is True
    return as_array(out), bound, at


@pytest.mark.skipif(compiled is None, reason="compiled code takes addresses")
@pytest.mark.parametrize("char", "fd")
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("rows", [2, 3, 15, 16, 17, 33])
@pytest.mark.parametrize("shape", [(2, 2), (7, 15), (8, 17), (31, 33), (128, 96), (130, 260)])
def test_a_product_by_one_call_of_blas_has_the_bits_of_numpy_s(char, rows, shape):
    inner, columns = shape
    rng = np.random.default_rng(rows)
    wide = rng.standard_normal((rows + 2, inner + 3)).astype(char)
    other = rng.standard_normal((inner, columns)).astype(char)
    wide[1, 2], other[1, 0] = np.nan, np.inf
    for x in (wide[1:-1, 2:-1], wide[1:-1, 2:-1].T.copy().T):
        for y in (other, other.T.copy().T):
            expected = np.empty((rows, columns), char)
            blas_threads.matmul(x, y, expected)
            found, bound, at = by_addresses(x, y)
            assert type(bound) is Product
            assert found.tobytes() == expected.tobytes()
            before = found.copy()
            assert ByAddresses.__call__(bound, *at) is True
            assert found.tobytes() == before.tobytes()


@pytest.mark.skipif(compiled is None, reason="compiled code takes addresses")
def test_products_that_numpy_may_compute_otherwise_are_left_to_it():
    x = np.random.default_rng(0).standard_normal((40, 30))
    square = np.random.default_rng(0).standard_normal((30, 30))
    found, bound, (a, _, c) = by_addresses(x, x.copy().T)  # One matrix by another that has its numbers.
    assert type(bound) is Product
    assert bound(a, a, c) is True  # By itself NumPy knows the result to be symmetric.
    np.testing.assert_array_equal(found, x @ x.T)
    found, bound, at = by_addresses(square, square.copy())
    memory = operand(square)
    assert bound(memory.buffer.ptr, at[1], memory.buffer.ptr) is True  # Over what is read.
    np.testing.assert_allclose(as_array(memory), square @ square)
    for x, y in (
        (np.ones((1, 5)), np.ones((5, 4))), (np.ones((4, 5)), np.ones((5, 1))), (np.ones((4, 1)), np.ones((1, 4))),
        (np.ones((8, 10))[::2, ::2], np.ones((5, 4))), (np.ones((4, 5), "D"), np.ones((5, 4), "D")),
    ):  # fmt: skip
        found, bound, _ = by_addresses(x, y)
        assert type(bound) is not Product
        np.testing.assert_array_equal(found, x @ y)
    found, bound, _ = by_addresses(np.ones((4, 5)), np.ones((5, 6)), operand(np.empty((6, 4)).T))
    assert type(bound) is not Product and (found == 5).all()


@pytest.mark.skipif(compiled is None or blas_threads._openblas() is None, reason="who else has threads is not asked")
def test_a_little_product_by_addresses_is_one_thread_s_and_leaves_as_many_as_before():
    ask, say = blas_threads._openblas()
    before = ask()
    try:
        for threads in (1, 2):
            say(threads)
            for size in (8, 64, 128):
                x = np.random.default_rng(0).standard_normal((size, size))
                by_addresses(x, x.copy())
                assert ask() == threads
    finally:
        say(before)


@pytest.mark.skipif(compiled is None, reason="compiled code takes addresses")
def test_errors_that_kernels_found_come_before_a_product():
    x = np.ones((16, 16))
    found, bound, at = by_addresses(x, x + 1)
    assert type(bound) is Product
    found[...] = 7
    complaints.put(DEVICE.error_address(), complaints.Found(5, 0, -1))
    assert bound(*at) is False and (found == 7).all()
    assert DEVICE.take_complaints() == [(5, 0, -1)]
    assert bound(*at) is True and (found == 32).all()


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


def results(name, *hosts, **options):
    """What a routine whose results have sizes of their own gives, which is what its row's twin gives."""
    expected = ROWS[name].numpy(*hosts, **options)
    found = DEVICE.routine(name)(DEVICE, *map(operand, hosts), **options)
    for one, want in zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]:
        assert one.dtype == want.dtype
        np.testing.assert_array_equal(as_array(one), want)


@pytest.fixture(params=["wait", "never"])
def compiling(request):
    """Loops of ours, and NumPy's where nothing may be compiled."""
    with config(cpu_compile=request.param):
        yield CpuDevice() if request.param == "never" else DEVICE


@pytest.mark.parametrize("char", "?bhieldFD")
def test_selections(char, compiling, monkeypatch):
    monkeypatch.setitem(globals(), "DEVICE", compiling)
    for count in (0, 10, 5000, 40_001):
        a, mask = random(count, char), random(count, "?", 2)
        for where in (mask, mask & False, mask | True):
            results("compress", a, where)
        results("nonzero", a)
        results("nonzero", mask)
    matrix = random((70, 90), char)
    for a in (matrix, matrix.T, matrix[:, 3:], matrix[::-1, ::2]):
        results("compress", a, np.array(a != 0, order="C"))
        results("compress", a, random(a.shape[0], "?"))
    results("nonzero", matrix)


@pytest.mark.parametrize("char", "fd")
def test_histograms_of_regular_bins(char, compiling, monkeypatch):
    monkeypatch.setitem(globals(), "DEVICE", compiling)
    a = random(50_000, char)
    a[:4], a[4:300] = (np.nan, np.inf, -np.inf, 2.0), np.round(a[4:300], 1)
    for bins in (1, 7, 1000, 5000):
        edges = np.linspace(-2, 2, bins + 1).astype(char)
        for values in (a, a[::-3], a[:100]):
            run("histogram", values, edges, uniform=True)
        run("histogram", a[2000:], edges, uniform=False)


def test_distinct_whole_numbers():
    for char in "bHiQl":
        for low, high in ((0, 100), (50, 60), (-100, -3)):
            a = np.random.default_rng(1).integers(low, high, (80, 90)).astype(char)
            for index, inverse, counts in ((False, False, False), (True, True, True), (True, False, True)):
                results("unique", a, equal_nan=True, index=index, inverse=inverse, counts=counts)
    ends = np.repeat(np.array([2**64 - 1, 2**64 - 3], np.uint64), 3000)
    results("unique", ends, equal_nan=True, index=True, inverse=True, counts=True)
    results(
        "unique", np.array([0, 2**63 - 1, -(2**63)] * 2000), equal_nan=True, index=False, inverse=False, counts=True
    )
    results("unique", random(5000, "f"), equal_nan=False, index=True, inverse=True, counts=True)


@pytest.mark.parametrize("char", "fdlI")
def test_places_in_large_vectors(char):
    table = np.sort(random(300_000, char))
    values = random((60, 100), char, 3)
    if char in "fd":
        values[0, :3] = np.nan, np.inf, -0.0
    for side in ("left", "right"):
        run("searchsorted", table, values, side=side)
        run("searchsorted", table[:50], values, side=side)
