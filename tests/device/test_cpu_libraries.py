"""Libraries of kernels: closed when nobody can call into them any more, and not before."""

import ctypes
import gc
import os
import sys
import threading
import time
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from numloom.base.forking import lock
from numloom.device.cache import DiskCache
from numloom.device.cpu import builder as builder_module
from numloom.device.cpu import compiler as compiler_module
from numloom.device.cpu import libraries, threads
from numloom.device.cpu.builder import Builder
from numloom.device.cpu.libraries import address_of, close_idle, load

needs_compiler = pytest.mark.skipif(not any(compiler_module.candidates()), reason="no C++ compiler")
pytestmark = [
    needs_compiler,
    pytest.mark.skipif(threads.compiled is None, reason="where the pool is Python's, libraries stay"),
    pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="maps are counted by Linux's file"),
]


def text(factor, name="k"):
    return f"""
extern "C" void {name}(const long long* p, long long begin, long long end) {{
    const double* x = (const double*)p[0]; double* y = (double*)p[1];
    for (long long i = begin; i < end; ++i) {{
        double one = x[i];
        for (long long k = 0; k < p[2]; ++k) one = one * 1.0000001;
        y[i] = p[2] ? {factor} : x[i] * {factor};
    }}
}}
"""


def maps():
    with open("/proc/self/maps") as lines:
        return [line for line in lines if ".so (deleted)" in line or "memfd" in line]


@pytest.fixture(autouse=True)
def _what_earlier_tests_left():
    gc.collect()
    close_idle()


@pytest.fixture
def builder(tmp_path, monkeypatch):
    monkeypatch.setattr(builder_module, "KEPT", 8)
    made = Builder(DiskCache(str(tmp_path / "cache"), 1 << 30))
    yield made
    made.stop()


def run(kernel, count=10, turns=0, grain=1):
    x, y = np.arange(float(count)), np.zeros(count)
    words = array("q", [x.ctypes.data, y.ctypes.data, turns])
    geometry = SimpleNamespace(items=count, grain=grain, finish_items=0)
    return threads.bound(kernel, words, geometry), x, y


def test_a_library_takes_two_maps_and_is_closed_when_nobody_has_it():
    compiler = compiler_module.find()
    content = compiler.compile(text(3))
    close_idle()  # What the compiler's flags were tried with.
    before = len(maps())
    library = load(content)
    if {"-Wl,-z,noseparate-code", "-Wl,-z,norelro"}.issubset(compiler.flags):
        assert len(maps()) - before == 2
    assert address_of(library, "k") and not address_of(library, "no_such")
    close_idle()
    assert len(maps()) > before
    del library
    assert len(maps()) > before  # Not where it is let go of, but when the next one is loaded.
    close_idle()
    assert len(maps()) == before


def test_to_let_go_of_a_library_runs_no_line_in_which_an_interrupt_would_be_lost():
    libraries_held = [load(compiler_module.find().compile(text(3)))]
    lines = []
    sys.setprofile(lambda frame, event, argument: lines.append(frame.f_code.co_name) if event == "call" else None)
    libraries_held.clear()
    sys.setprofile(None)
    assert lines == [] and len(libraries._idle) == 1


def test_a_library_that_stays():
    content = compiler_module.find().compile(text(3))
    close_idle()
    before = len(maps())
    load(content, stays=True)
    gc.collect()
    close_idle()
    assert len(maps()) > before


def test_a_library_that_could_not_be_loaded_is_nothing_to_close():
    with pytest.raises(OSError, match="invalid ELF header"):
        load(b"no library" * 10)
    close_idle()


def test_a_descriptor_is_closed_with_its_library(monkeypatch):
    if not hasattr(os, "memfd_create"):
        pytest.skip("no memory files")
    original = ctypes.CDLL

    def refuse(path):
        if not path.startswith("/proc"):
            raise OSError("failed to map segment from shared object")
        return original(path)

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    content = compiler_module.find().compile(text(5))
    close_idle()
    before = len(os.listdir("/proc/self/fd"))
    library = load(content)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del library
    close_idle()
    assert len(os.listdir("/proc/self/fd")) == before


def test_kernels_of_one_library_hold_it_together(builder):
    kernels = [builder.kernel(text(number, f"k{number}"), f"k{number}", wait=False) for number in range(4)]
    assert builder.drain(60)
    assert len({id(kernel.library) for kernel in kernels}) < 4
    builder._kernels._held.forget()
    last = kernels.pop()
    kernels.clear()
    close_idle()
    call, x, y = run(last)
    call()
    np.testing.assert_array_equal(y, x * 3)


def test_kernels_met_stay_few_and_come_back(builder):
    close_idle()
    before = len(maps())
    for factor in range(24):
        kernel = builder.kernel(text(factor), "k", wait=True)
        call, x, y = run(kernel)
        call()
        np.testing.assert_array_equal(y, x * factor)
    del kernel, call
    close_idle()
    assert len(maps()) - before <= 5 * 9
    compiles = builder.compiles
    for factor in range(24):
        call, x, y = run(builder.kernel(text(factor), "k", wait=False))
        call()
        np.testing.assert_array_equal(y, x * factor)
    assert builder.compiles == compiles


def test_a_bound_launch_holds_its_code(builder):
    call, x, y = run(builder.kernel(text(7), "k", wait=True))
    chain = threads.Chain()
    chain.launch(run(builder.kernel(text(9), "k", wait=True))[0], [], [])
    before = len(maps())
    builder._kernels._held.forget()
    gc.collect()
    close_idle()
    assert len(maps()) == before
    call()
    np.testing.assert_array_equal(y, x * 7)
    del call
    close_idle()
    assert len(maps()) < before
    del chain
    close_idle()
    assert len(maps()) < before - 1


def test_the_same_text_is_one_kernel_as_long_as_somebody_has_it(builder):
    mine = builder.kernel(text(3), "k", wait=True)
    for factor in range(10, 40):
        builder.kernel(text(factor), "k", wait=True)
    assert builder.kernel(text(3), "k", wait=True) is mine


def test_libraries_are_closed_while_threads_launch(builder):
    """Each thread fetches, binds, lets the table forget, launches (all cores) and lets go, again and again."""
    texts = [text(factor) for factor in range(12)]
    for one in texts:
        builder.kernel(one, "k", wait=True)
    wrong, until = [], time.monotonic() + 2.0

    def work(seed):
        number = seed
        while time.monotonic() < until and not wrong:
            number = (number * 7 + 5) % len(texts)
            kernel = builder.kernel(texts[number], "k", wait=True)
            call, _, y = run(kernel, 64, 2000)
            del kernel
            builder._kernels._held.forget()
            call()
            if not (y == number).all():
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_of_two_threads_that_load_one_kernel_the_first_ones_library_is_taken(builder, monkeypatch):
    loading, bound = threading.Event(), threading.Event()

    def load_late(content, stays=False):
        library = load(content, stays)
        if threading.current_thread() is late:
            loading.set()
            bound.wait(60)
        return library

    monkeypatch.setattr(builder_module, "load", load_late)
    late = threading.Thread(target=builder.kernel, args=(text(7), "k"), kwargs={"wait": True})
    late.start()
    assert loading.wait(60)
    kernel = builder.kernel(text(7), "k", wait=True)
    call, x, y = run(kernel)
    library = kernel.library
    bound.set()
    late.join()
    assert kernel.library is library
    close_idle()
    call()
    np.testing.assert_array_equal(y, x * 7)


def test_code_stays_as_long_as_finalizers_of_one_cycle_run(builder):
    """All of them run, in any order, before the first object is freed; one of them may launch, and keep, the others."""
    kept, done = [], []

    class Launching:
        def __init__(self, factor):
            self.cycle = self
            self.call, self.x, self.y = run(builder.kernel(text(factor), "k", wait=True))

        def __del__(self):
            close_idle()
            done.append(len(maps()) == before)
            kept.append(self)

    held = Launching(7)
    builder._kernels._held.forget()
    before = len(maps())
    del held
    gc.collect()
    assert done == [True]
    close_idle()
    assert len(maps()) == before
    kept[0].call()
    np.testing.assert_array_equal(kept[0].y, kept[0].x * 7)
    kept.clear()
    gc.collect()
    close_idle()
    assert len(maps()) < before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_closes_its_own(builder):
    call, x, y = run(builder.kernel(text(7), "k", wait=True))
    other = builder.kernel(text(8), "k", wait=True)
    builder._kernels._held.forget()
    del other
    child = os.fork()
    if not child:
        status = 1
        try:
            close_idle()
            call()
            again, x, z = run(builder.kernel(text(8), "k", wait=True))
            again()
            status = 0 if (y == x * 7).all() and (z == x * 8).all() else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    close_idle()
    call()
    np.testing.assert_array_equal(y, x * 7)


def test_forks_know_of_the_lock():
    assert type(libraries._closing) is type(lock())
