"""Modules of the driver: unloaded when nobody can launch them and all that was launched is done. Needs no GPU."""

import ctypes
import gc
import os
import threading
from array import array
from weakref import WeakValueDictionary

import numpy as np
import pytest
from cuda_emulation import EmulatedDriver

import numloom as nl
from numloom.base.lasting import Lasting
from numloom.device.cuda import backend, code
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda.code import LoadedCode, unload
from numloom.device.cuda.module import CudaModule
from numloom.plan.program import Geometry

KEPT = 8
GRID = Geometry(1, 1, 1, 32)


class Ahead:
    """A text whose code of the fast tier is there first."""

    done = False

    def __init__(self, text, architecture, fast_tier=False):
        self.text = text

    def first(self):
        return b"quick " + self.text.encode(), False

    def cubin(self):
        self.done = True
        return b"full " + self.text.encode()


@pytest.fixture
def driver(monkeypatch):
    made = EmulatedDriver()
    monkeypatch.setattr(backend.driver, "call", made.call)
    monkeypatch.setattr(code, "TOGETHER", 4)
    monkeypatch.setattr(nvrtc, "cached_cubin", lambda text, architecture: text.encode())
    monkeypatch.setattr(nvrtc, "Ahead", Ahead)
    monkeypatch.setattr(nvrtc, "HURRIES", True)
    return made


@pytest.fixture
def device(driver):
    """A CUDA device as far as kernels go."""
    made = backend.CudaDevice.__new__(backend.CudaDevice)
    made.idle, made._kernels, made._modules, made._ahead = [], Lasting(KEPT), WeakValueDictionary(), {}
    made._user_modules = Lasting(KEPT)
    made._lock = threading.Lock()
    made.enter = lambda: True
    made.architecture = "sm_90"
    with nl.config(cuda_compile="background"):
        yield made


def launches(driver):
    """cuLaunchKernelEx that asks the emulated driver, and its address."""

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    def launch(config, function, parameters, extra):
        driver.launch(function)
        return 0

    return launch, ctypes.cast(launch, ctypes.c_void_p).value


def test_modules_that_nobody_has_are_unloaded_together(driver):
    idle = []
    held = [LoadedCode(b"code", idle, "loading") for _ in range(10)]
    del held[:3]
    unload(idle, lambda: True)
    assert (len(driver.loaded), driver.waits) == (10, 0)  # Too few to wait for.
    driver.under_way.update(driver.loaded)
    del held[:2]
    unload(idle, lambda: True)
    assert (sorted(driver.unloaded), driver.waits, idle) == ([1, 2, 3, 4, 5], 1, [])
    unload(idle, lambda: True)
    assert (len(driver.loaded), driver.waits) == (5, 1)


@pytest.mark.parametrize("refuses", ["cuCtxSynchronize", "cuModuleUnload"])
def test_where_the_driver_refuses_they_stay_and_nothing_is_raised(driver, refuses):
    idle = []
    for _ in range(5):
        LoadedCode(b"code", idle, "loading")
    driver.refuses = refuses
    unload(idle, lambda: True)
    assert len(driver.loaded) == len(idle) == 5
    driver.refuses = ""
    unload(idle, lambda: True)
    assert not driver.loaded and not idle


def test_code_stays_as_long_as_finalizers_of_one_cycle_run(driver):
    idle, kept, done = [], [], []

    class Launching:
        def __init__(self):
            self.cycle = self
            self.code = LoadedCode(b"code", idle, "loading")

        def __del__(self):
            done.append(list(idle))
            kept.append(self)

    Launching()
    gc.collect()
    assert (done, idle) == ([[]], [])
    kept.clear()
    gc.collect()
    assert len(idle) == 1


def test_whoever_finds_code_that_is_let_go_of_finds_it_loaded(driver):
    known = WeakValueDictionary()
    found = []

    class Idle(list):
        def append(self, handle):
            found.append(known.get("text"))
            super().append(handle)

    known["text"] = LoadedCode(b"code", Idle(), "loading")
    assert found == [None]


def test_code_that_the_driver_does_not_load_is_nothing_to_unload(driver):
    idle = []
    driver.refuses = "cuModuleLoadData"
    with pytest.raises(nl.DeviceError):
        LoadedCode(b"code", idle, "loading")
    gc.collect()
    assert idle == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_that_lets_go_asks_the_driver_for_nothing(driver):
    idle = []
    held = [LoadedCode(b"code", idle, "loading")]
    child = os.fork()
    if not child:
        driver.refuses = "cuModuleUnload"
        held.clear()
        os._exit(0 if len(driver.loaded) == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_kernels_met_stay_few_and_come_back(driver, device):
    for _ in range(3):
        for number in range(100):
            kernel = device.kernel(f"text {number}", "entry", wait=True)
            driver.launch(kernel.function)
            device.crowded()
            assert len(driver.loaded) <= KEPT + 1 + 4
    assert driver.waits <= len(driver.unloaded) // 4


def test_kernels_of_one_text_share_a_module(driver, device):
    one, other = (device.kernel("text", entry, wait=True) for entry in ("one", "other"))
    assert one.module is other.module and len(driver.loaded) == 1


@pytest.mark.skipif(backend.Launch is None, reason="launches are not compiled")
def test_a_bound_launch_holds_its_code(driver, device):
    launch, address = launches(driver)
    bind = backend.Launch(address, 0, False, None, None)
    words = array("q", [0])
    call = bind.bound(device.kernel("mine", "entry", wait=True), words, GRID)
    for number in range(100):
        bind(device.kernel(f"text {number}", "entry", wait=True), words, GRID)
        device.crowded()
        call()
    del launch


@pytest.mark.skipif(backend.Launch is None, reason="launches are not compiled")
def test_a_launch_of_the_fast_tiers_code_holds_it_when_the_full_one_has_come(driver, device):
    launch, address = launches(driver)
    bind = backend.Launch(address, 0, False, None, None)
    kernel = device.kernel("mine", "entry", wait=False)
    early = bind.bound(kernel, array("q", [0]), GRID)
    kernel.settle()
    for number in range(100):
        device.kernel(f"text {number}", "entry", wait=True)
        device.crowded()
    early()
    assert sorted(driver.loaded[function] for function in driver.under_way) == [b"quick mine"]
    del launch


def test_of_two_threads_that_load_full_code_the_first_ones_is_taken(driver, device, monkeypatch):
    kernel = device.kernel("mine", "entry", wait=False)
    loading, bound = threading.Event(), threading.Event()
    late = threading.Thread(target=kernel.settle)

    def call(name, *args, **kwargs):
        if name == "cuModuleLoadData" and threading.current_thread() is late:
            loading.set()
            bound.wait(0.3)
        return driver.call(name, *args, **kwargs)

    monkeypatch.setattr(backend.driver, "call", call)
    late.start()
    assert loading.wait(60)
    kernel.settle()
    launched = kernel.module
    bound.set()
    late.join()
    assert kernel.module is launched and device.idle == []


def test_threads_unload_at_the_same_time(driver):
    class Idle(list):
        def pop(self):
            if len(self) == 2:
                self.clear()  # Another thread takes the rest.
            return super().pop()

    idle = Idle()
    for _ in range(5):
        LoadedCode(b"code", idle, "loading")
    unload(idle, lambda: True)
    assert len(driver.unloaded) == 3 and not idle


def test_users_modules_stay_few_and_share_what_somebody_has(driver, device, monkeypatch):
    monkeypatch.setattr(backend, "load", lambda gpu, sources, options, names: CudaModule(gpu, b"code", {}))
    mine = device.module({"kernel.cu": "mine"})
    for number in range(100):
        device.module({"kernel.cu": f"text {number}"})
    assert device.module({"kernel.cu": "mine"}) is mine
    assert len(driver.loaded) <= KEPT + 2 + 4
    for _ in range(100):
        device.loaded(b"code")
    assert len(driver.loaded) <= KEPT + 2 + 4


def test_threads_fetch_launch_and_let_go(driver, device):
    wrong = []

    def work(seed):
        try:
            for number in np.random.default_rng(seed).integers(0, 40, 500):
                kernel = device.kernel(f"text {number}", "entry", wait=True)
                driver.launch(kernel.function)
        except AssertionError as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for _ in range(200):
        device.crowded()
    for worker in workers:
        worker.join()
    assert not wrong
