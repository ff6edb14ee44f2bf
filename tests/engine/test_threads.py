"""Many threads at once: what may be shared (docs/threads.md), first uses, and forks meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import numloom as nl
from numloom.command.info import core_modules

MANY = 500

pytestmark = pytest.mark.skipif(not core_modules()[0], reason="the uncompiled core is for one thread at a time")


@pytest.fixture(autouse=True)
def often():
    """Threads change places all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work, count=MANY):
    """Call ``work(number)`` in so many threads that start together; what they gave, or the first error."""
    results = [None] * count
    errors = []
    barrier = threading.Barrier(count)

    def run(number):
        try:
            barrier.wait()
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return results


HOST = np.random.default_rng(1).random((40, 50))
OWN = {
    "arithmetic": lambda xp, x, k: (x * k + 1) / (x + 2),
    "a reduction": lambda xp, x, k: (x[: 10 + k % 7] + k).max(0),
    "a row pattern": lambda xp, x, k: x - x.max(1, keepdims=True) * (k % 5),
    "sorting": lambda xp, x, k: xp.sort(x * (-1) ** k, axis=k % 2),
    "a mask": lambda xp, x, k: x[x > (k % 10) / 10],
    "indices": lambda xp, x, k: x[[k % 40, 1, 3], 2:],
    "a part written": lambda xp, x, k: _written(xp, x, k),
    "views": lambda xp, x, k: x.T[::-1, k % 40].reshape(5, 10),
    "joining": lambda xp, x, k: xp.concatenate([x[:2], x[k % 30 : k % 30 + 3]], axis=0),
    "counting": lambda xp, x, k: xp.bincount((x.ravel() * 8).astype(int), minlength=8 + k % 3),
    "filled": lambda xp, x, k: xp.full((k % 9, 3), k) + xp.arange(3),
}


def _written(xp, x, k):
    y = x.copy()
    y[k % 40] = k
    y[:, 1:3] += y[:, :2]
    y *= 2
    return y


@pytest.mark.parametrize("name", OWN)
def test_results_from_an_array_that_all_read(name):
    work = OWN[name]
    shared = nl.asarray(HOST)
    for number, result in enumerate(at_once(lambda k: work(nl, shared, k).get(), 200)):
        np.testing.assert_array_equal(result, work(np, HOST, number), strict=True)
    np.testing.assert_array_equal(shared.get(), HOST)


@pytest.mark.parametrize("name", ["sorting", "a part written", "counting"])
def test_results_while_all_ways_are_compared(name):
    work = OWN[name]
    with nl.config(verify=True):
        shared = nl.asarray(HOST)
        for number, result in enumerate(at_once(lambda k: work(nl, shared, k).get(), 60)):
            np.testing.assert_array_equal(result, work(np, HOST, number), strict=True)


@pytest.mark.parametrize("name", OWN)
def test_results_from_a_pending_array_that_all_read(name):
    work = OWN[name]
    shared = nl.asarray(HOST) * 0.5 + 0.25  # nobody has looked at it: the threads do
    for number, result in enumerate(at_once(lambda k: work(nl, shared, k).get(), 60)):
        np.testing.assert_array_equal(result, work(np, HOST * 0.5 + 0.25, number), strict=True)


def test_five_hundred_threads_with_arrays_of_their_own():
    def work(number, xp=nl):
        x = xp.arange(100.0) + number
        for turn in range(4):
            x = xp.where(x % (2 + turn) == 0, x / 2, x * 3 + 1)
            x[turn] = turn
        return float(x.max()), x.tolist(), bool((x > 3).any()), int(xp.argmax(x))

    assert at_once(work) == [work(number, np) for number in range(MANY)]


def test_whole_values_put_into_a_shared_array_are_never_mixed():
    """A write of the whole, or of one part, is one step: who reads sees what was before it or after it."""
    shared = nl.zeros(1000)

    def work(number):
        if number % 2:
            shared[...] = number
        seen = shared.get()
        return float(seen[0]), bool((seen == seen[0]).all())

    results = at_once(work, 300)
    assert all(whole for _, whole in results)
    assert {value for value, _ in results} <= {0.0, *map(float, range(1, 300, 2))}


def test_parts_of_a_shared_array_under_a_lock():
    shared, lock = nl.zeros(MANY), threading.Lock()

    def work(number):
        with lock:
            shared[number] += number
            shared[number : number + 2] += 1

    at_once(work)
    expected = np.arange(float(MANY)) + 2
    expected[0] = 1
    np.testing.assert_array_equal(shared.get(), expected)


def test_numbers_of_a_shared_generator_are_drawn_once():
    rng = nl.random.default_rng(3)
    drawn = at_once(lambda number: rng.random(8).tolist(), 300)
    assert len({tuple(numbers) for numbers in drawn}) == 300
    alone = nl.random.default_rng(3)
    assert {tuple(alone.random(8).tolist()) for _ in range(300)} == {tuple(numbers) for numbers in drawn}


def test_numbers_are_drawn_once_while_all_ways_are_compared():
    rng = nl.random.default_rng(3)
    with nl.config(verify=True):
        drawn = at_once(lambda number: rng.random(8).tolist(), 100)
    assert len({tuple(numbers) for numbers in drawn}) == 100


def python(program, tmp_path, **more):
    environment = {
        **os.environ, "NUMLOOM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path), **more,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-c", program], env=environment, capture_output=True,
        text=True, timeout=240,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


AT_ONCE = """
import sys, threading
sys.setswitchinterval(1e-5)

def at_once(work, count):
    results, errors, barrier = [None] * count, [], threading.Barrier(count)
    def run(number):
        try:
            barrier.wait()
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if errors:
        raise errors[0]
    return results
"""


@pytest.mark.parametrize("mode", ["background", "wait"])
def test_first_uses_at_once(mode, tmp_path):
    """The device, the compiler's probe, the disk cache, replayed calls and modules that are imported late."""
    program = (
        AT_ONCE
        + """
import numpy as np
import numloom as nl
x = np.arange(5000.0)
def work(number, xp=nl):
    y = xp.asarray(x)
    kind = number % 6
    if kind == 0: return float((y * 2 + number).max())
    if kind == 1: return float(xp.percentile(y, [10, 50])[1])
    if kind == 2: return float(xp.linalg.norm(y[:4]))
    if kind == 3: return float(xp.linspace(0, number, 11)[5])
    if kind == 4: return float(xp.histogram(y, 7)[0][3])
    return str(type(xp.typing).__name__) and float(xp.polynomial.polynomial.polyval(2.0, xp.asarray([1.0, 2.0])))
print(at_once(work, 60) == [work(number, np) for number in range(60)])
"""
    )
    for _ in range(2):  # without a disk cache, and with one
        assert python(program, tmp_path, NUMLOOM_CPU_COMPILE=mode).split() == ["True"]


def test_a_first_import_by_many_threads(tmp_path):
    program = (
        AT_ONCE
        + """
def work(number):
    import numloom as nl
    return float((nl.arange(10.0) + number).sum())
print(at_once(work, 20) == [45.0 + 10 * number for number in range(20)])
"""
    )
    assert python(program, tmp_path).split() == ["True"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("mode", ["background", "wait", "never"])
def test_children_go_on_while_other_threads_evaluate(mode, tmp_path):
    program = """
import os, signal, threading, time
import numpy as np
import numloom as nl
nl.config.device = "cpu"
stop = False
x = nl.asarray(np.random.default_rng(0).random(300_000))
threads = []

def evaluate():
    y = x
    while not stop:
        y = (y * 1.5 + x) % 3
        float(y.max())

def draw():
    rng = nl.random.default_rng(1)
    while not stop:
        float(rng.random(1000).max())

def compile():
    number = 0
    while not stop:
        number += 1
        y = nl.ones((number % 40 + 2, 100_000 // (number % 40 + 2)), "f4")
        float((y + y[0] * number).max())

for work in (evaluate, draw, compile):
    threads.append(threading.Thread(target=work))
    threads[-1].start()
time.sleep(0.3)
statuses = []
for turn in range(12):
    time.sleep(0.003 * turn)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        right = float((nl.ones(300_000) * 3 + x * 0).sum()) == 900_000
        right &= float((nl.arange(300_001) * 1.5 - nl.random.default_rng(2).random(300_001)).max()) > 449_999
        right &= int(nl.argmax(nl.arange(100_000) % 777)) == 776
        os._exit(0 if right else 1)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop = True
for thread in threads:
    thread.join()
print(statuses == [0] * 12)
"""
    assert python(program, tmp_path, NUMLOOM_CPU_COMPILE=mode).split() == ["True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_pool_of_forked_workers(tmp_path):
    program = """
import multiprocessing
import numpy as np
import numloom as nl
nl.config.device = "cpu"
x = nl.arange(50_000.0)
pending = x * 2

def work(number):
    return float((pending + number).max())

def main():
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(pool.map(work, range(20)) == [99_998.0 + number for number in range(20)])
    print(float(pending.max()))

main()
"""
    assert python(program, tmp_path).split() == ["True", "99998.0"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_pool_of_workers_forked_beside_a_gpu_comes_back(tmp_path):
    """A worker that cannot take its task is started again for ever: values arrive, and the task has the error."""
    program = """
import multiprocessing
import numloom as nl
from apart import stand_in

def total(x):
    return float(x.sum())

def scaled(number):
    return nl.arange(5.0) * number

def on_the_cpu():
    nl.config.device = "cpu"

with stand_in():
    values = [nl.arange(200_000.0) + number for number in range(4)]
    nl.evaluate(*values)
    for setting in (None, on_the_cpu):
        with multiprocessing.get_context("fork").Pool(2, setting) as pool:
            for task, given in ((total, values), (scaled, range(4))):
                try:
                    found = pool.map_async(task, given).get(60)
                    print([float(x.max()) for x in found] if task is scaled else found)
                except Exception as error:
                    print(type(error).__name__, "spawn" in str(error), "without values" in str(error))
"""
    tests = os.path.dirname(os.path.dirname(__file__))
    lines = python(f"import sys\nsys.path.insert(0, {tests!r})\n{program}", tmp_path).splitlines()
    sums = [19999900000.0 + 200_000 * number for number in range(4)]
    assert lines == ["DeviceError True False", "MaybeEncodingError True True", str(sums), "[0.0, 4.0, 8.0, 12.0]"]
