"""The CUDA backend: what needs no GPU everywhere, the rest on one (``--device cuda``)."""

import ctypes
import gc
import os
import re
import subprocess
import sys
import threading
import weakref
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from numloom.base.errors import CompileError, DeviceError, OutOfMemoryError
from numloom.device.cpu.backend import CpuDevice
from numloom.device.cuda import capture, driver, transfer
from numloom.device.cuda import compile as nvrtc
from numloom.device.cuda.backend import CudaDevice
from numloom.device.cuda.routines.kernels import Grid
from numloom.device.interface import Backend
from numloom.device.memory import Buffer, Pool

# The CUDA side of the contract: one struct of 8-byte words.
AXPY = """
struct P { const double* x; double* y; double a; long long n; };
extern "C" __global__ void axpy(const __grid_constant__ P p) {
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < p.n) p.y[i] = p.a * p.x[i] + p.y[i];
}
"""


def python(program, **environment):
    """Run a program in a process of its own; its output."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---------------------------------------------------------------- without a GPU


def test_the_contract_is_kept():
    for name in vars(Backend):
        if not name.startswith("_") and name != "allocate":
            assert callable(getattr(CudaDevice, name)) or isinstance(vars(Backend)[name], property), name
    for name in Backend.__annotations__.keys() - {"pool", "dlpack"}:  # An instance has those two.
        assert hasattr(CudaDevice, name), name


class LaunchConfig(ctypes.Structure):
    _fields_ = (
        *[(name, ctypes.c_uint) for name in ("x", "y", "z", "threads", "threads_y", "threads_z", "shared")],
        ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(ctypes.c_int)), ("count", ctypes.c_uint),
    )  # fmt: skip


class NodeParameters(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_void_p), *LaunchConfig._fields_[:7],
        ("parameters", ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))), *[(n, ctypes.c_void_p) for n in "abc"],
    )  # fmt: skip


def address(callback):
    return ctypes.cast(callback, ctypes.c_void_p).value


@pytest.mark.parametrize("early", [False, True])
def test_bound_launches_are_launches(early):
    launch = pytest.importorskip("numloom.device.cuda._launch").Launch
    seen, failed, codes = [], [], [0, 0, 0, 7, 7]

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(LaunchConfig), *[ctypes.c_void_p] * 3)
    def driver_launch(config, function, parameters, extra):
        at = config.contents
        block = ctypes.cast(ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))[0], ctypes.POINTER(ctypes.c_int64))
        sizes = at.x, at.y, at.z, at.threads, at.threads_y, at.threads_z, at.shared
        attributes = [at.attributes[word] for word in (0, 2)] if at.count else None
        seen.append((function, *sizes, at.stream, extra, block[0], block[1], attributes))
        return codes.pop(0)

    prepared = []
    run = launch(
        address(driver_launch), 5, early, lambda *given: prepared.append(given), lambda *given: failed.append(given)
    )
    kernel = SimpleNamespace(function=1234, waits=True)
    for shared in (0, 1 << 17):
        grid, block = Grid(3, 64, shared, 2), array("q", [8, 9])
        bound = run.bound(kernel, block, grid)
        run(kernel, block, grid)
        block[1] = 10
        bound()
    attributes = [6, 1] if early else None
    assert seen[0] == (1234, 3, 2, 1, 64, 1, 1, 0, 5, None, 8, 9, attributes)
    assert seen[1] == (*seen[0][:-2], 10, attributes)
    assert prepared == [(kernel, 1 << 17)] * 2 and seen[3][7] == 1 << 17
    bound()
    assert [given[-1] for given in failed] == [7, 7] and failed[0][0] is kernel
    kernel.waits = False
    codes.append(0)
    run(kernel, block, Grid(1, 32))
    assert seen[-1][-1] is None  # A kernel that does not wait is never early.


@pytest.mark.parametrize("fails", [None, 0, 1, 2, 3])
def test_a_captured_graph_runs_between_copies(fails):
    """Memory without bytes is not copied; what follows a failure does not run, and its code is given."""
    module = pytest.importorskip("numloom.device.cuda._launch")
    log = []

    def note(*given):
        log.append(given)
        return 9 if fails == len(log) - 1 else 0

    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    callbacks = {
        "cuMemcpyDtoDAsync": ctypes.CFUNCTYPE(ctypes.c_int, size, size, size, pointer)(note),
        "cuGraphLaunch": ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)(note),
    }
    operands, results = [(0, 1000, 8), (1, 2000, 16), (3, 3000, 0)], [(2, 4000, 24), (4, 5000, 0)]
    graph = module.CopiedGraph(77, 5, operands, results, [], lambda name: ctypes.cast(callbacks[name], pointer).value)
    expected = [(1000, 1 << 40, 8, 5), (2000, 20, 16, 5), (77, 5), (30, 4000, 24, 5)]
    assert graph([1 << 40, 20, 30, 40, 50]) == (0 if fails is None else 9)
    assert log == expected if fails is None else log == expected[: fails + 1]


def test_a_captured_graph_is_given_words_of_its_launches():
    """Addresses and numbers are changed where they are others; what the driver has refused is asked for again."""
    module = pytest.importorskip("numloom.device.cuda._launch")
    log, codes = [], []
    pointer = ctypes.c_void_p

    def change(graph, node, parameters):
        at = parameters.contents
        log.append((graph, node, at.function, at.x, *[at.parameters[0][word] for word in range(3)]))
        return codes.pop() if codes else 0

    callbacks = {
        "cuMemcpyDtoDAsync": ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_size_t] * 3, pointer)(
            lambda *given: log.append("copy") or 0
        ),
        "cuGraphLaunch": ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)(lambda *given: log.append("run") or 0),
        "cuGraphExecKernelNodeSetParams": ctypes.CFUNCTYPE(
            ctypes.c_int, pointer, pointer, ctypes.POINTER(NodeParameters)
        )(change),
    }
    launch = module.Launch(0, 5, True, None, None)
    block = array("q", [16, 7, 0])  # An address 16 bytes behind what is given, what stays, and a number.
    bound = launch.bound(SimpleNamespace(function=50, waits=False), block, Grid(3, 64))
    node = module.NumberedNode(bound, 90, [(0, 1), (2, 2)], lambda name: address(callbacks[name]))
    block[:] = array("q", [1, 2, 3])  # Others launch with it.
    graph = module.CopiedGraph(77, 5, [(0, 1000, 8)], [], [node], lambda name: address(callbacks[name]))
    assert graph([1 << 40, 400, -5]) == 0
    assert log == [(77, 90, 50, 3, 416, 7, -5), "copy", "run"]
    del log[:]
    assert graph([1 << 40, 400, -5]) == 0
    assert log == ["copy", "run"]
    del log[:]
    codes.append(9)
    assert graph([1 << 40, 400, 6]) == 9
    assert log == [(77, 90, 50, 3, 416, 7, 6)]  # Nothing else was done.
    assert graph([1 << 40, 400, 6]) == 0
    assert log[1:] == [log[0], "copy", "run"]


@pytest.mark.parametrize("refused", ["", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags"])
def test_launches_together_are_a_graph(refused):
    module = pytest.importorskip("numloom.device.cuda._launch")
    log, failing = [], []
    pointer = ctypes.c_void_p

    def give(name, target, value):
        target[0] = value
        return 3 if name == refused else 0

    def note(name, *rest):
        log.append((name, *rest))
        return failing.pop() if name == "cuGraphLaunch" and failing else 0

    def words_of(parameters):
        at = parameters.contents
        return at.function, at.x, at.y, at.threads, at.shared, at.parameters[0][0], at.parameters[0][1]

    def add(target, graph, before, count, parameters):
        log.append(("add", *words_of(parameters)))
        return give("cuGraphAddKernelNode", target, 100 + len(log))

    out, node = ctypes.POINTER(pointer), ctypes.POINTER(NodeParameters)
    functions = {
        "cuGraphCreate": ((out, ctypes.c_uint), lambda target, flags: give("cuGraphCreate", target, 7)),
        "cuGraphAddKernelNode": ((out, pointer, out, ctypes.c_size_t, node), add),
        "cuGraphAddDependencies": (
            (pointer, out, out, ctypes.POINTER(ctypes.c_ubyte), ctypes.c_size_t),
            lambda graph, first, then, edge, count: note("depend", first[0], then[0], tuple(edge[:3])),
        ),
        "cuGraphInstantiateWithFlags": (
            (out, pointer, ctypes.c_ulonglong), lambda target, graph, _: give("cuGraphInstantiateWithFlags", target, 8)
        ),
        "cuGraphExecKernelNodeSetParams": (
            (pointer, pointer, node), lambda graph, at, parameters: note("set", at, *words_of(parameters))
        ),
        "cuGraphLaunch": ((pointer, pointer), lambda graph, stream: note("cuGraphLaunch", graph, stream)),
        "cuGraphDestroy": ((pointer,), lambda graph: note("destroy", graph)),
        "cuGraphExecDestroy": ((pointer,), lambda graph: note("destroy", graph)),
    }  # fmt: skip
    callbacks = {name: ctypes.CFUNCTYPE(ctypes.c_int, *types)(work) for name, (types, work) in functions.items()}
    alone = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 4)(lambda config, function, *_: note("alone", function))
    contexts, enters = [9], []
    current = ctypes.CFUNCTYPE(ctypes.c_int, out)(lambda target: target.__setitem__(0, contexts[0]) or 0)
    enter = ctypes.CFUNCTYPE(ctypes.c_int, pointer)(lambda context: 0 if enters.pop() else 3)
    launch = module.Launch(address(alone), 5, True, None, None, address(current), address(enter), 9)
    blocks = [array("q", [k, 20 + k]) for k in range(3)]
    bound = [launch.bound(SimpleNamespace(function=50 + k, waits=k != 1), blocks[k], Grid(3 + k, 64)) for k in range(3)]
    if refused:
        with pytest.raises(RuntimeError, match="no graph of 3 kernels"):
            module.Replay(bound, None, lambda name: address(callbacks[name]))
        return
    replay = module.Replay(bound, SimpleNamespace(nbytes=70), lambda name: address(callbacks[name]))
    assert replay.nbytes == 70 and weakref.ref(replay)() is replay
    added = [entry for entry in log if entry[0] == "add"]
    assert added == [("add", 50 + k, 3 + k, 1, 64, 0, k, 20 + k) for k in range(3)]
    # The edge to a kernel that waits for itself is one that the hardware may cross early.
    assert [entry[3] for entry in log if entry[0] == "depend"] == [(0, 0, 0), (1, 0, 1)]
    del log[:]
    assert replay(()) is True
    assert log == [("cuGraphLaunch", 8, 5)]
    blocks[1][1] = 99
    assert replay(()) and replay(())
    assert [entry[0] for entry in log] == ["cuGraphLaunch", "set", "cuGraphLaunch", "cuGraphLaunch"]
    assert log[1][2:] == (51, 4, 1, 64, 0, 1, 99)
    del log[:]
    failing.append(201)
    assert replay(()) is False  # Each is launched for itself then.
    assert log == [("cuGraphLaunch", 8, 5)]
    # A driver may crash where a thread without a context changes a node.
    del log[:]
    contexts[0], blocks[1][1] = None, 100
    enters.append(False)
    assert replay(()) is False
    assert not log and not enters
    enters.append(True)
    assert replay(())
    assert [entry[0] for entry in log] == ["set", "cuGraphLaunch"] and not enters
    del log[:], replay
    gc.collect()
    assert log == [("destroy", 8), ("destroy", 7)]


class Names:
    """Has whatever it is asked for."""

    def __getattr__(self, name):
        return name


@pytest.mark.parametrize(
    "order", ["live", "live refused", "fixed", "live, fixed", "fixed, live", "operand, live", "wrong"]
)
def test_what_a_capture_makes_of_launches(monkeypatch, order):
    """A graph whose nodes are set in each run, of launches whose blocks are read then; beside others there is none."""
    log, bound = [], SimpleNamespace(on=lambda stream: log.append(("on", stream)))

    def call(name, *given, doing=""):
        log.append((name, *given))
        given = {"cuStreamCreate": 5, "cuStreamEndCapture": 6, "cuGraphGetNodes": ([], 1), "cuGraphInstantiate": 7}
        return given.get(name)

    def replay(*given):
        log.append(("replay", *given[:2]))
        if order == "live refused":
            raise RuntimeError("no graph of 1 kernel")
        return "replayed"

    names = Names()
    fake = SimpleNamespace(call=call, address_of=None, bindings=lambda: names)
    names.CUstream_flags = names.CUstreamCaptureMode = names.CUgraphNodeType = Names()
    monkeypatch.setattr(capture, "driver", fake)
    monkeypatch.setattr(capture, "Replay", replay)
    monkeypatch.setattr(capture, "CopiedGraph", lambda *given: lambda addresses: 0)
    device = SimpleNamespace(stream=0, pool=Pool("test", lambda n: 1 << 20, lambda p, n: None), enter=bool)
    taking = capture.GraphCapture(device)
    taking.process = -1  # Whose graphs are not ours to destroy.

    def calls(taken):
        assert taken is taking
        for what in order.replace(" refused", "").split(", "):
            if what == "operand":
                taken.operand(8)
            elif what == "wrong":
                taken.copy(Buffer(1, 8), 0, Buffer(2, 8), 0, 8)
                raise RuntimeError("a routine that may do more")
            else:
                taken.live(bound) if what == "live" else taken.launch(bound, [0], [None])

    found = taking.captured(calls)
    assert found is {"live": "replayed", "fixed": taking}.get(order)
    names = [entry[0] for entry in log]
    assert ("replay" in names) == (order in ("live", "live refused"))
    assert ("on", 5) in log if "fixed" in order else "on" not in names
    begun = "fixed" in order or order == "wrong"
    assert [name for name in names if name.startswith("cuStream")] == (
        ["cuStreamCreate", "cuStreamBeginCapture", "cuStreamEndCapture"] if begun else []
    )
    if order == "fixed":
        assert found(()) is True
    assert taking.nbytes == (256 if order == "operand, live" else 0)


@pytest.mark.parametrize("refused", [False, True])
def test_a_thread_without_a_context_takes_it_without_python_between(refused):
    """Another thread could fill the block meanwhile, and both launches would have its addresses."""
    module = pytest.importorskip("numloom.device.cuda._launch")
    pointer = ctypes.c_void_p
    log, contexts, failures = [], [], []

    def run(config, function, parameters, extra):
        log.append(ctypes.cast(parameters[0], ctypes.POINTER(ctypes.c_longlong))[0] if contexts else "no context")
        return 0 if contexts else 201

    def enter(context):
        return 3 if refused else contexts.append(context) or 0

    work = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer, ctypes.POINTER(pointer), pointer)(run)
    change = ctypes.CFUNCTYPE(ctypes.c_int, pointer)(enter)
    addresses = [ctypes.cast(function, pointer).value for function in (work, change)]
    launch = module.Launch(addresses[0], 0, False, None, lambda *given: failures.append(given[-1]), 0, addresses[1], 9)
    kernel, block = SimpleNamespace(function=50, waits=False), array("q", [77])
    for start in (lambda: launch(kernel, block, Grid(1, 1)), launch.bound(kernel, block, Grid(1, 1))):
        del log[:], contexts[:], failures[:]
        start()
        if refused:
            assert (log, failures) == (["no context"], [201])
        else:
            assert (log, contexts, failures) == (["no context", 77], [9], [])


def test_kernels_wait_where_they_are_launched_early():
    assert not nvrtc.launches_early("sm_80") and nvrtc.launches_early("sm_90a") and nvrtc.launches_early("sm_120")
    assert nvrtc.waits(AXPY) and nvrtc.waiting(AXPY).count(nvrtc.WAIT) == 1
    assert not nvrtc.waits("__global__ void mine(int n) { }")
    assert not nvrtc.waits(AXPY + "static __global__ void other() { }"), "one of them would not wait"
    pytest.importorskip("cuda.bindings.nvrtc")
    assert "griddepcontrol.wait" in nvrtc.compile_text(AXPY, "sm_90")[1]
    assert "griddepcontrol.wait" not in nvrtc.compile_text(AXPY, "sm_80")[1]
    assert nvrtc.origin("sm_90") != nvrtc.origin("sm_90").replace(" early", "")


def test_compile_needs_no_gpu():
    pytest.importorskip("cuda.bindings.nvrtc")
    assert nvrtc.compile_cubin(AXPY, "sm_90")[:4] == b"\x7fELF"


def test_no_contraction_and_no_flush():
    for option in ("-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"):
        assert option in nvrtc.OPTIONS


def test_a_compile_error_shows_the_line():
    pytest.importorskip("cuda.bindings.nvrtc")
    with pytest.raises(CompileError, match=r"(?s)NVRTC refused.*line 2.*nonsense") as caught:
        nvrtc.compile_cubin('extern "C" __global__ void f() {\n  nonsense;\n}\n', "sm_90")
    assert ">     2 |   nonsense;" in str(caught.value)


def files_are_written():
    """Wait for what is written in the background."""
    for thread in threading.enumerate():
        if thread.name == "numloom-nvrtc":
            thread.join()


def test_cubins_are_kept_on_disk(own_cache, monkeypatch):
    pytest.importorskip("cuda.bindings.nvrtc")
    first = nvrtc.cached_cubin(AXPY, "sm_90")
    files_are_written()
    with monkeypatch.context() as patch:
        patch.setattr(nvrtc, "compile_cubin", lambda *arguments: pytest.fail("compiled again"))
        assert nvrtc.cached_cubin(AXPY, "sm_90") == first
    assert nvrtc.cached_cubin(AXPY, "sm_80") != first
    files_are_written()
    assert len(os.listdir(own_cache)) == 2


def test_a_missing_package_has_a_cure():
    program = """
import sys
sys.modules["cuda.bindings"] = None
from numloom.device import registry
from numloom.device.cuda import compile as nvrtc
print(registry.missing("cuda"))
try:
    nvrtc.compile_cubin("", "sm_90")
except Exception as error:
    print(type(error).__name__, error)
"""
    first, second = python(program).splitlines()
    assert "pip install" in first and "cuda-bindings" in first
    assert second.startswith("MissingDependencyError") and "pip install" in second


def test_a_missing_driver_has_a_cure():
    why = CudaDevice.missing()
    if why is None:
        pytest.skip("there is a GPU")
    assert "install" in why or "check" in why
    assert "\n" not in why


class Bindings:
    """A driver that answers as it is told."""

    def __init__(self, results):
        from cuda.bindings import driver as real

        self.CUresult = real.CUresult
        self.results = results
        self.current = []

    def cuThing(self, *args):
        return (self.CUresult(self.results.pop(0)), *args)

    def cuCtxSetCurrent(self, context):
        self.current.append(context)
        return (self.CUresult(0),)

    def cuGetErrorString(self, code):
        return self.CUresult(0), b"words of the driver"


@pytest.fixture
def bindings(monkeypatch):
    pytest.importorskip("cuda.bindings.driver")

    def install(*results):
        bindings = Bindings(list(results))
        monkeypatch.setattr(driver, "bindings", lambda: bindings)
        return bindings

    state = driver.State()
    state.process = os.getpid()
    monkeypatch.setattr(driver, "state", state)
    return install


def test_results_and_errors_of_calls(bindings):
    bindings(0, 0, 0, 1, 2)
    assert driver.call("cuThing") is None
    assert driver.call("cuThing", 5) == 5
    assert driver.call("cuThing", 5, 6) == (5, 6)
    with pytest.raises(DeviceError, match=r"doing it failed: CUDA_ERROR_INVALID_VALUE \(words of the driver\)"):
        driver.call("cuThing", doing="doing it")
    with pytest.raises(MemoryError):
        driver.call("cuThing")


def test_a_thread_without_a_context_gets_ours(bindings):
    fake = bindings(201, 0)
    driver.state.context = "ours"
    assert driver.call("cuThing", 7) == 7
    assert fake.current == ["ours"]
    bindings(201)
    driver.state.context = None
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_CONTEXT"):
        driver.call("cuThing")


def test_a_lost_gpu_stays_lost(bindings):
    bindings(700, 1, 201)
    driver.state.context = "ours"
    for _ in range(3):
        with pytest.raises(DeviceError, match=r"running failed: CUDA_ERROR_ILLEGAL_ADDRESS.*restart the process"):
            driver.call("cuThing", doing="running")


def test_a_forked_child_is_told(bindings):
    bindings(3)
    driver.state.process = os.getpid() + 1
    with pytest.raises(DeviceError, match="spawn"):
        driver.call("cuThing")


class Bus:
    """Copies that happen only when somebody waits for them."""

    def __init__(self):
        self.queue = []
        self.marks = {}

    def call(self, name, *args, doing=""):
        if name == "cuEventCreate":
            self.marks[len(self.marks)] = 0
            return len(self.marks) - 1
        if name.startswith("cuMemcpy"):
            self.queue.append(args[:3])
        elif name == "cuEventRecord":
            self.marks[args[0]] = len(self.queue)
        elif name == "cuEventSynchronize":
            self.run(self.marks[args[0]])
        return None

    def run(self, end):
        for number in range(end):
            if self.queue[number] is not None:
                ctypes.memmove(*self.queue[number])
                self.queue[number] = None


@pytest.mark.parametrize("nbytes", [1, 4097, 100_000, 100_001, 1_000_003])
def test_large_copies_wait_for_their_blocks(monkeypatch, nbytes):
    bus = Bus()
    monkeypatch.setattr(driver, "call", bus.call)
    monkeypatch.setattr(transfer, "BLOCK", 50_000)
    staging = transfer.StagingBuffers(CpuDevice().pool, 0)
    host = np.random.default_rng(0).integers(0, 256, nbytes, dtype=np.uint8)
    there, back = np.zeros(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
    staging.upload(there.ctypes.data, host.ctypes.data, nbytes)
    staging.download(back.ctypes.data, there.ctypes.data, nbytes)
    np.testing.assert_array_equal(there, host)
    np.testing.assert_array_equal(back, host)
    turned = host[::-1].copy()
    staging.upload(there.ctypes.data, turned.ctypes.data, nbytes)
    turned[...] = 0  # read already
    bus.run(len(bus.queue))
    np.testing.assert_array_equal(there, host[::-1])


def test_small_copies_wait_for_nothing_but_their_ring(monkeypatch):
    bus = Bus()
    monkeypatch.setattr(driver, "call", bus.call)
    monkeypatch.setattr(transfer, "RING", 4096)
    ring = transfer.Ring(CpuDevice().pool, 0)
    rng = np.random.default_rng(0)
    sizes = [1, 256, 2048, 700, 1024, 1, 2000, 255, *rng.integers(1, 2049, 60)]
    sent = [rng.integers(1, 256, size, dtype=np.uint8) for size in sizes]
    there = [np.zeros(size, np.uint8) for size in sizes]
    for target, host in zip(there, sent, strict=True):
        passing = host.copy()
        ring.upload(target.ctypes.data, passing.ctypes.data, host.nbytes)
        passing[...] = 0  # read already
    assert not there[-1].any() and there[0].any()
    bus.run(len(bus.queue))
    for target, host in zip(there, sent, strict=True):
        np.testing.assert_array_equal(target, host)


# ---------------------------------------------------------------- on a GPU


def down(gpu, buffer, dtype, count):
    dtype = np.dtype(dtype)
    return gpu.download(buffer, 0, count * dtype.itemsize).view(dtype)


def words(*values):
    packed = b"".join(np.float64(v).tobytes() if isinstance(v, float) else np.int64(v).tobytes() for v in values)
    return array("q", packed)


def axpy(gpu, n):
    x, y = np.random.default_rng(n).normal(size=(2, n))
    bx, by = gpu.upload(x), gpu.upload(y)
    kernel = gpu.kernel(AXPY, "axpy", wait=True)
    gpu.launch(kernel, words(bx.ptr, by.ptr, 3.0, n), Grid(-(-n // 256)))
    np.testing.assert_array_equal(down(gpu, by, "d", n), 3.0 * x + y)


@pytest.mark.cuda
@pytest.mark.parametrize("nbytes", [0, 1, 7, 255, 4097, 65_537, 262_143, 262_144, 262_145, 33_000_001, 150_000_001])
def test_upload_and_download(gpu, nbytes):
    host = np.random.default_rng(nbytes).integers(0, 256, nbytes, dtype=np.uint8)
    buffer = gpu.upload(host)
    assert buffer.nbytes == nbytes and buffer.ptr % 256 == 0
    np.testing.assert_array_equal(gpu.download(buffer, 0, nbytes), host)
    for offset in {min(3, nbytes), nbytes // 2, nbytes}:
        np.testing.assert_array_equal(gpu.download(buffer, offset, nbytes - offset), host[offset:])
    got = gpu.download(buffer, 0, nbytes)
    got[...] = 0  # the host's own
    np.testing.assert_array_equal(gpu.download(buffer, 0, nbytes), host)


@pytest.mark.cuda
def test_downloads_do_not_share_memory(gpu):
    hosts = [np.full(1 << 20, value, np.uint8) for value in range(5)]
    got = [gpu.download(buffer, 0, buffer.nbytes) for buffer in map(gpu.upload, hosts)]
    for expected, result in zip(hosts, got, strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.cuda
def test_copy(gpu):
    host = np.arange(1000, dtype=np.uint8)
    source, target = gpu.upload(host), gpu.upload(np.zeros(1000, np.uint8))
    gpu.copy(target, 10, source, 100, 500)
    expected = np.zeros(1000, np.uint8)
    expected[10:510] = host[100:600]
    np.testing.assert_array_equal(gpu.download(target, 0, 1000), expected)
    assert gpu.view(target) is None


@pytest.mark.cuda
@pytest.mark.parametrize("n", [1, 255, 256, 257, 1_000_003])
def test_launch(gpu, n):
    axpy(gpu, n)


@pytest.mark.cuda
def test_kernels_are_kept(gpu):
    kernel = gpu.kernel(AXPY, "axpy", wait=False)
    assert kernel.ready and gpu.kernel(AXPY, "axpy", wait=True) is kernel
    assert kernel.attribute("NUM_REGS") > 0


@pytest.mark.cuda
def test_launch_from_another_thread(gpu):
    errors = []

    def work():
        try:
            axpy(gpu, 5000)
            gpu.synchronize()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


SLOW = """
struct P { double* x; long long n, nanoseconds; double value; };
extern "C" __global__ void slow(const __grid_constant__ P p) {
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - begin < p.nanoseconds);
    for (long long i = threadIdx.x; i < p.n; i += blockDim.x) p.x[i] = p.value;
}
"""


@pytest.mark.cuda
@pytest.mark.parametrize("before", ["ours", "a user's", "a user's on another stream", "a copy", "a download"])
def test_early_kernels_see_what_was_before(gpu, before):
    """Whatever writes last, and however long that takes, a kernel that is launched early reads it."""
    n = 1000
    x, y, z = (gpu.allocate(8 * n) for _ in range(3))
    for buffer in (x, y, z):
        gpu.clear(buffer, 8 * n)
    ours, add = gpu.kernel(SLOW, "slow", wait=True), gpu.kernel(AXPY, "axpy", wait=True)
    assert ours.waits and add.waits
    theirs = gpu.module({"kernel.cu": SLOW}).function("slow")
    stream = int(driver.call("cuStreamCreate", 0))  # It waits for the default stream, and that for it.
    for turn in range(1, 20):
        given = words(x.ptr, n, 200_000, float(turn))
        gpu.launch(ours, words(y.ptr, n, 50_000, float(turn)), Grid(1, 256))
        if before == "ours":
            gpu.launch(ours, given, Grid(1, 256))
        elif before == "a copy":
            gpu.launch(ours, words(z.ptr, n, 200_000, float(turn)), Grid(1, 256))
            gpu.copy(x, 0, z, 0, 8 * n)
        elif before == "a download":
            gpu.launch(ours, given, Grid(1, 256))
            down(gpu, x, "d", 2)
        else:
            own = gpu.stream if before == "a user's" else stream
            assert theirs._call((1, 1, 1), (256, 1, 1), given.tobytes(), 0, own) == 0
        gpu.launch(add, words(x.ptr, y.ptr, 1.0, n), Grid(4, 256))
        np.testing.assert_array_equal(down(gpu, y, "d", n), np.full(n, 2.0 * turn))


@pytest.mark.cuda
def test_graphs_do_what_launches_do(gpu):
    """With other blocks at every turn, beside kernels that do not wait, by clusters, with much shared memory."""
    n = 5000
    late = re.sub("axpy", "late", AXPY).replace('extern "C" __global__', 'extern "C" /**/ __global__')
    kernels = [
        gpu.kernel(AXPY, "axpy", wait=True),
        gpu.kernel(late, "late", wait=True),
        gpu.kernel(AXPY, "axpy", wait=True),
    ]
    assert [kernel.waits for kernel in kernels] == [True, False, True]
    x, y = (gpu.upload(np.arange(n, dtype="f8") + k) for k in range(2))
    blocks = [words(x.ptr, y.ptr, 1.0, n), words(y.ptr, x.ptr, 2.0, n), words(x.ptr, y.ptr, 3.0, n)]
    bound = [gpu.bound(kernel, block, Grid(-(-n // 256), 256)) for kernel, block in zip(kernels, blocks, strict=True)]
    replay = gpu.captured(lambda capture: [capture.live(one) for one in bound])
    assert replay is not None
    want_x, want_y = np.arange(n, dtype="f8"), np.arange(n, dtype="f8") + 1
    for turn in range(6):
        factors = [1.0, 2.0 - turn, 0.5 * turn]
        for block, factor in zip(blocks, factors, strict=True):
            block[2] = words(factor)[0]
        assert replay(())
        want_y = factors[0] * want_x + want_y
        want_x = factors[1] * want_y + want_x
        want_y = factors[2] * want_x + want_y
    assert gpu.captured(lambda capture: [capture.live(bound[0]), capture.launch(bound[1], [], [])]) is None
    assert gpu.captured(lambda capture: [capture.launch(bound[1], [], []), capture.live(bound[0])]) is None
    np.testing.assert_array_equal(down(gpu, x, "d", n), want_x)
    np.testing.assert_array_equal(down(gpu, y, "d", n), want_y)


@pytest.mark.cuda
def test_launches_that_the_driver_refuses(gpu):
    kernel = gpu.kernel(AXPY, "axpy", wait=True)
    with pytest.raises(DeviceError, match=r"launching kernel axpy \(1 x 1 blocks of 4096 threads.*failed: CUDA_ERROR"):
        gpu.launch(kernel, words(0, 0, 0.0, 0), Grid(1, 4096))
    with pytest.raises(DeviceError, match=r"launching kernel axpy \(1 x 1 blocks of 4096 threads.*failed: CUDA_ERROR"):
        gpu.bound(kernel, words(0, 0, 0.0, 0), Grid(1, 4096))()
    with pytest.raises(DeviceError, match="finding kernel nothing"):
        gpu.kernel(AXPY, "nothing", wait=True)
    axpy(gpu, 100)


@pytest.mark.cuda
def test_much_shared_memory(gpu):
    text = """
struct P { int* out; };
extern "C" __global__ void far(const __grid_constant__ P p) {
    extern __shared__ int s[];
    s[threadIdx.x * 100] = threadIdx.x;
    __syncthreads();
    p.out[threadIdx.x] = s[(255 - threadIdx.x) * 100];
}
"""
    out = gpu.allocate(1024)
    gpu.launch(gpu.kernel(text, "far", wait=True), words(out.ptr), Grid(1, 256, 102_400))
    np.testing.assert_array_equal(down(gpu, out, "i", 256), np.arange(256)[::-1])


@pytest.mark.cuda
def test_the_error_word(gpu):
    text = """
struct P { long long* error; };
extern "C" __global__ void wrong(const __grid_constant__ P p) { *p.error = 42; }
"""
    assert gpu.take_complaints() == []
    gpu.launch(gpu.kernel(text, "wrong", wait=True), words(gpu.error_address()), Grid(1, 1))
    gpu.synchronize()
    assert gpu.take_complaints() == [(42, 0, -1)]
    assert gpu.take_complaints() == []


@pytest.mark.cuda
def test_workspace(gpu):
    def counters(nbytes, count):
        return gpu.download(gpu.workspace(nbytes, count), 0, count)

    assert not counters(1 << 16, 400).any()
    gpu.clear(SimpleNamespace(ptr=gpu.workspace(1 << 16, 0).ptr + 8), 1 << 10)
    assert not counters(1 << 16, 4000).any()
    assert not counters(8 << 20, 100_000).any()
    assert gpu.workspace(100, 8) is gpu.workspace(1 << 20, 8)


@pytest.mark.cuda
def test_out_of_memory(gpu):
    free, whole = gpu.memory_info()
    gc.collect()
    used = gpu.pool.used
    with pytest.raises(OutOfMemoryError, match="asked for") as caught:
        gpu.allocate(whole * 2)
    assert caught.value.asked == whole * 2 and caught.value.used <= used  # Others' may be let go meanwhile.
    # Cached blocks are given back before giving up.
    gpu.pool.trim()
    free, _ = gpu.memory_info()
    block = gpu.allocate(free // 2)
    del block
    assert gpu.pool.cached >= free // 2
    larger = gpu.allocate(free // 4 * 3)
    assert larger.nbytes == free // 4 * 3 and gpu.pool.peak >= larger.nbytes
    del larger
    gpu.pool.trim()
    axpy(gpu, 1000)


@pytest.mark.cuda
def test_a_limit_of_our_own(gpu):
    before, gpu.pool.limit = gpu.pool.limit, gpu.pool.used + gpu.pool.cached + (1 << 20)
    try:
        with pytest.raises(OutOfMemoryError, match="limit"):
            gpu.allocate(gpu.pool.cached + (64 << 20))
    finally:
        gpu.pool.limit = before


@pytest.mark.cuda
def test_events(gpu):
    start = gpu.event()
    axpy(gpu, 1_000_000)
    assert 0 < gpu.elapsed(start, gpu.event()) < 10_000


@pytest.mark.cuda
def test_synchronize_hears_ctrl_c():
    program = """
import os, signal, threading, time
from array import array
from numloom.device import registry
from numloom.device.cuda.routines.kernels import Grid
gpu = registry.get("cuda")
text = '''
struct P { long long ns; };
extern "C" __global__ void wait(const __grid_constant__ P p) {
    unsigned long long now, end;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end));
    end += p.ns;
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); } while (now < end);
}
'''
kernel = gpu.kernel(text, "wait", wait=True)
gpu.synchronize()
gpu.launch(kernel, array("q", [2_000_000_000]), Grid(1, 1))
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    gpu.synchronize()
except KeyboardInterrupt:
    assert time.monotonic() - start < 1.5
    gpu.synchronize()
    print("heard")
"""
    assert python(program) == "heard"


@pytest.mark.cuda
def test_a_fault_is_reported_and_stays():
    program = """
from array import array
from numloom.base.errors import DeviceError
from numloom.device import registry
from numloom.device.cuda.routines.kernels import Grid
gpu = registry.get("cuda")
held = gpu.allocate(1000)
text = 'struct P { int* p; }; extern "C" __global__ void bad(const __grid_constant__ P p) { *p.p = 1; }'
gpu.launch(gpu.kernel(text, "bad", wait=True), array("q", [8]), Grid(1, 1))
for work in (gpu.synchronize, lambda: gpu.allocate(1 << 30), gpu.synchronize):
    try:
        work()
    except DeviceError as error:
        print("restart" in str(error) and "ILLEGAL_ADDRESS" in str(error))
"""
    assert python(program).split() == ["True"] * 3


@pytest.mark.cuda
def test_a_forked_child_gets_a_clear_error():
    program = """
import os
import numpy as np
from numloom.base.errors import DeviceError
from numloom.device import registry
gpu = registry.get("cuda")
held = gpu.allocate(1000)
child = os.fork()
if child == 0:
    try:
        gpu.upload(np.zeros(10))
    except DeviceError as error:
        os._exit(7 if "spawn" in str(error) else 8)
    os._exit(9)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
held = None
print(gpu.upload(np.zeros(10)).nbytes)
"""
    assert python(program).split() == ["7", "80"]


@pytest.mark.cuda
def test_exit_with_live_arrays():
    program = """
import numpy as np
from numloom.device import registry
gpu = registry.get("cuda")
held = [gpu.upload(np.zeros(1000)) for _ in range(10)]
event = gpu.event()
big = gpu.download(gpu.allocate(1 << 20), 0, 1 << 20)
class Late:
    def __del__(self, held=held, big=big): pass
late = Late()
print("bye")
"""
    assert python(program) == "bye"


@pytest.mark.cuda
def test_a_gpu_that_is_not_there(gpu):
    with pytest.raises(DeviceError, match="there is no GPU 99: the numbers here are 0 to"):
        CudaDevice(99)
