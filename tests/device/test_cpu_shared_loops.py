"""Loops that are shared out among threads give NumPy's bits: products of stacks and running values of many lines."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from numloom.base.config import config
from numloom.device import registry
from numloom.device.cpu import blas_threads
from numloom.device.cpu.routines import order, products, shared

DEVICE: Any = registry.get("cpu")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the loops that ran, which are compiled."""
    if config.cpu_compile == "never" or DEVICE.builder.compiler is None:
        pytest.skip("nothing is compiled here")
    DEVICE.builder.kernel(shared.text(), "", wait=True)
    found: list[str] = []
    run = shared.run

    def noted(device: Any, name: str, *rest: Any) -> bool:
        done = run(device, name, *rest)
        if done:
            found.append(name)
        return done

    monkeypatch.setattr(shared, "run", noted)
    return found


def numbers(shape: tuple[int, ...], char: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if char in "FD":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(char)
    if char in "fd":
        return rng.normal(size=shape).astype(char)
    info = np.iinfo(char)
    return rng.integers(info.min, info.max, shape, dtype=char)


STACKS = {
    "plain": (lambda n: (n(40, 30, 50), n(40, 50, 20))),
    "few small ones": (lambda n: (n(3, 90, 80), n(3, 80, 70))),
    "transposed": (lambda n: (n(20, 50, 40).swapaxes(1, 2), n(20, 60, 50).swapaxes(1, 2))),
    "one matrix for all": (lambda n: (n(6, 7, 40, 30), n(30, 20))),
    "broadcast axes": (lambda n: (n(6, 1, 40, 30), n(5, 30, 40))),
    "spaced rows": (lambda n: (n(30, 80, 90)[::-2, 1::2, 5:47], n(15, 42, 80)[:, :, 3:33])),
    "tiny ones": (lambda n: (n(9000, 4, 4), n(9000, 4, 5))),
}
NUMPYS = {
    "spaced columns": (lambda n: (n(30, 40, 90)[:, :, ::2], n(30, 45, 20))),
    "vectors": (lambda n: (n(600, 40, 30), n(600, 30, 1))),
    "one array and itself": (lambda n: (lambda x: (x, x.swapaxes(1, 2)))(n(30, 40, 40))),
}


@pytest.mark.skipif(blas_threads.product_of("d") is None, reason="NumPy has another BLAS than OpenBLAS")
@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("name", [*STACKS, *NUMPYS])
def test_products_of_stacks(name: str, char: str, ran: list[str]) -> None:
    x, y = {**STACKS, **NUMPYS}[name](lambda *shape: numbers(shape, char, len(shape)))
    expected = np.empty_like(np.matmul(x, y))
    blas_threads.by_one_thread(lambda: np.matmul(x, y, out=expected))
    found = np.full(expected.shape, 7, char)
    products.multiply(DEVICE, x, y, found)
    assert ran == ([f"stack_{char}"] if name in STACKS else [])
    np.testing.assert_array_equal(found, expected)


def test_into_other_orders(ran: list[str]) -> None:
    x, y = numbers((30, 40, 50), "d", 1), numbers((30, 50, 40), "d", 2)
    found = np.empty((30, 40, 40)).swapaxes(1, 2)
    products.multiply(DEVICE, x, y, found)
    wide = np.zeros((60, 40, 50))
    products.multiply(DEVICE, x, y, wide[::2, :, 5:45])
    np.testing.assert_allclose(found, x @ y)
    np.testing.assert_array_equal(wide[::2, :, 5:45], found)
    assert not wide[1::2].any()
    assert not wide[:, :, :5].any()
    assert ran.count("stack_d") == (blas_threads.product_of("d") is not None)


def test_in_threads(ran: list[str]) -> None:
    wrong = []

    def work(seed: int) -> None:
        x, y = numbers((40, 30, 40), "d", seed), numbers((40, 40, 30), "d", seed + 1)
        expected = x @ y
        for _ in range(20):
            found = np.empty((40, 30, 30))
            products.multiply(DEVICE, x, y, found)
            if not np.allclose(found, expected):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("char", "fdilqILQ")
@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("shape", [(700, 13), (13, 700), (20, 30, 40), (4, 2500), (3, 2, 1500)])
def test_running_values(shape: tuple[int, ...], op: str, char: str, ran: list[str]) -> None:
    a = numbers(shape, char, 3)
    if char in "fd":
        with np.errstate(over="ignore"):
            a = np.abs(a) + np.array(0.5, char) if op == "multiply" else a
        a.reshape(-1)[[50, 999, 4000]] = np.nan, np.inf, -np.inf
    for axis in range(-1, len(shape)):
        for one in (a, a.T, np.asfortranarray(a)):
            with np.errstate(all="ignore"):
                expected = getattr(np, op).accumulate(one, axis, one.dtype)
            found = np.empty_like(expected)
            order.scan(DEVICE, one, found, op=op, axis=axis)
            np.testing.assert_array_equal(found, expected)
            one = one.copy("K")
            order.scan(DEVICE, one, one, op=op, axis=axis)  # in place
            np.testing.assert_array_equal(one, expected)
    assert bool(ran) == (char in "fdilq" or op in ("add", "multiply"))


def test_lines_that_are_numpys(ran: list[str]) -> None:
    for one, axis in (
        (numbers((5000,), "d", 1), 0),
        (numbers((80, 90), "d", 1)[:, ::2], 1),
        (numbers((80, 90), "F", 1), 0),
        (numbers((8, 9), "d", 1), 0),
        (numbers((80, 90), "h", 1), 0),
    ):
        found = np.empty(one.shape, one.dtype)
        order.scan(DEVICE, one, found, op="add", axis=axis)
        np.testing.assert_array_equal(found, np.add.accumulate(one, axis, one.dtype))
    assert not ran
