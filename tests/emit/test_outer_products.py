"""Outer-product reductions by tiles: CUDA texts on emulated threads give the bits of every other way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planning import Host, check_bits, planned, points

import numloom as nl
from numloom.emit import outer_products


def ends(d: Any) -> list[Any]:
    return [d.min(-1), d.max(-1), d.sum(-1)]


WORK: dict[str, tuple[Callable[..., Any], list[Host]]] = {
    "distances": (lambda xp, x, y: ((x[:, None] - y) ** 2).sum(-1), points((70, 128), (40, 128))),
    "lanes that are absent": (lambda xp, x, y: abs(x[:, None] - y).max(-1), points((64, 67), (33, 67))),
    "two lines": (lambda xp, x, y: xp.sqrt(((x[:, None] - y) ** 2).mean(-1)), points((40, 200), (30, 200))),
    "float64": (lambda xp, x, y: (x[:, None] * y).sum(-1), points((40, 100), (40, 100), dtype="f8")),
    "float16, four lines": (
        lambda xp, x, y: (x[:, None] * y).sum(-1, keepdims=True), points((40, 450), (30, 450), dtype="f2")
    ),
    "bytes": (lambda xp, x, y: (x[:, None] == y).all(-1), points((66, 300), (40, 300), dtype="i1")),
    "whole numbers": (lambda xp, x, y: (x[:, None] - y).prod(-1), points((50, 90), (60, 90), dtype="i4")),
    "weights": (
        lambda xp, x, y, s, w: (xp.sqrt(abs(x[:, None] - y)) / s[:, None, None] * w).sum(-1),
        points((80, 65), (40, 65), (80,), (65,)),
    ),
    "a number a pair": (
        lambda xp, x, y, m: ((x[:, None] - y) * m[:, :, None]).min(-1), points((70, 99), (50, 99), (70, 50))
    ),
    "batches": (lambda xp, x, y: ((x[:, :, None] - y[:, None]) ** 2).sum(-1), points((3, 40, 70), (3, 30, 70))),
    "backwards": (lambda xp, x, y: ((x[::-1, None, ::-1] - y[:, ::-1]) ** 2).sum(-1), points((70, 77), (40, 77))),
    "seven lines": (lambda xp, x, y: ((x[:, None] - y) ** 2).sum(-1), points((50, 784), (30, 784))),
    "float64, four lines": (lambda xp, x, y: (x[:, None] * y).sum(-1), points((32, 500), (30, 500), dtype="f8")),
    "a product": (lambda xp, x, y: (x[:, :, None] * y).sum(1), points((70, 300), (300, 40))),
    "of columns": (lambda xp, x, y: abs(x[:, :, None] - y[:, None]).max(0), points((17, 64), (17, 33))),
    "shortest ways": (
        lambda xp, x, y: (x[:, :, None] + y).min(1, keepdims=True), points((64, 129), (129, 32), dtype="i4")
    ),
    "many runs": (lambda xp, x, y: (x[:, :, None] * y).sum(1), points((40, 2100), (2100, 30), dtype="f2")),
    "products of doubles": (
        lambda xp, x, y, s: (x[:, :, :, None] * y[:, None] + s).mean(2),
        points((2, 35, 50), (2, 50, 48), (48,), dtype="f8"),
    ),
    "bytes by columns": (
        lambda xp, x, y: (x[:, ::-1, None] == y[::-1]).any(1), points((64, 100), (100, 40), dtype="i1")
    ),
    "complex": (lambda xp, x, y: (x[:, None] - y).sum(-1), points((40, 70), (30, 70), dtype="c8")),
    "several": (lambda xp, x, y: ends(x[:, None] + y), points((64, 66), (32, 66))),
}  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of one tile are taken by tiles, too, and blocks have as much memory as they need."""
    monkeypatch.setattr(outer_products, "LEAST", 1)
    monkeypatch.setattr(outer_products, "SHARED", (1 << 18, 1 << 18))


@pytest.mark.parametrize("name", WORK)
def test_bits_of_the_reference(name: str) -> None:
    work, hosts = WORK[name]
    hosts = [host.copy() for host in hosts]
    if hosts[0].dtype.kind == "f" and name != "weights":
        hosts[0].flat[400], hosts[1].flat[555], hosts[1].flat[200:300] = np.inf, np.nan, -0.0
    assert outer_products.pair_tile_of(check_bits(work, hosts, backwards=len(name) % 2 == 0)) is not None


@pytest.mark.parametrize(("name", "work", "shapes"), [
    ("short rows", lambda x, y: (x[:, None] - y).sum(-1), [(70, 64), (40, 64)]),
    ("long rows", lambda x, y: (x[:, None] - y).sum(-1), [(70, 1025), (40, 1025)]),
    ("few across", lambda x, y: (x[:, None] - y).sum(-1), [(700, 70), (3, 70)]),
    ("moments", lambda x, y: (x[:, None] - y).var(-1), [(70, 70), (40, 70)]),
    ("positions", lambda x, y: (x[:, None] - y).argmax(-1), [(70, 70), (40, 70)]),
    ("nothing that is shared", lambda x, y: (x - y).sum(-1), [(70, 40, 70), (70, 40, 70)]),
    ("one row for all", lambda x, y: (x - y).sum(-1), [(70, 40, 70), (70,)]),
])  # fmt: skip
def test_what_is_no_such_table(name: str, work: Callable[..., Any], shapes: list[tuple[int, ...]]) -> None:
    plan, _ = planned([work(*map(nl.asarray, points(*shapes)))])
    assert all(step.program is None or outer_products.pair_tile_of(step.program) is None for step in plan.steps), name
