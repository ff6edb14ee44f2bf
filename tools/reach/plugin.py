"""A plugin of pytest that takes down what each test reaches, and which parameters reach it all (tools/reach)."""

from __future__ import annotations

import ctypes
import heapq
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MOST = 1 << 22
"""So many places at most that one test can reach."""


def seconds() -> float:
    """Processor time of this process and of those that it waited for."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def in_order(reached: list[np.ndarray], costs: list[float]) -> list[tuple[int, int]]:
    """Tests of one function by what each adds for its time, the first one foremost: (number, places added)."""
    covered = np.zeros(1 + max((int(places[-1]) for places in reached if places.size), default=0), bool)
    order = [(0, len(reached[0]))]
    covered[reached[0]] = True
    waiting = [(-len(reached[at]) / (costs[at] + 0.002), at) for at in range(1, len(reached))]
    heapq.heapify(waiting)
    while waiting:
        _, at = heapq.heappop(waiting)
        gain = len(reached[at]) - int(np.count_nonzero(covered[reached[at]]))
        worth = -gain / (costs[at] + 0.002)
        if waiting and worth > waiting[0][0]:  # What it added to fewer than there are now.
            heapq.heappush(waiting, (worth, at))
            continue
        covered[reached[at]] = True
        order.append((at, gain))
    return order


class Reach:
    """Each test's places and time, function after function."""

    def __init__(self, library: str, package: str, folder: Path, worker: str) -> None:
        self.library = ctypes.PyDLL(library)
        self.library.reach_read.restype = ctypes.c_long
        self.library.reach_begin(package.encode(), str(folder / f"{worker}.places").encode())
        self.buffer = np.empty(MOST, np.uint32)
        self.file = (folder / f"{worker}.jsonl").open("w", encoding="utf-8")
        self.function, self.tests = "", []

    def finish(self) -> None:
        """Write down the function whose tests are over."""
        if self.tests:
            names, costs, reached = zip(*self.tests, strict=True)
            order = in_order(list(reached), list(costs))
            rows = [(names[at], round(costs[at], 4), gain) for at, gain in order]
            self.file.write(json.dumps({"function": self.function, "tests": rows}) + "\n")
            self.file.flush()
        self.tests = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        function, _, name = item.nodeid.partition("[")
        if function != self.function:
            self.finish()
            self.function = function
        self.library.reach_clear()
        begun = seconds()
        self.library.reach_trace(1)
        try:
            return (yield)
        finally:
            self.library.reach_trace(0)
            cost = seconds() - begun
            address = self.buffer.ctypes.data_as(ctypes.c_void_p)
            count = self.library.reach_read(address, ctypes.c_long(MOST))
            self.tests.append((name.removesuffix("]"), cost, self.buffer[:count].copy()))

    def pytest_sessionfinish(self) -> None:
        self.finish()


def pytest_configure(config: pytest.Config) -> None:
    """Begin in each process that runs tests."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker or not config.getoption("numprocesses", None):
        given = os.environ["NUMLOOM_REACH"].split(os.pathsep)
        config.pluginmanager.register(Reach(given[0], given[1], Path(given[2]), worker or "alone"), "reach-of-tests")
