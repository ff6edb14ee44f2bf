"""Tables of what was found once."""

from __future__ import annotations

from numloom.base.memo import Memo


def test_some_of_what_comes_round_is_met_again() -> None:
    memo = Memo(100)
    for _ in range(3):
        met = 0
        for key in range(120):
            if key in memo.entries:
                met += 1
            else:
                assert memo.keep(key, -key) == -key
            assert len(memo.entries) <= 100 and memo.entries[key] == -key
    assert met >= 40


def test_an_entry_may_change() -> None:
    memo = Memo(2)
    for value in range(5):
        memo.keep("one", value)
    assert memo.entries == {"one": 4}


def test_a_table_is_emptied() -> None:
    memo = Memo(3)
    memo.keep(1, 2)
    memo.forget()
    assert not memo.entries and memo.room == 3
