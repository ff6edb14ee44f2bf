"""Small work that has not come often runs without a plan, with the bits of plans."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import numloom as nl
from compilers import needed
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.engine.state import counters
from numloom.testing.compare import host

pytestmark = pytest.mark.skipif(
    registry.current().name != "cpu" or config.executor == "reference" or unplanned._unplanned is None,
    reason="only the host runs without plans, and only the compiled core",
)


def plans_made(work: Any) -> int:
    before = counters.plans + counters.resized
    work()
    return counters.plans + counters.resized - before


def test_what_takes_long_gets_a_plan() -> None:
    """One that is used as soon as its kernel is there."""
    needed()
    x = np.arange(513.0)

    def work(k: float) -> None:
        found = (nl.asarray(x) * k - 2.125) / (nl.asarray(x) + (k + 1))
        np.testing.assert_array_equal(found.get(), (x * k - 2.125) / (x + (k + 1)))

    runs = unplanned.WORTH // 300
    with nl.config(cpu_compile="wait"):
        few = plans_made(lambda: [work(k) for k in range(1, 300)])
        many = plans_made(lambda: [work(k) for k in range(runs)])
    assert (few, many) == (0, 1)


def test_the_first_plan_of_a_process_waits(tmp_path: Path) -> None:
    """What makes plans takes long to load, so all small work together comes first to about that time."""
    text = """
import sys
import numloom as nl
x = nl.arange(4096.0)
for runs in (2_000, 40_000):
    for _ in range(runs):
        float((x * 2 - 1).sum())
    print("numloom.plan.plan" in sys.modules)
"""
    environ = {**os.environ, "NUMLOOM_CACHE_DIR": str(tmp_path)}  # A plan on disk needs no planner.
    done = subprocess.run([sys.executable, "-c", text], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_large_work_has_a_plan_at_once() -> None:
    for size, made in ((config.unplanned, 0), (config.unplanned + 1, 1)):
        x = nl.asarray(np.arange(float(size)))
        assert plans_made(lambda x=x: (x * 3.25 - 17 + x).get()) == made
    with nl.config(unplanned=0):
        assert plans_made(lambda: (nl.asarray([1.0, 2.0]) * 3.25 - 19 + 2.5 / nl.asarray([5.0, 4.0])).get()) == 1


EXPRESSIONS: dict[str, Any] = {
    "arithmetic": lambda x, y: (x * y - x) / (y + 1) // 3 % 5,
    "functions": lambda x, y: nl.exp(-abs(x)) + nl.sin(y) * nl.arctan2(x, y) - nl.log1p(abs(y)) ** 1.5,
    "comparisons": lambda x, y: nl.where((x > y) | (x == 0), x, -y),
    "casts": lambda x, y: x.astype("f4").astype("i2") + y.astype("?"),
    "sum": lambda x, y: (x * y).sum(),
    "sums of rows": lambda x, y: (x + y).sum(1),
    "sums of columns": lambda x, y: (x - y).sum(0, keepdims=True),
    "a deviation": lambda x, y: (x * 1.5).std(0),
    "extremes": lambda x, y: nl.stack([x.max(0), y.min(0), x.argmax(0), (x * y).prod(0)]),
    "logarithms added": lambda x, y: nl.logaddexp.reduce(x * 0.1, axis=1),
    "a product": lambda x, y: x @ y.T,
    "indices": lambda x, y: x[[2, 0, -1]] + y[:, [1]][:3],
    "views of results": lambda x, y: (x + y).T[::-1, 1:][:2] * 2,
    "views of results in Fortran order": lambda x, y: (nl.asarray(x, order="F") + y)[1:, ::2].reshape(-1) - 1,
    "joining": lambda x, y: nl.concatenate([x[:2], y[::-1], nl.zeros((1, 5), x.dtype)]),
}


def same(a: Any, b: Any) -> bool:
    """The same bits; NaN is NaN."""
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    bits = f"V{a.dtype.itemsize}"
    return bool(((a.copy().view(bits) == b.copy().view(bits)) | ((a != a) & (b != b))).all())


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1", "c16", "?"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_bits_of_plans(name: str, dtype: str) -> None:
    needed()
    rng = np.random.default_rng(3)
    x, y = ((rng.standard_normal((6, 5)) * 9).astype(dtype) for _ in range(2))
    found = []
    for limit in (4096, 0):
        with nl.config(unplanned=limit, cpu_compile="wait"):
            try:
                found.append(host(EXPRESSIONS[name](nl.asarray(x), nl.asarray(y))))
            except TypeError as error:
                found.append(type(error))
    if isinstance(found[1], type):
        assert found[0] is found[1]
    else:
        assert found[0].dtype == found[1].dtype and found[0].strides == found[1].strides
        assert same(found[0], found[1])


LENGTHS = [
    1,
    2,
    3,
    15,
    16,
    17,
    127,
    128,
    129,
    143,
    144,
    255,
    300,
    2047,
    2048,
    2049,
    2176,
    4100,
    16383,
    16384,
    16385,
    40000,
]
SHAPES = [(300, 5), (5, 300), (17, 33), (40, 129), (7, 16, 9), (33, 1, 260), (2, 3, 700)]
REDUCTIONS: dict[str, Any] = {
    **{
        name: getattr(nl, name)
        for name in ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean", "var")
    },
    "count": nl.count_nonzero,
    "deviation": lambda x, **how: nl.std(x, ddof=0.5, **how),
    "sum of bools": lambda x, **how: (x > 0).sum(**how),
}
LAYOUTS: dict[str, Any] = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "every second, turned round": lambda x: x[::-1, ::2],
    "columns less one": lambda x: x[..., 1:],
}


def both_ways(work: Any) -> tuple[Any, Any]:
    """A result without a plan, and value by value through NumPy."""
    with nl.config(unplanned=1 << 20):
        found = host(work())
    with nl.config(executor="reference", unplanned=0):
        return found, host(work())


def numbers(count: int, dtype: str, seed: int) -> Any:
    """Numbers of which many are equal, with zeros of both signs, and now and then one that is none."""
    rng = np.random.default_rng(seed)
    x = (rng.integers(-9, 9, count) * rng.choice([0.5, -0.0, 1.25], count)).astype(dtype)
    if np.dtype(dtype).kind in "fc" and seed % 3 == 0:
        x[rng.integers(count)] = np.nan
    return x


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "i4", "u4", "i2", "u2", "i1", "u1", "?", "c8", "c16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_have_the_bits_of_the_tree(name: str, dtype: str) -> None:
    for seed, length in enumerate(LENGTHS):
        x = nl.asarray(numbers(length, dtype, seed))
        for part in (x, x[::-1], x[1:]):
            if part.size:
                found, right = both_ways(lambda part=part: REDUCTIONS[name](part))
                assert found.dtype == right.dtype and same(found, right), (length, found, right)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?", "c16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_over_axes_have_the_bits_of_the_tree(name: str, dtype: str) -> None:
    for seed, shape in enumerate(SHAPES):
        x = nl.asarray(numbers(int(np.prod(shape)), dtype, seed).reshape(shape))
        for layout in LAYOUTS.values():
            part = layout(x)
            for axis in (None, *range(part.ndim)):
                if part.size:
                    found, right = both_ways(lambda part=part, axis=axis: REDUCTIONS[name](part, axis=axis))
                    assert found.dtype == right.dtype and same(found, right), (part.shape, axis)


def test_a_sum_of_bools_counts_what_is_true() -> None:
    for count in (1, 31, 32, 33, 255 * 32, 255 * 32 + 33, 99999):
        x = np.random.default_rng(count).random(count) < 0.7
        for part in (x, x[::-3], np.ones_like(x)):
            assert int(nl.asarray(part).sum()) == int(nl.count_nonzero(nl.asarray(part))) == int(part.sum())


def test_choices_and_casts_side_by_side() -> None:
    for count in (1, 7, 33, 100):
        rng = np.random.default_rng(count)
        for dtype in ("f8", "f4", "i4", "i8", "u2", "c16"):
            c, a, b = rng.random(count) < 0.5, rng.integers(0, 99, count).astype(dtype), np.ones(count, dtype)
            for given in ((c, a, b), (c, a, b[:1]), (c, a[:1], b), (c, a[:1], b[:1]), (c[::-1], a, b[::-1])):
                assert same(host(nl.where(*map(nl.asarray, given))), np.where(*given))
            for to in ("f4", "c8", "?", "i1", "f8"):
                if not (dtype == "c16" and to != "c8"):
                    found = nl.asarray(a).astype(to)
                    assert same(host(found), a.astype(to)) and same(
                        host(nl.asarray(a)[::-1].astype(to)), a[::-1].astype(to)
                    )


DRAWS: dict[str, Any] = {
    "random": lambda r, n: r.random(n),
    "random f4": lambda r, n: r.random(n, dtype="f4"),
    "normal": lambda r, n: r.normal(2.0, 3.0, n),
    "normal f4": lambda r, n: r.standard_normal(n, dtype="f4"),
    "exponential": lambda r, n: r.exponential(0.5, n),
    "integers": lambda r, n: r.integers(-4, 9, n),
    "small integers": lambda r, n: r.integers(0, 200, n, dtype="u1"),
    "gamma": lambda r, n: r.gamma(0.7, 2.0, n),
    "beta": lambda r, n: r.beta(0.5, 0.25, n),
    "chisquare": lambda r, n: r.noncentral_chisquare(0.5, 2.5, n),
    "wald": lambda r, n: r.wald(2.0, 3.0, n),
    "vonmises": lambda r, n: r.vonmises(0.5, 4.0, n),
    "poisson": lambda r, n: r.poisson(7.5, n),
    "binomial": lambda r, n: r.binomial(40, 0.3, n),
    "hypergeometric": lambda r, n: r.hypergeometric(30, 20, 15, n),
    "geometric": lambda r, n: r.geometric(0.2, n),
    "logseries": lambda r, n: r.logseries(0.6, n),
    "zipf": lambda r, n: r.zipf(2.5, n),
    "permutation": lambda r, n: r.permutation(max(n or 1, 1)),
    "uniform": lambda r, n: r.uniform(-1, 4, n),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_their_bits(name: str) -> None:
    for count in (None, 1, 2, 7, 100, 1000):
        found, right = both_ways(lambda count=count: DRAWS[name](nl.random.default_rng(7), count))
        assert np.asarray(found).dtype == np.asarray(right).dtype
        if name == "vonmises":  # The reference has NumPy's arctan.
            np.testing.assert_allclose(found, right, rtol=1e-13, atol=1e-13)
        else:
            assert same(found, right), count


def test_few_draws_make_no_plan() -> None:
    """One number and numbers of changing counts: what a simulation draws."""
    rng = nl.random.default_rng(1)
    assert plans_made(lambda: [float(rng.random()) + float(rng.standard_normal(k).sum()) for k in range(1, 40)]) == 0


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1", "c16"])
def test_clips_have_their_bits(dtype: str) -> None:
    x = nl.asarray(numbers(500, dtype, 3))
    for part in (x, x[::-2]):
        found, right = both_ways(lambda part=part: nl.clip(part, 1, 3))
        assert found.dtype == right.dtype and same(found, right)


PRODUCTS: dict[str, Any] = {
    "rows": lambda a, b, v, w: a @ v,
    "columns": lambda a, b, v, w: a.T @ w,
    "a vector by columns": lambda a, b, v, w: w @ a,
    "the same by rows": lambda a, b, v, w: v @ a.T,
    "few by few": lambda a, b, v, w: a[:3] @ b[:3].T,
    "over the first axis": lambda a, b, v, w: (a * b).sum(0),
    "over the last axis": lambda a, b, v, w: (a * b).sum(-1, keepdims=True),
    "in the middle": lambda a, b, v, w: (a[:, :, None] * b[0][:, None]).sum(1),
    "of one with itself": lambda a, b, v, w: (a * a).sum(1),
    "over all": lambda a, b, v, w: (a * b).sum(),
    "by numbers": lambda a, b, v, w: (a * 0.1).sum(0),
    "from the end": lambda a, b, v, w: a[::-1, ::-1] @ v[::-1],
    "every second": lambda a, b, v, w: a[:, ::2] @ v[::2],
    "of a window": lambda a, b, v, w: a[1:, 1:].T @ w[1:],
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "c16"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_sums_of_products_have_the_bits_of_the_tree(name: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    for n, m in ((4, 3), (6, 40), (40, 6), (33, 130), (130, 33), (3, 300), (700, 5)):
        given = [(rng.standard_normal(shape) * 3).astype(dtype) for shape in ((n, m), (n, m), (m,), (n,))]
        for order in "CF":
            arrays = [nl.asarray(x, order=order) for x in given]
            found, right = both_ways(lambda arrays=arrays: PRODUCTS[name](*arrays))
            assert found.dtype == right.dtype and same(found, right), (n, m, order)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_sums_of_products_of_every_length(dtype: str) -> None:
    """Rows in registers, by lanes and by lines of lanes, with zeros of both signs and what is not finite."""
    rng = np.random.default_rng(6)
    for count in (*range(1, 140), 255, 256, 257, 1000, 2047, 2049, 4096, 4097):
        a, b = (np.where(rng.random((3, count)) < 0.2, -0.0, rng.standard_normal((3, count))) for _ in range(2))
        a[1, rng.integers(count)], b[2] = np.inf, -abs(b[2])
        x, y = (nl.asarray(each.astype(dtype)) for each in (a, b))
        for work in (
            lambda x=x, y=y: (x * y).sum(1),
            lambda x=x, y=y: x @ y[0],
            lambda x=x, y=y: (x * y[:, :1]).sum(0),
        ):
            found, right = both_ways(work)
            assert same(found, right), count


def test_large_products_of_a_few_calls_make_no_plan() -> None:
    """A matrix of more elements than small work has, by vectors, in a loop that nobody looks at."""
    rng = np.random.default_rng(7)
    x, y = nl.asarray(rng.random((700, 100))), nl.asarray(rng.random(700))

    def descend() -> Any:
        w = nl.zeros(100)
        for _ in range(5):
            w = w - 0.1 * (x.T @ ((1 / (1 + nl.exp(-(x @ w))) - y) / 700))
        return w

    assert plans_made(lambda: nl.evaluate(descend())) == 0
    found, right = both_ways(descend)
    np.testing.assert_allclose(found, right, rtol=1e-12)  # The reference has NumPy's exp.
    with nl.config(unplanned=0):
        assert same(found, descend().get())


def test_products_read_what_was_there_before_a_write() -> None:
    """Their factors change between the product and the sum that adds it up, in each order of looks."""
    rng = np.random.default_rng(8)
    a, v = rng.random((300, 50)), rng.random(50)
    for look in range(4):
        x, w = nl.asarray(a), nl.asarray(v)
        products = x * w
        x[3:200, 1:] = 7.0
        w[:20] = -1.0
        if look == 1:
            nl.evaluate(x)
        sums = products.sum(1)
        if look == 2:
            nl.evaluate(products)
        more = (products * 2).sum(0) if look == 3 else None
        np.testing.assert_allclose(sums.get(), (a * v).sum(1), rtol=1e-12)
        if more is not None:
            np.testing.assert_allclose(more.get(), (a * v * 2).sum(0), rtol=1e-12)
        b, u = a.copy(), v.copy()
        b[3:200, 1:], u[:20] = 7.0, -1.0
        np.testing.assert_allclose((x @ w).get(), b @ u, rtol=1e-12)


def test_rows_change_places_without_a_copy_of_all() -> None:
    """What still reads the old array runs before the write, which is then done in place."""
    a = np.random.default_rng(0).random((64, 64))
    x = nl.asarray(a.copy())
    for k in range(1, 64):
        x[k], x[k - 1] = x[k - 1].copy(), x[k].copy()
        a[k], a[k - 1] = a[k - 1].copy(), a[k].copy()
        memory = x.held.value
        column = x[:, k] * 2
        x[:, k] -= 2 * x[:, k - 1]
        x[:, k - 1] = column
        b = a[:, k] * 2
        a[:, k] -= 2 * a[:, k - 1]
        a[:, k - 1] = b
        old, x[0] = x + 1, 7.0
        x[1] = old[0] + x[0]
        older, a[0] = a + 1, 7.0
        a[1] = older[0] + a[0]
        assert memory is not x.held.value
    np.testing.assert_array_equal(x.get(), a)


def test_a_swap_of_rows_keeps_the_memory() -> None:
    x = nl.asarray(np.random.default_rng(0).random((64, 64)))
    float(x[0, 0])
    address = x.held.value.buffer.ptr
    for k in range(1, 20):
        x[k], x[k - 1] = x[k - 1].copy(), x[k].copy()
        float(x[k, 0])
        assert x.held.value.buffer.ptr == address


@pytest.mark.parametrize("base", ["held", "its own", "filled", "computed"])
def test_partial_writes(base: str) -> None:
    """In place where nobody needs the old value, never where somebody does."""
    random = Random(base)
    for _ in range(300):
        host_x = np.arange(24.0).reshape(4, 6) + 1
        x = {"held": nl.asarray(host_x), "its own": nl.asarray(host_x), "filled": nl.full((4, 6), 3.0)}.get(base)
        if x is None:
            x = nl.asarray(host_x) * 2
        host_x = x.get().copy() if base == "filled" else host_x * (2 if base == "computed" else 1)
        kept, kept_host = (x.copy(), host_x.copy()) if base == "held" else (None, None)
        for _ in range(random.randrange(1, 8)):
            i, j = random.randrange(4), random.randrange(6)
            for array in (x, host_x):
                match (i + j) % 6:
                    case 0:
                        array[i, j] -= array[i, :i] @ array[:i, j]
                    case 1:
                        array[i] += 0.5 * array[i][::-1]
                    case 2:
                        array[:, j] = array[:, j - 1]
                    case 3:
                        array[::-1] = array
                    case 4:
                        array[1:, 1:] = array[:-1, :-1]
                    case _:
                        array[i, :j] = array[i, j] * 2
            if random.random() < 0.3:
                float(x[i, j])
        np.testing.assert_array_equal(x.get(), host_x)
        if kept is not None:
            np.testing.assert_array_equal(kept.get(), kept_host)


def test_an_error_leaves_what_was_written_before() -> None:
    for _ in range(3):
        x = nl.asarray(np.arange(5.0))
        x[1] += 10
        bad = x[nl.asarray(np.array([1, 2]) + 7)] * 3
        x[1] += 10
        with pytest.raises(IndexError):
            bad.get()
        assert x.tolist() == [0, 21, 2, 3, 4]
        x[2:] = x[1:4] + 1
        assert x.tolist() == [0, 21, 22, 3, 4]


def test_memory_of_others_is_written_where_it_lies() -> None:
    x = nl.asarray(np.arange(6.0))
    shared = np.asarray(x)
    x[2] = 7
    x[3:] += x[:3]
    nl.synchronize()
    assert shared.tolist() == x.tolist() == [0, 1, 7, 3, 5, 12]


def test_threads() -> None:
    """Each has arrays of its own; all run what others have recorded."""
    wrong = []

    def work(number: int) -> None:
        for turn in range(30):
            x, y = nl.arange(9.0) + number, np.arange(9.0) + number
            for k in range(3, 3 + turn % 5):
                x[:k] += 0.5 * x[:k][::-1]
                y[:k] += 0.5 * y[:k][::-1]
                x[k], y[k] = x[:k].sum(), y[:k].sum()
            if not np.allclose(x.get(), y, rtol=1e-14):
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_a_view_that_is_kept_pending_stays_right() -> None:
    x = nl.asarray(np.arange(800.0)) + 1
    part = x[2:600]
    later = part * 2
    x[3] = 100
    assert node_of(later).buffer is None
    assert x.tolist() == [1, 2, 3, 100, *range(5, 801)] and later.tolist() == [*range(6, 1202, 2)]
    assert part.tolist() == [3, 100, *range(5, 601)]


def test_stores_of_one_number_in_much_memory_make_no_plan() -> None:
    """A sieve: some of its slices are large, and none of them may have all of them planned."""
    n = 200_000
    is_prime, host = nl.ones(n, dtype=bool), np.ones(n, bool)

    def sieve() -> None:
        for i in range(2, 448):
            is_prime[i * i :: i] = False
            host[i * i :: i] = False
        np.testing.assert_array_equal(is_prime.get(), host)

    assert plans_made(sieve) == 0


@pytest.mark.parametrize("char", "?bhifdFD")
@pytest.mark.parametrize("shift", [0, 1, 8])
def test_elements_that_lie_anywhere(char: str, shift: int) -> None:
    """Copies and choices of few elements whose memory begins at no multiple of their size."""
    dtype = np.dtype(char)
    memory = np.zeros(40 * dtype.itemsize + shift, "B")
    host = memory[shift:].view(dtype)
    host[...] = np.arange(40) % 3
    with nl.config(unplanned=4096):
        array = nl.asarray(host)
        chosen = host.real > 0
        for view in (np.s_[1:], np.s_[::-1], np.s_[3:30:2], np.s_[1:2]):
            x, y, c = array[view], array[view][::-1], nl.asarray(chosen)[view]
            a, b, d = host[view], host[view][::-1], chosen[view]
            for found, want in (
                (nl.where(c, x, y), np.where(d, a, b)),
                (nl.where(c, x, x[0]), np.where(d, a, a[0])),
                (nl.where(c, x[0], y), np.where(d, a[0], b)),
                (x.copy(), a), (nl.broadcast_to(x[:1], (7,)).copy(), np.broadcast_to(a[:1], (7,))),
            ):  # fmt: skip
                np.testing.assert_array_equal(nl.asnumpy(found), want)
