"""CUDA's routines against the NumPy twins of their rows: emulated on the host, and on the GPU where there is one."""

import ctypes
import enum

import numpy as np
import pytest
from cuda_emulation import told

from numloom.base.config import config
from numloom.base.dtypes import code_of
from numloom.device.cpu.hostview import array_at
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda.routines import (
    BOUND,
    RECORDED,
    ROUTINES,
    correlation,
    folding,
    products,
    radix,
    scans,
    scattering,
    summing,
)
from numloom.device.cuda.routines.kernels import address
from numloom.device.cuda.routines.scripts import Launch
from numloom.device.interface import Strided
from numloom.ops.routines import ROUTINES as ROWS

ALL = "?bBhHiIlLefdFD"
FEW = "?eLD"


def operand(device, host):
    """A host array on the device with its own strides, inside a larger buffer."""
    base = host
    while isinstance(base.base, np.ndarray):
        base = base.base
    itemsize = host.dtype.itemsize
    offset = (host.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // itemsize
    strides = tuple(stride // itemsize for stride in host.strides)
    return Strided(device.upload(base.ravel(order="K")), offset, host.shape, strides, host.dtype)


def back(device, result):
    itemsize = result.dtype.itemsize
    data = device.download(result.buffer, 0, result.buffer.nbytes)
    strides = tuple(stride * itemsize for stride in result.strides)
    return np.ndarray(result.shape, result.dtype, data, result.offset * itemsize, strides)


def run(device, name, *hosts, order="C", expected=None, **options):
    if expected is None:
        expected = ROWS[name].numpy(*hosts, **options)
    operands = [operand(device, host) for host in hosts]
    out = operand(device, np.empty(expected.shape, expected.dtype, order))
    ROUTINES[name](device, *operands, out=out, **options)
    found = back(device, out)
    again(device, name, hosts, operands, out, found, options)
    return found, expected


def again(device, name, hosts, operands, out, found, options):
    """What was recorded of a routine gives the same bits where memory lies elsewhere."""
    if name not in RECORDED:
        return
    script = BOUND[name](device, *operands, out=out, **options)
    if script is None:
        assert Launch is None or name in ("sort", "argsort", "lexsort", "partition", "argpartition")
        return
    found = found.copy("K")
    for x in (*operands, out):
        device.clear(x.buffer, x.buffer.nbytes)
    for _ in range(2):
        elsewhere = [operand(device, host) for host in hosts]
        result = operand(device, np.empty(found.shape, found.dtype, "C" if found.flags.c_contiguous else "F"))
        assert result.strides == out.strides
        assert script(*map(address, elsewhere), address(result)) is True
        assert back(device, result).tobytes() == found.tobytes()


def same(device, name, *hosts, **options):
    np.testing.assert_array_equal(*run(device, name, *hosts, **options))


def random(shape, char, seed=1):
    rng = np.random.default_rng(seed)
    if char == "?":
        return rng.random(shape) < 0.3
    if char in "efdE":
        return rng.normal(size=shape).astype("bfloat16" if char == "E" else char)
    if char in "FD":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(char)
    info = np.iinfo(char)
    return rng.integers(info.min, info.max, shape, dtype=char)


def awkward(shape, char, seed=1):
    """Many equal values, and the special ones."""
    if char == "?":
        return random(shape, char, seed)
    if char in "FD":
        result = np.empty(shape, char)
        result.real, result.imag = awkward(shape, char.lower(), seed), awkward(shape, char.lower(), seed + 1)
        return result
    rng = np.random.default_rng(seed)
    result = rng.integers(0 if char in "BHIL" else -50, 50, shape).astype(char)
    flat = result.reshape(-1)
    if char in "efd" and flat.size > 20:
        flat[::17], flat[5], flat[7], flat[9] = np.nan, -0.0, np.inf, -np.nan
    return result


def chars(runner):
    return ALL if runner.name == "cuda" and hasattr(runner, "pinned") else FEW


def large(runner):
    """Several blocks: enough for the emulation, and really many on the GPU."""
    return 3_000_001 if hasattr(runner, "pinned") else 10_007


def views(x):
    yield x
    if x.ndim > 1:
        yield x.T
    yield x[::-1]
    yield x[..., ::2]


def test_every_routine_has_a_row():
    assert set(ROUTINES) <= set(ROWS)


# ---------------------------------------------------------------- selection


@pytest.mark.parametrize("shape", [(300,), (5, 7, 20), (1, 1), (0,), (3, 0)])
def test_selection(runner, shape):
    for char in chars(runner):
        for x in views(random(shape, char) * (random(shape, "?", 2) if char != "?" else True)):
            found = ROUTINES["nonzero"](runner, operand(runner, x))
            for got, expected in zip(found, np.nonzero(x), strict=True):
                np.testing.assert_array_equal(back(runner, got), expected)
            for lead in range(1, x.ndim + 1):
                mask = random(x.shape[:lead], "?", 3)
                got = ROUTINES["compress"](runner, operand(runner, x), operand(runner, mask))
                np.testing.assert_array_equal(back(runner, got), x[mask])


def test_selection_over_many_blocks(runner):
    n = large(runner)
    x = random((n,), "?")
    (found,) = ROUTINES["nonzero"](runner, operand(runner, x))
    np.testing.assert_array_equal(back(runner, found), np.flatnonzero(x))
    values = random((n,), "f")
    got = ROUTINES["compress"](runner, operand(runner, values), operand(runner, values > 0))
    np.testing.assert_array_equal(back(runner, got), values[values > 0])


# ---------------------------------------------------------------- scans


def check_scan(runner, x, op, axis, order="C"):
    # NumPy adds one after the other, and loses digits that a tree of sums keeps.
    working = {"e": np.float32, "f": np.float64, "F": np.complex128}.get(x.dtype.char, x.dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, op).accumulate(x.astype(working), axis, working).astype(x.dtype)
    got, _ = run(runner, "scan", x, order=order, expected=expected, op=op, axis=axis)
    if x.dtype.kind in "fc" and op in ("add", "multiply"):
        bound = {"e": 1e-2, "f": 1e-4, "F": 1e-4}.get(x.dtype.char, 1e-9)
        scale = np.abs(expected).max(initial=1)
        np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * scale)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(100,), (3, 40), (2, 50, 4), (40, 3), (0,), (3, 0), (1, 1)])
def test_scan(runner, shape):
    for char in chars(runner):
        ops = ["logical_xor", "add", "maximum"] if char == "?" else ["add", "maximum", "fmin"]
        for x in views(random(shape, char)):
            for axis in range(x.ndim):
                for op in ops[:1] if char in "FD" else ops:
                    check_scan(runner, x, op, axis, order="F" if axis else "C")


def test_scan_over_many_chunks(runner):
    n = large(runner)
    for char in "lfe" if n > 100_000 else "lf":
        check_scan(runner, random((n,), char) if char == "l" else np.abs(random((n,), char)) / n, "add", 0)
    check_scan(runner, random((3, n // 3), "d"), "maximum", 1)
    check_scan(runner, random((n // 3, 3), "d"), "minimum", 0)
    check_scan(runner, random((n,), "b"), "multiply", 0)
    check_scan(runner, np.exp(1j * random((n,), "d")), "multiply", 0)


def test_scan_over_groups_of_tiles(runner):
    check_scan(runner, random((20_000,), "D") / 1e4, "add", 0)
    for length in (32_768, 40_001):
        check_scan(runner, random((2, length), "l"), "add", 1)
        check_scan(runner, random((2, length + 1), "f")[:, 1:], "maximum", 1)
    for shape in ((1030, 33), (9000, 3), (2, 2100, 5)):
        check_scan(runner, random(shape, "d"), "add", len(shape) - 2)
        check_scan(runner, random(shape, "h")[..., ::-1], "add", len(shape) - 2)


@pytest.mark.parametrize("chars", ["fb", "d"])
def test_scan_by_large_tiles(runner, chars, monkeypatch):
    """Tiles of which a part waits in registers."""
    scans._launch.cache_clear()
    monkeypatch.setattr(scans, "ENOUGH_BLOCKS", 1)
    for char in chars:
        check_scan(runner, random((2, 110_001), char) if char == "b" else random((2, 110_001), char) / 1e4, "add", 1)
    scans._launch.cache_clear()


def test_scan_of_short_lines(runner):
    for length in (33, 64, 130, 257, 513) if chars(runner) == ALL else (33, 257):
        for char in "fdb":
            check_scan(runner, random((19, length), char), "add" if char != "f" else "maximum", 1)
            check_scan(runner, random((19, length + 3), char)[:, 2:-1], "maximum", 1)


def test_scan_of_nan(runner):
    x = awkward((9000,), "d")
    for op in ("maximum", "minimum", "fmax", "fmin"):
        check_scan(runner, x, op, 0)
        check_scan(runner, x[20:].copy(), op, 0)


# ---------------------------------------------------------------- in turn


def near(device, name, *hosts, **options):
    """As `same`, but NumPy's loops of these functions round otherwise."""
    got, expected = run(device, name, *hosts, **options)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_scans_in_turn(runner):
    x = random((5, 70), "d")
    same(runner, "scan", x, op="subtract", axis=1)
    near(runner, "scan", x.T, op="logaddexp", axis=1, order="F")
    same(runner, "scan", awkward((40,), "D")[::-1], op="maximum", axis=0)
    same(runner, "scan", random((2, 6, 70), "d")[:, ::2], op="subtract", axis=2)
    same(runner, "scan", random((40, 3), "e"), op="subtract", axis=0)


@pytest.mark.parametrize("op", ["subtract", "fmod"])
def test_folds(runner, op):
    for char in "eh" if op == "subtract" else "d":
        for x in (random((3, 75), char), random((40, 65), char).T, random((2, 5, 7), char)[::-1, ::2]):
            mask = random(x.shape, "?", 2)
            first = np.array(3, char)
            for axis in range(x.ndim):
                same(runner, "fold", x, op=op, axis=axis, initial=False)
                same(runner, "fold", x, first, mask, op=op, axis=axis, initial=True)
    same(runner, "fold", np.empty((4, 0)), np.array(2.0), op=op, axis=1, initial=True)


@pytest.mark.parametrize("op", ["add", "maximum", "subtract"])
def test_segments(runner, op, monkeypatch):
    starts = np.array([0, 5, 5, 300, 7, 60, 599])
    for char in "eD" if op != "subtract" else "fi":
        for x, axis in ((random((600,), char), 0), (random((2, 600), char)[:, ::-1], 1), (random((600, 3), char), 0)):
            same(runner, "reduceat", x, starts, op=op, axis=axis, location=1)
            same(runner, "reduceat", x, starts[::2], op=op, axis=axis, location=1, order="F")
            with monkeypatch.context() as short:
                # Segments in pieces, the last of them not whole.
                short.setattr(folding, "PIECE", 256)
                same(runner, "reduceat", x, starts, op=op, axis=axis, location=1)
                # More segments than pieces that there may be: one piece each.
                short.setattr(folding, "MOST_PIECES", 4)
                same(runner, "reduceat", x, starts, op=op, axis=axis, location=1)
    n = large(runner)
    same(runner, "reduceat", random((n,), "f"), np.array([0, 3, n // 2]), op=op, axis=0, location=1)
    assert not told(runner)


@pytest.mark.parametrize("op", ["add", "minimum"])
def test_many_short_segments(runner, op):
    """A lane's each, but for those of more than 8 elements."""
    rng = np.random.default_rng(8)
    n = 6000
    starts = np.sort(rng.choice(n, 4500, replace=False))
    starts[:20], starts[30], starts[4000:] = 7, 2, starts[4000]  # Some that are long, equal or not in order.
    assert np.diff(starts).max() > 8
    for char in "eifdD":
        for x, axis in ((random((n,), char)[::-1], 0), (random((2, n), char), 1), (random((n, 2), char), 0)):
            same(runner, "reduceat", x, starts, op=op, axis=axis, location=1)
    assert not told(runner)
    out = operand(runner, np.zeros(n))
    wrong = operand(runner, np.where(np.arange(n) == 4711, n, np.arange(n)))
    ROUTINES["reduceat"](runner, operand(runner, np.ones(n)), wrong, op=op, axis=0, location=7, out=out)
    assert told(runner) == 7


def test_a_segment_out_of_bounds_is_told_of(runner):
    out = operand(runner, np.zeros(2))
    for n in (9, 9000):
        starts = operand(runner, np.array([0, n]))
        ROUTINES["reduceat"](runner, operand(runner, np.ones(n)), starts, op="add", axis=0, location=7, out=out)
        assert told(runner) == 7


# ---------------------------------------------------------------- stores at index arrays


def scattered(device, target, *operands, op="", loop=(), **options):
    """What `scatter` makes of a target, and what its twin does."""
    expected = target.copy("K")
    options = {"op": op, "loop": tuple(code_of(char) for char in loop), "location": 5, **options}
    ROWS["scatter"].numpy(expected, *operands, **options)
    base = target.copy("K")
    out = operand(device, base)
    ROUTINES["scatter"](device, out, *(operand(device, host) for host in operands), **options)
    np.testing.assert_array_equal(back(device, out), expected)
    return expected


@pytest.mark.parametrize("way", ["sorted", "owners", "dense"])
def test_stores_at_indices(runner, way, monkeypatch):
    monkeypatch.setattr(scattering, "SMALL", 0 if way == "sorted" else 1 << 22)
    monkeypatch.setattr(scattering, "FEW", 0 if way == "sorted" else 16)
    monkeypatch.setattr(scattering, "DENSE", 1 << 20 if way == "dense" else 0)
    rng = np.random.default_rng(4)
    for char in "e" if way == "dense" else "eD":
        x = awkward((6, 5, 7), char)
        i, j = rng.integers(-6, 6, (9, 1)), rng.integers(0, 7, 8)
        scattered(runner, x, random((9, 5, 7), char), i[:, 0], axes=(0,), position=0)
        scattered(runner, x, random((6, 40, 7), char), rng.integers(0, 5, 40), axes=(1,), position=1)
        scattered(runner, x, random((9, 8, 5), char), i, j, axes=(0, 2), position=0)
        scattered(runner, x.T, random((5, 9, 1), char), i, j, axes=(2, 0), position=1)
        scattered(runner, x[0, 0], random((), char), j, axes=(0,), position=0)
        scattered(runner, x[:, 0], random((9, 8), char), i, j, axes=(0, 1), position=0)
    n = large(runner)
    scattered(runner, np.zeros(400), random((n,), "d"), rng.integers(-400, 400, n), axes=(0,), position=0)
    for char in "BHILbhil":  # As in NumPy large unsigned ones count from the end.
        index = rng.integers(0 if char in "BHI" else -6, 6, 9).astype(char)
        scattered(runner, awkward((6, 5), "d"), random((9, 5), "d"), index, axes=(0,), position=0)
    assert not told(runner)


@pytest.mark.parametrize("op", ["", "add"])
def test_stores_along_an_empty_axis(runner, op):
    """Every index is out of bounds, and nothing is launched without blocks."""
    for shape, axes, n in (((0, 3), (0,), 2), ((3, 0), (1,), 2), ((0, 3, 4), (0, 2), 3)):
        x = operand(runner, np.zeros(shape))
        given = [operand(runner, np.zeros(n, np.int64)) for _ in axes]
        loop = (code_of(np.dtype("d")),) * 3 if op else ()
        ROUTINES["scatter"](
            runner, x, operand(runner, np.ones(())), *given, axes=axes, position=0, op=op, loop=loop, location=5
        )  # fmt: skip
        assert told(runner) == 5


def test_stores_that_are_assumed_to_be_apart(runner, monkeypatch):
    """Lines that are all different, but one, or that many elements name; in one axis and in two."""
    monkeypatch.setattr(scattering, "MANY", 16)
    rng = np.random.default_rng(4)
    apart = rng.permutation(900)[:700]
    once = apart.copy()
    once[600] = once[13]
    for index in (apart, once, rng.integers(0, 300, 700), apart - 900):
        scattered(runner, random((900,), "d"), random((700,), "d", 2), index, axes=(0,), position=0)
        i, j = np.divmod(index.reshape(70, 10) % 900, 30)
        scattered(runner, random((30, 30), "h").T, random((10,), "h", 2), i, j, axes=(0, 1), position=0)
    assert not told(runner)
    wrong = operand(runner, np.arange(5, 905))
    for given in (wrong, operand(runner, np.arange(5, 905) // 2 * 2)):
        out = operand(runner, np.zeros(900))
        ROUTINES["scatter"](
            runner, out, operand(runner, np.ones(900)), given, axes=(0,), position=0, op="", loop=(), location=5
        )
        assert told(runner) == 5
        assert back(runner, out).sum() == (895 if given is wrong else 448)


def test_operations_at_indices(runner):
    rng = np.random.default_rng(5)
    i, k = rng.integers(-4, 4, (3, 50)), rng.integers(0, 4, 90)
    for op, loop, own in (
        ("add", "ddd", "f"), ("subtract", "eee", "e"), ("maximum", "DDD", "D"), ("add", "qqq", "q"),
        ("less", "dd?", "d"),
    ):  # fmt: skip
        other = loop[1]
        x = random((4,), own)
        scattered(runner, x, random((3, 50), other), i, op=op, loop=loop, axes=(0,), position=0)
        scattered(runner, random((3, 4), own), random((3, 90), other), k, op=op, loop=loop, axes=(1,), position=1)
        scattered(runner, random((4, 3), own).T, random((3, 50, 3), other), i, op=op, loop=loop, axes=(1,), position=0)
    scattered(runner, random((4,), "d"), k, op="negative", loop="dd", axes=(0,), position=0)
    many = rng.integers(0, 3, 900)
    scattered(runner, random((4,), "f"), random((900,), "d"), many, op="add", loop="ddd", axes=(0,), position=0)
    scattered(runner, random((4,), "f"), random((), "d"), many, op="add", loop="ddd", axes=(0,), position=0)
    # In any order, to the same end.
    for op, char in (("maximum", "f"), ("minimum", "d"), ("maximum", "q"), ("bitwise_xor", "I")):
        target = np.array([3, 0, 0, 100, 7, 1, 2]).astype(char)
        if char in "fd":
            target[1], target[5], target[6] = -np.nan, np.inf, -np.inf
        values, places = awkward((5, 50), char), rng.integers(0, 7, (5, 50))
        # Zeros of both signs leave the positive one as the largest: NumPy's depends on their order.
        values[values == 0] = 0
        places[np.isnan(values.astype("d")) & (places > 2)] = 0
        scattered(runner, target, values, places, op=op, loop=char * 3, axes=(0,), position=0)
    n = large(runner)
    for char in "dl":
        wild = rng.integers(0, 300, n).astype("i")
        scattered(runner, np.zeros(300, char), random((n,), char), wild, op="add", loop=char * 3, axes=(0,), position=0)


def test_an_index_out_of_bounds_is_told_of_and_writes_nothing(runner):
    for op, loop in (("", ()), ("add", (code_of("q"),) * 3), ("multiply", (code_of("q"),) * 3)):
        out = operand(runner, np.ones(4, np.int64))
        value, index = operand(runner, np.array([3, 4, 5])), operand(runner, np.array([1, 4, -5]))
        options = {"axes": (0,), "position": 0, "op": op, "loop": loop, "location": 9}
        ROUTINES["scatter"](runner, out, value, index, **options)
        assert back(runner, out).tolist() == [1, {"": 3, "add": 4, "multiply": 3}[op], 1, 1]
        assert told(runner) == 9


def test_weighted_bincount(runner, monkeypatch):
    monkeypatch.setattr(summing, "PART", 128)
    rng = np.random.default_rng(7)
    for char, bins, weight in (("l", 45, "d"), ("l", 1, "d"), ("B", 200, "e"), ("l", 6200, "d")):
        x, weights = rng.integers(0, min(bins, 200), 800).astype(char), random((400,), weight)
        same(runner, "weighted_bincount", x[:120], weights[:120], minlength=bins)  # one part: in their order
        got, expected = run(runner, "weighted_bincount", x[::-2], weights[::-1], minlength=bins)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    for bins in (0, 3):
        same(runner, "weighted_bincount", x[:0], weights[:0], minlength=bins)
    assert not told(runner)


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("shape", [(300,), (5, 7, 20), (30, 3), (1,), (0,), (3, 0)])
def test_order(runner, shape):
    for char in chars(runner):
        for x in views(awkward(shape, char)):
            for axis in range(x.ndim):
                same(runner, "sort", x, axis=axis, order="F" if axis else "C")
                same(runner, "argsort", x, axis=axis)


def test_order_over_many_tiles(runner):
    n = large(runner)
    for char in "fD":
        same(runner, "argsort", awkward((n,), char), axis=0)
        same(runner, "sort", awkward((n,), char), axis=0)
    same(runner, "argsort", awkward((2, n // 2), "h").T, axis=0)
    same(runner, "argsort", random((n,), "d"), axis=0)


@pytest.mark.parametrize("char", ALL[:12].replace("L", "F"))
def test_order_by_digits(runner, char):
    if char not in "bhfdF" and chars(runner) == FEW:
        pytest.skip("one dtype of each kind and size is enough where threads are emulated")
    for x in (awkward((20_011,), char), random((40_000,), char)[::-2]):
        same(runner, "sort", x, axis=0)
        same(runner, "argsort", x, axis=0)
    if char in "hd" and hasattr(runner, "pinned"):
        x = awkward((2, large(runner) // 2 + 140_000), char)
        same(runner, "argsort", x, axis=1)
        same(runner, "sort", x.T, axis=0, order="F")
        same(runner, "lexsort", x[0], x[1], axis=0)


def test_bits_survive_sorting_by_digits(runner):
    x = random((20_000,), "f")
    x[::7], x[1::70], x[2::70] = np.nan, -np.nan, -0.0
    got, _ = run(runner, "sort", x, axis=0)
    np.testing.assert_array_equal(np.sort(got.view("i")), np.sort(x.view("i")))


def test_digits_that_all_keys_share_are_skipped(runner, monkeypatch):
    monkeypatch.setattr(radix, "FULL", 0)
    n = 20_000
    few = np.random.default_rng(0).integers(0, 3, n)
    for x in (np.full(n, 7, "l"), few << 40, (few - 1).astype("h"), few * 1.5, few.astype("?")):
        same(runner, "sort", x, axis=0)
        same(runner, "argsort", x, axis=0)


def test_partition(runner):
    x = awkward((200, 3), "f")
    got, expected = run(runner, "partition", x, kth=(50,), axis=0)
    np.testing.assert_array_equal(got[50], expected[50])
    at, _ = run(runner, "argpartition", x, kth=(50, 60), axis=0)
    np.testing.assert_array_equal(np.take_along_axis(x, at, 0)[[50, 60]], np.sort(x, 0)[[50, 60]])


def test_lexsort(runner):
    for keys in ("fb?", "Db", "l"):
        for axis in (0, 1):
            same(runner, "lexsort", *(awkward((40, 60), char) for char in keys), axis=axis)
    n = large(runner)
    same(runner, "lexsort", awkward((n,), "f"), awkward((n,), "h"), axis=0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(runner, side):
    for char in chars(runner):
        a = np.sort(awkward((100,), char))
        for v in views(awkward((7, 9), char, 4)):
            same(runner, "searchsorted", a, v, side=side)
        same(runner, "searchsorted", a[:0], awkward((3,), char), side=side)


@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique(runner, equal_nan):
    for char in chars(runner):
        for x in (*views(awkward((5, 60), char)), awkward((0,), char), awkward((1,), char)):
            for asked in ((True, True, True), (False, False, False), (False, False, True), (True, False, False)):
                options = {"equal_nan": equal_nan, **dict(zip(("index", "inverse", "counts"), asked, strict=True))}
                got = ROUTINES["unique"](runner, operand(runner, x), **options)
                for result, expected in zip(got, ROWS["unique"].numpy(x, **options), strict=True):
                    np.testing.assert_array_equal(back(runner, result), expected)


def test_unique_of_many(runner):
    x = awkward((large(runner) + 20_000,), "f")
    for asked in (True, False):
        options = {"equal_nan": True, "index": asked, "inverse": asked, "counts": True}
        got = ROUTINES["unique"](runner, operand(runner, x), **options)
        for result, expected in zip(got, ROWS["unique"].numpy(x, **options), strict=True):
            np.testing.assert_array_equal(back(runner, result), expected)


# ---------------------------------------------------------------- counting


def test_bincount(runner):
    rng = np.random.default_rng(6)
    for bins in (1, 7, 1000, 20_000):
        for char in "bBhl" if bins < 100 else "hHl":
            for n in (0, 3, large(runner)):
                x = rng.integers(0, min(bins, np.iinfo(char).max), n).astype(char)
                for view in (x, x[::-2], x[1:]):
                    for minlength in (0, 5, 7000):
                        got = ROUTINES["bincount"](runner, operand(runner, view), minlength=minlength)
                        expected = np.bincount(view, minlength=minlength)
                        assert got.shape == expected.shape
                        np.testing.assert_array_equal(back(runner, got), expected)
    for wrong in ([3, -1, 2], [-(1 << 62)]):
        with pytest.raises(ValueError, match="negative"):
            ROUTINES["bincount"](runner, operand(runner, np.array(wrong)), minlength=2)


@pytest.mark.parametrize("uniform", [True, False])
def test_histogram(runner, uniform):
    for char in "efdbHlL":
        for bins in (1, 10) if char == "e" else (1, 10, 1500, 7000):
            x = awkward((5000,), char)
            edges = np.histogram_bin_edges(x[np.isfinite(x)], bins, (-20, 30))
            if not uniform:
                edges = np.unique(np.concatenate([edges[:3], edges[4:-3], edges[-2:]]))
                if edges.size < 2:
                    continue
            if edges.dtype == np.float16:
                edges = edges.astype(np.float32)
            with np.errstate(invalid="ignore"):
                same(runner, "histogram", x, edges, uniform=uniform)
                same(runner, "histogram", x[::-3], edges, uniform=uniform)
    if uniform:  # Bins that are little more than what rounding is.
        for char, first, width in (("f", 4096, 1), ("d", 2**40, 1), ("f", -3, 1e-4)):
            x = (first + width * np.random.default_rng(2).random(5000)).astype(char)
            edges = np.histogram_bin_edges(x, 200, (first, first + width))
            same(runner, "histogram", x, edges, uniform=True)


def test_edges_of_bins(runner):
    options = {"not_finite": 7, "not_apart": 8}
    for char in "fl" if runner.name != "cuda" else "fdlB":
        for x in (random((9000,), char), random((900,), char)[::-3], np.zeros(5, char)):
            for bins in (1, 700):
                got, expected = run(runner, "bin_edges", x, bins=bins, **options)
                assert got.tobytes() == expected.tobytes()
    assert not told(runner)
    for wrong, number in (([1, np.nan, 2], 7), ([-np.inf, 0, 1], 7), ([1, 1.00001, 1], 8)):
        run(runner, "bin_edges", np.array(wrong, "f"), bins=500, expected=np.zeros(501, "f"), **options)
        assert told(runner) == number


# ---------------------------------------------------------------- signals


def test_correlation(runner, monkeypatch):
    monkeypatch.setattr(correlation, "LEAST_PART", 256)
    for char in "?eHDf" if runner.name == "cuda" else "eD":
        for n, taps, mode in ((300, 7, "full"), (300, 8, "same"), (2600, 700, "valid"), (1, 1, "full")):
            a, v = random((2 * n,), char)[::-2], random((taps,), char, 2)
            got, expected = run(runner, "correlate", a, v, mode=mode)
            tolerance = {"e": 2e-2, "f": 1e-4}.get(char, 1e-11 if char == "D" else 0)
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    a = np.zeros(5000)
    a[2], v = np.inf, np.ones(600)
    v[5] = np.inf
    same(runner, "correlate", a, v, mode="full")
    same(runner, "correlate", random((50,), "?"), random((6,), "?"), mode="same")


# ---------------------------------------------------------------- products


def check_product(device, a, b, order="C"):
    expected = ROWS["matmul"].numpy(a, b)
    got, _ = run(device, "matmul", a, b, expected=expected, order=order)
    if expected.dtype.kind in "fc":
        bound = {"e": 1e-2, "f": 1e-4, "F": 1e-4}.get(expected.dtype.char, 1e-10)
        np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * max(a.shape[-1], 1))
    else:
        np.testing.assert_array_equal(got, expected)


def check_products(device, char):
    n = 70 if hasattr(device, "pinned") or char in "fi" else 9
    check_product(device, random((n, 33), char), random((33, n + 1), char))
    check_product(device, random((33, 9), char).T, random((12, 33), char).T)
    check_product(device, random((9, 66), char)[:, ::2], random((66, 5), char)[::-2])
    check_product(device, random((2, 1, 4, 5), char), random((3, 5, 6), char))
    check_product(device, random((2, 3, 4, 5), char)[:, ::2], random((2, 2, 5, 6), char)[::-1])
    check_product(device, random((3, 4, 5), char).transpose(0, 2, 1), random((3, 4, 2), char))
    check_product(device, random((3, 4, 5), char).transpose(1, 0, 2), random((5, 1), char))
    check_product(device, random((1, 4), char), random((4, 1), char))
    check_product(device, random((4, 1), char), random((1, 4), char))
    check_product(device, np.broadcast_to(random((1, 4), char), (3, 4)), random((4, 3), char))
    check_product(device, random((4, 0), char), random((0, 3), char))
    check_product(device, random((0, 4), char), random((4, 3), char))
    check_product(device, random((7, 4), char), random((4, 3), char), order="F")


class Blas:
    """cuBLAS's two functions over host memory, with its own rules of leading dimensions."""

    class ComputeType(enum.IntEnum):
        COMPUTE_32F = 68
        COMPUTE_64F = 70
        COMPUTE_32F_FAST_TF32 = 77

    calls = 0

    def create(self):
        return 1

    def set_stream(self, handle, stream):
        pass

    def gemm_strided_batched_ex_64(
        self, handle, ta, tb, m, n, k, alpha, a, kind, lda, step_a, b, kind_b, ldb, step_b, beta, c, kind_c, ldc,
        step_c, batch, compute, algorithm,
    ):  # fmt: skip
        Blas.calls += 1
        names = {2: "e", 0: "f", 1: "d", 4: "F", 5: "D", 14: "bfloat16"}
        dtype, dtype_c = np.dtype(names[kind]), np.dtype(names[kind_c])
        size, size_c = dtype.itemsize, dtype_c.itemsize
        assert lda >= max(1, k if ta else m) and ldb >= max(1, n if tb else k) and ldc >= max(1, m)
        assert kind == kind_b and kind_c == (0 if kind == 14 else kind) and batch >= 1
        for i in range(batch):
            x = array_at(a + i * step_a * size, (k, m) if ta else (m, k), (size, lda * size), dtype)
            y = array_at(b + i * step_b * size, (n, k) if tb else (k, n), (size, ldb * size), dtype)
            z = array_at(c + i * step_c * size_c, (m, n), (size_c, ldc * size_c), dtype_c)
            z[...] = (x.T if ta else x) @ (y.T if tb else y)

    def gemm_ex_64(
        self, handle, ta, tb, m, n, k, alpha, a, kind, lda, b, kind_b, ldb, beta, c, kind_c, ldc, compute, algorithm
    ):  # fmt: skip
        self.gemm_strided_batched_ex_64(
            handle, ta, tb, m, n, k, alpha, a, kind, lda, 0, b, kind_b, ldb, 0, beta, c, kind_c, ldc, 0, 1, compute,
            algorithm,
        )  # fmt: skip


@pytest.mark.parametrize("char", "efdFDE")
def test_products_are_described_to_cublas(emulated, char):
    emulated.blas = products.Blas(emulated, Blas())
    Blas.calls = 0
    check_products(emulated, char)
    assert Blas.calls >= 12


def addresses_of(blas, computes):
    """A fake library's two functions by their addresses, as C calls them; and what keeps them alive."""
    one, many = blas.gemm_ex_64, blas.gemm_strided_batched_ex_64

    def queued(function):
        def call(*arguments):
            computes.append(arguments[-2])
            function(*arguments)
            return 0 if len(computes) < 100 else 13

        return call

    i, n, p = ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p
    kept = [
        ctypes.CFUNCTYPE(i, p, i, i, n, n, n, p, p, i, n, p, i, n, p, p, i, n, i, i)(queued(one)),
        ctypes.CFUNCTYPE(i, p, i, i, n, n, n, p, p, i, n, n, p, i, n, n, p, p, i, n, n, n, i, i)(queued(many)),
    ]
    return tuple(ctypes.cast(function, p).value for function in kept), kept


PRODUCTS = {
    "matrices": (lambda a: a((30, 20)), lambda a: a((20, 40)), 1),
    "turned": (lambda a: a((20, 30)).T, lambda a: a((40, 20)).T, 1),
    "parts": (lambda a: a((30, 50))[3:, 5:25], lambda a: a((41, 50))[1:21, :40], 1),
    "stacks": (lambda a: a((5, 6, 7)), lambda a: a((5, 7, 8)), 5),
    "a stack and one matrix": (lambda a: a((5, 6, 7)), lambda a: a((7, 8)), 1),
    "two stacks and one matrix": (lambda a: a((2, 5, 6, 7)), lambda a: a((1, 7, 8)), 1),
    "rows of a stack": (lambda a: a((5, 1, 7)), lambda a: a((7, 8)), 1),
    "a turned stack and one matrix": (lambda a: a((7, 5, 6)).transpose(1, 2, 0), lambda a: a((7, 8)), 1),
    "a stack with gaps and one matrix": (lambda a: a((5, 7, 7))[:, 1:], lambda a: a((7, 8)), 5),
    "every other matrix and one": (lambda a: a((10, 6, 7))[::2], lambda a: a((7, 8)), 5),
    "one matrix and a stack": (lambda a: a((6, 7)), lambda a: a((5, 7, 8)), 5),
    "stacks that meet one each": (lambda a: a((3, 5, 6, 7)), lambda a: a((3, 1, 7, 8)), 3),
    "rows with gaps": (lambda a: a((30, 40))[:, ::2], lambda a: a((20, 40)), None),
    "nothing": (lambda a: a((0, 40)), lambda a: a((40, 3)), None),
    "two steps": (lambda a: a((4, 3, 6, 7))[:, ::2], lambda a: a((4, 3, 7, 8))[:, ::2], None),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_by_addresses(emulated, name, compiled):
    """What takes addresses alone gives what the routine gives, also where it has run for other addresses."""
    if compiled and products.Gemm is None:
        pytest.skip("the core is not compiled")
    made_a, made_b, batch = PRODUCTS[name]
    blas = emulated.blas = products.Blas(emulated, Blas())
    computes = []
    if compiled:
        blas.addresses, _kept = addresses_of(blas.cublas, computes)
    for char in "efdFDE":
        for turn in range(2):
            a = made_a(lambda shape, char=char, turn=turn: random(shape, char, turn))
            b = made_b(lambda shape, char=char, turn=turn: random(shape, char, turn + 7))
            expected = ROWS["matmul"].numpy(a, b)
            x, y, out = operand(emulated, a), operand(emulated, b), operand(emulated, np.zeros_like(expected))
            run_bound = products.bound_matmul(emulated, x, y, out=out)
            if batch is None:
                assert run_bound is None
                continue
            matrices = blas.products(*products._merged(x, y, out))
            assert matrices == [run_bound]
            assert next(blas._described(*products._merged(x, y, out))).batch == batch
            for tf32 in (False, True):
                with config(tf32=tf32):
                    run_bound(address(x), address(y), address(out))
                if compiled:
                    assert computes[-1] == (70 if char in "dD" else 77 if tf32 and char in "fF" else 68)
            got = back(emulated, out)
            bound = {"e": 1e-2, "f": 1e-4, "F": 1e-4, "E": 1e-4}.get(char, 1e-10)
            np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * a.shape[-1])


def test_what_the_library_refuses_is_asked_of_the_binding(emulated):
    if products.Gemm is None:
        pytest.skip("the core is not compiled")
    blas = emulated.blas = products.Blas(emulated, Blas())
    blas.addresses, _kept = addresses_of(blas.cublas, [0] * 100)
    x, y, out = (operand(emulated, random((30, 30), "f")) for _ in range(3))
    run_bound = products.bound_matmul(emulated, x, y, out=out)
    before = Blas.calls
    run_bound(address(x), address(y), address(out))
    assert Blas.calls == before + 2


@pytest.mark.parametrize("char", FEW + "if")
def test_tiled_products(emulated, char):
    emulated.blas = None
    check_products(emulated, char)


@pytest.mark.cuda
@pytest.mark.parametrize("char", ALL)
@pytest.mark.parametrize("library", [True, False])
def test_products_on_the_gpu(gpu, char, library):
    before = products.blas_of(gpu)
    if library and char in "efdFD" and before is None:
        pytest.skip("cuBLAS or its bindings are not installed")
    gpu.blas = before if library else None
    try:
        check_products(gpu, char)
        if library:
            check_product(gpu, random((300, 517), char), random((517, 200), char))
    finally:
        gpu.blas = before


# ---------------------------------------------------------------- texts


def test_texts_compile_for_the_gpu(emulated):
    """What the tests above ran in emulation is accepted by NVRTC; one text of each form where they did not run."""
    pytest.importorskip("cuda.bindings.nvrtc")
    kept = {}
    for text in emulated.texts:
        kept.setdefault(text.rpartition("struct P")[2][:400], text)
    for text in list(kept.values())[:40]:
        assert nvrtc.compile_cubin(text, "sm_90")[:4] == b"\x7fELF"
