"""Where work runs beside a GPU, on a stand-in for one: what begins where, what moves, and that nothing else changes."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import stand_in
from numloom.array.ndarray import node_of
from numloom.array.storage import pin, unpin
from numloom.device import registry
from numloom.engine import placement, unplanned
from numloom.engine.placement import bring, moves
from numloom.engine.routines import call_in_place
from numloom.kernels.arguments import Signature
from numloom.kernels.parameters import Parameter

POINTER = Parameter("x", "double*", True, False, np.dtype("f8"))
pytestmark = pytest.mark.skipif(
    registry.current().discrete or nl.config.executor == "reference" or unplanned._unplanned is None,
    reason="a GPU has tests of its own; the reference and the uncompiled core run nothing without a plan",
)


@pytest.fixture
def device() -> Iterator[Any]:
    with stand_in() as made:
        yield made


def is_on_host(array: Any) -> bool:
    nl.evaluate(array)
    host = registry.beside(registry.current())
    return host is not None and bool(node_of(array).buffer.pool is host.pool)


def test_small_arrays_begin_and_stay_on_the_host(device: Any) -> None:
    x = nl.asarray(np.arange(10.0))
    y = nl.sqrt(x * 2 + 1)
    y[3] = x[2]
    assert is_on_host(x) and is_on_host(y) and is_on_host(nl.zeros(5) + 1)
    assert y.tolist() == [*np.sqrt(np.arange(10.0) * 2 + 1)[:3].tolist(), 2.0, *np.sqrt(np.arange(4, 10.0) * 2 + 1)]
    assert device.pool.used == 0


def test_large_work_runs_on_the_device_and_takes_small_arrays_along(device: Any) -> None:
    big, small = nl.asarray(np.arange(100_000.0).reshape(100, 1000)), nl.asarray(np.arange(1000.0))
    assert not is_on_host(big) and is_on_host(small)
    found = big + small
    assert not is_on_host(found) and not is_on_host(small)
    assert float(small[7]) == 7.0  # The host keeps a copy of what is small.
    assert found[3, :2].tolist() == [3000.0, 3002.0]


def test_float32_functions_stay_where_their_bits_are(device: Any) -> None:
    x = nl.asarray(np.linspace(0, 1, 9, dtype="f4"))
    assert is_on_host(x + x) and not is_on_host(nl.exp(x))
    assert is_on_host(nl.exp(nl.asarray(np.linspace(0, 1, 9))))


def test_what_is_looked_at_often_moves(device: Any) -> None:
    """Looks at elements of large memory: when they have cost what a move does, it moves, and looks cost nothing."""
    host = np.arange(200_000.0)
    x = nl.asarray(host)
    before = moves.to_host
    assert [float(x[k]) for k in range(400)] == host[:400].tolist()
    assert moves.to_host == before + 1 and is_on_host(x)
    assert float((x * 2).sum()) == float((host * 2).sum()) and not is_on_host(x)


def test_the_last_of_what_a_routine_makes_is_read_where_it_lies(device: Any) -> None:
    """Of 100,000 running sums the last is asked for: they go nowhere for it."""
    x = nl.asarray(np.arange(100_000) % 7)
    nl.evaluate(x)
    before = (moves.to_device, moves.to_host)
    for _ in range(6):
        sums = nl.cumsum(x)
        found = [int(sums[-1]), int(nl.cumsum(x)[-1]), float(nl.sort(x)[3:][-1]), bool(nl.cumsum(x)[5])]
        assert found == [299_995, 299_995, 6.0, True]
        assert (moves.to_device, moves.to_host) == before
    last = sums[-1]  # What else is pending runs, as at any look.
    assert int(sums[10]) == int(np.cumsum(np.arange(11) % 7)[-1]) and int(last) == 299_995


def test_what_comes_often_moves_to_where_it_takes_less(device: Any) -> None:
    host = np.linspace(0, 1, 60_000)
    x = nl.asarray(host)
    assert is_on_host(x)
    for _ in range(600):
        x = x * 0.5 + 1
        host = host * 0.5 + 1
        nl.evaluate(x)
    assert not is_on_host(x) and x.tolist() == host.tolist()


def test_a_rule_without_clocks(device: Any) -> None:
    def program() -> list[int]:
        before = (moves.to_device, moves.to_host)
        big = nl.asarray(np.arange(70_000.0))
        total = nl.zeros(3)
        for k in range(200):
            total[k % 3] += big[k]
            if k % 50 == 49:
                big = big * 1.5
        nl.evaluate(total, big)
        return [moves.to_device - before[0], moves.to_host - before[1]]

    program()
    assert program() == program()


def test_exported_memory_stays(device: Any) -> None:
    x = nl.asarray(np.arange(6.0))
    pin(x.storage)
    address = x.storage.value.buffer.ptr
    for k in range(50):
        x[k % 6] += 1
        assert float(x[k % 6]) > 0
    assert x.storage.value.buffer.ptr == address and x.storage.value.buffer.pool is device.pool
    unpin(x.storage)


def test_memory_is_kept_once(device: Any) -> None:
    x = nl.asarray(np.arange(50_000.0))
    inner = registry.beside(registry.current()).pool
    nl.evaluate(x)
    used = inner.used
    y = nl.asarray(np.zeros((3, 50_000))) + x
    nl.evaluate(y)
    assert not is_on_host(x) and inner.used <= used - 400_000


def test_without_memory_for_a_move(device: Any) -> None:
    """The value stays where it is, and the next evaluation is right."""
    small, big = nl.asarray(np.arange(1000.0)), nl.asarray(np.ones((100, 1000)))
    upload = device.upload

    def failing(host: Any) -> Any:
        raise MemoryError("no memory for a move")

    device.upload = failing
    found = big + small
    with pytest.raises(MemoryError, match="no memory for a move"):
        nl.evaluate(found)
        found.get()
    assert small[:3].tolist() == [0.0, 1.0, 2.0]
    device.upload = upload
    assert found[1, :3].tolist() == [1.0, 2.0, 3.0]


def test_all_on_the_device(device: Any) -> None:
    with nl.config(placement="device"):
        x = nl.asarray(np.arange(4.0)) * 2
        assert not is_on_host(x) and x.tolist() == [0, 2, 4, 6]
    y = nl.asarray(np.arange(4.0))
    with nl.config(placement="device"):
        assert not is_on_host(y + x) and (y + x).tolist() == [0, 3, 6, 9]


def mixed_program(xp: Any, seed: int) -> Any:
    """Small and large arrays that meet, are written, seen in part and looked at."""
    draw = random.Random(seed)
    numbers = np.random.default_rng(seed)
    small = [xp.asarray(numbers.integers(-9, 9, 12).astype("f8")) for _ in range(3)]
    large = [xp.asarray(numbers.integers(-9, 9, (40, 12)).astype("f8")) for _ in range(2)]
    seen: list[Any] = []
    for _ in range(40):
        k, i, j = draw.randrange(9), draw.randrange(12), draw.randrange(3)
        s, t, b = small[j], small[draw.randrange(3)], large[draw.randrange(2)]
        if k == 0:
            small[j] = s * 0.5 + t
        elif k == 1:
            s[i] = t[draw.randrange(12)] + 1
        elif k == 2:
            b += s
        elif k == 3:
            small[j] = b[draw.randrange(40)].copy()
        elif k == 4:
            b[i : i + 5] = t
        elif k == 5:
            seen.append(float(s[i]))
        elif k == 6:
            seen.append(float(b.sum()))
        elif k == 7:
            s[2:7] = s[6:1:-1]
        else:
            b[:, i] = xp.sqrt(abs(b[:, i])) + s[i]
    return seen, [part.tolist() for part in (*small, *large)]


@pytest.mark.parametrize("seed", range(8))
def test_the_same_numbers_wherever_work_runs(device: Any, seed: int) -> None:
    """Thresholds and prices at random, so that moves come at any moment; all on the device; all on the host."""
    draw = random.Random(seed)
    try:
        for k in range(12):
            with registry.use("cpu"):
                expected = mixed_program(nl, 100 * seed + k)
            unplanned.set_prices(draw.choice([100, 4500]), draw.choice([1, 500, 10_000]), draw.choice([1, 20]))
            with nl.config(
                unplanned=draw.choice([4, 20, 100, 600, 65536]),
                eager=draw.random() < 0.2,
                placement=draw.choice(["auto", "auto", "auto", "device"]),
            ):
                assert mixed_program(nl, 100 * seed + k) == expected
    finally:
        unplanned.set_prices(placement.LAUNCH, placement.MOVE, placement.RATE)


def test_threads(device: Any) -> None:
    with registry.use("cpu"):
        expected = [mixed_program(nl, seed) for seed in range(8)]
    found: list[Any] = [None] * 8

    def work(seed: int) -> None:
        for _ in range(5):
            found[seed] = mixed_program(nl, seed)

    with nl.config(unplanned=100):
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == expected


def test_what_moved_is_told(device: Any) -> None:
    big, small = nl.asarray(np.ones((100, 1000))), nl.asarray(np.arange(1000.0))
    before = nl.placement()
    nl.evaluate(big + small)
    told = nl.placement()
    assert told.on_host and told.to_device == before.to_device + 1
    assert told.bytes_to_device == before.bytes_to_device + 8000
    assert told.recent[-1].shape == (1000,) and "test_placement.py:" in told.recent[-1].line
    assert "to the device float64[1000], 8,000 bytes: work that runs there needs it" in str(told)
    with nl.config(placement="device"):
        assert "all work runs there" in str(nl.placement())


def test_kernels_of_users_get_addresses_on_the_device(device: Any) -> None:
    """Computed arrays that lie on the host go to the device first; what the kernel may write is known to nobody."""
    signature = Signature("k", (POINTER, replace(POINTER, const=True)), ((0, 8), (8, 8)))
    written, read = nl.asarray(np.arange(6.0)), nl.asarray(np.arange(5.0))
    assert is_on_host(written) and is_on_host(read)
    addresses = np.frombuffer(signature.pack((written, read), []), np.uint64).tolist()
    for array, address in zip((written, read), addresses, strict=True):
        buffer = array.storage.value.buffer
        assert buffer.pool is device.pool and buffer.ptr == address
    assert type(written.storage.value.attr) is not np.ndarray and float(read[2]) == 2.0


def test_no_copy_on_the_host_outlives_a_change_in_place(device: Any) -> None:
    x = nl.asarray(np.arange(6.0))
    value, index = node_of(nl.asarray(np.array([70.0]))), node_of(nl.asarray(np.array([3])))
    call_in_place("scatter", x.storage.value, value, index, axes=(0,), position=0, op="", loop=(), location=0)
    assert not is_on_host(x) and float(x[3]) == 70.0 and x.tolist() == [0, 1, 2, 70, 4, 5]


def test_moves_wait_for_evaluations(device: Any) -> None:
    """Who looks in one thread moves nothing that a plan of another thread reads."""
    host = np.arange(70_000.0)
    x, wrong = nl.asarray(host), []

    def look() -> None:
        wrong.extend([k for k in range(600) if float(x[k]) != k])

    def compute() -> None:
        for k in range(1, 60):
            if float((x * k).sum()) != float((host * k).sum()):
                wrong.append(-k)

    threads = [threading.Thread(target=work) for work in (look, compute, look, compute)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_error_goes_with_the_value_that_moves(device: Any) -> None:
    """What a kernel found on one side is told where the value moves to the other."""
    large = nl.asarray(np.arange(200_000.0))
    bad = large[nl.asarray(np.arange(200_000)) + 1].reshape(20_000, 10).sum(0)
    nl.evaluate(bad)
    assert not is_on_host(bad)
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            bring(node_of(bad), registry.beside(registry.current()))
        with pytest.raises(IndexError, match="out of bounds"):
            (bad + 1).tolist()
    assert (large[:3] + 1).tolist() == [1, 2, 3]

    bad = nl.asarray([1.0, 2.0])[nl.asarray([1, 2])]
    with pytest.raises(IndexError, match="out of bounds"):
        float((large + bad.sum())[7])
    assert float(nl.zeros(1)[0]) == 0


def test_small_factorisations_run_on_the_host_wherever_their_operands_lie(device: Any) -> None:
    def refused(*given: Any, **options: Any) -> Any:
        raise AssertionError("no work for a GPU")

    device.routine = lambda name: refused
    host = np.random.default_rng(1).random((9000, 3, 3)) + 3 * np.eye(3)
    many = nl.asarray(host)
    for x, y in ((many[7], host[7]), (nl.asarray(host[7]), host[7]), (many[7].T * 2, host[7].T * 2)):
        np.testing.assert_allclose(nl.linalg.inv(x).get(), np.linalg.inv(y), rtol=1e-12)
        np.testing.assert_allclose(nl.linalg.solve(x, many[8, 0]).get(), np.linalg.solve(y, host[8, 0]), rtol=1e-12)
        assert float(nl.linalg.det(x)) == pytest.approx(np.linalg.det(y), rel=1e-12)
    with pytest.raises(AssertionError, match="no work"):
        nl.linalg.det(many)
    with nl.config(placement="device"), pytest.raises(AssertionError, match="no work"):
        nl.linalg.det(nl.asarray(host[7]))


@pytest.mark.parametrize("text", ["[0.25, 0.5]", "[1, 2]", "[[1, 2.5], [3, 4]]", "list(range(300))"])
def test_lists_begin_on_the_host(text: str) -> None:
    """The first thing that a process does, too: whether there is a GPU is not known before."""
    values = eval(text)
    with stand_in():
        assert (nl.asarray(values) + 1).tolist() == (np.asarray(values) + 1).tolist()
        with nl.config(placement="device"):
            assert (nl.asarray(values) + 1).tolist() == (np.asarray(values) + 1).tolist()


def test_long_chains_of_small_values_stay_on_the_host(device: Any) -> None:
    """As loops one by one they take longer than a launch; they get a kernel of the host, which does not."""
    x = nl.asarray(np.arange(10.0))
    expected = np.arange(10.0)
    for _ in range(40):
        expected = expected * 0.9 + np.arange(10.0)
    unplanned._unplanned.set_worth(50_000, 1_000, 0)
    try:
        for _ in range(30):
            y = x
            for _ in range(40):
                y = y * 0.9 + x
            assert is_on_host(y) and y.tolist() == expected.tolist()
    finally:
        unplanned._unplanned.set_worth(unplanned.WORTH, unplanned.PLANNING, 0)
    assert device.pool.used == 0
