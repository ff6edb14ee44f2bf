"""The tables of ``docs/differences.md``: what results without dimensions are asked, and what is heard from ours."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import fractions
import json
import math
import numbers
import operator
import pickle
import random
import re
import statistics
import struct
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import numloom as nl
from numloom.device import registry

pandas = pytest.importorskip("pandas")
PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "differences.md"
ROWS = [
    [re.findall(r"`((?:[^`])+)`", cell) for cell in line.strip("| \n").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").partition("## What numbers are asked")[2].splitlines()
    if line.startswith("| `")
]
SAME = [row for row in ROWS if len(row) == 2]
OTHERWISE = [row for row in ROWS if len(row) == 3]
NUMBERS = {"f": 2.0, "i": 2, "b": True, "c": 1 + 2j}
MODULES = (
    array, collections, datetime, decimal, fractions, json, math, numbers, numpy, operator, pandas, pickle, random,
    statistics, struct, typing,
)  # fmt: skip


@pytest.fixture(autouse=True)
def as_by_default() -> Any:
    """pandas reads arrays on a GPU by itself, as it may where nobody says otherwise (tests do)."""
    with nl.config(host_copy="allow"):
        yield


def kind(number: Any) -> str:
    match number:
        case float():
            return "float"
        case int():
            return "int"
        case numbers.Number():
            return "number"
        case _:
            return "other"


def heard(questions: list[str], of: Callable[[Any], Any]) -> str:
    """The answers to the questions of a row, as the page shows them."""
    names = {module.__name__: module for module in MODULES}
    names |= {name: of(numpy.asarray([value]))[0] for name, value in NUMBERS.items()} | {"kind": kind}
    asked = [
        each for each in questions if each not in ("f.dtype", "match", "case float()", "int()", "numbers.Number()")
    ]
    try:
        answers = tuple(plain(eval(each, names)) for each in asked)
    except Exception as error:
        return type(error).__name__
    return repr(answers if len(answers) > 1 else answers[0])


def plain(answer: Any) -> Any:
    return answer.item() if type(answer) is nl.ndarray or isinstance(answer, numpy.bool) else answer


def skip_where_none_is_claimed(row: list[list[str]]) -> None:
    """A number on a GPU claims no class, nor does one of the uncompiled core."""
    claims = ("numbers.", "numpy.isscalar(f)", "Fraction", "kind(f)")
    uncompiled = sys.modules["numloom.array.ndarray"].__file__.endswith(".py")  # type: ignore[union-attr]
    if (uncompiled or registry.current().discrete) and any(claim in each for claim in claims for each in row[0]):
        pytest.skip("numbers on a GPU, and of the uncompiled core, claim no class")


@pytest.mark.parametrize("row", SAME, ids=lambda row: row[0][0])
def test_the_same_answer(row: list[list[str]]) -> None:
    skip_where_none_is_claimed(row)
    assert heard(row[0], numpy.asarray) == heard(row[0], nl.asarray) == row[1][0]


@pytest.mark.parametrize("row", OTHERWISE, ids=lambda row: row[0][0])
def test_another_answer(row: list[list[str]]) -> None:
    skip_where_none_is_claimed(row)
    assert heard(row[0], numpy.asarray) == row[1][0] != row[2][0]
    assert heard(row[0], nl.asarray) == row[2][0]


def test_the_tables_are_read() -> None:
    assert len(SAME) > 12 and len(OTHERWISE) > 15
    assert not numpy.isscalar(nl.array(2.0)) and not isinstance(nl.array(2.0), numbers.Number)


X = numpy.array([1.5, 2.5])
TABLES: dict[str, Callable[[Any, Any], Any]] = {
    "dicts": lambda pd, x: pd.DataFrame([{"a": x, "b": 1}, {"a": x * 2, "b": 2}]),
    "lists": lambda pd, x: pd.DataFrame([[x, "s"], [x + 1, "t"]], columns=["a", "b"]),
    "tuples": lambda pd, x: pd.DataFrame([(x, 1)]),
    "records": lambda pd, x: pd.DataFrame.from_records([(x, 1)]),
    "rows by name": lambda pd, x: pd.DataFrame.from_dict({"r": [x, 1]}, orient="index"),
    "dicts by column": lambda pd, x: pd.DataFrame({"a": {"r": x, "s": x}}),
    "a dict": lambda pd, x: pd.Series({"a": x, "b": x}),
    "apply": lambda pd, x: pd.Series([1, 2]).apply(lambda v: x),
    "map": lambda pd, x: pd.Series([1, None]).map(lambda v: x, na_action="ignore"),
    "map of a table": lambda pd, x: pd.DataFrame({"a": [1, 2]}).map(lambda v: x),
    "groups": lambda pd, x: pd.DataFrame({"a": [1, 2], "b": [1.0, 2]}).groupby("a").agg(lambda g: x),
    "groups of a column": lambda pd, x: pd.Series([1.0, 2]).groupby([1, 2]).agg(lambda g: x),
    "levels": lambda pd, x: pd.MultiIndex.from_tuples([(x, 1)]).to_frame(),
    "lines": lambda pd, x: pd.DataFrame({"a": [1.0, 2]}).apply(lambda line: x, axis=1),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", "c16"])
@pytest.mark.parametrize("name", TABLES)
def test_columns_of_pandas_hold_numbers(name: str, dtype: str) -> None:
    """They held objects: arrays without dimensions, which no file takes and whose sums are slow."""
    make = TABLES[name]
    host = X.astype(dtype)
    expected, found = make(pandas, host[0]), make(pandas, nl.asarray(host)[0])
    check: Any = pandas.testing.assert_frame_equal if expected.ndim == 2 else pandas.testing.assert_series_equal
    check(found, expected)


def test_objects_of_pandas_stay_what_they_are() -> None:
    column = pandas.DataFrame([{"a": nl.ones(2)}, {"a": "text"}])["a"]
    assert type(column[0]) is nl.ndarray and column[1] == "text"


@pytest.mark.parametrize("number", [0, 3, 2.5, True, -1])
def test_bytes(number: Any) -> None:
    """Of an integer as many zeros, as Python's own numbers have it."""
    host = numpy.asarray([number])
    if number == -1:
        with pytest.raises(ValueError, match="negative count"):
            bytes(nl.asarray(host)[0])
    else:
        assert bytes(nl.asarray(host)[0]) == bytes(host[0])
    assert bytes(nl.asarray(host)) == bytes(host)
