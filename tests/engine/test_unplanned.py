"""Small work that has not come often runs without a plan, with the bits of plans."""

from __future__ import annotations

import threading
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
    x = np.arange(13.0)

    def work(k: float) -> None:
        found = (nl.asarray(x) * k - 2.125) / (nl.asarray(x) + (k + 1))
        np.testing.assert_array_equal(found.get(), (x * k - 2.125) / (x + (k + 1)))

    runs = unplanned.WORTH // 300
    with nl.config(cpu_compile="wait"):
        few = plans_made(lambda: [work(k) for k in range(1, 300)])
        many = plans_made(lambda: [work(k) for k in range(runs)])
    assert (few, many) == (0, 1)


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
    x = nl.asarray(np.arange(8.0)) + 1
    part = x[2:6]
    later = part * 2
    x[3] = 100
    assert node_of(later).buffer is None
    assert x.tolist() == [1, 2, 3, 100, 5, 6, 7, 8] and later.tolist() == [6, 8, 10, 12]
    assert part.tolist() == [3, 100, 5, 6]
