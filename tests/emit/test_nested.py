"""Reductions inside reductions: CUDA texts on emulated threads give the bits of tables that are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import Case, run_emulated

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.device import registry
from numloom.engine import explain
from numloom.engine.execute import ReadyPlan, run_plan
from numloom.engine.walk import walk
from numloom.graph.node import LEAF, Node
from numloom.plan import tables as stored
from numloom.plan.plan import make_plan
from numloom.plan.step import Plan, Step

Host = np.ndarray[Any, Any]


def planned_case(
    step: Step, nodes: list[Node], arrays: list[Any], hosts: list[Host], outputs: list[Any], expected: list[Host]
) -> tuple[Case, dict[int, int]]:
    """A planned step over copies of host memory, and which of its operands each output is."""
    memory, starts, results = [], [], {}
    for k, binding in enumerate(step.bindings):
        node = nodes[binding.number]
        if node.kind == LEAF:
            host = next(h for h, a in zip(hosts, arrays, strict=True) if node_of(a) is node)
            memory.append(host.reshape(-1))
            offset = binding.offset + (nodes[binding.view].attr if binding.view >= 0 else 0)
            starts.append(offset // host.itemsize)
        else:
            which = next(k for k, output in enumerate(outputs) if node_of(output) is node)
            results[which] = k
            memory.append(np.zeros(expected[which].size, expected[which].dtype))
            starts.append(0)
    params = [np.array(nodes[number].attr).astype(nl.asarray(hosts[0][:0]).dtype) for number, _ in step.params]
    assert step.program is not None
    return Case(step.program, memory, starts, params), results


def distances(x: Any, c: Any) -> Any:
    return ((x[:, None] - c[None]) ** 2).sum(-1)


def ends(d: Any) -> list[Any]:
    return [d.min(1), d.argmin(1), d.argmax(1), d.sum(1)]


def of_axes(d: Any) -> list[Any]:
    return [d.min(0), d.min(1)]


def planned(outputs: list[Any]) -> tuple[Plan, list[Node]]:
    """The plan of a device with many threads, and the values that it is for."""
    roots = [node_of(output) for output in outputs]
    found = walk(roots)
    return make_plan(found.nodes, [root.number for root in roots], short_rows=True), found.nodes


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def points(*shapes: tuple[int, ...], dtype: str = "f4") -> list[Host]:
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [rng.normal(size=shape, scale=4).astype(dtype) for shape in shapes]


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
    arrays = [nl.asarray(host) for host in hosts]
    with nl.config(executor="reference"):
        expected = [each.get() for each in listed(work(nl, *arrays))]
    outputs = listed(work(nl, *arrays))
    plan, nodes = planned(outputs)
    (step,) = plan.steps
    assert step.program is not None and len(step.program.nested) == 1
    case, results = planned_case(step, nodes, arrays, hosts, outputs, expected)
    found = run_emulated(case, backwards=len(name) % 2 == 0)
    for which, each in enumerate(expected):
        assert found.memory[results[which]].tobytes() == each.tobytes(), name


@pytest.mark.parametrize("name", [*WORK, "whole numbers", "distances"])
def test_on_the_device(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of a GPU's kind run on the device at hand; on a host two of them, whose texts it compiles."""
    if device != "cuda" and name not in ("whole numbers", "distances"):
        pytest.skip("its CUDA text runs on emulated threads")
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
    run_plan(ReadyPlan(plan, registry.current(), found.second), found.nodes)
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
        "counters": [((x[:, None] - c[None]) ** nl.arange(32)).sum(-1).min(1)],
    }  # fmt: skip
    for name, outputs in tables.items():
        plan, _ = planned(outputs)
        assert not any(step.program.nested for step in plan.steps if step.program is not None), name
