"""Reductions inside reductions: CUDA texts on emulated threads give the bits of tables that are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from planning import Host, check_bits, listed, planned, points

import numloom as nl
from compilers import needed
from numloom.array.ndarray import node_of
from numloom.device import registry
from numloom.engine import explain
from numloom.engine.link import tape_of
from numloom.engine.tape import run_plan
from numloom.engine.walk import walk
from numloom.plan import nested_refused as stored
from numloom.plan.plan import make_plan


def distances(x: Any, c: Any) -> Any:
    return ((x[:, None] - c[None]) ** 2).sum(-1)


def ends(d: Any) -> list[Any]:
    return [d.min(1), d.argmin(1), d.argmax(1), d.sum(1)]


def of_axes(d: Any) -> list[Any]:
    return [d.min(0), d.min(1)]


WORK: dict[str, tuple[Callable[..., Any], list[Host]]] = {
    "nearest": (lambda xp, x, c: distances(x, c).argmin(1), points((300, 32), (50, 32))),
    "lanes": (lambda xp, x, c: (distances(x, c) + 1e-3).sum(1, keepdims=True), points((70, 9), (60, 9))),
    "several": (lambda xp, x, c: ends(distances(x, c)), points((40, 8), (300, 8), dtype="f8")),
    "runs": (lambda xp, x, c: xp.sqrt(distances(x, c)).mean(1), points((20, 5), (2500, 5))),
    "chunks": (lambda xp, x, c: distances(x, c).sum(1), points((20, 5), (17_000, 5))),
    "columns": (lambda xp, x, c: distances(x, c).var(0), points((3000, 12), (30, 12))),
    "places": (lambda xp, x, c: distances(x[::-1], c[:, ::-1]).argmax(0), points((900, 20), (33, 20))),
    "inner axis first": (
        lambda xp, x, c: abs(x[:, :, None] - c[:, None]).sum(0).min(1), points((37, 40), (37, 20), dtype="i2")
    ),
    "batches": (
        lambda xp, x, c, w: (distances_of(x, c) * w[:, None]).max(-1), points((5, 60, 16), (5, 10, 16), (5, 10))
    ),
    "members": (lambda xp, x, c: (x[:, None] == c[None]).all(-1).any(1), points((99, 6), (70, 6), dtype="f2")),
}  # fmt: skip


def distances_of(x: Any, c: Any) -> Any:
    return ((x[:, :, None] - c[:, None]) ** 2).mean(-1)


@pytest.mark.parametrize("name", WORK)
def test_bits_of_stored_tables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "THREADS", 1)
    work, hosts = WORK[name]
    hosts = [np.trunc(host / 4) if name == "members" else host.copy() for host in hosts]
    if name in ("nearest", "places", "several"):
        hosts[0][3:9], hosts[0][11], hosts[1][[0, 7]] = np.inf, -np.inf, hosts[1][[1, 5]]
        hosts[1][20] = np.nan if name == "nearest" else np.inf
    program = check_bits(work, hosts, backwards=len(name) % 2 == 0)
    assert len(program.nested) == 1


@pytest.mark.usefixtures("on_the_device")
@pytest.mark.parametrize("name", [*WORK, "whole numbers", "distances"])
def test_on_the_device(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of a GPU's kind run on the device at hand; on a host two of them, whose texts it compiles."""
    if device != "cuda" and name not in ("whole numbers", "distances"):
        pytest.skip("its CUDA text runs on emulated threads")
    if device != "cuda":
        needed()
    monkeypatch.setattr(stored, "THREADS", 1)
    more: dict[str, tuple[Callable[..., Any], list[Host]]] = {
        "whole numbers": (lambda xp, x, c: abs(x[:, None] - c).max(2).argmin(1), points((90, 7), (40, 7), dtype="i4")),
        "distances": (lambda xp, x, c: xp.sqrt(distances(x, c)).sum(0), points((90, 33), (64, 33), dtype="f8")),
    }
    work, hosts = (WORK | more)[name]
    arrays = [nl.asarray(host) for host in hosts]
    outputs = listed(work(nl, *arrays))
    roots = [node_of(output) for output in outputs]
    found = walk(roots)
    plan = make_plan(found.nodes, [root.number for root in roots], short_rows=True)
    assert all(len(step.program.nested) == 1 for step in plan.steps if step.program is not None)
    run_plan(tape_of(plan, registry.current(), found.second), found.nodes)
    with nl.config(executor="reference"):
        expected = [each.get() for each in listed(work(nl, *arrays))]
    assert [each.get().tobytes() for each in outputs] == [each.tobytes() for each in expected]


def test_what_is_told() -> None:
    """Bytes that are read are those of points and centres, and work is that of all their pairs."""
    x, c = (nl.asarray(host) for host in points((300, 32), (50, 32)))
    plan, _ = planned([distances(x, c).argmin(1)])
    told = explain._step(plan.steps[0])
    assert told.mode == "kernel, rows of 32 reduced inside"
    assert (told.bytes_read, told.bytes_written) == (x.nbytes + c.nbytes, 300 * 8)
    assert told.operations == 300 * 50 * (32 * 3 + 1)


def test_what_is_stored() -> None:
    """Tables that others need, that take no work to read again, or that few threads would make."""
    x, c, t = (nl.asarray(host) for host in points((300, 32), (50, 32), (300, 50, 32)))
    held = distances(x, c)
    soft = nl.exp(-distances(x, c))
    tables = {
        "held": [held.argmin(1)],
        "asked for": [distances(x, c)],
        "two kernels": of_axes(distances(x, c)),
        "of rows again": [soft / soft.sum(1, keepdims=True)],
        "streamed": [(t**2).sum(-1).max(1)],
        "of everything": [distances(x, c).sum()],
        "few threads": [distances(x[:3], nl.concatenate([x] * 90)).min(1)],
        "long rows": [((x.T[:, None] - x.T[None]) ** 2).sum(-1).min(1)],
        "counters": [((x[:, None] - c[None]) ** nl.arange(0, 64, 2)).sum(-1).min(1)],
    }  # fmt: skip
    for name, outputs in tables.items():
        plan, _ = planned(outputs)
        assert not any(step.program.nested for step in plan.steps if step.program is not None), name
