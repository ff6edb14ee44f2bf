"""The lock of evaluations."""

from __future__ import annotations

import signal
import sys
import threading
import time
import warnings

import pytest

import numloom as nl
from numloom.command.info import core_modules
from numloom.engine import guard as guards
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
    assert guard.owner == 0 and not guard.queue


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
    assert (most[0], turns[0], guard.owner, guard.queue) == (1, 12 * 300, 0, [])


def test_those_who_wait_have_it_in_their_order():
    guard, taken = Guard(), []
    guard.take()

    def wait(number):
        guard.take()
        taken.append(number)
        guard.give()

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while len(guard.queue) <= number:
            time.sleep(0.001)
    guard.give()
    for _ in range(20):  # whoever comes by comes last
        guard.take()
        guard.give()
    for thread in threads:
        thread.join(10)
    assert taken == [0, 1, 2, 3, 4] and (guard.owner, guard.queue) == (0, [])


def test_busy_threads_leave_turns_to_others(often):
    """A thread that evaluates without end must not keep a fork waiting."""
    guard, stop = Guard(), []

    def busy():
        while not stop:
            guard.take()
            time.sleep(0.001)
            guard.give()

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    start = time.monotonic()
    for _ in range(50):
        guard.take()
        guard.give()
    stop.append(True)
    for thread in threads:
        thread.join()
    assert time.monotonic() - start < 20


@pytest.fixture
def heard():
    """SIGINT raises KeyboardInterrupt, also where whoever started the tests has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(wait):
    """Whether SIGINT ends ``wait()``, which else takes two seconds, in time."""
    main = threading.get_ident()
    thread = threading.Thread(target=lambda: (time.sleep(0.3), signal.pthread_kill(main, signal.SIGINT)))
    start = time.monotonic()
    thread.start()
    try:
        wait()
        thread.join()
    except KeyboardInterrupt:
        return time.monotonic() - start < 1.5
    return False


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
def test_whoever_gives_up_waiting_leaves_the_queue(heard):
    lock = threading.Lock()
    lock.acquire()
    if not interrupted(lambda: lock.acquire(timeout=2)):
        pytest.skip("signals end no wait for a lock here")
    guard, have, go = Guard(), threading.Event(), threading.Event()

    def hold():
        guard.take()
        have.set()
        go.wait(2)
        guard.give()

    thread = threading.Thread(target=hold)
    thread.start()
    have.wait(10)
    assert interrupted(guard.take)
    assert guard.queue == []
    go.set()
    thread.join(10)
    assert guard.owner == 0
    guard.take()
    guard.give()


def test_a_child_waits_for_nobody():
    guard, thread_has = Guard(), []
    guard.take()
    thread = threading.Thread(target=lambda: (guard.take(), thread_has.append(1), guard.give()))
    thread.start()
    while not guard.queue:
        time.sleep(0.001)
    waiting = guard.queue
    guard.renew()
    assert guard.queue == [] and guard.owner == threading.get_ident()
    guard.queue.extend(waiting)  # there is no other process here: let the thread go on
    guard.give()
    thread.join(10)
    assert thread_has and guard.owner == 0


@pytest.mark.skipif(bool(core_modules()[0]), reason="the core is compiled")
def test_a_second_thread_is_warned_of():
    """Nothing keeps threads apart where nothing is compiled."""
    guards._first_thread = 0
    float((nl.ones(3) + 1).sum())
    told = []

    def work():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            float((nl.ones(3) + 2).sum())
            float((nl.ones(3) + 3).sum())
        told.extend(found)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(told) == 1 and "one thread at a time" in str(told[0].message)
