"""Processor time of the tests, by folder (``--budget``): the table, the slowest tests, and what goes beyond.

A folder of tests may take the seconds that ``budgets.toml`` states for it. They are seconds of the machine on which a
fixed piece of work takes ``work`` of them: each worker does that work, too, and its times are scaled by it.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BUDGETS = Path(__file__).with_name("budgets.toml")
SLOWEST = 20
KEY = "processor seconds"
CURE = (
    "Find out which of its tests reach what others reach (python tools/reach) and make them one, or less of each; what "
    "only differs in a number belongs to `make soak-tests`. If all are needed, take the seconds from another folder's "
    "line."
)


def spent() -> float:
    """Processor time of this process, and of those that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def work() -> float:
    """Seconds that a fixed piece of work takes here: the least of three."""
    taken = []
    for _ in range(3):
        begun = time.process_time()
        held: dict[int, list[int]] = {}
        for number in range(200_000):
            held.setdefault(number % 1000, []).append(number)
        taken.append(time.process_time() - begun)
    return min(taken)


def folder_of(test: str) -> str:
    """A test's folder below tests/, or `.`."""
    parts = test.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else "."


def beyond(seconds: dict[str, float], budgets: dict[str, float]) -> list[str]:
    """What to say of each folder that takes more than it may, or has no budget."""
    said = []
    for folder, taken in sorted(seconds.items()):
        if folder not in budgets:
            said.append(f"tests/{folder} has no budget: give it a line in tests/budgets.toml ({taken:.0f} s)")
        elif taken > budgets[folder]:
            said.append(f"tests/{folder} took {taken:.0f} s of processor time, its budget is {budgets[folder]:.0f} s")
    return said


class Measured:
    """A plugin of the process that runs tests: each one's last report says what it took."""

    def __init__(self) -> None:
        self.begun = 0.0
        self.work = work()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[Any]:
        self.begun = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[Any]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((KEY, (spent() - self.begun, self.work)))
        return report


class Budgets:
    """A plugin of the process that leads the session."""

    def __init__(self) -> None:
        read = tomllib.loads(BUDGETS.read_text(encoding="utf-8"))
        self.work: float = read["work"]
        self.budgets: dict[str, float] = read["seconds"]
        self.seconds: dict[str, float] = {}
        self.beyond: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == KEY:
                taken, work = value
                self.seconds[report.nodeid] = taken * self.work / work

    def by_folder(self) -> dict[str, float]:
        """Seconds by folder."""
        sums: dict[str, float] = {}
        for test, taken in self.seconds.items():
            sums[folder_of(test)] = sums.get(folder_of(test), 0.0) + taken
        return sums

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.beyond = beyond(self.by_folder(), self.budgets)
        if self.beyond and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write, sums = terminalreporter.write_line, self.by_folder()
        terminalreporter.section("processor time of tests, in seconds of the machine of budgets.toml")
        for folder in sorted(sums, key=lambda name: -sums[name]):
            write(f"{folder:20}{sums[folder]:8.1f} of {self.budgets.get(folder, 0):.0f}")
        write(f"{'all':20}{sum(sums.values()):8.1f} of {sum(self.budgets.values()):.0f}")
        for test in sorted(self.seconds, key=lambda name: -self.seconds[name])[:SLOWEST]:
            write(f"{self.seconds[test]:8.2f}  {test}")
        for line in self.beyond:
            write(line, red=True)
        if self.beyond:
            write(CURE)
