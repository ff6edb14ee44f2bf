"""Texts that are compiled ahead or by the fast tier, and which ones a call says it will need; most needs no GPU."""

import os
import subprocess
import sys
import threading
import time
from array import array
from types import SimpleNamespace
from weakref import WeakValueDictionary

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import F32
from numloom.base.errors import CompileError
from numloom.base.lasting import Lasting
from numloom.device.cache import key_of, shared
from numloom.device.cuda import backend
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda.module import compile_module
from numloom.device.cuda.routines import ROUTINES
from numloom.device.cuda.routines.kernels import FAST_TIER_MOST, Grid, empty, run
from numloom.device.memory import Buffer
from numloom.device.null.backend import NullDevice
from numloom.engine.link import tape_of
from numloom.engine.tape import run_plan
from numloom.engine.walk import walk
from numloom.graph import build
from numloom.plan.plan import make_plan

TEXT = 'extern "C" __global__ void store(int* x) {{ *x = {}; }}'


def written():
    """Wait until what compilers leave on the disk is there."""
    for thread in threading.enumerate():
        if thread.name == "numloom-nvrtc":
            thread.join()


@pytest.fixture
def compiler(own_cache):
    pytest.importorskip("cuda.bindings.nvrtc")
    yield
    written()


def test_texts_ahead_are_those_compiled_in_turn(compiler):
    texts = [TEXT.format(k) for k in range(3)]
    ahead = [nvrtc.Ahead(text, "sm_90") for text in texts]
    assert [each.cubin() for each in ahead] == [nvrtc.compile_cubin(text, "sm_90") for text in texts]
    written()
    where = nvrtc.origin("sm_90")
    assert [shared().get(key_of(text, where), where) for text in texts] == [each.cubin() for each in ahead]


def test_what_the_assembler_gets_wrong_is_compiled_by_the_fast_tier(compiler):
    for ctype in ("short", "unsigned short", "signed char"):
        body = f"{ctype} a = x[threadIdx.x], b = -x[threadIdx.x + 9]; x[threadIdx.x] = a > b ? a : b;"
        text = f'extern "C" __global__ void larger({ctype}* x) {{ {body} }}'
        assert nvrtc.HALVES.search(nvrtc.compile_text(text, "sm_90")[1])
        assert nvrtc.compile_cubin(text, "sm_90") == nvrtc.compile_text(text, "sm_90", nvrtc.FAST_TIER)[0]
    text = text.replace(ctype, "int")
    assert nvrtc.compile_cubin(text, "sm_90") == nvrtc.compile_text(text, "sm_90")[0]


def test_who_needs_a_wrong_text_is_told(compiler):
    ahead = nvrtc.Ahead(TEXT.format("misspelt"), "sm_90")
    for _ in range(2):
        with pytest.raises(CompileError, match="misspelt"):
            ahead.cubin()


def test_the_full_code_follows_the_quick_one(compiler):
    text = TEXT.format(7)
    ahead = nvrtc.Ahead(text, "sm_90", fast_tier=True)
    cubin, full = ahead.first()
    assert cubin
    assert ahead.cubin() == nvrtc.compile_cubin(text, "sm_90")
    assert ahead.done
    assert ahead.first() == (ahead.cubin(), True)
    if full:
        assert cubin == ahead.cubin()
    written()
    again = nvrtc.Ahead(text, "sm_90", fast_tier=True)
    assert again.done  # from the disk: nothing is compiled
    assert again.first() == (ahead.cubin(), True)


def test_quick_code_of_a_wrong_text_is_not_waited_for(compiler):
    with pytest.raises(CompileError, match="misspelt"):
        nvrtc.Ahead(TEXT.format("misspelt"), "sm_90", fast_tier=True).first()


class Slow:
    """Stands in for `compile.Ahead`: the full code is there when `done` is set, or when somebody waits for it."""

    made = ()

    def __init__(self, text, architecture, fast_tier=False):
        self.text, self.fast_tier, self.done = text, fast_tier, False
        Slow.made += (self,)

    def first(self):
        return (b"full", True) if self.done or not self.fast_tier else (b"quick", False)

    def cubin(self):
        self.done = True
        return b"full"


@pytest.fixture
def gpu(monkeypatch):
    """A CUDA device without a driver, as far as kernels go; a module is its code, a function a number."""
    calls = []

    def call(name, *args, doing=""):
        calls.append((name, args))
        return args[0] if name == "cuModuleLoadData" else {b"full": 1, b"quick": 2}[args[0]]

    monkeypatch.setattr(backend.driver, "call", call)
    monkeypatch.setattr(nvrtc, "Ahead", Slow)
    monkeypatch.setattr(nvrtc, "cached_cubin", lambda text, architecture: b"full")
    monkeypatch.setattr(nvrtc, "HURRIES", True)
    monkeypatch.setattr(Slow, "made", ())
    device = backend.CudaDevice.__new__(backend.CudaDevice)
    device._kernels, device._modules, device._ahead = Lasting(8), WeakValueDictionary(), {}
    device.idle = []
    device._lock = threading.Lock()
    device.architecture = "sm_90"
    device.calls = calls
    with nl.config(cuda_compile="background"):
        yield device


def test_a_kernel_is_slow_once(gpu):
    kernel = gpu.kernel("text", "entry", wait=False)
    assert kernel.function == 2
    assert not kernel.ready
    kernel.shared = 100_000
    assert kernel.ready  # asked again: the full code is waited for
    assert (kernel.function, kernel.shared) == (1, backend.PLAIN_SHARED)
    assert kernel.ready
    assert gpu.kernel("text", "entry", wait=False) is kernel
    assert len(Slow.made) == 1


def test_full_code_that_is_there_is_taken(gpu):
    kernel = gpu.kernel("text", "entry", wait=False)
    Slow.made[0].done = True
    assert kernel.ready
    assert kernel.function == 1


@pytest.mark.parametrize("wait", [False, True])
def test_who_fetches_a_slow_kernel_again_gets_the_full_code(gpu, wait):
    kernel = gpu.kernel("text", "entry", wait=False)
    assert gpu.kernel("text", "entry", wait=wait) is kernel
    assert kernel.function == 1
    other = gpu.kernel("text", "other", wait=False)
    assert (other.function, other.module) == (1, kernel.module)
    assert [name for name, _ in gpu.calls].count("cuModuleLoadData") == 2


@pytest.mark.parametrize("expected", [False, True])
def test_who_waits_gets_the_full_code(gpu, expected):
    if expected:
        gpu.expect(["text"])
    kernel = gpu.kernel("text", "entry", wait=True)
    assert (kernel.function, kernel.ready) == (1, True)
    assert len(Slow.made) == expected


@pytest.mark.parametrize("setting", ["wait", "few processors"])
def test_nothing_is_hurried_where_it_would_be_in_the_way(gpu, monkeypatch, setting):
    if setting == "few processors":
        monkeypatch.setattr(nvrtc, "HURRIES", False)
    with nl.config(cuda_compile="wait" if setting == "wait" else "background"):
        gpu.expect(["other"])
        assert gpu.kernel("text", "entry", wait=False).function == 1
        assert gpu.kernel("other", "entry", wait=False).function == 1
    assert [ahead.fast_tier for ahead in Slow.made] == [False]


def test_large_launches_of_routines_wait():
    waits = []
    kernel = SimpleNamespace(kernel=lambda text, entry, wait: waits.append(wait), launch=lambda *_: None)
    for threads, wait in ((FAST_TIER_MOST, False), (FAST_TIER_MOST + 256, False), (256, True)):
        run(kernel, "text", "entry", Grid(threads // 256), (), wait=wait)
    assert waits == [False, True, True]


class Recorder:
    """A null device that notes the texts that it is told to expect and those that are asked for."""

    def __init__(self):
        self.null = NullDevice()
        self.expected, self.asked = [], []

    def __getattr__(self, name):
        return getattr(self.null, name)

    def expect(self, texts):
        assert not self.asked  # all of them before the first one is waited for
        self.expected += texts

    def kernel(self, text, entry, *, wait):
        self.asked.append(text)
        return self.null.kernel(text, entry, wait=wait)

    def clear(self, buffer, nbytes):
        pass


@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("sort", (1 << 20,), {"axis": 0}),
        ("sort", (10_000,), {"axis": 0}),
        ("weighted_bincount", (5000,), {"minlength": 10}),
        ("bin_edges", (5000,), {"bins": 10, "not_finite": 1, "not_apart": 2}),
    ],
)
def test_routines_expect_their_texts(name, shape, options):
    device = Recorder()
    x = empty(device, shape, np.float32)
    out = empty(device, shape, np.float32)
    operands = [empty(device, shape, np.int64), x] if name == "weighted_bincount" else [x]
    ROUTINES[name](device, *operands, out=out, **options)
    if name == "bin_edges":  # what is counted then
        ROUTINES["histogram"](device, x, empty(device, (11,), np.float32), uniform=True, out=out)
    assert list(dict.fromkeys(device.asked)) == device.expected
    assert len(device.expected) == 2


def test_a_plan_expects_the_texts_of_all_its_kernels():
    device = Recorder()
    x = wrap(build.leaf(Buffer(4096, 4 * 100 * 3), F32, (100, 3), (12, 4)))
    root = node_of((x - x.mean(0)) / x.std(0))
    found = walk([root])
    tape_of(make_plan(found.nodes, [root.number]), device, found.second)
    assert device.asked == device.expected
    assert len(device.asked) == 2


class SlowOnce:
    """A kernel that is not ready when it is asked first."""

    def __init__(self):
        self.asked = 0

    @property
    def ready(self):
        self.asked += 1
        return self.asked > 1


@pytest.mark.parametrize(
    ("extent", "compute", "waits"),
    [
        (100, lambda x: x.sum(), False),
        (100, lambda x: x - x.mean(keepdims=True), False),
        (1 << 31, lambda x: x.sum(), True),
        (100, lambda x: x + 1, True),
    ],
)
def test_the_engine_launches_slow_code_once(extent, compute, waits):
    launched, waited = [], []

    class Device(Recorder):
        def kernel(self, text, entry, *, wait):
            waited.append(wait)
            return SlowOnce()

        def launch(self, kernel, params, geometry):
            assert isinstance(params, array)
            launched.append("launch")

        def bound(self, kernel, params, geometry):
            return lambda: launched.append("bound")

    device = Device()
    x = wrap(build.leaf(Buffer(4096, 4 * extent), F32, (extent,), (4,)))
    plan = None
    for _ in range(3):
        root = node_of(compute(x))
        found = walk([root])
        plan = plan or tape_of(make_plan(found.nodes, [root.number]), device, found.second)
        run_plan(plan, list(found.nodes))
    assert waited == [waits]
    assert launched == ["launch", "bound", "bound"]


PROGRAM = """
import numpy, numloom as np
from numloom.device import registry
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda.module import compile_module

nvrtc.HURRIES = True
rng = numpy.random.default_rng(1)
x, y = (np.asarray(rng.standard_normal((300, 1100)).astype(dtype)) for dtype in ("f4", "f8"))
k = np.asarray(rng.integers(0, 1000, 200_000))

def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def standardised(x, axis):
    return (x - x.mean(axis, keepdims=True)) / x.std(axis, keepdims=True)

def nearest(x):
    return ((x[:, None, :32] - x[None, :64, :32]) ** 2).sum(-1).argmin(1)

cases = [
    lambda: softmax(x), lambda: softmax(y), lambda: standardised(x, 1), lambda: standardised(y, 0),
    lambda: x.sum(), lambda: y.sum(0), lambda: x.var(), lambda: y.argmax(1), lambda: x.T + x.T.copy(),
    lambda: nearest(x), lambda: np.log1p(np.exp(-abs(y))), lambda: x.cumsum(), lambda: np.sort(x.ravel()),
    lambda: np.unique(k), lambda: np.bincount(k), lambda: x[x > 0], lambda: np.histogram(x, 50)[0],
    lambda: np.median(x, 0), lambda: (x[1:-1, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2]) * 0.3,
]
device = registry.current()
slow = 0
for number, case in enumerate(cases):
    old = device._kernels.values()
    first = case().get().tobytes()
    slow += any(kernel.full is not None for kernel in device._kernels.values() if kernel not in old)
    for _ in range(2):
        assert case().get().tobytes() == first, number
assert slow >= 4, slow
assert all(kernel.ready and kernel.ready for kernel in device._kernels.values())
print("ok", slow)
"""


@pytest.mark.cuda
def test_slow_code_has_the_bits_of_the_full_one(tmp_path):
    environment = {**os.environ, "NUMLOOM_CACHE_DIR": str(tmp_path), "NUMLOOM_CUDA_COMPILE": "background"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ok")


def test_compiling_leaves_the_limit_of_the_stack(own_cache):
    resource = pytest.importorskip("resource")
    pytest.importorskip("cuda.bindings.nvrtc")
    before = resource.getrlimit(resource.RLIMIT_STACK)

    def compile_some(first):
        for number in range(first, first + 3):
            nvrtc.compile_cubin(TEXT.format(number), "sm_90")
            compile_module({"kernel.cu": TEXT.format(number)}, (), (), "sm_90")

    threads = [threading.Thread(target=compile_some, args=(10 * k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    seen = {before}
    while any(thread.is_alive() for thread in threads):
        seen.add(resource.getrlimit(resource.RLIMIT_STACK))
        time.sleep(0.001)
    assert seen | {resource.getrlimit(resource.RLIMIT_STACK)} == {before}
