"""Expressions as a GPU's planner sees them, run on emulated threads beside the reference executor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import Case, run_emulated

import numloom as nl
from numloom.array.ndarray import node_of
from numloom.engine.walk import walk
from numloom.graph.node import LEAF, Node
from numloom.plan.plan import make_plan
from numloom.plan.program import Program
from numloom.plan.step import Plan, Step

Host = np.ndarray[Any, Any]


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


def check_bits(work: Callable[..., Any], hosts: list[Host], backwards: bool) -> Program:
    """The program of ``work(numloom, *arrays)``, whose CUDA text gives the bits of the reference executor."""
    arrays = [nl.asarray(host) for host in hosts]
    with nl.config(executor="reference"), np.errstate(all="ignore"):
        expected = [each.get() for each in listed(work(nl, *arrays))]
    outputs = listed(work(nl, *arrays))
    plan, nodes = planned(outputs)
    (step,) = plan.steps
    assert step.program is not None
    case, results = planned_case(step, nodes, arrays, hosts, outputs, expected)
    found = run_emulated(case, backwards=backwards)
    for which, each in enumerate(expected):
        assert found.memory[results[which]].tobytes() == each.tobytes()
    return step.program
