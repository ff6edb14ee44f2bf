"""Prints a digest of the kernel texts of each family: a process of its own, for `test_hash_seeds`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from planning import planned
from programs import random_map, random_reduction, random_rows, reduction_of_memory

import numloom as nl
from numloom.base.dtypes import BOOL, F16, F32, F64, I32
from numloom.emit.emit import emit
from numloom.emit.folding import fold_text, segments_text
from numloom.emit.loops import loops_text
from numloom.emit.values import header
from numloom.plan.program import Program


def maps() -> Iterator[str]:
    random = Random(1)
    for _ in range(40):
        yield emit(random_map(random, any_casts=True).program).text


def reductions() -> Iterator[str]:
    random = Random(2)
    for _ in range(40):
        yield emit(random_reduction(random, any_casts=True).program).text
    several = ((F32, ("sum", "argmax", "var")), (F64, ("var", "max")), (F16, ("mean", "min")), (BOOL, ("any",)))
    for fast in (True, False):
        for code, names in several:
            yield emit(reduction_of_memory((64, 900), 1, fast, names, code).program).text


SEVERAL_HEADERS = (3, 12, 14, 21, 34)
"""Random programs whose passes over a row need different headers on the host."""


def rows() -> Iterator[str]:
    for number, shape in enumerate([(9, 16), (21, 24), (5, 100), (3, 1000), (2, 2049), (2, 17000), (3, 4, 50)] * 4):
        yield emit(random_rows(Random(number), shape, len(shape) - 1).program).text
    for number, shape in enumerate([(2, 9000), (1, 40000), (1, 100000)]):
        program = random_rows(Random(number), shape, 1).program
        yield emit(replace(program, cluster=8)).text
    for number in SEVERAL_HEADERS:
        text = emit(random_rows(Random(number), (4, 3000), 1).program).text
        assert header("positions") in text
        assert header("moments_lanes") in text
        yield text


def columns() -> Iterator[str]:
    for number in (*SEVERAL_HEADERS, *range(100, 110)):
        program = random_rows(Random(number), (3, 200), 1).program
        yield emit(replace(program, fast=False)).text


def programs_of(work: Callable[..., Any], *arrays: np.ndarray[Any, Any]) -> Iterator[str]:
    outputs = work(*map(nl.asarray, arrays))
    plan, _ = planned(outputs if isinstance(outputs, list) else [outputs])
    for step in plan.steps:
        if isinstance(step.program, Program):
            yield emit(step.program).text


def plans() -> Iterator[str]:
    """What the planner makes of expressions: tiles, nested rows, stencils, selections, several results."""
    a, b = np.ones((300, 400), np.float32), np.ones((400, 300), np.float32)

    def normalised(x: Any) -> Any:
        shifted = x - x.mean(1, keepdims=True)
        return [shifted / nl.sqrt(x.var(1, keepdims=True) + 1), shifted.max(1), nl.argmin(x, 1)]

    def stencil(x: Any) -> Any:
        y = x.copy()
        y[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
        return y

    def distances(x: Any) -> Any:
        return nl.sqrt(((x[:, None] - x[None]) ** 2).sum(2))

    def many(x: Any, y: Any) -> Any:
        return [x + y.T, nl.exp(x).sum(0), (x * x).sum(), x.T.sum(0), nl.where(x > 0, x, -x).max(1), nl.sin(x) + 1j]

    helper = "template <class T> __device__ T helper(T x) { return x * x + sqrt(x); }"
    kernel = nl.ElementwiseKernel("T x, float32 y", "T z, bool w", "z = x * y; w = z > helper(x)", preamble=helper)
    reducer = nl.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    yield from programs_of(normalised, a)
    yield from programs_of(stencil, a)
    yield from programs_of(distances, a[:, :20])
    yield from programs_of(lambda x, y: x @ y, a, b)
    yield from programs_of(many, a, b)
    yield from programs_of(lambda x: list(kernel(x, x)), a)
    yield from programs_of(lambda x: reducer(x, axis=1), a)
    yield from programs_of(lambda x: nl.lib.stride_tricks.sliding_window_view(x, 5, 1).max(-1), a)


def loops() -> Iterator[str]:
    yield loops_text()
    for op, code in (("add", F32), ("maximum", F64), ("bitwise_or", I32)):
        yield fold_text(op, code, 2, True)
        yield segments_text(op, code, 1, True, "segments")


if __name__ == "__main__":
    nl.config.eager = False
    for family in (maps, reductions, rows, columns, plans, loops):
        texts = list(family())
        print(family.__name__, len(texts), hashlib.sha256("\0".join(texts).encode()).hexdigest())
