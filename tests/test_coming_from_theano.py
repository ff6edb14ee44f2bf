"""The page for Theano's users: its program runs, and all names that it gives for theirs exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest

import numloom

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "coming-from-theano.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| Theano"))]
SPAN = re.compile(r"`([^`]+)`")
NAME = re.compile(r"\b(np|config|rng|[xwf])\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def homes() -> dict[str, Any]:
    x = numloom.symbol("x", (3,))
    return {
        "np": numloom, "config": numloom.config, "rng": numloom.random.default_rng(0), "x": x,
        "w": numloom.shared(numpy.zeros(3), "w"), "f": numloom.function([x], x * 2),
    }  # fmt: skip


def test_there_are_rows() -> None:
    assert len(ROWS) > 70 and all(len(cells(row)) == 2 for row in ROWS)
    assert sum([bool(NAME.search(cells(row)[1])) for row in ROWS]) > 55


@pytest.mark.parametrize("row", ROWS, ids=lambda row: cells(row)[0][:40])
def test_what_stands_on_the_right_exists(row: str) -> None:
    places = homes()
    found = [name for span in SPAN.findall(cells(row)[1]) for name in NAME.findall(span)]
    for home, path in found:
        value = places[home]
        for part in path.split("."):
            assert hasattr(value, part), f"{home}.{path}"
            value = getattr(value, part)


def test_names_in_the_text_exist_too() -> None:
    places = homes()
    text = "\n".join(line for line in re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL).splitlines() if line[:1] != "|")
    for home, path in NAME.findall(" ".join(SPAN.findall(text))):
        value = places[home]
        for part in path.split("."):
            value = getattr(value, part)


def test_the_program_learns() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    costs = [float(cost) for cost in names["costs"]]
    assert numpy.isclose(costs[0], numpy.log(3)) and numpy.isfinite(costs).all()
    with pytest.raises(IndexError):
        names["train"](30)
