"""A test that fails runs once more, alone and in a fresh process (``--retry``, which CI gives).

A test that passes then is unstable: by itself it does not fail the session, it is told at the end, and its name is
added to the file that `NUMLOOM_UNSTABLE` of the environment names. A test that fails again, one that ``unstable.txt``
lists, or more than `MOST` failures, which no chance explains, fail the session.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST = 8
"""So many failures at most are tried again."""
ALONE_SECONDS = 600
KNOWN = Path(__file__).with_name("unstable.txt")


def known() -> frozenset[str]:
    """Tests that were unstable before."""
    lines = (line.partition("#")[0].strip() for line in KNOWN.read_text(encoding="utf-8").splitlines())
    return frozenset(filter(None, lines))


def passes_alone(test: str, options: list[str], root: Path) -> tuple[bool, str]:
    """Whether a test passes in a process of its own, and what that printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *options, test]
    ours = ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=ALONE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"no end after {ALONE_SECONDS} s"
    return done.returncode == 0, done.stdout + done.stderr


class Retries:
    """A plugin of the process that leads the session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.failed: dict[str, list[pytest.TestReport]] = {}
        self.collected = True
        self.unstable: list[str] = []
        self.again: dict[str, str] = {}
        """What tests that failed again printed, by name."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.collected &= not report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.setdefault(report.nodeid, []).append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Try again what failed; before the summary is written, and before other plugins that fail a session."""
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or not self.collected:
            return
        if not 0 < len(self.failed) <= MOST:
            return
        names = ("--device", "--placement")
        options = [word for name in names for word in (name, self.config.getoption(name))]
        options += ["--light"] if self.config.getoption("--light", False) else []
        for test in self.failed:
            passed, printed = passes_alone(test, options, self.config.rootpath)
            if passed and test not in known():
                self.unstable.append(test)
            else:
                self.again[test] = "listed in unstable.txt" if passed else printed
        self.move()
        if self.unstable and (path := os.environ.get("NUMLOOM_UNSTABLE")):
            with Path(path).open("a", encoding="utf-8") as file:
                file.writelines(f"{test}\n" for test in self.unstable)
        if not self.again:
            session.exitstatus = pytest.ExitCode.OK

    def move(self) -> None:
        """Count unstable tests as such in the summary, not as failures."""
        stats = self.config.pluginmanager.get_plugin("terminalreporter").stats
        reports = [report for test in self.unstable for report in self.failed[test]]
        for kind in ("failed", "error"):
            stats[kind] = [report for report in stats.get(kind, []) if report not in reports]
            if not stats[kind]:
                del stats[kind]
        if reports:
            stats["unstable"] = reports

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.failed:
            return
        for test in self.unstable:
            for report in self.failed[test]:
                terminalreporter.section(f"failed, and passed alone: {test}", sep="_", yellow=True)
                terminalreporter.write_line(report.longreprtext)
        for test, printed in self.again.items():
            terminalreporter.section(f"failed again, alone: {test}", sep="_", red=True)
            terminalreporter.write_line(printed[-4000:])
        if len(self.failed) > MOST:
            terminalreporter.write_line(f"{len(self.failed)} tests failed, none was tried again (at most {MOST} are)")
        for test in self.unstable:
            terminalreporter.write_line(f"unstable: {test}", yellow=True)
