"""What remembers something is found in sources, told of by hand, and counted on its page."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import mechanisms  # noqa: E402
from mechanisms import (  # noqa: E402
    CACHE,
    LASTING,
    LRU,
    MEMO,
    ONCE,
    OTHER,
    SOURCES,
    WEAK,
    Named,
    counts,
    faults,
    find,
    there,
    was_there,
)

MODULE = """
import functools, weakref
from numloom.base.memo import Memo

ROOM = 1 << 6
_results = {}
_places = [None] * ROOM
_short = Memo(ROOM)
_long: Memo = Memo()
_holders = weakref.WeakKeyDictionary()
_of_others = {}
_registry = {}
_constants = {"a": 1}
_shadowed = {}
__all__ = []


def look(key):
    found = _results.get(key)
    if found is None:
        found = _results[key] = key + 1
    _places[key % ROOM] = found
    return found


def enter(name):
    _registry[name] = len(_registry)


for _name in "ab":
    enter(_name)


def brief(key):
    _shadowed = {}
    _shadowed[key] = 1
    return _shadowed, _constants["a"]


@functools.lru_cache(ROOM)
def strides(shape):
    return shape


@functools.cache
def text(name):
    return name


@functools.cache
def library():
    return 1


def remembering(function):
    kept = {}

    def inner(*given):
        if given not in kept:
            kept[given] = function(*given)
        return kept[given]

    return inner


class Device:
    names = ("a",)

    def __init__(self):
        self.kernels = {}
        self.state = {}
        self.known = Memo(8)
        self.shared: Lasting[str, object] = Lasting(ROOM)
        self.state["made"] = True

    def kernel(self, text):
        return self.kernels.setdefault(text, text)
"""
OTHER_MODULE = """
from numloom.first import _of_others


def tell(key):
    _of_others[key] = 1
"""
CYTHON = """
cdef enum:
    SLOTS = 1 << 5

cdef Known known[SLOTS]
cdef int sizes[SLOTS]
cdef dict ways = {}
names = {"a": 1}


cdef Known* slot_of(int key):
    return &known[key]


def way(key):
    ways[key] = sizes[key]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "first.py").write_text(MODULE)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "second.py").write_text(OTHER_MODULE)
    (tmp_path / "_third.pyx").write_text(CYTHON)
    return tmp_path


def test_tables_that_are_planted_are_found_and_no_others(tree: Path) -> None:
    assert set(find(tree)) == {
        (OTHER, "first.py", "_results", ""), (OTHER, "first.py", "_places", "64"),
        (MEMO, "first.py", "_short", "64"), (MEMO, "first.py", "_long", "16,384"),
        (OTHER, "first.py", "_of_others", ""), (WEAK, "first.py", "_holders", ""),
        (LRU, "first.py", "strides", "64"), (CACHE, "first.py", "text", ""), (ONCE, "first.py", "library", "1"),
        (OTHER, "first.py", "remembering.kept", ""), (OTHER, "first.py", "Device.kernels", ""),
        (MEMO, "first.py", "Device.known", "8"), (LASTING, "first.py", "Device.shared", "64"),
        (OTHER, "_third.pyx", "known", "32"), (OTHER, "_third.pyx", "ways", ""),
    }  # fmt: skip
    own = counts(tree)
    assert (own["what remembers"], own["- Memo"], own["- own rule"], own["  - not told"]) == (15, 3, 7, 7)
    assert own["rules of warming up"] == own["ways to run"] == 0


def test_a_table_that_empties_itself_is_told_of(tree: Path) -> None:
    (tree / "inner" / "second.py").write_text(
        "kept = {}\ndef f(key):\n    if len(kept) > 9:\n        kept.clear()\n    kept[key] = 1\n"
    )
    assert counts(tree)["  - emptied when full"] == 1


def test_what_is_not_told_by_hand_is_named(tree: Path) -> None:
    wrong = faults(tree, find(tree))
    assert any(line.startswith("first.py:_results is in no table") for line in wrong)
    assert any(line.startswith("engine/evaluate.py:_plans is not there any more") for line in wrong)
    assert "engine/unplanned.py has no WORTH" in wrong
    assert not any(line.startswith(("first.py:_short", "first.py:_registry")) for line in wrong)


once = functools.cache(find)
"""It takes seconds."""


def test_all_is_told_by_hand_and_nothing_else() -> None:
    assert faults(SOURCES, once(SOURCES)) == []
    names = [(one.file, one.name) for one in (*mechanisms.WARM_UP, *mechanisms.RECORD, *mechanisms.RUN)]
    assert len(set(names)) == len(names)


def test_names_are_looked_for(tree: Path) -> None:
    for file, name in (("first.py", "look"), ("first.py", "ROOM"), ("first.py", "Device"), ("_third.pyx", "slot_of"),
                       ("_third.pyx", "SLOTS"), ("_third.pyx", "way")):  # fmt: skip
        assert there(tree, Named(file, name, "")), name
    for file, name in (("first.py", "loo"), ("first.py", "given"), ("first.py", "fifth"), ("fifth.py", "look")):
        assert not there(tree, Named(file, name, "")), name
    assert was_there(tree, Named("first.py", "new", "", "look")) and not was_there(tree, Named("first.py", "new", ""))
    assert there(SOURCES, Named("base/config.py", "unplanned", "")) and not there(
        SOURCES, Named("base/config.py", "x", "")
    )


def test_the_page_is_the_one_that_would_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mechanisms, "find", once)
    assert mechanisms.main(["--check"]) == 0, "run python tools/mechanisms.py --write"
    monkeypatch.setattr(mechanisms, "PAGE", tmp_path / "page.md")
    assert mechanisms.main(["--check"]) == 1
    assert mechanisms.main(["--write", "--list"]) == 0 and mechanisms.main(["--check"]) == 0
    (tmp_path / "page.md").write_text("another")
    assert mechanisms.main(["--check"]) == 1
    assert "Memo       graph/build.py:_tuples  16,384" in capsys.readouterr().out
    monkeypatch.setattr(mechanisms, "WARM_UP", (Named("engine/unplanned.py", "NONE", ""),))
    assert mechanisms.main([]) == 1
    assert "engine/unplanned.py has no NONE" in capsys.readouterr().err
