"""The lock of evaluations."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from numloom.engine import guard as module
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


def test_who_comes_between_waking_and_taking_is_waited_for():
    """The module as Python's own text, where a thread can be held at the end of its waiting."""
    text = Path(module.__spec__.origin).with_name("guard.py").read_text(encoding="utf-8")
    names = {"__name__": "guard"}
    exec(compile(text.replace("import cython\n", "from numloom.base import uncompiled as cython\n", 1), "guard", "exec"), names)
    guard = names["Guard"]()
    woken, between, ended, seen = threading.Event(), threading.Event(), threading.Event(), []

    class Slow(threading.Condition):
        def __exit__(self, *error):
            super().__exit__(*error)
            if threading.current_thread() is first and not woken.is_set():
                woken.set()
                between.wait(10)

    def wait():
        guard.take()
        seen.append(ended.is_set())
        guard.give()

    def come_between():
        woken.wait(10)
        guard.take()
        between.set()
        time.sleep(0.2)
        ended.set()
        guard.give()

    guard.turn = Slow()
    guard.take()
    first, second = threading.Thread(target=wait), threading.Thread(target=come_between)
    first.start()
    while not guard.waiting:
        time.sleep(0.001)
    second.start()
    guard.give()
    first.join(20)
    second.join(20)
    assert seen == [True] and (guard.owner, guard.depth) == (0, 0)
