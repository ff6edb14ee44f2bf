"""Short rows by way of shared memory: CUDA texts on emulated threads give the bits of every other way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planning import check_bits, planned

import numloom as nl
from numloom.emit import staging

K = {"axis": 1, "keepdims": True}

WORK: dict[str, Callable[..., Any]] = {
    "layer norm": lambda xp, x, g, w: (x - x.mean(**K)) / xp.sqrt(x.var(**K) + 1e-3) * g + 1,
    "unit vectors": lambda xp, x, g, w: x / xp.sqrt((x * x).sum(**K)),
    "rows that are weighed": lambda xp, x, g, w: (x - x.max(**K)) * w[:, None],
    "no whole rows": lambda xp, x, g, w: ((x - x.min(**K)) / (x.max(**K) - x.min(**K))).sum(1),
    "two results": lambda xp, x, g, w: (lambda c: [c, c * c])(x - x.mean(**K)),
    "from within": lambda xp, x, g, w: x[1:] - x[1:].sum(**K),
}


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MANY", 1)


def check(name: str, rows: int, count: int, dtype: str) -> None:
    rng = np.random.default_rng(rows * count)
    hosts = [rng.normal(size=shape, scale=4).astype(dtype) for shape in ((rows, count), (count,), (rows,))]
    if dtype[0] == "f":
        hosts[0].flat[[3, 50, -1]] = np.inf, np.nan, -np.inf
    assert staging.staging_of(check_bits(WORK[name], hosts, backwards=count % 2 == 0), 1) is not None


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize(("rows", "count"), [(300, 3), (257, 16), (70, 100)])
def test_bits_of_the_reference(name: str, rows: int, count: int) -> None:
    check(name, rows, count, "f4")


@pytest.mark.parametrize(
    ("count", "dtype"), [(2, "f8"), (10, "f2"), (32, "f8"), (33, "c8"), (40, "f4"), (127, "f2"), (20, "c16")]
)
def test_bits_of_other_dtypes(count: int, dtype: str) -> None:
    check("from within" if dtype[0] == "c" else "unit vectors", 70, count, dtype)


@pytest.mark.parametrize("work", [
    lambda x: x - x.sum(1, keepdims=True), lambda x: (x.T - x.T.sum(0)).T, lambda x: x[:, :40] - x[:, :40].sum(**K)
])  # fmt: skip
def test_what_is_staged(work: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that fill memory without gaps, where there are many."""

    def staged() -> bool:
        plan, _ = planned([work(nl.asarray(np.ones((300, 60), np.float32)))])
        return any(step.program and staging.staging_of(step.program, 1) for step in plan.steps)

    dense = work(np.ones((3, 60))).shape[1] == 60
    assert staged() == dense
    monkeypatch.setattr(staging, "MANY", 301)
    assert not staged()
