"""``cupy.testing``'s conditions skip functions, classes of unittest's and those that pytest alone runs."""

from __future__ import annotations

import unittest
from typing import Any

import pytest

import numloom.cupy as cp

RUN: list[str] = []


@cp.testing.with_requires("no-such-package>=1")
class TestOfPytests:
    def test_is_not_run(self) -> None:
        RUN.append("of pytest's")


@cp.testing.with_requires("numpy<1")
class TestOfUnittests(unittest.TestCase):
    def test_is_not_run(self) -> None:
        RUN.append("of unittest's")


@cp.testing.with_requires("numpy>=1")
class TestThatRuns:
    def test_is_run(self) -> None:
        RUN.append("that runs")


def test_what_a_condition_skips() -> None:
    assert RUN == ["that runs"] or not RUN  # Workers may take this one alone.
    marks: list[Any] = [mark for case in (TestOfPytests, TestThatRuns) for mark in case.pytestmark]  # type: ignore[attr-defined]
    assert [(mark.name, mark.args, mark.kwargs["reason"]) for mark in marks] == [
        ("skipif", (True,), "requires: no-such-package>=1"),
        ("skipif", (False,), "requires: numpy>=1"),
    ]
    with pytest.raises(unittest.SkipTest, match="no-such-package"):
        cp.testing.with_requires("no-such-package")(lambda: None)()
    assert cp.testing.with_requires("numpy>=1")(lambda: 3)() == 3
