"""``jit.thrust`` and ``jit.cub``: what a thread does to a range, and what the threads of a block do together."""

import numpy
import pytest

import numloom as np
from numloom.cupyx import jit

thrust = jit.thrust


@jit.rawkernel()
def sorts(x, y, keys, values):
    i = jit.grid(1)
    if i < x.shape[0]:
        jit.thrust.sort(jit.thrust.seq, x[i].begin(), x[i].end())
        row = y[i]
        jit.thrust.stable_sort(jit.thrust.device, row.begin(), row.end())
        jit.thrust.stable_sort_by_key(jit.thrust.seq, keys[i].begin(), keys[i].end(), values[i].begin())


@pytest.mark.parametrize("dtype", ["i1", "u8", "f4", "f8"])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 64, 257])
def test_sorts(dtype, length):
    rng = numpy.random.default_rng(length)
    x, y, keys = rng.integers(0, 100, (3, 5, length)).astype(dtype)
    keys = (keys % 7).astype(dtype)
    values = numpy.tile(numpy.arange(length), (5, 1))
    # Rows of every kind of stride: next to each other, columns of another array, backwards.
    turned = np.asarray(numpy.asfortranarray(x))
    back = np.asarray(y)[:, ::-1]
    given = np.asarray(keys), np.asarray(values)
    sorts[1, 32](turned, back, *given)
    numpy.testing.assert_array_equal(turned.get(), numpy.sort(x, axis=1))
    numpy.testing.assert_array_equal(back.get(), numpy.sort(y, axis=1))
    order = numpy.argsort(keys, axis=1, kind="stable")
    numpy.testing.assert_array_equal(given[0].get(), numpy.take_along_axis(keys, order, 1))
    numpy.testing.assert_array_equal(given[1].get(), order)


def test_sorts_of_long_runs():
    for keys in (numpy.arange(1000)[::-1].copy(), numpy.arange(1000), numpy.arange(1000) % 2, numpy.zeros(1000, int)):
        given = np.asarray(keys[None]), np.asarray(keys[None]), np.asarray(keys[None]), np.arange(1000)[None].copy()
        sorts[1, 1](*given)
        order = numpy.argsort(keys, kind="stable")
        numpy.testing.assert_array_equal(given[0].get()[0], keys[order])
        numpy.testing.assert_array_equal(given[3].get()[0], order)


@jit.rawkernel()
def searches(x, v, out, many):
    i = jit.grid(1)
    if i < v.size:
        out[0, i] = jit.thrust.lower_bound(jit.thrust.seq, x.begin(), x.end(), v[i]) - x.begin()
        out[1, i] = jit.thrust.upper_bound(jit.thrust.seq, x.begin(), x.end(), v[i]) - x.begin()
        out[2, i] = jit.thrust.binary_search(jit.thrust.seq, x.begin(), x.end(), v[i])
        first, last = jit.thrust.equal_range(jit.thrust.seq, x.begin(), x.end(), v[i])
        out[3, i] = last - first
        out[4, i] = jit.thrust.count(jit.thrust.seq, x.begin(), x.end(), v[i])
        out[5, i] = jit.thrust.find(jit.thrust.seq, x.begin(), x.end(), v[i]) - x.begin()
    if i == 0:
        jit.thrust.lower_bound(jit.thrust.seq, x.begin(), x.end(), v.begin(), v.end(), many.begin())


def test_searches():
    rng = numpy.random.default_rng(3)
    x, v = numpy.sort(rng.integers(0, 30, 40)), numpy.arange(-2, 35)
    out, many = np.zeros((6, v.size), "i8"), np.zeros(v.size, "i4")
    searches[2, 32](np.asarray(x), np.asarray(v), out, many)
    low, high = numpy.searchsorted(x, v, "left"), numpy.searchsorted(x, v, "right")
    there = high > low
    expected = [low, high, there, high - low, high - low, numpy.where(there, low, x.size)]
    numpy.testing.assert_array_equal(out.get(), expected)
    numpy.testing.assert_array_equal(many.get(), low)


@jit.rawkernel()
def sums(x, y, out, running):
    out[0] = jit.thrust.reduce(jit.thrust.seq, x.begin(), x.end(), 1000)
    out[1] = jit.thrust.inner_product(jit.thrust.seq, x.begin(), x.end(), y.begin(), 0)
    out[2] = jit.thrust.equal(jit.thrust.seq, x.begin(), x.end(), y.begin())
    pair = jit.thrust.mismatch(jit.thrust.seq, x.begin(), x.end(), y.begin())
    out[3] = pair[0] - x.begin()
    out[4] = pair[1] - (y.begin() + 1)
    jit.thrust.inclusive_scan(jit.thrust.seq, x.begin(), x.end(), running.begin())
    out[5] = running[x.size - 1]
    jit.thrust.exclusive_scan(jit.thrust.seq, x.begin(), x.end(), running.begin(), 5)
    out[6] = jit.thrust.is_sorted(jit.thrust.seq, x.begin(), x.begin() + 3)


def test_sums_are_not_cut_to_small_types():
    x = numpy.array([100, 120, 127, -3, 50], "i1")
    y = numpy.array([100, 120, 126, 1, 2], "i1")
    out, running = np.zeros(7, "i8"), np.zeros(5, "i8")
    sums[1, 1](np.asarray(x), np.asarray(y), out, running)
    wide, other = x.astype(int), y.astype(int)
    # A running sum without a start is of the elements' type, as in the library it is named after.
    expected = [1000 + wide.sum(), wide @ other, 0, 2, 1, x.cumsum(dtype="i1")[-1], 1]
    numpy.testing.assert_array_equal(out.get(), expected)
    numpy.testing.assert_array_equal(running.get(), 5 + numpy.concatenate([[0], wide.cumsum()[:-1]]))


@jit.rawkernel()
def sets(a, b, u, v, out, values, sizes):
    k, w = jit.thrust.set_union_by_key(
        jit.thrust.seq, a.begin(), a.end(), b.begin(), b.end(), u.begin(), v.begin(), out[0].begin(), values[0].begin()
    )
    sizes[0] = k - out[0].begin()
    k, w = jit.thrust.set_intersection_by_key(
        jit.thrust.seq, a.begin(), a.end(), b.begin(), b.end(), u.begin(), out[1].begin(), values[1].begin()
    )
    sizes[1] = w - values[1].begin()
    sizes[2] = jit.thrust.set_difference(
        jit.thrust.seq, a.begin(), a.end(), b.begin(), b.end(), out[2].begin()
    ) - out[2].begin()  # fmt: skip
    sizes[3] = jit.thrust.set_symmetric_difference(
        jit.thrust.seq, a.begin(), a.end(), b.begin(), b.end(), out[3].begin()
    ) - out[3].begin()  # fmt: skip


def test_sets():
    a, b = numpy.array([0, 1, 1, 4, 6, 9]), numpy.array([1, 2, 4, 4, 8])
    out, values, sizes = np.zeros((4, 12), int), np.zeros((2, 12), int), np.zeros(4, int)
    sets[1, 1](np.asarray(a), np.asarray(b), np.asarray(10 + a), np.asarray(20 + b), out, values, sizes)
    expected = [[0, 1, 1, 2, 4, 4, 6, 8, 9], [1, 4], [0, 1, 6, 9], [0, 1, 2, 4, 6, 8, 9]]
    numpy.testing.assert_array_equal(sizes.get(), [len(one) for one in expected])
    for row, one in zip(out.get(), expected, strict=True):
        numpy.testing.assert_array_equal(row[: len(one)], one)
    numpy.testing.assert_array_equal(values.get()[0, :9], [10, 11, 11, 22, 14, 24, 16, 28, 19])
    numpy.testing.assert_array_equal(values.get()[1, :2], [11, 14])


@jit.rawkernel()
def changed(x, y, z, sizes):
    end = jit.thrust.unique(jit.thrust.seq, x.begin(), x.end())
    sizes[0] = end - x.begin()
    end = jit.thrust.remove(jit.thrust.seq, x.begin(), end, 3)
    sizes[1] = end - x.begin()
    jit.thrust.replace(jit.thrust.seq, x.begin(), end, 2, 300)
    jit.thrust.reverse(jit.thrust.seq, x.begin(), end)
    jit.thrust.sequence(jit.thrust.seq, y.begin(), y.end(), 5, 2)
    jit.thrust.adjacent_difference(jit.thrust.seq, y.begin(), y.end(), z.begin())
    jit.thrust.swap_ranges(jit.thrust.seq, y.begin(), y.begin() + 2, z.begin())
    steps = jit.thrust.make_counting_iterator(10)
    same = jit.thrust.make_constant_iterator(7)
    sizes[2] = steps[3] + same[5]
    jit.thrust.copy(jit.thrust.seq, steps, steps + 2, z.begin() + 3)


def test_what_changes_ranges():
    x, y, z = np.asarray(numpy.array([1, 1, 3, 2, 2, 3, 4])), np.zeros(5, int), np.zeros(5, int)
    sizes = np.zeros(3, int)
    changed[1, 1](x, y, z, sizes)
    numpy.testing.assert_array_equal(sizes.get(), [5, 3, 20])
    numpy.testing.assert_array_equal(x.get()[:3], [4, 300, 1])
    numpy.testing.assert_array_equal(y.get(), [5, 2, 9, 11, 13])
    numpy.testing.assert_array_equal(z.get(), [5, 7, 2, 10, 11])


def test_reductions_of_blocks():
    x = numpy.random.default_rng(5).integers(-100, 100, 48).astype("i4")
    sums, most = np.zeros(1, "i4"), np.zeros(1, "i4")

    @jit.rawkernel()
    def block(x, sums, most):
        Block = jit.cub.BlockReduce[numpy.int32, 48]
        memory = jit.shared_memory(dtype=Block.TempStorage, size=1)
        i = jit.threadIdx.x
        total = Block(memory[0]).Sum(x[i])
        greatest = Block(memory[0]).Reduce(x[i], jit.cub.Max())
        if i == 0:
            sums[0], most[0] = total, greatest

    block[1, 48](np.asarray(x), sums, most)
    assert (int(sums[0]), int(most[0])) == (x.sum(), x.max())


@pytest.mark.parametrize("dtype", ["f2", "f8", "c8", "u1"])
def test_reductions_of_warps(dtype):
    kind = numpy.dtype(dtype)
    rng = numpy.random.default_rng(6)
    x = (rng.integers(0, 4, 64) + 1j * rng.integers(0, 4, 64)).astype(dtype) if kind.kind == "c" else None
    x = rng.integers(0, 4, 64).astype(dtype) if x is None else x
    out = np.zeros((2, 2), dtype)

    @jit.rawkernel()
    def warp(x, out):
        Warp = jit.cub.WarpReduce[kind]
        memory = jit.shared_memory(dtype=Warp.TempStorage, size=2)
        i = jit.threadIdx.x
        total = Warp(memory[i // 32]).Sum(x[i])
        least = Warp(memory[i // 32]).Reduce(x[i], jit.cub.Min())
        if i % 32 == 0:
            out[i // 32, 0] = total
            out[i // 32, 1] = least

    warp[1, 64](np.asarray(x), out)
    rows = x.reshape(2, 32)
    numpy.testing.assert_array_equal(out.get(), numpy.stack([rows.sum(1, dtype=dtype), rows.min(1)], axis=1))


@jit.rawkernel()
def of_one_axis(x):
    jit.thrust.sort(jit.thrust.seq, x.begin(), x.end())


@jit.rawkernel()
def no_policy(x):
    jit.thrust.sort(x[0].begin(), x[0].end())


@jit.rawkernel()
def own_order(x):
    jit.thrust.sort(jit.thrust.seq, x[0].begin(), x[0].end(), max)


@jit.rawkernel()
def complex_order(x, z):
    jit.thrust.sort(jit.thrust.seq, z.begin(), z.end())


@pytest.mark.parametrize(
    ("kernel", "why", "more"),
    [
        (of_one_axis, "one axis", ()), (no_policy, "seq or thrust.device first", ()),
        (own_order, "comparisons of one's own", ()), (complex_order, "no order", (np.zeros(3, complex),)),
    ],
)  # fmt: skip
def test_misuse(kernel, why, more):
    with pytest.raises(jit.Untranslatable, match=why):
        kernel[1, 1](np.zeros((3, 3)), *more)
    with pytest.raises(RuntimeError, match="is for kernels"):
        thrust.sort()
