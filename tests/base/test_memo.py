"""Tables of what was found once."""

from __future__ import annotations

import gc

import numpy as np

import numloom as nl
from numloom.base.memo import Memo, forget_all
from numloom.device.memory import Pool


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


def test_all_are_emptied() -> None:
    memo = Memo()
    memo.keep(1, 2)
    forget_all()
    assert not memo.entries
    x = nl.asarray(np.arange(12.0).reshape(3, 4))
    for _ in range(4):
        found = [(x.sum(1) * x.T.max(0))[::2].get(), nl.concatenate([x, x], 1).mean().get(), x[x > 4].get()]
        forget_all()
    host = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(found[0], (host.sum(1) * host.T.max(0))[::2])
    assert found[1] == 5.5
    np.testing.assert_array_equal(found[2], host[host > 4])


def test_memory_that_runs_out_is_asked_for_again_without_what_was_remembered() -> None:
    taken: list[int] = []

    def take(nbytes: int) -> int:
        if len(taken) == 1:
            return 0
        taken.append(nbytes)
        return 256

    pool = Pool("a device of one block", take, lambda pointer, nbytes: taken.pop())
    memo = Memo()
    memo.keep("call", pool.allocate(5 << 20))
    gc.collect()
    held = pool.allocate(7 << 20)
    assert held.nbytes == 7 << 20 and not memo.entries
