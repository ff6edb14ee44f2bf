"""The lock of evaluations."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from numloom.engine.guard import Guard


@pytest.fixture
def often():
    """Threads change places all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_its_owner_takes_it_again():
    guard = Guard()
    guard.take()
    guard.take()
    guard.give()
    assert guard.owner == threading.get_ident() and guard.depth == 1
    guard.give()
    assert guard.owner == 0 and guard.waiting == 0


def test_one_at_a_time(often):
    guard, inside, most, turns = Guard(), [0], [0], [0]

    def work():
        for _ in range(300):
            guard.take()
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0)
            turns[0] += 1
            inside[0] -= 1
            guard.give()

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most[0], turns[0], guard.owner, guard.waiting) == (1, 12 * 300, 0, 0)


def test_whoever_gives_up_waiting_lets_others_have_its_turn():
    guard = Guard()
    guard.take()
    waiter = guard.turn if hasattr(guard, "turn") else None
    taken = []

    def wait():
        guard.take()
        taken.append(threading.get_ident())
        guard.give()

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    while guard.waiting < 3:
        time.sleep(0.001)
    guard.give()
    for thread in threads:
        thread.join(10)
    assert len(taken) == 3 and guard.waiting == 0
    assert waiter is None or guard.turn is waiter


def test_a_child_waits_for_nobody():
    guard = Guard()
    guard.take()
    guard.renew()
    guard.give()
    assert (guard.owner, guard.waiting) == (0, 0)
