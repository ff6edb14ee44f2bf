"""Libraries that want NumPy's own class get it, for as long as the program runs, and are then as they were."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import numloom
from numloom.command.serve import adapting
from numloom.command.serve.adapting import Adaptation


class Base:
    def group(self, by: Any) -> type:
        return type(by)


class Frame(Base):
    """Takes nothing but NumPy's class, as pandas' frames do for masks."""

    def __getitem__(self, key: Any) -> Any:
        return type(key), type(key[0]) if isinstance(key, tuple) else None

    def __setitem__(self, key: Any, value: Any) -> None:
        self.kinds = type(key), type(value)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    module: Any = ModuleType("strict_library")
    module.Frame = Frame
    module.kind_of = len  # a compiled function
    monkeypatch.setitem(sys.modules, "strict_library", module)
    paths = {"strict_library:Frame": ("__getitem__", "__setitem__", "group"), "strict_library:Missing": ("group",)}
    monkeypatch.setitem(adapting.METHODS, "strict_library", paths)
    monkeypatch.setattr(adapting, "FUNCTIONS", frozenset(("strict_library",)))
    yield module


def test_arguments_arrive_as_numpys(library: Any) -> None:
    before = dict(vars(Frame))
    mask, frame = numloom.arange(3) > 1, Frame()
    adaptation = Adaptation()
    adaptation.meet("strict_library")
    adaptation.meet("strict_library")
    adaptation.meet("some_other")
    try:
        assert frame[mask][0] is np.ndarray
        assert frame[mask, "a"] == (tuple, np.ndarray)
        assert frame["a"][0] is str
        frame[mask] = mask
        assert frame.kinds == (np.ndarray, numloom.ndarray)
        assert frame.group(mask) is frame.group(by=mask) is np.ndarray
        assert library.kind_of(mask) == 3 and library.kind_of is not len
    finally:
        adaptation.undo()
    assert dict(vars(Frame)) == before and library.kind_of is len
    assert frame.group(mask) is numloom.ndarray


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    adaptation = Adaptation()
    adaptation.meet("pandas")
    try:
        frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0]})
        mask = numloom.arange(3) > 0
        assert (
            len(frame[mask]) == len(frame.loc[mask]) == len(frame["a"][mask]) == len(frame.iloc[numloom.arange(2)]) == 2
        )
        assert frame.groupby(mask)["a"].sum().tolist() == [1.0, 5.0]
    finally:
        adaptation.undo()
