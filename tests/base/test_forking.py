"""What a fork finds in order."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from numloom.base import forking
from numloom.base.forking import INNERMOST, anew, held, lock
from numloom.device.cuda import driver

PACKAGE = Path(forking.__file__).parents[1]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
# Locks that no fork takes: how a child does without them stands beside each.
OTHERWISE = {
    "base/forking.py": 1,  # one fork at a time
    "command/serve/lines.py": 1,  # a child is not looked at
    "device/cpu/module.py": 2,  # made anew: the compiler may run under it
    "device/cuda/backend.py": 3,  # no child uses a GPU that was in use
    "device/cuda/transfer.py": 2,
    "device/cuda/compile.py": 4,
    "distributed/device.py": 3,  # no child uses its parent's group
    "distributed/channel.py": 1,
    "distributed/exchange.py": 1,
    "distributed/rendezvous.py": 2,
    "engine/guard.py": 1,  # of one who waits: a child has none of them
}


def in_child(function):
    """The exit status of a child that calls a function: 0 where it gives True."""
    while True:
        try:
            child = os.fork()
            break
        except RuntimeError:  # an audit hook of another library's does not want one just now (filelock's)
            time.sleep(0.01)
    if child == 0:
        status = 2
        try:
            status = 0 if function() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


POOL = """
import os, sys, threading, time
from numloom.base.forking import lock
from numloom.base import later
ours = lock()
pools = later.load("numloom.base.pools")  # After our locks: its own lock is taken after them all the same.
pool = pools.ThreadPoolExecutor(1)
holds, forking = threading.Event(), threading.Event()

def work():
    with ours:
        holds.set()
        forking.wait()
        time.sleep(0.2)
        assert pool.submit(int, "3").result() == 3

thread = threading.Thread(target=work)
thread.start()
holds.wait()
forking.set()
child = os.fork()
if child == 0:
    free = ours.acquire(timeout=5)
    os._exit(0 if free else 1)
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert ours.acquire(timeout=5)
"""


@needs_fork
def test_a_fork_waits_for_a_thread_that_gives_a_pool_work_while_it_holds_a_lock():
    done = subprocess.run([sys.executable, "-c", POOL], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def taken(lock):
    """Whether another thread can take it."""
    found = []

    def attempt():
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return found[0]


@needs_fork
def test_a_lock_in_the_hands_of_another_thread_is_free_in_the_child():
    mine, busy, done = lock(), threading.Event(), threading.Event()

    def hold():
        with mine:
            busy.set()
            done.wait(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    busy.wait()
    assert in_child(lambda: taken(mine)) == 0
    thread.join()
    assert taken(mine)


SLOW_IMPORT = """
import importlib.machinery, os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
begun = threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path) if name == {module!r} else None
        if spec is not None:
            execute = spec.loader.exec_module

            def later(module):
                begun.set()
                time.sleep(0.3)
                execute(module)

            spec.loader.exec_module = later
        return spec

import numloom as np
for name in [name for name in sys.modules if name == {module!r} or name.startswith({module!r} + ".")]:
    del sys.modules[name]
sys.meta_path.insert(0, Slow())
work = lambda: {work}
thread = threading.Thread(target=work)
thread.start()
if not begun.wait(20):
    raise SystemExit("nothing was imported")
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        work()
    except np.DeviceError:  # Of a GPU that the parent uses.
        pass
    os._exit(0)
status = os.waitpid(child, 0)[1]
thread.join()
raise SystemExit(status and f"the child ended with {{status}}")
"""
FIRST_USES = {
    "cuda.bindings.driver": ("cpu", "sys.modules['numloom.device.cuda.driver'].bindings()"),
    "scipy.fft": ("cpu", "np.fft.fft(np.arange(8.0)).get()"),
    "scipy.special": ("cpu", "np.special.kv(1.5, np.arange(1.0, 5.0)).get()"),
}


@needs_fork
@pytest.mark.parametrize("module", FIRST_USES)
def test_a_library_that_another_thread_imports_is_there_in_the_child(module):
    pytest.importorskip(module)
    device, work = FIRST_USES[module]
    program = SLOW_IMPORT.format(module=module, work=work)
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
        env={**os.environ, "NUMLOOM_DEVICE": device},
    )  # fmt: skip
    assert told.returncode == 0, told.stderr


@needs_fork
def test_a_driver_that_another_thread_starts_has_started_in_the_child(monkeypatch):
    """CUDA's driver holds locks while it starts, of which a child knows nothing."""
    begun, started = threading.Event(), []

    class Bindings:
        class CUresult:
            CUDA_SUCCESS = 0

        def cuInit(self, flags):
            begun.set()
            time.sleep(0.3)
            started.append(True)
            return (0,)

        def cuDriverGetVersion(self):
            return 0, driver.LEAST_VERSION

        def cuDeviceGetCount(self):
            return 0, 1

    monkeypatch.setattr(driver, "bindings", Bindings)
    monkeypatch.setattr(driver, "_lacking", str)
    monkeypatch.setattr(driver.state, "process", -1)
    thread = threading.Thread(target=driver.missing.__wrapped__)
    thread.start()
    assert begun.wait(20)
    assert in_child(lambda: bool(started) and driver.state.process == os.getppid()) == 0
    thread.join()
    assert driver.state.process == os.getpid()


@needs_fork
def test_whoever_forks_may_hold_a_lock():
    mine = lock()
    with mine:
        assert in_child(lambda: not taken(mine)) == 0  # as it would be without a fork
        assert not taken(mine)
    assert taken(mine)


@needs_fork
def test_locks_are_taken_from_the_outside_in():
    order = []

    class Noted:
        def __init__(self, name):
            self.name = name

        def acquire(self):
            order.append(self.name)

        def release(self):
            order.append(f"-{self.name}")

    kept = [held(Noted(name), rank) for name, rank in (("c", INNERMOST), ("a", 0), ("b", 1))]
    assert in_child(lambda: order == ["a", "b", "c", "-c", "-b", "-a"]) == 0
    assert order == ["a", "b", "c", "-c", "-b", "-a"]
    del kept
    gc.collect()
    order.clear()
    assert in_child(lambda: order == []) == 0


@needs_fork
def test_children_make_anew_what_lives():
    made = []

    class Thing:
        def again(self):
            made.append(self)

    one, other = Thing(), Thing()
    anew(one.again)
    anew(other.again)
    del other
    assert in_child(lambda: made == [one]) == 0
    assert made == []


@needs_fork
def test_threads_that_fork_at_the_same_time():
    locks = [lock() for _ in range(5)]
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.extend(in_child(lambda: all(map(taken, locks))) for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 20


def test_every_lock_of_the_package_is_known_to_forks():
    """Whoever makes a lock by `threading` says here what a child does with it."""
    kinds = {f"threading.{kind}" for kind in ("Lock", "RLock", "Condition", "Semaphore", "Event", "Barrier")}

    def makes_a_lock(node):
        return isinstance(node, ast.Call) and ast.unparse(node.func).replace("Bounded", "") in kinds

    found = {}
    for path in PACKAGE.rglob("*.py"):
        count = 0
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                count += makes_a_lock(node)
                if isinstance(node.func, ast.Name) and node.func.id == "held":
                    count -= sum(makes_a_lock(part) for part in node.args)
        if count > 0:
            found[path.relative_to(PACKAGE).as_posix()] = count
    assert found == OTHERWISE
