"""What ``help`` says of ufuncs: their examples run, and their bounds are those of docs/accuracy.md."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import numloom as nl
from numloom.api.ufunc import FUNCTIONS
from numloom.ops.descriptions import DESCRIPTIONS, ERRORS

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted({function.__name__ for function in FUNCTIONS.values()})


def test_every_ufunc_is_described() -> None:
    assert set(DESCRIPTIONS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name: str) -> None:
    text = getattr(nl, name).__doc__
    assert all(part in text for part in ("Parameters\n", "Returns\n", "Notes\n", "Examples\n"))
    assert max(map(len, text.splitlines())) <= 100 or name in ("sign", "arctan2")
    found = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert found.examples and doctest.DocTestRunner(verbose=False).run(found).failed == 0


def test_bounds_are_those_that_are_documented() -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    table = page.partition("| NumPy float32 |")[2].partition("\n\n")[0]
    said = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \|", table, re.MULTILINE)
    assert {name: (float(single), float(double)) for name, single, double in said} == ERRORS


def test_signatures_are_short() -> None:
    assert str(inspect.signature(nl.sin)).startswith("(x, /, out=None, *, where=True")
    assert len(str(inspect.signature(nl.add))) < 130
