"""Programs of much small work give the same bits in each run, wherever their values lie by then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from benchmarks.small_work.catalogue import PROGRAMS
from benchmarks.small_work.program import Program
from benchmarks.small_work.timing import on_host

import numloom as nl
from apart import stand_in
from numloom.device import registry
from numloom.device.cpu import routines
from numloom.device.cpu.routines import products
from numloom.engine import placement, unplanned

pytestmark = pytest.mark.skipif(
    nl.config.executor == "reference" or unplanned._unplanned is None,
    reason="the reference and the uncompiled core have one place where work runs",
)


@pytest.fixture
def other_products(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stand-in for a GPU whose library of products rounds otherwise than the host's, as cuBLAS does."""
    multiply = products.multiply

    def apart(device: Any, x: Any, y: Any, out: Any) -> None:
        multiply(device, x, y, out)
        if device.discrete:
            out *= 1 + 1e-15

    monkeypatch.setattr(products, "multiply", apart)
    monkeypatch.setitem(routines.PRODUCTS, "matmul", apart)
    yield
    unplanned.set_prices(placement.LAUNCH, placement.MOVE, placement.RATE)


@contextmanager
def beside_a_gpu() -> Iterator[None]:
    """The GPU of this session, or a stand-in for one, with small work on the host beside it."""
    if registry.current().discrete:
        with nl.config(placement="auto"):
            yield
    else:
        with stand_in():
            yield


def bits(program: Program, n: int) -> list[Any]:
    found = on_host(nl, program(nl, n, 0))
    return [(np.asarray(one).dtype.str, np.asarray(one).shape, np.asarray(one).tobytes()) for one in found]


@pytest.mark.usefixtures("other_products")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_every_run_has_the_same_bits(program: Program) -> None:
    with registry.use("cpu"):
        alone = [bits(program, program.tiny) for _ in range(3)]
    assert alone[0] == alone[1] == alone[2]
    with beside_a_gpu():
        first = bits(program, program.tiny)
        for launch, move in ((placement.LAUNCH, placement.MOVE), (100, 1), (10_000, 1), (100, 500)):
            unplanned.set_prices(launch, move, 20)  # So cheap that values move at any moment.
            assert bits(program, program.tiny) == first


@pytest.mark.usefixtures("other_products")
@pytest.mark.parametrize("n", [3, 10, 16, 17, 50])
def test_products_have_the_same_bits_in_every_run(n: int) -> None:
    a, b = np.random.default_rng(3).random((2, n, n))

    def run() -> Any:
        x, y = nl.asarray(a), nl.asarray(b)
        for _ in range(4):
            x = x @ y / n + nl.asarray(a)
            y = nl.linalg.inv(x + n * nl.eye(n)) if n < 30 else nl.einsum("ij,jk->ik", x, y) / n
            x = x + float(y[0, 0])
        return nl.dot(x, y).get().tobytes() + (x @ a[0]).get().tobytes()

    with beside_a_gpu():
        first = run()
        for launch, move in ((placement.LAUNCH, placement.MOVE), (100, 1), (10_000, 1), (100, 500)):
            unplanned.set_prices(launch, move, 20)
            assert [run() for _ in range(3)] == [first] * 3
